/* save.c - the whole state as bytes and back: what a snapshot holds
 *
 * One walk over the fields serves both ways, so writing and reading cannot drift apart. The
 * slabs go as they are, by index; derived things (the topology tree, lanes' keys, tallies,
 * accounts, memos) are made anew. Nodes are written as the node_set records that would make
 * them. The bytes end in a hash of them: whatever is damaged is refused before it is read.
 * The layout is that of one build's structs; the header carries their sizes, and another
 * build starts from a fold of its journal instead. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/hash.h"
#include "event/codec.h"
#include "sched/state.h"

#define SAVE_MAGIC 0x3130657461745342ull /* "BState01" */

struct io {
    struct buf *out; /* writing; NULL: reading */
    struct str in;
    bool bad;
};

static void raw(struct io *io, void *p, size_t n)
{
    if (n == 0) /* an empty array's p may be NULL */
        return;
    if (io->out) {
        buf_add(io->out, p, n);
    } else if (io->bad || io->in.len < n) {
        io->bad = true;
        memset(p, 0, n);
    } else {
        memcpy(p, io->in.ptr, n);
        io->in.ptr += n;
        io->in.len -= n;
    }
}

#define FIELD(io, lvalue) raw(io, &(lvalue), sizeof(lvalue))

static uint32_t length(struct io *io, uint32_t n, size_t item)
{
    FIELD(io, n);
    if (!io->out && item && n > io->in.len / item) {
        io->bad = true;
        n = 0;
    }
    return n;
}

#define ARRAY(io, v)                                                 \
    do {                                                             \
        uint32_t n_ = length(io, (v)->n, sizeof *(v)->at);           \
        if (!(io)->out)                                              \
            vec_resize(v, n_);                                       \
        raw(io, (v)->at, n_ * sizeof *(v)->at);                      \
    } while (0)

static void text(struct io *io, char **p, uint32_t *len)
{
    bool there = *p != NULL;
    FIELD(io, there);
    if (!there) {
        *p = NULL;
        *len = 0;
        return;
    }
    *len = length(io, *len, 1);
    if (!io->out)
        *p = mem_zero(*len + 1);
    raw(io, *p, *len);
}

static void bytes(struct io *io, struct buf *b)
{
    uint32_t n = length(io, (uint32_t)b->len, 1);
    if (io->out) {
        buf_add(io->out, b->data, n);
    } else {
        buf_clear(b);
        buf_add(b, io->in.ptr, n);
        io->in.ptr += n;
        io->in.len -= n;
    }
}

static void io_words(struct io *io, struct sched *s)
{
    uint32_t n = length(io, s->words.n, 1);
    for (uint32_t i = 1; i <= n && !io->bad; i++) {
        struct str t = io->out ? words_text(&s->words, i) : (struct str){0};
        uint32_t len = length(io, (uint32_t)t.len, 1);
        if (io->out) {
            buf_add(io->out, t.ptr, len);
        } else {
            words_add(&s->words, (struct str){io->in.ptr, len});
            io->in.ptr += len;
            io->in.len -= len;
        }
    }
}

struct node_flags { /* without padding: written as it is */
    int64_t kept_mem[NODE_DEVICES_MAX]; /* of devices behind the described ones */
    uint8_t kept_type[NODE_DEVICES_MAX];
    uint8_t device_state[NODE_DEVICES_MAX];
    uint32_t first_claim;
    uint8_t cordoned, unsynced, seen, ndevices;
};
_Static_assert(sizeof(struct node_flags) == 10 * NODE_DEVICES_MAX + 8, "no padding");

