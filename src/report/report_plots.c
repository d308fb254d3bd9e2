/* report_plots.c - the pictures of the report page
 *
 * Utilisation and demand over time, the distribution of waits, waits by size class,
 * where GPU time went, and allocation against arrived load for lists that only arrive.
 * Lines go through plot.c; bars are HTML boxes with their value beside them, so that
 * they can be read by machine and at any width. Each line is cut to what a screen can
 * show. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/units.h"
#include "report/figures.h"
#include "report/html.h"
#include "report/plot.h"

enum { LINE_POINTS = 360, TIPS = 90, CDF_POINTS = 240 };

static struct str policy_of(const struct html *h, uint32_t i)
{
    return h->sums[i]->r->about.policy;
}

static void figure_open(const struct html *h, const char *extra, const char *title,
                        const char *sub)
{
    buf_fmt(h->out,
            "<figure class=\"panel %s\"><figcaption>%s<span>%s</span></figcaption>\n",
            extra, title, sub);
}

/* --- over time
 * ------------------------------------------------------------------------- */

struct time_view {
    const char *title, *sub, *aria, *unit;
    double scale; /* of the axis labels */
    double (*value)(const struct series_sum *b);
    double top; /* fixed upper end of the axis; 0: the largest value */
};

static double used_share(const struct series_sum *b)
{
    return u128_ratio(b->used, b->capacity);
}

static double waiting_share(const struct series_sum *b)
{
    return u128_ratio(b->pending, b->capacity);
}

static double frag_share(const struct series_sum *b)
{
    return b->frag_capacity ? b->frag / (double)b->frag_capacity : 0;
}

struct time_line {
    struct series_sum points[LINE_POINTS];
    uint32_t n;
    double width_s;
};

static void time_tips(struct plot *p, const struct html *h,
                      const struct time_line *lines, const struct time_view *v,
                      double end_s)
{
    uint32_t t, i;
    figure f;

    for (t = 0; t < TIPS; t++) {
        double at = (t + 0.5) * end_s / TIPS;

        plot_tip_open(p, t * end_s / TIPS, (t + 1) * end_s / TIPS);
        buf_fmt(p->out, "after %s", secs_long(at, f));
        for (i = 0; i < h->n; i++) {
            uint32_t k = lines[i].width_s > 0 ? (uint32_t)(at / lines[i].width_s) : 0;

            if (k >= lines[i].n)
                continue;
            buf_char(p->out, '\n');
            buf_html(p->out, policy_of(h, i));
            buf_fmt(p->out, ": %.1f %%", 100 * v->value(&lines[i].points[k]));
        }
        plot_tip_close(p);
    }
}

static void time_plot(const struct html *h, const struct time_line *lines, double end_s,
                      const struct time_view *v)
{
    struct plot p = {.out = h->out};
    double most = v->top;
    uint32_t i, k;

    for (i = 0; i < h->n && v->top == 0; i++)
        for (k = 0; k < lines[i].n; k++)
            if (v->value(&lines[i].points[k]) > most)
                most = v->value(&lines[i].points[k]);
    axis_time(&p.x, end_s);
    axis_linear(&p.y, most, 5, v->scale, v->unit);
    figure_open(h, v->top > 0 ? "" : "low", v->title, v->sub);
    plot_open(&p, str_of(v->aria));
    for (i = 0; i < h->n; i++) {
        if (lines[i].n == 0)
            continue;
        plot_line_open(&p, i, "");
        for (k = 0; k < lines[i].n; k++)
            plot_point(&p, (k + 0.5) * lines[i].width_s, v->value(&lines[i].points[k]));
        plot_line_close(&p, policy_of(h, i));
    }
    time_tips(&p, h, lines, v, end_s);
    plot_close(&p, "time since the start of the run");
    buf_z(h->out, "</figure>\n");
}

static const struct time_view view_used = {
    "GPUs in use",
    "share of capacity, averaged over each step of the picture",
    "Line plot: share of GPUs in use over time, one line a policy",
    "%",
    100,
    used_share,
    1};
static const struct time_view view_waiting = {
    "Demand that waits",
    "GPUs asked for by waiting jobs, as a share of capacity",
    "Line plot: GPUs asked for by waiting jobs over time, one line a policy",
    "%",
    100,
    waiting_share,
    0};
