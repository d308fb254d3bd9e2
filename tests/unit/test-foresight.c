/* test-foresight.c - the core looks ahead: learned run times, waiting against evicting, moves,
 * value
 * SPDX-License-Identifier: Apache-2.0 */
#include "play.h"
#include "tap.h"

#define S INT64_C(1000000)
#define H (3600 * S)

struct job {
    const char *name, *user, *queue, *required;
    uint32_t tasks, gpus;
    int64_t limit, expected, save, restore, value, deadline;
    int32_t priority;
    uint8_t checkpoint;
};

static void submit(struct play *p, const struct job *j)
{
    struct shape sh = play_shape(j->gpus);
    struct group_spec g[2];
    memset(g, 0, sizeof g);
    g[0] = (struct group_spec){.parent = GROUP_NONE, .shape = GROUP_NONE, .whole = 1,
                               .count = {1, 1, 1, 1}};
    g[1] = (struct group_spec){.parent = 0, .shape = 0, .depth = 1,
                               .count = {j->tasks, j->tasks, j->tasks, 1}};
    if (j->required)
        g[0].required = play_word(p, j->required);
    struct job_spec spec = {.name = str_of(j->name), .preemptible = 1,
                            .queue = play_word(p, j->queue ? j->queue : "main"),
                            .user = j->user ? play_word(p, j->user) : 0,
                            .submitted_at = p->at, .time_limit_us = j->limit,
                            .expected_us = j->expected, .priority = j->priority,
                            .value_milli_h = 1000 * j->value, .deadline_at = j->deadline,
                            .checkpoint = j->checkpoint, .ckpt_save_us = j->save,
                            .ckpt_restore_us = j->restore,
                            .ngroups = 2, .nshapes = 1, .groups = g, .shapes = &sh};
    struct record r = {.kind = EV_JOB_SET};
    r.job_set = &spec;
    play_fold(p, &r);
}

/* It starts, runs, and ends by itself; its one task. */
static void runs(struct play *p, const char *name, const char *user, int64_t run)
{
    submit(p, &(struct job){.name = name, .user = user, .tasks = 1, .gpus = 8});
    play_border(p);
    const struct record *l = play_find(p, DE_LAUNCH, 0);
    uint64_t launch = l ? l->launch.launch : 0;
    play_run(p);
    play_border(p);
    p->at += run;
    play_end(p, name, launch, 0, ENDED_DONE);
    play_border(p);
}

static void teach(struct play *p)
{
    char name[16];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "l%d", i);
        runs(p, name, "long", H);
        snprintf(name, sizeof name, "s%d", i);
        runs(p, name, "short", 60 * S);
    }
}

/* Which of two that came while the node was taken starts when it is free. */
static bool short_goes_first(struct play *p)
{
    submit(p, &(struct job){.name = "x", .tasks = 1, .gpus = 8});
    play_border(p);
    uint64_t launch = play_find(p, DE_LAUNCH, 0)->launch.launch;
    play_run(p);
    submit(p, &(struct job){.name = "a", .user = "long", .tasks = 1, .gpus = 8});
    p->at += S;
    submit(p, &(struct job){.name = "b", .user = "short", .tasks = 1, .gpus = 8});
    play_border(p);
    p->at += S;
    play_end(p, "x", launch, 0, ENDED_DONE);
    play_border(p);
    const struct record *l = play_find(p, DE_LAUNCH, 0);
    return l && str_is(l->launch.gang.job, "b");
}

static void begin(struct play *p, const char *policy)
{
    play_init(p);
    play_policy(p, policy);
    play_node(p, "n1", 8, NULL, NULL, NODE_UP);
    play_synced(p);
}

static void test_order(void)
{
    struct play p;
    begin(&p, "order: shortest\nforecast: learned\n");
    teach(&p);
    ok(short_goes_first(&p), "whose jobs were short goes first, though nobody stated it");
    play_done(&p);
    begin(&p, "order: shortest\nforecast: limit\n");
    teach(&p);
    ok(!short_goes_first(&p), "without learning the one that came first");
    play_done(&p);
}

