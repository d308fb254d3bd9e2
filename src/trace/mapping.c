/* mapping.c - reads mapping files
 *
 * A mapping is a table of fields (below) over a table of units. The YAML tree is
 * checked key by key, so that each mistake names its line; what comes out needs no
 * further checks while rows are read. Field rows have a kind, the kind decides which
 * units fit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/mapping.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/yaml.h"
#include "trace/cell.h"
#include "trace/site.h"

enum field_kind {
    KIND_TEXT = 0, KIND_TIME, KIND_SPAN, KIND_COUNT, KIND_GPUS, KIND_CPU, KIND_BYTES,
    KIND_STATE, KIND_TYPES
};

static const struct {
    const char *name;
    enum field_kind kind;
} fields[FIELDS] = {
    [FIELD_NAME] = {"name", KIND_TEXT},
    [FIELD_USER] = {"user", KIND_TEXT},
    [FIELD_QUEUE] = {"queue", KIND_TEXT},
    [FIELD_NEED_LEVEL] = {"need_level", KIND_TEXT},
    [FIELD_NODE_LIST] = {"node_list", KIND_TEXT},
    [FIELD_SUBMIT] = {"submit", KIND_TIME},
    [FIELD_ELIGIBLE] = {"eligible", KIND_TIME},
    [FIELD_START] = {"start", KIND_TIME},
    [FIELD_END] = {"end", KIND_TIME},
    [FIELD_RUN] = {"run", KIND_SPAN},
    [FIELD_WAIT] = {"wait", KIND_SPAN},
    [FIELD_LIMIT] = {"limit", KIND_SPAN},
    [FIELD_PRIORITY] = {"priority", KIND_COUNT},
    [FIELD_NODES] = {"nodes", KIND_COUNT},
    [FIELD_GPUS] = {"gpus", KIND_GPUS},
    [FIELD_GPU_MILLI] = {"gpu_milli", KIND_GPUS},
    [FIELD_GPU_MEM] = {"gpu_mem", KIND_BYTES},
    [FIELD_CPU] = {"cpu", KIND_CPU},
    [FIELD_MEM] = {"mem", KIND_BYTES},
    [FIELD_STATE] = {"state", KIND_STATE},
    [FIELD_TYPES] = {"types", KIND_TYPES},
};

#define FITS(kind) (1u << (kind))
#define FITS_TIMES (FITS(KIND_TIME) | FITS(KIND_SPAN))
#define FITS_MILLI (FITS(KIND_GPUS) | FITS(KIND_CPU))

static const struct unit {
    const char *name;
    uint32_t fits;
    uint8_t how;
    int64_t mul;
} units[] = {
    {"us", FITS_TIMES, HOW_SCALED, 1},
    {"ms", FITS_TIMES, HOW_SCALED, 1000},
    {"s", FITS_TIMES, HOW_SCALED, US_PER_S},
    {"min", FITS_TIMES, HOW_SCALED, US_PER_MIN},
    {"h", FITS_TIMES, HOW_SCALED, US_PER_H},
    {"days", FITS_TIMES, HOW_SCALED, US_PER_DAY},
    {"datetime", FITS(KIND_TIME), HOW_DATETIME, 1},
    {"clock", FITS(KIND_SPAN), HOW_CLOCK, 1},
    {"milli", FITS_MILLI, HOW_SCALED, 1},
    {"percent", FITS_MILLI, HOW_SCALED, 10},
    {"gpus", FITS(KIND_GPUS), HOW_SCALED, 1000},
    {"cores", FITS(KIND_CPU), HOW_SCALED, 1000},
    {"count", FITS(KIND_COUNT), HOW_SCALED, 1},
    {"B", FITS(KIND_BYTES), HOW_SCALED, 1},
    {"KiB", FITS(KIND_BYTES), HOW_SCALED, INT64_C(1) << 10},
    {"MiB", FITS(KIND_BYTES), HOW_SCALED, INT64_C(1) << 20},
    {"GiB", FITS(KIND_BYTES), HOW_SCALED, INT64_C(1) << 30},
    {"TiB", FITS(KIND_BYTES), HOW_SCALED, INT64_C(1) << 40},
    {"KB", FITS(KIND_BYTES), HOW_SCALED, 1000},
    {"MB", FITS(KIND_BYTES), HOW_SCALED, 1000000},
    {"GB", FITS(KIND_BYTES), HOW_SCALED, 1000000000},
};

/* The unit that a kind has when the mapping names none. */
static const char *const unit_presets[KIND_TYPES + 1] = {
    [KIND_TIME] = "s", [KIND_SPAN] = "s", [KIND_COUNT] = "count", [KIND_GPUS] = "gpus",
    [KIND_CPU] = "cores", [KIND_BYTES] = "B"};

