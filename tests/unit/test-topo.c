/* test-topo.c - the tree: order, domains, and what the lanes answer, against plain
 * loops SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"
#include "base/vec.h"
#include "nodes.h"
#include "tap.h"

static struct words words;
static struct arena arena;
static struct device_type *h100, *g2;

static word_t w(const char *z)
{
    return words_add(&words, str_of(z));
}

static uint32_t add(struct cluster *c, const char *name, const struct device_type *t,
                    uint32_t n, const char *block, const char *rack)
{
    struct draft f;
    draft_init(&f, name, t, n);
    if (block)
        draft_place(&f, &words, "block", block);
    if (rack)
        draft_place(&f, &words, "rack", rack);
    return cluster_node_set(c, &f.d);
}

static struct cluster *two_levels(void)
{
    struct cluster *c = cluster_create(&words);
    word_t levels[2] = {w("block"), w("rack")};
    cluster_set_levels(c, levels, 2);
    return c;
}

/* Names in rank order, "block/rack/node ..." */
static const char *order_text(const struct cluster *c)
{
    static char out[1024];
    size_t n = 0;
    for (uint32_t r = 0; r < c->nranks; r++) {
        uint32_t i = c->order[r];
        const struct domain *rack = &c->domains[c->nodes[i].domain];
        struct str a = words_text(&words, c->domains[rack->parent].name);
        struct str b = words_text(&words, rack->name), s = cluster_node_name(c, i);
        n += (size_t)snprintf(out + n, sizeof out - n,
                              "%s" STR_FMT "/" STR_FMT "/" STR_FMT, r ? " " : "",
                              STR_ARG(a), STR_ARG(b), STR_ARG(s));
    }
    return out;
}

static void test_order(void)
{
    struct cluster *c = two_levels();
    w("zz"); /* ids say nothing about the order */
    add(c, "n10", h100, 8, "b1", "r1");
    add(c, "n9", h100, 8, "b1", "r1");
    add(c, "n1", h100, 8, "b0", "zz");
    add(c, "n2", h100, 8, "b0", "aa");
    add(c, "N3", h100, 8, "b0", "aa");
    add(c, "stray", h100, 8, NULL, NULL);
    add(c, "half", h100, 8, NULL, "r1");
    cluster_settle(c);
    cluster_check(c);
    is_str(order_text(c),
           "//stray /r1/half b0/aa/N3 b0/aa/n2 b0/zz/n1 b1/r1/n10 b1/r1/n9",
           "byte order on each level, nodes without a place first");
    is_int(c->ndomains, 1 + 3 + 5, "a root, three blocks, five racks");
    is_int(cluster_level_depth(c, w("block")), 1, "block is level 1");
    is_int(cluster_level_depth(c, w("rack")), 2, "rack is level 2");
    is_int(cluster_level_depth(c, w("node")), 3, "then the nodes");
    is_int(cluster_level_depth(c, w("cluster")), 0, "the whole is level 0");
    is_int(cluster_level_depth(c, w("row")), -1, "row is none");
    uint32_t n1 = cluster_find(c, STR("n1")), n2 = cluster_find(c, STR("n2"));
    uint32_t n9 = cluster_find(c, STR("n9"));
    is_int(c->domains[cluster_domain(c, 1, n1)].name, w("b0"), "n1 is in b0");
    is_int(cluster_common(c, c->nodes[n1].domain, c->nodes[n2].domain),
           cluster_domain(c, 1, n1), "n1 and n2 share block b0");
    is_int(cluster_common(c, c->nodes[n1].domain, c->nodes[n9].domain), 0,
           "n1 and n9 only the root");
    is_int(cluster_common(c, cluster_domain(c, 1, n1), c->nodes[n2].domain),
           cluster_domain(c, 1, n1), "a domain and one inside it");

    /* a node moves; the levels change */
    add(c, "n9", h100, 8, "b0", "aa");
    ok(c->stale, "a moved node makes the tree stale");
    cluster_settle(c);
    cluster_check(c);
    is_str(order_text(c),
           "//stray /r1/half b0/aa/N3 b0/aa/n2 b0/aa/n9 b0/zz/n1 b1/r1/n10",
           "n9 moved");
    add(c, "n9", h100, 8, "b0", "aa");
    ok(!c->stale, "told twice, nothing moves");
    cluster_node_gone(c, cluster_find(c, STR("n10")));
    cluster_settle(c);
    cluster_check(c);
    is_int(c->ndomains, 1 + 2 + 4, "b1 and its rack went with their last node");
    cluster_set_levels(c, NULL, 0);
    cluster_settle(c);
    cluster_check(c);
    is_int(c->ndomains, 1, "without levels there is one domain");
    is_int(c->nranks, 6, "of six nodes");
    cluster_destroy(c);
}

