/* seats.c - may one task go onto these devices of this node
 * The legality of a single placement: the node takes part, its taints are tolerated,
 * the devices are healthy, of an acceptable type and mode, a legal set, a legal slice
 * placement; hard constraints hold. That the room is not given twice is summed up in
 * room.c.
 *
 * Constraints are judged when the decision is on the books, and what does not hold
 * then, at the end of its pass once more: `need` may be met by a member that is placed
 * with it or held behind it, `avoid` must hold both ways against every other claim,
 * `spread` may leave the fullest partition of the launch at most max_skew above the
 * emptiest one that a node is in. SPDX-License-Identifier: Apache-2.0 */
#include "audit/book.h"

#include <stdio.h>

bool bnode_usable(const struct bnode *n)
{
    return n->state == NODE_UP && !n->cordoned && !n->unsynced;
}

static bool tolerated(const struct shape *s, const struct bnode *n)
{
    for (uint32_t t = 0; t < n->desc.ntaints; t++) {
        uint32_t i = 0;
        while (i < s->ntolerate && s->tolerate[i] != n->desc.taints[t])
            i++;
        if (i == s->ntolerate)
            return false;
    }
    return true;
}

static bool type_ok(const struct shape *s, const struct bdevice *d)
{
    for (uint32_t i = 0; i < s->ntypes; i++)
        if (d->type && s->types[i].type == d->type->name)
            return true;
    return s->ntypes == 0;
}

static uint8_t mode_bit(uint32_t gpu_mode)
{
    return gpu_mode == GPU_WHOLE   ? DEVICE_WHOLE
           : gpu_mode == GPU_SHARE ? DEVICE_SHARE
                                   : DEVICE_MIG;
}

/* A list of legal sets rules the counts that its masks have; an empty mask in it, all.
 */
static bool set_legal(const struct bnode *n, uint64_t devs)
{
    bool ruled = false;
    for (uint32_t i = 0; i < n->desc.nlegal; i++) {
        uint64_t m = n->desc.legal[i];
        if (m == devs)
            return true;
        ruled |= !m || __builtin_popcountll(m) == __builtin_popcountll(devs);
    }
    return !ruled;
}

static const struct profile *profile_of(const struct bdevice *d, word_t name)
{
    for (uint32_t i = 0; d->type && i < d->type->nprofiles; i++)
        if (d->type->profiles[i].name == name)
            return &d->type->profiles[i];
    return NULL;
}

static bool slices_legal(const struct profile *p, uint16_t slices)
{
    for (uint32_t start = 0; start + p->slices <= SLICES_MAX; start++)
        if (p->starts >> start & 1 &&
            slices == (uint16_t)(((1u << p->slices) - 1) << start))
            return true;
    return false;
}

static const char *devices_refused(const struct shape *s, const struct bnode *n,
                                   const struct need *need, char text[160])
{
    if (s->gpu_mode == GPU_NONE)
        return need->devs ? "it asks for no GPU and got one" : NULL;
    if ((uint32_t)__builtin_popcountll(need->devs) != s->gpu_count) {
        snprintf(text, 160, "it asks for %u devices and got %d", s->gpu_count,
                 __builtin_popcountll(need->devs));
        return text;
    }
    for (uint64_t m = need->devs; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(m);
        const struct bdevice *d = &n->dev[i];
        const char *why = i >= n->ndev            ? "is not there"
                          : d->state != DEVICE_OK ? "is not healthy"
                          : !(d->modes & mode_bit(s->gpu_mode))
                              ? "does not allow the mode"
                          : !type_ok(s, d) ? "is of another type"
                                           : NULL;
        if (!why)
            continue;
        snprintf(text, 160, "device %u %s", i, why);
        return text;
    }
    if (s->gpu_mode == GPU_WHOLE && !set_legal(n, need->devs)) {
        snprintf(text, 160, "devices %#llx are no legal set",
                 (unsigned long long)need->devs);
        return text;
    }
    if (s->gpu_mode != GPU_MIG)
        return NULL;
    const struct profile *p =
        profile_of(&n->dev[__builtin_ctzll(need->devs)], s->profile);
    if (p && slices_legal(p, need->slices))
        return NULL;
    snprintf(text, 160, "slices %#x are no placement of the profile", need->slices);
    return text;
}