/* The types in the order of their dense ids, as a node that has one of each. */
static void io_types(struct io *io, struct sched *s)
{
    struct device_desc devices[NODE_DEVICES_MAX] = {0};
    struct node_desc d = {.name = STR("types"), .devices = devices};
    struct record r = {.kind = EV_NODE_SET, .node_set = &d};
    struct records rs = {0};
    struct buf b = {0};
    for (uint32_t i = 0; io->out && i < s->cluster->ntypes; i++)
        if (cluster_type(s->cluster, i))
            devices[d.ndevices++].type = cluster_type(s->cluster, i);
    record_encode(&r, &b);
    bytes(io, &b);
    if (!io->out) {
        struct str in = buf_as_str(&b);
        if (io->bad || record_decode(&in, &rs, NULL) < 0 ||
            rs.list.at[0].kind != EV_NODE_SET)
            io->bad = true;
        for (uint32_t i = 0; !io->bad && i < rs.list.at[0].node_set->ndevices; i++)
            cluster_type_see(s->cluster, rs.list.at[0].node_set->devices[i].type);
    }
    records_done(&rs);
    buf_done(&b);
}

static void node_write(struct io *io, struct sched *s, uint32_t node)
{
    struct record r = {.kind = EV_NODE_SET, .node_set = cluster_node_desc(s->cluster, node)};
    const struct node *n = &s->cluster->nodes[node];
    struct node_flags f = {.cordoned = n->cordoned, .unsynced = n->unsynced,
                           .seen = node < s->node_seen.n && s->node_seen.at[node],
                           .ndevices = (uint8_t)n->ndevices,
                           .first_claim = node < s->node_claims.n
                                              ? s->node_claims.at[node] : NONE};
    uint32_t described = r.node_set->ndevices;
    for (uint32_t i = 0; i < n->ndevices; i++) {
        const struct device *dev = &s->cluster->devices[n->device0 + i];
        f.device_state[i] = dev->state;
        if (i >= described) {
            f.kept_type[i - described] = dev->type;
            f.kept_mem[i - described] = dev->mem_cap;
        }
    }
    struct buf b = {0};
    record_encode(&r, &b);
    bytes(io, &b);
    buf_done(&b);
    FIELD(io, node);
    FIELD(io, f);
}

static void node_read(struct io *io, struct sched *s, uint32_t *map, uint32_t most)
{
    struct records rs = {0};
    struct buf b = {0};
    uint32_t old;
    struct node_flags f;
    bytes(io, &b);
    FIELD(io, old);
    FIELD(io, f);
    struct str in = buf_as_str(&b);
    if (io->bad || old >= most || record_decode(&in, &rs, NULL) < 0 ||
        rs.list.at[0].kind != EV_NODE_SET) {
        io->bad = true;
    } else {
        uint32_t node = cluster_node_set(s->cluster, rs.list.at[0].node_set);
        uint32_t described = s->cluster->nodes[node].ndevices;
        map[old] = node;
        if (f.ndevices > described && f.ndevices <= NODE_DEVICES_MAX)
            cluster_node_keep(s->cluster, node, f.ndevices - described, f.kept_type,
                              f.kept_mem);
        while (s->node_claims.n <= node)
            vec_push(&s->node_claims, NONE);
        s->node_claims.at[node] = f.first_claim;
        tally_node(s, node, 1);
        for (uint32_t i = 0; i < f.ndevices && i < s->cluster->nodes[node].ndevices; i++)
            cluster_device_state(s->cluster, node, i, f.device_state[i]);
        cluster_node_cordon(s->cluster, node, f.cordoned);
        cluster_node_unsynced(s->cluster, node, f.unsynced);
        if (node >= s->node_seen.n)
            vec_resize(&s->node_seen, node + 1);
        s->node_seen.at[node] = f.seen;
        account_node(s, node);
    }
    records_done(&rs);
    buf_done(&b);
}

