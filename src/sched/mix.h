/* mix.h - the typical mix: what is asked for here, and how often
 *
 * The classes of FGD (Weng et al., USENIX ATC'23): CPU, GPU milli of each device,
 * number of devices and acceptable types, without memory. Counts are state; the items
 * that scores read come from the counts as they stood at the last settling: by count,
 * most frequent first (ties: larger cpu, milli, number, type text first), until the
 * wanted share of all tasks is covered, their weights made to sum to one.
 *
 * A mix is given (mix_parse), counted from a whole list (mix_add, then mix_settle), or
 * learned from arrivals alone (mix_learn, which settles by itself, ever more rarely).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_MIX_H
#define MUSTER_MIX_H

#include "base/buf.h"
#include "base/vec.h"
#include "cluster/cluster.h"
#include "job/shape.h"

enum {
    MIX_COVER_PERMILLE = 950, /* the share of tasks that the items stand for */
    MIX_CLASSES_MAX = 4095,   /* further classes are counted in the total alone */
    MIX_LEARN_FIRST = 64      /* tasks before the first settling while learning */
};

struct mix_class {
    int64_t cpu_milli;
    uint32_t gpu_milli, gpu_count; /* milli of each device; 0, 0: CPU only */
    uint32_t ntypes;               /* acceptable types as asked; 0: any */
    word_t types[SHAPE_TYPES_MAX];
    uint64_t count;   /* now */
    uint64_t settled; /* at the last settling */
};

struct mix_item {
    int64_t cpu_milli;
    uint32_t gpu_milli, gpu_count;
    uint64_t types; /* dense type ids; all ones: any */
    uint64_t count;
    double weight;   /* (count/all)/(covered/all), in this order of doubles: scores need
                        it */
    uint32_t class_; /* index of its class */
};

struct mix { /* zero it to make it empty */
    VEC(struct mix_class) classes;
    VEC(struct mix_item) items;
    struct u64map ids; /* hash of the class -> index */
    uint64_t total;    /* tasks counted */
    uint64_t next;     /* learning: settle when total reaches this */
    uint64_t settled;  /* total at the last settling */
    uint64_t covered;  /* tasks that the items stand for */
    uint32_t cover;    /* per mille wanted at the last settling */
    uint32_t version;  /* raised when items change: memos over the mix are void then */
    uint32_t ntypes;   /* types of the cluster for which item.types was made */
};

/* Count tasks of a shape. */
void mix_add(struct mix *m, const struct shape *shape, uint64_t count);
/* Make the items anew. words: of the shapes (ties go by type text). */
void mix_settle(struct mix *m, const struct words *words, uint32_t cover_permille);
/* Count one arrival; settles when an eighth more than last time is known. */
void mix_learn(struct mix *m, const struct shape *shape, const struct words *words);
/* Lines "count cpu_milli gpu_milli gpus [type|type]"; # begins a comment. Adds new type
 * names to words, then settles. 0, or -EINVAL/-ERANGE with err naming the line; the mix
 * is then empty. */
int mix_parse(struct mix *m, struct str text, struct words *words, struct err *err);
/* The counts as such lines, most frequent first (a policy file can carry them). */
void mix_text(const struct mix *m, const struct words *words, struct buf *out);
/* Bring item.types up to the types that the cluster knows now. Cheap when nothing is
 * new. */
void mix_bind(struct mix *m, const struct cluster *c);
/* State as bytes and back (type names travel as text). -EBADMSG with err on damage. */
void mix_save(const struct mix *m, const struct words *words, struct buf *out);
int mix_load(struct mix *m, struct str *in, struct words *words, struct err *err);
/* A number for digests: the same for the same counts, whatever their order. */
uint64_t mix_digest(const struct mix *m, const struct words *words);
void mix_done(struct mix *m);

#endif
