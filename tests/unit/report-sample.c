/* report-sample.c - a report made of invented runs, to look at while its pages change
 *
 *     report-sample text|colour|json|html [policies] [seed] [fgd]
 *
 * Nothing here was measured. Arrivals, sizes and run times are random; a policy is a
 * factor on waits. The names are as awkward as a site can make them. With `fgd` jobs
 * only arrive, as in the FGD experiment. The unit test checks figures; this is for eyes
 * alone. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/units.h"
#include "report/report.h"

static const char *const names[] = {
    "recorded",
    "fifo",
    "sjf",
    "kube-default",
    "kube-binpack",
    "random",
    "dotprod",
    "gpu-packing",
    "gpu-clustering",
    "bestfit",
    "fgd",
    "muster",
    "a<b>&\"c\" with a very long name",
};
enum { NAMES = sizeof names / sizeof *names, JOBS = 20000, DAYS = 21 };
static const uint64_t capacity = 2048 * 1000;

static void sample_jobs(struct report *r, struct rng *rng, double factor)
{
    static const uint64_t sizes[] = {0,    250,  500,  1000,  1000,  1000,   2000,
                                     4000, 8000, 8000, 16000, 64000, 128000, 1024000};
    char queue[32];
    uint32_t i;

    for (i = 0; i < JOBS; i++) {
        uint64_t milli = sizes[rng_below(rng, sizeof sizes / sizeof *sizes)];
        int64_t submit = rng_between(rng, 0, DAYS * US_PER_DAY);
        double weight = 1 + log2(1 + (double)milli / 1000);
        int64_t wait =
            rng_below(rng, 3) ? (int64_t)(rng_exp(rng, 9e8 * factor) * weight) : 0;
        int64_t run = (int64_t)rng_exp(rng, 7.2e9);
        bool never = rng_below(rng, 400) == 0, lost = rng_below(rng, 60) == 0;
        struct report_job j = {
            .submit_us = submit,
            .first_start_us = never ? INT64_MIN : submit + wait,
            .end_us = never ? INT64_MIN : submit + wait + run,
            .run_us = run,
            .gpu_milli = milli,
            .tasks = 1,
            .restarts = lost,
            .lost_us = lost ? run / 7 : 0,
            .cross_domain = milli > 64000 && rng_below(rng, 4) == 0,
            .failed = rng_below(rng, 30) == 0,
            .recorded_start_us = submit + wait + 30 * US_PER_S,
        };

        snprintf(queue, sizeof queue, "team-%c%s",
                 (char)('a' + (int)rng_below(rng, 16)), i % 50 == 0 ? "<i>&x" : "");
        j.queue = str_of(queue);
        report_job(r, &j);
    }
}

static void ledger_add(struct ledger *l, int cause, double milli, int64_t len)
{
    l->sum[cause] += (unsigned __int128)(uint64_t)milli * (uint64_t)len;
}

static void sample_levels(struct report *r, struct rng *rng, double factor)
{
    const int64_t step = 10 * US_PER_MIN;
    double used = 0.2, backlog = 0, noise = 0;
    struct ledger l = {0};
    int64_t at;

    for (at = 0; at <= DAYS * US_PER_DAY; at += step) {
        double day = (double)at / (double)US_PER_DAY;
        double wish = 0.75 + 0.25 * sin(day * 6.283) + 0.2 * sin(day * 0.9);
        double c = (double)capacity, free_milli, frag;

        noise = 0.97 * noise + 0.02 * rng_normal(rng);
        backlog += (wish + noise - used) * 0.2;
        backlog = backlog < 0 ? 0 : backlog;
        used += (fmin(wish + backlog, 0.99 - 0.05 * factor) - used) * 0.3 + 0.1 * noise;
        used = fmin(fmax(used, 0), 1);
        frag = 0.05 * factor * used;
        free_milli = floor((1 - used) * c);
        report_level(r, &(struct report_level){
                            .at = at + INT64_C(1506816000) * US_PER_S,
                            .used_milli = (uint64_t)(used * c),
                            .pending_milli = (uint64_t)(backlog * c * factor),
                            .capacity_milli = capacity,
                            .frag_milli = frag * c,
                            .waiting_jobs = (uint32_t)(backlog * 100),
                            .running_jobs = (uint32_t)(used * 400),
                        });
        ledger_add(&l, LEDGER_STARTING, c * used * 0.01, step);
        ledger_add(&l, LEDGER_RECOMPUTED, c * used * 0.006, step);
        ledger_add(&l, LEDGER_HUNG, c * used * 0.002, step);
        ledger_add(&l, LEDGER_FRAGMENTED, backlog > 0 ? free_milli * 0.6 : 0, step);
        ledger_add(&l, LEDGER_HELD, free_milli * 0.1, step);
        ledger_add(&l, LEDGER_FAULTY, c * 0.004, step);
        ledger_add(&l, LEDGER_NO_DEMAND, free_milli * (backlog > 0 ? 0.2 : 0.8), step);
        l.capacity += (unsigned __int128)capacity * (uint64_t)step;
    }
    l.sum[LEDGER_USEFUL] = l.capacity;
    for (int i = 1; i < LEDGER_CAUSES; i++)
        l.sum[LEDGER_USEFUL] -= l.sum[i];
    report_ledger(r, &l);
}

static void sample_arrivals(struct report *r, struct rng *rng, double factor)
{
    uint64_t arrived = 0, used = 0;
    struct rng luck;

    rng_init(&luck, (uint64_t)(factor * 1000),
             2); /* so that all see the same arrivals */
    while (arrived < capacity * 13 / 10) {
        uint64_t milli = rng_below(rng, 3) ? 1000 : 8000;
        double full;

        arrived += milli;
        full = (double)used / (double)capacity;
        if (used + milli <= capacity && rng_unit(&luck) > pow(full, 30 / factor))
            used += milli;
        report_job(r, &(struct report_job){.queue = STR(""),
                                           .first_start_us = 0,
                                           .end_us = INT64_MIN,
                                           .gpu_milli = milli,
                                           .recorded_start_us = INT64_MIN});
        report_arrival(r, arrived, used,
                       (double)capacity * 0.12 * factor * full * (1.2 - full));
    }
}

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "text";
    uint32_t n = argc > 2 ? (uint32_t)atoi(argv[2]) : 4, i;
    uint64_t seed = argc > 3 ? (uint64_t)atoll(argv[3]) : 42;
    bool fgd = argc > 4;
    struct report *rs[NAMES];
    struct buf out = {0};

    n = n > NAMES ? NAMES : n;
    for (i = 0; i < n; i++) {
        double factor = 0.3 + 0.7 * (double)((i * 7 + 3) % NAMES) / NAMES;
        struct rng rng;

        rng_init(&rng, seed, 1); /* the same jobs for all */
        rs[i] = report_create(
            &(struct report_about){.policy = str_of(names[i]),
                                   .cluster = STR("sample <invented>"),
                                   .trace = STR("random & invented"),
                                   .seed = seed,
                                   .capacity_milli = capacity,
                                   .nodes = 256,
                                   .note = i == 2 ? STR("run times are the oracle's")
                                                  : STR("")});
        if (fgd) {
            sample_arrivals(rs[i], &rng, factor);
        } else {
            sample_jobs(rs[i], &rng, factor);
            sample_levels(rs[i], &rng, factor);
            report_totals(rs[i], &(struct report_totals){.records = 1234567,
                                                         .decisions = 345678,
                                                         .launches = 20480,
                                                         .stops = 345,
                                                         .faults = 12,
                                                         .journal_bytes = 141557760,
                                                         .cpu_s = 3.21 * factor,
                                                         .sim_us = DAYS * US_PER_DAY,
                                                         .unplaced_jobs = 50,
                                                         .unplaced_gpu_milli = 400000});
        }
        if (i == 0 && !fgd && n > 4)
            report_error(rs[i],
                         &(struct report_error){
                             .jobs = JOBS,
                             .wait_mean_recorded_s = 1234,
                             .wait_mean_twin_s = 1250.5,
                             .wait_p95_abs_err_s = 48,
                             .util_recorded = 0.712,
                             .util_twin = 0.7093,
                             .remark = STR(
                                 "12 jobs of the record overlap on one GPU <sic>")});
    }
    if (form[0] == 'j')
        report_json(rs, n, &out);
    else if (form[0] == 'h')
        report_html(rs, n, &out);
    else
        report_text(rs, n, 100, form[0] == 'c', &out);
    fwrite(out.data, 1, out.len, stdout);
    buf_done(&out);
    for (i = 0; i < n; i++)
        report_destroy(rs[i]);
    return 0;
}
