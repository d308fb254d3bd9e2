/* fold-task.c - reports about tasks, by the table of phase.h
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>

#include "sched/state.h"

/* A stray's key: the world's name, or slot and launch in words no name can have. */
struct str task_key(const struct task_ref *ref, char out[TASK_KEY_MAX])
{
    if (ref->task.len)
        return ref->task;
    int n = snprintf(out, TASK_KEY_MAX, "\x02%llu %u %u %u %u " STR_FMT,
                     (unsigned long long)ref->launch, ref->gang.group, ref->gang.copy,
                     ref->slot.leaf, ref->slot.index,
                     (int)(ref->gang.job.len > 300 ? 300 : ref->gang.job.len),
                     ref->gang.job.ptr);
    return (struct str){out, (size_t)n};
}

static uint32_t slot_of_task(const struct sched *s, struct str task, uint32_t *gang)
{
    uint32_t g = strmap_get(&s->slot_tasks, task);
    if (g == MAP_NONE)
        return NONE;
    const struct gang *gg = &s->gangs.at[g];
    for (uint32_t i = 0; i < gg->nslots; i++) {
        const struct slot *sl = gg->nslots > 1 ? &gg->slots[i] : &gg->one;
        if (str_eq((struct str){sl->task, sl->task_len}, task)) {
            *gang = g;
            return i;
        }
    }
    return NONE;
}

enum claim_phase task_locate(const struct sched *s, const struct task_ref *ref,
                             uint32_t *gang, uint32_t *slot, uint32_t *claim)
{
    char text[400];
    *gang = *slot = *claim = NONE;
    if (s->tasks.n) {
        uint32_t id = strmap_get(&s->tasks, task_key(ref, text));
        if (id != MAP_NONE) {
            *claim = id;
            *gang = s->claims.at[id].gang;
            *slot = s->claims.at[id].slot;
            return CLAIM_STRAY;
        }
    }
    if (ref->task.len)
        *slot = slot_of_task(s, ref->task, gang);
    bool by_name = *slot != NONE;
    if (!by_name) {
        *gang = gang_find(s, &ref->gang);
        if (*gang == NONE)
            return CLAIM_NONE;
        *slot = slot_find(s, *gang, ref->slot);
        if (*slot == NONE) {
            *gang = NONE;
            return CLAIM_NONE;
        }
    }
    const struct gang *g = &s->gangs.at[*gang];
    const struct slot *sl = g->nslots > 1 ? &g->slots[*slot] : &g->one;
    if (!by_name && ref->task.len && sl->task)
        return CLAIM_NONE; /* the slot is another task's */
    if (sl->claim == NONE)
        return CLAIM_NONE;
    const struct claim *c = &s->claims.at[sl->claim];
    if (!by_name && ref->launch && c->launch && ref->launch != c->launch)
        return CLAIM_NONE; /* an old launch's task; never the new one */
    if (!by_name && c->phase == CLAIM_PLANNED && ref->launch <= sl->last_launch)
        return CLAIM_NONE; /* it ended here; the room is for the next */
    *claim = sl->claim;
    return c->phase;
}

/* The devices a report names, or, where it names none, those we knew, or stand-ins. */
static uint64_t report_devs(struct sched *s, const struct record *r, uint32_t shape,
                            uint32_t node, uint32_t claim)
{
    const struct node *n = &s->cluster->nodes[node];
    uint64_t devs = r->task_at.devs & node_devs(n);
    if (devs || shape == NONE)
        return devs;
    const struct shape *sh = &s->shapes.at[shape].shape;
    if (sh->gpu_mode == GPU_NONE)
        return 0;
    if (claim != NONE && s->claims.at[claim].use.node == node)
        return s->claims.at[claim].use.devs;
    if (sh->gpu_mode == GPU_WHOLE) {
        devs = node_pick_whole(s->cluster, n, TYPE_ANY, sh->gpu_count);
        return devs ? devs : n->whole_free;
    }
    return n->healthy & -n->healthy;
}

