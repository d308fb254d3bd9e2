/* victims.h - the cheapest running work to stop so that a gang finds room in one domain
 *
 * A victim is a gang, or a part of one that may go alone (steps above its minimum): it
 * goes whole, on every node it stands on. An index of all that runs is kept between
 * questions; a question names candidate domains (ranges of node ranks), n tasks of one
 * shape, and who may be stopped; the answer is one domain and the set of victims that
 * is least in this order: cost, GPUs freed, number of victims, then the set that has
 * the lowest tie rank in which the two differ. So the answer does not depend on the
 * order in which anything was added, and no victim of it could be spared. What is free
 * already costs nothing.
 *
 * Costs grow with time while a job computes, so a victim's cost is a line: cost + rate
 * x `at` of the question (rate: its GPUs, for GPU-microseconds lost since a checkpoint,
 * with cost = save and restart cost - rate x the time of the checkpoint). rate 0: a
 * plain cost. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SCHED_VICTIMS_H
#define MUSTER_SCHED_VICTIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum {
    VICTIMS_NONE = UINT32_MAX, /* no victim, no domain */
    VICTIMS_CLASSES = 64,      /* classes are 0 .. 63 */
    VICTIMS_SLOTS_MAX = 64,    /* more tasks of one question on one node: never */
    VICTIMS_LOCALS = 128, /* victims on one node that count: the cheapest that matter */
    VICTIMS_STEPS_DEFAULT = 1 << 16, /* of one question, see victims_ask.steps */
};
/* Costs at the time of a question are held within 0 and this (36,000 GPU-years in
 * microseconds), so that sums cannot overflow. */
#define VICTIMS_COST_MAX ((UINT64_C(1) << 60) - 1)

/* Whole GPUs the asker could use, and what comes with them. What a question does not
 * need is 0 in its `need`; what a node is not asked about may be 0 everywhere. */
struct victims_room {
    int64_t gpu;
    int64_t cpu_milli;
    int64_t mem_bytes;
};

/* What is freed on one node when the victim goes. All zero is allowed, and frees
 * nothing. */
struct victims_seat {
    uint32_t node; /* rank */
    struct victims_room frees;
};

struct victims_spec {
    uint64_t tie;  /* unique among the victims in the index: their total order */
    int64_t cost;  /* may be negative where rate is not 0 */
    uint32_t rate; /* cost of one more unit of `at` */
    uint8_t class; /* below VICTIMS_CLASSES; for victims_ask.classes */
    uint32_t nseats;
    const struct victims_seat
        *seats; /* borrowed for the call; each node at most once */
};

struct victims; /* the index, opaque */

/* Nodes are ranks 0 .. nodes-1 with nothing free and not usable. */
struct victims *victims_create(uint32_t nodes);
void victims_destroy(struct victims *v); /* NULL is fine */

/* What is free on the node now, and whether the asker's kind may run there at all (up,
 * of the right GPU type: one index a GPU type). Negative room is allowed and means a
 * debt. */
void victims_node(struct victims *v, uint32_t node, const struct victims_room *free,
                  bool usable);
/* Returns the victim's id: small, reused after removal. O(seats). */
uint32_t victims_add(struct victims *v, const struct victims_spec *spec);
/* Its room is not added to what is free: victims_node says that. O(seats x victims
 * there) */
void victims_remove(struct victims *v, uint32_t id);
/* Another line or class for the same seats (a checkpoint, a change of queue). */
void victims_price(struct victims *v, uint32_t id, int64_t cost, uint32_t rate,
                   uint8_t class);
uint32_t victims_count(const struct victims *v);

/* May this victim be stopped for the asker; may its tasks run on this node? Asked
 * lazily, of victims and nodes that are about to matter: O(those), not O(all). Must be
 * pure. */
typedef bool (*victims_allowed_f)(void *arg, uint32_t id);
typedef bool (*victims_usable_f)(void *arg, uint32_t node);

struct victims_domain {
    uint32_t lo, hi; /* ranks [lo, hi) */
};

struct victims_ask {
    const struct victims_domain *domains; /* borrowed; the tasks stand in one of them */
    uint32_t ndomains;
    uint32_t tasks;            /* n > 0 */
    uint32_t per_node;         /* at most so many tasks on a node; 0: as many as fit */
    struct victims_room need;  /* of one task; not all zero, none negative */
    int64_t at;                /* the time for cost lines */
    uint64_t classes;          /* bit c: victims of class c may go */
    victims_allowed_f allowed; /* NULL: all of those classes */
    victims_usable_f usable;   /* NULL: all usable nodes */
    void *arg;
    /* Counted steps, one is one look at one node: the search stops soon after so many,
     * with the best set so far (each domain that may still be better is looked at once,
     * until twice as many are spent). 0: VICTIMS_STEPS_DEFAULT. */
    uint32_t steps;
};

enum victims_verdict {
    VICTIMS_IMPOSSIBLE = 0, /* by counting: too little even if all that may go, goes */
    VICTIMS_FOUND,
};

struct victims_place {
    uint32_t node; /* rank */
    uint32_t tasks;
};

/* Zero it before its first use; victims_answer_done frees the lists. */
struct victims_answer {
    enum victims_verdict verdict;
    uint32_t domain; /* index into ask.domains; the lowest lo, then hi, where equal */
    VEC(uint32_t) victims;            /* ids by tie; empty: free room is enough */
    VEC(struct victims_place) places; /* by node; together ask.tasks */
    uint64_t cost, gpus;              /* of the victims, all their nodes */
    uint64_t bound;                   /* no set costs less */
    bool proven;                      /* bound == cost */
    uint32_t steps;                   /* counted; the same on each machine */
    uint32_t most; /* IMPOSSIBLE: the most tasks that any one domain could hold */
};

/* Answers in *ret (lists reused). Changes only scratch memory of v. */
void victims_find(struct victims *v, const struct victims_ask *ask,
                  struct victims_answer *ret);
void victims_answer_done(struct victims_answer *a);

/* Recompute what is cached, and compare: for tests. Returns false on any difference. */
bool victims_check(const struct victims *v);

#endif
