/* journal.c - writes the record stream down
 *
 * Records are encoded into `frame`, sealed at commit and appended to `fill`; as soon as
 * the helper is idle it gets `fill` and syncs it. A segment is preallocated and its
 * head is on disk before its first frame, and the last segment is on disk to its end
 * before the next one is made, so a torn tail can only be in the last segment, and is
 * one batch at most.
 *
 * When no room is left for a new segment the reserve is given back to the disk and the
 * next, smaller segment is made of it: from then on the journal is tight.
 * SPDX-License-Identifier: Apache-2.0 */
#include "journal/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "event/codec.h"
#include "journal/helper.h"

#define SEGMENT_BYTES (16 * MIB)
#define RESERVE_BYTES (4 * MIB)
#define SNAPSHOT_RECORDS UINT64_C(1000000)
#define SNAPSHOT_BYTES (256 * MIB)
#define FILL_MAX (4 * MIB) /* then the loop waits for the disk */
enum {
    RESERVE_SLACK =
        16384,      /* the file system's own, when the reserve becomes a segment */
    TRY_EVERY = 256 /* frames between two looks for room while tight */
};

struct journal {
    struct journal_options o;
    struct journal_totals t;
    char *path;
    int dir; /* locked */
    int fd;  /* the segment */
    struct segment_head head;
    uint64_t size, place; /* of the segment; where `fill` will stand */
    struct buf fill, frame;
    struct frame_head next; /* the frame being made */
    struct helper *helper;
    uint64_t snap_seq, snap_bytes; /* at the last snapshot */
    bool tight;
    uint32_t try_in;
    struct err failed; /* of ours; the helper has its own */
};

/* Once it has stopped, the same words at every call. */
static int stopped(struct journal *j, struct err *err)
{
    if (!j->failed.code)
        helper_state(j->helper, NULL, &j->failed);
    if (j->failed.code && err)
        *err = j->failed;
    return -j->failed.code;
}

static int stop(struct journal *j, int code, const char *what, struct err *err)
{
    uint64_t durable = 0;
    helper_state(j->helper, &durable, NULL);
    err_set(&j->failed, code,
            "journal %s: %s: %s; it has stopped behind record %" PRIu64, j->path, what,
            strerror(code), durable);
    return stopped(j, err);
}

static bool is_full(int code)
{
    return code == ENOSPC || code == EDQUOT || code == EFBIG;
}

/* A new file of that size, its room taken. 0 or -errno; then there is none. */
static int make_file(int dir, const char *name, uint64_t size, int *ret_fd)
{
    int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int code = posix_fallocate(fd, 0, (off_t)size);
    if (code) {
        close(fd);
        unlinkat(dir, name, 0);
        return -code;
    }
    *ret_fd = fd;
    return 0;
}

