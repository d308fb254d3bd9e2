/* test-twin.c - the twin as a world, driven by hand: the test is the scheduler
 * Every expected time is worked out in the comment beside it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <errno.h>

#include "base/units.h"
#include "world/twin/faultlist.h"
#include "world/twin/twin.h"

#define S US_PER_S
#define NEVER INT64_MAX

enum { NODES = 4, GPUS = 8 };

struct stage { /* four nodes of 8 GPUs in two racks, and what the twin said last */
    struct words words;
    struct device_type type;
    struct device_desc devices[GPUS];
    struct node_part place[NODES];
    struct node_desc nodes[NODES];
    word_t levels[1];
    struct trace_job jobs[8];
    struct truth truth;
    struct belief belief;
    struct twin_options o;
    struct twin *twin;
    struct records batch, orders;
    struct err err;
    uint64_t launch;
    struct twin_outcome outcomes[8];
    uint32_t noutcomes;
    int64_t instants[64];
    uint32_t ninstants, arrivals;
};

static void on_end(void *arg, const struct twin_outcome *o)
{
    struct stage *s = arg;
    if (s->noutcomes < 8)
        s->outcomes[s->noutcomes++] = *o;
}

static void on_instant(void *arg, int64_t at)
{
    struct stage *s = arg;
    if (s->ninstants < 64)
        s->instants[s->ninstants++] = at;
}

static void on_arrival(void *arg, const struct trace_job *row)
{
    (void)row;
    ((struct stage *)arg)->arrivals++;
}

static struct trace_job job(int64_t submit_s, int64_t run_s, uint32_t gpus)
{
    return (struct trace_job){.name = STR("x"),
                              .submit_us = submit_s * S,
                              .start_us = TRACE_NEVER,
                              .end_us = TRACE_NEVER,
                              .run_us = run_s * S,
                              .gpus = gpus,
                              .gpu_milli = 1000};
}

static struct stage *stage(void)
{
    static const char *const names[NODES] = {"n0", "n1", "n2", "n3"};
    struct stage *s = calloc(1, sizeof *s);
    s->type.name = words_add(&s->words, STR("G"));
    s->levels[0] = words_add(&s->words, STR("rack"));
    for (int i = 0; i < GPUS; i++)
        s->devices[i] = (struct device_desc){.type = &s->type, .modes = DEVICE_WHOLE};
    for (int i = 0; i < NODES; i++) {
        s->place[i] = (struct node_part){
            s->levels[0], words_add(&s->words, i < 2 ? STR("r0") : STR("r1"))};
        s->nodes[i] = (struct node_desc){.name = str_of(names[i]),
                                         .ndevices = GPUS,
                                         .devices = s->devices,
                                         .nplace = 1,
                                         .place = &s->place[i]};
    }
    truth_init(&s->truth);
    belief_init(&s->belief);
    s->o = (struct twin_options){.words = &s->words, .nodes = s->nodes, .nnodes = NODES,
                                 .levels = s->levels, .nlevels = 1, .jobs = s->jobs,
                                 .gpus_per_node = GPUS, .truth = &s->truth,
                                 .belief = &s->belief, .on_end = on_end,
                                 .on_instant = on_instant, .on_arrival = on_arrival, .arg = s};
    return s;
}

static void leave(struct stage *s)
{
    twin_destroy(s->twin);
    records_done(&s->batch);
    records_done(&s->orders);
    words_done(&s->words);
    free(s);
}

static int wait_due(struct stage *s, int64_t due, bool each)
{
    struct world *w = twin_world(s->twin);
    records_clear(&s->batch);
    return w->wait(w, due, BATCH_MAX, each, &s->batch, &s->err);
}

static int wait_on(struct stage *s)
{
    return wait_due(s, NEVER, false);
}

/* Make the twin and take its first batches, up to the first that has no node in it. */
static void begin(struct stage *s, uint32_t njobs)
{
    s->o.njobs = njobs;
    if (twin_create(&s->twin, &s->o, &s->err))
        bail("%s", s->err.text);
}

