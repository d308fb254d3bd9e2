/* shape.h - what one task needs of one node
 * A plain value without pointers: clear it with memset before filling, then two equal
 * shapes are equal bytes and can be interned. Words are ids of the stream's table.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SHAPE_H
#define MUSTER_SHAPE_H

#include "base/err.h"
#include "base/word.h"

enum gpu_mode { GPU_NONE = 0, GPU_WHOLE, GPU_SHARE, GPU_MIG };

enum { SHAPE_TYPES_MAX = 8, SHAPE_TAGS_MAX = 6, SHAPE_TOLERATE_MAX = 6, SHAPE_CONSTRAINTS_MAX = 6 };

enum { SHAPE_ALTS_MAX = 4 }; /* ways to ask for devices: the first, and so many less one */

/* Another way to ask for devices that would do as well. */
struct gpu_alt {
    int64_t mem_bytes; /* as gpu_mem_bytes */
    uint32_t mode, count, milli;
    word_t profile;
};

enum constraint_kind { CONSTRAINT_NONE = 0, CONSTRAINT_NEED, CONSTRAINT_AVOID, CONSTRAINT_SPREAD };

/* need: the node (key 0) or its partition `key` carries the tag, or runs a task that does.
 * avoid: no task with the tag in the same node or partition; symmetric (a running task that
 * avoids one of our tags keeps us out too).
 * spread: tasks with the tag differ by at most max_skew between the partitions of `key`. */
struct constraint {
    uint32_t kind; /* enum constraint_kind */
    uint32_t hard; /* 1: must; 0: only scores, by weight */
    uint32_t weight;
    word_t tag;
    word_t key; /* partition key; 0: the node itself */
    uint32_t max_skew;
};

struct shape {
    int64_t cpu_milli;
    int64_t mem_bytes;
    int64_t gpu_mem_bytes; /* a device, for share; 0: not asked for */
    uint32_t pod_slots;    /* normally 1 */
    uint32_t nics;
    uint32_t gpu_mode;     /* enum gpu_mode */
    uint32_t gpu_count;    /* devices */
    uint32_t gpu_milli;    /* of each device: 1000 for whole; 1..999 for share */
    word_t profile;        /* mig: the profile's name */
    uint32_t ntypes;       /* acceptable GPU types; 0: any */
    struct {
        word_t type;
        uint32_t speed_milli; /* 1000: as fast as the job's run time says; 0: unknown, 1000 */
    } types[SHAPE_TYPES_MAX];
    uint32_t ntags; /* tags that the task itself carries */
    word_t tags[SHAPE_TAGS_MAX];
    uint32_t ntolerate; /* taints it tolerates */
    word_t tolerate[SHAPE_TOLERATE_MAX];
    uint32_t nconstraints;
    struct constraint constraints[SHAPE_CONSTRAINTS_MAX];
    uint32_t nalts; /* further ways to ask for GPUs, the preferred first */
    struct gpu_alt alts[SHAPE_ALTS_MAX - 1];
};

/* The shape with its i-th way to ask for GPUs (0: the one in gpu_*) as the only one; what is
 * not there is 0's. */
void shape_choose(const struct shape *s, uint32_t i, struct shape *ret);

/* GPU demand in milli: count x milli of each. (mig: 1000 x the profile's fraction is not
 * known here; counts as gpu_milli, which the reader of the profile fills.) */
static inline uint64_t shape_gpu_milli(const struct shape *s)
{
    return (uint64_t)s->gpu_count * s->gpu_milli;
}

/* Bounds and sense: negative numbers, whole with milli != 1000, share outside 1..999, ...
 * Returns 0 or -EINVAL/-ERANGE with err naming the field. */
int shape_check(const struct shape *s, struct err *err);

#endif
