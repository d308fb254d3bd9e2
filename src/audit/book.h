/* book.h - the audit's own books: nodes, jobs, gangs, slots and claims (private to
 * audit) Plain structs behind pointers, one malloc each; sums are made anew from the
 * claims of a node whenever they are wanted. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_BOOK_H
#define MUSTER_BOOK_H

#include "audit/audit.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/ledger.h"

enum bphase { BP_FREE = 0, BP_PLANNED, BP_ISSUED, BP_RUNNING, BP_ENDING, BP_STRAY };

struct bnode;
struct bgang;

/* What a claim takes on its node. mode: enum gpu_mode. */
struct need {
    int64_t cpu_milli, mem_bytes, gpu_mem_bytes;
    uint32_t slots, nics, mode, gpu_milli, compute;
    uint16_t slices;
    uint64_t devs;
};

struct bclaim {
    enum bphase phase;
    struct bgang *gang; /* NULL: nobody's */
    uint32_t slot;
    struct bnode *node; /* NULL: nowhere that is known */
    struct str where;   /* own copy: the node's name while it is not known */
    struct need need;
    bool shaped;        /* need follows from `shape` */
    struct shape shape; /* with one way to ask for GPUs: the one it takes */
    uint8_t alt;        /* ... of its slot's shape */
    bool foreign, ours, asked, seen;
    bool taken; /* a planned claim: its room is free now and is its own */
    bool fresh; /* decided in the pass at hand */
    bool doubt; /* a constraint did not hold when it was decided */
    bool extra; /* not up yet, of a gang that was whole without it */
    bool kept;  /* when it has ended, its room is planned for its slot */
    uint64_t launch, stop;
    int64_t since;     /* running since; else in this phase since */
    int64_t useful_to; /* ending: when it stopped being useful */
    int64_t retry_at;  /* refused stop or launch: not before */
    struct str key;    /* strays and foreign pods: own copy of their key */
    uint32_t all_pos;  /* in audit.claims */
};

struct bslot {
    struct bclaim *claim;
    struct str task;      /* own copy; the world's name of its task */
    uint32_t rank;        /* of its last seat; UINT32_MAX: never had one */
    uint64_t last_launch; /* highest that ended here */
    bool offered, gated, done, started, ready, seen;
    bool own_shape;
    struct shape *shape; /* own copy when the task brought one, else NULL */
};

struct bleaf { /* a leaf inside a gang */
    uint16_t group;
    uint32_t copies, per_copy, min, want, step, slot0, nslots;
};

struct bjob;
struct bgang {
    struct bjob *job;
    uint16_t root;
    uint32_t copy;
    const struct bleaf *leaves;
    uint32_t nleaves, nslots;
    struct bslot *slots;
    bool robbed;                     /* lost members at a sync */
    bool whole;                      /* all its members run, or are done */
    bool over, waits, pends, failed; /* pends: waits and may be tried */
    bool said;
    bool quota_idle; /* pends, and its last word is that its quota is used up */
    bool up;       /* was whole, and has lost nobody since */
    bool raised;   /* below a new minimum, and not whole since */
    bool short_;   /* below its minimum while it holds room */
    bool mends;    /* stopped, to start again as a whole where its members stood */
    bool behind;   /* ... and all have ended: it holds planned room alone */
    bool launched; /* in the pass at hand: its layout is checked at its end */
    bool first;    /* ... and it waited before */
    uint32_t target, done, tries;
    bool roams;          /* failed on a second node */
    uint32_t fails_here; /* its last tries in a row that failed on */
    struct str fails_on; /* ... this node */
    int64_t not_before;             /* back-off */
    int64_t launch_by, grace_until; /* the latest of all its launches and holds */
    int64_t last_by;                /* of its last launch */
    int64_t mend_by;                /* its places are kept until then */
    struct why why;                 /* its last reason */
};

struct broot {
    uint16_t group;
    uint32_t copies, nleaves, nslots;
    struct bleaf *leaves;
    int64_t min_milli; /* GPUs of one gang at its minimum */
};

struct bjob {
    struct arena mem;
    struct job_spec spec; /* deep copy in mem */
    bool held, cancelled, seen, overridden;
    uint32_t nroots, ngangs, gangs_left;
    struct broot *roots;
    struct bgang *gangs;
    int64_t saved_at;
    uint32_t pos; /* in audit.jobs */
};

struct btype { /* the first row seen under a name */
    word_t name;
    uint8_t modes, mem_slices, compute_slices;
    uint32_t nprofiles;
    struct profile profiles[PROFILES_MAX];
};

struct bdevice {
    const struct btype *type;
    int64_t mem_bytes; /* less what is reserved; 0: not known */
    uint8_t modes, state, island;
};

struct bnode {
    struct arena mem;
    struct node_desc desc; /* deep copy; devices stand in dev[] */
    struct str name, uid;
    word_t *tags; /* NODE_TAGS_MAX of them */
    uint32_t ntags;
    struct bdevice dev[NODE_DEVICES_MAX];
    uint32_t ndev;  /* described */
    uint32_t nkept; /* described, or still in use behind them */
    uint8_t state;
    bool cordoned, unsynced, seen, touched;
    bool spare; /* kept for repair: what is free there is held */
    VEC(struct bclaim *) claims; /* oldest first */
    int64_t put[LEDGER_CAUSES];
    uint32_t pos; /* in audit.nodes */
};

