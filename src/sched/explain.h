/* explain.h - why a gang waits, in numbers, and what was nearly decided instead
 * What a record's 24 bytes of why have no room for. Nothing of it is kept: it is found
 * anew, on a copy of the state, when somebody asks; the state's digest is the same
 * afterwards. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_EXPLAIN_H
#define MUSTER_EXPLAIN_H

#include "base/vec.h"
#include "sched/sched.h"

enum explain_until { UNTIL_UNKNOWN = 0, UNTIL_EXPECTED, UNTIL_LIMIT, UNTIL_KEPT };

/* Who has devices in the best domain. */
struct explain_holder {
    struct str job; /* "": somebody else's */
    uint32_t gpus, nodes;
    int64_t until; /* the last of its tasks there; UNTIL_KEPT: room kept, from then on
                      used */
    uint8_t kind;  /* enum explain_until */
};

struct explain {
    struct why why; /* of its last say, else what it would hear now */
    int64_t at;
    uint32_t tasks;         /* of its minimum */
    uint32_t gpus;          /* whole ones of each task (of its widest leaf); 0: none */
    bool whole_nodes;       /* ... which are all that a node there has */
    bool fits;              /* there is room now, beside what is kept for others */
    word_t level;           /* it must lie in one domain of; 0: anywhere */
    struct str best;        /* the domain with most room; "": the whole cluster */
    uint32_t best_tasks;    /* that many of its tasks fit there */
    uint32_t best_unusable; /* nodes there that are drained, down or spare */
    uint32_t now_tasks; /* it would start now with so many; 0: not, or not one leaf */
    uint32_t before;    /* waiting gangs that the policy puts before it */
    VEC(struct explain_holder) holders; /* there; who ends first comes first */
    bool reserved;
    int64_t start, by, expected; /* of its reservation; by 0: nothing promised */
    uint32_t kept;               /* tasks whose room is there already */
    bool over;                   /* a limit of a queue stands in the way: */
    struct str queue;            /* "": the root's */
    uint8_t resource;            /* enum quota_kind */
    word_t type;
    int64_t most, used, asked; /* GPUs and CPUs in thousandths, or bytes */
    struct arena text;
};

/* For a gang that waits. 0, or -EBADMSG with err. */
int sched_explain(struct explain *ret, const struct sched *s, uint32_t job,
                  uint32_t gang, struct err *err);
void explain_done(struct explain *e);

/* Where a launch would have gone, had its place not been there. */
struct explain_second {
    bool asked; /* the question makes sense: the gang waited, and held nothing */
    bool found;
    struct str chosen, next; /* a domain of the level that was asked for, or a node */
    uint32_t nodes, next_nodes;
    uint32_t left, next_left; /* GPUs left free on them */
    struct arena text;
};

/* before: the state of which the launch was decided. 0, or -EBADMSG with err. */
int sched_explain_launch(struct explain_second *ret, const struct sched *before,
                         const struct record *launch, struct err *err);
void explain_second_done(struct explain_second *e);

/* Whom a plan evicts, and whom it would have if one of those could not be. */
struct explain_evictions {
    bool asked;
    uint32_t victims, next_victims;     /* 0: none other would do */
    uint32_t gpu_hours, next_gpu_hours; /* lost */
    struct str names, next_names;       /* of jobs, comma-separated */
    struct arena text;
};

/* border: the state right behind the border of the pass. 0, or -EBADMSG with err. */
int sched_explain_evictions(struct explain_evictions *ret, const struct sched *border,
                            const struct gang_ref *gang, struct err *err);
void explain_evictions_done(struct explain_evictions *e);

#endif
