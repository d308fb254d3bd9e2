/* test-cluster.c - nodes, devices and claims against a plain model
 *
 * The model keeps the list of claims and adds them up anew for each node after each
 * step; it shares nothing with the cluster but the descriptions. cluster_check looks at
 * the rest. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/rng.h"
#include "base/vec.h"
#include "nodes.h"
#include "tap.h"

static struct words words;
static struct arena arena;

enum { NODES = 24, STEPS = 6000 };

static struct {
    struct draft at[NODES]; /* what the world last said */
    bool here[NODES];
    uint32_t index[NODES];
    VEC(struct use) uses;
    struct device_type *types[3];
} model;

static bool clashes(const struct use *a, uint32_t device, uint32_t slice)
{
    return a->mode == USE_MIG && (a->devs >> device & 1) && (a->slices >> slice & 1);
}

/* What must be true of device j of the node, from the claims alone. Returns true if
 * over. */
static bool device_expect(struct cluster *c, const struct draft *f, uint32_t node,
                          uint32_t j)
{
    const struct device *d = &c->devices[c->nodes[node].device0 + j];
    const struct device_desc *desc = j < f->d.ndevices ? &f->dev[j] : NULL;
    int64_t milli = 1000,
            cap = desc ? desc->mem_bytes - desc->reserved_bytes : d->mem_cap;
    int64_t mem = cap, slices_over = 0;
    uint32_t n = 0, wholes = 0, cuts = 0, compute = 0;
    uint32_t free =
        desc && desc->type->mem_slices ? (1u << desc->type->mem_slices) - 1 : 0;
    uint32_t held[SLICES_MAX] = {0};
    for (uint32_t i = 0; i < model.uses.n; i++) {
        const struct use *u = &model.uses.at[i];
        if (u->node != node || !(u->devs >> j & 1))
            continue;
        n++;
        wholes += u->mode == USE_WHOLE;
        cuts += u->mode == USE_MIG;
        compute += u->mode == USE_MIG ? u->compute : 0;
        milli -= u->mode == USE_WHOLE ? 1000 : u->gpu_milli;
        mem -= u->mode == USE_WHOLE ? cap : u->gpu_mem_bytes;
        for (uint32_t s = 0; s < SLICES_MAX; s++)
            if (clashes(u, j, s)) {
                free &= ~(1u << s);
                slices_over += held[s]++ > 0;
            }
    }
    bool ok_ = d->nuses == n && d->free_milli == milli && d->mem_free == mem &&
               d->cut == cuts && d->wholes == wholes &&
               d->shared == (n > wholes + cuts);
    if (desc)
        ok_ = ok_ && d->slices_free == free &&
              d->compute_free == (int)desc->type->compute_slices - (int)compute;
    if (!ok_)
        bail("node %u device %u differs from the model", node, j);
    if (!n)
        return false;
    if (!desc || desc->state == DEVICE_GONE)
        return true;
    if (cuts)
        return cuts != n || slices_over || compute > desc->type->compute_slices;
    return milli < 0 || (cap && mem < 0) || (wholes && n > 1);
}

static void node_expect(struct cluster *c, uint32_t x)
{
    const struct draft *f = &model.at[x];
    uint32_t i = model.index[x];
    const struct node *n = &c->nodes[i];
    int64_t cpu = f->d.cpu_milli, mem = f->d.mem_bytes, nics = f->d.nics, slots,
            milli = 0;
    uint32_t uses = 0, by[10] = {0};
    slots = f->d.pod_slots ? (int64_t)f->d.pod_slots : INT32_MAX;
    for (uint32_t k = 0; k < model.uses.n; k++) {
        const struct use *u = &model.uses.at[k];
        if (u->node != i)
            continue;
        uses++;
        cpu -= u->cpu_milli;
        mem -= u->mem_bytes;
        slots -= u->slots;
        nics -= u->nics;
        int count = __builtin_popcountll(u->devs);
        by[u->mode == USE_WHOLE ? (count > 9 ? 9 : count) : 0] += u->mode != USE_NONE;
    }
    bool over = cpu < 0 || mem < 0 || slots < 0 || nics < 0;
    for (uint32_t j = 0; j < n->ndevices; j++) {
        over |= device_expect(c, f, i, j);
        if (j < f->d.ndevices && f->dev[j].state == DEVICE_OK)
            milli += c->devices[n->device0 + j].free_milli;
    }
    bool same = true;
    for (int k = 0; k < 10; k++)
        same = same && n->uses_by_gpus[k] == by[k];
    if (n->cpu_free != cpu || n->mem_free != mem || n->slots_free != slots ||
        n->nics_free != nics || n->nuses != uses || n->overcommitted != over ||
        n->gpu_free_milli != milli || !same)
        bail("node %s differs from the model", f->name);
}