static const struct record *at(const struct stage *s, uint32_t i)
{
    static const struct record none;
    return i < s->batch.list.n ? &s->batch.list.at[i] : &none;
}

static const struct record *find(const struct stage *s, int kind)
{
    for (uint32_t i = 0; i < s->batch.list.n; i++)
        if (s->batch.list.at[i].kind == kind)
            return &s->batch.list.at[i];
    return NULL;
}

static uint32_t count(const struct stage *s, int kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->batch.list.n; i++)
        n += s->batch.list.at[i].kind == kind;
    return n;
}

static int64_t when(const struct stage *s)
{
    return at(s, 0)->at / S;
}

/* Launch the slots of a job: task i on nodes[i]; leaf 0 alone, or leaves 1, 1, ... of a gang. */
static void launch_on(struct stage *s, const char *name, const char *const *nodes, uint32_t n)
{
    struct world *w = twin_world(s->twin);
    records_clear(&s->orders);
    struct record *r = records_add(&s->orders, DE_LAUNCH);
    struct seat *seats = arena_zero(&s->orders.arena, n * sizeof *seats);
    for (uint32_t i = 0; i < n; i++) {
        seats[i].slot.leaf = n > 1 ? 1 : 0;
        seats[i].slot.index = i;
        seats[i].node = str_of(nodes[i]);
        seats[i].devs = 0xff;
    }
    r->launch.launch = UINT64_C(1) << 40 | ++s->launch;
    r->launch.gang.job = str_of(name);
    r->launch.seats = seats;
    r->launch.nseats = n;
    if (w->act(w, &s->orders, &s->err))
        bail("%s", s->err.text);
}

static void launch_one(struct stage *s, const char *name, const char *node)
{
    launch_on(s, name, &node, 1);
}

static void stop_task(struct stage *s, const char *name, uint16_t leaf, uint32_t index,
                      enum stop_first first)
{
    struct world *w = twin_world(s->twin);
    struct task_ref ref = {.launch = UINT64_C(1) << 40 | s->launch,
                           .gang = {.job = str_of(name)},
                           .slot = {leaf, index}};
    records_clear(&s->orders);
    struct record *r = records_add(&s->orders, DE_STOP);
    r->stop.tasks = &ref;
    r->stop.ntasks = 1;
    r->stop.first = (uint8_t)first;
    if (w->act(w, &s->orders, &s->err))
        bail("%s", s->err.text);
}

static void test_begins(void)
{
    struct stage *s = stage();
    s->jobs[0] = job(5, 10, 1);
    begin(s, 1);
    is_int(wait_on(s), 1, "a first batch comes");
    uint32_t words = count(s, REC_WORD);
    is_int(words, 4, "words first: G, rack, r0, r1");
    is_int(at(s, 0)->kind, REC_WORD, "... in front");
    is_int(at(s, words)->kind, EV_LEAD, "then the lead");
    ok(at(s, words)->lead.held && at(s, words)->lead.term == 1, "held, term 1");
    is_int(at(s, words + 1)->kind, EV_SYNC_BEGIN, "then sync_begin");
    ok(at(s, words + 1)->sync.caps & CAP_MAKE, "this world makes the tasks");
    is_int(count(s, EV_NODE_SET), NODES, "each node");
    is_int(at(s, words + 2 + NODES)->kind, EV_SYNCED, "then synced");
    is_int(when(s), 5, "all at the first arrival's time");
    is_int(wait_on(s), 1, "the next batch");
    is_int(at(s, 0)->kind, EV_JOB_SET, "is the arrival");
    is_int(when(s), 5, "at the same time");
    leave(s);
}

