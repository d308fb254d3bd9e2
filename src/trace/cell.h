/* cell.h - numbers and times out of the cells of a trace, fast and exact
 * No doubles: a decimal is scaled as an integer, so "66.1" s is 66,100,000 us.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CELL_H
#define MUSTER_CELL_H

#include "base/str.h"

/* The days since 1970 of the last date seen: traces repeat their dates. Zero it. */
struct cell_day {
    uint64_t ymd_lo; /* "YYYY-MM-" as bytes */
    uint32_t ymd_hi; /* "DD" and a mark that it is set */
    int64_t start_us;
};

/* A decimal ("-12", "3.25", "1.2e3") times mul, rounded half away from zero. Nine
 * digits behind the point count. 0, -EINVAL (no number) or -ERANGE; *ret is then
 * untouched. */
int cell_scaled_any(struct str s, int64_t mul, int64_t *ret);
static inline int cell_scaled(struct str s, int64_t mul, int64_t *ret)
{
    /* Most cells are "66" or "66.0", with few digits. */
    const char *p = s.ptr, *end = s.ptr + s.len;
    if (s.len > 2 && end[-1] == '0' && end[-2] == '.')
        end -= 2;
    if (p == end || end - p > 9)
        return cell_scaled_any(s, mul, ret);
    int64_t v = 0, scaled;
    do {
        unsigned d = (unsigned)(unsigned char)*p - '0';
        if (d > 9)
            return cell_scaled_any(s, mul, ret);
        v = v * 10 + d;
    } while (++p < end);
    if (__builtin_mul_overflow(v, mul, &scaled))
        return cell_scaled_any(s, mul, ret);
    *ret = scaled;
    return 0;
}

/* "2017-10-09 07:01:55[.frac][Z|+08:00]" or with T, or a date alone; no zone = UTC.
 * Microseconds since 1970. 0 or -EINVAL. */
int cell_time(struct str s, struct cell_day *day, int64_t *ret_us);

/* Slurm's "[DD-[HH:]]MM:SS[.fff]", "DD-HH[:MM]", "HH:MM:SS". 0, -EINVAL or -ERANGE. */
int cell_clock(struct str s, int64_t *ret_us);

/* "2000M", "1.5T", "16Gn": K M G T P are powers of 1024, a bare number counts `unit`
 * bytes; a last n or c (per node, per CPU) is handed out in *ret_per (else 0).
 * 0, -EINVAL or -ERANGE. */
int cell_memory(struct str s, int64_t unit, int64_t *ret_bytes, char *ret_per);

#endif
