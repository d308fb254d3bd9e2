/* score_published.c - BestFit, DotProd, GpuPacking and GpuClustering of the FGD
 * experiment
 *
 * The rules of hkust-adsl/kubernetes-scheduler-simulator (plugins of the same names),
 * equal to its published results to the digit: doubles in this very order, truncated to
 * integers. 128 cores and 8 GPUs are the largest node of that cluster and stand in the
 * formulas. SPDX-License-Identifier: Apache-2.0 */
#include "sched/score_rules.h"

#define CPU_MOST 128000
#define GPU_MOST 8000

int32_t score_best_fit(struct scoring *sc, uint32_t node, const struct shape *shape,
                       uint64_t types, struct use *use)
{
    (void)types, (void)use;
    const struct node *n = &sc->cluster->nodes[node];
    int64_t cpu = n->cpu_free - shape->cpu_milli;
    int64_t gpu = n->gpu_free_milli - (int64_t)shape_gpu_milli(shape);
    double left = (double)cpu / CPU_MOST * 0.5 + (double)gpu / GPU_MOST * 0.5;
    return (int32_t)((1 - left) * 100);
}

int32_t score_dot_product(struct scoring *sc, uint32_t node, const struct shape *shape,
                          uint64_t types, struct use *use)
{
    (void)types, (void)use;
    const struct node *n = &sc->cluster->nodes[node];
    double cpu = (double)n->cpu_free / CPU_MOST * ((double)shape->cpu_milli / CPU_MOST);
    double gpu = (double)n->gpu_free_milli / GPU_MOST *
                 ((double)shape_gpu_milli(shape) / GPU_MOST);
    return (int32_t)(100 * (1 - (cpu + gpu) / 2));
}

/* Devices that the task would take, when only its score is wanted. */
static uint64_t part_devs(const struct scoring *sc, uint32_t node,
                          const struct shape *shape, uint64_t types,
                          const struct use *use)
{
    struct use own;
    if (use)
        return use->devs;
    if (shape->gpu_mode == GPU_SHARE)
        return score_share_pick(sc->cluster, node, shape,
                                score_share_devs(sc->cluster, node, shape, types));
    return score_fits(sc->cluster, node, shape, types, &own) ? own.devs : 0;
}

/* An empty node last (the smaller the better), then free GPUs of a used node, best are
 * used GPUs, the fuller the better. */
int32_t score_gpu_packing(struct scoring *sc, uint32_t node, const struct shape *shape,
                          uint64_t types, struct use *use)
{
    const struct cluster *c = sc->cluster;
    const struct node *n = &c->nodes[node];
    if (shape->gpu_mode == GPU_NONE)
        return 0;
    int32_t nfree = n->nwhole, freed = 0;
    if (nfree == __builtin_popcountll(n->healthy))
        return 33 - nfree > nfree ? 33 - nfree : nfree;
    int64_t left_sum = 0;
    if (shape->gpu_mode == GPU_WHOLE) {
        freed = (int32_t)shape->gpu_count;
    } else {
        uint64_t devs = part_devs(sc, node, shape, types, use);
        freed = __builtin_popcountll(devs & n->whole_free);
        for (; devs; devs &= devs - 1)
            left_sum +=
                (int64_t)c->devices[n->device0 + (uint32_t)__builtin_ctzll(devs)]
                    .free_milli *
                100 / 1000;
    }
    if (freed)
        return 50 - freed > 33 ? 50 - freed : 33;
    int32_t full = (int32_t)(100 - left_sum / 10);
    return full > 50 ? full : 50;
}

/* Nodes that run tasks of the same kind (share, 1 GPU, 2 GPUs ...) and no others
 * first. */
int32_t score_gpu_clustering(struct scoring *sc, uint32_t node,
                             const struct shape *shape, uint64_t types, struct use *use)
{
    (void)types, (void)use;
    const struct node *n = &sc->cluster->nodes[node];
    if (shape->gpu_mode == GPU_NONE)
        return 0;
    uint32_t kind = 0, kinds = 0;
    if (shape->gpu_mode == GPU_WHOLE)
        kind = shape->gpu_count > 9 ? 9 : shape->gpu_count;
    for (uint32_t i = 0; i < 10; i++)
        kinds += n->uses_by_gpus[i] > 0;
    int32_t used = (int32_t)(25 * (GPU_MOST - n->gpu_free_milli) / GPU_MOST);
    if (n->uses_by_gpus[kind])
        return used + (kinds == 1 ? 75 : 50);
    return kinds ? used : used + 25;
}
