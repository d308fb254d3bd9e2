/* asks.c - what jobs ask for that the cluster does not have at all
 *
 * Three sets of words that the cluster file names (GPU types, tags, levels), made once; a job
 * is asked against them in O(1). Only what can never be is told: whether a job fits beside
 * others is the scheduler's business. SPDX-License-Identifier: Apache-2.0 */
#include "cmd/asks.h"

#include "base/bitset.h"
#include "base/units.h"

enum { NAMES_SHOWN = 6, SEEN = 256 };

void asks_init(struct asks *a, const struct scene *s)
{
    size_t bytes = BITSET_WORDS(WORD_MAX + 1) * sizeof(uint64_t);
    *a = (struct asks){.scene = s,
                       .types = mem_zero(bytes),
                       .tags = mem_zero(bytes),
                       .levels = mem_zero(bytes),
                       .gpus = s->capacity_milli / 1000,
                       .seen = mem_zero(SEEN * sizeof(struct asks_seen))};
    for (uint32_t i = 0; i < s->cluster.nodes.n; i++) {
        const struct node_desc *d = &s->cluster.nodes.at[i];
        for (uint32_t k = 0; k < d->ndevices; k++)
            bit_set(a->types, d->devices[k].type->name);
        for (uint32_t k = 0; k < d->ntags; k++)
            bit_set(a->tags, d->tags[k]);
    }
    for (uint32_t l = 0; l < s->cluster.nlevels; l++)
        bit_set(a->levels, s->cluster.levels[l]);
}

void asks_done(struct asks *a)
{
    free(a->types);
    free(a->tags);
    free(a->levels);
    free(a->seen);
}

static bool is_there(const struct asks *a, const uint64_t *set, struct str name)
{
    struct asks_seen *s = &a->seen[((uintptr_t)name.ptr >> 4) % SEEN];
    if (s->name != name.ptr || s->len != name.len || s->set != set) {
        word_t id = words_find(&a->scene->words, name);
        *s = (struct asks_seen){name.ptr, set, name.len, id && bit_get(set, id)};
    }
    return s->there;
}

/* One acceptable type is enough; naming none is naming any. */
static bool types_there(const struct asks *a, const struct str *types, uint32_t n)
{
    bool there = !n;
    for (uint32_t i = 0; i < n; i++)
        there |= is_there(a, a->types, types[i]);
    return there;
}

enum asks_kind asks_of(const struct asks *a, const struct trace_job *j)
{
    bool there = !j->gpus || j->nparts || types_there(a, j->types, j->ntypes);
    for (uint32_t i = 0; i < j->nparts; i++)
        there &= !j->parts[i].gpus ||
                 types_there(a, j->parts[i].types, j->parts[i].ntypes);
    if (!there)
        return ASKS_TYPE;
    if ((uint64_t)j->gpus * j->gpu_milli > a->scene->capacity_milli)
        return ASKS_GPUS;
    if (j->need_level.len && !str_is(j->need_level, "node") &&
        !is_there(a, a->levels, j->need_level))
        return ASKS_LEVEL;
    if (j->need_tag.len && !is_there(a, a->tags, j->need_tag))
        return ASKS_TAG;
    return ASKS_FINE;
}

/* The first of its types that is not there. */
static struct str missing_type(const struct asks *a, const struct trace_job *j)
{
    for (uint32_t i = 0; i < j->nparts; i++)
        for (uint32_t k = 0; k < j->parts[i].ntypes; k++)
            if (!is_there(a, a->types, j->parts[i].types[k]))
                return j->parts[i].types[k];
    return j->ntypes ? j->types[0] : STR("?");
}

void asks_reason(const struct asks *a, const struct trace_job *j, struct buf *out)
{
    char count[24];
    switch (asks_of(a, j)) {
    case ASKS_TYPE:
        buf_fmt(out, "asks for GPU type " STR_FMT ": no node has it",
                STR_ARG(missing_type(a, j)));
        return;
    case ASKS_GPUS:
        buf_fmt(out, "asks for more GPUs than the %s of the cluster",
                count_text(a->gpus, count));
        return;
    case ASKS_LEVEL:
        buf_fmt(out, "asks for level " STR_FMT ", which the cluster does not have",
                STR_ARG(j->need_level));
        return;
    case ASKS_TAG:
        buf_fmt(out, "asks for tag " STR_FMT ": no node carries it", STR_ARG(j->need_tag));
        return;
    default:
        return;
    }
}

