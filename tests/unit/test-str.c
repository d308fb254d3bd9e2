/* test-str.c - pieces, numbers and UTF-8 by pointer and length
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/rng.h"
#include "base/str.h"
#include "tap.h"

static void test_basics(void)
{
    struct str null = {NULL, 0};
    ok(str_eq(null, STR("")) && str_eq(null, null), "NULL and \"\" are equal");
    ok(!str_eq(STR("a"), STR("b")) && !str_eq(STR("a"), STR("ab")), "different texts");
    ok(str_starts(STR("abc"), STR("ab")) && !str_starts(STR("a"), STR("ab")),
       "prefixes");
    ok(str_cmp(STR("a"), STR("\xff")) < 0, "bytes compare unsigned");
    ok(str_cmp(STR("ab"), STR("abc")) < 0 && str_cmp(STR("b"), STR("abc")) > 0,
       "the shorter is first only among equals");
    is_int(str_cmp(STR("a\0b"), STR("a\0b")), 0, "zero bytes are ordinary");
    struct str t = str_trim(STR(" \t a b\t "));
    is_mem(t.ptr, t.len, "a b", "trim leaves inner blanks");
    is_uint(str_trim(STR(" \t ")).len, 0, "trim of blanks is empty");
    is_uint(str_trim(null).len, 0, "trim of NULL");
}

static void test_cut(void)
{
    struct str rest = STR("a,,bc,");
    static const char *const want[] = {"a", "", "bc", ""};
    for (int i = 0; i < 4; i++) {
        ok(rest.ptr != NULL, "a piece %d is left", i);
        struct str piece = str_cut(&rest, ',');
        is_mem(piece.ptr, piece.len, want[i], "piece %d", i);
    }
    ok(rest.ptr == NULL && rest.len == 0, "then nothing is left");
}

static void test_i64(void)
{
    static const struct {
        const char *text;
        int rc;
        int64_t want;
    } rows[] = {
        {"0", 0, 0},
        {"-0", 0, 0},
        {"+7", 0, 7},
        {"007", 0, 7},
        {"9223372036854775807", 0, INT64_MAX},
        {"-9223372036854775808", 0, INT64_MIN},
        {"9223372036854775808", -ERANGE, 0},
        {"-9223372036854775809", -ERANGE, 0},
        {"00000000000000000000000000000042", 0, 42},
        {"99999999999999999999", -ERANGE, 0},
        {"18446744073709551616", -ERANGE, 0},
        {"184467440737095516160", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"-", -EINVAL, 0},
        {"+", -EINVAL, 0},
        {"--1", -EINVAL, 0},
        {"+-1", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"1.0", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {"99999999999999999999x", -EINVAL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t v = 1234;
        is_int(str_to_i64(str_of(rows[i].text), &v), rows[i].rc, "i64 \"%s\"",
               rows[i].text);
        is_int(v, rows[i].rc ? 1234 : rows[i].want, "  its value");
    }
    int64_t v = 5;
    is_int(str_to_i64((struct str){NULL, 0}, &v), -EINVAL, "NULL is no number");
    is_int(str_to_i64((struct str){"12345", 2}, &v), 0, "the length ends the number");
    is_int(v, 12, "  not the zero byte");
}

static void test_u64(void)
{
    static const struct {
        const char *text;
        int rc;
        uint64_t want;
    } rows[] = {
        {"0", 0, 0},
        {"+1", 0, 1},
        {"9999999999999999999", 0, UINT64_C(9999999999999999999)},
        {"18446744073709551615", 0, UINT64_MAX},
        {"018446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"-1", -EINVAL, 0},
        {"-0", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"1:", -EINVAL, 0},
        {"1/", -EINVAL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t v = 1234;
        is_int(str_to_u64(str_of(rows[i].text), &v), rows[i].rc, "u64 \"%s\"",
               rows[i].text);
        is_uint(v, rows[i].rc ? 1234 : rows[i].want, "  its value");
    }
}

static void test_double_form(void)
{
    static const struct {
        const char *text;
        int rc;
        double want;
    } rows[] = {
        {"0", 0, 0.0},
        {"1", 0, 1.0},
        {"-1.5", 0, -1.5},
        {"+2.", 0, 2.0},
        {".5", 0, 0.5},
        {"1e3", 0, 1000.0},
        {"1E+3", 0, 1000.0},
        {"1e-3", 0, 0.001},
        {"0e99999999999", 0, 0.0},
        {"1e400", -ERANGE, 0},
        {"1e-400", 0, 0.0},
        {"4.9e-324", 0, 0x1p-1074},
        {"0x1p3", -EINVAL, 0},
        {"inf", -EINVAL, 0},
        {"nan", -EINVAL, 0},
        {"", -EINVAL, 0},
        {".", -EINVAL, 0},
        {"-", -EINVAL, 0},
        {"e5", -EINVAL, 0},
        {"1e", -EINVAL, 0},
        {"1e+", -EINVAL, 0},
        {"1,5", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"1.5.2", -EINVAL, 0},
        {"1e5e5", -EINVAL, 0},
        {"1f", -EINVAL, 0},
        {"1e99999999999999999999", -ERANGE, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double v = 1234;
        is_int(str_to_double(str_of(rows[i].text), &v), rows[i].rc, "double \"%s\"",
               rows[i].text);
        ok(v == (rows[i].rc ? 1234 : rows[i].want), "  its value");
    }
    double zero = 1;
    str_to_double(STR("-0.0"), &zero);
    ok(zero == 0 && signbit(zero), "-0.0 keeps its sign");
}

/* strtod of the C library is the judge: bit for bit on texts of every length and
 * exponent, and on the hard ones of the literature (halfway cases of David Gay's
 * tests). */
