/* test-codec.c - every kind of record, with random contents, through bytes and back
 * What comes back is compared field by field (memory of cleared structs, pointers
 * followed), so a field that the codec forgets is seen; then cut, flipped and random
 * bytes must be refused or decode to something that encodes to the same bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <errno.h>

#include "base/rng.h"
#include "event/codec.h"

#define NEW(a, type, n) ((type *)arena_zero((a), (n) * sizeof(type)))

static struct rng rng;

static uint64_t below(uint64_t n)
{
    return rng_below(&rng, n);
}

/* Small numbers, large ones and the edges alike. */
static uint64_t bits(unsigned width)
{
    uint64_t all = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    uint64_t x = rng_u64(&rng) >> below(64);
    return below(16) == 0 ? all : x & all;
}

static struct str text(struct arena *a, uint32_t most)
{
    char bytes[300];
    uint32_t len = (uint32_t)below((most > 300 ? 300 : most) + 1);
    for (uint32_t i = 0; i < len; i++)
        bytes[i] = (char)bits(8);
    return len ? arena_str(a, (struct str){bytes, len}) : (struct str){0};
}

static struct str name(struct arena *a)
{
    return text(a, below(8) ? 12 : JOB_NAME_MAX);
}

static word_t word(void)
{
    return (word_t)below(WORD_MAX + 1);
}

static void fill_shape(struct shape *s)
{
    s->cpu_milli = (int64_t)bits(64);
    s->mem_bytes = (int64_t)bits(64);
    s->gpu_mem_bytes = (int64_t)bits(64);
    s->pod_slots = (uint32_t)bits(32);
    s->nics = (uint32_t)bits(32);
    s->gpu_mode = (uint32_t)bits(32);
    s->gpu_count = (uint32_t)bits(32);
    s->gpu_milli = (uint32_t)bits(32);
    s->profile = word();
    s->ntypes = (uint32_t)below(SHAPE_TYPES_MAX + 1);
    for (uint32_t i = 0; i < s->ntypes; i++) {
        s->types[i].type = word();
        s->types[i].speed_milli = (uint32_t)bits(32);
    }
    s->ntags = (uint32_t)below(SHAPE_TAGS_MAX + 1);
    for (uint32_t i = 0; i < s->ntags; i++)
        s->tags[i] = word();
    s->ntolerate = (uint32_t)below(SHAPE_TOLERATE_MAX + 1);
    for (uint32_t i = 0; i < s->ntolerate; i++)
        s->tolerate[i] = word();
    s->nconstraints = (uint32_t)below(SHAPE_CONSTRAINTS_MAX + 1);
    for (uint32_t i = 0; i < s->nconstraints; i++) {
        struct constraint *c = &s->constraints[i];
        c->kind = (uint32_t)bits(32);
        c->hard = (uint32_t)bits(32);
        c->weight = (uint32_t)bits(32);
        c->tag = word();
        c->key = word();
        c->max_skew = (uint32_t)bits(32);
    }
    s->nalts = (uint32_t)below(SHAPE_ALTS_MAX);
    for (uint32_t i = 0; i < s->nalts; i++) {
        s->alts[i].mem_bytes = (int64_t)bits(64);
        s->alts[i].mode = (uint32_t)bits(32);
        s->alts[i].count = (uint32_t)bits(32);
        s->alts[i].milli = (uint32_t)bits(32);
        s->alts[i].profile = word();
    }
}

static void fill_group(struct group_spec *g)
{
    g->parent = (uint16_t)bits(16);
    g->shape = (uint16_t)bits(16);
    g->depth = (uint8_t)bits(8);
    g->whole = (uint8_t)bits(8);
    g->start = (uint8_t)bits(8);
    g->start_group = (uint16_t)bits(16);
    g->role = word();
    g->count.min = (uint32_t)bits(32);
    g->count.want = (uint32_t)bits(32);
    g->count.max = (uint32_t)bits(32);
    g->count.step = (uint32_t)bits(32);
    g->required = word();
    g->preferred = word();
    g->segment_size = (uint32_t)bits(32);
    g->segment_level = word();
    g->spread_kind = word();
    g->spread_most = (uint32_t)bits(32);
    g->balanced = (uint32_t)bits(32);
}

