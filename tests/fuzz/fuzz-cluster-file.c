/* fuzz-cluster-file.c - any bytes as a cluster file, YAML or a list of nodes
 *
 * First byte 'c': the rest is CSV, otherwise YAML. Beside not crashing: what is
 * accepted is sound node by node, makes a cluster that passes its own check, and what
 * is refused says where and leaves the result alone. Of very many nodes only the first
 * make a cluster. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cluster/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)   \
    do {             \
        if (!(cond)) \
            abort(); \
    } while (0)

enum { NODES_CHECKED = 300 };

static void accepted(struct cluster_file *f, struct words *words)
{
    struct err err;
    MUST(f->nodes.n > 0 && f->nlevels <= NODE_LEVELS_MAX);
    for (uint32_t i = 0; i < f->nodes.n; i++)
        MUST(node_desc_check(&f->nodes.at[i], &err) == 0);
    if (f->nodes.n > NODES_CHECKED)
        f->nodes.n = NODES_CHECKED;
    struct cluster *c = cluster_create(words);
    cluster_file_fill(f, c);
    MUST(c->nlive == f->nodes.n);
    cluster_check(c);
    cluster_destroy(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct words words = {0};
    struct cluster_file f = {.nlevels = 77};
    struct err err = {0};
    bool csv = size && data[0] == 'c' && (size < 4 || memcmp(data, "csv:", 4));
    struct str text = {(const char *)data + csv, size - csv};
    const char *name = csv ? "f.csv" : "f.yaml";
    int rc = cluster_file_parse(&f, name, text, &words, &err);
    if (rc == 0) {
        accepted(&f, &words);
        cluster_file_done(&f);
    } else {
        MUST(rc < 0 && f.nlevels == 77 && !f.nodes.n);
        MUST(err.text[0] &&
             strncmp(err.text, csv ? "f.csv:" : "f.yaml:", csv ? 6 : 7) == 0);
    }
    words_done(&words);
    return 0;
}
