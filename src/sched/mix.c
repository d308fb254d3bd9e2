/* mix.c - the typical mix: what is asked for here, and how often
 *
 * Classes are kept in the order of first sight, found by hash; the items are a sorted
 * copy of the most frequent ones. Sorting is total (classes differ in something that is
 * compared), so items do not depend on the order in which classes were met.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/mix.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

/* What makes two shapes one class; a plain value to hash and compare. */
static struct mix_class class_of(const struct shape *s)
{
    struct mix_class k;
    memset(&k, 0, sizeof k);
    k.cpu_milli = s->cpu_milli;
    if (s->gpu_mode == GPU_NONE || !s->gpu_count)
        return k;
    k.gpu_milli = s->gpu_milli;
    k.gpu_count = s->gpu_count;
    k.ntypes = s->ntypes;
    for (uint32_t i = 0; i < s->ntypes; i++)
        k.types[i] = s->types[i].type;
    return k;
}

static bool class_same(const struct mix_class *a, const struct mix_class *b)
{
    return memcmp(a, b, offsetof(struct mix_class, count)) == 0;
}

/* The class's index; MAP_NONE when the table is full. */
static uint32_t class_find(struct mix *m, const struct mix_class *k)
{
    uint64_t key = hash_bytes(k, offsetof(struct mix_class, count)) >> 1;
    for (;; key++) {
        uint32_t i = u64map_get(&m->ids, key);
        if (i != MAP_NONE && class_same(&m->classes.at[i], k))
            return i;
        if (i != MAP_NONE)
            continue;
        if (m->classes.n >= MIX_CLASSES_MAX)
            return MAP_NONE;
        vec_push(&m->classes, *k);
        u64map_put(&m->ids, key, m->classes.n - 1);
        return m->classes.n - 1;
    }
}

static void class_add(struct mix *m, const struct mix_class *k, uint64_t count)
{
    uint32_t i = class_find(m, k);
    if (i != MAP_NONE)
        m->classes.at[i].count += count;
    m->total += count;
}

void mix_add(struct mix *m, const struct shape *shape, uint64_t count)
{
    struct mix_class k = class_of(shape);
    class_add(m, &k, count);
}

/* "A|B": the text that ties go by. */
static void types_text(const struct mix_class *k, const struct words *words,
                       struct buf *b)
{
    buf_clear(b);
    for (uint32_t i = 0; i < k->ntypes; i++) {
        if (i)
            buf_char(b, '|');
        buf_str(b, words_text(words, k->types[i]));
    }
}

static int types_cmp(const struct mix_class *a, const struct mix_class *b,
                     const struct words *words)
{
    struct buf ta = {0}, tb = {0};
    types_text(a, words, &ta);
    types_text(b, words, &tb);
    int c = str_cmp(buf_as_str(&ta), buf_as_str(&tb));
    buf_done(&ta);
    buf_done(&tb);
    return c;
}

#define DESCENDING(a, b)      \
    do {                      \
        if ((a) != (b))       \
            return (a) > (b); \
    } while (0)

/* Does a stand before b? settled: go by the counts of the last settling. */
static bool class_before(const struct mix *m, const struct words *words, uint32_t ia,
                         uint32_t ib, bool settled)
{
    const struct mix_class *a = &m->classes.at[ia], *b = &m->classes.at[ib];
    if (settled)
        DESCENDING(a->settled, b->settled);
    else
        DESCENDING(a->count, b->count);
    DESCENDING(a->cpu_milli, b->cpu_milli);
    DESCENDING(a->gpu_milli, b->gpu_milli);
    DESCENDING(a->gpu_count, b->gpu_count);
    return types_cmp(a, b, words) > 0;
}

struct sorting {
    const struct mix *mix;
    const struct words *words;
    bool settled;
};

static int class_qsort(const void *a, const void *b, void *arg)
{
    const struct sorting *by = arg;
    uint32_t ia, ib;
    memcpy(&ia, a, sizeof ia);
    memcpy(&ib, b, sizeof ib);
    if (ia == ib)
        return 0;
    return class_before(by->mix, by->words, ia, ib, by->settled) ? -1 : 1;
}

/* Indexes of all classes, most frequent first; the caller frees. */
static uint32_t *classes_sorted(const struct mix *m, const struct words *words,
                                bool settled)
{
    uint32_t *order = mem_alloc((m->classes.n + 1) * sizeof *order);
    for (uint32_t i = 0; i < m->classes.n; i++)
        order[i] = i;
    struct sorting by = {m, words, settled};
    qsort_r(order, m->classes.n, sizeof *order, class_qsort, &by);
    return order;
}

/* Items from the settled counts. The weight is a quotient of quotients in doubles, as
 * the published score has it: exact fractions give other scores on some workloads. */
