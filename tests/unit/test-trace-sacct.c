/* test-trace-sacct.c - each trap of Slurm's accounting, one after the other
 * Rows as the exact command of docs/data.md prints them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/buf.h"
#include "tap.h"
#include "trace/sacct.h"

/* What a row needs; the rest is filled in. */
struct sample {
    const char *raw, *id, *account, *user, *submit, *eligible, *start, *end, *state,
        *limit, *elapsed, *nodes, *cpus, *mem, *req, *alloc, *list, *name;
};

static void add(struct buf *b, const char *sep, const struct sample *s)
{
    const char *cells[] = {s->raw,
                           s->id ? s->id : s->raw,
                           "cl",
                           "gpu",
                           "normal",
                           s->account ? s->account : "physics",
                           s->user ? s->user : "ann",
                           s->submit,
                           s->eligible ? s->eligible : s->submit,
                           s->start ? s->start : "Unknown",
                           s->end ? s->end : "Unknown",
                           s->state,
                           "0:0",
                           s->limit ? s->limit : "60",
                           s->elapsed ? s->elapsed : "0",
                           "00:00:00",
                           s->nodes ? s->nodes : "1",
                           s->nodes ? s->nodes : "1",
                           s->cpus ? s->cpus : "8",
                           s->cpus ? s->cpus : "8",
                           s->mem ? s->mem : "",
                           s->req ? s->req : "",
                           s->alloc ? s->alloc : "",
                           "100",
                           "",
                           "",
                           "None",
                           "",
                           s->list ? s->list : "None assigned",
                           s->name ? s->name : "train"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        if (i)
            buf_z(b, sep);
        buf_z(b, cells[i]);
    }
    buf_char(b, '\n');
}

static struct trace_list load(const char *sep, const struct sample *rows, size_t n)
{
    struct buf b = {0};
    struct trace_list l = {0};
    struct err err = {0};
    for (size_t i = 0; i < n; i++)
        add(&b, sep, &rows[i]);
    if (!ok(trace_load_mem(&l, b.data, b.len, "x.sacct", "sacct", &err) == 0,
            "%zu rows load (%s)", n, err.text))
        bail("no rows");
    buf_done(&b);
    return l;
}
#define LOAD(sep, ...)                              \
    load(sep, (const struct sample[]){__VA_ARGS__}, \
         sizeof((const struct sample[]){__VA_ARGS__}) / sizeof(struct sample))

static void plain_job(void)
{
    struct trace_list l =
        LOAD("\x1f",
             {.raw = "17",
              .submit = "1000",
              .eligible = "1010",
              .start = "1100",
              .end = "4700",
              .state = "COMPLETED",
              .limit = "1564",
              .elapsed = "3600",
              .nodes = "2",
              .cpus = "32",
              .req = "billing=32,cpu=32,gres/gpu=8,mem=128G,node=2",
              .alloc = "billing=32,cpu=32,gres/gpu:h100=8,gres/gpu=8,mem=128G,node=2",
              .list = "g[0002-0003]",
              .name = "na|me, x"});
    const struct trace_job *j = &l.jobs[0];
    is_int(l.n, 1, "one job, though its name has a bar");
    is_mem(j->name.ptr, j->name.len, "17", "called by its JobID");
    is_mem(j->queue.ptr, j->queue.len, "physics", "the account is its queue");
    is_int(j->submit_us, 1000000000, "submit");
    is_int(j->eligible_us, 1010000000, "eligible: resource wait begins");
    is_int(j->start_us, 1100000000, "start");
    is_int(j->run_us, 3600000000, "elapsed");
    is_int(j->limit_us, INT64_C(1564) * 60000000, "TimelimitRaw is minutes");
    is_int(j->gpus, 8, "typed and untyped GPUs are not summed");
    is_int(j->gpu_milli, 1000, "whole ones");
    is_int(j->ntypes, 1, "one type");
    is_mem(j->types[0].ptr, j->types[0].len, "H100",
           "the typed one's, as the catalogue calls it");
    is_int(j->nodes, 2, "nodes");
    is_int(j->cpu_milli, 16000, "CPUs of each node");
    is_int(j->mem_bytes, INT64_C(64) << 30, "memory of each node");
    is_mem(j->node_list.ptr, j->node_list.len, "g[0002-0003]", "where it ran");
    is_int(j->state, TRACE_DONE, "done");
    trace_list_done(&l);
}

