/* claim.c - the room that a slot holds, through its life
 * A claim takes its room in the cluster while its phase holds room; a planned one only from
 * the moment the room is free (it may lie over claims that end: their room goes to it
 * alone). Counts in the gang, the account of the node and the constraint tally follow each
 * change here and nowhere else. O(1) each, but the walk over one node's claims when room is
 * given back. SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/future.h"

static uint32_t *gang_counter(struct gang *g, uint8_t phase)
{
    switch (phase) {
    case CLAIM_PLANNED:
        return &g->planned;
    case CLAIM_ISSUED:
        return &g->issued;
    case CLAIM_RUNNING:
        return &g->running;
    case CLAIM_ENDING:
        return &g->ending;
    default:
        return NULL;
    }
}

static void count_in_gang(struct sched *s, const struct claim *c, int sign)
{
    if (c->gang == NONE)
        return;
    if (s->quota.on)
        quota_claim(s, c, sign);
    struct gang *g = &s->gangs.at[c->gang];
    uint32_t *n = gang_counter(g, c->phase);
    if (n)
        *n += (uint32_t)sign;
    if (c->kept && c->phase == CLAIM_ENDING)
        g->kept += (uint32_t)sign;
}

static bool use_fits(const struct cluster *c, const struct use *u)
{
    const struct node *n = &c->nodes[u->node];
    if (u->cpu_milli > n->cpu_free || u->mem_bytes > n->mem_free ||
        (int64_t)u->slots > n->slots_free || (int64_t)u->nics > n->nics_free)
        return false;
    if (u->mode == GPU_WHOLE)
        return (u->devs & ~n->whole_free) == 0;
    for (uint64_t m = u->devs; m; m &= m - 1) {
        const struct device *d = &c->devices[n->device0 + (uint32_t)__builtin_ctzll(m)];
        if (u->mode == GPU_MIG) { /* cut devices are counted in slices, bytes follow */
            if (u->slices & ~d->slices_free || d->compute_free < u->compute ||
                d->nuses != d->cut)
                return false;
        } else if (d->free_milli < (int32_t)u->gpu_milli || d->cut || d->wholes ||
                   (d->mem_cap && d->mem_free < u->gpu_mem_bytes)) {
            return false;
        }
    }
    return true;
}

static void room_take(struct sched *s, struct claim *c)
{
    assert(!c->taken && c->use.node != NODE_NONE);
    cluster_take(s->cluster, &c->use);
    c->taken = true;
    if (c->shape != NONE && s->shapes.at[c->shape].tagged) {
        tally_claim(s, c->shape, c->use.node, 1);
        lanes_wake_constrained(s);
    }
    account_claim(s, c, 1);
}

static void room_give(struct sched *s, struct claim *c)
{
    if (!c->taken)
        return;
    cluster_give(s->cluster, &c->use);
    c->taken = false;
    account_claim(s, c, -1); /* after: it looks at what is free now */
    if (c->shape != NONE && s->shapes.at[c->shape].tagged) {
        tally_claim(s, c->shape, c->use.node, -1);
        lanes_wake_constrained(s);
    }
}

static bool planned_before(const struct sched *s, uint32_t a, uint32_t b)
{
    const struct claim *ca = &s->claims.at[a], *cb = &s->claims.at[b];
    if (ca->gang != cb->gang)
        return gang_before(s, ca->gang, cb->gang);
    return ca->slot < cb->slot;
}

/* Planned claims that lay over what was given back get it first, in the queue's order. */
static void planned_rise(struct sched *s, uint32_t node)
{
    for (;;) {
        uint32_t best = NONE;
        for (uint32_t i = s->node_claims.at[node]; i != NONE; i = s->claims.at[i].next) {
            const struct claim *c = &s->claims.at[i];
            if (claim_waits(s, c) && use_fits(s->cluster, &c->use) &&
                (best == NONE || planned_before(s, i, best)))
                best = i;
        }
        if (best == NONE)
            return;
        room_take(s, &s->claims.at[best]);
        reserve_count(s, node, -1);
    }
}

