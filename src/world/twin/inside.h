/* inside.h - the twin's own state (private to world/twin)
 *
 * Jobs are numbers: first the arrivals of the trace, then those of twin_submit. A gang exists
 * from its first launch until its job ended; a task from its launch until its end was
 * reported. Both live in slabs whose indexes are reused; events that outlive them carry a
 * serial number. Memory: 12 bytes a trace job beside its row, and about 150 + 64 a task
 * for those that are started. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TWIN_INSIDE_H
#define MUSTER_TWIN_INSIDE_H

#include "base/des.h"
#include "base/vec.h"
#include "world/twin/convert.h"
#include "world/twin/speed.h"
#include "world/twin/twin.h"

#define NONE UINT32_MAX
#define NEVER INT64_MAX

enum { NAME_LEN = 8, JOBS_MOST = 99999999 };

/* Classes of one instant, in CORE.md's order. */
enum { CLASS_END = 0, CLASS_NODE, CLASS_ARRIVAL, CLASS_REST, CLASSES };

enum event_kind {
    TE_DONE = 1,  /* a gang, b its serial: the work is done */
    TE_KILL,      /* a task, b its serial */
    TE_NODE_DOWN, /* a node, b: place in the recorded list + 1, or 0 by rate, or ONCE */
    TE_NODE_UP,
    TE_SUBMIT,    /* a job of twin_submit */
    TE_POST,      /* an event of twin_post */
    TE_START,     /* a gang, b launch: its tasks run */
    TE_CHECKPOINT, /* a gang, b its serial: a periodic one was written */
    TE_ASKED      /* a gang, b its serial: one that was asked for was written */
};
#define FAULT_ONCE UINT64_MAX

enum task_state { TASK_FREE = 0, TASK_STARTING, TASK_WORKING, TASK_OVER };

struct twin_task {
    uint64_t launch, devs;
    uint32_t gang, job;
    uint32_t copy, index;
    uint16_t group, leaf;
    uint16_t slices;
    uint8_t state; /* enum task_state */
    uint8_t how;   /* enum ended_how, once over */
    int8_t exit_code;
    uint32_t node;
    uint32_t serial;
    uint32_t node_next, node_prev; /* tasks on the node */
    uint32_t next, prev;           /* tasks of the gang, in the order of their seats */
    int64_t since;
};

struct twin_gang {
    uint32_t job, copy;
    uint16_t group;
    uint8_t on_loss;
    bool live, cross, ready, failing, over;
    uint32_t sibling;      /* the job's next gang */
    uint32_t head, tail;   /* tasks */
    uint32_t ntasks, working;
    uint32_t need, want;   /* tasks to work at all, and for full speed */
    uint32_t speed_ppm;
    uint32_t serial;       /* of its DONE and CHECKPOINT events */
    uint32_t restarts, saves;
    int64_t work_us;       /* at speed 1; NEVER: never ends */
    int64_t done_us;       /* of it, up to `since` */
    int64_t saved_us;      /* of it, in the last checkpoint */
    int64_t since;         /* works since; NEVER: does not work */
    int64_t first_start, lost_us;
    int64_t interval_us, save_us, restore_us; /* interval 0: no checkpoints */
    uint64_t gpu_milli;
};

struct twin_node {
    struct node_desc desc;
    uint32_t tasks;   /* first task on it */
    uint32_t down;    /* faults on it now */
    int64_t up_at;    /* when the last of them is mended */
    uint32_t type_ppm;
    uint8_t up_state; /* its state when there is no fault */
    uint32_t place[NODE_LEVELS_MAX]; /* domain by depth - 1 */
};

struct twin_extra { /* a job of twin_submit */
    const struct job_spec *spec;
    int64_t at, run_us, first_start, lost_us;
    uint32_t gangs_over, gangs_all, restarts;
    bool cross, failing;
};

enum out_kind {
    OUT_LEAD = 1, OUT_SYNC_BEGIN, OUT_SYNCED, /* a node, or NONE for the world */
    OUT_NODE,      /* a node, b state */
    OUT_ENDED, OUT_REFUSED, /* a task */
    OUT_JOB,       /* a job */
    OUT_AT,        /* a task, b phase */
    OUT_SAVED,     /* a gang, b step */
    OUT_POST,      /* a post */
    OUT_TIME
};

struct out { /* a fact of this instant that waits for its batch */
    uint16_t kind;
    uint16_t class_;
    uint32_t a;
    uint64_t b;
    uint32_t serial; /* of this instant: the last word in ties */
};

struct start {
    uint32_t gang;
    uint64_t launch;
};

struct twin {
    struct world world; /* first: the loop's view of us */
    struct twin_options o;
    struct truth truth;
    struct belief belief;
    struct convert convert;
    struct speed_model speed;
    struct des des;
    int64_t start_at, end_at; /* end_at NEVER: no limit */
    int64_t now;
    bool closing;

    VEC(struct twin_node) nodes;
    struct strmap node_ids;
    struct u64map domains; /* parent and name -> domain */
    uint64_t *level_most;  /* by depth: GPUs of the largest domain, milli; nlevels + 2 */
    struct arena text;
    uint32_t words_sent;
    struct rng fault_rng, repair_rng;
    uint32_t fault_next;
    int64_t fault_shift; /* the recorded list is played again so much later */

