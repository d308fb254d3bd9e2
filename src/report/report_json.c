/* report_json.c - the same figures for programs: docs/report-format.md is the schema
 *
 * Written straight into the buffer, one run after the other. Exact sums are integers:
 * whole seconds and the microseconds beyond them; GPU time of the ledger is a decimal
 * string of milli-GPU microseconds, since it passes 2^63. What was not measured is
 * null, never 0. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/units.h"
#include "report/figures.h"
#include "report/summary.h"

enum { JSON_VERSION = 1, JSON_POINTS = 512 };

struct json {
    struct buf *out;
    bool comma; /* the next value needs one before it */
};

static void json_key(struct json *j, const char *key)
{
    if (j->comma)
        buf_char(j->out, ',');
    j->comma = false;
    if (key) {
        buf_json(j->out, str_of(key));
        buf_char(j->out, ':');
    }
}

static void json_open(struct json *j, const char *key, char bracket)
{
    json_key(j, key);
    buf_char(j->out, bracket);
}

static void json_close(struct json *j, char bracket)
{
    buf_char(j->out, bracket);
    j->comma = true;
}

static void json_raw(struct json *j, const char *key, const char *text)
{
    json_key(j, key);
    buf_z(j->out, text);
    j->comma = true;
}

static void json_str(struct json *j, const char *key, struct str s)
{
    json_key(j, key);
    buf_json(j->out, s);
    j->comma = true;
}

/* Our integers stay below 2^63 (a reader's limit): what may pass it goes as a string.
 */
static void json_int(struct json *j, const char *key, __int128 v)
{
    figure f;

    json_raw(j, key, i128_text(v, f));
}

static void json_real(struct json *j, const char *key, double v)
{
    figure f;

    json_raw(j, key, isfinite(v) ? real_text(v, f) : "null");
}

static void json_fraction(struct json *j, const char *key, double v)
{
    json_real(j, key, v < 0 ? NAN : v);
}

static void json_stat(struct json *j, const char *key, const struct group_stat *g)
{
    static const char *const names[QUANTILES] = {"p50_s", "p95_s", "p99_s", "max_s"};
    int q;

    json_open(j, key, '{');
    json_int(j, "jobs", (__int128)g->n);
    json_int(j, "sum_s", g->sum / US_PER_S);
    json_int(j, "sum_rest_us", g->sum % US_PER_S);
    json_real(j, "mean_s", g->n ? group_mean_s(g) : NAN);
    for (q = 0; q < QUANTILES; q++)
        json_real(j, names[q], g->n ? (double)g->at[q] / 1e6 : NAN);
    json_close(j, '}');
}

static void json_group(struct json *j, const char *what, const struct group_summary *g)
{
    json_open(j, NULL, '{');
    json_str(j, what, g->name);
    json_int(j, "jobs", (__int128)g->jobs);
    json_stat(j, "wait", &g->wait);
    json_stat(j, "completion", &g->span);
    json_close(j, '}');
}

