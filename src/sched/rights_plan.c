/* rights_plan.c - is a plan legal, who starts first, how far from rest, whose turn
 * Legality is judged on the final plan: take the victims out of use, put the unit in,
 * look at the queues between its leaf and the highest ancestor it shares with a victim,
 * put all back. O((victims + 1) x depth x resources). That taking from others ends at
 * E, and the policy's other refusals, are restrictions: that nothing loops rests only
 * on "no victim is in K1" (for K2: in K).
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/rights.h"

#include <assert.h>

static const int64_t *need_of(const struct rights_pool *p, uint32_t id)
{
    return p->needs + (size_t)p->units[id].need * p->nresources;
}

/* --- use and limits --- */

void rights_use_setup(struct rights_use *u, uint32_t nnodes, uint32_t nresources)
{
    rights_use_done(u);
    u->nnodes = nnodes;
    u->nresources = nresources;
    u->at = mem_zero((size_t)nnodes * nresources * sizeof *u->at);
    u->spare = mem_zero(nnodes * sizeof *u->spare);
}

void rights_use_done(struct rights_use *u)
{
    free(u->at);
    free(u->spare);
    *u = (struct rights_use){0};
}

void rights_use_add(struct rights_use *u, const struct entitle *e, uint32_t leaf,
                    const int64_t *need, int sign)
{
    for (uint32_t n = leaf;; n = e->parent[n]) {
        int64_t *use = u->at + (size_t)n * u->nresources;
        for (uint32_t r = 0; r < u->nresources; r++)
            use[r] += sign > 0 ? need[r] : -need[r];
        if (n == 0)
            return;
    }
}

void rights_use_count(struct rights_use *u, const struct entitle *e,
                      const struct rights_pool *p, const uint32_t *ids, uint32_t n,
                      uint32_t marks)
{
    for (uint32_t i = 0; i < n; i++)
        if (p->units[ids[i]].marks & marks)
            rights_use_add(u, e, p->units[ids[i]].leaf, need_of(p, ids[i]), 1);
}

uint32_t rights_over_cap(const struct rights_use *u, const struct entitle *e,
                         uint32_t leaf, const int64_t *need)
{
    for (uint32_t n = leaf;; n = e->parent[n]) {
        const int64_t *use = u->at + (size_t)n * u->nresources;
        const int64_t *cap = entitle_row(e, e->cap, n);
        for (uint32_t r = 0; r < u->nresources; r++)
            if (need[r] > 0 && need[r] > cap[r] - use[r])
                return n;
        if (n == 0)
            return RIGHTS_NONE;
    }
}

/* occupied(root) in r with `more` used at leaf: leaf max(use, min(keep, E)), inner
 * max(sum of its children's, min(keep, E)). */
static int64_t occupied(struct rights_use *u, const struct entitle *e, uint32_t r,
                        uint32_t leaf, int64_t more)
{
    if (!(e->kept >> r & 1))
        return u->at[r] + more;
    memset(u->spare, 0, u->nnodes * sizeof *u->spare);
    for (uint32_t n = u->nnodes; n-- > 0;) {
        size_t at = (size_t)n * u->nresources + r;
        int64_t reserve = e->keep[at] < e->e[at] ? e->keep[at] : e->e[at];
        int64_t below = u->spare[n];
        if (entitle_is_leaf(e, n))
            below = u->at[at] + (n == leaf ? more : 0);
        u->spare[n] = below < reserve ? reserve : below;
        if (n > 0)
            u->spare[e->parent[n]] += u->spare[n];
    }
    return u->spare[0];
}

bool rights_fits_root(struct rights_use *u, const struct entitle *e, uint32_t leaf,
                      const int64_t *need)
{
    for (uint32_t r = 0; r < u->nresources; r++)
        if (need[r] > 0 && occupied(u, e, r, leaf, need[r]) > e->capacity[r])
            return false;
    return true;
}

/* --- plans --- */

static bool runs(const struct rights_pool *p, uint32_t id)
{
    return p->units[id].marks & RIGHTS_RUNNING;
}

