/* journal_reader.h - reads a journal back, frame by frame
 * Changes nothing on disk, also while another process writes: what is torn at the end
 * is left out. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_JOURNAL_READER_H
#define MUSTER_JOURNAL_READER_H

#include "event/records.h"
#include "journal/shelf.h"

struct journal_frame {
    uint64_t first_seq, last_seq;
    int64_t at; /* of the last record */
    uint32_t n;
    const struct records *records; /* until the next frame */
    const struct str *bytes;       /* of each record, as it was written */
};

/* Where the reading ended, and how. */
struct journal_end {
    uint64_t segment, place; /* behind the last good frame */
    uint64_t seq;
    int64_t at;
    uint64_t
        torn_bytes; /* of a frame that was being written; never on disk as a whole */
    bool closed;    /* the writer ended well */
    bool lost;      /* good frames behind this were given up, as told */
};

struct journal_reader;

/* Frames behind record after_seq (the end of a frame, or 0). accept_loss: NULL, or the
 * record behind which everything may be given up if a frame there is damaged; that is
 * told in the message of the refusal. 0 or -errno with err. */
int journal_reader_open(struct journal_reader **ret, const char *path,
                        uint64_t after_seq, const uint64_t *accept_loss,
                        struct err *err);
/* One segment's bytes in memory (fuzzing); borrowed. */
int journal_reader_open_mem(struct journal_reader **ret, struct str segment,
                            struct err *err);
/* 1, 0 at the end, -EBADMSG (a damaged frame with good ones behind it, a segment that
 * does not follow on) or -errno with err. */
int journal_reader_next(struct journal_reader *r, struct journal_frame *ret,
                        struct err *err);
/* After the end. */
void journal_reader_end(const struct journal_reader *r, struct journal_end *ret);
/* Head of the segment that the last frame came from. */
const struct segment_head *journal_reader_head(const struct journal_reader *r);
void journal_reader_close(struct journal_reader *r); /* NULL is fine */

#endif
