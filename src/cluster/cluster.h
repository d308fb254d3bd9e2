/* cluster.h - the nodes as they stand: what is free, in which domain, found without
 * scanning
 *
 * Nodes and devices are arrays with stable indexes. A use is what one claim takes on
 * one node; take and give are exact inverses, so an undo log is a list of uses. Each
 * change raises the node's version and moves it to the front of the change list (memos
 * ask only what changed). Free counts may go below zero: the world may overcommit, we
 * never do.
 *
 * The topology tree has configured levels (zone, block, rack, ...) above the nodes, any
 * depth, uneven allowed (a node that lacks a level hangs under an unnamed domain of
 * it). Domains and nodes are ordered by name (byte order) at each level; a node's rank
 * is its place in that depth-first order, so each domain is one range of ranks. For
 * each domain and lane the tree keeps how many usable nodes stand in that lane and
 * which children have any. A lane is (GPU type, k): nodes with exactly k whole free
 * healthy GPUs of the type; lane 0 is "usable, with CPU and a pod slot left". An update
 * costs the depth. A node that is not up, or overcommitted, stands in no lane. A node
 * with several GPU types stands in one lane of each. The tree is derived: rebuilt when
 * a node comes, goes or moves (cluster_settle); the calls under "The tree" and "Lanes"
 * want a settled one.
 *
 * Devices keep their index while a claim is on them: when a description drops a device
 * that is in use, it stays as DEVICE_GONE behind the described ones (ndevices of the
 * node is then more than that of its description) until the next description after the
 * last give. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CLUSTER_H
#define MUSTER_CLUSTER_H

#include <stdbool.h>

#include "cluster/nodedesc.h"

#define NODE_NONE UINT32_MAX
#define DOMAIN_NONE UINT32_MAX
/* GPU types in one cluster; dense ids, in order of first sight. The last one is
 * nameless: what comes after 63 types is known only as "some GPU" and matches no wish
 * for a type. */
#define TYPES_MAX 64u
#define TYPE_ANY 255u

struct device {
    int64_t mem_cap; /* less what is reserved; 0: not known, then never a reason to
                        refuse */
    int64_t mem_free;
    int32_t free_milli;   /* of 1000; unhealthy devices keep theirs */
    uint32_t nuses;       /* claims on it */
    uint16_t slices_free; /* mig: bit i = memory slice i is free */
    int16_t compute_free; /* mig: compute slices left */
    uint16_t cut;         /* mig claims on it: while > 0 no other mode fits */
    uint16_t wholes; /* whole claims on it (more than 1 only by the world's doing) */
    uint8_t type;    /* dense type id */
    uint8_t modes, state, island, numa;
    uint8_t shared; /* 1: held by share claims (uses of mode share) */
};

struct node {
    int64_t cpu_free, cpu_cap;
    int64_t mem_free, mem_cap;
    int32_t slots_free, slots_cap; /* cap INT32_MAX: no limit */
    int32_t nics_free, nics_cap;
    uint64_t whole_free; /* healthy, usable whole, nothing on it */
    uint64_t whole_held; /* healthy, usable whole, held by one whole claim and nothing
                            else */
    uint64_t healthy;    /* state ok (suspect counts as not) */
    int64_t gpu_free_milli;     /* sum over healthy devices */
    int64_t gpu_cap_milli;      /* all described devices, whatever their state */
    uint32_t ndevices, device0; /* devices[device0 .. +ndevices) */
    uint32_t version;           /* raised at each change */
    uint32_t changed_prev, changed_next; /* change list, most recent first */
    uint64_t changed_at;                 /* stamp of the last change */
    uint64_t other_at; /* of the last one that was no cluster_take: since then the node
                          has only lost room */
    uint32_t rank;     /* depth-first order by name; valid after cluster_settle */
    uint32_t domain;   /* the lowest domain that holds it */
    uint16_t uses_by_gpus[10]; /* claims here by kind: [0] share, [k] k whole GPUs (9:
                                  more) */
    uint16_t lane;             /* private: the lane of its one GPU type it stands in */
    uint16_t lane0;            /* private: that type's lane of k = 0 */
    uint8_t ntypes;            /* GPU types on it */
    uint8_t nwhole;            /* bits in whole_free */
    bool in_any;               /* private: stands in lane 0 */
    bool plain; /* one island and no legal sets: any k whole devices may go together */
    uint8_t type;  /* dense id when ntypes == 1; TYPE_ANY otherwise */
    uint8_t state; /* enum node_state */
    bool gone;     /* index free */
    bool cordoned; /* by us */
    bool overcommitted;
    bool unsynced;  /* its devices are not free before `synced` names it */
    uint32_t nuses; /* claims on it; a gone node's index is reused when none is left */
};

