/* victims_search.c - branch and bound over gangs that stand on several nodes
 *
 * A victim on one node concerns that node only. The weight of one that stands on
 * several is shared out over its nodes by their GPUs; with these shares each node has a
 * price for s = 1, 2, … tasks (victims_stair.c), and the tasks
 * are spread over the cheapest prices. That sum is a lower bound for every solution,
 * since no set pays more in shares than it weighs; and the union of the victims chosen
 * is a solution. They differ only by gangs of which some nodes were chosen and others
 * not. The gang with most left unpaid is decided: it goes (its weight is sunk, its
 * nodes are cheaper), or it stays (its nodes lose that way). Where every gang touched
 * is paid in full, bound and solution are equal, and the branch is closed. Cost: one
 * look at each node a branch.
 *
 * The spread: prices of one task each need only the n smallest. Where nodes take
 * several, the stairs' convex hulls give the bound, and if it is not integral, a table
 * over nodes x tasks the exact spread, when the budget allows (multiple-choice
 * knapsack: Sinha and Zoltners 1979). SPDX-License-Identifier: Apache-2.0 */
#include "sched/victims_search.h"

#include <assert.h>

enum {
    ASCENTS = 8, /* rounds of better shares */
    DIVES = 4,
    FIRST_PART = 2, /* of the steps: one part before the shares are improved */
};

const struct weight weight_inf = {~(u128)0 >> 1, 0};

struct weight weight_add(struct weight a, struct weight b)
{
    struct weight r = {a.hi + b.hi, a.lo + b.lo};
    r.hi += r.lo < a.lo;
    return r;
}

struct weight weight_sub(struct weight a, struct weight b)
{
    struct weight r = {a.hi - b.hi - (a.lo < b.lo), a.lo - b.lo};
    return r;
}

int weight_cmp(struct weight a, struct weight b)
{
    if (a.hi != b.hi)
        return a.hi < b.hi ? -1 : 1;
    return a.lo < b.lo ? -1 : a.lo > b.lo;
}

struct weight weight_times(struct weight a, uint32_t k)
{
    u128 low = (u128)(uint64_t)a.lo * k;
    u128 mid = (u128)(uint64_t)(a.lo >> 64) * k + (low >> 64);
    return (struct weight){a.hi * k + (mid >> 64), mid << 64 | (uint64_t)low};
}

/* Rounded down. */
static struct weight weight_over(struct weight a, uint32_t k)
{
    u128 rest = a.hi % k;
    u128 mid = rest << 64 | (uint64_t)(a.lo >> 64);
    u128 low = (mid % k) << 64 | (uint64_t)a.lo;
    return (struct weight){a.hi / k, (mid / k) << 64 | (uint64_t)(low / k)};
}

static bool weight_zero(struct weight a)
{
    return !a.hi && !a.lo;
}

/* ---- the spread of tasks over nodes ---- */

/* rise / run, then node, then to: a total order. */
static bool piece_before(const struct hunt_piece *a, const struct hunt_piece *b)
{
    int c = a->run == b->run ? weight_cmp(a->rise, b->rise)
                             : weight_cmp(weight_times(a->rise, b->run),
                                          weight_times(b->rise, a->run));
    if (c)
        return c < 0;
    return a->node != b->node ? a->node < b->node : a->to < b->to;
}

/* The hull's pieces of one node, each steeper than the one before. */
static void push_pieces(struct hunt *h, uint32_t node)
{
    const struct hunt_node *n = &h->nodes.at[node];
    const struct hunt_step *s = h->stairs.at + n->stair;
    struct weight at = {0};
    for (uint32_t from = 0; from < n->cap;) {
        struct hunt_piece best = {0};
        for (uint32_t to = from + 1; to <= n->cap && s[to - 1].can; to++) {
            struct hunt_piece p = {weight_sub(s[to - 1].weight, at), to - from, node,
                                   to};
            if (!best.run || weight_cmp(weight_times(p.rise, best.run),
                                        weight_times(best.rise, p.run)) <= 0)
                best = p;
        }
        if (!best.run)
            break;
        vec_push(&h->pieces, best);
        at = s[best.to - 1].weight;
        from = best.to;
    }
}

