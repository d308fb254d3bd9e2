/* verdict.c - may this decision stand
 * Each kind of decision has a check that looks at the books as they are, then puts the
 * decision on them, then sums up the nodes it named. What can only be judged when the
 * whole plan is there (sizes, levels, segments, constraints) is left for the end of the
 * pass. SPDX-License-Identifier: Apache-2.0 */
#include "audit/book.h"

#include <stdio.h>

static int bad_seat(struct audit *a, const struct gang_ref *g, const struct seat *s,
                    const char *why)
{
    return audit_bad(a, "protocol: " STR_FMT " %u.%u slot %u/%u on " STR_FMT ": %s",
                     STR_ARG(g->job), g->group, g->copy, s->slot.leaf, s->slot.index,
                     STR_ARG(s->node), why);
}

static const char *task_refused(const struct audit *a, const struct bslot *s,
                                const struct seat *seat)
{
    if (a->caps & CAP_MAKE)
        return seat->task.len ? "it names a task, but tasks are made by us" : NULL;
    if (!seat->task.len || !str_eq(seat->task, s->task))
        return "its task is not the one that the slot has";
    if (!s->offered)
        return "its task was not offered";
    return s->gated ? "its task is gated" : NULL;
}

/* One seat of a launch or a hold: the slot is empty (or holds room), the place is
 * legal. */
static int seat_check(struct audit *a, struct bgang *g, const struct gang_ref *ref,
                      const struct seat *seat, bool launch)
{
    uint32_t slot = book_slot(g, seat->slot);
    if (slot == UINT32_MAX)
        return bad_seat(a, ref, seat, "the gang has no such slot");
    const struct bslot *s = &g->slots[slot];
    if (s->claim && s->claim->phase != BP_PLANNED)
        return bad_seat(a, ref, seat, "the slot has a task");
    if (s->claim && !launch)
        return bad_seat(a, ref, seat, "the slot holds room already");
    if (s->done)
        return bad_seat(a, ref, seat, "the slot is done");
    if (s->claim && launch && s->claim->retry_at > a->at)
        return bad_seat(a, ref, seat, "it may not be tried again yet");
    const char *why = launch ? task_refused(a, s, seat) : NULL;
    if (why)
        return bad_seat(a, ref, seat, why);
    if (launch && !layout_may_start(g, slot))
        return bad_seat(a, ref, seat, "what it starts after has not started");
    const struct bnode *n = book_node(a, seat->node);
    if (!n)
        return bad_seat(a, ref, seat, "the node is not known");
    if (seat->alt > book_shape(g, slot)->nalts)
        return bad_seat(a, ref, seat, "its shape has no such alternative");
    struct shape sh;
    shape_choose(book_shape(g, slot), seat->alt, &sh);
    struct need need = book_need(a, &sh, n, seat->devs, seat->slices);
    char text[160];
    why = seat_refused(a, &sh, n, &need, text);
    if (why)
        return bad_seat(a, ref, seat, why);
    struct room r;
    room_sum(n, ROOM_ACTIVE, &r);
    why = room_excess(n, &r, text);
    return why ? bad_seat(a, ref, seat, "the node is overcommitted") : 0;
}

static void seat_fold(struct audit *a, struct bgang *g, const struct seat *seat,
                      enum bphase phase, uint64_t launch)
{
    uint32_t slot = book_slot(g, seat->slot);
    struct bclaim *c = g->slots[slot].claim;
    struct bnode *n = book_node(a, seat->node);
    if (!c)
        c = book_claim_add(a, g, slot, phase);
    uint8_t old = c->alt;
    book_claim_choose(c, seat->alt);
    struct need need = book_need(a, &c->shape, n, seat->devs, seat->slices);
    if (c->node != n || c->need.devs != need.devs || c->need.slices != need.slices ||
        !c->taken || c->alt != old) {
        book_claim_place(a, c, n, &need, seat->node);
        c->fresh = true; /* room that was held before was judged then */
    }
    book_claim_phase(a, c, phase);
    c->extra |= g->up;
    c->launch = launch;
    c->asked = c->ours = false;
    c->retry_at = 0;
    g->slots[slot].rank = seat->rank;
}

