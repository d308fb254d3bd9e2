/* bench-timeline.c - what it costs to know when a gang can start
 *
 * plan: one full conservative plan of 5,000 pending jobs on 64 full nodes of 8 GPUs:
 * 60 % one GPU, 16 % two, 9 % four, 7 % eight, 8 % gangs of 2 to 16 whole nodes; limits
 * 10 minutes to 2 days, even over their logarithm. Beside it a scan of one profile of
 * all nodes with the same rules, whose starts must be the same. Then 10,000 pending on
 * 12,500 nodes.
 *
 * book: one booking or release while some 30,000 jobs come and go on 12,500 nodes.
 *
 * earliest: on these nodes, 90 % occupied and ten gangs with reservations, where and
 * when a gang of whole nodes can start: in one of 98 blocks, in a rack, or anywhere;
 * and a lone task.
 *
 * CPU time of this thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/heap.h"
#include "base/rng.h"
#include "sched/timeline.h"

enum { SEED = 42, PENDING = 5000, ROUNDS = 9 };
#define MINUTE INT64_C(60000000)
#define HOUR (60 * MINUTE)

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t random_time(struct rng *r, int64_t lo, int64_t hi)
{
    double x = log((double)lo) + rng_unit(r) * (log((double)hi) - log((double)lo));
    return (int64_t)exp(x);
}

/* ---- the plan ---- */

static struct timeline_ask random_ask(struct rng *r)
{
    struct timeline_ask a = {.ntasks = 1, .gpus = 1, .not_after = TIMELINE_FOREVER};
    uint32_t p = (uint32_t)rng_below(r, 100);
    if (p >= 60)
        a.gpus = p < 76 ? 2 : p < 85 ? 4 : 8;
    if (p >= 92)
        a.ntasks = 2 + (uint32_t)rng_below(r, 15);
    a.duration_us = random_time(r, 10 * MINUTE, 48 * HOUR);
    return a;
}

/* All GPUs taken, by jobs that end within two days. */
static struct timeline *full(struct rng *r, uint32_t nodes)
{
    static uint8_t gpus[12500];
    memset(gpus, 8, sizeof gpus);
    struct timeline *t = timeline_create(nodes, gpus, 0);
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t left = 8; left;) {
            uint32_t g = 1u << rng_below(r, 4);
            g = g < left ? g : left;
            timeline_book(t, i, g, 0, random_time(r, MINUTE, 48 * HOUR));
            left -= g;
        }
    return t;
}

/* One profile of all 64 nodes, scanned from the start for each job. */
enum { SCAN_NODES = 64, SCAN_TIMES = 16384 };
struct scan {
    uint32_t n;
    int64_t at[SCAN_TIMES];
    int8_t free[SCAN_TIMES][SCAN_NODES];
};

static uint32_t scan_border(struct scan *s, int64_t time)
{
    uint32_t i = s->n;
    while (s->at[i - 1] > time)
        i--;
    if (s->at[i - 1] == time)
        return i - 1;
    memmove(s->at + i + 1, s->at + i, (s->n - i) * sizeof *s->at);
    memmove(s->free + i + 1, s->free + i, (s->n - i) * sizeof *s->free);
    s->at[i] = time;
    memcpy(s->free[i], s->free[i - 1], sizeof s->free[i]);
    s->n++;
    return i;
}

static void scan_book(struct scan *s, uint32_t node, int32_t gpus, int64_t from,
                      int64_t until)
{
    uint32_t lo = scan_border(s, from), hi = scan_border(s, until);
    for (; lo < hi; lo++)
        s->free[lo][node] = (int8_t)(s->free[lo][node] - gpus);
}

static uint32_t scan_fits(const int8_t *v, const struct timeline_ask *a)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < SCAN_NODES; i++)
        n += (uint32_t)v[i] / a->gpus;
    return n;
}

