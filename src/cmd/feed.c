/* feed.c - what one simulated run tells the report
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/feed.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "sched/look.h"
#include "words/saying_explain.h"

#define DOMAINS_EVERY_US (10 * US_PER_MIN)

void feed_jobs_head(struct buf *csv)
{
    buf_z(csv, "policy,row,name,queue,gpus,tasks,submit_us,start_us,end_us,run_us,lost_us,"
               "restarts,cross_domain,state,reason\n");
}

/* A cell of RFC 4180: quoted when it must be. */
static void cell(struct buf *out, struct str s)
{
    bool quote = false;
    for (size_t i = 0; i < s.len; i++)
        quote |= s.ptr[i] == ',' || s.ptr[i] == '"' || s.ptr[i] == '\n' || s.ptr[i] == '\r';
    if (!quote) {
        buf_str(out, s);
        return;
    }
    buf_char(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"')
            buf_char(out, '"');
        buf_char(out, s.ptr[i]);
    }
    buf_char(out, '"');
}

static void time_cell(struct buf *out, int64_t us)
{
    buf_char(out, ',');
    if (us != INT64_MIN)
        buf_fmt(out, "%" PRId64, us);
}

static const char *state_of(const struct twin_outcome *o)
{
    if (o->first_start_us == INT64_MIN)
        return "never";
    if (o->end_us == INT64_MIN)
        return "running";
    return o->failed ? "failed" : "done";
}

/* What was said of jobs that never started, each once: many have the same reason. */
struct sayings {
    struct arena text;
    struct u64map ids;
    VEC(struct said {
        struct why why;
        struct str text;
    }) said;
};

static struct str saying_of(struct sayings *s, const struct words *w, const struct why *why)
{
    uint64_t key = digest_bytes(why, sizeof *why, 0) >> 1; /* it has no gaps */
    uint32_t at = u64map_get(&s->ids, key);
    if (at != MAP_NONE && !memcmp(&s->said.at[at].why, why, sizeof *why))
        return s->said.at[at].text;
    struct buf text = {0};
    saying_why(w, why, &text);
    struct str own = arena_str(&s->text, buf_as_str(&text));
    u64map_put(&s->ids, key, s->said.n);
    vec_push(&s->said, (struct said){*why, own});
    buf_done(&text);
    return own;
}

static void sayings_done(struct sayings *s)
{
    arena_done(&s->text);
    u64map_done(&s->ids);
    vec_done(&s->said);
}

/* What no cluster of this kind could give comes before what the scheduler said. */
static void reason_of(const struct feed *f, struct sayings *s, const struct trace_job *row,
                      const struct why *why, struct buf *out)
{
    size_t before = out->len;
    if (row && f->asks)
        asks_reason(f->asks, row, out);
    if (out->len == before && why->code != WHY_NONE)
        buf_str(out, saying_of(s, f->words, why));
    if (out->len == before)
        buf_z(out, "nothing was said");
}

static void job_line(struct feed *f, const struct twin_outcome *o)
{
    struct buf *b = f->jobs_csv;
    cell(b, str_of(f->policy));
    buf_fmt(b, ",%" PRIu64 ",", o->row ? o->row->row : 0);
    cell(b, o->row ? o->row->name : o->name);
    buf_char(b, ',');
    cell(b, o->row ? o->row->queue : STR(""));
    buf_fmt(b, ",%" PRIu64 ".%03u,%" PRIu32, o->gpu_milli / 1000,
            (unsigned)(o->gpu_milli % 1000), o->tasks);
    time_cell(b, o->submit_us);
    time_cell(b, o->first_start_us);
    time_cell(b, o->end_us);
    time_cell(b, o->run_us);
    buf_fmt(b, ",%" PRId64 ",%" PRIu32 ",%d,%s,", o->lost_us, o->restarts, o->cross,
            state_of(o));
    if (o->first_start_us == INT64_MIN) {
        struct buf reason = {0};
        struct sayings sayings = {0};
        reason_of(f, &sayings, o->row, &o->why, &reason);
        cell(b, buf_as_str(&reason));
        sayings_done(&sayings);
        buf_done(&reason);
    }
    buf_char(b, '\n');
}

static void keep_pair(struct feed *f, const struct twin_outcome *o)
{
    if (o->first_start_us == INT64_MIN || o->end_us == INT64_MIN || !o->row)
        return;
    vec_push(&f->pairs, (struct feed_pair){
                            .wait_recorded_us = o->row->start_us - o->row->submit_us,
                            .wait_twin_us = o->first_start_us - o->submit_us,
                            .start_recorded = o->row->start_us,
                            .start_twin = o->first_start_us,
                            .run_us = o->run_us,
                            .gpu_milli = o->gpu_milli,
                        });
}

