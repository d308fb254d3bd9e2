/* victims_stair.c - the cheapest ways to have room for 1, 2, … tasks on one node
 *
 * Of the victims on a node that may go, those without which there is no room even when
 * all others go are taken first: where a whole node is asked for, that is all of them,
 * and the price is a sum. The choice among the others is a small covering knapsack over
 * up to three amounts, by branch and bound: cheapest first; a victim is skipped when
 * one that frees as much and costs no more was left out, which keeps equal victims from
 * being tried in every combination. At most KNAPSACK_VISITS visits; then the best so
 * far is the price, and the hunt is rough. SPDX-License-Identifier: Apache-2.0 */
#include "sched/victims_search.h"

enum { KNAPSACK_VISITS = 4096 };

static bool room_holds(const struct victims_room *a, const struct victims_room *need)
{
    return a->gpu >= need->gpu && a->cpu_milli >= need->cpu_milli &&
           a->mem_bytes >= need->mem_bytes;
}

static void room_plus(struct victims_room *a, const struct victims_room *b)
{
    a->gpu += b->gpu;
    a->cpu_milli += b->cpu_milli;
    a->mem_bytes += b->mem_bytes;
}

static void room_minus(struct victims_room *a, const struct victims_room *b)
{
    a->gpu -= b->gpu;
    a->cpu_milli -= b->cpu_milli;
    a->mem_bytes -= b->mem_bytes;
}

static uint32_t least_fit(int64_t room, int64_t need, uint32_t most)
{
    if (!need || !most)
        return most;
    if (room < need)
        return 0;
    if (room < 2 * need)
        return 1;
    int64_t n = room / need;
    return n < most ? (uint32_t)n : most;
}

uint32_t hunt_slots(const struct victims_room *room, const struct victims_room *need,
                    uint32_t most)
{
    most = least_fit(room->gpu, need->gpu, most);
    if (need->cpu_milli)
        most = least_fit(room->cpu_milli, need->cpu_milli, most);
    if (need->mem_bytes)
        most = least_fit(room->mem_bytes, need->mem_bytes, most);
    return most;
}

/* Choose among optional locals so that have + chosen holds want, least weight. */
struct knapsack {
    const struct hunt_local *locals;
    const struct victims_room *want;
    uint8_t item[HUNT_LOCALS];                 /* by share */
    struct victims_room rest[HUNT_LOCALS + 1]; /* what items i.. free together */
    uint32_t n, visits;
    struct weight best;
    u128 best_set;
    bool rough;
};

/* Has an item before i been left out that frees as much and costs no more? Then taking
 * i is no better than taking that one instead. */
static bool item_is_beaten(const struct knapsack *k, uint32_t i, u128 set)
{
    const struct hunt_local *it = &k->locals[k->item[i]];
    for (uint32_t e = 0; e < i; e++)
        if (!(set >> k->item[e] & 1) &&
            room_holds(&k->locals[k->item[e]].frees, &it->frees))
            return true;
    return false;
}

static void knapsack_visit(struct knapsack *k, uint32_t i, struct victims_room have,
                           struct weight weight, u128 set)
{
    if (weight_cmp(weight, k->best) >= 0)
        return;
    if (room_holds(&have, k->want)) {
        k->best = weight;
        k->best_set = set;
        return;
    }
    if (i == k->n)
        return;
    if (++k->visits > KNAPSACK_VISITS) {
        k->rough = true;
        return;
    }
    struct victims_room all = have;
    room_plus(&all, &k->rest[i]);
    if (!room_holds(&all, k->want))
        return;
    const struct hunt_local *it = &k->locals[k->item[i]];
    if (!item_is_beaten(k, i, set)) {
        struct victims_room with = have;
        room_plus(&with, &it->frees);
        knapsack_visit(k, i + 1, with, weight_add(weight, it->share),
                       set | UINT64_C(1) << k->item[i]);
    }
    knapsack_visit(k, i + 1, have, weight, set);
}

static void knapsack_sort(struct knapsack *k)
{
    for (uint32_t i = 1; i < k->n; i++) {
        uint8_t it = k->item[i];
        uint32_t to = i;
        while (to &&
               weight_cmp(k->locals[it].share, k->locals[k->item[to - 1]].share) < 0) {
            k->item[to] = k->item[to - 1];
            to--;
        }
        k->item[to] = it;
    }
    k->rest[k->n] = (struct victims_room){0};
    for (uint32_t i = k->n; i--;) {
        k->rest[i] = k->rest[i + 1];
        room_plus(&k->rest[i], &k->locals[k->item[i]].frees);
    }
}

/* A set to begin with: all, less what can be spared, the dearest first. */
static void knapsack_start(struct knapsack *k, struct victims_room have)
{
    room_plus(&have, &k->rest[0]);
    k->best = (struct weight){0};
    k->best_set = 0;
    for (uint32_t i = k->n; i--;) {
        const struct hunt_local *it = &k->locals[k->item[i]];
        struct victims_room less = have;
        room_minus(&less, &it->frees);
        if (room_holds(&less, k->want)) {
            have = less;
            continue;
        }
        k->best = weight_add(k->best, it->share);
        k->best_set |= UINT64_C(1) << k->item[i];
    }
}

/* One step of a stair. `open` are the locals that may go, `all` is what there is when
 * they all do, `have` without them. */
static struct hunt_step price_step(struct hunt *h, const struct hunt_local *l,
                                   u128 open, const struct victims_room *have,
                                   const struct victims_room *all,
                                   const struct victims_room *want)
{
    struct hunt_step r = {.can = true};
    if (room_holds(have, want))
        return r;
    if (!room_holds(all, want))
        return (struct hunt_step){.weight = weight_inf};
    struct knapsack k;
    k.n = 0;
    struct victims_room base = *have;
    for (u128 left = open; left; left &= left - 1) {
        uint32_t i = hunt_first(left);
        struct victims_room less = *all;
        room_minus(&less, &l[i].frees);
        if (room_holds(&less, want)) {
            k.item[k.n++] = (uint8_t)i;
            continue;
        }
        r.weight = weight_add(r.weight, l[i].share);
        r.goes |= (u128)1 << i;
        room_plus(&base, &l[i].frees);
    }
    if (room_holds(&base, want))
        return r;
    k.locals = l;
    k.want = want;
    k.visits = 0;
    k.rough = false;
    knapsack_sort(&k);
    knapsack_start(&k, base);
    knapsack_visit(&k, 0, base, (struct weight){0}, 0);
    h->rough |= k.rough;
    h->steps += k.visits / 8;
    r.weight = weight_add(r.weight, k.best);
    r.goes |= k.best_set;
    return r;
}

void hunt_price(struct hunt *h, uint32_t node)
{
    const struct hunt_node *n = &h->nodes.at[node];
    const struct hunt_local *l = h->locals.at + n->first;
    struct victims_room have = n->free, all, want = {0};
    u128 open = 0;
    for (uint32_t i = 0; i < n->nlocals; i++) {
        enum hunt_state s = h->victims.at[l[i].victim].state;
        if (s == HUNT_GOES)
            room_plus(&have, &l[i].frees);
        else if (s == HUNT_OPEN)
            open |= (u128)1 << i;
    }
    all = have;
    for (u128 left = open; left; left &= left - 1)
        room_plus(&all, &l[hunt_first(left)].frees);
    h->steps++;
    for (uint32_t s = 0; s < n->cap; s++) {
        room_plus(&want, &h->need);
        h->stairs.at[n->stair + s] = price_step(h, l, open, &have, &all, &want);
    }
}
