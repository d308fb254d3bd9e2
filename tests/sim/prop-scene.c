/* prop-scene.c - random clusters, policies and jobs for the property test
 * All choices come from the episode's own random numbers. Everything that is made is
 * well formed (prop.c checks that event_check agrees); whether it makes sense is left
 * to luck. SPDX-License-Identifier: Apache-2.0 */
#include "prop.h"

#include <assert.h>
#include <stdio.h>

#include "base/units.h"
#include "sched/score.h"

static const char *const word_texts[W_NAMES] = {
    [W_NODE] = "node",   [W_ZONE] = "zone",  [W_BLOCK] = "block", [W_RACK] = "rack",
    [W_POWER] = "power", [W_SPOT] = "spot",  [W_DIRTY] = "dirty", [W_FAST] = "fast",
    [W_WEB] = "web",     [W_DB] = "db",      [W_ZKEY] = "zkey",   [W_A100] = "A100",
    [W_L4] = "L4",       [W_T4] = "T4",      [W_1G] = "1g.10gb",  [W_2G] = "2g.20gb",
    [W_3G] = "3g.40gb",  [W_7G] = "7g.80gb", [W_QUEUE_A] = "qa",  [W_QUEUE_B] = "qb",
    [W_ALICE] = "alice", [W_BOB] = "bob"};

struct record *scene_add(struct records *out, int kind, int64_t at)
{
    struct record *r = records_add(out, kind);
    r->at = at;
    return r;
}

static void words_tell(struct prop *p, struct records *out)
{
    for (uint32_t i = 1; i < W_NAMES + PROP_NAMES; i++) {
        char text[16];
        if (i >= W_NAMES)
            snprintf(text, sizeof text, "x%02u", i - W_NAMES);
        struct record *r = scene_add(out, REC_WORD, p->at);
        r->word.id = i;
        r->word.text =
            arena_str(&out->arena, str_of(i >= W_NAMES ? text : word_texts[i]));
    }
}

/* Placements of the A100 80GB's profiles, from NVIDIA's MIG user guide. */
static void types_make(struct prop *p)
{
    p->profiles[0] = (struct profile){W_1G, 0x7f, 1, 1, (int64_t)(10 * GIB), 142};
    p->profiles[1] = (struct profile){W_2G, 0x15, 2, 2, (int64_t)(20 * GIB), 285};
    p->profiles[2] = (struct profile){W_3G, 0x11, 4, 3, (int64_t)(40 * GIB), 428};
    p->profiles[3] = (struct profile){W_7G, 0x01, 8, 7, (int64_t)(80 * GIB), 1000};
    p->types[0] = (struct device_type){
        W_A100, (int64_t)(80 * GIB), DEVICE_WHOLE | DEVICE_SHARE | DEVICE_MIG, 8, 7,
        4,      p->profiles};
    p->types[1] = (struct device_type){
        W_L4, (int64_t)(24 * GIB), DEVICE_WHOLE | DEVICE_SHARE, 0, 0, 0, NULL};
    p->types[2] =
        (struct device_type){W_T4, (int64_t)(16 * GIB), DEVICE_WHOLE, 0, 0, 0, NULL};
}

static void devices_make(struct prop *p, struct prop_node *n)
{
    static const uint32_t sizes[] = {0, 1, 2, 4, 8, 8, 8};
    uint32_t count = sizes[below(p, 7)], type = (uint32_t)below(p, PROP_TYPES);
    bool mixed = chance(p, 100);
    for (uint32_t i = 0; i < count; i++) {
        const struct device_type *t = &p->types[mixed ? below(p, PROP_TYPES) : type];
        uint8_t modes = t->modes;
        if (t->mem_slices && chance(p, 300)) /* set up for slices alone */
            modes = DEVICE_MIG;
        n->dev[i] = (struct device_desc){.type = t,
                                         .mem_bytes = t->mem_bytes,
                                         .modes = modes,
                                         .reserved_bytes = (int64_t)(below(p, 2) * GIB),
                                         .island = (uint8_t)(i / 4),
                                         .numa = (uint8_t)(i / 4)};
    }
    n->desc.ndevices = count;
    n->desc.devices = n->dev;
    n->desc.legal = n->legal;
    if (count == 8 && chance(p, 250)) { /* two rings of four */
        const uint64_t rings[2] = {0x0f, 0xf0};
        int legal = rings_legal(rings, 2, n->legal, NODE_LEGAL_MAX);
        assert(legal > 0);
        n->desc.nlegal = (uint32_t)legal;
    }
}

