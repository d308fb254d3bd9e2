/* whatif.c - `muster whatif`: would a job run, when, and whom would it evict
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "cluster/cluster.h"
#include "cmd/cmd.h"
#include "cmd/history.h"
#include "cmd/rehearse.h"

static const struct cmd_option options[] = {
    {"journal", 'j', "DIR", CMD_TEXT, .help = "the journal (muster sim --journal DIR)"},
    {"at", 'a', "POINT", CMD_TEXT,
     .help = "ask at that moment: " POINT_HELP "; without it, at the end"},
    {"gpus", 'g', "N", CMD_INT, .min = 0, .max = 1 << 20, .preset = "0",
     .help = "GPUs of a job that is not there, all its tasks together"},
    {"tasks", 'n', "N", CMD_INT, .min = 1, .max = 65536,
     .help = "in so many equal tasks, all at once; without it, one a node"},
    {"type", 0, "GPU", CMD_TEXT, .help = "of this GPU type"},
    {"level", 0, "LEVEL", CMD_TEXT,
     .help = "all inside one domain of this topology level"},
    {"queue", 'q', "NAME", CMD_TEXT, .help = "in this queue"},
    {"user", 0, "NAME", CMD_TEXT, .help = "of this user"},
    {"priority", 0, "N", CMD_INT, .min = INT32_MIN, .max = INT32_MAX, .preset = "0",
     .help = "with this priority"},
    {"limit", 'l', "TIME", CMD_DURATION, .min = 1, .max = INT64_MAX / 4,
     .help = "with this time limit"},
    {"cpus", 0, "N", CMD_INT, .min = 0, .max = 1 << 20, .preset = "0",
     .help = "CPUs of each task"},
    {"output", 'o', "table|json", CMD_CHOICE, .preset = "table",
     .help = "what is printed"},
    {0},
};

struct ask {
    const struct cmd_line *line;
    const char *name;
    struct history h;
    struct words words; /* the state's, and what the job adds to them */
    struct job_spec spec;
    struct group_spec groups[2];
    struct shape shape;
    bool made_up;
    struct rehearsal r;
    uint64_t digest;
};

static uint32_t widest_node(const struct sched *s)
{
    const struct cluster *c = sched_cluster(s);
    uint32_t most = 0;
    for (uint32_t i = 0; i < c->nnodes; i++)
        if (!c->nodes[i].gone && c->nodes[i].ndevices > most)
            most = c->nodes[i].ndevices;
    return most;
}

static word_t word_of(struct ask *x, const char *option)
{
    const char *text = cmd_text(x->line, option);
    return text ? words_add(&x->words, str_of(text)) : WORD_NONE;
}

static int split(struct ask *x, uint32_t *ret_tasks, struct err *err)
{
    uint32_t gpus = (uint32_t)cmd_int(x->line, "gpus"), wide = widest_node(x->h.sched);
    uint32_t tasks = (uint32_t)cmd_int(x->line, "tasks");
    if (!tasks)
        tasks = wide && gpus > wide ? (gpus + wide - 1) / wide : 1;
    if (gpus % tasks)
        return err_set(err, EINVAL,
                       "%u GPUs are no %u equal tasks; say how many with --tasks", gpus,
                       tasks);
    *ret_tasks = tasks;
    return 0;
}