static struct job_spec *make_spec(struct arena *a)
{
    struct job_spec *s = NEW(a, struct job_spec, 1);
    s->name = name(a);
    s->request = name(a);
    s->blob = name(a);
    s->kind = (uint8_t)bits(8);
    s->qos = (uint8_t)bits(8);
    s->success = (uint8_t)bits(8);
    s->on_loss = (uint8_t)bits(8);
    s->checkpoint = (uint8_t)bits(8);
    s->preemptible = (uint8_t)bits(8);
    s->oracle = (uint8_t)bits(8);
    s->queue = word();
    s->user = word();
    s->priority = (int32_t)bits(32);
    s->tries = (uint32_t)bits(32);
    s->max_unavailable = (uint32_t)bits(32);
    s->ckpt_bytes = bits(64);
    int64_t *times[] = {&s->backoff_us,      &s->submitted_at,     &s->time_limit_us,
                        &s->expected_us,     &s->ckpt_interval_us, &s->ckpt_save_us,
                        &s->ckpt_restore_us, &s->protect_us,       &s->value_milli_h,
                        &s->deadline_at,     &s->freeze_us};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] = (int64_t)bits(64);
    s->ngroups = (uint32_t)below(below(8) ? 5 : JOB_GROUPS_MAX + 1);
    struct group_spec *groups = NEW(a, struct group_spec, s->ngroups);
    for (uint32_t i = 0; i < s->ngroups; i++)
        fill_group(&groups[i]);
    s->nshapes = (uint32_t)below(4);
    struct shape *shapes = NEW(a, struct shape, s->nshapes);
    for (uint32_t i = 0; i < s->nshapes; i++)
        fill_shape(&shapes[i]);
    s->groups = s->ngroups ? groups : NULL;
    s->shapes = s->nshapes ? shapes : NULL;
    return s;
}

static const struct node_part *make_parts(struct arena *a, uint32_t *n, uint32_t most)
{
    *n = (uint32_t)below(most + 1);
    struct node_part *p = NEW(a, struct node_part, *n);
    for (uint32_t i = 0; i < *n; i++)
        p[i] = (struct node_part){word(), word()};
    return *n ? p : NULL;
}

static const word_t *make_words(struct arena *a, uint32_t *n, uint32_t most)
{
    *n = (uint32_t)below(most + 1);
    word_t *w = NEW(a, word_t, *n);
    for (uint32_t i = 0; i < *n; i++)
        w[i] = word();
    return *n ? w : NULL;
}

static struct device_type *make_type(struct arena *a)
{
    struct device_type *t = NEW(a, struct device_type, 1);
    t->name = word();
    t->mem_bytes = (int64_t)bits(64);
    t->modes = (uint8_t)bits(8);
    t->mem_slices = (uint8_t)bits(8);
    t->compute_slices = (uint8_t)bits(8);
    t->nprofiles = (uint32_t)below(PROFILES_MAX + 1);
    struct profile *p = NEW(a, struct profile, t->nprofiles);
    for (uint32_t i = 0; i < t->nprofiles; i++) {
        p[i].name = word();
        p[i].starts = (uint16_t)bits(16);
        p[i].slices = (uint8_t)bits(8);
        p[i].compute = (uint8_t)bits(8);
        p[i].mem_bytes = (int64_t)bits(64);
        p[i].milli = (uint32_t)bits(32);
    }
    t->profiles = t->nprofiles ? p : NULL;
    return t;
}

static const struct device_desc *make_devices(struct arena *a, uint32_t *n)
{
    *n = (uint32_t)below(below(8) ? 9 : NODE_DEVICES_MAX + 1);
    struct device_desc *d = NEW(a, struct device_desc, *n);
    struct device_type *types[3] = {make_type(a), make_type(a), make_type(a)};
    for (uint32_t i = 0; i < *n; i++) {
        d[i].type = types[below(3)];
        d[i].uuid = name(a);
        d[i].mem_bytes = (int64_t)bits(64);
        d[i].reserved_bytes = (int64_t)bits(64);
        d[i].modes = (uint8_t)bits(8);
        d[i].state = (uint8_t)bits(8);
        d[i].island = (uint8_t)bits(8);
        d[i].numa = (uint8_t)bits(8);
    }
    return *n ? d : NULL;
}

