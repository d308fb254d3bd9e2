/* simrun.c - one trace on one cluster under several policies, reported side by side
 *
 * Everything is read once; then each policy runs through its own core and twin, with the
 * same seed, so all meet the same faults. Output files are tried before anything is read, and
 * written at the end, each by way of a temporary name, so that a failed run leaves none half
 * written.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/simrun.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/feed.h"
#include "cmd/policyfile.h"
#include "cmd/progress.h"
#include "words/saying.h"

struct run {
    const struct simrun *r;
    struct scene scene;
    struct policy_file policies[SIMRUN_POLICIES_MAX];
    struct report *reports[SIMRUN_POLICIES_MAX];
    uint32_t n, ndone;
    struct buf jobs_csv;
    FILE *records;
    struct buf line;
    struct progress bar;
    struct experiment experiment;
    struct asks asks;
    struct buf warnings; /* one line each */
    struct feed *feed;   /* of the policy that runs */
};

static double cpu_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bool is_recorded(const struct policy *p)
{
    return !strcmp(p->name, "recorded");
}

static bool has_starts(const struct run *x)
{
    for (uint32_t i = 0; i < x->scene.trace.n; i++)
        if (x->scene.trace.jobs[i].start_us != TRACE_NEVER)
            return true;
    return false;
}

static int refuse_twice(const struct run *x, const struct policy_file *f, const char *name,
                        struct err *err)
{
    for (const struct policy_file *p = x->policies; p < f; p++)
        if (!strcmp(p->path, f->path))
            return err_set(err, EINVAL, "--policy: '%s' is named twice", name);
    return 0;
}

/* "queues: trace": what the trace's file says of them. */
static int set_queues(struct run *x, struct policy_file *f, struct err *err)
{
    const struct trace_site *site = &x->scene.trace.site;
    if (!f->policy.queues_trace)
        return 0;
    if (!site->nqueues && f->policy.quotas != QUOTAS_BORROW) /* a borrower may have all */
        fprintf(stderr,
                "warning: the trace says of no queue what it is guaranteed: policy %s keeps no "
                "quotas\n",
                f->policy.name);
    return policy_file_set_queues(f, site->queues, site->nqueues, err);
}

static int load_policies(struct run *x, struct err *err)
{
    struct str rest = str_of(x->r->policies);
    struct buf mix = {0};
    int rc = 0;
    while (rest.ptr && !rc) {
        char name[1024];
        struct str one = str_trim(str_cut(&rest, ','));
        if (!one.len || one.len >= sizeof name) {
            rc = err_set(err, EINVAL, "--policy: an empty or overlong name");
            break;
        }
        if (x->n == SIMRUN_POLICIES_MAX) {
            rc = err_set(err, E2BIG, "--policy: more than %d", SIMRUN_POLICIES_MAX);
            break;
        }
        snprintf(name, sizeof name, STR_FMT, STR_ARG(one));
        struct policy_file *f = &x->policies[x->n];
        rc = policy_file_load(f, name, err);
        if (rc)
            break;
        x->n++;
        rc = refuse_twice(x, f, name, err);
        if (rc)
            break;
        if (is_recorded(&f->policy) && !has_starts(x)) {
            fprintf(stderr, "warning: the trace has no recorded starts: recorded is left out\n");
            if (x->n > 1 || rest.ptr)
                policy_file_done(&x->policies[--x->n]);
            continue;
        }
        rc = set_queues(x, f, err);
        if (rc || f->policy.mix != MIX_TRACE)
            continue;
        if (!mix.len)
            scene_mix(&x->scene, &mix);
        rc = policy_file_set_mix(f, buf_as_str(&mix), err);
    }
    buf_done(&mix);
    return rc;
}

static void note_add(struct buf *note, struct str s)
{
    buf_z(note, note->len ? "; " : "");
    buf_str(note, s);
}

static void note_text(const struct run *x, const struct policy *p, struct buf *out)
{
    struct str rest = buf_as_str(&x->warnings);
    if (p->oracle)
        note_add(out, STR("run times told to the policy are the oracle's"));
    if (x->r->forever)
        note_add(out, STR("jobs never end"));
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        if (line.len)
            note_add(out, line);
    }
}

static void left_add(struct buf *out, uint64_t n, const char *what)
{
    char count[24];
    if (!n)
        return;
    buf_fmt(out, "%s%s %s", out->len ? ", " : "", count_text(n, count), what);
}