static void test_soft(void)
{
    struct play p, q;
    struct buf soft = {0};
    struct record r;
    begin(&p, "order: shortest\nforecast: learned\n");
    teach(&p);
    sched_soft(p.s, &r, &soft);
    begin(&q, "order: shortest\nforecast: learned\n");
    play_fold(&q, &r);
    ok(short_goes_first(&q), "a core that was told what another had learned knows it");
    play_done(&q);
    begin(&q, "order: shortest\nforecast: learned\n");
    r.soft_set.version++;
    play_fold(&q, &r);
    struct sched_counts c;
    sched_counts(q.s, &c);
    is_int((int64_t)c.noops, 1, "another version's bytes are left alone");
    ok(!short_goes_first(&q), "and teach nothing");
    play_done(&q);
    struct buf bytes = {0};
    struct sched *loaded = NULL;
    sched_save(p.s, &bytes);
    is_int(sched_load(&loaded, buf_as_str(&bytes), NULL), 0, "it is saved with the state");
    ok(sched_digest(loaded, DIGEST_ALL) == sched_digest(p.s, DIGEST_ALL), "whole");
    sched_destroy(p.s);
    p.s = loaded;
    ok(short_goes_first(&p), "and still known");
    buf_done(&bytes);
    buf_done(&soft);
    play_done(&p);
}

/* Twelve ran an hour; one with a limit of ten hours has run half of one when a gang waits
 * for its node. */
static void test_expected(void)
{
    struct play p;
    begin(&p, "reserve: all\nforecast: learned\n");
    teach(&p);
    submit(&p, &(struct job){.name = "x", .user = "long", .tasks = 1, .gpus = 8, .limit = 10 * H});
    play_border(&p);
    play_run(&p);
    play_border(&p);
    int64_t since = p.at;
    p.at += H / 2;
    submit(&p, &(struct job){.name = "y", .tasks = 1, .gpus = 8, .limit = H});
    play_border(&p);
    const struct record *hold = play_find(&p, DE_HOLD, 0);
    ok(hold && hold->hold.by >= since + 10 * H, "promised is what the limit allows");
    ok(hold && llabs(hold->hold.expected - since - H) < H / 8,
       "expected is what the others took");
    play_done(&p);
}

/* Who is stopped, or lost, might have run for ever. */
static void test_censored(void)
{
    struct play p;
    begin(&p, "order: shortest\nforecast: learned\n");
    char name[16];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "k%d", i);
        submit(&p, &(struct job){.name = name, .user = "short", .tasks = 1, .gpus = 8});
        play_border(&p);
        uint64_t launch = play_find(&p, DE_LAUNCH, 0)->launch.launch;
        play_run(&p);
        p.at += S;
        struct record r = {.kind = EV_JOB_DO};
        r.job_do.job = str_of(name);
        r.job_do.verb = JOB_CANCEL;
        play_fold(&p, &r);
        play_border(&p);
        play_end(&p, name, launch, 0, ENDED_KILLED);
        play_border(&p);
    }
    ok(!short_goes_first(&p), "ends that we made teach nothing");
    play_done(&p);
}

#define SHARED "quotas: rights\npreempt: rights\nprotect: 0s\n" \
               "queues:\n  a: {weight: 1}\n  b: {weight: 1}\n"

/* Two nodes of 8; b's two jobs have run five hours of `limit`: either costs 40 GPU-hours. a's
 * job of 8 may have one of them stopped. */
static void besiege(struct play *p, const char *policy, int64_t limit, int64_t saved_ago)
{
    play_init(p);
    play_policy(p, policy);
    play_node(p, "n1", 8, NULL, NULL, NODE_UP);
    play_node(p, "n2", 8, NULL, NULL, NODE_UP);
    play_synced(p);
    submit(p, &(struct job){.name = "b1", .queue = "b", .tasks = 1, .gpus = 8, .limit = limit});
    submit(p, &(struct job){.name = "b2", .queue = "b", .tasks = 1, .gpus = 8, .limit = limit});
    play_border(p);
    play_run(p);
    play_border(p);
    p->at += 5 * H;
    for (int i = 0; saved_ago && i < 2; i++) {
        struct record r = {.kind = EV_CHECKPOINT_SAVED};
        r.checkpoint_saved.job = str_of(i ? "b1" : "b2");
        r.checkpoint_saved.saved_at = p->at - saved_ago;
        play_fold(p, &r);
    }
    submit(p, &(struct job){.name = "mine", .queue = "a", .tasks = 1, .gpus = 8, .limit = H});
    play_border(p);
}

static uint32_t count(const struct play *p, int kind)
{
    uint32_t n = 0;
    while (play_find(p, kind, n))
        n++;
    return n;
}

