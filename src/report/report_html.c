/* report_html.c - one page that can be mailed, kept and printed
 *
 * Self-contained: no script, no font, no picture from anywhere; its own security policy
 * forbids them, so even a name that slipped through the escaping could not act. Every
 * text from outside passes buf_html. The same input gives the same bytes: no date, no
 * host. SPDX-License-Identifier: Apache-2.0 */
#include "report/html.h"

#include <math.h>

#include "base/units.h"
#include "report/figures.h"

enum { HTML_QUEUES = 200 };

/* --- comparison
 * ------------------------------------------------------------------------ */

static double value_useful(const struct summary *s)
{
    return s->useful < 0 ? NAN : s->useful;
}
static double value_allocated(const struct summary *s)
{
    return s->allocated < 0 ? NAN : s->allocated;
}
static double value_wait(const struct summary *s)
{
    return s->all.wait.n ? group_mean_s(&s->all.wait) : NAN;
}
static double value_p95(const struct summary *s)
{
    return s->all.wait.n ? (double)s->all.wait.at[QUANTILE_P95] / 1e6 : NAN;
}
static double value_span(const struct summary *s)
{
    return s->all.span.n ? group_mean_s(&s->all.span) : NAN;
}
static double value_frag(const struct summary *s)
{
    return s->frag < 0 ? NAN : s->frag;
}
static double value_cross(const struct summary *s)
{
    return (double)s->r->cross_domain;
}
static double value_lost(const struct summary *s)
{
    return s->lost < 0 ? NAN : s->lost;
}
static double value_unplaced(const struct summary *s)
{
    return (double)summary_unplaced(s);
}

static double value_span_measured(const struct summary *s)
{
    int64_t us = s->r->series.total.len_us;

    return us ? (double)us / 1e6 : NAN;
}

enum value_form { FORM_PERCENT, FORM_PERCENT2, FORM_TIME, FORM_COUNT };

static const struct html_column {
    const char *head, *unit;
    double (*value)(const struct summary *s);
    uint8_t form; /* enum value_form */
    int8_t good;  /* 1: more is better, -1: less is, 0: neither */
    bool bar;
    bool all_started; /* comparable only between runs that left equally few jobs waiting
                       */
} html_columns[] = {
    {"Useful", "% of GPU time", value_useful, FORM_PERCENT, 1, true, false},
    {"Allocated", "% of GPUs", value_allocated, FORM_PERCENT, 0, false, false},
    {"Wait", "mean", value_wait, FORM_TIME, -1, true, true},
    {"Wait", "p95", value_p95, FORM_TIME, -1, false, true},
    {"Completion", "mean", value_span, FORM_TIME, -1, false, true},
    {"Fragmented", "% of GPUs", value_frag, FORM_PERCENT, -1, false, false},
    {"Cross-domain", "gangs", value_cross, FORM_COUNT, -1, false, false},
    {"Lost", "% of GPU time", value_lost, FORM_PERCENT2, -1, false, false},
    {"Never started", "jobs", value_unplaced, FORM_COUNT, -1, false, false},
    {"Measured", "span", value_span_measured, FORM_TIME, 0, false, false},
};
enum { HTML_COLUMNS = sizeof html_columns / sizeof *html_columns };

/* A list that only arrives is about nothing but how full the cluster gets. */
static struct html_column column_of(const struct html *h, uint32_t i)
{
    struct html_column c = html_columns[i];

    if (summary_all_fill(h->sums, h->n) && c.form == FORM_PERCENT) {
        c.form = FORM_PERCENT2;
        c.good = c.value == value_allocated ? 1 : c.good;
        c.bar = c.value == value_allocated;
    }
    return c;
}

/* A column that nobody has a value for says nothing; nor do times where time is an
 * order. */
static bool column_shown(const struct html *h, uint32_t c)
{
    uint32_t i;

    if (summary_all_fill(h->sums, h->n) && html_columns[c].form == FORM_TIME)
        return false;
    for (i = 0; i < h->n; i++)
        if (!isnan(html_columns[c].value(h->sums[i])))
            return true;
    return false;
}

