/* event.h - the records: events that worlds bring, decisions that the core makes
 * CORE.md is the contract. A record is a view: the strings and arrays it points to live
 * until the batch that brought it is over (whoever needs them longer copies them).
 * Entities are named by the world's own names, never by our indexes. Words are ids of the
 * stream's table (a REC_WORD precedes the first use).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_EVENT_H
#define MUSTER_EVENT_H

#include "cluster/nodedesc.h"
#include "job/spec.h"

enum {
    TAG_SET_MAX = 1 << 20,     /* nodes, and tasks, in one tag_set */
    POLICY_BYTES_MAX = 1 << 20, /* bytes */
    SOFT_BYTES_MAX = 1 << 26,  /* bytes */
    TERM_MAX = (1 << 24) - 1   /* the upper 24 bits of a launch id */
};

enum record_kind {
    REC_NONE = 0,
    REC_WORD,
    REC_BORDER,
    /* events */
    EV_JOB_SET,
    EV_JOB_DO,
    EV_TASK_OFFERED,
    EV_TASK_GONE,
    EV_NODE_SET,
    EV_NODE_GONE,
    EV_DEVICE_SET,
    EV_TAG_SET,
    EV_FOREIGN_SET,
    EV_TASK_AT,
    EV_TASK_REFUSED,
    EV_TASK_ENDING,
    EV_TASK_ENDED,
    EV_STOP_REFUSED,
    EV_CHECKPOINT_SAVED,
    EV_BUDGET_SET,
    EV_SIGNAL,
    EV_POLICY_SET,
    EV_SYNC_BEGIN,
    EV_SYNCED,
    EV_SOFT_SET,
    EV_LEAD,
    EV_TIME,
    /* decisions */
    DE_LAUNCH,
    DE_STOP,
    DE_ASK,
    DE_HOLD,
    DE_CORDON,
    DE_SAY,
    DE_PASS,
    REC_KINDS
};

static inline bool record_is_event(int kind)
{
    return kind >= EV_JOB_SET && kind <= EV_TIME;
}
static inline bool record_is_decision(int kind)
{
    return kind >= DE_LAUNCH && kind <= DE_PASS;
}
const char *record_kind_name(int kind); /* "job_set", ... */

/* A gang: one copy of a whole group (or a lone slot's leaf) of a job. */
struct gang_ref {
    struct str job;
    uint16_t group;
    uint32_t copy;
};

/* A place in a gang. index counts the leaf's slots inside this copy, from 0. */
struct slot_ref {
    uint16_t leaf;
    uint32_t index;
};

/* A task. Where others make tasks it has the world's name (pod uid); where we do, `task` is
 * empty and (launch, slot) is its identity. */
struct task_ref {
    struct str task;
    uint64_t launch; /* term << 40 | n; 0: not known */
    struct gang_ref gang;
    struct slot_ref slot;
};

enum job_verb { JOB_HOLD = 1, JOB_RELEASE, JOB_CANCEL, JOB_CHECKPOINT, JOB_OVERRIDE };
enum foreign_phase { FOREIGN_PENDING = 0, FOREIGN_HELD, FOREIGN_ENDING, FOREIGN_GONE };
enum task_phase { TASK_BOUND = 0, TASK_RUNNING, TASK_READY };
enum refused_class {
    REFUSED_GONE = 0, REFUSED_CONFLICT, REFUSED_FORBIDDEN, REFUSED_THROTTLED,
    REFUSED_NOT_SENT, REFUSED_NODE, REFUSED_PREPARE
};
enum ending_by { ENDING_US = 0, ENDING_USER, ENDING_OWNER, ENDING_NODE };
enum ended_how { ENDED_DONE = 0, ENDED_FAILED, ENDED_REJECTED, ENDED_KILLED, ENDED_LOST, ENDED_OOM };
enum stop_refused_why { STOP_BUDGET = 0, STOP_FORBIDDEN };
enum signal_kind { SIGNAL_PROGRESS = 0, SIGNAL_STUCK, SIGNAL_LOAD, SIGNAL_IDLE };
enum capability {
    CAP_MAKE = 1 << 0,     /* muster makes the tasks (home worlds) */
    CAP_BIND_EACH = 1 << 1,
    CAP_DEVICES = 1 << 2,  /* we choose devices */
    CAP_RANKS = 1 << 3,
    CAP_CHECKPOINT = 1 << 4
};

