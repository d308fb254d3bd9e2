/* decide_reclaim.c - takes room back for who has a right to it: one plan of stops and a hold
 *
 * A refused gang with a right (rights.h) looks for the cheapest running work that may go for
 * it (victims.h), near first: its own queue, then under the parent, up to the root. What is
 * found is tried out: the victims' room is given back, the gang is placed, and victims that
 * no seat touches are dropped. A plan is complete when it is decided: the victims' stops and
 * the hold of their room bear one plan number, and the room goes to nobody else. With
 * `preempt: order` who may go is whoever comes later in the order.
 * A refusal costs at most one search a scope, bounded in counted steps.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/hash.h"
#include "sched/decide_plan.h"

uint32_t begun_gpu_hours(__int128 us)
{
    __int128 h = (us + US_PER_HOUR - 1) / US_PER_HOUR;
    return h < 0 ? 0 : h > UINT32_MAX ? UINT32_MAX : (uint32_t)h;
}

static bool is_under(const struct sched *s, uint32_t leaf, uint32_t top)
{
    for (uint32_t n = leaf; n != QUEUE_NONE; n = s->quota.nodes.at[n].parent)
        if (n == top)
            return true;
    return false;
}

bool gang_is_protected(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct job *j = &s->jobs.at[g->job];
    int64_t protect = j->protect_us ? j->protect_us : s->policy.protect_us;
    if (g->phase == GANG_LAUNCHING)
        return true;
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t c = gang_slot((struct sched *)s, gang, i)->claim;
        if (c != NONE && s->claims.at[c].phase == CLAIM_RUNNING)
            return s->at - s->claims.at[c].since < protect;
    }
    return true;
}

static bool right_allows(const struct sched *s, uint32_t gang, const struct runner *v)
{
    const struct job *b = &s->jobs.at[s->gangs.at[gang].job];
    const struct job *j = &s->jobs.at[s->gangs.at[v->gang].job];
    bool listed = v->gang < s->owed.listed.n && s->owed.listed.at[v->gang];
    uint32_t marks = listed ? s->owed.units.at[v->gang].marks : 0;
    if (v->slot != NONE)
        return true; /* members above the minimum are lent */
    if (s->owed.units.at[gang].marks & RIGHTS_K1) {
        if (marks & RIGHTS_K1)
            return false;
        return j->qnode != b->qnode || s->policy.within == WITHIN_ANY ||
               j->priority < b->priority;
    }
    return !(marks & (RIGHTS_K1 | RIGHTS_K2)) && j->priority < b->priority;
}

static bool allowed(void *arg, uint32_t victim)
{
    const struct reclaim *rc = arg;
    const struct sched *s = rc->s;
    struct runner v = runner_of(s, victim);
    const struct job *j = &s->jobs.at[s->gangs.at[v.gang].job];
    if (v.gang == rc->gang || !j->preemptible || j->budget == 0 ||
        (!rc->beyond && quota_authority(s, v.gang) < AUTHORITY_EVICT) ||
        !is_under(s, j->qnode, rc->scope) || gang_is_protected(s, v.gang))
        return false;
    if (s->policy.preempt == PREEMPT_ORDER)
        return gang_outranks(s, rc->gang, v.gang);
    return right_allows(s, rc->gang, &v);
}

static bool usable(void *arg, uint32_t rank)
{
    const struct reclaim *rc = arg;
    struct sched *s = rc->s;
    uint32_t node = s->cluster->order[rank];
    const struct node *n = &s->cluster->nodes[node];
    const struct shape *sh = &s->shapes.at[rc->shape].shape;
    uint64_t types = shape_typemask(s, rc->shape);
    return !node_is_spare(s, node) && (n->type == TYPE_ANY || sh->gpu_mode == GPU_NONE || types >> n->type & 1) &&
           node_eligible(s, sh, node);
}

/* Its widest leaf, and how many tasks it has in all at the minimum. */
void reclaim_ask(struct reclaim *rc, struct victims_ask *ask)
{
    struct sched *s = rc->s;
    const struct tree_root *root = gang_root(s, &s->gangs.at[rc->gang]);
    const struct tree *t = gang_tree(s, &s->gangs.at[rc->gang]);
    const struct cluster *c = s->cluster;
    for (uint32_t i = root->leaf0; i < root->leaf0 + root->nleaves; i++) {
        const struct shape *sh = &s->shapes.at[t->leaves[i].shape].shape;
        int64_t gpus = sh->gpu_mode == GPU_WHOLE ? sh->gpu_count : 0;
        ask->tasks += t->leaves[i].copies * t->leaves[i].per_min;
        if (i == root->leaf0 || gpus > ask->need.gpu) {
            rc->shape = t->leaves[i].shape;
            ask->need = (struct victims_room){gpus, sh->cpu_milli, sh->mem_bytes};
        }
    }
    word_t level = t->groups[root->group].required;
    uint32_t depth = level ? level_depth(s, level) : 0, lo = 0, hi = 1;
    if (depth == UINT32_MAX)
        depth = 0;
    if (depth > c->nlevels) {
        for (uint32_t r = 0; r < c->nranks; r++)
            vec_push(&rc->domains, ((struct victims_domain){r, r + 1}));
    } else {
        domain_span(c, 0, depth, &lo, &hi);
        for (uint32_t d = lo; d < hi; d++)
            vec_push(&rc->domains, ((struct victims_domain){c->domains[d].rank_lo,
                                                            c->domains[d].rank_hi}));
    }
    ask->domains = rc->domains.at;
    ask->ndomains = rc->domains.n;
    ask->at = s->at;
    ask->classes = ~UINT64_C(0);
    ask->usable = usable;
    ask->arg = rc;
}