static void test_empty(void)
{
    struct cluster *c = two_levels();
    cluster_settle(c);
    cluster_check(c);
    is_int(domain_next(c, 0, LANE_ANY, 0), NODE_NONE,
           "an empty cluster has no next node");
    is_int(domain_count(c, 0, LANE_ANY), 0, "and none usable");
    is_int(domain_fit(c, 0, TYPE_ANY, 1), 0, "and no room");
    cluster_destroy(c);
}

static void test_lanes(void)
{
    struct cluster *c = two_levels();
    uint32_t a = add(c, "a", h100, 8, "b0", "r0"), b = add(c, "b", h100, 8, "b0", "r1");
    add(c, "c", g2, 4, "b1", "r0");
    add(c, "d", NULL, 0, "b1", "r0");
    cluster_settle(c);
    uint32_t h = cluster_type_id(c, h100->name), g = cluster_type_id(c, g2->name);
    is_int(cluster_lane_max(c, h), 8, "H100: up to 8");
    is_int(cluster_lane_max(c, g), 4, "G2: up to 4");
    is_int(cluster_lane(c, g, 5), LANE_NONE, "five G2 on a node: no lane");
    is_int(domain_count(c, 0, cluster_lane(c, g, 5)), 0, "which is empty");
    is_int(domain_next(c, 0, LANE_NONE, 0), NODE_NONE, "and leads nowhere");
    is_int(domain_count(c, 0, LANE_ANY), 4, "four usable nodes");
    is_int(domain_count(c, 0, cluster_lane(c, h, 8)), 2, "two with 8 H100");
    struct use u = use_whole(a, 0x07), s = use_share(b, 0x01, 500);
    cluster_take(c, &u);
    is_int(domain_count(c, 0, cluster_lane(c, h, 5)), 1,
           "one with 5 after 3 are taken");
    is_int(domain_fit(c, 0, h, 4), 3, "4 GPUs fit 1 + 2 times");
    is_int(domain_fit(c, 0, h, 5), 2, "5 GPUs fit 1 + 1 times");
    is_int(domain_fit(c, 0, TYPE_ANY, 1), 17, "one GPU 5 + 8 + 4 times");
    is_int(domain_fit(c, 0, h, 9), 0, "9 GPUs never");
    is_int(domain_fit(c, 0, h, 0), 4, "no GPU: usable nodes");
    cluster_take(c, &s);
    is_int(domain_fit(c, 0, h, 8), 0, "a share breaks the whole 8");
    cluster_give(c, &s);
    cluster_node_cordon(c, b, true);
    is_int(domain_fit(c, 0, h, 1), 5, "a cordoned node stands nowhere");
    is_int(domain_next(c, 0, LANE_ANY, 0), a, "first usable: a");
    is_int(domain_next(c, 0, LANE_ANY, 1), cluster_find(c, STR("c")), "then c");
    cluster_node_cordon(c, b, false);
    s.cpu_milli = c->nodes[b].cpu_free;
    cluster_take(c, &s);
    is_int(domain_count(c, 0, LANE_ANY), 3, "a node without CPU left is not `any`");
    is_int(domain_count(c, 0, cluster_lane(c, h, 7)), 1, "its GPUs still count");
    s.cpu_milli = 1;
    cluster_take(c, &s);
    is_int(domain_count(c, 0, cluster_lane(c, h, 7)), 0, "below zero they do not");
    cluster_check(c);
    cluster_give(c, &s);
    is_int(domain_count(c, 0, cluster_lane(c, h, 7)), 1, "at zero they do again");
    cluster_destroy(c);
}

static bool stands(const struct cluster *c, uint32_t i, uint32_t type, uint32_t k)
{
    const struct node *n = &c->nodes[i];
    if (!node_is_usable(n) || n->type != type)
        return false;
    uint32_t free = 0;
    for (uint32_t j = 0; j < n->ndevices; j++)
        free += c->devices[n->device0 + j].nuses == 0;
    return free == k;
}

/* domain_next, domain_child and domain_fit of one domain and lane by scanning all
 * nodes. */
static bool domain_agrees(const struct cluster *c, uint32_t dom, uint32_t type,
                          uint32_t k)
{
    const struct domain *d = &c->domains[dom];
    uint32_t lane = cluster_lane(c, type, k), want = NODE_NONE;
    for (uint32_t r = c->nranks; r-- > 0;) {
        if (r >= d->rank_lo && r < d->rank_hi && stands(c, c->order[r], type, k))
            want = c->order[r];
        if (domain_next(c, dom, lane, r) != (r < d->rank_hi ? want : NODE_NONE))
            return false;
    }
    uint64_t fit = 0;
    for (uint32_t r = d->rank_lo; r < d->rank_hi; r++)
        for (uint32_t j = 1; k && j <= 64; j++)
            fit += stands(c, c->order[r], type, j) ? j / k : 0;
    if (k && domain_fit(c, dom, type, k) != fit)
        return false;
    uint32_t kids = d->n ? d->n : d->rank_hi - d->rank_lo, next = UINT32_MAX;
    for (uint32_t p = kids; p-- > 0;) {
        uint32_t lo = d->n ? c->domains[d->first + p].rank_lo : d->rank_lo + p;
        uint32_t hi = d->n ? c->domains[d->first + p].rank_hi : lo + 1;
        for (uint32_t r = lo; r < hi; r++)
            if (stands(c, c->order[r], type, k))
                next = p;
        if (domain_child(c, dom, lane, p) != next)
            return false;
    }
    return true;
}

