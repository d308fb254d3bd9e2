/* shape.c - is a shape possible at all
 * Bounds only: whether some node can hold it is the scheduler's question. The limits
 * lie far above real machines and far below where sums of 65,536 of them would
 * overflow. SPDX-License-Identifier: Apache-2.0 */
#include "job/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cluster/nodedesc.h"

#define CPU_MILLI_MAX INT64_C(1000000000) /* a million cores */
#define MEM_BYTES_MAX (INT64_C(1) << 46)  /* 64 TiB */
#define POD_SLOTS_MAX 65536u
#define NICS_MAX 1024u
#define SPEED_MILLI_MAX 1000000u
#define SKEW_MAX 65536u

static int word_list_check(const word_t *at, uint32_t n, uint32_t max, const char *what,
                           struct err *err)
{
    if (n > max)
        return err_set(err, ERANGE, "%s: %u of them, at most %u are allowed", what, n,
                       max);
    for (uint32_t i = 0; i < max; i++) {
        if (i >= n && at[i])
            return err_set(err, EINVAL, "%s: entry %u lies behind the %u in use", what,
                           i, n);
        if (i < n && (!at[i] || at[i] > WORD_MAX))
            return err_set(err, EINVAL, "%s: entry %u is no word (%u)", what, i, at[i]);
    }
    return 0;
}

static int gpu_check(const struct shape *s, struct err *err)
{
    if (s->gpu_mode > GPU_MIG)
        return err_set(err, EINVAL, "gpu mode %u is unknown", s->gpu_mode);
    if (s->gpu_mem_bytes < 0 || s->gpu_mem_bytes > MEM_BYTES_MAX)
        return err_set(err, ERANGE, "gpu memory %" PRId64 " is outside 0 to %" PRId64,
                       s->gpu_mem_bytes, MEM_BYTES_MAX);
    if (s->gpu_mode == GPU_NONE) {
        if (s->gpu_count || s->gpu_milli || s->gpu_mem_bytes || s->profile)
            return err_set(err, EINVAL, "gpu fields are set, but the mode is none");
        return 0;
    }
    if (s->gpu_count < 1 || s->gpu_count > NODE_DEVICES_MAX)
        return err_set(err, ERANGE, "gpu count %u is outside 1 to %d", s->gpu_count,
                       NODE_DEVICES_MAX);
    if (s->gpu_mode == GPU_WHOLE && s->gpu_milli != 1000)
        return err_set(err, EINVAL, "whole GPUs have gpu_milli 1000, not %u",
                       s->gpu_milli);
    if (s->gpu_mode == GPU_SHARE && (s->gpu_milli < 1 || s->gpu_milli > 999))
        return err_set(err, ERANGE, "a share's gpu_milli %u is outside 1 to 999",
                       s->gpu_milli);
    if (s->gpu_mode != GPU_MIG)
        return s->profile ? err_set(err, EINVAL, "profile without mode mig") : 0;
    if (!s->profile || s->profile > WORD_MAX)
        return err_set(err, EINVAL, "mode mig without a profile");
    if (s->gpu_count != 1)
        return err_set(err, ERANGE, "mode mig takes one device, not %u", s->gpu_count);
    if (s->gpu_milli > 1000)
        return err_set(err, ERANGE, "a profile's gpu_milli %u is above 1000",
                       s->gpu_milli);
    return 0;
}

static int types_check(const struct shape *s, struct err *err)
{
    if (s->ntypes > SHAPE_TYPES_MAX)
        return err_set(err, ERANGE, "gpu types: %u of them, at most %d are allowed",
                       s->ntypes, SHAPE_TYPES_MAX);
    for (uint32_t i = 0; i < SHAPE_TYPES_MAX; i++) {
        if (i >= s->ntypes) {
            if (s->types[i].type || s->types[i].speed_milli)
                return err_set(err, EINVAL, "gpu type %u lies behind the %u in use", i,
                               s->ntypes);
            continue;
        }
        if (!s->types[i].type || s->types[i].type > WORD_MAX)
            return err_set(err, EINVAL, "gpu type %u is no word", i);
        if (s->types[i].speed_milli > SPEED_MILLI_MAX)
            return err_set(err, ERANGE, "gpu type %u: speed %u is above %u", i,
                           s->types[i].speed_milli, SPEED_MILLI_MAX);
        for (uint32_t k = 0; k < i; k++)
            if (s->types[k].type == s->types[i].type)
                return err_set(err, EINVAL, "gpu type %u is named twice", i);
    }
    if (s->ntypes && s->gpu_mode == GPU_NONE)
        return err_set(err, EINVAL, "gpu types without a GPU");
    return 0;
}

