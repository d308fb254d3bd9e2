/* test-rights.c - rights, plans and the promise that reclaim ends
 * Known cases from other schedulers' trackers, played to their end; random episodes in
 * which every decision is held against the text of the rule; the rule broken on
 * purpose, which must be noticed; and all games of a few jobs. `--long` plays the large
 * sample. SPDX-License-Identifier: Apache-2.0 */
#include "reclaim-game.h"
#include "reclaim-tiny.h"
#include "tap.h"

#define NO ENTITLE_ABSENT

static struct game g; /* one at a time */

static void game_of(int64_t capacity, uint32_t nqueues)
{
    game_done(&g);
    g = (struct game){.nqueues = nqueues + 1,
                      .nresources = 1,
                      .minimal = true,
                      .budget = UINT32_MAX};
    g.capacity[0] = capacity;
    for (uint32_t q = 0; q <= nqueues; q++)
        g.queues[q] = (struct game_queue){0, 1, NO, NO, NO, NO};
}

static uint32_t job(uint32_t queue, int64_t size)
{
    return game_arrive(&g, (struct game_job){.queue = queue, .size = {size}});
}

static uint32_t elastic(uint32_t queue, int32_t priority, int64_t core, uint32_t steps,
                        int64_t step)
{
    return game_arrive(&g, (struct game_job){.queue = queue,
                                             .priority = priority,
                                             .size = {core},
                                             .steps = steps,
                                             .step = {step}});
}

/* The next border decides nothing, nor the one after time has passed. */
static void is_still(const char *what)
{
    unsigned n = game_border(&g);
    for (int i = 0; i < 40; i++) {
        game_tick(&g);
        n += game_border(&g);
    }
    is_int(n, 0, "%s: no later border decides anything", what);
    ok(g.faults == 0, "%s: every decision by the text (%s)", what, g.fault);
}

/* --- cases; each is played by the order of the rule and in random orders --- */

static void recreated_best_effort(uint64_t seed)
{
    for (uint32_t weight = 0; weight < 2; weight++) {
        game_of(300, 3);
        g.random_order = seed > 0;
        g.ghost = 3;
        g.queues[1].g = g.queues[2].g = 150;
        g.queues[3].weight = weight;
        game_begin(&g, seed);
        uint32_t a1 = job(1, 250), be1 = job(3, 50);
        game_border(&g);
        ok(game_runs(&g, a1) && game_runs(&g, be1), "both run before A2 comes");
        uint32_t a2 = job(1, 50);
        game_border(&g);
        is_int(g.evicted, weight ? 0 : 1, "best effort of weight %u is evicted",
               weight);
        ok(game_runs(&g, a2) == !weight && game_runs(&g, be1) == (weight == 1), "A2 %s",
           weight ? "waits" : "runs");
        is_still("best effort is recreated");
        ok(game_runs(&g, a2) == !weight, "... and that stays");
    }
}

static void half_of_eight_slots(uint64_t seed)
{
    game_of(8, 2);
    g.random_order = seed > 0;
    game_begin(&g, seed);
    for (int i = 0; i < 4; i++)
        job(1, 2);
    game_border(&g);
    uint32_t four = 0;
    for (int64_t size = 6; size >= 3; size--) {
        uint32_t id = job(2, size);
        four = size == 4 ? id : four;
        game_border(&g);
    }
    ok(game_runs(&g, four) && game_use(&g, 1) == 4 && game_use(&g, 2) == 4,
       "8 slots end 4 to 4, the gang of 4 runs");
    is_int(g.evicted, 2, "two gangs gave way");
    is_still("8 slots");
}

static void never_fits(uint64_t seed)
{
    game_of(3, 2);
    g.random_order = seed > 0;
    g.queues[1].g = 3;
    g.queues[2].g = 0;
    game_begin(&g, seed);
    uint32_t w1 = job(2, 1);
    game_border(&g);
    uint32_t w4 = job(1, 4), w3 = job(1, 3);
    game_border(&g);
    ok(game_runs(&g, w3) && !game_runs(&g, w4) && !game_runs(&g, w1),
       "what never fits keeps nobody out");
    is_int(g.evicted, 1, "w1 gives way once");
    is_still("what never fits");
}

static void held_for_the_taker(uint64_t seed)
{
    game_of(8, 2);
    g.random_order = seed > 0;
    g.slow = 3;
    g.queues[1].g = 3;
    g.queues[2].g = 5;
    game_begin(&g, seed);
    uint32_t pod1 = job(1, 4);
    job(2, 1);
    game_border(&g);
    uint32_t four = job(2, 4);
    game_border(&g);
    ok(game_runs(&g, four) && !game_runs(&g, pod1), "freed room is held for the taker");
    is_int(g.evicted, 1, "pod1 gives way once");
    is_still("freed room");
}