struct bearly { /* a task that was offered before there is a place for it */
    struct bjob *job;
    uint16_t group;
    uint32_t copy;
    struct slot_ref slot;
    struct str task;     /* own copy */
    struct shape *shape; /* own copy, or NULL */
    bool gated, seen;
};

struct slot_at {
    struct bgang *gang;
    uint32_t slot;
};

struct bkeep_seat {
    struct str node; /* own copy */
    uint64_t devs;
};

struct bkeep { /* a reservation of a gang that waits */
    struct bjob *job;
    uint16_t root;
    uint32_t copy;
    int64_t start, by, expected;
    VEC(struct bkeep_seat) seats;
};

struct audit {
    struct words words;
    uint64_t seq;
    int64_t at;
    bool started, synced, syncing, leading, in_pass;
    uint32_t term, caps, left;
    uint64_t launch_id, stop_id;
    int64_t launch_timeout_us, repair_grace_us;
    word_t node_level; /* the word "node" */
    word_t levels[NODE_LEVELS_MAX];
    uint32_t nlevels;

    VEC(struct bnode *) nodes;
    struct strmap node_ids;
    VEC(struct bjob *) jobs;
    struct strmap job_ids;
    VEC(struct bclaim *) claims; /* all; all_pos */
    struct strmap strays;        /* key -> all_pos */
    struct strmap slot_ids;      /* task name -> index in slot_at */
    VEC(struct slot_at) slot_at;
    VEC(uint32_t) slot_at_free;
    VEC(struct bearly) early;
    VEC(struct btype *) types;
    VEC(struct bnode *) touched;
    VEC(struct bkeep) keeps;
    int64_t let_by; /* promise of let_job, just let go for a better one; 0: none */
    const struct bjob *let_job;
    VEC(struct bgang *) launched; /* gangs of the pass at hand; NULL: gone since */

    uint32_t unsaid;         /* waiting gangs without a reason */
    int64_t quota_milli;     /* ... of these, gangs that a quota refused */
    int64_t pending_milli;   /* GPUs that pending gangs want at least */
    struct heap deadlines;   /* (until, gang key) of gangs that are short */
    struct heap backoffs;    /* (not before, gang key) of gangs that wait for it */
    struct u64map gang_keys; /* gangs that the two heaps may still name */
    uint64_t passes;

    int64_t now_put[LEDGER_CAUSES];
    int64_t capacity_milli;
    struct ledger ledger;
    int64_t ledger_at;
    struct err *err; /* of the record at hand */
    int rc;
    const struct record *r;
};