static int reserve_make(struct journal *j)
{
    int fd = -1;
    unlinkat(j->dir, SHELF_RESERVE, 0); /* what a crash left may be shorter */
    int rc = make_file(j->dir, SHELF_RESERVE, j->o.reserve_bytes, &fd);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* A file for the next segment with room for `need` bytes, from the reserve if it must.
 */
static int segment_file(struct journal *j, const char *name, uint64_t need)
{
    uint64_t size = need > j->o.segment_bytes ? need : j->o.segment_bytes;
    int rc = make_file(j->dir, name, size, &j->fd);
    if (is_full(-rc) && !j->tight) {
        unlinkat(j->dir, SHELF_RESERVE, 0);
        j->tight = true;
        j->try_in = TRY_EVERY;
        size =
            j->o.reserve_bytes > RESERVE_SLACK ? j->o.reserve_bytes - RESERVE_SLACK : 0;
        size = need > size ? need : size;
        rc = make_file(j->dir, name, size, &j->fd);
    }
    j->size = size;
    return rc;
}

static int segment_begin(struct journal *j, uint64_t need, struct err *err)
{
    char name[SHELF_NAME_MAX];
    unsigned char bytes[SEGMENT_HEAD];
    j->head.number++;
    j->head.first_seq = j->t.seq + 1;
    j->head.at = j->t.at;
    j->head.term = j->o.is.term;
    j->head.policy = j->o.is.policy;
    segment_head_put(&j->head, bytes);
    shelf_segment_name(j->head.number, name);
    int rc = segment_file(j, name, need + SEGMENT_HEAD + FRAME_HEAD);
    if (rc)
        return stop(j, -rc, "cannot make room for a segment", err);
    if (pwrite(j->fd, bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return stop(j, errno ? errno : EIO, "cannot write a segment's head", err);
    if (fdatasync(j->fd) || fsync(j->dir))
        return stop(j, errno, "cannot sync a new segment", err);
    j->place = SEGMENT_HEAD;
    j->t.segments++;
    j->t.bytes += SEGMENT_HEAD;
    return 0;
}

static void hand_over(struct journal *j)
{
    uint64_t len = j->fill.len;
    if (!len)
        return;
    helper_write(j->helper, j->fd, j->place, &j->fill, j->t.seq);
    j->place += len;
}

static int drain(struct journal *j, struct err *err)
{
    hand_over(j);
    helper_wait(j->helper, NULL);
    return stopped(j, err);
}

/* The segment is on disk to its end; what it has not used goes back. */
static void segment_end(struct journal *j)
{
    if (j->fd < 0)
        return;
    if (ftruncate(j->fd, (off_t)j->place))
        j->size = 0; /* it stays as long as it was: zeros at its end do no harm */
    close(j->fd);
    j->fd = -1;
}

static int make_folder(const char *path, struct err *err)
{
    if (mkdir(path, 0777) && errno != EEXIST)
        return err_set(err, errno, "cannot make the folder %s: %s", path,
                       strerror(errno));
    return 0;
}

/* Opens and locks the folder and looks what is there. */
static int take_folder(struct journal *j, bool fresh, struct err *err)
{
    struct shelf s;
    int rc = shelf_open(&s, j->path, err);
    if (rc)
        return rc;
    j->dir = fcntl(s.dir, F_DUPFD_CLOEXEC, 0);
    j->head.number = s.segments.n ? s.segments.at[s.segments.n - 1] : 0;
    bool taken = s.segments.n || s.snapshots.n;
    shelf_done(&s);
    if (j->dir < 0)
        return err_set(err, errno, "journal %s: %s", j->path, strerror(errno));
    if (flock(j->dir, LOCK_EX | LOCK_NB))
        return err_set(err, errno == EWOULDBLOCK ? EBUSY : errno,
                       "journal %s: another process writes it", j->path);
    if (fresh && taken)
        return err_set(err, EEXIST,
                       "the folder %s holds a journal already; take another or "
                       "remove it",
                       j->path);
    return 0;
}

static void set_defaults(struct journal_options *o)
{
    if (!o->segment_bytes)
        o->segment_bytes = SEGMENT_BYTES;
    if (!o->reserve_bytes)
        o->reserve_bytes = RESERVE_BYTES;
    if (!o->snapshot_records)
        o->snapshot_records = SNAPSHOT_RECORDS;
    if (!o->snapshot_bytes)
        o->snapshot_bytes = SNAPSHOT_BYTES;
}

static void journal_free(struct journal *j)
{
    helper_destroy(j->helper);
    if (j->fd >= 0)
        close(j->fd);
    if (j->dir >= 0)
        close(j->dir);
    buf_done(&j->fill);
    buf_done(&j->frame);
    free(j->path);
    free(j);
}

static int begin(struct journal **ret, const char *path,
                 const struct journal_options *o, bool fresh, uint64_t seq, int64_t at,
                 struct err *err)
{
    int rc = make_folder(path, err);
    if (rc)
        return rc;
    struct journal *j = mem_zero(sizeof *j);
    j->o = *o;
    j->path = mem_strdup(path);
    j->dir = j->fd = -1;
    j->t.seq = j->snap_seq = seq;
    j->t.at = at;
    set_defaults(&j->o);
    j->head = (struct segment_head){.format = SEGMENT_FORMAT,
                                    .catalogue = o->is.catalogue,
                                    .topology = o->is.topology};
    build_id(j->head.build);
    memcpy(j->head.cluster, o->is.cluster, sizeof j->head.cluster);
    rc = take_folder(j, fresh, err);
    if (!rc) {
        j->helper = helper_create(j->path, j->dir, o->keep, o->sync == JOURNAL_BATCH);
        rc = reserve_make(j);
        if (rc)
            err_set(err, -rc,
                    "journal %s: cannot keep %" PRIu64 " bytes in reserve: %s", path,
                    j->o.reserve_bytes, strerror(-rc));
    }
    if (!rc)
        rc = segment_begin(j, 0, err);
    if (rc)
        journal_free(j);
    else
        *ret = j;
    return rc;
}

int journal_create(struct journal **ret, const char *path,
                   const struct journal_options *o, struct err *err)
{
    return begin(ret, path, o, true, 0, 0, err);
}

int journal_continue(struct journal **ret, const char *path,
                     const struct journal_options *o, uint64_t seq, int64_t at,
                     struct err *err)
{
    return begin(ret, path, o, false, seq, at, err);
}

void journal_add(struct journal *j, const struct record *r)
{
    static const char room[FRAME_HEAD];
    if (!j->next.records) {
        buf_clear(&j->frame);
        buf_add(&j->frame, room, sizeof room);
        j->next.first_seq = r->seq;
    }
    assert(r->seq == j->t.seq + 1 + j->next.records);
    j->next.records++;
    j->next.at = r->at;
    record_encode(r, &j->frame);
}

static void append(struct journal *j)
{
    helper_state(j->helper, &j->next.durable_seq, NULL);
    frame_seal(&j->next, j->head.sum, j->place + j->fill.len, j->frame.data);
    buf_add(&j->fill, j->frame.data, j->frame.len);
    j->t.bytes += j->frame.len;
}

static int make_room(struct journal *j, struct err *err)
{
    if (j->place + j->fill.len + j->frame.len + FRAME_HEAD <= j->size)
        return 0;
    int rc = drain(j, err);
    if (rc)
        return rc;
    segment_end(j);
    return segment_begin(j, j->frame.len, err);
}

/* Is there room again? */
static void try_reserve(struct journal *j)
{
    if (j->try_in-- > 0)
        return;
    j->try_in = TRY_EVERY;
    j->tight = reserve_make(j) != 0;
}

int journal_commit(struct journal *j, struct err *err)
{
    int rc = stopped(j, err);
    if (rc || !j->next.records)
        return rc;
    if (j->frame.len - FRAME_HEAD > FRAME_MAX)
        return stop(j, EFBIG, "a frame is too large", err);
    j->next.length = (uint32_t)(j->frame.len - FRAME_HEAD);
    rc = make_room(j, err);
    if (rc)
        return rc;
    append(j);
    j->t.seq += j->next.records;
    j->t.at = j->next.at;
    j->t.frames++;
    j->next = (struct frame_head){0};
    if (j->tight)
        try_reserve(j);
    if (j->o.sync == JOURNAL_EACH || j->fill.len > FILL_MAX ||
        helper_is_idle(j->helper))
        hand_over(j);
    return stopped(j, err);
}

int journal_sync(struct journal *j, struct err *err)
{
    return drain(j, err);
}

bool journal_is_tight(const struct journal *j)
{
    return j->tight;
}

bool journal_wants_snapshot(const struct journal *j)
{
    return !j->tight && (j->t.seq - j->snap_seq >= j->o.snapshot_records ||
                         j->t.bytes - j->snap_bytes >= j->o.snapshot_bytes);
}

int journal_snapshot(struct journal *j, struct buf *state, struct err *err)
{
    struct snapshot_head h = {.seq = j->t.seq, .at = j->t.at};
    assert(!j->next.records);
    memcpy(h.build, j->head.build, sizeof h.build);
    hand_over(j);
    helper_snapshot(j->helper, &h, state);
    j->snap_seq = j->t.seq;
    j->snap_bytes = j->t.bytes;
    return stopped(j, err);
}

void journal_set_policy(struct journal *j, uint64_t policy_hash)
{
    j->o.is.policy = policy_hash;
}

void journal_totals(const struct journal *j, struct journal_totals *ret)
{
    struct helper_totals h;
    helper_totals(j->helper, &h);
    *ret = j->t;
    ret->syncs = h.syncs;
    ret->snapshots = h.snapshots;
    ret->snapshots_failed = h.snapshots_failed;
    ret->tidied = h.tidied;
}

int journal_close(struct journal *j, struct err *err)
{
    if (!j)
        return 0;
    int rc = journal_commit(j, err);
    if (!rc)
        rc = drain(j, err);
    if (!rc) {
        buf_clear(&j->frame);
        buf_pad(&j->frame, 0, FRAME_HEAD);
        j->next = (struct frame_head){.flags = FRAME_CLOSED,
                                      .first_seq = j->t.seq + 1,
                                      .at = j->t.at};
        append(j);
        rc = drain(j, err);
    }
    if (!rc) {
        segment_end(j);
        unlinkat(j->dir, SHELF_RESERVE, 0);
    }
    journal_free(j);
    return rc;
}

void journal_abandon(struct journal *j)
{
    if (j)
        journal_free(j);
}
