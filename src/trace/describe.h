/* describe.h - what is in a trace, in numbers
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_DESCRIBE_H
#define MUSTER_DESCRIBE_H

#include "base/buf.h"
#include "trace/trace.h"

enum describe_size { /* by GPUs of the whole job, as in reports */
                     SIZE_CPU = 0,
                     SIZE_SHARE,
                     SIZE_1,
                     SIZE_2_8,
                     SIZE_9_64,
                     SIZE_65_512,
                     SIZE_MORE,
                     DESCRIBE_SIZES
};

enum { DESCRIBE_STATES = TRACE_RUNNING + 1, DESCRIBE_QUEUES_MAX = 12,
       DESCRIBE_TYPES_MAX = 64 };

/* Less than that between the first and the last submit is no time to take a mean over. */
#define DESCRIBE_SPAN_MIN_US INT64_C(60000000)

/* A quantile q of n values is the one at rank ceil(q n), counted from 1 (nearest
 * rank). */
struct describe_times {
    uint32_t n;
    double mean_us;
    int64_t p10_us, p50_us, p90_us, p99_us, max_us;
};

struct describe_group {
    struct str name;   /* of a queue; sizes have describe_size_name */
    uint32_t jobs;
    double gpu_h;      /* GPU hours: devices x share x (run + earlier attempts) */
    struct describe_times run;
};

struct describe {
    uint32_t jobs, gpu_jobs;
    uint64_t skipped;
    uint32_t states[DESCRIBE_STATES];
    int64_t first_us, last_us;     /* submit times; both TRACE_NEVER without jobs */
    uint32_t users, queues;
    uint32_t recorded;             /* jobs with a recorded start */
    uint32_t endless;              /* jobs whose run time is not known */
    double gpu_h, gpu_mean;        /* gpu_mean: GPUs of a GPU job */
    double offered_gpus;           /* GPU time / time from first to last submit;
                                      0 if that is under DESCRIBE_SPAN_MIN_US */
    uint64_t most_gpus;
    struct describe_times run,
        wait; /* run: of GPU jobs; wait: recorded start - eligible
                                        (else submit) */
    struct describe_group sizes[DESCRIBE_SIZES];
    struct describe_group top[DESCRIBE_QUEUES_MAX]; /* queues with most GPU hours */
    uint32_t ntop;
    struct describe_group types[DESCRIBE_TYPES_MAX]; /* GPU types that jobs ask for */
    uint32_t ntypes;    /* a job that takes any of several counts for each */
    uint32_t any_type;  /* GPU jobs that name none */
};

const char *describe_size_name(int size);
void describe_trace(const struct trace_list *l, struct describe *ret);
/* A table for people, or one JSON object. capacity_gpus 0: the load is not given in per
 * cent. */
void describe_text(const struct describe *d, const struct trace_list *l,
                   uint64_t capacity_gpus, struct buf *out);
void describe_json(const struct describe *d, const struct trace_list *l,
                   uint64_t capacity_gpus, struct buf *out);

#endif
