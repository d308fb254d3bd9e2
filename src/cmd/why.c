/* why.c - `muster why`: what a job does, and what was decided about it until then
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/hindsight.h"
#include "cmd/history.h"
#include "words/saying_explain.h"
#include "words/saying_job.h"

static const struct cmd_option options[] = {
    {"journal", 'j', "DIR", CMD_TEXT, .help = "the journal (muster sim --journal DIR)"},
    {"at", 'a', "POINT", CMD_TEXT,
     .help = "look at that moment: " POINT_HELP "; without it, at the end"},
    {"output", 'o', "table|json", CMD_CHOICE, .preset = "table",
     .help = "what is printed"},
    {0},
};

enum { GANGS_SHOWN = 16, SLOTS_SHOWN = 64 };

struct asked {
    struct history h;
    const char *name, *path;
    bool known, json;
    uint32_t job;
    struct job_look look;
    struct buf out;
};

static void text_field(struct asked *x, const char *name, struct str value)
{
    if (x->json) {
        buf_fmt(&x->out, ",\"%s\":", name);
        buf_json(&x->out, value);
    } else {
        buf_fmt(&x->out, "  %-10s " STR_FMT "\n", name, STR_ARG(value));
    }
}

/* "waiting for 4 min": in JSON the phase alone, since_us says the rest. */
static void phase_field(struct asked *x, uint32_t gang, const struct gang_look *g)
{
    struct buf b = {0};
    char text[24];
    buf_z(&b, look_phase_name(g->phase));
    if (!x->json && gang < x->h.since.n)
        buf_fmt(&b, " for %s", duration_text(x->h.at - x->h.since.at[gang], text));
    if (!x->json && x->look.gangs > 1)
        buf_fmt(&b, " (group %u, copy %" PRIu32 ")", g->ref.group, g->ref.copy);
    text_field(x, "phase", buf_as_str(&b));
    buf_done(&b);
}

static void show_claims(struct asked *x, uint32_t gang, const struct gang_look *g)
{
    struct buf b = {0};
    struct claim_look c;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->slots; i++) {
        if (!sched_look_claim(x->h.sched, x->job, gang, i, &c) || n++ >= SLOTS_SHOWN)
            continue;
        if (b.len)
            buf_z(&b, ", ");
        saying_claim(&c, &b);
    }
    if (n > SLOTS_SHOWN)
        buf_fmt(&b, " and %" PRIu32 " more", n - SLOTS_SHOWN);
    if (n)
        text_field(x, "holds", buf_as_str(&b));
    buf_done(&b);
}

/* What the reason has no room for, found anew on a copy. */
static void show_wait(struct asked *x, uint32_t gang)
{
    struct explain e;
    struct buf b = {0};
    const struct words *w = sched_words(x->h.sched);
    if (sched_explain(&e, x->h.sched, x->job, gang, NULL))
        return;
    e.at = x->h.at; /* nothing happened since its last record */
    saying_explain(w, &e, &b);
    if (b.len)
        text_field(x, "because", buf_as_str(&b));
    if (x->json) {
        buf_z(&x->out, ",\"explain\":");
        saying_explain_json(w, &e, x->h.start, &x->out);
    }
    buf_done(&b);
    explain_done(&e);
}

static void show_gang(struct asked *x, uint32_t i)
{
    struct gang_look g;
    struct buf b = {0};
    sched_look_gang(x->h.sched, x->job, i, &g);
    if (x->json)
        buf_fmt(&x->out, "%s{\"group\":%u,\"copy\":%" PRIu32, i ? "," : "", g.ref.group,
                g.ref.copy);
    phase_field(x, i, &g);
    saying_gang(sched_words(x->h.sched), &g, x->look.held,
                history_who(&x->h, g.why.who), &b);
    text_field(x, x->json ? "says" : "it", buf_as_str(&b));
    if (x->json) {
        text_field(x, "code", str_of(saying_code(g.why.code)));
        buf_fmt(&x->out, ",\"need\":%" PRIu32 ",\"have\":%" PRIu32, g.why.need,
                g.why.have);
        if (i < x->h.since.n)
            buf_fmt(&x->out, ",\"since_us\":%" PRId64, x->h.since.at[i] - x->h.start);
    }
    if (g.phase == LOOK_WAITING && !x->look.held)
        show_wait(x, i);
    show_claims(x, i, &g);
    if (x->json)
        buf_char(&x->out, '}');
    buf_done(&b);
}

static void show_state(struct asked *x)
{
    struct buf b = {0};
    const struct words *w = sched_words(x->h.sched);
    uint32_t shown =
        x->look.gangs < GANGS_SHOWN || x->json ? x->look.gangs : GANGS_SHOWN;
    char text[24];
    if (x->look.queue)
        text_field(x, "queue", words_text(w, x->look.queue));
    if (x->look.user)
        text_field(x, "user", words_text(w, x->look.user));
    point_text(x->look.submitted_at, x->h.start, &b);
    text_field(x, "submitted", buf_as_str(&b));
    if (x->look.time_limit_us)
        text_field(x, "limit", str_of(duration_text(x->look.time_limit_us, text)));
    if (x->json)
        buf_z(&x->out, ",\"gangs\":[");
    for (uint32_t i = 0; i < shown; i++)
        show_gang(x, i);
    if (x->json)
        buf_char(&x->out, ']');
    else if (shown < x->look.gangs)
        buf_fmt(&x->out, "  and %" PRIu32 " gangs more\n", x->look.gangs - shown);
    buf_done(&b);
}

