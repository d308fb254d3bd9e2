/* room.c - what the claims of one node add up to, and where its GPU time goes
 * Sums are made anew from the node's claims each time: O(claims x devices), for the
 * nodes that a record names. The ledger follows DESIGN.md invariant 7, per node: first
 * what claims hold, by phase and never beyond the capacity (running and foreign:
 * useful; issued: starting; ending: saving; planned and stray: held), then what is
 * idle: faulty (the node is down, unknown or waits for its sync, or the device is not
 * ok), else drained (drained or cordoned), else no demand or fragmented by whether a
 * GPU gang is pending; unattributed while the world is unsynced. Quotas come later, so
 * nothing is quota-idle yet. SPDX-License-Identifier: Apache-2.0 */
#include "audit/book.h"

#include <stdio.h>

static bool counts(const struct bclaim *c, enum room_of which)
{
    switch (which) {
    case ROOM_ACTIVE: return c->phase != BP_PLANNED;
    case ROOM_KEPT: return c->phase != BP_ENDING || c->kept;
    default: return c->phase != BP_PLANNED || c->taken;
    }
}

static void add(const struct bnode *n, const struct need *d, struct room *r)
{
    r->cpu += d->cpu_milli;
    r->mem += d->mem_bytes;
    r->slots += d->slots;
    r->nics += d->nics;
    if (d->mode == GPU_NONE)
        return;
    for (uint64_t m = d->devs; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(m);
        r->dev[i].milli += d->gpu_milli;
        r->dev[i].mem += d->mode == GPU_WHOLE ? n->dev[i].mem_bytes : d->gpu_mem_bytes;
        r->dev[i].wholes += d->mode == GPU_WHOLE;
        r->dev[i].shares += d->mode == GPU_SHARE;
        r->dev[i].cuts += d->mode == GPU_MIG;
        r->dev[i].compute += d->compute;
        r->dev[i].overlap |= (r->dev[i].slices & d->slices) != 0;
        r->dev[i].slices |= d->slices;
    }
}

void room_sum(const struct bnode *n, enum room_of which, struct room *ret)
{
    memset(ret, 0, offsetof(struct room, dev) + n->nkept * sizeof ret->dev[0]);
    for (uint32_t i = 0; i < n->claims.n; i++)
        if (counts(n->claims.at[i], which))
            add(n, &n->claims.at[i]->need, ret);
}

static const char *device_excess(const struct bnode *n, const struct room *r,
                                 uint32_t i, char text[160])
{
    uint32_t uses = r->dev[i].wholes + r->dev[i].shares + r->dev[i].cuts;
    if (uses == 0)
        return NULL;
    const struct bdevice *d = &n->dev[i];
    if (d->state == DEVICE_GONE || i >= n->nkept)
        snprintf(text, 160, "device %u is gone and holds %u claims", i, uses);
    else if (r->dev[i].cuts && r->dev[i].cuts != uses)
        snprintf(text, 160, "device %u is cut and used in one piece", i);
    else if (r->dev[i].overlap)
        snprintf(text, 160, "device %u: two claims on one slice", i);
    else if (r->dev[i].cuts && d->type && r->dev[i].compute > d->type->compute_slices)
        snprintf(text, 160, "device %u: %u compute slices of %u", i, r->dev[i].compute,
                 d->type->compute_slices);
    else if (!r->dev[i].cuts && r->dev[i].milli > 1000)
        snprintf(text, 160, "device %u: shares of %lld in all", i,
                 (long long)r->dev[i].milli);
    else if (!r->dev[i].cuts && r->dev[i].wholes && uses > 1)
        snprintf(text, 160, "device %u: a whole claim and %u others", i, uses - 1);
    else if (!r->dev[i].cuts && d->mem_bytes && r->dev[i].mem > d->mem_bytes)
        snprintf(text, 160, "device %u: %lld bytes of %lld", i,
                 (long long)r->dev[i].mem, (long long)d->mem_bytes);
    else
        return NULL;
    return text;
}

const char *room_excess(const struct bnode *n, const struct room *r, char text[160])
{
    const struct {
        const char *what;
        int64_t used, cap;
    } sums[] = {
        {"milli-CPUs", r->cpu, n->desc.cpu_milli},
        {"bytes", r->mem, n->desc.mem_bytes},
        {"pod slots", r->slots, n->desc.pod_slots ? n->desc.pod_slots : INT32_MAX},
        {"nics", r->nics, n->desc.nics},
    };
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        if (sums[i].used <= sums[i].cap)
            continue;
        snprintf(text, 160, "%lld %s of %lld", (long long)sums[i].used, sums[i].what,
                 (long long)sums[i].cap);
        return text;
    }
    for (uint32_t i = 0; i < n->nkept; i++) {
        const char *why = device_excess(n, r, i, text);
        if (why)
            return why;
    }
    return NULL;
}

