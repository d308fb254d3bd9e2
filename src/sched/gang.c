/* gang.c - what the counts of a gang's claims mean: its phase, and when it is over
 * Called by fold after each change of a gang's claims; draws conclusions that are facts
 * (whole, broken, gone, done) and never chooses. Whoever needs a decision is put on the
 * attention list, which decide walks. SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/state.h"

void gang_attend(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    if (g->attention)
        return;
    g->attention = true;
    g->attention_next = s->attention;
    s->attention = gang;
}

void gang_timer(struct sched *s, uint32_t gang, int64_t at)
{
    struct gang *g = &s->gangs.at[gang];
    if (g->timer && g->timer_at <= at)
        return; /* when that one fires, the next is looked for */
    g->timer = ++s->timer_serial;
    g->timer_at = at;
    heap_push(&s->timers, at, s->timer_serial, gang);
}

/* When its time limit is over, if limits are kept here; INT64_MAX. */
int64_t gang_limit_at(struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct job *j = &s->jobs.at[g->job];
    int64_t since = INT64_MAX;
    if (s->policy.limits != LIMITS_ENFORCE || j->time_limit_us == 0)
        return INT64_MAX;
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (c != NONE && s->claims.at[c].phase == CLAIM_RUNNING && s->claims.at[c].since < since)
            since = s->claims.at[c].since;
    }
    return since < INT64_MAX - j->time_limit_us ? since + j->time_limit_us : INT64_MAX;
}

/* The next time at which the gang must be looked at, or INT64_MAX. */
static int64_t gang_next(struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    int64_t next = INT64_MAX;
    if ((g->phase == GANG_LAUNCHING || g->phase == GANG_BROKEN || g->mends) &&
        g->launch_by > s->at)
        next = g->launch_by;
    int64_t limit_at = g->phase == GANG_RUNNING ? gang_limit_at(s, gang) : INT64_MAX;
    if (limit_at > s->at && limit_at < next)
        next = limit_at;
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        int64_t retry_at = c == NONE ? 0 : s->claims.at[c].retry_at;
        if (retry_at > s->at && retry_at < next)
            next = retry_at;
    }
    return next;
}

static bool guest(const struct sched *s)
{
    return !(s->caps & CAP_MAKE);
}

/* Tasks that are there, as far as they count towards the minimum: leaf copy by leaf copy. */
static uint32_t gang_offered(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct tree_root *r = gang_root(s, g);
    uint32_t have = 0;
    for (uint32_t i = 0; i < r->nleaves; i++) {
        const struct tree_leaf *l = &gang_tree(s, g)->leaves[r->leaf0 + i];
        for (uint32_t copy = 0; copy < l->copies; copy++) {
            uint32_t n = 0;
            for (uint32_t k = 0; k < l->per_copy; k++) {
                uint32_t at = l->slot0 + copy * l->per_copy + k;
                const struct slot *sl = g->nslots > 1 ? &g->slots[at] : &g->one;
                n += sl->flags & SLOT_DONE ||
                     (sl->flags & SLOT_OFFERED && !(sl->flags & SLOT_GATED));
            }
            have += n < l->per_min ? n : l->per_min;
        }
    }
    return have;
}

/* Does some copy of a leaf lack members that run, or are done, for its minimum? */
bool gang_is_below(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct tree_root *r = gang_root(s, g);
    for (uint32_t i = 0; i < r->nleaves; i++) {
        const struct tree_leaf *l = &gang_tree(s, g)->leaves[r->leaf0 + i];
        for (uint32_t copy = 0; copy < l->copies; copy++) {
            uint32_t up = 0;
            for (uint32_t k = 0; k < l->per_copy; k++) {
                uint32_t at = l->slot0 + copy * l->per_copy + k;
                const struct slot *sl = g->nslots > 1 ? &g->slots[at] : &g->one;
                up += sl->flags & SLOT_DONE ||
                      (sl->claim != NONE && s->claims.at[sl->claim].phase == CLAIM_RUNNING);
            }
            if (up < l->per_min)
                return true;
        }
    }
    return false;
}

