/* des.c - a discrete-event queue: (time, class, order of posting) -> a small payload
 *
 * A 4-ary heap of whole events (32 bytes, two to a cache line). The serial number below
 * the class makes every key unique, so the order of leaving never depends on the heap.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/des.h"

#include <assert.h>

#include "base/vec.h"

enum { CLASS_SHIFT = 56 };

static inline bool is_before(const struct des_event *a, const struct des_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

void des_post(struct des *d, int64_t at_us, uint8_t class_, uint32_t kind, uint32_t a,
              uint64_t b)
{
    struct des_event x = {.at_us = at_us, .kind = kind, .a = a, .b = b};
    assert(d->serial < UINT64_C(1) << CLASS_SHIFT);
    x.order = (uint64_t)class_ << CLASS_SHIFT | d->serial++;
    if (d->n == d->room)
        vec_grow_raw(&d->heap, &d->room, d->n + 1, sizeof *d->heap);
    uint32_t i = d->n++;
    while (i > 0 && is_before(&x, &d->heap[(i - 1) / 4])) {
        d->heap[i] = d->heap[(i - 1) / 4];
        i = (i - 1) / 4;
    }
    d->heap[i] = x;
}

const struct des_event *des_peek(const struct des *d)
{
    return d->n ? &d->heap[0] : NULL;
}

bool des_pop(struct des *d, struct des_event *ret)
{
    if (d->n == 0)
        return false;
    *ret = d->heap[0];
    struct des_event x = d->heap[--d->n];
    uint32_t n = d->n;
    uint64_t i = 0;
    for (;;) {
        uint64_t child = 4 * i + 1, least = child;
        if (child >= n)
            break;
        for (uint64_t k = child + 1; k < child + 4 && k < n; k++)
            if (is_before(&d->heap[k], &d->heap[least]))
                least = k;
        if (!is_before(&d->heap[least], &x))
            break;
        d->heap[i] = d->heap[least];
        i = least;
    }
    if (n)
        d->heap[i] = x;
    return true;
}

void des_done(struct des *d)
{
    free(d->heap);
    *d = (struct des){0};
}