static char *value_text(const struct html_column *c, double v, figure out)
{
    char count[24];

    if (isnan(v))
        snprintf(out, sizeof(figure), "–");
    else if (c->form == FORM_TIME)
        secs_long(v, out);
    else if (c->form == FORM_COUNT)
        snprintf(out, sizeof(figure), "%s", count_text((uint64_t)v, count));
    else
        percent_text(v, c->form == FORM_PERCENT2 ? 2 : 1, out);
    return out;
}

static double fewest_unplaced(const struct html *h)
{
    double least = INFINITY;
    uint32_t i;

    for (i = 0; i < h->n; i++)
        least = fmin(least, value_unplaced(h->sums[i]));
    return least;
}

static bool may_win(const struct html *h, const struct html_column *c,
                    const struct summary *s)
{
    return !isnan(c->value(s)) &&
           (!c->all_started || value_unplaced(s) <= fewest_unplaced(h));
}

/* The best and the worst value of a column; false when there is nothing to tell apart
 * as printed. */
static bool column_best(const struct html *h, const struct html_column *c,
                        double *ret_best, double *ret_worst)
{
    double lo = INFINITY, hi = -INFINITY;
    figure a, b;
    uint32_t i;

    for (i = 0; i < h->n; i++)
        if (may_win(h, c, h->sums[i])) {
            lo = fmin(lo, c->value(h->sums[i]));
            hi = fmax(hi, c->value(h->sums[i]));
        }
    if (!c->good || lo >= hi || strcmp(value_text(c, lo, a), value_text(c, hi, b)) == 0)
        return false;
    *ret_best = c->good > 0 ? hi : lo;
    *ret_worst = c->good > 0 ? lo : hi;
    return true;
}

static double column_most(const struct html *h, const struct html_column *c)
{
    double most = 0;
    uint32_t i;

    if (c->form == FORM_PERCENT || c->form == FORM_PERCENT2)
        return 1;
    for (i = 0; i < h->n; i++)
        most = fmax(most, c->value(h->sums[i]));
    return most;
}

static void compare_cell(const struct html *h, const struct html_column *c,
                         const struct summary *s)
{
    double v = c->value(s), best = 0, worst = 0, most = column_most(h, c);
    bool wins = column_best(h, c, &best, &worst) && may_win(h, c, s);
    figure mine, top;

    value_text(c, v, mine);
    wins = wins && strcmp(mine, value_text(c, best, top)) == 0;
    buf_fmt(h->out, "<td class=\"%s%s\"", wins ? "best" : "", c->bar ? " bar" : "");
    if (c->bar)
        buf_fmt(h->out, " style=\"--w:calc((100%% - 20px)*%.4f)\"",
                !isnan(v) && most > 0 ? v / most : 0);
    buf_fmt(h->out, ">%s</td>", mine);
}

static void html_compare(const struct html *h)
{
    uint32_t i, c;

    buf_fmt(h->out,
            "<h2>%s</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>"
            "<thead><tr><th scope=\"col\">Policy</th>",
            h->n > 1 ? "Side by side" : "In one row");
    for (c = 0; c < HTML_COLUMNS; c++)
        if (column_shown(h, c))
            buf_fmt(h->out, "<th scope=\"col\">%s<br>%s</th>", html_columns[c].head,
                    html_columns[c].unit);
    buf_z(h->out, "</tr></thead>\n<tbody>\n");
    for (i = 0; i < h->n; i++) {
        buf_z(h->out, "<tr><th scope=\"row\" title=\"");
        buf_html(h->out, h->sums[i]->r->about.policy);
        buf_z(h->out, "\">");
        buf_html(h->out, h->sums[i]->r->about.policy);
        buf_z(h->out, "</th>");
        for (c = 0; c < HTML_COLUMNS; c++) {
            struct html_column column = column_of(h, c);

            if (column_shown(h, c))
                compare_cell(h, &column, h->sums[i]);
        }
        buf_z(h->out, "</tr>\n");
    }
    buf_z(h->out, "</tbody></table></div>\n");
    if (h->n < 2)
        return;
    buf_z(h->out, "<p class=\"note\">Shaded: the best of a column.");
    if (!summary_all_fill(h->sums, h->n))
        buf_z(h->out,
              " Times are compared only between policies that left the fewest jobs "
              "unstarted, since a job that never starts has no wait.");
    buf_z(h->out, "</p>\n");
}

