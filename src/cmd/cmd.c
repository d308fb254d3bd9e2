/* cmd.c - the parser of the command tables
 *
 * `--name value`, `--name=value`, `-x value`, `-xvalue`, flags, positional arguments in any
 * order, `--` ends the options. Options are looked up by a walk over the rows: there are
 * dozens, once a run. Suggestions use the edit distance with neighbours swapped counting
 * once (optimal string alignment), at most a third of the word's length.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cmd.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"

enum { WORD_CAP = 48 }; /* longer words get no suggestion */

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static uint32_t edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    uint32_t d[WORD_CAP + 1][WORD_CAP + 1];
    for (size_t i = 0; i <= na; i++)
        d[i][0] = (uint32_t)i;
    for (size_t j = 0; j <= nb; j++)
        d[0][j] = (uint32_t)j;
    for (size_t i = 1; i <= na; i++) {
        for (size_t j = 1; j <= nb; j++) {
            uint32_t change = a[i - 1] != b[j - 1];
            d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    }
    return d[na][nb];
}

const char *cmd_nearest(const char *word, const char *const *names)
{
    size_t n = strlen(word);
    const char *best = NULL;
    uint32_t least = UINT32_MAX;
    if (n > WORD_CAP)
        return NULL;
    for (; *names; names++) {
        size_t m = strlen(*names);
        if (m > WORD_CAP)
            continue;
        uint32_t d = edit_distance(word, n, *names, m);
        if (d < least) {
            least = d;
            best = *names;
        }
    }
    return least <= (n + 2) / 3 ? best : NULL;
}

static uint32_t options_count(const struct cmd *cmd)
{
    uint32_t n = 0;
    while (cmd->options && cmd->options[n].name)
        n++;
    assert(n <= CMD_OPTIONS_MAX);
    return n;
}

static uint32_t row_of(const struct cmd_line *line, const char *name)
{
    uint32_t n = options_count(line->cmd);
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(line->cmd->options[i].name, name))
            return i;
    assert(!"option is not in the table");
    return 0;
}

const char *cmd_text(const struct cmd_line *line, const char *name)
{
    return line->values[row_of(line, name)].text;
}

int64_t cmd_int(const struct cmd_line *line, const char *name)
{
    return line->values[row_of(line, name)].number;
}

bool cmd_flag(const struct cmd_line *line, const char *name)
{
    return line->values[row_of(line, name)].text != NULL;
}

bool cmd_given(const struct cmd_line *line, const char *name)
{
    return line->values[row_of(line, name)].given;
}

/* Place of the word in "a|b|c", or -1. */
static int choice_of(const char *list, struct str word)
{
    struct str rest = str_of(list);
    for (int i = 0; rest.ptr; i++)
        if (str_eq(str_cut(&rest, '|'), word))
            return i;
    return -1;
}

static int check_bounds(const struct cmd_option *o, int64_t value, struct err *err)
{
    if (!o->min && !o->max)
        return 0;
    if (value >= o->min && value <= o->max)
        return 0;
    if (o->type == CMD_DURATION) {
        char lo[24], hi[24];
        return err_set(err, ERANGE, "--%s must be between %s and %s", o->name,
                       duration_text(o->min, lo), duration_text(o->max, hi));
    }
    if (o->max == INT64_MAX)
        return err_set(err, ERANGE, "--%s must be at least %lld", o->name,
                       (long long)o->min);
    return err_set(err, ERANGE, "--%s must be between %lld and %lld", o->name,
                   (long long)o->min, (long long)o->max);
}

static int value_set(const struct cmd_option *o, const char *text, struct cmd_value *v,
                     struct err *err)
{
    struct str s = str_of(text);
    int64_t number = 0;
    int rc = 0;
    if (o->type == CMD_INT) {
        rc = str_to_i64(s, &number);
        if (rc)
            return err_set(err, -rc, "--%s wants a whole number, not '%s'", o->name, text);
        rc = check_bounds(o, number, err);
    } else if (o->type == CMD_DURATION) {
        rc = duration_parse(s, &number, err);
        if (rc)
            return err_prefix(err, "--%s", o->name);
        rc = check_bounds(o, number, err);
    } else if (o->type == CMD_CHOICE) {
        number = choice_of(o->metavar, s);
        if (number < 0)
            return err_set(err, EINVAL, "--%s is one of %s, not '%s'", o->name, o->metavar,
                           text);
    }
    if (rc)
        return rc;
    v->text = text;
    v->number = number;
    return 0;
}

