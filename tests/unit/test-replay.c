/* test-replay.c - a recorded run: folded again, altered, asked about, gone on with
 * Two nodes of 4 GPUs. "a" takes both from 0 to 100 s and has a limit of 200 s; "b"
 * wants 4 GPUs at 10 s, so it waits for "a"; "c" wants 4 at 20 s. All times below
 * follow from that. SPDX-License-Identifier: Apache-2.0 */
#include "dir.h"
#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "event/codec.h"
#include "journal/resume.h"
#include "world/twin/experiment.h"

#define S US_PER_S
enum { NODES = 2, GPUS = 4, JOBS = 3 };

static char root[64], path[128], copy[128], printed[128];
static struct err err;

static struct {
    struct words words;
    struct device_type type;
    struct device_desc devices[GPUS];
    struct node_desc nodes[NODES];
    struct shape shapes[JOBS];
    struct group_spec groups[JOBS][2];
    struct job_spec specs[JOBS];
    struct twin_options o;
} scene;

static void scene_make(void)
{
    static const struct {
        const char *name;
        uint32_t tasks, limit_s;
    } jobs[JOBS] = {{"a", 2, 200}, {"b", 1, 80}, {"c", 1, 60}};
    scene.type = (struct device_type){.name = words_add(&scene.words, STR("gpu")),
                                      .mem_bytes = 1 << 30,
                                      .modes = DEVICE_WHOLE};
    for (int i = 0; i < GPUS; i++)
        scene.devices[i] = (struct device_desc){.type = &scene.type,
                                                .mem_bytes = 1 << 30,
                                                .modes = DEVICE_WHOLE};
    for (int i = 0; i < NODES; i++)
        scene.nodes[i] = (struct node_desc){.name = i ? STR("n1") : STR("n0"),
                                            .cpu_milli = 1000,
                                            .ndevices = GPUS,
                                            .devices = scene.devices};
    for (int i = 0; i < JOBS; i++) {
        uint16_t n = 0;
        scene.shapes[i] = (struct shape){.pod_slots = 1,
                                         .gpu_mode = GPU_WHOLE,
                                         .gpu_count = 4,
                                         .gpu_milli = 1000};
        if (jobs[i].tasks > 1)
            scene.groups[i][n++] = (struct group_spec){.parent = GROUP_NONE,
                                                       .shape = GROUP_NONE,
                                                       .whole = 1,
                                                       .count = {1, 1, 1, 1}};
        scene.groups[i][n] = (struct group_spec){.parent = n ? 0 : GROUP_NONE,
                                                 .depth = (uint8_t)n,
                                                 .count = {jobs[i].tasks, jobs[i].tasks,
                                                           jobs[i].tasks, 1}};
        scene.specs[i] = (struct job_spec){.name = str_of(jobs[i].name),
                                           .preemptible = 1,
                                           .submitted_at = i * 10 * S,
                                           .time_limit_us = jobs[i].limit_s * S,
                                           .tries = 9,
                                           .ngroups = n + 1u,
                                           .nshapes = 1,
                                           .groups = scene.groups[i],
                                           .shapes = &scene.shapes[i]};
    }
    scene.o = (struct twin_options){.words = &scene.words,
                                    .nodes = scene.nodes,
                                    .nnodes = NODES,
                                    .seed = 1};
}

static const int64_t runs[JOBS] = {100 * S, 50 * S, 30 * S};

static const struct journal_options small = {.segment_bytes = 8192,
                                             .reserve_bytes = 32768,
                                             .snapshot_records = 15};

/* One run through a twin of the scene. s NULL: a core of its own. Returns its digest.
 */
static uint64_t play(struct sched *s, struct journal *j, int64_t until)
{
    struct control_totals totals;
    struct control_options c = {.journal = j, .audit = !s};
    struct sched *own = s ? NULL : sched_create();
    struct twin *t;
    scene.o.until_us = until;
    if (twin_create(&t, &scene.o, &err))
        bail("%s", err.text);
    for (int i = 0; i < JOBS; i++)
        twin_submit(t, i * 10 * S, &scene.specs[i], runs[i]);
    if (control_run(s ? s : own, twin_world(t), STR("order: fifo\n"), &c, &totals,
                    &err))
        bail("%s", err.text);
    uint64_t digest = sched_digest(s ? s : own, DIGEST_ALL);
    twin_destroy(t);
    sched_destroy(own);
    return digest;
}

