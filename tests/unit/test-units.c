/* test-units.c - durations, sizes, amounts and times, both ways
 * Expected values are arithmetic on the text; dates are judged by the C library's
 * timegm and gmtime_r. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <time.h>

#include "base/rng.h"
#include "base/units.h"
#include "tap.h"

struct row {
    const char *text;
    int rc;
    int64_t want;
};

typedef int parse_f(struct str s, int64_t *ret, struct err *err);

static void check_rows(const char *what, parse_f *parse, const struct row *rows,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct err err = {0};
        int64_t v = -77;
        int rc = parse(str_of(rows[i].text), &v, &err);
        is_int(rc, rows[i].rc, "%s \"%s\"", what, rows[i].text);
        is_int(v, rows[i].rc ? -77 : rows[i].want, "  its value");
        ok((rc < 0) == (err.code != 0) && err.code == -rc, "  and its error");
        ok(parse(str_of(rows[i].text), &v, NULL) == rc, "  err may be NULL");
    }
}
#define CHECK_ROWS(what, parse, rows) \
    check_rows(what, parse, rows, sizeof rows / sizeof *rows)

static void test_duration(void)
{
    static const struct row rows[] = {
        {"90", 0, 90 * US_PER_S},
        {"0", 0, 0},
        {"0.000001", 0, 1},
        {"0.0000004", 0, 0},
        {"0.0000005", 0, 1},
        {"1.5", 0, 1500000},
        {"90s", 0, 90 * US_PER_S},
        {"90 s", 0, 90 * US_PER_S},
        {" 90s\t", 0, 90 * US_PER_S},
        {"1.5h", 0, 5400 * US_PER_S},
        {"0.1s", 0, 100000},
        {"10m", 0, 600 * US_PER_S},
        {"10min", 0, 600 * US_PER_S},
        {"2d", 0, 172800 * US_PER_S},
        {"250ms", 0, 250000},
        {"10us", 0, 10},
        {"1h 30m", 0, 5400 * US_PER_S},
        {"1h30m15s", 0, 5415 * US_PER_S},
        {"3 d 4 h", 0, 76 * US_PER_H},
        {"05:30", 0, 330 * US_PER_S},
        {"90:00", 0, 90 * US_PER_MIN},
        {"01:02:03", 0, 3723 * US_PER_S},
        {"100:00:00", 0, 100 * US_PER_H},
        {"00:00:01.5", 0, 1500000},
        {"03:01.250", 0, 181250000},
        {"1-02:03:04", 0, 93784 * US_PER_S},
        {"7-00", 0, 7 * US_PER_DAY},
        {"1-12:30", 0, 131400 * US_PER_S},
        {"0-00:00:00", 0, 0},
        {"106751991d", 0, 106751991 * US_PER_DAY}, /* 2^63 us is 106751991.17 days */
        {"9223372036854775807us", 0, INT64_MAX},
        {"9223372036854775808us", -ERANGE, 0},
        {"106751992d", -ERANGE, 0},
        {"99999999999999999999999999", -ERANGE, 0},
        {"99999999999999999999:00", -ERANGE, 0},
        {"106751992-00:00:00", -ERANGE, 0},
        {"1-24:00:00", -ERANGE, 0},
        {"00:60:00", -ERANGE, 0},
        {"00:00:60", -ERANGE, 0},
        {"5:60", -ERANGE, 0},
        {"1-00:60", -ERANGE, 0},
        {"", -EINVAL, 0},
        {" ", -EINVAL, 0},
        {"s", -EINVAL, 0},
        {".5", -EINVAL, 0},
        {"1.", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"-1s", -EINVAL, 0},
        {"1x", -EINVAL, 0},
        {"1S", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {"1h 30", -EINVAL, 0},
        {"1m 1h", -EINVAL, 0},
        {"1h 1h", -EINVAL, 0},
        {":", -EINVAL, 0},
        {"1:", -EINVAL, 0},
        {":30", -EINVAL, 0},
        {"1:2:3:4", -EINVAL, 0},
        {"1-", -EINVAL, 0},
        {"1-2-3", -EINVAL, 0},
        {"1:2-3", -EINVAL, 0},
        {"1-2.5", -EINVAL, 0},
        {"1-02:03.5", -EINVAL, 0},
        {"1:30s", -EINVAL, 0},
        {"UNLIMITED", -EINVAL, 0},
    };
    CHECK_ROWS("duration", duration_parse, rows);
}

