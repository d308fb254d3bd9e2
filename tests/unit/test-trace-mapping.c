/* test-trace-mapping.c - mapping files, and CSV through them
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "tap.h"
#include "trace/mapping.h"

static char dir[64], file[128];

/* The mapping's text as a file, and the trace through it. */
static int load(const char *mapping, const char *csv, struct trace_list *l,
                struct err *err)
{
    FILE *f = fopen(file, "w");
    if (!f || fputs(mapping, f) < 0 || fclose(f))
        bail("cannot write %s", file);
    return trace_load_mem(l, csv, strlen(csv), "jobs.csv", file, err);
}

static const char everything[] =
    "name: all\n"
    "delimiter: \";\"\n"
    "comment: \"#\"\n"
    "missing: [\"\", nan]\n"
    "gpus_per_node: 4\n"
    "keep:\n"
    "  - {column: state, notin: [junk]}\n"
    "  - {column: vc, in: [a, b, long-name-of-a-queue]}\n"
    "  - {column: when, unit: ms, from: 1000, to: 5000}\n"
    "fields:\n"
    "  name: id\n"
    "  user: {column: who, words: {root: admin}}\n"
    "  queue: vc\n"
    "  need_tag: \"pool={queue}!\"\n"
    "  submit: {column: when, unit: ms}\n"
    "  wait: {column: waited, unit: s}\n"
    "  run: {column: length, unit: min}\n"
    "  limit: {column: cap, unit: clock, default: \"01:00:00\"}\n"
    "  gpus: {column: g, unit: gpus}\n"
    "  cpu: {column: c, unit: cores, per: job}\n"
    "  mem: {column: m, unit: GiB, per: job}\n"
    "  priority: {column: class, words: {HP: 7, Spot: -1}, other: 0}\n"
    "  types: {column: kinds, separator: \"|\"}\n"
    "  node_list: {column: hosts, optional: yes}\n"
    "  state: {column: state, words: {ok: done, bad: failed}, other: lost}\n";

static void fields(void)
{
    static const char csv[] =
        "# a remark; with a delimiter\n"
        "id;who;vc;when;waited;length;cap;g;c;m;class;kinds;state;unused\n"
        "j1;root;a;5000;10;1.5;2-00:00:00;8;16;32;HP;X|Y|X;ok;\n"
        "j2;eve;long-name-of-a-queue;1000;0;2;;1;1;1;other;;bad;\n"
        "j3;eve;z;2000;0;2;;1;1;1;HP;;ok;\n"        /* queue not kept */
        "j4;eve;a;5001;0;2;;1;1;1;HP;;ok;\n"        /* too late */
        "j5;eve;a;999;0;2;;1;1;1;HP;;ok;\n"         /* too early */
        "j6;eve;a;2000;0;2;;1;1;1;HP;;junk;\n"      /* not wanted */
        "\"j;7\";nan;b;1000;nan;nan;;0;3;0;Spot;Z;what;\n";
    struct trace_list l;
    struct err err = {0};
    if (!ok(load(everything, csv, &l, &err) == 0, "a full mapping loads (%s)",
            err.text))
        return;
    is_int(l.n, 3, "three rows are kept");
    is_int((int64_t)l.skipped, 4, "four are not");
    is_mem(l.remark.ptr, l.remark.len, "# a remark; with a delimiter", "the remark");
    is_str(l.format, "all", "the mapping's name");
    const struct trace_job *j2 = &l.jobs[0], *j7 = &l.jobs[1], *j1 = &l.jobs[2];
    is_mem(j1->name.ptr, j1->name.len, "j1", "time order: j1 is last");
    is_mem(j2->name.ptr, j2->name.len, "j2", "equal times keep the file's order");
    is_mem(j7->name.ptr, j7->name.len, "j;7", "quotes hold delimiters");
    is_int((int64_t)j7->row, 6, "rows count what was left out");
    is_mem(j1->user.ptr, j1->user.len, "admin", "words replace");
    is_mem(j2->user.ptr, j2->user.len, "eve", "and leave the others");
    is_mem(j1->need_tag.ptr, j1->need_tag.len, "pool=a!",
           "the tag is made of the queue");
    is_mem(j2->need_tag.ptr, j2->need_tag.len, "pool=long-name-of-a-queue!",
           "of any length");
    is_int(j1->submit_us, 5000000, "milliseconds");
    is_int(j1->start_us, 15000000, "the wait gives the start");
    is_int(j1->run_us, 90000000, "minutes");
    is_int(j1->end_us, 105000000, "start and run give the end");
    is_int(j1->limit_us, INT64_C(172800) * 1000000, "a clock");
    is_int(j2->limit_us, INT64_C(3600) * 1000000,
           "the default where the cell is empty");
    is_int(j1->gpus, 8, "GPUs");
    is_int(trace_job_tasks(j1, l.gpus_per_node), 2, "on two nodes of four");
    is_int(j1->cpu_milli, 8000, "so half of the cores each");
    is_int(j1->mem_bytes, INT64_C(16) << 30, "and half of the memory");
    is_int(j1->priority, 7, "a word's number");
    is_int(j2->priority, 0, "other words have their own");
    is_int(j7->priority, -1, "negative ones too");
    is_int(j1->ntypes, 3, "types as they stand");
    is_mem(j1->types[1].ptr, j1->types[1].len, "Y", "in order");
    is_int(j2->ntypes, 0, "none is any");
    is_int(j1->state, TRACE_DONE, "states by word");
    is_int(j2->state, TRACE_FAILED, "failed");
    is_int(j7->state, TRACE_LOST, "the rest is lost");
    is_int(j7->run_us, TRACE_NEVER, "a missing number is not known");
    is_int(j7->gpus, 0, "no GPUs");
    is_int(j7->gpu_milli, 0, "no share");
    trace_list_done(&l);
}

