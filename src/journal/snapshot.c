/* snapshot.c - the state after a record, in a file of its own
 *
 * Head, 128 bytes: magic 8, format 4, zeros 4, seq 8, at 8, length 8, build 72, xxh64
 * of the state 8, xxh64 of the head 8. The state's bytes follow, as sched_save makes
 * them. SPDX-License-Identifier: Apache-2.0 */
#include "journal/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hash.h"

#define SNAPSHOT_MAGIC "musterS\n"
enum { HEAD = 128, FORMAT = 1 };
#define SNAPSHOT_MAX (UINT64_C(1) << 34) /* bytes */

/* As it lies in the file; this machine's byte order, like the state itself. */
struct head {
    char magic[8];
    uint32_t format, zero;
    uint64_t seq;
    int64_t at;
    uint64_t length;
    char build[BUILD_ID_MAX];
    uint64_t state_sum, head_sum;
};
_Static_assert(sizeof(struct head) == HEAD, "no padding");

static uint64_t sum_of(const struct head *h)
{
    return XXH64(h, offsetof(struct head, head_sum), 0);
}

static int write_all(int fd, const void *p, size_t n)
{
    const char *at = p;
    while (n) {
        ssize_t put = write(fd, at, n);
        if (put < 0)
            return -errno;
        at += put;
        n -= (size_t)put;
    }
    return 0;
}

int snapshot_write(int dir, const struct snapshot_head *h, struct str bytes,
                   struct err *err)
{
    struct head head = {.magic = SNAPSHOT_MAGIC,
                        .format = FORMAT,
                        .seq = h->seq,
                        .at = h->at,
                        .length = bytes.len};
    char name[SHELF_NAME_MAX], temp[SHELF_NAME_MAX + 8];
    memcpy(head.build, h->build, sizeof head.build);
    head.state_sum = XXH64(bytes.ptr, bytes.len, 0);
    head.head_sum = sum_of(&head);
    shelf_snapshot_name(h->seq, name);
    snprintf(temp, sizeof temp, "%s.tmp", name);
    int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int rc = fd < 0 ? -errno : write_all(fd, &head, sizeof head);
    if (!rc)
        rc = write_all(fd, bytes.ptr, bytes.len);
    if (!rc && fdatasync(fd))
        rc = -errno;
    if (fd >= 0 && close(fd) && !rc)
        rc = -errno;
    if (!rc && (renameat(dir, temp, dir, name) || fsync(dir)))
        rc = -errno;
    if (!rc)
        return 0;
    unlinkat(dir, temp, 0);
    return err_set(err, -rc, "cannot write %s: %s", name, strerror(-rc));
}

static int check(const struct head *h, uint64_t seq, struct str state, const char *name,
                 struct err *err)
{
    if (memcmp(h->magic, SNAPSHOT_MAGIC, 8) != 0 || h->head_sum != sum_of(h))
        return err_set(err, EBADMSG, "%s: its head is damaged", name);
    if (h->format != FORMAT)
        return err_set(err, ENOTSUP, "%s: its format is %u; this build reads %d", name,
                       h->format, FORMAT);
    if (h->seq != seq)
        return err_set(err, EBADMSG, "%s: it holds the state of another record", name);
    if (state.ptr &&
        (h->length != state.len || h->state_sum != XXH64(state.ptr, state.len, 0)))
        return err_set(err, EBADMSG, "%s: it is damaged", name);
    return 0;
}

static int read_head(int dir, const char *name, struct head *h, struct err *err)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, h, sizeof *h);
    int code = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return err_set(err, code, "%s: %s", name, strerror(code));
    return n == HEAD ? 0 : err_set(err, EBADMSG, "%s: its head is cut short", name);
}

int snapshot_read(int dir, uint64_t seq, struct snapshot_head *ret, struct buf *b,
                  struct err *err)
{
    char name[SHELF_NAME_MAX];
    struct head h;
    struct str state = {0};
    int rc;
    shelf_snapshot_name(seq, name);
    if (b) {
        rc = shelf_slurp(dir, name, SNAPSHOT_MAX, b, err);
        if (!rc && b->len < HEAD)
            rc = err_set(err, EBADMSG, "%s: its head is cut short", name);
        if (rc)
            return rc;
        memcpy(&h, b->data, HEAD);
        state = (struct str){b->data + HEAD, b->len - HEAD};
    } else {
        rc = read_head(dir, name, &h, err);
    }
    if (!rc)
        rc = check(&h, seq, state, name, err);
    if (rc)
        return rc;
    *ret = (struct snapshot_head){.seq = h.seq, .at = h.at};
    memcpy(ret->build, h.build, sizeof ret->build - 1);
    if (b) { /* the state alone is left in b */
        memmove(b->data, b->data + HEAD, state.len);
        b->len = state.len;
    }
    return 0;
}
