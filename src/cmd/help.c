/* help.c - what the command tables say, for a terminal and as a man page; `muster help`
 *
 * Both printers walk the same rows. Text is wrapped at blanks, by bytes: help is ASCII.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cmd/cmd.h"

enum { LEFT = 28 }; /* column where an option's sentence starts */

/* Words of text from column `at` on, wrapped to width, further lines indented. */
static void wrap(struct buf *out, const char *text, uint32_t at, uint32_t indent,
                 uint32_t width)
{
    struct str rest = str_of(text);
    uint32_t col = at;
    bool first = true;
    while (rest.ptr) {
        struct str word = str_cut(&rest, ' ');
        if (!word.len)
            continue;
        if (!first && col + 1 + word.len > width) {
            buf_char(out, '\n');
            buf_pad(out, ' ', indent);
            col = indent;
        } else if (!first) {
            buf_char(out, ' ');
            col++;
        }
        buf_str(out, word);
        col += (uint32_t)word.len;
        first = false;
    }
    buf_char(out, '\n');
}

/* Paragraphs are separated by an empty line; inside one, newlines are blanks unless the next
 * line starts with a blank (then it is kept as it is: lists, formats). */
static void paragraphs(struct buf *out, const char *about, uint32_t width)
{
    struct str rest = str_of(about);
    struct buf para = {0};
    while (rest.ptr) {
        struct str l = str_cut(&rest, '\n');
        bool kept = l.len && l.ptr[0] == ' ';
        if ((!l.len || kept) && para.len) {
            wrap(out, para.data, 0, 0, width);
            buf_clear(&para);
        }
        if (!l.len || kept) {
            buf_str(out, l);
            buf_char(out, '\n');
        } else {
            if (para.len)
                buf_char(&para, ' ');
            buf_str(&para, l);
        }
    }
    if (para.len)
        wrap(out, para.data, 0, 0, width);
    buf_done(&para);
}

static void sentence_of(const struct cmd_option *o, struct buf *out)
{
    buf_z(out, o->help);
    if (o->type == CMD_CHOICE)
        buf_fmt(out, " (%s)", o->metavar);
    if (o->preset)
        buf_fmt(out, " [%s]", o->preset);
}

static const char *metavar_of(const struct cmd_option *o)
{
    return o->type == CMD_CHOICE ? "WHICH" : o->metavar;
}

static void option_row(const struct cmd_option *o, uint32_t width, struct buf *out)
{
    struct buf left = {0}, text = {0};
    if (o->letter)
        buf_fmt(&left, "  -%c, --%s", o->letter, o->name);
    else
        buf_fmt(&left, "      --%s", o->name);
    if (o->type != CMD_FLAG)
        buf_fmt(&left, " %s", metavar_of(o));
    buf_str(out, buf_as_str(&left));
    if (left.len + 2 > LEFT) {
        buf_char(out, '\n');
        buf_pad(out, ' ', LEFT);
    } else {
        buf_pad(out, ' ', LEFT - left.len);
    }
    sentence_of(o, &text);
    wrap(out, text.data, LEFT, LEFT, width);
    buf_done(&left);
    buf_done(&text);
}

static void usage_line(const struct cmd *cmd, const char *path, struct buf *out)
{
    buf_z(out, path);
    if (cmd->subs)
        buf_z(out, " COMMAND");
    if (cmd->args)
        buf_fmt(out, " %s", cmd->args);
    if (cmd->options)
        buf_z(out, " [options]");
}

static void subs_list(const struct cmd *cmd, uint32_t width, struct buf *out)
{
    buf_z(out, "\ncommands:\n");
    for (uint32_t i = 0; cmd->subs[i]; i++) {
        const struct cmd *sub = cmd->subs[i];
        size_t len = strlen(sub->name);
        buf_fmt(out, "  %s", sub->name);
        buf_pad(out, ' ', len < 12 ? 12 - len : 1);
        wrap(out, sub->summary, 14, 14, width);
    }
}

void cmd_help_text(const struct cmd *cmd, const char *path, uint32_t width, struct buf *out)
{
    buf_fmt(out, "%s - ", path);
    wrap(out, cmd->summary, (uint32_t)strlen(path) + 3, 4, width);
    buf_z(out, "\nusage: ");
    usage_line(cmd, path, out);
    buf_char(out, '\n');
    if (cmd->about) {
        buf_char(out, '\n');
        paragraphs(out, cmd->about, width);
    }
    if (cmd->subs)
        subs_list(cmd, width, out);
    buf_z(out, "\noptions:\n");
    for (uint32_t i = 0; cmd->options && cmd->options[i].name; i++)
        option_row(&cmd->options[i], width, out);
    buf_z(out, "  -h, --help");
    buf_pad(out, ' ', LEFT - 12);
    buf_z(out, "this text\n");
    if (cmd->examples)
        buf_z(out, "\nexamples:\n");
    for (uint32_t i = 0; cmd->examples && cmd->examples[i]; i++)
        buf_fmt(out, "  %s\n", cmd->examples[i]);
    if (cmd->subs)
        buf_fmt(out, "\n'%s COMMAND --help' tells more of each.\n", path);
}

/* Text for troff: backslashes and hyphens escaped, no line starts with a control mark. */
static void man_text(struct buf *out, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            buf_z(out, "\\&");
        if (*text == '\\')
            buf_z(out, "\\e");
        else if (*text == '-')
            buf_z(out, "\\-");
        else
            buf_char(out, *text);
        line_start = *text == '\n';
    }
}

