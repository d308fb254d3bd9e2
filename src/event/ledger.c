/* ledger.c - the names of the causes that GPU time goes to
 * SPDX-License-Identifier: Apache-2.0 */
#include "event/ledger.h"

#include <stddef.h>

static const char *const names[LEDGER_CAUSES] = {
    [LEDGER_USEFUL] = "useful",
    [LEDGER_STARTING] = "starting",
    [LEDGER_SAVING] = "saving",
    [LEDGER_RECOMPUTED] = "recomputed",
    [LEDGER_HUNG] = "hung",
    [LEDGER_FROZEN] = "frozen",
    [LEDGER_HELD] = "held",
    [LEDGER_FRAGMENTED] = "fragmented",
    [LEDGER_QUOTA_IDLE] = "quota-idle",
    [LEDGER_FAULTY] = "faulty",
    [LEDGER_DRAINED] = "drained",
    [LEDGER_NO_DEMAND] = "no demand",
    [LEDGER_UNATTRIBUTED] = "unattributed",
};

const char *ledger_cause_name(int cause)
{
    return cause >= 0 && cause < LEDGER_CAUSES ? names[cause] : "?";
}
