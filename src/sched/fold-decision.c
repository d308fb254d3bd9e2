/* fold-decision.c - what was decided, as state: the same whether decided now or read back
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/state.h"

static uint32_t seat_claim(struct sched *s, uint32_t gang, const struct seat *seat,
                           uint8_t phase, uint64_t launch)
{
    uint32_t slot = slot_find(s, gang, seat->slot);
    uint32_t node = node_find(s, seat->node);
    if (slot == NONE)
        return NONE;
    struct use u;
    uint64_t devs = seat->devs;
    if (node != NODE_NONE)
        devs &= node_devs(&s->cluster->nodes[node]);
    uint32_t id = gang_slot(s, gang, slot)->claim;
    uint32_t all = slot_shape(s, gang, slot);
    bool same = id != NONE && s->claims.at[id].alt == seat->alt;
    use_of_shape(s, same ? s->claims.at[id].shape : shape_alt(s, all, seat->alt), node, devs,
                 seat->slices, &u);
    if (id == NONE) {
        id = claim_create_on(s, gang, slot, phase, &u, seat->node);
        claim_choose(s, id, seat->alt);
    } else {
        claim_choose(s, id, seat->alt);
        const struct claim *old = &s->claims.at[id];
        if (!same || !old->taken || old->use.node != u.node || old->use.devs != u.devs ||
            old->use.slices != u.slices)
            claim_place(s, id, &u, seat->node);
        claim_phase(s, id, phase);
    }
    struct claim *c = &s->claims.at[id];
    c->extra = c->extra || s->gangs.at[gang].phase == GANG_RUNNING;
    c->launch = launch;
    c->asked = c->ours = false;
    c->placed = true;
    gang_slot(s, gang, slot)->flags &= ~(uint32_t)(SLOT_LOST_NODE | SLOT_LOST_DEVICE);
    c->retry_at = 0;
    return id;
}

static void fold_launch(struct sched *s, const struct record *r)
{
    uint32_t gang = gang_find(s, &r->launch.gang);
    uint64_t n = r->launch.launch & ((UINT64_C(1) << 40) - 1);
    if (n > s->launch_n)
        s->launch_n = n;
    s->plan_n = r->launch.plan;
    s->counts.launches++;
    if (gang == NONE || s->gangs.at[gang].phase == GANG_OVER) {
        noop(s);
        return;
    }
    bool first = s->gangs.at[gang].phase == GANG_PENDING;
    gang_unpend(s, gang);
    if (first)
        expected_set(s, gang);
    struct gang *g = &s->gangs.at[gang];
    if (first)
        g->phase = GANG_LAUNCHING;
    g->said = g->behind = false;
    for (uint32_t i = 0; i < r->launch.nseats; i++)
        seat_claim(s, gang, &r->launch.seats[i], CLAIM_ISSUED, r->launch.launch);
    g = &s->gangs.at[gang];
    g->launch = r->launch.launch;
    g->stage = r->launch.stage;
    uint32_t have = gang_alive(g) + g->planned + g->done;
    if (g->mends)
        g->target = have; /* it starts again with so many */
    g->mends = false;
    bool pods = s->policy.gangs == GANGS_PODS;
    if (pods && have < gang_root(s, g)->min)
        have = gang_root(s, g)->min; /* the others come when they find room */
    if (have > g->target)
        g->target = have;
    g->half = g->half || (pods && first && have > r->launch.nseats);
    gang_changed(s, gang);
    if (pods && !first)
        return; /* what has started is not kept for longer */
    if (first || g->phase == GANG_LAUNCHING || r->launch.launch_by > g->launch_by) {
        g->launch_by = r->launch.launch_by; /* a broken gang may wait for whom it relaunched */
        gang_timer(s, gang, g->launch_by);
    }
}

/* All room that is kept for the gang. One that was to start again as a whole waits in its
 * lane now, before those who have not run yet. */
static void let_go(struct sched *s, uint32_t gang)
{
    if (s->gangs.at[gang].mends)
        s->gangs.at[gang].due = true;
    gang_unmend(s, gang);
    for (uint32_t i = 0; i < s->gangs.at[gang].nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (c != NONE && s->claims.at[c].phase == CLAIM_PLANNED)
            claim_free(s, c);
    }
    gang_settle(s, gang);
}

/* Some of the places that are kept for a gang that starts again: they went bad, and it has as
 * long as after a loss to find others. */
