/* test-trace-generate.c - synthetic traces, and what is said about traces
 * Expected statistics: the published ones (cluster_summary.csv of AcmeTrace and of
 * HeliosArtifact, in the table of generate.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "cluster/file.h"
#include "tap.h"
#include "trace/describe.h"
#include "trace/generate.h"

static void check_cluster(struct buf *yaml, uint32_t nodes, uint32_t gpus)
{
    struct words words = {0};
    struct cluster_file file;
    struct err err = {0};
    if (!ok(cluster_file_parse(&file, "made", buf_as_str(yaml), &words, &err) == 0,
            "its cluster file is one (%s)", err.text))
        return;
    is_int(file.nodes.n, nodes, "with the nodes");
    is_int(file.nodes.at[0].ndevices, gpus, "of so many GPUs");
    is_int(file.nodes.at[0].nplace, 2, "in racks and blocks");
    cluster_file_done(&file);
    words_done(&words);
}

static void site(const struct generate_site *s)
{
    double days = s->jobs / s->days > 2000 ? 10 : 30;
    struct generate_options o = {.site = s, .seed = 3, .days = days};
    struct generate_result r;
    struct trace_list l;
    struct buf yaml = {0};
    struct err err = {0};
    bool good = true;
    if (!ok(generate_trace(&o, &l, &yaml, &r, &err) == 0, "%s (%s)", s->name, err.text))
        return;
    is_near(r.jobs, s->jobs / s->days * days, 1, "jobs of %g days", days);
    is_near(r.run_mean_s / s->run_mean_s, 1, 0.001, "the published mean run time");
    is_near(r.gpus_mean / s->gpus_mean, 1, 0.15, "about the published mean of GPUs");
    is_near(r.fail_rate, s->fail_rate, 4 * sqrt(0.25 / r.jobs),
            "the published failures");
    if (s->gpu_s_per_job > 0)
        ok(r.gpu_s_per_job / s->gpu_s_per_job > 0.3 &&
               r.gpu_s_per_job / s->gpu_s_per_job < 3,
           "GPU time of the published order: %.0f, published %.0f", r.gpu_s_per_job,
           s->gpu_s_per_job);
    for (uint32_t i = 0; i < l.n; i++) {
        const struct trace_job *j = &l.jobs[i];
        good = good && j->run_us > 0 &&
               j->run_us <= (int64_t)s->run_max_s * 1000000 + 1000000 &&
               j->limit_us >= j->run_us && j->gpus >= 1 && j->gpus <= s->gpus_max &&
               j->submit_us >= 0 && j->submit_us < (int64_t)days * 86400000000;
    }
    ok(good, "every job within the published bounds, and within its limit");
    check_cluster(&yaml, s->nodes, s->gpus_per_node);
    buf_done(&yaml);
    trace_list_done(&l);
}

static void options(void)
{
    struct generate_options o = {.site = generate_site_find("philly"),
                                 .seed = 1,
                                 .nodes = 20,
                                 .load = 0.8};
    struct generate_result r;
    struct trace_list a, b, c;
    struct err err = {0};
    bool same = true;
    if (!ok(generate_trace(&o, &a, NULL, &r, &err) == 0 &&
                generate_trace(&o, &b, NULL, NULL, &err) == 0, "twice (%s)", err.text))
        return;
    is_near(r.load, 0.8, 0.01, "the wanted load");
    for (uint32_t i = 0; i < a.n && i < b.n; i++)
        same = same && a.jobs[i].submit_us == b.jobs[i].submit_us &&
               a.jobs[i].run_us == b.jobs[i].run_us && a.jobs[i].gpus == b.jobs[i].gpus;
    ok(same && a.n == b.n, "one seed, one trace");
    o.seed = 2;
    ok(generate_trace(&o, &c, NULL, NULL, &err) == 0 && c.n > 2 &&
           (c.jobs[0].submit_us != a.jobs[0].submit_us ||
            c.jobs[1].submit_us != a.jobs[1].submit_us), "another seed, another trace");
    trace_list_done(&a);
    trace_list_done(&b);
    trace_list_done(&c);
    o = (struct generate_options){.site = generate_site_find("acme"),
                                  .seed = 1,
                                  .jobs = 5000,
                                  .one_node = true};
    if (!ok(generate_trace(&o, &a, NULL, &r, &err) == 0, "so many jobs (%s)", err.text))
        return;
    is_int(a.n, 5000, "five thousand");
    for (uint32_t i = 0; i < a.n; i++)
        same = same && a.jobs[i].gpus <= 8;
    ok(same, "each fits a node");
    trace_list_done(&a);
    ok(!generate_site_find("nowhere"), "unknown sites are unknown");
}

/* The load that was asked for, at each site, whatever the seed. */
static void loads(void)
{
    static const double want[] = {0.5, 0.9, 1.3};
    for (const struct generate_site *s = generate_sites; s->name; s++)
        for (uint64_t seed = 1; seed <= 12; seed++) {
            struct generate_options o = {.site = s,
                                         .seed = seed,
                                         .nodes = s->nodes < 40 ? s->nodes : 40,
                                         .days = 7,
                                         .load = want[seed % 3]};
            struct generate_result r;
            struct trace_list l;
            struct err err = {0};
            double gpu_us = 0, run_us = 0;
            if (!ok(generate_trace(&o, &l, NULL, &r, &err) == 0, "%s, seed %d (%s)",
                    s->name, (int)seed, err.text))
                continue;
            for (uint32_t i = 0; i < l.n; i++) {
                const struct trace_job *j = &l.jobs[i];
                run_us += (double)j->run_us;
                gpu_us += j->gpus * (j->gpu_milli / 1000.0) * (double)j->run_us;
            }
            double room_us = (double)o.nodes * s->gpus_per_node * r.days * 86400e6;
            is_near(gpu_us / room_us / o.load, 1, 0.01, "the wanted load, %u jobs", l.n);
            is_near(run_us / 1e6 / l.n / s->run_mean_s, 1, 0.001,
                    "the published mean run time");
            trace_list_done(&l);
        }
}

