/* rehearse.c - what would become of a job, played on a copy of the state
 *
 * The copy comes by save and load. One step: the facts of a moment, a border, decide;
 * what it decides is answered by the facts of the next step. When nothing is left to
 * answer, time moves to the next end or to when the core wants to be called. O(running
 * tasks) a step. SPDX-License-Identifier: Apache-2.0 */
#include "cmd/rehearse.h"

#include <errno.h>

#include "base/hash.h"
#include "sched/phase.h"

struct member {          /* a task that runs */
    struct task_ref ref; /* its job's name lies in the rehearsal's text */
    int64_t end_at;      /* INT64_MAX: nobody has told */
};

struct play {
    struct rehearsal *r;
    struct sched *s;
    uint64_t seq;
    int64_t now;
    struct str job;
    uint64_t digest; /* of its name */
    VEC(struct member) members;
    struct records facts, next, out;
    uint32_t plan; /* of the last hold for it */
    bool launched;
};

static int64_t told_run_us(const struct job_look *j)
{
    return j->expected_us > 0 ? j->expected_us : j->time_limit_us;
}

static struct record *fact(struct play *p, int kind)
{
    struct record *r = records_add(&p->next, kind);
    r->at = p->now;
    return r;
}

static void member_add(struct play *p, const struct task_ref *ref, int64_t since,
                       const struct job_look *j)
{
    int64_t run = told_run_us(j);
    struct member m = {.ref = *ref, .end_at = INT64_MAX};
    m.ref.gang.job = j->name;
    if (run > 0)
        m.end_at = since + run > p->now ? since + run : p->now;
    vec_push(&p->members, m);
}

static void claim_begin(struct play *p, const struct claim_look *c,
                        const struct job_look *j)
{
    if (c->phase == CLAIM_RUNNING || c->phase == CLAIM_ISSUED)
        member_add(p, &c->ref, c->phase == CLAIM_RUNNING ? c->since : p->now, j);
    if (c->phase == CLAIM_ISSUED) {
        struct record *r = fact(p, EV_TASK_AT);
        r->task_at.ref = c->ref;
        r->task_at.node = c->node;
        r->task_at.devs = c->devs;
        r->task_at.slices = c->slices;
        r->task_at.since = p->now;
        r->task_at.phase = TASK_RUNNING;
    } else if (c->phase == CLAIM_ENDING) {
        struct record *r = fact(p, EV_TASK_ENDED);
        r->task_ended.ref = c->ref;
        r->task_ended.how = ENDED_KILLED;
    }
}

/* What runs in the state runs in the play. */
static void members_begin(struct play *p)
{
    struct job_look j;
    struct gang_look g;
    struct claim_look c;
    for (uint32_t id = 0; id < sched_look_jobs(p->s); id++) {
        uint32_t before = p->members.n;
        if (!sched_look_job(p->s, id, &j))
            continue;
        j.name = arena_str(&p->r->text, j.name);
        for (uint32_t i = 0; i < j.gangs; i++) {
            sched_look_gang(p->s, id, i, &g);
            for (uint32_t k = 0; k < g.slots; k++) {
                if (!sched_look_claim(p->s, id, i, k, &c))
                    continue;
                c.ref.gang.job = j.name;
                c.ref.task = arena_str(&p->r->text, c.ref.task);
                c.node = arena_str(&p->r->text, c.node);
                claim_begin(p, &c, &j);
            }
        }
        p->r->found.endless += p->members.n > before && told_run_us(&j) <= 0;
    }
}

static void fold(struct play *p, struct record *r)
{
    r->seq = ++p->seq;
    if (r->at < p->now)
        r->at = p->now;
    sched_fold(p->s, r);
}

