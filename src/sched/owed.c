/* owed.c - keeps units, demands and rights in step with the jobs
 * A unit comes and goes by a binary search in its leaf's line and O(depth) in the demands;
 * a border recomputes the leaves whose jobs or entitlement changed (rights.h), and tells the
 * gangs whose right changed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/place.h"

/* Who has a right and is refused asks again so often: protection ends without a record. */
enum { RETRY_US = 60 * 1000000 };

static bool wanted(const struct sched *s)
{
    return s->policy.quotas == QUOTAS_RIGHTS || s->policy.preempt == PREEMPT_RIGHTS;
}

struct rights_pool owed_pool(struct sched *s)
{
    struct owed *o = &s->owed;
    return (struct rights_pool){.nresources = s->quota.nresources, .nneeds = o->nneeds,
                                .needs = o->needs.at, .units = o->units.at,
                                .places = o->places.at};
}

void owed_done(struct owed *o)
{
    if (o->on) {
        entitle_done(&o->e);
        rights_done(&o->r);
    }
    for (uint32_t i = 0; i < o->leaves.n; i++)
        vec_done(&o->leaves.at[i].ids);
    vec_done(&o->leaves);
    vec_done(&o->units);
    vec_done(&o->places);
    vec_done(&o->listed);
    vec_done(&o->needs);
    vec_done(&o->all);
    vec_done(&o->last_turn);
}

/* The policy's guarantees of each queue, as entitle.h wants them. */
static void setup(struct sched *s)
{
    const struct quota *q = &s->quota;
    struct owed *o = &s->owed;
    uint32_t n = q->nodes.n, nr = q->nresources;
    size_t cells = (size_t)n * nr;
    uint32_t *parent = mem_zero(n * sizeof *parent), *weight = mem_zero(n * sizeof *weight);
    int64_t *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = mem_alloc(cells * sizeof **at);
    for (uint32_t i = 0; i < n; i++) {
        const struct quota_node *node = &q->nodes.at[i];
        const struct queue_amounts *a =
            node->spec == QUEUE_NONE ? NULL : &s->policy.queues.queues[node->spec].amounts;
        parent[i] = i ? node->parent : 0;
        weight[i] = node->weight;
        for (uint32_t r = 0; r < nr; r++) {
            bool named = a && r < s->policy.queues.nresources;
            at[0][i * nr + r] = named ? a->guaranteed[r] : ENTITLE_ABSENT;
            at[1][i * nr + r] = named ? a->max[r] : ENTITLE_ABSENT;
            at[2][i * nr + r] = named ? a->borrow[r] : ENTITLE_ABSENT;
            at[3][i * nr + r] = named ? a->lend[r] : ENTITLE_ABSENT;
        }
    }
    struct entitle_tree tree = {.nnodes = n, .nresources = nr, .parent = parent,
                                .weight = weight, .guaranteed = at[0], .max = at[1],
                                .borrow = at[2], .lend = at[3]};
    entitle_setup(&o->e, &tree);
    rights_setup(&o->r, n, nr);
    o->r.turn = RIGHTS_NONE;
    o->nnodes = n;
    for (int k = 0; k < 4; k++)
        free(at[k]);
    free(parent);
    free(weight);
}

static void make(struct sched *s)
{
    struct owed *o = &s->owed;
    owed_done(o);
    *o = (struct owed){.on = wanted(s), .capacity_stale = true, .retry_at = INT64_MAX};
    if (!o->on)
        return;
    setup(s);
    for (uint32_t i = 0; i < s->gangs.n; i++) {
        const struct gang *g = &s->gangs.at[i];
        if (!g->live || g->phase == GANG_OVER)
            continue;
        owed_add(s, i);
        owed_settle(s, i);
    }
}

void owed_policy(struct sched *s)
{
    struct owed *o = &s->owed;
    make(s);
    for (uint32_t i = 0; i < s->gangs.n; i++)
        s->gangs.at[i].right = false;
    struct rights_pool pool = owed_pool(s);
    for (uint32_t l = 0; l < o->leaves.n; l++) {
        struct rights_list list = {.ids = o->leaves.at[l].ids.at, .n = o->leaves.at[l].ids.n};
        rights_adopt(&o->r, &pool, l, list); /* what runs counts as owed, once */
    }
}

