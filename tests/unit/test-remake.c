/* test-remake.c - what a journal says of the world: run times, faults, orders
 *
 * Two nodes of 4 GPUs. "a" has 300 s of work and a checkpoint every 60 s that takes
 * 5 s; its node fails from 150 s to 200 s. By then two cycles of 65 s are behind it, so
 * 120 s are safe. "b" ran on the other node until a person cancelled it at 90 s, so "a"
 * goes there at once, restores for 10 s, and has 180 s to do: three stretches of 60 s
 * with two pauses between them (none at the very end), so it ends at 160 + 190 = 350 s.
 * "c" asks for 8 GPUs on a node and never runs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dir.h"
#include "tap.h"

#include <errno.h>
#include <unistd.h>

#include "base/units.h"
#include "journal/journal.h"
#include "world/twin/experiment.h"
#include "world/twin/remake.h"

#define S US_PER_S
enum { NODES = 2, GPUS = 4, JOBS = 3 };

static char path[64];
static struct err err;
static struct words words;
static struct device_type type = {.mem_bytes = 1 << 30, .modes = DEVICE_WHOLE};
static struct device_desc devices[GPUS];
static struct node_desc nodes[NODES];
static struct shape shapes[JOBS];
static struct group_spec groups[JOBS];
static struct job_spec specs[JOBS];
static int64_t starts[JOBS], ends[JOBS];

static void on_end(void *arg, const struct twin_outcome *o)
{
    (void)arg;
    for (int i = 0; i < JOBS; i++)
        if (str_eq(specs[i].name, o->name)) {
            starts[i] = o->first_start_us;
            ends[i] = o->end_us;
        }
}

static void scene_make(void)
{
    static const char *const names[JOBS] = {"a", "b", "c"};
    type.name = words_add(&words, STR("gpu"));
    for (int i = 0; i < GPUS; i++)
        devices[i] = (struct device_desc){.type = &type,
                                          .mem_bytes = 1 << 30,
                                          .modes = DEVICE_WHOLE};
    for (int i = 0; i < NODES; i++)
        nodes[i] = (struct node_desc){.name = i ? STR("n1") : STR("n0"),
                                      .cpu_milli = 1000,
                                      .ndevices = GPUS,
                                      .devices = devices};
    for (int i = 0; i < JOBS; i++) {
        shapes[i] = (struct shape){.pod_slots = 1,
                                   .gpu_mode = GPU_WHOLE,
                                   .gpu_count = i == 2 ? 8 : 4,
                                   .gpu_milli = 1000};
        groups[i] = (struct group_spec){.parent = GROUP_NONE, .count = {1, 1, 1, 1}};
        specs[i] = (struct job_spec){.name = str_of(names[i]),
                                     .preemptible = 1,
                                     .tries = 9,
                                     .time_limit_us = 77 * S,
                                     .ngroups = 1,
                                     .nshapes = 1,
                                     .groups = &groups[i],
                                     .shapes = &shapes[i]};
    }
    specs[0].checkpoint = CHECKPOINT_SELF;
    specs[0].ckpt_interval_us = 60 * S;
    specs[0].ckpt_save_us = 5 * S;
    specs[0].ckpt_restore_us = 10 * S;
}

static void play(struct twin *t, struct journal *j)
{
    struct control_options c = {.journal = j, .audit = true};
    struct control_totals totals;
    struct sched *s = sched_create();
    if (control_run(s, twin_world(t), STR("order: fifo\n"), &c, &totals, &err))
        bail("%s", err.text);
    twin_finish(t);
    sched_destroy(s);
}

static void record(void)
{
    static const struct journal_options o = {.segment_bytes = 16384,
                                             .reserve_bytes = 4096};
    struct twin_options to = {
        .words = &words, .nodes = nodes, .nnodes = NODES, .seed = 1, .on_end = on_end};
    struct record cancel = {.kind = EV_JOB_DO};
    struct journal *j;
    struct twin *t;
    cancel.job_do.job = STR("b");
    cancel.job_do.verb = JOB_CANCEL;
    if (twin_create(&t, &to, &err) || journal_create(&j, path, &o, &err))
        bail("%s", err.text);
    twin_submit(t, 0, &specs[0], 300 * S);
    twin_submit(t, 0, &specs[1], 500 * S);
    twin_submit(t, 20 * S, &specs[2], 10 * S);
    twin_node_fault(t, 0, 150 * S, 200 * S);
    twin_post(t, 90 * S, &cancel);
    play(t, j);
    twin_destroy(t);
    if (journal_close(j, &err))
        bail("%s", err.text);
}

static const struct remade_job *find(const struct remade *m, const char *name)
{
    for (uint32_t i = 0; i < m->jobs.n; i++)
        if (str_is(m->jobs.at[i].spec->name, name))
            return &m->jobs.at[i];
    bail("no job %s", name);
}

static void test_record(const struct remade *m)
{
    const struct remade_job *a = find(m, "a"), *b = find(m, "b"), *c = find(m, "c");
    is_int(ends[0], 350 * S, "the run was as worked out above");
    is_int(a->work_us, 300 * S,
           "two attempts and their pauses are the work that was hidden");
    is_int(a->work, WORK_KNOWN, "and it is known");
    is_int(a->first_start, 0, "when it first started");
    is_int(a->end, 350 * S, "and when it ended");
    is_int(b->work_us, 90 * S, "what was cancelled had at least what it did");
    is_int(b->work, WORK_CENSORED, "a lower bound");
    is_int(c->work_us, 77 * S, "what never ran has its limit");
    is_int(c->work, WORK_GUESSED, "a guess");
    is_int(c->first_start, INT64_MIN, "and no start");
    is_int(c->at, 20 * S, "it came when it came");
    is_uint(m->faults.n, 1, "one fault");
    is_int(m->faults.at[0].from_us, 150 * S, "from when it was");
    is_int(m->faults.at[0].until_us, 200 * S, "until the node was back");
    is_uint(m->orders, 1, "one order of a person is kept, with a mark");
    is_uint(m->posts.n, 1, "as an event");
    is_int(m->posts.at[0].at, 90 * S, "at its time");
    is_uint(m->capacity_milli, 8000, "all GPUs are there");
    is_int(m->truth.start_us, 0, "starts took no time");
}

static void test_again(struct remade *m)
{
    struct twin_options o;
    struct twin *t;
    int64_t first = starts[0], end = ends[0];
    memset(starts, 0xff, sizeof starts);
    memset(ends, 0xff, sizeof ends);
    remade_twin(m, 1, &o);
    o.on_end = on_end;
    if (twin_create(&t, &o, &err))
        bail("%s", err.text);
    remade_play(m, t, false);
    play(t, NULL);
    twin_destroy(t);
    is_int(starts[0], first, "the twin made of it starts a when it started");
    is_int(ends[0], end, "and ends it when it ended, fault and all");
    is_int(starts[2], INT64_MIN, "c has no room there either");
}

int main(void)
{
    struct remade m;
    snprintf(path, sizeof path, "%s/muster-remake.XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (!mkdtemp(path))
        bail("cannot make %s", path);
    scene_make();
    record();
    if (remake(&m, path, &err))
        bail("%s", err.text);
    test_record(&m);
    test_again(&m);
    remade_done(&m);
    dir_remove(path);
    is_int(remake(&m, path, &err), -ENOENT, "no journal, no twin");
    words_done(&words);
    return done_testing();
}
