/* pick.c - which devices of a node, which slices of a device
 *
 * Whole devices: when the description lists legal sets of that size, the lowest free
 * one (as a number); otherwise the k lowest free devices of one island, the lowest such
 * set, and only when no island has k the k lowest of all.
 *
 * Slices: an instance once made cannot move, so it goes to the legal start after which
 * the type's other profiles have the most places left. On an empty A100 that puts
 * 3g.20gb at 4 (nine places stay open, at 0 only six), which keeps the one start of
 * 4g.20gb free; and 1g.5gb at 6, the slice that no wide profile can start in. Cost:
 * legal sets; starts x profiles x starts of a type, at most 8 x 16 x 8.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cluster/more.h"

static uint64_t lowest_bits(uint64_t set, uint32_t k)
{
    uint64_t rest = set;
    while (k--)
        rest &= rest - 1;
    return set ^ rest;
}

static uint32_t popcount(uint64_t x)
{
    return (uint32_t)__builtin_popcountll(x);
}

/* The lowest legal set of k inside `free`; *ret_ruled: the list speaks about k. */
static uint64_t legal_pick(const struct node_desc *d, uint64_t free, uint32_t k,
                           bool *ret_ruled)
{
    uint64_t best = 0;
    for (uint32_t i = 0; i < d->nlegal; i++) {
        uint64_t mask = d->legal[i];
        if (mask && popcount(mask) != k)
            continue;
        *ret_ruled = true;
        if (mask && !(mask & ~free) && (!best || mask < best))
            best = mask;
    }
    return best;
}

static uint64_t island_pick(const struct cluster *c, const struct node *n,
                            uint64_t free, uint32_t k)
{
    uint64_t best = 0;
    for (uint64_t left = free; popcount(left) >= k;) {
        uint8_t island =
            c->devices[n->device0 + (uint32_t)__builtin_ctzll(left)].island;
        uint64_t set = 0;
        for (uint64_t m = left; m; m &= m - 1) {
            uint32_t i = (uint32_t)__builtin_ctzll(m);
            if (c->devices[n->device0 + i].island == island)
                set |= UINT64_C(1) << i;
        }
        left &= ~set;
        set = popcount(set) >= k ? lowest_bits(set, k) : 0;
        if (set && (!best || set < best))
            best = set;
    }
    return best ? best : lowest_bits(free, k);
}

uint64_t node_pick_whole(const struct cluster *c, const struct node *n, uint32_t type,
                         uint32_t k)
{
    uint64_t free = n->whole_free;
    if (type != TYPE_ANY && n->type != type)
        free &= node_type_devs(c, n, type);
    if (!k || k > n->nwhole || popcount(free) < k)
        return 0;
    if (n->plain)
        return lowest_bits(free, k);
    bool ruled = false;
    uint64_t set = legal_pick(&c->more->kept[n - c->nodes]->d, free, k, &ruled);
    return ruled ? set : island_pick(c, n, free, k);
}

static bool slices_fit(const struct profile *p, uint32_t free, int compute,
                       uint32_t start)
{
    uint32_t mask = ((1u << p->slices) - 1) << start;
    return (p->starts >> start & 1) && (free & mask) == mask && compute >= p->compute;
}

bool device_mig_fits(const struct cluster *c, const struct device *d,
                     const struct profile *p, uint32_t start)
{
    (void)c;
    return d->state == DEVICE_OK && (d->modes & DEVICE_MIG) && d->nuses == d->cut &&
           start < SLICES_MAX && slices_fit(p, d->slices_free, d->compute_free, start);
}

/* Places that the other profiles have when these slices are free. */
static uint32_t places_left(const struct device_type *t, const struct profile *but,
                            uint32_t free, int compute)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->nprofiles; i++)
        for (uint32_t m = t->profiles[i].starts; m && &t->profiles[i] != but;
             m &= m - 1)
            n += slices_fit(&t->profiles[i], free, compute, (uint32_t)__builtin_ctz(m));
    return n;
}

uint16_t device_mig_place(const struct cluster *c, const struct device *d,
                          word_t profile, const struct profile **ret)
{
    const struct device_type *t = cluster_type(c, d->type);
    const struct profile *p = NULL;
    for (uint32_t i = 0; t && i < t->nprofiles; i++)
        if (t->profiles[i].name == profile)
            p = &t->profiles[i];
    uint32_t best = 0, most = 0;
    for (uint32_t m = p ? p->starts : 0; m; m &= m - 1) {
        uint32_t start = (uint32_t)__builtin_ctz(m);
        if (!device_mig_fits(c, d, p, start))
            continue;
        uint32_t mask = ((1u << p->slices) - 1) << start;
        uint32_t left =
            places_left(t, p, d->slices_free & ~mask, d->compute_free - p->compute);
        if (!best || left > most) {
            best = mask;
            most = left;
        }
    }
    if (best && ret)
        *ret = p;
    return (uint16_t)best;
}
