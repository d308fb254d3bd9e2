/* mapped.c - rows of any CSV through a mapping file
 *
 * Opening finds the column of each mapped field and where its value goes, and fills the
 * row under work with all that is constant. A row then costs: the filters, one small
 * step a mapped column (each writes, the preset if the cell is missing), and a copy;
 * columns that nobody asked for are never looked at. Dates, words, types and tags are
 * remembered by text (cell.h, reader.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "trace/cell.h"
#include "trace/reader.h"

enum { COUNT_MAX = 10000000, REMARK_MAX = 4096 };

/* Values that become a job only together. */
struct scratch {
    int64_t gpus_milli, gpu_milli, nodes, cpu_milli, mem_bytes, wait_us, priority, state;
    uint32_t queue; /* interned; MAP_NONE: no queue */
};

enum { MEMO_BITS = 6, MEMO_LEN_MAX = 8 };

/* What a short text meant when it was last seen: its intern id, or a filter's
 * answer. */
struct memo {
    uint64_t key;
    uint32_t len; /* 0: empty */
    uint32_t is;
};

struct step {
    const struct mapping_column *from;
    uint32_t field; /* enum mapping_field; FIELDS: a filter */
    uint32_t column;
    int64_t *number;     /* where a number goes; NULL: a text */
    int64_t lo, hi;      /* its bounds */
    int64_t preset;      /* of a number */
    const int64_t *same; /* a filter has read the same number before; NULL: none */
    int64_t value;       /* a filter's number */
    struct cell_day day;
    struct memo memos[1u << MEMO_BITS];
};

struct mapped {
    struct csv *csv;
    const struct mapping *map;
    uint32_t ncolumns, nsteps, nkeeps;
    struct step steps[FIELDS], keeps[MAPPING_KEEPS_MAX];
    /* The row under work, and what the mapping presets. Without a name: its number. */
    struct trace_job row, preset;
    struct scratch scratch, preset_scratch;
    bool empty_is_missing; /* and nothing else is */
    struct str tag_before, tag_after; /* the tag around {queue}; ptr NULL: no {queue} */
};

/* Up to eight bytes as a number (with the length it is unique). */
static inline uint64_t key_of(const char *p, size_t len)
{
    uint32_t a, b;
    uint16_t c, d;
    if (len >= 4) {
        memcpy(&a, p, 4);
        memcpy(&b, p + len - 4, 4);
        return a | (uint64_t)b << 32;
    }
    if (len < 2)
        return len ? (unsigned char)*p : 0;
    memcpy(&c, p, 2);
    memcpy(&d, p + len - 2, 2);
    return c | (uint64_t)d << 16;
}

/* The memo of a text, hit if its length is set and equal. NULL: too long for one. */
static inline struct memo *memo_of(struct step *s, struct str cell, uint64_t *ret_key)
{
    if (!cell.len || cell.len > MEMO_LEN_MAX)
        return NULL;
    *ret_key = key_of(cell.ptr, cell.len);
    return &s->memos[*ret_key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - MEMO_BITS)];
}

static inline uint32_t step_intern(struct trace *t, struct step *s, struct str cell)
{
    uint64_t key;
    struct memo *memo = memo_of(s, cell, &key);
    if (!memo)
        return trace_intern_id(t, cell);
    if (memo->len != cell.len || memo->key != key)
        *memo = (struct memo){key, (uint32_t)cell.len, trace_intern_id(t, cell)};
    return memo->is;
}

static inline bool step_in_set(struct step *s, const struct strmap *set, struct str cell)
{
    uint64_t key;
    struct memo *memo = memo_of(s, cell, &key);
    if (!memo)
        return strmap_get(set, cell) != MAP_NONE;
    if (memo->len != cell.len || memo->key != key) {
        bool in = strmap_get(set, cell) != MAP_NONE;
        *memo = (struct memo){key, (uint32_t)cell.len, in};
    }
    return memo->is;
}

/* Whole row as it stood in the file (cells lie one behind the other). */
static struct str row_text(const struct csv_row *row)
{
    const struct str *last = &row->cells[row->n - 1];
    return (struct str){row->cells[0].ptr, (size_t)(last->ptr + last->len -
                                                    row->cells[0].ptr)};
}

