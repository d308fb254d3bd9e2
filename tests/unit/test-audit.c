/* test-audit.c - the audit accepts what is right and names what is wrong
 * Hand-made streams: a small world, decisions as a good scheduler would make them, and
 * the same with one thing wrong. Each wrong one must be refused at its record with the
 * promise that it breaks. The ledger's numbers are worked out by hand beside each step.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <errno.h>

#include "audit/audit.h"
#include "event/ledger.h"
#include "event/records.h"

#define S INT64_C(1000000)
#define GIB (INT64_C(1) << 30)
#define TERM(n) ((uint64_t)1 << 40 | (n))

/* Words of every stream here. */
enum {
    W_NODE = 1,
    W_RACK,
    W_GPU,
    W_OTHER,
    W_DIRTY,
    W_R1,
    W_R2,
    W_WEB,
    W_POWER,
    W_P1,
    W_1G,
    W_3G,
    W_END
};
static const char *const texts[W_END] = {NULL,    "node", "rack", "gpu", "other",
                                         "dirty", "r1",   "r2",   "web", "power",
                                         "p1",    "1g",   "3g"};

static const struct profile profiles[] = {{W_1G, 0x7f, 1, 1, 10 * GIB, 142},
                                          {W_3G, 0x11, 4, 3, 40 * GIB, 428}};
static const struct device_type types[] = {
    {W_GPU, 80 * GIB, DEVICE_WHOLE | DEVICE_SHARE | DEVICE_MIG, 8, 7, 2, profiles},
    {W_OTHER, 24 * GIB, DEVICE_WHOLE, 0, 0, 0, NULL}};

struct play {
    struct audit *a;
    struct records rs;
    uint64_t seq;
    int64_t at;
    struct err err;
    int rc; /* the first refusal */
};

/* Feeds the record; remembers the first refusal. */
static void feed(struct play *p, struct record *r)
{
    r->seq = ++p->seq;
    r->at = p->at;
    if (!p->rc)
        p->rc = audit_record(p->a, r, &p->err);
}

static struct record *fresh(struct play *p, int kind)
{
    return records_add(&p->rs, kind);
}

static void border(struct play *p)
{
    feed(p, fresh(p, REC_BORDER));
}

static void tick(struct play *p, int64_t at)
{
    p->at = at;
    feed(p, fresh(p, EV_TIME));
}

static void node(struct play *p, const char *name, uint32_t ngpus, word_t rack,
                 word_t taint, uint8_t state)
{
    struct record *r = fresh(p, EV_NODE_SET);
    struct node_desc *d = arena_zero(&p->rs.arena, sizeof *d);
    struct device_desc *dev = arena_zero(&p->rs.arena, (ngpus + 1) * sizeof *dev);
    struct node_part *parts = arena_zero(&p->rs.arena, 2 * sizeof *parts);
    word_t *taints = arena_zero(&p->rs.arena, sizeof *taints);
    for (uint32_t i = 0; i < ngpus; i++)
        dev[i] = (struct device_desc){.type = &types[0],
                                      .mem_bytes = 80 * GIB,
                                      .modes = types[0].modes};
    parts[0] = (struct node_part){W_RACK, rack};
    parts[1] = (struct node_part){W_POWER, W_P1};
    taints[0] = taint;
    *d = (struct node_desc){.name = str_of(name),
                            .uid = STR("u"),
                            .cpu_milli = 16000,
                            .mem_bytes = 64 * GIB,
                            .pod_slots = 6,
                            .nics = 2,
                            .state = state,
                            .ndevices = ngpus,
                            .devices = dev,
                            .nplace = 1,
                            .place = parts,
                            .nfaults = 1,
                            .faults = parts + 1,
                            .ntaints = taint != 0,
                            .taints = taints};
    r->node_set = d;
    feed(p, r);
}

static void sync_world(struct play *p, bool begin)
{
    struct record *r = fresh(p, begin ? EV_SYNC_BEGIN : EV_SYNCED);
    r->sync.epoch = 1;
    r->sync.caps = CAP_MAKE | CAP_DEVICES;
    feed(p, r);
}

