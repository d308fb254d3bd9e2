/* control.c - the loop that joins a world, the journal and the core
 *
 * One turn: wait for the facts of one instant; check, stamp and fold each; a border; decide;
 * write the frame (events, border, decisions), or count it where there is no journal; act.
 * Time never goes back: a record that claims an earlier time than the last is stamped with the
 * last's. Sequence numbers are given here to events and borders, and by the core to its decisions,
 * which follow on. Two record lists are reused for the whole run, so a turn allocates
 * nothing. Cost: about 20 ns a record besides fold and decide.
 * SPDX-License-Identifier: Apache-2.0 */
#include "control/control.h"

#include <assert.h>
#include <errno.h>

#include "event/codec.h"

/* Progress is told about so often (records). */
enum { PROGRESS_EVERY = 65536 };

struct turn {
    struct sched *sched;
    struct world *world;
    const struct control_options *opt;
    struct audit *audit;
    struct control_totals t;
    struct records batch, decisions, sent;
    struct record border; /* the only fields that change: seq, at */
    struct buf bytes;
    uint64_t seq;
    int64_t at;
    uint64_t next_progress;
    uint64_t observed; /* kinds that the observer sees, a bit each */
    uint64_t watched;  /* kinds that anybody wants to see */
};

/* What stands between fold and the next record: the audit, the observer, the byte count. */
static int look(struct turn *c, const struct record *r, struct err *err)
{
    if (c->audit) {
        int rc = audit_record(c->audit, r, err);
        if (rc)
            return rc;
    }
    if (c->opt->count_bytes) {
        buf_clear(&c->bytes);
        record_encode(r, &c->bytes);
        c->t.bytes += c->bytes.len;
    }
    if (c->opt->journal)
        journal_add(c->opt->journal, r);
    if (c->observed >> r->kind & 1)
        c->opt->observe(c->opt->observe_arg, r);
    return 0;
}

static int check(struct turn *c, const struct record *r, struct err *err)
{
    struct err why;
    if (!c->world->trusted) {
        int rc = event_check(r, err);
        if (rc) /* not even well-formed: the world is broken, not merely late */
            return err_prefix(err, "world %s", c->world->name);
    }
    if ((c->opt->check || !c->world->trusted) && sched_check(c->sched, r, &why))
        c->t.refused++;
    return 0;
}

static int fold_event(struct turn *c, struct record *r, struct err *err)
{
    bool event = record_is_event(r->kind);
    if (event && (c->opt->check || !c->world->trusted)) {
        int rc = check(c, r, err);
        if (rc)
            return rc;
    }
    if (r->at < c->at)
        r->at = c->at;
    c->at = r->at;
    r->seq = ++c->seq;
    c->t.events += event;
    sched_fold(c->sched, r);
    return c->watched >> r->kind & 1 ? look(c, r, err) : 0;
}

static int border(struct turn *c, struct err *err)
{
    c->border.seq = ++c->seq;
    c->border.at = c->at;
    c->t.borders++;
    sched_fold(c->sched, &c->border);
    return c->watched >> REC_BORDER & 1 ? look(c, &c->border, err) : 0;
}

/* Decisions that had no effect are not sent. They are rare, so most turns copy nothing. */
static const struct records *to_send(struct turn *c)
{
    uint32_t would = 0;
    for (uint32_t i = 0; i < c->decisions.list.n; i++)
        would += c->decisions.list.at[i].would;
    if (!would)
        return &c->decisions;
    vec_clear(&c->sent.list);
    for (uint32_t i = 0; i < c->decisions.list.n; i++)
        if (!c->decisions.list.at[i].would)
            vec_push(&c->sent.list, c->decisions.list.at[i]); /* strings stay borrowed */
    return &c->sent;
}

static int decide(struct turn *c, struct err *err)
{
    records_clear(&c->decisions);
    sched_decide(c->sched, &c->decisions);
    uint32_t n = c->decisions.list.n;
    for (uint32_t i = 0; i < n; i++) {
        const struct record *r = &c->decisions.list.at[i];
        assert(r->seq == c->seq + 1 && r->at == c->at); /* the core numbers on from us */
        c->seq = r->seq;
        if (c->watched >> r->kind & 1) {
            int rc = look(c, r, err);
            if (rc)
                return rc;
        }
    }
    c->t.decisions += n;
    if (c->opt->invariants)
        sched_invariants(c->sched);
    return 0;
}