static const char *const state_names[] = {
    [TRACE_DONE] = "done", [TRACE_FAILED] = "failed", [TRACE_CANCELLED] = "cancelled",
    [TRACE_TIMEOUT] = "timeout", [TRACE_LOST] = "lost", [TRACE_PREEMPTED] = "preempted",
    [TRACE_PENDING] = "pending", [TRACE_RUNNING] = "running"};

const char *mapping_field_name(int field)
{
    return fields[field].name;
}

int mapping_state(struct str word)
{
    for (uint32_t i = 0; i < sizeof state_names / sizeof *state_names; i++)
        if (str_is(word, state_names[i]))
            return (int)i;
    return -1;
}

static int unit_set(struct mapping_column *c, enum field_kind kind,
                    const struct ynode *n, const char *name, struct err *err)
{
    struct str text = name ? str_of(name) : n->text;
    for (uint32_t i = 0; i < sizeof units / sizeof *units; i++)
        if (str_is(text, units[i].name)) {
            if (!(units[i].fits & FITS(kind)))
                return ynode_err(n, EINVAL, err, "unit '%s' does not fit this field",
                                 units[i].name);
            c->how = units[i].how;
            c->mul = units[i].mul;
            return 0;
        }
    char allowed[200] = "";
    size_t len = 0;
    for (uint32_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].fits & FITS(kind) && len < sizeof allowed)
            len += (size_t)snprintf(allowed + len, sizeof allowed - len, "%s%s",
                                    len ? ", " : "", units[i].name);
    return ynode_err(n, EINVAL, err, "unknown unit '" STR_FMT "': here %s are known",
                     STR_ARG(text), allowed);
}

static int scalar(const struct ynode *n, struct str *ret, struct err *err)
{
    if (n->kind != YNODE_SCALAR)
        return ynode_err(n, EINVAL, err, "a single value is expected");
    *ret = n->text;
    return 0;
}

/* One value as a cell would hold it, through the column's own unit. */
static int value_of(struct mapping_column *c, enum field_kind kind,
                    const struct ynode *n, int64_t *ret, struct err *err)
{
    struct str s = {0};
    struct cell_day day = {0};
    int rc = scalar(n, &s, err);
    if (rc < 0)
        return rc;
    if (kind == KIND_STATE) {
        int state = mapping_state(s);
        if (state < 0)
            return ynode_err(n, EINVAL, err,
                             "'" STR_FMT "' is not a state (done, failed, "
                             "cancelled, timeout, lost, preempted, pending, running)",
                             STR_ARG(s));
        *ret = state;
        return 0;
    }
    if (c->how == HOW_DATETIME)
        rc = cell_time(s, &day, ret);
    else if (c->how == HOW_CLOCK)
        rc = cell_clock(s, ret);
    else
        rc = cell_scaled(s, c->mul, ret);
    if (rc < 0)
        return ynode_err(n, -rc, err, "'" STR_FMT "' does not fit the unit",
                         STR_ARG(s));
    return 0;
}

static bool kind_is_text(enum field_kind kind)
{
    return kind == KIND_TEXT || kind == KIND_TYPES;
}

static int words_read(struct mapping *m, struct mapping_column *c, enum field_kind kind,
                      const struct ynode *n, struct err *err)
{
    if (n->kind != YNODE_MAP || !n->n)
        return ynode_err(n, EINVAL, err, "words must be a table of word: meaning");
    struct mapping_word *w = arena_zero(&m->arena, n->n * sizeof *w);
    for (const struct ynode *e = n->first; e; e = e->next, w++) {
        w->from = e->key;
        int rc = kind_is_text(kind) ? scalar(e, &w->text, err)
                                    : value_of(c, kind, e, &w->value, err);
        if (rc < 0)
            return rc;
        strmap_put(&c->word_ids, w->from, c->nwords++);
    }
    c->words = w - n->n;
    if (!kind_is_text(kind))
        c->how = HOW_WORD;
    return 0;
}

/* `default:` or `constant:`. */
static int preset_read(struct mapping_column *c, enum field_kind kind,
                       const struct ynode *n, struct err *err)
{
    c->has_preset = true;
    return kind_is_text(kind) ? scalar(n, &c->preset_text, err)
                              : value_of(c, kind, n, &c->preset, err);
}

