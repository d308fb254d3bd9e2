/* worth.c - what is lost while a gang waits
 * A job states what an hour of it is worth (counted up to what its queue allows) and by
 * when it should be done. Each hour that it waits loses that much; a start so late that
 * it ends behind its deadline, which it would have met by starting now, loses all its
 * hours beside. How long it runs: as expected, else its limit, else an hour. In
 * thousandths; integers. SPDX-License-Identifier: Apache-2.0 */
#include "sched/state.h"

#define HOUR_US (3600 * INT64_C(1000000))

static int64_t run_us(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    int64_t run = gang_expected(s, g);
    if (run <= 0)
        run = s->jobs.at[g->job].time_limit_us;
    return run > 0 ? run : HOUR_US;
}

int64_t worth_rate(const struct sched *s, uint32_t gang)
{
    const struct job *j = &s->jobs.at[s->gangs.at[gang].job];
    int64_t most = INT64_MAX;
    if (s->policy.value == VALUE_OFF || j->value_milli_h <= 0)
        return 0;
    if (s->quota.on && s->quota.nodes.at[j->qnode].spec != QUEUE_NONE)
        most = s->policy.queues.queues[s->quota.nodes.at[j->qnode].spec]
                   .value_most_milli_h;
    return j->value_milli_h < most ? j->value_milli_h : most;
}

/* rate / (GPUs x run), compared crosswise: Smith's rule with GPU-hours for time. */
int worth_cmp(const struct sched *s, uint32_t a, uint32_t b)
{
    int64_t va = worth_rate(s, a), vb = worth_rate(s, b);
    if (va == 0 || vb == 0)
        return (va == 0) - (vb == 0);
    uint64_t ga = gang_root(s, &s->gangs.at[a])->min_milli;
    uint64_t gb = gang_root(s, &s->gangs.at[b])->min_milli;
    /* whole seconds and at most 2^31 milli-GPUs: 2^63 x 2^26 x 2^31 needs less than
     * 2^127 */
    unsigned __int128 ma =
        (unsigned __int128)(ga ? ga : 1) * (uint64_t)(run_us(s, a) / 1000000 + 1);
    unsigned __int128 mb =
        (unsigned __int128)(gb ? gb : 1) * (uint64_t)(run_us(s, b) / 1000000 + 1);
    uint64_t ra = (uint64_t)(va < WORTH_MOST ? va : WORTH_MOST);
    uint64_t rb = (uint64_t)(vb < WORTH_MOST ? vb : WORTH_MOST);
    unsigned __int128 x = mb * ra, y = ma * rb;
    return x > y ? -1 : x < y;
}

/* Lost if it starts when `other`, started now, has ended, rather than now itself. */
int64_t worth_regret(const struct sched *s, uint32_t gang, uint32_t other)
{
    const struct job *j = &s->jobs.at[s->gangs.at[gang].job];
    int64_t rate = worth_rate(s, gang), run = run_us(s, gang), delay = run_us(s, other);
    rate = rate < WORTH_MOST ? rate : WORTH_MOST;
    __int128 lost = (__int128)rate * delay;
    bool misses = j->deadline_at > 0 && run <= j->deadline_at - s->at &&
                  (__int128)s->at + run + delay > j->deadline_at;
    if (misses)
        lost += (__int128)rate * run;
    lost /= HOUR_US;
    return lost > INT64_MAX ? INT64_MAX : (int64_t)lost;
}
