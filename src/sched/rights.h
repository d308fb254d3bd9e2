/* rights.h - who is owed room: the sets K1 and K2, labels, legal plans, the potential
 * Pure. One idea: a right depends on the set of live jobs, never on what happens to
 * run.
 *
 * A unit is the core of a gang (its minimum, all or nothing) or one step above it
 * (which needs its core). U: the units of live jobs that an empty healthy cluster could
 * place; a unit that never fits is not given to this module. R in U: running, issued or
 * planned. Only a unit of K = K1 + K2 may evict, only a unit outside may be evicted;
 * what starts without a right is lent and goes back on demand.
 *
 * K1, for each leaf: go through its units by (priority descending; cores before steps;
 * turn, own, rest; own ones by cost to evict descending, the others by submitted,
 * name). Take a unit if the sum stays within E of the leaf in every resource it uses, a
 * step only if its core is taken. A rejected due core of the rest that E could hold
 * alone closes K1 to the rest behind it.
 *
 * K2, if the policy lets priorities reach across queues: through all units outside K1,
 * in one list by (priority descending; cores before steps; labelled first; submitted,
 * name). Take a unit if K1 + K2 stays within the cap of each queue above it and the
 * root's occupied within capacity: occupied(leaf) = max(use, min(keep, E)),
 * occupied(inner) = max(sum of its children's, min(keep, E)).
 *
 * Labels: after each computation own = K1 and R, own2 = K2 and R. They are state. A
 * label counts only while its unit is in R.
 *
 * Why it ends. Between outside events our decisions move neither E nor K1: "sum within
 * E" is closed under subsets, so moving a taken unit forward in line changes nothing,
 * and the only moves are K-units that become own. Every start lowers the potential
 * (|K1 \ R|, |K2 \ R|, |U \ R|), compared in that order.
 *
 * How to call it. The caller numbers its units (ids, reused at will), keeps their
 * records in one array and, for each leaf, a list of the ids of all its live units in
 * *line order*: (priority descending, cores before steps, submitted, name). With
 * `across` it also keeps one such list of all leaves. It sets RUNNING by rights_started
 * and rights_stopped, DUE and GHOST (evicted, keeps demand and place, cannot start) by
 * hand, and rights.turn. Own-first needs no sort: K1 as it was lists the own units
 * already, in order.
 *
 * - A unit comes: its record, its id into the lists, entitle_demand_add; its leaf is
 *   stale.
 * - A unit goes: rights_stopped if it ran, rights_forget, out of the lists,
 *   entitle_demand_add (-1); its leaf is stale.
 * - Border: entitle_run; rights_leaf for stale leaves and for those whose E changed and
 *   K1 does not stand (rights_leaf_stands); rights_across; then starts.
 * - Decision: rights_started or rights_stopped. No recomputation: K stands.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_RIGHTS_H
#define MUSTER_RIGHTS_H

#include "sched/entitle.h"

#define RIGHTS_NONE UINT32_MAX

enum rights_mark {
    RIGHTS_RUNNING = 1 << 0, /* in R */
    RIGHTS_DUE = 1 << 1,     /* waited longer than patience; goes when it becomes own */
    RIGHTS_GHOST = 1 << 2,   /* evicted, its owner has not brought it back yet */
    RIGHTS_OWN = 1 << 3,     /* label: state */
    RIGHTS_OWN2 = 1 << 4,    /* label: state */
    RIGHTS_K1 = 1 << 5,
    RIGHTS_K2 = 1 << 6,
    RIGHTS_SEEN = 1 << 7 /* scratch */
};

struct rights_unit { /* what a walk reads */
    int32_t priority;
    uint32_t need; /* row in the table of needs */
    uint32_t core; /* of a step: its core's id; RIGHTS_NONE: it is a core */
    uint32_t leaf;
    uint32_t marks; /* enum rights_mark */
};

struct rights_place { /* what only ties, orders and plans read */
    int64_t submitted;
    int64_t cost;           /* to evict it; as of now */
    uint32_t rank;          /* of its name, among equal submitted */
    uint32_t steps;         /* of a core: its live steps; the caller sets it */
    uint32_t steps_running; /* ... those in R: kept by rights_started, rights_stopped */
};

/* What the caller keeps; all borrowed. Units and places are indexed by id. Needs: one
 * row a distinct vector, needs[row * nresources + r]; most units share few. */
struct rights_pool {
    uint32_t nresources, nneeds;
    const int64_t *needs;
    struct rights_unit *units;
    struct rights_place *places;
};

struct rights_list {
    uint32_t *ids; /* in line order */
    uint32_t n;
    /* The rows its units need, or more: when none of them fits any more the walk ends.
     * NULL: it goes to the end. */
    const uint32_t *rows;
    uint32_t nrows;
};

