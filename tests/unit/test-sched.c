/* test-sched.c - the core on small hand-made cases
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "play.h"
#include "tap.h"

static uint64_t launch_of(const struct play *p, uint32_t i)
{
    const struct record *r = play_find(p, DE_LAUNCH, i);
    return r ? r->launch.launch : 0;
}

/* CORE.md "One job's records", lines 1 to 4 and 12. */
static void test_contract_example(void)
{
    struct play p;
    play_init(&p);
    play_node(&p, "n1", 2, NULL, NULL, NODE_UP);
    play_node(&p, "n2", 1, NULL, NULL, NODE_UP);
    play_node(&p, "n3", 1, NULL, NULL, NODE_UP);
    play_synced(&p);
    struct shape one = play_shape(1);
    play_job(&p, "other", 1, 1, &one, NULL);
    play_border(&p);
    is_int(p.out.list.n, 1, "a lone task starts");
    uint64_t other = launch_of(&p, 0);
    play_run(&p);
    play_border(&p);
    p.at += 1000000;
    play_job(&p, "train", 4, 4, &one, NULL);
    play_border(&p);
    const struct record *say = play_find(&p, DE_SAY, 0);
    ok(say && say->why.code == WHY_NEEDS_ROOM && say->why.need == 4 && say->why.have == 3,
       "needs 4, has 3");
    p.at += 1000000;
    play_end(&p, "other", other, 0, ENDED_DONE);
    play_border(&p);
    const struct record *l = play_find(&p, DE_LAUNCH, 0);
    ok(l && l->launch.nseats == 4, "four seats");
    ok(l && str_is(l->launch.seats[0].node, "n1") && str_is(l->launch.seats[1].node, "n1") &&
           str_is(l->launch.seats[2].node, "n2") && str_is(l->launch.seats[3].node, "n3"),
       "n1:0 n1:1 n2:0 n3:0");
    uint64_t launch = launch_of(&p, 0);
    play_run(&p);
    play_border(&p);
    p.at += 5000000;
    for (uint32_t i = 0; i < 4; i++)
        play_end(&p, "train", launch, i, ENDED_DONE);
    play_border(&p);
    struct sched_counts c;
    sched_counts(p.s, &c);
    is_int(c.jobs, 0, "both jobs are over");
    struct ledger lg;
    sched_ledger(p.s, &lg);
    /* 4 GPUs: other 1 GPU x 2 s useful, then train 4 x 5 s; 3 idle for 1 s without demand,
     * 3 for 1 s while train waited */
    is_int((int64_t)(lg.sum[LEDGER_USEFUL] / 1000000), 22000, "useful GPU-milli-seconds");
    is_int((int64_t)(lg.sum[LEDGER_NO_DEMAND] / 1000000), 3000, "no demand");
    is_int((int64_t)(lg.sum[LEDGER_FRAGMENTED] / 1000000), 3000, "fragmented");
    play_done(&p);
}

static void test_required_rack(void)
{
    struct play p;
    play_init(&p);
    play_node(&p, "a1", 8, "block=b0 rack=r0", NULL, NODE_UP);
    play_node(&p, "a2", 8, "block=b0 rack=r0", NULL, NODE_UP);
    play_node(&p, "b1", 8, "block=b0 rack=r1", NULL, NODE_UP);
    play_node(&p, "b2", 8, "block=b0 rack=r1", NULL, NODE_UP);
    play_node(&p, "b3", 8, "block=b0 rack=r1", NULL, NODE_UP);
    play_synced(&p);
    struct shape eight = play_shape(8);
    play_job(&p, "two", 2, 2, &eight, "rack");
    play_border(&p);
    const struct record *l = play_find(&p, DE_LAUNCH, 0);
    ok(l && str_is(l->launch.seats[0].node, "a1") && str_is(l->launch.seats[1].node, "a2"),
       "the tightest rack that holds it");
    play_run(&p);
    play_job(&p, "four", 4, 4, &eight, "rack");
    play_border(&p);
    const struct record *say = play_find(&p, DE_SAY, 0);
    ok(say && say->why.code == WHY_NEEDS_ROOM && say->why.need == 4 && say->why.have == 3,
       "four whole nodes in one rack: the best has three");
    play_job(&p, "elastic", 4, 2, &eight, "rack");
    play_border(&p);
    l = play_find(&p, DE_LAUNCH, 0);
    ok(l && l->launch.nseats == 3, "elastic takes the three that are there");
    play_done(&p);
}

