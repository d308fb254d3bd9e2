/* explain.c - why a gang waits, in numbers, and what was nearly decided instead
 *
 * All is asked on a copy (save and load): the gang's own reservation is dropped there,
 * so that what is kept for it counts as free to it. The best domain is the one that
 * takes most of its tasks; who has devices in it is read from the claims. At what size
 * it would start now is tried out, from the size that the counts allow downward. The
 * second best of a launch is the place found when the one chosen is drained. Cost: the
 * copy, O(domains + nodes of one + pending gangs), at most TRIES placements.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/explain.h"

#include "sched/decide.h"
#include "sched/future.h"

enum { TRIES = 64 };

static int copy_of(const struct sched *s, struct sched **ret, struct err *err)
{
    struct buf b = {0};
    sched_save(s, &b);
    int rc = sched_load(ret, buf_as_str(&b), err);
    buf_done(&b);
    return rc;
}

/* As a pass would place it: also over what is kept for others, if it ends soon enough.
 */
static bool fits(struct sched *s, uint32_t gang, struct why *why)
{
    struct pass p = {.s = s};
    return pass_place(&p, gang, why);
}

struct range {
    uint32_t lo, hi; /* ranks */
    uint32_t domain; /* DOMAIN_NONE: a single node */
};

static uint32_t required_depth(const struct sched *s, uint32_t gang, word_t *ret_level)
{
    const struct gang *g = &s->gangs.at[gang];
    word_t level = gang_tree(s, g)->groups[gang_root(s, g)->group].required;
    uint32_t depth = level ? level_depth(s, level) : 0;
    *ret_level = level;
    return depth == UINT32_MAX ? 0 : depth;
}

static struct str range_name(const struct sched *s, struct range r)
{
    if (r.domain == DOMAIN_NONE)
        return cluster_node_name(s->cluster, s->cluster->order[r.lo]);
    const struct domain *d = &s->cluster->domains[r.domain];
    return d->depth ? words_text(&s->words, d->name) : (struct str){0};
}

static const struct tree_leaf *widest_leaf(const struct sched *s, uint32_t gang)
{
    const struct tree_root *root = gang_root(s, &s->gangs.at[gang]);
    const struct tree_leaf *l = &gang_tree(s, &s->gangs.at[gang])->leaves[root->leaf0];
    for (uint32_t i = 1; i < root->nleaves; i++) {
        const struct tree_leaf *o =
            &gang_tree(s, &s->gangs.at[gang])->leaves[root->leaf0 + i];
        if (shape_gpu_milli(&s->shapes.at[o->shape].shape) >
            shape_gpu_milli(&s->shapes.at[l->shape].shape))
            l = o;
    }
    return l;
}

/* --- the best domain, and who is there --- */

static struct range best_range(struct explain *e, struct sched *s, uint32_t gang)
{
    const struct cluster *c = s->cluster;
    uint32_t shape = widest_leaf(s, gang)->shape, lo = 0, hi = 1, leader = 0;
    struct asker a = {.shape = shape,
                      .sh = &s->shapes.at[shape].shape,
                      .types = shape_typemask(s, shape)};
    uint32_t depth = required_depth(s, gang, &e->level);
    bool by_node = depth > c->nlevels;
    uint64_t most = 0;
    if (!by_node)
        domain_span(c, 0, depth, &lo, &hi);
    for (uint32_t d = by_node ? 0 : lo; d < (by_node ? c->nranks : hi); d++) {
        uint64_t fit =
            by_node ? node_takes(s, &a, c->order[d]) : asker_takes(s, &a, d, e->tasks);
        if (d == (by_node ? 0 : lo) || fit > most) {
            most = fit;
            leader = d;
        }
    }
    e->best_tasks = most < e->tasks ? (uint32_t)most : e->tasks;
    if (by_node)
        return (struct range){leader, leader + 1, DOMAIN_NONE};
    return (struct range){c->domains[leader].rank_lo, c->domains[leader].rank_hi,
                          leader};
}

static struct explain_holder *holder_of(struct explain *e, struct str job, bool kept)
{
    for (uint32_t i = 0; i < e->holders.n; i++)
        if (str_eq(e->holders.at[i].job, job) &&
            (e->holders.at[i].kind == UNTIL_KEPT) == kept)
            return &e->holders.at[i];
    struct explain_holder h = {.job = arena_str(&e->text, job),
                               .until = INT64_MIN,
                               .kind = kept ? UNTIL_KEPT : UNTIL_LIMIT};
    vec_push(&e->holders, h);
    return &e->holders.at[e->holders.n - 1];
}

