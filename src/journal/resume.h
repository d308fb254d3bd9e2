/* resume.h - the state out of a journal: the newest snapshot, and a fold of the rest
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_RESUME_H
#define MUSTER_RESUME_H

#include "journal/journal.h"
#include "journal/journal_reader.h"
#include "sched/sched.h"

/* How far: the first that is passed ends it. {UINT64_MAX, INT64_MAX}: to the end. */
struct journal_point {
    uint64_t seq;
    int64_t at; /* frames of this moment still count */
};

struct journal_base { /* where a fold begins */
    struct sched *sched;
    uint64_t seq;      /* of the snapshot; 0: from the first record */
    uint32_t left_out; /* snapshots that were damaged or of another build */
    char note[160];    /* why the last of them; "" */
};

/* The newest snapshot of this build at or before the point, or an empty core where the
 * journal begins with its first record. snapshots false: none is used unless it must
 * be. 0, -ENOENT (its beginning was removed and no snapshot fits) or -errno with err.
 */
int journal_base(struct journal_base *ret, const char *path,
                 const struct journal_point *to, bool snapshots, struct err *err);

struct journal_state {
    struct journal_base base; /* base.sched is the caller's from now on */
    struct journal_end end;
    uint64_t frames, records; /* folded behind the snapshot */
    char build[BUILD_ID_MAX]; /* of the last segment read; "": none */
};

/* Base and fold. accept_loss as in journal_reader_open. 0 or -errno with err. */
int journal_load(struct journal_state *ret, const char *path,
                 const struct journal_point *to, const uint64_t *accept_loss,
                 struct err *err);

/* Restart: load to the end, cut the torn tail (what is given up as a loss is set aside
 * as
 * *.lost), and go on in a new segment. */
int journal_resume(struct journal **ret, struct journal_state *ret_state,
                   const char *path, const struct journal_options *o,
                   const uint64_t *accept_loss, struct err *err);

#endif
