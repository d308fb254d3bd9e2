/* fuzz-trace-jsonl.c - any bytes as muster's JSON Lines
 *
 * Beside not crashing: what was read, written again, reads as the same; and so it does by
 * the slow way, which an empty list of types demands.
 * SPDX-License-Identifier: Apache-2.0 */

#include "job-check.h"
#include "trace/jsonl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All jobs as text. Returns whether the whole was read. */
static bool rewrite(const void *data, size_t size, struct buf *out)
{
    struct trace *t;
    struct trace_job j;
    struct err err = {0};
    int rc = trace_open_mem(&t, data, size, "fuzz", "jsonl", &err);
    if (rc < 0)
        return false;
    while ((rc = trace_next(t, &j, &err)) > 0) {
        job_check(&j);
        jsonl_job(out, &j);
    }
    MUST(rc == 0 || (err.code == -rc && err.text[0]));
    trace_close(t);
    return rc == 0;
}

/* The same lines, none of them flat. */
static void make_slow(struct str text, struct buf *out)
{
    while (text.ptr && text.len) {
        struct str line = str_cut(&text, '\n');
        if (memmem(line.ptr, line.len, "\"types\"", 7)) {
            buf_str(out, line);
        } else {
            buf_add(out, line.ptr, line.len - 1);
            buf_z(out, ",\"types\":[]}");
        }
        buf_char(out, '\n');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once = {0}, twice = {0}, slow = {0}, thrice = {0};
    if (rewrite(data, size, &once)) {
        MUST(rewrite(once.data ? once.data : "", once.len, &twice));
        MUST(str_eq(buf_as_str(&once), buf_as_str(&twice)));
        make_slow(buf_as_str(&once), &slow);
        MUST(rewrite(slow.data ? slow.data : "", slow.len, &thrice));
        MUST(str_eq(buf_as_str(&once), buf_as_str(&thrice)));
    }
    buf_done(&once);
    buf_done(&twice);
    buf_done(&slow);
    buf_done(&thrice);
    return 0;
}