/* Ranks are the gang's: no two members have the same. */
static int ranks_check(struct audit *a, const struct bgang *g,
                       const struct gang_ref *ref, const struct seat *seats, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t mine = book_slot(g, seats[i].slot);
        for (uint32_t s = 0; s < g->nslots && n + g->nslots <= 4096; s++)
            if (s != mine && g->slots[s].claim && g->slots[s].claim->launch &&
                g->slots[s].claim->phase != BP_ENDING &&
                g->slots[s].rank == seats[i].rank)
                return bad_seat(a, ref, &seats[i], "another member has its rank");
    }
    return 0;
}

/* Without devices that no seat is on: the world may have put a task where a plan waits. */
static void room_of_seats(const struct bnode *node, const struct seat *seats, uint32_t n,
                          struct room *r)
{
    uint64_t devs = 0;
    for (uint32_t i = 0; i < n; i++)
        devs |= str_eq(seats[i].node, node->name) ? seats[i].devs : 0;
    for (uint32_t d = 0; d < node->ndev; d++)
        if (!(devs >> d & 1))
            memset(&r->dev[d], 0, sizeof r->dev[d]);
}

/* The room of each seat's node, summed with the decision on the books (invariant 1). */
static int rooms_check(struct audit *a, const struct gang_ref *ref,
                       const struct seat *seats, uint32_t n)
{
    const struct bnode *last = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct bnode *node = book_node(a, seats[i].node);
        struct room r;
        char text[160], where[200];
        if (node == last)
            continue;
        last = node;
        room_sum(node, ROOM_ACTIVE, &r);
        const char *why = room_excess(node, &r, text);
        if (!why) {
            room_sum(node, ROOM_KEPT, &r);
            room_of_seats(node, seats, n, &r);
            why = room_excess(node, &r, text);
        }
        if (!why)
            continue;
        snprintf(where, sizeof where, "invariant 1: %s", why);
        return bad_seat(a, ref, &seats[i], where);
    }
    return 0;
}

/* What does not hold yet may hold by the rest of the plan: judged again at the pass's
 * end. */
static void doubts_note(struct audit *a, struct bgang *g, const struct seat *seats,
                        uint32_t n)
{
    char text[160];
    for (uint32_t i = 0; i < n; i++) {
        struct bclaim *c = g->slots[book_slot(g, seats[i].slot)].claim;
        c->doubt = c->fresh && c->node && constraint_broken(a, c, text);
    }
}

static void remember_launched(struct audit *a, struct bgang *g, bool first)
{
    g->first |= first;
    if (g->launched)
        return;
    g->launched = true;
    vec_push(&a->launched, g);
}

static int id_check(struct audit *a, uint64_t id, uint64_t last, const char *what)
{
    if (id >> 40 != a->term)
        return audit_bad(a, "protocol: %s %llx is not of term %u", what,
                         (unsigned long long)id, a->term);
    if (id <= last)
        return audit_bad(a, "protocol: %s %llx does not follow %llx", what,
                         (unsigned long long)id, (unsigned long long)last);
    return 0;
}

static int gang_check(struct audit *a, const struct gang_ref *ref, struct bgang **ret)
{
    struct bgang *g = book_gang(a, ref);
    if (!g || g->over)
        return audit_bad(a, "protocol: " STR_FMT " %u.%u is %s", STR_ARG(ref->job),
                         ref->group, ref->copy, g ? "over" : "not known");
    if (g->job->cancelled || g->job->held)
        return audit_bad(a, "protocol: " STR_FMT " %u.%u gets room, but is %s",
                         STR_ARG(ref->job), ref->group, ref->copy,
                         g->job->held ? "held" : "cancelled");
    if (g->waits && g->not_before > a->at)
        return audit_bad(a, "protocol: " STR_FMT " %u.%u gets room in its back-off",
                         STR_ARG(ref->job), ref->group, ref->copy);
    *ret = g;
    return 0;
}

