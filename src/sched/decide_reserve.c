/* decide_reserve.c - room kept for gangs that do not fit, and who may use it meanwhile
 *
 * A gang that is refused, and is among the first so many of the policy, gets the earliest
 * start that time limits allow (timeline.h): nodes and devices, a promise `by` when all that
 * stands in the way ends by a limit, and a forecast from expected run times. Whoever comes
 * later starts beside what is kept, or over it when it ends before it is needed; so nobody
 * moves a promise. A reserved gang starts as soon as it fits anywhere. Plans are looked at
 * again every improve_every: own booking lifted, an earlier start or the same.
 * Cost: a plan is one question to the timeline; a border at which no room was freed asks
 * nothing. SPDX-License-Identifier: Apache-2.0 */
#include "sched/decide.h"

#include <assert.h>

#include "base/hash.h"
#include "sched/future.h"

/* A plan that is better by less than this is not worth a new promise. */
enum { BETTER_US = 60 * 1000000 };

/* --- what is kept, lifted for a question --- */

static void claim_lift(struct sched *s, uint32_t claim, bool lift)
{
    const struct claim *c = &s->claims.at[claim];
    const struct use *u = c->taken ? &c->use : claim < s->guards.n ? &s->guards.at[claim] : NULL;
    if (!u || u->node == NODE_NONE)
        return;
    if (lift)
        cluster_give(s->cluster, u);
    else
        cluster_take(s->cluster, u);
    if (c->taken && s->shapes.at[c->shape].tagged)
        tally_claim(s, c->shape, u->node, lift ? -1 : 1);
}

/* A gang may have hundreds of slots, and room free for a few of them. */
static const struct kept *kept_by(struct sched *s, const struct reservation *r)
{
    struct scratch *sc = s->scratch;
    uint32_t at = (uint32_t)(r - s->reserves.at);
    while (sc->kept.n <= at)
        vec_push(&sc->kept, (struct kept){0});
    struct kept *k = &sc->kept.at[at];
    if (k->version == r->version)
        return k;
    k->version = r->version;
    vec_clear(&k->claims);
    for (uint32_t i = 0; i < s->gangs.at[r->gang].nslots; i++) {
        uint32_t c = gang_slot(s, r->gang, i)->claim;
        if (c != NONE && (s->claims.at[c].taken ||
                          (c < s->guards.n && s->guards.at[c].node != NODE_NONE)))
            vec_push(&k->claims, c);
    }
    return k;
}

static void rest_lift(struct sched *s, const struct rest *r, bool lift)
{
    if (lift)
        cluster_give(s->cluster, &r->use);
    else
        cluster_take(s->cluster, &r->use);
}

static void gang_lift(struct sched *s, uint32_t gang, bool lift)
{
    const struct kept *k = kept_by(s, reserve_of(s, gang));
    for (uint32_t i = 0; i < k->claims.n; i++)
        claim_lift(s, k->claims.at[lift ? i : k->claims.n - 1 - i], lift);
    for (uint32_t i = 0; i < s->rests.n; i++)
        if (s->claims.at[s->rests.at[i].claim].gang == gang)
            rest_lift(s, &s->rests.at[i], lift);
}

void reserves_lift(struct sched *s, bool lift)
{
    for (uint32_t i = 0; i < s->reserves.n; i++)
        gang_lift(s, s->reserves.at[lift ? i : s->reserves.n - 1 - i].gang, lift);
}

/* --- starting over what is kept --- */

static uint32_t devices_of(const struct sched *s, uint32_t claim)
{
    const struct claim *c = &s->claims.at[claim];
    if (c->taken)
        return (uint32_t)__builtin_popcountll(c->use.devs);
    if (claim >= s->guards.n || s->guards.at[claim].node == NODE_NONE)
        return 0;
    return (uint32_t)__builtin_popcountll(s->guards.at[claim].devs);
}

