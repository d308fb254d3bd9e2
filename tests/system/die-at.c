/* die-at.c - preloaded into a program: the n-th call that writes a journal is the last one
 * DIE_AT=N, and DIE_HOW=before (killed before the call), half (half of what it writes gets
 * through), after, or eio (the call fails, the program lives). DIE_AT=0 only counts and prints
 * "calls N" at the end. Syncs are counted but not done: what is tested is the order of calls, and
 * the page cache survives a killed process. Built by test-journal.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long calls;

static long die_at(void)
{
    const char *n = getenv("DIE_AT");
    return n ? atol(n) : 0;
}

static int how(const char *word)
{
    const char *is = getenv("DIE_HOW");
    return is && !strcmp(is, word);
}

/* Counts the call; true when it is the one. The helper thread makes most of them, but never
 * two threads at once. */
static int is_it(void)
{
    if (++calls != die_at())
        return 0;
    if (how("before"))
        raise(SIGKILL);
    return 1;
}

static int done(int it)
{
    if (it)
        raise(SIGKILL);
    return 0;
}

static ssize_t put(const char *name, int fd, const void *p, size_t n, off64_t at)
{
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    int it = is_it();
    (void)name;
    if (it && how("eio")) {
        errno = EIO;
        return -1;
    }
    ssize_t rc = real(fd, p, it && how("half") ? n / 2 : n, at);
    done(it);
    return rc;
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    return put("pwrite64", fd, p, n, at);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return put("pwrite", fd, p, n, at);
}

static int sync_it(void)
{
    int it = is_it();
    if (it && how("eio")) {
        errno = EIO;
        return -1;
    }
    return done(it);
}

int fdatasync(int fd)
{
    (void)fd;
    return sync_it();
}

int fsync(int fd)
{
    (void)fd;
    return sync_it();
}

int renameat(int from, const char *a, int to, const char *b)
{
    int (*real)(int, const char *, int, const char *) = dlsym(RTLD_NEXT, "renameat");
    int it = is_it(), rc = it && how("eio") ? -1 : real(from, a, to, b);
    if (it && how("eio"))
        errno = EIO;
    else
        done(it);
    return rc;
}

int posix_fallocate64(int fd, off64_t from, off64_t n)
{
    int (*real)(int, off64_t, off64_t) = dlsym(RTLD_NEXT, "posix_fallocate64");
    int it = is_it(), rc = it && how("eio") ? EIO : real(fd, from, n);
    if (!(it && how("eio")))
        done(it);
    return rc;
}

static void __attribute__((destructor)) tell(void)
{
    if (getenv("DIE_AT") && !die_at())
        fprintf(stderr, "calls %ld\n", calls);
}
