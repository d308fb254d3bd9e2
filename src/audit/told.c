/* told.c - nodes, foreign pods, jobs, policy and syncs, as the records tell of them
 * SPDX-License-Identifier: Apache-2.0 */
#include "audit/book.h"

#include <stdio.h>

#include "base/units.h"
#include "base/yaml.h"

#define COPY(mem, type, at, n)                                                      \
    ((n) ? memcpy(arena_alloc((mem), (n) * sizeof(type)), (at), (n) * sizeof(type)) \
         : NULL)

static uint64_t low_bits(uint32_t n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* What was on the node stays real, somewhere that is not known. forget: it can never
 * come back, because the node of this name is another one now. */
static void claims_adrift(struct audit *a, struct bnode *n, bool forget)
{
    while (n->claims.n) {
        struct bclaim *c = n->claims.at[0];
        struct need need = c->need;
        n->claims.n--;
        memmove(&n->claims.at[0], &n->claims.at[1], n->claims.n * sizeof *n->claims.at);
        c->node = NULL;
        c->need = need;
        c->taken = false;
        c->where = forget ? (struct str){0} : str_keep(n->name);
    }
    room_touch(a, n);
}

static void claims_land(struct audit *a, struct bnode *n)
{
    for (uint32_t i = 0; i < a->claims.n; i++) {
        struct bclaim *c = a->claims.at[i];
        if (c->node || !c->where.len || !str_eq(c->where, n->name))
            continue;
        struct need need = c->need;
        need.devs &= low_bits(n->nkept);
        book_claim_place(a, c, n, &need, n->name);
    }
}

static void learn_levels(struct audit *a, const struct node_desc *d)
{
    if (d->nplace <= a->nlevels)
        return;
    a->nlevels = d->nplace;
    for (uint32_t i = 0; i < d->nplace; i++)
        a->levels[i] = d->place[i].key;
}

static struct bnode *node_add(struct audit *a, struct str name)
{
    struct bnode *n = mem_zero(sizeof *n);
    n->name = str_keep(name);
    n->pos = a->nodes.n;
    vec_push(&a->nodes, n);
    strmap_put(&a->node_ids, n->name, n->pos);
    return n;
}

static void describe(struct audit *a, struct bnode *n, const struct node_desc *d)
{
    arena_reset(&n->mem);
    n->desc = *d;
    n->desc.name = n->name;
    n->desc.devices = NULL;
    n->desc.legal = COPY(&n->mem, uint64_t, d->legal, d->nlegal);
    n->desc.taints = COPY(&n->mem, word_t, d->taints, d->ntaints);
    n->desc.parts = COPY(&n->mem, struct node_part, d->parts, d->nparts);
    n->desc.faults = COPY(&n->mem, struct node_part, d->faults, d->nfaults);
    n->desc.place = COPY(&n->mem, struct node_part, d->place, d->nplace);
    n->tags = arena_zero(&n->mem, NODE_TAGS_MAX * sizeof *n->tags);
    n->ntags = d->ntags;
    for (uint32_t i = 0; i < d->ntags; i++)
        n->tags[i] = d->tags[i];
    free((char *)n->uid.ptr);
    n->uid = n->desc.uid = str_keep(d->uid);
    n->state = d->state;
    n->ndev = n->nkept = d->ndevices;
    for (uint32_t i = 0; i < n->claims.n;
         i++) { /* devices in use stay behind the others */
        const struct need *need = &n->claims.at[i]->need;
        uint32_t top =
            need->mode && need->devs ? 64 - (uint32_t)__builtin_clzll(need->devs) : 0;
        if (top > n->nkept)
            n->nkept = top;
    }
    for (uint32_t i = 0; i < n->nkept; i++) {
        if (i >= d->ndevices) {
            n->dev[i].state = DEVICE_GONE;
            continue;
        }
        int64_t mem = d->devices[i].mem_bytes - d->devices[i].reserved_bytes;
        n->dev[i] = (struct bdevice){.type = book_type(a, d->devices[i].type),
                                     .mem_bytes = mem < 0 ? 0 : mem,
                                     .modes = d->devices[i].modes,
                                     .state = d->devices[i].state,
                                     .island = d->devices[i].island};
    }
}

static void node_set(struct audit *a, const struct node_desc *d)
{
    struct bnode *n = book_node(a, d->name);
    bool fresh = !n;
    if (fresh)
        n = node_add(a, d->name);
    if (!fresh && !str_eq(n->uid, d->uid)) {
        claims_adrift(a, n, true);
        keeps_node_gone(a, n->name);
        n->unsynced = n->cordoned = false;
    }
    learn_levels(a, d);
    describe(a, n, d);
    n->seen = true;
    room_touch(a, n);
    if (fresh)
        claims_land(a, n);
}

static void node_drop(struct audit *a, struct bnode *n)
{
    claims_adrift(a, n, false);
    keeps_node_gone(a, n->name);
    room_settle(a);
    for (int c = 0; c < LEDGER_CAUSES; c++) {
        a->now_put[c] -= n->put[c];
        a->capacity_milli -= n->put[c];
    }
    strmap_del(&a->node_ids, n->name);
    struct bnode *last = a->nodes.at[--a->nodes.n];
    if (last != n) {
        last->pos = n->pos;
        a->nodes.at[n->pos] = last;
        strmap_put(&a->node_ids, last->name, last->pos);
    }
    free((char *)n->name.ptr);
    free((char *)n->uid.ptr);
    vec_done(&n->claims);
    arena_done(&n->mem);
    free(n);
}

static void tag_node(struct bnode *n, word_t tag, bool on)
{
    uint32_t i = 0;
    while (i < n->ntags && n->tags[i] != tag)
        i++;
    if (on && i == n->ntags && n->ntags < NODE_TAGS_MAX)
        n->tags[n->ntags++] = tag;
    else if (!on && i < n->ntags)
        n->tags[i] = n->tags[--n->ntags];
}

/* A task carries the tag from now on, and its slot's next task too. */
static void tag_task(struct audit *a, struct str task, word_t tag, bool on)
{
    uint32_t at = strmap_get(&a->slot_ids, task);
    if (at == MAP_NONE)
        return;
    struct bgang *g = a->slot_at.at[at].gang;
    uint32_t slot = a->slot_at.at[at].slot, i = 0;
    struct shape sh = *book_shape(g, slot);
    while (i < sh.ntags && sh.tags[i] != tag)
        i++;
    if (on == (i < sh.ntags) || (on && sh.ntags == SHAPE_TAGS_MAX))
        return;
    if (on) {
        sh.tags[sh.ntags++] = tag;
    } else {
        sh.tags[i] = sh.tags[--sh.ntags];
        sh.tags[sh.ntags] = WORD_NONE;
    }
    struct bslot *s = &g->slots[slot];
    if (!s->shape)
        s->shape = mem_alloc(sizeof *s->shape);
    *s->shape = sh;
    if (s->claim)
        shape_choose(&sh, s->claim->alt, &s->claim->shape);
}

static void foreign_set(struct audit *a, const struct record *r)
{
    char text[300];
    int len = snprintf(text, sizeof text, "\x01" STR_FMT, STR_ARG(r->foreign_set.name));
    uint32_t at = strmap_get(&a->strays, (struct str){text, (size_t)len});
    struct bclaim *c = at == MAP_NONE ? NULL : a->claims.at[at];
    if (r->foreign_set.phase != FOREIGN_HELD &&
        r->foreign_set.phase != FOREIGN_ENDING) {
        if (c)
            book_claim_drop(a, c);
        return;
    }
    if (!c) {
        c = book_claim_add(a, NULL, 0, BP_STRAY);
        c->foreign = true;
        book_claim_key(a, c, (struct str){text, (size_t)len});
    }
    struct bnode *n = book_node(a, r->foreign_set.node);
    uint64_t devs = r->foreign_set.devs & (n ? low_bits(n->nkept) : UINT64_MAX);
    struct need need = book_need(a, r->foreign_set.shape, n, devs, 0);
    if (need.mode == GPU_MIG) { /* nobody says which slices */
        need.mode = GPU_NONE;
        need.devs = 0;
    }
    c->shape = *r->foreign_set.shape;
    c->shaped = c->seen = true;
    book_claim_place(a, c, n, &need, r->foreign_set.node);
}

void told_node(struct audit *a, const struct record *r)
{
    struct bnode *n;
    switch (r->kind) {
    case EV_NODE_SET: node_set(a, r->node_set); return;
    case EV_NODE_GONE:
        n = book_node(a, r->node_gone.node);
        if (n)
            node_drop(a, n);
        return;
    case EV_DEVICE_SET:
        n = book_node(a, r->device_set.node);
        if (!n || r->device_set.device >= n->ndev)
            return;
        n->dev[r->device_set.device].state = r->device_set.state;
        room_touch(a, n);
        return;
    case EV_TAG_SET:
        for (uint32_t i = 0; i < r->tag_set.nnodes; i++) {
            n = book_node(a, r->tag_set.nodes[i]);
            if (n)
                tag_node(n, r->tag_set.tag, r->tag_set.on);
        }
        for (uint32_t i = 0; i < r->tag_set.ntasks; i++)
            tag_task(a, r->tag_set.tasks[i], r->tag_set.tag, r->tag_set.on);
        return;
    default: foreign_set(a, r);
    }
}

/* Another place in the order: what was kept for its gangs is planned anew. */
static void keeps_renew(struct audit *a, struct bjob *j)
{
    for (uint32_t i = 0; i < j->ngangs; i++)
        if (keeps_for(a, &j->gangs[i]))
            bgang_wait(a, &j->gangs[i]);
}

static void job_moves(struct audit *a, struct bjob *j, const struct job_spec *spec)
{
    bool moves = j->spec.priority != spec->priority || j->spec.queue != spec->queue ||
                 j->spec.expected_us != spec->expected_us;
    j->spec.priority = spec->priority;
    j->spec.queue = spec->queue;
    j->spec.expected_us = spec->expected_us;
    j->spec.time_limit_us = spec->time_limit_us;
    if (moves)
        keeps_renew(a, j);
}

static void job_set(struct audit *a, const struct job_spec *spec)
{
    struct bjob *j = book_job(a, spec->name);
    if (j) { /* the same job again; but for its counts, nothing that may change is
                checked */
        j->seen = true;
        job_moves(a, j, spec);
        told_counts(a, j, spec);
        return;
    }
    for (uint32_t i = 0; spec->request.len && i < a->jobs.n; i++)
        if (str_eq(a->jobs.at[i]->spec.request, spec->request))
            return; /* the same request told twice is one job */
    j = book_job_add(a, spec);
    j->seen = true;
    for (uint32_t i = 0; i < j->ngangs; i++)
        bgang_wait(a, &j->gangs[i]);
}

static void job_do(struct audit *a, const struct record *r)
{
    struct bjob *j = book_job(a, r->job_do.job);
    if (!j || j->cancelled)
        return;
    if (r->job_do.verb == JOB_CANCEL) {
        bjob_stop(a, j);
        return;
    }
    if (r->job_do.verb == JOB_OVERRIDE && !j->overridden) {
        j->overridden = true;
        keeps_renew(a, j);
    }
    if (r->job_do.verb != JOB_HOLD && r->job_do.verb != JOB_RELEASE)
        return;
    j->held = r->job_do.verb == JOB_HOLD;
    for (uint32_t i = 0; i < j->ngangs; i++)
        if (j->gangs[i].waits)
            bgang_wait(a, &j->gangs[i]);
}

/* The two times that decide when a gang that is not whole must have let go. */
static void policy_set(struct audit *a, struct str text)
{
    struct arena mem = {0};
    struct ynode *root = NULL;
    int64_t launch = 10 * US_PER_MIN, grace = 5 * US_PER_MIN;
    if (yaml_parse("policy", text, &mem, &root, NULL) == 0 && root->kind == YNODE_MAP) {
        const struct ynode *l = ynode_get(root, "launch_timeout");
        const struct ynode *g = ynode_get(root, "repair_grace");
        if ((!l || ynode_duration(l, &launch, NULL) == 0) &&
            (!g || ynode_duration(g, &grace, NULL) == 0)) {
            a->launch_timeout_us = launch;
            a->repair_grace_us = grace;
            keeps_forget(a);
        }
    }
    arena_done(&mem);
}

void told_job(struct audit *a, const struct record *r)
{
    struct bjob *j;
    switch (r->kind) {
    case EV_JOB_SET: job_set(a, r->job_set); return;
    case EV_JOB_DO: job_do(a, r); return;
    case EV_POLICY_SET: policy_set(a, r->policy_set.text); return;
    case EV_CHECKPOINT_SAVED:
        j = book_job(a, r->checkpoint_saved.job);
        if (j && r->checkpoint_saved.saved_at >= j->saved_at &&
            r->checkpoint_saved.saved_at <= r->at)
            j->saved_at = r->checkpoint_saved.saved_at;
        return;
    default: /* budgets, signals and soft state change nothing that is checked here */
        return;
    }
}

static bool concerns(const struct bclaim *c, const struct bnode *n)
{
    return c->phase != BP_PLANNED && (!n || c->node == n);
}

static void sync_begin(struct audit *a, struct bnode *n)
{
    for (uint32_t i = 0; i < a->claims.n; i++)
        if (concerns(a->claims.at[i], n)) {
            a->claims.at[i]->seen = false;
            if (a->claims.at[i]->phase == BP_STRAY)
                a->claims.at[i]->asked = false; /* that stop may be lost */
        }
    if (n)
        return;
    for (uint32_t i = 0; i < a->jobs.n; i++)
        for (uint32_t k = 0; k < a->jobs.at[i]->ngangs; k++)
            for (uint32_t m = 0; m < a->jobs.at[i]->gangs[k].nslots; m++)
                a->jobs.at[i]->gangs[k].slots[m].seen = false;
    for (uint32_t i = 0; i < a->early.n; i++)
        a->early.at[i].seen = false;
    a->synced = false;
    a->syncing = true;
    for (uint32_t i = 0; i < a->nodes.n; i++)
        a->nodes.at[i]->seen = false;
    for (uint32_t i = 0; i < a->jobs.n; i++)
        a->jobs.at[i]->seen = false;
}

/* The world did not name it: it is not there. Its gang is looked at later. */
static void claim_vanish(struct audit *a, struct bclaim *c)
{
    struct bgang *g = c->gang;
    uint32_t slot = c->slot;
    bool stray = c->phase == BP_STRAY;
    if (!stray)
        room_lost(a, c);
    if (c->kept)
        bgang_place_lost(a, g);
    book_claim_drop(a, c);
    if (!g || stray)
        return;
    struct bslot *s = &g->slots[slot];
    s->offered = s->gated = s->started = s->ready = false;
    book_slot_task(a, g, slot, (struct str){0});
    g->robbed = true;
    if (g->job->spec.on_loss == LOSS_GANG)
        g->raised = false;
}

/* Offered tasks that the sync did not name are not there. */
static void offers_vanish(struct audit *a, struct bgang *g)
{
    for (uint32_t m = 0; m < g->nslots; m++) {
        struct bslot *s = &g->slots[m];
        if (!s->task.len || s->seen || (s->claim && s->claim->phase != BP_PLANNED))
            continue;
        s->offered = s->gated = false;
        book_slot_task(a, g, m, (struct str){0});
        if (g->waits)
            bgang_wait(a, g);
    }
}

static void world_synced(struct audit *a, uint32_t caps)
{
    a->caps = caps;
    a->synced = true;
    a->syncing = false;
    for (uint32_t i = a->nodes.n; i-- > 0;)
        if (!a->nodes.at[i]->seen) {
            node_drop(a, a->nodes.at[i]);
        } else if (a->nodes.at[i]->unsynced) { /* named: as after a fresh start */
            a->nodes.at[i]->unsynced = false;
            room_touch(a, a->nodes.at[i]);
        }
    for (uint32_t i = a->jobs.n; !(caps & CAP_MAKE) && i-- > 0;)
        if (!a->jobs.at[i]->seen && !a->jobs.at[i]->cancelled)
            bjob_stop(a, a->jobs.at[i]);
    early_end(a, NULL, true);
    for (uint32_t i = 0; i < a->jobs.n; i++) {
        for (uint32_t k = 0; k < a->jobs.at[i]->ngangs; k++) {
            struct bgang *g = &a->jobs.at[i]->gangs[k];
            if (!(caps & CAP_MAKE))
                offers_vanish(a, g);
            bgang_grace(a, g);
            if (g->waits && !g->pends)
                bgang_wait(a, g); /* what kept it back may have been the old world */
        }
    }
}

/* All vanish in one instant; then their gangs are looked at, which may end a whole job.
 */
static void vanish_unseen(struct audit *a, const struct bnode *n)
{
    for (uint32_t i = a->claims.n;
         i-- > 0;) /* the last one takes a dropped one's place */
        if (concerns(a->claims.at[i], n) && !a->claims.at[i]->seen)
            claim_vanish(a, a->claims.at[i]);
    for (uint32_t i = a->jobs.n; i-- > 0;) {
        struct bjob *j = a->jobs.at[i];
        for (uint32_t k = 0, left = j->ngangs; k < left; k++) {
            struct bgang *g = &j->gangs[k];
            if (!g->robbed)
                continue;
            g->robbed = false;
            if (j->spec.on_loss == LOSS_IGNORE)
                bgang_shrink(g);
            bgang_changed(a, g);
            if (i >= a->jobs.n || a->jobs.at[i] != j)
                break; /* the job is over */
        }
    }
}

void told_sync(struct audit *a, const struct record *r)
{
    if (r->kind == EV_LEAD) {
        a->leading = r->lead.held;
        if (r->lead.term > a->term) {
            a->term = r->lead.term;
            a->synced = false; /* nothing is decided before all is asserted anew */
        }
        return;
    }
    struct bnode *n = NULL;
    if (r->sync.node.len) {
        n = book_node(a, r->sync.node);
        if (!n)
            return;
    } else if (r->kind == EV_SYNCED && !a->syncing) {
        return;
    }
    if (r->kind == EV_SYNC_BEGIN) {
        sync_begin(a, n);
        return;
    }
    vanish_unseen(a, n);
    if (!n) {
        world_synced(a, r->sync.caps);
        return;
    }
    n->unsynced = false;
    room_touch(a, n);
}
