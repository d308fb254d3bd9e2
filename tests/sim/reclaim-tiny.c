/* reclaim-tiny.c - all games of a few jobs, by depth-first search
 * A state is who runs and who bears which label. From each possible one, whether it can
 * be reached or not, every decision is taken that the rule allows at that point of a
 * border; a state that is met again on the way to itself is a loop. O(4^jobs) states,
 * each with 2^jobs victim sets.
 * SPDX-License-Identifier: Apache-2.0 */
#include "reclaim-tiny.h"

enum { STATES = 1 << (3 * TINY_JOBS) };

struct state {
    uint32_t runs, own, own2; /* sets of jobs */
};

struct search {
    const struct tiny *t;
    struct entitle e;
    struct rights r;
    struct rights_pool pool;
    struct rights_unit units[TINY_JOBS];
    struct rights_place places[TINY_JOBS];
    int64_t needs[TINY_JOBS];
    uint32_t ids[TINY_QUEUES + 1][TINY_JOBS], all[TINY_JOBS];
    struct rights_list lists[TINY_QUEUES + 1], list;
    struct rights_use use;
    struct tiny_found found;
};

/* Stamps: 2 x search is a state on the way, 2 x search + 1 one that is done. */
static uint32_t seen[STATES], search_no;

static uint32_t name_of(struct state s)
{
    return s.runs | s.own << TINY_JOBS | s.own2 << (2 * TINY_JOBS);
}

static bool before(const struct search *x, uint32_t a, uint32_t b)
{
    const struct rights_unit *u = &x->units[a], *v = &x->units[b];
    if (u->priority != v->priority)
        return u->priority > v->priority;
    if ((u->core == RIGHTS_NONE) != (v->core == RIGHTS_NONE))
        return u->core == RIGHTS_NONE;
    return a < b;
}

static void insert(const struct search *x, struct rights_list *list, uint32_t id)
{
    uint32_t k = list->n++;
    for (; k > 0 && before(x, id, list->ids[k - 1]); k--)
        list->ids[k] = list->ids[k - 1];
    list->ids[k] = id;
}

static void begin(struct search *x)
{
    const struct tiny *t = x->t;
    uint32_t n = t->nqueues + 1, parent[TINY_QUEUES + 1] = {0};
    uint32_t weight[TINY_QUEUES + 1] = {1};
    int64_t g[TINY_QUEUES + 1] = {0}, lend[TINY_QUEUES + 1] = {0},
                            none[TINY_QUEUES + 1];
    for (uint32_t q = 0; q < n; q++) {
        none[q] = ENTITLE_ABSENT;
        weight[q] = q ? t->weight[q - 1] : 1;
        g[q] = q ? t->g[q - 1] : 0;
        lend[q] = q ? t->lend[q - 1] : 0;
    }
    entitle_setup(&x->e, &(struct entitle_tree){n, 1, parent, weight, NULL, g, none,
                                                none, lend});
    entitle_capacity(&x->e, &t->capacity);
    rights_setup(&x->r, n, 1);
    rights_use_setup(&x->use, n, 1);
    x->pool = (struct rights_pool){1, t->njobs, x->needs, x->units, x->places};
    x->list.ids = x->all;
    for (uint32_t q = 0; q < n; q++)
        x->lists[q].ids = x->ids[q];
    for (uint32_t i = 0; i < t->njobs; i++) {
        x->needs[i] = t->jobs[i].size;
        x->units[i] = (struct rights_unit){.priority = t->jobs[i].priority,
                                           .need = i,
                                           .core = t->jobs[i].core,
                                           .leaf = t->jobs[i].queue + 1};
        x->places[i] = (struct rights_place){.submitted = i};
        insert(x, &x->lists[x->units[i].leaf], i);
        insert(x, &x->list, i);
        entitle_demand_add(&x->e, x->units[i].leaf, &x->needs[i], 1);
    }
    entitle_run(&x->e);
}

static int64_t size_of(const struct search *x, uint32_t set)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < x->t->njobs; i++)
        sum += set >> i & 1 ? x->needs[i] : 0;
    return sum;
}

static int64_t use_of(const struct search *x, uint32_t set, uint32_t leaf)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < x->t->njobs; i++)
        sum += (set >> i & 1) && x->units[i].leaf == leaf ? x->needs[i] : 0;
    return sum;
}

/* Every step that runs has its core running. */
static bool is_whole(const struct search *x, uint32_t runs)
{
    for (uint32_t i = 0; i < x->t->njobs; i++)
        if ((runs >> i & 1) && x->units[i].core != RIGHTS_NONE &&
            !(runs >> x->units[i].core & 1))
            return false;
    return true;
}

static uint32_t marked(const struct search *x, uint32_t mark)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < x->t->njobs; i++)
        set |= (x->units[i].marks & mark ? 1u : 0) << i;
    return set;
}

/* Rights and labels of the state, from nothing but the state. */
static void compute(struct search *x, struct state *s)
{
    for (uint32_t q = 0; q <= x->t->nqueues; q++)
        vec_clear(&x->r.k1[q]);
    vec_clear(&x->r.k2);
    vec_clear(&x->r.changed);
    memset(x->use.at, 0, x->use.nnodes * sizeof *x->use.at);
    for (uint32_t i = 0; i < x->t->njobs; i++)
        x->units[i].marks = x->places[i].steps_running = x->places[i].steps = 0;
    for (uint32_t i = 0; i < x->t->njobs; i++) {
        struct rights_unit *u = &x->units[i];
        if (u->core != RIGHTS_NONE)
            x->places[u->core].steps++;
        if (s->runs >> i & 1) {
            rights_started(&x->pool, i);
            rights_use_add(&x->use, &x->e, u->leaf, &x->needs[i], 1);
        }
        if (s->own >> i & 1) {
            u->marks |= RIGHTS_OWN | RIGHTS_K1;
            vec_push(&x->r.k1[u->leaf], i);
        }
        if (s->own2 >> i & 1) {
            u->marks |= RIGHTS_OWN2 | RIGHTS_K2;
            vec_push(&x->r.k2, i);
        }
    }
    rights_all(&x->r, &x->pool, &x->e, x->lists, x->list, x->t->across);
    s->own = marked(x, RIGHTS_OWN);
    s->own2 = marked(x, RIGHTS_OWN2);
}

