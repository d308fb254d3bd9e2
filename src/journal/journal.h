/* journal.h - writes the record stream down, so that a restart is a fold
 * One turn of the loop is one frame: journal_add for each record, journal_commit behind
 * the last decision. What a frame decided may leave only when the frame is durable
 * (journal_sync). A write or sync that failed is never tried again: the journal stops,
 * and says so at every call. docs/journal.md. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_JOURNAL_H
#define MUSTER_JOURNAL_H

#include "event/records.h"
#include "journal/segment.h"

enum journal_sync {
    JOURNAL_BATCH = 0, /* a thread syncs one batch while the next fills */
    JOURNAL_EACH       /* each frame is on disk before journal_commit returns */
};

/* What the records were made for and with; it stands in each segment's head. */
struct journal_identity {
    char cluster[CLUSTER_NAME_MAX];
    uint32_t term;
    uint64_t policy, catalogue, topology;
};

struct journal_options {
    struct journal_identity is;
    enum journal_sync sync;
    uint64_t segment_bytes;    /* preallocated; 0: 16 MiB */
    uint64_t reserve_bytes;    /* kept for a full disk; 0: 4 MiB */
    uint64_t snapshot_records; /* a snapshot after so many; 0: 1,000,000 */
    uint64_t snapshot_bytes;   /* or after so many bytes; 0: 256 MiB */
    uint32_t keep; /* newest snapshots that keep their segments; 0: all stays */
};

struct journal;

/* A new journal in a folder that has none (made if it is not there). 0, -EEXIST (there
 * is one), -EBUSY (another process writes it) or -errno with err. */
int journal_create(struct journal **ret, const char *path,
                   const struct journal_options *o, struct err *err);
/* Goes on behind record seq, in a new segment: resume.h. */
int journal_continue(struct journal **ret, const char *path,
                     const struct journal_options *o, uint64_t seq, int64_t at,
                     struct err *err);

/* The next record; its seq follows on the last one's. */
void journal_add(struct journal *j, const struct record *r);
/* Ends the frame; nothing added: nothing happens. 0 or -errno with err. */
int journal_commit(struct journal *j, struct err *err);
/* Until every committed frame is on disk. */
int journal_sync(struct journal *j, struct err *err);
/* The disk is full: ends and stops still fit into the reserve, whoever asks for more
 * must be refused. */
bool journal_is_tight(const struct journal *j);

/* Has enough been written since the last snapshot? Then hand it the state as it is
 * behind the last committed frame (sched_save's bytes; they are taken). */
bool journal_wants_snapshot(const struct journal *j);
int journal_snapshot(struct journal *j, struct buf *state, struct err *err);
/* A policy_set changed what the next segments' heads say. */
void journal_set_policy(struct journal *j, uint64_t policy_hash);

struct journal_totals {
    uint64_t seq; /* of the last committed record; what it continues counts too */
    int64_t at;
    uint64_t frames, bytes, segments, syncs, snapshots, snapshots_failed, tidied;
};
void journal_totals(const struct journal *j, struct journal_totals *ret);

/* Commits, syncs, marks the end and gives the room back. 0, or -errno with err: what
 * was not on disk is lost. NULL is fine. */
int journal_close(struct journal *j, struct err *err);
/* Without a mark, as if the process had died here (tests, and after a failure). */
void journal_abandon(struct journal *j);

#endif
