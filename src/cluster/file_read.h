/* file_read.h - what the parts of the cluster file's reader share
 * Only for src/cluster. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_FILE_READ_H
#define MUSTER_FILE_READ_H

#include "cluster/catalogue.h"
#include "cluster/file.h"
#include "cluster/pattern.h"

/* A GPU type as the file (or else the catalogue) has it. */
struct file_type {
    struct device_type *type;
    int64_t reserved_bytes;
    uint8_t modes; /* of devices that say nothing else */
    bool known;    /* named under types, or in the catalogue */
    uint8_t ring;  /* devices in a ring of the catalogue's board; 0: none */
};

struct reader {
    struct cluster_file *out;
    struct words *words;
    struct err *err;
    const char *folder; /* of the file; NULL: no other files may be read */
    struct arena tmp;   /* for one entry, or one row of it */
    struct fills fills;
    struct strmap names; /* of nodes so far */
    struct strmap type_at;
    VEC(struct file_type) types;
    const struct ynode *label_levels; /* levels_from_labels: level -> label; NULL */
    bool levels_given;
    const struct device_desc *last; /* devices of the last entry that had any */
    size_t last_size;
};

/* Typed fields of a map, columns put in; absent: *ret stays. Bounds as ynode_i64. */
int field_i64(struct reader *r, const struct ynode *map, const char *key,
              const struct vars *v, int64_t lo, int64_t hi, int64_t *ret);
int field_milli(struct reader *r, const struct ynode *map, const char *key,
                const struct vars *v, int64_t *ret);
int field_size(struct reader *r, const struct ynode *map, const char *key,
               const struct vars *v, int64_t *ret);
/* A text without a number; absent: empty. */
int field_text(struct reader *r, const struct ynode *n, const struct vars *v,
               struct pattern *ret);
/* A word of the text at n; 0 and -errno when the table is full or it is no word. */
int text_word(struct reader *r, const struct ynode *n, const struct vars *v,
              const struct pattern *p, struct str text, word_t *ret);

/* file_gpu.c */
int types_read(struct reader *r, const struct ynode *map);
int devices_read(struct reader *r, const struct ynode *gpus, const struct vars *v,
                 struct node_desc *d);

/* file_entry.c: one entry of `nodes` (or one row of a `csv`) becomes its nodes. */
extern const char *const entry_keys[];
int entry_read(struct reader *r, const struct ynode *e, const struct vars *v);
/* A row that says what the row before said, but for the name: its node had no places,
 * partitions or faults. */
int entry_again(struct reader *r, const struct ynode *e, const struct vars *v);

#endif
