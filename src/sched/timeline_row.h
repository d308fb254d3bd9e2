/* timeline_row.h - the profile of 16 nodes over time (private to timeline*.c)
 * See timeline_row.c. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TIMELINE_ROW_H
#define MUSTER_TIMELINE_ROW_H

#if defined(__SSE4_1__)
#include <smmintrin.h>
#endif

#include "sched/timeline.h"

/* One count a node, 16 nodes a vector. */
typedef int8_t lanes __attribute__((vector_size(TIMELINE_ROW)));
typedef uint8_t ulanes __attribute__((vector_size(TIMELINE_ROW)));

/* Before everything; the time of each row's first segment. */
#define TIMELINE_EVER INT64_MIN
/* No start, no change. */
#define TIMELINE_NEVER INT64_MAX

/* A booking that the bytes cannot hold. */
struct deep_op {
    int64_t from, until;
    int8_t delta;
    uint8_t lane;
};

struct row {
    int64_t *at;       /* segment i is [at[i], at[i+1]); EVER first, FOREVER at [n] */
    lanes *free;       /* of each segment; neighbours differ */
    int64_t last_fall; /* last segment's time that begins lower in some lane, or EVER */
    uint32_t n, room;
    lanes cap;
    VEC(struct deep_op) deep;
};

static inline lanes lanes_all(int8_t k)
{
    return (lanes){k, k, k, k, k, k, k, k, k, k, k, k, k, k, k, k};
}
/* Bit i: lane i holds at least k. */
static inline uint32_t lanes_reach(lanes v, int32_t k)
{
    lanes m = v > lanes_all((int8_t)(k - 1));
#if defined(__SSE4_1__)
    return (uint32_t)_mm_movemask_epi8((__m128i)m);
#else
    uint32_t bits = 0;
    for (uint32_t i = 0; i < TIMELINE_ROW; i++)
        bits |= (uint32_t)(m[i] & 1) << i;
    return bits;
#endif
}
static inline lanes lanes_min(lanes a, lanes b)
{
#if defined(__SSE4_1__)
    return (lanes)_mm_min_epi8((__m128i)a, (__m128i)b);
#else
    lanes less = a < b;
    return (a & less) | (b & ~less);
#endif
}
static inline lanes lanes_max(lanes a, lanes b)
{
#if defined(__SSE4_1__)
    return (lanes)_mm_max_epi8((__m128i)a, (__m128i)b);
#else
    lanes more = a > b;
    return (a & more) | (b & ~more);
#endif
}
static inline bool lanes_any(lanes m) /* of a comparison */
{
    uint64_t h[2];
    memcpy(h, &m, sizeof h);
    return (h[0] | h[1]) != 0;
}
static inline bool lanes_equal(lanes a, lanes b)
{
    return !lanes_any(a ^ b);
}

/* What a search wants of a row. */
struct want {
    int32_t gpus; /* of a task */
    int32_t most; /* tasks on one node, 1 .. */
    int64_t duration_us;
    int64_t not_after;
};

/* Places for such tasks when so much is free; only lanes of the mask count. */
static inline uint32_t want_places(const struct want *w, lanes v, uint32_t mask)
{
    uint32_t sum = 0;
    for (int32_t k = 1; k <= w->most; k++) {
        uint32_t nodes = lanes_reach(v, k * w->gpus) & mask;
        if (!nodes)
            break;
        sum += (uint32_t)__builtin_popcount(nodes);
    }
    return sum;
}

void row_init(struct row *r, lanes cap);
void row_done(struct row *r);
void row_copy(struct row *into, const struct row *r);
/* Add to each lane during [from, until), from < until, now < until. */
void row_add(struct row *r, lanes delta, int64_t from, int64_t until, int64_t now);
/* Time has gone on: forget the past, and with it what was too much. */
void row_settle(struct row *r, int64_t now);
/* The segment that holds the time. */
uint32_t row_find(const struct row *r, int64_t time);
/* Least free of each lane during [from, until), without the deep bookings. */
lanes row_window(const struct row *r, int64_t from, int64_t until);
/* The same when the segment that holds `from` is known. */
lanes row_least(const struct row *r, uint32_t first, int64_t until);
/* Most free of each lane at any time in [from, last]. */
lanes row_most(const struct row *r, int64_t from, int64_t last);
/* The same of one lane, with them. */
int32_t row_free(const struct row *r, uint32_t lane, int64_t from, int64_t until);
/* Lanes that no search may use. */
uint32_t row_deep(const struct row *r);
/* Earliest start in [from, w->not_after] with `need` places on the lanes of the mask,
 * or TIMELINE_NEVER. ret_window (may be NULL): the least free of each lane then. */
int64_t row_earliest(const struct row *r, const struct want *w, uint32_t mask,
                     uint32_t need, int64_t from, lanes *ret_window);
void row_check(const struct row *r);

#endif