static int unknown_option(const struct cmd *cmd, const char *word, size_t len,
                          struct err *err)
{
    const char *names[CMD_OPTIONS_MAX + 2];
    uint32_t n = options_count(cmd);
    char given[WORD_CAP + 1];
    for (uint32_t i = 0; i < n; i++)
        names[i] = cmd->options[i].name;
    names[n] = "help";
    names[n + 1] = NULL;
    snprintf(given, sizeof given, "%.*s", (int)(len < WORD_CAP ? len : WORD_CAP), word);
    const char *near = cmd_nearest(given, names);
    if (near)
        return err_set(err, EINVAL, "unknown option --%s; did you mean --%s?", given, near);
    return err_set(err, EINVAL, "unknown option --%s", given);
}

/* Where the parse stands. */
struct parse {
    const struct cmd *cmd;
    char *const *argv;
    int argc, i;
    bool help;
    struct cmd_line *line;
};

static int take(struct parse *p, uint32_t row, const char *inline_value, struct err *err)
{
    const struct cmd_option *o = &p->cmd->options[row];
    struct cmd_value *v = &p->line->values[row];
    if (o->type == CMD_FLAG) {
        if (inline_value)
            return err_set(err, EINVAL, "--%s takes no value", o->name);
        v->text = "yes";
        v->given = true;
        return 0;
    }
    if (!inline_value) {
        if (p->i + 1 >= p->argc)
            return err_set(err, EINVAL, "--%s needs a value (%s)", o->name, o->metavar);
        inline_value = p->argv[++p->i];
    }
    int rc = value_set(o, inline_value, v, err);
    v->given = !rc;
    return rc;
}

static int take_long(struct parse *p, const char *word, struct err *err)
{
    const char *eq = strchr(word, '=');
    size_t len = eq ? (size_t)(eq - word) : strlen(word);
    uint32_t n = options_count(p->cmd);
    if (!eq && !strcmp(word, "help")) {
        p->help = true;
        return 0;
    }
    for (uint32_t row = 0; row < n; row++) {
        const char *name = p->cmd->options[row].name;
        if (strlen(name) == len && !memcmp(name, word, len))
            return take(p, row, eq ? eq + 1 : NULL, err);
    }
    return unknown_option(p->cmd, word, len, err);
}

static int take_short(struct parse *p, const char *word, struct err *err)
{
    uint32_t n = options_count(p->cmd);
    for (; *word; word++) {
        uint32_t row = 0;
        while (row < n && p->cmd->options[row].letter != *word)
            row++;
        if (row == n && *word == 'h') {
            p->help = true;
            return 0;
        }
        if (row == n)
            return err_set(err, EINVAL, "unknown option -%c", *word);
        bool flag = p->cmd->options[row].type == CMD_FLAG;
        int rc = take(p, row, flag || !word[1] ? NULL : word + 1, err);
        if (rc || !flag)
            return rc;
    }
    return 0;
}

static int presets(const struct cmd *cmd, struct cmd_line *line)
{
    uint32_t n = options_count(cmd);
    for (uint32_t i = 0; i < n; i++) {
        struct err err = {0};
        if (cmd->options[i].preset) {
            int rc = value_set(&cmd->options[i], cmd->options[i].preset, &line->values[i],
                               &err);
            assert(!rc); /* a preset outside its own bounds is our mistake */
        }
    }
    return 0;
}

