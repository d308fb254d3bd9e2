/* test-cmd.c - the command tables: parsing, messages, help
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <errno.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/policyfile.h"
#include "cmd/progress.h"

static int last_exit, ran;

static int leaf_run(const struct cmd_line *line)
{
    ran++;
    (void)line;
    return last_exit;
}

static const struct cmd_option options[] = {
    {"seed", 's', "N", CMD_INT, .min = 0, .max = 99, .preset = "42", .help = "where it starts"},
    {"until", 'u', "TIME", CMD_DURATION, .min = 1, .max = INT64_MAX, .help = "when it ends"},
    {"output", 'o', "table|json|html", CMD_CHOICE, .preset = "table", .help = "what is printed"},
    {"name", 'n', "TEXT", CMD_TEXT, .help = "a name. with a .dot"},
    {"check", 'c', NULL, CMD_FLAG, .help = "check all"},
    {"quiet", 'q', NULL, CMD_FLAG, .help = "say less"},
    {0},
};
static const char *const examples[] = {"# so:", "muster leaf --seed 1", NULL};
static const struct cmd leaf = {
    .name = "leaf", .summary = "a leaf of the tree", .args = "FILE", .args_max = 2,
    .about = "First paragraph\nof two lines.\n\n.Second one - with marks.\n  kept: as it is\n",
    .options = options, .examples = examples, .run = leaf_run};
static const struct cmd strict = {
    .name = "strict", .summary = "wants a file", .args = "FILE", .args_min = 1, .args_max = 1,
    .run = leaf_run};
static const struct cmd *const branches[] = {&leaf, &strict, NULL};
static const struct cmd group = {.name = "group", .summary = "has two", .subs = branches};
static const struct cmd *const all[] = {&leaf, &group, &cmd_help, NULL};
const struct cmd cmd_root = {.name = "muster", .summary = "the root", .subs = all};

static struct cmd_line line;
static struct err err;
static bool help;

static int parse(int argc, ...)
{
    char *argv[16];
    va_list ap;
    va_start(ap, argc);
    for (int i = 0; i < argc; i++)
        argv[i] = va_arg(ap, char *);
    va_end(ap);
    memset(&line, 0, sizeof line);
    memset(&err, 0, sizeof err);
    return cmd_parse(&leaf, argc, argv, &line, &help, &err);
}

static void test_forms(void)
{
    is_int(parse(0), 0, "nothing is fine");
    ok(cmd_int(&line, "seed") == 42 && !cmd_given(&line, "seed"), "the preset, not given");
    ok(cmd_int(&line, "output") == 0 && !strcmp(cmd_text(&line, "output"), "table"),
       "a choice's preset is its place");
    ok(!cmd_text(&line, "name") && !cmd_flag(&line, "check"), "no preset: NULL, false");
    parse(2, "--seed", "7");
    ok(cmd_int(&line, "seed") == 7 && cmd_given(&line, "seed"), "--name value");
    parse(1, "--seed=8");
    is_int(cmd_int(&line, "seed"), 8, "--name=value");
    parse(2, "-s", "9");
    is_int(cmd_int(&line, "seed"), 9, "-x value");
    parse(1, "-s10");
    is_int(cmd_int(&line, "seed"), 10, "-xvalue");
    parse(1, "-cqs11");
    ok(cmd_flag(&line, "check") && cmd_flag(&line, "quiet") && cmd_int(&line, "seed") == 11,
       "flags bundle, the last may take a value");
    parse(2, "--until", "1.5h");
    is_int(cmd_int(&line, "until"), 5400 * US_PER_S, "durations in their words");
    parse(2, "-o", "html");
    is_int(cmd_int(&line, "output"), 2, "a choice by its place");
    parse(5, "a", "--check", "--", "--seed", NULL);
    ok(line.nargs == 2 && !strcmp(line.args[1], "--seed") && cmd_flag(&line, "check"),
       "positional arguments in between; -- ends the options");
    is_int(parse(1, "-"), 0, "a lone dash is an argument");
    is_int(line.nargs, 1, "... (standard input)");
    parse(2, "--name=", "x");
    is_str(cmd_text(&line, "name"), "", "an empty value is a value");
    parse(3, "--seed", "1", "--help");
    ok(help, "--help is seen");
    parse(1, "-h");
    ok(help, "-h too");
}

static void test_messages(void)
{
    static const struct {
        const char *word, *value;
        int code;
        const char *says;
    } t[] = {
        {"--sed", "1", EINVAL, "did you mean --seed?"},
        {"--chekc", NULL, EINVAL, "did you mean --check?"},
        {"--zzzzzz", NULL, EINVAL, "unknown option --zzzzzz"},
        {"-z", NULL, EINVAL, "unknown option -z"},
        {"--seed", "x", EINVAL, "whole number"},
        {"--seed", "100", ERANGE, "between 0 and 99"},
        {"--seed=-1", NULL, ERANGE, "between 0 and 99"},
        {"--seed", NULL, EINVAL, "needs a value (N)"},
        {"--until", "soon", EINVAL, "--until"},
        {"--until", "0", ERANGE, "--until must be"},
        {"--output", "xml", EINVAL, "one of table|json|html"},
        {"--check=1", NULL, EINVAL, "takes no value"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        int rc = t[i].value ? parse(2, t[i].word, t[i].value) : parse(1, t[i].word);
        ok(rc == -t[i].code && strstr(err.text, t[i].says), "%s %s: %s", t[i].word,
           t[i].value ? t[i].value : "", err.text);
    }
    ok(parse(1, "--zzzzzz") < 0 && !strstr(err.text, "mean"), "nothing near: no suggestion");
    ok(parse(3, "a", "b", "c") == -EINVAL && strstr(err.text, "too many"), "too many: %s",
       err.text);
}

static int dispatch(int argc, ...)
{
    char *argv[16];
    va_list ap;
    va_start(ap, argc);
    for (int i = 0; i < argc; i++)
        argv[i] = va_arg(ap, char *);
    va_end(ap);
    return cmd_dispatch(&cmd_root, argc, argv);
}

static void test_exits(void)
{
    FILE *keep = stderr;
    stderr = fopen("/dev/null", "w"); /* messages are wanted, not here */
    last_exit = CMD_FAILED;
    is_int(dispatch(2, "muster", "leaf"), CMD_FAILED, "the command's own exit code");
    is_int(dispatch(3, "muster", "leaf", "--nope"), CMD_USAGE, "an unknown option: 2");
    is_int(dispatch(2, "muster", "laef"), CMD_USAGE, "an unknown command: 2");
    is_int(dispatch(3, "muster", "group", "strict"), CMD_USAGE, "a missing argument: 2");
    last_exit = CMD_OK;
    ran = 0;
    is_int(dispatch(4, "muster", "group", "strict", "f"), CMD_OK, "a command below a command");
    is_int(ran, 1, "it ran");
    memset(&line, 0, sizeof line);
    err.code = EBADMSG;
    is_int(cmd_fail(&line, &err), CMD_USAGE, "damaged input: 2");
    err.code = EIO;
    is_int(cmd_fail(&line, &err), CMD_FAILED, "a failed write: 1");
    fclose(stderr);
    stderr = keep;
}