static struct node_desc *make_node(struct arena *a)
{
    struct node_desc *d = NEW(a, struct node_desc, 1);
    d->name = name(a);
    d->uid = name(a);
    d->cpu_milli = (int64_t)bits(64);
    d->mem_bytes = (int64_t)bits(64);
    d->pod_slots = (uint32_t)bits(32);
    d->nics = (uint32_t)bits(32);
    d->state = (uint8_t)bits(8);
    d->devices = make_devices(a, &d->ndevices);
    d->nlegal = (uint32_t)below(NODE_LEGAL_MAX + 1);
    uint64_t *legal = NEW(a, uint64_t, d->nlegal);
    for (uint32_t i = 0; i < d->nlegal; i++)
        legal[i] = bits(64);
    d->legal = d->nlegal ? legal : NULL;
    d->tags = make_words(a, &d->ntags, NODE_TAGS_MAX);
    d->taints = make_words(a, &d->ntaints, NODE_TAINTS_MAX);
    d->parts = make_parts(a, &d->nparts, NODE_PARTS_MAX);
    d->faults = make_parts(a, &d->nfaults, NODE_FAULTS_MAX);
    d->place = make_parts(a, &d->nplace, NODE_LEVELS_MAX);
    return d;
}

static void fill_gang(struct arena *a, struct gang_ref *g)
{
    g->job = name(a);
    g->group = (uint16_t)bits(16);
    g->copy = (uint32_t)bits(32);
}

static void fill_ref(struct arena *a, struct task_ref *t)
{
    t->task = name(a);
    t->launch = bits(64);
    fill_gang(a, &t->gang);
    t->slot.leaf = (uint16_t)bits(16);
    t->slot.index = (uint32_t)bits(32);
}

static const struct seat *make_seats(struct arena *a, uint32_t *n)
{
    *n = (uint32_t)below(6);
    struct seat *s = NEW(a, struct seat, *n);
    for (uint32_t i = 0; i < *n; i++) {
        s[i].slot.leaf = (uint16_t)bits(16);
        s[i].slot.index = (uint32_t)bits(32);
        s[i].rank = (uint32_t)bits(32);
        s[i].task = name(a);
        s[i].node = name(a);
        s[i].devs = bits(64);
        s[i].slices = (uint16_t)bits(16);
        s[i].alt = (uint8_t)bits(8);
    }
    return *n ? s : NULL;
}

static const struct str *make_names(struct arena *a, uint32_t *n)
{
    *n = (uint32_t)below(5);
    struct str *s = NEW(a, struct str, *n);
    for (uint32_t i = 0; i < *n; i++)
        s[i] = name(a);
    return *n ? s : NULL;
}

static const struct shape *make_shape(struct arena *a)
{
    if (below(3) == 0)
        return NULL;
    struct shape *s = NEW(a, struct shape, 1);
    fill_shape(s);
    return s;
}

static void fill_jobs(struct arena *a, struct record *r)
{
    switch (r->kind) {
    case EV_JOB_SET: r->job_set = make_spec(a); break;
    case EV_JOB_DO:
        r->job_do.job = name(a);
        r->job_do.by = name(a);
        r->job_do.reason = name(a);
        r->job_do.verb = (uint8_t)bits(8);
        break;
    case EV_TASK_OFFERED:
        fill_ref(a, &r->task_offered.ref);
        r->task_offered.shape = make_shape(a);
        r->task_offered.gated = below(2);
        r->task_offered.bare = below(2);
        break;
    case EV_TASK_GONE: fill_ref(a, &r->task_gone.ref); break;
    case EV_CHECKPOINT_SAVED:
        r->checkpoint_saved.job = name(a);
        r->checkpoint_saved.step = bits(64);
        r->checkpoint_saved.bytes = bits(64);
        r->checkpoint_saved.saved_at = (int64_t)bits(64);
        break;
    case EV_BUDGET_SET:
        r->budget_set.job = name(a);
        r->budget_set.allowed = (uint32_t)bits(32);
        break;
    case EV_SIGNAL:
        r->signal.job = name(a);
        r->signal.node = name(a);
        r->signal.kind = (uint8_t)bits(8);
        r->signal.class_ = (uint32_t)bits(32);
        r->signal.ranks = bits(64);
        break;
    default: break;
    }
}

static void fill_nodes(struct arena *a, struct record *r)
{
    switch (r->kind) {
    case EV_NODE_SET: r->node_set = make_node(a); break;
    case EV_NODE_GONE: r->node_gone.node = name(a); break;
    case EV_DEVICE_SET:
        r->device_set.node = name(a);
        r->device_set.device = (uint32_t)bits(32);
        r->device_set.state = (uint8_t)bits(8);
        r->device_set.evidence = word();
        break;
    case EV_TAG_SET:
        r->tag_set.tag = word();
        r->tag_set.on = below(2);
        r->tag_set.nodes = make_names(a, &r->tag_set.nnodes);
        r->tag_set.tasks = make_names(a, &r->tag_set.ntasks);
        break;
    case EV_FOREIGN_SET:
        r->foreign_set.name = name(a);
        r->foreign_set.node = name(a);
        r->foreign_set.shape = make_shape(a);
        r->foreign_set.devs = bits(64);
        r->foreign_set.priority = (int32_t)bits(32);
        r->foreign_set.phase = (uint8_t)bits(8);
        break;
    default: break;
    }
}

