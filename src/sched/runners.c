/* runners.c - keeps the index of possible victims in step with claims and nodes
 * What stopping a gang costs: the GPU time since its last checkpoint (all of it, if it never
 * wrote one), and the time to save and to restore on all its GPUs, in GPU-microseconds.
 * O(members) a gang that changed, O(1) a node that changed since the last question.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/runners.h"

struct runners {
    struct victims *v;
    uint64_t settles, stamp;
    VEC(uint32_t) first;           /* by gang: its entry in list, NONE */
    struct { uint32_t n, room; struct runner_entry *at; } list;
    VEC(uint32_t) by_victim;       /* victim -> entry */
    VEC(uint32_t) dirty;           /* gangs */
    VEC(bool) is_dirty;
    VEC(struct victims_seat) seats;
    uint32_t free_entry;
};

struct runner_entry {
    struct runner who;
    uint32_t victim;
    uint32_t next; /* of the gang; free list */
};

struct runner runner_of(const struct sched *s, uint32_t victim)
{
    const struct runners *r = s->scratch_runners;
    return r->list.at[r->by_victim.at[victim]].who;
}

void runners_dirty(struct sched *s, uint32_t gang)
{
    struct runners *r = s->scratch_runners;
    while (r->is_dirty.n <= gang)
        vec_push(&r->is_dirty, false);
    if (r->is_dirty.at[gang])
        return;
    r->is_dirty.at[gang] = true;
    vec_push(&r->dirty, gang);
}

void runners_destroy(struct runners *r)
{
    if (!r)
        return;
    victims_destroy(r->v);
    free(r->list.at);
    vec_done(&r->first);
    vec_done(&r->by_victim);
    vec_done(&r->dirty);
    vec_done(&r->is_dirty);
    vec_done(&r->seats);
    free(r);
}

static uint32_t entry_new(struct runners *r)
{
    if (r->free_entry != NONE) {
        uint32_t e = r->free_entry;
        r->free_entry = r->list.at[e].next;
        return e;
    }
    if (r->list.n == r->list.room) {
        r->list.room = r->list.room ? r->list.room * 2 : 64;
        r->list.at = mem_resize(r->list.at, r->list.room * sizeof *r->list.at);
    }
    return r->list.n++;
}

static void seat_add(struct sched *s, struct runners *r, const struct claim *c)
{
    uint32_t rank = s->cluster->nodes[c->use.node].rank;
    int64_t gpu = c->use.mode == GPU_WHOLE ? __builtin_popcountll(c->use.devs) : 0;
    for (uint32_t i = r->seats.n; i-- > 0;) { /* members of a node come one after another */
        struct victims_seat *seat = &r->seats.at[i];
        if (seat->node != rank)
            continue;
        seat->frees.gpu += gpu;
        seat->frees.cpu_milli += c->use.cpu_milli;
        seat->frees.mem_bytes += c->use.mem_bytes;
        return;
    }
    vec_push(&r->seats, ((struct victims_seat){
                            .node = rank,
                            .frees = {gpu, c->use.cpu_milli, c->use.mem_bytes}}));
}

static bool counts(const struct sched *s, uint32_t claim)
{
    if (claim == NONE)
        return false;
    const struct claim *c = &s->claims.at[claim];
    return c->taken && (c->phase == CLAIM_RUNNING || c->phase == CLAIM_ISSUED);
}

static void victim_add(struct sched *s, struct runners *r, uint32_t gang, uint32_t slot,
                       int64_t since)
{
    const struct job *j = &s->jobs.at[s->gangs.at[gang].job];
    int64_t gpus = 0;
    for (uint32_t i = 0; i < r->seats.n; i++)
        gpus += r->seats.at[i].frees.gpu;
    int64_t from = j->saved_at > since ? j->saved_at : since;
    int64_t fixed = (j->ckpt_save_us + j->ckpt_restore_us) * gpus - gpus * from;
    struct victims_spec spec = {.tie = (uint64_t)gang << 17 | (slot == NONE ? 0 : slot + 1),
                                .cost = fixed, .rate = (uint32_t)gpus, .nseats = r->seats.n,
                                .seats = r->seats.at};
    uint32_t e = entry_new(r), id = victims_add(r->v, &spec);
    while (r->by_victim.n <= id)
        vec_push(&r->by_victim, NONE);
    r->by_victim.at[id] = e;
    r->list.at[e] = (struct runner_entry){{gang, slot}, id, r->first.at[gang]};
    r->first.at[gang] = e;
}

