/* bench-rights.c - what entitlements and rights cost
 *
 * entitle: 1,111 queues (each inner one has ten children) and 1,110 queues under one
 * root, six resources, 95 % of the leaves' demands beyond what there is: all from
 * scratch, and after one leaf's demand changed.
 *
 * rights: 10,000 live units in one queue and in 1,000 queues, of 40 shapes, three
 * priorities, one in four a step, a fifth of them owed: K1 of all again, as after a
 * change of every entitlement; K2 over all of them; the same walk without the early
 * end.
 *
 * judge: a plan with 64 victims in other queues.
 *
 * CPU time of this thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <time.h>

#include "base/rng.h"
#include "sched/rights.h"

enum {
    SEED = 42,
    RESOURCES = 6,
    ROUNDS = 200,
    UNITS = 10000,
    SHAPES = 40,
    MOST = 1200
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static struct {
    uint32_t parent[MOST], weight[MOST];
    int64_t g[MOST * RESOURCES], none[MOST * RESOURCES], units[RESOURCES];
} q;

/* Queues with `fan` children each, or all under the root; capacity a third of demand.
 */
static uint32_t make_tree(struct entitle *e, uint32_t leaves, uint32_t fan,
                          struct rng *r)
{
    uint32_t n = 1, first;
    int64_t capacity[RESOURCES];
    for (uint32_t wide = 1; fan && wide < leaves; wide *= fan)
        for (uint32_t i = 0, at = n - wide; i < wide * fan; i++, n++)
            q.parent[n] = at + i / fan;
    for (; !fan && n <= leaves; n++)
        q.parent[n] = 0;
    first = n - leaves;
    for (uint32_t i = 0; i < n; i++)
        q.weight[i] = 1 + (uint32_t)rng_below(r, 9);
    for (uint32_t i = 0; i < n * RESOURCES; i++) {
        q.g[i] = i / RESOURCES >= first ? rng_between(r, 0, 20) : ENTITLE_ABSENT;
        q.none[i] = ENTITLE_ABSENT;
    }
    entitle_setup(e, &(struct entitle_tree){n, RESOURCES, q.parent, q.weight, NULL, q.g,
                                            q.none, q.none, q.none});
    for (uint32_t k = 0; k < RESOURCES; k++)
        capacity[k] = (int64_t)leaves * 30;
    entitle_capacity(e, capacity);
    return first;
}

static void bench_entitle(const char *name, uint32_t leaves, uint32_t fan, double aim)
{
    struct entitle e = {0};
    struct rng r;
    rng_init(&r, SEED, fan);
    uint32_t first = make_tree(&e, leaves, fan, &r);
    for (uint32_t n = first; n < e.nnodes; n++) {
        for (uint32_t k = 0; k < RESOURCES; k++)
            q.units[k] = rng_between(&r, 0, 180);
        entitle_demand(&e, n, q.units);
    }
    entitle_run(&e);
    int64_t all = INT64_MAX, one = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t t0 = now_ns();
        entitle_run_all(&e);
        int64_t took = now_ns() - t0;
        all = took < all ? took : all;
    }
    for (int i = 0; i < ROUNDS; i++) {
        int64_t need[RESOURCES] = {1, 0, 0, 8, 64, 0};
        uint32_t leaf = first + (uint32_t)rng_below(&r, leaves);
        int64_t t0 = now_ns();
        entitle_demand_add(&e, leaf, need, 1);
        entitle_run(&e);
        one += now_ns() - t0;
    }
    printf("entitle-%s-all: %.1f us (aim <= %.0f)\n", name, (double)all / 1e3, aim);
    printf("entitle-%s-one: %.1f us\n", name, (double)one / ROUNDS / 1e3);
    entitle_done(&e);
}

static struct {
    struct rights_unit units[UNITS];
    struct rights_place places[UNITS];
    int64_t needs[SHAPES * RESOURCES];
    uint32_t ids[UNITS], all[UNITS], rows[SHAPES];
    struct rights_list lists[MOST], list;
} u;