static const struct {
    const char *policy;
    int64_t limit, saved_ago;
    bool evicts;
    const char *why;
} sieges[] = {
    {SHARED, 6 * H, 0, false, "8 GPU-hours of waiting against 40"},
    {SHARED, 6 * H, 600 * S, true, "... against one and a third, where a checkpoint was written"},
    {SHARED, 9 * H + H / 2, 0, false, "36 against 40"},
    {SHARED, 10 * H + H / 2, 0, true, "44 against 40"},
    {SHARED, 0, 0, true, "nobody knows when they end"},
    {SHARED "evict_when: always\n", 6 * H, 0, true, "the policy weighs nothing"},
    {"quotas: rights\npreempt: rights\nprotect: 0s\n"
     "queues:\n  a: {guaranteed: {gpu: 8}}\n  b: {weight: 1}\n", 6 * H, 0, true,
     "it is within its queue's guarantee"},
    {"quotas: rights\npreempt: rights\nprotect: 0s\nevict_when: cheaper\n"
     "queues:\n  a: {guaranteed: {gpu: 8}}\n  b: {weight: 1}\n", 6 * H, 0, false,
     "so it is, but the policy weighs that too"},
};

static void test_cheaper(void)
{
    for (size_t i = 0; i < sizeof sieges / sizeof *sieges; i++) {
        struct play p;
        besiege(&p, sieges[i].policy, sieges[i].limit, sieges[i].saved_ago);
        is_int(count(&p, DE_STOP), sieges[i].evicts, "%s: %s", sieges[i].why,
               sieges[i].evicts ? "one goes" : "it waits");
        const struct record *say = play_find(&p, DE_SAY, 0);
        ok(sieges[i].evicts || (say && say->why.code == WHY_CHEAPER), "and says so");
        play_done(&p);
    }
}

/* The forecast was wrong: b's jobs outlive their limit, which the world keeps, not we. One
 * wrote a checkpoint meanwhile, so half an hour of it is little against a wait of hours. */
static void test_late(void)
{
    struct play p;
    besiege(&p, SHARED "reserve: all\nimprove_every: 10m\n", 6 * H, 0);
    const struct record *hold = play_find(&p, DE_HOLD, 0);
    ok(hold && hold->hold.what == HOLD_RESERVE, "it waits with a place kept");
    const struct record *say = play_find(&p, DE_SAY, 1);
    ok(say && say->why.code == WHY_CHEAPER, "and says that evicting would cost more");
    uint32_t stops = 0, steps = 0;
    for (; stops == 0 && steps < 200; steps++) {
        p.at += 600 * S;
        struct record r = {.kind = steps == 2 ? EV_CHECKPOINT_SAVED : EV_TIME};
        if (steps == 2) {
            r.checkpoint_saved.job = STR("b2");
            r.checkpoint_saved.saved_at = p.at;
        }
        play_fold(&p, &r);
        play_border(&p);
        stops = count(&p, DE_STOP);
    }
    ok(stops == 1 && steps >= 6 && steps <= 8, "when they are not gone in time one is stopped");
    play_done(&p);
}

/* Two racks of two nodes, a job of one GPU in each; both have run ten hours. */
static void spread_out(struct play *p, const char *policy, int64_t limit)
{
    play_init(p);
    play_policy(p, policy);
    play_node(p, "a1", 8, "rack=a", NULL, NODE_UP);
    play_node(p, "a2", 8, "rack=a", NULL, NODE_UP);
    play_node(p, "b1", 8, "rack=b", NULL, NODE_DRAINED);
    play_node(p, "b2", 8, "rack=b", NULL, NODE_DRAINED);
    play_synced(p);
    submit(p, &(struct job){.name = "s1", .tasks = 1, .gpus = 1, .limit = limit});
    play_border(p);
    play_run(p);
    play_node(p, "a1", 8, "rack=a", NULL, NODE_DRAINED);
    play_node(p, "a2", 8, "rack=a", NULL, NODE_DRAINED);
    play_node(p, "b1", 8, "rack=b", NULL, NODE_UP);
    play_node(p, "b2", 8, "rack=b", NULL, NODE_UP);
    p->at += S;
    submit(p, &(struct job){.name = "s2", .tasks = 1, .gpus = 1, .limit = limit});
    play_border(p);
    play_run(p);
    play_node(p, "a1", 8, "rack=a", NULL, NODE_UP);
    play_node(p, "a2", 8, "rack=a", NULL, NODE_UP);
    play_border(p);
    p->at += 10 * H;
}

