/* convert.c - a trace's row as the job spec that the scheduler sees
 *
 * Specs are made in the batch's arena, gone with the batch; their trees of groups are kept,
 * since thousands of rows ask for the same, and so are words: a trace keeps equal texts once, so the
 * address tells. SPDX-License-Identifier: Apache-2.0 */
#include "world/twin/convert.h"

#include <errno.h>
#include <math.h>

enum { RESTARTS = 1000, TREES_MAX = 4096 };

void convert_init(struct convert *c, struct words *words, uint32_t gpus_per_node, bool oracle,
                  const struct belief *belief, uint64_t seed)
{
    *c = (struct convert){
        .words = words, .gpus_per_node = gpus_per_node, .oracle = oracle, .belief = belief};
    rng_init(&c->error, seed, 0x6572726f72); /* a stream of its own: "error" */
}

static word_t word_of(struct convert *c, struct str text)
{
    uint64_t h = (uint64_t)(uintptr_t)text.ptr * 0x9E3779B97F4A7C15ull;
    struct convert_word *known = &c->words_known[h >> (64 - CONVERT_WORD_BITS)];
    if (text.len == 0)
        return WORD_NONE;
    if (text.ptr != known->text.ptr || text.len != known->text.len) {
        known->id = words_add(c->words, text);
        known->text = text;
    }
    return known->id;
}

static void leaf_add(struct convert_split *s, uint32_t tasks, uint32_t gpus,
                     const struct trace_part *part)
{
    if (!tasks)
        return;
    s->leaf[s->nleaves++] = (struct convert_leaf){tasks, gpus, part};
    s->tasks += tasks;
}

/* n tasks that share so many GPUs as evenly as they can, the larger ones first. */
static void leaves_even(struct convert_split *s, uint32_t n, uint32_t gpus,
                        const struct trace_part *part)
{
    uint32_t each = gpus / n, rest = gpus % n;
    leaf_add(s, rest, each + 1, part);
    leaf_add(s, n - rest, each, part);
}

void convert_split(const struct trace_job *j, uint32_t gpus_per_node,
                   struct convert_split *ret)
{
    ret->tasks = ret->nleaves = 0;
    if (j->nparts) {
        for (uint32_t i = 0; i < j->nparts && i < TRACE_PARTS_MAX; i++)
            leaves_even(ret, j->parts[i].nodes ? j->parts[i].nodes : 1, j->parts[i].gpus,
                        &j->parts[i]);
    } else if (j->nodes) {
        leaves_even(ret, j->nodes, j->gpus, NULL);
    } else if (j->gpu_milli > 0 && j->gpu_milli < 1000) {
        leaf_add(ret, j->gpus, 1, NULL);
    } else if (j->gpus <= gpus_per_node) {
        leaf_add(ret, 1, j->gpus, NULL);
    } else {
        leaf_add(ret, j->gpus / gpus_per_node, gpus_per_node, NULL);
        leaf_add(ret, j->gpus % gpus_per_node != 0, j->gpus % gpus_per_node, NULL);
    }
    if (!ret->tasks)
        leaf_add(ret, 1, 0, NULL);
}

int convert_check(const struct trace_job *j, uint32_t gpus_per_node, struct err *err)
{
    struct convert_split s;
    uint64_t parts = 0;
    for (uint32_t i = 0; i < j->nparts && i < TRACE_PARTS_MAX; i++)
        parts += j->parts[i].nodes;
    if (j->nodes > JOB_SLOTS_MAX || parts > JOB_SLOTS_MAX)
        return err_set(err, ERANGE, "row %llu asks for more than %d nodes",
                       (unsigned long long)j->row + 1, JOB_SLOTS_MAX);
    convert_split(j, gpus_per_node, &s);
    if (s.tasks > JOB_SLOTS_MAX)
        return err_set(err, ERANGE, "row %llu asks for %u GPUs, more than %d tasks can hold",
                       (unsigned long long)j->row + 1, j->gpus, JOB_SLOTS_MAX);
    for (uint32_t i = 0; i < s.nleaves; i++)
        if (s.leaf[i].gpus > NODE_DEVICES_MAX)
            return err_set(err, ERANGE, "row %llu asks for more than %d GPUs on one node",
                           (unsigned long long)j->row + 1, NODE_DEVICES_MAX);
    return 0;
}

