/* yaml.c - a small YAML file as a tree that remembers where each thing stood
 *
 * libyaml's events become nodes in an arena, with a stack of open containers instead of
 * recursion. What would make a file mean something else than it shows is refused:
 * anchors, aliases, merge keys, tags, several documents, keys that are not scalars, and
 * the same key twice (small maps by comparison, large ones by a hash table). Depth and
 * the number of nodes are capped. A scalar has no type of its own; the typed readers
 * decide, so that "no" or "1e3" mean something only where a reader asks for it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <yaml.h>

#include "base/infile.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"

enum { KEYS_COMPARED_MAX = 16, NAME_LEN_MAX = 64, QUOTE_MAX = 60 };

struct level {
    struct ynode *node; /* an open list or map */
    struct ynode *last; /* its newest child */
    struct ynode *key;  /* map: a key that waits for its value (a scalar node) */
};

struct loader {
    yaml_parser_t parser;
    struct arena *arena;
    const char *file;
    struct str text;
    struct err *err;
    uint32_t nnodes, depth;
    struct ynode *root;
    struct level levels[YAML_DEPTH_MAX];
};

static int fail(struct loader *l, yaml_mark_t at, int code, const char *why)
{
    return err_set(l->err, code, "%s:%zu:%zu: %s", l->file, at.line + 1, at.column + 1,
                   why);
}

/* The mark of a byte, where libyaml gives only its offset; column in bytes. */
static yaml_mark_t mark_of(struct str text, size_t offset)
{
    yaml_mark_t at = {0};
    for (size_t i = 0; i < offset && i < text.len; i++) {
        at.column++;
        if (text.ptr[i] == '\n') {
            at.line++;
            at.column = 0;
        }
    }
    return at;
}

/* libyaml's own message: what, where, and what it was reading. */
static int fail_syntax(struct loader *l)
{
    const yaml_parser_t *p = &l->parser;
    const char *problem = p->problem ? p->problem : "it cannot be read";
    if (p->error == YAML_MEMORY_ERROR)
        return err_set(l->err, ENOMEM, "%s: out of memory", l->file);
    if (p->error == YAML_READER_ERROR)
        return fail(l, mark_of(l->text, p->problem_offset), EINVAL, problem);
    if (!p->context)
        return fail(l, p->problem_mark, EINVAL, problem);
    return err_set(l->err, EINVAL, "%s:%zu:%zu: %s (%s that began in line %zu)",
                   l->file, p->problem_mark.line + 1, p->problem_mark.column + 1,
                   problem, p->context, p->context_mark.line + 1);
}

static struct ynode *node_create(struct loader *l, enum ynode_kind kind, yaml_mark_t at)
{
    struct ynode *n = arena_zero(l->arena, sizeof *n);
    n->kind = kind;
    n->line = (uint32_t)at.line + 1;
    n->column = (uint32_t)at.column + 1;
    n->file = l->file;
    return n;
}

/* Hang n where the parser stands: as the root, a list's item, a map's key or its
 * value. */
static int node_add(struct loader *l, struct ynode *n, yaml_mark_t at)
{
    if (++l->nnodes > YAML_NODES_MAX)
        return fail(l, at, E2BIG, "too many nodes in one file");
    if (l->depth == 0) {
        l->root = n;
        return 0;
    }
    struct level *top = &l->levels[l->depth - 1];
    if (top->node->kind == YNODE_MAP) {
        if (!top->key) {
            if (n->kind != YNODE_SCALAR)
                return fail(l, at, EINVAL, "a key must be a plain word");
            if (!n->quoted && str_is(n->text, "<<"))
                return fail(l, at, EINVAL, "merge keys (<<) are not read here");
            top->key = n;
            return 0;
        }
        n->key = top->key->text;
        n->key_line = top->key->line;
        n->key_column = top->key->column;
        top->key = NULL;
    }
    if (top->last)
        top->last->next = n;
    else
        top->node->first = n;
    top->last = n;
    top->node->n++;
    return 0;
}

static int same_key(struct loader *l, const struct ynode *n)
{
    int len = n->key.len > QUOTE_MAX ? QUOTE_MAX : (int)n->key.len;
    return err_set(l->err, EINVAL,
                   "%s:%u:%u: the key \"%.*s\" stands twice in this map", l->file,
                   n->key_line, n->key_column, len, n->key.ptr);
}

/* No key twice; the error stands at the second one. */
static int keys_check(struct loader *l, const struct ynode *map)
{
    int rc = 0;
    if (map->n <= KEYS_COMPARED_MAX) {
        for (const struct ynode *n = map->first; n; n = n->next)
            for (const struct ynode *m = map->first; m != n; m = m->next)
                if (str_eq(m->key, n->key))
                    return same_key(l, n);
        return 0;
    }
    struct strmap seen = {0};
    for (const struct ynode *n = map->first; n && rc == 0; n = n->next) {
        if (strmap_get(&seen, n->key) != MAP_NONE)
            rc = same_key(l, n);
        else
            strmap_put(&seen, n->key, 0);
    }
    strmap_done(&seen);
    return rc;
}

