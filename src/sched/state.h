/* state.h - the core's state: jobs, gangs, slots, claims, queues (private to sched)
 *
 * Entities are made by fold in record order and live in slabs with stable indexes; a freed
 * index is reused. Nothing outside fold changes them. What decide works with on the side
 * (boards, trails, plans) is scratch and may vanish at any record.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_STATE_H
#define MUSTER_STATE_H

#include "base/heap.h"
#include "base/vec.h"
#include "cluster/cluster.h"
#include "sched/forecast.h"
#include "sched/mix.h"
#include "sched/owed.h"
#include "sched/phase.h"
#include "sched/policy.h"
#include "sched/quota.h"
#include "sched/sched.h"

#define NONE UINT32_MAX

/* A request shape, kept once. */
struct shape_entry {
    struct shape shape;
    uint64_t hash;
    uint32_t refs;
    uint32_t ready_types;  /* cluster->ntypes for which typemask was made */
    uint64_t typemask;     /* acceptable dense types; all ones: any */
    bool tagged;           /* has tags or constraints: goes into the tally */
    uint32_t alts[SHAPE_ALTS_MAX]; /* with alternatives: each as a shape of its own */
};

/* A tree of groups, kept once for all jobs that ask for the same. */
struct tree_root {         /* a gang's root: a whole group, or a leaf under none */
    uint16_t group;
    uint32_t copies;       /* gangs of this root in the job */
    uint32_t slots;        /* of one gang, at most */
    uint32_t want, min;    /* of one gang */
    uint32_t leaf0, nleaves; /* range in tree.leaves */
    uint64_t min_milli;    /* GPUs of one gang at its minimum */
};

struct tree_leaf {
    uint16_t group;
    uint32_t shape;        /* index of the shape entry */
    uint32_t copies;       /* how often the leaf stands in one gang (inner copies below) */
    uint32_t per_copy, per_min, step; /* slots of one copy: max, min, step */
    uint32_t want;         /* slots of one copy wanted */
    uint32_t slot0;        /* first slot in the gang */
    uint32_t nslots;       /* copies x per_copy */
};

struct tree {
    uint64_t hash;
    uint32_t refs;
    uint32_t ngroups, nroots, nleaves;
    bool staged;           /* some group starts after another */
    struct group_spec *groups;
    struct tree_root *roots;
    struct tree_leaf *leaves;
};

enum slot_flag { SLOT_OFFERED = 1, SLOT_GATED = 2, SLOT_DONE = 4, SLOT_BARE = 8, SLOT_STARTED = 16, SLOT_READY = 32, SLOT_SEEN = 64,
                 SLOT_LOST_NODE = 128, SLOT_LOST_DEVICE = 256 /* what it was last lost with */ };

struct slot {
    uint32_t claim;        /* NONE: empty */
    uint32_t flags;
    uint32_t shape;        /* the task's own shape; NONE: the leaf's */
    uint64_t last_launch;  /* highest launch that ever ended here */
    char *task;            /* the world's name; NULL: we make tasks */
    uint32_t task_len;
    uint32_t rank;         /* in its gang; it stays while the gang's counts change */
};

/* A task that came before there is a place for it: the counts of its job are to grow. */
struct early {
    uint32_t job;
    uint16_t group, leaf;
    uint32_t copy, index;
    uint32_t shape;        /* its own; NONE: its leaf's */
    char *task;
    uint32_t task_len;
    bool gated, bare, seen;
};

struct claim {
    struct use use;
    uint32_t gang, slot;   /* NONE: nobody's (an orphan stray, or a foreign pod) */
    uint8_t phase;         /* enum claim_phase */
    bool foreign;
    bool taken;            /* its room is taken in the cluster */
    bool asked;            /* a stop was sent */
    bool ours;             /* ending by our stop */
    bool seen;             /* named since sync_begin */
    bool live;
    uint8_t alt;           /* which of its slot's alternatives `shape` is */
    bool extra;            /* not up yet, of a gang that was whole without it */
    bool kept;             /* when it has ended its room stays, planned for its slot */
    bool placed;           /* it is where we put it: the world has not moved it */
    uint32_t shape;        /* NONE: unknown (room by devices alone) */
    uint32_t next, prev;   /* on its node; free list through next */
    uint32_t stray_next;   /* list of strays */
    uint64_t launch, stop;
    int64_t since;         /* running since; else phase since */
    int64_t until;         /* ending: since then it is `saving`, no longer useful */
    int64_t retry_at;      /* not to be stopped or launched again before */
    char *name;            /* orphans and foreigners: their key; strays of slots too */
    uint32_t name_len;
    char *where;           /* name of a node that is not known */
    uint32_t where_len;
};

