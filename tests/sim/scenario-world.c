/* scenario-world.c - the world of a scenario: facts as records, answers to decisions
 *
 * A home world by default (muster makes the tasks), answering at once, after delays, or
 * only as the steps say. It keeps its own book of tasks and of the room they take, made
 * from the records alone; a launch that does not fit by that book is trouble, whatever
 * the core believes. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "audit/audit.h"
#include "event/codec.h"
#include "scenario.h"
#include "sched/sched.h"
#include "words/saying.h"

void trouble(struct player *p, const char *fmt, ...)
{
    if (p->trouble.code)
        return; /* the first one counts */
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(p->trouble.text, sizeof p->trouble.text, fmt, ap);
    va_end(ap);
    p->trouble.code = n >= 0 ? 1 : 2;
}

uint32_t node_index(const struct player *p, struct str name)
{
    uint32_t i = strmap_get(&p->sc->node_ids, name);
    return i == MAP_NONE ? NOBODY : i;
}

struct shape task_shape(const struct player *p, const struct sim_task *t)
{
    const struct job_spec *spec = &p->jobs.at[t->job].plan->spec;
    struct shape sh;
    shape_choose(&spec->shapes[spec->groups[t->leaf].shape], t->alt, &sh);
    return sh;
}

/* The book: sign 1 takes, -1 gives. */
static void room_change(struct node_room *r, const struct shape *sh, uint64_t devs,
                        int sign)
{
    r->cpu_milli += sign * sh->cpu_milli;
    r->mem_bytes += sign * sh->mem_bytes;
    r->slots += (uint32_t)sign * sh->pod_slots;
    r->nics += (uint32_t)sign * sh->nics;
    r->tasks += (uint32_t)sign;
    for (; devs; devs &= devs - 1) {
        int i = __builtin_ctzll(devs);
        r->milli[i] += (uint32_t)sign * sh->gpu_milli;
        r->dev_mem[i] += sign * sh->gpu_mem_bytes;
    }
}

static void room_check(struct player *p, uint32_t node, struct str job)
{
    const struct node_room *r = &p->rooms[node];
    const struct node_desc *d = &p->nodes[node];
    const char *what = NULL;
    if (r->cpu_milli > d->cpu_milli && d->cpu_milli)
        what = "CPU";
    if (r->mem_bytes > d->mem_bytes && d->mem_bytes)
        what = "memory";
    if (r->slots > d->pod_slots && d->pod_slots)
        what = "pod slots";
    if (r->nics > d->nics)
        what = "NICs";
    for (uint32_t i = 0; i < d->ndevices; i++) {
        int64_t mem = d->devices[i].mem_bytes - d->devices[i].reserved_bytes;
        if (r->milli[i] > 1000 || (d->devices[i].mem_bytes && r->dev_mem[i] > mem))
            what = "a device";
    }
    if (what)
        trouble(p,
                "the launch of " STR_FMT " gives more %s of " STR_FMT " than there is",
                STR_ARG(job), what, STR_ARG(d->name));
    if (d->state != NODE_UP)
        trouble(p, "the launch of " STR_FMT " goes to " STR_FMT ", which is not up",
                STR_ARG(job), STR_ARG(d->name));
}

/* Words come before their first use. */
static void tell_words(struct player *p)
{
    while (p->words_told < p->sc->words.n) {
        struct record r = {.kind = REC_WORD};
        r.word.id = ++p->words_told;
        r.word.text = words_text(&p->sc->words, r.word.id);
        fold_fact(p, &r);
    }
}

void fold_fact(struct player *p, struct record *r)
{
    struct err err = {0};
    if (r->kind != REC_WORD)
        tell_words(p);
    r->seq = ++p->seq;
    r->at = p->now;
    if (record_is_event(r->kind) && event_check(r, &err))
        trouble(p, "an event that is not well-formed: %s", err.text);
    sched_fold(p->s, r);
    if (p->other)
        sched_fold(p->other, r);
    p->facts = true;
    p->nrecords++;
    record_encode(r, &p->stream);
    if (audit_record(p->audit, r, &err))
        trouble(p, "%s", err.text);
}

