/* arena.c - many small things that die together
 *
 * Chunks double from 4 KiB to 1 MiB. A request larger than the next chunk gets one of
 * its own, put behind the newest, so that the newest goes on being filled. Reset keeps
 * the largest chunk: a pass that repeats soon allocates nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <assert.h>

#include "base/mem.h"

enum { CHUNK_MIN = 4096, CHUNK_MAX = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t size; /* of bytes */
    _Alignas(16) char bytes[];
};

static struct arena_chunk *chunk_create(size_t size)
{
    struct arena_chunk *c = mem_alloc(sizeof *c + size);
    c->size = size;
    return c;
}

void *arena_grow(struct arena *a, size_t size)
{
    assert(size && size < SIZE_MAX / 2);
    size_t usual = a->chunks ? a->chunks->size * 2 : CHUNK_MIN;
    if (usual > CHUNK_MAX)
        usual = CHUNK_MAX;
    struct arena_chunk *c = chunk_create(size > usual ? size : usual);
    a->start = NULL;
    if (size > usual && a->chunks) {
        c->next = a->chunks->next;
        a->chunks->next = c;
        return c->bytes;
    }
    c->next = a->chunks;
    a->chunks = c;
    a->next = c->bytes + size;
    a->end = c->bytes + c->size;
    return c->bytes;
}

void *arena_zero(struct arena *a, size_t size)
{
    return memset(arena_alloc(a, size), 0, size);
}

struct str arena_str(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.len + 1);
    if (s.len)
        memcpy(p, s.ptr, s.len);
    p[s.len] = '\0';
    return (struct str){p, s.len};
}

void arena_restart(struct arena *a)
{
    struct arena_chunk *keep = a->chunks;
    for (struct arena_chunk *c = keep->next; c; c = c->next)
        if (c->size > keep->size)
            keep = c;
    for (struct arena_chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        if (c != keep)
            free(c);
    }
    keep->next = NULL;
    mem_scramble(keep->bytes, keep->size);
    a->chunks = keep;
    a->next = a->start = keep->bytes;
    a->end = keep->bytes + keep->size;
}

void arena_done(struct arena *a)
{
    for (struct arena_chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    *a = (struct arena){0};
}
