/* fuzz-csv.c - any bytes as delimited text, in three forms
 *
 * Beside not crashing: cells lie in the text's order, places count from 1, and what was
 * read as comma-separated rows, written with every cell quoted, reads as the same rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/csv.h"
#include "base/vec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)   \
    do {             \
        if (!(cond)) \
            abort(); \
    } while (0)

/* Rows as length-prefixed cells; the count of cells ends each. */
static int read_rows(struct str text, char delim, char quote, struct buf *flat,
                     struct buf *quoted)
{
    struct infile *in;
    struct csv_row row;
    struct err err;
    if (infile_open_mem(&in, text.ptr, text.len, "fuzz", &err) < 0)
        return -1;
    struct csv *c = csv_open(in, delim, quote);
    uint64_t line = 0;
    int rc;
    while ((rc = csv_next(c, &row, &err)) == 1 && flat->len < 8u << 20) {
        MUST(row.line > line && row.n >= 1 && row.n <= CSV_CELLS_MAX);
        line = row.line;
        for (uint32_t i = 0; i < row.n; i++) {
            MUST(csv_column(c, i) >= 1 && csv_line(c, i) >= row.line);
            buf_fmt(flat, "%zu:", row.cells[i].len);
            buf_str(flat, row.cells[i]);
            buf_z(quoted, i ? ",\"" : "\"");
            for (size_t k = 0; k < row.cells[i].len; k++) {
                buf_char(quoted, row.cells[i].ptr[k]);
                if (row.cells[i].ptr[k] == '"')
                    buf_char(quoted, '"');
            }
            buf_char(quoted, '"');
        }
        buf_fmt(flat, "%u;", row.n);
        buf_char(quoted, '\n');
    }
    MUST(rc >= 0 || (err.code == -rc && err.text[0]));
    csv_close(c);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct buf first = {0}, again = {0}, quoted = {0}, none = {0};
    read_rows(text, '\t', 0, &first, &none);
    read_rows(text, ' ', 0, &first, &none);
    buf_clear(&first);
    read_rows(text, ',', '"', &first, &quoted);
    if (quoted.len < 1u << 20) {
        MUST(read_rows(buf_as_str(&quoted), ',', '"', &again, &none) == 0);
        MUST(str_eq(buf_as_str(&first), buf_as_str(&again)));
    }
    buf_done(&first);
    buf_done(&again);
    buf_done(&quoted);
    buf_done(&none);
    return 0;
}
