/* score_pack.c - muster's own packing: keep what the typical mix can still use
 *
 * A node's free devices are worth m = sum of R(free milli), where R is the best that the
 * mix's slices, at their prices (score_pack_price.c), make of so much room. Of that, what
 * the node's free CPU or memory cannot feed is lost:
 *
 *     Phi = m - b S(m - cpu/A) - c S(m - mem/M)
 *
 * with S(z) = z where z > 0, rounded off between -w and w. A task goes where
 *
 *     Phi(after) - Phi(before) + (small terms: see the constants)
 *
 * is largest; a share takes the device that makes it largest. All in integers. Why it
 * looks so, where the constants come from and what it reaches stands in
 * docs/packing.md. SPDX-License-Identifier: Apache-2.0 */
#include "sched/score_pack.h"

#include "sched/score_rules.h"

/* One set for all workloads, tuned on seeds 42 .. 46 of the 17 published workloads. */
#define PARTIAL 0.02 /* a device in use is worth so much less than its best filling */
#define FULL 0.0075  /* bonus for a device that is filled to the last milli */
#define CPU_A 9700.0 /* milli-CPU that a GPU's worth needs */
#define MEM_M 36.2   /* GiB that a GPU's worth needs */
#define WIDTH 0.09   /* w, in GPUs */
#define CPU_B 0.43   /* b */
#define MEM_B 0.225  /* c */
#define LEFT_GPU 0.0106 /* for 8 free GPUs that stay: prefer nodes with less */
#define LEFT_CPU 0.0046 /* for 128 free cores that stay */
#define PULL 0.3        /* per GPU taken of a type that others ask for by name */
#define SPREAD 0.003    /* x (free GPUs / 8)^2 that goes away */

#define FIXED(x, bits) ((int64_t)((x) * (double)(INT64_C(1) << (bits)) + 0.5))

enum { RATE_BITS = 16 }; /* of the rates below */

#define CPU_RATE FIXED(PACK_UNIT / CPU_A, RATE_BITS)               /* per milli-CPU */
#define MEM_RATE FIXED(PACK_UNIT / (MEM_M * 1024), RATE_BITS)      /* per MiB */
#define LEFT_GPU_RATE FIXED(LEFT_GPU *PACK_UNIT / 8000, RATE_BITS) /* per milli-GPU */
#define LEFT_CPU_RATE FIXED(LEFT_CPU *PACK_UNIT / 128000, RATE_BITS)

struct pack_node {
    uint64_t at; /* changed_at + 1; 0: nothing known */
    uint64_t era;
    int64_t worth; /* m */
    int64_t phi;
};

struct pack {
    uint64_t era, settles;
    uint32_t version, ntypes;
    bool made;
    int32_t worth[1001]; /* R, in GPUs / 2^20 */
    int64_t pull[TYPES_MAX];
    VEC(struct pack_node) nodes;
};

void pack_destroy(struct pack *p)
{
    if (p)
        vec_done(&p->nodes);
    free(p);
}

static void worth_make(struct pack *p, const struct mix *mix)
{
    struct pack_sizes sizes;
    double best[1001];
    pack_price(mix, &sizes);
    pack_knapsack(&sizes, best);
    for (uint32_t r = 0; r < 1000; r++) {
        /* Nothing is known yet: a piece is worth its size. */
        double x = mix->items.n ? best[r] * (1 - PARTIAL) : (double)r / 1000;
        p->worth[r] = (int32_t)(x * PACK_UNIT + 0.5);
    }
    p->worth[0] += (int32_t)FIXED(FULL, PACK_BITS);
    p->worth[1000] = PACK_UNIT;
}

uint64_t pack_era(struct scoring *sc)
{
    if (!sc->pack)
        sc->pack = mem_zero(sizeof *sc->pack);
    struct pack *p = sc->pack;
    const struct cluster *c = sc->cluster;
    mix_bind(sc->mix, c);
    if (p->nodes.n < c->nnodes)
        vec_resize(&p->nodes, c->nnodes);
    if (p->made && p->version == sc->mix->version && p->settles == c->settles &&
        p->ntypes == c->ntypes)
        return p->era;
    if (!p->made || p->version != sc->mix->version)
        worth_make(p, sc->mix);
    pack_pull(sc->mix, c, p->pull);
    p->version = sc->mix->version;
    p->settles = c->settles;
    p->ntypes = c->ntypes;
    p->made = true;
    return ++p->era;
}

/* max(z, 0) with a rounded corner. */
static inline int64_t corner(int64_t z)
{
    const int64_t w = FIXED(WIDTH, PACK_BITS);
    if (z <= -w)
        return 0;
    return z >= w ? z : (z + w) * (z + w) / (4 * w);
}

/* Phi, in GPUs / 2^20. */
static int64_t phi(int64_t worth, int64_t cpu_milli, int64_t mem_bytes)
{
    int64_t cpu = cpu_milli * CPU_RATE >> RATE_BITS;
    int64_t mem = (mem_bytes >> 20) * MEM_RATE >> RATE_BITS;
    int64_t lost = FIXED(CPU_B, RATE_BITS) * corner(worth - cpu) +
                   FIXED(MEM_B, RATE_BITS) * corner(worth - mem);
    return worth - (lost >> RATE_BITS);
}