/* The next row that is no comment and no empty line. */
static inline int row_next(struct trace *t, struct mapped *m, struct csv_row *row,
                           struct err *err)
{
    int rc;
    while ((rc = csv_next(m->csv, row, err)) > 0) {
        if (row->n == 1 && !row->cells[0].len && m->ncolumns != 1)
            continue;
        if (!m->map->comment.len || !str_starts(row->cells[0], m->map->comment))
            return rc;
        if (!t->remark.len) {
            struct str text = row_text(row);
            text.len = text.len < REMARK_MAX ? text.len : REMARK_MAX;
            t->remark = arena_str(&t->text, text);
        }
    }
    return rc;
}

/* --- opening
 * ------------------------------------------------------------------------ */

static bool column_find(const struct str *names, uint32_t n, struct str name,
                        uint32_t *ret)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_eq(str_trim(names[i]), name)) {
            *ret = i;
            return true;
        }
    return false;
}

/* Where a field's number goes, and its bounds; NULL for texts. */
static int64_t *number_place(struct mapped *m, uint32_t field, int64_t *ret_lo,
                             int64_t *ret_hi)
{
    struct trace_job *j = &m->row;
    struct scratch *x = &m->scratch;
    const struct {
        int64_t *at, lo, hi;
    } places[FIELDS] = {
        [FIELD_SUBMIT] = {&j->submit_us, INT64_MIN, INT64_MAX},
        [FIELD_ELIGIBLE] = {&j->eligible_us, INT64_MIN, INT64_MAX},
        [FIELD_START] = {&j->start_us, INT64_MIN, INT64_MAX},
        [FIELD_END] = {&j->end_us, INT64_MIN, INT64_MAX},
        [FIELD_RUN] = {&j->run_us, 0, INT64_MAX},
        [FIELD_WAIT] = {&x->wait_us, 0, INT64_MAX},
        [FIELD_LIMIT] = {&j->limit_us, 0, INT64_MAX},
        [FIELD_PRIORITY] = {&x->priority, INT32_MIN, INT32_MAX},
        [FIELD_STATE] = {&x->state, INT64_MIN, INT64_MAX},
        [FIELD_NODES] = {&x->nodes, 0, COUNT_MAX},
        [FIELD_GPUS] = {&x->gpus_milli, 0, COUNT_MAX * INT64_C(1000)},
        [FIELD_GPU_MILLI] = {&x->gpu_milli, 0, 1000},
        [FIELD_GPU_MEM] = {&j->gpu_mem_bytes, 0, INT64_MAX},
        [FIELD_CPU] = {&x->cpu_milli, 0, INT64_MAX},
        [FIELD_MEM] = {&x->mem_bytes, 0, INT64_MAX},
    };
    *ret_lo = places[field].lo;
    *ret_hi = places[field].hi;
    return places[field].at;
}

static inline int number_put(const struct step *s, int64_t v)
{
    if (v < s->lo || v > s->hi)
        return -ERANGE;
    *s->number = v;
    return 0;
}

static int text_put(struct trace *t, struct mapped *m, struct step *s, struct str v)
{
    struct trace_job *j = &m->row;
    struct trace_types list;
    uint32_t id; /* interning may move texts: first the one, then the other */
    switch (s->field) {
    case FIELD_NAME:
        j->name = v;
        break;
    case FIELD_USER:
        id = step_intern(t, s, v);
        j->user = t->texts.at[id];
        break;
    case FIELD_QUEUE:
        m->scratch.queue = step_intern(t, s, v);
        j->queue = t->texts.at[m->scratch.queue];
        break;
    case FIELD_NEED_LEVEL:
        id = step_intern(t, s, v);
        j->need_level = t->texts.at[id];
        break;
    case FIELD_NODE_LIST:
        j->node_list = v;
        break;
    case FIELD_TYPES:
        list = trace_intern_list(t, v, s->from->separator);
        if (!list.at)
            return -ERANGE;
        j->types = list.at;
        j->ntypes = list.n;
        break;
    default:
        break;
    }
    return 0;
}

/* What the column says when there is no cell, into the row. */
static int proto_put(struct trace *t, struct mapped *m, uint32_t field, struct err *err)
{
    const struct mapping_column *c = &m->map->fields[field];
    struct step step = {.from = c, .field = field};
    int rc = 0;
    step.number = number_place(m, field, &step.lo, &step.hi);
    if (step.number) {
        rc = number_put(&step, c->preset);
    } else if (c->preset_text.len) {
        struct str own = arena_str(&t->text, c->preset_text);
        rc = text_put(t, m, &step, own);
    }
    if (rc < 0)
        return err_set(err, ERANGE, "mapping %s: the preset of %s is out of range",
                       t->format, mapping_field_name((int)field));
    return 0;
}