static void hold_until(struct sched *s, const struct claim *c, struct explain_holder *h)
{
    bool soft;
    int64_t until = claim_until(s, c, &soft), expected = claim_expected(s, c, until);
    uint8_t kind = soft ? UNTIL_EXPECTED : UNTIL_LIMIT;
    if (kind == UNTIL_LIMIT && c->phase != CLAIM_ENDING)
        until -= KILL_MARGIN_US;
    if (expected < until) {
        kind = UNTIL_EXPECTED;
        until = expected;
    }
    if (until >= TIMELINE_FOREVER) {
        kind = UNTIL_UNKNOWN;
        until = INT64_MAX;
    }
    if (until > h->until) {
        h->until = until;
        h->kind = kind;
    }
}

static void see_claim(struct explain *e, struct sched *s, uint32_t claim, uint32_t node)
{
    const struct claim *c = &s->claims.at[claim];
    bool kept = c->phase == CLAIM_PLANNED;
    uint64_t devs = c->use.devs;
    if (kept && !c->taken)
        devs = claim < s->guards.n && s->guards.at[claim].node == node
                   ? s->guards.at[claim].devs
                   : 0;
    if (!devs)
        return;
    struct str job = {0};
    if (c->gang != NONE)
        job = job_name(&s->jobs.at[s->gangs.at[c->gang].job]);
    struct explain_holder *h = holder_of(e, job, kept);
    h->gpus += (uint32_t)__builtin_popcountll(devs);
    h->nodes++;
    if (!kept)
        hold_until(s, c, h);
    else if (claim_is_reserved(s, c))
        h->until = reserve_of(s, c->gang)->start;
}

static int by_end(const void *a, const void *b)
{
    const struct explain_holder *x = a, *y = b;
    if (x->until != y->until)
        return x->until < y->until ? -1 : 1;
    return str_cmp(x->job, y->job);
}

static void see_range(struct explain *e, struct sched *s, struct range r)
{
    uint32_t width = 0;
    for (uint32_t i = r.lo; i < r.hi; i++) {
        uint32_t node = s->cluster->order[i];
        const struct node *n = &s->cluster->nodes[node];
        width = n->ndevices > width ? n->ndevices : width;
        if (!node_is_usable(n) || node_is_spare(s, node)) {
            e->best_unusable++;
            continue;
        }
        for (uint32_t c = node_first_claim(s, node); c != NONE;
             c = s->claims.at[c].next)
            see_claim(e, s, c, node);
    }
    e->whole_nodes = e->gpus && e->gpus == width;
    if (e->holders.n > 1)
        qsort(e->holders.at, e->holders.n, sizeof *e->holders.at, by_end);
}

/* --- at what size would it start --- */

/* The tree is the copy's own: its counts may be changed for the questions, and put
 * back. */
static void try_smaller(struct explain *e, struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    struct tree *t = gang_tree(s, g);
    struct tree_root *root = &t->roots[g->root], was_root = *root;
    struct tree_leaf *l = &t->leaves[root->leaf0], was = *l;
    struct why why;
    if (root->nleaves != 1 || l->copies != 1 || root->min < 2)
        return;
    uint32_t k = e->best_tasks < root->min ? e->best_tasks : root->min - 1;
    for (uint32_t i = 0; i < TRIES && k > 0 && !e->now_tasks; i++, k--) {
        l->want = l->per_min = root->want = root->min = k;
        if (fits(s, gang, &why))
            e->now_tasks = k;
    }
    *l = was;
    *root = was_root;
}

/* --- its queue's limits, its place in line --- */

static void see_quota(struct explain *e, struct sched *s, uint32_t gang)
{
    const struct quota *q = &s->quota;
    int64_t need[QUOTA_RESOURCES_MAX];
    if (!q->on)
        return;
    quota_need(s, gang, need);
    for (uint32_t n = s->jobs.at[s->gangs.at[gang].job].qnode;
         n != QUEUE_NONE && !e->over; n = q->nodes.at[n].parent) {
        const struct quota_node *at = &q->nodes.at[n];
        for (uint32_t r = 0; r < q->nresources && !e->over; r++) {
            if (at->cap[r] == QUOTA_ABSENT || !need[r] ||
                need[r] <= at->cap[r] - at->use[r])
                continue;
            e->over = true;
            e->queue = at->spec != QUEUE_NONE
                           ? arena_str(&e->text, s->policy.queues.queues[at->spec].name)
                           : arena_str(&e->text, words_text(&s->words, at->word));
            e->resource = q->resources[r].kind;
            e->type = q->resources[r].any ? WORD_NONE : q->resources[r].type;
            e->most = at->cap[r];
            e->used = at->use[r];
            e->asked = need[r];
        }
    }
}

static void see_line(struct explain *e, const struct sched *s, uint32_t gang)
{
    for (uint32_t i = 0; i < s->gangs.n; i++) {
        const struct gang *g = &s->gangs.at[i];
        if (i != gang && g->live && g->phase == GANG_PENDING &&
            !s->jobs.at[g->job].held)
            e->before += gang_before(s, i, gang);
    }
}

