/* ettr.c - how much of its time a job of 1,024 GPUs trains, on real faults, by spares
 *
 * The InfiniteHBD faults (400 servers, 348 days) are played on 400 nodes of 8 GPUs. One
 * job holds 128 of them throughout; jobs of one node, 6 to 102 hours long and always
 * more than there is room for, want all the others. The job saves a checkpoint each 30
 * minutes of work (saving itself takes no time: it is written beside the training), and
 * a start takes 120 s from the checkpoint before it trains; its tasks end 10 s after a
 * stop. A loss of one node stops them all.
 *
 * Effective training time ratio: work that is saved at the end (checkpoints x 30 min)
 * by the time since the job came. Spares count as owned: that ratio x 1024 / (1024 + 8
 * x spares). Shown for 0, 1, 2 and 4 spares with the places of a broken gang kept for
 * an hour, and for no spares and no places kept, as a scheduler that requeues has it.
 * The work and the restarts are counted here from the record of events; what cannot be
 * is refused: more work than time is left beside the restarts. SPDX-License-Identifier:
 * Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proof.h"

#define DAY_US INT64_C(86400000000)
#define BIG "00000000" /* the first to come: jobs are named by their arrival */

enum {
    NODES = 400,
    GPUS = 1024,
    DAYS = 347,
    FILLERS = 50000,
    AT_ONCE = 600, /* fillers that come with the job */
    CHECKPOINT_S = 1800,
    RESTORE_S = 120,
    AIM_BP = 9700 /* of 10000 */
};

struct answer {
    int64_t steps, launches;
};

static FILE *open_temp(const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        proof_die("%s cannot be written", path);
    return f;
}

static void close_temp(FILE *f, const char *path)
{
    if (fclose(f))
        proof_die("%s cannot be written", path);
}

static void row(FILE *f, const char *user, int64_t at, int64_t run, int gpus)
{
    fprintf(f,
            "{\"user\":\"%s\",\"queue\":\"q\",\"submit_us\":%" PRId64
            ",\"run_us\":%" PRId64 ",\"gpus\":%d,\"cpu_milli\":1000,"
            "\"mem_bytes\":1000,\"state\":\"done\"}\n",
            user, at, run, gpus);
}

static const char *write_trace(void)
{
    const char *path = proof_temp("t.jsonl");
    FILE *f = open_temp(path);
    fputs("{\"muster_trace\":1,\"gpus_per_node\":8}\n", f);
    row(f, "trainer", 0, 2 * DAYS * DAY_US, GPUS);
    for (int64_t i = 0; i < FILLERS; i++) {
        int64_t hours = 6 + i * 7919 % 97;
        int64_t at = i < AT_ONCE ? 1000000 : i * (DAYS * DAY_US / FILLERS);
        row(f, "filler", at, hours * 3600 * 1000000, 8);
    }
    close_temp(f, path);
    return path;
}

static const char *write_text(const char *name, const char *text)
{
    const char *path = proof_temp(name);
    FILE *f = open_temp(path);
    fputs(text, f);
    close_temp(f, path);
    return path;
}

/* The big job's last checkpoint, and how often it was launched. */
static struct answer read_records(const char *path)
{
    char line[4096];
    struct answer a = {0, 0};
    FILE *f = fopen(path, "r");
    if (!f)
        proof_die("%s cannot be read", path);
    while (fgets(line, sizeof line, f)) {
        const char *saved = strstr(line, " checkpoint_saved " BIG " step ");
        if (saved)
            sscanf(saved, " checkpoint_saved " BIG " step %" SCNd64, &a.steps);
        a.launches += strstr(line, " launch " BIG ":") != NULL;
    }
    fclose(f);
    return a;
}

struct setup {
    const char *cluster, *trace, *truth, *belief, *faults;
};

struct ratio {
    int64_t own, owned; /* in parts of 10000: of its time; with the spares owned */
};

static struct ratio play(const struct setup *u, int spares, const char *grace)
{
    const char *records = proof_temp("records");
    const char *policy =
        write_text("policy.yaml",
                   proof_text("name: spares-%d\nrepair_grace: %s\n"
                              "spares: [{level: cluster, nodes: %d, lend: false}]\n",
                              spares, grace, spares));
    proof_must_run(PROOF_WORDS(proof_muster(), "sim", "-c", u->cluster, "-t", u->trace,
                               "-p", policy, "--truth", u->truth, "--belief", u->belief,
                               "--faults", u->faults, "--fault-servers",
                               proof_text("%d", NODES), "-u", proof_text("%dd", DAYS),
                               "--records", records),
                   NULL, NULL);
    struct answer a = read_records(records);
    int64_t wall_s = DAYS * DAY_US / 1000000, useful_s = a.steps * CHECKPOINT_S;
    if (a.launches == 0)
        proof_die("the job was never launched");
    if (useful_s + (a.launches - 1) * RESTORE_S > wall_s)
        proof_miss("work, restarts and time");
    struct ratio r = {useful_s * 10000 / wall_s,
                      useful_s * 10000 / wall_s * GPUS / (GPUS + 8 * spares)};
    printf("spares %d, places kept for %-2s: restarts %3" PRId64 ", trains %2" PRId64
           ".%02" PRId64 " %% of its time, %2" PRId64 ".%02" PRId64
           " %% with the spares owned\n",
           spares, grace, a.launches - 1, r.own / 100, r.own % 100, r.owned / 100,
           r.owned % 100);
    return r;
}

int main(void)
{
    proof_begin("ettr");
    struct setup u = {
        .faults = proof_shared("data/traces/infinitehbd-faults/fault_trace.json"),
        .trace = write_trace(),
        .truth = write_text("truth.yaml", "stop_delay: 10s\n"),
        .belief = write_text("belief.yaml",
                             "checkpoint_interval: 30m\ncheckpoint_save: 0s\n"
                             "checkpoint_restore: 120s\ncheckpoint_from_gpus: 1024\n"),
        .cluster = write_text(
            "c.yaml", proof_text("name: watched\nlevels: [rack]\nnodes:\n- {count: %d, "
                                 "name: \"n{000}\", cpus: 100, memory: 1TiB, "
                                 "gpus: {type: A100, count: 8}, "
                                 "place: {rack: \"r{00}\"}, per: {rack: 20}}\n",
                                 NODES))};
    struct ratio bare = play(&u, 0, "0s"), kept = play(&u, 0, "1h");
    play(&u, 1, "1h");
    struct ratio two = play(&u, 2, "1h");
    play(&u, 4, "1h");
    if (two.owned < AIM_BP)
        proof_miss("effective training time with two spares");
    if (two.own <= kept.own || kept.own <= bare.own)
        proof_miss("spares against kept places, and those against nothing");
    return proof_end("%" PRId64 ".%02" PRId64 " %% effective training time with two "
                     "spares owned; without spares %" PRId64 ".%02" PRId64
                     " %%, and %" PRId64 ".%02" PRId64
                     " %% if no places are kept (aim: 97)",
                     two.owned / 100, two.owned % 100, kept.own / 100, kept.own % 100,
                     bare.own / 100, bare.own % 100);
}
