/* test-entitle.c - entitlements: examples worked by hand, and properties of random
 * trees The properties are the definition of a fair share, not a second way to compute
 * it: sums, guarantees, nothing left idle that is wanted, and max-min up to rounding.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/entitle.h"

#include "base/rng.h"
#include "tap.h"

enum { N = 64, R = 4 };
#define NO ENTITLE_ABSENT

struct forest { /* amounts of one tree, rows of R or of one resource */
    struct entitle_tree t;
    uint32_t parent[N], weight[N], rank[N];
    int64_t g[N * R], max[N * R], borrow[N * R], lend[N * R], units[N * R], capacity[R];
};

static void forest_init(struct forest *f, uint32_t nnodes, uint32_t nresources)
{
    memset(f, 0, sizeof *f);
    f->t = (struct entitle_tree){nnodes, nresources, f->parent, f->weight, f->rank,
                                 f->g,   f->max,     f->borrow, f->lend};
    for (uint32_t i = 0; i < N * R; i++)
        f->g[i] = f->max[i] = f->borrow[i] = f->lend[i] = NO;
    for (uint32_t i = 0; i < N; i++) {
        f->weight[i] = 1;
        f->rank[i] = i;
    }
}

static void forest_run(const struct forest *f, struct entitle *e)
{
    entitle_setup(e, &f->t);
    entitle_capacity(e, f->capacity);
    for (uint32_t n = 0; n < f->t.nnodes; n++)
        if (entitle_is_leaf(e, n))
            entitle_demand(e, n, f->units + (size_t)n * f->t.nresources);
    entitle_run(e);
}

/* --- by hand: one resource, children 1.. of the root --- */

struct hand {
    const char *what;
    int64_t capacity;
    uint32_t n;
    struct {
        int64_t g, max, borrow, lend;
        uint32_t weight;
        int64_t units, want; /* want: E */
    } q[4];
    bool exceeds;
};

static const struct hand hands[] = {
    {"half each", 8, 2, {{0, NO, NO, NO, 1, 8, 4}, {0, NO, NO, NO, 1, 18, 4}}, 0},
    {"what one does not want goes to the other",
     8,
     2,
     {{0, NO, NO, NO, 1, 3, 3}, {0, NO, NO, NO, 1, 18, 5}},
     0},
    {"weights 1 and 3", 8, 2, {{0, NO, NO, NO, 1, 8, 2}, {0, NO, NO, NO, 3, 8, 6}}, 0},
    {"the last one by name gets the odd unit",
     11,
     2,
     {{5, 10, NO, NO, 1, 10, 5}, {5, 10, NO, NO, 1, 10, 6}},
     0},
    {"rest beyond guarantees, weight 1",
     300,
     3,
     {{150, NO, NO, NO, 1, 300, 250},
      {150, NO, NO, NO, 1, 0, 0},
      {0, NO, NO, NO, 1, 50, 50}},
     0},
    {"weight 0 gets nothing beyond its guarantee",
     300,
     3,
     {{150, NO, NO, NO, 1, 300, 300},
      {150, NO, NO, NO, 1, 0, 0},
      {0, NO, NO, NO, 0, 50, 0}},
     0},
    {"weight 0 alone: still its guarantee only", 10, 1, {{4, NO, NO, NO, 0, 9, 4}}, 0},
    {"a guarantee that may not be lent is kept idle",
     10,
     2,
     {{6, NO, NO, 0, 1, 0, 6}, {0, NO, NO, NO, 1, 10, 4}},
     0},
    {"two thirds of it may be lent",
     10,
     2,
     {{6, NO, NO, 4, 1, 0, 2}, {0, NO, NO, NO, 1, 10, 8}},
     0},
    {"borrowing ends at its limit",
     10,
     2,
     {{2, NO, 3, NO, 1, 10, 5}, {0, NO, NO, NO, 1, 10, 5}},
     0},
    {"the maximum binds before borrowing does",
     10,
     2,
     {{2, 3, 3, NO, 1, 10, 3}, {0, NO, NO, NO, 1, 10, 7}},
     0},
    {"a maximum below the guarantee",
     10,
     2,
     {{8, 3, NO, NO, 1, 10, 3}, {0, NO, NO, NO, 1, 10, 7}},
     0},
    {"guarantees over capacity: by guarantee",
     9,
     2,
     {{12, NO, NO, NO, 1, 20, 6}, {6, NO, NO, NO, 9, 20, 3}},
     1},
    {"... a small demand is served first",
     9,
     2,
     {{12, NO, NO, NO, 1, 20, 8}, {6, NO, NO, NO, 9, 1, 1}},
     1},
    {"no capacity", 0, 2, {{3, NO, NO, NO, 1, 5, 0}, {0, NO, NO, NO, 1, 5, 0}}, 1},
    {"no demand", 9, 2, {{3, NO, NO, NO, 1, 0, 0}, {0, NO, NO, NO, 1, 0, 0}}, 0},
};