static struct task_ref ref_of(const struct player *p, const struct sim_task *t)
{
    const struct job_spec *spec = &p->jobs.at[t->job].plan->spec;
    return (struct task_ref){.launch = t->launch,
                             .gang = {spec->name, t->group, t->copy},
                             .slot = {t->leaf, t->index}};
}

/* Where others make the tasks each has a name: "job/copy.leaf.index". */
static struct str task_name(struct player *p, struct str job, uint32_t copy,
                            uint32_t leaf, uint32_t index)
{
    char text[JOB_NAME_MAX + 64];
    int n = snprintf(text, sizeof text, STR_FMT "/%" PRIu32 ".%" PRIu32 ".%" PRIu32,
                     STR_ARG(job), copy, leaf, index);
    return p->sc->guest ? arena_str(&p->sc->arena, (struct str){text, (size_t)n})
                        : (struct str){0};
}

static struct task_ref named_ref(struct player *p, const struct sim_task *t)
{
    struct task_ref ref = ref_of(p, t);
    ref.task = task_name(p, ref.gang.job, t->copy, t->leaf, t->index);
    return ref;
}

static struct sim_gang *gang_of(struct player *p, struct sim_job *j, uint16_t group,
                                uint32_t copy)
{
    (void)p;
    for (uint32_t i = 0; i < j->gangs.n; i++)
        if (j->gangs.at[i].group == group && j->gangs.at[i].copy == copy)
            return &j->gangs.at[i];
    vec_push(&j->gangs,
             (struct sim_gang){.group = group, .copy = copy, .earliest_by = NEVER});
    return &j->gangs.at[j->gangs.n - 1];
}

static void task_state(struct player *p, uint32_t id, uint8_t state)
{
    struct sim_task *t = &p->tasks.at[id];
    struct sim_job *j = &p->jobs.at[t->job];
    if (t->state == AT_RUNNING)
        j->running--;
    t->state = state;
    if (state == AT_RUNNING) {
        j->running++;
        t->since = p->now;
    }
    if (state != AT_OVER)
        return;
    t->over = p->now;
    j->alive--;
    gang_of(p, j, t->group, t->copy)->alive--;
    struct shape sh = task_shape(p, t);
    room_change(&p->rooms[t->node], &sh, t->devs, -1);
}

static void task_runs(struct player *p, uint32_t id)
{
    const struct sim_task *t = &p->tasks.at[id];
    struct record r = {.kind = EV_TASK_AT};
    r.task_at.ref = named_ref(p, t);
    r.task_at.node = p->nodes[t->node].name;
    r.task_at.devs = t->devs;
    r.task_at.slices = t->slices;
    r.task_at.alt = t->alt;
    r.task_at.phase = TASK_READY;
    r.task_at.since = p->now;
    int64_t run = p->jobs.at[t->job].plan->run_us;
    task_state(p, id, AT_RUNNING);
    fold_fact(p, &r);
    if (run == NEVER)
        return;
    vec_push(&p->todo, (struct action){id, AT_OVER, ENDED_DONE});
    heap_push(&p->queue, p->now + run, p->todo.n - 1, p->todo.n - 1);
}

static void task_ends(struct player *p, uint32_t id, uint8_t how)
{
    struct record r = {.kind = EV_TASK_ENDED};
    r.task_ended.ref = named_ref(p, &p->tasks.at[id]);
    r.task_ended.how = how;
    task_state(p, id, AT_OVER);
    fold_fact(p, &r);
}

void world_do(struct player *p, const struct action *a)
{
    const struct sim_task *t = &p->tasks.at[a->task];
    if (a->state == AT_RUNNING && t->state == AT_ISSUED)
        task_runs(p, a->task);
    else if (a->state == AT_OVER && a->how == ENDED_DONE && t->state == AT_RUNNING)
        task_ends(p, a->task, a->how);
    else if (a->state == AT_OVER && a->how == ENDED_KILLED && t->state != AT_OVER)
        task_ends(p, a->task, a->how);
}

