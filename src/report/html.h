/* html.h - what the files that write the HTML page share
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_REPORT_HTML_H
#define MUSTER_REPORT_HTML_H

#include "report/summary.h"

struct html {
    struct buf *out;
    struct summary **sums;
    uint32_t n;
};

extern const char report_css[];

/* The rules that depend on the number of policies: colour and dash of series i, and its
 * check box that hides it everywhere. */
void html_series_css(struct buf *out, uint32_t n);

/* Waits by size, fairness, promises and whole domains, a row a policy. */
void html_merits(const struct html *h);

/* The plots, each a section; those without data say so or are left out. */
void html_plots(const struct html *h);

#endif
