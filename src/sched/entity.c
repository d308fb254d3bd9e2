/* entity.c - makes, finds and forgets shapes, trees of groups, jobs and gangs
 * Shapes and trees are kept once however many jobs ask for the same: a million equal jobs
 * share one. All lookups are O(1); indexes are reused after a death.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/hash.h"
#include "sched/state.h"

static uint32_t slab_take(uint32_t *list, uint32_t *n)
{
    return *n ? list[--*n] : NONE;
}

uint32_t shape_intern(struct sched *s, const struct shape *shape)
{
    uint64_t h = hash_bytes(shape, sizeof *shape) >> 1;
    uint32_t id;
    while ((id = u64map_get(&s->shape_ids, h)) != MAP_NONE) {
        struct shape_entry *e = &s->shapes.at[id];
        if (memcmp(&e->shape, shape, sizeof *shape) == 0) {
            e->refs++;
            return id;
        }
        h = (h + 1) >> 1 << 1 | 1; /* a collision of 63 bits: the next key */
    }
    id = slab_take(s->shapes_free.at, &s->shapes_free.n);
    if (id == NONE) {
        id = s->shapes.n;
        vec_push(&s->shapes, (struct shape_entry){0});
    }
    struct shape_entry *e = &s->shapes.at[id];
    memset(e, 0, sizeof *e);
    e->shape = *shape;
    e->hash = h;
    e->refs = 1;
    e->ready_types = NONE;
    e->tagged = shape->ntags > 0;
    for (uint32_t i = 0; i < shape->nconstraints; i++)
        if (shape->constraints[i].kind == CONSTRAINT_AVOID && shape->constraints[i].hard)
            e->tagged = true;
    u64map_put(&s->shape_ids, h, id);
    for (uint32_t i = 0; shape->nalts && i <= shape->nalts; i++) {
        struct shape one;
        shape_choose(shape, i, &one);
        uint32_t alt = shape_intern(s, &one); /* e may have moved */
        s->shapes.at[id].alts[i] = alt;
    }
    return id;
}

void shape_unref(struct sched *s, uint32_t id)
{
    struct shape_entry *e = &s->shapes.at[id];
    assert(e->refs > 0);
    if (--e->refs)
        return;
    u64map_del(&s->shape_ids, e->hash);
    for (uint32_t i = 0; e->shape.nalts && i <= e->shape.nalts; i++)
        shape_unref(s, e->alts[i]); /* those have none of their own */
    vec_push(&s->shapes_free, id);
}

uint64_t shape_typemask(struct sched *s, uint32_t id)
{
    struct shape_entry *e = &s->shapes.at[id];
    if (e->ready_types == s->cluster->ntypes)
        return e->typemask;
    uint64_t mask = e->shape.ntypes ? 0 : UINT64_MAX;
    for (uint32_t i = 0; i < e->shape.ntypes; i++) {
        uint32_t t = cluster_type_id(s->cluster, e->shape.types[i].type);
        if (t < TYPES_MAX)
            mask |= UINT64_C(1) << t;
    }
    e->typemask = mask;
    e->ready_types = s->cluster->ntypes;
    return mask;
}

/* Is there a whole group at or above g? Returns the outermost, or GROUP_NONE. */
static uint16_t whole_above(const struct group_spec *groups, uint16_t g)
{
    uint16_t found = GROUP_NONE;
    for (uint16_t i = g; i != GROUP_NONE; i = groups[i].parent)
        if (groups[i].whole)
            found = i;
    return found;
}

static uint32_t copies_above(const struct group_spec *groups, uint16_t g, uint16_t stop,
                             int which)
{
    uint64_t n = 1;
    for (uint16_t i = g; i != stop && i != GROUP_NONE; i = groups[i].parent) {
        const struct count *c = &groups[i].count;
        n *= which == 0 ? c->want : which == 1 ? c->min : c->max;
        if (n > JOB_SLOTS_MAX)
            n = JOB_SLOTS_MAX;
    }
    return (uint32_t)n;
}

