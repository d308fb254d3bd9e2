/* test-timeline.c - free GPUs over time, against an array of counts and brute force
 * The model keeps one count for each node and each of HORIZON small times (the last one
 * stands for all later), searches by trying every start, and picks by sorting. Times
 * are multiplied by a scale, so that the timeline also sees large ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/bitset.h"
#include "base/rng.h"
#include "sched/timeline.h"

enum { HORIZON = 48, NODES_MAX = 700, BOOKS_MAX = 400, LATER = HORIZON };

struct booking {
    uint32_t rank, gpus;
    int32_t from, until; /* LATER: forever */
};

struct model {
    struct rng rng;
    int64_t scale;
    uint32_t nodes;
    int32_t now;
    uint8_t gpus[NODES_MAX];
    int32_t free[NODES_MAX][HORIZON + 1];
    struct booking books[BOOKS_MAX];
    uint32_t nbooks;
    struct timeline *t;
    uint64_t usable[BITSET_WORDS(NODES_MAX)];
};

static uint32_t below(struct model *m, uint32_t n)
{
    return (uint32_t)rng_below(&m->rng, n);
}

static int64_t real(const struct model *m, int32_t time)
{
    return time >= LATER ? TIMELINE_FOREVER : time * m->scale;
}

static void model_init(struct model *m, uint64_t seed, uint32_t nodes,
                       uint32_t gpus_max)
{
    memset(m, 0, sizeof *m);
    rng_init(&m->rng, seed, 7);
    m->scale = below(m, 2) ? 1 : 60000001;
    m->nodes = nodes;
    m->now = (int32_t)below(m, 3);
    for (uint32_t i = 0; i < nodes; i++) {
        m->gpus[i] = (uint8_t)(below(m, 3) ? gpus_max : below(m, gpus_max + 1));
        for (uint32_t k = 0; k <= HORIZON; k++)
            m->free[i][k] = m->gpus[i];
    }
    m->t = timeline_create(nodes, m->gpus, m->now * m->scale);
}

static void model_add(struct model *m, const struct booking *b, int32_t sign)
{
    for (int32_t k = b->from > m->now ? b->from : m->now; k <= HORIZON; k++)
        if (k < b->until || (k == HORIZON && b->until == LATER))
            m->free[b->rank][k] += sign * (int32_t)b->gpus;
}

static void both_book(struct model *m, struct booking b)
{
    if (m->nbooks == BOOKS_MAX)
        return;
    m->books[m->nbooks++] = b;
    model_add(m, &b, -1);
    timeline_book(m->t, b.rank, b.gpus, real(m, b.from), real(m, b.until));
}

static void both_release(struct model *m, uint32_t which)
{
    struct booking b = m->books[which];
    m->books[which] = m->books[--m->nbooks];
    model_add(m, &b, 1);
    /* what has passed may be named or left out */
    int32_t from = b.from < m->now && below(m, 2) ? m->now : b.from;
    timeline_release(m->t, b.rank, b.gpus, real(m, from), real(m, b.until));
}

static struct booking random_booking(struct model *m, uint32_t gpus_max)
{
    struct booking b = {.rank = below(m, m->nodes)};
    b.gpus = below(m, gpus_max + 1);
    b.from = below(m, 3) ? m->now : (int32_t)below(m, HORIZON);
    b.until = b.from + (int32_t)below(m, 16);
    if (b.until > HORIZON - 1 || !below(m, 12))
        b.until = LATER;
    return b;
}

static void both_capacity(struct model *m, uint32_t rank, uint8_t gpus)
{
    for (int32_t k = m->now; k <= HORIZON; k++)
        m->free[rank][k] += gpus - m->gpus[rank];
    m->gpus[rank] = gpus;
    timeline_capacity(m->t, rank, gpus);
}

static int32_t model_least(const struct model *m, uint32_t rank, int32_t from,
                           int32_t until)
{
    int32_t least = INT32_MAX;
    for (int32_t k = from; k <= HORIZON; k++)
        if ((k < until || k == from || until == LATER) && m->free[rank][k] < least)
            least = m->free[rank][k];
    return least;
}

