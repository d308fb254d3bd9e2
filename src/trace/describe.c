/* describe.c - what is in a trace, in numbers
 *
 * One walk over the jobs fills the counts, then run times are sorted once for each size
 * class. Queues and users are told apart by the place of their text, since a trace
 * keeps each text once. O(jobs log jobs).
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/describe.h"

#include <math.h>
#include <stdio.h>

#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"

static const char *const size_names[DESCRIBE_SIZES] = {
    "no GPU", "part of one", "1", "2-8", "9-64", "65-512", ">512"};

static const char *const state_names[DESCRIBE_STATES] = {"done",      "failed",
                                                         "cancelled", "timeout",
                                                         "lost",      "preempted",
                                                         "pending",   "running"};

const char *describe_size_name(int size)
{
    return size_names[size];
}

static int size_of(const struct trace_job *j)
{
    static const uint32_t most[] = {[SIZE_1] = 1, [SIZE_2_8] = 8, [SIZE_9_64] = 64,
                                    [SIZE_65_512] = 512};
    uint64_t milli = (uint64_t)j->gpus * j->gpu_milli;
    if (!milli)
        return SIZE_CPU;
    if (milli < 1000)
        return SIZE_SHARE;
    int size = SIZE_1;
    while (size < SIZE_MORE && milli > most[size] * UINT64_C(1000))
        size++;
    return size;
}

static double gpu_hours(const struct trace_job *j)
{
    double us = (double)(j->run_us > 0 ? j->run_us : 0) + (double)j->lost_us;
    return j->gpus * (j->gpu_milli / 1000.0) * us / (double)US_PER_H;
}

static int order_i64(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

static int64_t nearest(const int64_t *sorted, uint32_t n, double q)
{
    uint32_t rank = (uint32_t)ceil(q * n);
    return sorted[rank ? rank - 1 : 0];
}

static void times_fill(int64_t *us, uint32_t n, struct describe_times *ret)
{
    double sum = 0;
    *ret = (struct describe_times){.n = n};
    if (!n)
        return;
    qsort(us, n, sizeof *us, order_i64);
    for (uint32_t i = 0; i < n; i++)
        sum += (double)us[i];
    ret->mean_us = sum / n;
    ret->p10_us = nearest(us, n, 0.10);
    ret->p50_us = nearest(us, n, 0.50);
    ret->p90_us = nearest(us, n, 0.90);
    ret->p99_us = nearest(us, n, 0.99);
    ret->max_us = us[n - 1];
}

/* Run times of the jobs of one size (DESCRIBE_SIZES: all with a GPU). */
static void runs_fill(const struct trace_list *l, int size, int64_t *room,
                      struct describe_times *ret)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_job *j = &l->jobs[i];
        bool in = size == DESCRIBE_SIZES ? j->gpus > 0 : size_of(j) == size;
        if (in && j->run_us != TRACE_NEVER)
            room[n++] = j->run_us;
    }
    times_fill(room, n, ret);
}

static void waits_fill(const struct trace_list *l, int64_t *room, struct describe *d)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_job *j = &l->jobs[i];
        int64_t from = j->eligible_us != TRACE_NEVER ? j->eligible_us : j->submit_us,
                wait;
        if (j->start_us != TRACE_NEVER &&
            !__builtin_sub_overflow(j->start_us, from, &wait))
            room[d->recorded++] = wait;
    }
    times_fill(room, d->recorded, &d->wait);
}

static int order_group(const void *pa, const void *pb)
{
    const struct describe_group *a = pa, *b = pb;
    if (a->gpu_h != b->gpu_h)
        return a->gpu_h < b->gpu_h ? 1 : -1;
    if (a->jobs != b->jobs)
        return a->jobs < b->jobs ? 1 : -1;
    return str_cmp(a->name, b->name);
}

static void queues_fill(const struct trace_list *l, struct describe *d)
{
    VEC(struct describe_group) queues = {0};
    struct u64map ids = {0}, users = {0};
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_job *j = &l->jobs[i];
        uint64_t key = j->queue.len ? (uintptr_t)j->queue.ptr : 0;
        uint32_t id = u64map_get(&ids, key);
        if (id == MAP_NONE) {
            id = queues.n;
            vec_push(&queues, (struct describe_group){.name = j->queue});
            u64map_put(&ids, key, id);
        }
        queues.at[id].jobs++;
        queues.at[id].gpu_h += gpu_hours(j);
        key = (uintptr_t)j->user.ptr;
        if (j->user.len && u64map_get(&users, key) == MAP_NONE)
            u64map_put(&users, key, d->users++);
    }
    d->queues = queues.n;
    if (queues.n)
        qsort(queues.at, queues.n, sizeof *queues.at, order_group);
    d->ntop = queues.n < DESCRIBE_QUEUES_MAX ? queues.n : DESCRIBE_QUEUES_MAX;
    if (d->ntop)
        memcpy(d->top, queues.at, d->ntop * sizeof *d->top);
    vec_done(&queues);
    u64map_done(&ids);
    u64map_done(&users);
}