static void tree_add_root(struct sched *s, struct tree *t, uint16_t g,
                          const uint32_t *shape_of)
{
    struct tree_root *r = &t->roots[t->nroots++];
    bool lone = t->groups[g].shape != GROUP_NONE && !t->groups[g].whole;
    *r = (struct tree_root){.group = g, .leaf0 = t->nleaves};
    r->copies = copies_above(t->groups, g, GROUP_NONE, 0);
    for (uint16_t i = g; i < t->ngroups; i++) {
        const struct group_spec *leaf = &t->groups[i];
        if (leaf->shape == GROUP_NONE)
            continue;
        uint16_t up = i;
        while (up != GROUP_NONE && up != g)
            up = t->groups[up].parent;
        if (up != g)
            continue;
        struct tree_leaf *l = &t->leaves[t->nleaves++];
        *l = (struct tree_leaf){.group = i, .shape = shape_of[i], .slot0 = r->slots};
        if (lone || i == g) { /* a leaf that is its own gang: one slot */
            l->copies = l->per_copy = l->per_min = l->want = l->step = 1;
        } else {
            const struct count *c = &leaf->count;
            l->copies = copies_above(t->groups, leaf->parent, g, 0);
            l->per_copy = c->max > c->want ? c->max : c->want;
            l->per_min = c->min;
            l->want = c->want;
            l->step = c->step ? c->step : 1;
        }
        l->nslots = l->copies * l->per_copy;
        r->slots += l->nslots;
        r->want += l->copies * l->want;
        r->min += l->copies * l->per_min;
        r->min_milli += (uint64_t)l->copies * l->per_min *
                        shape_gpu_milli(&s->shapes.at[l->shape].shape);
        r->nleaves++;
    }
}

static void tree_build(struct sched *s, struct tree *t, const struct job_spec *spec,
                       const uint32_t *shape_of)
{
    t->ngroups = spec->ngroups;
    t->groups = mem_alloc(spec->ngroups * sizeof *t->groups);
    memcpy(t->groups, spec->groups, spec->ngroups * sizeof *t->groups);
    t->roots = mem_alloc(spec->ngroups * sizeof *t->roots);
    t->leaves = mem_alloc(spec->ngroups * sizeof *t->leaves);
    t->nroots = t->nleaves = 0;
    for (uint16_t g = 0; g < t->ngroups; g++) {
        t->staged = t->staged || t->groups[g].start != START_AT_ONCE;
        uint16_t whole = whole_above(t->groups, g);
        bool leaf = t->groups[g].shape != GROUP_NONE;
        if (whole == g || (leaf && whole == GROUP_NONE))
            tree_add_root(s, t, g, shape_of);
    }
}

/* A few fields tell most trees apart; the rest is compared. */
static uint64_t tree_hash(const struct group_spec *g, uint32_t n, const struct shape *leaf)
{
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++)
        h = digest_mix(h, (uint64_t)g[i].count.want << 32 | (uint64_t)g[i].required << 16 |
                              (uint64_t)g[i].whole << 8 | g[i].shape);
    if (leaf)
        h = digest_mix(h, (uint64_t)leaf->gpu_count << 48 ^ (uint64_t)leaf->gpu_milli << 32 ^
                              (uint64_t)leaf->cpu_milli ^ (uint64_t)leaf->mem_bytes << 3 ^
                              (uint64_t)leaf->constraints[0].tag << 20 ^ leaf->types[0].type);
    return h >> 1;
}

uint64_t tree_hash_of(const struct sched *s, const struct tree *t)
{
    return tree_hash(t->groups, t->ngroups,
                     t->nleaves ? &s->shapes.at[t->leaves[0].shape].shape : NULL);
}

static bool tree_is(const struct sched *s, const struct tree *t, const struct job_spec *spec)
{
    if (t->ngroups != spec->ngroups ||
        memcmp(t->groups, spec->groups, t->ngroups * sizeof *t->groups) != 0)
        return false;
    for (uint32_t i = 0; i < t->nleaves; i++) {
        const struct shape *sh = &spec->shapes[spec->groups[t->leaves[i].group].shape];
        if (memcmp(&s->shapes.at[t->leaves[i].shape].shape, sh, sizeof *sh) != 0)
            return false;
    }
    return true;
}

static const struct shape *first_leaf(const struct job_spec *spec)
{
    for (uint32_t i = 0; i < spec->ngroups; i++)
        if (spec->groups[i].shape != GROUP_NONE)
            return &spec->shapes[spec->groups[i].shape];
    return NULL;
}

/* Worlds keep the shapes that many jobs ask for, so their address is a good guess; the guess
 * is compared as a whole, and which index a tree gets does not depend on it. */
static uint32_t *tree_memo(struct sched *s, const struct job_spec *spec)
{
    uint64_t h = (uint64_t)(uintptr_t)spec->shapes * 0x9E3779B97F4A7C15ull;
    return &s->tree_memo[h >> (64 - TREE_MEMO_BITS)];
}

static uint64_t next_hash(uint64_t h)
{
    return (h + 1) >> 1 << 1 | 1;
}