/* Same needs share a row; few are distinct, and the last ones are asked for again. */
static uint32_t need_row(struct sched *s, const int64_t *need)
{
    struct owed *o = &s->owed;
    uint32_t nr = s->quota.nresources;
    for (uint32_t i = o->nneeds; i-- > 0;)
        if (memcmp(&o->needs.at[i * nr], need, nr * sizeof *need) == 0)
            return i;
    for (uint32_t r = 0; r < nr; r++)
        vec_push(&o->needs, need[r]);
    return o->nneeds++;
}

/* Could the cluster hold it if it were empty and healthy? By counts. */
static bool ever_fits(struct sched *s, uint32_t gang, const int64_t *need)
{
    const struct tree_root *root = gang_root(s, &s->gangs.at[gang]);
    const struct tree *t = gang_tree(s, &s->gangs.at[gang]);
    for (uint32_t r = 0; r < s->quota.nresources; r++)
        if (need[r] > s->owed.e.capacity[r])
            return false;
    for (uint32_t i = root->leaf0; i < root->leaf0 + root->nleaves; i++) {
        const struct shape *sh = &s->shapes.at[t->leaves[i].shape].shape;
        if (sh->gpu_mode == GPU_WHOLE &&
            widest_lane(s, shape_typemask(s, t->leaves[i].shape)) < sh->gpu_count)
            return false;
    }
    return true;
}

static void line_insert(struct sched *s, rights_ids *line, uint32_t gang)
{
    uint32_t lo = 0, hi = line->n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (gang_before(s, line->at[mid], gang))
            lo = mid + 1;
        else
            hi = mid;
    }
    vec_push(line, gang);
    memmove(&line->at[lo + 1], &line->at[lo], (line->n - 1 - lo) * sizeof *line->at);
    line->at[lo] = gang;
}

static void line_remove(rights_ids *line, uint32_t gang)
{
    for (uint32_t i = 0; i < line->n; i++) {
        if (line->at[i] != gang)
            continue;
        memmove(&line->at[i], &line->at[i + 1], (line->n - i - 1) * sizeof *line->at);
        line->n--;
        return;
    }
}

static void capacity_refresh(struct sched *s)
{
    int64_t capacity[QUOTA_RESOURCES_MAX] = {0};
    if (!s->owed.capacity_stale)
        return;
    s->owed.capacity_stale = false;
    for (uint32_t r = 0; r < s->quota.nresources; r++)
        capacity[r] = quota_usable(s, r);
    entitle_capacity(&s->owed.e, capacity);
}

static void room_for(struct owed *o, uint32_t gang, uint32_t leaf)
{
    while (o->units.n <= gang) {
        vec_push(&o->units, ((struct rights_unit){.core = RIGHTS_NONE}));
        vec_push(&o->places, ((struct rights_place){0}));
        vec_push(&o->listed, false);
    }
    while (o->leaves.n <= leaf)
        vec_push(&o->leaves, ((struct owed_leaf){.stale = true}));
}

/* sure: it was listed once, whatever is healthy now. */
static void add(struct sched *s, uint32_t gang, bool sure)
{
    struct owed *o = &s->owed;
    int64_t need[QUOTA_RESOURCES_MAX] = {0};
    const struct job *j = &s->jobs.at[s->gangs.at[gang].job];
    if (gang < o->listed.n && o->listed.at[gang])
        return;
    if (o->nnodes != s->quota.nodes.n) { /* a queue that nobody had named */
        owed_policy(s);
        return;
    }
    capacity_refresh(s);
    cluster_settle(s->cluster);
    room_for(o, gang, j->qnode);
    quota_need(s, gang, need);
    if (!sure && !ever_fits(s, gang, need))
        return;
    o->units.at[gang] = (struct rights_unit){.priority = j->priority,
                                             .need = need_row(s, need), .core = RIGHTS_NONE,
                                             .leaf = j->qnode};
    o->places.at[gang] = (struct rights_place){
        .submitted = j->submitted_at,
        .cost = j->preemptible ? 0 : INT64_MAX, /* who may not be stopped keeps its right first */
    };
    o->listed.at[gang] = true;
    line_insert(s, &o->leaves.at[j->qnode].ids, gang);
    if (s->policy.across)
        line_insert(s, &o->all, gang);
    o->leaves.at[j->qnode].stale = true;
    entitle_demand_add(&o->e, j->qnode, need, 1);
}

