/* timeline_row.c - the profile of 16 nodes over time
 *
 * A row is a sorted list of times and, for each, a vector of 16 bytes: what each node
 * has free from then until the next time. Sixteen nodes are one compare, one minimum,
 * one subtraction (SSE4.1 on x86, plain C elsewhere). The first segment began "ever
 * ago": a booking that is on now starts there and needs no breakpoint, so a row of
 * running jobs has one segment an end. Segments that ended before now are dropped when
 * the row is next changed.
 *
 * Search (row_earliest): a window [s, s + d) is the minimum over its segments. On
 * failure at segment j walk back from j while enough nodes hold; the next start to try
 * is the segment after the one that breaks it, and what was walked is already known to
 * hold. So segments are looked at about twice a search, however long the window.
 * Windows end early at last_fall: after it nothing gets less.
 *
 * Bytes hold -128 .. 127 and nodes have at most 64 GPUs, so a node may be booked 128
 * beyond what it has. Bookings that do not fit (only a world that reports nonsense
 * makes them) are kept aside as `deep` and put in when they fit; until then their node
 * counts as unusable for searches. Additions wrap and are thus their own exact undo:
 * one that overflowed is subtracted again.
 *
 * After our own prototype; profiles of free processors over time for backfilling
 * are Mu'alem and Feitelson's (IEEE TPDS 12(6), 2001).
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/timeline_row.h"

#include <assert.h>

enum { ROOM_FIRST = 8 };

static void row_grow(struct row *r, uint32_t need)
{
    if (need <= r->room)
        return;
    uint32_t room = r->room + r->room / 2 > need ? r->room + r->room / 2 : need;
    lanes *free_ = mem_alloc(room * (sizeof *r->free + sizeof *r->at) + sizeof *r->at);
    int64_t *at = (int64_t *)(free_ + room);
    if (r->n) {
        memcpy(free_, r->free, r->n * sizeof *free_);
        memcpy(at, r->at, (r->n + 1) * sizeof *at);
    }
    free(r->free);
    r->free = free_;
    r->at = at;
    r->room = room;
}

static void row_length(struct row *r, uint32_t n)
{
    r->n = n;
    r->at[n] = TIMELINE_FOREVER;
}

void row_init(struct row *r, lanes cap)
{
    *r = (struct row){.cap = cap, .last_fall = TIMELINE_EVER};
    row_grow(r, ROOM_FIRST);
    r->at[0] = TIMELINE_EVER;
    r->free[0] = cap;
    row_length(r, 1);
}

void row_done(struct row *r)
{
    free(r->free); /* the times lie behind it */
    vec_done(&r->deep);
    r->free = NULL;
    r->at = NULL;
    r->n = r->room = 0;
}

void row_copy(struct row *into, const struct row *r)
{
    into->n = 0;
    row_grow(into, r->n);
    memcpy(into->at, r->at, r->n * sizeof *r->at);
    memcpy(into->free, r->free, r->n * sizeof *r->free);
    row_length(into, r->n);
    into->cap = r->cap;
    into->last_fall = r->last_fall;
    vec_clear(&into->deep);
    for (uint32_t i = 0; i < r->deep.n; i++)
        vec_push(&into->deep, r->deep.at[i]);
}

uint32_t row_find(const struct row *r, int64_t time)
{
    const int64_t *base = r->at;
    for (uint32_t n = r->n; n > 1;) {
        uint32_t half = n / 2;
        base += base[half] <= time ? half : 0;
        n -= half;
    }
    return (uint32_t)(base - r->at);
}

/* ---- changes ---- */

static void row_shift(struct row *r, uint32_t first, uint32_t end, int32_t by)
{
    size_t n = end - first;
    memmove(r->at + first + by, r->at + first, n * sizeof *r->at);
    memmove(r->free + first + by, r->free + first, n * sizeof *r->free);
}

static void row_trim(struct row *r, int64_t now)
{
    if (r->n < 2 || r->at[1] > now)
        return;
    uint32_t k = row_find(r, now);
    if (r->last_fall <= r->at[k])
        r->last_fall = TIMELINE_EVER;
    row_shift(r, k, r->n, -(int32_t)k);
    row_length(r, r->n - k);
    r->at[0] = TIMELINE_EVER;
}

static bool row_falls(const struct row *r, uint32_t i)
{
    return i > 0 && i < r->n && lanes_any(r->free[i] < r->free[i - 1]);
}

