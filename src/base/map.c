/* map.c - two hash tables: string -> u32 and u64 -> u32
 *
 * Open addressing with linear steps, at most 5/8 full, a power of two of cells. A
 * removal moves the following cells of the same run back (Knuth 6.4, algorithm R), so
 * there are no tombstones and a table that lives long stays as fast as a new one. A
 * string cell keeps 32 bits of the hash beside the key: a wrong cell is passed over
 * without touching its text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <assert.h>

#include "base/hash.h"
#include "base/mem.h"

enum { CELLS_MIN = 16, FOURFOLD_MIN = 256, FOURFOLD_MAX = 1 << 12 };

struct strmap_cell {
    const char *ptr;
    uint32_t len;
    uint32_t hash;  /* upper half; the lower one chose the cell */
    uint32_t home;  /* lower half */
    uint32_t value; /* MAP_NONE: the cell is empty */
};

struct u64map_cell {
    uint64_t key; /* UINT64_MAX: the cell is empty */
    uint32_t value;
};

/* Cells for n entries at most 5/8 full. */
static inline bool is_full(uint32_t n, uint32_t mask)
{
    return (uint64_t)(n + 1) * 8 > ((uint64_t)mask + 1) * 5;
}

/* Small tables double, middling ones grow fourfold: a third of the moves, for memory
 * that does not count yet. */
static uint32_t more_cells(bool any, uint32_t mask)
{
    if (!any)
        return CELLS_MIN;
    return (mask + 1) * (mask >= FOURFOLD_MIN && mask < FOURFOLD_MAX ? 4 : 2);
}

/* Does the entry at home h stand at cell i only because cell `gap` was taken? Then it
 * may move there: h lies not in the (cyclic) range behind gap up to i. */
static inline bool may_move(uint32_t h, uint32_t gap, uint32_t i, uint32_t mask)
{
    return ((i - h) & mask) >= ((i - gap) & mask);
}

/* The cell that holds the key, or the empty one where it would go. */
static inline struct strmap_cell *str_find(const struct strmap *m, struct str key,
                                           uint64_t hash)
{
    uint32_t i = (uint32_t)hash & m->mask, up = (uint32_t)(hash >> 32);
    for (;; i = (i + 1) & m->mask) {
        struct strmap_cell *c = &m->cells[i];
        if (c->value == MAP_NONE)
            return c;
        if (c->hash == up && c->len == key.len && bytes_eq(c->ptr, key.ptr, key.len))
            return c;
    }
}

static void str_grow(struct strmap *m)
{
    struct strmap old = *m;
    uint32_t room = more_cells(m->cells != NULL, m->mask);
    assert(room != 0);
    m->cells = mem_alloc((size_t)room * sizeof *m->cells);
    memset(m->cells, 0xff, (size_t)room * sizeof *m->cells);
    m->mask = room - 1;
    for (uint32_t k = 0; old.cells && k <= old.mask; k++) {
        if (old.cells[k].value == MAP_NONE)
            continue;
        uint32_t i = old.cells[k].home & m->mask;
        while (m->cells[i].value != MAP_NONE)
            i = (i + 1) & m->mask;
        m->cells[i] = old.cells[k];
    }
    free(old.cells);
}

uint32_t strmap_get(const struct strmap *m, struct str key)
{
    if (m->n == 0)
        return MAP_NONE;
    return str_find(m, key, hash_name(key.ptr, key.len))->value;
}

void strmap_put(struct strmap *m, struct str key, uint32_t value)
{
    assert(value != MAP_NONE && key.len <= UINT32_MAX);
    if (!m->cells || is_full(m->n, m->mask))
        str_grow(m);
    uint64_t hash = hash_name(key.ptr, key.len);
    struct strmap_cell *c = str_find(m, key, hash);
    m->n += c->value == MAP_NONE;
    *c = (struct strmap_cell){.ptr = key.ptr,
                              .len = (uint32_t)key.len,
                              .hash = (uint32_t)(hash >> 32),
                              .home = (uint32_t)hash,
                              .value = value};
}

void strmap_del(struct strmap *m, struct str key)
{
    if (m->n == 0)
        return;
    struct strmap_cell *c = str_find(m, key, hash_name(key.ptr, key.len));
    if (c->value == MAP_NONE)
        return;
    uint32_t gap = (uint32_t)(c - m->cells), i = gap;
    for (;;) {
        i = (i + 1) & m->mask;
        if (m->cells[i].value == MAP_NONE)
            break;
        if (may_move(m->cells[i].home & m->mask, gap, i, m->mask)) {
            m->cells[gap] = m->cells[i];
            gap = i;
        }
    }
    m->cells[gap].value = MAP_NONE;
    m->n--;
}

void strmap_clear(struct strmap *m)
{
    if (m->n)
        memset(m->cells, 0xff, ((size_t)m->mask + 1) * sizeof *m->cells);
    m->n = 0;
}

void strmap_done(struct strmap *m)
{
    free(m->cells);
    *m = (struct strmap){0};
}

static inline struct u64map_cell *u64_find(const struct u64map *m, uint64_t key)
{
    uint32_t i = (uint32_t)hash_u64(key) & m->mask;
    while (m->cells[i].key != key && m->cells[i].key != UINT64_MAX)
        i = (i + 1) & m->mask;
    return &m->cells[i];
}

static void u64_grow(struct u64map *m)
{
    struct u64map old = *m;
    uint32_t room = more_cells(m->cells != NULL, m->mask);
    assert(room != 0);
    m->cells = mem_alloc((size_t)room * sizeof *m->cells);
    memset(m->cells, 0xff, (size_t)room * sizeof *m->cells);
    m->mask = room - 1;
    for (uint32_t k = 0; old.cells && k <= old.mask; k++)
        if (old.cells[k].key != UINT64_MAX)
            *u64_find(m, old.cells[k].key) = old.cells[k];
    free(old.cells);
}

uint32_t u64map_look(const struct u64map *m, uint64_t key)
{
    const struct u64map_cell *c = u64_find(m, key);
    return c->key == UINT64_MAX ? MAP_NONE : c->value;
}

void u64map_put(struct u64map *m, uint64_t key, uint32_t value)
{
    assert(key != UINT64_MAX && value != MAP_NONE);
    if (!m->cells || is_full(m->n, m->mask))
        u64_grow(m);
    struct u64map_cell *c = u64_find(m, key);
    m->n += c->key == UINT64_MAX;
    *c = (struct u64map_cell){key, value};
}

void u64map_del(struct u64map *m, uint64_t key)
{
    if (m->n == 0)
        return;
    struct u64map_cell *c = u64_find(m, key);
    if (c->key == UINT64_MAX)
        return;
    uint32_t gap = (uint32_t)(c - m->cells), i = gap;
    for (;;) {
        i = (i + 1) & m->mask;
        if (m->cells[i].key == UINT64_MAX)
            break;
        if (may_move((uint32_t)hash_u64(m->cells[i].key) & m->mask, gap, i, m->mask)) {
            m->cells[gap] = m->cells[i];
            gap = i;
        }
    }
    m->cells[gap].key = UINT64_MAX;
    m->n--;
}

void u64map_clear(struct u64map *m)
{
    if (m->n)
        memset(m->cells, 0xff, ((size_t)m->mask + 1) * sizeof *m->cells);
    m->n = 0;
}

void u64map_done(struct u64map *m)
{
    free(m->cells);
    *m = (struct u64map){0};
}
