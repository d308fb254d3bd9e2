/* place.c - a gang over its tree of groups, all or nothing
 *
 * place_gang walks the gang's groups from its root: a group with a required level tries the
 * domains of that level that could hold it, tightest first; with a preferred level the
 * domains of that level, then of each level above it up to the required one (never a reason
 * to evict). A leaf fills its domain with the fewest sub-domains (fill.c), or is dealt out
 * in segments, evenly or under a cap. Then slots are given along the topology: ranks grow
 * with the order of nodes, so near ranks are near. Elastic: the wanted size first, else the
 * minimum of every leaf, then each leaf as large as still fits (binary search).
 * Where tasks may be asked for in several ways (a whole device or a half), the gang as a
 * whole chooses: all by the first way, then one fewer, and so on until some mixture starts.
 * An attempt lives on the trail and is undone before the call returns. The number of domains
 * tried is bounded. Cost of the usual case: O(tasks + domains of one level).
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/place.h"

#include <assert.h>

enum { DOMAINS_TRIED_MAX = 64, MIXTURES_TRIED_MAX = 256, MIXTURE_STEPS = 64 };

struct scratch *scratch_create(void)
{
    return mem_zero(sizeof(struct scratch));
}

void scratch_forget(struct sched *s)
{
    struct scratch *sc = s->scratch;
    if (!sc->ready)
        return;
    board_destroy(sc->board);
    scoring_done(&sc->scoring);
    sc->board = NULL;
    sc->ready = false;
}

void scratch_destroy(struct scratch *sc)
{
    if (!sc)
        return;
    if (sc->ready) {
        board_destroy(sc->board);
        scoring_done(&sc->scoring);
    }
    vec_done(&sc->plan);
    vec_done(&sc->fits);
    vec_done(&sc->spread);
    vec_done(&sc->lifted);
    vec_done(&sc->evict);
    vec_done(&sc->where);
    for (uint32_t i = 0; i < sc->kept.n; i++)
        vec_done(&sc->kept.at[i].claims);
    vec_done(&sc->kept);
    free(sc);
}

/* Our own two scorers keep domains whole where there are domains. */
static void learn_ways(const struct sched *s, struct scratch *sc)
{
    sc->keeps_whole = s->cluster->nlevels > 0 && (sc->fewest || sc->pack);
    sc->by_lanes = sc->fewest || sc->keeps_whole;
}

struct scratch *scratch_ready(struct sched *s)
{
    cluster_settle(s->cluster);
    struct scratch *sc = s->scratch;
    if (sc->ready) {
        learn_ways(s, sc); /* a node may have brought the first level */
        return sc;
    }
    const struct scorer *scorer = scorer_find(str_of(s->policy.scorer));
    if (!scorer)
        scorer = scorer_find(STR("fewest-free"));
    scoring_init(&sc->scoring, s->cluster, scorer, &s->mix, s->policy.seed);
    sc->board = board_create(&sc->scoring, 0);
    sc->fewest = str_is(STR("fewest-free"), scorer->name);
    sc->pack = str_is(STR("pack"), scorer->name);
    sc->ready = true;
    learn_ways(s, sc);
    return sc;
}

struct asker asker_for(struct attempt *at, const struct tree_leaf *l, uint32_t copy,
                       uint32_t shape)
{
    struct sched *s = at->s;
    struct asker a = {.shape = shape, .sh = &s->shapes.at[shape].shape,
                      .types = shape_typemask(s, shape), .spread_hi = at->root->slots};
    if (at->tree->groups[l->group].spread_kind) { /* its own cap, of this copy alone */
        a.spread_lo = l->slot0 + copy * l->per_copy;
        a.spread_hi = a.spread_lo + l->per_copy;
    }
    for (uint16_t up = l->group; up != GROUP_NONE && !a.spread_kind;
         up = at->tree->groups[up].parent) {
        a.spread_kind = at->tree->groups[up].spread_kind;
        a.spread_most = at->tree->groups[up].spread_most;
    }
    a.widest = s->policy.remainder_widest && at->root->nleaves > 1 && l->want == 1 &&
               l != &at->tree->leaves[at->root->leaf0];
    return a;
}

struct asker asker_of(struct attempt *at, const struct tree_leaf *l)
{
    uint32_t i = (uint32_t)(l - &at->tree->leaves[at->root->leaf0]);
    uint32_t copy = at->copy[i] < l->copies ? at->copy[i] : 0;
    return asker_for(at, l, copy, shape_alt(at->s, l->shape, 0));
}

bool has_alts(const struct attempt *at, const struct tree_leaf *l)
{
    return shape_alts(at->s, l->shape) > 1;
}

/* The first alternatives of a leaf's tasks are the first ways: which one is task t's. */
static uint32_t alt_of(const struct attempt *at, uint32_t li, uint32_t t)
{
    uint32_t alt = 0;
    while (alt + 1 < SHAPE_ALTS_MAX && t >= at->take[li][alt])
        t -= at->take[li][alt++];
    return alt;
}

