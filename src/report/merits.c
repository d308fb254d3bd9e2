/* merits.c - what scheduling policies are judged by, beyond waits and utilisation
 *
 *   offered load      GPU x run time of what was submitted / capacity x window
 *   GPU-weighted wait sum of GPUs x wait / sum of GPUs, over jobs that started
 *   slowdown          mean of max(1, (end - submit) / max(run, 10 s)), over jobs that ended
 *   largest gangs     waits of jobs of 1,024 GPUs and more
 *   whole domains     mean over time of how many have all nodes up and all GPUs free
 *   fairness          Jain's index (sum x)^2 / (n sum x^2) of x = used / guaranteed, by queue: 1
 *                     when all have the same part of what they are guaranteed, 1/n when one
 *                     has all
 *   promises          kept: launched no later than it was ever promised
 *
 * A job that was stopped and went on is taken to have used its GPU time evenly from its first
 * start to its end; only the borders of the window and the queues' shares see the difference.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/merits.h"

#include "base/units.h"
#include "report/summary.h"

static const struct {
    const char *name;
    int64_t upto_us; /* inclusive */
} bins[PROMISE_BINS] = {
    {"late", -1},
    {"up to 10 min early", 10 * US_PER_MIN},
    {"up to 1 h", US_PER_H},
    {"up to 3 h", 3 * US_PER_H},
    {"up to 6 h", 6 * US_PER_H},
    {"up to 12 h", 12 * US_PER_H},
    {"up to 1 d", US_PER_DAY},
    {"earlier still", INT64_MAX},
};

const char *promise_bin_name(int bin)
{
    return bins[bin].name;
}

void merits_done(struct merits *m)
{
    vec_done(&m->largest);
    vec_done(&m->queues);
    vec_done(&m->early);
    vec_done(&m->error);
}

static struct merit_queue *queue_at(struct report *r, struct str name)
{
    uint32_t id = report_queue(r, name);

    if (id >= r->merits.queues.n)
        vec_resize(&r->merits.queues, id + 1);
    return &r->merits.queues.at[id];
}

void report_owed(struct report *r, struct str queue, uint64_t gpu_milli)
{
    queue_at(r, queue)->owed_milli = gpu_milli;
}

/* What of its time at work lies inside the window, as a share of all that it used. */
void merits_span(struct report *r, const struct report_job *j)
{
    int64_t from = j->first_start_us, until = j->end_us;
    int64_t worked = (j->run_us > 0 ? j->run_us : 0) + (j->lost_us > 0 ? j->lost_us : 0);

    if (from == INT64_MIN || until == INT64_MIN || until <= from || j->run_us < 0)
        return;
    int64_t whole = until - from;
    if (r->windowed && from < r->about.window_from_us)
        from = r->about.window_from_us;
    if (r->windowed && until > r->about.window_until_us)
        until = r->about.window_until_us;
    if (until > from)
        queue_at(r, j->queue)->used += (u128)(until - from) * (u128)worked / (u128)whole *
                                       j->gpu_milli;
}

void merits_job(struct report *r, const struct report_job *j)
{
    struct merits *m = &r->merits;
    bool started = j->first_start_us != INT64_MIN;
    int64_t wait = started ? j->first_start_us - j->submit_us : 0;

    if (!m->jobs++ || j->submit_us < m->first_us)
        m->first_us = j->submit_us;
    if (m->jobs == 1 || j->submit_us > m->last_us)
        m->last_us = j->submit_us;
    if (j->run_us > 0)
        m->offered += (u128)j->run_us * j->gpu_milli;
    if (!started) {
        m->gangs_never += j->tasks > 1;
        return;
    }
    if (wait > 0)
        m->weighted_wait += (u128)wait * j->gpu_milli;
    m->weight += j->gpu_milli;
    if (j->gpu_milli >= LARGEST_GPU_MILLI)
        vec_push(&m->largest, wait);
    if (j->end_us == INT64_MIN || j->run_us < 0)
        return;
    double run = (double)(j->run_us > SLOWDOWN_TAU_US ? j->run_us : SLOWDOWN_TAU_US);
    double slow = (double)(j->end_us - j->submit_us) / run;
    m->slowdown += slow > 1 ? slow : 1;
    m->slowdowns++;
}

/* The part of [from, until) that counts. */
static int64_t inside(const struct report *r, int64_t from, int64_t until)
{
    if (r->windowed && from < r->about.window_from_us)
        from = r->about.window_from_us;
    if (r->windowed && until > r->about.window_until_us)
        until = r->about.window_until_us;
    return until > from ? until - from : 0;
}

