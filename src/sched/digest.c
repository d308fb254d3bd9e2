/* digest.c - one number for a state: equal states, equal numbers, whatever the indexes
 * A sum over entities of a hash of their names and fields; what they refer to is hashed by
 * name. O(state): it is asked for in tests, at snapshots and when replicas are compared, not
 * on the way of a decision. SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "sched/state.h"

static uint64_t str_digest(struct str s, uint64_t seed)
{
    return digest_bytes(s.ptr ? s.ptr : "", s.len, seed);
}

static uint64_t word_digest(const struct sched *s, word_t w)
{
    return w ? str_digest(words_text(&s->words, w), 3) : 0;
}

static uint64_t node_digest(const struct sched *s, uint32_t i, enum digest_kind kind)
{
    const struct node *n = &s->cluster->nodes[i];
    const struct node_desc *d = cluster_node_desc(s->cluster, i);
    uint64_t h = str_digest(d->name, 11);
    h = digest_mix(h, str_digest(d->uid, 1));
    h = digest_mix(h, (uint64_t)n->cpu_cap);
    h = digest_mix(h, (uint64_t)n->mem_cap);
    h = digest_mix(h, (uint64_t)n->slots_cap << 32 | (uint32_t)n->nics_cap);
    h = digest_mix(h, n->state | (uint64_t)n->unsynced << 8);
    if (kind == DIGEST_ALL)
        h = digest_mix(h, n->cordoned);
    for (uint32_t k = 0; k < n->ndevices; k++) {
        const struct device *v = &s->cluster->devices[n->device0 + k];
        h = digest_mix(h, word_digest(s, s->cluster->types[v->type]) + v->state);
        h = digest_mix(h, (uint64_t)v->mem_cap);
    }
    uint64_t sum = 0;
    for (uint32_t k = 0; k < d->ntags; k++)
        sum += digest_mix(21, word_digest(s, d->tags[k]));
    for (uint32_t k = 0; k < d->ntaints; k++)
        sum += digest_mix(22, word_digest(s, d->taints[k]));
    for (uint32_t k = 0; k < d->nparts; k++)
        sum += digest_mix(word_digest(s, d->parts[k].key), word_digest(s, d->parts[k].value));
    for (uint32_t k = 0; k < d->nplace; k++)
        h = digest_mix(h, digest_mix(word_digest(s, d->place[k].key),
                                     word_digest(s, d->place[k].value)));
    return digest_mix(h, sum);
}

static uint64_t shape_digest(const struct sched *s, uint32_t id)
{
    struct shape sh = s->shapes.at[id].shape; /* words to their texts */
    uint64_t h = 31;
    for (uint32_t i = 0; i < sh.ntypes; i++) {
        h = digest_mix(h, word_digest(s, sh.types[i].type));
        sh.types[i].type = 0;
    }
    for (uint32_t i = 0; i < sh.ntags; i++) {
        h = digest_mix(h, word_digest(s, sh.tags[i]));
        sh.tags[i] = 0;
    }
    for (uint32_t i = 0; i < sh.ntolerate; i++) {
        h = digest_mix(h, word_digest(s, sh.tolerate[i]));
        sh.tolerate[i] = 0;
    }
    for (uint32_t i = 0; i < sh.nconstraints; i++) {
        h = digest_mix(h, word_digest(s, sh.constraints[i].tag));
        h = digest_mix(h, word_digest(s, sh.constraints[i].key));
        sh.constraints[i].tag = sh.constraints[i].key = 0;
    }
    for (uint32_t i = 0; i < sh.nalts; i++) {
        h = digest_mix(h, word_digest(s, sh.alts[i].profile));
        sh.alts[i].profile = 0;
    }
    h = digest_mix(h, word_digest(s, sh.profile));
    sh.profile = 0;
    return digest_mix(h, digest_bytes(&sh, sizeof sh, 0));
}

static uint64_t tree_digest(const struct sched *s, const struct tree *t)
{
    uint64_t h = 41;
    for (uint32_t i = 0; i < t->ngroups; i++) {
        const struct group_spec *g = &t->groups[i];
        h = digest_mix(h, (uint64_t)g->parent << 32 | (uint64_t)g->whole << 16 | g->start);
        h = digest_mix(h, digest_bytes(&g->count, sizeof g->count, 0));
        h = digest_mix(h, word_digest(s, g->required) + 3 * word_digest(s, g->preferred));
        h = digest_mix(h, word_digest(s, g->segment_level) + g->segment_size);
        h = digest_mix(h, word_digest(s, g->spread_kind) + g->spread_most);
        h = digest_mix(h, word_digest(s, g->role) + g->balanced);
    }
    for (uint32_t i = 0; i < t->nleaves; i++)
        h = digest_mix(h, shape_digest(s, t->leaves[i].shape));
    return h;
}