static void bars(void)
{
    struct trace_list l = LOAD("|",
        {.raw = "1", .submit = "5", .start = "6", .end = "7", .state = "FAILED",
         .elapsed = "1", .alloc = "gres/gpu:a100=4,gres/gpu:v100=2", .name = "a|b|c"});
    is_int(l.n, 1, "bars separate too, and the name keeps its own");
    is_int(l.jobs[0].gpus, 6, "typed GPUs alone are summed");
    is_int(l.jobs[0].ntypes, 2, "both types");
    is_int(l.jobs[0].state, TRACE_FAILED, "failed");
    trace_list_done(&l);
}

static void limits_and_states(void)
{
    struct trace_list l = LOAD(
        "\x1f",
        {.raw = "1",
         .submit = "1",
         .start = "2",
         .end = "9",
         .elapsed = "7",
         .state = "CANCELLED by 1234",
         .limit = "UNLIMITED"},
        {.raw = "2",
         .submit = "2",
         .start = "3",
         .end = "9",
         .elapsed = "6",
         .state = "TIMEOUT",
         .limit = "Partition_Limit"},
        {.raw = "3",
         .submit = "3",
         .start = "4",
         .end = "9",
         .elapsed = "5",
         .state = "NODE_FAIL",
         .limit = ""},
        {.raw = "4",
         .submit = "4",
         .start = "5",
         .end = "9",
         .elapsed = "4",
         .state = "OUT_OF_MEMORY",
         .limit = "1-02:03:04"},
        {.raw = "5", .submit = "5", .start = "6", .state = "RUNNING", .elapsed = "30"},
        {.raw = "6",
         .submit = "6",
         .state = "PENDING",
         .elapsed = "0",
         .req = "cpu=8,gres/gpu=2"},
        {.raw = "7",
         .submit = "7",
         .eligible = "Unknown",
         .start = "8",
         .end = "8",
         .elapsed = "0",
         .state = "CANCELLED by 7"},
        {.raw = "8",
         .submit = "8",
         .start = "None",
         .end = "20",
         .state = "CANCELLED"});
    static const int states[] = {TRACE_CANCELLED, TRACE_TIMEOUT, TRACE_LOST,
                                 TRACE_FAILED,    TRACE_RUNNING, TRACE_PENDING,
                                 TRACE_CANCELLED, TRACE_CANCELLED};
    is_int(l.n, 8, "eight jobs");
    for (int i = 0; i < 8; i++)
        is_int(l.jobs[i].state, states[i], "state of row %d", i + 1);
    is_int(l.jobs[0].limit_us, 0, "UNLIMITED is no limit");
    is_int(l.jobs[1].limit_us, 0, "neither is the partition's");
    is_int(l.jobs[2].limit_us, 0, "nor nothing");
    is_int(l.jobs[3].limit_us, INT64_C(93784) * 1000000, "a clock is read as well");
    is_int(l.jobs[0].run_us, 7000000, "cancelled while it ran: it ran");
    is_int(l.jobs[4].run_us, 30000000, "running: what has run");
    is_int(l.jobs[4].end_us, TRACE_NEVER, "and no end");
    is_int(l.jobs[5].start_us, TRACE_NEVER, "pending: no start");
    is_int(l.jobs[5].gpus, 2, "its GPUs from ReqTRES");
    is_int(l.jobs[6].run_us, TRACE_NEVER,
           "cancelled before its start: no run of no length");
    is_int(l.jobs[6].start_us, TRACE_NEVER, "and no start");
    is_int(l.jobs[6].end_us, 8000000, "but an end");
    is_int(l.jobs[6].eligible_us, TRACE_NEVER, "held: never eligible");
    is_int(l.jobs[7].run_us, TRACE_NEVER, "the same without a start");
    trace_list_done(&l);
}

