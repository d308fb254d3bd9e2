/* timeline_plan.c - a full conservative plan: a start for each of many asks
 *
 * Each ask in turn gets its earliest start and is booked there, so the timeline only
 * fills, and what was too early once stays too early. Two memories live on that.
 *
 * Lone tasks: for each family of asks (all but the limit alike), each octave of the
 * limit (cut in four where asks are many) and each row, a time before which not even
 * the shortest ask of the bracket fits there. The row with the least is looked at
 * first, and its bound raised if the row has changed since; easier brackets (fewer
 * GPUs, shorter) lend theirs. Rows whose bound is beyond the best start so far are
 * never looked at.
 *
 * Gangs: for each family the starts found, with the gang's tasks and limit. One with at
 * least as many and as long cannot start before. Dominated entries go.
 *
 * Cost of a task: two searches in each row with a bound before its start, one booking.
 * The results are those of timeline_earliest and timeline_book_seats in turn; the test
 * compares them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/timeline_search.h"

enum {
    FAMILIES_MAX = 256, /* asks of further families are searched without memory */
    BRACKETS = 64 << 2, /* of limits: at most four an octave */
    FINE_FROM = 64,     /* asks a row that make it worth to cut octaves */
    STEPS_MAX = 32
};

struct bracket {
    int64_t shortest; /* least limit in the bracket; 0: no such ask */
    struct bounds rows;
    uint32_t *seen; /* the row's version when its bound was made tight */
    /* easier ones, whose bounds hold here too: shorter, fewer GPUs; or NULL */
    const struct bracket *easier[2];
};

struct step {
    uint32_t ntasks;
    int64_t duration_us, start;
};

struct family {
    struct timeline_ask ask; /* what its asks share */
    bool lone;
    VEC(struct step) steps;
    struct bracket *brackets; /* of lone tasks */
};

struct aside {
    uint32_t row;
    int64_t bound;
};

struct planner {
    struct timeline *t;
    VEC(struct family) families;
    VEC(uint32_t) family_of; /* of each ask; FAMILIES_MAX: none */
    uint32_t *version;       /* of each row */
    uint32_t fine;           /* see bracket_of */
    VEC(struct aside) aside;
    struct timeline_found found;
};

/* Octaves, each cut into 1 << fine parts. */
static uint32_t bracket_of(const struct planner *p, int64_t duration_us)
{
    uint32_t o = 63 - (uint32_t)__builtin_clzll((uint64_t)duration_us), fine = p->fine;
    uint32_t part = o >= fine ? (uint32_t)(duration_us >> (o - fine)) : 0;
    return (o << fine) + (part & ((1u << fine) - 1));
}

static bool is_lone(const struct timeline_ask *a)
{
    return a->ntasks == 1 && a->ndomains <= 1;
}

static bool family_has(const struct family *f, const struct timeline_ask *a)
{
    return f->lone == is_lone(a) && f->ask.gpus == a->gpus &&
           (f->lone || f->ask.per_node == a->per_node) &&
           f->ask.domains == a->domains && f->ask.ndomains == a->ndomains &&
           f->ask.usable == a->usable;
}

static uint32_t planner_family(struct planner *p, const struct timeline_ask *a,
                               uint32_t guess)
{
    if (guess < p->families.n && family_has(&p->families.at[guess], a))
        return guess;
    for (uint32_t i = 0; i < p->families.n; i++)
        if (family_has(&p->families.at[i], a))
            return i;
    if (p->families.n == FAMILIES_MAX)
        return FAMILIES_MAX;
    struct family f = {.ask = *a, .lone = is_lone(a)};
    if (f.lone)
        f.brackets = mem_zero(BRACKETS * sizeof *f.brackets);
    vec_push(&p->families, f);
    return p->families.n - 1;
}

static void planner_open(struct planner *p, const struct timeline_ask *asks, uint32_t n)
{
    uint32_t guess = 0;
    p->fine = n / FINE_FROM >= p->t->nrows ? 2 : 0;
    vec_resize(&p->family_of, n);
    p->version = mem_zero(p->t->nrows * sizeof *p->version);
    for (uint32_t i = 0; i < n; i++) {
        assert(asks[i].duration_us > 0);
        p->family_of.at[i] = guess = planner_family(p, &asks[i], guess);
        if (guess == FAMILIES_MAX || !p->families.at[guess].lone)
            continue;
        struct bracket *o =
            &p->families.at[guess].brackets[bracket_of(p, asks[i].duration_us)];
        if (!o->shortest) {
            bounds_init(&o->rows, p->t->nrows, p->t->now);
            o->seen = mem_alloc(p->t->nrows * sizeof *o->seen);
            memset(o->seen, 0xff, p->t->nrows * sizeof *o->seen);
        }
        if (!o->shortest || asks[i].duration_us < o->shortest)
            o->shortest = asks[i].duration_us;
    }
}

