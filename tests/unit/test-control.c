/* test-control.c - the loop between a made-up world and a made-up core
 * The core here only writes down what it was given, and decides what the test tells it to;
 * so it takes the place of src/sched at link time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <errno.h>

#include "control/control.h"

enum { LOG = 256 };

static struct {
    uint64_t seq[LOG];
    int64_t at[LOG];
    int kind[LOG];
    uint32_t n;
    int64_t last_at;
    uint64_t last_seq;
    int refuse_kind;      /* sched_check refuses these */
    int policy_rc;
    uint32_t decide_at;   /* border that decides */
    uint32_t borders;
    bool would;
} core;

void sched_fold(struct sched *s, const struct record *r)
{
    (void)s;
    if (core.n < LOG) {
        core.seq[core.n] = r->seq;
        core.at[core.n] = r->at;
        core.kind[core.n++] = r->kind;
    }
    core.last_at = r->at;
    core.last_seq = r->seq;
    core.borders += r->kind == REC_BORDER;
}

void sched_decide(struct sched *s, struct records *out)
{
    static const int kinds[] = {DE_LAUNCH, DE_SAY};
    if (core.borders != core.decide_at)
        return;
    for (int i = 0; i < 2; i++) {
        struct record *r = records_add(out, kinds[i]);
        r->seq = core.last_seq + 1;
        r->at = core.last_at;
        r->would = core.would && i == 0;
        sched_fold(s, r);
    }
}

int64_t sched_due(const struct sched *s)
{
    (void)s;
    return 777;
}

int sched_check(const struct sched *s, const struct record *r, struct err *err)
{
    (void)s;
    if (r->kind == EV_POLICY_SET)
        return core.policy_rc ? err_set(err, -core.policy_rc, "bad policy") : 0;
    return r->kind == core.refuse_kind ? err_set(err, ENOENT, "makes no sense") : 0;
}

void sched_invariants(const struct sched *s)
{
    (void)s;
}

void sched_save(const struct sched *s, struct buf *out)
{
    (void)s;
    buf_z(out, "state");
}

/* The world: batches of (kind, at), then the end. */
struct fact {
    int kind;
    int64_t at;
};

struct play {
    struct world world;
    const struct fact (*batches)[4];
    uint32_t nbatches, next;
    uint32_t acted, nsent, last_kind;
    uint32_t acted_after_fold; /* records folded when act was called */
    bool each;
    int64_t due;
    int fail_act;
};

static int play_wait(struct world *w, int64_t due, uint32_t most, bool each,
                     struct records *batch, struct err *err)
{
    struct play *p = (struct play *)w;
    (void)err;
    (void)most;
    p->due = due;
    p->each = each;
    if (p->next == p->nbatches)
        return 0;
    for (uint32_t i = 0; i < 4 && p->batches[p->next][i].kind; i++) {
        struct record *r = records_add(batch, p->batches[p->next][i].kind);
        r->at = p->batches[p->next][i].at;
        if (r->kind == REC_WORD) {
            r->word.id = 1;
            r->word.text = STR("w");
        } else if (r->kind == EV_NODE_GONE) {
            r->node_gone.node = STR("n");
        }
    }
    p->next++;
    return 1;
}

static int play_act(struct world *w, const struct records *decisions, struct err *err)
{
    struct play *p = (struct play *)w;
    p->acted++;
    p->acted_after_fold = core.n;
    p->nsent = decisions->list.n;
    p->last_kind = decisions->list.n ? decisions->list.at[0].kind : 0;
    return p->fail_act ? err_set(err, p->fail_act, "cannot") : 0;
}

static struct control_totals totals;
static struct err err;

static int run(struct play *p, const struct fact (*batches)[4], uint32_t n,
               const struct control_options *opt)
{
    static const struct control_options none;
    p->world = (struct world){.name = "play", .wait = play_wait, .act = play_act,
                              .trusted = p->world.trusted};
    p->batches = batches;
    p->nbatches = n;
    memset(&totals, 0, sizeof totals);
    return control_run(NULL, &p->world, STR("order: fifo"), opt ? opt : &none, &totals, &err);
}

static void reset(void)
{
    memset(&core, 0, sizeof core);
    core.decide_at = UINT32_MAX;
}

static const struct fact three[][4] = {
    {{REC_WORD, 10}, {EV_TIME, 10}},
    {{EV_TIME, 20}, {EV_TIME, 5}},
    {{EV_TIME, 30}},
};

