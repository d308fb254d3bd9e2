/* fault.c - recorded node faults
 *
 * Events come in time order. An end belongs to the oldest open fault of its node that
 * has the same type, else to the oldest open one: a node can have two faults at once
 * (it happens twice in the InfiniteHBD trace). O(events x open faults of a node).
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/fault.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/infile.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"

enum { JSON_BYTES_MAX = 256 << 20, TOP_NODES = 20, NONE = -1 };

#define DAYS_MAX 1e6

struct reading {
    struct fault_list list;
    struct strmap node_ids;
    VEC(int32_t) first_open; /* by node: index of its oldest open fault, NONE */
    VEC(int32_t) next_open;  /* by fault: the next younger one of the node */
    const char *name;
};

static int bad(const struct reading *r, size_t event, struct err *err, const char *why)
{
    return err_set(err, EINVAL, "%s: event %zu: %s", r->name, event + 1, why);
}

static struct str member(struct reading *r, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_string(v))
        return (struct str){NULL, 0};
    return arena_str(&r->list.text,
                     (struct str){json_string_value(v), json_string_length(v)});
}

static uint32_t node_id(struct reading *r, struct str name)
{
    uint32_t id = strmap_get(&r->node_ids, name);
    if (id != MAP_NONE)
        return id;
    id = r->list.nodes.n;
    vec_push(&r->list.nodes, name);
    vec_push(&r->first_open, NONE);
    strmap_put(&r->node_ids, name, id);
    return id;
}

static bool same_type(const struct fault *a, const struct fault *b)
{
    return str_eq(a->level, b->level) && str_eq(a->class_, b->class_) &&
           str_eq(a->what, b->what);
}

static void fault_begin(struct reading *r, const struct fault *f)
{
    int32_t *at = &r->first_open.at[f->node];
    while (*at != NONE)
        at = &r->next_open.at[*at];
    *at = (int32_t)r->list.faults.n;
    vec_push(&r->list.faults, *f);
    vec_push(&r->next_open, NONE);
}

/* false: nothing is open on that node. */
static bool fault_end(struct reading *r, const struct fault *f)
{
    int32_t *oldest = &r->first_open.at[f->node], *at = oldest;
    if (*oldest == NONE)
        return false;
    while (*at != NONE && !same_type(&r->list.faults.at[*at], f))
        at = &r->next_open.at[*at];
    if (*at == NONE)
        at = oldest;
    r->list.faults.at[*at].end_us = f->start_us;
    *at = r->next_open.at[*at];
    return true;
}

static int event_read(struct reading *r, size_t i, const json_t *e, struct err *err)
{
    const json_t *time = json_object_get(e, "event_time");
    const json_t *type = json_object_get(e, "fault_type");
    const char *what = json_string_value(json_object_get(e, "event_type"));
    struct str node = member(r, e, "node_id");
    if (!node.len)
        return bad(r, i, err, "no node_id");
    double days = json_number_value(time);
    if (!json_is_number(time) || !(days >= 0 && days < DAYS_MAX))
        return bad(r, i, err, "event_time is not a number of days");
    bool begin = what && !strcmp(what, "fault_start");
    if (!begin && (!what || strcmp(what, "fault_end")))
        return bad(r, i, err, "event_type is neither fault_start nor fault_end");
    struct fault f = {.start_us = llround(days * (double)US_PER_DAY),
                      .end_us = FAULT_OPEN,
                      .level = member(r, type, "Level"),
                      .class_ = member(r, type, "Class"),
                      .what = member(r, type, "Desc")};
    if (!f.level.ptr || !f.class_.ptr || !f.what.ptr)
        return bad(r, i, err, "fault_type lacks Level, Class or Desc");
    if (f.start_us < r->list.last_us)
        return bad(r, i, err, "event_time goes back");
    r->list.last_us = f.start_us;
    f.node = node_id(r, node);
    if (begin)
        fault_begin(r, &f);
    else if (!fault_end(r, &f))
        return bad(r, i, err, "a fault ends on a node that has none");
    return 0;
}

int fault_parse(struct fault_list *ret, const char *name, struct str json,
                struct err *err)
{
    struct reading r = {.name = name};
    json_error_t why;
    json_t *root =
        json_loadb(json.ptr ? json.ptr : "", json.len, JSON_REJECT_DUPLICATES, &why);
    int rc = 0;
    if (!root)
        return err_set(err, EINVAL, "%s:%d:%d: %s", name, why.line, why.column,
                       why.text);
    if (!json_is_array(root))
        rc = err_set(err, EINVAL, "%s:1:1: a list of events is expected", name);
    for (size_t i = 0; rc == 0 && i < json_array_size(root); i++)
        rc = event_read(&r, i, json_array_get(root, i), err);
    json_decref(root);
    strmap_done(&r.node_ids);
    vec_done(&r.first_open);
    vec_done(&r.next_open);
    if (rc < 0)
        fault_list_done(&r.list);
    else
        *ret = r.list;
    return rc;
}