static int per_read(struct mapping_column *c, const struct ynode *n, struct err *err)
{
    struct str s = {0};
    int rc = scalar(n, &s, err);
    if (rc < 0)
        return rc;
    if (!str_is(s, "task") && !str_is(s, "job"))
        return ynode_err(n, EINVAL, err, "per must be task or job");
    c->per_task = str_is(s, "task");
    return 0;
}

static int separator_read(struct mapping_column *c, const struct ynode *n,
                          struct err *err)
{
    struct str s = {0};
    int rc = scalar(n, &s, err);
    if (rc == 0 && s.len != 1)
        rc = ynode_err(n, EINVAL, err, "a separator is one byte");
    if (rc == 0)
        c->separator = s.ptr[0];
    return rc;
}

static int column_from_map(struct mapping *m, struct mapping_column *c,
                           enum field_kind kind, const struct ynode *n, struct err *err)
{
    static const char *const keys[] = {"column",   "constant", "default",   "unit",
                                       "optional", "per",      "separator", "words",
                                       "other",    NULL};
    const struct ynode *y;
    int rc = ynode_only(n, keys, err);
    if (rc == 0 && (y = ynode_get(n, "column")))
        rc = scalar(y, &c->column, err);
    if (rc == 0 && kind_is_text(kind))
        c->how = HOW_TEXT;
    y = ynode_get(n, "unit");
    if (rc == 0 && y)
        rc = y->kind == YNODE_SCALAR ? unit_set(c, kind, y, NULL, err)
                                     : ynode_err(y, EINVAL, err, "a unit is one word");
    else if (rc == 0 && unit_presets[kind])
        rc = unit_set(c, kind, n, unit_presets[kind], err);
    if (rc == 0 && (y = ynode_get(n, "constant")))
        rc = c->column.len ? ynode_err(y, EINVAL, err, "either column or constant")
                           : preset_read(c, kind, y, err);
    if (rc == 0 && (y = ynode_get(n, "default")))
        rc = preset_read(c, kind, y, err);
    if (rc == 0 && (y = ynode_get(n, "other"))) {
        rc = preset_read(c, kind, y, err);
        c->other_ok = true;
    }
    if (rc == 0 && (y = ynode_get(n, "optional")))
        rc = ynode_bool(y, &c->optional, err);
    if (rc == 0 && (y = ynode_get(n, "per")))
        rc = per_read(c, y, err);
    if (rc == 0 && (y = ynode_get(n, "separator")))
        rc = separator_read(c, y, err);
    if (rc == 0 && (y = ynode_get(n, "words")))
        rc = words_read(m, c, kind, y, err);
    if (rc == 0 && !c->column.len && !ynode_get(n, "constant"))
        rc = ynode_err(n, EINVAL, err, "needs a column or a constant");
    if (rc == 0 && kind == KIND_STATE && c->column.len && !c->nwords)
        rc = ynode_err(n, EINVAL, err, "a state needs words");
    c->used = rc == 0;
    return rc;
}

/* `field: column` is short for `field: {column: column}`. */
static int column_read(struct mapping *m, struct mapping_column *c,
                       enum field_kind kind, const struct ynode *n, struct err *err)
{
    if (n->kind == YNODE_MAP)
        return column_from_map(m, c, kind, n, err);
    int rc = scalar(n, &c->column, err);
    if (rc == 0 && !c->column.len)
        rc = ynode_err(n, EINVAL, err, "needs a column");
    if (rc == 0 && kind == KIND_STATE)
        rc = ynode_err(n, EINVAL, err, "a state needs words");
    if (rc == 0 && kind_is_text(kind))
        c->how = HOW_TEXT;
    else if (rc == 0)
        rc = unit_set(c, kind, n, unit_presets[kind], err);
    c->used = rc == 0;
    return rc;
}

static int fields_read(struct mapping *m, const struct ynode *n, struct err *err)
{
    const char *names[FIELDS + 2] = {0};
    if (n->kind != YNODE_MAP)
        return ynode_err(n, EINVAL, err, "fields must be a table");
    for (int i = 0; i < FIELDS; i++)
        names[i] = fields[i].name;
    names[FIELDS] = "need_tag";
    int rc = ynode_only(n, names, err);
    for (int i = 0; i < FIELDS && rc == 0; i++) {
        const struct ynode *y = ynode_get(n, fields[i].name);
        if (y)
            rc = column_read(m, &m->fields[i], fields[i].kind, y, err);
        if (y && rc < 0)
            return rc;
    }
    const struct ynode *tag = ynode_get(n, "need_tag");
    if (rc == 0 && tag)
        rc = scalar(tag, &m->need_tag, err);
    if (rc == 0 && !m->fields[FIELD_SUBMIT].used)
        rc = ynode_err(n, EINVAL, err, "fields must say where submit is");
    return rc;
}

