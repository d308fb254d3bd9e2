/* phase.c - the table event x phase, as data
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/phase.h"

#include "event/event.h"

static const struct {
    int kind;
    enum phase_act act[CLAIM_PHASES];
} table[] = {
    /*                    none         planned      issued      running   ending      stray */
    {EV_TASK_AT, {ACT_ADOPT, ACT_RUN, ACT_RUN, ACT_MOVE, ACT_MOVE, ACT_ADOPT}},
    {EV_TASK_REFUSED, {ACT_NOOP, ACT_NOOP, ACT_REFUSED, ACT_NOOP, ACT_NEVER, ACT_NEVER}},
    {EV_TASK_ENDING, {ACT_NOOP, ACT_NOOP, ACT_ENDING, ACT_ENDING, ACT_ENDING, ACT_MARK}},
    {EV_TASK_ENDED, {ACT_NOOP, ACT_NOOP, ACT_FREE, ACT_FREE, ACT_FREE, ACT_FREE}},
    {EV_STOP_REFUSED, {ACT_NOOP, ACT_NOOP, ACT_NOOP, ACT_NOOP, ACT_RESUME, ACT_ASK_AGAIN}},
    {EV_TASK_OFFERED, {ACT_OFFER, ACT_OFFER, ACT_NOOP, ACT_NOOP, ACT_NOOP, ACT_NOOP}},
    {EV_TASK_GONE, {ACT_FORGET, ACT_FORGET, ACT_FREE, ACT_NOOP, ACT_NOOP, ACT_NOOP}},
};

enum phase_act phase_act(int event_kind, enum claim_phase phase)
{
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].kind == event_kind)
            return table[i].act[phase];
    return ACT_NOOP;
}

const char *claim_phase_name(enum claim_phase phase)
{
    static const char *const names[CLAIM_PHASES] = {"none",    "planned", "issued",
                                                    "running", "ending",  "stray"};
    return phase < CLAIM_PHASES ? names[phase] : "?";
}
