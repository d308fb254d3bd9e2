/* buf.c - bytes that grow: what is written piece by piece
 *
 * Room doubles, so adding n bytes costs O(n) on average. One byte more than len is
 * always there for the terminating zero.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>

#include "base/mem.h"

/* Make room for `more` bytes and a zero behind len; returns where they go. */
static char *buf_room(struct buf *b, size_t more)
{
    assert(more < SIZE_MAX / 2 - b->len);
    size_t need = b->len + more + 1;
    if (need > b->room) {
        size_t room = b->room < 32 ? 64 : b->room * 2;
        b->room = room < need ? need : room;
        b->data = mem_resize(b->data, b->room);
    }
    return b->data + b->len;
}

void buf_add(struct buf *b, const void *ptr, size_t len)
{
    char *at = buf_room(b, len);
    if (len)
        memcpy(at, ptr, len);
    at[len] = '\0';
    b->len += len;
}

void buf_str(struct buf *b, struct str s)
{
    buf_add(b, s.ptr, s.len);
}

void buf_z(struct buf *b, const char *z)
{
    buf_add(b, z, strlen(z));
}

void buf_char(struct buf *b, char c)
{
    char *at = buf_room(b, 1);
    at[0] = c;
    at[1] = '\0';
    b->len++;
}

void buf_pad(struct buf *b, char c, size_t count)
{
    char *at = buf_room(b, count);
    memset(at, c, count);
    at[count] = '\0';
    b->len += count;
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    char *at = buf_room(b, 64);
    size_t room = b->room - b->len;
    va_start(ap, fmt);
    int n = vsnprintf(at, room, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    if ((size_t)n >= room) {
        at = buf_room(b, (size_t)n);
        va_start(ap, fmt);
        vsnprintf(at, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    b->len += (size_t)n;
}

static void json_escape(struct buf *b, unsigned char c)
{
    static const char short_form[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (const char *p = short_form; *p; p += 2)
        if ((unsigned char)p[0] == c) {
            buf_char(b, '\\');
            buf_char(b, p[1]);
            return;
        }
    buf_fmt(b, "\\u%04x", c);
}

void buf_json(struct buf *b, struct str s)
{
    size_t run = 0; /* start of what is copied as it is */
    buf_char(b, '"');
    for (size_t i = 0; i < s.len;) {
        unsigned char c = (unsigned char)s.ptr[i];
        size_t step = c < 0x80 ? 1 : str_utf8_step((struct str){s.ptr + i, s.len - i});
        if (step && c >= 0x20 && c != '"' && c != '\\') {
            i += step;
            continue;
        }
        buf_add(b, s.ptr + run, i - run);
        if (step)
            json_escape(b, c);
        else
            buf_z(b, "\xef\xbf\xbd");
        run = ++i;
    }
    if (s.len)
        buf_add(b, s.ptr + run, s.len - run);
    buf_char(b, '"');
}

void buf_html(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        switch (s.ptr[i]) {
        case '&': buf_z(b, "&amp;"); break;
        case '<': buf_z(b, "&lt;"); break;
        case '>': buf_z(b, "&gt;"); break;
        case '"': buf_z(b, "&quot;"); break;
        case '\'': buf_z(b, "&#39;"); break;
        default: buf_char(b, s.ptr[i]);
        }
    }
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

void buf_done(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}
