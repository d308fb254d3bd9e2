/* reclaim-check.c - the rule again, from its text, slowly: what the game's decisions
 * are held against Nothing here is shared with the modules under test but the records
 * of units: one sort with the whole order, one greedy loop, limits summed anew for each
 * question.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "reclaim-game.h"

void game_fault(struct game *g, const char *what, uint32_t id)
{
    if (g->faults++ == 0)
        snprintf(g->fault, sizeof g->fault, "%s: unit %u at %d", what, id, g->now);
}

static const int64_t *need_of(const struct game *g, uint32_t id)
{
    return g->needs + (size_t)g->units[id].need * g->nresources;
}

static bool is_core(const struct game *g, uint32_t id)
{
    return g->units[id].core == RIGHTS_NONE;
}

static bool has(const struct game *g, uint32_t id, uint32_t label)
{
    return game_runs(g, id) && (g->units[id].marks & label);
}

static uint32_t parent_of(const struct game *g, uint32_t q)
{
    return g->queues[q].parent;
}

static bool is_below(const struct game *g, uint32_t q, uint32_t top)
{
    while (q > top)
        q = parent_of(g, q);
    return q == top;
}

/* --- K1 and K2 --- */

struct line { /* one unit with its whole sort key */
    uint32_t id;
    int64_t key[6];
};

static int by_key(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    for (int i = 0; i < 6; i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    return 0;
}

static bool stays_within(const struct game *g, const int64_t *sum, uint32_t id,
                         const int64_t *limit)
{
    for (uint32_t r = 0; r < g->nresources; r++)
        if (need_of(g, id)[r] > 0 && sum[r] + need_of(g, id)[r] > limit[r])
            return false;
    return true;
}

static void k1_of(struct game *g, uint32_t q, bool any_own_order, uint32_t *ret)
{
    struct line v[GAME_UNITS];
    int64_t sum[GAME_RESOURCES] = {0}, none[GAME_RESOURCES] = {0};
    const int64_t *e = entitle_row(&g->e, g->e.e, q);
    uint32_t n = 0;
    bool closed = false;
    for (uint32_t i = 0; i < g->lists[q].n; i++) {
        uint32_t id = g->lists[q].ids[i];
        const struct rights_place *at = &g->places[id];
        bool own =
            g->broken == GAME_RUNNING_FIRST ? game_runs(g, id) : has(g, id, RIGHTS_OWN);
        int64_t cost = any_own_order ? (int64_t)rng_below(&g->rng, 99) : at->cost;
        v[n++] = (struct line){id,
                               {-(int64_t)g->units[id].priority, !is_core(g, id),
                                id == g->r.turn ? 0
                                : own           ? 1
                                                : 2,
                                own && id != g->r.turn ? -cost : 0, at->submitted,
                                at->rank}};
    }
    qsort(v, n, sizeof *v, by_key);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = v[i].id, core = g->units[id].core;
        bool rest = v[i].key[2] == 2;
        if ((rest && closed) || (core != RIGHTS_NONE && !(ret[core] & RIGHTS_K1)))
            continue;
        if (stays_within(g, sum, id, e)) {
            ret[id] |= RIGHTS_K1;
            for (uint32_t r = 0; r < g->nresources; r++)
                sum[r] += need_of(g, id)[r];
        } else if (rest && is_core(g, id) && (g->units[id].marks & RIGHTS_DUE) &&
                   stays_within(g, none, id, e)) {
            closed = true;
        }
    }
}

/* occupied(q) in r by the use of a set of units (by mark in sets[id]). */
static int64_t occupied(const struct game *g, uint32_t q, uint32_t r,
                        const int64_t *leaf_use)
{
    int64_t sum = 0, reserve = g->e.keep[q * g->nresources + r];
    if (g->e.e[q * g->nresources + r] < reserve)
        reserve = g->e.e[q * g->nresources + r];
    if (entitle_is_leaf(&g->e, q))
        sum = leaf_use[q];
    for (uint32_t c = q + 1; c < g->nqueues; c++)
        if (parent_of(g, c) == q)
            sum += occupied(g, c, r, leaf_use);
    return sum > reserve ? sum : reserve;
}

/* Would the set (units with any of `marks` in sets) and one more keep caps and
 * capacity? */
static bool within_limits(const struct game *g, const uint32_t *sets, uint32_t marks,
                          uint32_t more)
{
    for (uint32_t r = 0; r < g->nresources; r++) {
        int64_t leaf_use[GAME_QUEUES] = {0};
        if (need_of(g, more)[r] == 0)
            continue;
        for (uint32_t i = 0; i < g->list.n; i++) {
            uint32_t id = g->list.ids[i];
            if ((sets[id] & marks) || id == more)
                leaf_use[g->units[id].leaf] += need_of(g, id)[r];
        }
        for (uint32_t q = 0; q < g->nqueues; q++) {
            int64_t use = 0;
            if (!is_below(g, g->units[more].leaf, q))
                continue;
            for (uint32_t c = 0; c < g->nqueues; c++)
                use += is_below(g, c, q) ? leaf_use[c] : 0;
            if (use > g->e.cap[q * g->nresources + r])
                return false;
        }
        if (occupied(g, 0, r, leaf_use) > g->capacity[r])
            return false;
    }
    return true;
}