/* "107 left out: 106 have no run time, 1 dropped by the format's filters". Which rows the twin
 * can replay is its own rule (twin.c): they need a run time, and a start to be recorded. */
static void left_out_text(const struct run *x, bool recorded, struct buf *out)
{
    uint64_t never = 0, endless = 0, unknown = 0;
    struct buf why = {0};
    char count[24];
    for (uint32_t i = 0; i < x->scene.trace.n && !(x->scene.order && !recorded); i++) {
        const struct trace_job *j = &x->scene.trace.jobs[i];
        bool no_run = j->run_us == TRACE_NEVER && !x->r->forever;
        bool no_start = recorded && j->start_us == TRACE_NEVER;
        bool waited = j->state == TRACE_PENDING || j->state == TRACE_CANCELLED;
        never += no_run && waited;
        endless += no_run && !waited;
        unknown += no_start && !no_run;
    }
    left_add(&why, never, "never ran and have no run time");
    left_add(&why, endless, "have no run time");
    left_add(&why, unknown, "have no recorded start");
    left_add(&why, x->scene.trace.skipped, "dropped by the format's filters");
    if (why.len)
        buf_fmt(out, "%s left out: " STR_FMT,
                count_text(never + endless + unknown + x->scene.trace.skipped, count),
                STR_ARG(buf_as_str(&why)));
    buf_done(&why);
}

static struct report *new_report(struct run *x, const struct policy *p)
{
    struct buf note = {0}, left = {0};
    note_text(x, p, &note);
    left_out_text(x, is_recorded(p), &left);
    struct report_about about = {
        .policy = str_of(p->name),
        .cluster = x->scene.cluster.name.len ? x->scene.cluster.name
                                             : str_of(x->r->files.cluster),
        .trace = str_of(x->r->files.trace),
        .seed = x->r->files.seed,
        .capacity_milli = x->scene.capacity_milli,
        .nodes = x->scene.cluster.nodes.n,
        .note = buf_as_str(&note),
        .left_out = buf_as_str(&left),
        .window_from_us = x->scene.window_from_us,
        .window_until_us = x->scene.window_until_us,
    };
    struct report *r = report_create(&about);
    for (uint32_t i = 0; i < x->scene.trace.site.nqueues; i++)
        report_owed(r, x->scene.trace.site.queues[i].name,
                    (uint64_t)x->scene.trace.site.queues[i].gpu_milli);
    buf_done(&note);
    buf_done(&left);
    return r;
}

static int on_progress(void *arg, int64_t at, uint64_t records)
{
    struct run *x = arg;
    struct twin_counts c;
    (void)at;
    twin_counts(x->experiment.twin, &c);
    progress_show(&x->bar, c.arrived + c.finished, 2ull * c.narrivals, records);
    return 0;
}

/* "3661.000000 launch 00000012: n1 GPUs 0-3 (fits in one rack)" */
static void on_record(void *arg, const struct record *r)
{
    struct run *x = arg;
    int64_t since = r->at - twin_start_at(x->experiment.twin);
    buf_clear(&x->line);
    buf_fmt(&x->line, "%" PRIu64 " %" PRId64 ".%06d ", r->seq, since / US_PER_S,
            (int)(since % US_PER_S));
    saying_record(&x->scene.words, r, &x->line);
    buf_char(&x->line, '\n');
    fwrite(x->line.data, 1, x->line.len, x->records);
}

static void on_fold(void *arg, const struct record *r)
{
    struct run *x = arg;
    feed_record(x->feed, r);
    if (x->records)
        on_record(x, r);
}

/* The core's ledger must be the audit's, to the last micro-GPU. */
static int compare_ledgers(struct sched *s, const struct audit *a, struct err *err)
{
    struct ledger ours, theirs;
    sched_ledger(s, &ours);
    audit_ledger(a, &theirs);
    for (int i = 0; i < LEDGER_CAUSES; i++)
        if (ours.sum[i] != theirs.sum[i])
            return err_set(err, EPROTO,
                           "the core's ledger differs from the audit's at '%s': %.0f and %.0f "
                           "GPU-seconds",
                           ledger_cause_name(i), (double)ours.sum[i] / 1e9,
                           (double)theirs.sum[i] / 1e9);
    if (ours.capacity != theirs.capacity)
        return err_set(err, EPROTO, "the core's ledger differs from the audit's in capacity");
    return 0;
}

