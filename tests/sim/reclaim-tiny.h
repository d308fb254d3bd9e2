/* reclaim-tiny.h - all games of a few jobs: every start state, order and set of victims
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_RECLAIM_TINY_H
#define MUSTER_RECLAIM_TINY_H

#include "sched/rights.h"

enum { TINY_QUEUES = 3, TINY_JOBS = 5 };

enum tiny_rule {
    TINY_RIGHTS = 0,
    /* Two orders that each end alone, and loop together: take from a queue that is over
     * what it deserves while staying within one's own; and from lower priority inside.
     */
    TINY_DESERVED
};

struct tiny { /* one resource, queues under one root; jobs in order of submission */
    enum tiny_rule rule;
    uint32_t nqueues, njobs;
    int64_t capacity, g[TINY_QUEUES], lend[TINY_QUEUES];
    uint32_t weight[TINY_QUEUES];
    bool across, within_any;
    struct {
        uint32_t queue;
        int32_t priority;
        int64_t size;
        uint32_t core; /* a step of that job; RIGHTS_NONE: a core */
    } jobs[TINY_JOBS];
};

struct tiny_found {
    uint64_t states; /* looked at */
    bool loops;      /* some state can come back */
    bool moved;      /* a decision moved K1, or the potential did not fall */
};

struct tiny_found tiny_play(const struct tiny *t);

#endif