static uint64_t record(int64_t until)
{
    struct journal *j;
    dir_remove(path);
    if (journal_create(&j, path, &small, &err))
        bail("%s", err.text);
    uint64_t digest = play(NULL, j, until);
    if (journal_close(j, &err))
        bail("%s", err.text);
    return digest;
}

static const struct cmd *const subs[] = {&cmd_replay, &cmd_why, &cmd_whatif, &cmd_resim,
                                         NULL};
const struct cmd cmd_root = {.name = "muster", .summary = "test", .subs = subs};

/* Runs a subcommand in a child; what it printed is in `text`. Returns its exit code. */
static struct buf text;

static int muster(const char *a, const char *b, const char *c, const char *d,
                  const char *e)
{
    char *argv[] = {"muster",  (char *)a, (char *)b, (char *)c,
                    (char *)d, (char *)e, NULL};
    int argc = 1, status;
    while (argv[argc])
        argc++;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen(printed, "wb", stdout) || dup2(1, 2) < 0)
            _exit(99);
        int code = cmd_dispatch(&cmd_root, argc, argv);
        fflush(stdout);
        _exit(code);
    }
    waitpid(pid, &status, 0);
    FILE *f = fopen(printed, "rb");
    char block[4096];
    buf_clear(&text);
    for (size_t n; f && (n = fread(block, 1, sizeof block, f)) > 0;)
        buf_add(&text, block, n);
    buf_add(&text, "", 0);
    if (f)
        fclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool says(const char *what)
{
    bool found = text.data && strstr(text.data, what) != NULL;
    if (!found)
        diag("'%s' is not in: %.1000s", what, text.data ? text.data : "");
    return found;
}

/* A copy in one segment, sealed by hand: with another build in its head, or with one of
 * its decisions altered. Returns the seq of that one. */
static uint64_t copy_journal(const char *build, bool alter)
{
    struct segment_head h = {.format = SEGMENT_FORMAT, .number = 1, .first_seq = 1};
    unsigned char head[SEGMENT_HEAD];
    struct journal_reader *r;
    struct journal_frame f;
    struct buf out = {0};
    uint64_t altered = 0;
    char name[200];
    if (build)
        snprintf(h.build, sizeof h.build, "%s", build);
    else
        build_id(h.build);
    segment_head_put(&h, head);
    buf_add(&out, head, sizeof head);
    if (journal_reader_open(&r, path, 0, NULL, &err))
        bail("%s", err.text);
    while (journal_reader_next(r, &f, &err) > 0) {
        struct buf frame = {0};
        buf_pad(&frame, 0, FRAME_HEAD);
        for (uint32_t i = 0; i < f.n; i++) {
            struct record rec = f.records->list.at[i];
            if (alter && !altered && rec.kind == DE_SAY) {
                rec.why.have++;
                altered = rec.seq;
            }
            record_encode(&rec, &frame);
        }
        struct frame_head fh = {.length = (uint32_t)frame.len - FRAME_HEAD,
                                .records = f.n,
                                .first_seq = f.first_seq,
                                .at = f.at};
        frame_seal(&fh, h.sum, out.len, frame.data);
        buf_add(&out, frame.data, frame.len);
        buf_done(&frame);
    }
    journal_reader_close(r);
    dir_remove(copy);
    mkdir(copy, 0777);
    snprintf(name, sizeof name, "%s/journal-00000001.seg", copy);
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(out.data, 1, out.len, file) != out.len || fclose(file))
        bail("cannot write %s", name);
    buf_done(&out);
    return altered;
}

static void test_fold(void)
{
    static const struct journal_point all = {UINT64_MAX, INT64_MAX};
    struct journal_state state;
    uint64_t digest = record(0);
    is_int(journal_load(&state, path, &all, NULL, &err), 0, "a journal is folded");
    ok(state.base.seq > 0, "from a snapshot");
    is_hex(sched_digest(state.base.sched, DIGEST_ALL), digest,
           "into the state of the run");
    sched_destroy(state.base.sched);
    is_int(muster("replay", path, "--verify", NULL, NULL), 0,
           "and decides the same again");
    char want[64];
    snprintf(want, sizeof want, "%016llx", (unsigned long long)digest);
    ok(says(want), "with the same digest at the end");
}

