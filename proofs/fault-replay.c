/* fault-replay.c - the InfiniteHBD fault trace comes back, from the reader and the twin
 *
 * Three things, each computed here from the file itself in whole units and compared:
 * the rate and the repair quantiles that `muster trace info` prints (and the published
 * 4.20 faults per 1000 node-days); the number of faults that the twin plays on 400
 * nodes in 350 days; and the GPU time that its ledger books as faulty, which must be
 * the union of the fault intervals of each server, times 8 GPUs, to the microsecond.
 * The file's times are days with at most four decimals, so 0.0001 day, 8.64 s, is the
 * unit.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "base/vec.h"
#include "proof.h"

#define UNIT_US INT64_C(8640000) /* 0.0001 day */
#define DAY_US INT64_C(86400000000)
#define GPU_MILLI INT64_C(8000) /* of a server */
#define RATE "4.20" /* 584 / (400 x 348 days), as published with the trace */

enum { SERVERS = 400, DAYS = 348, PLAYED_DAYS = 350 };

struct moment { /* one event of the file */
    int64_t at;
    bool end;
    size_t row;
    const char *node, *kind;
};

struct spell { /* a fault, from its start to its end */
    int64_t from, to;
    const char *node, *kind;
    bool open;
};

static VEC(struct spell) spells;

static int by_time(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->end != y->end)
        return x->end ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_node(const void *a, const void *b)
{
    const struct spell *x = a, *y = b;
    int c = strcmp(x->node, y->node);
    return c ? c : (x->from > y->from) - (x->from < y->from);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t units(json_t *event)
{
    double x = json_number_value(proof_at(event, "event_time")) * 1e4, whole = round(x);
    if (fabs(x - whole) > 1e-6)
        proof_die("a time has more than four decimals");
    return (int64_t)whole;
}

/* The n-th end closes the oldest open fault of its server and kind. */
static void close_spell(const struct moment *m)
{
    for (uint32_t i = 0; i < spells.n; i++) {
        struct spell *s = &spells.at[i];
        if (s->open && !strcmp(s->node, m->node) && !strcmp(s->kind, m->kind)) {
            s->open = false;
            s->to = m->at;
            return;
        }
    }
    proof_die("an end of %s on %s has no start", m->kind, m->node);
}

static void read_spells(json_t *events)
{
    size_t n = json_array_size(events), i;
    struct moment *moments = mem_zero(n * sizeof *moments);
    json_t *e;
    json_array_foreach(events, i, e)
    {
        moments[i] =
            (struct moment){.at = units(e),
                            .end = !strcmp(proof_str(e, "event_type"), "fault_end"),
                            .row = i,
                            .node = proof_str(e, "node_id"),
                            .kind =
                                json_dumps(proof_at(e, "fault_type"), JSON_SORT_KEYS)};
    }
    qsort(moments, n, sizeof *moments, by_time);
    for (i = 0; i < n; i++) {
        const struct moment *m = &moments[i];
        if (m->end)
            close_spell(m);
        else
            vec_push(&spells, (struct spell){m->at, 0, m->node, m->kind, true});
    }
    if (!spells.n)
        proof_die("the file has no fault");
    for (i = 0; i < spells.n; i++)
        if (spells.at[i].open)
            proof_die("a fault of %s has no end", spells.at[i].node);
    free(moments);
}

/* Servers with a fault; *ret_down: how long each was down, summed, in units. */
static unsigned count_servers(int64_t *ret_down)
{
    unsigned servers = 0;
    int64_t until = 0;
    *ret_down = 0;
    qsort(spells.at, spells.n, sizeof *spells.at, by_node);
    for (uint32_t i = 0; i < spells.n; i++) {
        const struct spell *s = &spells.at[i];
        if (!i || strcmp(s->node, s[-1].node)) {
            servers++;
            until = INT64_MIN;
        }
        int64_t from = s->from > until ? s->from : until;
        if (s->to > from)
            *ret_down += s->to - from;
        if (s->to > until)
            until = s->to;
    }
    return servers;
}

/* What `muster trace info` says; returns its rate as text. */
static const char *check_info(const char *path, unsigned servers)
{
    static const int percents[] = {10, 50, 90, 99};
    int64_t *repairs = mem_zero(spells.n * sizeof *repairs), sum = 0;
    json_t *info =
        proof_json(PROOF_WORDS(proof_muster(), "trace", "info", path, "--nodes",
                               proof_text("%d", SERVERS), "--span",
                               proof_text("%dd", DAYS), "-o", "json"));
    for (uint32_t i = 0; i < spells.n; i++)
        sum += repairs[i] = spells.at[i].to - spells.at[i].from;
    qsort(repairs, spells.n, sizeof *repairs, by_value);
    proof_same("faults", proof_int(info, "faults"), spells.n, "from the file");
    proof_same("servers with a fault", proof_int(info, "nodes_hit"), servers,
               "from the file");
    const char *rate =
        proof_text("%.2f", json_number_value(proof_at(info, "per_1000_node_days")));
    printf("faults in 1000 node-days: %s, published %s\n", rate, RATE);
    if (strcmp(rate, RATE))
        proof_miss("faults in 1000 node-days");
    proof_same("repair mean, us", proof_int(info, "repair_mean_us"),
               (sum * UNIT_US * 2 + spells.n) / (2 * (int64_t)spells.n),
               "from the file");
    /* rank floor(q (n - 1)) from 0, by which the published 12.9 and 81 days hold */
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++)
        proof_same(proof_text("repair p%d, us", percents[i]),
                   proof_int(info, proof_text("repair_p%d_us", percents[i])),
                   repairs[(spells.n - 1) * (size_t)percents[i] / 100] * UNIT_US,
                   "from the file");
    json_decref(info);
    free(repairs);
    return rate;
}