enum gang_phase {
    GANG_PENDING = 0, /* holds no room */
    GANG_LAUNCHING,   /* issued, until whole or launch_by */
    GANG_RUNNING,     /* was whole */
    GANG_BROKEN,      /* a member is missing: being repaired, until grace_at */
    GANG_STOPPING,    /* members end; then pending again, or over */
    GANG_OVER
};

struct gang {
    uint32_t job, root, copy;
    uint32_t tree;         /* the job's */
    uint32_t nslots;
    struct slot *slots;
    struct slot one;       /* slots of a gang of one */
    uint8_t phase;         /* enum gang_phase */
    bool live, attention, said, failed;
    bool reserved;         /* pending, with planned claims that are a reservation */
    bool half;             /* launched pod by pod, and not whole yet */
    bool quota_idle;       /* pending, and what it last said is that its quota is used up */
    bool due;              /* has waited for reserve_after */
    bool moves;            /* stopped to start elsewhere: it goes first then */
    bool behind;           /* all it holds is room of others who end: nothing was launched */
    bool right;            /* its minimum is in K1 (rights.h), as last computed */
    bool holes;            /* some slot lacks what it should have */
    bool raised;           /* below a new minimum: mended with all of it or not at all */
    bool grows;            /* may be larger than it is, since its counts changed */
    bool mends;            /* stopped to start again as a whole, where its members stood */
    uint32_t issued, running, ending, planned, done;
    uint32_t kept;         /* of those that end: their places are kept */
    uint32_t offered;      /* slots that have a task (guest worlds) */
    uint32_t target;       /* slots it was launched with */
    uint64_t launch;
    uint32_t stage;
    int64_t launch_by;     /* LAUNCHING: until; BROKEN: grace until */
    int64_t not_before;
    uint32_t tries;
    bool roams;            /* it failed on a second node: it is at fault itself */
    uint32_t fails_here;   /* its last tries in a row that failed on */
    uint64_t fails_on;     /* ... the node of this name (a hash) */
    struct why why;        /* its last say */
    uint64_t tried_epoch;  /* free_epoch at its last say */
    uint32_t lane, heap_pos;
    uint32_t attention_next;
    int64_t forecast_us;   /* learned run time, as it stood when it joined its lane or started; 0 */
    uint32_t timer;        /* serial of the valid timer, the earliest; 0: none */
    int64_t timer_at;
};

struct job {
    char *name;            /* in s->names; of a free job: room for the next one's */
    uint32_t name_len, name_room;
    char *request;
    uint32_t request_len;
    uint32_t tree;
    word_t queue, user;
    uint32_t qnode;        /* its queue's place in the quota tree; 0 without quotas */
    uint8_t kind, qos, success, on_loss, checkpoint, preemptible, oracle;
    bool live, held, cancelled, ask, seen, over;
    bool overridden;       /* a person said that it goes first among its priority */
    int32_t priority;
    uint32_t tries, max_unavailable;
    uint32_t ngangs, gangs_left;
    uint32_t *gangs;       /* NULL: only one_gang */
    uint32_t one_gang;
    int64_t submitted_at, time_limit_us, expected_us, backoff_us;
    int64_t ckpt_interval_us, ckpt_save_us, ckpt_restore_us, protect_us;
    int64_t value_milli_h, deadline_at, freeze_us;
    uint64_t ckpt_bytes, ckpt_step;
    int64_t saved_at;      /* last checkpoint; INT64_MIN: none */
    int64_t attained_us;   /* ran so long, all attempts together, but the present one */
    int64_t progress_us;   /* ... of it what checkpoints saved */
    uint32_t budget;       /* may still be disrupted; UINT32_MAX: not said */
    uint32_t moved;        /* so often */
};

/* Pending gangs that share a fate: one class (queue, tree, root), or a whole queue when its
 * head blocks it. A binary heap by the policy's order. */
struct lane {
    word_t queue;
    uint32_t tree, root;   /* NONE when the queue is the lane */
    uint64_t own;          /* what sets its gangs apart from their class; 0: nothing */
    uint32_t octave;       /* of their time limit, where it matters (reservations); else 0 */
    uint32_t *heap;
    uint32_t n, room;
    uint32_t blocked;      /* gang whose refusal blocks the lane; NONE: not blocked */
    bool dry;              /* class lane: refused; whoever comes gets the same answer */
    struct why why;
    uint32_t qnode;        /* whose heap of active lanes it stands in */
    uint32_t active_pos;   /* in that heap; NONE: not there */
};

