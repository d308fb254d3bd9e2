/* pattern.h - texts of a cluster file with {column} and {000} in them, and the
 * numbering SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_PATTERN_H
#define MUSTER_PATTERN_H

#include "base/csv.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/yaml.h"

/* What {column} stands for: one row of a CSV file. All NULL or 0: there are no columns.
 */
struct vars {
    const struct csv *csv;
    const struct str *names; /* of the columns */
    const struct str *cells; /* as many, of the row */
    uint32_t n;
};

/* An expanded text. The number, if it has one, is left out and goes in at byte `at`. */
struct pattern {
    struct str text;
    bool numbered;
    uint32_t at, width;
    uint32_t column; /* last column used; UINT32_MAX: none */
};

/* text of n with its columns put in, in the arena. 0, or -EINVAL: an open brace, an
 * unknown column, two numbers, a kind that is no scalar. */
int pattern_expand(const struct ynode *n, const struct vars *v, struct arena *a,
                   struct pattern *ret, struct err *err);
/* With the number in its place, in the arena. */
struct str pattern_text(const struct pattern *p, uint32_t number, struct arena *a);

/* The place of the error: the cell that the text came from, or the node. -code. */
int pattern_err(const struct ynode *n, const struct vars *v, const struct pattern *p,
                int code, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/* Where the numbering of equal patterns stands; zero it to make it empty. */
struct fill {
    uint32_t number, used;
    struct str parent;
};
struct fills {
    struct arena arena;
    struct strmap at;
    VEC(struct fill) list;
};

/* The counter of a pattern of a key (equal text, number at the same place). */
uint32_t fills_find(struct fills *f, struct str of, const struct pattern *p);
/* The number for the next node: after `per` nodes the next one, and also when the node
 * stands under another parent than the one before. */
uint32_t fills_next(struct fills *f, uint32_t counter, uint32_t per, struct str parent);
void fills_done(struct fills *f);

#endif
