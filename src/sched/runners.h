/* runners.h - who runs, as possible victims of a question (private to sched)
 * Scratch over victims.h: made when it is first asked for, then kept in step with the gangs
 * that changed and the nodes whose room did. A gang is one victim with all its members;
 * each member above its minimum is one more, that may go alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_RUNNERS_H
#define MUSTER_RUNNERS_H

#include "sched/state.h"
#include "sched/victims.h"

struct runner { /* a victim of the index */
    uint32_t gang;
    uint32_t slot; /* a member above the minimum; NONE: the whole gang */
};

struct runners;

struct victims *runners_ready(struct sched *s);
void runners_destroy(struct runners *r);
struct runner runner_of(const struct sched *s, uint32_t victim);
/* What stopping it now costs, in GPU-microseconds. */
int64_t runner_cost(struct sched *s, const struct runner *v);

#endif
