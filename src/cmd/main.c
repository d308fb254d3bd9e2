/* main.c - the program: a table of subcommands
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "cmd/cmd.h"

static const struct cmd *const commands[] = {
    &cmd_sim,
    &cmd_trace,
    &cmd_cluster,
    &cmd_help,
    NULL,
};

const struct cmd cmd_root = {
    .name = "muster",
    .summary = "gather GPUs: decide where AI jobs run, and show why",
    .about = "muster replays a GPU cluster's history under several scheduling policies and sets\n"
             "the outcomes side by side. The scheduler that does it is the one that binds real\n"
             "work.",
    .subs = commands,
};

int main(int argc, char **argv)
{
    mem_setup();
    return cmd_dispatch(&cmd_root, argc, argv);
}
