/* nodes.c - the twin's nodes: where they stand, when they fail and come back
 *
 * Faults are either drawn (each node fails after an exponential time, and is repaired after a
 * time drawn from quantiles) or played from a recorded list, which is read as it comes due
 * and may be played again and again. Both are independent of what runs, so every policy
 * meets the same faults. A node that is hit twice is up again when both are mended.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/units.h"
#include "world/twin/inside.h"

enum { REPAIR_POINTS = 6 };
static const double repair_at[REPAIR_POINTS] = {0, 0.1, 0.5, 0.9, 0.99, 1};

/* The domain called name under parent, or a new one. */
static uint32_t domain_of(struct twin *t, uint32_t parent, word_t name)
{
    uint64_t key = (uint64_t)parent << 16 | name;
    uint32_t id = u64map_get(&t->domains, key);
    if (id == MAP_NONE) {
        id = t->domains.n + 1;
        u64map_put(&t->domains, key, id);
    }
    return id;
}

static void place_node(struct twin *t, struct twin_node *n)
{
    uint32_t parent = 0;
    for (uint32_t l = 0; l < t->o.nlevels; l++) {
        word_t name = WORD_NONE;
        for (uint32_t i = 0; i < n->desc.nplace; i++)
            if (n->desc.place[i].key == t->o.levels[l])
                name = n->desc.place[i].value;
        parent = domain_of(t, parent, name);
        n->place[l] = parent;
    }
}

uint32_t twin_node_add(struct twin *t, const struct node_desc *d, struct str name)
{
    uint32_t id = strmap_get(&t->node_ids, name);
    if (id == MAP_NONE) {
        id = t->nodes.n;
        vec_push(&t->nodes, (struct twin_node){.tasks = NONE});
    }
    struct twin_node *n = &t->nodes.at[id];
    n->desc = *d;
    n->desc.name = name;
    n->up_state = d->state;
    n->type_ppm = PPM;
    if (d->ndevices)
        n->type_ppm = factors_get(&t->truth.type,
                                  words_text(t->o.words, d->devices[0].type->name));
    place_node(t, n);
    strmap_put(&t->node_ids, name, id);
    return id;
}

/* How many milli-GPUs the largest domain of each depth has. */
void nodes_measure(struct twin *t)
{
    uint32_t depths = t->o.nlevels + 2;
    uint64_t *sum = mem_zero((t->domains.n + 1u) * sizeof *sum);
    t->level_most = mem_zero(depths * sizeof *t->level_most);
    for (uint32_t i = 0; i < t->nodes.n; i++) {
        const struct twin_node *n = &t->nodes.at[i];
        uint64_t milli = n->desc.ndevices * 1000ull;
        t->level_most[0] += milli;
        if (milli > t->level_most[depths - 1])
            t->level_most[depths - 1] = milli;
        for (uint32_t l = 0; l < t->o.nlevels; l++) {
            sum[n->place[l]] += milli;
            if (sum[n->place[l]] > t->level_most[l + 1])
                t->level_most[l + 1] = sum[n->place[l]];
        }
    }
    free(sum);
}

/* The deepest depth with a domain large enough; 0 for jobs without GPUs. */
uint32_t nodes_least_depth(const struct twin *t, uint64_t gpu_milli)
{
    uint32_t depth = t->o.nlevels + 1;
    if (!gpu_milli)
        return 0;
    while (depth && t->level_most[depth] < gpu_milli)
        depth--;
    return depth;
}

uint32_t nodes_common_depth(const struct twin *t, const struct twin_gang *g)
{
    uint32_t depth = t->o.nlevels + 1;
    uint32_t first = NONE;
    for (uint32_t k = g->head; k != NONE && depth; k = t->tasks.at[k].next) {
        const struct twin_task *task = &t->tasks.at[k];
        if (task->state != TASK_WORKING || task->node == first)
            continue;
        if (first == NONE) {
            first = task->node;
            continue;
        }
        const uint32_t *a = t->nodes.at[first].place, *b = t->nodes.at[task->node].place;
        if (depth > t->o.nlevels)
            depth = t->o.nlevels;
        while (depth && a[depth - 1] != b[depth - 1])
            depth--;
    }
    return depth;
}

