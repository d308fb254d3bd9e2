/* policyfile.h - finding and reading policies by name
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_POLICYFILE_H
#define MUSTER_POLICYFILE_H

#include "base/buf.h"
#include "sched/policy.h"
#include "trace/trace.h"

struct policy_file {
    char path[4096];
    struct buf text;      /* as it goes to the core */
    struct policy policy; /* what it says */
    struct arena arena;
};

/* name: a path (it has a '/' or ends in .yaml), or NAME.yaml is looked for in
 * $MUSTER_POLICIES, $MUSTER_DATADIR/policies, ./policies, beside the program and above it,
 * the installed place and the source tree. 0 or -errno with err. */
int policy_file_load(struct policy_file *ret, const char *name, struct err *err);
/* Put a mix's lines (sched/mix.h) in the place of "mix: trace". */
int policy_file_set_mix(struct policy_file *f, struct str lines, struct err *err);
/* Put queues with what they are guaranteed in the place of "queues: trace"; none: the queues
 * stay mere names. */
int policy_file_set_queues(struct policy_file *f, const struct trace_queue *queues, uint32_t n,
                           struct err *err);
void policy_file_done(struct policy_file *f);

/* The same places, for other files of ours: kind "truth", "belief", "policies". */
int data_file_find(const char *kind, const char *variable, const char *name,
                   char path[4096], struct err *err);

#endif
