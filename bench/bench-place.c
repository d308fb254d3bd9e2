/* bench-place.c - what a placement costs on large clusters: in the core, one thread
 * Cluster: racks of 16 nodes of 8 GPUs, blocks of 8 racks. Filled by the core itself with a
 * seeded mix of jobs to 95 %, then random jobs end until 90 % is occupied. Then, each many
 * times:
 *   gang       a 1,024-GPU gang (128 whole nodes) placed on the trail and undone
 *   decision   the whole: job_set, border, decide with its launch, claims and why
 *   single     a 1-GPU job's whole decision
 *   update     node state down and up again (lanes at every level), a half of it
 * CPU time of this thread; p50, p99 and the worst.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <time.h>

#include "../tests/unit/play.h"
#include "base/rng.h"
#include "sched/place.h"

enum { ROUNDS = 2000, SEED = 42 };

struct bench {
    struct play p;
    struct rng rng;
    uint32_t nodes;
    uint32_t njobs;
    VEC(uint64_t) live; /* job number << 32 | tasks */
    int64_t used, capacity;
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

static void print(const char *name, uint32_t gpus, int64_t *ns, uint32_t n, const char *aim)
{
    qsort(ns, n, sizeof *ns, by_value);
    printf("place-%s-%u: %.2f us p50, %.2f us p99, %.2f us worst (%s)\n", name, gpus,
           (double)ns[n / 2] / 1e3, (double)ns[(size_t)n * 99 / 100] / 1e3,
           (double)ns[n - 1] / 1e3, aim);
}

static void border(struct play *p)
{
    struct record r = {.kind = REC_BORDER};
    play_fold(p, &r);
    records_clear(&p->out);
    sched_decide(p->s, &p->out);
    p->seq += p->out.list.n;
}

static void build(struct bench *b)
{
    play_init(&b->p);
    for (uint32_t i = 0; i < b->nodes; i++) {
        char name[16], place[48];
        snprintf(name, sizeof name, "n%05u", i);
        snprintf(place, sizeof place, "block=b%03u rack=r%04u", i / 128, i / 16);
        play_node(&b->p, name, 8, place, NULL, NODE_UP);
    }
    play_synced(&b->p);
    border(&b->p);
    b->capacity = (int64_t)b->nodes * 8;
}

static void submit(struct bench *b, uint32_t tasks, uint32_t gpus)
{
    char name[16];
    struct shape sh = play_shape(gpus);
    snprintf(name, sizeof name, "j%08u", b->njobs);
    b->p.at += 1000;
    play_job(&b->p, name, tasks, tasks, &sh, NULL);
    border(&b->p);
    if (!play_find(&b->p, DE_LAUNCH, 0))
        return;
    play_run(&b->p);
    border(&b->p);
    vec_push(&b->live, (uint64_t)b->njobs << 32 | tasks << 8 | gpus);
    b->njobs++;
    b->used += (int64_t)tasks * gpus;
}

static void cancel(struct bench *b, uint32_t which)
{
    char name[16];
    uint64_t v = b->live.at[which];
    b->live.at[which] = b->live.at[--b->live.n];
    snprintf(name, sizeof name, "j%08u", (uint32_t)(v >> 32));
    struct record r = {.kind = EV_JOB_DO};
    r.job_do.job = str_of(name);
    r.job_do.verb = JOB_CANCEL;
    play_fold(&b->p, &r);
    border(&b->p);
    const struct record *stop = play_find(&b->p, DE_STOP, 0);
    for (uint32_t i = 0; stop && i < stop->stop.ntasks; i++) {
        struct record e = {.kind = EV_TASK_ENDED};
        e.task_ended.ref = stop->stop.tasks[i];
        e.task_ended.how = ENDED_KILLED;
        play_fold(&b->p, &e);
    }
    border(&b->p);
    b->used -= (int64_t)(v >> 8 & 0xffffff) * (int64_t)(v & 255);
}

