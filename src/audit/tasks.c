/* tasks.c - what each report about a task does to the claims (CORE.md "A claim's life")
 * One function a kind of report, each a switch over the phase its task is found in. How
 * a task is found: a stray by its key (the world's name; else launch and place); else
 * the slot that carries the name; else the slot that the report names, if no other task
 * has it. A report of an old launch is never about the slot's new claim, unless it
 * carries the name of that claim's task: then it is the same task. What a report of an
 * unknown task means is said at task_at: ours, or a stray.
 * SPDX-License-Identifier: Apache-2.0 */
#include "audit/book.h"

#include <stdio.h>

struct found {
    struct bgang *gang;
    uint32_t slot;
    struct bclaim *claim;
};

struct str tasks_key(const struct task_ref *t, char out[400])
{
    if (t->task.len)
        return t->task;
    int n = snprintf(out, 400, "\x02%llu %u %u %u %u " STR_FMT,
                     (unsigned long long)t->launch, t->gang.group, t->gang.copy,
                     t->slot.leaf, t->slot.index, STR_ARG(t->gang.job));
    return (struct str){out, (size_t)n};
}

static struct found find(const struct audit *a, const struct task_ref *t)
{
    char text[400];
    struct found f = {NULL, UINT32_MAX, NULL};
    uint32_t at = strmap_get(&a->strays, tasks_key(t, text));
    if (at != MAP_NONE) {
        f.claim = a->claims.at[at];
        f.gang = f.claim->gang;
        f.slot = f.gang ? f.claim->slot : UINT32_MAX;
        return f;
    }
    at = t->task.len ? strmap_get(&a->slot_ids, t->task) : MAP_NONE;
    bool named = at != MAP_NONE;
    if (named) {
        f.gang = a->slot_at.at[at].gang;
        f.slot = a->slot_at.at[at].slot;
    } else {
        f.gang = book_gang(a, &t->gang);
        f.slot = f.gang ? book_slot(f.gang, t->slot) : UINT32_MAX;
        if (f.slot == UINT32_MAX)
            return (struct found){NULL, UINT32_MAX, NULL};
    }
    const struct bslot *s = &f.gang->slots[f.slot];
    bool others = !named && t->task.len && s->task.len;
    bool old = !named && t->launch && s->claim && s->claim->launch &&
               t->launch != s->claim->launch;
    old |= !named && s->claim && s->claim->phase == BP_PLANNED &&
           t->launch <= s->last_launch; /* it ended here, its room is for the next */
    f.claim = others || old ? NULL : s->claim;
    return f;
}

/* Which devices it really holds: those the report names, else those we knew of it
 * there. A report that names none for a task that we did not know there leaves us to
 * guess, as it leaves the scheduler: worlds that name devices always name them then. */
static void move(struct audit *a, const struct record *r, struct bclaim *c)
{
    struct bnode *n = book_node(a, r->task_at.node);
    uint64_t devs = r->task_at.devs;
    uint8_t old = c->alt;
    book_claim_choose(c, r->task_at.alt);
    uint16_t slices = r->task_at.slices;
    if (n)
        devs &= n->nkept >= 64 ? UINT64_MAX : (UINT64_C(1) << n->nkept) - 1;
    if (!devs && n && c->node == n && c->shaped && c->shape.gpu_mode != GPU_NONE)
        devs = c->need.devs;
    if (!slices && c->node == n && c->need.devs == devs)
        slices = c->need.slices;
    struct need need = {.mode = GPU_WHOLE, .gpu_milli = 1000, .devs = devs};
    if (c->shaped)
        need = book_need(a, &c->shape, n, devs, slices);
    if (need.mode == GPU_MIG && !need.slices)
        need.devs = 0;
    if (c->alt == old && c->node == n && c->need.devs == need.devs &&
        c->need.slices == need.slices && n && (c->phase != BP_PLANNED || c->taken))
        return;
    c->kept = false; /* where it is now was not our choice */
    book_claim_place(a, c, n, &need, r->task_at.node);
}

static void is_up(const struct record *r, struct found f)
{
    f.gang->slots[f.slot].started = true;
    if (r->task_at.phase == TASK_READY)
        f.gang->slots[f.slot].ready = true;
}

/* A task that was not expected is ours if it names one of our slots that is empty, not
 * done, of a live job, under the same name if it has one, and is no older than the last
 * launch that ended there (unless it is the task that the slot has by name). Else it is
 * a stray: its room is real, and it must be stopped. */