/* By the line that the index has of it; a member above the minimum alone, or all. */
int64_t runner_cost(struct sched *s, const struct runner *v)
{
    const struct gang *g = &s->gangs.at[v->gang];
    const struct job *j = &s->jobs.at[g->job];
    int64_t gpus = 0, since = s->at;
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t c = gang_slot(s, v->gang, i)->claim;
        if (!counts(s, c) || (v->slot != NONE && v->slot != i))
            continue;
        const struct claim *cl = &s->claims.at[c];
        gpus += cl->use.mode == GPU_WHOLE ? __builtin_popcountll(cl->use.devs) : 0;
        since = cl->since < since ? cl->since : since;
    }
    int64_t from = j->saved_at > since ? j->saved_at : since;
    return gpus * (s->at - from + j->ckpt_save_us + j->ckpt_restore_us);
}

static bool is_surplus(struct sched *s, uint32_t gang, uint32_t slot)
{
    const struct tree_leaf *l =
        &gang_tree(s, &s->gangs.at[gang])->leaves[slot_leaf(s, gang, slot)];
    uint32_t copy = (slot - l->slot0) / l->per_copy, n = 0;
    for (uint32_t k = l->slot0 + copy * l->per_copy; k <= slot; k++)
        n += counts(s, gang_slot(s, gang, k)->claim);
    return n > l->per_min;
}

static void gang_remove(struct runners *r, uint32_t gang)
{
    while (r->first.n <= gang)
        vec_push(&r->first, NONE);
    for (uint32_t e = r->first.at[gang], next; e != NONE; e = next) {
        next = r->list.at[e].next;
        victims_remove(r->v, r->list.at[e].victim);
        r->list.at[e].next = r->free_entry;
        r->free_entry = e;
    }
    r->first.at[gang] = NONE;
}

static void gang_insert(struct sched *s, struct runners *r, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    int64_t since = INT64_MAX;
    if (!g->live || g->issued + g->running == 0 || g->phase == GANG_STOPPING)
        return;
    vec_clear(&r->seats);
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (!counts(s, c))
            continue;
        seat_add(s, r, &s->claims.at[c]);
        since = s->claims.at[c].since < since ? s->claims.at[c].since : since;
    }
    if (r->seats.n == 0)
        return;
    victim_add(s, r, gang, NONE, since);
    if (g->issued + g->running <= gang_root(s, g)->min)
        return;
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (!counts(s, c) || !is_surplus(s, gang, i))
            continue;
        vec_clear(&r->seats);
        seat_add(s, r, &s->claims.at[c]);
        victim_add(s, r, gang, i, s->claims.at[c].since);
    }
}

static void node_tell(const struct sched *s, struct runners *r, uint32_t node)
{
    const struct node *n = &s->cluster->nodes[node];
    if (n->gone)
        return;
    struct victims_room room = {__builtin_popcountll(n->whole_free), n->cpu_free, n->mem_free};
    victims_node(r->v, n->rank, &room, node_is_usable(n));
}

static struct runners *runners_make(struct sched *s)
{
    struct runners *r = mem_zero(sizeof *r);
    r->v = victims_create(s->cluster->nranks);
    r->settles = s->cluster->settles;
    r->stamp = s->cluster->stamp;
    r->free_entry = NONE;
    for (uint32_t i = 0; i < s->cluster->nranks; i++)
        node_tell(s, r, s->cluster->order[i]);
    for (uint32_t i = 0; i < s->gangs.n; i++) {
        gang_remove(r, i);
        gang_insert(s, r, i);
    }
    return r;
}

struct victims *runners_ready(struct sched *s)
{
    struct runners *r = s->scratch_runners;
    cluster_settle(s->cluster);
    if (!r || r->settles != s->cluster->settles) {
        runners_destroy(r);
        r = s->scratch_runners = runners_make(s);
        return r->v;
    }
    uint32_t node = s->cluster->changed_head;
    for (; node != NODE_NONE && s->cluster->nodes[node].changed_at > r->stamp;
         node = s->cluster->nodes[node].changed_next)
        node_tell(s, r, node);
    r->stamp = s->cluster->stamp;
    for (uint32_t i = 0; i < r->dirty.n; i++) {
        uint32_t gang = r->dirty.at[i];
        r->is_dirty.at[gang] = false;
        gang_remove(r, gang);
        gang_insert(s, r, gang);
    }
    vec_clear(&r->dirty);
    return r->v;
}
