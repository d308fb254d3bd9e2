/* quota.h - the queue tree at work: what each queue uses, may use, and who starts next
 * (private to sched)
 *
 * Nodes stand parents first; [0] is the root. A queue that the policy does not describe is
 * a leaf under the root with weight 1 and no limits, made when a job first names it. Use
 * counts planned, issued and running claims (those of a reservation not: they wait), and
 * what ends no longer. Everything here is a sum over claims, so it can be made anew.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_QUOTA_H
#define MUSTER_QUOTA_H

#include "base/map.h"
#include "base/vec.h"
#include "base/word.h"
#include "event/event.h"
#include "job/queue.h"

struct sched;
struct claim;

struct quota_resource_at { /* a resource, its type as the stream's word */
    uint8_t kind;          /* enum quota_kind */
    bool any;              /* GPUs of all types */
    word_t type;           /* 0: no record has named it yet */
};

struct quota_node {
    word_t word;   /* the stream's name of it, once a job named it */
    uint32_t spec; /* index in the policy's tree; QUEUE_NONE: not described */
    uint32_t parent, weight;
    bool refused;  /* somebody was refused here since use last went down */
    uint8_t authority;
    int64_t cap[QUOTA_RESOURCES_MAX];        /* QUOTA_ABSENT: none */
    int64_t guaranteed[QUOTA_RESOURCES_MAX]; /* 0: none */
    int64_t use[QUOTA_RESOURCES_MAX];
    uint64_t usage[QUOTA_RESOURCES_MAX]; /* decayed, in units of the resource x epochs << 8 */
    VEC(uint32_t) active; /* lanes of this queue that are to be tried: a heap by their heads */
};

struct quota_user { /* what a user runs in a queue that limits users */
    uint32_t leaf;
    word_t user;
    int64_t use[QUOTA_RESOURCES_MAX];
};

struct quota {
    bool on;             /* the policy keeps quotas */
    bool users;          /* ... and some queue limits users */
    bool unknown_type;   /* a resource names a type that no record has named */
    bool wake;           /* use went down where somebody had been refused */
    uint32_t nresources;
    struct quota_resource_at resources[QUOTA_RESOURCES_MAX];
    VEC(struct quota_node) nodes;
    VEC(uint32_t) by_word; /* word of a queue -> node; QUEUE_NONE: not seen */
    VEC(struct quota_user) users_at;
    struct u64map user_ids;
    uint32_t n_active; /* lanes to be tried, in all queues */
    int64_t epoch_at;  /* when the current epoch of decay began */
};

void quota_policy(struct sched *s);       /* the policy changed: all made anew */
void quota_words(struct sched *s);        /* a new word: it may be a type's name */
void quota_done(struct quota *q);
uint32_t quota_leaf(struct sched *s, word_t queue); /* makes it when it is new */

/* A claim begins (1) or ceases (-1) to count. */
void quota_claim(struct sched *s, const struct claim *c, int sign);
/* All claims of a job, when it changes its queue. */
void quota_job(struct sched *s, uint32_t job, int sign);
/* What one task of the shape is charged. */
void quota_charge(const struct sched *s, uint32_t shape, int64_t *ret);
/* What the gang is charged at its minimum. */
void quota_need(const struct sched *s, uint32_t gang, int64_t *ret);

/* May the gang start at its minimum under the caps above it? Else why says which one. */
bool quota_allows(struct sched *s, uint32_t gang, struct why *why);
/* May its user have its minimum in its queue? */
bool quota_user_allows(struct sched *s, uint32_t gang);
/* Tasks of a shape that caps leave room for beyond `taken` of the minimum. */
uint8_t quota_authority(const struct sched *s, uint32_t gang); /* enum queue_authority */
void quota_refused(struct sched *s, uint32_t leaf); /* somebody was: wake it when use falls */
uint32_t quota_tasks_left(const struct sched *s, uint32_t gang, uint32_t shape);
/* ... beyond what the queues use now. */
uint32_t quota_room(const struct sched *s, uint32_t gang, uint32_t shape);
/* Would the leaf stay within its guarantee with the gang at its minimum? */
bool quota_within(const struct sched *s, uint32_t gang);
/* Dominant share of a queue: largest use / (capacity x weight), 2^30 is all of it. */
uint64_t quota_share(const struct sched *s, uint32_t node);
/* Capacity of a resource in the cluster. */
int64_t quota_capacity(const struct sched *s, uint32_t resource);
/* ... of what is usable now. */
int64_t quota_usable(const struct sched *s, uint32_t resource);
void quota_border(struct sched *s); /* epochs of decay that have passed; lanes to wake */
int64_t quota_due(const struct sched *s); /* when the next epoch matters; INT64_MAX */

#endif
