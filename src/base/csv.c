/* csv.c - rows of a delimited text file, streaming
 *
 * The row under work lies whole in one buffer; cells are views into it. The bytes that
 * matter (delimiter, quote, newline) are found 64 at a time as the bits of a mask, with
 * SSE2 or else eight bytes a step in plain words (the exact zero-byte test of Warren,
 * "Hacker's Delight" 6-1, and a multiplication that gathers the bits; Langdale and
 * Lemire, "Parsing gigabytes of JSON per second", 2019, has the idea of the mask). The
 * parser walks the bits, so it takes one step a cell. A row that reaches behind what is
 * loaded is moved to the front and parsed again after the next read; the buffer
 * doubles, so a row of n bytes costs O(n).
 *
 * Quotes follow RFC 4180: a cell that begins with the quote runs to the next single
 * one, a double one inside stands for itself. Such cells are joined in place only when
 * their row is complete, since the row may be parsed twice. A quote inside an unquoted
 * cell is an ordinary byte (as Python's csv reads it). With delimiter ' ' there are no
 * quotes, and runs of blanks and tabs separate.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/csv.h"

#include <assert.h>
#include <errno.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"
#include "base/vec.h"

enum { READ_SIZE = 256 << 10, BLOCK = 64 };

/* Where a line begins inside a row whose quoted cells hold newlines. */
struct line_break {
    uint32_t cell;     /* holds the newline; those behind it stand on the new line */
    uint32_t nlines;   /* newlines up to here since the row began */
    const char *start; /* first byte of that line */
};

struct csv {
    struct infile *in;
    char delim, quote;
    bool ended; /* the file has no more bytes */
    bool begun; /* the byte order mark was looked for */
    char *data; /* room + BLOCK bytes; zeros behind end */
    size_t room;
    size_t end;        /* bytes loaded */
    size_t pos;        /* first byte of the next row */
    size_t block;      /* where the mask's bit 0 stands */
    uint64_t mask;     /* special bytes of the block that are still to be seen */
    uint64_t line;     /* of pos */
    uint64_t row_line; /* of the current row */
    const char *row;   /* its first byte */
    uint32_t n;
    VEC(struct line_break) breaks;
    VEC(uint32_t) doubled; /* cells of the row with doubled quotes */
    struct err failed;     /* code > 0: every further call says so again */
    struct str cells[CSV_CELLS_MAX];
};

struct csv *csv_open(struct infile *in, char delim, char quote)
{
    assert(delim != '\0' && delim != '\n' && delim != '\r' && delim != quote);
    struct csv *c = mem_zero(sizeof *c);
    c->in = in;
    c->delim = delim;
    c->quote = quote;
    c->room = READ_SIZE;
    c->data = mem_alloc(c->room + BLOCK);
    c->line = c->row_line = 1;
    return c;
}

void csv_close(struct csv *c)
{
    if (!c)
        return;
    infile_close(c->in);
    vec_done(&c->breaks);
    vec_done(&c->doubled);
    free(c->data);
    free(c);
}

const char *csv_name(const struct csv *c)
{
    return infile_name(c->in);
}

#if defined(__SSE2__) && !defined(CSV_PORTABLE)
static inline uint64_t match16(__m128i x, __m128i d, __m128i nl, __m128i q)
{
    __m128i hit =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, d), _mm_cmpeq_epi8(x, nl)),
                     _mm_cmpeq_epi8(x, q));
    return (uint64_t)(uint32_t)_mm_movemask_epi8(hit);
}

static inline uint64_t block_mask(const char *p, char delim, char quote)
{
    const __m128i *at = (const __m128i *)(const void *)p;
    __m128i d = _mm_set1_epi8(delim), nl = _mm_set1_epi8('\n');
    __m128i q = _mm_set1_epi8(quote ? quote : '\n');
    return match16(_mm_loadu_si128(at), d, nl, q) |
           match16(_mm_loadu_si128(at + 1), d, nl, q) << 16 |
           match16(_mm_loadu_si128(at + 2), d, nl, q) << 32 |
           match16(_mm_loadu_si128(at + 3), d, nl, q) << 48;
}
#else
/* 0x80 in each of the 8 bytes that equals the pattern's. */
static inline uint64_t match8(uint64_t x, uint64_t pattern)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t t = x ^ pattern;
    return ~(((t & low) + low) | t | low);
}