static bool swaps_equals(const struct rights_pool *p, struct rights_renaming w)
{
    const struct rights_unit *a = &p->units[w.own], *b = &p->units[w.lent];
    bool cores = a->core == RIGHTS_NONE && b->core == RIGHTS_NONE;
    bool steps = a->core != RIGHTS_NONE && b->core != RIGHTS_NONE;
    return a->leaf == b->leaf && a->priority == b->priority && a->need == b->need &&
           ((cores && !p->places[w.own].steps && !p->places[w.lent].steps) || steps) &&
           runs(p, w.own) && runs(p, w.lent) && !(b->marks & RIGHTS_K1);
}

/* The rights a victim has once the plan's renamings are made. */
static uint32_t rights_after(const struct rights_pool *p,
                             const struct rights_plan *plan, uint32_t id)
{
    for (uint32_t i = 0; i < plan->nrenamings; i++)
        if (plan->renamings[i].own == id)
            return p->units[plan->renamings[i].lent].marks;
    return p->units[id].marks;
}

/* Renamings and the victims' own marks. Victims bear SEEN on return, whatever it says.
 */
static enum rights_verdict judge_victims(const struct rights_pool *p,
                                         const struct rights_plan *plan, uint32_t *at)
{
    const struct rights_unit *b = &p->units[plan->unit];
    uint32_t closed = b->marks & RIGHTS_K1 ? RIGHTS_K1 : RIGHTS_K1 | RIGHTS_K2;
    enum rights_verdict verdict = RIGHTS_LEGAL;
    for (uint32_t i = 0; i < plan->nvictims; i++) {
        struct rights_unit *v = &p->units[plan->victims[i]];
        bool lower = v->priority < b->priority, own_leaf = v->leaf == b->leaf;
        bool must = closed != RIGHTS_K1 || (own_leaf && !plan->within_any);
        enum rights_verdict found = RIGHTS_LEGAL;
        if (!(v->marks & RIGHTS_RUNNING) || (v->marks & RIGHTS_SEEN))
            found = RIGHTS_VICTIM_IDLE;
        else if (rights_after(p, plan, plan->victims[i]) & closed)
            found = RIGHTS_VICTIM_OWED;
        else if (must && !lower)
            found = RIGHTS_VICTIM_NOT_LOWER;
        if (found && !verdict) {
            verdict = found;
            *at = plan->victims[i];
        }
        v->marks |= RIGHTS_SEEN;
    }
    for (uint32_t i = 0; i < plan->nrenamings && !verdict; i++) {
        struct rights_renaming w = plan->renamings[i];
        bool seen = p->units[w.own].marks & RIGHTS_SEEN;
        bool stays = !(p->units[w.lent].marks & RIGHTS_SEEN);
        for (uint32_t k = 0; k < i; k++)
            stays = stays && w.lent != plan->renamings[k].lent &&
                    w.own != plan->renamings[k].own;
        *at = w.own;
        if (!seen || !stays || !swaps_equals(p, w))
            verdict = RIGHTS_RENAMED_UNEQUAL;
    }
    return verdict;
}

/* A victim that is a core goes with all its running steps. Victims bear SEEN. */
static bool cuts_a_gang(const struct rights_pool *p, const struct rights_plan *plan,
                        uint32_t *at)
{
    bool cut = false;
    for (int sign = -1; sign <= 1; sign += 2) {
        for (uint32_t i = 0; i < plan->nvictims; i++) {
            uint32_t core = p->units[plan->victims[i]].core;
            if (core != RIGHTS_NONE)
                p->places[core].steps_running += (uint32_t)sign;
        }
        for (uint32_t i = 0; sign < 0 && i < plan->nvictims && !cut; i++) {
            *at = plan->victims[i];
            cut = p->units[*at].core == RIGHTS_NONE && p->places[*at].steps_running > 0;
        }
    }
    return cut;
}

/* The highest queue in which a victim and the leaf meet; the leaf itself: all are in
 * it. */
