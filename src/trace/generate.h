/* generate.h - a synthetic cluster and trace out of published statistics
 * docs/data.md says which figures are published and which are assumptions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_GENERATE_H
#define MUSTER_GENERATE_H

#include "base/buf.h"
#include "trace/trace.h"

/* What was published of one site. */
struct generate_site {
    const char *name, *about;
    uint32_t jobs;          /* GPU jobs in the whole trace */
    double days;            /* its length */
    uint32_t nodes;         /* of gpus_per_node each */
    uint32_t gpus_per_node;
    const char *gpu_type;
    double run_mean_s, run_p50_s, run_max_s;
    double gpus_mean;
    uint32_t gpus_max;
    double gpu_s_per_job;   /* GPU time / jobs; 0: not published */
    double fail_rate, cancel_rate; /* of GPU jobs; 0: not published */
};

/* By name ("seren", "kalos", "philly", "helios", "pai"; "acme" is seren); NULL: none.
 * generate_sites is the table, ended by a row without a name. */
extern const struct generate_site generate_sites[];
const struct generate_site *generate_site_find(const char *name);

struct generate_options {
    const struct generate_site *site;
    uint64_t seed;
    uint32_t nodes;  /* 0: the site's */
    uint32_t
        jobs; /* exactly so many, over as many days as the load wants; 0: by days */
    double days;     /* 0: 7 */
    double load; /* offered GPU time / capacity; 0: as many jobs a day and node as the
                        site had */
    bool one_node;   /* only jobs that fit one node */
};

/* What came out, beside what was published. */
struct generate_result {
    uint32_t jobs;
    double days, load, run_mean_s, gpus_mean, gpu_s_per_job, fail_rate;
};

/* A trace in time order (ret: give it to trace_list_done) and, if cluster is not NULL,
 * the cluster file that goes with it. Same options, same bytes on one machine's libm.
 * 0, or -EINVAL/-ERANGE with err. */
int generate_trace(const struct generate_options *o, struct trace_list *ret,
                   struct buf *cluster, struct generate_result *ret_result,
                   struct err *err);

#endif
