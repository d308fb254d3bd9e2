/* fill.c - puts tasks of one shape under a domain, and takes them back
 *
 * Whole GPUs go by the lanes of the tree: capacities are arithmetic, nodes are found through
 * the child masks, nothing is scanned. n tasks go into the fewest domains: the tightest
 * child that holds the rest, else the roomiest, again and again, down to the nodes; there
 * full nodes first, then the node that the rest fills best. Shares, MIG and CPU-only tasks
 * go one by one to the best score on the board.
 * A single task goes to the node with the fewest free GPUs that suffice (or by the policy's
 * scorer); among idle nodes to one in the domain with the least room, else among equals to
 * the lowest rank. Cost: O(tasks + children visited).
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/place.h"

void trail_undo(struct sched *s, uint32_t to)
{
    struct scratch *sc = s->scratch;
    while (sc->plan.n > to) {
        const struct pick *p = &sc->plan.at[--sc->plan.n];
        cluster_give(s->cluster, &p->use);
        if (s->shapes.at[p->shape].tagged)
            tally_claim(s, p->shape, p->use.node, -1);
    }
}

static void trail_take(struct sched *s, uint32_t shape, const struct use *u)
{
    cluster_take(s->cluster, u);
    if (s->shapes.at[shape].tagged)
        tally_claim(s, shape, u->node, 1);
    vec_push(&s->scratch->plan, (struct pick){NONE, shape, *u, false});
}

word_t fault_of(const struct sched *s, uint32_t node, word_t kind)
{
    const struct node_desc *d = cluster_node_desc(s->cluster, node);
    for (uint32_t i = 0; i < d->nfaults; i++)
        if (d->faults[i].key == kind)
            return d->faults[i].value;
    int depth = cluster_level_depth(s->cluster, kind);
    if (depth < 0)
        return WORD_NONE;
    if ((uint32_t)depth > s->cluster->nlevels) /* the level of the nodes themselves */
        return node + 1;
    return cluster_domain(s->cluster, (uint32_t)depth, node) + 1;
}

/* May one more slot go into the node's fault domain? Counts what the plan holds already. */
static bool spread_allows(const struct sched *s, const struct asker *a, uint32_t node)
{
    if (!a->spread_kind || !a->spread_most)
        return true;
    word_t here = fault_of(s, node, a->spread_kind);
    if (!here)
        return true;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->scratch->plan.n; i++) {
        const struct pick *p = &s->scratch->plan.at[i];
        bool shares = p->slot == NONE || (p->slot >= a->spread_lo && p->slot < a->spread_hi);
        n += shares && fault_of(s, p->use.node, a->spread_kind) == here;
    }
    for (uint32_t i = 0; i < s->scratch->spread.n; i++)
        if (s->scratch->spread.at[i] >> 32 == here)
            n += (uint32_t)s->scratch->spread.at[i];
    return n < a->spread_most;
}

uint32_t fill_node(struct sched *s, const struct asker *a, uint32_t node, uint32_t n)
{
    uint32_t got = 0;
    struct use u;
    while (got < n && score_fits(s->cluster, node, a->sh, a->types, &u) &&
           node_eligible(s, a->sh, node) && spread_allows(s, a, node)) {
        trail_take(s, a->shape, &u);
        got++;
    }
    return got;
}

uint64_t asker_fit(const struct sched *s, const struct asker *a, uint32_t domain)
{
    if (a->sh->gpu_mode != GPU_WHOLE)
        return domain_count(s->cluster, domain, LANE_ANY) ? UINT32_MAX : 0;
    if (a->types == UINT64_MAX)
        return domain_fit(s->cluster, domain, TYPE_ANY, a->sh->gpu_count);
    uint64_t fit = 0;
    for (uint64_t m = a->types; m; m &= m - 1)
        fit += domain_fit(s->cluster, domain, (uint32_t)__builtin_ctzll(m),
                          a->sh->gpu_count);
    return fit;
}

/* Of the types that will do, those that the cluster has: walked bit by bit. */
static inline uint64_t types_here(const struct sched *s, uint64_t types)
{
    uint32_t n = s->cluster->ntypes;
    return n < 64 ? types & ((UINT64_C(1) << n) - 1) : types;
}

