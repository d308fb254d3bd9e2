/* keeps.c - what is promised to gangs that wait, and who may use it meanwhile
 *
 * A reservation lies over what runs, so it is no claim: it is judged by its times. No
 * two lie on one device at one time as far as time limits tell; a promise `by` is not
 * made later unless what it stood on broke or outlived it, or the gang itself changed;
 * who starts on devices that are kept must be gone, by its limit and the margin for its
 * end, before they are needed. What is free of kept devices is held, in the ledger. A
 * reservation goes when its gang starts, changes, is offered or loses a task, or the
 * policy is told. O(reservations x seats) a question. SPDX-License-Identifier:
 * Apache-2.0 */
#include "audit/book.h"

#include <stdio.h>

#include "base/units.h"

/* What a task may need beyond its limit to be gone (docs/policy-format.md). */
#define MARGIN_US (60 * US_PER_S)

static bool is_of(const struct bkeep *k, const struct bgang *g)
{
    return k->job == g->job && k->root == g->root && k->copy == g->copy;
}

static struct bkeep *keep_of(const struct audit *a, const struct bgang *g)
{
    for (uint32_t i = 0; i < a->keeps.n; i++)
        if (is_of(&a->keeps.at[i], g))
            return &a->keeps.at[i];
    return NULL;
}

bool keeps_for(const struct audit *a, const struct bgang *g)
{
    return keep_of(a, g) != NULL;
}

static void touch_all(struct audit *a, const struct bkeep *k)
{
    for (uint32_t i = 0; i < k->seats.n; i++) {
        struct bnode *n = book_node(a, k->seats.at[i].node);
        if (n)
            room_touch(a, n);
    }
}

void keeps_drop(struct audit *a, const struct bgang *g)
{
    struct bkeep *k = keep_of(a, g);
    if (!k)
        return;
    touch_all(a, k);
    for (uint32_t i = 0; i < k->seats.n; i++)
        free((char *)k->seats.at[i].node.ptr);
    vec_done(&k->seats);
    *k = a->keeps.at[--a->keeps.n];
}

void keeps_done(struct audit *a)
{
    while (a->keeps.n) {
        struct bkeep *k = &a->keeps.at[0];
        keeps_drop(a, &(struct bgang){.job = k->job, .root = k->root, .copy = k->copy});
    }
    vec_done(&a->keeps);
}

/* The policy is told: nothing is promised any longer. */
void keeps_forget(struct audit *a)
{
    while (a->keeps.n) {
        const struct bkeep *k = &a->keeps.at[0];
        struct bgang *g = k->job->gangs;
        while (!is_of(k, g))
            g++;
        bgang_wait(a, g); /* drops it */
    }
}

void keeps_node_gone(struct audit *a, struct str node)
{
    for (uint32_t i = 0; i < a->keeps.n; i++) {
        for (uint32_t s = 0; s < a->keeps.at[i].seats.n; s++) {
            struct bkeep_seat *seat = &a->keeps.at[i].seats.at[s];
            if (str_eq(seat->node, node))
                seat->devs = 0;
        }
    }
}

uint64_t keeps_devices(const struct audit *a, const struct bnode *n)
{
    uint64_t devs = 0;
    for (uint32_t i = 0; i < a->keeps.n; i++)
        for (uint32_t s = 0; s < a->keeps.at[i].seats.n; s++)
            if (str_eq(a->keeps.at[i].seats.at[s].node, n->name))
                devs |= a->keeps.at[i].seats.at[s].devs;
    return devs;
}

bool keeps_some(const struct audit *a, const struct bnode *n)
{
    for (uint32_t i = 0; i < n->claims.n; i++)
        if (n->claims.at[i]->phase == BP_PLANNED && !n->claims.at[i]->taken)
            return true;
    return keeps_devices(a, n) != 0;
}

/* Until when the gang needs room from `from` on; INT64_MAX: nobody knows. */
static int64_t needs_until(const struct bjob *j, int64_t from)
{
    int64_t limit = j->spec.time_limit_us;
    return limit ? from + limit + MARGIN_US : INT64_MAX;
}

int keeps_allow(struct audit *a, const struct bgang *g, const struct seat *seat)
{
    uint32_t slot = book_slot(g, seat->slot);
    const struct bclaim *c = slot == UINT32_MAX ? NULL : g->slots[slot].claim;
    bool has = keep_of(a, g) != NULL;
    if (c && c->phase == BP_PLANNED && c->need.devs == seat->devs &&
        c->node == book_node(a, seat->node))
        return 0; /* it has them already: what is kept lies over it */
    for (uint32_t i = 0; i < a->keeps.n; i++) {
        const struct bkeep *k = &a->keeps.at[i];
        int64_t end = needs_until(g->job, a->at);
        bool both = has && !k->by; /* a forecast beside a forecast: whoever can starts */
        if (is_of(k, g) || end <= k->start || both)
            continue;
        for (uint32_t s = 0; s < k->seats.n; s++)
            if (k->seats.at[s].devs & seat->devs &&
                str_eq(k->seats.at[s].node, seat->node))
                return audit_bad(
                    a,
                    "reservation: " STR_FMT " starts on " STR_FMT
                    " devices %#llx until %lld, which are kept for " STR_FMT
                    " from %lld",
                    STR_ARG(g->job->spec.name), STR_ARG(seat->node),
                    (unsigned long long)seat->devs, (long long)end,
                    STR_ARG(k->job->spec.name), (long long)k->start);
    }
    return 0;
}

