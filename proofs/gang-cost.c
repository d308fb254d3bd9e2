/* gang-cost.c - what a placement costs on 100,000 GPUs at 90 % occupancy, in the core
 *
 * Runs bench/bench-place and bench/bench-cluster (their heads say what is built, filled
 * and timed; sizes, seeds and load are fixed there) five times each and takes the least
 * of each figure: a 1,024-GPU gang placed and undone, the whole decision about it, a
 * node's update, and how much more a single placement costs here than on 10,000 GPUs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/buf.h"
#include "base/infile.h"
#include "proof.h"

enum program { PLACE = 0, CLUSTER, PROGRAMS };
enum { GANG = 0, DECISION, UPDATE, CLAIM, CORDON, SINGLE_LARGE, SINGLE_SMALL, FIGURES };
#define RATIO_MOST 2.0 /* of a single placement, 100,000 GPUs against 10,000 */

static const char *const programs[PROGRAMS] = {"bench/bench-place",
                                               "bench/bench-cluster"};

/* The number before `unit` in the program's line that begins with `line`. */
static const struct figure {
    const char *what;
    enum program program;
    const char *line, *unit;
    double us;   /* one of the unit */
    double most; /* us; 0: no aim of its own */
} figures[FIGURES] = {
    [GANG] = {"1,024-GPU gang placed and undone, p99", PLACE,
              "place-gang-100000: ", " us p99", 1, 20},
    [DECISION] = {"the whole decision about it, p99", PLACE,
                  "place-decision-100000: ", " us p99", 1, 200},
    [UPDATE] = {"a node goes or returns, p99", PLACE,
                "place-update-100000: ", " us p99", 1, 0.1},
    [CLAIM] = {"a claim taken or given back, mean", CLUSTER,
               "cluster-update-100000: ", " ns", 1e-3, 0.1},
    [CORDON] = {"a node leaves its lanes or returns, mean", CLUSTER,
                "cluster-cordon-100000: ", " ns", 1e-3, 0.1},
    [SINGLE_LARGE] = {"a 1-GPU job's decision, p50, 100,000 GPUs", PLACE,
                      "place-single-100000: ", " us p50", 1, 0},
    [SINGLE_SMALL] = {"the same, 10,240 GPUs", PLACE, "place-single-10240: ", " us p50",
                      1, 0},
};

static double find(const struct figure *f, struct str rest)
{
    while (rest.ptr && rest.len) {
        struct str line = str_cut(&rest, '\n');
        if (!str_starts(line, str_of(f->line)))
            continue;
        const char *end = memmem(line.ptr, line.len, f->unit, strlen(f->unit));
        const char *from = end;
        double value;
        while (from && from > line.ptr && from[-1] != ' ')
            from--;
        if (from && !str_to_double((struct str){from, (size_t)(end - from)}, &value))
            return value * f->us;
    }
    proof_die("%s printed no \"%sX%s\"", programs[f->program], f->line, f->unit);
}

static void run(enum program program, double least[FIGURES])
{
    struct buf text = {0};
    struct err err = {0};
    const char *out = proof_temp("bench.txt");
    /* bench-cluster's exit code judges each run alone; here the least of all counts */
    int code = proof_run(PROOF_WORDS(proof_build(programs[program])), out, NULL);
    if (code > 1)
        proof_die("exit %d: %s", code, proof_build(programs[program]));
    if (infile_slurp(out, 1 << 20, &text, &err))
        proof_die("%s", err.text);
    /* a gang that found no room would be refused quickly */
    if (memmem(text.data, text.len, "found no room", 13))
        proof_die("%s", text.data);
    for (int i = 0; i < FIGURES; i++) {
        if (figures[i].program != program)
            continue;
        double value = find(&figures[i], buf_as_str(&text));
        if (least[i] == 0 || value < least[i])
            least[i] = value;
    }
    buf_done(&text);
}

int main(void)
{
    double least[FIGURES] = {0};
    proof_begin("gang-cost");
    for (int k = 0; k < PROOF_RUNS; k++)
        for (int p = 0; p < PROGRAMS; p++)
            run(p, least);
    for (int i = 0; i < FIGURES; i++) {
        const struct figure *f = &figures[i];
        printf("%s: %.3f us", f->what, least[i]);
        printf(f->most > 0 ? " (aim: <= %g)\n" : "\n", f->most);
        if (f->most > 0 && least[i] > f->most)
            proof_miss("%s", f->what);
    }
    double ratio = least[SINGLE_LARGE] / least[SINGLE_SMALL];
    printf("large to small: %.2f (aim: <= %g)\n", ratio, RATIO_MOST);
    if (!(ratio <= RATIO_MOST))
        proof_miss("a single placement on the large cluster");
    return proof_end(
        "gang %.2f us, decision %.2f us, update %.3f us, large to small %.2f "
        "(aim: <= 20, 200, 0.1, 2)",
        least[GANG], least[DECISION], least[UPDATE], ratio);
}