/* --- trying it out --- */

static void victim_lift(struct sched *s, const struct runner *v, bool lift)
{
    uint32_t n = s->gangs.at[v->gang].nslots;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = lift ? i : n - 1 - i;
        uint32_t id = gang_slot(s, v->gang, slot)->claim;
        if (id == NONE || (v->slot != NONE && v->slot != slot) || !s->claims.at[id].taken ||
            s->claims.at[id].phase == CLAIM_PLANNED)
            continue;
        const struct claim *c = &s->claims.at[id];
        if (lift)
            cluster_give(s->cluster, &c->use);
        else
            cluster_take(s->cluster, &c->use);
        if (s->shapes.at[c->shape].tagged)
            tally_claim(s, c->shape, c->use.node, lift ? -1 : 1);
    }
}

static bool try_out(struct reclaim *rc)
{
    struct sched *s = rc->s;
    struct why why;
    for (uint32_t i = 0; i < rc->victims.n; i++)
        victim_lift(s, &rc->victims.at[i], true);
    bool ok = place_gang(s, rc->gang, &why);
    for (uint32_t i = rc->victims.n; i-- > 0;)
        victim_lift(s, &rc->victims.at[i], false);
    return ok;
}

static bool touches(const struct sched *s, const struct runner *v)
{
    for (uint32_t i = 0; i < s->gangs.at[v->gang].nslots; i++) {
        uint32_t id = gang_slot((struct sched *)s, v->gang, i)->claim;
        if (id == NONE || (v->slot != NONE && v->slot != i))
            continue;
        for (uint32_t k = 0; k < s->scratch->plan.n; k++)
            if (s->scratch->plan.at[k].use.node == s->claims.at[id].use.node)
                return true;
    }
    return false;
}

/* Victims without which the seats stand as well are left alone. */
static void spare_untouched(struct reclaim *rc)
{
    uint32_t keep = 0;
    for (uint32_t i = 0; i < rc->victims.n; i++)
        if (touches(rc->s, &rc->victims.at[i]))
            rc->victims.at[keep++] = rc->victims.at[i];
    rc->victims.n = keep;
}

static bool victims_take(struct reclaim *rc)
{
    vec_clear(&rc->victims);
    for (uint32_t i = 0; i < rc->answer.victims.n; i++)
        vec_push(&rc->victims, runner_of(rc->s, rc->answer.victims.at[i]));
    /* a gang that goes whole takes its members above the minimum with it */
    for (uint32_t i = 0; i < rc->victims.n; i++) {
        if (rc->victims.at[i].slot == NONE)
            continue;
        for (uint32_t k = 0; k < rc->victims.n; k++) {
            if (rc->victims.at[k].gang != rc->victims.at[i].gang ||
                rc->victims.at[k].slot != NONE)
                continue;
            rc->victims.at[i] = rc->victims.at[--rc->victims.n];
            i--;
            break;
        }
    }
    return rc->victims.n > 0;
}

/* --- is it legal, and within what may be evicted --- */

/* What goes with a victim beyond its unit: members above the minimum are in use, and no unit
 * of their own. */
static void lent_goes(const struct reclaim *rc, const struct runner *v, bool is_unit,
                      struct rights_use *use)
{
    struct sched *s = rc->s;
    const struct gang *g = &s->gangs.at[v->gang];
    uint32_t leaf = s->jobs.at[g->job].qnode;
    int64_t charge[QUOTA_RESOURCES_MAX];
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t id = gang_slot(s, v->gang, i)->claim;
        if (id == NONE || (v->slot != NONE && v->slot != i))
            continue;
        const struct claim *c = &s->claims.at[id];
        if ((c->phase != CLAIM_ISSUED && c->phase != CLAIM_RUNNING) || c->shape == NONE)
            continue;
        quota_charge(s, c->shape, charge);
        rights_use_add(use, &s->owed.e, leaf, charge, -1);
    }
    if (!is_unit)
        return;
    quota_need(s, v->gang, charge);
    rights_use_add(use, &s->owed.e, leaf, charge, 1); /* that much is the judge's to take */
}