bool gang_may_try(const struct sched *s, uint32_t gang, struct why *why)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct job *j = &s->jobs.at[g->job];
    memset(why, 0, sizeof *why);
    if (j->held) {
        why->code = WHY_HELD;
    } else if (g->not_before > s->at) {
        why->code = WHY_BACKOFF;
        why->other = (uint32_t)((g->not_before - s->at) / 1000000);
        why->need = g->tries;
    } else if (guest(s)) {
        uint32_t have = gang_offered(s, gang), need = gang_root(s, g)->min;
        if (g->offered == 0 && have >= need)
            need = have + 1; /* those that are done would do, but one was to be run again */
        if (have < need)
            *why = (struct why){.code = WHY_INCOMPLETE, .need = need, .have = have};
    }
    return why->code == WHY_NONE;
}

static void free_planned(struct sched *s, uint32_t gang)
{
    for (uint32_t i = 0; s->gangs.at[gang].planned && i < s->gangs.at[gang].nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (c != NONE && s->claims.at[c].phase == CLAIM_PLANNED)
            claim_free(s, c);
    }
}

/* Into a lane, or parked until what keeps it back is over. */
void gang_wait(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    struct why why;
    g->phase = GANG_PENDING;
    if (s->owed.on) {
        owed_add(s, gang);
        owed_settle(s, gang);
    }
    if (g->lane != NONE || g->reserved)
        return;
    if (gang_may_try(s, gang, &why)) {
        gang_pend(s, gang);
        return;
    }
    g->said = false;
    vec_push(&s->unsaid, gang);
    if (g->not_before > s->at)
        gang_timer(s, gang, g->not_before);
}

void job_finish(struct sched *s, uint32_t job)
{
    struct job *j = &s->jobs.at[job];
    for (uint32_t i = s->strays; i != NONE; i = s->claims.at[i].stray_next) {
        struct claim *c = &s->claims.at[i];
        if (c->gang != NONE && s->gangs.at[c->gang].job == job)
            c->gang = c->slot = NONE; /* its room is still real */
    }
    j->live = false;
    job_destroy(s, job);
}

void gang_over(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    if (g->phase == GANG_OVER)
        return;
    gang_unpend(s, gang);
    gang_unmend(s, gang);
    free_planned(s, gang);
    owed_remove(s, gang);
    g = &s->gangs.at[gang];
    g->phase = GANG_OVER;
    uint32_t job = g->job;
    if (--s->jobs.at[job].gangs_left == 0)
        job_finish(s, job);
}

void job_attend(struct sched *s, uint32_t job)
{
    for (uint32_t i = 0; i < s->jobs.at[job].ngangs; i++) {
        const struct job *j = &s->jobs.at[job];
        uint32_t g = j->gangs ? j->gangs[i] : j->one_gang;
        if (s->gangs.at[g].phase != GANG_OVER && s->gangs.at[g].phase != GANG_PENDING)
            gang_attend(s, g);
    }
}

void job_cancel(struct sched *s, uint32_t job)
{
    s->jobs.at[job].cancelled = true;
    if (s->jobs.at[job].ngangs == 0) { /* it wanted nothing, so nothing has to end */
        job_finish(s, job);
        return;
    }
    job_attend(s, job);
    uint32_t n = s->jobs.at[job].ngangs;
    for (uint32_t i = 0; i < n; i++) {
        const struct job *j = &s->jobs.at[job];
        uint32_t g = j->gangs ? j->gangs[i] : j->one_gang;
        if (s->gangs.at[g].phase == GANG_OVER || gang_alive(&s->gangs.at[g]))
            continue; /* what only waits behind its plan ends too */
        bool last = j->gangs_left == 1;
        gang_over(s, g);
        if (last)
            return; /* the job is gone */
    }
}

/* A place that was kept for it is lost: it has as long as after a loss to find another. */
void gang_place_lost(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    int64_t until = s->at + s->policy.repair_grace_us;
    g->launch_by = g->launch_by > until ? g->launch_by : until;
    g->tried_epoch = UINT64_MAX;
    gang_timer(s, gang, g->launch_by);
}