static void two_elastic_gangs(uint64_t seed)
{
    for (int later = 0; later < 2; later++) {
        game_of(11, 2);
        g.random_order = seed > 0;
        for (uint32_t q = 1; q < 3; q++) {
            g.queues[q].g = 5;
            g.queues[q].max = 10;
        }
        game_begin(&g, seed);
        elastic(1, 0, 4, 3, 2);
        if (later) {
            game_border(&g);
            game_tick(&g);
        }
        elastic(2, 0, 4, 3, 2);
        game_border(&g);
        is_int(g.evicted, later ? 3 : 0, "pods evicted, the second %s",
               later ? "later" : "at once");
        ok(g.e.e[1] == 5 && g.e.e[2] == 6, "E 5 | 6");
        ok(game_use(&g, 1) == 4 && game_use(&g, 2) == 6, "4 and 6 of 11 in use");
        is_still("two elastic gangs");
    }
}

static void return_of_what_is_deserved(uint64_t seed)
{
    game_of(32, 3);
    g.random_order = seed > 0;
    g.queues[1].g = 16;
    g.queues[2].g = g.queues[3].g = 8;
    game_begin(&g, seed);
    for (int i = 0; i < 8; i++)
        job(1, 1);
    for (int i = 0; i < 12; i++) {
        job(2, 1);
        job(3, 1);
    }
    game_border(&g);
    is_int(game_use(&g, 2) + game_use(&g, 3), 24, "two queues borrow what one leaves");
    for (int i = 0; i < 8; i++)
        job(1, 1);
    game_border(&g);
    ok(game_use(&g, 1) == 16 && game_use(&g, 2) == 8 && game_use(&g, 3) == 8,
       "each has what it deserves");
    is_int(g.evicted, 8, "... by four evictions from each");
    is_still("what is deserved");
}

static void all_of_it_is_reclaimed(uint64_t seed)
{
    static const struct {
        int64_t capacity, g;
        int low, high;
        int64_t size;
        uint32_t evicted;
    } cases[] = {{4, 4, 4, 1, 4, 4}, {30, 10, 60, 10, 1, 10}};
    for (int k = 0; k < 2; k++) {
        game_of(cases[k].capacity, 2);
        g.random_order = seed > 0;
        g.queues[1].g = cases[k].g;
        game_begin(&g, seed);
        for (int i = 0; i < cases[k].low; i++)
            job(2, 1);
        game_border(&g);
        is_int(game_use(&g, 2), cases[k].capacity, "the other queue has everything");
        for (int i = 0; i < cases[k].high; i++)
            job(1, cases[k].size);
        game_border(&g);
        is_int(game_use(&g, 1), cases[k].g, "a guarantee is reclaimed whole");
        is_int(g.evicted, cases[k].evicted, "... by as many evictions as that takes");
        is_still("a guarantee");
    }
}

static void one_step_is_enough(uint64_t seed)
{
    for (int64_t cores = 6; cores <= 11; cores += 5) {
        game_of(cores, 1);
        g.random_order = seed > 0;
        game_begin(&g, seed);
        uint32_t gang = elastic(1, 10, 1, (uint32_t)cores - 1, 1);
        game_border(&g);
        is_int(game_use(&g, 1), cores, "an elastic gang has everything");
        uint32_t high = elastic(1, 100, 1, 0, 0);
        game_border(&g);
        ok(game_runs(&g, high) && game_runs(&g, gang), "the urgent pod runs beside it");
        is_int(g.evicted, 1, "one pod of %d gives way", (int)cores);
        is_still("one step");
    }
}

static void no_half_preemption(uint64_t seed)
{
    game_of(60, 1);
    g.random_order = seed > 0;
    game_begin(&g, seed);
    elastic(1, 0, 1, 59, 1);
    game_border(&g);
    job(1, 60);
    elastic(1, 0, 1, 59, 1);
    game_border(&g);
    is_int(g.evicted, 0, "equals of the same queue take nothing from each other");
    is_int(game_use(&g, 1), 60, "... and nothing is left idle");
    is_still("no half preemption");
}

