/* trace.c - `muster trace`: read, check, describe, convert and make traces
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "cluster/file.h"
#include "cmd/cmd.h"
#include "trace/describe.h"
#include "trace/fault.h"
#include "trace/generate.h"
#include "trace/jsonl.h"

enum { FLUSH_BYTES = 1 << 20, PEEK_BYTES = 4096 };

/* --- output
 * ------------------------------------------------------------------------- */

struct output {
    const char *path; /* "-": standard output */
    char *tmp;        /* written first, then renamed to path; NULL: path itself */
    FILE *f;
};

/* A file beside the path, with the rights that the path has or would get. */
static FILE *output_beside(struct output *o, mode_t mode)
{
    size_t room = strlen(o->path) + sizeof ".XXXXXX";
    char *tmp = mem_alloc(room);
    snprintf(tmp, room, "%s.XXXXXX", o->path);
    int fd = mkstemp(tmp);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f || fchmod(fd, mode)) {
        int why = errno;
        if (fd >= 0)
            unlink(tmp);
        if (f)
            fclose(f);
        else if (fd >= 0)
            close(fd);
        free(tmp);
        errno = why;
        return NULL;
    }
    o->tmp = tmp;
    return f;
}

static int output_open(struct output *o, const char *path, struct err *err)
{
    struct stat st;
    *o = (struct output){.path = path, .f = stdout};
    if (strcmp(path, "-")) {
        bool there = lstat(path, &st) == 0;
        mode_t mask = umask(0);
        umask(mask);
        if (there && !S_ISREG(st.st_mode)) /* a pipe, a device, a link: they stay */
            o->f = fopen(path, "w");
        else if (there && access(path, W_OK)) /* rename would not ask */
            o->f = NULL;
        else
            o->f = output_beside(o, there ? st.st_mode & 0777 : 0666 & ~mask);
        if (!o->f && there && !o->tmp && errno == EACCES) /* a folder of others' */
            o->f = fopen(path, "w");
    }
    return o->f ? 0 : err_set(err, errno, "cannot write %s: %s", path, strerror(errno));
}

static int output_write(struct output *o, struct buf *b, struct err *err)
{
    if (b->len && fwrite(b->data, 1, b->len, o->f) != b->len)
        return err_set(err, errno, "cannot write %s: %s", o->path, strerror(errno));
    buf_clear(b);
    return 0;
}

/* Flushes; a full disk shows only now. What path held is replaced only by a whole. */
static int output_close(struct output *o, int rc, struct err *err)
{
    int bad = fflush(o->f) ? errno : 0;
    if (o->f != stdout && fclose(o->f) && !bad)
        bad = errno;
    if (rc == 0 && !bad && o->tmp && rename(o->tmp, o->path))
        bad = errno;
    if (rc == 0 && bad)
        rc = err_set(err, bad, "cannot write %s: %s", o->path, strerror(bad));
    if (rc < 0 && o->tmp)
        unlink(o->tmp);
    free(o->tmp);
    return rc;
}

static int output_all(const char *path, struct buf *b, struct err *err)
{
    struct output o;
    int rc = output_open(&o, path, err);
    if (rc < 0)
        return rc;
    rc = output_write(&o, b, err);
    return output_close(&o, rc, err);
}

static int list_write(const char *path, const struct trace_list *l, struct err *err)
{
    struct output o;
    struct buf b = {0};
    int rc = output_open(&o, path, err);
    if (rc < 0)
        return rc;
    jsonl_head(&b, l->gpus_per_node, l->remark);
    for (uint32_t i = 0; i < l->n && rc == 0; i++) {
        jsonl_job(&b, &l->jobs[i]);
        if (b.len >= FLUSH_BYTES)
            rc = output_write(&o, &b, err);
    }
    if (rc == 0)
        rc = output_write(&o, &b, err);
    rc = output_close(&o, rc, err);
    buf_done(&b);
    return rc;
}

/* --- muster trace info
 * -------------------------------------------------------------- */

