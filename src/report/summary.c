/* summary.c - from kept jobs and integrals to the figures that people compare
 *
 * Each of wait and completion is sorted once; totals, size classes and queues are three
 * walks over the same order. Sums are integers (us, 128 bits), so a total equals
 * another program's total or it does not: no rounding stands between.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/summary.h"

#include "base/units.h"

enum size_class size_class_of(uint64_t gpu_milli)
{
    if (gpu_milli == 0)
        return SIZE_NONE;
    if (gpu_milli < 1000)
        return SIZE_SHARE;
    if (gpu_milli == 1000)
        return SIZE_1;
    if (gpu_milli <= 8000)
        return SIZE_8;
    if (gpu_milli <= 64000)
        return SIZE_64;
    return gpu_milli <= 512000 ? SIZE_512 : SIZE_MORE;
}

const char *size_class_name(enum size_class c)
{
    static const char *const names[SIZE_CLASSES] = {
        [SIZE_NONE] = "no GPU",    [SIZE_SHARE] = "GPU share",
        [SIZE_1] = "1 GPU",        [SIZE_8] = "2-8 GPUs",
        [SIZE_64] = "9-64 GPUs",   [SIZE_512] = "65-512 GPUs",
        [SIZE_MORE] = ">512 GPUs",
    };
    return names[c];
}

double group_mean_s(const struct group_stat *g)
{
    return g->n ? (double)g->sum / (double)g->n / 1e6 : 0;
}

double gpu_hours(u128 milli_us)
{
    return (double)milli_us / (1000.0 * (double)US_PER_H);
}

/* The jobs that have one of the two measures, as columns. */
struct measure {
    int64_t *values;
    uint32_t *order, *size, *queue;
    uint32_t n;
};

static void measure_take(struct measure *m, const struct report *r, bool span)
{
    size_t room = (size_t)r->jobs.n + 1;
    uint32_t i;

    *m = (struct measure){mem_alloc(room * sizeof *m->values), mem_alloc(room * 4),
                          mem_alloc(room * 4), mem_alloc(room * 4), 0};
    for (i = 0; i < r->jobs.n; i++) {
        const struct kept_job *j = &r->jobs.at[i];
        int64_t v = span ? j->span_us : j->wait_us;

        if (v == JOB_NEVER)
            continue;
        m->values[m->n] = v;
        m->size[m->n] = j->size;
        m->queue[m->n++] = j->queue;
    }
    quantile_sort(m->values, m->n, m->order);
}

static void measure_done(struct measure *m)
{
    free(m->values);
    free(m->order);
    free(m->size);
    free(m->queue);
}

static void summary_measure(struct summary *s, const struct report *r, bool span)
{
    uint32_t most = r->queues.n > SIZE_CLASSES ? r->queues.n : SIZE_CLASSES, i;
    struct group_stat *stats = mem_zero(most * sizeof *stats);
    struct measure m;

    measure_take(&m, r, span);
    quantile_groups(m.values, m.order, m.n, NULL, span ? &s->all.span : &s->all.wait,
                    1);
    quantile_groups(m.values, m.order, m.n, m.size, stats, SIZE_CLASSES);
    for (i = 0; i < SIZE_CLASSES; i++)
        *(span ? &s->sizes[i].span : &s->sizes[i].wait) = stats[i];
    quantile_groups(m.values, m.order, m.n, m.queue, stats, r->queues.n);
    for (i = 0; i < r->queues.n; i++)
        *(span ? &s->queues[i].span : &s->queues[i].wait) = stats[i];
    if (!span) {
        s->waits.at = mem_alloc(((size_t)m.n + 1) * sizeof *s->waits.at);
        s->waits.n = m.n;
        for (i = 0; i < m.n; i++)
            s->waits.at[i] = m.values[m.order[i]];
    }
    measure_done(&m);
    free(stats);
}

static int by_jobs(const void *pa, const void *pb)
{
    const struct group_summary *a = pa, *b = pb;

    if (a->jobs != b->jobs)
        return a->jobs < b->jobs ? 1 : -1;
    return str_cmp(a->name, b->name);
}

static void summary_shares(struct summary *s, const struct report *r)
{
    const struct series_sum *t = &r->series.total;
    const struct ledger *l = &r->ledger;
    u128 sum = 0;
    int i;

    s->allocated = t->capacity ? u128_ratio(t->used, t->capacity) : -1;
    s->frag = t->frag_capacity ? t->frag / (double)t->frag_capacity : -1;
    s->useful = s->lost = -1;
    s->ledger_sums = true;
    if (r->has_ledger) {
        for (i = 0; i < LEDGER_CAUSES; i++)
            sum += l->sum[i];
        s->ledger_gap = (__int128)(sum - l->capacity);
        s->ledger_sums = s->ledger_gap == 0;
        if (l->capacity) {
            s->useful = u128_ratio(l->sum[LEDGER_USEFUL], l->capacity);
            s->lost = u128_ratio(l->sum[LEDGER_RECOMPUTED], l->capacity);
        }
    }
    if (s->lost < 0 && t->capacity)
        s->lost = u128_ratio(r->lost, t->capacity);
    s->fills = r->arrivals_seen && s->all.span.n == 0 && r->about.capacity_milli;
    if (s->fills) {
        const struct arrival *a = &r->arrival_last;
        double capacity = (double)r->about.capacity_milli;

        s->useful = s->lost = -1;
        s->allocated = (double)a->used_milli / capacity;
        s->frag = a->frag_milli < 0 ? -1 : a->frag_milli / capacity;
    }
}

