/* nodedesc.h - a node as a world describes it: capacity, devices, labels, place
 * A borrowed view: everything it points to must live as long as it is read.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_NODEDESC_H
#define MUSTER_NODEDESC_H

#include "base/err.h"
#include "base/word.h"

enum {
    NODE_DEVICES_MAX = 64,
    NODE_TAGS_MAX = 64,
    NODE_TAINTS_MAX = 16,
    NODE_PARTS_MAX = 16,
    NODE_FAULTS_MAX = 8,
    NODE_LEVELS_MAX = 8,
    NODE_LEGAL_MAX = 96,
    PROFILE_PLACES_MAX = 8,
    PROFILES_MAX = 16,
    SLICES_MAX = 16
};

enum node_state { NODE_UP = 0, NODE_DRAINED, NODE_DOWN, NODE_UNKNOWN };
enum device_state { DEVICE_OK = 0, DEVICE_SUSPECT, DEVICE_BAD, DEVICE_GONE };
enum device_mode { DEVICE_WHOLE = 1 << 0, DEVICE_SHARE = 1 << 1, DEVICE_MIG = 1 << 2 };

/* One way to cut a device: needs `slices` memory slices in a row, starting at one of
 * `starts` (bit i = slice i), and `compute` of the type's compute slices.
 * Source of the NVIDIA rows: MIG user guide, "Supported MIG Profiles" (placements). */
struct profile {
    word_t name;
    uint16_t starts;
    uint8_t slices;
    uint8_t compute;
    int64_t mem_bytes;
    uint32_t milli; /* share of the device's compute, 1000 x compute / compute slices */
};

struct device_type { /* the hardware catalogue's row */
    word_t name;
    int64_t mem_bytes;
    uint8_t modes;          /* enum device_mode bits */
    uint8_t mem_slices;     /* mig: memory slices (8); 0: cannot be cut */
    uint8_t compute_slices; /* mig: 7 */
    uint32_t nprofiles;
    const struct profile *profiles;
};

struct device_desc {
    const struct device_type *type;
    struct str uuid;
    int64_t mem_bytes;
    int64_t reserved_bytes; /* the driver's own; never given out */
    uint8_t modes;          /* subset of the type's */
    uint8_t state;          /* enum device_state */
    uint8_t island,
        numa; /* island: devices with a fast link among them (NVLink, HCCS) */
};

struct node_part {
    word_t key, value; /* partition key and this node's part of it */
};

struct node_desc {
    struct str name, uid; /* a new uid under an old name is a new node */
    int64_t cpu_milli, mem_bytes;
    uint32_t pod_slots; /* 0: no limit */
    uint32_t nics;
    uint8_t state; /* enum node_state */
    uint32_t ndevices;
    const struct device_desc *devices;
    /* Sets of whole devices that may be given together: for each count k that some mask
     * has, only the masks of that count are legal; for another count any set is, unless
     * the mask 0 is in the list: then none is. Empty list: any set. (4+4 rings:
     * rings_legal.) */
    uint32_t nlegal;
    const uint64_t *legal;
    uint32_t ntags, ntaints, nparts, nfaults, nplace;
    const word_t *tags;
    const word_t *taints;
    const struct node_part *parts;
    const struct node_part *faults; /* fault kind -> name of the fault domain */
    const struct node_part *place;  /* level -> domain, from the top down */
};

/* Form and bounds. 0, or -EINVAL/-ERANGE with err naming node and field. */
int node_desc_check(const struct node_desc *d, struct err *err);

/* Fill legal[] for rings (masks of devices that talk fast): a set of k devices lies
 * inside one ring, or is a union of whole rings, and no other set is legal (mask 0 is
 * in the list). In rising order. Returns the number of masks (<= max), or -ERANGE. */
int rings_legal(const uint64_t *rings, uint32_t nrings, uint64_t *legal, uint32_t max);

#endif