static void draft_random(struct rng *r, struct draft *f, uint32_t x)
{
    char name[16];
    uint32_t count = (uint32_t)rng_below(r, 9);
    snprintf(name, sizeof name, "node%u", x);
    draft_init(f, name, model.types[rng_below(r, 3)], count);
    if (rng_below(r, 4) == 0)
        for (uint32_t j = 0; j < count; j++)
            f->dev[j].type = model.types[rng_below(r, 3)];
    for (uint32_t j = 0; j < count; j++) {
        f->dev[j].modes = f->dev[j].type->modes;
        f->dev[j].mem_bytes = f->dev[j].type->mem_bytes;
        f->dev[j].reserved_bytes = f->dev[j].mem_bytes ? INT64_C(1) << 29 : 0;
        f->dev[j].state = rng_below(r, 8) ? DEVICE_OK : (uint8_t)rng_below(r, 4);
    }
    f->d.pod_slots = rng_below(r, 2) ? 0 : 6;
    f->d.nics = 2;
    f->d.cpu_milli = 1000 * (int64_t)rng_below(r, 20);
    f->d.state = rng_below(r, 6) ? NODE_UP : (uint8_t)rng_below(r, 4);
    char rack[16], block[16];
    snprintf(rack, sizeof rack, "r%u", (unsigned)rng_below(r, 4));
    snprintf(block, sizeof block, "b%u", (unsigned)rng_below(r, 3));
    if (rng_below(r, 5))
        draft_place(f, &words, "block", block);
    if (rng_below(r, 5))
        draft_place(f, &words, "rack", rack);
}

static struct use use_random(struct rng *r, struct cluster *c, uint32_t x)
{
    uint32_t i = model.index[x];
    const struct node *n = &c->nodes[i];
    uint64_t all = node_devs(n);
    uint32_t j = n->ndevices ? (uint32_t)rng_below(r, n->ndevices) : 0;
    struct use u = {.node = i, .slots = 1, .cpu_milli = 500};
    if (!n->ndevices)
        return u;
    switch (rng_below(r, 4)) {
    case 0:
        u = use_whole(i, rng_u64(r) & all);
        u.nics = (uint32_t)rng_below(r, 2);
        break;
    case 1:
        u = use_share(i, rng_u64(r) & rng_u64(r) & all,
                      1 + (uint32_t)rng_below(r, 999));
        break;
    case 2: {
        const struct device *d = &c->devices[n->device0 + j];
        const struct device_type *t = cluster_type(c, d->type);
        if (t &&
            t->nprofiles) { /* a legal place or one that the world chose at random */
            const struct profile *p = &t->profiles[rng_below(r, t->nprofiles)];
            uint16_t at = device_mig_place(c, d, p->name, &p);
            if (!at && rng_below(r, 4) == 0)
                at = (uint16_t)((1u << p->slices) - 1);
            if (at)
                u = use_mig(i, j, at, p);
        }
        break;
    }
    default: /* only what is free */
        u = use_whole(i,
                      node_pick_whole(c, n, TYPE_ANY, 1 + (uint32_t)rng_below(r, 4)));
    }
    if (!u.devs)
        u.mode = USE_NONE;
    return u;
}

static void step(struct rng *r, struct cluster *c)
{
    uint32_t x = (uint32_t)rng_below(r, NODES), what = (uint32_t)rng_below(r, 100);
    if (!model.here[x] || what < 6) {
        draft_random(r, &model.at[x], x);
        bool was = model.here[x];
        uint32_t i = cluster_node_set(c, &model.at[x].d);
        if (was && i != model.index[x])
            bail("a node changed its index");
        model.index[x] = i;
        model.here[x] = true;
    } else if (what < 50) {
        struct use u = use_random(r, c, x);
        cluster_take(c, &u);
        vec_push(&model.uses, u);
    } else if (what < 90 && model.uses.n) {
        uint32_t k = (uint32_t)rng_below(r, model.uses.n);
        cluster_give(c, &model.uses.at[k]);
        model.uses.at[k] = model.uses.at[--model.uses.n];
    } else if (what < 94 && model.at[x].d.ndevices) {
        uint32_t j = (uint32_t)rng_below(r, model.at[x].d.ndevices);
        model.at[x].dev[j].state = (uint8_t)rng_below(r, 4);
        cluster_device_state(c, model.index[x], j, model.at[x].dev[j].state);
    } else if (what < 96) {
        cluster_node_state(c, model.index[x], (uint8_t)rng_below(r, 2));
        model.at[x].d.state = c->nodes[model.index[x]].state;
    } else if (what < 97) {
        cluster_node_cordon(c, model.index[x], rng_below(r, 2));
    } else if (what < 98) {
        cluster_node_unsynced(c, model.index[x], rng_below(r, 2));
    } else if (what < 99) {
        cluster_node_gone(c, model.index[x]); /* its claims may be given back later */
        model.here[x] = false;
    }
}

