/* rights.c - the sets K1 and K2 and their labels (rights.h states the rule)
 * K1 of a leaf is one merge of two orders, band by band (a band: one priority, cores or
 * steps). The own units of the band come from K1 as it was: if they fit together, which
 * is the rule, their order does not matter; else the costly ones stay. Then the rest of
 * the band, from the caller's list. The sum only grows, so a row of needs that was
 * refused once is dead for the rest of the walk, and when all rows of the leaf are dead
 * the walk of the rest ends: the cost is K1 before and after, and little more. Marks
 * are the only thing a walk writes outside this struct.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/rights.h"

#include <assert.h>

struct walk { /* through one leaf */
    struct rights *r;
    const struct rights_pool *p;
    const int64_t *limit;
    int64_t sum[ENTITLE_RESOURCES_MAX];
    uint32_t mark; /* set on what is taken */
    uint32_t since_sweep;
    bool closed; /* to the rest: nothing smaller is left, or a due core waits */
    /* The result is the same for all limits with low <= limit < high. */
    int64_t low[ENTITLE_RESOURCES_MAX], high[ENTITLE_RESOURCES_MAX];
    rights_ids *taken;
};

struct costly { /* an own unit, where not all can stay */
    int64_t cost, submitted;
    uint32_t rank, id;
};

static bool is_labelled(const struct rights_unit *u, uint32_t label)
{
    return (u->marks & (label | RIGHTS_RUNNING)) == (label | RIGHTS_RUNNING);
}

/* Bands in walk order: does a stand in an earlier band than b? */
static bool band_before(const struct rights_unit *a, const struct rights_unit *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->core == RIGHTS_NONE && b->core != RIGHTS_NONE;
}

static bool same_band(const struct rights_unit *a, const struct rights_unit *b)
{
    return a->priority == b->priority &&
           (a->core == RIGHTS_NONE) == (b->core == RIGHTS_NONE);
}

static const int64_t *need_of(const struct rights_pool *p, uint32_t row)
{
    return p->needs + (size_t)row * p->nresources;
}

/* The sum is within the limit already, so an unused resource never refuses. */
static bool within(const int64_t *sum, const int64_t *need, const int64_t *limit,
                   uint32_t nresources)
{
    for (uint32_t r = 0; r < nresources; r++)
        if (need[r] > limit[r] - sum[r])
            return false;
    return true;
}

static bool core_is_taken(const struct rights_pool *p, const struct rights_unit *u,
                          uint32_t marks)
{
    return u->core == RIGHTS_NONE || (p->units[u->core].marks & marks);
}

/* --- the walk through one leaf --- */

static void take(struct walk *w, uint32_t id)
{
    struct rights_unit *u = &w->p->units[id];
    const int64_t *need = need_of(w->p, u->need);
    for (uint32_t r = 0; r < w->p->nresources; r++)
        w->sum[r] += need[r];
    u->marks |= w->mark;
    vec_push(w->taken, id);
}

/* The row does not fit, nor will it while the limit is below what it is short of first;
 * from: what is in its way. */
static void keep_out(struct walk *w, const int64_t *need, const int64_t *from)
{
    uint32_t r = 0;
    while (need[r] <= w->limit[r] - from[r])
        r++;
    if (w->high[r] > from[r] + need[r])
        w->high[r] = from[r] + need[r];
}

/* Take it if it fits: an own unit or the one with the turn. */
static void consider(struct walk *w, uint32_t id)
{
    const struct rights_unit *u = &w->p->units[id];
    const int64_t *need = need_of(w->p, u->need);
    if (!core_is_taken(w->p, u, w->mark))
        return;
    if (within(w->sum, need, w->limit, w->p->nresources))
        take(w, id);
    else
        keep_out(w, need, w->sum);
}

static bool is_costlier(const struct costly *a, const struct costly *b)
{
    if (a->cost != b->cost)
        return a->cost > b->cost;
    if (a->submitted != b->submitted)
        return a->submitted < b->submitted;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return a->id < b->id;
}

static int by_cost(const void *a, const void *b)
{
    return is_costlier(a, b) ? -1 : is_costlier(b, a);
}