static void fill_tasks(struct arena *a, struct record *r)
{
    switch (r->kind) {
    case EV_TASK_AT:
        fill_ref(a, &r->task_at.ref);
        r->task_at.node = name(a);
        r->task_at.devs = bits(64);
        r->task_at.since = (int64_t)bits(64);
        r->task_at.slices = (uint16_t)bits(16);
        r->task_at.alt = (uint8_t)bits(8);
        r->task_at.phase = (uint8_t)bits(8);
        break;
    case EV_TASK_REFUSED:
        fill_ref(a, &r->task_refused.ref);
        r->task_refused.retry_at = (int64_t)bits(64);
        r->task_refused.class_ = (uint8_t)bits(8);
        break;
    case EV_TASK_ENDING:
        fill_ref(a, &r->task_ending.ref);
        r->task_ending.deadline = (int64_t)bits(64);
        r->task_ending.by = (uint8_t)bits(8);
        break;
    case EV_TASK_ENDED:
        fill_ref(a, &r->task_ended.ref);
        r->task_ended.exit = (int32_t)bits(32);
        r->task_ended.how = (uint8_t)bits(8);
        break;
    case EV_STOP_REFUSED:
        fill_ref(a, &r->stop_refused.ref);
        r->stop_refused.stop = bits(64);
        r->stop_refused.retry_at = (int64_t)bits(64);
        r->stop_refused.why = (uint8_t)bits(8);
        break;
    default: break;
    }
}

static void fill_rest(struct arena *a, struct record *r)
{
    switch (r->kind) {
    case REC_WORD:
        r->word.id = word();
        r->word.text = text(a, WORD_LEN_MAX);
        break;
    case EV_POLICY_SET: r->policy_set.text = text(a, 300); break;
    case EV_SYNC_BEGIN:
    case EV_SYNCED:
        r->sync.node = name(a);
        r->sync.epoch = bits(64);
        r->sync.caps = (uint32_t)bits(32);
        break;
    case EV_SOFT_SET:
        r->soft_set.version = (uint32_t)bits(32);
        r->soft_set.bytes = text(a, 300);
        break;
    case EV_LEAD:
        r->lead.held = below(2);
        r->lead.term = (uint32_t)bits(32);
        break;
    default: break;
    }
}

static void fill_decision(struct arena *a, struct record *r)
{
    r->why.code = (uint16_t)bits(16);
    r->why.level = (uint16_t)bits(16);
    r->why.need = (uint32_t)bits(32);
    r->why.have = (uint32_t)bits(32);
    r->why.other = (uint32_t)bits(32);
    r->why.who = bits(64);
    switch (r->kind) {
    case DE_LAUNCH:
        r->launch.plan = (uint32_t)bits(32);
        r->launch.stage = (uint32_t)bits(32);
        r->launch.launch = bits(64);
        fill_gang(a, &r->launch.gang);
        r->launch.seats = make_seats(a, &r->launch.nseats);
        r->launch.launch_by = (int64_t)bits(64);
        break;
    case DE_STOP: {
        r->stop.plan = (uint32_t)bits(32);
        r->stop.stop = bits(64);
        r->stop.ntasks = (uint32_t)below(5);
        struct task_ref *t = NEW(a, struct task_ref, r->stop.ntasks);
        for (uint32_t i = 0; i < r->stop.ntasks; i++)
            fill_ref(a, &t[i]);
        r->stop.tasks = r->stop.ntasks ? t : NULL;
        r->stop.deadline = (int64_t)bits(64);
        r->stop.grace_us = (int64_t)bits(64);
        r->stop.mode = (uint8_t)bits(8);
        r->stop.first = (uint8_t)bits(8);
        break;
    }
    case DE_HOLD:
        r->hold.plan = (uint32_t)bits(32);
        fill_gang(a, &r->hold.gang);
        r->hold.seats = make_seats(a, &r->hold.nseats);
        r->hold.domain_level = word();
        r->hold.domain = word();
        r->hold.count = (uint32_t)bits(32);
        r->hold.until = (int64_t)bits(64);
        break;
    case DE_ASK:
        r->ask.job = name(a);
        r->ask.deadline = (int64_t)bits(64);
        r->ask.what = (uint8_t)bits(8);
        break;
    case DE_CORDON:
        r->cordon.node = name(a);
        r->cordon.on = below(2);
        break;
    case DE_SAY:
        fill_gang(a, &r->say.gang);
        r->say.node = name(a);
        break;
    default: { /* DE_PASS */
        r->pass.left = (uint32_t)bits(32);
        r->pass.nsame = (uint32_t)below(5);
        struct gang_ref *same = NEW(a, struct gang_ref, r->pass.nsame);
        for (uint32_t i = 0; i < r->pass.nsame; i++)
            fill_gang(a, &same[i]);
        r->pass.same = r->pass.nsame ? same : NULL;
        break;
    }
    }
}

