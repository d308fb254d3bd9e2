/* csv.h - rows of a delimited text file, streaming
 * Quotes as in RFC 4180, any one-byte delimiter. A row may span lines inside quotes.
 * CRLF and LF end a row; the last may lack it. Empty lines are passed over (and
 * counted). A UTF-8 BOM is skipped. Cells point into the reader's buffer, without their
 * quotes, and live until the next csv_next.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CSV_H
#define MUSTER_CSV_H

#include "base/infile.h"

#define CSV_CELLS_MAX 1024u
#define CSV_ROW_MAX (4u << 20) /* bytes */

struct csv;

struct csv_row {
    const struct str *cells;
    uint32_t n;
    uint64_t line; /* of the row's first byte, from 1 */
};

/* Takes in (closes it in csv_close). quote 0 = no quoting. delim ' ' = runs of blanks
 * and tabs, no quoting (SWF). */
struct csv *csv_open(struct infile *in, char delim, char quote);
/* 1: a row; 0: end; -errno with err naming file, line, column (byte in the line):
 * -EINVAL for quotes, -E2BIG over the limits above, or what infile_read says. Then
 * always the same. */
int csv_next(struct csv *c, struct csv_row *ret, struct err *err);
/* Where cell i of the current row starts, as a column (byte) from 1, for messages. */
uint32_t csv_column(const struct csv *c, uint32_t cell);
/* The line on which it starts; not the row's when an earlier cell holds a newline. */
uint64_t csv_line(const struct csv *c, uint32_t cell);
const char *csv_name(const struct csv *c);
void csv_close(struct csv *c);

#endif
