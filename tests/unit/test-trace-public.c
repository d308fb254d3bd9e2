/* test-trace-public.c - the shipped mappings on the public sets themselves
 * Read in place from the shared data, skipped where it is absent. Expected counts and
 * sums: PEER_SUBSET.md and the notes on traces for Philly and openb, awk over the files
 * for the rest.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"
#include "trace/trace.h"

#define NOT_ASKED INT64_MIN

struct want {
    const char *file, *format; /* format NULL: it must be recognised */
    const char *name;          /* the mapping's */
    uint32_t jobs;
    int64_t skipped, run_ms, gpus, first_ms;
};

static const struct want wants[] = {
    /* PEER_SUBSET.md: 68,503 of 82,247 rows; first at 2017-10-01 00:00:45; 786,461,080
     * s; 64,073 + 2 x 1,409 + 4 x 1,534 + 8 x 1,301 + 12 x 7 + 16 x 139 + 24 x 6 + 32 x
     * 34 GPUs */
    {"philly/philly_passed_jobs.csv.zst", "philly-helios", "philly-helios", 68503,
     82247 - 68503, 786461080000, 64073 + 2818 + 6136 + 10408 + 84 + 2224 + 144 + 1088,
     1506816045000},
    {"philly/philly_passed_jobs.csv.zst", NULL, "philly", 82247, 0, 1080390950000,
     107235, NOT_ASKED},
    {"openb-fgd/csv/openb_pod_list_default.csv.zst", NULL, "openb", 8152, 0, NOT_ASKED,
     7433, 0},
    {"openb-fgd/csv/openb_pod_list_gpuspec33.csv.zst", NULL, "openb", 8152, 0,
     NOT_ASKED, 7433, 0},
    {"openb-fgd/csv/openb_pod_list_multigpu50.csv.zst", NULL, "openb", 9061, 0, 0,
     12705, 0},
    {"mixes/K_95_seed1.csv.zst", NULL, "mixes", 143910, 0, 172939163000, 3749382,
     NOT_ASKED},
    {"muri/cluster_trace.csv", NULL, "muri", 400, 0, NOT_ASKED, 3766, 0},
    {"muri/trace-data/trace1.csv.zst", NULL, "muri", 1494, 0, 374174936000, 7398, 0},
    {"philly/chronus_trace_job_Philly_SLO.csv.zst", NULL, "chronus", 30940, 0,
     8041615000, 42785, NOT_ASKED},
    {"tiresias/60_job.csv", NULL, "tiresias", 60, 0, 10705000, 170, 0},
};

static void sums(const struct want *w, const struct trace_list *l)
{
    int64_t run = 0, gpus = 0;
    bool ordered = true;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_job *j = &l->jobs[i];
        run += j->run_us == TRACE_NEVER ? 0 : j->run_us / 1000;
        gpus += j->gpus;
        ordered = ordered && (!i || j[-1].submit_us < j->submit_us ||
                              (j[-1].submit_us == j->submit_us && j[-1].row < j->row));
    }
    is_str(l->format, w->name, "the format of %s", w->file);
    is_int(l->n, w->jobs, "its jobs");
    is_int((int64_t)l->skipped, w->skipped, "the rows left out");
    if (w->run_ms != NOT_ASKED)
        is_int(run, w->run_ms, "the sum of run times, ms");
    is_int(gpus, w->gpus, "the sum of GPUs");
    ok(ordered, "by time, then by row");
    if (w->first_ms != NOT_ASKED)
        is_int(l->jobs[0].submit_us / 1000, w->first_ms, "the first submit time");
}

static void one(const struct want *w)
{
    char path[4096], name[256];
    struct trace_list l;
    struct err err = {0};
    snprintf(name, sizeof name, "data/traces/%s", w->file);
    if (!shared_path(name, path)) {
        skip(1, "%s is not here", name);
        return;
    }
    if (!ok(trace_load(&l, path, w->format, &err) == 0, "%s loads (%s)", name,
            err.text))
        return;
    sums(w, &l);
    trace_list_done(&l);
}

