/* victims_find.c - one question: which domain, which nodes, which victims
 *
 * 1. Every node of every domain gets a price from the index's sums, a lower bound in
 * O(1); a domain that cannot hold the tasks even empty is out by counting.
 * 2. Domains are taken by the sum of their n lowest prices, until that sum is dearer
 * than the best set found.
 * 3. In a domain only the cheapest nodes are loaded (the core) and searched exactly.
 * The bound's last task weighs theta: a solution that uses a node of price p outside
 * the core costs at least bound + p - theta. Where that is more than was found, the
 * core was all that matters; else the core grows to all nodes that this does not
 * exclude.
 * 4. A set that was not proven least is thinned: the dearest first, whatever can stay.
 *
 * O(nodes of the domains + core x branches), the last within the steps of the question.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/victims_index.h"

enum {
    CORE_SPARE = 64,   /* nodes beyond the tasks in the first core */
    CORE_SAMPLE = 512, /* prices looked at to guess where the core ends */
    SCAN_STEP = 16,    /* nodes scanned for one counted step */
};

struct question {
    struct victims *v;
    const struct victims_ask *ask;
    struct victims_answer *ret;
    uint64_t limit, bound; /* bound: the least of what was not proven */
    uint32_t most_per_node;
    bool proven;
};

/* ---- prices ---- */

static uint64_t line_price(int64_t cost, uint32_t rate, int64_t at, int64_t times)
{
    int64_t p;
    if (__builtin_mul_overflow((int64_t)rate, at, &p) ||
        __builtin_add_overflow(p, cost, &p) || __builtin_mul_overflow(p, times, &p)) {
        __int128 wide = ((__int128)rate * at + cost) * times;
        p = wide > (__int128)VICTIMS_COST_MAX ? INT64_MAX
            : wide < 0                        ? 0
                                              : (int64_t)wide;
    }
    if (p < 0)
        return 0;
    return p < (int64_t)VICTIMS_COST_MAX ? (uint64_t)p : VICTIMS_COST_MAX;
}

/* What room for one task costs here at least; false: there can be none. */
static bool node_price(const struct question *q, uint32_t node, struct entry *e)
{
    const struct hot *h = &q->v->hot[node];
    const struct victims_ask *ask = q->ask;
    const struct victims_room *need = &ask->need;
    if ((need->gpu && h->all_gpu < need->gpu) || h->all_gpu == ALL_UNUSABLE)
        return false;
    *e = (struct entry){.node = node, .cap = 1};
    const struct cold *c = &q->v->cold[node];
    bool other = need->cpu_milli || need->mem_bytes;
    if (other || (q->most_per_node > 1 && need->gpu <= h->all_gpu / 2)) {
        e->cap = hunt_slots(&c->all, need, q->most_per_node);
        if (!e->cap)
            return false;
    }
    int64_t less = need->gpu ? need->gpu - h->free_gpu : 0;
    if (less > 0 && need->gpu == h->all_gpu) {
        e->price = line_price(h->line_cost, h->line_rate, ask->at, 1);
        return !(h->gpu_classes & ~ask->classes);
    }
    if (less > 0)
        e->price = line_price(c->gpu_cost, c->gpu_rate, ask->at, less);
    else if (other && !hunt_slots(&c->free, need, 1))
        e->price = line_price(c->any_cost, c->any_rate, ask->at, 1);
    return true;
}

struct scanned {
    uint64_t slots; /* tasks there may be room for */
    u128 sum;       /* what all of them cost at least */
    uint64_t out;   /* the lowest price above the limit; UINT64_MAX: none */
};

/* Fill v->entries with the nodes of a price up to the limit. The first case is most
 * nodes of a question about whole nodes. */
