/* place.h - finds room for a gang, as one transaction (private to sched)
 * Nothing is changed when a call returns: what an attempt takes goes on the trail and is
 * given back. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_PLACE_H
#define MUSTER_PLACE_H

#include "sched/board.h"
#include "sched/state.h"

struct pick {
    uint32_t slot;  /* of the gang */
    uint32_t shape;
    struct use use; /* with its node */
    bool over;      /* somebody else who is to be stopped is there still */
};

enum { OVER_MEMO = 32 };

/* Claims of a reservation that hold something now; good for one version of it. */
struct kept {
    uint64_t version;
    VEC(uint32_t) claims; /* in the order of the slots */
};

struct scratch { /* may be thrown away at any record */
    struct scoring scoring;
    struct board *board;
    bool ready;
    bool fewest, pack;       /* the scorer is fewest-free, or pack */
    bool by_lanes;           /* whole GPUs go by counts: fewest-free, and pack in a tree */
    bool keeps_whole;        /* the same two in a tree: broken domains are filled first */
    VEC(struct pick) plan;   /* what the last attempt found, in slot order of each leaf */
    VEC(uint64_t) fits;      /* capacities of candidate domains */
    VEC(uint32_t) where;     /* by slot of the gang that is mended: its node */
    VEC(uint64_t) spread;    /* fault domain value << 32 | slots in it */
    VEC(struct use) lifted;  /* of spares and whom they are lent to, given back for a question */
    VEC(uint32_t) evict;     /* gangs that the plan takes spares back from */
    /* questions over what reservations keep that were refused: by reservation and width the
     * version they were refused at; by gang (modulo) the version of all of them */
    uint64_t over_failed[OVER_MEMO][OVER_MEMO];
    uint64_t over_version[OVER_MEMO];
    uint32_t over_gang[OVER_MEMO];
    VEC(struct kept) kept;   /* by reservation */
    uint32_t best_placed;    /* most tasks that an attempt placed, for the reason */
};

/* The scorer and its memo, made ready for the policy and the tree as they are. */
struct scratch *scratch_ready(struct sched *s);

/* Room for the whole gang (every open slot, at its wanted size, or the largest size that
 * fits, not below its minimum): true, and the plan in scratch. Else why says what lacks. */
bool place_gang(struct sched *s, uint32_t gang, struct why *why);
/* A gang of one on that node and no other. */
bool place_on(struct sched *s, uint32_t gang, uint32_t node);
/* Room for slots of a started gang that lack a claim, near the others: for all that have
 * some, whatever the rest lacks. */
bool place_missing(struct sched *s, uint32_t gang, struct why *why);
/* Room for more members of a gang that is whole, as many as it may have and there is. */
bool place_growth(struct sched *s, uint32_t gang, struct why *why);

/* fill.c: up to n tasks of one leaf's shape under a domain; each goes on the trail. */
struct asker { /* what a leaf asks of each of its tasks */
    uint32_t shape;
    const struct shape *sh;
    uint64_t types;      /* dense types that will do */
    bool widest;         /* the emptiest node rather than the tightest */
    word_t spread_kind;  /* fault kind with a cap; 0: none */
    uint32_t spread_most;
    uint32_t spread_lo, spread_hi; /* the slots of the gang that share the cap */
};
uint64_t asker_fit(const struct sched *s, const struct asker *a, uint32_t domain);
/* Tasks of the shape that one node takes now, by what it has least of: an upper bound. */
uint64_t node_takes(struct sched *s, const struct asker *a, uint32_t node);
/* Tasks that the nodes under the domain would take one by one, as far as `need`: an upper
 * bound that asks each node. O(nodes under it). */
uint64_t asker_takes(struct sched *s, const struct asker *a, uint32_t domain, uint64_t need);
uint32_t fill_domain(struct sched *s, const struct asker *a, uint32_t domain, uint32_t n);
uint32_t fill_node(struct sched *s, const struct asker *a, uint32_t node, uint32_t n);
/* The best node for one task under the domain; takes it. */
bool fill_one(struct sched *s, const struct asker *a, uint32_t domain, uint64_t serial);
/* The node's fault domain of a kind (or topology level); 0: has none. */
word_t fault_of(const struct sched *s, uint32_t node, word_t kind);
/* The tightest of n capacities that holds `rest`, else the roomiest; UINT32_MAX: none. */
uint32_t choose_child(const uint64_t *fits, uint32_t n, uint64_t rest);
/* The domains of a depth under d: [*lo, *hi) (the tree is breadth first). d itself for its
 * own depth; empty above it. */
void domain_span(const struct cluster *c, uint32_t d, uint32_t depth, uint32_t *lo,
                 uint32_t *hi);
/* Most GPUs of acceptable types on one node, free or not. */
uint32_t widest_lane(const struct sched *s, uint64_t types);
/* The same without taking it. */
bool find_one(struct sched *s, const struct asker *a, uint32_t domain, uint64_t serial,
              struct use *ret);
void trail_undo(struct sched *s, uint32_t to);

/* place.c, for mend.c too */
struct attempt {
    struct sched *s;
    uint32_t gang;
    const struct tree *tree;
    const struct tree_root *root;
    uint32_t size[JOB_GROUPS_MAX]; /* by leaf of the root: tasks of one copy */
    uint32_t copy[JOB_GROUPS_MAX]; /* by leaf: next copy */
    uint32_t level_tried;          /* depth that the reason speaks of */
    word_t unknown_level;          /* asked for, but no level of this cluster */
    bool alternatives;             /* some leaf has several ways to ask for GPUs */
    uint32_t take[JOB_GROUPS_MAX][SHAPE_ALTS_MAX]; /* then: tasks of each leaf by each way */
};

/* What a task of the leaf's copy asks, with the shape it has. */
struct asker asker_for(struct attempt *at, const struct tree_leaf *l, uint32_t copy,
                       uint32_t shape);
/* Where a search for the shape starts inside domain: the nodes with a tag it must have. */
uint32_t search_domain(struct sched *s, const struct shape *sh, uint32_t domain);
uint32_t level_depth(const struct sched *s, word_t level); /* UINT32_MAX: none, unknown */
bool under(const struct tree *t, uint16_t g, uint16_t top); /* g is top, or below it */
/* What a task of the leaf's next copy asks. */
struct asker asker_of(struct attempt *at, const struct tree_leaf *l);
bool has_alts(const struct attempt *at, const struct tree_leaf *l); /* ways to ask for GPUs */
/* refusal.c: what the failed attempt lacked. */
void explain_refusal(struct attempt *at, struct why *why);
/* Give everything back but keep the picks. */
void attempt_close(struct sched *s);

#endif