/* --- cards
 * ----------------------------------------------------------------------------- */

/* title, big and sub are HTML; who is text. */
static void card(const struct html *h, const char *title, const char *big,
                 struct str who, const char *sub)
{
    buf_fmt(h->out, "<div class=\"card\"><h2>%s</h2><div class=\"big\">%s</div>", title,
            big);
    if (who.len) {
        buf_z(h->out, "<div class=\"who\">");
        buf_html(h->out, who);
        buf_z(h->out, "</div>");
    }
    buf_fmt(h->out, "<p>%s</p></div>\n", sub);
}

/* Who is best in a column, and how the worst fares. */
static void card_best(const struct html *h, const char *title,
                      const struct html_column *c, const char *unit)
{
    double best = 0, worst = 0;
    struct buf who = {0}, sub = {0};
    figure big, other, text, last;
    uint32_t i, ties = 0;
    bool named = false;

    if (!column_best(h, c, &best, &worst))
        return;
    value_text(c, best, text);
    value_text(c, worst, last);
    buf_z(&sub, c->form == FORM_TIME ? "longest: "
                : c->good > 0        ? "lowest: "
                                     : "most: ");
    for (i = 0; i < h->n; i++) {
        const struct summary *s = h->sums[i];

        if (!may_win(h, c, s))
            continue;
        value_text(c, c->value(s), other);
        if (strcmp(other, text) == 0) {
            if (ties++)
                buf_z(&who, ", ");
            buf_str(&who, s->r->about.policy);
        } else if (!named && strcmp(other, last) == 0) {
            buf_html(&sub, s->r->about.policy);
            buf_z(&sub, ", ");
            named = true;
        }
    }
    buf_fmt(&sub, "%s%s", last, unit);
    snprintf(big, sizeof big, "%.40s%s", text, unit);
    card(h, title, big, buf_as_str(&who), sub.data);
    buf_done(&who);
    buf_done(&sub);
}

static void card_value(const struct html *h, const char *title,
                       const struct html_column *c, const char *unit, const char *sub)
{
    figure big, text;

    if (isnan(c->value(h->sums[0])))
        return;
    snprintf(big, sizeof big, "%.40s%s", value_text(c, c->value(h->sums[0]), text),
             unit);
    card(h, title, big, STR(""), sub);
}

static void html_cards(const struct html *h)
{
    static const struct {
        uint32_t column;
        const char *best, *one, *unit, *sub;
    } cards[] = {
        {0, "Most useful GPU time", "Useful GPU time", " %", "share of capacity"},
        {1, "Most GPUs allocated", "Allocated", " %", "share of capacity"},
        {2, "Shortest mean wait", "Mean wait", "", "from submit to first start"},
        {3, "Shortest 95th-percentile wait", "Wait, 95th percentile", "",
         "nearest rank"},
        {5, "Least fragmentation", "Fragmented", " %", "share of GPUs"},
        {8, "Fewest jobs never started", "Never started", "", "jobs"},
    };
    uint32_t i;

    buf_z(h->out, "<div class=\"cards\">\n");
    for (i = 0; i < sizeof cards / sizeof *cards; i++) {
        struct html_column c = column_of(h, cards[i].column);

        if (h->n > 1)
            card_best(h, cards[i].best, &c, cards[i].unit);
        else
            card_value(h, cards[i].one, &c, cards[i].unit, cards[i].sub);
    }
    buf_z(h->out, "</div>\n");
}