static void adopt(struct audit *a, const struct record *r, struct found f)
{
    const struct task_ref *t = &r->task_at.ref;
    struct bslot *s = f.gang ? &f.gang->slots[f.slot] : NULL;
    bool ours = s && !s->claim && !s->done && !f.gang->over &&
                !f.gang->job->cancelled &&
                (!t->launch || t->launch > s->last_launch ||
                 (t->task.len && str_eq(t->task, s->task))) &&
                (!t->task.len || !s->task.len || str_eq(t->task, s->task));
    if (f.claim && (!ours || f.claim->foreign)) {
        move(a, r, f.claim);
        f.claim->seen = true;
        return;
    }
    if (f.claim)
        book_claim_drop(a, f.claim);
    struct bclaim *c = book_claim_add(a, f.gang, f.slot, ours ? BP_RUNNING : BP_STRAY);
    c->launch = t->launch;
    move(a, r, c);
    if (!ours) {
        char text[400];
        book_claim_key(a, c, tasks_key(t, text));
        return;
    }
    if (t->task.len)
        book_slot_task(a, f.gang, f.slot, t->task);
    is_up(r, f);
    bgang_changed(a, f.gang);
}

static void task_at(struct audit *a, const struct record *r, struct found f)
{
    enum bphase phase = f.claim ? f.claim->phase : BP_FREE;
    switch (phase) {
    case BP_FREE:
    case BP_STRAY: adopt(a, r, f); return;
    case BP_PLANNED:
    case BP_ISSUED:
        book_claim_phase(a, f.claim, BP_RUNNING);
        move(a, r, f.claim);
        f.claim->seen = true;
        if (r->task_at.ref.launch > f.claim->launch)
            f.claim->launch = r->task_at.ref.launch;
        is_up(r, f);
        bgang_changed(a, f.gang);
        return;
    default: { /* it moves, and stays what it is; but a stop that a sync shows lost is
                  undone */
        struct bclaim *c = f.claim;
        bool lost_stop = phase == BP_ENDING && c->ours && !c->seen;
        c->seen = true;
        if (lost_stop) {
            int64_t since = c->since + (a->at - c->useful_to);
            book_claim_phase(a, c, BP_RUNNING);
            c->since = since;
            c->asked = c->ours = false;
        }
        move(a, r, c);
        if (lost_stop || (phase == BP_RUNNING && r->task_at.phase == TASK_READY)) {
            is_up(r, f);
            bgang_changed(a, f.gang);
        }
    }
    }
}

static void refused(struct audit *a, const struct record *r, struct found f)
{
    enum bphase phase = f.claim ? f.claim->phase : BP_FREE;
    uint8_t class_ = r->task_refused.class_;
    struct bgang *g = f.gang;
    if (phase == BP_ISSUED) {
        if (class_ == REFUSED_THROTTLED || class_ == REFUSED_NOT_SENT) {
            book_claim_phase(a, f.claim, BP_PLANNED);
            f.claim->asked = false;
            f.claim->retry_at =
                r->task_refused.retry_at > a->at ? r->task_refused.retry_at : a->at;
        } else {
            book_claim_drop(a, f.claim);
        }
        bgang_changed(a, g);
        return;
    }
    if (phase != BP_ENDING && phase != BP_STRAY)
        return;
    if (class_ != REFUSED_NOT_SENT && class_ != REFUSED_GONE)
        return; /* only these two say that nothing ever started */
    book_claim_drop(a, f.claim);
    if (phase == BP_ENDING)
        bgang_changed(a, g);
}

static void ending(struct audit *a, const struct record *r, struct found f)
{
    struct bclaim *c = f.claim;
    if (!c || c->phase == BP_PLANNED)
        return;
    c->seen = true;
    if (c->phase == BP_STRAY) {
        c->asked = true;
        return;
    }
    if (r->task_ending.by == ENDING_US)
        c->ours = true;
    book_claim_phase(a, c, BP_ENDING);
    bgang_changed(a, c->gang);
}

static bool devices_are_ok(const struct bnode *n, const struct bclaim *c)
{
    for (uint64_t m = c->need.mode ? c->need.devs : 0; m; m &= m - 1)
        if (n->dev[__builtin_ctzll(m)].state != DEVICE_OK)
            return false;
    return true;
}

