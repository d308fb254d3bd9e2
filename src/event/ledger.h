/* ledger.h - where GPU time went: each GPU-microsecond under exactly one cause
 * Amounts are milli-GPU x microseconds in 128 bits: 64 would last 21 days at 10,000 GPUs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_LEDGER_H
#define MUSTER_LEDGER_H

#include <stdint.h>

enum ledger_cause {
    LEDGER_USEFUL = 0,
    LEDGER_STARTING,   /* issued, or restoring a checkpoint */
    LEDGER_SAVING,
    LEDGER_RECOMPUTED, /* work done before and lost: moved here from useful when it is lost */
    LEDGER_HUNG,
    LEDGER_FROZEN,
    LEDGER_HELD,       /* planned for a gang */
    LEDGER_FRAGMENTED,
    LEDGER_QUOTA_IDLE,
    LEDGER_FAULTY,
    LEDGER_DRAINED,
    LEDGER_NO_DEMAND,
    LEDGER_UNATTRIBUTED, /* only while unsynced */
    LEDGER_CAUSES
};

struct ledger {
    unsigned __int128 sum[LEDGER_CAUSES];
    unsigned __int128 capacity; /* integral of all devices of all known nodes */
};

const char *ledger_cause_name(int cause);

#endif