/* The usual report: the task is where we sent it, on the devices that we chose. (Slices are
 * looked at one by one, and what has no shape is taken as it is reported.) */
static bool report_is_known(const struct sched *s, const struct record *r,
                            const struct claim *c)
{
    return c->taken && c->shape != NONE && c->use.mode != GPU_MIG &&
           c->use.devs == r->task_at.devs &&
           str_eq(cluster_node_name(s->cluster, c->use.node), r->task_at.node);
}

static void task_move(struct sched *s, const struct record *r, uint32_t claim)
{
    bool same = s->claims.at[claim].alt == r->task_at.alt;
    if (same && report_is_known(s, r, &s->claims.at[claim]))
        return;
    uint8_t was = s->claims.at[claim].alt;
    claim_choose(s, claim, r->task_at.alt);
    same = s->claims.at[claim].alt == was;
    uint32_t shape = s->claims.at[claim].shape;
    s->last_node = s->claims.at[claim].use.node; /* as a rule it is where we sent it */
    uint32_t node = node_find(s, r->task_at.node);
    struct use u = {.node = node, .mode = GPU_WHOLE, .gpu_milli = 1000};
    uint64_t devs = node == NODE_NONE ? r->task_at.devs
                                      : report_devs(s, r, shape, node, claim);
    uint16_t slices = r->task_at.slices;
    const struct use *old = &s->claims.at[claim].use;
    if (!slices && old->node == node && old->devs == devs)
        slices = old->slices;
    if (shape != NONE) {
        use_of_shape(s, shape, node, devs, slices, &u);
        if (u.mode == GPU_MIG && !u.slices)
            u.devs = 0;
    } else {
        u.devs = devs;
    }
    if (same && old->node == u.node && old->devs == u.devs && old->slices == u.slices &&
        s->claims.at[claim].taken)
        return;
    s->claims.at[claim].placed = false;
    if (s->claims.at[claim].kept)
        claim_keep(s, claim, false);
    claim_place(s, claim, &u, r->task_at.node);
}

static void task_is_up(struct sched *s, const struct record *r, uint32_t gang, uint32_t slot)
{
    struct slot *sl = gang_slot(s, gang, slot);
    sl->flags |= SLOT_STARTED;
    if (r->task_at.phase == TASK_READY)
        sl->flags |= SLOT_READY;
}

static void act_run(struct sched *s, const struct record *r, uint32_t claim)
{
    uint32_t gang = s->claims.at[claim].gang, slot = s->claims.at[claim].slot;
    claim_phase(s, claim, CLAIM_RUNNING);
    task_move(s, r, claim);
    struct claim *c = &s->claims.at[claim];
    c->seen = true;
    if (r->task_at.ref.launch > c->launch) /* by name it may be an older one of the task */
        c->launch = r->task_at.ref.launch;
    task_is_up(s, r, gang, slot);
    gang_settle(s, gang);
}

/* A task that the state did not expect: ours if it names an empty slot and is not older
 * than the last that ended there; else a stray. */
static void act_adopt(struct sched *s, const struct record *r, uint32_t gang, uint32_t slot,
                      uint32_t claim)
{
    const struct task_ref *ref = &r->task_at.ref;
    char text[400];
    struct str key = task_key(ref, text);
    struct slot *sl = slot == NONE ? NULL : gang_slot(s, gang, slot);
    bool named = sl && ref->task.len && str_eq((struct str){sl->task, sl->task_len}, ref->task);
    bool ours = sl && sl->claim == NONE && !(sl->flags & SLOT_DONE) &&
                (named || ref->launch == 0 || ref->launch > sl->last_launch) &&
                s->gangs.at[gang].phase != GANG_OVER &&
                !s->jobs.at[s->gangs.at[gang].job].cancelled;
    if (ours && ref->task.len && sl->task &&
        !str_eq((struct str){sl->task, sl->task_len}, ref->task))
        ours = false;
    if (claim != NONE && (!ours || s->claims.at[claim].foreign)) {
        task_move(s, r, claim); /* a stray stays one, where the world says */
        s->claims.at[claim].seen = true;
        return;
    }
    if (claim != NONE)
        claim_free(s, claim); /* the stray becomes the slot's */
    uint32_t id = claim_create(s, gang, slot, ours ? CLAIM_RUNNING : CLAIM_STRAY);
    s->claims.at[id].launch = ref->launch;
    task_move(s, r, id);
    if (!ours) {
        claim_make_stray(s, id, key);
        return;
    }
    if (ref->task.len)
        slot_set_task(s, gang, slot, ref->task);
    task_is_up(s, r, gang, slot);
    gang_settle(s, gang);
}