static void whole_node_of_equal_singles(uint64_t seed)
{
    game_of(16, 2);
    g.random_order = seed > 0;
    g.renames = true;
    g.nnodes = 4;
    g.node_size = 4;
    g.queues[1].g = 4;
    g.queues[2].g = 12;
    game_begin(&g, seed);
    struct game_job single = {.queue = 2, .size = {1}, .pods = 1, .width = 1};
    struct game_job whole = {.queue = 1, .size = {4}, .pods = 1, .width = 4};
    for (int i = 0; i < 16; i++)
        game_arrive(&g, single);
    game_border(&g);
    is_int(game_use(&g, 2), 16, "16 equal singles on 4 nodes");
    uint32_t gang = game_arrive(&g, whole), nodes = 0;
    game_border(&g);
    ok(game_runs(&g, gang), "a whole-node gang starts against 16 equal singles");
    is_int(g.evicted, 4, "... by four evictions");
    for (uint32_t k = 0; k < g.nnodes; k++)
        nodes += g.at[gang].seats[k] == 1 && g.node_free[k] == 0;
    is_int(nodes, 1, "... on one node");
    is_still("whole node");
}

static void cases(void)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        recreated_best_effort(seed);
        half_of_eight_slots(seed);
        never_fits(seed);
        held_for_the_taker(seed);
        two_elastic_gangs(seed);
        return_of_what_is_deserved(seed);
        all_of_it_is_reclaimed(seed);
        one_step_is_enough(seed);
        no_half_preemption(seed);
        whole_node_of_equal_singles(seed);
    }
}

/* Which of its units a leaf with this entitlement owes room: by letters. */
static const char *owed_of(int64_t e, const char *letters, const uint32_t *ids,
                           char *ret)
{
    char *to = ret;
    g.capacity[0] = e;
    entitle_capacity(&g.e, &e);
    g.stale[1] = true;
    game_compute(&g);
    for (; *letters; letters++, ids++)
        if (g.units[*ids].marks & RIGHTS_K1)
            *to++ = *letters;
    *to = 0;
    return ret;
}

/* A due core that E could hold alone stops those behind it, own units not. */
static void due_and_turn(void)
{
    uint32_t ids[5];
    char got[8];
    game_of(20, 1);
    game_begin(&g, 1);
    ids[0] = elastic(1, 2, 2, 0, 0);  /* a: high */
    ids[1] = job(1, 7);               /* b */
    ids[2] = job(1, 2);               /* c */
    ids[3] = job(1, 2);               /* d: own */
    ids[4] = elastic(1, -1, 4, 0, 0); /* e: low */
    game_place(&g, ids[3]);
    is_str(owed_of(20, "abcde", ids, got), "abcde", "room for all");
    is_str(owed_of(8, "abcde", ids, got), "acd", "what is too big is passed over");
    g.units[ids[1]].marks |= RIGHTS_DUE;
    is_str(owed_of(8, "abcde", ids, got), "ad", "a due core lets none of the rest by");
    is_str(owed_of(6, "abcde", ids, got), "acd",
           "... unless E could not hold it alone");
    int64_t six = 6, seven = 7, eight = 8;
    ok(!rights_leaf_stands(&g.r, 1, &seven) && rights_leaf_stands(&g.r, 1, &six),
       "... which is known to change at 7");
    is_str(owed_of(8, "abcde", ids, got), "ad", "at 8 it waits for a");
    ok(rights_leaf_stands(&g.r, 1, &eight) && !rights_leaf_stands(&g.r, 1, &six),
       "... which is known to change at 6");
    g.r.turn = ids[1];
    is_str(owed_of(9, "abcde", ids, got), "ab", "a turn goes before own units");
    is_str(owed_of(8, "abcde", ids, got), "acd", "... not before a higher priority");
}

static enum rights_verdict judged(uint32_t unit, const uint32_t *victims, uint32_t n,
                                  struct rights_renaming rename)
{
    struct rights_use use = {0};
    struct rights_plan plan = {.unit = unit,
                               .victims = victims,
                               .nvictims = n,
                               .renamings = &rename,
                               .nrenamings = rename.own != rename.lent,
                               .within_any = g.within_any};
    rights_use_setup(&use, g.nqueues, 1);
    rights_use_count(&use, &g.e, &g.pool, g.list.ids, g.list.n, RIGHTS_RUNNING);
    enum rights_verdict v = rights_judge(&g.pool, &g.e, &use, &plan, NULL);
    rights_use_done(&use);
    return v;
}

#define JUDGED(unit, rename, ...)                                      \
    judged(unit, (const uint32_t[]){__VA_ARGS__},                      \
           sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), \
           (struct rights_renaming)rename)
#define AS_THEY_ARE \
    {               \
        0           \
    }
#define RENAME(a, b) \
    {                \
        a, b         \
    }

/* Queues are owed 4, 2 and 2. v and y are own, x, p, m and the gang k are lent; y and p
 * have a step that waits. */
