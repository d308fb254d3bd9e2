/* codec.c - records as bytes and back, from one description of the fields
 *
 * Each kind has one function that walks its fields in order; `struct io` says whether
 * the walk writes or reads, so the two directions cannot drift apart. Numbers are
 * LEB128 varints (signed ones zigzag), strings and arrays are a count and their items,
 * a device type's row stands in line where the first device uses it. There is one way
 * to write each record: reading refuses overlong varints, so whatever decodes encodes
 * to the same bytes. Every count is held against a limit and against the bytes that are
 * left (an item takes at least one), so hostile input allocates at most some hundred
 * times its own length.
 *
 * record: kind, would, seq, at, [why of a decision], fields of the kind
 * SPDX-License-Identifier: Apache-2.0 */
#include "event/codec.h"

#include <errno.h>

#define SEATS_MAX ((uint32_t)JOB_SLOTS_MAX)
#define SAME_MAX                                                         \
    (1u << 20) /* gangs in one pass: as many as a pass may ask questions \
                */

struct io {
    struct buf *out;     /* writing, else NULL */
    struct arena *arena; /* reading: where what is pointed to goes */
    const char *start;
    struct str in;
    const char *field; /* first failure: where and why */
    const char *bad;
    size_t bad_at;
};

static void fail(struct io *io, const char *field, const char *why)
{
    if (io->bad)
        return;
    io->field = field;
    io->bad = why;
    io->bad_at = io->out ? 0 : (size_t)(io->in.ptr - io->start);
    io->in.len = 0;
}

enum { NUMBER_BYTES = 10 };

/* A journal writes some thirty numbers a record: where there is room, straight into it. */
static void put(struct buf *out, uint64_t x)
{
    char bytes[NUMBER_BYTES];
    bool room = out->room - out->len > NUMBER_BYTES;
    char *to = room ? out->data + out->len : bytes;
    size_t n = 0;
    for (; x >= 0x80; x >>= 7)
        to[n++] = (char)(0x80 | (x & 0x7f));
    to[n++] = (char)x;
    if (!room) {
        buf_add(out, bytes, n);
        return;
    }
    to[n] = '\0';
    out->len += n;
}

static uint64_t get(struct io *io, const char *field)
{
    uint64_t x = 0;
    for (unsigned i = 0; i < 10; i++) {
        if (i >= io->in.len) {
            fail(io, field, "the record ends early");
            return 0;
        }
        unsigned char c = (unsigned char)io->in.ptr[i];
        if (i == 9 && c > 1)
            break;
        x |= (uint64_t)(c & 0x7f) << (7 * i);
        if (c & 0x80)
            continue;
        if (c == 0 && i > 0)
            break;
        io->in.ptr += i + 1;
        io->in.len -= i + 1;
        return x;
    }
    fail(io, field, "a number is not in its shortest form");
    return 0;
}

static uint64_t number(struct io *io, uint64_t x, uint64_t most, const char *field)
{
    if (io->out) {
        put(io->out, x);
        return x;
    }
    x = get(io, field);
    if (x > most)
        fail(io, field, "a number is too large");
    return io->bad ? 0 : x;
}

static void u64(struct io *io, uint64_t *x, const char *field)
{
    *x = number(io, *x, UINT64_MAX, field);
}

static void u32(struct io *io, uint32_t *x, const char *field)
{
    *x = (uint32_t)number(io, *x, UINT32_MAX, field);
}

static void u16(struct io *io, uint16_t *x, const char *field)
{
    *x = (uint16_t)number(io, *x, UINT16_MAX, field);
}

static void u8(struct io *io, uint8_t *x, const char *field)
{
    *x = (uint8_t)number(io, *x, UINT8_MAX, field);
}

static void flag(struct io *io, bool *x, const char *field)
{
    *x = number(io, *x, 1, field);
}