static void items_make(struct mix *m, const struct words *words, uint32_t permille)
{
    uint32_t *order = classes_sorted(m, words, true);
    vec_clear(&m->items);
    m->covered = 0;
    for (uint32_t i = 0; i < m->classes.n; i++) {
        const struct mix_class *k = &m->classes.at[order[i]];
        if (!k->settled ||
            (m->items.n && m->covered * 1000 >= m->settled * (uint64_t)permille))
            break;
        struct mix_item item = {k->cpu_milli, k->gpu_milli, k->gpu_count,
                                ~UINT64_C(0), k->settled,   0,
                                order[i]};
        m->covered += k->settled;
        vec_push(&m->items, item);
    }
    double covered = m->settled ? (double)m->covered / (double)m->settled : 1;
    for (uint32_t i = 0; i < m->items.n; i++)
        m->items.at[i].weight =
            (double)m->items.at[i].count / (double)m->settled / covered;
    m->ntypes = UINT32_MAX;
    m->version++;
    free(order);
}

void mix_settle(struct mix *m, const struct words *words, uint32_t cover_permille)
{
    for (uint32_t i = 0; i < m->classes.n; i++)
        m->classes.at[i].settled = m->classes.at[i].count;
    m->settled = m->total;
    m->next =
        m->total + (m->total / 8 > MIX_LEARN_FIRST ? m->total / 8 : MIX_LEARN_FIRST);
    m->cover = cover_permille;
    items_make(m, words, cover_permille);
}

void mix_learn(struct mix *m, const struct shape *shape, const struct words *words)
{
    mix_add(m, shape, 1);
    if (!m->next)
        m->next = MIX_LEARN_FIRST;
    if (m->total >= m->next)
        mix_settle(m, words, MIX_COVER_PERMILLE);
}

void mix_bind(struct mix *m, const struct cluster *c)
{
    if (m->ntypes == c->ntypes)
        return;
    bool changed = false;
    for (uint32_t i = 0; i < m->items.n; i++) {
        struct mix_item *item = &m->items.at[i];
        const struct mix_class *k = &m->classes.at[item->class_];
        uint64_t types = k->ntypes ? 0 : ~UINT64_C(0);
        for (uint32_t t = 0; t < k->ntypes; t++) {
            uint32_t id = cluster_type_id(c, k->types[t]);
            types |= id < TYPES_MAX ? UINT64_C(1) << id : 0;
        }
        changed |= types != item->types;
        item->types = types;
    }
    m->ntypes = c->ntypes;
    m->version += changed;
}

/* "type|type" into k, names added to words. */
static int parse_types(struct mix_class *k, struct str text, struct words *words,
                       struct err *err, uint32_t line)
{
    while (text.ptr && text.len) {
        struct str name = str_cut(&text, '|');
        word_t w = k->ntypes < SHAPE_TYPES_MAX ? words_add(words, name) : WORD_NONE;
        if (!w)
            return err_set(err, EINVAL, "mix line %u: at most %d GPU types with names",
                           line, SHAPE_TYPES_MAX);
        k->types[k->ntypes++] = w;
    }
    return 0;
}

/* Cut the next number off *rest (fields stand between blanks). */
static bool parse_number(struct str *rest, uint64_t most, uint64_t *ret)
{
    *rest = str_trim(*rest);
    struct str field = str_cut(rest, ' ');
    return str_to_u64(field, ret) == 0 && *ret <= most;
}

static int parse_line(struct mix *m, struct str text, uint32_t line,
                      struct words *words, struct err *err)
{
    uint64_t count, cpu, milli, gpus;
    if (!parse_number(&text, UINT64_C(1) << 40, &count) ||
        !parse_number(&text, UINT64_C(1) << 40, &cpu) ||
        !parse_number(&text, 1000, &milli) ||
        !parse_number(&text, NODE_DEVICES_MAX, &gpus))
        return err_set(
            err, EINVAL,
            "mix line %u: want \"count cpu_milli gpu_milli gpus [type|type]\"", line);
    struct mix_class k;
    memset(&k, 0, sizeof k);
    k.cpu_milli = (int64_t)cpu;
    if (!gpus != !milli)
        return err_set(err, EINVAL, "mix line %u: %llu GPUs of %llu milli", line,
                       (unsigned long long)gpus, (unsigned long long)milli);
    k.gpu_milli = (uint32_t)milli;
    k.gpu_count = (uint32_t)gpus;
    int e = parse_types(&k, text.ptr ? str_trim(text) : text, words, err, line);
    if (e)
        return e;
    if (k.ntypes && !gpus)
        return err_set(err, EINVAL, "mix line %u: GPU types without GPUs", line);
    if (m->classes.n >= MIX_CLASSES_MAX)
        return err_set(err, ERANGE, "mix line %u: more than %d classes", line,
                       MIX_CLASSES_MAX);
    class_add(m, &k, count);
    return 0;
}

int mix_parse(struct mix *m, struct str text, struct words *words, struct err *err)
{
    mix_done(m);
    uint32_t line = 0;
    while (text.ptr) {
        struct str l = str_cut(&text, '\n'), body;
        body = str_trim(str_cut(&l, '#'));
        line++;
        if (body.len && body.ptr[body.len - 1] == '\r')
            body.len--;
        int e = body.len ? parse_line(m, body, line, words, err) : 0;
        if (e) {
            mix_done(m);
            return e;
        }
    }
    mix_settle(m, words, MIX_COVER_PERMILLE);
    return 0;
}

