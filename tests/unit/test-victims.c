/* test-victims.c - the cheapest victims: against every subset, in any order, never too
 * many The small instances are answered a second time here by trying all sets of
 * victims in all domains; the large ones are checked for what any answer must keep:
 * enough room, nobody that could be spared, the bound below the cost.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"
#include "sched/victims.h"
#include "tap.h"

enum { NODES = 6, VICTIMS = 8, DOMAINS = 4, SMALL = 6000 };

struct mine { /* a victim of the small instances */
    struct victims_spec spec;
    struct victims_seat seats[NODES];
    uint32_t id;
    bool allowed;
};

struct small {
    uint32_t nodes, nvictims, ndomains;
    struct victims_room free[NODES];
    bool usable[NODES], liked[NODES];
    struct mine m[VICTIMS];
    struct victims_domain d[DOMAINS];
    struct victims_ask ask;
};

struct set {
    bool found;
    uint32_t mask, domain; /* bits in the order of ties */
    uint64_t cost, gpus, n;
};

static bool small_allowed(void *arg, uint32_t id)
{
    const struct small *s = arg;
    for (uint32_t i = 0; i < s->nvictims; i++)
        if (s->m[i].id == id)
            return s->m[i].allowed;
    return false;
}

static bool small_usable(void *arg, uint32_t node)
{
    return ((const struct small *)arg)->liked[node];
}

static struct victims_room random_room(struct rng *r, bool other)
{
    struct victims_room a = {.gpu = (int64_t)rng_below(r, 5)};
    if (other) {
        a.cpu_milli = (int64_t)rng_below(r, 4);
        a.mem_bytes = (int64_t)rng_below(r, 3);
    }
    return a;
}

static void random_victim(struct rng *r, struct small *s, uint32_t i, bool other)
{
    struct mine *m = &s->m[i];
    uint32_t span = rng_below(r, 2) ? 1 : 1 + (uint32_t)rng_below(r, s->nodes);
    m->spec.nseats = 0;
    for (uint32_t n = 0; n < s->nodes; n++) {
        uint32_t left = s->nodes - n, want = span - m->spec.nseats;
        if (rng_below(r, left) < want)
            m->seats[m->spec.nseats++] =
                (struct victims_seat){n, random_room(r, other)};
    }
    m->spec.cost = (int64_t)rng_below(r, rng_below(r, 2) ? 4 : 1000);
    m->spec.rate = rng_below(r, 4) ? 0 : (uint32_t)rng_below(r, 5);
    m->spec.class = (uint8_t)(rng_below(r, 8) ? 0 : 1 + rng_below(r, 63));
    m->allowed = rng_below(r, 8) != 0;
}

static void random_small(struct rng *r, struct small *s)
{
    *s = (struct small){0};
    bool other = rng_below(r, 2);
    s->nodes = 1 + (uint32_t)rng_below(r, NODES);
    s->nvictims = (uint32_t)rng_below(r, VICTIMS + 1);
    for (uint32_t n = 0; n < s->nodes; n++) {
        s->free[n] = random_room(r, other);
        if (rng_below(r, 2))
            s->free[n].gpu = 0;
        s->usable[n] = rng_below(r, 12) != 0;
        s->liked[n] = rng_below(r, 12) != 0;
    }
    uint64_t tie = rng_below(r, 100);
    for (uint32_t i = 0; i < s->nvictims; i++) {
        random_victim(r, s, i, other);
        s->m[i].spec.tie = tie;
        tie += 1 + rng_below(r, 1000);
    }
    s->ndomains = 1 + (uint32_t)rng_below(r, DOMAINS);
    for (uint32_t i = 0; i < s->ndomains; i++) {
        uint32_t a = (uint32_t)rng_below(r, s->nodes + 1);
        uint32_t b = (uint32_t)rng_below(r, s->nodes + 1);
        s->d[i] = (struct victims_domain){a < b ? a : b, a < b ? b : a};
    }
    if (rng_below(r, 3) == 0) {
        s->d[0] = (struct victims_domain){0, s->nodes};
    } else if (rng_below(r, 2)) { /* side by side */
        for (uint32_t i = 0; i < s->ndomains; i++)
            s->d[i] = (struct victims_domain){s->nodes * i / s->ndomains,
                                              s->nodes * (i + 1) / s->ndomains};
    }
    s->ask = (struct victims_ask){.domains = s->d, .ndomains = s->ndomains, .arg = s};
    s->ask.tasks = 1 + (uint32_t)rng_below(r, 6);
    s->ask.per_node = (uint32_t)rng_below(r, 3);
    s->ask.need = random_room(r, other);
    if (!s->ask.need.cpu_milli && !s->ask.need.mem_bytes)
        s->ask.need.gpu = 1 + (int64_t)rng_below(r, 4);
    s->ask.at = (int64_t)rng_below(r, 50);
    s->ask.classes = rng_below(r, 2) ? UINT64_MAX : 1 | rng_u64(r);
    s->ask.allowed = rng_below(r, 2) ? small_allowed : NULL;
    s->ask.usable = rng_below(r, 2) ? small_usable : NULL;
    s->ask.steps = UINT32_MAX;
}

