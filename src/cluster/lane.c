/* lane.c - which nodes have exactly k whole free GPUs, by domain, without scanning
 *
 * counts[domain][lane] says how many usable nodes under the domain stand in the lane; a
 * bit mask for each domain and lane says which children have any. Moving a node from
 * one lane to another walks from its lowest domain to the root: O(depth). Finding the
 * next node of a lane climbs until a mask has a bit at or after the place, then follows
 * lowest bits down: O(depth), plus one word of mask for each 64 children passed. Wide
 * domains (more than 512 children) keep a summary, one bit a mask word, so a flat
 * cluster of 100,000 nodes is passed in at most 25 words. SPDX-License-Identifier:
 * Apache-2.0 */
#include <assert.h>

#include "cluster/more.h"

static inline uint64_t *mask_of(const struct cluster_more *m, const struct spot *s,
                                uint32_t lane)
{
    return m->masks + s->mask0 + (size_t)lane * s->step;
}

static inline void child_set(uint64_t *mask, const struct spot *s, uint32_t pos)
{
    uint32_t w = pos >> 6;
    mask[w] |= UINT64_C(1) << (pos & 63);
    if (s->step > s->words)
        mask[s->words + (w >> 6)] |= UINT64_C(1) << (w & 63);
}

static inline void child_clear(uint64_t *mask, const struct spot *s, uint32_t pos)
{
    uint32_t w = pos >> 6;
    mask[w] &= ~(UINT64_C(1) << (pos & 63));
    if (s->step > s->words && !mask[w])
        mask[s->words + (w >> 6)] &= ~(UINT64_C(1) << (w & 63));
}

/* Position of the first set bit at or after from, UINT32_MAX if none. */
static inline uint32_t child_next(const struct cluster_more *m, const struct spot *s,
                                  uint32_t lane, uint32_t from)
{
    uint32_t w = from >> 6;
    if (w >= s->words)
        return UINT32_MAX;
    const uint64_t *mask = mask_of(m, s, lane);
    uint64_t bits = mask[w] >> (from & 63) << (from & 63);
    if (s->step > s->words && !bits) {
        const uint64_t *sum = mask + s->words;
        uint32_t n = (uint32_t)s->step - s->words, sw = ++w >> 6;
        uint64_t some = sw < n ? sum[sw] >> (w & 63) << (w & 63) : 0;
        while (!some && ++sw < n)
            some = sum[sw];
        if (!some)
            return UINT32_MAX;
        w = (sw << 6) + (uint32_t)__builtin_ctzll(some);
        bits = mask[w];
    }
    while (!bits && ++w < s->words)
        bits = mask[w];
    return bits ? (w << 6) + (uint32_t)__builtin_ctzll(bits) : UINT32_MAX;
}

/* Out of lane `from`, into lane `to`, from the node's domain up to the root. The
 * constants say which of the two there is; both in one walk, for they touch the same
 * domains. */
static inline __attribute__((always_inline)) void
lane_walk(const struct cluster *c, const struct node *n, uint32_t from, uint32_t to,
          const bool leave, const bool enter)
{
    const struct cluster_more *m = c->more;
    uint32_t d = n->domain, pos = n->rank - c->domains[d].rank_lo;
    bool empty = leave, fresh = enter;
    for (;;) {
        const struct spot *s = &m->spots[d];
        uint32_t *count = m->counts + (size_t)d * m->stride;
        if (leave && empty)
            child_clear(mask_of(m, s, from), s, pos);
        if (enter && fresh)
            child_set(mask_of(m, s, to), s, pos);
        if (leave)
            empty = --count[from] == 0;
        if (enter)
            fresh = count[to]++ == 0;
        if (s->parent == DOMAIN_NONE)
            return;
        pos = s->pos;
        d = s->parent;
    }
}

void lane_move(struct cluster *c, const struct node *n, uint32_t from, uint32_t to)
{
    if (from == LANE_NONE)
        lane_walk(c, n, from, to, false, true);
    else if (to == LANE_NONE)
        lane_walk(c, n, from, to, true, false);
    else
        lane_walk(c, n, from, to, true, true);
}

static uint32_t popcount(uint64_t x)
{
    return (uint32_t)__builtin_popcountll(x);
}

