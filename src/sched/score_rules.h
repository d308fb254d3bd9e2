/* score_rules.h - the scorers' functions and the short way to a score, for sched's own
 * use SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SCORE_RULES_H
#define MUSTER_SCORE_RULES_H

#include "sched/score.h"

/* All but the devices. */
static inline bool node_has_room(const struct node *n, const struct shape *shape)
{
    return node_is_usable(n) && n->cpu_free >= shape->cpu_milli &&
           n->mem_free >= shape->mem_bytes &&
           n->slots_free >= (int64_t)shape->pod_slots &&
           n->nics_free >= (int64_t)shape->nics;
}

void score_view_make(struct scoring *sc, uint32_t node);
static inline const struct node_view *score_view(struct scoring *sc, uint32_t node)
{
    const struct node_view *v = &sc->views.at[node];
    if (v->at != sc->cluster->nodes[node].changed_at + 1)
        score_view_make(sc, node);
    return v;
}

/* score_fits without the devices, where the answer can be read off. */
static inline __attribute__((always_inline)) bool
fits_quick(struct scoring *sc, uint32_t node, const struct shape *shape, uint64_t types)
{
    const struct node *n = &sc->cluster->nodes[node];
    if (!node_has_room(n, shape))
        return false;
    if (shape->gpu_mode == GPU_NONE)
        return true;
    if (n->type == TYPE_ANY)
        return n->ndevices && score_fits(sc->cluster, node, shape, types, NULL);
    if (!(types >> n->type & 1))
        return false;
    if (shape->gpu_mode == GPU_WHOLE && n->plain)
        return n->nwhole >= shape->gpu_count;
    if (shape->gpu_mode == GPU_SHARE && shape->gpu_count == 1 && !shape->gpu_mem_bytes)
        return score_view(sc, node)->share_milli >= (int32_t)shape->gpu_milli;
    return score_fits(sc->cluster, node, shape, types, NULL);
}

/* The score of a node, SCORE_NONE where the task does not fit; not shuffled. */
static inline __attribute__((always_inline)) int32_t
score_quick(struct scoring *sc, uint32_t node, const struct shape *shape,
            uint64_t types)
{
    if (!fits_quick(sc, node, shape, types))
        return SCORE_NONE;
    return sc->scorer->score(sc, node, shape, types, NULL);
}

/* score_published.c: BestFit, DotProd, GpuPacking, GpuClustering as in the FGD
 * experiment */
int32_t score_best_fit(struct scoring *sc, uint32_t node, const struct shape *shape,
                       uint64_t types, struct use *use);
int32_t score_dot_product(struct scoring *sc, uint32_t node, const struct shape *shape,
                          uint64_t types, struct use *use);
int32_t score_gpu_packing(struct scoring *sc, uint32_t node, const struct shape *shape,
                          uint64_t types, struct use *use);
int32_t score_gpu_clustering(struct scoring *sc, uint32_t node,
                             const struct shape *shape, uint64_t types,
                             struct use *use);

/* score_simple.c */
int32_t score_least_allocated(struct scoring *sc, uint32_t node,
                              const struct shape *shape, uint64_t types,
                              struct use *use);
int32_t score_most_allocated(struct scoring *sc, uint32_t node,
                             const struct shape *shape, uint64_t types,
                             struct use *use);
int32_t score_same(struct scoring *sc, uint32_t node, const struct shape *shape,
                   uint64_t types, struct use *use);
int32_t score_fewest_free(struct scoring *sc, uint32_t node, const struct shape *shape,
                          uint64_t types, struct use *use);
int32_t score_most_free(struct scoring *sc, uint32_t node, const struct shape *shape,
                        uint64_t types, struct use *use);

/* score_fgd.c */
int32_t score_fgd(struct scoring *sc, uint32_t node, const struct shape *shape,
                  uint64_t types, struct use *use);
int32_t fgd_sigmoid(double x); /* int(100 / (1 + e^-x)) by thresholds */
void fgd_era(struct scoring *sc);
void fgd_destroy(struct fgd *f);

/* score_pack.c */
int32_t score_pack(struct scoring *sc, uint32_t node, const struct shape *shape,
                   uint64_t types, struct use *use);
uint64_t pack_era(struct scoring *sc);
void pack_destroy(struct pack *p);

#endif