/* What the copy's n tasks ask, when all do so in the same way; else false. */
static bool asker_of_copy(struct attempt *at, uint32_t li, uint32_t copy, uint32_t n,
                          struct asker *ret)
{
    const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + li];
    uint32_t first = 0, last = 0;
    if (at->alternatives && has_alts(at, l)) {
        first = alt_of(at, li, copy * at->size[li]);
        last = alt_of(at, li, copy * at->size[li] + (n ? n - 1 : 0));
    }
    *ret = asker_for(at, l, copy, shape_alt(at->s, l->shape, first));
    return first == last;
}

/* Where a search starts: the lowest domain that holds all nodes with a tag it must have. */
uint32_t search_domain(struct sched *s, const struct shape *sh, uint32_t domain)
{
    for (uint32_t i = 0; i < sh->nconstraints; i++) {
        const struct constraint *c = &sh->constraints[i];
        if (c->kind != CONSTRAINT_NEED || !c->hard || c->key || tag_is_carried(s, c->tag))
            continue;
        uint32_t d = cluster_tag_domain(s->cluster, c->tag);
        const struct domain *a = &s->cluster->domains[d], *b = &s->cluster->domains[domain];
        if (a->depth > b->depth && a->rank_lo >= b->rank_lo && a->rank_hi <= b->rank_hi)
            domain = d;
    }
    return domain;
}

static int pick_by_rank(const void *pa, const void *pb, void *arg)
{
    const struct cluster *c = arg;
    const struct pick *a = pa, *b = pb;
    uint32_t ra = c->nodes[a->use.node].rank, rb = c->nodes[b->use.node].rank;
    if (ra != rb)
        return ra < rb ? -1 : 1;
    uint64_t da = a->use.devs & -a->use.devs, db = b->use.devs & -b->use.devs;
    return da != db ? (da < db ? -1 : 1) : (a->use.slices > b->use.slices) -
                                               (a->use.slices < b->use.slices);
}

static bool slot_is_open(const struct attempt *at, uint32_t slot)
{
    const struct slot *sl = gang_slot(at->s, at->gang, slot);
    bool empty = sl->claim == NONE || at->s->gangs.at[at->gang].reserved;
    return empty && !(sl->flags & SLOT_DONE) &&
           (at->s->caps & CAP_MAKE || (sl->flags & SLOT_OFFERED && !(sl->flags & SLOT_GATED)));
}

/* The picks from `from` on are the tasks of one copy of a leaf: order them along the
 * topology and give them the copy's open slots. */
static void give_slots(struct attempt *at, const struct tree_leaf *l, uint32_t copy,
                       uint32_t from, uint32_t skip)
{
    struct scratch *sc = at->s->scratch;
    uint32_t n = sc->plan.n - from;
    bool sorted = true;
    for (uint32_t i = from + 1; i < sc->plan.n && sorted; i++)
        sorted = pick_by_rank(&sc->plan.at[i - 1], &sc->plan.at[i], at->s->cluster) <= 0;
    if (!sorted)
        qsort_r(sc->plan.at + from, n, sizeof *sc->plan.at, pick_by_rank, at->s->cluster);
    uint32_t slot = l->slot0 + copy * l->per_copy, end = slot + l->per_copy, at_pick = from;
    for (; slot < end && at_pick < sc->plan.n; slot++) {
        if (!slot_is_open(at, slot))
            continue;
        if (skip) {
            skip--;
            continue;
        }
        sc->plan.at[at_pick++].slot = slot;
    }
    assert(at_pick == sc->plan.n);
}

/* The fewest domains over which the units go evenly (sizes differ by one at most); 0: by
 * these capacities none. 50 over 18, 18, 12, 12 is 13 + 13 + 12 + 12, so 4. */
static uint32_t even_domains(const uint64_t *fits, uint32_t count, uint32_t units)
{
    for (uint32_t m = 1; m <= count && m <= units; m++) {
        uint32_t small = units / m, more = units % m, holds = 0, holds_more = 0;
        for (uint32_t i = 0; i < count; i++) {
            holds += fits[i] >= small;
            holds_more += fits[i] > small;
        }
        if (holds >= m && holds_more >= more)
            return m;
    }
    return 0;
}

/* Tasks to be placed in this copy of the leaf so that, with what is done, it has `size` of
 * them: as many as it has open slots at most. */
static uint32_t copy_wants(const struct attempt *at, const struct tree_leaf *l, uint32_t copy,
                           uint32_t size)
{
    bool makes = at->s->caps & CAP_MAKE;
    if (makes && at->s->gangs.at[at->gang].done == 0)
        return size;
    uint32_t open = 0, done = 0, first = l->slot0 + copy * l->per_copy;
    for (uint32_t i = first; i < first + l->per_copy; i++) {
        done += (gang_slot(at->s, at->gang, i)->flags & SLOT_DONE) != 0;
        open += slot_is_open(at, i);
    }
    uint32_t n = size > done ? size - done : 0;
    return n < open ? n : open;
}

