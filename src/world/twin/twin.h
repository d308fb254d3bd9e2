/* twin.h - a simulated cluster as a world: a virtual clock, arrivals, work, faults
 *
 * The twin brings the events that a real home world would (it makes the tasks itself) and
 * answers decisions: a launch with task_at, work that is done with task_ended done, a stop with
 * killed, a node fault with lost and node_set. It never looks into the core. Jobs are named
 * by their serial number of arrival ("00000042"), so that ties go by arrival. Everything
 * random comes from one seed, one stream a purpose. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TWIN_H
#define MUSTER_TWIN_H

#include "control/world.h"
#include "trace/trace.h"
#include "world/twin/truth.h"

struct twin_fault { /* a node is down in [from_us, until_us), after the start of the run */
    uint32_t node;
    int64_t from_us, until_us;
};

/* One job that ended, or was cut by the end of the run. */
struct twin_outcome {
    uint32_t arrival;         /* its serial number */
    const struct trace_job *row; /* NULL: submitted by twin_submit */
    struct str name;
    int64_t submit_us;
    int64_t first_start_us;   /* when it first worked; INT64_MIN: never */
    int64_t end_us;           /* INT64_MIN: not ended */
    int64_t run_us;           /* its work at speed 1; INT64_MIN: never ends */
    int64_t lost_us;          /* work done and lost */
    uint64_t gpu_milli;
    uint32_t tasks, restarts;
    bool cross;  /* spread wider than its size asks for */
    bool failed; /* by its own fault */
    struct why why; /* the last one said of a job that did not start; code 0: none */
};

struct twin_options {
    struct words *words; /* shared with the descriptions and traces; the twin adds to it */
    const struct node_desc *nodes;
    uint32_t nnodes;
    const word_t *levels; /* above the nodes, from the top down */
    uint32_t nlevels;

    const struct trace_job *jobs; /* in time order; may be NULL */
    uint32_t njobs;
    uint32_t gpus_per_node;  /* where a job is cut into tasks; 0: the largest node's */
    const uint32_t *order;   /* arrivals are jobs[order[i]], a second apart; NULL: as they are */
    uint32_t norder;
    const uint32_t *ranks;   /* node i is called "%04u-" ranks[i] + its name; NULL: as it is */

    bool forever;   /* jobs never end: run times are ignored */
    bool recorded;  /* jobs come at their recorded start; those without one do not come */
    bool oracle;    /* tell the scheduler true run times */
    int64_t until_us; /* end so long after the first arrival; 0: when nothing is left */
    uint64_t seed;
    const struct truth *truth;   /* NULL: the defaults */
    const struct belief *belief;
    const struct twin_fault *faults; /* recorded ones, in time order; else by truth's rate */
    uint32_t nfaults;
    int64_t faults_span_us; /* they repeat after that; 0: once */

    /* Each may be NULL. */
    void (*on_end)(void *arg, const struct twin_outcome *o);
    void (*on_instant)(void *arg, int64_t at); /* all is settled at `at`; time moves on */
    void (*on_arrival)(void *arg, const struct trace_job *row); /* and was decided about */
    void *arg;
};

struct twin_counts {
    uint64_t arrived, finished, started, faults, lost_tasks, skipped;
    uint32_t narrivals; /* to come in all */
};

struct twin;

/* Everything in the options is borrowed until twin_destroy. 0 or -EINVAL/-ERANGE with err. */
int twin_create(struct twin **ret, const struct twin_options *o, struct err *err);
void twin_destroy(struct twin *t);
struct world *twin_world(struct twin *t);
int64_t twin_start_at(const struct twin *t); /* when the clock starts: the first arrival */
/* Jobs that will be there at once, for tables, as far as it is known; at most what is worth
 * reserving. */
uint32_t twin_expected(const struct twin *t);
/* After the run: on_end for every job that came and did not end. */
void twin_finish(struct twin *t);
void twin_counts(const struct twin *t, struct twin_counts *ret);

/* For scenarios, before the run. The spec and what r points to are borrowed until
 * twin_destroy. run_us INT64_MIN: never ends. Times before the start come at the start. */
void twin_submit(struct twin *t, int64_t at, const struct job_spec *spec, int64_t run_us);
/* The job submitted last ends by its own fault: exit code 1, and nobody runs it again. */
void twin_submit_fails(struct twin *t);
/* Any event at a time, as it is; a node_set also changes what the twin knows of the node. */
void twin_post(struct twin *t, int64_t at, const struct record *r);
void twin_node_fault(struct twin *t, uint32_t node, int64_t at, int64_t until);

#endif