static void later(struct player *p, int64_t at, struct action a)
{
    vec_push(&p->todo, a);
    heap_push(&p->queue, at, (uint64_t)(a.state == AT_RUNNING) << 32 | (p->todo.n - 1),
              p->todo.n - 1);
}

static void on_launch(struct player *p, const struct record *r)
{
    uint32_t job = strmap_get(&p->job_ids, r->launch.gang.job);
    struct sim_job *j = &p->jobs.at[job];
    vec_push(&j->launches, r->launch.launch);
    p->launches++;
    if (j->started == NEVER)
        j->started = p->now;
    struct sim_gang *g = gang_of(p, j, r->launch.gang.group, r->launch.gang.copy);
    g->waits = false;
    plan_launch(p, g, r);
    for (uint32_t i = 0; i < r->launch.nseats; i++) {
        const struct seat *seat = &r->launch.seats[i];
        struct sim_task t = {.job = job,
                             .node = node_index(p, seat->node),
                             .group = r->launch.gang.group,
                             .copy = r->launch.gang.copy,
                             .leaf = seat->slot.leaf,
                             .index = seat->slot.index,
                             .rank = seat->rank,
                             .launch = r->launch.launch,
                             .devs = seat->devs,
                             .slices = seat->slices,
                             .alt = seat->alt,
                             .since = NEVER,
                             .over = NEVER};
        vec_push(&p->tasks, t);
        vec_push(&j->tasks, p->tasks.n - 1);
        j->alive++;
        g->alive++;
        struct shape sh = task_shape(p, &t);
        room_change(&p->rooms[t.node], &sh, t.devs, 1);
        room_check(p, t.node, r->launch.gang.job);
        if (!p->manual)
            later(p, p->now + p->start_us,
                  (struct action){p->tasks.n - 1, AT_RUNNING, 0});
    }
}

static void on_stop(struct player *p, const struct record *r)
{
    p->stops++;
    for (uint32_t i = 0; i < r->stop.ntasks; i++) {
        const struct task_ref *ref = &r->stop.tasks[i];
        uint32_t job = strmap_get(&p->job_ids, ref->gang.job);
        struct sim_job *j = job == MAP_NONE ? NULL : &p->jobs.at[job];
        int64_t end_us = j && j->plan->stop_us != NEVER ? j->plan->stop_us : p->stop_us;
        if (j && i == 0)
            j->stops++;
        for (uint32_t k = 0; j && k < j->tasks.n; k++) {
            uint32_t id = j->tasks.at[k];
            const struct sim_task *t = &p->tasks.at[id];
            if (t->state == AT_OVER || t->launch != ref->launch ||
                t->copy != ref->gang.copy || t->leaf != ref->slot.leaf ||
                t->index != ref->slot.index)
                continue;
            task_state(p, id, AT_ENDING);
            if (!p->manual)
                later(p, p->now + end_us, (struct action){id, AT_OVER, ENDED_KILLED});
        }
    }
    plan_stop(p, r);
}

void world_act(struct player *p, const struct record *r)
{
    uint32_t job;
    if (r->would) { /* nobody carries it out */
        p->would++;
        return;
    }
    switch (r->kind) {
    case DE_LAUNCH: on_launch(p, r); return;
    case DE_STOP: on_stop(p, r); return;
    case DE_SAY:
        job = strmap_get(&p->job_ids, r->say.gang.job);
        if (job == MAP_NONE)
            return;
        struct sim_gang *g =
            gang_of(p, &p->jobs.at[job], r->say.gang.group, r->say.gang.copy);
        g->waits = true;
        g->why = r->why;
        p->jobs.at[job].says++;
        return;
    case DE_HOLD:
        job = strmap_get(&p->job_ids, r->hold.gang.job);
        if (job != MAP_NONE)
            plan_hold(p,
                      gang_of(p, &p->jobs.at[job], r->hold.gang.group,
                              r->hold.gang.copy),
                      r);
        return;
    default: return; /* checkpoints asked for, marks: nothing to do here */
    }
}