static void act_refused(struct sched *s, const struct record *r, uint32_t claim)
{
    struct claim *c = &s->claims.at[claim];
    uint32_t gang = c->gang;
    uint8_t class_ = r->task_refused.class_;
    if (class_ == REFUSED_THROTTLED || class_ == REFUSED_NOT_SENT) {
        claim_phase(s, claim, CLAIM_PLANNED);
        c = &s->claims.at[claim];
        c->retry_at = r->task_refused.retry_at > s->at ? r->task_refused.retry_at : s->at;
        c->asked = false;
        gang_timer(s, gang, c->retry_at);
    } else {
        claim_free(s, claim);
    }
    gang_settle(s, gang);
}

/* What a task that ended was lost with: its node, a device, or nothing. */
static uint32_t hurt_by(const struct sched *s, const struct claim *c, uint8_t how)
{
    if (c->use.node == NODE_NONE)
        return SLOT_LOST_NODE;
    const struct node *n = &s->cluster->nodes[c->use.node];
    if (how == ENDED_LOST || n->state != NODE_UP || n->cordoned || n->unsynced)
        return SLOT_LOST_NODE;
    return c->use.mode != GPU_NONE && c->use.devs & ~n->healthy ? SLOT_LOST_DEVICE : 0;
}

static void act_ended(struct sched *s, const struct record *r, uint32_t claim)
{
    struct claim *c = &s->claims.at[claim];
    uint32_t gang = c->gang, slot = c->slot, node = c->use.node;
    uint32_t hurt = hurt_by(s, c, r->task_ended.how);
    bool stray = c->phase == CLAIM_STRAY, ours = c->ours;
    uint8_t how = r->task_ended.how;
    if (how != ENDED_DONE && !stray)
        account_lost(s, c);
    if (gang != NONE && !stray && !ours &&
        (how == ENDED_DONE || how == ENDED_FAILED || how == ENDED_OOM))
        expected_learn(s, c);
    c->extra = false; /* it was there: its gang has lost it */
    if (how != ENDED_DONE && gang != NONE && !stray)
        gang_lost(s, gang);
    if (c->kept && how != ENDED_DONE && how != ENDED_LOST && claim_may_stay(s, c))
        claim_replan(s, claim);
    else {
        if (c->kept)
            gang_place_lost(s, gang);
        claim_free(s, claim);
    }
    if (how == ENDED_LOST && node != NODE_NONE) {
        cluster_node_unsynced(s->cluster, node, true);
        account_node(s, node);
        reserve_fact(s, node);
        spares_fact(s, node);
    }
    if (gang == NONE || stray)
        return;
    struct gang *g = &s->gangs.at[gang];
    const struct job *j = &s->jobs.at[g->job];
    struct slot *sl = gang_slot(s, gang, slot);
    if (sl->task)
        slot_set_task(s, gang, slot, (struct str){0});
    if (sl->flags & SLOT_OFFERED && !(sl->flags & SLOT_GATED))
        g->offered--;
    sl->flags &= ~(uint32_t)(SLOT_OFFERED | SLOT_GATED | SLOT_STARTED | SLOT_READY);
    sl->flags |= hurt;
    if (how == ENDED_DONE && j->kind == JOB_FINITE) {
        sl->flags |= SLOT_DONE;
        g->done++;
    } else if (!ours && (how == ENDED_FAILED || how == ENDED_OOM)) {
        g->tries++;
        faults_note(s, gang, node, how == ENDED_FAILED && !g->failed);
        g->failed = true;
    }
    if (!ours && how != ENDED_DONE && j->on_loss == LOSS_IGNORE)
        gang_shrink(s, gang);
    if (g->failed && j->on_loss == LOSS_MEMBER && g->tries > j->tries) {
        job_cancel(s, g->job); /* members are mended one by one, but not for ever */
        if (!s->gangs.at[gang].live)
            return;
    } else if (g->failed && j->on_loss == LOSS_MEMBER && j->backoff_us) {
        g->not_before = s->at + gang_backoff(s, g);
        gang_timer(s, gang, g->not_before);
    }
    gang_settle(s, gang);
}

