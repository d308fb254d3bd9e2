/* recount.c - a job's counts change: its gangs and slots follow, also while they run
 *
 * The job moves to another interned tree of the same groups and shapes. Gangs and slots keep
 * the numbers that the world knows them by, so copies and members come and go at the end
 * alone, and a count below another one that stands more than once may not change at all.
 * What leaves with a claim is a stray from then on (its room is real, decide stops it); new
 * slots are older than no launch. A gang that runs below its new minimum is `raised`: it is
 * mended first thing, with all that the minimum needs or with nothing. One that may be larger
 * `grows`: in a later pass where there is room. O(slots of the job + groups x depth).
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/state.h"

/* The groups without their counts. */
static bool same_groups(const struct tree *t, const struct job_spec *spec)
{
    if (t->ngroups != spec->ngroups)
        return false;
    for (uint32_t i = 0; i < t->ngroups; i++) {
        struct group_spec a = t->groups[i], b = spec->groups[i];
        memset(&a.count, 0, sizeof a.count);
        memset(&b.count, 0, sizeof b.count);
        if (memcmp(&a, &b, sizeof a) != 0)
            return false;
    }
    return true;
}

static bool same_shapes(const struct sched *s, const struct tree *t,
                        const struct job_spec *spec)
{
    for (uint32_t i = 0; i < t->nleaves; i++) {
        const struct tree_leaf *l = &t->leaves[i];
        const struct shape *sh = &spec->shapes[spec->groups[l->group].shape];
        if (memcmp(&s->shapes.at[l->shape].shape, sh, sizeof *sh) != 0)
            return false;
    }
    return true;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Members are numbered through all that stands between the gang and its leaf, gangs through
 * all above: 7 is copy 2, member 1, of 3 each, and would be another member of 4 each. So a
 * number of copies may change only where everything above it stands once. */
static bool numbers_stay(const struct group_spec *a, const struct group_spec *b, uint16_t leaf)
{
    uint16_t path[JOB_DEPTH_MAX + 1], whole = GROUP_NONE;
    uint32_t n = 0, above = 1;
    for (uint16_t g = leaf; g != GROUP_NONE; g = a[g].parent) {
        path[n++] = g;
        whole = a[g].whole ? g : whole;
    }
    while (n-- > 0) {
        uint16_t g = path[n];
        bool member = g == leaf && whole != GROUP_NONE;
        uint32_t old = member ? larger(a[g].count.max, a[g].count.want) : a[g].count.want;
        uint32_t now = member ? larger(b[g].count.max, b[g].count.want) : b[g].count.want;
        if (old != now && above > 1)
            return false;
        above = g == whole ? 1 : larger(above, larger(old, now));
    }
    return true;
}

enum recount job_recount_kind(const struct sched *s, const struct job *j,
                              const struct job_spec *spec)
{
    const struct tree *t = &s->trees.at[j->tree];
    if (!same_groups(t, spec) || !same_shapes(s, t, spec))
        return RECOUNT_OTHER_TREE;
    bool same = true;
    for (uint32_t i = 0; i < t->ngroups; i++) {
        same = same && memcmp(&t->groups[i].count, &spec->groups[i].count,
                              sizeof t->groups[i].count) == 0;
        if (t->groups[i].shape != GROUP_NONE &&
            !numbers_stay(t->groups, spec->groups, (uint16_t)i))
            return RECOUNT_RENUMBERS;
    }
    return same ? RECOUNT_NONE : RECOUNT_COUNTS;
}

/* The claim of a slot that is no more. */
static void claim_cut(struct sched *s, uint32_t gang, uint32_t slot)
{
    struct slot *sl = gang_slot(s, gang, slot);
    uint32_t id = sl->claim;
    struct claim *c = &s->claims.at[id];
    char text[TASK_KEY_MAX];
    struct task_ref ref = {.task = {sl->task, sl->task_len}, .launch = c->launch,
                           .gang = gang_ref_of(s, gang), .slot = slot_ref_of(s, gang, slot)};
    if (c->phase == CLAIM_PLANNED) {
        claim_free(s, id);
        return;
    }
    bool asked = c->asked || c->phase == CLAIM_ENDING; /* it ends already */
    claim_phase(s, id, CLAIM_STRAY);
    gang_slot(s, gang, slot)->claim = NONE;
    c = &s->claims.at[id];
    c->gang = c->slot = NONE;
    c->asked = asked;
    claim_make_stray(s, id, task_key(&ref, text));
}

/* The slot goes; a task that waited in it waits beside the gang, as one that came early. */
static void slot_cut(struct sched *s, uint32_t gang, uint32_t slot)
{
    struct slot *sl = gang_slot(s, gang, slot);
    bool waits = sl->task && sl->claim == NONE && sl->flags & SLOT_OFFERED;
    if (sl->claim != NONE)
        claim_cut(s, gang, slot);
    if (waits)
        early_slot(s, gang, slot); /* before the slot lets go of the name */
    sl = gang_slot(s, gang, slot);
    struct gang *g = &s->gangs.at[gang];
    g->done -= (sl->flags & SLOT_DONE) != 0;
    g->offered -= (sl->flags & SLOT_OFFERED) && !(sl->flags & SLOT_GATED);
    sl->flags = 0;
    slot_set_task(s, gang, slot, (struct str){0});
}

/* Slots whose number the new tree does not have. */
static void gang_cut(struct sched *s, uint32_t gang, const struct tree *to)
{
    const struct tree_root *r = gang_root(s, &s->gangs.at[gang]);
    uint32_t leaf0 = r->leaf0, nleaves = r->nleaves;
    for (uint32_t i = leaf0; i < leaf0 + nleaves; i++) {
        const struct tree_leaf *l = &gang_tree(s, &s->gangs.at[gang])->leaves[i];
        for (uint32_t k = to ? to->leaves[i].nslots : 0; k < l->nslots; k++)
            slot_cut(s, gang, l->slot0 + k);
    }
}

/* Members keep the rank they were started with; new ones get what nobody has. */
static void ranks_give(struct slot *slots, uint32_t n)
{
    uint8_t *used = mem_zero(n);
    uint32_t next = 0;
    for (uint32_t i = 0; i < n; i++)
        if (slots[i].rank < n)
            used[slots[i].rank] = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (slots[i].rank != NONE)
            continue;
        while (next < n && used[next])
            next++;
        slots[i].rank = next++;
    }
    free(used);
}