void owed_add(struct sched *s, uint32_t gang)
{
    add(s, gang, false);
}

static void turn_end(struct owed *o)
{
    if (o->r.turn == RIGHTS_NONE)
        return;
    uint32_t leaf = o->units.at[o->r.turn].leaf;
    entitle_unraise(&o->e);
    o->r.turn = RIGHTS_NONE;
    o->leaves.at[leaf].stale = true;
}

void owed_remove(struct sched *s, uint32_t gang)
{
    struct owed *o = &s->owed;
    if (!o->on || gang >= o->listed.n || !o->listed.at[gang])
        return;
    struct rights_pool pool = owed_pool(s);
    if (o->r.turn == gang)
        turn_end(o); /* with its job */
    const struct rights_unit *u = &o->units.at[gang];
    struct owed_leaf *leaf = &o->leaves.at[u->leaf];
    if (u->marks & RIGHTS_RUNNING)
        rights_stopped(&pool, gang);
    rights_forget(&o->r, &pool, gang);
    line_remove(&leaf->ids, gang);
    line_remove(&o->all, gang);
    leaf->stale = true;
    entitle_demand_add(&o->e, u->leaf, &o->needs.at[u->need * s->quota.nresources], -1);
    o->listed.at[gang] = false;
    s->gangs.at[gang].right = false;
}

/* In R: it runs, is issued, or has a plan; what is being stopped is not. */
static bool is_in_r(const struct gang *g)
{
    return g->phase == GANG_LAUNCHING || g->phase == GANG_RUNNING || g->phase == GANG_BROKEN;
}

void owed_settle(struct sched *s, uint32_t gang)
{
    struct owed *o = &s->owed;
    const struct gang *g = &s->gangs.at[gang];
    if (!o->on || gang >= o->listed.n || !o->listed.at[gang])
        return;
    struct rights_pool pool = owed_pool(s);
    struct rights_unit *u = &o->units.at[gang];
    u->marks &= ~(uint32_t)RIGHTS_GHOST;
    if (g->phase == GANG_STOPPING)
        u->marks |= RIGHTS_GHOST; /* it keeps its place in line */
    bool was = u->marks & RIGHTS_RUNNING, is = is_in_r(g);
    if (was == is)
        return;
    if (is) {
        rights_started(&pool, gang);
    } else {
        rights_stopped(&pool, gang);
        o->leaves.at[u->leaf].stale = true;
    }
}

int64_t owed_due_at(const struct sched *s, uint32_t gang)
{
    const struct owed *o = &s->owed;
    if (!o->on || s->policy.patience_us == 0 || gang >= o->listed.n || !o->listed.at[gang] ||
        o->units.at[gang].marks & (RIGHTS_DUE | RIGHTS_RUNNING))
        return INT64_MAX;
    return o->places.at[gang].submitted + s->policy.patience_us;
}

void owed_fall_due(struct sched *s, uint32_t gang)
{
    struct owed *o = &s->owed;
    o->units.at[gang].marks |= RIGHTS_DUE;
    o->leaves.at[o->units.at[gang].leaf].stale = true;
    o->some_due = true;
}

/* One due core that its queue's entitlement cannot hold gets a turn, if the others keep what
 * they are guaranteed. */
static void turn_give(struct sched *s)
{
    struct owed *o = &s->owed;
    struct rights_pool pool = owed_pool(s);
    VEC(struct rights_turn) wish = {0};
    while (o->last_turn.n < o->leaves.n)
        vec_push(&o->last_turn, INT64_MIN);
    for (uint32_t l = 0; l < o->leaves.n; l++)
        for (uint32_t i = 0; i < o->leaves.at[l].ids.n; i++) {
            uint32_t id = o->leaves.at[l].ids.at[i];
            if (rights_wants_turn(&pool, &o->e, id))
                vec_push(&wish, ((struct rights_turn){id, o->last_turn.at[l]}));
        }
    o->some_due = false; /* until somebody else falls due, or jobs or entitlements change */
    uint32_t given = wish.n ? rights_give_turn(&pool, &o->e, wish.at, wish.n) : RIGHTS_NONE;
    if (given != RIGHTS_NONE) {
        o->r.turn = wish.at[given].id;
        o->turn_at = s->at;
        o->last_turn.at[o->units.at[o->r.turn].leaf] = s->at;
        o->leaves.at[o->units.at[o->r.turn].leaf].stale = true;
    }
    vec_done(&wish);
}

