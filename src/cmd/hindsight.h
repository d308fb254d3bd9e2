/* hindsight.h - the state that a record of a journal met, and the record
 * For questions about one decision: what else could have been decided there?
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_HINDSIGHT_H
#define MUSTER_HINDSIGHT_H

#include "journal/resume.h"

/* s holds all before r; both last as long as the call. */
typedef void (*hindsight_f)(void *arg, const struct sched *s, const struct record *r);

/* Folds the journal up to record seq, and calls see there. 0, -ENOENT when it has no
 * such record, or -errno with err. Cost: a fold from the newest snapshot before it. */
int hindsight(const char *path, uint64_t seq, hindsight_f see, void *arg,
              struct err *err);

#endif
