/* prop.h - the parts of the property test: a random scene, a world that is not always
 * honest SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_PROP_H
#define MUSTER_PROP_H

#include "base/rng.h"
#include "event/records.h"

enum {
    PROP_NODES = 32,
    PROP_TYPES = 3,
    PROP_JOBS = 48,    /* live at a time */
    PROP_TASKS = 2048, /* that the world remembers */
    JOB_GROUPS_PROP = 8,
    PROP_KINDS = 7, /* event kinds about tasks */
    PROP_PHASES = 6
};

/* Words of a scene, defined at its start in this order. */
enum prop_word {
    W_NODE = 1,
    W_ZONE,
    W_BLOCK,
    W_RACK,
    W_POWER,
    W_SPOT,
    W_DIRTY,
    W_FAST,
    W_WEB,
    W_DB,
    W_ZKEY,
    W_A100,
    W_L4,
    W_T4,
    W_1G,
    W_2G,
    W_3G,
    W_7G,
    W_QUEUE_A,
    W_QUEUE_B,
    W_ALICE,
    W_BOB,
    W_NAMES /* 40 domain and partition names follow */
};
#define PROP_NAMES 40u

struct prop_node {
    bool there;
    char name[8], uid[16];
    struct node_desc desc;
    struct device_desc dev[NODE_DEVICES_MAX];
    uint64_t legal[NODE_LEGAL_MAX];
    word_t tags[4], taints[2];
    struct node_part parts[1], faults[1], place[3];
};

/* A task as the world knows it, or once knew it. */
struct prop_task {
    bool live;                         /* it was sent and has not ended */
    bool started, ready, ending, dumb; /* dumb: never says anything by itself */
    char job[24], pod[24];
    uint16_t group, leaf;
    uint32_t copy, index;
    uint64_t launch, stop;
    uint32_t node;
    uint64_t devs;
    uint16_t slices;
    uint8_t alt;
    int64_t next_at; /* when it does something */
};

struct prop_job {
    bool live;
    char name[24];
    struct arena mem;
    struct job_spec spec;
};

/* What the world may ask: which phase the books find a task in (audit_phase), and
 * whether the core still knows a job. */
struct prop_ask {
    void *arg;
    int (*phase)(void *arg, const struct task_ref *ref);
    bool (*job_known)(void *arg, struct str name);
};

struct prop {
    struct rng rng;
    struct prop_ask ask;
    bool full;  /* policies with quotas, reservations and evictions too */
    bool guest; /* somebody else makes the tasks */
    bool leading, syncing;
    bool own_shapes; /* pods may differ from their template */
    uint32_t caps, term, nlevels, nnodes, task_n;
    uint64_t epoch, job_n, pod_n;
    int64_t at;
    uint64_t hostile; /* per mille of the world's steps */
    struct device_type types[PROP_TYPES];
    struct profile profiles[4];
    struct prop_node nodes[PROP_NODES];
    struct prop_job jobs[PROP_JOBS];
    struct prop_task tasks[PROP_TASKS]; /* a ring; task_n counts all */
};

static inline uint64_t below(struct prop *p, uint64_t n)
{
    return rng_below(&p->rng, n);
}
static inline bool chance(struct prop *p, uint64_t of_1000)
{
    return below(p, 1000) < of_1000;
}

/* prop-scene.c */
struct record *scene_add(struct records *out, int kind, int64_t at);
void scene_start(struct prop *p, struct records *out); /* words, policy, nodes, sync */
void scene_node(struct prop *p, uint32_t i);           /* a new description at random */
void scene_node_set(struct prop *p, struct records *out, uint32_t i);
void scene_policy(struct prop *p, struct records *out);
void scene_shape(struct prop *p, struct shape *s);
struct prop_job *scene_job(struct prop *p,
                           struct records *out); /* arrival; NULL: full */
void scene_job_set(struct prop *p, struct records *out, const struct prop_job *j);

/* prop-world.c: what happens at p->at, then what becomes of a decision */
void world_step(struct prop *p, struct records *out);
void world_act(struct prop *p, const struct record *decision);
int64_t
world_due(const struct prop *p); /* when a task does something; INT64_MAX: never */

#endif
