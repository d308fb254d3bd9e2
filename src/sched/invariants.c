/* invariants.c - recounts what the state keeps counted, and aborts on a difference
 * For tests, after each border or record. O(state).
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/state.h"

static void check_gang(struct sched *s, uint32_t id)
{
    struct gang *g = &s->gangs.at[id];
    uint32_t count[CLAIM_PHASES] = {0}, done = 0, offered = 0, extra = 0, kept = 0;
    for (uint32_t i = 0; i < g->nslots; i++) {
        const struct slot *sl = gang_slot(s, id, i);
        done += (sl->flags & SLOT_DONE) != 0;
        offered += (sl->flags & SLOT_OFFERED) && !(sl->flags & SLOT_GATED);
        if (sl->claim == NONE)
            continue;
        const struct claim *c = &s->claims.at[sl->claim];
        assert(c->live && c->gang == id && c->slot == i && c->phase != CLAIM_STRAY);
        count[c->phase]++;
        extra += c->extra && (c->phase == CLAIM_PLANNED || c->phase == CLAIM_ISSUED);
        kept += c->kept && c->phase == CLAIM_ENDING;
        assert(!c->kept || (g->mends && !g->behind));
    }
    assert(count[CLAIM_PLANNED] == g->planned);
    assert(count[CLAIM_ISSUED] == g->issued);
    assert(count[CLAIM_RUNNING] == g->running);
    assert(count[CLAIM_ENDING] == g->ending);
    assert(done == g->done && offered == g->offered && kept == g->kept);
    assert(!g->mends || g->phase == GANG_STOPPING || g->behind);
    /* no half gang waits: what is pending holds nothing */
    if (g->phase == GANG_PENDING || g->phase == GANG_OVER)
        assert(gang_alive(g) == 0 && (g->planned == 0 || g->reserved));
    else
        assert(g->lane == NONE && (gang_alive(g) > 0 || gang_is_behind(s, g) || g->attention));
    assert(!g->reserved || (g->phase == GANG_PENDING && g->lane == NONE));
    if (g->phase == GANG_RUNNING)
        assert(g->running + g->done + extra >= g->target);
    if (g->lane != NONE)
        assert(s->lanes.at[g->lane].heap[g->heap_pos] == id);
}

static void check_lanes(const struct sched *s)
{
    uint32_t pending = 0;
    for (uint32_t i = 0; i < s->lanes.n; i++) {
        const struct lane *l = &s->lanes.at[i];
        pending += l->n;
        for (uint32_t k = 1; k < l->n; k++)
            assert(!gang_before(s, l->heap[k], l->heap[(k - 1) / 2]));
        assert((l->active_pos == NONE) == lane_is_blocked(s, l));
        if (l->active_pos != NONE)
            assert(s->quota.nodes.at[l->qnode].active.at[l->active_pos] == i);
    }
    assert(pending + s->reserves.n == s->n_pending);
}

static void check_claims(const struct sched *s)
{
    int64_t used = 0;
    uint32_t live = 0;
    for (uint32_t i = 0; i < s->claims.n; i++) {
        const struct claim *c = &s->claims.at[i];
        if (!c->live)
            continue;
        live++;
        assert(!c->taken || c->use.node != NODE_NONE);
        if (c->taken && c->phase != CLAIM_PLANNED)
            used += (int64_t)c->use.gpu_milli * __builtin_popcountll(c->use.devs);
        if (c->use.node != NODE_NONE && c->phase != CLAIM_PLANNED)
            assert(c->taken);
    }
    assert(live == s->n_claims && used == s->used_milli);
}

/* A spare is sound, nobody has it but whom it is lent to, and the rest of it is guarded. */
static void check_spares(const struct sched *s)
{
    uint32_t marked = 0;
    for (uint32_t i = 0; i < s->is_spare.n; i++)
        marked += s->is_spare.at[i];
    assert(marked == s->spares.n);
    for (uint32_t i = 0; i < s->spares.n; i++) {
        const struct spare *sp = &s->spares.at[i];
        const struct node *n = &s->cluster->nodes[sp->node];
        assert(node_is_spare(s, sp->node) && sp->guard.node == sp->node);
        assert(!n->gone && n->state == NODE_UP && !n->cordoned && !n->unsynced);
        assert(n->whole_free == 0);
        for (uint32_t c = node_first_claim(s, sp->node); c != NONE; c = s->claims.at[c].next)
            assert(!s->claims.at[c].taken || spare_is_lent_to(s, &s->claims.at[c]));
    }
}

static void check_accounts(const struct sched *s)
{
    int64_t sum = 0, capacity = 0;
    for (int c = 0; c < LEDGER_CAUSES; c++)
        sum += s->now_put[c];
    for (uint32_t i = 0; i < s->cluster->nnodes; i++)
        if (!s->cluster->nodes[i].gone)
            capacity += s->cluster->nodes[i].gpu_cap_milli;
    assert(capacity == s->capacity_milli && sum == capacity);
    unsigned __int128 total = 0;
    for (int c = 0; c < LEDGER_CAUSES; c++)
        total += s->ledger.sum[c];
    assert(total == s->ledger.capacity);
}

void sched_invariants(const struct sched *cs)
{
    struct sched *s = (struct sched *)cs; /* reads through helpers that take it writable */
    cluster_settle(s->cluster);
    cluster_check(s->cluster);
    for (uint32_t i = 0; i < s->gangs.n; i++)
        if (s->gangs.at[i].live)
            check_gang(s, i);
    check_lanes(s);
    check_claims(s);
    check_spares(s);
    check_accounts(s);
}