static void fill(struct arena *a, struct record *r)
{
    r->seq = bits(64);
    r->at = (int64_t)bits(64);
    r->would = (uint16_t)below(2);
    if (record_is_decision(r->kind)) {
        fill_decision(a, r);
        return;
    }
    fill_jobs(a, r);
    fill_nodes(a, r);
    fill_tasks(a, r);
    fill_rest(a, r);
}

/* The same value: strings by contents, the rest of the memory as it is. take_str moves
 * the strings out of two copies, so that what remains can be compared as bytes. */
static bool take_str(struct str *a, struct str *b)
{
    bool same = str_eq(*a, *b);
    *a = *b = (struct str){0};
    return same;
}

static bool take_gang(struct gang_ref *a, struct gang_ref *b)
{
    return take_str(&a->job, &b->job);
}

static bool take_ref(struct task_ref *a, struct task_ref *b)
{
    bool same = take_str(&a->task, &b->task);
    return take_gang(&a->gang, &b->gang) && same;
}

static bool same_bytes(const void **a, const void **b, size_t len)
{
    bool same = len == 0 || (*a && *b && memcmp(*a, *b, len) == 0);
    *a = *b = NULL;
    return same;
}
#define SAME_LIST(a, b, list, n)                                      \
    ((a)->n == (b)->n &&                                              \
     same_bytes((const void **)&(a)->list, (const void **)&(b)->list, \
                (a)->n * sizeof *(a)->list))

static bool same_spec(const struct job_spec *pa, const struct job_spec *pb)
{
    struct job_spec a, b;
    memcpy(&a, pa, sizeof a);
    memcpy(&b, pb, sizeof b);
    bool same = take_str(&a.name, &b.name);
    same &= take_str(&a.request, &b.request);
    same &= take_str(&a.blob, &b.blob);
    same &= SAME_LIST(&a, &b, groups, ngroups);
    same &= SAME_LIST(&a, &b, shapes, nshapes);
    return same && memcmp(&a, &b, sizeof a) == 0;
}

static bool same_type(const struct device_type *pa, const struct device_type *pb)
{
    struct device_type a, b;
    memcpy(&a, pa, sizeof a);
    memcpy(&b, pb, sizeof b);
    return SAME_LIST(&a, &b, profiles, nprofiles) && memcmp(&a, &b, sizeof a) == 0;
}

static bool same_node(const struct node_desc *pa, const struct node_desc *pb)
{
    struct node_desc a, b;
    memcpy(&a, pa, sizeof a);
    memcpy(&b, pb, sizeof b);
    bool same = take_str(&a.name, &b.name) && a.ndevices == b.ndevices;
    same &= take_str(&a.uid, &b.uid);
    for (uint32_t i = 0; same && i < a.ndevices; i++) {
        struct device_desc da, db;
        memcpy(&da, &a.devices[i], sizeof da);
        memcpy(&db, &b.devices[i], sizeof db);
        same &= same_type(da.type, db.type) && take_str(&da.uuid, &db.uuid);
        for (uint32_t k = 0; k < i; k++) /* devices of one type share its row again */
            same &= (a.devices[k].type == da.type) == (b.devices[k].type == db.type);
        da.type = db.type = NULL;
        same &= memcmp(&da, &db, sizeof da) == 0;
    }
    a.devices = b.devices = NULL;
    same &= SAME_LIST(&a, &b, legal, nlegal);
    same &= SAME_LIST(&a, &b, tags, ntags);
    same &= SAME_LIST(&a, &b, taints, ntaints);
    same &= SAME_LIST(&a, &b, parts, nparts);
    same &= SAME_LIST(&a, &b, faults, nfaults);
    same &= SAME_LIST(&a, &b, place, nplace);
    return same && memcmp(&a, &b, sizeof a) == 0;
}