static struct feed_known known_of(const struct feed *f, const struct twin_outcome *o)
{
    struct feed_known k = {.gpu_milli = o->gpu_milli, .recorded_start_us = INT64_MIN};
    if (o->row) {
        k.queue = o->row->queue;
        if (o->row->submit_us == o->submit_us) /* else the order of arrival is invented */
            k.recorded_start_us = o->row->start_us;
    } else if (f->known) {
        f->known(f->known_arg, o, &k);
    }
    return k;
}

static void on_end(void *arg, const struct twin_outcome *o)
{
    struct feed *f = arg;
    struct feed_known k = known_of(f, o);
    struct report_job j = {
        .queue = k.queue,
        .submit_us = o->submit_us,
        .first_start_us = o->first_start_us,
        .end_us = o->end_us,
        .run_us = o->run_us,
        .gpu_milli = k.gpu_milli,
        .tasks = o->tasks,
        .restarts = o->restarts,
        .lost_us = o->lost_us,
        .cross_domain = o->cross,
        .failed = o->failed,
        .recorded_start_us = k.recorded_start_us,
    };
    report_job(f->report, &j);
    if (o->first_start_us == INT64_MIN && report_counts(f->report, o->submit_us)) {
        f->unplaced_jobs++;
        f->unplaced_milli += k.gpu_milli;
        vec_push(&f->never,
                 (struct feed_never){.name = o->row ? o->row->name : o->name,
                                     .row = o->row,
                                     .digest = digest_bytes(o->name.ptr, o->name.len, 0),
                                     .why = o->why});
    }
    f->jobs++;
    if (f->recorded && o->row && o->row->restarts) {
        f->restarts += o->row->restarts;
        if (o->row->lost_us > 0)
            f->lost_milli_s += (uint64_t)(o->row->lost_us / US_PER_S) * o->gpu_milli;
    }
    if (f->jobs_csv)
        job_line(f, o);
    if (f->recorded)
        keep_pair(f, o);
}

/* Whole: every node usable, every device of it free. O(nodes), so not at every instant. */
static void count_domains(struct feed *f, int64_t at)
{
    const struct cluster *c = sched_cluster(f->experiment->sched);
    struct report_domains d = {.at = at, .n = c->nlevels};
    for (uint32_t l = 0; l < d.n; l++)
        d.level[l].name = words_text(c->words, c->levels[l]);
    for (uint32_t i = 1; i < c->ndomains; i++) {
        const struct domain *dom = &c->domains[i];
        bool whole = dom->rank_hi > dom->rank_lo;
        for (uint32_t k = dom->rank_lo; whole && k < dom->rank_hi; k++) {
            const struct node *n = &c->nodes[c->order[k]];
            whole = node_is_usable(n) && n->nwhole == n->ndevices;
        }
        if (dom->depth == 0 || dom->depth > d.n)
            continue;
        d.level[dom->depth - 1].all++;
        d.level[dom->depth - 1].whole += whole;
    }
    report_domains(f->report, &d);
}

static void at_borders(struct feed *f, int64_t at)
{
    if (f->window_until_us && !f->opened && at >= f->window_from_us) {
        sched_ledger(f->experiment->sched, &f->ledger_from);
        f->opened = true;
    }
    if (f->window_until_us && !f->closed && at >= f->window_until_us) {
        sched_ledger(f->experiment->sched, &f->ledger_until);
        f->closed = true;
    }
}

static void on_instant(void *arg, int64_t at)
{
    struct feed *f = arg;
    at_borders(f, at);
    if (at >= f->domains_at) {
        count_domains(f, at);
        f->domains_at = at + DOMAINS_EVERY_US;
    }
    struct sched_counts c;
    sched_counts(f->experiment->sched, &c);
    struct report_level l = {
        .at = at,
        .used_milli = c.used_gpu_milli > 0 ? (uint64_t)c.used_gpu_milli : 0,
        .pending_milli = c.pending_gpu_milli > 0 ? (uint64_t)c.pending_gpu_milli : 0,
        .capacity_milli = f->capacity_milli,
        .frag_milli = -1,
        .waiting_jobs = c.pending_gangs,
        .running_jobs = c.running_gangs,
    };
    report_level(f->report, &l);
}

static void on_arrival(void *arg, const struct trace_job *row)
{
    struct feed *f = arg;
    struct sched_counts c;
    sched_counts(f->experiment->sched, &c);
    f->arrived_milli += (uint64_t)row->gpus * row->gpu_milli;
    report_arrival(f->report, f->arrived_milli, (uint64_t)c.used_gpu_milli,
                   sched_fragmented_milli(f->experiment->sched));
}

void feed_hook(struct feed *f, struct twin_options *o)
{
    o->arg = f;
    o->on_end = on_end;
    o->on_instant = f->levels ? on_instant : NULL;
    o->on_arrival = f->arrivals ? on_arrival : NULL;
}