static const struct cmd_option info_options[] = {
    {"format", 'f', "NAME", CMD_TEXT,
     .help = "a mapping by name or path, or swf, sacct, jsonl; without it, by the "
             "file's name "
             "and first line"},
    {"cluster", 'c', "FILE", CMD_TEXT,
     .help = "the load is given in per cent of this cluster's GPUs"},
    {"nodes", 'n', "N", CMD_INT, .min = 1, .max = 10000000,
     .help = "of a fault trace: how many servers were watched (400 for InfiniteHBD's); "
             "without it, those that had a fault"},
    {"span", 0, "TIME", CMD_DURATION, .min = 1, .max = INT64_MAX / 4,
     .help = "of a fault trace: for how long (348d for InfiniteHBD's); without it, up "
             "to the "
             "last event"},
    {"output", 'o', "text|json", CMD_CHOICE, .preset = "text",
     .help = "what is printed"},
    {0},
};

/* Does the file begin like a list of fault events? */
static bool is_fault_trace(const char *path)
{
    char head[PEEK_BYTES + 1];
    struct infile *in;
    long n = 0, got;
    if (!strcmp(path, "-") || infile_open(&in, path, NULL) < 0)
        return false;
    while (n < PEEK_BYTES &&
           (got = infile_read(in, head + n, (size_t)(PEEK_BYTES - n), NULL)) > 0)
        n += got;
    infile_close(in);
    head[n] = 0;
    return head[strspn(head, " \t\r\n")] == '[' && strstr(head, "\"event_time\"");
}

static void faults_text(const struct fault_list *l, const struct fault_stats *s,
                        struct buf *out)
{
    char a[24], b[24], c[24], d[24];
    buf_fmt(
        out,
        "faults     %u on %u nodes, %u not over at the end; the 20 worst nodes have "
        "%.1f %%\n",
        s->faults, s->nodes_hit, s->open,
        s->faults ? 100.0 * s->top20_faults / s->faults : 0);
    buf_fmt(out, "rate       %.2f in 1000 node-days\n", s->per_1000_node_days);
    buf_fmt(out, "last event %s after the first day\n", duration_text(l->last_us, a));
    buf_fmt(out, "repair     mean %.2f d, p10 %s, p50 %s, p90 %s, p99 %s\n\n",
            (double)s->repair_mean_us / (double)US_PER_DAY,
            duration_text(s->repair_p10_us, a), duration_text(s->repair_p50_us, b),
            duration_text(s->repair_p90_us, c), duration_text(s->repair_p99_us, d));
    buf_fmt(out, "  %-18s %-32s %7s %6s %12s\n", "level", "class", "faults", "%",
            "repair p50");
    for (uint32_t i = 0; i < s->classes.n; i++) {
        const struct fault_class *k = &s->classes.at[i];
        buf_fmt(out, "  %-18.*s %-32.*s %7u %6.1f %12s\n", (int)k->level.len,
                k->level.ptr, (int)k->class_.len, k->class_.ptr, k->n,
                100.0 * k->n / s->faults, duration_text(k->repair_p50_us, a));
    }
}

static void faults_json(const struct fault_stats *s, struct buf *out)
{
    buf_fmt(
        out,
        "{\"format\":\"faults\",\"faults\":%u,\"open\":%u,\"nodes_hit\":%u,"
        "\"per_1000_node_days\":%.6f,\"repair_mean_us\":%lld,\"repair_p10_us\":%lld,"
        "\"repair_p50_us\":%lld,\"repair_p90_us\":%lld,\"repair_p99_us\":%lld,"
        "\"classes\":[",
        s->faults, s->open, s->nodes_hit, s->per_1000_node_days,
        (long long)s->repair_mean_us, (long long)s->repair_p10_us,
        (long long)s->repair_p50_us, (long long)s->repair_p90_us,
        (long long)s->repair_p99_us);
    for (uint32_t i = 0; i < s->classes.n; i++) {
        const struct fault_class *k = &s->classes.at[i];
        buf_z(out, i ? ",{\"level\":" : "{\"level\":");
        buf_json(out, k->level);
        buf_z(out, ",\"class\":");
        buf_json(out, k->class_);
        buf_fmt(out, ",\"faults\":%u,\"repair_p50_us\":%lld}", k->n,
                (long long)k->repair_p50_us);
    }
    buf_z(out, "]}\n");
}

