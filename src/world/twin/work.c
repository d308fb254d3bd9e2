/* work.c - gangs at work: progress, checkpoints, losses, ends
 *
 * A gang works while at least `need` of its tasks run. Its work is counted lazily: `done_us`
 * is true at `since`, and the end is one event that is replaced (by serial) whenever the
 * speed changes. With checkpoints, each `interval_us` of work is followed by a pause of
 * `save_us`; what stands after the last full pause is safe:
 *
 *     interval 60, save 5, speed 1, lost after 150 s: two cycles (130 s) are behind it, 120 s
 *     of work are saved, 20 s more were done and are lost.
 *
 * Without checkpoints everything since the beginning is lost. All integer; exact at speed 1.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "world/twin/inside.h"

/* Slots of the gang at its root group: how many must work, and how many it wants. */
static void size_gang(const struct twin *t, struct twin_gang *g)
{
    if (job_is_extra(t, g->job)) {
        const struct job_spec *spec = t->extras.at[g->job - t->narrivals].spec;
        g->need = job_spec_slots(spec, g->group, 1);
        g->want = job_spec_slots(spec, g->group, 0);
        if (!g->need)
            g->need = 1;
        return;
    }
    struct convert_split split;
    convert_split(job_row(t, g->job), t->convert.gpus_per_node, &split);
    g->need = g->want = split.tasks;
}

static void declare_checkpoints(const struct twin *t, struct twin_gang *g, int64_t interval,
                                int64_t save, int64_t restore)
{
    g->interval_us = interval;
    g->save_us = t->truth.ckpt_save_us >= 0 ? t->truth.ckpt_save_us : save;
    g->restore_us = t->truth.ckpt_restore_us >= 0 ? t->truth.ckpt_restore_us : restore;
}

static bool starts_after_ready(const struct job_spec *spec)
{
    for (uint32_t i = 0; i < spec->ngroups; i++)
        if (spec->groups[i].start == START_AFTER_READY)
            return true;
    return false;
}

/* Slots of a leaf in one gang rooted at root; 0: it lies elsewhere. */
static uint64_t slots_below(const struct job_spec *spec, uint16_t leaf, uint16_t root)
{
    uint64_t n = 1;
    for (uint16_t i = leaf; i != root; i = spec->groups[i].parent) {
        if (i == GROUP_NONE)
            return 0;
        n *= spec->groups[i].count.want;
    }
    return n;
}

static void describe_extra(const struct twin *t, struct twin_gang *g)
{
    const struct twin_extra *x = &t->extras.at[g->job - t->narrivals];
    const struct job_spec *spec = x->spec;
    g->work_us = x->run_us == TRACE_NEVER ? NEVER : x->run_us;
    g->failing = x->failing;
    g->on_loss = spec->on_loss;
    g->ready = starts_after_ready(spec);
    if (spec->checkpoint != CHECKPOINT_NONE)
        declare_checkpoints(t, g, spec->ckpt_interval_us, spec->ckpt_save_us,
                            spec->ckpt_restore_us);
    for (uint32_t i = 0; i < spec->ngroups; i++) {
        const struct group_spec *leaf = &spec->groups[i];
        if (leaf->shape != GROUP_NONE)
            g->gpu_milli += slots_below(spec, (uint16_t)i, g->group) *
                            shape_gpu_milli(&spec->shapes[leaf->shape]);
    }
}

static void describe_row(const struct twin *t, struct twin_gang *g)
{
    const struct trace_job *row = job_row(t, g->job);
    const struct belief *b = &t->belief;
    bool never = t->o.forever || row->run_us == TRACE_NEVER;
    g->work_us = never ? NEVER : row->run_us;
    g->failing = row->state == TRACE_FAILED || row->state == TRACE_TIMEOUT;
    g->on_loss = b->on_loss;
    g->gpu_milli = (uint64_t)row->gpus * row->gpu_milli;
    if (belief_checkpoints(b, row->gpus, row->name))
        declare_checkpoints(t, g, b->ckpt_interval_us, b->ckpt_save_us, b->ckpt_restore_us);
}