/* Little endian: byte i of a word becomes bit i. */
static uint64_t block_mask(const char *p, char delim, char quote)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t d = ones * (unsigned char)delim, nl = ones * '\n', mask = 0;
    uint64_t q = quote ? ones * (unsigned char)quote : nl;
    for (int i = 0; i < BLOCK; i += 8) {
        uint64_t x;
        memcpy(&x, p + i, 8);
        uint64_t hit = match8(x, d) | match8(x, nl) | match8(x, q);
        mask |= ((hit >> 7) * UINT64_C(0x0102040810204080) >> 56) << i;
    }
    return mask;
}
#endif

/* Start looking at offset i. */
static inline void look_from(struct csv *c, size_t i)
{
    c->block = i;
    c->mask = block_mask(c->data + i, c->delim, c->quote);
}

/* Skip what marks a file as UTF-8; a file that lacks its last newline gets it. */
static void load_end(struct csv *c)
{
    if (!c->begun && c->end >= 3 && memcmp(c->data, "\xef\xbb\xbf", 3) == 0)
        c->pos = 3;
    c->begun = true;
    if (c->ended && c->end > c->pos && c->data[c->end - 1] != '\n')
        c->data[c->end++] = '\n';
    memset(c->data + c->end, 0, BLOCK);
}

/* Load more behind what is left of the row at pos, which moves to the front. 1, or 0
 * when nothing came, or -errno. */
static int load(struct csv *c, struct err *err)
{
    if (c->ended)
        return 0;
    size_t left = c->end - c->pos;
    if (left > 0 && c->pos > 0)
        memmove(c->data, c->data + c->pos, left);
    c->pos = 0;
    c->end = left;
    if (left > c->room / 2) {
        c->room *= 2;
        c->data = mem_resize(c->data, c->room + BLOCK);
    }
    /* One byte stays for the newline that load_end may add; three must be there to know
     * the byte order mark. */
    do {
        long n = infile_read(c->in, c->data + c->end, c->room - c->end - 1, err);
        if (n < 0)
            return (int)n;
        c->ended = n == 0;
        c->end += (size_t)n;
    } while (!c->ended && !c->begun && c->end < 3);
    load_end(c);
    look_from(c, c->pos);
    return 1;
}

/* err at byte p of the row under work, whose latest line began at c->breaks' last. */
static int fail_at(struct csv *c, const char *p, int code, const char *why)
{
    const char *start = c->data + c->pos;
    uint64_t line = c->line;
    if (c->breaks.n) {
        start = c->breaks.at[c->breaks.n - 1].start;
        line += c->breaks.at[c->breaks.n - 1].nlines;
    }
    return err_set(&c->failed, code, "%s:%llu:%llu: %s", csv_name(c),
                   (unsigned long long)line, (unsigned long long)(p - start + 1), why);
}

/* Note the newlines of the quoted cell [from, to). */
static void note_breaks(struct csv *c, const char *from, const char *to)
{
    const char *nl;
    while ((nl = memchr(from, '\n', (size_t)(to - from)))) {
        uint32_t before = c->breaks.n ? c->breaks.at[c->breaks.n - 1].nlines : 0;
        struct line_break b = {c->n, before + 1, nl + 1};
        /* only the last line of a cell matters to those behind it */
        if (c->breaks.n && c->breaks.at[c->breaks.n - 1].cell == c->n)
            c->breaks.at[c->breaks.n - 1] = b;
        else
            vec_push(&c->breaks, b);
        from = nl + 1;
    }
}

enum { NEED_MORE = 0, CELL_DONE = 1 };

/* The quoted cell whose opening quote stands at `at`. CELL_DONE with *ret_next behind
 * its closing quote, NEED_MORE, or -errno (in c->failed). */
