/* file_gpu.c - the GPUs of a cluster file: `types:` and the `gpus:` of a node
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "cluster/file_read.h"

static const char *const mode_names[] = {"whole", "share", "mig"};

/* A list of mode names as bits. */
static int modes_read(struct reader *r, const struct ynode *n, uint8_t allowed,
                      uint8_t *ret)
{
    uint8_t modes = 0;
    if (n->kind != YNODE_LIST || !n->first)
        return ynode_err(n, EINVAL, r->err,
                         "modes must be a list of whole, share, mig");
    for (const struct ynode *m = n->first; m; m = m->next) {
        uint8_t bit = 0;
        for (int i = 0; i < 3; i++)
            if (m->kind == YNODE_SCALAR && str_is(m->text, mode_names[i]))
                bit = (uint8_t)(1u << i);
        if (!bit)
            return ynode_err(m, EINVAL, r->err, "a mode is whole, share or mig");
        if (!(bit & allowed))
            return ynode_err(m, EINVAL, r->err,
                             "this type cannot be cut: it has no profiles (see types)");
        modes |= bit;
    }
    *ret = modes;
    return 0;
}

/* [0, 2, 4] as bits. */
static int bits_read(struct reader *r, const struct ynode *n, uint32_t limit,
                     uint64_t *ret)
{
    uint64_t bits = 0;
    if (n->kind != YNODE_LIST || !n->first)
        return ynode_err(n, EINVAL, r->err, "a list of numbers is wanted here");
    for (const struct ynode *m = n->first; m; m = m->next) {
        int64_t i = 0;
        int rc = ynode_i64(m, 0, (int64_t)limit - 1, &i, r->err);
        if (rc)
            return rc;
        bits |= UINT64_C(1) << i;
    }
    *ret = bits;
    return 0;
}

static int profile_read(struct reader *r, const struct ynode *n,
                        const struct device_type *t, struct profile *p)
{
    static const char *const keys[] = {"name",    "starts", "slices",
                                       "compute", "memory", NULL};
    const struct vars none = {0};
    int64_t slices = 0, compute = 0, mem = 0;
    uint64_t starts = 0;
    const struct ynode *name = ynode_get(n, "name"), *at = ynode_get(n, "starts");
    struct str text;
    int rc = ynode_only(n, keys, r->err);
    if (rc)
        return rc;
    if (!name || !at)
        return ynode_err(n, EINVAL, r->err,
                         "a profile needs name, starts, slices, compute");
    if ((rc = ynode_str(name, &text, r->err)) ||
        (rc = text_word(r, name, &none, NULL, text, &p->name)) ||
        (rc = field_i64(r, n, "slices", &none, 1, t->mem_slices, &slices)) ||
        (rc = field_i64(r, n, "compute", &none, 1, t->compute_slices, &compute)) ||
        (rc = field_size(r, n, "memory", &none, &mem)) ||
        (rc = bits_read(r, at, t->mem_slices, &starts)))
        return rc;
    if (!slices || !compute || starts >> (t->mem_slices - slices + 1))
        return ynode_err(at, EINVAL, r->err,
                         "%lld slices from such a start do not fit into %u",
                         (long long)slices, t->mem_slices);
    p->starts = (uint16_t)starts;
    p->slices = (uint8_t)slices;
    p->compute = (uint8_t)compute;
    p->mem_bytes = mem ? mem : t->mem_bytes / t->mem_slices * slices;
    p->milli = 1000u * p->compute / t->compute_slices;
    return 0;
}

