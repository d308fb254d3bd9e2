/* figures.c - durations, shares, exact sums and bars for the printers
 * Durations keep three or four digits, so that two policies a few percent apart still
 * look different. SPDX-License-Identifier: Apache-2.0 */
#include "report/figures.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

static char *secs_text(double s, const char *const units[4], figure out)
{
    double v = s < 0 ? -s : s;
    const char *unit = units[0];

    if (v >= 48 * 3600.0) {
        v /= 86400.0;
        unit = units[3];
    } else if (v >= 2 * 3600.0) {
        v /= 3600.0;
        unit = units[2];
    } else if (v >= 120.0) {
        v /= 60.0;
        unit = units[1];
    }
    snprintf(out, sizeof(figure), "%s%.*f%s", s < 0 ? "-" : "",
             v == 0 || v >= 99.95 ? 0
             : v >= 9.995         ? 1
                                  : 2,
             v, unit);
    return out;
}

char *secs_short(double s, figure out)
{
    return secs_text(s, (const char *const[4]){"s", "m", "h", "d"}, out);
}

char *secs_long(double s, figure out)
{
    return secs_text(s, (const char *const[4]){" s", " min", " h", " d"}, out);
}

char *percent_text(double fraction, int digits, figure out)
{
    if (fraction < 0)
        snprintf(out, sizeof(figure), "–");
    else
        snprintf(out, sizeof(figure), "%.*f", digits, fraction * 100);
    return out;
}

char *i128_text(__int128 v, figure out)
{
    char digits[48];
    uint32_t n = 0, k = 0;
    unsigned __int128 u = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;

    for (; u > UINT64_MAX; u /= 10)
        digits[n++] = (char)('0' + (int)(u % 10));
    uint64_t low = (uint64_t)u;
    do
        digits[n++] = (char)('0' + (int)(low % 10));
    while (low /= 10);
    if (v < 0)
        out[k++] = '-';
    while (n)
        out[k++] = digits[--n];
    out[k] = 0;
    return out;
}

/* v = m / 2^down, and m x 10^places stays below 2^93, so that the ninth digit is rounded
 * (half to even) on the exact value, as printf does it. */
static uint64_t real_digits(uint64_t m, int down, uint32_t places)
{
    unsigned __int128 x = m, half, rest;

    for (uint32_t i = 0; i < places; i++)
        x *= 10;
    half = (unsigned __int128)1 << (down - 1);
    rest = x & (2 * half - 1);
    x >>= down;
    return (uint64_t)x + (rest > half || (rest == half && (x & 1)));
}

char *real_text(double v, figure out)
{
    double size = fabs(v);
    uint32_t places = 8;
    int exponent;
    char *end = out;

    if (size == 0)
        return strcpy(out, signbit(v) ? "-0" : "0");
    if (size < 1e-3 || size >= 999999999) {
        snprintf(out, sizeof(figure), "%.9g", v);
        return out;
    }
    for (double p = 10; p <= size; p *= 10)
        places--;
    for (double p = 1; p > size; p /= 10)
        places++;
    double m = ldexp(frexp(size, &exponent), 53);
    uint64_t digits = real_digits((uint64_t)m, 53 - exponent, places);
    for (; places && digits % 10 == 0; places--)
        digits /= 10;
    if (v < 0)
        *end++ = '-';
    uint64_t unit = 1;
    for (uint32_t i = 0; i < places; i++)
        unit *= 10;
    end += strlen(i128_text((__int128)(digits / unit), end));
    if (!places)
        return out;
    *end++ = '.';
    for (digits %= unit; unit > 1; digits %= unit) {
        unit /= 10;
        *end++ = (char)('0' + digits / unit);
    }
    *end = 0;
    return out;
}

static void separate(const char *digits, char *out)
{
    size_t n = strlen(digits), i, k = 0;

    for (i = 0; i < n; i++) {
        out[k++] = digits[i];
        if ((n - 1 - i) % 3 == 0 && i + 1 < n && digits[i] != '-')
            out[k++] = ',';
    }
    out[k] = 0;
}

char *exact_secs(__int128 us, figure out)
{
    figure digits;
    char grouped[56], rest[16] = "";
    int64_t left = (int64_t)(us % US_PER_S);
    size_t n;

    separate(i128_text(us / US_PER_S, digits), grouped);
    if (left) {
        snprintf(rest, sizeof rest, ".%06lld", (long long)(left < 0 ? -left : left));
        for (n = strlen(rest); n > 1 && rest[n - 1] == '0'; n--)
            rest[n - 1] = 0;
    }
    snprintf(out, sizeof(figure), "%s%.52s%.8s s",
             left < 0 && us > -US_PER_S ? "-" : "", grouped, rest);
    return out;
}

char *hours_text(double hours, figure out)
{
    char whole[24];
    uint64_t tenths = (uint64_t)(hours * 10 + 0.5);

    if (hours >= 1e6) {
        count_text((uint64_t)(hours + 0.5), whole);
        snprintf(out, sizeof(figure), "%s", whole);
    } else {
        count_text(tenths / 10, whole);
        snprintf(out, sizeof(figure), "%s.%u", whole, (unsigned)(tenths % 10));
    }
    return out;
}

static bool starts_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

uint32_t plain_length(struct str s)
{
    uint32_t n = 0;
    size_t i;

    for (i = 0; i < s.len; i++)
        n += starts_character(s.ptr[i]);
    return n;
}

void plain_cell(struct buf *b, struct str s, uint32_t most)
{
    uint32_t length = plain_length(s), n = 0;
    uint32_t keep = length > most ? most - 1 : length;
    size_t i;

    for (i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        n += starts_character(s.ptr[i]);
        if (n > keep)
            break;
        if (c == 0xC2 && i + 1 < s.len && (unsigned char)s.ptr[i + 1] < 0xA0) {
            buf_char(b, '?'); /* U+0080 to U+009F: terminals obey these, too */
            i++;
        } else {
            buf_char(b, c < 0x20 || c == 0x7f ? '?' : s.ptr[i]);
        }
    }
    if (length > most)
        buf_z(b, "…");
    else
        buf_pad(b, ' ', most - length);
}

void bar_cells(struct buf *b, double fraction, uint32_t width)
{
    static const char *const eighths[8] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    uint32_t n, full, used;

    fraction = fraction > 1 ? 1 : fraction > 0 ? fraction : 0;
    n = (uint32_t)(fraction * 8 * width + 0.5);
    if (n == 0 && fraction > 0)
        n = 1; /* little is not nothing */
    full = n / 8;
    for (used = 0; used < full; used++)
        buf_z(b, "█");
    if (n % 8) {
        buf_z(b, eighths[n % 8]);
        used++;
    }
    buf_pad(b, ' ', width - used);
}