/* The hardest bracket of the family that is no harder than this limit. */
static const struct bracket *family_easier(const struct family *f, uint32_t bracket,
                                           int64_t shortest)
{
    for (uint32_t k = bracket + 1; k-- > 0;)
        if (f->brackets[k].shortest && f->brackets[k].shortest <= shortest)
            return &f->brackets[k];
    return NULL;
}

/* The family that differs from f by fewer GPUs alone, as few fewer as there are. */
static const struct family *planner_easier(const struct planner *p,
                                           const struct family *f)
{
    const struct family *best = NULL;
    for (uint32_t i = 0; i < p->families.n; i++) {
        const struct family *g = &p->families.at[i];
        struct timeline_ask a = f->ask;
        a.gpus = g->ask.gpus;
        if (a.gpus < f->ask.gpus && family_has(g, &a) &&
            (!best || a.gpus > best->ask.gpus))
            best = g;
    }
    return best;
}

static void planner_link(struct planner *p)
{
    for (uint32_t i = 0; i < p->families.n; i++) {
        struct family *f = &p->families.at[i];
        const struct family *g = f->lone ? planner_easier(p, f) : NULL;
        for (uint32_t k = 0; f->lone && k < BRACKETS; k++) {
            struct bracket *o = &f->brackets[k];
            if (!o->shortest)
                continue;
            if (k)
                o->easier[0] = family_easier(f, k - 1, o->shortest);
            if (g)
                o->easier[1] = family_easier(g, k, o->shortest);
        }
    }
}

static void planner_done(struct planner *p)
{
    for (uint32_t i = 0; i < p->families.n; i++) {
        struct family *f = &p->families.at[i];
        for (uint32_t k = 0; f->brackets && k < BRACKETS; k++) {
            bounds_done(&f->brackets[k].rows);
            free(f->brackets[k].seen);
        }
        free(f->brackets);
        vec_done(&f->steps);
    }
    vec_done(&p->families);
    vec_done(&p->family_of);
    vec_done(&p->aside);
    free(p->version);
    timeline_found_done(&p->found);
}

/* ---- lone tasks ---- */

struct place {
    int64_t start;
    int32_t free;
    uint32_t rank;
};

static bool place_less(const struct place *a, const struct place *b)
{
    if (a->start != b->start)
        return a->start < b->start;
    return a->free != b->free ? a->free < b->free : a->rank < b->rank;
}

/* The tightest node of a row, lowest rank first. */
static struct place row_place(uint32_t row, lanes v, uint32_t reach, int64_t start)
{
    struct place best = {start, TIMELINE_GPUS_MAX + 1, 0};
    for (; reach; reach &= reach - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(reach);
        if (v[lane] < best.free) {
            best.free = v[lane];
            best.rank = row * TIMELINE_ROW + lane;
        }
    }
    return best;
}

/* Make the bound of the row tight for the shortest ask of its bracket; true if it rose.
 */
static bool bracket_raise(struct planner *p, struct bracket *o, const struct want *w,
                          uint32_t row, uint32_t mask)
{
    if (o->seen[row] == p->version[row])
        return false;
    struct want least = *w;
    least.duration_us = o->shortest;
    least.not_after = TIMELINE_FOREVER - 1;
    int64_t old = o->rows.at[row], from = old, s;
    for (uint32_t i = 0; i < 2; i++)
        if (o->easier[i] && o->easier[i]->rows.at[row] > from)
            from = o->easier[i]->rows.at[row];
    s = mask ? row_earliest(&p->t->rows[row], &least, mask, 1, from, NULL)
             : TIMELINE_NEVER;
    o->seen[row] = p->version[row];
    if (s == old)
        return false;
    bounds_set(&o->rows, row, s);
    return true;
}

