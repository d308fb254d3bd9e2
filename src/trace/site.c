/* site.c - what a trace's file says of the site beside its jobs
 *
 * Some traces open with a comment line that describes where they come from:
 *
 *     # nodes=1250 queues q0=6413 q1=1380 window=1036800..3456000
 *
 * It is words with blanks between them, most of them NAME=VALUE. The mapping file says which
 * word is the span to measure, behind which word the queues stand, and what the cluster
 * looked like: a cluster file as text, in which $NAME is the value of the head's word NAME.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/site.h"

#include <errno.h>

#include "base/buf.h"
#include "base/units.h"
#include "base/vec.h"
#include "trace/cell.h"

enum { SITE_QUEUES_MAX = 4096, SITE_CLUSTER_MAX = 1 << 16 };

static int text_of(const struct ynode *map, const char *key, struct str *ret,
                   struct err *err)
{
    const struct ynode *n = ynode_get(map, key);
    if (!n)
        return ynode_err(map, EINVAL, err, "lacks '%s'", key);
    return ynode_str(n, ret, err);
}

/* {word: NAME, unit: s} */
static int window_read(struct mapping_site *s, const struct ynode *n, struct err *err)
{
    static const char *const keys[] = {"word", "unit", NULL};
    struct str unit = STR("s");
    int rc = n->kind == YNODE_MAP
                 ? ynode_only(n, keys, err)
                 : ynode_err(n, EINVAL, err, "expected {word: NAME, unit: s}");
    rc = rc ? rc : text_of(n, "word", &s->window, err);
    if (!rc && ynode_get(n, "unit"))
        rc = ynode_str(ynode_get(n, "unit"), &unit, err);
    if (rc)
        return rc;
    s->window_mul = str_is(unit, "us")    ? 1
                    : str_is(unit, "ms")  ? US_PER_MS
                    : str_is(unit, "s")   ? US_PER_S
                    : str_is(unit, "min") ? US_PER_MIN
                    : str_is(unit, "h")   ? US_PER_H
                                          : 0;
    return s->window_mul ? 0
                         : ynode_err(n, EINVAL, err,
                                     "unknown unit '" STR_FMT "': us, ms, s, min, h are known",
                                     STR_ARG(unit));
}

int site_mapping_read(struct mapping_site *s, const struct ynode *root, struct err *err)
{
    static const char *const keys[] = {"window", "queues_after", NULL};
    const struct ynode *head = ynode_get(root, "head"), *y;
    int rc = 0;
    if (head) {
        rc = head->kind == YNODE_MAP
                 ? ynode_only(head, keys, err)
                 : ynode_err(head, EINVAL, err, "expected a table of window and queues_after");
        if (!rc && (y = ynode_get(head, "window")))
            rc = window_read(s, y, err);
        if (!rc && (y = ynode_get(head, "queues_after")))
            rc = ynode_str(y, &s->queues_after, err);
    }
    if (!rc && (y = ynode_get(root, "cluster"))) {
        rc = ynode_str(y, &s->cluster, err);
        if (!rc && s->cluster.len > SITE_CLUSTER_MAX)
            rc = ynode_err(y, EFBIG, err, "a cluster here has at most %d bytes",
                           SITE_CLUSTER_MAX);
    }
    return rc;
}

/* The next word of the line: its name, and its value if it has one (else ptr NULL). */
static bool next_word(struct str *rest, struct str *name, struct str *value)
{
    while (rest->ptr) {
        *name = str_trim(str_cut(rest, ' '));
        if (!name->len)
            continue;
        *value = *name;
        *name = str_cut(value, '=');
        return true;
    }
    return false;
}

static struct str value_of_word(struct str head, struct str wanted)
{
    struct str name, value;
    while (next_word(&head, &name, &value))
        if (value.ptr && str_eq(name, wanted))
            return value;
    return (struct str){NULL, 0};
}

static int read_window(const struct mapping_site *s, struct str head, const char *name,
                       struct trace_site *ret, struct err *err)
{
    struct str all = value_of_word(head, s->window);
    if (!s->window.len || !all.ptr)
        return 0;
    struct str from = all, until = all;
    for (size_t i = 0; i + 1 < all.len; i++) {
        if (all.ptr[i] != '.' || all.ptr[i + 1] != '.')
            continue;
        from.len = i;
        until = (struct str){all.ptr + i + 2, all.len - i - 2};
        break;
    }
    if (from.len == all.len || cell_scaled(from, s->window_mul, &ret->window_from_us) ||
        cell_scaled(until, s->window_mul, &ret->window_until_us) ||
        ret->window_from_us >= ret->window_until_us)
        return err_set(err, EINVAL, "%s: its head says " STR_FMT "=" STR_FMT
                       ", which is no FROM..UNTIL", name, STR_ARG(s->window), STR_ARG(all));
    return 0;
}

static int read_queues(const struct mapping_site *s, struct str head, const char *file,
                       struct arena *a, struct trace_site *ret, struct err *err)
{
    VEC(struct trace_queue) queues = {0};
    struct str name, value;
    bool behind = false;
    int rc = 0;
    while (s->queues_after.len && !rc && next_word(&head, &name, &value)) {
        struct trace_queue q = {.name = name};
        if (!value.ptr || !behind) {
            behind = behind || str_eq(name, s->queues_after);
        } else if (!str_eq(name, s->window)) {
            if (queues.n == SITE_QUEUES_MAX || cell_scaled(value, 1000, &q.gpu_milli) ||
                q.gpu_milli < 0)
                rc = err_set(err, EINVAL, "%s: its head says " STR_FMT "=" STR_FMT
                             ", which is no number of GPUs", file, STR_ARG(name),
                             STR_ARG(value));
            q.name = arena_str(a, name);
            vec_push(&queues, q);
        }
    }
    ret->nqueues = rc ? 0 : queues.n;
    struct trace_queue *own = arena_alloc(a, (queues.n + 1) * sizeof *own);
    if (queues.n)
        memcpy(own, queues.at, queues.n * sizeof *own);
    ret->queues = own;
    vec_done(&queues);
    return rc;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* A word that the head lacks is no mistake before somebody wants the cluster. */
static void read_cluster(const struct mapping_site *s, struct str head, struct arena *a,
                         struct trace_site *ret)
{
    struct buf out = {0};
    for (size_t i = 0; i < s->cluster.len; i++) {
        const char *p = s->cluster.ptr + i;
        size_t n = 0;
        while (*p == '$' && i + 1 + n < s->cluster.len && is_letter(p[1 + n]))
            n++;
        if (!n) {
            buf_char(&out, *p);
            continue;
        }
        struct str word = {p + 1, n}, value = value_of_word(head, word);
        if (!value.ptr && !ret->cluster_lacks.len)
            ret->cluster_lacks = arena_str(a, word);
        buf_str(&out, value);
        i += n;
    }
    ret->cluster = arena_str(a, buf_as_str(&out));
    buf_done(&out);
}

int site_read(const struct mapping_site *s, struct str head, const char *name,
              struct arena *a, struct trace_site *ret, struct err *err)
{
    *ret = (struct trace_site){.window_from_us = TRACE_NEVER, .window_until_us = TRACE_NEVER};
    int rc = read_window(s, head, name, ret, err);
    if (!rc)
        rc = read_queues(s, head, name, a, ret, err);
    if (!rc && s->cluster.len)
        read_cluster(s, head, a, ret);
    return rc;
}
