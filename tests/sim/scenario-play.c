/* scenario-play.c - plays a scenario: time, borders, decisions, and what always holds
 *
 * At each instant all facts are folded, then comes a border and the core decides; the
 * world answers what it answers at once, and so on until all is quiet; only then is
 * anything expected. Between steps the clock goes to the next answer of the world or to
 * what the core asked for. After each record the audit looks at it, after each border
 * the core's own invariants are checked; at the end the whole stream is decoded and
 * folded by a fresh core, which must come to the same digest. SPDX-License-Identifier:
 * Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "audit/audit.h"
#include "event/codec.h"
#include "scenario.h"
#include "sched/sched.h"
#include "words/saying.h"

enum { TURNS_MAX = 10000 }; /* at one instant: more would never be quiet */

void player_init(struct player *p, struct scenario *sc)
{
    *p = (struct player){.sc = sc,
                         .manual = sc->manual,
                         .start_us = sc->start_us,
                         .stop_us = sc->stop_us};
    p->s = sched_create();
    p->audit = audit_create();
    uint32_t n = sc->cluster.nodes.n;
    p->rooms = mem_zero(n * sizeof *p->rooms);
    p->nodes = mem_alloc(n * sizeof *p->nodes);
    memcpy(p->nodes, sc->cluster.nodes.at, n * sizeof *p->nodes);
}

void player_done(struct player *p)
{
    for (uint32_t i = 0; i < p->jobs.n; i++) {
        vec_done(&p->jobs.at[i].tasks);
        vec_done(&p->jobs.at[i].gangs);
        vec_done(&p->jobs.at[i].launches);
    }
    vec_done(&p->jobs);
    vec_done(&p->tasks);
    vec_done(&p->todo);
    heap_done(&p->queue);
    strmap_done(&p->job_ids);
    records_done(&p->out);
    buf_done(&p->stream);
    buf_done(&p->line);
    free(p->rooms);
    free(p->nodes);
    audit_destroy(p->audit);
    sched_destroy(p->s);
    if (p->other)
        sched_destroy(p->other);
}

void player_counts(const struct player *p, int64_t counts[COUNTS_MAX])
{
    struct sched_counts c;
    sched_counts(p->s, &c);
    const int64_t all[] = {(int64_t)p->nrecords,
                           (int64_t)c.questions,
                           (int64_t)c.launches,
                           (int64_t)c.stops,
                           (int64_t)c.says,
                           (int64_t)c.passes,
                           (int64_t)c.noops,
                           p->evictions,
                           p->holds,
                           p->plans,
                           p->launches + p->stops + p->holds,
                           p->borders,
                           p->would,
                           c.jobs,
                           c.pending_gangs,
                           c.claims,
                           c.pending_gpu_milli / 1000};
    memcpy(counts, all, sizeof all);
}

/* No half gang: what a first launch brings, with what is held beside it, is the
 * minimum. */
static void whole_check(struct player *p, const struct record *r)
{
    uint32_t job = strmap_get(&p->job_ids, r->launch.gang.job), seats = 0;
    if (job == MAP_NONE) {
        trouble(p, "a launch of an unknown job");
        return;
    }
    const struct sim_job *j = &p->jobs.at[job];
    const struct job_spec *spec = &j->plan->spec;
    for (uint32_t i = 0; i < j->gangs.n; i++)
        if (j->gangs.at[i].group == r->launch.gang.group &&
            j->gangs.at[i].copy == r->launch.gang.copy && j->gangs.at[i].alive)
            return; /* not its first */
    for (uint32_t i = 0; i < p->out.list.n; i++) {
        const struct record *o = &p->out.list.at[i];
        const struct gang_ref *g =
            o->kind == DE_LAUNCH ? &o->launch.gang : &o->hold.gang;
        if ((o->kind == DE_LAUNCH || o->kind == DE_HOLD) &&
            g->copy == r->launch.gang.copy && g->group == r->launch.gang.group &&
            str_eq(g->job, r->launch.gang.job))
            seats += o->kind == DE_LAUNCH ? o->launch.nseats : o->hold.nseats;
    }
    uint16_t group = r->launch.gang.group;
    bool lone = spec->groups[group].shape != GROUP_NONE;
    uint32_t min = lone ? 1 : job_spec_slots(spec, group, 1);
    if (seats < min)
        trouble(p, "a gang of " STR_FMT " starts with %u of its %u tasks",
                STR_ARG(spec->name), seats, min);
}

static void show(struct player *p, const struct record *r)
{
    buf_clear(&p->line);
    saying_record(&p->sc->words, r, &p->line);
    remark("%8.3f s  %s", (double)r->at / 1e6, p->line.data ? p->line.data : "");
}