static int run_one(struct run *x, uint32_t i, struct err *err)
{
    struct policy_file *f = &x->policies[i];
    struct experiment *e = &x->experiment;
    struct twin_options o;
    struct feed feed = {
        .experiment = e,
        .asks = &x->asks,
        .words = &x->scene.words,
        .jobs_csv = x->r->jobs ? &x->jobs_csv : NULL,
        .policy = f->policy.name,
        .recorded = is_recorded(&f->policy),
        .levels = true,
        .arrivals = x->r->forever,
        .capacity_milli = x->scene.capacity_milli,
        .window_from_us = x->scene.window_from_us,
        .window_until_us = x->scene.window_until_us,
        .domains_at = INT64_MIN,
    };
    scene_twin(&x->scene, x->r->files.seed, &o);
    o.forever = x->r->forever;
    o.recorded = feed.recorded;
    o.oracle = f->policy.oracle;
    o.until_us = x->r->until_us;
    if (o.recorded)
        o.order = NULL;
    feed_hook(&feed, &o);
    struct journal *journal = NULL;
    int rc = experiment_begin(e, &o, err);
    if (rc)
        return rc;
    struct record_options record = x->r->journal;
    record.apart = x->n > 1;
    rc = record_open(&journal, &record, &x->scene, f, err);
    if (rc) {
        experiment_end(e);
        return rc;
    }
    feed.report = x->reports[i] = new_report(x, &f->policy);
    x->feed = &feed;
    feed_window(&feed);
    x->ndone = i + 1;
    struct control_options control = {
        .audit = x->r->check,
        .auditor = x->r->check ? audit_create() : NULL,
        .check = x->r->check,
        .count_bytes = x->r->check,
        .each = f->policy.each || x->r->forever,
        .progress = on_progress,
        .progress_arg = x,
        .observe = on_fold,
        .observe_arg = x,
        .observe_kinds = x->records ? 0 : FEED_KINDS,
        .journal = journal,
        .durable = x->r->journal.each,
    };
    if (x->records)
        fprintf(x->records, "# %s\n", f->policy.name);
    double cpu = cpu_now();
    progress_begin(&x->bar, f->policy.name);
    rc = experiment_run(e, buf_as_str(&f->text), &control, err);
    rc = record_close(journal, &e->totals, rc, err);
    progress_end(&x->bar);
    if (!rc && control.auditor)
        rc = compare_ledgers(e->sched, control.auditor, err);
    if (!rc)
        feed_end(&feed, cpu_now() - cpu);
    audit_destroy(control.auditor);
    feed_done(&feed);
    experiment_end(e);
    return rc ? err_prefix(err, "policy %s", f->policy.name) : 0;
}

/* A device, a pipe or a terminal is written to; renaming over it would destroy it. */
static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* Why nothing may be written there would be told after hours of simulation otherwise. The
 * file itself is left as it is until there is something to write. */
static int check_output(const char *path, struct err *err)
{
    char temp[4200];
    struct stat st;
    if (!path)
        return 0;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, EIO, "cannot write %s: %s", path, strerror(EISDIR));
    if (is_special(path))
        return access(path, W_OK) == 0 ? 0
                                       : err_set(err, EIO, "cannot write %s: %s", path,
                                                 strerror(errno));
    int len = snprintf(temp, sizeof temp, "%s.%ld.tmp", path, (long)getpid());
    FILE *f = len < (int)sizeof temp ? fopen(temp, "wb") : NULL;
    if (!f)
        return err_set(err, EIO, "cannot write %s: %s", path,
                       len < (int)sizeof temp ? strerror(errno) : "the name is too long");
    fclose(f);
    unlink(temp);
    return 0;
}

static int check_outputs(const struct simrun *r, struct err *err)
{
    const char *const paths[] = {r->out, r->html, r->jobs, r->columns, r->records};
    int rc = 0;
    for (size_t i = 0; i < sizeof paths / sizeof *paths && !rc; i++)
        rc = check_output(paths[i], err);
    return rc;
}

