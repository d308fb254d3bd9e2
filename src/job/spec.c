/* spec.c - is a job's tree of groups sound, and how many gangs and slots does it make
 * A group's count says how many of it each copy of its parent holds, so sizes multiply
 * on the way down. All walks are O(groups x depth); a tree has at most 64 groups.
 * SPDX-License-Identifier: Apache-2.0 */
#include "job/spec.h"

#include <errno.h>
#include <inttypes.h>

#define SPEC_TIME_MAX (INT64_MAX / 4) /* sums of two still fit */
#define SPEC_TRIES_MAX 1000000u
#define SPEC_BLOB_MAX 128u

int name_check(struct str s, size_t max, struct err *err)
{
    if (s.len < 1 || s.len > max)
        return err_set(err, ERANGE, "%zu bytes long, not 1 to %zu", s.len, max);
    const unsigned char *p = (const unsigned char *)s.ptr;
    for (size_t i = 0; i < s.len;) {
        size_t len = str_utf8_step((struct str){s.ptr + i, s.len - i});
        if (!len)
            return err_set(err, EINVAL, "byte %zu is not UTF-8", i);
        /* C0, DEL, and C1 as U+0080 to U+009F: they could move a terminal's cursor. */
        if (p[i] < 0x20 || p[i] == 0x7f || (p[i] == 0xc2 && p[i + 1] < 0xa0))
            return err_set(err, EINVAL, "byte %zu is a control character", i);
        i += len;
    }
    return 0;
}

static int group_err(struct err *err, int code, uint32_t g, const char *what)
{
    return err_set(err, code, "group %u: %s", g, what);
}

static int count_check(const struct count *c, uint32_t g, struct err *err)
{
    if (c->max < 1 || c->max > JOB_SLOTS_MAX)
        return err_set(err, ERANGE, "group %u: max %u is outside 1 to %d", g, c->max,
                       JOB_SLOTS_MAX);
    if (c->min > c->want || c->want > c->max)
        return err_set(err, EINVAL,
                       "group %u: min %u, want %u, max %u are out of order", g, c->min,
                       c->want, c->max);
    uint32_t step = c->step ? c->step : 1;
    if ((c->want - c->min) % step || (c->max - c->min) % step)
        return err_set(err, EINVAL,
                       "group %u: want %u and max %u are not min %u plus steps of %u",
                       g, c->want, c->max, c->min, step);
    return 0;
}

static int place_check(const struct group_spec *gs, uint32_t g, struct err *err)
{
    if (gs->role > WORD_MAX || gs->required > WORD_MAX || gs->preferred > WORD_MAX ||
        gs->segment_level > WORD_MAX || gs->spread_kind > WORD_MAX)
        return group_err(err, EINVAL, g, "a role, level or spread kind is no word");
    if (!gs->segment_size != !gs->segment_level)
        return group_err(err, EINVAL, g, "segment size and level go together");
    if (gs->segment_size > JOB_SLOTS_MAX)
        return group_err(err, ERANGE, g, "segment size is above 65536");
    if (!gs->spread_kind != !gs->spread_most)
        return group_err(err, EINVAL, g, "spread kind and spread most go together");
    if (gs->balanced > 1)
        return group_err(err, EINVAL, g, "balanced is neither 0 nor 1");
    return 0;
}

/* start_after names a sibling, and following it never comes back (else nobody starts).
 */
static int start_check(const struct job_spec *spec, uint32_t g, struct err *err)
{
    const struct group_spec *gs = &spec->groups[g];
    if (gs->start > START_AFTER_READY)
        return group_err(err, EINVAL, g, "start_after is unknown");
    if (gs->start == START_AT_ONCE)
        return 0;
    uint32_t at = g;
    for (uint32_t steps = 0; spec->groups[at].start != START_AT_ONCE; steps++) {
        uint32_t next = spec->groups[at].start_group;
        if (next >= spec->ngroups || next == at ||
            spec->groups[next].parent != spec->groups[at].parent)
            return group_err(err, EINVAL, g, "start_after does not name a sibling");
        if (steps >= spec->ngroups)
            return group_err(err, EINVAL, g, "start_after runs in a circle");
        at = next;
    }
    return 0;
}

