/* helper.c - a thread that writes and syncs what it is handed
 *
 * Two jobs at most wait in a ring; the thread takes the older one, works without the
 * lock, and says what became of it. So one batch is on its way to the disk while the
 * next fills, and what was written but not synced when the machine stops is one batch.
 * SPDX-License-Identifier: Apache-2.0 */
#include "journal/helper.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { JOBS = 2 };

struct job {
    int fd; /* -1: a snapshot */
    uint64_t place, seq;
    struct snapshot_head head;
    struct buf bytes;
};

struct helper {
    const char *path; /* the caller's */
    int dir;
    uint32_t keep;
    bool thread, stop;
    pthread_t id;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job jobs[JOBS]; /* jobs[first], then the other */
    uint32_t first, n;
    uint64_t durable_seq;
    struct err failed;
    struct helper_totals totals;
};

static int write_and_sync(const struct job *j, const char *path, struct err *err)
{
    size_t done = 0;
    while (done < j->bytes.len) {
        ssize_t n = pwrite(j->fd, j->bytes.data + done, j->bytes.len - done,
                           (off_t)(j->place + done));
        if (n < 0)
            return err_set(err, errno, "journal %s: cannot write: %s", path,
                           strerror(errno));
        done += (size_t)n;
    }
    if (fdatasync(j->fd))
        return err_set(err, errno, "journal %s: cannot sync: %s", path,
                       strerror(errno));
    return 0;
}

/* Called without the lock. */
static void work(struct helper *h, struct job *j, bool failed)
{
    struct err err = {0};
    uint32_t tidied = 0;
    int rc = 0;
    if (!failed && j->fd >= 0)
        rc = write_and_sync(j, h->path, &err);
    else if (!failed)
        rc = snapshot_write(h->dir, &j->head, buf_as_str(&j->bytes), &err);
    if (!failed && j->fd < 0 && !rc)
        tidied = shelf_tidy(h->path, h->keep);
    pthread_mutex_lock(&h->lock);
    if (j->fd < 0 && !failed) {
        h->totals.snapshots += !rc;
        h->totals.snapshots_failed += rc != 0;
        h->totals.tidied += tidied;
    } else if (rc) {
        h->failed = err;
    } else if (!failed) {
        h->totals.syncs++;
        h->durable_seq = j->seq;
    }
    pthread_mutex_unlock(&h->lock);
}

static void *run(void *arg)
{
    struct helper *h = arg;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (!h->n && !h->stop)
            pthread_cond_wait(&h->changed, &h->lock);
        if (!h->n)
            break;
        struct job *j = &h->jobs[h->first];
        bool failed = h->failed.code != 0;
        pthread_mutex_unlock(&h->lock);
        work(h, j, failed);
        pthread_mutex_lock(&h->lock);
        buf_clear(&j->bytes);
        h->first = (h->first + 1) % JOBS;
        h->n--;
        pthread_cond_broadcast(&h->changed);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

struct helper *helper_create(const char *path, int dir, uint32_t keep, bool thread)
{
    struct helper *h = mem_zero(sizeof *h);
    sigset_t all, old;
    h->path = path;
    h->dir = dir;
    h->keep = keep;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the main thread's */
    h->thread = thread && pthread_create(&h->id, NULL, run, h) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return h;
}

void helper_destroy(struct helper *h)
{
    if (!h)
        return;
    if (h->thread) {
        pthread_mutex_lock(&h->lock);
        h->stop = true;
        pthread_cond_broadcast(&h->changed);
        pthread_mutex_unlock(&h->lock);
        pthread_join(h->id, NULL);
    }
    for (uint32_t i = 0; i < JOBS; i++)
        buf_done(&h->jobs[i].bytes);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

bool helper_is_idle(struct helper *h)
{
    pthread_mutex_lock(&h->lock);
    bool idle = !h->n;
    pthread_mutex_unlock(&h->lock);
    return idle;
}

static void give(struct helper *h, const struct job *job, struct buf *bytes)
{
    pthread_mutex_lock(&h->lock);
    while (h->n == JOBS)
        pthread_cond_wait(&h->changed, &h->lock);
    struct job *j = &h->jobs[(h->first + h->n) % JOBS];
    struct buf room = j->bytes; /* emptied when its last job was done */
    *j = *job;
    j->bytes = *bytes;
    *bytes = room;
    if (h->thread) {
        h->n++;
        pthread_cond_broadcast(&h->changed);
    }
    bool failed = h->failed.code != 0;
    pthread_mutex_unlock(&h->lock);
    if (!h->thread) {
        work(h, j, failed);
        buf_clear(&j->bytes);
    }
}

void helper_write(struct helper *h, int fd, uint64_t place, struct buf *bytes,
                  uint64_t seq)
{
    assert(fd >= 0);
    give(h, &(struct job){.fd = fd, .place = place, .seq = seq}, bytes);
}

void helper_snapshot(struct helper *h, const struct snapshot_head *head,
                     struct buf *state)
{
    give(h, &(struct job){.fd = -1, .head = *head}, state);
}

int helper_state(struct helper *h, uint64_t *ret_durable_seq, struct err *err)
{
    pthread_mutex_lock(&h->lock);
    int code = h->failed.code;
    if (code && err)
        *err = h->failed;
    if (ret_durable_seq)
        *ret_durable_seq = h->durable_seq;
    pthread_mutex_unlock(&h->lock);
    return -code;
}

int helper_wait(struct helper *h, struct err *err)
{
    pthread_mutex_lock(&h->lock);
    while (h->n)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
    return helper_state(h, NULL, err);
}

void helper_totals(struct helper *h, struct helper_totals *ret)
{
    pthread_mutex_lock(&h->lock);
    *ret = h->totals;
    pthread_mutex_unlock(&h->lock);
}
