/* frag.h - fragmentation after FGD: idle GPU that the typical mix cannot use
 *
 * F(node) = sum over the mix's items of weight x what the item could not use of the
 * node's idle GPU (Weng et al., USENIX ATC'23, section 3; the exact order of doubles is
 * in frag.c). F depends only on the set of (type, free milli) of the healthy devices
 * and on how many of the items' CPU thresholds the node's free CPU reaches: its level.
 * Sets are numbered, and F of each (set, level) is computed once. All of this is
 * scratch. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_FRAG_H
#define MUSTER_FRAG_H

#include "cluster/cluster.h"
#include "sched/mix.h"

struct frag;

/* Borrows cluster and mix. */
struct frag *frag_create(const struct cluster *c, struct mix *mix);
void frag_destroy(struct frag *f); /* NULL is fine */

/* F of a node as it stands, in milli-GPU, computed without any memo. */
double frag_node(const struct cluster *c, const struct mix *mix, uint32_t node);
/* The same by memo. */
double frag_of(struct frag *f, uint32_t node);
/* F of the node when cpu_milli less is free and gpu_milli is taken from each of devs
 * (device indexes in the node; 0: CPU alone). */
double frag_after(struct frag *f, uint32_t node, int64_t cpu_milli, uint64_t devs,
                  uint32_t gpu_milli);

/* Sum of F over all usable nodes, milli-GPU; brought up to date from the change list:
 * O(what changed). Kept in units of 2^-32 milli, so it does not depend on the order of
 * changes. */
double frag_total(struct frag *f);

/* The parts, for scorers that keep memos of their own. Numbers of sets and levels hold
 * as long as frag_era is the same: call that first; it notices a new mix and too many
 * sets. */
uint64_t frag_era(struct frag *f);

enum {
    FRAG_LEVELS_MAX = MIX_CLASSES_MAX, /* CPU thresholds of a mix */
    FRAG_LEVEL_UNIT = 512,             /* milli-CPU a cell of the level table */
    FRAG_LEVEL_CELLS = 1024
};

struct frag_state {
    uint32_t set, level;
};
struct frag_node {
    uint64_t at; /* changed_at of the node + 1; 0: nothing known */
    struct frag_state state;
    int64_t part; /* its part of the total, 2^-32 milli */
};

/* What the inline calls below look at; the rest is frag.c's. */
struct frag_front {
    const struct cluster *cluster;
    VEC(struct frag_node) nodes;
    uint32_t nlevels;
    uint16_t cells[FRAG_LEVEL_CELLS]; /* level of cell x unit */
    int64_t levels[FRAG_LEVELS_MAX + 1]; /* thresholds, ascending; then INT64_MAX */
};

void frag_state_make(struct frag *f, uint32_t node);

/* Thresholds that so much CPU reaches. */
static inline uint32_t frag_level(const struct frag *f, int64_t cpu_milli)
{
    const struct frag_front *front = (const void *)f;
    uint64_t cell = (uint64_t)(cpu_milli < 0 ? 0 : cpu_milli) / FRAG_LEVEL_UNIT;
    uint32_t level =
        front->cells[cell < FRAG_LEVEL_CELLS ? cell : FRAG_LEVEL_CELLS - 1];
    while (front->levels[level] <= cpu_milli)
        level++;
    return cpu_milli < 0 ? 0 : level;
}

static inline struct frag_state frag_state(struct frag *f, uint32_t node)
{
    const struct frag_front *front = (const void *)f;
    if (front->nodes.at[node].at != front->cluster->nodes[node].changed_at + 1)
        frag_state_make(f, node);
    return front->nodes.at[node].state;
}

/* The set when gpu_milli is taken from one device like this one. */
uint32_t frag_step(struct frag *f, uint32_t set, const struct device *d,
                   uint32_t gpu_milli);
double frag_value(struct frag *f, uint32_t set, uint32_t level);

#endif
