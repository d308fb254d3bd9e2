/* nodes.h - node descriptions for tests, short to write
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TEST_NODES_H
#define MUSTER_TEST_NODES_H

#include <stdio.h>

#include "cluster/catalogue.h"
#include "cluster/cluster.h"

/* One description and all it points to; fill, change, hand it in. */
struct draft {
    struct node_desc d;
    char name[64];
    struct device_desc dev[NODE_DEVICES_MAX];
    word_t tags[NODE_TAGS_MAX];
    struct node_part place[NODE_LEVELS_MAX];
    uint64_t legal[NODE_LEGAL_MAX];
};

/* 64 CPUs, 256 GiB, no slot limit, n devices of the type (NULL: none), all modes. */
static inline void draft_init(struct draft *f, const char *name,
                              const struct device_type *type, uint32_t n)
{
    memset(f, 0, sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->d = (struct node_desc){.name = str_of(f->name),
                              .cpu_milli = 64000,
                              .mem_bytes = INT64_C(256) << 30,
                              .ndevices = n,
                              .devices = f->dev,
                              .tags = f->tags,
                              .place = f->place,
                              .legal = f->legal};
    for (uint32_t i = 0; i < n; i++)
        f->dev[i] = (struct device_desc){.type = type,
                                         .mem_bytes = type->mem_bytes,
                                         .modes = type->modes};
}

static inline void draft_place(struct draft *f, struct words *w, const char *level,
                               const char *name)
{
    f->place[f->d.nplace++] =
        (struct node_part){words_add(w, str_of(level)), words_add(w, str_of(name))};
}

static inline struct use use_whole(uint32_t node, uint64_t devs)
{
    return (struct use){.node = node,
                        .slots = 1,
                        .mode = USE_WHOLE,
                        .gpu_milli = 1000,
                        .cpu_milli = 1000,
                        .mem_bytes = INT64_C(1) << 30,
                        .devs = devs};
}

static inline struct use use_share(uint32_t node, uint64_t devs, uint32_t milli)
{
    return (struct use){.node = node,
                        .slots = 1,
                        .mode = USE_SHARE,
                        .gpu_milli = milli,
                        .gpu_mem_bytes = INT64_C(1) << 30,
                        .devs = devs};
}

static inline struct use use_mig(uint32_t node, uint32_t device, uint16_t slices,
                                 const struct profile *p)
{
    return (struct use){.node = node,
                        .slots = 1,
                        .mode = USE_MIG,
                        .gpu_milli = p->milli,
                        .slices = slices,
                        .compute = p->compute,
                        .gpu_mem_bytes = p->mem_bytes,
                        .devs = UINT64_C(1) << device};
}

#endif