static int keep_set_read(struct mapping_keep *k, const struct ynode *n, struct err *err)
{
    if (n->kind != YNODE_LIST || !n->n)
        return ynode_err(n, EINVAL, err, "a list of words is expected");
    for (const struct ynode *e = n->first; e; e = e->next) {
        struct str s;
        int rc = scalar(e, &s, err);
        if (rc < 0)
            return rc;
        strmap_put(&k->set, s, 1);
    }
    return 0;
}

static int keep_range_read(struct mapping_keep *k, const struct ynode *n,
                           struct err *err)
{
    const struct ynode *from = ynode_get(n, "from"), *to = ynode_get(n, "to");
    const struct ynode *unit = ynode_get(n, "unit");
    enum field_kind kind = unit ? KIND_TIME : KIND_COUNT;
    int rc =
        unit && unit->kind != YNODE_SCALAR
            ? ynode_err(unit, EINVAL, err, "a unit is one word")
            : unit_set(&k->from, kind, unit ? unit : n, unit ? NULL : "count", err);
    k->is_range = true;
    k->lo = INT64_MIN;
    k->hi = INT64_MAX;
    if (rc == 0 && from)
        rc = value_of(&k->from, kind, from, &k->lo, err);
    if (rc == 0 && to)
        rc = value_of(&k->from, kind, to, &k->hi, err);
    if (rc == 0 && k->lo > k->hi)
        rc = ynode_err(n, EINVAL, err, "the range runs backward");
    return rc;
}

static int keep_read(struct mapping_keep *k, const struct ynode *n, struct err *err)
{
    static const char *const keys[] = {"column", "unit", "in", "notin",
                                       "from",   "to",   NULL};
    if (n->kind != YNODE_MAP)
        return ynode_err(n, EINVAL, err, "a rule is a table with a column");
    int rc = ynode_only(n, keys, err);
    const struct ynode *column = ynode_get(n, "column");
    const struct ynode *in = ynode_get(n, "in"), *notin = ynode_get(n, "notin");
    bool range = ynode_get(n, "from") || ynode_get(n, "to");
    if (rc == 0 && !column)
        rc = ynode_err(n, EINVAL, err, "a rule needs a column");
    if (rc == 0)
        rc = scalar(column, &k->from.column, err);
    if (rc == 0 && (in != NULL) + (notin != NULL) + range != 1)
        rc = ynode_err(n, EINVAL, err, "a rule has one of in, notin, from and to");
    if (rc < 0)
        return rc;
    k->from.used = true;
    k->not_in = notin != NULL;
    return range ? keep_range_read(k, n, err) : keep_set_read(k, in ? in : notin, err);
}

