/* test-infile.c - plain, gzip and zstd streams, whole, cut and damaged
 * The compressed data is made here by zlib and libzstd.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/infile.h"
#include "base/rng.h"
#include "tap.h"

enum { TEXT_LEN = 700000 };

static char text[TEXT_LEN]; /* what all the packed forms hold */

static void make_text(void)
{
    struct rng r;
    rng_init(&r, 1, 0);
    for (size_t i = 0; i < TEXT_LEN; i++)
        text[i] = (char)('a' + rng_below(&r, 1 + i / 30000));
}

static void gzip_add(struct buf *b, const char *data, size_t len)
{
    z_stream z = {0};
    char out[65536];
    int rc;
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)len;
    do {
        z.next_out = (Bytef *)out;
        z.avail_out = sizeof out;
        rc = deflate(&z, Z_FINISH);
        buf_add(b, out, sizeof out - z.avail_out);
    } while (rc == Z_OK);
    deflateEnd(&z);
}

static void zstd_add(struct buf *b, const char *data, size_t len)
{
    size_t room = ZSTD_compressBound(len);
    char *out = malloc(room);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    buf_add(b, out, ZSTD_compress2(c, out, room, data, len));
    ZSTD_freeCCtx(c);
    free(out);
}

/* Everything that comes out of in, in pieces of `piece` bytes; 0 or the error. */
static int drain(struct infile *in, size_t piece, struct buf *out, struct err *err)
{
    char *p = malloc(piece);
    long n;
    while ((n = infile_read(in, p, piece, err)) > 0)
        buf_add(out, p, (size_t)n);
    free(p);
    return (int)n;
}

static int unpack(const struct buf *b, size_t len, size_t piece, struct buf *out,
                  struct err *err)
{
    struct infile *in = NULL;
    int rc = infile_open_mem(&in, b->data, len, "memory", err);
    if (rc == 0)
        rc = drain(in, piece, out, err);
    infile_close(in);
    return rc;
}

static void check_whole(const struct buf *b, const char *what, const char *want,
                        size_t len)
{
    static const size_t pieces[] = {1, 7, 4096, 1 << 20};
    for (int i = 0; i < 4; i++) {
        struct buf out = {0};
        struct err err = {0};
        is_int(unpack(b, b->len, pieces[i], &out, &err), 0, "%s in pieces of %zu", what,
               pieces[i]);
        ok(out.len == len && (len == 0 || memcmp(out.data, want, len) == 0),
           "  gives the text back");
        buf_done(&out);
    }
}

static void test_forms(void)
{
    struct buf plain = {0}, gz = {0}, zst = {0};
    buf_add(&plain, text, TEXT_LEN);
    check_whole(&plain, "plain", text, TEXT_LEN);
    gzip_add(&gz, text, 400000);
    check_whole(&gz, "gzip", text, 400000);
    gzip_add(&gz, "", 0);
    gzip_add(&gz, text + 400000, TEXT_LEN - 400000);
    check_whole(&gz, "gzip of three members", text, TEXT_LEN);
    zstd_add(&zst, text, 400000);
    check_whole(&zst, "zstd", text, 400000);
    buf_add(&zst, "\x52\x2a\x4d\x18\x05\0\0\0extra", 13); /* RFC 8878, 3.1.2 */
    zstd_add(&zst, text + 400000, TEXT_LEN - 400000);
    check_whole(&zst, "zstd of two frames, a skippable one between", text, TEXT_LEN);
    buf_clear(&zst);
    buf_add(&zst, "\x50\x2a\x4d\x18\0\0\0\0", 8);
    zstd_add(&zst, text, 1000);
    check_whole(&zst, "zstd behind a skippable frame", text, 1000);
    buf_done(&plain);
    buf_done(&gz);
    buf_done(&zst);
}

static void test_short(void)
{
    static const char *const texts[] = {"",    "a", "\x1f", "ab", "abc", "\x28\xb5\x2f",
                                        "abcd"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct buf b = {0};
        buf_z(&b, texts[i]);
        check_whole(&b, "a short text", texts[i], strlen(texts[i]));
        buf_done(&b);
    }
    struct buf b = {0};
    gzip_add(&b, "", 0);
    check_whole(&b, "gzip of nothing", "", 0);
    buf_clear(&b);
    zstd_add(&b, "", 0);
    check_whole(&b, "zstd of nothing", "", 0);
    buf_done(&b);
}

/* Cut anywhere, packed data is -EBADMSG, with what was read before being a true
 * beginning. */
static void check_cut(const struct buf *b, const char *what)
{
    int bad = 0;
    for (size_t i = 0; i < 400; i++) {
        size_t len = i < 200 ? 4 + i : b->len - (i - 199);
        struct buf out = {0};
        struct err err = {0};
        int rc = unpack(b, len, 10000, &out, &err);
        bad += rc != -EBADMSG || err.code != EBADMSG ||
               strncmp(err.text, "memory: ", 8) != 0;
        bad += out.len > TEXT_LEN || (out.len && memcmp(out.data, text, out.len) != 0);
        buf_done(&out);
    }
    is_int(bad, 0, "%s, cut at 400 places, is always noticed", what);
}