/* The node of a reservation with the fewest kept devices that suffice; NODE_NONE. */
static uint32_t kept_node(struct sched *s, const struct reservation *r, uint32_t gpus)
{
    const struct kept *kept = kept_by(s, r);
    uint32_t best = NODE_NONE, least = UINT32_MAX;
    for (uint32_t i = 0; i < kept->claims.n && least > gpus; i++) {
        uint32_t c = kept->claims.at[i];
        if (s->claims.at[c].use.node == NODE_NONE)
            continue;
        const struct node *n = &s->cluster->nodes[s->claims.at[c].use.node];
        uint32_t have = devices_of(s, c) + (uint32_t)__builtin_popcountll(n->whole_free);
        if (devices_of(s, c) && have >= gpus && have < least) {
            least = have;
            best = s->claims.at[c].use.node;
        }
    }
    return best;
}

static void node_lift(struct sched *s, uint32_t node, int64_t end, bool lift)
{
    for (uint32_t i = node_first_claim(s, node); i != NONE; i = s->claims.at[i].next) {
        const struct claim *c = &s->claims.at[i];
        if (claim_is_reserved(s, c) && reserve_of(s, c->gang)->start >= end)
            claim_lift(s, i, lift);
    }
    for (uint32_t i = 0; i < s->rests.n; i++) {
        const struct claim *c = &s->claims.at[s->rests.at[i].claim];
        if (c->use.node == node && claim_is_reserved(s, c) &&
            reserve_of(s, c->gang)->start >= end)
            rest_lift(s, &s->rests.at[i], lift);
    }
}

/* A lone task that ends before the reservations on a node begin. */
static bool place_lone_over(struct pass *p, uint32_t gang, int64_t end)
{
    struct sched *s = p->s;
    struct scratch *sc = s->scratch;
    const struct shape *sh = &s->shapes.at[slot_shape(s, gang, 0)].shape;
    for (uint32_t i = 0; i < s->reserves.n; i++) {
        const struct reservation *r = &s->reserves.at[i];
        uint32_t k = sh->gpu_count < OVER_MEMO ? sh->gpu_count : OVER_MEMO - 1;
        if (r->start < end || sc->over_failed[i % OVER_MEMO][k] == r->version)
            continue;
        uint32_t node = kept_node(s, r, sh->gpu_count);
        if (node == NODE_NONE) {
            sc->over_failed[i % OVER_MEMO][k] = r->version;
            continue;
        }
        node_lift(s, node, end, true);
        bool ok = place_on(s, gang, node);
        node_lift(s, node, end, false);
        if (ok)
            return true;
    }
    return false;
}

static bool place_gang_over(struct pass *p, uint32_t gang, int64_t end)
{
    struct sched *s = p->s;
    struct why why;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->reserves.n; i++)
        kept += s->reserves.at[i].start >= end ? s->reserves.at[i].taken : 0;
    uint32_t memo = gang % OVER_MEMO;
    if (kept == 0 || (s->scratch->over_gang[memo] == gang &&
                      s->scratch->over_version[memo] == s->reserve_version))
        return false;
    for (uint32_t i = 0; i < s->reserves.n; i++)
        if (s->reserves.at[i].start >= end)
            gang_lift(s, s->reserves.at[i].gang, true);
    bool ok = place_gang(s, gang, &why);
    for (uint32_t i = s->reserves.n; i-- > 0;)
        if (s->reserves.at[i].start >= end)
            gang_lift(s, s->reserves.at[i].gang, false);
    if (!ok) {
        s->scratch->over_gang[memo] = gang;
        s->scratch->over_version[memo] = s->reserve_version;
    }
    return ok;
}

bool pass_place(struct pass *p, uint32_t gang, struct why *why)
{
    struct sched *s = p->s;
    bool soft;
    if (place_gang(s, gang, why))
        return true;
    if (s->reserves.n == 0)
        return false;
    int64_t end = timeline_end(s->at, gang_duration(s, gang, &soft));
    if (soft || end == TIMELINE_FOREVER)
        return false; /* nobody knows when it would be gone */
    const struct tree_root *root = gang_root(s, &s->gangs.at[gang]);
    if (root->min_milli == 0)
        return false;
    return root->slots == 1 ? place_lone_over(p, gang, end) : place_gang_over(p, gang, end);
}