static int seat_well_formed(struct audit *a, const struct bgang *g,
                            const struct seat *seat)
{
    uint32_t slot = book_slot(g, seat->slot);
    const struct bnode *n = book_node(a, seat->node);
    char text[160];
    const char *why = slot == UINT32_MAX     ? "the gang has no such slot"
                      : g->slots[slot].claim ? "the slot has a claim"
                      : !n                   ? "the node is not known"
                                             : NULL;
    if (!why) {
        struct shape sh;
        shape_choose(book_shape(g, slot), seat->alt, &sh);
        struct need need = book_need(a, &sh, n, seat->devs, seat->slices);
        why = seat_refused(a, &sh, n, &need, text);
    }
    if (!why)
        return 0;
    return audit_bad(a, "reservation: " STR_FMT " slot %u/%u on " STR_FMT ": %s",
                     STR_ARG(g->job->spec.name), seat->slot.leaf, seat->slot.index,
                     STR_ARG(seat->node), why);
}

/* Does another reservation need the devices at the same time, by limits alone? */
static int times_apart(struct audit *a, const struct bgang *g, const struct seat *seat,
                       int64_t start)
{
    for (uint32_t i = 0; i < a->keeps.n; i++) {
        const struct bkeep *k = &a->keeps.at[i];
        const struct bjob *first = k->start <= start ? k->job : g->job;
        int64_t from = k->start <= start ? k->start : start;
        int64_t later = k->start <= start ? start : k->start;
        int64_t until = first->spec.time_limit_us ? needs_until(first, from) : later;
        for (uint32_t s = 0; s < k->seats.n && until > later; s++)
            if (k->seats.at[s].devs & seat->devs &&
                str_eq(k->seats.at[s].node, seat->node))
                return audit_bad(a,
                                 "reservation: " STR_FMT " and " STR_FMT
                                 " both have devices of " STR_FMT " from %lld to %lld",
                                 STR_ARG(g->job->spec.name), STR_ARG(k->job->spec.name),
                                 STR_ARG(seat->node), (long long)later,
                                 (long long)until);
    }
    return 0;
}

/* Is a place of it no longer sound? */
static bool is_spoiled(const struct audit *a, const struct bkeep *k)
{
    for (uint32_t i = 0; i < k->seats.n; i++) {
        const struct bnode *n = book_node(a, k->seats.at[i].node);
        if (!n || !bnode_usable(n) || !k->seats.at[i].devs)
            return true;
        for (uint64_t m = k->seats.at[i].devs; m; m &= m - 1) {
            uint32_t d = (uint32_t)__builtin_ctzll(m);
            if (d >= n->ndev || n->dev[d].state != DEVICE_OK)
                return true;
        }
    }
    return false;
}

static int let_go(struct audit *a, struct bgang *g, const struct record *r)
{
    struct bkeep *k = keep_of(a, g);
    if (!k)
        return audit_bad(a, "reservation: " STR_FMT " lets go what it has not",
                         STR_ARG(g->job->spec.name));
    const char *why = NULL;
    if (r->why.code == WHY_FAULT && !is_spoiled(a, k))
        why = "all its places are sound";
    else if (r->why.code == WHY_LATE && k->start > a->at && k->expected > a->at)
        why = "its time has not come";
    if (why)
        return audit_bad(a,
                         "reservation: " STR_FMT " is let go (start %lld, by %lld): %s",
                         STR_ARG(g->job->spec.name), (long long)k->start,
                         (long long)k->by, why);
    a->let_by = r->why.code == WHY_PROMISED ? k->by : 0;
    a->let_job = k->job;
    bgang_wait(a, g); /* drops it */
    return 0;
}

int keeps_hold(struct audit *a, struct bgang *g, const struct record *r)
{
    const struct seat *seats = r->hold.seats;
    uint32_t n = r->hold.nseats;
    int rc = 0;
    if (n == 0)
        return let_go(a, g, r);
    if (!g->waits)
        return audit_bad(a, "reservation: " STR_FMT " does not wait",
                         STR_ARG(g->job->spec.name));
    if (r->hold.start <= a->at || (r->hold.by && r->hold.by < r->hold.start))
        return audit_bad(a, "reservation: " STR_FMT " from %lld, promised by %lld",
                         STR_ARG(g->job->spec.name), (long long)r->hold.start,
                         (long long)r->hold.by);
    if (a->let_job == g->job && a->let_by && (!r->hold.by || r->hold.by > a->let_by))
        return audit_bad(a,
                         "reservation: " STR_FMT " was promised %lld and is now %lld, "
                         "for no reason",
                         STR_ARG(g->job->spec.name), (long long)a->let_by,
                         (long long)r->hold.by);
    a->let_job = NULL;
    keeps_drop(a, g);
    for (uint32_t i = 0; i < n && !rc; i++) {
        rc = seat_well_formed(a, g, &seats[i]);
        if (!rc)
            rc = times_apart(a, g, &seats[i], r->hold.start);
        for (uint32_t s = 0; s < i && !rc; s++)
            if (seats[s].devs & seats[i].devs && str_eq(seats[s].node, seats[i].node))
                rc = audit_bad(a, "reservation: " STR_FMT " has one device twice",
                               STR_ARG(g->job->spec.name));
    }
    if (rc)
        return rc;
    struct bkeep k = {.job = g->job,
                      .root = g->root,
                      .copy = g->copy,
                      .start = r->hold.start,
                      .by = r->hold.by,
                      .expected = r->hold.expected};
    for (uint32_t i = 0; i < n; i++)
        vec_push(&k.seats,
                 ((struct bkeep_seat){str_keep(seats[i].node), seats[i].devs}));
    touch_all(a, &k);
    vec_push(&a->keeps, k);
    return 0;
}