enum { TREE_MEMO_BITS = 6 };
enum { NODE_HOLDS = 4, NODE_PUTS = 7 };
struct node_account {        /* GPU milli on one node */
    int64_t held[NODE_HOLDS]; /* by what holds it: useful, starting, saving, held */
    int64_t put[NODE_PUTS];   /* what it adds to the sums now: those, faulty, drained, idle */
    bool ordinary;            /* usable and not overcommitted when last looked at as a whole */
};

struct scratch;
struct future;
struct runners;

/* A gang that waits with room kept for it: planned claims on the slots of its minimum. */
struct reservation {
    uint32_t gang;
    uint32_t taken;    /* of its claims: all of their room is there */
    uint32_t nclaims;
    uint64_t version;  /* raised when what it keeps changes */
    int64_t start;     /* planned */
    int64_t by;        /* promised; 0: not, a blocker has no limit */
    int64_t expected;  /* forecast */
    int64_t made_at;
};

/* A task failed by itself: names by hash. */
struct failure {
    uint64_t node, job;
    int64_t at;
};

/* A node kept for repair. */
struct spare {
    uint32_t node;
    uint32_t rule;    /* of the policy */
    struct use guard; /* what of it is free, and taken; node NODE_NONE: nothing */
};

struct rest { /* of a partly used device, kept for a claim of a reservation */
    uint32_t claim;
    struct use use;
};

struct sched {
    struct words words;
    struct cluster *cluster;
    struct policy policy;
    struct buf policy_text;
    struct arena policy_arena; /* what the policy points to */

    uint64_t seq;
    int64_t at;
    bool started, synced, syncing, leading;
    uint32_t term, caps;
    uint64_t epoch;
    uint64_t launch_n, stop_n;
    uint32_t plan_n;

    VEC(struct shape_entry) shapes;
    VEC(uint32_t) shapes_free;
    struct u64map shape_ids;
    VEC(struct tree) trees;
    VEC(uint32_t) trees_free;
    struct u64map tree_ids;
    struct arena names;      /* of jobs; a slot keeps its room, so it is bounded by slots */
    VEC(struct job) jobs;
    VEC(uint32_t) jobs_free;
    struct strmap job_ids;
    struct strmap request_ids; /* request id -> job: a submit told twice is one job */
    VEC(struct gang) gangs;
    VEC(uint32_t) gangs_free;
    VEC(struct claim) claims;
    VEC(uint32_t) claims_free;
    struct strmap tasks;     /* the world's task name -> claim of a stray, foreign or orphan */
    struct strmap slot_tasks; /* the world's task name -> gang (then its slots are searched) */
    VEC(uint32_t) node_claims; /* by node: first claim */
    VEC(bool) node_seen;       /* named since sync_begin */
    VEC(uint64_t) tainted;     /* a bit a node: has taints (descriptions are far away) */
    uint32_t strays;           /* list of strays that want a stop */
    int64_t strays_at;         /* when one whose stop was refused is asked again */
    uint32_t adrift;           /* claims on unknown nodes */
    VEC(struct lane) lanes;
    struct u64map lane_ids;
    struct owed owed;          /* who has a right to room */
    int64_t evict_hour;        /* number of the hour in which */
    uint32_t evicted;          /* ... so many gangs were evicted */
    int64_t move_hour;         /* the same of moves */
    uint32_t moved;
    struct forecast forecast;  /* learned run times */
    struct quota quota;        /* queues, and in each the lanes to try */
    VEC(uint32_t) unsaid;      /* gangs that came since the last pass and lack a reason */
    uint32_t attention;        /* list of gangs to look at */
    struct heap timers;        /* (at, gang, serial) */
    uint32_t timer_serial;
    uint64_t free_epoch;       /* raised when room is freed */
    uint32_t left;             /* questions that the last pass left over */
    VEC(uint32_t) asks;        /* jobs to be asked for a checkpoint */
    VEC(struct early) early;   /* offered tasks beyond the counts of their jobs */

    /* constraint tally: (kind, tag, key, value) -> count of tasks */
    struct u64map tally;
    struct u64map part_nodes;  /* (key, value) -> nodes */
    VEC(uint64_t) parts;       /* every (key, value) ever seen */