static bool free_agrees(struct model *m)
{
    for (uint32_t i = 0; i < m->nodes; i++)
        for (int32_t k = m->now; k < HORIZON; k++) {
            int32_t until = k + (int32_t)below(m, (uint32_t)(HORIZON - k + 1));
            if (timeline_free(m->t, i, real(m, k), real(m, until)) !=
                model_least(m, i, k, until))
                return false;
        }
    return true;
}

/* ---- brute force ---- */

static bool is_deep(const struct model *m, uint32_t rank)
{
    return model_least(m, rank, m->now, LATER) < -128;
}

static uint32_t places_of(const struct model *m, const struct timeline_ask *a,
                          uint32_t rank, int32_t start)
{
    int64_t d = a->duration_us / m->scale; /* whole steps */
    int32_t until = a->duration_us == TIMELINE_FOREVER || start + d > HORIZON
                        ? LATER
                        : (int32_t)(start + d);
    if (start >= HORIZON)
        until = LATER;
    int32_t f = model_least(m, rank, start, until);
    if (f < (int32_t)a->gpus || is_deep(m, rank) ||
        (a->usable && !bit_get(a->usable, rank)))
        return 0;
    uint32_t n = (uint32_t)f / a->gpus;
    return a->per_node && n > a->per_node ? a->per_node : n;
}

struct brute {
    int32_t start; /* -1: never */
    uint32_t domain;
    uint32_t tasks[NODES_MAX];
};

/* Lone: the least free. Gang: most places first. Ties by rank. */
static void brute_pick(const struct model *m, const struct timeline_ask *a,
                       struct timeline_range r, struct brute *b)
{
    uint32_t left = a->ntasks;
    memset(b->tasks, 0, sizeof b->tasks);
    while (left) {
        uint32_t best = UINT32_MAX, best_places = 0;
        for (uint32_t i = r.lo; i < r.hi; i++) {
            uint32_t p = places_of(m, a, i, b->start);
            p = p > a->ntasks ? a->ntasks : p;
            if (!p || b->tasks[i])
                continue;
            int32_t until = a->duration_us == TIMELINE_FOREVER ||
                                    b->start + a->duration_us / m->scale > HORIZON
                                ? LATER
                                : b->start + (int32_t)(a->duration_us / m->scale);
            bool better = p > best_places;
            if (a->ntasks == 1 && best != UINT32_MAX)
                better = model_least(m, i, b->start, until) <
                         model_least(m, best, b->start, until);
            if (better) {
                best = i;
                best_places = p;
            }
        }
        b->tasks[best] = best_places < left ? best_places : left;
        left -= b->tasks[best];
    }
}

static void brute_earliest(const struct model *m, const struct timeline_ask *a,
                           struct brute *b)
{
    struct timeline_range all = {0, m->nodes}, won = all;
    uint32_t n = a->ndomains ? a->ndomains : 1;
    uint64_t best = UINT64_MAX;
    b->start = -1;
    for (int32_t s = m->now; s <= HORIZON && b->start < 0; s++) {
        int64_t at = s * m->scale;
        if (at < a->not_before || at > a->not_after)
            continue;
        for (uint32_t k = 0; k < n; k++) {
            struct timeline_range r = a->ndomains ? a->domains[k] : all;
            uint64_t sum = 0;
            for (uint32_t i = r.lo; i < r.hi; i++) {
                sum += places_of(m, a, i, s);
            }
            if (sum < a->ntasks || sum > best ||
                (sum == best && r.hi - r.lo >= won.hi - won.lo))
                continue;
            best = sum;
            won = r;
            b->start = s;
            b->domain = k;
        }
    }
    if (b->start >= 0)
        brute_pick(m, a, won, b);
}

static bool seats_agree(const struct model *m, const struct timeline_found *f,
                        const struct brute *b)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < m->nodes; i++) {
        if (!b->tasks[i])
            continue;
        if (k == f->seats.n || f->seats.at[k].rank != i ||
            f->seats.at[k].tasks != b->tasks[i])
            return false;
        k++;
    }
    return k == f->seats.n;
}

