/* saying_explain.h - a wait with its numbers, and a launch with its second best, in
 * words As in saying_job.h: no full stop, no newline. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef MUSTER_SAYING_EXPLAIN_H
#define MUSTER_SAYING_EXPLAIN_H

#include "sched/explain.h"
#include "words/saying.h"

/* "needs 4 whole nodes in one block; the best, b1, has room for 3; 1 node there is held
 * by job x for 20 min more (its limit); would start now with 3". Nothing for what a
 * person holds or what is not a matter of room. */
void saying_explain(const struct words *w, const struct explain *e, struct buf *out);

/* "on n1, 0 GPUs stay free there; the next best is n2, 2 would"; nothing when not
 * asked. */
void saying_second(const struct explain_second *e, struct buf *out);

/* "a3, with 2 GPU-hours lost; the next best were b1, b2, with 5"; nothing when not
 * asked. */
void saying_evictions(const struct explain_evictions *e, struct buf *out);

/* The same as JSON objects. */
void saying_explain_json(const struct words *w, const struct explain *e, int64_t start,
                         struct buf *out);
void saying_second_json(const struct explain_second *e, struct buf *out);
void saying_evictions_json(const struct explain_evictions *e, struct buf *out);

#endif
