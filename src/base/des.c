/* des.c - a discrete-event queue: (time, class, order of posting) -> a small payload
 *
 * A 4-ary heap of whole events (32 bytes, two to a cache line). The serial number below
 * the class makes every key unique, so the order of leaving never depends on the heap.
 * A removal moves the hole down to a leaf and only then lets the last event rise from
 * there: it came from a leaf and belongs near one (Wegener's bottom-up heapsort, 1993).
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/des.h"

#include <assert.h>

#include "base/vec.h"

enum { CLASS_SHIFT = 56 };

/* One wide comparison, no branch: times first, then order. */
static inline bool is_before(const struct des_event *a, const struct des_event *b)
{
    __int128 x = (__int128)((unsigned __int128)(uint64_t)a->at_us << 64 | a->order);
    __int128 y = (__int128)((unsigned __int128)(uint64_t)b->at_us << 64 | b->order);
    return x < y;
}

/* The least of the children from `child` on, of which there is one at least. */
static inline uint64_t least_child(const struct des_event *heap, uint64_t child,
                                   uint64_t n)
{
    if (child + 4 > n) {
        uint64_t least = child;
        for (uint64_t k = child + 1; k < n; k++)
            least = is_before(&heap[k], &heap[least]) ? k : least;
        return least;
    }
    uint64_t a = child + is_before(&heap[child + 1], &heap[child]);
    uint64_t b = child + 2 + is_before(&heap[child + 3], &heap[child + 2]);
    return is_before(&heap[b], &heap[a]) ? b : a;
}

/* Put x where there is a hole at i, or above. */
static inline void rise(struct des_event *heap, uint64_t i, const struct des_event *x)
{
    while (i > 0 && is_before(x, &heap[(i - 1) / 4])) {
        heap[i] = heap[(i - 1) / 4];
        i = (i - 1) / 4;
    }
    heap[i] = *x;
}

void des_post(struct des *d, int64_t at_us, uint8_t class_, uint32_t kind, uint32_t a,
              uint64_t b)
{
    struct des_event x = {.at_us = at_us, .kind = kind, .a = a, .b = b};
    assert(d->serial < UINT64_C(1) << CLASS_SHIFT);
    x.order = (uint64_t)class_ << CLASS_SHIFT | d->serial++;
    if (d->n == d->room)
        vec_grow_raw(&d->heap, &d->room, d->n + 1, sizeof *d->heap);
    rise(d->heap, d->n++, &x);
}

bool des_pop(struct des *d, struct des_event *ret)
{
    if (d->n == 0)
        return false;
    *ret = d->heap[0];
    struct des_event x = d->heap[--d->n];
    uint32_t n = d->n;
    uint64_t i = 0;
    while (4 * i + 1 < n) {
        uint64_t least = least_child(d->heap, 4 * i + 1, n);
        d->heap[i] = d->heap[least];
        i = least;
    }
    if (n)
        rise(d->heap, i, &x);
    return true;
}

void des_done(struct des *d)
{
    free(d->heap);
    *d = (struct des){0};
}
