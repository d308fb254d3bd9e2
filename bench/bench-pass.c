/* bench-pass.c - what one event and the pass behind it cost in a large cluster that is
 * full World: 12,500 nodes of 8 GPUs in blocks of 128, all taken by jobs of 1 to 8 GPUs
 * and gangs of whole nodes, then 10,000 jobs that wait (one in twenty a gang), under
 * the full policy with queues. It is made of records, as any world is. Then single
 * events of each kind, each with a border and its decisions, are timed (CPU time of
 * this thread); what was launched runs before the next event, outside the time. Beside
 * p50 and p99 the worst is printed. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../tests/unit/play.h"
#include "base/rng.h"

enum {
    NODES = 12500,
    BLOCK = 128,
    PENDING = 10000,
    ROUNDS = 300,
    QUEUES = 4,
    SEED = 42
};
#define SECOND INT64_C(1000000)

static const char policy[] = "name: bench\norder: shortest\nblock: none\ngangs: whole\n"
                             "quotas: borrow\nbetween: order\nreserve: gangs\n"
                             "reservations: 1\nreserve_after: 12h\nforecast: learned\n"
                             "node: pack\nmix: learn\nqueues:\n"
                             "  q0: {guaranteed: {gpu: 40000}}\n"
                             "  q1: {guaranteed: {gpu: 30000}}\n"
                             "  q2: {guaranteed: {gpu: 20000}}\n"
                             "  q3: {guaranteed: {gpu: 10000}}\n";

struct runs {
    char job[16];
    uint64_t launch;
    uint32_t tasks;
    uint32_t nodes[32]; /* by task */
};

