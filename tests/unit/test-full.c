/* test-full.c - queues, reservations, reclaim, limits and authority on small hand-made cases
 * SPDX-License-Identifier: Apache-2.0 */
#include "play.h"
#include "tap.h"

#define SECOND INT64_C(1000000)

struct ask {
    const char *name, *queue;
    uint32_t tasks, gpus;
    int32_t priority;
    int64_t limit_s;
};

static void submit(struct play *p, struct ask a)
{
    struct shape sh = play_shape(a.gpus);
    struct group_spec g[2];
    memset(g, 0, sizeof g);
    g[0] = (struct group_spec){.parent = GROUP_NONE, .shape = GROUP_NONE, .whole = 1,
                               .count = {1, 1, 1, 1}};
    g[1] = (struct group_spec){.parent = 0, .shape = 0, .depth = 1,
                               .count = {a.tasks, a.tasks, a.tasks, 1}};
    struct job_spec spec = {.name = str_of(a.name), .queue = play_word(p, a.queue),
                            .priority = a.priority, .preemptible = 1,
                            .time_limit_us = a.limit_s * SECOND, .submitted_at = p->at,
                            .ngroups = 2, .nshapes = 1, .groups = g, .shapes = &sh};
    struct record r = {.kind = EV_JOB_SET};
    r.job_set = &spec;
    play_fold(p, &r);
}

static void begin(struct play *p, const char *policy, uint32_t nodes)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4"};
    play_init(p);
    play_policy(p, policy);
    for (uint32_t i = 0; i < nodes; i++)
        play_node(p, names[i], 4, NULL, NULL, NODE_UP);
    play_synced(p);
}

static uint32_t count(const struct play *p, int kind, bool would)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->out.list.n; i++)
        n += p->out.list.at[i].kind == kind && p->out.list.at[i].would == would;
    return n;
}

static const struct record *nth(const struct play *p, int kind)
{
    return play_find(p, kind, 0);
}

static void run_all(struct play *p)
{
    play_run(p);
    play_border(p);
}

/* Everything that was stopped at the last border ends. */
static void end_stopped(struct play *p)
{
    for (uint32_t i = 0; i < p->out.list.n; i++) {
        const struct record *l = &p->out.list.at[i];
        for (uint32_t k = 0; l->kind == DE_STOP && k < l->stop.ntasks; k++) {
            struct record r = {.kind = EV_TASK_ENDED};
            r.task_ended.ref = l->stop.tasks[k];
            r.task_ended.how = ENDED_KILLED;
            play_fold(p, &r);
        }
    }
}

static const char two_queues[] = "quotas: rights\npreempt: rights\nprotect: 0s\nqueues:\n"
                                 "  a: {guaranteed: {gpu: 4}}\n"
                                 "  b: {guaranteed: {gpu: 4}}\n";

/* b is owed 4 of 8 GPUs and a has borrowed them all: four singles go, in one plan, and the
 * room is b's, whoever asks. */
static void test_reclaim_in_one_plan(void)
{
    struct play p;
    begin(&p, two_queues, 2);
    static const char *const names[] = {"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"};
    for (uint32_t i = 0; i < 8; i++)
        submit(&p, (struct ask){names[i], "a", 1, 1, 0, 3600});
    play_border(&p);
    is_int(count(&p, DE_LAUNCH, false), 8, "a borrows what nobody uses");
    run_all(&p);
    p.at += 60 * SECOND;
    submit(&p, (struct ask){"b", "b", 2, 2, 0, 3600});
    play_border(&p);
    is_int(count(&p, DE_STOP, false), 4, "four of a go");
    const struct record *hold = nth(&p, DE_HOLD);
    ok(hold && hold->hold.nseats == 2 && str_is(hold->hold.gang.job, "b") &&
           hold->hold.plan == nth(&p, DE_STOP)->stop.plan,
       "their room is held for b, under the plan's number");
    p.at += SECOND;
    end_stopped(&p);
    submit(&p, (struct ask){"a8", "a", 1, 1, 0, 3600});
    play_border(&p);
    const struct record *l = nth(&p, DE_LAUNCH);
    ok(count(&p, DE_LAUNCH, false) == 1 && str_is(l->launch.gang.job, "b"),
       "b starts on it, and nobody else");
    run_all(&p);
    p.at += 3600 * SECOND;
    play_border(&p);
    is_int(count(&p, DE_STOP, false), 0, "nobody takes it back");
    play_done(&p);
}