/* --- details of one policy
 * ------------------------------------------------------------- */

static void stat_tds(struct buf *out, const struct group_stat *g)
{
    figure f;
    int q;

    if (g->n == 0) {
        buf_z(out, "<td>–</td><td>–</td><td>–</td><td>–</td>");
        return;
    }
    buf_fmt(out, "<td>%s</td>", secs_long(group_mean_s(g), f));
    for (q = QUANTILE_P50; q <= QUANTILE_P99; q++)
        buf_fmt(out, "<td>%s</td>", secs_long((double)g->at[q] / 1e6, f));
}

static void group_tr(struct buf *out, const struct group_summary *g)
{
    char count[24];

    buf_z(out, "<tr><th scope=\"row\">");
    buf_html(out, g->name.len ? g->name : STR("(none)"));
    buf_fmt(out, "</th><td>%s</td>", count_text(g->jobs, count));
    stat_tds(out, &g->wait);
    stat_tds(out, &g->span);
    buf_z(out, "</tr>\n");
}

static void groups_open(struct buf *out, const char *what)
{
    buf_fmt(
        out,
        "<div class=\"scroll\" tabindex=\"0\"><table><thead>"
        "<tr><th rowspan=\"2\" scope=\"col\">%s</th><th rowspan=\"2\" "
        "scope=\"col\">Jobs"
        "</th><th colspan=\"4\" class=\"group\" scope=\"colgroup\">Wait</th>"
        "<th colspan=\"4\" class=\"group\" scope=\"colgroup\">Completion</th></tr><tr>",
        what);
    for (int i = 0; i < 2; i++)
        buf_z(out, "<th>mean</th><th>p50</th><th>p95</th><th>p99</th>");
    buf_z(out, "</tr></thead><tbody>\n");
}

static void html_groups(const struct html *h, const struct summary *s)
{
    uint32_t i;

    buf_z(h->out, "<h3>By size</h3>\n");
    groups_open(h->out, "Size");
    for (i = 0; i < SIZE_CLASSES; i++)
        if (s->sizes[i].jobs)
            group_tr(h->out, &s->sizes[i]);
    group_tr(h->out, &s->all);
    buf_z(h->out, "</tbody></table></div>\n");
    if (s->nqueues < 2)
        return;
    buf_z(h->out, "<h3>By queue</h3>\n");
    groups_open(h->out, "Queue");
    for (i = 0; i < s->nqueues && i < HTML_QUEUES; i++)
        group_tr(h->out, &s->queues[i]);
    buf_z(h->out, "</tbody></table></div>\n");
    if (s->nqueues > HTML_QUEUES)
        buf_fmt(
            h->out,
            "<p class=\"note\">The %u queues with fewer jobs are in the JSON report."
            "</p>\n",
            s->nqueues - HTML_QUEUES);
}

static void html_ledger_table(const struct html *h, const struct summary *s)
{
    const struct ledger *l = &s->r->ledger;
    figure f;
    int c;

    if (!s->r->has_ledger)
        return;
    buf_z(h->out,
          "<h3>GPU time by cause</h3>\n<div class=\"scroll\" tabindex=\"0\"><table>"
          "<thead><tr><th scope=\"col\">Cause</th><th scope=\"col\">Share, %</th>"
          "<th scope=\"col\">GPU-hours</th></tr></thead><tbody>\n");
    for (c = 0; c < LEDGER_CAUSES; c++) {
        if (l->sum[c] == 0)
            continue;
        buf_fmt(h->out, "<tr><th scope=\"row\">%s</th><td>%.2f</td>",
                ledger_cause_name(c), 100 * u128_ratio(l->sum[c], l->capacity));
        buf_fmt(h->out, "<td>%s</td></tr>\n", hours_text(gpu_hours(l->sum[c]), f));
    }
    buf_fmt(h->out,
            "<tr><th scope=\"row\">capacity &times; time</th><td>100.00</td><td>%s"
            "</td></tr></tbody></table></div>\n",
            hours_text(gpu_hours(l->capacity), f));
    if (!s->ledger_sums)
        buf_fmt(h->out,
                "<p class=\"warn\">The ledger does not sum: the causes less capacity "
                "&times; "
                "time are %s milli-GPU us. This is a bug.</p>\n",
                i128_text(s->ledger_gap, f));
}

