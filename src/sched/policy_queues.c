/* policy_queues.c - reads the queue tree and the spares of a policy file
 *
 *   queues:
 *     research:
 *       guaranteed: {gpu: 512, "gpu:h100": 256, cpu: 4000, mem: 64TiB}
 *       weight: 2
 *       children:
 *         vision: {guaranteed: {gpu: 128}, authority: evict}
 *
 * Resources are numbered as they are met. What a queue does not say about its authority it
 * has from its parent; the root has `move`.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/units.h"
#include "base/vec.h"
#include "sched/policy_read.h"

const char *const policy_queue_keys[] = {"guaranteed", "max",       "borrow",
                                         "lend",       "user_max",  "weight",
                                         "authority",  "value_max",
                                         "children",   NULL};
const char *const policy_spares_keys[] = {"level", "nodes", "fault", "lend", NULL};

struct reading {
    struct arena *a;
    struct queue_tree *tree;
    VEC(struct queue_spec) queues;
    struct err *err;
};

static int resource_of(struct reading *rd, const struct ynode *n, uint32_t *ret)
{
    struct queue_tree *t = rd->tree;
    struct quota_resource r = {0};
    if (str_is(n->key, "cpu"))
        r.kind = QUOTA_CPU;
    else if (str_is(n->key, "mem"))
        r.kind = QUOTA_MEM;
    else if (str_starts(n->key, STR("gpu:")) && n->key.len > 4)
        r.type = (struct str){n->key.ptr + 4, n->key.len - 4};
    else if (!str_is(n->key, "gpu"))
        return ynode_err(n, EINVAL, rd->err,
                         "'" STR_FMT "' is no resource; say gpu, gpu:TYPE, cpu or mem",
                         STR_ARG(n->key));
    for (*ret = 0; *ret < t->nresources; ++*ret)
        if (t->resources[*ret].kind == r.kind && str_eq(t->resources[*ret].type, r.type))
            return 0;
    if (t->nresources == QUOTA_RESOURCES_MAX)
        return ynode_err(n, ERANGE, rd->err, "more than %d different resources",
                         QUOTA_RESOURCES_MAX);
    r.type = arena_str(rd->a, r.type);
    t->resources[t->nresources++] = r;
    return 0;
}

static int read_amounts(struct reading *rd, const struct ynode *map, int64_t *amounts)
{
    if (!map)
        return 0;
    if (map->kind != YNODE_MAP)
        return ynode_err(map, EINVAL, rd->err, "expected a map such as {gpu: 64}");
    for (const struct ynode *n = map->first; n; n = n->next) {
        uint32_t r = 0;
        uint64_t bytes = 0;
        int rc = resource_of(rd, n, &r);
        if (rc)
            return rc;
        if (rd->tree->resources[r].kind == QUOTA_MEM) {
            rc = ynode_size(n, &bytes, rd->err);
            amounts[r] = bytes > INT64_MAX - 1 ? INT64_MAX - 1 : (int64_t)bytes;
        } else {
            rc = ynode_milli(n, &amounts[r], rd->err);
        }
        if (rc)
            return rc;
        if (amounts[r] < 0)
            return ynode_err(n, ERANGE, rd->err, "an amount cannot be negative");
    }
    return 0;
}

static int read_authority(struct reading *rd, const struct ynode *n, uint8_t *ret)
{
    struct str s;
    int rc = ynode_str(n, &s, rd->err);
    if (rc)
        return rc;
    for (int i = AUTHORITY_OBSERVE; i <= AUTHORITY_MOVE; i++) {
        if (str_is(s, queue_authority_name(i))) {
            *ret = (uint8_t)i;
            return 0;
        }
    }
    return ynode_err(n, EINVAL, rd->err,
                     "authority '" STR_FMT "' is none of: observe, place, repair, evict, move",
                     STR_ARG(s));
}

static int read_u32(struct reading *rd, const struct ynode *n, uint32_t most, uint32_t *ret)
{
    int64_t v;
    int rc = n ? ynode_i64(n, 0, most, &v, rd->err) : 1;
    if (rc == 0)
        *ret = (uint32_t)v;
    return rc < 0 ? rc : 0;
}

static int read_queue(struct reading *rd, const struct ynode *n, struct queue_spec *q)
{
    int64_t value;
    int rc = ynode_only(n, policy_queue_keys, rd->err);
    struct queue_amounts *a = &q->amounts;
    rc = rc ? rc : read_amounts(rd, ynode_get(n, "guaranteed"), a->guaranteed);
    rc = rc ? rc : read_amounts(rd, ynode_get(n, "max"), a->max);
    rc = rc ? rc : read_amounts(rd, ynode_get(n, "borrow"), a->borrow);
    rc = rc ? rc : read_amounts(rd, ynode_get(n, "lend"), a->lend);
    rc = rc ? rc : read_amounts(rd, ynode_get(n, "user_max"), a->user_max);
    rc = rc ? rc : read_u32(rd, ynode_get(n, "weight"), QUEUE_WEIGHT_MAX, &q->weight);
    if (!rc && ynode_get(n, "authority"))
        rc = read_authority(rd, ynode_get(n, "authority"), &q->authority);
    if (!rc && ynode_get(n, "value_max")) {
        rc = ynode_milli(ynode_get(n, "value_max"), &value, rd->err);
        q->value_most_milli_h = value;
    }
    return rc;
}

static struct queue_spec queue_new(struct str name, uint32_t parent)
{
    struct queue_spec q = {.name = name, .parent = parent, .weight = 1,
                           .authority = AUTHORITY_MOVE,
                           .value_most_milli_h = INT64_MAX};
    int64_t *all = (int64_t *)&q.amounts;
    for (uint32_t i = 0; i < sizeof q.amounts / sizeof *all; i++)
        all[i] = QUOTA_ABSENT;
    return q;
}

/* Parents go before their children, so a level of the map is read before what is below it. */
static int read_children(struct reading *rd, const struct ynode *map, uint32_t parent)
{
    if (map->kind != YNODE_MAP)
        return ynode_err(map, EINVAL, rd->err, "expected a map of queues by name");
    for (const struct ynode *n = map->first; n; n = n->next) {
        if (rd->queues.n == QUEUES_MAX)
            return ynode_err(n, ERANGE, rd->err, "more than %d queues", QUEUES_MAX);
        if (n->kind != YNODE_MAP)
            return ynode_err(n, EINVAL, rd->err,
                             "a queue is a map, such as {guaranteed: {gpu: 8}}");
        if (n->key.len == 0 || n->key.len > QUEUE_NAME_MAX)
            return ynode_err(n, ERANGE, rd->err, "a queue's name has 1 to %d bytes",
                             QUEUE_NAME_MAX);
        struct queue_spec q = queue_new(arena_str(rd->a, n->key), parent);
        q.depth = rd->queues.at[parent].depth + 1;
        q.authority = rd->queues.at[parent].authority;
        if (q.depth > QUEUE_DEPTH_MAX)
            return ynode_err(n, ERANGE, rd->err, "queues nest deeper than %d", QUEUE_DEPTH_MAX);
        int rc = read_queue(rd, n, &q);
        if (rc)
            return rc;
        rd->queues.at[parent].nchildren++;
        vec_push(&rd->queues, q);
        const struct ynode *below = ynode_get(n, "children");
        rc = below ? read_children(rd, below, rd->queues.n - 1) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

int policy_read_queues(const struct ynode *n, struct arena *a, struct policy *p,
                       struct err *err)
{
    struct reading rd = {.a = a, .tree = &p->queues, .err = err};
    memset(&p->queues, 0, sizeof p->queues);
    p->queues_trace = n->kind == YNODE_SCALAR && str_is(n->text, "trace");
    if (p->queues_trace)
        return 0;
    vec_push(&rd.queues, queue_new(STR("cluster"), QUEUE_NONE));
    int rc = read_children(&rd, n, 0);
    if (!rc) {
        p->queues.nqueues = rd.queues.n;
        p->queues.queues = arena_alloc(a, rd.queues.n * sizeof *rd.queues.at);
        memcpy(p->queues.queues, rd.queues.at, rd.queues.n * sizeof *rd.queues.at);
        struct err why;
        if (queue_tree_check(&p->queues, &why))
            rc = ynode_err(n, EINVAL, err, "%s", why.text);
    }
    vec_done(&rd.queues);
    return rc;
}

static int read_spare(const struct ynode *n, struct arena *a, struct policy_spares *ret,
                      struct err *err)
{
    struct policy_spares sp = {.lend = true};
    struct str text;
    int64_t nodes = 0;
    if (n->kind != YNODE_MAP || !ynode_get(n, "level") || !ynode_get(n, "nodes"))
        return ynode_err(n, EINVAL, err, "expected {level: block, nodes: 1}");
    int rc = ynode_only(n, policy_spares_keys, err);
    rc = rc ? rc : ynode_str(ynode_get(n, "level"), &text, err);
    if (rc)
        return rc;
    sp.level = arena_str(a, text);
    rc = ynode_i64(ynode_get(n, "nodes"), 0, 1000000, &nodes, err);
    sp.nodes = (uint32_t)nodes;
    if (!rc && ynode_get(n, "fault")) {
        rc = ynode_str(ynode_get(n, "fault"), &text, err);
        if (!rc && !str_is(text, "node") && !str_is(text, "device"))
            return ynode_err(ynode_get(n, "fault"), EINVAL, err, "expected node or device");
        sp.fault = rc ? sp.fault : arena_str(a, text);
    }
    if (!rc && ynode_get(n, "lend"))
        rc = ynode_bool(ynode_get(n, "lend"), &sp.lend, err);
    if (!rc)
        *ret = sp;
    return rc;
}

int policy_read_spares(const struct ynode *n, struct arena *a, struct policy *p,
                       struct err *err)
{
    if (n->kind != YNODE_LIST)
        return ynode_err(n, EINVAL, err, "spares are a list, such as [{level: block, nodes: 1}]");
    p->nspares = 0;
    for (const struct ynode *i = n->first; i; i = i->next) {
        if (p->nspares == POLICY_SPARES_MAX)
            return ynode_err(i, ERANGE, err, "more than %d kinds of spares", POLICY_SPARES_MAX);
        int rc = read_spare(i, a, &p->spares[p->nspares], err);
        if (rc)
            return rc;
        p->nspares++;
    }
    return 0;
}
