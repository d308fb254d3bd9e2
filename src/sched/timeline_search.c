/* timeline_search.c - the earliest start of a gang, over rows of 16 nodes
 *
 * The rows of 16 nodes answer for themselves (timeline_row.c); here they are joined,
 * for the earliest start of n tasks in a range of ranks, from `from` on.
 *
 * Bound: each row has so many places were it empty. If all rows but r together have m,
 * then r must give at least n - m, and its own earliest start for that many bounds the
 * whole. Repeated until no row moves it; this alone finds the start of a gang that
 * needs most of its domain.
 *
 * Rises: at s, count the places of each row. If they are too few, go to the next time
 * when a count can rise (flat minima over the rows' own earliest starts of one place
 * more) and count that row anew. Counts can also fall as the window moves right: until
 * its next rise a row's count is an upper bound, and only when the sum seems enough are
 * rows that may have fallen since counted anew.
 *
 * Of several domains all are searched, each only up to the best start so far.
 * Cost: rows x (log s + the segments of the window), and the rises passed.
 *
 * Example: 2 rows, 20 tasks of 8 GPUs on whole nodes. Each row must give at least 4.
 * Row 0 gives 4 from 10:00, row 1 from 11:00: start at 11:00, say 10 + 8 places there.
 * Row 0 next gives 11 at 11:30, row 1 next 9 at 11:20: at 11:20 there are 19, at
 * 11:30 20.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/timeline_search.h"

#include <assert.h>

/* ---- bounds ---- */

void bounds_init(struct bounds *b, uint32_t n, int64_t all)
{
    b->n = n;
    b->groups = (n + TIMELINE_GROUP - 1) / TIMELINE_GROUP;
    b->at = mem_alloc((size_t)b->groups * TIMELINE_GROUP * sizeof *b->at);
    b->least = mem_alloc(b->groups * sizeof *b->least);
    for (uint32_t i = 0; i < b->groups * TIMELINE_GROUP; i++)
        b->at[i] = i < n ? all : TIMELINE_NEVER;
    for (uint32_t i = 0; i < b->groups; i++)
        b->least[i] = all;
}

void bounds_done(struct bounds *b)
{
    free(b->at);
    free(b->least);
}

/* n of them, all never; the memory is enough for that many. */
static void bounds_reset(struct bounds *b, uint32_t n)
{
    b->n = n;
    b->groups = (n + TIMELINE_GROUP - 1) / TIMELINE_GROUP;
    for (uint32_t i = 0; i < b->groups * TIMELINE_GROUP; i++)
        b->at[i] = TIMELINE_NEVER;
    for (uint32_t i = 0; i < b->groups; i++)
        b->least[i] = TIMELINE_NEVER;
}

static void bounds_lower(struct bounds *b, uint32_t i, int64_t time)
{
    uint32_t g = i / TIMELINE_GROUP;
    b->at[i] = time;
    b->least[g] = time < b->least[g] ? time : b->least[g];
}

void bounds_set(struct bounds *b, uint32_t i, int64_t time)
{
    uint32_t g = i / TIMELINE_GROUP;
    int64_t old = b->at[i], least = time;
    b->at[i] = time;
    if (time <= b->least[g]) {
        b->least[g] = time;
        return;
    }
    if (old > b->least[g])
        return;
    uint32_t end = (g + 1) * TIMELINE_GROUP < b->n ? (g + 1) * TIMELINE_GROUP : b->n;
    for (uint32_t k = g * TIMELINE_GROUP; k < end; k++)
        least = b->at[k] < least ? b->at[k] : least;
    b->least[g] = least;
}

uint32_t bounds_first(const struct bounds *b)
{
    uint32_t g = 0;
    for (uint32_t i = 1; i < b->groups; i++)
        if (b->least[i] < b->least[g])
            g = i;
    uint32_t k = g * TIMELINE_GROUP;
    while (b->at[k] != b->least[g])
        k++;
    return k;
}

/* ---- search ---- */

struct timeline_range timeline_domain(const struct timeline *t,
                                      const struct timeline_ask *ask, uint32_t domain)
{
    struct timeline_range range = {0, t->nnodes};
    if (ask->ndomains)
        range = ask->domains[domain];
    if (range.hi > t->nnodes)
        range.hi = t->nnodes;
    return range;
}

