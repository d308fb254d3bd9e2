/* pending.c - who waits, in which order, and who must be asked again
 * Waiting gangs stand in lanes: gangs of one class (queue, tree, root), whose answers are
 * the same, or the whole queue where its head blocks it. Each lane is a heap by the policy's
 * order; the lanes that must be asked stand in a heap by their heads. A refusal blocks the
 * lane (its `say` is the memory of it) until room that could fit is freed, or a better head
 * comes. O(log n) an arrival; a freed node looks through the lanes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/hash.h"
#include "sched/state.h"

/* Its present run, if it has one. */
static int64_t runs_since(const struct sched *s, uint32_t gang)
{
    uint32_t c = gang_slot((struct sched *)s, gang, 0)->claim;
    return c != NONE && s->claims.at[c].phase == CLAIM_RUNNING ? s->claims.at[c].since : s->at;
}

static int64_t remaining_us(const struct sched *s, uint32_t gang)
{
    const struct job *j = &s->jobs.at[s->gangs.at[gang].job];
    int64_t expected = gang_expected(s, &s->gangs.at[gang]);
    int64_t left = expected - j->progress_us - (s->at - runs_since(s, gang));
    return expected == 0 ? INT64_MAX : left > 0 ? left : 0;
}

/* Two classes (Tiresias, NSDI'19): GPU time attained below and above a threshold. */
static bool is_demoted(const struct sched *s, uint32_t gang)
{
    const struct job *j = &s->jobs.at[s->gangs.at[gang].job];
    unsigned __int128 us = (unsigned __int128)(j->attained_us + s->at - runs_since(s, gang)) *
                           gang_root(s, &s->gangs.at[gang])->min_milli / 1000;
    return us >= (unsigned __int128)s->policy.attained_gpu_hours * 3600 * 1000000;
}

/* By the policy's order alone: below 0: a first. While a gang waits its key stands still. */
static int order_cmp(const struct sched *s, uint32_t a, uint32_t b)
{
    if (s->policy.order == ORDER_REMAINING) {
        int64_t ra = remaining_us(s, a), rb = remaining_us(s, b);
        return ra < rb ? -1 : ra > rb;
    }
    if (s->policy.order == ORDER_ATTAINED)
        return is_demoted(s, a) - is_demoted(s, b);
    return 0;
}

/* By expected run time; what nobody knows comes last. */
static int sooner_over(const struct sched *s, uint32_t a, uint32_t b)
{
    uint64_t ea = (uint64_t)gang_expected(s, &s->gangs.at[a]) - 1;
    uint64_t eb = (uint64_t)gang_expected(s, &s->gangs.at[b]) - 1;
    return ea < eb ? -1 : ea > eb;
}

bool gang_outranks(const struct sched *s, uint32_t a, uint32_t b)
{
    const struct job *ja = &s->jobs.at[s->gangs.at[a].job], *jb = &s->jobs.at[s->gangs.at[b].job];
    if (ja->priority != jb->priority)
        return ja->priority > jb->priority;
    if (s->policy.order == ORDER_SHORTEST)
        return sooner_over(s, a, b) < 0;
    if (s->policy.order == ORDER_FIFO)
        return ja->submitted_at < jb->submitted_at;
    return order_cmp(s, a, b) < 0;
}

bool gang_before(const struct sched *s, uint32_t a, uint32_t b)
{
    const struct gang *ga = &s->gangs.at[a], *gb = &s->gangs.at[b];
    const struct job *ja = &s->jobs.at[ga->job], *jb = &s->jobs.at[gb->job];
    if (ja->priority != jb->priority)
        return ja->priority > jb->priority;
    if (ja->overridden != jb->overridden)
        return ja->overridden;
    if (ga->due != gb->due)
        return ga->due;
    int by_worth = s->policy.value ? worth_cmp(s, a, b) : 0;
    if (by_worth)
        return by_worth < 0;
    int shorter = s->policy.order == ORDER_SHORTEST ? sooner_over(s, a, b) : 0;
    if (shorter)
        return shorter < 0;
    int by_order = order_cmp(s, a, b);
    if (by_order)
        return by_order < 0;
    if (ja->submitted_at != jb->submitted_at)
        return ja->submitted_at < jb->submitted_at;
    if (ga->job != gb->job)
        return str_cmp(job_name(ja), job_name(jb)) < 0;
    if (ga->root != gb->root)
        return ga->root < gb->root;
    return ga->copy < gb->copy;
}