static void verdicts(void)
{
    game_of(14, 3);
    g.queues[1].g = 4;
    g.queues[2].g = g.queues[3].g = 2;
    for (uint32_t q = 1; q <= 3; q++)
        g.queues[q].weight = 0;
    game_begin(&g, 1);
    uint32_t v = job(2, 2), x = job(2, 2), p = elastic(2, 0, 2, 1, 1);
    uint32_t y = elastic(3, 0, 2, 1, 1), m = job(3, 2), k = elastic(3, 0, 1, 1, 1);
    uint32_t s = k + 1, b = job(1, 4), o = job(1, 1), l = elastic(1, -1, 1, 0, 0);
    const uint32_t start[] = {v, x, p, y, m, k, s};
    for (int i = 0; i < 7; i++)
        ok(game_place(&g, start[i]), "%u runs", start[i]);
    game_compute(&g);
    is_int(JUDGED(b, AS_THEY_ARE, x, k, s), RIGHTS_LEGAL, "from others, what is lent");
    is_int(JUDGED(b, AS_THEY_ARE, x, k, s, m), RIGHTS_LEGAL, "overshoot is free");
    is_int(JUDGED(b, AS_THEY_ARE, x, k), RIGHTS_VICTIM_HALF, "half a gang");
    is_int(JUDGED(b, AS_THEY_ARE, x, s), RIGHTS_LEGAL, "a step alone");
    is_int(JUDGED(b, AS_THEY_ARE, x, y), RIGHTS_VICTIM_OWED, "an own unit");
    is_int(JUDGED(b, AS_THEY_ARE, x, x), RIGHTS_VICTIM_IDLE, "the same one twice");
    is_int(JUDGED(b, AS_THEY_ARE, x, o), RIGHTS_VICTIM_IDLE, "one that does not run");
    is_int(JUDGED(x, AS_THEY_ARE, k, s), RIGHTS_NOT_OWED, "for one that runs");
    is_int(JUDGED(o, AS_THEY_ARE, k, s), RIGHTS_NOT_OWED, "for one without a right");
    is_int(JUDGED(b, RENAME(v, x), v, k, s), RIGHTS_LEGAL, "v for x, its equal");
    is_int(JUDGED(b, RENAME(v, x), v, x), RIGHTS_RENAMED_UNEQUAL, "x goes as well");
    is_int(JUDGED(b, RENAME(y, x), y, k, s), RIGHTS_RENAMED_UNEQUAL, "other queues");
    is_int(JUDGED(b, RENAME(y, m), y, k, s), RIGHTS_RENAMED_UNEQUAL, "y has a step");
    is_int(JUDGED(b, RENAME(v, p), v, k, s), RIGHTS_RENAMED_UNEQUAL, "p has a step");
    is_int(JUDGED(b, RENAME(v, k), v, s), RIGHTS_RENAMED_UNEQUAL, "other sizes");
    ok(game_place(&g, o) && game_place(&g, l), "its queue borrows, too");
    is_int(JUDGED(b, AS_THEY_ARE, x, k, s), RIGHTS_OVER_ENTITLED, "5 and more of 4");
    is_int(JUDGED(b, AS_THEY_ARE, x, k, s, o, l), RIGHTS_VICTIM_NOT_LOWER,
           "an equal of its own queue");
    g.within_any = true;
    is_int(JUDGED(b, AS_THEY_ARE, x, k, s, o, l), RIGHTS_LEGAL, "... if any will do");
    is_int(JUDGED(b, AS_THEY_ARE, x, k, s, l), RIGHTS_OVER_ENTITLED, "... but both");
    is_int(JUDGED(b, AS_THEY_ARE, o, l), RIGHTS_OVER_ROOT, "no room at the root");
    g.units[b].marks |= RIGHTS_GHOST;
    is_int(JUDGED(b, AS_THEY_ARE, x, k, s), RIGHTS_NOT_OWED, "a ghost cannot start");
}

/* Of two equals the own one goes and the lent one stays: nobody else notices, though
 * the place in line of the lent one is due and stops who is behind it. */
static void renaming(void)
{
    game_of(9, 1);
    g.renames = true;
    game_begin(&g, 1);
    uint32_t own = job(1, 2), lent = job(1, 2), behind = job(1, 1);
    char got[8];
    const uint32_t ids[] = {own, lent, behind};
    game_place(&g, own);
    game_place(&g, lent);
    g.units[lent].marks |= RIGHTS_DUE;
    is_str(owed_of(3, "vxw", ids, got), "v", "the first of two equals is owed room");
    rights_rename(&g.r, &g.pool, g.lists[1], g.list,
                  (struct rights_renaming){own, lent});
    is_str(owed_of(3, "vxw", ids, got), "x", "they change names");
    rights_stopped(&g.pool, own);
    is_str(owed_of(3, "vxw", ids, got), "x", "... and one of them goes");
    ok(g.faults == 0 && g.lists[1].ids[0] == lent, "... from the place behind");
}

