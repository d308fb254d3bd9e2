/* victims_index.h - what the index of victims.h keeps: private to victims*.c
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SCHED_VICTIMS_INDEX_H
#define MUSTER_SCHED_VICTIMS_INDEX_H

#include "sched/victims_search.h"

struct victim {
    uint64_t tie, gpus;
    int64_t cost;
    uint32_t rate, nseats;
    uint8_t class;
    bool used;
    uint32_t wide_at;           /* in victims.wide, or VICTIMS_NONE */
    struct victims_seat *seats; /* own, by node */
};

/* Share of a victim's weight that a seat carries: its GPUs of the victim's; of a victim
 * without any, one of its seats. */
struct local {
    uint32_t id, part, parts;
    uint8_t class;
    struct victims_room frees;
};

enum {
    ALL_UNUSABLE = INT32_MIN,
    ALL_NEVER = INT32_MIN + 1, /* what all_gpu never is */
};

/* What a question reads of every node, in 32 bytes. `line`: shares of the victims that
 * hold GPUs here, all together, rounded down. */
struct hot {
    int32_t free_gpu, all_gpu; /* all: when every victim is gone, or ALL_UNUSABLE */
    int64_t line_cost;
    uint32_t line_rate;
    uint64_t gpu_classes; /* of the victims that hold GPUs here */
};

struct cold {
    bool usable;
    struct victims_room free, all;
    /* the least of any victim here, part by part: a share of a GPU, and a whole share
     */
    int64_t gpu_cost, any_cost;
    uint32_t gpu_rate, any_rate;
    VEC(struct local) locals; /* by tie */
};

struct entry {      /* a node in a question */
    uint64_t price; /* of one task here, at least */
    uint32_t node, cap;
};

struct candidate { /* a domain in a question */
    uint64_t bound;
    uint32_t lo, hi, index;
    bool tight; /* no more room than tasks */
};

struct victims {
    uint32_t nnodes, count;
    struct hot *hot;
    struct cold *cold;
    VEC(struct victim) victims;
    VEC(uint32_t) unused; /* ids */
    VEC(uint32_t) wide;   /* those with GPUs on several nodes, in no order */
    /* scratch of one question */
    struct hunt hunt;
    VEC(struct entry) entries, core;
    VEC(struct candidate) candidates;
    VEC(uint64_t) values, slack; /* slack: by node, where a question set it */
    VEC(uint32_t) mark;          /* by id: see victims_load.c */
    VEC(uint32_t) marked;
    VEC(struct local) pick;
    VEC(uint32_t) slots; /* by node, zero between uses */
};

/* cost + rate x at, within 0 .. VICTIMS_COST_MAX */
static inline uint64_t line_at(int64_t cost, uint32_t rate, int64_t at)
{
    __int128 c = (__int128)rate * at + cost;
    if (c < 0)
        return 0;
    return c < (__int128)VICTIMS_COST_MAX ? (uint64_t)c : VICTIMS_COST_MAX;
}

/* At most so many tasks on one node. */
static inline uint32_t victims_most(const struct victims_ask *ask)
{
    return ask->per_node && ask->per_node < VICTIMS_SLOTS_MAX ? ask->per_node
                                                              : VICTIMS_SLOTS_MAX;
}

/* Load the nodes of v->core into v->hunt, in order, with the victims that may go and
 * matter. whole: they are all nodes of the domain that can hold a task. */
void victims_load(struct victims *v, const struct victims_ask *ask, bool whole);

/* Leave out victims that the answer can do without; sets its places anew. */
void victims_thin(struct victims *v, const struct victims_ask *ask,
                  struct victims_answer *a);

#endif
