/* plot.c - axes with round ticks, and lines in a stretching SVG
 *
 * The frame is 1000 x 1000 user units with preserveAspectRatio="none"; y grows upward
 * for the caller. Paths use one decimal: at 1,400 pixels that is a seventh of a pixel.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/plot.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "base/units.h"

static void axis_tick(struct axis *a, double at, bool minor, const char *fmt, double v,
                      const char *unit)
{
    if (a->nticks == AXIS_TICKS_MAX)
        return;
    a->ticks[a->nticks].at = at;
    a->ticks[a->nticks].minor = minor;
    snprintf(a->ticks[a->nticks].label, sizeof a->ticks->label, fmt, v, unit);
    a->nticks++;
}

void axis_linear(struct axis *a, double hi, uint32_t parts, double scale,
                 const char *unit)
{
    double wish = (hi > 0 ? hi * scale : 1) / parts, step = pow(10, floor(log10(wish))),
           v;
    uint32_t i, n;

    if (wish > 5 * step * (1 + 1e-9))
        step *= 10;
    else if (wish > 2 * step * (1 + 1e-9))
        step *= 5;
    else if (wish > step * (1 + 1e-9))
        step *= 2;
    n = (uint32_t)ceil((hi > 0 ? hi * scale : 1) / step - 1e-9);
    *a = (struct axis){.hi = n * step / scale};
    for (i = 0; i <= n; i++) {
        v = i * step;
        axis_tick(a, v / scale, parts > 6 && i % 2, step < 1 ? "%.2g%s" : "%.0f%s", v,
                  unit);
    }
}

void axis_time(struct axis *a, double hi_s)
{
    static const struct {
        double step, unit;
        const char *name;
    } steps[] = {
        {1, 1, "s"},
        {5, 1, "s"},
        {15, 1, "s"},
        {60, 60, "min"},
        {300, 60, "min"},
        {900, 60, "min"},
        {3600, 3600, "h"},
        {3 * 3600, 3600, "h"},
        {6 * 3600, 3600, "h"},
        {86400, 86400, "d"},
        {2 * 86400, 86400, "d"},
        {5 * 86400, 86400, "d"},
        {10 * 86400, 86400, "d"},
        {30 * 86400, 86400, "d"},
        {100 * 86400, 86400, "d"},
        {365 * 86400.0, 86400, "d"},
        {3650 * 86400.0, 86400, "d"},
    };
    uint32_t n = sizeof steps / sizeof *steps, k = 0, i;
    double step;

    hi_s = hi_s > 0 ? hi_s : 1;
    while (k + 1 < n && hi_s / steps[k].step > 12)
        k++;
    *a = (struct axis){.hi = hi_s};
    step = steps[k].step;
    while (hi_s / step > AXIS_TICKS_MAX - 1)
        step *= 10;
    for (i = 0; i * step <= hi_s * 0.985; i++)
        axis_tick(a, i * step, i % 2, i ? "%.0f %s" : "%.0f", i * step / steps[k].unit,
                  steps[k].name);
}

void axis_log_time(struct axis *a, double hi_s)
{
    static const struct {
        double at, value;
        const char *unit;
        bool minor;
    } marks[] = {
        {1, 1, "s", false},         {10, 10, "s", true},
        {60, 1, "min", false},      {600, 10, "min", true},
        {3600, 1, "h", false},      {21600, 6, "h", true},
        {86400, 1, "d", false},     {864000, 10, "d", false},
        {8640000, 100, "d", false}, {86400000, 1000, "d", false},
    };
    uint32_t i;

    *a = (struct axis){.lo = 1, .hi = hi_s > 60 ? hi_s : 60, .log = true};
    for (i = 0; i < sizeof marks / sizeof *marks && marks[i].at <= a->hi; i++)
        axis_tick(a, marks[i].at, marks[i].minor, "%.0f %s", marks[i].value,
                  marks[i].unit);
}

/* 0 .. 1 along the axis. */
static double axis_place(const struct axis *a, double v)
{
    double p = a->log ? (v <= a->lo ? 0 : log(v / a->lo) / log(a->hi / a->lo))
                      : (v - a->lo) / (a->hi - a->lo);

    return p < 0 ? 0 : p > 1 ? 1 : p;
}

void plot_open(struct plot *p, struct str label)
{
    uint32_t i;

    assert(p->x.hi > p->x.lo && p->y.hi > p->y.lo);
    buf_z(p->out, "<div class=\"frame\" role=\"img\" aria-label=\"");
    buf_html(p->out, label);
    buf_z(p->out, "\"><svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" "
                  "aria-hidden=\"true\"><path class=\"grid\" d=\"");
    for (i = 0; i < p->y.nticks; i++)
        buf_fmt(p->out, "M0 %.1fH1000",
                1000 - 1000 * axis_place(&p->y, p->y.ticks[i].at));
    for (i = 0; i < p->x.nticks; i++)
        buf_fmt(p->out, "M%.1f 0V1000", 1000 * axis_place(&p->x, p->x.ticks[i].at));
    buf_z(p->out, "\"/>");
}

void plot_line_open(struct plot *p, uint32_t series, const char *extra_class)
{
    buf_fmt(p->out, "<path class=\"line s s%u %s\" d=\"", series, extra_class);
    p->begun = false;
}

void plot_point(struct plot *p, double x, double y)
{
    buf_fmt(p->out, "%c%.1f %.1f", p->begun ? 'L' : 'M', 1000 * axis_place(&p->x, x),
            1000 - 1000 * axis_place(&p->y, y));
    p->begun = true;
}

void plot_line_close(struct plot *p, struct str title)
{
    buf_z(p->out, "\"><title>");
    buf_html(p->out, title);
    buf_z(p->out, "</title></path>");
}

void plot_tip_open(struct plot *p, double x0, double x1)
{
    double a = 1000 * axis_place(&p->x, x0), b = 1000 * axis_place(&p->x, x1);

    buf_fmt(
        p->out,
        "<rect class=\"tip\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"1000\"><title>",
        a, b - a);
}

void plot_tip_close(struct plot *p)
{
    buf_z(p->out, "</title></rect>");
}

void plot_close(struct plot *p, const char *x_label)
{
    uint32_t i;

    buf_z(p->out, "</svg>");
    for (i = 0; i < p->y.nticks; i++)
        buf_fmt(p->out, "<span class=\"y\" style=\"bottom:%.2f%%\">%s</span>",
                100 * axis_place(&p->y, p->y.ticks[i].at), p->y.ticks[i].label);
    for (i = 0; i < p->x.nticks; i++)
        buf_fmt(p->out, "<span class=\"x%s\" style=\"left:%.2f%%\">%s</span>",
                p->x.ticks[i].minor ? " minor" : "",
                100 * axis_place(&p->x, p->x.ticks[i].at), p->x.ticks[i].label);
    buf_fmt(p->out, "</div><p class=\"xlabel\">%s</p>\n", x_label);
}
