/* truth.c - reads the truth and the belief of a simulated cluster
 *
 * Both files are flat tables of keys; each key is one row (name, kind, where it goes,
 * bounds). Factors are maps name: factor. SPDX-License-Identifier: Apache-2.0 */
#include "world/twin/truth.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/units.h"
#include "base/yaml.h"
#include "job/spec.h"

enum kind {
    KEY_TIME, KEY_RATE, KEY_FACTORS, KEY_WORD, KEY_SIGMA, KEY_SHARE, KEY_COUNT, KEY_REPAIR
};

struct word_value {
    const char *word;
    uint8_t value;
};

struct row {
    const char *name;
    enum kind kind;
    size_t offset;
    const struct word_value *words;
};

static const struct word_value expecteds[] = {{"none", EXPECTED_NONE},
                                              {"limit", EXPECTED_LIMIT},
                                              {"oracle", EXPECTED_ORACLE},
                                              {NULL, 0}};
static const struct word_value losses[] = {
    {"gang", LOSS_GANG}, {"member", LOSS_MEMBER}, {"ignore", LOSS_IGNORE}, {NULL, 0}};

#define T(field) offsetof(struct truth, field)
static const struct row truth_rows[] = {
    {"start_delay", KEY_TIME, T(start_us), NULL},
    {"ready_delay", KEY_TIME, T(ready_us), NULL},
    {"stop_delay", KEY_TIME, T(stop_us), NULL},
    {"speed_by_level", KEY_FACTORS, T(level), NULL},
    {"speed_by_type", KEY_FACTORS, T(type), NULL},
    {"checkpoint_save", KEY_TIME, T(ckpt_save_us), NULL},
    {"checkpoint_restore", KEY_TIME, T(ckpt_restore_us), NULL},
    {"faults_per_1000_node_days", KEY_RATE, T(fault_rate), NULL},
    {"repair", KEY_REPAIR, T(repair_us), NULL},
    {NULL, 0, 0, NULL},
};

#define B(field) offsetof(struct belief, field)
static const struct row belief_rows[] = {
    {"expected", KEY_WORD, B(expected), expecteds},
    {"expected_error_sigma", KEY_SIGMA, B(error_ppm), NULL},
    {"speed_by_type", KEY_FACTORS, B(type), NULL},
    {"checkpoint_interval", KEY_TIME, B(ckpt_interval_us), NULL},
    {"checkpoint_save", KEY_TIME, B(ckpt_save_us), NULL},
    {"checkpoint_restore", KEY_TIME, B(ckpt_restore_us), NULL},
    {"checkpoint_from_gpus", KEY_COUNT, B(least_gpus), NULL},
    {"checkpoint_smaller", KEY_SHARE, B(smaller_ppm), NULL},
    {"on_loss", KEY_WORD, B(on_loss), losses},
    {NULL, 0, 0, NULL},
};
enum { ROWS_MAX = 16 };

/* Repair quantiles of the InfiniteHBD fault trace (584 faults, 400 servers, 348 days): the
 * shortest and the longest are its own extremes' order of magnitude. */
void truth_init(struct truth *t)
{
    *t = (struct truth){
        .ckpt_save_us = -1,
        .ckpt_restore_us = -1,
        .repair_us = {US_PER_MIN, 14 * US_PER_MIN, 1224 * US_PER_MIN,
                      309 * US_PER_H + 36 * US_PER_MIN, 81 * US_PER_DAY, 120 * US_PER_DAY},
    };
}

void belief_init(struct belief *b)
{
    *b = (struct belief){.expected = EXPECTED_LIMIT, .on_loss = LOSS_GANG};
}

bool belief_checkpoints(const struct belief *b, int64_t gpus, struct str name)
{
    if (!b->ckpt_interval_us)
        return false;
    if (gpus >= b->least_gpus)
        return true;
    return b->smaller_ppm && digest_bytes(name.ptr, name.len, 0) % PPM < b->smaller_ppm;
}

uint32_t factors_get(const struct factors *f, struct str name)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (str_is(name, f->at[i].name))
            return f->at[i].ppm;
    return PPM;
}

static int read_factors(const struct ynode *n, struct factors *f, struct err *err)
{
    if (n->kind != YNODE_MAP || n->n > FACTORS_MAX)
        return ynode_err(n, EINVAL, err, "wants a map of at most %d names to factors",
                         FACTORS_MAX);
    f->n = 0;
    for (const struct ynode *c = n->first; c; c = c->next) {
        double factor;
        int rc = ynode_double(c, 0.001, 1000, &factor, err);
        if (rc)
            return rc;
        if (c->key.len > FACTOR_NAME_MAX)
            return ynode_err(c, ERANGE, err, "the name is longer than %d", FACTOR_NAME_MAX);
        struct factor *out = &f->at[f->n++];
        memset(out, 0, sizeof *out);
        memcpy(out->name, c->key.ptr, c->key.len);
        out->ppm = (uint32_t)(factor * PPM + 0.5);
    }
    return 0;
}

