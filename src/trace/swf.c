/* swf.c - the Standard Workload Format of the Parallel Workloads Archive
 *
 * Eighteen numbers a line, -1 where something is not known; lines that begin with ';'
 * are the header (D. Feitelson, "The Standard Workload Format", version 2.2). SWF knows
 * processors only: a job becomes tasks of as many cores as a node has (MaxProcs /
 * MaxNodes of the header, else 1), without GPUs. Lines of partial executions (status 2,
 * 3, 4) are left out, for their job has a summary line as well. Times count from the
 * log's start.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/mem.h"
#include "base/units.h"
#include "trace/cell.h"
#include "trace/reader.h"

enum swf_column {
    SWF_JOB = 0, SWF_SUBMIT, SWF_WAIT, SWF_RUN, SWF_PROCS, SWF_CPU_USED, SWF_MEM_USED,
    SWF_REQ_PROCS, SWF_REQ_TIME, SWF_REQ_MEM, SWF_STATUS, SWF_USER, SWF_GROUP, SWF_APP,
    SWF_QUEUE, SWF_PARTITION, SWF_PREVIOUS, SWF_THINK, SWF_COLUMNS
};

enum { PROCS_MAX = 10000000 };

struct swf {
    struct csv *csv;
    int64_t max_procs, max_nodes; /* of the header; 0: not said */
};

static const char *const column_names[SWF_COLUMNS] = {
    "job number",     "submit time",      "wait time",   "run time",
    "processors",     "CPU time",         "used memory", "requested processors",
    "requested time", "requested memory", "status",      "user",
    "group",          "application",      "queue",       "partition",
    "preceding job",  "think time"};

static int swf_open(struct trace *t, struct infile *in, struct err *err)
{
    struct swf *s = mem_zero(sizeof *s);
    (void)err;
    t->own = s;
    s->csv = csv_open(in, ' ', 0);
    return 0;
}

static void swf_close(struct trace *t)
{
    struct swf *s = t->own;
    if (s)
        csv_close(s->csv);
    free(s);
}

/* "; MaxNodes: 240" in cells ";" "MaxNodes:" "240", or ";MaxNodes:" "240". */
static void header_read(struct swf *s, const struct csv_row *row)
{
    uint32_t i = row->cells[0].len == 1;
    if (row->n < i + 2)
        return;
    struct str key = row->cells[i];
    if (key.len && key.ptr[0] == ';')
        key = (struct str){key.ptr + 1, key.len - 1};
    int64_t v;
    if (str_to_i64(row->cells[i + 1], &v) < 0 || v < 1 || v > PROCS_MAX)
        return;
    if (str_is(key, "MaxProcs:"))
        s->max_procs = v;
    else if (str_is(key, "MaxNodes:"))
        s->max_nodes = v;
}

/* A number of the row; -1 (any negative one) is "not known". Decimals are cut. */
static int number(const struct swf *s, const struct csv_row *row, uint32_t column,
                  int64_t *ret, struct err *err)
{
    struct str c = row->cells[column];
    int64_t v = 0;
    int rc = cell_scaled(c, 1, &v);
    if (rc < 0)
        return trace_cell_err(s->csv, column, -rc, err, "%s '%.*s' %s",
                              column_names[column], c.len < 60 ? (int)c.len : 60, c.ptr,
                              rc == -ERANGE ? "is out of range" : "is not a number");
    if (v < 0 || c.ptr[0] == '-')
        v = -1;
    if (v > INT64_MAX / US_PER_S / 4)
        return trace_cell_err(s->csv, column, ERANGE, err, "%s is out of range",
                              column_names[column]);
    *ret = v;
    return 0;
}

static void name_of(struct trace *t, struct str *to, struct str cell)
{
    if (cell.len && cell.ptr[0] != '-')
        *to = trace_intern(t, cell);
}

/* Cores as tasks: whole nodes where the header knows how large they are. */
static void cores_fill(const struct swf *s, struct trace_job *j, int64_t procs,
                       int64_t mem_kib)
{
    int64_t each = 1;
    if (s->max_procs > s->max_nodes && s->max_nodes > 0)
        each = s->max_procs / s->max_nodes;
    j->nodes = (uint32_t)((procs + each - 1) / each);
    int64_t on_one = procs < each ? procs : each;
    j->cpu_milli = on_one * 1000;
    if (mem_kib > 0 && mem_kib < (INT64_MAX >> 10) / each)
        j->mem_bytes = mem_kib * on_one * INT64_C(1024);
}

static int state_of(int64_t status)
{
    return status == 0 ? TRACE_FAILED : status == 5 ? TRACE_CANCELLED : TRACE_DONE;
}

static int row_read(struct trace *t, const struct csv_row *row, struct trace_job *j,
                    struct err *err)
{
    const struct swf *s = t->own;
    int64_t v[SWF_COLUMNS];
    for (uint32_t i = 0; i < SWF_COLUMNS; i++) {
        int rc = number(s, row, i, &v[i], err);
        if (rc < 0)
            return rc;
    }
    if (v[SWF_STATUS] >= 2 && v[SWF_STATUS] <= 4)
        return 0;
    if (v[SWF_SUBMIT] < 0)
        return trace_cell_err(s->csv, SWF_SUBMIT, EINVAL, err,
                              "the submit time is missing");
    int64_t procs = v[SWF_REQ_PROCS] > 0 ? v[SWF_REQ_PROCS] : v[SWF_PROCS];
    if (procs > PROCS_MAX)
        return trace_cell_err(s->csv, SWF_PROCS, ERANGE, err, "more than %d processors",
                              PROCS_MAX);
    trace_job_init(t, j);
    j->name = row->cells[SWF_JOB];
    name_of(t, &j->user, row->cells[SWF_USER]);
    name_of(t, &j->queue, row->cells[SWF_QUEUE]);
    j->submit_us = v[SWF_SUBMIT] * US_PER_S;
    j->state = state_of(v[SWF_STATUS]);
    if (v[SWF_RUN] >= 0)
        j->run_us = v[SWF_RUN] * US_PER_S;
    if (v[SWF_WAIT] >= 0)
        j->start_us = j->submit_us + v[SWF_WAIT] * US_PER_S;
    if (j->state == TRACE_CANCELLED &&
        v[SWF_RUN] <= 0) { /* withdrawn while it waited */
        j->end_us = j->start_us;
        j->start_us = j->run_us = TRACE_NEVER;
    }
    if (v[SWF_REQ_TIME] > 0)
        j->limit_us = v[SWF_REQ_TIME] * US_PER_S;
    cores_fill(s, j, procs > 0 ? procs : 1, v[SWF_REQ_MEM]);
    trace_job_settle(j);
    return 1;
}

static int swf_next(struct trace *t, struct trace_job *ret, struct err *err)
{
    struct swf *s = t->own;
    struct csv_row row;
    int rc;
    while ((rc = csv_next(s->csv, &row, err)) > 0) {
        if (row.cells[0].ptr[0] == ';') {
            header_read(s, &row);
            continue;
        }
        trace_row(t);
        if (row.n != SWF_COLUMNS)
            return trace_cell_err(s->csv, row.n - 1, EINVAL, err,
                                  "the row has %u numbers, SWF has %d", row.n,
                                  SWF_COLUMNS);
        rc = row_read(t, &row, ret, err);
        if (rc != 0)
            return rc;
        t->skipped++;
        t->notes.left_partial++;
    }
    return rc;
}

const struct trace_ops trace_swf = {"swf", swf_open, swf_next, swf_close};
