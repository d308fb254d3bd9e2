/* fault.h - recorded node faults: when which server was out, and why
 * Reads InfiniteHBD's fault_trace.json (a list of {node_id, event_time in days,
 * event_type fault_start or fault_end, fault_type {Level, Class, Desc}}).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_FAULT_H
#define MUSTER_FAULT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#define FAULT_OPEN INT64_MIN /* end_us: not over when the trace ends */

struct fault {
    uint32_t node;       /* index in nodes */
    int64_t start_us, end_us; /* since the trace began */
    struct str level, class_, what; /* "Hardware Failure", "GPU", "GPU xid Error" */
};

struct fault_list {
    struct arena text;
    VEC(struct fault) faults;   /* by start, then the file's order */
    VEC(struct str) nodes;      /* names, in order of first sight */
    int64_t last_us;            /* of the last event */
};

/* 0, or -errno; err names file and place (line and column, or the event's number). */
int fault_load(struct fault_list *ret, const char *path, struct err *err);
int fault_parse(struct fault_list *ret, const char *name, struct str json,
                struct err *err);
void fault_list_done(struct fault_list *l);

struct fault_class {
    struct str level, class_;
    uint32_t n;
    int64_t repair_p50_us; /* of those that are over; 0: none is */
};

/* Repair times are end - start of the faults that are over. A quantile q of n values is
 * the one at rank floor(q (n - 1)), counted from 0, in ascending order (numpy's
 * "lower"). */
struct fault_stats {
    uint32_t faults, open, nodes_hit;
    double per_1000_node_days; /* faults / (nodes x span) x 1000 */
    int64_t repair_mean_us, repair_p10_us, repair_p50_us, repair_p90_us, repair_p99_us;
    uint32_t top20_faults;     /* of the twenty nodes with most */
    VEC(struct fault_class) classes; /* most frequent first, ties by name */
};

/* nodes: how many servers were watched (0: those that had a fault), span_us: for how
 * long (0: up to the last event). The names point into the list. Done with
 * fault_stats_done. */
void fault_stats(const struct fault_list *l, uint32_t nodes, int64_t span_us,
                 struct fault_stats *ret);
void fault_stats_done(struct fault_stats *s);

#endif
