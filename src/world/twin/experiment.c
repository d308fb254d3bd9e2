/* experiment.c - a cluster, jobs and a policy run through core and twin
 * SPDX-License-Identifier: Apache-2.0 */
#include "world/twin/experiment.h"

int experiment_begin(struct experiment *e, const struct twin_options *o, struct err *err)
{
    *e = (struct experiment){0};
    int rc = twin_create(&e->twin, o, err);
    if (rc)
        return rc;
    e->sched = sched_create();
    sched_expect(e->sched, twin_expected(e->twin));
    return 0;
}

int experiment_run(struct experiment *e, struct str policy_text,
                   const struct control_options *control, struct err *err)
{
    struct control_options opt = *control;
    opt.start_at = twin_start_at(e->twin);
    int rc = control_run(e->sched, twin_world(e->twin), policy_text, &opt, &e->totals, err);
    if (!rc)
        twin_finish(e->twin);
    return rc;
}

void experiment_end(struct experiment *e)
{
    sched_destroy(e->sched);
    twin_destroy(e->twin);
    *e = (struct experiment){0};
}