static struct scanned scan(const struct question *q, uint32_t lo, uint32_t hi,
                           uint64_t limit)
{
    struct victims *v = q->v;
    const struct victims_room *need = &q->ask->need;
    const bool only_gpu = !need->cpu_milli && !need->mem_bytes && need->gpu < INT32_MAX;
    const int32_t gpu = only_gpu ? (int32_t)need->gpu : ALL_NEVER;
    const int64_t at = q->ask->at;
    const uint64_t stay = ~q->ask->classes;
    struct scanned r = {.out = UINT64_MAX};
    uint64_t plain = 0;
    vec_clear(&v->entries);
    vec_reserve(&v->entries, hi - lo);
    struct entry *to = v->entries.at;
    for (uint32_t i = lo; i < hi; i++) {
        const struct hot *h = &v->hot[i];
        struct entry e = {.node = i, .cap = 1};
        if (h->all_gpu == gpu && h->free_gpu < gpu) {
            if (h->gpu_classes & stay)
                continue;
            e.price = line_price(h->line_cost, h->line_rate, at, 1);
            plain++;
            r.sum += e.price;
        } else if (node_price(q, i, &e)) {
            r.slots += e.cap;
            r.sum += (u128)e.price * e.cap;
        } else {
            continue;
        }
        if (e.price <= limit)
            *to++ = e;
        else if (e.price < r.out)
            r.out = e.price;
    }
    r.slots += plain;
    v->entries.n = (uint32_t)(to - v->entries.at);
    v->hunt.steps += (hi - lo) / SCAN_STEP;
    return r;
}

static void entry_swap(struct entry *a, struct entry *b)
{
    struct entry t = *a;
    *a = *b;
    *b = t;
}

static bool entry_before(const struct entry *a, const struct entry *b)
{
    return a->price != b->price ? a->price < b->price : a->node < b->node;
}

static uint64_t capped(u128 cost)
{
    return cost < VICTIMS_COST_MAX ? (uint64_t)cost : VICTIMS_COST_MAX;
}

/* The sum of the lowest prices for the tasks; disorders the entries. */
static uint64_t scan_bound(struct entry *e, uint32_t n, uint64_t tasks)
{
    u128 sum = 0;
    while (n && tasks) {
        entry_swap(&e[0], &e[n / 2]);
        uint32_t edge = 0;
        uint64_t run = 0;
        u128 cost = 0;
        for (uint32_t i = 1; i < n; i++)
            if (entry_before(&e[i], &e[0])) {
                entry_swap(&e[++edge], &e[i]);
                run += e[edge].cap;
                cost += (u128)e[edge].price * e[edge].cap;
            }
        entry_swap(&e[0], &e[edge]);
        if (run >= tasks) {
            n = edge;
            continue;
        }
        tasks -= run;
        uint64_t here = e[edge].cap < tasks ? e[edge].cap : tasks;
        sum += cost + (u128)here * e[edge].price;
        tasks -= here;
        e += edge + 1;
        n -= edge + 1;
    }
    return capped(sum);
}

/* The k-th lowest value, k from 0; disorders them. */
static uint64_t nth_value(uint64_t *p, uint32_t n, uint32_t k)
{
    while (n > 1) {
        uint64_t pivot = p[n / 2];
        uint32_t less = 0, same = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t x = p[i];
            if (x < pivot) {
                p[i] = p[less + same];
                p[less + same] = p[less];
                p[less++] = x;
            } else if (x == pivot) {
                p[i] = p[less + same];
                p[less + same++] = x;
            }
        }
        if (k < less) {
            n = less;
        } else if (k < less + same) {
            return pivot;
        } else {
            p += less + same;
            n -= less + same;
            k -= less + same;
        }
    }
    return p[0];
}

/* A price that k nodes of the domain, and not many more, will hardly exceed: by a
 * sample. UINT64_MAX where the domain is not much larger than that. */
static uint64_t price_limit(const struct question *q, uint32_t lo, uint32_t hi,
                            uint32_t k)
{
    struct victims *v = q->v;
    uint32_t stride = (hi - lo) / CORE_SAMPLE + 1;
    struct entry e;
    if (k >= (hi - lo) - (hi - lo) / 4)
        return UINT64_MAX;
    vec_clear(&v->values);
    for (uint32_t i = lo; i < hi; i += stride)
        if (node_price(q, i, &e))
            vec_push(&v->values, e.price);
    uint32_t rank = (uint32_t)((uint64_t)k * 5 / 4 / stride) + 4;
    return rank < v->values.n ? nth_value(v->values.at, v->values.n, rank) : UINT64_MAX;
}

/* ---- one domain ---- */

