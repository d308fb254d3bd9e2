/* cell.c - numbers and times out of the cells of a trace, fast and exact
 *
 * A trace has millions of cells, most of them "66.0" or "2017-10-09 07:01:55". Decimals
 * go digit by digit into 64 bits and are scaled in 128; exponents take the slow way. A
 * date's day is kept from cell to cell, so that a time costs six digit pairs and two
 * comparisons.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/cell.h"

#include <errno.h>
#include <math.h>

#include "base/units.h"

enum { FRACTION_DIGITS = 9 };

static inline unsigned digit(char c)
{
    return (unsigned)(unsigned char)c - '0';
}

/* With an exponent: rare enough for the general parser. */
static int scaled_slow(struct str s, int64_t mul, int64_t *ret)
{
    double d;
    int rc = str_to_double(s, &d);
    if (rc < 0)
        return rc;
    if (!isfinite(d))
        return -EINVAL;
    d *= (double)mul;
    if (!(fabs(d) < 9.2e18))
        return -ERANGE;
    *ret = (int64_t)(d < 0 ? d - 0.5 : d + 0.5);
    return 0;
}

int cell_scaled_any(struct str s, int64_t mul, int64_t *ret)
{
    static const int64_t ten[FRACTION_DIGITS + 1] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    const char *p = s.ptr, *end = s.ptr + s.len;
    bool minus = p < end && *p == '-';
    uint64_t whole = 0, part = 0;
    uint32_t nwhole = 0, npart = 0;
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    for (; p < end && digit(*p) < 10; p++, nwhole++) {
        if (whole > UINT64_MAX / 10 - 1)
            return -ERANGE;
        whole = whole * 10 + digit(*p);
    }
    uint32_t digits = nwhole;
    if (p < end && *p == '.')
        for (p++; p < end && digit(*p) < 10; p++, digits++)
            if (npart < FRACTION_DIGITS) {
                part = part * 10 + digit(*p);
                npart++;
            }
    if (!digits)
        return -EINVAL;
    if (p < end)
        return *p == 'e' || *p == 'E' ? scaled_slow(s, mul, ret) : -EINVAL;
    int64_t small;
    if (!part && whole <= INT64_MAX &&
        !__builtin_mul_overflow((int64_t)whole, mul, &small)) {
        *ret = minus ? -small : small;
        return 0;
    }
    unsigned __int128 v = (unsigned __int128)whole * (uint64_t)mul;
    if (part)
        v += ((unsigned __int128)part * (uint64_t)mul + (uint64_t)ten[npart] / 2) /
             (uint64_t)ten[npart];
    if (v > INT64_MAX)
        return -ERANGE;
    *ret = minus ? -(int64_t)v : (int64_t)v;
    return 0;
}

/* Two digits, or a number >= 100 when one of them is none. */
static inline unsigned pair(const char *p)
{
    unsigned a = digit(p[0]), b = digit(p[1]);
    return a > 9 || b > 9 ? 1000 : a * 10 + b;
}

/* Days from 1970-01-01 in the proleptic Gregorian calendar (H. Hinnant,
 * "chrono-Compatible Low-Level Date Algorithms", days_from_civil). */
static int64_t days_from_civil(int64_t y, unsigned m, unsigned d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    unsigned yoe = (unsigned)(y - era * 400);
    unsigned doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
    unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + (int64_t)doe - 719468;
}

static int day_parse(const char *p, int64_t *ret_us)
{
    static const uint8_t length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    unsigned century = pair(p), year = pair(p + 2), m = pair(p + 5), d = pair(p + 8);
    if (century > 99 || year > 99 || p[4] != '-' || p[7] != '-' || m < 1 || m > 12)
        return -EINVAL;
    unsigned y = century * 100 + year;
    unsigned leap = m == 2 && y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    if (d < 1 || d > length[m - 1] + leap)
        return -EINVAL;
    *ret_us = days_from_civil(y, m, d) * US_PER_DAY;
    return 0;
}

static int zone_parse(const char *p, const char *end, int64_t *ret_us)
{
    *ret_us = 0;
    if (end - p == 1 && (*p == 'Z' || *p == 'z'))
        return 0;
    if (end - p < 3 || (*p != '+' && *p != '-'))
        return -EINVAL;
    unsigned h = pair(p + 1), m = 0;
    if (end - p == 6 && p[3] == ':')
        m = pair(p + 4);
    else if (end - p == 5)
        m = pair(p + 3);
    else if (end - p != 3)
        return -EINVAL;
    if (h > 18 || m > 59)
        return -EINVAL;
    *ret_us = (int64_t)(h * 60 + m) * US_PER_MIN * (*p == '-' ? -1 : 1);
    return 0;
}