static int launch(struct audit *a, const struct record *r)
{
    struct bgang *g;
    const struct seat *seats = r->launch.seats;
    uint32_t n = r->launch.nseats;
    int rc = id_check(a, r->launch.launch, a->launch_id, "launch");
    if (!rc)
        rc = gang_check(a, &r->launch.gang, &g);
    if (rc)
        return rc;
    if (n == 0 || r->launch.launch_by < a->at)
        return audit_bad(a, "protocol: a launch of %u seats until %lld", n,
                         (long long)r->launch.launch_by);
    a->launch_id = r->launch.launch;
    bool first = g->waits || g->behind;
    bool repairs = g->short_ || g->mends; /* it is served before what is promised */
    for (uint32_t i = 0; i < n && !rc;
         i++) { /* a slot twice shows as a slot with a task */
        rc = seat_check(a, g, &r->launch.gang, &seats[i], true);
        if (!rc && !repairs)
            rc = keeps_allow(a, g, &seats[i]);
        if (!rc)
            seat_fold(a, g, &seats[i], BP_ISSUED, r->launch.launch);
    }
    if (!rc)
        rc = ranks_check(a, g, &r->launch.gang, seats, n);
    if (!rc)
        rc = rooms_check(a, &r->launch.gang, seats, n);
    if (rc)
        return rc;
    doubts_note(a, g, seats, n);
    g->last_by = r->launch.launch_by;
    if (g->mends)
        g->target = 0; /* it starts again with what it has now */
    g->mends = g->behind = false;
    if (r->launch.launch_by > g->launch_by)
        g->launch_by = r->launch.launch_by;
    remember_launched(a, g, first);
    bgang_seated(a, g);
    return 0;
}

/* A member that ends, and whose own place the hold names: it is kept for its slot. */
static struct bclaim *place_kept(const struct audit *a, const struct bgang *g,
                                 const struct seat *seat)
{
    uint32_t slot = book_slot(g, seat->slot);
    struct bclaim *c = slot == UINT32_MAX ? NULL : g->slots[slot].claim;
    if (!c || c->phase != BP_ENDING || c->node != book_node(a, seat->node) ||
        c->need.devs != seat->devs || c->need.slices != seat->slices)
        return NULL;
    return c;
}

/* Nodes for repair: sound ones, on which nobody is but whom they may be lent to. */
static int hold_spares(struct audit *a, const struct record *r)
{
    bool on = r->hold.until > r->at;
    for (uint32_t i = 0; i < r->hold.nseats; i++) {
        struct bnode *n = book_node(a, r->hold.seats[i].node);
        if (!n || (on && (!bnode_usable(n) || n->spare || n->claims.n)))
            return audit_bad(a, "protocol: " STR_FMT " is kept for repair, but is %s",
                             STR_ARG(r->hold.seats[i].node),
                             !n             ? "not known"
                             : n->spare     ? "kept already"
                             : !n->claims.n ? "not sound"
                                            : "not empty");
        n->spare = on;
        room_touch(a, n);
    }
    return 0;
}

/* Some of the places that are kept for a gang that starts again: as after a loss, it
 * may look for others for as long as the grace is. */
static void places_go(struct audit *a, struct bgang *g, const struct record *r)
{
    for (uint32_t i = 0; i < r->hold.nseats; i++) {
        uint32_t slot = book_slot(g, r->hold.seats[i].slot);
        struct bclaim *c = slot == UINT32_MAX ? NULL : g->slots[slot].claim;
        if (c && c->phase == BP_PLANNED)
            book_claim_drop(a, c);
    }
    bgang_place_lost(a, g);
    bool any = false;
    for (uint32_t i = 0; i < g->nslots; i++) {
        const struct bclaim *c = g->slots[i].claim;
        any |= c && (c->phase == BP_PLANNED || c->kept);
    }
    if (!any)
        bgang_unmend(g);
    bgang_changed(a, g);
}

