/* reclaim-game.h - queues, units and room, played by the rule of rights
 * A driver that does at each border what the rule says, in any legal order and with any
 * legal victims, and a checker that after each decision computes rights again from the
 * text of the rule and reports what moved. The rule can be broken on purpose; then the
 * checker must report it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_RECLAIM_GAME_H
#define MUSTER_RECLAIM_GAME_H

#include "base/rng.h"
#include "sched/rights.h"

enum {
    GAME_QUEUES = 12,
    GAME_UNITS = 160,
    GAME_RESOURCES = 2,
    GAME_NODES = 8,
    GAME_FOREVER = 1 << 20
};

enum game_break {
    GAME_SOUND = 0,
    GAME_RUNNING_FIRST,  /* running instead of own units stand first in line */
    GAME_EQUAL_ACROSS,   /* K2 evicts equal priority */
    GAME_RUNNING_DEMAND, /* demand is what runs */
    GAME_OVER_VICTIM,    /* any unit of a queue over its entitlement may be evicted */
    GAME_NOT_HELD,       /* freed room is not held for whom it was freed */
    GAME_GHOST_FORGOTTEN /* an evicted job's demand ends until it is back */
};

struct game_queue {
    uint32_t parent, weight;
    int64_t g, max, borrow, lend; /* the same for each resource; ENTITLE_ABSENT */
};

struct game_unit {
    bool live;
    uint32_t job;
    uint32_t pods, width; /* by nodes: pods of so many of resource 0 on a node each */
    uint8_t seats[GAME_NODES];
    int protect_until, back_at; /* steps of time */
    int ends_at;                /* evicted, still there until then; 0: not */
    uint32_t evictions;
    bool bystander; /* evicted for somebody who died: first in line for what is lent */
    bool forgotten; /* a ghost whose demand was let go (a broken rule) */
    uint32_t for_unit;
};

struct game {
    uint32_t nqueues, nresources, nnodes; /* nnodes 0: room is a number */
    struct game_queue queues[GAME_QUEUES];
    int64_t capacity[GAME_RESOURCES];
    int64_t node_size, node_free[GAME_NODES];
    bool within_any, across, random_order, minimal, renames;
    int slow;    /* victims end so many steps later at most */
    int ghost;   /* an owner brings it back so many steps later at most */
    int protect; /* no eviction so many steps after a start */
    uint32_t budget, budget_left[GAME_QUEUES]; /* evictions an hour; UINT32_MAX: any */
    enum game_break broken;
    int now;

    struct entitle e;
    struct rights r;
    struct rights_pool pool;
    struct rights_unit units[GAME_UNITS];
    struct rights_place places[GAME_UNITS];
    struct game_unit at[GAME_UNITS];
    uint32_t nunits, njobs;
    int64_t needs[GAME_UNITS * GAME_RESOURCES];
    uint32_t ids[GAME_QUEUES][GAME_UNITS], rows[GAME_QUEUES][GAME_UNITS];
    uint32_t all[GAME_UNITS];
    struct rights_list lists[GAME_QUEUES], list;
    uint64_t usage[GAME_QUEUES][GAME_RESOURCES]; /* decayed */
    int64_t last_turn[GAME_QUEUES];
    bool stale[GAME_QUEUES]; /* K1 is to be computed again */
    struct rng rng;

    /* what happened */
    uint32_t starts, lent_starts, reclaims, evicted;
    uint32_t stood; /* leaves whose E changed and K1 did not have to be computed */
    unsigned faults;
    char fault[200];
};

struct game_job {
    uint32_t queue;
    int32_t priority;
    int64_t size[GAME_RESOURCES]; /* of the core */
    uint32_t steps;
    int64_t step[GAME_RESOURCES];
    uint32_t pods, width; /* by nodes; 0: by count */
};

/* Queues, capacity and flags are set; then begin. */
void game_begin(struct game *g, uint64_t seed);
void game_done(struct game *g);

/* Outside events. A job's core is its return; steps follow it. */
uint32_t game_arrive(struct game *g, struct game_job job);
void game_leave(struct game *g, uint32_t core);
void game_capacity(struct game *g,
                   int64_t capacity); /* of all resources; by count only */
void game_reshape(struct game *g);    /* queues were changed */
void game_set_priority(struct game *g, uint32_t core, int32_t priority);
void game_refuse(struct game *g, uint32_t core); /* its launch fails: it waits again */
void game_due(struct game *g, uint32_t core);
void game_turn(struct game *g); /* give one if somebody wants and may have it */
void game_turn_over(struct game *g);
/* One step of time: endings, ghosts that come back, an hour's budget now and then. */
void game_tick(struct game *g);

/* Put a unit to run without a rule (a start state). False: no room. */
bool game_place(struct game *g, uint32_t id);
/* Entitlements, rights and labels for the present job set. */
void game_compute(struct game *g);
/* Everything of one border. Returns decisions (a plan is one). */
unsigned game_border(struct game *g);

bool game_runs(const struct game *g, uint32_t id);
int64_t game_use(const struct game *g, uint32_t queue); /* of resource 0, in R */
struct rights_phi game_phi(const struct game *g);

/* Used by the driver, and by whoever plays by hand. */
bool game_fits(struct game *g, uint32_t id, const uint32_t *victims, uint32_t n);
bool game_fits_now(struct game *g, uint32_t id); /* ... and nothing ends in its way */
void game_apply(struct game *g, const struct rights_plan *plan);
void game_gather(struct game *g); /* lists and demands after a change of jobs */

/* reclaim-check.c */
void game_fault(struct game *g, const char *what, uint32_t id);
/* After a decision that began at `before`: potential lower, rights unmoved, labels
 * right. */
void game_check(struct game *g, struct rights_phi before, bool k2_may_move);
/* ... of these, what a computation must have given. any_own_order: they all fit. */
void game_check_rights(struct game *g, bool any_own_order, bool k2_may_move);
/* game_compute, held against the text from the labels as they were. */
void game_compute_checked(struct game *g);
/* K1 and K2 by the text, from the labels: marks into ret, by id. */
void game_rights_by_text(struct game *g, bool any_own_order, uint32_t *ret);
/* Is the plan legal by the text (whether the unit fits aside)? */
bool game_legal_by_text(struct game *g, const struct rights_plan *plan);

#endif