static int on_scalar(struct loader *l, const yaml_event_t *e)
{
    if (e->data.scalar.anchor)
        return fail(l, e->start_mark, EINVAL, "anchors (&) are not read here");
    if (e->data.scalar.tag)
        return fail(l, e->start_mark, EINVAL, "tags (!) are not read here");
    struct ynode *n = node_create(l, YNODE_SCALAR, e->start_mark);
    n->text = arena_str(l->arena, (struct str){(const char *)e->data.scalar.value,
                                               e->data.scalar.length});
    n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return node_add(l, n, e->start_mark);
}

static int on_open(struct loader *l, enum ynode_kind kind, const yaml_char_t *anchor,
                   const yaml_char_t *tag, yaml_mark_t at)
{
    if (anchor)
        return fail(l, at, EINVAL, "anchors (&) are not read here");
    if (tag)
        return fail(l, at, EINVAL, "tags (!) are not read here");
    if (l->depth == YAML_DEPTH_MAX)
        return fail(l, at, E2BIG, "lists and maps lie too deep in each other");
    struct ynode *n = node_create(l, kind, at);
    int rc = node_add(l, n, at);
    if (rc == 0)
        l->levels[l->depth++] = (struct level){.node = n};
    return rc;
}

static int on_close(struct loader *l)
{
    struct ynode *n = l->levels[--l->depth].node;
    return n->kind == YNODE_MAP ? keys_check(l, n) : 0;
}

/* One event; 1 when the stream is over. */
static int on_event(struct loader *l, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (l->root)
            return fail(l, e->start_mark, EINVAL, "a second document in one file");
        return 0;
    case YAML_ALIAS_EVENT:
        return fail(l, e->start_mark, EINVAL, "aliases (*) are not read here");
    case YAML_SCALAR_EVENT: return on_scalar(l, e);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(l, YNODE_LIST, e->data.sequence_start.anchor,
                       e->data.sequence_start.tag, e->start_mark);
    case YAML_MAPPING_START_EVENT:
        return on_open(l, YNODE_MAP, e->data.mapping_start.anchor,
                       e->data.mapping_start.tag, e->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return on_close(l);
    case YAML_STREAM_END_EVENT: return 1;
    default: return 0;
    }
}

int yaml_parse(const char *name, struct str text, struct arena *a, struct ynode **ret,
               struct err *err)
{
    struct loader l = {.arena = a, .err = err, .text = text};
    l.file = arena_str(a, str_of(name)).ptr;
    if (!yaml_parser_initialize(&l.parser))
        return err_set(err, ENOMEM, "%s: out of memory", l.file);
    yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);
    const char *bytes = text.len ? text.ptr : "";
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)bytes, text.len);
    int rc = 0;
    while (rc == 0) {
        yaml_event_t e;
        if (!yaml_parser_parse(&l.parser, &e)) {
            rc = fail_syntax(&l);
            break;
        }
        rc = on_event(&l, &e);
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&l.parser);
    if (rc < 0)
        return rc;
    if (!l.root)
        return err_set(err, EINVAL, "%s:1:1: there is nothing in it", l.file);
    *ret = l.root;
    return 0;
}

int yaml_load(const char *path, struct arena *a, struct ynode **ret, struct err *err)
{
    struct buf b = {0};
    int rc = infile_slurp(path, YAML_BYTES_MAX, &b, err);
    if (rc == 0)
        rc = yaml_parse(path, buf_as_str(&b), a, ret, err);
    buf_done(&b);
    return rc;
}

struct ynode *ynode_get(const struct ynode *map, const char *key)
{
    if (!map || map->kind != YNODE_MAP)
        return NULL;
    struct str want = str_of(key);
    for (struct ynode *n = map->first; n; n = n->next)
        if (str_eq(n->key, want))
            return n;
    return NULL;
}

int ynode_err(const struct ynode *n, int code, struct err *err, const char *fmt, ...)
{
    if (!err)
        return -code;
    char text[sizeof err->text];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    if (!n)
        return err_set(err, code, "%s", text);
    return err_set(err, code, "%s:%u:%u: %s", n->file, n->line, n->column, text);
}