typedef VEC(uint32_t) rights_ids;

/* Zero it, then rights_setup. It holds K1 and K2 as lists; everything else is in marks.
 */
struct rights {
    uint32_t nnodes;
    uint32_t nresources;
    rights_ids *k1;      /* by leaf: ids in walk order */
    int64_t *sum;        /* of K1, by leaf: a row of resources */
    int64_t *low, *high; /* by leaf: K1 stands while low <= E < high everywhere */
    rights_ids k2;
    rights_ids changed; /* ids that joined or left K1 or K2; the caller clears it */
    uint32_t turn;      /* the unit that has the turn, set by the caller; RIGHTS_NONE */
    rights_ids own, alive, fresh;
    VEC(uint32_t) dead; /* by row of needs: stamp of the walk that found it too big */
    uint32_t stamp;
    int64_t *use, *below; /* of K1 + K2, by node: scratch of rights_across */
};

void rights_setup(struct rights *r, uint32_t nnodes, uint32_t nresources);
void rights_done(struct rights *r);

/* K1 of one leaf by its entitlement (a row of resources), and its own labels. Returns
 * whether K1 changed as a set; then `changed` names who joined or left.
 * O(K1 before and after, plus what is walked before nothing smaller is left). */
bool rights_leaf(struct rights *r, const struct rights_pool *p, uint32_t leaf,
                 struct rights_list list, const int64_t *e);
/* Would K1 of the leaf be the same with this entitlement? (Its units being the same as
 * in the last rights_leaf.) May say no where it would. O(resources): a small change of
 * E that spreads over all queues costs little more than this. */
bool rights_leaf_stands(const struct rights *r, uint32_t leaf, const int64_t *e);
/* K2 and its labels; on: the policy wants it, else K2 is emptied. list: all live units
 * of all leaves in line order. Call it after rights_leaf. Returns whether K2 changed.
 * O(units + K2 x depth x resources). */
bool rights_across(struct rights *r, const struct rights_pool *p,
                   const struct entitle *e, struct rights_list list, bool on);
/* Everything: lists by node (inner nodes: n = 0), then across. */
void rights_all(struct rights *r, const struct rights_pool *p, const struct entitle *e,
                const struct rights_list *lists, struct rights_list all, bool across);
/* The labels are lost: treat every running unit of the leaf as own, once. */
void rights_adopt(struct rights *r, const struct rights_pool *p, uint32_t leaf,
                  struct rights_list list);
/* The unit leaves the job set or its leaf: before its record changes. (A new priority
 * needs no more than its new place in the lists; need, too, may change.) */
void rights_forget(struct rights *r, const struct rights_pool *p, uint32_t id);

/* The unit entered or left R by a decision or a report. A K-unit that starts becomes
 * own at once; one that stops loses its label (if no decision of ours did it: its leaf
 * is stale). */
void rights_started(const struct rights_pool *p, uint32_t id);
void rights_stopped(const struct rights_pool *p, uint32_t id);

/* Those of a leaf that would be in K1 by e0, where all weights are 0: its claims by
 * guarantee. ret: ids in walk order, cleared first. Moves nothing. */
void rights_within(struct rights *r, const struct rights_pool *p, uint32_t leaf,
                   struct rights_list list, const int64_t *e0, rights_ids *ret);

/* Orders of starts. A candidate's share is that of its queue's decayed usage: max over
 * resources of usage / (capacity x weight), in any one unit; UINT64_MAX for weight 0.
 */
struct rights_start {
    uint32_t id;
    int32_t priority;
    bool within;    /* own and across: claims by guarantee go first */
    bool victim;    /* lent: evicted for somebody who died before he started */
    uint64_t share; /* own, across: of the queue; lent: with the unit */
    int64_t submitted;
    uint32_t rank;
};
/* Does a start before b? Own and across: within guarantee, priority, lowest share,
 * submitted. Lent: victims of the dead, priority, lowest share, submitted. */
bool rights_owed_before(const struct rights_start *a, const struct rights_start *b);
bool rights_lent_before(const struct rights_start *a, const struct rights_start *b);
/* max over r of usage / (capacity x weight) in 2^-30; resources of no capacity are left
 * out. */
uint64_t rights_share(uint32_t nresources, const uint64_t *usage,
                      const int64_t *capacity, uint32_t weight);

/* Use of a set of units at each queue, to judge limits: at[node * nresources + r]. */
struct rights_use {
    uint32_t nnodes, nresources;
    int64_t *at, *spare;
};
void rights_use_setup(struct rights_use *u, uint32_t nnodes, uint32_t nresources);
void rights_use_done(struct rights_use *u);
/* Add all units that bear one of the marks: RUNNING for R, with K1 and K2 for R + K. */
void rights_use_count(struct rights_use *u, const struct entitle *e,
                      const struct rights_pool *p, const uint32_t *ids, uint32_t n,
                      uint32_t marks);