/* A few different names, in order of first sight. */
struct names {
    struct str at[NAMES_SHOWN];
    uint32_t n;
    bool more;
};

static void name_add(struct names *l, struct str s)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (str_eq(l->at[i], s))
            return;
    if (l->n == NAMES_SHOWN)
        l->more = true;
    else
        l->at[l->n++] = s;
}

static void names_text(const struct names *l, struct buf *out)
{
    for (uint32_t i = 0; i < l->n; i++)
        buf_fmt(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(l->at[i]));
    buf_z(out, l->n == 0 ? "none" : l->more ? ", ..." : "");
}

static void words_named(const struct asks *a, const uint64_t *set, struct buf *out)
{
    struct names l = {0};
    for (word_t id = 1; id <= a->scene->words.n; id++)
        if (bit_get(set, id))
            name_add(&l, words_text(&a->scene->words, id));
    names_text(&l, out);
}

static void name_of(const struct asks *a, const struct trace_job *j, enum asks_kind kind,
                    struct names *l)
{
    if (kind == ASKS_TYPE)
        name_add(l, missing_type(a, j));
    else if (kind == ASKS_LEVEL || kind == ASKS_TAG)
        name_add(l, kind == ASKS_LEVEL ? j->need_level : j->need_tag);
}

static void warn_jobs(const struct asks *a, enum asks_kind kind, uint32_t n,
                      const struct names *l, struct buf *out)
{
    char some[24], all[24], gpus[24];
    const uint64_t *set = kind == ASKS_TYPE ? a->types
                          : kind == ASKS_TAG ? a->tags
                                             : a->levels;
    buf_fmt(out, "%s of %s %s for ", count_text(n, some), count_text(a->scene->trace.n, all),
            a->scene->trace.n == 1 ? "job asks" : "jobs ask");
    if (kind == ASKS_GPUS) {
        buf_fmt(out, "more GPUs than the cluster has (%s)\n", count_text(a->gpus, gpus));
        return;
    }
    buf_z(out, kind == ASKS_TYPE    ? "GPU types that no node has: "
               : kind == ASKS_LEVEL ? "levels that the cluster does not have: "
                                    : "tags that no node carries: ");
    names_text(l, out);
    buf_z(out, " (the cluster has ");
    words_named(a, set, out);
    buf_z(out, ")\n");
}

/* "node" and "cluster" are levels everywhere. */
static void warn_factors(const struct asks *a, const struct factors *f, bool levels,
                         const char *where, struct buf *out)
{
    struct names l = {0};
    for (uint32_t i = 0; i < f->n; i++) {
        struct str name = str_of(f->at[i].name);
        bool general = levels && (str_is(name, "node") || str_is(name, "cluster"));
        if (!general && !is_there(a, levels ? a->levels : a->types, name))
            name_add(&l, name);
    }
    if (!l.n)
        return;
    buf_fmt(out, "the %s names %s that this cluster does not have: ", where,
            levels ? "levels" : "GPU types");
    names_text(&l, out);
    buf_char(out, '\n');
}

void asks_warnings(const struct asks *a, struct buf *out)
{
    struct names names[ASKS_KINDS] = {0};
    uint32_t n[ASKS_KINDS] = {0};
    for (uint32_t i = 0; i < a->scene->trace.n; i++) {
        const struct trace_job *j = &a->scene->trace.jobs[i];
        enum asks_kind kind = asks_of(a, j);
        n[kind]++;
        name_of(a, j, kind, &names[kind]);
    }
    for (int kind = ASKS_FINE + 1; kind < ASKS_KINDS; kind++)
        if (n[kind])
            warn_jobs(a, kind, n[kind], &names[kind], out);
    warn_factors(a, &a->scene->truth.level, true, "truth", out);
    warn_factors(a, &a->scene->truth.type, false, "truth", out);
    warn_factors(a, &a->scene->belief.type, false, "belief", out);
}