static void test_stamps(void)
{
    static const int kinds[] = {EV_POLICY_SET, REC_WORD, EV_TIME, REC_BORDER, EV_TIME, EV_TIME,
                                REC_BORDER, DE_LAUNCH, DE_SAY, EV_TIME, REC_BORDER};
    static const int64_t ats[] = {3, 10, 10, 10, 20, 20, 20, 20, 20, 30, 30};
    struct play p = {0};
    struct control_options opt = {.start_at = 3, .each = true};
    reset();
    core.decide_at = 2;
    is_int(run(&p, three, 3, &opt), 0, "three batches run to the end");
    is_int(core.n, 11, "eleven records were folded");
    bool order = true, stamps = true, times = true;
    for (uint32_t i = 0; i < 11; i++) {
        order &= core.kind[i] == kinds[i];
        stamps &= core.seq[i] == i + 1;
        times &= core.at[i] == ats[i];
    }
    ok(order, "policy first; each batch, then its border, then what was decided");
    ok(stamps, "numbered on without a gap, decisions too");
    ok(times, "time never goes back: 5 after 20 is stamped 20");
    is_int(totals.records, 11, "records are counted");
    is_int(totals.events, 5, "... events (words are none), policy_set with them");
    is_int(totals.borders, 3, "... borders");
    is_int(totals.decisions, 2, "... decisions");
    is_int(totals.frames, 3, "... frames");
    is_int(totals.at, 30, "and the last time is told");
    is_int(p.due, 777, "the world hears when the core wants time");
    ok(p.each, "and whether arrivals come one by one");
    is_int(p.acted, 1, "act is called only when something was decided");
    is_int(p.acted_after_fold, 9, "and after it was folded");
    is_int(p.nsent, 2, "with both decisions");
}

static void test_would(void)
{
    struct play p = {0};
    reset();
    core.decide_at = 1;
    core.would = true;
    run(&p, three, 3, NULL);
    ok(p.nsent == 1 && p.last_kind == DE_SAY, "a decision without effect is not sent");
    is_int(totals.decisions, 2, "but it is counted");
}

static void test_refused(void)
{
    struct play p = {0};
    reset();
    core.refuse_kind = EV_TIME;
    is_int(run(&p, three, 3, NULL), 0, "events that make no sense do not stop the loop");
    is_int(totals.refused, 4, "they are counted");
    is_int(core.n, 9, "and folded all the same");
    p = (struct play){.world = {.trusted = true}};
    reset();
    core.refuse_kind = EV_TIME;
    run(&p, three, 3, NULL);
    is_int(totals.refused, 0, "a trusted world is not asked");
    p = (struct play){.world = {.trusted = true}};
    reset();
    core.refuse_kind = EV_TIME;
    struct control_options opt = {.check = true};
    run(&p, three, 3, &opt);
    is_int(totals.refused, 4, "unless a check is wanted");
}

static void test_malformed(void)
{
    static const struct fact bad[][4] = {{{EV_TIME, 1}}, {{EV_NODE_GONE, 2}, {EV_JOB_DO, 2}}};
    struct play p = {0};
    reset();
    int rc = run(&p, bad, 2, NULL);
    ok(rc < 0 && strstr(err.text, "world play"), "a malformed event stops the run: %s",
       err.text);
    is_int(core.n, 4, "and is not folded");
}

static void test_failures(void)
{
    struct play p = {.fail_act = EIO};
    reset();
    core.decide_at = 1;
    is_int(run(&p, three, 3, NULL), -EIO, "a world that fails to act stops the run");
    reset();
    core.policy_rc = -EINVAL;
    p = (struct play){0};
    is_int(run(&p, three, 3, NULL), -EINVAL, "so does a bad policy");
    is_int(core.n, 0, "before anything happened");
}

struct seen {
    uint32_t n, borders;
    uint64_t last;
};

static void on_record(void *arg, const struct record *r)
{
    struct seen *s = arg;
    s->n++;
    s->borders += r->kind == REC_BORDER;
    s->last = r->seq;
}

static int stop_now(void *arg, int64_t at, uint64_t records)
{
    (void)arg;
    (void)at;
    return records > 0;
}

static void test_observers(void)
{
    struct seen seen = {0};
    struct play p = {0};
    struct control_options opt = {
        .observe = on_record, .observe_arg = &seen, .count_bytes = true};
    reset();
    core.decide_at = 3;
    run(&p, three, 3, &opt);
    ok(seen.n == 11 && seen.borders == 3 && seen.last == 11, "observers see every record once");
    cmp_ok(totals.bytes, >=, 11 * 2, "bytes are counted when asked");

    enum { MANY = 70000 };
    struct fact (*many)[4] = calloc(MANY, sizeof *many);
    for (int i = 0; i < MANY; i++)
        many[i][0] = (struct fact){EV_TIME, i};
    struct control_options stop = {.progress = stop_now};
    p = (struct play){0};
    reset();
    is_int(run(&p, (const struct fact(*)[4])many, MANY, &stop), 0, "progress may stop a run");
    ok(totals.records >= 65536 && totals.records < 65536 + 3, "after 65,536 records: %llu",
       (unsigned long long)totals.records);
    free(many);
}

int main(void)
{
    test_stamps();
    test_would();
    test_refused();
    test_malformed();
    test_failures();
    test_observers();
    return done_testing();
}