static void test_one_job(void)
{
    struct stage *s = stage();
    s->jobs[0] = job(0, 100, 2);
    begin(s, 1);
    wait_on(s);
    wait_on(s);
    launch_one(s, "00000000", "n1");
    is_int(wait_on(s), 1, "the launch is answered");
    const struct record *r = find(s, EV_TASK_AT);
    ok(r && r->task_at.phase == TASK_RUNNING && str_is(r->task_at.node, "n1") &&
           r->task_at.devs == 0xff && r->task_at.ref.launch == (UINT64_C(1) << 40 | 1),
       "by task_at: running, where, with what, which launch");
    is_int(when(s), 0, "at once, since nothing delays it");
    is_int(wait_on(s), 1, "then it ends");
    r = find(s, EV_TASK_ENDED);
    ok(r && r->task_ended.how == ENDED_DONE && r->task_ended.exit == 0, "done");
    is_int(when(s), 100, "after its run time");
    is_int(s->noutcomes, 1, "one outcome");
    is_int(s->outcomes[0].first_start_us, 0, "started at 0");
    is_int(s->outcomes[0].end_us, 100 * S, "ended at 100 s");
    is_int(wait_on(s), 0, "and the world is over");
    is_int(s->arrivals, 1, "on_arrival was called once");
    ok(s->ninstants >= 2 && s->instants[0] == 0 && s->instants[1] == 100 * S,
       "on_instant before the clock moved, and at the end");
    leave(s);
}

/* What the record calls failed did its recorded time and nothing more. */
static void test_failed_row(void)
{
    struct stage *s = stage();
    s->jobs[0] = job(0, 100, 1);
    s->jobs[0].state = TRACE_FAILED;
    begin(s, 1);
    wait_on(s);
    wait_on(s);
    launch_one(s, "00000000", "n1");
    wait_on(s);
    wait_on(s);
    const struct record *r = find(s, EV_TASK_ENDED);
    ok(r && r->task_ended.how == ENDED_DONE && r->task_ended.exit == 1 && when(s) == 100,
       "a failed row is done after its time, with exit code 1");
    ok(s->outcomes[0].failed && s->outcomes[0].lost_us == 0, "and reported as failed");
    leave(s);
}

static void test_delays(void)
{
    struct stage *s = stage();
    s->jobs[0] = job(0, 100, 1);
    s->truth.start_us = 7 * S;
    s->truth.stop_us = 3 * S;
    begin(s, 1);
    wait_on(s);
    wait_on(s);
    launch_one(s, "00000000", "n0");
    wait_on(s);
    is_int(when(s), 7, "running 7 s after the launch");
    ok(find(s, EV_TASK_AT) != NULL, "... by task_at");
    /* The core wants `time` at 20: stop then; it takes effect at 23, after 16 s of work. */
    is_int(wait_due(s, 20 * S, false), 1, "time is told when it is due");
    is_int(at(s, 0)->kind, EV_TIME, "... as a time event");
    is_int(when(s), 20, "... at 20");
    stop_task(s, "00000000", 0, 0, STOP_NOW);
    wait_on(s);
    const struct record *r = find(s, EV_TASK_ENDED);
    ok(r && r->task_ended.how == ENDED_KILLED, "the stop is answered by killed");
    is_int(when(s), 23, "3 s later");
    launch_one(s, "00000000", "n0");
    wait_on(s);
    is_int(when(s), 30, "it starts again");
    wait_on(s);
    is_int(when(s), 130, "and does all its work anew, having no checkpoint");
    is_int(s->outcomes[0].lost_us, 16 * S, "16 s were lost");
    is_int(s->outcomes[0].restarts, 1, "one restart");
    leave(s);
}