/* Deal units of `unit` tasks over the domains of a level under d: at most `most` tasks in
 * each; evenly over as few as suffice when balanced, else the tightest that holds the rest
 * or the roomiest first. Returns tasks placed. */
static uint32_t deal(struct attempt *at, const struct asker *a, uint32_t d, uint32_t depth,
                     uint32_t n, uint32_t unit, uint32_t most, bool balanced)
{
    struct sched *s = at->s;
    struct scratch *sc = s->scratch;
    uint32_t base = sc->fits.n, first = s->cluster->domains[d].rank_lo;
    uint32_t end = s->cluster->domains[d].rank_hi;
    const uint32_t *nodes = depth > s->cluster->nlevels ? s->cluster->order : NULL; /* by rank */
    if (!nodes)
        domain_span(s->cluster, d, depth, &first, &end);
    uint32_t count = end - first;
    for (uint32_t i = first; i < end; i++) {
        uint64_t fit = nodes ? node_takes(s, a, nodes[i]) : asker_fit(s, a, i);
        fit = most && fit > most ? most : fit;
        vec_push(&sc->fits, fit / unit);
    }
    uint32_t units = n / unit, got = 0;
    uint32_t left = balanced ? even_domains(sc->fits.at + base, count, units) : 0;
    while (got < units * unit) {
        uint32_t rest = units - got / unit, want = left > 1 ? (rest + left - 1) / left : rest;
        uint32_t i = choose_child(sc->fits.at + base, count, want);
        if (i == UINT32_MAX)
            break;
        uint64_t can = sc->fits.at[base + i];
        sc->fits.at[base + i] = 0;
        left -= left > 1;
        want = can < want ? (uint32_t)can : want;
        uint32_t mark = sc->plan.n;
        uint32_t here = nodes ? fill_node(s, a, nodes[first + i], want * unit)
                              : fill_domain(s, a, first + i, want * unit);
        trail_undo(s, mark + here / unit * unit); /* whole units only */
        got += here / unit * unit;
    }
    sc->fits.n = base;
    return got;
}

/* Segments of k on single nodes. */
static uint32_t deal_nodes(struct attempt *at, const struct asker *a, uint32_t d, uint32_t n,
                           uint32_t unit)
{
    struct sched *s = at->s;
    const struct domain *dom = &s->cluster->domains[d];
    uint32_t got = 0;
    for (uint32_t rank = dom->rank_lo; rank < dom->rank_hi && got < n; rank++) {
        uint32_t node = s->cluster->order[rank], mark = s->scratch->plan.n;
        uint32_t here = fill_node(s, a, node, n - got);
        trail_undo(s, mark + here / unit * unit);
        got += here / unit * unit;
    }
    return got;
}

uint32_t level_depth(const struct sched *s, word_t level)
{
    int depth = level ? cluster_level_depth(s->cluster, level) : -1;
    return depth < 0 ? UINT32_MAX : (uint32_t)depth;
}

static uint32_t leaf_deal(struct attempt *at, const struct group_spec *g,
                          const struct asker *a, uint32_t d, uint32_t n)
{
    struct sched *s = at->s;
    uint32_t unit = g->segment_size ? g->segment_size : 1;
    uint32_t depth = level_depth(s, g->segment_size ? g->segment_level : g->spread_kind);
    uint32_t most = depth != UINT32_MAX && g->spread_kind &&
                            level_depth(s, g->spread_kind) == depth
                        ? g->spread_most : 0;
    if (g->balanced && !g->segment_size && depth == UINT32_MAX)
        depth = s->cluster->domains[d].depth + 1;
    if (depth == UINT32_MAX && g->segment_size) {
        at->unknown_level = g->segment_level;
        return 0;
    }
    if (depth == UINT32_MAX)
        return fill_domain(s, a, d, n);
    if (depth > s->cluster->nlevels && !g->balanced)
        return deal_nodes(at, a, d, n, unit);
    if (depth <= s->cluster->domains[d].depth) /* d is inside one such domain already */
        return fill_domain(s, a, d, most && most < n ? most : n);
    return deal(at, a, d, depth, n, unit, most, g->balanced);
}

/* Must the copy's n tasks be placed one by one: because some have shapes of their own, or
 * because its open slots have holes, so that segments are of uneven sizes? */
static bool copy_is_uneven(const struct attempt *at, const struct tree_leaf *l, uint32_t copy,
                           uint32_t n)
{
    struct sched *s = at->s;
    if (s->caps & CAP_MAKE && s->gangs.at[at->gang].done == 0)
        return false;
    bool segments = at->tree->groups[l->group].segment_size > 0;
    uint32_t first = l->slot0 + copy * l->per_copy;
    for (uint32_t i = first; i < first + l->per_copy; i++) {
        uint32_t shape = gang_slot(s, at->gang, i)->shape;
        if (slot_is_open(at, i) && shape != NONE && shape != l->shape)
            return true;
        if (segments && i < first + n && !slot_is_open(at, i))
            return true;
    }
    return false;
}

