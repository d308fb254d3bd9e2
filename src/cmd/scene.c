/* scene.c - everything a simulation reads
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/scene.h"

#include <errno.h>
#include <stdio.h>

#include "base/units.h"
#include "cmd/policyfile.h"
#include "sched/mix.h"
#include "trace/fault.h"
#include "world/twin/convert.h"
#include "world/twin/faultlist.h"

static int load_models(struct scene *s, const struct scene_files *f, struct err *err)
{
    char path[4096];
    int rc = 0;
    truth_init(&s->truth);
    belief_init(&s->belief);
    if (f->truth) {
        rc = data_file_find("truth", "MUSTER_TRUTH", f->truth, path, err);
        if (!rc)
            rc = truth_load(path, &s->truth, err);
    }
    if (!rc && f->belief) {
        rc = data_file_find("belief", "MUSTER_BELIEF", f->belief, path, err);
        if (!rc)
            rc = belief_load(path, &s->belief, err);
    }
    return rc;
}

/* The order names rows of the file; jobs were sorted by time since. */
static int order_to_jobs(struct scene *s, const char *path, struct err *err)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < s->trace.n; i++)
        if (s->trace.jobs[i].row >= rows)
            rows = s->trace.jobs[i].row + 1;
    if (rows > UINT32_MAX)
        return err_set(err, ERANGE, "%s: the trace has too many rows", path);
    uint32_t *job_of = mem_alloc((size_t)(rows + 1) * sizeof *job_of);
    memset(job_of, 0xff, (size_t)(rows + 1) * sizeof *job_of);
    for (uint32_t i = 0; i < s->trace.n; i++)
        job_of[s->trace.jobs[i].row] = i;
    int rc = 0;
    for (uint32_t i = 0; i < s->norder && !rc; i++) {
        uint32_t row = s->order[i];
        if (row >= rows || job_of[row] == UINT32_MAX)
            rc = err_set(err, EINVAL, "%s: place %u names row %u, which the trace lacks", path,
                         i, row);
        else
            s->order[i] = job_of[row];
    }
    free(job_of);
    return rc;
}

static int load_order(struct scene *s, const struct scene_files *f, struct err *err)
{
    uint32_t nranks;
    if (!f->order)
        return 0;
    int rc = trace_order_load(f->order, f->seed, &s->order, &s->norder, &s->ranks, &nranks,
                              err);
    if (rc)
        return rc;
    if (nranks != s->cluster.nodes.n)
        return err_set(err, EINVAL, "%s: ranks %u nodes, the cluster has %u", f->order, nranks,
                       s->cluster.nodes.n);
    return order_to_jobs(s, f->order, err);
}

/* Recorded faults, dealt onto the cluster's nodes. */
static int load_fault_file(struct scene *s, const struct scene_files *f, struct err *err)
{
    struct fault_list list;
    VEC(struct faultlist_row) rows = {0};
    int rc = fault_load(&list, f->faults, err);
    if (rc)
        return rc;
    uint32_t servers = f->fault_servers ? f->fault_servers : list.nodes.n;
    if (servers < list.nodes.n) {
        rc = err_set(err, ERANGE, "%s: %u servers had faults, so %u were not all of them",
                     f->faults, list.nodes.n, servers);
        fault_list_done(&list);
        return rc;
    }
    for (uint32_t i = 0; i < list.faults.n; i++) {
        const struct fault *one = &list.faults.at[i];
        int64_t until = one->end_us == FAULT_OPEN ? list.last_us : one->end_us;
        vec_push(&rows, (struct faultlist_row){one->node, one->start_us, until});
    }
    s->faults_span_us = list.last_us;
    s->nfaults = faultlist_map(rows.at, rows.n, servers, list.last_us, s->cluster.nodes.n,
                               f->seed, &s->faults);
    vec_done(&rows);
    fault_list_done(&list);
    return 0;
}

/* A number is a rate, anything else a file. */
static int load_faults(struct scene *s, const struct scene_files *f, struct err *err)
{
    double rate;
    if (!f->faults)
        return 0;
    if (str_to_double(str_of(f->faults), &rate))
        return load_fault_file(s, f, err);
    if (!(rate >= 0 && rate <= 1e6))
        return err_set(err, ERANGE, "--faults: a rate lies between 0 and 1000000");
    s->truth.fault_rate = rate;
    return 0;
}

/* The trace's GPU types as the cluster spells them, and what is doubtful in the trace. */
static void trace_settle(struct scene *s)
{
    VEC(struct str) names = {0};
    struct buf b = {0};
    const struct device_type *last = NULL;
    for (uint32_t i = 0; i < s->cluster.nodes.n; i++) {
        const struct node_desc *d = &s->cluster.nodes.at[i];
        for (uint32_t k = 0; k < d->ndevices; k++) {
            if (d->devices[k].type == last)
                continue;
            last = d->devices[k].type;
            struct str name = words_text(&s->words, last->name);
            uint32_t at = 0;
            while (at < names.n && !str_eq(names.at[at], name))
                at++;
            if (at == names.n)
                vec_push(&names, name);
        }
    }
    trace_spell_types(&s->trace, names.at, names.n);
    if (trace_warnings(&s->trace, "muster: warning: ", &b))
        fwrite(b.data, 1, b.len, stderr);
    vec_done(&names);
    buf_done(&b);
}