/* Where group g hangs: parent before child, depth, leaf or inner. */
static int link_check(const struct job_spec *spec, uint32_t g, struct err *err)
{
    const struct group_spec *gs = &spec->groups[g];
    if (g == 0) {
        if (gs->parent != GROUP_NONE || gs->depth)
            return group_err(err, EINVAL, g, "the root has a parent or a depth");
    } else {
        if (gs->parent >= g)
            return group_err(err, EINVAL, g, "its parent does not stand before it");
        if (gs->depth != spec->groups[gs->parent].depth + 1)
            return group_err(err, EINVAL, g, "its depth is not its parent's plus one");
        if (gs->depth > JOB_DEPTH_MAX)
            return group_err(err, ERANGE, g, "it lies deeper than 4");
        if (spec->groups[gs->parent].shape != GROUP_NONE)
            return group_err(err, EINVAL, g, "its parent has a shape, so it is a leaf");
    }
    if (gs->whole > 1)
        return group_err(err, EINVAL, g, "whole is neither 0 nor 1");
    if (gs->shape == GROUP_NONE)
        return 0;
    if (gs->shape >= spec->nshapes)
        return group_err(err, EINVAL, g, "its shape is not in the job");
    if (gs->whole)
        return group_err(err, EINVAL, g, "whole stands on a leaf");
    return 0;
}

/* Product of the counts from group g up to, but without, group `top` (GROUP_NONE: up to
 * and with the root). Saturates above JOB_SLOTS_MAX. which: 0 want, 1 min, 2 max. */
static uint64_t product(const struct job_spec *spec, uint16_t g, uint16_t top,
                        int which)
{
    uint64_t n = 1;
    for (; g != top && g != GROUP_NONE; g = spec->groups[g].parent) {
        const struct count *c = &spec->groups[g].count;
        n *= which == 1 ? c->min : which == 2 ? c->max : c->want;
        if (n > JOB_SLOTS_MAX)
            n = (uint64_t)JOB_SLOTS_MAX + 1;
    }
    return n;
}

static bool is_below(const struct job_spec *spec, uint16_t g, uint16_t top)
{
    while (g != GROUP_NONE && g != top)
        g = spec->groups[g].parent;
    return g == top;
}

static int tree_check(const struct job_spec *spec, struct err *err)
{
    bool has_child[JOB_GROUPS_MAX] = {false};
    uint64_t slots = 0;
    int rc = 0;
    for (uint32_t g = 0; g < spec->ngroups && !rc; g++) {
        const struct group_spec *gs = &spec->groups[g];
        rc = link_check(spec, g, err);
        if (!rc)
            rc = count_check(&gs->count, g, err);
        if (!rc)
            rc = place_check(gs, g, err);
        if (!rc && g)
            has_child[gs->parent] = true;
    }
    for (uint32_t g = 0; g < spec->ngroups && !rc; g++) {
        rc = start_check(spec, g, err);
        if (rc)
            break;
        if (spec->groups[g].shape != GROUP_NONE)
            slots += product(spec, (uint16_t)g, GROUP_NONE, 2);
        else if (!has_child[g])
            rc = group_err(err, EINVAL, g, "it has neither a shape nor children");
        else if (spec->groups[g].whole && job_spec_slots(spec, (uint16_t)g, 1) == 0)
            rc = group_err(err, EINVAL, g, "a gang's minimum is no slot at all");
    }
    if (!rc && slots > JOB_SLOTS_MAX)
        rc = err_set(err, ERANGE, "more than %d tasks in one job", JOB_SLOTS_MAX);
    return rc;
}