static void act_ending(struct sched *s, const struct record *r, uint32_t claim)
{
    struct claim *c = &s->claims.at[claim];
    uint32_t gang = c->gang;
    if (r->task_ending.by == ENDING_US)
        c->ours = true;
    claim_phase(s, claim, CLAIM_ENDING);
    s->claims.at[claim].seen = true;
    gang_settle(s, gang);
}

static void act_resume(struct sched *s, const struct record *r, uint32_t claim)
{
    struct claim *c = &s->claims.at[claim];
    if (r->stop_refused.stop && c->stop && r->stop_refused.stop != c->stop) {
        noop(s);
        return;
    }
    int64_t since = c->since + (s->at - c->until); /* the clock stood while it was ending */
    uint32_t gang = c->gang;
    claim_phase(s, claim, CLAIM_RUNNING);
    c = &s->claims.at[claim];
    c->since = since;
    c->asked = c->ours = false;
    c->retry_at = r->stop_refused.retry_at > s->at ? r->stop_refused.retry_at
                                                   : s->at + 1000000;
    gang_settle(s, gang);
    if (s->gangs.at[gang].live && s->gangs.at[gang].phase != GANG_OVER)
        gang_timer(s, gang, s->claims.at[claim].retry_at);
}

static void act_offer(struct sched *s, const struct record *r, uint32_t gang, uint32_t slot)
{
    if (s->caps & CAP_MAKE) {
        noop(s);
        return;
    }
    if (gang == NONE) {
        early_keep(s, r);
        return;
    }
    struct slot *sl = gang_slot(s, gang, slot);
    if (sl->task && !str_eq((struct str){sl->task, sl->task_len}, r->task_offered.ref.task)) {
        noop(s); /* the slot is taken by another task */
        return;
    }
    bool counted = sl->flags & SLOT_OFFERED && !(sl->flags & SLOT_GATED);
    slot_set_task(s, gang, slot, r->task_offered.ref.task);
    sl->flags &= ~(uint32_t)(SLOT_GATED | SLOT_BARE);
    sl->flags |= SLOT_OFFERED | SLOT_SEEN | (r->task_offered.gated ? SLOT_GATED : 0) |
                 (r->task_offered.bare ? SLOT_BARE : 0);
    if (r->task_offered.shape && sl->claim == NONE) {
        uint32_t old = sl->shape;
        uint32_t shape = shape_intern(s, r->task_offered.shape);
        gang_slot(s, gang, slot)->shape = shape;
        if (old != NONE)
            shape_unref(s, old);
    }
    struct gang *g = &s->gangs.at[gang];
    g->offered += (uint32_t)!r->task_offered.gated - (uint32_t)counted;
    if (g->phase == GANG_PENDING) {
        gang_unpend(s, gang);
        gang_wait(s, gang);
    } else {
        g->tried_epoch = UINT64_MAX;
        gang_attend(s, gang);
    }
}

void slot_forget(struct sched *s, uint32_t gang, uint32_t slot)
{
    struct slot *sl = gang_slot(s, gang, slot);
    struct gang *g = &s->gangs.at[gang];
    if (sl->flags & SLOT_OFFERED && !(sl->flags & SLOT_GATED))
        g->offered--;
    sl->flags &= ~(uint32_t)(SLOT_OFFERED | SLOT_GATED);
    slot_set_task(s, gang, slot, (struct str){0});
    if (g->phase != GANG_PENDING)
        return;
    gang_unpend(s, gang);
    gang_wait(s, gang);
}