static uint32_t meeting(const struct rights_pool *p, const struct entitle *e,
                        const struct rights_plan *plan, uint32_t leaf)
{
    uint32_t highest = leaf;
    for (uint32_t i = 0; i < plan->nvictims; i++) {
        uint32_t a = highest, b = p->units[plan->victims[i]].leaf;
        while (a != b) {
            if (a > b)
                a = e->parent[a];
            else
                b = e->parent[b];
        }
        highest = a;
    }
    return highest;
}

/* use: after the plan. */
static enum rights_verdict judge_use(const struct rights_pool *p,
                                     const struct entitle *e, struct rights_use *use,
                                     const struct rights_plan *plan, uint32_t *at)
{
    const struct rights_unit *b = &p->units[plan->unit];
    const int64_t *need = need_of(p, plan->unit);
    uint32_t top = b->marks & RIGHTS_K1 ? meeting(p, e, plan, b->leaf) : b->leaf;
    for (uint32_t n = b->leaf; n != top; n = e->parent[n])
        for (uint32_t r = 0; r < use->nresources; r++)
            if (need[r] && entitle_row(e, use->at, n)[r] > entitle_row(e, e->e, n)[r]) {
                *at = n;
                return RIGHTS_OVER_ENTITLED;
            }
    return RIGHTS_LEGAL;
}

static enum rights_verdict judge_unit(const struct rights_pool *p,
                                      const struct rights_plan *plan, uint32_t *at)
{
    const struct rights_unit *b = &p->units[plan->unit];
    *at = plan->unit;
    if (!(b->marks & (RIGHTS_K1 | RIGHTS_K2)) ||
        (b->marks & (RIGHTS_RUNNING | RIGHTS_GHOST)))
        return RIGHTS_NOT_OWED;
    if (b->core != RIGHTS_NONE && !runs(p, b->core))
        return RIGHTS_NO_CORE;
    return RIGHTS_LEGAL;
}

static enum rights_verdict judge_limits(const struct rights_pool *p,
                                        const struct entitle *e, struct rights_use *use,
                                        const struct rights_plan *plan, uint32_t *at)
{
    const struct rights_unit *b = &p->units[plan->unit];
    const int64_t *need = need_of(p, plan->unit);
    enum rights_verdict verdict = RIGHTS_LEGAL;
    for (uint32_t i = 0; i < plan->nvictims; i++)
        rights_use_add(use, e, p->units[plan->victims[i]].leaf,
                       need_of(p, plan->victims[i]), -1);
    uint32_t cap = rights_over_cap(use, e, b->leaf, need);
    if (cap != RIGHTS_NONE) {
        verdict = RIGHTS_OVER_CAP;
        *at = cap;
    } else if (!rights_fits_root(use, e, b->leaf, need)) {
        verdict = RIGHTS_OVER_ROOT;
        *at = 0;
    }
    rights_use_add(use, e, b->leaf, need, 1);
    if (!verdict)
        verdict = judge_use(p, e, use, plan, at);
    rights_use_add(use, e, b->leaf, need, -1);
    for (uint32_t i = 0; i < plan->nvictims; i++)
        rights_use_add(use, e, p->units[plan->victims[i]].leaf,
                       need_of(p, plan->victims[i]), 1);
    return verdict;
}

enum rights_verdict rights_judge(const struct rights_pool *p, const struct entitle *e,
                                 struct rights_use *use, const struct rights_plan *plan,
                                 uint32_t *at)
{
    uint32_t nowhere;
    enum rights_verdict verdict = judge_unit(p, plan, at ? at : &nowhere);
    at = at ? at : &nowhere;
    if (verdict)
        return verdict;
    verdict = judge_victims(p, plan, at);
    uint32_t core = p->units[plan->unit].core;
    if (!verdict && core != RIGHTS_NONE && (p->units[core].marks & RIGHTS_SEEN)) {
        verdict = RIGHTS_NO_CORE;
        *at = plan->unit;
    }
    if (!verdict && cuts_a_gang(p, plan, at))
        verdict = RIGHTS_VICTIM_HALF;
    for (uint32_t i = 0; i < plan->nvictims; i++)
        p->units[plan->victims[i]].marks &= ~(uint32_t)RIGHTS_SEEN;
    return verdict ? verdict : judge_limits(p, e, use, plan, at);
}

