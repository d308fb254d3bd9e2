/* rehearse.h - what would become of a job, played on a copy of the state
 * The copy gets a made-up world: tasks run as soon as they are launched, end when their
 * job's expected run time or time limit is over, stop when told; nothing else comes.
 * The state itself is not touched. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_REHEARSE_H
#define MUSTER_REHEARSE_H

#include "base/vec.h"
#include "words/saying_job.h"

enum { REHEARSE_STEPS_MAX = 200000 };
#define REHEARSE_HORIZON_US (INT64_C(400) * 24 * 3600 * 1000000)

struct rehearsal {
    struct whatif found;
    struct sched *copy;      /* at the end, for its words */
    struct buf seats;        /* "n1 GPUs 0-3, n2 GPUs 0-3" of its first launch */
    VEC(struct str) evicted; /* jobs, once each */
    struct arena text;
};

/* The job is already there, or spec (borrowed) brings it now; words of the spec that
 * the state does not know come before it (new_words, ids follow on). 0 or -errno with
 * err. */
int rehearse(struct rehearsal *ret, const struct sched *s, uint64_t seq, int64_t at,
             struct str job, const struct job_spec *spec, const struct words *words,
             struct err *err);
void rehearsal_done(struct rehearsal *r);

#endif