struct want timeline_want(const struct timeline_ask *ask)
{
    assert(ask->ntasks && ask->gpus && ask->gpus <= TIMELINE_GPUS_MAX);
    assert(ask->duration_us > 0);
    uint32_t most = TIMELINE_GPUS_MAX / ask->gpus;
    if (ask->per_node && most > ask->per_node)
        most = ask->per_node;
    if (most > ask->ntasks)
        most = ask->ntasks;
    return (struct want){.gpus = (int32_t)ask->gpus,
                         .most = (int32_t)most,
                         .duration_us = ask->duration_us,
                         .not_after = ask->not_after < TIMELINE_FOREVER
                                          ? ask->not_after
                                          : TIMELINE_FOREVER - 1};
}

uint32_t timeline_mask(struct timeline *t, const struct timeline_ask *ask,
                       struct timeline_range range, uint32_t row)
{
    uint32_t first = row * TIMELINE_ROW, mask = 0xffff;
    if (range.lo >= first + TIMELINE_ROW || range.hi <= first)
        return 0;
    if (range.lo > first)
        mask &= 0xffffu << (range.lo - first);
    if (range.hi < first + TIMELINE_ROW)
        mask &= 0xffffu >> (first + TIMELINE_ROW - range.hi);
    if (ask->usable)
        mask &= (uint32_t)(ask->usable[row / 4] >> (row % 4 * TIMELINE_ROW));
    if (t->rows[row].deep.n) {
        row_settle(&t->rows[row], t->now);
        mask &= ~row_deep(&t->rows[row]);
    }
    return mask;
}

/* One domain under search. */
struct domain {
    struct timeline *t;
    struct want want;
    uint32_t ntasks;
    uint32_t row0, nrows;
    uint64_t places; /* sum over the rows */
};

static int64_t row_falls_at(const struct row *r, const struct want *w, int64_t start)
{
    int64_t end = timeline_end(start, w->duration_us);
    if (end > r->last_fall)
        return TIMELINE_NEVER;
    uint32_t i = row_find(r, end);
    if (r->at[i] < end)
        i++; /* last_fall >= end: there is one */
    return r->at[i] - w->duration_us + 1;
}

/* Places at `start`, and until when that is so. */
static void domain_count(struct domain *d, uint32_t i, int64_t start)
{
    const struct row *r = &d->t->rows[d->row0 + i];
    struct search_row *x = &d->t->search[i];
    int64_t rise = TIMELINE_NEVER;
    d->places -= x->places;
    lanes v = row_window(r, start, timeline_end(start, d->want.duration_us));
    x->places = want_places(&d->want, v, x->mask);
    if (x->places < x->most)
        rise = row_earliest(r, &d->want, x->mask, x->places + 1, start, NULL);
    x->falls = row_falls_at(r, &d->want, start);
    d->places += x->places;
    bounds_set(&d->t->rises, i, rise);
}

/* Returns false if the gang is too large for the range. */
static bool domain_open(struct domain *d, const struct timeline_ask *ask,
                        struct timeline_range range)
{
    struct timeline *t = d->t;
    if (range.lo >= range.hi)
        return false;
    d->row0 = range.lo / TIMELINE_ROW;
    d->nrows = (range.hi - 1) / TIMELINE_ROW - d->row0 + 1;
    uint64_t most = 0;
    for (uint32_t i = 0; i < d->nrows; i++) {
        struct search_row *x = &t->search[i];
        x->mask = timeline_mask(t, ask, range, d->row0 + i);
        x->most = want_places(&d->want, t->rows[d->row0 + i].cap, x->mask);
        x->places = x->most;
        most += x->most;
    }
    d->places = most;
    return most >= d->ntasks;
}

/* Step 1 of the head of this file; d->places is the sum of the rows' `most`. */
static int64_t domain_bound(const struct domain *d, int64_t start)
{
    uint32_t calm = 0;
    uint64_t spare = d->places - d->ntasks;
    for (uint32_t i = 0; calm < d->nrows && start <= d->want.not_after;
         i = i + 1 < d->nrows ? i + 1 : 0) {
        const struct search_row *x = &d->t->search[i];
        int64_t s = start;
        if (x->most > spare)
            s = row_earliest(&d->t->rows[d->row0 + i], &d->want, x->mask,
                             x->most - (uint32_t)spare, start, NULL);
        calm = s == start ? calm + 1 : 1;
        start = s;
    }
    return start;
}

/* Count anew all rows whose count may have changed by `start`. */
static void domain_rise(struct domain *d, int64_t start)
{
    struct bounds *b = &d->t->rises;
    for (uint32_t i = bounds_first(b); b->at[i] <= start; i = bounds_first(b))
        domain_count(d, i, start);
}

