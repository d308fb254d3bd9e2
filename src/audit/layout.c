/* layout.c - is a gang that was just launched of a legal size, and does it lie as it
 * asked Judged at the end of the pass, when launches and holds of one plan are all on
 * the books. Counted are planned, issued and running claims. Members that were there
 * before the pass may lie anywhere, since the world may have moved them: where they
 * alone break a rule, new ones cannot mend it and are not blamed. A required level or a
 * spread on a group above the gang binds all the job's gangs under one copy of that
 * group. Segments are counted by the slots' places in their group: places 0..k-1
 * together, k..2k-1 together, and so on. SPDX-License-Identifier: Apache-2.0 */
#include "audit/book.h"

#include <stdio.h>

static bool is_below(const struct job_spec *spec, uint16_t g, uint16_t top)
{
    while (g != GROUP_NONE && g != top)
        g = spec->groups[g].parent;
    return g == top;
}

/* Which copy of group `top` (inside gang g, above or equal to the leaf) holds the slot.
 */
static uint32_t copy_of(const struct bgang *g, const struct bleaf *l, uint32_t slot,
                        uint16_t top)
{
    const struct job_spec *spec = &g->job->spec;
    uint32_t copy = (slot - l->slot0) / l->per_copy;
    if (top == g->root)
        return 0;
    for (uint16_t up = l->group; up != top; up = spec->groups[up].parent)
        if (up != l->group)
            copy /= spec->groups[up].count.want;
    return copy;
}

/* Which copy of group `top`, above the gang, holds the gang; a lone leaf's slots that
 * have one copy of its parent belong together. */
static uint32_t copy_above(const struct bgang *g, uint16_t top)
{
    const struct job_spec *spec = &g->job->spec;
    uint32_t copy = g->copy;
    if (top == g->root)
        return copy / (spec->groups[top].count.want ? spec->groups[top].count.want : 1);
    for (uint16_t up = g->root; up != top; up = spec->groups[up].parent)
        copy /= spec->groups[up].count.want ? spec->groups[up].count.want : 1;
    return copy;
}

static bool stands(const struct bclaim *c)
{
    return c && c->node &&
           (c->phase == BP_PLANNED || c->phase == BP_ISSUED || c->phase == BP_RUNNING);
}

/* Calls f for each claim under the copy of `group` that holds (g, slot), with its
 * place. */
typedef bool (*each_f)(struct audit *a, const struct bclaim *c, uint32_t place,
                       void *arg);

/* A slot under no whole group is a gang of one, but its leaf is a group of many. */
static bool is_lone(const struct bgang *g, uint16_t group)
{
    return group == g->root && g->job->spec.groups[group].shape != GROUP_NONE;
}

static bool each_in_gang(struct audit *a, const struct bgang *g, uint16_t group,
                         bool inside, uint32_t copy, uint32_t *place, each_f f,
                         void *arg)
{
    for (uint32_t i = 0; i < g->nleaves; i++) {
        const struct bleaf *l = &g->leaves[i];
        if (inside && !is_below(&g->job->spec, l->group, group))
            continue;
        for (uint32_t s = l->slot0; s < l->slot0 + l->nslots; s++) {
            if (inside && copy_of(g, l, s, group) != copy)
                continue;
            if (stands(g->slots[s].claim) && !f(a, g->slots[s].claim, *place, arg))
                return false;
            (*place)++;
        }
    }
    return true;
}

static bool each_claim(struct audit *a, const struct bgang *g, uint16_t group,
                       uint32_t copy, each_f f, void *arg)
{
    uint32_t place = 0;
    if (is_below(&g->job->spec, group, g->root) && !is_lone(g, group))
        return each_in_gang(a, g, group, true, copy, &place, f, arg);
    for (uint32_t i = 0; i < g->job->ngangs; i++) {
        const struct bgang *o = &g->job->gangs[i];
        if (is_below(&g->job->spec, o->root, group) && copy_above(o, group) == copy &&
            !each_in_gang(a, o, group, false, copy, &place, f, arg))
            return false;
    }
    return true;
}

/* required level, and segments: all in one domain, per unit of `unit` places */
struct together {
    word_t level;
    uint32_t unit, which;    /* unit 0: all; else only places of unit `which` */
    const struct bnode *old; /* where the members of before lie */
    const struct bnode *fresh;
    bool torn, bad;
    uint32_t most; /* highest unit seen */
};

