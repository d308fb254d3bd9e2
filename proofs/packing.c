/* packing.c - muster's own packing against FGD on the 17 published workloads
 *
 * usage: packing [quick|all]
 * Same clusters, pods and arrival orders as fgd-equal (which shows that our FGD is the
 * published one). Allocation at 100 % and 130 % arrived load, mean over seeds: those
 * that the constants were tuned on (42-46), those that they never saw (47-51), and all
 * ten; once with the typical mix given, as FGD has it (muster-mix), once with the mix
 * learned from the arrivals alone (muster-pack). Holds if, of both, the default workload
 * reaches both aims on the unseen seeds and on all ten, and every workload's mean is
 * above FGD's at both loads. Pods that fitted nowhere are printed by class, a mean of
 * all seeds.
 *   quick  the default workload
 *   all    17 workloads; the table in docs/packing.md must then be what was reached
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/buf.h"
#include "base/infile.h"
#include "proof.h"

enum { SEED_FIRST = 42, SEED_UNSEEN = 47, SEEDS = 10, CLASSES = 4 };
enum load { AT_100 = 0, AT_130, LOADS };
enum policy { GIVEN = 0, LEARNED, FGD, POLICIES };
enum part { TUNED = 0, UNSEEN, ALL, PARTS };

static const int load_percent[LOADS] = {100, 130};
static const double aims[LOADS] = {96.2, 96.3};
static const double fair_bound =
    96.62; /* docs/packing.md says why it cannot be passed */
static const char *const policies[POLICIES] = {"muster-mix", "muster-pack", "fgd"};
static const char *const classes[CLASSES] = {"no GPU", "GPU share", "1 GPU",
                                             "2-8 GPUs"};
static const char *const workloads[] = {
    "default",    "cpu050",     "cpu100",      "cpu200",     "cpu250",     "gpushare40",
    "gpushare60", "gpushare80", "gpushare100", "gpuspec10",  "gpuspec20",  "gpuspec25",
    "gpuspec33",  "multigpu20", "multigpu30",  "multigpu40", "multigpu50",
};
enum { WORKLOADS = sizeof workloads / sizeof workloads[0] };

struct outcome {                    /* of one policy on one workload */
    double allocated[PARTS][LOADS]; /* per cent, mean */
    double lost[CLASSES];
};

static const char *data;

/* The line "allocation,v0,...,v130" of a columns file, at both loads. */
static void read_allocation(const char *path, double ret[LOADS])
{
    struct buf text = {0};
    struct err err = {0};
    if (infile_slurp(path, 1 << 20, &text, &err))
        proof_die("%s", err.text);
    struct str rest = buf_as_str(&text);
    while (rest.ptr && rest.len) {
        struct str line = str_cut(&rest, '\n');
        if (!str_starts(str_cut(&line, ','), STR("allocation")))
            continue;
        int l = 0;
        for (int column = 0; l < LOADS && line.ptr; column++) {
            struct str cell = str_cut(&line, ',');
            if (column == load_percent[l] && str_to_double(cell, &ret[l++]))
                proof_die("%s: column %d is no number", path, column);
        }
        if (l < LOADS)
            proof_die("%s has no column %d", path, load_percent[l]);
        buf_done(&text);
        return;
    }
    proof_die("%s has no line of allocation", path);
}

static void count_lost(const char *report, double lost[CLASSES])
{
    json_t *root = proof_json_file(report), *row;
    size_t i;
    json_array_foreach(proof_at(root, "runs.0.by_size"), i, row)
    {
        int k = 0;
        while (k < CLASSES && strcmp(classes[k], proof_str(row, "size")))
            k++;
        if (k == CLASSES)
            proof_die("an unknown class: %s", proof_str(row, "size"));
        lost[k] += (double)(proof_int(row, "jobs") - proof_int(row, "wait.jobs"));
    }
    json_decref(root);
}

static void run(const char *workload, const char *policy, int seed, double ret[LOADS],
                double lost[CLASSES])
{
    const char *columns = proof_temp("columns.csv"),
               *report = proof_temp("report.json");
    const char *pods = proof_text("openb_pod_list_%s", workload);
    proof_must_run(PROOF_WORDS(proof_muster(), "sim", "--cluster",
                               proof_text("%s/csv/openb_node_list_gpu_node.csv", data),
                               "--trace", proof_text("%s/csv/%s.csv.zst", data, pods),
                               "--order",
                               proof_text("%s/orders/%s.orders.zst", data, pods),
                               "--seed", proof_text("%d", seed), "--forever",
                               "--policy", policy, "--columns", columns, "-o", "json",
                               "--out", report),
                   NULL, NULL);
    read_allocation(columns, ret);
    count_lost(report, lost);
}

