/* str.c - strings by pointer and length: cutting, numbers, UTF-8
 *
 * Numbers are read without the C library where that is exact: a decimal whose digits
 * fit in 2^53 and whose power of ten is within 10^22 is one correctly rounded
 * multiplication or division of two exact doubles (Clinger, "How to read floating point
 * numbers accurately", 1990). Anything else is copied into a bounded buffer for strtod;
 * the program never calls setlocale, so strtod reads a decimal point.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { NUMBER_LEN_MAX = 1023 }; /* bytes of a number that strtod has to read */

struct str str_trim(struct str s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s.ptr++;
        s.len--;
    }
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

struct str str_cut(struct str *rest, char sep)
{
    struct str piece = *rest;
    const char *at = rest->len ? memchr(rest->ptr, sep, rest->len) : NULL;
    if (!at) {
        *rest = (struct str){NULL, 0};
        return piece;
    }
    piece.len = (size_t)(at - rest->ptr);
    rest->ptr += piece.len + 1;
    rest->len -= piece.len + 1;
    return piece;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* All of [p, end) as digits. 0, -EINVAL or -ERANGE. */
static int digits_to_u64(const char *p, const char *end, uint64_t *ret)
{
    uint64_t v = 0;
    bool over = false;
    if (p == end)
        return -EINVAL;
    if (end - p <= 19) { /* 10^19 - 1 fits: no overflow to watch for */
        for (; p < end; p++) {
            if (!is_digit(*p))
                return -EINVAL;
            v = v * 10 + (uint64_t)(*p - '0');
        }
        *ret = v;
        return 0;
    }
    for (; p < end; p++) {
        if (!is_digit(*p))
            return -EINVAL;
        over |= __builtin_mul_overflow(v, UINT64_C(10), &v);
        over |= __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
    }
    if (over)
        return -ERANGE;
    *ret = v;
    return 0;
}

int str_to_u64(struct str s, uint64_t *ret)
{
    const char *p = s.ptr, *end = s.ptr + s.len;
    if (s.len && *p == '+')
        p++;
    return digits_to_u64(p, end, ret);
}

int str_to_i64(struct str s, int64_t *ret)
{
    const char *p = s.ptr, *end = s.ptr + s.len;
    bool negative = s.len && *p == '-';
    if (negative || (s.len && *p == '+'))
        p++;
    uint64_t v = 0;
    int rc = digits_to_u64(p, end, &v);
    if (rc < 0)
        return rc;
    if (v > (uint64_t)INT64_MAX + negative)
        return -ERANGE;
    *ret = negative ? (int64_t)(0 - v) : (int64_t)v;
    return 0;
}

/* A decimal taken apart: digits x 10^exp10. exact: digits holds all of them. */
struct decimal {
    uint64_t digits;
    int32_t exp10;
    bool negative, exact;
};

/* One digit behind what was read; after 19 significant ones the rest is not kept. */
static inline void decimal_digit(struct decimal *d, char c, int places)
{
    if (d->digits <= (UINT64_MAX - 9) / 10) {
        d->digits = d->digits * 10 + (uint64_t)(c - '0');
        d->exp10 -= places;
    } else {
        d->exact = false;
    }
}

/* [+-]digits[.digits][e[+-]digits], the whole of s. */
static int decimal_parse(struct str s, struct decimal *d)
{
    const char *p = s.ptr, *end = s.ptr + s.len, *start;
    *d = (struct decimal){.exact = true};
    if (p < end && (*p == '-' || *p == '+'))
        d->negative = *p++ == '-';
    start = p;
    for (; p < end && is_digit(*p); p++)
        decimal_digit(d, *p, 0);
    size_t ndigits = (size_t)(p - start);
    if (p < end && *p == '.') {
        start = ++p;
        for (; p < end && is_digit(*p); p++)
            decimal_digit(d, *p, 1);
        ndigits += (size_t)(p - start);
    }
    if (ndigits == 0)
        return -EINVAL;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        bool down = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+'))
            p++;
        if (p == end)
            return -EINVAL;
        int32_t e = 0;
        for (; p < end && is_digit(*p); p++)
            e = e < 100000 ? e * 10 + (*p - '0') : e;
        d->exp10 += down ? -e : e;
    }
    return p == end ? 0 : -EINVAL;
}

static int double_by_library(struct str s, double *ret)
{
    char z[NUMBER_LEN_MAX + 1];
    if (s.len > NUMBER_LEN_MAX)
        return -ERANGE;
    memcpy(z, s.ptr, s.len);
    z[s.len] = '\0';
    char *stop;
    double v = strtod(z, &stop);
    if (stop != z + s.len)
        return -EINVAL;
    if (isinf(v))
        return -ERANGE;
    *ret = v;
    return 0;
}

int str_to_double(struct str s, double *ret)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct decimal d;
    if (decimal_parse(s, &d) < 0)
        return -EINVAL;
    if (!d.exact || d.digits > UINT64_C(1) << 53 || d.exp10 < -22 || d.exp10 > 22)
        return double_by_library(s, ret);
    double v = (double)d.digits;
    v = d.exp10 < 0 ? v / ten[-d.exp10] : v * ten[d.exp10];
    *ret = d.negative ? -v : v;
    return 0;
}

size_t str_utf8_step(struct str s)
{
    if (s.len == 0)
        return 0;
    const unsigned char *p = (const unsigned char *)s.ptr;
    unsigned char c = p[0], low = 0x80, high = 0xbf;
    if (c < 0x80)
        return 1;
    size_t n = c >= 0xc2 && c <= 0xdf   ? 2
               : (c & 0xf0) == 0xe0     ? 3
               : c >= 0xf0 && c <= 0xf4 ? 4
                                        : 0;
    if (n == 0 || s.len < n)
        return 0;
    /* The second byte's range keeps out overlong forms, surrogates and > U+10FFFF. */
    if (c == 0xe0)
        low = 0xa0;
    else if (c == 0xed)
        high = 0x9f;
    else if (c == 0xf0)
        low = 0x90;
    else if (c == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

bool str_is_utf8(struct str s)
{
    while (s.len) {
        size_t n = str_utf8_step(s);
        if (n == 0)
            return false;
        s.ptr += n;
        s.len -= n;
    }
    return true;
}