static void test_gang_and_speed(void)
{
    static const char *const apart[] = {"n0", "n2"}, *const near[] = {"n0", "n1"};
    struct stage *s = stage();
    s->jobs[0] = job(0, 60, 16);
    s->jobs[1] = job(0, 60, 16);
    snprintf(s->truth.level.at[0].name, 8, "cluster");
    s->truth.level.at[0].ppm = 500000;
    s->truth.level.n = 1;
    begin(s, 2);
    wait_on(s);
    wait_on(s);
    is_int(count(s, EV_JOB_SET), 2, "both arrive in one batch");
    launch_on(s, "00000000", apart, 2);
    wait_on(s);
    is_int(count(s, EV_TASK_AT), 2, "both tasks of the gang run");
    launch_on(s, "00000001", near, 2);
    wait_on(s);
    wait_on(s);
    is_int(when(s), 60, "one rack: full speed");
    is_int(count(s, EV_TASK_ENDED), 2, "all tasks end together");
    ok(at(s, 0)->task_ended.ref.slot.index == 0 && at(s, 1)->task_ended.ref.slot.index == 1,
       "in the order of their slots");
    wait_on(s);
    is_int(when(s), 120, "two racks at factor 0.5: twice the time");
    ok(!s->outcomes[0].cross && s->outcomes[1].cross,
       "16 GPUs fit into one rack, so two racks are a crossing");
    leave(s);
}

/* A lone member of a gang that is not whole does no work. */
static void test_half_gang(void)
{
    static const char *const both[] = {"n0", "n1"};
    struct stage *s = stage();
    s->jobs[0] = job(0, 60, 16);
    begin(s, 1);
    wait_on(s);
    wait_on(s);
    launch_on(s, "00000000", both, 2);
    wait_on(s);
    wait_due(s, 10 * S, false);
    stop_task(s, "00000000", 1, 0, STOP_NOW);
    wait_on(s);
    is_int(count(s, EV_TASK_ENDED), 1, "one of two is stopped after 10 s");
    is_int(wait_due(s, 500 * S, false), 1, "the other one waits");
    is_int(at(s, 0)->kind, EV_TIME, "... and nothing ends");
    twin_finish(s->twin);
    is_int(s->outcomes[0].lost_us, 10 * S, "its 10 s are lost");
    is_int(s->outcomes[0].end_us, INT64_MIN, "it did not end");
    leave(s);
}

/* The example of work.c: interval 60, save 5; the node breaks after 150 s. Two cycles of 65 s
 * are over, so 120 s are safe; 130..150 s are 20 s of work that are lost. 300 - 120 = 180 s
 * are left: 180 s of work and two pauses (after 60 and 120; none at the very end). */
static void test_checkpoint(void)
{
    struct stage *s = stage();
    s->jobs[0] = job(0, 300, 1);
    s->belief.ckpt_interval_us = 60 * S;
    s->belief.ckpt_save_us = 5 * S;
    s->belief.ckpt_restore_us = 11 * S;
    begin(s, 1);
    twin_node_fault(s->twin, 0, 150 * S, 200 * S);
    wait_on(s);
    wait_on(s);
    const struct record *r = find(s, EV_JOB_SET);
    ok(r && r->job_set->checkpoint == CHECKPOINT_SELF &&
           r->job_set->ckpt_interval_us == 60 * S, "the spec declares checkpoints");
    launch_one(s, "00000000", "n0");
    wait_on(s);
    wait_on(s);
    is_int(when(s), 65, "a checkpoint is written after one cycle");
    ok(find(s, EV_CHECKPOINT_SAVED) != NULL, "... and reported");
    wait_on(s);
    is_int(when(s), 130, "and after two");
    wait_on(s);
    is_int(when(s), 150, "the node breaks");
    ok(at(s, 0)->kind == EV_TASK_ENDED && at(s, 0)->task_ended.how == ENDED_LOST,
       "the task is lost, said first");
    ok(at(s, 1)->kind == EV_NODE_SET && at(s, 1)->node_set->state == NODE_DOWN,
       "then the node is down");
    launch_one(s, "00000000", "n1");
    wait_on(s);
    is_int(when(s), 161, "11 s to restore before it runs");
    wait_on(s);
    is_int(when(s), 200, "the node is mended");
    ok(at(s, 0)->kind == EV_NODE_SET && at(s, 0)->node_set->state == NODE_UP &&
           at(s, 1)->kind == EV_SYNC_BEGIN && str_is(at(s, 1)->sync.node, "n0") &&
           at(s, 2)->kind == EV_SYNCED && str_is(at(s, 2)->sync.node, "n0"),
       "up, sync_begin, synced: by name");
    while (wait_on(s) == 1 && !find(s, EV_TASK_ENDED))
        ;
    is_int(when(s), 161 + 180 + 10, "it ends after what was left and two pauses");
    is_int(s->outcomes[0].lost_us, 20 * S, "20 s were lost");
    leave(s);
}