static int info_faults(const struct cmd_line *line, bool json, struct err *err)
{
    struct fault_list l;
    struct fault_stats s;
    struct buf b = {0};
    int rc = fault_load(&l, line->args[0], err);
    if (rc < 0)
        return rc;
    fault_stats(&l, (uint32_t)cmd_int(line, "nodes"), cmd_int(line, "span"), &s);
    if (json)
        faults_json(&s, &b);
    else
        faults_text(&l, &s, &b);
    rc = output_all("-", &b, err);
    buf_done(&b);
    fault_stats_done(&s);
    fault_list_done(&l);
    return rc;
}

static int cluster_gpus(const char *path, uint64_t *ret, struct err *err)
{
    struct words words = {0};
    struct cluster_file file;
    uint64_t n = 0;
    if (!path)
        return 0;
    int rc = cluster_file_load(&file, path, &words, err);
    if (rc == 0) {
        for (uint32_t i = 0; i < file.nodes.n; i++)
            n += file.nodes.at[i].ndevices;
        cluster_file_done(&file);
        *ret = n;
    }
    words_done(&words);
    return rc;
}

static int info_trace(const struct cmd_line *line, bool json, struct err *err)
{
    struct trace_list l;
    struct describe d;
    struct buf b = {0};
    uint64_t gpus = 0;
    int rc = cluster_gpus(cmd_text(line, "cluster"), &gpus, err);
    if (rc == 0)
        rc = trace_load(&l, line->args[0], cmd_text(line, "format"), err);
    if (rc < 0)
        return rc;
    describe_trace(&l, &d);
    if (json)
        describe_json(&d, &l, gpus, &b);
    else
        describe_text(&d, &l, gpus, &b);
    rc = output_all("-", &b, err);
    buf_done(&b);
    trace_list_done(&l);
    return rc;
}

static int info_run(const struct cmd_line *line)
{
    struct err err = {0};
    bool json = cmd_int(line, "output") == 1;
    bool faults = !cmd_given(line, "format") && is_fault_trace(line->args[0]);
    int rc = faults ? info_faults(line, json, &err) : info_trace(line, json, &err);
    return rc < 0 ? cmd_fail(line, &err) : CMD_OK;
}

static const char *const info_examples[] = {
    "muster trace info jobs.csv",
    "muster trace info jobs.sacct --cluster site.yaml",
    "# node faults, as InfiniteHBD recorded them:",
    "muster trace info fault_trace.json --nodes 400 --span 348d",
    NULL,
};

static const struct cmd info_cmd = {
    .name = "info",
    .summary = "say what is in a trace: jobs, users, sizes, run times, load",
    .args = "FILE",
    .args_min = 1,
    .args_max = 1,
    .about = "Reads the whole file, so that it is also a check: a line that does not "
             "parse is\n"
             "named by file, line and column, and the exit code is 2. A quantile q of "
             "n values\n"
             "is the one at rank ceil(q n); of repair times, as published, floor(q (n - 1)).",
    .options = info_options,
    .examples = info_examples,
    .run = info_run,
};

/* --- muster trace convert
 * ----------------------------------------------------------- */

static const struct cmd_option convert_options[] = {
    {"format", 'f', "NAME", CMD_TEXT,
     .help = "the format of FILE, as in muster trace info"},
    {"pseudonyms", 0, NULL, CMD_FLAG,
     .help = "users, queues and job names become u1, q1, j1, in order of appearance; "
             "the nodes "
             "they ran on are left out"},
    {"need-tag", 0, "partition", CMD_CHOICE,
     .help = "a job needs nodes with the tag partition=NAME of its Slurm partition"},
    {"out", 'o', "FILE", CMD_TEXT, .preset = "-", .help = "where to write"},
    {0},
};

/* Numbers for texts, in order of first sight. A pseudonym by count cannot be turned
 * back, as the hash of a user's name can by trying names. */
struct pseudonyms {
    struct strmap ids;
    uint32_t n;
};

static struct str pseudonym(struct pseudonyms *p, char letter, struct str s,
                            struct arena *text)
{
    char name[16];
    if (!s.len)
        return s;
    uint32_t id = strmap_get(&p->ids, s);
    if (id == MAP_NONE) {
        id = ++p->n;
        strmap_put(&p->ids, s, id);
    }
    snprintf(name, sizeof name, "%c%u", letter, id);
    return arena_str(text, str_of(name));
}

