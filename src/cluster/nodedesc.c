/* nodedesc.c - is a node's description sound, and which device sets do rings allow
 *
 * Checks form and bounds only; whether a description makes sense beside others is the
 * cluster's matter. Bounds are far above any real machine and far below what could
 * overflow a sum over all nodes: 2^40 milli-CPUs and 2^53 bytes a node, 65,536 nodes
 * and more fit. SPDX-License-Identifier: Apache-2.0 */
#include "cluster/nodedesc.h"

#include <errno.h>

#define NODE_NAME_MAX 253u /* a Kubernetes node name; Slurm's are shorter */
#define NODE_CPU_MAX (INT64_C(1) << 40)
#define NODE_MEM_MAX (INT64_C(1) << 53)
#define NODE_SLOTS_MAX (1u << 24)
#define NODE_TYPES_MAX 7u

static int type_check(const struct device_type *t, struct str node, struct err *err)
{
    uint8_t all = DEVICE_WHOLE | DEVICE_SHARE | DEVICE_MIG;
    if (!t || !t->name)
        return err_set(err, EINVAL, "node " STR_FMT ": a device without a type",
                       STR_ARG(node));
    if (!t->modes || (t->modes & ~all))
        return err_set(err, EINVAL, "node " STR_FMT ": device type with modes %u",
                       STR_ARG(node), t->modes);
    if (t->mem_bytes < 0 || t->mem_bytes > NODE_MEM_MAX)
        return err_set(err, ERANGE, "node " STR_FMT ": device type with %lld bytes",
                       STR_ARG(node), (long long)t->mem_bytes);
    if (t->mem_slices > SLICES_MAX || t->compute_slices > SLICES_MAX ||
        t->nprofiles > PROFILES_MAX)
        return err_set(err, ERANGE,
                       "node " STR_FMT ": %u slices and %u profiles of a device",
                       STR_ARG(node), t->mem_slices, t->nprofiles);
    if ((t->nprofiles || (t->modes & DEVICE_MIG)) &&
        !(t->mem_slices && t->compute_slices))
        return err_set(err, EINVAL,
                       "node " STR_FMT ": a device to be cut has no slices",
                       STR_ARG(node));
    for (uint32_t i = 0; i < t->nprofiles; i++) {
        const struct profile *p = &t->profiles[i];
        if (!p->name || !p->slices || p->slices > t->mem_slices || !p->compute ||
            p->compute > t->compute_slices || !p->starts || p->mem_bytes < 0 ||
            p->mem_bytes > NODE_MEM_MAX || p->milli > 1000 ||
            (uint32_t)p->starts >> (t->mem_slices - p->slices + 1))
            return err_set(err, EINVAL,
                           "node " STR_FMT
                           ": profile %u of a device type does not fit it",
                           STR_ARG(node), i);
    }
    return 0;
}

static int device_check(const struct node_desc *d, uint32_t i, struct err *err)
{
    const struct device_desc *v = &d->devices[i];
    int rc = type_check(v->type, d->name, err);
    if (rc)
        return rc;
    if (v->mem_bytes < 0 || v->mem_bytes > NODE_MEM_MAX || v->reserved_bytes < 0 ||
        (v->mem_bytes && v->reserved_bytes > v->mem_bytes))
        return err_set(err, ERANGE,
                       "node " STR_FMT ": device %u has %lld bytes, %lld reserved",
                       STR_ARG(d->name), i, (long long)v->mem_bytes,
                       (long long)v->reserved_bytes);
    if (!v->modes || (v->modes & ~v->type->modes))
        return err_set(err, EINVAL,
                       "node " STR_FMT ": device %u has modes %u, its type allows %u",
                       STR_ARG(d->name), i, v->modes, v->type->modes);
    if (v->state > DEVICE_GONE)
        return err_set(err, EINVAL, "node " STR_FMT ": device %u in state %u",
                       STR_ARG(d->name), i, v->state);
    if (v->uuid.len > WORD_LEN_MAX)
        return err_set(err, ERANGE, "node " STR_FMT ": uuid of device %u has %zu bytes",
                       STR_ARG(d->name), i, v->uuid.len);
    return 0;
}

static int devices_check(const struct node_desc *d, struct err *err)
{
    word_t seen[NODE_TYPES_MAX];
    uint32_t nseen = 0;
    for (uint32_t i = 0; i < d->ndevices; i++) {
        int rc = device_check(d, i, err);
        if (rc)
            return rc;
        uint32_t j = 0;
        while (j < nseen && seen[j] != d->devices[i].type->name)
            j++;
        if (j < nseen)
            continue;
        if (nseen == NODE_TYPES_MAX)
            return err_set(err, ERANGE, "node " STR_FMT ": more than %u GPU types",
                           STR_ARG(d->name), NODE_TYPES_MAX);
        seen[nseen++] = d->devices[i].type->name;
    }
    uint64_t all = d->ndevices >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << d->ndevices) - 1;
    for (uint32_t i = 0; i < d->nlegal; i++)
        if (d->legal[i] & ~all)
            return err_set(err, EINVAL,
                           "node " STR_FMT ": legal set %u names devices beyond its %u",
                           STR_ARG(d->name), i, d->ndevices);
    return 0;
}

