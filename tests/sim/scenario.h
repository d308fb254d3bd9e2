/* scenario.h - one behaviour as a story: a cluster, what happens to it, what must be
 * true docs/scenarios.md describes the files. Everything read lives in the scenario's
 * arena. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TEST_SCENARIO_H
#define MUSTER_TEST_SCENARIO_H

#include "base/buf.h"
#include "base/heap.h"
#include "base/vec.h"
#include "base/yaml.h"
#include "cluster/file.h"
#include "event/records.h"
#include "sched/policy.h"

#define NOBODY UINT32_MAX
#define NEVER INT64_MAX

struct audit;
struct sched;

enum { PICKED_MAX = 64, STEPS_MAX = 1 << 16 };

/* Which tasks: all that fit every field that is given. */
struct picked {
    struct str job, group, node;
    uint32_t copy;     /* of the gang; NOBODY: any */
    uint32_t nindexes; /* places in their leaf; 0: any */
    uint32_t indexes[PICKED_MAX];
};

struct range {
    bool given;
    int64_t least, most;
};

struct job_plan {
    struct job_spec spec;
    int64_t run_us; /* each task ends so long after it began to run; NEVER: when told */
    int64_t stop_us; /* ... and so long after it is stopped; NEVER: as the world says */
};

/* One expectation: every field that is given must hold. */
enum expect_kind {
    EXPECT_JOB = 0,
    EXPECT_JOBS,
    EXPECT_NODE,
    EXPECT_FREE,
    EXPECT_COUNTS,
    EXPECT_QUIET
};
/* counts[] up to here are taken since the mark, from there on as they are. */
enum { COUNTS_SINCE = 13, COUNTS_MAX = 18 };

struct expectation {
    enum expect_kind kind;
    const struct ynode *where;
    struct str subject; /* job, beginning of job names, node */
    struct str group;   /* role of a leaf; empty: all */
    uint32_t copy;      /* NOBODY: all */
    struct str state, because, why_level;
    struct range need, have;
    struct range tasks, running, gangs, node_count, launches, stops, says, started;
    struct range evictions, evicted, ending, holds, promised, forecast;
    struct range all_pending, all_running, all_over;
    struct range gpus_free;
    const struct ynode *nodes, *devices, *domain_names, *held_on;
    word_t level; /* of the job's domains, or of the free ones */
    struct range domains, each;
    bool ranks; /* grow along the topology */
    struct range counts[COUNTS_MAX];
};
extern const char *const count_names[]; /* NULL-ended, in the order of counts[] */

enum step_kind {
    STEP_SUBMIT = 0,
    STEP_END,    /* tasks end */
    STEP_RUN,    /* a manual world: issued tasks run */
    STEP_ENDING, /* tasks begin to end and hang there */
    STEP_REFUSE, /* the world could not start them */
    STEP_GHOST,  /* a task of the job's n-th launch is seen after all */
    STEP_OFFER,  /* a world that makes its tasks itself has made some */
    STEP_NODE,
    STEP_DEVICE,
    STEP_DO,
    STEP_FOREIGN,
    STEP_SAVED,
    STEP_BUDGET, /* how many of a job may still be disrupted */
    STEP_WORLD,
    STEP_RESTART, /* the core is saved, thrown away and loaded */
    STEP_MARK,    /* counts start from here */
    STEP_EXPECT
};

struct step {
    enum step_kind kind;
    int64_t at;
    uint32_t order; /* in the file */
    const struct ynode *where;
    struct picked who;
    struct job_plan job;
    struct shape shape;
    struct str name, node;
    uint64_t devs;
    uint32_t number; /* device, launch */
    uint8_t what;    /* state, verb, class, how or phase */
    bool lose, gone, replace, gated, has_shape;
    uint32_t allowed; /* budget */
    int64_t wait_us;  /* refuse: try again after; world: start, stop */
    int64_t stop_us;
    uint32_t nexpect;
    const struct expectation *expect;
};

struct scenario {
    struct arena arena;
    struct words words;
    struct cluster_file cluster;
    struct strmap node_ids;
    struct str policy_text; /* empty: the core's defaults */
    struct policy policy;
    bool guest; /* somebody else makes the tasks */
    bool manual;
    int64_t start_us, stop_us;
    VEC(struct step) steps; /* by time, then as in the file */
};

/* 0 or -errno, err is "file:line:column: why". */
int scenario_read(struct scenario *sc, const char *path, struct err *err);
void scenario_done(struct scenario *sc);

/* scenario-job.c */
int job_read(struct scenario *sc, const struct ynode *n, struct job_plan *ret,
             struct err *err);
int shape_read(struct scenario *sc, const struct ynode *n, struct shape *ret,
               struct err *err);
/* A key's text, word, or number; absent: *ret stays. */
int get_text(const struct ynode *map, const char *key, struct str *ret,
             struct err *err);
int get_word(struct scenario *sc, const struct ynode *map, const char *key, word_t *ret,
             struct err *err);
int get_u32(const struct ynode *map, const char *key, uint32_t most, uint32_t *ret,
            struct err *err);
