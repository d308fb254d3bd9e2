/* test-explain.c - waits in numbers, second bests, and a state that asking does not
 * touch SPDX-License-Identifier: Apache-2.0 */
#include "play.h"
#include "tap.h"

#include "sched/look.h"
#include "words/saying_explain.h"

#define MINUTE (INT64_C(60) * 1000000)

/* tasks of whole GPUs, gang as a whole; level NULL: anywhere. */
static void submit(struct play *p, const char *name, const char *queue, uint32_t tasks,
                   uint32_t gpus, const char *level, int64_t limit_us)
{
    struct shape sh = play_shape(gpus);
    struct group_spec g[2];
    memset(g, 0, sizeof g);
    g[0] = (struct group_spec){.parent = GROUP_NONE,
                               .shape = GROUP_NONE,
                               .whole = 1,
                               .count = {1, 1, 1, 1}};
    g[1] = (struct group_spec){.parent = 0,
                               .shape = 0,
                               .depth = 1,
                               .count = {tasks, tasks, tasks, 1}};
    if (level)
        g[0].required = play_word(p, level);
    struct job_spec spec = {.name = str_of(name),
                            .queue = play_word(p, queue),
                            .preemptible = 1,
                            .time_limit_us = limit_us,
                            .submitted_at = p->at,
                            .ngroups = 2,
                            .nshapes = 1,
                            .groups = g,
                            .shapes = &sh};
    struct record r = {.kind = EV_JOB_SET};
    r.job_set = &spec;
    play_fold(p, &r);
    play_border(p);
    play_run(p);
    play_border(p);
}

/* Two blocks of two nodes of four GPUs. */
static void blocks(struct play *p, const char *policy)
{
    play_init(p);
    play_policy(p, policy);
    play_node(p, "n1", 4, "block=b0", NULL, NODE_UP);
    play_node(p, "n2", 4, "block=b0", NULL, NODE_UP);
    play_node(p, "n3", 4, "block=b1", NULL, NODE_UP);
    play_node(p, "n4", 4, "block=b1", NULL, NODE_UP);
    play_synced(p);
    play_border(p);
}

static void explains(struct play *p, const char *job, const char *want)
{
    struct explain e;
    struct buf b = {0};
    uint64_t before = sched_digest(p->s, DIGEST_ALL);
    uint32_t id = sched_look_find(p->s, str_of(job));
    if (id == UINT32_MAX || sched_explain(&e, p->s, id, 0, NULL)) {
        fail("%s is not there", job);
        return;
    }
    saying_explain(sched_words(p->s), &e, &b);
    is_mem(b.data, b.len, want, "%s", want);
    ok(sched_digest(p->s, DIGEST_ALL) == before, "... and the state is as it was");
    sched_invariants(p->s);
    buf_done(&b);
    explain_done(&e);
}

/* x has a node of one block, y both of the other; a gang of two finds one. */
static void test_room(void)
{
    struct play p;
    blocks(&p, "order: fifo\n");
    submit(&p, "x", "main", 1, 4, NULL, 60 * MINUTE);
    submit(&p, "y", "main", 2, 4, "block", 0);
    p.at += 20 * MINUTE;
    submit(&p, "z", "main", 2, 4, "block", 60 * MINUTE);
    explains(&p, "z",
             "needs 2 whole nodes in one block; the best, b0, has room for 1; 4 GPUs "
             "there are "
             "held by job x for about 40 min more (its limit); would start now with 1");
    submit(&p, "zz", "main", 4, 3, NULL, 60 * MINUTE);
    explains(&p, "zz",
             "needs 4 tasks of 3 GPUs; there is room for 1; 4 GPUs are held by job x "
             "for about "
             "40 min more (its limit); 8 GPUs are held by job y, nobody has told until "
             "when; "
             "would start now with 1; 1 gang stands before it");
    play_done(&p);
}

static void test_down(void)
{
    struct play p;
    play_init(&p);
    play_policy(&p, "order: fifo\n");
    play_node(&p, "n1", 4, NULL, NULL, NODE_UP);
    play_node(&p, "n2", 4, NULL, NULL, NODE_DOWN);
    play_synced(&p);
    play_border(&p);
    submit(&p, "z", "main", 2, 2, NULL, 0);
    submit(&p, "u", "main", 3, 2, NULL, 0);
    explains(&p, "u",
             "needs 3 tasks of 2 GPUs; there is room for 0; 4 GPUs are held by job z, "
             "nobody has "
             "told until when; 1 node is drained, down or spare");
    play_done(&p);
}

/* x ends after an hour at most, and a minute for the end itself. */
static void test_reservation(void)
{
    struct play p;
    blocks(&p, "order: fifo\nreserve: gangs\nreservations: 1\n");
    submit(&p, "x", "main", 1, 4, NULL, 60 * MINUTE);
    submit(&p, "y", "main", 2, 4, "block", 300 * MINUTE);
    submit(&p, "z", "main", 2, 4, "block", 60 * MINUTE);
    explains(&p, "z",
             "needs 2 whole nodes in one block; the best, b0, has room for 1; 4 GPUs "
             "there are "
             "held by job x for about 60 min more (its limit); would start now with 1; "
             "free already: "
             "1 of the 2 places kept for it; it is promised a start within 61 min");
    submit(&p, "zw", "main", 1, 4, NULL, 90 * MINUTE);
    explains(&p, "zw",
             "needs 1 whole node; there is room for 0; 4 GPUs are held by job x for "
             "about 60 min "
             "more (its limit); 4 GPUs are kept for job z; 8 GPUs are held by job y "
             "for about "
             "5 h more (its limit); 1 gang stands before it");
    play_done(&p);
}

