/* series.c - time-weighted levels in bins that double their width when they run out
 *
 * Bin i covers [start + i x width, start + (i + 1) x width). The width begins at 1 us
 * and is always a power of two, so merging pairs keeps every border of the wider bins.
 * All but fragmentation is integer, so the sum over the bins equals `total` to the
 * unit. SPDX-License-Identifier: Apache-2.0 */
#include "report/series.h"

#include <assert.h>

#include "base/mem.h"

double u128_ratio(u128 a, u128 b)
{
    return b ? (double)a / (double)b : 0;
}

void series_sum_add(struct series_sum *to, const struct series_sum *from)
{
    to->used += from->used;
    to->pending += from->pending;
    to->capacity += from->capacity;
    to->waiting += from->waiting;
    to->running += from->running;
    to->frag_capacity += from->frag_capacity;
    to->frag += from->frag;
    to->len_us += from->len_us;
}

/* A level that held for so long, into the whole run and into one bin. */
static inline void level_add(struct series_sum *all, struct series_sum *bin,
                             const struct report_level *l, int64_t len)
{
    u128 t = (uint64_t)len, x; /* of 64 bits: one multiplication each */

    x = t * l->used_milli, all->used += x, bin->used += x;
    x = t * l->pending_milli, all->pending += x, bin->pending += x;
    x = t * l->capacity_milli, all->capacity += x, bin->capacity += x;
    if (l->frag_milli >= 0) {
        all->frag_capacity += x, bin->frag_capacity += x;
        all->frag += l->frag_milli * (double)len;
        bin->frag += l->frag_milli * (double)len;
    }
    x = t * l->waiting_jobs, all->waiting += x, bin->waiting += x;
    x = t * l->running_jobs, all->running += x, bin->running += x;
    all->len_us += len;
    bin->len_us += len;
}

static void series_halve(struct series *s)
{
    uint32_t i, n = s->n;

    for (i = 0; i < n; i++) {
        if (i % 2 == 0)
            s->bins[i / 2] = s->bins[i];
        else
            series_sum_add(&s->bins[i / 2], &s->bins[i]);
    }
    s->n = (n + 1) / 2;
    s->width_us *= 2;
    s->width_log++;
}

/* The last level held until `end`: spread its time over the bins. */
static void series_close_level(struct series *s, int64_t end)
{
    int64_t from = s->last.at - s->start_us, to = end - s->start_us;

    while ((to - 1) >> s->width_log >= (int64_t)SERIES_BINS)
        series_halve(s);
    while (from < to) {
        uint32_t i = (uint32_t)(from >> s->width_log);
        int64_t border = ((int64_t)i + 1) << s->width_log;
        int64_t stop = border < to ? border : to;

        while (s->n <= i)
            s->bins[s->n++] = (struct series_sum){0};
        level_add(&s->total, &s->bins[i], &s->last, stop - from);
        from = stop;
    }
}

void series_add(struct series *s, const struct report_level *l)
{
    if (!s->bins) {
        s->bins =
            mem_alloc(SERIES_BINS * sizeof *s->bins); /* each cleared when begun */
        s->start_us = l->at;
        s->width_us = 1;
    } else {
        assert(l->at >= s->last.at);
        if (l->at > s->last.at) {
            series_close_level(s, l->at);
            if (s->last.used_milli > s->peak_used_milli)
                s->peak_used_milli = s->last.used_milli;
            if (s->last.pending_milli > s->peak_pending_milli)
                s->peak_pending_milli = s->last.pending_milli;
        }
    }
    s->last = *l;
}

void series_done(struct series *s)
{
    free(s->bins);
    memset(s, 0, sizeof *s);
}

int64_t series_merge(const struct series *s, uint32_t most, struct series_sum *ret,
                     uint32_t *ret_n)
{
    uint32_t each, i;

    assert(most > 0);
    *ret_n = 0;
    if (s->n == 0)
        return 0;
    each = (s->n + most - 1) / most;
    *ret_n = (s->n + each - 1) / each;
    memset(ret, 0, *ret_n * sizeof *ret);
    for (i = 0; i < s->n; i++)
        series_sum_add(&ret[i / each], &s->bins[i]);
    return s->width_us * each;
}
