/* units.c - times, sizes and GPU amounts as people write them
 *
 * Everything is integer arithmetic: a number is taken as whole part and fraction over a
 * power of ten, multiplied by its unit in 128 bits and rounded half up, so "0.1s" is
 * 100000 us on every machine. Dates are the proleptic Gregorian calendar by days since
 * 1970 (Hinnant, "chrono-compatible low-level date algorithms"), without the C
 * library's time zone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

enum { OUT_MAX = 24, QUOTE_MAX = 60 };

#define POW10_18 UINT64_C(1000000000000000000)

typedef unsigned __int128 u128;

/* What is still to be read. */
struct scan {
    const char *p, *end;
};

/* whole + part / over; over is a power of ten, 1 without a fraction. */
struct amount {
    uint64_t whole, part, over;
};

static struct scan scan_of(struct str s)
{
    s = str_trim(s);
    return (struct scan){s.ptr, s.ptr + s.len};
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static bool scan_char(struct scan *in, char c)
{
    if (in->p == in->end || *in->p != c)
        return false;
    in->p++;
    return true;
}

static void scan_blanks(struct scan *in)
{
    while (in->p < in->end && *in->p == ' ')
        in->p++;
}

/* Digits as one number; their count, 0 if there is none. Saturates at UINT64_MAX. */
static uint32_t scan_digits(struct scan *in, uint64_t *ret)
{
    const char *start = in->p;
    uint64_t v = 0;
    for (; in->p < in->end && is_digit(*in->p); in->p++) {
        uint64_t d = (uint64_t)(*in->p - '0');
        v = v > (UINT64_MAX - d) / 10 ? UINT64_MAX : v * 10 + d;
    }
    *ret = v;
    return (uint32_t)(in->p - start);
}

/* ".digits" behind a whole number; false if a point has no digits behind it. What lies
 * beyond 18 digits is far below any unit and dropped. */
static bool scan_fraction(struct scan *in, struct amount *a)
{
    a->part = 0;
    a->over = 1;
    if (!scan_char(in, '.'))
        return true;
    const char *start = in->p;
    for (; in->p < in->end && is_digit(*in->p); in->p++)
        if (a->over < POW10_18) {
            a->part = a->part * 10 + (uint64_t)(*in->p - '0');
            a->over *= 10;
        }
    return in->p > start;
}

/* a x unit, rounded half up. */
static u128 amount_times(const struct amount *a, uint64_t unit)
{
    return (u128)a->whole * unit + ((u128)a->part * unit + a->over / 2) / a->over;
}

/* The letters that stand next, as a view. */
static struct str scan_letters(struct scan *in)
{
    const char *start = in->p;
    while (in->p < in->end && (unsigned char)((*in->p | 0x20) - 'a') < 26)
        in->p++;
    return (struct str){start, (size_t)(in->p - start)};
}

static int bad(struct err *err, int code, struct str s, const char *why)
{
    int n = s.len > QUOTE_MAX ? QUOTE_MAX : (int)s.len;
    return err_set(err, code, "\"%.*s%s\" %s", n, n ? s.ptr : "",
                   s.len > QUOTE_MAX ? "..." : "", why);
}

struct unit {
    const char *name;
    uint64_t size;
};

static const struct unit time_units[] = {
    {"us", 1},         {"ms", US_PER_MS},   {"s", US_PER_S},
    {"sec", US_PER_S}, {"min", US_PER_MIN}, {"m", US_PER_MIN},
    {"h", US_PER_H},   {"d", US_PER_DAY},   {NULL, 0},
};

static uint64_t unit_size(const struct unit *units, struct str name)
{
    for (; units->name; units++)
        if (str_is(name, units->name))
            return units->size;
    return 0;
}

/* [D-]HH[:MM[:SS[.f]]] or [HH:]MM:SS[.f]. Parts behind the first are below their base;
 * the first may be any size, except hours behind days. */
static int clock_parse(struct scan in, u128 *ret_us)
{
    uint64_t v[3] = {0}, days = 0, h = 0, m, s;
    struct amount second;
    bool has_days = false;
    uint32_t n = 0;
    do {
        if (scan_digits(&in, &v[n]) == 0)
            return -EINVAL;
        if (v[n] > (uint64_t)INT64_MAX)
            return -ERANGE;
        if (n == 0 && scan_char(&in, '-')) {
            has_days = true;
            days = v[0];
            if (scan_digits(&in, &v[0]) == 0)
                return -EINVAL;
        }
    } while (++n < 3 && scan_char(&in, ':'));
    bool has_seconds = n > (has_days ? 2 : 1);
    bool has_hours = has_days || n == 3;
    if (has_hours)
        h = v[0], m = v[1], s = v[2];
    else
        m = v[0], s = v[1];
    if (!has_days && !has_seconds)
        return -EINVAL;
    if (!scan_fraction(&in, &second) || (second.over > 1 && !has_seconds))
        return -EINVAL;
    if (in.p != in.end)
        return -EINVAL;
    if ((has_days && h > 23) || (has_hours && m > 59) || s > 59)
        return -ERANGE;
    second.whole = s;
    *ret_us = (u128)days * US_PER_DAY + (u128)h * US_PER_H + (u128)m * US_PER_MIN +
              amount_times(&second, US_PER_S);
    return 0;
}

/* "90", "1.5h", "1h 30m": pieces of falling unit; a lone number is seconds. */
static int pieces_parse(struct scan in, u128 *ret_us)
{
    uint64_t last = UINT64_MAX;
    u128 sum = 0;
    while (in.p < in.end) {
        struct amount a = {.over = 1};
        if (scan_digits(&in, &a.whole) == 0 || !scan_fraction(&in, &a))
            return -EINVAL;
        scan_blanks(&in);
        struct str name = scan_letters(&in);
        scan_blanks(&in);
        bool bare = name.len == 0 && last == UINT64_MAX && in.p == in.end;
        uint64_t unit = bare ? (uint64_t)US_PER_S : unit_size(time_units, name);
        if (unit == 0 || unit >= last)
            return -EINVAL;
        last = unit;
        sum += amount_times(&a, unit);
    }
    *ret_us = sum;
    return last == UINT64_MAX ? -EINVAL : 0;
}

int duration_parse(struct str s, int64_t *ret_us, struct err *err)
{
    struct scan in = scan_of(s);
    u128 us = 0;
    bool clock = false;
    for (const char *p = in.p; p < in.end; p++)
        clock |= *p == ':' || (*p == '-' && p > in.p);
    int rc = clock ? clock_parse(in, &us) : pieces_parse(in, &us);
    if (rc == -EINVAL)
        return bad(
            err, EINVAL, s,
            "is no duration (90, 90s, 1.5h, 10m, 2d, 250ms, HH:MM:SS, D-HH:MM:SS)");
    if (rc < 0)
        return bad(err, ERANGE, s, "is no duration: a part is out of its range");
    if (us > (u128)INT64_MAX)
        return bad(err, ERANGE, s, "is too long a duration");
    *ret_us = (int64_t)us;
    return 0;
}

/* The factor of a suffix such as "", "B", "k", "Ki", "GiB"; 0: unknown. */
static uint64_t size_factor(struct str name)
{
    static const char letters[] = "KMGTPE";
    if (name.len && name.ptr[name.len - 1] == 'B')
        name.len--;
    if (name.len == 0)
        return 1;
    bool binary = name.len == 2 && name.ptr[1] == 'i';
    char c = name.ptr[0] == 'k' ? 'K' : name.ptr[0];
    const char *at = strchr(letters, c);
    if (c == '\0' || !at || name.len != 1u + binary)
        return 0;
    uint64_t factor = 1;
    for (const char *p = letters; p <= at; p++)
        factor *= binary ? 1024 : 1000;
    return factor;
}

int size_parse(struct str s, uint64_t *ret_bytes, struct err *err)
{
    struct scan in = scan_of(s);
    struct amount a = {.over = 1};
    bool good = scan_digits(&in, &a.whole) > 0 && scan_fraction(&in, &a);
    scan_blanks(&in);
    uint64_t factor = good ? size_factor(scan_letters(&in)) : 0;
    if (factor == 0 || in.p != in.end)
        return bad(err, EINVAL, s, "is no size (16, 16k, 64Ki, 80GiB, 1.5T)");
    u128 bytes = amount_times(&a, factor);
    if (bytes > UINT64_MAX || a.whole == UINT64_MAX)
        return bad(err, ERANGE, s, "is too large a size");
    *ret_bytes = (uint64_t)bytes;
    return 0;
}

int milli_parse(struct str s, int64_t *ret_milli, struct err *err)
{
    struct scan in = scan_of(s);
    struct amount a = {.over = 1};
    bool good = scan_digits(&in, &a.whole) > 0 && scan_fraction(&in, &a);
    bool milli = good && scan_char(&in, 'm');
    if (!good || in.p != in.end || (milli && a.over > 1))
        return bad(err, EINVAL, s, "is no amount (2, 1.5, 500m)");
    u128 v = amount_times(&a, milli ? 1 : 1000);
    if (v > (u128)INT64_MAX)
        return bad(err, ERANGE, s, "is too large an amount");
    *ret_milli = (int64_t)v;
    return 0;
}

/* Days from 1970-01-01 to the date; years begin in March, so the leap day comes
 * last. */
static int64_t days_from_civil(int64_t y, uint32_t m, uint32_t d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (int64_t)(m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void civil_from_days(int64_t days, int64_t *y, uint32_t *m, uint32_t *d)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *d = (uint32_t)(doy - (153 * mp + 2) / 5 + 1);
    *m = (uint32_t)(mp < 10 ? mp + 3 : mp - 9);
    *y = yoe + era * 400 + (*m <= 2);
}

static uint32_t month_days(uint32_t y, uint32_t m)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    return days[m - 1] + (m == 2 && leap);
}

/* Exactly n digits. */
static bool scan_fixed(struct scan *in, uint32_t n, uint32_t *ret)
{
    uint32_t v = 0;
    if ((size_t)(in->end - in->p) < n)
        return false;
    for (uint32_t i = 0; i < n; i++, in->p++) {
        if (!is_digit(*in->p))
            return false;
        v = v * 10 + (uint32_t)(*in->p - '0');
    }
    *ret = v;
    return true;
}

static int date_scan(struct scan *in, int64_t *ret_days)
{
    uint32_t y, m, d;
    if (!scan_fixed(in, 4, &y) || !scan_char(in, '-') || !scan_fixed(in, 2, &m) ||
        !scan_char(in, '-') || !scan_fixed(in, 2, &d))
        return -EINVAL;
    if (m < 1 || m > 12 || d < 1 || d > month_days(y, m))
        return -ERANGE;
    *ret_days = days_from_civil(y, m, d);
    return 0;
}

/* HH:MM[:SS[.f]] */
static int clock_scan(struct scan *in, int64_t *ret_us)
{
    uint32_t h, m, s = 0;
    struct amount second = {0, 0, 1};
    if (!scan_fixed(in, 2, &h) || !scan_char(in, ':') || !scan_fixed(in, 2, &m))
        return -EINVAL;
    if (scan_char(in, ':') && (!scan_fixed(in, 2, &s) || !scan_fraction(in, &second)))
        return -EINVAL;
    if (h > 23 || m > 59 || s > 59)
        return -ERANGE;
    second.whole = s;
    *ret_us = h * US_PER_H + m * US_PER_MIN + (int64_t)amount_times(&second, US_PER_S);
    return 0;
}

/* Nothing, Z, or +-hh[[:]mm]; a blank may stand before it. */
static int zone_scan(struct scan *in, int64_t *ret_us)
{
    uint32_t h, m = 0;
    *ret_us = 0;
    if (in->p == in->end)
        return 0;
    scan_char(in, ' ');
    if (scan_char(in, 'Z') || scan_char(in, 'z'))
        return 0;
    bool west = in->p < in->end && *in->p == '-';
    if (!scan_char(in, '-') && !scan_char(in, '+'))
        return -EINVAL;
    if (!scan_fixed(in, 2, &h))
        return -EINVAL;
    if ((scan_char(in, ':') || in->p < in->end) && !scan_fixed(in, 2, &m))
        return -EINVAL;
    if (h > 23 || m > 59)
        return -ERANGE;
    *ret_us = (west ? -1 : 1) * (int64_t)(h * US_PER_H + m * US_PER_MIN);
    return 0;
}

int time_parse(struct str s, int64_t *ret_us, struct err *err)
{
    struct scan in = scan_of(s);
    int64_t days = 0, us = 0, zone = 0;
    int rc = date_scan(&in, &days);
    if (rc == 0 && in.p < in.end) {
        bool clock = scan_char(&in, 'T') || scan_char(&in, ' ');
        rc = clock ? clock_scan(&in, &us) : -EINVAL;
        if (rc == 0)
            rc = zone_scan(&in, &zone);
    }
    if (rc == 0 && in.p != in.end)
        rc = -EINVAL;
    if (rc == -EINVAL)
        return bad(
            err, EINVAL, s,
            "is no time (2017-10-01, 2017-10-01 00:00:45, 2017-10-01T00:00:45Z)");
    if (rc < 0)
        return bad(err, ERANGE, s, "is no time: a part is out of its range");
    *ret_us = days * US_PER_DAY + us - zone;
    return 0;
}

/* A decimal without the C library's buffer worries: appends to out at n. */
static size_t put_u64(char *out, size_t n, uint64_t v)
{
    char digits[20];
    size_t k = 0;
    do
        digits[k++] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    while (k > 0)
        out[n++] = digits[--k];
    return n;
}

static size_t put_z(char *out, size_t n, const char *z)
{
    while (*z)
        out[n++] = *z++;
    return n;
}

static size_t put_two(char *out, size_t n, uint64_t v)
{
    out[n++] = (char)('0' + v / 10 % 10);
    out[n++] = (char)('0' + v % 10);
    return n;
}

/* "A unit", and " B small" behind it unless B is 0. */
static size_t put_pair(char *out, size_t n, uint64_t a, const char *unit, uint64_t b,
                       const char *small)
{
    n = put_z(out, put_u64(out, n, a), unit);
    if (b) {
        out[n++] = ' ';
        n = put_z(out, put_u64(out, n, b), small);
    }
    return n;
}

char *duration_text(int64_t us, char out[24])
{
    uint64_t v = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
    size_t n = 0;
    if (us < 0)
        out[n++] = '-';
    if (v < 1000) {
        n = put_pair(out, n, v, v ? " us" : " s", 0, "");
    } else if (v < 999500) {
        n = put_pair(out, n, (v + 500) / 1000, " ms", 0, "");
    } else if (v < 9950000) {
        uint64_t tenths = (v + 50000) / 100000;
        n = put_u64(out, n, tenths / 10);
        if (tenths % 10) {
            out[n++] = '.';
            n = put_u64(out, n, tenths % 10);
        }
        n = put_z(out, n, " s");
    } else if ((v = (v + 500000) / 1000000) < 120) { /* from here on in seconds */
        n = put_pair(out, n, v, " s", 0, "");
    } else if (v < 7200) {
        n = put_pair(out, n, v / 60, " min", v % 60, " s");
    } else if ((v = (v + 30) / 60) < 2 * 24 * 60) { /* minutes */
        n = put_pair(out, n, v / 60, " h", v % 60, " min");
    } else {
        v = (v + 30) / 60; /* hours */
        n = put_pair(out, n, v / 24, " d", v % 24, " h");
    }
    assert(n < OUT_MAX);
    out[n] = '\0';
    return out;
}

char *size_text(uint64_t bytes, char out[24])
{
    static const char *const names[] = {" B",   " KiB", " MiB", " GiB",
                                        " TiB", " PiB", " EiB"};
    uint32_t unit = 0;
    u128 tenths = (u128)bytes * 10;
    while (unit < 6 &&
           (tenths + (((u128)1 << (10 * unit)) >> 1)) >> (10 * unit) >= 10240)
        unit++;
    tenths = (tenths + (((u128)1 << (10 * unit)) >> 1)) >> (10 * unit);
    uint64_t v = (uint64_t)tenths;
    size_t n = put_u64(out, 0, v / 10);
    if (v % 10) {
        out[n++] = '.';
        n = put_u64(out, n, v % 10);
    }
    n = put_z(out, n, names[unit]);
    out[n] = '\0';
    return out;
}

char *milli_text(int64_t milli, char out[24])
{
    uint64_t v = milli < 0 ? 0 - (uint64_t)milli : (uint64_t)milli;
    uint64_t part = v % 1000;
    size_t n = 0;
    if (milli < 0)
        out[n++] = '-';
    n = put_u64(out, n, v / 1000);
    if (part) {
        out[n++] = '.';
        out[n++] = (char)('0' + part / 100);
        n = put_two(out, n, part % 100);
        while (out[n - 1] == '0')
            n--;
    }
    out[n] = '\0';
    return out;
}

char *count_text(uint64_t count, char out[24])
{
    char plain[20];
    size_t len = put_u64(plain, 0, count), n = 0;
    for (size_t i = 0; i < len; i++) {
        /* from 10^18 on the commas would not fit */
        if (i > 0 && (len - i) % 3 == 0 && count < POW10_18)
            out[n++] = ',';
        out[n++] = plain[i];
    }
    out[n] = '\0';
    return out;
}

char *time_text(int64_t us, char out[24])
{
    int64_t days = us / US_PER_DAY, rest = us % US_PER_DAY, y;
    uint32_t m, d;
    if (rest < 0) {
        days--;
        rest += US_PER_DAY;
    }
    uint64_t s = (uint64_t)(rest / US_PER_S);
    civil_from_days(days, &y, &m, &d);
    size_t n = 0;
    if (y < 0)
        out[n++] = '-';
    uint64_t year = (uint64_t)(y < 0 ? -y : y);
    for (uint64_t width = 1000; width > 1 && year < width; width /= 10)
        out[n++] = '0';
    n = put_u64(out, n, year);
    out[n++] = '-';
    n = put_two(out, n, m);
    out[n++] = '-';
    n = put_two(out, n, d);
    out[n++] = ' ';
    n = put_two(out, n, s / 3600);
    out[n++] = ':';
    n = put_two(out, n, s / 60 % 60);
    out[n++] = ':';
    n = put_two(out, n, s % 60);
    out[n] = '\0';
    return out;
}
