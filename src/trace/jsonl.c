/* jsonl.c - muster's own trace format: one JSON object a line
 *
 * The keys are the fields of struct trace_job, by the tables below, which serve reader
 * and writer alike. A first object with "muster_trace" is the head. A line is found by
 * the CSV reader with a delimiter that JSON cannot hold. Unknown keys are refused: a
 * typing error must not silently become a default.
 *
 * Most lines are flat: integers and plain ASCII strings. Those are read in one pass
 * without a tree (a tenth of the cost); a line with anything else in it, mistakes too,
 * is left to jansson, so there is one judge of what is right.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/jsonl.h"

#include <errno.h>
#include <jansson.h>
#include <stddef.h>

#include "base/mem.h"
#include "trace/reader.h"

enum { JSONL_VERSION = 1, COUNT_MAX = 10000000 };

struct jsonl {
    struct csv *csv;
    json_t *row; /* what the current job's strings point into */
    struct trace_part parts[TRACE_PARTS_MAX];
    bool begun;
};

enum number_type { TYPE_I64 = 0, TYPE_I32, TYPE_U32 };

struct number_key {
    const char *name;
    size_t at;
    enum number_type type;
    int64_t lo, hi;
    int64_t unset; /* the value that is not written */
};

#define JOB(field) offsetof(struct trace_job, field)
#define PART(field) offsetof(struct trace_part, field)

static const struct number_key job_numbers[] = {
    {"submit_us", JOB(submit_us), TYPE_I64, INT64_MIN + 1, INT64_MAX, TRACE_NEVER},
    {"eligible_us", JOB(eligible_us), TYPE_I64, INT64_MIN + 1, INT64_MAX, TRACE_NEVER},
    {"start_us", JOB(start_us), TYPE_I64, INT64_MIN + 1, INT64_MAX, TRACE_NEVER},
    {"end_us", JOB(end_us), TYPE_I64, INT64_MIN + 1, INT64_MAX, TRACE_NEVER},
    {"run_us", JOB(run_us), TYPE_I64, 0, INT64_MAX, TRACE_NEVER},
    {"lost_us", JOB(lost_us), TYPE_I64, 0, INT64_MAX, 0},
    {"limit_us", JOB(limit_us), TYPE_I64, 0, INT64_MAX, 0},
    {"priority", JOB(priority), TYPE_I32, INT32_MIN, INT32_MAX, 0},
    {"nodes", JOB(nodes), TYPE_U32, 0, COUNT_MAX, 0},
    {"gpus", JOB(gpus), TYPE_U32, 0, COUNT_MAX, 0},
    {"gpu_milli", JOB(gpu_milli), TYPE_U32, 0, 1000, 1000},
    {"restarts", JOB(restarts), TYPE_U32, 0, COUNT_MAX, 0},
    {"gpu_mem_bytes", JOB(gpu_mem_bytes), TYPE_I64, 0, INT64_MAX, 0},
    {"cpu_milli", JOB(cpu_milli), TYPE_I64, 0, INT64_MAX, 0},
    {"mem_bytes", JOB(mem_bytes), TYPE_I64, 0, INT64_MAX, 0},
    {NULL, 0, TYPE_I64, 0, 0, 0},
};

static const struct number_key part_numbers[] = {
    {"nodes", PART(nodes), TYPE_U32, 0, COUNT_MAX, 0},
    {"gpus", PART(gpus), TYPE_U32, 0, COUNT_MAX, 0},
    {"gpu_milli", PART(gpu_milli), TYPE_U32, 0, 1000, 1000},
    {"cpu_milli", PART(cpu_milli), TYPE_I64, 0, INT64_MAX, 0},
    {"mem_bytes", PART(mem_bytes), TYPE_I64, 0, INT64_MAX, 0},
    {NULL, 0, TYPE_I64, 0, 0, 0},
};

static const struct text_key {
    const char *name;
    size_t at;
    bool passing; /* need not outlive the row */
} job_texts[] = {
    {"name", JOB(name), true},           {"user", JOB(user), false},
    {"queue", JOB(queue), false},        {"need_level", JOB(need_level), false},
    {"need_tag", JOB(need_tag), false},  {"node_list", JOB(node_list), true},
    {"partition", JOB(partition), false},
    {NULL, 0, false},
};