static bool gather(struct audit *a, const struct bclaim *c, uint32_t place, void *arg)
{
    struct together *t = arg;
    uint32_t unit = t->unit ? place / t->unit : 0;
    if (unit > t->most)
        t->most = unit;
    if (unit != t->which)
        return true;
    const struct bnode **ref = c->fresh ? &t->fresh : &t->old;
    if (!*ref)
        *ref = c->node;
    else if (!domain_same(a, t->level, *ref, c->node))
        *(c->fresh ? &t->bad : &t->torn) = true;
    return true;
}

/* 1: the world tore it apart before. */
static int together_check(struct audit *a, const struct bgang *g, uint16_t group,
                          uint32_t copy, word_t level, uint32_t unit, bool judge,
                          const char *what)
{
    uint32_t most = 0;
    for (uint32_t which = 0; which <= most; which++) {
        struct together t = {.level = level, .unit = unit, .which = which};
        each_claim(a, g, group, copy, gather, &t);
        most = t.most;
        if (t.torn)
            return 1;
        if (!t.fresh)
            continue;
        if (!t.bad && t.old)
            t.bad = !domain_same(a, level, t.old, t.fresh);
        if (t.bad && judge)
            return audit_bad(a,
                             "protocol: " STR_FMT
                             " group %u copy %u: %s %u is not in one " STR_FMT,
                             STR_ARG(g->job->spec.name), group, copy, what, which,
                             STR_ARG(words_text(&a->words, level)));
    }
    return 0;
}

struct spread {
    word_t kind;
    uint64_t domain;
    uint32_t n;
};

static bool count_domain(struct audit *a, const struct bclaim *c, uint32_t place,
                         void *arg)
{
    (void)place;
    struct spread *s = arg;
    s->n += domain_of(a, s->kind, c->node) == s->domain;
    return true;
}

static int spread_check(struct audit *a, const struct bgang *g, uint16_t group,
                        uint32_t copy, const struct bclaim *c)
{
    const struct group_spec *gs = &g->job->spec.groups[group];
    struct spread s = {gs->spread_kind, domain_of(a, gs->spread_kind, c->node), 0};
    if (!s.domain)
        return 0;
    each_claim(a, g, group, copy, count_domain, &s);
    if (s.n <= gs->spread_most)
        return 0;
    return audit_bad(a,
                     "protocol: " STR_FMT " group %u copy %u: %u slots in one " STR_FMT
                     " (node " STR_FMT "), at most %u are allowed",
                     STR_ARG(g->job->spec.name), group, copy, s.n,
                     STR_ARG(words_text(&a->words, gs->spread_kind)),
                     STR_ARG(c->node->name), gs->spread_most);
}

/* Every level rule that binds the slot; 1 when the world tore one of them. */
static int levels_check(struct audit *a, const struct bgang *g, uint32_t slot,
                        bool judge)
{
    const struct job_spec *spec = &g->job->spec;
    const struct bleaf *l = book_leaf(g, slot);
    int rc = 0;
    for (uint16_t up = l->group; up != GROUP_NONE && !rc;
         up = spec->groups[up].parent) {
        const struct group_spec *gs = &spec->groups[up];
        bool lone = is_lone(g, up);
        uint32_t copy = is_below(spec, up, g->root) && !lone ? copy_of(g, l, slot, up)
                                                             : copy_above(g, up);
        if (gs->required)
            rc = together_check(a, g, up, copy, gs->required, 0, judge,
                                "the whole, unit");
        if (!rc && gs->segment_size && !lone)
            rc = together_check(a, g, up, copy, gs->segment_level, gs->segment_size,
                                judge, "segment");
    }
    return rc;
}

/* Every rule that binds this newly seated slot, from its leaf up to the job's root. */
static int slot_check(struct audit *a, struct bgang *g, uint32_t slot)
{
    const struct job_spec *spec = &g->job->spec;
    const struct bleaf *l = book_leaf(g, slot);
    const struct bclaim *c = g->slots[slot].claim;
    int rc = 0;
    for (uint16_t up = l->group; up != GROUP_NONE && !rc;
         up = spec->groups[up].parent) {
        const struct group_spec *gs = &spec->groups[up];
        bool lone = is_lone(g, up);
        uint32_t copy = is_below(spec, up, g->root) && !lone ? copy_of(g, l, slot, up)
                                                             : copy_above(g, up);
        if (gs->spread_kind)
            rc = spread_check(a, g, up, copy, c);
    }
    /* Where one rule is torn, the others may bind to places that cannot be had
     * together. */
    if (!rc && levels_check(a, g, slot, false) == 0)
        rc = levels_check(a, g, slot, true);
    return rc;
}

