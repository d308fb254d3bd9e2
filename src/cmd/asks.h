/* asks.h - what jobs ask for that the cluster does not have at all
 * A cluster file and a trace often come from different hands: "gb200" is not "GB200", a level
 * has another name. Told before a run, so that nobody reads the waits of jobs that could
 * never start. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_ASKS_H
#define MUSTER_ASKS_H

#include "cmd/scene.h"

enum asks_kind { ASKS_FINE = 0, ASKS_TYPE, ASKS_GPUS, ASKS_LEVEL, ASKS_TAG, ASKS_KINDS };

/* A name of the trace that was looked up: each stands once, so its place tells it. */
struct asks_seen {
    const char *name;
    const uint64_t *set;
    size_t len;
    bool there;
};

struct asks {
    const struct scene *scene;
    uint64_t *types, *tags, *levels; /* bits by word: what the cluster file names */
    uint64_t gpus;
    struct asks_seen *seen;
};

/* Before a run, since runs add the trace's words to the scene's. The scene is borrowed. */
void asks_init(struct asks *a, const struct scene *s);
void asks_done(struct asks *a);
enum asks_kind asks_of(const struct asks *a, const struct trace_job *j);
/* "asks for GPU type gb200: no node has it"; nothing for ASKS_FINE. */
void asks_reason(const struct asks *a, const struct trace_job *j, struct buf *out);
/* One line for each kind that occurs, and for names in the truth that the cluster lacks:
 * "1,519 of 1,521 jobs ask for GPU types that no node has: gb200, h100 (the cluster has
 * GB200)". */
void asks_warnings(const struct asks *a, struct buf *out);

#endif