void gang_unmend(struct sched *s, uint32_t gang)
{
    for (uint32_t i = 0; s->gangs.at[gang].mends && i < s->gangs.at[gang].nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (c != NONE)
            claim_keep(s, c, false);
    }
    s->gangs.at[gang].mends = false;
}

/* Does it start again on the places that were kept, rather than wait in a lane? */
static bool gang_stays(const struct sched *s, const struct gang *g)
{
    const struct job *j = &s->jobs.at[g->job];
    int64_t from = s->at + (g->failed ? gang_backoff(s, g) : 0);
    return g->mends && g->planned && from < g->launch_by && !j->cancelled &&
           g->tries <= j->tries;
}

/* Nothing of it is left running: back to the queue, or over. */
static void gang_again(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    const struct job *j = &s->jobs.at[g->job];
    bool stays = gang_stays(s, g);
    if (!stays) {
        gang_unmend(s, gang);
        free_planned(s, gang);
    }
    g = &s->gangs.at[gang];
    if (j->cancelled) {
        gang_over(s, gang);
        return;
    }
    if (g->tries > j->tries) { /* it failed too often: the whole job does */
        uint32_t job = g->job;
        g->phase = GANG_PENDING;
        job_cancel(s, job);
        return;
    }
    if (j->on_loss == LOSS_GANG) {
        for (uint32_t i = 0; i < g->nslots; i++)
            gang_slot(s, gang, i)->flags &= ~(uint32_t)SLOT_DONE;
        g->done = 0;
    }
    if (g->failed && j->backoff_us)
        g->not_before = s->at + gang_backoff(s, g);
    for (uint32_t i = 0; i < g->nslots; i++) {
        struct slot *sl = gang_slot(s, gang, i);
        sl->flags &= ~(uint32_t)(SLOT_STARTED | SLOT_READY);
        sl->rank = i;
    }
    g->failed = g->raised = g->grows = g->behind = g->half = false;
    g->stage = 0;
    g->timer = 0;
    if (stays) {
        g->phase = GANG_LAUNCHING;
        g->behind = true;
        gang_timer(s, gang, g->not_before > s->at ? g->not_before : g->launch_by);
        gang_attend(s, gang);
        return;
    }
    g->target = 0;
    g->launch_by = 0;
    g->due = g->due || g->moves;
    g->moves = false;
    gang_wait(s, gang);
}

bool gang_succeeded(struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct job *j = &s->jobs.at[g->job];
    if (j->kind == JOB_SERVICE || g->done == 0)
        return false;
    if (j->success == SUCCESS_ANY)
        return true;
    if (j->success == SUCCESS_LEADER)
        return gang_slot(s, gang, 0)->flags & SLOT_DONE;
    return g->done >= g->target;
}

/* Members that this copy of a leaf has, or will have without a further decision. */
uint32_t leaf_copy_has(const struct sched *s, uint32_t gang, const struct tree_leaf *l,
                       uint32_t copy)
{
    const struct gang *g = &s->gangs.at[gang];
    uint32_t n = 0;
    for (uint32_t k = 0; k < l->per_copy; k++) {
        uint32_t at = l->slot0 + copy * l->per_copy + k;
        const struct slot *sl = g->nslots > 1 ? &g->slots[at] : &g->one;
        n += sl->flags & SLOT_DONE ||
             (sl->claim != NONE && (s->claims.at[sl->claim].phase != CLAIM_ENDING ||
                                    s->claims.at[sl->claim].kept));
    }
    return n;
}

uint32_t gang_lacks(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct tree_root *r = gang_root(s, g);
    uint32_t lack = 0;
    for (uint32_t i = r->leaf0; i < r->leaf0 + r->nleaves; i++) {
        const struct tree_leaf *l = &gang_tree(s, g)->leaves[i];
        for (uint32_t copy = 0; copy < l->copies; copy++) {
            uint32_t n = leaf_copy_has(s, gang, l, copy);
            lack += n < l->per_min ? l->per_min - n : 0;
        }
    }
    return lack;
}

