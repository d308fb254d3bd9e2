/* quota.c - what each queue uses and may use, and its share
 * Use is charged at a claim and at each queue above it: O(depth x resources) a claim, and
 * nothing at all while the policy keeps no quotas. Decay of usage goes by epochs of a 64th
 * of the half-life: at each, what was used during it is added and all is multiplied by
 * 2^(-1/64), in integers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/quota.h"

#include <assert.h>

#include "base/hash.h"
#include "sched/state.h"

enum { EPOCHS_PER_HALF_LIFE = 64, EPOCHS_AT_ONCE = 64 * 64 };
/* floor(2^32 x 2^(-1/64)) */
#define DECAY_32 UINT64_C(4248701964)

static bool charged(const struct sched *s, const struct claim *c)
{
    if (c->gang == NONE || c->foreign)
        return false;
    if (c->phase == CLAIM_PLANNED)
        return !s->gangs.at[c->gang].reserved;
    return c->phase == CLAIM_ISSUED || c->phase == CLAIM_RUNNING;
}

static int64_t charge_of(const struct sched *s, const struct shape *sh, uint32_t r)
{
    const struct quota_resource_at *at = &s->quota.resources[r];
    if (at->kind == QUOTA_CPU)
        return sh->cpu_milli;
    if (at->kind == QUOTA_MEM)
        return sh->mem_bytes;
    if (at->any || sh->ntypes == 0)
        return at->any ? (int64_t)shape_gpu_milli(sh) : 0;
    /* a shape that accepts several types is charged to the first that has a quota */
    for (uint32_t i = 0; i < sh->ntypes; i++)
        for (uint32_t k = 0; k < s->quota.nresources; k++)
            if (s->quota.resources[k].kind == QUOTA_GPU &&
                s->quota.resources[k].type == sh->types[i].type)
                return k == r ? (int64_t)shape_gpu_milli(sh) : 0;
    return 0;
}

void quota_charge(const struct sched *s, uint32_t shape, int64_t *ret)
{
    const struct shape *sh = &s->shapes.at[shape].shape;
    for (uint32_t r = 0; r < s->quota.nresources; r++)
        ret[r] = charge_of(s, sh, r);
}

static struct quota_user *user_at(struct sched *s, uint32_t leaf, word_t user, bool make)
{
    struct quota *q = &s->quota;
    uint64_t key = (uint64_t)leaf << 32 | user;
    uint32_t i = u64map_get(&q->user_ids, key);
    if (i == MAP_NONE) {
        if (!make)
            return NULL;
        i = q->users_at.n;
        vec_push(&q->users_at, ((struct quota_user){.leaf = leaf, .user = user}));
        u64map_put(&q->user_ids, key, i);
    }
    return &q->users_at.at[i];
}

void quota_claim(struct sched *s, const struct claim *c, int sign)
{
    struct quota *q = &s->quota;
    if (!q->on || !charged(s, c) || c->shape == NONE)
        return;
    int64_t charge[QUOTA_RESOURCES_MAX];
    const struct job *j = &s->jobs.at[s->gangs.at[c->gang].job];
    quota_charge(s, c->shape, charge);
    for (uint32_t n = j->qnode; n != QUEUE_NONE; n = q->nodes.at[n].parent) {
        struct quota_node *at = &q->nodes.at[n];
        for (uint32_t r = 0; r < q->nresources; r++)
            at->use[r] += sign * charge[r];
        if (sign < 0 && at->refused) {
            at->refused = false;
            q->wake = true;
        }
    }
    if (!q->users)
        return;
    struct quota_user *u = user_at(s, j->qnode, j->user, true);
    for (uint32_t r = 0; r < q->nresources; r++)
        u->use[r] += sign * charge[r];
}

void quota_job(struct sched *s, uint32_t job, int sign)
{
    if (!s->quota.on)
        return;
    for (uint32_t i = 0; i < s->jobs.at[job].ngangs; i++) {
        const struct job *j = &s->jobs.at[job];
        uint32_t gang = j->gangs ? j->gangs[i] : j->one_gang;
        for (uint32_t k = 0; k < s->gangs.at[gang].nslots; k++) {
            uint32_t c = gang_slot(s, gang, k)->claim;
            if (c != NONE)
                quota_claim(s, &s->claims.at[c], sign);
        }
    }
}