static int size_as_i64(struct str s, int64_t *ret, struct err *err)
{
    uint64_t v = (uint64_t)*ret;
    int rc = size_parse(s, &v, err);
    *ret = (int64_t)v;
    return rc;
}

static void test_size(void)
{
    static const struct row rows[] = {
        {"16", 0, 16},
        {"16B", 0, 16},
        {"16k", 0, 16000},
        {"16K", 0, 16000},
        {"16kB", 0, 16000},
        {"64Ki", 0, 65536},
        {"64KiB", 0, 65536},
        {"80GiB", 0, INT64_C(85899345920)},
        {"80 GiB", 0, INT64_C(85899345920)},
        {"80GB", 0, INT64_C(80000000000)},
        {"80G", 0, INT64_C(80000000000)},
        {"1.5T", 0, INT64_C(1500000000000)},
        {"0.5Ki", 0, 512},
        {"1.1Ki", 0, 1126}, /* 1126.4 */
        {"2P", 0, INT64_C(2000000000000000)},
        {"1Pi", 0, INT64_C(1125899906842624)},
        {"7Ei", 0, INT64_C(8070450532247928832)},
        {"15Ei", 0, (int64_t)UINT64_C(17293822569102704640)},
        {"18446744073709551614", 0, (int64_t)(UINT64_MAX - 1)},
        {"16Ei", -ERANGE, 0},
        {"18446744073709551616", -ERANGE, 0},
        {"999999999999999999999999999E", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"B", -EINVAL, 0},
        {"GiB", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"1.", -EINVAL, 0},
        {"1i", -EINVAL, 0},
        {"1iB", -EINVAL, 0},
        {"1BB", -EINVAL, 0},
        {"1KB5", -EINVAL, 0},
        {"1Kib", -EINVAL, 0},
        {"1X", -EINVAL, 0},
        {"1m", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
    };
    CHECK_ROWS("size", size_as_i64, rows);
}

static void test_milli(void)
{
    static const struct row rows[] = {
        {"2", 0, 2000},
        {"1.5", 0, 1500},
        {"500m", 0, 500},
        {"0", 0, 0},
        {"0.333333", 0, 333},
        {"0.0005", 0, 1},
        {"0.00049", 0, 0},
        {"0.1234567890123456789012345", 0, 123},
        {"9223372036854775.807", 0, INT64_MAX},
        {"9223372036854775807m", 0, INT64_MAX},
        {"9223372036854775.808", -ERANGE, 0},
        {"99999999999999999999m", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"m", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {"1.5m", -EINVAL, 0},
        {"1 m", -EINVAL, 0},
        {"1.", -EINVAL, 0},
        {".5", -EINVAL, 0},
        {"1k", -EINVAL, 0},
    };
    CHECK_ROWS("milli", milli_parse, rows);
}

/* Seconds since 1970 by `date -u -d TEXT +%s` (GNU coreutils). */
static void test_time(void)
{
    static const struct row rows[] = {
        {"1970-01-01", 0, 0},
        {"1970-01-01 00:00", 0, 0},
        {"2017-10-01 00:00:45", 0, 1506816045 * US_PER_S},
        {"2017-10-01T00:00:45", 0, 1506816045 * US_PER_S},
        {"2017-10-01T00:00:45Z", 0, 1506816045 * US_PER_S},
        {"2017-10-01T00:00:45.5Z", 0, 1506816045 * US_PER_S + 500000},
        {"2017-10-01 00:00:45.123456", 0, 1506816045 * US_PER_S + 123456},
        {"2017-10-01 00:00:45.0000019", 0, 1506816045 * US_PER_S + 2},
        {"2017-10-01 08:00:45+08:00", 0, 1506816045 * US_PER_S},
        {"2017-10-01 08:00:45 +0800", 0, 1506816045 * US_PER_S},
        {"2017-09-30 17:00:45-07", 0, 1506816045 * US_PER_S},
        {"2017-10-01 05:45:45+05:45", 0, 1506816045 * US_PER_S},
        {"2000-02-29", 0, 951782400 * US_PER_S},
        {"2016-02-29 12:00", 0, 1456747200 * US_PER_S},
        {"2016-12-31 23:59:59", 0, 1483228799 * US_PER_S},
        {"1969-12-31 23:59:59", 0, -1 * US_PER_S},
        {"1969-12-31 23:59:59.25", 0, -750000},
        {"0001-01-01", 0, INT64_C(-62135596800) * US_PER_S},
        {"9999-12-31 23:59:59", 0, INT64_C(253402300799) * US_PER_S},
        {"1900-02-29", -ERANGE, 0},
        {"2017-02-29", -ERANGE, 0},
        {"2017-04-31", -ERANGE, 0},
        {"2017-00-10", -ERANGE, 0},
        {"2017-13-01", -ERANGE, 0},
        {"2017-01-00", -ERANGE, 0},
        {"2017-10-01 24:00:00", -ERANGE, 0},
        {"2017-10-01 00:60:00", -ERANGE, 0},
        {"2017-10-01 00:00:60", -ERANGE, 0},
        {"2017-10-01 00:00:00+24:00", -ERANGE, 0},
        {"2017-10-01 00:00:00+01:60", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"None", -EINVAL, 0},
        {"2017", -EINVAL, 0},
        {"2017-1-1", -EINVAL, 0},
        {"17-10-01", -EINVAL, 0},
        {"2017/10/01", -EINVAL, 0},
        {"2017-10-01Z", -EINVAL, 0},
        {"2017-10-01 ", 0, 1506816000 * US_PER_S},
        {"2017-10-01T", -EINVAL, 0},
        {"2017-10-01 00", -EINVAL, 0},
        {"2017-10-01 00:00:", -EINVAL, 0},
        {"2017-10-01 00:00:45.", -EINVAL, 0},
        {"2017-10-01 00:00:45 ", 0, 1506816045 * US_PER_S},
        {"2017-10-01 00:00:45 PST", -EINVAL, 0},
        {"2017-10-01 00:00:45+8", -EINVAL, 0},
        {"2017-10-01 00:00:45+08:", -EINVAL, 0},
        {"2017-10-01 00:00:45+080", -EINVAL, 0},
        {"2017-10-01 00:00:45ZZ", -EINVAL, 0},
        {"2017-10-01  00:00:45", -EINVAL, 0},
        {"1506816045", -EINVAL, 0},
    };
    CHECK_ROWS("time", time_parse, rows);
}

static void test_time_many(void)
{
    struct rng r;
    int bad = 0;
    rng_init(&r, 6, 0);
    for (int i = 0; i < 100000; i++) {
        /* years 0000 to 9999 */
        int64_t us = -1;
        int64_t s = rng_between(&r, INT64_C(-62167219200), INT64_C(253402300799));
        time_t t = (time_t)s;
        struct tm tm;
        char text[64], out[24];
        gmtime_r(&t, &tm);
        snprintf(text, sizeof text, "%04d-%02d-%02d %02d:%02d:%02d", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        bad += time_parse(str_of(text), &us, NULL) != 0 || us != s * US_PER_S;
        bad += us != (int64_t)timegm(&tm) * US_PER_S;
        bad += strcmp(time_text(s * US_PER_S, out), text) != 0;
        bad += strcmp(time_text(s * US_PER_S + 999999, out), text) != 0;
    }
    is_int(bad, 0, "100,000 random instants agree with gmtime_r and timegm both ways");
}

static void test_duration_text(void)
{
    static const struct {
        int64_t us;
        const char *want;
    } rows[] = {
        {0, "0 s"},
        {1, "1 us"},
        {999, "999 us"},
        {1000, "1 ms"},
        {250000, "250 ms"},
        {999499, "999 ms"},
        {999500, "1 s"},
        {1500000, "1.5 s"},
        {9949999, "9.9 s"},
        {9950000, "10 s"},
        {90 * US_PER_S, "90 s"},
        {119 * US_PER_S, "119 s"},
        {119 * US_PER_S + 500000, "2 min"},
        {12 * US_PER_MIN, "12 min"},
        {750 * US_PER_S, "12 min 30 s"},
        {7199 * US_PER_S, "119 min 59 s"},
        {2 * US_PER_H, "2 h"},
        {47 * US_PER_H + 59 * US_PER_MIN, "47 h 59 min"},
        {48 * US_PER_H, "2 d"},
        {76 * US_PER_H, "3 d 4 h"},
        {76 * US_PER_H + 29 * US_PER_MIN, "3 d 4 h"},
        {76 * US_PER_H + 30 * US_PER_MIN, "3 d 5 h"},
        {-90 * US_PER_S, "-90 s"},
        {INT64_MAX, "106751991 d 4 h"}, /* 9223372036854.775807 s */
        {INT64_MIN, "-106751991 d 4 h"},
    };
    char out[24];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        is_str(duration_text(rows[i].us, out), rows[i].want, "%" PRId64 " us",
               rows[i].us);
}

/* What is printed may be typed in again: within the rounding that the text shows. */
static void test_duration_back(void)
{
    struct rng r;
    int bad = 0;
    rng_init(&r, 8, 0);
    for (int i = 0; i < 50000; i++) {
        int64_t us = (int64_t)(rng_u64(&r) >> rng_between(&r, 1, 63)), back = -1;
        char out[24];
        int64_t step = us < US_PER_S         ? 500
                       : us < 10 * US_PER_S  ? 50000
                       : us < 2 * US_PER_H   ? 500000
                       : us < 2 * US_PER_DAY ? 31 * US_PER_S
                                             : 31 * US_PER_MIN;
        if (duration_parse(str_of(duration_text(us, out)), &back, NULL) != 0 ||
            llabs(back - us) > step) {
            diag("%" PRId64 " -> %s -> %" PRId64, us, out, back);
            bad++;
        }
    }
    is_int(bad, 0, "50,000 durations are read back from their text");
}

static void test_size_text(void)
{
    static const struct {
        uint64_t bytes;
        const char *want;
    } rows[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1 KiB"},
        {1536, "1.5 KiB"},
        {10 * KIB + 512, "10.5 KiB"},
        {MIB - 1, "1 MiB"}, /* 1023.999 KiB rounds up to the next unit */
        {80 * GIB, "80 GiB"},
        {80 * GIB + 1, "80 GiB"},
        {UINT64_C(80000000000), "74.5 GiB"}, /* 74.506 */
        {1024 * GIB, "1 TiB"},
        {UINT64_MAX, "16 EiB"},
    };
    char out[24];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        is_str(size_text(rows[i].bytes, out), rows[i].want, "%" PRIu64 " bytes",
               rows[i].bytes);
}

static void test_other_text(void)
{
    static const struct {
        int64_t milli;
        const char *want;
    } millis[] = {
        {0, "0"},
        {8000, "8"},
        {1500, "1.5"},
        {250, "0.25"},
        {1001, "1.001"},
        {1010, "1.01"},
        {-500, "-0.5"},
        {1100, "1.1"},
        {INT64_MAX, "9223372036854775.807"},
        {INT64_MIN, "-9223372036854775.808"},
    };
    static const struct {
        uint64_t n;
        const char *want;
    } counts[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1,000"},
        {12345, "12,345"},
        {1234567, "1,234,567"},
        {UINT64_C(999999999999999999), "999,999,999,999,999,999"},
        {UINT64_C(1000000000000000000), "1000000000000000000"},
        {UINT64_MAX, "18446744073709551615"},
    };
    char out[24];
    for (size_t i = 0; i < sizeof millis / sizeof *millis; i++)
        is_str(milli_text(millis[i].milli, out), millis[i].want, "milli %s",
               millis[i].want);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        is_str(count_text(counts[i].n, out), counts[i].want, "count %s",
               counts[i].want);
    is_str(time_text(-1, out), "1969-12-31 23:59:59", "a microsecond before 1970");
    cmp_ok(strlen(time_text(INT64_MIN, out)), <, 24, "the first instant fits: %s", out);
    cmp_ok(strlen(time_text(INT64_MAX, out)), <, 24, "the last instant fits: %s", out);
}

static void test_messages(void)
{
    struct err err = {0};
    int64_t v;
    duration_parse(STR("12 parsecs"), &v, &err);
    ok(strstr(err.text, "\"12 parsecs\"") != NULL, "an error quotes the text: %s",
       err.text);
    char text[5000];
    memset(text, '9', sizeof text);
    duration_parse((struct str){text, sizeof text}, &v, &err);
    ok(strstr(err.text, "...") && strlen(err.text) < 200, "a long text is cut: %s",
       err.text);
}

int main(void)
{
    test_duration();
    test_size();
    test_milli();
    test_time();
    test_time_many();
    test_duration_text();
    test_duration_back();
    test_size_text();
    test_other_text();
    test_messages();
    return done_testing();
}
