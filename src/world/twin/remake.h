/* remake.h - a twin out of a journal: the record's world without its decisions
 *
 *   kept            jobs as they were submitted and changed, nodes, devices, budgets
 *   into the truth  how long tasks ran becomes the work that is hidden from the core;
 *                   cut short, it is a lower bound (censored)
 *   made anew       what was decided, and all that the world answered to it
 *   kept, marked    people's orders, other schedulers' pods: perhaps reactions to the
 *                   policy of then
 *
 * Times are shifted: the record begins at 0. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_REMAKE_H
#define MUSTER_REMAKE_H

#include "event/records.h"
#include "sched/sched.h"
#include "world/twin/twin.h"

enum remade_work {
    WORK_KNOWN = 0, /* it came to its end */
    WORK_CENSORED,  /* it was cut short: at least this */
    WORK_GUESSED /* it never ran: expected run time, limit, or the median of the others
                  */
};

struct remade_job {
    struct job_spec *spec; /* name and times of the record; times shifted */
    int64_t at, work_us;
    uint8_t work;        /* enum remade_work */
    bool failed;           /* ended by its own fault, and was not run again */
    uint8_t told_oracle; /* spec's own oracle and expectation */
    int64_t told_us;
    int64_t first_start, end; /* in the record; INT64_MIN: never */
    uint64_t gpu_milli;
    uint32_t gang; /* its first gang, in the maker's list */
};

struct remade_post {
    int64_t at;
    const struct record *record; /* its own `at` is not used */
};

struct remade_node {
    struct node_desc desc;
    uint64_t hash;   /* of the description, its state aside */
    uint8_t state;   /* when it is up: up or drained */
    int64_t down_at; /* INT64_MIN: it is not down */
};

struct remade {
    struct words words;
    word_t levels[NODE_LEVELS_MAX];
    uint32_t nlevels;
    VEC(struct remade_node) nodes;
    VEC(struct remade_job) jobs;
    VEC(struct remade_post) posts;
    VEC(struct twin_fault) faults;
    struct str policy;      /* the first policy_set's text */
    struct truth truth;     /* delays as measured in the record */
    int64_t start, span_us; /* of the record; of its last moment since then */
    uint64_t capacity_milli;
    unsigned __int128 used; /* milli-GPU x us that claims held, whole record */
    uint64_t known, censored, guessed;
    uint64_t orders, foreigns; /* kept with a mark */
    char cluster[80];
    struct records kept; /* owns everything above points to */
};

/* Reads the whole journal. 0 or -errno with err (-EINVAL: it begins in the middle). */
int remake(struct remade *ret, const char *path, struct err *err);
void remade_done(struct remade *m);

/* Twin options that the record says; arrays are made here and live until remade_done.
 */
void remade_twin(struct remade *m, uint64_t seed, struct twin_options *ret);
/* After twin_create: submits jobs, faults and posts. oracle: tell the core the hidden
 * work; without it what was an oracle's is told as the limit. */
void remade_play(struct remade *m, struct twin *t, bool oracle);

#endif