static const struct {
    const char *policy;
    int64_t limit;
    bool moves;
    const char *why;
} spreads[] = {
    {"moves_per_hour: 4\n", 0, true, "10 GPU-hours lost against a day of 16 GPUs"},
    {"moves_per_hour: 4\n", 11 * H, true, "... against an hour of 16"},
    {"moves_per_hour: 4\n", 10 * H + 900 * S, false, "... against a quarter of an hour"},
    {"moves_per_hour: 0\n", 0, false, "the policy moves nothing"},
    {"moves_per_hour: 4\nmoves_per_job: 0\n", 0, false, "no job may be moved"},
    {"moves_per_hour: 4\nprotect: 11h\n", 0, false, "they began too lately"},
    {"moves_per_hour: 4\nquotas: borrow\nqueues:\n  main: {authority: evict}\n", 0, false,
     "its queue lets nobody move its jobs"},
};

static void test_moves(void)
{
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        struct play p;
        spread_out(&p, spreads[i].policy, spreads[i].limit);
        submit(&p, &(struct job){.name = "wide", .tasks = 2, .gpus = 8, .required = "rack"});
        play_border(&p);
        const struct record *stop = play_find(&p, DE_STOP, 0), *hold = play_find(&p, DE_HOLD, 0);
        if (!spreads[i].moves) {
            ok(!stop && !hold, "%s: nobody is moved", spreads[i].why);
            play_done(&p);
            continue;
        }
        ok(stop && stop->stop.mode == STOP_MOVE && stop->stop.ntasks == 1 &&
               str_is(stop->stop.tasks[0].gang.job, "s2"),
           "%s: the job that has less to lose is moved", spreads[i].why);
        ok(stop && hold && stop->stop.plan == hold->hold.plan && hold->hold.nseats == 2,
           "in one plan with the room that it makes");
        p.at += S;
        play_end(&p, "s2", stop->stop.tasks[0].launch, 0, ENDED_KILLED);
        play_border(&p);
        const struct record *a = play_find(&p, DE_LAUNCH, 0), *b = play_find(&p, DE_LAUNCH, 1);
        if (a && b && str_is(b->launch.gang.job, "wide")) {
            const struct record *swap = a;
            a = b;
            b = swap;
        }
        ok(a && b && a->launch.nseats == 2 && str_is(a->launch.seats[0].node, "b1"),
           "the gang has the rack");
        ok(b && str_is(b->launch.gang.job, "s2") && str_is(b->launch.seats[0].node, "a1"),
           "and who was moved runs again at once, beside the other");
        struct buf bytes = {0};
        struct sched *loaded = NULL;
        sched_save(p.s, &bytes);
        is_int(sched_load(&loaded, buf_as_str(&bytes), NULL), 0, "it is saved and loaded");
        ok(loaded && sched_digest(loaded, DIGEST_ALL) == sched_digest(p.s, DIGEST_ALL), "whole");
        sched_destroy(loaded);
        buf_done(&bytes);
        play_done(&p);
    }
}

/* Where a seat for it elsewhere is not free now, nobody is stopped. */
static void test_no_seat(void)
{
    struct play p;
    spread_out(&p, "moves_per_hour: 4\n", 0);
    submit(&p, &(struct job){.name = "f1", .tasks = 1, .gpus = 8});
    submit(&p, &(struct job){.name = "f2", .tasks = 1, .gpus = 7});
    play_border(&p);
    play_run(&p);
    const struct record *l = play_find(&p, DE_LAUNCH, 0);
    ok(l && play_find(&p, DE_LAUNCH, 1), "a rack is filled up");
    submit(&p, &(struct job){.name = "wide", .tasks = 2, .gpus = 8, .required = "rack"});
    play_border(&p);
    ok(!play_find(&p, DE_STOP, 0), "nobody is moved to where there is no room");
    play_done(&p);
}