/* --- orders, potential --- */

static bool older(int64_t a, uint32_t rank_a, int64_t b, uint32_t rank_b)
{
    return a != b ? a < b : rank_a < rank_b;
}

static bool start_before(const struct rights_start *a, const struct rights_start *b,
                         bool a_first, bool b_first)
{
    if (a_first != b_first)
        return a_first;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->share != b->share)
        return a->share < b->share;
    return older(a->submitted, a->rank, b->submitted, b->rank);
}

bool rights_owed_before(const struct rights_start *a, const struct rights_start *b)
{
    return start_before(a, b, a->within, b->within);
}

bool rights_lent_before(const struct rights_start *a, const struct rights_start *b)
{
    return start_before(a, b, a->victim, b->victim);
}

uint64_t rights_share(uint32_t nresources, const uint64_t *usage,
                      const int64_t *capacity, uint32_t weight)
{
    uint64_t most = 0;
    for (uint32_t r = 0; r < nresources; r++) {
        if (capacity[r] <= 0 || usage[r] == 0)
            continue;
        if (weight == 0)
            return UINT64_MAX;
        unsigned __int128 part = ((unsigned __int128)usage[r] << 30) / weight;
        part /= (uint64_t)capacity[r];
        uint64_t share = part < UINT64_MAX ? (uint64_t)part : UINT64_MAX - 1;
        most = share > most ? share : most;
    }
    return most;
}

struct rights_phi rights_phi(const struct rights_pool *p, const uint32_t *ids,
                             uint32_t n)
{
    struct rights_phi phi = {0};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t marks = p->units[ids[i]].marks;
        if (marks & RIGHTS_RUNNING)
            continue;
        phi.u++;
        phi.k1 += (marks & RIGHTS_K1) != 0;
        phi.k2 += (marks & RIGHTS_K2) != 0;
    }
    return phi;
}

bool rights_phi_less(struct rights_phi a, struct rights_phi b)
{
    if (a.k1 != b.k1)
        return a.k1 < b.k1;
    return a.k2 != b.k2 ? a.k2 < b.k2 : a.u < b.u;
}

/* --- turns --- */

bool rights_wants_turn(const struct rights_pool *p, const struct entitle *e,
                       uint32_t id)
{
    const struct rights_unit *u = &p->units[id];
    const int64_t *need = need_of(p, id), *has = entitle_row(e, e->e, u->leaf);
    if (u->core != RIGHTS_NONE || !(u->marks & RIGHTS_DUE) ||
        (u->marks & (RIGHTS_K1 | RIGHTS_RUNNING | RIGHTS_GHOST)))
        return false;
    for (uint32_t r = 0; r < p->nresources; r++)
        if (need[r] > has[r])
            return true;
    return false;
}

static bool turn_before(const struct rights_pool *p, struct rights_turn a,
                        struct rights_turn b)
{
    const struct rights_place *x = &p->places[a.id], *y = &p->places[b.id];
    if (a.last != b.last)
        return a.last < b.last;
    return older(x->submitted, x->rank, y->submitted, y->rank);
}

uint32_t rights_give_turn(const struct rights_pool *p, struct entitle *e,
                          const struct rights_turn *candidates, uint32_t n)
{
    VEC(uint32_t) order = {0};
    uint32_t given = RIGHTS_NONE;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = order.n;
        vec_push(&order, i);
        for (; k > 0 && turn_before(p, candidates[i], candidates[order.at[k - 1]]); k--)
            order.at[k] = order.at[k - 1];
        order.at[k] = i;
    }
    for (uint32_t i = 0; i < order.n && given == RIGHTS_NONE; i++) {
        uint32_t id = candidates[order.at[i]].id;
        if (entitle_raise(e, p->units[id].leaf, need_of(p, id)))
            given = order.at[i];
    }
    vec_done(&order);
    return given;
}
