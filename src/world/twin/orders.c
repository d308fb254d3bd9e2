/* orders.c - the twin carries decisions out
 *
 * A launch makes its tasks at once and lets them run after the start delay (and the restore,
 * when there is a checkpoint to come back to); without a delay they run before the clock
 * moves. A stop takes effect after the stop delay, or after one checkpoint more when it asks
 * for that first. Reasons are kept (reasons.c). Holds, cordons and passes
 * need nothing here.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "world/twin/inside.h"

/* Serial names of arrivals are decimal digits; all others are in the map. */
static uint32_t job_find(const struct twin *t, struct str name)
{
    if (t->extra_ids.n) {
        uint32_t job = strmap_get(&t->extra_ids, name);
        if (job != MAP_NONE)
            return job;
    }
    if (name.len != NAME_LEN)
        return NONE;
    uint32_t n = 0;
    bool digits = true;
    for (uint32_t i = 0; i < NAME_LEN; i++) {
        uint32_t d = (unsigned char)name.ptr[i] - (uint32_t)'0';
        digits &= d < 10;
        n = n * 10 + d;
    }
    return digits && n < t->narrivals ? n : NONE;
}

static int unknown(struct err *err, const char *what, struct str name)
{
    return err_set(err, EPROTO, "twin: the core names %s '" STR_FMT "', which is not there",
                   what, STR_ARG(name));
}

static int launch(struct twin *t, const struct record *r, struct err *err)
{
    uint32_t job = job_find(t, r->launch.gang.job);
    if (job == NONE)
        return unknown(err, "job", r->launch.gang.job);
    if (*job_gang_of(t, job) == JOB_OVER) {
        return err_set(err, EPROTO, "twin: job '" STR_FMT "' is launched after its end",
                       STR_ARG(r->launch.gang.job));
    }
    reasons_forget(t, job);
    uint32_t gang = gang_get(t, job, r->launch.gang.group, r->launch.gang.copy);
    uint32_t started = 0;
    for (uint32_t i = 0; i < r->launch.nseats; i++) {
        const struct seat *seat = &r->launch.seats[i];
        uint32_t node = strmap_get(&t->node_ids, seat->node);
        if (node == MAP_NONE)
            return unknown(err, "node", seat->node);
        uint32_t task = task_add(t, gang, node);
        struct twin_task *k = &t->tasks.at[task];
        k->launch = r->launch.launch;
        k->leaf = seat->slot.leaf;
        k->index = seat->slot.index;
        k->devs = seat->devs;
        k->slices = seat->slices;
        if (t->nodes.at[node].down) { /* it broke before the order came */
            task_end(t, task, ENDED_LOST, -1);
            t->out.at[t->out.n - 1].kind = OUT_REFUSED;
            continue;
        }
        started++;
    }
    const struct twin_gang *g = &t->gangs.at[gang];
    int64_t delay = t->truth.start_us + (g->ready ? t->truth.ready_us : 0) +
                    (g->saved_us ? g->restore_us : 0);
    if (started && delay)
        twin_later(t, t->now + delay, CLASS_REST, TE_START, gang, r->launch.launch);
    else if (started)
        vec_push(&t->starts, (struct start){gang, r->launch.launch});
    return 0;
}

/* The task behind a reference; `from` is where the last one was found, since a stop lists
 * a gang's tasks in order. */
static uint32_t task_find(struct twin *t, const struct task_ref *ref, uint32_t from)
{
    uint32_t job = job_find(t, ref->gang.job);
    uint32_t gang = job == NONE ? NONE : gang_seek(t, job, ref->gang.group, ref->gang.copy);
    if (gang == NONE)
        return NONE;
    uint32_t head = t->gangs.at[gang].head;
    bool near = from != NONE && t->tasks.at[from].gang == gang &&
                t->tasks.at[from].next != NONE;
    uint32_t k = near ? t->tasks.at[from].next : head;
    for (uint32_t looked = 0; k != NONE && looked < t->gangs.at[gang].ntasks; looked++) {
        const struct twin_task *task = &t->tasks.at[k];
        if (task->launch == ref->launch && task->leaf == ref->slot.leaf &&
            task->index == ref->slot.index)
            return k;
        k = task->next == NONE ? head : task->next;
    }
    return NONE;
}

/* A checkpoint before the stop saves all work done until now. */
static int64_t save_first(struct twin *t, uint32_t gang)
{
    struct twin_gang *g = &t->gangs.at[gang];
    if (!g->interval_us || g->since == NEVER)
        return 0;
    gang_bank(t, g);
    g->saved_us = g->done_us;
    g->since = NEVER;
    g->serial++;
    return g->save_us;
}

static void stop(struct twin *t, const struct record *r)
{
    uint32_t last = NONE, saved = NONE;
    int64_t save = 0;
    for (uint32_t i = 0; i < r->stop.ntasks; i++) {
        uint32_t task = task_find(t, &r->stop.tasks[i], last);
        if (task == NONE)
            continue; /* it ended meanwhile: that report is on its way */
        uint32_t gang = t->tasks.at[task].gang;
        last = task;
        if (r->stop.first == STOP_CHECKPOINT && saved != gang) {
            save = save_first(t, gang);
            saved = gang;
        }
        twin_later(t, t->now + save + t->truth.stop_us, CLASS_END, TE_KILL, task,
                   t->tasks.at[task].serial);
    }
}

/* The work pauses while it is written. */
static void ask(struct twin *t, const struct record *r)
{
    uint32_t job = job_find(t, r->ask.job);
    uint32_t gang = job == NONE || *job_gang_of(t, job) == JOB_OVER ? NONE
                                                                    : *job_gang_of(t, job);
    if (gang == NONE)
        return;
    struct twin_gang *g = &t->gangs.at[gang];
    if (!g->interval_us || g->since == NEVER)
        return;
    gang_bank(t, g);
    g->since = t->now + g->save_us;
    g->serial++;
    twin_later(t, g->since, CLASS_REST, TE_ASKED, gang, g->serial);
}

static void said(struct twin *t, const struct record *r)
{
    uint32_t job = r->say.node.len ? NONE : job_find(t, r->say.gang.job);
    if (job != NONE)
        reasons_said(t, job, &r->why);
}

int twin_act(struct world *w, const struct records *decisions, struct err *err)
{
    struct twin *t = (struct twin *)w;
    for (uint32_t i = 0; i < decisions->list.n; i++) {
        const struct record *r = &decisions->list.at[i];
        int rc = 0;
        if (r->kind == DE_LAUNCH)
            rc = launch(t, r, err);
        else if (r->kind == DE_STOP)
            stop(t, r);
        else if (r->kind == DE_ASK)
            ask(t, r);
        else if (r->kind == DE_SAY)
            said(t, r);
        if (rc)
            return rc;
    }
    return 0;
}