static void k2_of(struct game *g, uint32_t *ret)
{
    struct line v[GAME_UNITS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->list.n; i++) {
        uint32_t id = g->list.ids[i];
        if (!(ret[id] & RIGHTS_K1))
            v[n++] = (struct line){id,
                                   {-(int64_t)g->units[id].priority, !is_core(g, id),
                                    !has(g, id, RIGHTS_OWN2), g->places[id].submitted,
                                    g->places[id].rank, 0}};
    }
    qsort(v, n, sizeof *v, by_key);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = v[i].id, core = g->units[id].core;
        if ((core == RIGHTS_NONE || ret[core]) &&
            within_limits(g, ret, RIGHTS_K1 | RIGHTS_K2, id))
            ret[id] |= RIGHTS_K2;
    }
}

void game_rights_by_text(struct game *g, bool any_own_order, uint32_t *ret)
{
    memset(ret, 0, g->nunits * sizeof *ret);
    for (uint32_t q = 0; q < g->nqueues; q++)
        if (entitle_is_leaf(&g->e, q))
            k1_of(g, q, any_own_order, ret);
    if (g->across)
        k2_of(g, ret);
}

/* --- plans --- */

static bool is_victim(const struct rights_plan *plan, uint32_t id)
{
    for (uint32_t i = 0; i < plan->nvictims; i++)
        if (plan->victims[i] == id)
            return true;
    return false;
}

/* Use of queue q in r after the plan stays within E, wherever a victim is outside q. */
static bool takes_within_e(const struct game *g, const struct rights_plan *plan)
{
    uint32_t leaf = g->units[plan->unit].leaf;
    for (uint32_t q = 0; q < g->nqueues; q++) {
        bool reaches = false;
        for (uint32_t i = 0; i < plan->nvictims; i++)
            reaches = reaches || !is_below(g, g->units[plan->victims[i]].leaf, q);
        if (!reaches || !is_below(g, leaf, q))
            continue;
        for (uint32_t r = 0; r < g->nresources; r++) {
            int64_t use = need_of(g, plan->unit)[r];
            if (use == 0)
                continue;
            for (uint32_t i = 0; i < g->list.n; i++) {
                uint32_t id = g->list.ids[i];
                if (game_runs(g, id) && !is_victim(plan, id) &&
                    is_below(g, g->units[id].leaf, q))
                    use += need_of(g, id)[r];
            }
            if (use > g->e.e[q * g->nresources + r])
                return false;
        }
    }
    return true;
}

/* Same leaf, priority, size and kind; a core with steps has no equal. */
static bool are_equals(const struct game *g, struct rights_renaming w)
{
    const struct rights_unit *a = &g->units[w.own], *b = &g->units[w.lent];
    for (uint32_t r = 0; r < g->nresources; r++)
        if (need_of(g, w.own)[r] != need_of(g, w.lent)[r])
            return false;
    for (uint32_t id = 0; id < g->nunits; id++)
        if (g->at[id].live &&
            (g->units[id].core == w.own || g->units[id].core == w.lent))
            return false;
    return a->leaf == b->leaf && a->priority == b->priority && game_runs(g, w.lent) &&
           is_core(g, w.own) == is_core(g, w.lent);
}

bool game_legal_by_text(struct game *g, const struct rights_plan *plan)
{
    const struct rights_unit *b = &g->units[plan->unit];
    uint32_t marks[GAME_UNITS], runs[GAME_UNITS] = {0};
    for (uint32_t id = 0; id < g->nunits; id++)
        marks[id] = g->units[id].marks & (RIGHTS_K1 | RIGHTS_K2);
    for (uint32_t i = 0; i < plan->nrenamings; i++) {
        struct rights_renaming w = plan->renamings[i];
        for (uint32_t k = 0; k < i; k++)
            if (plan->renamings[k].own == w.own || plan->renamings[k].lent == w.lent)
                return false;
        uint32_t swap = marks[w.own];
        marks[w.own] = marks[w.lent];
        marks[w.lent] = swap;
        if (!is_victim(plan, w.own) || is_victim(plan, w.lent) || !are_equals(g, w) ||
            (marks[w.own] & RIGHTS_K1))
            return false;
    }
    if (!(b->marks & (RIGHTS_K1 | RIGHTS_K2)) || game_runs(g, plan->unit) ||
        (b->marks & RIGHTS_GHOST) || (b->core != RIGHTS_NONE && !game_runs(g, b->core)))
        return false;
    for (uint32_t i = 0; i < plan->nvictims; i++) {
        uint32_t id = plan->victims[i];
        const struct rights_unit *v = &g->units[id];
        bool lower = v->priority < b->priority;
        if (!game_runs(g, id) || id == b->core || (marks[id] & RIGHTS_K1))
            return false;
        if (b->marks & RIGHTS_K1 ? v->leaf == b->leaf && !lower && !plan->within_any
                                 : !lower || (marks[id] & RIGHTS_K2))
            return false;
        for (uint32_t k = 0; k < g->list.n; k++)
            if (g->units[g->list.ids[k]].core == id && game_runs(g, g->list.ids[k]) &&
                !is_victim(plan, g->list.ids[k]))
                return false;
    }
    if ((b->marks & RIGHTS_K1) && !takes_within_e(g, plan))
        return false;
    for (uint32_t id = 0; id < g->nunits; id++)
        runs[id] = game_runs(g, id) && !is_victim(plan, id);
    return within_limits(g, runs, 1, plan->unit);
}

