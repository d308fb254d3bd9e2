/* mend.c - room for the members that a started gang lacks, near those that stay
 * Each missing slot looks for the lowest domain that it must share with members of its own
 * group, copy or segment; whoever finds room is taken, whatever the others lack (but of what
 * a new minimum needs, all or nothing). What ties nobody is free to go anywhere. A gang that
 * may be larger grows in the same way, in the steps of its leaves.
 * O(missing x slots) where groups are tied, else O(missing).
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/decide.h"

/* Which copy of `up` holds the leaf copy, inside one copy of the gang's root `top`. */
static uint32_t copy_under(const struct tree *t, uint16_t leaf, uint32_t copy, uint16_t up,
                           uint16_t top)
{
    if (under(t, top, up))
        return 0;
    for (uint16_t g = leaf; g != up; g = t->groups[g].parent)
        copy /= g == leaf ? 1 : t->groups[g].count.want;
    return copy;
}

/* Does any group tie its tasks to one domain? */
static bool is_tied(const struct tree *t)
{
    for (uint32_t i = 0; i < t->ngroups; i++)
        if (t->groups[i].required || t->groups[i].segment_size)
            return true;
    return false;
}

/* The node of each slot that stays; a plan's picks are added as they come. */
static void where_fill(struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    vec_resize(&s->scratch->where, g->nslots);
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        bool stays = c != NONE && (s->claims.at[c].phase != CLAIM_ENDING || s->claims.at[c].kept);
        s->scratch->where.at[i] = stays ? s->claims.at[c].use.node : NODE_NONE;
    }
}

/* The lowest domain that a missing slot must share with its gang's members. */
static uint32_t repair_domain(struct sched *s, uint32_t gang, uint32_t slot,
                              uint32_t *ret_node)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct tree *t = gang_tree(s, g);
    const struct tree_leaf *l = &t->leaves[slot_leaf(s, gang, slot)];
    const struct group_spec *leaf = &t->groups[l->group];
    uint32_t best = 0;
    *ret_node = NODE_NONE;
    if (!is_tied(t))
        return best;
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t node = i == slot ? NODE_NONE : s->scratch->where.at[i];
        if (node == NODE_NONE)
            continue;
        const struct tree_leaf *o = &t->leaves[slot_leaf(s, gang, i)];
        word_t level = WORD_NONE;
        uint32_t mine = (slot - l->slot0) / l->per_copy, its = (i - o->slot0) / o->per_copy;
        for (uint16_t up = l->group; up != GROUP_NONE; up = t->groups[up].parent) {
            uint16_t top = gang_root(s, g)->group;
            bool shared = under(t, o->group, up) && copy_under(t, l->group, mine, up, top) ==
                                                        copy_under(t, o->group, its, up, top);
            if (shared && t->groups[up].required &&
                (!level || level_depth(s, t->groups[up].required) > level_depth(s, level)))
                level = t->groups[up].required;
        }
        if (o == l && leaf->segment_size && mine == its &&
            (slot - l->slot0) % l->per_copy / leaf->segment_size ==
                (i - l->slot0) % l->per_copy / leaf->segment_size &&
            (!level || level_depth(s, leaf->segment_level) > level_depth(s, level)))
            level = leaf->segment_level;
        uint32_t depth = level_depth(s, level);
        if (level == WORD_NONE)
            continue;
        if (depth > s->cluster->nlevels) { /* nodes, or a level that nobody knows here */
            *ret_node = node;
            depth = s->cluster->nlevels;
        }
        uint32_t d = cluster_domain(s->cluster, depth, node);
        if (s->cluster->domains[d].depth > s->cluster->domains[best].depth)
            best = d;
    }
    return best;
}

/* What the gang's claims already use of each fault domain's cap. */
static void spread_count(struct sched *s, uint32_t gang, const struct asker *a)
{
    const struct gang *g = &s->gangs.at[gang];
    vec_clear(&s->scratch->spread);
    for (uint32_t i = a->spread_lo; a->spread_kind && i < a->spread_hi && i < g->nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (c == NONE || s->claims.at[c].use.node == NODE_NONE)
            continue;
        word_t value = fault_of(s, s->claims.at[c].use.node, a->spread_kind);
        if (value)
            vec_push(&s->scratch->spread, (uint64_t)value << 32 | 1);
    }
}