/* One leaf, under a root that is whole where there are several tasks. */
static int make_spec(struct ask *x, struct err *err)
{
    uint32_t tasks = 1, n = 0, gpus = (uint32_t)cmd_int(x->line, "gpus");
    int rc = split(x, &tasks, err);
    if (rc)
        return rc;
    x->shape.pod_slots = 1;
    x->shape.cpu_milli = cmd_int(x->line, "cpus") * 1000;
    if (gpus) {
        x->shape.gpu_mode = GPU_WHOLE;
        x->shape.gpu_count = gpus / tasks;
        x->shape.gpu_milli = 1000;
    }
    if (cmd_given(x->line, "type")) {
        x->shape.ntypes = 1;
        x->shape.types[0].type = word_of(x, "type");
        x->shape.types[0].speed_milli = 1000;
    }
    if (tasks > 1)
        x->groups[n++] = (struct group_spec){.parent = GROUP_NONE,
                                             .shape = GROUP_NONE,
                                             .whole = 1,
                                             .count = {1, 1, 1, 1}};
    x->groups[n] = (struct group_spec){.parent = n ? 0 : GROUP_NONE,
                                       .depth = (uint8_t)n,
                                       .count = {tasks, tasks, tasks, 1}};
    x->groups[0].required = word_of(x, "level");
    x->spec = (struct job_spec){.name = str_of(x->name),
                                .preemptible = 1,
                                .queue = word_of(x, "queue"),
                                .user = word_of(x, "user"),
                                .priority = (int32_t)cmd_int(x->line, "priority"),
                                .submitted_at = x->h.at,
                                .time_limit_us = cmd_int(x->line, "limit"),
                                .ngroups = n + 1,
                                .nshapes = 1,
                                .groups = x->groups,
                                .shapes = &x->shape};
    return job_spec_check(&x->spec, err);
}

static void copy_words(struct ask *x)
{
    const struct words *w = sched_words(x->h.sched);
    for (uint32_t i = 1; i <= w->n; i++)
        words_add(&x->words, words_text(w, i));
}

static int play(struct ask *x, struct err *err)
{
    uint32_t id = sched_look_find(x->h.sched, str_of(x->name));
    int rc = 0;
    x->made_up = cmd_given(x->line, "gpus") || cmd_given(x->line, "cpus");
    if (!x->made_up && id == UINT32_MAX)
        return err_set(err, ENOENT,
                       "no job '%s' waits or runs then; describe one with --gpus",
                       x->name);
    if (x->made_up && id != UINT32_MAX)
        return err_set(err, EEXIST,
                       "job '%s' is there already; give the new one another name",
                       x->name);
    copy_words(x);
    if (x->made_up)
        rc = make_spec(x, err);
    if (rc)
        return rc;
    x->digest = sched_digest(x->h.sched, DIGEST_ALL);
    rc = rehearse(&x->r, x->h.sched, x->h.seq, x->h.at, str_of(x->name),
                  x->made_up ? &x->spec : NULL, &x->words, err);
    if (!rc)
        x->r.found.who = history_who(&x->h, x->r.found.why.who);
    return rc;
}

/* Not a question of what would be: what is. */
static bool runs_already(const struct ask *x, struct buf *out)
{
    struct job_look j;
    struct gang_look g;
    uint32_t id = sched_look_find(x->h.sched, str_of(x->name));
    if (id == UINT32_MAX || !sched_look_job(x->h.sched, id, &j))
        return false;
    for (uint32_t i = 0; i < j.gangs; i++) {
        sched_look_gang(x->h.sched, id, i, &g);
        if (g.phase != LOOK_RUNNING && g.phase != LOOK_STARTING)
            continue;
        buf_z(out, "already ");
        saying_gang(sched_words(x->h.sched), &g, j.held, (struct str){0}, out);
        return true;
    }
    return false;
}

static void names(const struct rehearsal *r, bool json, struct buf *out)
{
    for (uint32_t i = 0; i < r->evicted.n; i++) {
        buf_z(out, i ? json ? "," : ", " : "");
        if (json)
            buf_json(out, r->evicted.at[i]);
        else
            buf_str(out, r->evicted.at[i]);
    }
}