static void html_counts(const struct html *h, const struct summary *s)
{
    const struct report *r = s->r;
    const struct report_totals *t = &r->totals;
    char a[24], b[24], c[24], d[24];
    figure f, g;

    buf_fmt(h->out, "<p class=\"note\">Waits sum to %s, completions to %s. ",
            exact_secs(s->all.wait.sum, f), exact_secs(s->all.span.sum, g));
    buf_fmt(h->out, "Failed %s, restarts %s, unfinished %s, never started %s.",
            count_text(r->failed, a), count_text(r->restarts, b),
            count_text(s->unfinished, c), count_text(summary_unplaced(s), d));
    if (r->recorded_jobs)
        buf_fmt(h->out, " The site's own record: mean wait %s over %s jobs.",
                secs_long((double)r->recorded_wait_us / (double)r->recorded_jobs / 1e6,
                          f),
                count_text(r->recorded_jobs, a));
    if (r->has_totals) {
        buf_fmt(h->out, " Records %s, decisions %s, launches %s, stops %s,",
                count_text(t->records, a), count_text(t->decisions, b),
                count_text(t->launches, c), count_text(t->stops, d));
        buf_fmt(h->out, " faults %s; %s simulated in %s of CPU",
                count_text(t->faults, a), secs_long((double)t->sim_us / 1e6, f),
                secs_long(t->cpu_s, g));
        if (t->journal_bytes)
            buf_fmt(h->out, ", journal %s", size_text(t->journal_bytes, b));
        buf_char(h->out, '.');
    }
    buf_z(h->out, "</p>\n");
}

static void html_reasons(const struct html *h, const struct summary *s)
{
    char count[24];
    uint32_t i;

    if (!s->nreasons)
        return;
    buf_z(h->out, "<section class=\"panel\"><h2>");
    buf_html(h->out, s->r->about.policy);
    buf_fmt(h->out, ": never started, %s %s</h2><ul>\n",
            count_text(summary_unplaced(s), count),
            summary_unplaced(s) == 1 ? "job" : "jobs");
    for (i = 0; i < s->nreasons && i < REASONS_SHOWN; i++) {
        buf_fmt(h->out, "<li><b>%s</b> ", count_text(s->reasons[i].jobs, count));
        buf_html(h->out, s->reasons[i].why);
        buf_z(h->out, s->reasons[i].jobs > 1 ? " (first: " : " (");
        buf_html(h->out, s->reasons[i].example);
        if (s->reasons[i].more.len) {
            buf_z(h->out, ": ");
            buf_html(h->out, s->reasons[i].more);
        }
        buf_z(h->out, ")</li>\n");
    }
    if (s->nreasons > REASONS_SHOWN)
        buf_fmt(h->out, "<li><b>%s</b> for other reasons</li>\n",
                count_text(summary_other_reasons(s), count));
    buf_z(h->out, "</ul></section>\n");
}

static void html_details(const struct html *h)
{
    uint32_t i;
    figure f;

    buf_z(h->out, "<h2>Each policy in detail</h2>\n");
    for (i = 0; i < h->n; i++) {
        const struct summary *s = h->sums[i];

        buf_fmt(h->out, "<details class=\"panel\"%s><summary>",
                h->n == 1 ? " open" : "");
        buf_html(h->out, s->r->about.policy);
        if (s->all.wait.n && !s->fills)
            buf_fmt(h->out, "<span>mean wait %s</span>",
                    secs_long(group_mean_s(&s->all.wait), f));
        buf_z(h->out, "</summary>\n");
        if (s->r->about.note.len) {
            buf_z(h->out, "<p class=\"soft\">");
            buf_html(h->out, s->r->about.note);
            buf_z(h->out, "</p>\n");
        }
        html_groups(h, s);
        html_ledger_table(h, s);
        html_counts(h, s);
        buf_z(h->out, "</details>\n");
    }
}

