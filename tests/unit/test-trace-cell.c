/* test-trace-cell.c - numbers, times, clocks and memory sizes out of cells
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tap.h"
#include "trace/cell.h"

static void scaled(void)
{
    static const struct {
        const char *text;
        int64_t mul;
        int rc;
        int64_t want;
    } rows[] = {
        {"66.0", 1000000, 0, 66000000},
        {"66.1", 1000000, 0, 66100000},
        {"0", 1000000, 0, 0},
        {"-1", 1000, 0, -1000},
        {"-0.5", 1000, 0, -500},
        {"+7", 1, 0, 7},
        {".5", 1000, 0, 500},
        {"5.", 1000, 0, 5000},
        {"29.296875", 1073741824, 0, 31457280000},
        {"0.0000005", 1000000, 0, 1},    /* half away from zero */
        {"0.0000004", 1000000, 0, 0},
        {"1e3", 1000, 0, 1000000},
        {"1.5E-1", 1000, 0, 150},
        {"9223372036854775807", 1, 0, INT64_MAX},
        {"9223372036854775808", 1, -ERANGE, 0},
        {"9223372036854775807", 2, -ERANGE, 0},
        {"99999999999999999999999", 1, -ERANGE, 0},
        {"1e400", 1, -ERANGE, 0},
        {"", 1, -EINVAL, 0},
        {"-", 1, -EINVAL, 0},
        {".", 1, -EINVAL, 0},
        {"abc", 1, -EINVAL, 0},
        {"12abc", 1, -EINVAL, 0},
        {"1.2.3", 1, -EINVAL, 0},
        {"nan", 1, -EINVAL, 0},
        {"1 ", 1, -EINVAL, 0},
        {"0x10", 1, -EINVAL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t v = 4242;
        int rc = cell_scaled(str_of(rows[i].text), rows[i].mul, &v);
        is_int(rc, rows[i].rc, "'%s' x %" PRId64, rows[i].text, rows[i].mul);
        is_int(v, rc ? 4242 : rows[i].want, "and its value");
    }
}

/* Expected values: Python's datetime. */
static void times(void)
{
    static const struct {
        const char *text;
        int rc;
        int64_t want_us;
    } rows[] = {
        {"2017-10-09 07:01:55", 0, 1507532515000000},
        {"2017-10-09T07:01:55Z", 0, 1507532515000000},
        {"2017-10-09 07:01:55.25", 0, 1507532515250000},
        {"2017-10-09", 0, 1507507200000000},
        {"2000-02-29 23:59:59", 0, 951868799000000},
        {"1969-12-31 00:00:00", 0, -86400000000},
        {"2023-03-01 00:18:22+08:00", 0, 1677601102000000},
        {"2023-05-17 11:00:58+00:00", 0, 1684321258000000},
        {"2017-02-29 00:00:00", -EINVAL, 0},
        {"2017-13-01 00:00:00", -EINVAL, 0},
        {"2017-00-01 00:00:00", -EINVAL, 0},
        {"2017-01-01 24:00:00", -EINVAL, 0},
        {"2017-01-01 00:60:00", -EINVAL, 0},
        {"2017-01-01 0a:00:00", -EINVAL, 0},
        {"2017-01-01 00:00;00", -EINVAL, 0},
        {"2017-01-01 00.00:00", -EINVAL, 0},
        {"2017-01-01 00:00:00x", -EINVAL, 0},
        {"2017-01-01 00:00:00.", -EINVAL, 0},
        {"2017-01-01 00:00", -EINVAL, 0},
        {"2017/01/01 00:00:00", -EINVAL, 0},
        {"Unknown", -EINVAL, 0},
        {"2017-10-09 07:01:55", 0,
         1507532515000000}, /* after bad days, the memory is good */
    };
    struct cell_day day = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t v = 4242;
        int rc = cell_time(str_of(rows[i].text), &day, &v);
        is_int(rc, rows[i].rc, "'%s'", rows[i].text);
        is_int(v, rc ? 4242 : rows[i].want_us, "and its value");
    }
}

static void clocks(void)
{
    static const struct {
        const char *text;
        int rc;
        int64_t want_s_milli;
    } rows[] = {
        {"1-02:03:04", 0, 93784000}, /* 86400 + 7200 + 180 + 4 */
        {"02:03", 0, 123000},
        {"01:02:03", 0, 3723000},
        {"00:00.250", 0, 250},
        {"2-12", 0, 216000000},
        {"2-12:30", 0, 217800000},
        {"45", 0, 45000},
        {"1:2:3:4", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"1-", -EINVAL, 0},
        {"a:b", -EINVAL, 0},
        {"-5:00", -EINVAL, 0},
        {"1.5:00", -EINVAL, 0},
        {"7191910028820989680:00", -ERANGE, 0}, /* a fuzzer's: it overflowed */
        {"99999999999:00", -ERANGE, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t v = 4242;
        int rc = cell_clock(str_of(rows[i].text), &v);
        is_int(rc, rows[i].rc, "clock '%s'", rows[i].text);
        is_int(v, rc ? 4242 : rows[i].want_s_milli * 1000, "and its value");
    }
}

static void memory(void)
{
    int64_t v;
    char per;
    is_int(cell_memory(STR("2000M"), 1 << 20, &v, &per), 0, "2000M parses");
    is_int(v, INT64_C(2000) * 1048576, "M is 1024 squared");
    is_int(per, 0, "and it is for the whole");
    is_int(cell_memory(STR("1.5T"), 1 << 20, &v, &per), 0, "1.5T parses");
    is_int(v, INT64_C(1649267441664), "one and a half 1024^4");
    is_int(cell_memory(STR("4Gn"), 1 << 20, &v, &per), 0, "4Gn parses");
    is_int(per, 'n', "per node");
    is_int(v, INT64_C(4294967296), "4 GiB");
    is_int(cell_memory(STR("512Mc"), 1 << 20, &v, &per), 0, "512Mc parses");
    is_int(per, 'c', "per CPU");
    is_int(cell_memory(STR("100"), 1 << 20, &v, &per), 0, "a bare number parses");
    is_int(v, INT64_C(104857600), "in the unit that was asked for");
    is_int(cell_memory(STR("-1M"), 1 << 20, &v, &per), -EINVAL, "none is negative");
    is_int(cell_memory(STR("M"), 1 << 20, &v, &per), -EINVAL, "a letter is no number");
    is_int(cell_memory(STR(""), 1 << 20, &v, &per), -EINVAL, "nothing is no number");
}

int main(void)
{
    scaled();
    times();
    clocks();
    memory();
    return done_testing();
}
