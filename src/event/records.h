/* records.h - a batch of records that own what they point to
 * Cleared and filled again, never freed in between. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_RECORDS_H
#define MUSTER_RECORDS_H

#include "base/vec.h"
#include "event/event.h"

struct records {
    struct arena arena;     /* strings, seats, refs of the records */
    VEC(struct record) list; /* a push may move it: keep indexes, not pointers */
};

/* A new cleared record of that kind at the end; valid until the next records_add. */
struct record *records_add(struct records *rs, int kind);
void records_clear(struct records *rs);
void records_done(struct records *rs);

#endif
