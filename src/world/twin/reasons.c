/* reasons.c - what the scheduler last said about each job, and whether it can ever start
 *
 * The last `say` of a job is kept until it is launched: the report tells why a job never
 * started, and the clock need not run on for jobs that nothing can help. For those a coarse
 * bound is enough: all nodes up and empty, counted one task at a time. It never calls a job
 * hopeless that fits; what it misses ends with the repairs (twin.c). Memory: 4 bytes a job,
 * and 24 more for each that waits. SPDX-License-Identifier: Apache-2.0 */
#include "world/twin/inside.h"

void reasons_said(struct twin *t, uint32_t job, const struct why *why)
{
    if (job_is_extra(t, job))
        return;
    if (!t->job_said) {
        t->job_said = mem_alloc((t->narrivals + 1u) * sizeof *t->job_said);
        memset(t->job_said, 0xff, (t->narrivals + 1u) * sizeof *t->job_said);
    }
    uint32_t *at = &t->job_said[job];
    if (*at == NONE && t->said_free.n) {
        *at = t->said_free.at[--t->said_free.n];
    } else if (*at == NONE) {
        *at = t->said.n;
        vec_push(&t->said, *why);
    }
    t->said.at[*at] = *why;
}

void reasons_forget(struct twin *t, uint32_t job)
{
    if (!t->job_said || job_is_extra(t, job) || t->job_said[job] == NONE)
        return;
    vec_push(&t->said_free, t->job_said[job]);
    t->job_said[job] = NONE;
}

struct why reasons_last(const struct twin *t, uint32_t job)
{
    if (!t->job_said || job_is_extra(t, job) || t->job_said[job] == NONE)
        return (struct why){.code = WHY_NONE};
    return t->said.at[t->job_said[job]];
}

static bool type_is_fine(const struct shape *s, const struct device_desc *d)
{
    bool fine = !s->ntypes;
    for (uint32_t i = 0; i < s->ntypes; i++)
        fine |= s->types[i].type == d->type->name;
    return fine;
}

/* Tasks of that shape that an empty node can hold, at the most. */
static uint64_t node_holds(const struct node_desc *d, const struct shape *s)
{
    uint64_t devices = 0;
    if (d->cpu_milli < s->cpu_milli || d->mem_bytes < s->mem_bytes)
        return 0;
    if (!s->gpu_count)
        return UINT32_MAX;
    for (uint32_t i = 0; i < d->ndevices; i++)
        devices += type_is_fine(s, &d->devices[i]);
    if (devices < s->gpu_count)
        return 0;
    return s->gpu_mode == GPU_WHOLE ? devices / s->gpu_count : UINT32_MAX;
}

static bool leaf_is_hopeless(const struct twin *t, const struct shape *s, uint32_t least)
{
    uint64_t room = 0;
    for (uint32_t i = 0; i < t->nodes.n && room < least; i++)
        if (t->nodes.at[i].up_state == NODE_UP)
            room += node_holds(&t->nodes.at[i].desc, s);
    return room < least;
}

static bool job_is_hopeless(struct twin *t, uint32_t job)
{
    struct arena a = {0};
    uint64_t asked = 0, devices = 0;
    bool hopeless = false;
    for (uint32_t i = 0; i < t->nodes.n; i++)
        devices += t->nodes.at[i].up_state == NODE_UP ? t->nodes.at[i].desc.ndevices : 0;
    const struct job_spec *spec = convert_job(&t->convert, job_row(t, job),
                                              job_name_of(t, job), t->now, &a);
    for (uint32_t g = 0; g < spec->ngroups && !hopeless; g++) {
        const struct group_spec *group = &spec->groups[g];
        if (group->shape == GROUP_NONE || !group->count.min)
            continue;
        const struct shape *s = &spec->shapes[group->shape];
        asked += s->gpu_mode == GPU_WHOLE ? (uint64_t)s->gpu_count * group->count.min : 0;
        hopeless = asked > devices || leaf_is_hopeless(t, s, group->count.min);
    }
    arena_done(&a);
    return hopeless;
}

/* A job behind the first of its queue waits for that one, which is asked here itself. */
bool reasons_all_hopeless(struct twin *t)
{
    bool any = false;
    for (uint32_t job = 0; job < t->next_arrival; job++) {
        if (t->job_gang[job] == JOB_OVER)
            continue;
        if (t->job_gang[job] != NONE)
            return false; /* it was launched before: it fits */
        uint16_t code = reasons_last(t, job).code;
        if (code == WHY_BEHIND)
            continue;
        if (code == WHY_NONE || !job_is_hopeless(t, job))
            return false;
        any = true;
    }
    return any && !t->extras.n;
}
