/* scenario-plans.c - what is kept for whom, what was promised, and who had to go for it
 *
 * The player's book of holds and promises, made from the records alone, and three rules
 * that hold in every scenario: who is stopped for somebody else agreed to that, and
 * goes whole or keeps its minimum; a plan that stops anybody also keeps room for, or
 * starts, the one for whom it is; and a promised start is kept and never moved back,
 * unless something broke, ran over its limit, or was stopped for one with a right.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#define SECONDS(us) ((double)(us) / 1e6)

void plan_forget(struct sim_gang *g)
{
    g->nheld = 0;
    g->reserved = false;
    g->by = g->forecast = 0;
}

/* Somebody took longer than it had said: then nothing is known about who waits for it.
 */
static bool somebody_ran_over(const struct player *p)
{
    for (uint32_t i = 0; i < p->tasks.n; i++) {
        const struct sim_task *t = &p->tasks.at[i];
        int64_t limit = p->jobs.at[t->job].plan->spec.time_limit_us;
        int64_t end = t->over < p->now ? t->over : p->now;
        if (limit && t->since < end && end - t->since > limit)
            return true;
    }
    return false;
}

static void promise_check(struct player *p, const struct sim_gang *g, struct str job,
                          int64_t start)
{
    if (start <= g->earliest_by || p->faults || p->evictions > g->evictions ||
        somebody_ran_over(p))
        return;
    if (start == NEVER)
        trouble(p, STR_FMT " loses the start at %g s that it was promised",
                STR_ARG(job), SECONDS(g->earliest_by));
    else
        trouble(p, STR_FMT " was promised %g s, and now it is %g s", STR_ARG(job),
                SECONDS(g->earliest_by), SECONDS(start));
}

void plan_hold(struct player *p, struct sim_gang *g, const struct record *r)
{
    bool reserve = r->hold.what == HOLD_RESERVE;
    p->holds++;
    if (reserve || !r->hold.nseats)
        plan_forget(g);
    uint32_t n = g->nheld + r->hold.nseats;
    uint32_t *held = arena_alloc(&p->sc->arena, (n + 1) * sizeof *held);
    for (uint32_t i = 0; i < g->nheld; i++)
        held[i] = g->held[i];
    for (uint32_t i = g->nheld; i < n; i++)
        held[i] = node_index(p, r->hold.seats[i - g->nheld].node);
    g->held = held;
    g->nheld = n;
    if (!reserve || !r->hold.nseats)
        return;
    g->reserved = true;
    g->by = r->hold.by;
    g->forecast = r->hold.expected;
    promise_check(p, g, r->hold.gang.job, g->by ? g->by : NEVER);
    if (g->by && (g->earliest_by == NEVER || p->evictions > g->evictions ||
                  g->by < g->earliest_by)) {
        g->earliest_by = g->by;
        g->evictions = p->evictions;
    }
}

void plan_launch(struct player *p, struct sim_gang *g, const struct record *r)
{
    promise_check(p, g, r->launch.gang.job, p->now);
    g->earliest_by = NEVER;
    if (g->reserved) {
        plan_forget(g);
        return;
    }
    for (uint32_t i = 0; i < r->launch.nseats; i++) {
        uint32_t node = node_index(p, r->launch.seats[i].node), k = 0;
        while (k < g->nheld && g->held[k] != node)
            k++;
        if (k < g->nheld)
            g->held[k] = g->held[--g->nheld];
    }
}

/* What is left of a gang after some of it was stopped for another: nothing, or enough.
 */
static void whole_victims(struct player *p, const struct task_ref *ref)
{
    const struct sim_job *j = &p->jobs.at[strmap_get(&p->job_ids, ref->gang.job)];
    const struct job_spec *spec = &j->plan->spec;
    uint16_t group = ref->gang.group;
    uint32_t left = 0;
    for (uint32_t i = 0; i < j->tasks.n; i++) {
        const struct sim_task *t = &p->tasks.at[j->tasks.at[i]];
        left += t->group == group && t->copy == ref->gang.copy &&
                (t->state == AT_ISSUED || t->state == AT_RUNNING);
    }
    bool lone = spec->groups[group].shape != GROUP_NONE;
    uint32_t min = lone ? 1 : job_spec_slots(spec, group, 1);
    if (left && left < min)
        trouble(p, "%u of " STR_FMT " are left, and it needs %u", left,
                STR_ARG(spec->name), min);
}

void plan_stop(struct player *p, const struct record *r)
{
    if (r->stop.mode != STOP_PREEMPT)
        return;
    p->evictions++;
    for (uint32_t i = 0; i < r->stop.ntasks; i++) {
        uint32_t id = strmap_get(&p->job_ids, r->stop.tasks[i].gang.job);
        if (id == MAP_NONE) {
            trouble(p, "a stop for somebody else of an unknown job");
            return;
        }
        struct sim_job *j = &p->jobs.at[id];
        j->evictions += i == 0;
        j->evicted++;
        if (!j->plan->spec.preemptible)
            trouble(p, STR_FMT " may not be stopped for others",
                    STR_ARG(j->plan->spec.name));
    }
    if (r->stop.ntasks)
        whole_victims(p, &r->stop.tasks[0]);
}

/* Is there somebody in the same plan who gets the room? */
static bool plan_is_for_somebody(const struct player *p, uint32_t plan)
{
    for (uint32_t i = 0; i < p->out.list.n; i++) {
        const struct record *r = &p->out.list.at[i];
        if (r->would)
            continue;
        if ((r->kind == DE_HOLD && r->hold.plan == plan && r->hold.nseats) ||
            (r->kind == DE_LAUNCH && r->launch.plan == plan))
            return true;
    }
    return false;
}

void plans_check(struct player *p)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < p->out.list.n; i++) {
        const struct record *r = &p->out.list.at[i];
        if (r->kind != DE_STOP || r->would || r->stop.mode != STOP_PREEMPT)
            continue;
        p->plans += r->stop.plan != last;
        last = r->stop.plan;
        if (!plan_is_for_somebody(p, last))
            trouble(p, "plan %u stops somebody and starts nobody", last);
    }
}
