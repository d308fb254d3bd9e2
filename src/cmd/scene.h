/* scene.h - everything a simulation reads: cluster, trace, order, faults, truth, belief
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SCENE_H
#define MUSTER_SCENE_H

#include "base/buf.h"
#include "cluster/file.h"
#include "trace/trace.h"
#include "world/twin/twin.h"

struct scene_files { /* NULL: not given */
    const char *cluster; /* "trace": what the trace's file says of it */
    const char *trace, *format, *order, *faults, *truth, *belief;
    const char *window; /* FROM..UNTIL after the first arrival, or "all"; NULL: the trace's */
    uint32_t fault_servers; /* that the fault file watched; 0: those it names */
    uint64_t seed;
};

struct scene {
    struct words words;
    struct cluster_file cluster;
    struct trace_list trace;
    struct truth truth;
    struct belief belief;
    uint32_t *order, norder; /* arrivals as indexes into trace.jobs */
    uint32_t *ranks;
    struct twin_fault *faults;
    uint32_t nfaults;
    int64_t faults_span_us;
    uint64_t capacity_milli;
    int64_t window_from_us, window_until_us; /* in the trace's clock; until 0: everything */
};

/* 0 or -errno with err; on failure nothing is kept. */
int scene_load(struct scene *ret, const struct scene_files *files, struct err *err);
void scene_done(struct scene *s);
/* The twin's options that the files say; hooks and modes are the caller's. */
void scene_twin(const struct scene *s, uint64_t seed, struct twin_options *ret);
/* The typical mix of the trace's tasks, as a policy carries it (sched/mix.h). */
void scene_mix(struct scene *s, struct buf *out);

#endif