    /* the ledger */
    VEC(struct node_account) accounts;
    int64_t now_put[LEDGER_CAUSES];
    int64_t capacity_milli;
    struct ledger ledger;
    int64_t ledger_at;
    int64_t pending_milli, used_milli;
    int64_t quota_milli;       /* of pending: asked for by gangs that a quota refused */
    uint32_t n_pending, n_jobs, n_claims;

    struct sched_counts counts;
    struct mix mix;            /* the typical mix: given, or learned from arrivals */
    bool mix_unknown;          /* it names a type that no record has named yet */
    bool mix_stale;            /* given, and a type it names may have become known */
    VEC(struct reservation) reserves; /* in the order they were made */
    VEC(struct use) guards;    /* by claim: what of a reservation's room is free and kept */
    VEC(struct rest) rests;    /* ... and of devices that others use a part of */
    VEC(uint16_t) reserved_at; /* by node: claims of reservations on it */
    VEC(uint32_t) reserve_at;  /* scratch, by gang: its reservation stands there or before */
    int64_t improve_at;        /* when reservations are looked at again */
    uint64_t reserve_version;
    bool reserve_check;        /* a node of a reservation went bad */
    uint64_t reserve_tried;    /* free_epoch when they were last tried */
    struct { bool check, improve, freed; } reserve_now; /* what this border's pass looks at */
    VEC(struct failure) failures; /* of the last hour, oldest first */
    VEC(uint64_t) suspects;    /* nodes to be cordoned, by the hash of their name */
    VEC(struct spare) spares;  /* in the order they were named */
    VEC(bool) is_spare;        /* by node */
    bool spares_check;         /* there may be too few, or too many */
    bool spares_now;           /* ... which this border's pass looks at */
    struct scratch *scratch;
    struct future *scratch_future;
    struct runners *scratch_runners;
    uint32_t last_job;         /* scratch: found last, or about to be named */
    uint32_t last_node;        /* the same */
    uint32_t tree_memo[1 << TREE_MEMO_BITS]; /* scratch: guesses, by the shapes' address */
};

