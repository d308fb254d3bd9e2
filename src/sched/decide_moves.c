/* decide_moves.c - moves small jobs elsewhere where that makes room for a gang
 *
 * A gang that was refused, and has a level that must hold it or several tasks, looks
 * for the cheapest lone tasks that stand in its way (victims.h): those that may be
 * moved, of queues whose authority allows it, within their own budgets and protection.
 * Each of them first gets a seat of its own in what is free now, on nodes that the gang
 * does not take, the fullest that hold it; without that nothing is moved. A plan is
 * made only when the GPU-hours that the gang waits less are more than those it loses.
 * Its stops ask for a checkpoint where there is one; whoever was moved goes first in
 * its lane when it has ended, and finds a seat free unless somebody came meanwhile.
 * Asked when a gang is first refused, and when reservations are looked at again: one
 * search, and nodes x moved jobs. SPDX-License-Identifier: Apache-2.0 */
#include "sched/decide_plan.h"

enum { MOVES_MAX = 64 }; /* of one plan */

static bool may_move(void *arg, uint32_t victim)
{
    const struct reclaim *rc = arg;
    struct sched *s = rc->s;
    struct runner v = runner_of(s, victim);
    const struct gang *g = &s->gangs.at[v.gang];
    const struct job *j = &s->jobs.at[g->job];
    if (v.gang == rc->gang || v.slot != NONE || g->nslots != 1 ||
        g->phase != GANG_RUNNING || !j->preemptible || j->budget == 0 || j->cancelled ||
        j->held || j->moved >= s->policy.moves_per_job ||
        quota_authority(s, v.gang) < AUTHORITY_MOVE || gang_is_protected(s, v.gang))
        return false;
    const struct shape_entry *e = &s->shapes.at[slot_shape(s, v.gang, 0)];
    return e->shape.gpu_mode == GPU_WHOLE && e->shape.gpu_count && !e->tagged;
}

/* --- a seat for each that is moved, before it is stopped --- */

static bool is_taken(const struct seat *seats, uint32_t n, struct str node)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_eq(seats[i].node, node))
            return true;
    return false;
}

/* The fullest node that holds the job beside the gang's seats; its room is taken. */
static bool seat_elsewhere(struct sched *s, uint32_t gang, const struct seat *seats,
                           uint32_t n, struct use *ret)
{
    const struct cluster *c = s->cluster;
    const struct shape *sh = &s->shapes.at[slot_shape(s, gang, 0)].shape;
    uint32_t least = UINT32_MAX;
    for (uint32_t r = 0; r < c->nranks && least > sh->gpu_count; r++) {
        uint32_t node = c->order[r];
        uint32_t free = (uint32_t)__builtin_popcountll(c->nodes[node].whole_free);
        if (free < sh->gpu_count || free >= least || !node_is_usable(&c->nodes[node]) ||
            node_is_spare(s, node) || is_taken(seats, n, cluster_node_name(c, node)) ||
            !node_eligible(s, sh, node) || !place_on(s, gang, node))
            continue;
        least = free;
        *ret = s->scratch->plan.at[0].use;
    }
    if (least == UINT32_MAX)
        return false;
    cluster_take(s->cluster, ret);
    return true;
}

static bool all_seated(struct reclaim *rc, const struct seat *seats, uint32_t n)
{
    struct use taken[MOVES_MAX];
    uint32_t k = 0;
    if (rc->victims.n > MOVES_MAX)
        return false;
    while (k < rc->victims.n &&
           seat_elsewhere(rc->s, rc->victims.at[k].gang, seats, n, &taken[k]))
        k++;
    bool all = k == rc->victims.n;
    while (k > 0)
        cluster_give(rc->s->cluster, &taken[--k]);
    return all;
}

/* --- is it worth it --- */

/* A checkpoint that is asked for first saves what was done. */
static __int128 cost_of(struct sched *s, const struct runner *v)
{
    const struct job *j = &s->jobs.at[s->gangs.at[v->gang].job];
    __int128 gpus = s->shapes.at[slot_shape(s, v->gang, 0)].shape.gpu_count;
    return j->checkpoint == CHECKPOINT_ASKED
               ? gpus * (j->ckpt_save_us + j->ckpt_restore_us)
               : runner_cost(s, v);
}

/* GPU-time that the gang waits less. Where nobody knows for how long it would wait: a
 * day. */
static __int128 gain_of(struct reclaim *rc)
{
    struct sched *s = rc->s;
    int64_t start = pass_forecast(rc->p, rc->gang);
    int64_t wait = start == INT64_MAX || start - s->at > 24 * US_PER_HOUR
                       ? 24 * US_PER_HOUR
                       : start - s->at;
    return (__int128)gang_root(s, &s->gangs.at[rc->gang])->min_milli * wait / 1000;
}

static bool try_moves(struct reclaim *rc)
{
    struct sched *s = rc->s;
    uint32_t n = s->scratch->plan.n;
    uint32_t done = s->move_hour == s->at / US_PER_HOUR ? s->moved : 0;
    const struct seat *seats = pass_seats(rc->p, rc->gang);
    if (done + rc->victims.n > s->policy.moves_per_hour || !all_seated(rc, seats, n))
        return false;
    __int128 cost = 0, gain = gain_of(rc);
    for (uint32_t i = 0; i < rc->victims.n; i++)
        cost += cost_of(s, &rc->victims.at[i]);
    if (cost >= gain)
        return false;
    reclaim_carry(rc, STOP_MOVE, seats, n,
                  (struct why){.code = WHY_MOVED,
                               .need = begun_gpu_hours(cost),
                               .have = begun_gpu_hours(gain),
                               .other = rc->victims.n});
    return true;
}

bool pass_move(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    const struct tree_root *root = gang_root(s, &s->gangs.at[gang]);
    bool wide = root->slots > 1 ||
                gang_tree(s, &s->gangs.at[gang])->groups[root->group].required;
    uint32_t done = s->move_hour == s->at / US_PER_HOUR ? s->moved : 0;
    if (done >= s->policy.moves_per_hour || !wide || root->min_milli == 0 ||
        (s->gangs.at[gang].said && !s->reserve_now.improve))
        return false;
    struct reclaim rc = {.p = p, .s = s, .gang = gang};
    struct victims_ask ask = {0};
    struct victims *index = runners_ready(s);
    reclaim_ask(&rc, &ask);
    ask.allowed = may_move;
    bool ok = ask.tasks && reclaim_find(&rc, index, &ask) && try_moves(&rc);
    reclaim_done(&rc);
    return ok;
}
