/* book.c - makes, finds, moves and forgets the audit's nodes, jobs and claims
 * Nothing here judges. Every entity is one malloc with its own copies of all strings,
 * so that nothing depends on the batch that brought it. SPDX-License-Identifier:
 * Apache-2.0 */
#include "audit/book.h"

#include <assert.h>

#define COPY(mem, type, at, n)                                                      \
    ((n) ? memcpy(arena_alloc((mem), (n) * sizeof(type)), (at), (n) * sizeof(type)) \
         : NULL)

struct bnode *book_node(const struct audit *a, struct str name)
{
    uint32_t i = strmap_get(&a->node_ids, name);
    return i == MAP_NONE ? NULL : a->nodes.at[i];
}

struct bjob *book_job(const struct audit *a, struct str name)
{
    uint32_t i = strmap_get(&a->job_ids, name);
    return i == MAP_NONE ? NULL : a->jobs.at[i];
}

struct bgang *book_gang(const struct audit *a, const struct gang_ref *ref)
{
    struct bjob *j = book_job(a, ref->job);
    struct bgang *g = j ? j->gangs : NULL;
    for (uint32_t r = 0; j && r < j->nroots; g += j->roots[r].copies, r++)
        if (j->roots[r].group == ref->group)
            return ref->copy < j->roots[r].copies ? g + ref->copy : NULL;
    return NULL;
}

uint32_t book_slot(const struct bgang *g, struct slot_ref ref)
{
    for (uint32_t i = 0; i < g->nleaves; i++)
        if (g->leaves[i].group == ref.leaf)
            return ref.index < g->leaves[i].nslots ? g->leaves[i].slot0 + ref.index
                                                   : UINT32_MAX;
    return UINT32_MAX;
}

const struct bleaf *book_leaf(const struct bgang *g, uint32_t slot)
{
    const struct bleaf *l = g->leaves;
    while (slot >= l->slot0 + l->nslots)
        l++;
    return l;
}

struct slot_ref book_slot_ref(const struct bgang *g, uint32_t slot)
{
    const struct bleaf *l = book_leaf(g, slot);
    return (struct slot_ref){l->group, slot - l->slot0};
}

const struct shape *book_shape(const struct bgang *g, uint32_t slot)
{
    if (g->slots[slot].shape)
        return g->slots[slot].shape;
    const struct job_spec *spec = &g->job->spec;
    return &spec->shapes[spec->groups[book_leaf(g, slot)->group].shape];
}

void book_slot_task(struct audit *a, struct bgang *g, uint32_t slot, struct str task)
{
    struct bslot *s = &g->slots[slot];
    if (str_eq(s->task, task))
        return;
    if (s->task.len) {
        uint32_t i = strmap_get(&a->slot_ids, s->task);
        if (i != MAP_NONE && a->slot_at.at[i].gang == g &&
            a->slot_at.at[i].slot == slot) {
            strmap_del(&a->slot_ids, s->task);
            vec_push(&a->slot_at_free, i);
        }
        free((char *)s->task.ptr);
    }
    free(s->shape); /* its own shape goes with the task */
    s->shape = NULL;
    s->task = str_keep(task);
    if (!task.len)
        return;
    uint32_t i = strmap_get(&a->slot_ids, task);
    if (i == MAP_NONE) {
        if (a->slot_at_free.n) {
            i = a->slot_at_free.at[--a->slot_at_free.n];
        } else {
            i = a->slot_at.n;
            vec_push(&a->slot_at, (struct slot_at){NULL, 0});
        }
    }
    a->slot_at.at[i] = (struct slot_at){g, slot};
    strmap_put(&a->slot_ids, s->task, i);
}

/* jobs */

/* Product of the wanted counts from g up to, but without, `top` (GROUP_NONE: to the
 * root). */
static uint32_t copies_up_to(const struct job_spec *spec, uint16_t g, uint16_t top)
{
    uint32_t n = 1;
    for (; g != top && g != GROUP_NONE; g = spec->groups[g].parent)
        n *= spec->groups[g].count.want;
    return n;
}

