/* trace.h - rows of somebody's history, whatever the format, as one stream of jobs
 * Streaming: memory does not grow with the file, but for formats whose rows are not in
 * time order (sacct). Errors name file, line, column.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TRACE_H
#define MUSTER_TRACE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define TRACE_NEVER INT64_MIN

enum trace_state {
    TRACE_DONE = 0,
    TRACE_FAILED,
    TRACE_CANCELLED,
    TRACE_TIMEOUT,
    TRACE_LOST,
    TRACE_PREEMPTED,
    TRACE_PENDING,
    TRACE_RUNNING
};

enum { TRACE_TYPES_MAX = 8, TRACE_PARTS_MAX = 4 };

/* A component of a job whose tasks differ (Slurm's heterogeneous jobs). */
struct trace_part {
    uint32_t nodes, gpus, gpu_milli;
    uint32_t ntypes;
    int64_t cpu_milli, mem_bytes; /* of each task */
    const struct str *types;
};

/* One job. name, node_list and parts point into the reader until the next row; the
 * other strings live as long as the trace. Times are microseconds, in the trace's own
 * epoch. A job with state PENDING or CANCELLED whose run_us is TRACE_NEVER never ran:
 * its owner withdrew it at end_us (TRACE_NEVER: it still waited when the trace ends).
 * RUNNING: run_us is what had run when the trace ended. */
struct trace_job {
    uint64_t row;          /* 0-based data row of the file */
    struct str name;       /* never empty: without a column, the row in 8 digits */
    struct str user, queue;
    int64_t submit_us, start_us, end_us; /* TRACE_NEVER: not known / never */
    int64_t eligible_us;   /* from here on only room was missing; TRACE_NEVER: unknown */
    int64_t run_us;        /* of the last attempt; TRACE_NEVER: unknown (never ends) */
    int64_t lost_us;       /* run time of earlier attempts */
    int64_t limit_us;      /* 0: none */
    int32_t priority;
    int32_t state;         /* enum trace_state */
    uint32_t nodes;        /* tasks the trace fixes; 0: split by gpus_per_node */
    uint32_t gpus;         /* whole devices in all; shares: one device a task */
    uint32_t gpu_milli;    /* of each device; 1000 = whole; 0: no GPU */
    uint32_t restarts;     /* attempts before the last one */
    int64_t gpu_mem_bytes; /* of each device; 0: not said */
    int64_t cpu_milli;     /* of each task */
    int64_t mem_bytes;     /* of each task */
    uint32_t ntypes;       /* at most TRACE_TYPES_MAX */
    uint32_t nparts;       /* 0: all tasks are alike; else at most TRACE_PARTS_MAX: nodes
                              and gpus are sums, cpu_milli and mem_bytes the largest */
    const struct str *types; /* acceptable GPU types */
    const struct trace_part *parts;
    struct str need_level; /* required topology level; empty: none */
    struct str need_tag;   /* tag every node must carry ("vc=6214e9"); empty: none */
    struct str node_list;  /* where it really ran, as written; empty: not known */
    struct str partition;  /* Slurm's; only a name until someone makes it need_tag */
};

/* Tasks that the job is made of: nodes, or as many as gpus_per_node needs (0: one
 * task). */
static inline uint32_t trace_job_tasks(const struct trace_job *j,
                                       uint32_t gpus_per_node)
{
    if (j->nodes)
        return j->nodes;
    if (!gpus_per_node || j->gpus <= gpus_per_node)
        return 1;
    return (j->gpus - 1) / gpus_per_node + 1;
}

/* Jobs about which something was noticed, and the first of them. */
struct trace_note {
    uint64_t n, row; /* row counts from 1 */
    char name[40];   /* of the job; cut if longer */
};

struct trace_notes {
    uint64_t left_filter;  /* rows that the mapping's filters dropped */
    uint64_t left_step;    /* steps, which repeat what the row of their job says */
    uint64_t left_partial; /* SWF: parts of a job (status 2 to 4) */
    uint64_t joined;       /* rows that are further runs or components of a job */
    struct trace_note cut_array;   /* waiting arrays whose list of tasks is cut short */
    struct trace_note early_start; /* start before submit */
    struct trace_note early_end;   /* end before start */
    struct trace_note partitions;  /* more than one: no tag can say that */
};