static void test_loss_and_requeue(void)
{
    struct play p;
    play_init(&p);
    play_node(&p, "n1", 8, NULL, NULL, NODE_UP);
    play_node(&p, "n2", 8, NULL, NULL, NODE_UP);
    play_node(&p, "n3", 8, NULL, NULL, NODE_UP);
    play_synced(&p);
    struct shape eight = play_shape(8);
    play_job(&p, "train", 2, 2, &eight, NULL);
    play_border(&p);
    uint64_t launch = launch_of(&p, 0);
    play_run(&p);
    play_border(&p);
    p.at += 10000000;
    play_node(&p, "n2", 8, NULL, NULL, NODE_DOWN);
    play_end(&p, "train", launch, 1, ENDED_LOST);
    play_border(&p);
    const struct record *stop = play_find(&p, DE_STOP, 0);
    ok(stop && stop->stop.ntasks == 1 && stop->why.code == WHY_LOST, "the rest is stopped");
    play_end(&p, "train", launch, 0, ENDED_KILLED);
    play_border(&p);
    const struct record *l = play_find(&p, DE_LAUNCH, 0);
    ok(l && l->launch.nseats == 2 && str_is(l->launch.seats[0].node, "n1") &&
           str_is(l->launch.seats[1].node, "n3"), "and starts anew on whole nodes");
    struct ledger lg;
    sched_ledger(p.s, &lg);
    is_int((int64_t)(lg.sum[LEDGER_RECOMPUTED] / 1000000), 160000,
           "16 GPUs x 10 s are to be done again");
    play_done(&p);
}

static void test_save_load(void)
{
    struct play p;
    play_init(&p);
    play_node(&p, "n1", 8, "rack=r0", "gold", NODE_UP);
    play_node(&p, "n2", 8, "rack=r1", NULL, NODE_UP);
    play_synced(&p);
    struct shape four = play_shape(4);
    for (int i = 0; i < 6; i++) {
        char name[8];
        snprintf(name, sizeof name, "j%d", i);
        play_job(&p, name, 1, 1, &four, NULL);
    }
    play_border(&p);
    play_run(&p);
    struct buf b = {0};
    sched_save(p.s, &b);
    struct sched *copy = NULL;
    struct err err = {0};
    ok(sched_load(&copy, buf_as_str(&b), &err) == 0, "loads: %s", err.text);
    ok(copy && sched_digest(copy, DIGEST_ALL) == sched_digest(p.s, DIGEST_ALL),
       "the same digest");
    if (copy) {
        sched_invariants(copy);
        sched_destroy(p.s);
        p.s = copy;
        uint64_t launch = UINT64_C(1) << 40 | 1;
        play_end(&p, "j0", launch, 0, ENDED_DONE);
        play_border(&p);
        const struct record *l = play_find(&p, DE_LAUNCH, 0);
        ok(l && str_is(l->launch.gang.job, "j4"), "and goes on where it was");
    }
    b.data[b.len / 2] ^= 1;
    ok(sched_load(&copy, buf_as_str(&b), &err) == -EBADMSG, "damage is refused: %s", err.text);
    buf_done(&b);
    play_done(&p);
}

static void test_request_twice(void)
{
    struct play p;
    play_init(&p);
    play_node(&p, "n1", 8, NULL, NULL, NODE_UP);
    play_synced(&p);
    struct shape one = play_shape(1);
    struct group_spec g[2] = {
        {.parent = GROUP_NONE, .shape = GROUP_NONE, .whole = 1, .count = {1, 1, 1, 1}},
        {.parent = 0, .shape = 0, .depth = 1, .count = {1, 1, 1, 1}}};
    struct job_spec spec = {.name = STR("a"), .request = STR("r1"), .ngroups = 2,
                            .nshapes = 1, .groups = g, .shapes = &one};
    struct record r = {.kind = EV_JOB_SET, .job_set = &spec};
    play_fold(&p, &r);
    spec.name = STR("b");
    r = (struct record){.kind = EV_JOB_SET, .job_set = &spec};
    play_fold(&p, &r);
    struct sched_counts c;
    sched_counts(p.s, &c);
    is_int(c.jobs, 1, "one request, told twice, is one job");
    play_done(&p);
}