uint32_t tree_intern(struct sched *s, const struct job_spec *spec)
{
    uint32_t *memo = tree_memo(s, spec);
    if (*memo < s->trees.n && s->trees.at[*memo].refs &&
        tree_is(s, &s->trees.at[*memo], spec)) {
        s->trees.at[*memo].refs++;
        return *memo;
    }
    uint64_t h = tree_hash(spec->groups, spec->ngroups, first_leaf(spec));
    uint32_t id;
    while ((id = u64map_get(&s->tree_ids, h)) != MAP_NONE) {
        if (tree_is(s, &s->trees.at[id], spec)) {
            s->trees.at[id].refs++;
            *memo = id;
            return id;
        }
        h = next_hash(h);
    }
    uint32_t shape_of[JOB_GROUPS_MAX];
    for (uint32_t i = 0; i < spec->ngroups; i++) {
        uint16_t sh = spec->groups[i].shape;
        shape_of[i] = sh == GROUP_NONE ? NONE : shape_intern(s, &spec->shapes[sh]);
    }
    id = slab_take(s->trees_free.at, &s->trees_free.n);
    if (id == NONE) {
        id = s->trees.n;
        vec_push(&s->trees, (struct tree){0});
    }
    struct tree *t = &s->trees.at[id];
    *t = (struct tree){.hash = h, .refs = 1};
    tree_build(s, t, spec, shape_of);
    u64map_put(&s->tree_ids, h, id);
    return id;
}

/* Trees of one hash stand one behind the other: those behind the one that goes move up, or
 * nobody would find them, and equal trees would be two. */
static void tree_forget(struct sched *s, uint32_t id)
{
    uint64_t h = s->trees.at[id].hash;
    u64map_del(&s->tree_ids, h);
    while ((id = u64map_get(&s->tree_ids, h = next_hash(h))) != MAP_NONE) {
        u64map_del(&s->tree_ids, h);
        uint64_t at = tree_hash_of(s, &s->trees.at[id]);
        while (u64map_get(&s->tree_ids, at) != MAP_NONE)
            at = next_hash(at);
        u64map_put(&s->tree_ids, at, id);
        s->trees.at[id].hash = at;
    }
}

void tree_unref(struct sched *s, uint32_t id)
{
    struct tree *t = &s->trees.at[id];
    assert(t->refs > 0);
    if (--t->refs)
        return;
    tree_forget(s, id);
    for (uint32_t i = 0; i < t->nleaves; i++)
        shape_unref(s, t->leaves[i].shape);
    free(t->groups);
    free(t->roots);
    free(t->leaves);
    *t = (struct tree){0};
    vec_push(&s->trees_free, id);
}

uint32_t job_look(const struct sched *s, struct str name)
{
    uint32_t id = strmap_get(&s->job_ids, name);
    if (id == MAP_NONE)
        return NONE;
    ((struct sched *)s)->last_job = id;
    return id;
}

uint32_t node_find(struct sched *s, struct str name)
{
    uint32_t n = s->last_node;
    if (n < s->cluster->nnodes && !s->cluster->nodes[n].gone &&
        str_eq(cluster_node_name(s->cluster, n), name))
        return n;
    n = cluster_find(s->cluster, name);
    s->last_node = n == NODE_NONE ? s->last_node : n;
    return n;
}

void job_set_name(struct sched *s, struct job *j, struct str name)
{
    if (j->name_room < name.len || !j->name) { /* in steps, so that no slot grows often */
        j->name_room = (uint32_t)(name.len < 16 ? 15 : name.len | 63);
        j->name = arena_alloc(&s->names, j->name_room + 1u);
    }
    memcpy(j->name, name.ptr, name.len);
    j->name[name.len] = '\0';
    j->name_len = (uint32_t)name.len;
}

void job_index(struct sched *s, uint32_t job)
{
    const struct job *j = &s->jobs.at[job];
    strmap_put(&s->job_ids, job_name(j), job);
    if (j->request)
        strmap_put(&s->request_ids, (struct str){j->request, j->request_len}, job);
}

