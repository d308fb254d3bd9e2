/* test-csv.c - rows as RFC 4180 has them, and the place of every error
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/csv.h"
#include "base/rng.h"
#include "tap.h"

/* A row as "line:cell|cell|..."; rows end with a newline. */
static int read_all(struct str text, char delim, char quote, struct buf *out,
                    struct err *err)
{
    struct infile *in;
    struct csv_row row;
    int rc = infile_open_mem(&in, text.ptr, text.len, "t.csv", err);
    if (rc < 0)
        return rc;
    struct csv *c = csv_open(in, delim, quote);
    while ((rc = csv_next(c, &row, err)) == 1) {
        buf_fmt(out, "%llu:", (unsigned long long)row.line);
        for (uint32_t i = 0; i < row.n; i++) {
            buf_z(out, i ? "|" : "");
            buf_str(out, row.cells[i]);
        }
        buf_char(out, '\n');
    }
    csv_close(c);
    return rc;
}

struct table_row {
    const char *what;
    const char *text;
    const char *want; /* rows before the end or the error */
    int rc;
    const char *error; /* how its text begins */
};

static void check_table(const struct table_row *t, size_t n, char delim, char quote)
{
    for (size_t i = 0; i < n; i++, t++) {
        struct buf out = {0};
        struct err err = {0};
        buf_z(&out, "");
        is_int(read_all(str_of(t->text), delim, quote, &out, &err), t->rc, "%s",
               t->what);
        is_str(out.data, t->want, "  its rows");
        if (t->error)
            ok(strncmp(err.text, t->error, strlen(t->error)) == 0, "  %s", err.text);
        buf_done(&out);
    }
}

static void test_comma(void)
{
    static const struct table_row rows[] = {
        {"plain rows", "a,b\n1,2\n", "1:a|b\n2:1|2\n", 0, NULL},
        {"no last newline", "a,b\n1,2", "1:a|b\n2:1|2\n", 0, NULL},
        {"CR LF", "a,b\r\n1,2\r\n", "1:a|b\n2:1|2\n", 0, NULL},
        {"CR LF after a quoted cell", "a,\"b\"\r\n\"1\",2\r\n", "1:a|b\n2:1|2\n", 0,
         NULL},
        {"a CR inside a row is data", "a\rb,c\n", "1:a\rb|c\n", 0, NULL},
        {"a CR inside quotes is data", "\"a\r\",\"\r\n\"\n", "1:a\r|\r\n\n", 0, NULL},
        {"empty cells", ",,\n,x,\n", "1:||\n2:|x|\n", 0, NULL},
        {"empty lines are counted, not given", "\n\na\n\r\n\nb\n", "3:a\n6:b\n", 0,
         NULL},
        {"a lone quoted nothing is a row", "a\n\"\"\nb\n", "1:a\n2:\n3:b\n", 0, NULL},
        {"nothing", "", "", 0, NULL},
        {"only newlines", "\n\r\n\n", "", 0, NULL},
        {"a byte order mark",
         "\xef\xbb\xbf"
         "a,b\n",
         "1:a|b\n", 0, NULL},
        {"a byte order mark before a quote", "\xef\xbb\xbf\"a\",b\n", "1:a|b\n", 0,
         NULL},
        {"only a byte order mark", "\xef\xbb\xbf", "", 0, NULL},
        {"half a byte order mark is data", "\xef\xbb", "1:\xef\xbb\n", 0, NULL},
        {"a later one is data",
         "a\n\xef\xbb\xbf"
         "b\n",
         "1:a\n2:\xef\xbb\xbf"
         "b\n",
         0, NULL},
        {"quoted delimiters", "\"a,b\",\"c\"\n", "1:a,b|c\n", 0, NULL},
        {"doubled quotes", "\"say \"\"hi\"\"\",\"\"\"\"\n", "1:say \"hi\"|\"\n", 0,
         NULL},
        {"a quoted cell over lines", "x,\"1\n2\n\n3\",y\nnext\n",
         "1:x|1\n2\n\n3|y\n5:next\n", 0, NULL},
        {"a quote inside a cell is data", "a\"b,c\"\n", "1:a\"b|c\"\n", 0, NULL},
        {"blanks are data", " a , b\n", "1: a | b\n", 0, NULL},
        {"a quote behind a blank is data", " \"a,b\"\n", "1: \"a|b\"\n", 0, NULL},
        {"a quote that is never closed", "a,b\nc,\"d\ne,f\n", "1:a|b\n", -EINVAL,
         "t.csv:2:3: "},
        {"one at the very end", "a,\"", "", -EINVAL, "t.csv:1:3: "},
        {"one behind a cell over lines", "\"1\n2\",x,\"3\n", "", -EINVAL,
         "t.csv:2:6: "},
        {"one that looks doubled", "\"a\"\"\nb\n", "", -EINVAL, "t.csv:1:1: "},
        {"text behind a quote", "a\n\"b\"c,d\n", "1:a\n", -EINVAL, "t.csv:2:4: "},
        {"text behind a quote over lines", "a\nx,\"b\n12\"3,d\n", "1:a\n", -EINVAL,
         "t.csv:3:4: "},
        {"a CR behind a quote, no LF", "\"b\"\rc\n", "", -EINVAL, "t.csv:1:4: "},
    };
    check_table(rows, sizeof rows / sizeof *rows, ',', '"');
}