static void i64(struct io *io, int64_t *x, const char *field)
{
    uint64_t z = ((uint64_t)*x << 1) ^ (*x < 0 ? UINT64_MAX : 0);
    z = number(io, z, UINT64_MAX, field);
    *x = (int64_t)((z >> 1) ^ (z & 1 ? UINT64_MAX : 0));
}

static void i32(struct io *io, int32_t *x, const char *field)
{
    int64_t wide = *x;
    i64(io, &wide, field);
    if (wide < INT32_MIN || wide > INT32_MAX) {
        fail(io, field, "a number is too large");
        wide = 0;
    }
    *x = (int32_t)wide;
}

static void word(struct io *io, word_t *x, const char *field)
{
    *x = (word_t)number(io, *x, WORD_MAX, field);
}

/* A count of things that take at least one byte each. */
static void count(struct io *io, uint32_t *n, uint32_t most, const char *field)
{
    *n = (uint32_t)number(io, *n, most, field);
    if (!io->out && *n > io->in.len) {
        fail(io, field, "a count is larger than what follows");
        *n = 0;
    }
}

static void text(struct io *io, struct str *s, uint32_t most, const char *field)
{
    uint32_t len = (uint32_t)s->len;
    count(io, &len, most, field);
    if (io->out) {
        if (len)
            buf_add(io->out, s->ptr, len);
        return;
    }
    if (io->bad || len == 0) {
        *s = (struct str){0};
        return;
    }
    *s = arena_str(io->arena, (struct str){io->in.ptr, len});
    io->in.ptr += len;
    io->in.len -= len;
}

static void name(struct io *io, struct str *s, const char *field)
{
    text(io, s, JOB_NAME_MAX, field);
}

/* The items behind a pointer: a cleared array of n when reading, `old` itself when
 * writing (it is only read then). */
static void *items(struct io *io, const void *old, uint32_t n, size_t size)
{
    if (io->out)
        return (void *)old;
    return n ? arena_zero(io->arena, n * size) : NULL;
}

static void word_items(struct io *io, const word_t **at, uint32_t *n, uint32_t most,
                       const char *field)
{
    count(io, n, most, field);
    word_t *list = items(io, *at, *n, sizeof *list);
    for (uint32_t i = 0; i < *n && !io->bad; i++) {
        word_t w = list[i];
        word(io, &w, field);
        if (!io->out)
            list[i] = w;
    }
    *at = list;
}

static void part_items(struct io *io, const struct node_part **at, uint32_t *n,
                       uint32_t most, const char *field)
{
    count(io, n, most, field);
    struct node_part *list = items(io, *at, *n, sizeof *list);
    for (uint32_t i = 0; i < *n && !io->bad; i++) {
        struct node_part p = list[i];
        word(io, &p.key, field);
        word(io, &p.value, field);
        if (!io->out)
            list[i] = p;
    }
    *at = list;
}

static void name_items(struct io *io, const struct str **at, uint32_t *n, uint32_t most,
                       const char *field)
{
    count(io, n, most, field);
    struct str *list = items(io, *at, *n, sizeof *list);
    for (uint32_t i = 0; i < *n && !io->bad; i++) {
        struct str s = list[i];
        name(io, &s, field);
        if (!io->out)
            list[i] = s;
    }
    *at = list;
}

static void constraint_fields(struct io *io, struct constraint *c)
{
    u32(io, &c->kind, "constraint kind");
    u32(io, &c->hard, "constraint hard");
    u32(io, &c->weight, "constraint weight");
    word(io, &c->tag, "constraint tag");
    word(io, &c->key, "constraint key");
    u32(io, &c->max_skew, "constraint max_skew");
}

/* Two numbers as one, the second above the first's bits: where it is 0, which is the
 * rule, it takes no byte (and streams without it read as they did). */
static void with_above(struct io *io, uint64_t *low, unsigned bits, uint64_t *above,
                       uint64_t most, const char *field)
{
    uint64_t both = *low | *above << bits;
    both = number(io, both, most << bits | ((UINT64_C(1) << bits) - 1), field);
    *low = both & ((UINT64_C(1) << bits) - 1);
    *above = both >> bits;
}