static int hold(struct audit *a, const struct record *r)
{
    if (r->hold.what == HOLD_SPARE)
        return hold_spares(a, r);
    struct bgang *g = book_gang(a, &r->hold.gang);
    bool goes = r->hold.nseats == 0 && r->hold.count == 0; /* that is never forbidden */
    goes = goes || (g && g->mends && r->hold.until <= a->at);
    int rc = goes && g && !g->over ? 0 : gang_check(a, &r->hold.gang, &g);
    if (rc)
        return rc;
    if (r->hold.what == HOLD_RESERVE)
        return keeps_hold(a, g, r);
    if (r->hold.nseats == 0 && r->hold.count == 0) {
        for (uint32_t i = 0; i < g->nslots; i++)
            if (g->slots[i].claim && g->slots[i].claim->phase == BP_PLANNED)
                book_claim_drop(a, g->slots[i].claim);
        bgang_unmend(g);
        bgang_changed(a, g);
        if (g->waits)
            bgang_wait(a, g);
        return 0;
    }
    bool mends = g->mends;
    if (mends && r->hold.until <= a->at) {
        places_go(a, g, r);
        return 0;
    }
    for (uint32_t i = 0; i < r->hold.nseats && !rc; i++) {
        struct bclaim *stays = place_kept(a, g, &r->hold.seats[i]);
        if (stays) {
            stays->kept = mends = true;
            continue;
        }
        rc = seat_check(a, g, &r->hold.gang, &r->hold.seats[i], false);
        if (!rc)
            seat_fold(a, g, &r->hold.seats[i], BP_PLANNED, 0);
    }
    if (!rc)
        rc = rooms_check(a, &r->hold.gang, r->hold.seats, r->hold.nseats);
    if (rc)
        return rc;
    g->mends = mends;
    g->mend_by = r->hold.until;
    doubts_note(a, g, r->hold.seats, r->hold.nseats);
    if (r->hold.until > g->launch_by)
        g->launch_by = r->hold.until;
    if (g->waits) { /* a plan: it is told so, and asks for no room beyond */
        bgang_unpend(a, g);
        bgang_say(a, g, &r->why);
    }
    remember_launched(a, g, false);
    bgang_seated(a, g);
    bgang_watch(a, g); /* also one that only waits: it may keep the room until then */
    return 0;
}

/* Has some member run for as long as its job may? */
static bool ran_out(const struct audit *a, const struct bgang *g)
{
    int64_t limit = g->job->spec.time_limit_us;
    for (uint32_t i = 0; limit && i < g->nslots; i++) {
        const struct bclaim *c = g->slots[i].claim;
        if (c && (c->phase == BP_RUNNING || c->phase == BP_ENDING) && c->since + limit <= a->at)
            return true;
    }
    return false;
}

/* Does the reason that the stop states hold? */
static bool stop_is_right(const struct audit *a, const struct record *r,
                          const struct bclaim *c)
{
    const struct bgang *g = c->gang;
    switch (r->why.code) {
    case WHY_LIMIT:
        return g && ran_out(a, g);
    case WHY_STRAY: return c->phase == BP_STRAY;
    case WHY_CANCELLED: return g && g->job->cancelled;
    case WHY_LATE: return g && (g->last_by <= a->at || g->grace_until <= a->at);
    default: return true;
    }
}

static int stop_task(struct audit *a, const struct record *r, const struct task_ref *t)
{
    struct bclaim *c = tasks_find(a, t);
    const char *why = NULL;
    if (!c || c->foreign ||
        (c->phase != BP_ISSUED && c->phase != BP_RUNNING && c->phase != BP_STRAY))
        why = !c ? "is not known" : c->foreign ? "is foreign" : "is not live";
    else if (c->retry_at > a->at)
        why = "may not be asked again yet";
    else if (c->phase == BP_STRAY && c->asked)
        why = "was asked already";
    else if (!stop_is_right(a, r, c))
        why = "has no such reason to stop";
    if (why)
        return audit_bad(a,
                         "protocol: stop of " STR_FMT " (launch %llx, " STR_FMT
                         " %u.%u %u/%u), which %s",
                         STR_ARG(t->task), (unsigned long long)t->launch,
                         STR_ARG(t->gang.job), t->gang.group, t->gang.copy,
                         t->slot.leaf, t->slot.index, why);
    c->asked = true;
    c->stop = r->stop.stop;
    if (c->phase == BP_STRAY)
        return 0;
    c->ours = true;
    book_claim_phase(a, c, BP_ENDING);
    if (r->stop.mode == STOP_PREEMPT)
        bgang_shrink(c->gang);
    bgang_changed(a, c->gang);
    return 0;
}

