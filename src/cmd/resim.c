/* resim.c - `muster resim`: a recorded run again, under other policies
 *
 * The policy of the record goes first, through the twin that was made of the record:
 * what differs then from the record is the twin's own gap, and every answer for another
 * policy is to be read beside it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/feed.h"
#include "cmd/policyfile.h"
#include "cmd/progress.h"
#include "sched/mix.h"
#include "world/twin/remake.h"

enum { POLICIES_MAX = 16 };

static const struct cmd_option options[] = {
    {"policy", 'p', "NAME,...", CMD_TEXT,
     .help = "policies by name or path; without it only the record's own, for the gap"},
    {"seed", 's', "N", CMD_INT, .min = 0, .max = INT64_MAX, .preset = "42",
     .help = "of what is random in a policy"},
    {"check", 0, NULL, CMD_FLAG,
     .help = "check every promise after every record, by code the scheduler does not "
             "share"},
    {"output", 'o', "table|json|html", CMD_CHOICE, .preset = "table",
     .help = "what is printed"},
    {0},
};

struct resim {
    const struct cmd_line *line;
    const char *path;
    struct remade m;
    struct experiment e;
    struct report *reports[POLICIES_MAX + 1];
    uint32_t n;
    struct progress bar;
    struct strmap ids;              /* job name -> its place in m.jobs */
    VEC(struct trace_queue) queues; /* of the recorded policy */
    /* of the run that is on */
    struct feed feed;
    void (*feed_end)(void *arg, const struct twin_outcome *o);
    void (*feed_instant)(void *arg, int64_t at);
    VEC(int64_t) starts;
    unsigned __int128 used; /* milli-GPU x us within the record's span */
    int64_t used_at;
    uint64_t used_milli;
};

/* What the record knows of a job; called at its end. */
static bool known(void *arg, const struct twin_outcome *o, struct feed_known *ret)
{
    struct resim *x = arg;
    uint32_t id = strmap_get(&x->ids, o->name);
    if (id == MAP_NONE)
        return false;
    const struct remade_job *j = &x->m.jobs.at[id];
    x->starts.at[id] = o->first_start_us;
    *ret = (struct feed_known){.queue = words_text(&x->m.words, j->spec->queue),
                               .gpu_milli = j->gpu_milli,
                               .recorded_start_us = j->first_start};
    return true;
}

static void on_end(void *arg, const struct twin_outcome *o)
{
    struct resim *x = arg;
    x->feed_end(&x->feed, o);
}

static void on_instant(void *arg, int64_t at)
{
    struct resim *x = arg;
    struct sched_counts c;
    sched_counts(x->e.sched, &c);
    int64_t until = at < x->m.span_us ? at : x->m.span_us;
    if (until > x->used_at)
        x->used += (unsigned __int128)(until - x->used_at) * x->used_milli;
    x->used_at = at;
    x->used_milli = c.used_gpu_milli > 0 ? (uint64_t)c.used_gpu_milli : 0;
    x->feed_instant(&x->feed, at);
}

static void on_record(void *arg, const struct record *r)
{
    struct resim *x = arg;
    feed_record(&x->feed, r);
}

static int on_progress(void *arg, int64_t at, uint64_t records)
{
    struct resim *x = arg;
    (void)at;
    struct twin_counts c;
    twin_counts(x->e.twin, &c);
    progress_show(&x->bar, c.arrived + c.finished, 2ull * x->m.jobs.n, records);
    return 0;
}

static void plural(struct buf *out, uint64_t n, const char *one, const char *many)
{
    char text[24];
    buf_fmt(out, "%s %s", count_text(n, text), n == 1 ? one : many);
}

/* What was put into the truth, and what stays as it was although it may have been a
 * reaction. */
static void note_text(const struct resim *x, const struct policy *p, struct buf *out)
{
    const struct remade *m = &x->m;
    char text[24];
    buf_z(out, "run times from the record");
    if (m->censored) {
        buf_z(out, "; ");
        plural(out, m->censored, "was cut short and counts",
               "were cut short and count");
        buf_z(out, " as at least what was seen");
    }
    if (m->guessed) {
        buf_z(out, "; ");
        plural(out, m->guessed, "job", "jobs");
        buf_z(out, " never ran there: told run times instead");
    }
    if (m->truth.start_us)
        buf_fmt(out, "; starts take %s, as measured",
                duration_text(m->truth.start_us, text));
    if (m->orders) {
        buf_z(out, "; ");
        plural(out, m->orders, "order", "orders");
        buf_z(out, " of people kept, whatever they reacted to");
    }
    if (m->foreigns) {
        buf_z(out, "; ");
        plural(out, m->foreigns, "report", "reports");
        buf_z(out, " of other schedulers' pods kept");
    }
    if (p->oracle)
        buf_z(out, "; run times told to the policy are the oracle's");
}