/* --- making a plan --- */

struct plan {
    struct timeline_ask ask;
    struct timeline_found found;
    VEC(struct timeline_range) domains;
    VEC(uint64_t) usable;
    VEC(struct seat) seats;
    bool soft;         /* something in the way has no limit */
    int64_t expected;  /* when what is in the way is expected to be gone */
    uint64_t who;      /* whose job ends last */
    word_t level;
};

static void plan_done(struct plan *pl)
{
    timeline_found_done(&pl->found);
    vec_done(&pl->domains);
    vec_done(&pl->usable);
    vec_done(&pl->seats);
}

/* GPU leaves: how many tasks at the minimum, and the widest of them. */
static void ask_tasks(const struct sched *s, uint32_t gang, struct timeline_ask *ask,
                      uint32_t *ret_shape)
{
    const struct tree_root *root = gang_root(s, &s->gangs.at[gang]);
    const struct tree *t = gang_tree(s, &s->gangs.at[gang]);
    for (uint32_t i = root->leaf0; i < root->leaf0 + root->nleaves; i++) {
        const struct shape *sh = &s->shapes.at[t->leaves[i].shape].shape;
        if (sh->gpu_mode != GPU_WHOLE || sh->gpu_count == 0)
            continue;
        ask->ntasks += t->leaves[i].copies * t->leaves[i].per_min;
        if (sh->gpu_count > ask->gpus) {
            ask->gpus = sh->gpu_count;
            *ret_shape = t->leaves[i].shape;
        }
    }
}

static void ask_domains(const struct sched *s, uint32_t gang, struct plan *pl)
{
    const struct tree_root *root = gang_root(s, &s->gangs.at[gang]);
    word_t level = gang_tree(s, &s->gangs.at[gang])->groups[root->group].required;
    uint32_t depth = level ? level_depth(s, level) : 0, lo, hi;
    const struct cluster *c = s->cluster;
    if (depth == 0 || depth == UINT32_MAX)
        return;
    pl->level = level;
    if (depth > c->nlevels) { /* all on one node */
        for (uint32_t r = 0; r < c->nranks; r++)
            vec_push(&pl->domains, ((struct timeline_range){r, r + 1}));
    } else {
        domain_span(c, 0, depth, &lo, &hi);
        for (uint32_t d = lo; d < hi; d++)
            vec_push(&pl->domains, ((struct timeline_range){c->domains[d].rank_lo,
                                                            c->domains[d].rank_hi}));
    }
    pl->ask.domains = pl->domains.at;
    pl->ask.ndomains = pl->domains.n;
}

/* Nodes that may hold the shape at all; counts of free GPUs are the timeline's. */
static void ask_usable(struct sched *s, uint32_t shape, struct plan *pl)
{
    const struct cluster *c = s->cluster;
    const struct shape *sh = &s->shapes.at[shape].shape;
    bool tainted = sh->nconstraints > 0 || s->spares.n;
    for (uint32_t i = 0; i < s->tainted.n && !tainted; i++)
        tainted = s->tainted.at[i] != 0;
    if (!tainted && (sh->ntypes == 0 || c->ntypes < 2))
        return;
    uint64_t types = shape_typemask(s, shape);
    vec_resize(&pl->usable, c->nranks / 64 + 1);
    memset(pl->usable.at, 0, (c->nranks / 64 + 1) * sizeof *pl->usable.at);
    for (uint32_t r = 0; r < c->nranks; r++) {
        const struct node *n = &c->nodes[c->order[r]];
        bool typed = n->type == TYPE_ANY || types >> n->type & 1;
        if (typed && node_eligible(s, sh, c->order[r]) && !node_is_spare(s, c->order[r]))
            pl->usable.at[r / 64] |= UINT64_C(1) << (r % 64);
    }
    pl->ask.usable = pl->usable.at;
}

