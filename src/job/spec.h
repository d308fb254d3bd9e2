/* spec.h - what a user asks for: a job and its tree of groups (CORE.md "Who is who")
 * groups[0] is the root; a child stands behind its parent; depth <= 4. A leaf has a shape,
 * an inner node has none. `whole` marks an inner node each copy of which is one gang
 * (outermost wins); a slot under no whole node is a gang of one.
 *   training        {root whole x1} {workers x16 leaf}
 *   LeaderWorkerSet {root x1} {replica whole x4} {leader x1 leaf} {workers x7 leaf}
 *   Deployment      {root x1} {pod xN leaf}
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SPEC_H
#define MUSTER_SPEC_H

#include "job/shape.h"

enum {
    JOB_GROUPS_MAX = 64,
    JOB_DEPTH_MAX = 4,
    JOB_SLOTS_MAX = 65536, /* tasks of one job */
    JOB_NAME_MAX = 253
};

#define GROUP_NONE 0xffffu

/* min <= want <= max; sizes between min and max go in steps (step 0 = 1). */
struct count {
    uint32_t min, want, max, step;
};

enum start_after { START_AT_ONCE = 0, START_AFTER_STARTED, START_AFTER_READY };

struct group_spec {
    uint16_t parent;      /* index; GROUP_NONE for the root */
    uint16_t shape;       /* leaf: index into job_spec.shapes; inner: GROUP_NONE */
    uint8_t depth;        /* root 0 */
    uint8_t whole;
    uint8_t start;        /* enum start_after */
    uint8_t pad0;         /* trees are compared as bytes: no hidden holes */
    uint16_t start_group; /* which group it waits for */
    uint16_t pad1;
    word_t role;
    struct count count;
    word_t required;      /* topology level that must hold it all; 0: none */
    word_t preferred;     /* level that should hold it all; never a reason to evict */
    uint32_t segment_size; /* k consecutive ranks ... 0: none */
    word_t segment_level;  /* ... inside one domain of this level */
    word_t spread_kind;    /* fault kind or level; 0: none */
    uint32_t spread_most;  /* at most so many slots in one such domain */
    uint32_t balanced;     /* 1: an even split over the domains used */
};

enum job_kind { JOB_FINITE = 0, JOB_SERVICE };
enum job_qos { QOS_GUARANTEED = 0, QOS_BEST_EFFORT, QOS_LATENCY };
enum job_loss { LOSS_GANG = 0, LOSS_MEMBER, LOSS_IGNORE };
enum job_success { SUCCESS_ALL = 0, SUCCESS_ANY, SUCCESS_LEADER };
enum checkpoint_how { CHECKPOINT_NONE = 0, CHECKPOINT_SELF, CHECKPOINT_ASKED };

struct job_spec {
    struct str name;
    struct str request;   /* the same request id twice is one job; empty: by name */
    uint8_t kind;         /* enum job_kind */
    uint8_t qos;
    uint8_t success;
    uint8_t on_loss;      /* enum job_loss */
    uint8_t checkpoint;   /* enum checkpoint_how */
    uint8_t preemptible;
    uint8_t oracle;       /* 1: expected_us is the truth (the twin wrote it); reports say so */
    word_t queue, user;
    int32_t priority;
    uint32_t tries;       /* restarts after failures; ends under a stop of ours do not count */
    int64_t backoff_us;
    int64_t submitted_at;
    int64_t time_limit_us; /* 0: none */
    int64_t expected_us;   /* 0: to be learned */
    int64_t ckpt_interval_us, ckpt_save_us, ckpt_restore_us;
    uint64_t ckpt_bytes;
    int64_t protect_us;      /* no eviction so soon after a start */
    uint32_t max_unavailable;
    int64_t value_milli_h;   /* what an hour is worth, in thousandths; 0: not said */
    int64_t deadline_at;     /* 0: none */
    int64_t freeze_us;       /* longest bearable freeze; 0: default 240 s */
    struct str blob;         /* hash of command and environment; the core never reads it */
    uint32_t ngroups, nshapes;
    const struct group_spec *groups;
    const struct shape *shapes;
};

/* A name: 1 to max bytes of valid UTF-8 (RFC 3629) without control characters (C0, DEL, C1).
 * 0, -ERANGE or -EINVAL with err naming the byte. */
int name_check(struct str s, size_t max, struct err *err);

/* Form and bounds of the whole tree (parents before children, leaves have shapes, counts in
 * order, sums within JOB_SLOTS_MAX). 0 or -EINVAL/-ERANGE, err names group and field. */
int job_spec_check(const struct job_spec *spec, struct err *err);

/* Is group g inside (or equal to) a whole node; returns the outermost one, or GROUP_NONE. */
uint16_t job_spec_whole_of(const struct job_spec *spec, uint16_t g);

/* Number of gangs that a finite tree wants, and slots of one gang rooted at group g (a whole
 * node or a lone leaf), at size `want` (0), `min` (1) or `max` (2). */
uint32_t job_spec_gangs(const struct job_spec *spec, uint16_t g);
uint32_t job_spec_slots(const struct job_spec *spec, uint16_t g, int which);

#endif
