/* bench-victims.c - what the cheapest victims for a 1,024-GPU gang cost to find
 * Cluster: 12,500 nodes of 8 GPUs in blocks of 128, filled by a seeded mix (most jobs
 * of 1 to 8 GPUs, gangs of 2 to 512 whole nodes that hold half of the GPUs), then jobs
 * end until 90 % is occupied and fewer whole nodes are free than the gang needs. A job
 * loses its GPUs' time since a checkpoint (one an hour; three of ten jobs write none)
 * and five minutes of restart. One job in five may not be stopped (its class). Between
 * questions time passes, a job ends and another starts. CPU time of this thread; steps
 * are counted ones; the gap is (cost - bound) / cost. `work N KIND` runs one kind of
 * question N times, for counting instructions.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <time.h>

#include "base/rng.h"
#include "sched/victims.h"

enum {
    ROUNDS = 1000,
    SEED = 42,
    NODES = 12500,
    BLOCK = 128,
    MAX_IDS = 1 << 17,
    FIXED = 9, /* the class of those that may not go */
};
#define SECOND INT64_C(1000000)

struct bench {
    struct rng rng;
    struct victims *v;
    uint32_t nodes;
    int64_t now;
    uint64_t ties;
    int32_t *free;
    VEC(uint32_t) live;
    uint32_t *span, *gpus, *first; /* by id: nodes, GPUs on each, into held */
    VEC(uint32_t) held;            /* node ranks */
    int64_t used;
    uint32_t whole; /* free nodes */
    struct victims_domain blocks[NODES / BLOCK + 1];
    uint32_t nblocks;
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void node_set(struct bench *b, uint32_t node)
{
    struct victims_room room = {.gpu = b->free[node]};
    victims_node(b->v, node, &room, true);
}

/* Room for span nodes of so many GPUs, nodes next to each other where they are whole;
 * the fullest of a few nodes for a job on one. */
static uint32_t find_nodes(struct bench *b, uint32_t span, uint32_t gpus,
                           uint32_t *nodes)
{
    uint32_t n = 0, at = (uint32_t)rng_below(&b->rng, b->nodes);
    if (span > 1)
        at -= at % 16;
    for (uint32_t i = 0; i < b->nodes && n < span; i++) {
        uint32_t node = (at + i) % b->nodes;
        if (b->free[node] >= (int32_t)gpus)
            nodes[n++] = node;
    }
    for (uint32_t i = 0; span == 1 && n && i < 64; i++) {
        uint32_t node = (at + i) % b->nodes;
        if (b->free[node] >= (int32_t)gpus && b->free[node] < b->free[nodes[0]])
            nodes[0] = node;
    }
    return n == span;
}

static bool start(struct bench *b, uint32_t span, uint32_t gpus)
{
    static uint32_t nodes[NODES];
    static struct victims_seat seats[NODES];
    if (!find_nodes(b, span, gpus, nodes))
        return false;
    for (uint32_t i = 0; i < span; i++) {
        b->whole -= b->free[nodes[i]] == 8;
        b->free[nodes[i]] -= (int32_t)gpus;
        node_set(b, nodes[i]);
        seats[i] = (struct victims_seat){nodes[i], {.gpu = gpus}};
    }
    bool saves = rng_below(&b->rng, 10) >= 3;
    int64_t age = rng_between(&b->rng, 0, (saves ? 3600 : 86400) * SECOND);
    int64_t rate = (int64_t)span * gpus;
    struct victims_spec s = {.tie = b->ties++,
                             .cost = rate * (300 * SECOND - (b->now - age)),
                             .rate = (uint32_t)rate,
                             .class = rng_below(&b->rng, 5) ? 0 : FIXED,
                             .nseats = span,
                             .seats = seats};
    uint32_t id = victims_add(b->v, &s);
    b->span[id] = span;
    b->gpus[id] = gpus;
    b->first[id] = b->held.n;
    for (uint32_t i = 0; i < span; i++)
        vec_push(&b->held, nodes[i]);
    vec_push(&b->live, id);
    b->used += rate;
    return true;
}

static void end(struct bench *b, uint32_t which)
{
    uint32_t id = b->live.at[which];
    b->live.at[which] = b->live.at[--b->live.n];
    victims_remove(b->v, id);
    for (uint32_t i = 0; i < b->span[id]; i++) {
        uint32_t node = b->held.at[b->first[id] + i];
        b->free[node] += (int32_t)b->gpus[id];
        b->whole += b->free[node] == 8;
        node_set(b, node);
    }
    b->used -= (int64_t)b->span[id] * b->gpus[id];
}

/* Nodes that would be free without the job. */
static uint32_t frees_whole(const struct bench *b, uint32_t id)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->span[id]; i++)
        n += b->free[b->held.at[b->first[id] + i]] + (int32_t)b->gpus[id] == 8;
    return n;
}