/* Two racks, n1 and n2 in r1, n3 in r2: 4 GPUs, 16 CPUs, 64 GiB each. */
static void start(struct play *p)
{
    memset(p, 0, sizeof *p);
    p->a = audit_create();
    for (word_t w = 1; w < W_END; w++) {
        struct record *r = fresh(p, REC_WORD);
        r->word.id = w;
        r->word.text = str_of(texts[w]);
        feed(p, r);
    }
    struct record *r = fresh(p, EV_LEAD);
    r->lead.held = true;
    r->lead.term = 1;
    feed(p, r);
    sync_world(p, true);
    node(p, "n1", 4, W_R1, 0, NODE_UP);
    node(p, "n2", 4, W_R1, 0, NODE_UP);
    node(p, "n3", 4, W_R2, 0, NODE_UP);
    sync_world(p, false);
}

static void finish(struct play *p)
{
    audit_destroy(p->a);
    records_done(&p->rs);
}

/* Was it refused with that text (NULL: not refused)? */
static bool refused_with(struct play *p, const char *text, const char *what)
{
    bool good = text ? p->rc == -EPROTO && strstr(p->err.text, text) : p->rc == 0;
    if (!ok(good, "%s%s%s", what, text ? ": refused with " : " is accepted",
            text ? text : ""))
        diag("   rc %d, \"%s\"", p->rc, p->err.text);
    finish(p);
    return good;
}

static struct shape whole(uint32_t n)
{
    struct shape s;
    memset(&s, 0, sizeof s);
    s.cpu_milli = 1000;
    s.mem_bytes = GIB;
    s.pod_slots = 1;
    s.gpu_mode = n ? GPU_WHOLE : GPU_NONE;
    s.gpu_count = n;
    s.gpu_milli = n ? 1000 : 0;
    return s;
}

static struct shape share(uint32_t milli, int64_t bytes)
{
    struct shape s = whole(1);
    s.gpu_mode = GPU_SHARE;
    s.gpu_milli = milli;
    s.gpu_mem_bytes = bytes;
    return s;
}

static struct shape mig(word_t profile)
{
    struct shape s = whole(1);
    s.gpu_mode = GPU_MIG;
    s.gpu_milli = 142;
    s.profile = profile;
    return s;
}

/* A gang: root whole {leaf x min..want..max}; changed by `more` before it is sent. */
typedef void (*more_f)(struct job_spec *s, struct group_spec *g, struct shape *sh);

static void job(struct play *p, const char *name, struct shape shape, uint32_t min,
                uint32_t want, more_f more)
{
    struct record *r = fresh(p, EV_JOB_SET);
    struct job_spec *s = arena_zero(&p->rs.arena, sizeof *s);
    struct group_spec *g = arena_zero(&p->rs.arena, 3 * sizeof *g);
    struct shape *sh = arena_zero(&p->rs.arena, 2 * sizeof *sh);
    sh[0] = sh[1] = shape;
    g[0] = (struct group_spec){.parent = GROUP_NONE,
                               .shape = GROUP_NONE,
                               .whole = 1,
                               .count = {1, 1, 1, 0}};
    g[1] = (struct group_spec){.parent = 0,
                               .depth = 1,
                               .shape = 0,
                               .count = {min, want, want, 0}};
    *s = (struct job_spec){.name = str_of(name),
                           .ngroups = 2,
                           .nshapes = 1,
                           .groups = g,
                           .shapes = sh,
                           .on_loss = LOSS_MEMBER,
                           .tries = 3};
    if (more)
        more(s, g, sh);
    r->job_set = s;
    feed(p, r);
}

static struct seat seat(uint32_t i, const char *node, uint64_t devs, uint16_t slices)
{
    return (struct seat){.slot = {1, i},
                         .rank = i,
                         .node = str_of(node),
                         .devs = devs,
                         .slices = slices};
}

static struct record *launch(struct play *p, const char *job, uint64_t n,
                             const struct seat *seats, uint32_t nseats)
{
    struct record *r = fresh(p, DE_LAUNCH);
    r->launch.plan = (uint32_t)n;
    r->launch.launch = TERM(n);
    r->launch.gang.job = str_of(job);
    r->launch.seats = seats;
    r->launch.nseats = nseats;
    r->launch.launch_by = p->at + 60 * S;
    r->why.code = WHY_FITS;
    return r;
}

static void launch1(struct play *p, const char *job, uint64_t n, struct seat s)
{
    feed(p, launch(p, job, n, &s, 1));
}

