/* scenario-expect.c - is what a scenario expects so
 * All that an item says must hold; each part that does not gives a remark with what was
 * seen. Everything is judged by the player's own book, made from the records, but for
 * the counts and for whether the core still knows a job. SPDX-License-Identifier:
 * Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "scenario.h"
#include "sched/sched.h"
#include "words/saying.h"

enum { SEEN_MAX = 1000, LABEL_MAX = 100 };

/* The remarks of one item. */
struct verdict {
    const struct player *p;
    struct buf seen;
    bool failed;
};

static void __attribute__((format(printf, 2, 3)))
differs(struct verdict *v, const char *fmt, ...)
{
    char text[SEEN_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    v->failed = true;
    buf_fmt(&v->seen, "%s%s", v->seen.len ? "; " : "", n > 0 ? text : "?");
}

static void want_range(struct verdict *v, const char *what, const struct range *r,
                       int64_t got)
{
    if (!r->given || (got >= r->least && got <= r->most))
        return;
    if (r->least == r->most)
        differs(v, "%s: %" PRId64 ", not %" PRId64, what, got, r->least);
    else if (r->most == INT64_MAX)
        differs(v, "%s: %" PRId64 ", at least %" PRId64 " wanted", what, got, r->least);
    else
        differs(v, "%s: %" PRId64 ", at most %" PRId64 " wanted", what, got, r->most);
}

/* The item as it stands in the file, for the test's line. */
static void label(const struct ynode *n, struct buf *b, int depth)
{
    for (const struct ynode *m = n->first; m; m = m->next) {
        if (b->len > LABEL_MAX)
            return;
        if (m != n->first)
            buf_z(b, depth ? " " : ", ");
        if (n->kind == YNODE_MAP)
            buf_fmt(b, STR_FMT " ", STR_ARG(m->key));
        if (m->kind == YNODE_SCALAR)
            buf_str(b, m->text);
        else
            label(m, b, depth + 1);
    }
}

/* The value of a node at a level, from its own description; "node": its name. */
static struct str domain_of(const struct player *p, uint32_t node, word_t level)
{
    const struct node_desc *d = &p->nodes[node];
    for (uint32_t i = 0; i < d->nplace; i++)
        if (d->place[i].key == level)
            return words_text(&p->sc->words, d->place[i].value);
    return str_is(words_text(&p->sc->words, level), "node") ? d->name : STR("(none)");
}

/* Domains may have equal names in different blocks: a path from the top tells them
 * apart. */
static bool same_domain(const struct player *p, uint32_t a, uint32_t b, word_t level)
{
    const struct node_desc *x = &p->nodes[a], *y = &p->nodes[b];
    if (str_is(words_text(&p->sc->words, level), "node"))
        return a == b;
    for (uint32_t i = 0; i < x->nplace && i < y->nplace; i++) {
        if (x->place[i].key != y->place[i].key ||
            x->place[i].value != y->place[i].value)
            return false;
        if (x->place[i].key == level)
            return true;
    }
    return false;
}

static bool task_counts(const struct player *p, const struct sim_task *t,
                        const struct expectation *e)
{
    const struct picked who = {.group = e->group, .copy = e->copy};
    return (t->state == AT_ISSUED || t->state == AT_RUNNING) &&
           task_is_picked(p, t, &who);
}

struct place_count {
    uint32_t node; /* one of its nodes */
    uint32_t tasks;
};

static void want_domains(struct verdict *v, const struct expectation *e,
                         const struct sim_job *j)
{
    const struct player *p = v->p;
    VEC(struct place_count) at = {0};
    for (uint32_t i = 0; e->level && i < j->tasks.n; i++) {
        const struct sim_task *t = &p->tasks.at[j->tasks.at[i]];
        uint32_t k = 0;
        if (!task_counts(p, t, e))
            continue;
        while (k < at.n && !same_domain(p, at.at[k].node, t->node, e->level))
            k++;
        if (k == at.n)
            vec_push(&at, (struct place_count){t->node, 0});
        at.at[k].tasks++;
    }
    want_range(v, "domains", &e->domains, at.n);
    for (uint32_t k = 0; k < at.n; k++) {
        struct str name = domain_of(p, at.at[k].node, e->level);
        char what[200];
        snprintf(what, sizeof what, "tasks in " STR_FMT, STR_ARG(name));
        want_range(v, what, &e->each, at.at[k].tasks);
        const struct ynode *m = e->domain_names ? e->domain_names->first : NULL;
        while (m && !str_eq(m->text, name))
            m = m->next;
        if (e->domain_names && !m)
            differs(v, "tasks in " STR_FMT, STR_ARG(name));
    }
    if (e->domain_names && e->domain_names->n != at.n)
        differs(v, "%u domains, not %u", at.n, e->domain_names->n);
    vec_done(&at);
}

static void want_nodes(struct verdict *v, const struct expectation *e,
                       const struct sim_job *j)
{
    const struct player *p = v->p;
    uint32_t n = p->sc->cluster.nodes.n, used = 0;
    uint32_t *tasks = mem_zero(n * sizeof *tasks);
    for (uint32_t i = 0; i < j->tasks.n; i++) {
        const struct sim_task *t = &p->tasks.at[j->tasks.at[i]];
        if (task_counts(p, t, e))
            used += tasks[t->node]++ == 0;
    }
    want_range(v, "nodes", &e->node_count, used);
    if (e->nodes) {
        for (const struct ynode *m = e->nodes->first; m; m = m->next)
            if (!tasks[node_index(p, m->text)])
                differs(v, "nothing on " STR_FMT, STR_ARG(m->text));
        for (uint32_t i = 0; i < n && used != e->nodes->n; i++)
            if (tasks[i])
                differs(v, "%u on " STR_FMT, tasks[i], STR_ARG(p->nodes[i].name));
    }
    free(tasks);
}

static void want_devices(struct verdict *v, const struct expectation *e,
                         const struct sim_job *j)
{
    const struct player *p = v->p;
    for (const struct ynode *m = e->devices ? e->devices->first : NULL; m;
         m = m->next) {
        uint64_t want = 0, got = 0;
        for (const struct ynode *i = m->first; i; i = i->next) {
            int64_t d = 64;
            if (str_to_i64(i->text, &d) == 0 && d >= 0 && d < 64)
                want |= UINT64_C(1) << d;
        }
        for (uint32_t i = 0; i < j->tasks.n; i++) {
            const struct sim_task *t = &p->tasks.at[j->tasks.at[i]];
            if (task_counts(p, t, e) && t->node == node_index(p, m->key))
                got |= t->devs;
        }
        struct buf b = {0};
        saying_devices(got, &b);
        if (got != want)
            differs(v, "devices %s of " STR_FMT, b.data, STR_ARG(m->key));
        buf_done(&b);
    }
}

/* By place from the top down, then by name, in byte order. */
static int node_order(const struct player *p, uint32_t a, uint32_t b)
{
    const struct node_desc *x = &p->nodes[a], *y = &p->nodes[b];
    for (uint32_t i = 0; i < x->nplace && i < y->nplace; i++) {
        int c = str_cmp(words_text(&p->sc->words, x->place[i].value),
                        words_text(&p->sc->words, y->place[i].value));
        if (c)
            return c;
    }
    return str_cmp(x->name, y->name);
}

/* In each leaf of a gang, places grow along the topology. */
static void want_ranks(struct verdict *v, const struct expectation *e,
                       const struct sim_job *j)
{
    const struct player *p = v->p;
    for (uint32_t i = 0; e->ranks && i < j->tasks.n; i++) {
        const struct sim_task *a = &p->tasks.at[j->tasks.at[i]];
        if (!task_counts(p, a, e))
            continue;
        for (uint32_t k = 0; k < j->tasks.n; k++) {
            const struct sim_task *b = &p->tasks.at[j->tasks.at[k]];
            if (!task_counts(p, b, e) || b->leaf != a->leaf || b->copy != a->copy ||
                b->index != a->index + 1 || node_order(p, a->node, b->node) <= 0)
                continue;
            differs(v, "place %u is on " STR_FMT ", place %u on " STR_FMT, a->index,
                    STR_ARG(p->nodes[a->node].name), b->index,
                    STR_ARG(p->nodes[b->node].name));
            return;
        }
    }
}

static void want_reason(struct verdict *v, const struct expectation *e,
                        const struct sim_job *j)
{
    const struct sim_gang *g = NULL;
    for (uint32_t i = 0; i < j->gangs.n && !g; i++)
        if (j->gangs.at[i].waits &&
            (e->copy == NOBODY || e->copy == j->gangs.at[i].copy))
            g = &j->gangs.at[i];
    bool asked = e->because.len || e->need.given || e->have.given || e->why_level.len;
    if (!asked)
        return;
    if (!g) {
        differs(v, "no reason was given");
        return;
    }
    if (e->because.len && !str_is(e->because, saying_code(g->why.code)))
        differs(v, "because %s", saying_code(g->why.code));
    want_range(v, "need", &e->need, g->why.need);
    want_range(v, "have", &e->have, g->why.have);
    struct str level = words_text(&v->p->sc->words, g->why.level);
    if (e->why_level.len && !str_eq(e->why_level, level))
        differs(v, "at level \"" STR_FMT "\"", STR_ARG(level));
}

/* Does the core still know it? */
static bool job_is_known(const struct player *p, struct str name)
{
    struct record r = {.kind = EV_JOB_DO};
    r.job_do.job = name;
    r.job_do.verb = JOB_HOLD;
    return sched_check(p->s, &r, NULL) == 0;
}

static const char *job_state(const struct player *p, const struct sim_job *j)
{
    if (!job_is_known(p, j->plan->spec.name))
        return j->alive ? "over, but with tasks" : "over";
    return j->alive ? "running" : "pending";
}

/* Of all its gangs together; a promise is that of the first that has one. */
static bool is_held(const struct sim_job *j, uint32_t node)
{
    for (uint32_t i = 0; i < j->gangs.n; i++)
        for (uint32_t k = 0; k < j->gangs.at[i].nheld; k++)
            if (j->gangs.at[i].held[k] == node)
                return true;
    return false;
}

static void want_plans(struct verdict *v, const struct expectation *e,
                       const struct sim_job *j)
{
    const struct player *p = v->p;
    const struct sim_gang *first = NULL;
    uint32_t held = 0, ending = 0;
    for (uint32_t i = 0; i < j->gangs.n; i++) {
        const struct sim_gang *g = &j->gangs.at[i];
        if (e->copy != NOBODY && e->copy != g->copy)
            continue;
        held += g->nheld;
        first = first || !g->reserved ? first : g;
        for (uint32_t k = 0; e->held_on && k < g->nheld; k++) {
            const struct ynode *m = e->held_on->first;
            while (m && node_index(p, m->text) != g->held[k])
                m = m->next;
            if (!m)
                differs(v, "room kept on " STR_FMT, STR_ARG(p->nodes[g->held[k]].name));
        }
    }
    for (uint32_t i = 0; i < j->tasks.n; i++)
        ending += p->tasks.at[j->tasks.at[i]].state == AT_ENDING;
    for (const struct ynode *m = e->held_on ? e->held_on->first : NULL; m; m = m->next)
        if (!is_held(j, node_index(p, m->text)))
            differs(v, "no room is kept on " STR_FMT, STR_ARG(m->text));
    want_range(v, "evictions", &e->evictions, j->evictions);
    want_range(v, "tasks evicted", &e->evicted, j->evicted);
    want_range(v, "ending", &e->ending, ending);
    want_range(v, "places kept", &e->holds, held);
    if ((e->promised.given || e->forecast.given) && !first)
        differs(v, "it has no reservation");
    want_range(v, "promised", &e->promised, first ? first->by : 0);
    want_range(v, "forecast", &e->forecast, first ? first->forecast : 0);
}

static void job_check(struct verdict *v, const struct expectation *e)
{
    const struct player *p = v->p;
    uint32_t id = strmap_get(&p->job_ids, e->subject), tasks = 0, running = 0,
             gangs = 0;
    if (id == MAP_NONE) {
        differs(v, "it was never submitted");
        return;
    }
    const struct sim_job *j = &p->jobs.at[id];
    for (uint32_t i = 0; i < j->tasks.n; i++) {
        const struct sim_task *t = &p->tasks.at[j->tasks.at[i]];
        tasks += task_counts(p, t, e);
        running += task_counts(p, t, e) && t->state == AT_RUNNING;
    }
    for (uint32_t i = 0; i < j->gangs.n; i++)
        gangs += j->gangs.at[i].alive > 0;
    if (e->state.len && !str_is(e->state, job_state(p, j)))
        differs(v, "it is %s", job_state(p, j));
    want_range(v, "tasks", &e->tasks, tasks);
    want_range(v, "running", &e->running, running);
    want_range(v, "gangs", &e->gangs, gangs);
    want_range(v, "launches", &e->launches, j->launches.n);
    want_range(v, "stops", &e->stops, j->stops);
    want_range(v, "reasons", &e->says, j->says);
    if (e->started.given && j->started == NEVER)
        differs(v, "it never started");
    else
        want_range(v, "started", &e->started, j->started);
    want_nodes(v, e, j);
    want_domains(v, e, j);
    want_devices(v, e, j);
    want_ranks(v, e, j);
    want_reason(v, e, j);
    want_plans(v, e, j);
}

static void jobs_check(struct verdict *v, const struct expectation *e)
{
    int64_t pending = 0, running = 0, over = 0;
    for (uint32_t i = 0; i < v->p->jobs.n; i++) {
        const struct sim_job *j = &v->p->jobs.at[i];
        if (!str_starts(j->plan->spec.name, e->subject))
            continue;
        const char *state = job_state(v->p, j);
        pending += state[0] == 'p';
        running += state[0] == 'r';
        over += state[0] == 'o';
    }
    want_range(v, "pending", &e->all_pending, pending);
    want_range(v, "running", &e->all_running, running);
    want_range(v, "over", &e->all_over, over);
}

/* Devices that nobody holds any part of, on a node that is up. */
static uint32_t node_free(const struct player *p, uint32_t node)
{
    const struct node_desc *d = &p->nodes[node];
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->ndevices && d->state == NODE_UP; i++)
        n += p->rooms[node].milli[i] == 0;
    return n;
}