static void mode_fields(struct io *io, struct shape *s)
{
    uint64_t mode = s->gpu_mode, n = s->nalts;
    with_above(io, &mode, 32, &n, SHAPE_ALTS_MAX - 1, "gpu_mode");
    s->gpu_mode = (uint32_t)mode;
    s->nalts = (uint32_t)n;
}

static void slices_fields(struct io *io, uint16_t *slices, uint8_t *alt)
{
    uint64_t low = *slices, above = *alt;
    with_above(io, &low, 16, &above, UINT8_MAX, "slices");
    *slices = (uint16_t)low;
    *alt = (uint8_t)above;
}

static void alt_fields(struct io *io, struct gpu_alt *a)
{
    i64(io, &a->mem_bytes, "alternative mem_bytes");
    u32(io, &a->mode, "alternative mode");
    u32(io, &a->count, "alternative count");
    u32(io, &a->milli, "alternative milli");
    word(io, &a->profile, "alternative profile");
}

static void shape_fields(struct io *io, struct shape *s)
{
    i64(io, &s->cpu_milli, "cpu_milli");
    i64(io, &s->mem_bytes, "mem_bytes");
    i64(io, &s->gpu_mem_bytes, "gpu_mem_bytes");
    u32(io, &s->pod_slots, "pod_slots");
    u32(io, &s->nics, "nics");
    mode_fields(io, s);
    u32(io, &s->gpu_count, "gpu_count");
    u32(io, &s->gpu_milli, "gpu_milli");
    word(io, &s->profile, "profile");
    count(io, &s->ntypes, SHAPE_TYPES_MAX, "types");
    for (uint32_t i = 0; i < s->ntypes; i++) {
        word(io, &s->types[i].type, "type");
        u32(io, &s->types[i].speed_milli, "speed_milli");
    }
    count(io, &s->ntags, SHAPE_TAGS_MAX, "tags");
    for (uint32_t i = 0; i < s->ntags; i++)
        word(io, &s->tags[i], "tag");
    count(io, &s->ntolerate, SHAPE_TOLERATE_MAX, "tolerations");
    for (uint32_t i = 0; i < s->ntolerate; i++)
        word(io, &s->tolerate[i], "toleration");
    count(io, &s->nconstraints, SHAPE_CONSTRAINTS_MAX, "constraints");
    for (uint32_t i = 0; i < s->nconstraints; i++)
        constraint_fields(io, &s->constraints[i]);
    for (uint32_t i = 0; i < s->nalts; i++)
        alt_fields(io, &s->alts[i]);
}

/* A shape that may be absent. */
static void maybe_shape(struct io *io, const struct shape **at)
{
    bool there = *at != NULL;
    flag(io, &there, "shape");
    if (!there) {
        *at = NULL;
        return;
    }
    struct shape *s = items(io, *at, 1, sizeof *s);
    struct shape copy = *s;
    shape_fields(io, &copy);
    if (!io->out)
        *s = copy;
    *at = s;
}

static void group_fields(struct io *io, struct group_spec *g)
{
    u16(io, &g->parent, "parent");
    u16(io, &g->shape, "shape");
    u8(io, &g->depth, "depth");
    u8(io, &g->whole, "whole");
    u8(io, &g->start, "start");
    u16(io, &g->start_group, "start_group");
    word(io, &g->role, "role");
    u32(io, &g->count.min, "min");
    u32(io, &g->count.want, "want");
    u32(io, &g->count.max, "max");
    u32(io, &g->count.step, "step");
    word(io, &g->required, "required");
    word(io, &g->preferred, "preferred");
    u32(io, &g->segment_size, "segment_size");
    word(io, &g->segment_level, "segment_level");
    word(io, &g->spread_kind, "spread_kind");
    u32(io, &g->spread_most, "spread_most");
    u32(io, &g->balanced, "balanced");
}