static void act_forget(struct sched *s, const struct task_ref *ref, uint32_t gang,
                       uint32_t slot)
{
    struct slot *sl = gang == NONE ? NULL : gang_slot(s, gang, slot);
    if (!sl || !sl->task ||
        (ref->task.len && !str_eq(ref->task, (struct str){sl->task, sl->task_len})))
        noop(s); /* nobody's, or another task's by now */
    else
        slot_forget(s, gang, slot);
}

static void act_gone(struct sched *s, const struct task_ref *ref, uint32_t claim)
{
    uint32_t gang = s->claims.at[claim].gang, slot = s->claims.at[claim].slot;
    claim_free(s, claim);
    act_forget(s, ref, gang, slot);
    gang_settle(s, gang);
}

static bool never_started(const struct record *r)
{
    return r->task_refused.class_ == REFUSED_NOT_SENT ||
           r->task_refused.class_ == REFUSED_GONE;
}

static void act_never(struct sched *s, const struct record *r, uint32_t claim)
{
    uint32_t gang = s->claims.at[claim].gang;
    bool stray = s->claims.at[claim].phase == CLAIM_STRAY;
    if (!never_started(r)) {
        noop(s);
        return;
    }
    claim_free(s, claim);
    if (gang != NONE && !stray)
        gang_settle(s, gang);
}

/* It is where the world says. In a sync, a task that was ending by our stop alone and is named
 * as running was never stopped: the stop is lost, and decide looks at its gang again. */
static void act_move(struct sched *s, const struct record *r, uint32_t gang, uint32_t slot,
                     uint32_t claim, enum claim_phase phase)
{
    struct claim *c = &s->claims.at[claim];
    bool lost_stop = phase == CLAIM_ENDING && c->ours && !c->seen;
    c->seen = true;
    if (lost_stop) {
        int64_t since = c->since + (s->at - c->until); /* as when a stop is refused */
        claim_phase(s, claim, CLAIM_RUNNING);
        c = &s->claims.at[claim];
        c->since = since;
        c->asked = c->ours = false;
    }
    task_move(s, r, claim);
    if (lost_stop || (r->task_at.phase == TASK_READY && phase == CLAIM_RUNNING)) {
        task_is_up(s, r, gang, slot);
        gang_settle(s, gang);
    }
}

/* A stray's stop was refused: it is asked for again, no sooner than the world said. */
static void act_ask_again(struct sched *s, const struct record *r, uint32_t claim)
{
    struct claim *c = &s->claims.at[claim];
    int64_t soonest = s->at + 1000000;
    c->retry_at = r->stop_refused.retry_at > soonest ? r->stop_refused.retry_at : soonest;
    c->asked = false;
    if (c->retry_at < s->strays_at)
        s->strays_at = c->retry_at;
}

static const struct task_ref *ref_of(const struct record *r)
{
    return &r->task_at.ref; /* every task event begins with its ref */
}