/* map: old node index -> new one. */
static uint32_t *io_nodes(struct io *io, struct sched *s)
{
    uint32_t nlevels = s->cluster->nlevels, room = s->cluster->nnodes, live = 0;
    word_t levels[NODE_LEVELS_MAX] = {0};
    memcpy(levels, s->cluster->levels, sizeof levels);
    FIELD(io, nlevels);
    FIELD(io, levels);
    FIELD(io, room);
    for (uint32_t i = 0; i < s->cluster->nnodes; i++)
        live += !s->cluster->nodes[i].gone;
    live = length(io, live, 1);
    if (io->out) {
        io_types(io, s);
        for (uint32_t i = 0; i < s->cluster->nnodes; i++)
            if (!s->cluster->nodes[i].gone)
                node_write(io, s, i);
        return NULL;
    }
    if (nlevels > NODE_LEVELS_MAX || room > (1u << 24))
        io->bad = true;
    if (io->bad)
        return NULL;
    cluster_set_levels(s->cluster, levels, nlevels);
    io_types(io, s);
    uint32_t *map = mem_alloc((room + 1) * sizeof *map);
    memset(map, 0xff, (room + 1) * sizeof *map);
    for (uint32_t i = 0; i < live && !io->bad; i++)
        node_read(io, s, map, room);
    s->capacity_milli = s->cluster->gpu_cap_milli;
    return map;
}

/* Pointers as they were in the process that wrote them: forgotten before anything can fail,
 * so that a half-read state can be destroyed. */
static void pointers_forget(struct sched *s)
{
    for (uint32_t i = 0; i < s->trees.n; i++) {
        struct tree *t = &s->trees.at[i];
        t->groups = NULL;
        t->roots = NULL;
        t->leaves = NULL;
    }
    for (uint32_t i = 0; i < s->jobs.n; i++) {
        s->jobs.at[i].name = s->jobs.at[i].request = NULL;
        s->jobs.at[i].gangs = NULL;
        s->jobs.at[i].name_room = 0;
    }
    for (uint32_t i = 0; i < s->gangs.n; i++) {
        s->gangs.at[i].slots = NULL;
        s->gangs.at[i].one.task = NULL;
    }
    for (uint32_t i = 0; i < s->claims.n; i++)
        s->claims.at[i].name = s->claims.at[i].where = NULL;
}

/* The slabs first. */
static void io_slabs(struct io *io, struct sched *s)
{
    ARRAY(io, &s->shapes);
    ARRAY(io, &s->shapes_free);
    ARRAY(io, &s->trees);
    ARRAY(io, &s->trees_free);
    ARRAY(io, &s->jobs);
    ARRAY(io, &s->jobs_free);
    ARRAY(io, &s->gangs);
    ARRAY(io, &s->gangs_free);
    ARRAY(io, &s->claims);
    ARRAY(io, &s->claims_free);
    if (io->out)
        return;
    pointers_forget(s);
}

static void io_trees(struct io *io, struct sched *s)
{
    for (uint32_t i = 0; i < s->trees.n && !io->bad; i++) {
        struct tree *t = &s->trees.at[i];
        if (!t->refs)
            continue;
        if (!io->out) {
            if (t->ngroups > JOB_GROUPS_MAX || t->nroots > t->ngroups ||
                t->nleaves > t->ngroups) {
                io->bad = true;
                return;
            }
            t->groups = mem_zero(t->ngroups * sizeof *t->groups);
            t->roots = mem_zero(t->ngroups * sizeof *t->roots);
            t->leaves = mem_zero(t->ngroups * sizeof *t->leaves);
        }
        raw(io, t->groups, t->ngroups * sizeof *t->groups);
        raw(io, t->roots, t->nroots * sizeof *t->roots);
        raw(io, t->leaves, t->nleaves * sizeof *t->leaves);
    }
}