static bool same_shape(const struct shape **a, const struct shape **b)
{
    bool same = !*a == !*b && (!*a || memcmp(*a, *b, sizeof **a) == 0);
    *a = *b = NULL;
    return same;
}

static bool same_seats(const struct seat **a, const struct seat **b, uint32_t n)
{
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        struct seat sa, sb;
        memcpy(&sa, &(*a)[i], sizeof sa);
        memcpy(&sb, &(*b)[i], sizeof sb);
        same &= take_str(&sa.task, &sb.task);
        same &= take_str(&sa.node, &sb.node);
        same &= memcmp(&sa, &sb, sizeof sa) == 0;
    }
    *a = *b = NULL;
    return same;
}

static bool same_refs(const struct task_ref **a, const struct task_ref **b, uint32_t n)
{
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        struct task_ref ra, rb;
        memcpy(&ra, &(*a)[i], sizeof ra);
        memcpy(&rb, &(*b)[i], sizeof rb);
        same &= take_ref(&ra, &rb) && memcmp(&ra, &rb, sizeof ra) == 0;
    }
    *a = *b = NULL;
    return same;
}

static bool same_gangs(const struct gang_ref **a, const struct gang_ref **b, uint32_t n)
{
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        struct gang_ref ga, gb;
        memcpy(&ga, &(*a)[i], sizeof ga);
        memcpy(&gb, &(*b)[i], sizeof gb);
        same &= take_gang(&ga, &gb) && memcmp(&ga, &gb, sizeof ga) == 0;
    }
    *a = *b = NULL;
    return same;
}

static bool same_names(const struct str **a, const struct str **b, uint32_t n)
{
    bool same = true;
    for (uint32_t i = 0; i < n; i++)
        same &= str_eq((*a)[i], (*b)[i]);
    *a = *b = NULL;
    return same;
}

/* Takes every pointer out of the two; false when what they point to differs. */
static bool take_pointers(struct record *a, struct record *b)
{
    switch (a->kind) {
    case REC_WORD: return take_str(&a->word.text, &b->word.text);
    case EV_JOB_SET: {
        bool same = same_spec(a->job_set, b->job_set);
        a->job_set = b->job_set = NULL;
        return same;
    }
    case EV_JOB_DO:
        return take_str(&a->job_do.job, &b->job_do.job) &&
               take_str(&a->job_do.by, &b->job_do.by) &&
               take_str(&a->job_do.reason, &b->job_do.reason);
    case EV_TASK_OFFERED:
        return take_ref(&a->task_offered.ref, &b->task_offered.ref) &&
               same_shape(&a->task_offered.shape, &b->task_offered.shape);
    case EV_TASK_GONE: return take_ref(&a->task_gone.ref, &b->task_gone.ref);
    case EV_NODE_SET: {
        bool same = same_node(a->node_set, b->node_set);
        a->node_set = b->node_set = NULL;
        return same;
    }
    case EV_NODE_GONE: return take_str(&a->node_gone.node, &b->node_gone.node);
    case EV_DEVICE_SET: return take_str(&a->device_set.node, &b->device_set.node);
    case EV_TAG_SET:
        return a->tag_set.nnodes == b->tag_set.nnodes &&
               a->tag_set.ntasks == b->tag_set.ntasks &&
               (same_names(&a->tag_set.nodes, &b->tag_set.nodes, a->tag_set.nnodes) &&
                same_names(&a->tag_set.tasks, &b->tag_set.tasks, a->tag_set.ntasks));
    case EV_FOREIGN_SET:
        return take_str(&a->foreign_set.name, &b->foreign_set.name) &&
               take_str(&a->foreign_set.node, &b->foreign_set.node) &&
               same_shape(&a->foreign_set.shape, &b->foreign_set.shape);
    case EV_TASK_AT:
        return take_ref(&a->task_at.ref, &b->task_at.ref) &&
               take_str(&a->task_at.node, &b->task_at.node);
    case EV_TASK_REFUSED: return take_ref(&a->task_refused.ref, &b->task_refused.ref);
    case EV_TASK_ENDING: return take_ref(&a->task_ending.ref, &b->task_ending.ref);
    case EV_TASK_ENDED: return take_ref(&a->task_ended.ref, &b->task_ended.ref);
    case EV_STOP_REFUSED: return take_ref(&a->stop_refused.ref, &b->stop_refused.ref);
    case EV_CHECKPOINT_SAVED:
        return take_str(&a->checkpoint_saved.job, &b->checkpoint_saved.job);
    case EV_BUDGET_SET: return take_str(&a->budget_set.job, &b->budget_set.job);
    case EV_SIGNAL:
        return take_str(&a->signal.job, &b->signal.job) &&
               take_str(&a->signal.node, &b->signal.node);
    case EV_POLICY_SET: return take_str(&a->policy_set.text, &b->policy_set.text);
    case EV_SYNC_BEGIN:
    case EV_SYNCED: return take_str(&a->sync.node, &b->sync.node);
    case EV_SOFT_SET: return take_str(&a->soft_set.bytes, &b->soft_set.bytes);
    case DE_LAUNCH:
        return a->launch.nseats == b->launch.nseats &&
               (take_gang(&a->launch.gang, &b->launch.gang) &&
                same_seats(&a->launch.seats, &b->launch.seats, a->launch.nseats));
    case DE_STOP:
        return a->stop.ntasks == b->stop.ntasks &&
               same_refs(&a->stop.tasks, &b->stop.tasks, a->stop.ntasks);
    case DE_ASK: return take_str(&a->ask.job, &b->ask.job);
    case DE_HOLD:
        return a->hold.nseats == b->hold.nseats &&
               (take_gang(&a->hold.gang, &b->hold.gang) &&
                same_seats(&a->hold.seats, &b->hold.seats, a->hold.nseats));
    case DE_CORDON: return take_str(&a->cordon.node, &b->cordon.node);
    case DE_SAY:
        return take_gang(&a->say.gang, &b->say.gang) &&
               take_str(&a->say.node, &b->say.node);
    case DE_PASS:
        return a->pass.nsame == b->pass.nsame &&
               same_gangs(&a->pass.same, &b->pass.same, a->pass.nsame);
    default: return true;
    }
}