static void domain_fall(struct domain *d, int64_t start)
{
    for (uint32_t i = 0; i < d->nrows; i++)
        if (d->t->search[i].falls <= start)
            domain_count(d, i, start);
}

/* The first counts; if they are too few, the rises too: no row can give more before a
 * segment that alone would. */
static void domain_first(struct domain *d, int64_t start)
{
    struct bounds *b = &d->t->rises;
    int64_t end = timeline_end(start, d->want.duration_us);
    bounds_reset(b, d->nrows);
    d->places = 0;
    for (uint32_t i = 0; i < d->nrows; i++) {
        const struct row *r = &d->t->rows[d->row0 + i];
        struct search_row *x = &d->t->search[i];
        x->first = row_find(r, start);
        x->places = want_places(&d->want, row_least(r, x->first, end), x->mask);
        x->falls = row_falls_at(r, &d->want, start);
        d->places += x->places;
    }
    if (d->places >= d->ntasks)
        return;
    for (uint32_t i = 0; i < d->nrows; i++) {
        const struct row *r = &d->t->rows[d->row0 + i];
        const struct search_row *x = &d->t->search[i];
        uint32_t k = x->first + 1;
        if (x->places == x->most)
            continue;
        while (r->at[k] <= d->want.not_after &&
               want_places(&d->want, r->free[k], x->mask) <= x->places)
            k++;
        bounds_lower(b, i, r->at[k]);
    }
}

/* With the most that each node has free at any time until the latest start there is too
 * little. Far cheaper than the search, and most domains are out of question once a good
 * one is known. */
static bool domain_hopeless(const struct domain *d, int64_t from)
{
    uint64_t places = 0;
    if (d->want.not_after == TIMELINE_FOREVER - 1)
        return false;
    for (uint32_t i = 0; i < d->nrows && places < d->ntasks; i++)
        places +=
            want_places(&d->want,
                        row_most(&d->t->rows[d->row0 + i], from, d->want.not_after),
                        d->t->search[i].mask);
    return places < d->ntasks;
}

static int64_t domain_earliest(struct domain *d, int64_t start)
{
    struct bounds *b = &d->t->rises;
    if (domain_hopeless(d, start))
        return TIMELINE_NEVER;
    start = domain_bound(d, start);
    if (start > d->want.not_after)
        return TIMELINE_NEVER;
    domain_first(d, start);
    while (d->places < d->ntasks) {
        start = b->at[bounds_first(b)];
        if (start > d->want.not_after)
            return TIMELINE_NEVER;
        domain_rise(d, start);
        if (d->places >= d->ntasks)
            domain_fall(d, start);
    }
    return start;
}

/* ---- seats ---- */

static void found_clear(struct timeline_found *ret, uint32_t domain, int64_t start)
{
    ret->domain = domain;
    ret->start = start;
    vec_clear(&ret->seats);
}

static void seats_lone(struct domain *d, struct timeline_found *ret)
{
    int64_t end = timeline_end(ret->start, d->want.duration_us);
    int32_t least = TIMELINE_GPUS_MAX + 1;
    struct timeline_seat best = {0, 1};
    for (uint32_t i = 0; i < d->nrows; i++) {
        if (!d->t->search[i].places)
            continue;
        lanes v = row_window(&d->t->rows[d->row0 + i], ret->start, end);
        uint32_t m = lanes_reach(v, d->want.gpus) & d->t->search[i].mask;
        for (; m; m &= m - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(m);
            if (v[lane] >= least)
                continue;
            least = v[lane];
            best.rank = (d->row0 + i) * TIMELINE_ROW + lane;
        }
    }
    vec_push(&ret->seats, best);
}

/* What each node has free during the gang's time, and how many nodes have k places or
 * more, for each k. */
static void seats_count(struct domain *d, int64_t start, uint32_t *ret_nodes)
{
    const struct want *w = &d->want;
    int64_t end = timeline_end(start, w->duration_us);
    lanes *windows = d->t->windows;
    for (uint32_t i = 0; i < d->nrows; i++) {
        windows[i] = lanes_all(0);
        if (!d->t->search[i].places) /* what was counted at the start */
            continue;
        windows[i] = row_window(&d->t->rows[d->row0 + i], start, end);
        for (int32_t k = 1; k <= w->most; k++) {
            uint32_t m = lanes_reach(windows[i], k * w->gpus) & d->t->search[i].mask;
            if (!m)
                break;
            ret_nodes[k] += (uint32_t)__builtin_popcount(m);
        }
    }
}

