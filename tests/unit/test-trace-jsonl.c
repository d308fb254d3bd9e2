/* test-trace-jsonl.c - muster's own trace format, both ways
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"
#include "trace/jsonl.h"

static const struct str types[] = {{"H100", 4}, {"A100 \"80\"", 9}};
static const struct trace_part parts[] = {
    {.nodes = 1, .cpu_milli = 4000},
    {.nodes = 2, .gpus = 16, .gpu_milli = 1000, .cpu_milli = 8000, .mem_bytes = 77,
     .ntypes = 1, .types = types}};

static const struct trace_job full = {.name = {"j\n1", 3},
                                      .user = {"\xc3\xa4nn", 4},
                                      .queue = {"q/a", 3},
                                      .submit_us = -5,
                                      .eligible_us = 7,
                                      .start_us = 8,
                                      .end_us = 20,
                                      .run_us = 10,
                                      .lost_us = 3,
                                      .limit_us = 60000000,
                                      .priority = -3,
                                      .state = TRACE_LOST,
                                      .nodes = 3,
                                      .gpus = 16,
                                      .gpu_milli = 500,
                                      .restarts = 2,
                                      .gpu_mem_bytes = 1 << 30,
                                      .cpu_milli = 8000,
                                      .mem_bytes = 99,
                                      .ntypes = 2,
                                      .types = types,
                                      .nparts = 2,
                                      .parts = parts,
                                      .need_level = {"rack", 4},
                                      .need_tag = {"vc=1", 4},
                                      .node_list = {"n[1-3]", 6}};

static bool str_same(struct str a, struct str b, const char *what)
{
    return ok(str_eq(a, b), "%s comes back", what);
}

static void same_job(const struct trace_job *a, const struct trace_job *b)
{
    str_same(a->name, b->name, "name");
    str_same(a->user, b->user, "user");
    str_same(a->queue, b->queue, "queue");
    str_same(a->need_level, b->need_level, "need_level");
    str_same(a->need_tag, b->need_tag, "need_tag");
    str_same(a->node_list, b->node_list, "node_list");
    is_int(a->submit_us, b->submit_us, "submit_us");
    is_int(a->eligible_us, b->eligible_us, "eligible_us");
    is_int(a->start_us, b->start_us, "start_us");
    is_int(a->end_us, b->end_us, "end_us");
    is_int(a->run_us, b->run_us, "run_us");
    is_int(a->lost_us, b->lost_us, "lost_us");
    is_int(a->limit_us, b->limit_us, "limit_us");
    is_int(a->priority, b->priority, "priority");
    is_int(a->state, b->state, "state");
    is_int(a->nodes, b->nodes, "nodes");
    is_int(a->gpus, b->gpus, "gpus");
    is_int(a->gpu_milli, b->gpu_milli, "gpu_milli");
    is_int(a->restarts, b->restarts, "restarts");
    is_int(a->gpu_mem_bytes, b->gpu_mem_bytes, "gpu_mem_bytes");
    is_int(a->cpu_milli, b->cpu_milli, "cpu_milli");
    is_int(a->mem_bytes, b->mem_bytes, "mem_bytes");
    is_int(a->ntypes, b->ntypes, "number of types");
    for (uint32_t i = 0; i < a->ntypes && i < b->ntypes; i++)
        str_same(a->types[i], b->types[i], "type");
    is_int(a->nparts, b->nparts, "number of parts");
    for (uint32_t i = 0; i < a->nparts && i < b->nparts; i++) {
        is_int(a->parts[i].nodes, b->parts[i].nodes, "part's nodes");
        is_int(a->parts[i].gpus, b->parts[i].gpus, "part's gpus");
        is_int(a->parts[i].gpu_milli, b->parts[i].gpu_milli, "part's share");
        is_int(a->parts[i].cpu_milli, b->parts[i].cpu_milli, "part's CPUs");
        is_int(a->parts[i].mem_bytes, b->parts[i].mem_bytes, "part's memory");
        is_int(a->parts[i].ntypes, b->parts[i].ntypes, "part's types");
    }
}

static void round_trip(void)
{
    static const struct trace_job bare = {
        .name = {"b", 1}, .user = {"", 0}, .queue = {"", 0}, .submit_us = 9,
        .eligible_us = TRACE_NEVER, .start_us = TRACE_NEVER, .end_us = TRACE_NEVER,
        .run_us = TRACE_NEVER, .need_level = {"", 0}, .need_tag = {"", 0},
        .node_list = {"", 0}};
    struct buf b = {0};
    struct trace_list l;
    struct err err = {0};
    jsonl_head(&b, 8, STR("made \"here\""));
    jsonl_job(&b, &full);
    jsonl_job(&b, &bare);
    if (ok(trace_load_mem(&l, b.data, b.len, "x.jsonl", NULL, &err) == 0,
           "what is written is read (%s)", err.text)) {
        is_int(l.n, 2, "two jobs");
        is_int(l.gpus_per_node, 8, "the head's GPUs of a node");
        is_mem(l.remark.ptr, l.remark.len, "made \"here\"", "the head's remark");
        same_job(&l.jobs[0], &full);
        same_job(&l.jobs[1], &bare);
        trace_list_done(&l);
    }
    buf_done(&b);
}

static void by_hand(void)
{
    static const char text[] = "{\"submit_us\": 30, \"gpus\": 4}\n"
                               "\n"
                               "{\"submit_us\": 10, \"run_us\": 5, \"start_us\": 12}\n"
                               "{\"submit_us\": 30, \"name\": \"third\"}\n";
    struct trace_list l;
    struct err err = {0};
    if (!ok(trace_load_mem(&l, text, sizeof text - 1, "h", "jsonl", &err) == 0,
            "little is enough (%s)", err.text))
        return;
    is_int(l.n, 3, "three jobs");
    is_int(l.jobs[0].submit_us, 10, "in time order");
    is_int(l.jobs[0].end_us, 17, "start and run give the end");
    is_mem(l.jobs[0].name.ptr, l.jobs[0].name.len, "00000001", "the row is a name");
    is_int(l.jobs[1].gpu_milli, 1000, "GPUs are whole ones");
    is_mem(l.jobs[2].name.ptr, l.jobs[2].name.len, "third",
           "equal times keep the order");
    is_int(l.jobs[2].gpu_milli, 0, "no GPU, no share");
    trace_list_done(&l);
}

static void mistakes(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{\"gpus\": 1}\n", "x:1:1: 'submit_us' is missing"},
        {"{\"submit_us\": 1}\n{\"submit_us\": 1, \"gpu\": 1}\n",
         "x:2:18: 'gpu' is not a key of a job"},
        {"{\"submit_us\": 1.5}\n", "x:1:2: 'submit_us' must be an integer"},
        {"{\"submit_us\": 1, \"gpus\": -1}\n", "x:1:18: 'gpus' is out of range"},
        {"{\"submit_us\": 1, \"state\": \"gone\"}\n",
         "x:1:18: 'state' is none of the states"},
        {"{\"submit_us\": 1, \"name\": \"\"}\n", "x:1:18: 'name' must not be empty"},
        {"{\"submit_us\": 1, \"types\": \"H100\"}\n",
         "x:1:18: 'types' must be a list of at most eight"},
        {"{\"submit_us\": 1, \"parts\": [{\"x\": 1}]}\n",
         "x:1:29: 'x' is not a key of a part"},
        {"{\"muster_trace\": 2}\n", "x:1:2: 'muster_trace' must be 1"},
        {"[1]\n", "x:1:1: an object is expected"},
        {"{\"submit_us\": 1, \"submit_us\": 2}\n", NULL},
        {"{\"submit_us\": 1\n", NULL},
        {"{\"submit_us\": 1}}\n", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace_list l;
        struct err err = {0};
        ok(trace_load_mem(&l, rows[i].text, strlen(rows[i].text), "x", "jsonl", &err) <
               0,
           "refused: %s", err.text);
        if (rows[i].want)
            is_str(err.text, rows[i].want, "with the place");
        else
            ok(!strncmp(err.text, "x:1:", 4), "with the line");
    }
}

int main(void)
{
    round_trip();
    by_hand();
    mistakes();
    return done_testing();
}