/* Remember the first violation of this record; returns -EPROTO. */
int audit_bad(struct audit *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* book.c */
struct bnode *book_node(const struct audit *a, struct str name);
struct bjob *book_job(const struct audit *a, struct str name);
struct bgang *book_gang(const struct audit *a, const struct gang_ref *ref);
uint32_t book_slot(const struct bgang *g, struct slot_ref ref); /* UINT32_MAX: none */
struct slot_ref book_slot_ref(const struct bgang *g, uint32_t slot);
const struct bleaf *book_leaf(const struct bgang *g, uint32_t slot);
const struct shape *book_shape(const struct bgang *g, uint32_t slot);
void book_slot_task(struct audit *a, struct bgang *g, uint32_t slot, struct str task);
struct bjob *book_job_add(struct audit *a, const struct job_spec *spec);
void book_job_drop(struct audit *a, struct bjob *j);
/* Roots and empty gangs for the counts of spec; the old ones stay in the job's memory.
 */
void book_tree(struct bjob *j, const struct job_spec *spec);
struct bclaim *book_claim_add(struct audit *a, struct bgang *g, uint32_t slot,
                              enum bphase phase);
/* It takes that of the ways its shape has to ask for GPUs (the first where it has not
 * so many). */
void book_claim_choose(struct bclaim *c, uint8_t alt);
void book_claim_drop(struct audit *a, struct bclaim *c);
void book_claim_place(struct audit *a, struct bclaim *c, struct bnode *n,
                      const struct need *need, struct str where);
void book_claim_key(struct audit *a, struct bclaim *c, struct str key);
void book_claim_phase(struct audit *a, struct bclaim *c, enum bphase phase);
struct need book_need(const struct audit *a, const struct shape *s,
                      const struct bnode *n, uint64_t devs, uint16_t slices);
const struct btype *book_type(struct audit *a, const struct device_type *t);
void book_done(struct audit *a);
static inline struct str str_keep(struct str s)
{
    return (struct str){s.len ? mem_strndup(s.ptr, s.len) : NULL, s.len};
}

/* room.c: sums over a node's claims, the ledger */
struct room {
    int64_t cpu, mem, slots, nics;
    struct {
        int64_t milli, mem;
        uint32_t wholes, shares, cuts, compute;
        uint16_t slices;
        bool overlap; /* two cuts on one slice */
    } dev[NODE_DEVICES_MAX];
};
enum room_of {
    ROOM_ACTIVE = 0, /* all but planned */
    ROOM_KEPT,       /* planned, and all but ending */
    ROOM_TAKEN
}; /* all but planned ones that lie over others */
void room_sum(const struct bnode *n, enum room_of which, struct room *ret);
/* What is too much, in words, or NULL. */
const char *room_excess(const struct bnode *n, const struct room *r, char text[160]);
bool room_planned_fits(const struct bnode *n, const struct need *need);
void room_rise(struct audit *a,
               struct bnode *n); /* planned claims that have room now */
void room_touch(struct audit *a, struct bnode *n);
void room_settle(struct audit *a); /* the touched nodes' part in the ledger */
void room_advance(struct audit *a, int64_t at);
void room_lost(struct audit *a, const struct bclaim *c);

/* domains.c: domains by the nodes' own places */
bool domain_same(const struct audit *a, word_t level, const struct bnode *x,
                 const struct bnode *y);
/* The fault domain or level domain of a node under `kind`, 0: none. */
uint64_t domain_of(const struct audit *a, word_t kind, const struct bnode *n);

/* told.c, tasks.c */
void told_node(struct audit *a, const struct record *r);
void told_job(struct audit *a, const struct record *r);
void told_sync(struct audit *a, const struct record *r);
void tasks_fold(struct audit *a, const struct record *r);
struct bclaim *tasks_find(const struct audit *a, const struct task_ref *t);
struct str tasks_key(const struct task_ref *t, char out[400]);

/* counts.c */
void told_counts(struct audit *a, struct bjob *j, const struct job_spec *spec);
void early_offer(struct audit *a, const struct record *r);
void early_lose(struct audit *a, struct str task);
void early_end(struct audit *a, const struct bjob *j,
               bool unseen); /* of a job, or unseen */

/* members.c: what a gang's claims make of it */
struct tally {
    uint32_t planned, issued, running, ending;
};
struct tally bgang_tally(const struct bgang *g);
void bgang_changed(struct audit *a,
                   struct bgang *g); /* after any change of its claims */
bool bgang_is_complete(const struct bgang *g);
void bgang_seated(struct audit *a,
                  struct bgang *g); /* by a decision: more may follow */
void bgang_wait(struct audit *a, struct bgang *g);
void backoffs_end(struct audit *a); /* at a border: whose back-off is over pends */
void bgang_unsay(struct audit *a, struct bgang *g);
void bgang_unpend(struct audit *a, struct bgang *g); /* makes no demand */
void bgang_unwait(struct audit *a, struct bgang *g);
void bgang_recounted(struct audit *a,
                     struct bgang *g);       /* its slots follow new counts */
uint32_t bgang_lacks(const struct bgang *g); /* members for its minimum */
void bgang_unmend(struct bgang *g);          /* no place is kept any longer */
void bgang_place_lost(const struct audit *a, struct bgang *g); /* one that was kept */
int64_t bgang_backoff(const struct bgang *g);
void bgang_failed_on(struct bgang *g, const struct bnode *n);
void bgang_say(struct audit *a, struct bgang *g, const struct why *why);
void bgang_shrink(struct bgang *g);
bool bgang_is_short(const struct bgang *g);
void bgang_grace(struct audit *a, struct bgang *g); /* short from now on */
void bjob_stop(struct audit *a, struct bjob *j);    /* cancelled or failed */
void bgang_watch(struct audit *a, struct bgang *g); /* look at it when its time is up */
int members_check(struct audit *a);                 /* at the end of a pass */

/* seats.c: may a task of the shape be put there */
const char *seat_refused(const struct audit *a, const struct shape *s,
                         const struct bnode *n, const struct need *need,
                         char text[160]);
const char *constraint_broken(const struct audit *a, const struct bclaim *c,
                              char text[160]);
/* Could one task of the shape go on the node now (constraints aside)? */
bool seat_exists(const struct shape *s, const struct bnode *n);
bool bnode_usable(const struct bnode *n);

/* keeps.c: reservations */
int keeps_hold(struct audit *a, struct bgang *g, const struct record *r);
/* May the gang start now on the seat's devices? */
int keeps_allow(struct audit *a, const struct bgang *g, const struct seat *seat);
uint64_t keeps_devices(const struct audit *a, const struct bnode *n);
bool keeps_for(const struct audit *a, const struct bgang *g); /* is something kept for it? */
void keeps_drop(struct audit *a, const struct bgang *g);
void keeps_forget(struct audit *a);
void keeps_node_gone(struct audit *a, struct str node); /* for good */
bool keeps_some(const struct audit *a, const struct bnode *n); /* there, or a plan does */
void keeps_done(struct audit *a);

/* layout.c: counts, required levels, segments and spread of a gang just launched */
int layout_check(struct audit *a, struct bgang *g);
bool layout_may_start(const struct bgang *g, uint32_t slot);

/* verdict.c: may this decision stand; folds it when it may */
int verdict(struct audit *a, const struct record *r);

#endif
