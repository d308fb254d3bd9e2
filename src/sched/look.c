/* look.c - the state as people ask for it
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/look.h"

#include "sched/state.h"

uint32_t sched_look_jobs(const struct sched *s)
{
    return s->jobs.n;
}

uint32_t sched_look_find(const struct sched *s, struct str name)
{
    return job_look(s, name);
}

bool sched_look_job(const struct sched *s, uint32_t job, struct job_look *ret)
{
    const struct job *j = &s->jobs.at[job];
    if (!j->live)
        return false;
    *ret = (struct job_look){
        .name = job_name(j),
        .queue = j->queue,
        .user = j->user,
        .priority = j->priority,
        .held = j->held,
        .cancelled = j->cancelled,
        .tries = j->tries,
        .gangs = j->ngangs,
        .submitted_at = j->submitted_at,
        .time_limit_us = j->time_limit_us,
        .expected_us = j->expected_us,
        .saved_at = j->saved_at,
        .ckpt_step = j->ckpt_step,
    };
    return true;
}

static uint32_t gang_of(const struct sched *s, uint32_t job, uint32_t gang)
{
    const struct job *j = &s->jobs.at[job];
    return j->gangs ? j->gangs[gang] : j->one_gang;
}

void sched_look_gang(const struct sched *s, uint32_t job, uint32_t gang,
                     struct gang_look *ret)
{
    static const uint8_t phases[] = {
        [GANG_PENDING] = LOOK_WAITING,   [GANG_LAUNCHING] = LOOK_STARTING,
        [GANG_RUNNING] = LOOK_RUNNING,   [GANG_BROKEN] = LOOK_BROKEN,
        [GANG_STOPPING] = LOOK_STOPPING, [GANG_OVER] = LOOK_OVER};
    uint32_t id = gang_of(s, job, gang);
    const struct gang *g = &s->gangs.at[id];
    const struct tree_root *r = gang_root(s, g);
    *ret = (struct gang_look){
        .ref = gang_ref_of(s, id),
        .phase = phases[g->phase],
        .slots = g->nslots,
        .want = r->want,
        .min = r->min,
        .min_milli = r->min_milli,
        .issued = g->issued,
        .running = g->running,
        .ending = g->ending,
        .planned = g->planned,
        .done = g->done,
        .launch_by = g->launch_by,
        .not_before = g->not_before,
        .why = g->said ? g->why : (struct why){0},
    };
}

bool sched_look_claim(const struct sched *s, uint32_t job, uint32_t gang, uint32_t slot,
                      struct claim_look *ret)
{
    uint32_t id = gang_of(s, job, gang);
    const struct gang *g = &s->gangs.at[id];
    const struct slot *sl = g->nslots > 1 ? &g->slots[slot] : &g->one;
    if (sl->claim == NONE)
        return false;
    const struct claim *c = &s->claims.at[sl->claim];
    *ret = (struct claim_look){
        .ref = {.launch = c->launch,
                .gang = gang_ref_of(s, id),
                .slot = slot_ref_of(s, id, slot)},
        .phase = c->phase,
        .node = {c->where, c->where_len},
        .devs = c->use.devs,
        .slices = c->use.slices,
        .since = c->since,
    };
    if (sl->task)
        ret->ref.task = (struct str){sl->task, sl->task_len};
    if (c->use.node != NODE_NONE)
        ret->node = cluster_node_desc(s->cluster, c->use.node)->name;
    return true;
}

const char *look_phase_name(int phase)
{
    static const char *const names[] = {"waiting", "starting", "running",
                                        "broken",  "stopping", "over"};
    return phase >= 0 && phase <= LOOK_OVER ? names[phase] : "?";
}