static void lane_sift_up(struct sched *s, struct lane *l, uint32_t at)
{
    uint32_t id = l->heap[at];
    while (at > 0) {
        uint32_t up = (at - 1) / 2;
        if (!gang_before(s, id, l->heap[up]))
            break;
        l->heap[at] = l->heap[up];
        s->gangs.at[l->heap[at]].heap_pos = at;
        at = up;
    }
    l->heap[at] = id;
    s->gangs.at[id].heap_pos = at;
}

static void lane_sift_down(struct sched *s, struct lane *l, uint32_t at)
{
    uint32_t id = l->heap[at];
    for (;;) {
        uint32_t down = 2 * at + 1;
        if (down >= l->n)
            break;
        if (down + 1 < l->n && gang_before(s, l->heap[down + 1], l->heap[down]))
            down++;
        if (!gang_before(s, l->heap[down], id))
            break;
        l->heap[at] = l->heap[down];
        s->gangs.at[l->heap[at]].heap_pos = at;
        at = down;
    }
    l->heap[at] = id;
    s->gangs.at[id].heap_pos = at;
}

static void lane_push(struct sched *s, struct lane *l, uint32_t gang)
{
    if (l->n == l->room) {
        l->room = l->room ? l->room * 2 : 8;
        l->heap = mem_resize(l->heap, l->room * sizeof *l->heap);
    }
    l->heap[l->n++] = gang;
    lane_sift_up(s, l, l->n - 1);
}

static void lane_remove(struct sched *s, struct lane *l, uint32_t gang)
{
    uint32_t at = s->gangs.at[gang].heap_pos;
    assert(at < l->n && l->heap[at] == gang);
    uint32_t last = l->heap[--l->n];
    if (last == gang)
        return;
    l->heap[at] = last;
    s->gangs.at[last].heap_pos = at;
    lane_sift_up(s, l, at);
    lane_sift_down(s, l, s->gangs.at[last].heap_pos);
}

bool lane_is_blocked(const struct sched *s, const struct lane *l)
{
    (void)s;
    if (l->n == 0)
        return true;
    if (l->tree != NONE)
        return l->dry;
    return l->dry && l->blocked == l->heap[0];
}

/* Whose head has a right comes first; then the order of the queue. */
static bool lane_before(const struct sched *s, uint32_t a, uint32_t b)
{
    uint32_t ga = s->lanes.at[a].heap[0], gb = s->lanes.at[b].heap[0];
    if (s->gangs.at[ga].right != s->gangs.at[gb].right)
        return s->gangs.at[ga].right;
    return gang_before(s, ga, gb);
}

static void active_up(struct sched *s, uint32_t *h, uint32_t at)
{
    uint32_t id = h[at];
    while (at > 0 && lane_before(s, id, h[(at - 1) / 2])) {
        h[at] = h[(at - 1) / 2];
        s->lanes.at[h[at]].active_pos = at;
        at = (at - 1) / 2;
    }
    h[at] = id;
    s->lanes.at[id].active_pos = at;
}

static void active_down(struct sched *s, uint32_t *h, uint32_t n, uint32_t at)
{
    uint32_t id = h[at];
    for (uint32_t down; (down = 2 * at + 1) < n; at = down) {
        if (down + 1 < n && lane_before(s, h[down + 1], h[down]))
            down++;
        if (!lane_before(s, h[down], id))
            break;
        h[at] = h[down];
        s->lanes.at[h[at]].active_pos = at;
    }
    h[at] = id;
    s->lanes.at[id].active_pos = at;
}

