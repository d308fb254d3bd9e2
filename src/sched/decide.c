/* decide.c - the only place where anything is chosen
 *
 * At a border, in this order: what must stop (strays, cancelled jobs, gangs that are done or
 * broken or late), what must be mended (missing members, later stages), checkpoints asked
 * for by people, then the waiting gangs in the policy's order until the lanes are blocked;
 * last a reason for each gang that waits and has none. Each decision is folded at once, by
 * the same fold, so the next question sees it. Bounded in questions, never in time: what is
 * left over is counted in `pass` and asks for another border.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/hash.h"
#include "sched/decide.h"

struct record *pass_add(struct pass *p, int kind)
{
    struct record *r = records_add(p->out, kind);
    r->at = p->s->at;
    r->seq = p->s->seq + 1;
    r->would = p->would;
    return r;
}

void pass_emit(struct pass *p)
{
    sched_fold(p->s, &p->out->list.at[p->out->list.n - 1]);
}

/* A decision names its gang by the job's own text: it stays where it is, even if the job dies
 * in this pass, until a later job_set takes its slot. */
struct task_ref pass_task_ref(struct pass *p, uint32_t claim)
{
    const struct sched *s = p->s;
    const struct claim *c = &s->claims.at[claim];
    struct task_ref ref = {.launch = c->launch};
    if (c->gang != NONE) {
        ref.gang = gang_ref_of(s, c->gang);
        ref.slot = slot_ref_of(s, c->gang, c->slot);
        const struct slot *sl = gang_slot(p->s, c->gang, c->slot);
        if (c->phase != CLAIM_STRAY && sl->task)
            ref.task = arena_str(&p->out->arena, (struct str){sl->task, sl->task_len});
    }
    if (c->phase == CLAIM_STRAY && c->name)
        stray_ref(s, claim, &p->out->arena, &ref);
    return ref;
}

static bool may_stop(const struct sched *s, uint32_t claim)
{
    const struct claim *c = &s->claims.at[claim];
    return !c->asked && c->retry_at <= s->at;
}

/* One stop for all that run or are issued in the gang. */
void pass_stop_gang(struct pass *p, uint32_t gang, uint8_t mode, uint16_t code)
{
    struct sched *s = p->s;
    const struct gang *g = &s->gangs.at[gang];
    uint32_t n = g->issued + g->running, k = 0;
    if (n == 0)
        return;
    struct task_ref *refs = arena_alloc(&p->out->arena, n * sizeof *refs);
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (c == NONE || !may_stop(s, c))
            continue;
        if (s->claims.at[c].phase == CLAIM_ISSUED || s->claims.at[c].phase == CLAIM_RUNNING)
            refs[k++] = pass_task_ref(p, c);
    }
    if (k == 0)
        return;
    struct record *r = pass_add(p, DE_STOP);
    r->stop.plan = s->plan_n + 1;
    r->stop.stop = (uint64_t)s->term << 40 | (s->stop_n + 1);
    r->stop.ntasks = k;
    r->stop.tasks = refs;
    r->stop.mode = mode;
    r->why = (struct why){.code = code, .need = g->target, .have = g->running + g->done};
    pass_emit(p);
}

static void stop_strays(struct pass *p)
{
    struct sched *s = p->s;
    uint32_t n = 0;
    for (uint32_t i = s->strays; i != NONE; i = s->claims.at[i].stray_next)
        n += may_stop(s, i);
    if (n == 0)
        return;
    uint32_t *ids = arena_alloc(&p->out->arena, n * sizeof *ids), k = 0;
    for (uint32_t i = s->strays; i != NONE; i = s->claims.at[i].stray_next)
        if (may_stop(s, i))
            ids[k++] = i;
    qsort_r(ids, n, sizeof *ids, stray_by_name, s);
    struct task_ref *refs = arena_alloc(&p->out->arena, n * sizeof *refs);
    for (uint32_t i = 0; i < n; i++)
        refs[i] = pass_task_ref(p, ids[i]);
    struct record *r = pass_add(p, DE_STOP);
    r->stop.plan = s->plan_n + 1;
    r->stop.stop = (uint64_t)s->term << 40 | (s->stop_n + 1);
    r->stop.ntasks = n;
    r->stop.tasks = refs;
    r->stop.mode = STOP_END;
    r->why.code = WHY_STRAY;
    r->why.have = n;
    pass_emit(p);
}