static struct victims *build_small(struct small *s, const uint32_t *order)
{
    struct victims *v = victims_create(s->nodes);
    for (uint32_t n = 0; n < s->nodes; n++)
        victims_node(v, n, &s->free[n], s->usable[n]);
    for (uint32_t i = 0; i < s->nvictims; i++) {
        struct mine *m = &s->m[order[i]];
        m->spec.seats = m->seats;
        m->id = victims_add(v, &m->spec);
    }
    return v;
}

/* ---- the second opinion ---- */

static bool open_to(const struct small *s, uint32_t i)
{
    const struct mine *m = &s->m[i];
    return (s->ask.classes >> m->spec.class & 1) && (!s->ask.allowed || m->allowed);
}

static uint64_t tasks_on(const struct small *s, uint32_t node, uint32_t mask)
{
    struct victims_room a = s->free[node];
    if (!s->usable[node] || (s->ask.usable && !s->liked[node]))
        return 0;
    for (uint32_t i = 0; i < s->nvictims; i++)
        for (uint32_t k = 0; (mask >> i & 1) && k < s->m[i].spec.nseats; k++)
            if (s->m[i].seats[k].node == node) {
                a.gpu += s->m[i].seats[k].frees.gpu;
                a.cpu_milli += s->m[i].seats[k].frees.cpu_milli;
                a.mem_bytes += s->m[i].seats[k].frees.mem_bytes;
            }
    const struct victims_room *n = &s->ask.need;
    uint64_t t = 0, most = s->ask.per_node ? s->ask.per_node : 64;
    while (t < most && (!n->gpu || a.gpu >= n->gpu) &&
           (!n->cpu_milli || a.cpu_milli >= n->cpu_milli) &&
           (!n->mem_bytes || a.mem_bytes >= n->mem_bytes)) {
        a.gpu -= n->gpu;
        a.cpu_milli -= n->cpu_milli;
        a.mem_bytes -= n->mem_bytes;
        t++;
    }
    return t;
}

static uint64_t tasks_in(const struct small *s, uint32_t domain, uint32_t mask)
{
    uint64_t t = 0;
    for (uint32_t n = s->d[domain].lo; n < s->d[domain].hi; n++)
        t += tasks_on(s, n, mask);
    return t;
}

static struct set set_of(const struct small *s, uint32_t mask, uint32_t domain)
{
    struct set r = {.found = true, .mask = mask, .domain = domain};
    for (uint32_t i = 0; i < s->nvictims; i++) {
        if (!(mask >> i & 1))
            continue;
        r.n++;
        r.cost += (uint64_t)(s->m[i].spec.cost + s->m[i].spec.rate * s->ask.at);
        for (uint32_t k = 0; k < s->m[i].spec.nseats; k++)
            r.gpus += (uint64_t)s->m[i].seats[k].frees.gpu;
    }
    return r;
}

static bool set_before(const struct small *s, const struct set *a, const struct set *b)
{
    if (!b->found || a->cost != b->cost)
        return !b->found || a->cost < b->cost;
    if (a->gpus != b->gpus || a->n != b->n)
        return a->gpus != b->gpus ? a->gpus < b->gpus : a->n < b->n;
    uint32_t differ = a->mask ^ b->mask;
    if (differ)
        return a->mask & (differ & -differ);
    const struct victims_domain *x = &s->d[a->domain], *y = &s->d[b->domain];
    return x->lo != y->lo ? x->lo < y->lo : x->hi < y->hi;
}