void report_domains(struct report *r, const struct report_domains *d)
{
    struct merits *m = &r->merits;
    int64_t held = m->domains.n ? inside(r, m->domains.at, d->at) : 0;
    uint32_t i;

    for (i = 0; i < m->domains.n; i++) {
        m->level[i].whole += (u128)held * m->domains.level[i].whole;
        m->level[i].all += (u128)held * m->domains.level[i].all;
    }
    for (i = m->nlevels; i < d->n; i++)
        m->level[i].name = arena_str(&r->text, d->level[i].name);
    m->nlevels = d->n > m->nlevels ? d->n : m->nlevels;
    m->domains = *d;
}

void report_stopped(struct report *r, int64_t at, enum report_stop why)
{
    if (report_counts(r, at))
        r->merits.stops[why]++;
}

void report_promise(struct report *r, const struct report_promise *p)
{
    struct merits *m = &r->merits;

    if (!report_counts(r, p->started_us))
        return;
    if (p->expected_us != INT64_MIN)
        vec_push(&m->error, p->started_us - p->expected_us);
    if (p->first_by_us == INT64_MIN) {
        m->unsaid++;
        return;
    }
    m->kept += p->started_us <= p->least_by_us;
    m->broken += p->started_us > p->least_by_us;
    vec_push(&m->early, p->first_by_us - p->started_us);
}

static struct group_stat stat_of(const int64_t *values, uint32_t n)
{
    struct group_stat stat = {0};
    uint32_t *order = mem_alloc(((size_t)n + 1) * sizeof *order);

    quantile_sort(values, n, order);
    quantile_groups(values, order, n, NULL, &stat, 1);
    free(order);
    return stat;
}

static double jain(const struct merits *m)
{
    double sum = 0, squares = 0;
    uint32_t n = 0, i;

    for (i = 0; i < m->queues.n; i++) {
        const struct merit_queue *q = &m->queues.at[i];
        double x = q->owed_milli ? (double)q->used / (double)q->owed_milli : 0;

        n += q->owed_milli > 0;
        sum += x;
        squares += x * x;
    }
    return n > 1 && squares > 0 ? sum * sum / (n * squares) : -1;
}

static void settle_largest(struct summary *s, struct merit_figures *f)
{
    const struct merits *m = &s->r->merits;
    int c = SIZE_CLASSES - 1;

    if (m->largest.n) {
        f->largest = stat_of(m->largest.at, m->largest.n);
        f->largest_name = "gangs of 1,024 GPUs and more";
        return;
    }
    while (c > SIZE_NONE && !s->sizes[c].wait.n)
        c--;
    f->largest = s->sizes[c].wait;
    f->largest_name = size_class_name((enum size_class)c);
}

void merits_settle(struct summary *s)
{
    const struct report *r = s->r;
    const struct merits *m = &r->merits;
    struct merit_figures *f = &s->merits;
    int64_t span = r->windowed ? r->about.window_until_us - r->about.window_from_us
                               : m->last_us - m->first_us;
    uint32_t i;

    f->offered = m->jobs && span > 0 && r->about.capacity_milli
                     ? (double)m->offered / ((double)span * (double)r->about.capacity_milli)
                     : -1;
    f->weighted_wait_s = m->weight ? (double)m->weighted_wait / (double)m->weight / 1e6 : -1;
    f->slowdown = m->slowdowns ? m->slowdown / (double)m->slowdowns : -1;
    f->starting = f->lost_gpu_h = -1;
    if (r->has_ledger && r->ledger.capacity) {
        const struct ledger *l = &r->ledger;

        f->starting = u128_ratio(l->sum[LEDGER_STARTING], l->capacity);
        f->lost_gpu_h = gpu_hours(l->sum[LEDGER_STARTING] + l->sum[LEDGER_RECOMPUTED]);
    }
    f->fairness = jain(m);
    for (i = 0; i < m->nlevels; i++) {
        double len = (double)r->series.total.len_us;

        f->whole[i] = len > 0 ? (double)m->level[i].whole / len : -1;
        f->all[i] = len > 0 ? (double)m->level[i].all / len : -1;
    }
    settle_largest(s, f);
    f->early = stat_of(m->early.at, m->early.n);
    f->error = stat_of(m->error.at, m->error.n);
    for (i = 0; i < m->early.n; i++) {
        int bin = 0;

        while (m->early.at[i] > bins[bin].upto_us)
            bin++;
        f->early_bins[bin]++;
    }
}