static bool group_started(struct sched *s, uint32_t gang, uint16_t group, uint8_t how)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct tree *t = gang_tree(s, g);
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint16_t up = t->leaves[slot_leaf(s, gang, i)].group;
        while (up != GROUP_NONE && up != group)
            up = t->groups[up].parent;
        const struct slot *sl = gang_slot(s, gang, i);
        uint32_t want = how == START_AFTER_READY ? SLOT_READY : SLOT_STARTED;
        bool needed = sl->claim != NONE;
        if (up == group && needed && !(sl->flags & (want | SLOT_DONE)))
            return false;
    }
    return true;
}

/* Has everything that the slot's leaf waits for started? */
static bool slot_may_start(struct sched *s, uint32_t gang, uint32_t slot)
{
    const struct tree *t = gang_tree(s, &s->gangs.at[gang]);
    if (!t->staged)
        return true;
    for (uint16_t g = t->leaves[slot_leaf(s, gang, slot)].group; g != GROUP_NONE;
         g = t->groups[g].parent)
        if (t->groups[g].start != START_AT_ONCE &&
            !group_started(s, gang, t->groups[g].start_group, t->groups[g].start))
            return false;
    return true;
}

static bool plan_has(struct sched *s, uint32_t gang, uint16_t group)
{
    const struct tree *t = gang_tree(s, &s->gangs.at[gang]);
    for (uint32_t i = 0; i < s->scratch->plan.n; i++) {
        uint16_t up = t->leaves[slot_leaf(s, gang, s->scratch->plan.at[i].slot)].group;
        while (up != GROUP_NONE && up != group)
            up = t->groups[up].parent;
        if (up == group)
            return true;
    }
    return false;
}

/* Does the slot wait for a group that has members in the same plan? They have not started.
 * (A group whose members are all done has none there, and nobody waits for it.) */
static bool waits_for_plan(struct sched *s, uint32_t gang, uint32_t slot)
{
    const struct tree *t = gang_tree(s, &s->gangs.at[gang]);
    if (!t->staged)
        return false;
    for (uint16_t g = t->leaves[slot_leaf(s, gang, slot)].group; g != GROUP_NONE;
         g = t->groups[g].parent)
        if (t->groups[g].start != START_AT_ONCE && plan_has(s, gang, t->groups[g].start_group))
            return true;
    return false;
}

static struct seat seat_of(struct pass *p, uint32_t gang, uint32_t slot, uint8_t alt,
                           const struct use *u)
{
    struct sched *s = p->s;
    const struct slot *sl = gang_slot(s, gang, slot);
    s->last_node = u->node; /* a lone seat's node is what fold asks for next */
    struct seat seat = {.slot = slot_ref_of(s, gang, slot),
                        .rank = sl->rank,
                        .node = cluster_node_name(s->cluster, u->node),
                        .devs = u->devs,
                        .slices = u->slices,
                        .alt = alt};
    if (sl->task)
        seat.task = arena_str(&p->out->arena, (struct str){sl->task, sl->task_len});
    return seat;
}

static struct seat seat_of_pick(struct pass *p, uint32_t gang, const struct pick *k)
{
    const struct sched *s = p->s;
    uint32_t shape = slot_shape(s, gang, k->slot), alt = shape_alts(s, shape) - 1;
    while (alt > 0 && shape_alt(s, shape, alt) != k->shape)
        alt--;
    return seat_of(p, gang, k->slot, (uint8_t)alt, &k->use);
}

struct seat *pass_seats(struct pass *p, uint32_t gang)
{
    struct scratch *sc = p->s->scratch;
    struct seat *seats = arena_alloc(&p->out->arena, (sc->plan.n + 1) * sizeof *seats);
    for (uint32_t i = 0; i < sc->plan.n; i++)
        seats[i] = seat_of_pick(p, gang, &sc->plan.at[i]);
    return seats;
}

static struct why fit_reason(const struct sched *s)
{
    const struct scratch *sc = s->scratch;
    struct why w = {.code = WHY_FITS, .need = sc->plan.n};
    uint32_t d = NONE, last = NODE_NONE;
    for (uint32_t i = 0; i < sc->plan.n; i++) {
        uint32_t node = sc->plan.at[i].use.node;
        uint32_t here = s->cluster->nodes[node].domain;
        d = d == NONE ? here : cluster_common(s->cluster, d, here);
        w.have += node != last;
        last = node;
    }
    uint32_t depth = d == NONE ? 0 : s->cluster->domains[d].depth;
    if (depth)
        w.level = (uint16_t)s->cluster->levels[depth - 1];
    return w;
}