/* openb beyond sums: shares, types, phases. */
static void openb(void)
{
    char path[4096];
    struct trace_list l;
    struct err err = {0};
    int64_t gpu_milli = 0, cpu = 0, mem_mib = 0;
    uint32_t pending = 0, failed = 0, never = 0;
    if (!shared_path("data/traces/openb-fgd/csv/openb_pod_list_default.csv.zst",
                     path)) {
        skip(1, "openb is not here");
        return;
    }
    if (!ok(trace_load(&l, path, "openb", &err) == 0, "openb loads (%s)", err.text))
        return;
    for (uint32_t i = 0; i < l.n; i++) {
        const struct trace_job *j = &l.jobs[i];
        gpu_milli += (int64_t)j->gpus * j->gpu_milli;
        cpu += j->cpu_milli;
        mem_mib += j->mem_bytes >> 20;
        pending += j->state == TRACE_PENDING;
        failed += j->state == TRACE_FAILED;
        never += j->run_us == TRACE_NEVER;
    }
    is_int(gpu_milli, 6086800, "milli-GPUs in all");
    is_int(cpu, 85436012, "milli-CPUs in all");
    is_int(mem_mib, 303546211, "MiB in all");
    is_int(failed, 1870, "failed pods");
    is_int(pending, 897, "pending pods");
    is_int(never, 897, "which are those that never ran");
    trace_list_done(&l);
}

static void gpuspec(void)
{
    char path[4096];
    struct trace_list l;
    struct err err = {0};
    uint32_t bound = 0;
    if (!shared_path("data/traces/openb-fgd/csv/openb_pod_list_gpuspec33.csv.zst",
                     path)) {
        skip(1, "openb is not here");
        return;
    }
    if (!ok(trace_load(&l, path, "openb", &err) == 0, "gpuspec33 loads (%s)", err.text))
        return;
    for (uint32_t i = 0; i < l.n; i++)
        bound += l.jobs[i].ntypes > 0;
    is_int(bound, 2388, "pods that name GPU types");
    trace_list_done(&l);
}

static void mixes(void)
{
    char path[4096];
    struct trace_list l;
    struct err err = {0};
    uint32_t rack = 0, block = 0;
    int64_t limit_s = 0;
    if (!shared_path("data/traces/mixes/K_95_seed1.csv.zst", path)) {
        skip(1, "the mixes are not here");
        return;
    }
    if (!ok(trace_load(&l, path, NULL, &err) == 0, "mix K loads (%s)", err.text))
        return;
    for (uint32_t i = 0; i < l.n; i++) {
        rack += str_is(l.jobs[i].need_level, "rack");
        block += str_is(l.jobs[i].need_level, "block");
        limit_s += l.jobs[i].limit_us / 1000000;
    }
    is_int(rack, 11142, "jobs that need one rack");
    is_int(block, 2071, "jobs that need one block");
    is_int(limit_s, 1479931200, "limits in all");
    ok(str_starts(l.remark, STR("# nodes=1250 queues q0=6611")), "the remark is kept");
    trace_list_done(&l);
}

/* First, second and last number of each line: awk over the file. */
static void orders(void)
{
    char path[4096];
    uint32_t *pods, *ranks, npods, nranks;
    struct err err = {0};
    if (!shared_path("data/traces/openb-fgd/orders/openb_pod_list_default.orders.zst",
                     path)) {
        skip(1, "the orders are not here");
        return;
    }
    if (ok(trace_order_load(path, 42, &pods, &npods, &ranks, &nranks, &err) == 0,
           "the order of seed 42 (%s)", err.text)) {
        is_int(npods, 10866, "arrivals");
        is_int(pods[0], 255, "the first");
        is_int(pods[1], 1685, "the second");
        is_int(pods[npods - 1], 5877, "the last");
        is_int(nranks, 1213, "nodes");
        is_int(ranks[0], 601, "the first rank");
        is_int(ranks[nranks - 1], 968, "the last rank");
        free(pods);
        free(ranks);
    }
    if (ok(trace_order_load(path, 51, &pods, &npods, &ranks, &nranks, &err) == 0,
           "the order of seed 51, the last (%s)", err.text)) {
        is_int(npods, 10859, "arrivals");
        is_int(pods[npods - 1], 1596, "the last");
        is_int(ranks[nranks - 1], 641, "the last rank");
        free(pods);
        free(ranks);
    }
    ok(trace_order_load(path, 7, &pods, &npods, &ranks, &nranks, &err) < 0,
       "no seed 7");
    ok(strstr(err.text, "no pods of seed 7"), "says so: %s", err.text);
}