static struct set brute(const struct small *s, uint32_t *most)
{
    struct set best = {0};
    *most = 0;
    uint32_t open = 0;
    for (uint32_t i = 0; i < s->nvictims; i++)
        open |= (uint32_t)open_to(s, i) << i;
    for (uint32_t d = 0; d < s->ndomains; d++)
        for (uint32_t mask = 0; mask < 1u << s->nvictims; mask++) {
            if (mask & ~open)
                continue;
            uint64_t t = tasks_in(s, d, mask);
            *most = t > *most ? (uint32_t)t : *most;
            struct set x = set_of(s, mask, d);
            if (t >= s->ask.tasks && set_before(s, &x, &best))
                best = x;
        }
    return best;
}

static uint32_t mask_of(const struct small *s, const struct victims_answer *a)
{
    uint32_t mask = 0;
    for (uint32_t k = 0; k < a->victims.n; k++)
        for (uint32_t i = 0; i < s->nvictims; i++)
            if (s->m[i].id == a->victims.at[k])
                mask |= 1u << i;
    return mask;
}

static bool places_hold(const struct small *s, const struct victims_answer *a)
{
    uint64_t sum = 0;
    const struct victims_domain *d = &s->d[a->domain];
    for (uint32_t i = 0; i < a->places.n; i++) {
        const struct victims_place *p = &a->places.at[i];
        if (p->node < d->lo || p->node >= d->hi || (i && p->node <= p[-1].node) ||
            !p->tasks || p->tasks > tasks_on(s, p->node, mask_of(s, a)))
            return false;
        sum += p->tasks;
    }
    return sum == s->ask.tasks;
}

static bool same(const struct small *s, const struct set *want,
                 const struct victims_answer *a)
{
    if (!want->found)
        return a->verdict == VICTIMS_IMPOSSIBLE && !a->victims.n;
    return a->verdict == VICTIMS_FOUND && a->proven && a->cost == want->cost &&
           a->bound == want->cost && a->gpus == want->gpus && a->victims.n == want->n &&
           mask_of(s, a) == want->mask && s->d[a->domain].lo == s->d[want->domain].lo &&
           s->d[a->domain].hi == s->d[want->domain].hi && places_hold(s, a);
}

static void show(const struct small *s, uint32_t round, const struct set *want,
                 const struct victims_answer *a)
{
    diag("instance %u: wanted found %d cost %" PRIu64 " gpus %" PRIu64
         " set %x domain %u",
         round, want->found, want->cost, want->gpus, want->mask, want->domain);
    diag("got verdict %d cost %" PRIu64 " gpus %" PRIu64 " set %x domain %u proven %d "
         "bound %" PRIu64 " most %u",
         a->verdict, a->cost, a->gpus, a->victims.n ? mask_of(s, a) : 0, a->domain,
         a->proven, a->bound, a->most);
}

static void shuffle(struct rng *r, uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = (uint32_t)rng_below(r, i), t = order[i - 1];
        order[i - 1] = order[k];
        order[k] = t;
    }
}

static void check_small(void)
{
    struct rng r;
    struct small s;
    struct victims_answer a = {0};
    uint32_t wrong = 0, order_wrong = 0, unsound = 0, most_wrong = 0;
    uint32_t found = 0, nothing = 0, evicting = 0, several = 0;
    rng_init(&r, 7, 1);
    for (uint32_t round = 0; round < SMALL; round++) {
        uint32_t order[VICTIMS] = {0}, most;
        random_small(&r, &s);
        struct set want = brute(&s, &most);
        for (uint32_t again = 0; again < 3; again++) {
            shuffle(&r, order, s.nvictims);
            struct victims *v = build_small(&s, order);
            unsound += !victims_check(v);
            victims_find(v, &s.ask, &a);
            if (!same(&s, &want, &a) && !(again ? order_wrong++ : wrong++))
                show(&s, round, &want, &a);
            most_wrong += !want.found && (a.most < most || a.most >= s.ask.tasks);
            unsound += !victims_check(v);
            victims_destroy(v);
        }
        found += want.found;
        nothing += !want.found;
        evicting += want.n > 0;
        several += want.n > 1;
    }
    diag("%u have a solution, %u evict, %u of them several; %u have none", found,
         evicting, several, nothing);
    is_int(wrong, 0, "%u small instances: the best of all subsets", SMALL);
    is_int(order_wrong, 0, "and the same after adding in another order");
    is_int(most_wrong, 0, "where none can be, how much there is room for is less");
    is_int(unsound, 0, "the index keeps its sums");
    ok(several > 300 && nothing > 300 && found - evicting > 300, "all kinds were met");
    victims_answer_done(&a);
}