/* --- the page
 * -------------------------------------------------------------------------- */

static void html_error(const struct html *h, const struct summary *s)
{
    const struct report_error *e = &s->r->error;
    char count[24], of[24];
    figure f, g, d;

    buf_fmt(
        h->out,
        "<section class=\"panel\"><h2>How far the twin is from the record</h2>");
    if (e->never)
        buf_fmt(h->out, "<p><b>%s of %s jobs found no room and never started%s</b></p>\n",
                count_text(e->never, of), count_text(e->replayed, count),
                e->again ? "" : ": the record does not fit this cluster");
    buf_fmt(
        h->out,
        "<p class=\"soft\">%s, %s jobs that %s</p>\n"
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\"></th>"
        "<th scope=\"col\">Recorded</th><th scope=\"col\">Twin</th>"
        "<th scope=\"col\">Difference</th></tr></thead><tbody>\n",
        e->again ? "the recorded policy again" : "replay of the site's own starts",
        count_text(e->jobs, count), e->again ? "started in both" : "ended");
    buf_fmt(
        h->out,
        "<tr><th scope=\"row\">Mean wait</th><td>%s</td><td>%s</td><td>%s</td></tr>\n",
        secs_long(e->wait_mean_recorded_s, f), secs_long(e->wait_mean_twin_s, g),
        secs_long(e->wait_mean_twin_s - e->wait_mean_recorded_s, d));
    buf_fmt(h->out,
            "<tr><th scope=\"row\">Utilisation</th><td>%s %%</td><td>%s %%</td>"
            "<td>%+.2f points</td></tr>\n",
            percent_text(e->util_recorded, 2, f), percent_text(e->util_twin, 2, g),
            100 * (e->util_twin - e->util_recorded));
    buf_fmt(
        h->out,
        "<tr><th scope=\"row\">Wait of a job, 95th percentile of the difference</th>"
        "<td></td><td></td><td>%s</td></tr></tbody></table></div>\n<p class=\"note\">",
        secs_long(e->wait_p95_abs_err_s, f));
    buf_html(h->out, e->remark);
    buf_z(h->out, "</p></section>\n");
}

static void html_setting(const struct html *h, const struct summary *s)
{
    const struct report_about *a = &s->r->about;
    char nodes[24], gpus[24], jobs[24];
    figure f;

    buf_z(h->out, "<div class=\"facts\"><span>Cluster <b>");
    buf_html(h->out, a->cluster);
    buf_fmt(h->out,
            "</b></span><span><b>%s</b> %s</span><span><b>%s</b> %s</span>",
            count_text(a->nodes, nodes), a->nodes == 1 ? "node" : "nodes",
            a->capacity_milli % 1000 ? milli_text((int64_t)a->capacity_milli, gpus)
                                     : count_text(a->capacity_milli / 1000, gpus),
            a->capacity_milli == 1000 ? "GPU" : "GPUs");
    buf_z(h->out, "<span>Trace <b>");
    buf_html(h->out, a->trace);
    buf_fmt(h->out, "</b></span><span><b>%s</b> %s</span>",
            count_text(s->all.jobs, jobs), s->all.jobs == 1 ? "job" : "jobs");
    if (a->left_out.len) {
        buf_z(h->out, "<span>");
        buf_html(h->out, a->left_out);
        buf_z(h->out, "</span>");
    }
    if (s->r->series.total.len_us)
        buf_fmt(h->out, "<span><b>%s</b> long</span>",
                secs_long((double)s->r->series.total.len_us / 1e6, f));
    if (a->window_until_us)
        buf_fmt(h->out, "<span>measured inside a window of <b>%s</b></span>",
                secs_long((double)(a->window_until_us - a->window_from_us) / 1e6, f));
    buf_fmt(h->out, "<span>seed <b>%llu</b></span></div>\n",
            (unsigned long long)a->seed);
}