static void man_about(struct buf *out, const char *about)
{
    struct str rest = str_of(about);
    bool in_list = false;
    while (rest.ptr) {
        struct str l = str_cut(&rest, '\n');
        char line[512];
        bool kept = l.len && l.ptr[0] == ' ';
        if (kept != in_list)
            buf_z(out, kept ? ".nf\n" : ".fi\n");
        in_list = kept;
        snprintf(line, sizeof line, "%.*s", (int)l.len, l.ptr);
        if (l.len)
            man_text(out, line);
        else
            buf_z(out, ".PP");
        buf_char(out, '\n');
    }
    if (in_list)
        buf_z(out, ".fi\n");
}

static void man_option(struct buf *out, const struct cmd_option *o)
{
    struct buf text = {0};
    buf_z(out, ".TP\n");
    if (o->letter)
        buf_fmt(out, "\\fB\\-%c\\fR, ", o->letter);
    buf_z(out, "\\fB\\-\\-");
    man_text(out, o->name);
    buf_z(out, "\\fR");
    if (o->type != CMD_FLAG)
        buf_fmt(out, " \\fI%s\\fR", metavar_of(o));
    buf_char(out, '\n');
    sentence_of(o, &text);
    man_text(out, text.data);
    buf_char(out, '\n');
    buf_done(&text);
}

static void man_examples(struct buf *out, const char *const *examples)
{
    buf_z(out, ".SH EXAMPLES\n.nf\n");
    for (; *examples; examples++) {
        man_text(out, *examples);
        buf_char(out, '\n');
    }
    buf_z(out, ".fi\n");
}

void cmd_help_man(const struct cmd *cmd, const char *path, struct buf *out)
{
    buf_z(out, ".TH \"");
    for (const char *p = path; *p; p++)
        buf_char(out, *p == ' ' ? '-' : *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p);
    buf_z(out, "\" 1 \"\" muster \"muster manual\"\n.SH NAME\n");
    for (const char *p = path; *p; p++)
        buf_z(out, *p == ' ' ? "\\-" : (char[2]){*p, 0});
    buf_z(out, " \\- ");
    man_text(out, cmd->summary);
    buf_z(out, "\n.SH SYNOPSIS\n");
    struct buf usage = {0};
    usage_line(cmd, path, &usage);
    man_text(out, usage.data);
    buf_done(&usage);
    buf_char(out, '\n');
    if (cmd->about) {
        buf_z(out, ".SH DESCRIPTION\n");
        man_about(out, cmd->about);
    }
    if (cmd->subs)
        buf_z(out, ".SH COMMANDS\n");
    for (uint32_t i = 0; cmd->subs && cmd->subs[i]; i++) {
        buf_fmt(out, ".TP\n\\fB%s\\fR\n", cmd->subs[i]->name);
        man_text(out, cmd->subs[i]->summary);
        buf_char(out, '\n');
    }
    if (cmd->options && cmd->options[0].name)
        buf_z(out, ".SH OPTIONS\n");
    for (uint32_t i = 0; cmd->options && cmd->options[i].name; i++)
        man_option(out, &cmd->options[i]);
    if (cmd->examples)
        man_examples(out, cmd->examples);
    buf_z(out, ".SH EXIT STATUS\n0: done. 1: it failed. 2: bad input or bad usage.\n");
}

/* The command that the words name, below the root; its path is written too. NULL: none. */
static const struct cmd *find(const char *const *words, uint32_t n, char *path, size_t room)
{
    const struct cmd *cmd = &cmd_root;
    size_t at = (size_t)snprintf(path, room, "%s", cmd->name);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (cmd->subs && cmd->subs[k] && strcmp(cmd->subs[k]->name, words[i]))
            k++;
        if (!cmd->subs || !cmd->subs[k])
            return NULL;
        cmd = cmd->subs[k];
        if (at < room)
            at += (size_t)snprintf(path + at, room - at, " %s", cmd->name);
    }
    return cmd;
}

static int no_such(const struct cmd_line *line)
{
    struct buf names = {0};
    for (uint32_t i = 0; cmd_root.subs[i]; i++)
        buf_fmt(&names, "%s%s", i ? ", " : "", cmd_root.subs[i]->name);
    int rc = cmd_misuse(line, "there is no command '%s%s%s'; the commands are " STR_FMT,
                        line->args[0], line->nargs > 1 ? " " : "",
                        line->nargs > 1 ? line->args[1] : "", STR_ARG(buf_as_str(&names)));
    buf_done(&names);
    return rc;
}

static int help_run(const struct cmd_line *line)
{
    char path[96];
    const struct cmd *cmd = find(line->args, line->nargs, path, sizeof path);
    struct buf out = {0};
    if (!cmd)
        return no_such(line);
    if (cmd_flag(line, "man"))
        cmd_help_man(cmd, path, &out);
    else
        cmd_help_text(cmd, path, 80, &out);
    fwrite(out.data, 1, out.len, stdout);
    buf_done(&out);
    return CMD_OK;
}

static const struct cmd_option help_options[] = {
    {"man", 'm', NULL, CMD_FLAG, .help = "as a man page (troff) instead of plain text"},
    {0},
};

static const char *const help_examples[] = {
    "muster help sim",
    "muster help --man trace info | man -l -",
    NULL,
};

const struct cmd cmd_help = {
    .name = "help",
    .summary = "tell about a command",
    .args = "[COMMAND...]",
    .args_max = CMD_DEPTH_MAX,
    .options = help_options,
    .examples = help_examples,
    .run = help_run,
};
