/* trace.h - rows of somebody's history, whatever the format, as one stream of trace jobs
 * Streaming: memory does not grow with the file, but for formats whose rows are not in time
 * order (trace_sort). Errors name file, line, column. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TRACE_H
#define MUSTER_TRACE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define TRACE_NEVER INT64_MIN

enum trace_state {
    TRACE_DONE = 0, TRACE_FAILED, TRACE_CANCELLED, TRACE_TIMEOUT, TRACE_LOST, TRACE_PREEMPTED,
    TRACE_PENDING, TRACE_RUNNING
};

enum { TRACE_TYPES_MAX = 6, TRACE_PARTS_MAX = 4 };

/* One job. Strings point into the reader until the next row. Times are microseconds, in the
 * trace's own epoch. */
struct trace_job {
    uint64_t row;          /* 0-based data row of the file */
    struct str name, user, queue;
    int64_t submit_us, start_us, end_us; /* TRACE_NEVER: not known / never */
    int64_t run_us;        /* 0 .. ; TRACE_NEVER: not known (never ends) */
    int64_t limit_us;      /* 0: none */
    int32_t priority;
    int32_t state;         /* enum trace_state */
    uint32_t nodes;        /* tasks the trace fixes; 0: split by gpus_per_node */
    uint32_t gpus;         /* whole devices in all, or 1 with gpu_milli < 1000 */
    uint32_t gpu_milli;    /* of each device; 1000 = whole */
    int64_t gpu_mem_bytes; /* of each device; 0: not said */
    int64_t cpu_milli;     /* of each task */
    int64_t mem_bytes;     /* of each task */
    uint32_t ntypes;
    struct str types[TRACE_TYPES_MAX]; /* acceptable GPU types */
    struct str need_level;  /* required topology level; empty: none */
    struct str need_tag;    /* tag every node must carry ("vc=6214e9"); empty: none */
    struct str node_list;   /* where it really ran, as written; empty: not known */
};

struct trace_format;  /* a mapping file, read */
struct trace;

/* A mapping by its name (the shipped ones, found beside the program) or path; formats "swf",
 * "sacct" and "jsonl" are built in. NULL or "" = by the file's name and first bytes. */
int trace_open(struct trace **ret, const char *path, const char *format, struct err *err);
/* The same over memory: fuzzers and tests. */
int trace_open_mem(struct trace **ret, const void *data, size_t len, const char *name,
                   const char *format, struct err *err);
/* 1: a row (filters applied); 0: end; -errno with err. */
int trace_next(struct trace *t, struct trace_job *ret, struct err *err);
/* What the mapping says beside the rows. */
uint32_t trace_gpus_per_node(const struct trace *t);
const char *trace_format_name(const struct trace *t);
uint64_t trace_rows(const struct trace *t);    /* read so far */
uint64_t trace_skipped(const struct trace *t); /* dropped by filters so far */
void trace_close(struct trace *t);

/* All rows of a trace in time order (stable: equal submits keep the file's order), or in an
 * explicit order. Strings are interned; the whole takes ~ 150 bytes a row. */
struct trace_list {
    struct arena text;
    struct trace_job *jobs;
    uint32_t n;
    uint32_t gpus_per_node;
};
int trace_load(struct trace_list *ret, const char *path, const char *format, struct err *err);
void trace_list_done(struct trace_list *l);

/* Arrival orders of the FGD experiment: file of lines "seed N pods i j ..." and
 * "seed N noderank i j ..." (plain, gz, zst). Arrays are malloced, the caller frees them. */
int trace_order_load(const char *path, uint64_t seed, uint32_t **ret_pods, uint32_t *ret_npods,
                     uint32_t **ret_ranks, uint32_t *ret_nranks, struct err *err);

#endif