static int quoted_cell(struct csv *c, size_t at, size_t *ret_next)
{
    const char *from = c->data + at + 1, *end = c->data + c->end, *p = from;
    bool doubled = false;
    for (;; p += 2, doubled = true) {
        p = memchr(p, c->quote, (size_t)(end - p));
        if (!p || p + 1 == end) {
            if (!c->ended)
                return NEED_MORE;
            return fail_at(c, from - 1, EINVAL, "this quote is never closed");
        }
        if (p[1] != c->quote)
            break;
    }
    if (p[1] == '\r' && p + 2 == end && !c->ended)
        return NEED_MORE;
    if (p[1] != c->delim && p[1] != '\n' && !(p[1] == '\r' && p[2] == '\n')) {
        note_breaks(c, from, p);
        return fail_at(c, p + 1, EINVAL, "text behind a closing quote");
    }
    note_breaks(c, from, p);
    if (doubled)
        vec_push(&c->doubled, c->n);
    c->cells[c->n++] = (struct str){from, (size_t)(p - from)};
    *ret_next = (size_t)(p + 1 - c->data);
    return CELL_DONE;
}

/* Make "" one quote in the cells that have it. */
static void join_doubled(struct csv *c)
{
    for (uint32_t k = 0; k < c->doubled.n; k++) {
        struct str *s = &c->cells[c->doubled.at[k]];
        char *to = c->data + (s->ptr - c->data);
        size_t n = 0;
        for (size_t i = 0; i < s->len; i++) {
            to[n++] = s->ptr[i];
            i += s->ptr[i] == c->quote;
        }
        s->len = n;
    }
}

/* The row at [pos, end) is complete. */
static void row_done(struct csv *c, size_t end)
{
    c->row = c->data + c->pos;
    c->row_line = c->line;
    c->line += 1 + (c->breaks.n ? c->breaks.at[c->breaks.n - 1].nlines : 0);
    c->pos = end;
    if (c->doubled.n)
        join_doubled(c);
}

/* The delimited row at pos if no quote is in it and all of it is loaded: most rows.
 * False: nothing has moved. */
static bool plain_row(struct csv *c)
{
    const char *data = c->data;
    uint64_t mask = c->mask;
    size_t block = c->block, cell = c->pos, i;
    struct str *to = c->cells, *last = to + CSV_CELLS_MAX - 1;
    for (;;) {
        while (mask == 0) {
            block += BLOCK;
            if (block >= c->end)
                return false;
            mask = block_mask(data + block, c->delim, c->quote);
        }
        i = block + (size_t)__builtin_ctzll(mask);
        mask &= mask - 1;
        if (data[i] != c->delim)
            break;
        if (to == last)
            return false;
        *to++ = (struct str){data + cell, i - cell};
        cell = i + 1;
    }
    if (data[i] != '\n')
        return false;
    size_t len = i - cell;
    len -= len > 0 && data[i - 1] == '\r';
    *to++ = (struct str){data + cell, len};
    c->n = (uint32_t)(to - c->cells);
    c->block = block;
    c->mask = mask;
    c->row = data + c->pos;
    c->row_line = c->line++;
    c->pos = i + 1;
    c->breaks.n = c->doubled.n = 0;
    return true;
}

/* The delimited row at pos. 1: in c->cells; NEED_MORE; -errno. */
static int delimited_row(struct csv *c)
{
    size_t cell = c->pos;
    c->n = 0;
    vec_clear(&c->breaks);
    vec_clear(&c->doubled);
    for (;;) {
        while (c->mask == 0) {
            if (c->block + BLOCK >= c->end)
                return NEED_MORE;
            look_from(c, c->block + BLOCK);
        }
        size_t i = c->block + (size_t)__builtin_ctzll(c->mask);
        char ch = c->data[i];
        c->mask &= c->mask - 1;
        if (ch != c->delim && ch != '\n' && i != cell)
            continue; /* a quote inside a cell */
        if (c->n == CSV_CELLS_MAX)
            return fail_at(c, c->data + cell, E2BIG, "too many cells in a row");
        if (ch == c->delim) {
            c->cells[c->n++] = (struct str){c->data + cell, i - cell};
            cell = i + 1;
        } else if (ch == '\n') {
            size_t len = i - cell;
            len -= len > 0 && c->data[i - 1] == '\r';
            c->cells[c->n++] = (struct str){c->data + cell, len};
            row_done(c, i + 1);
            return CELL_DONE;
        } else {
            int rc = quoted_cell(c, i, &i);
            if (rc != CELL_DONE)
                return rc;
            i += c->data[i] == '\r';
            cell = i + 1;
            look_from(c, cell);
            if (c->data[i] == '\n') {
                row_done(c, cell);
                return CELL_DONE;
            }
        }
    }
}