/* Strays know the slot that they might be adopted in; to: NULL when their gang goes. */
static void strays_move(struct sched *s, uint32_t gang, const struct tree *to)
{
    const struct tree *old = gang_tree(s, &s->gangs.at[gang]);
    for (uint32_t i = s->strays; i != NONE; i = s->claims.at[i].stray_next) {
        struct claim *c = &s->claims.at[i];
        if (c->gang != gang)
            continue;
        uint32_t leaf = slot_leaf(s, gang, c->slot), k = c->slot - old->leaves[leaf].slot0;
        bool stays = to && k < to->leaves[leaf].nslots;
        c->slot = stays ? to->leaves[leaf].slot0 + k : NONE;
        c->gang = stays ? gang : NONE;
    }
}

/* Those that stay, under the numbers of the new tree. */
static void gang_move(struct sched *s, uint32_t gang, uint32_t tree)
{
    struct gang *g = &s->gangs.at[gang];
    const struct tree *old = gang_tree(s, g), *to = &s->trees.at[tree];
    const struct tree_root *r = &to->roots[g->root];
    strays_move(s, gang, to);
    const struct slot *from = g->nslots > 1 ? g->slots : &g->one;
    struct slot *slots = mem_zero(r->slots * sizeof *slots);
    for (uint32_t i = 0; i < r->slots; i++)
        slots[i] = (struct slot){.claim = NONE, .shape = NONE, .rank = NONE,
                                 .last_launch = (uint64_t)s->term << 40 | s->launch_n};
    for (uint32_t i = r->leaf0; i < r->leaf0 + r->nleaves; i++) {
        const struct tree_leaf *a = &old->leaves[i], *b = &to->leaves[i];
        for (uint32_t k = 0; k < a->nslots && k < b->nslots; k++) {
            slots[b->slot0 + k] = from[a->slot0 + k];
            if (from[a->slot0 + k].claim != NONE)
                s->claims.at[from[a->slot0 + k].claim].slot = b->slot0 + k;
        }
    }
    ranks_give(slots, r->slots);
    free(g->slots);
    g->slots = NULL;
    g->one = (struct slot){.claim = NONE, .shape = NONE};
    g->nslots = r->slots;
    g->tree = tree;
    if (g->nslots > 1) {
        g->slots = slots;
    } else {
        g->one = slots[0];
        free(slots);
    }
}

/* A copy that the job has no more. */
static void gang_drop(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    struct job *j = &s->jobs.at[g->job];
    strays_move(s, gang, NULL);
    gang_cut(s, gang, NULL);
    g = &s->gangs.at[gang];
    if (g->phase != GANG_OVER)
        j->gangs_left--;
    g->phase = GANG_OVER;
    gang_destroy(s, gang);
}

