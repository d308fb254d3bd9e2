/* account.c - the ledger: every GPU-microsecond under one cause (DESIGN.md invariant 7)
 * On each node the capacity is shared out: first what claims hold, by phase (running:
 * useful; issued: starting; ending: saving; planned, stray: held; foreign: useful), never
 * beyond the capacity; then what is idle: faulty (the node is down, unknown or unsynced, or
 * the device is not ok), else drained (drained, or cordoned by us); the rest of the whole
 * cluster is `fragmented` as far as gangs wait that ask for so much (at their minimum: it is
 * there, and they cannot use it or may not start), of that `quota-idle` as far as those ask whom
 * a quota refused, and `no demand` beyond that; unattributed while the world is unsynced.
 * So the causes sum to capacity x time by construction. O(1) a change.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/future.h"

enum { IDLE_OK = LEDGER_UNATTRIBUTED }; /* in put[]: idle and healthy, cause decided late */

void account_pass(struct sched *s, int64_t at)
{
    int64_t dt = at - s->ledger_at;
    s->ledger_at = at;
    for (int c = 0; c < LEDGER_CAUSES; c++) {
        if (s->now_put[c] == 0)
            continue;
        int64_t milli = s->now_put[c];
        int to = c;
        if (c == IDLE_OK && s->synced) { /* what waits could use so much, and not more */
            int64_t wanted = milli < s->pending_milli ? milli : s->pending_milli;
            int64_t quota = wanted < s->quota_milli ? wanted : s->quota_milli;
            s->ledger.sum[LEDGER_QUOTA_IDLE] += (unsigned __int128)(uint64_t)quota *
                                                (uint64_t)dt;
            s->ledger.sum[LEDGER_FRAGMENTED] += (unsigned __int128)(uint64_t)(wanted - quota) *
                                                (uint64_t)dt;
            milli -= wanted;
            to = LEDGER_NO_DEMAND;
        }
        s->ledger.sum[to] += (unsigned __int128)(uint64_t)milli * (uint64_t)dt;
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

/* Only causes a node can have, in the order of node_account.put. */
static const uint8_t cause_of_put[NODE_PUTS] = {
    LEDGER_USEFUL, LEDGER_STARTING, LEDGER_SAVING, LEDGER_HELD,
    LEDGER_FAULTY, LEDGER_DRAINED, IDLE_OK};

static int64_t held_sum(const struct node_account *a)
{
    return a->held[0] + a->held[1] + a->held[2] + a->held[3];
}

void account_node(struct sched *s, uint32_t node)
{
    const struct node *n = &s->cluster->nodes[node];
    if (n->ndevices == 0 && node >= s->accounts.n)
        return; /* never had any: an account that has lost its devices is cleared below */
    struct node_account *a = account_of(s, node);
    int64_t left = n->gone ? 0 : n->gpu_cap_milli;
    int64_t put[NODE_PUTS] = {0};
    int64_t sum = held_sum(a);
    bool fits = sum <= left;
    for (int i = 0; i < NODE_HOLDS; i++) /* overcommitted by the world: up to the capacity */
        put[i] = fits ? a->held[i] : part(a->held[i], &left);
    if (fits)
        left -= sum;
    if (n->state == NODE_DOWN || n->state == NODE_UNKNOWN || n->unsynced) {
        put[4] = left;
    } else {
        int64_t healthy = part(n->gpu_free_milli, &left);
        put[4] = left;
        put[n->state == NODE_DRAINED || n->cordoned ? 5 : 6] = healthy;
    }
    a->ordinary = fits && !n->gone && node_is_usable(n);
    if (s->scratch_future)
        future_node(s, node);
    s->owed.capacity_stale = true;
    if (!a->ordinary && node_is_reserved(s, node))
        s->reserve_check = true;
    for (int i = 0; i < NODE_PUTS; i++) {
        s->now_put[cause_of_put[i]] += put[i] - a->put[i];
        a->put[i] = put[i];
    }
}

static int hold_of(const struct sched *s, const struct claim *c)
{
    bool half = c->gang != NONE && s->gangs.at[c->gang].half;
    if (c->foreign || c->phase == CLAIM_RUNNING)
        return half ? 1 : 0; /* it waits for the rest of its gang */
    return c->phase == CLAIM_ISSUED ? 1 : c->phase == CLAIM_ENDING ? 2 : 3;
}

static int64_t milli_of(const struct claim *c)
{
    return (int64_t)c->use.gpu_milli * __builtin_popcountll(c->use.devs);
}

/* What is held moved to or from the idle and healthy rest, and nothing else about the node
 * changed: then account_node would come to the same two sums. */
static void account_put(struct sched *s, uint32_t node, int hold, int64_t milli)
{
    struct node_account *a = account_of(s, node);
    a->held[hold] += milli;
    const struct node *n = &s->cluster->nodes[node];
    int64_t idle = n->gpu_cap_milli - held_sum(a);
    if (!a->ordinary || idle < 0 || n->gpu_free_milli < idle || a->put[4]) {
        account_node(s, node);
        return;
    }
    a->put[hold] += milli;
    a->put[6] -= milli;
    s->now_put[cause_of_put[hold]] += milli;
    s->now_put[IDLE_OK] -= milli;
}

void account_claim(struct sched *s, const struct claim *c, int sign)
{
    if (c->use.gpu_milli == 0 || c->use.devs == 0)
        return;
    int64_t milli = sign * milli_of(c);
    if (c->phase != CLAIM_PLANNED)
        s->used_milli += milli;
    account_put(s, c->use.node, hold_of(s, c), milli);
}

void account_whole(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t id = gang_slot(s, gang, i)->claim;
        if (id == NONE || s->claims.at[id].phase != CLAIM_RUNNING || !s->claims.at[id].taken)
            continue;
        account_claim(s, &s->claims.at[id], -1);
        g->half = false;
        account_claim(s, &s->claims.at[id], 1);
        g->half = true;
    }
    g->half = false;
}

/* What a reservation keeps of devices. */
void account_guard(struct sched *s, const struct use *u, int sign)
{
    account_put(s, u->node, 3, sign * (int64_t)u->gpu_milli * __builtin_popcountll(u->devs));
}

void account_phase(struct sched *s, struct claim *c, uint8_t phase)
{
    int64_t milli = milli_of(c);
    int was = hold_of(s, c);
    s->used_milli -= c->phase != CLAIM_PLANNED ? milli : 0;
    c->phase = phase;
    s->used_milli += c->phase != CLAIM_PLANNED ? milli : 0;
    int is = hold_of(s, c);
    if (milli == 0 || was == is)
        return;
    struct node_account *a = account_of(s, c->use.node);
    a->held[was] -= milli;
    a->held[is] += milli;
    if (!a->ordinary) {
        account_node(s, c->use.node);
        return;
    }
    a->put[was] -= milli;
    a->put[is] += milli;
    s->now_put[cause_of_put[was]] -= milli;
    s->now_put[cause_of_put[is]] += milli;
}

/* What the task did since its start or the last checkpoint will be done again. Only what
 * counted as useful moves: the time that it took to end was `saving` and stays so. */
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
    int64_t to = c->phase == CLAIM_ENDING ? c->until : s->at;
    if (!c->taken || from >= to)
        return;
    uint64_t milli = (uint64_t)c->use.gpu_milli * (uint32_t)__builtin_popcountll(c->use.devs);
    unsigned __int128 lost = (unsigned __int128)milli * (uint64_t)(to - from);
    if (lost > s->ledger.sum[LEDGER_USEFUL])
        lost = s->ledger.sum[LEDGER_USEFUL];
    s->ledger.sum[LEDGER_USEFUL] -= lost;
    s->ledger.sum[LEDGER_RECOMPUTED] += lost;
}

void sched_ledger(const struct sched *s, struct ledger *ret)
{
    *ret = s->ledger;
}