/* Table keys hang on the process's hash seed: made anew. */
static void rehash(struct sched *s)
{
    for (uint32_t i = 0; i < s->shapes.n; i++) {
        struct shape_entry *e = &s->shapes.at[i];
        if (!e->refs)
            continue;
        e->hash = hash_bytes(&e->shape, sizeof e->shape) >> 1;
        while (u64map_get(&s->shape_ids, e->hash) != MAP_NONE)
            e->hash = (e->hash + 1) >> 1 << 1 | 1;
        u64map_put(&s->shape_ids, e->hash, i);
        e->ready_types = NONE;
    }
    for (uint32_t i = 0; i < s->trees.n; i++) {
        struct tree *t = &s->trees.at[i];
        if (!t->refs)
            continue;
        t->hash = tree_hash_of(s, t);
        while (u64map_get(&s->tree_ids, t->hash) != MAP_NONE)
            t->hash = (t->hash + 1) >> 1 << 1 | 1;
        u64map_put(&s->tree_ids, t->hash, i);
    }
}

static void io_jobs(struct io *io, struct sched *s)
{
    for (uint32_t i = 0; i < s->jobs.n && !io->bad; i++) {
        struct job *j = &s->jobs.at[i];
        bool many = j->gangs != NULL;
        if (!j->live)
            continue;
        char *name = j->name;
        text(io, &name, &j->name_len);
        if (!io->out && name) {
            job_set_name(s, j, (struct str){name, j->name_len});
            free(name);
        }
        text(io, &j->request, &j->request_len);
        FIELD(io, many);
        if (!many)
            continue;
        uint32_t n = length(io, j->ngangs, sizeof *j->gangs);
        if (!io->out)
            j->gangs = mem_zero((n + 1) * sizeof *j->gangs);
        raw(io, j->gangs, n * sizeof *j->gangs);
    }
    for (uint32_t i = 0; i < s->jobs.n && !io->out && !io->bad; i++)
        if (s->jobs.at[i].live)
            job_index(s, i);
}

static void io_gangs(struct io *io, struct sched *s)
{
    for (uint32_t i = 0; i < s->gangs.n && !io->bad; i++) {
        struct gang *g = &s->gangs.at[i];
        if (!io->out && g->live && g->nslots > JOB_SLOTS_MAX)
            io->bad = true;
        if (!io->out && !io->bad && g->live && g->nslots > 1)
            g->slots = mem_zero(g->nslots * sizeof *g->slots);
        if (!g->live)
            continue;
        if (g->nslots > 1 && !io->bad)
            raw(io, g->slots, g->nslots * sizeof *g->slots);
        for (uint32_t k = 0; k < g->nslots && !io->out && g->slots; k++)
            g->slots[k].task = NULL;
        for (uint32_t k = 0; k < g->nslots && !io->bad; k++) {
            struct slot *sl = gang_slot(s, i, k);
            text(io, &sl->task, &sl->task_len);
            if (!io->out && sl->task)
                strmap_put(&s->slot_tasks, (struct str){sl->task, sl->task_len}, i);
        }
    }
}

static void io_claims(struct io *io, struct sched *s, const uint32_t *map)
{
    FIELD(io, s->strays);
    FIELD(io, s->adrift);
    ARRAY(io, &s->reserves);
    FIELD(io, s->improve_at);
    FIELD(io, s->evict_hour);
    FIELD(io, s->evicted);
    FIELD(io, s->move_hour);
    FIELD(io, s->moved);
    FIELD(io, s->reserve_version);
    FIELD(io, s->reserve_tried);
    FIELD(io, s->reserve_check);
    FIELD(io, s->reserve_now);
    for (uint32_t i = 0; i < s->claims.n && !io->bad; i++) {
        struct claim *c = &s->claims.at[i];
        if (!c->live)
            continue;
        text(io, &c->name, &c->name_len);
        text(io, &c->where, &c->where_len);
    }
    for (uint32_t i = 0; i < s->claims.n && !io->out && !io->bad; i++) {
        struct claim *c = &s->claims.at[i];
        if (!c->live)
            continue;
        if (c->name)
            strmap_put(&s->tasks, (struct str){c->name, c->name_len}, i);
        if (c->use.node != NODE_NONE)
            c->use.node = map[c->use.node];
        claim_restore(s, i);
    }
    ARRAY(io, &s->failures);
    ARRAY(io, &s->suspects);
    ARRAY(io, &s->spares);
    FIELD(io, s->spares_check);
    FIELD(io, s->spares_now);
    if (!io->out && !io->bad) {
        reserve_restore(s);
        spares_restore(s, map);
    }
}

