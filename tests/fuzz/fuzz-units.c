/* fuzz-units.c - any bytes as a number, duration, size, amount and time
 *
 * Beside not crashing: a failure writes nothing, no duration or amount is negative, a
 * time that can be printed reads back to its second, and a double is what strtod makes
 * of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)   \
    do {             \
        if (!(cond)) \
            abort(); \
    } while (0)

static void check_numbers(struct str s)
{
    int64_t i = 77, far = INT64_MIN;
    uint64_t u = 77;
    double d = 0.25;
    MUST(str_to_i64(s, &i) == 0 || i == 77);
    MUST(str_to_u64(s, &u) == 0 || u == 77);
    if (str_to_i64(s, &far) == 0 && far >= 0)
        MUST(str_to_u64(s, &u) == (s.ptr[0] == '-' ? -EINVAL : 0));
    if (str_to_double(s, &d) == 0) {
        char *z = mem_strndup(s.ptr, s.len), *end;
        double want = strtod(z, &end);
        MUST(end == z + s.len && memcmp(&d, &want, sizeof d) == 0 && isfinite(d));
        free(z);
    } else {
        MUST(d == 0.25);
    }
}

static void check_time(struct str s)
{
    struct err err = {0};
    int64_t us = 77, back = -1;
    char out[24];
    if (time_parse(s, &us, &err) < 0) {
        MUST(us == 77 && err.code && err.text[0]);
        return;
    }
    time_text(us, out);
    if (strlen(out) != 19 || out[0] == '-')
        return; /* a zone moved it out of the years 0000 to 9999 */
    int64_t rest = us % US_PER_S;
    MUST(time_parse(str_of(out), &back, &err) == 0);
    MUST(back == us - (rest < 0 ? rest + US_PER_S : rest));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str s = {(const char *)data, size};
    struct err err = {0};
    int64_t us = -77, milli = -77;
    uint64_t bytes = 77;
    char out[24];
    check_numbers(s);
    check_time(s);
    if (duration_parse(s, &us, &err) == 0)
        MUST(us >= 0 && strlen(duration_text(us, out)) < sizeof out);
    else
        MUST(us == -77 && err.code && err.text[0]);
    if (milli_parse(s, &milli, &err) == 0) {
        int64_t back = -1;
        MUST(milli >= 0 &&
             milli_parse(str_of(milli_text(milli, out)), &back, &err) == 0);
        MUST(back == milli);
    } else {
        MUST(milli == -77);
    }
    MUST(size_parse(s, &bytes, &err) == 0 || bytes == 77);
    MUST(strlen(size_text(bytes, out)) < sizeof out);
    return 0;
}
