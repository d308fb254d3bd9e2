/* frag.h - fragmentation after FGD: idle GPU that the typical mix cannot use
 *
 * F(node) = sum over the mix's items of weight x what the item could not use of the node's
 * idle GPU (Weng et al., USENIX ATC'23, section 3; the exact order of doubles is in frag.c).
 * F depends on the free milli of the devices (as a sorted list), their type and the node's
 * CPU only through the items' CPU thresholds: such states are numbered, and each is computed
 * once. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_FRAG_H
#define MUSTER_FRAG_H

#include "cluster/cluster.h"
#include "sched/mix.h"

struct frag;

/* Borrows mix and cluster. */
struct frag *frag_create(const struct cluster *c, struct mix *mix);
void frag_destroy(struct frag *f); /* NULL is fine */

/* F of a node as it stands, in milli-GPU, computed without any memo. */
double frag_node(const struct cluster *c, const struct mix *mix, uint32_t node);

/* The same by memo. */
double frag_of(struct frag *f, uint32_t node);
/* F of the node when cpu_milli less is free and one share of gpu_milli is taken from device
 * dev (index in the node). */
double frag_after_share(struct frag *f, uint32_t node, int64_t cpu_milli, uint32_t dev,
                        uint32_t gpu_milli);
/* ... when these devices are taken whole (devs 0: CPU alone). */
double frag_after_whole(struct frag *f, uint32_t node, int64_t cpu_milli, uint64_t devs);

/* Sum of F over all usable nodes, milli-GPU; brought up to date from the change list. Kept as
 * a sum of 2^-32 milli, so it does not depend on the order of changes. */
double frag_total(struct frag *f);

#endif
