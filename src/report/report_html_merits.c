/* report_html_merits.c - the page's second table: what policies are judged by beyond the mean
 *
 * A row of the table below is a column of the page; those that nobody has a value for are left
 * out. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/units.h"
#include "report/figures.h"
#include "report/html.h"

static double positive(double v)
{
    return v < 0 ? NAN : v;
}

static double value_size(const struct summary *s, uint32_t c)
{
    return s->sizes[c].wait.n ? group_mean_s(&s->sizes[c].wait) : NAN;
}
static double value_weighted(const struct summary *s, uint32_t i)
{
    (void)i;
    return positive(s->merits.weighted_wait_s);
}
static double value_largest(const struct summary *s, uint32_t i)
{
    (void)i;
    return s->merits.largest.n ? (double)s->merits.largest.at[QUANTILE_P95] / 1e6 : NAN;
}
static double value_slowdown(const struct summary *s, uint32_t i)
{
    (void)i;
    return positive(s->merits.slowdown);
}
static double value_offered(const struct summary *s, uint32_t i)
{
    (void)i;
    return positive(s->merits.offered * 100);
}
static double value_lost(const struct summary *s, uint32_t i)
{
    (void)i;
    return positive(s->merits.lost_gpu_h);
}
static double value_stops(const struct summary *s, uint32_t i)
{
    return (double)s->r->merits.stops[i];
}
static double value_never(const struct summary *s, uint32_t i)
{
    (void)i;
    return (double)s->r->merits.gangs_never;
}
static double value_fair(const struct summary *s, uint32_t i)
{
    (void)i;
    return positive(s->merits.fairness);
}
static double value_kept(const struct summary *s, uint32_t i)
{
    (void)i;
    return s->r->merits.early.n ? (double)s->r->merits.kept : NAN;
}
static double value_broken(const struct summary *s, uint32_t i)
{
    (void)i;
    return s->r->merits.early.n ? (double)s->r->merits.broken : NAN;
}
/* i: how far above the lowest level. */
static double value_whole(const struct summary *s, uint32_t i)
{
    uint32_t n = s->r->merits.nlevels;

    return n > i ? positive(s->merits.whole[n - 1 - i]) : NAN;
}

enum form { FORM_TIME, FORM_COUNT, FORM_TENTH, FORM_THOUSANDTH };

static const struct {
    const char *head, *unit;
    double (*value)(const struct summary *s, uint32_t i);
    uint32_t i;
    uint8_t form; /* enum form */
} columns[] = {
    {"Offered", "% of GPUs", value_offered, 0, FORM_TENTH},
    {"Wait", "1 GPU", value_size, SIZE_1, FORM_TIME},
    {"Wait", "2&ndash;8 GPUs", value_size, SIZE_8, FORM_TIME},
    {"Wait", "9&ndash;64 GPUs", value_size, SIZE_64, FORM_TIME},
    {"Wait", "65&ndash;512 GPUs", value_size, SIZE_512, FORM_TIME},
    {"Wait", "&gt;512 GPUs", value_size, SIZE_MORE, FORM_TIME},
    {"Wait", "GPU-weighted", value_weighted, 0, FORM_TIME},
    {"Largest gangs", "p95 of waits", value_largest, 0, FORM_TIME},
    {"Slowdown", "mean", value_slowdown, 0, FORM_TENTH},
    {"Lost, starting", "GPU-hours", value_lost, 0, FORM_TENTH},
    {"Evicted", "gangs", value_stops, REPORT_EVICTED, FORM_COUNT},
    {"Moved", "gangs", value_stops, REPORT_MOVED, FORM_COUNT},
    {"Never started", "gangs", value_never, 0, FORM_COUNT},
    {"Fairness", "Jain", value_fair, 0, FORM_THOUSANDTH},
    {"Promises", "kept", value_kept, 0, FORM_COUNT},
    {"Promises", "broken", value_broken, 0, FORM_COUNT},
    {"Whole domains", "lowest level", value_whole, 0, FORM_TENTH},
    {"Whole domains", "level above", value_whole, 1, FORM_TENTH},
};
enum { COLUMNS_SHOWN = sizeof columns / sizeof *columns };

static bool is_shown(const struct html *h, uint32_t c)
{
    uint32_t i;

    for (i = 0; i < h->n; i++)
        if (!isnan(columns[c].value(h->sums[i], columns[c].i)))
            return true;
    return false;
}

static void cell(const struct html *h, uint32_t c, const struct summary *s)
{
    double v = columns[c].value(s, columns[c].i);
    char count[24];
    figure f;

    if (isnan(v))
        buf_z(h->out, "<td>–</td>");
    else if (columns[c].form == FORM_TIME)
        buf_fmt(h->out, "<td>%s</td>", secs_long(v, f));
    else if (columns[c].form == FORM_COUNT)
        buf_fmt(h->out, "<td>%s</td>", count_text((uint64_t)v, count));
    else
        buf_fmt(h->out, "<td>%.*f</td>", columns[c].form == FORM_TENTH ? 1 : 3, v);
}

void html_merits(const struct html *h)
{
    uint32_t i, c;

    if (summary_all_fill(h->sums, h->n))
        return;
    buf_z(h->out, "<h2>By size, promises, fairness</h2>\n<div class=\"scroll\" tabindex=\"0\">"
                  "<table><thead><tr><th scope=\"col\">Policy</th>");
    for (c = 0; c < COLUMNS_SHOWN; c++)
        if (is_shown(h, c))
            buf_fmt(h->out, "<th scope=\"col\">%s<br>%s</th>", columns[c].head,
                    columns[c].unit);
    buf_z(h->out, "</tr></thead>\n<tbody>\n");
    for (i = 0; i < h->n; i++) {
        buf_z(h->out, "<tr><th scope=\"row\">");
        buf_html(h->out, h->sums[i]->r->about.policy);
        buf_z(h->out, "</th>");
        for (c = 0; c < COLUMNS_SHOWN; c++)
            if (is_shown(h, c))
                cell(h, c, h->sums[i]);
        buf_z(h->out, "</tr>\n");
    }
    buf_fmt(h->out, "</tbody></table></div>\n<p class=\"note\">Largest: %s.</p>\n",
            h->sums[0]->merits.largest_name);
}
