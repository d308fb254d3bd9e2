/* timeline.h - the whole GPUs that are free on each node, over time to come
 *
 * Nodes are ranks 0 .. n-1 in topology order, so a domain is one range of ranks. A
 * booking takes g GPUs of a node during [from, until); releasing the same g, from and
 * until takes it back exactly, in any order, also when time has passed in between or
 * only the rest [x, until) is given back. What lies before `now` is forgotten. A node
 * may be booked beyond what it has (the world overcommits): its free count is then
 * negative, and it is offered to nobody during that time; one more than 128 below zero
 * is offered to nobody at all until that has passed.
 *
 * The count is all it knows: devices, GPU types and CPUs are the caller's (one timeline
 * a GPU type, `usable` for everything else). A running claim is booked
 * [start, start + limit), one without a limit until TIMELINE_FOREVER. One that outlives
 * its `until` has to be booked on by the caller.
 *
 * Answers depend on what is booked, never on the order in which it was.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TIMELINE_H
#define MUSTER_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

enum {
    TIMELINE_GPUS_MAX = 64, /* of one node */
    TIMELINE_ROW = 16       /* ranks that share one profile: 0-15, 16-31, ... */
};
#define TIMELINE_FOREVER INT64_MAX

struct timeline;

/* Times are microseconds, 0 <= now. gpus[rank]: what each node has, NULL: 0 each. */
struct timeline *timeline_create(uint32_t nnodes, const uint8_t *gpus, int64_t now);
void timeline_destroy(struct timeline *t); /* NULL is fine */
/* A copy to try things on; `into` is made equal to t and keeps its memory. */
struct timeline *timeline_clone(const struct timeline *t);
void timeline_copy(struct timeline *into, const struct timeline *t);

/* Time goes on to `now` (never back); O(1), the rows are trimmed when next touched. */
void timeline_advance(struct timeline *t, int64_t now);
/* The node has so many GPUs from now on; bookings stay. */
void timeline_capacity(struct timeline *t, uint32_t rank, uint32_t gpus);

/* O(log s + segments covered), s = segments of the row. What is before now counts for
 * nothing; an empty time (until <= from) too. gpus <= TIMELINE_GPUS_MAX. */
void timeline_book(struct timeline *t, uint32_t rank, uint32_t gpus, int64_t from,
                   int64_t until);
void timeline_release(struct timeline *t, uint32_t rank, uint32_t gpus, int64_t from,
                      int64_t until);
/* Least free GPUs during [from, until), from <= until; negative: overcommitted. */
int32_t timeline_free(const struct timeline *t, uint32_t rank, int64_t from,
                      int64_t until);
/* start + duration, TIMELINE_FOREVER when that is beyond 64 bits. */
static inline int64_t timeline_end(int64_t start, int64_t duration_us)
{
    int64_t end;
    return __builtin_add_overflow(start, duration_us, &end) ? TIMELINE_FOREVER : end;
}

struct timeline_seat {
    uint32_t rank;
    uint32_t tasks;
};
/* The same for tasks x gpus on each seat (at most 64 on one); ranks ascending, each
 * once. One pass a row, so a gang costs its rows rather than its nodes. */
void timeline_book_seats(struct timeline *t, const struct timeline_seat *seats,
                         uint32_t nseats, uint32_t gpus, int64_t from, int64_t until);
void timeline_release_seats(struct timeline *t, const struct timeline_seat *seats,
                            uint32_t nseats, uint32_t gpus, int64_t from,
                            int64_t until);

struct timeline_range {
    uint32_t lo, hi; /* ranks lo .. hi-1 */
};

struct timeline_ask {
    uint32_t ntasks;   /* at least 1 */
    uint32_t gpus;     /* of each task, 1 .. 64 */
    uint32_t per_node; /* most tasks on one node; 0: as many as fit */
    /* The gang lies inside one of these, any of them; none: anywhere. Borrowed. */
    const struct timeline_range *domains;
    uint32_t ndomains;
    const uint64_t *usable; /* bitset of ranks it may use, NULL: all. Borrowed. */
    int64_t duration_us;    /* > 0; TIMELINE_FOREVER: no limit */
    int64_t not_before;     /* earliest start; before now means now */
    int64_t not_after;      /* latest start that helps; = not_before: then or never */
};

struct timeline_found {
    int64_t start;
    uint32_t domain;                 /* index in ask->domains; 0 if there are none */
    VEC(struct timeline_seat) seats; /* by rank; memory is reused */
};
void timeline_found_done(struct timeline_found *found);

/* The earliest start within [not_before, not_after] and where: of the domains that can
 * hold the gang then, the one with the fewest places for such tasks during its time,
 * then the one with fewer ranks, then the first in the list. In it a lone task goes to
 * the node with the fewest GPUs free during its time; a gang to the fewest nodes,
 * those with the most places first; the lowest ranks where that leaves a choice.
 * Nothing is booked. False: no such start; *ret is then undefined but for its memory.
 * An ask whose tasks never fit is answered false. */
bool timeline_earliest(struct timeline *t, const struct timeline_ask *ask,
                       struct timeline_found *ret);

/* `own` is booked for this ask at own->start. Look for an earlier start with the own
 * booking lifted; if there is one, book it instead, write it to own and say true. Else
 * everything is as before. So a promise can never move later. */
bool timeline_improve(struct timeline *t, const struct timeline_ask *ask,
                      struct timeline_found *own);

/* A full conservative plan: each ask in turn is booked on t at its earliest start, so
 * no later one delays an earlier one. ret_start[i]: its start, -1: never. Use a clone
 * where the bookings are not wanted. Same starts and bookings as timeline_earliest and
 * timeline_book_seats one by one, but far cheaper. Returns how many have a start. */
uint32_t timeline_plan(struct timeline *t, const struct timeline_ask *asks, uint32_t n,
                       int64_t *ret_start);

/* Asserts all that must hold. */
void timeline_check(const struct timeline *t);
/* Is the same free on each node at all times from now on? For tests: slow. */
bool timeline_equal(const struct timeline *a, const struct timeline *b);
size_t timeline_bytes(const struct timeline *t); /* all memory it holds */

#endif