void quota_done(struct quota *q)
{
    for (uint32_t i = 0; i < q->nodes.n; i++)
        vec_done(&q->nodes.at[i].active);
    vec_done(&q->nodes);
    vec_done(&q->by_word);
    vec_done(&q->users_at);
    u64map_done(&q->user_ids);
}

static uint32_t node_add(struct quota *q, uint32_t spec, uint32_t parent)
{
    struct quota_node n = {.spec = spec, .parent = parent, .weight = 1,
                           .authority = AUTHORITY_MOVE};
    for (uint32_t r = 0; r < QUOTA_RESOURCES_MAX; r++)
        n.cap[r] = QUOTA_ABSENT;
    vec_push(&q->nodes, n);
    return q->nodes.n - 1;
}

static int64_t cap_of(const struct sched *s, const struct queue_amounts *a, uint32_t r)
{
    int64_t g = a->guaranteed[r] == QUOTA_ABSENT ? 0 : a->guaranteed[r];
    if (s->policy.quotas == QUOTAS_STATIC && a->guaranteed[r] != QUOTA_ABSENT)
        return g;
    int64_t lent = a->borrow[r] == QUOTA_ABSENT ? QUOTA_ABSENT : g + a->borrow[r];
    return a->max[r] < lent ? a->max[r] : lent;
}

void quota_words(struct sched *s)
{
    struct quota *q = &s->quota;
    const struct queue_tree *t = &s->policy.queues;
    q->unknown_type = false;
    for (uint32_t r = 0; r < t->nresources; r++) {
        struct quota_resource_at *at = &q->resources[r];
        at->kind = t->resources[r].kind;
        at->any = at->kind == QUOTA_GPU && t->resources[r].type.len == 0;
        if (at->kind != QUOTA_GPU || at->any)
            continue;
        at->type = words_find(&s->words, t->resources[r].type);
        q->unknown_type = q->unknown_type || !at->type;
    }
}

/* All uses from the claims that there are. */
static void recount(struct sched *s)
{
    for (uint32_t i = 0; i < s->claims.n; i++)
        if (s->claims.at[i].live)
            quota_claim(s, &s->claims.at[i], 1);
}

void quota_policy(struct sched *s)
{
    struct quota *q = &s->quota;
    const struct queue_tree *t = &s->policy.queues;
    quota_done(q);
    *q = (struct quota){.on = s->policy.quotas != QUOTAS_NONE || s->policy.preempt == PREEMPT_RIGHTS ||
                             t->nqueues > 0, .epoch_at = s->at};
    q->nresources = t->nresources;
    quota_words(s);
    if (q->nresources == 0) { /* shares are of GPUs, whatever their type */
        q->resources[0] = (struct quota_resource_at){.kind = QUOTA_GPU, .any = true};
        q->nresources = 1;
    }
    node_add(q, t->nqueues ? 0 : QUEUE_NONE, QUEUE_NONE);
    for (uint32_t i = 1; i < t->nqueues; i++) {
        const struct queue_spec *spec = &t->queues[i];
        uint32_t id = node_add(q, i, spec->parent); /* the list may move */
        struct quota_node *n = &q->nodes.at[id];
        n->weight = spec->weight;
        n->authority = spec->authority;
        for (uint32_t r = 0; r < t->nresources; r++) {
            if (s->policy.quotas == QUOTAS_NONE)
                continue; /* queues that only say what muster may do */
            n->cap[r] = cap_of(s, &spec->amounts, r);
            n->guaranteed[r] = spec->amounts.guaranteed[r] == QUOTA_ABSENT
                                   ? 0
                                   : spec->amounts.guaranteed[r];
            q->users = q->users || spec->amounts.user_max[r] != QUOTA_ABSENT;
        }
    }
    for (uint32_t i = 0; i < s->jobs.n; i++)
        if (s->jobs.at[i].live)
            s->jobs.at[i].qnode = quota_leaf(s, s->jobs.at[i].queue);
    recount(s);
}

uint32_t quota_leaf(struct sched *s, word_t queue)
{
    struct quota *q = &s->quota;
    if (!q->on)
        return 0;
    while (q->by_word.n <= queue)
        vec_push(&q->by_word, QUEUE_NONE);
    if (q->by_word.at[queue] != QUEUE_NONE)
        return q->by_word.at[queue];
    uint32_t n = QUEUE_NONE;
    if (queue)
        n = queue_tree_find(&s->policy.queues, words_text(&s->words, queue));
    if (n == QUEUE_NONE || s->policy.queues.queues[n].nchildren > 0)
        n = node_add(q, QUEUE_NONE, n == QUEUE_NONE ? 0 : n); /* jobs stand in leaves */
    q->nodes.at[n].word = queue;
    q->by_word.at[queue] = n;
    return n;
}