static void emit_seats(struct pass *p, uint32_t gang, int kind, const struct seat *seats,
                       uint32_t n, struct why why)
{
    struct sched *s = p->s;
    const struct gang *g = &s->gangs.at[gang];
    struct record *r = pass_add(p, kind);
    r->why = why;
    s->last_job = g->job; /* fold asks for it by name now */
    if (kind == DE_LAUNCH) {
        r->launch.plan = s->plan_n + 1;
        r->launch.stage = g->phase == GANG_PENDING ? 0 : g->stage + 1;
        r->launch.launch = (uint64_t)s->term << 40 | (s->launch_n + 1);
        r->launch.gang = gang_ref_of(s, gang);
        r->launch.nseats = n;
        r->launch.seats = seats;
        r->launch.launch_by = s->at + s->policy.launch_timeout_us;
    } else {
        r->hold.plan = s->plan_n;
        r->hold.gang = gang_ref_of(s, gang);
        r->hold.nseats = n;
        r->hold.seats = seats;
        r->hold.until = s->at + s->policy.launch_timeout_us;
    }
    pass_emit(p);
}

/* Launch what the plan holds; what waits for a group of its own gang is held. */
void pass_launch(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    struct scratch *sc = s->scratch;
    struct seat *seats = arena_alloc(&p->out->arena, sc->plan.n * sizeof *seats);
    uint32_t now = 0, later = sc->plan.n;
    for (uint32_t i = 0; i < sc->plan.n; i++) {
        const struct pick *k = &sc->plan.at[i];
        bool wait = k->over || waits_for_plan(s, gang, k->slot) || !slot_may_start(s, gang, k->slot);
        seats[wait ? --later : now++] = seat_of_pick(p, gang, k);
    }
    struct why why = p->why.code ? p->why : fit_reason(s);
    uint32_t n = sc->plan.n;
    p->why.code = WHY_NONE;
    if (now)
        emit_seats(p, gang, DE_LAUNCH, seats, now, why);
    if (later < n)
        emit_seats(p, gang, DE_HOLD, seats + later, n - later, why);
}

/* Held room that can no longer be used as it is: its node or a device of it went bad. */
bool claim_is_spoiled(struct sched *s, const struct claim *c)
{
    if (c->use.node == NODE_NONE)
        return true;
    const struct node *n = &s->cluster->nodes[c->use.node];
    return !node_is_usable(n) || (c->use.mode != GPU_NONE && c->use.devs & ~n->healthy) ||
           !node_tolerated(s, &s->shapes.at[c->shape].shape, c->use.node);
}

void pass_let_go(struct pass *p, uint32_t gang, uint16_t code)
{
    struct sched *s = p->s;
    struct record *r = pass_add(p, DE_HOLD);
    r->hold.plan = s->plan_n + 1;
    r->hold.gang = gang_ref_of(s, gang);
    r->hold.until = s->at;
    r->hold.what = s->gangs.at[gang].reserved ? HOLD_RESERVE : HOLD_STAGE;
    r->why = (struct why){.code = code, .need = s->gangs.at[gang].target,
                          .have = s->gangs.at[gang].planned};
    pass_emit(p);
}

/* Then all room of the gang is let go, and what it lacks is placed anew. */
static void let_go_spoiled(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    bool spoiled = false;
    for (uint32_t i = 0; i < s->gangs.at[gang].nslots && !spoiled; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        spoiled = c != NONE && s->claims.at[c].phase == CLAIM_PLANNED &&
                  claim_is_spoiled(s, &s->claims.at[c]);
    }
    if (spoiled)
        pass_let_go(p, gang, WHY_FAULT);
}

static bool room_is_there(struct sched *s, uint32_t gang)
{
    for (uint32_t i = 0; i < s->gangs.at[gang].nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (c != NONE && s->claims.at[c].phase == CLAIM_PLANNED && !s->claims.at[c].taken)
            return false;
    }
    return gang_alive(&s->gangs.at[gang]) == 0;
}