struct trace;

/* A mapping file by its path ("./x.yaml") or its name, looked for as NAME.yaml in
 * $MUSTER_FORMATS, $MUSTER_DATADIR/formats, ./formats, formats beside the program, the
 * installed place and the source tree; "swf", "sacct" and "jsonl" are built in.
 * NULL or "" = by the file's name and first line (not for standard input, "-"). */
int trace_open(struct trace **ret, const char *path, const char *format,
               struct err *err);
/* The same over memory: fuzzers and tests. */
int trace_open_mem(struct trace **ret, const void *data, size_t len, const char *name,
                   const char *format, struct err *err);
/* 1: a row (filters applied); 0: end; -errno with err. */
int trace_next(struct trace *t, struct trace_job *ret, struct err *err);
/* What the mapping says beside the rows. trace_remark: the file's own comment line
 * ("# nodes=1250 queues ..."), known after the first trace_next; "": none. */
struct str trace_remark(const struct trace *t);
uint32_t trace_gpus_per_node(const struct trace *t); /* 0: not said */
const char *trace_format_name(const struct trace *t);
uint64_t trace_rows(const struct trace *t);    /* read so far */
uint64_t trace_skipped(const struct trace *t); /* dropped by filters so far */
void trace_close(struct trace *t);

/* What the file says of the site beside its jobs: the mapping's keys head and cluster. */
struct trace_queue {
    struct str name;
    int64_t gpu_milli; /* guaranteed */
};
struct trace_site {
    int64_t window_from_us, window_until_us; /* measure inside it; TRACE_NEVER: everything */
    struct str cluster;       /* text of a cluster file; empty: nothing is said */
    struct str cluster_lacks; /* a word that it needs and the head lacks; empty: none */
    uint32_t nqueues;
    const struct trace_queue *queues;
};

/* All rows of a trace in time order (stable: equal submits keep the file's order).
 * Repeated strings are stored once; the whole takes ~ 260 bytes a row. */
struct trace_list {
    struct arena text; /* every string of the jobs */
    struct trace_job *jobs;
    uint32_t n;
    uint32_t gpus_per_node;
    uint64_t skipped;  /* rows that were left out: the sum of notes.left_... */
    struct trace_notes notes;
    char *pages;       /* what jobs lies in */
    size_t pages_bytes;
    char format[32];   /* the mapping's or built-in format's name */
    struct str remark; /* as trace_remark */
    struct trace_site site;
};
int trace_load(struct trace_list *ret, const char *path, const char *format,
               struct err *err);
int trace_load_mem(struct trace_list *ret, const void *data, size_t len,
                   const char *name, const char *format, struct err *err);
void trace_list_done(struct trace_list *l);

/* What a user should know before trusting the figures: a line each, behind the prefix.
 * Returns how many. */
uint32_t trace_warnings(const struct trace_list *l, const char *prefix, struct buf *out);
/* GPU types that the catalogue does not have are spelt as one of the names is, when they
 * differ from it in case, "-" and "_" only: "npu" in a trace, "NPU" in a cluster. */
void trace_spell_types(struct trace_list *l, const struct str *names, uint32_t n);
/* need_tag becomes "partition=NAME" where the job has one partition and no tag yet.
 * Jobs with several ("a,b", not started yet) stay free and are noted. */
void trace_need_partition(struct trace_list *l);

/* Arrival orders of the FGD experiment: file of lines "seed N pods i j ..." and
 * "seed N noderank i j ..." (plain, gz, zst). Arrays are malloced, the caller frees
 * them. */
int trace_order_load(const char *path, uint64_t seed, uint32_t **ret_pods,
                     uint32_t *ret_npods, uint32_t **ret_ranks, uint32_t *ret_nranks,
                     struct err *err);

#endif