const char *seat_refused(const struct audit *a, const struct shape *s,
                         const struct bnode *n, const struct need *need, char text[160])
{
    (void)a;
    if (n->state != NODE_UP)
        return "the node is not up";
    if (n->cordoned)
        return "the node is cordoned";
    if (n->unsynced)
        return "the node's devices wait for its sync";
    if (!tolerated(s, n))
        return "a taint is not tolerated";
    return devices_refused(s, n, need, text);
}

/* constraints */

static bool carries(const struct shape *s, word_t tag)
{
    for (uint32_t i = 0; i < s->ntags; i++)
        if (s->tags[i] == tag)
            return true;
    return false;
}

static bool node_carries(const struct bnode *n, word_t tag)
{
    for (uint32_t i = 0; i < n->ntags; i++)
        if (n->tags[i] == tag)
            return true;
    return false;
}

static word_t part_of(const struct bnode *n, word_t key)
{
    for (uint32_t i = 0; i < n->desc.nparts; i++)
        if (n->desc.parts[i].key == key)
            return n->desc.parts[i].value;
    return WORD_NONE;
}

static bool same_place(const struct bnode *x, const struct bnode *y, word_t key)
{
    if (!key)
        return x == y;
    word_t v = part_of(x, key);
    return v && v == part_of(y, key);
}

/* Claims that are there to meet: on a node, with a shape that is known. */
static bool is_there(const struct bclaim *c)
{
    return c->node && c->shaped && (c->phase != BP_PLANNED || c->taken);
}

static bool need_met(const struct audit *a, const struct bclaim *c,
                     const struct constraint *k)
{
    for (uint32_t i = 0; i < a->nodes.n; i++)
        if (same_place(a->nodes.at[i], c->node, k->key) &&
            node_carries(a->nodes.at[i], k->tag))
            return true;
    for (uint32_t i = 0; i < a->claims.n; i++) {
        const struct bclaim *o = a->claims.at[i];
        if (o != c && is_there(o) && same_place(o->node, c->node, k->key) &&
            carries(&o->shape, k->tag))
            return true;
    }
    return false;
}

static uint32_t carriers(const struct audit *a, word_t key, word_t value, word_t tag)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->claims.n; i++) {
        const struct bclaim *o = a->claims.at[i];
        n += is_there(o) && part_of(o->node, key) == value && carries(&o->shape, tag);
    }
    return n;
}

static bool spreads_too(const struct shape *s, const struct constraint *k)
{
    for (uint32_t i = 0; i < s->nconstraints; i++) {
        const struct constraint *o = &s->constraints[i];
        if (o->hard && o->kind == CONSTRAINT_SPREAD && o->tag == k->tag &&
            o->key == k->key && o->max_skew <= k->max_skew)
            return true;
    }
    return false;
}

static bool spread_met(const struct audit *a, const struct bclaim *c,
                       const struct constraint *k)
{
    word_t here = k->key ? part_of(c->node, k->key) : WORD_NONE;
    if (!k->key)
        return true; /* skew between single nodes: nothing is asked for */
    if (!here)
        return false;
    for (uint32_t i = 0; i < a->claims.n;
         i++) { /* others of the launch that do not care */
        const struct bclaim *o = a->claims.at[i];
        if (o->fresh && is_there(o) && carries(&o->shape, k->tag) &&
            !spreads_too(&o->shape, k))
            return true;
    }
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < a->nodes.n; i++) {
        word_t v = part_of(a->nodes.at[i], k->key);
        uint32_t n = v ? carriers(a, k->key, v, k->tag) : UINT32_MAX;
        least = n < least ? n : least;
    }
    return carriers(a, k->key, here, k->tag) <= least + k->max_skew;
}

static bool avoids(const struct bclaim *who, const struct bclaim *whom)
{
    for (uint32_t i = 0; i < who->shape.nconstraints; i++) {
        const struct constraint *k = &who->shape.constraints[i];
        if (k->hard && k->kind == CONSTRAINT_AVOID && carries(&whom->shape, k->tag) &&
            same_place(who->node, whom->node, k->key))
            return true;
    }
    return false;
}