static int take_word(struct parse *p, const char *word, bool *only_args, struct err *err)
{
    struct cmd_line *line = p->line;
    if (!*only_args && !strcmp(word, "--")) {
        *only_args = true;
        return 0;
    }
    if (!*only_args && word[0] == '-' && word[1] == '-')
        return take_long(p, word + 2, err);
    if (!*only_args && word[0] == '-' && word[1])
        return take_short(p, word + 1, err);
    if (line->nargs == p->cmd->args_max || line->nargs == CMD_ARGS_MAX)
        return err_set(err, EINVAL, "too many arguments at '%s'", word);
    line->args[line->nargs++] = word;
    return 0;
}

int cmd_parse(const struct cmd *cmd, int argc, char *const *argv, struct cmd_line *ret,
              bool *ret_help, struct err *err)
{
    struct parse p = {.cmd = cmd, .argc = argc, .argv = argv, .line = ret};
    bool only_args = false;
    ret->cmd = cmd;
    ret->nargs = 0;
    memset(ret->values, 0, sizeof ret->values);
    presets(cmd, ret);
    for (; p.i < argc && !p.help; p.i++) {
        int rc = take_word(&p, argv[p.i], &only_args, err);
        if (rc)
            return rc;
    }
    *ret_help = p.help;
    if (!p.help && ret->nargs < cmd->args_min)
        return err_set(err, EINVAL, "%s is missing", cmd->args ? cmd->args : "an argument");
    return 0;
}

static bool is_input_error(int code)
{
    switch (code) {
    case EINVAL:
    case ERANGE:
    case EBADMSG:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EFBIG:
    case E2BIG:
    case EILSEQ:
        return true;
    default:
        return false;
    }
}

int cmd_fail(const struct cmd_line *line, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", line->path, err->text);
    return is_input_error(err->code) ? CMD_USAGE : CMD_FAILED;
}

int cmd_misuse(const struct cmd_line *line, const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, "%s: ", line->path);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\ntry '%s --help'\n", line->path);
    return CMD_USAGE;
}

static uint32_t terminal_width(void)
{
    struct winsize ws;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) || ws.ws_col < 40)
        return 80;
    return ws.ws_col > 100 ? 100 : ws.ws_col;
}

static int show_help(const struct cmd *cmd, const char *path)
{
    struct buf out = {0};
    cmd_help_text(cmd, path, terminal_width(), &out);
    fwrite(out.data, 1, out.len, stdout);
    buf_done(&out);
    return CMD_OK;
}

static int unknown_sub(const struct cmd *cmd, const struct cmd_line *line, const char *word)
{
    const char *names[32];
    uint32_t n = 0;
    for (; cmd->subs[n] && n < 31; n++)
        names[n] = cmd->subs[n]->name;
    names[n] = NULL;
    const char *near = cmd_nearest(word, names);
    if (near)
        return cmd_misuse(line, "unknown command '%s'; did you mean '%s'?", word, near);
    return cmd_misuse(line, "unknown command '%s'", word);
}

static void path_add(struct cmd_line *line, const char *name)
{
    size_t at = strlen(line->path);
    snprintf(line->path + at, sizeof line->path - at, "%s%s", at ? " " : "", name);
}

int cmd_dispatch(const struct cmd *root, int argc, char *const *argv)
{
    static struct cmd_line line; /* 2 KiB; once a process */
    const struct cmd *cmd = root;
    struct err err = {0};
    bool help = false;
    int i = 1;
    memset(&line, 0, sizeof line);
    path_add(&line, root->name);
    while (cmd->subs && i < argc && argv[i][0] != '-') {
        uint32_t k = 0;
        while (cmd->subs[k] && strcmp(cmd->subs[k]->name, argv[i]))
            k++;
        if (!cmd->subs[k])
            return unknown_sub(cmd, &line, argv[i]);
        cmd = cmd->subs[k];
        path_add(&line, cmd->name);
        i++;
    }
    if (cmd_parse(cmd, argc - i, argv + i, &line, &help, &err))
        return cmd_misuse(&line, "%s", err.text);
    if (help)
        return show_help(cmd, line.path);
    if (!cmd->run) {
        show_help(cmd, line.path);
        return CMD_USAGE;
    }
    return cmd->run(&line);
}