/* A filter that reads the very number that the field wants (a window of submit
 * times). */
static const int64_t *keep_same(const struct mapped *m, const struct step *s)
{
    for (uint32_t i = 0; i < m->nkeeps; i++) {
        const struct step *k = &m->keeps[i];
        if (m->map->keeps[i].is_range && k->column == s->column &&
            k->from->how == s->from->how && k->from->mul == s->from->mul)
            return &k->value;
    }
    return NULL;
}

static int field_open(struct trace *t, struct mapped *m, const struct str *names,
                      uint32_t n, uint32_t field, uint64_t line, struct err *err)
{
    const struct mapping_column *c = &m->map->fields[field];
    struct step *s = &m->steps[m->nsteps];
    if (!c->used)
        return 0;
    if (c->has_preset) {
        int rc = proto_put(t, m, field, err);
        if (rc < 0)
            return rc;
    }
    if (!c->column.len)
        return 0;
    s->from = c;
    s->field = field;
    if (column_find(names, n, c->column, &s->column)) {
        s->number = number_place(m, field, &s->lo, &s->hi);
        s->same = s->number ? keep_same(m, s) : NULL;
        s->preset = s->number ? *s->number : 0;
        m->nsteps++;
        return 0;
    }
    if (c->optional)
        return 0;
    return err_set(err, EINVAL,
                   "%s:%llu:1: no column '" STR_FMT "', which mapping %s needs "
                   "for %s",
                   csv_name(m->csv), (unsigned long long)line, STR_ARG(c->column),
                   t->format, mapping_field_name((int)field));
}

static void tag_open(struct mapped *m)
{
    static const struct str hole = {"{queue}", 7};
    struct str p = m->map->need_tag;
    const char *at = p.len ? memmem(p.ptr, p.len, hole.ptr, hole.len) : NULL;
    if (!at) {
        m->row.need_tag = p.len ? p : (struct str){"", 0};
        return;
    }
    m->tag_before = (struct str){p.ptr, (size_t)(at - p.ptr)};
    m->tag_after = (struct str){at + hole.len, p.len - m->tag_before.len - hole.len};
}

static int columns_open(struct trace *t, struct mapped *m, const struct str *names,
                        uint32_t n, uint64_t line, struct err *err)
{
    int rc = 0;
    m->ncolumns = n;
    for (uint32_t i = 0; i < m->map->nkeeps; i++) {
        struct step *s = &m->keeps[m->nkeeps];
        s->from = &m->map->keeps[i].from;
        s->field = FIELDS;
        if (!column_find(names, n, s->from->column, &s->column))
            return err_set(err, EINVAL,
                           "%s:%llu:1: no column '" STR_FMT "', which mapping "
                           "%s filters by",
                           csv_name(m->csv), (unsigned long long)line,
                           STR_ARG(s->from->column), t->format);
        m->nkeeps++;
    }
    for (uint32_t f = 0; f < FIELDS && rc == 0; f++)
        rc = field_open(t, m, names, n, f, line, err);
    tag_open(m);
    m->row.name = (struct str){"", 0};
    m->preset = m->row;
    m->preset_scratch = m->scratch;
    m->empty_is_missing = m->map->nmissing == 1 && !m->map->missing[0].len;
    return rc;
}

static int mapped_open(struct trace *t, struct infile *in, struct err *err)
{
    struct mapped *m = mem_zero(sizeof *m);
    struct csv_row row;
    t->own = m;
    m->map = t->mapping;
    m->csv = csv_open(in, m->map->delim, m->map->quote);
    m->scratch = (struct scratch){.gpu_milli = TRACE_NEVER, .wait_us = TRACE_NEVER,
                                  .queue = MAP_NONE};
    trace_job_init(t, &m->row);
    if (!m->map->header)
        return columns_open(t, m, m->map->columns, m->map->ncolumns, 1, err);
    int rc = row_next(t, m, &row, err);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return err_set(err, EINVAL, "%s:1:1: the file is empty, a header is expected",
                       csv_name(m->csv));
    return columns_open(t, m, row.cells, row.n, row.line, err);
}

static void mapped_close(struct trace *t)
{
    struct mapped *m = t->own;
    if (m)
        csv_close(m->csv);
    free(m);
}

/* --- rows
 * --------------------------------------------------------------------------- */

