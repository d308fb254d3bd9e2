/* more.h - the private side of struct cluster: descriptions, the lanes' arrays
 * Only for src/cluster. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CLUSTER_MORE_H
#define MUSTER_CLUSTER_MORE_H

#include "base/vec.h"
#include "cluster/cluster.h"

#define TYPE_OTHER (TYPES_MAX - 1) /* nameless */
#define LANE_TYPES (TYPES_MAX + 1) /* and one for "all types of a mixed node" */
#define LANE_MIXED TYPES_MAX
#define KEPT_TYPES_MAX 8u /* GPU types on one node; more share the last row */

/* A kept description. Everything behind d stands in the same block, but tags that grew.
 */
struct kept {
    struct node_desc d;
    word_t *tags;       /* = d.tags, to write */
    uint32_t tags_room; /* 0: tags are in the block */
    uint32_t ntypes;
    uint8_t types[KEPT_TYPES_MAX];
    uint64_t masks[KEPT_TYPES_MAX];
    uint16_t
        lanes[KEPT_TYPES_MAX + 1]; /* of a mixed node: one a type, then LANE_MIXED */
};

/* What a walk up the tree needs of a domain, 16 bytes. */
struct spot {
    uint32_t parent;
    uint32_t pos;   /* in the parent */
    uint32_t mask0; /* first word of its child masks */
    uint16_t words; /* of one lane's mask, without its summary */
    uint16_t step;  /* with it: from one lane's mask to the next */
};

/* Masks of more than this many words have a summary behind them: bit i = word i has
 * any. */
#define MASK_FLAT_WORDS 8u
static inline uint32_t mask_summary_words(uint32_t words)
{
    return words > MASK_FLAT_WORDS ? (words + 63) / 64 : 0;
}

struct cluster_more {
    struct strmap names; /* live nodes */
    struct kept **kept;  /* by node */
    VEC(uint32_t) free_nodes;
    VEC(uint32_t) free_ranges[NODE_DEVICES_MAX + 1]; /* device ranges by length */
    struct arena type_text;
    struct device_type *types[TYPES_MAX];
    uint16_t (*slice_uses)[SLICES_MAX]; /* by device: mig claims on each slice */
    uint32_t slice_room; /* devices it has room for; 0 before the first */

    uint16_t lane_base[LANE_TYPES];
    uint8_t lane_max[LANE_TYPES]; /* most devices of the type on one node */
    bool lane_used[LANE_TYPES];
    uint32_t nlanes, stride; /* counts of one domain: stride, a multiple of 16 */
    uint32_t *counts;        /* [domain * stride + lane] */
    struct spot *spots;      /* [domain] */
    uint64_t *masks;
    uint64_t nmasks;
    uint32_t domains_room, order_room;
    uint64_t counts_room, masks_room;

    VEC(uint32_t) tag_at; /* by tag: its domain, when tags_known; DOMAIN_NONE: none */
    bool tags_known;
};

/* keep.c: descriptions */
struct kept *kept_make(struct cluster *c, const struct node_desc *d);
void kept_free(struct kept *k);
bool kept_tag(struct kept *k, word_t tag, bool on);

/* use.c */
bool device_is_over(const struct cluster *c, const struct device *d);
bool node_is_over(const struct cluster *c, const struct node *n);
void cluster_slices_grow(struct cluster *c); /* slice_uses for all devices */

/* cluster.c */
void node_release(struct cluster *c, uint32_t node); /* gone, and the last claim left */

/* lane.c */
void lane_move(struct cluster *c, const struct node *n, uint32_t from, uint32_t to);
void node_relane_mixed(struct cluster *c, struct node *n, bool usable);

/* A claim takes room: a new version, and to the front of the change list. */
static inline void node_touch_taken(struct cluster *c, struct node *n, uint32_t i)
{
    n->version++;
    if (n->gone)
        return;
    n->changed_at = ++c->stamp;
    if (c->changed_head == i)
        return;
    struct node *at = c->nodes;
    if (n->changed_prev != NODE_NONE)
        at[n->changed_prev].changed_next = n->changed_next;
    if (n->changed_next != NODE_NONE)
        at[n->changed_next].changed_prev = n->changed_prev;
    n->changed_prev = NODE_NONE;
    n->changed_next = c->changed_head;
    if (c->changed_head != NODE_NONE)
        at[c->changed_head].changed_prev = i;
    c->changed_head = i;
}

/* Any other change. */
static inline void node_touch(struct cluster *c, struct node *n, uint32_t i)
{
    node_touch_taken(c, n, i);
    n->other_at = n->changed_at;
}

static inline void node_unlink(struct cluster *c, struct node *n, uint32_t i)
{
    struct node *at = c->nodes;
    if (n->changed_prev != NODE_NONE)
        at[n->changed_prev].changed_next = n->changed_next;
    if (n->changed_next != NODE_NONE)
        at[n->changed_next].changed_prev = n->changed_prev;
    if (c->changed_head == i)
        c->changed_head = n->changed_next;
    n->changed_prev = n->changed_next = NODE_NONE;
}

/* Bring the lanes up to date with what the node is now. */
static inline void node_relane(struct cluster *c, struct node *n)
{
    if (c->stale || n->gone)
        return;
    bool usable = node_is_usable(n);
    bool any = usable && n->slots_free > 0 && (n->cpu_free > 0 || n->cpu_cap == 0);
    if (any != n->in_any) {
        n->in_any = any;
        lane_move(c, n, any ? LANE_NONE : LANE_ANY, any ? LANE_ANY : LANE_NONE);
    }
    if (n->ntypes == 1) {
        uint32_t lane = usable ? n->lane0 + (uint32_t)n->nwhole : LANE_NONE;
        if (lane != n->lane) {
            lane_move(c, n, n->lane, lane);
            n->lane = (uint16_t)lane;
        }
    } else if (n->ntypes > 1) {
        node_relane_mixed(c, n, usable);
    }
}

#endif
