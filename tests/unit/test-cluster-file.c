/* test-cluster-file.c - clusters from YAML and CSV: what they mean, and where errors
 * stand The sizes of the public clusters are those their publishers state.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "cluster/catalogue.h"
#include "cluster/file.h"
#include "cluster/show.h"
#include "tap.h"

static struct words words;

static int parse(struct cluster_file *f, const char *name, const char *text,
                 struct err *err)
{
    memset(err, 0, sizeof *err);
    return cluster_file_parse(f, name, str_of(text), &words, err);
}

/* "block/rack/name" of node i */
static const char *where(const struct cluster_file *f, uint32_t i)
{
    static char out[256];
    size_t n = 0;
    const struct node_desc *d = &f->nodes.at[i];
    for (uint32_t p = 0; p < d->nplace; p++)
        n += (size_t)snprintf(out + n, sizeof out - n, STR_FMT "/",
                              STR_ARG(words_text(&words, d->place[p].value)));
    snprintf(out + n, sizeof out - n, STR_FMT, STR_ARG(d->name));
    return out;
}

static bool has(struct cluster_file *f, uint32_t i, const char *tag)
{
    for (uint32_t t = 0; t < f->nodes.at[i].ntags; t++)
        if (str_is(words_text(&words, f->nodes.at[i].tags[t]), tag))
            return true;
    return false;
}

static void test_all_keys(void)
{
    static const char text[] =
        "name: full\n"
        "levels: [block, rack]\n"
        "types:\n"
        "  H100: {reserved: 512MiB}\n"
        "  Odd: {memory: 8GiB, mem_slices: 4, compute_slices: 2, modes: [mig],\n"
        "        profiles: [{name: half, starts: [0, 2], slices: 2, compute: 1}]}\n"
        "nodes:\n"
        "- count: 5\n"
        "  name: 'n{000}'\n"
        "  cpus: 128\n"
        "  memory: 2TiB\n"
        "  slots: 110\n"
        "  nics: 8\n"
        "  state: drained\n"
        "  gpus:\n"
        "  - {type: H100, count: 4, memory: 80GiB, modes: [whole, share],\n"
        "     rings: [[0, 1], [2, 3]], numa: [0, 0, 1, 1]}\n"
        "  - {type: Odd, count: 2}\n"
        "  place: {rack: 'r{00}', block: 'b{0}'}\n"
        "  per: {rack: 2, block: 3, psu: 4}\n"
        "  tags: [big, 'pool=a']\n"
        "  taints: [dedicated]\n"
        "  partitions: {zone: z1}\n"
        "  faults: {psu: 'p{0}'}\n"
        "- {count: 2, name: 'n{000}', cpus: 1500m, place: {block: far}}\n";
    struct cluster_file f;
    struct err err;
    if (!ok(parse(&f, "full.yaml", text, &err) == 0, "all keys are read")) {
        diag("%s", err.text);
        return;
    }
    is_int(f.nodes.n, 7, "seven nodes");
    const struct node_desc *d = &f.nodes.at[0];
    ok(str_is(f.name, "full"), "its name");
    is_int(d->cpu_milli, 128000, "CPUs");
    is_int(d->mem_bytes, INT64_C(2) << 40, "memory");
    is_int(d->pod_slots, 110, "slots");
    is_int(d->nics, 8, "network cards");
    is_int(d->state, NODE_DRAINED, "state");
    is_int(d->ndevices, 6, "six devices");
    is_int(d->devices[0].mem_bytes, INT64_C(80) << 30, "memory said at the node wins");
    is_int(d->devices[3].reserved_bytes, INT64_C(512) << 20, "reserve of the type");
    is_int(d->devices[3].modes, DEVICE_WHOLE | DEVICE_SHARE, "modes");
    is_int(d->devices[3].numa * 10 + d->devices[3].island, 11, "NUMA node and island");
    is_int(d->devices[5].modes, DEVICE_MIG, "modes of the type");
    is_int(d->devices[5].type->profiles[0].mem_bytes, INT64_C(4) << 30,
           "a profile's memory is its slices' part");
    is_int(d->devices[5].type->profiles[0].milli, 500, "so is its compute");
    is_int(d->nlegal, 3 + 3 + 1 + 1,
           "rings of two: 3 + 3 sets, their union, nothing else");
    is_str(where(&f, 0), "b0/r00/n000", "place in the order of the levels");
    is_str(where(&f, 1), "b0/r00/n001", "two nodes a rack");
    is_str(where(&f, 2), "b0/r01/n002", "a third node in the block");
    is_str(where(&f, 3), "b1/r02/n003", "the next block starts a new rack");
    is_str(where(&f, 4), "b1/r02/n004", "which is filled");
    is_str(where(&f, 6), "far/n006", "the next group is numbered on");
    is_int(f.nodes.at[6].cpu_milli, 1500, "milli-CPUs");
    ok(has(&f, 4, "big") && has(&f, 4, "pool=a") && !has(&f, 5, "big"), "tags");
    ok(str_is(words_text(&words, d->faults[0].value), "p0") &&
           str_is(words_text(&words, f.nodes.at[4].faults[0].value), "p1"),
       "fault domains of four nodes");
    is_int(d->nparts + d->ntaints, 2, "a partition and a taint");
    struct cluster *c = cluster_create(&words);
    cluster_file_fill(&f, c);
    cluster_check(c);
    is_int(c->nlive, 7, "all of it makes a cluster");
    is_int(domain_count(c, 0, LANE_ANY), 2, "five of whose nodes are drained");
    cluster_destroy(c);
    cluster_file_done(&f);
}

