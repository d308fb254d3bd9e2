/* forecast.c - the sketches and their tables
 * Buckets as in HdrHistogram: seconds below 8 one by one, above that eight to an
 * octave, so a bucket is at most an eighth of its value wide; inside a bucket ends are
 * taken to lie evenly. Rows are found by key; their order is that of their making and
 * orders nothing. SPDX-License-Identifier: Apache-2.0 */
#include "sched/forecast.h"

#include <errno.h>

#include "base/hash.h"

#define US INT64_C(1000000)
enum {
    SUB_BITS = 3,
    SUBS = 1 << SUB_BITS,
    UNIT = 16 /* an end's weight: halved a few times it still counts */
};
#define SECONDS_MAX ((INT64_C(1) << 25) - 1)

static uint32_t bucket_of(int64_t us)
{
    uint64_t s = us <= 0 ? 0 : (uint64_t)(us / US);
    if (s > (uint64_t)SECONDS_MAX)
        s = (uint64_t)SECONDS_MAX;
    if (s < SUBS)
        return (uint32_t)s;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(s) - SUB_BITS;
    return (shift + 1) * SUBS + (uint32_t)(s >> shift) - SUBS;
}

static int64_t bucket_lo(uint32_t b)
{
    if (b < SUBS)
        return b * US;
    uint32_t shift = b / SUBS - 1;
    return (int64_t)(SUBS + b % SUBS) * (INT64_C(1) << shift) * US;
}

struct forecast_job forecast_job_of(struct str user, struct str queue,
                                    uint64_t gpu_milli)
{
    uint64_t gpus = (gpu_milli + 999) / 1000;
    uint64_t size = gpus <= 1 ? gpus : 65 - (uint64_t)__builtin_clzll(gpus - 1);
    uint64_t sized = digest_mix(97, size);
    uint64_t queued =
        digest_mix(digest_bytes(queue.ptr ? queue.ptr : "", queue.len, 98), size);
    struct forecast_job job = {{0, queued >> 1 | 1, sized >> 1 | 1, 1}};
    if (user.len)
        job.keys[0] = digest_mix(digest_bytes(user.ptr, user.len, 99), queued) >> 1 | 1;
    return job;
}

void forecast_done(struct forecast *f)
{
    vec_done(&f->rows);
    u64map_done(&f->ids);
    memset(f, 0, sizeof *f);
}

static uint32_t row_new(struct forecast *f, uint64_t key)
{
    uint32_t at = 0;
    if (f->rows.n < FORECAST_ROWS_MAX) {
        at = f->rows.n;
        vec_push(&f->rows, (struct forecast_row){0});
    } else {
        for (uint32_t i = 1; i < f->rows.n; i++) { /* of one end the finest goes */
            const struct forecast_row *a = &f->rows.at[i], *b = &f->rows.at[at];
            if (a->touched < b->touched ||
                (a->touched == b->touched && a->key < b->key))
                at = i;
        }
        u64map_del(&f->ids, f->rows.at[at].key);
    }
    f->rows.at[at] = (struct forecast_row){.key = key};
    u64map_put(&f->ids, key, at);
    return at;
}

static void row_fade(struct forecast_row *r)
{
    r->total = 0;
    for (uint32_t i = 0; i < FORECAST_BUCKETS; i++) {
        r->n[i] /= 2;
        r->total += r->n[i];
    }
}

void forecast_learn(struct forecast *f, const struct forecast_job *job, int64_t run_us)
{
    f->ends++;
    for (uint32_t l = FORECAST_LEVELS; l-- > 0;) {
        if (!job->keys[l])
            continue;
        uint32_t at = u64map_get(&f->ids, job->keys[l]);
        if (at == MAP_NONE)
            at = row_new(f, job->keys[l]);
        struct forecast_row *r = &f->rows.at[at];
        r->touched = f->ends;
        r->n[bucket_of(run_us)] += UNIT;
        r->total += UNIT;
        if (r->total >= FORECAST_MEMORY * UNIT)
            row_fade(r);
    }
}

/* The part of bucket b that lies beyond `from`, in 1/1024 of a weight. */
static uint64_t part_beyond(const struct forecast_row *r, uint32_t b, int64_t from)
{
    int64_t lo = bucket_lo(b), hi = bucket_lo(b + 1);
    if (from <= lo)
        return (uint64_t)r->n[b] << 10;
    return from >= hi ? 0
                      : ((uint64_t)r->n[b] << 10) * (uint64_t)(hi - from) /
                            (uint64_t)(hi - lo);
}