static void node_link(struct sched *s, uint32_t id, uint32_t *head)
{
    struct claim *c = &s->claims.at[id];
    c->prev = NONE;
    c->next = *head;
    if (*head != NONE)
        s->claims.at[*head].prev = id;
    *head = id;
}

static uint32_t *node_list(struct sched *s, uint32_t node)
{
    if (node == NODE_NONE)
        return &s->adrift;
    while (s->node_claims.n <= node)
        vec_push(&s->node_claims, NONE);
    return &s->node_claims.at[node];
}

static void node_unlink(struct sched *s, uint32_t id)
{
    struct claim *c = &s->claims.at[id];
    if (c->prev != NONE)
        s->claims.at[c->prev].next = c->next;
    else
        *node_list(s, c->use.node) = c->next;
    if (c->next != NONE)
        s->claims.at[c->next].prev = c->prev;
    c->next = c->prev = NONE;
}

static void room_freed(struct sched *s, uint32_t node)
{
    s->free_epoch++;
    if (node == NODE_NONE)
        return;
    bool spare = node_is_spare(s, node);
    if (spare)
        spares_lift(s, node);
    else if (s->policy.nspares && node_first_claim(s, node) == NONE)
        s->spares_check = true; /* it is empty */
    if (node_is_reserved(s, node))
        reserve_lift_node(s, node);
    planned_rise(s, node);
    if (node_is_reserved(s, node))
        reserve_settle_node(s, node);
    lanes_wake(s, node);
    if (spare) /* who may be lent what it keeps has been woken */
        spares_settle(s, node);
}

/* Reservations there keep what is left of their room. */
static void room_take_over(struct sched *s, uint32_t id)
{
    uint32_t node = s->claims.at[id].use.node;
    bool kept = node_is_reserved(s, node), spare = node_is_spare(s, node);
    if (spare)
        spares_lift(s, node);
    if (kept)
        reserve_lift_node(s, node);
    room_take(s, &s->claims.at[id]);
    if (kept)
        reserve_settle_node(s, node);
    if (spare)
        spares_settle(s, node);
}

bool claim_grab(struct sched *s, uint32_t id)
{
    struct claim *c = &s->claims.at[id];
    if (c->taken || !use_fits(s->cluster, &c->use))
        return false;
    room_take(s, c);
    return true;
}

void claim_ungrab(struct sched *s, uint32_t id)
{
    room_give(s, &s->claims.at[id]);
}

/* A plan's claim takes its room, or waits for it and guards what is free. */
static void plan_join(struct sched *s, uint32_t id)
{
    uint32_t node = s->claims.at[id].use.node;
    bool spare = node_is_spare(s, node);
    if (spare)
        spares_lift(s, node);
    if (node_is_reserved(s, node))
        reserve_lift_node(s, node);
    if (!claim_grab(s, id))
        reserve_count(s, node, 1);
    if (node_is_reserved(s, node))
        reserve_settle_node(s, node);
    if (spare)
        spares_settle(s, node);
}

/* It is about to be none that waits; the node is to be settled again. */
static bool plan_leave(struct sched *s, uint32_t id)
{
    const struct claim *c = &s->claims.at[id];
    if (!claim_waits(s, c))
        return false;
    reserve_lift_node(s, c->use.node);
    reserve_count(s, c->use.node, -1);
    return true;
}

/* In its slot, on no list yet. */
static uint32_t claim_new(struct sched *s, uint32_t gang, uint32_t slot, uint8_t phase)
{
    uint32_t id;
    if (s->claims_free.n) {
        id = s->claims_free.at[--s->claims_free.n];
    } else {
        id = s->claims.n;
        vec_push(&s->claims, (struct claim){0});
    }
    struct claim *c = &s->claims.at[id];
    *c = (struct claim){.gang = gang, .slot = slot, .phase = phase, .live = true,
                        .shape = NONE, .next = NONE, .prev = NONE, .stray_next = NONE,
                        .since = s->at, .seen = true};
    if (gang != NONE) {
        if (phase != CLAIM_STRAY) {
            gang_slot(s, gang, slot)->claim = id;
            count_in_gang(s, c, 1);
        }
        c->shape = shape_alt(s, slot_shape(s, gang, slot), 0);
        s->shapes.at[c->shape].refs++;
        if (s->quota.on)
            quota_claim(s, c, 1);
    }
    s->n_claims++;
    return id;
}