void quota_need(const struct sched *s, uint32_t gang, int64_t *ret)
{
    const struct tree_root *root = gang_root(s, &s->gangs.at[gang]);
    const struct tree *t = gang_tree(s, &s->gangs.at[gang]);
    memset(ret, 0, s->quota.nresources * sizeof *ret);
    for (uint32_t i = root->leaf0; i < root->leaf0 + root->nleaves; i++) {
        int64_t charge[QUOTA_RESOURCES_MAX];
        quota_charge(s, t->leaves[i].shape, charge);
        for (uint32_t r = 0; r < s->quota.nresources; r++)
            ret[r] += charge[r] * t->leaves[i].copies * t->leaves[i].per_min;
    }
}

static struct why refusal(const struct sched *s, uint32_t node, uint32_t r, int64_t need,
                          int64_t left)
{
    const struct quota_node *n = &s->quota.nodes.at[node];
    int64_t unit = s->quota.resources[r].kind == QUOTA_MEM ? INT64_C(1) << 30 : 1000;
    struct str name = n->spec != QUEUE_NONE ? s->policy.queues.queues[n->spec].name
                                            : words_text(&s->words, n->word);
    return (struct why){.code = WHY_QUOTA,
                        .level = s->quota.resources[r].kind,
                        .need = (uint32_t)((need + unit - 1) / unit),
                        .have = left < 0 ? 0 : (uint32_t)(left / unit),
                        .other = (uint32_t)(n->cap[r] / unit),
                        .who = digest_bytes(name.ptr ? name.ptr : "", name.len, 0)};
}

static bool user_allows(struct sched *s, const struct job *j, const int64_t *need,
                        struct why *why)
{
    const struct quota_node *leaf = &s->quota.nodes.at[j->qnode];
    if (!s->quota.users || leaf->spec == QUEUE_NONE)
        return true;
    const struct queue_amounts *a = &s->policy.queues.queues[leaf->spec].amounts;
    const struct quota_user *u = user_at(s, j->qnode, j->user, false);
    for (uint32_t r = 0; r < s->quota.nresources; r++) {
        int64_t left = a->user_max[r] - (u ? u->use[r] : 0);
        if (a->user_max[r] == QUOTA_ABSENT || need[r] == 0 || need[r] <= left)
            continue;
        *why = refusal(s, j->qnode, r, need[r], left);
        struct str user = j->user ? words_text(&s->words, j->user) : (struct str){0};
        why->who = digest_bytes(user.ptr ? user.ptr : "", user.len, 0);
        why->other = (uint32_t)(a->user_max[r] / 1000);
        return false;
    }
    return true;
}

/* With rights, room that a queue is owed and need not lend is not for others, though it is
 * free (rights.h). */
static bool root_allows(struct sched *s, uint32_t leaf, const int64_t *need)
{
    const struct quota *q = &s->quota;
    struct rights_use use = {0};
    if (!s->owed.on || s->policy.quotas != QUOTAS_RIGHTS || !s->owed.e.kept ||
        s->owed.nnodes != q->nodes.n)
        return true;
    rights_use_setup(&use, q->nodes.n, q->nresources);
    for (uint32_t n = 0; n < q->nodes.n; n++)
        memcpy(&use.at[n * q->nresources], q->nodes.at[n].use,
               q->nresources * sizeof *use.at);
    bool fits = rights_fits_root(&use, &s->owed.e, leaf, need);
    rights_use_done(&use);
    return fits;
}

static bool keeps_all(struct sched *s, const struct job *j, const int64_t *need,
                      struct why *why)
{
    int64_t one[QUOTA_RESOURCES_MAX] = {0};
    if (root_allows(s, j->qnode, need))
        return true;
    for (uint32_t r = 0; r < s->quota.nresources; r++) {
        one[r] = need[r];
        if (!root_allows(s, j->qnode, one)) {
            *why = refusal(s, 0, r, need[r], 0);
            why->other = (uint32_t)(quota_usable(s, r) / 1000);
            return false;
        }
        one[r] = 0;
    }
    return true;
}

