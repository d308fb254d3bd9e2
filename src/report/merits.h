/* merits.h - what scheduling policies are judged by, beyond waits and utilisation
 * Offered load, waits weighted by GPUs and of the largest gangs, bounded slowdown, whole
 * domains, fairness, promises, evictions. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_MERITS_H
#define MUSTER_MERITS_H

#include "base/vec.h"
#include "report/quantile.h"
#include "report/report.h"

struct summary;

/* Gangs of so many GPUs are the largest; where a load has none, its largest size class is. */
#define LARGEST_GPU_MILLI UINT64_C(1024000)
/* Bounded slowdown: runs shorter than this count as this long (Feitelson's tau). */
#define SLOWDOWN_TAU_US INT64_C(10000000)

/* How long before its promised time a gang started. */
enum { PROMISE_BINS = 8 };
const char *promise_bin_name(int bin); /* "late", "up to 1 h", ... */

struct merit_level { /* whole domains of a level, integrated over time */
    struct str name;
    unsigned __int128 whole, all; /* domains x us */
};

struct merit_queue {
    unsigned __int128 used; /* milli-GPU x us inside the window */
    uint64_t owed_milli;    /* 0: not told */
};

struct merits {
    unsigned __int128 offered;               /* milli-GPU x us of all that was submitted */
    unsigned __int128 weighted_wait, weight; /* milli-GPU x us; milli-GPU of those that started */
    double slowdown;                         /* sum over jobs that ended */
    uint64_t slowdowns, gangs_never;
    int64_t first_us, last_us; /* submits; valid when jobs > 0 */
    uint64_t jobs;
    VEC(int64_t) largest;      /* waits of jobs from LARGEST_GPU_MILLI on */
    VEC(struct merit_queue) queues; /* by the report's number of the queue */
    uint32_t nlevels;
    struct merit_level level[REPORT_LEVELS_MAX];
    struct report_domains domains; /* since domains.at */
    uint64_t stops[REPORT_STOPS];
    VEC(int64_t) early; /* promised less started */
    VEC(int64_t) error; /* started less expected */
    uint64_t kept, broken, unsaid; /* unsaid: reservations without a promise */
};

struct merit_figures { /* negative, or n 0: not measured */
    double offered; /* fraction of capacity */
    double weighted_wait_s, slowdown;
    struct group_stat largest;
    const char *largest_name; /* whose waits these are */
    double starting; /* fraction of capacity */
    double lost_gpu_h; /* done again, or spent on starting */
    double fairness; /* Jain's index */
    double whole[REPORT_LEVELS_MAX], all[REPORT_LEVELS_MAX]; /* mean number of domains */
    struct group_stat early, error;
    uint64_t early_bins[PROMISE_BINS];
};

void merits_done(struct merits *m);
void merits_job(struct report *r, const struct report_job *j);  /* submitted in the window */
void merits_span(struct report *r, const struct report_job *j); /* any job: GPU time used */
void merits_settle(struct summary *s);

#endif
