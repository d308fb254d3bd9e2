/* keep.c - the cluster's own copy of a node's description
 *
 * One block a node: a first walk counts the bytes, a second fills them, by the same
 * code. Device types are kept once in the cluster, under a dense id; the first
 * description that names a type says what it is (a profile must not change under the
 * claims that use it). SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "cluster/more.h"

struct pack {
    char *at; /* NULL: only count */
    size_t used;
};

static void *pack_copy(struct pack *p, const void *src, size_t size)
{
    void *to = p->at ? p->at + p->used : NULL;
    p->used += (size + 15) & ~(size_t)15;
    if (to && size && src)
        memcpy(to, src, size);
    return size ? to : NULL;
}

static struct str pack_str(struct pack *p, struct str s)
{
    char *to = pack_copy(p, s.ptr, s.len + 1);
    if (to)
        to[s.len] = 0;
    return (struct str){to, s.len};
}

static struct device_type *pack_type(struct pack *p, const struct device_type *t)
{
    struct device_type *to = pack_copy(p, t, sizeof *t);
    const struct profile *rows =
        pack_copy(p, t->profiles, t->nprofiles * sizeof *t->profiles);
    if (to)
        to->profiles = rows;
    return to;
}

/* Dense id of a type; added when new. */
uint8_t cluster_type_see(struct cluster *c, const struct device_type *t)
{
    for (uint32_t i = 0; i < c->ntypes && i < TYPE_OTHER; i++)
        if (c->types[i] == t->name)
            return (uint8_t)i;
    if (c->ntypes >= TYPE_OTHER) {
        c->ntypes = TYPES_MAX;
        return TYPE_OTHER;
    }
    struct pack p = {0};
    pack_type(&p, t);
    p = (struct pack){arena_alloc(&c->more->type_text, p.used), 0};
    c->more->types[c->ntypes] = pack_type(&p, t);
    c->types[c->ntypes] = t->name;
    return (uint8_t)c->ntypes++;
}

const struct device_type *cluster_type(const struct cluster *c, uint32_t type)
{
    return type < c->ntypes ? c->more->types[type] : NULL;
}

uint32_t cluster_type_id(const struct cluster *c, word_t name)
{
    for (uint32_t i = 0; name && i < c->ntypes; i++)
        if (c->types[i] == name)
            return i;
    return TYPE_ANY;
}

static void kept_fill(struct cluster *c, const struct node_desc *d, struct pack *p)
{
    struct kept *k = pack_copy(p, NULL, sizeof *k);
    struct node_desc e = *d;
    e.name = pack_str(p, d->name);
    e.uid = pack_str(p, d->uid);
    struct device_desc *devs =
        pack_copy(p, d->devices, d->ndevices * sizeof *d->devices);
    for (uint32_t i = 0; i < d->ndevices; i++) {
        struct str uuid = pack_str(p, d->devices[i].uuid);
        uint8_t id = cluster_type_see(c, d->devices[i].type);
        const struct device_type *t = c->more->types[id];
        if (!t)
            t = pack_type(p, d->devices[i].type);
        if (devs) {
            devs[i].uuid = uuid;
            devs[i].type = t;
        }
    }
    e.devices = devs;
    e.legal = pack_copy(p, d->legal, d->nlegal * sizeof *d->legal);
    e.tags = pack_copy(p, d->tags, d->ntags * sizeof *d->tags);
    e.taints = pack_copy(p, d->taints, d->ntaints * sizeof *d->taints);
    e.parts = pack_copy(p, d->parts, d->nparts * sizeof *d->parts);
    e.faults = pack_copy(p, d->faults, d->nfaults * sizeof *d->faults);
    e.place = pack_copy(p, d->place, d->nplace * sizeof *d->place);
    if (k) {
        memset(k, 0, sizeof *k);
        k->d = e;
        k->tags = (word_t *)(uintptr_t)e.tags;
    }
}

/* Which devices are of which type. More than KEPT_TYPES_MAX - 1: the rest are "other".
 */
static void kept_types(struct cluster *c, struct kept *k)
{
    for (uint32_t i = 0; i < k->d.ndevices; i++) {
        uint8_t id = cluster_type_see(c, k->d.devices[i].type);
        uint32_t j = 0;
        while (j < k->ntypes && k->types[j] != id)
            j++;
        if (j == k->ntypes) {
            if (j >= KEPT_TYPES_MAX - 1)
                j = KEPT_TYPES_MAX - 1;
            k->types[j] = j == KEPT_TYPES_MAX - 1 ? TYPE_OTHER : id;
            k->ntypes = j + 1;
        }
        k->masks[j] |= UINT64_C(1) << i;
    }
    for (uint32_t j = 0; j <= KEPT_TYPES_MAX; j++)
        k->lanes[j] = LANE_NONE;
}

struct kept *kept_make(struct cluster *c, const struct node_desc *d)
{
    assert(d->ndevices <= NODE_DEVICES_MAX);
    struct pack p = {0};
    kept_fill(c, d, &p);
    size_t size = p.used;
    p = (struct pack){mem_alloc(size), 0};
    kept_fill(c, d, &p);
    assert(p.used == size);
    struct kept *k = (struct kept *)p.at;
    kept_types(c, k);
    return k;
}

void kept_free(struct kept *k)
{
    if (k && k->tags_room)
        free(k->tags);
    free(k);
}

/* Set or clear a tag. False: no room. The order of the others stays. */
bool kept_tag(struct kept *k, word_t tag, bool on)
{
    uint32_t n = k->d.ntags, i = 0;
    while (i < n && k->tags[i] != tag)
        i++;
    if (on && i < n)
        return true;
    if (!on) {
        if (i < n)
            memmove(k->tags + i, k->tags + i + 1, (n - i - 1) * sizeof *k->tags);
        k->d.ntags = i < n ? n - 1 : n;
        return true;
    }
    if (n >= NODE_TAGS_MAX)
        return false;
    if (n >= k->tags_room) { /* the first time out of the block */
        word_t *more = mem_alloc(NODE_TAGS_MAX * sizeof *more);
        if (n)
            memcpy(more, k->tags, n * sizeof *more);
        k->tags_room = NODE_TAGS_MAX;
        k->tags = more;
        k->d.tags = more;
    }
    k->tags[n] = tag;
    k->d.ntags = n + 1;
    return true;
}
