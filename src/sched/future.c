/* future.c - keeps a timeline in step with claims and nodes
 * Each claim remembers how it is booked, so a change is one release and one booking, about
 * 200 ns. Claims that outlive their booking are booked on when the timeline is next used.
 * Devices that are shared count as taken while anybody has a part of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/future.h"

struct booking {
    uint32_t rank; /* NODE_NONE: not booked */
    uint32_t gpus;
    int64_t from, until;
    int64_t queued; /* the key of its item among the ends; INT64_MAX: has none */
};

struct future {
    struct timeline *t;
    uint64_t settles;
    VEC(struct booking) by_claim;
    struct heap ends; /* (no later than until, claim): who may outlive its booking */
};

int64_t gang_duration(const struct sched *s, uint32_t gang, bool *soft)
{
    const struct job *j = &s->jobs.at[s->gangs.at[gang].job];
    *soft = j->time_limit_us == 0;
    if (j->time_limit_us)
        return timeline_end(j->time_limit_us, KILL_MARGIN_US);
    int64_t expected = gang_expected(s, &s->gangs.at[gang]);
    return expected ? expected : TIMELINE_FOREVER;
}

int64_t gang_booked_for(const struct sched *s, uint32_t gang)
{
    bool soft;
    int64_t us = gang_duration(s, gang, &soft);
    return soft || us <= 0 ? TIMELINE_FOREVER : us;
}

/* Who outlives what we know is taken to last twice as long, again and again: so the answer
 * depends on now alone, not on when it was asked before. */
static int64_t outlive(int64_t from, int64_t length, int64_t now, bool *soft)
{
    int64_t until = timeline_end(from, length);
    while (until <= now) {
        *soft = true;
        length = length < TIMELINE_FOREVER / 2 ? 2 * length : TIMELINE_FOREVER;
        until = timeline_end(from, length);
    }
    return until;
}

int64_t claim_until(const struct sched *s, const struct claim *c, bool *soft)
{
    *soft = false;
    if (c->gang == NONE || c->foreign || c->phase == CLAIM_STRAY) {
        *soft = true;
        return TIMELINE_FOREVER;
    }
    if (c->phase == CLAIM_ENDING)
        return outlive(c->until, 5 * KILL_MARGIN_US, s->at, soft);
    int64_t length = gang_duration(s, c->gang, soft);
    return outlive(c->since, length > 0 ? length : 1, s->at, soft);
}

/* One item a claim that counts: a booking that was made to end later finds the old one, and
 * is queued again when that comes. */
static void queue(struct future *f, uint32_t claim)
{
    struct booking *b = &f->by_claim.at[claim];
    if (b->until == TIMELINE_FOREVER || b->queued <= b->until)
        return;
    heap_push(&f->ends, b->until, claim, claim);
    b->queued = b->until;
}

static void unbook(struct future *f, uint32_t claim)
{
    if (claim >= f->by_claim.n)
        return;
    struct booking *b = &f->by_claim.at[claim];
    if (b->rank != NODE_NONE)
        timeline_release(f->t, b->rank, b->gpus, b->from, b->until);
    b->rank = NODE_NONE;
}

static void book(struct sched *s, struct future *f, uint32_t claim)
{
    const struct claim *c = &s->claims.at[claim];
    bool soft;
    uint32_t gpus = (uint32_t)__builtin_popcountll(c->use.devs);
    if (!c->live || c->use.node == NODE_NONE || gpus == 0)
        return;
    struct booking b = {.rank = s->cluster->nodes[c->use.node].rank, .gpus = gpus,
                        .from = c->since};
    if (c->phase == CLAIM_PLANNED && s->gangs.at[c->gang].reserved) {
        const struct reservation *r = reserve_of(s, c->gang);
        if (!r)
            return; /* being made */
        b.from = r->start;
        b.until = outlive(r->start, gang_booked_for(s, c->gang), s->at, &soft);
    } else {
        b.until = claim_until(s, c, &soft);
    }
    while (f->by_claim.n <= claim)
        vec_push(&f->by_claim, (struct booking){.rank = NODE_NONE, .queued = INT64_MAX});
    b.queued = f->by_claim.at[claim].queued;
    f->by_claim.at[claim] = b;
    timeline_book(f->t, b.rank, b.gpus, b.from, b.until);
    queue(f, claim);
}

void future_claim(struct sched *s, uint32_t claim)
{
    struct future *f = s->scratch_future;
    if (!f || f->settles != s->cluster->settles || s->cluster->stale)
        return; /* it is made anew when it is asked for */
    unbook(f, claim);
    book(s, f, claim);
}

void future_gang(struct sched *s, uint32_t gang, bool booked)
{
    for (uint32_t i = 0; i < s->gangs.at[gang].nslots; i++) {
        uint32_t c = gang_slot(s, gang, i)->claim;
        if (c == NONE)
            continue;
        unbook(s->scratch_future, c);
        if (booked)
            book(s, s->scratch_future, c);
    }
}

static uint32_t gpus_of(const struct cluster *c, uint32_t node)
{
    const struct node *n = &c->nodes[node];
    return node_is_usable(n) ? (uint32_t)__builtin_popcountll(n->healthy) : 0;
}

void future_node(struct sched *s, uint32_t node)
{
    struct future *f = s->scratch_future;
    const struct node *n = &s->cluster->nodes[node];
    if (!f || f->settles != s->cluster->settles || s->cluster->stale || n->gone)
        return;
    timeline_capacity(f->t, n->rank, gpus_of(s->cluster, node));
}

void future_destroy(struct future *f)
{
    if (!f)
        return;
    timeline_destroy(f->t);
    vec_done(&f->by_claim);
    heap_done(&f->ends);
    free(f);
}

static struct future *future_make(struct sched *s)
{
    struct future *f = mem_zero(sizeof *f);
    const struct cluster *c = s->cluster;
    uint8_t *gpus = mem_zero(c->nranks + 1);
    for (uint32_t r = 0; r < c->nranks; r++)
        gpus[r] = (uint8_t)gpus_of(c, c->order[r]);
    f->t = timeline_create(c->nranks, gpus, s->at);
    f->settles = c->settles;
    free(gpus);
    for (uint32_t i = 0; i < s->claims.n; i++)
        book(s, f, i);
    return f;
}

struct timeline *future_ready(struct sched *s)
{
    cluster_settle(s->cluster);
    struct future *f = s->scratch_future;
    if (!f || f->settles != s->cluster->settles) {
        future_destroy(f);
        f = s->scratch_future = future_make(s);
    }
    timeline_advance(f->t, s->at);
    const struct heap_item *top;
    while ((top = heap_top(&f->ends)) && top->key <= s->at) {
        struct heap_item it = heap_pop(&f->ends);
        struct booking *b = &f->by_claim.at[it.item];
        if (b->queued != it.key)
            continue;
        b->queued = INT64_MAX;
        if (b->rank == NODE_NONE)
            continue;
        if (b->until > s->at) {
            queue(f, it.item);
            continue;
        }
        unbook(f, it.item);
        book(s, f, it.item);
    }
    return f->t;
}