/* On its node's list, and into its room. */
static void claim_settle(struct sched *s, uint32_t id, const struct use *u, struct str where)
{
    struct claim *c = &s->claims.at[id];
    c->use = *u;
    node_link(s, id, node_list(s, u->node));
    if (u->node == NODE_NONE) {
        c->where = mem_strndup(where.ptr, where.len);
        c->where_len = (uint32_t)where.len;
    } else if (c->phase != CLAIM_PLANNED) {
        room_take_over(s, id);
    } else if (!claim_is_reserved(s, c)) {
        plan_join(s, id);
    }
    if (s->scratch_future)
        future_claim(s, id);
}

void claim_reserve(struct sched *s, uint32_t gang, uint32_t slot, uint32_t node, uint64_t devs)
{
    struct use u;
    uint32_t shape = shape_alt(s, slot_shape(s, gang, slot), 0);
    use_of_shape(s, shape, node, devs, 0, &u);
    if (node_is_reserved(s, node))
        reserve_lift_node(s, node);
    claim_create_on(s, gang, slot, CLAIM_PLANNED, &u, (struct str){0});
    reserve_count(s, node, 1);
    reserve_settle_node(s, node);
}

uint32_t claim_create(struct sched *s, uint32_t gang, uint32_t slot, uint8_t phase)
{
    uint32_t id = claim_new(s, gang, slot, phase);
    s->claims.at[id].use.node = NODE_NONE;
    node_link(s, id, &s->adrift);
    return id;
}

uint32_t claim_create_on(struct sched *s, uint32_t gang, uint32_t slot, uint8_t phase,
                         const struct use *u, struct str where)
{
    uint32_t id = claim_new(s, gang, slot, phase);
    claim_settle(s, id, u, where);
    return id;
}

void claim_place(struct sched *s, uint32_t id, const struct use *u, struct str where)
{
    struct claim *c = &s->claims.at[id];
    uint32_t old = c->use.node;
    bool had = plan_leave(s, id) || c->taken;
    node_unlink(s, id);
    room_give(s, c);
    free(c->where);
    c->where = NULL;
    c->where_len = 0;
    claim_settle(s, id, u, where);
    if (had)
        room_freed(s, old);
}

/* Takes the reference. What the tally counts of the claim follows. */
void claim_reshape(struct sched *s, uint32_t id, uint32_t shape)
{
    struct claim *c = &s->claims.at[id];
    if (c->taken && c->shape != NONE && s->shapes.at[c->shape].tagged)
        tally_claim(s, c->shape, c->use.node, -1);
    if (s->quota.on)
        quota_claim(s, c, -1);
    if (c->shape != NONE)
        shape_unref(s, c->shape);
    c->shape = shape;
    if (s->quota.on)
        quota_claim(s, c, 1);
    if (c->taken && s->shapes.at[shape].tagged)
        tally_claim(s, shape, c->use.node, 1);
}

/* A run of the gang ends: what it attained, and what of it is saved. Other gangs of the job may
 * wait, ordered by just that. */
static void run_ends(struct sched *s, const struct claim *c)
{
    if (c->phase != CLAIM_RUNNING || c->gang == NONE || c->slot != 0)
        return;
    uint32_t job = s->gangs.at[c->gang].job;
    struct job *j = &s->jobs.at[job];
    bool orders = j->ngangs > 1 && (s->policy.order == ORDER_REMAINING ||
                                    s->policy.order == ORDER_ATTAINED);
    if (orders)
        job_lift(s, job, true);
    j->attained_us += s->at - c->since;
    if (j->saved_at > c->since)
        j->progress_us += j->saved_at - c->since;
    if (orders)
        job_lift(s, job, false);
}