/* Orders of starts, and the share that goes into them. */
static void orders(void)
{
    /* each goes before all that follow */
    static const struct rights_start owed[] = {
        {.within = true, .priority = 1, .share = 9, .submitted = 9},
        {.within = true, .priority = 0, .share = 0, .submitted = 0},
        {.priority = 5, .share = 9, .submitted = 9},
        {.priority = 4, .share = 1, .submitted = 9},
        {.priority = 4, .share = 2, .submitted = 3},
        {.priority = 4, .share = 2, .submitted = 4, .rank = 1},
        {.priority = 4, .share = 2, .submitted = 4, .rank = 2},
        {.priority = 4, .share = UINT64_MAX, .submitted = 0},
    };
    enum { N = sizeof owed / sizeof *owed };
    unsigned bad = 0;
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++)
            bad += rights_owed_before(&owed[a], &owed[b]) != (a < b);
    is_int(bad, 0, "owed: guarantee, priority, lowest share, submitted, name");
    struct rights_start victim = {.victim = true, .priority = -1},
                        high = {.priority = 9};
    ok(rights_lent_before(&victim, &high) && !rights_lent_before(&high, &victim),
       "lent: whose beneficiary died goes first");
    const uint64_t usage[] = {30, 5, 7};
    const int64_t capacity[] = {100, 10, 0};
    is_uint(rights_share(3, usage, capacity, 1), UINT64_C(1) << 29,
            "a share is that of the scarcest resource");
    is_uint(rights_share(3, usage, capacity, 4), UINT64_C(1) << 27,
            "... over the weight");
    is_uint(rights_share(3, usage, capacity, 0), UINT64_MAX, "weight 0 goes last");
}

/* --- random episodes --- */

struct tally {
    unsigned episodes, events, faults, loud; /* loud: a later border still decided */
    unsigned over_bound, reclaims_over, guarantee_broken, guarantees;
    unsigned starts, lent, evicted, reclaims, stood;
    double ratio; /* most decisions after one event, over |U| */
    char fault[200];
};

static int64_t some_of(struct rng *r, int64_t most, unsigned none)
{
    return rng_below(r, none) == 0 ? NO : rng_between(r, 0, most);
}

static void random_queues(struct rng *r, bool keep_tree)
{
    int64_t most = g.capacity[0];
    bool flat = rng_below(r, 2);
    for (uint32_t q = 0; q < g.nqueues; q++)
        g.queues[q] =
            (struct game_queue){.parent = keep_tree    ? g.queues[q].parent
                                          : q && !flat ? (uint32_t)rng_below(r, q)
                                                       : 0,
                                .weight = (uint32_t)rng_below(r, 4),
                                .g = some_of(r, flat ? most / 2 : most, 4),
                                .max = some_of(r, 2 * most, 2),
                                .borrow = some_of(r, most, 2),
                                .lend = some_of(r, most, 2)};
    g.queues[0].g = g.queues[0].max = g.queues[0].borrow = g.queues[0].lend = NO;
}

enum { STRICT = 1 }; /* nothing but the rule: no timers that refuse */

static void random_game(struct rng *r, uint64_t seed, enum game_break broken, int flags)
{
    int64_t capacity = rng_between(r, 3, 20);
    bool strict = flags & STRICT;
    game_of(capacity, (uint32_t)rng_between(r, 2, 6));
    g.nresources = (uint32_t)rng_between(r, 1, GAME_RESOURCES);
    for (uint32_t k = 0; k < g.nresources; k++)
        g.capacity[k] = capacity;
    random_queues(r, false);
    g.within_any = rng_below(r, 2);
    g.across = broken == GAME_EQUAL_ACROSS || rng_below(r, 2);
    g.random_order = rng_below(r, 4);
    g.minimal = rng_below(r, 4);
    g.renames = rng_below(r, 2);
    g.slow = broken == GAME_NOT_HELD ? 4 : strict || rng_below(r, 2) ? 0 : 4;
    g.ghost = broken == GAME_GHOST_FORGOTTEN ? 4 : strict || rng_below(r, 2) ? 0 : 4;
    g.protect = strict || rng_below(r, 2) ? 0 : 6;
    g.budget = strict || rng_below(r, 2) ? UINT32_MAX : (uint32_t)rng_between(r, 1, 3);
    g.broken = broken;
    game_begin(&g, seed);
}

