/* plot.h - lines in a frame, as HTML that needs no script
 * The lines are one SVG that stretches with the page (its strokes do not); tick labels
 * are HTML beside it, so they keep their size at 400 pixels and at 1,400. Series i has
 * the class `s<i>`: colour, dash and visibility are the style sheet's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_PLOT_H
#define MUSTER_PLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { AXIS_TICKS_MAX = 16 };

struct axis {
    double lo, hi; /* hi > lo; log: both > 0 */
    bool log;
    uint32_t nticks;
    struct {
        double at;
        bool minor; /* the label is dropped on narrow screens */
        char label[24];
    } ticks[AXIS_TICKS_MAX];
};

/* 0 to at least hi, in about `parts` steps of 1, 2 or 5 x 10^k; labels are value x
 * scale. */
void axis_linear(struct axis *a, double hi, uint32_t parts, double scale,
                 const char *unit);
/* 0 to exactly hi seconds, steps that people count time in (min, h, d). */
void axis_time(struct axis *a, double hi_s);
/* 1 s (or less) to at least hi_s, a tick at 1 s, 10 s, 1 min, 10 min, 1 h, ... */
void axis_log_time(struct axis *a, double hi_s);

struct plot {
    struct buf *out;
    struct axis x, y;
    bool begun; /* the current line has a point */
};

/* label: what a screen reader says for the whole plot. */
void plot_open(struct plot *p, struct str label);
void plot_line_open(struct plot *p, uint32_t series, const char *extra_class);
void plot_point(struct plot *p, double x, double y); /* clamped into the frame */
void plot_line_close(struct plot *p, struct str title);
/* An invisible strip that shows a text when pointed at: open, buf_html into p->out,
 * close. */
void plot_tip_open(struct plot *p, double x0, double x1);
void plot_tip_close(struct plot *p);
void plot_close(struct plot *p, const char *x_label);

#endif