static struct task_ref task(const char *job, uint64_t n, uint32_t i)
{
    return (struct task_ref){.launch = TERM(n),
                             .gang = {.job = str_of(job)},
                             .slot = {1, i}};
}

static void at(struct play *p, const char *job, uint64_t n, uint32_t i,
               const char *node, uint64_t devs)
{
    struct record *r = fresh(p, EV_TASK_AT);
    r->task_at.ref = task(job, n, i);
    r->task_at.node = str_of(node);
    r->task_at.devs = devs;
    r->task_at.phase = TASK_RUNNING;
    feed(p, r);
}

static void ended(struct play *p, const char *job, uint64_t n, uint32_t i, uint8_t how)
{
    struct record *r = fresh(p, EV_TASK_ENDED);
    r->task_ended.ref = task(job, n, i);
    r->task_ended.how = how;
    feed(p, r);
}

static void say(struct play *p, const char *job, uint16_t code, uint32_t need,
                uint32_t have)
{
    struct record *r = fresh(p, DE_SAY);
    r->say.gang.job = str_of(job);
    r->why = (struct why){.code = code, .need = need, .have = have};
    feed(p, r);
}

static void stop(struct play *p, uint64_t n, struct task_ref ref, uint16_t code)
{
    struct record *r = fresh(p, DE_STOP);
    r->stop.stop = TERM(n);
    r->stop.tasks = &ref;
    r->stop.ntasks = 1;
    r->why.code = code;
    feed(p, r);
}

/* a gang's life, all right */

static void test_life(void)
{
    struct play p;
    start(&p);
    job(&p, "j", whole(2), 2, 2, NULL);
    border(&p);
    struct seat seats[] = {seat(0, "n1", 3, 0), seat(1, "n2", 0xc, 0)};
    feed(&p, launch(&p, "j", 1, seats, 2));
    p.at = 5 * S;
    at(&p, "j", 1, 0, "n1", 3);
    at(&p, "j", 1, 1, "n2", 0xc);
    border(&p);
    is_int(audit_phase(p.a, &(struct task_ref){.launch = TERM(1),
                                               .gang = {.job = STR("j")},
                                               .slot = {1, 1}}),
           3, "a task that was reported runs");
    p.at = 100 * S;
    ended(&p, "j", 1, 0, ENDED_DONE);
    ended(&p, "j", 1, 1, ENDED_DONE);
    border(&p);
    tick(&p, 200 * S);
    struct ledger l;
    audit_ledger(p.a, &l);
    /* 12 GPUs: 200 s; 4 of them 5 s starting, then 95 s useful; nobody waits meanwhile
     */
    ok(l.sum[LEDGER_STARTING] == (unsigned __int128)(4000 * 5) * S,
       "20 GPU-s starting");
    ok(l.sum[LEDGER_USEFUL] == (unsigned __int128)(4000 * 95) * S, "380 GPU-s useful");
    ok(l.sum[LEDGER_NO_DEMAND] == (unsigned __int128)(12000 * 200 - 4000 * 100) * S,
       "the rest of 2,400 without demand");
    ok(l.capacity == (unsigned __int128)(12000 * 200) * S,
       "capacity is 12 GPUs x 200 s");
    refused_with(&p, NULL, "a gang that is launched, runs and is done");
}