static void requeues(void)
{
    struct trace_list l = LOAD("\x1f",
        {.raw = "9", .submit = "100", .start = "110", .end = "200", .elapsed = "90",
         .state = "REQUEUED"},
        {.raw = "9", .submit = "200", .start = "300", .end = "400", .elapsed = "100",
         .state = "COMPLETED"},
        /* a controller that lost its state gave the number again */
        {.raw = "9", .submit = "9000", .start = "9010", .end = "9020", .elapsed = "10",
         .state = "COMPLETED", .name = "other"},
        /* lost with its node, and again within minutes */
        {.raw = "10", .submit = "500", .start = "510", .end = "600", .elapsed = "90",
         .state = "NODE_FAIL"},
        {.raw = "10", .submit = "601", .start = "700", .end = "800", .elapsed = "100",
         .state = "FAILED"},
        /* lost for good; the same number a year later is somebody else's */
        {.raw = "11", .submit = "900", .start = "910", .end = "1000", .elapsed = "90",
         .state = "NODE_FAIL"},
        {.raw = "11", .submit = "31000000", .start = "31000001", .end = "31000100",
         .elapsed = "99", .state = "COMPLETED"},
        /* REQUEUED, but the next row is another user's */
        {.raw = "12", .submit = "2000", .start = "2010", .end = "2100", .elapsed = "90",
         .state = "REQUEUED"},
        {.raw = "12", .submit = "2100", .start = "2110", .end = "2200", .elapsed = "90",
         .state = "COMPLETED", .user = "bob"});
    is_int(l.n, 7, "nine rows are seven jobs");
    const struct trace_job *j = &l.jobs[0];
    is_int(j->submit_us, 100000000, "first submit");
    is_int(j->start_us, 110000000, "first start");
    is_int(j->end_us, 400000000, "last end");
    is_int(j->run_us, 100000000, "the last run");
    is_int(j->lost_us, 90000000, "what was lost: GPU time is the sum of the rows");
    is_int(j->restarts, 1, "one restart");
    is_int(j->state, TRACE_DONE, "and it was done");
    is_int(l.jobs[1].submit_us, 500000000, "the lost one");
    is_int(l.jobs[1].restarts, 1, "came back");
    is_int(l.jobs[2].state, TRACE_LOST, "the one lost for good stays lost");
    is_int(l.jobs[2].restarts, 0, "without a restart");
    trace_list_done(&l);
}

static void arrays_and_het(void)
{
    struct trace_list l =
        LOAD("\x1f",
             {.raw = "8",
              .id = "2_1",
              .submit = "10",
              .start = "11",
              .end = "12",
              .elapsed = "1",
              .state = "COMPLETED"},
             {.raw = "2",
              .id = "2_3",
              .submit = "10",
              .start = "13",
              .end = "14",
              .elapsed = "1",
              .eligible = "12",
              .state = "COMPLETED"},
             {.raw = "2", .id = "2_[4-6,9%2]", .submit = "10", .state = "PENDING"},
             {.raw = "2", .id = "2_[10,20,...]", .submit = "11", .state = "PENDING"},
             {.raw = "5",
              .id = "5+0",
              .submit = "50",
              .start = "60",
              .end = "70",
              .elapsed = "10",
              .state = "COMPLETED",
              .nodes = "1",
              .cpus = "4",
              .alloc = "cpu=4,mem=4G,node=1"},
             {.raw = "6",
              .id = "5+1",
              .submit = "50",
              .start = "60",
              .end = "70",
              .elapsed = "10",
              .state = "COMPLETED",
              .nodes = "2",
              .cpus = "16",
              .alloc = "cpu=16,gres/gpu:h100=16,gres/gpu=16,mem=64G,node=2"},
             {.raw = "7.batch",
              .id = "7.batch",
              .submit = "80",
              .start = "80",
              .end = "81",
              .state = "COMPLETED"});
    is_int((int64_t)l.skipped, 1, "a step is left out");
    is_int(l.n, 8, "array tasks one by one, components together");
    static const char *const names[] = {"2_1", "2_3", "2_4", "2_5", "2_6", "2_9",
                                        "2_[10,20,...]", "5+0"};
    for (uint32_t i = 0; i < 8 && i < l.n; i++)
        is_mem(l.jobs[i].name.ptr, l.jobs[i].name.len, names[i], "task %s", names[i]);
    const struct trace_job *j = &l.jobs[7];
    is_int(j->nparts, 2, "two components");
    is_int(j->nodes, 3, "nodes of both");
    is_int(j->gpus, 16, "GPUs of both");
    is_int(j->parts[0].nodes, 1, "the first: one node");
    is_int(j->parts[0].gpus, 0, "without GPUs");
    is_int(j->parts[1].nodes, 2, "the second: two");
    is_int(j->parts[1].cpu_milli, 8000, "with eight CPUs each");
    is_int(j->cpu_milli, 8000, "the larger of both");
    trace_list_done(&l);
}

