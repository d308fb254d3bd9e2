/* experiment.h - a cluster, jobs and a policy run through core and twin, from start to end
 * What `muster sim` does for each policy, and what tests do for each scenario.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_EXPERIMENT_H
#define MUSTER_EXPERIMENT_H

#include "control/control.h"
#include "world/twin/twin.h"

/* Between begin and run a caller may twin_submit, twin_post and twin_node_fault; hooks of
 * the twin may look at sched (reports only). */
struct experiment {
    struct sched *sched;
    struct twin *twin;
    struct control_totals totals; /* after the run */
};

/* Makes core and twin. 0 or -errno with err; then there is nothing to end. */
int experiment_begin(struct experiment *e, const struct twin_options *o, struct err *err);
/* Runs to the end and reports the jobs that did not end. control->start_at is set here. */
int experiment_run(struct experiment *e, struct str policy_text,
                   const struct control_options *control, struct err *err);
void experiment_end(struct experiment *e);

#endif