static int stop(struct audit *a, const struct record *r)
{
    int rc = id_check(a, r->stop.stop, a->stop_id, "stop");
    if (!rc && r->stop.ntasks == 0)
        rc = audit_bad(a, "protocol: a stop of nobody");
    a->stop_id = r->stop.stop;
    struct bjob *j = NULL;
    if (!rc && r->why.code == WHY_LIMIT && r->stop.ntasks)
        j = book_job(a, r->stop.tasks[0].gang.job);
    for (uint32_t i = 0; i < r->stop.ntasks && !rc; i++)
        rc = stop_task(a, r, &r->stop.tasks[i]);
    if (!rc && j)
        bjob_stop(a, j); /* it had its time */
    return rc;
}

/* Does the reason come with numbers, and are they true where the books know them? */
static const char *reason_wrong(const struct audit *a, const struct bgang *g,
                                const struct why *w)
{
    switch (w->code) {
    case WHY_NEEDS_ROOM:
    case WHY_TYPE:
    case WHY_CONSTRAINT:
    case WHY_CPU:
        return w->need == 0         ? "it needs nothing"
               : w->have >= w->need ? "it has enough"
                                    : NULL;
    case WHY_INCOMPLETE:
        if (w->have >= w->need)
            return "it has enough";
        return g->waits && bgang_is_complete(g) ? "its tasks are there" : NULL;
    case WHY_BEHIND: return w->who == 0 ? "it names nobody" : NULL;
    case WHY_HELD: return g->job->held ? NULL : "nobody holds it";
    case WHY_BACKOFF: return g->not_before > a->at ? NULL : "its back-off is over";
    case WHY_CHEAPER:
        return w->have > w->need ? "waiting costs more than evicting" : NULL;
    case WHY_AUTHORITY:
    case WHY_PROMISED:
    case WHY_QUOTA:
    case WHY_GATED:
    case WHY_UNSUPPORTED:
    case WHY_INVALID:
    case WHY_ERROR: return NULL;
    default: return "the code is no reason to wait";
    }
}

/* Invariant 7's other side, for gangs of one without constraints: who is told that
 * there is no room fits nowhere. */
static const struct bnode *room_overlooked(const struct audit *a, const struct bgang *g)
{
    const struct shape *sh = book_shape(g, 0);
    const struct job_spec *spec = &g->job->spec;
    for (uint16_t up = g->leaves[0].group; up != GROUP_NONE;
         up = spec->groups[up].parent)
        if (spec->groups[up].required || spec->groups[up].spread_kind ||
            spec->groups[up].segment_size)
            return NULL; /* about levels that may not be known */
    for (uint32_t i = 0; i < sh->nconstraints; i++)
        if (sh->constraints[i].hard)
            return NULL;
    for (uint32_t i = 0; sh->ntags && i < a->claims.n; i++)
        if (a->claims.at[i]->shaped && a->claims.at[i]->shape.nconstraints)
            return NULL; /* somebody may avoid its tags */
    for (uint32_t i = 0; i < a->nodes.n * (sh->nalts + 1); i++) {
        struct shape one;
        shape_choose(sh, i % (sh->nalts + 1), &one);
        if (!keeps_some(a, a->nodes.at[i / (sh->nalts + 1)]) &&
            seat_exists(&one, a->nodes.at[i / (sh->nalts + 1)]))
            return a->nodes.at[i / (sh->nalts + 1)];
    }
    return NULL;
}

