/* test-score.c - what fits, and what each scorer says of it
 *
 * Expected numbers are worked out by hand from the rules' definitions, or by another
 * way than the code's: exact fractions instead of doubles, libm's exp instead of
 * thresholds, all vertices of a small linear program instead of the simplex.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"
#include "nodes.h"
#include "sched/frag.h"
#include "sched/score_pack.h"
#include "sched/score_rules.h"
#include "tap.h"

#define GIB_BYTES (INT64_C(1) << 30)

static struct words words;
static struct arena arena;

static struct device_type *type(const char *name)
{
    return catalogue_type(&words, &arena, str_of(name));
}

static uint32_t node_add(struct cluster *c, const char *name, const char *gpu,
                         uint32_t n, int64_t cpu_milli, int64_t mem_gib)
{
    struct draft f;
    draft_init(&f, name, type(gpu), n);
    f.d.cpu_milli = cpu_milli;
    f.d.mem_bytes = mem_gib * GIB_BYTES;
    return cluster_node_set(c, &f.d);
}

/* CPU in milli, GPU milli of each of n devices. */
static struct shape shape_of(int64_t cpu, int64_t mem_gib, uint32_t n, uint32_t milli)
{
    struct shape s;
    memset(&s, 0, sizeof s);
    s.cpu_milli = cpu;
    s.mem_bytes = mem_gib * GIB_BYTES;
    s.pod_slots = 1;
    s.gpu_count = n;
    s.gpu_milli = n ? milli : 0;
    s.gpu_mode = !n ? GPU_NONE : milli == 1000 ? GPU_WHOLE : GPU_SHARE;
    return s;
}

static void shape_type(struct shape *s, const char *name)
{
    s->types[s->ntypes++].type = words_add(&words, str_of(name));
}

/* Take milli of a device, and CPU. */
static void occupy(struct cluster *c, uint32_t node, uint32_t dev, uint32_t milli,
                   int64_t cpu)
{
    struct use u = milli == 1000 ? use_whole(node, UINT64_C(1) << dev)
                                 : use_share(node, UINT64_C(1) << dev, milli);
    u.cpu_milli = cpu;
    u.slots = 0;
    u.mem_bytes = u.gpu_mem_bytes = 0;
    cluster_take(c, &u);
}

static int32_t ask(const char *scorer, struct cluster *c, struct mix *mix,
                   uint32_t node, const struct shape *s, struct use *use)
{
    struct scoring sc;
    struct use own;
    scoring_init(&sc, c, scorer_find(str_of(scorer)), mix, 1);
    scoring_era(&sc);
    int32_t score = score_node(&sc, node, s, score_types(c, s), 0, use ? use : &own);
    if (score != score_node(&sc, node, s, score_types(c, s), 0, NULL))
        bail("%s: another score when the devices are not wanted", scorer);
    scoring_done(&sc);
    return score;
}

static bool fits(const struct cluster *c, uint32_t node, const struct shape *s,
                 struct use *use)
{
    return score_fits(c, node, s, score_types(c, s), use);
}

