/* generate.c - a synthetic cluster and trace out of published statistics
 *
 * Published (AcmeTrace's cluster_summary.csv, HeliosArtifact's
 * helios_cluster_summary.csv): numbers of jobs, mean, median and largest run time, mean
 * and largest GPU count, GPU time, rates of failure and cancellation. The rest is
 * assumption:
 *   sizes     1, 2, 4, ... GPUs (a quarter and a half too where the mean is below 1)
 *             with p(size) ~ r^log2(size); r is found by bisection so that the mean is
 *             the published one. Where that would leave fewer than half of the jobs at
 *             one GPU (the published median of all sites), half are put there first.
 *   run time  lognormal, sigma^2 = 2 ln(mean / median), times size^a; a is found by
 *             bisection so that GPU time a job is the published one. Cut at the
 *             published maximum and then scaled until the sample's mean is the
 *             published mean.
 *   load      a wanted load is met by the number of jobs as near as 24 trials come, then
 *             by stretching the days (draws_fit).
 *   arrivals  Poisson given their number: rate 1 + 0.6 sin, lowest at 03:00, 0.5 on
 *             days 6 and 7 of a week.
 *   limits    the run time times 1.05 to 4, rounded up to 1 h, 2 h, ... 60 d.
 *   users     64 of Zipf weights in 8 queues.
 * All draws come from base/rng streams of the seed, one a purpose. O(jobs log jobs).
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/generate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/vec.h"
#include "trace/jsonl.h"

enum {
    FIT_ROUNDS = 24,
    SIZES_MAX = 16,
    USERS = 64,
    QUEUES = 8,
    JOBS_MAX = 20000000,
    NODES_MAX = 1 << 17
};
enum {
    STREAM_ARRIVAL = 1,
    STREAM_SIZE,
    STREAM_RUN,
    STREAM_LIMIT,
    STREAM_END,
    STREAM_USER
};

#define DAYS_DEFAULT 7.0
#define DAYS_MAX 36600.0

const struct generate_site generate_sites[] = {
    {"seren", "Acme's Seren, March to August 2023", 663813, 184, 286, 8,
     "A100-SXM4-80GB", 1414.335, 122, 1209604, 5.68, 1024,
     (4560592618.0 + 14274584510.0 + 2675447459.0) / 663813, 0.429, 0.075},
    {"kalos", "Acme's Kalos, March to August 2023", 19907, 184, 302, 8,
     "A100-SXM4-80GB", 1259.689, 124, 625740, 26.77, 1024,
     (1667685146.0 + 3239202064.0 + 426292851.0) / 19907, 0.397, 0.062},
    {"philly", "Microsoft Philly, August to December 2017", 112956, 137, 352, 8, "P100",
     18006.055, 874, 4240676, 1.928, 128,
     (2210176414.0 + 2025326056.0 + 2659215061.0) / 112956, 0.305, 0.09},
    {"helios", "SenseTime Helios, April to September 2020", 1580464, 183, 777, 8,
     "V100", 6651.681, 206, 4320009, 3.716, 2048,
     (39994296320.0 + 30715109125.0 + 7288334702.0) / 1580464, 0.155, 0.221},
    {"pai", "Alibaba PAI, July and August 2020", 1037085, 62, 812, 8, "T4", 4787.109,
     480.667, 626371, 0.683, 8, 0, 0, 0},
    {0},
};

const struct generate_site *generate_site_find(const char *name)
{
    for (const struct generate_site *s = generate_sites; s->name; s++)
        if (!strcmp(s->name, strcmp(name, "acme") ? name : "seren"))
            return s;
    return NULL;
}

/* --- sizes
 * -------------------------------------------------------------------------- */

struct sizes {
    double gpus[SIZES_MAX], p[SIZES_MAX], factor[SIZES_MAX]; /* factor: gpus^a */
    uint32_t n;
};

static double sizes_mean(const struct sizes *s, double power)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->n; i++)
        sum += s->p[i] * pow(s->gpus[i], power);
    return sum;
}

/* p ~ r^i from `first` on, within what `before` leaves. */
static void sizes_weigh(struct sizes *s, uint32_t first, double before, double r)
{
    double sum = 0;
    for (uint32_t i = first; i < s->n; i++)
        sum += s->p[i] = pow(r, i - first);
    for (uint32_t i = first; i < s->n; i++)
        s->p[i] *= (1 - before) / sum;
}

/* r such that the mean is the wanted one (the mean grows with r). */
static void sizes_solve(struct sizes *s, uint32_t first, double before, double mean)
{
    double lo = 1e-6, hi = 4;
    for (int i = 0; i < 100; i++) {
        double mid = (lo + hi) / 2;
        sizes_weigh(s, first, before, mid);
        if (sizes_mean(s, 1) < mean)
            lo = mid;
        else
            hi = mid;
    }
}