static void see_reservation(struct explain *e, struct sched *s, uint32_t gang)
{
    const struct reservation *r =
        s->gangs.at[gang].reserved ? reserve_of(s, gang) : NULL;
    if (!r)
        return;
    e->reserved = true;
    e->start = r->start;
    e->by = r->by;
    e->expected = r->expected;
    e->kept = r->taken;
    reserve_drop(s, gang);
}

static uint32_t gang_id(const struct sched *s, uint32_t job, uint32_t gang)
{
    const struct job *j = &s->jobs.at[job];
    return j->gangs ? j->gangs[gang] : j->one_gang;
}

int sched_explain(struct explain *ret, const struct sched *orig, uint32_t job,
                  uint32_t gang, struct err *err)
{
    struct sched *s;
    struct gang_ref ref = gang_ref_of(orig, gang_id(orig, job, gang));
    struct why now = {0};
    *ret = (struct explain){.at = orig->at};
    int rc = copy_of(orig, &s, err);
    if (rc)
        return rc;
    cluster_settle(s->cluster);
    uint32_t id = gang_find(s, &ref);
    if (id != NONE && s->gangs.at[id].phase == GANG_PENDING) {
        const struct gang *g = &s->gangs.at[id];
        const struct shape *sh = &s->shapes.at[widest_leaf(s, id)->shape].shape;
        ret->why = g->said ? g->why : (struct why){0};
        ret->tasks = gang_root(s, g)->min;
        ret->gpus = sh->gpu_mode == GPU_WHOLE ? sh->gpu_count : 0;
        see_line(ret, s, id);
        see_reservation(ret, s, id);
        see_quota(ret, s, id);
        scratch_ready(s);
        ret->fits = s->cluster->nranks && fits(s, id, &now);
        if (s->cluster->nranks) {
            struct range r = best_range(ret, s, id);
            ret->best = arena_str(&ret->text, range_name(s, r));
            see_range(ret, s, r);
        }
        if (!ret->fits && s->cluster->nranks)
            try_smaller(ret, s, id);
        if (ret->why.code == WHY_NONE)
            ret->why = now;
    }
    sched_destroy(s);
    return 0;
}

void explain_done(struct explain *e)
{
    vec_done(&e->holders);
    arena_done(&e->text);
}

/* --- the second best of a launch --- */

static void drain(struct sched *s, struct range r)
{
    for (uint32_t i = r.lo; i < r.hi; i++)
        cluster_node_state(s->cluster, s->cluster->order[i], NODE_DRAINED);
}

static struct range place_of(const struct sched *s, uint32_t node, uint32_t depth)
{
    const struct cluster *c = s->cluster;
    uint32_t d = c->nodes[node].domain, rank = c->nodes[node].rank;
    if (depth == 0 || depth > c->nlevels)
        return (struct range){rank, rank + 1, DOMAIN_NONE};
    while (c->domains[d].depth > depth)
        d = c->domains[d].parent;
    return (struct range){c->domains[d].rank_lo, c->domains[d].rank_hi, d};
}

struct taking {
    uint32_t node;
    uint32_t gpus;
};

/* Nodes taken, and what stays free on them. A node's seats stand together or apart. */
static void weigh(const struct sched *s, const struct taking *t, uint32_t n,
                  uint32_t *ret_nodes, uint32_t *ret_left)
{
    *ret_nodes = *ret_left = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t taken = 0;
        bool first = true;
        for (uint32_t k = 0; k < n; k++) {
            taken += t[k].node == t[i].node ? t[k].gpus : 0;
            first = first && (k >= i || t[k].node != t[i].node);
        }
        uint32_t whole =
            (uint32_t)__builtin_popcountll(s->cluster->nodes[t[i].node].whole_free);
        if (!first)
            continue;
        ++*ret_nodes;
        *ret_left += whole > taken ? whole - taken : 0;
    }
}

static void second(struct explain_second *e, struct sched *s, uint32_t id,
                   const struct record *d)
{
    word_t level;
    struct why why;
    cluster_settle(s->cluster);
    uint32_t depth = required_depth(s, id, &level), n = 0;
    struct taking *t = arena_alloc(&e->text, (d->launch.nseats + 1) * sizeof *t);
    for (uint32_t i = 0; i < d->launch.nseats; i++) {
        uint32_t node = node_find(s, d->launch.seats[i].node);
        if (node != NODE_NONE)
            t[n++] = (struct taking){node, (uint32_t)__builtin_popcountll(
                                               d->launch.seats[i].devs)};
    }
    if (!n)
        return;
    e->asked = true;
    weigh(s, t, n, &e->nodes, &e->left);
    e->chosen = arena_str(&e->text, range_name(s, place_of(s, t[0].node, depth)));
    for (uint32_t i = 0; i < n; i++)
        drain(s, place_of(s, t[i].node, depth));
    scratch_ready(s);
    e->found = fits(s, id, &why);
    if (!e->found)
        return;
    uint32_t picks = s->scratch->plan.n;
    t = arena_alloc(&e->text, (picks + 1) * sizeof *t);
    for (uint32_t i = 0; i < picks; i++) {
        const struct use *u = &s->scratch->plan.at[i].use;
        t[i] = (struct taking){u->node, (uint32_t)__builtin_popcountll(u->devs)};
    }
    weigh(s, t, picks, &e->next_nodes, &e->next_left);
    e->next = arena_str(&e->text, range_name(s, place_of(s, t[0].node, depth)));
}