/* The frame of this turn; from here on it is settled. */
static int keep(struct turn *c, struct err *err)
{
    struct journal *j = c->opt->journal;
    int rc = journal_commit(j, err);
    if (!rc && c->opt->durable)
        rc = journal_sync(j, err);
    if (!rc && journal_wants_snapshot(j)) {
        struct buf state = {0};
        sched_save(c->sched, &state);
        rc = journal_snapshot(j, &state, err);
        buf_done(&state);
    }
    return rc;
}

/* While the disk is full only what ends, stops or tells of the world is taken. 1: refused. */
static int refuse(struct turn *c, const struct record *r, struct err *err)
{
    struct err why;
    if (r->kind != EV_JOB_SET)
        return 0;
    err_set(&why, ENOSPC, "job '" STR_FMT "' is refused: the journal's disk is full; "
            "ends and stops are still taken", STR_ARG(r->job_set->name));
    c->t.no_room++;
    if (c->world->refused) {
        c->world->refused(c->world, r, &why);
        return 1;
    }
    if (err)
        *err = why;
    return -ENOSPC;
}

static int turn(struct turn *c, struct err *err)
{
    records_clear(&c->batch);
    int more = c->world->wait(c->world, sched_due(c->sched), BATCH_MAX, c->opt->each,
                              &c->batch, err);
    if (more <= 0)
        return more;
    bool tight = c->opt->journal && journal_is_tight(c->opt->journal);
    for (uint32_t i = 0; i < c->batch.list.n; i++) {
        struct record *r = &c->batch.list.at[i];
        int rc = tight ? refuse(c, r, err) : 0;
        if (!rc)
            rc = fold_event(c, r, err);
        if (rc < 0)
            return rc;
    }
    int rc = border(c, err);
    if (!rc)
        rc = decide(c, err);
    if (rc)
        return rc;
    c->t.frames++;
    if (c->opt->journal)
        rc = keep(c, err);
    if (!rc && c->decisions.list.n)
        rc = c->world->act(c->world, to_send(c), err);
    return rc ? rc : 1;
}

static int set_policy(struct turn *c, struct str text, struct err *err)
{
    struct record r = {.at = c->at, .kind = EV_POLICY_SET};
    r.policy_set.text = text;
    int rc = sched_check(c->sched, &r, err); /* a bad policy stops here, not mid-run */
    return rc ? rc : fold_event(c, &r, err);
}

/* Behind the last record of a journal that is continued. */
static void go_on(struct turn *c, const struct journal *j)
{
    struct journal_totals t;
    journal_totals(j, &t);
    c->seq = t.seq;
    if (t.seq && t.at > c->at)
        c->at = t.at;
}

int control_run(struct sched *s, struct world *w, struct str policy_text,
                const struct control_options *opt, struct control_totals *ret,
                struct err *err)
{
    struct turn c = {.sched = s, .world = w, .opt = opt, .at = opt->start_at,
                     .border.kind = REC_BORDER};
    struct audit *own = NULL;
    int more;
    if (opt->audit)
        c.audit = opt->auditor ? opt->auditor : (own = audit_create());
    _Static_assert(REC_KINDS <= 64, "a bit each");
    if (opt->observe)
        c.observed = opt->observe_kinds ? opt->observe_kinds : UINT64_MAX;
    c.watched = c.audit || opt->count_bytes || opt->journal ? UINT64_MAX : c.observed;
    if (opt->journal)
        go_on(&c, opt->journal);
    c.next_progress = PROGRESS_EVERY;
    int rc = set_policy(&c, policy_text, err);
    more = rc ? rc : 1;
    while (more > 0) {
        more = turn(&c, err);
        if (more > 0 && opt->progress && c.seq >= c.next_progress) {
            c.next_progress = c.seq + PROGRESS_EVERY;
            if (opt->progress(opt->progress_arg, c.at, c.seq))
                break;
        }
    }
    c.t.records = c.seq;
    c.t.at = c.at;
    *ret = c.t;
    audit_destroy(own);
    records_done(&c.batch);
    records_done(&c.decisions);
    vec_done(&c.sent.list);
    buf_done(&c.bytes);
    return more < 0 ? more : 0;
}
