/* future.h - the timeline of this cluster: when which GPUs come free (private to sched)
 * Scratch: it is made from the claims when it is first asked for, follows each change of a
 * claim or a node, and may be thrown away at any record. A claim is booked until its job's
 * time limit and a margin for its end; without a limit until its expected end, which is
 * then soft: nothing may be promised on it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_FUTURE_H
#define MUSTER_FUTURE_H

#include "sched/state.h"
#include "sched/timeline.h"

/* What a task may need beyond its limit to be killed and cleaned up. */
#define KILL_MARGIN_US (60 * INT64_C(1000000))

struct future;

/* Made ready for the claims, nodes and time as they are. */
struct timeline *future_ready(struct sched *s);
void future_destroy(struct future *f);
void future_claim(struct sched *s, uint32_t claim); /* it changed, or is gone */
void future_gang(struct sched *s, uint32_t gang, bool booked); /* its claims, for a question */
void future_node(struct sched *s, uint32_t node);   /* its state or devices changed */

/* When the room of a claim is free at the latest; *soft: only expected, not enforced. */
int64_t claim_until(const struct sched *s, const struct claim *c, bool *soft);
/* How long a gang holds its room if it starts now: its limit and the margin, else what is
 * expected of it (soft), else TIMELINE_FOREVER. */
/* ... and how long its reservation is booked for: without a limit for ever, since a promise to
 * somebody behind it would stand on nothing. */
int64_t gang_booked_for(const struct sched *s, uint32_t gang);
int64_t gang_duration(const struct sched *s, uint32_t gang, bool *soft);

#endif
