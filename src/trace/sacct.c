/* sacct.c - Slurm's accounting as a trace
 *
 * Made for the output of (docs/data.md has it whole)
 *
 *     SLURM_TIME_FORMAT=%s sacct -a -X -D -n -P --delimiter=$'\x1f' -S ... -E ... -o
 *     ...
 *
 * with the columns of `layout` below; with a header line any columns in any order. '|'
 * is understood too: then a '|' in JobName, the last column, belongs to the name. Rows
 * become jobs in three steps, for which all rows are held (about 350 bytes each):
 *   1. requeues: -D prints one row a run under one JobIDRaw. A row that ended REQUEUED
 *      goes on in the next row of that number; NODE_FAIL, PREEMPTED and kin only if the
 *      next row was submitted within five minutes of the end. Both only if user, job
 *      name and JobID agree: numbers start again when a controller loses its state, and
 *      then the same number is another job (key: JobIDRaw and Submit).
 *   2. heterogeneous jobs: components "5+0", "5+1" start together and become one job
 *      with parts.
 *   3. pending rests of arrays ("2_[4-9%2]") become one job a task.
 * Jobs come out by submit time. O(n log n).
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/sacct.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/units.h"

enum { ARRAY_TASKS_MAX = 1 << 20, ENTRIES_MAX = 100000000 };

#define REQUEUE_GAP_US (5 * US_PER_MIN)

static const uint8_t layout[] = {/* SACCT_COLUMNS: not wanted */
                                 SACCT_JOB_ID_RAW,
                                 SACCT_JOB_ID,
                                 SACCT_COLUMNS /* Cluster */,
                                 SACCT_PARTITION,
                                 SACCT_COLUMNS /* QOS */,
                                 SACCT_ACCOUNT,
                                 SACCT_USER,
                                 SACCT_SUBMIT,
                                 SACCT_ELIGIBLE,
                                 SACCT_START,
                                 SACCT_END,
                                 SACCT_STATE,
                                 SACCT_COLUMNS /* ExitCode */,
                                 SACCT_TIMELIMIT_RAW,
                                 SACCT_ELAPSED_RAW,
                                 SACCT_COLUMNS /* Suspended */,
                                 SACCT_NNODES,
                                 SACCT_REQ_NODES,
                                 SACCT_NCPUS,
                                 SACCT_REQ_CPUS,
                                 SACCT_REQ_MEM,
                                 SACCT_REQ_TRES,
                                 SACCT_ALLOC_TRES,
                                 SACCT_PRIORITY,
                                 SACCT_COLUMNS /* Constraints */,
                                 SACCT_COLUMNS /* Reservation */,
                                 SACCT_COLUMNS /* Reason */,
                                 SACCT_COLUMNS /* Flags */,
                                 SACCT_NODE_LIST,
                                 SACCT_JOB_NAME};

struct sacct {
    struct csv *csv;
    bool loaded, begun;
    uint8_t columns[CSV_CELLS_MAX]; /* what each cell is */
    uint32_t ncolumns;
    VEC(struct sacct_entry) entries;
    struct trace_job *jobs; /* by submit time */
    uint32_t njobs, next;
};

static int sacct_open(struct trace *t, struct infile *in, struct err *err)
{
    struct sacct *s = mem_zero(sizeof *s);
    (void)err;
    t->own = s;
    s->csv = csv_open(in, '\x1f', 0);
    return 0;
}

static void sacct_close(struct trace *t)
{
    struct sacct *s = t->own;
    if (!s)
        return;
    csv_close(s->csv);
    vec_done(&s->entries);
    free(s->jobs);
    free(s);
}

/* --- rows
 * --------------------------------------------------------------------------- */

/* The row's cells; a row without unit separators is cut at '|'. */
static uint32_t row_cut(const struct csv_row *row, uint32_t most, struct str *cells)
{
    uint32_t n = 0;
    struct str rest = row->cells[0];
    if (row->n > 1) {
        memcpy(cells, row->cells, row->n * sizeof *cells);
        return row->n;
    }
    while (rest.ptr && n < CSV_CELLS_MAX) {
        if (most && n + 1 == most) { /* the last column keeps its bars */
            cells[n++] = rest;
            break;
        }
        cells[n++] = str_cut(&rest, '|');
    }
    return n;
}

