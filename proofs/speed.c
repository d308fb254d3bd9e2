/* speed.c - the CPU time of whole runs: FGD on openb and FIFO on Philly
 *
 * User and system time of the process, the least of five runs; the aims are absolute,
 * so the verdict depends on the machine, and each aim that is not met is said.
 * Instructions (FGD) are callgrind's count and hardly depend on it; without valgrind
 * that aim is not shown, and the proof is skipped (77) unless another aim is missed
 * already. That the timed runs decide as they should is shown by fgd-equal and
 * helios-totals.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/buf.h"
#include "base/infile.h"
#include "base/vec.h"
#include "proof.h"

#define FGD_MOST_S 0.020
#define FGD_MOST_M 100.0 /* million instructions */
#define PHILLY_MOST_S 0.050

static double least_cpu(const char *const *words)
{
    double least = 0;
    for (int k = 0; k < PROOF_RUNS; k++) {
        struct proof_use use;
        proof_must_run(words, NULL, &use);
        if (!k || use.cpu_s < least)
            least = use.cpu_s;
    }
    return least;
}

/* Millions, or a negative number when valgrind is not there. */
static double instructions(const char *const *words)
{
    const char *log = proof_temp("callgrind.log");
    VEC(const char *) all = {0};
    struct buf text = {0};
    struct err err = {0};
    uint64_t n;
    vec_push(&all, "valgrind");
    vec_push(&all, "--tool=callgrind");
    vec_push(&all, "--callgrind-out-file=/dev/null");
    vec_push(&all, proof_text("--log-file=%s", log));
    for (; *words; words++)
        vec_push(&all, *words);
    vec_push(&all, NULL);
    int code = proof_run(all.at, NULL, NULL);
    vec_done(&all);
    if (code == 127)
        return -1;
    if (code)
        proof_die("under valgrind: exit %d", code);
    if (infile_slurp(log, 1 << 20, &text, &err))
        proof_die("%s", err.text);
    char *at = memmem(text.data, text.len, "Collected : ", 12);
    struct str rest = str_of(at ? at + 12 : "");
    if (str_to_u64(str_cut(&rest, '\n'), &n))
        proof_die("callgrind said no count");
    buf_done(&text);
    return (double)n / 1e6;
}

static void judge(const char *what, double value, double most, const char *unit)
{
    printf("%s: %.3f %s (aim: <= %g)\n", what, value, unit, most);
    if (value > most)
        proof_miss("%s: %.3f %s, %.2f times the aim", what, value, unit, value / most);
}

int main(void)
{
    proof_begin("speed");
    const char *data = proof_shared("data/traces/openb-fgd");
    const char *jobs = proof_shared("data/traces/philly/philly_passed_jobs.csv.zst");
    const char *const *fgd =
        PROOF_WORDS(proof_muster(), "sim", "--cluster",
                    proof_text("%s/csv/openb_node_list_gpu_node.csv", data), "--trace",
                    proof_text("%s/csv/openb_pod_list_default.csv.zst", data),
                    "--order",
                    proof_text("%s/orders/openb_pod_list_default.orders.zst", data),
                    "--seed", "42", "--forever", "--policy", "fgd", "--columns",
                    "/dev/null", "-o", "json", "--out", "/dev/null");
    const char *const *philly =
        PROOF_WORDS(proof_muster(), "sim", "--cluster",
                    proof_source("clusters/philly.yaml"), "--trace", jobs, "--format",
                    "philly-helios", "--policy", "fifo", "-o", "json", "--out",
                    "/dev/null");
    double fgd_s = least_cpu(fgd), philly_s = least_cpu(philly),
           count = instructions(fgd);
    judge("FGD on openb, CPU", fgd_s, FGD_MOST_S, "s");
    if (count >= 0)
        judge("FGD on openb, instructions", count, FGD_MOST_M, "M");
    judge("FIFO on Philly, CPU", philly_s, PHILLY_MOST_S, "s");
    if (count < 0 && !proof_misses())
        proof_skip("FGD %.3f s, Philly %.3f s hold, but valgrind is not there to count",
                   fgd_s, philly_s);
    return proof_end(
        "FGD %.3f s, %s M instructions, Philly %.3f s (aim: <= %.3f, %.0f, "
        "%.3f)",
        fgd_s, count < 0 ? "uncounted" : proof_text("%.1f", count), philly_s,
        FGD_MOST_S, FGD_MOST_M, PHILLY_MOST_S);
}