static uint32_t random_core(struct rng *r)
{
    uint32_t id = (uint32_t)rng_below(r, g.nunits);
    return g.units[id].core == RIGHTS_NONE ? id : g.units[id].core;
}

static void random_arrival(struct rng *r)
{
    struct game_job j = {.priority = (int32_t)rng_below(r, 3)};
    int64_t most = g.capacity[0] < 8 ? g.capacity[0] : 8;
    do
        j.queue = (uint32_t)rng_below(r, g.nqueues);
    while (!entitle_is_leaf(&g.e, j.queue));
    /* one resource or both; a unit that accepts either type is charged to one */
    uint32_t kind = (uint32_t)rng_below(r, 3);
    for (uint32_t k = 0; k < g.nresources; k++)
        if (kind == 2 || kind % g.nresources == k) {
            j.size[k] = rng_between(r, 1, most);
            j.step[k] = rng_between(r, 1, 2);
        }
    if (rng_below(r, 3) == 0)
        j.steps = (uint32_t)rng_between(r, 1, 4);
    game_arrive(&g, j);
}

static void random_event(struct rng *r)
{
    unsigned live = 0;
    for (uint32_t id = 0; id < g.nunits; id++)
        live += g.at[id].live && g.units[id].core == RIGHTS_NONE;
    uint32_t kind = (uint32_t)rng_below(r, 18), id;
    if (live == 0 || (kind < 7 && live < 14)) {
        random_arrival(r);
        return;
    }
    do
        id = random_core(r);
    while (!g.at[id].live);
    switch (kind) {
    case 7: game_refuse(&g, id); break;
    case 15: game_set_priority(&g, id, (int32_t)rng_below(r, 3)); break;
    case 9: game_capacity(&g, rng_between(r, 2, 20)); break;
    case 10:
        random_queues(r, true);
        game_reshape(&g);
        break;
    case 8:
    case 11:
    case 12: game_due(&g, id); break;
    case 13: game_turn(&g); break;
    case 14: game_turn_over(&g); break;
    default: game_leave(&g, id);
    }
}

/* Flat queues whose guarantees fit: one whose demand is within its own has all it
 * wants. */
static void check_guarantee(struct tally *t)
{
    int64_t sum = 0;
    for (uint32_t q = 1; q < g.nqueues; q++) {
        int64_t own = g.queues[q].g == NO ? 0 : g.queues[q].g;
        sum += own;
        if (g.queues[q].parent != 0 || g.queues[q].max < own)
            return;
    }
    if (sum > g.capacity[0] || g.r.turn != RIGHTS_NONE)
        return;
    for (uint32_t q = 1; q < g.nqueues; q++) {
        bool within = g.lists[q].n > 0, all = true;
        for (uint32_t k = 0; k < g.nresources; k++) {
            int64_t own = g.queues[q].g == NO ? 0 : g.queues[q].g;
            within = within && (int64_t)g.e.wanted[q * g.nresources + k] <= own;
        }
        for (uint32_t i = 0; i < g.lists[q].n; i++)
            all = all && game_runs(&g, g.lists[q].ids[i]);
        t->guarantees += within;
        t->guarantee_broken += within && !all;
    }
}

static void tally_fault(struct tally *t, uint64_t seed)
{
    if (t->faults++ == 0)
        snprintf(t->fault, sizeof t->fault, "seed %u: %.150s", (unsigned)seed, g.fault);
}

/* All borders after one outside event, until nothing moves. */
static void settle(struct tally *t, bool strict)
{
    uint32_t running = 0, reclaims = g.reclaims, starts = g.starts, evicted = g.evicted;
    game_compute_checked(&g);
    struct rights_phi phi = game_phi(&g);
    uint64_t k2 = g.r.k2.n, units = g.list.n;
    for (uint32_t i = 0; i < g.list.n; i++)
        running += game_runs(&g, g.list.ids[i]);
    unsigned n = game_border(&g), later = 0;
    if (strict && !g.renames && !g.across &&
        (g.starts - starts > units || g.evicted - evicted > running))
        t->over_bound++;
    if (strict && !g.faults)
        check_guarantee(t);
    if (strict)
        t->loud += (later = game_border(&g)) != 0;
    for (int still = 0; !strict && still < 24 && !g.faults;) {
        game_tick(&g);
        unsigned more = game_border(&g);
        still = more ? 0 : still + 1;
        later += more;
        if (later > 100000)
            game_fault(&g, "no rest", 0);
    }
    n += later;
    if (n > (phi.k1 + 1) * (k2 + 1) * (units + 1))
        t->over_bound++;
    if (!g.across && g.reclaims - reclaims > phi.k1)
        t->reclaims_over++;
    if (units && (double)n / (double)units > t->ratio)
        t->ratio = (double)n / (double)units;
}