/* A first line that names its columns. */
static bool header_read(struct sacct *s, const struct csv_row *row)
{
    struct str cells[CSV_CELLS_MAX];
    uint32_t n = row_cut(row, 0, cells);
    bool id = false;
    for (uint32_t i = 0; i < n; i++)
        id = id || str_is(str_trim(cells[i]), "JobIDRaw");
    if (!id) {
        s->ncolumns = sizeof layout;
        memcpy(s->columns, layout, sizeof layout);
        return false;
    }
    s->ncolumns = n;
    while (s->ncolumns && !cells[s->ncolumns - 1].len) /* -p ends lines with a bar */
        s->ncolumns--;
    for (uint32_t i = 0; i < s->ncolumns; i++)
        s->columns[i] = (uint8_t)sacct_column_find(str_trim(cells[i]));
    return true;
}

static int columns_check(const struct sacct *s, struct err *err)
{
    static const uint8_t needed[] = {SACCT_JOB_ID_RAW, SACCT_SUBMIT, SACCT_STATE};
    static const char *const names[] = {"JobIDRaw", "Submit", "State"};
    for (uint32_t k = 0; k < sizeof needed; k++)
        if (!memchr(s->columns, needed[k], s->ncolumns))
            return err_set(err, EINVAL, "%s:1:1: no column %s", csv_name(s->csv),
                           names[k]);
    return 0;
}

static int row_fill(const struct sacct *s, const struct csv_row *row,
                    struct sacct_row *out, struct err *err)
{
    struct str cells[CSV_CELLS_MAX];
    bool name_last = s->columns[s->ncolumns - 1] == SACCT_JOB_NAME;
    uint32_t n = row_cut(row, name_last ? s->ncolumns : 0, cells);
    if (n == s->ncolumns + 1 && !cells[n - 1].len)
        n--;
    *out = (struct sacct_row){
        .line = row->cells[0].ptr, .file = csv_name(s->csv), .number = row->line};
    if (n != s->ncolumns)
        return err_set(err, EINVAL,
                       "%s:%llu:%zu: the row has %u columns, %u are expected",
                       out->file, (unsigned long long)row->line,
                       (size_t)(cells[n - 1].ptr - out->line) + 1, n, s->ncolumns);
    for (uint32_t i = 0; i < n; i++)
        if (s->columns[i] < SACCT_COLUMNS)
            out->cells[s->columns[i]] = cells[i];
    return 0;
}

/* Steps ("1.batch", "1.0") repeat what their job holds. */
static bool is_step(const struct sacct_row *row)
{
    struct str id = row->cells[SACCT_JOB_ID_RAW];
    return memchr(id.ptr, '.', id.len) != NULL;
}

static int rows_load(struct trace *t, struct sacct *s, struct err *err)
{
    struct csv_row raw;
    struct sacct_row row;
    int rc;
    while ((rc = csv_next(s->csv, &raw, err)) > 0) {
        bool first = !s->begun;
        s->begun = true;
        if (first && header_read(s, &raw))
            rc = columns_check(s, err);
        if (rc < 0)
            return rc;
        if (rc == 0)
            continue;
        trace_row(t);
        rc = row_fill(s, &raw, &row, err);
        if (rc < 0)
            return rc;
        if (is_step(&row)) {
            t->skipped++;
            t->notes.left_step++;
            continue;
        }
        if (s->entries.n == ENTRIES_MAX)
            return err_set(err, EFBIG, "%s: more than %d rows", row.file, ENTRIES_MAX);
        struct sacct_entry e;
        rc = sacct_row_read(t, &row, &e, err);
        if (rc < 0)
            return rc;
        vec_push(&s->entries, e);
    }
    return rc;
}

/* --- joining
 * ------------------------------------------------------------------------ */

static int order_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int order_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int order_runs(const void *pa, const void *pb)
{
    const struct sacct_entry *a = pa, *b = pb;
    int c = order_u64(a->id, b->id);
    if (c == 0)
        c = order_i64(a->job.submit_us, b->job.submit_us);
    return c ? c : order_u64(a->job.row, b->job.row);
}

static int order_het(const void *pa, const void *pb)
{
    const struct sacct_entry *a = pa, *b = pb;
    int c = order_u64(a->het, b->het);
    if (c == 0)
        c = order_i64(a->job.submit_us, b->job.submit_us);
    if (c == 0)
        c = order_u64(a->het_offset, b->het_offset);
    return c ? c : order_u64(a->job.row, b->job.row);
}

static int order_jobs(const void *pa, const void *pb)
{
    const struct trace_job *a = pa, *b = pb;
    int c = order_i64(a->submit_us, b->submit_us);
    if (c == 0)
        c = order_u64(a->row, b->row);
    return c ? c : str_cmp(a->name, b->name);
}

