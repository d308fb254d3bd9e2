/* reclaim-play.c - a border of the game: own starts, across, lent, with any victims
 * Victims are drawn at random, the near ones first, until the plan is legal and its
 * unit fits; then, if the game is set to `minimal`, those are dropped that it can do
 * without. All that the policy may refuse for (protection, budgets, endings, ghosts) is
 * refused before that.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "reclaim-game.h"

struct draw { /* a plan in the making */
    struct game *g;
    struct rights_use use;
    struct rights_plan plan;
    uint32_t victims[GAME_UNITS];
    struct rights_renaming renamings[GAME_UNITS];
};

static const int64_t *need_of(const struct game *g, uint32_t id)
{
    return g->needs + (size_t)g->units[id].need * g->nresources;
}

static void shuffle(struct game *g, uint32_t *ids, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = (uint32_t)rng_below(&g->rng, i), id = ids[k];
        ids[k] = ids[i - 1];
        ids[i - 1] = id;
    }
}

static bool is_in(uint32_t id, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static void use_of(struct game *g, struct rights_use *use, uint32_t marks)
{
    rights_use_setup(use, g->nqueues, g->nresources);
    rights_use_count(use, &g->e, &g->pool, g->list.ids, g->list.n, marks);
}

static bool may_start(const struct game *g, uint32_t id)
{
    uint32_t core = g->units[id].core;
    return !(g->units[id].marks & (RIGHTS_RUNNING | RIGHTS_GHOST)) &&
           g->at[id].ends_at <= g->now && (core == RIGHTS_NONE || game_runs(g, core));
}

/* --- plans --- */

/* The engine's verdict; the text's must be the same. */
static bool legal(struct draw *d)
{
    struct game *g = d->g;
    bool good = rights_judge(&g->pool, &g->e, &d->use, &d->plan, NULL) == RIGHTS_LEGAL;
    if (good != game_legal_by_text(g, &d->plan))
        game_fault(g,
                   good ? "a plan that the text forbids"
                        : "a plan that the text allows",
                   d->plan.unit);
    if (g->broken == GAME_EQUAL_ACROSS || g->broken == GAME_OVER_VICTIM)
        return true;
    return good;
}

static bool suffices(struct draw *d)
{
    return game_fits(d->g, d->plan.unit, d->victims, d->plan.nvictims) && legal(d);
}

static bool over_entitled(const struct game *g, uint32_t leaf,
                          const struct rights_use *use)
{
    for (uint32_t r = 0; r < g->nresources; r++)
        if (entitle_row(&g->e, use->at, leaf)[r] > entitle_row(&g->e, g->e.e, leaf)[r])
            return true;
    return false;
}

/* May v be a victim as far as its own rights and the policy's refusals go? */
static bool may_go(const struct draw *d, uint32_t v)
{
    const struct game *g = d->g;
    const struct rights_unit *u = &g->units[v], *b = &g->units[d->plan.unit];
    bool first = b->marks & RIGHTS_K1;
    if (!game_runs(g, v) || v == b->core || g->at[v].protect_until > g->now)
        return false;
    if (g->broken == GAME_OVER_VICTIM)
        return u->leaf != b->leaf && over_entitled(g, u->leaf, &d->use);
    if (g->broken == GAME_EQUAL_ACROSS && !first)
        return !(u->marks & RIGHTS_K1) && u->priority <= b->priority;
    if (u->marks & (first ? RIGHTS_K1 : RIGHTS_K1 | RIGHTS_K2))
        return false;
    return u->priority < b->priority ||
           (first && (u->leaf != b->leaf || g->within_any));
}

/* A lent equal that stays in v's stead, or RIGHTS_NONE. */
static uint32_t equal_of(const struct draw *d, uint32_t v)
{
    const struct game *g = d->g;
    const struct rights_unit *u = &g->units[v];
    for (uint32_t i = 0; i < g->list.n; i++) {
        uint32_t x = g->list.ids[i];
        const struct rights_unit *w = &g->units[x];
        bool kind = (w->core == RIGHTS_NONE) == (u->core == RIGHTS_NONE);
        bool taken = is_in(x, d->victims, d->plan.nvictims);
        for (uint32_t k = 0; k < d->plan.nrenamings; k++)
            taken = taken || d->renamings[k].lent == x;
        if (x != v && !taken && kind && game_runs(g, x) && w->leaf == u->leaf &&
            w->need == u->need && w->priority == u->priority &&
            !(w->marks & (RIGHTS_K1 | RIGHTS_K2)) && !g->places[x].steps &&
            !g->places[v].steps)
            return x;
    }
    return RIGHTS_NONE;
}

static bool rename_first(struct draw *d, uint32_t v)
{
    const struct game *g = d->g;
    const struct rights_unit *u = &g->units[v], *b = &g->units[d->plan.unit];
    bool lower = u->priority < b->priority ||
                 ((b->marks & RIGHTS_K1) && (u->leaf != b->leaf || g->within_any));
    if (!g->renames || g->broken || !game_runs(g, v) || !lower || v == b->core ||
        g->at[v].protect_until > g->now || !(u->marks & (RIGHTS_K1 | RIGHTS_K2)))
        return false;
    uint32_t x = equal_of(d, v);
    if (x == RIGHTS_NONE)
        return false;
    d->renamings[d->plan.nrenamings++] = (struct rights_renaming){v, x};
    return true;
}

static bool is_kept_for(const struct draw *d, uint32_t id)
{
    for (uint32_t k = 0; k < d->plan.nrenamings; k++)
        if (d->renamings[k].lent == id)
            return true;
    return false;
}

/* Put v, and of a core its running steps, among the victims, if all of them may go. */
static bool add_victim(struct draw *d, uint32_t v)
{
    struct game *g = d->g;
    struct rights_plan was = d->plan;
    uint32_t left = g->budget_left[g->units[v].leaf];
    for (uint32_t i = 0; i < d->plan.nvictims; i++)
        if (left != UINT32_MAX && g->units[d->victims[i]].leaf == g->units[v].leaf)
            left = left ? left - 1 : 0;
    for (uint32_t i = 0; i < g->list.n; i++) {
        uint32_t id = g->list.ids[i];
        if (id != v && (g->units[id].core != v || !game_runs(g, id)))
            continue;
        if (is_in(id, d->victims, d->plan.nvictims))
            continue;
        if (left == 0 || is_kept_for(d, id) ||
            (!may_go(d, id) && !rename_first(d, id))) {
            d->plan = was;
            return false;
        }
        d->victims[d->plan.nvictims++] = id;
        left -= left != UINT32_MAX;
    }
    return true;
}

static void drop_victim(struct draw *d, uint32_t v)
{
    uint32_t i = 0, k = 0;
    while (d->victims[i] != v)
        i++;
    d->victims[i] = d->victims[--d->plan.nvictims];
    for (; k < d->plan.nrenamings; k++)
        if (d->renamings[k].own == v)
            d->renamings[k--] = d->renamings[--d->plan.nrenamings];
}

/* Leave out whom the plan can do without, in random order. */
static void prune(struct draw *d)
{
    uint32_t ids[GAME_UNITS], n = d->plan.nvictims;
    memcpy(ids, d->victims, n * sizeof *ids);
    shuffle(d->g, ids, n);
    for (uint32_t i = 0; i < n; i++) {
        struct draw was = *d;
        drop_victim(d, ids[i]);
        if (!suffices(d)) {
            d->plan.nvictims = was.plan.nvictims;
            d->plan.nrenamings = was.plan.nrenamings;
            memcpy(d->victims, was.victims, sizeof d->victims);
            memcpy(d->renamings, was.renamings, sizeof d->renamings);
        }
    }
}

/* The lowest queue above both: its index is the larger, the nearer they are. */
static uint32_t meeting(const struct game *g, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (a > b)
            a = g->queues[a].parent;
        else
            b = g->queues[b].parent;
    }
    return a;
}