static int64_t scan_place(struct scan *s, const struct timeline_ask *a)
{
    int8_t v[SCAN_NODES];
    uint32_t i = 0;
    for (;; i++) {
        memcpy(v, s->free[i], sizeof v);
        uint32_t j = i + 1;
        bool fits = scan_fits(v, a) >= a->ntasks;
        for (; fits && j < s->n && s->at[j] < s->at[i] + a->duration_us; j++) {
            for (uint32_t k = 0; k < SCAN_NODES; k++)
                v[k] = s->free[j][k] < v[k] ? s->free[j][k] : v[k];
            fits = scan_fits(v, a) >= a->ntasks;
        }
        if (fits)
            break;
    }
    int64_t start = s->at[i], end = start + a->duration_us;
    for (uint32_t left = a->ntasks; left; left--) { /* gangs are of whole nodes */
        uint32_t best = SCAN_NODES;
        for (uint32_t k = 0; k < SCAN_NODES; k++)
            if (v[k] >= (int32_t)a->gpus && (best == SCAN_NODES || v[k] < v[best]))
                best = k;
        scan_book(s, best, (int32_t)a->gpus, start, end);
        v[best] = 0;
    }
    return start;
}

static int64_t scan_plan(const struct timeline *t, const struct timeline_ask *asks,
                         uint32_t n, int64_t *ret_start)
{
    static struct scan s;
    s.n = 1;
    for (uint32_t i = 0; i < SCAN_NODES; i++)
        s.free[0][i] = 8;
    for (uint32_t i = 0; i < SCAN_NODES; i++) /* what is booked: ends alone */
        for (int64_t time = 0; time < 48 * HOUR;) {
            int64_t lo = time, hi = 48 * HOUR;
            int32_t f = timeline_free(t, i, time, time);
            while (hi - lo > 1) {
                int64_t mid = lo + (hi - lo) / 2;
                *(timeline_free(t, i, mid, mid) == f ? &lo : &hi) = mid;
            }
            scan_book(&s, i, 8 - f, time, hi);
            time = hi;
        }
    int64_t begin = now_ns();
    for (uint32_t i = 0; i < n && s.n + 32 < SCAN_TIMES; i++)
        ret_start[i] = scan_place(&s, &asks[i]);
    return now_ns() - begin;
}

static void bench_plan(uint32_t nodes, uint32_t n, const char *aim, bool compare)
{
    struct rng r;
    rng_init(&r, SEED, nodes);
    struct timeline *t = full(&r, nodes), *work = timeline_clone(t);
    struct timeline_ask *asks = mem_alloc(n * sizeof *asks);
    int64_t *start = mem_alloc(2 * n * sizeof *start), ns[ROUNDS], last = 0;
    uint32_t started = 0, same = 0;
    for (uint32_t i = 0; i < n; i++)
        asks[i] = random_ask(&r);
    for (uint32_t k = 0; k < ROUNDS; k++) {
        timeline_copy(work, t);
        int64_t begin = now_ns();
        started = timeline_plan(work, asks, n, start);
        ns[k] = now_ns() - begin;
    }
    for (uint32_t i = 0; i < n; i++)
        last = start[i] > last ? start[i] : last;
    qsort(ns, ROUNDS, sizeof *ns, by_value);
    printf("timeline-plan-%u-%u: %.2f ms least, %.2f ms p50 of %u (%s)\n", nodes, n,
           (double)ns[0] / 1e6, (double)ns[ROUNDS / 2] / 1e6, ROUNDS, aim);
    printf("# %u of %u have a start, the last after %.1f days; %zu bytes a node\n",
           started, n, (double)last / (24.0 * HOUR), timeline_bytes(work) / nodes);
    if (compare) {
        int64_t scan = scan_plan(t, asks, n, start + n);
        for (uint32_t i = 0; i < n; i++)
            same += start[i] == start[n + i];
        printf("timeline-plan-scan: %.1f ms, %.0f times as long (%u of %u starts the "
               "same)\n",
               (double)scan / 1e6, (double)scan / (double)ns[0], same, n);
    }
    free(asks);
    free(start);
    timeline_destroy(work);
    timeline_destroy(t);
}

/* ---- jobs that come and go ---- */

