/* test-mem.c - allocation, its debug fill, and log lines
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "tap.h"

static bool all_are(const unsigned char *p, size_t n, unsigned char want)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != want)
            return false;
    return true;
}

static void test_fill(void)
{
    unsigned char *p = mem_alloc(1000);
    ok(all_are(p, 1000, 0xa5), "new memory has the fill");
    memset(p, 1, 1000);
    p = mem_resize(p, 100000);
    ok(all_are(p, 1000, 1), "a larger block keeps what it had");
    ok(all_are(p + 2000, 98000, 0xa5), "and has the fill behind it");
    mem_scramble(p, 500);
    ok(all_are(p, 500, 0xa5) && p[500] == 1, "scrambled memory has the fill again");
    free(p);
    p = mem_zero(1000);
    ok(all_are(p, 1000, 0), "cleared memory is clear");
    free(p);
    p = mem_resize(NULL, 10);
    ok(all_are(p, 10, 0xa5), "a first block by mem_resize has the fill");
    free(p);
    struct arena a = {0};
    p = arena_alloc(&a, 64);
    memset(p, 1, 64);
    arena_reset(&a);
    ok(arena_alloc(&a, 64) == p && all_are(p, 64, 0xa5), "what an arena reuses too");
    arena_done(&a);
}

static void test_sizes(void)
{
    void *a = mem_alloc(0), *b = mem_zero(0), *c = mem_resize(NULL, 0);
    ok(a && b && c && a != b && b != c, "size 0 gives pointers of their own");
    free(a);
    free(b);
    free(c);
    char *s = mem_strndup("abcdef", 3);
    is_str(s, "abc", "mem_strndup ends the copy");
    free(s);
    s = mem_strndup(NULL, 0);
    is_str(s, "", "even of nothing");
    free(s);
    s = mem_strdup("xyz");
    is_str(s, "xyz", "mem_strdup");
    free(s);
}

/* What log_line writes to stderr, caught in a pipe. */
static void caught(enum log_level level, const char *text, char out[4096])
{
    int fds[2], old = dup(STDERR_FILENO);
    if (pipe(fds) < 0)
        bail("no pipe");
    dup2(fds[1], STDERR_FILENO);
    close(fds[1]);
    log_line(level, "%s", text);
    dup2(old, STDERR_FILENO);
    close(old);
    ssize_t n = read(fds[0], out, 4095);
    out[n > 0 ? n : 0] = '\0';
    close(fds[0]);
}

static void test_log(void)
{
    char out[4096], text[4000];
    caught(LOG_ERROR, "cannot place job 17", out);
    is_str(out, "muster: cannot place job 17\n", "an error");
    caught(LOG_WARN, "careful", out);
    is_str(out, "muster: warning: careful\n", "a warning");
    caught(LOG_DEBUG, "detail", out);
    is_str(out, "", "details are not said at first");
    log_set_level(LOG_DEBUG);
    caught(LOG_DEBUG, "detail", out);
    is_str(out, "muster: debug: detail\n", "but when asked for");
    log_set_level(LOG_ERROR);
    caught(LOG_WARN, "careful", out);
    is_str(out, "", "a quiet log leaves warnings out");
    caught(LOG_ERROR, "a\nb\x1b[2J", out);
    is_str(out, "muster: a?b?[2J\n", "control bytes do not reach the terminal");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    caught(LOG_ERROR, text, out);
    ok(strlen(out) > 1000 && strlen(out) < 2100 && strchr(out, '\n')[1] == '\0',
       "a long line is cut and stays one line");
}

int main(void)
{
    setenv("MUSTER_MALLOC_FILL", "0xa5", 1); /* before the first allocation */
    test_fill();
    test_sizes();
    test_log();
    return done_testing();
}
