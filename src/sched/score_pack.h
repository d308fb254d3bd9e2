/* score_pack.h - what muster's own packing knows of the mix: prices of pieces of a GPU
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SCORE_PACK_H
#define MUSTER_SCORE_PACK_H

#include "cluster/cluster.h"
#include "sched/mix.h"

enum {
    PACK_BITS = 20, /* values are in GPUs / 2^20 */
    PACK_UNIT = 1 << PACK_BITS,
    PACK_SIZES_MAX = 64 /* slice sizes that get a price of their own */
};

struct pack_sizes {
    uint32_t n;
    uint32_t milli[PACK_SIZES_MAX];  /* descending */
    uint64_t demand[PACK_SIZES_MAX]; /* tasks */
    double price[PACK_SIZES_MAX];    /* of one slice; a whole GPU is worth 1 */
};

/* Slice sizes of the mix's tasks of one device, most wanted first if there are too
 * many, and their prices: the dual of the bin-packing linear program (max sum demand x
 * price, where no set of slices that fits on one GPU is worth more than 1). */
void pack_price(const struct mix *mix, struct pack_sizes *ret);
/* The best that slices of these prices make of r free milli, r = 0 .. 1000. */
void pack_knapsack(const struct pack_sizes *sizes, double ret[1001]);
/* Demand of the mix that names a GPU type, per capacity of what it may take, relative
 * to all demand over all capacity; 2^16 is 1. By dense type. */
void pack_pull(const struct mix *mix, const struct cluster *c, int64_t ret[TYPES_MAX]);

#endif
