/* fold-node.c - nodes, devices, tags and foreign pods
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "event/codec.h"
#include "sched/state.h"

static void learn_levels(struct sched *s, const struct node_desc *d)
{
    if (d->nplace <= s->cluster->nlevels)
        return;
    word_t levels[NODE_LEVELS_MAX];
    for (uint32_t i = 0; i < d->nplace; i++)
        levels[i] = d->place[i].key;
    cluster_set_levels(s->cluster, levels, d->nplace);
}

static void capacity_changed(struct sched *s, uint32_t node)
{
    account_node(s, node);
    s->capacity_milli = s->cluster->gpu_cap_milli;
}

static void node_mark_seen(struct sched *s, uint32_t node)
{
    if (node >= s->node_seen.n)
        vec_resize(&s->node_seen, node + 1);
    s->node_seen.at[node] = true;
}

/* The node and its claims in the tally: both are counted by the node's partitions. */
static void tally_all(struct sched *s, uint32_t node, int sign)
{
    tally_node(s, node, sign);
    if (node >= s->node_claims.n)
        return;
    for (uint32_t i = s->node_claims.at[node]; i != NONE; i = s->claims.at[i].next) {
        const struct claim *c = &s->claims.at[i];
        if (c->taken && c->shape != NONE && s->shapes.at[c->shape].tagged)
            tally_claim(s, c->shape, node, sign);
    }
}

/* Says the description what is known already? Then nobody needs to be asked again. */
static bool node_is_news(const struct sched *s, uint32_t node, const struct node_desc *d)
{
    const struct node_desc *kept = cluster_node_desc(s->cluster, node);
    const struct node *n = &s->cluster->nodes[node];
    if (kept->ndevices != d->ndevices || n->ndevices != d->ndevices || n->state != d->state)
        return true;
    for (uint32_t i = 0; i < d->ndevices; i++)
        if (s->cluster->devices[n->device0 + i].state != d->devices[i].state)
            return true;
    struct record was = {.kind = EV_NODE_SET, .node_set = kept};
    struct record is = {.kind = EV_NODE_SET, .node_set = d};
    struct buf a = {0}, b = {0};
    record_encode(&was, &a);
    record_encode(&is, &b);
    bool news = !str_eq(buf_as_str(&a), buf_as_str(&b));
    buf_done(&a);
    buf_done(&b);
    return news;
}

static void fold_node_set(struct sched *s, const struct node_desc *d)
{
    uint32_t node = cluster_find(s->cluster, d->name);
    bool fresh = node == NODE_NONE;
    if (!fresh && !node_is_news(s, node, d)) {
        node_mark_seen(s, node);
        return;
    }
    if (!fresh && !str_eq(cluster_node_desc(s->cluster, node)->uid, d->uid)) {
        claims_leave_node(s, node); /* what ran on the old node of this name */
        for (uint32_t i = s->adrift; i != NONE; i = s->claims.at[i].next)
            if (s->claims.at[i].where &&
                str_eq((struct str){s->claims.at[i].where, s->claims.at[i].where_len},
                       d->name))
                s->claims.at[i].where_len = 0;
        cluster_node_unsynced(s->cluster, node, false);
        cluster_node_cordon(s->cluster, node, false); /* that was another machine */
    }
    if (!fresh)
        tally_all(s, node, -1);
    learn_levels(s, d);
    node = cluster_node_set(s->cluster, d);
    tally_all(s, node, 1);
    node_mark_seen(s, node);
    capacity_changed(s, node);
    reserve_fact(s, node);
    spares_fact(s, node);
    if (fresh)
        claims_join_node(s, node);
    if (!node_is_usable(&s->cluster->nodes[node]))
        return;
    s->free_epoch++;
    lanes_wake(s, NONE);
}

void node_forget(struct sched *s, uint32_t node)
{
    spares_leave(s, node);
    claims_leave_node(s, node);
    tally_node(s, node, -1);
    cluster_node_gone(s->cluster, node);
    capacity_changed(s, node);
    if (node < s->node_seen.n)
        s->node_seen.at[node] = false;
}

static void fold_tag(struct sched *s, const struct record *r)
{
    for (uint32_t i = 0; i < r->tag_set.nnodes; i++) {
        uint32_t node = cluster_find(s->cluster, r->tag_set.nodes[i]);
        if (node == NODE_NONE) {
            noop(s);
            continue;
        }
        tally_node(s, node, -1);
        cluster_tag(s->cluster, node, r->tag_set.tag, r->tag_set.on);
        tally_node(s, node, 1);
    }
    for (uint32_t i = 0; i < r->tag_set.ntasks; i++)
        task_tag(s, r->tag_set.tasks[i], r->tag_set.tag, r->tag_set.on);
    s->free_epoch++;
    lanes_wake(s, NONE);
}

/* Foreign pods share the table of strays under a key that no task name can have. */
static struct str foreign_key(struct str name, char out[300])
{
    int n = snprintf(out, 300, "\x01" STR_FMT, (int)(name.len > 290 ? 290 : name.len), name.ptr);
    return (struct str){out, (size_t)n};
}

static void fold_foreign(struct sched *s, const struct record *r)
{
    char text[300];
    struct str key = foreign_key(r->foreign_set.name, text);
    uint32_t id = strmap_get(&s->tasks, key);
    bool holds = r->foreign_set.phase == FOREIGN_HELD || r->foreign_set.phase == FOREIGN_ENDING;
    if (!holds) {
        if (id == MAP_NONE)
            noop(s);
        else
            claim_free(s, id);
        return;
    }
    if (id == MAP_NONE) {
        id = claim_create(s, NONE, NONE, CLAIM_STRAY);
        s->claims.at[id].foreign = true;
        claim_make_stray(s, id, key);
    }
    uint32_t shape = shape_intern(s, r->foreign_set.shape);
    uint32_t node = cluster_find(s->cluster, r->foreign_set.node);
    uint64_t devs = r->foreign_set.devs;
    if (node != NODE_NONE)
        devs &= node_devs(&s->cluster->nodes[node]);
    struct use u;
    use_of_shape(s, shape, node, devs, 0, &u);
    if (u.mode == GPU_MIG && !u.slices)
        u.mode = GPU_NONE, u.devs = 0;
    claim_place(s, id, &u, r->foreign_set.node); /* tallied under the old shape, if any */
    claim_reshape(s, id, shape);
    s->claims.at[id].seen = true;
}

void fold_node(struct sched *s, const struct record *r)
{
    uint32_t node;
    switch (r->kind) {
    case EV_NODE_SET:
        fold_node_set(s, r->node_set);
        return;
    case EV_NODE_GONE:
        node = cluster_find(s->cluster, r->node_gone.node);
        if (node == NODE_NONE)
            noop(s);
        else
            node_forget(s, node);
        return;
    case EV_DEVICE_SET:
        node = cluster_find(s->cluster, r->device_set.node);
        if (node == NODE_NONE || r->device_set.device >= cluster_node_desc(s->cluster, node)->ndevices) {
            noop(s);
            return;
        }
        cluster_device_state(s->cluster, node, r->device_set.device, r->device_set.state);
        account_node(s, node);
        reserve_fact(s, node);
        spares_fact(s, node);
        s->free_epoch++;
        lanes_wake(s, node);
        return;
    case EV_TAG_SET:
        fold_tag(s, r);
        return;
    default:
        fold_foreign(s, r);
    }
}