static uint32_t least(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein's distance, one row at a time; texts beyond NAME_LEN_MAX are far from
 * all. */
static uint32_t distance(struct str a, struct str b)
{
    uint32_t row[NAME_LEN_MAX + 1];
    if (a.len > NAME_LEN_MAX || b.len > NAME_LEN_MAX)
        return UINT32_MAX;
    for (uint32_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (uint32_t i = 1; i <= a.len; i++) {
        uint32_t diagonal = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= b.len; j++) {
            uint32_t up = row[j];
            uint32_t change = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
            row[j] = least(up + 1, row[j - 1] + 1, change);
            diagonal = up;
        }
    }
    return row[b.len];
}

static const char *nearest_key(struct str key, const char *const *keys)
{
    const char *best = NULL;
    uint32_t limit = key.len < 6 ? 2 : (uint32_t)key.len / 3 + 1, best_d = limit + 1;
    for (; *keys; keys++) {
        uint32_t d = distance(key, str_of(*keys));
        if (d < best_d) {
            best_d = d;
            best = *keys;
        }
    }
    return best;
}

static bool is_listed(struct str key, const char *const *keys)
{
    for (; *keys; keys++)
        if (str_is(key, *keys))
            return true;
    return false;
}

int ynode_only(const struct ynode *map, const char *const *keys, struct err *err)
{
    if (map->kind != YNODE_MAP)
        return ynode_err(map, EINVAL, err, "a map of keys is wanted here");
    for (const struct ynode *n = map->first; n; n = n->next) {
        if (is_listed(n->key, keys))
            continue;
        const char *near = nearest_key(n->key, keys);
        int len = n->key.len > QUOTE_MAX ? QUOTE_MAX : (int)n->key.len;
        return err_set(err, EINVAL, "%s:%u:%u: unknown key \"%.*s\"%s%s%s", n->file,
                       n->key_line, n->key_column, len, n->key.ptr,
                       near ? ", did you mean \"" : "", near ? near : "",
                       near ? "\"?" : "");
    }
    return 0;
}

/* What n is called in messages: its key, or "this" in a list. */
static struct str name_of(const struct ynode *n)
{
    struct str s = n->key.len ? n->key : STR("this");
    if (s.len > QUOTE_MAX)
        s.len = QUOTE_MAX;
    return s;
}

static int want(const struct ynode *n, const char *what, struct err *err)
{
    return ynode_err(n, EINVAL, err, STR_FMT " must be %s", STR_ARG(name_of(n)), what);
}

/* Put the place and the name before what a parser of base/units.h said. */
static int place(const struct ynode *n, int rc, struct err *err)
{
    if (rc < 0 && err)
        ynode_err(n, -rc, err, STR_FMT ": %s", STR_ARG(name_of(n)), err->text);
    return rc;
}

int ynode_i64(const struct ynode *n, int64_t lo, int64_t hi, int64_t *ret,
              struct err *err)
{
    int64_t v;
    if (n->kind != YNODE_SCALAR || n->quoted)
        return want(n, "a whole number", err);
    int rc = str_to_i64(n->text, &v);
    if (rc == -EINVAL)
        return want(n, "a whole number", err);
    if (rc < 0 || v < lo || v > hi)
        return ynode_err(n, ERANGE, err, STR_FMT " must be between %lld and %lld",
                         STR_ARG(name_of(n)), (long long)lo, (long long)hi);
    *ret = v;
    return 0;
}

int ynode_bool(const struct ynode *n, bool *ret, struct err *err)
{
    static const char *const yes[] = {"true", "yes", "on", NULL};
    static const char *const no[] = {"false", "no", "off", NULL};
    bool plain = n->kind == YNODE_SCALAR && !n->quoted;
    if (!plain || !(is_listed(n->text, yes) || is_listed(n->text, no)))
        return want(n, "true or false", err);
    *ret = is_listed(n->text, yes);
    return 0;
}

int ynode_duration(const struct ynode *n, int64_t *ret_us, struct err *err)
{
    if (n->kind != YNODE_SCALAR)
        return want(n, "a duration (90s, 1.5h, HH:MM:SS)", err);
    return place(n, duration_parse(n->text, ret_us, err), err);
}

int ynode_size(const struct ynode *n, uint64_t *ret_bytes, struct err *err)
{
    if (n->kind != YNODE_SCALAR)
        return want(n, "a size (64Ki, 80GiB)", err);
    return place(n, size_parse(n->text, ret_bytes, err), err);
}

int ynode_milli(const struct ynode *n, int64_t *ret_milli, struct err *err)
{
    if (n->kind != YNODE_SCALAR)
        return want(n, "an amount (2, 1.5, 500m)", err);
    return place(n, milli_parse(n->text, ret_milli, err), err);
}

int ynode_double(const struct ynode *n, double lo, double hi, double *ret,
                 struct err *err)
{
    double v;
    if (n->kind != YNODE_SCALAR || n->quoted)
        return want(n, "a number", err);
    int rc = str_to_double(n->text, &v);
    if (rc == -EINVAL)
        return want(n, "a number", err);
    if (rc < 0 || v < lo || v > hi)
        return ynode_err(n, ERANGE, err, STR_FMT " must be between %g and %g",
                         STR_ARG(name_of(n)), lo, hi);
    *ret = v;
    return 0;
}

int ynode_str(const struct ynode *n, struct str *ret, struct err *err)
{
    if (n->kind != YNODE_SCALAR)
        return want(n, "one text", err);
    *ret = n->text;
    return 0;
}
