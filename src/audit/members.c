/* members.c - what the claims of a gang make of it: waiting, whole, short, over
 *
 * A gang waits while it holds no task (issued, running or ending) and is not over. It
 * is over when it has succeeded and its last task is gone, when its job was cancelled,
 * or when it failed more often than its tries allow (then its whole job is). Its target
 * is the largest number of slots it was ever launched or adopted with since it last
 * waited. It is short when some leaf has fewer running (or done) slots than that leaf's
 * minimum while the gang holds planned, issued or running room. Short is allowed until
 * the latest of: launch_by of its last launch, repair_grace after it was whole last,
 * after it became short, and after it was found so at `synced`, the until of a hold,
 * the time a refused stop or launch may be tried again. SPDX-License-Identifier:
 * Apache-2.0 */
#include "audit/book.h"

#include "base/units.h"

#include <stdio.h>

struct tally bgang_tally(const struct bgang *g)
{
    struct tally t = {0, 0, 0, 0};
    for (uint32_t i = 0; i < g->nslots; i++) {
        const struct bclaim *c = g->slots[i].claim;
        if (!c)
            continue;
        t.planned += c->phase == BP_PLANNED;
        t.issued += c->phase == BP_ISSUED;
        t.running += c->phase == BP_RUNNING;
        t.ending += c->phase == BP_ENDING;
    }
    return t;
}

static uint32_t alive(const struct tally *t)
{
    return t->issued + t->running + t->ending;
}

static int64_t wants_milli(const struct bgang *g)
{
    for (uint32_t r = 0; r < g->job->nroots; r++)
        if (g->job->roots[r].group == g->root)
            return g->job->roots[r].min_milli;
    return 0;
}

static uint32_t minimum(const struct bgang *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nleaves; i++)
        n += g->leaves[i].copies * g->leaves[i].min;
    return n;
}

/* Are the tasks there that somebody else makes: with those that are done, the minimum
 * of each leaf in each of its copies, and at least one to be run? */
bool bgang_is_complete(const struct bgang *g)
{
    bool any = false;
    for (uint32_t i = 0; i < g->nleaves; i++) {
        const struct bleaf *l = &g->leaves[i];
        for (uint32_t copy = 0; copy < l->copies; copy++) {
            uint32_t have = 0;
            for (uint32_t k = 0; k < l->per_copy; k++) {
                const struct bslot *s = &g->slots[l->slot0 + copy * l->per_copy + k];
                any |= s->offered && !s->gated;
                have += s->done || (s->offered && !s->gated);
            }
            if (have < l->min)
                return false;
        }
    }
    return any;
}

/* May a decision be made about it at all: not held, not in back-off, its tasks are
 * there. */
static bool may_try(const struct audit *a, const struct bgang *g)
{
    if (g->job->held || g->not_before > a->at)
        return false;
    if (a->caps & CAP_MAKE)
        return true;
    return bgang_is_complete(g);
}

static void count_quota(struct audit *a, struct bgang *g)
{
    bool is = g->pends && g->said && g->why.code == WHY_QUOTA;
    if (is != g->quota_idle)
        a->quota_milli += is ? wants_milli(g) : -wants_milli(g);
    g->quota_idle = is;
}

static void set_pends(struct audit *a, struct bgang *g, bool pends)
{
    if (g->pends == pends)
        return;
    g->pends = pends;
    a->pending_milli += pends ? wants_milli(g) : -wants_milli(g);
    count_quota(a, g);
}

void bgang_unpend(struct audit *a, struct bgang *g)
{
    keeps_drop(a, g);
    set_pends(a, g, false);
}

void bgang_unsay(struct audit *a, struct bgang *g)
{
    if (g->waits && g->said)
        a->unsaid++;
    g->said = false;
    count_quota(a, g);
}

void bgang_say(struct audit *a, struct bgang *g, const struct why *why)
{
    if (g->waits && !g->said)
        a->unsaid--;
    g->said = true;
    g->why = *why;
    count_quota(a, g);
}

static void set_waits(struct audit *a, struct bgang *g, bool waits)
{
    if (g->waits == waits)
        return;
    if (waits) {
        g->waits = true;
        g->said = false;
        a->unsaid++;
        count_quota(a, g);
        return;
    }
    if (!g->said)
        a->unsaid--;
    g->waits = false;
    keeps_drop(a, g);
    set_pends(a, g, false);
}

void bgang_unwait(struct audit *a, struct bgang *g)
{
    set_waits(a, g, false);
}