/* Held room whose turn has come (a later stage, or a launch that was throttled). */
static void launch_planned(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    const struct gang *g = &s->gangs.at[gang];
    struct seat *seats = NULL;
    uint32_t n = 0;
    struct why why;
    if (gang_is_behind(s, g) && !room_is_there(s, gang))
        return; /* it starts whole: somebody who was stopped for it has not ended */
    if (g->mends && (!g->behind || gang_lacks(s, gang) || !gang_may_try(s, gang, &why)))
        return;
    for (uint32_t i = 0; i < g->nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (c == NONE || s->claims.at[c].phase != CLAIM_PLANNED || !s->claims.at[c].taken ||
            s->claims.at[c].retry_at > s->at || !slot_may_start(s, gang, i) ||
            !node_is_usable(&s->cluster->nodes[s->claims.at[c].use.node]))
            continue;
        const struct slot *sl = gang_slot(s, gang, i);
        if (!(s->caps & CAP_MAKE) && (!sl->task || sl->flags & SLOT_GATED))
            continue;
        if (!seats)
            seats = arena_alloc(&p->out->arena, g->nslots * sizeof *seats);
        seats[n++] = seat_of(p, gang, i, s->claims.at[c].alt, &s->claims.at[c].use);
    }
    if (n)
        emit_seats(p, gang, DE_LAUNCH, seats, n, (struct why){.code = WHY_FITS, .need = n});
}

static uint32_t bucket(uint32_t n)
{
    return n < 2 ? n : 32 - (uint32_t)__builtin_clz(n);
}

static bool same_reason(const struct why *a, const struct why *b)
{
    return a->code == b->code && a->level == b->level && bucket(a->need) == bucket(b->need) &&
           bucket(a->have) == bucket(b->have);
}

void pass_say(struct pass *p, uint32_t gang, const struct why *why)
{
    const struct sched *s = p->s;
    const struct gang *g = &s->gangs.at[gang];
    if (g->said && same_reason(&g->why, why)) {
        vec_push(&p->same, gang_ref_of(s, gang)); /* folded with the pass */
        return;
    }
    struct record *r = pass_add(p, DE_SAY);
    r->say.gang = gang_ref_of(s, gang);
    r->why = *why;
    pass_emit(p);
}

static void mend(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    struct gang *g = &s->gangs.at[gang];
    struct why why;
    if (g->tried_epoch == s->free_epoch || g->not_before > s->at)
        return;
    p->questions++;
    if (place_missing(s, gang, &why)) {
        pass_take_back(p, gang);
        pass_launch(p, gang);
    } else
        pass_say(p, gang, &why);
}

/* Does it lack a member that went with its node, or a device? */
static bool has_lost(struct sched *s, uint32_t gang)
{
    for (uint32_t i = 0; i < s->gangs.at[gang].nslots; i++) {
        const struct slot *sl = gang_slot(s, gang, i);
        if (sl->claim == NONE && sl->flags & (SLOT_LOST_NODE | SLOT_LOST_DEVICE))
            return true;
    }
    return false;
}

static void attend_broken(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    const struct gang *g = &s->gangs.at[gang];
    const struct job *j = &s->jobs.at[g->job];
    bool late = g->launch_by <= s->at;
    if (g->phase == GANG_BROKEN && j->on_loss == LOSS_GANG && !g->raised) {
        pass_stop_gang(p, gang, STOP_END, WHY_LOST);
        pass_keep_places(p, gang);
        return;
    }
    if (late && g->issued + g->running + g->ending == 0 && g->planned) {
        pass_let_go(p, gang, WHY_LATE); /* what was stopped for it has not ended in time */
        return;
    }
    if (late && (g->phase == GANG_LAUNCHING || gang_is_below(s, gang))) {
        pass_stop_gang(p, gang, STOP_END, g->phase == GANG_LAUNCHING ? WHY_LATE : WHY_LOST);
        if (has_lost(s, gang)) /* while it was starting */
            pass_keep_places(p, gang);
        return;
    }
    if (gang_missing(g) && !j->held && p->questions < s->policy.most_questions)
        mend(p, gang);
}

static void attend(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    const struct gang *g = &s->gangs.at[gang];
    if (!g->live || g->phase == GANG_OVER || g->phase == GANG_PENDING)
        return;
    if (quota_authority(s, gang) < AUTHORITY_PLACE)
        return; /* muster only watches */
    if (s->jobs.at[g->job].cancelled) {
        pass_stop_gang(p, gang, STOP_END, WHY_CANCELLED);
        return;
    }
    if (gang_succeeded(s, gang)) {
        pass_stop_gang(p, gang, STOP_END, WHY_NONE);
        return;
    }
    if (g->phase == GANG_RUNNING && gang_limit_at(s, gang) <= s->at) {
        pass_stop_gang(p, gang, STOP_END, WHY_LIMIT);
        return;
    }
    if (g->mends)
        pass_mend_whole(p, gang);
    else if (g->planned && !s->jobs.at[g->job].held)
        let_go_spoiled(p, gang);
    g = &s->gangs.at[gang];
    if (g->live && !g->mends && (g->phase == GANG_LAUNCHING ||
                    (g->phase == GANG_BROKEN && quota_authority(s, gang) >= AUTHORITY_REPAIR)))
        attend_broken(p, gang);
    g = &s->gangs.at[gang];
    if (g->live && g->planned && g->phase != GANG_PENDING && g->phase != GANG_STOPPING &&
        !s->jobs.at[g->job].held) /* a held job starts nothing; what runs may go on */
        launch_planned(p, gang);
}

