/* infile.c - read a file as one stream of bytes, plain, gzip or zstd
 *
 * The first bytes choose the reader. Compressed data is decoded through one 128 KiB
 * input buffer, member after member (gzip) and frame after frame (zstd), as both
 * formats allow; the checksums of both are checked by their libraries. A stream that
 * ends inside a member or a frame is -EBADMSG: a cut download must not look like a
 * short trace.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/infile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

enum { INPUT_ROOM = 128 << 10, MAGIC_LEN = 4 };

enum infile_form { FORM_PLAIN = 0, FORM_GZIP, FORM_ZSTD };

struct infile {
    char *name;
    int fd; /* -1: the bytes are all in `in` from the start */
    bool owns_fd;
    bool ended;  /* nothing more comes from fd */
    bool inside; /* between the first and last byte of a member or frame */
    enum infile_form form;
    char *room;     /* input buffer; NULL for memory */
    const char *in; /* not yet used input: */
    size_t left;
    z_stream z;
    ZSTD_DStream *zstd;
};

const char *infile_name(const struct infile *in)
{
    return in->name;
}

void infile_close(struct infile *in)
{
    if (!in)
        return;
    if (in->form == FORM_GZIP)
        inflateEnd(&in->z);
    ZSTD_freeDStream(in->zstd);
    if (in->owns_fd)
        close(in->fd);
    free(in->room);
    free(in->name);
    free(in);
}

/* read() that is not stopped by signals; bytes, 0 at the end, -errno with err. */
static long fd_read(struct infile *in, void *out, size_t room, struct err *err)
{
    if (in->ended || in->fd < 0)
        return 0;
    ssize_t n;
    do
        n = read(in->fd, out, room > SSIZE_MAX ? SSIZE_MAX : room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(err, errno, "cannot read %s: %s", in->name, strerror(errno));
    in->ended = n == 0;
    return n;
}

/* Input for a decoder: 1 if there is some, 0 at the end, -errno. */
static int fill(struct infile *in, struct err *err)
{
    if (in->left > 0)
        return 1;
    long n = fd_read(in, in->room, INPUT_ROOM, err);
    if (n > 0) {
        in->in = in->room;
        in->left = (size_t)n;
    }
    return n < 0 ? (int)n : n > 0;
}

static enum infile_form form_of(const char *p, size_t n)
{
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    const unsigned char *u = (const unsigned char *)p;
    if (n >= 2 && u[0] == 0x1f && u[1] == 0x8b)
        return FORM_GZIP;
    if (n >= 4 && memcmp(u, zstd, 4) == 0)
        return FORM_ZSTD;
    if (n >= 4 && (u[0] & 0xf0) == 0x50 && u[1] == 0x2a && u[2] == 0x4d && u[3] == 0x18)
        return FORM_ZSTD; /* begins with a skippable frame */
    return FORM_PLAIN;
}

static int decoder_begin(struct infile *in, struct err *err)
{
    in->form = form_of(in->in, in->left);
    if (in->form == FORM_GZIP && inflateInit2(&in->z, 15 + 16) != Z_OK) {
        in->form = FORM_PLAIN;
        return err_set(err, ENOMEM, "cannot read %s: no memory for gzip", in->name);
    }
    if (in->form == FORM_ZSTD && !(in->zstd = ZSTD_createDStream()))
        return err_set(err, ENOMEM, "cannot read %s: no memory for zstd", in->name);
    return 0;
}

/* Read until the magic is there (pipes give what they have) and choose the form. */
static int form_begin(struct infile *in, struct err *err)
{
    in->room = mem_alloc(INPUT_ROOM);
    in->in = in->room;
    while (in->left < MAGIC_LEN) {
        long n = fd_read(in, in->room + in->left, INPUT_ROOM - in->left, err);
        if (n < 0)
            return (int)n;
        if (n == 0)
            break;
        in->left += (size_t)n;
    }
    return decoder_begin(in, err);
}

int infile_open(struct infile **ret, const char *path, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        if (!is_stdin)
            close(fd);
        return err_set(err, EISDIR, "cannot read %s: it is a directory", path);
    }
    struct infile *in = mem_zero(sizeof *in);
    in->name = mem_strdup(is_stdin ? "standard input" : path);
    in->fd = fd;
    in->owns_fd = !is_stdin;
    int rc = form_begin(in, err);
    if (rc < 0) {
        infile_close(in);
        return rc;
    }
    *ret = in;
    return 0;
}