static int numbers_check(const struct job_spec *spec, struct err *err)
{
    const struct {
        const char *name;
        int64_t value;
    } times[] = {
        {"backoff", spec->backoff_us},
        {"submitted_at", spec->submitted_at},
        {"time limit", spec->time_limit_us},
        {"expected time", spec->expected_us},
        {"checkpoint interval", spec->ckpt_interval_us},
        {"checkpoint save time", spec->ckpt_save_us},
        {"checkpoint restore time", spec->ckpt_restore_us},
        {"protect time", spec->protect_us},
        {"value", spec->value_milli_h},
        {"deadline", spec->deadline_at},
        {"bearable freeze", spec->freeze_us},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i].value < 0 || times[i].value > SPEC_TIME_MAX)
            return err_set(err, ERANGE, "%s %" PRId64 " is outside 0 to %" PRId64,
                           times[i].name, times[i].value, SPEC_TIME_MAX);
    if (spec->tries > SPEC_TRIES_MAX)
        return err_set(err, ERANGE, "tries %u are above %u", spec->tries,
                       SPEC_TRIES_MAX);
    if (spec->max_unavailable > JOB_SLOTS_MAX)
        return err_set(err, ERANGE, "max_unavailable %u is above %d",
                       spec->max_unavailable, JOB_SLOTS_MAX);
    if (spec->queue > WORD_MAX || spec->user > WORD_MAX)
        return err_set(err, EINVAL, "queue or user is no word");
    return 0;
}

static int enums_check(const struct job_spec *spec, struct err *err)
{
    const struct {
        const char *name;
        uint8_t value, most;
    } enums[] = {
        {"kind", spec->kind, JOB_SERVICE},
        {"qos", spec->qos, QOS_LATENCY},
        {"success rule", spec->success, SUCCESS_LEADER},
        {"loss rule", spec->on_loss, LOSS_IGNORE},
        {"checkpoint kind", spec->checkpoint, CHECKPOINT_ASKED},
        {"preemptible", spec->preemptible, 1},
        {"oracle", spec->oracle, 1},
    };
    for (size_t i = 0; i < sizeof enums / sizeof *enums; i++)
        if (enums[i].value > enums[i].most)
            return err_set(err, EINVAL, "%s %u is unknown", enums[i].name,
                           enums[i].value);
    return 0;
}

int job_spec_check(const struct job_spec *spec, struct err *err)
{
    int rc = name_check(spec->name, JOB_NAME_MAX, err);
    if (rc) {
        err_prefix(err, "job name");
        return rc;
    }
    rc = spec->request.len ? name_check(spec->request, JOB_NAME_MAX, err) : 0;
    if (!rc && spec->blob.len)
        rc = name_check(spec->blob, SPEC_BLOB_MAX, err);
    if (rc) {
        err_prefix(err, "request or blob");
        return rc;
    }
    rc = enums_check(spec, err);
    if (!rc)
        rc = numbers_check(spec, err);
    if (!rc && (spec->ngroups < 1 || spec->ngroups > JOB_GROUPS_MAX))
        rc = err_set(err, ERANGE, "%u groups are outside 1 to %d", spec->ngroups,
                     JOB_GROUPS_MAX);
    if (!rc && (spec->nshapes < 1 || spec->nshapes > JOB_GROUPS_MAX))
        rc = err_set(err, ERANGE, "%u shapes are outside 1 to %d", spec->nshapes,
                     JOB_GROUPS_MAX);
    for (uint32_t i = 0; i < spec->nshapes && !rc; i++) {
        rc = shape_check(&spec->shapes[i], err);
        if (rc)
            err_prefix(err, "shape %u", i);
    }
    return rc ? rc : tree_check(spec, err);
}

uint16_t job_spec_whole_of(const struct job_spec *spec, uint16_t g)
{
    uint16_t found = GROUP_NONE;
    for (; g != GROUP_NONE; g = spec->groups[g].parent)
        if (spec->groups[g].whole)
            found = g;
    return found;
}

uint32_t job_spec_gangs(const struct job_spec *spec, uint16_t g)
{
    return (uint32_t)product(spec, g, GROUP_NONE, 0);
}

uint32_t job_spec_slots(const struct job_spec *spec, uint16_t g, int which)
{
    uint64_t n = 0;
    for (uint16_t i = g; i < spec->ngroups; i++)
        if (spec->groups[i].shape != GROUP_NONE && is_below(spec, i, g))
            n += product(spec, i, g, which);
    return (uint32_t)n;
}