/* As enum gpu_mode of job/shape.h, which is a later room. */
enum use_mode { USE_NONE = 0, USE_WHOLE, USE_SHARE, USE_MIG };

/* What one claim takes on its node. Devices that are not whole: the same milli and
 * bytes of each device in devs. mig: one device, slices = mask of its memory slices. */
struct use {
    uint32_t node;
    uint32_t slots, nics;
    uint32_t mode;      /* enum use_mode */
    uint32_t gpu_milli; /* of each device */
    uint16_t slices;
    uint8_t compute;
    int64_t cpu_milli, mem_bytes;
    int64_t gpu_mem_bytes; /* of each device; whole: ignored, all of it */
    uint64_t devs; /* devices the node has: mask what the world says with node_devs() */
};

struct domain {
    word_t level, name;
    uint32_t parent;           /* DOMAIN_NONE for the root (domain 0) */
    uint32_t first, n;         /* child domains, contiguous; n 0: children are nodes */
    uint32_t rank_lo, rank_hi; /* its nodes: ranks [lo, hi) */
    uint32_t depth;            /* root 0 */
    uint32_t child_pos;        /* its bit in the parent's child masks */
};

struct cluster {
    struct words *words; /* borrowed */
    struct node *nodes;
    uint32_t nnodes, nodes_room; /* indexes in use, gone ones included */
    uint32_t nlive;
    struct device *devices;
    uint32_t ndevices, devices_room;
    word_t types[TYPES_MAX];
    uint32_t ntypes;
    uint32_t *order; /* rank -> node index */
    uint32_t nranks;
    word_t levels[NODE_LEVELS_MAX]; /* from the top down */
    uint32_t nlevels;
    struct domain *domains;
    uint32_t ndomains;
    uint32_t changed_head;     /* most recently changed node */
    uint64_t stamp;            /* of the last change */
    bool stale;                /* the tree must be rebuilt: cluster_settle */
    uint64_t settles;          /* rebuilds so far: ranks stay as long as it does */
    int64_t gpu_cap_milli;     /* of all nodes that are not gone */
    struct cluster_more *more; /* names, descriptions, lanes: private */
};

struct cluster *cluster_create(struct words *words);
void cluster_destroy(struct cluster *c);

/* Facts. node_set adds or changes (a changed place, a new device list or uid makes the
 * tree stale; uses on the node are kept by index where the device still is). Returns
 * the index. */
uint32_t cluster_node_set(struct cluster *c, const struct node_desc *d);
void cluster_node_gone(struct cluster *c, uint32_t node); /* index is reused later */
void cluster_node_state(struct cluster *c, uint32_t node, uint8_t state);
void cluster_node_cordon(struct cluster *c, uint32_t node, bool on);
void cluster_node_unsynced(struct cluster *c, uint32_t node, bool on);
/* A device that the node does not have is ignored. */
void cluster_device_state(struct cluster *c, uint32_t node, uint32_t device,
                          uint8_t state);
/* False: the node has NODE_TAGS_MAX tags already. node_set replaces the whole list. */
bool cluster_tag(struct cluster *c, uint32_t node, word_t tag, bool on);
uint32_t cluster_find(const struct cluster *c,
                      struct str name); /* NODE_NONE: unknown */
struct str cluster_node_name(const struct cluster *c, uint32_t node);
/* The kept description; pointers live until the node changes. */
const struct node_desc *cluster_node_desc(const struct cluster *c, uint32_t node);
bool cluster_has_tag(const struct cluster *c, uint32_t node, word_t tag);
word_t cluster_part(const struct cluster *c, uint32_t node, word_t key); /* 0: none */
/* Up; not cordoned, overcommitted, unsynced or gone. */
static inline bool node_is_usable(const struct node *n)
{
    return n->state == NODE_UP &&
           !(n->gone | n->cordoned | n->overcommitted | n->unsynced);
}
static inline bool node_is_sound(const struct node *n) /* usable, or only overcommitted */
{
    return n->state == NODE_UP && !(n->gone | n->cordoned | n->unsynced);
}
static inline uint64_t node_devs(const struct node *n) /* one bit for each device */
{
    return n->ndevices >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n->ndevices) - 1;
}
/* The node's devices of a dense type; TYPE_ANY: all of them. */
uint64_t node_type_devs(const struct cluster *c, const struct node *n, uint32_t type);