static bool legal(struct search *x, uint32_t id, uint32_t victims, uint32_t runs)
{
    uint32_t v[TINY_JOBS], n = 0;
    const struct rights_unit *b = &x->units[id];
    bool deserved = x->t->rule == TINY_DESERVED;
    for (uint32_t i = 0; i < x->t->njobs; i++) {
        const struct rights_unit *u = &x->units[i];
        if (!(victims >> i & 1))
            continue;
        v[n++] = i;
        bool mine =
            use_of(x, runs & ~victims, b->leaf) + x->needs[id] <= x->e.e[b->leaf];
        bool yours = use_of(x, runs, u->leaf) > x->e.e[u->leaf];
        bool same = u->leaf == b->leaf;
        if (deserved && (same ? u->priority >= b->priority : !mine || !yours))
            return false;
    }
    struct rights_plan plan = {.unit = id,
                               .victims = v,
                               .nvictims = n,
                               .within_any = x->t->within_any};
    return deserved ||
           rights_judge(&x->pool, &x->e, &x->use, &plan, NULL) == RIGHTS_LEGAL;
}

static void visit(struct search *x, struct state s);

static void follow(struct search *x, const struct state *s, uint32_t id,
                   uint32_t victims)
{
    uint32_t k1 = marked(x, RIGHTS_K1), k2 = marked(x, RIGHTS_K2), bit = 1u << id;
    struct rights_phi was = rights_phi(&x->pool, x->all, x->list.n);
    struct state next = {.runs = (s->runs & ~victims) | bit,
                         .own = s->own & ~victims,
                         .own2 = s->own2 & ~victims};
    next.own |= k1 & bit;
    next.own2 |= k2 & bit;
    struct state full = next;
    compute(x, &full);
    struct rights_phi now = rights_phi(&x->pool, x->all, x->list.n);
    if (x->t->rule == TINY_RIGHTS &&
        (marked(x, RIGHTS_K1) != k1 || !rights_phi_less(now, was)))
        x->found.moved = true;
    visit(x, full);
    struct state again = *s; /* marks were overwritten below */
    compute(x, &again);
}

/* All starts of the set, with every legal set of victims (none: lent). */
static bool start_any(struct search *x, const struct state *s, uint32_t set,
                      bool evicts)
{
    bool some = false;
    for (uint32_t id = 0; id < x->t->njobs; id++) {
        uint32_t core = x->units[id].core;
        if (!(set >> id & 1) || (core != RIGHTS_NONE && !(s->runs >> core & 1)))
            continue;
        /* all subsets of who runs */
        for (uint32_t v = s->runs;; v = (v - 1) & s->runs) {
            uint32_t after = (s->runs & ~v) | 1u << id;
            bool fits = size_of(x, after) <= x->t->capacity && is_whole(x, after);
            bool free = v == 0 && rights_fits_root(&x->use, &x->e, x->units[id].leaf,
                                                   &x->needs[id]);
            if (fits && (evicts ? legal(x, id, v, s->runs) : free)) {
                some = true;
                follow(x, s, id, v);
            }
            if (v == 0 || x->found.loops)
                break;
        }
    }
    return some;
}

static void visit(struct search *x, struct state s)
{
    uint32_t *mark = &seen[name_of(s)];
    if (*mark == 2 * search_no)
        x->found.loops = true;
    if (*mark >= 2 * search_no || x->found.loops)
        return;
    *mark = 2 * search_no;
    x->found.states++;
    compute(x, &s);
    uint32_t k1 = marked(x, RIGHTS_K1), k2 = marked(x, RIGHTS_K2);
    uint32_t waits = ((1u << x->t->njobs) - 1) & ~s.runs;
    if (x->t->rule == TINY_DESERVED)
        start_any(x, &s, waits, true);
    else if (!start_any(x, &s, k1 & waits, true) && !start_any(x, &s, k2 & waits, true))
        start_any(x, &s, waits & ~(k1 | k2), false);
    *mark = 2 * search_no + 1;
}

struct tiny_found tiny_play(const struct tiny *t)
{
    static struct search x;
    struct entitle e = x.e;
    struct rights r = x.r;
    struct rights_use use = x.use;
    x = (struct search){.t = t, .e = e, .r = r, .use = use};
    search_no++;
    begin(&x);
    for (uint32_t runs = 0; runs < 1u << t->njobs && !x.found.loops; runs++) {
        if (size_of(&x, runs) > t->capacity || !is_whole(&x, runs))
            continue;
        for (uint32_t own = runs;; own = (own - 1) & runs) {
            uint32_t others = t->across ? runs & ~own : 0;
            for (uint32_t own2 = others;; own2 = (own2 - 1) & others) {
                struct state s = {runs, own, own2};
                compute(&x, &s);
                visit(&x, s);
                if (own2 == 0)
                    break;
            }
            if (own == 0)
                break;
        }
    }
    return x.found;
}
