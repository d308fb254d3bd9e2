/* event.c - the form of events, checked before anything is stamped or folded
 * One small check a kind, in a table by kind. Names are valid UTF-8 without control
 * characters, enums are known, times and sizes are bounded; whether an event makes
 * sense in a state is sched_check's question, not ours. SPDX-License-Identifier:
 * Apache-2.0 */
#include "event/event.h"

#include <errno.h>
#include <inttypes.h>

#define TIME_MAX (INT64_MAX / 4)
#define RANGE(what, value, most)                                                  \
    do {                                                                          \
        if ((uint64_t)(value) > (uint64_t)(most))                                 \
            return err_set(err, ERANGE, "%s %" PRIu64 " is above %" PRIu64, what, \
                           (uint64_t)(value), (uint64_t)(most));                  \
    } while (0)

static const char *const names[REC_KINDS] = {
    [REC_NONE] = "none",
    [REC_WORD] = "word",
    [REC_BORDER] = "border",
    [EV_JOB_SET] = "job_set",
    [EV_JOB_DO] = "job_do",
    [EV_TASK_OFFERED] = "task_offered",
    [EV_TASK_GONE] = "task_gone",
    [EV_NODE_SET] = "node_set",
    [EV_NODE_GONE] = "node_gone",
    [EV_DEVICE_SET] = "device_set",
    [EV_TAG_SET] = "tag_set",
    [EV_FOREIGN_SET] = "foreign_set",
    [EV_TASK_AT] = "task_at",
    [EV_TASK_REFUSED] = "task_refused",
    [EV_TASK_ENDING] = "task_ending",
    [EV_TASK_ENDED] = "task_ended",
    [EV_STOP_REFUSED] = "stop_refused",
    [EV_CHECKPOINT_SAVED] = "checkpoint_saved",
    [EV_BUDGET_SET] = "budget_set",
    [EV_SIGNAL] = "signal",
    [EV_POLICY_SET] = "policy_set",
    [EV_SYNC_BEGIN] = "sync_begin",
    [EV_SYNCED] = "synced",
    [EV_SOFT_SET] = "soft_set",
    [EV_LEAD] = "lead",
    [EV_TIME] = "time",
    [DE_LAUNCH] = "launch",
    [DE_STOP] = "stop",
    [DE_ASK] = "ask",
    [DE_HOLD] = "hold",
    [DE_CORDON] = "cordon",
    [DE_SAY] = "say",
    [DE_PASS] = "pass",
};

const char *record_kind_name(int kind)
{
    return kind >= 0 && kind < REC_KINDS ? names[kind] : "?";
}

static int named(struct str s, const char *what, struct err *err)
{
    int rc = name_check(s, JOB_NAME_MAX, err);
    if (rc)
        err_prefix(err, "%s", what);
    return rc;
}

static int named_or_empty(struct str s, const char *what, struct err *err)
{
    return s.len ? named(s, what, err) : 0;
}

static int time_ok(int64_t t, const char *what, struct err *err)
{
    if (t < 0 || t > TIME_MAX)
        return err_set(err, ERANGE, "%s %" PRId64 " is outside 0 to %" PRId64, what, t,
                       TIME_MAX);
    return 0;
}

/* A task is known by its own name, or by (launch, slot). */
static int ref_check(const struct task_ref *t, struct err *err)
{
    if (!t->task.len && !t->launch)
        return err_set(err, EINVAL, "task: neither a name nor a launch");
    int rc = named_or_empty(t->task, "task", err);
    if (!rc)
        rc = named_or_empty(t->gang.job, "job of the task", err);
    if (rc)
        return rc;
    if (t->gang.group != GROUP_NONE)
        RANGE("group", t->gang.group, JOB_GROUPS_MAX - 1);
    if (t->slot.leaf != GROUP_NONE)
        RANGE("leaf", t->slot.leaf, JOB_GROUPS_MAX - 1);
    RANGE("copy", t->gang.copy, JOB_SLOTS_MAX - 1);
    RANGE("slot index", t->slot.index, JOB_SLOTS_MAX - 1);
    return 0;
}

static int check_word(const struct record *r, struct err *err)
{
    if (r->word.id == WORD_NONE || r->word.id > WORD_MAX)
        return err_set(err, ERANGE, "id %u is outside 1 to %u", r->word.id, WORD_MAX);
    int rc = name_check(r->word.text, WORD_LEN_MAX, err);
    if (rc)
        err_prefix(err, "text");
    return rc;
}