/* What names people, teams or machines goes; types, sizes and times stay. */
static void list_pseudonyms(struct trace_list *l)
{
    struct pseudonyms users = {0}, queues = {0};
    for (uint32_t i = 0; i < l->n; i++) {
        struct trace_job *j = &l->jobs[i];
        char name[16];
        snprintf(name, sizeof name, "j%u", i + 1);
        j->name = arena_str(&l->text, str_of(name));
        j->user = pseudonym(&users, 'u', j->user, &l->text);
        j->queue = pseudonym(&queues, 'q', j->queue, &l->text);
        j->node_list = (struct str){"", 0};
        j->need_tag = (struct str){"", 0};
        j->partition = (struct str){"", 0};
    }
    l->remark = (struct str){"", 0};
    strmap_done(&users.ids);
    strmap_done(&queues.ids);
}

static void list_warn(const struct trace_list *l)
{
    struct buf b = {0};
    if (trace_warnings(l, "muster: warning: ", &b))
        fwrite(b.data, 1, b.len, stderr);
    buf_done(&b);
}

static int convert_run(const struct cmd_line *line)
{
    struct err err = {0};
    struct trace_list l;
    if (cmd_given(line, "need-tag") && cmd_flag(line, "pseudonyms"))
        return cmd_misuse(line, "--pseudonyms leaves out the tags that --need-tag makes");
    if (trace_load(&l, line->args[0], cmd_text(line, "format"), &err) < 0)
        return cmd_fail(line, &err);
    if (cmd_given(line, "need-tag"))
        trace_need_partition(&l);
    list_warn(&l);
    if (cmd_flag(line, "pseudonyms"))
        list_pseudonyms(&l);
    int rc = list_write(cmd_text(line, "out"), &l, &err);
    trace_list_done(&l);
    return rc < 0 ? cmd_fail(line, &err) : CMD_OK;
}

static const char *const convert_examples[] = {
    "muster trace convert jobs.sacct -o jobs.jsonl",
    "# nothing in it names a person or a node:",
    "muster trace convert jobs.sacct --pseudonyms -o public.jsonl",
    NULL,
};

static const struct cmd convert_cmd = {
    .name = "convert",
    .summary = "write a trace as muster's own JSON Lines, in time order",
    .args = "FILE",
    .args_min = 1,
    .args_max = 1,
    .options = convert_options,
    .examples = convert_examples,
    .run = convert_run,
};

/* --- muster trace generate
 * ---------------------------------------------------------- */

static const struct cmd_option generate_options[] = {
    {"like", 'l', "acme|seren|kalos|philly|helios|pai", CMD_CHOICE, .preset = "acme",
     .help = "whose published statistics (acme is seren)"},
    {"seed", 's', "N", CMD_INT, .min = 0, .max = INT64_MAX, .preset = "1",
     .help = "random numbers start here"},
    {"nodes", 'n', "N", CMD_INT, .min = 1, .max = 131072,
     .help = "nodes of the cluster; without it, the site's"},
    {"jobs", 'j', "N", CMD_INT, .min = 1, .max = 20000000,
     .help = "so many jobs, over as many days as the load wants"},
    {"days", 'd', "TIME", CMD_DURATION, .min = US_PER_H, .max = 36600 * US_PER_DAY,
     .preset = "7d", .help = "jobs are submitted for so long"},
    {"load", 0, "PERCENT", CMD_INT, .min = 1, .max = 1000,
     .help = "GPU time that is asked for, of what the cluster has; without it, as many "
             "jobs a "
             "node and day as the site had"},
    {"one-node", 0, NULL, CMD_FLAG, .help = "only jobs that fit one node"},
    {"cluster-out", 0, "FILE", CMD_TEXT, .help = "write the cluster that goes with it"},
    {"out", 'o', "FILE|DIR", CMD_TEXT, .preset = "-",
     .help = "where to write; in a directory trace.jsonl and cluster.yaml"},
    {0},
};

