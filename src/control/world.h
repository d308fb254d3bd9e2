/* world.h - what a world is to the loop: it brings events and carries decisions out
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_WORLD_H
#define MUSTER_WORLD_H

#include "event/records.h"

struct world {
    const char *name;
    uint32_t caps; /* enum capability bits */
    bool trusted;  /* its events are made by our own code: event_check may be left out */
    /* Put the facts of one instant into batch (at most `most`), each with its `at`, in the
     * order ends, nodes, arrivals, the rest, each by name. due: when the core wants
     * EV_TIME; a world whose clock reaches it first adds that event. `each`: the policy's
     * "border: each", one arrival a batch. Returns 1, 0 when the world is over, or -errno.
     * A REC_WORD stands before the first use of its word. */
    int (*wait)(struct world *w, int64_t due, uint32_t most, bool each, struct records *batch,
                struct err *err);
    /* Carry decisions out; called only when they are durable. `would` ones are not sent. */
    int (*act)(struct world *w, const struct records *decisions, struct err *err);
    /* An event of this batch cannot be taken, why says why (the disk is full): whoever sent it
     * is to be told. NULL: the run stops with why instead. */
    void (*refused)(struct world *w, const struct record *r, const struct err *why);
};

#define BATCH_MAX 4096u

#endif
