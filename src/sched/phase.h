/* phase.h - what a report does to a claim: the table event x phase of CORE.md
 *
 *          none      planned   issued    running   ending    stray
 * task_at  adopt*    running   running   moves     moves     moves*
 * refused  no-op     no-op     free**    no-op     free***   free***
 * ending   no-op     no-op     ending    ending    ending    (marked)
 * ended    no-op     no-op     free      free      free      free
 * stop_ref no-op     no-op     no-op     no-op     running   (asks again)
 * offered  has task  has task  no-op     no-op     no-op     no-op
 * gone     forgets   forgets   free      no-op     no-op     no-op
 * *   adopts when it names one of our slots that is empty and its launch is not older than
 *     the last that ended there; else it becomes a stray: its room is real, it is stopped
 * **  throttled and not_sent: back to planned, to be launched again at retry_at
 * *** only not_sent and gone: nothing ever started
 * `none` is a task that the state does not know, or a slot without a claim.
 * A report of an old launch is looked up among the strays, never in the slot's new claim.
 * Ends: a task that is lost frees its gang's slot at once; its node is `unsynced` (unusable)
 * until `synced` names it. Ends other than done move what the task did since its start, or
 * the job's last checkpoint, from useful to recomputed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_PHASE_H
#define MUSTER_PHASE_H

enum claim_phase {
    CLAIM_NONE = 0,
    CLAIM_PLANNED,
    CLAIM_ISSUED,
    CLAIM_RUNNING,
    CLAIM_ENDING,
    CLAIM_STRAY,
    CLAIM_PHASES
};

enum phase_act { /* what fold does; each is one function in fold-task.c */
    ACT_NOOP = 0,
    ACT_ADOPT,    /* task_at of an unknown task */
    ACT_RUN,      /* becomes running where the world says */
    ACT_MOVE,     /* stays in its phase, moves to where the world says */
    ACT_REFUSED,
    ACT_NEVER,    /* free if the refusal says that nothing started */
    ACT_ENDING,
    ACT_FREE,
    ACT_RESUME,   /* ending, but the stop was refused */
    ACT_ASK_AGAIN,
    ACT_OFFER,
    ACT_FORGET,
    ACT_MARK
};

/* kind: EV_TASK_OFFERED .. EV_STOP_REFUSED that name a task; others give ACT_NOOP. */
enum phase_act phase_act(int event_kind, enum claim_phase phase);
const char *claim_phase_name(enum claim_phase phase);

#endif
