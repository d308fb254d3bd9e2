/* fuzz-journal.c - hostile bytes as a journal's segment
 * The first byte says what the rest is: 0, a whole segment; 1, what stands behind a good head; 2,
 * the payload of a good frame, whose number of records is the second byte. What is read must
 * follow on and be held in the bytes. SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "journal/journal_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void walk(struct str segment)
{
    struct journal_reader *r;
    struct journal_frame f;
    struct journal_end end;
    struct err err;
    uint64_t seq;
    int rc;
    if (journal_reader_open_mem(&r, segment, &err))
        return;
    journal_reader_end(r, &end);
    seq = end.seq;
    while ((rc = journal_reader_next(r, &f, &err)) > 0) {
        assert(f.first_seq == seq + 1 && f.last_seq == seq + f.n && f.n);
        for (uint32_t i = 0; i < f.n; i++)
            assert(f.bytes[i].ptr >= segment.ptr &&
                   f.bytes[i].ptr + f.bytes[i].len <= segment.ptr + segment.len);
        seq = f.last_seq;
    }
    assert(rc == 0 || err.code == -rc);
    journal_reader_end(r, &end);
    assert(end.place <= segment.len && end.seq == seq);
    journal_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct segment_head head = {.format = SEGMENT_FORMAT, .number = 1, .first_seq = 1};
    unsigned char bytes[SEGMENT_HEAD];
    struct buf b = {0};
    if (len < 2 || data[0] > 2)
        return 0;
    if (data[0] == 0) {
        walk((struct str){(const char *)data + 1, len - 1});
        return 0;
    }
    segment_head_put(&head, bytes);
    buf_add(&b, bytes, sizeof bytes);
    if (data[0] == 2) {
        struct frame_head h = {.length = (uint32_t)len - 2, .records = data[1],
                               .first_seq = 1};
        buf_pad(&b, 0, FRAME_HEAD);
        buf_add(&b, data + 2, len - 2);
        frame_seal(&h, head.sum, SEGMENT_HEAD, b.data + SEGMENT_HEAD);
        buf_pad(&b, 0, 100);
    } else {
        buf_add(&b, data + 1, len - 1);
    }
    walk(buf_as_str(&b));
    buf_done(&b);
    return 0;
}
