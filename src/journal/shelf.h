/* shelf.h - what lies in a journal's folder
 *   journal-00000001.seg ...           segments, numbers without a gap
 *   state-00000000000000001234.snap    the state after that record
 *   reserve                            room kept for the day the disk is full
 *   *.lost                             what was given up, by order of a person
 * Anything else is left alone. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SHELF_H
#define MUSTER_SHELF_H

#include "base/err.h"
#include "base/vec.h"
#include "journal/segment.h"

enum { SHELF_NAME_MAX = 40, SHELF_SEGMENTS_MAX = 1000000 };

struct shelf {
    int dir; /* open folder; the shelf's own */
    char *path;
    VEC(uint64_t) segments;  /* numbers, ascending */
    VEC(uint64_t) snapshots; /* seqs, ascending */
};

/* 0 or -errno with err (a gap in the numbers is -EBADMSG). A folder without a segment
 * is fine. */
int shelf_open(struct shelf *ret, const char *path, struct err *err);
void shelf_done(struct shelf *s);

void shelf_segment_name(uint64_t number, char out[SHELF_NAME_MAX]);
void shelf_snapshot_name(uint64_t seq, char out[SHELF_NAME_MAX]);
#define SHELF_RESERVE "reserve"

/* The whole file into b (cleared before); more than `most` bytes is -EFBIG. */
int shelf_slurp(int dir, const char *name, size_t most, struct buf *b, struct err *err);
/* The head of a segment. 0 or -errno with err naming the file. */
int shelf_head(const struct shelf *s, uint64_t number, struct segment_head *ret,
               struct err *err);

/* Remove snapshots but the newest `keep` and the segments that the oldest of those
 * covers; keep 0: nothing goes. Returns how many files went. */
uint32_t shelf_tidy(const char *path, uint32_t keep);

#endif