/* Examples out of the sets' own documentation, for files that are not here. */
static void documented(void)
{
    static const struct {
        const char *name, *csv, *format;
        int64_t submit_s, run_s;
        uint32_t gpus, milli, nodes;
        int64_t cpu_milli;
    } rows[] = {
        {"Helios",
         "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,"
         "end_time,duration,queue\n1425512,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 "
         "18:41:27,"
         "2020-06-09 18:41:27,2020-06-09 18:45:36,249,0\n",
         "helios", 1591728087, 249, 4, 1000, 1, 16000},
        {"Acme Seren",
         "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,"
         "end_time,duration,queue,gpu_time\n5778432,u5907,1,8,128,Other,FAILED,"
         "2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 "
         "00:20:51+08:00,117,"
         "32,936.0\n",
         "acme", 1677601102, 117, 8, 1000, 1, 128000},
        {"Acme Kalos",
         "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,"
         "type,state,submit_time,start_time,end_time,fail_time,stop_time,duration,"
         "queue,"
         "gpu_time\ndlctk696s0jbvitv,uf794,8,64,960,1000,100.0,Other,FAILED,"
         "2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,2023-05-17 "
         "11:01:16+00:00,"
         "2023-05-17 11:01:16+00:00,,18,10.0,1152.0\n",
         "acme", 1684321258, 8, 64, 1000, 8, 120000},
        {"PAI tasks",
         "4f057009a5d481acec67b088,tensorflow,1.0,Terminated,1739162.0,1739200.0,"
         "600.0,29.296875,50.0,MISC\n",
         "alibaba-2020", 1739162, 38, 1, 500, 1, 6000},
        {"PAI joined",
         "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,"
         "plan_mem,plan_gpu,gpu_type,user,job_submit_time\nj,worker,2.0,Terminated,110."
         "0,200.0,"
         "400.0,10,200.0,V100,u,100.0\n",
         "alibaba-2020-joined", 100, 90, 4, 1000, 2, 4000},
        {"spot 2026",
         "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,"
         "submit_time,duration,job_type\n437260,57,A100-SXM4-80GB,15,1,16,9589663,"
         "41060,Spot\n",
         "alibaba-spot-2026", 9589663, 41060, 16, 1000, 16, 15000},
        {"Lucid",
         "job_id,user,vc,jobname,gpu_num,cpu_num,node_num,state,submit_time,duration,"
         "dataset,model\n7,u1,vc1,n,2,8,1,COMPLETED,2020-06-09 18:41:27,30,d,m\n",
         "lucid", 1591728087, 30, 2, 1000, 1, 8000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace_list l;
        struct err err = {0};
        int rc = trace_load_mem(&l, rows[i].csv, strlen(rows[i].csv), "d.csv",
                                rows[i].format, &err);
        if (!ok(rc == 0, "%s: the documented example loads (%s)", rows[i].name,
                err.text))
            continue;
        const struct trace_job *j = &l.jobs[0];
        is_int(l.n, 1, "one job");
        is_int(j->submit_us / 1000000, rows[i].submit_s, "submitted");
        is_int(j->run_us / 1000000, rows[i].run_s, "ran");
        is_int(j->gpus, rows[i].gpus, "GPUs");
        is_int(j->gpu_milli, rows[i].milli, "share");
        is_int(j->nodes, rows[i].nodes, "nodes");
        is_int(j->cpu_milli, rows[i].cpu_milli, "CPUs of a task");
        trace_list_done(&l);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        one(&wants[i]);
    openb();
    gpuspec();
    mixes();
    orders();
    documented();
    return done_testing();
}
