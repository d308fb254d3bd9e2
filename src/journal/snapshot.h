/* snapshot.h - the state after a record, in a file of its own
 * Written under another name and renamed when it is on disk: it is whole or not there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SNAPSHOT_H
#define MUSTER_SNAPSHOT_H

#include "journal/shelf.h"

struct snapshot_head {
    uint64_t seq; /* the last record in it */
    int64_t at;
    char build[BUILD_ID_MAX];
};

/* bytes: sched_save's. 0 or -errno with err; nothing is left behind on failure. */
int snapshot_write(int dir, const struct snapshot_head *h, struct str bytes,
                   struct err *err);
/* Head, and the bytes into b (NULL: the head alone is read and checked). 0, -EBADMSG
 * (damaged) or -errno with err. */
int snapshot_read(int dir, uint64_t seq, struct snapshot_head *ret, struct buf *b,
                  struct err *err);

#endif