static int read_word(const struct ynode *n, const struct word_value *w, uint8_t *ret,
                     struct err *err)
{
    struct str s;
    char known[128] = "";
    int rc = ynode_str(n, &s, err);
    if (rc)
        return rc;
    for (const struct word_value *k = w; k->word; k++) {
        size_t at = strlen(known);
        if (str_is(s, k->word)) {
            *ret = k->value;
            return 0;
        }
        snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", k->word);
    }
    return ynode_err(n, EINVAL, err, "'" STR_FMT "' is none of: %s", STR_ARG(s), known);
}

/* repair: {shortest: 1min, p10: .., p50: .., p90: .., p99: .., longest: ..}, all of them. */
static int read_repair(const struct ynode *n, int64_t us[6], struct err *err)
{
    static const char *const names[] = {"shortest", "p10", "p50", "p90",
                                        "p99",      "longest", NULL};
    if (n->kind != YNODE_MAP)
        return ynode_err(n, EINVAL, err, "wants a map of quantiles to durations");
    int rc = ynode_only(n, names, err);
    for (int i = 0; i < 6 && !rc; i++) {
        const struct ynode *c = ynode_get(n, names[i]);
        if (!c)
            return ynode_err(n, EINVAL, err, "lacks %s", names[i]);
        rc = ynode_duration(c, &us[i], err);
        if (!rc && (us[i] < 1 || (i && us[i] < us[i - 1])))
            return ynode_err(c, ERANGE, err, "%s must be longer than nothing and %s",
                             names[i], i ? names[i - 1] : "nothing");
    }
    return rc;
}

static int read_row(const struct ynode *n, const struct row *r, void *base, struct err *err)
{
    char *field = (char *)base + r->offset;
    int64_t number = 0;
    double real = 0;
    int rc = 0;
    switch (r->kind) {
    case KEY_FACTORS:
        return read_factors(n, (struct factors *)field, err);
    case KEY_WORD:
        return read_word(n, r->words, (uint8_t *)field, err);
    case KEY_REPAIR:
        return read_repair(n, (int64_t *)field, err);
    case KEY_TIME:
        rc = ynode_duration(n, &number, err);
        break;
    case KEY_COUNT:
        rc = ynode_i64(n, 0, INT64_C(1) << 40, &number, err);
        break;
    case KEY_RATE:
        rc = ynode_double(n, 0, 1e6, &real, err);
        if (!rc)
            memcpy(field, &real, sizeof real);
        return rc;
    case KEY_SHARE:
    case KEY_SIGMA:
        rc = ynode_double(n, 0, r->kind == KEY_SHARE ? 1 : 10, &real, err);
        if (!rc)
            *(uint32_t *)field = (uint32_t)(real * PPM + 0.5);
        return rc;
    }
    if (!rc)
        memcpy(field, &number, sizeof number);
    return rc;
}

static int read_tree(const struct ynode *root, const struct row *rows, void *base,
                     struct err *err)
{
    const char *known[ROWS_MAX + 2];
    uint32_t n = 0;
    for (; rows[n].name; n++)
        known[n] = rows[n].name;
    known[n] = "about"; /* free text for people */
    known[n + 1] = NULL;
    if (root->kind != YNODE_MAP)
        return ynode_err(root, EINVAL, err, "wants a map of keys");
    int rc = ynode_only(root, known, err);
    for (uint32_t i = 0; i < n && !rc; i++) {
        const struct ynode *y = ynode_get(root, rows[i].name);
        if (y)
            rc = read_row(y, &rows[i], base, err);
    }
    return rc;
}

int truth_parse(const char *name, struct str text, struct truth *ret, struct err *err)
{
    struct arena a = {0};
    struct ynode *root;
    struct truth t;
    truth_init(&t);
    int rc = yaml_parse(name, text, &a, &root, err);
    if (!rc)
        rc = read_tree(root, truth_rows, &t, err);
    if (!rc)
        *ret = t;
    arena_done(&a);
    return rc;
}

int belief_parse(const char *name, struct str text, struct belief *ret, struct err *err)
{
    struct arena a = {0};
    struct ynode *root;
    struct belief b;
    belief_init(&b);
    int rc = yaml_parse(name, text, &a, &root, err);
    if (!rc)
        rc = read_tree(root, belief_rows, &b, err);
    if (!rc)
        *ret = b;
    arena_done(&a);
    return rc;
}

int truth_load(const char *path, struct truth *ret, struct err *err)
{
    struct arena a = {0};
    struct ynode *root;
    struct truth t;
    truth_init(&t);
    int rc = yaml_load(path, &a, &root, err);
    if (!rc)
        rc = read_tree(root, truth_rows, &t, err);
    if (!rc)
        *ret = t;
    arena_done(&a);
    return rc;
}

int belief_load(const char *path, struct belief *ret, struct err *err)
{
    struct arena a = {0};
    struct ynode *root;
    struct belief b;
    belief_init(&b);
    int rc = yaml_load(path, &a, &root, err);
    if (!rc)
        rc = read_tree(root, belief_rows, &b, err);
    if (!rc)
        *ret = b;
    arena_done(&a);
    return rc;
}