/* One by one, each beside those of its segment. */
static uint32_t fill_slots(struct attempt *at, const struct tree_leaf *l, uint32_t copy,
                           uint32_t d, uint32_t only, uint32_t n)
{
    struct sched *s = at->s;
    const struct group_spec *g = &at->tree->groups[l->group];
    uint32_t depth = level_depth(s, g->segment_level), got = 0, segment = NONE;
    uint32_t first = l->slot0 + copy * l->per_copy;
    for (uint32_t i = first; i < first + l->per_copy && got < n; i++) {
        if (!slot_is_open(at, i))
            continue;
        uint32_t shape = slot_shape(s, at->gang, i), alts = shape_alts(s, shape), alt = 0;
        for (bool found = false; alt < alts; alt += !found) {
            struct asker a = asker_for(at, l, copy, shape_alt(s, shape, alt));
            uint32_t in = search_domain(s, a.sh, d), node = only;
            if (g->segment_size && segment == (i - first) / g->segment_size) {
                uint32_t last = s->scratch->plan.at[s->scratch->plan.n - 1].use.node;
                if (depth > s->cluster->nlevels)
                    node = last;
                else if (depth > s->cluster->domains[in].depth)
                    in = cluster_domain(s->cluster, depth, last);
            }
            found = node == NODE_NONE ? fill_one(s, &a, in, s->seq)
                                      : fill_node(s, &a, node, 1) == 1;
            if (found)
                break;
        }
        if (alt == alts)
            break;
        s->scratch->plan.at[s->scratch->plan.n - 1].slot = i;
        segment = g->segment_size ? (i - first) / g->segment_size : NONE;
        got++;
    }
    return got;
}

/* The copy's n tasks under d: its whole segments, then what is left over as a short one. */
static bool copy_deal(struct attempt *at, const struct tree_leaf *l, const struct asker *a,
                      uint32_t d, uint32_t copy, uint32_t n)
{
    struct sched *s = at->s;
    const struct group_spec *g = &at->tree->groups[l->group];
    uint32_t from = s->scratch->plan.n, tail = g->segment_size ? n % g->segment_size : 0;
    if (n == 1 && !g->segment_size) {
        if (!fill_one(s, a, d, s->seq))
            return false;
    } else if (leaf_deal(at, g, a, d, n - tail) < n - tail) {
        return false;
    }
    give_slots(at, l, copy, from, 0);
    if (tail == 0)
        return true;
    struct group_spec last = *g;
    last.segment_size = tail;
    uint32_t rest = s->scratch->plan.n;
    if (leaf_deal(at, &last, a, d, tail) < tail)
        return false;
    give_slots(at, l, copy, rest, n - tail);
    return true;
}

/* The copy's n tasks, which ask in several ways, under d or on one node: whole devices
 * first, since the parts fit beside them more easily than they beside the parts. */
static bool place_mixed(struct attempt *at, uint32_t li, uint32_t copy, uint32_t d,
                        uint32_t node, uint32_t n)
{
    static const uint32_t modes[] = {GPU_WHOLE, GPU_MIG, GPU_SHARE};
    struct sched *s = at->s;
    const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + li];
    const struct group_spec *g = &at->tree->groups[l->group];
    uint32_t from = s->scratch->plan.n, want[SHAPE_ALTS_MAX] = {0};
    if (g->segment_size)
        return false; /* a segment is of one kind */
    for (uint32_t i = 0; i < n; i++)
        want[alt_of(at, li, copy * at->size[li] + i)]++;
    for (uint32_t k = 0; k < 3 * SHAPE_ALTS_MAX; k++) {
        uint32_t alt = k % SHAPE_ALTS_MAX, tasks = want[alt];
        struct asker a = asker_for(at, l, copy, shape_alt(s, l->shape, alt));
        if (tasks == 0 || a.sh->gpu_mode != modes[k / SHAPE_ALTS_MAX])
            continue;
        uint32_t in = search_domain(s, a.sh, d);
        uint32_t got = node == NODE_NONE ? leaf_deal(at, g, &a, in, tasks)
                                         : fill_node(s, &a, node, tasks);
        if (got < tasks) {
            trail_undo(s, from);
            return false;
        }
    }
    give_slots(at, l, copy, from, 0);
    return true;
}