static const char *const state_names[] = {"done", "failed",    "cancelled", "timeout",
                                          "lost", "preempted", "pending",   "running"};

static int64_t number_get(const void *from, const struct number_key *k)
{
    const char *at = (const char *)from + k->at;
    if (k->type == TYPE_I64)
        return *(const int64_t *)(const void *)at;
    if (k->type == TYPE_I32)
        return *(const int32_t *)(const void *)at;
    return *(const uint32_t *)(const void *)at;
}

static void number_set(void *to, const struct number_key *k, int64_t v)
{
    char *at = (char *)to + k->at;
    if (k->type == TYPE_I64)
        *(int64_t *)(void *)at = v;
    else if (k->type == TYPE_I32)
        *(int32_t *)(void *)at = (int32_t)v;
    else
        *(uint32_t *)(void *)at = (uint32_t)v;
}

/* --- writing
 * ------------------------------------------------------------------------ */

void jsonl_head(struct buf *out, uint32_t gpus_per_node, struct str remark)
{
    buf_fmt(out, "{\"muster_trace\":%d", JSONL_VERSION);
    if (gpus_per_node)
        buf_fmt(out, ",\"gpus_per_node\":%u", gpus_per_node);
    if (remark.len) {
        buf_z(out, ",\"remark\":");
        buf_json(out, remark);
    }
    buf_z(out, "}\n");
}

static void key_write(struct buf *out, const char *name)
{
    if (out->data[out->len - 1] != '{')
        buf_char(out, ',');
    buf_fmt(out, "\"%s\":", name);
}

static void numbers_write(struct buf *out, const struct number_key *k, const void *from,
                          bool has_gpus)
{
    for (; k->name; k++) {
        int64_t v = number_get(from, k);
        bool milli =
            k->type == TYPE_U32 && k->hi == 1000; /* says nothing without GPUs */
        if (v == k->unset || (milli && !has_gpus))
            continue;
        key_write(out, k->name);
        buf_fmt(out, "%lld", (long long)v);
    }
}

static void types_write(struct buf *out, const struct str *types, uint32_t n)
{
    if (!n)
        return;
    key_write(out, "types");
    for (uint32_t i = 0; i < n; i++) {
        buf_char(out, i ? ',' : '[');
        buf_json(out, types[i]);
    }
    buf_char(out, ']');
}

void jsonl_job(struct buf *out, const struct trace_job *j)
{
    buf_char(out, '{');
    for (const struct text_key *k = job_texts; k->name; k++) {
        const struct str *s =
            (const struct str *)(const void *)((const char *)j + k->at);
        if (!s->len)
            continue;
        key_write(out, k->name);
        buf_json(out, *s);
    }
    numbers_write(out, job_numbers, j, j->gpus > 0);
    if (j->state != TRACE_DONE) {
        key_write(out, "state");
        buf_fmt(out, "\"%s\"", state_names[j->state]);
    }
    types_write(out, j->types, j->ntypes);
    for (uint32_t i = 0; i < j->nparts; i++) {
        if (i == 0)
            key_write(out, "parts");
        buf_z(out, i ? ",{" : "[{");
        numbers_write(out, part_numbers, &j->parts[i], j->parts[i].gpus > 0);
        types_write(out, j->parts[i].types, j->parts[i].ntypes);
        buf_z(out, i + 1 == j->nparts ? "}]" : "}");
    }
    buf_z(out, "}\n");
}

/* --- reading
 * ------------------------------------------------------------------------ */

static int jsonl_open(struct trace *t, struct infile *in, struct err *err)
{
    struct jsonl *s = mem_zero(sizeof *s);
    (void)err;
    t->own = s;
    s->csv = csv_open(in, '\x1f', 0);
    return 0;
}

static void jsonl_close(struct trace *t)
{
    struct jsonl *s = t->own;
    if (!s)
        return;
    csv_close(s->csv);
    json_decref(s->row);
    free(s);
}

/* "file:line:column: 'key' why", the column being the key's. */
static int key_err(const struct jsonl *s, struct str line, const char *key, int code,
                   struct err *err, const char *why)
{
    char quoted[64];
    int n = snprintf(quoted, sizeof quoted, "\"%.40s\"", key);
    const char *at = memmem(line.ptr, line.len, quoted, (size_t)n);
    return err_set(err, code, "%s:%llu:%zu: '%.40s' %s", csv_name(s->csv),
                   (unsigned long long)csv_line(s->csv, 0),
                   at ? (size_t)(at - line.ptr) + 1 : 1, key, why);
}