/* Stable, so that equally frequent ones keep the order of arrival. */
static void summary_reasons(struct summary *s, const struct report *r)
{
    uint32_t i, k;

    s->nreasons = r->reasons.n;
    s->reasons = mem_alloc(((size_t)s->nreasons + 1) * sizeof *s->reasons);
    for (i = 0; i < s->nreasons; i++)
        s->reasons[i] = r->reasons.at[i];
    for (i = 0; i < s->nreasons && i < REASONS_SHOWN; i++) {
        uint32_t most = i;
        struct reason first;

        for (k = i + 1; k < s->nreasons; k++)
            if (s->reasons[k].jobs > s->reasons[most].jobs)
                most = k;
        first = s->reasons[most];
        memmove(&s->reasons[i + 1], &s->reasons[i], (most - i) * sizeof first);
        s->reasons[i] = first;
    }
}

struct summary *summary_create(const struct report *r)
{
    struct summary *s = mem_zero(sizeof *s);
    uint32_t i;

    s->r = r;
    s->nqueues = r->queues.n;
    s->queues = mem_zero(((size_t)s->nqueues + 1) * sizeof *s->queues);
    s->all.name = STR("all");
    s->all.jobs = r->jobs.n;
    for (i = 0; i < SIZE_CLASSES; i++)
        s->sizes[i].name = str_of(size_class_name((enum size_class)i));
    for (i = 0; i < s->nqueues; i++)
        s->queues[i].name = r->queues.at[i];
    for (i = 0; i < r->jobs.n; i++) {
        const struct kept_job *j = &r->jobs.at[i];

        s->sizes[j->size].jobs++;
        s->queues[j->queue].jobs++;
        s->never_started += j->wait_us == JOB_NEVER;
        s->unfinished += j->wait_us != JOB_NEVER && j->span_us == JOB_NEVER;
    }
    summary_measure(s, r, false);
    summary_measure(s, r, true);
    qsort(s->queues, s->nqueues, sizeof *s->queues, by_jobs);
    summary_shares(s, r);
    summary_reasons(s, r);
    merits_settle(s);
    return s;
}

void summary_destroy(struct summary *s)
{
    if (!s)
        return;
    free(s->queues);
    free(s->reasons);
    free(s->waits.at);
    free(s);
}

struct summary **summary_all(struct report *const *rs, uint32_t n)
{
    struct summary **sums = mem_zero(((size_t)n + 1) * sizeof *sums);
    uint32_t i;

    for (i = 0; i < n; i++)
        sums[i] = summary_create(rs[i]);
    return sums;
}

void summary_all_destroy(struct summary **sums, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++)
        summary_destroy(sums[i]);
    free(sums);
}

bool summary_all_fill(struct summary *const *sums, uint32_t n)
{
    uint32_t i = 0;

    while (i < n && sums[i]->fills)
        i++;
    return n > 0 && i == n;
}

bool summary_same_setting(const struct summary *a, const struct summary *b)
{
    const struct report_about *x = &a->r->about, *y = &b->r->about;

    return str_eq(x->cluster, y->cluster) && str_eq(x->trace, y->trace) &&
           x->seed == y->seed && x->capacity_milli == y->capacity_milli &&
           a->all.jobs == b->all.jobs;
}

uint64_t summary_unplaced(const struct summary *s)
{
    return s->r->has_totals && !s->r->windowed ? s->r->totals.unplaced_jobs : s->never_started;
}

bool summary_all_started(const struct summary *s, struct summary *const *sums, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++)
        if (summary_unplaced(sums[i]) < summary_unplaced(s))
            return false;
    return true;
}

uint64_t summary_other_reasons(const struct summary *s)
{
    uint64_t jobs = 0;
    uint32_t i;

    for (i = REASONS_SHOWN; i < s->nreasons; i++)
        jobs += s->reasons[i].jobs;
    return jobs;
}

const char *cause_meaning(int cause)
{
    static const char *const meanings[LEDGER_CAUSES] = {
        [LEDGER_USEFUL] = "work that was not lost later",
        [LEDGER_STARTING] = "given to tasks that do not work yet: they start, or read "
                            "a checkpoint back",
        [LEDGER_SAVING] = "tasks that write a checkpoint",
        [LEDGER_RECOMPUTED] = "work that was lost with a node or a stop and had to be "
                              "done again",
        [LEDGER_HUNG] = "tasks that hold GPUs and make no progress",
        [LEDGER_FROZEN] = "tasks that are set aside for others on the same GPU",
        [LEDGER_HELD] = "kept for a gang or a plan that was decided and has not "
                        "started",
        [LEDGER_FRAGMENTED] = "idle while waiting jobs ask for as much: they cannot use "
                              "these GPUs where they are, or the policy does not let them start",
        [LEDGER_QUOTA_IDLE] = "idle because the queues that wait have used what they are "
                              "owed",
        [LEDGER_FAULTY] = "on nodes or devices that are broken",
        [LEDGER_DRAINED] = "on nodes that take no new work",
        [LEDGER_NO_DEMAND] = "idle, and nobody waits for them",
        [LEDGER_UNATTRIBUTED] = "while the cluster's state was not known",
    };
    return meanings[cause];
}