static void test_ledger(void)
{
    struct play p;
    start(&p);
    job(&p, "a", whole(4), 1, 1, NULL);
    job(&p, "b", whole(4), 4, 4, NULL); /* never fits: pending demand */
    border(&p);
    launch1(&p, "a", 1, seat(0, "n1", 0xf, 0));
    say(&p, "b", WHY_NEEDS_ROOM, 4, 2);
    at(&p, "a", 1, 0, "n1", 0xf);
    tick(&p, 10 * S); /* 10 s: 4 useful, 8 fragmented */
    struct record *r = fresh(&p, EV_CHECKPOINT_SAVED);
    r->checkpoint_saved.job = STR("a");
    r->checkpoint_saved.saved_at = 10 * S;
    feed(&p, r);
    r = fresh(&p, EV_DEVICE_SET);
    r->device_set.node = STR("n2");
    r->device_set.device = 0;
    r->device_set.state = DEVICE_BAD;
    feed(&p, r);
    node(&p, "n3", 4, W_R2, 0, NODE_DRAINED);
    tick(&p, 30 * S); /* 20 s: 4 useful, 1 faulty, 3 fragmented, 4 drained */
    r = fresh(&p, EV_TASK_ENDING);
    r->task_ending.ref = task("a", 1, 0);
    r->task_ending.by = ENDING_USER;
    feed(&p, r);
    tick(&p, 35 * S);                 /* 5 s: 4 saving */
    ended(&p, "a", 1, 0, ENDED_LOST); /* 20 s since the checkpoint, not 25 */
    tick(&p, 40 * S);                 /* 5 s: n1 waits for its sync: 4 faulty */
    struct ledger l;
    audit_ledger(p.a, &l);
    const struct {
        int cause;
        int64_t gpu_s;
    } want[] = {{LEDGER_USEFUL, 40},   {LEDGER_RECOMPUTED, 80},
                {LEDGER_SAVING, 20},   {LEDGER_FRAGMENTED, 170},
                {LEDGER_FAULTY, 50},   {LEDGER_DRAINED, 120},
                {LEDGER_NO_DEMAND, 0}, {LEDGER_UNATTRIBUTED, 0},
                {LEDGER_STARTING, 0}};
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        sum += want[i].gpu_s;
        is_int(l.sum[want[i].cause] / 1000 / S, want[i].gpu_s, "%s: %d GPU-s",
               ledger_cause_name(want[i].cause), (int)want[i].gpu_s);
    }
    is_int(sum, 12 * 40, "which is 12 GPUs x 40 s");
    finish(&p);
}

/* one wrong launch each */

static void two_types(struct job_spec *s, struct group_spec *g, struct shape *sh)
{
    (void)s;
    (void)g;
    sh[0].ntypes = 1;
    sh[0].types[0].type = W_OTHER;
}

static void elastic(struct job_spec *s, struct group_spec *g, struct shape *sh)
{
    (void)s;
    (void)sh;
    g[1].count = (struct count){2, 4, 6, 2};
}

static void in_rack(struct job_spec *s, struct group_spec *g, struct shape *sh)
{
    (void)s;
    (void)sh;
    g[0].required = W_RACK;
}

static void in_segments(struct job_spec *s, struct group_spec *g, struct shape *sh)
{
    (void)s;
    (void)sh;
    g[1].segment_size = 2;
    g[1].segment_level = W_RACK;
}

static void spread_out(struct job_spec *s, struct group_spec *g, struct shape *sh)
{
    (void)s;
    (void)sh;
    g[1].spread_kind = W_NODE;
    g[1].spread_most = 1;
}

static void keep_apart(struct job_spec *s, struct group_spec *g, struct shape *sh)
{
    (void)s;
    (void)g;
    sh[0].ntags = 1;
    sh[0].tags[0] = W_WEB;
    sh[0].nconstraints = 1;
    sh[0].constraints[0] = (struct constraint){CONSTRAINT_AVOID, 1, 0, W_WEB, 0, 0};
}

static void second_after_first(struct job_spec *s, struct group_spec *g,
                               struct shape *sh)
{
    (void)sh;
    s->ngroups = 3;
    s->nshapes = 2;
    g[2] = g[1];
    g[2].shape = 1;
    g[2].start = START_AFTER_STARTED;
    g[2].start_group = 1;
}

