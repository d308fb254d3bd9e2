/* entitle.c - what each queue is owed of each resource: its entitlement E
 * Demands are kept summed, so a leaf's change walks its path once; then the queues
 * below which something moved are visited parents first, and each shares out only the
 * resources that moved. A share is one water-fill: children by want over weight, kept
 * in the order of the last time and sorted by merging its runs, so O(fan-out) where
 * little changed and O(fan-out log fan-out) at worst. Invariant after a run: the sum of
 * the children's E is min(E_p, sum of D) but for children of weight 0, and E <= D <=
 * cap everywhere. Source of the formulas: entitle.h; water-filling is max-min fairness
 * with weights (Bertsekas and Gallager, Data Networks, 6.5.2). SPDX-License-Identifier:
 * Apache-2.0 */
#include "sched/entitle.h"

#include <assert.h>

typedef __int128 wide;

struct pour { /* one child in a water-fill */
    int64_t want, weight, got;
    uint32_t child, rank;
};

static int64_t at_most(wide v)
{
    return v < INT64_MAX ? (int64_t)v : INT64_MAX;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- demand, upward --- */

static void make_stale(struct entitle *e, uint32_t n, uint32_t resources)
{
    e->stale[n] |= (uint16_t)resources;
    e->stale_at[n / 64] |= UINT64_C(1) << (n % 64);
}

static int64_t asks_for(const struct entitle *e, size_t at)
{
    wide want = e->wanted[at] > e->keep[at] ? e->wanted[at] : e->keep[at];
    return at_most(want < e->cap[at] ? want : e->cap[at]);
}

/* What n is wanted for has changed in r: its demand, and so on upward. */
static void demand_up(struct entitle *e, uint32_t n, uint32_t r)
{
    for (;;) {
        size_t at = (size_t)n * e->nresources + r;
        int64_t d = asks_for(e, at), delta = d - e->d[at];
        if (delta == 0)
            return;
        e->d[at] = d;
        if (n == 0) {
            make_stale(e, 0, 1u << r);
            return;
        }
        n = e->parent[n];
        e->wanted[(size_t)n * e->nresources + r] += delta;
        make_stale(e, n, 1u << r);
    }
}

void entitle_demand(struct entitle *e, uint32_t leaf, const int64_t *units)
{
    assert(leaf < e->nnodes && entitle_is_leaf(e, leaf));
    for (uint32_t r = 0; r < e->nresources; r++) {
        e->wanted[(size_t)leaf * e->nresources + r] = units[r];
        demand_up(e, leaf, r);
    }
}

void entitle_demand_add(struct entitle *e, uint32_t leaf, const int64_t *need, int sign)
{
    assert(leaf < e->nnodes && entitle_is_leaf(e, leaf));
    for (uint32_t r = 0; r < e->nresources; r++) {
        wide *wanted = &e->wanted[(size_t)leaf * e->nresources + r];
        if (need[r] == 0)
            continue;
        *wanted += sign > 0 ? need[r] : -need[r];
        assert(*wanted >= 0);
        demand_up(e, leaf, r);
    }
}

void entitle_capacity(struct entitle *e, const int64_t *capacity)
{
    for (uint32_t r = 0; r < e->nresources; r++) {
        assert(capacity[r] >= 0);
        if (e->capacity[r] != capacity[r])
            make_stale(e, 0, 1u << r);
        e->capacity[r] = capacity[r];
    }
}

/* --- the water-fill --- */

/* By want over weight, ties by rank. */
static bool pours_before(const struct pour *a, const struct pour *b)
{
    wide x = (wide)a->want * b->weight, y = (wide)b->want * a->weight;
    return x != y ? x < y : a->rank < b->rank;
}

static void merge(const struct pour *a, size_t na, const struct pour *b, size_t nb,
                  struct pour *out)
{
    while (na && nb) {
        if (pours_before(b, a)) {
            *out++ = *b++;
            nb--;
        } else {
            *out++ = *a++;
            na--;
        }
    }
    memcpy(out, a, na * sizeof *a);
    memcpy(out + na, b, nb * sizeof *b);
}

static size_t run_from(const struct pour *v, size_t i, size_t n)
{
    size_t end = i + 1;
    while (end < n && !pours_before(&v[end], &v[end - 1]))
        end++;
    return end;
}

/* Natural merge sort: O(n log runs). Ranks differ, so there is only one order. */
static void sort_pours(struct pour *v, size_t n, struct pour *spare)
{
    while (run_from(v, 0, n) < n) {
        for (size_t i = 0, end; i < n; i = end) {
            size_t mid = run_from(v, i, n);
            end = mid < n ? run_from(v, mid, n) : n;
            merge(v + i, mid - i, v + mid, end - mid, spare + i);
        }
        memcpy(v, spare, n * sizeof *v);
    }
}

/* Weights whose sum passes 63 bits are scaled, so that products stay within 128. */
static int64_t sum_weights(struct pour *v, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!__builtin_add_overflow(sum, v[i].weight, &sum))
            continue;
        for (size_t k = 0; k < n; k++)
            v[k].weight >>= 1;
        return sum_weights(v, n);
    }
    return sum;
}

