/* test-journal.c - frames, segments, torn tails, damage, a full disk, going on
 * What must be refused and what must be left out is worked out here from where the frames
 * stand, never from what the reader says.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/codec.h"
#include "journal/resume.h"
#include "journal/snapshot.h"

static char root[4096], dir[4200];
static struct err err;

/* ---- folders ---- */

static void empty(const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *e;
    char name[4600];
    while (d && (e = readdir(d)) != NULL) {
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        unlink(name);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

static void fresh(const char *name)
{
    snprintf(dir, sizeof dir, "%s/%s", root, name);
    empty(dir);
}

static const char *file(const char *name)
{
    static char path[4400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static bool is_there(const char *name)
{
    return access(file(name), F_OK) == 0;
}

static void slurp(const char *name, struct buf *b)
{
    int fd = open(dir, O_RDONLY);
    if (shelf_slurp(fd, name, 1 << 30, b, &err))
        bail("%s", err.text);
    close(fd);
}

static void spew(const char *name, const char *p, size_t n)
{
    FILE *f = fopen(file(name), "wb");
    if (!f || fwrite(p, 1, n, f) != n || fclose(f))
        bail("cannot write %s: %s", file(name), strerror(errno));
}

/* ---- a made-up stream: frame k has k % 3 times, a border and k % 2 reasons ---- */

enum { TIMES = 3 };
static uint64_t seq;

static void add(struct journal *j, int kind, int64_t at)
{
    struct record r = {.seq = ++seq, .at = at, .kind = (uint16_t)kind};
    if (kind == DE_SAY) {
        r.say.gang.job = STR("a-job");
        r.why = (struct why){.code = WHY_NEEDS_ROOM, .need = 4, .have = 3};
    }
    journal_add(j, &r);
}

static int frame(struct journal *j, int k)
{
    for (int i = 0; i < k % TIMES; i++)
        add(j, EV_TIME, k * 10);
    add(j, REC_BORDER, k * 10);
    if (k % 2)
        add(j, DE_SAY, k * 10);
    return journal_commit(j, &err);
}

static uint64_t records_of(int frames)
{
    uint64_t n = 0;
    for (int k = 0; k < frames; k++)
        n += (uint64_t)(k % TIMES + 1 + k % 2);
    return n;
}

static struct journal *create(const struct journal_options *o)
{
    struct journal *j = NULL;
    seq = 0;
    if (journal_create(&j, dir, o, &err))
        bail("%s", err.text);
    return j;
}

static const struct journal_options small = {.reserve_bytes = 32768, .segment_bytes = 65536,
                                             .sync = JOURNAL_EACH};

/* Reads all: the number of frames, or -errno. Checks that each is what was written. */
static int read_back(const uint64_t *accept, struct journal_end *end)
{
    struct journal_reader *r;
    struct journal_frame f;
    int n = 0, rc = journal_reader_open(&r, dir, 0, accept, &err);
    if (rc)
        return rc;
    while ((rc = journal_reader_next(r, &f, &err)) > 0) {
        uint32_t want = (uint32_t)(n % TIMES + 1 + n % 2);
        const struct record *first = &f.records->list.at[0];
        if (f.n != want || f.at != n * 10 || f.first_seq != records_of(n) + 1 ||
            first->kind != (n % TIMES ? EV_TIME : REC_BORDER))
            bail("frame %d is not what was written", n);
        n++;
    }
    if (end)
        journal_reader_end(r, end);
    journal_reader_close(r);
    return rc < 0 ? rc : n;
}

/* Where frame k begins, by walking over the lengths. */
static size_t places[64];
static int find_places(const struct buf *b)
{
    int n = 0;
    size_t at = SEGMENT_HEAD;
    while (at + FRAME_HEAD <= b->len && b->data[at + 8] && n < 60) {
        const unsigned char *p = (const unsigned char *)b->data + at + 12;
        places[n++] = at;
        at += FRAME_HEAD + (p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16);
    }
    places[n] = at;
    return n;
}

enum { FRAMES = 9 };
#define SEG1 "journal-00000001.seg"

static void write_small(bool close_it)
{
    struct journal *j = create(&small);
    for (int k = 0; k < FRAMES; k++)
        if (frame(j, k))
            bail("%s", err.text);
    if (close_it) {
        if (journal_close(j, &err))
            bail("%s", err.text);
    } else {
        journal_abandon(j);
    }
}

static void test_round_trip(void)
{
    struct journal_end end;
    fresh("round");
    write_small(true);
    is_int(read_back(NULL, &end), FRAMES, "every frame comes back");
    ok(end.closed && !end.torn_bytes && !end.lost, "and the end is marked");
    is_uint(end.seq, records_of(FRAMES), "with the last record's number");
    ok(!is_there("reserve"), "a journal that ended well keeps no reserve");
    struct stat st;
    stat(file(SEG1), &st);
    cmp_ok(st.st_size, <, 65536, "and no room it does not use");
    struct journal *j = NULL;
    is_int(journal_create(&j, dir, &small, &err), -EEXIST, "a second one is not written over it");
    fresh("open");
    j = create(&small);
    struct journal *other = NULL;
    is_int(journal_continue(&other, dir, &small, 0, 0, &err), -EBUSY,
           "two processes do not write one journal");
    journal_abandon(j);
    ok(is_there("reserve"), "what died without a word leaves its reserve");
    is_int(read_back(NULL, &end), 0, "a journal without frames is no error");
    fresh("none");
    mkdir(dir, 0777);
    is_int(read_back(NULL, &end), 0, "nor is an empty folder");
}

static int whole_at(size_t cut)
{
    int whole = 0;
    while (whole < FRAMES && places[whole + 1] <= cut)
        whole++;
    return whole;
}

/* Cut after every byte: all whole frames before the cut come back, nothing else. */
static void test_torn(void)
{
    struct buf b = {0};
    struct journal_end end;
    int wrong = 0, wrong_zeros = 0;
    fresh("torn");
    write_small(true);
    slurp(SEG1, &b);
    int n = find_places(&b);
    is_int(n, FRAMES + 1, "frames and the mark are where their lengths say");
    for (size_t cut = SEGMENT_HEAD; cut <= b.len; cut++) {
        int whole = whole_at(cut), same = whole;
        spew(SEG1, b.data, cut);
        int got = read_back(NULL, &end);
        size_t torn = cut; /* zeros alone are room that was never written */
        while (torn > end.place && !b.data[torn - 1])
            torn--;
        wrong += got != whole || end.torn_bytes != (torn > end.place ? cut - end.place : 0);
        for (size_t at = cut; same < FRAMES && at < b.len && !b.data[at];) /* as they were */
            same = whole_at(++at);
        char *zeros = mem_zero(b.len + 500);
        memcpy(zeros, b.data, cut);
        spew(SEG1, zeros, b.len + 500);
        wrong_zeros += read_back(NULL, &end) != same;
        free(zeros);
    }
    is_int(wrong, 0, "a file cut after any of %zu bytes gives its whole frames", b.len);
    is_int(wrong_zeros, 0, "the same where preallocated zeros follow");
    wrong = 0;
    for (size_t cut = 0; cut < SEGMENT_HEAD; cut++) {
        spew(SEG1, b.data, cut);
        wrong += read_back(NULL, &end) != 0;
    }
    is_int(wrong, 0, "a head that never reached the disk is an empty journal");
    buf_done(&b);
}

/* Flip every byte: never a wrong record, never a silent loss of what was on disk. */
static void test_flipped(void)
{
    struct buf b = {0};
    struct journal_end end;
    int silent = 0, odd = 0, lost = 0;
    fresh("flipped");
    write_small(true);
    slurp(SEG1, &b);
    find_places(&b);
    for (size_t at = 0; at < b.len; at++) {
        int hit = -1;
        for (int k = 0; k <= FRAMES; k++)
            if (at >= places[k] && at < places[k + 1])
                hit = k;
        b.data[at] ^= (char)(1 << at % 8);
        spew(SEG1, b.data, b.len);
        int got = read_back(NULL, &end);
        if (hit == FRAMES) { /* the mark itself holds no record */
            odd += got != FRAMES || end.closed;
        } else {
            silent += got >= 0;
            uint64_t before = hit < 0 ? 0 : records_of(hit);
            char number[64];
            snprintf(number, sizeof number, "behind record %d,", (int)before);
            if (hit >= 0) {
                odd += got != -EBADMSG || !strstr(err.text, number);
                lost += read_back(&before, &end) != hit || !end.lost;
            }
        }
        b.data[at] ^= (char)(1 << at % 8);
    }
    is_int(silent, 0, "no flipped byte among %zu is passed over", places[FRAMES]);
    is_int(odd, 0, "each refusal names the record behind which the damage lies");
    is_int(lost, 0, "and told to accept that loss, what stands before is read");
    uint64_t other = records_of(2);
    b.data[places[5] + 20] ^= 1;
    spew(SEG1, b.data, b.len);
    is_int(read_back(&other, &end), -EBADMSG, "another loss than the one that is there is refused");
    buf_done(&b);
}

/* Three frames of one batch that was never synced: the first may be torn while a later one
 * is whole, since a disk writes in any order. */
static void test_one_batch(void)
{
    struct segment_head head = {.format = SEGMENT_FORMAT, .number = 1, .first_seq = 1};
    unsigned char bytes[SEGMENT_HEAD];
    struct buf b = {0};
    struct journal_end end;
    size_t at[3];
    segment_head_put(&head, bytes);
    buf_add(&b, bytes, sizeof bytes);
    for (uint64_t k = 0; k < 3; k++) {
        struct buf f = {0};
        struct record r = {.seq = k + 1, .at = (int64_t)k * 10, .kind = REC_BORDER};
        buf_pad(&f, 0, FRAME_HEAD);
        record_encode(&r, &f);
        struct frame_head h = {.length = (uint32_t)f.len - FRAME_HEAD, .records = 1,
                               .first_seq = k + 1, .at = r.at};
        at[k] = b.len;
        frame_seal(&h, head.sum, b.len, f.data);
        buf_add(&b, f.data, f.len);
        buf_done(&f);
    }
    fresh("batch");
    mkdir(dir, 0777);
    b.data[at[0] + 50] ^= 1;
    spew(SEG1, b.data, b.len);
    struct journal_reader *r;
    struct journal_frame f;
    if (journal_reader_open(&r, dir, 0, NULL, &err))
        bail("%s", err.text);
    is_int(journal_reader_next(r, &f, &err), 0, "a torn batch is cut at its first torn frame");
    journal_reader_end(r, &end);
    is_uint(end.torn_bytes, b.len - at[0], "and all of it counts as torn");
    journal_reader_close(r);
    /* A frame is good only at its place. */
    b.data[at[0] + 50] ^= 1;
    struct frame_head h;
    struct str payload, s = buf_as_str(&b);
    ok(frame_look(s, head.sum, at[1], &h, &payload) == FRAME_GOOD, "a frame is good at its place");
    memmove(b.data + at[0], b.data + at[1], at[2] - at[1]);
    ok(frame_look(s, head.sum, at[0], &h, &payload) == FRAME_BAD, "and bad at another");
    buf_done(&b);
}

static void test_segments(void)
{
    struct journal_options o = small;
    struct journal_totals t;
    struct journal_end end;
    o.segment_bytes = SEGMENT_HEAD + 400;
    fresh("segments");
    struct journal *j = create(&o);
    for (int k = 0; k < 40; k++)
        if (frame(j, k))
            bail("%s", err.text);
    journal_totals(j, &t);
    cmp_ok(t.segments, >=, 5, "small segments fill up");
    journal_close(j, &err);
    is_int(read_back(NULL, &end), 40, "and are read one behind the other");
    struct journal_reader *r;
    struct journal_frame f;
    is_int(journal_reader_open(&r, dir, records_of(31), NULL, &err), 0, "from the middle too");
    is_int(journal_reader_next(r, &f, &err), 1, "there is a frame");
    is_uint(f.first_seq, records_of(31) + 1, "and it is the next one");
    journal_reader_close(r);
    is_int(journal_reader_open(&r, dir, records_of(32) - 1, NULL, &err), -EBADMSG,
           "but not from inside a frame");
    struct buf b = {0};
    slurp("journal-00000003.seg", &b);
    spew("journal-00000003.seg", b.data, b.len - 10);
    is_int(read_back(NULL, &end), -EBADMSG, "an earlier segment that is cut is damage, not a tail");
    unlink(file("journal-00000003.seg"));
    is_int(read_back(NULL, &end), -EBADMSG, "a missing one is said");
    ok(strstr(err.text, "segment 3 is missing"), "by its number");
    buf_done(&b);
}

/* The record of a batch journal is the same, whoever syncs. */
static void test_helper(void)
{
    struct journal_options o = small;
    struct journal_end end;
    struct journal_totals t;
    o.sync = JOURNAL_BATCH;
    fresh("helper");
    struct journal *j = create(&o);
    for (int k = 0; k < 2000; k++)
        if (frame(j, k))
            bail("%s", err.text);
    is_int(journal_sync(j, &err), 0, "the helper thread syncs what it was given");
    journal_totals(j, &t);
    cmp_ok(t.syncs, <, 2000, "in batches");
    journal_abandon(j);
    is_int(read_back(NULL, &end), 2000, "and all of it is there without a mark at the end");
    ok(!end.closed && !end.torn_bytes, "which is missing");
}

static void test_resume(void)
{
    static const struct journal_point all = {UINT64_MAX, INT64_MAX};
    struct journal *j = NULL;
    struct journal_state state;
    struct journal_end end;
    struct buf b = {0};
    fresh("resume");
    write_small(false);
    slurp(SEG1, &b);
    find_places(&b);
    memset(b.data + places[FRAMES - 1] + 30, 0x5a, 20); /* the last frame did not get through */
    spew(SEG1, b.data, b.len);
    is_int(journal_resume(&j, &state, dir, &small, NULL, &err), 0, "a torn journal goes on");
    is_uint(state.end.seq, records_of(FRAMES - 1), "behind the last whole frame");
    sched_destroy(state.base.sched);
    seq = state.end.seq;
    for (int k = FRAMES - 1; k < FRAMES + 5; k++)
        frame(j, k);
    journal_close(j, &err);
    is_int(read_back(NULL, &end), FRAMES + 5, "what comes then follows on");
    /* A loss that a person accepts is set aside, not thrown away. */
    slurp(SEG1, &b);
    b.data[places[3] + 9] ^= 4;
    spew(SEG1, b.data, b.len);
    is_int(journal_load(&state, dir, &all, NULL, &err), -EBADMSG, "damage stops a restart");
    uint64_t accept = records_of(3);
    is_int(journal_resume(&j, &state, dir, &small, &accept, &err), 0, "unless the loss is accepted");
    sched_destroy(state.base.sched);
    seq = state.end.seq;
    for (int k = 3; k < 7; k++)
        frame(j, k);
    journal_close(j, &err);
    is_int(read_back(NULL, &end), 7, "then it goes on from there");
    ok(is_there(SEG1 ".lost") && is_there("journal-00000002.seg.lost"),
       "and what was given up is kept aside");
    buf_done(&b);
}

static void test_snapshots(void)
{
    static const struct journal_point all = {UINT64_MAX, INT64_MAX};
    struct journal_options o = small;
    struct journal_base base;
    struct sched *s = sched_create();
    struct buf state = {0};
    o.segment_bytes = SEGMENT_HEAD + 400;
    o.keep = 2;
    fresh("snapshots");
    struct journal *j = create(&o);
    for (int k = 0; k < 60; k++) {
        frame(j, k);
        if (k % 20 == 19) {
            buf_clear(&state);
            sched_save(s, &state);
            is_int(journal_snapshot(j, &state, &err), 0, "a snapshot behind frame %d", k);
        }
    }
    journal_close(j, &err);
    sched_destroy(s);
    ok(!is_there(SEG1), "segments that the older of two snapshots covers are gone");
    char old[SHELF_NAME_MAX], mid[SHELF_NAME_MAX], last[SHELF_NAME_MAX];
    shelf_snapshot_name(records_of(20), old);
    shelf_snapshot_name(records_of(40), mid);
    shelf_snapshot_name(records_of(60), last);
    ok(!is_there(old) && is_there(mid) && is_there(last), "and so is the oldest snapshot");
    is_int(journal_base(&base, dir, &all, true, &err), 0, "a fold begins");
    is_uint(base.seq, records_of(60), "with the newest one");
    sched_destroy(base.sched);
    struct journal_point earlier = {records_of(60) - 1, INT64_MAX};
    is_int(journal_base(&base, dir, &earlier, true, &err), 0, "before that point");
    is_uint(base.seq, records_of(40), "with the one before it");
    sched_destroy(base.sched);
    struct journal_point timed = {UINT64_MAX, 590 - 1};
    is_int(journal_base(&base, dir, &timed, false, &err), 0, "by time, and since it must");
    is_uint(base.seq, records_of(40), "the same");
    sched_destroy(base.sched);
    slurp(last, &state);
    int wrong = 0;
    for (size_t at = 0; at < state.len; at += 7) {
        state.data[at] ^= 32;
        spew(last, state.data, state.len);
        state.data[at] ^= 32;
        if (journal_base(&base, dir, &all, true, &err))
            bail("%s", err.text);
        wrong += base.seq != records_of(40) || base.left_out != 1;
        sched_destroy(base.sched);
    }
    is_int(wrong, 0, "a damaged one is left out, and the one before it serves");
    unlink(file(mid));
    is_int(journal_base(&base, dir, &earlier, true, &err), -ENOENT,
           "without any, a journal whose beginning is gone is refused");
    buf_done(&state);
}

/* The limit on a file's size stands in for a full disk: no room for a segment of 64 KiB, room
 * for one made of the reserve. A frame of 40,000 bytes does not fit behind others. */
static void limit_files(rlim_t bytes)
{
    struct rlimit l;
    getrlimit(RLIMIT_FSIZE, &l);
    l.rlim_cur = bytes;
    if (setrlimit(RLIMIT_FSIZE, &l))
        bail("cannot limit the size of files");
}

static int big_frame(struct journal *j, const char *text)
{
    struct record r = {.seq = ++seq, .at = 1, .kind = EV_POLICY_SET};
    r.policy_set.text = (struct str){text, 40000};
    journal_add(j, &r);
    return journal_commit(j, &err);
}

static uint64_t last_seq(void)
{
    struct journal_reader *r;
    struct journal_frame f;
    struct journal_end end;
    int rc = journal_reader_open(&r, dir, 0, NULL, &err);
    while (!rc && (rc = journal_reader_next(r, &f, &err)) > 0)
        rc = 0;
    if (rc)
        bail("%s", err.text);
    journal_reader_end(r, &end);
    journal_reader_close(r);
    return end.seq;
}

static void test_full(void)
{
    struct journal_options o = small;
    char first[sizeof err.text], *text = mem_zero(40000);
    int n = 0;
    o.reserve_bytes = 60000;
    signal(SIGXFSZ, SIG_IGN);
    fresh("full");
    struct journal *j = create(&o);
    ok(!big_frame(j, text) && !journal_is_tight(j), "there is room");
    limit_files(60000);
    ok(!big_frame(j, text) && journal_is_tight(j),
       "when no segment can be made any more it is tight");
    ok(!is_there("reserve"), "and lives on its reserve");
    ok(!frame(j, 1), "what ends and stops can still be written");
    limit_files(RLIM_INFINITY);
    while (journal_is_tight(j) && n++ < 1000)
        frame(j, 1);
    ok(is_there("reserve"), "when there is room again it makes a new one");
    ok(!big_frame(j, text) && !journal_is_tight(j), "and goes on as before");
    limit_files(60000);
    ok(!big_frame(j, text) && journal_is_tight(j), "until the disk is full again");
    uint64_t durable = seq;
    is_int(big_frame(j, text), -EFBIG, "when the reserve is used up it stops");
    snprintf(first, sizeof first, "%s", err.text);
    char said[64];
    snprintf(said, sizeof said, "has stopped behind record %d", (int)durable);
    ok(strstr(first, said), "and says behind which record: %s", said);
    limit_files(RLIM_INFINITY);
    ok(journal_sync(j, &err) < 0 && !strcmp(first, err.text),
       "it never tries again: the same words, also when there is room");
    ok(frame(j, 1) < 0 && !strcmp(first, err.text), "at every call");
    journal_abandon(j);
    is_uint(last_seq(), durable, "all that it had accepted is there");
    free(text);
    signal(SIGXFSZ, SIG_DFL);
}

static void test_points_of_format(void)
{
    struct segment_head h = {.format = SEGMENT_FORMAT + 1, .number = 1}, got;
    unsigned char b[SEGMENT_HEAD];
    segment_head_put(&h, b);
    is_int(segment_head_get(&got, (struct str){(char *)b, sizeof b}, &err), -ENOTSUP,
           "a format of the future is refused");
    h = (struct segment_head){.format = 1, .number = 7, .first_seq = 1ull << 40, .at = -5,
                              .term = 9, .policy = 1, .catalogue = 2, .topology = ~0ull,
                              .build = "b", .cluster = "c"};
    segment_head_put(&h, b);
    is_int(segment_head_get(&got, (struct str){(char *)b, sizeof b}, &err), 0, "a head is read");
    ok(!memcmp(&h, &got, sizeof h), "as it was written");
    char id[BUILD_ID_MAX];
    build_id(id);
    ok(str_starts(str_of(id), STR("0.")) && strlen(id) > 10 && !strstr(id, "unknown"),
       "this build has an id: %s", id);
}

int main(void)
{
    /* In memory where that is possible: hundreds of syncs are not what is tested. */
    const char *tmp = access("/dev/shm", W_OK) ? getenv("TMPDIR") : "/dev/shm";
    snprintf(root, sizeof root, "%s/muster-journal.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(root))
        bail("cannot make %s", root);
    test_points_of_format();
    test_round_trip();
    test_torn();
    test_flipped();
    test_one_batch();
    test_segments();
    test_helper();
    test_resume();
    test_snapshots();
    test_full();
    static const char *const used[] = {"round", "open", "none", "torn", "flipped", "batch",
                                       "segments", "helper", "resume", "snapshots", "full"};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        fresh(used[i]);
    rmdir(root);
    return done_testing();
}