static void piece_swap(struct hunt_piece *a, struct hunt_piece *b)
{
    struct hunt_piece t = *a;
    *a = *b;
    *b = t;
}

static void median_to_front(struct hunt_piece *p, uint32_t n)
{
    struct hunt_piece *a = p, *b = p + n / 2, *c = p + n - 1;
    if (piece_before(b, a))
        piece_swap(a, b);
    if (piece_before(c, b)) {
        piece_swap(b, c);
        if (piece_before(b, a))
            piece_swap(a, b);
    }
    piece_swap(a, b);
}

/* Order the pieces so that those before the returned index are the cheapest and run
 * less than `tasks` together, and with it reach `tasks`. Quickselect; they do reach it.
 */
static uint32_t pieces_split(struct hunt_piece *p, uint32_t n, uint32_t tasks)
{
    uint32_t lo = 0, hi = n;
    for (;;) {
        if (hi - lo == 1)
            return lo;
        median_to_front(p + lo, hi - lo);
        uint32_t edge = lo, run = 0;
        for (uint32_t i = lo + 1; i < hi; i++)
            if (piece_before(&p[i], &p[lo])) {
                piece_swap(&p[++edge], &p[i]);
                run += p[edge].run;
            }
        piece_swap(&p[lo], &p[edge]);
        if (run >= tasks) {
            hi = edge;
        } else if (run + p[edge].run >= tasks) {
            return edge;
        } else {
            tasks -= run + p[edge].run;
            lo = edge + 1;
        }
    }
}

struct spread {
    struct weight bound;
    bool can, exact;
    struct weight theta; /* weight of the last task, rounded down */
};

/* Least weight of exactly n tasks: table[m] over the nodes so far, choice[node][m]. */
static void spread_exactly(struct hunt *h, struct spread *r)
{
    uint32_t wide = h->tasks + 1, nodes = h->nodes.n;
    vec_resize(&h->table, wide);
    vec_resize(&h->choice, nodes * wide);
    for (uint32_t m = 0; m < wide; m++)
        h->table.at[m] = m ? weight_inf : (struct weight){0};
    for (uint32_t i = 0; i < nodes; i++) {
        const struct hunt_node *n = &h->nodes.at[i];
        for (uint32_t m = wide; m--;) {
            struct weight best = h->table.at[m];
            uint8_t at = 0;
            for (uint32_t s = 1; s <= n->cap && s <= m; s++) {
                const struct hunt_step *st = &h->stairs.at[n->stair + s - 1];
                if (!st->can)
                    break;
                if (!weight_cmp(h->table.at[m - s], weight_inf))
                    continue;
                struct weight w = weight_add(h->table.at[m - s], st->weight);
                if (weight_cmp(w, best) < 0) {
                    best = w;
                    at = (uint8_t)s;
                }
            }
            h->table.at[m] = best;
            h->choice.at[i * wide + m] = at;
        }
    }
    r->bound = weight_add(h->sunk, h->table.at[h->tasks]);
    r->exact = true;
    for (uint32_t i = nodes, m = h->tasks; i--;) {
        h->take.at[i] = h->choice.at[i * wide + m];
        m -= h->take.at[i];
    }
}

static struct spread spread_tasks(struct hunt *h)
{
    struct spread r = {.bound = h->sunk, .exact = true};
    uint64_t run = 0;
    vec_clear(&h->pieces);
    for (uint32_t i = 0; i < h->nodes.n; i++)
        push_pieces(h, i);
    for (uint32_t i = 0; i < h->pieces.n; i++)
        run += h->pieces.at[i].run;
    h->steps += h->nodes.n / 2;
    r.can = run >= h->tasks;
    if (!r.can)
        return r;
    uint32_t last = pieces_split(h->pieces.at, h->pieces.n, h->tasks), left = h->tasks;
    memset(h->take.at, 0, h->nodes.n * sizeof *h->take.at);
    for (uint32_t i = 0; i < last; i++) {
        const struct hunt_piece *p = &h->pieces.at[i];
        r.bound = weight_add(r.bound, p->rise);
        left -= p->run;
        if (h->take.at[p->node] < p->to)
            h->take.at[p->node] = p->to;
    }
    const struct hunt_piece *p = &h->pieces.at[last];
    r.theta = weight_over(p->rise, p->run);
    h->take.at[p->node] = p->to - p->run + left;
    r.bound = weight_add(r.bound, weight_over(weight_times(p->rise, left), p->run));
    r.exact = left == p->run;
    return r;
}