/* In random order, but the near ones first: whoever reaches far is held to E on the
 * way. */
static void shuffle_near_first(struct game *g, uint32_t unit, uint32_t *ids, uint32_t n)
{
    uint32_t leaf = g->units[unit].leaf;
    shuffle(g, ids, n);
    for (uint32_t i = 1; i < n; i++) {
        uint32_t id = ids[i], k = i, near = meeting(g, leaf, g->units[id].leaf);
        for (; k > 0 && meeting(g, leaf, g->units[ids[k - 1]].leaf) < near; k--)
            ids[k] = ids[k - 1];
        ids[k] = id;
    }
}

static bool draw_anywhere(struct draw *d, bool renames)
{
    struct game *g = d->g;
    uint32_t ids[GAME_UNITS];
    bool found = false, were = g->renames;
    memcpy(ids, g->list.ids, g->list.n * sizeof *ids);
    shuffle_near_first(g, d->plan.unit, ids, g->list.n);
    d->plan.nvictims = d->plan.nrenamings = 0;
    g->renames = renames;
    for (uint32_t i = 0; i < g->list.n && !found; i++)
        found = !is_in(ids[i], d->victims, d->plan.nvictims) && add_victim(d, ids[i]) &&
                suffices(d);
    g->renames = were;
    return found;
}

