/* score_simple.c - scores that know nothing of GPUs in particular
 *
 * least-allocated and most-allocated are kube-scheduler's NodeResourcesFit strategies
 * (pkg/scheduler/framework/plugins/noderesources/{least,most}_allocated.go): per
 * resource an integer 0 .. 100, then the weighted mean, rounded down. least-allocated
 * weighs CPU and memory 1 each, the scheduler's default; most-allocated weighs CPU 1,
 * memory 1 and GPU 3 as the example in Kubernetes' "Resource Bin Packing" page does.
 * GPUs count only for tasks that ask for some (as extended resources do there), in
 * milli. Requests are taken as they are: the default of 100 milli-CPU for a container
 * that names none is not imitated. SPDX-License-Identifier: Apache-2.0 */
#include "sched/score_rules.h"

enum { KUBE_MOST = 100 };

static int64_t kube_mean(const struct node *n, const struct shape *shape,
                         int64_t gpu_weight, bool most)
{
    const struct {
        int64_t cap, left, weight;
    } parts[] = {
        {n->cpu_cap, n->cpu_free - shape->cpu_milli, 1},
        {n->mem_cap, n->mem_free - shape->mem_bytes, 1},
        {n->gpu_cap_milli, n->gpu_free_milli - (int64_t)shape_gpu_milli(shape),
         gpu_weight},
    };
    int64_t sum = 0, weights = 0;
    for (int i = 0; i < 3; i++) {
        if (parts[i].cap <= 0 || !parts[i].weight)
            continue;
        /* memory in KiB: bytes x 100 may not fit */
        int64_t unit = i == 1 ? 1024 : 1, cap = parts[i].cap / unit;
        int64_t part = most ? cap - parts[i].left / unit : parts[i].left / unit;
        if (cap <= 0)
            continue;
        part = part < 0 ? 0 : part > cap ? cap : part;
        sum += part * KUBE_MOST / cap * parts[i].weight;
        weights += parts[i].weight;
    }
    return weights ? sum / weights : 0;
}

int32_t score_least_allocated(struct scoring *sc, uint32_t node,
                              const struct shape *shape, uint64_t types,
                              struct use *use)
{
    (void)types, (void)use;
    return (int32_t)kube_mean(&sc->cluster->nodes[node], shape, 0, false);
}

int32_t score_most_allocated(struct scoring *sc, uint32_t node,
                             const struct shape *shape, uint64_t types, struct use *use)
{
    (void)types, (void)use;
    int64_t gpu = shape->gpu_mode == GPU_NONE ? 0 : 3;
    return (int32_t)kube_mean(&sc->cluster->nodes[node], shape, gpu, true);
}

int32_t score_same(struct scoring *sc, uint32_t node, const struct shape *shape,
                   uint64_t types, struct use *use)
{
    (void)sc, (void)node, (void)shape, (void)types, (void)use;
    return 0;
}

/* Fewest free milli that suffice: among equal nodes of whole GPUs, fewest free GPUs. */
int32_t score_fewest_free(struct scoring *sc, uint32_t node, const struct shape *shape,
                          uint64_t types, struct use *use)
{
    (void)types, (void)use;
    const struct node *n = &sc->cluster->nodes[node];
    if (shape->gpu_mode == GPU_WHOLE)
        return -(int32_t)n->nwhole;
    return -(int32_t)n->gpu_free_milli;
}

int32_t score_most_free(struct scoring *sc, uint32_t node, const struct shape *shape,
                        uint64_t types, struct use *use)
{
    return -score_fewest_free(sc, node, shape, types, use);
}