static inline int32_t device_worth(const struct pack *p, int64_t free_milli)
{
    return p->worth[free_milli < 0 ? 0 : free_milli > 1000 ? 1000 : free_milli];
}

static const struct pack_node *pack_node(struct scoring *sc, uint32_t node)
{
    struct pack *p = sc->pack;
    const struct node *n = &sc->cluster->nodes[node];
    struct pack_node *v = &p->nodes.at[node];
    if (v->at == n->changed_at + 1 && v->era == p->era)
        return v;
    v->at = n->changed_at + 1;
    v->era = p->era;
    v->worth = 0;
    for (uint64_t left = n->healthy; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        v->worth += device_worth(p, sc->cluster->devices[n->device0 + i].free_milli);
    }
    v->phi = phi(v->worth, n->cpu_free, n->mem_free);
    return v;
}

/* What changes in (free GPUs / 8)^2 when k of f whole free GPUs go. */
static inline int64_t spread(int64_t f, int64_t k)
{
    return FIXED(SPREAD / 64, PACK_BITS + 4) * (f * f - (f - k) * (f - k)) >> 4;
}

/* Best over the devices that could take the share. */
static int64_t share_best(struct scoring *sc, uint32_t node, const struct shape *shape,
                          uint64_t types, int64_t worth, uint64_t *ret_devs)
{
    const struct pack *p = sc->pack;
    const struct node *n = &sc->cluster->nodes[node];
    const struct device *d = &sc->cluster->devices[n->device0];
    int64_t cpu = n->cpu_free - shape->cpu_milli, mem = n->mem_free - shape->mem_bytes;
    int64_t best = INT64_MIN;
    int32_t last = -1;
    for (uint64_t left = score_share_devs(sc->cluster, node, shape, types); left;
         left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        if (d[i].free_milli == last)
            continue;
        last = d[i].free_milli;
        int64_t after = worth - device_worth(p, last) +
                        device_worth(p, last - (int32_t)shape->gpu_milli);
        int64_t value = phi(after, cpu, mem);
        value += n->whole_free >> i & 1 ? spread(n->nwhole, 1) : 0;
        if (value > best) {
            best = value;
            *ret_devs = UINT64_C(1) << i;
        }
    }
    return best;
}

/* Several shares, slices, or whole GPUs: on the devices that they take by default. */
static int64_t devices_best(struct scoring *sc, uint32_t node,
                            const struct shape *shape, uint64_t types, int64_t worth,
                            struct use *use)
{
    struct use own;
    const struct pack *p = sc->pack;
    const struct node *n = &sc->cluster->nodes[node];
    int64_t cpu = n->cpu_free - shape->cpu_milli, mem = n->mem_free - shape->mem_bytes;
    if (shape->gpu_mode == GPU_WHOLE)
        return phi(worth - (int64_t)shape->gpu_count * PACK_UNIT, cpu, mem) +
               spread(n->nwhole, shape->gpu_count);
    if (!use)
        score_fits(sc->cluster, node, shape, types, use = &own);
    for (uint64_t left = use->devs; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        int64_t milli = sc->cluster->devices[n->device0 + i].free_milli;
        worth += device_worth(p, milli - use->gpu_milli) - device_worth(p, milli);
    }
    return phi(worth, cpu, mem);
}

static int64_t node_pull(const struct scoring *sc, const struct node *n)
{
    if (n->type != TYPE_ANY)
        return sc->pack->pull[n->type];
    int64_t most = 0;
    for (uint32_t i = 0; i < n->ndevices; i++) {
        int64_t pull = sc->pack->pull[sc->cluster->devices[n->device0 + i].type];
        most = pull > most ? pull : most;
    }
    return most;
}

int32_t score_pack(struct scoring *sc, uint32_t node, const struct shape *shape,
                   uint64_t types, struct use *use)
{
    const struct node *n = &sc->cluster->nodes[node];
    const struct pack_node *v = pack_node(sc, node);
    int64_t cpu = n->cpu_free - shape->cpu_milli,
            milli = (int64_t)shape_gpu_milli(shape);
    int64_t score;
    uint64_t devs;
    if (shape->gpu_mode == GPU_NONE) {
        milli = 0;
        score = phi(v->worth, cpu, n->mem_free - shape->mem_bytes);
    } else if (shape->gpu_mode == GPU_SHARE && shape->gpu_count == 1) {
        score = share_best(sc, node, shape, types, v->worth, use ? &use->devs : &devs);
    } else {
        score = devices_best(sc, node, shape, types, v->worth, use);
    }
    score -= v->phi;
    score -= LEFT_GPU_RATE * (n->gpu_free_milli - milli) >> RATE_BITS;
    score -= LEFT_CPU_RATE * cpu >> RATE_BITS;
    if (milli)
        score -= FIXED(PULL, PACK_BITS) * milli / 1000 * node_pull(sc, n) >> 16;
    return score < -INT32_MAX  ? -INT32_MAX
           : score > INT32_MAX ? INT32_MAX
                               : (int32_t)score;
}