static uint64_t why_digest(const struct sched *s, const struct why *w)
{
    uint64_t h = digest_mix(51, w->code);
    h = digest_mix(h, word_digest(s, w->level));
    h = digest_mix(h, (uint64_t)w->need << 32 | w->have);
    return digest_mix(h, w->other + w->who);
}

static uint64_t job_digest(const struct sched *s, const struct job *j, enum digest_kind kind)
{
    uint64_t h = str_digest(job_name(j), 61);
    h = digest_mix(h, tree_digest(s, &s->trees.at[j->tree]));
    h = digest_mix(h, word_digest(s, j->queue) + 3 * word_digest(s, j->user));
    h = digest_mix(h, (uint64_t)(int64_t)j->priority);
    h = digest_mix(h, (uint64_t)j->submitted_at);
    h = digest_mix(h, (uint64_t)j->time_limit_us);
    h = digest_mix(h, (uint64_t)j->expected_us);
    h = digest_mix(h, (uint64_t)j->overridden << 2 | (uint64_t)j->held << 1 | j->cancelled);
    h = digest_mix(h, (uint64_t)j->saved_at);
    h = digest_mix(h, (uint64_t)j->kind << 24 | (uint64_t)j->success << 16 |
                          (uint64_t)j->on_loss << 8 | j->checkpoint);
    h = digest_mix(h, (uint64_t)j->tries << 32 | j->budget);
    h = digest_mix(h, (uint64_t)j->backoff_us);
    h = digest_mix(h, (uint64_t)j->ckpt_interval_us);
    h = digest_mix(h, (uint64_t)j->value_milli_h);
    h = digest_mix(h, (uint64_t)j->deadline_at);
    h = digest_mix(h, j->ckpt_step);
    if (kind == DIGEST_ALL)
        h = digest_mix(h, (uint64_t)j->moved << 33 | (uint64_t)j->gangs_left << 1 | j->ask);
    return h;
}

static uint64_t gang_name_digest(const struct sched *s, uint32_t gang)
{
    struct gang_ref ref = gang_ref_of(s, gang);
    return digest_mix(str_digest(ref.job, 71), (uint64_t)ref.group << 32 | ref.copy);
}

static uint64_t slots_digest(const struct gang *g)
{
    uint64_t h = 75;
    for (uint32_t i = 0; i < g->nslots; i++) {
        const struct slot *sl = g->nslots > 1 ? &g->slots[i] : &g->one;
        h = digest_mix(h, sl->flags);
        h = digest_mix(h, sl->last_launch);
        h = digest_mix(h, sl->rank);
        h = digest_mix(h, str_digest((struct str){sl->task, sl->task_len}, 5));
    }
    return h;
}

static uint64_t reservation_digest(const struct sched *s, const struct reservation *r)
{
    const uint64_t fields[] = {r->taken, r->nclaims, (uint64_t)r->start, (uint64_t)r->by,
                               (uint64_t)r->expected, (uint64_t)r->made_at};
    uint64_t h = digest_mix(79, gang_name_digest(s, r->gang));
    for (uint32_t k = 0; k < sizeof fields / sizeof *fields; k++)
        h = digest_mix(h, fields[k]);
    return h;
}

static uint64_t gang_digest(const struct sched *s, uint32_t i)
{
    const struct gang *g = &s->gangs.at[i];
    const uint64_t fields[] = {
        g->phase, g->said, g->failed, g->target, g->issued, g->running, g->ending,
        g->planned, g->done, g->offered, g->launch, g->stage, g->tries,
        (uint64_t)g->launch_by, (uint64_t)g->not_before, g->lane != NONE,
        g->tried_epoch == s->free_epoch, (uint64_t)g->raised << 1 | g->grows};
    uint64_t h = gang_name_digest(s, i);
    for (uint32_t k = 0; k < sizeof fields / sizeof *fields; k++)
        h = digest_mix(h, fields[k]);
    h = digest_mix(h, (uint64_t)owed_labels(s, i) << 2 | g->right << 1 | g->reserved);
    h = digest_mix(h, g->fails_on + ((uint64_t)g->fails_here << 1 | g->roams));
    h = digest_mix(h, (uint64_t)g->kept << 2 | g->mends << 1 | g->due);
    h = digest_mix(h, (uint64_t)g->forecast_us);
    if (g->said)
        h = digest_mix(h, why_digest(s, &g->why));
    return digest_mix(h, slots_digest(g));
}

static uint64_t early_digest(const struct sched *s, const struct early *e)
{
    uint64_t h = str_digest((struct str){e->task, e->task_len}, 83);
    h = digest_mix(h, str_digest(job_name(&s->jobs.at[e->job]), 1));
    h = digest_mix(h, (uint64_t)e->group << 48 | (uint64_t)e->leaf << 32 | e->copy);
    h = digest_mix(h, (uint64_t)e->index << 3 | (uint64_t)e->gated << 2 |
                          (uint64_t)e->bare << 1 | e->seen);
    return e->shape == NONE ? h : digest_mix(h, shape_digest(s, e->shape));
}

