/* vec.c - how a growable array grows: by doubling, from 8 items
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <assert.h>

void vec_grow_raw(void *at_ptr, uint32_t *room, uint32_t need, size_t item)
{
    void *at;
    uint32_t more = *room < 4 ? 8 : *room > UINT32_MAX / 2 ? UINT32_MAX : *room * 2;
    if (more < need)
        more = need;
    assert(item <= SIZE_MAX / more);
    memcpy(&at, at_ptr, sizeof at); /* any object pointer has the same form */
    at = mem_resize(at, more * item);
    memcpy(at_ptr, &at, sizeof at);
    *room = more;
}