static bool start_any(struct bench *b, bool gangs)
{
    static const uint32_t gpus[] = {1, 1, 1, 1, 2, 2, 4, 8, 8, 8};
    uint32_t dice = (uint32_t)rng_below(&b->rng, 1000);
    if (gangs && dice < 15) {
        uint32_t most = b->nodes / 24 < 512 ? b->nodes / 24 : 512;
        uint32_t span = 2u << rng_below(&b->rng, dice < 3 ? 9 : 4);
        return start(b, span < most ? span : most, 8);
    }
    return start(b, 1, gpus[rng_below(&b->rng, 10)]);
}

static void build(struct bench *b, uint32_t nodes, uint32_t whole)
{
    *b = (struct bench){.nodes = nodes, .now = 1000000 * SECOND};
    rng_init(&b->rng, SEED, nodes);
    b->v = victims_create(nodes);
    b->free = mem_alloc(nodes * sizeof *b->free);
    b->span = mem_zero(MAX_IDS * sizeof *b->span);
    b->gpus = mem_zero(MAX_IDS * sizeof *b->gpus);
    b->first = mem_zero(MAX_IDS * sizeof *b->first);
    for (uint32_t i = 0; i < nodes; i++) {
        b->free[i] = 8;
        b->whole++;
        node_set(b, i);
    }
    for (uint32_t lo = 0; lo < nodes; lo += BLOCK)
        b->blocks[b->nblocks++] =
            (struct victims_domain){lo, lo + BLOCK < nodes ? lo + BLOCK : nodes};
    int64_t all = (int64_t)nodes * 8;
    while (b->used < all * 995 / 1000)
        if (!start_any(b, b->used < all * 95 / 100))
            start(b, 1, 1);
    for (uint32_t tries = 0; b->used > all * 9 / 10 && tries < 1u << 20; tries++) {
        uint32_t i = (uint32_t)rng_below(&b->rng, b->live.n);
        if (b->whole + frees_whole(b, b->live.at[i]) <= whole)
            end(b, i);
    }
}

static void done(struct bench *b)
{
    victims_destroy(b->v);
    free(b->free);
    free(b->span);
    free(b->gpus);
    free(b->first);
    vec_done(&b->live);
    vec_done(&b->held);
}

static void churn(struct bench *b)
{
    b->now += 30 * SECOND;
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t which = (uint32_t)rng_below(&b->rng, b->live.n);
        uint32_t id = b->live.at[which], span = b->span[id], gpus = b->gpus[id];
        if (span > 16)
            continue;
        end(b, which);
        start(b, span, gpus);
        return;
    }
}

enum kind { ANYWHERE, ONE_BLOCK, HALVES, NKINDS };