static word_t some_name(struct prop *p, uint32_t first, uint32_t n)
{
    return (word_t)(W_NAMES + first + below(p, n));
}

void scene_node(struct prop *p, uint32_t i)
{
    struct prop_node *n = &p->nodes[i];
    bool there = n->there;
    memset(n, 0, sizeof *n);
    n->there = there;
    snprintf(n->name, sizeof n->name, "n%02u", i);
    snprintf(n->uid, sizeof n->uid, "u%u", (unsigned)below(p, 1000));
    n->desc.name = str_of(n->name);
    n->desc.uid = str_of(n->uid);
    n->desc.cpu_milli = (int64_t)(4 + below(p, 60)) * 1000;
    n->desc.mem_bytes = (int64_t)((16 + below(p, 500)) * GIB);
    n->desc.pod_slots = chance(p, 500) ? 0 : (uint32_t)(1 + below(p, 30));
    n->desc.nics = (uint32_t)below(p, 9);
    n->desc.state = chance(p, 940) ? NODE_UP : (uint8_t)below(p, 4);
    devices_make(p, n);
    static const word_t tags[] = {W_FAST, W_SPOT};
    for (uint32_t t = 0; t < 2; t++)
        if (chance(p, 400))
            n->tags[n->desc.ntags++] = tags[t];
    n->desc.tags = n->tags;
    if (chance(p, 120))
        n->taints[n->desc.ntaints++] = W_DIRTY;
    n->desc.taints = n->taints;
    if (chance(p, 850))
        n->parts[n->desc.nparts++] = (struct node_part){W_ZKEY, some_name(p, 0, 3)};
    n->desc.parts = n->parts;
    if (chance(p, 800))
        n->faults[n->desc.nfaults++] = (struct node_part){W_POWER, some_name(p, 3, 4)};
    n->desc.faults = n->faults;
    /* Levels end with racks: zone, block, rack; block, rack; rack. Some place is
     * unknown. */
    for (uint32_t l = 3 - p->nlevels; l < 3; l++)
        if (i == 0 || chance(p, 970))
            n->place[n->desc.nplace++] =
                (struct node_part){(word_t)(W_ZONE + l),
                                   some_name(p, 10 + 8 * l, 2 + l)};
    n->desc.place = n->place;
}

/* The record gets a copy: the node may change again before the batch is read. */
void scene_node_set(struct prop *p, struct records *out, uint32_t i)
{
    p->nodes[i].there = true;
    struct prop_node *n = arena_alloc(&out->arena, sizeof *n);
    memcpy(n, &p->nodes[i], sizeof *n);
    n->desc.name = str_of(n->name);
    n->desc.uid = str_of(n->uid);
    n->desc.devices = n->dev;
    n->desc.legal = n->legal;
    n->desc.tags = n->tags;
    n->desc.taints = n->taints;
    n->desc.parts = n->parts;
    n->desc.faults = n->faults;
    n->desc.place = n->place;
    scene_add(out, EV_NODE_SET, p->at)->node_set = &n->desc;
}

void scene_job_set(struct prop *p, struct records *out, const struct prop_job *j)
{
    struct job_spec *s = arena_alloc(&out->arena, sizeof *s);
    struct group_spec *g = arena_zero(&out->arena, JOB_GROUPS_PROP * sizeof *g);
    struct shape *sh = arena_zero(&out->arena, JOB_GROUPS_PROP * sizeof *sh);
    *s = j->spec;
    s->name = arena_str(&out->arena, j->spec.name);
    memcpy(g, s->groups, JOB_GROUPS_PROP * sizeof *g);
    memcpy(sh, s->shapes, JOB_GROUPS_PROP * sizeof *sh);
    s->groups = g;
    s->shapes = sh;
    scene_add(out, EV_JOB_SET, p->at)->job_set = s;
}

