/* decide_plan.h - a plan of stops and a hold, as reclaim and moves share it (private to
 * sched) SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_DECIDE_PLAN_H
#define MUSTER_DECIDE_PLAN_H

#include "sched/decide.h"
#include "sched/runners.h"

#define US_PER_HOUR (3600 * INT64_C(1000000))

struct reclaim {
    struct pass *p;
    struct sched *s;
    uint32_t gang;  /* for whom */
    uint32_t scope; /* queue under which victims may stand */
    bool beyond;    /* also where muster may not evict: to tell, not to do */
    struct victims_answer answer;
    VEC(struct victims_domain) domains;
    VEC(struct runner) victims;
    uint32_t shape;
};

/* What the gang asks of the index of runners; `allowed` is the caller's to set. */
void reclaim_ask(struct reclaim *rc, struct victims_ask *ask);
/* The cheapest victims that make room, tried out: the seats are in scratch, and victims
 * that no seat touches are left out. Whether the plan is legal is not looked at. */
bool reclaim_find(struct reclaim *rc, struct victims *index,
                  const struct victims_ask *ask);
/* One plan: the victims' stops, and the hold of the seats for the gang. why.who is set.
 */
void reclaim_carry(struct reclaim *rc, uint8_t mode, const struct seat *seats,
                   uint32_t n, struct why why);
void reclaim_done(struct reclaim *rc);
bool gang_is_protected(const struct sched *s, uint32_t gang); /* it began too lately */
uint32_t begun_gpu_hours(__int128 gpu_us);                    /* begun hours count */

#endif