/* 1: the key is one of the table's and now set; 0: it is not; -errno. */
static int number_read(const struct jsonl *s, struct str line,
                       const struct number_key *k, void *to, const char *key,
                       const json_t *v, struct err *err)
{
    for (; k->name; k++) {
        if (strcmp(k->name, key))
            continue;
        if (!json_is_integer(v))
            return key_err(s, line, key, EINVAL, err, "must be an integer");
        int64_t x = json_integer_value(v);
        if (x < k->lo || x > k->hi)
            return key_err(s, line, key, ERANGE, err, "is out of range");
        number_set(to, k, x);
        return 1;
    }
    return 0;
}

static int text_read(struct trace *t, struct str line, struct trace_job *j,
                     const char *key, const json_t *v, struct err *err)
{
    for (const struct text_key *k = job_texts; k->name; k++) {
        if (strcmp(k->name, key))
            continue;
        if (!json_is_string(v))
            return key_err(t->own, line, key, EINVAL, err, "must be a string");
        struct str text = {json_string_value(v), json_string_length(v)};
        if (k->at == JOB(name) && !text.len)
            return key_err(t->own, line, key, EINVAL, err, "must not be empty");
        *(struct str *)(void *)((char *)j + k->at) = k->passing ? text
                                                                : trace_intern(t, text);
        return 1;
    }
    return 0;
}

static int types_read(struct trace *t, struct str line, const json_t *v,
                      const struct str **ret, uint32_t *ret_n, struct err *err)
{
    size_t n = json_array_size(v);
    char joined[1024];
    size_t len = 0;
    if (!json_is_array(v) || n > TRACE_TYPES_MAX)
        return key_err(t->own, line, "types", EINVAL, err,
                       "must be a list of at most eight");
    for (size_t i = 0; i < n; i++) {
        const json_t *e = json_array_get(v, i);
        size_t add = json_is_string(e) ? json_string_length(e) : 0;
        if (!add || add > 120 || memchr(json_string_value(e), '\n', add))
            return key_err(t->own, line, "types", EINVAL, err, "must hold short names");
        if (i)
            joined[len++] = '\n';
        memcpy(joined + len, json_string_value(e), add);
        len += add;
    }
    struct trace_types list = trace_intern_list(t, (struct str){joined, len}, '\n');
    *ret = list.at;
    *ret_n = list.n;
    return 1;
}

static int state_read(const struct jsonl *s, struct str line, struct trace_job *j,
                      const json_t *v, struct err *err)
{
    int state = json_is_string(v) ? mapping_state(str_of(json_string_value(v))) : -1;
    if (state < 0)
        return key_err(s, line, "state", EINVAL, err, "is none of the states");
    j->state = state;
    return 1;
}

static int part_read(struct trace *t, struct str line, struct trace_part *p, json_t *v,
                     struct err *err)
{
    const char *key;
    json_t *e;
    *p = (struct trace_part){.gpu_milli = 1000};
    if (!json_is_object(v))
        return key_err(t->own, line, "parts", EINVAL, err, "must hold objects");
    json_object_foreach(v, key, e) {
        int rc = number_read(t->own, line, part_numbers, p, key, e, err);
        if (rc == 0 && !strcmp(key, "types"))
            rc = types_read(t, line, e, &p->types, &p->ntypes, err);
        if (rc == 0)
            rc = key_err(t->own, line, key, EINVAL, err, "is not a key of a part");
        if (rc < 0)
            return rc;
    }
    if (!p->gpus)
        p->gpu_milli = 0;
    return 0;
}

static int parts_read(struct trace *t, struct str line, struct trace_job *j,
                      const json_t *v, struct err *err)
{
    struct jsonl *s = t->own;
    size_t n = json_array_size(v);
    if (!json_is_array(v) || n > TRACE_PARTS_MAX)
        return key_err(s, line, "parts", EINVAL, err, "must be a list of at most four");
    for (size_t i = 0; i < n; i++) {
        int rc = part_read(t, line, &s->parts[i], json_array_get(v, i), err);
        if (rc < 0)
            return rc;
    }
    j->parts = s->parts;
    j->nparts = (uint32_t)n;
    return 1;
}