/* Queues with guarantees, weights, limits and rungs of authority. */
static int queue_text(struct prop *p, char *text, size_t size, const char *name, bool open)
{
    static const char *const rungs[] = {"move", "evict", "evict", "repair"};
    unsigned has = (unsigned)below(p, 40), weight = (unsigned)below(p, 4);
    unsigned most = has + (unsigned)below(p, 60), borrow = (unsigned)below(p, 30);
    const char *rung = rungs[below(p, 4)];
    int n = snprintf(text, size, "%s: {guaranteed: {gpu: %u}, weight: %u, authority: %s", name,
                     has, weight, rung);
    if (chance(p, 300))
        n += snprintf(text + n, size - (size_t)n, ", max: {gpu: %u}", most);
    if (chance(p, 300))
        n += snprintf(text + n, size - (size_t)n, ", borrow: {gpu: %u}", borrow);
    return n + snprintf(text + n, size - (size_t)n, open ? "" : "}");
}

/* Quotas, reservations and evictions, each with a policy of its own. */
static int scene_full(struct prop *p, char *text, size_t size)
{
    static const char *const quotas[] = {"none", "static", "borrow", "rights", "rights"};
    static const char *const reserves[] = {"none", "gangs", "all"};
    static const char *const evicts[] = {"owed", "always", "cheaper"};
    uint64_t quota = below(p, 5);
    const char *preempt = quota > 2 && chance(p, 800) ? "rights"
                          : chance(p, 400)            ? "order"
                                                      : "none";
    const char *reserve = reserves[below(p, 3)], *when = evicts[below(p, 3)];
    const char *limits = chance(p, 500) ? "enforce" : "trust";
    const char *within = chance(p, 500) ? "any" : "lower";
    unsigned kept = 1 + (unsigned)below(p, 4), after = (unsigned)below(p, 120);
    unsigned protect = (unsigned)below(p, 60), patience = 1 + (unsigned)below(p, 200);
    unsigned improve = 5 + (unsigned)below(p, 200), hourly = 1 + (unsigned)below(p, 20);
    int n = snprintf(text, size,
                     "quotas: %s\npreempt: %s\nreserve: %s\nevict_when: %s\nlimits: %s\n"
                     "reclaim_within: %s\nreservations: %u\nprotect: %us\npatience: %us\n"
                     "improve_every: %us\n",
                     quotas[quota], preempt, reserve, when, limits, within, kept, protect,
                     patience, improve);
    if (chance(p, 400))
        n += snprintf(text + n, size - (size_t)n, "reserve_after: %us\n", after);
    if (chance(p, 300))
        n += snprintf(text + n, size - (size_t)n, "evictions_per_hour: %u\n", hourly);
    if (quota == 0 && chance(p, 500))
        return n;
    bool nested = chance(p, 400);
    n += snprintf(text + n, size - (size_t)n, "queues:\n  ");
    if (nested) {
        n += queue_text(p, text + n, size - (size_t)n, "top", true);
        n += snprintf(text + n, size - (size_t)n, ", children: {");
    }
    n += queue_text(p, text + n, size - (size_t)n, "qa", false);
    n += snprintf(text + n, size - (size_t)n, nested ? ", " : "\n  ");
    n += queue_text(p, text + n, size - (size_t)n, "qb", false);
    return n + snprintf(text + n, size - (size_t)n, nested ? "}}\n" : "\n");
}

void scene_policy(struct prop *p, struct records *out)
{
    static const char *const orders[] = {"fifo", "shortest", "remaining", "attained"};
    static const char *const blocks[] = {"none", "none", "queue", "all"};
    static const char *const mixes[] = {"none", "learn", "none"};
    uint32_t scorers = 0;
    while (scorer_at(scorers))
        scorers++;
    /* One draw a statement: the order in which arguments are evaluated is the
     * compiler's. */
    const char *order = orders[below(p, p->full ? 4 : 2)], *block = blocks[below(p, 4)];
    const char *node = scorer_at((uint32_t)below(p, scorers))->name;
    const char *mix = mixes[below(p, 3)];
    unsigned seed = (unsigned)below(p, 100), launch = (unsigned)(20 + below(p, 300));
    unsigned grace = (unsigned)below(p, 200), most = 4096;
    if (chance(p, 300))
        most = 1 + (unsigned)below(p, 4);
    char text[2048];
    int n = snprintf(text, sizeof text,
                     "order: %s\nblock: %s\nnode: %s\nmix: %s\nseed: %u\n"
                     "launch_timeout: %us\nrepair_grace: %us\nmost_questions: %u\n",
                     order, block, node, mix, seed, launch, grace, most);
    static const char *const spread[] = {"cluster", "rack", "block"};
    const char *level = spread[below(p, 3)], *lend = chance(p, 700) ? "true" : "false";
    unsigned spares = (unsigned)below(p, 3);
    if (chance(p, 500))
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "spares: [{level: %s, nodes: %u, lend: %s}]\n", level, spares,
                      lend);
    if (p->full && chance(p, 700))
        n += scene_full(p, text + n, sizeof text - (size_t)n);
    if (chance(p, 50))
        n = snprintf(text, sizeof text, "order: [nonsense\n");
    struct record *r = scene_add(out, EV_POLICY_SET, p->at);
    r->policy_set.text = arena_str(&out->arena, (struct str){text, (size_t)n});
}

