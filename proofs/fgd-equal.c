/* fgd-equal.c - the FGD experiment (USENIX ATC'23) against the published cells
 *
 * usage: fgd-equal [quick|all]
 * Runs `muster sim` on the published pod lists in the published arrival orders and
 * compares its --columns with the checked-in results: allocation and fragmentation, 131
 * columns each, as hundredths, without tolerance for the five deterministic policies.
 * Random draws from a racy list in the original, so it is held to the published seeds'
 * mean instead: the mean over the seeds that ran may differ by RANDOM_SIGMAS published
 * standard errors (at least RANDOM_FLOOR) in any column.
 *   quick  default, seed 42, all policies; cpu250, seed 42, FGD (it loses 38 columns
 *          if the sigmoid is wrong near zero, where default sees nothing)
 *   all    17 workloads x 10 seeds x all policies
 * The last line is the figure. Exit 77 where the shared data is absent.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/csv.h"
#include "base/map.h"
#include "base/vec.h"
#include "proof.h"

enum { COLUMNS = 131, SEED_FIRST = 42, SEEDS = 10 };
#define RANDOM_SIGMAS 4.0
#define RANDOM_FLOOR 0.30 /* points; the early columns of all seeds are almost equal */

enum measure { ALLOCATION = 0, FRAGMENTATION, MEASURES };
static const char *const measure_names[MEASURES] = {"allocation", "fragmentation"};

struct row {
    int32_t cells[COLUMNS]; /* hundredths of a percent */
};

struct published {
    struct strmap keys; /* "workload,policy,seed" -> index into rows */
    struct arena text;
    VEC(struct row) rows;
};

static const struct policy_pair {
    const char *theirs, *ours;
} policies[] = {
    {"02-DotProd", "dotprod"},
    {"03-GpuClustering", "gpu-clustering"},
    {"04-GpuPacking", "gpu-packing"},
    {"05-BestFit", "bestfit"},
    {"06-FGD", "fgd"},
    {"01-Random", "random"},
};
enum { POLICIES = sizeof policies / sizeof policies[0], FGD = 4, RANDOM = 5 };

static const char *const workloads[] = {
    "default",    "cpu050",     "cpu100",      "cpu200",     "cpu250",     "gpushare40",
    "gpushare60", "gpushare80", "gpushare100", "gpuspec10",  "gpuspec20",  "gpuspec25",
    "gpuspec33",  "multigpu20", "multigpu30",  "multigpu40", "multigpu50",
};
enum { WORKLOADS = sizeof workloads / sizeof workloads[0] };

static struct published published[MEASURES];
static const char *data;
static uint64_t cells_compared, cells_differ;
static unsigned experiments, experiments_differ;

/* A cell such as "11.04" -> 1104; nothing is rounded here. */
static bool hundredths(struct str s, int32_t *ret)
{
    int64_t n;
    if (!proof_decimal(s, 2, &n) || n > 100000000)
        return false;
    *ret = (int32_t)n;
    return true;
}

/* analysis_*_discrete.csv: workload, policy, tune, seed, maybe total_gpus, columns. */
static void load_published(struct published *p, const char *file)
{
    const char *path = proof_text("%s/expected/%s", data, file);
    struct err err = {0};
    struct infile *in;
    struct csv_row row;
    if (infile_open(&in, path, &err))
        proof_die("%s", err.text);
    struct csv *csv = csv_open(in, ',', '"');
    int rc;
    bool header = true;
    while ((rc = csv_next(csv, &row, &err)) == 1) {
        struct row cells;
        struct buf key = {0};
        if (header) {
            header = false;
            continue;
        }
        if (row.n < COLUMNS + 4)
            proof_die("%s: a row is too short", path);
        for (uint32_t i = 0; i < COLUMNS; i++)
            if (!hundredths(row.cells[row.n - COLUMNS + i], &cells.cells[i]))
                proof_die("%s: a cell is no number with at most two decimals", path);
        buf_fmt(&key, STR_FMT "," STR_FMT "," STR_FMT, STR_ARG(row.cells[0]),
                STR_ARG(row.cells[1]), STR_ARG(row.cells[3]));
        strmap_put(&p->keys, arena_str(&p->text, buf_as_str(&key)), p->rows.n);
        buf_done(&key);
        vec_push(&p->rows, cells);
    }
    if (rc < 0)
        proof_die("%s", err.text);
    csv_close(csv);
}

static const struct row *find_published(int measure, const char *workload,
                                        const char *policy, int seed)
{
    char key[256];
    snprintf(key, sizeof key, "openb_pod_list_%s,%s,%d", workload, policy, seed);
    uint32_t i = strmap_get(&published[measure].keys, str_of(key));
    if (i == MAP_NONE)
        proof_die("%s is not among the published results", key);
    return &published[measure].rows.at[i];
}