static void io_quota(struct io *io, struct sched *s)
{
    struct quota *q = &s->quota;
    ARRAY(io, &q->nodes);
    for (uint32_t i = 0; i < q->nodes.n && !io->out; i++)
        memset(&q->nodes.at[i].active, 0, sizeof q->nodes.at[i].active);
    for (uint32_t i = 0; i < q->nodes.n && !io->bad; i++)
        ARRAY(io, &q->nodes.at[i].active);
    ARRAY(io, &q->by_word);
    ARRAY(io, &q->users_at);
    for (uint32_t i = 0; i < q->users_at.n && !io->out; i++)
        u64map_put(&q->user_ids,
                   (uint64_t)q->users_at.at[i].leaf << 32 | q->users_at.at[i].user, i);
    FIELD(io, q->on);
    FIELD(io, q->users);
    FIELD(io, q->unknown_type);
    FIELD(io, q->wake);
    FIELD(io, q->nresources);
    FIELD(io, q->resources);
    FIELD(io, q->n_active);
    FIELD(io, q->epoch_at);
    if (q->nodes.n == 0 || q->nresources > QUOTA_RESOURCES_MAX)
        io->bad = true;
}

/* Who had a right, in the order of the walk: the next walk begins with it. */
static void io_rights(struct io *io, struct sched *s)
{
    struct rights *r = &s->owed.r;
    uint32_t n = length(io, r->nnodes, 1);
    if (n != r->nnodes) {
        io->bad = true;
        return;
    }
    FIELD(io, r->turn);
    FIELD(io, s->owed.turn_at);
    FIELD(io, s->owed.some_due);
    ARRAY(io, &s->owed.last_turn);
    if (!io->out && !io->bad && r->turn != RIGHTS_NONE) {
        if (r->turn >= s->owed.units.n) {
            io->bad = true;
            return;
        }
        const struct rights_unit *u = &s->owed.units.at[r->turn];
        entitle_raise_again(&s->owed.e, u->leaf,
                            &s->owed.needs.at[u->need * s->quota.nresources]);
    }
    for (uint32_t l = 0; l < n && !io->bad; l++)
        ARRAY(io, &r->k1[l]);
    ARRAY(io, &r->k2);
    for (uint32_t l = 0; l <= n && !io->out && !io->bad; l++) {
        const rights_ids *ids = l < n ? &r->k1[l] : &r->k2;
        for (uint32_t i = 0; i < ids->n && !io->bad; i++) {
            if (ids->at[i] >= s->owed.units.n)
                io->bad = true;
            else
                s->owed.units.at[ids->at[i]].marks |= l < n ? RIGHTS_K1 : RIGHTS_K2;
        }
    }
}

/* A line as it stands: where the order of the queue has moved since somebody joined it, it is
 * not what sorting would make of it. */
static void io_line(struct io *io, struct sched *s, rights_ids *ids, uint32_t leaf)
{
    struct owed *o = &s->owed;
    VEC(uint32_t) got = {0};
    VEC(bool) seen = {0};
    for (uint32_t i = 0; i < ids->n && io->out; i++)
        vec_push(&got, ids->at[i]);
    ARRAY(io, &got);
    io->bad = io->bad || got.n != ids->n;
    for (uint32_t i = 0; i < o->listed.n && !io->out; i++)
        vec_push(&seen, false);
    for (uint32_t i = 0; i < got.n && !io->out && !io->bad; i++) {
        uint32_t id = got.at[i];
        if (id >= o->listed.n || !o->listed.at[id] || seen.at[id] ||
            (leaf != NONE && o->units.at[id].leaf != leaf))
            io->bad = true;
        else
            seen.at[id] = true;
    }
    if (!io->out && !io->bad && got.n)
        memcpy(ids->at, got.at, got.n * sizeof *got.at);
    vec_done(&seen);
    vec_done(&got);
}