/* Would the planned claim's room be free now, beside everything that is really there?
 */
bool room_planned_fits(const struct bnode *n, const struct need *need)
{
    struct room r;
    room_sum(n, ROOM_TAKEN, &r);
    if (r.cpu + need->cpu_milli > n->desc.cpu_milli ||
        r.mem + need->mem_bytes > n->desc.mem_bytes ||
        r.nics + need->nics > n->desc.nics ||
        (n->desc.pod_slots && r.slots + need->slots > n->desc.pod_slots))
        return false;
    for (uint64_t m = need->mode ? need->devs : 0; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(m);
        const struct bdevice *d = &n->dev[i];
        uint32_t uses = r.dev[i].wholes + r.dev[i].shares + r.dev[i].cuts;
        if (need->mode == GPU_WHOLE) {
            if (uses || d->state != DEVICE_OK || !(d->modes & DEVICE_WHOLE))
                return false;
            continue;
        }
        if (need->mode == GPU_MIG) { /* slices and compute say it all; bytes follow */
            uint32_t most = d->type ? d->type->compute_slices : 0;
            if (need->slices & r.dev[i].slices || uses != r.dev[i].cuts ||
                r.dev[i].compute + need->compute > most)
                return false;
        } else if (uses != r.dev[i].shares || r.dev[i].milli + need->gpu_milli > 1000 ||
                   (d->mem_bytes &&
                    r.dev[i].mem + need->gpu_mem_bytes > d->mem_bytes)) {
            return false;
        }
    }
    return true;
}

void room_rise(struct audit *a, struct bnode *n)
{
    for (uint32_t i = 0; i < n->claims.n; i++) {
        struct bclaim *c = n->claims.at[i];
        if (c->phase != BP_PLANNED || c->taken || !room_planned_fits(n, &c->need))
            continue;
        c->taken = true;
        room_touch(a, n);
    }
}

void room_touch(struct audit *a, struct bnode *n)
{
    if (n->touched)
        return;
    n->touched = true;
    vec_push(&a->touched, n);
}

static int64_t part(int64_t want, int64_t *left)
{
    int64_t got = want < 0 ? 0 : want > *left ? *left : want;
    *left -= got;
    return got;
}

/* A spare is one no longer when it is not sound, or somebody is on it who is not lent
 * it. */
static bool stays_spare(const struct bnode *n)
{
    for (uint32_t i = 0; i < n->claims.n; i++) {
        const struct bclaim *c = n->claims.at[i];
        const struct job_spec *spec =
            c->gang && !c->foreign && c->phase != BP_STRAY ? &c->gang->job->spec : NULL;
        bool taken = c->phase != BP_PLANNED || c->taken;
        if (taken && !(spec && spec->qos == QOS_BEST_EFFORT && spec->preemptible))
            return false;
    }
    return bnode_usable(n);
}

/* A node's capacity, shared out by cause; idle and healthy goes to UNATTRIBUTED, which
 * room_advance turns into what it is then. */
