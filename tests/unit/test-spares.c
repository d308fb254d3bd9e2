/* test-spares.c - nodes kept for repair, and who is to blame for what failed
 * SPDX-License-Identifier: Apache-2.0 */
#include "play.h"
#include "tap.h"

#define SECOND INT64_C(1000000)

static void begin(struct play *p, const char *policy)
{
    static const char *const nodes[][2] = {{"a0", "rack=a"}, {"a1", "rack=a"},
                                           {"b0", "rack=b"}, {"b1", "rack=b"},
                                           {"b2", "rack=b"}};
    play_init(p);
    play_policy(p, policy);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        play_node(p, nodes[i][0], 4, nodes[i][1], NULL, NODE_UP);
    play_synced(p);
}

static const struct record *spares(const struct play *p)
{
    for (uint32_t i = 0; i < p->out.list.n; i++)
        if (p->out.list.at[i].kind == DE_HOLD && p->out.list.at[i].hold.what == HOLD_SPARE)
            return &p->out.list.at[i];
    return NULL;
}

static bool is_named(const struct record *r, const char *node)
{
    for (uint32_t i = 0; r && i < r->hold.nseats; i++)
        if (str_is(r->hold.seats[i].node, node))
            return true;
    return false;
}

/* The ledger's `held` after a second with one spare of 4 GPUs: 4,000 milli x 1 s. */
static void test_ledger(void)
{
    struct play p;
    struct ledger before, after;
    begin(&p, "spares: [{level: cluster, nodes: 1}]\n");
    play_border(&p);
    sched_ledger(p.s, &before);
    p.at += SECOND;
    play_border(&p);
    sched_ledger(p.s, &after);
    ok(spares(&p) == NULL, "what is kept already is not named again");
    ok(after.sum[LEDGER_HELD] - before.sum[LEDGER_HELD] == 4000 * (unsigned)SECOND,
       "an idle spare is booked as held");
    play_done(&p);
}

/* One task in rack a breaks it: of the cluster's one spare a1 costs no whole rack, though b2
 * has the highest rank. */
static void test_broken_first(void)
{
    struct play p;
    struct shape sh = play_shape(1);
    begin(&p, "spares: []\n");
    play_job(&p, "j", 1, 1, &sh, NULL);
    play_border(&p);
    play_run(&p);
    play_policy(&p, "spares: [{level: cluster, nodes: 1}]\n");
    play_border(&p);
    const struct record *r = spares(&p);
    ok(r && r->hold.nseats == 1 && is_named(r, "a1"), "a broken rack is broken further");
    play_policy(&p, "spares: [{level: rack, nodes: 1}]\n");
    play_border(&p);
    ok(is_named(spares(&p), "b2"), "one in each rack: the one of the highest rank");
    play_done(&p);
}

/* No policy wants them any longer: they are let go, and the job that waited starts. */
static void test_let_go(void)
{
    struct play p;
    struct shape sh = play_shape(4);
    begin(&p, "spares: [{level: rack, nodes: 1}]\n");
    play_job(&p, "j", 4, 4, &sh, NULL);
    play_border(&p);
    ok(play_find(&p, DE_LAUNCH, 0) == NULL, "the spares of two racks are no room for it");
    play_policy(&p, "name: none\n");
    play_border(&p);
    const struct record *r = spares(&p);
    ok(r && r->hold.until <= r->at && r->hold.nseats == 2, "both are let go");
    ok(play_find(&p, DE_LAUNCH, 0) != NULL, "... and used at once");
    play_done(&p);
}

/* A spare that goes down is one no longer, and the next empty node is named. */
static void test_replaced(void)
{
    struct play p;
    begin(&p, "spares: [{level: cluster, nodes: 1}]\n");
    play_border(&p);
    ok(is_named(spares(&p), "b2"), "among whole racks the node of the highest rank");
    play_node(&p, "b2", 4, "rack=b", NULL, NODE_DOWN);
    play_border(&p);
    ok(is_named(spares(&p), "b1"), "a spare that goes down is replaced");
    play_node(&p, "b2", 4, "rack=b", NULL, NODE_UP);
    play_border(&p);
    ok(spares(&p) == NULL, "when it is back nobody needs it");
    play_done(&p);
}

static void test_saved(void)
{
    struct play p;
    struct buf b = {0};
    struct sched *again;
    begin(&p, "spares: [{level: rack, nodes: 1}]\n");
    play_border(&p);
    sched_save(p.s, &b);
    ok(sched_load(&again, buf_as_str(&b), NULL) == 0, "a state with spares is loaded");
    sched_invariants(again);
    ok(sched_digest(again, DIGEST_ALL) == sched_digest(p.s, DIGEST_ALL),
       "... and is the same");
    sched_destroy(again);
    buf_done(&b);
    play_done(&p);
}

int main(void)
{
    test_ledger();
    test_broken_first();
    test_let_go();
    test_replaced();
    test_saved();
    return done_testing();
}
