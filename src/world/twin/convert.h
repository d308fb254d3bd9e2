/* convert.h - a trace's row as the job spec that the scheduler sees
 * Up to gpus_per_node GPUs are one task. More are a gang: GPUs div gpus_per_node tasks that
 * fill a node and one task for the remainder (12 = 8 + 4), under one whole root. Where the
 * trace fixes the number of nodes, that many tasks, as equal as they can be; the parts of
 * a heterogeneous job are one leaf each. Shares are one device a task. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CONVERT_H
#define MUSTER_CONVERT_H

#include "base/rng.h"
#include "base/vec.h"
#include "job/spec.h"
#include "trace/trace.h"
#include "world/twin/truth.h"

enum { CONVERT_WORD_BITS = 6 };

struct convert_word { /* a text and its id: traces repeat themselves */
    struct str text;
    word_t id;
};

/* A tree of groups made once for all rows that ask for the same. */
struct convert_tree {
    struct trace_job asks; /* only what the tree depends on is compared */
    uint32_t ngroups, nshapes;
    const struct group_spec *groups;
    const struct shape *shapes;
};

struct convert {
    struct words *words;
    uint32_t gpus_per_node;
    bool oracle; /* expected_us is the true run time, whatever the belief says */
    const struct belief *belief;
    struct rng error; /* of the belief */
    struct convert_word words_known[1 << CONVERT_WORD_BITS]; /* by the text's address */
    VEC(struct convert_tree) trees;
    struct u64map tree_ids; /* hash of what it depends on -> tree */
    struct arena kept;      /* groups and shapes of the trees */
};

enum { CONVERT_LEAVES_MAX = 2 * TRACE_PARTS_MAX };

struct convert_leaf { /* equal tasks */
    uint32_t tasks, gpus;          /* of each */
    const struct trace_part *part; /* NULL: the job itself says what they need */
};

struct convert_split {
    uint32_t tasks, nleaves;
    struct convert_leaf leaf[CONVERT_LEAVES_MAX];
};

void convert_init(struct convert *c, struct words *words, uint32_t gpus_per_node, bool oracle,
                  const struct belief *belief, uint64_t seed);
void convert_split(const struct trace_job *j, uint32_t gpus_per_node,
                   struct convert_split *ret);

/* Can the row be a job at all? 0, or -ERANGE with err naming row and number. */
int convert_check(const struct trace_job *j, uint32_t gpus_per_node, struct err *err);

void convert_done(struct convert *c);

/* A new spec in the arena; name is borrowed, the tree lives until convert_done. */
const struct job_spec *convert_job(struct convert *c, const struct trace_job *j,
                                   struct str name, int64_t submitted_at, struct arena *a);

#endif
