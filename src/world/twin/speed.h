/* speed.h - how fast a gang works where it was put: the one call a fabric model will fill
 * For now a factor by the lowest level that holds all its nodes, times the slowest GPU
 * type's. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SPEED_H
#define MUSTER_SPEED_H

#include "world/twin/truth.h"

struct speed_model {
    uint32_t nlevels; /* levels above the nodes */
    /* By depth of the lowest common domain: 0 the whole cluster, 1 .. nlevels, and
     * nlevels + 1 one node. */
    uint32_t by_depth[NODE_LEVELS_MAX + 2];
};

struct speed_query {
    uint32_t depth;    /* of the lowest domain that holds every node of the gang */
    uint32_t tasks;    /* working now */
    uint32_t want;     /* its full size; fewer tasks work in proportion */
    uint32_t type_ppm; /* factor of the slowest GPU type in it */
};

/* A level without a factor has that of the next one below it; "node" and "cluster" are the
 * bottom and the top. */
void speed_model_init(struct speed_model *m, const struct truth *t,
                      const struct str *level_names, uint32_t nlevels);
/* Parts per million of the speed that the trace's run time stands for; at least 1. */
uint32_t speed_of(const struct speed_model *m, const struct speed_query *q);

/* Wall time for work at a speed, rounded up; and work done in a wall time, rounded down.
 * Exact at speed 1. */
int64_t speed_wall_us(int64_t work_us, uint32_t ppm);
int64_t speed_work_us(int64_t wall_us, uint32_t ppm);

#endif