uint32_t widest_lane(const struct sched *s, uint64_t types)
{
    uint32_t most = 0;
    for (uint64_t m = types_here(s, types); m; m &= m - 1) {
        uint32_t k = cluster_lane_max(s->cluster, (uint32_t)__builtin_ctzll(m));
        most = k > most ? k : most;
    }
    return most;
}

/* Lowest rank at or after *from among the lanes (type, k) of all types that will do. */
static uint32_t next_with(const struct sched *s, const struct asker *a, uint32_t domain,
                          uint32_t k, uint32_t from)
{
    uint32_t best = NODE_NONE;
    for (uint64_t m = types_here(s, a->types); m; m &= m - 1) {
        uint32_t t = (uint32_t)__builtin_ctzll(m);
        if (k > cluster_lane_max(s->cluster, t))
            continue;
        uint32_t node = domain_next(s->cluster, domain, cluster_lane(s->cluster, t, k), from);
        if (node != NODE_NONE && (best == NODE_NONE || s->cluster->nodes[node].rank <
                                                           s->cluster->nodes[best].rank))
            best = node;
    }
    return best;
}

/* As next_with, but the node must take at least one task; it is taken. */
static uint32_t fill_lane(struct sched *s, const struct asker *a, uint32_t domain, uint32_t k,
                          uint32_t most, bool stop_after_one, uint32_t per_node)
{
    uint32_t got = 0, from = s->cluster->domains[domain].rank_lo, node;
    while (got < most && (node = next_with(s, a, domain, k, from)) != NODE_NONE) {
        from = s->cluster->nodes[node].rank + 1;
        uint32_t want = most - got < per_node ? most - got : per_node;
        uint32_t here = fill_node(s, a, node, want);
        got += here;
        if (here && stop_after_one)
            break;
    }
    return got;
}

static uint32_t fill_whole(struct sched *s, const struct asker *a, uint32_t domain, uint32_t n)
{
    uint32_t g = a->sh->gpu_count, top = widest_lane(s, a->types), got = 0;
    for (uint32_t k = top; k >= g && got < n; k--) { /* nodes that the rest fills up */
        uint32_t per = k / g, rest = n - got;
        if (rest >= per)
            got += fill_lane(s, a, domain, k, rest / per * per, false, per);
    }
    while (got < n) {
        uint32_t rest = n - got, here = 0;
        for (uint32_t k = rest * g; k <= top && !here && rest <= top; k++)
            here = fill_lane(s, a, domain, k, rest, true, rest);
        for (uint32_t k = top; k >= g && !here; k--)
            here = fill_lane(s, a, domain, k, rest, true, k / g);
        if (!here)
            break;
        got += here;
    }
    return got;
}

struct eligible_arg {
    struct sched *s;
    const struct asker *a;
};

static bool eligible_on_board(void *arg, uint32_t node)
{
    struct eligible_arg *e = arg;
    return node_eligible(e->s, e->a->sh, node) && spread_allows(e->s, e->a, node);
}

static bool by_lanes(const struct sched *s, const struct asker *a)
{
    return a->sh->gpu_mode == GPU_WHOLE && s->scratch->by_lanes;
}

/* The first node in the lane (type, k) that takes one task; nothing is taken. */
static bool find_in_lane(struct sched *s, const struct asker *a, uint32_t domain, uint32_t k,
                         struct use *ret)
{
    uint32_t from = s->cluster->domains[domain].rank_lo, node;
    while ((node = next_with(s, a, domain, k, from)) != NODE_NONE) {
        if (score_fits(s->cluster, node, a->sh, a->types, ret) &&
            node_eligible(s, a->sh, node) && spread_allows(s, a, node))
            return true;
        from = s->cluster->nodes[node].rank + 1;
    }
    return false;
}

static bool has_lane(const struct sched *s, const struct asker *a, uint32_t domain, uint32_t k)
{
    for (uint64_t m = types_here(s, a->types); m; m &= m - 1) {
        uint32_t t = (uint32_t)__builtin_ctzll(m);
        if (k <= cluster_lane_max(s->cluster, t) &&
            domain_count(s->cluster, domain, cluster_lane(s->cluster, t, k)))
            return true;
    }
    return false;
}

/* The same among idle nodes, which are all alike: down the children with the least room, so
 * that a domain which is still whole is broken last. */
