/* entitle.h - what each queue is owed of each resource: its entitlement E
 * Pure: the tree, amounts and demands go in, E comes out. E reads live jobs and the
 * policy, never what happens to run, so no decision moves it.
 *
 * Per queue n and resource: G guaranteed (absent: nothing), M max, B borrow, L lend
 * (absent: no limit), w weight; cap = min(M, G + B); keep = max(0, G - L), what must
 * not be lent.
 *
 * Demand, upward. A leaf asks for what its units need, but at least for what it must
 * not lend, and never beyond its cap: D = min(cap, max(sum of its units, keep)). So an
 * idle guarantee that may not be lent is a phantom demand. An inner queue asks the same
 * way with the sum of its children's D. The root gets E = min(D, capacity).
 *
 * Shares, downward, at p. First the guarantees that are asked for: floor_c = min(G_c,
 * D_c). If they exceed E_p, E_p is water-filled over the floors by weight G_c, and the
 * excess is reported. Else E_c = floor_c + water-fill of what is left over D_c -
 * floor_c by w_c.
 *
 * Water-fill of A over wants x by weights w: by x / w ascending (cross-multiplied, ties
 * by rank), each gets g = min(x, floor(A w / W)); then A -= g, W -= w. One pass, exact:
 * the sum of g is min(A, sum of x over w > 0). Weight 0 gets nothing beyond the
 * guarantee.
 *
 * Where the sum of D is within E_p, E is D (the floor for weight 0) and nothing
 * spreads. The order by x / w is kept between runs, so one changed demand costs a
 * merge, not a sort.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_ENTITLE_H
#define MUSTER_ENTITLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum { ENTITLE_RESOURCES_MAX = 16 };
#define ENTITLE_ABSENT INT64_MAX

/* Queues in topological order: [0] is the root, parent[i] < i. Tables have one row a
 * queue and one column a resource: at[queue * nresources + r]. No amount is negative.
 */
struct entitle_tree {
    uint32_t nnodes, nresources; /* both at least 1 */
    const uint32_t *parent;      /* [0] is not read */
    const uint32_t *weight;
    const uint32_t *rank; /* of names, for ties; NULL: the index */
    const int64_t *guaranteed, *max, *borrow, *lend; /* ENTITLE_ABSENT: nothing said */
};

/* Zero it, then entitle_setup. Rows of cap, keep, e, e0 may be read by anybody. */
struct entitle {
    uint32_t nnodes, nresources;
    uint32_t *parent, *weight, *rank;
    uint32_t *first,
        *child;          /* children of n: child[first[n]] .. child[first[n + 1] - 1] */
    int64_t *guaranteed; /* as the policy says; absent is 0 */
    int64_t *owed;       /* ... raised by a turn: what floors are made of */
    int64_t *cap, *keep, *d;
    int64_t *e;       /* entitlement */
    int64_t *e0;      /* entitlement if all weights were 0: guarantees alone */
    uint16_t *exceed; /* resources in which the guarantees below exceed what is there */
    __int128 *wanted; /* leaf: its units; inner: sum of its children's d */
    uint32_t *order;  /* [resource * nnodes + slot]: children by x / w, as last time */
    uint16_t *stale;  /* resources to be shared out anew below this queue */
    uint64_t *stale_at; /* bitset of those queues */
    int64_t capacity[ENTITLE_RESOURCES_MAX];
    uint32_t kept;         /* resources of which some queue must not lend all */
    uint32_t raised;       /* leaf with a turn, UINT32_MAX: none */
    VEC(uint32_t) changed; /* leaves whose e changed in the last run, ascending */
    void *scratch;
};

/* Copies the tree. All demands and capacities are 0 afterwards, no turn is on. */
void entitle_setup(struct entitle *e, const struct entitle_tree *tree);
void entitle_done(struct entitle *e);

void entitle_capacity(struct entitle *e, const int64_t *capacity);
/* What the leaf's live units need together, now or in addition (sign 1) or less (-1).
 * O(depth x resources). */
void entitle_demand(struct entitle *e, uint32_t leaf, const int64_t *units);
void entitle_demand_add(struct entitle *e, uint32_t leaf, const int64_t *need,
                        int sign);

/* Bring e and e0 up to date; e->changed then lists the leaves that got another e.
 * Returns whether there is one. Only queues below a change are visited; a run with no
 * change is free. O(queues x resources x log fan-out) at most. */
bool entitle_run(struct entitle *e);
/* The same from scratch, for whoever trusts no increments. changed: as above. */
bool entitle_run_all(struct entitle *e);

/* A turn: raise what is owed to the leaf to size, and on its path by as much (at least
 * to size), if e then holds size and still gives every other leaf min(G, D) in all
 * resources. Runs; true: done and kept until entitle_unraise, e->changed lists what
 * moved since the last run. False: nothing is raised. Only one turn at a time. */
bool entitle_raise(struct entitle *e, uint32_t leaf, const int64_t *size);
/* A turn that was given before a snapshot: raised unasked; the next run sees it. */
void entitle_raise_again(struct entitle *e, uint32_t leaf, const int64_t *size);
void entitle_unraise(struct entitle *e); /* the next run sees it */

static inline bool entitle_is_leaf(const struct entitle *e, uint32_t n)
{
    return e->first[n] == e->first[n + 1];
}

static inline const int64_t *entitle_row(const struct entitle *e, const int64_t *table,
                                         uint32_t n)
{
    return table + (size_t)n * e->nresources;
}

#endif