/* Log-linear between the quantiles. */
static int64_t draw_repair(struct twin *t)
{
    double u = rng_unit(&t->repair_rng);
    const int64_t *us = t->truth.repair_us;
    int i = 1;
    while (i < REPAIR_POINTS - 1 && u >= repair_at[i])
        i++;
    double part = (u - repair_at[i - 1]) / (repair_at[i] - repair_at[i - 1]);
    double lo = log((double)us[i - 1]), hi = log((double)us[i]);
    return (int64_t)exp(lo + part * (hi - lo));
}

static void next_by_rate(struct twin *t, uint32_t node, int64_t from)
{
    double mean = 1000.0 * (double)US_PER_DAY / t->truth.fault_rate;
    double wait = rng_exp(&t->fault_rng, mean);
    if (wait < 9e17)
        twin_later(t, from + (int64_t)wait, CLASS_NODE, TE_NODE_DOWN, node, 0);
}

static void next_recorded(struct twin *t)
{
    if (t->fault_next == t->o.nfaults) {
        if (!t->o.faults_span_us)
            return;
        t->fault_next = 0;
        t->fault_shift += t->o.faults_span_us;
    }
    const struct twin_fault *f = &t->o.faults[t->fault_next++];
    twin_later(t, t->start_at + t->fault_shift + f->from_us, CLASS_NODE, TE_NODE_DOWN, f->node,
               t->fault_next);
}

void faults_begin(struct twin *t)
{
    rng_init(&t->fault_rng, t->o.seed, 0x6661756c74);    /* "fault" */
    rng_init(&t->repair_rng, t->o.seed, 0x726570616972); /* "repair" */
    if (t->o.nfaults) {
        next_recorded(t);
        return;
    }
    if (t->truth.fault_rate <= 0)
        return;
    for (uint32_t i = 0; i < t->nodes.n; i++)
        next_by_rate(t, i, t->start_at);
}

/* What the loss of one task does to its gang's work. */
static void lose(struct twin *t, uint32_t task)
{
    struct twin_gang *g = &t->gangs.at[t->tasks.at[task].gang];
    uint32_t gang = t->tasks.at[task].gang;
    bool worked = t->tasks.at[task].state == TASK_WORKING;
    if (worked && (g->on_loss == LOSS_GANG || g->working <= g->need))
        gang_interrupt(t, gang);
    else
        gang_bank(t, g);
    task_end(t, task, ENDED_LOST, -1);
    t->counts.lost_tasks++;
    if (worked && t->gangs.at[gang].since != NEVER)
        gang_review(t, gang);
}

static void down_until(struct twin_node *n, int64_t at)
{
    n->up_at = at > n->up_at ? at : n->up_at;
}

void node_down(struct twin *t, uint32_t node, uint64_t origin)
{
    struct twin_node *n = &t->nodes.at[node];
    if (origin == 0) {
        int64_t length = draw_repair(t);
        down_until(n, t->now + length);
        twin_later(t, t->now + length, CLASS_NODE, TE_NODE_UP, node, 0);
    } else if (origin != FAULT_ONCE) {
        const struct twin_fault *f = &t->o.faults[origin - 1];
        int64_t length = f->until_us > f->from_us ? f->until_us - f->from_us : 0;
        down_until(n, t->now + length);
        twin_later(t, t->now + length, CLASS_NODE, TE_NODE_UP, node, origin);
        next_recorded(t);
    }
    t->counts.faults++;
    if (n->down++)
        return;
    t->nodes_down++;
    while (t->nodes.at[node].tasks != NONE)
        lose(t, t->nodes.at[node].tasks);
    out_add(t, OUT_NODE, CLASS_NODE, node, NODE_DOWN);
}

void node_up(struct twin *t, uint32_t node, uint64_t origin)
{
    struct twin_node *n = &t->nodes.at[node];
    if (origin == 0)
        next_by_rate(t, node, t->now);
    if (--n->down)
        return;
    t->nodes_down--;
    out_add(t, OUT_NODE, CLASS_NODE, node, n->up_state);
    out_add(t, OUT_SYNC_BEGIN, CLASS_NODE, node, 0);
    out_add(t, OUT_SYNCED, CLASS_NODE, node, 0);
}