/* entity.c */
uint32_t shape_intern(struct sched *s, const struct shape *shape);
void shape_unref(struct sched *s, uint32_t id);
/* The shape with its i-th way to ask for GPUs alone; i from 0 to shape_alts() - 1. */
static inline uint32_t shape_alts(const struct sched *s, uint32_t id)
{
    return s->shapes.at[id].shape.nalts + 1;
}
static inline uint32_t shape_alt(const struct sched *s, uint32_t id, uint32_t i)
{
    const struct shape_entry *e = &s->shapes.at[id];
    return e->shape.nalts == 0 ? id : e->alts[i <= e->shape.nalts ? i : 0];
}
uint64_t shape_typemask(struct sched *s, uint32_t id); /* for the types known now */
uint32_t tree_intern(struct sched *s, const struct job_spec *spec);
uint64_t tree_hash_of(const struct sched *s, const struct tree *t);
void tree_unref(struct sched *s, uint32_t id);
uint32_t job_create(struct sched *s, const struct job_spec *spec);
void job_set_name(struct sched *s, struct job *j, struct str name); /* copies */
void job_index(struct sched *s, uint32_t job); /* found by name and request from now on */
void job_destroy(struct sched *s, uint32_t job);
uint32_t job_look(const struct sched *s, struct str name);
uint32_t node_find(struct sched *s, struct str name); /* NODE_NONE: not known */
uint32_t gang_create(struct sched *s, uint32_t job, uint32_t root, uint32_t copy);
void gang_destroy(struct sched *s, uint32_t gang);
static inline struct slot *gang_slot(struct sched *s, uint32_t gang, uint32_t slot)
{
    struct gang *g = &s->gangs.at[gang];
    return g->nslots > 1 ? &g->slots[slot] : &g->one;
}
void slot_set_task(struct sched *s, uint32_t gang, uint32_t slot, struct str task);
static inline struct str job_name(const struct job *j)
{
    return (struct str){j->name, j->name_len};
}
static inline struct tree *gang_tree(const struct sched *s, const struct gang *g)
{
    return &s->trees.at[g->tree];
}
static inline const struct tree_root *gang_root(const struct sched *s, const struct gang *g)
{
    return &gang_tree(s, g)->roots[g->root];
}
/* The same job is named again and again: launch, reports, ends (a memo, checked by name). */
static inline uint32_t job_find(const struct sched *s, struct str name)
{
    if (s->last_job < s->jobs.n) {
        const struct job *j = &s->jobs.at[s->last_job];
        if (j->live && str_eq(job_name(j), name))
            return s->last_job;
    }
    return job_look(s, name);
}
static inline uint32_t gang_find(const struct sched *s, const struct gang_ref *ref)
{
    uint32_t job = job_find(s, ref->job);
    if (job == NONE)
        return NONE;
    const struct job *j = &s->jobs.at[job];
    const struct tree *t = &s->trees.at[j->tree];
    uint32_t at = 0;
    for (uint32_t r = 0; r < t->nroots; r++) {
        if (t->roots[r].group == ref->group) {
            if (ref->copy >= t->roots[r].copies)
                return NONE;
            return j->gangs ? j->gangs[at + ref->copy] : j->one_gang;
        }
        at += t->roots[r].copies;
    }
    return NONE;
}
/* The slot's number in its gang; NONE: it has no such slot. */
static inline uint32_t slot_find(const struct sched *s, uint32_t gang, struct slot_ref ref)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct tree *t = gang_tree(s, g);
    const struct tree_root *r = &t->roots[g->root];
    const struct tree_leaf *l = &t->leaves[r->leaf0], *end = l + r->nleaves;
    while (l < end && l->group != ref.leaf)
        l++;
    return l < end && ref.index < l->nslots ? l->slot0 + ref.index : NONE;
}
/* Index of the slot's leaf in the tree. */
static inline uint32_t slot_leaf(const struct sched *s, uint32_t gang, uint32_t slot)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct tree *t = gang_tree(s, g);
    uint32_t i = t->roots[g->root].leaf0;
    while (slot >= t->leaves[i].slot0 + t->leaves[i].nslots)
        i++;
    return i;
}
static inline struct gang_ref gang_ref_of(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    return (struct gang_ref){job_name(&s->jobs.at[g->job]), gang_root(s, g)->group, g->copy};
}
static inline struct slot_ref slot_ref_of(const struct sched *s, uint32_t gang, uint32_t slot)
{
    const struct tree_leaf *l =
        &gang_tree(s, &s->gangs.at[gang])->leaves[slot_leaf(s, gang, slot)];
    return (struct slot_ref){l->group, slot - l->slot0};
}
static inline uint32_t slot_shape(const struct sched *s, uint32_t gang, uint32_t slot)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct slot *sl = g->nslots > 1 ? &g->slots[slot] : &g->one;
    if (sl->shape != NONE)
        return sl->shape;
    return gang_tree(s, g)->leaves[slot_leaf(s, gang, slot)].shape;
}
/* What it holds or waits for, and slots that should hold something and do not. */
static inline uint32_t gang_alive(const struct gang *g)
{
    return g->issued + g->running + g->ending;
}
static inline uint32_t gang_missing(const struct gang *g)
{
    uint32_t have = g->issued + g->running + g->planned + g->done + g->kept;
    return g->target > have ? g->target - have : 0;
}

/* claim.c */
uint32_t claim_create(struct sched *s, uint32_t gang, uint32_t slot, uint8_t phase);
/* The same and claim_place in one. */
uint32_t claim_create_on(struct sched *s, uint32_t gang, uint32_t slot, uint8_t phase,
                         const struct use *u, struct str where);
/* Sets use (and takes its room, when the phase holds room); u->node may be NODE_NONE. */
void claim_place(struct sched *s, uint32_t claim, const struct use *u, struct str where);
void claim_reshape(struct sched *s, uint32_t claim, uint32_t shape);
/* It takes that of its slot's alternatives (the first where there are not so many); its room
 * is to be placed anew. */
void claim_choose(struct sched *s, uint32_t claim, uint8_t alt);
void claim_phase(struct sched *s, uint32_t claim, uint8_t phase);
void claim_free(struct sched *s, uint32_t claim);
/* A reservation's claim: made; its room taken if it is all free, and given back. */
void claim_reserve(struct sched *s, uint32_t gang, uint32_t slot, uint32_t node, uint64_t devs);
bool claim_grab(struct sched *s, uint32_t claim);
/* Of a member that is stopped so that its gang starts again: its room will stay, or not. */
void claim_keep(struct sched *s, uint32_t claim, bool keep);
bool claim_may_stay(const struct sched *s, const struct claim *c); /* its room is sound */
void claim_replan(struct sched *s, uint32_t claim); /* it has ended, its room stays */
void claim_ungrab(struct sched *s, uint32_t claim);
void claim_make_stray(struct sched *s, uint32_t claim, struct str key);
/* Of strays: the reference the world knows them by; their order by name. */
void stray_ref(const struct sched *s, uint32_t claim, struct arena *a, struct task_ref *ref);
void strays_next(struct sched *s);
int stray_by_name(const void *a, const void *b, void *sched);
void claims_leave_node(struct sched *s, uint32_t node); /* its claims are adrift */
void claims_join_node(struct sched *s, uint32_t node);  /* those adrift that named it */
void claim_restore(struct sched *s, uint32_t claim);
bool use_of_shape(struct sched *s, uint32_t shape, uint32_t node, uint64_t devs,
                  uint16_t slices, struct use *ret);