/* ---- the index changes ---- */

static void check_changes(void)
{
    struct rng r;
    struct small s;
    struct victims_answer a = {0};
    uint32_t wrong = 0, most;
    rng_init(&r, 8, 1);
    for (uint32_t round = 0; round < 1000; round++) {
        uint32_t order[VICTIMS] = {0};
        random_small(&r, &s);
        shuffle(&r, order, s.nvictims);
        struct victims *v = build_small(&s, order);
        for (uint32_t i = 0; i < s.nvictims; i++) {
            struct mine *m = &s.m[i];
            if (rng_below(&r, 2)) {
                m->spec.cost = (int64_t)rng_below(&r, 100);
                m->spec.rate = 1;
                m->spec.class = 2;
                victims_price(v, m->id, m->spec.cost, 1, 2);
            }
            if (rng_below(&r, 3))
                continue;
            victims_remove(v, m->id);
            random_victim(&r, &s, i, true);
            m->spec.seats = m->seats;
            m->id = victims_add(v, &m->spec);
        }
        uint32_t node = (uint32_t)rng_below(&r, s.nodes);
        s.free[node].gpu = -1;
        victims_node(v, node, &s.free[node], s.usable[node]);
        struct set want = brute(&s, &most);
        victims_find(v, &s.ask, &a);
        bool bad =
            !same(&s, &want, &a) || !victims_check(v) || victims_count(v) != s.nvictims;
        if (bad && !wrong++)
            show(&s, round, &want, &a);
        victims_destroy(v);
    }
    is_int(wrong, 0, "1000 changed indexes answer as new ones");
    victims_answer_done(&a);
}

/* ---- shapes that others get wrong (notes on Kubernetes schedulers, by case) ---- */

static uint32_t put(struct victims *v, uint64_t tie, int64_t cost, uint32_t node,
                    struct victims_room frees)
{
    struct victims_seat seat = {node, frees};
    struct victims_spec s = {.tie = tie, .cost = cost, .nseats = 1, .seats = &seat};
    return victims_add(v, &s);
}

static struct victims *nodes_with(uint32_t n, struct victims_room free)
{
    struct victims *v = victims_create(n);
    for (uint32_t i = 0; i < n; i++)
        victims_node(v, i, &free, true);
    return v;
}

static void ask_of(struct victims_ask *ask, struct victims_domain *d, uint32_t nodes,
                   uint32_t tasks, struct victims_room need)
{
    *d = (struct victims_domain){0, nodes};
    *ask = (struct victims_ask){.domains = d,
                                .ndomains = 1,
                                .tasks = tasks,
                                .need = need,
                                .classes = UINT64_MAX};
}

#define GPUS(n) ((struct victims_room){.gpu = (n)})

