/* test-err.c - errors carry a code and one clean line
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/err.h"
#include "base/str.h"
#include "tap.h"

static void test_set(void)
{
    struct err e = {0};
    is_int(err_set(&e, EINVAL, "range %u-%u runs backward", 7u, 3u), -EINVAL,
           "err_set returns minus the code");
    is_int(e.code, EINVAL, "and keeps it");
    is_str(e.text, "range 7-3 runs backward", "and the text");
    is_int(err_set(NULL, ENOENT, "nobody reads %d", 1), -ENOENT, "err may be NULL");
}

static void test_prefix(void)
{
    struct err e = {0};
    err_set(&e, ERANGE, "too large");
    is_int(err_prefix(&e, "%s:%d", "a.csv", 12), -ERANGE, "err_prefix keeps the code");
    is_str(e.text, "a.csv:12: too large", "and puts the prefix before the text");
    is_int(err_prefix(NULL, "x"), -EINVAL, "err_prefix of NULL is -EINVAL");
    struct err none = {0};
    is_int(err_prefix(&none, "x"), -EINVAL, "an empty err never becomes a success");
}

static void test_own_text(void)
{
    struct err e = {0};
    err_set(&e, EIO, "disk gone");
    err_set(&e, EIO, "cannot save: %s", e.text);
    is_str(e.text, "cannot save: disk gone", "an error may quote the text it replaces");
}

static void test_clean(void)
{
    struct err e = {0};
    err_set(&e, EINVAL, "bad name \"%s\"", "a\nb\x1b[2J\x7f");
    is_str(e.text, "bad name \"a?b?[2J?\"", "control bytes cannot reach a terminal");
    err_set(&e, EINVAL, "%s", "Größe 3 μs");
    is_str(e.text, "Größe 3 μs", "UTF-8 passes");
}

/* For characters of 1 to 4 bytes, the cut must fall between two of them, and no more
 * than one character may be lost to that. */
static void test_cut(void)
{
    static const char *const chars[] = {"a", "é", "€", "\xf0\x9f\x98\x80"};
    for (int i = 0; i < 4; i++) {
        for (int shift = 0; shift < 4; shift++) {
            char text[2000] = "";
            for (int k = 0; k < shift; k++)
                strcat(text, "-");
            while (strlen(text) < sizeof(((struct err *)0)->text) + 20)
                strcat(text, chars[i]);
            struct err e = {0};
            err_set(&e, EINVAL, "%s", text);
            size_t n = strlen(e.text), max = sizeof e.text - 1, w = strlen(chars[i]);
            bool whole = str_is_utf8(str_of(e.text)) && (n - (size_t)shift) % w == 0;
            ok(whole && n <= max && n + w > max && memcmp(e.text, text, n) == 0,
               "a long text of %zu-byte characters, shifted %d, is cut between two", w,
               shift);
            err_set(&e, EINVAL, "end");
            for (int k = 0; k < 600; k++)
                err_prefix(&e, "%s", chars[i]);
            ok(str_is_utf8(str_of(e.text)) && strlen(e.text) < sizeof e.text,
               "endless prefixes of %zu bytes stay inside", w);
        }
    }
}

int main(void)
{
    test_set();
    test_prefix();
    test_own_text();
    test_clean();
    test_cut();
    return done_testing();
}