/* Is b the next run of the job whose run a is? */
static bool runs_on(const struct sacct_entry *a, const struct sacct_entry *b)
{
    if (a->again == AGAIN_NO || a->id != b->id || !str_eq(a->job.name, b->job.name) ||
        !str_eq(a->job.user, b->job.user) || !str_eq(a->job_name, b->job_name))
        return false;
    if (a->again == AGAIN_SURELY)
        return true;
    return a->job.end_us != TRACE_NEVER && b->job.submit_us >= a->job.end_us &&
           b->job.submit_us - a->job.end_us <= REQUEUE_GAP_US;
}

/* The last run's row stays; it takes over when the job began, and what was lost. */
static void runs_join(struct sacct *s)
{
    for (uint32_t i = 1; i < s->entries.n; i++) {
        struct sacct_entry *a = &s->entries.at[i - 1], *b = &s->entries.at[i];
        if (!runs_on(a, b))
            continue;
        struct trace_job *from = &a->job, *to = &b->job;
        int64_t lost = from->lost_us + (from->run_us > 0 ? from->run_us : 0);
        to->submit_us = from->submit_us;
        to->eligible_us = from->eligible_us;
        if (from->start_us != TRACE_NEVER)
            to->start_us = from->start_us;
        to->lost_us = lost;
        to->restarts = from->restarts + (from->run_us != TRACE_NEVER);
        a->gone = true;
    }
}

