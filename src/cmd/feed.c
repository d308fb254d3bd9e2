/* feed.c - what one simulated run tells the report
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/feed.h"

#include <inttypes.h>
#include <stdio.h>

#include "cluster/cluster.h"
#include "sched/sched.h"

void feed_jobs_head(struct buf *csv)
{
    buf_z(csv, "policy,row,name,queue,gpus,tasks,submit_us,start_us,end_us,run_us,lost_us,"
               "restarts,cross_domain\n");
}

/* A cell of RFC 4180: quoted when it must be. */
static void cell(struct buf *out, struct str s)
{
    bool quote = false;
    for (size_t i = 0; i < s.len; i++)
        quote |= s.ptr[i] == ',' || s.ptr[i] == '"' || s.ptr[i] == '\n' || s.ptr[i] == '\r';
    if (!quote) {
        buf_str(out, s);
        return;
    }
    buf_char(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"')
            buf_char(out, '"');
        buf_char(out, s.ptr[i]);
    }
    buf_char(out, '"');
}

static void time_cell(struct buf *out, int64_t us)
{
    buf_char(out, ',');
    if (us != INT64_MIN)
        buf_fmt(out, "%" PRId64, us);
}

static void job_line(struct feed *f, const struct twin_outcome *o)
{
    struct buf *b = f->jobs_csv;
    cell(b, str_of(f->policy));
    buf_fmt(b, ",%" PRIu64 ",", o->row ? o->row->row : 0);
    cell(b, o->row ? o->row->name : o->name);
    buf_char(b, ',');
    cell(b, o->row ? o->row->queue : STR(""));
    buf_fmt(b, ",%" PRIu64 ".%03u,%" PRIu32, o->gpu_milli / 1000,
            (unsigned)(o->gpu_milli % 1000), o->tasks);
    time_cell(b, o->submit_us);
    time_cell(b, o->first_start_us);
    time_cell(b, o->end_us);
    time_cell(b, o->run_us);
    buf_fmt(b, ",%" PRId64 ",%" PRIu32 ",%d\n", o->lost_us, o->restarts, o->cross);
}

static void keep_pair(struct feed *f, const struct twin_outcome *o)
{
    if (o->first_start_us == INT64_MIN || o->end_us == INT64_MIN || !o->row)
        return;
    vec_push(&f->pairs, (struct feed_pair){
                            .wait_recorded_us = o->row->start_us - o->row->submit_us,
                            .wait_twin_us = o->first_start_us - o->submit_us,
                            .start_recorded = o->row->start_us,
                            .start_twin = o->first_start_us,
                            .run_us = o->run_us,
                            .gpu_milli = o->gpu_milli,
                        });
}

static void on_end(void *arg, const struct twin_outcome *o)
{
    struct feed *f = arg;
    struct report_job j = {
        .queue = o->row ? o->row->queue : STR(""),
        .submit_us = o->submit_us,
        .first_start_us = o->first_start_us,
        .end_us = o->end_us,
        .run_us = o->run_us,
        .gpu_milli = o->gpu_milli,
        .tasks = o->tasks,
        .restarts = o->restarts,
        .lost_us = o->lost_us,
        .cross_domain = o->cross,
        .failed = o->failed,
        /* In an invented order of arrival the record says nothing. */
        .recorded_start_us = o->row && o->row->submit_us == o->submit_us ? o->row->start_us
                                                                       : INT64_MIN,
    };
    report_job(f->report, &j);
    if (o->first_start_us == INT64_MIN) {
        f->unplaced_jobs++;
        f->unplaced_milli += o->gpu_milli;
    }
    if (f->jobs_csv)
        job_line(f, o);
    if (f->recorded)
        keep_pair(f, o);
}

static void on_instant(void *arg, int64_t at)
{
    struct feed *f = arg;
    struct sched_counts c;
    sched_counts(f->experiment->sched, &c);
    struct report_level l = {
        .at = at,
        .used_milli = c.used_gpu_milli > 0 ? (uint64_t)c.used_gpu_milli : 0,
        .pending_milli = c.pending_gpu_milli > 0 ? (uint64_t)c.pending_gpu_milli : 0,
        .capacity_milli = f->capacity_milli,
        .frag_milli = -1,
        .waiting_jobs = c.pending_gangs,
        .running_jobs = c.running_gangs,
    };
    report_level(f->report, &l);
}