static void test_checkpoint_first(void)
{
    struct stage *s = stage();
    s->jobs[0] = job(0, 300, 1);
    s->belief.ckpt_interval_us = 1000 * S;
    s->belief.ckpt_save_us = 5 * S;
    begin(s, 1);
    wait_on(s);
    wait_on(s);
    launch_one(s, "00000000", "n0");
    wait_on(s);
    wait_due(s, 100 * S, false);
    stop_task(s, "00000000", 0, 0, STOP_CHECKPOINT);
    wait_on(s);
    is_int(when(s), 105, "a stop that saves first takes as long as the save");
    launch_one(s, "00000000", "n0");
    wait_on(s);
    wait_on(s);
    is_int(when(s), 305, "200 s were left");
    is_int(s->outcomes[0].lost_us, 0, "nothing is lost");
    leave(s);
}

/* At second 50: job 0 ends, n3 breaks, job 1 arrives. */
static void test_order_of_an_instant(void)
{
    struct stage *s = stage();
    s->jobs[0] = job(0, 50, 1);
    s->jobs[1] = job(50, 1, 1);
    begin(s, 2);
    twin_node_fault(s->twin, 3, 50 * S, 60 * S);
    wait_on(s);
    wait_on(s);
    launch_one(s, "00000000", "n0");
    wait_on(s);
    is_int(wait_due(s, 50 * S, false), 1, "one batch for the instant");
    static const int kinds[] = {EV_TASK_ENDED, EV_NODE_SET, EV_JOB_SET, EV_TIME};
    is_int(s->batch.list.n, 4, "of four records");
    for (uint32_t i = 0; i < 4; i++)
        is_int(at(s, i)->kind, kinds[i], "%u: ends, nodes, arrivals, the rest", i);
    leave(s);
}

static void test_each(void)
{
    struct stage *s = stage();
    for (int i = 0; i < 3; i++)
        s->jobs[i] = job(0, 10, 1);
    begin(s, 3);
    wait_on(s);
    for (uint32_t i = 0; i < 3; i++) {
        wait_due(s, NEVER, true);
        is_int(count(s, EV_JOB_SET), 1, "border each: one arrival in batch %u", i);
        is_int(s->arrivals, i, "... and the one before was decided about");
    }
    leave(s);
}

static void test_order_and_ranks(void)
{
    static const uint32_t order[] = {1, 0, 1}, ranks[] = {3, 2, 1, 0};
    struct stage *s = stage();
    s->jobs[0] = job(0, 10, 1);
    s->jobs[1] = job(0, 10, 2);
    s->o.order = order;
    s->o.norder = 3;
    s->o.ranks = ranks;
    s->o.forever = true;
    begin(s, 2);
    wait_on(s);
    ok(str_is(find(s, EV_NODE_SET)->node_set->name, "0003-n0"), "nodes carry their rank");
    static const uint32_t gpus[] = {2, 1, 2};
    for (uint32_t i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "%08u", i);
        wait_due(s, NEVER, true);
        const struct record *r = find(s, EV_JOB_SET);
        ok(r && str_is(r->job_set->name, name), "arrival %u is called by its serial", i);
        is_int(r ? r->job_set->shapes[0].gpu_count : 0, gpus[i], "... and is the right row");
    }
    is_int(wait_due(s, NEVER, true), 0, "over: nothing ever ends");
    leave(s);
}

