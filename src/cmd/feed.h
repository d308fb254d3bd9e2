/* feed.h - what one simulated run tells the report
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_FEED_H
#define MUSTER_FEED_H

#include "base/vec.h"
#include "cmd/asks.h"
#include "report/report.h"
#include "world/twin/experiment.h"

/* The twin against the record, for a replay of recorded starts. */
struct feed_pair {
    int64_t wait_recorded_us, wait_twin_us;
    int64_t start_recorded, start_twin, run_us; /* of those that ended */
    uint64_t gpu_milli;
};

/* A job that never started. Strings are the trace's. */
struct feed_never {
    struct str name;
    const struct trace_job *row;
    uint64_t digest; /* of the name that the core knows it by */
    struct why why;
};

/* What a waiting gang was promised, until it is launched. INT64_MIN: nothing yet. */
struct feed_promise {
    int64_t first_by, least_by, expected;
};

/* Of a job that came from no trace. */
struct feed_known {
    struct str queue;
    uint64_t gpu_milli; /* of all its tasks */
    int64_t recorded_start_us;
};

struct feed {
    /* Fills ret for a job of twin_submit, false: nothing is known of it. May be NULL. */
    bool (*known)(void *arg, const struct twin_outcome *o, struct feed_known *ret);
    void *known_arg;
    const struct asks *asks;
    const struct words *words;
    struct report *report;
    struct experiment *experiment;
    struct buf *jobs_csv;     /* one line a job; NULL: not wanted */
    const char *policy;
    uint64_t arrived_milli;
    uint64_t unplaced_jobs, unplaced_milli;
    VEC(struct feed_pair) pairs; /* only when recorded */
    VEC(struct feed_never) never;
    uint64_t jobs, lost_milli_s, restarts; /* the record's own losses, when recorded */
    bool recorded;
    bool levels, arrivals;
    uint64_t capacity_milli;
    int64_t window_from_us, window_until_us; /* until 0: everything */
    struct ledger ledger_from, ledger_until; /* at the borders of the window */
    bool opened, closed;
    int64_t domains_at; /* when whole domains are counted next */
    VEC(struct feed_promise) promises;
    struct u64map promise_ids; /* by gang */
};

/* Hooks into f; f->experiment is set after experiment_begin. */
void feed_hook(struct feed *f, struct twin_options *o);
/* Records as the loop folds them, those of FEED_KINDS alone: promises, evictions. */
#define FEED_KINDS \
    (UINT64_C(1) << DE_LAUNCH | UINT64_C(1) << DE_HOLD | UINT64_C(1) << DE_STOP)
void feed_record(struct feed *f, const struct record *r);
/* After experiment_begin: the clock stops at the window's borders. */
void feed_window(struct feed *f);
/* After the run: ledger, totals, and the replay's error. */
void feed_end(struct feed *f, double cpu_s);
void feed_done(struct feed *f);
/* Head line of the jobs' file. */
void feed_jobs_head(struct buf *csv);

#endif
