/* fuzz-trace-fault.c - any bytes as a fault trace
 *
 * Beside not crashing: faults end after they begin, and the statistics count them all.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "trace/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)   \
    do {             \
        if (!(cond)) \
            abort(); \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fault_list l;
    struct fault_stats s;
    struct err err = {0};
    uint32_t n = 0;
    int rc = fault_parse(&l, "fuzz", (struct str){(const char *)data, size}, &err);
    if (rc < 0) {
        MUST(err.code == -rc && err.text[0]);
        return 0;
    }
    for (uint32_t i = 0; i < l.faults.n; i++) {
        const struct fault *f = &l.faults.at[i];
        MUST(f->node < l.nodes.n && (!i || f->start_us >= f[-1].start_us));
        MUST(f->end_us == FAULT_OPEN || f->end_us >= f->start_us);
    }
    fault_stats(&l, 0, 0, &s);
    for (uint32_t i = 0; i < s.classes.n; i++)
        n += s.classes.at[i].n;
    MUST(n == l.faults.n && s.faults == n && s.open <= n && s.nodes_hit <= l.nodes.n);
    fault_stats_done(&s);
    fault_list_done(&l);
    return 0;
}