bool quota_user_allows(struct sched *s, uint32_t gang)
{
    int64_t need[QUOTA_RESOURCES_MAX];
    struct why why;
    quota_need(s, gang, need);
    return user_allows(s, &s->jobs.at[s->gangs.at[gang].job], need, &why);
}

bool quota_allows(struct sched *s, uint32_t gang, struct why *why)
{
    struct quota *q = &s->quota;
    if (!q->on)
        return true;
    const struct job *j = &s->jobs.at[s->gangs.at[gang].job];
    int64_t need[QUOTA_RESOURCES_MAX];
    quota_need(s, gang, need);
    for (uint32_t n = j->qnode; n != QUEUE_NONE; n = q->nodes.at[n].parent) {
        struct quota_node *at = &q->nodes.at[n];
        for (uint32_t r = 0; r < q->nresources; r++) {
            if (at->cap[r] == QUOTA_ABSENT || need[r] == 0 ||
                need[r] <= at->cap[r] - at->use[r])
                continue;
            *why = refusal(s, n, r, need[r], at->cap[r] - at->use[r]);
            return false;
        }
    }
    return user_allows(s, j, need, why) && keeps_all(s, j, need, why);
}

uint8_t quota_authority(const struct sched *s, uint32_t gang)
{
    if (!s->quota.on)
        return AUTHORITY_MOVE;
    return s->quota.nodes.at[s->jobs.at[s->gangs.at[gang].job].qnode].authority;
}

void quota_refused(struct sched *s, uint32_t leaf)
{
    for (uint32_t n = leaf; n != QUEUE_NONE; n = s->quota.nodes.at[n].parent)
        s->quota.nodes.at[n].refused = true;
}

/* The most tasks up to `most` that leave what is not lent to its owners: by halving. */
static uint32_t within_root(const struct sched *cs, uint32_t leaf, const int64_t *charge,
                            const int64_t *need, uint32_t most)
{
    struct sched *s = (struct sched *)cs;
    uint32_t lo = 0, hi = most < JOB_SLOTS_MAX ? most : JOB_SLOTS_MAX;
    int64_t sum[QUOTA_RESOURCES_MAX];
    if (!s->owed.on || !s->owed.e.kept)
        return most;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo + 1) / 2;
        for (uint32_t r = 0; r < s->quota.nresources; r++)
            sum[r] = need[r] + mid * charge[r];
        if (root_allows(s, leaf, sum))
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

/* Tasks of the shape that the caps above the gang leave room for when `need` is used too. */
static uint32_t tasks_left(const struct sched *s, uint32_t gang, uint32_t shape,
                           const int64_t *need)
{
    const struct quota *q = &s->quota;
    uint64_t most = UINT32_MAX;
    int64_t charge[QUOTA_RESOURCES_MAX];
    quota_charge(s, shape, charge);
    uint32_t leaf = s->jobs.at[s->gangs.at[gang].job].qnode;
    for (uint32_t n = leaf; n != QUEUE_NONE; n = q->nodes.at[n].parent) {
        const struct quota_node *at = &q->nodes.at[n];
        for (uint32_t r = 0; r < q->nresources; r++) {
            if (at->cap[r] == QUOTA_ABSENT || charge[r] == 0)
                continue;
            int64_t left = at->cap[r] - at->use[r] - need[r];
            uint64_t k = left < 0 ? 0 : (uint64_t)(left / charge[r]);
            most = k < most ? k : most;
        }
    }
    return within_root(s, leaf, charge, need, (uint32_t)most);
}

uint32_t quota_tasks_left(const struct sched *s, uint32_t gang, uint32_t shape)
{
    int64_t need[QUOTA_RESOURCES_MAX];
    if (!s->quota.on)
        return UINT32_MAX;
    quota_need(s, gang, need);
    return tasks_left(s, gang, shape, need);
}

uint32_t quota_room(const struct sched *s, uint32_t gang, uint32_t shape)
{
    static const int64_t nothing[QUOTA_RESOURCES_MAX];
    return s->quota.on ? tasks_left(s, gang, shape, nothing) : UINT32_MAX;
}

bool quota_within(const struct sched *s, uint32_t gang)
{
    int64_t need[QUOTA_RESOURCES_MAX];
    const struct quota_node *n = &s->quota.nodes.at[s->jobs.at[s->gangs.at[gang].job].qnode];
    quota_need(s, gang, need);
    for (uint32_t r = 0; r < s->quota.nresources; r++)
        if (need[r] && n->use[r] + need[r] > n->guaranteed[r])
            return false;
    return true;
}

