/* segment.c - the bytes of a journal's files
 *
 * Head, 256 bytes: magic 8, format 4, term 4, number 8, first_seq 8, at 8, policy 8,
 * catalogue 8, topology 8, build 72, cluster 80, zeros, and in the last 8 the xxh64 of
 * all before. Frame, 48 bytes and its records: xxh64 8 (of all that follows), magic 4,
 * length 4, flags 4, records 4, first_seq 8, durable_seq 8, at 8.
 * SPDX-License-Identifier: Apache-2.0 */
#include "journal/segment.h"

#include <errno.h>

#include "base/hash.h"

#define SEGMENT_MAGIC "musterJ\n"
#define FRAME_MAGIC "mFr\n"

static void put32(void *p, uint32_t x)
{
    unsigned char *at = p;
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(x >> 8 * i);
}

static void put64(void *p, uint64_t x)
{
    put32(p, (uint32_t)x);
    put32((char *)p + 4, (uint32_t)(x >> 32));
}

static uint32_t get32(const void *p)
{
    const unsigned char *at = p;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

static uint64_t get64(const void *p)
{
    return get32(p) | (uint64_t)get32((const char *)p + 4) << 32;
}

static size_t text_len(const char *z, size_t room)
{
    size_t n = strnlen(z, room);
    return n < room ? n : room - 1;
}

void segment_head_put(struct segment_head *h, unsigned char out[SEGMENT_HEAD])
{
    memset(out, 0, SEGMENT_HEAD);
    memcpy(out, SEGMENT_MAGIC, 8);
    put32(out + 8, h->format);
    put32(out + 12, h->term);
    put64(out + 16, h->number);
    put64(out + 24, h->first_seq);
    put64(out + 32, (uint64_t)h->at);
    put64(out + 40, h->policy);
    put64(out + 48, h->catalogue);
    put64(out + 56, h->topology);
    memcpy(out + 64, h->build, text_len(h->build, sizeof h->build));
    memcpy(out + 136, h->cluster, text_len(h->cluster, sizeof h->cluster));
    h->sum = XXH64(out, SEGMENT_HEAD - 8, 0);
    put64(out + SEGMENT_HEAD - 8, h->sum);
}

int segment_head_get(struct segment_head *ret, struct str bytes, struct err *err)
{
    const char *in = bytes.ptr;
    if (bytes.len < SEGMENT_HEAD)
        return err_set(err, EBADMSG, "its head is cut short");
    if (memcmp(in, SEGMENT_MAGIC, 8) != 0)
        return err_set(err, EBADMSG, "it does not begin as a journal's segment does");
    if (get64(in + SEGMENT_HEAD - 8) != XXH64(in, SEGMENT_HEAD - 8, 0))
        return err_set(err, EBADMSG, "its head is damaged");
    struct segment_head h = {
        .format = get32(in + 8),
        .term = get32(in + 12),
        .number = get64(in + 16),
        .first_seq = get64(in + 24),
        .at = (int64_t)get64(in + 32),
        .policy = get64(in + 40),
        .catalogue = get64(in + 48),
        .topology = get64(in + 56),
        .sum = get64(in + SEGMENT_HEAD - 8),
    };
    memcpy(h.build, in + 64, sizeof h.build - 1);
    memcpy(h.cluster, in + 136, sizeof h.cluster - 1);
    if (h.format < SEGMENT_OLDEST || h.format > SEGMENT_FORMAT)
        return err_set(err, ENOTSUP, "its format is %u; this build reads %d to %d",
                       h.format, SEGMENT_OLDEST, SEGMENT_FORMAT);
    *ret = h;
    return 0;
}

void frame_seal(const struct frame_head *h, uint64_t segment_sum, uint64_t place,
                char *frame)
{
    memcpy(frame + 8, FRAME_MAGIC, 4);
    put32(frame + 12, h->length);
    put32(frame + 16, h->flags);
    put32(frame + 20, h->records);
    put64(frame + 24, h->first_seq);
    put64(frame + 32, h->durable_seq);
    put64(frame + 40, (uint64_t)h->at);
    put64(frame,
          XXH64(frame + 8, FRAME_HEAD - 8 + (size_t)h->length, segment_sum + place));
}

static bool all_zero(const char *p, size_t n)
{
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

static bool frame_good(struct str segment, uint64_t segment_sum, uint64_t place,
                       struct frame_head *ret)
{
    if (place > segment.len || segment.len - place < FRAME_HEAD)
        return false;
    const char *in = segment.ptr + place;
    *ret = (struct frame_head){
        .length = get32(in + 12),
        .flags = get32(in + 16),
        .records = get32(in + 20),
        .first_seq = get64(in + 24),
        .durable_seq = get64(in + 32),
        .at = (int64_t)get64(in + 40),
    };
    if (memcmp(in + 8, FRAME_MAGIC, 4) != 0 || ret->length > FRAME_MAX ||
        ret->length > segment.len - place - FRAME_HEAD)
        return false;
    return get64(in) ==
           XXH64(in + 8, FRAME_HEAD - 8 + (size_t)ret->length, segment_sum + place);
}

enum frame_found frame_look(struct str segment, uint64_t segment_sum, uint64_t place,
                            struct frame_head *ret, struct str *ret_payload)
{
    if (place >= segment.len)
        return FRAME_NONE;
    if (frame_good(segment, segment_sum, place, ret)) {
        *ret_payload = (struct str){segment.ptr + place + FRAME_HEAD, ret->length};
        return FRAME_GOOD;
    }
    return all_zero(segment.ptr + place, segment.len - place) ? FRAME_NONE : FRAME_BAD;
}

/* Passes over a segment's bytes that a search may cost: text full of magics that are
 * none would otherwise cost its square. */
enum { PASSES_MAX = 64 };

bool frame_behind(struct str segment, uint64_t segment_sum, uint64_t place,
                  uint64_t seq, struct frame_head *ret)
{
    uint64_t hashed = 0;
    while (place + FRAME_HEAD <= segment.len) {
        const char *from = segment.ptr + place + 8;
        const char *hit = memmem(from, segment.len - place - 8, FRAME_MAGIC, 4);
        if (!hit)
            return false;
        place = (uint64_t)(hit - segment.ptr) - 8;
        if (frame_good(segment, segment_sum, place, ret) && ret->durable_seq >= seq)
            return true;
        hashed += ret->length <= segment.len ? ret->length : 0;
        if (hashed > (uint64_t)PASSES_MAX * segment.len) {
            *ret = (struct frame_head){0};
            return true; /* not to be told apart: the careful answer */
        }
        place++;
    }
    return false;
}