static struct trace_part part_of(const struct trace_job *j)
{
    return (struct trace_part){j->nodes,     j->gpus,      j->gpu_milli, j->ntypes,
                               j->cpu_milli, j->mem_bytes, j->types};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Component b into the whole that a has become; further components than a job can hold
 * go into its last part. */
static void part_join(struct trace *t, struct trace_job *a, const struct trace_job *b)
{
    struct trace_part *parts = arena_alloc(&t->text, TRACE_PARTS_MAX * sizeof *parts);
    uint32_t n = a->nparts ? a->nparts : 1;
    if (a->nparts)
        memcpy(parts, a->parts, n * sizeof *parts);
    else
        parts[0] = part_of(a);
    if (n < TRACE_PARTS_MAX) {
        parts[n++] = part_of(b);
    } else {
        parts[n - 1].nodes += b->nodes;
        parts[n - 1].gpus += b->gpus;
        parts[n - 1].cpu_milli = larger(parts[n - 1].cpu_milli, b->cpu_milli);
        parts[n - 1].mem_bytes = larger(parts[n - 1].mem_bytes, b->mem_bytes);
    }
    a->parts = parts;
    a->nparts = n;
    a->nodes += b->nodes;
    a->gpus += b->gpus;
    a->gpu_milli = a->gpu_milli ? a->gpu_milli : b->gpu_milli;
    a->cpu_milli = larger(a->cpu_milli, b->cpu_milli);
    a->mem_bytes = larger(a->mem_bytes, b->mem_bytes);
    if (!a->ntypes) {
        a->types = b->types;
        a->ntypes = b->ntypes;
    }
    if (!a->node_list.len)
        a->node_list = b->node_list;
}

static void het_join(struct trace *t, struct sacct *s)
{
    qsort(s->entries.at, s->entries.n, sizeof *s->entries.at, order_het);
    struct sacct_entry *whole = NULL;
    for (uint32_t i = 0; i < s->entries.n; i++) {
        struct sacct_entry *e = &s->entries.at[i];
        if (e->het == SACCT_HET_NONE)
            break;
        if (e->gone)
            continue;
        bool same = whole && whole->het == e->het &&
                    e->het_offset > whole->het_offset &&
                    whole->job.submit_us == e->job.submit_us &&
                    whole->job.nodes + e->job.nodes <= INT32_MAX;
        if (!same) {
            whole = e;
            continue;
        }
        part_join(t, &whole->job, &e->job);
        whole->het_offset = e->het_offset;
        e->gone = true;
    }
}

/* --- arrays
 * ------------------------------------------------------------------------- */

struct array_range {
    uint64_t lo, hi, step;
};

/* The next range of "4-9,12,20-30:2" ('%' ends the list). false: none, or not one. */
static bool range_next(struct str *rest, struct array_range *ret)
{
    if (!rest->ptr || !rest->len)
        return false;
    struct str item = str_cut(rest, ','), hi = item;
    struct str lo = str_cut(&hi, '-');
    struct str step = hi.ptr ? hi : lo;
    struct str last = str_cut(&step, ':');
    ret->step = 1;
    if (hi.ptr)
        hi = last;
    if (step.ptr && str_to_u64(step, &ret->step) < 0)
        return false;
    if (str_to_u64(lo, &ret->lo) < 0)
        return false;
    ret->hi = ret->lo;
    if (hi.ptr && str_to_u64(hi, &ret->hi) < 0)
        return false;
    return ret->hi >= ret->lo && ret->step > 0 && ret->hi < ENTRIES_MAX;
}

/* "2_[4-9%2]" as prefix "2_" and list "4-9"; false: another form. */
static bool array_split(struct str name, struct str *prefix, struct str *list)
{
    const char *open = memchr(name.ptr, '[', name.len);
    if (!open || name.ptr[name.len - 1] != ']')
        return false;
    *prefix = (struct str){name.ptr, (size_t)(open - name.ptr)};
    *list = (struct str){open + 1, name.len - prefix->len - 2};
    const char *limit = memchr(list->ptr, '%', list->len);
    if (limit)
        list->len = (size_t)(limit - list->ptr);
    return list->len > 0;
}

/* Tasks of the list; 0: it does not parse (sacct cuts long ones with "..."). */
static uint64_t array_count(struct str list)
{
    struct array_range r;
    uint64_t n = 0;
    while (list.ptr) {
        if (!range_next(&list, &r))
            return 0;
        n += (r.hi - r.lo) / r.step + 1;
    }
    return n;
}

static uint32_t array_emit(struct trace *t, const struct trace_job *job,
                           struct str prefix, struct str list, struct trace_job *out)
{
    struct array_range r;
    uint32_t n = 0;
    while (range_next(&list, &r))
        for (uint64_t i = r.lo; i <= r.hi; i += r.step) {
            char *name = arena_alloc(&t->text, prefix.len + 24);
            memcpy(name, prefix.ptr, prefix.len);
            int digits = snprintf(name + prefix.len, 24, "%llu", (unsigned long long)i);
            out[n] = *job;
            out[n++].name = (struct str){name, prefix.len + (size_t)digits};
        }
    return n;
}

/* --- jobs
 * --------------------------------------------------------------------------- */

static uint64_t entry_jobs(const struct sacct_entry *e)
{
    struct str prefix, list;
    if (e->gone)
        return 0;
    if (!e->array_rest || !array_split(e->job.name, &prefix, &list))
        return 1;
    uint64_t n = array_count(list);
    return n ? n : 1;
}

/* sacct prints at most some hundred bytes of an array's list, then "...". */
static bool is_cut_array(const struct sacct_entry *e)
{
    struct str prefix, list;
    return e->array_rest &&
           (!array_split(e->job.name, &prefix, &list) || !array_count(list));
}

static int jobs_make(struct trace *t, struct sacct *s, struct err *err)
{
    uint64_t total = 0, rests = 0;
    for (uint32_t i = 0; i < s->entries.n; i++) {
        uint64_t n = entry_jobs(&s->entries.at[i]);
        total += n;
        rests += n > 1 ? n : 0;
        if (n > ARRAY_TASKS_MAX || rests > ARRAY_TASKS_MAX)
            return err_set(err, EFBIG,
                           "%s: arrays wait with more than %d tasks, the last "
                           "is %.40s",
                           csv_name(s->csv), ARRAY_TASKS_MAX,
                           s->entries.at[i].job.name.ptr);
    }
    s->jobs = mem_alloc((total + 1) * sizeof *s->jobs);
    for (uint32_t i = 0; i < s->entries.n; i++) {
        const struct sacct_entry *e = &s->entries.at[i];
        struct str prefix, list;
        if (e->gone) {
            t->notes.joined++;
            continue;
        }
        if (is_cut_array(e))
            trace_note_add(&t->notes.cut_array, &e->job);
        if (e->array_rest && array_split(e->job.name, &prefix, &list) &&
            array_count(list))
            s->njobs += array_emit(t, &e->job, prefix, list, s->jobs + s->njobs);
        else
            s->jobs[s->njobs++] = e->job;
    }
    vec_done(&s->entries);
    qsort(s->jobs, s->njobs, sizeof *s->jobs, order_jobs);
    return 0;
}

static int sacct_load(struct trace *t, struct sacct *s, struct err *err)
{
    int rc = rows_load(t, s, err);
    if (rc < 0)
        return rc;
    if (s->entries.n) {
        qsort(s->entries.at, s->entries.n, sizeof *s->entries.at, order_runs);
        runs_join(s);
        het_join(t, s);
    }
    return jobs_make(t, s, err);
}

static int sacct_next(struct trace *t, struct trace_job *ret, struct err *err)
{
    struct sacct *s = t->own;
    if (!s->loaded) {
        int rc = sacct_load(t, s, err);
        if (rc < 0)
            return rc;
        s->loaded = true;
    }
    if (s->next == s->njobs)
        return 0;
    *ret = s->jobs[s->next++];
    return 1;
}

const struct trace_ops trace_sacct = {"sacct", sacct_open, sacct_next, sacct_close};