/* What is wanted; where others make the tasks, as many as they made. */
uint32_t leaf_goal(const struct sched *s, const struct tree_leaf *l)
{
    return s->caps & CAP_MAKE ? l->want : l->per_copy;
}

bool gang_may_grow(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct tree_root *r = gang_root(s, g);
    for (uint32_t i = r->leaf0; i < r->leaf0 + r->nleaves; i++) {
        const struct tree_leaf *l = &gang_tree(s, g)->leaves[i];
        for (uint32_t copy = 0; copy < l->copies; copy++)
            if (leaf_copy_has(s, gang, l, copy) < leaf_goal(s, l))
                return true;
    }
    return false;
}

/* Enough members in all, but of the wrong leaf: the target grows by what the others lack. */
static void target_covers_minima(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    uint32_t have = g->issued + g->running + g->planned + g->done;
    if (have < g->target || have == g->nslots)
        return;
    uint32_t lack = gang_lacks(s, gang);
    if (lack)
        g->target = have + lack;
}

static void settle_open(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    target_covers_minima(s, gang);
    if (g->running + g->done >= g->target && g->ending == 0 && g->issued == 0) {
        if (g->half)
            account_whole(s, gang);
        g->phase = GANG_RUNNING;
        g->launch_by = 0;
        g->timer = 0;
        if (gang_limit_at(s, gang) != INT64_MAX)
            gang_timer(s, gang, gang_limit_at(s, gang));
        g->failed = g->raised = false;
        g->grows = g->grows && gang_may_grow(s, gang);
        if (g->grows)
            gang_attend(s, gang);
    } else if (gang_missing(g) > 0) {
        if (g->phase == GANG_RUNNING) {
            g->phase = GANG_BROKEN;
            g->launch_by = s->at + s->policy.repair_grace_us;
            gang_timer(s, gang, g->launch_by);
        }
        g->tried_epoch = UINT64_MAX;
        gang_attend(s, gang);
    }
    if (g->planned)
        gang_attend(s, gang);
}

static void settle(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    if (g->phase == GANG_PENDING) {
        if (gang_alive(g) == 0)
            return;
        /* a task was adopted: the world runs what we have not launched */
        gang_unpend(s, gang);
        g->phase = GANG_LAUNCHING;
        g->target = gang_root(s, g)->min > gang_alive(g) ? gang_root(s, g)->min
                                                         : gang_alive(g);
        g->launch_by = s->at + s->policy.repair_grace_us;
        gang_timer(s, gang, g->launch_by);
    }
    uint32_t have = g->issued + g->running + g->planned + g->done; /* who ends is leaving */
    if (have > g->target)
        g->target = have;
    if (gang_succeeded(s, gang)) {
        if (gang_alive(g) == 0) {
            gang_over(s, gang);
            return;
        }
        g->phase = GANG_STOPPING; /* whoever is left is stopped */
        gang_unmend(s, gang);
        free_planned(s, gang);
        gang_attend(s, gang);
        return;
    }
    if (gang_alive(g) > 0 && g->behind) /* the world ran one of its tasks after all */
        g->behind = g->mends = false;
    else if (gang_is_behind(s, g))
        return; /* its room is still somebody's who ends */
    if (gang_alive(g) == 0) {
        gang_again(s, gang);
        return;
    }
    if (s->jobs.at[g->job].cancelled)
        gang_attend(s, gang);
    if (g->mends) { /* its places are kept until the last has ended */
        g->phase = GANG_STOPPING;
        gang_attend(s, gang);
        return;
    }
    if (g->issued + g->running == 0) {
        g->phase = GANG_STOPPING;
        free_planned(s, gang);
        return;
    }
    if (g->phase == GANG_STOPPING) /* a stop was refused */
        g->phase = GANG_BROKEN;
    settle_open(s, gang);
}

void gang_settle(struct sched *s, uint32_t gang)
{
    if (!s->gangs.at[gang].live || s->gangs.at[gang].phase == GANG_OVER)
        return;
    settle(s, gang);
    gang_changed(s, gang);
}

