/* spares.c - nodes kept for repair: the fold side
 *
 * Decide names them (a hold of kind `spare`, decide_spares.c); from then on all that is
 * free on such a node is *guarded*: taken in the cluster, so that no lane, board or
 * pick sees it. Work that may be evicted for nothing (best effort, preemptible) may be
 * lent what a guard keeps; the rest of the node stays guarded. A spare is a sound node
 * on which nobody else is: when somebody else's claim takes room there, or the node
 * goes bad, it is none any more, and the next border looks for another. Guards are a
 * function of the claims and the nodes. O(claims on the node) a change of a spare node;
 * nothing elsewhere. SPDX-License-Identifier: Apache-2.0 */
#include "sched/state.h"

static uint32_t spare_at(const struct sched *s, uint32_t node)
{
    uint32_t i = 0;
    while (i < s->spares.n && s->spares.at[i].node != node)
        i++;
    return i;
}

bool spare_is_lent_to(const struct sched *s, const struct claim *c)
{
    if (c->gang == NONE || c->foreign || c->phase == CLAIM_STRAY)
        return false;
    return job_borrows_spares(&s->jobs.at[s->gangs.at[c->gang].job]);
}

void spares_lift(struct sched *s, uint32_t node)
{
    struct spare *sp = &s->spares.at[spare_at(s, node)];
    if (sp->guard.node == NODE_NONE)
        return;
    cluster_give(s->cluster, &sp->guard);
    account_guard(s, &sp->guard, -1);
    sp->guard.node = NODE_NONE;
}

static void spare_drop(struct sched *s, uint32_t node)
{
    spares_lift(s, node);
    uint32_t i = spare_at(s, node);
    memmove(&s->spares.at[i], &s->spares.at[i + 1],
            (s->spares.n - i - 1) * sizeof s->spares.at[0]);
    s->spares.n--;
    s->is_spare.at[node] = false;
    s->spares_check = true;
}

static bool is_anothers(const struct sched *s, uint32_t node)
{
    for (uint32_t i = node_first_claim(s, node); i != NONE; i = s->claims.at[i].next)
        if (s->claims.at[i].taken && !spare_is_lent_to(s, &s->claims.at[i]))
            return true;
    return false;
}

static void guard_take(struct sched *s, struct spare *sp)
{
    const struct node *n = &s->cluster->nodes[sp->node];
    sp->guard = (struct use){.node = sp->node,
                             .mode = n->whole_free ? USE_WHOLE : USE_NONE,
                             .gpu_milli = n->whole_free ? 1000 : 0,
                             .devs = n->whole_free,
                             .cpu_milli = n->cpu_free > 0 ? n->cpu_free : 0,
                             .mem_bytes = n->mem_free > 0 ? n->mem_free : 0,
                             .slots = n->slots_free > 0 ? (uint32_t)n->slots_free : 0};
    cluster_take(s->cluster, &sp->guard);
    account_guard(s, &sp->guard, 1);
}

void spares_settle(struct sched *s, uint32_t node)
{
    spares_lift(s, node);
    struct spare *sp = &s->spares.at[spare_at(s, node)];
    if (!node_is_sound(&s->cluster->nodes[node]) || is_anothers(s, node))
        spare_drop(s, node);
    else
        guard_take(s, sp);
}

void spares_fact(struct sched *s, uint32_t node)
{
    if (s->policy.nspares)
        s->spares_check = true;
    if (!node_is_spare(s, node))
        return;
    spares_lift(s, node);
    spares_settle(s, node);
}

void spares_leave(struct sched *s, uint32_t node)
{
    if (node_is_spare(s, node))
        spare_drop(s, node);
}

/* What the record names is kept from now on, or no longer. */
void spares_fold(struct sched *s, const struct record *r)
{
    bool on = r->hold.until > r->at;
    s->plan_n = r->hold.plan > s->plan_n ? r->hold.plan : s->plan_n;
    for (uint32_t i = 0; i < r->hold.nseats; i++) {
        uint32_t node = cluster_find(s->cluster, r->hold.seats[i].node);
        if (node == NODE_NONE || node_is_spare(s, node) == on)
            continue;
        if (!on) {
            spare_drop(s, node);
            s->free_epoch++;
            lanes_wake(s, node);
            continue;
        }
        while (s->is_spare.n <= node)
            vec_push(&s->is_spare, false);
        s->is_spare.at[node] = true;
        vec_push(&s->spares, ((struct spare){.node = node,
                                             .rule = r->hold.seats[i].rank,
                                             .guard = {.node = NODE_NONE}}));
        spares_settle(s, node);
    }
}

void spares_border(struct sched *s)
{
    s->spares_now = s->spares_check;
    if (s->synced && s->leading)
        s->spares_check = false;
}

/* After a load, when the claims have their room: nodes by their new index, guards anew.
 */
void spares_restore(struct sched *s, const uint32_t *map)
{
    bool check = s->spares_check;
    for (uint32_t i = 0; i < s->spares.n; i++) {
        struct spare *sp = &s->spares.at[i];
        sp->node = map[sp->node];
        sp->guard = (struct use){.node = NODE_NONE};
        while (s->is_spare.n <= sp->node)
            vec_push(&s->is_spare, false);
        s->is_spare.at[sp->node] = true;
        guard_take(s, sp);
    }
    s->spares_check = check;
}