static void header_and_memory(void)
{
    static const char text[] =
        "JobIDRaw|User|Submit|Start|End|State|Elapsed|ReqMem|NNodes|NCPUS|ReqGRES|\n"
        "1|ann|2026-10-01T00:00:00|2026-10-01T00:01:00|2026-10-01T01:01:00|COMPLETED|"
        "01:00:00|"
        "4Gc|2|16|gpu:a100:4|\n"
        "2|ann|2026-10-01T00:00:05|Unknown|Unknown|PENDING|00:00:00|8Gn|2|16|gpu:2|\n"
        "3|ann|2026-10-01T00:00:06|Unknown|Unknown|PENDING|00:00:00|6000M|3|16||\n";
    struct trace_list l;
    struct err err = {0};
    if (!ok(trace_load_mem(&l, text, sizeof text - 1, "h.txt", NULL, &err) == 0,
            "a header names the columns (%s)", err.text))
        return;
    is_int(l.n, 3, "three jobs");
    /* 2026-10-01 is 20,727 days after 1970 (date -d 2026-10-01 +%s / 86400) */
    is_int(l.jobs[0].submit_us, INT64_C(20727) * 86400 * 1000000,
           "times without a zone: UTC");
    is_int(l.jobs[0].run_us, INT64_C(3600) * 1000000, "Elapsed as a clock");
    is_int(l.jobs[0].mem_bytes, INT64_C(32) << 30,
           "memory by CPU: eight of 4 GiB on a node");
    is_int(l.jobs[1].mem_bytes, INT64_C(8) << 30, "memory by node");
    is_int(l.jobs[2].mem_bytes, INT64_C(2000) << 20, "memory of the whole job");
    is_int(l.jobs[0].gpus, 8, "GPUs of each node where there is no TRES");
    is_mem(l.jobs[0].types[0].ptr, l.jobs[0].types[0].len, "A100", "and their type");
    is_int(l.jobs[1].gpus, 4, "without a type");
    trace_list_done(&l);
}