static bool found_agrees(const struct model *m, bool found,
                         const struct timeline_found *f, const struct brute *b)
{
    if (!found || b->start < 0)
        return !found && b->start < 0;
    return f->start == b->start * m->scale && f->domain == b->domain &&
           seats_agree(m, f, b);
}

enum { DOMAINS_MAX = 6 };

static struct timeline_ask random_ask(struct model *m, uint32_t gpus_max,
                                      struct timeline_range domains[DOMAINS_MAX])
{
    struct timeline_ask a = {.gpus = 1 + below(m, gpus_max)};
    a.ntasks = below(m, 2) ? 1 : 1 + below(m, m->nodes * 2);
    a.per_node = below(m, 3);
    a.duration_us = (1 + below(m, 20)) * m->scale;
    if (!below(m, 10))
        a.duration_us = TIMELINE_FOREVER;
    a.not_before = below(m, 3) ? 0 : below(m, HORIZON) * m->scale;
    a.not_after = below(m, 3) ? TIMELINE_FOREVER : below(m, HORIZON) * m->scale;
    if (!below(m, 6))
        a.not_before = a.not_after = m->now * m->scale;
    a.domains = domains;
    a.ndomains = below(m, DOMAINS_MAX + 1);
    for (uint32_t i = 0; i < a.ndomains; i++) {
        domains[i].lo = below(m, m->nodes);
        domains[i].hi = domains[i].lo + below(m, m->nodes - domains[i].lo + 1);
    }
    if (!below(m, 3)) {
        for (uint32_t i = 0; i < m->nodes; i++)
            if (below(m, 5))
                bit_set(m->usable, i);
        a.usable = m->usable;
    }
    return a;
}

/* ---- properties ---- */

static void churn(struct model *m, uint32_t ops, uint32_t gpus_max)
{
    for (uint32_t i = 0; i < ops; i++) {
        uint32_t what = below(m, 20);
        if (what < 11)
            both_book(m, random_booking(m, gpus_max));
        else if (what < 18 && m->nbooks)
            both_release(m, below(m, m->nbooks));
        else if (what == 18 && m->now + 2 < HORIZON && !below(m, 3))
            timeline_advance(m->t, real(m, m->now += (int32_t)below(m, 3)));
        else if (what == 19)
            both_capacity(m, below(m, m->nodes), (uint8_t)below(m, gpus_max + 1));
    }
}

/* The same bookings on a fresh timeline, in another order. */
static struct timeline *rebuilt(struct model *m)
{
    struct timeline *t = timeline_create(m->nodes, m->gpus, real(m, m->now));
    for (uint32_t i = m->nbooks; i > 1; i--) {
        uint32_t k = below(m, i);
        struct booking b = m->books[i - 1];
        m->books[i - 1] = m->books[k];
        m->books[k] = b;
    }
    for (uint32_t i = 0; i < m->nbooks; i++) {
        const struct booking *b = &m->books[i];
        timeline_book(t, b->rank, b->gpus, real(m, b->from), real(m, b->until));
    }
    return t;
}

static bool same_answer(const struct timeline_found *a, const struct timeline_found *b)
{
    return a->start == b->start && a->domain == b->domain && a->seats.n == b->seats.n &&
           memcmp(a->seats.at, b->seats.at, a->seats.n * sizeof *a->seats.at) == 0;
}

struct tally {
    uint32_t free, search, order, equal, inverse, improve, later;
    uint32_t found, moved, deep;
};

static void try_search(struct model *m, uint32_t gpus_max, struct timeline *other,
                       struct tally *bad)
{
    struct timeline_range domains[DOMAINS_MAX];
    struct timeline_found f = {0}, g = {0};
    static struct brute b;
    struct timeline_ask a = random_ask(m, gpus_max, domains);
    bool found = timeline_earliest(m->t, &a, &f);
    brute_earliest(m, &a, &b);
    bad->search += !found_agrees(m, found, &f, &b);
    bad->found += found;
    bool again = timeline_earliest(other, &a, &g);
    bad->order += found != again || (found && !same_answer(&f, &g));
    timeline_found_done(&f);
    timeline_found_done(&g);
    memset(m->usable, 0, sizeof m->usable);
}