static bool below(const struct job_spec *spec, uint16_t g, uint16_t top)
{
    while (g != GROUP_NONE && g != top)
        g = spec->groups[g].parent;
    return g == top;
}

static void root_add(struct bjob *j, uint16_t g)
{
    const struct job_spec *spec = &j->spec;
    struct broot *r = &j->roots[j->nroots++];
    *r = (struct broot){.group = g, .copies = copies_up_to(spec, g, GROUP_NONE)};
    r->leaves = arena_zero(&j->mem, spec->ngroups * sizeof *r->leaves);
    bool lone = spec->groups[g].shape != GROUP_NONE;
    for (uint16_t i = g; i < spec->ngroups; i++) {
        if (spec->groups[i].shape == GROUP_NONE || !below(spec, i, g))
            continue;
        const struct count *c = &spec->groups[i].count;
        struct bleaf *l = &r->leaves[r->nleaves++];
        *l = (struct bleaf){i, 1, 1, 1, 1, 1, r->nslots, 0};
        if (!lone) {
            l->copies = copies_up_to(spec, spec->groups[i].parent, g);
            l->per_copy = c->max;
            l->min = c->min;
            l->want = c->want;
            l->step = c->step ? c->step : 1;
        }
        l->nslots = l->copies * l->per_copy;
        r->nslots += l->nslots;
        const struct shape *sh = &spec->shapes[spec->groups[i].shape];
        r->min_milli += (int64_t)sh->gpu_count * sh->gpu_milli * l->copies * l->min;
    }
    j->ngangs += r->copies;
}

static void gangs_add(struct bjob *j)
{
    j->gangs = arena_zero(&j->mem, j->ngangs * sizeof *j->gangs);
    struct bgang *g = j->gangs;
    for (uint32_t r = 0; r < j->nroots; r++) {
        for (uint32_t c = 0; c < j->roots[r].copies; c++, g++) {
            const struct broot *root = &j->roots[r];
            *g = (struct bgang){.job = j,
                                .root = root->group,
                                .copy = c,
                                .leaves = root->leaves,
                                .nleaves = root->nleaves,
                                .nslots = root->nslots};
            g->slots = arena_zero(&j->mem, g->nslots * sizeof *g->slots);
            for (uint32_t s = 0; s < g->nslots; s++)
                g->slots[s].rank = UINT32_MAX;
        }
    }
    j->gangs_left = j->ngangs;
}

void book_tree(struct bjob *j, const struct job_spec *spec)
{
    j->spec.groups = COPY(&j->mem, struct group_spec, spec->groups, spec->ngroups);
    j->roots = arena_zero(&j->mem, spec->ngroups * sizeof *j->roots);
    j->nroots = j->ngangs = 0;
    for (uint16_t g = 0; g < spec->ngroups; g++) {
        uint16_t whole = job_spec_whole_of(&j->spec, g);
        if (whole == g || (whole == GROUP_NONE && spec->groups[g].shape != GROUP_NONE))
            root_add(j, g);
    }
    gangs_add(j);
}

struct bjob *book_job_add(struct audit *a, const struct job_spec *spec)
{
    struct bjob *j = mem_zero(sizeof *j);
    j->spec = *spec;
    j->spec.name = arena_str(&j->mem, spec->name);
    j->spec.shapes = COPY(&j->mem, struct shape, spec->shapes, spec->nshapes);
    j->spec.request = arena_str(&j->mem, spec->request);
    j->spec.blob = (struct str){0};
    j->saved_at = INT64_MIN;
    book_tree(j, spec);
    j->pos = a->jobs.n;
    vec_push(&a->jobs, j);
    strmap_put(&a->job_ids, j->spec.name, j->pos);
    return j;
}

