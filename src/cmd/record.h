/* record.h - a simulated run's journal: where it goes, what its head says
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_RECORD_H
#define MUSTER_RECORD_H

#include "cmd/policyfile.h"
#include "cmd/scene.h"
#include "control/control.h"
#include "journal/journal.h"

struct record_options {
    const char *path; /* NULL: no journal */
    bool each;        /* on disk frame by frame */
    bool apart;       /* several policies: a folder each below the path, by its name */
    uint32_t keep;
    uint64_t segment_bytes, snapshot_records; /* 0: the journal's defaults */
};

/* 0 with *ret NULL when no journal is wanted; 0 or -errno with err. */
int record_open(struct journal **ret, const struct record_options *o,
                const struct scene *s, const struct policy_file *f, struct err *err);

/* Ends it; what it has written stands in the totals. rc, or the journal's own failure.
 */
int record_close(struct journal *j, struct control_totals *totals, int rc,
                 struct err *err);

#endif