void fold_task(struct sched *s, const struct record *r)
{
    _Static_assert(offsetof(struct record, task_at) == offsetof(struct record, task_ended) &&
                       offsetof(struct record, task_at) ==
                           offsetof(struct record, stop_refused),
                   "the ref comes first");
    uint32_t gang, slot, claim;
    if (s->early.n && (r->kind == EV_TASK_GONE || r->kind == EV_TASK_ENDED))
        early_drop(s, ref_of(r)->task);
    enum claim_phase phase = task_locate(s, ref_of(r), &gang, &slot, &claim);
    switch (phase_act(r->kind, phase)) {
    case ACT_ADOPT:
        act_adopt(s, r, gang, slot, claim);
        return;
    case ACT_RUN:
        act_run(s, r, claim);
        return;
    case ACT_MOVE:
        act_move(s, r, gang, slot, claim, phase);
        return;
    case ACT_REFUSED:
        act_refused(s, r, claim);
        return;
    case ACT_NEVER:
        act_never(s, r, claim);
        return;
    case ACT_ENDING:
        act_ending(s, r, claim);
        return;
    case ACT_FREE:
        if (r->kind == EV_TASK_GONE)
            act_gone(s, ref_of(r), claim);
        else
            act_ended(s, r, claim);
        return;
    case ACT_RESUME:
        act_resume(s, r, claim);
        return;
    case ACT_ASK_AGAIN:
        act_ask_again(s, r, claim);
        return;
    case ACT_MARK:
        s->claims.at[claim].asked = true;
        s->claims.at[claim].seen = true;
        return;
    case ACT_OFFER:
        act_offer(s, r, gang, slot);
        return;
    case ACT_FORGET:
        act_forget(s, ref_of(r), gang, slot);
        return;
    case ACT_NOOP:
        noop(s);
    }
}

/* A tag on a task that is there: its slot's own shape carries it from now on. */
void task_tag(struct sched *s, struct str task, word_t tag, bool on)
{
    uint32_t gang, slot = slot_of_task(s, task, &gang);
    if (slot == NONE) {
        noop(s);
        return;
    }
    struct shape sh = s->shapes.at[slot_shape(s, gang, slot)].shape;
    uint32_t at = 0;
    while (at < sh.ntags && sh.tags[at] != tag)
        at++;
    if (on == (at < sh.ntags) || (on && sh.ntags == SHAPE_TAGS_MAX)) {
        noop(s);
        return;
    }
    if (on) {
        sh.tags[sh.ntags++] = tag;
    } else {
        sh.tags[at] = sh.tags[--sh.ntags];
        sh.tags[sh.ntags] = WORD_NONE;
    }
    uint32_t shape = shape_intern(s, &sh);
    struct slot *sl = gang_slot(s, gang, slot);
    if (sl->shape != NONE)
        shape_unref(s, sl->shape);
    sl->shape = shape;
    if (sl->claim == NONE)
        return;
    uint32_t taken = shape_alt(s, shape, s->claims.at[sl->claim].alt);
    s->shapes.at[taken].refs++;
    claim_reshape(s, sl->claim, taken);
}

/* When the next of the strays that were refused is due. */
void strays_next(struct sched *s)
{
    s->strays_at = INT64_MAX;
    for (uint32_t i = s->strays; i != NONE; i = s->claims.at[i].stray_next) {
        const struct claim *c = &s->claims.at[i];
        if (!c->asked && c->retry_at > s->at && c->retry_at < s->strays_at)
            s->strays_at = c->retry_at;
    }
}

/* The key of a stray read back: a task's name, or launch and slot. */
void stray_ref(const struct sched *s, uint32_t claim, struct arena *a, struct task_ref *ref)
{
    const struct claim *c = &s->claims.at[claim];
    struct str key = {c->name, c->name_len};
    if (key.ptr[0] != '\x02') {
        ref->task = arena_str(a, key);
        return;
    }
    unsigned long long launch;
    unsigned group, copy, leaf, index;
    int at = 0;
    if (sscanf(key.ptr + 1, "%llu %u %u %u %u %n", &launch, &group, &copy, &leaf, &index,
               &at) < 5)
        return;
    ref->launch = launch;
    ref->gang = (struct gang_ref){
        arena_str(a, (struct str){key.ptr + 1 + at, key.len - 1 - (size_t)at}),
        (uint16_t)group, copy};
    ref->slot = (struct slot_ref){(uint16_t)leaf, index};
}

int stray_by_name(const void *pa, const void *pb, void *arg)
{
    const struct sched *s = arg;
    const struct claim *a = &s->claims.at[*(const uint32_t *)pa];
    const struct claim *b = &s->claims.at[*(const uint32_t *)pb];
    return str_cmp((struct str){a->name, a->name_len}, (struct str){b->name, b->name_len});
}