static void check_shapes(void)
{
    struct victims_domain d;
    struct victims_ask ask;
    struct victims_answer a = {0};

    struct victims *v = nodes_with(2, GPUS(8)); /* C09 */
    victims_node(v, 1, &GPUS(0), true);
    uint32_t low = put(v, 1, 50, 1, GPUS(8));
    ask_of(&ask, &d, 2, 2, GPUS(8));
    ask.per_node = 1;
    victims_find(v, &ask, &a);
    ok(a.verdict == VICTIMS_FOUND && a.victims.n == 1 && a.victims.at[0] == low &&
           a.places.n == 2,
       "a free node and a freed node together hold the gang");
    victims_destroy(v);

    v = nodes_with(1, (struct victims_room){.cpu_milli = 0}); /* C10 */
    for (uint32_t i = 0; i < 11; i++)
        put(v, i, 10, 0, (struct victims_room){.cpu_milli = 1000});
    ask_of(&ask, &d, 1, 1, (struct victims_room){.cpu_milli = 1000});
    victims_find(v, &ask, &a);
    ok(a.proven && a.victims.n == 1 && a.victims.at[0] == 0,
       "one core wanted: one task of eleven goes, the first by tie");
    victims_destroy(v);

    v = nodes_with(60, GPUS(0)); /* C11 */
    for (uint32_t i = 0; i < 60; i++) {
        struct victims_seat seat = {i, GPUS(1)};
        struct victims_spec s = {.tie = i, .cost = 1, .nseats = 1, .seats = &seat};
        s.class = i < 30 ? 0 : 1;
        victims_add(v, &s);
    }
    ask_of(&ask, &d, 60, 60, GPUS(1));
    ask.classes = 1;
    victims_find(v, &ask, &a);
    ok(a.verdict == VICTIMS_IMPOSSIBLE && !a.victims.n && a.most == 30,
       "no eviction where the gang would still not run; the room there is: %u", a.most);
    ask.classes = 3;
    victims_find(v, &ask, &a);
    ok(a.verdict == VICTIMS_FOUND && a.victims.n == 60, "all of them where it would");
    victims_destroy(v);
    victims_answer_done(&a);
}

static void check_squatter(void) /* C13 */
{
    struct victims_domain d;
    struct victims_ask ask;
    struct victims_answer a = {0};
    struct victims_room whole = {8, 64000, 512}, used = {8, 60000, 500};
    struct victims *v = nodes_with(4, whole);
    struct victims_room rest = {8, 60000, 100};
    victims_node(v, 2, &rest, true);
    uint32_t squatter = put(v, 9, 1000, 2, (struct victims_room){0, 4000, 412});
    victims_node(v, 3, &(struct victims_room){0, 4000, 12}, true);
    uint32_t costly = put(v, 1, 900000, 3, used);
    ask_of(&ask, &d, 4, 3, whole);
    victims_find(v, &ask, &a);
    ok(a.proven && a.victims.n == 1 && a.victims.at[0] == squatter,
       "a task without GPUs that holds a host's memory goes alone");
    ask.tasks = 4;
    victims_find(v, &ask, &a);
    ok(a.proven && a.victims.n == 2 && a.victims.at[0] == costly,
       "in the order of ties");
    victims_destroy(v);

    v = nodes_with(1, (struct victims_room){8, 0, 0});
    for (uint32_t i = 0; i < 110; i++)
        put(v, i, 5, 0, (struct victims_room){0, 100, 1});
    ask_of(&ask, &d, 1, 1, (struct victims_room){8, 11000, 0});
    victims_find(v, &ask, &a);
    ok(a.proven && a.victims.n == 110, "110 squatters, all needed");
    ask.need.cpu_milli = 10950;
    victims_find(v, &ask, &a);
    is_int(a.victims.n, 110, "still all, for 10.95 cores of 0.1 each");
    ask.need.cpu_milli = 5000;
    victims_find(v, &ask, &a);
    ok(a.proven && a.victims.n == 50 && a.victims.at[49] == 49,
       "half of them for half");
    victims_destroy(v);
    victims_answer_done(&a);
}

static void check_sharing(void)
{
    struct victims_domain d;
    struct victims_ask ask;
    struct victims_answer a = {0};
    struct victims *v = nodes_with(6, GPUS(0));
    for (uint32_t i = 0; i < 3; i++)
        put(v, 10 + i, 40, i, GPUS(8));
    struct victims_seat seats[] = {{3, GPUS(8)}, {4, GPUS(8)}, {5, GPUS(8)}};
    struct victims_spec s = {.tie = 1, .cost = 100, .nseats = 3, .seats = seats};
    uint32_t gang = victims_add(v, &s);
    ask_of(&ask, &d, 6, 2, GPUS(8));
    victims_find(v, &ask, &a);
    ok(a.proven && a.cost == 80 && a.victims.n == 2,
       "two lone jobs cost less than a gang on three nodes");
    ask.tasks = 3;
    victims_find(v, &ask, &a);
    ok(a.proven && a.cost == 100 && a.victims.n == 1 && a.victims.at[0] == gang,
       "the gang costs less than three");
    ask.tasks = 4;
    victims_find(v, &ask, &a);
    ok(a.proven && a.cost == 140, "the gang and one more");
    victims_destroy(v);
    victims_answer_done(&a);
}