static void decide(struct player *p)
{
    struct record border = {.kind = REC_BORDER};
    struct err err = {0};
    fold_fact(p, &border);
    p->facts = false;
    records_clear(&p->out);
    sched_decide(p->s, &p->out);
    sched_invariants(p->s);
    for (uint32_t i = 0; i < p->out.list.n; i++) {
        const struct record *r = &p->out.list.at[i];
        p->seq++;
        p->nrecords++;
        record_encode(r, &p->stream);
        if (p->other)
            sched_fold(p->other, r);
        if (audit_record(p->audit, r, &err))
            trouble(p, "%s", err.text);
        show(p, r);
        if (r->kind == DE_LAUNCH && !r->would)
            whole_check(p, r);
        world_act(p, r);
    }
    if (p->other &&
        sched_digest(p->s, DIGEST_ALL) != sched_digest(p->other, DIGEST_ALL))
        trouble(p, "since its restart the core has come to another digest");
    plans_check(p);
    p->borders += p->out.list.n > 0;
}

/* What the world owes at this instant. */
static void answers(struct player *p)
{
    const struct heap_item *top;
    while ((top = heap_top(&p->queue)) && top->key <= p->now) {
        struct heap_item item = heap_pop(&p->queue);
        struct action a = p->todo.at[item.item];
        world_do(p, &a);
    }
}

static void settle(struct player *p)
{
    int turns = 0;
    for (;; turns++) {
        answers(p);
        if (!p->facts && sched_due(p->s) > p->now)
            return;
        if (turns == TURNS_MAX) {
            trouble(p, "still not quiet after %d decisions at one instant", TURNS_MAX);
            return;
        }
        if (!p->facts) {
            struct record r = {.kind = EV_TIME};
            fold_fact(p, &r);
        }
        decide(p);
    }
}

/* All that comes by itself before `until`. */
static void pass_time(struct player *p, int64_t until)
{
    settle(p);
    for (;;) {
        int64_t due = sched_due(p->s);
        const struct heap_item *top = heap_top(&p->queue);
        int64_t next = top && top->key < due ? top->key : due;
        if (next >= until || p->trouble.code)
            break;
        p->now = next;
        settle(p);
    }
    p->now = until;
}

/* The core's state goes through bytes; nothing may be lost or gained. */
static void restart(struct player *p)
{
    struct buf b = {0};
    struct err err = {0};
    struct sched *copy = NULL;
    uint64_t before = sched_digest(p->s, DIGEST_ALL);
    sched_save(p->s, &b);
    if (sched_load(&copy, buf_as_str(&b), &err)) {
        trouble(p, "a saved state does not load: %s", err.text);
    } else {
        if (sched_digest(copy, DIGEST_ALL) != before)
            trouble(p, "a loaded state has another digest");
        if (p->other)
            sched_destroy(p->s);
        else
            p->other = p->s;
        p->s = copy;
    }
    buf_done(&b);
}

static void mark(struct player *p)
{
    player_counts(p, p->marks);
    p->mark_launches = p->launches;
    p->mark_stops = p->stops;
}

static void step(struct player *p, const struct step *st)
{
    if (st->at > p->now)
        pass_time(p, st->at);
    switch (st->kind) {
    case STEP_EXPECT:
        settle(p);
        for (uint32_t i = 0; i < st->nexpect; i++)
            expect_check(p, &st->expect[i]);
        return;
    case STEP_MARK:
        settle(p);
        mark(p);
        return;
    case STEP_RESTART:
        settle(p);
        restart(p);
        return;
    default:
        answers(p);
        world_step(p, st);
        if (p->sc->policy.each && st->kind == STEP_SUBMIT)
            settle(p); /* one arrival a border */
    }
}

/* Folding the stream again, decoded from its bytes, comes to the same state. */
static bool replay_is_equal(struct player *p, struct err *err)
{
    struct sched *s = sched_create();
    struct str rest = buf_as_str(&p->stream);
    struct records rs = {0};
    bool good = true;
    while (rest.len && good) {
        records_clear(&rs);
        good = record_decode(&rest, &rs, err) == 0;
        if (good)
            sched_fold(s, &rs.list.at[0]);
    }
    if (good && sched_digest(s, DIGEST_ALL) != sched_digest(p->s, DIGEST_ALL)) {
        err_set(err, 1, "another digest");
        good = false;
    }
    records_done(&rs);
    sched_destroy(s);
    return good;
}

void player_run(struct player *p)
{
    struct err err = {0};
    world_begin(p);
    settle(p);
    mark(p);
    for (uint32_t i = 0; i < p->sc->steps.n && !p->trouble.code; i++)
        step(p, &p->sc->steps.at[i]);
    if (!report(!p->trouble.code,
                "the audit, the room on each node and whole gangs, at each "
                "of %llu records",
                (unsigned long long)p->nrecords))
        remark("   at %.3f s: %s", (double)p->now / 1e6, p->trouble.text);
    if (!report(replay_is_equal(p, &err), "the stream folded again is the same state"))
        remark("   %s", err.text);
}
