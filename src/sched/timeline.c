/* timeline.c - the whole GPUs that are free on each node, over time to come
 *
 * Nodes lie in rows of 16 (timeline_row.c), in which bookings are made; a booking costs
 * a binary search, the segments it covers and the move of those behind it. Starts are
 * found by timeline_search.c, whole plans made by timeline_plan.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/timeline.h"

#include <assert.h>

#include "sched/timeline_search.h"

/* ---- life ---- */

static struct timeline *timeline_new(uint32_t nnodes, int64_t now)
{
    struct timeline *t = mem_zero(sizeof *t);
    t->now = now;
    t->nnodes = nnodes;
    t->nrows = (nnodes + TIMELINE_ROW - 1) / TIMELINE_ROW;
    t->rows = mem_zero(t->nrows * sizeof *t->rows);
    t->search = mem_zero(t->nrows * sizeof *t->search);
    t->windows = mem_zero(t->nrows * sizeof *t->windows);
    bounds_init(&t->rises, t->nrows, TIMELINE_NEVER);
    return t;
}

struct timeline *timeline_create(uint32_t nnodes, const uint8_t *gpus, int64_t now)
{
    assert(now >= 0);
    struct timeline *t = timeline_new(nnodes, now);
    for (uint32_t i = 0; i < t->nrows; i++) {
        lanes cap = {0};
        for (uint32_t k = 0; gpus && k < TIMELINE_ROW; k++) {
            uint32_t rank = i * TIMELINE_ROW + k;
            assert(rank >= nnodes || gpus[rank] <= TIMELINE_GPUS_MAX);
            cap[k] = rank < nnodes ? (int8_t)gpus[rank] : 0;
        }
        row_init(&t->rows[i], cap);
    }
    return t;
}

void timeline_destroy(struct timeline *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; i < t->nrows; i++)
        row_done(&t->rows[i]);
    free(t->rows);
    free(t->search);
    free(t->windows);
    bounds_done(&t->rises);
    timeline_found_done(&t->tried);
    free(t);
}

void timeline_copy(struct timeline *into, const struct timeline *t)
{
    assert(into->nnodes == t->nnodes);
    into->now = t->now;
    for (uint32_t i = 0; i < t->nrows; i++)
        row_copy(&into->rows[i], &t->rows[i]);
}

struct timeline *timeline_clone(const struct timeline *t)
{
    struct timeline *c = timeline_new(t->nnodes, t->now);
    timeline_copy(c, t);
    return c;
}

void timeline_advance(struct timeline *t, int64_t now)
{
    assert(now >= t->now);
    t->now = now;
}

void timeline_found_done(struct timeline_found *found)
{
    vec_done(&found->seats);
}

/* ---- bookings ---- */

static struct row *timeline_row(struct timeline *t, uint32_t rank)
{
    assert(rank < t->nnodes);
    return &t->rows[rank / TIMELINE_ROW];
}

static bool timeline_counts(const struct timeline *t, int64_t from, int64_t until)
{
    return until > t->now && until > from;
}

void timeline_capacity(struct timeline *t, uint32_t rank, uint32_t gpus)
{
    assert(gpus <= TIMELINE_GPUS_MAX);
    struct row *r = timeline_row(t, rank);
    int8_t old = r->cap[rank % TIMELINE_ROW];
    lanes delta = {0};
    delta[rank % TIMELINE_ROW] = (int8_t)((int32_t)gpus - old);
    if ((int32_t)gpus > old)
        r->cap[rank % TIMELINE_ROW] = (int8_t)gpus;
    if ((int32_t)gpus != old)
        row_add(r, delta, TIMELINE_EVER, TIMELINE_FOREVER, t->now);
    r->cap[rank % TIMELINE_ROW] = (int8_t)gpus;
}

static void timeline_add(struct timeline *t, uint32_t rank, int32_t gpus, int64_t from,
                         int64_t until)
{
    assert(gpus >= -(int32_t)TIMELINE_GPUS_MAX && gpus <= (int32_t)TIMELINE_GPUS_MAX);
    struct row *r = timeline_row(t, rank);
    lanes delta = {0};
    delta[rank % TIMELINE_ROW] = (int8_t)gpus;
    if (gpus && timeline_counts(t, from, until))
        row_add(r, delta, from, until, t->now);
}