/* ---- large ones ---- */

struct large {
    struct victims *v;
    uint32_t nodes, nvictims;
    struct victims_seat *seats;
    uint32_t nseats;
    uint32_t *first; /* per victim, nvictims + 1 */
    int64_t *cost;
    int64_t *free;
};

static void large_done(struct large *l)
{
    victims_destroy(l->v);
    free(l->seats);
    free(l->first);
    free(l->cost);
    free(l->free);
}

/* Nodes of 8 GPUs, each with up to two free; gangs of random size over whole or half
 * nodes, small jobs in the rest. Costs: GPUs times a random age. */
static void large_init(struct large *l, struct rng *r, uint32_t nodes, bool mixed)
{
    *l = (struct large){.nodes = nodes, .v = victims_create(nodes)};
    l->seats = mem_alloc((size_t)nodes * 16 * sizeof *l->seats);
    l->first = mem_alloc((size_t)nodes * 16 * sizeof *l->first);
    l->cost = mem_alloc((size_t)nodes * 16 * sizeof *l->cost);
    l->free = mem_alloc(nodes * sizeof *l->free);
    for (uint32_t i = 0; i < nodes; i++)
        l->free[i] = 8;
    for (uint32_t left = nodes * 8 * 19 / 20; left;) {
        static const uint32_t kinds[] = {1, 2, 4, 8, 8};
        uint32_t g = kinds[rng_below(r, mixed ? 5 : 3)];
        uint32_t want = rng_below(r, 4) ? 1 : 1u << rng_below(r, 6), have = 0;
        uint32_t at = (uint32_t)rng_below(r, nodes);
        l->first[l->nvictims] = l->nseats;
        for (uint32_t k = 0; k < nodes && have < want; k++) {
            uint32_t n = (at + k) % nodes;
            if (l->free[n] < g)
                continue;
            l->free[n] -= g;
            l->seats[l->nseats + have++] = (struct victims_seat){n, GPUS(g)};
        }
        if (!have)
            break;
        l->cost[l->nvictims++] = (int64_t)((1 + rng_below(r, 100000)) * have * g);
        l->nseats += have;
        left -= have * g < left ? have * g : left;
    }
    l->first[l->nvictims] = l->nseats;
    for (uint32_t i = 0; i < nodes; i++)
        victims_node(l->v, i, &GPUS(l->free[i]), true);
    for (uint32_t i = 0; i < l->nvictims; i++) {
        struct victims_spec s = {.tie = i, .cost = l->cost[i]};
        s.nseats = l->first[i + 1] - l->first[i];
        s.seats = l->seats + l->first[i];
        if (victims_add(l->v, &s) != i)
            bail("ids are not in order of adding");
    }
}

static uint64_t room_without(const struct large *l, const struct victims_ask *ask,
                             const struct victims_domain *d,
                             const struct victims_answer *a, uint32_t spared)
{
    int64_t *room = mem_alloc(l->nodes * sizeof *room);
    uint64_t t = 0;
    memcpy(room, l->free, l->nodes * sizeof *room);
    for (uint32_t i = 0; i < a->victims.n; i++) {
        uint32_t id = a->victims.at[i];
        if (id == spared)
            continue;
        for (uint32_t k = l->first[id]; k < l->first[id + 1]; k++)
            room[l->seats[k].node] += l->seats[k].frees.gpu;
    }
    for (uint32_t n = d->lo; n < d->hi; n++)
        t += (uint64_t)(room[n] / ask->need.gpu);
    free(room);
    return t;
}