static void node_check(struct verdict *v, const struct expectation *e)
{
    uint32_t node = node_index(v->p, e->subject);
    want_range(v, "tasks", &e->tasks, v->p->rooms[node].tasks);
    want_range(v, "free GPUs", &e->gpus_free, node_free(v->p, node));
}

/* Domains of the level in which no task runs and all nodes are up. */
static void free_check(struct verdict *v, const struct expectation *e)
{
    const struct player *p = v->p;
    uint32_t n = p->sc->cluster.nodes.n, gpus = 0, whole = 0;
    for (uint32_t i = 0; i < n; i++)
        gpus += node_free(p, i);
    for (uint32_t i = 0; e->level && i < n; i++) {
        bool first = true, idle = true;
        for (uint32_t k = 0; k < n && idle; k++) {
            if (!same_domain(p, i, k, e->level))
                continue;
            first = first && k >= i;
            idle = p->rooms[k].tasks == 0 && p->nodes[k].state == NODE_UP;
        }
        whole += first && idle;
    }
    want_range(v, "free GPUs", &e->gpus_free, gpus);
    want_range(v, "idle domains", &e->domains, whole);
}

static void counts_check(struct verdict *v, const struct expectation *e)
{
    int64_t now[COUNTS_MAX];
    player_counts(v->p, now);
    for (uint32_t i = 0; count_names[i]; i++) {
        bool level = i >= COUNTS_SINCE; /* as they are */
        want_range(v, count_names[i], &e->counts[i],
                   now[i] - (level ? 0 : v->p->marks[i]));
    }
}

void expect_check(struct player *p, const struct expectation *e)
{
    struct verdict v = {.p = p};
    struct buf what = {0};
    const struct ynode *about = ynode_get(e->where, "about");
    if (about)
        buf_str(&what, about->text);
    else
        label(e->where, &what, 0);
    switch (e->kind) {
    case EXPECT_JOB: job_check(&v, e); break;
    case EXPECT_JOBS: jobs_check(&v, e); break;
    case EXPECT_NODE: node_check(&v, e); break;
    case EXPECT_FREE: free_check(&v, e); break;
    case EXPECT_COUNTS: counts_check(&v, e); break;
    case EXPECT_QUIET:
        if (p->launches != p->mark_launches || p->stops != p->mark_stops)
            differs(&v, "%u launches, %u stops", p->launches - p->mark_launches,
                    p->stops - p->mark_stops);
    }
    if (!report(!v.failed, "%g s: %s", (double)p->now / 1e6, what.data))
        remark("   %s:%u: %s", e->where->file, e->where->line, v.seen.data);
    buf_done(&v.seen);
    buf_done(&what);
}