static void test_recorded(void)
{
    struct stage *s = stage();
    s->jobs[0] = job(0, 10, 1);
    s->jobs[1] = job(0, 10, 2);
    s->jobs[2] = job(1, 10, 3);
    s->jobs[0].start_us = 30 * S;
    s->jobs[2].start_us = 20 * S;
    s->o.recorded = true;
    begin(s, 3);
    wait_on(s);
    wait_on(s);
    is_int(when(s), 20, "the first recorded start");
    is_int(find(s, EV_JOB_SET)->job_set->shapes[0].gpu_count, 3, "... is row 2's");
    wait_on(s);
    is_int(when(s), 30, "then row 0");
    is_int(wait_on(s), 0, "and row 1, which never started, does not come");
    struct twin_counts c;
    twin_counts(s->twin, &c);
    is_int(c.skipped, 1, "it is counted");
    twin_finish(s->twin);
    is_int(s->outcomes[0].submit_us, S, "outcomes tell the recorded submission, of row 2");
    leave(s);
}

static void test_until(void)
{
    struct stage *s = stage();
    s->jobs[0] = job(10, 1000, 1);
    s->jobs[1] = job(500, 1, 1);
    s->o.until_us = 100 * S;
    begin(s, 2);
    wait_on(s);
    wait_on(s);
    launch_one(s, "00000000", "n0");
    wait_on(s);
    is_int(wait_on(s), 1, "the limit comes");
    ok(at(s, 0)->kind == EV_TIME && when(s) == 110, "as time, so the ledger runs to it");
    is_int(wait_on(s), 0, "then it is over");
    twin_finish(s->twin);
    is_int(s->noutcomes, 1, "what arrived later is not counted");
    ok(s->outcomes[0].first_start_us == 10 * S && s->outcomes[0].end_us == INT64_MIN,
       "what still ran is cut");
    leave(s);
}

static void test_launch_onto_a_broken_node(void)
{
    struct stage *s = stage();
    s->jobs[0] = job(0, 10, 1);
    s->jobs[1] = job(5, 10, 1);
    begin(s, 2);
    twin_node_fault(s->twin, 2, 5 * S, 50 * S);
    wait_on(s);
    wait_on(s);
    wait_on(s);
    ok(find(s, EV_NODE_SET) && find(s, EV_JOB_SET), "n2 breaks as job 1 arrives");
    launch_one(s, "00000001", "n2");
    wait_on(s);
    const struct record *r = find(s, EV_TASK_REFUSED);
    ok(r && r->task_refused.class_ == REFUSED_NODE, "a launch onto it is refused");
    is_int(count(s, EV_TASK_AT), 0, "nothing starts there");
    leave(s);
}

static void test_orders_that_make_no_sense(void)
{
    static const char *const names[] = {"00000007", "nobody", "0000000x"};
    struct stage *s = stage();
    s->jobs[0] = job(0, 10, 1);
    begin(s, 1);
    wait_on(s);
    wait_on(s);
    for (uint32_t i = 0; i < 3; i++) {
        struct world *w = twin_world(s->twin);
        records_clear(&s->orders);
        struct record *r = records_add(&s->orders, DE_LAUNCH);
        r->launch.gang.job = str_of(names[i]);
        is_int(w->act(w, &s->orders, &s->err), -EPROTO, "launch of '%s' is a broken core",
               names[i]);
    }
    stop_task(s, "00000000", 0, 0, STOP_NOW);
    is_int(wait_on(s), 0, "a stop of what is not there changes nothing");
    leave(s);
}