static void io_lines(struct io *io, struct sched *s)
{
    struct owed *o = &s->owed;
    uint32_t n = length(io, o->leaves.n, 1);
    io->bad = io->bad || n < o->leaves.n || n > s->quota.nodes.n;
    while (!io->bad && o->leaves.n < n)
        vec_push(&o->leaves, ((struct owed_leaf){.stale = true}));
    for (uint32_t l = 0; l < n && !io->bad; l++)
        io_line(io, s, &o->leaves.at[l].ids, l);
    if (!io->bad)
        io_line(io, s, &o->all, NONE);
}

/* Last: it looks at jobs, claims, nodes and queues. */
static void io_owed(struct io *io, struct sched *s)
{
    VEC(uint32_t) labels = {0};
    int64_t retry_at = s->owed.retry_at;
    for (uint32_t i = 0; i < s->gangs.n && io->out; i++)
        vec_push(&labels, owed_labels(s, i));
    ARRAY(io, &labels);
    FIELD(io, retry_at);
    if (!io->out && !io->bad && labels.n == s->gangs.n)
        owed_restore(s, labels.at, retry_at);
    else if (!io->out)
        io->bad = true;
    vec_done(&labels);
    if (s->owed.on && !io->bad)
        io_rights(io, s);
    if (s->owed.on && !io->bad)
        io_lines(io, s);
}

static void io_lanes(struct io *io, struct sched *s)
{
    ARRAY(io, &s->lanes); /* after the claims: restoring those must find nobody to wake */
    for (uint32_t i = 0; i < s->lanes.n && !io->out; i++)
        s->lanes.at[i].heap = NULL;
    for (uint32_t i = 0; i < s->lanes.n && !io->bad; i++) {
        struct lane *l = &s->lanes.at[i];
        uint32_t n = length(io, l->n, sizeof *l->heap);
        if (!io->out) {
            l->n = l->room = n;
            l->heap = mem_zero((n + 1) * sizeof *l->heap);
        }
        raw(io, l->heap, n * sizeof *l->heap);
        if (!io->out)
            u64map_put(&s->lane_ids, lane_key(s, l), i);
    }
    io_quota(io, s);
    ARRAY(io, &s->unsaid);
    ARRAY(io, &s->asks);
    ARRAY(io, &s->early);
    for (uint32_t i = 0; i < s->early.n && !io->bad; i++) {
        struct early *e = &s->early.at[i];
        e->task = io->out ? e->task : NULL;
        text(io, &e->task, &e->task_len);
    }
    FIELD(io, s->attention);
    uint32_t n = length(io, s->timers.n, sizeof *s->timers.items);
    for (uint32_t i = 0; i < n && !io->bad; i++) {
        struct heap_item t = io->out ? s->timers.items[i] : (struct heap_item){0};
        FIELD(io, t);
        if (!io->out)
            heap_push(&s->timers, t.key, t.tie, t.item);
    }
}

static void io_numbers(struct io *io, struct sched *s)
{
    FIELD(io, s->seq);
    FIELD(io, s->at);
    FIELD(io, s->started);
    FIELD(io, s->synced);
    FIELD(io, s->syncing);
    FIELD(io, s->leading);
    FIELD(io, s->term);
    FIELD(io, s->caps);
    FIELD(io, s->epoch);
    FIELD(io, s->launch_n);
    FIELD(io, s->stop_n);
    FIELD(io, s->plan_n);
    FIELD(io, s->timer_serial);
    FIELD(io, s->free_epoch);
    FIELD(io, s->left);
    FIELD(io, s->strays_at);
    FIELD(io, s->ledger);
    FIELD(io, s->ledger_at);
    FIELD(io, s->pending_milli);
    FIELD(io, s->quota_milli);
    FIELD(io, s->n_pending);
    FIELD(io, s->n_jobs);
    FIELD(io, s->n_claims);
    FIELD(io, s->counts);
    FIELD(io, s->mix_stale);
    FIELD(io, s->mix_unknown);
}