void mix_text(const struct mix *m, const struct words *words, struct buf *out)
{
    uint32_t *order = classes_sorted(m, words, false);
    struct buf types = {0};
    for (uint32_t i = 0; i < m->classes.n; i++) {
        const struct mix_class *k = &m->classes.at[order[i]];
        types_text(k, words, &types);
        buf_fmt(out, "%llu %lld %u %u%s" STR_FMT "\n", (unsigned long long)k->count,
                (long long)k->cpu_milli, k->gpu_milli, k->gpu_count,
                k->ntypes ? " " : "", STR_ARG(buf_as_str(&types)));
    }
    buf_done(&types);
    free(order);
}

static void put_u64(struct buf *b, uint64_t x)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(x >> (8 * i));
    buf_add(b, bytes, sizeof bytes);
}

static bool get_u64(struct str *in, uint64_t most, uint64_t *ret)
{
    if (in->len < 8)
        return false;
    uint64_t x = 0;
    for (int i = 0; i < 8; i++)
        x |= (uint64_t)(uint8_t)in->ptr[i] << (8 * i);
    in->ptr += 8;
    in->len -= 8;
    *ret = x;
    return x <= most;
}

void mix_save(const struct mix *m, const struct words *words, struct buf *out)
{
    put_u64(out, m->classes.n);
    put_u64(out, m->total);
    put_u64(out, m->next);
    put_u64(out, m->settled);
    put_u64(out, m->cover);
    for (uint32_t i = 0; i < m->classes.n; i++) {
        const struct mix_class *k = &m->classes.at[i];
        put_u64(out, (uint64_t)k->cpu_milli);
        put_u64(out, k->gpu_milli);
        put_u64(out, k->gpu_count);
        put_u64(out, k->count);
        put_u64(out, k->settled);
        put_u64(out, k->ntypes);
        for (uint32_t t = 0; t < k->ntypes; t++) {
            struct str name = words_text(words, k->types[t]);
            put_u64(out, name.len);
            buf_str(out, name);
        }
    }
}

static bool load_class(struct mix *m, struct str *in, struct words *words)
{
    struct mix_class k;
    memset(&k, 0, sizeof k);
    uint64_t cpu, milli, gpus, ntypes, len;
    if (!get_u64(in, INT64_MAX, &cpu) || !get_u64(in, 1000, &milli) ||
        !get_u64(in, NODE_DEVICES_MAX, &gpus) || !get_u64(in, UINT64_MAX, &k.count) ||
        !get_u64(in, UINT64_MAX, &k.settled) || !get_u64(in, SHAPE_TYPES_MAX, &ntypes))
        return false;
    k.cpu_milli = (int64_t)cpu;
    k.gpu_milli = (uint32_t)milli;
    k.gpu_count = (uint32_t)gpus;
    for (; k.ntypes < ntypes; k.ntypes++) {
        if (!get_u64(in, WORD_LEN_MAX, &len) || len > in->len)
            return false;
        k.types[k.ntypes] = words_add(words, (struct str){in->ptr, len});
        in->ptr += len;
        in->len -= len;
        if (!k.types[k.ntypes])
            return false;
    }
    uint32_t n = m->classes.n;
    return class_find(m, &k) == n; /* each class once */
}

int mix_load(struct mix *m, struct str *in, struct words *words, struct err *err)
{
    uint64_t n, cover;
    mix_done(m);
    bool good = get_u64(in, MIX_CLASSES_MAX, &n) &&
                get_u64(in, UINT64_MAX, &m->total) &&
                get_u64(in, UINT64_MAX, &m->next) &&
                get_u64(in, m->total, &m->settled) && get_u64(in, 1000, &cover);
    for (uint64_t i = 0; good && i < n; i++)
        good = load_class(m, in, words);
    if (!good) {
        mix_done(m);
        return err_set(err, EBADMSG, "the saved mix is damaged");
    }
    m->cover = (uint32_t)cover;
    items_make(m, words, m->cover);
    return 0;
}

uint64_t mix_digest(const struct mix *m, const struct words *words)
{
    uint64_t sum = digest_mix(digest_mix(m->total, m->settled), m->next);
    struct buf types = {0};
    for (uint32_t i = 0; i < m->classes.n; i++) {
        const struct mix_class *k = &m->classes.at[i];
        types_text(k, words, &types);
        uint64_t h = digest_bytes(types.data, types.len, 0);
        h = digest_mix(h, (uint64_t)k->cpu_milli);
        h = digest_mix(h, (uint64_t)k->gpu_milli << 32 | k->gpu_count);
        sum += digest_mix(digest_mix(h, k->count), k->settled);
    }
    buf_done(&types);
    return sum;
}

void mix_done(struct mix *m)
{
    uint32_t version = m->version;
    vec_done(&m->classes);
    vec_done(&m->items);
    u64map_done(&m->ids);
    *m = (struct mix){.version = version + 1};
}
