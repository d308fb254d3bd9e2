/* convert.c - a trace's row as the job spec that the scheduler sees
 *
 * Specs are made in the batch's arena: one allocation for spec, groups and shapes, about
 * 1 KiB, gone with the batch. Words are looked up only when a text differs from the row
 * before. SPDX-License-Identifier: Apache-2.0 */
#include "world/twin/convert.h"

#include <errno.h>
#include <math.h>

void convert_init(struct convert *c, struct words *words, uint32_t gpus_per_node, bool oracle,
                  const struct belief *belief, uint64_t seed)
{
    *c = (struct convert){
        .words = words, .gpus_per_node = gpus_per_node, .oracle = oracle, .belief = belief};
    rng_init(&c->error, seed, 0x6572726f72); /* a stream of its own: "error" */
}

static word_t word_of(struct convert *c, struct convert_word *last, struct str text)
{
    if (text.len == 0)
        return WORD_NONE;
    bool same = text.ptr == last->text.ptr && text.len == last->text.len;
    if (!same) {
        last->id = words_add(c->words, text);
        last->text = text;
    }
    return last->id;
}

struct convert_split convert_split(const struct trace_job *j, uint32_t gpus_per_node)
{
    if (j->nodes) {
        uint32_t each = j->gpus / j->nodes, rest = j->gpus % j->nodes;
        if (!rest)
            return (struct convert_split){j->nodes, each, 0, 0};
        return (struct convert_split){rest, each + 1, j->nodes - rest, each};
    }
    if (j->gpus <= gpus_per_node)
        return (struct convert_split){1, j->gpus, 0, 0};
    uint32_t rest = j->gpus % gpus_per_node;
    return (struct convert_split){j->gpus / gpus_per_node, gpus_per_node, rest != 0, rest};
}

int convert_check(const struct trace_job *j, uint32_t gpus_per_node, struct err *err)
{
    if (j->nodes > JOB_SLOTS_MAX)
        return err_set(err, ERANGE, "row %llu asks for %u nodes, more than %d",
                       (unsigned long long)j->row + 1, j->nodes, JOB_SLOTS_MAX);
    struct convert_split s = convert_split(j, gpus_per_node);
    if (convert_tasks(&s) > JOB_SLOTS_MAX)
        return err_set(err, ERANGE, "row %llu asks for %u GPUs, more than %d tasks can hold",
                       (unsigned long long)j->row + 1, j->gpus, JOB_SLOTS_MAX);
    if (s.gpus_each > NODE_DEVICES_MAX)
        return err_set(err, ERANGE, "row %llu asks for more than %d GPUs on one node",
                       (unsigned long long)j->row + 1, NODE_DEVICES_MAX);
    return 0;
}

static void shape_types(struct convert *c, const struct trace_job *j, struct shape *s)
{
    uint32_t n = j->ntypes < SHAPE_TYPES_MAX ? j->ntypes : SHAPE_TYPES_MAX;
    for (uint32_t i = 0; i < n; i++) {
        word_t id = word_of(c, &c->types[i], j->types[i]);
        if (!id)
            continue;
        uint32_t ppm = c->belief->type.n ? factors_get(&c->belief->type, j->types[i]) : PPM;
        s->types[s->ntypes].type = id;
        s->types[s->ntypes++].speed_milli = ppm / 1000 ? ppm / 1000 : 1;
    }
}

static void shape_fill(struct convert *c, const struct trace_job *j, uint32_t gpus,
                       struct shape *s)
{
    s->cpu_milli = j->cpu_milli;
    s->mem_bytes = j->mem_bytes;
    s->pod_slots = 1;
    if (gpus) {
        bool share = j->gpu_milli > 0 && j->gpu_milli < 1000;
        s->gpu_mode = share ? GPU_SHARE : GPU_WHOLE;
        s->gpu_count = gpus;
        s->gpu_milli = share ? j->gpu_milli : 1000;
        s->gpu_mem_bytes = share ? j->gpu_mem_bytes : 0;
        if (j->ntypes)
            shape_types(c, j, s);
    }
    word_t tag = word_of(c, &c->tag, j->need_tag);
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

static void tree_fill(struct convert *c, const struct trace_job *j, struct job_spec *spec,
                      struct group_spec *groups, struct shape *shapes)
{
    struct convert_split split = convert_split(j, c->gpus_per_node);
    uint32_t ntasks = convert_tasks(&split);
    spec->nshapes = split.more ? 2 : 1;
    shape_fill(c, j, split.gpus_each, &shapes[0]);
    if (split.more)
        shape_fill(c, j, split.gpus_more, &shapes[1]);
    if (ntasks == 1) {
        groups[0] = leaf(GROUP_NONE, 0, 1);
        spec->ngroups = 1;
    } else {
        groups[0] = (struct group_spec){
            .parent = GROUP_NONE, .shape = GROUP_NONE, .whole = 1, .count = {1, 1, 1, 1}};
        groups[1] = leaf(0, 0, split.tasks);
        spec->ngroups = 2;
        if (split.more)
            groups[spec->ngroups++] = leaf(0, 1, split.more);
    }
    groups[0].required = word_of(c, &c->level, j->need_level);
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
    struct convert_made {
        struct job_spec spec;
        struct group_spec groups[3];
        struct shape shapes[2];
    } *made = arena_zero(a, sizeof *made);
    struct job_spec *spec = &made->spec;
    spec->name = name;
    spec->kind = JOB_FINITE;
    spec->on_loss = c->belief->on_loss;
    spec->preemptible = 1;
    spec->queue = word_of(c, &c->queue, j->queue);
    spec->user = word_of(c, &c->user, j->user);
    spec->priority = j->priority;
    spec->submitted_at = submitted_at;
    spec->time_limit_us = j->limit_us;
    spec->expected_us = expected_of(c, j, &spec->oracle);
    spec->tries = j->state == TRACE_FAILED || j->state == TRACE_TIMEOUT ? 0 : 1000;
    if (c->belief->ckpt_interval_us && (int64_t)j->gpus >= c->belief->least_gpus) {
        spec->checkpoint = CHECKPOINT_SELF;
        spec->ckpt_interval_us = c->belief->ckpt_interval_us;
        spec->ckpt_save_us = c->belief->ckpt_save_us;
        spec->ckpt_restore_us = c->belief->ckpt_restore_us;
    }
    spec->groups = made->groups;
    spec->shapes = made->shapes;
    tree_fill(c, j, spec, made->groups, made->shapes);
    return spec;
}