static void by_hand(struct entitle *e)
{
    for (size_t i = 0; i < sizeof hands / sizeof *hands; i++) {
        const struct hand *h = &hands[i];
        struct forest f;
        bool good = true;
        forest_init(&f, h->n + 1, 1);
        f.capacity[0] = h->capacity;
        for (uint32_t k = 0; k < h->n; k++) {
            f.g[k + 1] = h->q[k].g;
            f.max[k + 1] = h->q[k].max;
            f.borrow[k + 1] = h->q[k].borrow;
            f.lend[k + 1] = h->q[k].lend;
            f.weight[k + 1] = h->q[k].weight;
            f.units[k + 1] = h->q[k].units;
        }
        forest_run(&f, e);
        for (uint32_t k = 0; k < h->n; k++)
            good = good && e->e[k + 1] == h->q[k].want;
        ok(good && (e->exceed[0] == 1) == h->exceeds, "%s", h->what);
    }
}

/* Two levels: org a {a1 G 4, a2 G 2} G 6, org b G 4; capacity 12. */
static void nested(struct entitle *e)
{
    struct forest f;
    forest_init(&f, 5, 1);
    f.capacity[0] = 12;
    f.parent[3] = f.parent[4] = 1;
    f.g[1] = 6, f.g[2] = 4, f.g[3] = 4, f.g[4] = 2;
    f.units[3] = 1, f.units[4] = 20, f.units[2] = 20;
    forest_run(&f, e);
    is_int(e->e[1], 7, "org a: 6 and half of what is left of 12");
    is_int(e->e[2], 5, "org b: 4 and the other half");
    is_int(e->e[3], 1, "a1 has what it wants");
    is_int(e->e[4], 6, "a2 gets what a1 leaves, inside a first");
    is_int(e->e0[4], 2, "by guarantee alone: 2");
    is_int(e->e0[1], 6, "by guarantee alone: 6");
    f.lend[3] = 0;
    forest_run(&f, e);
    is_int(e->e[3], 4, "a1 lends nothing: its 4 stay");
    is_int(e->e[4], 3, "... and a2 has the rest of 7");
}

static void extremes(struct entitle *e)
{
    struct forest f;
    forest_init(&f, 4, 1);
    f.capacity[0] = INT64_MAX;
    for (uint32_t k = 1; k < 4; k++) {
        f.g[k] = INT64_MAX - 1;
        f.units[k] = INT64_MAX;
        f.weight[k] = UINT32_MAX;
    }
    forest_run(&f, e);
    ok(e->e[1] + (e->e[2] - INT64_MAX) + e->e[3] == 0,
       "three of 2^63 share 2^63 exactly");
    cmp_ok(e->e[3] - e->e[1], <, 4, "... and equally");
    f.g[1] = f.g[2] = f.g[3] = 0;
    f.weight[1] = 1, f.weight[2] = 2, f.weight[3] = UINT32_MAX - 3;
    forest_run(&f, e);
    ok(e->e[1] > 0 && e->e[2] > e->e[1] && e->e[3] > e->e[2] &&
           e->e[1] + e->e[2] == INT64_MAX - e->e[3],
       "weights 1, 2 and 2^32 - 4 of 2^63");
}