static int in_line(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct rights_unit *s = &u.units[x], *t = &u.units[y];
    if (s->priority != t->priority)
        return s->priority > t->priority ? -1 : 1;
    if ((s->core == RIGHTS_NONE) != (t->core == RIGHTS_NONE))
        return s->core == RIGHTS_NONE ? -1 : 1;
    return x < y ? -1 : 1;
}

static int by_leaf(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (u.units[x].leaf != u.units[y].leaf)
        return u.units[x].leaf < u.units[y].leaf ? -1 : 1;
    return in_line(a, b);
}

static struct rights_pool make_units(struct entitle *e, uint32_t leaves, struct rng *r)
{
    uint32_t core = 0;
    struct rights_pool p = {RESOURCES, SHAPES, u.needs, u.units, u.places};
    memset(u.lists, 0, sizeof u.lists);
    for (uint32_t i = 0; i < SHAPES; i++) {
        u.rows[i] = i;
        memset(u.needs + i * RESOURCES, 0, RESOURCES * sizeof *u.needs);
        u.needs[i * RESOURCES + i % 3] = 1 + (int64_t)rng_below(r, 8);
        u.needs[i * RESOURCES + 3] = 1 + (int64_t)rng_below(r, 16);
        u.needs[i * RESOURCES + 4] = 1 + (int64_t)rng_below(r, 16);
    }
    for (uint32_t i = 0; i < UNITS; i++) {
        bool step = i > 0 && rng_below(r, 4) == 0;
        if (!step)
            core = i;
        u.units[i] =
            (struct rights_unit){.priority = step ? u.units[core].priority
                                                  : (int32_t)rng_below(r, 3),
                                 .need = (uint32_t)rng_below(r, SHAPES),
                                 .core = step ? core : RIGHTS_NONE,
                                 .leaf = step ? u.units[core].leaf
                                              : 1 + (uint32_t)rng_below(r, leaves)};
        u.places[i] = (struct rights_place){.submitted = i, .cost = 1, .rank = i};
        u.places[core].steps += step;
        u.ids[i] = u.all[i] = i;
        entitle_demand_add(e, u.units[i].leaf,
                           u.needs + (size_t)u.units[i].need * RESOURCES, 1);
    }
    qsort(u.ids, UNITS, sizeof *u.ids, by_leaf);
    qsort(u.all, UNITS, sizeof *u.all, in_line);
    u.list = (struct rights_list){u.all, UNITS, u.rows, SHAPES};
    for (uint32_t i = 0; i < UNITS; i++) {
        struct rights_list *l = &u.lists[u.units[u.ids[i]].leaf];
        if (l->n == 0)
            *l = (struct rights_list){u.ids + i, 0, u.rows, SHAPES};
        l->n++;
    }
    return p;
}

/* A fifth of the demand is there; those in K1 run, so they are own. */
static void make_rights(struct entitle *e, struct rights *r,
                        const struct rights_pool *p)
{
    int64_t capacity[RESOURCES];
    for (uint32_t k = 0; k < RESOURCES; k++)
        capacity[k] = (int64_t)e->wanted[k] / 5;
    entitle_capacity(e, capacity);
    entitle_run(e);
    rights_setup(r, e->nnodes, RESOURCES);
    rights_all(r, p, e, u.lists, u.list, false);
    for (uint32_t i = 0; i < UNITS; i++)
        if (u.units[i].marks & RIGHTS_K1)
            rights_started(p, i);
}

static int64_t best_of(struct rights *r, const struct rights_pool *p,
                       const struct entitle *e, bool across)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t t0 = now_ns();
        if (across)
            rights_across(r, p, e, u.list, true);
        else
            rights_all(r, p, e, u.lists, u.list, false);
        int64_t took = now_ns() - t0;
        best = took < best ? took : best;
        vec_clear(&r->changed);
    }
    return best;
}

