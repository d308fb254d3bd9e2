/* cluster_check.c - everything the cluster keeps, recomputed from scratch and compared
 *
 * What is taken as given: the kept descriptions, node states and marks, and the sums
 * that claims move (whoever owns the claims adds those up). All else must follow from
 * them: masks and totals of nodes, the change list, the names, the order of nodes, the
 * domains, and each count and mask bit of the tree, counted here by plain loops over
 * all nodes. O(nodes x (devices + levels + lanes) + domains x lanes); for tests and
 * `--check`. SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "cluster/more.h"

static void __attribute__((noreturn, format(printf, 3, 4)))
broken(const struct cluster *c, uint32_t node, const char *fmt, ...)
{
    va_list ap;
    struct str name = {0};
    if (node != NODE_NONE && c->more->kept[node])
        name = c->more->kept[node]->d.name;
    va_start(ap, fmt);
    fprintf(stderr, "cluster_check: node %d " STR_FMT ": ", (int)node, STR_ARG(name));
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}

#define must_be(node, got, want)                                                       \
    do {                                                                               \
        int64_t got_ = (int64_t)(got), want_ = (int64_t)(want);                        \
        if (got_ != want_)                                                             \
            broken(c, node, "%s is %lld, must be %lld (%s:%d)", #got, (long long)got_, \
                   (long long)want_, __FILE__, __LINE__);                              \
    } while (0)

static void device_check(const struct cluster *c, uint32_t node, const struct device *d)
{
    const uint16_t *uses =
        c->more->slice_room ? c->more->slice_uses[d - c->devices] : NULL;
    const struct device_type *t = cluster_type(c, d->type);
    uint32_t slices = t ? (1u << t->mem_slices) - 1 : 0;
    for (uint32_t s = 0; s < SLICES_MAX; s++)
        if (uses && uses[s])
            slices &= ~(1u << s);
    must_be(node, d->slices_free, slices);
    must_be(node, d->shared, d->nuses > (uint32_t)d->wholes + d->cut);
    if (!d->nuses) {
        must_be(node, d->free_milli, 1000);
        must_be(node, d->mem_free, d->mem_cap);
        must_be(node, d->compute_free, t ? t->compute_slices : 0);
        must_be(node, d->cut, 0);
        must_be(node, d->wholes, 0);
    }
}

static void node_check(const struct cluster *c, uint32_t i)
{
    const struct node *n = &c->nodes[i];
    const struct kept *k = c->more->kept[i];
    uint64_t healthy = 0, whole = 0, held = 0;
    int64_t milli = 0;
    must_be(i, n->ndevices >= k->d.ndevices, true);
    for (uint32_t j = 0; j < n->ndevices; j++) {
        const struct device *d = &c->devices[n->device0 + j];
        must_be(i, d->state,
                j < k->d.ndevices ? k->d.devices[j].state : (uint8_t)DEVICE_GONE);
        device_check(c, i, d);
        bool ok = d->state == DEVICE_OK;
        healthy |= (uint64_t)ok << j;
        whole |= (uint64_t)(ok && (d->modes & DEVICE_WHOLE) && !d->nuses) << j;
        held |= (uint64_t)(ok && (d->modes & DEVICE_WHOLE) && d->nuses == 1 &&
                           d->wholes == 1)
                << j;
        milli += ok ? d->free_milli : 0;
        if (j < k->d.ndevices && d->type != TYPE_OTHER)
            must_be(i, c->types[d->type], k->d.devices[j].type->name);
    }
    must_be(i, n->healthy, healthy);
    must_be(i, n->whole_free, whole);
    must_be(i, n->whole_held, held);
    must_be(i, n->nwhole, __builtin_popcountll(whole));
    must_be(i, n->gpu_free_milli, milli);
    must_be(i, n->gpu_cap_milli, (int64_t)k->d.ndevices * 1000);
    must_be(i, n->overcommitted, node_is_over(c, n));
    must_be(i, n->state, k->d.state);
    must_be(i, n->ntypes, k->ntypes);
    must_be(i, n->cpu_cap, k->d.cpu_milli);
    must_be(i, n->mem_cap, k->d.mem_bytes);
    must_be(i, cluster_find(c, k->d.name), i);
    if (!n->nuses) {
        must_be(i, n->cpu_free, n->cpu_cap);
        must_be(i, n->mem_free, n->mem_cap);
        must_be(i, n->slots_free, n->slots_cap);
        must_be(i, n->nics_free, n->nics_cap);
    }
}

static void changes_check(const struct cluster *c)
{
    uint32_t seen = 0, prev = NODE_NONE;
    uint64_t stamp = c->stamp + 1;
    for (uint32_t i = c->changed_head; i != NODE_NONE; i = c->nodes[i].changed_next) {
        must_be(i, c->nodes[i].changed_prev, prev);
        must_be(i, c->nodes[i].gone, false);
        must_be(i, c->nodes[i].changed_at < stamp, true);
        stamp = c->nodes[i].changed_at;
        prev = i;
        if (++seen > c->nlive)
            broken(c, i, "the change list runs in a circle");
    }
    must_be(NODE_NONE, seen, c->nlive);
}

/* Name of the node's domain on level l (0 the highest). */
static word_t place_on(const struct cluster *c, uint32_t node, uint32_t l)
{
    const struct node_desc *d = &c->more->kept[node]->d;
    word_t name = WORD_NONE;
    for (uint32_t p = 0; p < d->nplace; p++)
        if (d->place[p].key == c->levels[l])
            name = d->place[p].value;
    return name;
}

