/* main.c - the program: a table of subcommands
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/mem.h"
#include "cmd/cmd.h"

static const struct cmd *const commands[] = {
    &cmd_sim,
    &cmd_trace,
    &cmd_cluster,
    &cmd_replay,
    &cmd_why,
    &cmd_whatif,
    &cmd_resim,
    &cmd_help,
    NULL,
};

static const struct cmd_option options[] = {
    {"version", 'V', NULL, CMD_FLAG, .help = "print the version"},
    {0},
};

static int run(const struct cmd_line *line)
{
    struct buf out = {0};
    if (cmd_flag(line, "version")) {
        puts("muster " MUSTER_VERSION);
        return CMD_OK;
    }
    cmd_help_text(&cmd_root, line->path, 80, &out);
    fwrite(out.data, 1, out.len, stdout);
    buf_done(&out);
    return CMD_USAGE;
}

const struct cmd cmd_root = {
    .name = "muster",
    .summary = "gather GPUs: decide where AI jobs run, and show why",
    .about = "muster replays a GPU cluster's history under several scheduling policies and sets\n"
             "the outcomes side by side. The scheduler that does it is the one that binds real\n"
             "work.",
    .subs = commands,
    .options = options,
    .run = run,
};

int main(int argc, char **argv)
{
    mem_setup();
    return cmd_dispatch(&cmd_root, argc, argv);
}