/* ---- branch and bound ---- */

/* What the selection weighs as a set: each victim once. */
static struct weight selection_weight(struct hunt *h)
{
    struct weight sum = h->sunk;
    h->epoch++;
    for (uint32_t i = 0; i < h->nodes.n; i++) {
        if (!h->take.at[i])
            continue;
        const struct hunt_node *n = &h->nodes.at[i];
        u128 goes = h->stairs.at[n->stair + h->take.at[i] - 1].goes;
        for (; goes; goes &= goes - 1) {
            const struct hunt_local *l = &h->locals.at[n->first + hunt_first(goes)];
            struct hunt_victim *v = &h->victims.at[l->victim];
            if (v->seen != h->epoch) {
                v->seen = h->epoch;
                v->paid = (struct weight){0};
                sum = weight_add(sum, v->weight);
            }
            v->paid = weight_add(v->paid, l->share);
        }
    }
    return sum;
}

static void keep_best(struct hunt *h, struct weight w)
{
    h->best = w;
    h->found = true;
    vec_clear(&h->goes);
    vec_clear(&h->places);
    for (uint32_t i = 0; i < h->victims.n; i++) {
        const struct hunt_victim *v = &h->victims.at[i];
        if (v->state == HUNT_GOES || v->seen == h->epoch)
            vec_push(&h->goes, i);
    }
    for (uint32_t i = 0; i < h->nodes.n; i++)
        if (h->take.at[i])
            vec_push(&h->places,
                     (struct victims_place){h->nodes.at[i].node, h->take.at[i]});
}

/* The victim of the selection with most of its weight not paid, or VICTIMS_NONE. */
static uint32_t most_unpaid(const struct hunt *h)
{
    struct weight most = {0};
    uint32_t at = VICTIMS_NONE;
    for (uint32_t i = 0; i < h->victims.n; i++) {
        const struct hunt_victim *v = &h->victims.at[i];
        if (!v->shared || v->seen != h->epoch || v->state != HUNT_OPEN)
            continue;
        struct weight left = weight_sub(v->weight, v->paid);
        if (weight_cmp(left, most) > 0) {
            most = left;
            at = i;
        }
    }
    return at;
}

static void decide(struct hunt *h, uint32_t victim, enum hunt_state state)
{
    struct hunt_victim *v = &h->victims.at[victim];
    if (v->state == HUNT_GOES)
        h->sunk = weight_sub(h->sunk, v->weight);
    if (state == HUNT_GOES)
        h->sunk = weight_add(h->sunk, v->weight);
    v->state = state;
    for (uint32_t i = 0; i < v->nseats; i++)
        hunt_price(h, h->seats.at[v->first + i].node);
}

static void leave_open(struct hunt *h, struct weight bound)
{
    if (weight_cmp(bound, h->open) < 0)
        h->open = bound;
}

static void branch(struct hunt *h, bool root)
{
    struct spread s = spread_tasks(h);
    if (root) {
        h->root = s.can ? s.bound : weight_inf;
        h->theta = s.theta;
    }
    if (!s.can || weight_cmp(s.bound, h->best) >= 0)
        return;
    uint64_t table = (uint64_t)h->stairs.n * (h->tasks + 1);
    if (!s.exact && h->steps + table <= h->limit) {
        h->steps += table;
        spread_exactly(h, &s);
        if (weight_cmp(s.bound, h->best) >= 0)
            return;
    }
    struct weight w = selection_weight(h);
    if (weight_cmp(w, h->best) < 0)
        keep_best(h, w);
    uint32_t victim = most_unpaid(h);
    if (victim == VICTIMS_NONE) {
        if (weight_cmp(s.bound, w) < 0)
            leave_open(h, s.bound);
        return;
    }
    if (h->steps > h->limit) {
        leave_open(h, s.bound);
        return;
    }
    const struct hunt_victim *v = &h->victims.at[victim];
    bool goes_first = weight_cmp(weight_times(v->paid, 2), v->weight) >= 0;
    decide(h, victim, goes_first ? HUNT_GOES : HUNT_STAYS);
    branch(h, false);
    decide(h, victim, goes_first ? HUNT_STAYS : HUNT_GOES);
    branch(h, false);
    decide(h, victim, HUNT_OPEN);
}

