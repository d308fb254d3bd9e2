/* cluster.c - facts about nodes and devices: they come, change and go
 *
 * Everything here is O(the node's own size); the tree is only marked stale when a node
 * comes, goes, moves, or has other devices than before (cluster_settle rebuilds it).
 * What claims hold is never forgotten: capacities move by their difference, and a
 * device or node that the world drops keeps its place until its last claim is given
 * back. SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster.h"

#include <assert.h>

#include "cluster/more.h"

struct cluster *cluster_create(struct words *words)
{
    struct cluster *c = mem_zero(sizeof *c);
    c->words = words;
    c->more = mem_zero(sizeof *c->more);
    c->changed_head = NODE_NONE;
    c->stale = true;
    c->devices_room = 64; /* never NULL: a node without devices points into it too */
    c->devices = mem_zero(c->devices_room * sizeof *c->devices);
    return c;
}

void cluster_destroy(struct cluster *c)
{
    if (!c)
        return;
    struct cluster_more *m = c->more;
    for (uint32_t i = 0; i < c->nnodes; i++)
        kept_free(m->kept[i]);
    for (uint32_t i = 0; i <= NODE_DEVICES_MAX; i++)
        vec_done(&m->free_ranges[i]);
    vec_done(&m->free_nodes);
    strmap_done(&m->names);
    vec_done(&m->tag_at);
    arena_done(&m->type_text);
    free(m->kept);
    free(m->slice_uses);
    free(m->counts);
    free(m->spots);
    free(m->masks);
    free(m);
    free(c->nodes);
    free(c->devices);
    free(c->order);
    free(c->domains);
    free(c);
}

static uint32_t node_alloc(struct cluster *c)
{
    struct cluster_more *m = c->more;
    if (m->free_nodes.n) {
        uint32_t i = m->free_nodes.at[--m->free_nodes.n];
        uint32_t version = c->nodes[i].version; /* memos may still know the last one */
        kept_free(m->kept[i]);
        m->kept[i] = NULL;
        c->nodes[i] = (struct node){.version = version};
        return i;
    }
    if (c->nnodes == c->nodes_room) {
        c->nodes_room = c->nodes_room ? c->nodes_room * 2 : 64;
        c->nodes = mem_resize(c->nodes, (size_t)c->nodes_room * sizeof *c->nodes);
        m->kept = mem_resize(m->kept, (size_t)c->nodes_room * sizeof *m->kept);
    }
    c->nodes[c->nnodes] = (struct node){0};
    m->kept[c->nnodes] = NULL;
    return c->nnodes++;
}

/* n cleared devices in a row. */
static uint32_t range_alloc(struct cluster *c, uint32_t n)
{
    struct cluster_more *m = c->more;
    uint32_t at = c->ndevices;
    if (!n)
        return 0;
    if (m->free_ranges[n].n) {
        at = m->free_ranges[n].at[--m->free_ranges[n].n];
    } else {
        if (c->ndevices + n > c->devices_room) {
            c->devices_room = (c->ndevices + n) * 2;
            c->devices =
                mem_resize(c->devices, (size_t)c->devices_room * sizeof *c->devices);
        }
        c->ndevices += n;
        if (m->slice_room)
            cluster_slices_grow(c);
    }
    memset(c->devices + at, 0, n * sizeof *c->devices);
    if (m->slice_room)
        memset(m->slice_uses[at], 0, n * sizeof *m->slice_uses);
    return at;
}

static void range_free(struct cluster *c, uint32_t at, uint32_t n)
{
    if (n)
        vec_push(&c->more->free_ranges[n], at);
}

static uint32_t compute_of(const struct cluster *c, uint32_t type)
{
    const struct device_type *t = cluster_type(c, type);
    return t ? t->compute_slices : 0;
}