static bool place_leaf(struct attempt *at, uint32_t li, uint32_t d)
{
    struct sched *s = at->s;
    const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + li];
    struct asker a;
    uint32_t from = s->scratch->plan.n, copy = at->copy[li];
    uint32_t n = copy_wants(at, l, copy, at->size[li]);
    if (n == 0) {
        at->copy[li]++;
        return true;
    }
    if (copy_is_uneven(at, l, copy, n)) {
        at->copy[li]++;
        return fill_slots(at, l, copy, d, NODE_NONE, n) == n;
    }
    if (!asker_of_copy(at, li, copy, n, &a)) {
        bool mixed = place_mixed(at, li, copy, d, NODE_NONE, n);
        at->copy[li] += mixed;
        return mixed;
    }
    d = search_domain(s, a.sh, d);
    uint64_t types = a.types;
    uint64_t one = types & ((s->cluster->ntypes < 64 ? UINT64_C(1) << s->cluster->ntypes : 0) - 1);
    bool choose = a.sh->gpu_mode == GPU_WHOLE && n > 1 && (one & (one - 1)), ok = false;
    /* One GPU type for all ranks where that is possible: a mixed gang runs at the slowest. */
    for (uint64_t m = choose ? one : 0; m && !ok; m &= m - 1) {
        a.types = m & -m;
        trail_undo(s, from);
        ok = asker_fit(s, &a, d) >= n && copy_deal(at, l, &a, d, copy, n);
    }
    a.types = types;
    if (!ok) {
        trail_undo(s, from);
        ok = copy_deal(at, l, &a, d, copy, n);
    }
    if (s->scratch->plan.n > s->scratch->best_placed)
        s->scratch->best_placed = s->scratch->plan.n;
    at->copy[li] += ok;
    return ok;
}

static uint32_t leaf_index(const struct attempt *at, uint16_t group)
{
    for (uint32_t i = 0; i < at->root->nleaves; i++)
        if (at->tree->leaves[at->root->leaf0 + i].group == group)
            return i;
    return NONE;
}

bool under(const struct tree *t, uint16_t g, uint16_t top)
{
    for (; g != GROUP_NONE; g = t->groups[g].parent)
        if (g == top)
            return true;
    return false;
}

/* Tasks of leaf i that the coming copy of group g wants to have placed. */
static uint64_t leaf_need(const struct attempt *at, uint32_t i, uint16_t g)
{
    const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + i];
    uint32_t copies = 1;
    uint64_t need = 0;
    for (uint16_t up = l->group; up != g && up != GROUP_NONE; up = at->tree->groups[up].parent)
        copies *= up == l->group ? 1 : at->tree->groups[up].count.want;
    for (uint32_t k = 0; k < copies && at->copy[i] + k < l->copies; k++)
        need += copy_wants(at, l, at->copy[i] + k, at->size[i]);
    return need;
}

/* The same, asked of every node under the domain. */
static bool group_takes(struct attempt *at, uint16_t g, uint32_t d)
{
    for (uint32_t i = 0; i < at->root->nleaves; i++) {
        const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + i];
        if (!under(at->tree, l->group, g))
            continue;
        struct asker a = asker_of(at, l);
        uint64_t need = leaf_need(at, i, g);
        if (!has_alts(at, l) && asker_takes(at->s, &a, d, need) < need)
            return false;
    }
    return true;
}

/* Do counts alone say what a domain holds? They do for whole GPUs; a first failure shows
 * that something else is short. */
static bool counts_tell(const struct attempt *at, uint16_t g)
{
    for (uint32_t i = 0; i < at->root->nleaves; i++) {
        const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + i];
        if (under(at->tree, l->group, g) &&
            at->s->shapes.at[l->shape].shape.gpu_mode != GPU_WHOLE)
            return false;
    }
    return true;
}

/* Could the domain hold all leaves under g by counts alone, and how tightly? */
static bool group_fits(struct attempt *at, uint16_t g, uint32_t d, uint64_t *ret_slack)
{
    uint64_t slack = 0;
    bool ok = true;
    for (uint32_t i = 0; i < at->root->nleaves; i++) {
        const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + i];
        if (!under(at->tree, l->group, g))
            continue;
        struct asker a = asker_of(at, l);
        uint64_t need = leaf_need(at, i, g);
        uint64_t fit = has_alts(at, l) ? UINT32_MAX : asker_fit(at->s, &a, d);
        ok = ok && fit >= need;
        slack += fit - need;
    }
    *ret_slack = slack;
    return ok;
}

static bool place_group(struct attempt *at, uint16_t g, uint32_t d);

static bool place_body(struct attempt *at, uint16_t g, uint32_t d)
{
    if (at->tree->groups[g].shape != GROUP_NONE)
        return place_leaf(at, leaf_index(at, g), d);
    for (uint16_t c = g + 1; c < at->tree->ngroups; c++) {
        if (at->tree->groups[c].parent != g)
            continue;
        bool leaf = at->tree->groups[c].shape != GROUP_NONE;
        uint32_t copies = leaf ? 1 : at->tree->groups[c].count.want;
        for (uint32_t i = 0; i < copies; i++)
            if (!place_group(at, c, d))
                return false;
    }
    return true;
}

static bool try_body(struct attempt *at, uint16_t g, uint32_t d)
{
    uint32_t mark = at->s->scratch->plan.n, copy[JOB_GROUPS_MAX];
    memcpy(copy, at->copy, sizeof copy);
    if (place_body(at, g, d))
        return true;
    trail_undo(at->s, mark);
    memcpy(at->copy, copy, sizeof copy);
    return false;
}