static int check_job_set(const struct record *r, struct err *err)
{
    if (!r->job_set)
        return err_set(err, EINVAL, "no spec");
    return job_spec_check(r->job_set, err);
}

static int check_job_do(const struct record *r, struct err *err)
{
    if (r->job_do.verb < JOB_HOLD || r->job_do.verb > JOB_OVERRIDE)
        return err_set(err, EINVAL, "verb %u is unknown", r->job_do.verb);
    int rc = named(r->job_do.job, "job", err);
    if (!rc)
        rc = named_or_empty(r->job_do.by, "by", err);
    return rc ? rc : named_or_empty(r->job_do.reason, "reason", err);
}

static int check_task_offered(const struct record *r, struct err *err)
{
    int rc = ref_check(&r->task_offered.ref, err);
    if (!rc)
        rc = named(r->task_offered.ref.task, "task", err);
    if (!rc)
        rc = named(r->task_offered.ref.gang.job, "job", err);
    if (!rc && r->task_offered.shape)
        rc = shape_check(r->task_offered.shape, err);
    return rc;
}

static int check_task_gone(const struct record *r, struct err *err)
{
    return ref_check(&r->task_gone.ref, err);
}

static int check_node_set(const struct record *r, struct err *err)
{
    if (!r->node_set)
        return err_set(err, EINVAL, "no description");
    int rc = named(r->node_set->name, "name", err);
    if (!rc)
        rc = named_or_empty(r->node_set->uid, "uid", err);
    return rc ? rc : node_desc_check(r->node_set, err);
}

static int check_node_gone(const struct record *r, struct err *err)
{
    return named(r->node_gone.node, "node", err);
}

static int check_device_set(const struct record *r, struct err *err)
{
    RANGE("device", r->device_set.device, NODE_DEVICES_MAX - 1);
    RANGE("state", r->device_set.state, DEVICE_GONE);
    RANGE("evidence", r->device_set.evidence, WORD_MAX);
    return named(r->device_set.node, "node", err);
}

static int check_tag_set(const struct record *r, struct err *err)
{
    if (r->tag_set.tag == WORD_NONE || r->tag_set.tag > WORD_MAX)
        return err_set(err, EINVAL, "tag %u is no word", r->tag_set.tag);
    RANGE("number of nodes", r->tag_set.nnodes, TAG_SET_MAX);
    RANGE("number of tasks", r->tag_set.ntasks, TAG_SET_MAX);
    int rc = 0;
    for (uint32_t i = 0; i < r->tag_set.nnodes && !rc; i++)
        rc = named(r->tag_set.nodes[i], "node", err);
    for (uint32_t i = 0; i < r->tag_set.ntasks && !rc; i++)
        rc = named(r->tag_set.tasks[i], "task", err);
    return rc;
}

static int check_foreign_set(const struct record *r, struct err *err)
{
    RANGE("phase", r->foreign_set.phase, FOREIGN_GONE);
    int rc = named(r->foreign_set.name, "name", err);
    if (rc)
        return rc;
    if (r->foreign_set.phase == FOREIGN_GONE)
        return named_or_empty(r->foreign_set.node, "node", err);
    if (!r->foreign_set.shape)
        return err_set(err, EINVAL, "no shape");
    rc = r->foreign_set.phase == FOREIGN_PENDING
             ? named_or_empty(r->foreign_set.node, "node", err)
             : named(r->foreign_set.node, "node", err);
    return rc ? rc : shape_check(r->foreign_set.shape, err);
}

static int check_task_at(const struct record *r, struct err *err)
{
    RANGE("phase", r->task_at.phase, TASK_READY);
    RANGE("alt", r->task_at.alt, SHAPE_ALTS_MAX - 1);
    uint64_t devs = r->task_at.devs;
    if (r->task_at.slices && (!devs || (devs & (devs - 1))))
        return err_set(err, EINVAL, "slices need exactly one device");
    int rc = ref_check(&r->task_at.ref, err);
    if (!rc)
        rc = named(r->task_at.node, "node", err);
    return rc ? rc : time_ok(r->task_at.since, "since", err);
}