/* Keys stand once. */
static int parts_check(struct str node, const char *what, const struct node_part *p,
                       uint32_t n, struct err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!p[i].key || !p[i].value)
            return err_set(err, EINVAL, "node " STR_FMT ": %s %u without key or value",
                           STR_ARG(node), what, i);
        for (uint32_t j = 0; j < i; j++)
            if (p[j].key == p[i].key)
                return err_set(err, EINVAL,
                               "node " STR_FMT ": %s %u and %u have one key",
                               STR_ARG(node), what, j, i);
    }
    return 0;
}

static int words_check(struct str node, const char *what, const word_t *w, uint32_t n,
                       struct err *err)
{
    for (uint32_t i = 0; i < n; i++)
        if (!w[i] || w[i] > WORD_MAX)
            return err_set(err, EINVAL, "node " STR_FMT ": %s %u is no word",
                           STR_ARG(node), what, i);
    return 0;
}

static int sizes_check(const struct node_desc *d, struct err *err)
{
    const struct {
        const char *what;
        uint32_t n, max;
    } rows[] = {
        {"devices", d->ndevices, NODE_DEVICES_MAX},
        {"legal sets", d->nlegal, NODE_LEGAL_MAX},
        {"tags", d->ntags, NODE_TAGS_MAX},
        {"taints", d->ntaints, NODE_TAINTS_MAX},
        {"partitions", d->nparts, NODE_PARTS_MAX},
        {"faults", d->nfaults, NODE_FAULTS_MAX},
        {"levels", d->nplace, NODE_LEVELS_MAX},
        {"pod slots", d->pod_slots, NODE_SLOTS_MAX},
        {"network cards", d->nics, NODE_SLOTS_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].n > rows[i].max)
            return err_set(err, ERANGE, "node " STR_FMT ": %u %s, at most %u",
                           STR_ARG(d->name), rows[i].n, rows[i].what, rows[i].max);
    return 0;
}

int node_desc_check(const struct node_desc *d, struct err *err)
{
    if (!d->name.len || d->name.len > NODE_NAME_MAX || d->uid.len > NODE_NAME_MAX)
        return err_set(err, d->name.len ? ERANGE : EINVAL,
                       "node name of %zu bytes, uid of %zu (1 to %u)", d->name.len,
                       d->uid.len, NODE_NAME_MAX);
    int rc = sizes_check(d, err);
    if (rc)
        return rc;
    if (d->cpu_milli < 0 || d->cpu_milli > NODE_CPU_MAX)
        return err_set(err, ERANGE, "node " STR_FMT ": %lld milli-CPUs",
                       STR_ARG(d->name), (long long)d->cpu_milli);
    if (d->mem_bytes < 0 || d->mem_bytes > NODE_MEM_MAX)
        return err_set(err, ERANGE, "node " STR_FMT ": %lld bytes of memory",
                       STR_ARG(d->name), (long long)d->mem_bytes);
    if (d->state > NODE_UNKNOWN)
        return err_set(err, EINVAL, "node " STR_FMT ": state %u", STR_ARG(d->name),
                       d->state);
    if ((rc = devices_check(d, err)) ||
        (rc = words_check(d->name, "tag", d->tags, d->ntags, err)) ||
        (rc = words_check(d->name, "taint", d->taints, d->ntaints, err)) ||
        (rc = parts_check(d->name, "partition", d->parts, d->nparts, err)) ||
        (rc = parts_check(d->name, "fault domain", d->faults, d->nfaults, err)))
        return rc;
    return parts_check(d->name, "place", d->place, d->nplace, err);
}

static int legal_add(uint64_t mask, uint64_t *legal, uint32_t *n, uint32_t max)
{
    for (uint32_t i = 0; i < *n; i++)
        if (legal[i] == mask)
            return 0;
    if (*n == max)
        return -ERANGE;
    legal[(*n)++] = mask;
    return 0;
}

int rings_legal(const uint64_t *rings, uint32_t nrings, uint64_t *legal, uint32_t max)
{
    uint32_t n = 0;
    if (nrings > 16 || legal_add(0, legal, &n, max))
        return -ERANGE;
    for (uint32_t r = 0; r < nrings; r++) /* all subsets of one ring, largest first */
        for (uint64_t m = rings[r]; m; m = (m - 1) & rings[r])
            if (legal_add(m, legal, &n, max))
                return -ERANGE;
    for (uint32_t set = 1; set < 1u << nrings; set++) {
        uint64_t m = 0;
        for (uint32_t r = 0; r < nrings; r++)
            m |= set >> r & 1 ? rings[r] : 0;
        if (m && legal_add(m, legal, &n, max))
            return -ERANGE;
    }
    for (uint32_t i = 1; i < n; i++) /* few: insertion sort */
        for (uint32_t j = i; j && legal[j - 1] > legal[j]; j--) {
            uint64_t t = legal[j];
            legal[j] = legal[j - 1];
            legal[j - 1] = t;
        }
    return (int)n;
}
