/* twin.c - a simulated cluster as a world: its clock
 *
 * wait() hands out the facts of one instant. Three sources are merged: the event queue, the
 * list of arrivals, and launches that run at once. When a batch is out and the core has
 * decided, the same instant is looked at again, so whatever takes no time happens before
 * the clock moves. The run is over when nothing more can come: no arrival, no event but
 * faults, and either no job waits, or the core wants no `time` and every node is up, or was
 * since, or no job that waits fits on the whole cluster; or nothing happened for a hundred
 * days. Cost: O(log n) a job in the event queue, about
 * 100 ns a record. SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/units.h"
#include "world/twin/inside.h"

static const int64_t idle_most_us = 100 * US_PER_DAY;
enum { IDLE_TIMES_MAX = 1000, SAME_TIMES_MAX = 100000, EXPECTED_MOST = 1 << 18 };

void twin_later(struct twin *t, int64_t at, uint8_t class_, uint32_t kind, uint32_t a,
                uint64_t b)
{
    bool fault = (kind == TE_NODE_DOWN || kind == TE_NODE_UP) && b != FAULT_ONCE;
    t->coming += !fault;
    des_post(&t->des, at, class_, kind, a, b);
}

/* ---- making one ---- */

static char *serial_names(uint32_t n)
{
    char *names = mem_alloc((size_t)n * NAME_LEN + 1);
    char at[NAME_LEN];
    memset(at, '0', NAME_LEN);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(names + (size_t)i * NAME_LEN, at, NAME_LEN);
        int digit = NAME_LEN - 1;
        while (digit >= 0 && at[digit] == '9')
            at[digit--] = '0';
        if (digit >= 0)
            at[digit]++;
    }
    return names;
}

static int by_start(const void *one, const void *other, void *arg)
{
    const struct trace_job *jobs = arg;
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    if (jobs[a].start_us != jobs[b].start_us)
        return jobs[a].start_us < jobs[b].start_us ? -1 : 1;
    return (a > b) - (a < b);
}

/* Rows that never ran, or whose run time nobody knows, cannot be replayed: they would hold
 * their GPUs for good. */
static bool is_replayable(const struct twin_options *o, const struct trace_job *j)
{
    if (o->recorded && j->start_us == TRACE_NEVER)
        return false;
    return o->forever || j->run_us != TRACE_NEVER;
}

static int arrivals_choose(struct twin *t, struct err *err)
{
    const struct twin_options *o = &t->o;
    t->arrivals = mem_alloc((o->njobs + 1u) * sizeof *t->arrivals);
    for (uint32_t i = 0; i < o->njobs; i++)
        if (is_replayable(o, &o->jobs[i]))
            t->arrivals[t->narrivals++] = i;
    t->counts.skipped = o->njobs - t->narrivals;
    if (!t->narrivals && o->njobs)
        return err_set(err, EINVAL, "no row of the trace has %s",
                       o->recorded ? "a recorded start" : "a run time");
    if (o->recorded)
        qsort_r(t->arrivals, t->narrivals, sizeof *t->arrivals, by_start,
                (void *)(uintptr_t)o->jobs);
    else if (!t->counts.skipped) {
        free(t->arrivals); /* arrival i is row i */
        t->arrivals = NULL;
    }
    return 0;
}

static int arrivals_ordered(struct twin *t, struct err *err)
{
    const struct twin_options *o = &t->o;
    t->arrivals = mem_alloc((o->norder + 1u) * sizeof *t->arrivals);
    t->narrivals = o->norder;
    for (uint32_t i = 0; i < o->norder; i++) {
        if (o->order[i] >= o->njobs)
            return err_set(err, ERANGE, "the order names row %u of %u", o->order[i], o->njobs);
        t->arrivals[i] = o->order[i];
    }
    return 0;
}

static int arrivals_make(struct twin *t, struct err *err)
{
    const struct twin_options *o = &t->o;
    int rc = o->order ? arrivals_ordered(t, err) : arrivals_choose(t, err);
    if (rc)
        return rc;
    if (t->narrivals > JOBS_MOST)
        return err_set(err, ERANGE, "more than %d jobs", JOBS_MOST);
    for (uint32_t i = 0; i < o->njobs; i++) {
        rc = convert_check(&o->jobs[i], t->convert.gpus_per_node, err);
        if (rc)
            return rc;
    }
    t->names = serial_names(t->narrivals);
    t->job_gang = mem_alloc((t->narrivals + 1u) * sizeof *t->job_gang);
    memset(t->job_gang, 0xff, (t->narrivals + 1u) * sizeof *t->job_gang);
    t->counts.narrivals = t->narrivals;
    return 0;
}