static void active_remove(struct sched *s, uint32_t lane)
{
    struct quota_node *q = &s->quota.nodes.at[s->lanes.at[lane].qnode];
    uint32_t at = s->lanes.at[lane].active_pos;
    s->lanes.at[lane].active_pos = NONE;
    s->quota.n_active--;
    uint32_t last = q->active.at[--q->active.n];
    if (last == lane)
        return;
    q->active.at[at] = last;
    s->lanes.at[last].active_pos = at;
    active_up(s, q->active.at, at);
    active_down(s, q->active.at, q->active.n, s->lanes.at[last].active_pos);
}

/* The heap of lanes is compared by heads, so a lane leaves it before its head changes. */
static void lane_leave(struct sched *s, uint32_t lane)
{
    if (s->lanes.at[lane].active_pos != NONE)
        active_remove(s, lane);
}

void lane_touch(struct sched *s, uint32_t lane)
{
    lane_leave(s, lane);
    if (lane_is_blocked(s, &s->lanes.at[lane]))
        return;
    struct quota_node *q = &s->quota.nodes.at[s->lanes.at[lane].qnode];
    vec_push(&q->active, lane);
    s->quota.n_active++;
    active_up(s, q->active.at, q->active.n - 1);
}

struct next_key { /* of a queue's first lane: less is sooner */
    bool no_right, beyond;
    int64_t less_urgent;
    uint64_t share;
};

static struct next_key key_of(const struct sched *s, uint32_t lane)
{
    uint32_t gang = s->lanes.at[lane].heap[0];
    if (s->policy.quotas == QUOTAS_NONE)
        return (struct next_key){.no_right = !s->gangs.at[gang].right};
    return (struct next_key){.no_right = !s->gangs.at[gang].right,
                             .beyond = !quota_within(s, gang),
                             .less_urgent = -(int64_t)s->jobs.at[s->gangs.at[gang].job].priority,
                             .share = s->policy.between == BETWEEN_ORDER
                                          ? 0
                                          : quota_share(s, s->lanes.at[lane].qnode)};
}

static int key_cmp(const struct next_key *a, const struct next_key *b)
{
    if (a->no_right != b->no_right)
        return a->no_right - b->no_right;
    if (a->beyond != b->beyond)
        return a->beyond - b->beyond;
    if (a->less_urgent != b->less_urgent)
        return a->less_urgent < b->less_urgent ? -1 : 1;
    return a->share < b->share ? -1 : a->share > b->share;
}

/* Without quotas all lanes stand in the root's heap. With them: whoever has a right, then
 * within the guarantee, by priority, by the least share of its queue (unless the policy
 * says that the order decides between queues), by the order. O(queues). */
uint32_t lane_next(const struct sched *s)
{
    const struct quota *q = &s->quota;
    uint32_t best = NONE;
    struct next_key least = {0};
    if (q->n_active == 0)
        return NONE;
    if (!q->on)
        return q->nodes.at[0].active.at[0];
    for (uint32_t i = 0; i < q->nodes.n; i++) {
        if (q->nodes.at[i].active.n == 0)
            continue;
        uint32_t lane = q->nodes.at[i].active.at[0];
        struct next_key key = key_of(s, lane);
        int cmp = best == NONE ? -1 : key_cmp(&key, &least);
        if (cmp > 0 || (cmp == 0 && !gang_before(s, s->lanes.at[lane].heap[0],
                                                 s->lanes.at[best].heap[0])))
            continue;
        best = lane;
        least = key;
    }
    return best;
}