static bool same_record(const struct record *pa, const struct record *pb)
{
    struct record a, b;
    memcpy(&a, pa, sizeof a);
    memcpy(&b, pb, sizeof b);
    return a.kind == b.kind && take_pointers(&a, &b) && memcmp(&a, &b, sizeof a) == 0;
}

static void test_round_trip(int kind)
{
    struct records made = {0}, back = {0};
    struct buf bytes = {0}, again = {0};
    uint32_t bad = 0;
    struct err err = {0};
    for (uint32_t i = 0; i < 300 && !bad; i++) {
        records_clear(&made);
        records_clear(&back);
        buf_clear(&bytes);
        buf_clear(&again);
        struct record *r = records_add(&made, kind);
        fill(&made.arena, r);
        record_encode(r, &bytes);
        struct str in = buf_as_str(&bytes);
        if (record_decode(&in, &back, &err) || in.len || back.list.n != 1)
            bad = 1;
        else if (!same_record(r, &back.list.at[0]))
            bad = 2;
        else {
            record_encode(&back.list.at[0], &again);
            if (!str_eq(buf_as_str(&bytes), buf_as_str(&again)))
                bad = 3;
        }
    }
    if (!ok(bad == 0, "%s comes back as it was", record_kind_name(kind)))
        diag("   %s %s",
             bad == 1   ? "not decoded:"
             : bad == 2 ? "differs"
                        : "other bytes",
             bad == 1 ? err.text : "");
    records_done(&made);
    records_done(&back);
    buf_done(&bytes);
    buf_done(&again);
}

/* Every cut of every kind's record is refused, names its kind, and leaves *in alone. */
static void test_cut(void)
{
    struct records made = {0}, back = {0};
    struct buf bytes = {0};
    uint32_t cuts = 0, refused = 0, untouched = 0;
    for (int kind = REC_WORD; kind < REC_KINDS; kind++) {
        records_clear(&made);
        buf_clear(&bytes);
        struct record *r = records_add(&made, kind);
        fill(&made.arena, r);
        record_encode(r, &bytes);
        size_t step = bytes.len > 400 ? bytes.len / 200 : 1;
        for (size_t len = 0; len < bytes.len; len += step) {
            struct str in = {bytes.data, len};
            struct err err = {0};
            cuts++;
            refused += record_decode(&in, &back, &err) == -EBADMSG && err.text[0];
            untouched += in.ptr == bytes.data && in.len == len && back.list.n == 0;
            records_clear(&back);
        }
    }
    ok(cuts > 1000, "%u cut records were tried", cuts);
    is_uint(refused, cuts, "a cut record is refused");
    is_uint(untouched, cuts, "and then nothing was read or kept");
    records_done(&made);
    records_done(&back);
    buf_done(&bytes);
}

