/* victims.c - the index of running work that could be stopped
 *
 * Beside its victims each node keeps sums that bound its price from below at any time
 * and for any filter: a filter only takes choices away. The weight of a victim on
 * several nodes is shared out by its GPUs on each, so the bounds of nodes add up
 * (victims_search.c says why); shares of a line are lines, rounded down. A change costs
 * the victims of the nodes it concerns.
 *
 * Ties. The order of victims.h is exact where at most HUNT_TIES victims are in play;
 * where more are, sets equal in cost, GPUs and number are told apart by the order of
 * nodes and ties alone: still the same answer whatever the order of adding, though not
 * always the set with the lowest rank. SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/victims_index.h"

struct victims *victims_create(uint32_t nodes)
{
    struct victims *v = mem_zero(sizeof *v);
    v->nnodes = nodes;
    v->hot = mem_zero(nodes * sizeof *v->hot);
    v->cold = mem_zero(nodes * sizeof *v->cold);
    vec_resize(&v->slots, nodes);
    for (uint32_t i = 0; i < nodes; i++)
        v->hot[i].all_gpu = ALL_UNUSABLE;
    return v;
}

void victims_destroy(struct victims *v)
{
    if (!v)
        return;
    for (uint32_t i = 0; i < v->nnodes; i++)
        vec_done(&v->cold[i].locals);
    for (uint32_t i = 0; i < v->victims.n; i++)
        free(v->victims.at[i].seats);
    free(v->hot);
    free(v->cold);
    vec_done(&v->victims);
    vec_done(&v->unused);
    hunt_done(&v->hunt);
    vec_done(&v->entries);
    vec_done(&v->core);
    vec_done(&v->candidates);
    vec_done(&v->values);
    vec_done(&v->slack);
    vec_done(&v->mark);
    vec_done(&v->marked);
    vec_done(&v->pick);
    vec_done(&v->slots);
    vec_done(&v->wide);
    free(v);
}

static int64_t floor_over(__int128 a, int64_t b)
{
    __int128 q = a / b;
    return (int64_t)(q - (q * b > a));
}

/* Compute what is cached of the node into hot and cold (locals stay). */
static void node_sums(const struct victims *v, uint32_t node, struct hot *hot,
                      struct cold *cold)
{
    cold->all = cold->free;
    hot->line_cost = hot->line_rate = 0;
    hot->gpu_classes = 0;
    cold->gpu_cost = cold->any_cost = INT64_MAX;
    cold->gpu_rate = cold->any_rate = UINT32_MAX;
    for (uint32_t i = 0; i < v->cold[node].locals.n; i++) {
        const struct local *l = &v->cold[node].locals.at[i];
        const struct victim *w = &v->victims.at[l->id];
        int64_t cost = floor_over((__int128)w->cost * l->part, l->parts);
        uint32_t rate = (uint32_t)((uint64_t)w->rate * l->part / l->parts);
        cold->all.gpu += l->frees.gpu;
        cold->all.cpu_milli += l->frees.cpu_milli;
        cold->all.mem_bytes += l->frees.mem_bytes;
        cold->any_cost = cost < cold->any_cost ? cost : cold->any_cost;
        cold->any_rate = rate < cold->any_rate ? rate : cold->any_rate;
        if (!l->frees.gpu)
            continue;
        hot->line_cost += cost;
        hot->line_rate += rate;
        hot->gpu_classes |= UINT64_C(1) << l->class;
        cost = floor_over(w->cost, l->parts);
        rate = w->rate / l->parts;
        cold->gpu_cost = cost < cold->gpu_cost ? cost : cold->gpu_cost;
        cold->gpu_rate = rate < cold->gpu_rate ? rate : cold->gpu_rate;
    }
    hot->free_gpu = (int32_t)cold->free.gpu;
    hot->all_gpu = cold->usable ? (int32_t)cold->all.gpu : ALL_UNUSABLE;
}

static void refresh(struct victims *v, uint32_t node)
{
    node_sums(v, node, &v->hot[node], &v->cold[node]);
}

void victims_node(struct victims *v, uint32_t node, const struct victims_room *free,
                  bool usable)
{
    assert(node < v->nnodes && free->gpu <= INT32_MAX / 2 &&
           free->gpu >= INT32_MIN / 2);
    v->cold[node].usable = usable;
    v->cold[node].free = *free;
    refresh(v, node);
}

static void local_insert(struct victims *v, uint32_t node, const struct local *l)
{
    struct cold *c = &v->cold[node];
    uint64_t tie = v->victims.at[l->id].tie;
    vec_push(&c->locals, *l);
    uint32_t i = c->locals.n - 1;
    for (; i && v->victims.at[c->locals.at[i - 1].id].tie > tie; i--)
        c->locals.at[i] = c->locals.at[i - 1];
    c->locals.at[i] = *l;
}

static uint32_t new_id(struct victims *v)
{
    if (v->unused.n)
        return v->unused.at[--v->unused.n];
    vec_resize(&v->victims, v->victims.n + 1);
    vec_resize(&v->mark, v->victims.n);
    return v->victims.n - 1;
}

static int by_node(const void *a, const void *b)
{
    uint32_t x = ((const struct victims_seat *)a)->node;
    uint32_t y = ((const struct victims_seat *)b)->node;
    return (x > y) - (x < y);
}