/* The gangs of the job in the order of the new tree; those that are new are NONE. */
static uint32_t *gangs_cut(struct sched *s, uint32_t job, uint32_t tree, uint32_t *ret_n)
{
    uint32_t n = 0, at = 0, out = 0;
    uint32_t nroots = s->trees.at[tree].nroots;
    for (uint32_t r = 0; r < nroots; r++)
        n += s->trees.at[tree].roots[r].copies;
    uint32_t *gangs = mem_alloc((n + 1) * sizeof *gangs);
    for (uint32_t r = 0; r < nroots; r++) {
        uint32_t now = s->trees.at[tree].roots[r].copies;
        uint32_t old = s->trees.at[s->jobs.at[job].tree].roots[r].copies;
        for (uint32_t c = 0; c < old || c < now; c++) {
            const struct job *j = &s->jobs.at[job];
            uint32_t g = c >= old ? NONE : j->gangs ? j->gangs[at + c] : j->one_gang;
            if (c >= now) {
                gang_drop(s, g);
                continue;
            }
            if (g != NONE)
                gang_cut(s, g, &s->trees.at[tree]);
            gangs[out++] = g;
        }
        at += old;
    }
    *ret_n = n;
    return gangs;
}

static void gangs_make(struct sched *s, uint32_t job)
{
    uint32_t at = 0, tree = s->jobs.at[job].tree;
    for (uint32_t r = 0; r < s->trees.at[tree].nroots; r++) {
        for (uint32_t c = 0; c < s->trees.at[tree].roots[r].copies; c++, at++) {
            struct job *j = &s->jobs.at[job];
            if ((j->gangs ? j->gangs[at] : j->one_gang) != NONE)
                continue;
            uint32_t g = gang_create(s, job, r, c);
            for (uint32_t i = 0; i < s->gangs.at[g].nslots; i++)
                gang_slot(s, g, i)->last_launch = (uint64_t)s->term << 40 | s->launch_n;
            j = &s->jobs.at[job];
            *(j->gangs ? &j->gangs[at] : &j->one_gang) = g;
            j->gangs_left++;
        }
    }
}

/* What the new counts mean for a gang that holds room. */
static void gang_aim(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    const struct tree_root *r = gang_root(s, g);
    uint32_t have = g->issued + g->running + g->planned + g->done;
    uint32_t most = larger(r->want, have); /* what was lost beyond that is not missed */
    g->target = g->target < most ? g->target : most;
    g->target = larger(g->target, r->min);
    g->said = false;
    g->tried_epoch = UINT64_MAX;
    g->grows = gang_may_grow(s, gang);
    g->raised = gang_lacks(s, gang) > 0;
    if (g->raised && (g->phase == GANG_LAUNCHING || g->phase == GANG_BROKEN)) {
        int64_t until = s->at + s->policy.repair_grace_us;
        g->launch_by = g->launch_by > until ? g->launch_by : until;
        gang_timer(s, gang, g->launch_by);
    }
    gang_settle(s, gang);
}

/* Room that is kept for gangs that start again as a whole was found for the old counts. */
static void plans_drop(struct sched *s, uint32_t job)
{
    for (uint32_t i = 0; i < s->jobs.at[job].ngangs; i++) {
        const struct job *j = &s->jobs.at[job];
        uint32_t gang = j->gangs ? j->gangs[i] : j->one_gang;
        if (s->gangs.at[gang].mends && gang_alive(&s->gangs.at[gang]))
            gang_unmend(s, gang);
    }
}

void job_recount(struct sched *s, uint32_t job, const struct job_spec *spec)
{
    uint32_t tree = tree_intern(s, spec), old = s->jobs.at[job].tree, n;
    plans_drop(s, job);
    uint32_t *gangs = gangs_cut(s, job, tree, &n);
    struct job *j = &s->jobs.at[job];
    for (uint32_t i = 0; i < n; i++)
        if (gangs[i] != NONE)
            gang_move(s, gangs[i], tree);
    free(j->gangs);
    j->gangs = NULL;
    j->one_gang = n ? gangs[0] : NONE;
    j->ngangs = n;
    j->tree = tree;
    if (n == 1)
        free(gangs);
    else
        j->gangs = gangs;
    tree_unref(s, old);
    gangs_make(s, job);
}

void job_recount_settle(struct sched *s, uint32_t job)
{
    uint32_t n = s->jobs.at[job].ngangs;
    if (n && s->jobs.at[job].gangs_left == 0) {
        job_finish(s, job); /* what was left of it is over */
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct job *j = &s->jobs.at[job];
        uint32_t id = j->gangs ? j->gangs[i] : j->one_gang;
        const struct gang *g = &s->gangs.at[id];
        if (g->phase == GANG_OVER)
            continue;
        if (g->phase == GANG_PENDING && g->done && g->done == g->nslots)
            gang_over(s, id); /* nothing of it is left to be run */
        else if (g->phase == GANG_PENDING)
            gang_wait(s, id);
        else
            gang_aim(s, id);
        if (!s->jobs.at[job].live)
            return;
    }
    early_admit(s, job);
}