/* The own units of one band do not all fit: the costly ones stay. */
static void take_costly(struct walk *w, const uint32_t *ids, uint32_t n)
{
    struct costly *all = mem_alloc(n * sizeof *all);
    for (uint32_t i = 0; i < n; i++) {
        const struct rights_place *at = &w->p->places[ids[i]];
        all[i] = (struct costly){at->cost, at->submitted, at->rank, ids[i]};
    }
    qsort(all, n, sizeof *all, by_cost);
    for (uint32_t i = 0; i < n; i++)
        consider(w, all[i].id);
    free(all);
}

/* Take the own units of one band. */
static void take_own(struct walk *w, const uint32_t *ids, uint32_t n)
{
    int64_t sum[ENTITLE_RESOURCES_MAX];
    uint32_t nr = w->p->nresources;
    memcpy(sum, w->sum, nr * sizeof *sum);
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *need = need_of(w->p, w->p->units[ids[i]].need);
        for (uint32_t r = 0; r < nr; r++)
            sum[r] += need[r];
    }
    bool all = true;
    for (uint32_t r = 0; r < nr; r++)
        all = all && sum[r] <= w->limit[r];
    if (!all) {
        take_costly(w, ids, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (core_is_taken(w->p, &w->p->units[ids[i]], w->mark))
            take(w, ids[i]);
}

/* Drop the rows that do not fit any more; none left: nothing smaller is. */
static void sweep(struct walk *w)
{
    rights_ids *alive = &w->r->alive;
    uint32_t kept = 0;
    w->since_sweep = 0;
    for (uint32_t i = 0; i < alive->n; i++) {
        const int64_t *need = need_of(w->p, alive->at[i]);
        if (within(w->sum, need, w->limit, w->p->nresources))
            alive->at[kept++] = alive->at[i];
        else
            keep_out(w, need, w->sum);
    }
    alive->n = kept;
    if (kept == 0)
        w->closed = true;
}

static void close_behind(struct walk *w, const int64_t *need)
{
    w->closed = true;
    for (uint32_t r = 0; r < w->p->nresources; r++)
        if (w->low[r] < need[r])
            w->low[r] = need[r];
}

/* A unit of the rest was refused for its size. */
static void refuse(struct walk *w, const struct rights_unit *u)
{
    static const int64_t nothing[ENTITLE_RESOURCES_MAX];
    const int64_t *need = need_of(w->p, u->need);
    w->r->dead.at[u->need] = w->r->stamp;
    keep_out(w, need, w->sum);
    if ((u->marks & RIGHTS_DUE) && u->core == RIGHTS_NONE) {
        if (within(nothing, need, w->limit, w->p->nresources))
            close_behind(w, need);
        else
            keep_out(w, need, nothing);
    }
    if (w->r->alive.n > 0 && w->since_sweep >= w->r->alive.n)
        sweep(w);
}

/* The rest of the band that list->ids[i] begins; returns where the next band begins. */
static uint32_t take_rest(struct walk *w, struct rights_list list, uint32_t i)
{
    const struct rights_unit *units = w->p->units, *head = &units[list.ids[i]];
    const uint32_t *dead = w->r->dead.at, stamp = w->r->stamp;
    for (; i < list.n && !w->closed; i++) {
        uint32_t id = list.ids[i];
        const struct rights_unit *u = &units[id];
        if (!same_band(u, head))
            break;
        w->since_sweep++;
        if (is_labelled(u, RIGHTS_OWN) || id == w->r->turn)
            continue;
        if (dead[u->need] == stamp) {
            if (u->marks & RIGHTS_DUE)
                refuse(w, u);
            continue;
        }
        if (!core_is_taken(w->p, u, w->mark))
            continue;
        if (within(w->sum, need_of(w->p, u->need), w->limit, w->p->nresources))
            take(w, id);
        else
            refuse(w, u);
    }
    return i;
}

static void begin_walk(struct walk *w, struct rights_list list)
{
    struct rights *r = w->r;
    if (r->dead.n < w->p->nneeds)
        vec_resize(&r->dead, w->p->nneeds);
    if (++r->stamp == 0) {
        memset(r->dead.at, 0, r->dead.n * sizeof *r->dead.at);
        r->stamp = 1;
    }
    vec_clear(&r->alive);
    vec_reserve(&r->alive, list.nrows);
    if (list.nrows)
        memcpy(r->alive.at, list.rows, list.nrows * sizeof *list.rows);
    r->alive.n = list.nrows;
    w->since_sweep = 0;
    w->closed = false;
    for (uint32_t k = 0; k < w->p->nresources; k++) {
        w->sum[k] = w->low[k] = 0;
        w->high[k] = INT64_MAX;
    }
    vec_clear(w->taken);
}

/* r->own holds the own units, by band. turn: RIGHTS_NONE, or a unit of this leaf. */
static void walk_leaf(struct walk *w, struct rights_list list, uint32_t turn)
{
    const struct rights_unit *units = w->p->units;
    const rights_ids *own = &w->r->own;
    uint32_t i = 0, j = 0;
    begin_walk(w, list);
    for (;;) {
        const struct rights_unit *band = NULL;
        if (i < list.n && !w->closed)
            band = &units[list.ids[i]];
        if (j < own->n && (!band || band_before(&units[own->at[j]], band)))
            band = &units[own->at[j]];
        if (turn != RIGHTS_NONE && (!band || band_before(&units[turn], band)))
            band = &units[turn];
        if (!band)
            return;
        if (turn != RIGHTS_NONE && same_band(&units[turn], band)) {
            consider(w, turn);
            turn = RIGHTS_NONE;
        }
        uint32_t from = j;
        while (j < own->n && same_band(&units[own->at[j]], band))
            j++;
        if (j > from)
            take_own(w, own->at + from, j - from);
        if (i < list.n && !w->closed && same_band(&units[list.ids[i]], band))
            i = take_rest(w, list, i);
    }
}

/* The own units of the leaf, by band: K1 as it was has that order, unless a priority
 * changed since. */
static void list_own(struct rights *r, const struct rights_pool *p, uint32_t leaf)
{
    const rights_ids *was = &r->k1[leaf];
    vec_clear(&r->own);
    for (uint32_t i = 0; i < was->n; i++) {
        uint32_t id = was->at[i], k;
        if (!is_labelled(&p->units[id], RIGHTS_OWN) || id == r->turn)
            continue;
        vec_push(&r->own, id);
        for (k = r->own.n - 1; k > 0; k--) {
            if (!band_before(&p->units[id], &p->units[r->own.at[k - 1]]))
                break;
            r->own.at[k] = r->own.at[k - 1];
        }
        r->own.at[k] = id;
    }
}

static uint32_t turn_in(const struct rights *r, const struct rights_pool *p,
                        uint32_t leaf)
{
    return r->turn != RIGHTS_NONE && p->units[r->turn].leaf == leaf ? r->turn
                                                                    : RIGHTS_NONE;
}

/* `was` held `mark`, r->fresh holds it now: write labels, list who joined or left.
 * Those of `was` bear SEEN. The lists change places. */
static bool relabel(struct rights *r, const struct rights_pool *p, rights_ids *was,
                    uint32_t label)
{
    uint32_t changes = r->changed.n;
    for (uint32_t i = 0; i < r->fresh.n; i++) {
        struct rights_unit *u = &p->units[r->fresh.at[i]];
        if (!(u->marks & RIGHTS_SEEN))
            vec_push(&r->changed, r->fresh.at[i]);
        u->marks &= ~(uint32_t)RIGHTS_SEEN;
        if (!(u->marks & RIGHTS_RUNNING))
            u->marks &= ~label;
        else if (!(u->marks & label) && label == RIGHTS_OWN)
            u->marks = (u->marks | label) & ~(uint32_t)RIGHTS_DUE;
        else
            u->marks |= label;
    }
    for (uint32_t i = 0; i < was->n; i++) {
        struct rights_unit *u = &p->units[was->at[i]];
        if (!(u->marks & RIGHTS_SEEN))
            continue;
        vec_push(&r->changed, was->at[i]);
        u->marks &= ~(RIGHTS_SEEN | label);
    }
    rights_ids old = *was;
    *was = r->fresh;
    r->fresh = old;
    return r->changed.n > changes;
}

/* Take `mark` from all of the list; they bear SEEN from now on. */
static void unmark(const struct rights_pool *p, const rights_ids *ids, uint32_t mark)
{
    for (uint32_t i = 0; i < ids->n; i++) {
        uint32_t *marks = &p->units[ids->at[i]].marks;
        *marks = (*marks & ~mark) | RIGHTS_SEEN;
    }
}

bool rights_leaf(struct rights *r, const struct rights_pool *p, uint32_t leaf,
                 struct rights_list list, const int64_t *e)
{
    struct walk w = {.r = r, .p = p, .limit = e, .mark = RIGHTS_K1, .taken = &r->fresh};
    assert(leaf < r->nnodes && p->nresources == r->nresources);
    list_own(r, p, leaf);
    unmark(p, &r->k1[leaf], RIGHTS_K1);
    walk_leaf(&w, list, turn_in(r, p, leaf));
    size_t at = (size_t)leaf * r->nresources;
    for (uint32_t k = 0; k < r->nresources; k++) {
        r->sum[at + k] = w.sum[k];
        r->low[at + k] = w.low[k] > w.sum[k] ? w.low[k] : w.sum[k];
        r->high[at + k] = w.high[k];
    }
    return relabel(r, p, &r->k1[leaf], RIGHTS_OWN);
}

bool rights_leaf_stands(const struct rights *r, uint32_t leaf, const int64_t *e)
{
    size_t at = (size_t)leaf * r->nresources;
    for (uint32_t k = 0; k < r->nresources; k++)
        if (e[k] < r->low[at + k] || e[k] >= r->high[at + k])
            return false;
    return true;
}

void rights_within(struct rights *r, const struct rights_pool *p, uint32_t leaf,
                   struct rights_list list, const int64_t *e0, rights_ids *ret)
{
    struct walk w = {.r = r, .p = p, .limit = e0, .mark = RIGHTS_SEEN, .taken = ret};
    list_own(r, p, leaf);
    walk_leaf(&w, list, turn_in(r, p, leaf));
    for (uint32_t i = 0; i < ret->n; i++)
        p->units[ret->at[i]].marks &= ~(uint32_t)RIGHTS_SEEN;
}

/* --- across the leaves --- */

struct across {
    struct rights *r;
    const struct rights_pool *p;
    const struct entitle *e;
    uint32_t
        hidden; /* resources of which an idle reserve is left: a start may be free */
};

static int64_t reserve_of(const struct entitle *e, size_t at)
{
    return e->keep[at] < e->e[at] ? e->keep[at] : e->e[at];
}

/* A queue's occupied is max(below, its reserve); below: use of a leaf, or the sum of
 * the children's occupied. */
static void begin_across(struct across *x)
{
    const struct entitle *e = x->e;
    uint32_t nr = e->nresources;
    int64_t *use = x->r->use, *below = x->r->below;
    for (size_t at = 0; at < (size_t)e->nnodes * nr; at++)
        use[at] = below[at] =
            entitle_is_leaf(e, (uint32_t)(at / nr)) ? x->r->sum[at] : 0;
    x->hidden = 0;
    for (uint32_t n = e->nnodes; n-- > 0;)
        for (uint32_t r = 0; r < nr; r++) {
            size_t at = (size_t)n * nr + r, up = (size_t)e->parent[n] * nr + r;
            int64_t reserve = reserve_of(e, at);
            if (below[at] < reserve)
                x->hidden |= 1u << r;
            if (n == 0)
                continue;
            use[up] += use[at];
            below[up] += below[at] < reserve ? reserve : below[at];
        }
}

/* How much more the root would be occupied in r with `more` used at leaf; write: do it.
 */
static int64_t occupy(const struct across *x, uint32_t leaf, uint32_t r, int64_t more,
                      bool write)
{
    for (uint32_t n = leaf;; n = x->e->parent[n]) {
        size_t at = (size_t)n * x->e->nresources + r;
        int64_t reserve = reserve_of(x->e, at), below = x->r->below[at];
        int64_t was = below < reserve ? reserve : below;
        below += more;
        if (write)
            x->r->below[at] = below;
        more = (below < reserve ? reserve : below) - was;
        if (n == 0)
            return more;
    }
}

static int64_t root_occupied(const struct across *x, uint32_t r)
{
    int64_t reserve = reserve_of(x->e, r), below = x->r->below[r];
    return below < reserve ? reserve : below;
}

/* May the unit join K2? dead: no unit of its row ever will. */
static bool may_join(const struct across *x, const struct rights_unit *u, bool *dead)
{
    const struct entitle *e = x->e;
    const int64_t *need = need_of(x->p, u->need);
    *dead = false;
    for (uint32_t r = 0; r < e->nresources; r++) {
        int64_t left = need[r] ? e->capacity[r] - root_occupied(x, r) : 0;
        if (need[r] <= left || need[r] == 0)
            continue;
        if (!(x->hidden >> r & 1))
            *dead = true;
        else if (occupy(x, u->leaf, r, need[r], false) <= left)
            continue;
        return false;
    }
    for (uint32_t n = u->leaf;; n = e->parent[n]) {
        const int64_t *use = entitle_row(e, x->r->use, n),
                      *cap = entitle_row(e, e->cap, n);
        for (uint32_t r = 0; r < e->nresources; r++)
            if (need[r] && need[r] > cap[r] - use[r])
                return false;
        if (n == 0)
            return true;
    }
}

static void join(const struct across *x, uint32_t id)
{
    struct rights_unit *u = &x->p->units[id];
    const int64_t *need = need_of(x->p, u->need);
    uint32_t nr = x->e->nresources;
    for (uint32_t r = 0; r < nr; r++)
        if (need[r])
            occupy(x, u->leaf, r, need[r], true);
    for (uint32_t n = u->leaf;; n = x->e->parent[n]) {
        for (uint32_t r = 0; r < nr; r++)
            x->r->use[(size_t)n * nr + r] += need[r];
        if (n == 0)
            break;
    }
    u->marks |= RIGHTS_K2;
    vec_push(&x->r->fresh, id);
}

static bool in_k(const struct rights_unit *u)
{
    return u->marks & (RIGHTS_K1 | RIGHTS_K2);
}

/* One pass over a band of the list: the labelled, or the rest. Returns its end. */
static uint32_t join_band(const struct across *x, struct rights_list list,
                          uint32_t from, bool labelled)
{
    const struct rights_unit *units = x->p->units, *head = &units[list.ids[from]];
    uint32_t *dead = x->r->dead.at, i = from;
    for (; i < list.n && same_band(&units[list.ids[i]], head); i++) {
        const struct rights_unit *u = &units[list.ids[i]];
        bool never;
        if (dead[u->need] == x->r->stamp || in_k(u) ||
            is_labelled(u, RIGHTS_OWN2) != labelled ||
            !core_is_taken(x->p, u, RIGHTS_K1 | RIGHTS_K2))
            continue;
        if (may_join(x, u, &never))
            join(x, list.ids[i]);
        else if (never)
            dead[u->need] = x->r->stamp;
    }
    return i;
}

bool rights_across(struct rights *r, const struct rights_pool *p,
                   const struct entitle *e, struct rights_list list, bool on)
{
    struct across x = {.r = r, .p = p, .e = e};
    struct walk w = {.r = r, .p = p, .taken = &r->fresh};
    if (!on && r->k2.n == 0)
        return false;
    unmark(p, &r->k2, RIGHTS_K2);
    begin_walk(&w, (struct rights_list){0});
    if (on)
        begin_across(&x);
    for (uint32_t i = 0, end; on && i < list.n; i = end) {
        join_band(&x, list, i, true);
        end = join_band(&x, list, i, false);
    }
    return relabel(r, p, &r->k2, RIGHTS_OWN2);
}

void rights_all(struct rights *r, const struct rights_pool *p, const struct entitle *e,
                const struct rights_list *lists, struct rights_list all, bool across)
{
    for (uint32_t n = 0; n < e->nnodes; n++)
        if (entitle_is_leaf(e, n))
            rights_leaf(r, p, n, lists[n], entitle_row(e, e->e, n));
    rights_across(r, p, e, all, across);
}

/* --- units come, go, start, stop --- */

void rights_adopt(struct rights *r, const struct rights_pool *p, uint32_t leaf,
                  struct rights_list list)
{
    rights_ids *k1 = &r->k1[leaf];
    for (uint32_t i = 0; i < k1->n; i++)
        p->units[k1->at[i]].marks &= ~(RIGHTS_K1 | RIGHTS_OWN);
    vec_clear(k1);
    for (uint32_t i = 0; i < list.n; i++) {
        struct rights_unit *u = &p->units[list.ids[i]];
        if (!(u->marks & RIGHTS_RUNNING))
            continue;
        u->marks |= RIGHTS_K1 | RIGHTS_OWN;
        vec_push(k1, list.ids[i]);
    }
}

static void drop(rights_ids *ids, uint32_t id)
{
    uint32_t i = 0;
    while (i < ids->n && ids->at[i] != id)
        i++;
    assert(i < ids->n);
    ids->n--;
    memmove(ids->at + i, ids->at + i + 1, (ids->n - i) * sizeof *ids->at);
}

void rights_forget(struct rights *r, const struct rights_pool *p, uint32_t id)
{
    struct rights_unit *u = &p->units[id];
    if (u->marks & RIGHTS_K1)
        drop(&r->k1[u->leaf], id);
    if (u->marks & RIGHTS_K2)
        drop(&r->k2, id);
    u->marks &= ~(RIGHTS_K1 | RIGHTS_K2 | RIGHTS_OWN | RIGHTS_OWN2);
    if (r->turn == id)
        r->turn = RIGHTS_NONE;
}

void rights_started(const struct rights_pool *p, uint32_t id)
{
    struct rights_unit *u = &p->units[id];
    assert(!(u->marks & RIGHTS_RUNNING));
    u->marks |= RIGHTS_RUNNING;
    if (u->marks & RIGHTS_K1)
        u->marks = (u->marks | RIGHTS_OWN) & ~(uint32_t)RIGHTS_DUE;
    if (u->marks & RIGHTS_K2)
        u->marks |= RIGHTS_OWN2;
    if (u->core != RIGHTS_NONE)
        p->places[u->core].steps_running++;
}

void rights_stopped(const struct rights_pool *p, uint32_t id)
{
    struct rights_unit *u = &p->units[id];
    assert(u->marks & RIGHTS_RUNNING);
    u->marks &= ~(RIGHTS_RUNNING | RIGHTS_OWN | RIGHTS_OWN2);
    if (u->core != RIGHTS_NONE)
        p->places[u->core].steps_running--;
}

static void swap_ids(struct rights_list list, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < list.n; i++) {
        uint32_t *id = &list.ids[i];
        *id = *id == a ? b : *id == b ? a : *id;
    }
}