/* The cluster that the trace's file describes (docs/trace-format.md). */
static int cluster_of_trace(struct scene *s, const struct scene_files *f, struct err *err)
{
    const struct trace_site *site = &s->trace.site;
    if (!site->cluster.len)
        return err_set(err, ENOENT,
                       "--cluster trace: the format %s says nothing of a cluster",
                       s->trace.format);
    if (site->cluster_lacks.len)
        return err_set(err, ENOENT,
                       "--cluster trace: %s has no head with the word " STR_FMT "=", f->trace,
                       STR_ARG(site->cluster_lacks));
    char name[64];
    snprintf(name, sizeof name, "cluster of the format %s", s->trace.format);
    return cluster_file_parse(&s->cluster, name, site->cluster, &s->words, err);
}

static int load_cluster(struct scene *s, const struct scene_files *f, struct err *err)
{
    if (strcmp(f->cluster, "trace") != 0) {
        int rc = cluster_file_load(&s->cluster, f->cluster, &s->words, err);
        return rc ? rc : trace_load(&s->trace, f->trace, f->format, err);
    }
    int rc = trace_load(&s->trace, f->trace, f->format, err);
    return rc ? rc : cluster_of_trace(s, f, err);
}

/* "12d..40d" counts from the first arrival. */
static int load_window(struct scene *s, const struct scene_files *f, struct err *err)
{
    const struct trace_site *site = &s->trace.site;
    if (!f->window && site->window_from_us != TRACE_NEVER) {
        s->window_from_us = site->window_from_us;
        s->window_until_us = site->window_until_us;
    }
    if (!f->window || !strcmp(f->window, "all"))
        return 0;
    const char *dots = strstr(f->window, "..");
    struct str from = {f->window, dots ? (size_t)(dots - f->window) : 0};
    int64_t a = 0, b = 0, start = s->trace.jobs[0].submit_us;
    int rc = dots ? duration_parse(from, &a, err)
                  : err_set(err, EINVAL, "expected FROM..UNTIL, such as 2d..30d, or all");
    if (!rc)
        rc = duration_parse(str_of(dots + 2), &b, err);
    if (!rc && (a >= b || b > INT64_MAX / 4 || start > INT64_MAX / 4))
        rc = err_set(err, ERANGE, "it must end after it begins");
    if (rc)
        return err_prefix(err, "--window %.40s", f->window);
    s->window_from_us = start + a;
    s->window_until_us = start + b;
    return 0;
}

int scene_load(struct scene *ret, const struct scene_files *f, struct err *err)
{
    struct scene s = {0};
    int rc = load_models(&s, f, err);
    if (!rc)
        rc = load_cluster(&s, f, err);
    if (!rc && !s.trace.n)
        rc = err_set(err, EINVAL, "%s: no row is left after its filters", f->trace);
    if (!rc) {
        trace_settle(&s);
        rc = load_order(&s, f, err);
    }
    if (!rc)
        rc = load_window(&s, f, err);
    if (!rc)
        rc = load_faults(&s, f, err);
    if (rc) {
        scene_done(&s);
        return rc;
    }
    for (uint32_t i = 0; i < s.cluster.nodes.n; i++)
        s.capacity_milli += s.cluster.nodes.at[i].ndevices * 1000ull;
    *ret = s;
    return 0;
}

void scene_done(struct scene *s)
{
    cluster_file_done(&s->cluster);
    trace_list_done(&s->trace);
    free(s->order);
    free(s->ranks);
    free(s->faults);
    words_done(&s->words);
    memset(s, 0, sizeof *s);
}

void scene_twin(const struct scene *s, uint64_t seed, struct twin_options *ret)
{
    *ret = (struct twin_options){
        .words = (struct words *)(uintptr_t)&s->words,
        .nodes = s->cluster.nodes.at,
        .nnodes = s->cluster.nodes.n,
        .levels = s->cluster.levels,
        .nlevels = s->cluster.nlevels,
        .jobs = s->trace.jobs,
        .njobs = s->trace.n,
        .gpus_per_node = s->trace.gpus_per_node,
        .order = s->order,
        .norder = s->norder,
        .ranks = s->ranks,
        .seed = seed,
        .truth = &s->truth,
        .belief = &s->belief,
        .faults = s->faults,
        .nfaults = s->nfaults,
        .faults_span_us = s->faults_span_us,
    };
}

void scene_mix(struct scene *s, struct buf *out)
{
    struct mix mix = {0};
    struct convert c;
    struct arena a = {0};
    struct belief belief;
    belief_init(&belief);
    convert_init(&c, &s->words, s->trace.gpus_per_node ? s->trace.gpus_per_node : 8, false,
                 &belief, 0);
    for (uint32_t i = 0; i < s->trace.n; i++) {
        const struct job_spec *spec =
            convert_job(&c, &s->trace.jobs[i], STR("mix"), 0, &a);
        for (uint32_t g = 0; g < spec->ngroups; g++)
            if (spec->groups[g].shape != GROUP_NONE)
                mix_add(&mix, &spec->shapes[spec->groups[g].shape], spec->groups[g].count.want);
        arena_reset(&a);
    }
    mix_text(&mix, &s->words, out);
    mix_done(&mix);
    convert_done(&c);
    arena_done(&a);
}