static void spec_numbers(struct io *io, struct job_spec *s)
{
    u8(io, &s->kind, "kind");
    u8(io, &s->qos, "qos");
    u8(io, &s->success, "success");
    u8(io, &s->on_loss, "on_loss");
    u8(io, &s->checkpoint, "checkpoint");
    u8(io, &s->preemptible, "preemptible");
    u8(io, &s->oracle, "oracle");
    word(io, &s->queue, "queue");
    word(io, &s->user, "user");
    i32(io, &s->priority, "priority");
    u32(io, &s->tries, "tries");
    i64(io, &s->backoff_us, "backoff_us");
    i64(io, &s->submitted_at, "submitted_at");
    i64(io, &s->time_limit_us, "time_limit_us");
    i64(io, &s->expected_us, "expected_us");
    i64(io, &s->ckpt_interval_us, "ckpt_interval_us");
    i64(io, &s->ckpt_save_us, "ckpt_save_us");
    i64(io, &s->ckpt_restore_us, "ckpt_restore_us");
    u64(io, &s->ckpt_bytes, "ckpt_bytes");
    i64(io, &s->protect_us, "protect_us");
    u32(io, &s->max_unavailable, "max_unavailable");
    i64(io, &s->value_milli_h, "value_milli_h");
    i64(io, &s->deadline_at, "deadline_at");
    i64(io, &s->freeze_us, "freeze_us");
}

static void spec_fields(struct io *io, struct job_spec *s)
{
    name(io, &s->name, "name");
    name(io, &s->request, "request");
    name(io, &s->blob, "blob");
    spec_numbers(io, s);
    count(io, &s->ngroups, JOB_GROUPS_MAX, "groups");
    struct group_spec *groups = items(io, s->groups, s->ngroups, sizeof *groups);
    for (uint32_t i = 0; i < s->ngroups && !io->bad; i++) {
        struct group_spec g = groups[i];
        group_fields(io, &g);
        if (!io->out)
            groups[i] = g;
    }
    s->groups = groups;
    count(io, &s->nshapes, JOB_GROUPS_MAX, "shapes");
    struct shape *shapes = items(io, s->shapes, s->nshapes, sizeof *shapes);
    for (uint32_t i = 0; i < s->nshapes && !io->bad; i++) {
        struct shape sh = shapes[i];
        shape_fields(io, &sh);
        if (!io->out)
            shapes[i] = sh;
    }
    s->shapes = shapes;
}

static void profile_fields(struct io *io, struct profile *p)
{
    word(io, &p->name, "profile name");
    u16(io, &p->starts, "profile starts");
    u8(io, &p->slices, "profile slices");
    u8(io, &p->compute, "profile compute");
    i64(io, &p->mem_bytes, "profile mem_bytes");
    u32(io, &p->milli, "profile milli");
}

static void type_fields(struct io *io, struct device_type *t)
{
    word(io, &t->name, "type name");
    i64(io, &t->mem_bytes, "type mem_bytes");
    u8(io, &t->modes, "type modes");
    u8(io, &t->mem_slices, "mem_slices");
    u8(io, &t->compute_slices, "compute_slices");
    count(io, &t->nprofiles, PROFILES_MAX, "profiles");
    struct profile *profiles = items(io, t->profiles, t->nprofiles, sizeof *profiles);
    for (uint32_t i = 0; i < t->nprofiles && !io->bad; i++) {
        struct profile p = profiles[i];
        profile_fields(io, &p);
        if (!io->out)
            profiles[i] = p;
    }
    t->profiles = profiles;
}

/* The types of one node's devices, in the order of their first use. */
struct types {
    const struct device_type *at[NODE_DEVICES_MAX];
    uint32_t n;
};

static void device_type_field(struct io *io, struct types *types,
                              const struct device_type **at)
{
    uint32_t i = 0;
    while (io->out && i < types->n && types->at[i] != *at)
        i++;
    i = (uint32_t)number(io, i, types->n, "device type");
    if (i == types->n) {
        struct device_type *t = items(io, *at, 1, sizeof *t);
        struct device_type copy = *t;
        type_fields(io, &copy);
        if (!io->out)
            *t = copy;
        types->at[types->n++] = t;
    }
    *at = types->at[i];
}

