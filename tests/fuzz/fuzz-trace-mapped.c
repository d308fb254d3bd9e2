/* fuzz-trace-mapped.c - any bytes as CSV through a shipped mapping
 *
 * The first byte chooses the mapping. What comes out keeps the promises of trace.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {
        "openb",  "philly-helios", "mixes", "alibaba-2020", "alibaba-2020-joined",
        "acme",   "helios",        "muri",  "chronus",      "alibaba-spot-2026"};
    struct trace *t;
    struct trace_job j;
    struct err err = {0};
    if (!size)
        return 0;
    const char *format = formats[data[0] % (sizeof formats / sizeof *formats)];
    int rc = trace_open_mem(&t, data + 1, size - 1, "fuzz", format, &err);
    if (rc < 0) {
        MUST(err.code == -rc && err.text[0] && err.code != ENOENT);
        return 0;
    }
    while ((rc = trace_next(t, &j, &err)) > 0)
        job_check(&j);
    MUST(rc == 0 || (err.code == -rc && err.text[0]));
    trace_close(t);
    return 0;
}
