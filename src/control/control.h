/* control.h - the loop that joins a world, the journal and the core: the same for every world
 * One turn: take a batch, check, stamp and fold each event, border, decide, write the frame,
 * and only then let the decisions out. Without a journal the frames are only counted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CONTROL_H
#define MUSTER_CONTROL_H

#include "audit/audit.h"
#include "control/world.h"
#include "journal/journal.h"
#include "sched/sched.h"

struct control_options {
    bool audit;        /* check the invariants after every record */
    bool invariants;   /* and let the core check itself at every border (slow) */
    bool check;        /* sched_check each event, also of a trusted world */
    bool count_bytes;  /* encode each record to count the journal's bytes */
    bool each;         /* the policy's "border: each": one arrival a batch */
    int64_t start_at;  /* stamp of the policy_set record; the world's events come at or after */
    struct audit *auditor; /* the caller's, to be asked afterwards; NULL: our own */
    /* Each turn is one frame of it, written before its decisions leave; NULL: none. A journal
     * that goes on behind a record says where the numbers go on. */
    struct journal *journal;
    bool durable;      /* decisions leave only when their frame is on disk */
    /* Sees records after they were folded (reports, tests); may be NULL. Those whose bit
     * 1 << kind is set; 0: every one. */
    void (*observe)(void *arg, const struct record *r);
    void *observe_arg;
    uint64_t observe_kinds;
    /* Called about every 65,536 records with totals (progress bars); may be NULL. Nonzero
     * return stops the run. */
    int (*progress)(void *arg, int64_t at, uint64_t records);
    void *progress_arg;
};

struct control_totals {
    uint64_t records; /* all: words, events, borders, decisions */
    uint64_t events, decisions, borders;
    uint64_t frames, bytes; /* what a journal would have written; bytes only when counted */
    uint64_t refused;       /* events that made no sense: folded as no-ops */
    uint64_t no_room;       /* submissions refused because the disk is full */
    int64_t at;             /* of the last record */
};

/* Runs until the world is over. 0 or -errno with err (an audit failure is -EPROTO). The
 * policy text is folded first as policy_set. */
int control_run(struct sched *s, struct world *w, struct str policy_text,
                const struct control_options *opt, struct control_totals *ret,
                struct err *err);

#endif
