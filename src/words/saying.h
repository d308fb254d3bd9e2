/* saying.h - codes to sentences, for people: why something was decided, what a record says
 * Sentences have no full stop and no newline. They are made outside every digest, so wording
 * may change at any time. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SAYING_H
#define MUSTER_SAYING_H

#include "base/buf.h"
#include "event/event.h"

/* "needs room for 4 tasks; the best rack has room for 3" */
void saying_why(const struct words *w, const struct why *why, struct buf *out);

/* One line for any record: "launch 00000012: n1 GPUs 0-3, n2 GPUs 0-3 (fits in one rack)". */
void saying_record(const struct words *w, const struct record *r, struct buf *out);

/* Single words for codes: "needs_room", "lost", "preempt". "?" for what is unknown. */
const char *saying_code(int why_code);
const char *saying_ended(int ended_how);
const char *saying_stop(int stop_mode);

/* A device mask as ranges: "0-3,7"; "none" when empty. */
void saying_devices(uint64_t devs, struct buf *out);

#endif
