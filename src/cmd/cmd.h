/* cmd.h - subcommands and their options as tables
 * A subcommand is one `struct cmd` in one file; an option is one row. Parsing, --help,
 * `muster help` and the man pages come out of the rows, so adding one thing is adding one
 * row. A new subcommand is one extern line below and one entry in main.c.
 *
 *     static const struct cmd_option options[] = {
 *         {"seed", 's', "N", CMD_INT, .min = 0, .max = INT64_MAX, .preset = "1",
 *          .help = "random numbers start here"},
 *         {0},
 *     };
 *     static int run(const struct cmd_line *line) { ... cmd_int(line, "seed") ... }
 *     const struct cmd cmd_x = {.name = "x", .summary = "...", .options = options, .run = run};
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CMD_H
#define MUSTER_CMD_H

#include "base/buf.h"
#include "base/err.h"

enum { CMD_OPTIONS_MAX = 40, CMD_ARGS_MAX = 64, CMD_DEPTH_MAX = 3 };

/* What a program's exit code says. */
enum cmd_exit {
    CMD_OK = 0,
    CMD_FAILED = 1, /* the input was fine, the work was not */
    CMD_USAGE = 2   /* bad input or bad usage; the message says where */
};

enum cmd_type {
    CMD_FLAG = 0, /* no value */
    CMD_TEXT,
    CMD_INT,      /* decimal, within [min, max] */
    CMD_DURATION, /* "90", "1.5h", "2d" (base/units.h); microseconds within [min, max] */
    CMD_CHOICE    /* one of metavar's words: "table|json|html" */
};

struct cmd_option {
    const char *name;    /* long name without dashes; NULL ends the table */
    char letter;         /* short name; 0: none */
    const char *metavar; /* what the value is called; NULL for flags */
    enum cmd_type type;
    int64_t min, max;    /* of CMD_INT and CMD_DURATION; both 0: no bounds */
    const char *preset;  /* the default, as the user would write it; NULL: none */
    const char *help;    /* one sentence, small first letter, no full stop */
};

struct cmd_line;

struct cmd {
    const char *name;
    const char *summary; /* one line, small first letter, no full stop */
    const char *args;    /* positional arguments as usage shows them; NULL: none */
    uint32_t args_min, args_max;
    const char *about;   /* paragraphs, separated by an empty line; NULL: none */
    const struct cmd_option *options;  /* NULL: none but --help */
    const char *const *examples;       /* NULL-ended; lines starting with # are remarks */
    const struct cmd *const *subs;     /* NULL-ended; then run may be NULL */
    int (*run)(const struct cmd_line *line); /* returns enum cmd_exit */
};

struct cmd_value {
    const char *text; /* NULL: neither given nor preset */
    int64_t number;   /* of CMD_INT and CMD_DURATION; CMD_CHOICE: place in the list, from 0 */
    bool given;
};

struct cmd_line {
    const struct cmd *cmd;
    char path[96]; /* "muster trace info" */
    struct cmd_value values[CMD_OPTIONS_MAX]; /* by row of cmd->options */
    const char *args[CMD_ARGS_MAX];
    uint32_t nargs;
};

/* The value of an option by its long name; a name that the table lacks aborts. */
const char *cmd_text(const struct cmd_line *line, const char *name); /* NULL: no value */
int64_t cmd_int(const struct cmd_line *line, const char *name);      /* 0: no value */
bool cmd_flag(const struct cmd_line *line, const char *name);
bool cmd_given(const struct cmd_line *line, const char *name); /* on the command line */

/* Fill *ret from the words behind the subcommand's name (argv[0 .. argc)); path is already
 * set. 0, or -EINVAL/-ERANGE with err (an unknown option names its nearest neighbour).
 * `--help` stops the parse and sets *ret_help. */
int cmd_parse(const struct cmd *cmd, int argc, char *const *argv, struct cmd_line *ret,
              bool *ret_help, struct err *err);

/* Find the subcommand, parse, run; prints help and messages. Returns the exit code. */
int cmd_dispatch(const struct cmd *root, int argc, char *const *argv);

/* "muster x: text" on stderr. CMD_USAGE for errors of input (EINVAL, ERANGE, EBADMSG, ENOENT
 * and kin), CMD_FAILED for the rest. */
int cmd_fail(const struct cmd_line *line, const struct err *err);
/* The same for wrong usage, with a pointer to --help; returns CMD_USAGE. */
int cmd_misuse(const struct cmd_line *line, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The nearest of the names (NULL-ended) for "did you mean", or NULL. */
const char *cmd_nearest(const char *word, const char *const *names);

/* help.c: text for a terminal of that width, and a troff man page. path: "muster sim". */
void cmd_help_text(const struct cmd *cmd, const char *path, uint32_t width, struct buf *out);
void cmd_help_man(const struct cmd *cmd, const char *path, struct buf *out);

/* The table of the program (main.c), for `muster help`. */
extern const struct cmd cmd_root;
extern const struct cmd cmd_help, cmd_sim, cmd_trace, cmd_cluster, cmd_replay, cmd_why, cmd_whatif, cmd_resim;

#endif
