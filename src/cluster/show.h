/* show.h - a cluster as a tree for people, or as JSON
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CLUSTER_SHOW_H
#define MUSTER_CLUSTER_SHOW_H

#include "base/buf.h"
#include "cluster/cluster.h"

#define SHOW_ALL UINT32_MAX

struct show {
    struct str name;
    uint32_t depth; /* levels below the cluster; nlevels + 1: down to nodes. SHOW_ALL:
                       as deep as fits into lines (text), or down to nodes (JSON) */
    uint32_t lines; /* of text, about; 0: no limit */
    bool ascii;     /* no box characters */
};

/* Equal siblings stand in one line with their number: "rack r00 … r06 × 7: ..., each".
 * What does not fit is counted, never left out silently. The cluster must be settled.
 */
void cluster_show_text(const struct cluster *c, const struct show *o, struct buf *out);

/* {"name", "levels", nodes, gpus, gpus_by_type, cpu_milli, mem_bytes, "children":
 * [...]} down to the depth; nothing is collapsed. Ends with a newline. */
void cluster_show_json(const struct cluster *c, const struct show *o, struct buf *out);

#endif
