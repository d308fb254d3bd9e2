/* test-report.c - the report's figures against values worked out by hand or another way
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <time.h>

#include "base/infile.h"
#include "base/rng.h"
#include "base/units.h"
#include "report/figures.h"
#include "report/summary.h"
#include "tap.h"

static struct report *report_new(const char *policy, uint64_t capacity_milli)
{
    return report_create(&(struct report_about){.policy = str_of(policy),
                                                .cluster = STR("c"),
                                                .trace = STR("t"),
                                                .seed = UINT64_MAX,
                                                .capacity_milli = capacity_milli,
                                                .nodes = 2});
}

/* Times in seconds; start or end < 0: never. */
static void job(struct report *r, const char *queue, double submit, double start,
                double end, uint64_t gpu_milli)
{
    report_job(r, &(struct report_job){
                      .queue = str_of(queue),
                      .submit_us = (int64_t)(submit * 1e6),
                      .first_start_us = start < 0 ? INT64_MIN : (int64_t)(start * 1e6),
                      .end_us = end < 0 ? INT64_MIN : (int64_t)(end * 1e6),
                      .gpu_milli = gpu_milli,
                      .tasks = 1,
                      .recorded_start_us = INT64_MIN});
}

static void level(struct report *r, int64_t at, uint64_t used, uint64_t pending,
                  uint64_t capacity, double frag)
{
    report_level(r, &(struct report_level){.at = at,
                                           .used_milli = used,
                                           .pending_milli = pending,
                                           .capacity_milli = capacity,
                                           .frag_milli = frag,
                                           .waiting_jobs = 3,
                                           .running_jobs = 5});
}

static json_t *json_of(struct report *const *rs, uint32_t n)
{
    struct buf out = {0};
    json_error_t why;
    json_t *j;

    report_json(rs, n, &out);
    j = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, &why);
    if (!j)
        diag("%s at byte %d", why.text, why.position);
    buf_done(&out);
    return j;
}

static double number(const json_t *j, const char *a, const char *b)
{
    const json_t *v = json_object_get(j, a);

    v = b ? json_object_get(v, b) : v;
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* --- parts
 * ----------------------------------------------------------------------------- */

static void test_figures(void)
{
    static const struct {
        double s;
        const char *text;
    } secs[] = {{0, "0s"},         {0.25, "0.25s"}, {7.125, "7.12s"},
                {99.96, "100s"},   {119.4, "119s"}, {120, "2.00m"},
                {1044, "17.4m"},   {7199, "120m"},  {7200, "2.00h"},
                {172800, "2.00d"}, {-90, "-90.0s"}, {8.64e7, "1000d"}};
    figure f;
    struct buf b = {0};
    uint32_t i;

    for (i = 0; i < sizeof secs / sizeof *secs; i++)
        is_str(secs_short(secs[i].s, f), secs[i].text, "%g s in short", secs[i].s);
    is_str(secs_long(1044, f), "17.4 min", "minutes in long");
    is_str(exact_secs((__int128)7166165 * US_PER_S, f), "7,166,165 s", "whole seconds");
    is_str(exact_secs((__int128)12 * US_PER_S + 250000, f), "12.25 s",
           "the rest is kept");
    is_str(exact_secs(-500000, f), "-0.5 s", "a negative part of a second");
    is_str(i128_text((__int128)UINT64_MAX + 1, f), "18446744073709551616", "2^64");
    is_str(percent_text(-1, 1, f), "–", "what was not measured is no number");
    is_str(hours_text(12345.67, f), "12,345.7", "GPU-hours");
    bar_cells(&b, 0.5, 4);
    is_mem(b.data, b.len, "██  ", "half a bar");
    buf_clear(&b);
    bar_cells(&b, 7, 2);
    is_mem(b.data, b.len, "██", "a bar does not leave its cells");
    buf_clear(&b);
    bar_cells(&b, 1e-9, 2);
    is_mem(b.data, b.len, "▏ ", "little is not nothing");
    buf_clear(&b);
    plain_cell(&b, STR("a\033[31mb\n\xc2\x9bz"), 20);
    is_mem(b.data, b.len, "a?[31mb??z          ", "a terminal is told nothing");
    buf_clear(&b);
    plain_cell(&b, STR("äöüß"), 3);
    is_mem(b.data, b.len, "äö…", "cut by characters, not bytes");
    buf_done(&b);
}

/* The C library is the judge: ties, carries into a tenth digit, all sizes. */
static void test_reals(void)
{
    static const double odd[] = {0, -0.0, 1, 0.1, 0.001, 0.000999999999949, 0.5, 1e8,
                                 9.9999999996, 99999999.95, 999999998.5, 999999999.4,
                                 1e9, 1e300, 123456789.5, 123456788.5, 0.0010000000005,
                                 2.0000000005, 4.99999999949, INFINITY, 5e-324};
    uint64_t state = 1, wrong = 0;
    figure f, want;

    for (uint32_t i = 0; i < 300000; i++) {
        double v = i < sizeof odd / sizeof *odd ? odd[i] : 0;
        if (i >= sizeof odd / sizeof *odd) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            v = (double)(int64_t)state / (double)(UINT64_C(1) << (i % 75 % 64));
            if (i % 3 == 0) /* few digits, as measured values have */
                v = (double)(state >> 40) / (i % 2 ? 512 : 1000);
        }
        snprintf(want, sizeof want, "%.9g", v);
        wrong += strcmp(real_text(v, f), want) != 0;
    }
    ok(wrong == 0, "%" PRIu64 " of 300,000 doubles differ from %%.9g", wrong);
}