uint32_t gang_seek(struct twin *t, uint32_t job, uint16_t group, uint32_t copy)
{
    uint32_t g = *job_gang_of(t, job);
    if (g == JOB_OVER)
        return NONE;
    while (g != NONE && (t->gangs.at[g].group != group || t->gangs.at[g].copy != copy))
        g = t->gangs.at[g].sibling;
    return g;
}

uint32_t gang_get(struct twin *t, uint32_t job, uint16_t group, uint32_t copy)
{
    uint32_t id = gang_seek(t, job, group, copy);
    if (id != NONE)
        return id;
    if (t->gangs_free.n) {
        id = t->gangs_free.at[--t->gangs_free.n];
    } else {
        id = t->gangs.n;
        vec_resize(&t->gangs, id + 1);
    }
    struct twin_gang *g = &t->gangs.at[id];
    uint32_t serial = g->serial; /* never repeats, so events of the last user stay stale */
    *g = (struct twin_gang){.job = job,
                            .group = group,
                            .copy = copy,
                            .serial = serial + 1,
                            .live = true,
                            .head = NONE,
                            .tail = NONE,
                            .since = NEVER,
                            .first_start = INT64_MIN};
    size_gang(t, g);
    if (job_is_extra(t, job))
        describe_extra(t, g);
    else
        describe_row(t, g);
    uint32_t *first = job_gang_of(t, job);
    g->sibling = *first;
    *first = id;
    return id;
}

uint32_t task_add(struct twin *t, uint32_t gang, uint32_t node)
{
    uint32_t id;
    if (t->tasks_free.n) {
        id = t->tasks_free.at[--t->tasks_free.n];
    } else {
        id = t->tasks.n;
        vec_resize(&t->tasks, id + 1);
    }
    struct twin_task *k = &t->tasks.at[id];
    struct twin_gang *g = &t->gangs.at[gang];
    struct twin_node *n = &t->nodes.at[node];
    uint32_t serial = k->serial;
    *k = (struct twin_task){.gang = gang, .job = g->job, .group = g->group, .copy = g->copy,
                            .serial = serial + 1, .state = TASK_STARTING, .node = node,
                            .node_next = n->tasks, .node_prev = NONE, .next = NONE,
                            .prev = g->tail};
    if (n->tasks != NONE)
        t->tasks.at[n->tasks].node_prev = id;
    n->tasks = id;
    if (g->tail != NONE)
        t->tasks.at[g->tail].next = id;
    else
        g->head = id;
    g->tail = id;
    g->ntasks++;
    return id;
}

/* Out of its node's and its gang's list; the record of its end is put out. */
void task_end(struct twin *t, uint32_t task, uint8_t how, int8_t exit_code)
{
    struct twin_task *k = &t->tasks.at[task];
    struct twin_gang *g = &t->gangs.at[k->gang];
    assert(k->state == TASK_STARTING || k->state == TASK_WORKING);
    if (k->node_prev != NONE)
        t->tasks.at[k->node_prev].node_next = k->node_next;
    else
        t->nodes.at[k->node].tasks = k->node_next;
    if (k->node_next != NONE)
        t->tasks.at[k->node_next].node_prev = k->node_prev;
    if (k->prev != NONE)
        t->tasks.at[k->prev].next = k->next;
    else
        g->head = k->next;
    if (k->next != NONE)
        t->tasks.at[k->next].prev = k->prev;
    else
        g->tail = k->prev;
    g->ntasks--;
    g->working -= k->state == TASK_WORKING;
    k->state = TASK_OVER;
    k->how = how;
    k->exit_code = exit_code;
    out_add(t, OUT_ENDED, CLASS_END, task, 0);
}

