/* reserve.c - what reservations and plans keep: the fold side
 *
 * A reservation is a set of planned claims on the slots of a waiting gang, that lie over
 * what runs there now. What of a claim's devices is free is *guarded*: taken in the
 * cluster, so that no lane, board or pick sees it. When room on the node is freed the guard
 * grows; when all is there the claim itself is `taken`. On one node reservations come in the
 * order of their start, then of the queue, so what is guarded is a function of the claims
 * and not of the way they came. A plan's claims lie over its victims and, on the same node,
 * over what is free: until the last victim has gone that is guarded too, before what any
 * reservation keeps. O(claims on the node) a change.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/future.h"

struct reservation *reserve_of(struct sched *s, uint32_t gang)
{
    uint32_t n = s->reserves.n;
    if (!s->gangs.at[gang].reserved || n == 0)
        return NULL;
    while (s->reserve_at.n <= gang)
        vec_push(&s->reserve_at, NONE);
    uint32_t at = s->reserve_at.at[gang];
    at = at < n ? at : n - 1;
    while (at > 0 && s->reserves.at[at].gang != gang)
        at--;
    s->reserve_at.at[gang] = at;
    return s->reserves.at[at].gang == gang ? &s->reserves.at[at] : NULL;
}

static struct use *guard_of(struct sched *s, uint32_t claim)
{
    while (s->guards.n <= claim)
        vec_push(&s->guards, (struct use){.node = NODE_NONE});
    return &s->guards.at[claim];
}

static void changed(struct sched *s, uint32_t gang)
{
    struct reservation *r = reserve_of(s, gang);
    if (r)
        r->version = ++s->reserve_version;
}

/* What it keeps of partly used devices. */
static void rests_give(struct sched *s, uint32_t node)
{
    for (uint32_t i = s->rests.n; i-- > 0;) {
        struct use u = s->rests.at[i].use;
        if (u.node != node)
            continue;
        s->rests.at[i] = s->rests.at[--s->rests.n];
        cluster_give(s->cluster, &u);
        account_guard(s, &u, -1);
    }
}

void reserve_lift_node(struct sched *s, uint32_t node)
{
    rests_give(s, node);
    for (uint32_t i = node_first_claim(s, node); i != NONE; i = s->claims.at[i].next) {
        struct claim *c = &s->claims.at[i];
        if (!claim_is_reserved(s, c) && !claim_waits(s, c))
            continue;
        struct use *g = guard_of(s, i);
        if (c->taken) {
            claim_ungrab(s, i);
            reserve_of(s, c->gang)->taken--;
        } else if (g->node != NODE_NONE) {
            cluster_give(s->cluster, g);
            account_guard(s, g, -1);
        }
        g->node = NODE_NONE;
    }
}

uint64_t reserve_devices(const struct sched *s, uint32_t node)
{
    uint64_t devs = 0;
    for (uint32_t i = node_first_claim(s, node); i != NONE; i = s->claims.at[i].next) {
        const struct claim *c = &s->claims.at[i];
        if (!claim_is_reserved(s, c))
            continue;
        if (c->taken)
            devs |= c->use.devs;
        else if (i < s->guards.n && s->guards.at[i].node != NODE_NONE)
            devs |= s->guards.at[i].devs;
    }
    return devs;
}

static bool sooner(const struct sched *s, uint32_t a, uint32_t b)
{
    const struct claim *ca = &s->claims.at[a], *cb = &s->claims.at[b];
    if (ca->gang == cb->gang)
        return ca->slot < cb->slot;
    const struct reservation *ra = reserve_of((struct sched *)s, ca->gang);
    const struct reservation *rb = reserve_of((struct sched *)s, cb->gang);
    if (!ra != !rb)
        return !ra; /* plans, whose victims end already, before reservations */
    if (ra && ra->start != rb->start)
        return ra->start < rb->start;
    return gang_before(s, ca->gang, cb->gang);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b < 0 ? 0 : b;
}