/* Members that this copy of the leaf has with the plan. */
static uint32_t copy_has(struct sched *s, uint32_t gang, const struct tree_leaf *l,
                         uint32_t copy)
{
    uint32_t first = l->slot0 + copy * l->per_copy, n = leaf_copy_has(s, gang, l, copy);
    for (uint32_t i = 0; i < s->scratch->plan.n; i++)
        n += s->scratch->plan.at[i].slot >= first &&
             s->scratch->plan.at[i].slot < first + l->per_copy;
    return n;
}

/* Is the slot one that its leaf's minimum needs? Those are mended first. */
static bool slot_is_needed(struct sched *s, uint32_t gang, uint32_t slot)
{
    const struct tree *t = gang_tree(s, &s->gangs.at[gang]);
    const struct tree_leaf *l = &t->leaves[slot_leaf(s, gang, slot)];
    return copy_has(s, gang, l, (slot - l->slot0) / l->per_copy) < l->per_min;
}

/* Could a task be placed in it: it is empty, and where others make tasks it has one. */
static bool slot_may_have(struct sched *s, uint32_t gang, uint32_t slot)
{
    const struct slot *sl = gang_slot(s, gang, slot);
    return sl->claim == NONE && !(sl->flags & SLOT_DONE) &&
           (s->caps & CAP_MAKE || s->gangs.at[gang].mends || (sl->flags & SLOT_OFFERED && !(sl->flags & SLOT_GATED)));
}

/* One search for what a started gang lacks. */
struct mending {
    struct attempt at;
    uint32_t full_leaf, full_domain; /* where the last one found no room */
    bool repairs;                    /* it lost somebody: it may use spares */
    bool below;                      /* its minimum: what reservations keep, too */
    bool growing;                    /* for more members than it needs */
    bool over;                       /* what reservations keep is given back for the search */
};

/* --- spares, and what is lent of them --- */

static void lift(struct sched *s, const struct use *u)
{
    cluster_give(s->cluster, u);
    vec_push(&s->scratch->lifted, *u);
}

static void lifted_undo(struct sched *s, uint32_t to)
{
    while (s->scratch->lifted.n > to)
        cluster_take(s->cluster, &s->scratch->lifted.at[--s->scratch->lifted.n]);
}

/* Is the rule for losses of this kind? */
static bool rule_helps(struct sched *s, uint32_t gang, uint32_t slot, const struct spare *sp)
{
    if (sp->rule >= s->policy.nspares)
        return false;
    struct str fault = s->policy.spares[sp->rule].fault;
    uint32_t lost = gang_slot(s, gang, slot)->flags & (SLOT_LOST_NODE | SLOT_LOST_DEVICE);
    return fault.len == 0 ||
           lost == (str_is(fault, "node") ? SLOT_LOST_NODE : SLOT_LOST_DEVICE);
}

/* The work that the spare is lent to; false: it is on its way out, somebody has taken it. */
static bool lent_lift(struct sched *s, uint32_t gang, uint32_t node)
{
    for (uint32_t i = node_first_claim(s, node); i != NONE; i = s->claims.at[i].next) {
        const struct claim *c = &s->claims.at[i];
        bool stops = c->phase == CLAIM_ENDING || (!c->asked && c->retry_at <= s->at);
        if (c->gang == gang && c->taken)
            continue; /* its own members' places */
        if (c->phase == CLAIM_PLANNED || c->kept || !stops || !spare_is_lent_to(s, c))
            return false;
        lift(s, &c->use);
    }
    return true;
}

static bool is_lifted(const struct sched *s, uint32_t node)
{
    for (uint32_t i = 0; i < s->scratch->lifted.n; i++)
        if (s->scratch->lifted.at[i].node == node)
            return true;
    return false;
}

static void evict_note(struct sched *s, uint32_t by, uint32_t node)
{
    for (uint32_t i = node_first_claim(s, node); i != NONE; i = s->claims.at[i].next) {
        uint32_t gang = s->claims.at[i].gang, k = 0;
        while (k < s->scratch->evict.n && s->scratch->evict.at[k] != gang)
            k++;
        if (gang != by && k == s->scratch->evict.n)
            vec_push(&s->scratch->evict, gang);
    }
}

/* On the spare, empty or lent, that comes first in the domain (or is the one node); the room
 * of those whom it is lent to is theirs until they have ended. */
