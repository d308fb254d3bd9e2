/* sim.c - `muster sim`: what several policies would have done with a cluster's history
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/simrun.h"

static const struct cmd_option options[] = {
    {"cluster", 'c', "FILE|trace", CMD_TEXT,
     .help = "the cluster: YAML, or a list of nodes as CSV; trace: as the trace's format has it"},
    {"trace", 't', "FILE", CMD_TEXT,
     .help = "the history: CSV by a mapping, SWF, sacct or JSON Lines; gz and zst too"},
    {"format", 'f', "NAME", CMD_TEXT,
     .help = "the trace's format or mapping; without it, by the file's name and first line"},
    {"policy", 'p', "NAME,...", CMD_TEXT, .preset = "fifo",
     .help = "policies by name or path, run one after another; `recorded` replays the site's "
             "own starts"},
    {"seed", 's', "N", CMD_INT, .min = 0, .max = INT64_MAX, .preset = "42",
     .help = "of all that is random: faults, errors of belief, the order"},
    {"until", 'u', "TIME", CMD_DURATION, .min = 1, .max = INT64_MAX / 4,
     .help = "stop so long after the first arrival (30d, 12h); without it, when all is done"},
    {"window", 'w', "FROM..UNTIL|all", CMD_TEXT,
     .help = "measure only what was submitted and used so long after the first arrival (2d..30d); "
             "without it, the span that the trace's file names, or everything"},
    {"order", 0, "FILE", CMD_TEXT,
     .help = "arrival order and node ranks of the FGD experiment, for the seed"},
    {"forever", 0, NULL, CMD_FLAG,
     .help = "jobs never end and come one by one: how full does the cluster get?"},
    {"faults", 0, "RATE|FILE", CMD_TEXT,
     .help = "node faults: so many in 1000 node-days, or a recorded list"},
    {"fault-servers", 0, "N", CMD_INT, .min = 0, .max = 1000000, .preset = "0",
     .help = "how many servers the recorded list watched; 0: only those that it names"},
    {"truth", 0, "NAME|FILE", CMD_TEXT,
     .help = "what is so: delays, speeds by level and GPU type, repair times"},
    {"belief", 0, "NAME|FILE", CMD_TEXT,
     .help = "what the scheduler is told: expected run times, checkpoints"},
    {"output", 'o', "table|json|html", CMD_CHOICE, .preset = "table",
     .help = "what is printed"},
    {"out", 0, "FILE", CMD_TEXT, .help = "print into a file instead of standard output"},
    {"html", 0, "FILE", CMD_TEXT, .help = "write the page with plots as well"},
    {"columns", 0, "FILE", CMD_TEXT,
     .help = "write the published layout of the FGD experiment: a name and 131 values a line; "
             "wants --forever"},
    {"jobs", 0, "FILE", CMD_TEXT, .help = "write one CSV line a job"},
    {"records", 0, "FILE", CMD_TEXT,
     .help = "write every event and decision as a line of text, as they happen"},
    {"journal", 0, "DIR", CMD_TEXT,
     .help = "write the journal of the run into a new folder (with several policies one each "
             "below it); `muster replay` reads it"},
    {"journal-sync", 0, "batch|each", CMD_CHOICE, .preset = "batch",
     .help = "each: a decision leaves only when its frame is on disk; batch: a thread syncs what "
             "has come while the run goes on"},
    {"journal-keep", 0, "N", CMD_INT, .min = 0, .max = 1000, .preset = "0",
     .help = "remove segments that the N newest snapshots cover; 0: everything stays"},
    {"journal-snapshot", 0, "N", CMD_INT, .min = 1, .max = INT64_MAX, .preset = "1000000",
     .help = "write a snapshot of the state after so many records"},
    {"journal-segment", 0, "BYTES", CMD_INT, .min = 4096, .max = 1 << 30,
     .preset = "16777216", .help = "size of a segment"},
    {"check", 0, NULL, CMD_FLAG,
     .help = "check every promise after every record, by code the scheduler does not share"},
    {0},
};

#define EXAMPLE                                                                            \
    "muster sim --cluster examples/small-cluster.yaml --trace examples/small.jsonl "        \
    "--policy fifo,sjf,muster"

static const char *const examples[] = {
    "# six nodes and a day of made-up jobs that come with the source:",
    EXAMPLE,
    "# the FGD paper's experiment, one seed:",
    "muster sim --cluster openb_node_list_gpu_node.csv --trace openb_pod_list_default.csv \\",
    "    --order openb_pod_list_default.orders.zst --seed 42 --forever \\",
    "    --policy bestfit,fgd,muster --columns columns.csv",
    "# the site's own starts first, then two policies, with a fault here and there:",
    "muster sim -c site.yaml -t jobs.csv -p recorded,fifo,muster --faults 4.2 --html r.html",
    NULL,
};

/* Called with nothing, it explains itself. */
static int explain(void)
{
    fputs("muster sim replays a history of jobs on a simulated cluster, under one policy after\n"
          "another, and sets the outcomes side by side: utilisation, waits, fragmentation, lost\n"
          "work, and where every GPU-second went. It needs two files:\n"
          "\n"
          "  --cluster FILE   nodes and topology (docs/cluster-format.md)\n"
          "  --trace FILE     who asked for what, when, for how long (docs/trace-format.md)\n"
          "\n"
          "An example that works here, in the source tree:\n"
          "\n"
          "  " EXAMPLE "\n"
          "\n"
          "Policies are the files in policies/. `muster sim --help` lists every option.\n",
          stdout);
    return CMD_USAGE;
}