static int profiles_read(struct reader *r, const struct ynode *n, struct device_type *t)
{
    if (n->kind != YNODE_LIST || n->n > PROFILES_MAX)
        return ynode_err(n, EINVAL, r->err, "profiles must be a list, at most %d",
                         PROFILES_MAX);
    if (!t->mem_slices || !t->compute_slices)
        return ynode_err(n, EINVAL, r->err,
                         "profiles need mem_slices and compute_slices of the type");
    struct profile *rows = arena_zero(&r->out->arena, (n->n + 1) * sizeof *rows);
    uint32_t i = 0;
    for (const struct ynode *m = n->first; m; m = m->next) {
        int rc = profile_read(r, m, t, &rows[i++]);
        if (rc)
            return rc;
    }
    t->profiles = rows;
    t->nprofiles = n->n;
    t->modes = DEVICE_WHOLE | DEVICE_SHARE | (n->n ? DEVICE_MIG : 0);
    return 0;
}

/* A type read before under another spelling. */
static uint32_t type_like(const struct reader *r, struct str name)
{
    for (uint32_t i = 0; i < r->types.n; i++)
        if (catalogue_same(words_text(r->words, r->types.at[i].type->name), name))
            return i;
    return MAP_NONE;
}

/* The type of that name: from the file, else made from the catalogue. Types have the
 * catalogue's name, however the file spells them, since traces have it too. */
static struct file_type *type_get(struct reader *r, struct str name)
{
    uint32_t i = strmap_get(&r->type_at, name);
    if (i != MAP_NONE)
        return &r->types.at[i];
    struct str spelt = name;
    name = catalogue_canonical(name);
    i = type_like(r, name);
    if (i != MAP_NONE) {
        strmap_put(&r->type_at, arena_str(&r->out->arena, spelt), i);
        return &r->types.at[i];
    }
    struct device_type *t = catalogue_type(r->words, &r->out->arena, name);
    if (!t)
        return NULL;
    strmap_put(&r->type_at, arena_str(&r->out->arena, spelt), r->types.n);
    vec_push(&r->types, (struct file_type){.type = t,
                                           .known = catalogue_has(name),
                                           .ring = catalogue_ring(name),
                                           .modes = DEVICE_WHOLE | DEVICE_SHARE});
    return &r->types.at[r->types.n - 1];
}

/* The catalogue's profiles on a device of another size. */
static void profiles_scale(struct reader *r, struct device_type *t)
{
    struct profile *rows = arena_alloc(&r->out->arena, t->nprofiles * sizeof *rows);
    memcpy(rows, t->profiles, t->nprofiles * sizeof *rows);
    for (uint32_t i = 0; i < t->nprofiles; i++)
        rows[i].mem_bytes = t->mem_bytes / t->mem_slices * rows[i].slices;
    t->profiles = rows;
}

static int type_read(struct reader *r, const struct ynode *n)
{
    static const char *const keys[] = {"like",     "memory",     "reserved",
                                       "modes",    "mem_slices", "compute_slices",
                                       "profiles", NULL};
    const struct vars none = {0};
    const struct ynode *like = ynode_get(n, "like"), *sub;
    bool empty = n->kind == YNODE_SCALAR && !n->text.len; /* "T4:" or "T4: {}" */
    int rc = empty ? 0 : ynode_only(n, keys, r->err);
    if (rc)
        return rc;
    struct file_type *f = type_get(r, n->key);
    if (!f)
        return ynode_err(n, EINVAL, r->err, "no name for a type, or too many words");
    struct device_type *t = f->type;
    if (like) {
        if (like->kind != YNODE_SCALAR || !catalogue_has(like->text))
            return ynode_err(like, EINVAL, r->err, "like: not a type of the catalogue");
        struct device_type *row = catalogue_type(r->words, &r->out->arena, like->text);
        if (!row)
            return ynode_err(like, E2BIG, r->err, "too many words in one cluster");
        word_t name = t->name;
        *t = *row;
        t->name = name;
    }
    int64_t ms = t->mem_slices, cs = t->compute_slices;
    f->known = true;
    if ((rc = field_size(r, n, "memory", &none, &t->mem_bytes)) ||
        (rc = field_size(r, n, "reserved", &none, &f->reserved_bytes)) ||
        (rc = field_i64(r, n, "mem_slices", &none, 1, SLICES_MAX, &ms)) ||
        (rc = field_i64(r, n, "compute_slices", &none, 1, SLICES_MAX, &cs)))
        return rc;
    if ((ms != t->mem_slices || cs != t->compute_slices) && !ynode_get(n, "profiles"))
        return ynode_err(n, EINVAL, r->err, "other slices need their profiles");
    if (t->nprofiles && ynode_get(n, "memory"))
        profiles_scale(r, t);
    t->mem_slices = (uint8_t)ms;
    t->compute_slices = (uint8_t)cs;
    if ((sub = ynode_get(n, "profiles")) && (rc = profiles_read(r, sub, t)))
        return rc;
    return (sub = ynode_get(n, "modes")) ? modes_read(r, sub, t->modes, &f->modes) : 0;
}

