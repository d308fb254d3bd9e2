/* heap.c - a 4-ary min-heap of (key, tie, item)
 *
 * Four children a parent: half the levels of a binary heap, and the four lie next to
 * each other (LaMarca and Ladner, "The influence of caches on the performance of
 * heaps", 1996). Both sifts move a hole and write the item once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include <assert.h>

#include "base/vec.h"

static inline bool is_less(const struct heap_item *a, const struct heap_item *b)
{
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

void heap_push(struct heap *h, int64_t key, uint64_t tie, uint32_t item)
{
    struct heap_item x = {key, tie, item};
    if (h->n == h->room)
        vec_grow_raw(&h->items, &h->room, h->n + 1, sizeof *h->items);
    uint32_t i = h->n++;
    while (i > 0 && is_less(&x, &h->items[(i - 1) / 4])) {
        h->items[i] = h->items[(i - 1) / 4];
        i = (i - 1) / 4;
    }
    h->items[i] = x;
}

struct heap_item heap_pop(struct heap *h)
{
    assert(h->n > 0);
    struct heap_item top = h->items[0], x = h->items[--h->n];
    uint32_t n = h->n;
    uint64_t i = 0;
    for (;;) {
        uint64_t child = 4 * i + 1, least = child;
        if (child >= n)
            break;
        for (uint64_t k = child + 1; k < child + 4 && k < n; k++)
            if (is_less(&h->items[k], &h->items[least]))
                least = k;
        if (!is_less(&h->items[least], &x))
            break;
        h->items[i] = h->items[least];
        i = least;
    }
    if (n)
        h->items[i] = x;
    return top;
}

void heap_clear(struct heap *h)
{
    h->n = 0;
}

void heap_done(struct heap *h)
{
    free(h->items);
    *h = (struct heap){0};
}
