/* saying.c - codes to sentences, for people
 *
 * One row a code. A row's text has marks that are replaced by the why's numbers: %n need,
 * %h have, %o other, %l the level's name ("domain" when there is none), %t "task" or
 * "tasks" as need asks. SPDX-License-Identifier: Apache-2.0 */
#include "words/saying.h"

#include <inttypes.h>

struct row {
    const char *code;
    const char *text;
};

static const struct row whys[WHY_CODES] = {
    [WHY_NONE] = {"none", ""},
    [WHY_FITS] = {"fits", "fits in one %l"},
    [WHY_NEEDS_ROOM] = {"needs_room", "needs room for %n %t; the best %l has room for %h"},
    [WHY_PROMISED] = {"promised", "has a place promised"},
    [WHY_QUOTA] = {"quota", "its queue is owed %h of the %n GPUs it asks for"},
    [WHY_INCOMPLETE] = {"incomplete", "waits for its tasks: %h of %n are there"},
    [WHY_GATED] = {"gated", "is gated by its owner"},
    [WHY_UNSUPPORTED] = {"unsupported", "asks for what this world cannot do"},
    [WHY_INVALID] = {"invalid", "is not a sensible request"},
    [WHY_ERROR] = {"error", "met an error"},
    [WHY_BEHIND] = {"behind", "waits behind the first of its queue"},
    [WHY_HELD] = {"held", "is held by a person"},
    [WHY_BACKOFF] = {"backoff", "waits %o s before it is tried again"},
    [WHY_TYPE] = {"type", "needs %n GPUs of its type on a node; the most there are is %h"},
    [WHY_CONSTRAINT] = {"constraint",
                        "is left room for %h of %n %t by taints, tags or spread"},
    [WHY_CPU] = {"cpu", "finds GPUs, but CPU or memory for only %h of %n %t"},
    [WHY_CANCELLED] = {"cancelled", "was cancelled"},
    [WHY_LOST] = {"lost", "lost a member"},
    [WHY_STRAY] = {"stray", "a task that should not be there"},
    [WHY_LATE] = {"late", "was not whole in time: %h of %n %t came"},
    [WHY_FAULT] = {"fault", "its node or device is faulty"},
    [WHY_RECLAIMED] = {"reclaimed",
                       "makes room for one with a right to it; %o GPU-hours are lost"},
    [WHY_LIMIT] = {"limit", "ran into its time limit of %o s"},
    [WHY_AUTHORITY] = {"authority", "wants what muster may not do in its queue"},
    [WHY_CHEAPER] = {"cheaper", "waits about %o min, which costs %h GPU-hours; evicting would cost %n"},
    [WHY_MOVED] = {"moved", "makes room, by moves (%o): %h GPU-hours of waiting saved, %n lost"},
    [WHY_VALUE] = {"value", "starts before another, whose waiting loses %h; its own would lose %n"},
};

static const char *const endings[] = {"done", "failed", "rejected", "killed", "lost", "oom"};
static const char *const stops[] = {"preempt", "move", "end"};
static const char *const states[] = {"up", "drained", "down", "unknown"};
static const char *const device_states[] = {"ok", "suspect", "bad", "gone"};
static const char *const phases[] = {"bound", "running", "ready"};
static const char *const verbs[] = {"?", "hold", "release", "cancel", "checkpoint", "override"};
static const char *const refusals[] = {"gone", "conflict", "forbidden", "throttled",
                                       "not_sent", "node", "prepare"};

#define PICK(list, i) \
    ((unsigned)(i) < sizeof(list) / sizeof *(list) ? (list)[(unsigned)(i)] : "?")

const char *saying_code(int why_code)
{
    bool known = why_code >= 0 && why_code < WHY_CODES && whys[why_code].code;
    return known ? whys[why_code].code : "?";
}

const char *saying_ended(int ended_how)
{
    return PICK(endings, ended_how);
}

const char *saying_stop(int stop_mode)
{
    return PICK(stops, stop_mode);
}

void saying_devices(uint64_t devs, struct buf *out)
{
    bool first = true;
    if (!devs)
        buf_z(out, "none");
    for (int i = 0; i < 64; i++) {
        int from = i;
        if (!(devs >> i & 1))
            continue;
        while (i < 63 && devs >> (i + 1) & 1)
            i++;
        buf_fmt(out, from == i ? "%s%d" : "%s%d-%d", first ? "" : ",", from, i);
        first = false;
    }
}