static void test_other_forms(void)
{
    static const struct table_row tab[] = {
        {"tabs, no quotes", "a b\t\"c\n\"\td\n", "1:a b|\"c\n2:\"|d\n", 0, NULL},
    };
    static const struct table_row bar[] = {
        {"bars and apostrophes", "'a|b'|c''d|'it''s'\n", "1:a|b|c''d|it's\n", 0, NULL},
    };
    static const struct table_row blank[] = {
        /* the Standard Workload Format */
        {"runs of blanks", "  1    0 \t -1  \n2 3\n", "1:1|0|-1\n2:2|3\n", 0, NULL},
        {"blank lines", "\n   \t \n 5\r\n \r\n", "3:5\n", 0, NULL},
        {"no last newline", "1 2", "1:1|2\n", 0, NULL},
        {"quotes are data", "\"a b\"\n", "1:\"a|b\"\n", 0, NULL},
    };
    check_table(tab, sizeof tab / sizeof *tab, '\t', 0);
    check_table(bar, sizeof bar / sizeof *bar, '|', '\'');
    check_table(blank, sizeof blank / sizeof *blank, ' ', 0);
}

static void test_places(void)
{
    static const struct {
        uint32_t row, cell;
        uint64_t line;
        uint32_t column;
    } want[] = {
        {0, 0, 1, 1}, {0, 1, 1, 4}, {0, 2, 1, 10}, {1, 0, 2, 1}, {1, 1, 2, 4},
        {1, 2, 3, 5}, {1, 3, 5, 3}, {1, 4, 5, 10}, {2, 0, 6, 1}, {2, 1, 6, 3},
    };
    static const char rows[] = "ab,\"x\"\"\",c\n"
                               "12,\"a\n\"\"\",\"b\n\n\",\"c\"\"d\",e\n"
                               "f,g\n";
    struct infile *in;
    struct err err = {0};
    struct csv_row row;
    infile_open_mem(&in, rows, sizeof rows - 1, "t.csv", &err);
    struct csv *c = csv_open(in, ',', '"');
    uint32_t at = UINT32_MAX;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        if (want[i].row != at) {
            is_int(csv_next(c, &row, &err), 1, "row %u", want[i].row);
            at = want[i].row;
        }
        is_uint(csv_line(c, want[i].cell), want[i].line, "  cell %u: line",
                want[i].cell);
        is_uint(csv_column(c, want[i].cell), want[i].column, "  column");
    }
    is_str(csv_name(c), "t.csv", "the name is the file's");
    csv_close(c);
    csv_close(NULL);
}

static void test_limits(void)
{
    struct buf b = {0}, out = {0};
    struct err err = {0};
    buf_z(&b, "first\n");
    buf_pad(&b, ',', CSV_CELLS_MAX - 1);
    buf_z(&b, "\n");
    is_int(read_all(buf_as_str(&b), ',', '"', &out, &err), 0,
           "as many cells as may be");
    is_uint(out.len, 8 + 2 + CSV_CELLS_MAX, "  all there");
    b.data[b.len - 1] = ',';
    buf_z(&b, "\n");
    buf_clear(&out);
    is_int(read_all(buf_as_str(&b), ',', '"', &out, &err), -E2BIG, "one cell more");
    is_str(err.text, "t.csv:2:1025: too many cells in a row", "  its place");
    buf_clear(&b);
    buf_z(&b, "first\n\"");
    buf_pad(&b, 'x', CSV_ROW_MAX - 3);
    buf_z(&b, "\"\nlast\n");
    buf_clear(&out);
    is_int(read_all(buf_as_str(&b), ',', '"', &out, &err), 0,
           "as long a row as may be");
    is_uint(out.len, 8 + 2 + CSV_ROW_MAX - 3 + 1 + 7, "  whole, and the next one too");
    buf_clear(&b);
    buf_z(&b, "first\n");
    buf_pad(&b, 'x', CSV_ROW_MAX);
    buf_z(&b, "\nlast\n");
    buf_clear(&out);
    is_int(read_all(buf_as_str(&b), ',', '"', &out, &err), -E2BIG, "one byte more");
    ok(strncmp(err.text, "t.csv:2:1: ", 11) == 0, "  %s", err.text);
    b.data[6] = '"';
    is_int(read_all(buf_as_str(&b), ',', '"', &out, &err), -E2BIG,
           "an open quote before megabytes");
    ok(strncmp(err.text, "t.csv:2:1: ", 11) == 0, "  %s", err.text);
    is_int(read_all(buf_as_str(&b), ' ', 0, &out, &err), -E2BIG,
           "too long a blank row");
    buf_done(&b);
    buf_done(&out);
}

