/* columns.h - the published layout of the FGD experiment: 131 columns by arrived load
 *
 * One observation after each arrival. Column k holds the mean over the observations at
 * which the arrived load, in per cent of all GPUs, rounds to k; where there is none,
 * over those at k-1 .. k+1. The means are numpy's (pairwise summation), rounded half to
 * even to two digits: published figures are compared to the digit.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_COLUMNS_H
#define MUSTER_COLUMNS_H

#include <stdbool.h>

#include "base/vec.h"

#define COLUMNS 131 /* 0 .. 130 % */

struct columns_seen {
    uint32_t bin;
    double alloc; /* per cent, two digits */
    double frag;  /* milli-GPU, two digits (as the authors' log prints it) */
};

struct columns { /* zero it to make it empty */
    VEC(struct columns_seen) seen;
    uint64_t total_milli; /* all GPUs */
};

/* Amounts are sums so far in GPU milli; total_milli must not change between calls.
 * frag_milli below 0: not measured. */
void columns_add(struct columns *c, uint64_t arrived_milli, uint64_t used_milli,
                 double frag_milli, uint64_t total_milli);
/* Allocation and fragmentation in per cent; NAN where nothing was seen. Either may be
 * NULL. */
void columns_settle(const struct columns *c, double alloc[COLUMNS],
                    double frag[COLUMNS]);
void columns_done(struct columns *c);

/* numpy.mean of n doubles (n > 0): pairwise, blocks of 128 in eight sums. */
double columns_mean(const double *v, size_t n);
/* numpy.round(x, 2). */
double columns_round2(double x);

#endif