static void mark(const struct words *w, const struct why *y, char m, struct buf *out)
{
    struct str level = words_text(w, y->level);
    switch (m) {
    case 'n':
        buf_fmt(out, "%" PRIu32, y->need);
        break;
    case 'h':
        buf_fmt(out, "%" PRIu32, y->have);
        break;
    case 'o':
        buf_fmt(out, "%" PRIu32, y->other);
        break;
    case 't':
        buf_z(out, y->need == 1 ? "task" : "tasks");
        break;
    default:
        buf_str(out, level.len ? level : STR("domain"));
    }
}

void saying_why(const struct words *w, const struct why *why, struct buf *out)
{
    if (why->code >= WHY_CODES || !whys[why->code].text) {
        buf_fmt(out, "reason %u", why->code);
        return;
    }
    for (const char *p = whys[why->code].text; *p; p++) {
        if (*p == '%')
            mark(w, why, *++p, out);
        else
            buf_char(out, *p);
    }
}

static void gang(const struct gang_ref *g, struct buf *out)
{
    buf_str(out, g->job);
    if (g->group || g->copy)
        buf_fmt(out, "/%u.%" PRIu32, g->group, g->copy);
}

static void task(const struct task_ref *t, struct buf *out)
{
    gang(&t->gang, out);
    buf_fmt(out, " slot %u.%" PRIu32, t->slot.leaf, t->slot.index);
    if (t->task.len)
        buf_fmt(out, " (" STR_FMT ")", STR_ARG(t->task));
    if (t->launch)
        buf_fmt(out, " of launch %" PRIu64 ".%" PRIu64, t->launch >> 40,
                t->launch & ((UINT64_C(1) << 40) - 1));
}

enum { SEATS_SHOWN = 8 };

static void seats(const struct seat *at, uint32_t n, struct buf *out)
{
    for (uint32_t i = 0; i < n && i < SEATS_SHOWN; i++) {
        buf_z(out, i ? ", " : ": ");
        buf_str(out, at[i].node);
        if (at[i].devs) {
            buf_z(out, " GPUs ");
            saying_devices(at[i].devs, out);
        }
    }
    if (n > SEATS_SHOWN)
        buf_fmt(out, " and %" PRIu32 " more", n - SEATS_SHOWN);
}

static void because(const struct words *w, const struct record *r, struct buf *out)
{
    if (r->why.code == WHY_NONE)
        return;
    buf_z(out, " (");
    saying_why(w, &r->why, out);
    buf_char(out, ')');
}

static void decision(const struct words *w, const struct record *r, struct buf *out)
{
    switch (r->kind) {
    case DE_LAUNCH:
        gang(&r->launch.gang, out);
        seats(r->launch.seats, r->launch.nseats, out);
        break;
    case DE_STOP:
        buf_fmt(out, "%s %" PRIu32 " tasks", saying_stop(r->stop.mode), r->stop.ntasks);
        if (r->stop.ntasks) {
            buf_z(out, ", first ");
            task(&r->stop.tasks[0], out);
        }
        break;
    case DE_ASK:
        buf_str(out, r->ask.job);
        break;
    case DE_HOLD:
        if (r->hold.what == HOLD_SPARE)
            buf_z(out, r->hold.until > r->at ? "spares" : "spares no longer");
        else
            gang(&r->hold.gang, out);
        if (r->hold.domain)
            buf_fmt(out, ": %" PRIu32 " in " STR_FMT, r->hold.count,
                    STR_ARG(words_text(w, r->hold.domain)));
        seats(r->hold.seats, r->hold.nseats, out);
        if (!r->hold.nseats && !r->hold.count)
            buf_z(out, ": let go");
        break;
    case DE_CORDON:
        buf_fmt(out, STR_FMT " %s", STR_ARG(r->cordon.node), r->cordon.on ? "on" : "off");
        break;
    case DE_SAY:
        if (r->say.node.len)
            buf_str(out, r->say.node);
        else
            gang(&r->say.gang, out);
        break;
    default:
        buf_fmt(out, "%" PRIu32 " left", r->pass.left);
    }
    because(w, r, out);
    if (r->would)
        buf_z(out, " [would]");
}