int types_read(struct reader *r, const struct ynode *map)
{
    if (map->kind != YNODE_MAP)
        return ynode_err(map, EINVAL, r->err,
                         "types must be a map: name: {memory: ...}");
    for (const struct ynode *n = map->first; n; n = n->next) {
        int rc = type_read(r, n);
        if (rc)
            return rc;
    }
    return 0;
}

/* [[0, 1], [2, 3]]: sets of the devices of this entry, moved up by base. */
static int sets_read(struct reader *r, const struct ynode *n, uint32_t count,
                     uint32_t base, uint64_t *sets, uint32_t max, uint32_t *ret_n)
{
    uint32_t i = 0;
    if (n->kind != YNODE_LIST)
        return ynode_err(n, EINVAL, r->err,
                         "a list of lists is wanted: [[0, 1], [2, 3]]");
    for (const struct ynode *m = n->first; m; m = m->next) {
        if (i == max)
            return ynode_err(m, ERANGE, r->err, "more than %u sets", max);
        int rc = bits_read(r, m, count, &sets[i]);
        if (rc)
            return rc;
        sets[i++] <<= base;
    }
    *ret_n = i;
    return 0;
}

/* Rings (given, or those of the type) become legal sets and islands; `legal` adds sets.
 */
static int sets_apply(struct reader *r, const struct ynode *g, uint32_t ring,
                      uint32_t count, uint32_t base, struct device_desc *devs,
                      struct node_desc *d, uint64_t *legal)
{
    uint64_t sets[NODE_LEGAL_MAX], rings[NODE_DEVICES_MAX];
    uint32_t n = 0, nrings = rings_of_board(ring, count, rings);
    const struct ynode *y = ynode_get(g, "rings"), *isles = ynode_get(g, "islands");
    int rc;
    for (uint32_t i = 0; i < nrings; i++)
        rings[i] <<= base;
    if (y && (rc = sets_read(r, y, count, base, rings, 16, &nrings)))
        return rc;
    if (nrings) {
        int made =
            rings_legal(rings, nrings, legal + d->nlegal, NODE_LEGAL_MAX - d->nlegal);
        if (made < 0)
            return ynode_err(
                y ? y : g, ERANGE, r->err,
                "rings with more than %d legal sets; rings of at most 5 devices "
                "work",
                NODE_LEGAL_MAX);
        d->nlegal += (uint32_t)made;
    }
    if ((y = ynode_get(g, "legal"))) {
        if ((rc = sets_read(r, y, count, base, sets, NODE_LEGAL_MAX - d->nlegal, &n)))
            return rc;
        memcpy(legal + d->nlegal, sets, n * sizeof *sets);
        d->nlegal += n;
    }
    if (isles &&
        (rc = sets_read(r, isles, count, base, rings, NODE_DEVICES_MAX, &nrings)))
        return rc;
    for (uint32_t i = 0; i < nrings; i++)
        for (uint32_t k = 0; k < NODE_DEVICES_MAX; k++)
            if (rings[i] >> k & 1)
                devs[k].island = (uint8_t)i;
    return 0;
}