static int constraint_check(const struct constraint *c, uint32_t i, struct err *err)
{
    if (c->kind < CONSTRAINT_NEED || c->kind > CONSTRAINT_SPREAD)
        return err_set(err, EINVAL, "constraint %u: kind %u is unknown", i, c->kind);
    if (!c->tag || c->tag > WORD_MAX || c->key > WORD_MAX)
        return err_set(err, EINVAL, "constraint %u: tag or key is no word", i);
    if (c->hard > 1)
        return err_set(err, EINVAL, "constraint %u: hard is %u, not 0 or 1", i,
                       c->hard);
    if (c->weight > SPEED_MILLI_MAX)
        return err_set(err, ERANGE, "constraint %u: weight %u is above %u", i,
                       c->weight, SPEED_MILLI_MAX);
    if (c->kind == CONSTRAINT_SPREAD && (c->max_skew < 1 || c->max_skew > SKEW_MAX))
        return err_set(err, ERANGE, "constraint %u: max skew %u is outside 1 to %u", i,
                       c->max_skew, SKEW_MAX);
    return 0;
}

void shape_choose(const struct shape *s, uint32_t i, struct shape *ret)
{
    const struct gpu_alt *a = i > 0 && i <= s->nalts ? &s->alts[i - 1] : NULL;
    *ret = *s;
    ret->nalts = 0;
    memset(ret->alts, 0, sizeof ret->alts);
    if (!a)
        return;
    ret->gpu_mode = a->mode;
    ret->gpu_count = a->count;
    ret->gpu_milli = a->milli;
    ret->gpu_mem_bytes = a->mem_bytes;
    ret->profile = a->profile;
}

static int alts_check(const struct shape *s, struct err *err)
{
    static const struct gpu_alt none;
    if (s->nalts >= SHAPE_ALTS_MAX)
        return err_set(err, ERANGE, "gpu alternatives: %u more, at most %d are allowed",
                       s->nalts, SHAPE_ALTS_MAX - 1);
    if (s->nalts && s->gpu_mode == GPU_NONE)
        return err_set(err, EINVAL, "gpu alternatives without a GPU");
    for (uint32_t i = 0; i < SHAPE_ALTS_MAX - 1; i++) {
        struct shape one;
        if (i >= s->nalts) {
            if (memcmp(&s->alts[i], &none, sizeof none) != 0)
                return err_set(err, EINVAL,
                               "gpu alternative %u lies behind the %u in use", i + 1,
                               s->nalts);
            continue;
        }
        if (s->alts[i].mode == GPU_NONE)
            return err_set(err, EINVAL, "gpu alternative %u asks for no GPU", i + 1);
        shape_choose(s, i + 1, &one);
        int rc = gpu_check(&one, err);
        if (rc) {
            err_prefix(err, "gpu alternative %u", i + 1);
            return rc;
        }
    }
    return 0;
}

int shape_check(const struct shape *s, struct err *err)
{
    if (s->cpu_milli < 0 || s->cpu_milli > CPU_MILLI_MAX)
        return err_set(err, ERANGE, "cpu %" PRId64 " milli is outside 0 to %" PRId64,
                       s->cpu_milli, CPU_MILLI_MAX);
    if (s->mem_bytes < 0 || s->mem_bytes > MEM_BYTES_MAX)
        return err_set(err, ERANGE, "memory %" PRId64 " is outside 0 to %" PRId64,
                       s->mem_bytes, MEM_BYTES_MAX);
    if (s->pod_slots > POD_SLOTS_MAX)
        return err_set(err, ERANGE, "pod slots %u are above %u", s->pod_slots,
                       POD_SLOTS_MAX);
    if (s->nics > NICS_MAX)
        return err_set(err, ERANGE, "nics %u are above %u", s->nics, NICS_MAX);
    int rc = gpu_check(s, err);
    if (!rc)
        rc = alts_check(s, err);
    if (!rc)
        rc = types_check(s, err);
    if (!rc)
        rc = word_list_check(s->tags, s->ntags, SHAPE_TAGS_MAX, "tags", err);
    if (!rc)
        rc = word_list_check(s->tolerate, s->ntolerate, SHAPE_TOLERATE_MAX,
                             "tolerations", err);
    if (rc)
        return rc;
    if (s->nconstraints > SHAPE_CONSTRAINTS_MAX)
        return err_set(err, ERANGE, "constraints: %u of them, at most %d are allowed",
                       s->nconstraints, SHAPE_CONSTRAINTS_MAX);
    for (uint32_t i = 0; i < s->nconstraints && !rc; i++)
        rc = constraint_check(&s->constraints[i], i, err);
    return rc;
}