/* min(want, floor(amount weight / weights)), without a division where want is less. */
static int64_t fair_part(int64_t amount, const struct pour *c, int64_t weights)
{
    wide part = (wide)amount * c->weight, all = (wide)c->want * weights;
    if (all <= part)
        return c->want;
    if (part <= INT64_MAX)
        return (int64_t)part / weights;
    return (int64_t)(part / weights);
}

/* Give `amount` to the wants, smallest want over weight first. Sorted on return. */
static void pour_out(int64_t amount, struct pour *v, size_t n, struct pour *spare)
{
    int64_t weights = sum_weights(v, n);
    sort_pours(v, n, spare);
    for (size_t i = 0; i < n; i++) {
        v[i].got = weights > 0 ? fair_part(amount, &v[i], weights) : 0;
        amount -= v[i].got;
        weights -= v[i].weight;
    }
}

/* --- shares, downward --- */

static int64_t floor_of(const struct entitle *e, size_t at)
{
    return smaller(e->owed[at], e->d[at]);
}

/* Guarantees below p that together exceed `amount`: by weight G. */
static void share_floors(struct entitle *e, uint32_t p, uint32_t r, int64_t amount,
                         int64_t *ret)
{
    struct pour *v = e->scratch, *spare = v + e->nnodes;
    size_t n = 0;
    for (uint32_t i = e->first[p]; i < e->first[p + 1]; i++) {
        uint32_t c = e->child[i];
        size_t at = (size_t)c * e->nresources + r;
        int64_t floor = amount ? floor_of(e, at) : 0;
        ret[c] = 0;
        if (floor > 0)
            v[n++] = (struct pour){floor, e->owed[at], 0, c, e->rank[c]};
    }
    pour_out(amount, v, n, spare);
    for (size_t i = 0; i < n; i++)
        ret[v[i].child] = v[i].got;
}

/* Floors fit into what p has: what is left goes by weight. ret holds the floors. */
static void share_rest(struct entitle *e, uint32_t p, uint32_t r, int64_t rest,
                       int64_t *ret)
{
    uint32_t lo = e->first[p], n = e->first[p + 1] - lo, live = 0, idle = n;
    uint32_t *order = e->order + (size_t)r * e->nnodes + lo;
    struct pour *v = e->scratch, *spare = v + e->nnodes;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = order[i];
        int64_t want = e->d[(size_t)c * e->nresources + r] - ret[c];
        if (want > 0 && e->weight[c] > 0)
            v[live++] = (struct pour){want, e->weight[c], 0, c, e->rank[c]};
        else
            spare[--idle].child = c;
    }
    for (uint32_t i = n; i-- > idle;)
        order[live + n - 1 - i] = spare[i].child;
    pour_out(rest, v, live, spare);
    for (uint32_t i = 0; i < live; i++) {
        order[i] = v[i].child;
        ret[v[i].child] += v[i].got;
    }
}

static void set_e(struct entitle *e, uint32_t c, uint32_t r, int64_t v, int64_t v0,
                  uint64_t *moved)
{
    size_t at = (size_t)c * e->nresources + r;
    bool other = e->e[at] != v;
    if (!other && e->e0[at] == v0)
        return;
    e->e[at] = v;
    e->e0[at] = v0;
    if (!entitle_is_leaf(e, c))
        make_stale(e, c, 1u << r);
    else if (other)
        moved[c / 64] |= UINT64_C(1) << (c % 64);
}

