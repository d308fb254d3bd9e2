/* timeline_search.h - what timeline.c and timeline_plan.c share (private to them)
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TIMELINE_SEARCH_H
#define MUSTER_TIMELINE_SEARCH_H

#include "sched/timeline_row.h"

/* Times with their least: flat, with a minimum for each 32 of them. */
enum { TIMELINE_GROUP = 32 };
struct bounds {
    int64_t *at;    /* n of them, filled up with TIMELINE_NEVER */
    int64_t *least; /* of each group */
    uint32_t n, groups;
};

void bounds_init(struct bounds *b, uint32_t n, int64_t all);
void bounds_done(struct bounds *b);
void bounds_set(struct bounds *b, uint32_t i, int64_t time);
uint32_t bounds_first(const struct bounds *b); /* lowest index of the least */

/* Of one row in a search over several. */
struct search_row {
    uint32_t mask;   /* lanes it may use */
    uint32_t most;   /* places if the row were empty */
    uint32_t places; /* never too few until the row's next rise */
    int64_t falls;   /* from then on `places` may be too many */
    uint32_t first;  /* segment of the first start */
};

struct timeline {
    int64_t now;
    uint32_t nnodes, nrows;
    struct row *rows;
    /* scratch of the searches */
    struct search_row *search;
    struct bounds rises; /* when the row's places next exceed `places` */
    lanes *windows;
    struct timeline_found tried;
};

/* The ask's range, and its wishes in a row's terms. */
struct timeline_range timeline_domain(const struct timeline *t,
                                      const struct timeline_ask *ask, uint32_t domain);
struct want timeline_want(const struct timeline_ask *ask);
/* Lanes of the row that the ask may use in this range. */
uint32_t timeline_mask(struct timeline *t, const struct timeline_ask *ask,
                       struct timeline_range range, uint32_t row);
/* timeline_earliest, when it is known that nothing is possible before `from`. */
bool timeline_search(struct timeline *t, const struct timeline_ask *ask, int64_t from,
                     struct timeline_found *ret);

#endif