static bool draw_victims(struct draw *d)
{
    struct game *g = d->g;
    for (uint32_t k = 0; k < g->nnodes;
         k++) { /* what is on one node, if that will do */
        d->plan.nvictims = d->plan.nrenamings = 0;
        for (uint32_t i = 0; i < g->list.n; i++)
            if (g->at[g->list.ids[i]].seats[k])
                add_victim(d, g->list.ids[i]);
        if (suffices(d))
            return true;
    }
    /* an equal that is kept may be what stands in the way of the plan */
    return (g->renames && draw_anywhere(d, true)) || draw_anywhere(d, false);
}

/* Plans out of the blue: the engine and the text must agree on what is forbidden, too.
 */
static void probe(struct game *g)
{
    struct draw d = {.g = g};
    uint32_t n = g->list.n, owed[GAME_UNITS], nowed = 0;
    for (uint32_t i = 0; i < n; i++)
        if (may_start(g, g->list.ids[i]) &&
            (g->units[g->list.ids[i]].marks & (RIGHTS_K1 | RIGHTS_K2)))
            owed[nowed++] = g->list.ids[i];
    if (n == 0 || g->broken)
        return;
    use_of(g, &d.use, RIGHTS_RUNNING);
    for (int k = 0; k < 8; k++) {
        d.plan = (struct rights_plan){.unit = nowed && k
                                                  ? owed[rng_below(&g->rng, nowed)]
                                                  : g->list.ids[rng_below(&g->rng, n)],
                                      .victims = d.victims,
                                      .renamings = d.renamings,
                                      .within_any = g->within_any};
        for (uint32_t i = 0, part = 1 + (uint32_t)rng_below(&g->rng, 6); i < n; i++) {
            uint32_t id = g->list.ids[i], x;
            if (!game_runs(g, id) || is_kept_for(&d, id) || rng_below(&g->rng, part))
                continue;
            d.victims[d.plan.nvictims++] = id;
            x = g->renames && rng_below(&g->rng, 2) ? equal_of(&d, id) : RIGHTS_NONE;
            if (g->renames && rng_below(&g->rng, 4) == 0)
                x = g->list.ids[rng_below(&g->rng, n)];
            if (x != RIGHTS_NONE)
                d.renamings[d.plan.nrenamings++] = (struct rights_renaming){id, x};
        }
        legal(&d);
    }
    rights_use_done(&d.use);
}

static bool start_owed(struct game *g, uint32_t id)
{
    struct draw d = {.g = g};
    bool found;
    d.plan = (struct rights_plan){.unit = id,
                                  .victims = d.victims,
                                  .renamings = d.renamings,
                                  .within_any = g->within_any};
    use_of(g, &d.use, RIGHTS_RUNNING);
    found = suffices(&d);
    if (!found) {
        found = draw_victims(&d);
        if (found && g->minimal)
            prune(&d);
    }
    rights_use_done(&d.use);
    if (!found)
        return false;
    struct rights_phi before = game_phi(g);
    bool hits_k2 = false;
    for (uint32_t i = 0; i < d.plan.nvictims; i++)
        hits_k2 = hits_k2 || (g->units[d.victims[i]].marks & RIGHTS_K2);
    hits_k2 = hits_k2 && (g->units[id].marks & RIGHTS_K1);
    game_apply(g, &d.plan);
    game_check(g, before, hits_k2);
    if (hits_k2)
        rights_across(&g->r, &g->pool, &g->e, g->list, true);
    return true;
}

/* --- orders --- */

static bool is_within(const rights_ids *ids, uint32_t id)
{
    return is_in(id, ids->at, ids->n);
}