/* The domains of one depth under d, tightest first, until one holds the group; among equals
 * one whose parent is tightest, so that a parent which is still whole is broken last. */
static bool place_at_depth(struct attempt *at, uint16_t g, uint32_t d, uint32_t depth)
{
    struct sched *s = at->s;
    const struct cluster *c = s->cluster;
    struct scratch *sc = s->scratch;
    uint32_t base = sc->fits.n, first, end, parent = d;
    uint64_t slack, above = 0;
    bool done = false, told = counts_tell(at, g);
    domain_span(c, d, depth, &first, &end);
    for (uint32_t i = first; i < end; i++) { /* pairs: its slack, its parent's */
        if (c->domains[i].parent != parent) {
            parent = c->domains[i].parent;
            group_fits(at, g, parent, &above);
        }
        vec_push(&sc->fits, group_fits(at, g, i, &slack) ? slack : UINT64_MAX);
        vec_push(&sc->fits, above);
    }
    for (uint32_t tries = 0; !done && tries < DOMAINS_TRIED_MAX;) {
        uint32_t best = NONE;
        for (uint32_t i = 0; i < end - first; i++) {
            const uint64_t *it = &sc->fits.at[base + 2 * i];
            const uint64_t *by = &sc->fits.at[base + 2 * (best == NONE ? i : best)];
            if (it[0] != UINT64_MAX &&
                (best == NONE || it[0] < by[0] || (it[0] == by[0] && it[1] < by[1])))
                best = i;
        }
        if (best == NONE)
            break;
        sc->fits.at[base + 2 * best] = UINT64_MAX;
        if (!told && !group_takes(at, g, first + best))
            continue; /* not for lack of luck: it costs no try */
        done = try_body(at, g, first + best);
        tries += !done;
        told = false;
    }
    sc->fits.n = base;
    return done;
}

/* All on one node. */
static bool place_on_node(struct attempt *at, uint16_t g, uint32_t d)
{
    struct sched *s = at->s;
    const struct domain *dom = &s->cluster->domains[d];
    for (uint32_t rank = dom->rank_lo; rank < dom->rank_hi; rank++) {
        uint32_t node = s->cluster->order[rank], mark = s->scratch->plan.n;
        uint32_t copy[JOB_GROUPS_MAX];
        bool ok = node_is_usable(&s->cluster->nodes[node]);
        memcpy(copy, at->copy, sizeof copy);
        for (uint32_t i = 0; i < at->root->nleaves && ok; i++) {
            const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + i];
            if (!under(at->tree, l->group, g))
                continue;
            uint32_t copies = 1;
            for (uint16_t up = l->group; up != g; up = at->tree->groups[up].parent)
                copies *= up == l->group ? 1 : at->tree->groups[up].count.want;
            for (uint32_t k = 0; k < copies && ok; k++) {
                struct asker a;
                uint32_t from = s->scratch->plan.n;
                uint32_t n = copy_wants(at, l, at->copy[i], at->size[i]);
                if (copy_is_uneven(at, l, at->copy[i], n)) {
                    ok = fill_slots(at, l, at->copy[i]++, d, node, n) == n;
                    continue;
                }
                if (!asker_of_copy(at, i, at->copy[i], n, &a)) {
                    ok = place_mixed(at, i, at->copy[i]++, d, node, n);
                    continue;
                }
                ok = fill_node(s, &a, node, n) == n;
                if (ok)
                    give_slots(at, l, at->copy[i]++, from, 0);
            }
        }
        if (ok)
            return true;
        trail_undo(s, mark);
        memcpy(at->copy, copy, sizeof copy);
    }
    return false;
}

static bool place_group(struct attempt *at, uint16_t g, uint32_t d)
{
    struct sched *s = at->s;
    const struct group_spec *spec = &at->tree->groups[g];
    uint32_t here = s->cluster->domains[d].depth;
    uint32_t req = level_depth(s, spec->required), pref = level_depth(s, spec->preferred);
    if (spec->required && req == UINT32_MAX) {
        at->unknown_level = spec->required;
        return false;
    }
    if (req == UINT32_MAX || req < here)
        req = here;
    if (req > at->level_tried)
        at->level_tried = req;
    if (pref != UINT32_MAX && pref > s->cluster->nlevels && req <= s->cluster->nlevels) {
        if (place_on_node(at, g, d))
            return true;
        pref = s->cluster->nlevels;
    }
    if (req > s->cluster->nlevels)
        return place_on_node(at, g, d);
    for (uint32_t depth = pref == UINT32_MAX ? req : pref; depth > req; depth--)
        if (place_at_depth(at, g, d, depth))
            return true;
    if (req > here)
        return place_at_depth(at, g, d, req);
    return try_body(at, g, d);
}