static void test_random(uint64_t seed)
{
    struct rng r;
    word_t levels[2] = {words_add(&words, STR("block")),
                        words_add(&words, STR("rack"))};
    struct cluster *c = cluster_create(&words);
    cluster_set_levels(c, levels, 2);
    rng_init(&r, seed, 1);
    memset(model.here, 0, sizeof model.here);
    vec_clear(&model.uses);
    for (int i = 0; i < STEPS; i++) {
        step(&r, c);
        if (rng_below(&r, 4)) /* else the lanes meet several changes at once */
            cluster_settle(c);
        cluster_check(c);
        for (uint32_t x = 0; x < NODES; x++)
            if (model.here[x])
                node_expect(c, x);
    }
    while (model.uses.n)
        cluster_give(c, &model.uses.at[--model.uses.n]);
    cluster_check(c);
    bool clean = true;
    for (uint32_t x = 0; x < NODES; x++)
        clean = clean && (!model.here[x] || c->nodes[model.index[x]].nuses == 0);
    ok(clean, "seed %u: %d steps as the model, all free at the end", (unsigned)seed,
       STEPS);
    cluster_destroy(c);
}

static void test_names(void)
{
    struct cluster *c = cluster_create(&words);
    struct draft f;
    draft_init(&f, "a", model.types[0], 8);
    uint32_t a = cluster_node_set(c, &f.d);
    draft_init(&f, "b", model.types[1], 4);
    uint32_t b = cluster_node_set(c, &f.d);
    is_int(cluster_find(c, STR("a")), a, "find a");
    is_int(cluster_find(c, STR("b")), b, "find b");
    is_int(cluster_find(c, STR("c")), NODE_NONE, "c is not known");
    is_int(c->gpu_cap_milli, 12000, "twelve GPUs");
    is_int(c->changed_head, b, "b changed last");
    cluster_node_cordon(c, a, true);
    is_int(c->changed_head, a, "now a did");
    is_int(c->nodes[a].changed_next, b, "b before");
    uint32_t v = c->nodes[a].version;
    cluster_node_gone(c, a);
    is_int(c->gpu_cap_milli, 4000, "four GPUs are left");
    is_int(cluster_find(c, STR("a")), NODE_NONE, "a is gone");
    draft_init(&f, "c", model.types[0], 8);
    is_int(cluster_node_set(c, &f.d), a, "c gets its index");
    cmp_ok(c->nodes[a].version, >, v, "with a version nobody has seen");
    struct use u = use_whole(b, 3);
    cluster_take(c, &u);
    cluster_node_gone(c, b);
    draft_init(&f, "d", model.types[0], 8);
    uint32_t d = cluster_node_set(c, &f.d);
    ok(d != b, "an index with a claim on it is not used again");
    cluster_give(c, &u);
    draft_init(&f, "e", model.types[0], 8);
    is_int(cluster_node_set(c, &f.d), b, "before the claim is given back");
    cluster_settle(c);
    cluster_check(c);
    cluster_destroy(c);
}

/* A GPU that is in use falls off the bus, the node is described without it, then with
 * it. */