/* Shares: by percent, and by a column of their own. */
static void shares(void)
{
    static const char map[] =
        "name: shares\nheader: no\ncolumns: [n, g, c]\n"
        "fields:\n  submit: {constant: 0}\n  nodes: n\n"
        "  gpus: {column: g, unit: percent, per: task}\n"
        "  cpu: {column: c, unit: percent, per: task}\n";
    static const struct {
        const char *csv;
        uint32_t nodes, gpus, milli;
    } rows[] = {
        {"1,50,600\n", 1, 1, 500},   {"4,25,600\n", 4, 4, 250},
        {"2,100,600\n", 2, 2, 1000}, {"3,200,600\n", 3, 6, 1000},
        {"1,0,600\n", 1, 0, 0},      {"1,150,600\n", 1, 2, 1000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace_list l;
        struct err err = {0};
        if (!ok(load(map, rows[i].csv, &l, &err) == 0, "loads (%s)", err.text))
            continue;
        is_int(l.jobs[0].nodes, rows[i].nodes, "tasks of %.9s", rows[i].csv);
        is_int(l.jobs[0].gpus, rows[i].gpus, "its GPUs");
        is_int(l.jobs[0].gpu_milli, rows[i].milli, "and the share of each");
        is_int(l.jobs[0].cpu_milli, 6000, "600 %% are six cores, of each task");
        trace_list_done(&l);
    }
}

static void cell_mistakes(void)
{
    static const char map[] =
        "name: x\nkeep:\n  - {column: vc, in: [a]}\n  - {column: n, from: 1, to: 9}\n"
        "fields:\n  submit: {column: t, unit: datetime}\n  run: {column: r, unit: s}\n"
        "  gpus: {column: g, unit: gpus}\n  queue: vc\n"
        "  state: {column: s, words: {ok: done}}\n"
        "  types: {column: k, separator: \"|\"}\n";
#define HEAD "t,r,g,vc,s,n,k\n"
#define GOOD "2020-01-01 00:00:00,1,1,a,ok,1,\n"
    static const struct {
        const char *csv, *want;
    } rows[] = {
        {HEAD GOOD "2020-01-01 00:00:00,abc,1,a,ok,1,\n",
         "jobs.csv:3:21: run 'abc' is not a number"},
        {HEAD "2020-01-41 00:00:00,1,1,a,ok,1,\n",
         "jobs.csv:2:1: time '2020-01-41 00:00:00' is not a date and time: "
         "2026-10-31 07:01:55 (or T for the blank; .fraction, Z or +08:00 may follow), "
         "or 2026-10-31"},
        {HEAD "2020-01-01 00:00:00,-1,1,a,ok,1,\n",
         "jobs.csv:2:21: run '-1' is out of range"},
        {HEAD "2020-01-01 00:00:00,1,99999999999,a,ok,1,\n",
         "jobs.csv:2:23: gpus '99999999999' is out of range"},
        {HEAD "2020-01-01 00:00:00,1,1,a,odd,1,\n",
         "jobs.csv:2:27: state 'odd' is not among the mapping's words"},
        {HEAD "2020-01-01 00:00:00,1,1,a,ok,x,\n",
         "jobs.csv:2:30: filtered column 'x' is not a number"},
        {HEAD "2020-01-01 00:00:00,1,1,a,ok,1,A|B|C|D|E|F|G|H|I\n",
         "jobs.csv:2:32: types 'A|B|C|D|E|F|G|H|I' names too many types"},
        {HEAD ",1,1,a,ok,1,\n", "jobs.csv:2:1: the submit time is missing"},
        {HEAD "2020-01-01 00:00:00,1,1,a\n",
         "jobs.csv:2:25: the row has 4 columns, 7 are expected"},
        {"t,r,g,vc,s,k\n", "jobs.csv:1:1: no column 'n', which mapping x filters by"},
        {"t,r,vc,s,n,k\n",
         "jobs.csv:1:1: no column 'g', which mapping x needs for gpus"},
        {"", "jobs.csv:1:1: the file is empty, a header is expected"},
        {HEAD "2020-01-01 00:00:00,1,1,a,\"ok,1,\n",
         "jobs.csv:2:27: this quote is never closed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace_list l;
        struct err err = {0};
        ok(load(map, rows[i].csv, &l, &err) < 0, "refused");
        is_str(err.text, rows[i].want, "with the place");
    }
}

static void mapping_mistakes(void)
{
    static const struct {
        const char *text, *want; /* want: a part of the message */
    } rows[] = {
        {"[]\n", "m:1:1: a mapping is a table"},
        {"fields: {submit: t}\n", "m:1:1: a mapping needs a name"},
        {"name: x\n", "m:1:1: a mapping needs fields"},
        {"name: x\nfields: {run: t}\n", "m:2:9: fields must say where submit is"},
        {"name: x\nfeilds: {submit: t}\n", "m:2:1: "},
        {"name: x\nfields: {submit: t, gpu: g}\n", "m:2:21: "},
        {"name: x\nfields: {submit: {column: t, unit: parsec}}\n",
         "m:2:36: unknown unit 'parsec': here us, ms, s, min, h, days, datetime are "
         "known"},
        {"name: x\nfields: {submit: {column: t, unit: MiB}}\n",
         "m:2:36: unit 'MiB' does not fit"},
        {"name: x\nfields: {submit: {unit: s}}\n",
         "m:2:18: needs a column or a constant"},
        {"name: x\nfields: {submit: {column: t, constant: 1}}\n",
         "m:2:40: either column or constant"},
        {"name: x\nfields: {submit: t, state: s}\n", "m:2:28: a state needs words"},
        {"name: x\nfields: {submit: t, state: {column: s, words: {a: fine}}}\n",
         "m:2:51: 'fine' is not a state"},
        {"name: x\nfields: {submit: {column: t, default: soon}}\n",
         "m:2:39: 'soon' does not fit the unit"},
        {"name: x\nfields: {submit: t}\nkeep: [{column: a}]\n",
         "m:3:8: a rule has one of in, notin, from and to"},
        {"name: x\nfields: {submit: t}\nkeep: [{column: a, from: 9, to: 1}]\n",
         "m:3:8: the range runs backward"},
        {"name: x\nfields: {submit: t}\ndelimiter: ab\n",
         "m:3:12: one byte is expected"},
        {"name: x\nfields: {submit: t}\nquote: \",\"\n", "m:1:1: quote and delimiter"},
        {"name: x\nfields: {submit: t}\nheader: no\n",
         "m:1:1: columns belong to files"},
        {"name: a-name-that-is-longer-than-31-bytes-is\nfields: {submit: t}\n",
         "m:1:7: a name has 1 to 31 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mapping *m;
        struct err err = {0};
        int rc = mapping_parse(&m, "m", str_of(rows[i].text), &err);
        if (!ok(rc < 0, "refused: %s", err.text))
            mapping_free(m);
        ok(!strncmp(err.text, rows[i].want, strlen(rows[i].want)), "begins: %s",
           rows[i].want);
    }
}

static void finding(void)
{
    struct trace_list l;
    struct err err = {0};
    static const char csv[] = "no,such,columns\n1,2,3\n";
    is_int(trace_load_mem(&l, csv, sizeof csv - 1, "f.csv", NULL, &err), -ENOENT,
           "an unknown first line is no format");
    ok(strstr(err.text, "f.csv: ") && strstr(err.text, "no,such,columns"),
       "says so: %s", err.text);
    is_int(trace_load_mem(&l, csv, sizeof csv - 1, "f.csv", "nosuchformat", &err),
           -ENOENT, "an unknown name is none either");
    ok(trace_load(&l, "-", NULL, &err) < 0, "standard input wants a format");
    ok(trace_load(&l, "/nonexistent/x.csv", "philly", &err) < 0, "no file, no trace");
    ok(strstr(err.text, "/nonexistent/x.csv"), "which is named: %s", err.text);
}

static const char with_head[] =
    "name: head\n"
    "comment: \"#\"\n"
    "head: {window: {word: measured, unit: min}, queues_after: owners}\n"
    "cluster: |\n"
    "  name: x\n"
    "  nodes: [{count: $hosts, name: \"n{0}\"}] # $0 is no word\n"
    "fields: {submit: t}\n";

static void heads(void)
{
    struct trace_list l;
    struct err err = {0};
    if (load(with_head, "# made for a=5 hosts=3 owners of q=8 p=2.5 measured=1..2.5\n#p=7\nt\n4\n",
             &l, &err) < 0)
        bail("%s", err.text);
    const struct trace_site *s = &l.site;
    ok(s->window_from_us == 60000000 && s->window_until_us == 150000000,
       "the window stands in the head, in its unit");
    ok(s->nqueues == 2 && str_is(s->queues[0].name, "q") && s->queues[0].gpu_milli == 8000 &&
           str_is(s->queues[1].name, "p") && s->queues[1].gpu_milli == 2500,
       "queues stand behind their word");
    ok(str_is(s->cluster, "name: x\nnodes: [{count: 3, name: \"n{0}\"}] # $0 is no word\n") &&
           !s->cluster_lacks.len,
       "the cluster's words are filled in");
    trace_list_done(&l);
    if (load(with_head, "t\n4\n", &l, &err) < 0)
        bail("%s", err.text);
    ok(l.site.window_from_us == TRACE_NEVER && l.site.nqueues == 0 &&
           str_is(l.site.cluster_lacks, "hosts"),
       "a file without a head says nothing, and the cluster lacks a word");
    trace_list_done(&l);
    static const char *const wrong[][2] = {
        {"# measured=2..1\nt\n4\n", "measured=2..1"},
        {"# measured=2\nt\n4\n", "measured=2"},
        {"# owners q=many\nt\n4\n", "q=many"}};
    for (int i = 0; i < 3; i++)
        ok(load(with_head, wrong[i][0], &l, &err) == -EINVAL && strstr(err.text, wrong[i][1]) &&
               strstr(err.text, "jobs.csv"),
           "a head that makes no sense is named: %s", err.text);
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%.30s/musterXXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        bail("no temporary directory");
    snprintf(file, sizeof file, "%s/m.yaml", dir);
    fields();
    shares();
    cell_mistakes();
    mapping_mistakes();
    finding();
    heads();
    unlink(file);
    rmdir(dir);
    return done_testing();
}