void book_job_drop(struct audit *a, struct bjob *j)
{
    for (uint32_t i = 0; i < j->ngangs; i++) {
        struct bgang *g = &j->gangs[i];
        for (uint32_t s = 0; s < g->nslots; s++) {
            assert(!g->slots[s].claim);
            book_slot_task(a, g, s, (struct str){0});
            free(g->slots[s].shape);
        }
        u64map_del(&a->gang_keys, (uint64_t)(uintptr_t)g);
        for (uint32_t d = 0; d < a->launched.n; d++)
            if (a->launched.at[d] == g)
                a->launched.at[d] = NULL;
    }
    for (uint32_t i = 0; a->strays.n && i < a->claims.n; i++) /* they keep their room */
        if (a->claims.at[i]->gang && a->claims.at[i]->gang->job == j)
            a->claims.at[i]->gang = NULL;
    early_end(a, j, false);
    strmap_del(&a->job_ids, j->spec.name);
    struct bjob *last = a->jobs.at[--a->jobs.n];
    if (last != j) {
        last->pos = j->pos;
        a->jobs.at[j->pos] = last;
        strmap_put(&a->job_ids, last->spec.name, last->pos);
    }
    arena_done(&j->mem);
    free(j);
}

/* claims */

static void node_leave(struct audit *a, struct bclaim *c)
{
    struct bnode *n = c->node;
    if (!n)
        return;
    uint32_t i = 0;
    while (n->claims.at[i] != c)
        i++;
    memmove(&n->claims.at[i], &n->claims.at[i + 1],
            (n->claims.n - i - 1) * sizeof *n->claims.at);
    n->claims.n--;
    c->node = NULL;
    room_touch(a, n);
}

struct bclaim *book_claim_add(struct audit *a, struct bgang *g, uint32_t slot,
                              enum bphase phase)
{
    struct bclaim *c = mem_zero(sizeof *c);
    *c = (struct bclaim){.phase = phase,
                         .gang = g,
                         .slot = slot,
                         .seen = true,
                         .since = a->at,
                         .all_pos = a->claims.n};
    vec_push(&a->claims, c);
    if (!g)
        return c;
    shape_choose(book_shape(g, slot), 0, &c->shape);
    c->shaped = true;
    if (phase != BP_STRAY)
        g->slots[slot].claim = c;
    return c;
}

void book_claim_choose(struct bclaim *c, uint8_t alt)
{
    const struct shape *all =
        c->gang && c->phase != BP_STRAY ? book_shape(c->gang, c->slot) : NULL;
    if (!all || c->alt == (alt <= all->nalts ? alt : 0))
        return;
    c->alt = alt <= all->nalts ? alt : 0;
    shape_choose(all, c->alt, &c->shape);
}

/* Its room is free again; planned claims that lay over it rise. */
void book_claim_drop(struct audit *a, struct bclaim *c)
{
    struct bnode *n = c->node;
    node_leave(a, c);
    if (c->gang && c->phase != BP_STRAY) {
        struct bslot *s = &c->gang->slots[c->slot];
        if (s->claim == c)
            s->claim = NULL;
        if (c->extra && (c->phase == BP_PLANNED || c->phase == BP_ISSUED))
            c->gang->target--; /* its gang is whole without it */
        if (c->phase != BP_PLANNED && c->launch > s->last_launch)
            s->last_launch = c->launch;
    }
    if (c->key.len)
        strmap_del(&a->strays, c->key);
    struct bclaim *last = a->claims.at[--a->claims.n];
    if (last != c) {
        last->all_pos = c->all_pos;
        a->claims.at[last->all_pos] = last;
        if (last->key.len)
            strmap_put(&a->strays, last->key, last->all_pos);
    }
    free((char *)c->key.ptr);
    free((char *)c->where.ptr);
    free(c);
    if (n)
        room_rise(a, n);
}

void book_claim_place(struct audit *a, struct bclaim *c, struct bnode *n,
                      const struct need *need, struct str where)
{
    struct bnode *old = c->node;
    bool had = old && (c->phase != BP_PLANNED || c->taken);
    node_leave(a, c);
    free((char *)c->where.ptr);
    c->where = n ? (struct str){0} : str_keep(where);
    c->need = *need;
    c->taken = false;
    if (n) {
        c->taken = c->phase != BP_PLANNED || room_planned_fits(n, need);
        c->node = n;
        vec_push(&n->claims, c);
        room_touch(a, n);
    }
    if (had)
        room_rise(a, old);
}