static void test_shrink(void)
{
    struct cluster *c = cluster_create(&words);
    struct draft f;
    draft_init(&f, "a", model.types[0], 8);
    uint32_t a = cluster_node_set(c, &f.d);
    struct use u = use_whole(a, 0x81), v = use_share(a, 2, 300);
    cluster_take(c, &u);
    cluster_take(c, &v);
    f.d.ndevices = 4;
    cluster_node_set(c, &f.d);
    cluster_settle(c);
    cluster_check(c);
    const struct node *n = &c->nodes[a];
    is_int(n->ndevices, 8, "a device in use keeps its place");
    ok(n->overcommitted, "and the node is overcommitted");
    is_int(n->gpu_cap_milli, 4000, "its capacity is what is described");
    is_hex(n->whole_free, 0xc, "two are free");
    cluster_give(c, &u);
    ok(!c->nodes[a].overcommitted, "not when the claim is gone");
    f.d.ndevices = 8;
    f.dev[1].mem_bytes += INT64_C(8) << 30;
    cluster_node_set(c, &f.d);
    cluster_settle(c);
    is_hex(c->nodes[a].whole_free, 0xfd,
           "described again: free but for the shared one");
    const struct device *d = &c->devices[c->nodes[a].device0 + 1];
    is_int(d->mem_cap - d->mem_free, v.gpu_mem_bytes,
           "whose claim survived the change");
    cluster_give(c, &v);
    cluster_check(c);
    is_int(c->devices[c->nodes[a].device0 + 1].mem_free,
           c->devices[c->nodes[a].device0 + 1].mem_cap, "and is given back exactly");
    f.d.ndevices = 3;
    cluster_node_set(c, &f.d);
    is_int(c->nodes[a].ndevices, 3,
           "devices that nothing holds go when they are not described");
    cluster_destroy(c);
}

static void test_tags(void)
{
    struct cluster *c = cluster_create(&words);
    struct draft f;
    word_t x = words_add(&words, STR("x")), zone = words_add(&words, STR("zone"));
    struct node_part part = {zone, x};
    draft_init(&f, "a", model.types[0], 1);
    f.d.parts = &part;
    f.d.nparts = 1;
    uint32_t a = cluster_node_set(c, &f.d);
    is_int(cluster_part(c, a, zone), x, "zone of a is x");
    is_int(cluster_part(c, a, x), WORD_NONE, "no such key");
    ok(!cluster_has_tag(c, a, x), "no tag yet");
    bool all = true;
    for (word_t t = 1; t <= NODE_TAGS_MAX; t++)
        all = all && cluster_tag(c, a, t, true) && cluster_tag(c, a, t, true);
    ok(all, "%d tags fit, twice the same is one", NODE_TAGS_MAX);
    ok(!cluster_tag(c, a, NODE_TAGS_MAX + 1, true), "one more does not");
    ok(cluster_tag(c, a, 1, false) && !cluster_has_tag(c, a, 1), "a tag goes");
    ok(cluster_has_tag(c, a, 2) && cluster_has_tag(c, a, NODE_TAGS_MAX), "others stay");
    ok(node_desc_check(cluster_node_desc(c, a), NULL) == 0,
       "the kept one is still sound");
    cluster_destroy(c);
}

