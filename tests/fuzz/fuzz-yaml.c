/* fuzz-yaml.c - any bytes as a YAML file, every node through every typed read
 *
 * Beside not crashing: counts are right, no map has a key twice, nothing lies deeper
 * than the limit, and a failed read writes nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)   \
    do {             \
        if (!(cond)) \
            abort(); \
    } while (0)

static void read_all_ways(const struct ynode *n)
{
    struct err err = {0};
    int64_t i = -77;
    uint64_t u = 77;
    double d = 0.5;
    bool b;
    struct str s;
    MUST(ynode_i64(n, -10, 10, &i, &err) == 0 ? i >= -10 && i <= 10 : i == -77);
    i = -77;
    MUST((ynode_duration(n, &i, &err) == 0) == (i >= 0));
    i = -77;
    MUST((ynode_milli(n, &i, &err) == 0) == (i >= 0));
    MUST(ynode_size(n, &u, &err) == 0 || u == 77);
    MUST(ynode_double(n, 2, 3, &d, &err) == 0 ? d >= 2 && d <= 3 : d == 0.5);
    ynode_bool(n, &b, &err);
    MUST((ynode_str(n, &s, &err) == 0) == (n->kind == YNODE_SCALAR));
}

static void walk(const struct ynode *n, uint32_t depth)
{
    static const char *const keys[] = {"name", "levels", "nodes", "policy", NULL};
    struct err err = {0};
    uint32_t count = 0;
    MUST(depth <= YAML_DEPTH_MAX && n->line >= 1 && n->column >= 1 && n->file);
    read_all_ways(n);
    ynode_only(n, keys, &err);
    for (const struct ynode *k = n->first; k; k = k->next) {
        count++;
        if (n->kind == YNODE_MAP && count < 100)
            for (const struct ynode *m = n->first; m != k; m = m->next)
                MUST(!str_eq(m->key, k->key));
        walk(k, depth + 1);
    }
    MUST(count == n->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct err err = {0};
    struct ynode *root = NULL;
    int rc =
        yaml_parse("fuzz", (struct str){(const char *)data, size}, &a, &root, &err);
    MUST(rc == 0 ? root != NULL : err.code == -rc && err.text[0] && !root);
    if (rc == 0)
        walk(root, 0);
    arena_done(&a);
    return 0;
}