/* Devices that somebody uses a part of: all that is left, lest others join and stay. */
static void rests_take(struct sched *s, uint32_t claim)
{
    const struct use *u = &s->claims.at[claim].use;
    const struct node *n = &s->cluster->nodes[u->node];
    uint64_t devs = u->devs & n->healthy & ~n->whole_free;
    for (uint64_t m = devs; m; m &= m - 1) {
        const struct device *d = &s->cluster->devices[n->device0 + (uint32_t)__builtin_ctzll(m)];
        if (d->wholes || d->free_milli <= 0 || !(d->modes & DEVICE_WHOLE))
            continue;
        struct use rest = {.node = u->node, .mode = d->cut ? GPU_MIG : GPU_SHARE, .devs = m & -m,
                           .gpu_milli = (uint32_t)d->free_milli,
                           .gpu_mem_bytes = d->mem_free > 0 ? d->mem_free : 0};
        if (d->cut) {
            rest.slices = d->slices_free;
            rest.compute = (uint8_t)(d->compute_free > 0 ? d->compute_free : 0);
        }
        cluster_take(s->cluster, &rest);
        account_guard(s, &rest, 1);
        vec_push(&s->rests, ((struct rest){.claim = claim, .use = rest}));
    }
}

/* As much of the claim's room as is free: whole devices, and CPU and memory beside them; of a
 * plan's claim those alone too. */
static void guard_take(struct sched *s, uint32_t claim)
{
    const struct claim *c = &s->claims.at[claim];
    const struct node *n = &s->cluster->nodes[c->use.node];
    struct use *g = guard_of(s, claim);
    if (!node_is_sound(n))
        return;
    if (c->use.mode == GPU_WHOLE && claim_is_reserved(s, c))
        rests_take(s, claim);
    uint64_t devs = c->use.mode == GPU_WHOLE ? c->use.devs & n->whole_free : 0;
    if (!devs && claim_is_reserved(s, c))
        return;
    *g = (struct use){.node = c->use.node, .mode = devs ? GPU_WHOLE : GPU_NONE,
                      .gpu_milli = devs ? 1000 : 0, .devs = devs,
                      .cpu_milli = least(c->use.cpu_milli, n->cpu_free),
                      .mem_bytes = least(c->use.mem_bytes, n->mem_free),
                      .slots = (uint32_t)least(c->use.slots, n->slots_free)};
    cluster_take(s->cluster, g);
    account_guard(s, g, 1);
}

void reserve_count(struct sched *s, uint32_t node, int by)
{
    if (node == NODE_NONE)
        return;
    while (s->reserved_at.n <= node)
        vec_push(&s->reserved_at, 0);
    if (by < 0 && s->reserved_at.at[node] == 0)
        return; /* the node was gone meanwhile */
    s->reserved_at.at[node] = (uint16_t)(s->reserved_at.at[node] + by);
}

void reserve_settle_node(struct sched *s, uint32_t node)
{
    uint32_t ids[64], n = 0;
    for (uint32_t i = node_first_claim(s, node); i != NONE; i = s->claims.at[i].next) {
        const struct claim *c = &s->claims.at[i];
        if ((!claim_is_reserved(s, c) && !claim_waits(s, c)) || n == 64)
            continue;
        uint32_t at = n++;
        for (; at > 0 && sooner(s, i, ids[at - 1]); at--)
            ids[at] = ids[at - 1];
        ids[at] = i;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t gang = s->claims.at[ids[k]].gang;
        struct reservation *r = reserve_of(s, gang);
        if (!node_is_usable(&s->cluster->nodes[node]) || !claim_grab(s, ids[k]))
            guard_take(s, ids[k]);
        else if (r)
            r->taken++;
        else
            reserve_count(s, node, -1); /* it waits no longer */
        changed(s, gang);
    }
}

void reserve_fact(struct sched *s, uint32_t node)
{
    if (!node_is_reserved(s, node))
        return;
    reserve_lift_node(s, node);
    reserve_settle_node(s, node);
}

