/* tap.h - just enough of the Test Anything Protocol for one C file
 * Every check prints one line and returns whether it held. A failed check prints file,
 * line, what was seen and what was wanted, and makes the program exit 1. The plan may come
 * first (plan(n)) or be left to done_testing(), which every program returns from main:
 *
 *     int main(void)
 *     {
 *         ok(str_is(s, "x"), "one letter stays");
 *         is_int(v.n, 3, "three rows in %s", path);
 *         return done_testing();
 *     }
 *
 * All macros evaluate their arguments once. Not for threads.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TAP_H
#define MUSTER_TAP_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    unsigned run, failed, planned;
} tap;

#define TAP_UNUSED __attribute__((unused))
#define TAP_FMT(a, b) __attribute__((unused, format(printf, a, b)))

/* A remark; meson shows it with -v and in the log of a failed test. */
static void TAP_FMT(1, 2) diag(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("# ", stdout);
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
}

static TAP_UNUSED void plan(unsigned n)
{
    tap.planned = n;
    printf("1..%u\n", n);
}

static bool TAP_FMT(4, 5)
    tap_line(bool good, const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    printf("%sok %u - ", good ? "" : "not ", ++tap.run);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    if (!good) {
        tap.failed++;
        diag("failed at %s:%d", file, line);
    }
    fflush(stdout);
    return good;
}

/* ok(condition, "what holds", ...) */
#define ok(cond, ...) tap_line((cond), __FILE__, __LINE__, __VA_ARGS__)
#define pass(...) tap_line(true, __FILE__, __LINE__, __VA_ARGS__)
#define fail(...) tap_line(false, __FILE__, __LINE__, __VA_ARGS__)

/* is_int(got, want, "what", ...): signed; is_uint and is_hex for uint64_t. */
#define is_int(got, want, ...)                                              \
    __extension__({                                                         \
        int64_t tap_g = (int64_t)(got), tap_w = (int64_t)(want);            \
        bool tap_b = ok(tap_g == tap_w, __VA_ARGS__);                       \
        if (!tap_b)                                                         \
            diag("   got %" PRId64 ", want %" PRId64, tap_g, tap_w);        \
        tap_b;                                                              \
    })
#define is_uint(got, want, ...) tap_u64((got), (want), "%" PRIu64, __VA_ARGS__)
#define is_hex(got, want, ...) tap_u64((got), (want), "%016" PRIx64, __VA_ARGS__)
#define tap_u64(got, want, f, ...)                                          \
    __extension__({                                                         \
        uint64_t tap_g = (uint64_t)(got), tap_w = (uint64_t)(want);         \
        bool tap_b = ok(tap_g == tap_w, __VA_ARGS__);                       \
        if (!tap_b)                                                         \
            diag("   got " f ", want " f, tap_g, tap_w);                    \
        tap_b;                                                              \
    })

/* is_str(got, want, "what", ...): zero-terminated, NULL allowed (equal to NULL only).
 * is_mem(got, got_len, want, "what", ...): bytes against a zero-terminated text. */
#define is_str(got, want, ...)                                              \
    __extension__({                                                         \
        const char *tap_g = (got), *tap_w = (want);                         \
        bool tap_b = ok(tap_g && tap_w ? strcmp(tap_g, tap_w) == 0          \
                                       : tap_g == tap_w, __VA_ARGS__);      \
        if (!tap_b)                                                         \
            diag("   got \"%s\", want \"%s\"", tap_g ? tap_g : "(null)",    \
                 tap_w ? tap_w : "(null)");                                 \
        tap_b;                                                              \
    })
#define is_mem(got, got_len, want, ...)                                     \
    __extension__({                                                         \
        const char *tap_g = (got), *tap_w = (want);                         \
        size_t tap_n = (got_len);                                           \
        bool tap_b = ok(tap_n == strlen(tap_w) &&                           \
                            (tap_n == 0 || memcmp(tap_g, tap_w, tap_n) == 0), \
                        __VA_ARGS__);                                       \
        if (!tap_b)                                                         \
            diag("   got \"%.*s\" (%zu bytes), want \"%s\"", (int)tap_n,    \
                 tap_n ? tap_g : "", tap_n, tap_w);                         \
        tap_b;                                                              \
    })

/* cmp_ok(a, <, b, "what", ...): int64_t numbers, any C comparison. */
#define cmp_ok(a, op, b, ...)                                               \
    __extension__({                                                         \
        int64_t tap_a = (int64_t)(a), tap_c = (int64_t)(b);                 \
        bool tap_b = ok(tap_a op tap_c, __VA_ARGS__);                       \
        if (!tap_b)                                                         \
            diag("   %" PRId64 " " #op " %" PRId64 " does not hold", tap_a, \
                 tap_c);                                                    \
        tap_b;                                                              \
    })

/* is_near(got, want, most it may differ, "what", ...): doubles; NaN never passes. */
#define is_near(got, want, most, ...)                                       \
    __extension__({                                                         \
        double tap_g = (got), tap_w = (want), tap_m = (most);               \
        bool tap_b = ok(fabs(tap_g - tap_w) <= tap_m, __VA_ARGS__);         \
        if (!tap_b)                                                         \
            diag("   got %.17g, want %.17g +- %g", tap_g, tap_w, tap_m);    \
        tap_b;                                                              \
    })

/* Counts n checks as skipped, with the reason. */
static void TAP_FMT(2, 3) skip(unsigned n, const char *fmt, ...)
{
    while (n--) {
        va_list ap;
        printf("ok %u # SKIP ", ++tap.run);
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
        putchar('\n');
    }
    fflush(stdout);
}

/* The whole program is skipped: only as the first thing it does. */
static void __attribute__((unused, noreturn, format(printf, 1, 2)))
skip_all(const char *fmt, ...)
{
    va_list ap;
    fputs("1..0 # SKIP ", stdout);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
    exit(0);
}

/* Nothing further makes sense. */
static void __attribute__((unused, noreturn, format(printf, 1, 2)))
bail(const char *fmt, ...)
{
    va_list ap;
    fputs("Bail out! ", stdout);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
    exit(1);
}

/* A program that checked nothing has failed. */
static TAP_UNUSED int done_testing(void)
{
    if (!tap.planned)
        printf("1..%u\n", tap.run);
    else if (tap.planned != tap.run)
        diag("planned %u, ran %u", tap.planned, tap.run);
    if (tap.failed)
        diag("%u of %u failed", tap.failed, tap.run);
    fflush(stdout);
    return tap.failed || !tap.run || (tap.planned && tap.planned != tap.run);
}

/* A file of the shared data ("data/traces/helios/x"), in out; NULL if it is not there:
 * $MUSTER_SHARED, else ../shared beside the source tree. */
static TAP_UNUSED const char *shared_path(const char *name, char out[4096])
{
    const char *root = getenv("MUSTER_SHARED"), *src = getenv("MUSTER_SRC");
    if (root && *root)
        snprintf(out, 4096, "%s/%s", root, name);
    else
        snprintf(out, 4096, "%s/../shared/%s", src && *src ? src : ".", name);
    FILE *f = fopen(out, "r");
    if (!f)
        return NULL;
    fclose(f);
    return out;
}

#endif
