/* records.h - a batch of records that own what they point to
 * Cleared and filled again, never freed in between. SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RECORDS_H
#define MUSTER_RECORDS_H

#include "base/vec.h"
#include "event/event.h"

struct records {
    struct arena arena;      /* strings, seats, refs of the records */
    VEC(struct record) list; /* a push may move it: keep indexes, not pointers */
};

/* A new cleared record of that kind at the end; valid until the next records_add. */
static inline struct record *records_add(struct records *rs, int kind)
{
    vec_reserve(&rs->list, rs->list.n + 1);
    struct record *r = &rs->list.at[rs->list.n++];
    memset(r, 0, sizeof *r);
    r->kind = (uint16_t)kind;
    return r;
}
static inline void records_clear(struct records *rs)
{
    vec_clear(&rs->list);
    arena_reset(&rs->arena);
}
void records_done(struct records *rs);

#endif