static int job_read(struct trace *t, struct str line, json_t *row, struct trace_job *j,
                    struct err *err)
{
    struct jsonl *s = t->own;
    const char *key;
    json_t *v;
    trace_job_init(t, j);
    j->gpu_milli = 1000;
    json_object_foreach(row, key, v) {
        int rc = number_read(s, line, job_numbers, j, key, v, err);
        if (rc == 0)
            rc = text_read(t, line, j, key, v, err);
        if (rc == 0 && !strcmp(key, "state"))
            rc = state_read(s, line, j, v, err);
        else if (rc == 0 && !strcmp(key, "types"))
            rc = types_read(t, line, v, &j->types, &j->ntypes, err);
        else if (rc == 0 && !strcmp(key, "parts"))
            rc = parts_read(t, line, j, v, err);
        if (rc == 0)
            rc = key_err(s, line, key, EINVAL, err, "is not a key of a job");
        if (rc < 0)
            return rc;
    }
    if (j->submit_us == TRACE_NEVER)
        return key_err(s, line, "submit_us", EINVAL, err, "is missing");
    trace_job_settle(j);
    return 1;
}

static int head_read(struct trace *t, struct str line, const json_t *row,
                     struct err *err)
{
    const json_t *version = json_object_get(row, "muster_trace");
    const json_t *gpus = json_object_get(row, "gpus_per_node");
    const json_t *remark = json_object_get(row, "remark");
    size_t known = 1 + (gpus != NULL) + (remark != NULL);
    if (!json_is_integer(version) || json_integer_value(version) != JSONL_VERSION)
        return key_err(t->own, line, "muster_trace", EINVAL, err, "must be 1");
    if (gpus && (!json_is_integer(gpus) || json_integer_value(gpus) < 0 ||
                 json_integer_value(gpus) > 1024))
        return key_err(t->own, line, "gpus_per_node", EINVAL, err, "must be 0 to 1024");
    if (remark && !json_is_string(remark))
        return key_err(t->own, line, "remark", EINVAL, err, "must be a string");
    if (json_object_size(row) != known)
        return key_err(t->own, line, "muster_trace", EINVAL, err,
                       "stands beside keys that a head does not have");
    t->gpus_per_node = gpus ? (uint32_t)json_integer_value(gpus) : 0;
    if (remark)
        t->remark = arena_str(&t->text, (struct str){json_string_value(remark),
                                                     json_string_length(remark)});
    return 0;
}

/* --- flat lines
 * --------------------------------------------------------------------- */

struct flat {
    const char *p, *end;
    uint32_t next; /* where the key after the last one stands in the tables */
    uint64_t seen; /* keys, by their place in the tables */
};

enum {
    NUMBER_KEYS = sizeof job_numbers / sizeof *job_numbers - 1,
    TEXT_KEYS = sizeof job_texts / sizeof *job_texts - 1,
    STATE_KEY = NUMBER_KEYS + TEXT_KEYS,
    FLAT_KEYS
};

static void flat_blanks(struct flat *f)
{
    while (f->p < f->end && (*f->p == ' ' || *f->p == '\t'))
        f->p++;
}

static bool flat_byte(struct flat *f, char c)
{
    flat_blanks(f);
    if (f->p == f->end || *f->p != c)
        return false;
    f->p++;
    return true;
}

/* A string of printable ASCII without escapes. */
static bool flat_text(struct flat *f, struct str *ret)
{
    if (!flat_byte(f, '"'))
        return false;
    const char *from = f->p;
    while (f->p < f->end && *f->p >= ' ' && *f->p < 0x7f && *f->p != '"' &&
           *f->p != '\\')
        f->p++;
    *ret = (struct str){from, (size_t)(f->p - from)};
    return f->p < f->end && *f->p++ == '"';
}

static bool flat_number(struct flat *f, int64_t *ret)
{
    flat_blanks(f);
    bool minus = f->p < f->end && *f->p == '-';
    const char *from = f->p += minus;
    int64_t v = 0;
    for (; f->p < f->end && *f->p >= '0' && *f->p <= '9' && f->p - from < 18; f->p++)
        v = v * 10 + (*f->p - '0');
    bool good = f->p > from && (*from != '0' || f->p == from + 1);
    bool ended = f->p < f->end && (*f->p == ',' || *f->p == '}' || *f->p == ' ');
    *ret = minus ? -v : v;
    return good && ended;
}

