/* resume.c - the state out of a journal
 *
 * What was settled is never decided again: recorded decisions are folded like events.
 * SPDX-License-Identifier: Apache-2.0 */
#include "journal/resume.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "journal/snapshot.h"

/* One snapshot: 0 when it was loaded; else why it cannot be used stands in err. */
static int try_snapshot(struct journal_base *b, const struct shelf *s, uint64_t seq,
                        const struct journal_point *to, const char *build,
                        struct err *err)
{
    struct snapshot_head h;
    struct buf bytes = {0};
    int rc = snapshot_read(s->dir, seq, &h, NULL, err);
    if (rc)
        return rc;
    if (h.at > to->at)
        return -EAGAIN; /* too late a state, no flaw */
    if (strcmp(h.build, build) != 0)
        return err_set(err, ENOTSUP,
                       "the snapshot behind record %" PRIu64 " is another build's",
                       seq);
    rc = snapshot_read(s->dir, seq, &h, &bytes, err);
    if (!rc)
        rc = sched_load(&b->sched, buf_as_str(&bytes), err);
    buf_done(&bytes);
    if (!rc)
        b->seq = seq;
    return rc;
}

static uint64_t first_seq(const struct shelf *s)
{
    struct segment_head h;
    if (!s->segments.n || shelf_head(s, s->segments.at[0], &h, NULL))
        return 1; /* damaged: the reader says how */
    return h.first_seq;
}

int journal_base(struct journal_base *ret, const char *path,
                 const struct journal_point *to, bool snapshots, struct err *err)
{
    struct journal_base b = {0};
    char build[BUILD_ID_MAX];
    struct err why = {0};
    struct shelf s;
    int rc = shelf_open(&s, path, err);
    if (rc)
        return rc;
    build_id(build);
    uint64_t first = first_seq(&s);
    for (uint32_t i = s.snapshots.n; i-- > 0 && !b.sched && (snapshots || first > 1);) {
        uint64_t seq = s.snapshots.at[i];
        if (seq > to->seq || seq + 1 < first)
            continue;
        rc = try_snapshot(&b, &s, seq, to, build, &why);
        if (rc && rc != -EAGAIN) {
            b.left_out++;
            snprintf(b.note, sizeof b.note, "%.150s", why.text);
        }
    }
    rc = 0;
    if (!b.sched && first > 1)
        rc = err_set(err, ENOENT, "journal %s begins with record %" PRIu64 ", and %s",
                     path, first, b.left_out ? b.note : "no snapshot is that early");
    else if (!b.sched)
        b.sched = sched_create();
    shelf_done(&s);
    if (!rc)
        *ret = b;
    return rc;
}

/* Folds the frame up to the point; true when the point lies behind it. */
static bool fold_frame(struct sched *s, const struct journal_frame *f,
                       const struct journal_point *to, struct journal_state *state)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const struct record *r = &f->records->list.at[i];
        if (r->seq > to->seq)
            return false;
        sched_fold(s, r);
        state->records++;
    }
    state->frames++;
    return true;
}

int journal_load(struct journal_state *ret, const char *path,
                 const struct journal_point *to, const uint64_t *accept_loss,
                 struct err *err)
{
    struct journal_state state = {0};
    struct journal_reader *r = NULL;
    struct journal_frame f;
    int more = 1, rc = journal_base(&state.base, path, to, true, err);
    if (rc)
        return rc;
    rc = journal_reader_open(&r, path, state.base.seq, accept_loss, err);
    while (!rc && more > 0) {
        more = journal_reader_next(r, &f, err);
        rc = more < 0 ? more : 0;
        if (more > 0 && (f.first_seq > to->seq || f.at > to->at ||
                         !fold_frame(state.base.sched, &f, to, &state)))
            break;
    }
    if (!rc) {
        journal_reader_end(r, &state.end);
        memcpy(state.build, journal_reader_head(r)->build, sizeof state.build);
        *ret = state;
    } else {
        sched_destroy(state.base.sched);
    }
    journal_reader_close(r);
    return rc;
}

/* Behind what was read: cut, or set aside when a person has given it up. */
static int cut(const char *path, const struct journal_end *end, struct err *err)
{
    char name[SHELF_NAME_MAX], lost[SHELF_NAME_MAX + 8];
    struct shelf s;
    int rc = shelf_open(&s, path, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < s.segments.n && !rc; i++) {
        uint64_t number = s.segments.at[i];
        if (number < end->segment)
            continue;
        shelf_segment_name(number, name);
        snprintf(lost, sizeof lost, "%s.lost", name);
        int fd = openat(s.dir, name, O_RDWR | O_CLOEXEC);
        if (number > end->segment && renameat(s.dir, name, s.dir, lost))
            rc = -errno;
        else if (fd < 0)
            rc = -errno;
        else if (number == end->segment &&
                 (ftruncate(fd, (off_t)end->place) || fdatasync(fd)))
            rc = -errno;
        if (fd >= 0)
            close(fd);
        if (rc)
            err_set(err, -rc, "journal %s: cannot cut %s: %s", path, name,
                    strerror(-rc));
    }
    if (!rc && fsync(s.dir))
        rc = err_set(err, errno, "journal %s: cannot sync its folder: %s", path,
                     strerror(errno));
    shelf_done(&s);
    return rc;
}

/* A copy of the damaged segment, before it is cut. */
static int keep_copy(const char *path, const struct journal_end *end, struct err *err)
{
    char name[SHELF_NAME_MAX], lost[SHELF_NAME_MAX + 8];
    struct shelf s;
    struct buf b = {0};
    int rc = shelf_open(&s, path, err);
    if (rc)
        return rc;
    shelf_segment_name(end->segment, name);
    snprintf(lost, sizeof lost, "%s.lost", name);
    rc = shelf_slurp(s.dir, name, SIZE_MAX / 2, &b, err);
    int fd =
        rc ? -1 : openat(s.dir, lost, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (!rc && (fd < 0 || write(fd, b.data, b.len) != (ssize_t)b.len || fdatasync(fd)))
        rc = err_set(err, errno ? errno : EIO, "journal %s: cannot write %s: %s", path,
                     lost, strerror(errno ? errno : EIO));
    if (fd >= 0)
        close(fd);
    buf_done(&b);
    shelf_done(&s);
    return rc;
}

int journal_resume(struct journal **ret, struct journal_state *ret_state,
                   const char *path, const struct journal_options *o,
                   const uint64_t *accept_loss, struct err *err)
{
    static const struct journal_point all = {UINT64_MAX, INT64_MAX};
    struct journal_state state;
    int rc = journal_load(&state, path, &all, accept_loss, err);
    if (rc)
        return rc;
    if (state.end.lost)
        rc = keep_copy(path, &state.end, err);
    if (!rc)
        rc = cut(path, &state.end, err);
    if (!rc)
        rc = journal_continue(ret, path, o, state.end.seq, state.end.at, err);
    if (rc)
        sched_destroy(state.base.sched);
    else
        *ret_state = state;
    return rc;
}
