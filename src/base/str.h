/* str.h - a string that somebody else owns: pointer and length, passed by value
 * Not zero-terminated. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_STR_H
#define MUSTER_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *ptr;
    size_t len;
};

#define STR(literal) ((struct str){"" literal "", sizeof(literal) - 1})
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)(s).len, (s).ptr ? (s).ptr : ""

static inline struct str str_of(const char *z)
{
    return (struct str){z, z ? strlen(z) : 0};
}

/* Most names have 8 to 16 bytes: two words that may overlap, without a call. */
static inline bool bytes_eq(const char *a, const char *b, size_t len)
{
    if (len - 8 > 8)
        return len == 0 || memcmp(a, b, len) == 0;
    uint64_t x[2], y[2];
    memcpy(&x[0], a, 8);
    memcpy(&x[1], a + len - 8, 8);
    memcpy(&y[0], b, 8);
    memcpy(&y[1], b + len - 8, 8);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && bytes_eq(a.ptr, b.ptr, a.len);
}

static inline bool str_is(struct str a, const char *z)
{
    return str_eq(a, str_of(z));
}

/* Byte order (unsigned), shorter first among equals: <0, 0, >0. Never the locale's. */
static inline int str_cmp(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

static inline bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && memcmp(s.ptr, prefix.ptr, prefix.len) == 0;
}

/* Without spaces and tabs at both ends. */
struct str str_trim(struct str s);

/* Cut the next piece off *rest at sep: returns it and moves *rest behind sep. When no
 * sep is left, the whole rest is returned and rest->ptr becomes NULL. */
struct str str_cut(struct str *rest, char sep);

/* Whole-string numbers, decimal, C syntax, no locale. 0, -EINVAL (not a number, or text
 * behind it) or -ERANGE; *ret is untouched on failure. Doubles: the nearest one; no
 * inf, nan or hexadecimal; too large is -ERANGE, too small is the nearest (down to
 * 0). */
int str_to_i64(struct str s, int64_t *ret);
int str_to_u64(struct str s, uint64_t *ret);
int str_to_double(struct str s, double *ret);

/* Bytes of the UTF-8 character that s begins with (1 to 4); 0: none, or not valid. */
size_t str_utf8_step(struct str s);
bool str_is_utf8(struct str s); /* the empty string is */

#endif
