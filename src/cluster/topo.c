/* topo.c - the topology tree, made anew from the nodes' places
 *
 * The words that name domains are given their place in byte order once, so that the
 * sort of the nodes by (domain of each level from the top down, node name) compares
 * numbers and reaches for the text of node names only inside one lowest domain. In that
 * order each domain is a run, level by level: O(nodes log nodes + domains). Every node
 * gets a domain on every level (the unnamed one, word 0, when its place does not say),
 * so all leaves of the tree are at one depth. domains[] is breadth first: children of
 * one domain are neighbours. SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "cluster/more.h"

struct place_row {
    uint32_t node;
    uint32_t key[NODE_LEVELS_MAX]; /* rank of the domain's name */
    word_t name[NODE_LEVELS_MAX];
    struct str text;
};

struct word_row {
    word_t word;
    struct str text;
};

static int word_row_cmp(const void *a, const void *b)
{
    const struct word_row *x = a, *y = b;
    return str_cmp(x->text, y->text);
}

static int place_row_cmp(const void *a, const void *b)
{
    const struct place_row *x = a, *y = b;
    for (uint32_t l = 0; l < NODE_LEVELS_MAX; l++)
        if (x->key[l] != y->key[l])
            return x->key[l] < y->key[l] ? -1 : 1;
    return str_cmp(x->text, y->text);
}

static void rows_fill(const struct cluster *c, struct place_row *rows)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->nnodes; i++) {
        if (c->nodes[i].gone)
            continue;
        const struct node_desc *d = &c->more->kept[i]->d;
        struct place_row *r = &rows[n++];
        *r = (struct place_row){.node = i, .text = d->name};
        for (uint32_t p = 0; p < d->nplace; p++)
            for (uint32_t l = 0; l < c->nlevels; l++)
                if (d->place[p].key == c->levels[l])
                    r->name[l] = d->place[p].value;
    }
    assert(n == c->nlive);
}

/* key[] of each row: the rank of the name among all names in use. */
static void rows_rank(const struct cluster *c, struct place_row *rows, uint32_t n)
{
    uint32_t nwords = c->words->n + 1;
    uint32_t *rank = mem_zero((nwords + 1) * sizeof *rank);
    VEC(struct word_row) used = {0};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t l = 0; l < c->nlevels; l++) {
            word_t w = rows[i].name[l];
            if (w && w < nwords && !rank[w]) {
                rank[w] = 1;
                vec_push(&used, (struct word_row){w, words_text(c->words, w)});
            }
        }
    if (used.n)
        qsort(used.at, used.n, sizeof *used.at, word_row_cmp);
    for (uint32_t i = 0; i < used.n; i++)
        rank[used.at[i].word] = i + 1;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t l = 0; l < c->nlevels; l++)
            rows[i].key[l] = rows[i].name[l] < nwords ? rank[rows[i].name[l]] : 0;
    vec_done(&used);
    free(rank);
}

static uint32_t domain_add(struct cluster *c, struct domain d)
{
    if (c->ndomains == c->more->domains_room) {
        c->more->domains_room = c->ndomains ? c->ndomains * 2 : 64;
        c->domains =
            mem_resize(c->domains, (size_t)c->more->domains_room * sizeof *c->domains);
    }
    c->domains[c->ndomains] = d;
    return c->ndomains++;
}

/* The children of domain p: one for each run of equal names on its level. */
static void domain_split(struct cluster *c, const struct place_row *rows, uint32_t p)
{
    uint32_t l = c->domains[p].depth, pos = 0;
    uint32_t hi = c->domains[p].rank_hi;
    c->domains[p].first = c->ndomains;
    for (uint32_t lo = c->domains[p].rank_lo; lo < hi;) {
        uint32_t end = lo + 1;
        while (end < hi && rows[end].name[l] == rows[lo].name[l])
            end++;
        domain_add(c, (struct domain){.level = c->levels[l],
                                      .name = rows[lo].name[l],
                                      .parent = p,
                                      .rank_lo = lo,
                                      .rank_hi = end,
                                      .depth = l + 1,
                                      .child_pos = pos++});
        lo = end;
    }
    c->domains[p].n = pos;
}