static void test_fits(void)
{
    struct cluster *c = cluster_create(&words);
    struct draft f;
    struct use u;
    draft_init(&f, "n", type("A100"), 4);
    f.d.cpu_milli = 8000;
    f.d.mem_bytes = 16 * GIB_BYTES;
    f.d.pod_slots = 3;
    f.d.nics = 2;
    uint32_t n = cluster_node_set(c, &f.d);
    struct shape s = shape_of(8000, 16, 0, 0);
    ok(fits(c, n, &s, &u) && u.cpu_milli == 8000 && u.slots == 1 && !u.devs,
       "all of a node's CPU and memory fits");
    s = shape_of(8001, 1, 0, 0);
    ok(!fits(c, n, &s, NULL), "a milli-CPU too much does not");
    s = shape_of(1, 17, 0, 0);
    ok(!fits(c, n, &s, NULL), "nor memory");
    s = shape_of(1, 1, 0, 0);
    s.pod_slots = 4;
    ok(!fits(c, n, &s, NULL), "nor a fourth slot of three");
    s.pod_slots = 1;
    s.nics = 3;
    ok(!fits(c, n, &s, NULL), "nor a third NIC of two");
    s = shape_of(1, 1, 5, 1000);
    ok(!fits(c, n, &s, NULL), "nor five GPUs of four");
    s = shape_of(1, 1, 2, 1000);
    shape_type(&s, "T4");
    ok(!fits(c, n, &s, NULL), "nor GPUs of another type");
    shape_type(&s, "A100");
    ok(fits(c, n, &s, &u) && u.devs == 3 && u.mode == GPU_WHOLE,
       "either of two types will do; the lowest devices are taken");

    occupy(c, n, 0, 300, 0);
    occupy(c, n, 1, 600, 0);
    occupy(c, n, 3, 1000, 0);
    s = shape_of(1, 1, 1, 400);
    ok(fits(c, n, &s, &u) && u.devs == 2, "a share goes on the tightest device");
    s = shape_of(1, 1, 1, 401);
    ok(fits(c, n, &s, &u) && u.devs == 1, "... on which it fits");
    s = shape_of(1, 1, 2, 500);
    ok(fits(c, n, &s, &u) && u.devs == 5, "two shares take two devices");
    s = shape_of(1, 1, 2, 1000);
    ok(!fits(c, n, &s, NULL), "one whole GPU is left, two are not");
    s = shape_of(1, 1, 1, 100);
    s.gpu_mem_bytes = c->devices[c->nodes[n].device0].mem_free + 1;
    occupy(c, n, 2, 10, 0);
    ok(!fits(c, n, &s, NULL), "a share needs its bytes as well");
    s.gpu_mem_bytes--;
    ok(fits(c, n, &s, &u) && u.gpu_mem_bytes == s.gpu_mem_bytes, "... and takes them");
    cluster_node_cordon(c, n, true);
    ok(!fits(c, n, &s, NULL), "nothing goes on a cordoned node");
    cluster_node_cordon(c, n, false);
    cluster_device_state(c, n, 0, DEVICE_BAD);
    s = shape_of(1, 1, 1, 700);
    ok(fits(c, n, &s, &u) && u.devs == 4, "nor on a bad device");
    cluster_destroy(c);
}

static void test_fits_sets(void)
{
    struct cluster *c = cluster_create(&words);
    struct draft f;
    struct use u;
    draft_init(&f, "rings", type("A100"), 8);
    f.legal[0] = 0x0f;
    f.legal[1] = 0xf0;
    f.d.nlegal = 2;
    uint32_t n = cluster_node_set(c, &f.d);
    struct shape s = shape_of(1, 1, 4, 1000);
    occupy(c, n, 1, 1000, 0);
    ok(fits(c, n, &s, &u) && u.devs == 0xf0, "four go on the ring that is free");
    occupy(c, n, 7, 100, 0);
    ok(!fits(c, n, &s, NULL), "six free GPUs, but no free ring");

    draft_init(&f, "mixed", type("A100"), 4);
    f.dev[0].type = f.dev[1].type = type("T4");
    f.dev[0].modes = f.dev[1].modes = DEVICE_WHOLE | DEVICE_SHARE;
    n = cluster_node_set(c, &f.d);
    s = shape_of(1, 1, 2, 1000);
    shape_type(&s, "A100");
    ok(fits(c, n, &s, &u) && u.devs == 0xc, "the devices of the type on a mixed node");
    s = shape_of(1, 1, 3, 1000);
    shape_type(&s, "A100");
    ok(!fits(c, n, &s, NULL), "three of the type are not there");
    s.gpu_count = 1;
    s.gpu_mode = GPU_SHARE;
    s.gpu_milli = 10;
    ok(fits(c, n, &s, &u) && u.devs == 4, "a share looks at the type of each device");

    s = shape_of(1, 1, 1, 143);
    s.gpu_mode = GPU_MIG;
    s.profile = words_add(&words, STR("1g.10gb"));
    ok(fits(c, n, &s, &u) && u.devs == 4 && __builtin_popcount(u.slices) == 1 &&
           u.compute == 1,
       "a slice of the first device that can be cut");
    cluster_take(c, &u);
    occupy(c, n, 3, 100, 0);
    ok(fits(c, n, &s, &u) && u.devs == 4, "the next one beside it");
    s = shape_of(1, 1, 1, 100);
    shape_type(&s, "A100");
    ok(fits(c, n, &s, &u) && u.devs == 8, "no share on a device that is cut");
    cluster_destroy(c);
}