/* Healthy devices that may be used whole. */
static uint64_t whole_devices(const struct sched *s, const struct node *n)
{
    uint64_t devs = n->healthy;
    for (uint64_t m = devs; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(m);
        if (!(s->cluster->devices[n->device0 + i].modes & DEVICE_WHOLE))
            devs &= ~(UINT64_C(1) << i);
    }
    return devs;
}

/* Devices of the node that nobody has at `start` and until `end`, as far as is known. */
static uint64_t devices_then(struct sched *s, uint32_t gang, uint32_t node, int64_t start,
                             int64_t end, struct plan *pl)
{
    const struct node *n = &s->cluster->nodes[node];
    uint64_t devs = whole_devices(s, n);
    for (uint32_t i = node_first_claim(s, node); i != NONE; i = s->claims.at[i].next) {
        const struct claim *c = &s->claims.at[i];
        bool soft = false;
        if (c->gang == gang && claim_is_reserved(s, c))
            continue;
        if (claim_is_reserved(s, c)) {
            int64_t from = reserve_of(s, c->gang)->start;
            int64_t until = timeline_end(from, gang_booked_for(s, c->gang));
            if (from < end && until > start)
                devs &= ~c->use.devs;
            continue;
        }
        int64_t until = claim_until(s, c, &soft);
        if (until > start) {
            devs &= ~c->use.devs;
            continue;
        }
        const struct job *j = c->gang == NONE ? NULL : &s->jobs.at[s->gangs.at[c->gang].job];
        int64_t expected = claim_expected(s, c, until);
        pl->soft = pl->soft || soft;
        if (expected > pl->expected) {
            pl->expected = expected;
            pl->who = j ? digest_bytes(j->name, j->name_len, 0) : 0;
        }
    }
    return devs;
}

static uint64_t pick_devices(struct sched *s, uint32_t node, uint64_t devs, uint32_t shape)
{
    const struct shape *sh = &s->shapes.at[shape].shape;
    struct node *n = &s->cluster->nodes[node], now = *n;
    uint64_t types = shape_typemask(s, shape), got = 0;
    n->whole_free = devs; /* as it will be then; in its place, by which its sets are found */
    n->nwhole = (uint8_t)__builtin_popcountll(devs);
    for (uint32_t t = 0; t < s->cluster->ntypes && !got; t++)
        if (types >> t & 1)
            got = node_pick_whole(s->cluster, n, t, sh->gpu_count);
    *n = now;
    return got;
}

/* The next slot of the gang's minimum that asks for GPUs, at or after *slot. */
static bool next_slot(struct sched *s, uint32_t gang, uint32_t *slot)
{
    const struct gang *g = &s->gangs.at[gang];
    for (; *slot < g->nslots; ++*slot) {
        const struct tree_leaf *l = &gang_tree(s, g)->leaves[slot_leaf(s, gang, *slot)];
        const struct shape *sh = &s->shapes.at[l->shape].shape;
        if (sh->gpu_mode == GPU_WHOLE && sh->gpu_count &&
            (*slot - l->slot0) % l->per_copy < l->per_min)
            return true;
    }
    return false;
}

/* Slots onto the nodes that were found, with the devices they will have. */
static bool plan_seats(struct sched *s, uint32_t gang, struct plan *pl)
{
    int64_t start = pl->found.start, end = timeline_end(start, pl->ask.duration_us);
    uint32_t slot = 0;
    pl->expected = s->at;
    for (uint32_t i = 0; i < pl->found.seats.n; i++) {
        uint32_t node = s->cluster->order[pl->found.seats.at[i].rank];
        uint64_t devs = devices_then(s, gang, node, start, end, pl);
        for (uint32_t k = 0; k < pl->found.seats.at[i].tasks; k++, slot++) {
            if (!next_slot(s, gang, &slot))
                return true;
            uint64_t got = pick_devices(s, node, devs, slot_shape(s, gang, slot));
            if (!got)
                return false;
            devs &= ~got;
            vec_push(&pl->seats, ((struct seat){.slot = slot_ref_of(s, gang, slot), .rank = slot,
                                                .node = cluster_node_name(s->cluster, node),
                                                .devs = got}));
        }
    }
    return true;
}

