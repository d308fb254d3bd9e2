/* fold-job.c - what people and owners say: jobs, verbs, policy, budgets
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/state.h"

static void job_requeue(struct sched *s, uint32_t job)
{
    for (uint32_t i = 0; i < s->jobs.at[job].ngangs; i++) {
        const struct job *j = &s->jobs.at[job];
        uint32_t g = j->gangs ? j->gangs[i] : j->one_gang;
        if (s->gangs.at[g].phase != GANG_PENDING)
            continue;
        gang_unpend(s, g);
        gang_wait(s, g);
    }
}

static void job_change(struct sched *s, uint32_t job, const struct job_spec *spec)
{
    struct job *j = &s->jobs.at[job];
    j->seen = true;
    enum recount kind = job_recount_kind(s, j, spec);
    if (kind > RECOUNT_COUNTS) { /* sched_check told the caller */
        noop(s);
        return;
    }
    bool recount = kind == RECOUNT_COUNTS && !j->cancelled;
    bool moves = recount || j->priority != spec->priority ||
                 j->expected_us != spec->expected_us || j->queue != spec->queue ||
                 (s->policy.value && (j->value_milli_h != spec->value_milli_h ||
                                      j->time_limit_us != spec->time_limit_us));
    if (!moves) {
        j->time_limit_us = spec->time_limit_us;
        j->value_milli_h = spec->value_milli_h;
        j->deadline_at = spec->deadline_at;
        return;
    }
    for (uint32_t i = 0; i < j->ngangs; i++) /* leave the heaps under the old order */
        gang_unpend(s, j->gangs ? j->gangs[i] : j->one_gang);
    j->priority = spec->priority;
    j->expected_us = spec->expected_us;
    if (j->queue != spec->queue) {
        quota_job(s, job, -1);
        uint32_t leaf = quota_leaf(s, spec->queue);
        j = &s->jobs.at[job];
        j->queue = spec->queue;
        j->qnode = leaf;
        quota_job(s, job, 1);
    }
    j->time_limit_us = spec->time_limit_us;
    j->value_milli_h = spec->value_milli_h;
    j->deadline_at = spec->deadline_at;
    if (recount)
        job_recount(s, job, spec);
    if (recount)
        job_recount_settle(s, job);
    else
        job_requeue(s, job);
}

static void fold_job_set(struct sched *s, const struct job_spec *spec)
{
    uint32_t job = job_find(s, spec->name);
    if (job != NONE) {
        job_change(s, job, spec);
        return;
    }
    if (spec->request.len && strmap_get(&s->request_ids, spec->request) != MAP_NONE) {
        noop(s); /* the same request told twice, under another name: one job */
        return;
    }
    job = job_create(s, spec);
    s->jobs.at[job].seen = true;
    if (s->policy.mix == MIX_LEARN || s->policy.mix == MIX_TRACE)
        mix_arrival(s, job);
    for (uint32_t i = 0; i < s->jobs.at[job].ngangs; i++) {
        const struct job *j = &s->jobs.at[job];
        gang_wait(s, j->gangs ? j->gangs[i] : j->one_gang);
    }
}

/* Who says so, and why, stands in the event. */
static void job_override(struct sched *s, uint32_t job)
{
    struct job *j = &s->jobs.at[job];
    if (j->overridden) {
        noop(s);
        return;
    }
    for (uint32_t i = 0; i < j->ngangs; i++) /* leave the heaps under the old order */
        gang_unpend(s, j->gangs ? j->gangs[i] : j->one_gang);
    s->jobs.at[job].overridden = true;
    job_requeue(s, job);
}

static void fold_job_do(struct sched *s, const struct record *r)
{
    uint32_t job = job_find(s, r->job_do.job);
    if (job == NONE || s->jobs.at[job].cancelled) {
        noop(s);
        return;
    }
    struct job *j = &s->jobs.at[job];
    switch (r->job_do.verb) {
    case JOB_HOLD:
    case JOB_RELEASE:
        j->held = r->job_do.verb == JOB_HOLD;
        job_requeue(s, job);
        return;
    case JOB_CANCEL:
        job_cancel(s, job);
        return;
    case JOB_CHECKPOINT:
        if (j->ask || j->checkpoint == CHECKPOINT_NONE) {
            noop(s);
            return;
        }
        j->ask = true;
        vec_push(&s->asks, job);
        return;
    default:
        job_override(s, job);
    }
}

/* What stopping it would cost is counted from its last checkpoint. */
static void cheaper_to_stop(struct sched *s, uint32_t job)
{
    const struct job *j = &s->jobs.at[job];
    for (uint32_t i = 0; s->scratch_runners && i < j->ngangs; i++)
        runners_dirty(s, j->gangs ? j->gangs[i] : j->one_gang);
}

void fold_job(struct sched *s, const struct record *r)
{
    uint32_t job;
    switch (r->kind) {
    case EV_JOB_SET:
        fold_job_set(s, r->job_set);
        return;
    case EV_JOB_DO:
        fold_job_do(s, r);
        return;
    case EV_POLICY_SET:
        fold_policy(s, r->policy_set.text);
        return;
    case EV_CHECKPOINT_SAVED:
        job = job_find(s, r->checkpoint_saved.job);
        if (job == NONE || r->checkpoint_saved.saved_at < s->jobs.at[job].saved_at ||
            r->checkpoint_saved.saved_at > r->at) {
            noop(s);
            return;
        }
        s->jobs.at[job].saved_at = r->checkpoint_saved.saved_at;
        s->jobs.at[job].ckpt_step = r->checkpoint_saved.step;
        cheaper_to_stop(s, job);
        return;
    case EV_BUDGET_SET:
        job = job_find(s, r->budget_set.job);
        if (job == NONE)
            noop(s);
        else
            s->jobs.at[job].budget = r->budget_set.allowed;
        return;
    case EV_SOFT_SET:
        fold_soft(s, r);
        return;
    default: /* signal: its readers come with the verdicts on devices */
        return;
    }
}