/* Whatever decodes from damaged bytes encodes to exactly the bytes it was read from. */
static void test_damage(void)
{
    struct records made = {0}, back = {0};
    struct buf bytes = {0}, again = {0};
    uint32_t decoded = 0, refused = 0, differ = 0;
    for (uint32_t i = 0; i < 30000; i++) {
        records_clear(&made);
        records_clear(&back);
        buf_clear(&bytes);
        buf_clear(&again);
        struct record *r = records_add(&made, (int)(1 + below(REC_KINDS - 1)));
        fill(&made.arena, r);
        record_encode(r, &bytes);
        for (uint64_t n = 1 + below(3); n; n--)
            bytes.data[below(bytes.len)] = (char)bits(8);
        struct str in = buf_as_str(&bytes);
        if (record_decode(&in, &back, NULL)) {
            refused++;
            continue;
        }
        decoded++;
        record_encode(&back.list.at[0], &again);
        differ +=
            !str_eq((struct str){bytes.data, bytes.len - in.len}, buf_as_str(&again));
    }
    cmp_ok(decoded, >, 1000, "damage that still decodes was met");
    cmp_ok(refused, >, 1000, "damage that does not decode was met");
    is_uint(differ, 0, "what decodes encodes to the bytes it came from");
    records_done(&made);
    records_done(&back);
    buf_done(&bytes);
    buf_done(&again);
}

/* Hand-made bytes, from the format's description. */
static void test_bytes(void)
{
    static const struct {
        const char *what;
        struct str bytes;
        bool good;
    } cases[] = {
        {"a border: kind 2, would 0, seq 1, at 0", STR("\x02\x00\x01\x00"), true},
        {"a word: id 300, text ab",
         STR("\x01\x00\x01\x00\xac\x02\x02"
             "ab"),
         true},
        {"nothing at all", STR(""), false},
        {"an unknown kind", STR("\x7f\x00\x01\x00"), false},
        {"would 2", STR("\x02\x02\x01\x00"), false},
        {"seq in two bytes where one does", STR("\x02\x00\x81\x00\x00"), false},
        {"seq of 65 bits", STR("\x02\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00"),
         false},
        {"the largest seq", STR("\x02\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
         true},
        {"a word's text of 4 bytes, 2 left",
         STR("\x01\x00\x01\x00\x01\x04"
             "ab"),
         false},
        {"a word's id above 65535", STR("\x01\x00\x01\x00\x80\x80\x04\x00"), false},
        {"tag_set of 2^20 nodes in no bytes",
         STR("\x0a\x00\x01\x00\x01\x01\x80\x80\x40"), false},
    };
    struct records rs = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str in = cases[i].bytes;
        int rc = record_decode(&in, &rs, NULL);
        is_int(rc, cases[i].good ? 0 : -EBADMSG, "%s is %s", cases[i].what,
               cases[i].good ? "read" : "refused");
        ok(!cases[i].good || in.len == 0, "   and read to its end");
    }
    is_int(rs.list.n, 3, "three were good");
    if (rs.list.n == 3) {
        is_int(rs.list.at[1].word.id, 300, "the word's id");
        is_mem(rs.list.at[1].word.text.ptr, rs.list.at[1].word.text.len, "ab",
               "the word's text");
        is_uint(rs.list.at[2].seq, UINT64_MAX, "the largest seq is read as such");
    }
    records_done(&rs);
}

/* Records that stand one behind the other. */
static void test_stream(void)
{
    struct records made = {0}, back = {0};
    struct buf bytes = {0};
    for (uint32_t i = 0; i < 500; i++) {
        struct record *r = records_add(&made, (int)(1 + below(REC_KINDS - 1)));
        fill(&made.arena, r);
        record_encode(&made.list.at[i], &bytes);
    }
    struct str in = buf_as_str(&bytes);
    uint32_t same = 0;
    while (in.len && record_decode(&in, &back, NULL) == 0)
        same +=
            same_record(&made.list.at[back.list.n - 1], &back.list.at[back.list.n - 1]);
    is_uint(same, 500, "500 records in a row come back one by one");
    is_uint(in.len, 0, "and nothing is left");
    records_done(&made);
    records_done(&back);
    buf_done(&bytes);
}

int main(void)
{
    rng_init(&rng, 1, 1);
    for (int kind = REC_WORD; kind < REC_KINDS; kind++)
        test_round_trip(kind);
    test_cut();
    test_damage();
    test_bytes();
    test_stream();
    return done_testing();
}