/* The earliest start not after `latest`; false: none, or one that cannot be seated. */
static bool plan_make(struct sched *s, uint32_t gang, int64_t latest, struct plan *pl)
{
    uint32_t shape = NONE;
    struct timeline *t = future_ready(s);
    ask_tasks(s, gang, &pl->ask, &shape);
    if (pl->ask.ntasks == 0)
        return false;
    pl->ask.duration_us = gang_booked_for(s, gang);
    pl->ask.not_before = s->at;
    pl->ask.not_after = latest;
    ask_domains(s, gang, pl);
    ask_usable(s, shape, pl);
    return timeline_earliest(t, &pl->ask, &pl->found) &&
           pl->found.start < TIMELINE_FOREVER && plan_seats(s, gang, pl);
}

static void keep(struct pass *p, uint32_t gang, const struct plan *pl)
{
    struct sched *s = p->s;
    struct seat *seats = arena_alloc(&p->out->arena, (pl->seats.n + 1) * sizeof *seats);
    memcpy(seats, pl->seats.at, pl->seats.n * sizeof *seats);
    struct record *r = pass_add(p, DE_HOLD);
    int64_t start = pl->found.start;
    struct why why = {.code = WHY_PROMISED, .level = (uint16_t)pl->level,
                      .need = pl->ask.ntasks, .who = pl->who};
    int64_t when = pl->soft ? pl->expected : start;
    why.other = (uint32_t)((when - s->at) / 1000000);
    r->why = why;
    r->hold = (__typeof__(r->hold)){.plan = s->plan_n + 1, .gang = gang_ref_of(s, gang),
                                    .seats = seats, .nseats = pl->seats.n, .start = start,
                                    .by = pl->soft ? 0 : start, .expected = pl->expected,
                                    .until = start, .what = HOLD_RESERVE};
    pass_emit(p);
    const struct reservation *made = reserve_of(s, gang);
    if (!made)
        return;
    why.have = made->taken;
    pass_say(p, gang, &why);
}

static bool may_reserve(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    if (s->policy.reserve == RESERVE_NONE || s->reserves.n >= s->policy.reservations ||
        g->reserved || g->phase != GANG_PENDING || (s->policy.reserve_after_us && !g->due))
        return false;
    return s->policy.reserve == RESERVE_ALL || gang_root(s, g)->slots > 1;
}

bool pass_reserve(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    struct plan pl = {0};
    bool ok = may_reserve(s, gang) && plan_make(s, gang, INT64_MAX - 1, &pl) &&
              pl.found.start > s->at; /* else what it lacks is not GPUs */
    if (ok)
        keep(p, gang, &pl);
    plan_done(&pl);
    return ok && s->gangs.at[gang].reserved;
}

int64_t pass_forecast(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    struct plan pl = {0};
    p->questions++;
    bool ok = plan_make(s, gang, INT64_MAX - 1, &pl) && pl.found.start > s->at;
    int64_t at = !ok ? INT64_MAX : pl.expected > s->at ? pl.expected : pl.found.start;
    plan_done(&pl);
    return at;
}

/* --- starting and improving --- */

/* Could it fit by counts, with its own room? */
static bool worth_a_try(struct sched *s, const struct reservation *r)
{
    if (r->taken >= r->nclaims)
        return true;
    struct plan pl = {0};
    uint32_t shape = NONE;
    ask_tasks(s, r->gang, &pl.ask, &shape);
    struct asker a = {.shape = shape, .sh = &s->shapes.at[shape].shape,
                      .types = shape_typemask(s, shape)};
    return asker_fit(s, &a, 0) + r->taken >= pl.ask.ntasks;
}

