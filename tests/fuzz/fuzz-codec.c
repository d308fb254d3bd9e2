/* fuzz-codec.c - hostile bytes as a stream of records
 * Whatever decodes must encode to the bytes it came from, and event_check must take it
 * without reading outside of it. SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "event/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct records rs = {0};
    struct buf again = {0};
    struct str in = {(const char *)data, len};
    struct err err;
    while (in.len) {
        const char *start = in.ptr;
        if (record_decode(&in, &rs, &err))
            break;
        const struct record *r = &rs.list.at[rs.list.n - 1];
        buf_clear(&again);
        record_encode(r, &again);
        assert(again.len == (size_t)(in.ptr - start) &&
               memcmp(again.data, start, again.len) == 0);
        event_check(r, &err);
    }
    records_done(&rs);
    buf_done(&again);
    return 0;
}