static void order_build(struct cluster *c)
{
    struct place_row *rows = mem_alloc((c->nlive + 1) * sizeof *rows);
    rows_fill(c, rows);
    rows_rank(c, rows, c->nlive);
    qsort(rows, c->nlive, sizeof *rows, place_row_cmp);
    if (c->more->order_room < c->nlive) {
        c->more->order_room = c->nlive;
        c->order = mem_resize(c->order, c->nlive * sizeof *c->order);
    }
    c->nranks = c->nlive;
    c->ndomains = 0;
    domain_add(c, (struct domain){.parent = DOMAIN_NONE, .rank_hi = c->nranks});
    for (uint32_t d = 0; d < c->ndomains; d++)
        if (c->domains[d].depth < c->nlevels)
            domain_split(c, rows, d);
    for (uint32_t d = 0; d < c->ndomains; d++) {
        if (c->domains[d].depth < c->nlevels)
            continue;
        for (uint32_t r = c->domains[d].rank_lo; r < c->domains[d].rank_hi; r++) {
            c->order[r] = rows[r].node;
            c->nodes[rows[r].node].rank = r;
            c->nodes[rows[r].node].domain = d;
        }
    }
    free(rows);
}

/* Lanes: 0, then for each type that is here k = 0 .. its most devices on one node. */
static void lanes_layout(struct cluster *c)
{
    struct cluster_more *m = c->more;
    memset(m->lane_max, 0, sizeof m->lane_max);
    memset(m->lane_used, 0, sizeof m->lane_used);
    for (uint32_t i = 0; i < c->nnodes; i++) {
        const struct kept *k = m->kept[i];
        if (c->nodes[i].gone || !k->ntypes)
            continue;
        for (uint32_t j = 0; j <= k->ntypes; j++) {
            bool all = j == k->ntypes;
            if (all && j == 1)
                continue;
            uint32_t t = all ? LANE_MIXED : k->types[j];
            uint32_t n =
                all ? k->d.ndevices : (uint32_t)__builtin_popcountll(k->masks[j]);
            m->lane_used[t] = true;
            m->lane_max[t] = n > m->lane_max[t] ? (uint8_t)n : m->lane_max[t];
        }
    }
    m->nlanes = 1;
    for (uint32_t t = 0; t < LANE_TYPES; t++)
        if (m->lane_used[t]) {
            m->lane_base[t] = (uint16_t)m->nlanes;
            m->nlanes += m->lane_max[t] + 1u;
        }
    m->stride = (m->nlanes + 15) / 16 * 16;
}

static uint32_t domain_children(const struct domain *d)
{
    return d->n ? d->n : d->rank_hi - d->rank_lo;
}

static void lanes_clear(struct cluster *c)
{
    struct cluster_more *m = c->more;
    uint64_t ncounts = (uint64_t)c->ndomains * m->stride, nmasks = 0;
    m->spots = mem_resize(m->spots, c->ndomains * sizeof *m->spots);
    for (uint32_t d = 0; d < c->ndomains; d++) {
        uint32_t words = (domain_children(&c->domains[d]) + 63) / 64;
        assert(words + mask_summary_words(words) <= UINT16_MAX); /* 4 M children */
        m->spots[d] = (struct spot){c->domains[d].parent, c->domains[d].child_pos,
                                    (uint32_t)nmasks, (uint16_t)words,
                                    (uint16_t)(words + mask_summary_words(words))};
        nmasks += (uint64_t)m->nlanes * m->spots[d].step;
    }
    assert(nmasks <= UINT32_MAX); /* 65,536 nodes x 4,096 lanes would be 4 M words */
    if (ncounts > m->counts_room) {
        free(m->counts);
        m->counts_room = ncounts;
        m->counts = mem_alloc(ncounts * sizeof *m->counts);
    }
    if (nmasks > m->masks_room) {
        free(m->masks);
        m->masks_room = nmasks;
        m->masks = mem_alloc(nmasks * sizeof *m->masks);
    }
    m->nmasks = nmasks;
    memset(m->counts, 0, ncounts * sizeof *m->counts);
    if (nmasks)
        memset(m->masks, 0, nmasks * sizeof *m->masks);
}