/* One type, however a file spells it; what `types` says holds for all spellings. */
static void test_type_spellings(void)
{
    static const char text[] =
        "types: {h100: {reserved: 1GiB}, NPU: {memory: 8GiB}}\n"
        "nodes:\n"
        "- {name: a, gpus: {type: NVIDIA-H100-80GB-HBM3}}\n"
        "- {name: b, gpus: {type: H100}}\n"
        "- {name: c, gpus: {type: nvidia_h100_80gb_hbm3}}\n"
        "- {name: d, gpus: {type: npu}}\n";
    struct cluster_file f;
    struct err err;
    if (!ok(parse(&f, "t.yaml", text, &err) == 0, "types are read (%s)", err.text))
        return;
    for (uint32_t i = 0; i < 4; i++) {
        const struct device_desc *dev = f.nodes.at[i].devices;
        struct str name = words_text(&words, dev->type->name);
        is_mem(name.ptr, name.len, i < 3 ? "H100" : "NPU", "the type of node %u", i);
        is_int(dev->reserved_bytes, i < 3 ? INT64_C(1) << 30 : 0, "and its reserve");
    }
    cluster_file_done(&f);
}

static void test_labels(void)
{
    static const char text[] =
        "levels_from_labels: {zone: topology.kubernetes.io/zone, rack: "
        "example.com/rack}\n"
        "nodes:\n"
        "- {count: 4, name: 'k{0}', labels: {example.com/rack: 'r{0}', pool: gpu,\n"
        "   topology.kubernetes.io/zone: eu-1a}, per: {example.com/rack: 2}}\n";
    struct cluster_file f;
    struct err err;
    if (!ok(parse(&f, "k.yaml", text, &err) == 0, "labels are read %s", err.text))
        return;
    is_str(where(&f, 3), "eu-1a/r1/k3", "labels of levels make the place");
    ok(has(&f, 3, "pool=gpu"), "others are tags");
    is_int(f.nodes.at[3].ntags, 1, "and only others");
    is_int(f.nlevels, 2, "two levels");
    cluster_file_done(&f);
}