static void test_difference(void)
{
    char want[64];
    uint64_t seq = copy_journal(NULL, true);
    cmp_ok(seq, >, 0, "some decision says why a job waits");
    is_int(muster("replay", copy, NULL, NULL, NULL), 0, "an altered one folds");
    const char *at = text.data ? strstr(text.data, "digest ") : NULL;
    char digest[64] = "";
    if (at)
        snprintf(digest, sizeof digest, "%.29s", at);
    cmp_ok(strlen(digest), ==, 29, "into some state");
    is_int(muster("replay", copy, "--verify", NULL, NULL), 1,
           "but is not what is decided");
    snprintf(want, sizeof want, "record %llu,", (unsigned long long)seq);
    ok(says(want), "the first difference is named");
    ok(says("recorded say b") && says("now      say b"), "with both sides");
    ok(says(digest), "behind it the record is followed, into the same state");
    copy_journal("0.0.1-other", false);
    is_int(muster("replay", copy, "--verify", NULL, NULL), 0,
           "another build's journal is read");
    ok(says("not promised"), "with a word about what is not promised");
}

static void test_why(void)
{
    is_int(muster("why", "b", "-j", path, "--at=30s"), 0, "why does b wait?");
    ok(says("waiting for 20 s"), "since it came at 10 s");
    ok(says("needs room for 1 task") || says("needs 4 GPUs"), "for want of room");
    ok(says("submitted  10 s after the start"), "it says when it came");
    is_int(muster("why", "b", "-j", path, "--at=120s"), 0, "and at 120 s?");
    ok(says("running for 20 s"), "it runs since a ended at 100 s");
    ok(says("GPUs 0-3 (running)"), "on a whole node");
    is_int(muster("why", "b", "-j", path, NULL), 0, "and in the end?");
    ok(says("is over") && says("done"), "it is over");
    is_int(muster("why", "x", "-j", path, NULL), 2, "of a job that never was");
    ok(says("no job 'x'"), "it says so");
}

/* Nobody knows that a ends at 100 s: it may run until its limit, 200 s. */
static void test_whatif(void)
{
    is_int(muster("whatif", "b", "-j", path, "--at=30s"), 0, "when would b start?");
    ok(says("would start in 2 min 50 s, when 1 job has ended"),
       "when a's limit is over");
    ok(says("the same as before"), "the state is as it was");
    is_int(muster("whatif", "b", "-j", path, "--at=120s"), 0, "and when it runs?");
    ok(says("already runs"), "it runs already");
    is_int(muster("whatif", "b", "-j", path, "--at=5s"), 2,
           "before it came it is not known");
}

static int whatif_new(const char *gpus, const char *at)
{
    char where[200];
    snprintf(where, sizeof where, "--journal=%s", path);
    return muster("whatif", "new", where, gpus, at);
}

static void test_whatif_new(void)
{
    is_int(whatif_new("--gpus=4", "--at=160s"), 0, "a job that is not there");
    ok(says("would start at once"),
       "starts where all is free: c ended at 130 s, b at 150 s");
    is_int(whatif_new("--gpus=12", "--at=160s"), 0, "one for three nodes");
    ok(says("would not start: needs room for 3 tasks") && says("has room for 2"),
       "never starts on two");
    is_int(whatif_new("--gpus=5", "--at=160s"), 2, "five GPUs are no two equal tasks");
}

static void test_resim(void)
{
    is_int(muster("resim", path, "-o", "json", NULL), 0,
           "the record is simulated again");
    ok(says("3 of 3 jobs start at the recorded moment"),
       "every job starts as recorded");
}

/* The process dies at 60 s, while a runs; the world that comes back has lost its tasks.
 */