/* Share e (and e0) of p in r out among its children. */
static void share_out(struct entitle *e, uint32_t p, uint32_t r, uint64_t *moved)
{
    size_t at_p = (size_t)p * e->nresources + r;
    int64_t have = e->e[at_p], have0 = e->e0[at_p];
    const uint32_t *c = e->child + e->first[p], *end = e->child + e->first[p + 1];
    int64_t *v = (int64_t *)((struct pour *)e->scratch + 2 * (size_t)e->nnodes);
    int64_t *v0 = v + e->nnodes;
    bool spreads = e->wanted[at_p] > have;
    wide floors = 0;
    if (c == end)
        return;
    for (const uint32_t *i = c; i < end; i++) {
        size_t at = (size_t)*i * e->nresources + r;
        int64_t floor = floor_of(e, at);
        v0[*i] = floor;
        v[*i] = spreads || !e->weight[*i] ? floor : e->d[at];
        floors += floor;
    }
    e->exceed[p] &= (uint16_t) ~(1u << r);
    if (floors > have) {
        e->exceed[p] |= (uint16_t)(1u << r);
        share_floors(e, p, r, have, v);
    } else if (spreads) {
        share_rest(e, p, r, (int64_t)(have - floors), v);
    }
    if (floors > have0)
        share_floors(e, p, r, have0, v0);
    for (const uint32_t *i = c; i < end; i++)
        set_e(e, *i, r, v[*i], v0[*i], moved);
}

static void list_moved(struct entitle *e, uint64_t *moved)
{
    for (uint32_t w = 0; w < (e->nnodes + 63) / 64; w++)
        for (; moved[w]; moved[w] &= moved[w] - 1)
            vec_push(&e->changed, w * 64 + (uint32_t)__builtin_ctzll(moved[w]));
}

bool entitle_run(struct entitle *e)
{
    uint32_t words = (e->nnodes + 63) / 64;
    uint64_t *moved = e->stale_at + words;
    vec_clear(&e->changed);
    for (uint32_t r = 0; e->stale[0] && r < e->nresources; r++) {
        int64_t have = smaller(e->d[r], e->capacity[r]);
        set_e(e, 0, r, have, have, moved);
    }
    for (uint32_t w = 0; w < words; w++) {
        while (e->stale_at[w]) {
            uint32_t p = w * 64 + (uint32_t)__builtin_ctzll(e->stale_at[w]);
            uint32_t resources = e->stale[p];
            e->stale_at[w] &= e->stale_at[w] - 1;
            e->stale[p] = 0;
            for (; resources; resources &= resources - 1)
                share_out(e, p, (uint32_t)__builtin_ctz(resources), moved);
        }
    }
    list_moved(e, moved);
    return e->changed.n > 0;
}

bool entitle_run_all(struct entitle *e)
{
    uint32_t all = (1u << e->nresources) - 1, nr = e->nresources;
    for (uint32_t n = 0; n < e->nnodes; n++)
        for (uint32_t r = 0; r < nr && !entitle_is_leaf(e, n); r++)
            e->wanted[(size_t)n * nr + r] = 0;
    for (uint32_t n = e->nnodes; n-- > 0;) {
        for (uint32_t r = 0; r < nr; r++) {
            size_t at = (size_t)n * nr + r;
            e->d[at] = asks_for(e, at);
            if (n > 0)
                e->wanted[(size_t)e->parent[n] * nr + r] += e->d[at];
        }
        if (n == 0 || !entitle_is_leaf(e, n))
            make_stale(e, n, all);
    }
    return entitle_run(e);
}

/* --- turns --- */

static void raise_path(struct entitle *e, uint32_t leaf, const int64_t *size)
{
    uint32_t all = (1u << e->nresources) - 1, nr = e->nresources;
    for (uint32_t n = leaf; n != 0; n = e->parent[n]) {
        for (uint32_t r = 0; r < nr; r++) {
            size_t at = (size_t)n * nr + r;
            int64_t lack = size ? size[r] - e->guaranteed[(size_t)leaf * nr + r] : 0;
            int64_t owed = e->guaranteed[at];
            if (lack > 0)
                owed = at_most((wide)owed + lack);
            if (size && owed < size[r])
                owed = size[r];
            e->owed[at] = owed;
        }
        make_stale(e, e->parent[n], all);
    }
}

static bool raise_holds(const struct entitle *e, uint32_t leaf, const int64_t *size)
{
    for (uint32_t n = 0; n < e->nnodes; n++)
        for (uint32_t r = 0; r < e->nresources && entitle_is_leaf(e, n); r++) {
            size_t at = (size_t)n * e->nresources + r;
            if (e->e[at] < (n == leaf ? size[r] : smaller(e->guaranteed[at], e->d[at])))
                return false;
        }
    return true;
}