void rights_rename(struct rights *r, const struct rights_pool *p,
                   struct rights_list leaf, struct rights_list all,
                   struct rights_renaming which)
{
    enum { MOVES = RIGHTS_DUE | RIGHTS_OWN | RIGHTS_OWN2 | RIGHTS_K1 | RIGHTS_K2 };
    struct rights_unit *a = &p->units[which.own], *b = &p->units[which.lent];
    struct rights_place *pa = &p->places[which.own], *pb = &p->places[which.lent];
    uint32_t moved = (a->marks ^ b->marks) & MOVES;
    a->marks ^= moved;
    b->marks ^= moved;
    int64_t submitted = pa->submitted;
    pa->submitted = pb->submitted;
    pb->submitted = submitted;
    uint32_t rank = pa->rank;
    pa->rank = pb->rank;
    pb->rank = rank;
    if (r->turn == which.own || r->turn == which.lent)
        r->turn = r->turn == which.own ? which.lent : which.own;
    rights_ids *k1 = &r->k1[a->leaf];
    swap_ids((struct rights_list){.ids = k1->at, .n = k1->n}, which.own, which.lent);
    swap_ids((struct rights_list){.ids = r->k2.at, .n = r->k2.n}, which.own,
             which.lent);
    swap_ids(leaf, which.own, which.lent);
    swap_ids(all, which.own, which.lent);
}

void rights_setup(struct rights *r, uint32_t nnodes, uint32_t nresources)
{
    assert(nresources <= ENTITLE_RESOURCES_MAX);
    rights_done(r);
    size_t cells = (size_t)nnodes * nresources;
    r->nnodes = nnodes;
    r->nresources = nresources;
    r->turn = RIGHTS_NONE;
    r->k1 = mem_zero(nnodes * sizeof *r->k1);
    r->sum = mem_zero(cells * sizeof *r->sum);
    r->low = mem_zero(cells * sizeof *r->low);
    r->high = mem_zero(cells * sizeof *r->high);
    r->use = mem_zero(cells * sizeof *r->use);
    r->below = mem_zero(cells * sizeof *r->below);
}

void rights_done(struct rights *r)
{
    for (uint32_t n = 0; n < r->nnodes; n++)
        vec_done(&r->k1[n]);
    free(r->k1);
    free(r->sum);
    free(r->low);
    free(r->high);
    free(r->use);
    free(r->below);
    vec_done(&r->k2);
    vec_done(&r->changed);
    vec_done(&r->own);
    vec_done(&r->alive);
    vec_done(&r->fresh);
    vec_done(&r->dead);
    *r = (struct rights){0};
}