void cluster_settle(struct cluster *c)
{
    if (!c->stale)
        return;
    order_build(c);
    lanes_layout(c);
    lanes_clear(c);
    c->stale = false;
    c->settles++;
    c->more->tags_known = false;
    for (uint32_t i = 0; i < c->nnodes; i++) {
        struct node *n = &c->nodes[i];
        n->lane = LANE_NONE;
        n->in_any = false;
        if (n->gone)
            continue;
        n->lane0 = n->ntypes == 1 ? c->more->lane_base[n->type] : 0;
        for (uint32_t j = 0; j <= KEPT_TYPES_MAX; j++)
            c->more->kept[i]->lanes[j] = LANE_NONE;
        node_relane(c, n);
    }
}

void cluster_set_levels(struct cluster *c, const word_t *levels, uint32_t n)
{
    assert(n <= NODE_LEVELS_MAX);
    if (n == c->nlevels &&
        (n == 0 || memcmp(levels, c->levels, n * sizeof *levels) == 0))
        return;
    memset(c->levels, 0, sizeof c->levels);
    if (n)
        memcpy(c->levels, levels, n * sizeof *levels);
    c->nlevels = n;
    c->stale = true;
}

uint32_t cluster_domain(const struct cluster *c, uint32_t depth, uint32_t node)
{
    assert(!c->stale && depth <= c->nlevels && node < c->nnodes);
    uint32_t d = c->nodes[node].domain;
    for (uint32_t up = c->nlevels; up > depth && d != DOMAIN_NONE; up--)
        d = c->more->spots[d].parent;
    return d;
}

int cluster_level_depth(const struct cluster *c, word_t level)
{
    for (uint32_t l = 0; l < c->nlevels; l++)
        if (c->levels[l] == level)
            return (int)l + 1;
    struct str text = words_text(c->words, level);
    if (str_is(text, "node"))
        return (int)c->nlevels + 1;
    return str_is(text, "cluster") ? 0 : -1;
}

uint32_t cluster_common(const struct cluster *c, uint32_t a, uint32_t b)
{
    assert(!c->stale && a < c->ndomains && b < c->ndomains);
    while (a != b)
        if (c->domains[a].depth >= c->domains[b].depth)
            a = c->domains[a].parent;
        else
            b = c->domains[b].parent;
    return a;
}

uint32_t cluster_tag_domain(struct cluster *c, word_t tag)
{
    assert(!c->stale);
    struct cluster_more *m = c->more;
    if (!m->tags_known) {
        vec_clear(&m->tag_at);
        for (uint32_t r = 0; r < c->nranks; r++) {
            const struct node_desc *d = &m->kept[c->order[r]]->d;
            for (uint32_t i = 0; i < d->ntags; i++) {
                word_t tag = d->tags[i];
                while (m->tag_at.n <= tag)
                    vec_push(&m->tag_at, DOMAIN_NONE);
                uint32_t at = m->tag_at.at[tag], here = c->nodes[c->order[r]].domain;
                m->tag_at.at[tag] =
                    at == DOMAIN_NONE ? here : cluster_common(c, at, here);
            }
        }
        m->tags_known = true;
    }
    uint32_t at = tag < m->tag_at.n ? m->tag_at.at[tag] : DOMAIN_NONE;
    return at == DOMAIN_NONE ? 0 : at;
}