static void fill(struct bench *b)
{
    static const uint32_t gpus[] = {1, 1, 1, 2, 4, 8, 8, 8};
    while (b->used < b->capacity * 95 / 100) {
        uint32_t g = gpus[rng_below(&b->rng, 8)];
        uint32_t tasks = g < 8 ? 1 : 1u << rng_below(&b->rng, 6);
        submit(b, tasks, g);
    }
    while (b->used > b->capacity * 90 / 100)
        cancel(b, (uint32_t)rng_below(&b->rng, b->live.n));
}

static void bench_gang(struct bench *b, uint32_t tasks, int64_t *ns)
{
    struct shape sh = play_shape(8);
    struct why why;
    /* a gang that waits: held, so that decide leaves it to us */
    play_job(&b->p, "gang", tasks, tasks, &sh, NULL);
    uint32_t gang = b->p.s->jobs.at[job_find(b->p.s, STR("gang"))].one_gang;
    uint32_t placed = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        int64_t t = now_ns();
        placed += place_gang(b->p.s, gang, &why);
        ns[i] = now_ns() - t;
    }
    if (placed != ROUNDS)
        printf("# the gang found no room: %u of %u\n", placed, ROUNDS);
    struct record r = {.kind = EV_JOB_DO};
    r.job_do.job = STR("gang");
    r.job_do.verb = JOB_CANCEL;
    play_fold(&b->p, &r);
}

static void bench_decision(struct bench *b, uint32_t tasks, uint32_t gpus, int64_t *ns)
{
    struct shape sh = play_shape(gpus);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        char name[16];
        snprintf(name, sizeof name, "j%08u", b->njobs);
        b->p.at += 1000;
        int64_t t = now_ns();
        play_job(&b->p, name, tasks, tasks, &sh, NULL);
        border(&b->p);
        ns[i] = now_ns() - t;
        if (!play_find(&b->p, DE_LAUNCH, 0))
            continue;
        play_run(&b->p);
        border(&b->p);
        vec_push(&b->live, (uint64_t)b->njobs << 32 | tasks << 8 | gpus);
        b->used += (int64_t)tasks * gpus;
        b->njobs++;
        cancel(b, b->live.n - 1);
    }
}

static void bench_update(struct bench *b, int64_t *ns)
{
    struct cluster *c = b->p.s->cluster;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t from = (uint32_t)rng_below(&b->rng, c->nnodes - 64);
        int64_t t = now_ns();
        for (uint32_t k = 0; k < 64; k++)
            cluster_node_state(c, from + k, NODE_DRAINED);
        for (uint32_t k = 0; k < 64; k++)
            cluster_node_state(c, from + k, NODE_UP);
        ns[i] = (now_ns() - t) / 128;
    }
}

static void run(uint32_t nodes)
{
    static int64_t ns[ROUNDS];
    struct bench b = {.nodes = nodes};
    rng_init(&b.rng, SEED, 1);
    build(&b);
    fill(&b);
    printf("# %u GPUs, %u jobs run, %.1f %% occupied\n", nodes * 8, b.live.n,
           100.0 * (double)b.used / (double)b.capacity);
    uint32_t tasks = nodes > 10000 ? 128 : 32; /* 1,024 GPUs; the small cluster has no room */
    bench_gang(&b, tasks, ns);
    print("gang", nodes * 8, ns, ROUNDS, "aim p99 <= 20 us at 100,000 GPUs");
    bench_decision(&b, tasks, 8, ns);
    print("decision", nodes * 8, ns, ROUNDS, "aim p99 <= 200 us");
    bench_decision(&b, 1, 1, ns);
    print("single", nodes * 8, ns, ROUNDS, "at 100,000 GPUs at most twice that at 10,000");
    bench_update(&b, ns);
    print("update", nodes * 8, ns, ROUNDS, "aim <= 0.1 us");
    vec_done(&b.live);
    play_done(&b.p);
}

int main(void)
{
    run(1280);
    run(12500);
    return 0;
}