/* Bring a device to its description; what claims hold of it stays held. */
static void device_set(struct cluster *c, struct device *d,
                       const struct device_desc *desc, uint8_t type, bool fresh)
{
    const struct device_type *t = cluster_type(c, type);
    int64_t wholes = d->wholes;
    int64_t shared = d->mem_cap - d->mem_free - wholes * d->mem_cap;
    d->mem_cap = desc->mem_bytes - desc->reserved_bytes;
    if (d->mem_cap < 0)
        d->mem_cap = 0;
    d->mem_free = d->mem_cap - shared - wholes * d->mem_cap;
    int32_t used = fresh ? 0 : (int32_t)compute_of(c, d->type) - d->compute_free;
    d->compute_free = (int16_t)((int32_t)compute_of(c, type) - used);
    d->slices_free = t ? (uint16_t)((1u << t->mem_slices) - 1) : 0;
    for (uint32_t s = 0; d->cut && s < SLICES_MAX; s++)
        if (c->more->slice_uses[d - c->devices][s])
            d->slices_free &= (uint16_t) ~(1u << s);
    if (fresh)
        d->free_milli = 1000;
    d->type = type;
    d->modes = desc->modes;
    d->state = desc->state;
    d->island = desc->island;
    d->numa = desc->numa;
}

static void node_devices_set(struct cluster *c, struct node *n, const struct kept *k)
{
    struct cluster_more *m = c->more;
    uint32_t want = k->d.ndevices, have = n->ndevices, keep = have;
    while (keep > want && !c->devices[n->device0 + keep - 1].nuses)
        keep--;
    uint32_t room = keep > want ? keep : want;
    if (room != have) {
        uint32_t at = range_alloc(c, room), copy = have < room ? have : room;
        if (copy) {
            memcpy(c->devices + at, c->devices + n->device0, copy * sizeof *c->devices);
            if (m->slice_room)
                memcpy(m->slice_uses[at], m->slice_uses[n->device0],
                       copy * sizeof *m->slice_uses);
        }
        range_free(c, n->device0, have);
        n->device0 = at;
        n->ndevices = room;
    }
    for (uint32_t j = 0; j < k->ntypes; j++)
        for (uint64_t left = k->masks[j]; left; left &= left - 1) {
            uint32_t i = (uint32_t)__builtin_ctzll(left);
            device_set(c, &c->devices[n->device0 + i], &k->d.devices[i], k->types[j],
                       i >= have);
        }
    for (uint32_t i = want; i < room; i++)
        c->devices[n->device0 + i].state = DEVICE_GONE;
}

void cluster_node_keep(struct cluster *c, uint32_t node, uint32_t n, const uint8_t *types,
                       const int64_t *mem_cap)
{
    struct node *nd = &c->nodes[node];
    uint32_t have = nd->ndevices;
    assert(!nd->nuses && have + n <= NODE_DEVICES_MAX);
    if (n == 0)
        return;
    uint32_t at = range_alloc(c, have + n);
    if (have)
        memcpy(c->devices + at, c->devices + nd->device0, have * sizeof *c->devices);
    range_free(c, nd->device0, have);
    nd->device0 = at;
    nd->ndevices = have + n;
    for (uint32_t i = 0; i < n; i++) {
        struct device *d = &c->devices[at + have + i];
        const struct device_type *t = cluster_type(c, types[i]);
        *d = (struct device){.mem_cap = mem_cap[i], .mem_free = mem_cap[i],
                             .free_milli = 1000, .type = types[i], .state = DEVICE_GONE};
        d->compute_free = (int16_t)compute_of(c, types[i]);
        d->slices_free = t ? (uint16_t)((1u << t->mem_slices) - 1) : 0;
    }
}