/* The core: of the entries those below the limit, and at it at most `ties`. Returns the
 * lowest price left out, at most `out`. */
static uint64_t choose_core(struct victims *v, uint64_t limit, uint64_t out,
                            uint32_t ties)
{
    vec_clear(&v->core);
    for (uint32_t i = 0; i < v->entries.n; i++) {
        const struct entry *e = &v->entries.at[i];
        if (e->price < limit || (e->price == limit && ties)) {
            ties -= e->price == limit;
            vec_push(&v->core, *e);
        } else if (e->price < out) {
            out = e->price;
        }
    }
    return out;
}

/* The price of the k-th entry, where a sample let too many in. */
static uint64_t trim_limit(struct victims *v, uint64_t limit, uint32_t k)
{
    if (v->entries.n <= k || limit == UINT64_MAX)
        return limit;
    vec_clear(&v->values);
    for (uint32_t i = 0; i < v->entries.n; i++)
        vec_push(&v->values, v->entries.at[i].price);
    return nth_value(v->values.at, v->values.n, k);
}

/* The cost that no set of that weight or more is below. GPUs and number of a set add
 * less than half a unit of cost: a bound above n - 1/2 means n. */
static uint64_t weight_cost(struct weight w)
{
    const u128 half = (u128)1 << (HUNT_COST_SHIFT - 1);
    return capped((w.hi + half - 1) >> HUNT_COST_SHIFT);
}

/* A weight that no set as good as the answer so far reaches, whatever the ties. */
static struct weight answer_ceiling(const struct victims_answer *a)
{
    if (a->verdict != VICTIMS_FOUND)
        return weight_inf;
    struct weight w = {.hi = (u128)a->cost << HUNT_COST_SHIFT};
    w.hi += (u128)a->gpus << HUNT_COUNT_BITS;
    w.hi += 2 * (u128)a->victims.n + 2;
    return w;
}

/* Is the set of the hunt before the answer so far? */
static bool hunt_wins(const struct question *q, const struct candidate *d,
                      uint64_t cost, uint64_t gpus)
{
    const struct victims_answer *a = q->ret;
    const struct hunt *h = &q->v->hunt;
    if (a->verdict != VICTIMS_FOUND || cost != a->cost)
        return a->verdict != VICTIMS_FOUND || cost < a->cost;
    if (gpus != a->gpus || h->goes.n != a->victims.n)
        return gpus != a->gpus ? gpus < a->gpus : h->goes.n < a->victims.n;
    for (uint32_t i = 0; i < a->victims.n; i++) {
        uint64_t x = h->victims.at[h->goes.at[i]].tie;
        uint64_t y = q->v->victims.at[a->victims.at[i]].tie;
        if (x != y)
            return x < y;
    }
    const struct victims_domain *was = &q->ask->domains[a->domain];
    return d->lo != was->lo ? d->lo < was->lo : d->hi < was->hi;
}

static void sort_goes(struct hunt *h)
{
    uint32_t *g = h->goes.at;
    for (uint32_t gap = h->goes.n / 2; gap; gap /= 2)
        for (uint32_t i = gap; i < h->goes.n; i++) {
            uint32_t x = g[i], to = i;
            for (; to >= gap && h->victims.at[g[to - gap]].tie > h->victims.at[x].tie;
                 to -= gap)
                g[to] = g[to - gap];
            g[to] = x;
        }
}

static void offer(struct question *q, const struct candidate *d)
{
    struct hunt *h = &q->v->hunt;
    struct victims_answer *a = q->ret;
    uint64_t cost = 0, gpus = 0;
    if (!h->found)
        return;
    for (uint32_t i = 0; i < h->goes.n; i++) {
        cost += h->victims.at[h->goes.at[i]].cost;
        gpus += h->victims.at[h->goes.at[i]].gpus;
    }
    sort_goes(h);
    if (!hunt_wins(q, d, cost, gpus))
        return;
    a->verdict = VICTIMS_FOUND;
    a->domain = d->index;
    a->cost = cost;
    a->gpus = gpus;
    vec_clear(&a->victims);
    vec_clear(&a->places);
    for (uint32_t i = 0; i < h->goes.n; i++)
        vec_push(&a->victims, h->victims.at[h->goes.at[i]].id);
    for (uint32_t i = 0; i < h->places.n; i++)
        vec_push(&a->places, h->places.at[i]);
}