static void places_go(struct sched *s, uint32_t gang, const struct record *r)
{
    for (uint32_t i = 0; i < r->hold.nseats; i++) {
        uint32_t slot = slot_find(s, gang, r->hold.seats[i].slot);
        uint32_t c = slot == NONE ? NONE : gang_slot(s, gang, slot)->claim;
        if (c != NONE && s->claims.at[c].phase == CLAIM_PLANNED)
            claim_free(s, c);
    }
    const struct gang *g = &s->gangs.at[gang];
    if (g->planned + g->kept == 0) {
        let_go(s, gang);
        return;
    }
    gang_place_lost(s, gang);
    gang_settle(s, gang);
}

static void fold_hold(struct sched *s, const struct record *r)
{
    if (r->hold.what == HOLD_SPARE) {
        spares_fold(s, r);
        return;
    }
    uint32_t gang = gang_find(s, &r->hold.gang);
    if (gang == NONE || s->gangs.at[gang].phase == GANG_OVER) {
        noop(s);
        return;
    }
    if (r->hold.what == HOLD_RESERVE) {
        s->plan_n = r->hold.plan > s->plan_n ? r->hold.plan : s->plan_n;
        if (r->hold.nseats)
            reserve_fold(s, gang, r);
        else if (s->gangs.at[gang].reserved) {
            gang_unpend(s, gang);
            gang_wait(s, gang);
        }
        return;
    }
    if (r->hold.nseats == 0) {
        s->plan_n = r->hold.plan > s->plan_n ? r->hold.plan : s->plan_n;
        let_go(s, gang);
        return;
    }
    bool mends = s->gangs.at[gang].mends;
    if (mends && r->hold.until <= r->at) {
        places_go(s, gang, r);
        return;
    }
    for (uint32_t i = 0; i < r->hold.nseats; i++) {
        uint32_t slot = slot_find(s, gang, r->hold.seats[i].slot);
        uint32_t id = slot == NONE ? NONE : gang_slot(s, gang, slot)->claim;
        if (slot != NONE && id == NONE) {
            seat_claim(s, gang, &r->hold.seats[i], CLAIM_PLANNED, 0);
        } else if (id != NONE && s->claims.at[id].phase != CLAIM_PLANNED) {
            claim_keep(s, id, true);
            mends = true;
        }
    }
    struct gang *g = &s->gangs.at[gang];
    uint32_t have = gang_alive(g) + g->planned + g->done;
    if (have > g->target)
        g->target = have;
    if (mends) {
        g->mends = true;
        g->phase = g->behind ? g->phase : GANG_STOPPING;
        g->launch_by = r->hold.until;
        g->tried_epoch = UINT64_MAX;
        gang_timer(s, gang, g->launch_by);
        gang_attend(s, gang);
        gang_changed(s, gang);
        return;
    }
    if (g->phase != GANG_PENDING)
        return;
    gang_unpend(s, gang); /* a plan: its room is still somebody's who ends */
    g = &s->gangs.at[gang];
    g->phase = GANG_LAUNCHING;
    g->said = false;
    g->behind = true;
    g->launch_by = r->hold.until;
    gang_timer(s, gang, g->launch_by);
    gang_attend(s, gang);
    gang_changed(s, gang);
}

/* One stop is one gang's. */
static void count_move(struct sched *s, const struct record *r)
{
    int64_t hour = s->at / (3600 * INT64_C(1000000));
    uint32_t gang = r->stop.ntasks ? gang_find(s, &r->stop.tasks[0].gang) : NONE;
    s->moved = hour == s->move_hour ? s->moved + 1 : 1;
    s->move_hour = hour;
    if (gang == NONE)
        return;
    s->gangs.at[gang].moves = true;
    s->jobs.at[s->gangs.at[gang].job].moved++;
}

