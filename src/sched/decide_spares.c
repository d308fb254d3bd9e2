/* decide_spares.c - which nodes are kept for repair, and who may use them meanwhile
 *
 * Each rule of the policy (`spares`) wants so many sound, empty nodes in each domain of
 * its level. Where there are fewer, empty nodes are named: first in the lowest domains
 * that are broken already, so that whole ones stay whole; among equals the one of the
 * highest rank, as lanes fill from the lowest. What is more than the policy wants is
 * let go. A node is named only when it is empty: nobody is stopped for it. What may be
 * evicted for nothing is lent what it finds, when nothing else fits and the rule lends;
 * a repair takes it back (mend.c). O(nodes of a domain that lacks some) at borders
 * where a node came, went or became empty. SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "sched/decide.h"

static uint32_t rule_depth(const struct sched *s, const struct policy_spares *rule)
{
    word_t level = words_find(&s->words, rule->level);
    if (str_is(rule->level, "cluster"))
        return 0;
    uint32_t depth = level ? level_depth(s, level) : UINT32_MAX;
    return depth <= s->cluster->nlevels ? depth : UINT32_MAX;
}

static bool is_empty(const struct sched *s, uint32_t node)
{
    const struct node *n = &s->cluster->nodes[node];
    return node_is_usable(n) && n->nuses == 0 && n->ndevices &&
           n->healthy == node_devs(n) && !node_is_spare(s, node) &&
           !node_is_reserved(s, node) && node_first_claim(s, node) == NONE;
}

/* Are all nodes of the node's lowest domain empty? */
static bool is_in_whole(const struct sched *s, uint32_t node, const bool *named)
{
    const struct domain *d = &s->cluster->domains[s->cluster->nodes[node].domain];
    for (uint32_t r = d->rank_lo; r < d->rank_hi; r++)
        if (named[r] || !is_empty(s, s->cluster->order[r]))
            return false;
    return true;
}

static uint32_t choose(const struct sched *s, const struct domain *d, const bool *named)
{
    uint32_t best = NODE_NONE;
    for (uint32_t r = d->rank_hi; r-- > d->rank_lo;) {
        uint32_t node = s->cluster->order[r];
        if (named[r] || !is_empty(s, node))
            continue;
        if (!is_in_whole(s, node, named))
            return node;
        best = best == NODE_NONE ? node : best;
    }
    return best;
}

static void emit_spares(struct pass *p, const struct seat *seats, uint32_t n, bool on)
{
    struct sched *s = p->s;
    if (n == 0)
        return;
    struct record *r = pass_add(p, DE_HOLD);
    r->hold.plan = s->plan_n + 1;
    r->hold.what = HOLD_SPARE;
    r->hold.nseats = n;
    r->hold.seats = seats;
    r->hold.until = on ? INT64_MAX : s->at;
    r->why = (struct why){.code = WHY_NONE, .need = n};
    pass_emit(p);
}

static uint32_t spares_in(const struct sched *s, uint32_t rule, const struct domain *d)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->spares.n; i++) {
        uint32_t rank = s->cluster->nodes[s->spares.at[i].node].rank;
        n += s->spares.at[i].rule == rule && rank >= d->rank_lo && rank < d->rank_hi;
    }
    return n;
}

static struct seat seat_of_node(const struct sched *s, uint32_t node, uint32_t rule)
{
    return (struct seat){.node = cluster_node_name(s->cluster, node),
                         .devs = node_devs(&s->cluster->nodes[node]),
                         .rank = rule};
}

/* What a rule wants and has not got. */
static void name_more(struct pass *p, uint32_t rule, uint32_t depth)
{
    struct sched *s = p->s;
    const struct cluster *c = s->cluster;
    uint32_t lo, hi, n = 0, most = s->policy.spares[rule].nodes;
    domain_span(c, 0, depth, &lo, &hi);
    bool *named = arena_zero(&p->out->arena, c->nranks + 1);
    struct seat *seats = arena_alloc(&p->out->arena, (c->nranks + 1) * sizeof *seats);
    for (uint32_t d = lo; d < hi; d++) {
        for (uint32_t have = spares_in(s, rule, &c->domains[d]); have < most; have++) {
            uint32_t node = choose(s, &c->domains[d], named);
            if (node == NODE_NONE)
                break;
            named[c->nodes[node].rank] = true;
            seats[n++] = seat_of_node(s, node, rule);
        }
    }
    emit_spares(p, seats, n, true);
}