static bool answer_holds(const struct large *l, const struct victims_ask *ask,
                         const struct victims_answer *a)
{
    const struct victims_domain *d = &ask->domains[a->domain];
    uint64_t cost = 0;
    if (a->verdict != VICTIMS_FOUND || a->bound > a->cost ||
        a->proven != (a->bound == a->cost && a->proven) ||
        room_without(l, ask, d, a, VICTIMS_NONE) < ask->tasks)
        return false;
    for (uint32_t i = 0; i < a->victims.n; i++) {
        cost += (uint64_t)l->cost[a->victims.at[i]];
        if (room_without(l, ask, d, a, a->victims.at[i]) >= ask->tasks)
            return false;
    }
    return cost == a->cost;
}

static void check_large(uint32_t nodes, bool mixed, int64_t need, uint32_t tasks,
                        uint32_t steps)
{
    struct rng r;
    struct victims_answer a = {0};
    uint32_t bad = 0, proven = 0, over = 0, most_steps = 0;
    uint64_t gap = 0, worst = 0;
    enum { ROUNDS = 12 };
    rng_init(&r, 11, nodes + mixed);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct large l;
        struct victims_domain d[2];
        struct victims_ask ask;
        large_init(&l, &r, nodes, mixed);
        ask_of(&ask, d, nodes, tasks, GPUS(need));
        d[0].hi = nodes / 2;
        d[1] = (struct victims_domain){nodes / 2, nodes};
        ask.ndomains = 2;
        if (round % 2) {
            d[0].hi = nodes;
            ask.ndomains = 1;
        }
        ask.steps = steps;
        victims_find(l.v, &ask, &a);
        bad += !answer_holds(&l, &ask, &a);
        proven += a.proven;
        uint64_t g = a.cost ? (a.cost - a.bound) * 10000 / a.cost : 0;
        gap += g;
        worst = g > worst ? g : worst;
        most_steps = a.steps > most_steps ? a.steps : most_steps;
        over += a.steps > 3 * (uint64_t)steps + 40 * nodes;
        large_done(&l);
    }
    diag("%u nodes, %u tasks of %d GPUs, %u steps: %u of %u proven, gap mean %.2f %%, "
         "worst "
         "%.2f %%, steps <= %u",
         nodes, tasks, (int)need, steps, proven, ROUNDS, (double)gap / ROUNDS / 100,
         (double)worst / 100, most_steps);
    is_int(bad, 0, "room enough, nobody to spare, bound below cost");
    is_int(over, 0, "bounded in steps");
    cmp_ok(worst, <, 3000, "the bound is near");
    victims_answer_done(&a);
}

/* ---- whole nodes, each held by one victim: a knapsack decides ---- */

enum { COVER_NODES = 1500, COVER_MOST = 160 };

struct cover {
    uint32_t n, refused; /* victims; of ten how many may not go */
    uint32_t span[COVER_NODES];
    uint64_t cost[COVER_NODES];
};

static bool cover_may(const struct cover *c, uint32_t id)
{
    return id * 7 % 10 >= c->refused;
}

static bool cover_allowed(void *arg, uint32_t id)
{
    return cover_may(arg, id);
}

static struct victims *cover_build(struct cover *c, struct rng *r, uint64_t costs)
{
    static struct victims_seat seats[COVER_NODES];
    static uint32_t order[COVER_NODES];
    struct victims *v = nodes_with(COVER_NODES, GPUS(0));
    shuffle(r, order, COVER_NODES);
    c->n = 0;
    for (uint32_t at = 0; at < COVER_NODES; c->n++) {
        uint32_t span = rng_below(r, 2) ? 1 : 1 + (uint32_t)rng_below(r, 24), i = 0;
        for (; i < span && at < COVER_NODES; i++)
            seats[i] = (struct victims_seat){order[at++], GPUS(8)};
        c->span[c->n] = i;
        c->cost[c->n] = i * (1 + rng_below(r, costs));
        struct victims_spec s = {.tie = c->n, .nseats = i, .seats = seats};
        s.rate = (uint32_t)rng_below(r, 3) * i;
        s.cost = (int64_t)c->cost[c->n] - (int64_t)s.rate * 1000; /* at 1000 */
        victims_add(v, &s);
    }
    return v;
}