static void launch(struct play *p, const struct record *d)
{
    struct job_look j = {0};
    uint32_t id = sched_look_find(p->s, d->launch.gang.job);
    if (id == UINT32_MAX || !sched_look_job(p->s, id, &j))
        return;
    j.name = arena_str(&p->r->text, j.name);
    for (uint32_t i = 0; i < d->launch.nseats; i++) {
        const struct seat *seat = &d->launch.seats[i];
        struct task_ref ref = {.task = arena_str(&p->r->text, seat->task),
                               .launch = d->launch.launch,
                               .gang = d->launch.gang,
                               .slot = seat->slot};
        ref.gang.job = j.name;
        member_add(p, &ref, p->now, &j);
        struct record *r = fact(p, EV_TASK_AT);
        r->task_at.ref = ref;
        r->task_at.node = arena_str(&p->r->text, seat->node);
        r->task_at.devs = seat->devs;
        r->task_at.slices = seat->slices;
        r->task_at.since = p->now;
        r->task_at.phase = TASK_RUNNING;
    }
}

static bool same_task(const struct task_ref *a, const struct task_ref *b)
{
    return a->launch == b->launch && a->slot.leaf == b->slot.leaf &&
           a->slot.index == b->slot.index && a->gang.group == b->gang.group &&
           a->gang.copy == b->gang.copy && str_eq(a->gang.job, b->gang.job);
}

static void evicted(struct play *p, struct str job)
{
    struct rehearsal *r = p->r;
    r->found.evicted++;
    for (uint32_t i = 0; i < r->evicted.n; i++)
        if (str_eq(r->evicted.at[i], job))
            return;
    vec_push(&r->evicted, job);
    r->found.evicted_jobs++;
}

static void stop(struct play *p, const struct record *d)
{
    bool for_it = d->why.who == p->digest || (p->plan && d->stop.plan == p->plan);
    for (uint32_t i = 0; i < d->stop.ntasks; i++) {
        const struct task_ref *t = &d->stop.tasks[i];
        for (uint32_t m = 0; m < p->members.n; m++) {
            if (!same_task(&p->members.at[m].ref, t))
                continue;
            struct record *r = fact(p, EV_TASK_ENDED);
            r->task_ended.ref = p->members.at[m].ref;
            r->task_ended.how = ENDED_KILLED;
            if (for_it && d->stop.mode == STOP_PREEMPT)
                evicted(p, p->members.at[m].ref.gang.job);
            p->members.at[m] = p->members.at[--p->members.n];
            break;
        }
    }
}

static void seats_text(struct play *p, const struct record *d)
{
    for (uint32_t i = 0; i < d->launch.nseats; i++) {
        if (i)
            buf_z(&p->r->seats, ", ");
        buf_str(&p->r->seats, d->launch.seats[i].node);
        if (d->launch.seats[i].devs) {
            buf_z(&p->r->seats, " GPUs ");
            saying_devices(d->launch.seats[i].devs, &p->r->seats);
        }
    }
}

/* Plans of the pass first: a stop may stand before the hold it belongs to. */
static void find_plan(struct play *p)
{
    for (uint32_t i = 0; i < p->out.list.n; i++) {
        const struct record *d = &p->out.list.at[i];
        if (d->kind == DE_HOLD && str_eq(d->hold.gang.job, p->job))
            p->plan = d->hold.plan;
        else if (d->kind == DE_LAUNCH && str_eq(d->launch.gang.job, p->job))
            p->plan = d->launch.plan;
    }
}

static void answer(struct play *p)
{
    find_plan(p);
    for (uint32_t i = 0; i < p->out.list.n; i++) {
        const struct record *d = &p->out.list.at[i];
        bool its = d->kind == DE_LAUNCH && str_eq(d->launch.gang.job, p->job);
        if (d->would)
            continue;
        if (d->kind == DE_LAUNCH)
            launch(p, d);
        else if (d->kind == DE_STOP)
            stop(p, d);
        else if (d->kind == DE_SAY && str_eq(d->say.gang.job, p->job))
            p->r->found.why = d->why;
        if (its && !p->launched) {
            p->launched = true;
            p->r->found.why = d->why;
            seats_text(p, d);
        }
    }
}

