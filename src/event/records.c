/* records.c - a batch of records and the memory behind them
 * SPDX-License-Identifier: Apache-2.0 */
#include "event/records.h"

void records_done(struct records *rs)
{
    vec_done(&rs->list);
    arena_done(&rs->arena);
}
