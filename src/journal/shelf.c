/* shelf.c - what lies in a journal's folder
 * SPDX-License-Identifier: Apache-2.0 */
#include "journal/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void shelf_segment_name(uint64_t number, char out[SHELF_NAME_MAX])
{
    snprintf(out, SHELF_NAME_MAX, "journal-%08" PRIu64 ".seg", number);
}

void shelf_snapshot_name(uint64_t seq, char out[SHELF_NAME_MAX])
{
    snprintf(out, SHELF_NAME_MAX, "state-%020" PRIu64 ".snap", seq);
}

/* The number between head and tail, when the name is the one we would write. */
static bool number_of(const char *name, const char *head, const char *tail,
                      void (*spell)(uint64_t, char *), uint64_t *ret)
{
    char again[SHELF_NAME_MAX];
    struct str s = str_of(name);
    size_t a = strlen(head), b = strlen(tail);
    if (s.len <= a + b || !str_starts(s, str_of(head)) ||
        strcmp(name + s.len - b, tail))
        return false;
    if (str_to_u64((struct str){name + a, s.len - a - b}, ret))
        return false;
    spell(*ret, again);
    return !strcmp(again, name);
}

static int by_number(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

static void list(struct shelf *s, DIR *d)
{
    const struct dirent *e;
    uint64_t n;
    while ((e = readdir(d)) != NULL) {
        if (number_of(e->d_name, "journal-", ".seg", shelf_segment_name, &n))
            vec_push(&s->segments, n);
        else if (number_of(e->d_name, "state-", ".snap", shelf_snapshot_name, &n))
            vec_push(&s->snapshots, n);
    }
    if (s->segments.n)
        qsort(s->segments.at, s->segments.n, sizeof *s->segments.at, by_number);
    if (s->snapshots.n)
        qsort(s->snapshots.at, s->snapshots.n, sizeof *s->snapshots.at, by_number);
}

int shelf_open(struct shelf *ret, const char *path, struct err *err)
{
    struct shelf s = {.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    int copy = s.dir < 0 ? -1 : openat(s.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    int rc = 0;
    if (!d) {
        rc = err_set(err, errno, "journal %s: %s", path, strerror(errno));
        if (copy >= 0)
            close(copy);
        if (s.dir >= 0)
            close(s.dir);
        return rc;
    }
    s.path = mem_strdup(path);
    list(&s, d);
    closedir(d);
    for (uint32_t i = 1; i < s.segments.n && !rc; i++)
        if (s.segments.at[i] != s.segments.at[i - 1] + 1)
            rc = err_set(err, EBADMSG, "journal %s: segment %" PRIu64 " is missing",
                         path, s.segments.at[i - 1] + 1);
    if (!rc && s.segments.n > SHELF_SEGMENTS_MAX)
        rc = err_set(err, E2BIG, "journal %s: more than %d segments", path,
                     SHELF_SEGMENTS_MAX);
    if (rc)
        shelf_done(&s);
    else
        *ret = s;
    return rc;
}

void shelf_done(struct shelf *s)
{
    if (s->path)
        close(s->dir);
    free(s->path);
    vec_done(&s->segments);
    vec_done(&s->snapshots);
    *s = (struct shelf){.dir = -1};
}

static int read_all(int fd, size_t len, struct buf *b)
{
    char block[65536];
    while (b->len < len) {
        size_t most = len - b->len < sizeof block ? len - b->len : sizeof block;
        ssize_t n = read(fd, block, most);
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        buf_add(b, block, (size_t)n);
    }
    return 0;
}

int shelf_slurp(int dir, const char *name, size_t most, struct buf *b, struct err *err)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    buf_clear(b);
    if (fd < 0 || fstat(fd, &st)) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return err_set(err, code, "%s: %s", name, strerror(code));
    }
    int rc = (uint64_t)st.st_size > most ? -EFBIG : read_all(fd, (size_t)st.st_size, b);
    close(fd);
    return rc ? err_set(err, -rc, "%s: %s", name, strerror(-rc)) : 0;
}

int shelf_head(const struct shelf *s, uint64_t number, struct segment_head *ret,
               struct err *err)
{
    char name[SHELF_NAME_MAX], bytes[SEGMENT_HEAD];
    shelf_segment_name(number, name);
    int fd = openat(s->dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    int code = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return err_set(err, code, "%s/%s: %s", s->path, name, strerror(code));
    if (segment_head_get(ret, (struct str){bytes, (size_t)n}, err))
        return err_prefix(err, "%s/%s", s->path, name);
    if (ret->number != number)
        return err_set(err, EBADMSG, "%s/%s: it calls itself segment %" PRIu64, s->path,
                       name, ret->number);
    return 0;
}

uint32_t shelf_tidy(const char *path, uint32_t keep)
{
    struct shelf s;
    struct segment_head next;
    char name[SHELF_NAME_MAX];
    uint32_t gone = 0;
    if (!keep || shelf_open(&s, path, NULL))
        return 0;
    if (s.snapshots.n >= keep) {
        uint64_t oldest = s.snapshots.at[s.snapshots.n - keep];
        /* A segment may go when the next one begins no later than behind the snapshot.
         */
        for (uint32_t i = 0; i + 1 < s.segments.n; i++) {
            if (shelf_head(&s, s.segments.at[i + 1], &next, NULL) ||
                next.first_seq > oldest + 1)
                break;
            shelf_segment_name(s.segments.at[i], name);
            gone += unlinkat(s.dir, name, 0) == 0;
        }
        for (uint32_t i = 0; i + keep < s.snapshots.n; i++) {
            shelf_snapshot_name(s.snapshots.at[i], name);
            gone += unlinkat(s.dir, name, 0) == 0;
        }
    }
    shelf_done(&s);
    return gone;
}