static void device_fields(struct io *io, struct types *types, struct device_desc *d)
{
    device_type_field(io, types, &d->type);
    name(io, &d->uuid, "uuid");
    i64(io, &d->mem_bytes, "device mem_bytes");
    i64(io, &d->reserved_bytes, "reserved_bytes");
    u8(io, &d->modes, "modes");
    u8(io, &d->state, "device state");
    u8(io, &d->island, "island");
    u8(io, &d->numa, "numa");
}

static void node_fields(struct io *io, struct node_desc *d)
{
    name(io, &d->name, "name");
    name(io, &d->uid, "uid");
    i64(io, &d->cpu_milli, "cpu_milli");
    i64(io, &d->mem_bytes, "mem_bytes");
    u32(io, &d->pod_slots, "pod_slots");
    u32(io, &d->nics, "nics");
    u8(io, &d->state, "state");
    count(io, &d->ndevices, NODE_DEVICES_MAX, "devices");
    struct device_desc *devices = items(io, d->devices, d->ndevices, sizeof *devices);
    struct types types = {.n = 0};
    for (uint32_t i = 0; i < d->ndevices && !io->bad; i++) {
        struct device_desc dev = devices[i];
        device_fields(io, &types, &dev);
        if (!io->out)
            devices[i] = dev;
    }
    d->devices = devices;
    count(io, &d->nlegal, NODE_LEGAL_MAX, "legal sets");
    uint64_t *legal = items(io, d->legal, d->nlegal, sizeof *legal);
    for (uint32_t i = 0; i < d->nlegal && !io->bad; i++) {
        uint64_t mask = legal[i];
        u64(io, &mask, "legal set");
        if (!io->out)
            legal[i] = mask;
    }
    d->legal = legal;
    word_items(io, &d->tags, &d->ntags, NODE_TAGS_MAX, "tags");
    word_items(io, &d->taints, &d->ntaints, NODE_TAINTS_MAX, "taints");
    part_items(io, &d->parts, &d->nparts, NODE_PARTS_MAX, "partitions");
    part_items(io, &d->faults, &d->nfaults, NODE_FAULTS_MAX, "faults");
    part_items(io, &d->place, &d->nplace, NODE_LEVELS_MAX, "place");
}

static void gang_fields(struct io *io, struct gang_ref *g)
{
    name(io, &g->job, "job");
    u16(io, &g->group, "group");
    u32(io, &g->copy, "copy");
}

static void slot_fields(struct io *io, struct slot_ref *s)
{
    u16(io, &s->leaf, "leaf");
    u32(io, &s->index, "slot index");
}

static void ref_fields(struct io *io, struct task_ref *t)
{
    name(io, &t->task, "task");
    u64(io, &t->launch, "launch");
    gang_fields(io, &t->gang);
    slot_fields(io, &t->slot);
}

static void ref_items(struct io *io, const struct task_ref **at, uint32_t *n)
{
    count(io, n, SEATS_MAX, "tasks");
    struct task_ref *list = items(io, *at, *n, sizeof *list);
    for (uint32_t i = 0; i < *n && !io->bad; i++) {
        struct task_ref t = list[i];
        ref_fields(io, &t);
        if (!io->out)
            list[i] = t;
    }
    *at = list;
}

static void seat_items(struct io *io, const struct seat **at, uint32_t *n)
{
    count(io, n, SEATS_MAX, "seats");
    struct seat *list = items(io, *at, *n, sizeof *list);
    for (uint32_t i = 0; i < *n && !io->bad; i++) {
        struct seat s = list[i];
        slot_fields(io, &s.slot);
        u32(io, &s.rank, "rank");
        name(io, &s.task, "task");
        name(io, &s.node, "node");
        u64(io, &s.devs, "devs");
        slices_fields(io, &s.slices, &s.alt);
        if (!io->out)
            list[i] = s;
    }
    *at = list;
}