static void test_observed_queue(void)
{
    struct play p;
    begin(&p, "queues:\n  a: {authority: observe}\n", 1);
    submit(&p, (struct ask){"one", "a", 1, 1, 0, 60});
    play_border(&p);
    is_int(count(&p, DE_LAUNCH, true), 1, "it says what it would launch");
    is_int(count(&p, DE_LAUNCH, false), 0, "and launches nothing");
    const struct record *say = nth(&p, DE_SAY);
    ok(say && say->why.code == WHY_AUTHORITY, "for want of authority");
    struct sched_counts c;
    sched_counts(p.s, &c);
    is_int(c.claims, 0, "nothing is held for it");
    p.at += SECOND;
    submit(&p, (struct ask){"two", "other", 1, 4, 0, 60});
    play_border(&p);
    is_int(count(&p, DE_LAUNCH, false), 1, "another queue is served as ever");
    is_int(count(&p, DE_LAUNCH, true), 0, "and what it would do is told once");
    play_done(&p);
}

/* n1 is busy for 100 s at most: the pair of whole nodes is promised for then. A single that
 * needs longer may not have n2; one that is gone before may. (60 s are kept for killing.) */
static void test_promise_and_backfill(void)
{
    struct play p;
    begin(&p, "reserve: gangs\nreservations: 1\n", 2);
    submit(&p, (struct ask){"busy", "a", 1, 4, 0, 1000});
    play_border(&p);
    run_all(&p);
    p.at += 10 * SECOND;
    submit(&p, (struct ask){"pair", "a", 2, 4, 0, 500});
    play_border(&p);
    const struct record *hold = nth(&p, DE_HOLD);
    ok(hold && hold->hold.what == HOLD_RESERVE, "a reservation");
    int64_t by = hold ? hold->hold.by : 0;
    is_int(by / SECOND, 1060, "promised for when the limit of what runs is over");
    const struct record *say = nth(&p, DE_SAY);
    ok(say && say->why.code == WHY_PROMISED && say->why.other == 1050, "in 1050 s, it says");
    p.at += SECOND;
    submit(&p, (struct ask){"long", "a", 1, 1, 0, 2000});
    play_border(&p);
    is_int(count(&p, DE_LAUNCH, false), 0, "who needs longer does not get the free node");
    p.at += SECOND;
    submit(&p, (struct ask){"short", "a", 1, 1, 0, 900});
    play_border(&p);
    is_int(count(&p, DE_LAUNCH, false), 1, "who is gone before does");
    run_all(&p);
    p.at += 900 * SECOND;
    play_end(&p, "short", 0, 0, ENDED_DONE);
    play_end(&p, "busy", 0, 0, ENDED_DONE);
    play_border(&p);
    const struct record *l = nth(&p, DE_LAUNCH);
    ok(l && str_is(l->launch.gang.job, "pair") && p.at < by,
       "the pair starts before its promise, and before who came later");
    play_done(&p);
}

static void test_time_limit(void)
{
    struct play p;
    begin(&p, "limits: enforce\n", 1);
    submit(&p, (struct ask){"one", "a", 1, 1, 0, 60});
    play_border(&p);
    run_all(&p);
    is_int(sched_due(p.s) / SECOND, p.at / SECOND + 60, "it wants the time when it is over");
    p.at += 60 * SECOND;
    play_border(&p);
    const struct record *stop = nth(&p, DE_STOP);
    ok(stop && stop->why.code == WHY_LIMIT, "then it is stopped");
    end_stopped(&p);
    play_border(&p);
    struct sched_counts c;
    sched_counts(p.s, &c);
    is_int(c.jobs, 0, "and over");
    play_done(&p);
}

static void test_caps(void)
{
    struct play p;
    begin(&p, "quotas: static\nqueues:\n  a: {guaranteed: {gpu: 3}}\n", 1);
    submit(&p, (struct ask){"one", "a", 1, 2, 0, 60});
    submit(&p, (struct ask){"two", "a", 1, 2, 0, 60});
    submit(&p, (struct ask){"three", "a", 1, 1, 0, 60});
    play_border(&p);
    is_int(count(&p, DE_LAUNCH, false), 2, "2 and 1 of 3 GPUs");
    const struct record *say = nth(&p, DE_SAY);
    ok(say && say->why.code == WHY_QUOTA && say->why.need == 2 && say->why.have == 0,
       "the last by name needs 2, and nothing is left");
    run_all(&p);
    p.at += SECOND;
    play_end(&p, "one", 0, 0, ENDED_DONE);
    play_border(&p);
    is_int(count(&p, DE_LAUNCH, false), 1, "it starts when the quota is free");
    play_done(&p);
}

int main(void)
{
    test_reclaim_in_one_plan();
    test_observed_queue();
    test_promise_and_backfill();
    test_time_limit();
    test_caps();
    return done_testing();
}
