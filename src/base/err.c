/* err.c - a negative errno with a sentence
 *
 * The text is formatted into a buffer of its own first, so that it may quote the text
 * it replaces; then it is made fit for one line of a terminal: control bytes become '?'
 * and a UTF-8 sequence that the end of the buffer cut goes away whole.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Copy text into err, tidy. cut: the text did not fit and was shortened. */
static void text_store(struct err *err, const char *text, int cut)
{
    size_t n = strnlen(text, sizeof err->text - 1);
    if (cut) {
        size_t at = n;
        while (at > 0 && n - at < 3 && ((unsigned char)text[at - 1] & 0xc0) == 0x80)
            at--;
        unsigned char lead = at > 0 ? (unsigned char)text[at - 1] : 0;
        size_t want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
        if (want > 1 && n - at + 1 < want)
            n = at - 1;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        err->text[i] = c < 0x20 || c == 0x7f ? '?' : text[i];
    }
    err->text[n] = '\0';
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    if (!err)
        return -code;
    char text[sizeof err->text];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err->code = code;
    text_store(err, n < 0 ? fmt : text, n >= (int)sizeof text);
    return -code;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -EINVAL;
    char prefix[sizeof err->text], text[2 * sizeof err->text + 2];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(prefix, sizeof prefix, fmt, ap) < 0)
        prefix[0] = '\0';
    va_end(ap);
    int n = snprintf(text, sizeof text, "%s: %s", prefix, err->text);
    text_store(err, text, n >= (int)sizeof err->text);
    return err->code ? -err->code : -EINVAL;
}