static void test_lists(void)
{
    static const char openb[] = "sn,cpu_milli,memory_mib,gpu,model\r\n"
                                "a-1,64000,262144,2,P100\r\na-2,32000,1024,0,\r\n";
    static const char vcs[] = "vc,node num\n6214e9,3\n7f04ca,1\n";
    static const char spot[] =
        "gpu_model,gpu_capacity_num,cpu_num,node_name\nH800,8,192,7\n";
    struct cluster_file f;
    struct err err;
    if (ok(parse(&f, "x/openb.csv", openb, &err) == 0, "openb's columns %s",
           err.text)) {
        const struct node_desc *d = &f.nodes.at[0];
        ok(str_is(f.name, "openb") && str_is(d->name, "a-1"), "names");
        is_int(d->cpu_milli, 64000, "CPUs in milli");
        is_int(d->mem_bytes, INT64_C(262144) << 20, "memory in MiB");
        is_int(d->ndevices, 2, "two GPUs");
        ok(str_is(words_text(&words, d->devices[0].type->name), "P100"),
           "of that model");
        is_int(f.nodes.at[1].ndevices, 0, "a node without GPUs or model");
        cluster_file_done(&f);
    }
    if (ok(parse(&f, "vc.csv", vcs, &err) == 0, "Philly's columns %s", err.text)) {
        is_int(f.nodes.n, 4, "three and one node");
        is_str(where(&f, 2), "6214e9/6214e9-002",
               "a number that is no number stays text");
        is_str(where(&f, 3), "7f04ca/7f04ca-000", "each numbered from 0");
        ok(has(&f, 3, "vc=7f04ca"), "with its tag");
        is_int(f.nodes.at[3].ndevices, 8, "8 GPUs each");
        cluster_file_done(&f);
    }
    if (ok(parse(&f, "s.csv", spot, &err) == 0, "spot's columns %s", err.text)) {
        is_int(f.nodes.at[0].cpu_milli, 192000, "whole CPUs");
        cluster_file_done(&f);
    }
}

/* Each broken file, and what its error must say and where. */
/* A name and a place of the same text count each for itself. */
/* Rows that differ from the row before in the name alone, and such that do not. */
static void test_runs(void)
{
    static const char text[] =
        "sn,cpu_milli,memory_mib,gpu,model\na,1000,10,2,P100\nb,1000,10,2,P100\n"
        "c,1000,10,2,T4\nd,2000,10,0,\n e ,2000,10,0,\nf,1000,10,2,P100\n";
    static const struct {
        const char *name, *type;
        int64_t cpu;
        uint32_t ndevices;
    } want[] = {{"a", "P100", 1000, 2}, {"b", "P100", 1000, 2}, {"c", "T4", 1000, 2},
                {"d", NULL, 2000, 0},   {"e", NULL, 2000, 0},   {"f", "P100", 1000, 2}};
    struct cluster_file f;
    struct err err;
    if (!ok(parse(&f, "x/openb.csv", text, &err) == 0, "runs of rows %s", err.text))
        return;
    is_int(f.nodes.n, 6, "a node a row");
    for (uint32_t i = 0; i < f.nodes.n; i++) {
        const struct node_desc *d = &f.nodes.at[i];
        bool good = str_is(d->name, want[i].name) && d->cpu_milli == want[i].cpu &&
                    d->ndevices == want[i].ndevices;
        for (uint32_t k = 0; good && k < d->ndevices; k++)
            good = str_is(words_text(&words, d->devices[k].type->name), want[i].type);
        ok(good, "node %s as its row has it", want[i].name);
    }
    cluster_file_done(&f);
}

static void test_equal_texts(void)
{
    static const char text[] = "name: t\nlevels: [rack]\nnodes:\n"
                               "- {count: 6, name: 'a{00}', cpus: 4, place: {rack: 'a{00}'},"
                               " per: {rack: 3}}\n";
    struct cluster_file f;
    struct err err;
    if (!ok(parse(&f, "t.yaml", text, &err) == 0, "equal texts %s", err.text))
        return;
    ok(f.nodes.at[0].place[0].value == f.nodes.at[2].place[0].value,
       "three nodes in the first rack");
    ok(f.nodes.at[2].place[0].value != f.nodes.at[3].place[0].value, "then the next");
    ok(f.nodes.at[3].place[0].value == f.nodes.at[5].place[0].value, "three there too");
    cluster_file_done(&f);
}

