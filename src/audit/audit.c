/* audit.c - the independent checker: rebuilds every claim from the records alone
 *
 * Fed each record in order, it keeps its own books (book.c, told.c, tasks.c,
 * members.c), simple rather than fast, and checks after each record what DESIGN.md
 * promises:
 *
 *   1  no core, byte, device or share is given twice by a decision; excess that the
 *      world makes marks its node, and nothing more goes there (room.c, verdict.c)
 *   2  no gang below its minimum holds room but while launching, ending or in grace
 *   7  each waiting gang has a reason with numbers; each GPU-second one cause
 *
 * and the protocol: decisions only behind a border, while synced and leading; launches
 * onto known nodes that take part, of legal devices, types, taints, sizes and layouts,
 * of jobs that nobody holds, each slot once, ids increasing; stops of live tasks
 * (seats.c, layout.c, verdict.c). Invariants 3 to 5 come with preemption, promises and
 * quotas; 6 is tested by digests.
 *
 * Where CORE.md leaves room, this is how it is read here:
 *
 * - A pass is a border with the decisions behind it, until the next record that is no
 *   decision. Invariants 2 and 7 are judged at its end; they bind only while synced and
 *   leading, and when the pass left nothing undone (its bound counts questions).
 * - Done members count towards a gang's minimum; issued ones do not.
 * - "In repair grace" is counted from when the gang lost a member while it was whole,
 *   and again from when it fell below its minimum or was found so at `synced`, for the
 *   policy's repair_grace of that time; each launch or hold for it allows it until its
 *   launch_by or until; a refused stop or launch until it may be tried again.
 * - A task that ends `lost` leaves its node unsynced: nothing goes there before a sync
 *   names that node (or a new uid makes it another node).
 * - A gang pends (makes demand in the ledger) while it waits and may be tried: not held
 *   by a person, not in back-off, its tasks offered.
 * - Work that is lost is what its task did as `running` since its start or the job's
 *   last checkpoint; the time it took to end was `saving` and stays so, and when a stop
 *   is refused its start moves on by that time.
 * - Room for a task of several devices means devices of one type on one node; a task
 *   that was given a mixture all the same is not faulted for it.
 * - Groups below a gang's root stand in their wanted number; leaves are elastic.
 *
 * Cost: a record pays for the claims on the nodes it names and the slots of its gang.
 * SPDX-License-Identifier: Apache-2.0 */
#include "audit/audit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "audit/book.h"
#include "base/units.h"

int audit_bad(struct audit *a, const char *fmt, ...)
{
    if (a->rc)
        return a->rc;
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    a->rc = err_set(a->err, EPROTO, "record %llu (%s at %lld): %s",
                    (unsigned long long)a->r->seq, record_kind_name(a->r->kind),
                    (long long)a->r->at, text);
    return a->rc;
}

struct audit *audit_create(void)
{
    struct audit *a = mem_zero(sizeof *a);
    a->launch_timeout_us = 10 * US_PER_MIN;
    a->repair_grace_us = 5 * US_PER_MIN;
    return a;
}

void audit_destroy(struct audit *a)
{
    if (!a)
        return;
    book_done(a);
    free(a);
}

static int word(struct audit *a, const struct record *r)
{
    word_t old = words_find(&a->words, r->word.text);
    if (old && old != r->word.id)
        return audit_bad(a, "protocol: the word " STR_FMT " is %u and %u",
                         STR_ARG(r->word.text), old, r->word.id);
    if (!old && words_add(&a->words, r->word.text) != r->word.id)
        return audit_bad(a, "protocol: word %u is out of order", r->word.id);
    if (str_is(r->word.text, "node"))
        a->node_level = r->word.id;
    return 0;
}

static int order(struct audit *a, const struct record *r)
{
    if (a->started && r->seq != a->seq + 1)
        return audit_bad(a, "protocol: seq follows %llu", (unsigned long long)a->seq);
    if (a->started && r->at < a->at)
        return audit_bad(a, "protocol: time goes back from %lld", (long long)a->at);
    if (!a->started)
        a->ledger_at = r->at;
    a->started = true;
    a->seq = r->seq;
    room_advance(a, r->at);
    a->at = r->at;
    return 0;
}

static int seats_settle(struct audit *a, struct bgang *g)
{
    char text[160];
    for (uint32_t s = 0; s < g->nslots; s++) {
        struct bclaim *c = g->slots[s].claim;
        if (!c || !c->doubt || !c->node)
            continue;
        const char *why = constraint_broken(a, c, text);
        struct slot_ref ref = book_slot_ref(g, s);
        if (why)
            return audit_bad(a,
                             "protocol: " STR_FMT " %u.%u slot %u/%u on " STR_FMT
                             ": %s",
                             STR_ARG(g->job->spec.name), g->root, g->copy, ref.leaf,
                             ref.index, STR_ARG(c->node->name), why);
    }
    return layout_check(a, g);
}

/* The pass is over: its plans are whole. */
static int pass_end(struct audit *a)
{
    int rc = 0;
    a->in_pass = false;
    for (uint32_t i = 0; i < a->launched.n && !rc; i++)
        if (a->launched.at[i])
            rc = seats_settle(a, a->launched.at[i]);
    for (uint32_t i = 0; i < a->launched.n; i++) {
        struct bgang *g = a->launched.at[i];
        for (uint32_t s = 0; g && s < g->nslots; s++)
            if (g->slots[s].claim)
                g->slots[s].claim->fresh = g->slots[s].claim->doubt = false;
        if (g)
            g->launched = g->first = false;
    }
    vec_clear(&a->launched);
    if (!rc && a->synced && a->leading)
        rc = members_check(a);
    return rc;
}

static void fact(struct audit *a, const struct record *r)
{
    switch (r->kind) {
    case EV_JOB_SET:
    case EV_JOB_DO:
    case EV_POLICY_SET:
    case EV_CHECKPOINT_SAVED:
    case EV_BUDGET_SET:
    case EV_SIGNAL:
    case EV_SOFT_SET: told_job(a, r); return;
    case EV_NODE_SET:
    case EV_NODE_GONE:
    case EV_DEVICE_SET:
    case EV_TAG_SET:
    case EV_FOREIGN_SET: told_node(a, r); return;
    case EV_SYNC_BEGIN:
    case EV_SYNCED:
    case EV_LEAD: told_sync(a, r); return;
    case EV_TIME: return;
    default: tasks_fold(a, r);
    }
}

int audit_record(struct audit *a, const struct record *r, struct err *err)
{
    a->err = err;
    a->r = r;
    a->rc = 0;
    bool decision = record_is_decision(r->kind);
    if (a->in_pass && !decision)
        pass_end(a);
    if (!a->rc)
        order(a, r);
    if (a->rc)
        return a->rc;
    if (decision) {
        verdict(a, r);
    } else if (r->kind == REC_WORD) {
        word(a, r);
    } else if (r->kind == REC_BORDER) {
        a->in_pass = true;
        a->left = 0;
        backoffs_end(a);
    } else if (record_is_event(r->kind)) {
        fact(a, r);
    } else {
        audit_bad(a, "protocol: a record of no kind");
    }
    room_settle(a);
    return a->rc;
}

int audit_phase(const struct audit *a, const struct task_ref *ref)
{
    const struct bclaim *c = tasks_find(a, ref);
    return c ? (int)c->phase : BP_FREE;
}

void audit_ledger(const struct audit *a, struct ledger *ret)
{
    *ret = a->ledger;
}