/* runners.c: who runs, as victims for a question; scratch */
void runners_dirty(struct sched *s, uint32_t gang);

static inline uint32_t node_first_claim(const struct sched *s, uint32_t node)
{
    return node < s->node_claims.n ? s->node_claims.at[node] : NONE;
}

/* reserve.c */
static inline bool claim_is_reserved(const struct sched *s, const struct claim *c)
{
    return c->phase == CLAIM_PLANNED && c->gang != NONE && s->gangs.at[c->gang].reserved;
}
/* A plan's: some of its room is still somebody's who ends. What is free of it is guarded. */
static inline bool claim_waits(const struct sched *s, const struct claim *c)
{
    return c->phase == CLAIM_PLANNED && c->gang != NONE && !c->taken &&
           c->use.node != NODE_NONE && !s->gangs.at[c->gang].reserved;
}
static inline bool node_is_reserved(const struct sched *s, uint32_t node)
{
    return node < s->reserved_at.n && s->reserved_at.at[node] > 0;
}
void reserve_fold(struct sched *s, uint32_t gang, const struct record *r); /* a hold */
void reserve_border(struct sched *s);                /* what the coming pass has to look at */
void reserve_drop(struct sched *s, uint32_t gang); /* its claims go; it is in no lane then */
/* Around a change of what is taken on the node: what reservations keep there is given back,
 * and taken again as far as it is free then. */
void reserve_fact(struct sched *s, uint32_t node); /* its state or devices changed */
void reserve_restore(struct sched *s); /* after a load: guards anew */
void reserve_forget(struct sched *s); /* all go back to their lanes */
void reserve_count(struct sched *s, uint32_t node, int by);
/* Devices there that are free but kept; who ends soon enough may have them. */
uint64_t reserve_devices(const struct sched *s, uint32_t node);
void reserve_lift_node(struct sched *s, uint32_t node);
void reserve_settle_node(struct sched *s, uint32_t node);
struct reservation *reserve_of(struct sched *s, uint32_t gang); /* NULL: has none */

/* faults.c */
int64_t gang_backoff(const struct sched *s, const struct gang *g); /* after its last failure */
uint64_t node_hash(const struct sched *s, uint32_t node);          /* of its name */
uint32_t faults_node(const struct sched *s, uint64_t hash);        /* NODE_NONE: gone */
uint32_t faults_on(const struct sched *s, uint64_t node); /* jobs that are evidence against it */
/* A task of the gang failed there by itself, the first since its launch or not. */
void faults_note(struct sched *s, uint32_t gang, uint32_t node, bool first);
void faults_blame(struct sched *s, uint32_t node); /* it was cordoned for that */
void faults_border(struct sched *s);

/* spares.c */
static inline bool node_is_spare(const struct sched *s, uint32_t node)
{
    return node < s->is_spare.n && s->is_spare.at[node];
}
/* Work that may be evicted for nothing. */
static inline bool job_borrows_spares(const struct job *j)
{
    return j->qos == QOS_BEST_EFFORT && j->preemptible;
}
bool spare_is_lent_to(const struct sched *s, const struct claim *c);
/* Around a change of what is taken on a spare node: its guard is given back; then taken anew,
 * if it still is a spare (any number of times). */
void spares_lift(struct sched *s, uint32_t node);
void spares_settle(struct sched *s, uint32_t node);
void spares_fact(struct sched *s, uint32_t node);  /* something about the node changed */
void spares_leave(struct sched *s, uint32_t node); /* it is about to be gone */
void spares_fold(struct sched *s, const struct record *r);
void spares_border(struct sched *s);
void spares_restore(struct sched *s, const uint32_t *map);