static const struct time_view view_frag = {
    "Fragmented GPUs",
    "free, but of no use to the typical job; share of capacity",
    "Line plot: share of fragmented GPUs over time, one line a policy",
    "%",
    100,
    frag_share,
    0};

static void html_over_time(const struct html *h)
{
    struct time_line *lines = mem_zero(((size_t)h->n + 1) * sizeof *lines);
    bool has_frag = false, has_pending = false;
    double end_s = 0;
    uint32_t i;

    for (i = 0; i < h->n; i++) {
        const struct series *s = &h->sums[i]->r->series;

        if (h->sums[i]->fills)
            continue; /* its time is an order, not a duration */
        lines[i].width_s =
            (double)series_merge(s, LINE_POINTS, lines[i].points, &lines[i].n) / 1e6;
        end_s = fmax(end_s, (double)s->total.len_us / 1e6);
        has_frag |= s->total.frag > 0;
        has_pending |= s->total.pending > 0;
    }
    if (end_s > 0) {
        buf_z(h->out, "<h2>Over time</h2>\n");
        time_plot(h, lines, end_s, &view_used);
        if (has_pending || has_frag)
            buf_fmt(h->out, "<div class=\"%s\">",
                    has_pending && has_frag ? "pair" : "");
        if (has_pending)
            time_plot(h, lines, end_s, &view_waiting);
        if (has_frag)
            time_plot(h, lines, end_s, &view_frag);
        if (has_pending || has_frag)
            buf_z(h->out, "</div>\n");
    }
    free(lines);
}

/* --- waits
 * ----------------------------------------------------------------------------- */

/* Share of all jobs whose wait is at most v_us (values ascending, binary search). */
static double share_within(const struct summary *s, double v_us)
{
    uint32_t lo = 0, hi = s->waits.n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if ((double)s->waits.at[mid] <= v_us)
            lo = mid + 1;
        else
            hi = mid;
    }
    return s->all.jobs ? (double)lo / (double)s->all.jobs : 0;
}

static void cdf_tips(struct plot *p, const struct html *h)
{
    uint32_t t, i;
    figure f;

    for (t = 0; t < TIPS; t++) {
        double step = log(p->x.hi / p->x.lo) / TIPS;
        double from = p->x.lo * exp(t * step), to = p->x.lo * exp((t + 1) * step);

        plot_tip_open(p, from, to);
        buf_fmt(p->out, "started within %s", secs_long(to, f));
        for (i = 0; i < h->n; i++) {
            buf_char(p->out, '\n');
            buf_html(p->out, policy_of(h, i));
            buf_fmt(p->out, ": %.1f %%", 100 * share_within(h->sums[i], to * 1e6));
        }
        plot_tip_close(p);
    }
}

static void html_wait_cdf(const struct html *h, double most_s)
{
    struct plot p = {.out = h->out};
    uint32_t i, k;

    axis_log_time(&p.x, most_s);
    axis_linear(&p.y, 1, 5, 100, "%");
    figure_open(
        h, "", "How long jobs waited",
        "share of all jobs that had started within a time (logarithmic); jobs that "
        "never started keep a line below 100 %");
    plot_open(&p,
              STR("Line plot: cumulative distribution of waits, one line a policy"));
    for (i = 0; i < h->n; i++) {
        plot_line_open(&p, i, "");
        for (k = 0; k <= CDF_POINTS; k++) {
            double v = p.x.lo * exp(k * log(p.x.hi / p.x.lo) / CDF_POINTS);

            plot_point(&p, v, share_within(h->sums[i], v * 1e6));
        }
        plot_line_close(&p, policy_of(h, i));
    }
    cdf_tips(&p, h);
    plot_close(&p, "wait from submit to first start");
    buf_z(h->out, "</figure>\n");
}

