/* counts.c - a known job is told with other counts; offers that come before their place
 *
 * How it is read here: groups and shapes are the same, only counts differ. Members and
 * copies keep their numbers, so where a count multiplies the numbers below another one
 * that is above one, nothing changes at all. Slots beyond the new counts are cut: a
 * task in one is a stray, room kept for one is given back, a task offered for one waits
 * beside the gang. New slots follow every launch so far. A gang that holds room and
 * falls below its new minimum is in repair grace from then on, and until it is whole no
 * launch may leave it below: all that the minimum needs, or nothing.
 *
 * The books of the job are made anew and what stays is moved over.
 * SPDX-License-Identifier: Apache-2.0 */
#include "audit/book.h"

static bool counts_only(const struct job_spec *a, const struct job_spec *b)
{
    for (uint32_t i = 0; i < a->ngroups && a->ngroups == b->ngroups; i++) {
        struct group_spec x = a->groups[i], y = b->groups[i];
        x.count = y.count;
        if (memcmp(&x, &y, sizeof x) != 0)
            return false;
        if (x.shape != GROUP_NONE &&
            memcmp(&a->shapes[x.shape], &b->shapes[y.shape], sizeof(struct shape)) != 0)
            return false;
    }
    return a->ngroups == b->ngroups;
}

/* How often group g stands in its parent, for the numbers of what is below. */
static uint32_t width(const struct job_spec *s, uint16_t g)
{
    const struct count *c = &s->groups[g].count;
    bool member =
        s->groups[g].shape != GROUP_NONE && job_spec_whole_of(s, g) != GROUP_NONE;
    return member ? c->max : c->want;
}

/* Would a number below g (of members inside a gang, of gangs outside) mean another one?
 */
static bool renumbers(const struct job_spec *a, const struct job_spec *b, uint16_t g)
{
    uint16_t gang = job_spec_whole_of(a, g);
    if (width(a, g) == width(b, g))
        return false;
    for (uint16_t up = a->groups[g].parent; up != GROUP_NONE;
         up = a->groups[up].parent) {
        if (up == gang && g != gang)
            return false; /* above the gang other numbers begin */
        if (width(a, up) > 1 || width(b, up) > 1)
            return true;
    }
    return false;
}

static bool may_follow(const struct job_spec *a, const struct job_spec *b)
{
    bool differ = false;
    if (!counts_only(a, b))
        return false;
    for (uint16_t g = 0; g < a->ngroups; g++) {
        differ |=
            memcmp(&a->groups[g].count, &b->groups[g].count, sizeof(struct count)) != 0;
        if (renumbers(a, b, g))
            return false;
    }
    return differ;
}

/* offers without a place */

void early_lose(struct audit *a, struct str task)
{
    for (uint32_t i = 0; task.len && i < a->early.n; i++) {
        struct bearly *e = &a->early.at[i];
        if (!str_eq(e->task, task))
            continue;
        free((char *)e->task.ptr);
        free(e->shape);
        memmove(e, e + 1, (a->early.n - i - 1) * sizeof *e);
        a->early.n--;
        return;
    }
}

static void early_push(struct audit *a, struct bearly e, struct str task,
                       const struct shape *shape)
{
    early_lose(a, task);
    if (a->early.n == 4096) /* as many as the scheduler keeps */
        return;
    e.task = str_keep(task);
    if (shape) {
        e.shape = mem_alloc(sizeof *e.shape);
        *e.shape = *shape;
    }
    vec_push(&a->early, e);
}

void early_offer(struct audit *a, const struct record *r)
{
    const struct task_ref *t = &r->task_offered.ref;
    struct bjob *j = book_job(a, t->gang.job);
    bool known = false;
    for (uint32_t i = 0; j && i < j->nroots; i++)
        for (uint32_t k = 0; k < j->roots[i].nleaves; k++)
            known |= j->roots[i].group == t->gang.group &&
                     j->roots[i].leaves[k].group == t->slot.leaf;
    if (!known || !t->task.len || j->cancelled || t->gang.copy >= JOB_SLOTS_MAX ||
        t->slot.index >= JOB_SLOTS_MAX)
        return;
    struct bearly e = {.job = j,
                       .group = t->gang.group,
                       .copy = t->gang.copy,
                       .slot = t->slot,
                       .gated = r->task_offered.gated,
                       .seen = true};
    early_push(a, e, t->task, r->task_offered.shape);
}

void early_end(struct audit *a, const struct bjob *j, bool unseen)
{
    for (uint32_t i = a->early.n; i-- > 0;)
        if (unseen ? !a->early.at[i].seen || a->caps & CAP_MAKE
                   : a->early.at[i].job == j)
            early_lose(a, a->early.at[i].task);
}

/* All of the job's are offered anew; who still finds no place waits on. */
static void early_again(struct audit *a, struct bjob *j)
{
    VEC(struct bearly) mine = {0};
    for (uint32_t i = 0; i < a->early.n; i++) {
        struct bearly *e = &a->early.at[i];
        if (e->job != j)
            continue;
        struct bearly copy = *e;
        copy.task = str_keep(e->task);
        e->shape = NULL;
        vec_push(&mine, copy);
    }
    early_end(a, j, false);
    for (uint32_t i = 0; i < mine.n; i++) {
        struct bearly *e = &mine.at[i];
        struct record r = {.kind = EV_TASK_OFFERED, .at = a->at};
        r.task_offered.ref =
            (struct task_ref){.task = e->task,
                              .gang = {j->spec.name, e->group, e->copy},
                              .slot = e->slot};
        r.task_offered.shape = e->shape;
        r.task_offered.gated = e->gated;
        tasks_fold(a, &r);
        free((char *)e->task.ptr);
        free(e->shape);
    }
    vec_done(&mine);
}

