/* expected.c - how long a gang will run, as far as its owner or history tells
 * What the owner stated counts first; else, with `forecast: learned`, what was learned
 * of those that ended. A gang's forecast is fixed when it joins its lane and when it
 * starts: the order of a lane and the bookings of the timeline hang on it and must
 * stand still. Asked anew, with what it has run by now, is only when the end of a
 * running one is to be named. Ends that tell nothing but "longer than" (stopped, lost,
 * evicted) teach nothing. SPDX-License-Identifier: Apache-2.0 */
#include "sched/state.h"

static struct forecast_job job_of(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct job *j = &s->jobs.at[g->job];
    return forecast_job_of(j->user ? words_text(&s->words, j->user) : (struct str){0},
                           j->queue ? words_text(&s->words, j->queue) : (struct str){0},
                           gang_root(s, g)->min_milli);
}

/* What former runs of it saved; of jobs of many gangs nobody keeps that. */
static int64_t saved_run(const struct job *j)
{
    return j->ngangs == 1 ? j->progress_us : 0;
}

void expected_set(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    const struct job *j = &s->jobs.at[g->job];
    g->forecast_us = 0;
    if (s->policy.forecast != FORECAST_LEARNED || j->expected_us ||
        j->kind == JOB_SERVICE)
        return;
    struct forecast_job fj = job_of(s, gang);
    g->forecast_us =
        forecast_ask(&s->forecast, &fj, saved_run(j), s->policy.forecast_quantile);
    if (j->time_limit_us && g->forecast_us > j->time_limit_us)
        g->forecast_us = j->time_limit_us;
}

void expected_learn(struct sched *s, const struct claim *c)
{
    const struct job *j = &s->jobs.at[s->gangs.at[c->gang].job];
    if (s->policy.forecast != FORECAST_LEARNED || c->slot != 0 ||
        j->kind == JOB_SERVICE)
        return;
    int64_t until = c->phase == CLAIM_RUNNING ? s->at : c->until;
    if ((c->phase != CLAIM_RUNNING && c->phase != CLAIM_ENDING) || until < c->since ||
        (c->phase == CLAIM_ENDING && until == c->since))
        return; /* it never ran */
    struct forecast_job fj = job_of(s, c->gang);
    forecast_learn(&s->forecast, &fj, saved_run(j) + until - c->since);
}

int64_t claim_expected(const struct sched *s, const struct claim *c, int64_t until)
{
    if (c->gang == NONE)
        return until;
    const struct job *j = &s->jobs.at[s->gangs.at[c->gang].job];
    int64_t at = until;
    if (j->expected_us && c->since + j->expected_us > s->at) {
        at = c->since + j->expected_us;
    } else if (s->policy.forecast == FORECAST_LEARNED && j->kind != JOB_SERVICE) {
        struct forecast_job fj = job_of(s, c->gang);
        int64_t ran = saved_run(j) + (s->at > c->since ? s->at - c->since : 0);
        int64_t all = forecast_ask(&s->forecast, &fj, ran, s->policy.forecast_quantile);
        at = all ? s->at + (all - ran) : until;
    } else if (j->expected_us) { /* it should have ended: half of what its limit leaves
                                  */
        at = s->at + (until - s->at) / 2;
    }
    return at < until ? at : until;
}

/* --- what a world without a store keeps for us --- */

enum { SOFT_VERSION = 1 };

void sched_soft(const struct sched *s, struct record *ret, struct buf *out)
{
    buf_clear(out);
    forecast_save(&s->forecast, out);
    *ret = (struct record){.kind = EV_SOFT_SET};
    ret->soft_set.version = SOFT_VERSION;
    ret->soft_set.bytes = buf_as_str(out);
}

void fold_soft(struct sched *s, const struct record *r)
{
    if (r->soft_set.version != SOFT_VERSION ||
        forecast_load(&s->forecast, r->soft_set.bytes) < 0)
        noop(s); /* another build's: it is learned again */
}