/* Who is refused in each lane, and why; lanes without anybody in them say nothing. */
static uint64_t lane_digest(const struct sched *s, const struct lane *l)
{
    uint64_t h = digest_mix(77, gang_name_digest(s, l->heap[0]));
    h = digest_mix(h, lane_is_blocked(s, l));
    return l->dry ? digest_mix(h, why_digest(s, &l->why)) : h;
}

static uint64_t claim_digest(const struct sched *s, const struct claim *c,
                             enum digest_kind kind)
{
    uint64_t h = str_digest((struct str){c->name, c->name_len}, 81);
    if (c->gang != NONE) {
        struct slot_ref slot = slot_ref_of(s, c->gang, c->slot);
        h = digest_mix(h, gang_name_digest(s, c->gang));
        h = digest_mix(h, (uint64_t)slot.leaf << 32 | slot.index);
    }
    h = digest_mix(h, c->phase | (uint64_t)c->foreign << 8 | (uint64_t)c->taken << 9);
    struct str where = c->use.node == NODE_NONE ? (struct str){c->where, c->where_len}
                                                : cluster_node_name(s->cluster, c->use.node);
    h = digest_mix(h, str_digest(where, 1));
    h = digest_mix(h, c->use.devs);
    h = digest_mix(h, (uint64_t)c->use.slices << 32 | c->use.gpu_milli);
    h = digest_mix(h, c->alt);
    h = digest_mix(h, (uint64_t)c->use.cpu_milli);
    h = digest_mix(h, c->launch);
    if (kind == DIGEST_FACTS)
        return h;
    h = digest_mix(h, (uint64_t)c->since);
    h = digest_mix(h, (uint64_t)c->retry_at);
    h = digest_mix(h, c->stop);
    return digest_mix(h, (uint64_t)c->placed << 5 | (uint64_t)c->kept << 4 |
                             (uint64_t)c->extra << 3 | (uint64_t)c->asked << 2 |
                             (uint64_t)c->ours << 1 | c->seen);
}

static bool is_fact(const struct claim *c)
{
    return c->phase == CLAIM_RUNNING || c->phase == CLAIM_ENDING || c->phase == CLAIM_STRAY;
}

uint64_t sched_digest(const struct sched *s, enum digest_kind kind)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->cluster->nnodes; i++)
        if (!s->cluster->nodes[i].gone)
            sum += node_digest(s, i, kind);
    for (uint32_t i = 0; i < s->jobs.n; i++)
        if (s->jobs.at[i].live)
            sum += job_digest(s, &s->jobs.at[i], kind);
    for (uint32_t i = 0; i < s->claims.n; i++)
        if (s->claims.at[i].live && (kind == DIGEST_ALL || is_fact(&s->claims.at[i])))
            sum += claim_digest(s, &s->claims.at[i], kind);
    if (kind == DIGEST_FACTS)
        return sum;
    for (uint32_t i = 0; i < s->gangs.n; i++)
        if (s->gangs.at[i].live)
            sum += gang_digest(s, i);
    for (uint32_t i = 0; i < s->early.n; i++)
        sum += early_digest(s, &s->early.at[i]);
    for (uint32_t i = 0; i < s->lanes.n; i++)
        if (s->lanes.at[i].n)
            sum += lane_digest(s, &s->lanes.at[i]);
    for (uint32_t i = 0; i < s->failures.n; i++)
        sum += digest_mix(digest_mix(s->failures.at[i].node, s->failures.at[i].job),
                          (uint64_t)s->failures.at[i].at);
    for (uint32_t i = 0; i < s->suspects.n; i++)
        sum += digest_mix(89, s->suspects.at[i]);
    for (uint32_t i = 0; i < s->spares.n; i++)
        sum += digest_mix(str_digest(cluster_node_name(s->cluster, s->spares.at[i].node), 87),
                          s->spares.at[i].rule);
    for (uint32_t i = 0; i < s->reserves.n; i++)
        sum += reservation_digest(s, &s->reserves.at[i]);
    uint64_t h = digest_mix(91, s->launch_n);
    h = digest_mix(h, (uint64_t)s->improve_at);
    h = digest_mix(h, s->stop_n);
    h = digest_mix(h, (uint64_t)s->term << 32 | s->caps);
    h = digest_mix(h, (uint64_t)s->synced << 1 | s->leading);
    h = digest_mix(h, (uint64_t)s->at);
    h = digest_mix(h, digest_bytes(&s->ledger, sizeof s->ledger, 0));
    h = digest_mix(h, mix_digest(&s->mix, &s->words));
    h = digest_mix(h, forecast_digest(&s->forecast));
    h = digest_mix(h, digest_bytes(s->policy_text.data ? s->policy_text.data : "",
                                   s->policy_text.len, 0));
    return sum + h;
}
