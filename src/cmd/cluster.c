/* cluster.c - `muster cluster`: look at a cluster file before anything runs on it
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"
#include "cluster/catalogue.h"
#include "cluster/file.h"
#include "cluster/show.h"
#include "cmd/cmd.h"

enum { LINES_DEFAULT = 40 };

static int print(const struct cmd_line *line, struct buf *b)
{
    int rc = CMD_OK;
    if (fwrite(b->data, 1, b->len, stdout) != b->len || fflush(stdout)) {
        struct err err;
        err_set(&err, errno, "cannot write: %s", strerror(errno));
        rc = cmd_fail(line, &err);
    }
    buf_done(b);
    return rc;
}

/* Box characters only where the environment says UTF-8, as the C library would read it.
 */
static bool is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (int i = 0; i < 3; i++) {
        const char *v = getenv(names[i]);
        if (v && *v)
            return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
    }
    return false;
}

static uint32_t lines_of_terminal(void)
{
    struct winsize w;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 &&
        w.ws_row > 10)
        return w.ws_row - 2u;
    return LINES_DEFAULT;
}

static int show_run(const struct cmd_line *line)
{
    struct words words = {0};
    struct cluster_file f;
    struct err err = {0};
    struct buf out = {0};
    int rc = cluster_file_load(&f, line->args[0], &words, &err);
    if (rc < 0) {
        words_done(&words);
        return cmd_fail(line, &err);
    }
    struct cluster *c = cluster_create(&words);
    cluster_file_fill(&f, c);
    bool all = cmd_flag(line, "all"), deep = cmd_given(line, "depth");
    struct show o = {.name = f.name,
                     .ascii = !is_utf8(),
                     .depth = SHOW_ALL,
                     .lines = all || deep ? 0 : lines_of_terminal()};
    if (deep)
        o.depth = (uint32_t)cmd_int(line, "depth");
    if (cmd_int(line, "output") == 1)
        cluster_show_json(c, &o, &out);
    else
        cluster_show_text(c, &o, &out);
    cluster_destroy(c);
    cluster_file_done(&f);
    words_done(&words);
    return print(line, &out);
}

static int types_run(const struct cmd_line *line)
{
    struct buf out = {0};
    char a[24];
    buf_fmt(&out, "%-16s %10s  %s\n", "TYPE", "MEMORY", "PROFILES");
    for (uint32_t i = 0; i < catalogue_count(); i++) {
        struct words words = {0};
        struct arena arena = {0};
        int64_t mem;
        bool cut;
        struct str name = catalogue_name(i, &mem, &cut);
        const struct device_type *t = catalogue_type(&words, &arena, name);
        buf_fmt(&out, "%-16.*s %10s ", (int)name.len, name.ptr,
                mem ? size_text((uint64_t)mem, a) : "unknown");
        for (uint32_t p = 0; p < t->nprofiles; p++)
            buf_fmt(&out, " " STR_FMT,
                    STR_ARG(words_text(&words, t->profiles[p].name)));
        buf_char(&out, '\n');
        words_done(&words);
        arena_done(&arena);
    }
    return print(line, &out);
}

static const struct cmd_option show_options[] = {
    {"depth", 'd', "N", CMD_INT, .min = 0, .max = NODE_LEVELS_MAX + 1,
     .help = "levels below the cluster; without it, as many as fit on a screen"},
    {"all", 'a', NULL, CMD_FLAG, .help = "everything, however long"},
    {"output", 'o', "text|json", CMD_CHOICE, .preset = "text",
     .help = "what is printed"},
    {0},
};

static const char *const show_examples[] = {
    "muster cluster show clusters/demo-small.yaml",
    "# a public list of nodes, as it comes:",
    "muster cluster show openb_node_list_gpu_node.csv",
    "muster cluster show clusters/big-100k.yaml --depth 1 -o json",
    NULL,
};

static const struct cmd show = {
    .name = "show",
    .summary = "draw the topology tree of a cluster file, with its capacities",
    .args = "FILE",
    .args_min = 1,
    .args_max = 1,
    .about = "Reads the file as every other command does, so a mistake in it shows "
             "here, with\n"
             "its line and column. Equal racks or nodes stand in one line with their "
             "number.",
    .options = show_options,
    .examples = show_examples,
    .run = show_run,
};

static const struct cmd types = {
    .name = "types",
    .summary = "list the accelerators that are known by name",
    .about = "A cluster file may name these without saying what they are. Names are "
             "compared\n"
             "without regard to case, blanks and hyphens; some have more than one.",
    .run = types_run,
};

static const struct cmd *const subs[] = {&show, &types, NULL};

const struct cmd cmd_cluster = {
    .name = "cluster",
    .summary = "look at a cluster file: its tree, and what is in it",
    .about = "docs/cluster-format.md describes the file.",
    .subs = subs,
};