static bool find_idle(struct sched *s, const struct asker *a, uint32_t domain, uint32_t k,
                      struct use *ret)
{
    const struct domain *d = &s->cluster->domains[domain];
    uint32_t base = s->scratch->fits.n, n = d->n, first = d->first;
    bool found = false;
    if (n == 0)
        return find_in_lane(s, a, domain, k, ret);
    vec_resize(&s->scratch->fits, base + n);
    for (uint32_t i = 0; i < n; i++)
        s->scratch->fits.at[base + i] =
            has_lane(s, a, first + i, k) ? asker_fit(s, a, first + i) : 0;
    while (!found) {
        uint32_t i = choose_child(s->scratch->fits.at + base, n, 1);
        if (i == UINT32_MAX)
            break;
        s->scratch->fits.at[base + i] = 0;
        found = find_idle(s, a, first + i, k, ret);
    }
    s->scratch->fits.n = base;
    return found;
}

static int32_t best_of_ranks(struct sched *s, const struct asker *a, uint32_t lo, uint32_t hi,
                             uint64_t serial, struct use *ret)
{
    struct eligible_arg arg = {s, a};
    struct choice ch;
    if (!board_best(s->scratch->board, a->shape, a->sh, serial, lo, hi, eligible_on_board,
                    &arg, &ch))
        return SCORE_NONE;
    *ret = ch.use;
    return ch.score;
}

/* All its nodes stand idle: a gang could have the whole of it. */
static bool is_whole(const struct sched *s, const struct domain *d, uint32_t domain)
{
    uint32_t idle = 0;
    for (uint32_t t = 0; t < s->cluster->ntypes; t++)
        idle += domain_count(s->cluster, domain,
                             cluster_lane(s->cluster, t, cluster_lane_max(s->cluster, t)));
    return idle == d->rank_hi - d->rank_lo;
}

/* The best score among the lowest domains that are broken already; neighbours are asked as
 * one range. O(lowest domains). */
static bool best_in_broken(struct sched *s, const struct asker *a, uint32_t domain,
                           uint64_t serial, struct use *ret)
{
    uint32_t first, end, lo = 0, hi = 0;
    int32_t best = SCORE_NONE;
    struct use u;
    domain_span(s->cluster, domain, s->cluster->nlevels, &first, &end);
    for (uint32_t i = first; i <= end; i++) {
        const struct domain *d = &s->cluster->domains[i < end ? i : first];
        if (i < end && !is_whole(s, d, i)) {
            lo = hi > lo ? lo : d->rank_lo;
            hi = d->rank_hi;
            continue;
        }
        int32_t score = hi > lo ? best_of_ranks(s, a, lo, hi, serial, &u) : SCORE_NONE;
        if (score > best) {
            best = score;
            *ret = u;
        }
        lo = hi = 0;
    }
    return best != SCORE_NONE;
}

/* The least k' >= k that some node under the domain has free, of the types that will do. */
static uint32_t lane_from(const struct sched *s, const struct asker *a, uint32_t domain,
                          uint32_t k)
{
    uint32_t least = UINT32_MAX;
    for (uint64_t m = types_here(s, a->types); m; m &= m - 1) {
        uint32_t here =
            domain_lane_from(s->cluster, domain, (uint32_t)__builtin_ctzll(m), k);
        least = here < least ? here : least;
    }
    return least;
}

static bool find_by_lanes(struct sched *s, const struct asker *a, uint32_t domain,
                          struct use *ret)
{
    uint32_t g = a->sh->gpu_count, top = widest_lane(s, a->types);
    for (uint32_t i = g; i <= top; i++) {
        if (!a->widest)
            i = lane_from(s, a, domain, i);
        if (i > top)
            return false;
        uint32_t k = a->widest ? top + g - i : i;
        if (k == top ? find_idle(s, a, domain, k, ret) : find_in_lane(s, a, domain, k, ret))
            return true;
    }
    return false;
}

bool find_one(struct sched *s, const struct asker *a, uint32_t domain, uint64_t serial,
              struct use *ret)
{
    if (by_lanes(s, a))
        return find_by_lanes(s, a, domain, ret);
    const struct domain *d = &s->cluster->domains[domain];
    return (s->scratch->keeps_whole && best_in_broken(s, a, domain, serial, ret)) ||
           best_of_ranks(s, a, d->rank_lo, d->rank_hi, serial, ret) != SCORE_NONE;
}

