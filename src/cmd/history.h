/* history.h - one pass over a journal: the state at a point, and what befell one job
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_HISTORY_H
#define MUSTER_HISTORY_H

#include "cmd/point.h"

struct history_line {
    uint64_t seq;
    int64_t at;
    struct str text;
};

struct history {
    struct sched *sched; /* the state at the point */
    uint64_t seq;        /* of its last record */
    int64_t at, start;   /* the moment asked about; of the first record */
    VEC(struct history_line) lines;
    uint64_t launched;              /* record of its last launch; 0: none */
    uint64_t reclaimed_border;      /* of its last plan that stopped others; 0: none */
    struct gang_ref reclaimed_gang; /* for this one of its gangs */
    VEC(int64_t) since;             /* by gang of the job: when its phase began */
    VEC(uint8_t) phases;
    struct u64map by_digest; /* job names, for whom a reason means */
    VEC(struct str) names;
    struct arena text;
};

/* job NULL: only the state and the names. 0 or -errno with err. */
int history_read(struct history *ret, const char *path, const struct journal_point *to,
                 const char *job, struct err *err);
void history_done(struct history *h);
/* The job whose name has that digest; "": none known. */
struct str history_who(const struct history *h, uint64_t who);

#endif
