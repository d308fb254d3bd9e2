/* policy_read.h - the parts of the policy file that are more than a value (private to sched)
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_POLICY_READ_H
#define MUSTER_POLICY_READ_H

#include "base/yaml.h"
#include "sched/policy.h"

extern const char *const policy_queue_keys[], *const policy_spares_keys[]; /* NULL-ended */

/* "queues": the word `trace`, or a map of queues. Strings are copied into a. 0 or -errno
 * with the place. */
int policy_read_queues(const struct ynode *n, struct arena *a, struct policy *p,
                       struct err *err);
/* "spares": a list of {level, nodes, fault, lend}. */
int policy_read_spares(const struct ynode *n, struct arena *a, struct policy *p,
                       struct err *err);

#endif
