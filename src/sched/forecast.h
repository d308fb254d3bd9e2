/* forecast.h - how long jobs run, learned from those that ended
 *
 * Jobs are alike by user, queue and size class (powers of two of GPUs). Each such class
 * has a sketch: counts of ends in buckets of run time that are an eighth of an octave
 * wide. What was learned long ago fades: each time a class has seen FORECAST_MEMORY
 * ends its counts are halved. Asked is a quantile of the time to the end, given that
 * the job has run for so long already; a class with too few ends that long answers by a
 * coarser one: the queue and size, the size, all jobs. Classes are named by digests of
 * texts, so that a table may be carried to another stream. Pure; integers. Learning and
 * asking O(1) and O(buckets). SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_FORECAST_H
#define MUSTER_FORECAST_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

enum {
    FORECAST_LEVELS = 4,    /* user + queue + size, queue + size, size, all */
    FORECAST_BUCKETS = 184, /* from 0 to 2^25 s, about a year */
    FORECAST_MEMORY = 512,  /* ends of a class after which the older half counts half */
    FORECAST_ENOUGH = 10,   /* ends that a class needs to answer */
    FORECAST_ROWS_MAX =
        16384, /* classes; then the one that learned least lately goes */
    FORECAST_VERSION = 1
};

struct forecast_row {
    uint64_t key;
    uint64_t touched;             /* number of the end that it learned last */
    uint32_t total;               /* sum of n */
    uint16_t n[FORECAST_BUCKETS]; /* 16 an end, less as it fades */
};

struct forecast { /* zero it to make it empty */
    VEC(struct forecast_row) rows;
    struct u64map ids;
    uint64_t ends; /* learned */
};

/* A job's classes, finest first; 0: it has none of that level. */
struct forecast_job {
    uint64_t keys[FORECAST_LEVELS];
};
/* An empty user has no class of its own. */
struct forecast_job forecast_job_of(struct str user, struct str queue,
                                    uint64_t gpu_milli);

void forecast_done(struct forecast *f);
/* One such job ended by itself after run_us. */
void forecast_learn(struct forecast *f, const struct forecast_job *job, int64_t run_us);
/* How long such a job runs in all, at the quantile (percent, 1 to 99), given that it
 * has run for ran_us and goes on. More than ran_us; 0: nothing is known. */
int64_t forecast_ask(const struct forecast *f, const struct forecast_job *job,
                     int64_t ran_us, uint32_t quantile);

/* The table as bytes and back (state; what a soft_set carries). Load replaces *f;
 * -EBADMSG and *f as it was, when the bytes are not a table's. */
void forecast_save(const struct forecast *f, struct buf *out);
int forecast_load(struct forecast *f, struct str bytes);
uint64_t forecast_digest(const struct forecast *f); /* free of the order of rows */

#endif