static int gang_order(const void *pa, const void *pb, void *arg)
{
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    if (a == b)
        return 0;
    return gang_before(arg, a, b) ? -1 : 1;
}

/* The attention list in the order of the queue, not in the order of the facts. */
static void attend_all(struct pass *p)
{
    struct sched *s = p->s;
    uint32_t n = 0;
    for (uint32_t g = s->attention; g != NONE; g = s->gangs.at[g].attention_next)
        n += s->gangs.at[g].live;
    if (n == 0)
        return;
    uint32_t *ids = arena_alloc(&p->out->arena, n * sizeof *ids), k = 0;
    for (uint32_t g = s->attention; g != NONE; g = s->gangs.at[g].attention_next)
        if (s->gangs.at[g].live)
            ids[k++] = g;
    qsort_r(ids, n, sizeof *ids, gang_order, s);
    for (uint32_t i = 0; i < n; i++)
        attend(p, ids[i]);
}

static bool may_grow_now(const struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    return g->live && g->phase == GANG_RUNNING && g->grows &&
           g->tried_epoch != s->free_epoch && !s->jobs.at[g->job].held &&
           !s->jobs.at[g->job].cancelled && gang_may_grow(s, gang);
}

static void ask_checkpoints(struct pass *p)
{
    struct sched *s = p->s;
    for (uint32_t i = 0; i < s->asks.n; i++) {
        const struct job *j = &s->jobs.at[s->asks.at[i]];
        if (!j->live || !j->ask)
            continue;
        struct record *r = pass_add(p, DE_ASK);
        r->ask.job = arena_str(&p->out->arena, job_name(j));
        r->ask.deadline = s->at + (j->ckpt_save_us ? j->ckpt_save_us : 60 * 1000000);
        pass_emit(p);
    }
}

static void refuse(struct pass *p, uint32_t gang, const struct why *why)
{
    struct sched *s = p->s;
    uint32_t lane = s->gangs.at[gang].lane;
    pass_say(p, gang, why);
    if (!lane_is_blocked(s, &s->lanes.at[lane])) /* same answer: no record of it */
        lane_block(s, lane, gang, &s->gangs.at[gang].why);
}

/* Muster only watches this queue: told once what it would do. */
static void launch_would(struct pass *p, uint32_t gang, struct why *why)
{
    const struct gang *g = &p->s->gangs.at[gang];
    *why = (struct why){.code = WHY_AUTHORITY, .need = AUTHORITY_PLACE,
                        .have = quota_authority(p->s, gang)};
    if (g->said && g->why.code == WHY_AUTHORITY)
        return;
    p->would = true;
    pass_launch(p, gang);
    p->would = false;
}

/* What the limits of queues refuse may be had from lower work of the same queue; what no right
 * covers, and what its user may not have, may not. */
static bool may_reclaim(struct sched *s, uint32_t gang, const struct why *why)
{
    return why->code != WHY_QUOTA || (s->gangs.at[gang].right && quota_user_allows(s, gang));
}

static void try_lanes(struct pass *p)
{
    struct sched *s = p->s;
    struct why why = {0};
    uint32_t next;
    while (p->questions < s->policy.most_questions && (next = lane_next(s)) != NONE) {
        uint32_t gang = s->lanes.at[next].heap[0], chosen = gang;
        p->questions++;
        bool placed = quota_allows(s, gang, &why) &&
                      (pass_place(p, gang, &why) || pass_lend(p, gang));
        if (quota_authority(s, gang) < AUTHORITY_PLACE) {
            if (placed)
                launch_would(p, gang, &why);
            refuse(p, gang, &why);
        } else if (placed && (chosen = pass_choose(p, gang)) != NONE) {
            pass_launch(p, chosen);
        } else if (!may_reclaim(s, gang, &why) ||
                   (!pass_reclaim(p, gang, &why) &&
                    !(why.code == WHY_NEEDS_ROOM && pass_move(p, gang)) &&
                    (why.code == WHY_QUOTA || !pass_reserve(p, gang)))) {
            refuse(p, gang, &why);
        } else if (why.code == WHY_CHEAPER) {
            pass_say(p, gang, &why); /* beside its promise */
        }
    }
}