/* A gang's number in promises, which it gets when it is first asked for. */
static uint32_t promise_of(struct feed *f, const struct gang_ref *gang, bool make)
{
    uint64_t where = (uint64_t)gang->group << 32 | gang->copy;
    uint64_t key = digest_bytes(gang->job.ptr, gang->job.len, where) >> 1;
    uint32_t id = u64map_get(&f->promise_ids, key);
    if (id != MAP_NONE || !make)
        return id;
    id = f->promises.n;
    vec_push(&f->promises, ((struct feed_promise){INT64_MIN, INT64_MIN, INT64_MIN}));
    u64map_put(&f->promise_ids, key, id);
    return id;
}

static void promised(struct feed *f, const struct record *r)
{
    uint32_t id = promise_of(f, &r->hold.gang, true); /* the list may move */
    struct feed_promise *p = &f->promises.at[id];
    if (p->expected == INT64_MIN && r->hold.expected)
        p->expected = r->hold.expected;
    if (!r->hold.by)
        return;
    if (p->first_by == INT64_MIN)
        p->first_by = r->hold.by;
    if (p->least_by == INT64_MIN || r->hold.by < p->least_by)
        p->least_by = r->hold.by;
}

static void launched(struct feed *f, const struct record *r)
{
    uint32_t id = promise_of(f, &r->launch.gang, false);
    if (id == MAP_NONE)
        return;
    struct feed_promise *p = &f->promises.at[id];
    report_promise(f->report, &(struct report_promise){.started_us = r->at,
                                                       .first_by_us = p->first_by,
                                                       .least_by_us = p->least_by,
                                                       .expected_us = p->expected});
    *p = (struct feed_promise){INT64_MIN, INT64_MIN, INT64_MIN};
}

void feed_record(struct feed *f, const struct record *r)
{
    if (r->kind == DE_LAUNCH && !r->would && f->promises.n)
        launched(f, r);
    else if (r->kind == DE_HOLD && !r->would && r->hold.what == HOLD_RESERVE)
        promised(f, r);
    else if (r->kind == DE_STOP && !r->would && r->stop.mode != STOP_END)
        report_stopped(f->report, r->at,
                       r->stop.mode == STOP_MOVE ? REPORT_MOVED : REPORT_EVICTED);
}

void feed_window(struct feed *f)
{
    struct record time = {.kind = EV_TIME};
    if (!f->window_until_us)
        return;
    twin_post(f->experiment->twin, f->window_from_us, &time);
    twin_post(f->experiment->twin, f->window_until_us, &time);
}

