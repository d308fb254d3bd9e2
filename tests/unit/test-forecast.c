/* test-forecast.c - learned run times against sorted lists and known distributions
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/rng.h"
#include "sched/forecast.h"

#define S INT64_C(1000000)

static struct forecast_job job(const char *user, const char *queue, uint64_t gpus)
{
    return forecast_job_of(str_of(user), str_of(queue), gpus * 1000);
}

static void test_exact(void)
{
    struct forecast f = {0};
    struct forecast_job a = job("ann", "q", 8);
    is_int(forecast_ask(&f, &a, 0, 50), 0, "nothing learned, nothing said");
    for (int i = 0; i < 100; i++)
        forecast_learn(&f, &a, 1000 * S);
    int64_t t = forecast_ask(&f, &a, 0, 50);
    ok(t >= 960 * S && t <= 1024 * S,
       "all ran 1000 s: within the bucket from 960 to 1024");
    is_int(forecast_ask(&f, &a, 2000 * S, 50), 0, "none ran so long: nothing is known");
    forecast_done(&f);
}

static void test_classes(void)
{
    struct forecast f = {0};
    struct forecast_job a = job("ann", "q", 8), b = job("bob", "q", 8),
                        c = job("bob", "q", 1);
    for (int i = 0; i < 40; i++)
        forecast_learn(&f, &a, 100 * S);
    int64_t t = forecast_ask(&f, &b, 0, 50);
    ok(t > 90 * S && t < 110 * S, "who has no history gets that of his queue and size");
    for (int i = 0; i < 9; i++)
        forecast_learn(&f, &b, 5000 * S);
    t = forecast_ask(&f, &b, 0, 50);
    ok(t > 90 * S && t < 110 * S, "nine ends are too few to speak for themselves");
    forecast_learn(&f, &b, 5000 * S);
    t = forecast_ask(&f, &b, 0, 50);
    ok(t > 4500 * S && t < 5500 * S, "ten are enough");
    t = forecast_ask(&f, &a, 0, 50);
    ok(t > 90 * S && t < 110 * S, "the other user's stays");
    t = forecast_ask(&f, &c, 0, 50);
    ok(t > 90 * S && t < 110 * S, "another size: of all jobs, most of which are short");
    t = forecast_ask(&f, &a, 200 * S, 50);
    ok(t > 4000 * S,
       "who outlives all of his own is compared with others that ran so long");
    struct forecast_job seven = job("ann", "q", 7);
    t = forecast_ask(&f, &seven, 0, 50);
    ok(t > 90 * S && t < 110 * S, "5 to 8 GPUs are one size");
    forecast_done(&f);
}

/* Run times even between 0 and 4000 s: quantile q is 40 q; who ran t has q of the rest.
 */
static void test_distribution(void)
{
    struct forecast f = {0};
    struct forecast_job a = job("ann", "q", 1);
    for (int i = 0; i < 400; i++)
        forecast_learn(&f, &a, (int64_t)i * 10 * S);
    for (uint32_t q = 50; q <= 95; q += 15) {
        int64_t want = 40 * (int64_t)q * S, got = forecast_ask(&f, &a, 0, q);
        ok(llabs(got - want) < want / 16, "%u %% ended by %lld s", q,
           (long long)(want / S));
        want = 2000 * S + 20 * (int64_t)q * S;
        got = forecast_ask(&f, &a, 2000 * S, q);
        ok(llabs(got - want) < want / 16, "... of those that ran 2000 s by %lld s",
           (long long)(want / S));
    }
    bool grows = true;
    for (int64_t t = 0; t < 3900 * S && grows; t += 7 * S)
        grows = forecast_ask(&f, &a, t, 50) > t;
    ok(grows, "the end is always ahead");
    forecast_done(&f);
}