static int reason_check(struct audit *a, const struct bgang *g, const struct why *w)
{
    const char *wrong = reason_wrong(a, g, w);
    if (wrong)
        return audit_bad(a,
                         "invariant 7: " STR_FMT
                         " %u.%u: reason %u (need %u, have %u): %s",
                         STR_ARG(g->job->spec.name), g->root, g->copy, w->code, w->need,
                         w->have, wrong);
    bool no_room = w->code == WHY_NEEDS_ROOM || w->code == WHY_TYPE ||
                   w->code == WHY_CPU || w->code == WHY_CONSTRAINT;
    if (!no_room || g->nslots != 1 || !g->waits || a->nodes.n > 256)
        return 0;
    const struct bnode *n = room_overlooked(a, g);
    if (!n)
        return 0;
    return audit_bad(a,
                     "invariant 7: " STR_FMT " %u.%u is told that there is no room "
                     "(reason %u), but fits on " STR_FMT,
                     STR_ARG(g->job->spec.name), g->root, g->copy, w->code,
                     STR_ARG(n->name));
}

static int say(struct audit *a, const struct record *r)
{
    if (r->say.node.len)
        return book_node(a, r->say.node) ? 0
                                         : audit_bad(a, "protocol: a say of no node");
    struct bgang *g = book_gang(a, &r->say.gang);
    if (!g || g->over)
        return audit_bad(a, "protocol: a say of a gang that is not there: " STR_FMT,
                         STR_ARG(r->say.gang.job));
    int rc = reason_check(a, g, &r->why);
    if (!rc)
        bgang_say(a, g, &r->why);
    return rc;
}

/* What was asked again and got the same answer has an answer, and it is still right. */
static int pass(struct audit *a, const struct record *r)
{
    a->left = r->pass.left;
    for (uint32_t i = 0; i < r->pass.nsame; i++) {
        struct bgang *g = book_gang(a, &r->pass.same[i]);
        if (!g || g->over) /* stopped or finished in the same pass */
            continue;
        if (g->waits ? !g->said : g->why.code == WHY_NONE)
            return audit_bad(a,
                             "protocol: " STR_FMT
                             " has no reason that could stay the same",
                             STR_ARG(r->pass.same[i].job));
        int rc = reason_check(a, g, &g->why);
        if (rc)
            return rc;
    }
    return 0;
}

/* What failed there last is no try of the gang's that failed. */
static void node_is_to_blame(struct audit *a, const struct bnode *n)
{
    for (uint32_t i = 0; i < a->jobs.n; i++) {
        for (uint32_t k = 0; k < a->jobs.at[i]->ngangs; k++) {
            struct bgang *g = &a->jobs.at[i]->gangs[k];
            if (g->over || !g->fails_on.len || !str_eq(g->fails_on, n->name))
                continue;
            g->tries -= g->fails_here < g->tries ? g->fails_here : g->tries;
            g->fails_here = 0;
            if (!g->roams)
                g->fails_on.len = 0;
        }
    }
}

int verdict(struct audit *a, const struct record *r)
{
    struct bnode *n;
    if (!a->in_pass)
        return audit_bad(a, "protocol: a decision without a border before it");
    if (!a->synced)
        return audit_bad(a, "protocol: a decision while the world is unsynced");
    if (r->would)
        return 0; /* has no effect */
    if (!a->leading)
        return audit_bad(a, "protocol: a decision without the lead");
    switch (r->kind) {
    case DE_LAUNCH: return launch(a, r);
    case DE_STOP: return stop(a, r);
    case DE_HOLD: return hold(a, r);
    case DE_SAY: return say(a, r);
    case DE_PASS: return pass(a, r);
    case DE_CORDON:
        n = book_node(a, r->cordon.node);
        if (!n)
            return audit_bad(a, "protocol: a cordon of no node");
        n->cordoned = r->cordon.on;
        room_touch(a, n);
        if (r->cordon.on && r->why.code == WHY_FAULT)
            node_is_to_blame(a, n);
        return 0;
    default: /* DE_ASK */
        return book_job(a, r->ask.job) ? 0 : audit_bad(a, "protocol: an ask of no job");
    }
}