enum { NODES = 12500, JOBS = 40000, TURNS = 200000, SEARCHES = 1000 };

struct running {
    uint32_t rank, gpus;
    int64_t start, until;
};

struct load {
    struct rng rng;
    struct timeline *t;
    int64_t now;
    struct running jobs[JOBS];
    uint32_t njobs;
    struct heap limits; /* jobs by their end; stale when it is another's */
    int8_t free[NODES];
    int64_t used;
};

static bool load_start(struct load *l, uint32_t gpus)
{
    uint32_t rank = (uint32_t)rng_below(&l->rng, NODES), tries = 0;
    while (l->free[rank] < (int8_t)gpus && tries++ < 4000)
        rank = rank + 1 < NODES ? rank + 1 : 0;
    if (l->free[rank] < (int8_t)gpus)
        return false;
    int64_t limit = random_time(&l->rng, 10 * MINUTE, 48 * HOUR);
    l->jobs[l->njobs++] = (struct running){rank, gpus, l->now, l->now + limit};
    l->free[rank] = (int8_t)(l->free[rank] - (int8_t)gpus);
    l->used += gpus;
    timeline_book(l->t, rank, gpus, l->now, l->now + limit);
    heap_push(&l->limits, l->now + limit, l->njobs - 1, l->njobs - 1);
    return true;
}

static uint32_t random_gpus(struct rng *r)
{
    static const uint8_t gpus[] = {1, 1, 1, 2, 2, 4, 8, 8};
    return gpus[rng_below(r, 8)];
}

static void load_end(struct load *l, uint32_t which)
{
    struct running j = l->jobs[which], last = l->jobs[--l->njobs];
    l->jobs[which] = last;
    heap_push(&l->limits, last.until, which, which);
    l->free[j.rank] = (int8_t)(l->free[j.rank] + (int8_t)j.gpus);
    l->used -= j.gpus;
    timeline_release(l->t, j.rank, j.gpus, j.start, j.until);
}

/* Full first, then random jobs end: what is free lies scattered. */
static void load_fill(struct load *l, int64_t percent)
{
    uint32_t g = random_gpus(&l->rng);
    while (l->used < INT64_C(8) * NODES * 98 / 100 && l->njobs < JOBS) {
        if (load_start(l, g) || g == 1)
            g = random_gpus(&l->rng);
        else
            g = 1;
    }
    while (l->used > INT64_C(8) * NODES * percent / 100)
        load_end(l, (uint32_t)rng_below(&l->rng, l->njobs));
}

/* Whose limit has come; if none, anybody. */
static uint32_t load_ends(struct load *l)
{
    while (heap_top(&l->limits) && heap_top(&l->limits)->key <= l->now) {
        struct heap_item x = heap_pop(&l->limits);
        if (x.item < l->njobs && l->jobs[x.item].until == x.key)
            return x.item;
    }
    return (uint32_t)rng_below(&l->rng, l->njobs);
}

struct turn {
    struct running ended, started;
};

/* One job ends, another takes its place. */
static struct turn load_turn(struct load *l)
{
    l->now += 1 + (int64_t)rng_below(&l->rng, 500000);
    uint32_t which = load_ends(l);
    struct turn turn = {.ended = l->jobs[which]};
    int64_t limit = random_time(&l->rng, 10 * MINUTE, 48 * HOUR);
    turn.started = turn.ended;
    turn.started.start = l->now;
    turn.started.until = l->now + limit;
    l->jobs[which] = turn.started;
    heap_push(&l->limits, turn.started.until, which, which);
    return turn;
}

static void turn_apply(struct timeline *t, const struct turn *turn)
{
    const struct running *a = &turn->ended, *b = &turn->started;
    timeline_advance(t, b->start);
    timeline_release(t, a->rank, a->gpus, a->start, a->until);
    timeline_book(t, b->rank, b->gpus, b->start, b->until);
}