static void test_pick(void)
{
    struct cluster *c = cluster_create(&words);
    struct draft f;
    uint64_t rings[2] = {0x0f, 0xf0};
    draft_init(&f, "ring", model.types[2], 8);
    int n = rings_legal(rings, 2, f.legal, NODE_LEGAL_MAX);
    is_int(n, 32, "4+4 rings: 15 + 15 sets, their union, and nothing else");
    f.d.nlegal = (uint32_t)n;
    uint32_t a = cluster_node_set(c, &f.d);
    draft_init(&f, "island", model.types[0], 8);
    for (int i = 0; i < 8; i++)
        f.dev[i].island = (uint8_t)(i / 4);
    uint32_t b = cluster_node_set(c, &f.d);
    draft_init(&f, "mixed", model.types[0], 6);
    for (int i = 1; i < 6; i += 2)
        f.dev[i].type = model.types[1], f.dev[i].modes = model.types[1]->modes;
    uint32_t m = cluster_node_set(c, &f.d);
    cluster_settle(c);
    static const struct {
        int node;
        uint64_t taken;
        uint32_t k;
        uint64_t want;
    } rows[] = {
        {0, 0x00, 1, 0x01}, {0, 0x00, 4, 0x0f}, {0, 0x00, 8, 0xff}, {0, 0x00, 5, 0},
        {0, 0x01, 4, 0xf0}, {0, 0x13, 3, 0xe0}, {0, 0x13, 2, 0x0c}, {0, 0x33, 3, 0},
        {0, 0x11, 8, 0},    {1, 0x00, 2, 0x03}, {1, 0x07, 2, 0x30}, {1, 0x07, 5, 0xf8},
        {1, 0x07, 1, 0x08}, {1, 0x01, 4, 0xf0}, {1, 0x00, 6, 0x3f}, {1, 0x07, 6, 0},
        {2, 0x00, 2, 0x03}, {2, 0x01, 6, 0},    {2, 0x00, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t node = rows[i].node == 0 ? a : rows[i].node == 1 ? b : m;
        struct use u = use_whole(node, rows[i].taken);
        cluster_take(c, &u);
        is_hex(node_pick_whole(c, &c->nodes[node], TYPE_ANY, rows[i].k), rows[i].want,
               "node %d with %02x taken: %u devices", rows[i].node,
               (unsigned)rows[i].taken, rows[i].k);
        cluster_give(c, &u);
    }
    uint32_t t1 = cluster_type_id(c, model.types[1]->name);
    is_hex(node_pick_whole(c, &c->nodes[m], t1, 2), 0x0a, "two of the second type");
    is_hex(node_pick_whole(c, &c->nodes[m], t1, 4), 0, "not four");
    is_hex(node_pick_whole(c, &c->nodes[b], t1, 1), 0, "none where there is none");
    uint64_t one[1] = {0xff}, legal[NODE_LEGAL_MAX];
    is_int(rings_legal(one, 1, legal, NODE_LEGAL_MAX), -ERANGE,
           "a ring of 8: too many sets");
    cluster_destroy(c);
}

/* More GPU types than dense ids. */
static void test_many_types(void)
{
    struct cluster *c = cluster_create(&words);
    struct draft f;
    for (int i = 0; i < 70; i++) {
        char name[16];
        snprintf(name, sizeof name, "type%d", i);
        draft_init(&f, name, catalogue_type(&words, &arena, str_of(name)), 2);
        cluster_node_set(c, &f.d);
        cluster_settle(c);
        cluster_check(c);
    }
    is_int(cluster_type_id(c, words_find(&words, STR("type62"))), 62,
           "the 63rd has an id");
    is_int(cluster_type_id(c, words_find(&words, STR("type63"))), TYPE_ANY,
           "the 64th is not told apart");
    is_int(domain_count(c, 0, cluster_lane(c, TYPES_MAX - 1, 2)), 7,
           "seven nodes of such");
    cluster_destroy(c);
}

static void test_desc_check(void)
{
    struct draft f;
    struct device_type t = *model.types[0];
    struct err err;
#define refuse(what, ...)                                                            \
    do {                                                                             \
        draft_init(&f, "n", model.types[0], 2);                                      \
        t = *model.types[0];                                                         \
        __VA_ARGS__;                                                                 \
        memset(&err, 0, sizeof err);                                                 \
        ok(node_desc_check(&f.d, &err) < 0 && err.text[0], "refused: " what " (%s)", \
           err.text);                                                                \
    } while (0)
    draft_init(&f, "n", model.types[0], 2);
    ok(node_desc_check(&f.d, &err) == 0, "a sound node");
    refuse("no name", f.d.name = STR(""));
    refuse("negative CPU", f.d.cpu_milli = -1);
    refuse("too much memory", f.d.mem_bytes = INT64_MAX);
    refuse("bad state", f.d.state = 9);
    refuse("too many devices", f.d.ndevices = NODE_DEVICES_MAX + 1);
    refuse("no type", f.dev[1].type = NULL);
    refuse("mode beyond the type", f.dev[1].modes = 0x80);
    refuse("reserved more than there is", f.dev[0].reserved_bytes = INT64_C(1) << 50);
    refuse("legal set beyond the devices", f.legal[0] = 4, f.d.nlegal = 1);
    refuse("tag 0", f.d.ntags = 1);
    refuse("place twice", f.d.nplace = 2;
           f.place[0] = f.place[1] = (struct node_part){1, 1});
    refuse("profile past the end", static struct profile p; p = t.profiles[0];
           p.starts = 1 << 8; t.profiles = &p; t.nprofiles = 1; f.dev[0].type = &t);
}

int main(void)
{
    model.types[0] = catalogue_type(&words, &arena, STR("A100-40GB"));
    model.types[1] = catalogue_type(&words, &arena, STR("G2"));
    model.types[2] = catalogue_type(&words, &arena, STR("Ascend910B"));
    for (uint64_t seed = 1; seed <= 4; seed++)
        test_random(seed);
    test_names();
    test_shrink();
    test_tags();
    test_pick();
    test_many_types();
    test_desc_check();
    vec_done(&model.uses);
    words_done(&words);
    arena_done(&arena);
    return done_testing();
}