static void tell_node(struct player *p, uint32_t i)
{
    struct record r = {.kind = EV_NODE_SET};
    r.node_set = &p->nodes[i];
    fold_fact(p, &r);
}

static void tell_sync(struct player *p, int kind, struct str node)
{
    struct record r = {.kind = (uint16_t)kind};
    r.sync.node = node;
    if (kind == EV_SYNCED)
        r.sync.caps = CAP_BIND_EACH | CAP_DEVICES | CAP_RANKS | CAP_CHECKPOINT |
                      (p->sc->guest ? 0 : CAP_MAKE);
    fold_fact(p, &r);
}

void world_begin(struct player *p)
{
    struct record r = {.kind = EV_LEAD};
    r.lead.held = true;
    r.lead.term = 1;
    fold_fact(p, &r);
    if (p->sc->policy_text.len) {
        r = (struct record){.kind = EV_POLICY_SET};
        r.policy_set.text = p->sc->policy_text;
        fold_fact(p, &r);
    }
    tell_sync(p, EV_SYNC_BEGIN, (struct str){0});
    for (uint32_t i = 0; i < p->sc->cluster.nodes.n; i++)
        tell_node(p, i);
    tell_sync(p, EV_SYNCED, (struct str){0});
}

bool task_is_picked(const struct player *p, const struct sim_task *t,
                    const struct picked *w)
{
    const struct job_spec *spec = &p->jobs.at[t->job].plan->spec;
    if ((w->job.len && !str_eq(w->job, spec->name)) ||
        (w->node.len && !str_eq(w->node, p->nodes[t->node].name)) ||
        (w->copy != NOBODY && w->copy != t->copy) ||
        (w->group.len &&
         !str_eq(w->group, words_text(&p->sc->words, spec->groups[t->leaf].role))))
        return false;
    bool in = w->nindexes == 0;
    for (uint32_t i = 0; i < w->nindexes && !in; i++)
        in = w->indexes[i] == t->index;
    return in;
}

/* Every live task that the step means, in the order they were launched. */
static void for_picked(struct player *p, const struct step *st)
{
    uint32_t n = 0, count = p->tasks.n;
    for (uint32_t i = 0; i < count; i++) {
        const struct sim_task *t = &p->tasks.at[i];
        if (t->state == AT_OVER || !task_is_picked(p, t, &st->who))
            continue;
        struct record r = {0};
        n++;
        if (st->kind == STEP_RUN && t->state == AT_ISSUED) {
            task_runs(p, i);
        } else if (st->kind == STEP_END) {
            task_ends(p, i, st->what);
        } else if (st->kind == STEP_ENDING) {
            r.kind = EV_TASK_ENDING;
            r.task_ending.ref = named_ref(p, t);
            r.task_ending.by = ENDING_USER;
            task_state(p, i, AT_ENDING);
            fold_fact(p, &r);
        } else if (st->kind == STEP_REFUSE) {
            r.kind = EV_TASK_REFUSED;
            r.task_refused.ref = named_ref(p, t);
            r.task_refused.class_ = st->what;
            r.task_refused.retry_at = st->wait_us ? p->now + st->wait_us : 0;
            task_state(p, i, AT_OVER);
            fold_fact(p, &r);
        }
    }
    if (!n)
        trouble(p, "%s:%u: no such task is alive", st->where->file, st->where->line);
}

/* A task of an old launch is seen after all: on the node it had, or the one that is
 * named. */
