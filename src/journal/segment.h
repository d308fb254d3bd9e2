/* segment.h - the bytes of a journal's files: a head, then frames, then zeros
 * A frame is what one turn of the loop wrote: its events, the border, its decisions.
 * One xxh64 over all of it, seeded by the segment's own sum and the frame's place, so
 * that a frame is good only where it was written. Numbers are little endian.
 * docs/journal.md draws both layouts. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SEGMENT_H
#define MUSTER_SEGMENT_H

#include "base/build.h"
#include "base/buf.h"
#include "base/err.h"

enum {
    SEGMENT_FORMAT = 1,    /* what we write */
    SEGMENT_OLDEST = 1,    /* the oldest we read: two releases back */
    SEGMENT_HEAD = 256,    /* bytes */
    FRAME_HEAD = 48,       /* bytes */
    CLUSTER_NAME_MAX = 80, /* with the zero behind it */
    FRAME_MAX = 1 << 28    /* bytes of one frame */
};

struct segment_head {
    uint32_t format, term;
    uint64_t number;
    uint64_t first_seq; /* of the record that comes first in it */
    int64_t at; /* of the record before that; the start of all in the first one */
    uint64_t policy, catalogue, topology; /* hashes of what the core was given */
    char build[BUILD_ID_MAX];
    char cluster[CLUSTER_NAME_MAX];
    uint64_t sum; /* set by put and get */
};

void segment_head_put(struct segment_head *h, unsigned char out[SEGMENT_HEAD]);
/* 0, -EBADMSG (damaged or no segment) or -ENOTSUP (a format we do not read) with err.
 */
int segment_head_get(struct segment_head *ret, struct str bytes, struct err *err);

enum frame_flag { FRAME_CLOSED = 1 }; /* the writer ended well; no records */

struct frame_head {
    uint32_t length; /* bytes behind the head */
    uint32_t flags, records;
    uint64_t first_seq;
    uint64_t
        durable_seq; /* the last record known to be on disk when this was written */
    int64_t at;      /* of its last record */
};

/* Writes the head in front of the payload: frame points to FRAME_HEAD bytes of room,
 * then h->length bytes. place: where it will stand in its segment. */
void frame_seal(const struct frame_head *h, uint64_t segment_sum, uint64_t place,
                char *frame);

enum frame_found { FRAME_NONE = 0, FRAME_GOOD, FRAME_BAD };
/* What stands at `place` of a segment's bytes. FRAME_NONE: nothing but zeros to the
 * end. */
enum frame_found frame_look(struct str segment, uint64_t segment_sum, uint64_t place,
                            struct frame_head *ret, struct str *ret_payload);
/* The next good frame at or behind `place` that was written when record seq was on disk
 * already: then what stands before it is damaged, not torn. At most some passes over
 * the bytes. */
bool frame_behind(struct str segment, uint64_t segment_sum, uint64_t place,
                  uint64_t seq, struct frame_head *ret);

#endif