static int nodes_make(struct twin *t, struct err *err)
{
    const struct twin_options *o = &t->o;
    for (uint32_t i = 0; i < o->nnodes; i++) {
        struct str name = o->nodes[i].name;
        if (o->ranks) {
            char text[300];
            int len = snprintf(text, sizeof text, "%04u-" STR_FMT, o->ranks[i], STR_ARG(name));
            if (len < 0 || len >= (int)sizeof text)
                return err_set(err, ERANGE, "the name of node %u is too long", i);
            name = arena_str(&t->text, (struct str){text, (size_t)len});
        }
        if (strmap_get(&t->node_ids, name) != MAP_NONE)
            return err_set(err, EINVAL, "two nodes are called '" STR_FMT "'", STR_ARG(name));
        twin_node_add(t, &o->nodes[i], name);
    }
    return 0;
}

static uint32_t widest_node(const struct twin_options *o)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < o->nnodes; i++)
        if (o->nodes[i].ndevices > most)
            most = o->nodes[i].ndevices;
    return most ? most : 8;
}

static void models_make(struct twin *t)
{
    struct str names[NODE_LEVELS_MAX];
    if (t->o.truth)
        t->truth = *t->o.truth;
    else
        truth_init(&t->truth);
    if (t->o.belief)
        t->belief = *t->o.belief;
    else
        belief_init(&t->belief);
    for (uint32_t l = 0; l < t->o.nlevels; l++)
        names[l] = words_text(t->o.words, t->o.levels[l]);
    speed_model_init(&t->speed, &t->truth, names, t->o.nlevels);
    convert_init(&t->convert, t->o.words,
                 t->o.gpus_per_node ? t->o.gpus_per_node : widest_node(&t->o), t->o.oracle,
                 &t->belief, t->o.seed);
}

static void setup(struct twin *t)
{
    out_add(t, OUT_LEAD, CLASS_END, NONE, 0);
    out_add(t, OUT_SYNC_BEGIN, CLASS_END, NONE, 0);
    for (uint32_t i = 0; i < t->nodes.n; i++)
        out_add(t, OUT_NODE, CLASS_NODE, i, t->nodes.at[i].up_state);
    out_add(t, OUT_SYNCED, CLASS_NODE, NONE, 0);
}

static int twin_wait(struct world *w, int64_t due, uint32_t most, bool each,
                     struct records *batch, struct err *err);

int twin_create(struct twin **ret, const struct twin_options *o, struct err *err)
{
    struct twin *t = mem_zero(sizeof *t);
    int rc;
    t->o = *o;
    t->world = (struct world){.name = "twin",
                              .caps = CAP_MAKE | CAP_BIND_EACH | CAP_DEVICES | CAP_RANKS |
                                      CAP_CHECKPOINT,
                              .trusted = true,
                              .wait = twin_wait,
                              .act = twin_act};
    t->idle_since = NEVER;
    models_make(t);
    rc = o->nlevels > NODE_LEVELS_MAX
             ? err_set(err, ERANGE, "more than %d levels", NODE_LEVELS_MAX)
             : nodes_make(t, err);
    if (!rc)
        rc = arrivals_make(t, err);
    if (rc) {
        twin_destroy(t);
        return rc;
    }
    vec_reserve(&t->gangs, twin_expected(t));
    vec_reserve(&t->tasks, twin_expected(t));
    nodes_measure(t);
    if (t->narrivals && !o->order)
        t->start_at = job_submit_at(t, 0);
    t->now = t->start_at;
    t->next_submit = t->narrivals ? t->start_at : NEVER;
    t->end_at = o->until_us ? t->start_at + o->until_us : NEVER;
    faults_begin(t);
    setup(t);
    *ret = t;
    return 0;
}

void twin_destroy(struct twin *t)
{
    if (!t)
        return;
    des_done(&t->des);
    convert_done(&t->convert);
    vec_done(&t->nodes);
    strmap_done(&t->node_ids);
    u64map_done(&t->domains);
    free(t->level_most);
    arena_done(&t->text);
    free(t->arrivals);
    free(t->names);
    free(t->job_gang);
    free(t->job_said);
    vec_done(&t->said);
    vec_done(&t->said_free);
    vec_done(&t->extras);
    vec_done(&t->extra_gang);
    strmap_done(&t->extra_ids);
    vec_done(&t->posts);
    vec_done(&t->gangs);
    vec_done(&t->gangs_free);
    vec_done(&t->tasks);
    vec_done(&t->tasks_free);
    vec_done(&t->out);
    vec_done(&t->starts);
    free(t);
}

struct world *twin_world(struct twin *t)
{
    return &t->world;
}

uint32_t twin_expected(const struct twin *t)
{
    if (!t->o.forever) /* few at a time: what is reserved is spread over more pages */
        return 0;
    return t->narrivals < EXPECTED_MOST ? t->narrivals : EXPECTED_MOST;
}

