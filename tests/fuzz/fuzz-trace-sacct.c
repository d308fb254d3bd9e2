/* fuzz-trace-sacct.c - any bytes as the output of sacct
 *
 * Beside not crashing: what a reader gives out keeps the promises of trace.h, by time.
 * SPDX-License-Identifier: Apache-2.0 */

#include "job-check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace *t;
    struct trace_job j;
    struct err err = {0};
    int rc = trace_open_mem(&t, data, size, "fuzz", "sacct", &err);
    if (rc < 0) {
        MUST(err.code == -rc && err.text[0]);
        return 0;
    }
    int64_t last = INT64_MIN;
    while ((rc = trace_next(t, &j, &err)) > 0) {
        job_check(&j);
        MUST(j.submit_us >= last);
        last = j.submit_us;
    }
    MUST(rc == 0 || (err.code == -rc && err.text[0]));
    trace_close(t);
    return 0;
}