/* Segment i begins at a changed border: keep last_fall, join equal neighbours. */
static void row_border(struct row *r, uint32_t i)
{
    if (i == 0 || i >= r->n)
        return;
    int64_t time = r->at[i];
    if (row_falls(r, i)) {
        if (r->last_fall < time)
            r->last_fall = time;
    } else if (r->last_fall == time) {
        uint32_t k = i;
        while (k > 0 && !row_falls(r, k))
            k--;
        r->last_fall = k ? r->at[k] : TIMELINE_EVER;
    }
    if (lanes_equal(r->free[i], r->free[i - 1])) {
        row_shift(r, i + 1, r->n, -1);
        row_length(r, r->n - 1);
    }
}

/* Make borders at from and until; *ret_lo .. *ret_hi are the segments between. */
static void row_split(struct row *r, int64_t from, int64_t until, uint32_t *ret_lo,
                      uint32_t *ret_hi)
{
    row_grow(r, r->n + 2);
    uint32_t i = from == TIMELINE_EVER ? 0 : row_find(r, from), j = r->n;
    bool a = r->at[i] != from, b = false;
    if (until != TIMELINE_FOREVER) {
        j = row_find(r, until);
        b = r->at[j] != until;
        j += b;
    }
    if (a + b)
        row_shift(r, j, r->n, a + b);
    if (a) {
        row_shift(r, i + 1, j, 1);
        r->at[i + 1] = from;
        r->free[i + 1] = r->free[i];
    }
    if (b) {
        r->at[j + a] = until;
        r->free[j + a] = r->free[j + a - 1];
    }
    row_length(r, r->n + a + b);
    *ret_lo = i + a;
    *ret_hi = j + a;
}

/* Returns the lanes that overflowed; then nothing has changed. */
static uint32_t row_try(struct row *r, lanes delta, int64_t from, int64_t until)
{
    uint32_t lo, hi;
    row_split(r, from, until, &lo, &hi);
    lanes wrong = {0}, up = delta > 0, most = lanes_all(INT8_MIN);
    for (uint32_t i = lo; i < hi; i++) {
        lanes old = r->free[i], new = (lanes)((ulanes)old + (ulanes)delta);
        wrong |= (new > old) ^ up;
        most = lanes_max(most, new);
        r->free[i] = new;
    }
    uint32_t bad = lanes_reach(-wrong, 1);
    if (bad)
        for (uint32_t i = lo; i < hi; i++)
            r->free[i] = (lanes)((ulanes)r->free[i] - (ulanes)delta);
    else
        assert(!(lanes_reach(-(most > r->cap), 1) & ~row_deep(r)));
    row_border(r, hi);
    row_border(r, lo);
    return bad;
}

static lanes lanes_keep(lanes v, uint32_t mask)
{
    for (uint32_t i = 0; i < TIMELINE_ROW; i++)
        if (!(mask >> i & 1))
            v[i] = 0;
    return v;
}

static void row_aside(struct row *r, lanes delta, uint32_t bad, int64_t from,
                      int64_t until)
{
    for (uint32_t m = bad; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        vec_push(&r->deep, (struct deep_op){from, until, delta[lane], (uint8_t)lane});
    }
    uint32_t rest = ~bad;
    if (lanes_any(lanes_keep(delta, rest))) {
        uint32_t none = row_try(r, lanes_keep(delta, rest), from, until);
        assert(!none);
    }
}

/* Put in what fits by now; one that went in may make room for another. */
static void row_absorb(struct row *r, int64_t now)
{
    for (uint32_t i = 0; i < r->deep.n;) {
        struct deep_op op = r->deep.at[i];
        lanes delta = {0};
        delta[op.lane] = op.delta;
        if (op.from <= now)
            op.from = TIMELINE_EVER;
        if (op.until > now && row_try(r, delta, op.from, op.until)) {
            i++;
            continue;
        }
        r->deep.at[i] = r->deep.at[--r->deep.n];
        i = 0;
    }
}

void row_add(struct row *r, lanes delta, int64_t from, int64_t until, int64_t now)
{
    row_trim(r, now);
    if (from <= now)
        from = TIMELINE_EVER;
    uint32_t bad = row_try(r, delta, from, until);
    if (bad)
        row_aside(r, delta, bad, from, until);
    if (r->deep.n)
        row_absorb(r, now);
}

void row_settle(struct row *r, int64_t now)
{
    row_trim(r, now);
    row_absorb(r, now);
}

/* ---- questions ---- */

lanes row_least(const struct row *r, uint32_t first, int64_t until)
{
    lanes v = r->free[first];
    if (until > r->last_fall)
        until = r->last_fall + 1; /* nothing gets less after it (EVER + 1: none) */
    while (r->at[++first] < until)
        v = lanes_min(v, r->free[first]);
    return v;
}

