/* refusal.c - why a gang found no room, as data with numbers
 * Asked when an attempt has failed, with what it tried still in hand: the level it got to and
 * the most it placed. Counts of the tree answer for whole GPUs; else the nodes of the domains
 * of that level are asked, once. O(domains), at most O(nodes).
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/place.h"

/* Is there a node where one task would fit, but for a taint, a tag or a spread? */
static bool is_barred(struct sched *s, const struct asker *a)
{
    const struct cluster *c = s->cluster;
    struct use u;
    for (uint32_t r = 0; r < c->nranks; r++)
        if (score_fits(c, c->order[r], a->sh, a->types, &u) &&
            !node_eligible(s, a->sh, c->order[r]))
            return true;
    return false;
}

static bool may_be_barred(const struct sched *s, const struct shape *sh)
{
    bool taints = false;
    for (uint32_t i = 0; i < s->tainted.n && !taints; i++)
        taints = s->tainted.at[i] != 0;
    return taints || sh->nconstraints || sh->ntags;
}

/* Does one of the domains take the minimum, each task by itself? */
static bool takes_minimum(struct attempt *at, const struct asker *a, uint32_t first,
                          uint32_t end)
{
    uint64_t best = 0;
    for (uint32_t d = first; d < end && best < at->root->min; d++)
        best = asker_takes(at->s, a, d, at->root->min);
    return best >= at->root->min;
}

/* Room there is, but not where the leaf's ranks must lie: the best it comes to. */
static void deal_refused(struct attempt *at, const struct tree_leaf *l, struct why *why)
{
    const struct group_spec *g = &at->tree->groups[l->group];
    why->code = WHY_NEEDS_ROOM;
    if (g->segment_size)
        why->level = (uint16_t)g->segment_level;
}

void explain_refusal(struct attempt *at, struct why *why)
{
    struct sched *s = at->s;
    const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0];
    for (uint32_t i = 1; i < at->root->nleaves; i++) {
        const struct tree_leaf *o = &at->tree->leaves[at->root->leaf0 + i];
        if (shape_gpu_milli(&s->shapes.at[o->shape].shape) * o->want * o->copies >
            shape_gpu_milli(&s->shapes.at[l->shape].shape) * l->want * l->copies)
            l = o;
    }
    struct asker a = asker_of(at, l);
    const struct shape *sh = a.sh;
    memset(why, 0, sizeof *why);
    why->need = at->root->min;
    if (at->unknown_level) {
        why->code = WHY_INVALID;
        why->level = (uint16_t)at->unknown_level;
        return;
    }
    if (at->level_tried && at->level_tried <= s->cluster->nlevels)
        why->level = (uint16_t)s->cluster->levels[at->level_tried - 1];
    if (!has_alts(at, l) && sh->gpu_mode == GPU_WHOLE && widest_lane(s, a.types) < sh->gpu_count) {
        why->code = WHY_TYPE;
        why->need = sh->gpu_count;
        why->have = widest_lane(s, a.types);
        return;
    }
    uint64_t best = 0;
    uint32_t depth = at->level_tried <= s->cluster->nlevels ? at->level_tried : 0, first, end;
    domain_span(s->cluster, 0, depth, &first, &end);
    bool lone = at->root->slots == 1 && sh->gpu_mode != GPU_WHOLE; /* each node just refused */
    for (uint32_t d = first; d < end && !lone; d++) {
        uint64_t fit = sh->gpu_mode == GPU_WHOLE ? asker_fit(s, &a, d)
                                                 : asker_takes(s, &a, d, at->root->min);
        best = fit > best ? fit : best;
    }
    why->other = end - first;
    bool room = best >= at->root->min;
    why->have = room ? s->scratch->best_placed : (uint32_t)best;
    if (why->have >= why->need)
        why->have = why->need ? why->need - 1 : 0;
    bool counted = sh->gpu_mode == GPU_WHOLE; /* then lack of room is lack of GPUs */
    if (!room && (counted || !may_be_barred(s, sh) || !is_barred(s, &a)))
        why->code = WHY_NEEDS_ROOM;
    else if (sh->nconstraints || is_barred(s, &a))
        why->code = WHY_CONSTRAINT;
    else if (lone || !takes_minimum(at, &a, first, end))
        why->code = WHY_CPU;
    else
        deal_refused(at, l, why);
}