static void test_quota(void)
{
    struct play p;
    blocks(&p, "order: fifo\nquotas: static\nqueues:\n  a: {guaranteed: {gpu: 6}}\n"
               "  b: {guaranteed: {gpu: 10}}\n");
    submit(&p, "x", "a", 1, 4, NULL, 0);
    submit(&p, "z", "a", 1, 3, NULL, 0);
    explains(&p, "z", "queue a may use 6 GPUs and uses 4; it asks for 3");
    play_done(&p);
}

/* The launch of a job that comes now, asked again on the state before it. */
static void places(struct play *p, const char *job, const char *want)
{
    struct explain_second e = {0};
    struct buf b = {0}, state = {0};
    struct sched *before;
    sched_save(p->s, &state);
    struct record border = {.kind = REC_BORDER};
    play_fold(p, &border);
    records_clear(&p->out);
    if (sched_load(&before, buf_as_str(&state), NULL))
        fail("the state does not load");
    border.seq = p->seq;
    sched_fold(before, &border);
    sched_decide(p->s, &p->out);
    p->seq += p->out.list.n;
    const struct record *d = play_find(p, DE_LAUNCH, 0);
    uint64_t digest = sched_digest(before, DIGEST_ALL);
    if (!d || !str_eq(d->launch.gang.job, str_of(job)) ||
        sched_explain_launch(&e, before, d, NULL))
        fail("%s is not launched", job);
    saying_second(&e, &b);
    is_mem(b.data, b.len, want, "%s", want);
    ok(sched_digest(before, DIGEST_ALL) == digest, "... and the state is as it was");
    sched_destroy(before);
    explain_second_done(&e);
    buf_done(&b);
    buf_done(&state);
    play_run(p);
    play_border(p);
}

static void bring(struct play *p, const char *name, uint32_t gpus)
{
    struct shape sh = play_shape(gpus);
    play_job(p, name, 1, 1, &sh, NULL);
}

/* One node has 1 GPU free, one has 3, one all 4: two GPUs go where three are. */
static void test_second(void)
{
    struct play p;
    play_init(&p);
    play_policy(&p, "order: fifo\nnode: fewest_free\n");
    play_node(&p, "n1", 4, NULL, NULL, NODE_UP);
    play_node(&p, "n2", 4, NULL, NULL, NODE_UP);
    play_node(&p, "n3", 4, NULL, NULL, NODE_UP);
    play_synced(&p);
    play_border(&p);
    submit(&p, "x", "main", 1, 3, NULL, 0);
    bring(&p, "y", 2);
    places(&p, "y",
           "n2, with 2 GPUs left free on its node; the next best was n3, with 2 GPUs "
           "left free "
           "on its node");
    bring(&p, "z", 2);
    places(&p, "z",
           "n2, with 0 GPUs left free on its node; the next best was n3, with 2 GPUs "
           "left free "
           "on its node");
    bring(&p, "v", 4);
    places(&p, "v", "n3, with 0 GPUs left free on its node; there was no other place");
    play_done(&p);
}

/* Four GPUs for one hour against four for two: the younger one goes. */
static void test_evictions(void)
{
    struct play p;
    struct explain_evictions e;
    struct buf b = {0}, state = {0};
    struct sched *border;
    play_init(&p);
    play_policy(&p, "order: shortest\npreempt: order\nprotect: 0s\n");
    play_node(&p, "n1", 4, NULL, NULL, NODE_UP);
    play_node(&p, "n2", 4, NULL, NULL, NODE_UP);
    play_synced(&p);
    play_border(&p);
    submit(&p, "old", "main", 1, 4, NULL, 600 * MINUTE);
    p.at += 60 * MINUTE;
    submit(&p, "young", "main", 1, 4, NULL, 600 * MINUTE);
    p.at += 60 * MINUTE;
    struct shape sh = play_shape(4);
    struct group_spec g = {.parent = GROUP_NONE, .count = {1, 1, 1, 1}, .whole = 1};
    struct job_spec spec = {.name = STR("quick"),
                            .queue = play_word(&p, "main"),
                            .expected_us = 30 * MINUTE,
                            .time_limit_us = 60 * MINUTE,
                            .submitted_at = p.at,
                            .ngroups = 1,
                            .nshapes = 1,
                            .groups = &g,
                            .shapes = &sh};
    struct record r = {.kind = EV_JOB_SET};
    r.job_set = &spec;
    play_fold(&p, &r);
    struct record at = {.kind = REC_BORDER};
    play_fold(&p, &at);
    sched_save(p.s, &state);
    records_clear(&p.out);
    sched_decide(p.s, &p.out);
    p.seq += p.out.list.n;
    ok(play_find(&p, DE_STOP, 0) != NULL, "somebody is stopped for the shorter job");
    if (sched_load(&border, buf_as_str(&state), NULL))
        fail("the state does not load");
    struct gang_ref gang = {.job = STR("quick")};
    uint64_t digest = sched_digest(border, DIGEST_ALL);
    ok(sched_explain_evictions(&e, border, &gang, NULL) == 0,
       "the border is asked again");
    saying_evictions(&e, &b);
    is_mem(b.data, b.len, "young, with 4 GPU-hours lost; the next best: old, with 8",
           "%.*s", (int)b.len, b.data);
    ok(sched_digest(border, DIGEST_ALL) == digest, "... and the state is as it was");
    explain_evictions_done(&e);
    sched_destroy(border);
    buf_done(&b);
    buf_done(&state);
    play_done(&p);
}

int main(void)
{
    test_room();
    test_down();
    test_reservation();
    test_quota();
    test_second();
    test_evictions();
    return done_testing();
}