static void turns(struct entitle *e)
{
    struct forest f;
    int64_t six = 6, nine = 9;
    forest_init(&f, 4, 1);
    f.capacity[0] = 10;
    f.g[1] = 2, f.g[2] = 2, f.g[3] = 2;
    f.units[1] = f.units[2] = f.units[3] = 20;
    forest_run(&f, e);
    ok(!entitle_raise(e, 1, &nine), "9 of 10 would break two guarantees of 2");
    ok(e->e[1] == 3 && e->e[2] == 3 && e->e[3] == 4 && e->changed.n == 0,
       "... and nothing is raised");
    ok(entitle_raise(e, 1, &six), "6 of 10 leave the others 2 each");
    ok(e->e[1] == 6 && e->e[2] == 2 && e->e[3] == 2, "... and no more");
    is_int(e->changed.n, 3, "three leaves are told");
    entitle_unraise(e);
    entitle_run(e);
    ok(e->e[1] == 3 && e->e[2] == 3 && e->e[3] == 4, "the turn is over");
    f.max[1] = 5;
    forest_run(&f, e);
    ok(!entitle_raise(e, 1, &six), "no turn above the queue's cap");
    /* a {a1 G 5, a2 G 5} G 10 and b; a2 must keep its 5 while a1 has 8 of 13 */
    int64_t eight = 8;
    forest_init(&f, 5, 1);
    f.capacity[0] = 13;
    f.parent[3] = f.parent[4] = 1;
    f.g[1] = 10, f.g[3] = f.g[4] = 5;
    f.units[2] = f.units[3] = f.units[4] = 20;
    forest_run(&f, e);
    ok(entitle_raise(e, 3, &eight), "a turn raises its path by what the leaf lacks");
    ok(e->e[3] == 8 && e->e[4] == 5 && e->e[2] == 0,
       "... at b's cost, who is owed nothing");
}

/* --- random trees --- */

static int64_t some(struct rng *r, int64_t most, unsigned none)
{
    return rng_below(r, none) == 0 ? NO : rng_between(r, 0, most);
}

static void forest_random(struct forest *f, struct rng *r)
{
    uint32_t n = (uint32_t)rng_between(r, 1, N - 1);
    int64_t most = rng_below(r, 4) ? 30 : INT64_C(1) << rng_between(r, 5, 55);
    forest_init(f, n, (uint32_t)rng_between(r, 1, R));
    for (uint32_t i = 1; i < n; i++) {
        f->parent[i] =
            (uint32_t)(rng_below(r, 2) ? rng_below(r, i) : rng_below(r, 3) % i);
        f->weight[i] = (uint32_t)(rng_below(r, 5) ? rng_between(r, 1, 9) : 0);
        uint32_t k = (uint32_t)rng_below(r, i + 1), swap = f->rank[i];
        f->rank[i] = f->rank[k];
        f->rank[k] = swap;
    }
    for (uint32_t i = 0; i < n * f->t.nresources; i++) {
        f->g[i] = some(r, most, 3);
        f->max[i] = some(r, 3 * most, 2);
        f->borrow[i] = some(r, most, 2);
        f->lend[i] = some(r, most, 2);
        f->units[i] = rng_below(r, 3) ? rng_between(r, 0, 2 * most) : 0;
    }
    for (uint32_t k = 0; k < f->t.nresources; k++)
        f->capacity[k] = rng_between(r, 0, most * (int64_t)n);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Shares s of wants x by weights: the level s / w is the same for all who got less than
 * they want, no lower for none who got all; each division may lose less than one. */
static bool is_max_min(const int64_t *s, const int64_t *x, const int64_t *w, uint32_t n)
{
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            if (w[a] > 0 && s[a] < x[a] &&
                (__int128)s[b] * w[a] >
                    ((__int128)s[a] + 1) * w[b] + (__int128)n * w[a])
                return false;
    return true;
}

/* Below p in r: all that must hold. Returns what does not. */
static const char *below(const struct forest *f, const struct entitle *e, uint32_t p,
                         uint32_t r)
{
    uint32_t nr = f->t.nresources, n = e->first[p + 1] - e->first[p];
    int64_t s[N], x[N], w[N], given = 0, wanted = 0, floors = 0,
                              have = e->e[p * nr + r];
    bool idle_zero = false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = e->child[e->first[p] + i], at = c * nr + r;
        int64_t g = f->g[at] == NO ? 0 : f->g[at];
        if (e->e[at] < 0 || e->e[at] > e->d[at] || e->d[at] > f->max[at])
            return "0 <= E <= D <= max";
        given += e->e[at];
        wanted += e->d[at];
        floors += least(g, e->d[at]);
        w[i] = f->weight[c];
        x[i] = e->d[at] - least(g, e->d[at]);
        s[i] = e->e[at] - least(g, e->d[at]);
        idle_zero = idle_zero || (w[i] == 0 && s[i] < x[i]);
    }
    if (given > have)
        return "sum of E within the parent's";
    if (!(e->exceed[p] >> r & 1) != (floors <= have))
        return "excess of guarantees is reported";
    for (uint32_t i = 0; i < n && floors > have; i++) {
        uint32_t at = e->child[e->first[p] + i] * nr + r;
        w[i] = f->g[at] == NO ? 0 : f->g[at];
        x[i] = least(w[i], e->d[at]);
        s[i] = e->e[at];
        if (s[i] > x[i])
            return "no more than floors where they exceed";
    }
    for (uint32_t i = 0; i < n; i++)
        if (s[i] < 0)
            return "guarantee";
    if (floors > have ? given != have : !idle_zero && given != least(have, wanted))
        return "work conserving";
    for (uint32_t i = 0; i < n && floors <= have && given < have; i++)
        if (w[i] > 0 && s[i] < x[i])
            return "work conserving beside weight 0";
    return is_max_min(s, x, w, n) ? NULL : "max-min";
}