static void gang_items(struct io *io, const struct gang_ref **at, uint32_t *n)
{
    count(io, n, SAME_MAX, "gangs");
    struct gang_ref *list = items(io, *at, *n, sizeof *list);
    for (uint32_t i = 0; i < *n && !io->bad; i++) {
        struct gang_ref g = list[i];
        gang_fields(io, &g);
        if (!io->out)
            list[i] = g;
    }
    *at = list;
}

static void why_fields(struct io *io, struct why *w)
{
    u16(io, &w->code, "why code");
    u16(io, &w->level, "why level");
    u32(io, &w->need, "why need");
    u32(io, &w->have, "why have");
    u32(io, &w->other, "why other");
    u64(io, &w->who, "why who");
}

static void event_fields_jobs(struct io *io, struct record *r)
{
    switch (r->kind) {
    case EV_JOB_SET: {
        struct job_spec *s = items(io, r->job_set, 1, sizeof *s);
        struct job_spec copy = *s;
        spec_fields(io, &copy);
        if (!io->out)
            *s = copy;
        r->job_set = s;
        break;
    }
    case EV_JOB_DO:
        name(io, &r->job_do.job, "job");
        name(io, &r->job_do.by, "by");
        name(io, &r->job_do.reason, "reason");
        u8(io, &r->job_do.verb, "verb");
        break;
    case EV_TASK_OFFERED:
        ref_fields(io, &r->task_offered.ref);
        maybe_shape(io, &r->task_offered.shape);
        flag(io, &r->task_offered.gated, "gated");
        flag(io, &r->task_offered.bare, "bare");
        break;
    case EV_TASK_GONE: ref_fields(io, &r->task_gone.ref); break;
    case EV_CHECKPOINT_SAVED:
        name(io, &r->checkpoint_saved.job, "job");
        u64(io, &r->checkpoint_saved.step, "step");
        u64(io, &r->checkpoint_saved.bytes, "bytes");
        i64(io, &r->checkpoint_saved.saved_at, "saved_at");
        break;
    case EV_BUDGET_SET:
        name(io, &r->budget_set.job, "job");
        u32(io, &r->budget_set.allowed, "allowed");
        break;
    default: /* EV_SIGNAL */
        name(io, &r->signal.job, "job");
        name(io, &r->signal.node, "node");
        u8(io, &r->signal.kind, "kind");
        u32(io, &r->signal.class_, "class");
        u64(io, &r->signal.ranks, "ranks");
        break;
    }
}

static void event_fields_nodes(struct io *io, struct record *r)
{
    switch (r->kind) {
    case EV_NODE_SET: {
        struct node_desc *d = items(io, r->node_set, 1, sizeof *d);
        struct node_desc copy = *d;
        node_fields(io, &copy);
        if (!io->out)
            *d = copy;
        r->node_set = d;
        break;
    }
    case EV_NODE_GONE: name(io, &r->node_gone.node, "node"); break;
    case EV_DEVICE_SET:
        name(io, &r->device_set.node, "node");
        u32(io, &r->device_set.device, "device");
        u8(io, &r->device_set.state, "state");
        word(io, &r->device_set.evidence, "evidence");
        break;
    case EV_TAG_SET:
        word(io, &r->tag_set.tag, "tag");
        flag(io, &r->tag_set.on, "on");
        name_items(io, &r->tag_set.nodes, &r->tag_set.nnodes, TAG_SET_MAX, "nodes");
        name_items(io, &r->tag_set.tasks, &r->tag_set.ntasks, TAG_SET_MAX, "tasks");
        break;
    default: /* EV_FOREIGN_SET */
        name(io, &r->foreign_set.name, "name");
        name(io, &r->foreign_set.node, "node");
        maybe_shape(io, &r->foreign_set.shape);
        u64(io, &r->foreign_set.devs, "devs");
        i32(io, &r->foreign_set.priority, "priority");
        u8(io, &r->foreign_set.phase, "phase");
        break;
    }
}

