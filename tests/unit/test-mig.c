/* test-mig.c - cutting devices: the catalogue's rows and where profiles can go
 * Expected places: NVIDIA MIG user guide and `nvidia-smi mig -lgipp`; C41 is a real
 * report (a set that adds up and cannot be placed). SPDX-License-Identifier: Apache-2.0
 */
#include "nodes.h"
#include "tap.h"

static struct words words;
static struct arena arena;

static word_t w(const char *z)
{
    return words_add(&words, str_of(z));
}

/* Place one profile on device 0 of the node. Returns the slice mask, 0: nowhere. */
static uint16_t cut(struct cluster *c, uint32_t node, const char *profile,
                    struct use *ret)
{
    const struct profile *p = NULL;
    const struct device *d = &c->devices[c->nodes[node].device0];
    uint16_t mask = device_mig_place(c, d, w(profile), &p);
    if (mask) {
        struct use u = use_mig(node, 0, mask, p);
        cluster_take(c, &u);
        cluster_check(c);
        if (ret)
            *ret = u;
    }
    return mask;
}

static struct cluster *one_node(const char *type, uint32_t *ret_node)
{
    struct cluster *c = cluster_create(&words);
    struct draft f;
    draft_init(&f, "n0", catalogue_type(&words, &arena, str_of(type)), 2);
    *ret_node = cluster_node_set(c, &f.d);
    cluster_settle(c);
    return c;
}

