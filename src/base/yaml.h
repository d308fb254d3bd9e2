/* yaml.h - a small YAML file as a tree that remembers where each thing stood
 * libyaml reads it; anchors, aliases, tags, merge keys and second documents are
 * refused, duplicate keys too. Scalars have no type: the typed reads below decide.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_YAML_H
#define MUSTER_YAML_H

#include "base/arena.h"
#include "base/err.h"

enum ynode_kind { YNODE_SCALAR = 0, YNODE_LIST, YNODE_MAP };

struct ynode {
    enum ynode_kind kind;
    uint32_t line, column; /* from 1, in characters */
    struct str text;       /* scalar; of a map's child: see key */
    struct str key;        /* when the parent is a map; where it stands: */
    uint32_t key_line, key_column;
    bool quoted;
    struct ynode *first, *next; /* children; sibling */
    uint32_t n;                 /* number of children */
    const char *file;
};

#define YAML_DEPTH_MAX 32u
#define YAML_NODES_MAX (4u << 20)
#define YAML_BYTES_MAX (256u << 20) /* of a file, unpacked */

/* One document; everything lives in a. Returns 0, or -errno with err as
 * "file:line:column: why" and *ret untouched. */
int yaml_load(const char *path, struct arena *a, struct ynode **ret, struct err *err);
int yaml_parse(const char *name, struct str text, struct arena *a, struct ynode **ret,
               struct err *err);

struct ynode *ynode_get(const struct ynode *map, const char *key); /* NULL: absent */
/* "file:line:column: " + message; returns -code. */
int ynode_err(const struct ynode *n, int code, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Refuse keys that are not in the NULL-ended list (names the nearest known one). */
int ynode_only(const struct ynode *map, const char *const *keys, struct err *err);
/* Typed reads with bounds; each refuses other kinds with the place (-EINVAL; out of
 * bounds: -ERANGE) and then leaves *ret as it was. Numbers and booleans must not be
 * quoted. */
int ynode_i64(const struct ynode *n, int64_t lo, int64_t hi, int64_t *ret,
              struct err *err);
int ynode_bool(const struct ynode *n, bool *ret, struct err *err);
int ynode_duration(const struct ynode *n, int64_t *ret_us, struct err *err);
int ynode_size(const struct ynode *n, uint64_t *ret_bytes, struct err *err);
int ynode_milli(const struct ynode *n, int64_t *ret_milli, struct err *err);
int ynode_double(const struct ynode *n, double lo, double hi, double *ret,
                 struct err *err);
int ynode_str(const struct ynode *n, struct str *ret, struct err *err);

#endif
