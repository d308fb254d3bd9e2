/* pattern.c - texts of a cluster file with {column} and {000} in them, and the
 * numbering
 *
 * "{vc}-n{000}" over a row with vc = a1 is the text "a1-n" with a number of three
 * digits at its end. Equal texts with equal number places share one counter, so two
 * groups of nodes with one pattern are numbered on, and each virtual cluster from 0. A
 * counter for racks moves on when the rack is full, or when the block changes: a rack
 * never lies in two. SPDX-License-Identifier: Apache-2.0 */
#include "cluster/pattern.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"

#define NUMBER_WIDTH_MAX 9u
#define QUOTE_MAX 60

static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] != '0')
            return false;
    return s.len > 0 && s.len <= NUMBER_WIDTH_MAX;
}

static int column_put(const struct ynode *n, const struct vars *v, struct str name,
                      struct buf *out, struct pattern *p, struct err *err)
{
    int len = name.len > QUOTE_MAX ? QUOTE_MAX : (int)name.len;
    for (uint32_t i = 0; i < v->n; i++)
        if (str_eq(v->names[i], name)) {
            buf_str(out, str_trim(v->cells[i]));
            p->column = i;
            return 0;
        }
    if (!v->n)
        return ynode_err(
            n, EINVAL, err,
            "{%.*s}: a number is written {0} or {000}; columns are only there "
            "under csv",
            len, name.ptr);
    return ynode_err(n, EINVAL, err, "%s has no column \"%.*s\"", csv_name(v->csv), len,
                     name.ptr);
}

/* One brace, *rest at its opening. */
static int brace_put(const struct ynode *n, const struct vars *v, struct str *rest,
                     struct buf *out, struct pattern *p, struct err *err)
{
    const char *close = memchr(rest->ptr, '}', rest->len);
    if (!close)
        return ynode_err(n, EINVAL, err, "an open brace without its end");
    struct str name = {rest->ptr + 1, (size_t)(close - rest->ptr) - 1};
    *rest = (struct str){close + 1, rest->len - name.len - 2};
    if (!is_number(name))
        return column_put(n, v, name, out, p, err);
    if (p->numbered)
        return ynode_err(n, EINVAL, err, "two numbers in one text");
    p->numbered = true;
    p->width = (uint32_t)name.len;
    p->at = (uint32_t)out->len;
    return 0;
}

/* The usual texts, plain ones and "{column}" alone, need no building. */
static bool simple_expand(struct str text, const struct vars *v, struct arena *a,
                          struct pattern *p)
{
    const char *open = memchr(text.ptr, '{', text.len);
    if (!open) {
        p->text = arena_str(a, text);
        return true;
    }
    struct str name = {text.ptr + 1, text.len - 2};
    if (open != text.ptr || memchr(text.ptr, '}', text.len) != text.ptr + text.len - 1)
        return false;
    for (uint32_t i = 0; i < v->n; i++)
        if (str_eq(v->names[i], name) && !is_number(name)) {
            p->text = arena_str(a, str_trim(v->cells[i]));
            p->column = i;
            return true;
        }
    return false;
}

int pattern_expand(const struct ynode *n, const struct vars *v, struct arena *a,
                   struct pattern *ret, struct err *err)
{
    struct str rest;
    struct buf out = {0};
    struct pattern p = {.column = UINT32_MAX};
    int rc = ynode_str(n, &rest, err);
    if (rc == 0 && rest.len && simple_expand(rest, v, a, &p)) {
        *ret = p;
        return 0;
    }
    while (rc == 0 && rest.len) {
        const char *open = memchr(rest.ptr, '{', rest.len);
        size_t plain = open ? (size_t)(open - rest.ptr) : rest.len;
        buf_add(&out, rest.ptr, plain);
        rest = (struct str){rest.ptr + plain, rest.len - plain};
        if (rest.len)
            rc = brace_put(n, v, &rest, &out, &p, err);
    }
    if (rc == 0) {
        p.text = arena_str(a, buf_as_str(&out));
        *ret = p;
    }
    buf_done(&out);
    return rc;
}

struct str pattern_text(const struct pattern *p, uint32_t number, struct arena *a)
{
    if (!p->numbered)
        return arena_str(a, p->text);
    char digits[16];
    int nd = snprintf(digits, sizeof digits, "%0*u", (int)p->width, number);
    size_t len = p->text.len + (size_t)nd;
    char *to = arena_alloc(a, len + 1);
    memcpy(to, p->text.ptr, p->at);
    memcpy(to + p->at, digits, (size_t)nd);
    memcpy(to + p->at + nd, p->text.ptr + p->at, p->text.len - p->at);
    to[len] = 0;
    return (struct str){to, len};
}

int pattern_err(const struct ynode *n, const struct vars *v, const struct pattern *p,
                int code, struct err *err, const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!p || p->column == UINT32_MAX || !v->csv)
        return ynode_err(n, code, err, "%s", text);
    return err_set(err, code, "%s:%llu:%u: %s", csv_name(v->csv),
                   (unsigned long long)csv_line(v->csv, p->column),
                   csv_column(v->csv, p->column), text);
}

uint32_t fills_find(struct fills *f, struct str of, const struct pattern *p)
{
    size_t room = sizeof p->at + of.len + 1 + p->text.len;
    char *key = arena_alloc(&f->arena, room), *at = key + sizeof p->at;
    memcpy(key, &p->at, sizeof p->at);
    if (of.len)
        memcpy(at, of.ptr, of.len);
    at[of.len] = '\0'; /* in no name: "ab" of "c" is not "a" of "bc" */
    if (p->text.len)
        memcpy(at + of.len + 1, p->text.ptr, p->text.len);
    struct str k = {key, room};
    uint32_t i = strmap_get(&f->at, k);
    if (i != MAP_NONE)
        return i;
    vec_push(&f->list, (struct fill){.parent = STR("")});
    strmap_put(&f->at, k, f->list.n - 1);
    return f->list.n - 1;
}

uint32_t fills_next(struct fills *f, uint32_t counter, uint32_t per, struct str parent)
{
    struct fill *l = &f->list.at[counter];
    bool moved = !str_eq(l->parent, parent);
    if (l->used && (l->used >= per || moved)) {
        l->number++;
        l->used = 0;
    }
    if (moved)
        l->parent = arena_str(&f->arena, parent);
    l->used++;
    return l->number;
}

void fills_done(struct fills *f)
{
    vec_done(&f->list);
    strmap_done(&f->at);
    arena_done(&f->arena);
}