/* pending.c */
void gang_pend(struct sched *s, uint32_t gang);    /* into its lane */
void gang_unpend(struct sched *s, uint32_t gang);
void gang_count_quota(struct sched *s, uint32_t gang); /* after its say or its place changed */
void gang_fall_due(struct sched *s, uint32_t gang); /* it has waited long enough */
static inline int64_t gang_due_at(const struct sched *s, const struct gang *g)
{
    bool may = s->policy.reserve && s->policy.reserve_after_us && !g->due &&
               (g->nslots > 1 || s->policy.reserve == RESERVE_ALL);
    return may ? s->jobs.at[g->job].submitted_at + s->policy.reserve_after_us : INT64_MAX;
}
bool gang_before(const struct sched *s, uint32_t a, uint32_t b);
/* Does the order itself put a before b, or only a tie-break? */
bool gang_outranks(const struct sched *s, uint32_t a, uint32_t b);
void lane_touch(struct sched *s, uint32_t lane);   /* (re)place it in the active heap */
void lane_block(struct sched *s, uint32_t lane, uint32_t gang, const struct why *why);
void lanes_wake(struct sched *s, uint32_t node);   /* room was freed there; NONE: anywhere */
void lanes_wake_constrained(struct sched *s);
void lanes_wake_owed(struct sched *s);             /* those whose head has a right */
void lane_right(struct sched *s, uint32_t gang, bool right);
void job_lift(struct sched *s, uint32_t job, bool lift); /* while its place in the order changes */
void lanes_wake_quota(struct sched *s);            /* those that a quota refused */
uint32_t lane_next(const struct sched *s);         /* the next to try; NONE: none */
void lanes_rebuild(struct sched *s);               /* the policy changed */
uint64_t lane_key(const struct sched *s, const struct lane *l);
bool lane_is_blocked(const struct sched *s, const struct lane *l);

/* account.c */
void account_pass(struct sched *s, int64_t at);        /* at is later than ledger_at */
void account_node(struct sched *s, uint32_t node);     /* its shares changed */
void account_claim(struct sched *s, const struct claim *c, int sign); /* by its phase */
/* Gives a claim whose room is taken another phase. */
void account_phase(struct sched *s, struct claim *c, uint8_t phase);
static inline void account_advance(struct sched *s, int64_t at)
{
    if (at > s->ledger_at)
        account_pass(s, at);
}
/* The gang is about to be whole: what its tasks hold was `starting` until now. */
void account_whole(struct sched *s, uint32_t gang);
void account_guard(struct sched *s, const struct use *u, int sign);
void account_lost(struct sched *s, const struct claim *c); /* useful becomes recomputed */

/* gang.c: what a gang's counts mean; all called by fold */
void gang_attend(struct sched *s, uint32_t gang);
void gang_settle(struct sched *s, uint32_t gang);      /* after any change of its claims */
void gang_timer(struct sched *s, uint32_t gang, int64_t at);
/* Nothing of it runs yet, and what was stopped for it has not ended. */
static inline bool gang_is_behind(const struct sched *s, const struct gang *g)
{
    return g->behind && g->phase == GANG_LAUNCHING && g->planned > 0 && g->launch_by > s->at &&
           !s->jobs.at[g->job].cancelled;
}
void gang_changed(struct sched *s, uint32_t gang); /* after its claims or phase changed */
int64_t gang_limit_at(struct sched *s, uint32_t gang);
void gang_wait(struct sched *s, uint32_t gang);        /* pending, or parked */
void gang_place_lost(struct sched *s, uint32_t gang);
void gang_unmend(struct sched *s, uint32_t gang);      /* no place is kept any longer */
void gang_shrink(struct sched *s, uint32_t gang);
void gang_lost(struct sched *s, uint32_t gang);
bool gang_succeeded(struct sched *s, uint32_t gang);
void job_attend(struct sched *s, uint32_t job);
void job_cancel(struct sched *s, uint32_t job);        /* the job may be gone after it */
void job_finish(struct sched *s, uint32_t job);        /* it is gone */
void gang_over(struct sched *s, uint32_t gang);        /* its job may be gone after it */
uint32_t gang_lacks(const struct sched *s, uint32_t gang); /* members for its minimum */
bool gang_may_grow(const struct sched *s, uint32_t gang);
/* Members that a copy of the leaf should have. */
uint32_t leaf_goal(const struct sched *s, const struct tree_leaf *l);
void attention_thin(struct sched *s);
void timers_run(struct sched *s);                      /* at a border */
void gangs_unpark(struct sched *s);
bool gang_is_below(const struct sched *s, uint32_t gang);
uint32_t leaf_copy_has(const struct sched *s, uint32_t gang, const struct tree_leaf *l,
                       uint32_t copy);