static void test_double_exact(void)
{
    static const char *const hard[] = {
        "9007199254740993",
        "9007199254740992.5",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "6.02214076e23",
        "1e22",
        "1e23",
        "123456789012345678",
        "9007199254740992e22",
        "9007199254740993e-22",
        "0.1",
        "8.533e+68",
        "0.500000000000000166533453693773481063544750213623",
        "3.518437208883201171875e13",
        "18446744073709551615",
        "184467440737095516159",
        "0.00000000000000000000000000000000000000000000001234567890123456789",
    };
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        double v = -1, want = strtod(hard[i], NULL);
        int rc = str_to_double(str_of(hard[i]), &v);
        ok(rc == 0 && memcmp(&v, &want, sizeof v) == 0, "%s is read as strtod reads it",
           hard[i]);
    }
    struct rng r;
    rng_init(&r, 7, 0);
    int bad = 0;
    for (int i = 0; i < 200000; i++) {
        char text[80];
        size_t n = 0, digits = 1 + rng_below(&r, 20), point = rng_below(&r, digits + 1);
        if (rng_below(&r, 3) == 0)
            text[n++] = '-';
        for (size_t k = 0; k < digits; k++) {
            if (k == point)
                text[n++] = '.';
            text[n++] = (char)('0' + rng_below(&r, 10));
        }
        text[n] = '\0';
        if (rng_below(&r, 2))
            sprintf(text + n, "e%d", (int)rng_between(&r, -40, 40));
        double v = -1, want = strtod(text, NULL);
        if (str_to_double(str_of(text), &v) != 0 || memcmp(&v, &want, sizeof v) != 0) {
            if (bad++ < 5)
                diag("%s: got %.17g, want %.17g", text, v, want);
        }
    }
    is_int(bad, 0, "200,000 random decimals are read bit for bit as strtod reads them");
}

static void test_double_long(void)
{
    char text[5000];
    memset(text, '0', sizeof text);
    memcpy(text, "1.", 2);
    double v = 3;
    is_int(str_to_double((struct str){text, 1000}, &v), 0, "a thousand digits");
    ok(v == 1.0, "  are read");
    memset(text, '7', sizeof text);
    v = 3;
    is_int(str_to_double((struct str){text, sizeof text}, &v), -ERANGE,
           "a number longer than any buffer is refused");
    ok(v == 3, "  and the result is untouched");
}

static void test_utf8(void)
{
    static const struct {
        const char *bytes;
        size_t step; /* of the first character */
        const char *what;
    } rows[] = {
        /* Unicode 15, table 3-7 */
        {"A", 1, "ASCII"},
        {"\x7f", 1, "DEL"},
        {"\x80", 0, "a lone continuation"},
        {"\xc0\x80", 0, "overlong zero"},
        {"\xc1\xbf", 0, "overlong DEL"},
        {"\xc2\x80", 2, "U+0080"},
        {"\xdf\xbf", 2, "U+07FF"},
        {"\xc3", 0, "a cut sequence"},
        {"\xc3\x28", 0, "a broken sequence"},
        {"\xe0\x9f\xbf", 0, "overlong U+07FF"},
        {"\xe0\xa0\x80", 3, "U+0800"},
        {"\xed\x9f\xbf", 3, "U+D7FF"},
        {"\xed\xa0\x80", 0, "a surrogate"},
        {"\xee\x80\x80", 3, "U+E000"},
        {"\xef\xbf\xbf", 3, "U+FFFF"},
        {"\xe2\x82", 0, "a cut three-byte sequence"},
        {"\xe2\x82\x28", 0, "a broken third byte"},
        {"\xf0\x8f\xbf\xbf", 0, "overlong U+FFFF"},
        {"\xf0\x90\x80\x80", 4, "U+10000"},
        {"\xf4\x8f\xbf\xbf", 4, "U+10FFFF"},
        {"\xf4\x90\x80\x80", 0, "beyond U+10FFFF"},
        {"\xf5\x80\x80\x80", 0, "a byte that never occurs"},
        {"\xff", 0, "0xFF"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str s = str_of(rows[i].bytes);
        is_uint(str_utf8_step(s), rows[i].step, "%s", rows[i].what);
        ok(str_is_utf8(s) == (rows[i].step > 0), "  as a whole text");
    }
    is_uint(str_utf8_step(STR("")), 0, "nothing is no character");
    ok(str_is_utf8(STR("")), "but a valid text");
    ok(str_is_utf8(STR("Größe €\0")), "a mixed text");
    ok(!str_is_utf8(STR("Größe \xe2\x82")), "a text that was cut");
}

int main(void)
{
    test_basics();
    test_cut();
    test_i64();
    test_u64();
    test_double_form();
    test_double_exact();
    test_double_long();
    test_utf8();
    return done_testing();
}