static void sizes_make(const struct generate_site *site, struct sizes *s)
{
    uint32_t one = 0;
    *s = (struct sizes){0};
    if (site->gpus_mean < 1) {
        s->gpus[s->n++] = 0.25;
        s->gpus[s->n++] = 0.5;
        one = 2;
    }
    for (uint32_t g = 1; g <= site->gpus_max && s->n < SIZES_MAX; g *= 2)
        s->gpus[s->n++] = g;
    sizes_solve(s, 0, 0, site->gpus_mean);
    if (!one && s->p[0] < 0.5 && s->n > 1) {
        s->p[0] = 0.5;
        sizes_solve(s, 1, 0.5, site->gpus_mean);
    }
}

/* Without the sizes that do not fit; the others keep their proportions. */
static void sizes_cut(struct sizes *s, uint32_t most)
{
    double left = 0;
    while (s->n > 1 && s->gpus[s->n - 1] > most)
        s->n--;
    for (uint32_t i = 0; i < s->n; i++)
        left += s->p[i];
    for (uint32_t i = 0; i < s->n; i++)
        s->p[i] /= left;
}

/* a of gpus^a such that E[gpus x run] / E[run] / E[gpus] is as published (1 for a =
 * 0). */
static double sizes_relate(const struct generate_site *site, const struct sizes *s)
{
    double lo = 0, hi = 2, mean = sizes_mean(s, 1);
    double want = site->gpu_s_per_job / (site->run_mean_s * mean);
    for (int i = 0; i < 100 && want > 1; i++) {
        double a = (lo + hi) / 2;
        if (sizes_mean(s, 1 + a) / (mean * sizes_mean(s, a)) < want)
            lo = a;
        else
            hi = a;
    }
    return lo;
}

static void sizes_factors(struct sizes *s, double a)
{
    for (uint32_t i = 0; i < s->n; i++)
        s->factor[i] = pow(s->gpus[i], a) / sizes_mean(s, a);
}

static uint32_t pick(const double *p, uint32_t n, double u)
{
    uint32_t i = 0;
    for (; i + 1 < n && u >= p[i]; i++)
        u -= p[i];
    return i;
}

/* --- times
 * -------------------------------------------------------------------------- */

static double rate_at(double day)
{
    double hour = (day - floor(day)) * 24;
    double weekend = fmod(floor(day), 7) >= 5 ? 0.5 : 1;
    return weekend * (1 + 0.6 * sin((hour - 9) / 24 * 2 * M_PI));
}