void scene_start(struct prop *p, struct records *out)
{
    p->nlevels = (uint32_t)below(p, 4);
    p->nnodes = 1 + (uint32_t)below(p, PROP_NODES);
    p->guest = chance(p, 400);
    p->caps = CAP_DEVICES | CAP_RANKS | CAP_CHECKPOINT |
              (p->guest ? CAP_BIND_EACH : CAP_MAKE);
    p->own_shapes = p->guest && chance(p, 400);
    p->hostile = 100 + below(p, 360);
    types_make(p);
    words_tell(p, out);
    scene_policy(p, out);
    struct record *r = scene_add(out, EV_LEAD, p->at);
    r->lead.held = p->leading = true;
    r->lead.term = p->term = 1 + (uint32_t)below(p, 5);
    r = scene_add(out, EV_SYNC_BEGIN, p->at);
    r->sync.epoch = ++p->epoch;
    for (uint32_t i = 0; i < p->nnodes; i++) {
        scene_node(p, i);
        if (chance(p, 950))
            scene_node_set(p, out, i);
    }
    r = scene_add(out, EV_SYNCED, p->at);
    r->sync.epoch = p->epoch;
    r->sync.caps = p->caps;
}

/* jobs */

static void constraints_make(struct prop *p, struct shape *s)
{
    if (chance(p, 300))
        s->tags[s->ntags++] = chance(p, 500) ? W_WEB : W_DB;
    if (chance(p, 850))
        return;
    struct constraint *c = &s->constraints[s->nconstraints++];
    c->kind = CONSTRAINT_NEED + (uint32_t)below(p, 3);
    c->hard = chance(p, 800);
    c->weight = 1;
    c->tag = c->kind == CONSTRAINT_NEED ? (chance(p, 700) ? W_FAST : W_WEB)
                                        : (chance(p, 500) ? W_WEB : W_DB);
    c->key = chance(p, 500) || c->kind == CONSTRAINT_SPREAD ? W_ZKEY : WORD_NONE;
    c->max_skew = c->kind == CONSTRAINT_SPREAD ? 1 + (uint32_t)below(p, 3) : 0;
}

static const word_t profiles[] = {W_1G, W_1G, W_2G, W_3G, W_7G};
static const uint32_t profile_milli[] = {142, 142, 285, 428, 1000};

/* Other ways to ask for GPUs. */
static void alts_make(struct prop *p, struct shape *s)
{
    uint32_t n = 1 + (uint32_t)below(p, SHAPE_ALTS_MAX - 1);
    while (s->nalts < n) {
        struct gpu_alt *a = &s->alts[s->nalts++];
        a->mode = GPU_WHOLE + (uint32_t)below(p, 3);
        a->count = a->mode == GPU_WHOLE ? 1 + (uint32_t)below(p, 3) : 1;
        a->milli = a->mode == GPU_WHOLE ? 1000 : 1 + (uint32_t)below(p, 999);
        a->mem_bytes = a->mode == GPU_SHARE ? (int64_t)(below(p, 20) * GIB) : 0;
        if (a->mode != GPU_MIG)
            continue;
        uint32_t i = (uint32_t)below(p, 5);
        a->profile = profiles[i];
        a->milli = profile_milli[i];
    }
}