static struct report *new_report(struct resim *x, const struct policy *p, bool own)
{
    struct buf note = {0};
    char name[POLICY_NAME_MAX + 16];
    note_text(x, p, &note);
    snprintf(name, sizeof name, own ? "%s (recorded)" : "%s", p->name);
    struct report_about about = {
        .policy = str_of(name),
        .cluster = str_of(x->m.cluster[0] ? x->m.cluster : "of the journal"),
        .trace = str_of(x->path),
        .seed = (uint64_t)cmd_int(x->line, "seed"),
        .capacity_milli = x->m.capacity_milli,
        .nodes = x->m.nodes.n,
        .note = buf_as_str(&note),
    };
    struct report *r = report_create(&about);
    buf_done(&note);
    return r;
}

static int by_size(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* The record's own policy against the record: waits of jobs that started in both. */
static void tell_gap(struct resim *x)
{
    uint32_t n = 0, same = 0, never = 0;
    double recorded = 0, twin = 0;
    int64_t *errors = mem_alloc((x->m.jobs.n + 1u) * sizeof *errors);
    char remark[300];
    for (uint32_t i = 0; i < x->m.jobs.n; i++) {
        const struct remade_job *j = &x->m.jobs.at[i];
        int64_t at = x->starts.at[i];
        never += at == INT64_MIN && j->first_start != INT64_MIN;
        if (at == INT64_MIN || j->first_start == INT64_MIN)
            continue;
        recorded += (double)(j->first_start - j->at);
        twin += (double)(at - j->at);
        errors[n++] = at > j->first_start ? at - j->first_start : j->first_start - at;
        same += at == j->first_start;
    }
    qsort(errors, n, sizeof *errors, by_size);
    double whole = (double)x->m.span_us * (double)x->m.capacity_milli;
    snprintf(remark, sizeof remark,
             "%" PRIu32 " of %" PRIu32 " jobs start at the recorded "
             "moment; read the other policies beside this gap",
             same, n);
    struct report_error e = {
        .jobs = n,
        .never = never,
        .replayed = x->m.jobs.n,
        .wait_mean_recorded_s = n ? recorded / n / 1e6 : 0,
        .wait_mean_twin_s = n ? twin / n / 1e6 : 0,
        .wait_p95_abs_err_s = n ? (double)errors[(n * 95ull + 99) / 100 - 1] / 1e6 : 0,
        .util_recorded = whole > 0 ? (double)x->m.used / whole : 0,
        .util_twin = whole > 0 ? (double)x->used / whole : 0,
        .remark = str_of(remark),
        .again = true,
    };
    report_error(x->feed.report, &e);
    free(errors);
}

static double cpu_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void begin_run(struct resim *x, const struct policy *p, bool own)
{
    x->reports[x->n++] = x->feed.report = new_report(x, p, own);
    x->used_milli = 0;
    x->used = 0;
    x->used_at = 0;
    vec_clear(&x->starts);
    vec_resize(&x->starts, x->m.jobs.n);
    for (uint32_t i = 0; i < x->m.jobs.n; i++)
        x->starts.at[i] = INT64_MIN;
}

/* The feed of `muster sim` hears everything; we listen beside it. */
static void hook(struct resim *x, const struct policy *p, struct twin_options *o)
{
    x->feed = (struct feed){.experiment = &x->e,
                            .words = &x->m.words,
                            .policy = p->name,
                            .levels = true,
                            .capacity_milli = x->m.capacity_milli,
                            .known = known,
                            .known_arg = x};
    feed_hook(&x->feed, o);
    x->feed_end = o->on_end;
    x->feed_instant = o->on_instant;
    o->on_end = on_end;
    o->on_instant = on_instant;
    o->arg = x;
}

static int run_one(struct resim *x, struct str text, const struct policy *p, bool own,
                   struct err *err)
{
    struct twin_options o;
    remade_twin(&x->m, (uint64_t)cmd_int(x->line, "seed"), &o);
    hook(x, p, &o);
    o.oracle = p->oracle;
    /* Where the record was cut, so is the comparison. */
    o.until_us = x->m.censored || x->m.guessed ? x->m.span_us : 0;
    int rc = experiment_begin(&x->e, &o, err);
    if (rc)
        return rc;
    remade_play(&x->m, x->e.twin, p->oracle);
    begin_run(x, p, own);
    struct control_options control = {
        .audit = cmd_flag(x->line, "check"),
        .check = cmd_flag(x->line, "check"),
        .each = p->each,
        .progress = on_progress,
        .progress_arg = x,
        .observe = on_record,
        .observe_kinds = FEED_KINDS,
        .observe_arg = x,
    };
    double cpu = cpu_now();
    progress_begin(&x->bar, p->name);
    rc = experiment_run(&x->e, text, &control, err);
    progress_end(&x->bar);
    if (!rc)
        feed_end(&x->feed, cpu_now() - cpu);
    if (!rc && own)
        tell_gap(x);
    feed_done(&x->feed);
    experiment_end(&x->e);
    return rc ? err_prefix(err, "policy %s", p->name) : 0;
}

/* What the recorded policy guaranteed its queues: another policy may ask for the same.
 */
static void keep_queues(struct resim *x, const struct queue_tree *t)
{
    uint32_t gpu = 0;
    while (gpu < t->nresources &&
           (t->resources[gpu].kind != QUOTA_GPU || t->resources[gpu].type.len))
        gpu++;
    for (uint32_t i = 1; i < t->nqueues && gpu < t->nresources; i++) {
        int64_t milli = t->queues[i].amounts.guaranteed[gpu];
        if (!t->queues[i].nchildren && milli != QUOTA_ABSENT)
            vec_push(&x->queues, ((struct trace_queue){arena_str(&x->m.kept.arena,
                                                                 t->queues[i].name),
                                                       milli}));
    }
}

static int run_recorded(struct resim *x, struct err *err)
{
    struct arena a = {0};
    struct policy p;
    int rc = policy_parse("the recorded policy", x->m.policy, &a, &p, err);
    if (!rc)
        keep_queues(x, &p.queues);
    if (!rc)
        rc = run_one(x, x->m.policy, &p, true, err);
    arena_done(&a);
    return rc;
}

/* The typical mix of the recorded jobs' tasks. */
static void mix_of(const struct remade *m, struct buf *out)
{
    struct mix mix = {0};
    for (uint32_t i = 0; i < m->jobs.n; i++) {
        const struct job_spec *s = m->jobs.at[i].spec;
        for (uint32_t g = 0; g < s->ngroups; g++)
            if (s->groups[g].shape != GROUP_NONE)
                mix_add(&mix, &s->shapes[s->groups[g].shape], s->groups[g].count.want);
    }
    mix_text(&mix, &m->words, out);
    mix_done(&mix);
}

static int run_named(struct resim *x, const char *name, struct err *err)
{
    struct policy_file f = {0};
    struct buf mix = {0};
    int rc = policy_file_load(&f, name, err);
    if (rc)
        return rc;
    if (f.policy.queues_trace)
        rc = policy_file_set_queues(&f, x->queues.at, x->queues.n, err);
    if (!rc && f.policy.mix == MIX_TRACE) {
        mix_of(&x->m, &mix);
        rc = policy_file_set_mix(&f, buf_as_str(&mix), err);
    }
    if (!rc)
        rc = run_one(x, buf_as_str(&f.text), &f.policy, false, err);
    buf_done(&mix);
    policy_file_done(&f);
    return rc;
}

static int run_all(struct resim *x, struct err *err)
{
    const char *list = cmd_text(x->line, "policy");
    struct str rest = str_of(list);
    int rc = run_recorded(x, err);
    while (!rc && rest.ptr && list) {
        char name[1024];
        struct str one = str_trim(str_cut(&rest, ','));
        if (!one.len || one.len >= sizeof name)
            return err_set(err, EINVAL, "--policy: an empty or overlong name");
        if (x->n > POLICIES_MAX)
            return err_set(err, E2BIG, "--policy: more than %d", POLICIES_MAX);
        snprintf(name, sizeof name, STR_FMT, STR_ARG(one));
        rc = run_named(x, name, err);
    }
    return rc;
}

static uint32_t width_of_stdout(void)
{
    struct winsize ws;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) || !ws.ws_col)
        return 100;
    return ws.ws_col;
}