/* Book where something starts late, free much, and ask for better. */
static void try_improve(struct model *m, uint32_t gpus_max, struct tally *bad)
{
    struct timeline_range domains[DOMAINS_MAX];
    struct timeline_ask a = random_ask(m, gpus_max, domains);
    struct timeline_found own = {0};
    static struct brute b;
    if (timeline_earliest(m->t, &a, &own)) {
        int64_t before = own.start, end = timeline_end(before, a.duration_us);
        timeline_book_seats(m->t, own.seats.at, own.seats.n, a.gpus, before, end);
        for (uint32_t i = 0; i < 20 && m->nbooks; i++)
            both_release(m, below(m, m->nbooks));
        brute_earliest(m, &a, &b); /* the model has the own booking lifted */
        bool better = timeline_improve(m->t, &a, &own);
        bad->later += own.start > before || better != (own.start < before);
        bad->improve += own.start != b.start * m->scale ||
                        (better && !found_agrees(m, true, &own, &b));
        bad->moved += better;
        end = timeline_end(own.start, a.duration_us);
        timeline_release_seats(m->t, own.seats.at, own.seats.n, a.gpus, own.start, end);
        bad->improve += !free_agrees(m);
    }
    timeline_found_done(&own);
    memset(m->usable, 0, sizeof m->usable);
}

static void one_instance(uint64_t seed, uint32_t nodes, uint32_t gpus_max,
                         uint32_t book_max, uint32_t ops, struct tally *bad)
{
    static struct model m;
    model_init(&m, seed, nodes, gpus_max);
    churn(&m, ops, book_max);
    timeline_check(m.t);
    struct timeline *other = rebuilt(&m);
    timeline_check(other);
    bad->free += !free_agrees(&m);
    bad->equal += !timeline_equal(m.t, other);
    for (uint32_t i = 0; i < m.nodes; i++)
        bad->deep += is_deep(&m, i);
    for (uint32_t i = 0; i < 6; i++)
        try_search(&m, gpus_max, other, bad);
    for (uint32_t i = 0; i < 2; i++)
        try_improve(&m, gpus_max, bad);
    timeline_check(m.t);
    while (m.nbooks)
        both_release(&m, below(&m, m.nbooks));
    timeline_check(m.t);
    timeline_destroy(other);
    other = timeline_create(m.nodes, m.gpus, real(&m, m.now));
    bad->inverse += !timeline_equal(m.t, other);
    timeline_destroy(other);
    timeline_destroy(m.t);
}

static void test_random(const char *name, uint32_t instances, uint32_t nodes_max,
                        uint32_t gpus_max, uint32_t book_max, uint32_t ops)
{
    struct tally bad = {0};
    struct rng rng;
    rng_init(&rng, 11, nodes_max * 1000 + book_max);
    for (uint32_t i = 0; i < instances; i++) {
        uint32_t nodes = 1 + (uint32_t)rng_below(&rng, nodes_max);
        uint32_t n = 1 + (uint32_t)rng_below(&rng, ops);
        one_instance(i + 1, nodes, gpus_max, book_max, n, &bad);
    }
    is_uint(bad.free, 0, "%s: free counts are the model's", name);
    is_uint(bad.equal, 0, "%s: equal to one booked in another order", name);
    is_uint(bad.search, 0, "%s: earliest start and seats by brute force", name);
    is_uint(bad.order, 0, "%s: the same answers from the other order", name);
    is_uint(bad.improve, 0, "%s: improving finds what brute force finds", name);
    is_uint(bad.later, 0, "%s: improving never moves later", name);
    is_uint(bad.inverse, 0, "%s: releasing all leaves nothing", name);
    cmp_ok(bad.found, >, instances, "%s: enough searches found a start", name);
    if (nodes_max <= 40) /* on many nodes hardly any */
        cmp_ok(bad.moved, >, instances / 20, "%s: enough promises moved", name);
    if (book_max == TIMELINE_GPUS_MAX)
        cmp_ok(bad.deep, >, instances / 4, "%s: enough nodes beyond a byte", name);
}

/* ---- plans ---- */

enum { ASKS_MAX = 150 };

