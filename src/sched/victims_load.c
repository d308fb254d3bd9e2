/* victims_load.c - carries the nodes that may matter from the index into a hunt
 *
 * mark[id] during one question: 0 not met, MARK_NO may not go, else 2 + its place in
 * hunt.victims; all 0 again at the end. The caller's filter is asked here,
 * once a victim and load.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/victims_index.h"

enum { MARK_NO = 1, MARK_FIRST = 2 };

/* Of the room only what the question needs: a debt elsewhere is none of its business.
 */
static struct victims_room needed(const struct victims_room *room,
                                  const struct victims_room *need)
{
    struct victims_room r = {0};
    if (need->gpu)
        r.gpu = room->gpu;
    if (need->cpu_milli)
        r.cpu_milli = room->cpu_milli;
    if (need->mem_bytes)
        r.mem_bytes = room->mem_bytes;
    return r;
}

static bool room_is_zero(const struct victims_room *r)
{
    return !r->gpu && !r->cpu_milli && !r->mem_bytes;
}

static bool may_go(struct victims *v, const struct victims_ask *ask,
                   const struct local *l)
{
    uint32_t *mark = &v->mark.at[l->id];
    if (*mark)
        return *mark != MARK_NO;
    bool ok = ask->classes >> l->class & 1;
    if (ok && ask->allowed)
        ok = ask->allowed(ask->arg, l->id);
    vec_push(&v->marked, l->id);
    if (!ok) {
        *mark = MARK_NO;
        return false;
    }
    const struct victim *w = &v->victims.at[l->id];
    *mark = MARK_FIRST + v->hunt.victims.n;
    vec_push(&v->hunt.victims,
             (struct hunt_victim){.id = l->id,
                                  .tie = w->tie,
                                  .cost = line_at(w->cost, w->rate, ask->at),
                                  .gpus = w->gpus,
                                  .shared = w->nseats > 1});
    return true;
}

struct cheap {
    uint64_t price;
    uint32_t at;
};

static int by_price(const void *a, const void *b)
{
    const struct cheap *x = a, *y = b;
    if (x->price != y->price)
        return x->price < y->price ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* More victims here than count: keep the cheapest, in their order. */
static void keep_cheapest(struct victims *v)
{
    struct cheap *c = mem_alloc(v->pick.n * sizeof *c);
    bool *keep = mem_zero(v->pick.n);
    for (uint32_t i = 0; i < v->pick.n; i++) {
        const struct local *l = &v->pick.at[i];
        const struct hunt_victim *w =
            &v->hunt.victims.at[v->mark.at[l->id] - MARK_FIRST];
        c[i] = (struct cheap){w->cost / l->parts * l->part, i};
    }
    qsort(c, v->pick.n, sizeof *c, by_price);
    for (uint32_t i = 0; i < HUNT_LOCALS; i++)
        keep[c[i].at] = true;
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->pick.n; i++)
        if (keep[i])
            v->pick.at[n++] = v->pick.at[i];
    v->pick.n = n;
    v->hunt.dropped = true;
    free(c);
    free(keep);
}

static void load_node(struct victims *v, const struct victims_ask *ask, uint32_t node)
{
    const struct cold *c = &v->cold[node];
    struct hunt *h = &v->hunt;
    const uint32_t most = victims_most(ask);
    struct hunt_node n = {.node = node, .first = h->locals.n};
    n.free = needed(&c->free, &ask->need);
    n.cap = hunt_slots(&c->free, &ask->need, most);
    vec_clear(&v->pick);
    for (uint32_t i = 0; n.cap < most && i < c->locals.n; i++) {
        struct local l = c->locals.at[i];
        l.frees = needed(&l.frees, &ask->need);
        if (!room_is_zero(&l.frees) && may_go(v, ask, &l))
            vec_push(&v->pick, l);
    }
    if (v->pick.n > HUNT_LOCALS)
        keep_cheapest(v);
    struct victims_room all = n.free;
    for (uint32_t i = 0; i < v->pick.n; i++) {
        const struct local *l = &v->pick.at[i];
        all.gpu += l->frees.gpu;
        all.cpu_milli += l->frees.cpu_milli;
        all.mem_bytes += l->frees.mem_bytes;
        vec_push(&h->locals,
                 (struct hunt_local){.victim = v->mark.at[l->id] - MARK_FIRST,
                                     .part = l->part,
                                     .frees = l->frees});
        struct hunt_victim *w = &h->victims.at[v->mark.at[l->id] - MARK_FIRST];
        w->parts = l->parts;
        w->nseats++;
    }
    n.cap = hunt_slots(&all, &ask->need, most);
    n.nlocals = v->pick.n;
    if (!n.cap) { /* nothing to be had: forget its victims again */
        for (uint32_t i = n.first; i < h->locals.n; i++)
            h->victims.at[h->locals.at[i].victim].nseats--;
        h->locals.n = n.first;
        return;
    }
    vec_push(&h->nodes, n);
}

/* Where each victim stands; and if the hunt is the whole domain, its weight is shared
 * out over these seats alone. */
static void load_seats(struct hunt *h, bool whole)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < h->victims.n; i++) {
        h->victims.at[i].first = at;
        at += h->victims.at[i].nseats;
        h->victims.at[i].nseats = 0;
    }
    vec_resize(&h->seats, at);
    for (uint32_t i = 0; i < h->nodes.n; i++)
        for (uint32_t k = 0; k < h->nodes.at[i].nlocals; k++) {
            uint32_t l = h->nodes.at[i].first + k;
            struct hunt_victim *w = &h->victims.at[h->locals.at[l].victim];
            h->seats.at[w->first + w->nseats++] = (struct hunt_seat){i, l};
        }
    for (uint32_t i = 0; i < h->victims.n; i++) {
        struct hunt_victim *w = &h->victims.at[i];
        uint64_t parts = 0;
        for (uint32_t k = 0; k < w->nseats; k++)
            parts += h->locals.at[h->seats.at[w->first + k].local].part;
        if (whole || !w->parts)
            w->parts = parts ? parts : 1;
    }
}

void victims_load(struct victims *v, const struct victims_ask *ask, bool whole)
{
    uint64_t steps = v->hunt.steps;
    hunt_reset(&v->hunt);
    v->hunt.steps = steps;
    v->hunt.need = ask->need;
    v->hunt.tasks = ask->tasks;
    for (uint32_t i = 0; i < v->core.n; i++) {
        uint32_t node = v->core.at[i].node;
        if (!ask->usable || ask->usable(ask->arg, node))
            load_node(v, ask, node);
    }
    load_seats(&v->hunt, whole);
    for (uint32_t i = 0; i < v->marked.n; i++)
        v->mark.at[v->marked.at[i]] = 0;
    vec_clear(&v->marked);
}