static inline bool cell_is_missing(const struct mapped *m, struct str cell)
{
    const struct mapping *map = m->map;
    if (m->empty_is_missing) /* as a rule */
        return !cell.len;
    for (uint32_t i = 0; i < map->nmissing; i++)
        if (str_eq(cell, map->missing[i]))
            return true;
    return false;
}

/* What kind of thing a cell should have been, for messages. */
static const char *kind_name(const struct step *s)
{
    if (s->from->how == HOW_DATETIME)
        return "time";
    return s->field == FIELDS ? "filtered column" : mapping_field_name((int)s->field);
}

static const char date_form[] =
    "is not a date and time: 2026-10-31 07:01:55 (or T for the blank; .fraction, Z or "
    "+08:00 may follow), or 2026-10-31";

static int cell_bad(const struct mapped *m, const struct csv_row *row,
                    const struct step *s, int rc, struct err *err)
{
    struct str c = row->cells[s->column];
    int len = c.len < 60 ? (int)c.len : 60;
    const char *why = s->field == FIELD_TYPES    ? "names too many types"
                      : s->from->how == HOW_WORD ? "is not among the mapping's words"
                      : rc == -ERANGE            ? "is out of range"
                      : s->from->how == HOW_DATETIME ? date_form
                                                     : "is not a number";
    return trace_cell_err(m->csv, s->column, -rc, err, "%s '%.*s' %s",
                          kind_name(s), len, c.ptr, why);
}

static inline int number_read(struct step *s, struct str cell, int64_t *ret)
{
    const struct mapping_column *c = s->from;
    switch (c->how) {
    case HOW_SCALED:
        return cell_scaled(cell, c->mul, ret);
    case HOW_DATETIME:
        return cell_time(cell, &s->day, ret);
    case HOW_CLOCK:
        return cell_clock(cell, ret);
    default:
        break;
    }
    uint32_t id = strmap_get(&c->word_ids, cell);
    if (id == MAP_NONE && !c->other_ok)
        return -EINVAL;
    *ret = id == MAP_NONE ? c->preset : c->words[id].value;
    return 0;
}

/* 1: the row stays; 0: it goes; -errno. */
static int row_keep(struct mapped *m, const struct csv_row *row, struct err *err)
{
    const struct mapping_keep *k = m->map->keeps;
    for (struct step *s = m->keeps; s < m->keeps + m->nkeeps; s++, k++) {
        struct str cell = row->cells[s->column];
        int64_t v;
        if (!k->is_range) {
            if (step_in_set(s, &k->set, cell) == k->not_in)
                return 0;
            continue;
        }
        if (cell_is_missing(m, cell))
            return 0;
        int rc = number_read(s, cell, &v);
        if (rc < 0)
            return cell_bad(m, row, s, rc, err);
        if (v < k->lo || v > k->hi)
            return 0;
        s->value = v;
    }
    return 1;
}

static int step_text(struct trace *t, struct mapped *m, struct step *s, struct str cell)
{
    const struct mapping_column *c = s->from;
    if (c->nwords) {
        uint32_t id = strmap_get(&c->word_ids, cell);
        if (id != MAP_NONE)
            cell = c->words[id].text;
        else if (c->other_ok)
            cell = c->preset_text;
    }
    return text_put(t, m, s, cell);
}

static inline int step_run(struct trace *t, struct mapped *m, struct step *s,
                           struct str cell)
{
    int64_t v;
    if (s->same)
        return number_put(s, *s->same);
    if (!s->number)
        return step_text(t, m, s, cell);
    int rc = number_read(s, cell, &v);
    return rc < 0 ? rc : number_put(s, v);
}

/* The cell is missing. */
static void step_preset(struct mapped *m, const struct step *s)
{
    struct trace_job *j = &m->row;
    const struct trace_job *preset = &m->preset;
    switch (s->field) {
    case FIELD_NAME: j->name = preset->name; break;
    case FIELD_USER: j->user = preset->user; break;
    case FIELD_NEED_LEVEL: j->need_level = preset->need_level; break;
    case FIELD_NODE_LIST: j->node_list = preset->node_list; break;
    case FIELD_QUEUE:
        j->queue = preset->queue;
        m->scratch.queue = m->preset_scratch.queue;
        break;
    case FIELD_TYPES:
        j->types = preset->types;
        j->ntypes = preset->ntypes;
        break;
    default: *s->number = s->preset; break;
    }
}

