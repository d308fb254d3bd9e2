/* reader.h - what the readers of this room share: the open trace and its strings
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_READER_H
#define MUSTER_READER_H

#include "base/csv.h"
#include "base/map.h"
#include "base/vec.h"
#include "trace/mapping.h"
#include "trace/trace.h"

struct trace_types {
    const struct str *at;
    uint32_t n;
};

struct trace_ops {
    const char *name;
    /* Takes in, also on failure. */
    int (*open)(struct trace *t, struct infile *in, struct err *err);
    int (*next)(struct trace *t, struct trace_job *job, struct err *err);
    void (*close)(struct trace *t);
};

struct trace {
    const struct trace_ops *ops;
    void *own;              /* the reader's */
    struct mapping *mapping; /* of mapped readers; owned */
    char format[32];
    struct arena text;      /* every interned string */
    struct strmap ids;      /* text -> index in texts */
    VEC(struct str) texts;
    VEC(struct trace_types)
    lists;                /* by the index of the list's text; at NULL: not yet */
    VEC(struct str) tags; /* need_tag by the index of the queue; ptr NULL: not yet */
    uint32_t gpus_per_node;
    uint64_t rows, skipped;
    struct trace_notes notes;
    struct str remark;
    char row_name[20]; /* decimal digits of the current row, at the end */
    uint32_t row_digits;
};

extern const struct trace_ops trace_mapped, trace_swf, trace_sacct, trace_jsonl;

/* A string of any number of rows, stored once; "" stays "". */
struct str trace_intern(struct trace *t, struct str s);
uint32_t trace_intern_id(struct trace *t, struct str s);
/* A list ("V100M16|V100M32") as strings; sep 0: one item. Empty items are left out. More
 * than TRACE_TYPES_MAX: n is 0 and at is NULL. */
struct trace_types trace_intern_list(struct trace *t, struct str s, char sep);

/* One more data row; its number is the name of jobs that have none. */
void trace_row(struct trace *t);
/* A job of the current row of which nothing is known yet, or what the prototype says;
 * without a name it gets the row's number. */
void trace_job_init(struct trace *t, struct trace_job *job);
static inline void trace_job_from(const struct trace *t, struct trace_job *job,
                                  const struct trace_job *proto)
{
    *job = *proto;
    job->row = t->rows - 1;
    if (!job->name.len)
        job->name = (struct str){t->row_name + sizeof t->row_name - t->row_digits,
                                 t->row_digits};
}

/* One more of these; the first is named. */
void trace_note_add(struct trace_note *note, const struct trace_job *job);

/* start, end, run, wait and submit: fill what follows from the others. */
void trace_job_settle(struct trace_job *job);

/* "file:line:column: text", for cell of the current row. Returns -code. */
int trace_cell_err(const struct csv *csv, uint32_t cell, int code, struct err *err,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
