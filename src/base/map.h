/* map.h - two hash tables: string -> u32 and u64 -> u32 (open addressing, linear)
 * Order of iteration depends on the hash seed: never let it reach a decision.
 * O(1) expected. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_MAP_H
#define MUSTER_MAP_H

#include "base/str.h"

#define MAP_NONE UINT32_MAX

struct strmap_cell;
/* Zero it to make it empty. Keys are borrowed: they must outlive their entry. */
struct strmap {
    struct strmap_cell *cells;
    uint32_t n, mask;
};
uint32_t strmap_get(const struct strmap *m, struct str key); /* MAP_NONE: absent */
/* Replaces the key too. value must not be MAP_NONE. */
void strmap_put(struct strmap *m, struct str key, uint32_t value);
void strmap_del(struct strmap *m, struct str key);
void strmap_clear(struct strmap *m);
void strmap_done(struct strmap *m);

struct u64map_cell;
struct u64map { /* zero it to make it empty; key UINT64_MAX is not allowed */
    struct u64map_cell *cells;
    uint32_t n, mask;
};
uint32_t u64map_look(const struct u64map *m, uint64_t key); /* n > 0 */
static inline uint32_t u64map_get(const struct u64map *m, uint64_t key)
{
    return m->n ? u64map_look(m, key) : MAP_NONE; /* many a map stays empty */
}
void u64map_put(struct u64map *m, uint64_t key, uint32_t value);
void u64map_del(struct u64map *m, uint64_t key);
void u64map_clear(struct u64map *m);
void u64map_done(struct u64map *m);

#endif