static void test_scripted(void)
{
    struct shape shape = {.pod_slots = 1, .gpu_mode = GPU_WHOLE, .gpu_count = 1,
                          .gpu_milli = 1000};
    struct group_spec leaf = {.parent = GROUP_NONE, .count = {2, 2, 2, 1}};
    struct job_spec spec = {.name = STR("pair"), .ngroups = 1, .nshapes = 1, .groups = &leaf,
                            .shapes = &shape};
    struct record cancel = {.kind = EV_JOB_DO};
    struct stage *s = stage();
    cancel.job_do.job = spec.name;
    cancel.job_do.verb = JOB_CANCEL;
    s->o.jobs = NULL;
    begin(s, 0);
    twin_submit(s->twin, 3 * S, &spec, 20 * S);
    twin_post(s->twin, 9 * S, &cancel);
    wait_on(s);
    wait_on(s);
    ok(find(s, EV_JOB_SET) && when(s) == 3, "a submitted spec arrives in its time");
    wait_on(s);
    ok(find(s, EV_JOB_DO) && when(s) == 9, "a posted event too");
    is_int(wait_on(s), 0, "and then nothing");
    twin_finish(s->twin);
    is_int(s->noutcomes, 1, "its outcome is told");
    leave(s);
}

/* 1,000 nodes for 1,000 days at 4.2: 4,200 faults a million node-days (less those of nodes
 * that are down); sd sqrt(4200) = 65. Nodes are down 5.5 days in 238, so 2.3 % fewer. */
static void test_fault_rate(void)
{
    enum { MANY = 1000 };
    struct stage *s = stage();
    struct node_desc *nodes = calloc(MANY, sizeof *nodes);
    char (*names)[8] = calloc(MANY, sizeof *names);
    int64_t *down = calloc(MANY, sizeof *down), *repairs = calloc(20000, sizeof *repairs);
    uint32_t n = 0, nrepairs = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(names[i], 8, "m%04u", i);
        nodes[i] = (struct node_desc){.name = str_of(names[i])};
    }
    s->o.nodes = nodes;
    s->o.nnodes = MANY;
    s->o.nlevels = 0;
    s->truth.fault_rate = 4.2;
    s->jobs[0] = job(0, 1000 * 86400, 1);
    s->o.forever = false;
    begin(s, 1);
    wait_on(s);
    wait_on(s);
    launch_one(s, "00000000", "m0000");
    /* The job is lost now and then; it is not restarted: a far post keeps the world alive. */
    struct record far = {.kind = EV_TIME};
    twin_post(s->twin, 1000 * US_PER_DAY, &far);
    while (wait_on(s) == 1 && at(s, 0)->at < 1000 * US_PER_DAY) {
        for (uint32_t i = 0; i < s->batch.list.n; i++) {
            const struct record *r = at(s, i);
            if (r->kind != EV_NODE_SET)
                continue;
            uint32_t node = (uint32_t)atoi(r->node_set->name.ptr + 1);
            if (r->node_set->state == NODE_DOWN) {
                n++;
                down[node] = r->at;
            } else if (nrepairs < 20000) {
                repairs[nrepairs++] = r->at - down[node];
            }
        }
    }
    is_near(n, 4200 * 0.977, 4 * 65, "%u faults in a million node-days", n);
    uint32_t shorter = 0;
    for (uint32_t i = 0; i < nrepairs; i++)
        shorter += repairs[i] < 1224 * US_PER_MIN;
    is_near((double)shorter / nrepairs, 0.5, 0.04, "half of the repairs are below 20.4 h");
    leave(s);
    free(nodes);
    free(names);
    free(down);
    free(repairs);
}