static bool attempt_run(struct attempt *at)
{
    struct scratch *sc = at->s->scratch;
    memset(at->copy, 0, at->root->nleaves * sizeof at->copy[0]);
    sc->fits.n = 0;
    vec_clear(&sc->plan);
    bool ok = place_group(at, at->root->group, 0);
    if (!ok)
        trail_undo(at->s, 0);
    return ok;
}

/* All tasks of a leaf by the first way. */
static void mixture_first(struct attempt *at, uint32_t li)
{
    const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + li];
    memset(at->take[li], 0, sizeof at->take[li]);
    at->take[li][0] = l->copies * at->size[li];
}

/* The next mixture in the order of preference (5 tasks, 3 ways: 5 0 0, 4 1 0, 4 0 1, 3 2 0,
 * ...); false, and the first again, after the last. Large leaves go in larger steps. */
static bool mixture_next(struct attempt *at, uint32_t li)
{
    const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + li];
    uint32_t *take = at->take[li], last = shape_alts(at->s, l->shape) - 1;
    uint32_t step = (l->copies * at->size[li] + MIXTURE_STEPS - 1) / MIXTURE_STEPS;
    for (uint32_t i = last; i-- > 0;) {
        if (take[i] == 0)
            continue;
        uint32_t moved = take[i] < step ? take[i] : step, rest = take[last];
        take[last] = 0;
        take[i] -= moved;
        take[i + 1] += moved + rest;
        return true;
    }
    mixture_first(at, li);
    return false;
}

/* Until some mixture of the ways to ask for GPUs starts. */
static bool attempt_any(struct attempt *at)
{
    uint32_t n = at->root->nleaves;
    for (uint32_t i = 0; i < n && at->alternatives; i++)
        mixture_first(at, i);
    for (uint32_t tries = 0; tries < MIXTURES_TRIED_MAX; tries++) {
        if (attempt_run(at))
            return true;
        uint32_t i = at->alternatives ? n : 0;
        while (i > 0 && (!has_alts(at, &at->tree->leaves[at->root->leaf0 + i - 1]) ||
                         !mixture_next(at, i - 1)))
            i--;
        if (i == 0)
            break; /* all of them were tried */
    }
    return false;
}

/* Give everything back but keep the picks: fold takes them again with the launch. */
void attempt_close(struct sched *s)
{
    struct scratch *sc = s->scratch;
    for (uint32_t i = sc->plan.n; i-- > 0;) {
        const struct pick *p = &sc->plan.at[i];
        cluster_give(s->cluster, &p->use);
        if (s->shapes.at[p->shape].tagged)
            tally_claim(s, p->shape, p->use.node, -1);
    }
}

/* The size that a copy of the leaf is tried at first: what is wanted; where others make the
 * tasks, as many as they made. */
static uint32_t leaf_size(const struct attempt *at, const struct tree_leaf *l)
{
    return at->s->caps & CAP_MAKE ? l->want : l->per_copy;
}

/* No larger than the quotas above it leave room for, beyond its minimum. */
static uint32_t quota_size(const struct attempt *at, const struct tree_leaf *l, uint32_t size)
{
    if (!at->s->quota.on || size <= l->per_min)
        return size;
    uint32_t more = quota_tasks_left(at->s, at->gang, l->shape) / l->copies / l->step;
    return more >= (size - l->per_min) / l->step ? size : l->per_min + more * l->step;
}

/* As large as still fits, leaf by leaf, by binary search between minimum and want. */
static bool place_elastic(struct attempt *at, const uint32_t *want)
{
    bool ok = false;
    for (uint32_t i = 0; i < at->root->nleaves; i++) {
        uint32_t min = at->tree->leaves[at->root->leaf0 + i].per_min;
        at->size[i] = want[i] < min ? want[i] : min;
    }
    ok = attempt_any(at);
    for (uint32_t i = 0; i < at->root->nleaves && ok; i++) {
        uint32_t step = at->tree->leaves[at->root->leaf0 + i].step;
        uint32_t lo = 0, hi = (want[i] - at->size[i]) / step, min = at->size[i];
        while (lo < hi) {
            uint32_t mid = (lo + hi + 1) / 2;
            trail_undo(at->s, 0);
            at->size[i] = min + mid * step;
            if (attempt_any(at))
                lo = mid;
            else
                hi = mid - 1;
        }
        trail_undo(at->s, 0);
        at->size[i] = min + lo * step;
        ok = attempt_any(at);
    }
    return ok;
}

/* A gang of one needs no trail: find, and let the launch take it. */
static bool place_lone(struct attempt *at)
{
    struct sched *s = at->s;
    struct scratch *sc = s->scratch;
    const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0];
    uint32_t shape = slot_shape(s, at->gang, 0);
    vec_clear(&sc->plan);
    vec_reserve(&sc->plan, 1);
    for (uint32_t alt = 0; alt < shape_alts(s, shape); alt++) {
        struct asker a = asker_for(at, l, 0, shape_alt(s, shape, alt));
        if (!find_one(s, &a, search_domain(s, a.sh, 0), s->seq, &sc->plan.at[0].use))
            continue;
        sc->plan.at[0].shape = a.shape;
        sc->plan.at[0].over = false;
        sc->plan.at[0].slot = 0;
        sc->plan.n = 1;
        return true;
    }
    return false;
}