static void test_launches(void)
{
    const struct {
        const char *what;
        const char *text; /* NULL: right */
        struct shape shape;
        uint32_t min, want;
        more_f more;
        uint32_t n;
        struct seat seats[4];
        /* clang-format off */
    } cases[] = {
        {"four on one node", NULL, whole(1), 4, 4, NULL, 4,
         {seat(0, "n1", 1, 0), seat(1, "n1", 2, 0), seat(2, "n1", 4, 0), seat(3, "n1", 8, 0)}},
        {"a device twice", "invariant 1", whole(1), 2, 2, NULL, 2,
         {seat(0, "n1", 1, 0), seat(1, "n1", 1, 0)}},
        {"an unknown node", "the node is not known", whole(1), 1, 1, NULL, 1,
         {seat(0, "n9", 1, 0)}},
        {"a device that the node lacks", "device 4 is not there", whole(1), 1, 1, NULL, 1,
         {seat(0, "n1", 16, 0)}},
        {"too few devices", "asks for 2 devices and got 1", whole(2), 1, 1, NULL, 1,
         {seat(0, "n1", 1, 0)}},
        {"a device for a CPU task", "asks for no GPU", whole(0), 1, 1, NULL, 1,
         {seat(0, "n1", 1, 0)}},
        {"another type", "another type", whole(1), 1, 1, two_types, 1, {seat(0, "n1", 1, 0)}},
        {"a slot twice", "the slot has a task", whole(1), 2, 2, NULL, 2,
         {seat(0, "n1", 1, 0), seat(0, "n1", 2, 0)}},
        {"a slot that the gang lacks", "no such slot", whole(1), 2, 2, NULL, 2,
         {seat(0, "n1", 1, 0), seat(2, "n1", 2, 0)}},
        {"fewer than the minimum", "has 1 slots, not 2 to 2", whole(1), 2, 2, NULL, 1,
         {seat(0, "n1", 1, 0)}},
        {"an elastic gang at its minimum", NULL, whole(1), 2, 2, elastic, 2,
         {seat(0, "n1", 1, 0), seat(1, "n1", 2, 0)}},
        {"an elastic gang between its steps", "in steps of 2", whole(1), 2, 2, elastic, 3,
         {seat(0, "n1", 1, 0), seat(1, "n1", 2, 0), seat(2, "n1", 4, 0)}},
        {"two racks where one is required", "is not in one rack", whole(1), 2, 2, in_rack, 2,
         {seat(0, "n1", 1, 0), seat(1, "n3", 2, 0)}},
        {"one rack where one is required", NULL, whole(1), 2, 2, in_rack, 2,
         {seat(0, "n1", 1, 0), seat(1, "n2", 2, 0)}},
        {"segments in one rack each", NULL, whole(1), 4, 4, in_segments, 4,
         {seat(0, "n1", 1, 0), seat(1, "n2", 1, 0), seat(2, "n3", 4, 0), seat(3, "n3", 8, 0)}},
        {"a segment over two racks", "segment 1 is not in one rack", whole(1), 4, 4,
         in_segments, 4,
         {seat(0, "n1", 1, 0), seat(1, "n2", 1, 0), seat(2, "n2", 4, 0), seat(3, "n3", 8, 0)}},
        {"two on a node where one may be", "at most 1 are allowed", whole(1), 2, 2,
         spread_out, 2, {seat(0, "n1", 1, 0), seat(1, "n1", 2, 0)}},
        {"one on each node where one may be", NULL, whole(1), 2, 2, spread_out, 2,
         {seat(0, "n1", 1, 0), seat(1, "n2", 2, 0)}},
        {"two that avoid each other", "it avoids a task", whole(0), 2, 2, keep_apart, 2,
         {seat(0, "n1", 0, 0), seat(1, "n1", 0, 0)}},
        {"two that avoid each other on two nodes", NULL, whole(0), 2, 2, keep_apart, 2,
         {seat(0, "n1", 0, 0), seat(1, "n2", 0, 0)}},
        {"who waits for another, at once", "has not started", whole(1), 1, 1,
         second_after_first, 2,
         {seat(0, "n1", 1, 0), {.slot = {2, 0}, .rank = 1, .node = STR("n1"), .devs = 2}}},
        {"shares of 600 on two devices", NULL, share(600, 0), 2, 2, NULL, 2,
         {seat(0, "n1", 1, 0), seat(1, "n1", 2, 0)}},
        {"two halves and their memory", NULL, share(500, 40 * GIB), 2, 2, NULL, 2,
         {seat(0, "n1", 1, 0), seat(1, "n1", 1, 0)}},
        {"three halves", "shares of 1500", share(500, 0), 3, 3, NULL, 3,
         {seat(0, "n1", 1, 0), seat(1, "n1", 1, 0), seat(2, "n1", 1, 0)}},
        {"two halves with too much memory", "bytes of", share(500, 41 * GIB), 2, 2, NULL, 2,
         {seat(0, "n1", 1, 0), seat(1, "n1", 1, 0)}},
        {"two slices side by side", NULL, mig(W_3G), 2, 2, NULL, 2,
         {seat(0, "n1", 1, 0x0f), seat(1, "n1", 1, 0xf0)}},
        {"two slices over each other", "two claims on one slice", mig(W_3G), 2, 2, NULL, 2,
         {seat(0, "n1", 1, 0x0f), seat(1, "n1", 1, 0x0f)}},
        {"a slice where none may start", "no placement of the profile", mig(W_3G), 1, 1, NULL,
         1, {seat(0, "n1", 1, 0x3c)}},
        {"seven tasks on six pod slots", "7 pod slots of 6", whole(0), 7, 7, NULL, 0, {}},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct play p;
        start(&p);
        job(&p, "j", cases[i].shape, cases[i].min, cases[i].want, cases[i].more);
        border(&p);
        struct seat many[8];
        uint32_t n = cases[i].n;
        memcpy(many, cases[i].seats, sizeof cases[i].seats);
        for (; !cases[i].n && n < cases[i].min; n++)
            many[n] = seat(n, "n1", 0, 0);
        feed(&p, launch(&p, "j", 1, many, n));
        tick(&p, 1 * S); /* the pass is over */
        refused_with(&p, cases[i].text, cases[i].what);
    }
}

