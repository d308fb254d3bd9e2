/* sacct.h - one row of Slurm's sacct, before rows are joined to jobs
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SACCT_H
#define MUSTER_SACCT_H

#include "trace/reader.h"

enum sacct_column {
    SACCT_JOB_ID_RAW = 0,
    SACCT_JOB_ID,
    SACCT_PARTITION,
    SACCT_ACCOUNT,
    SACCT_USER,
    SACCT_SUBMIT,
    SACCT_ELIGIBLE,
    SACCT_START,
    SACCT_END,
    SACCT_STATE,
    SACCT_TIMELIMIT_RAW,
    SACCT_TIMELIMIT,
    SACCT_ELAPSED_RAW,
    SACCT_ELAPSED,
    SACCT_NNODES,
    SACCT_REQ_NODES,
    SACCT_NCPUS,
    SACCT_REQ_CPUS,
    SACCT_REQ_MEM,
    SACCT_REQ_TRES,
    SACCT_ALLOC_TRES,
    SACCT_REQ_GRES,
    SACCT_PRIORITY,
    SACCT_NODE_LIST,
    SACCT_JOB_NAME,
    SACCT_COLUMNS
};

/* How a run that did not end for good may go on as the next row of the same job. */
enum sacct_again { AGAIN_NO = 0, AGAIN_SURELY, AGAIN_PERHAPS };

#define SACCT_HET_NONE UINT64_MAX

struct sacct_entry {
    struct trace_job job;
    struct str job_name;
    uint64_t id;         /* JobIDRaw */
    uint64_t het;        /* number before '+', SACCT_HET_NONE */
    uint32_t het_offset; /* number behind it */
    uint8_t again;       /* enum sacct_again */
    bool gone;           /* joined to another row */
    bool array_rest;     /* "2_[4-9%2]": stands for several tasks */
};

struct sacct_row { /* cells by meaning; ptr NULL: no such column */
    struct str cells[SACCT_COLUMNS];
    const char *line; /* first byte of the row, for columns in messages */
    const char *file;
    uint64_t number;  /* line number */
};

/* The column of a name as `sacct -o` spells it, or SACCT_COLUMNS. */
uint32_t sacct_column_find(struct str name);

/* Fill e from the row; its strings are interned or copied into the trace's text. 0, or
 * -errno with file, line and column. */
int sacct_row_read(struct trace *t, const struct sacct_row *row, struct sacct_entry *e,
                   struct err *err);

/* GPUs, types, CPUs, memory and nodes of a TRES list ("billing=8,cpu=8,gres/gpu=2"). */
struct sacct_tres {
    int64_t cpus, mem_bytes, nodes; /* -1: not named */
    int64_t gpus;                   /* -1: no gpu of any kind */
    int64_t gpu_milli;              /* of each */
    char types[256];                /* joined by ',' */
    uint32_t types_len;
};
/* 0, or -EINVAL/-ERANGE; *ret_bad is then the byte that is wrong. */
int sacct_tres_parse(struct str s, struct sacct_tres *ret, const char **ret_bad);

#endif