int get_time(const struct ynode *map, const char *key, int64_t *ret, struct err *err);
/* One of the NULL-ended names; *ret its index. */
int get_choice(const struct ynode *map, const char *key, const char *const *names,
               uint8_t *ret, struct err *err);

/* scenario-want.c: what is expected */
int expect_read(struct scenario *sc, const struct ynode *list, struct step *st,
                struct err *err);

/* What the player knows, from the records alone: nothing here is asked of the core. */
enum task_state { AT_ISSUED = 0, AT_RUNNING, AT_ENDING, AT_OVER };

struct sim_task {
    uint32_t job, node;
    uint16_t group, leaf; /* of the gang's root; of the slot */
    uint32_t copy, index, rank;
    uint64_t launch, devs;
    uint16_t slices;
    uint8_t state, alt;
    int64_t since; /* running; NEVER */
    int64_t over;  /* since then; NEVER */
};

struct sim_gang { /* a gang that was heard of: in a launch, or in a reason */
    uint16_t group;
    uint32_t copy;
    bool waits; /* its last word was a reason */
    struct why why;
    uint32_t alive;       /* tasks issued, running or ending */
    bool reserved;        /* what is kept is a reservation */
    uint32_t nheld;       /* seats kept for it: behind who ends, or as a reservation */
    uint32_t *held;       /* their nodes; in the arena of the scenario */
    int64_t by, forecast; /* of its reservation; 0: none promised, none made */
    int64_t earliest_by;  /* the best that it was promised; NEVER */
    uint32_t evictions;   /* there had been so many then */
};

struct sim_job {
    const struct job_plan *plan;
    VEC(uint32_t) tasks; /* all it ever had */
    VEC(struct sim_gang) gangs;
    VEC(uint64_t) launches; /* in order */
    uint32_t stops, says, alive, running;
    uint32_t evictions, evicted; /* stops for somebody else, and tasks in them */
    int64_t submitted, started;  /* NEVER: not yet */
};

struct node_room { /* what our tasks and foreign pods take on a node */
    int64_t cpu_milli, mem_bytes;
    uint32_t slots, nics, tasks;
    uint32_t milli[NODE_DEVICES_MAX];
    int64_t dev_mem[NODE_DEVICES_MAX];
};

struct action { /* a task begins to run, ends as it should, or is killed */
    uint32_t task;
    uint8_t state;
    uint8_t how;
};

struct player {
    struct scenario *sc;
    struct sched *s;
    struct sched
        *other; /* the one that was not restarted, fed with all records; NULL */
    struct audit *audit;
    struct records out; /* the last decisions */
    struct buf stream;  /* all records as bytes */
    struct buf line;
    uint64_t seq, nrecords;
    int64_t now;
    uint32_t words_told;
    bool facts; /* folded since the last border */
    VEC(struct sim_job) jobs;
    struct strmap job_ids;
    VEC(struct sim_task) tasks;
    struct node_room *rooms; /* by node */
    struct node_desc *nodes; /* as last described */
    VEC(struct action) todo; /* what the world still owes */
    struct heap queue;
    uint32_t launches, stops, evictions, holds, would;
    uint32_t borders;          /* at which something was decided */
    uint32_t plans;            /* that stop somebody */
    bool faults;               /* something broke: no promise holds */
    int64_t marks[COUNTS_MAX]; /* counts at the last mark */
    uint32_t mark_launches, mark_stops;
    bool manual;
    int64_t start_us, stop_us;
    struct err trouble; /* the first broken rule */
};

/* scenario-play.c */
void player_init(struct player *p, struct scenario *sc);
void player_done(struct player *p);
/* Runs all steps, printing a line for each expectation. */
void player_run(struct player *p);
void player_counts(const struct player *p, int64_t counts[COUNTS_MAX]);

/* scenario-world.c: what happens outside the core, as events */
void fold_fact(struct player *p, struct record *r); /* stamps it */
void world_begin(struct player *p);
void world_step(struct player *p, const struct step *st);
void world_act(struct player *p, const struct record *decision);
void world_do(struct player *p, const struct action *a);
uint32_t node_index(const struct player *p, struct str name);
/* With the way to ask for GPUs that it was launched with as the only one. */
struct shape task_shape(const struct player *p, const struct sim_task *t);
bool task_is_picked(const struct player *p, const struct sim_task *t,
                    const struct picked *w);
void trouble(struct player *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* scenario-plans.c: what is kept and promised, and who goes for it */
void plan_forget(struct sim_gang *g);
void plan_hold(struct player *p, struct sim_gang *g, const struct record *r);
void plan_launch(struct player *p, struct sim_gang *g, const struct record *r);
void plan_stop(struct player *p, const struct record *r); /* after the book of tasks */
void plans_check(struct player *p);                       /* of one border */

/* scenario.c: lines of TAP, and remarks */
bool report(bool good, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void remark(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* scenario-expect.c: one line of TAP; what was seen goes into a remark when it fails.
 */
void expect_check(struct player *p, const struct expectation *e);

#endif