void bgang_wait(struct audit *a, struct bgang *g)
{
    struct tally t = bgang_tally(g);
    if (g->waits && t.planned)
        return; /* it has a plan */
    keeps_drop(a, g);
    set_waits(a, g, true);
    bgang_unsay(a, g);
    set_pends(a, g, may_try(a, g));
    if (g->not_before <= a->at)
        return;
    u64map_put(&a->gang_keys, (uint64_t)(uintptr_t)g, 1);
    heap_push(&a->backoffs, g->not_before, (uint64_t)(uintptr_t)g, 0);
}

void backoffs_end(struct audit *a)
{
    while (heap_top(&a->backoffs) && heap_top(&a->backoffs)->key <= a->at) {
        struct heap_item top = heap_pop(&a->backoffs);
        if (u64map_get(&a->gang_keys, top.tie) == MAP_NONE)
            continue; /* the gang is no more */
        struct bgang *g = (struct bgang *)(uintptr_t)top.tie;
        if (g->waits && !g->pends && g->not_before <= a->at) /* no later one since */
            bgang_wait(a, g);
    }
}

static void drop_planned(struct audit *a, struct bgang *g)
{
    for (uint32_t i = 0; i < g->nslots; i++)
        if (g->slots[i].claim && g->slots[i].claim->phase == BP_PLANNED)
            book_claim_drop(a, g->slots[i].claim);
}

/* True when it was the job's last: job and gang are no more. */
static bool gang_over(struct audit *a, struct bgang *g)
{
    if (g->over)
        return false;
    struct bjob *j = g->job;
    set_waits(a, g, false);
    drop_planned(a, g);
    g->over = true;
    if (--j->gangs_left)
        return false;
    book_job_drop(a, j);
    return true;
}

void bjob_stop(struct audit *a, struct bjob *j)
{
    j->cancelled = true;
    uint32_t n = j->ngangs;
    for (uint32_t i = 0; i < n; i++) {
        struct tally t = bgang_tally(&j->gangs[i]);
        if (!j->gangs[i].over && alive(&t) == 0 && gang_over(a, &j->gangs[i]))
            return;
    }
}

static bool succeeded(const struct bgang *g)
{
    const struct job_spec *spec = &g->job->spec;
    if (spec->kind == JOB_SERVICE || g->done == 0)
        return false;
    if (spec->success == SUCCESS_ANY)
        return true;
    if (spec->success == SUCCESS_LEADER)
        return g->slots[0].done;
    return g->done >= g->target;
}

/* A gang that fails on one node and then on another waits twice as long with each try,
 * at most a day. */
int64_t bgang_backoff(const struct bgang *g)
{
    int64_t day = 24 * 60 * US_PER_MIN, us = g->job->spec.backoff_us;
    for (uint32_t n = g->tries < 16 ? g->tries : 16; g->roams && n > 1 && us < day; n--)
        us = us < day / 2 ? us * 2 : day;
    return us;
}

void bgang_failed_on(struct bgang *g, const struct bnode *n)
{
    bool same = g->fails_on.len && str_eq(g->fails_on, n->name);
    g->roams |= g->fails_on.len && !same;
    g->fails_here = same ? g->fails_here + 1 : 1;
    if (!same)
        g->fails_on = arena_str(&g->job->mem, n->name);
}

/* Nothing of it is left running: it waits again, or it is over. */
static void empty(struct audit *a, struct bgang *g)
{
    struct bjob *j = g->job;
    drop_planned(a, g);
    if (j->cancelled) {
        gang_over(a, g);
        return;
    }
    if (g->tries > j->spec.tries) {
        bjob_stop(a, j);
        return;
    }
    if (j->spec.on_loss == LOSS_GANG) {
        for (uint32_t i = 0; i < g->nslots; i++)
            g->slots[i].done = false;
        g->done = 0;
    }
    for (uint32_t i = 0; i < g->nslots; i++)
        g->slots[i].started = g->slots[i].ready = false;
    if (g->failed && j->spec.backoff_us)
        g->not_before = a->at + bgang_backoff(g);
    g->failed = g->short_ = g->up = g->raised = false;
    g->target = 0;
    g->launch_by = g->grace_until = 0;
    bgang_wait(a, g);
}

void bgang_unmend(struct bgang *g)
{
    for (uint32_t i = 0; i < g->nslots; i++)
        if (g->slots[i].claim)
            g->slots[i].claim->kept = false;
    g->mends = g->behind = false;
}