/* Two jobs of two hours want the node; a came first. Values an hour; b's deadline, in hours. */
static const struct {
    const char *policy;
    int64_t a, b, due;
    bool overridden, b_first;
    uint32_t need, have; /* what the first would lose by waiting, and what the second loses */
    const char *why;
} choices[] = {
    {"value: off\n", 1, 2, 0, false, false, 0, 0, "values are not looked at: who came first"},
    {"value: on\n", 1, 2, 0, false, true, 0, 0, "who loses more by waiting"},
    {"value: on\n", 1, 2, 0, true, false, 0, 0, "a person said that a goes first"},
    {"value: on\n", 3, 2, 3, false, true, 8, 6, "2 h x 2 and the deadline's 2 x 2 against 2 h x 3"},
    {"value: on\n", 3, 2, 5, false, false, 6, 4, "the deadline is met either way"},
    {"value: on\n", 3, 2, 1, false, false, 6, 4, "the deadline is missed either way"},
    {"value: on\n", 5, 2, 3, false, false, 10, 8, "the deadline is worth less than a's wait"},
    {"value: on\n", 3, 2, 3, true, false, 0, 0, "a person said so, whatever is lost"},
    {"value: on\nquotas: borrow\nqueues:\n  main: {}\n  b: {value_max: 1}\n", 2, 9, 0, false, false,
     0, 0, "b's queue may not say more than 1"},
};

static void test_value(void)
{
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        struct play p;
        begin(&p, choices[i].policy);
        int64_t due = choices[i].due ? p.at + S + choices[i].due * H : 0;
        submit(&p, &(struct job){.name = "x", .tasks = 1, .gpus = 8});
        play_border(&p);
        uint64_t x = play_find(&p, DE_LAUNCH, 0)->launch.launch;
        play_run(&p);
        submit(&p, &(struct job){.name = "a", .tasks = 1, .gpus = 8, .expected = 2 * H,
                                 .value = choices[i].a});
        p.at += S;
        submit(&p, &(struct job){.name = "b", .queue = "b", .tasks = 1, .gpus = 4,
                                 .expected = 4 * H, .value = choices[i].b});
        struct record r = {.kind = EV_JOB_DO};
        r.job_do.job = STR("b");
        r.job_do.verb = JOB_CANCEL;
        play_fold(&p, &r); /* what has gone is no rival */
        submit(&p, &(struct job){.name = "c", .queue = "b", .tasks = 1, .gpus = 8, .expected = 2 * H,
                                 .value = choices[i].b, .deadline = due});
        play_border(&p);
        if (choices[i].overridden) {
            r.job_do.job = STR("a");
            r.job_do.by = STR("ann");
            r.job_do.reason = STR("the review is tomorrow");
            r.job_do.verb = JOB_OVERRIDE;
            play_fold(&p, &r);
            play_border(&p);
        }
        play_end(&p, "x", x, 0, ENDED_DONE);
        play_border(&p);
        const struct record *l = play_find(&p, DE_LAUNCH, 0);
        ok(l && str_is(l->launch.gang.job, choices[i].b_first ? "c" : "a"), "%s: %s starts",
           choices[i].why, choices[i].b_first ? "the second" : "the first");
        ok(l && (choices[i].need ? l->why.code == WHY_VALUE && l->why.need == choices[i].need &&
                                       l->why.have == choices[i].have
                                 : l->why.code == WHY_FITS),
           "with %u against %u in its reason", choices[i].need, choices[i].have);
        play_done(&p);
    }
}

/* Where there is room for both there is nothing to choose. */
static void test_room_for_both(void)
{
    struct play p;
    begin(&p, "value: on\n");
    play_node(&p, "n2", 8, NULL, NULL, NODE_UP);
    submit(&p, &(struct job){.name = "a", .tasks = 1, .gpus = 8, .expected = 2 * H, .value = 3});
    submit(&p, &(struct job){.name = "c", .tasks = 1, .gpus = 8, .expected = 2 * H, .value = 2,
                             .deadline = p.at + 3 * H});
    play_border(&p);
    const struct record *l = play_find(&p, DE_LAUNCH, 0), *m = play_find(&p, DE_LAUNCH, 1);
    ok(l && m && str_is(l->launch.gang.job, "a") && l->why.code == WHY_FITS &&
           m->why.code == WHY_FITS, "room for both: both start, and nothing is weighed");
    play_done(&p);
}

int main(void)
{
    test_order();
    test_soft();
    test_expected();
    test_censored();
    test_cheaper();
    test_late();
    test_moves();
    test_no_seat();
    test_value();
    test_room_for_both();
    return done_testing();
}