/* Add (1) or take away (-1) a need at a leaf and above it. O(depth x resources). */
void rights_use_add(struct rights_use *u, const struct entitle *e, uint32_t leaf,
                    const int64_t *need, int sign);
/* Would need at leaf stay within the cap of each queue above it? The queue that
 * refuses, or RIGHTS_NONE. For a start: use of R less the victims. For a lent start:
 * use of R + K. */
uint32_t rights_over_cap(const struct rights_use *u, const struct entitle *e,
                         uint32_t leaf, const int64_t *need);
/* Would the root's occupied stay within capacity with need added at leaf? (Idle
 * guarantees that must not be lent count as occupied.) use: of R. Free for resources of
 * which the policy keeps nothing back, else O(queues) each. */
bool rights_fits_root(struct rights_use *u, const struct entitle *e, uint32_t leaf,
                      const int64_t *need);

/* A plan: start `unit` with `victims` gone. A renaming says which of equals goes: an
 * own victim and a lent unit that stays swap label and place in line (rights_rename,
 * once the plan is decided). Both are cores without steps or both are steps, of the
 * same leaf, priority and need. */
struct rights_renaming {
    uint32_t own, lent;
};
struct rights_plan {
    uint32_t unit;
    const uint32_t *victims;
    uint32_t nvictims;
    const struct rights_renaming *renamings;
    uint32_t nrenamings;
    bool within_any; /* policy: a victim of the own leaf need only be lent, not lower */
};
enum rights_verdict {
    RIGHTS_LEGAL = 0,
    RIGHTS_NOT_OWED,         /* the unit is not in K, runs already, or is a ghost */
    RIGHTS_NO_CORE,          /* a step whose core does not run or goes */
    RIGHTS_VICTIM_IDLE,      /* a victim does not run, or is named twice */
    RIGHTS_VICTIM_OWED,      /* a victim is in K1 (K2's plans: in K) */
    RIGHTS_VICTIM_NOT_LOWER, /* own leaf, or K2's plans: not of lower priority */
    RIGHTS_VICTIM_HALF,      /* a core without its running steps */
    RIGHTS_OVER_ENTITLED,    /* its queue would take from others beyond its E */
    RIGHTS_OVER_CAP,
    RIGHTS_OVER_ROOT, /* idle guarantees that must not be lent leave no room */
    RIGHTS_RENAMED_UNEQUAL
};
/* Judge the final plan. A unit of K1 takes from outside K1; from its own leaf what has
 * lower priority (or within_any); and if V reaches outside its leaf, then for each
 * queue from its leaf up to below the highest common ancestor with a victim: use after
 * the plan within E, in the resources that the unit uses. A unit of K2 takes from
 * outside K1 + K2 what has strictly lower priority. use: of R, restored afterwards. at:
 * the victim or queue that spoils it (may be NULL). */
enum rights_verdict rights_judge(const struct rights_pool *p, const struct entitle *e,
                                 struct rights_use *use, const struct rights_plan *plan,
                                 uint32_t *at);
/* Carry a renaming out: own and lent swap places in line (ids in both lists, submitted,
 * rank) and rights. all: the list for across, or n = 0. O(list). */
void rights_rename(struct rights *r, const struct rights_pool *p,
                   struct rights_list leaf, struct rights_list all,
                   struct rights_renaming which);

/* The potential: every start lowers it, in lexicographic order. */
struct rights_phi {
    uint32_t k1, k2, u; /* |K1 \ R|, |K2 \ R|, |U \ R| */
};
struct rights_phi rights_phi(const struct rights_pool *p, const uint32_t *ids,
                             uint32_t n);
bool rights_phi_less(struct rights_phi a, struct rights_phi b);

/* Starvation. When no turn is on, the due core outside K1 whose size exceeds E of its
 * leaf and whose queue's last turn is oldest gets one, if entitle_raise can hold it.
 * Candidates are such cores; last: when the leaf last had a turn (INT64_MIN: never).
 * Tries them by (last, submitted, rank); the index of the one raised, or RIGHTS_NONE.
 * The caller marks it TURN, and ends the turn with the job or after turn_max. */
struct rights_turn {
    uint32_t id;
    int64_t last;
};
bool rights_wants_turn(const struct rights_pool *p, const struct entitle *e,
                       uint32_t id);
uint32_t rights_give_turn(const struct rights_pool *p, struct entitle *e,
                          const struct rights_turn *candidates, uint32_t n);

#endif