int infile_open_mem(struct infile **ret, const void *data, size_t len, const char *name,
                    struct err *err)
{
    struct infile *in = mem_zero(sizeof *in);
    in->name = mem_strdup(name);
    in->fd = -1;
    in->in = data;
    in->left = len;
    int rc = decoder_begin(in, err);
    if (rc < 0) {
        infile_close(in);
        return rc;
    }
    *ret = in;
    return 0;
}

static long plain_read(struct infile *in, char *out, size_t room, struct err *err)
{
    if (in->left == 0)
        return fd_read(in, out, room, err);
    size_t n = in->left < room ? in->left : room;
    memcpy(out, in->in, n);
    in->in += n;
    in->left -= n;
    return (long)n;
}

static int damaged(struct infile *in, const char *form, const char *why,
                   struct err *err)
{
    return err_set(err, EBADMSG, "%s: damaged %s data: %s", in->name, form, why);
}

static long gzip_read(struct infile *in, char *out, size_t room, struct err *err)
{
    size_t want = room < UINT_MAX ? room : UINT_MAX;
    in->z.next_out = (Bytef *)out;
    in->z.avail_out = (uInt)want;
    while (in->z.avail_out == want) {
        int rc = fill(in, err);
        if (rc < 0)
            return rc;
        if (rc == 0 && !in->inside)
            return 0;
        if (rc == 0)
            return damaged(in, "gzip", "it ends too early", err);
        if (!in->inside)
            inflateReset(&in->z);
        in->inside = true;
        size_t give = in->left < UINT_MAX ? in->left : UINT_MAX;
        in->z.next_in = (Bytef *)(uintptr_t)in->in;
        in->z.avail_in = (uInt)give;
        rc = inflate(&in->z, Z_NO_FLUSH);
        in->in += give - in->z.avail_in;
        in->left -= give - in->z.avail_in;
        if (rc == Z_STREAM_END)
            in->inside = false;
        else if (rc != Z_OK && rc != Z_BUF_ERROR)
            return damaged(in, "gzip", in->z.msg ? in->z.msg : zError(rc), err);
    }
    return (long)(want - in->z.avail_out);
}

static long zstd_read(struct infile *in, char *out, size_t room, struct err *err)
{
    ZSTD_outBuffer to = {out, room, 0};
    while (to.pos == 0) {
        int rc = fill(in, err);
        if (rc < 0)
            return rc;
        if (rc == 0 && !in->inside)
            return 0;
        /* Without input there may still be output that did not fit before. */
        ZSTD_inBuffer from = {in->in, in->left, 0};
        size_t hint = ZSTD_decompressStream(in->zstd, &to, &from);
        if (ZSTD_isError(hint))
            return damaged(in, "zstd", ZSTD_getErrorName(hint), err);
        if (rc == 0 && to.pos == 0)
            return damaged(in, "zstd", "it ends too early", err);
        in->in += from.pos;
        in->left -= from.pos;
        in->inside = hint != 0;
    }
    return (long)to.pos;
}

long infile_read(struct infile *in, void *out, size_t room, struct err *err)
{
    if (room == 0)
        return 0;
    switch (in->form) {
    case FORM_GZIP: return gzip_read(in, out, room, err);
    case FORM_ZSTD: return zstd_read(in, out, room, err);
    default: return plain_read(in, out, room, err);
    }
}

int infile_slurp(const char *path, size_t max, struct buf *b, struct err *err)
{
    struct infile *in;
    size_t before = b->len;
    int rc = infile_open(&in, path, err);
    if (rc < 0)
        return rc;
    char *piece = mem_alloc(INPUT_ROOM);
    long n;
    while ((n = infile_read(in, piece, INPUT_ROOM, err)) > 0) {
        if ((size_t)n > max - (b->len - before)) {
            n = err_set(err, EFBIG, "%s: larger than %zu bytes", in->name, max);
            break;
        }
        buf_add(b, piece, (size_t)n);
    }
    free(piece);
    infile_close(in);
    if (n < 0 && b->data)
        b->data[b->len = before] = '\0';
    if (n == 0)
        buf_add(b, "", 0); /* so that an empty file has data too */
    return (int)n;
}
