/* journal_reader.c - reads a journal back, frame by frame
 *
 * A segment's bytes are read at once. Where no good frame stands, the question is what
 * was lost: zeros to the end are the end; a frame that was on its way when the process
 * died is a torn tail and was never acted upon; but when a later frame says that
 * records behind this place were on disk already, or another segment follows, something
 * was damaged that had been promised to last, and reading refuses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "journal/journal_reader.h"

#include <errno.h>
#include <inttypes.h>

#include "event/codec.h"

#define SEGMENT_BYTES_MAX ((size_t)FRAME_MAX + (1u << 30))

struct journal_reader {
    struct shelf shelf;
    bool mem; /* one segment, in memory */
    bool over, loss_ok;
    uint64_t loss_seq;
    uint32_t next; /* of shelf.segments */
    struct buf buf;
    struct str bytes;
    struct segment_head head;
    struct journal_end end;
    struct records records;
    VEC(struct str) slices;
};

static int start(struct journal_reader *r)
{
    r->end.seq = r->head.first_seq - 1;
    r->end.at = r->head.at;
    return 0;
}

int journal_reader_open_mem(struct journal_reader **ret, struct str segment,
                            struct err *err)
{
    struct journal_reader *r = mem_zero(sizeof *r);
    r->mem = true;
    r->shelf.dir = -1;
    r->bytes = segment;
    int rc = segment_head_get(&r->head, segment, err);
    if (rc) {
        journal_reader_close(r);
        return rc;
    }
    r->end.segment = r->head.number;
    r->end.place = SEGMENT_HEAD;
    *ret = r;
    return start(r);
}

/* A file whose head never reached the disk: then nothing stands behind it either. */
static bool is_stillborn(const struct journal_reader *r)
{
    for (size_t i = SEGMENT_HEAD; i < r->bytes.len; i++)
        if (r->bytes.ptr[i])
            return false;
    return r->next + 1 == r->shelf.segments.n;
}

static int load(struct journal_reader *r, struct err *err)
{
    char name[SHELF_NAME_MAX];
    uint64_t number = r->shelf.segments.at[r->next];
    shelf_segment_name(number, name);
    int rc = shelf_slurp(r->shelf.dir, name, SEGMENT_BYTES_MAX, &r->buf, err);
    if (rc)
        return err_prefix(err, "%s", r->shelf.path);
    r->bytes = buf_as_str(&r->buf);
    rc = segment_head_get(&r->head, r->bytes, err);
    if (rc == -EBADMSG && is_stillborn(r)) {
        r->over = true;
        return 0;
    }
    if (!rc && r->head.number != number)
        rc = err_set(err, EBADMSG, "it calls itself segment %" PRIu64, r->head.number);
    if (rc)
        return err_prefix(err, "%s/%s", r->shelf.path, name);
    r->next++;
    r->end.segment = number;
    r->end.place = SEGMENT_HEAD;
    return 0;
}

/* The newest segment that begins at or before after_seq + 1. */
static int seek(struct journal_reader *r, uint64_t after_seq, struct err *err)
{
    struct segment_head h;
    while (r->next + 1 < r->shelf.segments.n) {
        int rc = shelf_head(&r->shelf, r->shelf.segments.at[r->next + 1], &h, err);
        if (rc == -EBADMSG)
            break; /* what that means is found out when it is its turn */
        if (rc)
            return rc;
        if (h.first_seq > after_seq + 1)
            break;
        r->next++;
    }
    return 0;
}

static int skip_to(struct journal_reader *r, uint64_t after_seq, struct err *err)
{
    struct frame_head h;
    struct str payload;
    if (r->over)
        return 0;
    if (r->head.first_seq > after_seq + 1)
        return err_set(err, ENOENT,
                       "journal %s begins with record %" PRIu64
                       "; what stood before was removed",
                       r->shelf.path, r->head.first_seq);
    start(r);
    while (r->end.seq < after_seq &&
           frame_look(r->bytes, r->head.sum, r->end.place, &h, &payload) ==
               FRAME_GOOD &&
           h.first_seq == r->end.seq + 1 && !(h.flags & FRAME_CLOSED)) {
        r->end.seq += h.records;
        r->end.at = h.at;
        r->end.place += FRAME_HEAD + (uint64_t)h.length;
    }
    if (r->end.seq != after_seq)
        return err_set(err, EBADMSG,
                       "journal %s: record %" PRIu64 " is not the last of a frame "
                       "that is there",
                       r->shelf.path, after_seq);
    return 0;
}