static void tres(void)
{
    static const struct {
        const char *text;
        int rc;
        int64_t gpus, milli;
        const char *types;
    } rows[] = {
        {"billing=8,cpu=8,gres/gpu:h100=2,gres/gpu=2,mem=64G,node=1", 0, 2, 1000,
         "h100"},
        {"cpu=8,mem=1T,node=1", 0, -1, 1000, ""},
        {"gres/gpu:1g.10gb=3,gres/gpu=3", 0, 3, 1000, "1g.10gb"},
        {"gres/gpu=0", 0, 0, 1000, ""},
        {"gres/mps=50", 0, 1, 500, ""},
        {"gres/mps=250", 0, 3, 1000, ""},
        {"gres/shard=2", 0, 2, 1000, "shard"},
        {"", 0, -1, 1000, ""},
        {"cpu", -EINVAL, 0, 0, ""},
        {"cpu=x", -EINVAL, 0, 0, ""},
        {"gres/gpu=-1", -ERANGE, 0, 0, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sacct_tres r;
        const char *at;
        int rc = sacct_tres_parse(str_of(rows[i].text), &r, &at);
        if (!is_int(rc, rows[i].rc, "'%s'", rows[i].text) || rc)
            continue;
        is_int(r.gpus, rows[i].gpus, "GPUs");
        is_int(r.gpu_milli, rows[i].milli, "share of each");
        is_mem(r.types, r.types_len, rows[i].types, "types");
    }
}

/* What a user should be told: no GPUs accounted, steps left out, a list cut short. */
static void warnings(void)
{
    struct buf b = {0};
    struct trace_list l = LOAD("\x1f",
        {.raw = "5300", .id = "5300_[1-40,45,...]", .submit = "5", .state = "PENDING",
         .req = "cpu=8,mem=4G,node=1"},
        {.raw = "6", .submit = "6", .start = "7", .end = "9", .elapsed = "2",
         .state = "COMPLETED", .alloc = "cpu=8,mem=4G,node=1"},
        {.raw = "6.batch", .submit = "7", .start = "7", .end = "9", .elapsed = "2",
         .state = "COMPLETED"});
    is_int(l.n, 2, "two jobs");
    is_int(l.notes.left_step, 1, "a step is left out");
    is_int(l.notes.cut_array.n, 1, "an array's list is cut short");
    is_mem(l.jobs[1].partition.ptr, l.jobs[1].partition.len, "gpu",
           "the partition is kept beside the account");
    is_int(l.jobs[1].need_tag.len, 0, "and is no tag by itself");
    is_int(trace_warnings(&l, "! ", &b), 2, "two warnings");
    ok(strstr(b.data, "! 1 job is a waiting array") && strstr(b.data, "5300_[1-40,45,...]"),
       "one about the array");
    ok(strstr(b.data, "AccountingStorageTRES=gres/gpu"), "one about the site's GPUs");
    trace_need_partition(&l);
    is_mem(l.jobs[1].need_tag.ptr, l.jobs[1].need_tag.len, "partition=gpu",
           "until it is made one");
    trace_list_done(&l);
    l = LOAD("\x1f", {.raw = "6", .submit = "6", .state = "PENDING",
                      .req = "cpu=8,gres/gpu=1"});
    b.len = 0;
    is_int(trace_warnings(&l, "! ", &b), 0, "a site with GPUs: nothing to say");
    buf_done(&b);
    trace_list_done(&l);
}

static void mistakes(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"JobIDRaw|Submit\n1|2\n", "x:1:1: no column State"},
        {"JobIDRaw|Submit|State\n1|abc|FAILED\n",
         "x:2:3: Submit 'abc' is neither seconds nor a time"},
        {"JobIDRaw|Submit|State\n1|5|WRONG\n",
         "x:2:5: State 'WRONG' is no state of Slurm"},
        {"JobIDRaw|Submit|State\n1|5\n",
         "x:2:3: the row has 2 columns, 3 are expected"},
        {"JobIDRaw|Submit|State\nq|5|FAILED\n",
         "x:2:1: JobIDRaw 'q' is not a job number"},
        {"JobIDRaw|Submit|State|AllocTRES\n1|5|FAILED|cpu=1,mem=zz\n",
         "x:2:18: AllocTRES 'cpu=1,mem=zz' is not a list of resources"},
        {"1|2|3\n", "x:1:5: the row has 3 columns, 30 are expected"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace_list l;
        struct err err = {0};
        ok(trace_load_mem(&l, rows[i].text, strlen(rows[i].text), "x", "sacct", &err) <
               0,
           "refused");
        is_str(err.text, rows[i].want, "with the place");
    }
}

int main(void)
{
    plain_job();
    bars();
    limits_and_states();
    requeues();
    arrays_and_het();
    header_and_memory();
    tres();
    warnings();
    mistakes();
    return done_testing();
}