static const char *flat_key_name(uint32_t k)
{
    return k < NUMBER_KEYS ? job_numbers[k].name
           : k < STATE_KEY ? job_texts[k - NUMBER_KEYS].name
                           : "state";
}

/* The key's place, found fast when keys come in the tables' order; FLAT_KEYS:
 * another. */
static uint32_t flat_key(struct flat *f)
{
    struct str name;
    if (!flat_text(f, &name) || !flat_byte(f, ':'))
        return FLAT_KEYS;
    for (uint32_t i = 0; i < FLAT_KEYS; i++) {
        uint32_t k = (f->next + i) % FLAT_KEYS;
        if (str_is(name, flat_key_name(k))) {
            f->next = k + 1;
            return f->seen >> k & 1 ? (uint32_t)FLAT_KEYS : k;
        }
    }
    return FLAT_KEYS;
}

static bool flat_value(struct trace *t, struct flat *f, uint32_t k, struct trace_job *j)
{
    struct str text;
    int64_t v;
    if (k < NUMBER_KEYS) {
        const struct number_key *n = &job_numbers[k];
        if (!flat_number(f, &v) || v < n->lo || v > n->hi)
            return false;
        number_set(j, n, v);
        return true;
    }
    if (!flat_text(f, &text))
        return false;
    if (k == STATE_KEY)
        return (j->state = mapping_state(text)) >= 0;
    const struct text_key *key = &job_texts[k - NUMBER_KEYS];
    if (key->at == JOB(name) && !text.len)
        return false;
    *(struct str *)(void *)((char *)j + key->at) = key->passing ? text
                                                                : trace_intern(t, text);
    return true;
}

/* The job of a flat line; false: it is not flat, *j is then nothing. */
static bool flat_read(struct trace *t, struct str line, struct trace_job *j)
{
    struct flat f = {.p = line.ptr, .end = line.ptr + line.len};
    trace_job_init(t, j);
    j->gpu_milli = 1000;
    if (!flat_byte(&f, '{'))
        return false;
    do {
        uint32_t k = flat_key(&f);
        if (k == FLAT_KEYS || !flat_value(t, &f, k, j))
            return false;
        f.seen |= UINT64_C(1) << k;
    } while (flat_byte(&f, ','));
    if (!flat_byte(&f, '}'))
        return false;
    flat_blanks(&f);
    if (f.p != f.end || j->submit_us == TRACE_NEVER)
        return false;
    trace_job_settle(j);
    return true;
}

/* --- lines
 * -------------------------------------------------------------------------- */

static int line_parse(struct jsonl *s, const struct csv_row *row, struct err *err)
{
    json_error_t why;
    struct str line = row->cells[0];
    if (row->n > 1)
        return trace_cell_err(s->csv, 1, EINVAL, err, "a control character");
    json_decref(s->row);
    s->row = json_loadb(line.ptr, line.len, JSON_REJECT_DUPLICATES, &why);
    if (s->row && json_is_object(s->row))
        return 0;
    return err_set(err, EINVAL, "%s:%llu:%d: %s", csv_name(s->csv),
                   (unsigned long long)row->line,
                   s->row || why.position < 1 ? 1 : why.position,
                   s->row ? "an object is expected" : why.text);
}

static int jsonl_next(struct trace *t, struct trace_job *ret, struct err *err)
{
    struct jsonl *s = t->own;
    struct csv_row row;
    int rc;
    while ((rc = csv_next(s->csv, &row, err)) > 0) {
        trace_row(t);
        if (row.n == 1 && flat_read(t, row.cells[0], ret)) {
            s->begun = true;
            return 1;
        }
        rc = line_parse(s, &row, err);
        if (rc < 0)
            return rc;
        bool head = !s->begun && json_object_get(s->row, "muster_trace");
        s->begun = true;
        if (!head)
            return job_read(t, row.cells[0], s->row, ret, err);
        t->rows = 0; /* the head is no row */
        rc = head_read(t, row.cells[0], s->row, err);
        if (rc < 0)
            return rc;
    }
    return rc;
}

const struct trace_ops trace_jsonl = {"jsonl", jsonl_open, jsonl_next, jsonl_close};