static void step_ghost(struct player *p, const struct step *st)
{
    uint32_t job = strmap_get(&p->job_ids, st->who.job), n = 0, count = p->tasks.n;
    const struct sim_job *j = job == MAP_NONE ? NULL : &p->jobs.at[job];
    struct picked who = st->who;
    who.node = (struct str){0};
    if (!j || st->number < 1 || st->number > j->launches.n) {
        trouble(p, "%s:%u: there was no such launch", st->where->file, st->where->line);
        return;
    }
    uint64_t launch = j->launches.at[st->number - 1];
    for (uint32_t i = 0; i < count; i++) {
        const struct sim_task *t = &p->tasks.at[i];
        if (t->job != job || t->launch != launch || !task_is_picked(p, t, &who))
            continue;
        struct record r = {.kind = EV_TASK_AT};
        r.task_at.ref = named_ref(p, t);
        r.task_at.node = st->who.node.len ? st->who.node : p->nodes[t->node].name;
        r.task_at.devs = t->devs;
        r.task_at.alt = t->alt;
        r.task_at.phase = TASK_RUNNING;
        fold_fact(p, &r);
        n++;
    }
    if (!n)
        trouble(p, "%s:%u: that launch had no such task", st->where->file,
                st->where->line);
}

/* The world made tasks: one for each place that is named, with a shape of its own or
 * not. */
static void step_offer(struct player *p, const struct step *st)
{
    uint32_t job = strmap_get(&p->job_ids, st->who.job);
    if (job == MAP_NONE) {
        trouble(p, "%s:%u: no such job", st->where->file, st->where->line);
        return;
    }
    const struct job_spec *spec = &p->jobs.at[job].plan->spec;
    uint16_t leaf = 0;
    while (
        leaf < spec->ngroups &&
        (spec->groups[leaf].shape == GROUP_NONE ||
         (st->who.group.len &&
          !str_eq(st->who.group, words_text(&p->sc->words, spec->groups[leaf].role)))))
        leaf++;
    if (leaf == spec->ngroups) {
        trouble(p, "%s:%u: no such group", st->where->file, st->where->line);
        return;
    }
    uint16_t whole = job_spec_whole_of(spec, leaf);
    bool lone = whole == GROUP_NONE;
    for (uint32_t i = 0; i < st->who.nindexes; i++) {
        uint32_t k = st->who.indexes[i];
        struct record r = {.kind = EV_TASK_OFFERED};
        uint32_t copy = lone ? k : st->who.copy == NOBODY ? 0 : st->who.copy;
        r.task_offered.ref.gang =
            (struct gang_ref){spec->name, lone ? leaf : whole, copy};
        r.task_offered.ref.slot = (struct slot_ref){leaf, lone ? 0 : k};
        r.task_offered.ref.task = task_name(p, spec->name, copy, leaf, lone ? 0 : k);
        r.task_offered.shape =
            st->has_shape ? &st->shape : &spec->shapes[spec->groups[leaf].shape];
        r.task_offered.gated = st->gated;
        fold_fact(p, &r);
    }
}

static void step_submit(struct player *p, const struct step *st)
{
    struct record r = {.kind = EV_JOB_SET};
    uint32_t id = strmap_get(&p->job_ids, st->job.spec.name);
    struct job_spec *spec = arena_alloc(&p->sc->arena, sizeof *spec);
    *spec = st->job.spec;
    spec->submitted_at = p->now;
    if (id == MAP_NONE) {
        strmap_put(&p->job_ids, spec->name, p->jobs.n);
        vec_push(&p->jobs, (struct sim_job){.plan = &st->job,
                                            .submitted = p->now,
                                            .started = NEVER});
    }
    r.job_set = spec;
    fold_fact(p, &r);
}