static bool spare_fill(struct mending *m, uint32_t slot, const struct asker *a, uint32_t d,
                       uint32_t only, bool lent)
{
    struct sched *s = m->at.s;
    const struct domain *in = &s->cluster->domains[d];
    for (uint32_t from = in->rank_lo;;) {
        const struct spare *best = NULL;
        for (uint32_t i = 0; i < s->spares.n; i++) {
            const struct spare *sp = &s->spares.at[i];
            uint32_t rank = s->cluster->nodes[sp->node].rank;
            bool empty = node_first_claim(s, sp->node) == NONE;
            if (rank >= from && rank < in->rank_hi && empty != lent &&
                (only == NODE_NONE || sp->node == only) &&
                rule_helps(s, m->at.gang, slot, sp) &&
                (!best || rank < s->cluster->nodes[best->node].rank))
                best = sp;
        }
        if (!best)
            return false;
        uint32_t to = s->scratch->lifted.n;
        bool again = is_lifted(s, best->node); /* for another of its slots */
        if (!again && best->guard.node != NODE_NONE)
            lift(s, &best->guard);
        if ((!lent || again || lent_lift(s, m->at.gang, best->node)) &&
            fill_node(s, a, best->node, 1) == 1) {
            s->scratch->plan.at[s->scratch->plan.n - 1].over = lent;
            if (lent)
                evict_note(s, m->at.gang, best->node);
            return true;
        }
        lifted_undo(s, to);
        from = s->cluster->nodes[best->node].rank + 1;
    }
}

/* All that was given back for the search is taken again; the plan is off the cluster. */
static void mend_end(struct mending *m)
{
    if (m->over)
        reserves_lift(m->at.s, false);
    lifted_undo(m->at.s, 0);
}

static bool open_fill(struct mending *m, const struct asker *a, uint32_t d, uint32_t node)
{
    struct sched *s = m->at.s;
    if (node == NODE_NONE ? !fill_one(s, a, d, s->seq) : fill_node(s, a, node, 1) != 1)
        return false;
    struct pick *pick = &s->scratch->plan.at[s->scratch->plan.n - 1];
    pick->over = is_lifted(s, pick->use.node) &&
                 node_first_claim(s, pick->use.node) != NONE; /* taken back for another slot */
    return true;
}

/* An empty spare first, then what anybody may use, then a spare that is lent; what
 * reservations keep comes last, and only to a gang that is below its minimum. */
static bool fill_for(struct mending *m, uint32_t slot, const struct asker *a, uint32_t d,
                     uint32_t node)
{
    struct sched *s = m->at.s;
    uint32_t lost = gang_slot(s, m->at.gang, slot)->flags & (SLOT_LOST_NODE | SLOT_LOST_DEVICE);
    bool repairs = !m->growing && (m->repairs || lost);
    if (repairs && s->spares.n && spare_fill(m, slot, a, d, node, false))
        return true;
    if (open_fill(m, a, d, node))
        return true;
    if (repairs && s->spares.n && spare_fill(m, slot, a, d, node, true))
        return true;
    if (!m->below || m->over || !s->reserves.n)
        return false;
    m->over = true;
    reserves_lift(s, true);
    return open_fill(m, a, d, node);
}

/* Looks for room for one slot near the gang's members; the pick is the plan's last. */
static bool slot_place(struct mending *m, uint32_t slot)
{
    struct sched *s = m->at.s;
    struct scratch *sc = s->scratch;
    uint32_t leaf = slot_leaf(s, m->at.gang, slot), node = NODE_NONE;
    const struct tree_leaf *l = &m->at.tree->leaves[leaf];
    uint32_t shape = slot_shape(s, m->at.gang, slot), alts = shape_alts(s, shape), d = 0;
    bool found = false;
    for (uint32_t alt = 0; alt < alts && !found; alt++) {
        struct asker a = asker_for(&m->at, l, (slot - l->slot0) / l->per_copy,
                                   shape_alt(s, shape, alt));
        d = search_domain(s, a.sh, repair_domain(s, m->at.gang, slot, &node));
        if (leaf == m->full_leaf && d == m->full_domain)
            return false; /* the answer of its neighbour */
        spread_count(s, m->at.gang, &a);
        found = fill_for(m, slot, &a, d, node);
    }
    if (!found) {
        m->full_leaf = leaf; /* another one may have room all the same */
        m->full_domain = node == NODE_NONE ? d : DOMAIN_NONE;
        return false;
    }
    sc->plan.at[sc->plan.n - 1].slot = slot;
    sc->where.at[slot] = sc->plan.at[sc->plan.n - 1].use.node;
    return true;
}

