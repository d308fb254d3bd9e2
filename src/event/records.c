/* records.c - a batch of records and the memory behind them
 * SPDX-License-Identifier: Apache-2.0 */
#include "event/records.h"

struct record *records_add(struct records *rs, int kind)
{
    vec_reserve(&rs->list, rs->list.n + 1);
    struct record *r = &rs->list.at[rs->list.n++];
    memset(r, 0, sizeof *r);
    r->kind = (uint16_t)kind;
    return r;
}

void records_clear(struct records *rs)
{
    vec_clear(&rs->list);
    arena_reset(&rs->arena);
}

void records_done(struct records *rs)
{
    vec_done(&rs->list);
    arena_done(&rs->arena);
}
