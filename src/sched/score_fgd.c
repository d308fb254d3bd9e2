/* score_fgd.c - FGD: the node whose fragmentation grows least (Weng et al., ATC'23)
 *
 * Score = int(100 * sigmoid((F(node) - F(node after)) / 1000)), share tasks take the
 * device with the best score, lowest index, whole ones the lowest free devices. The
 * sigmoid is a table of exact thresholds, so no libm takes part in a decision. With F
 * from frag.h a score depends on (set, level, level after, GPUs asked) alone; those are
 * remembered in a lossy table (what is pushed out is computed again). Which device is
 * best is not remembered: among equal scores it depends on the order of the devices,
 * which a set does not know. SPDX-License-Identifier: Apache-2.0 */
#include "base/bitset.h"
#include "sched/frag.h"
#include "sched/score_rules.h"

enum { CELL_BITS = 15 }; /* 512 KiB */

struct cell {
    uint64_t key; /* + 1; 0: empty */
    int32_t score;
};

struct fgd {
    uint64_t era; /* of frag: numbers of sets are void in another */
    struct cell cells[1 << CELL_BITS];
};

/* The least x with int(100 * (1 / (1 + exp(-x)))) >= i + 1, in doubles: found by
 * bisection over all doubles with glibc 2.36's exp; on both sides of each, 2,000
 * doubles agree. That the one for 50 is not 0 matters: 1 + exp(-x) is 2 for tiny
 * negative x too. */
static const double thresholds[100] = {
    -0x1.2616719161d2bp+2, -0x1.f2272ae325a57p+1,  -0x1.bcf0cd474166bp+1,
    -0x1.96ca77c922cf8p+1, -0x1.78e360604b32cp+1,  -0x1.60324f23a6f31p+1,
    -0x1.4b18a2ece7fb3p+1, -0x1.389ed3e132574p+1,  -0x1.28253079db672p+1,
    -0x1.193ea7aad030ap+1, -0x1.0b9d677dddeap+1,   -0x1.fe0fe73ce8885p+0,
    -0x1.e6a53bbe5e6a6p+0, -0x1.d0b6d7df77dcap+0,  -0x1.bc0ed0947fbe9p+0,
    -0x1.a881a29e52373p+0, -0x1.95ebab1969313p+0,  -0x1.842f595c35286p+0,
    -0x1.7333ddeaaa5d1p+0, -0x1.62e42fefa39efp+0,  -0x1.532e4fddf686ap+0,
    -0x1.4402b6211ad15p+0, -0x1.3553e218d610fp+0,  -0x1.2716011df4657p+0,
    -0x1.193ea7aad030bp+0, -0x1.0bc49861276d8p+0,  -0x1.fd3f2b9036cf2p-1,
    -0x1.e39078d49916ap-1, -0x1.ca6fc71eebdccp-1,  -0x1.b1d10670aae9ap-1,
    -0x1.99a93ca5c286fp-1, -0x1.81ee60afb501ap-1,  -0x1.6a973b5e9a627p-1,
    -0x1.539b4cb6ce55fp-1, -0x1.3cf2b50617c96p-1,  -0x1.269621134db93p-1,
    -0x1.107eb8e2da1e5p-1, -0x1.f54c21463c16ap-2,  -0x1.ca0c36ce6521cp-2,
    -0x1.9f323ecbf984fp-2, -0x1.74b356ffd351ep-2,  -0x1.4a851baf27b6fp-2,
    -0x1.209d96a324508p-2, -0x1.ede65f58845bep-3,  -0x1.9af93cd23440bp-3,
    -0x1.4861ba31d0a04p-3, -0x1.ec1c712297e9ep-4,  -0x1.47dadcbbdba94p-4,
    -0x1.47b9447a9aa07p-5, -0x1.7fffffffffffep-52, 0x1.47b9447a9a9c4p-5,
    0x1.47dadcbbdba7bp-4,  0x1.ec1c712297e7cp-4,   0x1.4861ba31d09fbp-3,
    0x1.9af93cd234413p-3,  0x1.ede65f58845bbp-3,   0x1.209d96a324507p-2,
    0x1.4a851baf27b6dp-2,  0x1.74b356ffd3519p-2,   0x1.9f323ecbf9849p-2,
    0x1.ca0c36ce65216p-2,  0x1.f54c21463c167p-2,   0x1.107eb8e2da1e5p-1,
    0x1.269621134db9p-1,   0x1.3cf2b50617c95p-1,   0x1.539b4cb6ce55bp-1,
    0x1.6a973b5e9a624p-1,  0x1.81ee60afb5015p-1,   0x1.99a93ca5c2867p-1,
    0x1.b1d10670aae98p-1,  0x1.ca6fc71eebdc9p-1,   0x1.e39078d499169p-1,
    0x1.fd3f2b9036cf2p-1,  0x1.0bc49861276d8p+0,   0x1.193ea7aad030bp+0,
    0x1.2716011df4658p+0,  0x1.3553e218d610dp+0,   0x1.4402b6211ad15p+0,
    0x1.532e4fddf686bp+0,  0x1.62e42fefa39edp+0,   0x1.7333ddeaaa5cdp+0,
    0x1.842f595c35285p+0,  0x1.95ebab196930fp+0,   0x1.a881a29e52371p+0,
    0x1.bc0ed0947fbe6p+0,  0x1.d0b6d7df77dc7p+0,   0x1.e6a53bbe5e6a5p+0,
    0x1.fe0fe73ce8885p+0,  0x1.0b9d677dddea2p+1,   0x1.193ea7aad030cp+1,
    0x1.28253079db673p+1,  0x1.389ed3e132573p+1,   0x1.4b18a2ece7fb3p+1,
    0x1.60324f23a6f2ep+1,  0x1.78e360604b32bp+1,   0x1.96ca77c922cefp+1,
    0x1.bcf0cd474166bp+1,  0x1.f2272ae325a49p+1,   0x1.2616719161d18p+2,
    0x1.25e4f7b2737fbp+5,
};