/* Wall time worked and paused since g->since, and what of the work is safe. */
void gang_bank(struct twin *t, struct twin_gang *g)
{
    if (g->since == NEVER || t->now <= g->since)
        return;
    int64_t wall = t->now - g->since;
    g->since = t->now;
    if (!g->interval_us) {
        g->done_us += speed_work_us(wall, g->speed_ppm);
    } else {
        int64_t cycle = g->interval_us + g->save_us;
        int64_t cycles = wall / cycle, rest = wall % cycle;
        int64_t kept = cycles * g->interval_us;
        int64_t more = rest < g->interval_us ? rest : g->interval_us;
        if (cycles)
            g->saved_us = g->done_us + speed_work_us(kept, g->speed_ppm);
        g->done_us += speed_work_us(kept + more, g->speed_ppm);
    }
    if (g->done_us > g->work_us)
        g->done_us = g->work_us;
}

void gang_interrupt(struct twin *t, uint32_t gang)
{
    struct twin_gang *g = &t->gangs.at[gang];
    if (g->since == NEVER)
        return;
    gang_bank(t, g);
    g->lost_us += g->done_us - g->saved_us;
    g->done_us = g->saved_us;
    g->since = NEVER;
    g->serial++;
}

static uint32_t slowest_type(const struct twin *t, const struct twin_gang *g)
{
    uint32_t ppm = UINT32_MAX;
    if (!t->truth.type.n)
        return PPM;
    for (uint32_t k = g->head; k != NONE; k = t->tasks.at[k].next) {
        uint32_t p = t->nodes.at[t->tasks.at[k].node].type_ppm;
        if (t->tasks.at[k].state == TASK_WORKING && p < ppm)
            ppm = p;
    }
    return ppm == UINT32_MAX ? PPM : ppm;
}

static void schedule_end(struct twin *t, uint32_t gang)
{
    struct twin_gang *g = &t->gangs.at[gang];
    int64_t end = NEVER;
    g->serial++;
    if (g->work_us != NEVER) {
        int64_t wall = speed_wall_us(g->work_us - g->done_us, g->speed_ppm);
        if (g->interval_us && wall > 0) /* none is written at the very end */
            wall += (wall - 1) / g->interval_us * g->save_us;
        end = wall < NEVER - g->since ? g->since + wall : NEVER;
    }
    if (end != NEVER)
        twin_later(t, end, CLASS_END, TE_DONE, gang, g->serial);
    if (g->interval_us && g->since + g->interval_us + g->save_us < end)
        twin_later(t, g->since + g->interval_us + g->save_us, CLASS_REST, TE_CHECKPOINT, gang,
                   g->serial);
}

void gang_review(struct twin *t, uint32_t gang)
{
    struct twin_gang *g = &t->gangs.at[gang];
    if (g->working < g->need) {
        gang_interrupt(t, gang);
        return;
    }
    bool fresh = g->since == NEVER;
    gang_bank(t, g);
    uint32_t depth = nodes_common_depth(t, g);
    struct speed_query q = {.depth = depth,
                            .tasks = g->working,
                            .want = g->want,
                            .type_ppm = slowest_type(t, g)};
    g->speed_ppm = speed_of(&t->speed, &q);
    g->cross |= depth < nodes_least_depth(t, g->gpu_milli);
    if (fresh) {
        g->since = t->now;
        g->restarts += g->first_start != INT64_MIN;
        if (g->first_start == INT64_MIN) {
            g->first_start = t->now;
            t->counts.started++;
        }
    }
    schedule_end(t, gang);
}

void gang_start(struct twin *t, uint32_t gang, uint64_t launch)
{
    struct twin_gang *g = &t->gangs.at[gang];
    uint32_t began = 0;
    if (!g->live)
        return;
    for (uint32_t k = g->head; k != NONE; k = t->tasks.at[k].next) {
        struct twin_task *task = &t->tasks.at[k];
        if (task->launch != launch || task->state != TASK_STARTING)
            continue;
        task->state = TASK_WORKING;
        task->since = t->now;
        began++;
        out_add(t, OUT_AT, CLASS_REST, k, g->ready ? TASK_READY : TASK_RUNNING);
    }
    g->working += began;
    if (began && g->working >= g->need)
        gang_review(t, gang);
}