/* GPU types, time order and a load without a span. */
static void described_types(void)
{
    static const char text[] =
        "{\"submit_us\":0,\"start_us\":5,\"end_us\":9,\"gpus\":4,\"gpu_milli\":500,"
        "\"types\":[\"h100\",\"NVIDIA-H100-80GB-HBM3\",\"T4\"]}\n"
        "{\"submit_us\":10,\"start_us\":4,\"end_us\":3,\"gpus\":1,\"name\":\"odd\","
        "\"types\":[\"H100\"]}\n"
        "{\"submit_us\":20,\"start_us\":14,\"run_us\":7,\"gpus\":1}\n";
    struct trace_list l;
    struct describe d;
    struct buf b = {0};
    struct err err = {0};
    if (!ok(trace_load_mem(&l, text, sizeof text - 1, "d", "jsonl", &err) == 0,
            "loads (%s)", err.text))
        return;
    describe_trace(&l, &d);
    is_int(d.sizes[SIZE_2_8].jobs, 1, "four halves are two GPUs");
    is_int(d.ntypes, 2, "two types");
    is_mem(d.types[0].name.ptr, d.types[0].name.len, "H100", "the one asked for most");
    is_int(d.types[0].jobs, 2, "by two jobs, by one of them twice");
    is_int(d.types[1].jobs, 1, "the other by one");
    is_int(d.any_type, 1, "one job takes any");
    is_near(d.offered_gpus, 0, 0, "no load over 20 us");
    is_int(l.notes.early_start.n, 2, "two start before they are submitted");
    is_int(l.notes.early_start.row, 2, "the second row is the first");
    is_int(l.notes.early_end.n, 1, "one ends before its start");
    describe_text(&d, &l, 100, &b);
    ok(strstr(b.data, "load       - ("), "the load is a dash and a reason");
    ok(strstr(b.data, "warning    2 jobs start before they were submitted: the first is "
                      "row 2 (odd)\n"),
       "a warning names the row");
    ok(strstr(b.data, "warning    1 job ends before its start: row 2 (odd)\n"),
       "one job, no plural");
    buf_done(&b);
    trace_list_done(&l);
}