static int order_i64(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

/* n arrivals of the rate above, by rejection, ascending, whole seconds. */
static void arrivals_make(uint64_t seed, uint32_t n, double days, int64_t *out)
{
    struct rng r;
    rng_init(&r, seed, STREAM_ARRIVAL);
    for (uint32_t i = 0; i < n;) {
        double day = rng_unit(&r) * days;
        if (rng_unit(&r) * 1.6 < rate_at(day))
            out[i++] = (int64_t)(day * 86400) * US_PER_S;
    }
    qsort(out, n, sizeof *out, order_i64);
}

/* Run times with the published mean: cut, scaled, cut again, until both hold. */
static void runs_scale(const struct generate_site *site, double *run, uint32_t n)
{
    for (int round = 0; round < 50; round++) {
        double sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += run[i];
        double by = site->run_mean_s * n / sum;
        if (fabs(by - 1) < 1e-9)
            break;
        for (uint32_t i = 0; i < n; i++)
            run[i] = fmin(run[i] * by, site->run_max_s);
    }
}

static int64_t limit_of(int64_t run_us, double times)
{
    static const double hours[] = {1, 2, 4, 8, 12, 24, 48, 96, 168, 336, 720, 1440};
    double want = (double)run_us * times / (double)US_PER_H;
    for (size_t i = 0; i < sizeof hours / sizeof *hours; i++)
        if (want <= hours[i])
            return (int64_t)(hours[i] * (double)US_PER_H);
    return run_us + run_us / 20;
}

/* --- jobs
 * --------------------------------------------------------------------------- */

struct making {
    const struct generate_options *o;
    const struct generate_site *site;
    struct sizes sizes;
    double user_p[USERS];
    struct rng size, run, limit, end, user;
    uint32_t n, nodes;
    double days;
    uint8_t *size_of;
    double *run_s;
    int64_t *submit;
};

static void users_weigh(double p[USERS])
{
    double sum = 0;
    for (int i = 0; i < USERS; i++)
        sum += p[i] = 1.0 / (i + 1);
    for (int i = 0; i < USERS; i++)
        p[i] /= sum;
}

/* Sizes and run times of n jobs; returns their GPU seconds. */
static double draws_make(struct making *m)
{
    double sigma = sqrt(2 * log(m->site->run_mean_s / m->site->run_p50_s)), gpu_s = 0;
    rng_init(&m->size, m->o->seed, STREAM_SIZE);
    rng_init(&m->run, m->o->seed, STREAM_RUN);
    m->size_of = mem_resize(m->size_of, m->n);
    m->run_s = mem_resize(m->run_s, m->n * sizeof *m->run_s);
    for (uint32_t i = 0; i < m->n; i++) {
        uint32_t k = pick(m->sizes.p, m->sizes.n, rng_unit(&m->size));
        double run = m->site->run_p50_s * exp(sigma * rng_normal(&m->run));
        m->size_of[i] = (uint8_t)k;
        m->run_s[i] = fmin(run * m->sizes.factor[k], m->site->run_max_s);
    }
    runs_scale(m->site, m->run_s, m->n);
    for (uint32_t i = 0; i < m->n; i++)
        gpu_s += m->sizes.gpus[m->size_of[i]] * m->run_s[i];
    return gpu_s;
}

/* The draws' heavy tail moves the GPU time far from its mean: a wanted load is reached
 * by drawing more or fewer jobs (the same ones first), or by fitting the days to given
 * jobs. */
static void draws_fit(struct making *m)
{
    double capacity = (double)m->nodes * m->site->gpus_per_node * 86400;
    double best = INFINITY;
    uint32_t best_n = m->n;
    for (int round = 0;; round++) {
        double gpu_s = draws_make(m); /* for m->n as it stands */
        if (!(m->o->load > 0))
            return;
        double off = m->o->load * capacity * m->days / gpu_s, miss = fabs(off - 1);
        if (m->o->jobs || miss < 0.01 || round == FIT_ROUNDS) {
            m->days *= off > 0 ? 1 / off : 1; /* what is left: the days, by a few per cent */
            return;
        }
        if (miss < best) {
            best = miss;
            best_n = m->n;
        }
        /* one long run of a large job moves the load by per cents: ever smaller steps */
        m->n = (uint32_t)fmin(fmax(m->n * pow(off, 2.0 / (2 + round)), 1), JOBS_MAX);
        if (round == FIT_ROUNDS - 1)
            m->n = best_n;
    }
}

static void job_write(struct making *m, uint32_t i, struct buf *out)
{
    char name[16], user[16], queue[16];
    double gpus = m->sizes.gpus[m->size_of[i]];
    uint32_t who = pick(m->user_p, USERS, rng_unit(&m->user));
    double fate = rng_unit(&m->end);
    int64_t run_us = llround(fmax(m->run_s[i], 1)) * US_PER_S;
    snprintf(name, sizeof name, "j%07u", i);
    snprintf(user, sizeof user, "u%02u", who);
    snprintf(queue, sizeof queue, "q%u", who % QUEUES);
    struct trace_job j = {
        .name = str_of(name), .user = str_of(user), .queue = str_of(queue),
        .submit_us = m->submit[i], .start_us = TRACE_NEVER, .end_us = TRACE_NEVER,
        .eligible_us = TRACE_NEVER, .run_us = run_us,
        .limit_us = limit_of(run_us, 1.05 + 2.95 * rng_unit(&m->limit)),
        .gpus = gpus < 1 ? 1 : (uint32_t)gpus,
        .gpu_milli = gpus < 1 ? (uint32_t)lround(gpus * 1000) : 1000};
    double each = fmin(gpus, m->site->gpus_per_node);
    j.cpu_milli = (int64_t)(each * 12000);
    j.mem_bytes = (int64_t)(each * 96 * (double)GIB);
    if (fate < m->site->fail_rate)
        j.state = TRACE_FAILED;
    else if (fate < m->site->fail_rate + m->site->cancel_rate)
        j.state = TRACE_CANCELLED;
    jsonl_job(out, &j);
}

/* Jobs a day: as the wanted load needs them, or as the site had them on so many
 * nodes. */
static double jobs_per_day(const struct making *m)
{
    double gpu_s = 0, run = m->site->run_mean_s;
    for (uint32_t i = 0; i < m->sizes.n; i++)
        gpu_s += m->sizes.p[i] * m->sizes.gpus[i] * run * m->sizes.factor[i];
    double capacity = (double)m->nodes * m->site->gpus_per_node * 86400;
    double part = (double)m->nodes / m->site->nodes / m->site->days;
    return m->o->load > 0 ? m->o->load * capacity / gpu_s : m->site->jobs * part;
}

/* How many jobs on how many days. */
static int extent_settle(struct making *m, struct err *err)
{
    const struct generate_options *o = m->o;
    double per_day = jobs_per_day(m);
    m->days = o->jobs ? o->jobs / per_day : o->days > 0 ? o->days : DAYS_DEFAULT;
    double n = o->jobs ? o->jobs : per_day * m->days;
    if (n > JOBS_MAX)
        return err_set(err, ERANGE, "more than %d jobs", JOBS_MAX);
    if (!(m->days <= DAYS_MAX))
        return err_set(err, ERANGE, "more than %g days", DAYS_MAX);
    m->n = n < 1 ? 1 : (uint32_t)(n + 0.5);
    return 0;
}

static void cluster_write(const struct generate_site *site, uint32_t nodes,
                          struct buf *out)
{
    buf_fmt(out, "# Made by muster trace generate --like %s: %s.\n", site->name,
            site->about);
    buf_fmt(out, "name: %s\nlevels: [block, rack]\nnodes:\n", site->name);
    buf_fmt(out, "  - name: \"n{00000}\"\n    count: %u\n", nodes);
    buf_fmt(out, "    cpus: %u\n    memory: 1TiB\n", site->gpus_per_node * 16);
    buf_fmt(out, "    gpus: {type: %s, count: %u}\n", site->gpu_type,
            site->gpus_per_node);
    buf_z(out, "    place: {block: \"b{000}\", rack: \"r{0000}\"}\n"
               "    per: {block: 128, rack: 16}\n");
}

static void result_fill(const struct making *m, const struct trace_list *l,
                        struct generate_result *r)
{
    double gpus = 0, gpu_s = 0, run = 0, failed = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_job *j = &l->jobs[i];
        double g = j->gpus * j->gpu_milli / 1000.0, s = (double)j->run_us / US_PER_S;
        gpus += g;
        run += s;
        gpu_s += g * s;
        failed += j->state == TRACE_FAILED;
    }
    *r = (struct generate_result){
        .jobs = l->n,
        .days = m->days,
        .load = gpu_s / ((double)m->nodes * m->site->gpus_per_node * m->days * 86400),
        .run_mean_s = run / l->n,
        .gpus_mean = gpus / l->n,
        .gpu_s_per_job = gpu_s / l->n,
        .fail_rate = failed / l->n};
}

