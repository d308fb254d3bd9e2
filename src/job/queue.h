/* queue.h - the tenant tree: what each queue is owed, may have, and lets muster do
 * queues[0] is the root; a child stands behind its parent. Leaves hold jobs: a job names
 * its queue by the leaf's name, which is unique in the tree. Amounts are per resource, in
 * milli-GPUs, milli-cores and bytes; QUOTA_ABSENT means that nothing was said (a guarantee
 * of nothing, otherwise no limit).
 * Formulas: sched/entitle.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_QUEUE_H
#define MUSTER_QUEUE_H

#include "base/err.h"
#include "base/str.h"

enum {
    QUEUES_MAX = 4096,
    QUEUE_DEPTH_MAX = 8,
    QUEUE_WEIGHT_MAX = 1000000,
    QUOTA_RESOURCES_MAX = 16,
    QUEUE_NAME_MAX = 253
};
#define QUOTA_ABSENT INT64_MAX
#define QUEUE_NONE 0xffffffffu

/* What muster may do to the jobs of a queue; each rung allows those below it. */
enum queue_authority {
    AUTHORITY_OBSERVE = 0, /* decide and explain, carry nothing out */
    AUTHORITY_PLACE,       /* start what waits */
    AUTHORITY_REPAIR,      /* ... and stop and replace members of broken gangs */
    AUTHORITY_EVICT,       /* ... and stop what runs for somebody with a right */
    AUTHORITY_MOVE         /* ... and move what runs to make whole domains */
};

enum quota_kind { QUOTA_GPU = 0, QUOTA_CPU, QUOTA_MEM };

struct quota_resource {
    uint8_t kind;    /* enum quota_kind */
    struct str type; /* of GPUs: only this type; empty: all types together */
};

struct queue_amounts { /* one row a queue, one column a resource of the tree */
    int64_t guaranteed[QUOTA_RESOURCES_MAX];
    int64_t max[QUOTA_RESOURCES_MAX];
    int64_t borrow[QUOTA_RESOURCES_MAX]; /* above the guarantee at most */
    int64_t lend[QUOTA_RESOURCES_MAX];   /* of the guarantee at most */
    int64_t user_max[QUOTA_RESOURCES_MAX];
};

struct queue_spec {
    struct str name;
    uint32_t parent; /* index; QUEUE_NONE for the root */
    uint32_t depth;  /* root 0 */
    uint32_t nchildren;
    uint32_t weight; /* of what is shared beyond guarantees; 0: nothing beyond, but loans */
    uint8_t authority;           /* enum queue_authority */
    int64_t value_most_milli_h;  /* a job's stated value counts up to this; 0: not at all */
    struct queue_amounts amounts;
};

struct queue_tree {
    uint32_t nresources, nqueues;
    struct quota_resource resources[QUOTA_RESOURCES_MAX];
    struct queue_spec *queues;
};

/* The queue of that name; QUEUE_NONE: none has it. O(queues). */
uint32_t queue_tree_find(const struct queue_tree *t, struct str name);
/* Parents before children, unique names, depth, weights, no negative amount, guarantee <=
 * max. 0, or -EINVAL/-ERANGE with err naming queue and field. */
int queue_tree_check(const struct queue_tree *t, struct err *err);
const char *queue_authority_name(int authority);

#endif