/* decisions that depend on what was before */

static void test_order(void)
{
    struct play p;
    start(&p);
    job(&p, "j", whole(1), 1, 1, NULL);
    launch1(&p, "j", 1, seat(0, "n1", 1, 0));
    refused_with(&p, "without a border", "a decision right behind a fact");

    start(&p);
    job(&p, "j", whole(1), 1, 1, NULL);
    struct record *r = fresh(&p, EV_LEAD);
    r->lead.term = 1;
    feed(&p, r);
    border(&p);
    launch1(&p, "j", 1, seat(0, "n1", 1, 0));
    refused_with(&p, "without the lead", "a launch without the lead");

    start(&p);
    sync_world(&p, true);
    border(&p);
    feed(&p, fresh(&p, DE_PASS));
    refused_with(&p, "unsynced", "a decision while the world is unsynced");

    start(&p);
    job(&p, "a", whole(1), 1, 1, NULL);
    job(&p, "b", whole(1), 1, 1, NULL);
    border(&p);
    launch1(&p, "a", 2, seat(0, "n1", 1, 0));
    launch1(&p, "b", 2, seat(0, "n1", 2, 0));
    refused_with(&p, "does not follow", "a launch number used twice");

    start(&p);
    job(&p, "a", whole(1), 1, 1, NULL);
    border(&p);
    r = launch(&p, "a", 1, &(struct seat){.slot = {1, 0}, .node = STR("n1"), .devs = 1},
               1);
    r->launch.launch = (uint64_t)2 << 40 | 1;
    feed(&p, r);
    refused_with(&p, "not of term", "a launch of another term");

    start(&p);
    p.seq++;
    border(&p);
    refused_with(&p, "seq follows", "a record that is missing");

    start(&p);
    p.at = 5 * S;
    border(&p);
    p.at = 4 * S;
    border(&p);
    refused_with(&p, "time goes back", "time that goes back");
}

static void verb(struct play *p, const char *job, uint8_t verb)
{
    struct record *r = fresh(p, EV_JOB_DO);
    r->job_do.job = str_of(job);
    r->job_do.verb = verb;
    feed(p, r);
}

static void test_who(void)
{
    struct play p;
    start(&p);
    job(&p, "j", whole(1), 1, 1, NULL);
    verb(&p, "j", JOB_HOLD);
    border(&p);
    launch1(&p, "j", 1, seat(0, "n1", 1, 0));
    refused_with(&p, "but is held", "a launch of a held job");

    start(&p);
    job(&p, "j", whole(1), 1, 1, NULL);
    verb(&p, "j", JOB_CANCEL);
    border(&p);
    launch1(&p, "j", 1, seat(0, "n1", 1, 0));
    refused_with(&p, "is not known", "a launch of a cancelled job");

    static const struct {
        const char *what, *text;
        word_t taint;
        uint8_t state;
    } nodes[] = {{"a node that is down", "the node is not up", 0, NODE_DOWN},
                 {"a drained node", "the node is not up", 0, NODE_DRAINED},
                 {"a tainted node", "a taint is not tolerated", W_DIRTY, NODE_UP}};
    for (size_t i = 0; i < 3; i++) {
        start(&p);
        job(&p, "j", whole(1), 1, 1, NULL);
        node(&p, "n1", 4, W_R1, nodes[i].taint, nodes[i].state);
        border(&p);
        launch1(&p, "j", 1, seat(0, "n1", 1, 0));
        refused_with(&p, nodes[i].text, nodes[i].what);
    }

    start(&p);
    job(&p, "j", whole(1), 1, 1, NULL);
    struct record *r = fresh(&p, EV_DEVICE_SET);
    r->device_set.node = STR("n1");
    r->device_set.state = DEVICE_SUSPECT;
    feed(&p, r);
    border(&p);
    launch1(&p, "j", 1, seat(0, "n1", 1, 0));
    refused_with(&p, "device 0 is not healthy", "a suspect device");
}

