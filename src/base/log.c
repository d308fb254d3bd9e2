/* log.c - one line to stderr, written with one call
 *
 * Control bytes (names come from outside) become '?': a log line never moves a cursor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 };

static enum log_level log_max = LOG_INFO;

void log_set_level(enum log_level level)
{
    log_max = level;
}

void log_line(enum log_level level, const char *fmt, ...)
{
    static const char *const head[] = {
        [LOG_ERROR] = "muster: ",
        [LOG_WARN] = "muster: warning: ",
        [LOG_INFO] = "muster: ",
        [LOG_DEBUG] = "muster: debug: ",
    };
    char line[LINE_MAX_BYTES];
    if (level > log_max)
        return;
    int saved = errno;
    size_t n = strlen(head[level]);
    memcpy(line, head[level], n);
    va_list ap;
    va_start(ap, fmt);
    int m = vsnprintf(line + n, sizeof line - n - 1, fmt, ap);
    va_end(ap);
    if (m > 0)
        n += strnlen(line + n, sizeof line - n - 1);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, n) < 0)
        n = 0; /* nowhere left to say it */
    errno = saved;
}