/* A member that fails for ever is mended as often as the job allows, then the job ends. */
static void test_member_tries(void)
{
    struct play p;
    play_init(&p);
    play_node(&p, "n1", 8, NULL, NULL, NODE_UP);
    play_synced(&p);
    struct shape one = play_shape(1);
    struct group_spec g[2] = {
        {.parent = GROUP_NONE, .shape = GROUP_NONE, .whole = 1, .count = {1, 1, 1, 1}},
        {.parent = 0, .shape = 0, .depth = 1, .count = {2, 2, 2, 1}}};
    struct job_spec spec = {.name = STR("a"), .on_loss = LOSS_MEMBER, .tries = 3,
                            .ngroups = 2, .nshapes = 1, .groups = g, .shapes = &one};
    struct record r = {.kind = EV_JOB_SET, .job_set = &spec};
    play_fold(&p, &r);
    play_border(&p);
    uint64_t launch = launch_of(&p, 0);
    uint32_t launches = 1;
    play_run(&p);
    for (int i = 0; i < 10 && launch; i++) {
        p.at += 1000000;
        play_end(&p, "a", launch, 1, ENDED_FAILED);
        play_border(&p);
        launch = launch_of(&p, 0);
        launches += launch != 0;
        play_run(&p);
    }
    is_int(launches, 4, "the first launch and three tries");
    ok(play_find(&p, DE_STOP, 0), "then the other member is stopped");
    play_done(&p);
}

/* PEER_SUBSET.md: up to 8 GPUs go to the node with the fewest free ones that suffice, ties to
 * the lowest; of 12 = 8 + 4 the rest goes to the node with most free ones, ties likewise. */
static void test_placement_ties(void)
{
    struct play p;
    play_init(&p);
    play_policy(&p, "order: fifo\nblock: queue\nnode: fewest-free\nremainder: widest\n");
    for (int i = 0; i < 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        play_node(&p, name, 8, NULL, NULL, NODE_UP);
    }
    play_synced(&p);
    static const struct {
        uint32_t gpus;
        const char *node; /* n0 n1 n2 n3 free before */
    } steps[] = {
        {6, "n0"}, /* 8 8 8 8: the lowest of equals */
        {6, "n1"}, /* 2 8 8 8: 2 do not suffice */
        {1, "n0"}, /* 2 2 8 8: the lowest of the fullest */
        {2, "n1"}, /* 1 2 8 8 */
        {1, "n0"}, /* 1 0 8 8 */
    };
    for (uint32_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char name[8];
        snprintf(name, sizeof name, "j%u", i);
        struct shape sh = play_shape(steps[i].gpus);
        play_job(&p, name, 1, 1, &sh, NULL);
        play_border(&p);
        const struct record *l = play_find(&p, DE_LAUNCH, 0);
        ok(l && str_is(l->launch.seats[0].node, steps[i].node), "%u GPUs go to %s",
           steps[i].gpus, steps[i].node);
        play_run(&p);
    }
    play_node(&p, "n4", 8, NULL, NULL, NODE_UP); /* 0 0 8 8 8 */
    struct shape four = play_shape(4);
    play_job(&p, "half", 1, 1, &four, NULL); /* n2: 0 0 4 8 8 */
    play_border(&p);
    play_run(&p);
    struct shape sh[2] = {play_shape(8), play_shape(4)};
    struct group_spec g[3] = {
        {.parent = GROUP_NONE, .shape = GROUP_NONE, .whole = 1, .count = {1, 1, 1, 1}},
        {.parent = 0, .shape = 0, .depth = 1, .count = {1, 1, 1, 1}},
        {.parent = 0, .shape = 1, .depth = 1, .count = {1, 1, 1, 1}}};
    struct job_spec spec = {.name = STR("twelve"), .queue = play_word(&p, "main"),
                            .submitted_at = p.at, .ngroups = 3, .nshapes = 2, .groups = g,
                            .shapes = sh};
    struct record r = {.kind = EV_JOB_SET, .job_set = &spec};
    play_fold(&p, &r);
    play_border(&p);
    const struct record *l = play_find(&p, DE_LAUNCH, 0);
    ok(l && l->launch.nseats == 2 && str_is(l->launch.seats[0].node, "n3") &&
           str_is(l->launch.seats[1].node, "n4"),
       "12 GPUs: 8 on the lowest idle node, 4 on the emptiest other one, not on half-full n2");
    play_done(&p);
}