static void sort_starts(struct rights_start *v, uint32_t n,
                        bool (*before)(const struct rights_start *,
                                       const struct rights_start *))
{
    for (uint32_t i = 1; i < n; i++) {
        struct rights_start x = v[i];
        uint32_t k = i;
        for (; k > 0 && before(&x, &v[k - 1]); k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

/* Candidates in the order of the rule, or in any. owed: units of mark; else lent ones.
 */
static uint32_t list_starts(struct game *g, uint32_t mark, uint32_t *ret)
{
    struct rights_start v[GAME_UNITS];
    rights_ids within[GAME_QUEUES] = {{0}};
    uint32_t n = 0;
    for (uint32_t q = 0; q < g->nqueues && mark; q++)
        if (entitle_is_leaf(&g->e, q))
            rights_within(&g->r, &g->pool, q, g->lists[q],
                          entitle_row(&g->e, g->e.e0, q), &within[q]);
    for (uint32_t i = 0; i < g->list.n; i++) {
        uint32_t id = g->list.ids[i], leaf = g->units[id].leaf;
        uint32_t k = g->units[id].marks & (RIGHTS_K1 | RIGHTS_K2);
        if (!may_start(g, id) || (mark ? !(k & mark) : k))
            continue;
        v[n++] =
            (struct rights_start){.id = id,
                                  .priority = g->units[id].priority,
                                  .within = is_within(&within[leaf], id),
                                  .victim = g->at[id].bystander,
                                  .share =
                                      rights_share(g->nresources, g->usage[leaf],
                                                   g->capacity, g->queues[leaf].weight),
                                  .submitted = g->places[id].submitted,
                                  .rank = g->places[id].rank};
    }
    sort_starts(v, n, mark ? rights_owed_before : rights_lent_before);
    for (uint32_t i = 0; i < n; i++)
        ret[i] = v[i].id;
    for (uint32_t q = 0; q < g->nqueues; q++)
        vec_done(&within[q]);
    if (g->random_order)
        shuffle(g, ret, n);
    return n;
}

static bool start_one_owed(struct game *g, uint32_t mark)
{
    uint32_t ids[GAME_UNITS], n = list_starts(g, mark, ids);
    for (uint32_t i = 0; i < n; i++)
        if (start_owed(g, ids[i]))
            return true;
    return false;
}

/* Behind a due unit of its leaf, not lower in priority: here only with that one gone.
 */
static bool behind_due(const struct game *g, uint32_t id)
{
    const struct rights_unit *u = &g->units[id];
    for (uint32_t i = 0; i < g->lists[u->leaf].n; i++) {
        uint32_t other = g->lists[u->leaf].ids[i];
        const struct rights_unit *w = &g->units[other];
        if (other != id && other != u->core && (w->marks & RIGHTS_DUE) &&
            !game_runs(g, other) && w->priority >= u->priority)
            return true;
    }
    return false;
}

static bool lend_one(struct game *g)
{
    uint32_t ids[GAME_UNITS], n = list_starts(g, 0, ids);
    struct rights_use running = {0}, with_k = {0};
    bool found = false;
    use_of(g, &running, RIGHTS_RUNNING);
    use_of(g, &with_k, RIGHTS_RUNNING | RIGHTS_K1 | RIGHTS_K2);
    for (uint32_t i = 0; i < n && !found; i++) {
        uint32_t id = ids[i], leaf = g->units[id].leaf;
        if (rights_over_cap(&with_k, &g->e, leaf, need_of(g, id)) != RIGHTS_NONE ||
            !rights_fits_root(&running, &g->e, leaf, need_of(g, id)) ||
            behind_due(g, id))
            continue;
        struct rights_plan plan = {.unit = id};
        struct rights_phi before = game_phi(g);
        found = game_fits_now(g, id);
        if (!found)
            continue;
        game_apply(g, &plan);
        g->lent_starts++;
        game_check(g, before, false);
    }
    rights_use_done(&running);
    rights_use_done(&with_k);
    return found;
}

unsigned game_border(struct game *g)
{
    enum { MOST = 20000 };
    unsigned n = 0;
    bool again = true;
    game_compute_checked(g);
    probe(g);
    while (again && n < MOST && !g->faults) {
        while (n < MOST && !g->faults && start_one_owed(g, RIGHTS_K1))
            n++;
        again = false;
        if (!g->across || g->faults)
            continue;
        rights_across(&g->r, &g->pool, &g->e, g->list, true);
        again = start_one_owed(g, RIGHTS_K2);
        n += again;
    }
    while (n < MOST && !g->faults && lend_one(g))
        n++;
    if (n >= MOST)
        game_fault(g, "no end of decisions", 0);
    return n;
}