static void print(struct resim *x)
{
    struct buf out = {0};
    bool tty = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    int64_t how = cmd_int(x->line, "output");
    if (how == 0)
        report_text(x->reports, x->n, width_of_stdout(), tty, &out);
    else if (how == 1)
        report_json(x->reports, x->n, &out);
    else
        report_html(x->reports, x->n, &out);
    fwrite(out.data, 1, out.len, stdout);
    buf_done(&out);
}

static int run(const struct cmd_line *line)
{
    struct err err = {0};
    struct resim *x = mem_zero(sizeof *x);
    x->line = line;
    x->path = line->args[0];
    int rc = remake(&x->m, x->path, &err);
    for (uint32_t i = 0; i < x->m.jobs.n && !rc; i++)
        strmap_put(&x->ids, x->m.jobs.at[i].spec->name, i);
    if (!rc)
        rc = run_all(x, &err);
    if (!rc)
        print(x);
    for (uint32_t i = 0; i < x->n; i++)
        report_destroy(x->reports[i]);
    strmap_done(&x->ids);
    vec_done(&x->starts);
    vec_done(&x->queues);
    remade_done(&x->m);
    free(x);
    return rc ? cmd_fail(line, &err) : CMD_OK;
}

static const char *const examples[] = {
    "muster sim -c site.yaml -t jobs.csv -p fifo --journal run.journal",
    "muster resim run.journal --policy muster,kueue-like",
    NULL,
};

const struct cmd cmd_resim = {
    .name = "resim",
    .summary = "run a journal's history again under other policies",
    .args = "DIR",
    .args_min = 1,
    .args_max = 1,
    .about = "Makes a simulated cluster out of a journal: the same jobs, nodes and "
             "faults; how long\n"
             "tasks ran there is the work that is hidden from the scheduler here. The "
             "recorded policy\n"
             "runs first: what differs from the record is the simulation's own gap, "
             "printed on top.\n"
             "Then the other policies answer.",
    .options = options,
    .examples = examples,
    .run = run,
};