static void print_json(const struct ask *x, struct str text, bool runs, uint64_t after)
{
    struct buf b = {0};
    const struct whatif *f = &x->r.found;
    buf_z(&b, "{\"job\":");
    buf_json(&b, str_of(x->name));
    buf_fmt(&b, ",\"seq\":%" PRIu64 ",\"at_us\":%" PRId64 ",\"runs\":%s,\"starts\":%s",
            x->h.seq, x->h.at - x->h.start, runs ? "true" : "false",
            f->starts ? "true" : "false");
    if (f->starts)
        buf_fmt(&b, ",\"wait_us\":%" PRId64, f->wait_us);
    buf_fmt(&b,
            ",\"ended_first\":%" PRIu32 ",\"evicted_tasks\":%" PRIu32 ",\"evicts\":[",
            f->ended, f->evicted);
    names(&x->r, true, &b);
    buf_z(&b, "],\"places\":");
    buf_json(&b, buf_as_str(&x->r.seats));
    buf_z(&b, ",\"code\":");
    buf_json(&b, str_of(saying_code(f->why.code)));
    buf_z(&b, ",\"says\":");
    buf_json(&b, text);
    buf_fmt(&b,
            ",\"digest_before\":\"%016" PRIx64 "\",\"digest_after\":\"%016" PRIx64
            "\"}\n",
            x->digest, after);
    fwrite(b.data, 1, b.len, stdout);
    buf_done(&b);
}

static void print_table(const struct ask *x, struct str text, uint64_t after)
{
    struct buf b = {0};
    buf_fmt(&b, "job %s, ", x->name);
    point_text(x->h.at, x->h.start, &b);
    buf_fmt(&b, " (record %" PRIu64 ")\n  %-8s " STR_FMT "\n", x->h.seq, "it",
            STR_ARG(text));
    if (x->r.seats.len)
        buf_fmt(&b, "  %-8s " STR_FMT "\n", "on", STR_ARG(buf_as_str(&x->r.seats)));
    if (x->r.evicted.n) {
        buf_fmt(&b, "  %-8s ", "evicts");
        names(&x->r, false, &b);
        buf_char(&b, '\n');
    }
    buf_fmt(&b, "  %-8s %016" PRIx64 "%s\n", "digest", after,
            after == x->digest ? ", the same as before" : " differs from before");
    fwrite(b.data, 1, b.len, stdout);
    buf_done(&b);
}

static int run(const struct cmd_line *line)
{
    struct err err = {0};
    struct journal_point to;
    struct buf text = {0};
    struct ask x = {.line = line, .name = line->args[0]};
    const char *path = cmd_text(line, "journal");
    uint64_t after = 0;
    if (!path)
        return cmd_misuse(line, "--journal is missing: which run?");
    int rc = point_parse(&to, cmd_text(line, "at"), path, &err);
    if (!rc)
        rc = history_read(&x.h, path, &to, NULL, &err);
    if (rc)
        return cmd_fail(line, &err);
    bool runs = runs_already(&x, &text);
    if (!runs)
        rc = play(&x, &err);
    else
        x.digest = sched_digest(x.h.sched, DIGEST_ALL);
    if (!rc) {
        after = sched_digest(x.h.sched, DIGEST_ALL);
        if (!runs)
            saying_whatif(sched_words(x.r.copy), &x.r.found, &text);
        if (cmd_int(line, "output") == 1)
            print_json(&x, buf_as_str(&text), runs, after);
        else
            print_table(&x, buf_as_str(&text), after);
    }
    rehearsal_done(&x.r);
    words_done(&x.words);
    history_done(&x.h);
    buf_done(&text);
    if (rc)
        return cmd_fail(line, &err);
    return after == x.digest ? CMD_OK : CMD_FAILED;
}

static const char *const examples[] = {
    "# a job that waits: when would it start?",
    "muster whatif 00000042 --journal run.journal --at 10h",
    "# one that is not there: 64 GPUs in one rack",
    "muster whatif mine --journal run.journal --at 10h --gpus 64 --level rack --limit "
    "4h",
    NULL,
};

const struct cmd cmd_whatif = {
    .name = "whatif",
    .summary = "ask whether a job would run, when, and whom it would evict",
    .args = "JOB",
    .args_min = 1,
    .args_max = 1,
    .about = "Folds a journal up to a moment, copies the state, and lets the copy run "
             "on: jobs end when\n"
             "their expected run time or time limit is over, and nothing else comes. "
             "The answer is\n"
             "what the core decides there. JOB waits in the state already, or is "
             "described by\n"
             "options. The state itself is not touched: its digest is printed.",
    .options = options,
    .examples = examples,
    .run = run,
};