static void task_event(const struct record *r, struct buf *out)
{
    switch (r->kind) {
    case EV_TASK_AT:
        task(&r->task_at.ref, out);
        buf_fmt(out, " %s on " STR_FMT, PICK(phases, r->task_at.phase),
                STR_ARG(r->task_at.node));
        if (r->task_at.devs) {
            buf_z(out, " GPUs ");
            saying_devices(r->task_at.devs, out);
        }
        break;
    case EV_TASK_REFUSED:
        task(&r->task_refused.ref, out);
        buf_fmt(out, ": %s", PICK(refusals, r->task_refused.class_));
        break;
    case EV_TASK_ENDED:
        task(&r->task_ended.ref, out);
        buf_fmt(out, ": %s", saying_ended(r->task_ended.how));
        break;
    case EV_TASK_ENDING:
        task(&r->task_ending.ref, out);
        break;
    case EV_STOP_REFUSED:
        task(&r->stop_refused.ref, out);
        break;
    case EV_TASK_OFFERED:
        task(&r->task_offered.ref, out);
        break;
    default:
        task(&r->task_gone.ref, out);
    }
}

static void event(const struct words *w, const struct record *r, struct buf *out)
{
    switch (r->kind) {
    case EV_JOB_SET:
        buf_str(out, r->job_set->name);
        break;
    case EV_JOB_DO:
        buf_fmt(out, STR_FMT " %s", STR_ARG(r->job_do.job), PICK(verbs, r->job_do.verb));
        break;
    case EV_NODE_SET:
        buf_fmt(out, STR_FMT " %s", STR_ARG(r->node_set->name),
                PICK(states, r->node_set->state));
        break;
    case EV_NODE_GONE:
        buf_str(out, r->node_gone.node);
        break;
    case EV_DEVICE_SET:
        buf_fmt(out, STR_FMT " GPU %" PRIu32 " %s", STR_ARG(r->device_set.node),
                r->device_set.device, PICK(device_states, r->device_set.state));
        break;
    case EV_TAG_SET:
        buf_fmt(out, STR_FMT " %s", STR_ARG(words_text(w, r->tag_set.tag)),
                r->tag_set.on ? "on" : "off");
        break;
    case EV_FOREIGN_SET:
        buf_fmt(out, STR_FMT " on " STR_FMT, STR_ARG(r->foreign_set.name),
                STR_ARG(r->foreign_set.node));
        break;
    case EV_CHECKPOINT_SAVED:
        buf_fmt(out, STR_FMT " step %" PRIu64, STR_ARG(r->checkpoint_saved.job),
                r->checkpoint_saved.step);
        break;
    case EV_BUDGET_SET:
        buf_fmt(out, STR_FMT " %" PRIu32, STR_ARG(r->budget_set.job), r->budget_set.allowed);
        break;
    case EV_SYNC_BEGIN:
    case EV_SYNCED:
        buf_str(out, r->sync.node.len ? r->sync.node : STR("the world"));
        break;
    case EV_LEAD:
        buf_fmt(out, "%s, term %" PRIu32, r->lead.held ? "held" : "lost", r->lead.term);
        break;
    case EV_SIGNAL:
        buf_str(out, r->signal.job.len ? r->signal.job : r->signal.node);
        break;
    default:
        break;
    }
}

static bool is_task_event(int kind)
{
    return kind == EV_TASK_AT || kind == EV_TASK_REFUSED || kind == EV_TASK_ENDED ||
           kind == EV_TASK_ENDING || kind == EV_STOP_REFUSED || kind == EV_TASK_OFFERED ||
           kind == EV_TASK_GONE;
}

void saying_record(const struct words *w, const struct record *r, struct buf *out)
{
    struct buf what = {0};
    if (r->kind == REC_WORD)
        buf_fmt(&what, "%" PRIu32 " is " STR_FMT, r->word.id, STR_ARG(r->word.text));
    else if (record_is_decision(r->kind))
        decision(w, r, &what);
    else if (is_task_event(r->kind))
        task_event(r, &what);
    else if (record_is_event(r->kind))
        event(w, r, &what);
    buf_z(out, record_kind_name(r->kind));
    if (what.len) {
        buf_char(out, ' ');
        buf_str(out, buf_as_str(&what));
    }
    buf_done(&what);
}