static void show_history(struct asked *x)
{
    struct buf when = {0};
    char text[24];
    buf_z(&x->out, x->json ? ",\"history\":[" : "\nhistory\n");
    for (uint32_t i = 0; i < x->h.lines.n; i++) {
        const struct history_line *l = &x->h.lines.at[i];
        if (x->json) {
            buf_fmt(&x->out, "%s{\"seq\":%" PRIu64 ",\"at_us\":%" PRId64 ",\"text\":",
                    i ? "," : "", l->seq, l->at - x->h.start);
            buf_json(&x->out, l->text);
            buf_char(&x->out, '}');
        } else {
            buf_fmt(&x->out, "  %10s  " STR_FMT "\n",
                    l->at > x->h.start ? duration_text(l->at - x->h.start, text)
                                       : "start",
                    STR_ARG(l->text));
        }
    }
    if (x->json)
        buf_char(&x->out, ']');
    buf_done(&when);
}

struct hindsight_of { /* what else could have been decided */
    struct explain_second launch;
    struct explain_evictions evictions;
    struct gang_ref gang;
};

static void see_launch(void *arg, const struct sched *s, const struct record *r)
{
    struct hindsight_of *x = arg;
    if (r->kind == DE_LAUNCH)
        (void)sched_explain_launch(&x->launch, s, r, NULL);
}

static void see_eviction(void *arg, const struct sched *s, const struct record *r)
{
    struct hindsight_of *x = arg;
    (void)r;
    (void)sched_explain_evictions(&x->evictions, s, &x->gang, NULL);
}

/* Where its last launch would have gone otherwise, and who else would have been
 * evicted. */
static void show_second(struct asked *x)
{
    struct hindsight_of of = {.gang = x->h.reclaimed_gang};
    struct buf b = {0};
    if (x->h.launched)
        (void)hindsight(x->path, x->h.launched, see_launch, &of, NULL);
    if (x->h.reclaimed_border)
        (void)hindsight(x->path, x->h.reclaimed_border + 1, see_eviction, &of, NULL);
    saying_second(&of.launch, &b);
    if (b.len)
        text_field(x, "placed", buf_as_str(&b));
    if (x->json && of.launch.asked) {
        buf_z(&x->out, ",\"second\":");
        saying_second_json(&of.launch, &x->out);
    }
    buf_clear(&b);
    saying_evictions(&of.evictions, &b);
    if (b.len)
        text_field(x, "evicted", buf_as_str(&b));
    if (x->json && of.evictions.asked) {
        buf_z(&x->out, ",\"evictions\":");
        saying_evictions_json(&of.evictions, &x->out);
    }
    buf_done(&b);
    explain_second_done(&of.launch);
    explain_evictions_done(&of.evictions);
}

static void show(struct asked *x)
{
    struct buf when = {0};
    point_text(x->h.at, x->h.start, &when);
    if (x->json) {
        buf_z(&x->out, "{\"job\":");
        buf_json(&x->out, str_of(x->name));
        buf_fmt(&x->out, ",\"seq\":%" PRIu64 ",\"at_us\":%" PRId64 ",\"known\":%s",
                x->h.seq, x->h.at - x->h.start, x->known ? "true" : "false");
    } else {
        buf_fmt(&x->out, "job %s, " STR_FMT " (record %" PRIu64 ")\n", x->name,
                STR_ARG(buf_as_str(&when)), x->h.seq);
    }
    if (x->known)
        show_state(x);
    else
        text_field(x, x->json ? "says" : "it", STR("is over"));
    show_second(x);
    show_history(x);
    if (x->json)
        buf_z(&x->out, "}\n");
    fwrite(x->out.data, 1, x->out.len, stdout);
    buf_done(&when);
}

static int unknown(struct asked *x, struct err *err)
{
    if (!x->h.names.n)
        return err_set(err, ENOENT, "no job '%s' by then; none was submitted", x->name);
    return err_set(err, ENOENT,
                   "no job '%s' by then; %u were submitted, the first one is '" STR_FMT
                   "'",
                   x->name, x->h.names.n, STR_ARG(x->h.names.at[0]));
}

static int run(const struct cmd_line *line)
{
    struct err err = {0};
    struct journal_point to;
    struct asked x = {.name = line->args[0], .json = cmd_int(line, "output") == 1};
    const char *path = x.path = cmd_text(line, "journal");
    if (!path)
        return cmd_misuse(line, "--journal is missing: which run?");
    int rc = point_parse(&to, cmd_text(line, "at"), path, &err);
    if (!rc)
        rc = history_read(&x.h, path, &to, x.name, &err);
    if (rc)
        return cmd_fail(line, &err);
    x.job = sched_look_find(x.h.sched, str_of(x.name));
    x.known = x.job != UINT32_MAX && sched_look_job(x.h.sched, x.job, &x.look);
    if (x.known || x.h.lines.n)
        show(&x);
    else
        rc = unknown(&x, &err);
    history_done(&x.h);
    buf_done(&x.out);
    return rc ? cmd_fail(line, &err) : CMD_OK;
}

static const char *const examples[] = {
    "muster why 00000042 --journal run.journal",
    "muster why 00000042 --journal run.journal --at 3h",
    NULL,
};

const struct cmd cmd_why = {
    .name = "why",
    .summary = "say what a job does at a moment, and what was decided about it",
    .args = "JOB",
    .args_min = 1,
    .args_max = 1,
    .about =
        "Folds a journal up to a moment and looks at one job: whether it waits and "
        "why, where it\n"
        "runs, what it holds, since when; then everything that was decided about it "
        "and told\n"
        "of it until then. A simulated job is called by its serial number of arrival.",
    .options = options,
    .examples = examples,
    .run = run,
};