/* Asks of few kinds, as pending jobs are. */
static void random_asks(struct model *m, uint32_t gpus_max, uint32_t n,
                        const struct timeline_range domains[DOMAINS_MAX],
                        struct timeline_ask *asks)
{
    for (uint32_t i = 0; i < n; i++) {
        struct timeline_ask a = {.ntasks = 1, .gpus = 1 + below(m, gpus_max)};
        a.duration_us = (1 + below(m, 30)) * m->scale;
        a.not_after = TIMELINE_FOREVER;
        if (!below(m, 3))
            a.ntasks = 1 + below(m, m->nodes);
        if (!below(m, 4))
            a.per_node = 1;
        if (!below(m, 4)) {
            a.domains = domains;
            a.ndomains = 1 + below(m, 2) * (DOMAINS_MAX - 1);
        }
        if (!below(m, 6))
            a.usable = m->usable;
        if (!below(m, 12))
            a.not_before = below(m, HORIZON) * m->scale;
        if (!below(m, 12))
            a.not_after = below(m, 3 * HORIZON) * m->scale;
        if (!below(m, 40))
            a.duration_us = TIMELINE_FOREVER;
        asks[i] = a;
    }
}

static bool plan_agrees(struct model *m, const struct timeline_ask *asks, uint32_t n,
                        uint32_t *found)
{
    static int64_t starts[ASKS_MAX];
    struct timeline *one = timeline_clone(m->t), *all = timeline_clone(m->t);
    struct timeline_found f = {0};
    bool same = true;
    uint32_t planned = timeline_plan(all, asks, n, starts), known = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!timeline_earliest(one, &asks[i], &f)) {
            same &= starts[i] == -1;
            continue;
        }
        known++;
        same &= starts[i] == f.start;
        timeline_book_seats(one, f.seats.at, f.seats.n, asks[i].gpus, f.start,
                            timeline_end(f.start, asks[i].duration_us));
    }
    same &= timeline_equal(one, all) && planned == known;
    timeline_check(all);
    timeline_found_done(&f);
    timeline_destroy(one);
    timeline_destroy(all);
    *found += known;
    return same;
}

static void test_plan(uint32_t instances, uint32_t nodes_max)
{
    static struct model m;
    static struct timeline_ask asks[ASKS_MAX];
    struct timeline_range domains[DOMAINS_MAX];
    uint32_t bad = 0, found = 0;
    for (uint32_t i = 0; i < instances; i++) {
        model_init(&m, i + 1, nodes_max, 8);
        churn(&m, 200, 8);
        for (uint32_t k = 0; k < DOMAINS_MAX; k++) {
            domains[k].lo = below(&m, m.nodes);
            domains[k].hi = domains[k].lo + 1 + below(&m, m.nodes - domains[k].lo);
        }
        for (uint32_t k = 0; k < m.nodes; k++)
            if (below(&m, 5))
                bit_set(m.usable, k);
        uint32_t n = 1 + below(&m, ASKS_MAX);
        random_asks(&m, 8, n, domains, asks);
        bad += !plan_agrees(&m, asks, n, &found);
        timeline_destroy(m.t);
    }
    is_uint(bad, 0, "plans of %u nodes: as one by one", nodes_max);
    cmp_ok(found, >, instances * 20, "plans of %u nodes: enough starts", nodes_max);
}

/* ---- by hand ---- */

