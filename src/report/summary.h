/* summary.h - one report's figures, worked out once for all printers
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SUMMARY_H
#define MUSTER_SUMMARY_H

#include "base/vec.h"
#include "base/word.h"
#include "report/columns.h"
#include "report/merits.h"
#include "report/quantile.h"
#include "report/report.h"
#include "report/series.h"

/* Size classes by a job's GPUs, all tasks together. */
enum size_class {
    SIZE_NONE = 0, /* asks for no GPU */
    SIZE_SHARE,    /* less than one GPU */
    SIZE_1,
    SIZE_8, /* more than 1, at most 8 */
    SIZE_64,
    SIZE_512,
    SIZE_MORE,
    SIZE_CLASSES
};
enum size_class size_class_of(uint64_t gpu_milli);
const char *size_class_name(enum size_class c);

/* What is kept of each job: 24 bytes. */
struct kept_job {
    int64_t wait_us; /* JOB_NEVER: it never started */
    int64_t span_us; /* submit to end; JOB_NEVER: it had not ended */
    uint32_t queue;
    uint8_t size; /* enum size_class */
};
#define JOB_NEVER INT64_MIN

#define ARRIVALS_MAX 1024u
struct arrival {
    uint64_t arrived_milli, used_milli;
    double frag_milli;
};

/* Jobs that never started for the same reason. */
struct reason {
    struct str why, example;
    struct str more; /* about the example; "": nothing */
    uint64_t jobs;
};
#define REASONS_SHOWN 6u

struct report {
    struct arena text;
    struct report_about about;
    VEC(struct kept_job) jobs;
    struct strmap queue_ids;
    uint32_t queue_last; /* of the last job */
    VEC(struct str) queues; /* by id, in order of first sight */
    struct strmap reason_ids;
    VEC(struct reason) reasons; /* in order of first sight */
    uint64_t restarts, cross_domain, failed, tasks;
    u128 run, lost; /* milli-GPU x us, from the jobs: gpu_milli x run_us, x lost_us */
    __int128 recorded_wait_us;
    uint64_t recorded_jobs;
    struct series series;
    struct arrival arrivals[ARRIVALS_MAX];
    uint32_t narrivals, arrival_stride;
    uint64_t arrivals_seen;
    struct arrival arrival_last;
    struct columns columns; /* all arrivals */
    struct ledger ledger;
    struct report_totals totals;
    struct report_error error;
    bool has_ledger, has_totals, has_error;
    struct merits merits;
    bool windowed;
    struct report_level level; /* the last one told */
    bool before, closed;       /* that was before the window; the window is over */
    uint64_t outside;          /* jobs that were submitted outside the window */
};

struct group_summary {
    struct str name;
    uint64_t jobs; /* those that never started too */
    struct group_stat wait, span;
};

/* Values of all jobs that have one, ascending (for the plots). */
struct sorted_values {
    int64_t *at;
    uint32_t n;
};

struct summary {
    const struct report *r;
    struct group_summary all;
    struct group_summary sizes[SIZE_CLASSES];
    struct group_summary *queues; /* most jobs first, then by name */
    uint32_t nqueues;
    struct reason *reasons; /* most jobs first */
    uint32_t nreasons;
    uint64_t never_started, unfinished; /* unfinished: started, not ended */
    struct sorted_values waits;
    /* Jobs only arrived and none ended, as in the FGD experiment: time is a mere order,
     * so `allocated` and `frag` are the state after the last arrival, useful and lost
     * nothing. */
    bool fills;
    /* Fractions of capacity x time; negative: not measured. */
    double useful, allocated, frag, lost;
    struct merit_figures merits;
    bool ledger_sums;    /* true without a ledger, too */
    __int128 ledger_gap; /* causes - capacity, milli-GPU x us */
};

struct summary *summary_create(const struct report *r);
void summary_destroy(struct summary *s);

/* The queue's number, new or not (report.c). */
uint32_t report_queue(struct report *r, struct str name);

/* One a report; destroyed together. */
struct summary **summary_all(struct report *const *rs, uint32_t n);
void summary_all_destroy(struct summary **sums, uint32_t n);

bool summary_all_fill(struct summary *const *sums, uint32_t n); /* false for none */

/* Same cluster, trace, seed and number of jobs: may be set side by side under one
 * title. */
bool summary_same_setting(const struct summary *a, const struct summary *b);
/* Jobs that never started: as the world counted them, else as the jobs say. */
uint64_t summary_unplaced(const struct summary *s);

/* Not fewer jobs started than under any other of the policies: times may be compared. */
bool summary_all_started(const struct summary *s, struct summary *const *sums, uint32_t n);
/* Jobs whose reasons come after the first REASONS_SHOWN. */
uint64_t summary_other_reasons(const struct summary *s);

/* What a cause of the ledger means, in words; docs/report-format.md says the same. */
const char *cause_meaning(int cause);

/* Mean in seconds; 0 for an empty group. */
double group_mean_s(const struct group_stat *g);
/* milli-GPU x us as GPU-hours. */
double gpu_hours(u128 milli_us);

#endif