void scene_shape(struct prop *p, struct shape *s)
{
    s->cpu_milli = (int64_t)below(p, 6) * 500;
    s->mem_bytes = (int64_t)(below(p, 8) * GIB);
    s->pod_slots = 1;
    s->nics = chance(p, 100);
    uint64_t what = below(p, 10);
    if (what < 4) {
        static const uint32_t sizes[] = {1, 1, 1, 2, 4, 8};
        s->gpu_mode = GPU_WHOLE;
        s->gpu_count = sizes[below(p, 6)];
        s->gpu_milli = 1000;
    } else if (what < 6) {
        s->gpu_mode = GPU_SHARE;
        s->gpu_count = chance(p, 900) ? 1 : 2;
        s->gpu_milli = (uint32_t)(1 + below(p, 999));
        s->gpu_mem_bytes = (int64_t)(below(p, 20) * GIB);
    } else if (what < 8) {
        uint32_t i = (uint32_t)below(p, 5);
        s->gpu_mode = GPU_MIG;
        s->gpu_count = 1;
        s->profile = profiles[i];
        s->gpu_milli = profile_milli[i];
    }
    if (s->gpu_mode && chance(p, 200))
        alts_make(p, s);
    if (s->gpu_mode && chance(p, 300)) {
        uint32_t first = (uint32_t)below(p, 3);
        s->types[s->ntypes++].type = (word_t)(W_A100 + first);
        if (chance(p, 500))
            s->types[s->ntypes++].type = (word_t)(W_A100 + (first + 1) % 3);
    }
    if (chance(p, 300))
        s->tolerate[s->ntolerate++] = W_DIRTY;
    constraints_make(p, s);
}

static word_t some_level(struct prop *p)
{
    if (chance(p, 100))
        return W_NODE;
    return (word_t)(W_ZONE + (chance(p, 950) && p->nlevels
                                  ? 3 - p->nlevels + below(p, p->nlevels)
                                  : below(p, 3)));
}

static void layout_make(struct prop *p, struct group_spec *g, bool leaf)
{
    if (chance(p, 250))
        g->required = some_level(p);
    if (chance(p, 200))
        g->preferred = some_level(p);
    if (leaf && chance(p, 200)) {
        g->segment_size = 1 + (uint32_t)below(p, 4);
        g->segment_level = some_level(p);
    }
    if (leaf && chance(p, 150)) {
        g->spread_kind = chance(p, 500) ? W_POWER : some_level(p);
        g->spread_most = 1 + (uint32_t)below(p, 4);
    }
    g->balanced = leaf && chance(p, 100);
}

static void count_make(struct prop *p, struct count *c, uint32_t most, bool elastic)
{
    c->min = 1 + (uint32_t)below(p, most);
    c->want = c->max = c->min;
    if (!elastic)
        return;
    c->step = (uint32_t)below(p, 3);
    uint32_t step = c->step ? c->step : 1;
    c->want += step * (uint32_t)below(p, 4);
    c->max = c->want + step * (uint32_t)below(p, 3);
}

struct maker {
    struct prop *p;
    struct job_spec *spec;
    struct group_spec groups[JOB_GROUPS_PROP];
    struct shape shapes[JOB_GROUPS_PROP];
};

static uint16_t group_make(struct maker *m, uint16_t parent, bool leaf)
{
    uint16_t i = (uint16_t)m->spec->ngroups++;
    struct group_spec *g = &m->groups[i];
    g->parent = parent;
    g->depth = parent == GROUP_NONE ? 0 : (uint8_t)(m->groups[parent].depth + 1);
    g->count = (struct count){1, 1, 1, 0};
    g->shape = GROUP_NONE;
    if (!leaf)
        return i;
    g->shape = (uint16_t)m->spec->nshapes++;
    scene_shape(m->p, &m->shapes[g->shape]);
    return i;
}

static void tree_training(struct maker *m)
{
    uint16_t root = group_make(m, GROUP_NONE, false);
    m->groups[root].whole = 1;
    layout_make(m->p, &m->groups[root], false);
    uint32_t leaves = chance(m->p, 700) ? 1 : 2;
    for (uint32_t i = 0; i < leaves; i++) {
        uint16_t leaf = group_make(m, root, true);
        count_make(m->p, &m->groups[leaf].count, 8, chance(m->p, 400));
        layout_make(m->p, &m->groups[leaf], true);
    }
    if (leaves == 2 && chance(m->p, 500)) {
        m->groups[2].start = START_AFTER_STARTED + (uint8_t)below(m->p, 2);
        m->groups[2].start_group = 1;
    }
}

