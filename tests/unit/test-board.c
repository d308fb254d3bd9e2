/* test-board.c - a board's answer is that of looking at every node anew
 *
 * Random clusters in three racks, random shapes, claims that come and go, nodes and
 * devices that fail and return, nodes that join and leave. After each step one question
 * is put to a long-lived board (of a few rows only, so that rows are dropped) and
 * answered by scoring each node of the range with memos made for this one question.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"
#include "base/vec.h"
#include "nodes.h"
#include "sched/board.h"
#include "tap.h"

enum { NODES = 130, SHAPES = 24, STEPS = 400, ROWS = 5 };

static struct arena arena;

struct world {
    struct words words;
    struct cluster *c;
    struct device_type *types[3];
    struct draft drafts[NODES];
    bool here[NODES];
    struct shape shapes[SHAPES];
    VEC(struct use) uses;
    struct mix mix;
    struct rng r;
};

/* A few kinds of empty nodes, each several times. */
static void node_join(struct world *w, uint32_t i)
{
    struct draft *f = &w->drafts[i];
    char name[32], rack[8];
    snprintf(name, sizeof name, "n%03u", i);
    uint32_t n = (uint32_t)rng_below(&w->r, 9);
    draft_init(f, name, w->types[rng_below(&w->r, 2)], n);
    if (n > 1 && rng_below(&w->r, 8) == 0)
        f->dev[0].type = w->types[2]; /* two types on one node */
    f->d.cpu_milli = rng_between(&w->r, 1, 4) * 16000;
    f->d.mem_bytes = rng_between(&w->r, 1, 2) << 36;
    f->d.pod_slots = (uint32_t)rng_below(&w->r, 2) * 6;
    snprintf(rack, sizeof rack, "r%u", i % 3);
    draft_place(f, &w->words, "rack", rack);
    cluster_node_set(w->c, &f->d);
    w->here[i] = true;
}

static void shape_draw(struct world *w, struct shape *s)
{
    static const uint32_t millis[] = {100, 230, 320, 470, 500, 650, 810};
    memset(s, 0, sizeof *s);
    s->cpu_milli = rng_between(&w->r, 0, 12) * 1000;
    s->mem_bytes = rng_between(&w->r, 0, 24) << 30;
    s->pod_slots = 1;
    switch (rng_below(&w->r, 5)) {
    case 0: break;
    case 1:
        s->gpu_mode = GPU_WHOLE;
        s->gpu_count = 1u << rng_below(&w->r, 4);
        s->gpu_milli = 1000;
        break;
    default:
        s->gpu_mode = GPU_SHARE;
        s->gpu_count = rng_below(&w->r, 10) ? 1 : 2;
        s->gpu_milli = millis[rng_below(&w->r, 7)];
        s->gpu_mem_bytes = rng_below(&w->r, 4) ? 0 : INT64_C(20) << 30;
    }
    if (s->gpu_mode && rng_below(&w->r, 3) == 0) {
        s->ntypes = 1;
        s->types[0].type = w->types[rng_below(&w->r, 3)]->name;
    }
}

static void world_make(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    rng_init(&w->r, seed, 1);
    w->c = cluster_create(&w->words);
    word_t rack = words_add(&w->words, STR("rack"));
    cluster_set_levels(w->c, &rack, 1);
    w->types[0] = catalogue_type(&w->words, &arena, STR("T4"));
    w->types[1] = catalogue_type(&w->words, &arena, STR("A100"));
    w->types[2] = catalogue_type(&w->words, &arena, STR("V100"));
    for (uint32_t i = 0; i < NODES * 2 / 3; i++)
        node_join(w, i);
    for (uint32_t i = 0; i < SHAPES; i++) {
        shape_draw(w, &w->shapes[i]);
        mix_add(&w->mix, &w->shapes[i], 1 + rng_below(&w->r, 50));
    }
    mix_settle(&w->mix, &w->words, MIX_COVER_PERMILLE);
}

static void world_done(struct world *w)
{
    mix_done(&w->mix);
    vec_done(&w->uses);
    cluster_destroy(w->c);
    words_done(&w->words);
}

static void claim_drop(struct world *w, uint32_t i)
{
    cluster_give(w->c, &w->uses.at[i]);
    w->uses.at[i] = w->uses.at[--w->uses.n];
}

static void node_leave(struct world *w, uint32_t i)
{
    uint32_t node = cluster_find(w->c, w->drafts[i].d.name);
    for (uint32_t k = w->uses.n; k--;)
        if (w->uses.at[k].node == node)
            claim_drop(w, k);
    cluster_node_gone(w->c, node);
    w->here[i] = false;
}

/* Something happens to the cluster besides placements. */
static void world_change(struct world *w)
{
    uint32_t i = (uint32_t)rng_below(&w->r, NODES), node;
    uint64_t what = rng_below(&w->r, 20);
    if (!w->here[i]) {
        if (what < 4)
            node_join(w, i);
        return;
    }
    node = cluster_find(w->c, w->drafts[i].d.name);
    if (what == 0) {
        uint32_t k = (uint32_t)rng_below(&w->r, NODES);
        node_leave(w, i);
        if (!w->here[k])
            node_join(w, k); /* as many ranks as before, but others */
    } else if (what < 3)
        cluster_node_state(w->c, node, (uint8_t)(what == 1 ? NODE_DOWN : NODE_UP));
    else if (what < 5)
        cluster_node_cordon(w->c, node, what == 3);
    else if (what < 8 && w->c->nodes[node].ndevices)
        cluster_device_state(w->c, node, 0,
                             (uint8_t)(what == 5 ? DEVICE_BAD : DEVICE_OK));
    else if (what == 8 || what > 16) {
        int64_t *cpu =
            &w->drafts[i].d.cpu_milli; /* described anew, in the same place */
        if (w->c->nodes[node].nuses)
            *cpu += 1000;
        else
            *cpu = rng_between(&w->r, 1, 4) * 8000;
        cluster_node_set(w->c, &w->drafts[i].d);
    } else if (what < 14 && w->uses.n)
        claim_drop(w, (uint32_t)rng_below(&w->r, w->uses.n));
}