static void tell_gangs(struct sched *s)
{
    struct owed *o = &s->owed;
    for (uint32_t i = 0; i < o->r.changed.n; i++) {
        uint32_t gang = o->r.changed.at[i];
        bool right = o->units.at[gang].marks & (RIGHTS_K1 | RIGHTS_K2);
        if (o->listed.at[gang] && s->gangs.at[gang].right != right)
            lane_right(s, gang, right);
    }
    vec_clear(&o->r.changed);
}

/* K1 of each leaf whose jobs or entitlement changed. */
static bool leaves_refresh(struct sched *s)
{
    struct owed *o = &s->owed;
    struct rights_pool pool = owed_pool(s);
    bool again = false;
    entitle_run(&o->e);
    for (uint32_t i = 0; i < o->e.changed.n; i++)
        if (o->e.changed.at[i] < o->leaves.n)
            o->leaves.at[o->e.changed.at[i]].stale = true;
    vec_clear(&o->e.changed);
    for (uint32_t l = 0; l < o->leaves.n; l++) {
        struct owed_leaf *leaf = &o->leaves.at[l];
        if (!leaf->stale)
            continue;
        struct rights_list list = {.ids = leaf->ids.at, .n = leaf->ids.n};
        rights_leaf(&o->r, &pool, l, list, entitle_row(&o->e, o->e.e, l));
        leaf->stale = false;
        again = true;
    }
    return again;
}

void owed_border(struct sched *s)
{
    struct owed *o = &s->owed;
    if (!o->on)
        return;
    capacity_refresh(s);
    struct rights_pool pool = owed_pool(s);
    if (o->r.turn != RIGHTS_NONE && s->at - o->turn_at >= s->policy.turn_max_us)
        turn_end(o);
    bool again = leaves_refresh(s);
    if (o->some_due && o->r.turn == RIGHTS_NONE) {
        turn_give(s);
        again = leaves_refresh(s) || again;
    }
    if (s->policy.across && again) {
        struct rights_list all = {.ids = o->all.at, .n = o->all.n};
        rights_across(&o->r, &pool, &o->e, all, true);
    }
    tell_gangs(s);
    if (again && o->e.kept)
        lanes_wake_quota(s); /* what may not be lent has changed */
    if (o->retry_at <= s->at) {
        o->retry_at = INT64_MAX;
        lanes_wake_owed(s);
    }
}

/* Beside the marks that are state: whether it is listed, which hangs on what was healthy when it
 * came. */
#define LISTED (UINT32_C(1) << 29)

uint32_t owed_labels(const struct sched *s, uint32_t gang)
{
    const struct owed *o = &s->owed;
    if (!o->on || gang >= o->listed.n || !o->listed.at[gang])
        return 0;
    return LISTED | (o->units.at[gang].marks & (RIGHTS_OWN | RIGHTS_OWN2 | RIGHTS_DUE));
}

void owed_restore(struct sched *s, const uint32_t *labels, int64_t retry_at)
{
    struct owed *o = &s->owed;
    make(s);
    o->retry_at = retry_at;
    for (uint32_t i = 0; i < s->gangs.n && o->on; i++) {
        bool listed = i < o->listed.n && o->listed.at[i];
        if (listed && !(labels[i] & LISTED)) {
            owed_remove(s, i);
        } else if (!listed && labels[i] & LISTED) {
            add(s, i, true);
            owed_settle(s, i);
        }
    }
    for (uint32_t i = 0; i < o->listed.n && i < s->gangs.n; i++)
        if (o->listed.at[i])
            o->units.at[i].marks |= labels[i] & ~LISTED;
}

int64_t owed_due(const struct sched *s)
{
    return s->owed.on ? s->owed.retry_at : INT64_MAX;
}

/* A gang with a right was refused: not for ever, since protection ends without a record. */
void owed_refused(struct sched *s, uint32_t gang)
{
    if (s->owed.on && s->gangs.at[gang].right && s->owed.retry_at == INT64_MAX)
        s->owed.retry_at = s->at + RETRY_US;
}
