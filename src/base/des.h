/* des.h - a discrete-event queue: (time, class, order of posting) -> a small payload
 * Events of one instant leave by class, then in the order they were posted.
 * O(log n) a push and pop. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_DES_H
#define MUSTER_DES_H

#include <stdbool.h>
#include <stdint.h>

struct des_event {
    int64_t at_us;
    uint64_t order; /* class in the top 8 bits, serial below */
    uint32_t kind;  /* the caller's */
    uint32_t a;
    uint64_t b;
};

struct des {
    struct des_event *heap;
    uint32_t n, room;
    uint64_t serial;
};

void des_post(struct des *d, int64_t at_us, uint8_t class_, uint32_t kind, uint32_t a,
              uint64_t b);
/* The next event without removing it; NULL when empty. */
static inline const struct des_event *des_peek(const struct des *d)
{
    return d->n ? &d->heap[0] : 0;
}
bool des_pop(struct des *d, struct des_event *ret);
void des_done(struct des *d);

#endif