static void unproven(struct question *q, uint64_t bound)
{
    q->proven = false;
    if (bound < q->bound)
        q->bound = bound;
}

static uint64_t hunt_room(const struct hunt *h)
{
    uint64_t slots = 0;
    for (uint32_t i = 0; i < h->nodes.n; i++)
        slots += h->nodes.at[i].cap;
    return slots;
}

/* What a solution weighs at least that uses a node outside the core, where prices are
 * `out` or more, and not less than theta: such a node saves one task of theta and costs
 * its own price. Prices are whole costs, so at the same cost each task may still save
 * what theta has below that. */
static struct weight outside_bound(const struct hunt *h, uint64_t out)
{
    uint64_t slope = capped(h->theta.hi >> HUNT_COST_SHIFT);
    struct weight rest = h->theta;
    rest.hi -= (u128)slope << HUNT_COST_SHIFT;
    if (out == slope)
        rest = weight_times(rest, h->tasks);
    struct weight w = h->root;
    w.hi += (u128)(out - slope) << HUNT_COST_SHIFT;
    return weight_cmp(w, rest) > 0 ? weight_sub(w, rest) : (struct weight){0};
}

/* The cost of the best set known, after a hunt. */
static uint64_t best_cost(const struct question *q)
{
    const struct hunt *h = &q->v->hunt;
    uint64_t best = h->found ? weight_cost(h->best) : UINT64_MAX;
    if (q->ret->verdict == VICTIMS_FOUND && q->ret->cost < best)
        best = q->ret->cost;
    return best;
}

/* Up to which price the core must reach, when `out` was the lowest outside it: 0 where
 * it was enough, UINT64_MAX where there is no telling but it is too small. */
static uint64_t core_wanting(const struct question *q, uint64_t out)
{
    const struct hunt *h = &q->v->hunt;
    if (out == UINT64_MAX || (q->ret->verdict == VICTIMS_FOUND && !q->ret->victims.n))
        return 0;
    if (!weight_cmp(h->root, weight_inf) ||
        out < capped(h->theta.hi >> HUNT_COST_SHIFT))
        return UINT64_MAX;
    uint64_t best = best_cost(q);
    uint64_t least = weight_cost(outside_bound(h, out));
    return least >= best ? 0 : out + (best - least);
}

struct outside {
    struct question *q;
    const struct candidate *d;
    uint64_t price; /* the lowest outside the core */
};

/* The price of a node outside the core may sink to the lowest such price and still keep
 * it outside; a node that can hold no task needs no price at all. What that leaves of a
 * victim's shares is spare. */
static void spare_outside(void *arg)
{
    const struct outside *o = arg;
    struct victims *v = o->q->v;
    scan(o->q, o->d->lo, o->d->hi, UINT64_MAX);
    vec_reserve(&v->slack, v->nnodes);
    for (uint32_t i = o->d->lo; i < o->d->hi; i++)
        v->slack.at[i] = UINT64_MAX;
    for (uint32_t i = 0; i < v->entries.n; i++) {
        const struct entry *e = &v->entries.at[i];
        v->slack.at[e->node] = e->price > o->price ? e->price - o->price : 0;
    }
    for (uint32_t i = 0; i < v->core.n; i++)
        v->slack.at[v->core.at[i].node] = 0;
    for (uint32_t i = 0; i < v->hunt.victims.n; i++) {
        struct hunt_victim *h = &v->hunt.victims.at[i];
        const struct victim *w = &v->victims.at[h->id];
        uint64_t spare = 0;
        for (uint32_t k = 0; h->shared && k < w->nseats; k++) {
            uint64_t part = w->gpus ? (uint64_t)w->seats[k].frees.gpu : 1;
            uint64_t share = (uint64_t)((u128)h->cost * part / h->parts);
            uint32_t node = w->seats[k].node;
            if (node >= o->d->lo && node < o->d->hi &&
                v->slack.at[node] != UINT64_MAX) {
                share = share < v->slack.at[node] ? share : v->slack.at[node];
                v->slack.at[node] -= share;
            }
            spare += share;
        }
        h->spare.hi = (u128)spare << HUNT_COST_SHIFT;
    }
}