/* The world may overcommit a node; then nothing more goes there. */
static void test_overcommitted(void)
{
    struct play p;
    static const struct shape big = {.cpu_milli = 17000, .pod_slots = 1};
    start(&p);
    job(&p, "j", whole(1), 1, 1, NULL);
    struct record *r = fresh(&p, EV_FOREIGN_SET);
    r->foreign_set.name = STR("f");
    r->foreign_set.node = STR("n1");
    r->foreign_set.shape = &big;
    r->foreign_set.phase = FOREIGN_HELD;
    feed(&p, r);
    border(&p);
    is_int(p.rc, 0, "a foreign pod may take too much");
    launch1(&p, "j", 1, seat(0, "n1", 1, 0));
    refused_with(&p, "the node is overcommitted", "a launch onto its node");

    start(&p);
    job(&p, "a", whole(1), 1, 1, NULL);
    job(&p, "b", whole(1), 1, 1, NULL);
    border(&p);
    launch1(&p, "a", 1, seat(0, "n1", 1, 0));
    say(&p, "b", WHY_BEHIND, 0, 0);
    refused_with(&p, "names nobody", "a reason without its name");

    start(&p); /* a lost node keeps its devices until it is synced */
    job(&p, "a", whole(1), 1, 1, NULL);
    border(&p);
    launch1(&p, "a", 1, seat(0, "n1", 1, 0));
    at(&p, "a", 1, 0, "n1", 1);
    ended(&p, "a", 1, 0, ENDED_LOST);
    border(&p);
    launch1(&p, "a", 2, seat(0, "n1", 2, 0));
    refused_with(&p, "wait for its sync", "a launch onto a lost node");
}

static void test_stops(void)
{
    struct play p;
    start(&p);
    job(&p, "j", whole(1), 1, 1, NULL);
    border(&p);
    launch1(&p, "j", 1, seat(0, "n1", 1, 0));
    at(&p, "j", 1, 0, "n1", 1);
    border(&p);
    stop(&p, 1, task("j", 2, 0), WHY_NONE);
    refused_with(&p, "which is not known", "a stop of a launch that never was");

    start(&p);
    job(&p, "j", whole(1), 1, 1, NULL);
    border(&p);
    launch1(&p, "j", 1, seat(0, "n1", 1, 0));
    at(&p, "j", 1, 0, "n1", 1);
    border(&p);
    stop(&p, 1, task("j", 1, 0), WHY_CANCELLED);
    refused_with(&p, "no such reason",
                 "a stop because it was cancelled, which it was not");

    start(&p); /* an old launch comes back: a stray, to be stopped once */
    job(&p, "j", whole(1), 1, 1, NULL);
    border(&p);
    launch1(&p, "j", 1, seat(0, "n1", 1, 0));
    at(&p, "j", 1, 0, "n1", 1);
    ended(&p, "j", 1, 0, ENDED_KILLED);
    border(&p);
    launch1(&p, "j", 2, seat(0, "n2", 1, 0));
    at(&p, "j", 1, 0, "n1", 1);
    struct task_ref old = task("j", 1, 0), now = task("j", 2, 0);
    is_int(audit_phase(p.a, &old), 5, "a task of an old launch is a stray");
    is_int(audit_phase(p.a, &now), 2, "and the new one stays issued");
    border(&p);
    stop(&p, 1, old, WHY_STRAY);
    is_int(p.rc, 0, "it may be stopped");
    stop(&p, 2, old, WHY_STRAY);
    refused_with(&p, "was asked already", "a second stop at once");
}

