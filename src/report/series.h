/* series.h - how full the cluster was over time, in bounded room, with exact integrals
 *
 * Time is cut into equal bins from the first level on. A level that held for a while
 * adds level x time to each bin that it touched. When the run outgrows the bins,
 * neighbours are added together in pairs and the width doubles: the integrals stay what
 * they were, only the picture gets coarser. At the end at least half of the bins are in
 * use, whatever the length of the run. Amortised O(1) a level; about 200 KiB.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SERIES_H
#define MUSTER_SERIES_H

#include "report/report.h"

#define SERIES_BINS 2048u /* even */

typedef unsigned __int128 u128;

/* Integrals over one bin, or over the whole run. milli-GPU x us; jobs x us. */
struct series_sum {
    u128 used, pending, capacity;
    u128 waiting, running;
    u128 frag_capacity; /* capacity x time while fragmentation was measured */
    double frag;        /* the one measure that comes as a double */
    int64_t len_us;
};

struct series {
    struct series_sum *bins; /* SERIES_BINS of them; NULL before the first level */
    uint32_t n;              /* bins begun */
    int64_t start_us;        /* of the first level */
    int64_t width_us;        /* of a bin: 1 << width_log */
    uint32_t width_log;
    struct series_sum total;
    struct report_level last; /* the level that holds since last.at */
    uint64_t peak_used_milli, peak_pending_milli;
};

/* The level from l->at on. Time never goes back (our own mistake: asserted). Levels of
 * one instant replace each other; the last one has no length until another call says
 * when it ended. */
void series_add(struct series *s, const struct report_level *l);
void series_done(struct series *s);

/* Add the bins together into at most `most` (> 0) groups of equal width. Writes the
 * groups to ret, their number to ret_n; returns the width of a group in us (0: no
 * bins). */
int64_t series_merge(const struct series *s, uint32_t most, struct series_sum *ret,
                     uint32_t *ret_n);

void series_sum_add(struct series_sum *to, const struct series_sum *from);

/* a / b as a double; 0 when b is 0. */
double u128_ratio(u128 a, u128 b);

#endif