static void test_single(void)
{
    static const struct {
        const char *type, *profile;
        uint32_t mask, milli;
        int most; /* instances on one device: the guide's last column */
    } rows[] = {
        {"A100-40GB", "1g.5gb", 1 << 6, 142, 7},
        {"A100-40GB", "1g.10gb", 3 << 6, 142, 4},
        {"A100-40GB", "2g.10gb", 3 << 4, 285, 3},
        {"A100-40GB", "3g.20gb", 15 << 4, 428, 2},
        {"A100-40GB", "4g.20gb", 15, 571, 1},
        {"A100-40GB", "7g.40gb", 255, 1000, 1},
        {"A100-80GB", "1g.10gb", 1 << 6, 142, 7},
        {"A100-80GB", "3g.40gb", 15 << 4, 428, 2},
        {"A30", "1g.6gb", 1, 250, 4},
        {"A30", "2g.12gb", 3, 500, 2},
        {"A30", "4g.24gb", 15, 1000, 1},
        {"H100", "1g.20gb", 3 << 6, 142, 4},
        {"H100", "7g.80gb", 255, 1000, 1},
        {"H200", "2g.35gb", 3 << 4, 285, 3},
        {"H200", "3g.71gb", 15 << 4, 428, 2},
        {"B200", "1g.23gb", 1 << 6, 142, 7},
        {"B200", "4g.90gb", 15, 571, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t node;
        struct cluster *c = one_node(rows[i].type, &node);
        uint16_t first = cut(c, node, rows[i].profile, NULL);
        is_hex(first, rows[i].mask, "%s: first %s", rows[i].type, rows[i].profile);
        int n = first != 0;
        is_int(1000 - c->devices[0].free_milli, rows[i].milli,
               "  its part of the compute");
        while (cut(c, node, rows[i].profile, NULL))
            n++;
        is_int(n, rows[i].most, "  %d of them fit", rows[i].most);
        ok(!c->nodes[node].overcommitted, "  and the node is not overcommitted");
        is_hex(c->nodes[node].whole_free, 2, "  the cut device is not whole");
        cluster_destroy(c);
    }
}

/* kubernetes.md C41: seven compute slices and 40 GB are asked for, eleven memory slices
 * would be needed. */
static void test_c41(void)
{
    uint32_t node;
    struct cluster *c = one_node("A100-40GB", &node);
    for (int i = 0; i < 4; i++)
        ok(cut(c, node, "1g.10gb", NULL) != 0, "C41: 1g.10gb number %d", i + 1);
    is_int(c->devices[0].compute_free, 3, "three compute slices are left");
    is_hex(c->devices[0].slices_free, 0, "but no memory slice");
    is_hex(cut(c, node, "1g.5gb", NULL), 0, "so 1g.5gb cannot be placed");
    cluster_destroy(c);

    c = one_node("A100-40GB", &node);
    is_hex(cut(c, node, "3g.20gb", NULL), 0xf0, "C41: 3g.20gb goes to start 4");
    is_hex(cut(c, node, "4g.20gb", NULL), 0x0f, "so 4g.20gb still has its only start");
    is_hex(cut(c, node, "1g.5gb", NULL), 0, "then the device is full");
    cluster_destroy(c);

    c = one_node("A100-40GB", &node);
    struct use a, b;
    is_hex(cut(c, node, "3g.20gb", &a), 0xf0, "two 3g.20gb fit: one at 4");
    is_hex(cut(c, node, "3g.20gb", &b), 0x0f, "one at 0");
    is_int(c->devices[0].compute_free, 1, "one compute slice is left over");
    is_hex(cut(c, node, "1g.5gb", NULL), 0, "with no memory slice beside it");
    cluster_give(c, &a);
    is_hex(cut(c, node, "4g.20gb", NULL), 0, "4g.20gb needs start 0");
    is_hex(cut(c, node, "2g.10gb", NULL), 0x30, "2g.10gb takes 4 and 5");
    is_hex(cut(c, node, "1g.10gb", NULL), 0xc0, "1g.10gb takes 6 and 7");
    cluster_give(c, &b);
    cluster_check(c);
    cluster_destroy(c);
}

static void test_modes(void)
{
    uint32_t node;
    struct cluster *c = one_node("A100-40GB", &node);
    const struct profile *p;
    struct device *d = &c->devices[c->nodes[node].device0];
    struct use s = use_share(node, 1, 100), u;
    cluster_take(c, &s);
    is_hex(device_mig_place(c, d, w("1g.5gb"), &p), 0, "a shared device is not cut");
    cluster_give(c, &s);
    ok(device_mig_place(c, d, w("1g.5gb"), &p) != 0, "an empty one is");
    is_hex(device_mig_place(c, d, w("1g.6gb"), &p), 0, "not to another type's profile");
    cluster_device_state(c, node, 0, DEVICE_SUSPECT);
    is_hex(device_mig_place(c, d, w("1g.5gb"), &p), 0, "nor one in doubt");
    cluster_device_state(c, node, 0, DEVICE_OK);

    /* what the world does beyond the rules */
    cut(c, node, "4g.20gb", &u);
    cluster_take(c, &u);
    ok(c->nodes[node].overcommitted, "two instances on the same slices: overcommitted");
    cluster_check(c);
    cluster_give(c, &u);
    ok(!c->nodes[node].overcommitted, "no longer when one is gone");
    is_hex(d->slices_free, 0xf0, "the slices of the other are still held");
    cluster_take(c, &s);
    ok(c->nodes[node].overcommitted, "a share on a cut device: overcommitted");
    cluster_give(c, &s);
    cluster_give(c, &u);
    is_hex(d->slices_free, 0xff, "all is free at the end");
    is_hex(c->nodes[node].whole_free, 3, "and whole");
    cluster_check(c);
    cluster_destroy(c);
}

/* Slurm's gres names, NFD's nvidia.com/gpu.product and amd.com/gpu.product-name labels,
 * nvidia-smi's names, and the codes of public traces. */
static void test_canonical(void)
{
    static const char *const rows[][2] = {
        {"h100", "H100"},
        {"nvidia_h100_80gb_hbm3", "H100"},
        {"NVIDIA-H100-80GB-HBM3", "H100"},
        {"NVIDIA-H100-80GB-HBM3-SHARED", "H100"},
        {"NVIDIA A100-SXM4-40GB", "A100-40GB"},
        {"NVIDIA-A100-PCIE-40GB", "A100-40GB"},
        {"a100", "A100"},
        {"Tesla-T4", "T4"},
        {"tesla_v100-sxm2-32gb", "V100-32GB"},
        {"Tesla-V100-PCIE-16GB", "V100"},
        {"NVIDIA-GeForce-RTX-4090", "RTX4090"},
        {"AMD_Instinct_MI300X_OAM", "MI300X"},
        {"l40s", "L40S"},
        {"G1", "G1"},
        {"G2", "G2"},
        {"G3", "G3"},
        {"V100M16", "V100M16"},
        {"V100M32", "V100M32"},
        {"T4", "T4"},
        {"P100", "P100"},
        {"A10", "A10"},
        {"GPU-series-1", "GPU-series-1"},
        {"Frobnicator 9000", "Frobnicator 9000"},
        {"nvidia", "nvidia"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str name = catalogue_canonical(str_of(rows[i][0]));
        is_mem(name.ptr, name.len, rows[i][1], "'%s'", rows[i][0]);
    }
    ok(catalogue_same(STR("my-NPU"), STR("MY_npu")), "case and separators say nothing");
    ok(!catalogue_same(STR("NPU"), STR("NPU2")), "letters do");
}

static void test_catalogue(void)
{
    struct device_type *a =
        catalogue_type(&words, &arena, STR("NVIDIA A100-SXM4-80GB"));
    ok(a->modes & DEVICE_MIG && a->nprofiles == 6, "names as nvidia-smi prints them");
    is_mem(words_text(&words, a->name).ptr, words_text(&words, a->name).len,
           "NVIDIA A100-SXM4-80GB", "the type keeps the name it was asked by");
    a = catalogue_type(&words, &arena, STR("G2"));
    is_int(a->mem_bytes, 0, "openb's G2: memory unknown");
    is_int(a->modes, DEVICE_WHOLE | DEVICE_SHARE, "whole and shared");
    a = catalogue_type(&words, &arena, STR("Frobnicator 9000"));
    ok(a && !a->mem_bytes && !catalogue_has(STR("Frobnicator 9000")),
       "an unknown name works");
    ok(!catalogue_type(&words, &arena, STR("")), "no name does not");
    uint64_t rings[8];
    is_int(rings_of_board(catalogue_ring(STR("Ascend 910B")), 8, rings), 2,
           "an Ascend board has two rings");
    is_hex(rings[0] | rings[1] << 8, 0xf00f, "of four");
    is_int(rings_of_board(catalogue_ring(STR("H100")), 8, rings), 0, "an H100 board has none");
    for (uint32_t i = 0; i < catalogue_count(); i++) {
        int64_t mem;
        bool mig;
        struct str name = catalogue_name(i, &mem, &mig);
        struct device_type *t = catalogue_type(&words, &arena, name);
        struct draft f;
        struct err err = {0};
        draft_init(&f, "x", t, 8);
        bool good = node_desc_check(&f.d, &err) == 0 && mig == (t->nprofiles > 0);
        ok(good, "row " STR_FMT " is sound %s", STR_ARG(name), err.text);
    }
}

int main(void)
{
    test_single();
    test_c41();
    test_modes();
    test_canonical();
    test_catalogue();
    words_done(&words);
    arena_done(&arena);
    return done_testing();
}