static const char *demand_holds(const struct forest *f, const struct entitle *e)
{
    uint32_t nr = f->t.nresources;
    for (uint32_t n = 0; n < f->t.nnodes; n++)
        for (uint32_t r = 0; r < nr; r++) {
            uint32_t at = n * nr + r;
            __int128 sum = 0;
            int64_t g = f->g[at] == NO ? 0 : f->g[at];
            for (uint32_t i = e->first[n]; i < e->first[n + 1]; i++)
                sum += e->d[e->child[i] * nr + r];
            if (entitle_is_leaf(e, n))
                sum = f->units[at];
            bool capped = e->d[at] == f->max[at] ||
                          (f->borrow[at] != NO && e->d[at] == g + f->borrow[at]);
            if (e->d[at] < sum && !capped)
                return "less than its cap asks for all";
            if (e->d[at] > sum && (f->lend[at] == NO || e->d[at] > g - f->lend[at]))
                return "more than its units only for what it may not lend";
            if (f->borrow[at] != NO && e->d[at] > g + f->borrow[at])
                return "within the borrow limit";
        }
    return NULL;
}

static const char *holds(const struct forest *f, const struct entitle *e)
{
    const char *bad = demand_holds(f, e);
    for (uint32_t r = 0; r < f->t.nresources; r++)
        if (e->e[r] != least(e->d[r], f->capacity[r]))
            return "root";
    for (uint32_t p = 0; p < f->t.nnodes && !bad; p++)
        for (uint32_t r = 0; r < f->t.nresources && !bad; r++)
            bad = entitle_is_leaf(e, p) ? NULL : below(f, e, p, r);
    return bad;
}

static bool same_rows(const struct entitle *a, const struct entitle *b)
{
    size_t size = (size_t)a->nnodes * a->nresources * sizeof *a->e;
    return memcmp(a->e, b->e, size) == 0 && memcmp(a->e0, b->e0, size) == 0 &&
           memcmp(a->d, b->d, size) == 0 &&
           memcmp(a->exceed, b->exceed, a->nnodes * sizeof *a->exceed) == 0;
}

/* Changed demands, one by one, come to the same as all at once; changed says which. */
static bool increments(struct forest *f, struct entitle *e, struct rng *r)
{
    struct entitle fresh = {0}, before = {0};
    uint32_t nr = f->t.nresources;
    bool good = true;
    for (int k = 0; k < 8 && good; k++) {
        uint32_t n = (uint32_t)rng_below(r, f->t.nnodes);
        forest_run(f, &before);
        if (rng_below(r, 8) == 0) {
            f->capacity[0] = rng_between(r, 0, 2 * f->capacity[0] + 1);
            entitle_capacity(e, f->capacity);
        } else if (entitle_is_leaf(e, n)) {
            int64_t more[R];
            for (uint32_t i = 0; i < nr; i++) {
                more[i] = rng_between(r, -f->units[n * nr + i], 9);
                f->units[n * nr + i] += more[i];
            }
            entitle_demand_add(e, n, more, 1);
        }
        entitle_run(e);
        forest_run(f, &fresh);
        good = same_rows(e, &fresh);
        for (uint32_t i = 0, c = 0; i < f->t.nnodes; i++) {
            bool other = entitle_is_leaf(e, i) &&
                         memcmp(before.e + i * nr, e->e + i * nr, nr * sizeof *e->e);
            bool told = c < e->changed.n && e->changed.at[c] == i;
            good = good && other == told;
            c += told;
        }
    }
    entitle_done(&fresh);
    entitle_done(&before);
    return good;
}