static int64_t plan_lone(struct planner *p, struct bracket *o,
                         const struct timeline_ask *ask)
{
    struct timeline *t = p->t;
    struct timeline_range range = timeline_domain(t, ask, 0);
    struct want w = timeline_want(ask);
    struct place best = {.start = TIMELINE_NEVER};
    vec_clear(&p->aside);
    for (;;) {
        uint32_t row = bounds_first(&o->rows);
        int64_t bound = o->rows.at[row];
        if (bound > w.not_after)
            break;
        uint32_t mask = timeline_mask(t, ask, range, row);
        if (bracket_raise(p, o, &w, row, mask))
            continue;
        int64_t from = bound > ask->not_before ? bound : ask->not_before;
        lanes v;
        int64_t s = row_earliest(&t->rows[row], &w, mask, 1, from, &v);
        vec_push(&p->aside, (struct aside){row, bound});
        bounds_set(&o->rows, row, TIMELINE_NEVER);
        if (s == TIMELINE_NEVER)
            continue;
        struct place found = row_place(row, v, lanes_reach(v, w.gpus) & mask, s);
        if (place_less(&found, &best))
            best = found;
        w.not_after = best.start;
    }
    for (uint32_t i = 0; i < p->aside.n; i++)
        bounds_set(&o->rows, p->aside.at[i].row, p->aside.at[i].bound);
    if (best.start == TIMELINE_NEVER)
        return -1;
    timeline_book(t, best.rank, ask->gpus, best.start,
                  timeline_end(best.start, ask->duration_us));
    p->version[best.rank / TIMELINE_ROW]++;
    return best.start;
}

/* ---- gangs ---- */

static int64_t steps_bound(const struct family *f, const struct timeline_ask *ask)
{
    int64_t start = 0;
    for (uint32_t i = 0; i < f->steps.n; i++) {
        const struct step *s = &f->steps.at[i];
        if (s->ntasks <= ask->ntasks && s->duration_us <= ask->duration_us &&
            s->start > start)
            start = s->start;
    }
    return start;
}

static void steps_add(struct family *f, struct step new)
{
    uint32_t kept = 0, least = 0;
    for (uint32_t i = 0; i < f->steps.n; i++) {
        struct step s = f->steps.at[i];
        if (s.ntasks >= new.ntasks &&
            s.duration_us >= new.duration_us &&s.start <= new.start)
            continue;
        f->steps.at[kept] = s;
        least = s.start < f->steps.at[least].start ? kept : least;
        kept++;
    }
    f->steps.n = kept;
    if (kept == STEPS_MAX)
        f->steps.at[least] = new;
    else
        vec_push(&f->steps, new);
}

static int64_t plan_gang(struct planner *p, struct family *f,
                         const struct timeline_ask *ask)
{
    struct timeline *t = p->t;
    bool plain = f && ask->not_before <= t->now; /* only such teach and learn */
    int64_t from = ask->not_before > t->now ? ask->not_before : t->now;
    int64_t bound = f ? steps_bound(f, ask) : from;
    if (bound > from)
        from = bound;
    if (from > ask->not_after || !timeline_search(t, ask, from, &p->found))
        return -1;
    const struct timeline_found *found = &p->found;
    if (plain && found->start > bound)
        steps_add(f, (struct step){ask->ntasks, ask->duration_us, found->start});
    timeline_book_seats(t, found->seats.at, found->seats.n, ask->gpus, found->start,
                        timeline_end(found->start, ask->duration_us));
    for (uint32_t i = 0; i < found->seats.n; i++)
        p->version[found->seats.at[i].rank / TIMELINE_ROW]++;
    return found->start;
}

uint32_t timeline_plan(struct timeline *t, const struct timeline_ask *asks, uint32_t n,
                       int64_t *ret_start)
{
    struct planner p = {.t = t};
    uint32_t started = 0;
    planner_open(&p, asks, n);
    planner_link(&p);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = p.family_of.at[i];
        struct family *f = k < FAMILIES_MAX ? &p.families.at[k] : NULL;
        if (f && f->lone)
            ret_start[i] =
                plan_lone(&p, &f->brackets[bracket_of(&p, asks[i].duration_us)],
                          &asks[i]);
        else
            ret_start[i] = plan_gang(&p, f, &asks[i]);
        started += ret_start[i] >= 0;
    }
    planner_done(&p);
    return started;
}