static void test_gang_of_two(void)
{
    uint8_t gpus[4] = {8, 8, 8, 8};
    struct timeline *t = timeline_create(4, gpus, 100);
    struct timeline_range racks[2] = {{0, 2}, {2, 4}};
    struct timeline_ask a = {.ntasks = 2,
                             .gpus = 8,
                             .duration_us = 50,
                             .not_after = TIMELINE_FOREVER};
    struct timeline_found f = {0};
    timeline_book(t, 0, 8, 0, 300);
    timeline_book(t, 2, 1, 50, 200);
    timeline_book(t, 3, 8, 220, 400);
    ok(timeline_earliest(t, &a, &f) && f.start == 100, "anywhere: at once");
    ok(f.seats.n == 2 && f.seats.at[0].rank == 1 && f.seats.at[1].rank == 3,
       "on the two free nodes, though one is booked from 220");
    a.domains = racks;
    a.ndomains = 2;
    ok(timeline_earliest(t, &a, &f), "in one rack");
    is_int(f.start, 300, "the second rack is free 200 - 220 only, the first from 300");
    is_int(f.domain, 0, "so the first");
    a.duration_us = 20;
    ok(timeline_earliest(t, &a, &f) && f.start == 200 && f.domain == 1,
       "twenty fit before the booking at 220");
    a.duration_us = 21;
    ok(timeline_earliest(t, &a, &f) && f.start == 300, "twenty-one do not");
    a.not_after = 299;
    ok(!timeline_earliest(t, &a, &f), "and not at all before 300");
    a.not_after = TIMELINE_FOREVER;
    a.ntasks = 3;
    ok(!timeline_earliest(t, &a, &f), "three whole nodes are in no rack");
    timeline_found_done(&f);
    timeline_destroy(t);
}

static void test_tightest(void)
{
    uint8_t gpus[6] = {8, 8, 8, 8, 8, 8};
    struct timeline *t = timeline_create(6, gpus, 0);
    struct timeline_range racks[2] = {{0, 3}, {3, 6}};
    struct timeline_ask a = {.ntasks = 1,
                             .gpus = 2,
                             .duration_us = 10,
                             .not_after = TIMELINE_FOREVER};
    struct timeline_found f = {0};
    timeline_book(t, 4, 6, 0, 100);
    timeline_book(t, 1, 5, 0, 100);
    ok(timeline_earliest(t, &a, &f) && f.seats.at[0].rank == 4, "the tightest node");
    a.domains = racks;
    a.ndomains = 2;
    ok(timeline_earliest(t, &a, &f) && f.domain == 0,
       "of two racks that with 9 places of 2, not 9: equal places, first in the list");
    timeline_book(t, 5, 2, 0, 100);
    ok(timeline_earliest(t, &a, &f) && f.domain == 1 && f.seats.at[0].rank == 4,
       "8 places are tighter than 9");
    a.ntasks = 5;
    a.domains = NULL;
    a.ndomains = 0;
    ok(timeline_earliest(t, &a, &f), "a gang of 5 x 2");
    ok(f.seats.n == 2 && f.seats.at[0].rank == 0 && f.seats.at[0].tasks == 4 &&
           f.seats.at[1].rank == 2 && f.seats.at[1].tasks == 1,
       "goes to the fewest nodes, lowest ranks");
    timeline_found_done(&f);
    timeline_destroy(t);
}

static void test_forever(void)
{
    uint8_t gpus[1] = {4};
    struct timeline *t = timeline_create(1, gpus, 1000);
    struct timeline_ask a = {.ntasks = 1,
                             .gpus = 2,
                             .duration_us = TIMELINE_FOREVER,
                             .not_after = TIMELINE_FOREVER};
    struct timeline_found f = {0};
    is_int(timeline_end(5, 7), 12, "an end");
    is_int(timeline_end(INT64_MAX - 3, 3), TIMELINE_FOREVER, "the last end");
    is_int(timeline_end(INT64_MAX - 3, 4), TIMELINE_FOREVER, "beyond 64 bits");
    is_int(timeline_end(1000, TIMELINE_FOREVER), TIMELINE_FOREVER, "no limit");
    timeline_book(t, 0, 3, 500, timeline_end(500, INT64_MAX - 1600));
    ok(timeline_earliest(t, &a, &f), "after a booking of 292,000 years");
    is_int(f.start, INT64_MAX - 1100, "at its end");
    timeline_book(t, 0, 1, 0, TIMELINE_FOREVER);
    a.duration_us = 5000; /* start + duration overflows */
    ok(timeline_earliest(t, &a, &f) && f.start == INT64_MAX - 1100,
       "the end saturates");
    timeline_book_seats(t, f.seats.at, f.seats.n, 2, f.start,
                        timeline_end(f.start, a.duration_us));
    is_int(timeline_free(t, 0, 1000, TIMELINE_FOREVER), 0, "least of all times");
    a.gpus = 1;
    a.not_before = f.start;
    ok(timeline_earliest(t, &a, &f) && f.start == INT64_MAX - 1100, "one is left then");
    timeline_book(t, 0, 1, 1000, TIMELINE_FOREVER);
    a.not_before = 0;
    ok(!timeline_earliest(t, &a, &f), "all taken for ever: never");
    timeline_advance(t, INT64_MAX - 1000);
    ok(!timeline_earliest(t, &a, &f), "not even in 292,000 years");
    timeline_check(t);
    timeline_found_done(&f);
    timeline_destroy(t);
}