static int write_special(const char *path, const struct buf *b, struct err *err)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return err_set(err, EIO, "cannot write %s: %s", path, strerror(errno));
    bool put = fwrite(b->data, 1, b->len, f) == b->len;
    if (fclose(f) || !put)
        return err_set(err, EIO, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

static int write_file(const char *path, const struct buf *b, struct err *err)
{
    if (is_special(path))
        return write_special(path, b, err);
    char temp[4200];
    snprintf(temp, sizeof temp, "%s.%ld.tmp", path, (long)getpid());
    FILE *f = fopen(temp, "wb");
    if (!f)
        return err_set(err, EIO, "cannot write %s: %s", path, strerror(errno));
    size_t put = fwrite(b->data, 1, b->len, f);
    bool closed = fclose(f) == 0;
    if (put != b->len || !closed || rename(temp, path)) {
        int code = errno ? errno : EIO;
        unlink(temp);
        return err_set(err, EIO, "cannot write %s: %s", path, strerror(code));
    }
    return 0;
}

static uint32_t width_of_stdout(void)
{
    struct winsize ws;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) || !ws.ws_col)
        return 100;
    return ws.ws_col;
}

static int write_columns(struct run *x, struct err *err)
{
    struct buf out = {0};
    int rc = 0;
    for (uint32_t i = 0; i < x->n && !rc; i++) {
        if (x->n > 1)
            buf_fmt(&out, "# %s\n", x->policies[i].policy.name);
        rc = report_columns(x->reports[i], &out, err);
    }
    if (!rc)
        rc = write_file(x->r->columns, &out, err);
    buf_done(&out);
    return rc;
}

static int write_html(struct run *x, const char *path, struct err *err)
{
    struct buf out = {0};
    report_html(x->reports, x->n, &out);
    int rc = write_file(path, &out, err);
    buf_done(&out);
    return rc;
}

static int write_all(struct run *x, struct err *err)
{
    struct buf out = {0};
    bool tty = !x->r->out && isatty(STDOUT_FILENO);
    int rc = 0;
    if (x->r->output == OUTPUT_TABLE)
        report_text(x->reports, x->n, width_of_stdout(), tty && !getenv("NO_COLOR"), &out);
    else if (x->r->output == OUTPUT_JSON)
        report_json(x->reports, x->n, &out);
    else
        report_html(x->reports, x->n, &out);
    if (x->r->out)
        rc = write_file(x->r->out, &out, err);
    else if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout))
        rc = err_set(err, EIO, "cannot write to standard output");
    buf_done(&out);
    if (!rc && x->r->html)
        rc = write_html(x, x->r->html, err);
    if (!rc && x->r->columns)
        rc = write_columns(x, err);
    if (!rc && x->r->jobs)
        rc = write_file(x->r->jobs, &x->jobs_csv, err);
    return rc;
}

/* Written as it happens, since it may be long and tells most about a run that fails. */
static int open_records(struct run *x, struct err *err)
{
    x->records = fopen(x->r->records, "wb");
    return x->records ? 0
                      : err_set(err, EIO, "cannot write %s: %s", x->r->records,
                                strerror(errno));
}

static void warn(struct run *x)
{
    struct str rest;
    asks_init(&x->asks, &x->scene);
    asks_warnings(&x->asks, &x->warnings);
    rest = buf_as_str(&x->warnings);
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        if (line.len)
            fprintf(stderr, "warning: " STR_FMT "\n", STR_ARG(line));
    }
}

int simrun(const struct simrun *r, struct err *err)
{
    struct run *x = mem_zero(sizeof *x);
    x->r = r;
    int rc = check_outputs(r, err);
    if (!rc)
        rc = scene_load(&x->scene, &r->files, err);
    if (!rc)
        warn(x);
    if (!rc)
        rc = load_policies(x, err);
    if (!rc && r->jobs)
        feed_jobs_head(&x->jobs_csv);
    if (!rc && r->records)
        rc = open_records(x, err);
    for (uint32_t i = 0; i < x->n && !rc; i++)
        rc = run_one(x, i, err);
    if (x->records && fclose(x->records) && !rc)
        rc = err_set(err, EIO, "cannot write %s: %s", r->records, strerror(errno));
    if (!rc)
        rc = write_all(x, err);
    for (uint32_t i = 0; i < x->ndone; i++)
        report_destroy(x->reports[i]);
    for (uint32_t i = 0; i < x->n; i++)
        policy_file_done(&x->policies[i]);
    buf_done(&x->jobs_csv);
    buf_done(&x->line);
    buf_done(&x->warnings);
    asks_done(&x->asks);
    scene_done(&x->scene);
    free(x);
    return rc;
}