static int counts_check(struct audit *a, const struct bgang *g)
{
    bool more = false;
    uint64_t newest = 1;
    for (uint32_t i = 0; i < g->nslots; i++)
        more |= g->slots[i].claim && g->slots[i].claim->fresh;
    for (uint32_t i = 0; i < g->nslots; i++)
        if (g->slots[i].claim && g->slots[i].claim->launch > newest)
            newest = g->slots[i].claim->launch;
    if (more && g->raised && bgang_lacks(g))
        return audit_bad(a,
                         "protocol: " STR_FMT
                         " gets members for its new minimum, but %u are missing",
                         STR_ARG(g->job->spec.name), bgang_lacks(g));
    for (uint32_t i = 0; i < g->nleaves; i++) {
        const struct bleaf *l = &g->leaves[i];
        for (uint32_t copy = 0; copy < l->copies; copy++) {
            uint32_t n = 0, old = 0;
            for (uint32_t k = 0; k < l->per_copy; k++) {
                const struct bslot *s = &g->slots[l->slot0 + copy * l->per_copy + k];
                /* who was launched in this pass counts, though it was stopped since */
                bool there =
                    s->claim &&
                    (s->claim->phase != BP_ENDING || s->claim->launch == newest);
                n += s->done || there;
                old += s->done || (there && !s->claim->fresh);
            }
            bool low = g->first && n < l->min;
            bool off = g->first && a->caps & CAP_MAKE && n >= l->min && !old &&
                       (n - l->min) % l->step;
            if (low || off || n > l->per_copy)
                return audit_bad(a,
                                 "protocol: " STR_FMT
                                 " leaf %u copy %u has %u slots, not "
                                 "%u to %u in steps of %u",
                                 STR_ARG(g->job->spec.name), l->group, copy, n, l->min,
                                 l->per_copy, l->step);
        }
    }
    return 0;
}

int layout_check(struct audit *a, struct bgang *g)
{
    int rc = counts_check(a, g);
    const struct bleaf *seen = NULL;
    uint32_t seen_copy = 0;
    for (uint32_t s = 0; s < g->nslots && !rc; s++) {
        const struct bclaim *c = g->slots[s].claim;
        if (!stands(c) || !c->fresh)
            continue;
        const struct bleaf *l = book_leaf(g, s);
        uint32_t copy = (s - l->slot0) / l->per_copy;
        bool spreads =
            false; /* all rules but spread are the same for the copy's slots */
        for (uint16_t up = l->group; up != GROUP_NONE;
             up = g->job->spec.groups[up].parent)
            spreads |= g->job->spec.groups[up].spread_kind != WORD_NONE;
        if (l == seen && copy == seen_copy && !spreads)
            continue;
        rc = slot_check(a, g, s);
        seen = l;
        seen_copy = copy;
    }
    return rc;
}

/* Is everything that the slot waits for (start_after on it or above it, inside the
 * gang) there: each claimed slot of that sibling started, or ready, and its minimum
 * met? */
bool layout_may_start(const struct bgang *g, uint32_t slot)
{
    const struct job_spec *spec = &g->job->spec;
    const struct bleaf *l = book_leaf(g, slot);
    for (uint16_t up = l->group; up != g->root; up = spec->groups[up].parent) {
        const struct group_spec *gs = &spec->groups[up];
        if (gs->start == START_AT_ONCE)
            continue;
        uint32_t mine = copy_of(g, l, slot, gs->parent);
        for (uint32_t s = 0; s < g->nslots; s++) {
            const struct bleaf *o = book_leaf(g, s);
            if (!is_below(spec, o->group, gs->start_group) ||
                copy_of(g, o, s, gs->parent) != mine)
                continue;
            const struct bslot *b = &g->slots[s];
            bool up_now =
                b->done || (gs->start == START_AFTER_READY ? b->ready : b->started);
            if (b->claim && !up_now)
                return false;
        }
    }
    return true;
}
