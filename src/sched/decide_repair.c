/* decide_repair.c - a gang that lost members starts again on the places of the others
 *
 * Where the loss of one is the loss of all (on_loss: gang), the survivors are stopped
 * and, in the same plan, their places are held: when a member has ended, its room is
 * planned for its slot and nobody else's. Room for the k that were lost is held beside
 * them, near those they must be near (mend.c). When all have ended and the minimum has
 * room, the gang is launched as a whole. What finds no room now is looked for whenever
 * room is freed, for repair_grace; then all is let go and the gang waits in its lane.
 * O(slots) a look, and the search of mend.c when room was freed since the last.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/decide.h"

static bool may_mend_whole(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct job *j = &s->jobs.at[g->job];
    int64_t backoff = g->failed ? gang_backoff(s, g) : 0;
    return g->phase == GANG_STOPPING && j->on_loss == LOSS_GANG && !j->held &&
           !j->cancelled && g->tries <= j->tries && s->policy.gangs == GANGS_WHOLE &&
           backoff < s->policy.repair_grace_us;
}

static void emit_hold(struct pass *p, uint32_t gang, const struct seat *seats,
                      uint32_t n, int64_t until)
{
    struct sched *s = p->s;
    struct record *r = pass_add(p, DE_HOLD);
    r->hold.plan = s->plan_n;
    r->hold.gang = gang_ref_of(s, gang);
    r->hold.nseats = n;
    r->hold.seats = seats;
    r->hold.until = until;
    r->why =
        (struct why){.code = WHY_LOST, .need = s->gangs.at[gang].target, .have = n};
    pass_emit(p);
}

/* Is it where we put it, on a sound node, and for nobody else when it has ended? */
static bool place_is_ours(struct sched *s, const struct claim *c)
{
    if (!c->placed || !claim_may_stay(s, c) ||
        !node_is_usable(&s->cluster->nodes[c->use.node]) ||
        !node_tolerated(s, &s->shapes.at[c->shape].shape, c->use.node))
        return false;
    for (uint32_t i = node_first_claim(s, c->use.node); i != NONE;
         i = s->claims.at[i].next)
        if (s->claims.at[i].phase == CLAIM_PLANNED && !s->claims.at[i].taken)
            return false; /* it was stopped for another's plan */
    return true;
}

/* The places of those that end. */
static uint32_t keep_survivors(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    const struct gang *g = &s->gangs.at[gang];
    struct seat *seats = arena_alloc(&p->out->arena, (g->nslots + 1) * sizeof *seats);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nslots; i++) {
        const struct slot *sl = gang_slot(s, gang, i);
        const struct claim *c = sl->claim == NONE ? NULL : &s->claims.at[sl->claim];
        if (!c || c->phase != CLAIM_ENDING || !place_is_ours(s, c))
            continue;
        seats[n++] = (struct seat){.slot = slot_ref_of(s, gang, i),
                                   .rank = sl->rank,
                                   .node = cluster_node_name(s->cluster, c->use.node),
                                   .devs = c->use.devs,
                                   .slices = c->use.slices,
                                   .alt = c->alt};
    }
    if (n)
        emit_hold(p, gang, seats, n, s->at + s->policy.repair_grace_us);
    return n;
}

/* Room for members that have none, as far as it is there. Once the minimum has room,
 * all that is waited for are those who end. */
static void hold_missing(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    const struct gang *g = &s->gangs.at[gang];
    struct why why = {0};
    if (gang_missing(g) == 0 || g->tried_epoch == s->free_epoch ||
        p->questions >= s->policy.most_questions)
        return;
    p->questions++;
    if (place_missing(s, gang, &why)) {
        struct seat *seats = pass_seats(p, gang);
        pass_take_back(p, gang);
        uint32_t n = s->scratch->plan.n;
        bool whole = n >= gang_lacks(s, gang);
        emit_hold(p, gang, seats, n,
                  whole ? s->at + s->policy.launch_timeout_us : g->launch_by);
        if (whole)
            return;
    }
    if (gang_lacks(s, gang)) {
        why.need = why.need > why.have ? why.need : why.have + 1;
        pass_say(p, gang, &why);
    }
}

void pass_bad_nodes(struct pass *p)
{
    struct sched *s = p->s;
    uint32_t n = s->suspects.n;
    uint64_t *hashes = arena_alloc(&p->out->arena, (n + 1) * sizeof *hashes);
    memcpy(hashes, s->suspects.at, n * sizeof *hashes);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = faults_node(s, hashes[i]);
        if (node == NODE_NONE || s->cluster->nodes[node].cordoned)
            continue;
        struct record *r = pass_add(p, DE_CORDON);
        r->cordon.node = arena_str(&p->out->arena, cluster_node_name(s->cluster, node));
        r->cordon.on = true;
        r->why = (struct why){.code = WHY_FAULT,
                              .need = s->policy.bad_node_failures,
                              .have = faults_on(s, hashes[i])};
        pass_emit(p);
    }
}

void pass_keep_places(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    if (!may_mend_whole(s, gang) || !keep_survivors(p, gang))
        return;
    hold_missing(p, gang);
}

/* Of its places those that went bad meanwhile. */
static void drop_spoiled(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    const struct gang *g = &s->gangs.at[gang];
    struct seat *seats = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t id = gang_slot(s, gang, i)->claim;
        if (id == NONE || s->claims.at[id].phase != CLAIM_PLANNED ||
            !claim_is_spoiled(s, &s->claims.at[id]))
            continue;
        if (!seats)
            seats = arena_alloc(&p->out->arena, g->nslots * sizeof *seats);
        const struct use *u = &s->claims.at[id].use;
        seats[n++] = (struct seat){.slot = slot_ref_of(s, gang, i), .devs = u->devs};
        if (u->node != NODE_NONE)
            seats[n - 1].node = cluster_node_name(s->cluster, u->node);
    }
    if (n == 0)
        return;
    struct record *r = pass_add(p, DE_HOLD);
    r->hold.plan = s->plan_n;
    r->hold.gang = gang_ref_of(s, gang);
    r->hold.nseats = n;
    r->hold.seats = seats;
    r->hold.until = s->at;
    r->why = (struct why){.code = WHY_FAULT, .need = g->target, .have = n};
    pass_emit(p);
}

void pass_mend_whole(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    const struct gang *g = &s->gangs.at[gang];
    if (g->launch_by <= s->at) {
        pass_let_go(p, gang, WHY_LATE);
        return;
    }
    /* of whom an earlier stop was refused */
    pass_stop_gang(p, gang, STOP_END, WHY_LOST);
    drop_spoiled(p, gang);
    if (g->mends && !s->jobs.at[g->job].held)
        hold_missing(p, gang);
}