static void episode(struct tally *t, uint64_t seed, enum game_break broken, int flags)
{
    struct rng r;
    rng_init(&r, seed, 11);
    random_game(&r, seed, broken, flags);
    unsigned events = 0;
    for (; events < 40 && !g.faults; events++) {
        for (uint64_t k = 1 + rng_below(&r, 3); k > 0; k--)
            random_event(&r);
        settle(t, flags & STRICT);
    }
    t->episodes++;
    t->events += events;
    t->starts += g.starts;
    t->lent += g.lent_starts;
    t->evicted += g.evicted;
    t->reclaims += g.reclaims;
    t->stood += g.stood;
    if (g.faults)
        tally_fault(t, seed);
}

static void random_episodes(unsigned n)
{
    static const char *const names[] = {"timers, endings, ghosts, budgets", "strict"};
    for (int flags = 0; flags < 2; flags++) {
        struct tally t = {0};
        for (unsigned i = 0; i < n; i++)
            episode(&t, 1 + i, GAME_SOUND, flags);
        ok(t.faults == 0, "%s: %u events, no decision against the text (%u: %s)",
           names[flags], t.events, t.faults, t.fault);
        is_int(t.loud, 0, "%s: the next border decides nothing", names[flags]);
        is_int(t.over_bound, 0, "%s: decisions within the bound", names[flags]);
        is_int(t.reclaims_over, 0, "%s: reclaims within |K1 \\ R|", names[flags]);
        is_int(t.guarantee_broken, 0, "%s: what is guaranteed runs", names[flags]);
        cmp_ok(t.reclaims, >, n, "%s: reclaims enough to be a test", names[flags]);
        cmp_ok(t.stood, >, n, "%s: K1 stood under another E often enough",
               names[flags]);
        diag("%s: %u starts (%u lent), %u reclaims, %u evicted, %u guarantees; at most "
             "%.2f |U| decisions after an event",
             names[flags], t.starts, t.lent, t.reclaims, t.evicted, t.guarantees,
             t.ratio);
    }
}

/* The rule broken on purpose: the checker must say so, and soon. */
static void broken_rules(unsigned n)
{
    static const struct {
        enum game_break broken;
        const char *what;
    } rules[] = {
        {GAME_RUNNING_FIRST, "running instead of own units first in line"},
        {GAME_EQUAL_ACROSS, "K2 evicts equal priority"},
        {GAME_RUNNING_DEMAND, "demand of running units only"},
        {GAME_OVER_VICTIM, "any unit of a queue over its entitlement as victim"},
        {GAME_NOT_HELD, "freed room not held"},
        {GAME_GHOST_FORGOTTEN, "ghost forgotten"},
    };
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        unsigned worst = 0, missed = 0;
        for (unsigned i = 0; i < n; i++) {
            struct tally t = {0};
            for (unsigned e = 0; e < 60 && !t.faults; e++)
                episode(&t, 1000 * (i + 1) + e, rules[k].broken, 0);
            missed += !t.faults;
            worst = t.events > worst ? t.events : worst;
            if (i == 0)
                diag("%s: %s", rules[k].what, t.fault);
        }
        ok(missed == 0, "caught: %s (within %u events, %u times)", rules[k].what, worst,
           n);
    }
}

/* --- all games of a few jobs --- */

struct count {
    uint64_t games, states, loops, moved;
};

static void count_game(struct count *c, const struct tiny *t)
{
    struct tiny_found f = tiny_play(t);
    c->games++;
    c->states += f.states;
    c->loops += f.loops;
    c->moved += f.moved;
}

/* Three jobs in two queues: sizes, queues, priorities, guarantees; every `nth` of all.
 */
static void two_by_three(struct count *c, unsigned nth)
{
    uint64_t number = 0;
    struct tiny t = {.nqueues = 2, .njobs = 3, .weight = {1, 1}, .lend = {NO, NO}};
    for (t.capacity = 2; t.capacity <= 6; t.capacity++) {
        uint64_t cap = (uint64_t)t.capacity, all = cap * cap * cap * 64 * 4;
        for (t.g[0] = 0; t.g[0] <= t.capacity; t.g[0]++)
            for (t.g[1] = 0; t.g[0] + t.g[1] <= t.capacity; t.g[1]++)
                for (uint64_t k = 0; k < all; k++) {
                    uint64_t rest = k;
                    if (number++ % nth)
                        continue;
                    for (int i = 0; i < 3; i++, rest /= cap * 4) {
                        t.jobs[i].core = RIGHTS_NONE;
                        t.jobs[i].size = 1 + (int64_t)(rest % cap);
                        t.jobs[i].queue = (uint32_t)(rest / cap % 2);
                        t.jobs[i].priority = (int32_t)(rest / cap / 2 % 2);
                    }
                    t.across = rest & 1;
                    t.within_any = rest >> 1 & 1;
                    count_game(c, &t);
                }
    }
}