/* A queue's demand changes by one unit: E of all, K1 where it may differ. */
static void bench_event(struct rights *r, const struct rights_pool *p,
                        struct entitle *e, const char *name, struct rng *rng)
{
    uint32_t walked = 0, moved = 0;
    int64_t all = 0;
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t leaf = 1 + (uint32_t)rng_below(rng, e->nnodes - 1);
        const int64_t *need = u.needs + rng_below(rng, SHAPES) * RESOURCES;
        int64_t t0 = now_ns();
        entitle_demand_add(e, leaf, need, 1);
        entitle_run(e);
        rights_leaf(r, p, leaf, u.lists[leaf], entitle_row(e, e->e, leaf));
        for (uint32_t k = 0; k < e->changed.n; k++) {
            uint32_t n = e->changed.at[k];
            const int64_t *row = entitle_row(e, e->e, n);
            if (n == leaf || rights_leaf_stands(r, n, row))
                continue;
            rights_leaf(r, p, n, u.lists[n], row);
            walked++;
        }
        all += now_ns() - t0;
        moved += e->changed.n;
        vec_clear(&r->changed);
    }
    printf("rights-10000-in-%s-event: %.1f us\n", name, (double)all / ROUNDS / 1e3);
    printf("# %.1f queues with another E, %.1f of them walked\n",
           (double)moved / ROUNDS, (double)walked / ROUNDS);
}

static void bench_judge(const struct rights_pool *p, const struct entitle *e,
                        const char *name)
{
    uint32_t victims[64], n = 0, unit = RIGHTS_NONE;
    struct rights_use use = {0};
    rights_use_setup(&use, e->nnodes, RESOURCES);
    for (uint32_t i = UNITS; i-- > 0;) {
        uint32_t id = u.all[i];
        if (u.units[id].marks & RIGHTS_K1 || u.units[id].core != RIGHTS_NONE)
            continue;
        if (unit == RIGHTS_NONE) {
            unit = id;
            u.units[id].marks |= RIGHTS_K1;
        } else if (n < 64) {
            rights_started(p, id);
            victims[n++] = id;
        }
    }
    rights_use_count(&use, e, p, u.all, UNITS, RIGHTS_RUNNING);
    struct rights_plan plan = {.unit = unit,
                               .victims = victims,
                               .nvictims = n,
                               .within_any = true};
    unsigned sum = 0;
    int64_t t0 = now_ns();
    for (int i = 0; i < ROUNDS; i++)
        sum += rights_judge(p, e, &use, &plan, NULL);
    printf("judge-64-victims-in-%s: %.2f us\n", name,
           (double)(now_ns() - t0) / ROUNDS / 1e3);
    printf("# verdict %u\n", sum / ROUNDS);
    rights_use_done(&use);
}

static void bench_rights(const char *name, uint32_t leaves, uint32_t fan, int aim)
{
    struct entitle e = {0};
    struct rights r = {0};
    struct rng rng;
    rng_init(&rng, SEED, 100 + leaves);
    make_tree(&e, leaves, fan, &rng);
    struct rights_pool p = make_units(&e, leaves, &rng);
    make_rights(&e, &r, &p);
    uint32_t owed = 0;
    for (uint32_t n = 0; n < e.nnodes; n++)
        owed += r.k1[n].n;
    int64_t early = best_of(&r, &p, &e, false);
    printf("rights-10000-in-%s-all: %.1f us (aim <= %d)\n", name, (double)early / 1e3,
           aim);
    printf("# %u of them owed\n", owed);
    bench_event(&r, &p, &e, name, &rng);
    for (uint32_t n = 0; n < e.nnodes; n++)
        u.lists[n].nrows = 0;
    printf("rights-10000-in-%s-no-early-end: %.1f us\n", name,
           (double)best_of(&r, &p, &e, false) / 1e3);
    printf("rights-10000-in-%s-across: %.1f us\n", name,
           (double)best_of(&r, &p, &e, true) / 1e3);
    bench_judge(&p, &e, name);
    entitle_done(&e);
    rights_done(&r);
}

int main(void)
{
    bench_entitle("1111-by-tens", 1000, 10, 200);
    bench_entitle("1111-flat", 1110, 0, 400);
    bench_rights("1", 1, 0, 100);
    bench_rights("1000", 1000, 0, 400);
    return 0;
}
