/* figures.h - numbers as the printers of this room write them
 * All functions write into out and return it. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_FIGURES_H
#define MUSTER_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

typedef char figure[64];

/* Three or four digits and a unit without a space: "0s", "0.25s", "104s", "17.4m",
 * "3.25h", "12.4d". */
char *secs_short(double s, figure out);
/* The same with a space and "min": "17.4 min". */
char *secs_long(double s, figure out);
/* "81.2"; "–" for a negative (not measured) fraction. digits: behind the point. */
char *percent_text(double fraction, int digits, figure out);
/* Whole seconds with separators and what is left: "7,166,165 s", "12.25 s". Exact. */
char *exact_secs(__int128 us, figure out);
/* "12,345.6": one digit behind the point below a million. */
char *hours_text(double hours, figure out);
/* Decimal digits, no separators. */
char *i128_text(__int128 v, figure out);
/* As printf's %.9g, in a tenth of the time for most values. */
char *real_text(double v, figure out);

/* Bytes that a terminal would obey become '?'; cut to `most` characters with "…" at the
 * end, or padded with spaces to `most`. Returns nothing; counts code points. */
void plain_cell(struct buf *b, struct str s, uint32_t most);
uint32_t plain_length(struct str s);

/* A bar of eighth blocks, `width` cells wide, padded with spaces. fraction is clamped.
 */
void bar_cells(struct buf *b, double fraction, uint32_t width);

#endif