static void ask_for(struct bench *b, enum kind kind, uint32_t tasks,
                    struct victims_domain *all, struct victims_ask *ask)
{
    *all = (struct victims_domain){0, b->nodes};
    *ask = (struct victims_ask){.tasks = tasks, .need = {.gpu = 8}, .at = b->now};
    ask->classes = ~(UINT64_C(1) << FIXED);
    ask->domains = kind == ONE_BLOCK ? b->blocks : all;
    ask->ndomains = kind == ONE_BLOCK ? b->nblocks : 1;
    if (kind == ONE_BLOCK)
        ask->classes = UINT64_MAX;
    if (kind == HALVES) {
        ask->tasks *= 16;
        ask->need.gpu = 4;
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

struct tally {
    int64_t ns[ROUNDS], steps[ROUNDS], gap[ROUNDS];
    uint32_t n, proven, impossible, victims;
};

static void question(struct bench *b, enum kind kind, uint32_t tasks, struct tally *t)
{
    struct victims_domain all;
    struct victims_ask ask;
    static struct victims_answer a;
    churn(b);
    ask_for(b, kind, tasks, &all, &ask);
    int64_t from = now_ns();
    victims_find(b->v, &ask, &a);
    t->ns[t->n] = now_ns() - from;
    t->steps[t->n] = a.steps;
    t->gap[t->n] =
        a.cost ? (int64_t)((a.cost - a.bound) * (__int128)100000 / a.cost) : 0;
    t->proven += a.proven;
    t->impossible += a.verdict == VICTIMS_IMPOSSIBLE;
    t->victims += a.victims.n;
    t->n++;
}

static void print(const char *name, struct tally *t, const char *aim)
{
    int64_t gap = 0;
    uint32_t n = t->n;
    for (uint32_t i = 0; i < n; i++)
        gap += t->gap[i];
    qsort(t->ns, n, sizeof *t->ns, by_value);
    qsort(t->steps, n, sizeof *t->steps, by_value);
    qsort(t->gap, n, sizeof *t->gap, by_value);
    printf("victims-%s: %.1f us p50, %.1f us p99, %.1f us worst (%s)\n", name,
           (double)t->ns[n / 2] / 1e3, (double)t->ns[(size_t)n * 99 / 100] / 1e3,
           (double)t->ns[n - 1] / 1e3, aim);
    printf("#   %u victims each; proven least %u of %u; gap mean %.3f %%, p99 %.3f %%, "
           "worst %.3f %%; steps p50 %d, worst %d; impossible %u\n",
           t->victims / n, t->proven, n, (double)gap / n / 1e3,
           (double)t->gap[(size_t)n * 99 / 100] / 1e3, (double)t->gap[n - 1] / 1e3,
           (int)t->steps[n / 2], (int)t->steps[n - 1], t->impossible);
}

static void run(struct bench *b, enum kind kind, uint32_t tasks, uint32_t rounds,
                const char *name, const char *aim)
{
    static struct tally t;
    t = (struct tally){0};
    for (uint32_t i = 0; i < rounds; i++)
        question(b, kind, tasks, &t);
    print(name, &t, aim);
}

static void describe(const struct bench *b)
{
    int64_t gangs = 0;
    for (uint32_t i = 0; i < b->live.n; i++)
        if (b->span[b->live.at[i]] > 1)
            gangs += (int64_t)b->span[b->live.at[i]] * 8;
    printf(
        "# %u GPUs, %u jobs run, %.1f %% occupied, %.1f %% by gangs; %u nodes free\n",
        b->nodes * 8, b->live.n, (double)b->used * 12.5 / b->nodes,
        (double)gangs * 12.5 / b->nodes, b->whole);
}

int main(int argc, char **argv)
{
    struct bench b;
    build(&b, NODES, 64);
    describe(&b);
    if (argc == 4 && !strcmp(argv[1], "work")) {
        run(&b, (enum kind)atoi(argv[3]), 128, (uint32_t)atoi(argv[2]), "work",
            "no aim");
        done(&b);
        return 0;
    }
    run(&b, ANYWHERE, 128, ROUNDS, "anywhere", "aim p99 <= 200 us");
    run(&b, ONE_BLOCK, 128, ROUNDS, "block", "aim p99 <= 200 us");
    run(&b, HALVES, 128, ROUNDS / 10, "halves", "2,048 tasks of 4 GPUs; no aim");
    done(&b);
    build(&b, 2000, 10);
    while (b.live.n > 700) /* 2,000 nodes, 700 candidates: peers took 40 s */
        end(&b, (uint32_t)rng_below(&b.rng, b.live.n));
    describe(&b);
    uint32_t tasks = b.whole + 100;
    run(&b, ANYWHERE, tasks, ROUNDS, "2000-nodes-700-victims",
        "aim < 100 ms; a peer: 40 s");
    done(&b);
    return 0;
}