void lane_block(struct sched *s, uint32_t lane, uint32_t gang, const struct why *why)
{
    struct lane *l = &s->lanes.at[lane];
    lane_leave(s, lane);
    l->dry = true;
    l->blocked = gang;
    l->why = *why;
    lane_touch(s, lane);
}

/* Gangs of one class get the same answer, unless tasks of a gang have shapes of their own,
 * or some are done already: then what is asked differs. Equal askers share a lane. */
static uint64_t gang_own(const struct sched *s, const struct gang *g)
{
    uint64_t own = 0;
    if (s->caps & CAP_MAKE && !g->done)
        return 0;
    for (uint32_t i = 0; i < g->nslots; i++) {
        const struct slot *sl = g->nslots > 1 ? &g->slots[i] : &g->one;
        if (sl->flags & SLOT_DONE)
            own = digest_mix(own, i);
        if (sl->shape != NONE) {
            const struct shape *sh = &s->shapes.at[sl->shape].shape;
            own = digest_mix(own, digest_bytes(sh, sizeof *sh, i));
        }
    }
    return own;
}

/* Of queue, tree, root and what sets its gangs apart. */
uint64_t lane_key(const struct sched *s, const struct lane *l)
{
    if (s->policy.block == BLOCK_ALL)
        return 0;
    if (s->policy.block == BLOCK_QUEUE)
        return l->queue;
    uint64_t key = (uint64_t)(l->queue & 0xffff) << 44 | (uint64_t)l->tree << 8 | l->root;
    if (l->octave)
        key = digest_mix(l->octave, key) >> 1;
    return l->own ? digest_mix(l->own, key) >> 1 : key;
}

/* With reservations a gang that ends soon may start where a longer one may not: gangs whose
 * limits are alike to a factor of two share an answer. */
static uint32_t limit_octave(const struct sched *s, const struct job *j)
{
    if (s->policy.reserve == RESERVE_NONE)
        return 0;
    uint64_t seconds = (uint64_t)j->time_limit_us / 1000000;
    return seconds ? 65 - (uint32_t)__builtin_clzll(seconds) : 1;
}

/* A lane for a key of its own; one that has emptied is taken first. */
static uint32_t lane_add(struct sched *s, uint64_t own)
{
    for (uint32_t i = 0; own && i < s->lanes.n; i++) {
        struct lane *l = &s->lanes.at[i];
        if (l->n || !l->own)
            continue;
        u64map_del(&s->lane_ids, lane_key(s, l));
        return i;
    }
    vec_push(&s->lanes, (struct lane){.active_pos = NONE});
    return s->lanes.n - 1;
}

static uint32_t lane_of(struct sched *s, uint32_t gang)
{
    const struct gang *g = &s->gangs.at[gang];
    const struct job *j = &s->jobs.at[g->job];
    bool strict = s->policy.block != BLOCK_NONE;
    uint64_t own = strict ? 0 : gang_own(s, g);
    if (!strict && s->policy.nspares && job_borrows_spares(j))
        own = digest_mix(own, 1);
    struct lane as = {.queue = j->queue, .tree = j->tree, .root = g->root, .own = own,
                      .octave = strict ? 0 : limit_octave(s, j)};
    uint64_t key = lane_key(s, &as);
    uint32_t id = u64map_get(&s->lane_ids, key);
    if (id == MAP_NONE) {
        id = lane_add(s, own);
        struct lane *l = &s->lanes.at[id];
        l->queue = j->queue;
        l->tree = strict ? NONE : j->tree;
        l->root = strict ? NONE : g->root;
        l->own = own;
        l->octave = as.octave;
        l->qnode = s->policy.block == BLOCK_ALL ? 0 : j->qnode;
        l->blocked = NONE;
        u64map_put(&s->lane_ids, key, id);
    }
    /* An empty class lane may be left over from a tree that died: start afresh. */
    if (s->lanes.at[id].n == 0) {
        s->lanes.at[id].dry = false;
        s->lanes.at[id].blocked = NONE;
    }
    return id;
}