/* Gangs that may be larger, behind all who wait: they run already. */
static void grow_all(struct pass *p)
{
    struct sched *s = p->s;
    uint32_t *ids = NULL, n = 0, k = 0;
    for (uint32_t g = s->attention; g != NONE; g = s->gangs.at[g].attention_next)
        n += may_grow_now(s, g);
    if (n == 0)
        return;
    ids = arena_alloc(&p->out->arena, n * sizeof *ids);
    for (uint32_t g = s->attention; g != NONE; g = s->gangs.at[g].attention_next)
        if (may_grow_now(s, g))
            ids[k++] = g;
    qsort_r(ids, n, sizeof *ids, gang_order, s);
    for (uint32_t i = 0; i < n && p->questions < s->policy.most_questions; i++) {
        struct why why;
        p->questions++;
        if (place_growth(s, ids[i], &why))
            pass_launch(p, ids[i]);
        else
            pass_say(p, ids[i], &why);
    }
}

/* Tasks that came before there is a place for them wait, and their gang says so. */
static void say_early(struct pass *p, uint32_t gang)
{
    const struct gang *g = &p->s->gangs.at[gang];
    uint32_t early = g->phase == GANG_RUNNING ? early_count(p->s, gang) : 0;
    struct why why = {.code = WHY_INCOMPLETE, .need = g->nslots + early, .have = g->nslots};
    if (early)
        pass_say(p, gang, &why);
}

/* Who came and got no answer of its own gets the lane's. */
static void say_the_rest(struct pass *p)
{
    struct sched *s = p->s;
    for (uint32_t i = 0; i < s->unsaid.n; i++) {
        uint32_t gang = s->unsaid.at[i];
        const struct gang *g = &s->gangs.at[gang];
        struct why why = {0};
        if (g->live && !g->said && g->phase != GANG_PENDING)
            say_early(p, gang);
        if (!g->live || g->said || g->phase != GANG_PENDING)
            continue;
        if (g->lane == NONE) {
            if (gang_may_try(s, gang, &why))
                continue;
        } else {
            const struct lane *l = &s->lanes.at[g->lane];
            if (!lane_is_blocked(s, l))
                continue; /* cut off by the bound: another border comes */
            why = l->why;
            if (l->tree == NONE) {
                struct str head = job_name(&s->jobs.at[s->gangs.at[l->heap[0]].job]);
                why = (struct why){.code = WHY_BEHIND,
                                   .need = gang_root(s, g)->min,
                                   .other = l->n - 1,
                                   .who = digest_bytes(head.ptr, head.len, 0)};
            }
        }
        pass_say(p, gang, &why);
    }
}

static __attribute__((noinline)) void pass(struct sched *s, struct records *out)
{
    struct pass p = {.s = s, .out = out};
    stop_strays(&p);
    if (s->suspects.n)
        pass_bad_nodes(&p);
    if (s->attention != NONE)
        attend_all(&p);
    if (s->asks.n)
        ask_checkpoints(&p);
    if (s->spares_now)
        pass_spares(&p);
    if (pass_reserves_due(s))
        pass_reserves(&p);
    if (s->quota.n_active)
        try_lanes(&p);
    if (s->attention != NONE)
        grow_all(&p);
    if (s->unsaid.n)
        say_the_rest(&p);
    s->counts.questions += p.questions;
    uint32_t left = s->quota.n_active;
    if (left || p.same.n) {
        struct gang_ref *same = arena_alloc(&out->arena, (p.same.n + 1) * sizeof *same);
        if (p.same.n)
            memcpy(same, p.same.at, p.same.n * sizeof *same);
        struct record *r = pass_add(&p, DE_PASS);
        r->pass.left = left;
        r->pass.nsame = p.same.n;
        r->pass.same = same;
        pass_emit(&p);
    }
    vec_done(&p.same);
}

void sched_decide(struct sched *s, struct records *out)
{
    if (!s->synced || !s->leading)
        return;
    bool quiet = s->strays == NONE && s->attention == NONE && !s->asks.n && !s->quota.n_active &&
                 !s->unsaid.n && !s->spares_now && !s->suspects.n && !pass_reserves_due(s);
    if (!quiet) /* at most borders nobody needs anything */
        pass(s, out);
}