static int64_t row_ask(const struct forecast_row *r, int64_t ran, uint32_t quantile,
                       uint64_t enough)
{
    uint32_t first = bucket_of(ran);
    uint64_t beyond = part_beyond(r, first, ran);
    for (uint32_t b = first + 1; b < FORECAST_BUCKETS; b++)
        beyond += (uint64_t)r->n[b] << 10;
    if (beyond == 0 || beyond < (enough * UNIT) << 10)
        return 0;
    uint64_t need = (beyond * quantile + 99) / 100;
    for (uint32_t b = first; b < FORECAST_BUCKETS; b++) {
        uint64_t part = part_beyond(r, b, ran);
        if (need > part) {
            need -= part;
            continue;
        }
        int64_t lo = bucket_lo(b) > ran ? bucket_lo(b) : ran, hi = bucket_lo(b + 1);
        unsigned __int128 into = (unsigned __int128)(uint64_t)(hi - lo) * need / part;
        return lo + (int64_t)into > ran ? lo + (int64_t)into : ran + 1;
    }
    return 0;
}

int64_t forecast_ask(const struct forecast *f, const struct forecast_job *job,
                     int64_t ran_us, uint32_t quantile)
{
    int64_t ran = ran_us > 0 ? ran_us : 0;
    for (uint32_t l = 0; l < FORECAST_LEVELS; l++) {
        uint32_t at = job->keys[l] ? u64map_get(&f->ids, job->keys[l]) : MAP_NONE;
        int64_t answer = at == MAP_NONE
                             ? 0
                             : row_ask(&f->rows.at[at], ran, quantile,
                                       l + 1 < FORECAST_LEVELS ? FORECAST_ENOUGH : 1);
        if (answer)
            return answer;
    }
    return 0;
}

/* --- as bytes: numbers little-endian, of each row the buckets that are not empty ---
 */

static void put(struct buf *out, uint64_t v, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        buf_char(out, (char)(v >> (8 * i) & 255));
}

static bool get(struct str *in, uint64_t *v, uint32_t bytes)
{
    *v = 0;
    if (in->len < bytes)
        return false;
    for (uint32_t i = 0; i < bytes; i++)
        *v |= (uint64_t)(unsigned char)in->ptr[i] << (8 * i);
    in->ptr += bytes;
    in->len -= bytes;
    return true;
}

void forecast_save(const struct forecast *f, struct buf *out)
{
    put(out, f->ends, 8);
    put(out, f->rows.n, 4);
    for (uint32_t i = 0; i < f->rows.n; i++) {
        const struct forecast_row *r = &f->rows.at[i];
        uint32_t used = 0;
        for (uint32_t b = 0; b < FORECAST_BUCKETS; b++)
            used += r->n[b] != 0;
        put(out, r->key, 8);
        put(out, r->touched, 8);
        put(out, used, 1);
        for (uint32_t b = 0; b < FORECAST_BUCKETS; b++) {
            if (!r->n[b])
                continue;
            put(out, b, 1);
            put(out, r->n[b], 2);
        }
    }
}

static bool row_get(struct str *in, struct forecast *f)
{
    struct forecast_row r = {0};
    uint64_t used, b, n;
    if (!get(in, &r.key, 8) || !get(in, &r.touched, 8) || !get(in, &used, 1) ||
        r.key == UINT64_MAX || u64map_get(&f->ids, r.key) != MAP_NONE)
        return false;
    for (uint64_t i = 0; i < used; i++) {
        if (!get(in, &b, 1) || !get(in, &n, 2) || b >= FORECAST_BUCKETS || r.n[b])
            return false;
        r.n[b] = (uint16_t)n;
        r.total += (uint32_t)n;
    }
    if (r.total >= FORECAST_MEMORY * UNIT)
        return false;
    u64map_put(&f->ids, r.key, f->rows.n);
    vec_push(&f->rows, r);
    return true;
}

int forecast_load(struct forecast *f, struct str bytes)
{
    struct forecast got = {0};
    uint64_t n = 0;
    bool good =
        get(&bytes, &got.ends, 8) && get(&bytes, &n, 4) && n <= FORECAST_ROWS_MAX;
    for (uint64_t i = 0; i < n && good; i++)
        good = row_get(&bytes, &got);
    if (!good || bytes.len) {
        forecast_done(&got);
        return -EBADMSG;
    }
    forecast_done(f);
    *f = got;
    return 0;
}

uint64_t forecast_digest(const struct forecast *f)
{
    uint64_t sum = digest_mix(101, f->ends);
    for (uint32_t i = 0; i < f->rows.n; i++) {
        const struct forecast_row *r = &f->rows.at[i];
        sum += digest_mix(digest_mix(r->key, r->touched),
                          digest_bytes(r->n, sizeof r->n, 0));
    }
    return sum;
}
