/* score.h - which node for one task: what fits, and how good it is there
 *
 * One row a scorer; all are pure functions of the node, the shape, the mix and (random
 * alone) seed and serial. The highest score wins, ties go to the lowest rank. Rules and
 * sources stand in score.c and docs/packing.md.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SCORE_H
#define MUSTER_SCORE_H

#include "cluster/cluster.h"
#include "job/shape.h"
#include "sched/mix.h"

#define SCORE_NONE INT32_MIN /* does not fit; every other score is larger */

struct frag;
struct fgd;
struct pack;
struct scoring;

/* Score of a node on which the task fits. types: score_types of the shape. use is what
 * score_fits filled, and the scorer may choose other devices in it; NULL: only the
 * score is wanted. */
typedef int32_t (*score_f)(struct scoring *sc, uint32_t node, const struct shape *shape,
                           uint64_t types, struct use *use);

struct scorer {
    const char *name;  /* in policy files */
    const char *about; /* one line for --help */
    bool mix;          /* looks at the typical mix */
    bool shuffled; /* depends on the task's serial: nothing to remember but the fit */
    score_f score;
};

/* NULL: no such scorer. */
const struct scorer *scorer_find(struct str name);
const struct scorer *
scorer_at(uint32_t i); /* row i of the table; NULL behind the last */

/* What is worth knowing of a node beside its sums: right while the node does not
 * change. */
struct node_view {
    uint64_t at; /* changed_at of the node + 1; 0: nothing known */
    int32_t
        share_milli; /* most free milli on a device that takes shares; -1: none does */
    bool even;       /* each healthy device with something free takes shares */
};

/* What a scorer works with. Everything in it is scratch and can be made anew at any
 * time. */
struct scoring {
    const struct cluster *cluster; /* borrowed */
    struct mix *mix;               /* borrowed; NULL: an empty one */
    const struct scorer *scorer;
    uint64_t seed; /* of `random` */
    struct mix no_mix;
    struct frag *frag; /* made when first needed, as fgd and pack are */
    struct fgd *fgd;
    struct pack *pack;
    VEC(struct node_view) views;
};

void scoring_init(struct scoring *sc, const struct cluster *c,
                  const struct scorer *scorer, struct mix *mix, uint64_t seed);
void scoring_done(struct scoring *sc);
/* Raised whenever scores that were given before may be void although no node
 * changed. */
uint64_t scoring_era(struct scoring *sc);

/* Dense types that the shape accepts; all ones: any; 0: none of them is here. */
uint64_t score_types(const struct cluster *c, const struct shape *shape);

/* Would one task of the shape go on this node now, as it is usable and has room: CPU,
 * memory, pod slot, NICs, and the devices (type, count, share, bytes, legal sets, MIG
 * placement)? types is score_types of the shape. When use is not NULL it is filled with
 * what the task would take, on the default devices: share on the tightest device that
 * fits, lowest index; whole on the lowest legal set; MIG on the tightest device that
 * has the profile. Taints, tags and constraints are the caller's business. */
bool score_fits(const struct cluster *c, uint32_t node, const struct shape *shape,
                uint64_t types, struct use *use);
/* Devices of the node that one share task of the shape could use. */
uint64_t score_share_devs(const struct cluster *c, uint32_t node,
                          const struct shape *shape, uint64_t types);

/* The share devices that a task takes by default: the tightest, lowest index. 0: too
 * few. */
uint64_t score_share_pick(const struct cluster *c, uint32_t node,
                          const struct shape *shape, uint64_t devs);

/* score_fits, then the scorer. SCORE_NONE: does not fit (use is then not meaningful).
 * serial: the task's number, for `random`. use may be NULL. Call scoring_era before the
 * first of a series. */
int32_t score_node(struct scoring *sc, uint32_t node, const struct shape *shape,
                   uint64_t types, uint64_t serial, struct use *use);
/* The same for `shuffled` scorers where the fit is known. */
int32_t score_shuffle(uint64_t seed, uint64_t serial, uint32_t rank);

#endif
