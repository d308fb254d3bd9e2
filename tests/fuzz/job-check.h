/* job-check.h - what holds of any job that a trace reader gives out, for its fuzzers
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_JOB_CHECK_H
#define MUSTER_JOB_CHECK_H

#include <stdlib.h>

#include "trace/trace.h"

#define MUST(cond)   \
    do {             \
        if (!(cond)) \
            abort(); \
    } while (0)

/* What holds of any job that a reader gives out. */
static void job_check(const struct trace_job *j)
{
    MUST(j->name.len > 0 && j->submit_us != TRACE_NEVER);
    MUST(j->run_us == TRACE_NEVER || j->run_us >= 0);
    MUST(j->limit_us >= 0 && j->lost_us >= 0 && j->cpu_milli >= 0 && j->mem_bytes >= 0);
    MUST(j->state >= TRACE_DONE && j->state <= TRACE_RUNNING);
    MUST(j->gpu_milli <= 1000 && (j->gpus > 0 || j->gpu_milli == 0));
    MUST(j->ntypes <= TRACE_TYPES_MAX && j->nparts <= TRACE_PARTS_MAX);
    for (uint32_t i = 0; i < j->ntypes; i++)
        MUST(j->types[i].len > 0);
}

#endif