static void write_job(FILE *f, const char *name, int64_t day)
{
    fprintf(f,
            "{\"name\":\"%s\",\"user\":\"u\",\"queue\":\"q\",\"submit_us\":%lld,"
            "\"run_us\":1000000,\"gpus\":1,\"cpu_milli\":1000,\"mem_bytes\":1000,"
            "\"state\":\"done\"}\n",
            name, (long long)(day * DAY_US));
}

static void check_twin(const char *path, int64_t down)
{
    const char *cluster = proof_temp("c.yaml"), *trace = proof_temp("t.jsonl");
    FILE *f = fopen(cluster, "w"), *t = fopen(trace, "w");
    if (!f || !t)
        proof_die("%s and %s cannot be written", cluster, trace);
    fprintf(f,
            "name: watched\nlevels: [rack]\nnodes:\n- {count: %d, name: \"n{000}\", "
            "cpus: 100, memory: 1TiB, gpus: {type: A100, count: 8}, "
            "place: {rack: \"r{00}\"}, per: {rack: 20}}\n",
            SERVERS);
    fputs("{\"muster_trace\":1,\"gpus_per_node\":8}\n", t);
    write_job(t, "first", 0);
    write_job(t, "last", PLAYED_DAYS);
    if (fclose(f) || fclose(t))
        proof_die("%s and %s cannot be written", cluster, trace);
    json_t *sim =
        proof_json(PROOF_WORDS(proof_muster(), "sim", "-c", cluster, "-t", trace, "-p",
                               "fifo", "--faults", path, "--fault-servers",
                               proof_text("%d", SERVERS), "-o", "json"));
    json_t *causes = proof_at(sim, "runs.0.ledger.causes"), *c;
    int64_t booked = -1;
    size_t i;
    json_array_foreach(causes, i, c)
    {
        if (!strcmp(proof_str(c, "cause"), "faulty"))
            booked = proof_int(c, "gpu_milli_us");
    }
    proof_same("faults played", proof_int(sim, "runs.0.totals.faults"), spells.n,
               "from the file");
    proof_same("faulty GPU time, milli-GPU us", booked, down * UNIT_US * GPU_MILLI,
               "from the file");
    json_decref(sim);
}

int main(void)
{
    int64_t down;
    proof_begin("fault-replay");
    const char *path = proof_shared("data/traces/infinitehbd-faults/fault_trace.json");
    read_spells(proof_json_file(path));
    unsigned servers = count_servers(&down);
    const char *rate = check_info(path, servers);
    check_twin(path, down);
    return proof_end("%s faults in 1000 node-days, %u differences (aim: " RATE ", 0)",
                     rate, proof_misses());
}