static bool is_bare(const struct cmd_line *line)
{
    for (uint32_t i = 0; options[i].name; i++)
        if (line->values[i].given)
            return false;
    return true;
}

static int run(const struct cmd_line *line)
{
    struct err err = {0};
    struct simrun r = {
        .files = {.cluster = cmd_text(line, "cluster"),
                  .trace = cmd_text(line, "trace"),
                  .format = cmd_text(line, "format"),
                  .order = cmd_text(line, "order"),
                  .window = cmd_text(line, "window"),
                  .faults = cmd_text(line, "faults"),
                  .truth = cmd_text(line, "truth"),
                  .belief = cmd_text(line, "belief"),
                  .fault_servers = (uint32_t)cmd_int(line, "fault-servers"),
                  .seed = (uint64_t)cmd_int(line, "seed")},
        .policies = cmd_text(line, "policy"),
        .forever = cmd_flag(line, "forever"),
        .check = cmd_flag(line, "check"),
        .until_us = cmd_int(line, "until"),
        .output = (enum simrun_output)cmd_int(line, "output"),
        .out = cmd_text(line, "out"),
        .html = cmd_text(line, "html"),
        .columns = cmd_text(line, "columns"),
        .jobs = cmd_text(line, "jobs"),
        .records = cmd_text(line, "records"),
        .journal = {.path = cmd_text(line, "journal"),
                    .each = cmd_int(line, "journal-sync") == 1,
                    .keep = (uint32_t)cmd_int(line, "journal-keep"),
                    .segment_bytes = (uint64_t)cmd_int(line, "journal-segment"),
                    .snapshot_records = (uint64_t)cmd_int(line, "journal-snapshot")},
    };
    if (is_bare(line))
        return explain();
    if (!r.files.cluster)
        return cmd_misuse(line, "--cluster is missing: which cluster?");
    if (!r.files.trace)
        return cmd_misuse(line, "--trace is missing: which history?");
    if (r.columns && !r.forever)
        return cmd_misuse(line, "--columns wants --forever: it counts by arrived load");
    return simrun(&r, &err) ? cmd_fail(line, &err) : CMD_OK;
}

const struct cmd cmd_sim = {
    .name = "sim",
    .summary = "replay a history under several policies on a simulated cluster",
    .about =
        "Reads a cluster and a trace, runs each policy through the scheduler and a simulated\n"
        "cluster (the twin) with the same seed, and compares. The scheduler is the one that\n"
        "binds real work; the twin answers it as a real cluster would: tasks start, end, are\n"
        "lost with their nodes, and come back.\n"
        "\n"
        "Truth and belief are two files, so that the twin cannot prove a model against itself:\n"
        "the truth moves the simulated cluster, the belief is what the scheduler is told.\n"
        "\n"
        "A progress bar appears on a terminal when a run takes longer than a second.",
    .options = options,
    .examples = examples,
    .run = run,
};