/* what goes */

static void slot_cut(struct audit *a, struct bgang *g, uint32_t slot)
{
    struct bslot *s = &g->slots[slot];
    struct slot_ref ref = book_slot_ref(g, slot);
    struct bclaim *c = s->claim;
    if (!c && s->task.len && s->offered) {
        struct bearly e = {.job = g->job,
                           .group = g->root,
                           .copy = g->copy,
                           .slot = ref,
                           .gated = s->gated,
                           .seen = s->seen};
        early_push(a, e, s->task, s->shape);
    }
    if (c && c->phase == BP_PLANNED) {
        book_claim_drop(a, c);
    } else if (c) {
        char text[400];
        struct task_ref t = {.task = s->task, .launch = c->launch, .slot = ref};
        t.gang = (struct gang_ref){g->job->spec.name, g->root, g->copy};
        c->asked |= c->phase == BP_ENDING;
        book_claim_phase(a, c, BP_STRAY);
        s->claim = NULL;
        c->gang = NULL;
        book_claim_key(a, c, tasks_key(&t, text));
    }
    g->done -= s->done;
    book_slot_task(a, g, slot, (struct str){0});
    free(s->shape);
    *s = (struct bslot){.rank = UINT32_MAX};
}

/* Slots of the gang that the new tree (NULL: no such gang) does not have. */
static void gang_cut(struct audit *a, struct bgang *g, const struct broot *to)
{
    for (uint32_t i = 0; i < g->nleaves; i++)
        for (uint32_t k = to ? to->leaves[i].nslots : 0; k < g->leaves[i].nslots; k++)
            slot_cut(a, g, g->leaves[i].slot0 + k);
}

/* what stays */

static void slot_move(struct audit *a, struct bgang *from, uint32_t f, struct bgang *to,
                      uint32_t t)
{
    struct bslot *s = &to->slots[t];
    *s = from->slots[f];
    if (s->claim) {
        s->claim->gang = to;
        s->claim->slot = t;
    }
    uint32_t at = s->task.len ? strmap_get(&a->slot_ids, s->task) : MAP_NONE;
    if (at != MAP_NONE && a->slot_at.at[at].gang == from && a->slot_at.at[at].slot == f)
        a->slot_at.at[at] = (struct slot_at){to, t};
}

/* Strays that might be adopted in one of the gang's slots. to: NULL when it goes. */
static void strays_move(struct audit *a, struct bgang *from, struct bgang *to)
{
    for (uint32_t i = 0; i < a->claims.n; i++) {
        struct bclaim *c = a->claims.at[i];
        if (c->gang != from || c->phase != BP_STRAY)
            continue;
        c->slot = to ? book_slot(to, book_slot_ref(from, c->slot)) : UINT32_MAX;
        c->gang = c->slot == UINT32_MAX ? NULL : to;
    }
}

static void gang_move(struct audit *a, struct bgang *from, struct bgang *to)
{
    struct bgang fresh = *to;
    *to = *from;
    to->leaves = fresh.leaves;
    to->nslots = fresh.nslots;
    to->slots = fresh.slots;
    for (uint32_t i = 0; i < to->nleaves; i++) {
        const struct bleaf *x = &from->leaves[i], *y = &to->leaves[i];
        for (uint32_t k = 0; k < x->nslots && k < y->nslots; k++)
            slot_move(a, from, x->slot0 + k, to, y->slot0 + k);
    }
    strays_move(a, from, to);
}

static void gangs_follow(struct audit *a, struct bjob *j, struct bgang *old,
                         const struct broot *old_roots)
{
    uint64_t now = (uint64_t)a->term << 40 | (a->launch_id & ((UINT64_C(1) << 40) - 1));
    struct bgang *to = j->gangs;
    for (uint32_t r = 0; r < j->nroots; old += old_roots[r].copies, r++)
        for (uint32_t c = 0; c < j->roots[r].copies; c++, to++) {
            for (uint32_t s = 0; s < to->nslots; s++)
                to->slots[s].last_launch = now;
            if (c < old_roots[r].copies)
                gang_move(a, &old[c], to);
        }
}

void told_counts(struct audit *a, struct bjob *j, const struct job_spec *spec)
{
    if (j->cancelled || !may_follow(&j->spec, spec))
        return;
    struct bgang *old = j->gangs, *g = old;
    struct broot *old_roots = j->roots;
    uint32_t nold = j->ngangs, left = j->gangs_left;
    for (uint32_t i = 0; i < nold; i++) {
        bgang_unpend(a, &old[i]);
        u64map_del(&a->gang_keys, (uint64_t)(uintptr_t)&old[i]);
    }
    book_tree(j, spec);
    for (uint32_t r = 0; r < j->nroots; r++)
        for (uint32_t c = 0; c < old_roots[r].copies; c++, g++) {
            bool stays = c < j->roots[r].copies;
            gang_cut(a, g, stays ? &j->roots[r] : NULL);
            left -= !stays && !g->over;
            if (!stays) {
                strays_move(a, g, NULL);
                bgang_unwait(a, g);
            }
        }
    gangs_follow(a, j, old, old_roots);
    for (uint32_t r = 0; r < j->nroots; r++)
        if (j->roots[r].copies > old_roots[r].copies)
            left += j->roots[r].copies - old_roots[r].copies;
    j->gangs_left = left;
    uint32_t jobs = a->jobs.n;
    if (j->ngangs && left == 0) {
        book_job_drop(a, j);
        return;
    }
    for (uint32_t i = 0; i < j->ngangs; i++) {
        bgang_recounted(a, &j->gangs[i]);
        if (a->jobs.n < jobs)
            return; /* the job is over */
    }
    early_again(a, j);
}
