/* fold-sync.c - who leads, and what the world says is all there is
 * Between sync_begin and synced the world names everything; what it did not name is gone:
 * issued tasks never started, running ones are lost. A sync of one node does the same for
 * that node, and makes its devices usable again. SPDX-License-Identifier: Apache-2.0 */
#include "sched/state.h"

static bool concerns(const struct claim *c, uint32_t node)
{
    return c->live && c->phase != CLAIM_PLANNED && (node == NODE_NONE || c->use.node == node);
}

static void sync_begin(struct sched *s, uint32_t node)
{
    for (uint32_t i = 0; i < s->claims.n; i++)
        if (concerns(&s->claims.at[i], node)) {
            s->claims.at[i].seen = false;
            if (s->claims.at[i].phase == CLAIM_STRAY)
                s->claims.at[i].asked = false; /* what was asked may be lost: ask anew */
        }
    if (node != NODE_NONE)
        return;
    for (uint32_t i = 0; i < s->early.n; i++)
        s->early.at[i].seen = false;
    s->synced = false;
    s->syncing = true;
    for (uint32_t i = 0; i < s->node_seen.n; i++)
        s->node_seen.at[i] = false;
    for (uint32_t i = 0; i < s->jobs.n; i++)
        s->jobs.at[i].seen = false;
    for (uint32_t i = 0; i < s->gangs.n; i++)
        for (uint32_t k = 0; s->gangs.at[i].live && k < s->gangs.at[i].nslots; k++)
            gang_slot(s, i, k)->flags &= ~(uint32_t)SLOT_SEEN;
}

/* Tasks that were offered before and are not named any more are not there to be launched. */
static void offers_vanish(struct sched *s)
{
    for (uint32_t i = 0; i < s->gangs.n; i++) {
        for (uint32_t k = 0; s->gangs.at[i].live && k < s->gangs.at[i].nslots; k++) {
            const struct slot *sl = gang_slot(s, i, k);
            bool waits = sl->claim == NONE || s->claims.at[sl->claim].phase == CLAIM_PLANNED;
            if (sl->task && waits && !(sl->flags & SLOT_SEEN))
                slot_forget(s, i, k);
        }
    }
}

/* A claim that was not named: its task is not there. Returns its gang, to be settled. */
static uint32_t claim_vanish(struct sched *s, uint32_t id)
{
    struct claim *c = &s->claims.at[id];
    uint32_t gang = c->gang, slot = c->slot;
    bool stray = c->phase == CLAIM_STRAY;
    if (!stray)
        account_lost(s, c);
    if (c->kept)
        gang_place_lost(s, gang);
    claim_free(s, id);
    if (gang == NONE || stray)
        return NONE;
    struct gang *g = &s->gangs.at[gang];
    struct slot *sl = gang_slot(s, gang, slot);
    sl->flags |= SLOT_LOST_NODE;
    if (sl->flags & SLOT_OFFERED && !(sl->flags & SLOT_GATED))
        g->offered--;
    sl->flags &= ~(uint32_t)(SLOT_OFFERED | SLOT_GATED | SLOT_STARTED | SLOT_READY);
    slot_set_task(s, gang, slot, (struct str){0});
    gang_lost(s, gang);
    return gang;
}

/* All of them vanish in one instant: gangs are looked at when the last one has. */
static void unseen_vanish(struct sched *s, uint32_t node)
{
    VEC(uint32_t) gangs = {0};
    for (uint32_t i = 0; i < s->claims.n; i++) {
        if (!concerns(&s->claims.at[i], node) || s->claims.at[i].seen)
            continue;
        uint32_t gang = claim_vanish(s, i);
        if (gang != NONE)
            vec_push(&gangs, gang);
    }
    for (uint32_t i = 0; i < gangs.n; i++) {
        const struct gang *g = &s->gangs.at[gangs.at[i]];
        if (!g->live || g->phase == GANG_OVER || g->phase == GANG_PENDING)
            continue; /* settled before, as another one's gang */
        if (s->jobs.at[g->job].on_loss == LOSS_IGNORE)
            gang_shrink(s, gangs.at[i]);
        gang_settle(s, gangs.at[i]);
    }
    vec_done(&gangs);
}

/* Gangs found below their minimum are in repair grace from now on: while the world was
 * unsynced nothing could be done for them. */
static void grant_grace(struct sched *s)
{
    int64_t until = s->at + s->policy.repair_grace_us;
    for (uint32_t i = 0; i < s->gangs.n; i++) {
        struct gang *g = &s->gangs.at[i];
        if (!g->live || (g->phase != GANG_LAUNCHING && g->phase != GANG_BROKEN) ||
            g->launch_by >= until || !gang_is_below(s, i))
            continue;
        g->launch_by = until;
        gang_timer(s, i, until);
    }
}

static void synced_world(struct sched *s, uint32_t caps)
{
    s->caps = caps;
    s->synced = true;
    s->syncing = false;
    for (uint32_t i = 0; i < s->node_seen.n && i < s->cluster->nnodes; i++)
        if (s->cluster->nodes[i].gone)
            continue;
        else if (!s->node_seen.at[i])
            node_forget(s, i);
        else if (s->cluster->nodes[i].unsynced) { /* the world has named it: as a fresh start */
            cluster_node_unsynced(s->cluster, i, false);
            account_node(s, i);
            reserve_fact(s, i);
            spares_fact(s, i);
        }
    for (uint32_t i = 0; i < s->jobs.n && !(caps & CAP_MAKE); i++)
        if (s->jobs.at[i].live && !s->jobs.at[i].seen && !s->jobs.at[i].cancelled)
            job_cancel(s, i);
    grant_grace(s);
    if (!(caps & CAP_MAKE))
        offers_vanish(s);
    early_unseen(s);
    s->free_epoch++;
    gangs_unpark(s);
    lanes_wake(s, NONE);
}

static void synced(struct sched *s, uint32_t node, uint32_t caps)
{
    unseen_vanish(s, node);
    if (node == NODE_NONE) {
        synced_world(s, caps);
        return;
    }
    cluster_node_unsynced(s->cluster, node, false);
    account_node(s, node);
    reserve_fact(s, node);
    spares_fact(s, node);
    s->free_epoch++;
    lanes_wake(s, node);
}

void fold_sync(struct sched *s, const struct record *r)
{
    uint32_t node = NODE_NONE;
    switch (r->kind) {
    case EV_LEAD:
        s->leading = r->lead.held;
        if (r->lead.term > s->term) {
            s->term = r->lead.term;
            s->synced = false; /* a new leader decides on nothing before all is asserted anew */
        }
        return;
    case EV_SYNC_BEGIN:
    case EV_SYNCED:
        if (r->sync.node.len) {
            node = cluster_find(s->cluster, r->sync.node);
            if (node == NODE_NONE) {
                noop(s);
                return;
            }
        } else if (r->kind == EV_SYNCED && !s->syncing) {
            noop(s);
            return;
        }
        s->epoch = r->sync.epoch;
        if (r->kind == EV_SYNC_BEGIN)
            sync_begin(s, node);
        else
            synced(s, node, r->sync.caps);
        return;
    default:
        return;
    }
}