int sched_explain_launch(struct explain_second *ret, const struct sched *before,
                         const struct record *launch, struct err *err)
{
    struct sched *s;
    *ret = (struct explain_second){0};
    int rc = copy_of(before, &s, err);
    if (rc)
        return rc;
    uint32_t id = gang_find(s, &launch->launch.gang);
    if (id != NONE && s->gangs.at[id].reserved)
        reserve_drop(s, id);
    if (id != NONE && s->gangs.at[id].phase == GANG_PENDING)
        second(ret, s, id, launch);
    sched_destroy(s);
    return 0;
}

void explain_second_done(struct explain_second *e)
{
    arena_done(&e->text);
}

/* --- whom else a plan would have evicted --- */

enum { VICTIMS_ASKED = 8 };

struct eviction {
    bool found;
    uint32_t n, gpu_hours;
    VEC(struct str) jobs; /* in the text that was given */
};

static bool for_gang(const struct record *d, const struct gang_ref *g)
{
    return d->kind == DE_HOLD && !d->would && d->why.code == WHY_RECLAIMED &&
           str_eq(d->hold.gang.job, g->job) && d->hold.gang.group == g->group &&
           d->hold.gang.copy == g->copy;
}

/* The pass decided once more, with one job (if any) that must not be stopped. */
static int again(const struct sched *border, const struct gang_ref *gang,
                 struct str spared, struct arena *text, struct eviction *ret,
                 struct err *err)
{
    struct sched *s;
    struct records out = {0};
    uint32_t plan = 0;
    int rc = copy_of(border, &s, err);
    if (rc)
        return rc;
    uint32_t job = spared.len ? job_look(s, spared) : NONE;
    if (job != NONE)
        s->jobs.at[job].preemptible = 0;
    sched_decide(s, &out);
    for (uint32_t i = 0; i < out.list.n && !ret->found; i++) {
        const struct record *d = &out.list.at[i];
        ret->found = for_gang(d, gang);
        plan = d->hold.plan;
        ret->gpu_hours = d->why.other;
    }
    for (uint32_t i = 0; ret->found && i < out.list.n; i++) {
        const struct record *d = &out.list.at[i];
        if (d->kind == DE_STOP && d->stop.plan == plan && d->stop.ntasks && !d->would)
            vec_push(&ret->jobs, arena_str(text, d->stop.tasks[0].gang.job));
    }
    ret->n = ret->jobs.n;
    records_done(&out);
    sched_destroy(s);
    return 0;
}

static struct str names_of(const struct eviction *v, struct arena *text)
{
    struct buf b = {0};
    for (uint32_t i = 0; i < v->n; i++) {
        buf_z(&b, i ? ", " : "");
        buf_str(&b, v->jobs.at[i]);
    }
    struct str names = arena_str(text, buf_as_str(&b));
    buf_done(&b);
    return names;
}

static void take_next(struct explain_evictions *e, const struct eviction *v)
{
    if (!v->found || (e->next_victims && v->gpu_hours >= e->next_gpu_hours))
        return;
    e->next_victims = v->n;
    e->next_gpu_hours = v->gpu_hours;
    e->next_names = names_of(v, &e->text);
}

int sched_explain_evictions(struct explain_evictions *ret, const struct sched *border,
                            const struct gang_ref *gang, struct err *err)
{
    struct eviction first = {0};
    *ret = (struct explain_evictions){0};
    int rc = again(border, gang, (struct str){0}, &ret->text, &first, err);
    if (!rc && first.found) {
        ret->asked = true;
        ret->victims = first.n;
        ret->gpu_hours = first.gpu_hours;
        ret->names = names_of(&first, &ret->text);
    }
    for (uint32_t i = 0; !rc && i < first.n && i < VICTIMS_ASKED; i++) {
        struct eviction other = {0};
        rc = again(border, gang, first.jobs.at[i], &ret->text, &other, err);
        take_next(ret, &other);
        vec_done(&other.jobs);
    }
    vec_done(&first.jobs);
    return rc;
}

void explain_evictions_done(struct explain_evictions *e)
{
    arena_done(&e->text);
}