/* Random uneven trees; depth 0 is flat, wide enough for the masks' summary. */
static void test_random(uint32_t nlevels, uint32_t nnodes, uint64_t seed)
{
    struct rng r;
    static const char *const names[] = {"zone", "block", "rack"};
    word_t levels[3];
    struct cluster *c = cluster_create(&words);
    rng_init(&r, seed, 2);
    for (uint32_t l = 0; l < nlevels; l++)
        levels[l] = w(names[l]);
    cluster_set_levels(c, levels, nlevels);
    for (uint32_t i = 0; i < nnodes; i++) {
        struct draft f;
        char name[32], part[32];
        snprintf(name, sizeof name, "n%u", (unsigned)rng_below(&r, 1000000));
        draft_init(&f, name, rng_below(&r, 3) ? h100 : g2,
                   1 + (uint32_t)rng_below(&r, 8));
        for (uint32_t l = 0; l < nlevels; l++) {
            snprintf(part, sizeof part, "%c%u", 'a' + (int)l,
                     (unsigned)rng_below(&r, 4));
            if (rng_below(&r, 10))
                draft_place(&f, &words, names[l], part);
        }
        cluster_node_set(c, &f.d);
    }
    cluster_settle(c);
    VEC(struct use) uses = {0};
    bool good = true;
    for (int round = 0; round < 12 && good; round++) {
        for (uint32_t i = 0; i < nnodes; i++) {
            uint32_t x = c->order[rng_below(&r, c->nranks)];
            const struct node *n = &c->nodes[x];
            if (rng_below(&r, 2) && uses.n) {
                cluster_give(c, &uses.at[--uses.n]);
                continue;
            }
            struct use u =
                use_whole(x, node_pick_whole(c, n, TYPE_ANY,
                                             1 + (uint32_t)rng_below(&r, 8)));
            cluster_take(c, &u);
            vec_push(&uses, u);
        }
        cluster_check(c);
        for (int q = 0; q < 30 && good; q++) {
            uint32_t dom = q ? (uint32_t)rng_below(&r, c->ndomains) : 0;
            uint32_t type = (uint32_t)rng_below(&r, 2), k = (uint32_t)rng_below(&r, 9);
            good = domain_agrees(c, dom, type, k);
            if (!good)
                diag("round %d domain %u type %u k %u", round, dom, type, k);
        }
    }
    ok(good, "%u levels, %u nodes, seed %u: as a scan says", nlevels, nnodes,
       (unsigned)seed);
    vec_done(&uses);
    cluster_destroy(c);
}

static void test_tags(void)
{
    struct cluster *c = two_levels();
    uint32_t a = add(c, "a", h100, 8, "b0", "r0"), b = add(c, "b", h100, 8, "b0", "r1");
    uint32_t d = add(c, "d", g2, 4, "b1", "r0");
    word_t t = w("vc=1");
    cluster_settle(c);
    is_int(cluster_tag_domain(c, t), 0, "a tag nobody has: the root");
    cluster_tag(c, a, t, true);
    is_int(cluster_tag_domain(c, t), c->nodes[a].domain, "one node: its rack");
    cluster_tag(c, b, t, true);
    is_int(cluster_tag_domain(c, t), cluster_domain(c, 1, a), "two racks: their block");
    cluster_tag(c, d, t, true);
    is_int(cluster_tag_domain(c, t), 0, "two blocks: the root");
    cluster_tag(c, d, t, false);
    cluster_node_gone(c, a);
    cluster_settle(c);
    is_int(cluster_tag_domain(c, t), c->nodes[b].domain, "a is gone: b's rack");
    cluster_destroy(c);
}

int main(void)
{
    h100 = catalogue_type(&words, &arena, STR("H100"));
    g2 = catalogue_type(&words, &arena, STR("G2"));
    test_order();
    test_empty();
    test_lanes();
    test_tags();
    for (uint64_t seed = 1; seed <= 5; seed++)
        for (uint32_t levels = 0; levels <= 3; levels++)
            test_random(levels, 60, seed);
    test_random(0, 1500, 7);
    test_random(1, 3000, 8);
    words_done(&words);
    arena_done(&arena);
    return done_testing();
}