static int numa_read(struct reader *r, const struct ynode *n, uint32_t count,
                     struct device_desc *devs)
{
    if (n->kind != YNODE_LIST || n->n != count)
        return ynode_err(n, EINVAL, r->err,
                         "numa must be a list with a number a device");
    for (const struct ynode *m = n->first; m; m = m->next) {
        int64_t v = 0;
        int rc = ynode_i64(m, 0, 255, &v, r->err);
        if (rc)
            return rc;
        (devs++)->numa = (uint8_t)v;
    }
    return 0;
}

/* One {type, count, ...}: its devices behind those that d has. */
static int gpus_read(struct reader *r, const struct ynode *g, const struct vars *v,
                     struct device_desc *devs, uint64_t *legal, struct node_desc *d)
{
    static const char *const keys[] = {"type",  "count", "memory",  "reserved", "modes",
                                       "rings", "legal", "islands", "numa",     NULL};
    const struct ynode *ty = ynode_get(g, "type"), *y;
    struct pattern type = {0};
    int64_t count = 1;
    uint32_t base = d->ndevices;
    int rc = ynode_only(g, keys, r->err);
    if (rc || (rc = field_i64(r, g, "count", v, 0, NODE_DEVICES_MAX - base, &count)))
        return rc;
    if (count == 0)
        return 0;
    if (ty && (rc = field_text(r, ty, v, &type)))
        return rc;
    if (!type.text.len)
        return pattern_err(ty ? ty : g, v, ty ? &type : NULL, EINVAL, r->err,
                           "GPUs without a type");
    struct file_type *f = type_get(r, type.text);
    if (!f)
        return pattern_err(ty, v, &type, EINVAL, r->err, "no name for a GPU type");
    if (!f->known && !ynode_get(g, "memory") && !v->n)
        return ynode_err(ty, EINVAL, r->err,
                         "\"" STR_FMT
                         "\" is not in the catalogue: say its memory here, or "
                         "what it is under types",
                         STR_ARG(type.text));
    struct device_desc one = {.type = f->type,
                              .mem_bytes = f->type->mem_bytes,
                              .reserved_bytes = f->reserved_bytes,
                              .modes = f->modes};
    if ((rc = field_size(r, g, "memory", v, &one.mem_bytes)) ||
        (rc = field_size(r, g, "reserved", v, &one.reserved_bytes)) ||
        ((y = ynode_get(g, "modes")) &&
         (rc = modes_read(r, y, f->type->modes, &one.modes))))
        return rc;
    if (one.mem_bytes && one.reserved_bytes > one.mem_bytes)
        return ynode_err(g, ERANGE, r->err, "more memory reserved than there is");
    for (uint32_t i = 0; i < count; i++)
        devs[base + i] = one;
    d->ndevices = base + (uint32_t)count;
    if ((y = ynode_get(g, "numa")) &&
        (rc = numa_read(r, y, (uint32_t)count, devs + base)))
        return rc;
    return sets_apply(r, g, f->ring, (uint32_t)count, base, devs, d, legal);
}

int devices_read(struct reader *r, const struct ynode *gpus, const struct vars *v,
                 struct node_desc *d)
{
    struct device_desc devs[NODE_DEVICES_MAX] = {0};
    uint64_t legal[NODE_LEGAL_MAX];
    bool list = gpus->kind == YNODE_LIST;
    for (const struct ynode *g = list ? gpus->first : gpus; g;
         g = list ? g->next : NULL) {
        int rc = gpus_read(r, g, v, devs, legal, d);
        if (rc)
            return rc;
    }
    struct arena *a = &r->out->arena;
    size_t size = d->ndevices * sizeof *devs;
    if (size == r->last_size && size && !memcmp(devs, r->last, size)) {
        d->devices = r->last; /* most rows of a list are like the one before */
    } else if (size) {
        struct device_desc *to = arena_alloc(a, size);
        memcpy(to, devs, size);
        d->devices = r->last = to;
        r->last_size = size;
    }
    if (d->nlegal) {
        uint64_t *to = arena_alloc(a, d->nlegal * sizeof *to);
        memcpy(to, legal, d->nlegal * sizeof *to);
        d->legal = to;
    }
    return 0;
}