static void check_damage(struct buf *b, const char *what)
{
    int bad = 0;
    struct rng r;
    rng_init(&r, 2, 0);
    for (int i = 0; i < 60; i++) {
        size_t at = 20 + rng_below(&r, b->len - 20);
        struct buf out = {0};
        struct err err = {0};
        char old = b->data[at];
        b->data[at] = (char)(old ^ (1 << rng_below(&r, 8)));
        int rc = unpack(b, b->len, 100000, &out, &err);
        bool same = out.len == TEXT_LEN && memcmp(out.data, text, TEXT_LEN) == 0;
        bad += rc == 0 ? !same : rc != -EBADMSG;
        b->data[at] = old;
        buf_done(&out);
    }
    is_int(bad, 0, "%s with flipped bits never passes for another text", what);
}

static void test_bad(void)
{
    struct buf gz = {0}, zst = {0}, out = {0};
    struct err err = {0};
    gzip_add(&gz, text, TEXT_LEN);
    zstd_add(&zst, text, TEXT_LEN);
    check_cut(&gz, "gzip");
    check_cut(&zst, "zstd");
    check_damage(&gz, "gzip");
    check_damage(&zst, "zstd");
    buf_clear(&gz);
    gzip_add(&gz, text, 1000);
    buf_z(&gz, "and some garbage");
    is_int(unpack(&gz, gz.len, 100, &out, &err), -EBADMSG, "garbage behind gzip data");
    buf_clear(&zst);
    zstd_add(&zst, text, 1000);
    buf_z(&zst, "and some garbage");
    is_int(unpack(&zst, zst.len, 100, &out, &err), -EBADMSG,
           "garbage behind zstd data");
    buf_done(&gz);
    buf_done(&zst);
    buf_done(&out);
}

static void file_write(const char *path, const void *data, size_t len)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, len, f) != len)
        bail("cannot write %s", path);
    fclose(f);
}

static void test_files(const char *dir)
{
    char path[200];
    struct buf gz = {0}, b = {0};
    struct err err = {0};
    struct infile *in = (struct infile *)&err;
    snprintf(path, sizeof path, "%s/x.gz", dir);
    gzip_add(&gz, text, TEXT_LEN);
    file_write(path, gz.data, gz.len);
    buf_z(&b, "before");
    is_int(infile_slurp(path, TEXT_LEN, &b, &err), 0, "a gzip file, slurped");
    ok(b.len == TEXT_LEN + 6 && memcmp(b.data + 6, text, TEXT_LEN) == 0,
       "  is added behind what was there");
    buf_clear(&b);
    is_int(infile_slurp(path, TEXT_LEN - 1, &b, &err), -EFBIG,
           "one byte over the limit");
    ok(b.len == 0 && strstr(err.text, path), "  leaves nothing and names the file");
    is_int(infile_open(&in, path, &err), 0, "opened");
    is_str(infile_name(in), path, "the name is the path");
    char byte;
    is_int(infile_read(in, &byte, 0, &err), 0, "reading no bytes");
    is_int(infile_read(in, &byte, 1, &err), 1, "reading one");
    ok(byte == text[0], "  the first");
    infile_close(in);
    file_write(path, "", 0);
    buf_done(&b);
    is_int(infile_slurp(path, 10, &b, &err), 0, "an empty file");
    ok(b.len == 0 && b.data, "  is an empty text");
    unlink(path);
    in = (struct infile *)&err;
    is_int(infile_open(&in, path, &err), -ENOENT, "a missing file");
    ok(in == (struct infile *)&err && strstr(err.text, path), "  by name: %s",
       err.text);
    is_int(infile_open(&in, dir, &err), -EISDIR, "a directory: %s", err.text);
    infile_close(NULL);
    buf_done(&gz);
    buf_done(&b);
}

/* A pipe that gives one byte at a time: the magic comes in pieces. */
static void test_pipe(const char *dir)
{
    char path[200];
    struct buf gz = {0}, out = {0};
    struct err err = {0};
    snprintf(path, sizeof path, "%s/fifo", dir);
    if (mkfifo(path, 0600) < 0)
        bail("cannot make %s", path);
    gzip_add(&gz, text, 300);
    pid_t child = fork();
    if (child == 0) {
        FILE *f = fopen(path, "wb");
        for (size_t i = 0; f && i < gz.len; i++) {
            fputc(gz.data[i], f);
            fflush(f);
            if (i < 8)
                usleep(2000);
        }
        _exit(0);
    }
    struct infile *in = NULL;
    is_int(infile_open(&in, path, &err), 0, "a slow pipe");
    is_int(drain(in, 100, &out, &err), 0, "  is read to its end");
    ok(out.len == 300 && memcmp(out.data, text, 300) == 0, "  and known as gzip");
    infile_close(in);
    unlink(path);
    buf_done(&gz);
    buf_done(&out);
}

int main(void)
{
    char dir[] = "/tmp/muster-infile-XXXXXX";
    if (!mkdtemp(dir))
        bail("no temporary folder");
    make_text();
    test_forms();
    test_short();
    test_bad();
    test_files(dir);
    test_pipe(dir);
    rmdir(dir);
    return done_testing();
}