static void test_restart(void)
{
    struct journal *j;
    struct journal_state state;
    dir_remove(path);
    if (journal_create(&j, path, &small, &err))
        bail("%s", err.text);
    play(NULL, j, 60 * S);
    journal_sync(j, &err);
    journal_abandon(j);
    is_int(journal_resume(&j, &state, path, &small, NULL, &err), 0,
           "a killed run goes on");
    struct sched *s = state.base.sched;
    uint64_t digest = play(s, j, 0);
    struct sched_counts c;
    sched_counts(s, &c);
    is_int(journal_close(j, &err), 0, "to its end");
    is_int(c.jobs, 0, "every job is done");
    sched_destroy(s);
    is_int(muster("replay", path, "--verify", NULL, NULL), 0,
           "before and after it the same is decided");
    char want[64];
    snprintf(want, sizeof want, "%016llx", (unsigned long long)digest);
    ok(says(want), "up to the last record");
}

/* ---- the disk is full ---- */

struct door { /* a world with one submission and one end */
    struct world world;
    int at;
    int refused;
    char why[200];
};

static int door_wait(struct world *w, int64_t due, uint32_t most, bool each,
                     struct records *batch, struct err *e)
{
    struct door *d = (struct door *)w;
    (void)due, (void)most, (void)each, (void)e;
    if (d->at++)
        return 0;
    records_add(batch, EV_JOB_SET)->job_set = &scene.specs[0];
    records_add(batch, EV_TIME);
    return 1;
}

static int door_act(struct world *w, const struct records *decisions, struct err *e)
{
    (void)w, (void)decisions, (void)e;
    return 0;
}

static void door_refused(struct world *w, const struct record *r, const struct err *why)
{
    struct door *d = (struct door *)w;
    d->refused += r->kind == EV_JOB_SET;
    snprintf(d->why, sizeof d->why, "%.150s", why->text);
}

static int through(struct door *d, struct journal *j, struct control_totals *t)
{
    struct control_options c = {.journal = j};
    struct sched *s = sched_create();
    d->world = (struct world){.name = "door",
                              .trusted = true,
                              .wait = door_wait,
                              .act = door_act,
                              .refused = d->world.refused};
    int rc = control_run(s, &d->world, STR("order: fifo\n"), &c, t, &err);
    sched_destroy(s);
    return rc;
}

static void test_tight(void)
{
    struct journal_options o = {.segment_bytes = 65536, .reserve_bytes = 60000};
    struct rlimit l;
    struct journal *j;
    struct control_totals t;
    char *big = mem_zero(40000);
    getrlimit(RLIMIT_FSIZE, &l);
    signal(SIGXFSZ, SIG_IGN);
    dir_remove(path);
    if (journal_create(&j, path, &o, &err))
        bail("%s", err.text);
    struct rlimit low = {60000, l.rlim_max};
    for (uint64_t seq = 1; seq < 3; seq++) {
        struct record r = {.seq = seq, .kind = EV_POLICY_SET};
        r.policy_set.text = (struct str){big, 40000};
        journal_add(j, &r);
        journal_commit(j, &err);
        setrlimit(RLIMIT_FSIZE, &low);
    }
    ok(journal_is_tight(j), "no room for another segment");
    struct door polite = {.world.refused = door_refused}, curt = {.at = 0};
    is_int(through(&polite, j, &t), 0, "the loop goes on");
    is_int(polite.refused, 1, "but a submission is refused");
    ok(strstr(polite.why, "disk is full"), "with the reason: %s", polite.why);
    is_int(t.no_room, 1, "and counted");
    is_int(t.events, 2, "what is no submission is taken: the policy and the time");
    is_int(through(&curt, j, &t), -ENOSPC, "a world that cannot be told stops");
    setrlimit(RLIMIT_FSIZE, &l);
    journal_abandon(j);
    free(big);
}

int main(void)
{
    snprintf(root, sizeof root, "%s/muster-replay.XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (!mkdtemp(root))
        bail("cannot make %s", root);
    snprintf(path, sizeof path, "%s/journal", root);
    snprintf(copy, sizeof copy, "%s/copy", root);
    snprintf(printed, sizeof printed, "%s/printed", root);
    scene_make();
    test_fold();
    test_difference();
    test_why();
    test_whatif();
    test_whatif_new();
    test_resim();
    test_restart();
    test_tight();
    dir_remove(path);
    dir_remove(copy);
    unlink(printed);
    rmdir(root);
    buf_done(&text);
    words_done(&scene.words);
    return done_testing();
}