/* --- after a decision --- */

static void check_e(struct game *g)
{
    struct entitle fresh = {0};
    uint32_t parent[GAME_QUEUES], weight[GAME_QUEUES], nr = g->nresources;
    int64_t rows[4][GAME_QUEUES * GAME_RESOURCES];
    for (uint32_t q = 0; q < g->nqueues; q++) {
        parent[q] = g->queues[q].parent;
        weight[q] = g->queues[q].weight;
        for (uint32_t r = 0; r < nr; r++) {
            rows[0][q * nr + r] = g->queues[q].g;
            rows[1][q * nr + r] = g->queues[q].max;
            rows[2][q * nr + r] = g->queues[q].borrow;
            rows[3][q * nr + r] = g->queues[q].lend;
        }
    }
    entitle_setup(&fresh, &(struct entitle_tree){g->nqueues, nr, parent, weight, NULL,
                                                 rows[0], rows[1], rows[2], rows[3]});
    entitle_capacity(&fresh, g->capacity);
    memcpy(fresh.owed, g->e.owed, g->nqueues * nr * sizeof *fresh.owed);
    for (uint32_t i = 0; i < g->list.n; i++) {
        uint32_t id = g->list.ids[i];
        if (g->broken != GAME_RUNNING_DEMAND || game_runs(g, id))
            entitle_demand_add(&fresh, g->units[id].leaf, need_of(g, id), 1);
    }
    entitle_run_all(&fresh);
    if (memcmp(fresh.e, g->e.e, g->nqueues * nr * sizeof *fresh.e))
        game_fault(g, "E moved", 0);
    entitle_done(&fresh);
}

void game_check_rights(struct game *g, bool any_own_order, bool k2_may_move)
{
    uint32_t by_text[GAME_UNITS];
    check_e(g);
    game_rights_by_text(g, any_own_order, by_text);
    for (uint32_t i = 0; i < g->list.n; i++) {
        uint32_t id = g->list.ids[i], marks = g->units[id].marks;
        if ((marks ^ by_text[id]) & RIGHTS_K1)
            game_fault(g, "K1 moved", id);
        if (!k2_may_move && ((marks ^ by_text[id]) & RIGHTS_K2))
            game_fault(g, "K2 moved", id);
        if (g->broken != GAME_RUNNING_FIRST &&
            !(marks & RIGHTS_OWN) != !(game_runs(g, id) && (marks & RIGHTS_K1)))
            game_fault(g, "own is not K1 and R", id);
        if ((marks & (RIGHTS_OWN | RIGHTS_DUE)) == (RIGHTS_OWN | RIGHTS_DUE))
            game_fault(g, "own and still due", id);
    }
}

void game_check(struct game *g, struct rights_phi before, bool k2_may_move)
{
    struct rights_phi now = game_phi(g);
    if (!rights_phi_less(now, before))
        game_fault(g, "the potential did not fall", now.k1);
    game_check_rights(g, true, k2_may_move);
}

void game_compute_checked(struct game *g)
{
    struct rights_unit was[GAME_UNITS], is[GAME_UNITS];
    uint32_t by_text[GAME_UNITS];
    if (g->broken) {
        game_compute(g);
        return;
    }
    memcpy(was, g->units, sizeof was);
    game_compute(g);
    memcpy(is, g->units, sizeof is);
    memcpy(g->units, was, sizeof was);
    game_rights_by_text(g, false, by_text);
    memcpy(g->units, is, sizeof is);
    for (uint32_t i = 0; i < g->list.n; i++) {
        uint32_t id = g->list.ids[i];
        if ((is[id].marks ^ by_text[id]) & (RIGHTS_K1 | RIGHTS_K2))
            game_fault(g, "computed otherwise than the text says", id);
    }
    game_check_rights(g, true, false);
}
