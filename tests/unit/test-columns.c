/* test-columns.c - the columns' means and roundings equal numpy's
 * The expected means were computed once by numpy 2.4.6 (numpy.mean, numpy.round) over
 * the numbers that next_value() makes; the columns of the small run by hand.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/columns.h"
#include "tap.h"

/* Knuth's MMIX generator; top 24 bits as 0 .. 100, to two digits. */
static double next_value(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return rint((double)(*x >> 40) / 167772.16 * 100) / 100;
}

static const struct {
    size_t n;
    double mean, rounded;
} means[] = {
    {1, 0x1.5eb851eb851ecp+3, 0x1.5eb851eb851ecp+3},
    {2, 0x1.2c00000000000p+4, 0x1.2c00000000000p+4},
    {7, 0x1.af93bfa2608c7p+5, 0x1.af9999999999ap+5},
    {8, 0x1.a0c7ae147ae14p+5, 0x1.a0ccccccccccdp+5},
    {9, 0x1.baeeeeeeeeeeep+5, 0x1.baf5c28f5c28fp+5},
    {15, 0x1.cb33333333333p+5, 0x1.cb33333333333p+5},
    {16, 0x1.bf228f5c28f5cp+5, 0x1.bf1eb851eb852p+5},
    {127, 0x1.927686a6e7685p+5, 0x1.927ae147ae148p+5},
    {128, 0x1.9036b851eb852p+5, 0x1.903d70a3d70a4p+5},
    {129, 0x1.921cbc49fb655p+5, 0x1.92147ae147ae1p+5},
    {136, 0x1.917fd9730ca64p+5, 0x1.91851eb851eb8p+5},
    {255, 0x1.8c41db750ea84p+5, 0x1.8c3d70a3d70a4p+5},
    {256, 0x1.8b17ae147ae14p+5, 0x1.8b1eb851eb852p+5},
    {257, 0x1.8b45c478f7ac3p+5, 0x1.8b47ae147ae14p+5},
    {1000, 0x1.98afe718a86d7p+5, 0x1.98b851eb851ecp+5},
    {4099, 0x1.9342b93fd3648p+5, 0x1.9347ae147ae14p+5},
};

static void test_means(void)
{
    static double v[4099];
    uint32_t plain_differs = 0;
    for (size_t t = 0; t < sizeof means / sizeof *means; t++) {
        uint64_t x = 12345;
        double plain = 0;
        for (size_t i = 0; i < means[t].n; i++)
            plain += v[i] = next_value(&x);
        double mean = columns_mean(v, means[t].n);
        ok(mean == means[t].mean, "mean of %zu values is numpy's to the last bit",
           means[t].n);
        ok(columns_round2(mean) == means[t].rounded, "... and so is its rounding");
        plain_differs += plain / (double)means[t].n != means[t].mean;
    }
    ok(plain_differs > 3, "a plain sum would be seen (%u means differ)", plain_differs);
}

static const struct {
    double x, rounded;
} roundings[] = {
    {0.125, 0x1.eb851eb851eb8p-4}, /* half: to the even digit, 0.12 */
    {2.675, 0x1.570a3d70a3d71p+1}, /* 2.68 although the double is below the half */
    {8.505, 0x1.1051eb851eb85p+3}, /* 8.51 */
    {1.005, 1.0},                  /* 1.0 */
    {50.5050000001, 0x1.94147ae147ae1p+5}, /* 50.51 */
    {93.135, 0x1.748f5c28f5c29p+6},        /* 93.14 */
    {0.0049999, 0.0},
};

static void test_roundings(void)
{
    for (size_t t = 0; t < sizeof roundings / sizeof *roundings; t++)
        ok(columns_round2(roundings[t].x) == roundings[t].rounded,
           "%.12g rounds as numpy rounds it", roundings[t].x);
}

/* Four GPUs: 40 milli are one per cent. */
static void test_bins(void)
{
    struct columns c = {0};
    double alloc[COLUMNS], frag[COLUMNS];
    columns_add(&c, 0, 0, 100, 4000);  /* bin 0: 0 %, 2.5 % */
    columns_add(&c, 20, 20, 80, 4000); /* 0.5 rounds to even: bin 0: 0.5 %, 2 % */
    columns_add(&c, 60, 60, 41.234567, 4000); /* 1.5 rounds to 2: 1.5 %, 41.23 milli */
    columns_add(&c, 4000, 3000, 0, 4000);     /* bin 100: 75 % */
    columns_add(&c, 5240, 3333, 0, 4000);     /* bin 131: of no column itself */
    columns_settle(&c, alloc, frag);
    is_near(alloc[0], 0.25, 0, "column 0 is the mean of two");
    is_near(frag[0], 2.25, 0, "... of the fragmented GPUs too: 90 of 4000 milli");
    is_near(alloc[1], 0.67, 0,
            "an empty column takes its neighbours: (0 + .5 + 1.5) / 3");
    is_near(alloc[2], 1.5, 0, "half rounds to even");
    is_near(frag[2], 1.03, 0, "41.23 of 4000 milli");
    is_near(alloc[3], 1.5, 0, "neighbour below alone");
    ok(isnan(alloc[50]) && isnan(frag[50]), "nothing near: no number");
    is_near(alloc[100], 75, 0, "column 100");
    is_near(alloc[99], 75, 0, "neighbour above alone");
    is_near(alloc[130], 83.32, 0,
            "column 130 may look at 131; 83.325 is 83.32 by then");
    columns_done(&c);

    columns_add(&c, 40, 40, -1, 4000);
    columns_settle(&c, alloc, frag);
    ok(isnan(frag[1]) && alloc[1] == 1,
       "fragmentation that was not measured is no number");
    columns_done(&c);
}

int main(void)
{
    test_means();
    test_roundings();
    test_bins();
    return done_testing();
}