static void order_check(const struct cluster *c)
{
    must_be(NODE_NONE, c->nranks, c->nlive);
    for (uint32_t r = 0; r < c->nranks; r++) {
        uint32_t i = c->order[r];
        must_be(i, c->nodes[i].rank, r);
        must_be(i, c->nodes[i].gone, false);
        uint32_t d = c->nodes[i].domain;
        for (uint32_t l = c->nlevels; l > 0; l--) {
            must_be(i, c->domains[d].depth, l);
            must_be(i, c->domains[d].level, c->levels[l - 1]);
            must_be(i, c->domains[d].name, place_on(c, i, l - 1));
            must_be(i, r >= c->domains[d].rank_lo && r < c->domains[d].rank_hi, true);
            d = c->domains[d].parent;
        }
        must_be(i, d, 0);
        if (!r)
            continue;
        uint32_t before = c->order[r - 1];
        int cmp = 0;
        for (uint32_t l = 0; l < c->nlevels && !cmp; l++)
            cmp = str_cmp(words_text(c->words, place_on(c, before, l)),
                          words_text(c->words, place_on(c, i, l)));
        if (!cmp)
            cmp = str_cmp(cluster_node_name(c, before), cluster_node_name(c, i));
        must_be(i, cmp < 0, true);
    }
}

static void domains_check(const struct cluster *c)
{
    uint32_t next = 1;
    for (uint32_t d = 0; d < c->ndomains; d++) {
        const struct domain *v = &c->domains[d];
        uint32_t at = v->rank_lo;
        for (uint32_t k = 0; k < v->n; k++) {
            const struct domain *w = &c->domains[v->first + k];
            must_be(NODE_NONE, v->first + k, next++);
            must_be(NODE_NONE, w->parent, d);
            must_be(NODE_NONE, w->child_pos, k);
            must_be(NODE_NONE, w->rank_lo, at);
            must_be(NODE_NONE, w->rank_hi > at, true);
            at = w->rank_hi;
        }
        if (v->n)
            must_be(NODE_NONE, at, v->rank_hi);
        else if (v->rank_lo < v->rank_hi)
            must_be(NODE_NONE, v->depth, c->nlevels);
    }
    must_be(NODE_NONE, next, c->ndomains);
    must_be(NODE_NONE, c->domains[0].rank_hi, c->nranks);
}