void gang_changed(struct sched *s, uint32_t gang)
{
    if (s->owed.on && s->gangs.at[gang].live)
        owed_settle(s, gang);
    if (s->scratch_runners)
        runners_dirty(s, gang);
}

/* It lost a member: where the loss of one is the loss of all, nothing is mended. */
void gang_lost(struct sched *s, uint32_t gang)
{
    if (s->jobs.at[s->gangs.at[gang].job].on_loss == LOSS_GANG)
        s->gangs.at[gang].raised = false;
}

/* A member is gone for good and the job said that this does not matter. */
void gang_shrink(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    uint32_t have = g->issued + g->running + g->planned + g->done;
    if (have >= gang_root(s, g)->min && have < g->target)
        g->target = have;
}

/* Must decide look at it? A function of the state, so the list can be thinned at borders. */
static bool gang_needs(struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    if (!g->live || g->phase == GANG_PENDING || g->phase == GANG_OVER)
        return false;
    if (s->jobs.at[g->job].cancelled || gang_succeeded(s, gang))
        return g->issued + g->running > 0;
    if (g->phase == GANG_RUNNING && gang_limit_at(s, gang) <= s->at)
        return true;
    if (g->mends)
        return true;
    if (g->phase == GANG_LAUNCHING)
        return gang_missing(g) > 0 || g->planned > 0 || g->launch_by <= s->at;
    return g->phase == GANG_BROKEN ||
           (g->phase == GANG_RUNNING && (g->planned > 0 || g->grows));
}

void attention_thin(struct sched *s)
{
    uint32_t *at = &s->attention;
    while (*at != NONE) {
        struct gang *g = &s->gangs.at[*at];
        if (gang_needs(s, *at)) {
            at = &g->attention_next;
            continue;
        }
        uint32_t gang = *at;
        *at = g->attention_next;
        g->attention = false;
        g->attention_next = NONE;
        if (!g->live)
            vec_push(&s->gangs_free, gang);
    }
}

static bool timer_is_valid(const struct sched *s, const struct heap_item *t)
{
    const struct gang *g = &s->gangs.at[t->item];
    return g->live && g->timer == (uint32_t)t->tie;
}

static bool timer_is_due(const struct sched *s)
{
    const struct heap_item *top = heap_top(&s->timers);
    return top && (top->key <= s->at || !timer_is_valid(s, top));
}

/* Whose time has come is attended, or may be tried again. */
static __attribute__((noinline)) void timers_fire(struct sched *s)
{
    while (timer_is_due(s)) {
        struct heap_item t = heap_pop(&s->timers);
        if (!timer_is_valid(s, &t))
            continue;
        struct gang *g = &s->gangs.at[t.item];
        g->timer = 0;
        if (g->phase == GANG_PENDING) {
            gang_wait(s, t.item);
            if (owed_due_at(s, t.item) <= s->at)
                owed_fall_due(s, t.item);
            int64_t due_at = gang_due_at(s, &s->gangs.at[t.item]);
            int64_t owed_at = owed_due_at(s, t.item);
            if (due_at <= s->at)
                gang_fall_due(s, t.item);
            due_at = gang_due_at(s, &s->gangs.at[t.item]);
            due_at = due_at < owed_at ? due_at : owed_at;
            if (due_at <= s->at)
                continue;
            else if (due_at != INT64_MAX)
                gang_timer(s, t.item, due_at);
            continue;
        }
        gang_attend(s, t.item);
        int64_t next = gang_next(s, t.item);
        if (next != INT64_MAX)
            gang_timer(s, t.item, next);
    }
}

void timers_run(struct sched *s)
{
    if (timer_is_due(s)) /* at most borders none is */
        timers_fire(s);
}

/* Gangs that were parked may go into their lanes: what kept all of them is over. */
void gangs_unpark(struct sched *s)
{
    for (uint32_t i = 0; i < s->gangs.n; i++) {
        struct gang *g = &s->gangs.at[i];
        if (g->live && g->phase == GANG_PENDING && g->lane == NONE)
            gang_wait(s, i);
    }
}