static void fold_stop(struct sched *s, const struct record *r)
{
    uint64_t n = r->stop.stop & ((UINT64_C(1) << 40) - 1);
    if (n > s->stop_n)
        s->stop_n = n;
    s->plan_n = r->stop.plan;
    s->counts.stops++;
    if (r->stop.mode == STOP_PREEMPT) {
        int64_t hour = s->at / (3600 * INT64_C(1000000));
        s->evicted = hour == s->evict_hour ? s->evicted + 1 : 1;
        s->evict_hour = hour;
    }
    if (r->stop.mode == STOP_MOVE)
        count_move(s, r);
    for (uint32_t i = 0; i < r->stop.ntasks; i++) {
        uint32_t gang, slot, id;
        if (r->why.code == WHY_LIMIT && (id = job_find(s, r->stop.tasks[i].gang.job)) != NONE)
            s->jobs.at[id].cancelled = true; /* it had its time */
        enum claim_phase phase = task_locate(s, &r->stop.tasks[i], &gang, &slot, &id);
        if (id == NONE || s->claims.at[id].foreign)
            continue;
        s->claims.at[id].asked = true;
        s->claims.at[id].stop = r->stop.stop;
        if (phase != CLAIM_ISSUED && phase != CLAIM_RUNNING)
            continue;
        s->claims.at[id].ours = true;
        claim_phase(s, id, CLAIM_ENDING);
        if (r->stop.mode == STOP_PREEMPT) {
            gang_shrink(s, gang); /* members above its minimum: it goes on without them */
            s->gangs.at[gang].grows = true; /* until there is room that nobody waits for */
        }
        gang_settle(s, gang);
    }
    uint32_t job = r->why.code == WHY_LIMIT && r->stop.ntasks
                       ? job_find(s, r->stop.tasks[0].gang.job)
                       : NONE;
    if (job != NONE)
        job_cancel(s, job); /* what of it still waits does not start either */
}

static void remember_refusal(struct sched *s, uint32_t gang, const struct why *why)
{
    struct gang *g = &s->gangs.at[gang];
    g->said = true;
    g->why = *why;
    gang_count_quota(s, gang);
    g->tried_epoch = s->free_epoch;
    int64_t due_at = gang_due_at(s, g), owed_at = owed_due_at(s, gang);
    due_at = due_at < owed_at ? due_at : owed_at;
    if (due_at != INT64_MAX && g->phase == GANG_PENDING)
        gang_timer(s, gang, due_at > s->at ? due_at : s->at + 1);
    if (g->lane == NONE)
        return;
    struct lane *l = &s->lanes.at[g->lane];
    bool asked = why->code == WHY_NEEDS_ROOM || why->code == WHY_TYPE ||
                 why->code == WHY_CONSTRAINT || why->code == WHY_CPU ||
                 why->code == WHY_INVALID || why->code == WHY_UNSUPPORTED ||
                 why->code == WHY_PROMISED || why->code == WHY_QUOTA ||
                 why->code == WHY_AUTHORITY || why->code == WHY_CHEAPER;
    owed_refused(s, gang);
    if (why->code == WHY_QUOTA)
        quota_refused(s, s->jobs.at[g->job].qnode);
    if (asked && l->heap[0] == gang)
        lane_block(s, g->lane, gang, why);
}

static void fold_pass(struct sched *s, const struct record *r)
{
    s->counts.passes++;
    s->left = r->pass.left;
    for (uint32_t i = 0; i < r->pass.nsame; i++) {
        uint32_t gang = gang_find(s, &r->pass.same[i]);
        if (gang != NONE)
            remember_refusal(s, gang, &s->gangs.at[gang].why);
    }
}

void fold_decision(struct sched *s, const struct record *r)
{
    uint32_t id;
    if (r->would)
        return;
    switch (r->kind) {
    case DE_LAUNCH:
        fold_launch(s, r);
        return;
    case DE_HOLD:
        fold_hold(s, r);
        return;
    case DE_STOP:
        fold_stop(s, r);
        return;
    case DE_ASK:
        id = job_find(s, r->ask.job);
        if (id != NONE)
            s->jobs.at[id].ask = false;
        return;
    case DE_CORDON:
        id = cluster_find(s->cluster, r->cordon.node);
        if (id == NODE_NONE) {
            noop(s);
            return;
        }
        cluster_node_cordon(s->cluster, id, r->cordon.on);
        if (r->cordon.on && r->why.code == WHY_FAULT)
            faults_blame(s, id);
        account_node(s, id);
        reserve_fact(s, id);
        spares_fact(s, id);
        lanes_wake(s, id);
        return;
    case DE_SAY:
        s->counts.says++;
        id = gang_find(s, &r->say.gang);
        if (id == NONE)
            noop(s);
        else
            remember_refusal(s, id, &r->why);
        return;
    default:
        fold_pass(s, r);
    }
}
