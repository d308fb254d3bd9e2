/* victims_search.h - exact search for the cheapest victims among a few nodes
 * The inside of victims.h: victims_find.c loads the nodes that may matter into a struct
 * hunt, and hunt_run searches it. Nothing outside victims*.c includes this.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SCHED_VICTIMS_SEARCH_H
#define MUSTER_SCHED_VICTIMS_SEARCH_H

#include "sched/victims.h"

/* What a set of victims weighs, one number of 256 bits, so that the whole order of
 * victims.h is a comparison and a sum: hi = cost << 44 | GPUs << 22 | victims, and
 * below it the tie: 2^127 - 2^(127 - r) for the victim with the r-th lowest tie rank of
 * at most HUNT_TIES in play. (Sums carry into hi, by the same amount wherever hi
 * without the carry, thus the number of victims, is equal.) With more in play the tie
 * is 0. */
typedef unsigned __int128 u128;

struct weight {
    u128 hi, lo;
};

enum {
    HUNT_TIES = 120,
    HUNT_LOCALS = VICTIMS_LOCALS,
    HUNT_COUNT_BITS = 22,
    HUNT_COST_SHIFT = 2 * HUNT_COUNT_BITS,
};

enum hunt_state {
    HUNT_OPEN = 0,
    HUNT_GOES,
    HUNT_STAYS,
};

struct hunt_victim {
    uint32_t id;
    uint64_t tie, cost, gpus;
    uint64_t parts; /* its weight is shared out over so many parts */
    struct weight weight;
    uint32_t first, nseats; /* in hunt.seats: the nodes of the hunt where it stands */
    enum hunt_state state;
    bool shared;         /* it stands on more than one node of the domain */
    uint32_t seen;       /* scratch: hunt.epoch when it was met */
    struct weight paid;  /* scratch */
    struct weight spare; /* of its weight, not shared out to nodes of the hunt */
};

struct hunt_local {
    uint32_t victim;
    uint32_t part; /* of victim.parts */
    struct victims_room frees;
    struct weight share;
};

struct hunt_node {
    uint32_t node; /* rank */
    uint32_t cap;  /* tasks, if all goes */
    struct victims_room free;
    uint32_t first, nlocals; /* in hunt.locals, by tie */
    uint32_t stair;          /* in hunt.steps: step s - 1 is for s tasks */
};

/* The cheapest way to have room for so many tasks on a node. */
struct hunt_step {
    struct weight weight;
    u128 goes; /* a set of the node's locals */
    bool can;
};

struct hunt_seat {
    uint32_t node, local; /* in hunt.nodes, hunt.locals */
};

struct hunt_piece { /* of the convex hull of a node's stair */
    struct weight rise;
    uint32_t run, node, to;
};

struct hunt {
    struct victims_room need;
    uint32_t tasks;
    VEC(struct hunt_node) nodes;
    VEC(struct hunt_local) locals;
    VEC(struct hunt_victim) victims;
    VEC(struct hunt_seat) seats;
    VEC(struct hunt_step) stairs;
    VEC(struct hunt_piece) pieces;
    VEC(uint32_t) take;   /* per node: tasks of the selection looked at */
    VEC(uint32_t) stayed; /* scratch */
    VEC(struct weight) table;
    VEC(uint8_t) choice;
    uint32_t epoch;
    bool dropped; /* loading left victims out: a node has more than HUNT_LOCALS */
    uint64_t steps, limit;
    /* Sets victims[].spare: what the shares of nodes outside the hunt can do without.
     * Asked at most once a run, where the first bound leaves a gap; NULL: nothing. */
    void (*spare)(void *arg);
    void *spare_arg;
    struct weight sunk; /* of those that go */
    /* out */
    bool found, rough;              /* rough: a node was not priced exactly */
    struct weight best, open, root; /* open: the least bound left unexplored */
    struct weight theta;            /* of the root: its last task */
    VEC(uint32_t) goes;             /* victims of the best set */
    VEC(struct victims_place) places;
};

void hunt_reset(struct hunt *h);
void hunt_done(struct hunt *h);
/* The stair of a node, by what its victims' states and shares are now. */
void hunt_price(struct hunt *h, uint32_t node);
/* The first local of a set that is not empty. */
static inline uint32_t hunt_first(u128 set)
{
    uint64_t low = (uint64_t)set;
    return low ? (uint32_t)__builtin_ctzll(low)
               : 64 + (uint32_t)__builtin_ctzll((uint64_t)(set >> 64));
}
/* Tasks that fit in the room. */
uint32_t hunt_slots(const struct victims_room *room, const struct victims_room *need,
                    uint32_t most);
/* Search the loaded hunt. A set is looked for that weighs less than `below`; at most
 * `limit` counted steps beyond the first one. Sets the fields under `out`. */
void hunt_run(struct hunt *h, struct weight below, uint64_t limit);

struct weight weight_add(struct weight a, struct weight b);
struct weight weight_sub(struct weight a, struct weight b);
struct weight weight_times(struct weight a, uint32_t k);
int weight_cmp(struct weight a, struct weight b);
extern const struct weight weight_inf;

#endif