static int64_t divide_up(int64_t v, uint32_t by)
{
    return by > 1 ? v / by + (v % by != 0) : v;
}

/* GPUs as devices and a share of each; CPU and memory for each task. */
static int amounts_settle(struct trace *t, const struct mapping *map,
                          struct trace_job *j, const struct scratch *x)
{
    int64_t g = x->gpus_milli, tasks = x->nodes ? x->nodes : 1;
    bool share = g > 0 && g < 1000;
    int64_t each = (g + 999) / 1000;
    j->nodes = (uint32_t)x->nodes;
    if (map->fields[FIELD_GPUS].per_task)
        each *= tasks;
    if (each > COUNT_MAX)
        return -ERANGE;
    j->gpus = (uint32_t)each;
    j->gpu_milli = x->gpu_milli != TRACE_NEVER ? (uint32_t)x->gpu_milli
                   : share                     ? (uint32_t)g
                                               : 1000;
    if (!j->gpus || !j->gpu_milli)
        j->gpus = j->gpu_milli = 0;
    uint32_t n = trace_job_tasks(j, t->gpus_per_node);
    j->cpu_milli = map->fields[FIELD_CPU].per_task ? x->cpu_milli
                                                   : divide_up(x->cpu_milli, n);
    j->mem_bytes = map->fields[FIELD_MEM].per_task ? x->mem_bytes
                                                   : divide_up(x->mem_bytes, n);
    return 0;
}

/* "vc={queue}" with the queue put in, made once a queue. */
static struct str tag_of(struct trace *t, const struct mapped *m, uint32_t queue)
{
    if (t->tags.at[queue].ptr)
        return t->tags.at[queue];
    struct str q = t->texts.at[queue], a = m->tag_before, z = m->tag_after;
    char *text = arena_alloc(&t->text, a.len + q.len + z.len + 1);
    memcpy(text, a.ptr, a.len);
    memcpy(text + a.len, q.ptr, q.len);
    memcpy(text + a.len + q.len, z.ptr, z.len);
    text[a.len + q.len + z.len] = 0;
    t->tags.at[queue] = (struct str){text, a.len + q.len + z.len};
    return t->tags.at[queue];
}

static int row_read(struct trace *t, struct mapped *m, const struct csv_row *row,
                    struct trace_job *j, struct err *err)
{
    const struct scratch *x = &m->scratch;
    for (struct step *s = m->steps, *end = s + m->nsteps; s < end; s++) {
        struct str cell = row->cells[s->column];
        if (cell_is_missing(m, cell)) {
            if (s->field == FIELD_SUBMIT && !s->from->has_preset)
                return trace_cell_err(m->csv, s->column, EINVAL, err,
                                      "the submit time is missing");
            step_preset(m, s);
            continue;
        }
        int rc = step_run(t, m, s, cell);
        if (rc < 0)
            return cell_bad(m, row, s, rc, err);
    }
    trace_job_from(t, j, &m->row);
    j->priority = (int32_t)x->priority;
    j->state = (int32_t)x->state;
    if (amounts_settle(t, m->map, j, x) < 0)
        return trace_cell_err(m->csv, 0, ERANGE, err, "more than %d GPUs",
                              COUNT_MAX);
    if (x->wait_us != TRACE_NEVER && j->start_us == TRACE_NEVER &&
        __builtin_add_overflow(j->submit_us, x->wait_us, &j->start_us))
        j->start_us = TRACE_NEVER;
    if (m->tag_before.ptr && x->queue != MAP_NONE)
        j->need_tag = tag_of(t, m, x->queue);
    trace_job_settle(j);
    return 1;
}

static int mapped_next(struct trace *t, struct trace_job *ret, struct err *err)
{
    struct mapped *m = t->own;
    struct csv_row row;
    int rc;
    while ((rc = row_next(t, m, &row, err)) > 0) {
        trace_row(t);
        if (row.n != m->ncolumns)
            return trace_cell_err(m->csv, row.n - 1, EINVAL, err,
                                  "the row has %u columns, %u are expected", row.n,
                                  m->ncolumns);
        rc = row_keep(m, &row, err);
        if (rc < 0)
            return rc;
        if (rc)
            return row_read(t, m, &row, ret, err);
        t->skipped++;
        t->notes.left_filter++;
    }
    return rc;
}

const struct trace_ops trace_mapped = {"csv", mapped_open, mapped_next, mapped_close};