/* What stands behind the seconds: a fraction, a zone, both or nothing. */
static int tail_parse(const char *p, const char *end, int64_t *io_us)
{
    int64_t zone_us = 0;
    if (p < end && *p == '.') {
        int64_t unit = US_PER_S / 10;
        const char *first = ++p;
        for (; p < end && digit(*p) < 10; p++, unit /= 10)
            *io_us += unit * digit(*p);
        if (p == first)
            return -EINVAL;
    }
    if (p < end && *p == ' ' && p + 1 < end)
        p++;
    if (p < end && zone_parse(p, end, &zone_us) < 0)
        return -EINVAL;
    *io_us -= zone_us;
    return 0;
}

/* "07:01:55" as seconds, or -1. All eight bytes at once: less "00:00:00", each must lie
 * within its digit (0 for the colons), and none may need its upper half. */
static inline int64_t clock_parse(const char *p)
{
    uint64_t v, zero;
    memcpy(&v, p, 8);
    memcpy(&zero, "00:00:00", 8);
    uint64_t d = v ^ zero; /* digits become 0-9, colons 0, all others more than 9 */
    const uint64_t sixes = UINT64_C(0x0606060606060606),
                   high = UINT64_C(0xF0F0F0F0F0F0F0F0);
    const uint64_t colons = UINT64_C(0x0000FF0000FF0000);
    if (((d | (d + sixes)) & high) != 0 || (d & colons) != 0)
        return -1;
    uint64_t pairs = d * 10 + (d >> 8); /* at most 99 a byte; 0, 3 and 6 count */
    int64_t h = pairs & 0xff, m = pairs >> 24 & 0xff, sec = pairs >> 48 & 0xff;
    if (h > 23 || m > 59 || sec > 60)
        return -1;
    return h * 3600 + m * 60 + sec;
}

int cell_time(struct str s, struct cell_day *day, int64_t *ret_us)
{
    const char *p = s.ptr;
    if (s.len < 10)
        return -EINVAL;
    uint64_t lo;
    uint16_t dd;
    memcpy(&lo, p, 8);
    memcpy(&dd, p + 8, 2);
    if (lo != day->ymd_lo || (dd | 0x10000u) != day->ymd_hi) {
        if (day_parse(p, &day->start_us) < 0) {
            day->ymd_hi = 0;
            return -EINVAL;
        }
        day->ymd_lo = lo;
        day->ymd_hi = dd | 0x10000u;
    }
    int64_t us = day->start_us;
    if (s.len > 10) {
        int64_t sec =
            s.len < 19 || (p[10] != ' ' && p[10] != 'T') ? -1 : clock_parse(p + 11);
        if (sec < 0)
            return -EINVAL;
        us += sec * US_PER_S;
        if (s.len > 19 && tail_parse(p + 19, s.ptr + s.len, &us) < 0)
            return -EINVAL;
    }
    *ret_us = us;
    return 0;
}

int cell_clock(struct str s, int64_t *ret_us)
{
    int64_t days = 0, part[3] = {0}, n = 0, total = 0;
    struct str rest = s;
    const char *dash = s.len ? memchr(s.ptr, '-', s.len) : NULL;
    if (dash) {
        struct str d = str_cut(&rest, '-');
        if (str_to_i64(d, &days) < 0 || days < 0 || days > 1000000)
            return -EINVAL;
    }
    while (rest.ptr && n < 3) {
        struct str piece = str_cut(&rest, ':');
        bool last = rest.ptr == NULL;
        if (!piece.len || piece.ptr[0] == '-' || piece.ptr[0] == '+' ||
            (!last && memchr(piece.ptr, '.', piece.len)))
            return -EINVAL;
        int rc = cell_scaled(piece, US_PER_S, &part[n]);
        if (rc < 0)
            return rc;
        if (part[n] < 0 || part[n] > INT64_C(1000000000) * US_PER_S)
            return -ERANGE;
        n++;
    }
    if (rest.ptr || !n)
        return -EINVAL;
    /* Behind days the first part is hours; without days the last part is seconds. */
    static const int64_t with_days[] = {3600, 60, 1}, bare[] = {1, 60, 3600};
    for (int64_t i = 0; i < n; i++)
        total += part[i] * (dash ? with_days[i] : bare[n - 1 - i]);
    *ret_us = days * US_PER_DAY + total;
    return 0;
}

int cell_memory(struct str s, int64_t unit, int64_t *ret_bytes, char *ret_per)
{
    static const char names[] = "KMGTP";
    char per = 0;
    if (s.len && (s.ptr[s.len - 1] == 'n' || s.ptr[s.len - 1] == 'c'))
        per = s.ptr[--s.len];
    if (s.len) {
        char c = s.ptr[s.len - 1];
        const char *at = strchr(names, c >= 'a' ? c - 'a' + 'A' : c);
        if (c && at) {
            unit = INT64_C(1024) << (10 * (at - names));
            s.len--;
        }
    }
    int64_t v;
    int rc = cell_scaled(s, unit, &v);
    if (rc < 0)
        return rc;
    if (v < 0)
        return -EINVAL;
    *ret_bytes = v;
    if (ret_per)
        *ret_per = per;
    return 0;
}