/* One more job that would take the types; each name once. */
static void types_count(struct describe *d, const struct str *types, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0, before = 0;
        while (before < i && !str_eq(types[before], types[i]))
            before++;
        if (before < i)
            continue;
        while (k < d->ntypes && !str_eq(d->types[k].name, types[i]))
            k++;
        if (k == DESCRIBE_TYPES_MAX)
            continue;
        if (k == d->ntypes)
            d->types[d->ntypes++] = (struct describe_group){.name = types[i]};
        d->types[k].jobs++;
    }
}

static int order_jobs(const void *pa, const void *pb)
{
    const struct describe_group *a = pa, *b = pb;
    if (a->jobs != b->jobs)
        return a->jobs < b->jobs ? 1 : -1;
    return str_cmp(a->name, b->name);
}

static void types_fill(const struct trace_list *l, struct describe *d)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_job *j = &l->jobs[i];
        if (!j->gpus)
            continue;
        if (!j->ntypes)
            d->any_type++;
        for (uint32_t p = 0; p < j->nparts; p++)
            types_count(d, j->parts[p].types, j->parts[p].ntypes);
        if (!j->nparts)
            types_count(d, j->types, j->ntypes);
    }
    qsort(d->types, d->ntypes, sizeof *d->types, order_jobs);
}

static void counts_fill(const struct trace_list *l, struct describe *d)
{
    double gpus = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_job *j = &l->jobs[i];
        struct describe_group *g = &d->sizes[size_of(j)];
        double h = gpu_hours(j);
        g->jobs++;
        g->gpu_h += h;
        d->gpu_h += h;
        d->states[j->state]++;
        d->endless += j->run_us == TRACE_NEVER;
        d->gpu_jobs += j->gpus > 0;
        d->most_gpus = j->gpus > d->most_gpus ? j->gpus : d->most_gpus;
        gpus += j->gpus * (j->gpu_milli / 1000.0);
    }
    d->gpu_mean = d->gpu_jobs ? gpus / d->gpu_jobs : 0;
    if (!l->n)
        return;
    d->first_us = l->jobs[0].submit_us;
    d->last_us = l->jobs[l->n - 1].submit_us;
    double us = (double)d->last_us - (double)d->first_us;
    if (us >= (double)DESCRIBE_SPAN_MIN_US)
        d->offered_gpus = d->gpu_h / (us / (double)US_PER_H);
}

void describe_trace(const struct trace_list *l, struct describe *ret)
{
    struct describe d = {.jobs = l->n, .skipped = l->skipped, .first_us = TRACE_NEVER,
                         .last_us = TRACE_NEVER};
    int64_t *room = mem_alloc(((size_t)l->n + 1) * sizeof *room);
    counts_fill(l, &d);
    runs_fill(l, DESCRIBE_SIZES, room, &d.run);
    for (int i = 0; i < DESCRIBE_SIZES; i++)
        runs_fill(l, i, room, &d.sizes[i].run);
    waits_fill(l, room, &d);
    queues_fill(l, &d);
    types_fill(l, &d);
    free(room);
    *ret = d;
}

/* --- for people
 * --------------------------------------------------------------------- */

/* A time of the trace: a date if it can be one, else the time since its zero. */
static void moment_text(struct buf *out, int64_t us)
{
    char t[24];
    buf_z(out, us >= 5 * 365 * US_PER_DAY ? time_text(us, t) : duration_text(us, t));
}

static void times_text(struct buf *out, const char *name,
                       const struct describe_times *t)
{
    char a[24], b[24], c[24], d[24], e[24];
    if (!t->n)
        return;
    buf_fmt(out, "%-10s mean %s, p10 %s, p50 %s, p90 %s, p99 %s", name,
            duration_text((int64_t)t->mean_us, a), duration_text(t->p10_us, b),
            duration_text(t->p50_us, c), duration_text(t->p90_us, d),
            duration_text(t->p99_us, e));
    buf_fmt(out, ", longest %s\n", duration_text(t->max_us, a));
}