/* floor(100 (1 - (a + b) / 2)) with a = cpu/128000, b = gpu/8000, in fractions. edge:
 * the exact value is an integer, where doubles may fall to either side. */
static int32_t best_fit_exact(int64_t cpu, int64_t gpu, bool *edge)
{
    int64_t whole = INT64_C(2) * 128000 * 8000;
    int64_t part = 100 * (whole - cpu * 8000 - gpu * 128000);
    *edge = part % whole == 0;
    return (int32_t)(part / whole);
}

static int32_t dot_product_exact(int64_t cpu, int64_t want_cpu, int64_t gpu,
                                 int64_t want_gpu, bool *edge)
{
    __int128 c2 = (__int128)128000 * 128000, g2 = (__int128)8000 * 8000,
             whole = 2 * c2 * g2;
    __int128 part =
        100 * (whole - (__int128)cpu * want_cpu * g2 - (__int128)gpu * want_gpu * c2);
    *edge = part % whole == 0;
    return (int32_t)(part / whole);
}

static void test_published(void)
{
    struct cluster *c = cluster_create(&words);
    uint32_t n = node_add(c, "n", "T4", 8, 96000, 384);
    struct shape s = shape_of(8000, 1, 1, 1000);
    /* 88 of 128 cores and 7 of 8 GPUs stay: 1 - .34375 - .4375 = .21875 */
    is_int(ask("bestfit", c, NULL, n, &s, NULL), 21, "bestfit by hand");
    /* .75 x .0625 + 1 x .125 = .171875; half of it from 1: .9140625 */
    is_int(ask("dotprod", c, NULL, n, &s, NULL), 91, "dotprod by hand");
    struct rng r;
    rng_init(&r, 1, 1);
    uint32_t wrong = 0, edges = 0;
    for (int i = 0; i < 3000; i++) {
        bool edge1, edge2;
        int64_t taken = rng_between(&r, 0, 80) * 1000;
        uint32_t milli = (uint32_t)rng_between(&r, 1, 99) * 10;
        struct use u = {.node = n,
                        .mode = USE_SHARE,
                        .devs = 1,
                        .gpu_milli = milli,
                        .cpu_milli = taken};
        cluster_take(c, &u);
        s = shape_of(rng_between(&r, 0, 16) * 1000, 0, (uint32_t)rng_between(&r, 0, 7),
                     1000);
        int64_t cpu = 96000 - taken, gpu = 8000 - milli, want = s.gpu_count * 1000;
        int32_t best = best_fit_exact(cpu - s.cpu_milli, gpu - want, &edge1);
        int32_t dot = dot_product_exact(cpu, s.cpu_milli, gpu, want, &edge2);
        wrong += !edge1 && ask("bestfit", c, NULL, n, &s, NULL) != best;
        wrong += !edge2 && ask("dotprod", c, NULL, n, &s, NULL) != dot;
        edges += edge1 + edge2;
        cluster_give(c, &u);
    }
    is_uint(wrong, 0, "bestfit and dotprod are the fractions' floors (3,000 states)");
    ok(edges < 3000, "... few of which were too near to tell (%u of 6,000)", edges);
    cluster_destroy(c);
}