/* What the node says of all its devices together. */
static void node_refresh(struct cluster *c, struct node *n)
{
    n->healthy = n->whole_free = n->whole_held = 0;
    n->nwhole = 0;
    n->gpu_free_milli = 0;
    for (uint32_t i = 0; i < n->ndevices; i++) {
        const struct device *d = &c->devices[n->device0 + i];
        if (d->state != DEVICE_OK)
            continue;
        n->healthy |= UINT64_C(1) << i;
        n->gpu_free_milli += d->free_milli;
        if ((d->modes & DEVICE_WHOLE) && d->nuses == 1 && d->wholes == 1)
            n->whole_held |= UINT64_C(1) << i;
        if ((d->modes & DEVICE_WHOLE) && !d->nuses) {
            n->whole_free |= UINT64_C(1) << i;
            n->nwhole++;
        }
    }
    n->overcommitted = node_is_over(c, n);
}

static bool is_plain(const struct node_desc *d)
{
    for (uint32_t i = 1; i < d->ndevices; i++)
        if (d->devices[i].island != d->devices[0].island)
            return false;
    return d->nlegal == 0;
}

/* Must the tree be rebuilt when b follows a? */
static bool kept_moves(const struct kept *a, const struct kept *b)
{
    return a->d.nplace != b->d.nplace || a->ntypes != b->ntypes ||
           (a->d.nplace &&
            memcmp(a->d.place, b->d.place, a->d.nplace * sizeof *a->d.place)) ||
           memcmp(a->types, b->types, sizeof a->types) ||
           memcmp(a->masks, b->masks, sizeof a->masks);
}

static void node_capacity_set(struct cluster *c, struct node *n, const struct kept *k)
{
    const struct node_desc *d = &k->d;
    int32_t slots = d->pod_slots ? (int32_t)d->pod_slots : INT32_MAX;
    n->cpu_free += d->cpu_milli - n->cpu_cap;
    n->cpu_cap = d->cpu_milli;
    n->mem_free += d->mem_bytes - n->mem_cap;
    n->mem_cap = d->mem_bytes;
    n->slots_free = (int32_t)(n->slots_free + ((int64_t)slots - n->slots_cap));
    n->slots_cap = slots;
    n->nics_free = (int32_t)(n->nics_free + ((int64_t)d->nics - n->nics_cap));
    n->nics_cap = (int32_t)d->nics;
    c->gpu_cap_milli += (int64_t)d->ndevices * 1000 - n->gpu_cap_milli;
    n->gpu_cap_milli = (int64_t)d->ndevices * 1000;
    n->state = d->state;
    n->ntypes = (uint8_t)k->ntypes;
    n->type = k->ntypes == 1 ? k->types[0] : TYPE_ANY;
    n->plain = is_plain(d);
}

static void node_appear(struct cluster *c, uint32_t i)
{
    struct node *n = &c->nodes[i];
    n->changed_prev = n->changed_next = NODE_NONE;
    n->domain = DOMAIN_NONE;
    n->lane = LANE_NONE;
    n->changed_next = c->changed_head;
    if (c->changed_head != NODE_NONE)
        c->nodes[c->changed_head].changed_prev = i;
    c->changed_head = i;
    c->nlive++;
}

uint32_t cluster_node_set(struct cluster *c, const struct node_desc *d)
{
    struct cluster_more *m = c->more;
    uint32_t i = cluster_find(c, d->name);
    if (i == NODE_NONE) {
        i = node_alloc(c);
        node_appear(c, i);
        c->stale = true;
    }
    struct node *n = &c->nodes[i];
    struct kept *old = m->kept[i], *k = kept_make(c, d);
    if (old && kept_moves(old, k))
        c->stale = true;
    if (old)
        memcpy(k->lanes, old->lanes, sizeof k->lanes);
    node_capacity_set(c, n, k);
    node_devices_set(c, n, k);
    m->kept[i] = k;
    strmap_put(&m->names, k->d.name, i);
    kept_free(old);
    m->tags_known = false;
    node_refresh(c, n);
    node_touch(c, n, i);
    node_relane(c, n);
    return i;
}

void node_release(struct cluster *c, uint32_t node)
{
    struct node *n = &c->nodes[node];
    range_free(c, n->device0, n->ndevices);
    n->ndevices = 0;
    vec_push(&c->more->free_nodes, node);
}