static void size_bars(const struct html *h, uint32_t c)
{
    double most = 0;
    uint32_t i;
    figure f;
    char count[24];

    for (i = 0; i < h->n; i++)
        most = fmax(most, group_mean_s(&h->sums[i]->sizes[c].wait));
    buf_z(h->out, "<div><h3>");
    buf_html(h->out, str_of(size_class_name((enum size_class)c)));
    buf_fmt(h->out, " <span class=\"soft\">%s jobs</span></h3>\n",
            count_text(h->sums[0]->sizes[c].jobs, count));
    for (i = 0; i < h->n; i++) {
        const struct group_stat *g = &h->sums[i]->sizes[c].wait;

        buf_fmt(h->out, "<div class=\"row s%u\"><span>", i);
        buf_html(h->out, policy_of(h, i));
        buf_fmt(h->out, "</span><i style=\"width:%.1f%%\"></i><span>%s</span></div>\n",
                most > 0 ? 100 * group_mean_s(g) / most : 0,
                g->n ? secs_long(group_mean_s(g), f) : "–");
    }
    buf_z(h->out, "</div>\n");
}

static void html_waits(const struct html *h)
{
    double most_s = 0;
    uint32_t i, c;

    for (i = 0; i < h->n; i++)
        if (h->sums[i]->waits.n && !h->sums[i]->fills)
            most_s = fmax(most_s, (double)h->sums[i]->all.wait.at[QUANTILE_MAX] / 1e6);
    if (h->sums[0]->all.jobs == 0 || summary_all_fill(h->sums, h->n))
        return;
    buf_z(h->out, "<h2>Waits</h2>\n");
    if (most_s <= 0) {
        buf_z(h->out, "<p class=\"lead\">No job that started had to wait.</p>\n");
        return;
    }
    html_wait_cdf(h, most_s);
    figure_open(h, "", "Mean wait by size of the job",
                "all GPUs of the job; each size class has its own scale");
    buf_z(h->out, "<div class=\"sizes\">\n");
    for (c = 0; c < SIZE_CLASSES; c++) {
        bool any = false;

        for (i = 0; i < h->n; i++)
            any |= h->sums[i]->sizes[c].jobs > 0;
        if (any)
            size_bars(h, c);
    }
    buf_z(h->out, "</div></figure>\n");
}

/* --- the ledger
 * ------------------------------------------------------------------------ */

static void ledger_row(const struct html *h, const struct summary *s)
{
    const struct ledger *l = &s->r->ledger;
    double at = 0;
    figure f;
    int c;

    buf_z(h->out, "<span>");
    buf_html(h->out, s->r->about.policy);
    buf_z(h->out, "</span><svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
                  "role=\"img\" aria-label=\"");
    for (c = 0; c < LEDGER_CAUSES; c++) {
        if (l->sum[c] == 0)
            continue;
        buf_z(h->out, ledger_cause_name(c));
        buf_fmt(h->out, " %.1f %% ", 100 * u128_ratio(l->sum[c], l->capacity));
    }
    buf_z(h->out, "\">");
    for (c = 0; c < LEDGER_CAUSES; c++) {
        double w = 1000 * u128_ratio(l->sum[c], l->capacity);

        if (l->sum[c] == 0)
            continue;
        buf_fmt(
            h->out,
            "<rect x=\"%.2f\" width=\"%.2f\" height=\"10\" style=\"fill:var(--l%d)\">"
            "<title>",
            at, w, c);
        buf_z(h->out, ledger_cause_name(c));
        buf_fmt(h->out, ": %.2f %%, %s GPU-hours</title></rect>", w / 10,
                hours_text(gpu_hours(l->sum[c]), f));
        at += w;
    }
    buf_z(h->out, "</svg>\n");
}

static void html_ledgers(const struct html *h)
{
    bool used[LEDGER_CAUSES] = {false}, any = false;
    uint32_t i;
    int c;

    for (i = 0; i < h->n; i++)
        for (c = 0; c < LEDGER_CAUSES; c++)
            if (h->sums[i]->r->has_ledger && h->sums[i]->r->ledger.sum[c])
                any = used[c] = true;
    if (!any)
        return;
    buf_z(h->out, "<h2>Where the GPU time went</h2>\n");
    figure_open(h, "", "Every GPU-second under one cause",
                "share of capacity &times; time; the causes sum to 100 %");
    buf_z(h->out, "<div class=\"stack\">\n");
    for (i = 0; i < h->n; i++)
        if (h->sums[i]->r->has_ledger)
            ledger_row(h, h->sums[i]);
    buf_z(h->out, "</div><div class=\"causes\">\n");
    for (c = 0; c < LEDGER_CAUSES; c++)
        if (used[c]) {
            buf_fmt(h->out, "<span><i style=\"background:var(--l%d)\"></i>", c);
            buf_z(h->out, ledger_cause_name(c));
            buf_z(h->out, "</span>\n");
        }
    buf_z(h->out, "</div></figure>\n");
}