static void test_overcommit(void)
{
    uint8_t gpus[2] = {8, 8};
    struct timeline *t = timeline_create(2, gpus, 0);
    struct timeline *fresh = timeline_clone(t);
    struct timeline_ask a = {.ntasks = 2,
                             .gpus = 1,
                             .per_node = 1,
                             .duration_us = 10,
                             .not_after = TIMELINE_FOREVER};
    struct timeline_found f = {0};
    for (int32_t i = 0; i < 10; i++)
        timeline_book(t, 0, 60, 0, 100 + i);
    is_int(timeline_free(t, 0, 0, 100), 8 - 600, "600 GPUs booked on a node of 8");
    is_int(timeline_free(t, 0, 100, 101), 8 - 540, "540 of them a little later");
    is_int(timeline_free(t, 0, 109, 200), 8, "none in the end");
    ok(!timeline_earliest(t, &a, &f), "and its node is offered to nobody");
    for (int32_t i = 0; i < 8; i++)
        timeline_release(t, 0, 60, 0, 100 + i);
    is_int(timeline_free(t, 0, 0, 1), 8 - 120, "two left");
    ok(timeline_earliest(t, &a, &f) && f.start == 109, "usable again, when it is free");
    timeline_advance(t, 50);
    timeline_release(t, 0, 60, 50, 108);
    timeline_release(t, 0, 60, 0, 109);
    timeline_advance(fresh, 50);
    ok(timeline_equal(t, fresh), "the rest released: as new");
    for (int32_t i = 0; i < 5; i++)
        timeline_book(t, 0, 60, 0, 60);
    ok(!timeline_earliest(t, &a, &f), "300 once more, until 60");
    timeline_advance(t, 60);
    ok(timeline_earliest(t, &a, &f) && f.start == 60, "gone with the time");
    timeline_check(t);
    timeline_found_done(&f);
    timeline_destroy(t);
    timeline_destroy(fresh);
}

static void test_small_memory(void)
{
    static uint8_t gpus[160];
    memset(gpus, 8, sizeof gpus);
    struct timeline *t = timeline_create(160, gpus, 0);
    for (int64_t i = 0; i < 100000; i++) {
        timeline_advance(t, i * 10);
        timeline_book(t, (uint32_t)(i % 160), 1, i * 10, i * 10 + 3200 + i % 7);
    }
    cmp_ok(timeline_bytes(t), <, 160 * 600, "what is past takes no memory");
    timeline_advance(t, 2000000);
    struct timeline *fresh = timeline_create(160, gpus, 2000000);
    ok(timeline_equal(t, fresh), "and has no effect");
    timeline_copy(fresh, t);
    ok(timeline_equal(t, fresh), "copies are equal");
    timeline_book(fresh, 7, 1, 2000005, 2000006);
    ok(!timeline_equal(t, fresh), "until one is booked on");
    timeline_destroy(t);
    timeline_destroy(fresh);
}

int main(void)
{
    test_gang_of_two();
    test_tightest();
    test_forever();
    test_overcommit();
    test_small_memory();
    test_random("one row", 1500, 10, 4, 4, 120);
    test_random("three rows", 500, 40, 8, 8, 300);
    test_random("wide nodes", 250, 20, 64, 32, 200);
    test_random("nonsense", 250, 3, 8, TIMELINE_GPUS_MAX, 150);
    test_random("many rows", 12, NODES_MAX, 8, 8, 380);
    test_plan(300, 5);
    test_plan(150, 64);
    test_plan(8, NODES_MAX);
    return done_testing();
}
