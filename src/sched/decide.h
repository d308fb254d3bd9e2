/* decide.h - one pass of decide, as its parts share it (private to sched)
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_DECIDE_H
#define MUSTER_DECIDE_H

#include "sched/place.h"

struct pass {
    struct sched *s;
    struct records *out;
    uint32_t questions;
    struct why why; /* of the next launch; code WHY_NONE: how it fits */
    bool would; /* what is added is beyond authority: told, and folded into nothing */
    VEC(struct gang_ref) same; /* asked again, same answer: folded with the pass */
};

struct record *pass_add(struct pass *p, int kind); /* stamped, to be filled */
void pass_emit(struct pass *p);                    /* folds it */
/* Says why the gang waits, unless it said the same before. */
void pass_say(struct pass *p, uint32_t gang, const struct why *why);
/* Launches what the plan in scratch holds; what waits for a group of its own is held. */
void pass_launch(struct pass *p, uint32_t gang);
struct seat *pass_seats(struct pass *p, uint32_t gang); /* of the plan in scratch */
struct task_ref pass_task_ref(struct pass *p, uint32_t claim);

bool claim_is_spoiled(struct sched *s, const struct claim *c); /* held room that went bad */
/* Stops all that run or are issued in the gang; what waits is left alone. */
void pass_stop_gang(struct pass *p, uint32_t gang, uint8_t mode, uint16_t code);
void pass_let_go(struct pass *p, uint32_t gang, uint16_t code); /* of all room kept for it */

/* decide_repair.c */
void pass_bad_nodes(struct pass *p); /* cordons those that many different jobs failed on */
/* A gang that is stopped for the loss of members: the others' places are kept, and room for
 * those that are lost beside them, if the policy and the job's tries allow it. */
void pass_keep_places(struct pass *p, uint32_t gang);
/* Such a gang at a later border: without places that went bad, more room, or none. */
void pass_mend_whole(struct pass *p, uint32_t gang);

/* decide_spares.c */
void pass_spares(struct pass *p); /* names nodes for repair, or lets them go */
bool pass_lend(struct pass *p, uint32_t gang); /* room on spares, for who may be evicted */
/* Stops those to whom the spares were lent that the plan in scratch takes back for the gang. */
void pass_take_back(struct pass *p, uint32_t gang);

/* decide_reclaim.c */
/* One plan of stops and a hold, if the gang may have others stopped for it. */
/* ... or a plan that would be made if muster might: then why says so. */
bool pass_reclaim(struct pass *p, uint32_t gang, struct why *why);
/* May it stop others only where its waiting is forecast to cost more? */
bool pass_weighs(const struct sched *s, uint32_t gang);

/* decide_value.c */
/* Of the gang, whose seats are in scratch, and its rivals: who starts now, with the seats in
 * scratch, and p->why of its launch. NONE: nobody after all. */
uint32_t pass_choose(struct pass *p, uint32_t gang);

/* decide_moves.c */
/* One plan of moves that makes room for a gang that does not fit, if it gains by it. */
bool pass_move(struct pass *p, uint32_t gang);

/* decide_reserve.c */
/* Reservations whose room may be there, in the queue's order; plans that went bad or could
 * be better. */
void pass_reserves(struct pass *p);
/* Room now, beside what reservations keep or, if it ends before they start, over it. */
bool pass_place(struct pass *p, uint32_t gang, struct why *why);
void reserves_lift(struct sched *s, bool lift); /* what they keep, for a question */
/* A refused gang gets a reservation, if the policy has one left for it. */
bool pass_reserve(struct pass *p, uint32_t gang);
/* When a gang that does not fit is expected to start if nobody is stopped for it; INT64_MAX:
 * nobody knows. */
int64_t pass_forecast(struct pass *p, uint32_t gang);
bool pass_reserves_due(const struct sched *s); /* is there anything to do for them? */

#endif