int32_t fgd_sigmoid(double x)
{
    int32_t lo = 0,
            hi = 100; /* thresholds below lo are reached, from hi on they are not */
    while (lo < hi) {
        int32_t mid = (lo + hi) / 2;
        if (x >= thresholds[mid])
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void fgd_destroy(struct fgd *f)
{
    free(f);
}

void fgd_era(struct scoring *sc)
{
    if (!sc->frag)
        sc->frag = frag_create(sc->cluster, sc->mix);
    uint64_t era = frag_era(sc->frag);
    if (sc->fgd && sc->fgd->era == era)
        return;
    free(sc->fgd);
    sc->fgd = mem_zero(sizeof *sc->fgd);
    sc->fgd->era = era;
}

static int32_t growth_score(struct frag *f, struct frag_state before, uint32_t set,
                            uint32_t level)
{
    double x = frag_value(f, before.set, before.level) - frag_value(f, set, level);
    return fgd_sigmoid(x / 1000);
}

/* The best device for a share, and its score. */
static int32_t share_score(struct scoring *sc, uint32_t node, const struct shape *shape,
                           uint64_t types, struct frag_state before, uint32_t level,
                           uint64_t *ret_devs)
{
    const struct node *n = &sc->cluster->nodes[node];
    const struct device *base = &sc->cluster->devices[n->device0];
    int32_t best = SCORE_NONE;
    uint64_t tried[16] = {0}; /* bit for each free milli: devices alike make one set */
    bool one_type = n->type != TYPE_ANY;
    for (uint64_t left = score_share_devs(sc->cluster, node, shape, types); left;
         left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left),
                 milli = (uint32_t)base[i].free_milli;
        if (one_type && bit_get(tried, milli))
            continue;
        bit_set(tried, milli);
        uint32_t set = frag_step(sc->frag, before.set, &base[i], shape->gpu_milli);
        int32_t score = growth_score(sc->frag, before, set, level);
        if (score > best) {
            best = score;
            *ret_devs = UINT64_C(1) << i;
        }
    }
    return best;
}

static int32_t fgd_compute(struct scoring *sc, uint32_t node, const struct shape *shape,
                           uint64_t types, struct frag_state before, uint32_t level,
                           struct use *use)
{
    struct use own;
    uint32_t set = before.set;
    if (shape->gpu_mode == GPU_NONE)
        return growth_score(sc->frag, before, set, level);
    if (shape->gpu_mode == GPU_SHARE && shape->gpu_count == 1)
        return share_score(sc, node, shape, types, before, level,
                           use ? &use->devs : &own.devs);
    if (!use && !score_fits(sc->cluster, node, shape, types, use = &own))
        return SCORE_NONE;
    const struct node *n = &sc->cluster->nodes[node];
    for (uint64_t left = use->devs; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        set = frag_step(sc->frag, set, &sc->cluster->devices[n->device0 + i],
                        use->gpu_milli);
    }
    return growth_score(sc->frag, before, set, level);
}

/* Is the score a matter of the set alone: one type, and each device with something free
 * may be chosen? */
static bool is_plain(struct scoring *sc, uint32_t node, const struct shape *shape)
{
    if (sc->cluster->nodes[node].type == TYPE_ANY)
        return shape->gpu_mode == GPU_NONE;
    if (shape->gpu_mode == GPU_SHARE)
        return !shape->gpu_mem_bytes && shape->gpu_count == 1 &&
               score_view(sc, node)->even;
    return shape->gpu_mode != GPU_MIG;
}

int32_t score_fgd(struct scoring *sc, uint32_t node, const struct shape *shape,
                  uint64_t types, struct use *use)
{
    struct frag_state before = frag_state(sc->frag, node);
    int64_t cpu = sc->cluster->nodes[node].cpu_free - shape->cpu_milli;
    uint32_t level = frag_level(sc->frag, cpu);
    if (use || !is_plain(sc, node, shape))
        return fgd_compute(sc, node, shape, types, before, level, use);
    /* 20 + 12 + 12 + 10 + 7 bits; whole and share differ in milli */
    uint64_t key = (uint64_t)before.set << 41 | (uint64_t)before.level << 29 |
                   (uint64_t)level << 17 | (uint64_t)shape->gpu_milli << 7 |
                   shape->gpu_count;
    key = shape->gpu_mode == GPU_NONE ? key & ~UINT64_C(0x1ffff) : key;
    struct cell *cell = &sc->fgd->cells[key * 0x9E3779B97F4A7C15u >> (64 - CELL_BITS)];
    if (cell->key != key + 1) {
        cell->score = fgd_compute(sc, node, shape, types, before, level, NULL);
        cell->key = key + 1;
    }
    return cell->score;
}