static int check_task_refused(const struct record *r, struct err *err)
{
    RANGE("class", r->task_refused.class_, REFUSED_PREPARE);
    int rc = ref_check(&r->task_refused.ref, err);
    return rc ? rc : time_ok(r->task_refused.retry_at, "retry_at", err);
}

static int check_task_ending(const struct record *r, struct err *err)
{
    RANGE("by", r->task_ending.by, ENDING_NODE);
    int rc = ref_check(&r->task_ending.ref, err);
    return rc ? rc : time_ok(r->task_ending.deadline, "deadline", err);
}

static int check_task_ended(const struct record *r, struct err *err)
{
    RANGE("how", r->task_ended.how, ENDED_OOM);
    return ref_check(&r->task_ended.ref, err);
}

static int check_stop_refused(const struct record *r, struct err *err)
{
    RANGE("why", r->stop_refused.why, STOP_FORBIDDEN);
    int rc = ref_check(&r->stop_refused.ref, err);
    return rc ? rc : time_ok(r->stop_refused.retry_at, "retry_at", err);
}

static int check_checkpoint_saved(const struct record *r, struct err *err)
{
    int rc = named(r->checkpoint_saved.job, "job", err);
    return rc ? rc : time_ok(r->checkpoint_saved.saved_at, "saved_at", err);
}

static int check_budget_set(const struct record *r, struct err *err)
{
    return named(r->budget_set.job, "job", err);
}

static int check_signal(const struct record *r, struct err *err)
{
    RANGE("kind", r->signal.kind, SIGNAL_IDLE);
    if (!r->signal.job.len && !r->signal.node.len)
        return err_set(err, EINVAL, "neither a job nor a node");
    int rc = named_or_empty(r->signal.job, "job", err);
    return rc ? rc : named_or_empty(r->signal.node, "node", err);
}

static int check_policy_set(const struct record *r, struct err *err)
{
    RANGE("length of the text", r->policy_set.text.len, POLICY_BYTES_MAX);
    return 0;
}

static int check_sync(const struct record *r, struct err *err)
{
    return named_or_empty(r->sync.node, "node", err);
}

static int check_soft_set(const struct record *r, struct err *err)
{
    RANGE("number of bytes", r->soft_set.bytes.len, SOFT_BYTES_MAX);
    return 0;
}

static int check_lead(const struct record *r, struct err *err)
{
    RANGE("term", r->lead.term, TERM_MAX);
    return 0;
}

static int check_nothing(const struct record *r, struct err *err)
{
    (void)r;
    (void)err;
    return 0;
}

typedef int check_f(const struct record *r, struct err *err);
static check_f *const checks[REC_KINDS] = {
    [REC_WORD] = check_word,
    [EV_JOB_SET] = check_job_set,
    [EV_JOB_DO] = check_job_do,
    [EV_TASK_OFFERED] = check_task_offered,
    [EV_TASK_GONE] = check_task_gone,
    [EV_NODE_SET] = check_node_set,
    [EV_NODE_GONE] = check_node_gone,
    [EV_DEVICE_SET] = check_device_set,
    [EV_TAG_SET] = check_tag_set,
    [EV_FOREIGN_SET] = check_foreign_set,
    [EV_TASK_AT] = check_task_at,
    [EV_TASK_REFUSED] = check_task_refused,
    [EV_TASK_ENDING] = check_task_ending,
    [EV_TASK_ENDED] = check_task_ended,
    [EV_STOP_REFUSED] = check_stop_refused,
    [EV_CHECKPOINT_SAVED] = check_checkpoint_saved,
    [EV_BUDGET_SET] = check_budget_set,
    [EV_SIGNAL] = check_signal,
    [EV_POLICY_SET] = check_policy_set,
    [EV_SYNC_BEGIN] = check_sync,
    [EV_SYNCED] = check_sync,
    [EV_SOFT_SET] = check_soft_set,
    [EV_LEAD] = check_lead,
    [EV_TIME] = check_nothing,
};

int event_check(const struct record *r, struct err *err)
{
    if (r->kind >= REC_KINDS || !checks[r->kind])
        return err_set(err, EINVAL, "record kind %u (%s) is no event", r->kind,
                       record_kind_name(r->kind));
    int rc = time_ok(r->at, "at", err);
    if (!rc)
        rc = checks[r->kind](r, err);
    if (rc)
        err_prefix(err, "%s", record_kind_name(r->kind));
    return rc;
}