/* The same queues under other indexes and the same names have the same E. */
static bool order_free(const struct forest *f, const struct entitle *e)
{
    static struct forest g;
    struct entitle other = {0};
    uint32_t nr = f->t.nresources, to[N], n = f->t.nnodes, next = 1;
    bool good = true;
    forest_init(&g, n, nr);
    to[0] = 0;
    /* level by level, children of each in reverse */
    uint32_t queue[N] = {0};
    for (uint32_t head = 0; head < n; head++)
        for (uint32_t i = e->first[queue[head] + 1]; i-- > e->first[queue[head]];) {
            queue[next] = e->child[i];
            to[e->child[i]] = next++;
        }
    for (uint32_t i = 0; i < n; i++) {
        g.parent[to[i]] = i ? to[f->parent[i]] : 0;
        g.weight[to[i]] = f->weight[i];
        g.rank[to[i]] = f->rank[i];
        for (uint32_t r = 0; r < nr; r++) {
            g.g[to[i] * nr + r] = f->g[i * nr + r];
            g.max[to[i] * nr + r] = f->max[i * nr + r];
            g.borrow[to[i] * nr + r] = f->borrow[i * nr + r];
            g.lend[to[i] * nr + r] = f->lend[i * nr + r];
            g.units[to[i] * nr + r] = f->units[i * nr + r];
        }
    }
    memcpy(g.capacity, f->capacity, sizeof g.capacity);
    forest_run(&g, &other);
    for (uint32_t i = 0; i < n; i++)
        good = good && !memcmp(other.e + to[i] * nr, e->e + i * nr, nr * sizeof *e->e);
    entitle_done(&other);
    return good;
}

/* e0 is e of the same tree with all weights 0. */
static bool guarantees_alone(const struct forest *f, const struct entitle *e)
{
    static struct forest g;
    struct entitle other = {0};
    g = *f;
    g.t =
        (struct entitle_tree){f->t.nnodes, f->t.nresources, g.parent, g.weight, g.rank,
                              g.g,         g.max,           g.borrow, g.lend};
    memset(g.weight, 0, sizeof g.weight);
    forest_run(&g, &other);
    size_t nr = f->t.nresources, size = (f->t.nnodes - 1) * nr * sizeof *e->e;
    bool good = !memcmp(other.e + nr, e->e0 + nr, size);
    entitle_done(&other);
    return good;
}

static void random_trees(struct entitle *e, unsigned trees)
{
    struct rng r;
    struct forest f;
    unsigned bad = 0, moved = 0, ordered = 0, alone = 0, exceed = 0;
    const char *what = NULL;
    rng_init(&r, 20261201, 1);
    for (unsigned i = 0; i < trees; i++) {
        forest_random(&f, &r);
        forest_run(&f, e);
        const char *found = holds(&f, e);
        bad += found != NULL;
        what = found ? found : what;
        ordered += !order_free(&f, e);
        alone += !guarantees_alone(&f, e);
        exceed += e->exceed[0] != 0;
        moved += !increments(&f, e, &r);
    }
    ok(bad == 0, "%u random trees: sums, guarantees, work, max-min (%u: %s)", trees,
       bad, what ? what : "none");
    is_int(moved, 0, "increments come to the same as all at once");
    is_int(ordered, 0, "names decide, not indexes");
    is_int(alone, 0, "e0 is the share of guarantees alone");
    cmp_ok(exceed, >, trees / 20, "guarantees exceeded often enough to be tried");
}

int main(void)
{
    struct entitle e = {0};
    by_hand(&e);
    nested(&e);
    extremes(&e);
    turns(&e);
    random_trees(&e, 1000);
    entitle_done(&e);
    return done_testing();
}
