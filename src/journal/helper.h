/* helper.h - a thread that writes and syncs what it is handed, in that order
 * While it waits for the disk the loop fills the next batch. Without the thread (each)
 * the same work is done at once, by the caller. What has failed once is never tried
 * again: all that comes later fails with the same words.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_HELPER_H
#define MUSTER_HELPER_H

#include "journal/snapshot.h"

struct helper;

/* thread false: every job is done before the call returns. */
struct helper *helper_create(const char *path, int dir, uint32_t keep, bool thread);
void helper_destroy(
    struct helper *h); /* after what it was handed is done; NULL is fine */

/* Is it free to take a batch at once? */
bool helper_is_idle(struct helper *h);
/* Bytes at a place of a file, then fdatasync: from then on records up to seq are
 * durable. Takes the bytes and leaves an empty buffer; waits while another job waits
 * already. */
void helper_write(struct helper *h, int fd, uint64_t place, struct buf *bytes,
                  uint64_t seq);
/* The state after what was handed before. A snapshot that cannot be written is no
 * failure: it is counted, and the next one is tried. */
void helper_snapshot(struct helper *h, const struct snapshot_head *head,
                     struct buf *state);
/* Until all is done. 0, or -errno with err of the first write or sync that failed. */
int helper_wait(struct helper *h, struct err *err);
/* The same without waiting. */
int helper_state(struct helper *h, uint64_t *ret_durable_seq, struct err *err);

struct helper_totals {
    uint64_t syncs, snapshots, snapshots_failed, tidied;
};
void helper_totals(struct helper *h, struct helper_totals *ret);

#endif
