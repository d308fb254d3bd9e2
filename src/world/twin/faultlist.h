/* faultlist.h - somebody's recorded faults, put onto the twin's nodes
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_FAULTLIST_H
#define MUSTER_FAULTLIST_H

#include "world/twin/twin.h"

struct faultlist_row { /* as recorded: which server, from when until when */
    uint32_t server;
    int64_t from_us, until_us;
};

/* Faults of `servers` servers during span_us, onto nnodes nodes: servers are dealt onto the
 * first `servers` nodes in an order drawn from the seed; further nodes get the same list
 * again, dealt anew and turned in time by a random part of the span, so faults per node-day
 * stay what they are. *ret is malloced, in time order. Returns how many. */
uint32_t faultlist_map(const struct faultlist_row *rows, uint32_t n, uint32_t servers,
                       int64_t span_us, uint32_t nnodes, uint64_t seed,
                       struct twin_fault **ret);

#endif