static void test_packing(void)
{
    struct cluster *c = cluster_create(&words);
    uint32_t n = node_add(c, "n", "T4", 8, 96000, 384),
             m = node_add(c, "m", "T4", 2, 96000, 384);
    struct shape none = shape_of(1000, 1, 0, 0), half = shape_of(1000, 1, 1, 500),
                 two = shape_of(1000, 1, 2, 1000);
    is_int(ask("gpu-packing", c, NULL, n, &none, NULL), 0,
           "gpu-packing: CPU-only tasks: 0");
    is_int(ask("gpu-packing", c, NULL, n, &half, NULL), 25, "empty node of 8: 33 - 8");
    is_int(ask("gpu-packing", c, NULL, m, &two, NULL), 31, "empty node of 2: 33 - 2");
    occupy(c, n, 3, 300, 0);
    is_int(ask("gpu-packing", c, NULL, n, &half, NULL), 93,
           "a used GPU with 700 left: 100 - 70 / 10");
    is_int(ask("gpu-packing", c, NULL, n, &two, NULL), 48,
           "two free GPUs of a used node");
    struct shape big = shape_of(1000, 1, 1, 800);
    is_int(ask("gpu-packing", c, NULL, n, &big, NULL), 49,
           "no used GPU has room: one free");

    is_int(ask("gpu-clustering", c, NULL, m, &two, NULL), 43,
           "clustering: an empty node of 2: 25 x 6000/8000 is 18, + 25");
    is_int(ask("gpu-clustering", c, NULL, n, &half, NULL), 75,
           "a node of shares alone: 25 x 300/8000 is 0, + 75");
    is_int(ask("gpu-clustering", c, NULL, n, &two, NULL), 0, "a node of other kinds");
    struct use u = use_whole(n, 0x60);
    cluster_take(c, &u);
    is_int(ask("gpu-clustering", c, NULL, n, &two, NULL), 57,
           "shares and pairs: 25 x 2300/8000 is 7, + 50");
    is_int(ask("gpu-clustering", c, NULL, n, &none, NULL), 0, "CPU-only tasks: 0");
    cluster_destroy(c);
}

/* The two nodes of kube-scheduler's own least_allocated_test.go and
 * most_allocated_test.go
 * ("nothing scheduled, resources requested, differently sized nodes"): 4000/10000 and
 * 6000/10000, a pod of 3000/5000. */
static void test_kube(void)
{
    struct cluster *c = cluster_create(&words);
    struct draft f;
    draft_init(&f, "kube1", NULL, 0);
    f.d.cpu_milli = 4000;
    f.d.mem_bytes = 10000 << 10;
    uint32_t a = cluster_node_set(c, &f.d);
    draft_init(&f, "kube2", NULL, 0);
    f.d.cpu_milli = 6000;
    f.d.mem_bytes = 10000 << 10;
    uint32_t b = cluster_node_set(c, &f.d);
    struct shape s = shape_of(3000, 0, 0, 0);
    s.mem_bytes = 5000 << 10;
    is_int(ask("least-allocated", c, NULL, a, &s, NULL), 37,
           "LeastAllocated: (25 + 50) / 2");
    is_int(ask("least-allocated", c, NULL, b, &s, NULL), 50, "(50 + 50) / 2");
    is_int(ask("most-allocated", c, NULL, a, &s, NULL), 62,
           "MostAllocated: (75 + 50) / 2");
    is_int(ask("most-allocated", c, NULL, b, &s, NULL), 50, "(50 + 50) / 2");
    uint32_t g = node_add(c, "gpu", "T4", 8, 64000, 256);
    s = shape_of(16000, 64, 6, 1000);
    is_int(ask("most-allocated", c, NULL, g, &s, NULL), 55, "(25 + 25 + 3 x 75) / 5");
    is_int(ask("least-allocated", c, NULL, g, &s, NULL), 75,
           "GPUs are not among the default");
    is_int(ask("first", c, NULL, g, &s, NULL), 0, "first: all the same");
    occupy(c, g, 0, 1000, 0);
    is_int(ask("fewest-free", c, NULL, g, &s, NULL), -7, "fewest-free: seven are free");
    is_int(ask("most-free", c, NULL, g, &s, NULL), 7, "most-free wants the other end");
    cluster_destroy(c);
}