static bool eligible(void *arg, uint32_t node)
{
    return (node * 2654435761u >> 7) % 4 != *(uint32_t *)arg;
}

struct question {
    uint32_t shape, lo, hi, refuse;
    uint64_t serial;
};

/* Every node of the range, with nothing remembered. */
static bool brute(struct world *w, const struct scorer *scorer,
                  const struct question *q, struct choice *ret)
{
    struct scoring sc;
    bool found = false;
    scoring_init(&sc, w->c, scorer, &w->mix, 7);
    scoring_era(&sc);
    const struct shape *s = &w->shapes[q->shape];
    uint64_t types = score_types(w->c, s);
    for (uint32_t rank = q->lo; rank < q->hi && rank < w->c->nranks; rank++) {
        struct choice at = {.node = w->c->order[rank]};
        if (q->refuse < 4 && !eligible((void *)&q->refuse, at.node))
            continue;
        at.score = score_node(&sc, at.node, s, types, q->serial, &at.use);
        if (at.score != SCORE_NONE && (!found || at.score > ret->score)) {
            *ret = at;
            found = true;
        }
    }
    scoring_done(&sc);
    return found;
}

static bool use_same(const struct use *a, const struct use *b)
{
    return a->node == b->node && a->devs == b->devs && a->mode == b->mode &&
           a->gpu_milli == b->gpu_milli && a->cpu_milli == b->cpu_milli &&
           a->mem_bytes == b->mem_bytes && a->gpu_mem_bytes == b->gpu_mem_bytes &&
           a->slots == b->slots && a->slices == b->slices;
}

/* Returns the questions that had an answer; UINT32_MAX: a wrong one. */
static uint32_t play(const struct scorer *scorer, uint64_t seed)
{
    struct world *w = mem_zero(sizeof *w);
    struct scoring sc;
    uint32_t answered = 0;
    world_make(w, seed);
    scoring_init(&sc, w->c, scorer, &w->mix, 7);
    struct board *b = board_create(&sc, ROWS);
    for (uint32_t step = 0; step < STEPS; step++) {
        world_change(w);
        cluster_settle(w->c);
        if (rng_below(&w->r, 60) == 0)
            board_reset(b);
        if (scorer->mix && rng_below(&w->r, 80) == 0) {
            mix_add(&w->mix, &w->shapes[rng_below(&w->r, SHAPES)], 20);
            mix_settle(&w->mix, &w->words, MIX_COVER_PERMILLE);
        }
        struct question q = {(uint32_t)rng_below(&w->r, SHAPES), 0, w->c->nranks,
                             (uint32_t)rng_below(&w->r, 8), step};
        if (rng_below(&w->r, 3) == 0)
            shape_draw(w, &w->shapes[q.shape]); /* the number comes back as another */
        if (rng_below(&w->r, 2)) {
            q.lo = (uint32_t)rng_below(&w->r, NODES);
            q.hi = (uint32_t)rng_below(&w->r, NODES + 5);
        }
        struct choice want = {0}, got = {0};
        bool fits = brute(w, scorer, &q, &want);
        bool found = board_best(b, q.shape, &w->shapes[q.shape], q.serial, q.lo, q.hi,
                                q.refuse < 4 ? eligible : NULL, &q.refuse, &got);
        if (fits != found ||
            (fits && (want.node != got.node || want.score != got.score ||
                      !use_same(&want.use, &got.use)))) {
            diag("%s, seed %" PRIu64 ", step %u", scorer->name, seed, step);
            answered = UINT32_MAX;
            break;
        }
        answered += found;
        if (found) {
            cluster_take(w->c, &got.use);
            vec_push(&w->uses, got.use);
            if (w->c->nodes[got.node].overcommitted)
                bail("%s overcommits", scorer->name);
        }
    }
    board_destroy(b);
    scoring_done(&sc);
    world_done(w);
    free(w);
    return answered;
}

/* A board must not ask every node again for each question. */
static void test_cost(void)
{
    struct world *w = mem_zero(sizeof *w);
    struct scoring sc;
    struct choice got;
    world_make(w, 3);
    cluster_settle(w->c);
    struct shape s = {.cpu_milli = 1, .pod_slots = 0};
    scoring_init(&sc, w->c, scorer_find(STR("bestfit")), &w->mix, 0);
    struct board *b = board_create(&sc, 0);
    for (uint32_t i = 0; i < 50; i++)
        if (board_best(b, 0, &s, i, 0, w->c->nranks, NULL, NULL, &got))
            cluster_take(w->c, &got.use);
    cmp_ok(board_asked(b), <=, w->c->nranks + 49,
           "50 placements: all nodes once, 49 again");
    cmp_ok(board_asked(b), >=, 49 + 8, "... or one of each kind, and those");
    ok(!board_best(b, 0, &s, 0, 5, 5, NULL, NULL, &got),
       "an empty range has no answer");
    board_destroy(b);
    scoring_done(&sc);
    world_done(w);
    free(w);
}

int main(void)
{
    for (uint32_t i = 0; scorer_at(i); i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            uint32_t n = play(scorer_at(i), seed);
            ok(n != UINT32_MAX && n > STEPS / 4,
               "%s, seed %" PRIu64 ": as by looking at every node (%u answers)",
               scorer_at(i)->name, seed, n);
        }
    test_cost();
    arena_done(&arena);
    return done_testing();
}