void claim_choose(struct sched *s, uint32_t id, uint8_t alt)
{
    const struct claim *c = &s->claims.at[id];
    if (alt == c->alt || c->gang == NONE || c->phase == CLAIM_STRAY)
        return;
    uint32_t all = slot_shape(s, c->gang, c->slot);
    alt = alt < shape_alts(s, all) ? alt : 0;
    if (alt == c->alt)
        return;
    uint32_t shape = shape_alt(s, all, alt);
    s->shapes.at[shape].refs++;
    s->claims.at[id].alt = alt;
    claim_reshape(s, id, shape);
}

void claim_phase(struct sched *s, uint32_t id, uint8_t phase)
{
    struct claim *c = &s->claims.at[id];
    if (c->phase == phase)
        return;
    plan_leave(s, id);
    count_in_gang(s, c, -1);
    run_ends(s, c);
    if (phase != CLAIM_ENDING)
        c->since = s->at;
    else
        c->until = c->phase == CLAIM_RUNNING ? s->at : c->since;
    if (c->taken)
        account_phase(s, c, phase);
    c->phase = phase;
    count_in_gang(s, c, 1);
    if (!c->taken && c->use.node != NODE_NONE && phase != CLAIM_PLANNED)
        room_take_over(s, id); /* it really is there, whatever lies beneath */
    else if (c->use.node != NODE_NONE && node_is_spare(s, c->use.node))
        spares_settle(s, c->use.node);
    if (s->scratch_future)
        future_claim(s, id);
}

void claim_keep(struct sched *s, uint32_t id, bool keep)
{
    struct claim *c = &s->claims.at[id];
    if (c->kept == keep)
        return;
    c->kept = keep;
    if (c->phase == CLAIM_ENDING)
        s->gangs.at[c->gang].kept += keep ? 1 : UINT32_MAX;
}

bool claim_may_stay(const struct sched *s, const struct claim *c)
{
    if (c->use.node == NODE_NONE || !c->taken)
        return false;
    const struct node *n = &s->cluster->nodes[c->use.node];
    return node_is_sound(n) && (c->use.mode == GPU_NONE || !(c->use.devs & ~n->healthy));
}

void claim_replan(struct sched *s, uint32_t id)
{
    struct claim *c = &s->claims.at[id];
    struct slot *sl = gang_slot(s, c->gang, c->slot);
    if (c->launch > sl->last_launch)
        sl->last_launch = c->launch;
    claim_keep(s, id, false);
    claim_phase(s, id, CLAIM_PLANNED);
    c = &s->claims.at[id];
    c->launch = c->stop = 0;
    c->asked = c->ours = c->extra = false;
    c->retry_at = 0;
}

void claim_free(struct sched *s, uint32_t id)
{
    struct claim *c = &s->claims.at[id];
    assert(c->live);
    uint32_t node = c->use.node;
    plan_leave(s, id);
    node_unlink(s, id);
    room_give(s, c);
    count_in_gang(s, c, -1);
    run_ends(s, c);
    if (c->gang != NONE && c->phase != CLAIM_STRAY) {
        struct slot *sl = gang_slot(s, c->gang, c->slot);
        if (sl->claim == id)
            sl->claim = NONE;
        if (c->extra && (c->phase == CLAIM_PLANNED || c->phase == CLAIM_ISSUED))
            s->gangs.at[c->gang].target--; /* its gang is whole without it */
        if (c->launch > sl->last_launch && c->phase != CLAIM_PLANNED)
            sl->last_launch = c->launch;
    }
    if (c->name)
        strmap_del(&s->tasks, (struct str){c->name, c->name_len});
    if (c->shape != NONE)
        shape_unref(s, c->shape);
    if (c->phase == CLAIM_STRAY) { /* leave the list of strays */
        uint32_t *p = &s->strays;
        while (*p != NONE && *p != id)
            p = &s->claims.at[*p].stray_next;
        if (*p == id)
            *p = c->stray_next;
    }
    free(c->name);
    free(c->where);
    c->name = c->where = NULL; /* the rest is written anew by the next claim here */
    c->phase = CLAIM_NONE;
    c->live = false;
    vec_push(&s->claims_free, id);
    s->n_claims--;
    if (s->scratch_future)
        future_claim(s, id);
    room_freed(s, node);
}

