/* score.c - which node for one task: what fits, and how good it is there
 *
 * score_fits is the one place that says whether a task's room is there; scorers only
 * order what fits. score_quick (score_rules.h) is a short way for the common case, that
 * nobody wants the devices yet: whole GPUs by the node's count, shares by the largest
 * free share. SPDX-License-Identifier: Apache-2.0 */
#include "sched/score.h"

#include <assert.h>

#include "base/hash.h"
#include "sched/frag.h"
#include "sched/score_rules.h"

static const struct scorer scorers[] = {
    {"first", "the first node by name that has room", false, false, score_same},
    {"fewest-free", "the node with the fewest free GPUs that suffice", false, false,
     score_fewest_free},
    {"most-free", "the node with the most free GPUs", false, false, score_most_free},
    {"least-allocated", "kube-scheduler's LeastAllocated over CPU and memory", false,
     false, score_least_allocated},
    {"most-allocated", "kube-scheduler's MostAllocated: CPU 1, memory 1, GPU 3", false,
     false, score_most_allocated},
    {"random", "any node that has room, by a hash of seed, task and node", false, true,
     score_same},
    {"dotprod", "dot product of what is asked and what is free", false, false,
     score_dot_product},
    {"gpu-packing", "used GPUs first, then used nodes", false, false,
     score_gpu_packing},
    {"gpu-clustering", "nodes that run tasks of the same kind", false, false,
     score_gpu_clustering},
    {"bestfit", "least CPU and GPU left", false, false, score_best_fit},
    {"fgd", "least growth of fragmentation (Weng et al., ATC'23)", true, false,
     score_fgd},
    {"pack", "most value left for the typical mix (docs/packing.md)", true, false,
     score_pack},
};

const struct scorer *scorer_at(uint32_t i)
{
    return i < sizeof scorers / sizeof *scorers ? &scorers[i] : NULL;
}

const struct scorer *scorer_find(struct str name)
{
    for (uint32_t i = 0; scorer_at(i); i++)
        if (str_is(name, scorers[i].name))
            return &scorers[i];
    return NULL;
}

void scoring_init(struct scoring *sc, const struct cluster *c,
                  const struct scorer *scorer, struct mix *mix, uint64_t seed)
{
    memset(sc, 0, sizeof *sc);
    sc->cluster = c;
    sc->scorer = scorer;
    sc->mix = mix ? mix : &sc->no_mix;
    sc->seed = seed;
}

void scoring_done(struct scoring *sc)
{
    frag_destroy(sc->frag);
    fgd_destroy(sc->fgd);
    pack_destroy(sc->pack);
    mix_done(&sc->no_mix);
    vec_done(&sc->views);
    sc->frag = NULL;
    sc->fgd = NULL;
    sc->pack = NULL;
}

uint64_t scoring_era(struct scoring *sc)
{
    if (sc->views.n < sc->cluster->nnodes)
        vec_resize(&sc->views, sc->cluster->nnodes);
    uint64_t era = sc->cluster->ntypes;
    if (!sc->scorer->mix)
        return era;
    if (sc->scorer->score == score_pack)
        return pack_era(sc);
    fgd_era(sc);
    return (uint64_t)sc->mix->version << 8 | era;
}

uint64_t score_types(const struct cluster *c, const struct shape *shape)
{
    if (!shape->ntypes || shape->gpu_mode == GPU_NONE)
        return ~UINT64_C(0);
    uint64_t types = 0;
    for (uint32_t i = 0; i < shape->ntypes; i++) {
        uint32_t id = cluster_type_id(c, shape->types[i].type);
        types |= id < TYPES_MAX ? UINT64_C(1) << id : 0;
    }
    return types;
}

static inline bool device_shares(const struct device *d)
{
    return (d->modes & DEVICE_SHARE) && !d->cut && !d->wholes;
}

static inline bool device_has_bytes(const struct device *d, int64_t bytes)
{
    return !d->mem_cap || d->mem_free >= bytes;
}

uint64_t score_share_devs(const struct cluster *c, uint32_t node,
                          const struct shape *shape, uint64_t types)
{
    const struct node *n = &c->nodes[node];
    uint64_t devs = 0;
    for (uint64_t left = n->healthy; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        const struct device *d = &c->devices[n->device0 + i];
        bool fits = device_shares(d) && d->free_milli >= (int32_t)shape->gpu_milli &&
                    device_has_bytes(d, shape->gpu_mem_bytes) && (types >> d->type & 1);
        devs |= (uint64_t)fits << i;
    }
    return devs;
}

uint64_t score_share_pick(const struct cluster *c, uint32_t node,
                          const struct shape *shape, uint64_t devs)
{
    const struct device *d = &c->devices[c->nodes[node].device0];
    uint64_t picked = 0;
    if ((uint32_t)__builtin_popcountll(devs) < shape->gpu_count)
        return 0;
    for (uint32_t k = 0; k < shape->gpu_count; k++) {
        uint32_t best = UINT32_MAX;
        for (uint64_t left = devs & ~picked; left; left &= left - 1) {
            uint32_t i = (uint32_t)__builtin_ctzll(left);
            if (best == UINT32_MAX || d[i].free_milli < d[best].free_milli)
                best = i;
        }
        picked |= UINT64_C(1) << best;
    }
    return picked;
}

