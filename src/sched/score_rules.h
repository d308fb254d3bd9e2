/* score_rules.h - the scorers' functions, for the table in score.c alone
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SCORE_RULES_H
#define MUSTER_SCORE_RULES_H

#include "sched/score.h"

/* score_published.c: BestFit, DotProd, GpuPacking, GpuClustering as in the FGD experiment */
int32_t score_best_fit(struct scoring *sc, uint32_t node, const struct shape *shape,
                       uint64_t types, struct use *use);
int32_t score_dot_product(struct scoring *sc, uint32_t node, const struct shape *shape,
                          uint64_t types, struct use *use);
int32_t score_gpu_packing(struct scoring *sc, uint32_t node, const struct shape *shape,
                          uint64_t types, struct use *use);
int32_t score_gpu_clustering(struct scoring *sc, uint32_t node, const struct shape *shape,
                             uint64_t types, struct use *use);

/* score_simple.c */
int32_t score_least_allocated(struct scoring *sc, uint32_t node, const struct shape *shape,
                              uint64_t types, struct use *use);
int32_t score_most_allocated(struct scoring *sc, uint32_t node, const struct shape *shape,
                             uint64_t types, struct use *use);
int32_t score_same(struct scoring *sc, uint32_t node, const struct shape *shape,
                   uint64_t types, struct use *use);
int32_t score_fewest_free(struct scoring *sc, uint32_t node, const struct shape *shape,
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