    uint32_t narrivals, next_arrival;
    int64_t next_submit; /* when the next arrival comes; NEVER: all came */
    uint32_t *arrivals;  /* NULL: arrival i is jobs[i] */
    char *names;         /* NAME_LEN bytes an arrival */
    uint32_t *job_gang;  /* first gang of each job; NONE, or OVER */
    VEC(struct twin_extra) extras;
    VEC(uint32_t) extra_gang;
    struct strmap extra_ids;
    VEC(struct record) posts;

    VEC(struct twin_gang) gangs;
    VEC(uint32_t) gangs_free;
    VEC(struct twin_task) tasks;
    VEC(uint32_t) tasks_free;

    VEC(struct out) out;
    uint32_t out_at;
    VEC(struct start) starts; /* launches that run at once */
    uint32_t hook_from, hook_to; /* arrivals whose on_arrival is due */

    uint32_t *job_said; /* last reason of each that waits, in `said`; NULL: none yet */
    VEC(struct why) said;
    VEC(uint32_t) said_free;

    uint64_t coming; /* events in des but faults */
    uint32_t nodes_down;
    int64_t idle_since;
    int64_t repaired_at; /* when all is up that was down at idle_since */
    bool hopeless;       /* at idle_since: nothing that waits fits on the whole cluster */
    uint32_t idle_times, same_times;
    struct twin_counts counts;
};

#define JOB_OVER (UINT32_MAX - 1) /* in job_gang */

static inline bool job_is_extra(const struct twin *t, uint32_t job)
{
    return job >= t->narrivals;
}
static inline const struct trace_job *job_row(const struct twin *t, uint32_t arrival)
{
    return &t->o.jobs[t->arrivals ? t->arrivals[arrival] : arrival];
}
static inline uint32_t *job_gang_of(struct twin *t, uint32_t job)
{
    return job_is_extra(t, job) ? &t->extra_gang.at[job - t->narrivals] : &t->job_gang[job];
}

/* twin.c */
void twin_later(struct twin *t, int64_t at, uint8_t class_, uint32_t kind, uint32_t a,
                uint64_t b);
static inline void out_add(struct twin *t, int kind, int class_, uint32_t a, uint64_t b)
{
    vec_push(&t->out, (struct out){(uint16_t)kind, (uint16_t)class_, a, b, t->out.n});
}
static inline struct str job_name_of(const struct twin *t, uint32_t job)
{
    if (job_is_extra(t, job))
        return t->extras.at[job - t->narrivals].spec->name;
    return (struct str){t->names + (size_t)job * NAME_LEN, NAME_LEN};
}
static inline int64_t job_submit_at(const struct twin *t, uint32_t job)
{
    const struct trace_job *row = job_row(t, job);
    if (t->o.order)
        return t->start_at + job * INT64_C(1000000);
    return t->o.recorded ? row->start_us : row->submit_us;
}

/* nodes.c */
uint32_t twin_node_add(struct twin *t, const struct node_desc *d, struct str name);
void nodes_measure(struct twin *t); /* level_most, once all are there */
uint32_t nodes_common_depth(const struct twin *t, const struct twin_gang *g);
uint32_t nodes_least_depth(const struct twin *t, uint64_t gpu_milli);
void faults_begin(struct twin *t);
void node_down(struct twin *t, uint32_t node, uint64_t origin);
void node_up(struct twin *t, uint32_t node, uint64_t origin);

/* work.c */
uint32_t gang_get(struct twin *t, uint32_t job, uint16_t group, uint32_t copy);
uint32_t gang_seek(struct twin *t, uint32_t job, uint16_t group, uint32_t copy);
uint32_t task_add(struct twin *t, uint32_t gang, uint32_t node);
static inline void task_free(struct twin *t, uint32_t task)
{
    t->tasks.at[task].state = TASK_FREE;
    vec_push(&t->tasks_free, task);
}
void task_end(struct twin *t, uint32_t task, uint8_t how, int8_t exit_code);
void gang_start(struct twin *t, uint32_t gang, uint64_t launch);
void gang_done(struct twin *t, uint32_t gang);
void gang_bank(struct twin *t, struct twin_gang *g); /* count the work up to now */
void gang_interrupt(struct twin *t, uint32_t gang);  /* ... and lose what is not saved */
void gang_review(struct twin *t, uint32_t gang);     /* work on at the speed of now, if it can */
void gang_saved(struct twin *t, uint32_t gang, bool asked);
void job_report(struct twin *t, uint32_t job, int64_t end_at);

/* orders.c */
int twin_act(struct world *w, const struct records *decisions, struct err *err);

/* reasons.c */
void reasons_said(struct twin *t, uint32_t job, const struct why *why);
void reasons_forget(struct twin *t, uint32_t job); /* it was launched */
struct why reasons_last(const struct twin *t, uint32_t job); /* code 0: nothing was said */
/* No job that waits fits on the whole cluster, all nodes up and empty. False when unsure. */
bool reasons_all_hopeless(struct twin *t);

/* facts.c */
void facts_sort_all(struct twin *t);
static inline void facts_sort(struct twin *t)
{
    if (t->out.n > 1)
        facts_sort_all(t);
}
void facts_emit(struct twin *t, uint32_t most, struct records *batch);

#endif