static bool is_legal(struct reclaim *rc)
{
    struct sched *s = rc->s;
    if (s->policy.preempt == PREEMPT_ORDER)
        return true;
    struct rights_pool pool = owed_pool(s);
    VEC(uint32_t) ids = {0};
    struct rights_use use = {0};
    uint32_t at;
    rights_use_setup(&use, s->quota.nodes.n, s->quota.nresources);
    for (uint32_t n = 0; n < s->quota.nodes.n; n++)
        for (uint32_t r = 0; r < s->quota.nresources; r++)
            use.at[n * s->quota.nresources + r] = s->quota.nodes.at[n].use[r];
    for (uint32_t i = 0; i < rc->victims.n; i++) {
        uint32_t g = rc->victims.at[i].gang;
        bool is_unit = rc->victims.at[i].slot == NONE && g < s->owed.listed.n &&
                       s->owed.listed.at[g];
        lent_goes(rc, &rc->victims.at[i], is_unit, &use);
        if (is_unit)
            vec_push(&ids, g);
    }
    struct rights_plan plan = {.unit = rc->gang, .victims = ids.at, .nvictims = ids.n,
                               .within_any = s->policy.within == WITHIN_ANY};
    bool legal = rights_judge(&pool, &s->owed.e, &use, &plan, &at) == RIGHTS_LEGAL;
    rights_use_done(&use);
    vec_done(&ids);
    return legal;
}

static bool budget_allows(const struct reclaim *rc)
{
    const struct sched *s = rc->s;
    uint32_t whole = 0;
    for (uint32_t i = 0; i < rc->victims.n; i++)
        whole += rc->victims.at[i].slot == NONE;
    if (s->policy.evictions_per_hour == UINT32_MAX)
        return true;
    uint32_t done = s->evict_hour == s->at / US_PER_HOUR ? s->evicted : 0;
    return done + whole <= s->policy.evictions_per_hour;
}

bool pass_weighs(const struct sched *s, uint32_t gang)
{
    bool order = s->policy.preempt == PREEMPT_ORDER;
    if (s->policy.preempt == PREEMPT_NONE || (!order && !s->gangs.at[gang].right))
        return false;
    return s->policy.evict_when == EVICT_CHEAPER ||
           (s->policy.evict_when == EVICT_OWED && !order && !quota_within(s, gang));
}

/* Would the gang lose more by waiting than is lost by the plan? Then it is carried out. Where
 * nobody knows how long it would wait, the plan is. */
static bool is_worth_it(struct reclaim *rc, struct why *why)
{
    struct sched *s = rc->s;
    if (why->code == WHY_QUOTA || !pass_weighs(s, rc->gang))
        return true; /* GPUs that come free do not help against a limit of its queue */
    int64_t start = pass_forecast(rc->p, rc->gang);
    if (start == INT64_MAX)
        return true;
    __int128 gpus = (__int128)gang_root(s, &s->gangs.at[rc->gang])->min_milli, cost = 0;
    for (uint32_t i = 0; i < rc->victims.n; i++)
        cost += runner_cost(s, &rc->victims.at[i]);
    __int128 wait = gpus * (start - s->at) / 1000;
    if (wait > cost)
        return true;
    *why = (struct why){.code = WHY_CHEAPER, .need = begun_gpu_hours(cost), .have = begun_gpu_hours(wait),
                        .other = (uint32_t)((start - s->at) / (60 * 1000000))};
    return false;
}

/* --- the plan --- */

static void stop_victim(struct reclaim *rc, const struct runner *v, uint32_t plan, uint8_t mode,
                        const struct why *why)
{
    struct sched *s = rc->s;
    const struct gang *g = &s->gangs.at[v->gang];
    const struct job *j = &s->jobs.at[g->job];
    struct task_ref *refs = arena_alloc(&rc->p->out->arena, (g->nslots + 1) * sizeof *refs);
    uint32_t k = 0;
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t id = gang_slot(s, v->gang, i)->claim;
        if (id == NONE || (v->slot != NONE && v->slot != i))
            continue;
        if (s->claims.at[id].phase == CLAIM_ISSUED || s->claims.at[id].phase == CLAIM_RUNNING)
            refs[k++] = pass_task_ref(rc->p, id);
    }
    if (k == 0)
        return;
    struct record *r = pass_add(rc->p, DE_STOP);
    r->stop.plan = plan;
    r->stop.stop = (uint64_t)s->term << 40 | (s->stop_n + 1);
    r->stop.ntasks = k;
    r->stop.tasks = refs;
    r->stop.mode = mode;
    r->stop.first = j->checkpoint == CHECKPOINT_ASKED ? STOP_CHECKPOINT : STOP_NOW;
    r->stop.grace_us = j->checkpoint == CHECKPOINT_ASKED ? j->ckpt_save_us : 0;
    r->stop.deadline = s->at + r->stop.grace_us + s->policy.launch_timeout_us;
    r->why = *why;
    pass_emit(rc->p);
}

