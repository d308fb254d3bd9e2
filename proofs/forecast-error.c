/* forecast-error.c - how well run times are foretold from those that ended before
 *
 * Each job of a history is asked about when it starts, and again when it has run for
 * ten minutes, from what had ended by then; its end is learned when it comes. A
 * quantile q is right when q percent of the ends come before it, to five points; beside
 * that the median's mean error in octaves (1: a factor of two). The first thousand ends
 * only teach. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "base/heap.h"
#include "proof.h"
#include "sched/forecast.h"
#include "trace/trace.h"

#define TEN_MIN_US (600 * INT64_C(1000000))
enum { WARM = 1000, QS = 3, AIM = 5 };
static const uint32_t quantiles[QS] = {50, 75, 90};
enum { AT_START, AT_TEN_MIN, ASKS };
static const char *const ask_names[ASKS] = {"at the start", "after 10 min"};

static const struct set {
    const char *file, *format;
} sets[] = {
    {"mixes/K_95_seed1.csv.zst", "mixes"},
    {"mixes/P_95_seed1.csv.zst", "mixes"},
    {"philly/philly_passed_jobs.csv.zst", "philly"},
};

struct tally {
    uint64_t asked, by[QS];
    double octaves; /* sum of the median's errors */
};

static void ask(const struct forecast *f, const struct forecast_job *job, int64_t ran,
                int64_t run, struct tally *t)
{
    if (f->ends < WARM || run <= ran)
        return;
    int64_t median = forecast_ask(f, job, ran, 50);
    if (!median)
        return;
    t->asked++;
    t->octaves += fabs(log2((double)(run - ran) / (double)(median - ran)));
    for (int k = 0; k < QS; k++)
        t->by[k] += run <= forecast_ask(f, job, ran, quantiles[k]);
}

static struct forecast_job job_of(const struct trace_job *j)
{
    uint64_t milli = (uint64_t)j->gpus * (j->gpu_milli ? j->gpu_milli : 1000);
    return forecast_job_of(j->user, j->queue, milli);
}

enum { EV_START = 0, EV_TEN, EV_END };

static void play(const struct trace_list *l, struct tally t[ASKS])
{
    struct forecast f = {0};
    struct heap events = {0};
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_job *j = &l->jobs[i];
        int64_t at = j->start_us != TRACE_NEVER ? j->start_us : j->submit_us;
        bool ended = j->state == TRACE_DONE || j->state == TRACE_FAILED;
        if (j->run_us == TRACE_NEVER || j->run_us <= 0 || at == TRACE_NEVER || !ended)
            continue;
        heap_push(&events, at, (uint64_t)i << 2 | EV_START, i);
        if (j->run_us > TEN_MIN_US)
            heap_push(&events, at + TEN_MIN_US, (uint64_t)i << 2 | EV_TEN, i);
        heap_push(&events, at + j->run_us, (uint64_t)i << 2 | EV_END, i);
    }
    while (events.n) {
        struct heap_item e = heap_pop(&events);
        const struct trace_job *j = &l->jobs[e.item];
        struct forecast_job job = job_of(j);
        if ((e.tie & 3) == EV_END)
            forecast_learn(&f, &job, j->run_us);
        else if ((e.tie & 3) == EV_START)
            ask(&f, &job, 0, j->run_us, &t[AT_START]);
        else
            ask(&f, &job, TEN_MIN_US, j->run_us, &t[AT_TEN_MIN]);
    }
    heap_done(&events);
    forecast_done(&f);
}

int main(void)
{
    proof_begin("forecast-error");
    double worst = 0;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct trace_list l = {0};
        struct err err = {0};
        struct tally t[ASKS] = {{0}};
        const char *path = proof_shared(proof_text("data/traces/%s", sets[i].file));
        if (trace_load(&l, path, sets[i].format, &err) < 0)
            proof_die("%s", err.text);
        play(&l, t);
        for (int a = 0; a < ASKS; a++) {
            double n = (double)(t[a].asked ? t[a].asked : 1);
            printf("%s, %s: %llu jobs, the median is off by %.2f octaves; ended by the "
                   "quantile:",
                   sets[i].file, ask_names[a], (unsigned long long)t[a].asked,
                   t[a].octaves / n);
            for (int k = 0; k < QS; k++) {
                double share = 100 * (double)t[a].by[k] / n,
                       off = fabs(share - quantiles[k]);
                printf(" %u: %.1f %%", quantiles[k], share);
                worst = off > worst ? off : worst;
            }
            printf("\n");
            if (t[a].asked < WARM)
                proof_miss("%s, %s: only %llu were asked about", sets[i].file,
                           ask_names[a], (unsigned long long)t[a].asked);
        }
        trace_list_done(&l);
    }
    if (worst > AIM)
        proof_miss("a quantile is off by %.1f points", worst);
    return proof_end("quantiles off by at most %.1f points (aim: %d)", worst, AIM);
}
