/* fuzz-trace-mapped.c - any bytes as CSV through a shipped mapping
 *
 * The first byte chooses the mapping. What comes out keeps the promises of trace.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "job-check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