/* "(3 rows left out: 2 steps, 1 filtered)" */
static void left_text(const struct trace_list *l, struct buf *out)
{
    const struct {
        uint64_t n;
        const char *one, *many;
    } why[] = {
        {l->notes.left_filter, "by the mapping's filter", "by the mapping's filters"},
        {l->notes.left_step, "step, whose job has its own row",
         "steps, whose jobs have their own rows"},
        {l->notes.left_partial, "partial execution", "partial executions"},
    };
    char n[24];
    const char *sep = ": ";
    if (l->skipped)
        buf_fmt(out, " (%s row%s left out", count_text(l->skipped, n),
                l->skipped == 1 ? "" : "s");
    for (size_t i = 0; l->skipped && i < sizeof why / sizeof *why; i++)
        if (why[i].n) {
            buf_fmt(out, "%s%s %s", sep, count_text(why[i].n, n),
                    why[i].n == 1 ? why[i].one : why[i].many);
            sep = ", ";
        }
    if (l->skipped)
        buf_char(out, ')');
    if (l->notes.joined)
        buf_fmt(out, ", %s more row%s joined to them", count_text(l->notes.joined, n),
                l->notes.joined == 1 ? "" : "s");
}

static void head_text(const struct describe *d, const struct trace_list *l,
                      struct buf *out)
{
    char n[24], m[24];
    buf_fmt(out, "format     %s\n", l->format);
    if (l->remark.len)
        buf_fmt(out, "remark     " STR_FMT "\n", STR_ARG(l->remark));
    buf_fmt(out, "jobs       %s", count_text(d->jobs, n));
    left_text(l, out);
    buf_fmt(out, ", with GPUs %s\n", count_text(d->gpu_jobs, n));
    if (!d->jobs)
        return;
    buf_z(out, "submitted  ");
    moment_text(out, d->first_us);
    buf_z(out, " to ");
    moment_text(out, d->last_us);
    buf_fmt(out, " (%s)\n", duration_text(d->last_us - d->first_us, n));
    buf_z(out, "states    ");
    for (int i = 0; i < DESCRIBE_STATES; i++)
        if (d->states[i])
            buf_fmt(out, " %s %s", state_names[i], count_text(d->states[i], n));
    buf_fmt(out, "\nusers      %s, queues %s\n",
            count_text(d->users, n), count_text(d->queues, m));
}

static void load_text(const struct describe *d, uint64_t capacity_gpus, struct buf *out)
{
    char n[24], m[24];
    buf_fmt(out, "GPU hours  %s, on average %.2f GPUs a job, at most %s\n",
            count_text((uint64_t)d->gpu_h, n), d->gpu_mean,
            count_text(d->most_gpus, m));
    if ((double)d->last_us - (double)d->first_us < (double)DESCRIBE_SPAN_MIN_US) {
        buf_z(out, "load       - (all is submitted within a minute: no time to take a "
                   "mean over)\n");
    } else {
        buf_fmt(out, "load       %.1f GPUs busy on average over the time of submission",
                d->offered_gpus);
        if (capacity_gpus)
            buf_fmt(out, ", %.1f %% of %s",
                    100 * d->offered_gpus / (double)capacity_gpus,
                    count_text(capacity_gpus, n));
        buf_char(out, '\n');
    }
    times_text(out, "run", &d->run);
    times_text(out, "wait", &d->wait);
    if (d->endless)
        buf_fmt(out, "endless    %s job%s no known run time\n",
                count_text(d->endless, n), d->endless == 1 ? " has" : "s have");
}

static void group_text(struct buf *out, const char *name, int width,
                       const struct describe_group *g, double gpu_h, bool runs)
{
    char n[24], m[24], p50[24], p99[24];
    buf_fmt(out, "  %-*.*s %12s %14s %6.1f", width, width, name, count_text(g->jobs, n),
            count_text((uint64_t)g->gpu_h, m), gpu_h > 0 ? 100 * g->gpu_h / gpu_h : 0);
    if (runs && g->run.n)
        buf_fmt(out, " %12s %12s", duration_text(g->run.p50_us, p50),
                duration_text(g->run.p99_us, p99));
    buf_char(out, '\n');
}

static void types_text(const struct describe *d, struct buf *out)
{
    char n[24];
    if (!d->ntypes)
        return;
    buf_fmt(out, "\n  %-16s %12s\n", "GPU type", "jobs");
    for (uint32_t i = 0; i < d->ntypes; i++)
        buf_fmt(out, "  %-16.*s %12s\n", STR_ARG(d->types[i].name),
                count_text(d->types[i].jobs, n));
    if (d->any_type)
        buf_fmt(out, "  %-16s %12s\n", "any", count_text(d->any_type, n));
}

