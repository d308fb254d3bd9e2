/* victims_thin.c - spare whom the gang can do without
 *
 * A set that was not proven least may hold victims that are not needed: a gang taken
 * for one node may free others. The dearest is spared first, if the room still
 * suffices. O(nodes of the domain + seats of the victims x victims on a node).
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/victims_index.h"

struct thinning {
    struct victims *v; /* mark: 1 for those that go; slots: tasks a node then holds */
    const struct victims_ask *ask;
    struct victims_domain in;
    uint32_t most;  /* tasks on one node */
    uint64_t tasks; /* that there is room for */
};

struct dear {
    uint64_t cost, gpus, tie;
    uint32_t id;
};

static int by_dearest(const void *a, const void *b)
{
    const struct dear *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    if (x->gpus != y->gpus)
        return x->gpus > y->gpus ? -1 : 1;
    return (x->tie < y->tie) - (x->tie > y->tie);
}

/* Count the node anew. */
static void count(struct thinning *t, uint32_t node)
{
    const struct cold *c = &t->v->cold[node];
    struct victims_room room = c->free;
    if (node < t->in.lo || node >= t->in.hi || !c->usable ||
        (t->ask->usable && !t->ask->usable(t->ask->arg, node)))
        return;
    for (uint32_t i = 0; i < c->locals.n; i++) {
        const struct local *l = &c->locals.at[i];
        if (!t->v->mark.at[l->id])
            continue;
        room.gpu += l->frees.gpu;
        room.cpu_milli += l->frees.cpu_milli;
        room.mem_bytes += l->frees.mem_bytes;
    }
    t->tasks -= t->v->slots.at[node];
    t->v->slots.at[node] = hunt_slots(&room, &t->ask->need, t->most);
    t->tasks += t->v->slots.at[node];
}

static bool spare(struct thinning *t, uint32_t id)
{
    const struct victim *w = &t->v->victims.at[id];
    t->v->mark.at[id] = 0;
    for (uint32_t i = 0; i < w->nseats; i++)
        count(t, w->seats[i].node);
    if (t->tasks >= t->ask->tasks)
        return true;
    t->v->mark.at[id] = 1;
    for (uint32_t i = 0; i < w->nseats; i++)
        count(t, w->seats[i].node);
    return false;
}

static void set_places(struct thinning *t, struct victims_answer *a)
{
    uint32_t left = t->ask->tasks;
    vec_clear(&a->places);
    for (uint32_t i = t->in.lo; i < t->in.hi; i++) {
        uint32_t n = t->v->slots.at[i] < left ? t->v->slots.at[i] : left;
        t->v->slots.at[i] = 0;
        left -= n;
        if (n)
            vec_push(&a->places, (struct victims_place){i, n});
    }
    assert(!left);
}

void victims_thin(struct victims *v, const struct victims_ask *ask,
                  struct victims_answer *a)
{
    struct thinning t = {.v = v, .ask = ask, .in = ask->domains[a->domain]};
    struct dear *list = mem_alloc(a->victims.n * sizeof *list);
    t.most = victims_most(ask);
    for (uint32_t i = 0; i < a->victims.n; i++) {
        uint32_t id = a->victims.at[i];
        const struct victim *w = &v->victims.at[id];
        list[i] =
            (struct dear){line_at(w->cost, w->rate, ask->at), w->gpus, w->tie, id};
        v->mark.at[id] = 1;
    }
    for (uint32_t i = t.in.lo; i < t.in.hi; i++)
        count(&t, i);
    qsort(list, a->victims.n, sizeof *list, by_dearest);
    for (uint32_t i = 0; i < a->victims.n; i++)
        if (spare(&t, list[i].id)) {
            a->cost -= list[i].cost;
            a->gpus -= list[i].gpus;
        }
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->victims.n; i++) {
        uint32_t id = a->victims.at[i];
        if (v->mark.at[id])
            a->victims.at[n++] = id;
        v->mark.at[id] = 0;
    }
    a->victims.n = n;
    set_places(&t, a);
    free(list);
}