static void html_head(const struct html *h)
{
    buf_z(h->out,
          "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" "
          "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>muster report");
    if (h->n) {
        buf_z(h->out, ": ");
        buf_html(h->out, h->sums[0]->r->about.trace);
    }
    buf_z(h->out, "</title>\n<style>\n");
    buf_z(h->out, report_css);
    html_series_css(h->out, h->n);
    buf_z(h->out, "</style></head>\n<body><main>\n<header><h1>");
    if (h->n == 1) {
        buf_html(h->out, h->sums[0]->r->about.policy);
        buf_z(h->out, " on this cluster");
    } else {
        buf_fmt(h->out, "%u policies, one history", h->n);
    }
    buf_z(h->out, "</h1>\n");
}

static void html_foot(const struct html *h)
{
    int i;

    buf_z(
        h->out,
        "<footer><dl>"
        "<dt>Wait</dt><dd>from submit to the first start, of jobs that started</dd>"
        "<dt>Completion</dt><dd>from submit to the end, of jobs that ended</dd>"
        "<dt>p50, p95, p99</dt><dd>nearest rank: the value at place &lceil;q&thinsp;n"
        "&rceil; of the sorted values</dd>"
        "<dt>Allocated</dt><dd>GPUs held by jobs; useful: of these, time that was work "
        "and was not lost later</dd>"
        "<dt>Fragmented</dt><dd>free GPUs that the typical job cannot use where they "
        "are, "
        "by the measure of FGD</dd>"
        "<dt>Cross-domain</dt><dd>gangs that no single domain of a lower level "
        "held</dd>"
        "<dt>Lost</dt><dd>GPU time for work that had been done before</dd>"
        "<dt>By size</dt><dd>mean wait of jobs of so many GPUs; GPU-weighted: mean wait of a "
        "GPU</dd>"
        "<dt>Slowdown</dt><dd>(wait + run) / run, runs of at least 10 s, mean</dd>"
        "<dt>Fairness</dt><dd>Jain&rsquo;s index over queues of GPU time used / guaranteed</dd>"
        "<dt>Whole domains</dt><dd>every node up and every GPU free, mean over time</dd>"
        "<dt>Promises</dt><dd>reservations with a time: kept when the gang was launched no later "
        "than it was ever promised</dd>"
        "<dt>Measured</dt><dd>each policy over its own span, from the first arrival to "
        "its last end</dd></dl>\n<h2>Where GPU time goes</h2><dl>");
    for (i = 0; i < LEDGER_CAUSES; i++)
        buf_fmt(h->out, "<dt>%s</dt><dd>%s</dd>", ledger_cause_name(i), cause_meaning(i));
    buf_z(
        h->out,
        "</dl><p>Fragmented in the table is FGD's measure of what the typical job could "
        "not use; among the causes it is idle time while somebody really waits.</p>"
        "<p>Written by muster. Same input, same page.</p></footer>\n"
        "</main></body></html>\n");
}

void report_html(struct report *const *rs, uint32_t n, struct buf *out)
{
    struct html h = {out, summary_all(rs, n), n};
    uint32_t i;

    html_head(&h);
    for (i = 0; i < n; i++)
        if (i == 0 || !summary_same_setting(h.sums[0], h.sums[i]))
            html_setting(&h, h.sums[i]);
    buf_z(out, "</header>\n");
    if (n == 0)
        buf_z(out, "<p class=\"lead\">Nothing was run.</p>\n");
    for (i = 0; i < n; i++)
        if (rs[i]->has_error)
            html_error(&h, h.sums[i]);
    if (n) {
        html_cards(&h);
        html_compare(&h);
        html_merits(&h);
        for (i = 0; i < n; i++)
            html_reasons(&h, h.sums[i]);
        html_plots(&h);
        html_details(&h);
    }
    html_foot(&h);
    summary_all_destroy(h.sums, n);
}
