/* mend.c - room for the members that a started gang lacks, near those that stay
 * Each missing slot looks for the lowest domain that it must share with members of its own
 * group, copy or segment; whoever finds room is taken, whatever the others lack. What ties
 * nobody is free to go anywhere. O(missing x slots) where groups are tied, else O(missing).
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/place.h"

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
        bool stays = c != NONE && s->claims.at[c].phase != CLAIM_ENDING;
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

/* Is the slot one that its leaf's minimum needs? Those are mended first. */
static bool slot_is_needed(struct sched *s, uint32_t gang, uint32_t slot)
{
    const struct tree *t = gang_tree(s, &s->gangs.at[gang]);
    const struct tree_leaf *l = &t->leaves[slot_leaf(s, gang, slot)];
    uint32_t copy = (slot - l->slot0) / l->per_copy, first = l->slot0 + copy * l->per_copy;
    uint32_t n = leaf_copy_has(s, gang, l, copy);
    for (uint32_t i = 0; i < s->scratch->plan.n; i++)
        n += s->scratch->plan.at[i].slot >= first &&
             s->scratch->plan.at[i].slot < first + l->per_copy;
    return n < l->per_min;
}

bool place_missing(struct sched *s, uint32_t gang, struct why *why)
{
    struct scratch *sc = scratch_ready(s);
    const struct gang *g = &s->gangs.at[gang];
    struct attempt at = {.s = s, .gang = gang, .tree = gang_tree(s, g)};
    at.root = &at.tree->roots[g->root];
    vec_clear(&sc->plan);
    vec_clear(&sc->spread);
    sc->fits.n = 0;
    sc->best_placed = 0;
    where_fill(s, gang);
    uint32_t left = gang_missing(g), need = left, full_leaf = NONE, full_domain = NONE;
    bool makes = s->caps & CAP_MAKE;
    for (uint32_t k = 0; k < 2 * g->nslots && left; k++) {
        uint32_t i = k % g->nslots;
        const struct slot *sl = gang_slot(s, gang, i);
        if (sl->claim != NONE || sl->flags & SLOT_DONE ||
            (!makes && (!(sl->flags & SLOT_OFFERED) || sl->flags & SLOT_GATED)))
            continue;
        if (k < g->nslots ? !slot_is_needed(s, gang, i) : sc->where.at[i] != NODE_NONE)
            continue;
        uint32_t leaf = slot_leaf(s, gang, i);
        const struct tree_leaf *l = &at.tree->leaves[leaf];
        struct asker a = asker_for(&at, l, (i - l->slot0) / l->per_copy,
                                   slot_shape(s, gang, i));
        uint32_t node, d = search_domain(s, a.sh, repair_domain(s, gang, i, &node));
        if (leaf == full_leaf && d == full_domain)
            continue; /* the answer of its neighbour */
        spread_count(s, gang, &a);
        if (node == NODE_NONE ? fill_one(s, &a, d, s->seq) : fill_node(s, &a, node, 1)) {
            sc->plan.at[sc->plan.n - 1].slot = i;
            sc->where.at[i] = sc->plan.at[sc->plan.n - 1].use.node;
            left--;
        } else { /* another one may have room all the same */
            full_leaf = leaf;
            full_domain = node == NODE_NONE ? d : DOMAIN_NONE;
        }
    }
    memset(why, 0, sizeof *why);
    why->code = full_leaf == NONE ? WHY_INCOMPLETE : WHY_NEEDS_ROOM;
    why->need = need;
    why->have = need - left;
    bool ok = sc->plan.n > 0;
    if (ok)
        attempt_close(s);
    return ok;
}