static int keeps_read(struct mapping *m, const struct ynode *n, struct err *err)
{
    if (n->kind != YNODE_LIST)
        return ynode_err(n, EINVAL, err, "keep must be a list of rules");
    if (n->n > MAPPING_KEEPS_MAX)
        return ynode_err(n, ERANGE, err, "more than %d rules", MAPPING_KEEPS_MAX);
    for (const struct ynode *e = n->first; e; e = e->next) {
        int rc = keep_read(&m->keeps[m->nkeeps++], e, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int texts_read(struct mapping *m, const struct ynode *n, uint32_t max,
                      const struct str **ret, uint32_t *ret_n, struct err *err)
{
    if (n->kind != YNODE_LIST || n->n > max)
        return ynode_err(n, EINVAL, err, "a list of at most %u texts is expected", max);
    struct str *s = arena_zero(&m->arena, (n->n + 1) * sizeof *s);
    uint32_t i = 0;
    for (const struct ynode *e = n->first; e; e = e->next, i++) {
        int rc = scalar(e, &s[i], err);
        if (rc < 0)
            return rc;
    }
    *ret = s;
    *ret_n = i;
    return 0;
}

/* One byte; "tab", "unit" (0x1f) and "none" by name. */
static int byte_read(const struct ynode *n, char *ret, struct err *err)
{
    struct str s = {0};
    int rc = scalar(n, &s, err);
    if (rc < 0)
        return rc;
    if (str_is(s, "tab"))
        *ret = '\t';
    else if (str_is(s, "unit"))
        *ret = '\x1f';
    else if (str_is(s, "none"))
        *ret = 0;
    else if (s.len == 1 && s.ptr[0] != '\n' && s.ptr[0] != '\r' && s.ptr[0])
        *ret = s.ptr[0];
    else
        return ynode_err(n, EINVAL, err, "one byte is expected, or tab, unit, none");
    return 0;
}

static int layout_read(struct mapping *m, const struct ynode *root, struct err *err)
{
    const struct ynode *y;
    const struct str *missing = NULL;
    int64_t n = 0;
    int rc = 0;
    m->delim = ',';
    m->quote = '"';
    m->header = true;
    m->nmissing = 1; /* the empty cell */
    if ((y = ynode_get(root, "delimiter")))
        rc = byte_read(y, &m->delim, err);
    if (rc == 0 && !m->delim)
        rc = ynode_err(y, EINVAL, err, "a delimiter is needed");
    if (rc == 0 && (y = ynode_get(root, "quote")))
        rc = byte_read(y, &m->quote, err);
    if (rc == 0 && m->quote == m->delim)
        rc = ynode_err(root, EINVAL, err, "quote and delimiter are the same");
    if (rc == 0 && (y = ynode_get(root, "header")))
        rc = ynode_bool(y, &m->header, err);
    if (rc == 0 && (y = ynode_get(root, "comment")))
        rc = scalar(y, &m->comment, err);
    if (rc == 0 && (y = ynode_get(root, "columns")))
        rc = texts_read(m, y, MAPPING_COLUMNS_MAX, &m->columns, &m->ncolumns, err);
    if (rc == 0 && m->header == (m->ncolumns > 0))
        rc = ynode_err(root, EINVAL, err, "columns belong to files without a header");
    if (rc == 0 && (y = ynode_get(root, "recognise")))
        rc = texts_read(m, y, 64, &m->recognise, &m->nrecognise, err);
    if (rc == 0 && (y = ynode_get(root, "missing")))
        rc = texts_read(m, y, MAPPING_MISSING_MAX, &missing, &m->nmissing, err);
    if (missing)
        memcpy(m->missing, missing, m->nmissing * sizeof *missing);
    if (rc == 0 && (y = ynode_get(root, "gpus_per_node")))
        rc = ynode_i64(y, 0, 1024, &n, err);
    m->gpus_per_node = (uint32_t)n;
    return rc;
}

static int mapping_read(struct mapping *m, const struct ynode *root, struct err *err)
{
    static const char *const keys[] = {
        "name",    "about",   "delimiter", "quote",   "header",
        "comment", "columns", "recognise", "missing", "gpus_per_node",
        "fields",  "keep",    "head",      "cluster", NULL};
    const struct ynode *y;
    struct str name = {0};
    if (root->kind != YNODE_MAP)
        return ynode_err(root, EINVAL, err,
                         "a mapping is a table with name and fields");
    int rc = ynode_only(root, keys, err);
    if (rc < 0)
        return rc;
    if (!(y = ynode_get(root, "name")))
        return ynode_err(root, EINVAL, err, "a mapping needs a name");
    if ((rc = scalar(y, &name, err)) < 0)
        return rc;
    if (!name.len || name.len >= sizeof m->name || memchr(name.ptr, 0, name.len))
        return ynode_err(y, EINVAL, err, "a name has 1 to 31 bytes");
    memcpy(m->name, name.ptr, name.len);
    if ((rc = layout_read(m, root, err)) < 0)
        return rc;
    if (!(y = ynode_get(root, "fields")))
        return ynode_err(root, EINVAL, err, "a mapping needs fields");
    if ((rc = fields_read(m, y, err)) < 0)
        return rc;
    y = ynode_get(root, "keep");
    if (y && (rc = keeps_read(m, y, err)) < 0)
        return rc;
    return site_mapping_read(&m->site, root, err);
}

void mapping_free(struct mapping *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->nkeeps; i++)
        strmap_done(&m->keeps[i].set);
    for (int i = 0; i < FIELDS; i++)
        strmap_done(&m->fields[i].word_ids);
    arena_done(&m->arena);
    free(m);
}

int mapping_parse(struct mapping **ret, const char *name, struct str text,
                  struct err *err)
{
    struct mapping *m = mem_zero(sizeof *m);
    struct ynode *root;
    int rc = yaml_parse(name, text, &m->arena, &root, err);
    if (rc == 0)
        rc = mapping_read(m, root, err);
    if (rc < 0)
        mapping_free(m);
    else
        *ret = m;
    return rc;
}

int mapping_load(struct mapping **ret, const char *path, struct err *err)
{
    struct mapping *m = mem_zero(sizeof *m);
    struct ynode *root;
    int rc = yaml_load(path, &m->arena, &root, err);
    if (rc == 0)
        rc = mapping_read(m, root, err);
    if (rc < 0)
        mapping_free(m);
    else
        *ret = m;
    return rc;
}