void claim_make_stray(struct sched *s, uint32_t id, struct str key)
{
    struct claim *c = &s->claims.at[id];
    assert(!c->name);
    c->name = mem_strndup(key.ptr, key.len);
    c->name_len = (uint32_t)key.len;
    strmap_put(&s->tasks, (struct str){c->name, c->name_len}, id);
    if (c->foreign)
        return;
    c->stray_next = s->strays;
    s->strays = id;
}

/* The node is gone: its claims stay, on a node that is not known. */
void claims_leave_node(struct sched *s, uint32_t node)
{
    struct str name = cluster_node_name(s->cluster, node);
    if (node_is_reserved(s, node)) {
        reserve_lift_node(s, node);
        s->reserved_at.at[node] = 0;
    }
    while (node < s->node_claims.n && s->node_claims.at[node] != NONE) {
        uint32_t id = s->node_claims.at[node];
        struct use u = s->claims.at[id].use;
        struct claim *c = &s->claims.at[id];
        node_unlink(s, id);
        room_give(s, c);
        u.node = NODE_NONE;
        c->use = u;
        c->where = mem_strndup(name.ptr, name.len);
        c->where_len = (uint32_t)name.len;
        node_link(s, id, &s->adrift);
    }
}

void claims_join_node(struct sched *s, uint32_t node)
{
    struct str name = cluster_node_name(s->cluster, node);
    uint32_t next;
    for (uint32_t id = s->adrift; id != NONE; id = next) {
        struct claim *c = &s->claims.at[id];
        next = c->next;
        if (!c->where || !str_eq((struct str){c->where, c->where_len}, name))
            continue;
        struct use u = c->use;
        u.node = node;
        uint32_t ndev = s->cluster->nodes[node].ndevices;
        if (ndev < 64)
            u.devs &= (UINT64_C(1) << ndev) - 1;
        claim_place(s, id, &u, name);
    }
}

bool use_of_shape(struct sched *s, uint32_t shape, uint32_t node, uint64_t devs,
                  uint16_t slices, struct use *ret)
{
    const struct shape *sh = &s->shapes.at[shape].shape;
    *ret = (struct use){.node = node, .slots = sh->pod_slots, .nics = sh->nics,
                        .mode = sh->gpu_mode, .gpu_milli = sh->gpu_milli,
                        .cpu_milli = sh->cpu_milli, .mem_bytes = sh->mem_bytes,
                        .gpu_mem_bytes = sh->gpu_mem_bytes, .devs = devs};
    if (sh->gpu_mode != GPU_MIG)
        return true;
    ret->slices = slices;
    if (!devs || node == NODE_NONE)
        return true;
    const struct node *n = &s->cluster->nodes[node];
    const struct device *d = &s->cluster->devices[n->device0 + (uint32_t)__builtin_ctzll(devs)];
    const struct device_type *t = cluster_type(s->cluster, d->type);
    for (uint32_t i = 0; t && i < t->nprofiles; i++) {
        if (t->profiles[i].name == sh->profile) {
            ret->gpu_milli = t->profiles[i].milli;
            ret->gpu_mem_bytes = t->profiles[i].mem_bytes;
            ret->compute = t->profiles[i].compute;
            return true;
        }
    }
    return false;
}

/* After a load: put the claim where it was, and take its room if it had it. */
void claim_restore(struct sched *s, uint32_t id)
{
    struct claim *c = &s->claims.at[id];
    bool taken = c->taken;
    c->taken = false;
    if (taken)
        room_take(s, c);
}