static void test_random(void)
{
    struct cluster *c = cluster_create(&words);
    uint32_t wins[4] = {0};
    char name[16];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "n%d", i);
        node_add(c, name, "T4", 1, 64000, 64);
    }
    cluster_settle(c);
    for (uint64_t serial = 0; serial < 4000; serial++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < 4; i++)
            if (score_shuffle(9, serial, i) > score_shuffle(9, serial, best))
                best = i;
        wins[best]++;
    }
    /* binomial, sd 27 */
    for (int i = 0; i < 4; i++)
        is_near(wins[i], 1000, 130, "random: node %d is drawn as often as any", i);
    ok(score_shuffle(9, 5, 1) == score_shuffle(9, 5, 1) &&
           score_shuffle(9, 5, 1) != score_shuffle(10, 5, 1),
       "... the same for the same seed, another for another");
    cluster_destroy(c);
}

static void test_sigmoid(void)
{
    struct rng r;
    uint32_t wrong = 0;
    rng_init(&r, 2, 2);
    for (int i = 0; i < 200000; i++) {
        double x = rng_unit(&r) * 20 - 10;
        wrong += fgd_sigmoid(x) != (int32_t)(100 * (1 / (1 + exp(-x))));
    }
    is_uint(wrong, 0, "the thresholds are libm's sigmoid at 200,000 random places");
    for (int s = 1; s < 100; s++) {
        double x = log((double)s / (100 - s));
        for (int k = 0; k < 50; k++)
            x = nextafter(x, -100);
        for (int k = 0; k < 100; k++, x = nextafter(x, 100))
            wrong += fgd_sigmoid(x) != (int32_t)(100 * (1 / (1 + exp(-x))));
    }
    is_uint(wrong, 0, "... and at the 100 doubles around each threshold");
    is_int(fgd_sigmoid(0), 50, "no growth: 50");
    is_int(fgd_sigmoid(-1e-17), 50, "a growth of dust is none");
    is_int(fgd_sigmoid(-1e-15), 49, "a growth of more than dust is one");
}

/* 5 x (1 core, 500 milli), 3 x (4 cores, 1 GPU), 2 x (2 cores, no GPU): .5, .3, .2 */
static void mix_three(struct mix *m)
{
    struct shape a = shape_of(1000, 0, 1, 500), b = shape_of(4000, 0, 1, 1000),
                 d = shape_of(2000, 0, 0, 0);
    mix_add(m, &a, 5);
    mix_add(m, &b, 3);
    mix_add(m, &d, 2);
    mix_settle(m, &words, 1000);
}