struct bench {
    struct play p;
    struct rng rng;
    uint32_t njobs;
    VEC(struct runs) runs;
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void node_add(struct bench *b, uint32_t i, uint8_t state)
{
    char name[16], place[32];
    snprintf(name, sizeof name, "n%05u", i);
    snprintf(place, sizeof place, "block=b%03u", i / BLOCK);
    play_node(&b->p, name, 8, place, NULL, state);
}

static void job_add(struct bench *b, bool gang)
{
    static const uint32_t sizes[] = {1, 1, 1, 2, 2, 4, 8, 8};
    struct group_spec g[2];
    char name[16], queue[4];
    memset(g, 0, sizeof g);
    uint32_t n = gang ? 2u << rng_below(&b->rng, 5) : 1;
    struct shape sh = play_shape(gang ? 8 : sizes[rng_below(&b->rng, 8)]);
    snprintf(name, sizeof name, "j%07u", b->njobs++);
    snprintf(queue, sizeof queue, "q%u", (uint32_t)rng_below(&b->rng, QUEUES));
    g[0] = (struct group_spec){.parent = GROUP_NONE,
                               .shape = GROUP_NONE,
                               .whole = 1,
                               .count = {1, 1, 1, 1}};
    g[1] =
        (struct group_spec){.parent = 0, .shape = 0, .depth = 1, .count = {n, n, n, 1}};
    struct job_spec spec = {.name = str_of(name),
                            .queue = play_word(&b->p, queue),
                            .submitted_at = b->p.at,
                            .ngroups = 2,
                            .nshapes = 1,
                            .groups = g,
                            .shapes = &sh,
                            .preemptible = true,
                            .time_limit_us =
                                rng_between(&b->rng, 600, 48 * 3600) * SECOND};
    struct record r = {.kind = EV_JOB_SET};
    r.job_set = &spec;
    play_fold(&b->p, &r);
}

static void decide(struct bench *b)
{
    struct record r = {.kind = REC_BORDER};
    play_fold(&b->p, &r);
    records_clear(&b->p.out);
    sched_decide(b->p.s, &b->p.out);
    b->p.seq += b->p.out.list.n;
}

/* What was launched runs; who it is is remembered. */
static void all_run(struct bench *b)
{
    for (uint32_t i = 0; i < b->p.out.list.n; i++) {
        const struct record *l = &b->p.out.list.at[i];
        struct runs run = {.launch = l->launch.launch};
        if (l->kind != DE_LAUNCH)
            continue;
        run.tasks = l->launch.nseats;
        for (uint32_t k = 0; k < run.tasks; k++)
            run.nodes[k] = (uint32_t)atoi(l->launch.seats[k].node.ptr + 1);
        snprintf(run.job, sizeof run.job, STR_FMT, STR_ARG(l->launch.gang.job));
        vec_push(&b->runs, run);
    }
    play_run(&b->p);
}

static void build(struct bench *b)
{
    *b = (struct bench){0};
    play_init(&b->p);
    rng_init(&b->rng, SEED, 0);
    for (uint32_t i = 0; i < NODES; i++)
        node_add(b, i, NODE_UP);
    play_synced(&b->p);
    play_policy(&b->p, policy);
    struct sched_counts counts = {0};
    while (counts.pending_gangs < PENDING) { /* in the end nothing fits any more */
        for (uint32_t i = 0; i < 500; i++)
            job_add(b, rng_below(&b->rng, 20) == 0);
        b->p.at += SECOND;
        do {
            decide(b);
            all_run(b);
        } while (sched_due(b->p.s) <= b->p.at);
        sched_counts(b->p.s, &counts);
    }
    printf("# %u jobs run, %u wait, %.1f %% occupied\n", b->runs.n,
           counts.pending_gangs,
           100.0 * (double)counts.used_gpu_milli / (8000.0 * NODES));
}

/* What comes before the event that is timed: all but the last task of a gang end, the
 * tasks on a node are looked up. */
static void nothing_before(struct bench *b)
{
    (void)b;
}

static struct runs ending;

static void end_before(struct bench *b)
{
    uint32_t i = (uint32_t)rng_below(&b->rng, b->runs.n);
    ending = b->runs.at[i];
    b->runs.at[i] = b->runs.at[--b->runs.n];
    for (uint32_t k = 0; k + 1 < ending.tasks; k++)
        play_end(&b->p, ending.job, ending.launch, k, ENDED_DONE);
}

static void end_last(struct bench *b)
{
    play_end(&b->p, ending.job, ending.launch, ending.tasks - 1, ENDED_DONE);
}

static struct {
    uint32_t run, task;
} lost[64];
static uint32_t nlost, down;

static void down_before(struct bench *b)
{
    down = (uint32_t)rng_below(&b->rng, NODES);
    nlost = 0;
    for (uint32_t i = 0; i < b->runs.n; i++)
        for (uint32_t k = 0; k < b->runs.at[i].tasks && nlost < 64; k++)
            if (b->runs.at[i].nodes[k] == down)
                lost[nlost].run = i, lost[nlost++].task = k;
}

/* The node and all that ran there, at once. */
static void node_down(struct bench *b)
{
    node_add(b, down, NODE_DOWN);
    for (uint32_t i = 0; i < nlost; i++) {
        struct runs *run = &b->runs.at[lost[i].run];
        play_end(&b->p, run->job, run->launch, lost[i].task, ENDED_LOST);
    }
}

static uint32_t next_node;

static void node_gone(struct bench *b)
{
    char name[16];
    snprintf(name, sizeof name, "n%05u", next_node++);
    struct record r = {.kind = EV_NODE_GONE};
    r.node_gone.node = str_of(name);
    play_fold(&b->p, &r);
}

static void node_new(struct bench *b)
{
    node_add(b, --next_node, NODE_UP);
}

static void arrive(struct bench *b)
{
    job_add(b, false);
}

static void arrive_gang(struct bench *b)
{
    job_add(b, true);
}

static void time_kind(struct bench *b, const char *name, void (*before)(struct bench *),
                      void (*event)(struct bench *))
{
    static int64_t ns[ROUNDS];
    for (uint32_t i = 0; i < ROUNDS; i++) {
        b->p.at += SECOND;
        before(b);
        int64_t begin = now_ns();
        event(b);
        decide(b);
        ns[i] = now_ns() - begin;
        all_run(b);
    }
    qsort(ns, ROUNDS, sizeof *ns, by_value);
    printf("pass-%s: %.1f us p50, %.1f us p99, %.1f us worst (aim p99 <= 200 us)\n",
           name, (double)ns[ROUNDS / 2] / 1e3, (double)ns[ROUNDS * 99 / 100] / 1e3,
           (double)ns[ROUNDS - 1] / 1e3);
}

int main(void)
{
    static struct bench b;
    build(&b);
    time_kind(&b, "arrival", nothing_before, arrive);
    time_kind(&b, "gang-arrival", nothing_before, arrive_gang);
    time_kind(&b, "end", end_before, end_last);
    time_kind(&b, "node-down", down_before, node_down);
    time_kind(&b, "node-gone", nothing_before, node_gone);
    time_kind(&b, "node-new", nothing_before, node_new);
    vec_done(&b.runs);
    play_done(&b.p);
    return 0;
}
