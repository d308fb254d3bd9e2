/* cluster.h - the nodes as they stand: what is free, in which domain, found without scanning
 *
 * Nodes and devices are arrays with stable indexes. A use is what one claim takes on one
 * node; take and give are exact inverses, so an undo log is a list of uses. Each change
 * raises the node's version and moves it to the front of the change list (memos ask only
 * what changed). Free counts may go below zero: the world may overcommit, we never do.
 *
 * The topology tree has configured levels (zone, block, rack, ...) above the nodes, any
 * depth, uneven allowed (a node that lacks a level hangs under an unnamed domain of it).
 * Domains and nodes are ordered by name (byte order) at each level; a node's rank is its
 * place in that depth-first order, so each domain is one range of ranks. For each domain
 * and lane the tree keeps how many usable nodes stand in that lane and which children have
 * any. A lane is (GPU type, k): nodes with exactly k whole free healthy GPUs of the type;
 * lane 0 is "usable, with CPU and a pod slot left". An update costs the depth.
 * A node that is not up, or overcommitted, stands in no lane.
 * The tree is derived: rebuilt when a node comes, goes or moves (cluster_settle).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CLUSTER_H
#define MUSTER_CLUSTER_H

#include <stdbool.h>

#include "cluster/nodedesc.h"

#define NODE_NONE UINT32_MAX
#define DOMAIN_NONE UINT32_MAX
#define TYPES_MAX 64u /* GPU types in one cluster; dense ids, in order of first sight */
#define TYPE_ANY 255u

struct device {
    int64_t mem_cap;   /* less what is reserved */
    int64_t mem_free;
    int32_t free_milli; /* of 1000; unhealthy devices keep theirs */
    uint32_t nuses;     /* claims on it */
    uint16_t slices_free; /* mig: bit i = memory slice i is free */
    uint8_t compute_free; /* mig: compute slices left */
    uint8_t type;         /* dense type id */
    uint8_t modes, state, island, numa;
    uint8_t cut;          /* mig claims on it: while > 0 no other mode fits */
    uint8_t shared;       /* 1: held by share claims (uses of mode share) */
};

struct node {
    int64_t cpu_free, cpu_cap;
    int64_t mem_free, mem_cap;
    int32_t slots_free, slots_cap; /* cap INT32_MAX: no limit */
    int32_t nics_free, nics_cap;
    uint64_t whole_free;  /* healthy, usable whole, nothing on it */
    uint64_t healthy;     /* state ok (suspect counts as not) */
    int64_t gpu_free_milli; /* sum over healthy devices */
    int64_t gpu_cap_milli;  /* all devices */
    uint32_t ndevices, device0; /* devices[device0 .. +ndevices) */
    uint32_t version;     /* raised at each change */
    uint32_t changed_prev, changed_next; /* change list, most recent first */
    uint64_t changed_at;  /* stamp of the last change */
    uint32_t rank;        /* depth-first order by name; valid after cluster_settle */
    uint32_t domain;      /* the lowest domain that holds it */
    uint16_t uses_by_gpus[10]; /* claims here by kind: [0] share, [k] k whole GPUs (9: more) */
    uint16_t ntypes;      /* GPU types on it */
    uint8_t type;         /* dense id when ntypes == 1; TYPE_ANY otherwise */
    uint8_t state;        /* enum node_state */
    bool gone;            /* index free */
    bool cordoned;        /* by us */
    bool overcommitted;
    bool unsynced;        /* its devices are not free before `synced` names it */
    uint32_t desc;        /* index of its kept description */
};

/* What one claim takes on its node. Devices that are not whole: the same milli and bytes of
 * each device in devs. mig: one device, slices = mask of its memory slices. */
struct use {
    uint32_t node;
    uint32_t slots, nics;
    uint32_t mode;      /* enum gpu_mode of job/shape.h: 0 none 1 whole 2 share 3 mig */
    uint32_t gpu_milli; /* of each device */
    uint16_t slices;
    uint8_t compute;
    int64_t cpu_milli, mem_bytes;
    int64_t gpu_mem_bytes; /* of each device; whole: ignored, all of it */
    uint64_t devs;
};