/* A type without a row is spelt as the cluster spells it, one with a row as it was. */
static void spelt(void)
{
    static const char text[] =
        "{\"submit_us\":0,\"gpus\":1,\"types\":[\"my-npu\",\"h100\"]}\n"
        "{\"submit_us\":1,\"gpus\":1,\"types\":[\"my-npu\",\"h100\"]}\n"
        "{\"submit_us\":2,\"gpus\":1,\"types\":[\"other\"]}\n";
    static const struct str names[] = {{"H100", 4}, {"My_NPU", 6}};
    static const char *const want[] = {"My_NPU", "My_NPU", "other"};
    struct trace_list l;
    struct err err = {0};
    if (!ok(trace_load_mem(&l, text, sizeof text - 1, "d", "jsonl", &err) == 0,
            "loads (%s)", err.text))
        return;
    trace_spell_types(&l, names, 2);
    for (uint32_t i = 0; i < 3; i++)
        is_mem(l.jobs[i].types[0].ptr, l.jobs[i].types[0].len, want[i], "job %u", i);
    is_mem(l.jobs[0].types[1].ptr, l.jobs[0].types[1].len, "H100", "the catalogue's");
    ok(l.jobs[0].types == l.jobs[1].types, "equal lists stay one");
    trace_list_done(&l);
}

/* Six jobs, worked out by hand. */
static void described(void)
{
    static const char text[] =
        "{\"submit_us\":0,\"gpus\":1,\"run_us\":3600000000,\"queue\":\"a\",\"user\":"
        "\"u\","
        "\"start_us\":1000000}\n"
        "{\"submit_us\":0,\"gpus\":1,\"gpu_milli\":500,\"run_us\":7200000000,\"queue\":"
        "\"a\"}\n"
        "{\"submit_us\":0,\"gpus\":8,\"run_us\":3600000000,\"lost_us\":3600000000,"
        "\"queue\":\"b\",\"user\":\"v\",\"state\":\"failed\"}\n"
        "{\"submit_us\":36000000000,\"cpu_milli\":1000,\"run_us\":50,\"queue\":\"b\"}\n"
        "{\"submit_us\":36000000000,\"gpus\":600,\"queue\":\"c\",\"state\":\"pending\"}"
        "\n"
        "{\"submit_us\":36000000000,\"gpus\":3,\"run_us\":1200000000,\"eligible_us\":"
        "40000000000,"
        "\"start_us\":40005000000}\n";
    struct trace_list l;
    struct describe d;
    struct buf b = {0};
    struct err err = {0};
    if (!ok(trace_load_mem(&l, text, sizeof text - 1, "d", "jsonl", &err) == 0,
            "loads (%s)", err.text))
        return;
    describe_trace(&l, &d);
    is_int(d.jobs, 6, "jobs");
    is_int(d.gpu_jobs, 5, "with GPUs");
    is_int(d.users, 2, "users");
    is_int(d.queues, 4, "queues, the unnamed one too");
    is_near(d.gpu_h, 1 + 1 + 16 + 1, 1e-9, "GPU hours");
    is_near(d.offered_gpus, 1.9, 1e-9, "over ten hours");
    is_near(d.gpu_mean, (1 + .5 + 8 + 600 + 3) / 5, 1e-9, "GPUs of a GPU job");
    is_int(d.states[TRACE_FAILED], 1, "failed");
    is_int(d.endless, 1, "one without a run time");
    is_int(d.run.n, 4, "four GPU jobs ran");
    is_int(d.run.p50_us, INT64_C(3600000000), "the second of four is their p50");
    is_int(d.run.max_us, INT64_C(7200000000), "the longest");
    is_int(d.wait.n, 2, "two starts are recorded");
    is_int(d.wait.p99_us, 5000000, "waits count from eligible");
    is_int(d.sizes[SIZE_SHARE].jobs, 1, "a share");
    is_int(d.sizes[SIZE_2_8].jobs, 2, "2 to 8: three and eight");
    is_int(d.sizes[SIZE_MORE].jobs, 1, "more than 512");
    is_mem(d.top[0].name.ptr, d.top[0].name.len, "b", "the queue with most GPU hours");
    describe_text(&d, &l, 100, &b);
    ok(strstr(b.data, "1.9 GPUs busy on average") && strstr(b.data, "1.9 % of 100"),
       "in words");
    buf_done(&b);
    trace_list_done(&l);
}

int main(void)
{
    for (const struct generate_site *s = generate_sites; s->name; s++)
        site(s);
    options();
    loads();
    described();
    described_types();
    spelt();
    return done_testing();
}