/* Nodes with more than k places are all used, with k as many as it takes. */
static void seats_gang(struct domain *d, struct timeline_found *ret)
{
    const struct want *w = &d->want;
    uint32_t nodes[TIMELINE_GPUS_MAX + 1] = {0}, left = d->ntasks;
    int32_t k = w->most;
    seats_count(d, ret->start, nodes);
    for (uint32_t above = 0;; k--) {
        uint32_t here = nodes[k] - above;
        if ((uint64_t)here * (uint32_t)k >= left || k == 1)
            break;
        left -= here * (uint32_t)k;
        above = nodes[k];
    }
    for (uint32_t i = 0; i < d->nrows; i++) {
        lanes v = d->t->windows[i];
        uint32_t m = lanes_reach(v, k * w->gpus) & d->t->search[i].mask;
        for (; m; m &= m - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(m);
            struct timeline_seat seat = {(d->row0 + i) * TIMELINE_ROW + lane, 0};
            int32_t has = v[lane] / w->gpus;
            seat.tasks = (uint32_t)(has < w->most ? has : w->most);
            if ((int32_t)seat.tasks == k) {
                seat.tasks = left < seat.tasks ? left : seat.tasks;
                left -= seat.tasks;
            }
            if (seat.tasks)
                vec_push(&ret->seats, seat);
        }
    }
    assert(left == 0);
}

/* ---- answers ---- */

/* Places in all: what a domain's tightness is measured by, so more than the gang needs
 * on one node counts too. */
static uint64_t domain_places(const struct domain *d, const struct timeline_ask *ask,
                              int64_t start)
{
    struct timeline_ask all = *ask;
    all.ntasks = TIMELINE_GPUS_MAX;
    struct want w = timeline_want(&all);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < d->nrows; i++) {
        lanes v = row_window(&d->t->rows[d->row0 + i], start,
                             timeline_end(start, w.duration_us));
        sum += want_places(&w, v, d->t->search[i].mask);
    }
    return sum;
}

struct choice {
    int64_t start;
    uint64_t places;
    uint32_t ranks, domain;
};

static bool choice_less(const struct choice *a, const struct choice *b)
{
    if (a->start != b->start)
        return a->start < b->start;
    if (a->places != b->places)
        return a->places < b->places;
    return a->ranks < b->ranks;
}

bool timeline_search(struct timeline *t, const struct timeline_ask *ask, int64_t from,
                     struct timeline_found *ret)
{
    struct domain d = {.t = t, .want = timeline_want(ask), .ntasks = ask->ntasks};
    struct choice best = {.start = TIMELINE_NEVER};
    uint32_t ndomains = ask->ndomains ? ask->ndomains : 1;
    for (uint32_t i = 0; i < ndomains; i++) {
        struct timeline_range range = timeline_domain(t, ask, i);
        struct choice c = {.ranks = range.hi - range.lo, .domain = i};
        if (!domain_open(&d, ask, range))
            continue;
        c.start = domain_earliest(&d, from);
        if (c.start == TIMELINE_NEVER)
            continue;
        c.places = ndomains > 1 ? domain_places(&d, ask, c.start) : 0;
        if (!choice_less(&c, &best))
            continue;
        best = c;
        d.want.not_after = c.start;
    }
    if (best.start == TIMELINE_NEVER)
        return false;
    found_clear(ret, best.domain, best.start);
    if (ndomains > 1)
        domain_open(&d, ask, timeline_domain(t, ask, best.domain));
    if (ask->ntasks == 1)
        seats_lone(&d, ret);
    else
        seats_gang(&d, ret);
    return true;
}

bool timeline_earliest(struct timeline *t, const struct timeline_ask *ask,
                       struct timeline_found *ret)
{
    int64_t from = ask->not_before > t->now ? ask->not_before : t->now;
    return from <= ask->not_after && timeline_search(t, ask, from, ret);
}

bool timeline_improve(struct timeline *t, const struct timeline_ask *ask,
                      struct timeline_found *own)
{
    struct timeline_ask a = *ask;
    struct timeline_found *new = &t->tried;
    int64_t end = timeline_end(own->start, ask->duration_us);
    if (own->start - 1 < a.not_after)
        a.not_after = own->start - 1;
    timeline_release_seats(t, own->seats.at, own->seats.n, a.gpus, own->start, end);
    bool better = timeline_earliest(t, &a, new);
    if (better) {
        struct timeline_found old = *own;
        *own = *new;
        *new = old;
        end = timeline_end(own->start, ask->duration_us);
    }
    timeline_book_seats(t, own->seats.at, own->seats.n, a.gpus, own->start, end);
    return better;
}