/* Of several domains each gets at most three quarters of what is left. */
static uint64_t steps_left(const struct question *q)
{
    uint64_t used = q->v->hunt.steps, left = q->limit > used ? q->limit - used : 0;
    return q->ask->ndomains > 1 ? left - left / 4 : left;
}

static void no_room(struct question *q, uint64_t room)
{
    if (q->ret->verdict != VICTIMS_FOUND && room > q->ret->most)
        q->ret->most = (uint32_t)room;
}

static uint64_t rough_bound(struct question *q, const struct candidate *d)
{
    if (q->ask->ndomains > 1)
        return d->bound;
    scan(q, d->lo, d->hi, UINT64_MAX);
    return scan_bound(q->v->entries.at, q->v->entries.n, q->ask->tasks);
}

/* Search one domain. */
static void solve(struct question *q, const struct candidate *d)
{
    struct hunt *h = &q->v->hunt;
    uint32_t few =
        q->ask->tasks < UINT32_MAX / 8 ? q->ask->tasks + CORE_SPARE : UINT32_MAX;
    uint32_t ties = few;
    uint64_t limit = price_limit(q, d->lo, d->hi, few);
    for (;;) {
        struct scanned s = scan(q, d->lo, d->hi, limit);
        if (s.slots < q->ask->tasks) {
            no_room(q, s.slots);
            return;
        }
        if (ties == few)
            limit = trim_limit(q->v, limit, few);
        uint64_t out = choose_core(q->v, limit, s.out, ties);
        victims_load(q->v, q->ask, out == UINT64_MAX);
        if (out == UINT64_MAX && hunt_room(h) < q->ask->tasks) {
            no_room(q, hunt_room(h));
            return;
        }
        struct outside o = {q, d, out};
        h->spare = out == UINT64_MAX ? NULL : spare_outside;
        h->spare_arg = &o;
        hunt_run(h, answer_ceiling(q->ret), steps_left(q));
        offer(q, d);
        uint64_t reach = core_wanting(q, out);
        if (!reach)
            break;
        if (reach != UINT64_MAX && h->steps >= q->limit) {
            unproven(q, weight_cost(outside_bound(h, out)));
            break;
        }
        ties = UINT32_MAX;
        if (reach == UINT64_MAX) {
            few = few < UINT32_MAX / 8 ? 4 * few : UINT32_MAX;
            ties = few;
            reach = price_limit(q, d->lo, d->hi, few);
        }
        limit = reach > limit ? reach : limit;
    }
    if (h->rough)
        unproven(q, rough_bound(q, d));
    else if (weight_cmp(h->open, weight_inf))
        unproven(q, weight_cost(h->open));
}

/* ---- the question ---- */