static void test_frag(void)
{
    struct cluster *c = cluster_create(&words);
    struct mix mix = {0};
    struct use u;
    mix_three(&mix);
    uint32_t n = node_add(c, "n", "T4", 2, 3000, 64);
    occupy(c, n, 0, 700, 0);
    mix_bind(&mix, c);
    /* 1,300 idle, 3 cores. Half GPU: 300 too small: .5 x 300. Whole GPU: too little
     * CPU: .3 x 1300. CPU only: .2 x 1300. */
    is_near(frag_node(c, &mix, n), 800, 1e-9, "F by hand: 150 + 390 + 260");
    struct frag *f = frag_create(c, &mix);
    is_near(frag_after(f, n, 2000, 2, 500), 550, 1e-9,
            "300 and 500 left, 1 core: .5 x 300 + .3 x 800 + .2 x 800");
    frag_destroy(f);
    struct shape s = shape_of(0, 0, 1, 300);
    /* on the 300: 1,000 idle: 0 + 300 + 200 = 500; on the free one, 300 and 700 left:
     * .5 x 300 + (no whole GPU) 300 + 200 = 650: x = .3 and .15 */
    is_int(ask("fgd", c, &mix, n, &s, &u), 57, "FGD: 100 / (1 + e^-.3)");
    is_hex(u.devs, 1, "... on the device that is filled");
    s = shape_of(0, 0, 0, 0);
    is_int(ask("fgd", c, &mix, n, &s, &u), 50, "nothing taken, nothing grows");
    s = shape_of(2000, 0, 0, 0);
    /* 1 core left: half GPU 150, whole 390, CPU only cannot either: 260: the same F */
    is_int(ask("fgd", c, &mix, n, &s, &u), 50, "two cores less change no share here");
    s = shape_of(2500, 0, 0, 0);
    /* half a core: nothing fits, all 1,300 idle: x = -.5 */
    is_int(ask("fgd", c, &mix, n, &s, &u), 37, "100 / (1 + e^.5)");
    mix_done(&mix);
    cluster_destroy(c);
}

/* F x all, in integers, straight from the definition. */
static int64_t frag_exact(const struct cluster *c, const struct mix *mix, uint32_t node)
{
    const struct node *n = &c->nodes[node];
    int64_t sum = 0;
    for (uint32_t k = 0; k < mix->items.n; k++) {
        const struct mix_item *m = &mix->items.at[k];
        int64_t idle = 0, useless = 0;
        uint32_t have = 0;
        for (uint32_t i = 0; i < n->ndevices; i++) {
            const struct device *d = &c->devices[n->device0 + i];
            if (!(n->healthy >> i & 1))
                continue;
            bool good =
                (m->types >> d->type & 1) && d->free_milli >= (int32_t)m->gpu_milli;
            idle += d->free_milli;
            useless += good ? 0 : d->free_milli;
            have += good;
        }
        bool can = m->gpu_count && have >= m->gpu_count && n->cpu_free >= m->cpu_milli;
        sum += (int64_t)m->count * (can ? useless : idle);
    }
    return sum;
}

static struct shape shape_random(struct rng *r)
{
    static const uint32_t millis[] = {1000, 1000, 810, 470, 320, 160};
    uint32_t milli = millis[rng_below(r, 6)];
    uint32_t n = milli == 1000 ? (uint32_t)rng_below(r, 5) : 1;
    struct shape s = shape_of(rng_between(r, 0, 20) * 700, 0, n, milli);
    if (n && rng_below(r, 3) == 0)
        shape_type(&s, rng_below(r, 2) ? "T4" : "A100");
    return s;
}

