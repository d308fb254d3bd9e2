/* public-sets.c - every row of the public sets that docs/data.md calls tried
 *
 * Asks `muster trace info` for each file how many jobs it kept and how many rows it
 * left out. Kept must be what docs/data.md states (or a count of the file); kept and
 * left out together must be the file's own rows, counted here as its lines without
 * comments, headers and empty ones, so that no row is lost in silence.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/buf.h"
#include "base/infile.h"
#include "proof.h"

#define OPENB "openb-fgd/csv/openb_pod_list_"
#define CHRONUS "philly/chronus_trace_job_Philly_"
#define PHILLY "philly/philly_passed_jobs.csv.zst"

enum { FILE_BYTES_MAX = 1 << 28 };

static const struct set {
    const char *file, *format;
    int64_t kept;
} sets[] = {
    {OPENB "default.csv.zst", "openb", 8152},
    {OPENB "gpuspec33.csv.zst", "openb", 8152},
    {OPENB "multigpu50.csv.zst", "openb", 9061},
    {PHILLY, "philly", 82247},
    {PHILLY, "philly-helios", 68503}, /* PEER_SUBSET.md of the shared data */
    {CHRONUS "SLO.csv.zst", "chronus", 30940},
    {CHRONUS "MIX1.csv.zst", "chronus", 30940},
    {CHRONUS "MIX2.csv.zst", "chronus", 30940},
    {"mixes/K_95_seed1.csv.zst", "mixes", 143910},
    {"mixes/K_80_seed1.csv.zst", "mixes", 125574}, /* wc -l, less two lines of head */
    {"mixes/P_95_seed1.csv.zst", "mixes", 388610}, /* likewise */
    {"muri/cluster_trace.csv", "muri", 400},
    {"muri/trace-data/trace1.csv.zst", "muri", 1494},
    {"muri/trace-data/trace2.csv.zst", "muri", 5755},
    {"muri/trace-data/trace3.csv.zst", "muri", 992},
    {"muri/trace-data/trace4.csv.zst", "muri", 2638},
    {"tiresias/60_job.csv", "tiresias", 60},
    {"swf/lublin_256.swf.zst", "swf", 10000},
    {"swf/hpc2n_alea_excerpt.swf.zst", "swf", 3170},
};
enum { SETS = sizeof sets / sizeof sets[0] };

static int64_t count_rows(const char *path, bool header)
{
    struct buf text = {0};
    struct err err = {0};
    int64_t rows = header ? -1 : 0;
    if (infile_slurp(path, FILE_BYTES_MAX, &text, &err))
        proof_die("%s", err.text);
    struct str rest = buf_as_str(&text);
    while (rest.ptr) {
        struct str line = str_trim(str_cut(&rest, '\n'));
        if (line.len && line.ptr[0] == '\r')
            line.len = 0;
        rows += line.len && line.ptr[0] != ';' && line.ptr[0] != '#';
    }
    buf_done(&text);
    return rows;
}

int main(void)
{
    proof_begin("public-sets");
    int64_t kept = 0;
    for (int i = 0; i < SETS; i++) {
        const struct set *s = &sets[i];
        const char *path = proof_shared(proof_text("data/traces/%s", s->file));
        json_t *info = proof_json(PROOF_WORDS(proof_muster(), "trace", "info", path,
                                              "--format", s->format, "-o", "json"));
        int64_t rows = count_rows(path, strcmp(s->format, "swf") != 0);
        int64_t jobs = proof_int(info, "jobs"), skipped = proof_int(info, "skipped");
        printf("%s as %s: %lld kept, %lld left out\n", s->file, s->format,
               (long long)jobs, (long long)skipped);
        if (jobs != s->kept)
            proof_miss("%s: %lld were stated", s->file, (long long)s->kept);
        if (jobs + skipped != rows)
            proof_miss("%s: the file has %lld rows", s->file, (long long)rows);
        kept += jobs;
        json_decref(info);
    }
    return proof_end("%lld jobs of %d readings, %u differences (aim: 0)",
                     (long long)kept, SETS, proof_misses());
}
