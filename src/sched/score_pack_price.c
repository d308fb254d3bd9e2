/* score_pack_price.c - what pieces of a GPU are worth to the typical mix
 *
 * A slice that packs badly should count as much as the GPU it spoils. The linear
 * program of bin packing says how much that is: fill whole GPUs with patterns of slices
 * so that all demand is met by the fewest GPUs (Gilmore, Gomory 1961); the dual of each
 * size's demand is its price. On openb's default mix: 810 milli cost a whole GPU
 * (nothing usual fits beside it), 550 .. 650 two thirds, 460 .. 480 a half, 320 .. 440
 * a third, 160 nothing.
 *
 * Solved by column generation: the inverse of the basis is kept dense, patterns come
 * from an unbounded knapsack over 1000 milli in steps of the sizes' common divisor. 12
 * sizes take about 20 rounds. Doubles, but only + - x / in a fixed order: the same bits
 * on any IEEE machine without contraction; the caller rounds the prices to integers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/score_pack.h"

enum { GPU_MILLI = 1000, ROUNDS_MAX = 2000 };

#define EDGE 1e-9 /* what counts as more than 1, or more than 0 */

struct basis {
    uint32_t n;
    double inverse[PACK_SIZES_MAX][PACK_SIZES_MAX];
    double amount[PACK_SIZES_MAX]; /* GPUs packed by each pattern */
};

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* value[r]: best for r steps; from[r]: the size that ends there, or n. */
static void knapsack(const struct pack_sizes *s, uint32_t step, double value[1001],
                     uint32_t from[1001])
{
    value[0] = 0;
    from[0] = s->n;
    for (uint32_t r = 1; r <= GPU_MILLI / step; r++) {
        value[r] = value[r - 1];
        from[r] = s->n;
        for (uint32_t i = 0; i < s->n; i++) {
            uint32_t size = s->milli[i] / step;
            if (size <= r && value[r - size] + s->price[i] > value[r] + 1e-12) {
                value[r] = value[r - size] + s->price[i];
                from[r] = i;
            }
        }
    }
}

static uint32_t sizes_step(const struct pack_sizes *s)
{
    uint32_t step = GPU_MILLI;
    for (uint32_t i = 0; i < s->n; i++)
        step = common_divisor(step, s->milli[i]);
    return step;
}

void pack_knapsack(const struct pack_sizes *s, double ret[1001])
{
    double value[1001];
    uint32_t from[1001], step = sizes_step(s);
    knapsack(s, step, value, from);
    for (uint32_t r = 0; r <= GPU_MILLI; r++)
        ret[r] = value[r / step];
}

/* Start: each size alone on its GPUs. */
static void basis_start(struct basis *b, const struct pack_sizes *s)
{
    memset(b, 0, sizeof *b);
    b->n = s->n;
    for (uint32_t i = 0; i < s->n; i++) {
        double each = (double)(GPU_MILLI / s->milli[i]);
        b->inverse[i][i] = 1 / each;
        b->amount[i] = (double)s->demand[i] / each;
    }
}

static void basis_prices(const struct basis *b, struct pack_sizes *s)
{
    for (uint32_t j = 0; j < b->n; j++) {
        s->price[j] = 0;
        for (uint32_t i = 0; i < b->n; i++)
            s->price[j] += b->inverse[i][j];
    }
}

/* Take a pattern in, for the one that it drives to zero first. False: none (cannot
 * be). */
static bool basis_swap(struct basis *b, const uint32_t pattern[PACK_SIZES_MAX])
{
    double y[PACK_SIZES_MAX], least = 0;
    uint32_t out = b->n;
    for (uint32_t i = 0; i < b->n; i++) {
        y[i] = 0;
        for (uint32_t j = 0; j < b->n; j++)
            y[i] += b->inverse[i][j] * (double)pattern[j];
        if (y[i] > EDGE && (out == b->n || b->amount[i] / y[i] < least - 1e-12)) {
            least = b->amount[i] / y[i];
            out = i;
        }
    }
    if (out == b->n)
        return false;
    for (uint32_t i = 0; i < b->n; i++)
        b->amount[i] -= i == out ? 0 : least * y[i];
    b->amount[out] = least;
    for (uint32_t j = 0; j < b->n; j++)
        b->inverse[out][j] /= y[out];
    for (uint32_t i = 0; i < b->n; i++)
        for (uint32_t j = 0; i != out && j < b->n; j++)
            b->inverse[i][j] -= y[i] * b->inverse[out][j];
    return true;
}