static void test_frag_memo(void)
{
    struct cluster *c = cluster_create(&words);
    struct mix mix = {0};
    struct rng r;
    uint32_t off = 0, differ = 0, total_off = 0, takes = 0;
    rng_init(&r, 3, 3);
    for (int i = 0; i < 40; i++) {
        struct shape s = shape_random(&r);
        mix_add(&mix, &s, 1 + rng_below(&r, 30));
    }
    mix_settle(&mix, &words, MIX_COVER_PERMILLE);
    for (int i = 0; i < 12; i++) {
        struct draft d;
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        draft_init(&d, name, type(i % 2 ? "T4" : "A100"), (uint32_t)i % 9);
        if (i % 5 == 0 && i)
            d.dev[0].type = type("V100");
        d.d.cpu_milli = 40000;
        cluster_node_set(c, &d.d);
    }
    cluster_settle(c);
    struct frag *f = frag_create(c, &mix);
    for (int step = 0; step < 600; step++) {
        uint32_t node = (uint32_t)rng_below(&r, 12);
        struct shape s = shape_random(&r);
        struct use u;
        double after = -1, sum = 0;
        if (fits(c, node, &s, &u)) {
            after = frag_after(f, node, u.cpu_milli, u.devs, u.gpu_milli);
            cluster_take(c, &u);
            takes++;
        }
        if (after >= 0)
            differ += after != frag_node(c, &mix, node);
        differ += frag_of(f, node) != frag_node(c, &mix, node);
        double exact = (double)frag_exact(c, &mix, node) / (double)mix.covered;
        off += fabs(frag_of(f, node) - exact) > 1e-6;
        if (step == 200)
            cluster_node_state(c, 5, NODE_DOWN);
        if (step == 300)
            cluster_device_state(c, 7, 2, DEVICE_BAD);
        if (step == 400)
            mix_settle(&mix, &words, 600);
        for (uint32_t i = 0; i < 12; i++)
            sum += node_is_usable(&c->nodes[i]) ? frag_node(c, &mix, i) : 0;
        double total = frag_total(f);
        total_off += fabs(total - sum) > 1e-6;
    }
    ok(takes > 40, "%u claims were placed", takes);
    is_uint(off, 0, "F is the definition's, in fractions");
    is_uint(differ, 0, "F by memo is F to the last bit, before and after");
    is_uint(total_off, 0, "the kept sum is the sum");
    frag_destroy(f);
    mix_done(&mix);
    cluster_destroy(c);
}

/* Best of max sum demand x price over all vertices, for two sizes a > b: every pattern
 * (i, j) with a i + b j <= 1000 demands i x + j y <= 1. */
static double price_two(int a, int b, double na, double nb)
{
    double best = 0;
    int pi[2000], pj[2000], n = 0;
    for (int i = 0; a * i <= 1000; i++) {
        pi[n] = i;
        pj[n++] = (1000 - a * i) / b;
    }
    for (int p = 0; p <= n; p++) /* p == n: the axis x = 0 */
        for (int q = 0; q <= n; q++) {
            double i1 = p < n ? pi[p] : 1, j1 = p < n ? pj[p] : 0, c1 = p < n;
            double i2 = q < n ? pi[q] : 0, j2 = q < n ? pj[q] : 1, c2 = q < n;
            double det = i1 * j2 - i2 * j1;
            if (fabs(det) < 1e-12)
                continue;
            double x = (c1 * j2 - c2 * j1) / det, y = (i1 * c2 - i2 * c1) / det;
            bool legal = x > -1e-12 && y > -1e-12;
            for (int k = 0; k < n && legal; k++)
                legal = pi[k] * x + pj[k] * y <= 1 + 1e-12;
            if (legal && na * x + nb * y > best)
                best = na * x + nb * y;
        }
    return best;
}

static void test_prices(void)
{
    struct rng r;
    uint32_t wrong = 0, unfair = 0;
    rng_init(&r, 4, 4);
    for (int t = 0; t < 300; t++) {
        struct mix mix = {0};
        struct pack_sizes sizes;
        double best[1001];
        int b = (int)rng_between(&r, 5, 60) * 10,
            a = b + (int)rng_between(&r, 1, 39) * 10;
        struct shape sa = shape_of(0, 0, 1, (uint32_t)a),
                     sb = shape_of(0, 0, 1, (uint32_t)b);
        uint64_t na = 1 + rng_below(&r, 100), nb = 1 + rng_below(&r, 100);
        mix_add(&mix, &sa, na);
        mix_add(&mix, &sb, nb);
        mix_settle(&mix, &words, 1000);
        pack_price(&mix, &sizes);
        pack_knapsack(&sizes, best);
        double value = (double)na * sizes.price[0] + (double)nb * sizes.price[1];
        wrong += fabs(value - price_two(a, b, (double)na, (double)nb)) > 1e-6;
        unfair += best[1000] > 1 + 1e-8;
        mix_done(&mix);
    }
    is_uint(wrong, 0, "prices of two sizes: the best vertex of their linear program");
    is_uint(unfair, 0, "no filling of a GPU is worth more than the GPU");

    struct mix mix = {0};
    struct shape six = shape_of(0, 0, 1, 600), four = shape_of(0, 0, 1, 400);
    struct pack_sizes sizes;
    mix_add(&mix, &six, 10);
    mix_add(&mix, &four, 5);
    mix_settle(&mix, &words, 1000);
    pack_price(&mix, &sizes);
    is_near(sizes.price[0], 1, 1e-9, "ten of 600, five of 400: each 600 costs a GPU");
    is_near(sizes.price[1], 0, 1e-9, "... and a 400 nothing");
    mix_add(&mix, &four, 20);
    mix_settle(&mix, &words, 1000);
    pack_price(&mix, &sizes);
    is_near(sizes.price[0], .5, 1e-9, "more 400s than gaps: 600 costs a half,");
    is_near(sizes.price[1], .5, 1e-9, "400 too");
    mix_done(&mix);
}