static const char *const generate_sites_by_choice[] = {"acme",   "seren",  "kalos",
                                                       "philly", "helios", "pai"};

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void generate_say(const struct generate_site *site,
                         const struct generate_result *r)
{
    fprintf(stderr,
            "%u jobs in %.1f days, like %s\n"
            "  %-22s %12s %12s\n"
            "  %-22s %12.2f %12.2f\n  %-22s %12.1f %12.1f\n  %-22s %12.0f %12.0f\n"
            "  %-22s %12.3f %12.3f\n"
            "  offered load           %12.3f\n",
            r->jobs, r->days, site->about, "", "here", "published", "GPUs of a job",
            r->gpus_mean, site->gpus_mean, "run time, mean s", r->run_mean_s,
            site->run_mean_s, "GPU seconds of a job", r->gpu_s_per_job,
            site->gpu_s_per_job, "failed", r->fail_rate, site->fail_rate, r->load);
}

static int generate_write(const struct cmd_line *line, const struct trace_list *l,
                          struct buf *cluster, struct err *err)
{
    const char *out = cmd_text(line, "out"),
               *cluster_out = cmd_text(line, "cluster-out");
    char trace_path[4096], cluster_path[4096];
    int rc = 0;
    if (is_directory(out)) {
        int n = snprintf(trace_path, sizeof trace_path, "%s/trace.jsonl", out);
        int m = snprintf(cluster_path, sizeof cluster_path, "%s/cluster.yaml", out);
        if (n < 0 || m < 0 || (size_t)m >= sizeof cluster_path)
            return err_set(err, ENAMETOOLONG, "%.64s...: the path is too long", out);
        out = trace_path;
        cluster_out = cluster_out ? cluster_out : cluster_path;
    }
    if (cluster_out)
        rc = output_all(cluster_out, cluster, err);
    return rc < 0 ? rc : list_write(out, l, err);
}

static int generate_run(const struct cmd_line *line)
{
    struct err err = {0};
    struct trace_list l;
    struct buf cluster = {0};
    struct generate_result r;
    struct generate_options o = {
        .site = generate_site_find(generate_sites_by_choice[cmd_int(line, "like")]),
        .seed = (uint64_t)cmd_int(line, "seed"),
        .nodes = (uint32_t)cmd_int(line, "nodes"),
        .jobs = (uint32_t)cmd_int(line, "jobs"),
        .days = (double)cmd_int(line, "days") / (double)US_PER_DAY,
        .load = (double)cmd_int(line, "load") / 100,
        .one_node = cmd_flag(line, "one-node"),
    };
    if (o.jobs && cmd_given(line, "days"))
        return cmd_misuse(line, "--jobs and --days: one follows from the other");
    if (generate_trace(&o, &l, &cluster, &r, &err) < 0)
        return cmd_fail(line, &err);
    int rc = generate_write(line, &l, &cluster, &err);
    if (rc == 0)
        generate_say(o.site, &r);
    trace_list_done(&l);
    buf_done(&cluster);
    return rc < 0 ? cmd_fail(line, &err) : CMD_OK;
}

static const char *const generate_examples[] = {
    "mkdir -p demo; muster trace generate --like acme --load 90 --out demo",
    "muster sim --cluster demo/cluster.yaml --trace demo/trace.jsonl --policy "
    "fifo,muster",
    NULL,
};

static const struct cmd generate_cmd = {
    .name = "generate",
    .summary = "make a synthetic trace, and its cluster, from published statistics",
    .about = "Job counts, mean, median and longest run times, GPU counts, GPU time and "
             "failure\n"
             "rates are the published ones of the site; sizes in powers of two, "
             "lognormal run\n"
             "times, daily and weekly arrivals and generous limits are assumptions\n"
             "(docs/data.md). The same seed gives the same trace.",
    .options = generate_options,
    .examples = generate_examples,
    .run = generate_run,
};

static const struct cmd *const subs[] = {&info_cmd, &convert_cmd, &generate_cmd, NULL};

const struct cmd cmd_trace = {
    .name = "trace",
    .summary = "read, check, describe, convert and make traces",
    .about = "Formats: any CSV by a mapping file (formats/ has those of the public "
             "sets), Slurm's\n"
             "sacct, SWF, and muster's own JSON Lines; gz and zst too. docs/data.md "
             "says where\n"
             "each public set is to be had.",
    .subs = subs,
};