static void event_fields_tasks(struct io *io, struct record *r)
{
    switch (r->kind) {
    case EV_TASK_AT:
        ref_fields(io, &r->task_at.ref);
        name(io, &r->task_at.node, "node");
        u64(io, &r->task_at.devs, "devs");
        i64(io, &r->task_at.since, "since");
        slices_fields(io, &r->task_at.slices, &r->task_at.alt);
        u8(io, &r->task_at.phase, "phase");
        break;
    case EV_TASK_REFUSED:
        ref_fields(io, &r->task_refused.ref);
        i64(io, &r->task_refused.retry_at, "retry_at");
        u8(io, &r->task_refused.class_, "class");
        break;
    case EV_TASK_ENDING:
        ref_fields(io, &r->task_ending.ref);
        i64(io, &r->task_ending.deadline, "deadline");
        u8(io, &r->task_ending.by, "by");
        break;
    case EV_TASK_ENDED:
        ref_fields(io, &r->task_ended.ref);
        i32(io, &r->task_ended.exit, "exit");
        u8(io, &r->task_ended.how, "how");
        break;
    default: /* EV_STOP_REFUSED */
        ref_fields(io, &r->stop_refused.ref);
        u64(io, &r->stop_refused.stop, "stop");
        i64(io, &r->stop_refused.retry_at, "retry_at");
        u8(io, &r->stop_refused.why, "why");
        break;
    }
}

static void event_fields_rest(struct io *io, struct record *r)
{
    switch (r->kind) {
    case REC_WORD:
        word(io, &r->word.id, "id");
        text(io, &r->word.text, WORD_LEN_MAX, "text");
        break;
    case EV_POLICY_SET: text(io, &r->policy_set.text, POLICY_BYTES_MAX, "text"); break;
    case EV_SYNC_BEGIN:
    case EV_SYNCED:
        name(io, &r->sync.node, "node");
        u64(io, &r->sync.epoch, "epoch");
        u32(io, &r->sync.caps, "caps");
        break;
    case EV_SOFT_SET:
        u32(io, &r->soft_set.version, "version");
        text(io, &r->soft_set.bytes, SOFT_BYTES_MAX, "bytes");
        break;
    case EV_LEAD:
        flag(io, &r->lead.held, "held");
        u32(io, &r->lead.term, "term");
        break;
    default: /* REC_NONE, REC_BORDER, EV_TIME: nothing more */ break;
    }
}

static void decision_fields_plan(struct io *io, struct record *r)
{
    switch (r->kind) {
    case DE_LAUNCH:
        u32(io, &r->launch.plan, "plan");
        u32(io, &r->launch.stage, "stage");
        u64(io, &r->launch.launch, "launch");
        gang_fields(io, &r->launch.gang);
        i64(io, &r->launch.launch_by, "launch_by");
        seat_items(io, &r->launch.seats, &r->launch.nseats);
        break;
    case DE_STOP:
        u32(io, &r->stop.plan, "plan");
        u64(io, &r->stop.stop, "stop");
        i64(io, &r->stop.deadline, "deadline");
        i64(io, &r->stop.grace_us, "grace_us");
        u8(io, &r->stop.mode, "mode");
        u8(io, &r->stop.first, "first");
        ref_items(io, &r->stop.tasks, &r->stop.ntasks);
        break;
    default: /* DE_HOLD */
        u32(io, &r->hold.plan, "plan");
        gang_fields(io, &r->hold.gang);
        word(io, &r->hold.domain_level, "domain_level");
        word(io, &r->hold.domain, "domain");
        u32(io, &r->hold.count, "count");
        i64(io, &r->hold.until, "until");
        i64(io, &r->hold.start, "start");
        i64(io, &r->hold.by, "by");
        i64(io, &r->hold.expected, "expected");
        u8(io, &r->hold.what, "what");
        seat_items(io, &r->hold.seats, &r->hold.nseats);
        break;
    }
}