int64_t twin_start_at(const struct twin *t)
{
    return t->start_at;
}

void twin_counts(const struct twin *t, struct twin_counts *ret)
{
    *ret = t->counts;
}

void twin_submit(struct twin *t, int64_t at, const struct job_spec *spec, int64_t run_us)
{
    struct twin_extra x = {.spec = spec, .at = at, .run_us = run_us};
    uint32_t job = t->narrivals + t->extras.n;
    for (uint16_t g = 0; g < spec->ngroups; g++) {
        bool leaf = spec->groups[g].shape != GROUP_NONE;
        uint16_t whole = job_spec_whole_of(spec, g);
        if (whole == g || (leaf && whole == GROUP_NONE))
            x.gangs_all += job_spec_gangs(spec, g);
    }
    vec_push(&t->extras, x);
    vec_push(&t->extra_gang, NONE);
    strmap_put(&t->extra_ids, spec->name, job);
    twin_later(t, at > t->start_at ? at : t->start_at, CLASS_ARRIVAL, TE_SUBMIT, job, 0);
}

void twin_submit_fails(struct twin *t)
{
    assert(t->extras.n);
    t->extras.at[t->extras.n - 1].failing = true;
}

static uint8_t class_of(const struct record *r)
{
    switch (r->kind) {
    case EV_JOB_SET:
    case EV_JOB_DO:
        return CLASS_ARRIVAL;
    case EV_TASK_ENDED:
        return CLASS_END;
    case EV_NODE_SET:
    case EV_NODE_GONE:
    case EV_DEVICE_SET:
        return CLASS_NODE;
    default:
        return CLASS_REST;
    }
}

void twin_post(struct twin *t, int64_t at, const struct record *r)
{
    uint32_t id = t->posts.n;
    vec_push(&t->posts, *r);
    twin_later(t, at > t->start_at ? at : t->start_at, class_of(r), TE_POST, id, 0);
}

void twin_node_fault(struct twin *t, uint32_t node, int64_t at, int64_t until)
{
    assert(node < t->nodes.n && at < until);
    twin_later(t, at, CLASS_NODE, TE_NODE_DOWN, node, FAULT_ONCE);
    twin_later(t, until, CLASS_NODE, TE_NODE_UP, node, FAULT_ONCE);
}

/* ---- the clock ---- */

static void post(struct twin *t, uint32_t id)
{
    const struct record *r = &t->posts.at[id];
    if (r->kind == EV_NODE_SET)
        twin_node_add(t, r->node_set, r->node_set->name);
    out_add(t, OUT_POST, class_of(r), id, 0);
}

static bool gang_is(const struct twin *t, const struct des_event *e)
{
    return t->gangs.at[e->a].serial == e->b;
}

static void happen(struct twin *t, const struct des_event *e)
{
    switch ((enum event_kind)e->kind) {
    case TE_DONE:
        if (gang_is(t, e))
            gang_done(t, e->a);
        return;
    case TE_KILL: {
        struct twin_task *k = &t->tasks.at[e->a];
        bool alive = k->state == TASK_STARTING || k->state == TASK_WORKING;
        if (k->serial != e->b || !alive)
            return;
        uint32_t gang = k->gang;
        bool worked = k->state == TASK_WORKING;
        if (worked && t->gangs.at[gang].working <= t->gangs.at[gang].need)
            gang_interrupt(t, gang);
        task_end(t, e->a, ENDED_KILLED, -1);
        if (worked && t->gangs.at[gang].since != NEVER)
            gang_review(t, gang);
        return;
    }
    case TE_NODE_DOWN:
        node_down(t, e->a, e->b);
        return;
    case TE_NODE_UP:
        node_up(t, e->a, e->b);
        return;
    case TE_SUBMIT:
        out_add(t, OUT_JOB, CLASS_ARRIVAL, e->a, 0);
        return;
    case TE_POST:
        post(t, e->a);
        return;
    case TE_START:
        gang_start(t, e->a, e->b);
        return;
    case TE_CHECKPOINT:
    case TE_ASKED:
        if (gang_is(t, e))
            gang_saved(t, e->a, e->kind == TE_ASKED);
        return;
    }
}

static void pop_instant(struct twin *t)
{
    const struct des_event *next;
    struct des_event e;
    while ((next = des_peek(&t->des)) && next->at_us <= t->now) {
        des_pop(&t->des, &e);
        bool fault = e.kind == TE_NODE_DOWN || e.kind == TE_NODE_UP;
        t->coming -= !fault || e.b == FAULT_ONCE;
        happen(t, &e);
    }
}

static void look_ahead(struct twin *t)
{
    bool more = t->next_arrival < t->narrivals;
    t->next_submit = more ? job_submit_at(t, t->next_arrival) : NEVER;
    if (more) /* in an order of its own, rows lie anywhere */
        __builtin_prefetch(job_row(t, t->next_arrival));
}