int64_t quota_capacity(const struct sched *s, uint32_t resource)
{
    const struct quota_resource_at *at = &s->quota.resources[resource];
    const struct cluster *c = s->cluster;
    if (at->any)
        return c->gpu_cap_milli;
    int64_t sum = 0;
    uint32_t type = at->kind == QUOTA_GPU ? cluster_type_id(c, at->type) : TYPE_ANY;
    for (uint32_t i = 0; i < c->nnodes; i++) {
        const struct node *n = &c->nodes[i];
        if (n->gone)
            continue;
        if (at->kind == QUOTA_CPU)
            sum += n->cpu_cap;
        else if (at->kind == QUOTA_MEM)
            sum += n->mem_cap;
        else if (type != TYPE_ANY)
            sum += 1000 * __builtin_popcountll(node_type_devs(c, n, type));
    }
    return sum;
}

int64_t quota_usable(const struct sched *s, uint32_t resource)
{
    const struct quota_resource_at *at = &s->quota.resources[resource];
    const struct cluster *c = s->cluster;
    uint32_t type = at->any ? TYPE_ANY : cluster_type_id(c, at->type);
    int64_t sum = 0;
    for (uint32_t i = 0; i < c->nnodes; i++) {
        const struct node *n = &c->nodes[i];
        if (n->gone || n->state != NODE_UP || n->cordoned || n->unsynced)
            continue;
        if (at->kind == QUOTA_CPU)
            sum += n->cpu_cap;
        else if (at->kind == QUOTA_MEM)
            sum += n->mem_cap;
        else if (at->any || type != TYPE_ANY)
            sum += 1000 * (int64_t)__builtin_popcountll(node_type_devs(c, n, type) & n->healthy);
    }
    return sum;
}

uint64_t quota_share(const struct sched *s, uint32_t node)
{
    const struct quota_node *n = &s->quota.nodes.at[node];
    uint64_t most = 0;
    bool decays = s->policy.usage_half_life_us > 0;
    if (n->weight == 0)
        return UINT64_MAX; /* lent room only: after all others */
    for (uint32_t r = 0; r < s->quota.nresources; r++) {
        int64_t cap = quota_capacity(s, r);
        unsigned __int128 part = decays ? n->usage[r] : (uint64_t)n->use[r] << 8;
        uint64_t share = cap > 0 ? (uint64_t)((part << 22) / (unsigned __int128)cap) : 0;
        most = share > most ? share : most;
    }
    return most / n->weight;
}

static int64_t epoch_us(const struct sched *s)
{
    int64_t us = s->policy.usage_half_life_us / EPOCHS_PER_HALF_LIFE;
    return us > 0 ? us : 1;
}

int64_t quota_due(const struct sched *s)
{
    if (!s->quota.on || s->policy.usage_half_life_us == 0 || s->quota.n_active == 0)
        return INT64_MAX;
    return s->quota.epoch_at + epoch_us(s);
}

/* Usage counts what was in use when an epoch ends; so it is exact to an epoch. */
static void decay(struct sched *s)
{
    struct quota *q = &s->quota;
    if (!q->on || s->policy.usage_half_life_us == 0)
        return;
    int64_t passed = (s->at - q->epoch_at) / epoch_us(s);
    if (passed <= 0)
        return;
    q->epoch_at += passed * epoch_us(s);
    for (int64_t k = passed < EPOCHS_AT_ONCE ? passed : EPOCHS_AT_ONCE; k > 0; k--) {
        for (uint32_t i = 0; i < q->nodes.n; i++) {
            struct quota_node *n = &q->nodes.at[i];
            for (uint32_t r = 0; r < q->nresources; r++) {
                unsigned __int128 u = (unsigned __int128)n->usage[r] * DECAY_32 >> 32;
                unsigned __int128 now = (unsigned __int128)n->use[r] << 8;
                now = now * ((UINT64_C(1) << 32) - DECAY_32) >> 32; /* steady use u: u << 8 */
                n->usage[r] = (uint64_t)(u + now);
            }
        }
    }
}

void quota_border(struct sched *s)
{
    decay(s);
    if (!s->quota.wake)
        return;
    s->quota.wake = false;
    lanes_wake_quota(s);
}