static void json_reasons(struct json *j, const struct summary *s)
{
    uint32_t i;

    json_open(j, "never_started_because", '[');
    for (i = 0; i < s->nreasons && i < REASONS_SHOWN; i++) {
        json_open(j, NULL, '{');
        json_int(j, "jobs", (__int128)s->reasons[i].jobs);
        json_str(j, "reason", s->reasons[i].why);
        json_str(j, "example", s->reasons[i].example);
        if (s->reasons[i].more.len)
            json_str(j, "example_says", s->reasons[i].more);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_groups(struct json *j, const struct summary *s)
{
    uint32_t i;

    json_stat(j, "wait", &s->all.wait);
    json_stat(j, "completion", &s->all.span);
    json_open(j, "by_size", '[');
    for (i = 0; i < SIZE_CLASSES; i++)
        if (s->sizes[i].jobs)
            json_group(j, "size", &s->sizes[i]);
    json_close(j, ']');
    json_open(j, "by_queue", '[');
    for (i = 0; i < s->nqueues; i++)
        json_group(j, "queue", &s->queues[i]);
    json_close(j, ']');
}

static void json_about(struct json *j, const struct summary *s)
{
    const struct report *r = s->r;
    figure f;

    json_str(j, "policy", r->about.policy);
    json_str(j, "cluster", r->about.cluster);
    json_str(j, "trace", r->about.trace);
    json_str(j, "note", r->about.note);
    json_str(j, "left_out", r->about.left_out);
    /* A seed may use all 64 bits: as text it survives every reader. */
    json_str(j, "seed", str_of(i128_text((__int128)r->about.seed, f)));
    json_open(j, "window", '{');
    json_raw(j, "set", r->windowed ? "true" : "false");
    json_int(j, "from_us", r->about.window_from_us);
    json_int(j, "until_us", r->about.window_until_us);
    json_int(j, "jobs_outside", (__int128)r->outside);
    json_close(j, '}');
    json_int(j, "nodes", r->about.nodes);
    json_int(j, "capacity_gpu_milli", (__int128)r->about.capacity_milli);
}

static void json_jobs(struct json *j, const struct summary *s)
{
    const struct report *r = s->r;

    json_open(j, "jobs", '{');
    json_int(j, "total", (__int128)s->all.jobs);
    json_int(j, "tasks", (__int128)r->tasks);
    json_int(j, "started", (__int128)(s->all.jobs - s->never_started));
    json_int(j, "ended", (__int128)s->all.span.n);
    json_int(j, "never_started", (__int128)s->never_started);
    json_int(j, "unfinished", (__int128)s->unfinished);
    json_int(j, "failed", (__int128)r->failed);
    json_int(j, "restarts", (__int128)r->restarts);
    json_int(j, "cross_domain_gangs", (__int128)r->cross_domain);
    json_real(j, "run_gpu_h", gpu_hours(r->run));
    json_real(j, "lost_gpu_h", gpu_hours(r->lost));
    json_int(j, "recorded_jobs", (__int128)r->recorded_jobs);
    json_real(j, "recorded_wait_mean_s",
              r->recorded_jobs
                  ? (double)r->recorded_wait_us / (double)r->recorded_jobs / 1e6
                  : NAN);
    json_close(j, '}');
}

static void json_gpu(struct json *j, const struct summary *s)
{
    const struct series *t = &s->r->series;

    json_raw(j, "only_arrivals", s->fills ? "true" : "false");
    json_open(j, "gpu_time", '{');
    json_fraction(j, "useful_fraction", s->useful);
    json_fraction(j, "allocated_fraction", s->allocated);
    json_fraction(j, "fragmented_fraction", s->frag);
    json_fraction(j, "lost_fraction", s->lost);
    json_real(j, "measured_s", (double)t->total.len_us / 1e6);
    json_real(j, "capacity_gpu_h", gpu_hours(t->total.capacity));
    json_real(j, "allocated_gpu_h", gpu_hours(t->total.used));
    json_real(j, "pending_gpu_h", gpu_hours(t->total.pending));
    json_int(j, "peak_allocated_gpu_milli", (__int128)t->peak_used_milli);
    json_int(j, "peak_pending_gpu_milli", (__int128)t->peak_pending_milli);
    json_close(j, '}');
}

static void json_ledger(struct json *j, const struct summary *s)
{
    const struct ledger *l = &s->r->ledger;
    figure f;
    int i;

    if (!s->r->has_ledger) {
        json_raw(j, "ledger", "null");
        return;
    }
    json_open(j, "ledger", '{');
    json_raw(j, "sums", s->ledger_sums ? "true" : "false");
    json_str(j, "capacity_gpu_milli_us", str_of(i128_text((__int128)l->capacity, f)));
    json_open(j, "causes", '[');
    for (i = 0; i < LEDGER_CAUSES; i++) {
        json_open(j, NULL, '{');
        json_str(j, "cause", str_of(ledger_cause_name(i)));
        json_str(j, "gpu_milli_us", str_of(i128_text((__int128)l->sum[i], f)));
        json_real(j, "gpu_h", gpu_hours(l->sum[i]));
        json_real(j, "fraction",
                  l->capacity ? u128_ratio(l->sum[i], l->capacity) : NAN);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void json_domains(struct json *j, const struct summary *s)
{
    uint32_t i;

    json_open(j, "whole_domains", '[');
    for (i = 0; i < s->r->merits.nlevels; i++) {
        json_open(j, NULL, '{');
        json_str(j, "level", s->r->merits.level[i].name);
        json_fraction(j, "domains", s->merits.all[i]);
        json_fraction(j, "whole_mean", s->merits.whole[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_promises(struct json *j, const struct summary *s)
{
    const struct merits *m = &s->r->merits;
    int i;

    json_open(j, "promises", '{');
    json_int(j, "kept", (__int128)m->kept);
    json_int(j, "broken", (__int128)m->broken);
    json_int(j, "without_time", (__int128)m->unsaid);
    json_stat(j, "early", &s->merits.early);
    json_stat(j, "after_forecast", &s->merits.error);
    json_open(j, "early_histogram", '[');
    for (i = 0; i < PROMISE_BINS; i++) {
        json_open(j, NULL, '{');
        json_str(j, "bin", str_of(promise_bin_name(i)));
        json_int(j, "gangs", (__int128)s->merits.early_bins[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void json_merits(struct json *j, const struct summary *s)
{
    const struct merit_figures *m = &s->merits;
    const struct merits *of = &s->r->merits;

    json_open(j, "merits", '{');
    json_fraction(j, "offered_fraction", m->offered);
    json_fraction(j, "starting_fraction", m->starting);
    json_fraction(j, "lost_and_starting_gpu_h", m->lost_gpu_h);
    json_fraction(j, "gpu_weighted_wait_s", m->weighted_wait_s);
    json_fraction(j, "bounded_slowdown", m->slowdown);
    json_str(j, "largest_are", str_of(m->largest_name));
    json_stat(j, "largest_wait", &m->largest);
    json_fraction(j, "fairness", m->fairness);
    json_int(j, "evicted", (__int128)of->stops[REPORT_EVICTED]);
    json_int(j, "moved", (__int128)of->stops[REPORT_MOVED]);
    json_int(j, "gangs_never_started", (__int128)of->gangs_never);
    json_domains(j, s);
    json_promises(j, s);
    json_close(j, '}');
}

static void json_totals(struct json *j, const struct report *r)
{
    const struct report_totals *t = &r->totals;

    if (!r->has_totals) {
        json_raw(j, "totals", "null");
        return;
    }
    json_open(j, "totals", '{');
    json_int(j, "records", (__int128)t->records);
    json_int(j, "decisions", (__int128)t->decisions);
    json_int(j, "launches", (__int128)t->launches);
    json_int(j, "stops", (__int128)t->stops);
    json_int(j, "faults", (__int128)t->faults);
    json_int(j, "journal_bytes", (__int128)t->journal_bytes);
    json_real(j, "cpu_s", t->cpu_s);
    json_int(j, "simulated_us", t->sim_us);
    json_int(j, "unplaced_jobs", (__int128)t->unplaced_jobs);
    json_int(j, "unplaced_gpu_milli", (__int128)t->unplaced_gpu_milli);
    json_close(j, '}');
}

static void json_error(struct json *j, const struct report *r)
{
    const struct report_error *e = &r->error;

    if (!r->has_error) {
        json_raw(j, "error_against_record", "null");
        return;
    }
    json_open(j, "error_against_record", '{');
    json_int(j, "jobs", (__int128)e->jobs);
    json_int(j, "replayed", (__int128)e->replayed);
    json_int(j, "never_started", (__int128)e->never);
    json_real(j, "wait_mean_recorded_s", e->wait_mean_recorded_s);
    json_real(j, "wait_mean_twin_s", e->wait_mean_twin_s);
    json_real(j, "wait_p95_abs_error_s", e->wait_p95_abs_err_s);
    json_real(j, "utilisation_recorded_fraction", e->util_recorded);
    json_real(j, "utilisation_twin_fraction", e->util_twin);
    json_str(j, "remark", e->remark);
    json_close(j, '}');
}

static void json_point(struct json *j, const struct series_sum *p)
{
    double len = (double)p->len_us;

    json_open(j, NULL, '[');
    json_int(j, NULL, p->len_us);
    json_real(j, NULL, (double)p->used / len);
    json_real(j, NULL, (double)p->pending / len);
    json_real(j, NULL, (double)p->capacity / len);
    json_real(j, NULL, p->frag_capacity ? p->frag / len : NAN);
    json_real(j, NULL, (double)p->waiting / len);
    json_real(j, NULL, (double)p->running / len);
    json_close(j, ']');
}

static void json_series(struct json *j, const struct report *r)
{
    struct series_sum *points = mem_alloc(JSON_POINTS * sizeof *points);
    uint32_t n, i;
    int64_t width = series_merge(&r->series, JSON_POINTS, points, &n);

    json_open(j, "series", '{');
    json_int(j, "start_us", r->series.start_us);
    json_int(j, "width_us", width);
    json_raw(j, "fields",
             "[\"length_us\",\"allocated_gpu_milli\",\"pending_gpu_milli\","
             "\"capacity_gpu_milli\",\"fragmented_gpu_milli\",\"waiting_jobs\","
             "\"running_jobs\"]");
    json_open(j, "points", '[');
    for (i = 0; i < n; i++)
        json_point(j, &points[i]);
    json_close(j, ']');
    json_close(j, '}');
    free(points);
}

static void json_arrivals(struct json *j, const struct report *r)
{
    uint32_t i;

    json_open(j, "arrivals", '{');
    json_int(j, "seen", (__int128)r->arrivals_seen);
    json_raw(
        j, "fields",
        "[\"arrived_gpu_milli\",\"allocated_gpu_milli\",\"fragmented_gpu_milli\"]");
    json_open(j, "points", '[');
    for (i = 0; i < r->narrivals; i++) {
        json_open(j, NULL, '[');
        json_int(j, NULL, (__int128)r->arrivals[i].arrived_milli);
        json_int(j, NULL, (__int128)r->arrivals[i].used_milli);
        json_real(j, NULL,
                  r->arrivals[i].frag_milli < 0 ? NAN : r->arrivals[i].frag_milli);
        json_close(j, ']');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void json_run(struct json *j, const struct summary *s)
{
    json_open(j, NULL, '{');
    buf_char(j->out, '\n');
    json_about(j, s);
    json_error(j, s->r);
    json_jobs(j, s);
    json_reasons(j, s);
    json_groups(j, s);
    json_gpu(j, s);
    json_merits(j, s);
    json_ledger(j, s);
    json_totals(j, s->r);
    json_series(j, s->r);
    json_arrivals(j, s->r);
    json_close(j, '}');
}

void report_json(struct report *const *rs, uint32_t n, struct buf *out)
{
    struct summary **sums = summary_all(rs, n);
    struct json j = {out, false};
    uint32_t i;

    json_open(&j, NULL, '{');
    json_str(&j, "format", STR("muster-report"));
    json_int(&j, "version", JSON_VERSION);
    json_str(&j, "quantiles",
             STR("nearest rank: value at place ceil(q n) of the sorted values"));
    json_open(&j, "runs", '[');
    for (i = 0; i < n; i++)
        json_run(&j, sums[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    buf_char(out, '\n');
    summary_all_destroy(sums, n);
}