static void on_arrival(void *arg, const struct trace_job *row)
{
    struct feed *f = arg;
    struct sched_counts c;
    sched_counts(f->experiment->sched, &c);
    f->arrived_milli += (uint64_t)row->gpus * row->gpu_milli;
    report_arrival(f->report, f->arrived_milli, (uint64_t)c.used_gpu_milli,
                   sched_fragmented_milli(f->experiment->sched));
}

void feed_hook(struct feed *f, struct twin_options *o)
{
    o->arg = f;
    o->on_end = on_end;
    o->on_instant = f->levels ? on_instant : NULL;
    o->on_arrival = f->arrivals ? on_arrival : NULL;
}

static int by_size(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* GPU time of [from, until) that lies inside the window. */
static double inside(int64_t from, int64_t until, int64_t lo, int64_t hi, uint64_t milli)
{
    if (from < lo)
        from = lo;
    if (until > hi)
        until = hi;
    return until > from ? (double)(until - from) * (double)milli : 0;
}

/* Waits of the jobs that ended in the twin; utilisation inside the window from the first
 * to the last recorded moment. */
static void tell_error(struct feed *f)
{
    uint32_t n = f->pairs.n, late = 0;
    double recorded = 0, twin = 0, used_recorded = 0, used_twin = 0;
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    int64_t *errors = mem_alloc(n * sizeof *errors);
    char remark[160];
    for (uint32_t i = 0; i < n; i++) {
        const struct feed_pair *p = &f->pairs.at[i];
        lo = p->start_recorded < lo ? p->start_recorded : lo;
        hi = p->start_recorded + p->run_us > hi ? p->start_recorded + p->run_us : hi;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct feed_pair *p = &f->pairs.at[i];
        int64_t error = p->wait_twin_us - p->wait_recorded_us;
        errors[i] = error < 0 ? -error : error;
        late += error > 0;
        recorded += (double)p->wait_recorded_us;
        twin += (double)p->wait_twin_us;
        used_recorded += inside(p->start_recorded, p->start_recorded + p->run_us, lo, hi,
                                p->gpu_milli);
        used_twin += inside(p->start_twin, p->start_twin + p->run_us, lo, hi, p->gpu_milli);
    }
    qsort(errors, n, sizeof *errors, by_size);
    double whole = n && hi > lo ? (double)(hi - lo) * (double)f->capacity_milli : 0;
    snprintf(remark, sizeof remark,
             "%u of %u jobs found no room at their recorded start and began later", late, n);
    struct report_error e = {
        .jobs = n,
        .wait_mean_recorded_s = n ? recorded / n / 1e6 : 0,
        .wait_mean_twin_s = n ? twin / n / 1e6 : 0,
        .wait_p95_abs_err_s = n ? (double)errors[(n * 95ull + 99) / 100 - 1] / 1e6 : 0,
        .util_recorded = whole > 0 ? used_recorded / whole : 0,
        .util_twin = whole > 0 ? used_twin / whole : 0,
        .remark = str_of(remark),
    };
    report_error(f->report, &e);
    free(errors);
}

void feed_end(struct feed *f, double cpu_s)
{
    const struct experiment *e = f->experiment;
    struct ledger ledger;
    struct sched_counts counts;
    struct twin_counts twin;
    sched_ledger(e->sched, &ledger);
    sched_counts(e->sched, &counts);
    twin_counts(e->twin, &twin);
    report_ledger(f->report, &ledger);
    struct report_totals t = {
        .records = e->totals.records,
        .decisions = e->totals.decisions,
        .launches = counts.launches,
        .stops = counts.stops,
        .faults = twin.faults,
        .journal_bytes = e->totals.bytes,
        .cpu_s = cpu_s,
        .sim_us = e->totals.at - twin_start_at(e->twin),
        .unplaced_jobs = f->unplaced_jobs,
        .unplaced_gpu_milli = f->unplaced_milli,
    };
    report_totals(f->report, &t);
    if (f->recorded)
        tell_error(f);
}

void feed_done(struct feed *f)
{
    vec_done(&f->pairs);
}