void reclaim_carry(struct reclaim *rc, uint8_t mode, const struct seat *seats, uint32_t n,
                   struct why why)
{
    struct sched *s = rc->s;
    const struct job *b = &s->jobs.at[s->gangs.at[rc->gang].job];
    uint32_t plan = s->plan_n + 1;
    int64_t grace = 0;
    why.who = digest_bytes(b->name, b->name_len, 0);
    for (uint32_t i = 0; i < rc->victims.n; i++) {
        const struct job *j = &s->jobs.at[s->gangs.at[rc->victims.at[i].gang].job];
        if (j->checkpoint == CHECKPOINT_ASKED && j->ckpt_save_us > grace)
            grace = j->ckpt_save_us;
        stop_victim(rc, &rc->victims.at[i], plan, mode, &why);
    }
    why.who = 0;
    struct record *r = pass_add(rc->p, DE_HOLD);
    r->hold.plan = plan;
    r->hold.gang = gang_ref_of(s, rc->gang);
    r->hold.nseats = n;
    r->hold.seats = seats;
    r->hold.until = s->at + grace + s->policy.launch_timeout_us;
    r->why = why;
    pass_emit(rc->p);
}

static void carry_out(struct reclaim *rc)
{
    uint32_t n = rc->s->scratch->plan.n;
    struct why why = {.code = WHY_RECLAIMED, .need = n, .have = rc->victims.n,
                      .other = (uint32_t)(rc->answer.cost / US_PER_HOUR)};
    reclaim_carry(rc, STOP_PREEMPT, pass_seats(rc->p, rc->gang), n, why);
}

void reclaim_done(struct reclaim *rc)
{
    victims_answer_done(&rc->answer);
    vec_done(&rc->domains);
    vec_done(&rc->victims);
}

bool reclaim_find(struct reclaim *rc, struct victims *index, const struct victims_ask *ask)
{
    rc->p->questions++;
    victims_find(index, ask, &rc->answer);
    if (rc->answer.verdict != VICTIMS_FOUND || !victims_take(rc) || !try_out(rc))
        return false;
    spare_untouched(rc);
    return rc->victims.n > 0;
}

static bool search(struct reclaim *rc, struct victims *index, const struct victims_ask *ask)
{
    struct sched *s = rc->s;
    uint32_t scope = s->jobs.at[s->gangs.at[rc->gang].job].qnode;
    if (s->policy.preempt == PREEMPT_ORDER)
        scope = 0;
    for (; scope != QUEUE_NONE && ask->tasks; scope = s->quota.nodes.at[scope].parent) {
        rc->scope = scope;
        if (reclaim_find(rc, index, ask) && is_legal(rc) && budget_allows(rc))
            return true;
    }
    return false;
}

static bool some_authority_lacks(const struct sched *s)
{
    for (uint32_t i = 1; i < s->quota.nodes.n; i++)
        if (s->quota.nodes.at[i].authority < AUTHORITY_EVICT)
            return true;
    return false;
}

/* The plan is told once, and the gang waits for want of authority. */
static void tell(struct reclaim *rc, struct why *why)
{
    const struct gang *g = &rc->s->gangs.at[rc->gang];
    *why = (struct why){.code = WHY_AUTHORITY, .need = AUTHORITY_EVICT,
                        .have = rc->victims.n};
    if (g->said && g->why.code == WHY_AUTHORITY)
        return;
    rc->p->would = true;
    carry_out(rc);
    rc->p->would = false;
}

bool pass_reclaim(struct pass *p, uint32_t gang, struct why *why)
{
    struct sched *s = p->s;
    if (s->policy.preempt == PREEMPT_NONE ||
        (s->policy.preempt == PREEMPT_RIGHTS && !s->gangs.at[gang].right))
        return false;
    struct reclaim rc = {.p = p, .s = s, .gang = gang};
    struct victims_ask ask = {0};
    struct victims *index = runners_ready(s);
    reclaim_ask(&rc, &ask);
    ask.allowed = allowed;
    if (!ask.need.gpu && !ask.need.cpu_milli && !ask.need.mem_bytes)
        ask.tasks = 0; /* what it lacks is nothing that a victim has */
    bool ok = search(&rc, index, &ask);
    if (ok && !is_worth_it(&rc, why)) {
        ok = false;
    } else if (ok) {
        carry_out(&rc);
    } else if (some_authority_lacks(s)) {
        rc.beyond = true;
        if (search(&rc, index, &ask))
            tell(&rc, why);
    }
    reclaim_done(&rc);
    return ok;
}