bool entitle_raise(struct entitle *e, uint32_t leaf, const int64_t *size)
{
    assert(e->raised == UINT32_MAX && entitle_is_leaf(e, leaf));
    raise_path(e, leaf, size);
    entitle_run(e);
    e->raised = leaf;
    if (raise_holds(e, leaf, size))
        return true;
    entitle_unraise(e);
    entitle_run(e);
    vec_clear(&e->changed);
    return false;
}

void entitle_raise_again(struct entitle *e, uint32_t leaf, const int64_t *size)
{
    raise_path(e, leaf, size);
    e->raised = leaf;
}

void entitle_unraise(struct entitle *e)
{
    if (e->raised != UINT32_MAX)
        raise_path(e, e->raised, NULL);
    e->raised = UINT32_MAX;
}

/* --- the tree --- */

static int64_t amount_or(const int64_t *table, size_t at, int64_t absent)
{
    assert(table[at] >= 0);
    return table[at] == ENTITLE_ABSENT ? absent : table[at];
}

static void set_limits(struct entitle *e, const struct entitle_tree *t)
{
    for (size_t at = 0; at < (size_t)e->nnodes * e->nresources; at++) {
        int64_t g = amount_or(t->guaranteed, at, 0), lend = t->lend[at];
        assert(lend >= 0 && t->max[at] >= 0 && t->borrow[at] >= 0);
        e->guaranteed[at] = e->owed[at] = g;
        e->cap[at] = smaller(t->max[at], at_most((wide)g + t->borrow[at]));
        e->keep[at] = lend < g ? g - lend : 0;
        if (e->keep[at] > 0)
            e->kept |= 1u << at % e->nresources;
    }
}

static void list_children(struct entitle *e)
{
    for (uint32_t n = 1; n < e->nnodes; n++) {
        assert(e->parent[n] < n);
        e->first[e->parent[n] + 1]++;
    }
    for (uint32_t n = 0; n < e->nnodes; n++)
        e->first[n + 1] += e->first[n];
    uint32_t *fill = mem_alloc(e->nnodes * sizeof *fill);
    memcpy(fill, e->first, e->nnodes * sizeof *fill);
    for (uint32_t n = 1; n < e->nnodes; n++)
        e->child[fill[e->parent[n]]++] = n;
    free(fill);
    for (uint32_t r = 0; r < e->nresources; r++)
        memcpy(e->order + (size_t)r * e->nnodes, e->child,
               e->nnodes * sizeof *e->order);
}

static void *copy_of(const void *from, size_t n, size_t item)
{
    void *p = mem_zero(n * item);
    if (from)
        memcpy(p, from, n * item);
    return p;
}

void entitle_setup(struct entitle *e, const struct entitle_tree *t)
{
    size_t n = t->nnodes, cells = n * t->nresources;
    assert(t->nnodes > 0 && t->nresources > 0 &&
           t->nresources <= ENTITLE_RESOURCES_MAX);
    entitle_done(e);
    e->nnodes = t->nnodes;
    e->nresources = t->nresources;
    e->raised = UINT32_MAX;
    e->parent = copy_of(t->parent, n, sizeof *e->parent);
    e->weight = copy_of(t->weight, n, sizeof *e->weight);
    e->rank = copy_of(t->rank, n, sizeof *e->rank);
    for (uint32_t i = 0; !t->rank && i < t->nnodes; i++)
        e->rank[i] = i;
    e->first = mem_zero((n + 1) * sizeof *e->first);
    e->child = mem_zero(n * sizeof *e->child);
    e->order = mem_zero(cells * sizeof *e->order);
    int64_t **rows[] = {&e->guaranteed, &e->owed, &e->cap, &e->keep,
                        &e->d,          &e->e,    &e->e0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = mem_zero(cells * sizeof **rows[i]);
    e->wanted = mem_zero(cells * sizeof *e->wanted);
    e->exceed = mem_zero(n * sizeof *e->exceed);
    e->stale = mem_zero(n * sizeof *e->stale);
    e->stale_at = mem_zero((n + 63) / 64 * 2 * sizeof *e->stale_at);
    e->scratch = mem_zero(n * (2 * sizeof(struct pour) + 2 * sizeof(int64_t)));
    list_children(e);
    set_limits(e, t);
    entitle_run_all(e);
}

void entitle_done(struct entitle *e)
{
    void *owned[] = {e->parent,     e->weight,   e->rank,   e->first,  e->child,
                     e->guaranteed, e->owed,     e->cap,    e->keep,   e->d,
                     e->e,          e->e0,       e->exceed, e->wanted, e->order,
                     e->stale,      e->stale_at, e->scratch};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    vec_done(&e->changed);
    *e = (struct entitle){0};
}