/* A good set early: gangs of which only some nodes were chosen stay, and it is chosen
 * anew; at last all gangs that were not chosen whole. */
static void dive(struct hunt *h)
{
    vec_clear(&h->stayed);
    for (uint32_t round = 0; round <= DIVES; round++) {
        struct spread s = spread_tasks(h);
        if (!s.can || weight_cmp(s.bound, h->best) >= 0)
            break;
        struct weight w = selection_weight(h);
        if (weight_cmp(w, h->best) < 0)
            keep_best(h, w);
        uint32_t before = h->stayed.n;
        for (uint32_t i = 0; i < h->victims.n; i++) {
            const struct hunt_victim *v = &h->victims.at[i];
            bool seen = v->seen == h->epoch;
            if (v->shared && v->state == HUNT_OPEN && (seen || round + 1 == DIVES) &&
                !(seen && weight_cmp(v->paid, v->weight) >= 0))
                vec_push(&h->stayed, i);
        }
        if (before == h->stayed.n)
            break;
        for (uint32_t i = before; i < h->stayed.n; i++)
            decide(h, h->stayed.at[i], HUNT_STAYS);
    }
    while (h->stayed.n)
        decide(h, h->stayed.at[--h->stayed.n], HUNT_OPEN);
}

/* ---- better shares ---- */

/* The least of price - theta x tasks over a node's stair; *ret_below: it is negative,
 * and the amount is returned positive. */
static struct weight node_excess(const struct hunt *h, uint32_t node,
                                 struct weight theta, bool *ret_below)
{
    const struct hunt_node *n = &h->nodes.at[node];
    struct weight best = weight_inf, value = {0};
    *ret_below = false;
    for (uint32_t s = 0; s < n->cap; s++) {
        const struct hunt_step *st = &h->stairs.at[n->stair + s];
        value = weight_add(value, theta);
        if (!st->can)
            break;
        bool below = weight_cmp(st->weight, value) < 0;
        struct weight x =
            below ? weight_sub(value, st->weight) : weight_sub(st->weight, value);
        if (below ? !*ret_below || weight_cmp(x, best) > 0
                  : !*ret_below && weight_cmp(x, best) < 0)
            best = x;
        *ret_below |= below;
    }
    return best;
}

static struct weight weight_least(struct weight a, struct weight b)
{
    return weight_cmp(a, b) < 0 ? a : b;
}

/* Take the victim's share from nodes dearer than theta, down to theta, and from what is
 * spare; give it to nodes that are cheaper, up to theta. The bound at theta,
 * tasks x theta + the sum of what nodes cost less than it, only grows. */
static bool move_shares(struct hunt *h, struct hunt_victim *v, struct weight theta)
{
    bool below, moved = false;
    for (uint32_t give = 0; give < 2; give++)
        for (uint32_t i = 0; i < v->nseats; i++) {
            const struct hunt_seat *seat = &h->seats.at[v->first + i];
            struct hunt_local *l = &h->locals.at[seat->local];
            if (give && weight_zero(v->spare))
                return moved;
            struct weight x = node_excess(h, seat->node, theta, &below);
            if (below != give)
                continue;
            x = weight_least(x, give ? v->spare : l->share);
            if (weight_zero(x))
                continue;
            l->share = give ? weight_add(l->share, x) : weight_sub(l->share, x);
            v->spare = give ? weight_sub(v->spare, x) : weight_add(v->spare, x);
            hunt_price(h, seat->node);
            moved |= give;
        }
    return moved;
}

/* Shares by GPUs are a first guess: improve them while the bound leaves a gap. */
static void ascend(struct hunt *h)
{
    for (uint32_t round = 0; round < ASCENTS; round++) {
        struct spread s = spread_tasks(h);
        if (!s.can || weight_cmp(s.bound, h->best) >= 0)
            return;
        struct weight w = selection_weight(h);
        if (weight_cmp(w, h->best) < 0)
            keep_best(h, w);
        if (most_unpaid(h) == VICTIMS_NONE || (round && h->steps > h->limit))
            return;
        if (!round && h->spare)
            h->spare(h->spare_arg);
        bool moved = false;
        for (uint32_t i = 0; i < h->victims.n; i++)
            if (h->victims.at[i].shared)
                moved |= move_shares(h, &h->victims.at[i], s.theta);
        if (!moved)
            return;
    }
}

