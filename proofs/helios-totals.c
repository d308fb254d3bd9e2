/* helios-totals.c - FIFO and SJF on the Philly subset against HeliosArtifact
 *
 * 68,503 jobs of October and November 2017 in 11 virtual clusters. The integer totals
 * of queueing and completion (verified by an independent program, see PEER_SUBSET.md of
 * the shared data) must be equal, and each virtual cluster's means to the peer's four
 * decimals. The peer's figures are read from its own output files, peer_subset_fifo.csv
 * and peer_subset_sjf.csv.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/csv.h"
#include "proof.h"

enum {
    JOBS = 68503,
    US = 1000000,
    VC = 0,
    COUNT = 2,
    QUEUE = 3,
    COMPLETION = 4,
    CELLS
};

/* PEER_SUBSET.md, "Integer totals for a strict gate": queueing, completion, seconds. */
static const struct totals {
    const char *policy;
    int64_t wait_s, completion_s;
} totals[] = {{"fifo", 7166165, 793627245}, {"sjf", 4298305, 790759385}};
enum { POLICIES = sizeof totals / sizeof totals[0] };

static unsigned means;

/* The mean in units of 0.1 ms, as the peer prints it: to the nearest, half to even. */
static int64_t mean(json_t *stat)
{
    int64_t sum = proof_int(stat, "sum_s") * US + proof_int(stat, "sum_rest_us");
    int64_t unit = proof_int(stat, "jobs") * 100;
    if (!unit)
        return -1;
    int64_t whole = sum / unit, rest = sum % unit;
    return whole + (rest * 2 > unit || (rest * 2 == unit && whole % 2));
}

static void check_total(const char *policy, json_t *run, const char *what, int64_t want)
{
    json_t *got = proof_at(run, what);
    proof_same(proof_text("%s: sum of %s, s", policy, what), proof_int(got, "sum_s"),
               want, "peer");
    if (proof_int(got, "sum_rest_us") || proof_int(got, "jobs") != JOBS)
        proof_miss("%s: %s: %lld us over, %lld jobs", policy, what,
                   (long long)proof_int(got, "sum_rest_us"),
                   (long long)proof_int(got, "jobs"));
}

static json_t *find_queue(json_t *run, struct str vc)
{
    json_t *queue;
    size_t i;
    json_array_foreach(proof_at(run, "by_queue"), i, queue)
    {
        struct str name = str_of(proof_str(queue, "queue"));
        if (str_starts(name, STR("vc=")))
            name = (struct str){name.ptr + 3, name.len - 3};
        if (str_eq(name, vc))
            return queue;
    }
    return NULL;
}

static void check_row(const char *policy, json_t *run, const struct str *cells)
{
    bool all = str_is(cells[VC], "all");
    json_t *mine = all ? run : find_queue(run, cells[VC]);
    int64_t jobs, queue, completion;
    if (!mine) {
        proof_miss("%s: no queue " STR_FMT, policy, STR_ARG(cells[VC]));
        return;
    }
    if (str_to_i64(cells[COUNT], &jobs) || !proof_decimal(cells[QUEUE], 4, &queue) ||
        !proof_decimal(cells[COMPLETION], 4, &completion))
        proof_die("the peer's row of " STR_FMT " is not understood",
                  STR_ARG(cells[VC]));
    int64_t our_jobs = proof_int(mine, all ? "jobs.total" : "jobs");
    int64_t our_queue = mean(proof_at(mine, "wait"));
    int64_t our_completion = mean(proof_at(mine, "completion"));
    means += 2;
    if (our_jobs != jobs || our_queue != queue || our_completion != completion)
        proof_miss("%s " STR_FMT ": jobs %lld, waiting %lld, completion %lld x 0.1 ms, "
                   "peer %lld, %lld, %lld",
                   policy, STR_ARG(cells[VC]), (long long)our_jobs,
                   (long long)our_queue, (long long)our_completion, (long long)jobs,
                   (long long)queue, (long long)completion);
}

/* The peer's rows: vc, nodes, jobs, mean_queue_s, mean_jct_s; the last vc is "all". */
static void check_means(const char *policy, json_t *run, const char *path)
{
    struct err err = {0};
    struct infile *in;
    struct csv_row row;
    size_t rows = 0;
    if (infile_open(&in, path, &err))
        proof_die("%s", err.text);
    struct csv *csv = csv_open(in, ',', '"');
    int rc = csv_next(csv, &row, &err); /* the header */
    while (rc == 1 && (rc = csv_next(csv, &row, &err)) == 1) {
        if (row.n != CELLS)
            proof_die("%s:%llu: %u cells", path, (unsigned long long)row.line, row.n);
        check_row(policy, run, row.cells);
        rows++;
    }
    if (rc < 0)
        proof_die("%s", err.text);
    csv_close(csv);
    if (json_array_size(proof_at(run, "by_queue")) + 1 != rows)
        proof_miss("%s: %zu queues, peer %zu", policy,
                   json_array_size(proof_at(run, "by_queue")), rows - 1);
}

int main(void)
{
    proof_begin("helios-totals");
    const char *trace = proof_shared("data/traces/philly/philly_passed_jobs.csv.zst");
    json_t *root = proof_json(PROOF_WORDS(proof_muster(), "sim", "--cluster",
                                          proof_source("clusters/philly.yaml"),
                                          "--trace", trace, "--format", "philly-helios",
                                          "--policy", "fifo,sjf", "-o", "json"));
    if (json_array_size(proof_at(root, "runs")) != POLICIES)
        proof_die("%zu runs", json_array_size(proof_at(root, "runs")));
    for (size_t i = 0; i < POLICIES; i++) {
        const char *policy = totals[i].policy;
        json_t *run = proof_at(root, proof_text("runs.%zu", i));
        if (strcmp(proof_str(run, "policy"), policy))
            proof_die("run %zu is of policy %s", i, proof_str(run, "policy"));
        check_total(policy, run, "wait", totals[i].wait_s);
        check_total(policy, run, "completion", totals[i].completion_s);
        check_means(policy, run,
                    proof_shared(
                        proof_text("data/traces/helios/peer_subset_%s.csv", policy)));
    }
    json_decref(root);
    if (means != POLICIES * 24)
        proof_miss("%u means were compared", means);
    return proof_end("%u differences in 4 totals and %u means (aim: 0)", proof_misses(),
                     means);
}