bool fill_one(struct sched *s, const struct asker *a, uint32_t domain, uint64_t serial)
{
    struct use u;
    if (!find_one(s, a, domain, serial, &u))
        return false;
    trail_take(s, a->shape, &u);
    return true;
}

void domain_span(const struct cluster *c, uint32_t d, uint32_t depth, uint32_t *lo,
                 uint32_t *hi)
{
    *lo = d;
    *hi = d + 1;
    if (c->domains[d].depth > depth)
        *hi = d;
    for (uint32_t at = c->domains[d].depth; at < depth; at++) {
        const struct domain *last = &c->domains[*hi - 1];
        *lo = c->domains[*lo].first;
        *hi = last->first + last->n;
    }
}

/* The tightest child that holds `rest`, else the roomiest; UINT32_MAX: none has room. */
uint32_t choose_child(const uint64_t *fits, uint32_t n, uint64_t rest)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (fits[i] == 0)
            continue;
        if (best == UINT32_MAX) {
            best = i;
            continue;
        }
        bool holds = fits[i] >= rest, held = fits[best] >= rest;
        if (holds != held ? holds : holds ? fits[i] < fits[best] : fits[i] > fits[best])
            best = i;
    }
    return best;
}

/* Tasks of the shape that one node takes, by what it has least of. */
uint64_t node_takes(struct sched *s, const struct asker *a, uint32_t node)
{
    const struct node *n = &s->cluster->nodes[node];
    const struct shape *sh = a->sh;
    struct use u;
    if (!score_fits(s->cluster, node, sh, a->types, &u) || !node_eligible(s, sh, node))
        return 0;
    uint64_t fit = UINT32_MAX;
    if (sh->cpu_milli > 0)
        fit = (uint64_t)(n->cpu_free / sh->cpu_milli);
    if (sh->mem_bytes > 0 && (uint64_t)(n->mem_free / sh->mem_bytes) < fit)
        fit = (uint64_t)(n->mem_free / sh->mem_bytes);
    if (sh->pod_slots && (uint64_t)n->slots_free / sh->pod_slots < fit)
        fit = (uint64_t)n->slots_free / sh->pod_slots;
    if (sh->gpu_mode == GPU_WHOLE && n->nwhole / sh->gpu_count < fit)
        fit = n->nwhole / sh->gpu_count;
    if (sh->gpu_mode == GPU_SHARE &&
        (uint64_t)n->gpu_free_milli / shape_gpu_milli(sh) < fit)
        fit = (uint64_t)n->gpu_free_milli / shape_gpu_milli(sh);
    return fit ? fit : 1;
}

uint64_t asker_takes(struct sched *s, const struct asker *a, uint32_t domain, uint64_t need)
{
    const struct domain *d = &s->cluster->domains[domain];
    uint64_t fit = 0;
    for (uint32_t r = d->rank_lo; r < d->rank_hi && fit < need; r++)
        fit += node_takes(s, a, s->cluster->order[r]);
    return fit;
}

uint32_t fill_domain(struct sched *s, const struct asker *a, uint32_t domain, uint32_t n)
{
    const struct domain *d = &s->cluster->domains[domain];
    if (n == 0)
        return 0;
    uint32_t got = 0;
    if (a->sh->gpu_mode != GPU_WHOLE || (n == 1 && d->n == 0 && by_lanes(s, a))) {
        while (got < n && fill_one(s, a, domain, s->seq + s->scratch->plan.n))
            got++;
        return got;
    }
    if (d->n == 0)
        return fill_whole(s, a, domain, n);
    uint32_t base = s->scratch->fits.n, children = d->n, first = d->first;
    vec_resize(&s->scratch->fits, base + children);
    for (uint32_t i = 0; i < children; i++)
        s->scratch->fits.at[base + i] = asker_fit(s, a, first + i);
    while (got < n) {
        uint32_t i = choose_child(s->scratch->fits.at + base, children, n - got);
        if (i == UINT32_MAX)
            break;
        s->scratch->fits.at[base + i] = 0; /* once is enough */
        got += fill_domain(s, a, first + i, n - got);
    }
    s->scratch->fits.n = base;
    return got;
}