/* Why, as data (24 bytes). Sentences are made in `words`. */
enum why_code {
    WHY_NONE = 0,
    WHY_FITS,          /* launch: placed; level it fits in, other = domains used */
    WHY_NEEDS_ROOM,    /* need tasks, have at most `have` in the best domain of `level` */
    WHY_PROMISED,
    WHY_QUOTA,
    WHY_INCOMPLETE,    /* tasks missing: need, have */
    WHY_GATED,
    WHY_UNSUPPORTED,
    WHY_INVALID,
    WHY_ERROR,
    WHY_BEHIND,        /* waits behind the head of its queue (who = digest of its name) */
    WHY_HELD,          /* a person holds it */
    WHY_BACKOFF,       /* until `other` seconds from now */
    WHY_TYPE,          /* no node here has the GPU type or count: need, have (most on a node) */
    WHY_CONSTRAINT,    /* taints, tags, spread leave `have` of `need` */
    WHY_CPU,           /* GPUs would do; CPU or memory does not: need, have tasks */
    WHY_CANCELLED,
    WHY_LOST,          /* gang lost a member */
    WHY_STRAY,
    WHY_LATE,          /* not whole at launch_by */
    WHY_FAULT,
    WHY_RECLAIMED,     /* stopped, or room kept, for one with a right: who; other = GPU-hours lost */
    WHY_LIMIT,         /* ran into its time limit: other = seconds */
    WHY_AUTHORITY,     /* muster may not do more in this queue */
    WHY_CHEAPER,       /* waiting is cheaper than evicting: need = GPU-hours it would cost, have = GPU-hours of waiting, other = minutes */
    WHY_MOVED,         /* stopped, or room kept, by moves: need = GPU-hours lost, have = GPU-hours that `who` waits less, other = moves */
    WHY_VALUE,         /* started before `who`, whose waiting loses `have`; its own would lose `need` */
    WHY_CODES
};

struct why {
    uint16_t code;
    uint16_t level; /* word */
    uint32_t need, have, other;
    uint64_t who;   /* digest of a name; 0: nobody */
};

struct seat {
    struct slot_ref slot;
    uint32_t rank;
    struct str task; /* guest worlds */
    struct str node;
    uint64_t devs;   /* devices of the node; 0: none, or the world chooses */
    uint16_t slices; /* mig: memory slices on that device */
    uint8_t alt;     /* which of the shape's ways to ask for GPUs it takes */
};

enum hold_what {
    HOLD_STAGE = 0, /* for a later stage, or behind victims that still end */
    HOLD_RESERVE,   /* for a gang that waits: a domain and a time kept for it */
    HOLD_SPARE      /* nodes for repair, for no gang; until now: no longer */
};
enum stop_mode { STOP_PREEMPT = 0, STOP_MOVE, STOP_END };
enum stop_first { STOP_NOW = 0, STOP_CHECKPOINT };

struct record {
    uint64_t seq;
    int64_t at;
    uint16_t kind;
    uint16_t would; /* decision beyond authority, or while not leading: no effect */
    struct why why; /* decisions */
    union {
        struct { word_t id; struct str text; } word;
        const struct job_spec *job_set;
        struct { struct str job, by, reason; uint8_t verb; } job_do;
        struct { struct task_ref ref; const struct shape *shape; bool gated, bare; } task_offered;
        struct { struct task_ref ref; } task_gone;
        const struct node_desc *node_set;
        struct { struct str node; } node_gone;
        struct { struct str node; uint32_t device; uint8_t state; word_t evidence; } device_set;
        struct { word_t tag; bool on; uint32_t nnodes, ntasks; const struct str *nodes, *tasks; } tag_set;
        struct { struct str name, node; const struct shape *shape; uint64_t devs; int32_t priority; uint8_t phase; } foreign_set;
        struct { struct task_ref ref; struct str node; uint64_t devs; int64_t since; uint16_t slices; uint8_t phase, alt; } task_at;
        struct { struct task_ref ref; int64_t retry_at; uint8_t class_; } task_refused;
        struct { struct task_ref ref; int64_t deadline; uint8_t by; } task_ending;
        struct { struct task_ref ref; int32_t exit; uint8_t how; } task_ended;
        struct { struct task_ref ref; uint64_t stop; int64_t retry_at; uint8_t why; } stop_refused;
        struct { struct str job; uint64_t step, bytes; int64_t saved_at; } checkpoint_saved;
        struct { struct str job; uint32_t allowed; } budget_set;
        struct { struct str job, node; uint8_t kind; uint32_t class_; uint64_t ranks; } signal;
        struct { struct str text; } policy_set;
        struct { struct str node; uint64_t epoch; uint32_t caps; } sync; /* begin and synced; node empty: the world */
        struct { uint32_t version; struct str bytes; } soft_set;
        struct { bool held; uint32_t term; } lead;
        /* decisions */
        struct { uint32_t plan, stage, nseats; uint64_t launch; struct gang_ref gang; const struct seat *seats; int64_t launch_by; } launch;
        struct { uint32_t plan, ntasks; uint64_t stop; const struct task_ref *tasks; int64_t deadline; int64_t grace_us; uint8_t mode, first; } stop;
        struct { struct str job; int64_t deadline; uint8_t what; } ask;
        /* what: for how long; reserve: from `start` on, promised no later than `by` (0: no
         * promise, a blocker has no limit), forecast for `expected` */
        struct { uint32_t plan, nseats; struct gang_ref gang; const struct seat *seats; word_t domain_level, domain; uint32_t count; int64_t until, start, by, expected; uint8_t what; } hold;
        struct { struct str node; bool on; } cordon;
        struct { struct gang_ref gang; struct str node; } say; /* why carries the reason */
        /* left: questions cut off by the bound of one pass; same: asked again, same answer */
        struct { uint32_t left, nsame; const struct gang_ref *same; } pass;
    };
};

/* Form and bounds of one event (or word), without any state: sizes, enums, UTF-8 of names,
 * spec and node checks. Borders and decisions are made by us: -EINVAL. 0, or -EINVAL/-ERANGE with err naming kind and field. */
int event_check(const struct record *r, struct err *err);

#endif