int fault_load(struct fault_list *ret, const char *path, struct err *err)
{
    struct buf b = {0};
    int rc = infile_slurp(path, JSON_BYTES_MAX, &b, err);
    if (rc >= 0)
        rc = fault_parse(ret, path, buf_as_str(&b), err);
    buf_done(&b);
    return rc;
}

void fault_list_done(struct fault_list *l)
{
    vec_done(&l->faults);
    vec_done(&l->nodes);
    arena_done(&l->text);
    *l = (struct fault_list){0};
}

/* --- statistics
 * --------------------------------------------------------------------- */

static int order_i64(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

static int order_class(const void *pa, const void *pb)
{
    const struct fault_class *a = pa, *b = pb;
    if (a->n != b->n)
        return a->n < b->n ? 1 : -1;
    int c = str_cmp(a->level, b->level);
    return c ? c : str_cmp(a->class_, b->class_);
}

static int64_t quantile(const int64_t *sorted, uint32_t n, double q)
{
    return n ? sorted[(uint32_t)(q * (n - 1))] : 0;
}

/* Repair times of one class (level ptr NULL: of all), ascending; returns how many. */
static uint32_t repairs(const struct fault_list *l, struct str level, struct str class_,
                        int64_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->faults.n; i++) {
        const struct fault *f = &l->faults.at[i];
        if (f->end_us != FAULT_OPEN && (!level.ptr || (str_eq(f->level, level) &&
                                                       str_eq(f->class_, class_))))
            out[n++] = f->end_us - f->start_us;
    }
    if (n)
        qsort(out, n, sizeof *out, order_i64);
    return n;
}

static void classes_count(const struct fault_list *l, struct fault_stats *s,
                          int64_t *room)
{
    for (uint32_t i = 0; i < l->faults.n; i++) {
        const struct fault *f = &l->faults.at[i];
        uint32_t k = 0;
        while (k < s->classes.n && !(str_eq(s->classes.at[k].level, f->level) &&
                                     str_eq(s->classes.at[k].class_, f->class_)))
            k++;
        if (k == s->classes.n)
            vec_push(&s->classes, (struct fault_class){f->level, f->class_, 0, 0});
        s->classes.at[k].n++;
    }
    for (uint32_t k = 0; k < s->classes.n; k++) {
        struct fault_class *c = &s->classes.at[k];
        uint32_t n = repairs(l, c->level, c->class_, room);
        c->repair_p50_us = quantile(room, n, 0.5);
    }
    if (s->classes.n)
        qsort(s->classes.at, s->classes.n, sizeof *s->classes.at, order_class);
}

static void nodes_count(const struct fault_list *l, struct fault_stats *s)
{
    int64_t *count = mem_zero((l->nodes.n + 1) * sizeof *count);
    for (uint32_t i = 0; i < l->faults.n; i++)
        count[l->faults.at[i].node]++;
    qsort(count, l->nodes.n, sizeof *count, order_i64);
    for (uint32_t i = 0; i < l->nodes.n; i++) {
        s->nodes_hit += count[i] > 0;
        if (i + TOP_NODES >= l->nodes.n)
            s->top20_faults += (uint32_t)count[i];
    }
    free(count);
}

void fault_stats(const struct fault_list *l, uint32_t nodes, int64_t span_us,
                 struct fault_stats *ret)
{
    struct fault_stats s = {.faults = l->faults.n};
    int64_t *room = mem_alloc((l->faults.n + 1) * sizeof *room);
    uint32_t n = repairs(l, (struct str){0}, (struct str){0}, room);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (double)room[i];
    s.open = l->faults.n - n;
    s.repair_mean_us = n ? llround(sum / n) : 0;
    s.repair_p10_us = quantile(room, n, 0.10);
    s.repair_p50_us = quantile(room, n, 0.50);
    s.repair_p90_us = quantile(room, n, 0.90);
    s.repair_p99_us = quantile(room, n, 0.99);
    nodes_count(l, &s);
    classes_count(l, &s, room);
    double days = (double)(span_us ? span_us : l->last_us) / (double)US_PER_DAY;
    uint32_t watched = nodes ? nodes : s.nodes_hit;
    if (watched && days > 0)
        s.per_1000_node_days = s.faults / (watched * days) * 1000;
    free(room);
    *ret = s;
}

void fault_stats_done(struct fault_stats *s)
{
    vec_done(&s->classes);
}