static bool try_start(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    struct why why;
    const struct reservation *r = reserve_of(s, gang);
    if (s->jobs.at[s->gangs.at[gang].job].held || !worth_a_try(s, r) ||
        !quota_allows(s, gang, &why))
        return false;
    p->questions++;
    scratch_ready(s);
    gang_lift(s, gang, true);
    bool ok = place_gang(s, gang, &why);
    gang_lift(s, gang, false);
    if (!ok)
        return false;
    pass_launch(p, gang); /* fold lets the reservation go */
    return true;
}

static bool is_spoiled(struct sched *s, uint32_t gang)
{
    for (uint32_t i = 0; i < s->gangs.at[gang].nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (c == NONE)
            continue;
        const struct use *u = &s->claims.at[c].use;
        if (u->node == NODE_NONE)
            return true;
        const struct node *n = &s->cluster->nodes[u->node];
        if (!node_is_sound(n) || u->devs & ~n->healthy)
            return true;
    }
    return false;
}

static void plan_again(struct pass *p, uint32_t gang, uint16_t code, int64_t latest)
{
    struct plan pl = {0};
    bool firm = code == WHY_PROMISED && reserve_of(p->s, gang)->by;
    future_ready(p->s);
    future_gang(p->s, gang, false);
    bool ok = plan_make(p->s, gang, latest, &pl) && pl.found.start > p->s->at;
    ok = ok && !(firm && pl.soft); /* a promise is not given up for a forecast */
    future_gang(p->s, gang, true);
    if (ok) {
        pass_let_go(p, gang, code);
        keep(p, gang, &pl);
    } else if (latest == INT64_MAX - 1) {
        pass_let_go(p, gang, code); /* it goes back to its lane */
    }
    plan_done(&pl);
}

/* Its wait has become longer than was thought: perhaps others are stopped for it after all. */
static void weigh_again(struct pass *p, uint32_t gang)
{
    struct why why = {0};
    pass_let_go(p, gang, WHY_LATE);
    if (!quota_allows(p->s, gang, &why) || pass_reclaim(p, gang, &why))
        return;
    if (pass_reserve(p, gang) && why.code == WHY_CHEAPER)
        pass_say(p, gang, &why);
}

static int by_order(const void *a, const void *b, void *arg)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x == y ? 0 : gang_before(arg, x, y) ? -1 : 1;
}

bool pass_reserves_due(const struct sched *s)
{
    return s->reserves.n && (s->reserve_now.check || s->reserve_now.improve ||
                             s->reserve_now.freed);
}

void pass_reserves(struct pass *p)
{
    struct sched *s = p->s;
    scratch_ready(s); /* behind a restart the tree of domains is not made yet */
    uint32_t n = s->reserves.n;
    bool improve = s->reserve_now.improve, check = s->reserve_now.check;
    uint32_t *ids = arena_alloc(&p->out->arena, (n + 1) * sizeof *ids);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = s->reserves.at[i].gang;
    qsort_r(ids, n, sizeof *ids, by_order, s);
    for (uint32_t i = 0; i < n; i++) {
        if (try_start(p, ids[i]))
            continue;
        const struct reservation *r = reserve_of(s, ids[i]);
        if (check && is_spoiled(s, ids[i]))
            plan_again(p, ids[i], WHY_FAULT, INT64_MAX - 1);
        else if (improve && r->expected <= s->at && pass_weighs(s, ids[i]))
            weigh_again(p, ids[i]);
        else if (improve && r->start <= s->at)
            plan_again(p, ids[i], WHY_LATE, INT64_MAX - 1); /* what was in the way has not gone */
        else if (improve)
            plan_again(p, ids[i], WHY_PROMISED, r->start - BETTER_US);
    }
}