static void mend_begin(struct sched *s, uint32_t gang, bool growing, struct mending *m)
{
    struct scratch *sc = scratch_ready(s);
    const struct gang *g = &s->gangs.at[gang];
    *m = (struct mending){.at = {.s = s, .gang = gang, .tree = gang_tree(s, g)},
                          .full_leaf = NONE, .full_domain = NONE};
    m->at.root = &m->at.tree->roots[g->root];
    m->repairs = g->phase == GANG_BROKEN || g->mends;
    m->below = !growing && (g->mends || (m->repairs && gang_lacks(s, gang)));
    m->growing = growing;
    vec_clear(&sc->plan);
    vec_clear(&sc->lifted);
    vec_clear(&sc->evict);
    vec_clear(&sc->spread);
    sc->fits.n = 0;
    sc->best_placed = 0;
    where_fill(s, gang);
}

/* With the plan. */
static bool minimum_is_met(struct sched *s, uint32_t gang, const struct attempt *at)
{
    for (uint32_t i = 0; i < at->root->nleaves; i++) {
        const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + i];
        for (uint32_t copy = 0; copy < l->copies; copy++)
            if (copy_has(s, gang, l, copy) < l->per_min)
                return false;
    }
    return true;
}

bool place_missing(struct sched *s, uint32_t gang, struct why *why)
{
    struct mending m;
    mend_begin(s, gang, false, &m);
    struct scratch *sc = s->scratch;
    const struct gang *g = &s->gangs.at[gang];
    uint32_t left = gang_missing(g), lacks = g->raised ? gang_lacks(s, gang) : 0;
    left = left > lacks ? left : lacks;
    uint32_t need = left;
    for (uint32_t k = 0; k < 2 * g->nslots && left; k++) {
        uint32_t i = k % g->nslots;
        if (!slot_may_have(s, gang, i))
            continue;
        if (k < g->nslots ? !slot_is_needed(s, gang, i) : sc->where.at[i] != NODE_NONE)
            continue;
        left -= slot_place(&m, i);
    }
    *why = (struct why){.code = m.full_leaf == NONE ? WHY_INCOMPLETE : WHY_NEEDS_ROOM,
                        .need = need, .have = need - left};
    if (g->raised && !minimum_is_met(s, gang, &m.at)) {
        trail_undo(s, 0); /* no part of it: the others would run, or wait, for nothing */
        why->have = why->have < need ? why->have : need - 1; /* room for others is no help */
    }
    bool ok = sc->plan.n > 0;
    if (ok)
        attempt_close(s);
    mend_end(&m);
    return ok;
}

/* One copy of a leaf, as far as it may grow and has room, in its steps. */
static void copy_grow(struct mending *m, const struct tree_leaf *l, uint32_t copy)
{
    struct sched *s = m->at.s;
    uint32_t first = l->slot0 + copy * l->per_copy, from = s->scratch->plan.n;
    uint32_t has = leaf_copy_has(s, m->at.gang, l, copy), goal = leaf_goal(s, l);
    uint32_t most = goal > has ? goal - has : 0, room = quota_room(s, m->at.gang, l->shape);
    room = room > from ? room - from : 0; /* as if all cost the same: never too much */
    most = most < room ? most : room;
    for (uint32_t i = first; i < first + l->per_copy && most; i++)
        if (slot_may_have(s, m->at.gang, i))
            most -= slot_place(m, i);
    uint32_t got = s->scratch->plan.n - from;
    uint32_t over = has + got > l->per_min ? (has + got - l->per_min) % l->step : 0;
    if (s->caps & CAP_MAKE)
        trail_undo(s, from + got - (over < got ? over : got));
}

bool place_growth(struct sched *s, uint32_t gang, struct why *why)
{
    struct mending m;
    mend_begin(s, gang, true, &m);
    const struct tree_root *r = m.at.root;
    uint32_t need = 0;
    for (uint32_t i = r->leaf0; i < r->leaf0 + r->nleaves; i++) {
        const struct tree_leaf *l = &m.at.tree->leaves[i];
        for (uint32_t copy = 0; copy < l->copies; copy++) {
            uint32_t has = leaf_copy_has(s, gang, l, copy), goal = leaf_goal(s, l);
            need += goal > has ? goal - has : 0;
            copy_grow(&m, l, copy);
        }
    }
    bool ok = s->scratch->plan.n > 0;
    uint16_t nobody = s->caps & CAP_MAKE ? WHY_QUOTA : WHY_INCOMPLETE;
    *why = (struct why){.code = m.full_leaf == NONE ? nobody : WHY_NEEDS_ROOM, .need = need};
    if (ok)
        attempt_close(s);
    return ok;
}