/* Sizes and demand: most wanted first while collecting, then descending by size. */
static void sizes_collect(const struct mix *mix, struct pack_sizes *s)
{
    memset(s, 0, sizeof *s);
    for (uint32_t k = 0; k < mix->items.n; k++) {
        const struct mix_item *m = &mix->items.at[k];
        if (m->gpu_count != 1)
            continue;
        uint32_t i = 0;
        while (i < s->n && s->milli[i] > m->gpu_milli)
            i++;
        if (i == s->n || s->milli[i] != m->gpu_milli) {
            if (s->n == PACK_SIZES_MAX)
                continue; /* items come by count: a rare size */
            memmove(&s->milli[i + 1], &s->milli[i], (s->n - i) * sizeof *s->milli);
            memmove(&s->demand[i + 1], &s->demand[i], (s->n - i) * sizeof *s->demand);
            s->milli[i] = m->gpu_milli;
            s->demand[i] = 0;
            s->n++;
        }
        s->demand[i] += m->count;
    }
}

void pack_price(const struct mix *mix, struct pack_sizes *s)
{
    struct basis b;
    double value[1001];
    uint32_t from[1001];
    sizes_collect(mix, s);
    if (!s->n)
        return;
    basis_start(&b, s);
    uint32_t step = sizes_step(s), all = GPU_MILLI / step;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        uint32_t pattern[PACK_SIZES_MAX] = {0};
        basis_prices(&b, s);
        knapsack(s, step, value, from);
        if (value[all] <= 1 + EDGE)
            return;
        for (uint32_t r = all; r;) {
            if (from[r] == s->n) {
                r--;
                continue;
            }
            pattern[from[r]]++;
            r -= s->milli[from[r]] / step;
        }
        if (!basis_swap(&b, pattern))
            break;
    }
    /* Not settled (it cycles): scaled down, the prices are still prices. */
    for (uint32_t i = 0; i < s->n; i++)
        s->price[i] /= value[all];
}

void pack_pull(const struct mix *mix, const struct cluster *c, int64_t ret[TYPES_MAX])
{
    uint64_t cap[TYPES_MAX] = {0}, all_cap = 0, all_demand = 0;
    for (uint32_t i = 0; i < c->nnodes; i++) {
        const struct node *n = &c->nodes[i];
        for (uint32_t k = 0; !n->gone && k < n->ndevices; k++, all_cap++)
            cap[c->devices[n->device0 + k].type]++;
    }
    memset(ret, 0, TYPES_MAX * sizeof *ret);
    for (uint32_t i = 0; i < mix->items.n; i++)
        all_demand += mix->items.at[i].count * mix->items.at[i].gpu_count *
                      mix->items.at[i].gpu_milli;
    for (uint32_t i = 0; i < mix->items.n; i++) {
        const struct mix_item *m = &mix->items.at[i];
        uint64_t may = 0;
        if (!m->gpu_count || m->types == ~UINT64_C(0))
            continue;
        for (uint32_t t = 0; t < TYPES_MAX; t++)
            may += m->types >> t & 1 ? cap[t] : 0;
        if (!may || !all_demand)
            continue;
        unsigned __int128 pull =
            (unsigned __int128)(m->count * m->gpu_count * m->gpu_milli);
        pull = pull * all_cap * 65536 / ((unsigned __int128)may * all_demand);
        for (uint32_t t = 0; t < TYPES_MAX; t++)
            ret[t] += m->types >> t & 1 ? (int64_t)pull : 0;
    }
}
