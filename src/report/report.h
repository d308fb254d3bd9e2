/* report.h - what happened, as numbers, tables, JSON and one HTML page
 * The twin (or the history) feeds one struct report a policy; the printers take several
 * and set them side by side. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_REPORT_H
#define MUSTER_REPORT_H

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "event/ledger.h"

struct report;

struct report_about { /* borrowed strings, copied by report_create */
    struct str policy, cluster, trace;
    uint64_t seed;
    uint64_t capacity_milli; /* GPUs at the start */
    uint32_t nodes;
    struct str note; /* "run times are the oracle's", ...; empty: none */
    struct str left_out; /* "107 left out: 106 never ran"; empty: every row is a job */
    /* Measure inside [from, until) only: jobs count by their submit time, GPU time by what lies
     * inside. until 0: everything. */
    int64_t window_from_us, window_until_us;
};

struct report *report_create(const struct report_about *about);
void report_destroy(struct report *r);

/* One job that ended or was cut by the end of the run. */
struct report_job {
    struct str queue; /* "" is one queue too */
    int64_t submit_us;
    int64_t first_start_us; /* INT64_MIN: never started */
    int64_t end_us;         /* INT64_MIN: still running at the end */
    int64_t run_us;         /* useful run time of the whole job */
    uint64_t gpu_milli;     /* of all its tasks */
    uint32_t tasks, restarts;
    int64_t lost_us;           /* work done twice */
    uint32_t cross_domain;     /* gangs that a lower level could not hold: 1; else 0 */
    int32_t failed;            /* ended badly by its own fault */
    int64_t recorded_start_us; /* the trace's own start; INT64_MIN: not known */
};
void report_job(struct report *r, const struct report_job *j);
/* Is the time inside the window? True without one. */
bool report_counts(const struct report *r, int64_t at);
/* What a queue is guaranteed; fairness is measured over the queues that this is told of. */
void report_owed(struct report *r, struct str queue, uint64_t gpu_milli);
/* Why one job never started: those with the same words are counted together, the first one's
 * name stands for them. Both are copied. */
bool report_reason(struct report *r, struct str why, struct str name); /* true: the first such */
/* Of the example of the reason that was told last. */
void report_reason_more(struct report *r, struct str more);

/* State from `at` on: GPUs allocated, asked for by waiting jobs, fragmented (milli).
 * Kept as a time-weighted series of at most 2,048 points (merged as it grows) and exact
 * integrals. `at` never goes back; call it once more when the run is over, since the
 * last level has no length of its own. */
struct report_level {
    int64_t at;
    uint64_t used_milli, pending_milli, capacity_milli;
    double frag_milli; /* < 0: not measured */
    uint32_t waiting_jobs, running_jobs;
};
void report_level(struct report *r, const struct report_level *l);

/* Whole domains from `at` on: of each level, from the top down, how many have every node up
 * and every GPU free. Like a level it holds until the next call. */
enum { REPORT_LEVELS_MAX = 8 };
struct report_domains {
    int64_t at;
    uint32_t n;
    struct {
        struct str name;
        uint32_t whole, all;
    } level[REPORT_LEVELS_MAX];
};
void report_domains(struct report *r, const struct report_domains *d);

enum report_stop { REPORT_EVICTED = 0, REPORT_MOVED, REPORT_STOPS };
void report_stopped(struct report *r, int64_t at, enum report_stop why); /* one gang */

/* A gang that held a reservation was launched. INT64_MIN: that was not said. */
struct report_promise {
    int64_t started_us;
    int64_t first_by_us;    /* the promise it got first: no later than this */
    int64_t least_by_us;    /* the earliest it was ever promised */
    int64_t expected_us;    /* forecast with the first promise */
};
void report_promise(struct report *r, const struct report_promise *p);

/* Over the window where there is one. */
void report_ledger(struct report *r, const struct ledger *l);
struct report_totals {
    uint64_t records, decisions, launches, stops, faults, journal_bytes;
    double cpu_s;
    int64_t sim_us;
    uint64_t unplaced_jobs; /* never started */
    uint64_t unplaced_gpu_milli;
};
void report_totals(struct report *r, const struct report_totals *t);
/* Replay of the site's own starts: error of the twin against the record, printed first.
 */
struct report_error {
    uint64_t jobs; /* that ended: what is compared */
    uint64_t replayed, never; /* that came; of them, that found no room and never started */
    double wait_mean_recorded_s, wait_mean_twin_s, wait_p95_abs_err_s;
    double util_recorded, util_twin; /* fractions */
    struct str remark;
    bool again; /* the recorded policy decided anew; else the site's own starts were replayed */
};
void report_error(struct report *r, const struct report_error *e);

/* The FGD layout: one observation after each arrival. */
void report_arrival(struct report *r, uint64_t arrived_milli, uint64_t used_milli,
                    double frag_milli);
/* "name,v0,...,v130" lines: allocation and fragmentation in per cent (2 decimals; empty
 * where nothing was seen). 0, or -ENODATA with err: no arrival, or a cluster without
 * GPUs. */
int report_columns(const struct report *r, struct buf *out, struct err *err);

/* Printers; all append to out. width: of the terminal, used between 80 and 120 (bars
 * shrink). colour: ANSI colours. docs/report-format.md is the schema of the JSON. */
void report_text(struct report *const *rs, uint32_t n, uint32_t width, bool colour,
                 struct buf *out);
void report_json(struct report *const *rs, uint32_t n, struct buf *out);
void report_html(struct report *const *rs, uint32_t n, struct buf *out);

#endif
