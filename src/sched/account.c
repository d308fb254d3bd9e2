/* account.c - the ledger: every GPU-microsecond under one cause (DESIGN.md invariant 7)
 * On each node the capacity is shared out: first what claims hold, by phase (running:
 * useful; issued: starting; ending: saving; planned, stray: held; foreign: useful), never
 * beyond the capacity; then what is idle: faulty (the node is down, unknown or unsynced, or
 * the device is not ok), else drained (drained, or cordoned by us); the rest of the whole
 * cluster is `no demand` when no gang that wants GPUs waits, else `fragmented`
 * (quota-idle comes with quotas); unattributed while the world is unsynced.
 * So the causes sum to capacity x time by construction. O(1) a change.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/state.h"

enum { IDLE_OK = LEDGER_UNATTRIBUTED }; /* in put[]: idle and healthy, cause decided late */

void account_advance(struct sched *s, int64_t at)
{
    int64_t dt = at - s->ledger_at;
    if (dt <= 0)
        return;
    s->ledger_at = at;
    for (int c = 0; c < LEDGER_CAUSES; c++) {
        if (s->now_put[c] == 0)
            continue;
        int to = c;
        if (c == IDLE_OK && s->synced)
            to = s->pending_gpu_gangs ? LEDGER_FRAGMENTED : LEDGER_NO_DEMAND;
        s->ledger.sum[to] += (unsigned __int128)((uint64_t)s->now_put[c]) * (uint64_t)dt;
    }
    s->ledger.capacity += (unsigned __int128)((uint64_t)s->capacity_milli) * (uint64_t)dt;
}

static int64_t part(int64_t want, int64_t *left)
{
    int64_t got = want < *left ? want : *left;
    if (got < 0)
        got = 0;
    *left -= got;
    return got;
}

static struct node_account *account_of(struct sched *s, uint32_t node)
{
    if (node >= s->accounts.n)
        vec_resize(&s->accounts, node + 1);
    return &s->accounts.at[node];
}

void account_node(struct sched *s, uint32_t node)
{
    const struct node *n = &s->cluster->nodes[node];
    struct node_account *a = account_of(s, node);
    int64_t left = n->gone ? 0 : n->gpu_cap_milli;
    if (left == 0 && !n->gone && n->ndevices == 0)
        return;
    int64_t put[LEDGER_CAUSES] = {0};
    put[LEDGER_USEFUL] = part(a->useful, &left);
    put[LEDGER_STARTING] = part(a->starting, &left);
    put[LEDGER_SAVING] = part(a->saving, &left);
    put[LEDGER_HELD] = part(a->held, &left);
    if (n->state == NODE_DOWN || n->state == NODE_UNKNOWN || n->unsynced) {
        put[LEDGER_FAULTY] = left;
    } else {
        int64_t healthy = part(n->gpu_free_milli, &left);
        put[LEDGER_FAULTY] = left;
        put[n->state == NODE_DRAINED || n->cordoned ? LEDGER_DRAINED : IDLE_OK] = healthy;
    }
    for (int c = 0; c < LEDGER_CAUSES; c++) {
        s->now_put[c] += put[c] - a->put[c];
        a->put[c] = put[c];
    }
}

void account_claim(struct sched *s, const struct claim *c, int sign)
{
    int64_t milli = (int64_t)c->use.gpu_milli * __builtin_popcountll(c->use.devs) * sign;
    if (milli == 0)
        return;
    struct node_account *a = account_of(s, c->use.node);
    if (c->foreign)
        a->useful += milli;
    else if (c->phase == CLAIM_RUNNING)
        a->useful += milli;
    else if (c->phase == CLAIM_ISSUED)
        a->starting += milli;
    else if (c->phase == CLAIM_ENDING)
        a->saving += milli;
    else
        a->held += milli;
    if (c->phase != CLAIM_PLANNED)
        s->used_milli += milli;
    account_node(s, c->use.node);
}

/* What the task did since its start or the last checkpoint will be done again. */
void account_lost(struct sched *s, const struct claim *c)
{
    if (c->phase != CLAIM_RUNNING && c->phase != CLAIM_ENDING)
        return;
    int64_t from = c->since;
    if (c->gang != NONE) {
        int64_t saved = s->jobs.at[s->gangs.at[c->gang].job].saved_at;
        if (saved > from)
            from = saved;
    }
    if (!c->taken || from >= s->at)
        return;
    uint64_t milli = (uint64_t)c->use.gpu_milli * (uint32_t)__builtin_popcountll(c->use.devs);
    unsigned __int128 lost = (unsigned __int128)milli * (uint64_t)(s->at - from);
    if (lost > s->ledger.sum[LEDGER_USEFUL])
        lost = s->ledger.sum[LEDGER_USEFUL];
    s->ledger.sum[LEDGER_USEFUL] -= lost;
    s->ledger.sum[LEDGER_RECOMPUTED] += lost;
}

void sched_ledger(const struct sched *s, struct ledger *ret)
{
    *ret = s->ledger;
}