static void test_nearest(void)
{
    static const char *const names[] = {"sim", "trace", "cluster", "help", NULL};
    is_str(cmd_nearest("trcae", names), "trace", "two letters swapped");
    is_str(cmd_nearest("clster", names), "cluster", "one letter lost");
    is_str(cmd_nearest("siim", names), "sim", "one too many");
    ok(!cmd_nearest("xyzzy", names), "nothing near");
    char big[300];
    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = 0;
    ok(!cmd_nearest(big, names), "an overlong word gets no suggestion");
}

static void test_help(void)
{
    struct buf b = {0};
    cmd_help_text(&leaf, "muster leaf", 60, &b);
    ok(strstr(b.data, "usage: muster leaf FILE [options]"), "usage");
    ok(strstr(b.data, "-s, --seed N") && strstr(b.data, "where it starts [42]"),
       "options with their presets");
    ok(strstr(b.data, "(table|json|html)"), "choices");
    ok(strstr(b.data, "First paragraph of two lines."), "paragraphs are filled");
    ok(strstr(b.data, "\n  kept: as it is\n"), "indented lines are kept");
    size_t longest = 0;
    struct str rest = buf_as_str(&b);
    while (rest.ptr) {
        size_t len = str_cut(&rest, '\n').len;
        longest = len > longest ? len : longest;
    }
    cmp_ok(longest, <=, 60, "no line is wider than the terminal");
    buf_clear(&b);
    cmd_help_man(&leaf, "muster leaf", &b);
    ok(str_starts(buf_as_str(&b), STR(".TH \"MUSTER-LEAF\" 1")), "a man page");
    ok(strstr(b.data, "\\fB\\-\\-seed\\fR \\fIN\\fR"), "options are set in bold");
    ok(strstr(b.data, "\n\\&.Second one"), "a line that starts with a dot is no request");
    buf_done(&b);
}

static void test_policy_file(void)
{
    char dir[] = "/tmp/test-cmd-XXXXXX", path[64];
    struct policy_file f;
    if (!mkdtemp(dir))
        bail("no temporary directory");
    snprintf(path, sizeof path, "%s/mine.yaml", dir);
    FILE *out = fopen(path, "w");
    fputs("name: mine\norder: shortest\nmix: trace\noracle: true\n", out);
    fclose(out);
    setenv("MUSTER_POLICIES", dir, 1);
    is_int(policy_file_load(&f, "mine", &err), 0, "a policy by name, in $MUSTER_POLICIES");
    ok(f.policy.order == ORDER_SHORTEST && f.policy.mix == MIX_TRACE && f.policy.oracle,
       "is read");
    is_int(policy_file_set_mix(&f, STR("3 1000 500 1 T4\n1 1000 0 0\n"), &err), 0,
           "the trace's mix takes its place");
    ok(f.policy.mix == MIX_GIVEN && str_starts(f.policy.mix_text, STR("3 1000 500 1 T4\n")) &&
           f.policy.order == ORDER_SHORTEST && f.policy.oracle,
       "... and every other line stays");
    policy_file_done(&f);
    is_int(policy_file_load(&f, path, &err), 0, "the same by path");
    policy_file_done(&f);
    ok(policy_file_load(&f, "nosuch", &err) == -ENOENT && strstr(err.text, "nosuch"),
       "unknown: %s", err.text);
    out = fopen(path, "w");
    fputs("order: sideways\n", out);
    fclose(out);
    ok(policy_file_load(&f, "mine", &err) < 0 && strstr(err.text, "mine.yaml:1:"),
       "a mistake is told with its place: %s", err.text);
    remove(path);
    remove(dir);
}

static void test_progress(void)
{
    char out[160];
    progress_line(out, sizeof out, "fifo", 0.25, 10, 5000000);
    ok(strstr(out, "[######------------------]") && strstr(out, " 25 %") &&
           strstr(out, "500,000 events/s") && strstr(out, "30 s"),
       "a quarter in 10 s: 30 s more: %s", out);
    progress_line(out, sizeof out, "fifo", 0, 1, 10);
    ok(strstr(out, "ETA ?"), "no guess before anything is done");
}

int main(void)
{
    test_forms();
    test_messages();
    test_exits();
    test_nearest();
    test_help();
    test_policy_file();
    test_progress();
    return done_testing();
}