static int64_t latest(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* As after a loss it may look for another for as long as the grace is. */
void bgang_place_lost(const struct audit *a, struct bgang *g)
{
    g->mend_by = latest(g->mend_by, a->at + a->repair_grace_us);
    g->launch_by = latest(g->launch_by, g->mend_by);
}

/* All have ended: does it start again on the places that were kept for it? */
static bool starts_again(const struct audit *a, const struct bgang *g,
                         const struct tally *t)
{
    const struct job_spec *spec = &g->job->spec;
    int64_t from = a->at + (g->failed && !g->behind ? bgang_backoff(g) : 0);
    return g->mends && t->planned && from < g->mend_by && !g->job->cancelled &&
           g->tries <= spec->tries;
}

static void behind(struct audit *a, struct bgang *g)
{
    const struct job_spec *spec = &g->job->spec;
    for (uint32_t i = 0; i < g->nslots; i++) {
        struct bslot *s = &g->slots[i];
        s->started = s->ready = false;
        s->done = s->done && spec->on_loss != LOSS_GANG;
    }
    g->done = spec->on_loss == LOSS_GANG ? 0 : g->done;
    if (g->failed && spec->backoff_us)
        g->not_before = a->at + bgang_backoff(g);
    g->failed = g->up = g->raised = false;
    g->behind = true;
    bgang_watch(a, g);
}

bool bgang_is_short(const struct bgang *g)
{
    bool holds = false, lacks = false;
    for (uint32_t i = 0; i < g->nleaves; i++) {
        const struct bleaf *l = &g->leaves[i];
        for (uint32_t copy = 0; copy < l->copies; copy++) {
            uint32_t up = 0;
            for (uint32_t k = 0; k < l->per_copy; k++) {
                const struct bslot *s = &g->slots[l->slot0 + copy * l->per_copy + k];
                up += s->done || (s->claim && s->claim->phase == BP_RUNNING);
                holds |= s->claim && s->claim->phase != BP_ENDING;
            }
            lacks |= up < l->min;
        }
    }
    return holds && lacks;
}

static int64_t allowed_until(const struct bgang *g)
{
    int64_t until = latest(g->launch_by, g->grace_until);
    for (uint32_t i = 0; i < g->nslots; i++)
        if (g->slots[i].claim)
            until = latest(until, g->slots[i].claim->retry_at);
    return until;
}

void bgang_watch(struct audit *a, struct bgang *g)
{
    u64map_put(&a->gang_keys, (uint64_t)(uintptr_t)g, 1);
    heap_push(&a->deadlines, allowed_until(g), (uint64_t)(uintptr_t)g, 0);
}

void bgang_grace(struct audit *a, struct bgang *g)
{
    if (g->over || !bgang_is_short(g))
        return;
    g->grace_until = latest(g->grace_until, a->at + a->repair_grace_us);
    g->short_ = true;
    bgang_watch(a, g);
}

/* What the leaves lack of their minima, counting all members that are there or come. */
uint32_t bgang_lacks(const struct bgang *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nleaves; i++) {
        const struct bleaf *l = &g->leaves[i];
        for (uint32_t copy = 0; copy < l->copies; copy++) {
            uint32_t have = 0;
            for (uint32_t k = 0; k < l->per_copy; k++) {
                const struct bslot *s = &g->slots[l->slot0 + copy * l->per_copy + k];
                have += s->done || (s->claim && s->claim->phase != BP_ENDING);
            }
            n += have < l->min ? l->min - have : 0;
        }
    }
    return n;
}