/* The least cost of victims on at least n nodes; UINT64_MAX: there is none. */
static uint64_t cover_least(const struct cover *c, uint32_t n)
{
    uint64_t least[COVER_MOST + 1] = {0};
    for (uint32_t i = 1; i <= n; i++)
        least[i] = UINT64_MAX;
    for (uint32_t v = 0; v < c->n; v++)
        for (uint32_t i = n; i && cover_may(c, v); i--) {
            uint64_t from = least[i > c->span[v] ? i - c->span[v] : 0];
            if (from != UINT64_MAX && from + c->cost[v] < least[i])
                least[i] = from + c->cost[v];
        }
    return least[n];
}

static void check_cover(uint64_t costs, uint32_t refused)
{
    struct rng r;
    struct victims_domain d;
    struct victims_ask ask;
    struct victims_answer a = {0};
    uint32_t wrong = 0, proven = 0, asked = 0;
    enum { ROUNDS = 60 };
    rng_init(&r, 13, costs + refused);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct cover c = {.refused = refused};
        struct victims *v = cover_build(&c, &r, costs);
        ask_of(&ask, &d, COVER_NODES, 1 + (uint32_t)rng_below(&r, COVER_MOST), GPUS(8));
        ask.at = 1000;
        ask.allowed = cover_allowed;
        ask.arg = &c;
        victims_find(v, &ask, &a);
        victims_destroy(v);
        uint64_t want = cover_least(&c, ask.tasks);
        asked += want != UINT64_MAX;
        if (want == UINT64_MAX) {
            wrong += a.verdict != VICTIMS_IMPOSSIBLE || a.most >= ask.tasks;
            continue;
        }
        wrong += a.verdict != VICTIMS_FOUND || a.bound > want || a.cost < want ||
                 (a.proven && a.cost != want);
        proven += a.proven;
    }
    is_int(wrong, 0,
           "costs below %" PRIu64 ", %u of 10 may not go: the knapsack's cost", costs,
           refused);
    cmp_ok(proven + 2, >=, asked, "and proven");
    victims_answer_done(&a);
}

/* The same large question when everything was added in the reverse order. */
static void check_order(void)
{
    struct rng r;
    struct victims_answer a = {0}, b = {0};
    uint32_t differ = 0, evicting = 0;
    rng_init(&r, 17, 1);
    for (uint32_t round = 0; round < 10; round++) {
        struct large l;
        struct victims_domain d;
        struct victims_ask ask;
        large_init(&l, &r, 600, true);
        struct victims *other = victims_create(l.nodes);
        for (uint32_t i = l.nvictims; i--;) {
            struct victims_spec s = {.tie = i, .cost = l.cost[i]};
            s.nseats = l.first[i + 1] - l.first[i];
            s.seats = l.seats + l.first[i];
            victims_add(other, &s);
        }
        for (uint32_t i = l.nodes; i--;)
            victims_node(other, i, &GPUS(l.free[i]), true);
        ask_of(&ask, &d, l.nodes, 40 + 8 * round, GPUS(round % 2 ? 8 : 4));
        ask.steps = 5000;
        victims_find(l.v, &ask, &a);
        victims_find(other, &ask, &b);
        differ += a.cost != b.cost || a.victims.n != b.victims.n || a.steps != b.steps;
        for (uint32_t i = 0; i < a.victims.n && i < b.victims.n; i++)
            differ += a.victims.at[i] != l.nvictims - 1 - b.victims.at[i];
        evicting += a.victims.n > 0;
        victims_destroy(other);
        large_done(&l);
    }
    is_int(differ, 0, "large questions do not depend on the order of adding either");
    cmp_ok(evicting, >, 5, "most of them evict");
    victims_answer_done(&a);
    victims_answer_done(&b);
}

int main(void)
{
    check_small();
    check_changes();
    check_shapes();
    check_squatter();
    check_sharing();
    check_order();
    check_cover(1000000, 0);
    check_cover(1000000, 5);
    check_cover(1000000, 9);
    check_cover(3, 0);
    check_large(200, true, 8, 32, 20000);
    check_large(200, true, 4, 40, 20000);
    check_large(400, false, 2, 300, 20000);
    check_large(1500, true, 8, 128, 60000);
    check_large(1500, true, 8, 128, 1000);
    return done_testing();
}
