/* use.c - what claims take of a node and give back, and which devices they get
 *
 * take and give run the same code with the sign turned, so each sum moves by the same
 * amount both ways. What is not a sum (free masks, "overcommitted") follows from
 * counters. Cost: O(devices of the use); the lanes move only when the number of whole
 * free devices does, or the node stops or starts being usable. The whole-GPU path is
 * the hot one. SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "cluster/more.h"

void cluster_slices_grow(struct cluster *c)
{
    struct cluster_more *m = c->more;
    if (m->slice_room >= c->ndevices)
        return;
    uint32_t room = c->ndevices > 2 * m->slice_room ? c->ndevices : 2 * m->slice_room;
    m->slice_uses = mem_resize(m->slice_uses, (size_t)room * sizeof *m->slice_uses);
    memset(m->slice_uses + m->slice_room, 0,
           (size_t)(room - m->slice_room) * sizeof *m->slice_uses);
    m->slice_room = room;
}

bool device_is_over(const struct cluster *c, const struct device *d)
{
    if (!d->nuses)
        return false;
    if (d->state == DEVICE_GONE)
        return true;
    if (!d->cut)
        return d->free_milli < 0 || (d->mem_cap && d->mem_free < 0) ||
               (d->wholes && d->nuses > 1);
    if (d->cut != d->nuses || d->compute_free < 0)
        return true;
    const uint16_t *uses = c->more->slice_uses[d - c->devices];
    for (uint32_t s = 0; s < SLICES_MAX; s++)
        if (uses[s] > 1)
            return true;
    return false; /* cut devices are counted in slices, their bytes follow */
}

bool node_is_over(const struct cluster *c, const struct node *n)
{
    if (n->cpu_free < 0 || n->mem_free < 0 || n->slots_free < 0 || n->nics_free < 0)
        return true;
    for (uint32_t i = 0; i < n->ndevices; i++)
        if (device_is_over(c, &c->devices[n->device0 + i]))
            return true;
    return false;
}

/* Slices of one device, with a count each: two claims on one slice happen to foreign
 * ones. */
static void device_cut(struct cluster *c, struct device *d, const struct use *u,
                       int sign)
{
    cluster_slices_grow(c);
    uint16_t *uses = c->more->slice_uses[d - c->devices];
    for (uint32_t m = u->slices; m; m &= m - 1) {
        uint32_t s = (uint32_t)__builtin_ctz(m);
        uses[s] = (uint16_t)(uses[s] - sign);
    }
    const struct device_type *t = cluster_type(c, d->type);
    d->slices_free = t ? (uint16_t)((1u << t->mem_slices) - 1) : 0;
    for (uint32_t s = 0; s < SLICES_MAX; s++)
        if (uses[s])
            d->slices_free &= (uint16_t) ~(1u << s);
    d->compute_free = (int16_t)(d->compute_free + sign * u->compute);
    d->cut = (uint16_t)(d->cut - sign);
}

/* Device i of the node, after nuses or wholes changed: its bits in the node's masks. */
static void masks_update(const struct cluster *c, struct node *n, uint32_t i)
{
    const struct device *d = &c->devices[n->device0 + i];
    uint64_t bit = UINT64_C(1) << i;
    bool may = d->state == DEVICE_OK && (d->modes & DEVICE_WHOLE);
    bool was = n->whole_free & bit, is = may && !d->nuses;
    n->whole_free ^= was != is ? bit : 0;
    n->nwhole = (uint8_t)(n->nwhole + is - was);
    n->whole_held &= ~bit;
    n->whole_held |= may && d->nuses == 1 && d->wholes == 1 ? bit : 0;
}

/* The common case, all devices free, or all held by this claim alone: nothing to look
 * up, one pass of stores. Returns their number. */