static void random_tiny(struct tiny *t, struct rng *r)
{
    *t = (struct tiny){.nqueues = (uint32_t)rng_between(r, 2, 3),
                       .njobs = (uint32_t)rng_between(r, 3, 5),
                       .capacity = rng_between(r, 2, 6),
                       .across = rng_below(r, 2),
                       .within_any = rng_below(r, 2)};
    for (uint32_t q = 0; q < t->nqueues; q++) {
        t->weight[q] = (uint32_t)rng_below(r, 3);
        t->g[q] = rng_between(r, 0, t->capacity / 2 + 1);
        t->lend[q] = rng_below(r, 3) ? NO : rng_between(r, 0, 2);
    }
    for (uint32_t i = 0; i < t->njobs; i++) {
        uint32_t core = i ? (uint32_t)rng_below(r, i) : RIGHTS_NONE;
        t->jobs[i].core = RIGHTS_NONE;
        t->jobs[i].size = rng_between(r, 1, t->capacity);
        t->jobs[i].queue = (uint32_t)rng_below(r, t->nqueues);
        t->jobs[i].priority = (int32_t)rng_below(r, 3);
        if (i == 0 || rng_below(r, 5) || t->jobs[core].core != RIGHTS_NONE)
            continue;
        t->jobs[i].core = core;
        t->jobs[i].size = rng_between(r, 1, 2);
        t->jobs[i].queue = t->jobs[core].queue;
        t->jobs[i].priority = t->jobs[core].priority;
    }
}

static void all_tiny_games(unsigned nth, unsigned sample)
{
    struct count c = {0}, s = {0}, naive = {0};
    struct rng r;
    struct tiny t;
    two_by_three(&c, nth);
    ok(c.loops == 0 && c.moved == 0,
       "2 queues x 3 jobs, every %uth of all games: %u, none loops (%u), no right "
       "moves (%u)",
       nth, (unsigned)c.games, (unsigned)c.loops, (unsigned)c.moved);
    rng_init(&r, 4711, 5);
    for (unsigned i = 0; i < sample; i++) {
        random_tiny(&t, &r);
        count_game(&s, &t);
        t.rule = TINY_DESERVED;
        count_game(&naive, &t);
    }
    ok(s.loops == 0 && s.moved == 0,
       "%u games of 2 or 3 queues and 3 to 5 jobs: none loops (%u), no right moves "
       "(%u)",
       sample, (unsigned)s.loops, (unsigned)s.moved);
    diag("%u and %u states; by the naive rule %u of %u loop", (unsigned)c.states,
         (unsigned)s.states, (unsigned)naive.loops, sample);
}

/* Capacity 6; A (G 1): a 4 high, b 1 low; B (G 0): c 2 high, d 1 low; deserved 4 | 2.
 * By two orders that each end: {b c} {b c d}, a takes b and c: {a d} {a b d}, c takes d
 * and a: {b c} and so on. Here both feed one set, and it ends. */
static void two_orders_together(void)
{
    struct tiny t = {.nqueues = 2,
                     .njobs = 4,
                     .capacity = 6,
                     .g = {1, 0},
                     .weight = {1, 1},
                     .lend = {NO, NO},
                     .jobs = {{0, 1, 4, RIGHTS_NONE},
                              {0, 0, 1, RIGHTS_NONE},
                              {1, 1, 2, RIGHTS_NONE},
                              {1, 0, 1, RIGHTS_NONE}}};
    t.rule = TINY_DESERVED;
    ok(tiny_play(&t).loops, "deserved shares and priorities as two orders loop");
    t.rule = TINY_RIGHTS;
    for (int flags = 0; flags < 4; flags++) {
        t.across = flags & 1;
        t.within_any = flags >> 1;
        struct tiny_found f = tiny_play(&t);
        ok(!f.loops && !f.moved, "... as one set of rights they end (%d)", flags);
    }
}

int main(int argc, char **argv)
{
    bool all = argc > 1 && !strcmp(argv[1], "--long");
    cases();
    orders();
    due_and_turn();
    verdicts();
    renaming();
    random_episodes(all ? 4000 : 150);
    broken_rules(all ? 50 : 8);
    two_orders_together();
    all_tiny_games(all ? 1 : 257, all ? 50000 : 300);
    game_done(&g);
    return done_testing();
}