const char *constraint_broken(const struct audit *a, const struct bclaim *c,
                              char text[160])
{
    for (uint32_t i = 0; i < c->shape.nconstraints; i++) {
        const struct constraint *k = &c->shape.constraints[i];
        const char *what = !k->hard                                           ? NULL
                           : k->kind == CONSTRAINT_NEED && !need_met(a, c, k) ? "need"
                           : k->kind == CONSTRAINT_SPREAD && !spread_met(a, c, k)
                               ? "spread"
                               : NULL;
        if (!what)
            continue;
        snprintf(text, 160, "constraint %u (%s of tag " STR_FMT ") does not hold", i,
                 what, STR_ARG(words_text(&a->words, k->tag)));
        return text;
    }
    bool may_meet = c->shape.ntags || c->shape.nconstraints;
    for (uint32_t i = 0; may_meet && i < a->claims.n; i++) {
        const struct bclaim *o = a->claims.at[i];
        if (o == c || !is_there(o))
            continue;
        if (avoids(c, o))
            return "it avoids a task that is there";
        if (avoids(o, c))
            return "a task that is there avoids it";
    }
    return NULL;
}

/* existence, by trying */

static bool mig_exists(const struct shape *s, const struct bnode *n,
                       const struct room *r, uint32_t i)
{
    const struct bdevice *d = &n->dev[i];
    const struct profile *p = profile_of(d, s->profile);
    if (!p || r->dev[i].wholes || r->dev[i].shares ||
        r->dev[i].compute + p->compute > d->type->compute_slices)
        return false;
    for (uint32_t start = 0; start < SLICES_MAX; start++) {
        uint32_t mask = ((1u << p->slices) - 1) << start;
        if (p->starts >> start & 1 && !(mask & r->dev[i].slices) &&
            mask < 1u << d->type->mem_slices)
            return true;
    }
    return false;
}

/* The devices that one task could have: all of them for whole, any for the others. */
static uint64_t candidates(const struct shape *s, const struct bnode *n,
                           const struct room *r)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < n->ndev; i++) {
        const struct bdevice *d = &n->dev[i];
        if (d->state != DEVICE_OK || !(d->modes & mode_bit(s->gpu_mode)) ||
            !type_ok(s, d))
            continue;
        bool good;
        uint32_t uses = r->dev[i].wholes + r->dev[i].shares + r->dev[i].cuts;
        if (s->gpu_mode == GPU_WHOLE)
            good = uses == 0;
        else if (s->gpu_mode == GPU_SHARE)
            good = uses == r->dev[i].shares && r->dev[i].milli + s->gpu_milli <= 1000 &&
                   (!d->mem_bytes || r->dev[i].mem + s->gpu_mem_bytes <= d->mem_bytes);
        else
            good = mig_exists(s, n, r, i);
        set |= (uint64_t)good << i;
    }
    return set;
}

static bool set_exists(const struct bnode *n, uint64_t free, uint32_t k)
{
    bool ruled = false;
    for (uint32_t i = 0; i < n->desc.nlegal; i++) {
        uint64_t m = n->desc.legal[i];
        if (m && (uint32_t)__builtin_popcountll(m) != k)
            continue;
        ruled = true;
        if (m && !(m & ~free))
            return true;
    }
    return !ruled && (uint32_t)__builtin_popcountll(free) >= k;
}

bool seat_exists(const struct shape *s, const struct bnode *n)
{
    if (!bnode_usable(n) || n->spare || !tolerated(s, n))
        return false;
    struct room r;
    char text[160];
    room_sum(n, ROOM_TAKEN, &r);
    if (room_excess(n, &r, text))
        return false;
    if (r.cpu + s->cpu_milli > n->desc.cpu_milli ||
        r.mem + s->mem_bytes > n->desc.mem_bytes || r.nics + s->nics > n->desc.nics ||
        (n->desc.pod_slots && r.slots + s->pod_slots > n->desc.pod_slots))
        return false;
    if (s->gpu_mode == GPU_NONE)
        return true;
    uint64_t set = candidates(s, n, &r);
    for (uint64_t left = set; left;) { /* the devices of one task are of one type */
        const struct btype *t = n->dev[__builtin_ctzll(left)].type;
        uint64_t same = 0;
        for (uint64_t m = left; m; m &= m - 1)
            if (n->dev[__builtin_ctzll(m)].type == t)
                same |= m & -m;
        left &= ~same;
        if (s->gpu_mode == GPU_WHOLE
                ? set_exists(n, same, s->gpu_count)
                : (uint32_t)__builtin_popcountll(same) >= s->gpu_count)
            return true;
    }
    return false;
}