/* Of random run times the share that ends by quantile q is q, to 5 points. */
static void test_coverage(void)
{
    struct forecast f = {0};
    struct forecast_job a = job("ann", "q", 1);
    struct rng rng;
    rng_init(&rng, 7, 1);
    uint32_t asked = 0, by[3] = {0}, q[3] = {50, 75, 90};
    for (int i = 0; i < 6000; i++) {
        uint64_t octave = rng_below(&rng, 12);
        int64_t run =
            ((INT64_C(1) << octave) * 8 + (int64_t)rng_below(&rng, 8u << octave)) * S;
        for (int k = 0; k < 3; k++) {
            int64_t t = forecast_ask(&f, &a, 0, q[k]);
            by[k] += t && run <= t;
            asked += k == 0 && t;
        }
        forecast_learn(&f, &a, run);
    }
    for (int k = 0; k < 3; k++)
        ok(llabs((int64_t)by[k] * 100 / asked - q[k]) <= 5,
           "%u.%u %% ended by quantile %u", by[k] * 100 / asked,
           by[k] * 1000 / asked % 10, q[k]);
    forecast_done(&f);
}

static void test_drift(void)
{
    struct forecast f = {0};
    struct forecast_job a = job("ann", "q", 1);
    for (int i = 0; i < 5000; i++)
        forecast_learn(&f, &a, 10000 * S);
    for (int i = 0; i < 2 * FORECAST_MEMORY; i++)
        forecast_learn(&f, &a, 10 * S);
    ok(forecast_ask(&f, &a, 0, 75) < 20 * S,
       "5000 old ends no longer weigh against 1024 new ones");
    forecast_done(&f);
}

static void test_bytes(void)
{
    struct forecast f = {0}, g = {0};
    struct forecast_job a = job("ann", "q", 64), b = job("", "w", 0);
    for (int i = 0; i < 700; i++) {
        forecast_learn(&f, &a, (i * 37 % 1000) * S);
        forecast_learn(&f, &b, (i * 91 % 50000) * S);
    }
    struct buf out = {0};
    forecast_save(&f, &out);
    is_int(forecast_load(&g, buf_as_str(&out)), 0, "what was saved is read");
    ok(forecast_digest(&g) == forecast_digest(&f), "and is the same");
    is_int(forecast_ask(&g, &a, 100 * S, 75), forecast_ask(&f, &a, 100 * S, 75),
           "and answers the same");
    uint64_t before = forecast_digest(&g);
    uint32_t taken = 0;
    for (size_t n = 0; n < out.len; n++)
        taken += forecast_load(&g, (struct str){out.data, n}) == 0;
    is_int(taken, 0, "no piece of it is taken for a table");
    ok(forecast_digest(&g) == before, "and what was there stays");
    forecast_learn(&g, &a, 5 * S);
    ok(forecast_digest(&g) != before, "an end more is another table");
    buf_done(&out);
    forecast_done(&f);
    forecast_done(&g);
}

static void test_full(void)
{
    struct forecast f = {0};
    struct forecast_job keep = job("keep", "q", 1);
    char user[16];
    for (int i = 0; i < FORECAST_ENOUGH; i++)
        forecast_learn(&f, &keep, 77 * S);
    for (int i = 0; i < FORECAST_ROWS_MAX + 500; i++) {
        snprintf(user, sizeof user, "u%d", i);
        struct forecast_job a = job(user, "q", 1);
        forecast_learn(&f, &a, 3000 * S);
        if (i % 1000 == 0)
            forecast_learn(&f, &keep, 77 * S);
    }
    is_int(f.rows.n, FORECAST_ROWS_MAX, "the table is bounded");
    int64_t t = forecast_ask(&f, &keep, 0, 50);
    ok(t >= 72 * S && t <= 80 * S, "who still has ends keeps his class");
    forecast_done(&f);
}

int main(void)
{
    test_exact();
    test_classes();
    test_distribution();
    test_coverage();
    test_drift();
    test_bytes();
    test_full();
    return done_testing();
}