int journal_reader_open(struct journal_reader **ret, const char *path,
                        uint64_t after_seq, const uint64_t *accept_loss,
                        struct err *err)
{
    struct journal_reader *r = mem_zero(sizeof *r);
    r->loss_ok = accept_loss != NULL;
    r->loss_seq = accept_loss ? *accept_loss : 0;
    r->end.seq = after_seq;
    int rc = shelf_open(&r->shelf, path, err);
    if (!rc && !r->shelf.segments.n)
        r->over = true;
    if (!rc && !r->over)
        rc = seek(r, after_seq, err);
    if (!rc && !r->over)
        rc = load(r, err);
    if (!rc)
        rc = skip_to(r, after_seq, err);
    if (rc) {
        journal_reader_close(r);
        return rc;
    }
    *ret = r;
    return 0;
}

/* Something that was promised to last is damaged. */
static int refuse(struct journal_reader *r, const char *what, struct err *err)
{
    char name[SHELF_NAME_MAX];
    r->over = true;
    if (r->loss_ok && r->loss_seq == r->end.seq) {
        r->end.lost = true;
        return 0;
    }
    shelf_segment_name(r->end.segment, name);
    return err_set(err, EBADMSG,
                   "%s%s%s: %s at byte %" PRIu64 ", and records behind it were on "
                   "disk: to give up all behind record %" PRIu64
                   ", accept that loss by this "
                   "number",
                   r->shelf.path ? r->shelf.path : "", r->shelf.path ? "/" : "", name,
                   what, r->end.place, r->end.seq);
}

static int decode(struct journal_reader *r, const struct frame_head *h,
                  struct str payload, struct err *err)
{
    records_clear(&r->records);
    vec_clear(&r->slices);
    for (uint32_t i = 0; i < h->records; i++) {
        const char *from = payload.ptr;
        int rc = record_decode(&payload, &r->records, err);
        const struct record *rec = &r->records.list.at[i];
        if (!rc && rec->seq != h->first_seq + i)
            rc = err_set(err, EBADMSG, "it does not follow on");
        if (!rc && i + 1 == h->records && (rec->at != h->at || payload.len))
            rc = err_set(err, EBADMSG, "its frame ends otherwise");
        if (rc)
            return err_prefix(err, "journal: record %" PRIu64, h->first_seq + i);
        vec_push(&r->slices, (struct str){from, (size_t)(payload.ptr - from)});
    }
    return 0;
}

static int bad(struct journal_reader *r, struct err *err)
{
    struct frame_head behind;
    if (r->next < r->shelf.segments.n ||
        frame_behind(r->bytes, r->head.sum, r->end.place + 1, r->end.seq + 1, &behind))
        return refuse(r, "the frame is damaged", err);
    r->end.torn_bytes = r->bytes.len - r->end.place;
    r->over = true;
    return 0;
}

/* The next segment: 1, 0 when there is none, -errno. */
static int turn_page(struct journal_reader *r, struct err *err)
{
    uint64_t place = r->end.place, segment = r->end.segment;
    if (r->mem || r->next == r->shelf.segments.n) {
        r->over = true;
        return 0;
    }
    int rc = load(r, err);
    if (rc || r->over)
        return rc;
    r->end.closed = false;
    if (r->head.first_seq == r->end.seq + 1)
        return 1;
    r->end.place = place;
    r->end.segment = segment;
    return refuse(r, "records are missing", err);
}

int journal_reader_next(struct journal_reader *r, struct journal_frame *ret,
                        struct err *err)
{
    struct frame_head h = {0};
    struct str payload = {0};
    while (!r->over) {
        enum frame_found found =
            frame_look(r->bytes, r->head.sum, r->end.place, &h, &payload);
        if (found == FRAME_BAD)
            return bad(r, err);
        if (found == FRAME_NONE) {
            int rc = turn_page(r, err);
            if (rc < 0)
                return rc;
            continue;
        }
        if (h.first_seq != r->end.seq + 1)
            return refuse(r, "a frame does not follow on", err);
        if (h.flags & FRAME_CLOSED) {
            r->end.closed = true;
            r->end.place += FRAME_HEAD + (uint64_t)h.length;
            continue;
        }
        int rc = h.records ? decode(r, &h, payload, err)
                           : err_set(err, EBADMSG, "journal: a frame without records");
        if (rc)
            return rc;
        r->end.place += FRAME_HEAD + (uint64_t)h.length;
        r->end.seq += h.records;
        r->end.at = h.at;
        *ret = (struct journal_frame){.first_seq = h.first_seq,
                                      .last_seq = r->end.seq,
                                      .at = h.at,
                                      .n = h.records,
                                      .records = &r->records,
                                      .bytes = r->slices.at};
        return 1;
    }
    return 0;
}

void journal_reader_end(const struct journal_reader *r, struct journal_end *ret)
{
    *ret = r->end;
}

const struct segment_head *journal_reader_head(const struct journal_reader *r)
{
    return &r->head;
}

void journal_reader_close(struct journal_reader *r)
{
    if (!r)
        return;
    shelf_done(&r->shelf);
    buf_done(&r->buf);
    records_done(&r->records);
    vec_done(&r->slices);
    free(r);
}
