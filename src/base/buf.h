/* buf.h - bytes that grow: what is written piece by piece
 * `data` is always zero-terminated behind `len` once something was added.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_BUF_H
#define MUSTER_BUF_H

#include <stdarg.h>

#include "base/str.h"

struct buf {
    char *data;
    size_t len, room;
};

void buf_add(struct buf *b, const void *ptr, size_t len);
void buf_str(struct buf *b, struct str s);
void buf_z(struct buf *b, const char *z);
void buf_char(struct buf *b, char c);
void buf_pad(struct buf *b, char c, size_t count);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A JSON string with its quotes; invalid UTF-8 becomes U+FFFD. */
void buf_json(struct buf *b, struct str s);
/* Text for HTML: & < > " ' escaped. */
void buf_html(struct buf *b, struct str s);
static inline struct str buf_as_str(const struct buf *b)
{
    return (struct str){b->data, b->len};
}
void buf_clear(struct buf *b); /* keeps the room */
void buf_done(struct buf *b);

#endif