static void io_forecast(struct io *io, struct sched *s)
{
    struct buf b = {0};
    if (io->out)
        forecast_save(&s->forecast, &b);
    bytes(io, &b);
    if (!io->out && !io->bad && forecast_load(&s->forecast, buf_as_str(&b)) < 0)
        io->bad = true;
    buf_done(&b);
}

static void io_policy(struct io *io, struct sched *s)
{
    bytes(io, &s->policy_text);
    if (!io->out && s->policy_text.len) {
        struct policy p;
        if (policy_parse("policy", buf_as_str(&s->policy_text), &s->policy_arena, &p, NULL) < 0)
            io->bad = true;
        else
            s->policy = p;
        s->policy.mix_text = arena_str(&s->policy_arena, s->policy.mix_text);
    }
    struct buf b = {0};
    if (io->out)
        mix_save(&s->mix, &s->words, &b);
    bytes(io, &b);
    struct str in = buf_as_str(&b);
    if (!io->out && !io->bad && mix_load(&s->mix, &in, &s->words, NULL) < 0)
        io->bad = true;
    buf_done(&b);
}

static void walk(struct io *io, struct sched *s)
{
    uint64_t magic = SAVE_MAGIC;
    uint32_t sizes[6] = {sizeof(struct shape_entry), sizeof(struct tree_leaf),
                         sizeof(struct job), sizeof(struct gang), sizeof(struct claim),
                         sizeof(struct lane)}, got[6];
    memcpy(got, sizes, sizeof got);
    FIELD(io, magic);
    FIELD(io, got);
    if (magic != SAVE_MAGIC || memcmp(got, sizes, sizeof got) != 0) {
        io->bad = true;
        return;
    }
    io_words(io, s);
    io_policy(io, s);
    io_forecast(io, s);
    uint32_t *map = io_nodes(io, s);
    io_slabs(io, s);
    io_trees(io, s);
    if (!io->out && !io->bad)
        rehash(s);
    io_jobs(io, s);
    io_gangs(io, s);
    if (!io->bad)
        io_claims(io, s, map);
    if (!io->bad)
        io_lanes(io, s);
    io_numbers(io, s); /* what restoring the rest has moved is set right */
    if (!io->bad)
        io_owed(io, s);
    free(map);
}

void sched_save(const struct sched *s, struct buf *out)
{
    size_t from = out->len;
    struct io io = {.out = out};
    walk(&io, (struct sched *)s); /* writing changes nothing */
    uint64_t sum = digest_bytes(out->data + from, out->len - from, 7);
    buf_add(out, &sum, sizeof sum);
}

int sched_load(struct sched **ret, struct str in, struct err *err)
{
    uint64_t sum;
    if (in.len < sizeof sum)
        return err_set(err, EBADMSG, "a snapshot of %zu bytes is cut short", in.len);
    memcpy(&sum, in.ptr + in.len - sizeof sum, sizeof sum);
    if (sum != digest_bytes(in.ptr, in.len - sizeof sum, 7))
        return err_set(err, EBADMSG, "the snapshot is damaged: its hash does not match");
    struct io io = {.in = {in.ptr, in.len - sizeof sum}};
    struct sched *s = sched_create();
    walk(&io, s);
    if (io.bad || io.in.len) {
        sched_destroy(s);
        return err_set(err, EBADMSG, "the snapshot was written by another build");
    }
    *ret = s;
    return 0;
}