static void ended(struct audit *a, const struct record *r, struct found f)
{
    struct bclaim *c = f.claim;
    if (!c || c->phase == BP_PLANNED)
        return;
    struct bgang *g = c->gang;
    struct bnode *n = c->node;
    uint8_t how = r->task_ended.how;
    bool stray = c->phase == BP_STRAY, ours = c->ours;
    if (how != ENDED_DONE && !stray)
        room_lost(a, c);
    c->extra = false; /* it was there: its gang has lost it */
    if (how != ENDED_DONE && g && !stray && g->job->spec.on_loss == LOSS_GANG)
        g->raised = false;
    bool keeps = c->kept && g && !stray; /* its slot may have been cut meanwhile */
    if (keeps && how != ENDED_DONE && how != ENDED_LOST && n && bnode_usable(n) &&
        devices_are_ok(n, c)) {
        struct bslot *at = &g->slots[f.slot];
        at->last_launch = c->launch > at->last_launch ? c->launch : at->last_launch;
        book_claim_phase(a, c, BP_PLANNED);
        c->launch = c->stop = 0;
        c->kept = c->asked = c->ours = false;
        c->retry_at = 0;
    } else {
        if (keeps)
            bgang_place_lost(a, g);
        book_claim_drop(a, c);
    }
    if (how == ENDED_LOST && n) {
        n->unsynced = true;
        room_touch(a, n);
    }
    if (!g || stray)
        return;
    struct bslot *s = &g->slots[f.slot];
    book_slot_task(a, g, f.slot, (struct str){0});
    s->offered = s->gated = s->started = s->ready = false;
    if (how == ENDED_DONE && g->job->spec.kind == JOB_FINITE) {
        s->done = true;
        g->done++;
    } else if (!ours && (how == ENDED_FAILED || how == ENDED_OOM)) {
        g->tries++;
        if (n)
            bgang_failed_on(g, n);
        g->failed = true;
    }
    if (!ours && how != ENDED_DONE && g->job->spec.on_loss == LOSS_IGNORE)
        bgang_shrink(g);
    if (g->failed && g->job->spec.on_loss == LOSS_MEMBER &&
        g->tries > g->job->spec.tries) {
        struct bjob *j = g->job;
        uint32_t jobs = a->jobs.n;
        bjob_stop(a, j); /* members are mended one by one, but not for ever */
        if (a->jobs.n < jobs)
            return; /* the job is over */
    } else if (g->failed && g->job->spec.on_loss == LOSS_MEMBER &&
               g->job->spec.backoff_us) {
        g->not_before = a->at + bgang_backoff(g);
    }
    bgang_changed(a, g);
}

static void stop_refused(struct audit *a, const struct record *r, struct found f)
{
    struct bclaim *c = f.claim;
    if (!c)
        return;
    int64_t again = a->at + 1000000;
    if (c->phase == BP_STRAY) {
        c->asked = false;
        c->retry_at = again;
    }
    if (c->phase != BP_ENDING)
        return;
    if (r->stop_refused.stop && c->stop && r->stop_refused.stop != c->stop)
        return;                                        /* about an older stop */
    int64_t since = c->since + (a->at - c->useful_to); /* the clock stood meanwhile */
    book_claim_phase(a, c, BP_RUNNING);
    c->since = since;
    c->asked = c->ours = false;
    c->retry_at = r->stop_refused.retry_at > a->at ? r->stop_refused.retry_at : again;
    bgang_changed(a, c->gang);
}

static void offered(struct audit *a, const struct record *r, struct found f)
{
    if (a->caps & CAP_MAKE || (f.claim && f.claim->phase != BP_PLANNED))
        return;
    if (!f.gang) {
        early_offer(a, r);
        return;
    }
    struct bslot *s = &f.gang->slots[f.slot];
    if (s->task.len && !str_eq(s->task, r->task_offered.ref.task))
        return; /* the slot has another task */
    book_slot_task(a, f.gang, f.slot, r->task_offered.ref.task);
    s->offered = s->seen = true;
    s->gated = r->task_offered.gated;
    if (r->task_offered.shape && !s->claim) {
        if (!s->shape)
            s->shape = mem_alloc(sizeof *s->shape);
        *s->shape = *r->task_offered.shape;
    }
    if (f.gang->waits)
        bgang_wait(a, f.gang);
}

static void gone(struct audit *a, const struct record *r, struct found f)
{
    if (!f.gang || (f.claim && f.claim->phase > BP_ISSUED))
        return;
    struct bslot *s = &f.gang->slots[f.slot];
    bool issued = f.claim && f.claim->phase == BP_ISSUED;
    if (issued)
        book_claim_drop(a, f.claim);
    const struct str *task = &r->task_gone.ref.task;
    if (s->task.len && (!task->len || str_eq(*task, s->task))) {
        s->offered = s->gated = false;
        book_slot_task(a, f.gang, f.slot, (struct str){0});
        if (f.gang->waits)
            bgang_wait(a, f.gang);
    }
    if (issued)
        bgang_changed(a, f.gang);
}

void tasks_fold(struct audit *a, const struct record *r)
{
    if (r->kind == EV_TASK_GONE || r->kind == EV_TASK_ENDED)
        early_lose(a, r->task_ended.ref.task);
    struct found f =
        find(a, &r->task_at.ref); /* every task event begins with its ref */
    switch (r->kind) {
    case EV_TASK_AT: task_at(a, r, f); return;
    case EV_TASK_REFUSED: refused(a, r, f); return;
    case EV_TASK_ENDING: ending(a, r, f); return;
    case EV_TASK_ENDED: ended(a, r, f); return;
    case EV_STOP_REFUSED: stop_refused(a, r, f); return;
    case EV_TASK_OFFERED: offered(a, r, f); return;
    default: gone(a, r, f);
    }
}

/* The claim that a stop names, or NULL. */
struct bclaim *tasks_find(const struct audit *a, const struct task_ref *t)
{
    return find(a, t).claim;
}