static bool is_lone(const struct attempt *at)
{
    if (at->root->slots != 1)
        return false;
    for (uint32_t g = 0; g < at->tree->ngroups; g++)
        if (at->tree->groups[g].required || at->tree->groups[g].segment_size)
            return false;
    return true;
}

/* Field by field: the arrays by leaf are large, and their first nleaves are set before use. */
static void attempt_init(struct attempt *at, struct sched *s, uint32_t gang)
{
    at->s = s;
    at->gang = gang;
    at->tree = gang_tree(s, &s->gangs.at[gang]);
    at->root = &at->tree->roots[s->gangs.at[gang].root];
    at->level_tried = 0;
    at->unknown_level = WORD_NONE;
    at->alternatives = false;
    for (uint32_t i = 0; i < at->root->nleaves; i++)
        at->alternatives |= has_alts(at, &at->tree->leaves[at->root->leaf0 + i]);
}

/* Topology over several gangs (a level or a cap that stands above the gang's root, or a cap
 * on tasks that are gangs of one) is not kept here, so it must not be passed over. */
static bool is_supported(const struct attempt *at)
{
    const struct group_spec *groups = at->tree->groups, *root = &groups[at->root->group];
    if (root->shape != GROUP_NONE && root->spread_kind)
        return false;
    for (uint16_t g = root->parent; g != GROUP_NONE; g = groups[g].parent)
        if (groups[g].required || groups[g].segment_size || groups[g].spread_kind)
            return false;
    return true;
}

/* As many tasks as find a node each, one by one, whatever becomes of the rest. */
static bool place_some(struct attempt *at)
{
    struct sched *s = at->s;
    vec_clear(&s->scratch->plan);
    for (uint32_t i = 0; i < at->root->nleaves; i++) {
        const struct tree_leaf *l = &at->tree->leaves[at->root->leaf0 + i];
        for (uint32_t k = 0; k < l->nslots; k++) {
            uint32_t slot = l->slot0 + k;
            struct asker a = asker_for(at, l, k / l->per_copy,
                                       slot_shape(s, at->gang, slot));
            if (k % l->per_copy >= l->want || !slot_is_open(at, slot))
                continue;
            if (!fill_one(s, &a, search_domain(s, a.sh, 0), s->seq))
                break;
            s->scratch->plan.at[s->scratch->plan.n - 1].slot = slot;
        }
    }
    return s->scratch->plan.n > 0;
}

bool place_gang(struct sched *s, uint32_t gang, struct why *why)
{
    struct scratch *sc = scratch_ready(s);
    struct attempt at;
    uint32_t want[JOB_GROUPS_MAX];
    attempt_init(&at, s, gang);
    if (!is_supported(&at)) {
        *why = (struct why){.code = WHY_UNSUPPORTED, .need = at.root->min};
        return false;
    }
    bool elastic = false;
    sc->best_placed = 0;
    vec_clear(&sc->spread);
    for (uint32_t i = 0; i < at.root->nleaves; i++) {
        const struct tree_leaf *l = &at.tree->leaves[at.root->leaf0 + i];
        at.size[i] = want[i] = quota_size(&at, l, leaf_size(&at, l));
        at.copy[i] = 0;
        elastic = elastic || l->per_min < want[i];
    }
    if (is_lone(&at) && s->cluster->nranks) {
        if (place_lone(&at))
            return true;
        explain_refusal(&at, why);
        return false;
    }
    bool ok = s->cluster->nranks && attempt_any(&at);
    if (!ok && elastic && s->cluster->nranks)
        ok = place_elastic(&at, want);
    if (!ok && s->policy.gangs == GANGS_PODS && s->cluster->nranks && place_some(&at)) {
        attempt_close(s);
        return true;
    }
    ok = ok && sc->plan.n > 0; /* members that are done may cover the minimum: one more must fit */
    if (ok)
        attempt_close(s);
    else
        explain_refusal(&at, why);
    return ok;
}

bool place_on(struct sched *s, uint32_t gang, uint32_t node)
{
    struct scratch *sc = scratch_ready(s);
    struct attempt at;
    attempt_init(&at, s, gang);
    const struct tree_leaf *l = &at.tree->leaves[at.root->leaf0];
    uint32_t shape = slot_shape(s, gang, 0);
    vec_clear(&sc->plan);
    vec_clear(&sc->spread);
    for (uint32_t alt = 0; alt < shape_alts(s, shape) && sc->plan.n == 0; alt++) {
        struct asker a = asker_for(&at, l, 0, shape_alt(s, shape, alt));
        if (is_supported(&at))
            fill_node(s, &a, node, 1);
    }
    if (sc->plan.n == 0)
        return false;
    sc->plan.at[0].slot = 0;
    attempt_close(s);
    return true;
}