/* Beyond what its rule wants in its domain: the latest named go. */
static bool is_too_many(const struct sched *s, uint32_t at)
{
    const struct spare *sp = &s->spares.at[at];
    if (sp->rule >= s->policy.nspares)
        return true;
    uint32_t depth = rule_depth(s, &s->policy.spares[sp->rule]), n = 0;
    if (depth == UINT32_MAX)
        return true;
    const struct domain *d =
        &s->cluster->domains[cluster_domain(s->cluster, depth, sp->node)];
    for (uint32_t i = 0; i < at; i++) {
        uint32_t rank = s->cluster->nodes[s->spares.at[i].node].rank;
        n +=
            s->spares.at[i].rule == sp->rule && rank >= d->rank_lo && rank < d->rank_hi;
    }
    return n >= s->policy.spares[sp->rule].nodes;
}

static void let_more_go(struct pass *p)
{
    struct sched *s = p->s;
    uint32_t n = 0;
    struct seat *seats = arena_alloc(&p->out->arena, (s->spares.n + 1) * sizeof *seats);
    for (uint32_t i = 0; i < s->spares.n; i++)
        if (is_too_many(s, i))
            seats[n++] = seat_of_node(s, s->spares.at[i].node, s->spares.at[i].rule);
    emit_spares(p, seats, n, false);
}

void pass_spares(struct pass *p)
{
    struct sched *s = p->s;
    scratch_ready(s);
    let_more_go(p);
    for (uint32_t rule = 0; rule < s->policy.nspares; rule++) {
        uint32_t depth = rule_depth(s, &s->policy.spares[rule]);
        if (depth != UINT32_MAX)
            name_more(p, rule, depth);
    }
}

/* --- lending --- */

static bool lends(const struct sched *s, const struct spare *sp)
{
    if (sp->rule >= s->policy.nspares || !s->policy.spares[sp->rule].lend ||
        sp->guard.node == NODE_NONE)
        return false;
    for (uint32_t i = node_first_claim(s, sp->node); i != NONE;
         i = s->claims.at[i].next)
        if (!s->claims.at[i].taken)
            return false; /* it is being taken back */
    return true;
}

bool pass_lend(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    const struct job *j = &s->jobs.at[s->gangs.at[gang].job];
    struct why why;
    if (s->spares.n == 0 || !job_borrows_spares(j))
        return false;
    for (uint32_t i = 0; i < s->spares.n; i++)
        if (lends(s, &s->spares.at[i]))
            cluster_give(s->cluster, &s->spares.at[i].guard);
    bool ok = place_gang(s, gang, &why);
    for (uint32_t i = s->spares.n; i-- > 0;)
        if (lends(s, &s->spares.at[i]))
            cluster_take(s->cluster, &s->spares.at[i].guard);
    return ok;
}

/* --- taking back --- */

void pass_take_back(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    const struct job *b = &s->jobs.at[s->gangs.at[gang].job];
    uint64_t who = digest_bytes(b->name, b->name_len, 0);
    for (uint32_t i = 0; i < s->scratch->evict.n; i++) {
        uint32_t victim = s->scratch->evict.at[i];
        const struct gang *g = &s->gangs.at[victim];
        const struct job *j = &s->jobs.at[g->job];
        struct task_ref *refs =
            arena_alloc(&p->out->arena, (g->nslots + 1) * sizeof *refs);
        uint32_t k = 0;
        for (uint32_t m = 0; m < g->nslots; m++) {
            uint32_t c = gang_slot(s, victim, m)->claim;
            if (c != NONE && !s->claims.at[c].asked &&
                s->claims.at[c].retry_at <= s->at &&
                (s->claims.at[c].phase == CLAIM_ISSUED ||
                 s->claims.at[c].phase == CLAIM_RUNNING))
                refs[k++] = pass_task_ref(p, c);
        }
        if (k == 0)
            continue;
        struct record *r = pass_add(p, DE_STOP);
        bool ask = j->checkpoint == CHECKPOINT_ASKED;
        r->stop.plan = s->plan_n + (i == 0);
        r->stop.stop = (uint64_t)s->term << 40 | (s->stop_n + 1);
        r->stop.ntasks = k;
        r->stop.tasks = refs;
        r->stop.mode = STOP_PREEMPT;
        r->stop.first = ask ? STOP_CHECKPOINT : STOP_NOW;
        r->stop.grace_us = ask ? j->ckpt_save_us : 0;
        r->stop.deadline = s->at + r->stop.grace_us + s->policy.launch_timeout_us;
        r->why = (struct why){.code = WHY_RECLAIMED, .need = 1, .have = 1, .who = who};
        pass_emit(p);
    }
}
