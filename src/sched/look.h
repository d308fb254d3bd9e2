/* look.h - the state as people ask for it: jobs, their gangs, what those hold
 * For `muster why`, `whatif` and reports. Reads only; names are borrowed until the next
 * fold. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_LOOK_H
#define MUSTER_LOOK_H

#include "sched/sched.h"

enum look_phase {                   /* of a gang */
                  LOOK_WAITING = 0, /* holds no room, or only room kept for it */
                  LOOK_STARTING,    /* launched, not whole yet */
                  LOOK_RUNNING,
                  LOOK_BROKEN, /* a member is missing */
                  LOOK_STOPPING,
                  LOOK_OVER
};

struct job_look {
    struct str name;
    word_t queue, user;
    int32_t priority;
    bool held, cancelled;
    uint32_t tries, gangs;
    int64_t submitted_at, time_limit_us, expected_us; /* 0: not said */
    int64_t saved_at; /* last checkpoint; INT64_MIN: none */
    uint64_t ckpt_step;
};

struct gang_look {
    struct gang_ref ref;
    uint8_t phase;  /* enum look_phase */
    uint32_t slots; /* at most */
    uint32_t want, min;
    uint64_t min_milli; /* GPUs at the minimum */
    uint32_t issued, running, ending, planned, done;
    int64_t launch_by; /* starting: whole until then; broken: mended until then */
    int64_t not_before;
    struct why why; /* its last say; code 0: none */
};

struct claim_look {
    struct task_ref ref; /* as the world knows it */
    uint8_t phase;       /* enum claim_phase (phase.h) */
    struct str node;     /* "": unknown */
    uint64_t devs;
    uint16_t slices;
    int64_t since;
};

/* Places of jobs, 0 .. n-1, some of them empty. */
uint32_t sched_look_jobs(const struct sched *s);
/* UINT32_MAX: not known (never heard of, or over). */
uint32_t sched_look_find(const struct sched *s, struct str name);
bool sched_look_job(const struct sched *s, uint32_t job, struct job_look *ret);
/* gang 0 .. job_look.gangs-1. */
void sched_look_gang(const struct sched *s, uint32_t job, uint32_t gang,
                     struct gang_look *ret);
/* slot 0 .. gang_look.slots-1; false: it holds nothing. */
bool sched_look_claim(const struct sched *s, uint32_t job, uint32_t gang, uint32_t slot,
                      struct claim_look *ret);
const char *look_phase_name(int phase);

#endif