void book_claim_key(struct audit *a, struct bclaim *c, struct str key)
{
    c->key = str_keep(key);
    strmap_put(&a->strays, c->key, c->all_pos);
}

void book_claim_phase(struct audit *a, struct bclaim *c, enum bphase phase)
{
    if (c->phase == phase)
        return;
    if (phase == BP_ENDING)
        c->useful_to = c->phase == BP_RUNNING ? a->at : c->since;
    else
        c->since = a->at;
    c->phase = phase;
    if (c->node && phase != BP_PLANNED)
        c->taken = true;
    if (c->node)
        room_touch(a, c->node);
}

/* What a task of the shape takes on these devices. A profile's numbers come from the
 * type of its device; where the type has no such profile, or the node is not known,
 * from the shape. */
struct need book_need(const struct audit *a, const struct shape *s,
                      const struct bnode *n, uint64_t devs, uint16_t slices)
{
    (void)a;
    struct need need = {.cpu_milli = s->cpu_milli,
                        .mem_bytes = s->mem_bytes,
                        .gpu_mem_bytes = s->gpu_mem_bytes,
                        .slots = s->pod_slots,
                        .nics = s->nics,
                        .mode = s->gpu_mode,
                        .gpu_milli = s->gpu_milli,
                        .devs = devs};
    if (s->gpu_mode != GPU_MIG)
        return need;
    need.slices = slices;
    if (!devs || !n)
        return need;
    const struct btype *t = n->dev[__builtin_ctzll(devs)].type;
    for (uint32_t i = 0; t && i < t->nprofiles; i++) {
        if (t->profiles[i].name != s->profile)
            continue;
        need.gpu_milli = t->profiles[i].milli;
        need.gpu_mem_bytes = t->profiles[i].mem_bytes;
        need.compute = t->profiles[i].compute;
        break;
    }
    return need;
}

const struct btype *book_type(struct audit *a, const struct device_type *t)
{
    for (uint32_t i = 0; i < a->types.n; i++)
        if (a->types.at[i]->name == t->name)
            return a->types.at[i];
    struct btype *b = mem_zero(sizeof *b);
    b->name = t->name;
    b->modes = t->modes;
    b->mem_slices = t->mem_slices;
    b->compute_slices = t->compute_slices;
    b->nprofiles = t->nprofiles < PROFILES_MAX ? t->nprofiles : PROFILES_MAX;
    for (uint32_t i = 0; i < b->nprofiles; i++)
        b->profiles[i] = t->profiles[i];
    vec_push(&a->types, b);
    return b;
}

void book_done(struct audit *a)
{
    while (a->claims.n) {
        struct bclaim *c = a->claims.at[a->claims.n - 1];
        c->node = NULL;
        book_claim_drop(a, c);
    }
    keeps_done(a);
    while (a->jobs.n)
        book_job_drop(a, a->jobs.at[a->jobs.n - 1]);
    for (uint32_t i = 0; i < a->nodes.n; i++) {
        struct bnode *n = a->nodes.at[i];
        free((char *)n->name.ptr);
        free((char *)n->uid.ptr);
        vec_done(&n->claims);
        arena_done(&n->mem);
        free(n);
    }
    for (uint32_t i = 0; i < a->types.n; i++)
        free(a->types.at[i]);
    vec_done(&a->nodes);
    vec_done(&a->jobs);
    vec_done(&a->claims);
    while (a->early.n)
        early_lose(a, a->early.at[0].task);
    vec_done(&a->early);
    vec_done(&a->slot_at);
    vec_done(&a->slot_at_free);
    vec_done(&a->types);
    vec_done(&a->touched);
    vec_done(&a->launched);
    strmap_done(&a->node_ids);
    strmap_done(&a->job_ids);
    strmap_done(&a->strays);
    strmap_done(&a->slot_ids);
    u64map_done(&a->gang_keys);
    heap_done(&a->deadlines);
    heap_done(&a->backoffs);
    words_done(&a->words);
}
