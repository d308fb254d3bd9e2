/* owed.h - rights in this cluster: each live gang's minimum is a unit (private to sched)
 *
 * entitle.h and rights.h say who is owed room; here their tables follow the jobs, the
 * queues and the capacity. A unit's id is its gang's index. Members above the minimum have
 * no right: they are lent, and go first. A gang that an empty cluster could not hold is no
 * unit. K1, K2 and the labels are brought up to date at borders, by fold; decisions never
 * move them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_OWED_H
#define MUSTER_OWED_H

#include "sched/rights.h"

struct sched;

struct owed_leaf {
    rights_ids ids; /* live units in line order */
    bool stale;
};

struct owed {
    bool on;
    bool capacity_stale;
    uint32_t nnodes; /* queues the tables were made for */
    struct entitle e;
    struct rights r;
    VEC(struct rights_unit) units;
    VEC(struct rights_place) places;
    VEC(bool) listed;
    VEC(int64_t) needs; /* rows of nresources */
    uint32_t nneeds;
    VEC(struct owed_leaf) leaves;
    rights_ids all; /* of all leaves, for rights across queues */
    bool some_due;    /* somebody has waited for `patience` */
    int64_t turn_at;  /* when the turn that is on began */
    VEC(int64_t) last_turn; /* by leaf: when it last had one */
    int64_t retry_at; /* who has a right and waits asks again whether somebody may go */
};

void owed_policy(struct sched *s); /* the policy or the queues changed: all anew */
void owed_done(struct owed *o);
void owed_add(struct sched *s, uint32_t gang);    /* a live gang; again is fine */
void owed_remove(struct sched *s, uint32_t gang); /* it is over, or about to change */
void owed_settle(struct sched *s, uint32_t gang); /* after its claims changed */
void owed_border(struct sched *s);
/* Starvation (rights.h): who waited for `patience` is due, one at a time has a turn. */
int64_t owed_due_at(const struct sched *s, uint32_t gang); /* INT64_MAX: is due, or cannot be */
void owed_fall_due(struct sched *s, uint32_t gang);
/* Labels are state: of a gang, and all of them after a load. */
uint32_t owed_labels(const struct sched *s, uint32_t gang);
void owed_restore(struct sched *s, const uint32_t *labels, int64_t retry_at);
void owed_refused(struct sched *s, uint32_t gang);
int64_t owed_due(const struct sched *s);
struct rights_pool owed_pool(struct sched *s);

#endif