static void test_errors(void)
{
    static const struct {
        const char *name, *text, *want;
        int code;
    } rows[] = {
        {"e.yaml", "nodes:\n- {name: a, cpu: 3}\n",
         "e.yaml:2:13: unknown key \"cpu\", did you mean \"cpus\"?", EINVAL},
        {"e.yaml", "nodes:\n- {cpus: 3}\n", "e.yaml:2:3: nodes need a name", EINVAL},
        {"e.yaml", "name: x\n", "e.yaml:1:1: there are no nodes", EINVAL},
        {"e.yaml", "nodes:\n- {count: 2, name: a}\n",
         "e.yaml:2:20: 2 nodes need a number", EINVAL},
        {"e.yaml", "nodes:\n- {name: a}\n- {name: a}\n",
         "e.yaml:3:10: a second node \"a\"", EEXIST},
        {"e.yaml", "nodes:\n- {name: a, cpus: lots}\n", "e.yaml:2:19: cpus: ", EINVAL},
        {"e.yaml", "nodes:\n- {name: a, memory: 9EiB}\n", "e.yaml:2:21: memory",
         ERANGE},
        {"e.yaml", "nodes:\n- {name: a, memory: 256}\n",
         "e.yaml:2:21: memory: only 256 bytes; did you mean 256GiB?", ERANGE},
        {"e.yaml", "nodes:\n- {name: a, labels: {pool: 'p{0}'}}\n",
         "e.yaml:2:28: only labels that levels_from_labels names can be numbered",
         EINVAL},
        {"e.yaml", "nodes:\n- {name: a, slots: 0}\n",
         "e.yaml:2:20: slots must be between", ERANGE},
        {"e.yaml", "nodes:\n- {name: a, state: ill}\n", "e.yaml:2:20: state must be",
         EINVAL},
        {"e.yaml", "nodes:\n- {name: 'a{x}'}\n",
         "e.yaml:2:10: {x}: a number is written", EINVAL},
        {"e.yaml", "nodes:\n- {name: 'a{0}b{0}'}\n", "e.yaml:2:10: two numbers",
         EINVAL},
        {"e.yaml", "nodes:\n- {name: 'a{0'}\n", "e.yaml:2:10: an open brace", EINVAL},
        {"e.yaml", "nodes:\n- {name: a, tags: ['t{0}']}\n",
         "e.yaml:2:20: no number {0}", EINVAL},
        {"e.yaml", "nodes:\n- {name: a, place: {rack: 'r{0}'}}\n",
         "e.yaml:2:27: the number needs per: {rack: N}", EINVAL},
        {"e.yaml", "levels: [row]\nnodes:\n- {name: a, place: {rack: r}}\n",
         "e.yaml:3:27: \"rack\" is not one of the levels", EINVAL},
        {"e.yaml", "nodes:\n- {name: a, per: {rack: 3}}\n", "e.yaml:2:18: per names",
         EINVAL},
        {"e.yaml", "levels: [rack, rack]\nnodes: []\n",
         "e.yaml:1:16: a level stands twice", EINVAL},
        {"e.yaml", "levels: [node]\nnodes: []\n", "e.yaml:1:10: the levels are those",
         EINVAL},
        {"e.yaml", "nodes:\n- {name: a, gpus: {type: H10O}}\n",
         "e.yaml:2:26: \"H10O\" is not in the catalogue", EINVAL},
        {"e.yaml", "nodes:\n- {name: a, gpus: {count: 3}}\n",
         "e.yaml:2:19: GPUs without a type", EINVAL},
        {"e.yaml", "nodes:\n- {name: a, gpus: {type: T4, count: 65}}\n",
         "e.yaml:2:37: count must be between 0 and 64", ERANGE},
        {"e.yaml", "nodes:\n- {name: a, gpus: {type: T4, modes: [mig]}}\n",
         "e.yaml:2:38: this type cannot be cut", EINVAL},
        {"e.yaml", "nodes:\n- {name: a, gpus: {type: T4, modes: [part]}}\n",
         "e.yaml:2:38: a mode is", EINVAL},
        {"e.yaml", "nodes:\n- {name: a, gpus: {type: T4, reserved: 80GiB}}\n",
         "e.yaml:2:19: more memory reserved", ERANGE},
        {"e.yaml", "nodes:\n- {name: a, gpus: {type: T4, count: 2, rings: [[0, 2]]}}\n",
         "e.yaml:2:52: this must be between 0 and 1", ERANGE},
        {"e.yaml",
         "nodes:\n- {name: a, gpus: {type: T4, count: 8,\n"
         "  rings: [[0, 1, 2, 3, 4, 5, 6, 7]]}}\n",
         "e.yaml:3:10: rings with more than", ERANGE},
        {"e.yaml", "types: {X: {like: Y}}\nnodes:\n- {name: a}\n",
         "e.yaml:1:19: like: not a type", EINVAL},
        {"e.yaml",
         "types: {X: {mem_slices: 4, compute_slices: 4, profiles:\n"
         " [{name: p, starts: [3], slices: 2, compute: 1}]}}\nnodes:\n- {name: a}\n",
         "e.yaml:2:21: 2 slices from such a start", EINVAL},
        {"e.yaml", "csv: {file: x.csv, name: a}\n", "e.yaml:1:13: no other file",
         EPERM},
        {"e.yaml", "nodes:\n- {name: a, file: x.csv}\n",
         "e.yaml:2:19: files belong under csv", EINVAL},
        {"e.csv", "", "e.csv:1:1: there is nothing in it", EINVAL},
        {"e.csv", "a,b\n1,2\n", "e.csv:1:1: no known list", EINVAL},
        {"e.csv", "vc,node num\n", "e.csv:2:1: there are no nodes", EINVAL},
        {"e.csv", "vc,node num\nx,3\ny\n", "e.csv:3:1: 1 cells, the first row has 2",
         EINVAL},
        {"e.csv", "vc,node num\nx,3\nyy,many\n",
         "e.csv:3:4: count must be a whole number", EINVAL},
        {"e.csv", "vc,node num\nx,-1\n", "e.csv:2:3: count must be between", ERANGE},
        {"e.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,1,2,x,T4\n",
         "e.csv:2:7: count must be a whole number", EINVAL},
        {"e.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,1,2,3,\n",
         "e.csv:2:9: GPUs without a type", EINVAL},
        {"e.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,1,2,0,\nn,1,2,0,\n",
         "e.csv:3:1: a second node \"n\"", EEXIST},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cluster_file f = {.nlevels = 77};
        struct err err;
        int rc = parse(&f, rows[i].name, rows[i].text, &err);
        bool good = rc == -rows[i].code && f.nlevels == 77 &&
                    str_starts(str_of(err.text), str_of(rows[i].want));
        if (!ok(good, "%s", rows[i].want))
            diag("   got %d: %s", rc, err.text);
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        bail("cannot write %s", path);
}

/* A CSV beside the YAML, the error in its cell; and one that is not there. */
static void test_folder(void)
{
    char dir[] = "/tmp/muster-file-XXXXXX", yaml[64], csv[64], want[192];
    struct cluster_file f;
    struct err err = {0};
    if (!mkdtemp(dir))
        bail("no temporary folder");
    snprintf(yaml, sizeof yaml, "%s/c.yaml", dir);
    snprintf(csv, sizeof csv, "%s/list.csv", dir);
    write_file(csv, "host,cores\nx1,8\nx2,16\n");
    write_file(yaml, "csv:\n  file: list.csv\n  name: '{host}'\n  cpus: '{cores}'\n");
    if (ok(cluster_file_load(&f, yaml, &words, &err) == 0, "a list beside it %s",
           err.text)) {
        is_int(f.nodes.at[1].cpu_milli, 16000, "its second row");
        cluster_file_done(&f);
    }
    write_file(csv, "host,cores\nx1,8\nx2,\"sixteen\"\n");
    snprintf(want, sizeof want, "%s:3:4: cpus: ", csv);
    ok(cluster_file_load(&f, yaml, &words, &err) == -EINVAL &&
           str_starts(str_of(err.text), str_of(want)),
       "an error stands in the cell: %s", err.text);
    write_file(yaml, "csv:\n  file: list.csv\n  name: '{hots}'\n");
    snprintf(want, sizeof want, "%s:3:9: %s has no column \"hots\"", yaml, csv);
    ok(cluster_file_load(&f, yaml, &words, &err) == -EINVAL &&
           str_starts(str_of(err.text), str_of(want)),
       "an unknown column in the YAML: %s", err.text);
    unlink(csv);
    snprintf(want, sizeof want, "%s:2:9: ", yaml);
    ok(cluster_file_load(&f, yaml, &words, &err) == -ENOENT &&
           str_starts(str_of(err.text), str_of(want)),
       "a missing list: %s", err.text);
    write_file(yaml, "csv: {file: $HOME/x.csv, name: a}\n");
    ok(cluster_file_load(&f, yaml, &words, &err) == -EINVAL, "no other variable");
    unlink(yaml);
    rmdir(dir);
}

/* The files we ship, against what is published about those clusters. */
static void test_shipped(void)
{
    static const struct {
        const char *file, *data;
        uint32_t nodes, gpus, domains;
    } rows[] = {
        {"demo-small.yaml", NULL, 40, 16 * 8 + 8 * 8 + 12 * 4, 1 + 2 + 4},
        {"big-100k.yaml", NULL, 12500, 100000, 1 + 98 + 782},
        {"openb.yaml", "data/traces/openb-fgd/csv/openb_node_list_gpu_node.csv", 1213,
         6212, 1},
        {"philly.yaml", "data/traces/philly/philly_vc.csv", 352, 2816, 12},
        {"spot-2026.yaml", "data/traces/alibaba-spot-2026/node_info_df.csv", 4278,
         10412, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[4096], shared[4096];
        struct err err = {0};
        struct cluster_file f;
        const char *src = getenv("MUSTER_SRC");
        if (rows[i].data && !shared_path(rows[i].data, shared)) {
            skip(1, "%s: the shared data is not there", rows[i].file);
            continue;
        }
        snprintf(path, sizeof path, "%s/clusters/%s", src ? src : ".", rows[i].file);
        if (cluster_file_load(&f, path, &words, &err)) {
            fail("%s: %s", rows[i].file, err.text);
            continue;
        }
        struct cluster *c = cluster_create(&words);
        cluster_file_fill(&f, c);
        ok(c->nlive == rows[i].nodes &&
               c->gpu_cap_milli == rows[i].gpus * INT64_C(1000) &&
               c->ndomains == rows[i].domains,
           "%s: %u nodes, %u GPUs, %u domains", rows[i].file, rows[i].nodes,
           rows[i].gpus, rows[i].domains);
        cluster_destroy(c);
        cluster_file_done(&f);
    }
}

static void show_is(const struct cluster *c, uint32_t depth, uint32_t lines,
                    const char *want, const char *what)
{
    struct buf b = {0};
    struct show o = {.name = STR("x"), .depth = depth, .lines = lines, .ascii = true};
    cluster_show_text(c, &o, &b);
    is_mem(b.data, b.len, want, "%s", what);
    buf_done(&b);
}

static void test_show(void)
{
    static const char text[] =
        "levels: [rack]\n"
        "nodes:\n"
        "- {count: 4, name: 'a{0}', cpus: 2, memory: 1GiB, gpus: {type: T4, count: "
        "2},\n"
        "   place: {rack: 'r{0}'}, per: {rack: 2}}\n"
        "- {name: b, gpus: {type: L4}, place: {rack: r0}, state: down}\n"
        "- {count: 2, name: 'c{0}', cpus: 2, memory: 1GiB, gpus: {type: T4, count: "
        "2},\n"
        "   place: {rack: r2}}\n";
    struct cluster_file f;
    struct err err;
    if (!ok(parse(&f, "x.yaml", text, &err) == 0, "a cluster to show %s", err.text))
        return;
    struct cluster *c = cluster_create(&words);
    struct buf b = {0};
    cluster_file_fill(&f, c);
    show_is(c, SHOW_ALL, 0,
            "x: 7 nodes, 12 T4, 1 L4, 12 CPUs, 6 GiB memory, 1 node not in use\n"
            "|- rack r0: 3 nodes, 4 T4, 1 L4, 4 CPUs, 2 GiB memory, 1 node not in use\n"
            "|  |- a0 .. a1 x 2: each 2 T4, 2 CPUs, 1 GiB memory\n"
            "|  `- b: 1 L4, not in use\n"
            "`- rack r1 .. r2 x 2: each 2 nodes, 4 T4, 4 CPUs, 2 GiB memory\n"
            "   `- a2 .. a3 x 2: each 2 T4, 2 CPUs, 1 GiB memory\n",
            "equal racks and nodes stand in one line");
    show_is(c, 1, 0,
            "x: 7 nodes, 12 T4, 1 L4, 12 CPUs, 6 GiB memory, 1 node not in use\n"
            "|- rack r0: 3 nodes, 4 T4, 1 L4, 4 CPUs, 2 GiB memory, 1 node not in use\n"
            "`- rack r1 .. r2 x 2: each 2 nodes, 4 T4, 4 CPUs, 2 GiB memory\n",
            "one level");
    show_is(c, SHOW_ALL, 5,
            "x: 7 nodes, 12 T4, 1 L4, 12 CPUs, 6 GiB memory, 1 node not in use\n"
            "|- rack r0: 3 nodes, 4 T4, 1 L4, 4 CPUs, 2 GiB memory, 1 node not in use\n"
            "`- rack r1 .. r2 x 2: each 2 nodes, 4 T4, 4 CPUs, 2 GiB memory\n"
            "(--depth 2 shows more)\n",
            "what five lines hold");
    struct show o = {.name = STR("x"), .depth = 0};
    cluster_show_json(c, &o, &b);
    is_mem(b.data, b.len,
           "{\"name\":\"x\",\"levels\":[\"rack\"],\"nodes\":7,\"nodes_not_in_use\":1,"
           "\"gpus\":13,\"gpus_by_type\":{\"T4\":12,\"L4\":1},\"cpu_milli\":12000,"
           "\"mem_bytes\":6442450944}\n",
           "and as JSON");
    buf_done(&b);
    cluster_destroy(c);
    /* openb's order: equal nodes that are not neighbours */
    cluster_file_done(&f);
    if (parse(&f, "x.csv", "vc,node num\na,1\nb,2\nc,1\n", &err))
        bail("%s", err.text);
    c = cluster_create(&words);
    cluster_file_fill(&f, c);
    show_is(c, 1, 0,
            "x: 4 nodes, 32 GPU\n"
            "|- vc a and 1 more like it: each 1 node, 8 GPU\n"
            "`- vc b: 2 nodes, 16 GPU\n",
            "equal ones apart are counted");
    cluster_destroy(c);
    cluster_file_done(&f);
}

int main(void)
{
    test_show();
    test_all_keys();
    test_type_spellings();
    test_labels();
    test_lists();
    test_runs();
    test_equal_texts();
    test_errors();
    test_folder();
    test_shipped();
    words_done(&words);
    return done_testing();
}
