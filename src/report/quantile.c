/* quantile.c - one sort, then every group's quantiles in one walk
 *
 * The values are sorted once by a radix sort of (value less the least, index), twelve
 * bits a pass; when all values are whole seconds apart, which most traces are, by
 * seconds, so that two passes do. Each group's members then come by in ascending order,
 * so its quantiles are found by counting: when the group's counter reaches the next
 * rank, this is the value. A million jobs in a thousand queues take as long as in one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/quantile.h"

#include <assert.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/units.h"

uint64_t quantile_rank(uint64_t n, int which)
{
    static const uint64_t percent[QUANTILES] = {50, 95, 99, 100};

    return (n * percent[which] + 99) / 100;
}

enum { DIGIT_BITS = 12, DIGITS = 1 << DIGIT_BITS };

struct sort_key {
    uint64_t key;
    uint32_t index;
};

/* One stable pass by the digit at shift, from a to b. */
static void pass(const struct sort_key *a, struct sort_key *b, uint32_t n,
                 uint32_t shift)
{
    uint32_t start[DIGITS] = {0}, sum = 0;

    for (uint32_t i = 0; i < n; i++)
        start[a[i].key >> shift & (DIGITS - 1)]++;
    for (uint32_t d = 0; d < DIGITS; d++) {
        uint32_t count = start[d];

        start[d] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        b[start[a[i].key >> shift & (DIGITS - 1)]++] = a[i];
}

/* Keys for the values; returns the largest. */
static uint64_t keys_make(const int64_t *values, uint32_t n, struct sort_key *keys)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    bool whole = true;

    for (uint32_t i = 0; i < n; i++) {
        lo = values[i] < lo ? values[i] : lo;
        hi = values[i] > hi ? values[i] : hi;
    }
    for (uint32_t i = 0; whole && i < n; i++) {
        uint64_t over = (uint64_t)values[i] - (uint64_t)lo;

        keys[i] = (struct sort_key){over / US_PER_S, i};
        whole = keys[i].key * US_PER_S == over;
    }
    for (uint32_t i = 0; !whole && i < n; i++)
        keys[i] = (struct sort_key){(uint64_t)values[i] - (uint64_t)lo, i};
    return n == 0 ? 0 : ((uint64_t)hi - (uint64_t)lo) / (whole ? US_PER_S : 1);
}

void quantile_sort(const int64_t *values, uint32_t n, uint32_t *ret_order)
{
    struct sort_key *keys = mem_alloc(2 * (size_t)n * sizeof *keys);
    struct sort_key *from = keys, *to = keys + n;
    uint64_t most = keys_make(values, n, keys);

    for (uint32_t shift = 0; shift < 64 && most >> shift; shift += DIGIT_BITS) {
        struct sort_key *swap = from;

        pass(from, to, n, shift);
        from = to;
        to = swap;
    }
    for (uint32_t i = 0; i < n; i++)
        ret_order[i] = from[i].index;
    free(keys);
}

/* Without groups the quantiles stand at their ranks. */
static void quantile_all(const int64_t *values, const uint32_t *order, uint32_t n,
                         struct group_stat *all)
{
    all->n = n;
    for (uint32_t i = 0; i < n; i++)
        all->sum += values[i];
    for (int q = 0; n && q < QUANTILES; q++)
        all->at[q] = values[order[quantile_rank(n, q) - 1]];
}

/* Where a group stands in the walk. */
struct cursor {
    uint64_t seen, due; /* members met; at which number the next quantile is met */
    __int128 sum;
    int next; /* that quantile */
};

void quantile_groups(const int64_t *values, const uint32_t *order, uint32_t n,
                     const uint32_t *group, struct group_stat *stats, uint32_t ngroups)
{
    struct cursor *at;
    uint32_t i;

    memset(stats, 0, ngroups * sizeof *stats);
    if (!group) {
        quantile_all(values, order, n, stats);
        return;
    }
    at = mem_zero(((size_t)ngroups + 1) * sizeof *at);
    for (i = 0; i < n; i++) {
        assert(group[i] < ngroups);
        at[group[i]].seen++;
    }
    for (i = 0; i < ngroups; i++) {
        stats[i].n = at[i].seen;
        at[i].due = quantile_rank(stats[i].n, 0);
        at[i].seen = 0;
    }
    for (i = 0; i < n; i++) {
        uint32_t k = order[i], g = group[k];
        struct cursor *c = &at[g];

        c->sum += values[k];
        if (++c->seen != c->due)
            continue;
        while (c->seen == c->due) { /* the ranks never fall from one to the next */
            stats[g].at[c->next++] = values[k];
            c->due =
                c->next < QUANTILES ? quantile_rank(stats[g].n, c->next) : UINT64_MAX;
        }
    }
    for (i = 0; i < ngroups; i++)
        stats[i].sum = at[i].sum;
    free(at);
}