/* The seats in rank order, and what they sum up to. */
static void take_seats(struct victims *v, struct victim *w,
                       const struct victims_spec *spec)
{
    w->nseats = spec->nseats;
    w->seats = mem_alloc(spec->nseats * sizeof *w->seats);
    memcpy(w->seats, spec->seats, spec->nseats * sizeof *w->seats);
    qsort(w->seats, w->nseats, sizeof *w->seats, by_node);
    for (uint32_t i = 0; i < w->nseats; i++) {
        const struct victims_seat *s = &w->seats[i];
        assert(s->node < v->nnodes && (!i || s->node > s[-1].node));
        assert(s->frees.gpu >= 0 && s->frees.cpu_milli >= 0 && s->frees.mem_bytes >= 0);
        w->gpus += (uint64_t)s->frees.gpu;
    }
    assert(w->gpus < UINT32_MAX / 2);
    w->wide_at = VICTIMS_NONE;
    if (w->nseats > 1 && w->gpus) {
        w->wide_at = v->wide.n;
        vec_push(&v->wide, (uint32_t)(w - v->victims.at));
    }
}

uint32_t victims_add(struct victims *v, const struct victims_spec *spec)
{
    assert(spec->class < VICTIMS_CLASSES && spec->nseats);
    uint32_t id = new_id(v);
    struct victim *w = &v->victims.at[id];
    *w = (struct victim){.tie = spec->tie, .cost = spec->cost, .rate = spec->rate};
    w->class = spec->class;
    w->used = true;
    take_seats(v, w, spec);
    for (uint32_t i = 0; i < w->nseats; i++) {
        const struct victims_seat *s = &w->seats[i];
        struct local l = {.id = id, .class = spec->class, .frees = s->frees};
        l.part = w->gpus ? (uint32_t)s->frees.gpu : 1;
        l.parts = w->gpus ? (uint32_t)w->gpus : w->nseats;
        local_insert(v, s->node, &l);
        refresh(v, s->node);
    }
    v->count++;
    return id;
}

static struct local *local_of(struct cold *c, uint32_t id)
{
    for (uint32_t i = 0; i < c->locals.n; i++)
        if (c->locals.at[i].id == id)
            return &c->locals.at[i];
    assert(!"a victim's seat is unknown to its node");
    return NULL;
}

void victims_remove(struct victims *v, uint32_t id)
{
    struct victim *w = &v->victims.at[id];
    assert(id < v->victims.n && w->used);
    for (uint32_t i = 0; i < w->nseats; i++) {
        struct cold *c = &v->cold[w->seats[i].node];
        struct local *l = local_of(c, id);
        uint32_t after = c->locals.n - (uint32_t)(l - c->locals.at) - 1;
        memmove(l, l + 1, after * sizeof *l);
        c->locals.n--;
        refresh(v, w->seats[i].node);
    }
    if (w->wide_at != VICTIMS_NONE) {
        uint32_t last = v->wide.at[--v->wide.n];
        v->wide.at[w->wide_at] = last;
        v->victims.at[last].wide_at = w->wide_at;
    }
    free(w->seats);
    *w = (struct victim){0};
    vec_push(&v->unused, id);
    v->count--;
}

void victims_price(struct victims *v, uint32_t id, int64_t cost, uint32_t rate,
                   uint8_t class)
{
    struct victim *w = &v->victims.at[id];
    assert(id < v->victims.n && w->used && class < VICTIMS_CLASSES);
    w->cost = cost;
    w->rate = rate;
    w->class = class;
    for (uint32_t i = 0; i < w->nseats; i++) {
        local_of(&v->cold[w->seats[i].node], id)->class = class;
        refresh(v, w->seats[i].node);
    }
}

uint32_t victims_count(const struct victims *v)
{
    return v->count;
}

static bool node_check(const struct victims *v, uint32_t node)
{
    const struct cold *c = &v->cold[node];
    struct hot hot = v->hot[node];
    struct cold cold = *c;
    node_sums(v, node, &hot, &cold);
    for (uint32_t i = 0; i < c->locals.n; i++) {
        const struct local *l = &c->locals.at[i];
        const struct victim *w = &v->victims.at[l->id];
        if (!w->used || w->class != l->class)
            return false;
        if (i && v->victims.at[c->locals.at[i - 1].id].tie >= w->tie)
            return false;
    }
    const struct hot *h = &v->hot[node];
    return h->free_gpu == hot.free_gpu && h->all_gpu == hot.all_gpu &&
           h->line_cost == hot.line_cost && h->line_rate == hot.line_rate &&
           h->gpu_classes == hot.gpu_classes && c->gpu_cost == cold.gpu_cost &&
           c->gpu_rate == cold.gpu_rate && c->any_cost == cold.any_cost &&
           c->any_rate == cold.any_rate && c->all.cpu_milli == cold.all.cpu_milli &&
           c->all.mem_bytes == cold.all.mem_bytes;
}

bool victims_check(const struct victims *v)
{
    uint64_t seats = 0, locals = 0;
    uint32_t used = 0;
    for (uint32_t i = 0; i < v->victims.n; i++) {
        used += v->victims.at[i].used;
        seats += v->victims.at[i].nseats;
    }
    for (uint32_t i = 0; i < v->nnodes; i++) {
        locals += v->cold[i].locals.n;
        if (!node_check(v, i))
            return false;
    }
    return used == v->count && seats == locals && v->unused.n + used == v->victims.n;
}