void timeline_book(struct timeline *t, uint32_t rank, uint32_t gpus, int64_t from,
                   int64_t until)
{
    timeline_add(t, rank, -(int32_t)gpus, from, until);
}

void timeline_release(struct timeline *t, uint32_t rank, uint32_t gpus, int64_t from,
                      int64_t until)
{
    timeline_add(t, rank, (int32_t)gpus, from, until);
}

static void timeline_add_seats(struct timeline *t, const struct timeline_seat *seats,
                               uint32_t nseats, int32_t gpus, int64_t from,
                               int64_t until)
{
    if (!gpus || !timeline_counts(t, from, until))
        return;
    for (uint32_t i = 0; i < nseats;) {
        struct row *r = timeline_row(t, seats[i].rank);
        uint32_t row = seats[i].rank / TIMELINE_ROW;
        lanes delta = {0};
        for (; i < nseats && seats[i].rank / TIMELINE_ROW == row; i++) {
            int64_t sum = (int64_t)seats[i].tasks * gpus;
            assert(sum >= -(int64_t)TIMELINE_GPUS_MAX && sum <= TIMELINE_GPUS_MAX);
            assert(seats[i].rank < t->nnodes && !delta[seats[i].rank % TIMELINE_ROW]);
            delta[seats[i].rank % TIMELINE_ROW] = (int8_t)sum;
        }
        row_add(r, delta, from, until, t->now);
    }
}

void timeline_book_seats(struct timeline *t, const struct timeline_seat *seats,
                         uint32_t nseats, uint32_t gpus, int64_t from, int64_t until)
{
    timeline_add_seats(t, seats, nseats, -(int32_t)gpus, from, until);
}

void timeline_release_seats(struct timeline *t, const struct timeline_seat *seats,
                            uint32_t nseats, uint32_t gpus, int64_t from, int64_t until)
{
    timeline_add_seats(t, seats, nseats, (int32_t)gpus, from, until);
}

int32_t timeline_free(const struct timeline *t, uint32_t rank, int64_t from,
                      int64_t until)
{
    assert(rank < t->nnodes && from <= until);
    if (from < t->now)
        from = t->now;
    return row_free(&t->rows[rank / TIMELINE_ROW], rank % TIMELINE_ROW, from, until);
}

/* ---- checks ---- */

void timeline_check(const struct timeline *t)
{
    for (uint32_t i = 0; i < t->nrows; i++)
        row_check(&t->rows[i]);
}

static bool rank_equal(const struct timeline *a, const struct timeline *b,
                       const struct timeline *borders, uint32_t rank)
{
    const struct row *r = &borders->rows[rank / TIMELINE_ROW];
    int64_t now = a->now;
    bool same = timeline_free(a, rank, now, now) == timeline_free(b, rank, now, now);
    for (uint32_t i = 1; same && i < r->n; i++)
        if (r->at[i] > now)
            same = timeline_free(a, rank, r->at[i], r->at[i]) ==
                   timeline_free(b, rank, r->at[i], r->at[i]);
    return same;
}

bool timeline_equal(const struct timeline *a, const struct timeline *b)
{
    if (a->nnodes != b->nnodes || a->now != b->now)
        return false;
    for (uint32_t i = 0; i < a->nnodes; i++)
        if (!rank_equal(a, b, a, i) || !rank_equal(a, b, b, i))
            return false;
    return true;
}

size_t timeline_bytes(const struct timeline *t)
{
    size_t sum = sizeof *t;
    for (uint32_t i = 0; i < t->nrows; i++)
        sum += sizeof(struct row) + sizeof *t->search + sizeof *t->windows +
               sizeof(int64_t) + t->rows[i].room * (sizeof(lanes) + sizeof(int64_t)) +
               t->rows[i].deep.room * sizeof(struct deep_op);
    return sum;
}