static void test_error_stays(void)
{
    struct infile *in;
    struct err err = {0};
    struct csv_row row;
    infile_open_mem(&in, "a\n\"b\"c\nd\n", 9, "t.csv", &err);
    struct csv *c = csv_open(in, ',', '"');
    is_int(csv_next(c, &row, &err), 1, "a row");
    is_int(csv_next(c, &row, NULL), -EINVAL, "an error, err may be NULL");
    for (int i = 0; i < 2; i++) {
        err = (struct err){0};
        is_int(csv_next(c, &row, &err), -EINVAL, "is given again");
        ok(strncmp(err.text, "t.csv:2:4: ", 11) == 0, "  with its place");
    }
    csv_close(c);
    static const unsigned char cut[] = {0x1f, 0x8b, 8, 0, 0};
    infile_open_mem(&in, cut, sizeof cut, "t.gz", &err);
    c = csv_open(in, ',', '"');
    is_int(csv_next(c, &row, &err), -EBADMSG, "a cut file is no end: %s", err.text);
    csv_close(c);
    infile_open_mem(&in, "a\n", 2, "t.csv", &err);
    c = csv_open(in, ',', '"');
    is_int(csv_next(c, &row, &err), 1, "a row");
    is_int(csv_next(c, &row, &err), 0, "the end");
    is_int(csv_next(c, &row, &err), 0, "stays the end");
    csv_close(c);
}

/* Random tables are written by the rules of the RFC and must be read back, whatever the
 * lengths do to the reader's blocks and buffer. */
static void write_cell(struct rng *r, struct buf *text, struct buf *want, bool alone)
{
    static const char alphabet[] = "abc,\"\n\r x";
    size_t len = rng_below(r, 40) ? rng_below(r, 30) : rng_below(r, 70000);
    bool quoted = alone || rng_below(r, 4) == 0;
    size_t usable = sizeof alphabet - 1;
    buf_z(text, quoted ? "\"" : "");
    for (size_t i = 0; i < len; i++) {
        char ch = rng_below(r, 3) ? 'z' : alphabet[rng_below(r, usable)];
        if (!quoted && strchr(",\"\n\r", ch))
            ch = '-';
        buf_char(want, ch);
        buf_char(text, ch);
        if (ch == '"')
            buf_char(text, ch);
    }
    buf_z(text, quoted ? "\"" : "");
}

static void test_random(void)
{
    struct rng r;
    int bad = 0;
    rng_init(&r, 12, 0);
    for (int round = 0; round < 150; round++) {
        struct buf text = {0}, want = {0}, got = {0};
        struct err err = {0};
        uint64_t line = 1, nrows = rng_below(&r, 60);
        for (uint64_t i = 0; i < nrows; i++) {
            uint64_t n = 1 + rng_below(&r, 12);
            size_t before = text.len;
            buf_fmt(&want, "%llu:", (unsigned long long)line);
            for (uint64_t k = 0; k < n; k++) {
                buf_z(&text, k ? "," : "");
                buf_z(&want, k ? "|" : "");
                write_cell(&r, &text, &want, n == 1);
            }
            buf_z(&text, rng_below(&r, 2) ? "\n" : "\r\n");
            buf_char(&want, '\n');
            for (size_t k = before; k < text.len; k++)
                line += text.data[k] == '\n';
        }
        int rc = read_all(buf_as_str(&text), ',', '"', &got, &err);
        if (rc != 0 || !str_eq(buf_as_str(&got), buf_as_str(&want))) {
            diag("round %d: %d %s", round, rc, err.text);
            bad++;
        }
        buf_done(&text);
        buf_done(&want);
        buf_done(&got);
    }
    is_int(bad, 0, "150 random tables are read back");
}

int main(void)
{
    test_comma();
    test_other_forms();
    test_places();
    test_limits();
    test_error_stays();
    test_random();
    return done_testing();
}
