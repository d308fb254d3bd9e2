/* columns.c - the published layout of the FGD experiment: 131 columns by arrived load
 *
 * What makes the figures equal to the digit (found on all 17 workloads, 10 seeds and
 * five policies of the published set): the allocation of each observation is rounded to
 * two digits before the mean; the fragmented amount of each is rounded to two digits of
 * a milli-GPU, since the authors' log prints it so, and turned into per cent after the
 * mean; the means are numpy's. SPDX-License-Identifier: Apache-2.0 */
#include "report/columns.h"

#include <math.h>

/* numpy's pairwise sum (numpy/_core/src/umath/loops_utils.h.src): the error grows with
 * log n, and another order gives another last digit. */
static double pairwise_sum(const double *v, size_t n)
{
    if (n < 8) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += v[i];
        return sum;
    }
    if (n <= 128) {
        double r[8];
        memcpy(r, v, sizeof r);
        size_t i = 8;
        for (; i < n - n % 8; i += 8)
            for (size_t j = 0; j < 8; j++)
                r[j] += v[i + j];
        double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        for (; i < n; i++)
            sum += v[i];
        return sum;
    }
    size_t half = n / 2;
    half -= half % 8;
    return pairwise_sum(v, half) + pairwise_sum(v + half, n - half);
}

double columns_mean(const double *v, size_t n)
{
    return pairwise_sum(v, n) / (double)n;
}

double columns_round2(double x)
{
    return rint(x * 100) / 100;
}

void columns_add(struct columns *c, uint64_t arrived_milli, uint64_t used_milli,
                 double frag_milli, uint64_t total_milli)
{
    double gpus = (double)total_milli / 1000;
    c->total_milli = total_milli;
    double bin = gpus > 0 ? rint((double)arrived_milli / gpus / 10) : 0;
    struct columns_seen seen = {
        .bin = bin < COLUMNS + 1 ? (uint32_t)bin : COLUMNS + 1,
        .alloc = gpus > 0 ? columns_round2((double)used_milli / gpus / 10) : 0,
        .frag = columns_round2(frag_milli),
    };
    vec_push(&c->seen, seen);
}

/* Sort the observations into bins, keeping their order (the means depend on it). */
static void bins_fill(const struct columns *c, uint32_t start[COLUMNS + 3],
                      double *alloc, double *frag)
{
    uint32_t at[COLUMNS + 2] = {0};
    for (uint32_t i = 0; i < c->seen.n; i++)
        at[c->seen.at[i].bin]++;
    start[0] = 0;
    for (uint32_t k = 0; k < COLUMNS + 2; k++) {
        start[k + 1] = start[k] + at[k];
        at[k] = start[k];
    }
    for (uint32_t i = 0; i < c->seen.n; i++) {
        const struct columns_seen *s = &c->seen.at[i];
        alloc[at[s->bin]] = s->alloc;
        frag[at[s->bin]++] = s->frag;
    }
}

void columns_settle(const struct columns *c, double alloc[COLUMNS],
                    double frag[COLUMNS])
{
    uint32_t start[COLUMNS + 3];
    size_t room = (size_t)c->seen.n + 1;
    double *values = mem_alloc(2 * room * sizeof *values);
    bins_fill(c, start, values, values + room);
    for (uint32_t k = 0; k < COLUMNS; k++) {
        uint32_t lo = start[k], hi = start[k + 1];
        if (lo == hi) {
            lo = start[k ? k - 1 : 0];
            hi = start[k + 2];
        }
        bool none = lo == hi;
        if (alloc)
            alloc[k] = none ? NAN : columns_round2(columns_mean(values + lo, hi - lo));
        if (frag) {
            double milli = none ? NAN : columns_mean(values + room + lo, hi - lo);
            double gpus = (double)c->total_milli / 1000;
            frag[k] = milli < 0 ? NAN : columns_round2(100 * milli / 1000 / gpus);
        }
    }
    free(values);
}

void columns_done(struct columns *c)
{
    vec_done(&c->seen);
}