lanes row_window(const struct row *r, int64_t from, int64_t until)
{
    return row_least(r, row_find(r, from), until);
}

lanes row_most(const struct row *r, int64_t from, int64_t last)
{
    uint32_t i = row_find(r, last);
    lanes v = r->free[i];
    while (i > 0 && r->at[i] > from && r->last_fall > from)
        v = lanes_max(v, r->free[--i]);
    return v;
}

uint32_t row_deep(const struct row *r)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < r->deep.n; i++)
        mask |= 1u << r->deep.at[i].lane;
    return mask;
}

static int32_t row_free_at(const struct row *r, uint32_t lane, int64_t time)
{
    int32_t sum = r->free[row_find(r, time)][lane];
    for (uint32_t i = 0; i < r->deep.n; i++) {
        const struct deep_op *op = &r->deep.at[i];
        if (op->lane == lane && op->from <= time && time < op->until)
            sum += op->delta;
    }
    return sum;
}

int32_t row_free(const struct row *r, uint32_t lane, int64_t from, int64_t until)
{
    if (!(row_deep(r) >> lane & 1))
        return row_window(r, from, until)[lane];
    int32_t least = row_free_at(r, lane, from), v;
    for (uint32_t i = row_find(r, from) + 1; i < r->n && r->at[i] < until; i++)
        if ((v = row_free_at(r, lane, r->at[i])) < least)
            least = v;
    for (uint32_t i = 0; i < r->deep.n; i++) {
        int64_t ends[] = {r->deep.at[i].from, r->deep.at[i].until};
        for (uint32_t k = 0; k < 2; k++)
            if (ends[k] > from && ends[k] < until &&
                (v = row_free_at(r, lane, ends[k])) < least)
                least = v;
    }
    return least;
}

/* Where a window's last segment must have begun: at its end, or when nothing falls any
 * more. */
static inline int64_t row_stop(const struct row *r, const struct want *w, int64_t start)
{
    int64_t end = timeline_end(start, w->duration_us);
    return end > r->last_fall ? r->last_fall + 1 : end;
}

static inline bool row_holds(const struct want *w, lanes v, uint32_t mask,
                             uint32_t need)
{
    if (need == 1)
        return (lanes_reach(v, w->gpus) & mask) != 0;
    return want_places(w, v, mask) >= need;
}

static inline __attribute__((always_inline)) int64_t
row_search(const struct row *r, const struct want *w, uint32_t mask, uint32_t need,
           int64_t start, lanes *ret_window)
{
    int64_t stop = row_stop(r, w, start);
    size_t j = row_find(r, start);
    lanes v = r->free[j]; /* minimum from start to segment j */
    while (start <= w->not_after) {
        while (row_holds(w, v, mask, need)) {
            if (r->at[++j] >= stop) {
                if (ret_window)
                    *ret_window = v;
                return start;
            }
            v = lanes_min(v, r->free[j]);
        }
        size_t k = j;
        v = r->free[j];
        if (row_holds(w, v, mask, need)) {
            lanes u;
            while (u = lanes_min(v, r->free[k - 1]), row_holds(w, u, mask, need)) {
                v = u;
                k--;
            }
        } else {
            do { /* FOREVER at [n] ends it */
                if (r->at[++j] > w->not_after)
                    return TIMELINE_NEVER;
                v = r->free[j];
            } while (!row_holds(w, v, mask, need));
            k = j;
        }
        start = r->at[k];
        stop = row_stop(r, w, start);
    }
    return TIMELINE_NEVER;
}

int64_t row_earliest(const struct row *r, const struct want *w, uint32_t mask,
                     uint32_t need, int64_t from, lanes *ret_window)
{
    return need == 1 ? row_search(r, w, mask, 1, from, ret_window)
                     : row_search(r, w, mask, need, from, ret_window);
}

void row_check(const struct row *r)
{
    int64_t fall = TIMELINE_EVER;
    assert(r->n >= 1 && r->n <= r->room && r->at[0] == TIMELINE_EVER);
    assert(r->at[r->n] == TIMELINE_FOREVER);
    for (uint32_t i = 1; i < r->n; i++) {
        assert(r->at[i - 1] < r->at[i] && r->at[i] < TIMELINE_FOREVER);
        assert(!lanes_equal(r->free[i - 1], r->free[i]));
        if (row_falls(r, i))
            fall = r->at[i];
    }
    assert(r->last_fall == fall);
    for (uint32_t i = 0; i < r->n; i++)
        assert(!(lanes_reach(-(r->free[i] > r->cap), 1) & ~row_deep(r)));
}