static inline bool is_blank(char ch)
{
    return ch == ' ' || ch == '\t';
}

/* The row at pos, cells between runs of blanks. As delimited_row. */
static int blank_row(struct csv *c)
{
    const char *p = c->data + c->pos;
    const char *nl = memchr(p, '\n', c->end - c->pos);
    if (!nl)
        return NEED_MORE;
    const char *end = nl > p && nl[-1] == '\r' ? nl - 1 : nl;
    c->n = 0;
    for (;;) {
        while (p < end && is_blank(*p))
            p++;
        if (p == end)
            break;
        const char *start = p;
        while (p < end && !is_blank(*p))
            p++;
        if (c->n == CSV_CELLS_MAX)
            return fail_at(c, start, E2BIG, "too many cells in a row");
        c->cells[c->n++] = (struct str){start, (size_t)(p - start)};
    }
    row_done(c, (size_t)(nl + 1 - c->data));
    return CELL_DONE;
}

/* Is the row that was read a line without anything on it? */
static bool is_empty_row(const struct csv *c)
{
    return c->n == 0 ||
           (c->n == 1 && c->cells[0].len == 0 && c->cells[0].ptr == c->row);
}

static int fail_again(struct csv *c, struct err *err)
{
    if (err)
        *err = c->failed;
    return -c->failed.code;
}

int csv_next(struct csv *c, struct csv_row *ret, struct err *err)
{
    if (c->failed.code)
        return fail_again(c, err);
    for (;;) {
        int rc = c->pos == c->end  ? NEED_MORE
                 : c->delim == ' ' ? blank_row(c)
                 : plain_row(c)    ? CELL_DONE
                                   : delimited_row(c);
        if (rc == CELL_DONE && c->pos - (size_t)(c->row - c->data) <= CSV_ROW_MAX) {
            if (is_empty_row(c))
                continue;
            *ret = (struct csv_row){c->cells, c->n, c->row_line};
            return 1;
        }
        if (rc == CELL_DONE || c->end - c->pos > CSV_ROW_MAX) {
            uint64_t line = rc == CELL_DONE ? c->row_line : c->line;
            err_set(&c->failed, E2BIG, "%s:%llu:1: a row of more than %u bytes%s",
                    csv_name(c), (unsigned long long)line, CSV_ROW_MAX,
                    c->quote ? " (is a quote left open?)" : "");
        } else if (rc == NEED_MORE) {
            rc = load(c, &c->failed);
            if (rc == 0)
                return 0;
        }
        if (c->failed.code)
            return fail_again(c, err);
    }
}

uint32_t csv_column(const struct csv *c, uint32_t cell)
{
    const char *start = c->row;
    for (uint32_t k = 0; k < c->breaks.n && c->breaks.at[k].cell < cell; k++)
        start = c->breaks.at[k].start;
    const char *p = c->cells[cell].ptr;
    bool quoted = c->quote && p > start && p[-1] == c->quote;
    return (uint32_t)(p - start - quoted) + 1;
}

uint64_t csv_line(const struct csv *c, uint32_t cell)
{
    uint64_t line = c->row_line;
    for (uint32_t k = 0; k < c->breaks.n && c->breaks.at[k].cell < cell; k++)
        line = c->row_line + c->breaks.at[k].nlines;
    return line;
}
