/* test-trace-swf.c - the Standard Workload Format
 * The two real logs: row counts as in the shared data's README (the excerpt's 3,171
 * lines hold one empty one); sums by awk over the files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tap.h"
#include "trace/trace.h"

static const char small[] =
    "; Version: 2.2\n"
    "; MaxNodes: 10\n"
    "; MaxProcs: 80\n"
    "\n"
    "  1   0  10 100  16 99.5 -1 20 600 1024 1 7 1 -1 2 -1 -1 -1\n"
    "  2   5  -1  -1  -1 -1   -1  3  -1   -1 0 8 1 -1 2 -1 -1 -1\n"
    "  3   6   1  50   1 -1   -1 -1  -1   -1 2 8 1 -1 2 -1 -1 -1\n" /* partial */
    "  4   7  30   0   1 -1   -1  1  60   -1 5 8 1 -1 -1 -1 -1 -1\n";

static void rows_small(void)
{
    struct trace_list l;
    struct err err = {0};
    int rc = trace_load_mem(&l, small, sizeof small - 1, "small.swf", NULL, &err);
    if (!ok(rc == 0, "a small log loads (%s)", err.text))
        return;
    is_int(l.n, 3, "without the partial execution");
    is_int((int64_t)l.skipped, 1, "which is counted");
    const struct trace_job *j = &l.jobs[0];
    is_mem(j->name.ptr, j->name.len, "1", "its number is its name");
    is_mem(j->user.ptr, j->user.len, "7", "the user");
    is_mem(j->queue.ptr, j->queue.len, "2", "the queue");
    is_int(j->start_us, 10000000, "submit and wait give the start");
    is_int(j->end_us, 110000000, "and the run the end");
    is_int(j->limit_us, 600000000, "requested time");
    is_int(j->nodes, 3, "20 requested processors on nodes of 8");
    is_int(j->cpu_milli, 8000, "whole nodes");
    is_int(j->mem_bytes, 8 * 1024 * 1024, "requested KiB a processor, eight of them");
    is_int(j->gpus, 0, "no GPUs");
    is_int(l.jobs[1].state, TRACE_FAILED, "status 0 is failed");
    is_int(l.jobs[1].run_us, TRACE_NEVER, "-1 is not known");
    is_int(l.jobs[1].start_us, TRACE_NEVER, "neither is the start");
    is_int(l.jobs[1].cpu_milli, 3000, "three of a node's eight");
    is_int(l.jobs[2].state, TRACE_CANCELLED, "status 5 is cancelled");
    is_int(l.jobs[2].run_us, TRACE_NEVER, "and without a run time it never ran");
    is_int(l.jobs[2].end_us, 37000000, "but left after its wait");
    trace_list_done(&l);
}

static void mistakes(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"1 2 3\n", "x.swf:1:5: the row has 3 numbers, SWF has 18"},
        {"; head\n 1 a 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n",
         "x.swf:2:4: submit time 'a' is not a number"},
        {"1 -1 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n",
         "x.swf:1:3: the submit time is missing"},
        {"1 9999999999999999 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n",
         "x.swf:1:3: submit time is out of range"},
        {"1 1 0 0 99999999 1 1 -1 1 1 1 1 1 1 1 1 1 1\n",
         "x.swf:1:9: more than 10000000 processors"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace_list l;
        struct err err = {0};
        int rc =
            trace_load_mem(&l, rows[i].text, strlen(rows[i].text), "x.swf", NULL, &err);
        ok(rc < 0, "refused");
        is_str(err.text, rows[i].want, "with the place");
    }
}

static void real(const char *name, uint32_t jobs, int64_t run_s, int64_t last_submit_s)
{
    char path[4096];
    struct trace_list l;
    struct err err = {0};
    int64_t run = 0;
    if (!shared_path(name, path)) {
        skip(3, "%s is not here", name);
        return;
    }
    if (!ok(trace_load(&l, path, NULL, &err) == 0, "%s loads (%s)", name, err.text)) {
        return;
    }
    for (uint32_t i = 0; i < l.n; i++)
        run += l.jobs[i].run_us > 0 ? l.jobs[i].run_us / 1000000 : 0;
    is_int(l.n, jobs, "its jobs");
    is_int(run, run_s, "its run time");
    is_int(l.jobs[l.n - 1].submit_us / 1000000, last_submit_s, "its last submit time");
    trace_list_done(&l);
}

int main(void)
{
    rows_small();
    mistakes();
    real("data/traces/swf/lublin_256.swf.zst", 10000, 48627667, 7711701);
    real("data/traces/swf/hpc2n_alea_excerpt.swf.zst", 3170, 31853357, 4950011);
    return done_testing();
}
