/* quantile.h - exact quantiles of many groups at once
 * The q-quantile of n values is the nearest rank: the value at place ceil(q x n) of the
 * sorted values, counted from 1. It is always a value that occurred.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_QUANTILE_H
#define MUSTER_QUANTILE_H

#include <stdint.h>

enum { QUANTILE_P50 = 0, QUANTILE_P95, QUANTILE_P99, QUANTILE_MAX, QUANTILES };

/* Place (from 1) of a quantile among n > 0 values. */
uint64_t quantile_rank(uint64_t n, int which);

struct group_stat {
    uint64_t n;
    __int128 sum;
    int64_t at[QUANTILES]; /* 0 when n is 0 */
};

/* The order that sorts values ascending (stable): ret_order[0..n) becomes indexes.
 * Radix sort, O(n x bytes that differ); the caller frees nothing. */
void quantile_sort(const int64_t *values, uint32_t n, uint32_t *ret_order);

/* Walk values in sorted order and fill stats[group[i]] for each i, ngroups of them.
 * group NULL: all in stats[0]. */
void quantile_groups(const int64_t *values, const uint32_t *order, uint32_t n,
                     const uint32_t *group, struct group_stat *stats, uint32_t ngroups);

#endif