/* Does the node stand in the lane? From its devices, one by one. */
static bool node_in_lane(const struct cluster *c, uint32_t i, uint32_t type, uint32_t k)
{
    const struct node *n = &c->nodes[i];
    const struct kept *kept = c->more->kept[i];
    bool has = type == LANE_MIXED && kept->ntypes > 1;
    uint32_t free = 0;
    if (!node_is_usable(n))
        return false;
    for (uint32_t j = 0; j < kept->d.ndevices; j++) {
        const struct device *d = &c->devices[n->device0 + j];
        bool mine = type == LANE_MIXED || d->type == type;
        has |= mine && type != LANE_MIXED;
        free += mine && d->state == DEVICE_OK && (d->modes & DEVICE_WHOLE) && !d->nuses;
    }
    return has && free == k;
}

static void lane_check(const struct cluster *c, uint32_t lane, const bool *in,
                       uint32_t *count)
{
    const struct cluster_more *m = c->more;
    memset(count, 0, c->ndomains * sizeof *count);
    for (uint32_t r = 0; r < c->nranks; r++)
        for (uint32_t d = c->nodes[c->order[r]].domain; in[r] && d != DOMAIN_NONE;
             d = c->domains[d].parent)
            count[d]++;
    for (uint32_t d = 0; d < c->ndomains; d++) {
        const struct domain *v = &c->domains[d];
        must_be(NODE_NONE, domain_count(c, d, lane), count[d]);
        uint32_t kids = v->n ? v->n : v->rank_hi - v->rank_lo,
                 words = m->spots[d].words;
        must_be(NODE_NONE, words, (kids + 63) / 64);
        if (!words) /* only the root of an empty cluster */
            continue;
        const uint64_t *mask = m->masks + m->spots[d].mask0 +
                               (uint64_t)lane * (words + mask_summary_words(words));
        for (uint32_t k = 0; k < words * 64; k++) {
            bool any =
                k < kids && (v->n ? count[v->first + k] > 0 : in[v->rank_lo + k]);
            must_be(NODE_NONE, mask[k >> 6] >> (k & 63) & 1, any);
        }
        for (uint32_t w = 0; w < 64 * mask_summary_words(words); w++)
            must_be(NODE_NONE, mask[words + (w >> 6)] >> (w & 63) & 1,
                    w < words && mask[w] != 0);
    }
}

static void lanes_check(const struct cluster *c)
{
    const struct cluster_more *m = c->more;
    bool *in = mem_zero(c->nranks + 1);
    uint32_t *count = mem_alloc(c->ndomains * sizeof *count), lanes = 1;
    for (uint32_t r = 0; r < c->nranks; r++) {
        const struct node *n = &c->nodes[c->order[r]];
        in[r] = node_is_usable(n) && n->slots_free > 0 &&
                (n->cpu_free > 0 || n->cpu_cap == 0);
    }
    lane_check(c, LANE_ANY, in, count);
    for (uint32_t t = 0; t < LANE_TYPES; t++)
        for (uint32_t k = 0; m->lane_used[t] && k <= m->lane_max[t]; k++) {
            must_be(NODE_NONE, m->lane_base[t] + k, lanes++);
            for (uint32_t r = 0; r < c->nranks; r++)
                in[r] = node_in_lane(c, c->order[r], t, k);
            lane_check(c, m->lane_base[t] + k, in, count);
        }
    must_be(NODE_NONE, m->nlanes, lanes);
    free(in);
    free(count);
}

void cluster_check(const struct cluster *c)
{
    uint32_t live = 0;
    int64_t cap = 0;
    for (uint32_t i = 0; i < c->nnodes; i++) {
        if (c->nodes[i].gone)
            continue;
        live++;
        cap += c->nodes[i].gpu_cap_milli;
        node_check(c, i);
    }
    must_be(NODE_NONE, c->nlive, live);
    must_be(NODE_NONE, c->more->names.n, live);
    must_be(NODE_NONE, c->gpu_cap_milli, cap);
    changes_check(c);
    if (c->stale)
        return;
    order_check(c);
    domains_check(c);
    lanes_check(c);
}