static void test_pack(void)
{
    struct cluster *c = cluster_create(&words);
    struct mix mix = {0};
    struct use u;
    struct shape six = shape_of(4000, 0, 1, 600), four = shape_of(4000, 0, 1, 400),
                 one = shape_of(4000, 0, 1, 1000), cpu = shape_of(30000, 0, 0, 0);
    mix_add(&mix, &six, 10);
    mix_add(&mix, &four, 20);
    mix_add(&mix, &one, 10);
    mix_settle(&mix, &words, 1000);
    uint32_t fresh = node_add(c, "fresh", "T4", 4, 64000, 256);
    uint32_t used = node_add(c, "used", "T4", 4, 64000, 256);
    occupy(c, used, 2, 600, 0);
    ok(ask("pack", c, &mix, used, &four, &u) > ask("pack", c, &mix, fresh, &four, NULL),
       "400 beside 600 rather than on a new GPU");
    is_hex(u.devs, 4, "... on that very device");
    ok(ask("pack", c, &mix, fresh, &one, NULL) < ask("pack", c, &mix, used, &one, NULL),
       "a whole GPU where less stays free");
    uint32_t poor = node_add(c, "poor", "T4", 4, 40000, 256);
    ok(ask("pack", c, &mix, poor, &cpu, NULL) < ask("pack", c, &mix, fresh, &cpu, NULL),
       "CPU is not taken where GPUs would starve");
    ok(ask("pack", c, &mix, used, &six, &u) != SCORE_NONE && u.devs == 1,
       "600 does not fit beside 600");

    /* Two types; a third of the demand insists on T4: who takes any type avoids it. */
    uint32_t other = node_add(c, "other", "V100", 4, 64000, 256);
    struct shape picky = one;
    shape_type(&picky, "T4");
    mix_add(&mix, &picky, 20);
    mix_settle(&mix, &words, 1000);
    ok(ask("pack", c, &mix, other, &one, NULL) >
           ask("pack", c, &mix, fresh, &one, NULL),
       "a task that takes any type leaves the wanted type alone");
    mix_bind(&mix, c);
    int64_t pull[TYPES_MAX];
    pack_pull(&mix, c, pull);
    /* demand x 1000: 6 + 8 + 10 + 20 = 44; T4 is named by 20 on 12 of 16 GPUs */
    is_near((double)pull[c->nodes[fresh].type] / 65536, 20. / 12 / (44. / 16), 1e-4,
            "pull: 20 wanted on 12, over 44 on 16");
    is_int(pull[c->nodes[other].type], 0, "nobody names the other type");
    mix_done(&mix);
    cluster_destroy(c);
}

int main(void)
{
    test_fits();
    test_fits_sets();
    test_published();
    test_packing();
    test_kube();
    test_random();
    test_sigmoid();
    test_frag();
    test_frag_memo();
    test_prices();
    test_pack();
    ok(!scorer_find(STR("best")) && scorer_find(STR("fgd")),
       "scorers go by whole names");
    arena_done(&arena);
    words_done(&words);
    return done_testing();
}