static void test_sizes(void)
{
    static const struct {
        uint64_t milli;
        enum size_class want;
    } rows[] = {{0, SIZE_NONE},     {1, SIZE_SHARE},     {999, SIZE_SHARE},
                {1000, SIZE_1},     {1001, SIZE_8},      {8000, SIZE_8},
                {8001, SIZE_64},    {64000, SIZE_64},    {64001, SIZE_512},
                {512000, SIZE_512}, {512001, SIZE_MORE}, {UINT64_MAX, SIZE_MORE}};
    uint32_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        is_int(size_class_of(rows[i].milli), rows[i].want, "class of %llu milli-GPU",
               (unsigned long long)rows[i].milli);
}

static void test_ranks(void)
{
    static const struct {
        uint64_t n, p50, p95, p99;
    } rows[] = {{1, 1, 1, 1},         {2, 1, 2, 2},      {3, 2, 3, 3},
                {20, 10, 19, 20},     {100, 50, 95, 99}, {101, 51, 96, 100},
                {1000, 500, 950, 990}};
    uint32_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        is_uint(quantile_rank(rows[i].n, QUANTILE_P50), rows[i].p50, "p50 of %llu",
                (unsigned long long)rows[i].n);
        is_uint(quantile_rank(rows[i].n, QUANTILE_P95), rows[i].p95, "p95");
        is_uint(quantile_rank(rows[i].n, QUANTILE_P99), rows[i].p99, "p99");
        is_uint(quantile_rank(rows[i].n, QUANTILE_MAX), rows[i].n, "max");
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Each group's stats against a plain sort of that group. */
static void test_groups(void)
{
    enum { N = 5000, GROUPS = 7 };
    static int64_t values[N], one[N];
    static uint32_t group[N], order[N];
    struct group_stat stats[GROUPS];
    struct rng rng;
    uint32_t i, g, n;
    bool same = true, sorted = true, stable = true;

    rng_init(&rng, 7, 0);
    for (i = 0; i < N; i++) {
        values[i] = rng_between(&rng, 0, 3)
                        ? rng_between(&rng, -50, 900)
                        : rng_between(&rng, INT64_MIN / 4, INT64_MAX / 4);
        group[i] = (uint32_t)rng_below(&rng, GROUPS - 1); /* the last stays empty */
    }
    quantile_sort(values, N, order);
    for (i = 1; i < N; i++) {
        sorted &= values[order[i - 1]] <= values[order[i]];
        stable &= values[order[i - 1]] != values[order[i]] || order[i - 1] < order[i];
    }
    ok(sorted && stable, "sorted, negative first, equal ones in order");
    quantile_groups(values, order, N, group, stats, GROUPS);
    for (g = 0; g < GROUPS; g++) {
        __int128 sum = 0;

        for (n = i = 0; i < N; i++)
            if (group[i] == g) {
                one[n++] = values[i];
                sum += values[i];
            }
        qsort(one, n, sizeof *one, by_value);
        same &= stats[g].n == n && stats[g].sum == sum;
        if (n) /* ceil(n x 0.5), of integers, another way */
            same &= stats[g].at[QUANTILE_P50] == one[(n + 1) / 2 - 1] &&
                    stats[g].at[QUANTILE_P95] == one[n - n * 5 / 100 - 1] &&
                    stats[g].at[QUANTILE_P99] == one[n - n / 100 - 1] &&
                    stats[g].at[QUANTILE_MAX] == one[n - 1];
    }
    ok(same, "each group's count, sum and quantiles are those of a plain sort");
    is_uint(stats[GROUPS - 1].n, 0, "an empty group stays empty");
}

static void test_series_by_hand(void)
{
    struct report *r = report_new("p", 4000);
    const struct series_sum *t = &r->series.total;
    struct summary *s;

    level(r, 5 * US_PER_S, 9999, 0, 4000, 0); /* replaced in the same instant */
    level(r, 5 * US_PER_S, 1000, 500, 4000, 400);
    level(r, 15 * US_PER_S, 3000, 0, 4000, -1); /* not measured: 30 s */
    level(r, 45 * US_PER_S, 0, 0, 2000, 1000);
    level(r, 105 * US_PER_S, 7, 7, 7, 7); /* the end: no length */
    ok(t->used == (u128)(1000 * 10 + 3000 * 30) * 1000000, "integral of GPUs in use");
    ok(t->pending == (u128)(500 * 10) * 1000000, "integral of waiting demand");
    ok(t->capacity == (u128)(4000 * 40 + 2000 * 60) * 1000000, "integral of capacity");
    ok(t->frag_capacity == (u128)(4000 * 10 + 2000 * 60) * 1000000,
       "capacity while fragmentation was measured");
    is_near(t->frag, (400.0 * 10 + 1000.0 * 60) * 1e6, 1,
            "integral of fragmented GPUs");
    is_int(t->len_us, 100 * US_PER_S, "length");
    ok(t->waiting == 300 * (u128)US_PER_S && t->running == 500 * (u128)US_PER_S,
       "jobs");
    is_uint(r->series.peak_used_milli, 3000, "a level of no length is no peak");
    s = summary_create(r);
    is_near(s->allocated, 100000.0 / 280000.0, 1e-12, "mean share in use");
    is_near(s->frag, 64000.0 / 160000.0, 1e-12, "mean share fragmented");
    ok(s->useful < 0, "useful is unknown without a ledger");
    summary_destroy(s);
    report_destroy(r);
}

static bool sums_equal(const struct series_sum *a, const struct series_sum *b)
{
    return a->used == b->used && a->pending == b->pending &&
           a->capacity == b->capacity && a->waiting == b->waiting &&
           a->running == b->running && a->frag_capacity == b->frag_capacity &&
           a->len_us == b->len_us && fabs(a->frag - b->frag) <= 1e-9 * fabs(b->frag);
}

/* Random levels with gaps of 1 us to a day; the integrals are added up beside. */
static void test_series_merging(uint64_t seed)
{
    struct report *r = report_new("p", 1000);
    const struct series *s = &r->series;
    struct series_sum merged[100], all = {0};
    u128 used = 0, capacity = 0;
    int64_t at = -3 * US_PER_DAY, width, before_at = 0;
    uint64_t before = 0, before_cap = 0;
    struct rng rng;
    uint32_t i, n;
    bool even = true;

    rng_init(&rng, seed, 0);
    for (i = 0; i < 30000; i++) {
        uint64_t u = rng_below(&rng, 100000000), c = rng_below(&rng, 100000000);

        level(r, at, u, 5, c, (double)rng_below(&rng, 1000));
        if (i) {
            used += (u128)before * (uint64_t)(at - before_at);
            capacity += (u128)before_cap * (uint64_t)(at - before_at);
        }
        before = u;
        before_cap = c;
        before_at = at;
        at += rng_between(&rng, 0, INT64_C(1) << rng_below(&rng, 37));
    }
    ok(s->total.used == used && s->total.capacity == capacity,
       "seed %llu: totals are the sums added up beside", (unsigned long long)seed);
    for (i = 0; i < s->n; i++) {
        series_sum_add(&all, &s->bins[i]);
        even &= s->bins[i].len_us == s->width_us ||
                (i + 1 == s->n && s->bins[i].len_us < s->width_us);
    }
    ok(sums_equal(&all, &s->total), "the bins sum to the totals");
    ok(even, "all bins but the last are full");
    ok(s->n > SERIES_BINS / 2 - 1 && s->n <= SERIES_BINS, "%u bins", s->n);
    width = series_merge(s, 100, merged, &n);
    memset(&all, 0, sizeof all);
    for (i = 0; i < n; i++)
        series_sum_add(&all, &merged[i]);
    ok(n <= 100 && sums_equal(&all, &s->total), "merged into %u they still do", n);
    is_int(merged[0].len_us, width, "a merged bin has the stated width");
    report_destroy(r);
}

/* --- the whole
 * ------------------------------------------------------------------------- */

/* Five jobs by hand: waits 10, 0, 40, 20 s and never; spans 110, 60, -, 30 s. */
static struct report *five_jobs(void)
{
    struct report *r = report_new("five", 8000);

    job(r, "a", 0, 10.00025, 110, 500);
    job(r, "a", 5, 5, 65, 1000);
    job(r, "b", 20, 60, -1, 4000);
    job(r, "b", 30, 50, 60, 1000);
    job(r, "", 40, -1, 45, 600000); /* cancelled before it started: no completion */
    return r;
}

static void test_five_jobs(void)
{
    struct report *r = five_jobs();
    json_t *doc = json_of(&r, 1), *run, *sizes, *queues, *b = NULL;
    size_t i;

    run = json_array_get(json_object_get(doc, "runs"), 0);
    is_str(json_string_value(json_object_get(doc, "format")), "muster-report",
           "format");
    is_str(json_string_value(json_object_get(run, "seed")), "18446744073709551615",
           "a seed of 64 bits arrives whole");
    is_near(number(run, "jobs", "total"), 5, 0, "jobs");
    is_near(number(run, "jobs", "never_started"), 1, 0, "one never started");
    is_near(number(run, "jobs", "unfinished"), 1, 0, "one still runs");
    is_near(number(run, "wait", "sum_s"), 70, 0, "sum of waits");
    is_near(number(run, "wait", "sum_rest_us"), 250, 0,
            "and what is less than a second");
    is_near(number(run, "wait", "mean_s"), 17.5000625, 1e-7, "mean wait, of four");
    is_near(number(run, "wait", "p50_s"), 10.00025, 1e-7, "p50: the 2nd of 0 10 20 40");
    is_near(number(run, "wait", "p95_s"), 40, 0, "p95: the 4th");
    is_near(number(run, "completion", "sum_s"), 200, 0, "sum of completions");
    is_near(number(run, "completion", "jobs"), 3, 0, "of three jobs");
    is_near(number(run, "completion", "p50_s"), 60, 0, "p50: the 2nd of 30 60 110");
    sizes = json_object_get(run, "by_size");
    is_uint(json_array_size(sizes), 4, "four classes occur");
    is_str(json_string_value(json_object_get(json_array_get(sizes, 1), "size")),
           "1 GPU", "the second is 1 GPU");
    is_near(number(json_array_get(sizes, 1), "wait", "mean_s"), 10, 1e-9,
            "its mean wait");
    ok(json_is_null(json_object_get(json_object_get(json_array_get(sizes, 3), "wait"),
                                    "mean_s")),
       "a class without a start has no mean wait");
    queues = json_object_get(run, "by_queue");
    is_uint(json_array_size(queues), 3, "three queues, the nameless one too");
    for (i = 0; i < 3; i++)
        if (strcmp(json_string_value(
                       json_object_get(json_array_get(queues, i), "queue")),
                   "b") == 0)
            b = json_array_get(queues, i);
    is_near(number(b, "wait", "mean_s"), 30, 1e-9, "queue b's mean wait");
    is_near(number(b, "completion", "mean_s"), 30, 1e-9, "and completion");
    ok(json_is_null(json_object_get(run, "ledger")), "no ledger is null, not zeros");
    json_decref(doc);
    report_destroy(r);
}

static void names_documented(const json_t *j, const char *doc, uint32_t *ret_n)
{
    const char *key;
    json_t *v;
    size_t i;
    char quoted[80];

    json_object_foreach((json_t *)j, key, v)
    {
        snprintf(quoted, sizeof quoted, "`%s`", key);
        if (!strstr(doc, quoted))
            fail("%s is not in docs/report-format.md", key);
        ++*ret_n;
        names_documented(v, doc, ret_n);
    }
    json_array_foreach(j, i, v) names_documented(v, doc, ret_n);
}

static void test_documented(void)
{
    const char *src = getenv("MUSTER_SRC");
    struct report *r = five_jobs();
    struct ledger l = {0};
    struct buf doc = {0};
    struct err err;
    char path[4096];
    uint32_t n = 0;
    json_t *j;

    report_ledger(r, &l);
    report_totals(r, &(struct report_totals){.unplaced_jobs = 1});
    report_error(r, &(struct report_error){.jobs = 1});
    report_reason(r, STR("no room"), STR("x"));
    snprintf(path, sizeof path, "%s/docs/report-format.md", src && *src ? src : ".");
    if (infile_slurp(path, 1 << 20, &doc, &err) < 0)
        bail("%s", err.text);
    j = json_of(&r, 1);
    names_documented(j, doc.data, &n);
    cmp_ok(n, >, 100, "every name in the JSON is documented (%u uses)", n);
    for (int i = 0; i < LEDGER_CAUSES; i++) {
        char row[256];

        snprintf(row, sizeof row, "| `%s` | %s |", ledger_cause_name(i), cause_meaning(i));
        ok(strstr(doc.data, row) != NULL, "the cause %s has its meaning there",
           ledger_cause_name(i));
    }
    json_decref(j);
    buf_done(&doc);
    report_destroy(r);
}

static struct ledger even_ledger(void)
{
    struct ledger l = {0};

    /* 2 GPUs for 100 h, of which 150 GPU-h useful, 30 fragmented, 20 recomputed. */
    l.capacity = (u128)2000 * 100 * US_PER_H;
    l.sum[LEDGER_USEFUL] = (u128)1000 * 150 * US_PER_H;
    l.sum[LEDGER_FRAGMENTED] = (u128)1000 * 30 * US_PER_H;
    l.sum[LEDGER_RECOMPUTED] = (u128)1000 * 20 * US_PER_H;
    return l;
}

static bool has(const struct buf *b, const char *z)
{
    return b->data && strstr(b->data, z);
}

static void test_ledger(void)
{
    struct report *r = five_jobs();
    struct ledger l = even_ledger();
    struct buf text = {0}, page = {0};
    struct summary *s;
    json_t *doc;

    report_ledger(r, &l);
    s = summary_create(r);
    ok(s->ledger_sums, "the causes sum to capacity x time");
    is_near(s->useful, 0.75, 1e-12, "useful");
    is_near(s->lost, 0.1, 1e-12, "lost");
    summary_destroy(s);
    report_text(&r, 1, 80, false, &text);
    ok(has(&text, "where 200.0 GPU-hours went"), "capacity in GPU-hours");
    ok(has(&text, "useful          75.00         150.0 GPU-h"),
       "a cause in %% and hours");
    ok(!has(&text, "NOT SUM"), "no complaint");
    doc = json_of(&r, 1);
    ok(json_is_true(json_object_get(
           json_object_get(json_array_get(json_object_get(doc, "runs"), 0), "ledger"),
           "sums")),
       "JSON says that it sums");
    json_decref(doc);
    l.sum[LEDGER_HUNG] = 1; /* one milli-GPU for one us too much */
    report_ledger(r, &l);
    s = summary_create(r);
    ok(!s->ledger_sums && s->ledger_gap == 1, "a gap of one unit is seen");
    summary_destroy(s);
    buf_clear(&text);
    report_text(&r, 1, 80, false, &text);
    report_html(&r, 1, &page);
    ok(has(&text, "NOT SUM: causes less capacity x time = 1 "), "the text says so");
    ok(has(&page, "does not sum"), "the page says so");
    buf_done(&text);
    buf_done(&page);
    report_destroy(r);
}

static void test_exact_sum(void)
{
    enum { N = 200000 };
    struct report *r = report_new("many", 1000);
    struct summary *s;
    struct buf out = {0};
    clock_t from = clock();
    char queue[16];
    int64_t i;
    double cpu_s;

    for (i = 0; i < N; i++) {
        int64_t k = i * 7919 % N; /* 7919 is prime to N: each of 0 .. N-1 once */

        snprintf(queue, sizeof queue, "q%d", (int)(i % 300));
        report_job(r, &(struct report_job){.queue = str_of(queue),
                                           .submit_us = i,
                                           .first_start_us = i + k * US_PER_S + 1,
                                           .end_us = i + 2 * k * US_PER_S + 1,
                                           .gpu_milli = 1000,
                                           .recorded_start_us = INT64_MIN});
    }
    s = summary_create(r);
    ok(s->all.wait.sum == (__int128)N * (N - 1) / 2 * US_PER_S + N,
       "waits sum exactly");
    ok(s->all.span.sum == (__int128)N * (N - 1) * US_PER_S + N,
       "completions sum exactly");
    is_int(s->all.wait.at[QUANTILE_P50], (N / 2 - 1) * US_PER_S + 1, "p50");
    is_int(s->all.wait.at[QUANTILE_P95], (N / 20 * 19 - 1) * US_PER_S + 1, "p95");
    is_int(s->all.wait.at[QUANTILE_P99], (N / 100 * 99 - 1) * US_PER_S + 1, "p99");
    is_uint(s->nqueues, 300, "300 queues");
    is_uint(sizeof(struct kept_job), 24, "24 bytes a job");
    summary_destroy(s);
    report_text(&r, 1, 100, false, &out);
    report_json(&r, 1, &out);
    report_html(&r, 1, &out);
    cpu_s = (double)(clock() - from) / CLOCKS_PER_SEC;
    diag("%d jobs in and printed three ways: %.2f s of CPU", (int)N, cpu_s);
    ok(cpu_s < 5, "200,000 jobs are printed quickly");
    buf_done(&out);
    report_destroy(r);
}

/* --- the page
 * -------------------------------------------------------------------------- */

static bool is_void(const char *name)
{
    static const char *const names[] = {"meta", "input", "br", NULL};
    int i;

    for (i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Every tag is closed in order, attribute values are quoted; returns the number of
 * tags, or 0 with the place in a diag. */
static unsigned page_tags(const char *z)
{
    char open[64][16], name[16];
    unsigned depth = 0, tags = 0;
    const char *p = strstr(z, "<html");

    while (p && (p = strchr(p, '<'))) {
        bool closing = p[1] == '/', self;
        const char *q = p + 1 + closing, *end;
        size_t len = strspn(q, "abcdefghijklmnopqrstuvwxyz0123456789");

        if (len == 0 || len >= sizeof name)
            break;
        memcpy(name, q, len);
        name[len] = 0;
        for (end = q + len; *end && *end != '>'; end++)
            if (*end == '"')
                end = strchr(end + 1, '"');
        self = end[-1] == '/';
        tags++;
        if (closing) {
            if (depth == 0 || strcmp(open[--depth], name) != 0)
                break;
        } else if (!self && !is_void(name)) {
            if (depth == 64)
                break;
            strcpy(open[depth++], name);
        }
        p = end;
    }
    if (p)
        diag("unbalanced near: %.60s", p);
    return p || depth ? 0 : tags;
}

static void test_escaping(void)
{
    static const char nasty[] = "<script>alert(\"1\")</script>'&amp;\x01\033[31m\xff";
    struct report *r = report_create(&(struct report_about){.policy = str_of(nasty),
                                                            .cluster = str_of(nasty),
                                                            .trace = str_of(nasty),
                                                            .note = str_of(nasty),
                                                            .capacity_milli = 1000});
    struct report *rs[2] = {r, r};
    struct buf page = {0}, text = {0};
    json_t *doc, *run;
    const char *back;

    job(r, nasty, 0, 5, 9, 1000);
    job(r, "other", 0, 100, 200, 1000);
    level(r, 0, 500, 100, 1000, 20);
    level(r, US_PER_H, 500, 0, 1000, 20);
    report_error(r, &(struct report_error){.jobs = 1, .remark = str_of(nasty)});
    report_html(rs, 2, &page);
    ok(!has(&page, "<script"), "no name becomes a tag");
    ok(has(&page, "&lt;script&gt;"), "it is shown as it is");
    ok(has(&page, "&amp;amp;"), "an ampersand stays one");
    ok(!has(&page, "alert(\""), "quotes do not end an attribute");
    cmp_ok(page_tags(page.data), >, 100, "all tags are closed in order");
    report_text(rs, 2, 80, false, &text);
    ok(!has(&text, "\033"), "no escape sequence without colour");
    doc = json_of(rs, 2);
    ok(doc != NULL, "JSON of bad UTF-8 can be read");
    run = json_array_get(json_object_get(doc, "runs"), 0);
    back = json_string_value(json_object_get(run, "policy"));
    ok(back && strncmp(back, nasty, sizeof nasty - 2) == 0, "the name comes back");
    json_decref(doc);
    buf_done(&page);
    buf_done(&text);
    report_destroy(r);
}

static void test_page(void)
{
    static const char *const foreign[] = {"http:",   "https:", "src=", "url(",
                                          "@import", "<link",  "<img", "href",
                                          "<script", NULL};
    struct report *rs[2] = {five_jobs(), five_jobs()};
    struct buf a = {0}, b = {0};
    struct ledger l = even_ledger();
    int i;

    for (i = 0; i < 2; i++) {
        report_ledger(rs[i], &l);
        level(rs[i], 0, 500, 100, 1000, 20);
        level(rs[i], US_PER_H, 500, 0, 1000, 20);
    }
    report_html(rs, 2, &a);
    report_html(rs, 2, &b);
    for (i = 0; foreign[i]; i++)
        ok(!has(&a, foreign[i]), "the page fetches nothing: no %s", foreign[i]);
    ok(a.len == b.len && memcmp(a.data, b.data, a.len) == 0, "same input, same bytes");
    ok(has(&a, "prefers-color-scheme:dark"), "it has a dark side");
    ok(has(&a, "GPUs in use") && has(&a, "How long jobs waited") &&
           has(&a, "Mean wait by size") && has(&a, "Where the GPU time went"),
       "all plots are there");
    ok(!has(&a, "nan") && !has(&a, "inf"), "no number is broken");
    buf_done(&a);
    buf_done(&b);
    report_destroy(rs[0]);
    report_destroy(rs[1]);
}

static uint32_t longest_line(const struct buf *b)
{
    struct str rest = buf_as_str(b);
    uint32_t most = 0, n;

    while (rest.ptr) {
        n = plain_length(str_cut(&rest, '\n'));
        most = n > most ? n : most;
    }
    return most;
}

static void test_text(void)
{
    struct report *rs[2] = {five_jobs(),
                            report_new("a name that is much too long for us", 1)};
    static const uint32_t widths[] = {0, 80, 100, 120, 400};
    struct ledger l = even_ledger();
    struct buf b = {0};
    uint32_t i;

    report_ledger(rs[0], &l);
    report_error(rs[0],
                 &(struct report_error){.jobs = 4, .remark = STR("as the site ran")});
    for (i = 0; i < sizeof widths / sizeof *widths; i++) {
        uint32_t most = widths[i] < 80 ? 80 : widths[i] > 120 ? 120 : widths[i];

        buf_clear(&b);
        report_text(rs, 2, widths[i], false, &b);
        cmp_ok(longest_line(&b), <=, most, "no line leaves %u columns", most);
    }
    ok(has(&b, "as the site ran") &&
           strstr(b.data, "as the site ran") < strstr(b.data, "policy"),
       "the error against the record comes first");
    buf_clear(&b);
    report_text(rs, 2, 100, true, &b);
    ok(has(&b, "\033["), "colour when asked");
    buf_done(&b);
    report_destroy(rs[0]);
    report_destroy(rs[1]);
}

/* Eight reasons: the i-th (from 0) for i + 1 jobs, so 36 in all. The first six by number are
 * shown, the two least (1 + 2 jobs) are others. */
static void test_reasons(void)
{
    struct report *rs[2] = {five_jobs(), five_jobs()};
    struct buf text = {0}, page = {0};
    char why[40], name[40];
    json_t *doc, *list;

    for (int i = 0; i < 8; i++) {
        for (int k = 0; k <= i; k++) {
            snprintf(why, sizeof why, "reason<%d>", i);
            snprintf(name, sizeof name, "job-%d-%d", i, k);
            report_reason(rs[0], str_of(why), str_of(name));
        }
    }
    report_totals(rs[0], &(struct report_totals){.unplaced_jobs = 36});
    report_totals(rs[1], &(struct report_totals){.unplaced_jobs = 0});
    report_text(rs, 2, 100, false, &text);
    report_html(rs, 2, &page);
    ok(has(&text, "never started: 36 jobs"), "all that never started are counted");
    ok(has(&text, "        8  reason<7> (first: job-7-0)"), "the most frequent, with its first");
    ok(has(&text, "        3  reason<2> (first: job-2-0)"), "the sixth is there");
    ok(!has(&text, "reason<1>"), "the seventh is not");
    ok(has(&text, "        3  for other reasons"), "but counted with the last");
    ok(has(&page, "<b>8</b> reason&lt;7&gt; (first: job-7-0)"), "the page has it too, escaped");
    ok(has(&text, "* times only of those that started"), "times that tell less are starred");
    doc = json_of(rs, 2);
    list = json_object_get(json_array_get(json_object_get(doc, "runs"), 0),
                           "never_started_because");
    is_int(json_array_size(list), 6, "six in the JSON");
    is_int(json_integer_value(json_object_get(json_array_get(list, 0), "jobs")), 8,
           "most first");
    json_decref(doc);
    report_reason(rs[1], STR("waits behind the first of its queue, which asks for a great deal "
                             "more than there is"), STR("x"));
    buf_clear(&text);
    report_text(&rs[1], 1, 80, false, &text);
    ok(has(&text, "asks for a great deal\n             more than"), "a long reason is wrapped");
    report_destroy(rs[1]);
    rs[1] = five_jobs();
    buf_clear(&text);
    report_text(&rs[1], 1, 100, false, &text);
    ok(!has(&text, "*") && !has(&text, "never started: "), "alone nothing is starred");
    buf_done(&text);
    buf_done(&page);
    report_destroy(rs[0]);
    report_destroy(rs[1]);
}

static void test_empty(void)
{
    struct report *r = report_new("none", 0);
    struct buf text = {0}, page = {0};
    json_t *doc;
    struct err err = {0};

    doc = json_of(NULL, 0);
    is_uint(json_array_size(json_object_get(doc, "runs")), 0, "no run at all");
    json_decref(doc);
    report_text(NULL, 0, 80, false, &text);
    report_html(NULL, 0, &page);
    ok(has(&text, "nothing was run") && has(&page, "Nothing was run"),
       "and it says so");
    cmp_ok(page_tags(page.data), >, 10, "as a whole page");
    buf_clear(&text);
    buf_clear(&page);
    doc = json_of(&r, 1);
    ok(json_is_null(json_object_get(
           json_object_get(json_array_get(json_object_get(doc, "runs"), 0), "wait"),
           "mean_s")),
       "a run without a job has no mean wait");
    json_decref(doc);
    report_text(&r, 1, 80, false, &text);
    report_html(&r, 1, &page);
    cmp_ok(page_tags(page.data), >, 10, "its page is whole");
    ok(!has(&text, "nan") && !has(&page, "nan"), "and has no broken number");
    is_int(report_columns(r, &text, &err), -ENODATA, "no arrival, no columns");
    ok(err.text[0], "with a reason: %s", err.text);
    buf_done(&text);
    buf_done(&page);
    report_destroy(r);
    report_destroy(NULL);
}

/* 1,000 GPUs filled one by one to 130 %; the last 300 find no room. */
static void test_arrivals(void)
{
    struct report *r = report_new("fill", 1000000);
    struct buf out = {0};
    struct summary *s;
    struct str rest, cells;
    struct err err;
    uint64_t i;
    uint32_t lines = 0, n = 0;

    for (i = 1; i <= 1300; i++) {
        uint64_t used = (i < 1000 ? i : 1000) * 1000;

        job(r, "", 0, i <= 1000 ? 0 : -1, -1, 1000);
        report_arrival(r, i * 1000, used, (double)used / 20);
    }
    s = summary_create(r);
    ok(s->fills, "a list without an end only fills");
    is_near(s->allocated, 1, 1e-12, "allocated after the last arrival");
    is_near(s->frag, 0.05, 1e-12, "fragmented after the last arrival");
    summary_destroy(s);
    cmp_ok(r->narrivals, >, ARRIVALS_MAX / 2 - 1, "%u arrivals kept for the plot",
           r->narrivals);
    is_int(report_columns(r, &out, &err), 0, "columns are written");
    rest = buf_as_str(&out);
    ok(str_starts(rest, STR("allocation,")), "allocation first");
    while (rest.len) {
        cells = str_cut(&rest, '\n');
        if (!cells.len)
            break;
        for (n = 0; cells.ptr; n++)
            str_cut(&cells, ',');
        is_uint(n, 132, "a name and 131 values");
        lines++;
    }
    is_uint(lines, 2, "two measures");
    buf_clear(&out);
    report_html(&r, 1, &out);
    ok(has(&out, "As load arrives") && !has(&out, "Over time"), "the page plots load");
    buf_done(&out);
    report_destroy(r);
}

int main(void)
{
    uint64_t seed;

    test_figures();
    test_reals();
    test_sizes();
    test_ranks();
    test_groups();
    test_series_by_hand();
    for (seed = 1; seed <= 4; seed++)
        test_series_merging(seed);
    test_five_jobs();
    test_documented();
    test_ledger();
    test_exact_sum();
    test_escaping();
    test_page();
    test_text();
    test_reasons();
    test_empty();
    test_arrivals();
    return done_testing();
}