uint32_t job_create(struct sched *s, const struct job_spec *spec)
{
    uint32_t tree = tree_intern(s, spec);
    uint32_t id = slab_take(s->jobs_free.at, &s->jobs_free.n);
    if (id == NONE) {
        id = s->jobs.n;
        vec_push(&s->jobs, (struct job){0});
    }
    struct job *j = &s->jobs.at[id];
    job_set_name(s, j, spec->name);
    *j = (struct job){.name = j->name, .name_len = j->name_len, .name_room = j->name_room,
                      .live = true, .tree = tree, .queue = spec->queue, .user = spec->user,
                      .qnode = quota_leaf(s, spec->queue),
                      .kind = spec->kind, .qos = spec->qos, .success = spec->success,
                      .on_loss = spec->on_loss, .checkpoint = spec->checkpoint,
                      .preemptible = spec->preemptible, .oracle = spec->oracle,
                      .priority = spec->priority, .tries = spec->tries,
                      .max_unavailable = spec->max_unavailable,
                      .submitted_at = spec->submitted_at,
                      .time_limit_us = spec->time_limit_us,
                      .expected_us = spec->expected_us, .backoff_us = spec->backoff_us,
                      .ckpt_interval_us = spec->ckpt_interval_us,
                      .ckpt_save_us = spec->ckpt_save_us,
                      .ckpt_restore_us = spec->ckpt_restore_us,
                      .protect_us = spec->protect_us, .value_milli_h = spec->value_milli_h,
                      .deadline_at = spec->deadline_at, .freeze_us = spec->freeze_us,
                      .ckpt_bytes = spec->ckpt_bytes, .saved_at = INT64_MIN,
                      .budget = UINT32_MAX};
    if (spec->request.len) {
        j->request = mem_strndup(spec->request.ptr, spec->request.len);
        j->request_len = (uint32_t)spec->request.len;
    }
    job_index(s, id);
    const struct tree *t = &s->trees.at[tree];
    for (uint32_t r = 0; r < t->nroots; r++)
        j->ngangs += t->roots[r].copies;
    j->gangs = j->ngangs == 1 ? NULL : mem_alloc(j->ngangs * sizeof *j->gangs);
    j->gangs_left = j->ngangs;
    uint32_t *next = j->gangs ? j->gangs : &j->one_gang;
    for (uint32_t r = 0; r < t->nroots; r++)
        for (uint32_t c = 0; c < t->roots[r].copies; c++)
            *next++ = gang_create(s, id, r, c);
    s->n_jobs++;
    return id;
}

void job_destroy(struct sched *s, uint32_t job)
{
    struct job *j = &s->jobs.at[job];
    for (uint32_t i = 0; i < j->ngangs; i++)
        gang_destroy(s, j->gangs ? j->gangs[i] : j->one_gang);
    if (s->early.n)
        early_forget(s, job);
    strmap_del(&s->job_ids, job_name(j));
    if (j->request)
        strmap_del(&s->request_ids, (struct str){j->request, j->request_len});
    tree_unref(s, j->tree);
    free(j->request);
    free(j->gangs);
    j->request = NULL; /* the rest is written anew by the next job here */
    j->gangs = NULL;
    j->live = false;
    vec_push(&s->jobs_free, job);
    s->n_jobs--;
}

uint32_t gang_create(struct sched *s, uint32_t job, uint32_t root, uint32_t copy)
{
    uint32_t id = slab_take(s->gangs_free.at, &s->gangs_free.n);
    if (id == NONE) {
        id = s->gangs.n;
        vec_push(&s->gangs, (struct gang){0});
    }
    struct gang *g = &s->gangs.at[id];
    uint32_t tree = s->jobs.at[job].tree;
    *g = (struct gang){.job = job, .root = root, .copy = copy, .tree = tree, .live = true,
                       .lane = NONE, .attention_next = NONE, .tried_epoch = UINT64_MAX};
    g->nslots = s->trees.at[tree].roots[root].slots;
    if (g->nslots > 1)
        g->slots = mem_zero(g->nslots * sizeof *g->slots);
    struct slot *slots = g->nslots > 1 ? g->slots : &g->one;
    for (uint32_t i = 0; i < g->nslots; i++)
        slots[i] = (struct slot){.claim = NONE, .shape = NONE, .rank = i};
    return id;
}

void gang_destroy(struct sched *s, uint32_t gang)
{
    owed_remove(s, gang);
    struct gang *g = &s->gangs.at[gang];
    for (uint32_t i = 0; i < g->nslots; i++) {
        struct slot *sl = gang_slot(s, gang, i);
        assert(sl->claim == NONE);
        if (sl->task)
            slot_set_task(s, gang, i, (struct str){0});
        if (sl->shape != NONE)
            shape_unref(s, sl->shape);
    }
    free(g->slots);
    g->slots = NULL; /* the rest is written anew by the next gang here */
    g->lane = NONE;
    g->live = false;
    if (!g->attention) /* else decide's pass unlinks it first */
        vec_push(&s->gangs_free, gang);
}

void slot_set_task(struct sched *s, uint32_t gang, uint32_t slot, struct str task)
{
    struct slot *sl = gang_slot(s, gang, slot);
    struct str old = {sl->task, sl->task_len};
    if (str_eq(old, task))
        return;
    if (sl->task) {
        strmap_del(&s->slot_tasks, old);
        free(sl->task);
    }
    if (sl->shape != NONE) { /* its own shape goes with the task */
        shape_unref(s, sl->shape);
        sl->shape = NONE;
    }
    sl->task = task.len ? mem_strndup(task.ptr, task.len) : NULL;
    sl->task_len = (uint32_t)task.len;
    if (sl->task)
        strmap_put(&s->slot_tasks, (struct str){sl->task, sl->task_len}, gang);
}