static void decision_fields_rest(struct io *io, struct record *r)
{
    switch (r->kind) {
    case DE_ASK:
        name(io, &r->ask.job, "job");
        i64(io, &r->ask.deadline, "deadline");
        u8(io, &r->ask.what, "what");
        break;
    case DE_CORDON:
        name(io, &r->cordon.node, "node");
        flag(io, &r->cordon.on, "on");
        break;
    case DE_SAY:
        gang_fields(io, &r->say.gang);
        name(io, &r->say.node, "node");
        break;
    default: /* DE_PASS */
        u32(io, &r->pass.left, "left");
        gang_items(io, &r->pass.same, &r->pass.nsame);
        break;
    }
}

typedef void fields_f(struct io *io, struct record *r);
static fields_f *const fields[REC_KINDS] = {
    [REC_NONE] = event_fields_rest,         [REC_WORD] = event_fields_rest,
    [REC_BORDER] = event_fields_rest,       [EV_JOB_SET] = event_fields_jobs,
    [EV_JOB_DO] = event_fields_jobs,        [EV_TASK_OFFERED] = event_fields_jobs,
    [EV_TASK_GONE] = event_fields_jobs,     [EV_NODE_SET] = event_fields_nodes,
    [EV_NODE_GONE] = event_fields_nodes,    [EV_DEVICE_SET] = event_fields_nodes,
    [EV_TAG_SET] = event_fields_nodes,      [EV_FOREIGN_SET] = event_fields_nodes,
    [EV_TASK_AT] = event_fields_tasks,      [EV_TASK_REFUSED] = event_fields_tasks,
    [EV_TASK_ENDING] = event_fields_tasks,  [EV_TASK_ENDED] = event_fields_tasks,
    [EV_STOP_REFUSED] = event_fields_tasks, [EV_CHECKPOINT_SAVED] = event_fields_jobs,
    [EV_BUDGET_SET] = event_fields_jobs,    [EV_SIGNAL] = event_fields_jobs,
    [EV_POLICY_SET] = event_fields_rest,    [EV_SYNC_BEGIN] = event_fields_rest,
    [EV_SYNCED] = event_fields_rest,        [EV_SOFT_SET] = event_fields_rest,
    [EV_LEAD] = event_fields_rest,          [EV_TIME] = event_fields_rest,
    [DE_LAUNCH] = decision_fields_plan,     [DE_STOP] = decision_fields_plan,
    [DE_ASK] = decision_fields_rest,        [DE_HOLD] = decision_fields_plan,
    [DE_CORDON] = decision_fields_rest,     [DE_SAY] = decision_fields_rest,
    [DE_PASS] = decision_fields_rest,
};

static void record_fields(struct io *io, struct record *r)
{
    r->kind = (uint16_t)number(io, r->kind, REC_KINDS - 1, "kind");
    r->would = (uint16_t)number(io, r->would, 1, "would");
    u64(io, &r->seq, "seq");
    i64(io, &r->at, "at");
    if (io->bad)
        return;
    if (record_is_decision(r->kind))
        why_fields(io, &r->why);
    fields[r->kind](io, r);
}

void record_encode(const struct record *r, struct buf *out)
{
    struct io io = {.out = out};
    struct record copy = *r; /* the walk stores back what it has just read */
    record_fields(&io, &copy);
}

int record_decode(struct str *in, struct records *rs, struct err *err)
{
    struct io io = {.arena = &rs->arena, .start = in->ptr, .in = *in};
    struct record *r = records_add(rs, REC_NONE);
    record_fields(&io, r);
    if (io.bad) {
        int kind = r->kind;
        rs->list.n--;
        return err_set(err, EBADMSG, "%s: %s at byte %zu: %s", record_kind_name(kind),
                       io.field, io.bad_at, io.bad);
    }
    *in = io.in;
    return 0;
}