static void node_causes(const struct audit *a, const struct bnode *n, int64_t put[LEDGER_CAUSES])
{
    int64_t useful = 0, starting = 0, saving = 0, held = 0, healthy = 0;
    for (uint32_t i = 0; i < n->claims.n; i++) {
        const struct bclaim *c = n->claims.at[i];
        if (c->phase == BP_PLANNED && !c->taken)
            continue;
        int64_t milli =
            c->need.mode == GPU_NONE
                ? 0
                : (int64_t)c->need.gpu_milli * __builtin_popcountll(c->need.devs);
        if (c->foreign || c->phase == BP_RUNNING)
            useful += milli;
        else if (c->phase == BP_ISSUED)
            starting += milli;
        else if (c->phase == BP_ENDING)
            saving += milli;
        else
            held += milli;
    }
    struct room r;
    room_sum(n, ROOM_TAKEN, &r);
    for (uint32_t i = 0; i < n->ndev; i++)
        if (n->dev[i].state == DEVICE_OK)
            healthy += 1000 - r.dev[i].milli;
    int64_t left = 1000 * (int64_t)n->ndev;
    for (uint32_t i = 0; n->spare && i < n->ndev; i++)
        if (n->dev[i].state == DEVICE_OK && n->dev[i].modes & DEVICE_WHOLE &&
            !(r.dev[i].wholes + r.dev[i].shares + r.dev[i].cuts))
            held += 1000, healthy -= 1000;
    uint64_t kept = !n->spare && bnode_usable(n) ? keeps_devices(a, n) : 0, plan = 0;
    for (uint32_t i = 0; bnode_usable(n) && i < n->claims.n; i++) {
        const struct bclaim *c = n->claims.at[i];
        if (c->phase == BP_PLANNED && !c->taken && c->need.mode == GPU_WHOLE && c->gang &&
            c->gang->waits)
            plan |= c->need.devs; /* a plan's, beside victims that still end */
    }
    for (uint32_t i = 0; (kept | plan) && i < n->ndev; i++) {
        bool used = r.dev[i].shares + r.dev[i].cuts;
        bool is = (used ? kept : kept | plan) >> i & 1 && n->dev[i].state == DEVICE_OK &&
                  n->dev[i].modes & DEVICE_WHOLE && !r.dev[i].wholes;
        int64_t rest = is ? 1000 - (int64_t)r.dev[i].milli : 0;
        if (rest > 0)
            held += rest, healthy -= rest;
    }
    put[LEDGER_USEFUL] = part(useful, &left);
    put[LEDGER_STARTING] = part(starting, &left);
    put[LEDGER_SAVING] = part(saving, &left);
    put[LEDGER_HELD] = part(held, &left);
    bool broken = n->state == NODE_DOWN || n->state == NODE_UNKNOWN || n->unsynced;
    int64_t idle = broken ? 0 : part(healthy, &left);
    put[LEDGER_FAULTY] = left;
    put[n->state == NODE_DRAINED || n->cordoned ? LEDGER_DRAINED
                                                : LEDGER_UNATTRIBUTED] = idle;
}

void room_settle(struct audit *a)
{
    for (uint32_t i = 0; i < a->touched.n; i++) {
        struct bnode *n = a->touched.at[i];
        int64_t put[LEDGER_CAUSES] = {0};
        n->spare = n->spare && stays_spare(n);
        node_causes(a, n, put);
        for (int c = 0; c < LEDGER_CAUSES; c++) {
            a->now_put[c] += put[c] - n->put[c];
            a->capacity_milli += put[c] - n->put[c];
            n->put[c] = put[c];
        }
        n->touched = false;
    }
    vec_clear(&a->touched);
}

void room_advance(struct audit *a, int64_t at)
{
    uint64_t dt = at > a->ledger_at ? (uint64_t)(at - a->ledger_at) : 0;
    if (!dt)
        return;
    a->ledger_at = at;
    for (int c = 0; c < LEDGER_CAUSES; c++) {
        unsigned __int128 all = (unsigned __int128)(uint64_t)a->now_put[c] * dt;
        if (c != LEDGER_UNATTRIBUTED || !a->synced) {
            a->ledger.sum[c] += all;
            continue;
        }
        unsigned __int128 asked = (unsigned __int128)(uint64_t)a->pending_milli * dt;
        asked = asked < all ? asked : all; /* idle beyond what waits is not asked for */
        unsigned __int128 quota = (unsigned __int128)(uint64_t)a->quota_milli * dt;
        quota = quota < asked ? quota : asked;
        a->ledger.sum[LEDGER_QUOTA_IDLE] += quota;
        a->ledger.sum[LEDGER_FRAGMENTED] += asked - quota;
        a->ledger.sum[LEDGER_NO_DEMAND] += all - asked;
    }
    a->ledger.capacity += (unsigned __int128)(uint64_t)a->capacity_milli * dt;
}

/* The task ended without being done: what it did since its start, or its job's last
 * checkpoint, will be done again. Only time that counted as useful moves. */
void room_lost(struct audit *a, const struct bclaim *c)
{
    if ((c->phase != BP_RUNNING && c->phase != BP_ENDING) || !c->node)
        return;
    int64_t from = c->since, to = c->phase == BP_ENDING ? c->useful_to : a->at;
    if (c->gang && c->gang->job->saved_at > from)
        from = c->gang->job->saved_at;
    if (from >= to)
        return;
    uint64_t milli = c->need.mode == GPU_NONE
                         ? 0
                         : (uint64_t)c->need.gpu_milli *
                               (uint64_t)__builtin_popcountll(c->need.devs);
    unsigned __int128 lost = (unsigned __int128)milli * (uint64_t)(to - from);
    if (lost > a->ledger.sum[LEDGER_USEFUL])
        lost = a->ledger.sum[LEDGER_USEFUL];
    a->ledger.sum[LEDGER_USEFUL] -= lost;
    a->ledger.sum[LEDGER_RECOMPUTED] += lost;
}