static int jobs_make(struct making *m, struct trace_list *ret, struct err *err)
{
    struct buf text = {0};
    char remark[200];
    rng_init(&m->limit, m->o->seed, STREAM_LIMIT);
    rng_init(&m->end, m->o->seed, STREAM_END);
    rng_init(&m->user, m->o->seed, STREAM_USER);
    users_weigh(m->user_p);
    draws_fit(m);
    m->submit = mem_alloc(m->n * sizeof *m->submit);
    arrivals_make(m->o->seed, m->n, m->days, m->submit);
    snprintf(remark, sizeof remark, "synthetic, like %s, seed %llu", m->site->about,
             (unsigned long long)m->o->seed);
    jsonl_head(&text, m->site->gpus_per_node, str_of(remark));
    for (uint32_t i = 0; i < m->n; i++)
        job_write(m, i, &text);
    /* Read back what is written: a generated trace is what its file says. */
    int rc = trace_load_mem(ret, text.data, text.len, "generated", "jsonl", err);
    buf_done(&text);
    free(m->size_of);
    free(m->run_s);
    free(m->submit);
    return rc;
}

int generate_trace(const struct generate_options *o, struct trace_list *ret,
                   struct buf *cluster, struct generate_result *ret_result,
                   struct err *err)
{
    struct making m = {.o = o, .site = o->site};
    m.nodes = o->nodes ? o->nodes : o->site->nodes;
    if (m.nodes > NODES_MAX)
        return err_set(err, ERANGE, "more than %d nodes", NODES_MAX);
    if (!(o->load >= 0 && o->load <= 10))
        return err_set(err, ERANGE, "a load of more than 10");
    sizes_make(o->site, &m.sizes);
    double a = sizes_relate(o->site, &m.sizes);
    sizes_cut(&m.sizes, o->one_node ? o->site->gpus_per_node
                                    : m.nodes * o->site->gpus_per_node);
    sizes_factors(&m.sizes, a);
    int rc = extent_settle(&m, err);
    if (rc == 0)
        rc = jobs_make(&m, ret, err);
    if (rc < 0)
        return rc;
    if (cluster)
        cluster_write(o->site, m.nodes, cluster);
    if (ret_result)
        result_fill(&m, ret, ret_result);
    return 0;
}