static void bench_book(struct load *l)
{
    static struct turn turns[TURNS];
    for (uint32_t k = 0; k < 2; k++) { /* the first to warm up */
        for (uint32_t i = 0; i < TURNS; i++)
            turns[i] = load_turn(l);
        int64_t begin = now_ns();
        for (uint32_t i = 0; i < TURNS; i++)
            turn_apply(l->t, &turns[i]);
        begin = now_ns() - begin;
        if (k)
            printf("timeline-book: %.0f ns a booking or release (aim 100 to 200)\n",
                   (double)begin / (2.0 * TURNS));
    }
    printf("# %u jobs run, %.1f %% occupied, %zu bytes a node\n", l->njobs,
           100.0 * (double)l->used / (8.0 * NODES), timeline_bytes(l->t) / NODES);
}

/* ---- searches ---- */

static void bench_earliest(struct load *l, const char *name, struct timeline_ask ask,
                           uint32_t width)
{
    static struct timeline_range domains[NODES];
    static int64_t ns[SEARCHES];
    struct timeline_found f = {0};
    uint32_t found = 0;
    int64_t wait = 0;
    for (uint32_t lo = 0; width && lo < NODES; lo += width)
        domains[ask.ndomains++] = (struct timeline_range){lo, lo + width};
    ask.domains = width ? domains : NULL;
    for (uint32_t i = 0; i < SEARCHES; i++) {
        for (uint32_t k = 0; k < 20; k++) {
            struct turn turn = load_turn(l);
            turn_apply(l->t, &turn);
        }
        int64_t begin = now_ns();
        bool is = timeline_earliest(l->t, &ask, &f);
        ns[i] = now_ns() - begin;
        found += is;
        wait += is ? f.start - l->now : 0;
    }
    qsort(ns, SEARCHES, sizeof *ns, by_value);
    printf("timeline-earliest-%s: %.1f us p50, %.1f us p99, %.1f us worst\n", name,
           (double)ns[SEARCHES / 2] / 1e3, (double)ns[SEARCHES * 99 / 100] / 1e3,
           (double)ns[SEARCHES - 1] / 1e3);
    printf("# %u of %u found, after %.1f h in the mean\n", found, SEARCHES,
           found ? (double)(wait / found) / (double)HOUR : 0.0);
    timeline_found_done(&f);
}

/* Ten gangs hold reservations, as by default. */
static void load_reserve(struct load *l)
{
    struct timeline_found f = {0};
    struct timeline_ask a = {.ntasks = 64,
                             .gpus = 8,
                             .duration_us = 12 * HOUR,
                             .not_after = TIMELINE_FOREVER};
    for (uint32_t i = 0; i < 10; i++)
        if (timeline_earliest(l->t, &a, &f))
            timeline_book_seats(l->t, f.seats.at, f.seats.n, 8, f.start,
                                f.start + a.duration_us);
    timeline_found_done(&f);
}

static void bench_load(void)
{
    static struct load l;
    static uint8_t gpus[NODES];
    memset(gpus, 8, sizeof gpus);
    memset(l.free, 8, sizeof l.free);
    rng_init(&l.rng, SEED, 3);
    l.t = timeline_create(NODES, gpus, 0);
    load_fill(&l, 90);
    bench_book(&l);
    load_reserve(&l);
    struct timeline_ask a = {.ntasks = 128,
                             .gpus = 8,
                             .duration_us = 12 * HOUR,
                             .not_after = TIMELINE_FOREVER};
    bench_earliest(&l, "128-in-a-block", a, 128);
    bench_earliest(&l, "128-anywhere", a, 0);
    a.ntasks = 500;
    bench_earliest(&l, "500-anywhere", a, 0);
    a.ntasks = 32;
    bench_earliest(&l, "32-in-a-block", a, 128);
    a.ntasks = 16;
    bench_earliest(&l, "16-in-a-rack", a, 16);
    a.ntasks = 1;
    bench_earliest(&l, "1-anywhere", a, 0);
    heap_done(&l.limits);
    timeline_destroy(l.t);
}

int main(void)
{
    bench_plan(SCAN_NODES, PENDING, "aim <= 6 ms", true);
    bench_plan(NODES, 10000, "no aim", false);
    bench_load();
    return 0;
}
