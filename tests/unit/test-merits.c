/* test-merits.c - the window, and what policies are judged by, against values worked out by
 * hand. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/units.h"
#include "report/summary.h"
#include "tap.h"

#define S US_PER_S
#define NEVER INT64_MIN

static struct report *new_report(int64_t from_s, int64_t until_s, uint64_t gpus)
{
    return report_create(&(struct report_about){.policy = STR("p"),
                                                .cluster = STR("c"),
                                                .trace = STR("t"),
                                                .capacity_milli = gpus * 1000,
                                                .nodes = 1,
                                                .window_from_us = from_s * S,
                                                .window_until_us = until_s * S});
}

static void job(struct report *r, const char *queue, int64_t submit, int64_t start, int64_t end,
                uint64_t gpus)
{
    report_job(r, &(struct report_job){.queue = str_of(queue),
                                       .submit_us = submit * S,
                                       .first_start_us = start < 0 ? NEVER : start * S,
                                       .end_us = end < 0 ? NEVER : end * S,
                                       .run_us = start < 0 ? 50 * S : (end - start) * S,
                                       .gpu_milli = gpus * 1000,
                                       .tasks = gpus > 8 ? 2 : 1,
                                       .recorded_start_us = NEVER});
}

static void level(struct report *r, int64_t at, uint64_t used_gpus)
{
    report_level(r, &(struct report_level){.at = at * S,
                                           .used_milli = used_gpus * 1000,
                                           .capacity_milli = 10000,
                                           .frag_milli = -1});
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

/* Window [100, 200): 4 GPUs until 150 (since 20), then 10 until 180, then none. */
static void test_window_levels(void)
{
    struct report *r = new_report(100, 200, 10);
    level(r, 20, 4);
    level(r, 150, 10);
    level(r, 180, 0);
    level(r, 500, 9);
    level(r, 600, 0);
    struct summary *s = summary_create(r);
    is_int(r->series.total.len_us, 100 * S, "the series is as long as the window");
    ok(near(s->allocated, (4 * 50 + 10 * 30) / 1000.0), "allocated inside it: %.4f",
       s->allocated);
    summary_destroy(s);
    report_destroy(r);
    r = new_report(100, 200, 10);
    level(r, 100, 1);
    level(r, 150, 2);
    s = summary_create(r);
    ok(near(s->allocated, 0.1), "a level at the border counts once");
    summary_destroy(s);
    report_destroy(r);
}

static void test_window_jobs(void)
{
    struct report *r = new_report(100, 200, 10);
    job(r, "a", 90, 95, 150, 4);   /* came before */
    job(r, "a", 100, 110, 160, 1); /* wait 10, run 50 */
    job(r, "b", 199, 259, 261, 2); /* wait 60, run 2 */
    job(r, "b", 200, 201, 202, 8); /* came after */
    job(r, "b", 150, -1, -1, 16);  /* never; would run 50 */
    struct summary *s = summary_create(r);
    is_int((int64_t)s->all.jobs, 3, "jobs count by their submit time, from included");
    is_int((int64_t)r->outside, 2, "the others are told");
    is_int((int64_t)s->never_started, 1, "of those inside one never started");
    ok(near(group_mean_s(&s->all.wait), 35), "mean wait of two");
    ok(near(s->merits.weighted_wait_s, (10 + 2 * 60) / 3.0), "weighted by GPUs: %.3f",
       s->merits.weighted_wait_s);
    ok(near(s->merits.slowdown, (60 / 50.0 + 62 / 10.0) / 2),
       "slowdown: a run of 2 s counts as 10: %.3f", s->merits.slowdown);
    ok(near(s->merits.offered, (50 + 2 * 2 + 16 * 50) / 1000.0), "offered load: %.4f",
       s->merits.offered);
    is_int((int64_t)r->merits.gangs_never, 1, "the gang that never started");
    is_str(s->merits.largest_name, "2-8 GPUs", "no gang of 1,024: the largest that started");
    is_int(s->merits.largest.at[QUANTILE_P95], 60 * S, "its waits");
    summary_destroy(s);
    report_destroy(r);
}

static void test_largest(void)
{
    struct report *r = new_report(0, 0, 10000);
    for (int64_t i = 1; i <= 20; i++)
        job(r, "a", 0, i, i + 9, 1024);
    job(r, "a", 0, 900, 901, 1016);
    struct summary *s = summary_create(r);
    is_int(s->merits.largest.at[QUANTILE_P95], 19 * S, "p95 of the gangs of 1,024 GPUs alone");
    is_int((int64_t)s->merits.largest.n, 20, "there are twenty");
    summary_destroy(s);
    report_destroy(r);
}

