/* audit.h - the independent checker: rebuilds every claim from the records alone
 * Sees only event structs; shares no code with sched. Fed each record in order, after
 * it was folded. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_AUDIT_H
#define MUSTER_AUDIT_H

#include "event/event.h"

struct audit;
struct audit *audit_create(void);
void audit_destroy(struct audit *a);

/* 0, or -EPROTO with err naming the invariant, the record's seq, entity and numbers. */
int audit_record(struct audit *a, const struct record *r, struct err *err);

/* The phase of the claim that a report about this task would be about, by the books as
 * they stand: 0 none, 1 planned, 2 issued, 3 running, 4 ending, 5 stray. For tests. */
int audit_phase(const struct audit *a, const struct task_ref *ref);

/* The GPU-time ledger as the audit integrates it, milli-GPU x microseconds by cause, to
 * be compared with sched's (enum ledger_cause of event/ledger.h). */
struct ledger;
void audit_ledger(const struct audit *a, struct ledger *ret);

#endif
