/* vec.c - how a growable array grows: by doubling, from 8 items; between 4 KiB and 16
 * MiB fourfold, since there the copies cost more than address space that nobody touches
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <assert.h>

enum { FOURFOLD_MIN = 4 << 10, FOURFOLD_MAX = 16 << 20 };

void vec_grow_raw(void *at_ptr, uint32_t *room, uint32_t need, size_t item)
{
    void *at;
    size_t bytes = *room * item;
    uint32_t times = bytes >= FOURFOLD_MIN && bytes < FOURFOLD_MAX ? 4 : 2;
    uint32_t more = *room < 4                    ? 8
                    : *room > UINT32_MAX / times ? UINT32_MAX
                                                 : *room * times;
    if (more < need)
        more = need;
    assert(item <= SIZE_MAX / more);
    memcpy(&at, at_ptr, sizeof at); /* any object pointer has the same form */
    at = mem_resize(at, more * item);
    memcpy(at_ptr, &at, sizeof at);
    *room = more;
}