static void demand(struct sched *s, uint32_t gang, int sign)
{
    const struct tree_root *r = gang_root(s, &s->gangs.at[gang]);
    s->n_pending += (uint32_t)sign;
    s->pending_milli += sign * (int64_t)r->min_milli;
}

void gang_count_quota(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    bool is = g->lane != NONE && g->said && g->why.code == WHY_QUOTA;
    if (is == g->quota_idle)
        return;
    g->quota_idle = is;
    s->quota_milli += (is ? 1 : -1) * (int64_t)gang_root(s, g)->min_milli;
}

void gang_pend(struct sched *s, uint32_t gang)
{
    uint32_t lane = lane_of(s, gang);
    struct gang *g = &s->gangs.at[gang];
    assert(g->lane == NONE);
    expected_set(s, gang);
    lane_leave(s, lane);
    g->lane = lane;
    g->phase = GANG_PENDING;
    g->said = false;
    lane_push(s, &s->lanes.at[lane], gang);
    lane_touch(s, lane);
    vec_push(&s->unsaid, gang);
    demand(s, gang, 1);
}

void gang_fall_due(struct sched *s, uint32_t gang)
{
    if (s->gangs.at[gang].lane == NONE) {
        s->gangs.at[gang].due = true;
        return;
    }
    gang_unpend(s, gang); /* it leaves the heap under the old order */
    s->gangs.at[gang].due = true;
    gang_pend(s, gang);
}

void gang_unpend(struct sched *s, uint32_t gang)
{
    struct gang *g = &s->gangs.at[gang];
    if (g->reserved)
        reserve_drop(s, gang);
    if (g->lane == NONE)
        return;
    uint32_t lane = g->lane;
    lane_leave(s, lane);
    lane_remove(s, &s->lanes.at[lane], gang);
    g->lane = NONE;
    gang_count_quota(s, gang);
    lane_touch(s, lane);
    demand(s, gang, -1);
}

/* Out of the heaps while what the policy orders its gangs by changes, and back: what they
 * were told stays. */
void job_lift(struct sched *s, uint32_t job, bool lift)
{
    const struct job *j = &s->jobs.at[job];
    for (uint32_t i = 0; i < j->ngangs; i++) {
        uint32_t gang = j->gangs ? j->gangs[i] : j->one_gang;
        uint32_t lane = s->gangs.at[gang].lane;
        if (lane == NONE)
            continue;
        lane_leave(s, lane);
        if (lift)
            lane_remove(s, &s->lanes.at[lane], gang);
        else
            lane_push(s, &s->lanes.at[lane], gang);
        lane_touch(s, lane);
    }
}

static void lane_wake(struct sched *s, uint32_t lane)
{
    s->lanes.at[lane].dry = false;
    s->lanes.at[lane].blocked = NONE;
    lane_touch(s, lane);
}

/* Could the freed node hold even one task of the shape? By counts; tags are asked later. */
static bool node_could(const struct node *n, const struct shape *sh, uint64_t kept)
{
    if (!kept && (n->cpu_free < sh->cpu_milli || n->mem_free < sh->mem_bytes ||
                  n->slots_free < (int64_t)sh->pod_slots))
        return false;
    if (sh->gpu_mode == GPU_WHOLE)
        return (uint32_t)__builtin_popcountll(n->whole_free | kept) >= sh->gpu_count;
    return sh->gpu_mode == GPU_NONE || n->gpu_free_milli > 0;
}

static bool lane_could(const struct sched *s, const struct lane *l, const struct node *n,
                       uint64_t kept)
{
    const struct gang *g = &s->gangs.at[l->heap[0]];
    const struct tree *t = gang_tree(s, g);
    if (l->own || !(s->caps & CAP_MAKE))
        return true; /* its tasks may ask for less than their template */
    const struct tree_root *r = &t->roots[g->root];
    for (uint32_t i = r->leaf0; i < r->leaf0 + r->nleaves; i++)
        for (uint32_t alt = 0; alt < shape_alts(s, t->leaves[i].shape); alt++)
            if (node_could(n, &s->shapes.at[shape_alt(s, t->leaves[i].shape, alt)].shape,
                           kept))
                return true;
    return false;
}