void cluster_node_gone(struct cluster *c, uint32_t node)
{
    struct node *n = &c->nodes[node];
    assert(node < c->nnodes && !n->gone);
    strmap_del(&c->more->names, c->more->kept[node]->d.name);
    node_unlink(c, n, node);
    n->gone = true;
    n->version++;
    n->domain = DOMAIN_NONE;
    n->lane = LANE_NONE;
    n->in_any = false;
    c->nlive--;
    c->gpu_cap_milli -= n->gpu_cap_milli;
    c->stale = true;
    c->more->tags_known = false;
    if (!n->nuses)
        node_release(c, node);
}

void cluster_node_state(struct cluster *c, uint32_t node, uint8_t state)
{
    struct node *n = &c->nodes[node];
    assert(node < c->nnodes && !n->gone);
    n->state = state;
    c->more->kept[node]->d.state = state;
    node_touch(c, n, node);
    node_relane(c, n);
}

void cluster_node_cordon(struct cluster *c, uint32_t node, bool on)
{
    struct node *n = &c->nodes[node];
    assert(node < c->nnodes && !n->gone);
    n->cordoned = on;
    node_touch(c, n, node);
    node_relane(c, n);
}

void cluster_node_unsynced(struct cluster *c, uint32_t node, bool on)
{
    struct node *n = &c->nodes[node];
    assert(node < c->nnodes && !n->gone);
    n->unsynced = on;
    node_touch(c, n, node);
    node_relane(c, n);
}

void cluster_device_state(struct cluster *c, uint32_t node, uint32_t device,
                          uint8_t state)
{
    struct node *n = &c->nodes[node];
    assert(node < c->nnodes && !n->gone);
    struct kept *k = c->more->kept[node];
    if (device >= k->d.ndevices)
        return;
    ((struct device_desc *)(uintptr_t)k->d.devices)[device].state =
        state; /* our copy */
    c->devices[n->device0 + device].state = state;
    node_refresh(c, n);
    node_touch(c, n, node);
    node_relane(c, n);
}

bool cluster_tag(struct cluster *c, uint32_t node, word_t tag, bool on)
{
    struct node *n = &c->nodes[node];
    assert(node < c->nnodes && !n->gone);
    bool done = kept_tag(c->more->kept[node], tag, on);
    c->more->tags_known = false;
    node_touch(c, n, node);
    return done;
}

uint32_t cluster_find(const struct cluster *c, struct str name)
{
    uint32_t i = strmap_get(&c->more->names, name);
    return i == MAP_NONE ? NODE_NONE : i;
}

struct str cluster_node_name(const struct cluster *c, uint32_t node)
{
    return c->more->kept[node]->d.name;
}

const struct node_desc *cluster_node_desc(const struct cluster *c, uint32_t node)
{
    return &c->more->kept[node]->d;
}

bool cluster_has_tag(const struct cluster *c, uint32_t node, word_t tag)
{
    const struct node_desc *d = &c->more->kept[node]->d;
    for (uint32_t i = 0; i < d->ntags; i++)
        if (d->tags[i] == tag)
            return true;
    return false;
}

word_t cluster_part(const struct cluster *c, uint32_t node, word_t key)
{
    const struct node_desc *d = &c->more->kept[node]->d;
    for (uint32_t i = 0; i < d->nparts; i++)
        if (d->parts[i].key == key)
            return d->parts[i].value;
    return WORD_NONE;
}

uint64_t node_type_devs(const struct cluster *c, const struct node *n, uint32_t type)
{
    if (type == TYPE_ANY || (n->ntypes == 1 && n->type == type))
        return node_devs(n);
    const struct kept *k = c->more->kept[n - c->nodes];
    for (uint32_t j = 0; n->ntypes > 1 && j < k->ntypes; j++)
        if (k->types[j] == type)
            return k->masks[j];
    return 0;
}