static void shape_types(struct convert *c, const struct str *types, uint32_t n,
                        struct shape *s)
{
    for (uint32_t i = 0; i < n && i < SHAPE_TYPES_MAX; i++) {
        word_t id = word_of(c, types[i]);
        if (!id)
            continue;
        uint32_t ppm = c->belief->type.n ? factors_get(&c->belief->type, types[i]) : PPM;
        s->types[s->ntypes].type = id;
        s->types[s->ntypes++].speed_milli = ppm / 1000 ? ppm / 1000 : 1;
    }
}

static void shape_fill(struct convert *c, const struct trace_job *j,
                       const struct convert_leaf *leaf, struct shape *s)
{
    const struct trace_part *part = leaf->part;
    uint32_t milli = part ? part->gpu_milli : j->gpu_milli;
    s->cpu_milli = part ? part->cpu_milli : j->cpu_milli;
    s->mem_bytes = part ? part->mem_bytes : j->mem_bytes;
    s->pod_slots = 1;
    if (leaf->gpus) {
        bool share = milli > 0 && milli < 1000;
        s->gpu_mode = share ? GPU_SHARE : GPU_WHOLE;
        s->gpu_count = leaf->gpus;
        s->gpu_milli = share ? milli : 1000;
        s->gpu_mem_bytes = share ? j->gpu_mem_bytes : 0;
        if (part)
            shape_types(c, part->types, part->ntypes, s);
        else
            shape_types(c, j->types, j->ntypes, s);
    }
    word_t tag = word_of(c, j->need_tag);
    if (tag) {
        s->nconstraints = 1;
        s->constraints[0] = (struct constraint){
            .kind = CONSTRAINT_NEED, .hard = 1, .tag = tag};
    }
}

static struct group_spec leaf(uint16_t parent, uint16_t shape, uint32_t count)
{
    return (struct group_spec){
        .parent = parent,
        .shape = shape,
        .depth = parent == GROUP_NONE ? 0 : 1,
        .count = {count, count, count, 1},
    };
}

/* Strings of a trace live as long as it does and equal ones are one, so pointers tell. */
static bool same_tree(const struct trace_job *a, const struct trace_job *b)
{
    return a->gpus == b->gpus && a->nodes == b->nodes && a->gpu_milli == b->gpu_milli &&
           a->cpu_milli == b->cpu_milli && a->mem_bytes == b->mem_bytes &&
           a->gpu_mem_bytes == b->gpu_mem_bytes && a->ntypes == b->ntypes &&
           a->types == b->types && a->nparts == b->nparts && a->parts == b->parts &&
           a->need_tag.ptr == b->need_tag.ptr && a->need_level.ptr == b->need_level.ptr;
}

static uint64_t tree_key(const struct trace_job *j)
{
    uint64_t h = (uint64_t)j->gpus << 32 | j->gpu_milli;
    h = h * 0x9E3779B97F4A7C15ull + (uint64_t)j->cpu_milli;
    h = h * 0x9E3779B97F4A7C15ull + (uint64_t)j->mem_bytes + j->nodes;
    h = h * 0x9E3779B97F4A7C15ull + (uintptr_t)j->types + (uint64_t)j->gpu_mem_bytes;
    h = h * 0x9E3779B97F4A7C15ull + (uintptr_t)j->need_tag.ptr;
    h = h * 0x9E3779B97F4A7C15ull + (uintptr_t)j->need_level.ptr + (uintptr_t)j->parts;
    return h >> 1; /* UINT64_MAX is no key */
}