/* Arrivals of this instant; more than fit into a batch come with the next look. */
static void arrive(struct twin *t, uint32_t most)
{
    uint32_t n = 0;
    for (; n < most && t->next_submit <= t->now; n++) {
        out_add(t, OUT_JOB, CLASS_ARRIVAL, t->next_arrival++, 0);
        look_ahead(t);
    }
    t->hook_to = t->next_arrival;
}

static void collect(struct twin *t, uint32_t most, bool each, bool time)
{
    pop_instant(t);
    arrive(t, each ? 1 : most);
    for (uint32_t i = 0; i < t->starts.n; i++)
        gang_start(t, t->starts.at[i].gang, t->starts.at[i].launch);
    vec_clear(&t->starts);
    if (time)
        out_add(t, OUT_TIME, CLASS_REST, 0, 0);
    facts_sort(t);
}

/* When the next thing happens by itself; NEVER: nothing does. */
static int64_t next_at(const struct twin *t)
{
    int64_t at = t->next_submit;
    const struct des_event *e = des_peek(&t->des);
    if (t->starts.n)
        return t->now;
    if (e && e->at_us < at)
        at = e->at_us;
    return at < t->now ? t->now : at;
}

/* Nothing runs and nothing arrives. Until the repairs in progress are done a node may come
 * back that somebody waits for; nodes that break after this were up and were of no use. */
static void idle_begins(struct twin *t)
{
    t->idle_since = t->repaired_at = t->now;
    for (uint32_t i = 0; i < t->nodes.n; i++)
        if (t->nodes.at[i].down && t->nodes.at[i].up_at > t->repaired_at)
            t->repaired_at = t->nodes.at[i].up_at;
    t->hopeless = t->nodes_down && reasons_all_hopeless(t);
}

/* Nothing comes but faults and the core's own timers: may they still change anything? */
static bool is_over(struct twin *t, int64_t at, int64_t due)
{
    bool busy = t->coming || t->starts.n || t->next_arrival < t->narrivals;
    if (busy) {
        t->idle_since = NEVER;
        t->idle_times = 0;
        return false;
    }
    if (t->idle_since == NEVER)
        idle_begins(t);
    bool all_done = t->counts.finished == t->counts.arrived;
    bool mended = !t->nodes_down || t->now >= t->repaired_at;
    bool nothing = due == NEVER && (mended || t->hopeless);
    bool waited = t->now - t->idle_since > idle_most_us || ++t->idle_times > IDLE_TIMES_MAX;
    return all_done || nothing || waited || (at == NEVER && due == NEVER);
}

static void move_to(struct twin *t, int64_t at)
{
    if (at <= t->now)
        return;
    if (t->o.on_instant)
        t->o.on_instant(t->o.arg, t->now);
    t->now = at;
}

/* The next instant's facts into t->out; false when the world is over. */
static bool look(struct twin *t, int64_t due, uint32_t most, bool each)
{
    while (t->out_at == t->out.n) {
        int64_t at = next_at(t);
        if (t->closing || is_over(t, at, due))
            return false;
        if (due < t->now)
            due = t->now;
        bool time = due <= at;
        if (time)
            at = due;
        t->same_times = time && at == t->now ? t->same_times + 1 : 0;
        if (at > t->end_at) {
            at = t->end_at;
            t->closing = time = true;
        }
        move_to(t, at);
        if (t->closing)
            out_add(t, OUT_TIME, CLASS_REST, 0, 0);
        else
            collect(t, most, each, time);
    }
    return true;
}

static int twin_wait(struct world *w, int64_t due, uint32_t most, bool each,
                     struct records *batch, struct err *err)
{
    struct twin *t = (struct twin *)w;
    if (t->same_times > SAME_TIMES_MAX)
        return err_set(err, EPROTO, "twin: the core asks for the time again and again at %lld",
                       (long long)t->now);
    if (t->o.on_arrival)
        for (; t->hook_from < t->hook_to && t->out_at == t->out.n; t->hook_from++)
            t->o.on_arrival(t->o.arg, job_row(t, t->hook_from));
    if (!look(t, due, most, each)) {
        if (t->o.on_instant)
            t->o.on_instant(t->o.arg, t->now);
        return 0;
    }
    facts_emit(t, most, batch);
    return 1;
}

void twin_finish(struct twin *t)
{
    for (uint32_t i = 0; i < t->next_arrival; i++)
        if (t->job_gang[i] != JOB_OVER)
            job_report(t, i, INT64_MIN);
    for (uint32_t i = 0; i < t->extras.n; i++)
        if (t->extra_gang.at[i] != JOB_OVER && t->extras.at[i].at <= t->now)
            job_report(t, t->narrivals + i, INT64_MIN);
}
