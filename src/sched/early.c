/* early.c - tasks that their owner made before the job's counts said so
 *
 * A group is scaled up and its new pods may be seen before the job_set that makes places for
 * them. They wait here, bound to nothing, until the counts follow (then they are offered
 * anew, in the order they came), the task ends or is gone, or its job is. At most EARLY_MAX
 * in all; what comes beyond is a no-op, and the world's next sync names it again.
 * Cost: O(those that wait), for records that name one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/state.h"

static void early_remove(struct sched *s, uint32_t at)
{
    struct early *e = &s->early.at[at];
    free(e->task);
    if (e->shape != NONE)
        shape_unref(s, e->shape);
    memmove(e, e + 1, (s->early.n - at - 1) * sizeof *e);
    s->early.n--;
}

static uint32_t early_find(const struct sched *s, struct str task)
{
    for (uint32_t i = 0; i < s->early.n; i++)
        if (str_eq((struct str){s->early.at[i].task, s->early.at[i].task_len}, task))
            return i;
    return NONE;
}

void early_drop(struct sched *s, struct str task)
{
    uint32_t at = task.len ? early_find(s, task) : NONE;
    if (at != NONE)
        early_remove(s, at);
}

/* Does the job have such a leaf in such a gang, if only there were more of them? */
static bool has_leaf(const struct sched *s, uint32_t job, uint16_t group, uint16_t leaf)
{
    const struct tree *t = &s->trees.at[s->jobs.at[job].tree];
    for (uint32_t r = 0; r < t->nroots; r++)
        for (uint32_t i = 0; t->roots[r].group == group && i < t->roots[r].nleaves; i++)
            if (t->leaves[t->roots[r].leaf0 + i].group == leaf)
                return true;
    return false;
}

static void early_put(struct sched *s, const struct early *e, struct str task)
{
    early_drop(s, task);
    if (s->early.n == EARLY_MAX) {
        if (e->shape != NONE)
            shape_unref(s, e->shape);
        noop(s);
        return;
    }
    vec_push(&s->early, *e);
    struct early *mine = &s->early.at[s->early.n - 1];
    mine->task = mem_strndup(task.ptr, task.len);
    mine->task_len = (uint32_t)task.len;
}

void early_keep(struct sched *s, const struct record *r)
{
    const struct task_ref *ref = &r->task_offered.ref;
    uint32_t job = job_find(s, ref->gang.job);
    if (job == NONE || !ref->task.len || s->jobs.at[job].cancelled ||
        ref->gang.copy >= JOB_SLOTS_MAX || ref->slot.index >= JOB_SLOTS_MAX ||
        !has_leaf(s, job, ref->gang.group, ref->slot.leaf)) {
        noop(s);
        return;
    }
    struct early e;
    memset(&e, 0, sizeof e); /* saved as it is */
    e.job = job;
    e.group = ref->gang.group;
    e.copy = ref->gang.copy;
    e.leaf = ref->slot.leaf;
    e.index = ref->slot.index;
    e.shape = r->task_offered.shape ? shape_intern(s, r->task_offered.shape) : NONE;
    e.gated = r->task_offered.gated;
    e.bare = r->task_offered.bare;
    e.seen = true;
    early_put(s, &e, ref->task);
    uint32_t gang = gang_find(s, &ref->gang);
    if (gang != NONE)
        vec_push(&s->unsaid, gang);
}

void early_slot(struct sched *s, uint32_t gang, uint32_t slot)
{
    struct slot *sl = gang_slot(s, gang, slot);
    struct slot_ref ref = slot_ref_of(s, gang, slot);
    struct early e;
    memset(&e, 0, sizeof e);
    e.job = s->gangs.at[gang].job;
    e.group = gang_root(s, &s->gangs.at[gang])->group;
    e.copy = s->gangs.at[gang].copy;
    e.leaf = ref.leaf;
    e.index = ref.index;
    e.shape = sl->shape;
    if (e.shape != NONE)
        s->shapes.at[e.shape].refs++;
    e.gated = sl->flags & SLOT_GATED;
    e.bare = sl->flags & SLOT_BARE;
    e.seen = sl->flags & SLOT_SEEN;
    early_put(s, &e, (struct str){sl->task, sl->task_len});
}

void early_forget(struct sched *s, uint32_t job)
{
    for (uint32_t i = s->early.n; i-- > 0;)
        if (s->early.at[i].job == job)
            early_remove(s, i);
}

void early_admit(struct sched *s, uint32_t job)
{
    VEC(struct early) again = {0};
    for (uint32_t i = 0; i < s->early.n;) {
        if (s->early.at[i].job != job) {
            i++;
            continue;
        }
        vec_push(&again, s->early.at[i]);
        s->early.at[i].task = NULL;
        s->early.at[i].shape = NONE;
        early_remove(s, i);
    }
    for (uint32_t i = 0; i < again.n; i++) {
        struct early *e = &again.at[i];
        struct shape own;
        struct record r = {.kind = EV_TASK_OFFERED, .at = s->at, .seq = s->seq};
        r.task_offered.ref = (struct task_ref){
            .task = {e->task, e->task_len},
            .gang = {job_name(&s->jobs.at[job]), e->group, e->copy},
            .slot = {e->leaf, e->index}};
        if (e->shape != NONE) {
            own = s->shapes.at[e->shape].shape;
            r.task_offered.shape = &own;
        }
        r.task_offered.gated = e->gated;
        r.task_offered.bare = e->bare;
        fold_task(s, &r);
        if (e->shape != NONE)
            shape_unref(s, e->shape);
        free(e->task);
    }
    vec_done(&again);
}

void early_unseen(struct sched *s)
{
    for (uint32_t i = s->early.n; i-- > 0;)
        if (s->caps & CAP_MAKE || !s->early.at[i].seen)
            early_remove(s, i);
}

uint32_t early_count(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    uint16_t group = gang_root(s, g)->group;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->early.n; i++)
        n += s->early.at[i].job == g->job && s->early.at[i].group == group &&
             s->early.at[i].copy == g->copy;
    return n;
}