static void tree_fill(struct convert *c, const struct trace_job *j, struct convert_tree *t,
                      struct arena *a)
{
    struct convert_split split;
    convert_split(j, c->gpus_per_node, &split);
    bool gang = split.tasks > 1;
    struct group_spec *groups = arena_zero(a, (split.nleaves + gang) * sizeof *groups);
    struct shape *shapes = arena_zero(a, split.nleaves * sizeof *shapes);
    t->ngroups = 0;
    if (gang)
        groups[t->ngroups++] = (struct group_spec){
            .parent = GROUP_NONE, .shape = GROUP_NONE, .whole = 1, .count = {1, 1, 1, 1}};
    for (uint32_t i = 0; i < split.nleaves; i++) {
        shape_fill(c, j, &split.leaf[i], &shapes[i]);
        groups[t->ngroups++] = leaf(gang ? 0 : GROUP_NONE, (uint16_t)i, split.leaf[i].tasks);
    }
    groups[0].required = word_of(c, j->need_level);
    t->nshapes = split.nleaves;
    t->groups = groups;
    t->shapes = shapes;
}

/* The kept one; beyond TREES_MAX, or when two keys clash, it is made in the batch. */
static const struct convert_tree *tree_of(struct convert *c, const struct trace_job *j,
                                          struct arena *a)
{
    uint64_t key = tree_key(j);
    uint32_t id = u64map_get(&c->tree_ids, key);
    if (id != MAP_NONE && same_tree(&c->trees.at[id].asks, j))
        return &c->trees.at[id];
    if (id == MAP_NONE && c->trees.n < TREES_MAX) {
        struct convert_tree t = {.asks = *j};
        tree_fill(c, j, &t, &c->kept);
        u64map_put(&c->tree_ids, key, c->trees.n);
        vec_push(&c->trees, t);
        return &c->trees.at[c->trees.n - 1];
    }
    struct convert_tree *t = arena_zero(a, sizeof *t);
    tree_fill(c, j, t, a);
    return t;
}

void convert_done(struct convert *c)
{
    vec_done(&c->trees);
    u64map_done(&c->tree_ids);
    arena_done(&c->kept);
}

/* What the scheduler is told of the run time. The error is log-normal with median 1: users
 * and models are wrong by factors, not by amounts. */
static int64_t expected_of(struct convert *c, const struct trace_job *j, uint8_t *oracle)
{
    bool exact = c->oracle;
    *oracle = 0;
    if (!exact && c->belief->expected == EXPECTED_LIMIT)
        return j->limit_us;
    if ((!exact && c->belief->expected == EXPECTED_NONE) || j->run_us == TRACE_NEVER)
        return 0;
    *oracle = 1;
    int64_t us = j->run_us > 0 ? j->run_us : 1;
    if (!exact && c->belief->error_ppm) {
        double sigma = (double)c->belief->error_ppm / PPM;
        double told = (double)us * exp(sigma * rng_normal(&c->error));
        us = told < 1 ? 1 : told > 1e17 ? (int64_t)1e17 : (int64_t)told;
    }
    return us;
}

const struct job_spec *convert_job(struct convert *c, const struct trace_job *j,
                                   struct str name, int64_t submitted_at, struct arena *a)
{
    struct job_spec *spec = arena_zero(a, sizeof *spec);
    spec->name = name;
    spec->kind = JOB_FINITE;
    spec->on_loss = c->belief->on_loss;
    spec->preemptible = 1;
    spec->queue = word_of(c, j->queue);
    spec->user = word_of(c, j->user);
    spec->priority = j->priority;
    spec->submitted_at = submitted_at;
    spec->time_limit_us = j->limit_us;
    spec->expected_us = expected_of(c, j, &spec->oracle);
    spec->tries = RESTARTS; /* after losses: a replayed job comes to its recorded end */
    if (belief_checkpoints(c->belief, j->gpus, j->name)) {
        spec->checkpoint = CHECKPOINT_SELF;
        spec->ckpt_interval_us = c->belief->ckpt_interval_us;
        spec->ckpt_save_us = c->belief->ckpt_save_us;
        spec->ckpt_restore_us = c->belief->ckpt_restore_us;
    }
    const struct convert_tree *tree = tree_of(c, j, a);
    spec->ngroups = tree->ngroups;
    spec->nshapes = tree->nshapes;
    spec->groups = tree->groups;
    spec->shapes = tree->shapes;
    return spec;
}