static void changed(struct audit *a, struct bgang *g, bool fact)
{
    if (g->over)
        return;
    struct tally t = bgang_tally(g);
    if (g->waits) {
        if (alive(&t) == 0)
            return;
        set_waits(a, g, false); /* launched, or adopted: the world runs it already */
        g->target = latest(minimum(g), alive(&t));
    }
    uint32_t have = alive(&t) + t.planned + g->done;
    if (have > g->target)
        g->target = have;
    bool won = succeeded(g);
    if (won || (g->behind && alive(&t)))
        bgang_unmend(g);
    if (alive(&t) == 0 && !won && starts_again(a, g, &t)) {
        if (!g->behind)
            behind(a, g);
        return;
    }
    if (alive(&t) == 0) {
        bgang_unmend(g);
        if (won)
            gang_over(a, g);
        else
            empty(a, g);
        return;
    }
    if ((t.issued + t.running == 0 && !g->mends) || won)
        drop_planned(a, g);
    have = t.issued + t.running + t.planned + g->done;
    if (fact && !won && t.issued + t.running && have >= g->target && have < g->nslots)
        g->target = have + bgang_lacks(g); /* enough in all, but of the wrong leaf */
    bool whole = t.running + g->done >= g->target && !t.ending && !t.issued && !won;
    if (whole)
        g->up = true;
    else if (have < g->target || t.issued + t.running == 0 || won)
        g->up = false;
    if (whole)
        g->failed = g->raised = false; /* its failure is overcome: no back-off for it */
    else if (g->whole && fact)
        g->grace_until = latest(g->grace_until, a->at + a->repair_grace_us);
    g->whole = whole;
    bool was = g->short_;
    g->short_ = bgang_is_short(g);
    if (g->short_ && !was) {
        if (fact) /* by a launch of ours it is short until launch_by, no longer */
            g->grace_until = latest(g->grace_until, a->at + a->repair_grace_us);
        bgang_watch(a, g);
    }
}

void bgang_changed(struct audit *a, struct bgang *g)
{
    changed(a, g, true);
}

/* A gang that waits waits for the new counts; one that holds room aims at no more than
 * it wants or has, and at no less than its minimum. */
void bgang_recounted(struct audit *a, struct bgang *g)
{
    if (g->over)
        return;
    if (g->waits && g->done && g->done == g->nslots) {
        gang_over(a, g); /* nothing of it is left to be run */
        return;
    }
    struct tally now = bgang_tally(g);
    if (alive(&now))
        bgang_unmend(g);              /* its room was found for the old counts */
    if (g->waits || g->target == 0) { /* or it is new */
        bgang_wait(a, g);
        return;
    }
    struct tally t = bgang_tally(g);
    uint32_t have = t.issued + t.running + t.planned + g->done, want = 0;
    for (uint32_t i = 0; i < g->nleaves; i++)
        want += g->leaves[i].copies * g->leaves[i].want;
    want = want > have ? want : have;
    g->target = g->target < want ? g->target : want;
    g->target = g->target > minimum(g) ? g->target : minimum(g);
    g->raised = bgang_lacks(g) > 0;
    bgang_grace(a, g);
    bgang_changed(a, g);
}

void bgang_seated(struct audit *a, struct bgang *g)
{
    changed(a, g, false);
}

void bgang_shrink(struct bgang *g)
{
    struct tally t = bgang_tally(g);
    uint32_t have = t.issued + t.running + t.planned + g->done;
    if (have >= minimum(g) && have < g->target)
        g->target = have;
}

static void name_of(const struct bgang *g, char out[200])
{
    snprintf(out, 200, STR_FMT " %u.%u",
             (int)(g->job->spec.name.len > 150 ? 150 : g->job->spec.name.len),
             g->job->spec.name.ptr, g->root, g->copy);
}

/* Nobody is short beyond what was allowed (invariant 2), and whoever waits has been
 * told why (invariant 7), unless the pass says that it has something left. */
int members_check(struct audit *a)
{
    char name[200];
    if (a->left)
        return 0;
    while (heap_top(&a->deadlines) && heap_top(&a->deadlines)->key < a->at) {
        struct heap_item top = heap_pop(&a->deadlines);
        if (u64map_get(&a->gang_keys, top.tie) == MAP_NONE)
            continue; /* the gang is no more */
        struct bgang *g = (struct bgang *)(uintptr_t)top.tie;
        if (g->over || !bgang_is_short(g))
            continue;
        int64_t until = allowed_until(g);
        if (until >= a->at) {
            bgang_watch(a, g);
            continue;
        }
        struct tally t = bgang_tally(g);
        name_of(g, name);
        return audit_bad(
            a,
            "invariant 2: gang %s is below its minimum (%u planned, %u issued, "
            "%u running, %u ending, %u done) at %lld; it was allowed until %lld",
            name, t.planned, t.issued, t.running, t.ending, g->done, (long long)a->at,
            (long long)until);
    }
    if (a->unsaid == 0)
        return 0;
    for (uint32_t i = 0; i < a->jobs.n; i++)
        for (uint32_t k = 0; k < a->jobs.at[i]->ngangs; k++) {
            const struct bgang *g = &a->jobs.at[i]->gangs[k];
            if (!g->waits || g->said)
                continue;
            name_of(g, name);
            return audit_bad(a, "invariant 7: gang %s waits without a reason", name);
        }
    return 0;
}
