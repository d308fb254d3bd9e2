/* file.h - a cluster as a file: YAML, or a plain list of nodes as CSV
 * docs/cluster-format.md describes it for people. SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CLUSTER_FILE_H
#define MUSTER_CLUSTER_FILE_H

#include "base/vec.h"
#include "cluster/cluster.h"

#define CLUSTER_FILE_NODES_MAX (1u << 18)
#define CLUSTER_FILE_ROWS_MAX (1u << 18) /* of one CSV file */

struct cluster_file {
    struct arena arena; /* holds all that the descriptions point to */
    struct str name;
    uint32_t nlevels;
    word_t levels[NODE_LEVELS_MAX]; /* from the top down */
    VEC(struct node_desc) nodes;    /* in the file's order; names are unique */
};

/* Read a file (path "-": standard input). A name with ".csv" in it is a node list whose
 * columns are recognised by its first row: openb (sn, cpu_milli, memory_mib, gpu,
 * model), Philly's virtual clusters (vc, node num), Alibaba spot-2026 (gpu_model,
 * gpu_capacity_num, cpu_num, node_name). Words go to `words`, which must outlive *ret.
 * 0, or -errno; err is "file:line:column: why". *ret is untouched on failure; otherwise
 * give it to cluster_file_done. */
int cluster_file_load(struct cluster_file *ret, const char *path, struct words *words,
                      struct err *err);
/* The same over text in memory; `csv:` entries are refused in it. */
int cluster_file_parse(struct cluster_file *ret, const char *name, struct str text,
                       struct words *words, struct err *err);
void cluster_file_done(struct cluster_file *f);

/* Levels and nodes into an empty cluster, settled. */
void cluster_file_fill(const struct cluster_file *f, struct cluster *c);

#endif