/* The two lines "allocation,v0,...,v130" and "fragmentation,..." of a columns file. */
static void read_columns(const char *path, struct row ret[MEASURES])
{
    struct buf text = {0};
    struct err err = {0};
    bool seen[MEASURES] = {0};
    if (infile_slurp(path, 1 << 20, &text, &err))
        proof_die("%s", err.text);
    struct str rest = buf_as_str(&text);
    while (rest.ptr && rest.len) {
        struct str line = str_cut(&rest, '\n'), name = str_cut(&line, ',');
        int m = 0;
        while (m < MEASURES && !str_starts(name, str_of(measure_names[m])))
            m++;
        if (m == MEASURES)
            continue;
        seen[m] = true;
        for (int i = 0; i < COLUMNS; i++)
            if (!hundredths(str_trim(str_cut(&line, ',')), &ret[m].cells[i]))
                proof_die("%s: a cell is no number with at most two decimals", path);
        if (line.ptr)
            proof_die("%s: more than 131 values in a line", path);
    }
    if (!seen[ALLOCATION] || !seen[FRAGMENTATION])
        proof_die("%s: a measure is missing", path);
    buf_done(&text);
}

static void run_experiment(const char *workload, const char *policy, int seed,
                           struct row ret[MEASURES])
{
    const char *columns = proof_temp("columns.csv");
    const char *pods = proof_text("openb_pod_list_%s", workload);
    proof_must_run(PROOF_WORDS(proof_muster(), "sim", "--cluster",
                               proof_text("%s/csv/openb_node_list_gpu_node.csv", data),
                               "--trace", proof_text("%s/csv/%s.csv.zst", data, pods),
                               "--order",
                               proof_text("%s/orders/%s.orders.zst", data, pods),
                               "--seed", proof_text("%d", seed), "--forever",
                               "--policy", policy, "--columns", columns, "-o", "json",
                               "--out", "/dev/null"),
                   NULL, NULL);
    read_columns(columns, ret);
}

static void compare(const char *workload, const struct policy_pair *policy, int seed)
{
    struct row ours[MEASURES];
    unsigned differ = 0;
    run_experiment(workload, policy->ours, seed, ours);
    for (int m = 0; m < MEASURES; m++) {
        const struct row *theirs = find_published(m, workload, policy->theirs, seed);
        for (int i = 0; i < COLUMNS; i++) {
            if (ours[m].cells[i] == theirs->cells[i])
                continue;
            if (!differ++)
                printf("%s %s seed %d: %s column %d is %.2f, published %.2f\n",
                       workload, policy->ours, seed, measure_names[m], i,
                       ours[m].cells[i] / 100.0, theirs->cells[i] / 100.0);
        }
    }
    experiments++;
    experiments_differ += differ > 0;
    cells_compared += MEASURES * COLUMNS;
    cells_differ += differ;
    if (differ)
        printf("%s %s seed %d: %u of %d cells differ\n", workload, policy->ours, seed,
               differ, MEASURES * COLUMNS);
}

/* Largest excess over the allowance, in points, of the mean of n seeds; <= 0: fine. */
static double compare_random(const char *workload, int n)
{
    double sum[MEASURES][COLUMNS] = {{0}}, worst = -1e9;
    for (int k = 0; k < n; k++) {
        struct row ours[MEASURES];
        run_experiment(workload, policies[RANDOM].ours, SEED_FIRST + k, ours);
        for (int m = 0; m < MEASURES; m++)
            for (int i = 0; i < COLUMNS; i++)
                sum[m][i] += ours[m].cells[i] / 100.0;
    }
    for (int m = 0; m < MEASURES; m++) {
        for (int i = 0; i < COLUMNS; i++) {
            double mean = 0, square = 0;
            for (int k = 0; k < SEEDS; k++) {
                double v =
                    find_published(m, workload, policies[RANDOM].theirs, SEED_FIRST + k)
                        ->cells[i] /
                    100.0;
                mean += v / SEEDS;
                square += v * v / SEEDS;
            }
            double sd = sqrt(fmax(0, square - mean * mean) * SEEDS / (SEEDS - 1.0));
            double most =
                fmax(RANDOM_FLOOR, RANDOM_SIGMAS * sd * sqrt(1.0 / n + 1.0 / SEEDS));
            double excess = fabs(sum[m][i] / n - mean) - most;
            if (excess > worst)
                worst = excess;
            if (excess > 0)
                printf("%s random: %s column %d is %.2f, published mean %.2f +- %.2f\n",
                       workload, measure_names[m], i, sum[m][i] / n, mean, most);
        }
    }
    return worst;
}

int main(int argc, char **argv)
{
    bool all = argc < 2 || !strcmp(argv[1], "all");
    proof_begin("fgd-equal");
    data = proof_shared("data/traces/openb-fgd");
    load_published(&published[ALLOCATION], "analysis_allo_discrete.csv.zst");
    load_published(&published[FRAGMENTATION], "analysis_frag_discrete.csv.zst");

    int seeds = all ? SEEDS : 1;
    unsigned random_bad = 0;
    for (int w = 0; w < (all ? WORKLOADS : 1); w++) {
        for (int p = 0; p < RANDOM; p++)
            for (int k = 0; k < seeds; k++)
                compare(workloads[w], &policies[p], SEED_FIRST + k);
        random_bad += compare_random(workloads[w], seeds) > 0;
    }
    if (!all)
        compare("cpu250", &policies[FGD], SEED_FIRST);

    printf("random: %u of %d workloads outside %.0f standard errors (or %.2f points)\n",
           random_bad, all ? WORKLOADS : 1, RANDOM_SIGMAS, RANDOM_FLOOR);
    if (cells_differ || random_bad)
        proof_miss("the published experiment");
    return proof_end("%llu of %llu cells differ, %u of %u experiments (aim: 0)",
                     (unsigned long long)cells_differ,
                     (unsigned long long)cells_compared, experiments_differ,
                     experiments);
}
