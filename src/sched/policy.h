/* policy.h - the policy file: who goes first, what blocks whom, which node is best
 * A small YAML file, the same for every world (docs/policy-format.md). It reaches the core
 * as the text of a `policy_set` event. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_POLICY_H
#define MUSTER_POLICY_H

#include "base/arena.h"
#include "base/err.h"
#include "job/queue.h"

enum policy_order {
    ORDER_FIFO = 0,
    ORDER_SHORTEST,  /* by expected run time */
    ORDER_REMAINING, /* by what of it is left */
    ORDER_ATTAINED   /* two classes: below and above attained_gpu_hours; each by submission */
};
enum policy_block {
    BLOCK_NONE = 0, /* what does not fit is skipped, others may start */
    BLOCK_QUEUE,    /* the first of each queue that does not fit blocks the queue */
    BLOCK_ALL       /* ... blocks everybody */
};
enum policy_gangs {
    GANGS_WHOLE = 0, /* a gang starts whole or not at all */
    GANGS_PODS       /* pod by pod: what has started is kept until launch_timeout */
};
enum policy_quotas {
    QUOTAS_NONE = 0, /* queues are names */
    QUOTAS_STATIC,   /* nobody beyond its guarantee */
    QUOTAS_BORROW,   /* within the guarantee first; then whatever is free */
    QUOTAS_RIGHTS    /* entitlements; what is lent goes back on demand (rights.h) */
};
enum policy_reserve {
    RESERVE_NONE = 0,
    RESERVE_GANGS, /* gangs that do not fit get a reservation */
    RESERVE_ALL    /* whoever does not fit */
};
enum policy_between {
    BETWEEN_SHARE = 0, /* the queue with the least share first */
    BETWEEN_ORDER      /* whoever is first by `order`, of whatever queue */
};
enum policy_preempt {
    PREEMPT_NONE = 0,
    PREEMPT_RIGHTS, /* who has a right may evict who has none */
    PREEMPT_ORDER   /* who comes earlier in `order` may evict who comes later */
};
enum policy_evict {
    EVICT_OWED = 0, /* within the guarantee always, others where waiting costs more */
    EVICT_ALWAYS,
    EVICT_CHEAPER  /* only where waiting is forecast to cost more */
};
enum policy_value { VALUE_OFF = 0, VALUE_ON };
enum policy_limits { LIMITS_TRUST = 0, LIMITS_ENFORCE };
enum policy_forecast { FORECAST_LIMIT = 0, FORECAST_LEARNED };
enum policy_within { WITHIN_LOWER = 0, WITHIN_ANY };
enum policy_across { ACROSS_NONE = 0, ACROSS_LOWER_PRIORITY };
enum policy_mix { MIX_NONE = 0, MIX_GIVEN, MIX_TRACE, MIX_LEARN };

enum { POLICY_TEXT_MAX = 1 << 20, POLICY_NAME_MAX = 63, POLICY_SPARES_MAX = 16 };

/* Healthy nodes kept for repair: so many in each domain of a level. */
struct policy_spares {
    struct str level;
    struct str fault; /* for losses of this kind; empty: any */
    uint32_t nodes;
    bool lend; /* to work that may be evicted, meanwhile */
};

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
    uint32_t bad_node_failures; /* jobs that fail on a node make it bad; 0: never */
    uint8_t gangs;             /* enum policy_gangs */
    uint8_t quotas;            /* enum policy_quotas */
    uint8_t reserve;           /* enum policy_reserve */
    uint8_t preempt;           /* enum policy_preempt */
    uint8_t evict_when;        /* enum policy_evict */
    uint8_t limits;            /* enum policy_limits */
    uint8_t value;             /* enum policy_value */
    uint8_t forecast;          /* enum policy_forecast */
    uint8_t within, across;    /* enum policy_within, policy_across */
    uint8_t between;           /* enum policy_between */
    bool queues_trace;         /* queues: trace; replaced before the core sees it */
    uint32_t reservations;     /* gangs that may hold one at a time */
    uint32_t forecast_quantile; /* percent */
    uint32_t attained_gpu_hours;
    uint32_t evictions_per_hour; /* UINT32_MAX: no limit */
    uint32_t moves_per_hour, moves_per_job;
    int64_t improve_every_us;
    int64_t reserve_after_us; /* who waited so long goes first, and may have a reservation */
    int64_t patience_us, turn_max_us, protect_us;
    int64_t usage_half_life_us; /* 0: usage orders nothing */
    uint32_t nspares;
    struct policy_spares spares[POLICY_SPARES_MAX];
    struct queue_tree queues;  /* nqueues 0: none named */
    struct str mix_text;       /* lines "count cpu_milli gpu_milli gpus type|type" */
};

void policy_init(struct policy *p); /* the defaults: fifo, skip, fewest-free */
/* Names of the keys of a policy file, of a queue in it and of an item of spares, in the
 * order of docs/policy-format.md; NULL behind the last. */
enum policy_table { POLICY_KEYS = 0, POLICY_QUEUE_KEYS, POLICY_SPARES_KEYS };
const char *policy_key(enum policy_table table, uint32_t i);
/* Reads text into *ret; mix_text, spares and queues
 * point into a. 0 or -errno, err is "name:line:col: why". */
int policy_parse(const char *name, struct str text, struct arena *a, struct policy *ret,
                 struct err *err);

#endif
