/* test-rng.c - the published sequences, and distributions that are what they say
 * Vectors: splitmix64 from state 0 (its authors' test value, also in JDK and Rust's
 * rand_xoshiro); xoshiro256** from state {1, 2, 3, 4} (reference code, as kept in
 * rand_xoshiro's tests). SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/rng.h"
#include "tap.h"

static const uint64_t splitmix_of_0[] = {
    UINT64_C(0xE220A8397B1DCDAF),
    UINT64_C(0x6E789E6AA1B965F4),
    UINT64_C(0x06C45D188009454F),
    UINT64_C(0xF88BB8A8724C81EC),
};

static void test_vectors(void)
{
    static const uint64_t want[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777),
        UINT64_C(2904607092377533576),
    };
    struct rng r = {{1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        is_uint(rng_u64(&r), want[i], "xoshiro256** output %zu", i);
    rng_init(&r, 0, 0);
    for (size_t i = 0; i < 4; i++)
        is_hex(r.s[i], splitmix_of_0[i], "stream 0 is seeded by splitmix64, word %zu",
               i);
    is_hex(digest_mix(0, 0), splitmix_of_0[0], "digest_mix is splitmix64's step");
}

static void test_streams(void)
{
    struct rng a, b;
    int same = 0;
    rng_init(&a, 42, 7);
    rng_init(&b, 42, 7);
    for (int i = 0; i < 100; i++)
        same += rng_u64(&a) == rng_u64(&b);
    is_int(same, 100, "a seed and a stream give one sequence");
    same = 0;
    for (uint64_t k = 0; k < 100; k++) {
        rng_init(&a, 42, k);
        rng_init(&b, 42, k + 1);
        same += rng_u64(&a) == rng_u64(&b);
        rng_init(&b, 43, k);
        rng_init(&a, 42, k);
        same += rng_u64(&a) == rng_u64(&b);
    }
    is_int(same, 0, "another stream or seed gives another");
}

/* Chi-square against equal chances: 99.999 % of good generators stay below the bound
 * (df + 4.3 sqrt(2 df) + 14, above the exact quantile for each df here). */
static void test_below(void)
{
    static const uint64_t sizes[] = {2, 3, 7, 10, 64, 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        static uint32_t count[1000];
        uint64_t n = sizes[i], draws = n * 2000, out = 0;
        struct rng r;
        memset(count, 0, sizeof count);
        rng_init(&r, 1, n);
        for (uint64_t k = 0; k < draws; k++) {
            uint64_t x = rng_below(&r, n);
            if (x < n)
                count[x]++;
            else
                out++;
        }
        double chi = 0, df = (double)n - 1;
        for (uint64_t k = 0; k < n; k++)
            chi += ((double)count[k] - 2000) * ((double)count[k] - 2000) / 2000;
        ok(out == 0 && chi < df + 4.3 * sqrt(2 * df) + 14, "below %d: chi-square %.1f",
           (int)n, chi);
    }
    /* n = 3/4 x 2^64: without its rejections the multiplication would send two inputs
     * to each multiple of 3 and one to the others, a plain remainder two to the lowest
     * third. Both shares must be a third; 0.0136 is five standard deviations. */
    struct rng r;
    uint64_t n = UINT64_C(3) << 62, low = 0, threes = 0;
    rng_init(&r, 2, 0);
    for (int i = 0; i < 30000; i++) {
        uint64_t x = rng_below(&r, n);
        low += x < n / 3;
        threes += x % 3 == 0;
    }
    is_near((double)low / 30000, 1.0 / 3, 0.0136, "a large bound: no low bias");
    is_near((double)threes / 30000, 1.0 / 3, 0.0136, "  and none by the remainder");
    is_uint(rng_below(&r, 1), 0, "below 1 is 0");
}

static void test_between(void)
{
    struct rng r;
    bool lo = false, hi = false, inside = true, high_half = false, low_half = false;
    rng_init(&r, 3, 0);
    for (int i = 0; i < 1000; i++) {
        int64_t x = rng_between(&r, -2, 3);
        inside &= x >= -2 && x <= 3;
        lo |= x == -2;
        hi |= x == 3;
        x = rng_between(&r, INT64_MIN, INT64_MAX);
        high_half |= x > INT64_MAX / 2;
        low_half |= x < INT64_MIN / 2;
        inside &= rng_between(&r, INT64_MAX, INT64_MAX) == INT64_MAX;
    }
    ok(inside && lo && hi, "both ends belong to the range");
    ok(high_half && low_half, "the full range is one too");
}

/* Means and variances within 5 standard errors of theory. */
static void test_shapes(void)
{
    enum { N = 200000 };
    double s[3] = {0}, q[3] = {0}, mean[] = {0.5, 3.0, 0.0},
           var[] = {1.0 / 12, 9.0, 1.0};
    double fourth[] = {1.0 / 80, 9 * 81.0,
                       3.0}; /* central moments of uniform, exp, normal */
    static const char *const name[] = {"uniform", "exponential", "normal"};
    struct rng r;
    bool inside = true;
    rng_init(&r, 4, 0);
    for (int i = 0; i < N; i++) {
        double x[] = {rng_unit(&r), rng_exp(&r, 3.0), rng_normal(&r)};
        inside &= x[0] >= 0 && x[0] < 1 && x[1] >= 0;
        for (int k = 0; k < 3; k++) {
            s[k] += x[k];
            q[k] += (x[k] - mean[k]) * (x[k] - mean[k]);
        }
    }
    ok(inside, "units lie in [0, 1), exponentials are not negative");
    for (int k = 0; k < 3; k++) {
        is_near(s[k] / N, mean[k], 5 * sqrt(var[k] / N), "%s: mean", name[k]);
        is_near(q[k] / N, var[k], 5 * sqrt((fourth[k] - var[k] * var[k]) / N),
                "%s: variance", name[k]);
    }
}

int main(void)
{
    test_vectors();
    test_streams();
    test_below();
    test_between();
    test_shapes();
    return done_testing();
}