/* Claims. Exact inverses of each other, whatever facts came between. What does not fit
 * is taken all the same and makes the node overcommitted until it fits again. A device
 * of state DEVICE_GONE with a claim on it counts as overcommitted too. */
void cluster_take(struct cluster *c, const struct use *u);
void cluster_give(struct cluster *c, const struct use *u);

/* The row for a dense type, as the first description that named it gave it; NULL: none.
 */
const struct device_type *cluster_type(const struct cluster *c, uint32_t type);
uint32_t cluster_type_id(const struct cluster *c, word_t name); /* TYPE_ANY: not here */

/* Dense id of a type, added when new: ids come in the order of first sight, so who
 * loads a saved cluster shows it the types in their old order first. */
uint8_t cluster_type_see(struct cluster *c, const struct device_type *t);
/* The node of a saved cluster had n devices behind the described ones, gone but perhaps
 * in use: they are back, of these dense types and memory. Only on a fresh node. */
void cluster_node_keep(struct cluster *c, uint32_t node, uint32_t n,
                       const uint8_t *types, const int64_t *mem_cap);

/* Where a profile can go on a device now: the legal start that leaves the most
 * placements of the type's other profiles open (ties: lowest). Returns the slice mask,
 * 0: nowhere. */
uint16_t device_mig_place(const struct cluster *c, const struct device *d,
                          word_t profile, const struct profile **ret);
bool device_mig_fits(const struct cluster *c, const struct device *d,
                     const struct profile *p, uint32_t start);
/* Lowest legal set of k whole free devices of one type (TYPE_ANY: one type for all is
 * not demanded) of the node, honouring its legal sets and islands; 0: none. */
uint64_t node_pick_whole(const struct cluster *c, const struct node *n, uint32_t type,
                         uint32_t k);

/* The tree. Names the levels (from the top down); makes the tree stale when they
 * differ. */
void cluster_set_levels(struct cluster *c, const word_t *levels, uint32_t n);
void cluster_settle(struct cluster *c); /* rebuild when stale; O(nodes log nodes) */
uint32_t cluster_domain(const struct cluster *c, uint32_t depth,
                        uint32_t node); /* above it */
/* Depth of a level: 0 for "cluster", 1 .. nlevels as configured, nlevels + 1 for "node"
 * (unless a configured level has such a name); -1: not a level here. */
int cluster_level_depth(const struct cluster *c, word_t level);
/* Lowest domain that holds every node with the tag, usable or not (root if none). O(1)
 * but for the first call after a tag or the tree changed: O(nodes and their tags). */
uint32_t cluster_tag_domain(struct cluster *c, word_t tag);
/* Lowest domain that holds both. */
uint32_t cluster_common(const struct cluster *c, uint32_t a, uint32_t b);

/* Lanes. k runs 0 .. cluster_lane_max(type); a lane beyond that is LANE_NONE, and
 * empty. */
#define LANE_ANY 0u
#define LANE_NONE 0xffffu
uint32_t cluster_lane_max(const struct cluster *c, uint32_t type);
uint32_t cluster_lane(const struct cluster *c, uint32_t type, uint32_t k);
uint32_t domain_count(const struct cluster *c, uint32_t domain, uint32_t lane);
/* The least k' >= k whose lane has a node under the domain; UINT32_MAX: none has. */
uint32_t domain_lane_from(const struct cluster *c, uint32_t domain, uint32_t type,
                          uint32_t k);
/* Tasks of k whole GPUs of the type that fit under the domain by GPU count alone
 * (sum over j of count[j] * floor(j / k)): an upper bound. TYPE_ANY: over all types
 * (nodes with several types count in each, and once more all types together). k 0: lane
 * 0's. */
uint64_t domain_fit(const struct cluster *c, uint32_t domain, uint32_t type,
                    uint32_t k);
/* Next node at or after rank `from` inside the domain that stands in the lane;
 * NODE_NONE. */
uint32_t domain_next(const struct cluster *c, uint32_t domain, uint32_t lane,
                     uint32_t from);

/* Next child at or after position `from` of the domain that has a node in the lane:
 * domains[domain].first + result, or for the lowest level rank_lo + result; UINT32_MAX.
 */
uint32_t domain_child(const struct cluster *c, uint32_t domain, uint32_t lane,
                      uint32_t from);

/* Everything recomputed from scratch and compared; aborts with the place on a
 * difference. */
void cluster_check(const struct cluster *c);

#endif