/* ---- loading's end ---- */

static int by_tie(const void *a, const void *b)
{
    const struct hunt_victim *x = *(struct hunt_victim *const *)a,
                             *y = *(struct hunt_victim *const *)b;
    return (x->tie > y->tie) - (x->tie < y->tie);
}

static void weigh(struct hunt *h)
{
    for (uint32_t i = 0; i < h->victims.n; i++) {
        struct hunt_victim *v = &h->victims.at[i];
        v->weight.hi =
            (u128)v->cost << HUNT_COST_SHIFT | (u128)v->gpus << HUNT_COUNT_BITS | 1;
        v->weight.lo = 0;
    }
    if (h->victims.n > HUNT_TIES)
        return;
    struct hunt_victim *order[HUNT_TIES];
    for (uint32_t i = 0; i < h->victims.n; i++)
        order[i] = &h->victims.at[i];
    qsort(order, h->victims.n, sizeof *order, by_tie);
    for (uint32_t i = 0; i < h->victims.n; i++)
        order[i]->weight.lo = ((u128)1 << 127) - ((u128)1 << (127 - i));
}

/* Shares by parts, rounded down; what is lost by that goes to the first seat. */
static void share_out(struct hunt *h)
{
    for (uint32_t i = 0; i < h->victims.n; i++) {
        struct hunt_victim *v = &h->victims.at[i];
        v->state = HUNT_OPEN;
        v->seen = 0;
        v->spare = (struct weight){0};
        uint64_t parts = 0;
        struct weight given = {0};
        struct weight each = {0};
        if (v->nseats > 1 || v->shared)
            each = weight_over(v->weight, (uint32_t)v->parts);
        for (uint32_t k = 0; k < v->nseats; k++) {
            struct hunt_local *l = &h->locals.at[h->seats.at[v->first + k].local];
            l->share = weight_times(each, l->part);
            given = weight_add(given, l->share);
            parts += l->part;
        }
        if (parts == v->parts && v->nseats) {
            struct hunt_local *l = &h->locals.at[h->seats.at[v->first].local];
            l->share = weight_add(l->share, weight_sub(v->weight, given));
        }
    }
}

void hunt_run(struct hunt *h, struct weight below, uint64_t limit)
{
    h->found = false;
    h->rough = h->dropped;
    h->best = below;
    h->open = weight_inf;
    h->sunk = (struct weight){0};
    h->epoch = 0;
    weigh(h);
    share_out(h);
    vec_clear(&h->stairs);
    for (uint32_t i = 0; i < h->nodes.n; i++) {
        h->nodes.at[i].stair = h->stairs.n;
        vec_resize(&h->stairs, h->stairs.n + h->nodes.at[i].cap);
        hunt_price(h, i);
    }
    vec_resize(&h->take, h->nodes.n);
    uint64_t start = h->steps;
    h->limit = start + limit / FIRST_PART;
    branch(h, true);
    if (!weight_cmp(h->open, weight_inf))
        return;
    struct weight first = h->open;
    h->open = weight_inf;
    h->limit = start + limit;
    dive(h);
    ascend(h);
    branch(h, true);
    if (weight_cmp(h->open, first) < 0)
        h->open = first;
}

void hunt_reset(struct hunt *h)
{
    vec_clear(&h->nodes);
    vec_clear(&h->locals);
    vec_clear(&h->victims);
    vec_clear(&h->seats);
    h->dropped = false;
    h->steps = 0;
}

void hunt_done(struct hunt *h)
{
    vec_done(&h->nodes);
    vec_done(&h->locals);
    vec_done(&h->victims);
    vec_done(&h->seats);
    vec_done(&h->stairs);
    vec_done(&h->pieces);
    vec_done(&h->take);
    vec_done(&h->stayed);
    vec_done(&h->table);
    vec_done(&h->choice);
    vec_done(&h->goes);
    vec_done(&h->places);
}