static void test_fault_list(void)
{
    static const struct faultlist_row rows[] = {
        {0, 10, 20}, {1, 30, 35}, {1, 90, 130}, {2, 50, 60}};
    struct twin_fault *f;
    uint32_t n = faultlist_map(rows, 4, 3, 100, 3, 7, &f);
    is_int(n, 4, "as many nodes as servers: each fault once");
    bool sorted = true, lengths = true;
    for (uint32_t i = 0; i < n; i++) {
        sorted &= !i || f[i].from_us >= f[i - 1].from_us;
        lengths &= f[i].node < 3;
    }
    ok(sorted && lengths, "in time order, on nodes that exist");
    ok(f[0].from_us == 10 && f[0].until_us == 20, "times stay on the first nodes");
    ok(f[1].node == f[3].node && f[0].node != f[1].node && f[2].node != f[1].node,
       "a server stays one node");
    free(f);
    n = faultlist_map(rows, 4, 3, 100, 9, 7, &f);
    is_int(n, 12, "three times the nodes: three times the faults");
    int64_t longest = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t length = f[i].until_us - f[i].from_us;
        longest = length > longest ? length : longest;
        if (f[i].from_us < 0 || f[i].from_us >= 100)
            fail("fault %u begins outside the span", i);
    }
    is_int(longest, 40, "repairs keep their length when they are turned in time");
    free(f);
    n = faultlist_map(rows, 4, 3, 100, 1, 7, &f);
    cmp_ok(n, <=, 2, "one node: one server's faults at most");
    free(f);
}

static void say(struct stage *s, const char *name, uint16_t code)
{
    records_clear(&s->orders);
    struct record *r = records_add(&s->orders, DE_SAY);
    r->say.gang.job = str_of(name);
    r->why = (struct why){.code = code, .need = 4, .have = 3};
    struct world *w = twin_world(s->twin);
    if (w->act(w, &s->orders, &s->err))
        bail("%s", s->err.text);
}

/* Nobody starts the job. Node 3 is down until 1000 s, node 2 from 900 s to 50000 s: at 1000 s
 * each node has been back. Returns when the world ends, in seconds. */
static int64_t ends_at(uint32_t gpus, uint16_t reason, const char *second)
{
    struct twin_fault faults[] = {{3, 5 * S, 1000 * S}, {2, 900 * S, 50000 * S}};
    struct stage *s = stage();
    s->jobs[0] = job(0, 10, 1);
    s->jobs[1] = job(6, 10, gpus);
    s->jobs[2] = job(6, 10, 1);
    s->o.faults = faults;
    s->o.nfaults = 2;
    begin(s, second ? 3 : 2);
    bool told = false, launched = false;
    int64_t last = 0;
    while (wait_on(s) == 1) {
        last = when(s);
        if (!launched && find(s, EV_JOB_SET)) {
            launch_one(s, "00000000", "n0");
            launched = true;
        } else if (!told && find(s, EV_JOB_SET)) {
            say(s, "00000001", reason);
            if (second)
                say(s, second, WHY_BEHIND);
            told = true;
        }
    }
    twin_finish(s->twin);
    ok(s->noutcomes > 1 && s->outcomes[1].why.code == reason && s->outcomes[1].why.have == 3,
       "the last reason comes with the outcome");
    leave(s);
    return last;
}

static void test_waits_no_longer_than_for_repairs(void)
{
    is_int(ends_at(32, WHY_NEEDS_ROOM, NULL), 1000,
           "32 of 32 GPUs: the run waits for the repair, not for later faults");
    is_int(ends_at(33, WHY_NEEDS_ROOM, NULL), 10, "33 of 32 GPUs: it ends with the last job");
    is_int(ends_at(33, WHY_NEEDS_ROOM, "00000002"), 10, "also when others wait behind it");
    is_int(ends_at(32, WHY_NEEDS_ROOM, "00000002"), 1000, "but not behind one that fits");
}

int main(void)
{
    test_begins();
    test_one_job();
    test_failed_row();
    test_delays();
    test_gang_and_speed();
    test_half_gang();
    test_checkpoint();
    test_checkpoint_first();
    test_order_of_an_instant();
    test_each();
    test_order_and_ranks();
    test_recorded();
    test_until();
    test_launch_onto_a_broken_node();
    test_orders_that_make_no_sense();
    test_scripted();
    test_fault_rate();
    test_fault_list();
    test_waits_no_longer_than_for_repairs();
    return done_testing();
}