bool gang_may_try(const struct sched *s, uint32_t gang, struct why *why);

/* fold-*.c */
void fold_job(struct sched *s, const struct record *r);
void fold_node(struct sched *s, const struct record *r);
void fold_task(struct sched *s, const struct record *r);
void fold_sync(struct sched *s, const struct record *r);
void fold_decision(struct sched *s, const struct record *r);
/* Where an event's task stands: fills gang, slot, claim (NONE each when unknown) and
 * returns the phase its row of the table is looked up in. */
enum claim_phase task_locate(const struct sched *s, const struct task_ref *ref,
                             uint32_t *gang, uint32_t *slot, uint32_t *claim);

void slot_forget(struct sched *s, uint32_t gang, uint32_t slot); /* its offered task */
enum { TASK_KEY_MAX = 400 };
struct str task_key(const struct task_ref *ref, char out[TASK_KEY_MAX]); /* of a stray */
void task_tag(struct sched *s, struct str task, word_t tag, bool on);
void node_forget(struct sched *s, uint32_t node);

/* recount.c */
enum recount {
    RECOUNT_NONE = 0,
    RECOUNT_COUNTS,     /* the counts differ, and the job can follow */
    RECOUNT_RENUMBERS,  /* ... but members would change their numbers */
    RECOUNT_OTHER_TREE  /* other groups or shapes */
};
enum recount job_recount_kind(const struct sched *s, const struct job *j,
                              const struct job_spec *spec);
/* Its gangs, in no lane, get the slots of the new counts; then what follows from it (the job
 * may be gone after that). */
void job_recount(struct sched *s, uint32_t job, const struct job_spec *spec);
void job_recount_settle(struct sched *s, uint32_t job);

/* early.c */
enum { EARLY_MAX = 4096 };
void early_keep(struct sched *s, const struct record *r); /* an offer without a place */
void early_slot(struct sched *s, uint32_t gang, uint32_t slot); /* the slot goes, not its task */
void early_drop(struct sched *s, struct str task);
void early_forget(struct sched *s, uint32_t job);
void early_admit(struct sched *s, uint32_t job); /* its counts changed: all are offered anew */
void early_unseen(struct sched *s);              /* synced: who was not named is not there */
uint32_t early_count(const struct sched *s, uint32_t gang);

/* worth.c */
#define WORTH_MOST (INT64_C(1) << 50) /* of an hour: what is stated beyond counts as this */
int64_t worth_rate(const struct sched *s, uint32_t gang); /* of an hour, in thousandths */
int worth_cmp(const struct sched *s, uint32_t a, uint32_t b); /* below 0: a loses more a GPU-hour */
int64_t worth_regret(const struct sched *s, uint32_t gang, uint32_t other);

/* expected.c */
void expected_set(struct sched *s, uint32_t gang); /* its forecast, as it is now */
void expected_learn(struct sched *s, const struct claim *c); /* it is about to end by itself */
/* When a running one is expected to be gone; at the latest `until`. */
int64_t claim_expected(const struct sched *s, const struct claim *c, int64_t until);
void fold_soft(struct sched *s, const struct record *r);
/* Stated, or learned; 0: nobody knows. */
static inline int64_t gang_expected(const struct sched *s, const struct gang *g)
{
    int64_t stated = s->jobs.at[g->job].expected_us;
    return stated ? stated : g->forecast_us;
}

/* fold-policy.c */
void fold_policy(struct sched *s, struct str text);
void mix_refresh(struct sched *s);                     /* at a border, when stale */
void mix_arrival(struct sched *s, uint32_t job);       /* learning */

/* eligible.c */
bool tag_is_carried(const struct sched *s, word_t tag); /* by any task that runs */
bool node_tolerated(const struct sched *s, const struct shape *shape, uint32_t node);
bool node_eligible(const struct sched *s, const struct shape *shape, uint32_t node);
void tally_claim(struct sched *s, uint32_t shape, uint32_t node, int sign);
void tally_node(struct sched *s, uint32_t node, int sign);

/* scratch.c */
struct scratch *scratch_create(void);
void scratch_destroy(struct scratch *sc);
void scratch_forget(struct sched *s);

static inline void noop(struct sched *s)
{
    s->counts.noops++;
}

#endif
