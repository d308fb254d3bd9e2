/* arena.h - many small things that die together (one pass, one request, one file)
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_ARENA_H
#define MUSTER_ARENA_H

#include "base/mem.h"
#include "base/str.h"

struct arena_chunk;
struct arena {
    struct arena_chunk *chunks; /* newest first */
    char *next, *end;
    char *start; /* where `next` began, while there is one chunk; else NULL */
};

void *arena_grow(struct arena *a, size_t size); /* arena_alloc's slow path */
static inline void *arena_alloc(struct arena *a,
                                size_t size) /* 16-aligned, not cleared */
{
    size = size ? (size + 15) & ~(size_t)15 : 16;
    if (size - 1 >= (size_t)(a->end - a->next)) /* too large, or wrapped to 0 */
        return arena_grow(a, size);
    void *p = a->next;
    a->next += size;
    return p;
}
void *arena_zero(struct arena *a, size_t size);      /* cleared */
struct str arena_str(struct arena *a, struct str s); /* copy, zero-terminated too */
void arena_restart(struct arena *a); /* arena_reset's slow path, of several chunks */
static inline void
arena_reset(struct arena *a) /* frees all but one chunk; it is reused */
{
    if (a->next == a->start)
        return;
    if (a->start) {
        mem_scramble(a->start, (size_t)(a->next - a->start));
        a->next = a->start;
    } else {
        arena_restart(a);
    }
}
void arena_done(struct arena *a);

#endif
