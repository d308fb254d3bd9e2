/* saying_job.h - sentences about a job: what it does, why it waits, what becomes of it
 *
 * No full stop, no newline; a job's name goes before them ("x" + "needs room ...").
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SAYING_JOB_H
#define MUSTER_SAYING_JOB_H

#include "sched/look.h"
#include "words/saying.h"

/* As saying_why, and names whom why.who means (empty: not known). */
void saying_why_who(const struct words *w, const struct why *why, struct str who,
                    struct buf *out);

/* "needs room for 4 tasks; the best rack has room for 3", "runs, 4 of 4 tasks up". */
void saying_gang(const struct words *w, const struct gang_look *g, bool held,
                 struct str who, struct buf *out);

/* "n1 GPUs 0-3 (running)". */
void saying_claim(const struct claim_look *c, struct buf *out);

/* What a rehearsal found out about a job. */
struct whatif {
    bool starts;      /* did it start at all before the rehearsal ended? */
    bool invalid;     /* it cannot be a job, as `refused` says */
    int64_t wait_us;  /* from the moment asked about to its start */
    struct why why;   /* of its launch; or the last reason why not */
    struct str who;   /* whom why.who means; empty: not known */
    uint32_t evicted; /* tasks stopped for it, of so many jobs */
    uint32_t evicted_jobs;
    uint32_t ended;   /* jobs that had to end first */
    uint32_t endless; /* jobs running whose end nobody has told */
};
/* "would start at once", "would start in 2 h 5 min, when 3 jobs have ended, if jobs end
 * as told", "would not start: needs ...". */
void saying_whatif(const struct words *w, const struct whatif *f, struct buf *out);

#endif