void node_relane_mixed(struct cluster *c, struct node *n, bool usable)
{
    struct cluster_more *m = c->more;
    struct kept *k = m->kept[n - c->nodes];
    for (uint32_t j = 0; j <= k->ntypes; j++) {
        bool all = j == k->ntypes;
        uint32_t base = m->lane_base[all ? LANE_MIXED : k->types[j]];
        uint32_t have = popcount(all ? n->whole_free : n->whole_free & k->masks[j]);
        uint32_t lane = usable ? base + have : LANE_NONE, was = k->lanes[j];
        if (lane == was)
            continue;
        lane_move(c, n, was, lane);
        k->lanes[j] = (uint16_t)lane;
    }
}

uint32_t cluster_lane_max(const struct cluster *c, uint32_t type)
{
    return type < TYPES_MAX ? c->more->lane_max[type] : 0;
}

uint32_t cluster_lane(const struct cluster *c, uint32_t type, uint32_t k)
{
    const struct cluster_more *m = c->more;
    if (type >= TYPES_MAX || !m->lane_used[type] || k > m->lane_max[type])
        return LANE_NONE;
    return m->lane_base[type] + k;
}

uint32_t domain_lane_from(const struct cluster *c, uint32_t domain, uint32_t type,
                          uint32_t k)
{
    const struct cluster_more *m = c->more;
    assert(!c->stale && domain < c->ndomains);
    if (type >= TYPES_MAX || !m->lane_used[type])
        return UINT32_MAX;
    const uint32_t *count =
        m->counts + (uint64_t)domain * m->stride + m->lane_base[type];
    while (k <= m->lane_max[type] && !count[k])
        k++;
    return k <= m->lane_max[type] ? k : UINT32_MAX;
}

uint32_t domain_count(const struct cluster *c, uint32_t domain, uint32_t lane)
{
    assert(!c->stale && domain < c->ndomains);
    return lane < c->more->nlanes
               ? c->more->counts[(uint64_t)domain * c->more->stride + lane]
               : 0;
}

/* sum of count[j] * floor(j / k), without a division */
static uint64_t lanes_fit(const struct cluster_more *m, const uint32_t *count,
                          uint32_t type, uint32_t k)
{
    if (!m->lane_used[type])
        return 0;
    uint64_t sum = 0;
    uint32_t quotient = 0, next = k;
    for (uint32_t j = k; j <= m->lane_max[type]; j++) {
        if (j == next) {
            quotient++;
            next += k;
        }
        sum += (uint64_t)count[m->lane_base[type] + j] * quotient;
    }
    return sum;
}

uint64_t domain_fit(const struct cluster *c, uint32_t domain, uint32_t type, uint32_t k)
{
    assert(!c->stale && domain < c->ndomains);
    const struct cluster_more *m = c->more;
    const uint32_t *count = m->counts + (uint64_t)domain * m->stride;
    if (k == 0)
        return count[LANE_ANY];
    if (type < TYPES_MAX)
        return lanes_fit(m, count, type, k);
    uint64_t sum = lanes_fit(m, count, LANE_MIXED, k);
    for (uint32_t t = 0; t < c->ntypes; t++)
        sum += lanes_fit(m, count, t, k);
    return sum;
}

uint32_t domain_child(const struct cluster *c, uint32_t domain, uint32_t lane,
                      uint32_t from)
{
    assert(!c->stale && domain < c->ndomains);
    if (lane >= c->more->nlanes)
        return UINT32_MAX;
    return child_next(c->more, &c->more->spots[domain], lane, from);
}

uint32_t domain_next(const struct cluster *c, uint32_t domain, uint32_t lane,
                     uint32_t from)
{
    assert(!c->stale && domain < c->ndomains);
    const struct cluster_more *m = c->more;
    const struct domain *top = &c->domains[domain];
    if (from < top->rank_lo)
        from = top->rank_lo;
    if (lane >= m->nlanes || from >= top->rank_hi)
        return NODE_NONE;
    uint32_t d = domain, pos = 0;
    if (from >
        top->rank_lo) { /* climb from the node at `from` until something is ahead */
        d = c->nodes[c->order[from]].domain;
        pos = from - c->domains[d].rank_lo;
        while ((pos = child_next(m, &m->spots[d], lane, pos)) == UINT32_MAX) {
            if (d == domain)
                return NODE_NONE;
            pos = m->spots[d].pos + 1;
            d = m->spots[d].parent;
        }
    } else if ((pos = child_next(m, &m->spots[d], lane, 0)) == UINT32_MAX) {
        return NODE_NONE;
    }
    while (c->domains[d].n) {
        d = c->domains[d].first + pos;
        pos = child_next(m, &m->spots[d], lane, 0);
        assert(pos != UINT32_MAX);
    }
    return c->order[c->domains[d].rank_lo + pos];
}