/* --- against arrived load
 * -------------------------------------------------------------- */

static void load_plot(const struct html *h, bool frag, double load)
{
    struct plot p = {.out = h->out};
    double most = frag ? 0 : 1;
    uint32_t i, k;

    for (i = 0; i < h->n && frag; i++)
        for (k = 0; k < h->sums[i]->r->narrivals; k++)
            most = fmax(most, h->sums[i]->r->arrivals[k].frag_milli /
                                  (double)h->sums[i]->r->about.capacity_milli);
    axis_linear(&p.x, load, 8, 100, "%");
    p.x.hi = fmax(load, 1e-9);
    while (p.x.nticks && p.x.ticks[p.x.nticks - 1].at > load)
        p.x.nticks--;
    axis_linear(&p.y, most, 5, 100, "%");
    figure_open(h, "", frag ? "Fragmented GPUs" : "GPUs allocated",
                frag ? "free, but of no use to the typical job; share of capacity"
                     : "share of capacity");
    plot_open(&p, frag ? STR("Line plot: fragmented GPUs against arrived load")
                       : STR("Line plot: allocated GPUs against arrived load"));
    for (i = 0; i < h->n; i++) {
        const struct report *r = h->sums[i]->r;
        double capacity = (double)r->about.capacity_milli;

        if (!h->sums[i]->fills)
            continue;
        plot_line_open(&p, i, "");
        for (k = 0; k < r->narrivals; k++)
            if (!frag || r->arrivals[k].frag_milli >= 0)
                plot_point(&p, (double)r->arrivals[k].arrived_milli / capacity,
                           (frag ? r->arrivals[k].frag_milli
                                 : (double)r->arrivals[k].used_milli) /
                               capacity);
        plot_line_close(&p, r->about.policy);
    }
    plot_close(&p, "arrived load, share of capacity");
    buf_z(h->out, "</figure>\n");
}

static void html_load(const struct html *h)
{
    double load = 0;
    bool frag = false;
    uint32_t i;

    for (i = 0; i < h->n; i++) {
        const struct report *r = h->sums[i]->r;

        if (!h->sums[i]->fills)
            continue;
        load = fmax(load, (double)r->arrival_last.arrived_milli /
                              (double)r->about.capacity_milli);
        frag |= r->arrival_last.frag_milli >= 0;
    }
    if (load <= 0)
        return;
    buf_z(h->out,
          "<h2>As load arrives</h2>\n<p class=\"lead\">Jobs only arrive and none "
          "ends: how much of the cluster each policy can still fill.</p>\n");
    buf_fmt(h->out, "<div class=\"%s\">", frag ? "pair" : "");
    load_plot(h, false, load);
    if (frag)
        load_plot(h, true, load);
    buf_z(h->out, "</div>\n");
}

static void html_keys(const struct html *h)
{
    uint32_t i;

    buf_z(h->out,
          "<div class=\"keys\" role=\"group\" aria-label=\"policies shown\">\n");
    for (i = 0; i < h->n; i++) {
        buf_fmt(h->out,
                "<label class=\"key k%u\"><input type=\"checkbox\" id=\"p%u\" checked>"
                "<svg viewBox=\"0 0 22 10\" aria-hidden=\"true\">"
                "<path class=\"line s%u\" d=\"M0 5H22\"/></svg>",
                i, i, i);
        buf_html(h->out, policy_of(h, i));
        buf_z(h->out, "</label>\n");
    }
    buf_z(h->out, "</div>\n");
}

void html_plots(const struct html *h)
{
    if (h->n > 1)
        html_keys(h);
    html_load(h);
    html_over_time(h);
    html_waits(h);
    html_ledgers(h);
}
