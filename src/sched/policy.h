/* policy.h - the policy file: who goes first, what blocks whom, which node is best
 * A small YAML file, the same for every world (docs/policy-format.md). It reaches the core
 * as the text of a `policy_set` event. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_POLICY_H
#define MUSTER_POLICY_H

#include "base/arena.h"
#include "base/err.h"

enum policy_order { ORDER_FIFO = 0, ORDER_SHORTEST };
enum policy_block {
    BLOCK_NONE = 0, /* what does not fit is skipped, others may start */
    BLOCK_QUEUE,    /* the first of each queue that does not fit blocks the queue */
    BLOCK_ALL       /* ... blocks everybody */
};
enum policy_mix { MIX_NONE = 0, MIX_GIVEN, MIX_TRACE, MIX_LEARN };

enum { POLICY_TEXT_MAX = 1 << 20, POLICY_NAME_MAX = 63 };

struct policy {
    char name[POLICY_NAME_MAX + 1];
    char scorer[32];          /* a row of the table in score.c */
    uint8_t order;            /* enum policy_order */
    uint8_t block;            /* enum policy_block */
    uint8_t mix;              /* enum policy_mix */
    bool each;                /* border: each */
    bool oracle;              /* run times may be the truth (the twin's); reports say so */
    bool remainder_widest;    /* the last, partial task of a gang takes the emptiest node */
    uint64_t seed;            /* of the scorer `random` */
    int64_t launch_timeout_us; /* a gang must be whole so soon after its launch */
    int64_t repair_grace_us;   /* a broken gang keeps its members so long */
    uint32_t most_questions;   /* placements tried in one pass */
    struct str mix_text;       /* lines "count cpu_milli gpu_milli gpus type|type" */
};

void policy_init(struct policy *p); /* the defaults: fifo, skip, fewest-free */
/* Reads text into *ret; mix_text points into a. 0 or -errno, err is "name:line:col: why". */
int policy_parse(const char *name, struct str text, struct arena *a, struct policy *ret,
                 struct err *err);

#endif