static struct outcome play(const char *workload, const char *policy)
{
    struct outcome o = {0};
    for (int k = 0; k < SEEDS; k++) {
        int seed = SEED_FIRST + k;
        double got[LOADS];
        run(workload, policy, seed, got, o.lost);
        for (int l = 0; l < LOADS; l++) {
            o.allocated[seed < SEED_UNSEEN ? TUNED : UNSEEN][l] += got[l];
            o.allocated[ALL][l] += got[l];
        }
    }
    for (int k = 0; k < CLASSES; k++)
        o.lost[k] /= SEEDS;
    for (int p = 0; p < PARTS; p++)
        for (int l = 0; l < LOADS; l++)
            o.allocated[p][l] /= p == ALL ? SEEDS : SEEDS / 2;
    return o;
}

static void print(const char *workload, const char *policy, const struct outcome *o)
{
    printf("%-12s %-11s", workload, policy);
    for (int p = 0; p < PARTS; p++)
        printf("  %6.2f %6.2f", o->allocated[p][AT_100], o->allocated[p][AT_130]);
    printf("   ");
    for (int k = 0; k < CLASSES; k++)
        printf("%s%.0f", k ? " / " : "", o->lost[k]);
    printf("\n");
}

static void judge(const char *workload, const char *policy, const struct outcome *own,
                  const struct outcome *fgd)
{
    for (int l = 0; l < LOADS; l++) {
        if (own->allocated[ALL][l] <= fgd->allocated[ALL][l])
            proof_miss("%s, %s at %d %%: not above FGD", workload, policy,
                       load_percent[l]);
        for (int p = UNSEEN; p < PARTS && !strcmp(workload, "default"); p++)
            if (own->allocated[p][l] < aims[l])
                proof_miss("default, %s at %d %%, %s seeds: %.4f is below %.1f", policy,
                           load_percent[l], p == ALL ? "all" : "unseen",
                           own->allocated[p][l], aims[l]);
    }
}

/* The workload's row of the table in docs/packing.md. */
static void check_page(struct str page, const char *workload,
                       const struct outcome got[POLICIES])
{
    const struct outcome *own = &got[GIVEN], *learned = &got[LEARNED], *fgd = &got[FGD];
    struct buf row = {0};
    buf_fmt(&row, "\n| %s |", workload);
    for (int l = 0; l < LOADS; l++)
        buf_fmt(&row, " %.2f | **%.2f** |", fgd->allocated[ALL][l],
                own->allocated[ALL][l]);
    for (int p = TUNED; p <= UNSEEN; p++)
        buf_fmt(&row, " %.2f / %.2f |", own->allocated[p][AT_100],
                own->allocated[p][AT_130]);
    for (int l = 0; l < LOADS; l++)
        buf_fmt(&row, " %.2f |", learned->allocated[ALL][l]);
    for (int k = 0; k < CLASSES; k++)
        buf_fmt(&row, k ? " / %.0f" : " %.0f", own->lost[k]);
    buf_z(&row, " |\n");
    if (!memmem(page.ptr, page.len, row.data, row.len))
        proof_miss("docs/packing.md: the row should be %.*s", (int)row.len - 2,
                   row.data + 1);
    buf_done(&row);
}

int main(int argc, char **argv)
{
    bool all = argc < 2 || !strcmp(argv[1], "all");
    struct outcome shown[POLICIES] = {0};
    struct buf page = {0};
    struct err err = {0};
    proof_begin("packing");
    if (infile_slurp(proof_source("docs/packing.md"), 1 << 20, &page, &err))
        proof_die("%s", err.text);
    data = proof_shared("data/traces/openb-fgd");
    printf(
        "allocation %%, mean           tuned 42-46     unseen 47-51    all             "
        "lost: CPU only / share / one GPU / more\n"
        "workload     policy         @100   @130    @100   @130    @100   @130\n");
    for (int w = 0; w < (all ? WORKLOADS : 1); w++) {
        struct outcome got[POLICIES];
        for (int p = 0; p < POLICIES; p++) {
            got[p] = play(workloads[w], policies[p]);
            print(workloads[w], policies[p], &got[p]);
        }
        for (int p = 0; p < FGD; p++)
            judge(workloads[w], policies[p], &got[p], &got[FGD]);
        if (all)
            check_page(buf_as_str(&page), workloads[w], got);
        if (!w)
            memcpy(shown, got, sizeof shown);
    }
    return proof_end(
        "%.2f at 100 %%, %.2f at 130 %%; mix learned %.2f, %.2f; fair bound "
        "%.2f, %u misses (aim: >= %.1f, >= %.1f, above FGD on %s)",
        shown[GIVEN].allocated[ALL][AT_100], shown[GIVEN].allocated[ALL][AT_130],
        shown[LEARNED].allocated[ALL][AT_100], shown[LEARNED].allocated[ALL][AT_130],
        fair_bound, proof_misses(), aims[AT_100], aims[AT_130],
        all ? "all 17" : "default");
}