/* invariant 2 */
static void test_half(void)
{
    struct play p;
    struct seat seats[] = {seat(0, "n1", 1, 0), seat(1, "n1", 2, 0)};
    start(&p);
    job(&p, "j", whole(1), 2, 2, NULL);
    border(&p);
    feed(&p, launch(&p, "j", 1, seats, 2)); /* until 60 s */
    at(&p, "j", 1, 0, "n1", 1);
    tick(&p, 59 * S);
    border(&p);
    tick(&p, 61 * S);
    border(&p);
    is_int(p.rc, 0, "half a gang may hold room until launch_by");
    tick(&p, 62 * S);
    refused_with(&p, "invariant 2", "half a gang after launch_by");

    start(&p);
    job(&p, "j", whole(1), 2, 2, NULL);
    border(&p);
    feed(&p, launch(&p, "j", 1, seats, 2));
    at(&p, "j", 1, 0, "n1", 1);
    at(&p, "j", 1, 1, "n1", 2);
    tick(&p, 1000 * S);
    ended(&p, "j", 1, 0, ENDED_FAILED); /* the default grace is 5 minutes */
    border(&p);
    tick(&p, 1299 * S);
    border(&p);
    tick(&p, 1302 * S);
    is_int(p.rc, 0, "a broken gang may hold room in its grace");
    border(&p);
    tick(&p, 1303 * S);
    refused_with(&p, "invariant 2", "a broken gang after its grace");

    start(&p);
    job(&p, "j", whole(1), 2, 2, NULL);
    border(&p);
    feed(&p, launch(&p, "j", 1, seats, 2));
    at(&p, "j", 1, 0, "n1", 1);
    p.at = 60 * S;
    border(&p);
    stop(&p, 1, task("j", 1, 0), WHY_LATE);
    stop(&p, 2, task("j", 1, 1), WHY_LATE);
    tick(&p, 500 * S);
    border(&p);
    tick(&p, 900 * S);
    refused_with(&p, NULL, "a late gang that was stopped and still ends");
}

/* invariant 7 */
static void test_reasons(void)
{
    struct play p;
    start(&p);
    job(&p, "j", whole(4), 4, 4, NULL);
    border(&p);
    tick(&p, 1 * S);
    refused_with(&p, "waits without a reason", "a gang that nobody told why it waits");

    start(&p);
    job(&p, "j", whole(4), 4, 4, NULL);
    border(&p);
    say(&p, "j", WHY_NEEDS_ROOM, 4, 3);
    border(&p);
    tick(&p, 1 * S);
    refused_with(&p, NULL, "a gang that was told once");

    start(&p);
    job(&p, "j", whole(4), 4, 4, NULL);
    border(&p);
    say(&p, "j", WHY_NEEDS_ROOM, 4, 4);
    refused_with(&p, "it has enough", "a reason whose numbers say the opposite");

    start(&p);
    job(&p, "j", whole(4), 4, 4, NULL);
    border(&p);
    say(&p, "j", WHY_HELD, 0, 0);
    refused_with(&p, "nobody holds it", "a reason that is not so");

    start(&p);
    job(&p, "j", whole(4), 1, 1, NULL);
    border(&p);
    say(&p, "j", WHY_NEEDS_ROOM, 1, 0);
    refused_with(&p, "but fits on n1", "no room for one that fits");

    start(&p);
    job(&p, "j", whole(4), 4, 4, NULL);
    border(&p);
    struct record *r = fresh(&p, DE_PASS);
    r->pass.left = 1;
    feed(&p, r);
    tick(&p, 1 * S);
    refused_with(&p, NULL, "a pass that has something left");

    start(&p);
    job(&p, "j", whole(4), 4, 4, NULL);
    border(&p);
    r = fresh(&p, DE_PASS);
    struct gang_ref same = {.job = STR("j")};
    r->pass.nsame = 1;
    r->pass.same = &same;
    feed(&p, r);
    refused_with(&p, "no reason that could stay the same",
                 "the same reason as never before");
}

int main(void)
{
    test_life();
    test_ledger();
    test_launches();
    test_order();
    test_who();
    test_overcommitted();
    test_stops();
    test_half();
    test_reasons();
    return done_testing();
}