/* a: 4 GPUs, of 55 s at work 50 inside. b: 8 GPUs, 40 s. Owed 2 and 4 GPUs: 100 and 80 s. */
static void test_fairness(void)
{
    struct report *r = new_report(100, 200, 20);
    report_owed(r, STR("a"), 2000);
    report_owed(r, STR("b"), 4000);
    job(r, "a", 90, 95, 150, 4);
    job(r, "b", 100, 120, 160, 8);
    job(r, "c", 100, 100, 200, 8); /* owed nothing: no part of it */
    struct summary *s = summary_create(r);
    ok(near(s->merits.fairness, 180.0 * 180 / (2 * (100.0 * 100 + 80 * 80))),
       "Jain's index over what queues are owed: %.6f", s->merits.fairness);
    summary_destroy(s);
    report_destroy(r);
}

static void domains(struct report *r, int64_t at, uint32_t blocks, uint32_t racks)
{
    struct report_domains d = {.at = at * S, .n = 2};
    d.level[0].name = STR("block");
    d.level[0].whole = blocks;
    d.level[0].all = 2;
    d.level[1].name = STR("rack");
    d.level[1].whole = racks;
    d.level[1].all = 16;
    report_domains(r, &d);
}

static void test_domains(void)
{
    struct report *r = new_report(100, 200, 10);
    level(r, 0, 0);
    domains(r, 0, 2, 16);
    domains(r, 120, 1, 12);
    domains(r, 170, 0, 2);
    domains(r, 300, 2, 16);
    level(r, 300, 0);
    struct summary *s = summary_create(r);
    ok(near(s->merits.whole[0], (2 * 20 + 50) / 100.0), "whole blocks: %.3f",
       s->merits.whole[0]);
    ok(near(s->merits.whole[1], (16 * 20 + 12 * 50 + 2 * 30) / 100.0), "whole racks: %.3f",
       s->merits.whole[1]);
    ok(near(s->merits.all[1], 16), "of sixteen");
    summary_destroy(s);
    report_destroy(r);
}

static void promise(struct report *r, int64_t started, int64_t first, int64_t least,
                    int64_t expected)
{
    report_promise(r, &(struct report_promise){
                          .started_us = started * S,
                          .first_by_us = first < 0 ? NEVER : first * S,
                          .least_by_us = least < 0 ? NEVER : least * S,
                          .expected_us = expected < 0 ? NEVER : expected * S});
}

static void test_promises(void)
{
    struct report *r = new_report(100, 100000, 10);
    promise(r, 200, 200, 200, 150);     /* to the second */
    promise(r, 1000, 4600, 4600, 1100); /* an hour early */
    promise(r, 300, 290, 290, -1);      /* late */
    promise(r, 310, 900, 305, -1);      /* later than a promise that was made better */
    promise(r, 400, -1, -1, 410);       /* no promise */
    promise(r, 99, 10, 10, 10);         /* before the window */
    report_stopped(r, 500 * S, REPORT_EVICTED);
    report_stopped(r, 50 * S, REPORT_EVICTED);
    struct summary *s = summary_create(r);
    is_int((int64_t)r->merits.kept, 2, "kept: no later than ever promised");
    is_int((int64_t)r->merits.broken, 2, "broken");
    is_int((int64_t)r->merits.unsaid, 1, "without a time");
    is_int((int64_t)s->merits.early_bins[0], 1, "one in the histogram's first bin: late");
    is_int((int64_t)s->merits.early_bins[1], 2, "up to ten minutes early");
    is_int((int64_t)s->merits.early_bins[2], 1, "an hour early is up to an hour");
    ok(near(group_mean_s(&s->merits.error), (50 - 100 - 10) / 3.0), "error of the forecasts: %.3f",
       group_mean_s(&s->merits.error));
    is_int((int64_t)r->merits.stops[REPORT_EVICTED], 1, "evictions inside the window");
    summary_destroy(s);
    report_destroy(r);
}

int main(void)
{
    test_window_levels();
    test_window_jobs();
    test_largest();
    test_fairness();
    test_domains();
    test_promises();
    return done_testing();
}