/* A heartbeat that says what is known wakes nobody; a change does. */
static void test_same_node_again(void)
{
    struct play p;
    play_init(&p);
    play_node(&p, "n1", 4, "rack=r0", "gold", NODE_UP);
    play_synced(&p);
    struct shape eight = play_shape(8);
    play_job(&p, "big", 1, 1, &eight, NULL);
    play_border(&p);
    struct sched_counts before, after;
    sched_counts(p.s, &before);
    play_node(&p, "n1", 4, "rack=r0", "gold", NODE_UP);
    play_border(&p);
    sched_counts(p.s, &after);
    is_int((int64_t)(after.questions - before.questions), 0, "nobody is asked again");
    play_node(&p, "n1", 8, "rack=r0", "gold", NODE_UP);
    play_border(&p);
    ok(play_find(&p, DE_LAUNCH, 0), "four GPUs more are news");
    play_done(&p);
}

/* A root of `stages` copies of a part of `width` tasks, one gang. */
static int check_counts(struct play *p, uint32_t stages, uint32_t width, uint32_t cpus)
{
    struct shape sh = play_shape(0);
    struct group_spec g[3];
    struct err err = {0};
    memset(g, 0, sizeof g);
    sh.cpu_milli = 1000 * (int64_t)cpus;
    g[0] = (struct group_spec){.parent = GROUP_NONE, .shape = GROUP_NONE, .whole = 1,
                               .count = {1, 1, 1, 1}};
    g[1] = (struct group_spec){.parent = 0, .shape = GROUP_NONE, .depth = 1,
                               .count = {stages, stages, stages, 1}};
    g[2] = (struct group_spec){.parent = 1, .shape = 0, .depth = 2,
                               .count = {width, width, width, 1}};
    struct job_spec spec = {.name = STR("job"), .queue = play_word(p, "main"), .ngroups = 3,
                            .nshapes = 1, .groups = g, .shapes = &sh};
    struct record r = {.kind = EV_JOB_SET};
    r.job_set = &spec;
    int rc = sched_check(p->s, &r, &err);
    play_fold(p, &r);
    return rc;
}

/* Which counts of a known job may change: those that leave all members their numbers. */
static void test_counts_change(void)
{
    struct play p;
    play_init(&p);
    play_node(&p, "n1", 0, NULL, NULL, NODE_UP);
    play_synced(&p);
    is_int(check_counts(&p, 1, 2, 1), 0, "a new job");
    play_border(&p);
    play_run(&p);
    is_int(check_counts(&p, 1, 4, 1), 0, "more members of the only part");
    play_border(&p);
    const struct record *l = play_find(&p, DE_LAUNCH, 0);
    ok(l && l->launch.nseats == 2 && l->launch.seats[0].slot.index == 2 &&
           l->launch.seats[0].rank == 2 && l->launch.seats[1].rank == 3,
       "the two that the new minimum needs, in one launch, with the next ranks");
    play_run(&p);
    is_int(check_counts(&p, 2, 4, 1), 0, "another part behind it");
    is_int(check_counts(&p, 2, 5, 1), -EEXIST, "wider parts would renumber the second");
    is_int(check_counts(&p, 1, 4, 2), -EEXIST, "other shapes are another job");
    is_int(check_counts(&p, 1, 3, 1), -EEXIST, "nor two counts at once below one another");
    is_int(check_counts(&p, 1, 4, 1), 0, "the second part goes");
    play_border(&p);
    is_int(check_counts(&p, 1, 3, 1), 0, "then a member of the first");
    play_border(&p);
    const struct record *s = play_find(&p, DE_STOP, 0);
    ok(s && s->stop.ntasks == 1 && s->stop.mode == STOP_END &&
           s->stop.tasks[0].slot.index == 3,
       "the highest of them is stopped");
    play_done(&p);
}

int main(void)
{
    test_counts_change();
    test_same_node_again();
    test_placement_ties();
    test_request_twice();
    test_member_tries();
    test_contract_example();
    test_required_rack();
    test_loss_and_requeue();
    test_save_load();
    return done_testing();
}