struct domain {
    word_t level, name;
    uint32_t parent;            /* DOMAIN_NONE for the root (domain 0) */
    uint32_t first, n;          /* child domains, contiguous; n 0: children are nodes */
    uint32_t rank_lo, rank_hi;  /* its nodes: ranks [lo, hi) */
    uint32_t depth;             /* root 0 */
    uint32_t child_pos;         /* its bit in the parent's child masks */
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
    uint32_t *order;          /* rank -> node index */
    uint32_t nranks;
    word_t levels[NODE_LEVELS_MAX]; /* from the top down */
    uint32_t nlevels;
    struct domain *domains;
    uint32_t ndomains;
    uint32_t changed_head;    /* most recently changed node */
    uint64_t stamp;           /* of the last change */
    bool stale;               /* the tree must be rebuilt: cluster_settle */
    int64_t gpu_cap_milli;    /* of all nodes that are not gone */
    struct cluster_more *more; /* names, descriptions, lanes: private */
};

struct cluster *cluster_create(struct words *words);
void cluster_destroy(struct cluster *c);

/* Facts. node_set adds or changes (a changed place, a new device list or uid makes the tree
 * stale; uses on the node are kept by index where the device still is). Returns the index. */
uint32_t cluster_node_set(struct cluster *c, const struct node_desc *d);
void cluster_node_gone(struct cluster *c, uint32_t node); /* index is reused later */
void cluster_node_state(struct cluster *c, uint32_t node, uint8_t state);
void cluster_node_cordon(struct cluster *c, uint32_t node, bool on);
void cluster_device_state(struct cluster *c, uint32_t node, uint32_t device, uint8_t state);
void cluster_tag(struct cluster *c, uint32_t node, word_t tag, bool on);
uint32_t cluster_find(const struct cluster *c, struct str name); /* NODE_NONE: unknown */
struct str cluster_node_name(const struct cluster *c, uint32_t node);
/* The kept description; pointers live until the node changes. */
const struct node_desc *cluster_node_desc(const struct cluster *c, uint32_t node);
bool cluster_has_tag(const struct cluster *c, uint32_t node, word_t tag);
word_t cluster_part(const struct cluster *c, uint32_t node, word_t key); /* 0: none */
bool node_is_usable(const struct node *n); /* up, not cordoned, overcommitted, unsynced, gone */

/* Claims. Exact inverses of each other. */
void cluster_take(struct cluster *c, const struct use *u);
void cluster_give(struct cluster *c, const struct use *u);

/* The catalogue's row for a dense type (profiles; NULL: unknown). */
const struct device_type *cluster_type(const struct cluster *c, uint32_t type);
uint32_t cluster_type_id(const struct cluster *c, word_t name); /* TYPE_ANY: not here */

/* Where a profile can go on a device now: the legal start that leaves the most placements
 * of the type's other profiles open (ties: lowest). Returns the slice mask, 0: nowhere. */
uint16_t device_mig_place(const struct cluster *c, const struct device *d, word_t profile,
                          const struct profile **ret);
/* Lowest legal set of k whole free devices of one type (TYPE_ANY: one type for all is not
 * demanded) of the node, honouring its legal sets and islands; 0: none. */
uint64_t node_pick_whole(const struct cluster *c, const struct node *n, uint32_t type,
                         uint32_t k);

/* The tree. Names the levels (from the top down); makes the tree stale when they differ. */
void cluster_set_levels(struct cluster *c, const word_t *levels, uint32_t n);
void cluster_settle(struct cluster *c); /* rebuild when stale; O(nodes log nodes) */
uint32_t cluster_domain(const struct cluster *c, uint32_t depth, uint32_t node); /* above it */
int cluster_level_depth(const struct cluster *c, word_t level); /* depth, or -1; "node" last */
/* Lowest domain that holds every usable node with the tag (root if none). */
uint32_t cluster_tag_domain(struct cluster *c, word_t tag);

/* Lanes. k runs 0 .. cluster_lane_max(type). */
uint32_t cluster_lane_max(const struct cluster *c, uint32_t type);
uint32_t cluster_lane(const struct cluster *c, uint32_t type, uint32_t k);
#define LANE_ANY 0u
uint32_t domain_count(const struct cluster *c, uint32_t domain, uint32_t lane);
/* Tasks of k whole GPUs of the type that fit under the domain by GPU count alone
 * (sum over j of count[j] * floor(j / k)): an upper bound. */
uint64_t domain_fit(const struct cluster *c, uint32_t domain, uint32_t type, uint32_t k);
/* Next node at or after rank `from` inside the domain that stands in the lane; NODE_NONE. */
uint32_t domain_next(const struct cluster *c, uint32_t domain, uint32_t lane, uint32_t from);

/* Everything recomputed from scratch and compared; aborts with the place on a difference. */
void cluster_check(const struct cluster *c);

#endif