static void tree_lws(struct maker *m)
{
    uint16_t root = group_make(m, GROUP_NONE, false);
    uint16_t replica = group_make(m, root, false);
    m->groups[replica].whole = 1;
    count_make(m->p, &m->groups[replica].count, 4, chance(m->p, 300));
    layout_make(m->p, &m->groups[replica], false);
    uint16_t leader = group_make(m, replica, true),
             workers = group_make(m, replica, true);
    count_make(m->p, &m->groups[workers].count, 5, chance(m->p, 300));
    layout_make(m->p, &m->groups[workers], true);
    if (chance(m->p, 600)) {
        m->groups[workers].start = START_AFTER_STARTED + (uint8_t)below(m->p, 2);
        m->groups[workers].start_group = leader;
    }
}

static void tree_pods(struct maker *m, bool many)
{
    uint16_t root = many ? group_make(m, GROUP_NONE, false) : GROUP_NONE;
    uint16_t leaf = group_make(m, root, true);
    if (many)
        count_make(m->p, &m->groups[leaf].count, 8, chance(m->p, 300));
}

/* root whole {stage x a {part x b {leaf x c}}, leaf x d} */
static void tree_nested(struct maker *m)
{
    uint16_t root = group_make(m, GROUP_NONE, false);
    m->groups[root].whole = 1;
    uint16_t stage = group_make(m, root, false);
    count_make(m->p, &m->groups[stage].count, 2, false);
    layout_make(m->p, &m->groups[stage], false);
    uint16_t part = group_make(m, stage, false);
    count_make(m->p, &m->groups[part].count, 2, false);
    layout_make(m->p, &m->groups[part], false);
    uint16_t leaf = group_make(m, part, true);
    count_make(m->p, &m->groups[leaf].count, 3, chance(m->p, 300));
    if (chance(m->p, 500))
        group_make(m, root, true);
}

static void spec_numbers(struct prop *p, struct job_spec *s)
{
    s->kind = chance(p, 800) ? JOB_FINITE : JOB_SERVICE;
    s->success = (uint8_t)(chance(p, 800) ? SUCCESS_ALL : below(p, 3));
    s->on_loss = (uint8_t)below(p, 3);
    s->qos = chance(p, 500) ? QOS_BEST_EFFORT : QOS_GUARANTEED;
    s->preemptible = chance(p, 600);
    s->checkpoint = (uint8_t)below(p, 3);
    s->queue = chance(p, 500) ? W_QUEUE_A : W_QUEUE_B;
    s->user = chance(p, 500) ? W_ALICE : W_BOB;
    s->priority = (int32_t)below(p, 3);
    s->tries = (uint32_t)below(p, 4);
    s->backoff_us = chance(p, 500) ? 0 : (int64_t)below(p, 60) * US_PER_S;
    s->submitted_at = p->at;
    s->expected_us = (int64_t)below(p, 4) * US_PER_MIN;
    s->ckpt_save_us = (int64_t)below(p, 10) * US_PER_S;
    if (p->full)
        s->time_limit_us = chance(p, 300) ? 0 : (int64_t)(1 + below(p, 600)) * US_PER_S;
}

struct prop_job *scene_job(struct prop *p, struct records *out)
{
    struct prop_job *j = NULL;
    for (uint32_t i = 0; i < PROP_JOBS && !j; i++)
        if (!p->jobs[i].live)
            j = &p->jobs[i];
    if (!j)
        return NULL;
    arena_reset(&j->mem);
    struct maker m;
    memset(&m, 0, sizeof m);
    m.p = p;
    m.spec = &j->spec;
    memset(&j->spec, 0, sizeof j->spec);
    j->live = true;
    snprintf(j->name, sizeof j->name, "j%llu", (unsigned long long)p->job_n++);
    j->spec.name = str_of(j->name);
    spec_numbers(p, &j->spec);
    uint64_t what = below(p, 10);
    if (what < 3)
        tree_training(&m);
    else if (what < 5)
        tree_lws(&m);
    else if (what < 7)
        tree_pods(&m, true);
    else if (what < 9)
        tree_pods(&m, false);
    else
        tree_nested(&m);
    struct group_spec *g = arena_zero(&j->mem, sizeof m.groups);
    struct shape *s = arena_zero(&j->mem, sizeof m.shapes);
    memcpy(g, m.groups, sizeof m.groups);
    memcpy(s, m.shapes, sizeof m.shapes);
    j->spec.groups = g;
    j->spec.shapes = s;
    scene_job_set(p, out, j);
    return j;
}