void describe_text(const struct describe *d, const struct trace_list *l,
                   uint64_t capacity_gpus, struct buf *out)
{
    head_text(d, l, out);
    trace_warnings(l, "warning    ", out);
    if (!d->jobs)
        return;
    load_text(d, capacity_gpus, out);
    buf_fmt(out, "\n  %-16s %12s %14s %6s %12s %12s\n", "GPUs of a job", "jobs",
            "GPU hours", "%", "run p50", "run p99");
    for (int i = 0; i < DESCRIBE_SIZES; i++)
        if (d->sizes[i].jobs)
            group_text(out, size_names[i], 16, &d->sizes[i], d->gpu_h, true);
    types_text(d, out);
    if (d->queues < 2)
        return;
    buf_fmt(out, "\n  %-16s %12s %14s %6s\n", "queue", "jobs", "GPU hours", "%");
    for (uint32_t i = 0; i < d->ntop; i++) {
        char name[20];
        snprintf(name, sizeof name, STR_FMT, STR_ARG(d->top[i].name));
        group_text(out, *name ? name : "-", 16, &d->top[i], d->gpu_h, false);
    }
    if (d->queues > d->ntop)
        buf_fmt(out, "  and %u more\n", d->queues - d->ntop);
}

/* --- for programs
 * ------------------------------------------------------------------- */

static void times_json(struct buf *out, const char *name,
                       const struct describe_times *t)
{
    buf_fmt(out, ",\"%s\":{\"jobs\":%u", name, t->n);
    if (t->n)
        buf_fmt(out,
                ",\"mean_us\":%.0f,\"p10_us\":%lld,\"p50_us\":%lld,\"p90_us\":%lld,"
                "\"p99_us\":%lld,\"max_us\":%lld",
                t->mean_us, (long long)t->p10_us, (long long)t->p50_us,
                (long long)t->p90_us, (long long)t->p99_us, (long long)t->max_us);
    buf_char(out, '}');
}

static void notes_json(const struct trace_notes *n, struct buf *out)
{
    buf_fmt(out,
            ",\"left_out\":{\"filter\":%llu,\"step\":%llu,\"partial\":%llu},"
            "\"joined\":%llu,\"start_before_submit\":%llu,\"end_before_start\":%llu,"
            "\"arrays_cut_short\":%llu",
            (unsigned long long)n->left_filter, (unsigned long long)n->left_step,
            (unsigned long long)n->left_partial, (unsigned long long)n->joined,
            (unsigned long long)n->early_start.n, (unsigned long long)n->early_end.n,
            (unsigned long long)n->cut_array.n);
}

static void types_json(const struct describe *d, struct buf *out)
{
    buf_fmt(out, ",\"any_gpu_type\":%u,\"gpu_types\":{", d->any_type);
    for (uint32_t i = 0; i < d->ntypes; i++) {
        if (i)
            buf_char(out, ',');
        buf_json(out, d->types[i].name);
        buf_fmt(out, ":%u", d->types[i].jobs);
    }
    buf_char(out, '}');
}

void describe_json(const struct describe *d, const struct trace_list *l,
                   uint64_t capacity_gpus, struct buf *out)
{
    buf_fmt(out, "{\"format\":\"%s\",\"jobs\":%u,\"gpu_jobs\":%u,\"skipped\":%llu",
            l->format, d->jobs, d->gpu_jobs, (unsigned long long)d->skipped);
    notes_json(&l->notes, out);
    if (d->jobs)
        buf_fmt(out, ",\"first_submit_us\":%lld,\"last_submit_us\":%lld",
                (long long)d->first_us, (long long)d->last_us);
    for (int i = 0; i < DESCRIBE_STATES; i++)
        buf_fmt(out, "%s\"%s\":%u", i ? "," : ",\"states\":{", state_names[i],
                d->states[i]);
    buf_fmt(out,
            "},\"users\":%u,\"queues\":%u,\"gpu_hours\":%.6f,\"gpus_mean\":%.6f,"
            "\"gpus_max\":%llu,\"offered_gpus\":%.6f,\"endless\":%u",
            d->users, d->queues, d->gpu_h, d->gpu_mean,
            (unsigned long long)d->most_gpus, d->offered_gpus, d->endless);
    if (capacity_gpus)
        buf_fmt(out, ",\"load\":%.6f", d->offered_gpus / (double)capacity_gpus);
    types_json(d, out);
    times_json(out, "run", &d->run);
    times_json(out, "wait", &d->wait);
    for (int i = 0; i < DESCRIBE_SIZES; i++) {
        buf_fmt(out, "%s{\"gpus\":\"%s\",\"jobs\":%u,\"gpu_hours\":%.6f", i ? "," :
                ",\"sizes\":[", size_names[i], d->sizes[i].jobs, d->sizes[i].gpu_h);
        times_json(out, "run", &d->sizes[i].run);
        buf_char(out, '}');
    }
    buf_z(out, "],\"top_queues\":[");
    for (uint32_t i = 0; i < d->ntop; i++) {
        buf_z(out, i ? ",{\"name\":" : "{\"name\":");
        buf_json(out, d->top[i].name);
        buf_fmt(out, ",\"jobs\":%u,\"gpu_hours\":%.6f}", d->top[i].jobs,
                d->top[i].gpu_h);
    }
    buf_z(out, "]}\n");
}