/* Whole devices: of any type together, or of one of the accepted types: the lowest
 * set. */
static uint64_t whole_pick(const struct cluster *c, const struct node *n,
                           uint32_t count, uint64_t types)
{
    if (types == ~UINT64_C(0) || (n->type != TYPE_ANY && (types >> n->type & 1)))
        return node_pick_whole(c, n, TYPE_ANY, count);
    uint64_t best = 0;
    if (n->type != TYPE_ANY)
        return 0;
    for (; types; types &= types - 1) {
        uint32_t type = (uint32_t)__builtin_ctzll(types);
        uint64_t devs = type < c->ntypes ? node_pick_whole(c, n, type, count) : 0;
        if (devs && (!best || devs < best))
            best = devs;
    }
    return best;
}

/* The device with the fewest free slices that has room for the profile. */
static uint64_t mig_pick(const struct cluster *c, const struct node *n,
                         const struct shape *shape, uint64_t types, struct use *use)
{
    int fewest = SLICES_MAX + 1;
    uint64_t picked = 0;
    for (uint64_t left = shape->gpu_count == 1 ? n->healthy : 0; left;
         left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        const struct device *d = &c->devices[n->device0 + i];
        const struct profile *p = NULL;
        int free_slices = __builtin_popcount(d->slices_free);
        if (!(types >> d->type & 1) || !(d->modes & DEVICE_MIG) ||
            free_slices >= fewest || d->nuses > d->cut)
            continue;
        uint16_t slices = device_mig_place(c, d, shape->profile, &p);
        if (!slices)
            continue;
        fewest = free_slices;
        picked = UINT64_C(1) << i;
        use->slices = slices;
        use->compute = p->compute;
        use->gpu_mem_bytes = p->mem_bytes;
        use->gpu_milli = p->milli;
    }
    return picked;
}

bool score_fits(const struct cluster *c, uint32_t node, const struct shape *shape,
                uint64_t types, struct use *use)
{
    struct use unwanted;
    const struct node *n = &c->nodes[node];
    if (!node_has_room(n, shape))
        return false;
    use = use ? use : &unwanted;
    memset(use, 0, sizeof *use);
    use->node = node;
    use->slots = shape->pod_slots;
    use->nics = shape->nics;
    use->mode = shape->gpu_mode;
    use->cpu_milli = shape->cpu_milli;
    use->mem_bytes = shape->mem_bytes;
    if (shape->gpu_mode == GPU_NONE)
        return true;
    use->gpu_milli = shape->gpu_milli;
    if (shape->gpu_mode == GPU_WHOLE) {
        use->devs = whole_pick(c, n, shape->gpu_count, types);
    } else if (shape->gpu_mode == GPU_SHARE) {
        use->gpu_mem_bytes = shape->gpu_mem_bytes;
        use->devs =
            score_share_pick(c, node, shape, score_share_devs(c, node, shape, types));
    } else {
        use->devs = mig_pick(c, n, shape, types, use);
    }
    return use->devs != 0;
}

void score_view_make(struct scoring *sc, uint32_t node)
{
    const struct node *n = &sc->cluster->nodes[node];
    struct node_view *v = &sc->views.at[node];
    v->at = n->changed_at + 1;
    v->share_milli = -1;
    v->even = true;
    for (uint64_t left = n->healthy; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        const struct device *d = &sc->cluster->devices[n->device0 + i];
        bool shares = device_shares(d);
        v->even &= shares || d->free_milli <= 0;
        if (shares && d->free_milli > v->share_milli)
            v->share_milli = d->free_milli;
    }
}

int32_t score_shuffle(uint64_t seed, uint64_t serial, uint32_t rank)
{
    return (int32_t)(digest_mix(digest_mix(seed, serial), rank) >> 33);
}

/* `random` draws the device of a share too, as the FGD experiment did (-gpusel
 * random). */
static void shuffle_device(struct scoring *sc, uint32_t node, const struct shape *shape,
                           uint64_t types, uint64_t serial, struct use *use)
{
    uint64_t devs = score_share_devs(sc->cluster, node, shape, types);
    uint64_t h =
        digest_mix(digest_mix(sc->seed, serial), sc->cluster->nodes[node].rank);
    for (uint32_t n =
             (uint32_t)(digest_mix(h, 1) % (uint32_t)__builtin_popcountll(devs));
         n > 0; n--)
        devs &= devs - 1;
    use->devs = devs & -devs;
}

int32_t score_node(struct scoring *sc, uint32_t node, const struct shape *shape,
                   uint64_t types, uint64_t serial, struct use *use)
{
    if (use && !score_fits(sc->cluster, node, shape, types, use))
        return SCORE_NONE;
    int32_t score = use ? sc->scorer->score(sc, node, shape, types, use)
                        : score_quick(sc, node, shape, types);
    if (score == SCORE_NONE)
        return score;
    if (sc->scorer->shuffled && use && shape->gpu_mode == GPU_SHARE &&
        shape->gpu_count == 1)
        shuffle_device(sc, node, shape, types, serial, use);
    if (sc->scorer->shuffled)
        return score_shuffle(sc->seed, serial, sc->cluster->nodes[node].rank);
    return score;
}