void reserve_border(struct sched *s)
{
    s->reserve_now.check = s->reserve_check;
    s->reserve_now.improve = s->improve_at <= s->at;
    s->reserve_now.freed = s->reserve_tried != s->free_epoch;
    if (!s->synced || !s->leading)
        return; /* nobody decides: it is still to be done then */
    s->reserve_check = false;
    s->reserve_tried = s->free_epoch;
    if (s->reserves.n == 0)
        s->improve_at = INT64_MAX;
    else if (s->reserve_now.improve)
        s->improve_at = s->at + s->policy.improve_every_us;
}

void reserve_drop(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    if (!g->reserved)
        return;
    for (uint32_t i = 0; i < s->gangs.at[gang].nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (c == NONE || s->claims.at[c].phase != CLAIM_PLANNED)
            continue;
        uint32_t node = s->claims.at[c].use.node;
        if (node != NODE_NONE)
            reserve_lift_node(s, node);
        reserve_count(s, node, -1);
        claim_free(s, c); /* settles the node for whoever else has a reservation there */
    }
    s->gangs.at[gang].reserved = false;
    for (uint32_t i = 0; i < s->reserves.n; i++) {
        if (s->reserves.at[i].gang != gang)
            continue;
        memmove(&s->reserves.at[i], &s->reserves.at[i + 1],
                (s->reserves.n - i - 1) * sizeof s->reserves.at[0]);
        s->reserves.n--;
        break;
    }
    s->pending_milli -= (int64_t)gang_root(s, &s->gangs.at[gang])->min_milli;
    s->n_pending--;
}

void reserve_fold(struct sched *s, uint32_t gang, const struct record *r)
{
    gang_unpend(s, gang); /* also lets an older reservation go */
    struct gang *g = &s->gangs.at[gang];
    if (g->phase != GANG_PENDING || s->policy.reserve == RESERVE_NONE) {
        noop(s);
        return;
    }
    s->n_pending++;
    s->pending_milli += (int64_t)gang_root(s, g)->min_milli;
    g->reserved = true;
    if (gang < s->reserve_at.n)
        s->reserve_at.at[gang] = NONE;
    vec_push(&s->reserves, ((struct reservation){.gang = gang, .start = r->hold.start,
                                                 .by = r->hold.by,
                                                 .expected = r->hold.expected,
                                                 .made_at = s->at,
                                                 .version = ++s->reserve_version}));
    for (uint32_t i = 0; i < r->hold.nseats; i++) {
        uint32_t slot = slot_find(s, gang, r->hold.seats[i].slot);
        uint32_t node = node_find(s, r->hold.seats[i].node);
        if (slot == NONE || node == NODE_NONE || gang_slot(s, gang, slot)->claim != NONE)
            continue;
        claim_reserve(s, gang, slot, node, r->hold.seats[i].devs);
        reserve_of(s, gang)->nclaims++;
    }
    if (s->improve_at == INT64_MAX)
        s->improve_at = s->at + s->policy.improve_every_us;
}

void reserve_forget(struct sched *s)
{
    while (s->reserves.n) {
        uint32_t gang = s->reserves.at[0].gang;
        gang_unpend(s, gang);
        gang_wait(s, gang);
    }
    s->improve_at = INT64_MAX;
}

void reserve_restore(struct sched *s)
{
    for (uint32_t i = 0; i < s->claims.n; i++) {
        const struct claim *c = &s->claims.at[i];
        if (c->live && (claim_is_reserved(s, c) || claim_waits(s, c)))
            reserve_count(s, c->use.node, 1);
    }
    uint64_t version = s->reserve_version; /* it counts changes, and this is none */
    VEC(uint64_t) versions = {0};
    for (uint32_t i = 0; i < s->reserves.n; i++)
        vec_push(&versions, s->reserves.at[i].version);
    for (uint32_t node = 0; node < s->reserved_at.n; node++) {
        if (s->reserved_at.at[node] == 0)
            continue;
        reserve_lift_node(s, node);
        reserve_settle_node(s, node);
    }
    s->reserve_version = version;
    for (uint32_t i = 0; i < s->reserves.n; i++)
        s->reserves.at[i].version = versions.at[i];
    vec_done(&versions);
}
