/* heap.h - a 4-ary min-heap of (key, tie, item) triples; item is a caller's index
 * Smallest key first; equal keys by smallest tie. O(log n). There is no removal from
 * the middle: the caller drops what has become stale when it reaches the top.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_HEAP_H
#define MUSTER_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap_item {
    int64_t key;
    uint64_t tie;
    uint32_t item;
};

struct heap {
    struct heap_item *items;
    uint32_t n, room;
};

void heap_push(struct heap *h, int64_t key, uint64_t tie, uint32_t item);
static inline const struct heap_item *heap_top(const struct heap *h)
{
    return h->n ? &h->items[0] : 0;
}
struct heap_item heap_pop(struct heap *h); /* n must be > 0 */
void heap_clear(struct heap *h);
void heap_done(struct heap *h);

#endif