static int by_size(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* GPU time of [from, until) that lies inside the window. */
static double inside(int64_t from, int64_t until, int64_t lo, int64_t hi, uint64_t milli)
{
    if (from < lo)
        from = lo;
    if (until > hi)
        until = hi;
    return until > from ? (double)(until - from) * (double)milli : 0;
}

/* What the reader must know before any figure: who never started, who came late, and what the
 * replay leaves out of the record. */
static void remark_text(const struct feed *f, uint32_t n, uint32_t late, char *out,
                        size_t room)
{
    char a[24], b[24], c[24];
    int at = snprintf(out, room, "%s of %s %s found no room at %s recorded start and began later",
                      count_text(late, a), count_text(n, b), n == 1 ? "job" : "jobs",
                      n == 1 ? "its" : "their");
    if (f->restarts && at > 0 && (size_t)at < room)
        snprintf(out + at, room - (size_t)at,
                 "; the record lost %s GPU-hours in %s %s, which are not replayed",
                 count_text(f->lost_milli_s / 3600000, a), count_text(f->restarts, c),
                 f->restarts == 1 ? "restart" : "restarts");
}

/* Waits of the jobs that ended in the twin; utilisation inside the window from the first
 * to the last recorded moment. */
static void tell_error(struct feed *f)
{
    uint32_t n = f->pairs.n, late = 0;
    double recorded = 0, twin = 0, used_recorded = 0, used_twin = 0;
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    int64_t *errors = mem_alloc(n * sizeof *errors);
    char remark[400];
    for (uint32_t i = 0; i < n; i++) {
        const struct feed_pair *p = &f->pairs.at[i];
        lo = p->start_recorded < lo ? p->start_recorded : lo;
        hi = p->start_recorded + p->run_us > hi ? p->start_recorded + p->run_us : hi;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct feed_pair *p = &f->pairs.at[i];
        int64_t error = p->wait_twin_us - p->wait_recorded_us;
        errors[i] = error < 0 ? -error : error;
        late += error > 0;
        recorded += (double)p->wait_recorded_us;
        twin += (double)p->wait_twin_us;
        used_recorded += inside(p->start_recorded, p->start_recorded + p->run_us, lo, hi,
                                p->gpu_milli);
        used_twin += inside(p->start_twin, p->start_twin + p->run_us, lo, hi, p->gpu_milli);
    }
    qsort(errors, n, sizeof *errors, by_size);
    double whole = n && hi > lo ? (double)(hi - lo) * (double)f->capacity_milli : 0;
    remark_text(f, n, late, remark, sizeof remark);
    struct report_error e = {
        .jobs = n,
        .never = f->unplaced_jobs,
        .replayed = f->jobs,
        .wait_mean_recorded_s = n ? recorded / n / 1e6 : 0,
        .wait_mean_twin_s = n ? twin / n / 1e6 : 0,
        .wait_p95_abs_err_s = n ? (double)errors[(n * 95ull + 99) / 100 - 1] / 1e6 : 0,
        .util_recorded = whole > 0 ? used_recorded / whole : 0,
        .util_twin = whole > 0 ? used_twin / whole : 0,
        .remark = str_of(remark),
    };
    report_error(f->report, &e);
    free(errors);
}

enum { NEVER_EXPLAINED = 8 };

/* At the end of the run: what it lacks then, in numbers. */
static void tell_more(struct feed *f, uint64_t digest)
{
    const struct sched *s = f->experiment->sched;
    struct job_look j;
    struct explain e;
    struct buf b = {0};
    for (uint32_t id = 0; id < sched_look_jobs(s); id++) {
        if (!sched_look_job(s, id, &j) || digest_bytes(j.name.ptr, j.name.len, 0) != digest)
            continue;
        if (!sched_explain(&e, s, id, 0, NULL)) {
            saying_explain(sched_words(s), &e, &b);
            explain_done(&e);
        }
        break;
    }
    report_reason_more(f->report, buf_as_str(&b));
    buf_done(&b);
}

/* "waits behind x: asks for ...": whoever waits for the first of a queue waits for its reason. */
static void tell_never(struct feed *f)
{
    struct u64map by_digest = {0};
    struct sayings sayings = {0};
    struct buf text = {0};
    uint32_t explained = 0;
    for (uint32_t i = 0; i < f->never.n; i++)
        if (f->never.at[i].why.code != WHY_BEHIND)
            u64map_put(&by_digest, f->never.at[i].digest, i);
    for (uint32_t i = 0; i < f->never.n; i++) {
        const struct feed_never *j = &f->never.at[i], *head = NULL;
        uint32_t at = MAP_NONE;
        bool itself = f->asks && j->row && asks_of(f->asks, j->row) != ASKS_FINE;
        if (j->why.code == WHY_BEHIND && !itself)
            at = u64map_get(&by_digest, j->why.who);
        buf_clear(&text);
        if (at != MAP_NONE) {
            head = &f->never.at[at];
            buf_fmt(&text, "waits behind the first of its queue, " STR_FMT ", which ",
                    STR_ARG(head->name));
        }
        reason_of(f, &sayings, head ? head->row : j->row, head ? &head->why : &j->why,
                  &text);
        if (report_reason(f->report, buf_as_str(&text), j->name) && !itself &&
            explained++ < NEVER_EXPLAINED)
            tell_more(f, j->digest);
    }
    buf_done(&text);
    sayings_done(&sayings);
    u64map_done(&by_digest);
}

/* In a window, what was added between its borders. */
static void tell_ledger(struct feed *f)
{
    struct ledger ledger;
    sched_ledger(f->experiment->sched, &ledger);
    if (f->closed)
        ledger = f->ledger_until;
    for (int i = 0; i < LEDGER_CAUSES; i++)
        ledger.sum[i] -= f->ledger_from.sum[i];
    ledger.capacity -= f->ledger_from.capacity;
    report_ledger(f->report, &ledger);
}

void feed_end(struct feed *f, double cpu_s)
{
    const struct experiment *e = f->experiment;
    struct sched_counts counts;
    struct twin_counts twin;
    tell_ledger(f);
    sched_counts(e->sched, &counts);
    twin_counts(e->twin, &twin);
    struct report_totals t = {
        .records = e->totals.records,
        .decisions = e->totals.decisions,
        .launches = counts.launches,
        .stops = counts.stops,
        .faults = twin.faults,
        .journal_bytes = e->totals.bytes,
        .cpu_s = cpu_s,
        .sim_us = e->totals.at - twin_start_at(e->twin),
        .unplaced_jobs = f->unplaced_jobs,
        .unplaced_gpu_milli = f->unplaced_milli,
    };
    report_totals(f->report, &t);
    tell_never(f);
    if (f->recorded)
        tell_error(f);
}

void feed_done(struct feed *f)
{
    vec_done(&f->pairs);
    vec_done(&f->never);
    vec_done(&f->promises);
    u64map_done(&f->promise_ids);
}