static int by_bound(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    if (x->hi != y->hi)
        return x->hi < y->hi ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The domain of the list, in rank order and apart, in which the node may lie. */
static uint32_t candidate_at(const struct victims *v, uint32_t node)
{
    uint32_t lo = 0, hi = v->candidates.n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (v->candidates.at[mid].hi <= node)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Must what holds GPUs on this node go if the node is to hold its task? */
static bool all_go(const struct question *q, const struct victims_seat *s)
{
    const struct hot *h = &q->v->hot[s->node];
    return s->frees.gpu && h->all_gpu == q->ask->need.gpu && h->free_gpu < h->all_gpu &&
           !(h->gpu_classes & ~q->ask->classes);
}

/* In a domain that needs every node it has, a gang that stands partly outside is paid
 * whole: add to the bound what its share outside would carry. */
static void pay_gang(struct question *q, const struct victim *w)
{
    struct victims *v = q->v;
    const u128 cost = line_at(w->cost, w->rate, q->ask->at);
    for (uint32_t i = 0; i < w->nseats;) {
        uint32_t at = candidate_at(v, w->seats[i].node);
        if (at == v->candidates.n)
            return;
        struct candidate *d = &v->candidates.at[at];
        uint64_t parts = 0;
        bool goes = false;
        for (; i < w->nseats && w->seats[i].node < d->hi; i++)
            if (w->seats[i].node >= d->lo) {
                parts += (uint64_t)w->seats[i].frees.gpu;
                goes = goes || all_go(q, &w->seats[i]);
            }
        if (goes && d->tight)
            d->bound =
                capped((u128)d->bound + cost - (cost * parts + w->gpus - 1) / w->gpus);
    }
}

static void list_candidates(struct question *q)
{
    struct victims *v = q->v;
    bool apart = true, tight = false;
    uint32_t end = 0;
    vec_clear(&v->candidates);
    for (uint32_t i = 0; i < q->ask->ndomains; i++) {
        struct candidate d = {.lo = q->ask->domains[i].lo, .hi = q->ask->domains[i].hi};
        assert(d.lo <= d.hi && d.hi <= v->nnodes);
        d.index = i;
        struct scanned s = scan(q, d.lo, d.hi, UINT64_MAX);
        if (s.slots < q->ask->tasks) {
            no_room(q, s.slots);
            continue;
        }
        apart = apart && d.lo >= end;
        end = d.hi;
        d.tight = s.slots == q->ask->tasks;
        tight |= d.tight;
        if (d.tight)
            d.bound = capped(s.sum);
        else
            d.bound = scan_bound(v->entries.at, v->entries.n, q->ask->tasks);
        vec_push(&v->candidates, d);
    }
    if (apart && tight && v->candidates.n > 1)
        for (uint32_t i = 0; i < v->wide.n; i++)
            pay_gang(q, &v->victims.at[v->wide.at[i]]);
    if (v->candidates.n)
        qsort(v->candidates.at, v->candidates.n, sizeof *v->candidates.at, by_bound);
}

static void only_candidate(struct question *q)
{
    struct candidate d = {.lo = q->ask->domains->lo, .hi = q->ask->domains->hi};
    assert(d.lo <= d.hi && d.hi <= q->v->nnodes);
    vec_clear(&q->v->candidates);
    vec_push(&q->v->candidates, d);
}

static void search(struct question *q)
{
    struct victims *v = q->v;
    struct victims_answer *a = q->ret;
    for (uint32_t i = 0; i < v->candidates.n; i++) {
        const struct candidate *d = &v->candidates.at[i];
        if (a->verdict == VICTIMS_FOUND && (!a->victims.n || d->bound > a->cost))
            break;
        if (a->verdict == VICTIMS_FOUND && v->hunt.steps > 2 * q->limit) {
            unproven(q, d->bound);
            break;
        }
        solve(q, d);
    }
}

void victims_find(struct victims *v, const struct victims_ask *ask,
                  struct victims_answer *ret)
{
    struct question q = {.v = v, .ask = ask, .ret = ret, .proven = true};
    assert(ask->tasks && ask->need.gpu >= 0 && ask->need.cpu_milli >= 0 &&
           ask->need.mem_bytes >= 0 && ask->at >= 0);
    assert(ask->need.gpu || ask->need.cpu_milli || ask->need.mem_bytes);
    vec_clear(&ret->victims);
    vec_clear(&ret->places);
    ret->verdict = VICTIMS_IMPOSSIBLE;
    ret->domain = VICTIMS_NONE;
    ret->cost = ret->gpus = ret->bound = 0;
    ret->most = 0;
    v->hunt.steps = 0;
    q.limit = ask->steps ? ask->steps : VICTIMS_STEPS_DEFAULT;
    q.bound = UINT64_MAX;
    q.most_per_node = victims_most(ask);
    if (ask->ndomains == 1) /* no need of its bound */
        only_candidate(&q);
    else
        list_candidates(&q);
    search(&q);
    if (ret->verdict == VICTIMS_FOUND) {
        if (!q.proven)
            victims_thin(v, ask, ret);
        ret->bound = q.bound < ret->cost ? q.bound : ret->cost;
        ret->most = 0;
    }
    ret->proven = ret->bound == ret->cost;
    ret->steps = (uint32_t)(v->hunt.steps < UINT32_MAX ? v->hunt.steps : UINT32_MAX);
}

void victims_answer_done(struct victims_answer *a)
{
    vec_done(&a->victims);
    vec_done(&a->places);
}
