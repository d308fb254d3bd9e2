/* million.c - a million single-node jobs through the twin: CPU time and peak memory
 *
 * The trace is made by `muster trace generate` (not timed) in a folder of its own and
 * removed at the end; the run reads it, replays it under FIFO and reports. The least
 * CPU time (user and system) and the largest resident set of MILLION_RUNS runs count;
 * every job must have ended.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "proof.h"

enum { MILLION_RUNS = 2 };
#define JOBS INT64_C(1000000)
#define MOST_S 10.0
#define MOST_MIB 1024.0

int main(void)
{
    proof_begin("million");
    const char *cluster = proof_temp("c.yaml"), *trace = proof_temp("t.jsonl");
    const char *report = proof_temp("report.json");
    double cpu_s = 0, peak_mib = 0;
    proof_must_run(PROOF_WORDS(proof_muster(), "trace", "generate", "--jobs",
                               proof_text("%lld", (long long)JOBS), "--one-node",
                               "--load", "85", "--seed", "1", "--cluster-out", cluster,
                               "--out", trace),
                   NULL, NULL);
    for (int k = 0; k < MILLION_RUNS; k++) {
        struct proof_use use;
        proof_must_run(PROOF_WORDS(proof_muster(), "sim", "--cluster", cluster,
                                   "--trace", trace, "--policy", "fifo", "-o", "json",
                                   "--out", report),
                       NULL, &use);
        printf("run %d: %.2f s, %.0f MiB\n", k + 1, use.cpu_s, use.peak_mib);
        if (!k || use.cpu_s < cpu_s)
            cpu_s = use.cpu_s;
        if (use.peak_mib > peak_mib)
            peak_mib = use.peak_mib;
    }
    json_t *root = proof_json_file(report);
    proof_same("jobs", proof_int(root, "runs.0.jobs.total"), JOBS, "asked for");
    proof_same("jobs that ended", proof_int(root, "runs.0.jobs.ended"), JOBS,
               "asked for");
    json_decref(root);
    if (cpu_s > MOST_S)
        proof_miss("the CPU time");
    if (peak_mib > MOST_MIB)
        proof_miss("the peak memory");
    return proof_end("%.2f s CPU, %.0f MiB (aim: <= %.0f s, %.0f MiB)", cpu_s, peak_mib,
                     MOST_S, MOST_MIB);
}