static void step(struct play *p)
{
    struct records swap = p->facts;
    struct record border = {.kind = REC_BORDER, .at = p->now};
    p->facts = p->next;
    p->next = swap;
    records_clear(&p->next);
    for (uint32_t i = 0; i < p->facts.list.n; i++)
        fold(p, &p->facts.list.at[i]);
    fold(p, &border);
    records_clear(&p->out);
    sched_decide(p->s, &p->out);
    p->seq += p->out.list.n;
    answer(p);
}

/* Everybody whose time has come. Jobs count once: their tasks end together. */
static void end_members(struct play *p)
{
    struct str last = {0};
    for (uint32_t i = 0; i < p->members.n;) {
        struct member *m = &p->members.at[i];
        if (m->end_at > p->now) {
            i++;
            continue;
        }
        struct record *r = fact(p, EV_TASK_ENDED);
        r->task_ended.ref = m->ref;
        r->task_ended.how = ENDED_DONE;
        p->r->found.ended += !str_eq(last, m->ref.gang.job);
        last = m->ref.gang.job;
        *m = p->members.at[--p->members.n];
    }
}

static int64_t next_end(const struct play *p)
{
    int64_t at = INT64_MAX;
    for (uint32_t i = 0; i < p->members.n; i++)
        if (p->members.at[i].end_at < at)
            at = p->members.at[i].end_at;
    return at;
}

/* Moves to the next moment at which anything happens; false: nothing ever will. */
static bool move(struct play *p, int64_t limit)
{
    int64_t end = next_end(p), due = sched_due(p->s), at = end < due ? end : due;
    if (p->next.list.n)
        return true;
    if (at == INT64_MAX || at > limit)
        return false;
    p->now = at > p->now ? at : p->now;
    if (due <= p->now)
        fact(p, EV_TIME);
    end_members(p);
    return true;
}

static void bring(struct play *p, const struct job_spec *spec,
                  const struct words *words)
{
    uint32_t known = sched_words(p->s)->n;
    for (uint32_t id = known + 1; id <= words->n; id++) {
        struct record *r = fact(p, REC_WORD);
        r->word.id = id;
        r->word.text = words_text(words, id);
    }
    fact(p, EV_JOB_SET)->job_set = spec;
}

static int copy_of(const struct sched *s, struct sched **ret, struct err *err)
{
    struct buf b = {0};
    sched_save(s, &b);
    int rc = sched_load(ret, buf_as_str(&b), err);
    buf_done(&b);
    return rc;
}

int rehearse(struct rehearsal *ret, const struct sched *s, uint64_t seq, int64_t at,
             struct str job, const struct job_spec *spec, const struct words *words,
             struct err *err)
{
    struct play p = {.r = ret,
                     .seq = seq,
                     .now = at,
                     .job = job,
                     .digest = digest_bytes(job.ptr, job.len, 0)};
    int64_t limit = at + REHEARSE_HORIZON_US;
    *ret = (struct rehearsal){0};
    int rc = copy_of(s, &ret->copy, err);
    if (rc)
        return rc;
    p.s = ret->copy;
    struct job_look j;
    struct gang_look g;
    uint32_t id = sched_look_find(p.s, job);
    if (!spec && id != UINT32_MAX && sched_look_job(p.s, id, &j) && j.gangs) {
        sched_look_gang(p.s, id, 0,
                        &g); /* its reason so far: it may not be said again */
        ret->found.why = g.why;
    }
    members_begin(&p);
    if (spec)
        bring(&p, spec, words);
    for (uint32_t n = 0; n < REHEARSE_STEPS_MAX && !p.launched; n++) {
        step(&p);
        if (!p.launched && !move(&p, limit))
            break;
    }
    ret->found.starts = p.launched;
    ret->found.wait_us = p.now - at;
    vec_done(&p.members);
    records_done(&p.facts);
    records_done(&p.next);
    records_done(&p.out);
    return 0;
}

void rehearsal_done(struct rehearsal *r)
{
    sched_destroy(r->copy);
    buf_done(&r->seats);
    vec_done(&r->evicted);
    arena_done(&r->text);
}