static void gangs_forget(struct twin *t, uint32_t job)
{
    uint32_t *first = job_gang_of(t, job);
    for (uint32_t g = *first, next; g != NONE; g = next) {
        next = t->gangs.at[g].sibling;
        t->gangs.at[g].live = false;
        t->gangs.at[g].serial++;
        vec_push(&t->gangs_free, g);
    }
    *first = JOB_OVER;
}

static void report_row(struct twin *t, uint32_t job, int64_t end_at)
{
    const struct trace_job *row = job_row(t, job);
    struct convert_split split;
    convert_split(row, t->convert.gpus_per_node, &split);
    struct twin_outcome o = {
        .arrival = job,
        .row = row,
        .name = job_name_of(t, job),
        .submit_us = t->o.recorded ? row->submit_us : job_submit_at(t, job),
        .first_start_us = INT64_MIN,
        .end_us = end_at,
        .run_us = t->o.forever ? INT64_MIN : row->run_us,
        .gpu_milli = (uint64_t)row->gpus * row->gpu_milli,
        .tasks = split.tasks,
        .why = reasons_last(t, job),
    };
    uint32_t id = t->job_gang[job];
    if (id != NONE) {
        const struct twin_gang *g = &t->gangs.at[id];
        o.first_start_us = g->first_start;
        o.lost_us = g->lost_us;
        o.restarts = g->restarts;
        o.cross = g->cross;
        o.failed = end_at != INT64_MIN && g->failing;
    }
    t->o.on_end(t->o.arg, &o);
}

static void report_extra(struct twin *t, uint32_t job, int64_t end_at)
{
    const struct job_spec *spec = t->extras.at[job - t->narrivals].spec;
    struct twin_outcome o = {.arrival = job,
                             .name = spec->name,
                             .submit_us = t->extras.at[job - t->narrivals].at,
                             .first_start_us = INT64_MIN,
                             .end_us = end_at,
                             .run_us = t->extras.at[job - t->narrivals].run_us,
                             .failed = end_at != INT64_MIN &&
                                       t->extras.at[job - t->narrivals].failing};
    for (uint32_t id = *job_gang_of(t, job); id != NONE; id = t->gangs.at[id].sibling) {
        const struct twin_gang *g = &t->gangs.at[id];
        bool earlier = g->first_start != INT64_MIN &&
                       (o.first_start_us == INT64_MIN || g->first_start < o.first_start_us);
        if (earlier)
            o.first_start_us = g->first_start;
        o.lost_us += g->lost_us;
        o.restarts += g->restarts;
        o.cross |= g->cross;
        o.tasks += g->want;
        o.gpu_milli = g->gpu_milli;
    }
    t->o.on_end(t->o.arg, &o);
}

void job_report(struct twin *t, uint32_t job, int64_t end_at)
{
    if (!t->o.on_end)
        return;
    if (job_is_extra(t, job))
        report_extra(t, job, end_at);
    else
        report_row(t, job, end_at);
}

/* A row that the record calls failed is done too, with exit code 1: its recorded time is all
 * it ever did, and nobody ran it again, so none of it is recomputed. */
void gang_done(struct twin *t, uint32_t gang)
{
    struct twin_gang *g = &t->gangs.at[gang];
    uint32_t job = g->job;
    int8_t exit_code = g->failing ? 1 : 0;
    gang_bank(t, g);
    g->since = NEVER;
    g->over = true;
    g->serial++;
    while (g->head != NONE)
        task_end(t, g->head, ENDED_DONE, exit_code);
    if (job_is_extra(t, job)) {
        struct twin_extra *x = &t->extras.at[job - t->narrivals];
        if (++x->gangs_over < x->gangs_all)
            return;
    }
    job_report(t, job, t->now);
    gangs_forget(t, job);
    t->counts.finished++;
}

void gang_saved(struct twin *t, uint32_t gang, bool asked)
{
    struct twin_gang *g = &t->gangs.at[gang];
    gang_bank(t, g);
    if (asked)
        g->saved_us = g->done_us;
    g->saves++;
    out_add(t, OUT_SAVED, CLASS_REST, g->job, g->saves);
    schedule_end(t, gang);
}
