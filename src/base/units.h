/* units.h - times, sizes and GPU amounts as people write them
 * Time is int64 microseconds everywhere; sizes are bytes; a GPU is 1000 milli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_UNITS_H
#define MUSTER_UNITS_H

#include "base/err.h"
#include "base/str.h"

#define US_PER_MS INT64_C(1000)
#define US_PER_S INT64_C(1000000)
#define US_PER_MIN (60 * US_PER_S)
#define US_PER_H (3600 * US_PER_S)
#define US_PER_DAY (24 * US_PER_H)
#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* "90", "90s", "1.5h", "10m", "2d", "250ms", "10us", and the colon forms "MM:SS",
 * "HH:MM:SS", "D-HH[:MM[:SS]]" of Slurm (seconds may have a fraction); "1h 30m"; a bare
 * number is seconds. Not negative. All parsers here round half up, return 0, or -EINVAL
 * or -ERANGE with err quoting the text, and take blanks around it. */
int duration_parse(struct str s, int64_t *ret_us, struct err *err);
/* "16", "16k", "64Ki", "80GiB", "80GB", "1.5T": B is optional; i = powers of 1024. */
int size_parse(struct str s, uint64_t *ret_bytes, struct err *err);
/* "2" or "1.5" -> 2000, 1500; "500m" -> 500 (CPUs or GPUs to milli). */
int milli_parse(struct str s, int64_t *ret_milli, struct err *err);
/* "2017-10-01 00:00:45[.5][Z|+hh:mm]" or with T, or date alone; no zone = UTC.
 * Returns microseconds since 1970. */
int time_parse(struct str s, int64_t *ret_us, struct err *err);

/* Format into out and return out: "3 d 4 h", "12 min", "90 s", "250 ms". */
char *duration_text(int64_t us, char out[24]);
char *size_text(uint64_t bytes, char out[24]); /* "80 GiB" */
char *milli_text(int64_t milli, char out[24]); /* "1.5", "8" */
char *count_text(uint64_t n, char out[24]);    /* "12,345"; no commas from 10^18 on */
char *time_text(int64_t us, char out[24]);     /* "2017-10-01 00:00:45" UTC, floored */

#endif
