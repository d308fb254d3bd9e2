/* report.c - takes in what a run says about itself
 *
 * Feeding is O(1) amortised for each call and keeps 24 bytes a job, a bounded series
 * and integer sums; nothing is worked out before somebody prints (summary.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include <errno.h>
#include <math.h>

#include "report/summary.h"

struct report *report_create(const struct report_about *about)
{
    struct report *r = mem_zero(sizeof *r);

    r->about = *about;
    r->about.policy = arena_str(&r->text, about->policy);
    r->about.cluster = arena_str(&r->text, about->cluster);
    r->about.trace = arena_str(&r->text, about->trace);
    r->about.note = arena_str(&r->text, about->note);
    r->about.left_out = arena_str(&r->text, about->left_out);
    r->arrival_stride = 1;
    r->windowed = about->window_until_us != 0;
    return r;
}

void report_destroy(struct report *r)
{
    if (!r)
        return;
    merits_done(&r->merits);
    columns_done(&r->columns);
    series_done(&r->series);
    strmap_done(&r->queue_ids);
    vec_done(&r->queues);
    strmap_done(&r->reason_ids);
    vec_done(&r->reasons);
    vec_done(&r->jobs);
    arena_done(&r->text);
    free(r);
}

bool report_counts(const struct report *r, int64_t at)
{
    return !r->windowed ||
           (at >= r->about.window_from_us && at < r->about.window_until_us);
}

uint32_t report_queue(struct report *r, struct str name)
{
    uint32_t id = r->queue_last;

    if (id < r->queues.n && str_eq(r->queues.at[id], name))
        return id; /* jobs of one queue often come in a row */
    id = r->queue_last = strmap_get(&r->queue_ids, name);
    if (id != MAP_NONE)
        return id;
    id = r->queue_last = r->queues.n;
    vec_push(&r->queues, arena_str(&r->text, name));
    strmap_put(&r->queue_ids, r->queues.at[id], id);
    return id;
}

void report_job(struct report *r, const struct report_job *j)
{
    merits_span(r, j);
    if (!report_counts(r, j->submit_us)) {
        r->outside++;
        return;
    }
    merits_job(r, j);

    bool started = j->first_start_us != INT64_MIN;
    bool ended =
        started && j->end_us != INT64_MIN; /* cancelled in the queue: no span */

    vec_push(&r->jobs,
             (struct kept_job){
                 .wait_us = started ? j->first_start_us - j->submit_us : JOB_NEVER,
                 .span_us = ended ? j->end_us - j->submit_us : JOB_NEVER,
                 .queue = report_queue(r, j->queue),
                 .size = (uint8_t)size_class_of(j->gpu_milli),
             });
    r->tasks += j->tasks;
    r->restarts += j->restarts;
    r->cross_domain += j->cross_domain;
    r->failed += j->failed != 0;
    if (j->run_us > 0)
        r->run += (u128)j->run_us * j->gpu_milli;
    if (j->lost_us > 0)
        r->lost += (u128)j->lost_us * j->gpu_milli;
    if (j->recorded_start_us != INT64_MIN) {
        r->recorded_wait_us += j->recorded_start_us - j->submit_us;
        r->recorded_jobs++;
    }
}

bool report_reason(struct report *r, struct str why, struct str name)
{
    uint32_t id = strmap_get(&r->reason_ids, why);
    bool first = id == MAP_NONE;

    if (id == MAP_NONE) {
        id = r->reasons.n;
        vec_push(&r->reasons,
                 (struct reason){arena_str(&r->text, why), arena_str(&r->text, name), {0}, 0});
        strmap_put(&r->reason_ids, r->reasons.at[id].why, id);
    }
    r->reasons.at[id].jobs++;
    return first;
}

void report_reason_more(struct report *r, struct str more)
{
    r->reasons.at[r->reasons.n - 1].more = arena_str(&r->text, more);
}

/* In a window the series begins with the level that holds when it opens, and ends when it
 * closes. */
void report_level(struct report *r, const struct report_level *l)
{
    int64_t from = r->about.window_from_us, until = r->about.window_until_us;
    struct report_level edge = r->level;

    r->level = *l;
    if (r->windowed && l->at < from) {
        r->before = true;
        return;
    }
    if (r->before && l->at > from) {
        edge.at = from;
        series_add(&r->series, &edge);
    }
    r->before = false;
    if (r->closed)
        return;
    edge = *l;
    if (r->windowed && l->at >= until) {
        edge.at = until;
        r->closed = true;
    }
    series_add(&r->series, &edge);
}

void report_ledger(struct report *r, const struct ledger *l)
{
    r->ledger = *l;
    r->has_ledger = true;
}

void report_totals(struct report *r, const struct report_totals *t)
{
    r->totals = *t;
    r->has_totals = true;
}

void report_error(struct report *r, const struct report_error *e)
{
    r->error = *e;
    r->error.remark = arena_str(&r->text, e->remark);
    r->has_error = true;
}

/* Every stride-th arrival is kept for the plot; the list is thinned when it is full. */
static void arrival_keep(struct report *r, const struct arrival *a)
{
    uint32_t i;

    if (r->arrivals_seen % r->arrival_stride == 0) {
        if (r->narrivals == ARRIVALS_MAX) {
            for (i = 0; i < ARRIVALS_MAX / 2; i++)
                r->arrivals[i] = r->arrivals[2 * i];
            r->narrivals = ARRIVALS_MAX / 2;
            r->arrival_stride *= 2;
        }
        if (r->arrivals_seen % r->arrival_stride == 0)
            r->arrivals[r->narrivals++] = *a;
    }
    r->arrivals_seen++;
    r->arrival_last = *a;
}

void report_arrival(struct report *r, uint64_t arrived_milli, uint64_t used_milli,
                    double frag_milli)
{
    struct arrival a = {arrived_milli, used_milli, frag_milli};

    arrival_keep(r, &a);
    if (r->about.capacity_milli)
        columns_add(&r->columns, arrived_milli, used_milli, frag_milli,
                    r->about.capacity_milli);
}

static void columns_line(struct buf *out, const char *name,
                         const double values[COLUMNS])
{
    uint32_t i;

    buf_z(out, name);
    for (i = 0; i < COLUMNS; i++) {
        buf_char(out, ',');
        if (!isnan(values[i]))
            buf_fmt(out, "%.2f", values[i]);
    }
    buf_char(out, '\n');
}

int report_columns(const struct report *r, struct buf *out, struct err *err)
{
    double alloc[COLUMNS], frag[COLUMNS];

    if (r->columns.seen.n == 0)
        return err_set(err, ENODATA,
                       "policy " STR_FMT ": no arrival at a cluster with GPUs",
                       STR_ARG(r->about.policy));
    columns_settle(&r->columns, alloc, frag);
    columns_line(out, "allocation", alloc);
    columns_line(out, "fragmentation", frag);
    return 0;
}