/* What ran on a lost node is lost by the world's own word. */
static void step_node(struct player *p, const struct step *st)
{
    uint32_t node = node_index(p, st->node);
    struct record r = {.kind = EV_NODE_GONE};
    p->faults = p->faults || st->what != NODE_UP || st->gone;
    if (st->gone) {
        r.node_gone.node = st->node;
        fold_fact(p, &r);
        return;
    }
    p->nodes[node].state = st->what;
    if (st->replace)
        p->nodes[node].uid = arena_str(&p->sc->arena, STR("replaced"));
    bool back = st->what == NODE_UP;
    if (back)
        tell_sync(p, EV_SYNC_BEGIN, st->node);
    tell_node(p, node);
    for (uint32_t i = 0; st->lose && i < p->tasks.n; i++)
        if (p->tasks.at[i].node == node && p->tasks.at[i].state != AT_OVER)
            task_ends(p, i, ENDED_LOST);
    if (back) {
        for (uint32_t i = 0; i < p->tasks.n; i++) { /* what still runs is named */
            const struct sim_task *t = &p->tasks.at[i];
            if (t->node != node || t->state == AT_OVER)
                continue;
            if (t->state !=
                AT_RUNNING) { /* it did not come up, or has ended meanwhile */
                task_state(p, i, AT_OVER);
                continue;
            }
            r = (struct record){.kind = EV_TASK_AT};
            r.task_at.ref = named_ref(p, t);
            r.task_at.node = st->node;
            r.task_at.devs = t->devs;
            r.task_at.slices = t->slices;
            r.task_at.alt = t->alt;
            r.task_at.phase = TASK_READY;
            fold_fact(p, &r);
        }
        tell_sync(p, EV_SYNCED, st->node);
    }
}

static void step_foreign(struct player *p, const struct step *st)
{
    struct record r = {.kind = EV_FOREIGN_SET};
    bool holds = st->what == FOREIGN_HELD || st->what == FOREIGN_ENDING;
    uint32_t node = node_index(p, st->node);
    r.foreign_set.name = st->name;
    r.foreign_set.node = st->node;
    r.foreign_set.shape = &st->shape;
    r.foreign_set.devs = st->devs;
    r.foreign_set.phase = st->what;
    if (st->what == FOREIGN_HELD || st->what == FOREIGN_GONE)
        room_change(&p->rooms[node], &st->shape, st->devs, holds ? 1 : -1);
    fold_fact(p, &r);
}

/* Room kept for a job that a person holds or cancels is nobody's any more. */
static void person_acts(struct player *p, const struct step *st)
{
    uint32_t job = strmap_get(&p->job_ids, st->name);
    if (job == MAP_NONE || (st->what != JOB_CANCEL && st->what != JOB_HOLD))
        return;
    for (uint32_t i = 0; i < p->jobs.at[job].gangs.n; i++) {
        plan_forget(&p->jobs.at[job].gangs.at[i]);
        p->jobs.at[job].gangs.at[i].earliest_by = NEVER;
    }
}

void world_step(struct player *p, const struct step *st)
{
    struct record r = {0};
    switch (st->kind) {
    case STEP_SUBMIT: step_submit(p, st); return;
    case STEP_GHOST: step_ghost(p, st); return;
    case STEP_OFFER: step_offer(p, st); return;
    case STEP_NODE: step_node(p, st); return;
    case STEP_FOREIGN: step_foreign(p, st); return;
    case STEP_DEVICE:
        p->faults = true;
        r.kind = EV_DEVICE_SET;
        r.device_set.node = st->node;
        r.device_set.device = st->number;
        r.device_set.state = st->what;
        fold_fact(p, &r);
        return;
    case STEP_DO:
        r.kind = EV_JOB_DO;
        r.job_do.job = st->name;
        r.job_do.verb = st->what;
        r.job_do.by = STR("somebody");
        person_acts(p, st);
        fold_fact(p, &r);
        return;
    case STEP_SAVED:
        r.kind = EV_CHECKPOINT_SAVED;
        r.checkpoint_saved.job = st->name;
        r.checkpoint_saved.saved_at = p->now;
        fold_fact(p, &r);
        return;
    case STEP_BUDGET:
        r.kind = EV_BUDGET_SET;
        r.budget_set.job = st->name;
        r.budget_set.allowed = st->allowed;
        fold_fact(p, &r);
        return;
    case STEP_WORLD:
        p->manual = st->what;
        p->start_us = st->wait_us;
        p->stop_us = st->stop_us;
        return;
    default: for_picked(p, st);
    }
}