void lanes_wake(struct sched *s, uint32_t node)
{
    const struct node *n = node == NONE ? NULL : &s->cluster->nodes[node];
    if (!s->n_pending || (n && !node_is_usable(n)))
        return;
    uint64_t kept = n && node_is_reserved(s, node) ? reserve_devices(s, node) : 0;
    for (uint32_t i = 0; i < s->lanes.n; i++) {
        struct lane *l = &s->lanes.at[i];
        if (l->dry && l->n && (!n || (l->why.code != WHY_QUOTA && lane_could(s, l, n, kept))))
            lane_wake(s, i);
    }
}

static bool lane_is_constrained(const struct sched *s, const struct lane *l)
{
    const struct gang *g = &s->gangs.at[l->heap[0]];
    const struct tree *t = gang_tree(s, g);
    const struct tree_root *r = &t->roots[g->root];
    for (uint32_t i = r->leaf0; i < r->leaf0 + r->nleaves; i++) {
        const struct shape *sh = &s->shapes.at[t->leaves[i].shape].shape;
        if (sh->nconstraints || sh->ntags)
            return true;
    }
    return false;
}

/* A task with tags or dislikes came or went: room that was there may be allowed now. */
void lanes_wake_constrained(struct sched *s)
{
    for (uint32_t i = 0; i < s->lanes.n; i++) {
        struct lane *l = &s->lanes.at[i];
        if (l->dry && l->n && lane_is_constrained(s, l))
            lane_wake(s, i);
    }
}

/* Use went down in a queue where somebody had been refused. */
void lanes_wake_quota(struct sched *s)
{
    for (uint32_t i = 0; i < s->lanes.n; i++) {
        struct lane *l = &s->lanes.at[i];
        if (l->dry && l->n && l->why.code == WHY_QUOTA)
            lane_wake(s, i);
    }
}

void lanes_wake_owed(struct sched *s)
{
    for (uint32_t i = 0; i < s->lanes.n; i++) {
        struct lane *l = &s->lanes.at[i];
        if (l->dry && l->n && s->gangs.at[l->heap[0]].right)
            lane_wake(s, i);
    }
}

/* Its place among the lanes may hang on it; with a new right a refused one asks again. */
void lane_right(struct sched *s, uint32_t gang, bool right)
{
    struct gang *g = &s->gangs.at[gang];
    if (g->lane == NONE || s->lanes.at[g->lane].heap[0] != gang) {
        g->right = right;
        return;
    }
    lane_leave(s, g->lane);
    g->right = right;
    if (right)
        lane_wake(s, g->lane);
    else
        lane_touch(s, g->lane);
}

void lanes_rebuild(struct sched *s)
{
    VEC(uint32_t) waiting = {0};
    for (uint32_t i = 0; i < s->lanes.n; i++) {
        for (uint32_t k = 0; k < s->lanes.at[i].n; k++)
            vec_push(&waiting, s->lanes.at[i].heap[k]);
        free(s->lanes.at[i].heap);
    }
    vec_clear(&s->lanes);
    for (uint32_t i = 0; i < s->quota.nodes.n; i++)
        vec_clear(&s->quota.nodes.at[i].active);
    s->quota.n_active = 0;
    u64map_clear(&s->lane_ids);
    for (uint32_t i = 0; i < waiting.n; i++) {
        s->gangs.at[waiting.at[i]].lane = NONE;
        demand(s, waiting.at[i], -1);
        gang_pend(s, waiting.at[i]);
    }
    vec_done(&waiting);
}