static inline __attribute__((always_inline)) uint32_t
whole_flip(struct cluster *c, struct node *n, uint64_t devs, int sign)
{
    struct device *base = &c->devices[n->device0];
    uint32_t count = 0;
    for (uint64_t left = devs; left; left &= left - 1, count++) {
        struct device *d = base + (uint32_t)__builtin_ctzll(left);
        d->mem_free = sign < 0 ? 0 : d->mem_cap;
        d->free_milli = sign < 0 ? 0 : 1000;
        d->nuses = sign < 0;
        d->wholes = sign < 0;
    }
    n->whole_free ^= devs;
    n->whole_held ^= devs;
    n->nwhole = (uint8_t)(n->nwhole + sign * (int)count);
    n->gpu_free_milli += sign * (int64_t)count * 1000;
    return count;
}

/* Any other: devices that are shared, unhealthy, or held twice by the world's doing. */
static uint32_t whole_apply(struct cluster *c, struct node *n, uint64_t devs, int sign,
                            bool *ret_over)
{
    uint32_t count = 0;
    for (uint64_t left = devs; left; left &= left - 1, count++) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        struct device *d = &c->devices[n->device0 + i];
        d->nuses -= (uint32_t)sign;
        d->wholes = (uint16_t)(d->wholes - sign);
        d->free_milli += sign * 1000;
        d->mem_free += sign * d->mem_cap;
        d->shared = d->nuses > (uint32_t)d->wholes + d->cut;
        n->gpu_free_milli += d->state == DEVICE_OK ? sign * 1000 : 0;
        masks_update(c, n, i);
        *ret_over |= sign < 0 && device_is_over(c, d);
    }
    return count;
}

/* Shares and slices: the same amount of each device. */
static void part_apply(struct cluster *c, struct node *n, const struct use *u, int sign,
                       bool *ret_over)
{
    for (uint64_t left = u->devs; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        struct device *d = &c->devices[n->device0 + i];
        d->nuses -= (uint32_t)sign;
        d->free_milli += sign * (int32_t)u->gpu_milli;
        d->mem_free += sign * u->gpu_mem_bytes;
        if (u->mode == USE_MIG)
            device_cut(c, d, u, sign);
        d->shared = d->nuses > (uint32_t)d->wholes + d->cut;
        if (d->state == DEVICE_OK)
            n->gpu_free_milli += sign * (int64_t)u->gpu_milli;
        masks_update(c, n, i);
        *ret_over |= sign < 0 && device_is_over(c, d);
    }
}

static inline __attribute__((always_inline)) void
use_apply(struct cluster *c, const struct use *u, int sign)
{
    assert(u->node < c->nnodes);
    struct node *n = &c->nodes[u->node];
    assert(!(u->devs & ~node_devs(n)));
    n->cpu_free += sign * u->cpu_milli;
    n->mem_free += sign * u->mem_bytes;
    n->slots_free += sign * (int32_t)u->slots;
    n->nics_free += sign * (int32_t)u->nics;
    n->nuses -= (uint32_t)sign;
    bool over = false;
    if (u->mode == USE_WHOLE) {
        bool usual = !(u->devs & ~(sign < 0 ? n->whole_free : n->whole_held));
        uint32_t k = __builtin_expect(usual, 1)
                         ? whole_flip(c, n, u->devs, sign)
                         : whole_apply(c, n, u->devs, sign, &over);
        k = k > 9 ? 9 : k;
        n->uses_by_gpus[k] = (uint16_t)(n->uses_by_gpus[k] - sign);
    } else if (u->mode != USE_NONE) {
        part_apply(c, n, u, sign, &over);
        n->uses_by_gpus[0] = (uint16_t)(n->uses_by_gpus[0] - sign);
    }
    if (sign < 0)
        n->overcommitted |= over || (n->cpu_free | n->mem_free) < 0 ||
                            (n->slots_free | n->nics_free) < 0;
    else if (n->overcommitted)
        n->overcommitted = node_is_over(c, n);
    if (sign < 0)
        node_touch_taken(c, n, u->node);
    else
        node_touch(c, n, u->node);
    node_relane(c, n);
}

void cluster_take(struct cluster *c, const struct use *u)
{
    use_apply(c, u, -1);
}

void cluster_give(struct cluster *c, const struct use *u)
{
    use_apply(c, u, 1);
    struct node *n = &c->nodes[u->node];
    if (n->gone && !n->nuses)
        node_release(c, u->node);
}
