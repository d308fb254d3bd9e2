/* sched.c - the core's door: fold by kind, what is due, what makes sense
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/sched.h"

#include <assert.h>
#include <errno.h>

#include "sched/frag.h"
#include "sched/future.h"
#include "sched/runners.h"
#include "sched/place.h"

struct sched *sched_create(void)
{
    struct sched *s = mem_zero(sizeof *s);
    s->cluster = cluster_create(&s->words);
    policy_init(&s->policy);
    quota_policy(s);
    owed_policy(s);
    s->strays = s->adrift = s->attention = NONE;
    s->strays_at = s->improve_at = INT64_MAX;
    s->scratch = scratch_create();
    return s;
}

void sched_expect(struct sched *s, uint32_t jobs)
{
    vec_reserve(&s->jobs, jobs);
    vec_reserve(&s->gangs, jobs);
    vec_reserve(&s->claims, jobs);
}

static void forget_entities(struct sched *s)
{
    for (uint32_t i = 0; i < s->claims.n; i++) {
        free(s->claims.at[i].name);
        free(s->claims.at[i].where);
    }
    for (uint32_t i = 0; i < s->gangs.n; i++) {
        struct gang *g = &s->gangs.at[i];
        bool whole = g->live && (g->nslots == 1 || g->slots); /* else half-read */
        for (uint32_t k = 0; whole && k < g->nslots; k++)
            free(gang_slot(s, i, k)->task);
        free(g->slots);
    }
    for (uint32_t i = 0; i < s->jobs.n; i++) {
        free(s->jobs.at[i].request);
        free(s->jobs.at[i].gangs);
    }
    for (uint32_t i = 0; i < s->trees.n; i++) {
        free(s->trees.at[i].groups);
        free(s->trees.at[i].roots);
        free(s->trees.at[i].leaves);
    }
    for (uint32_t i = 0; i < s->lanes.n; i++)
        free(s->lanes.at[i].heap);
}

void sched_destroy(struct sched *s)
{
    if (!s)
        return;
    forget_entities(s);
    scratch_destroy(s->scratch);
    future_destroy(s->scratch_future);
    runners_destroy(s->scratch_runners);
    vec_done(&s->reserves);
    vec_done(&s->guards);
    vec_done(&s->rests);
    vec_done(&s->reserved_at);
    vec_done(&s->reserve_at);
    vec_done(&s->spares);
    vec_done(&s->is_spare);
    vec_done(&s->failures);
    vec_done(&s->suspects);
    cluster_destroy(s->cluster);
    mix_done(&s->mix);
    vec_done(&s->shapes);
    vec_done(&s->shapes_free);
    u64map_done(&s->shape_ids);
    vec_done(&s->trees);
    vec_done(&s->trees_free);
    u64map_done(&s->tree_ids);
    vec_done(&s->jobs);
    arena_done(&s->names);
    vec_done(&s->jobs_free);
    strmap_done(&s->job_ids);
    strmap_done(&s->request_ids);
    vec_done(&s->gangs);
    vec_done(&s->gangs_free);
    vec_done(&s->claims);
    vec_done(&s->claims_free);
    strmap_done(&s->tasks);
    strmap_done(&s->slot_tasks);
    vec_done(&s->node_claims);
    vec_done(&s->node_seen);
    vec_done(&s->tainted);
    vec_done(&s->lanes);
    u64map_done(&s->lane_ids);
    quota_done(&s->quota);
    owed_done(&s->owed);
    vec_done(&s->unsaid);
    vec_done(&s->asks);
    for (uint32_t i = 0; i < s->early.n; i++)
        free(s->early.at[i].task);
    vec_done(&s->early);
    heap_done(&s->timers);
    u64map_done(&s->tally);
    u64map_done(&s->part_nodes);
    vec_done(&s->parts);
    vec_done(&s->accounts);
    forecast_done(&s->forecast);
    words_done(&s->words);
    buf_done(&s->policy_text);
    arena_done(&s->policy_arena);
    free(s);
}

static void fold_word(struct sched *s, const struct record *r)
{
    word_t id = words_add(&s->words, r->word.text);
    if (id != r->word.id)
        noop(s); /* the stream's own numbering: sched_check refuses it before */
    s->mix_stale = s->mix_stale || s->mix_unknown;
    if (s->quota.unknown_type)
        quota_words(s);
}

/* Whom to look at is a matter of the state: timers that came, gangs that need nothing now. */
static void fold_border(struct sched *s)
{
    s->counts.borders++;
    s->left = 0;
    if (s->strays_at <= s->at)
        strays_next(s);
    if (s->mix_stale)
        mix_refresh(s);
    if (s->quota.on)
        quota_border(s);
    if (s->owed.on)
        owed_border(s);
    if (s->policy.reserve)
        reserve_border(s);
    if (s->suspects.n)
        faults_border(s);
    if (s->spares_check || s->spares_now)
        spares_border(s);
    timers_run(s);
    if (s->attention != NONE)
        attention_thin(s);
    uint32_t keep = 0;
    for (uint32_t i = 0; i < s->unsaid.n; i++) {
        const struct gang *g = &s->gangs.at[s->unsaid.at[i]];
        bool early = s->early.n && g->live && g->phase == GANG_RUNNING &&
                     early_count(s, s->unsaid.at[i]);
        if (g->live && !g->said && (g->phase == GANG_PENDING || early))
            s->unsaid.at[keep++] = s->unsaid.at[i];
    }
    s->unsaid.n = keep;
    keep = 0;
    for (uint32_t i = 0; i < s->asks.n; i++)
        if (s->jobs.at[s->asks.at[i]].live && s->jobs.at[s->asks.at[i]].ask)
            s->asks.at[keep++] = s->asks.at[i];
    s->asks.n = keep;
}

void sched_fold(struct sched *s, const struct record *r)
{
    if (!s->started) {
        s->started = true;
        s->ledger_at = r->at;
    }
    account_advance(s, r->at);
    s->at = r->at > s->at ? r->at : s->at;
    s->seq = r->seq;
    s->counts.records++;
    switch (r->kind) {
    case REC_WORD:
        fold_word(s, r);
        return;
    case REC_BORDER:
        fold_border(s);
        return;
    case EV_JOB_SET:
    case EV_JOB_DO:
    case EV_CHECKPOINT_SAVED:
    case EV_BUDGET_SET:
    case EV_POLICY_SET:
    case EV_SIGNAL:
    case EV_SOFT_SET:
        fold_job(s, r);
        return;
    case EV_NODE_SET:
    case EV_NODE_GONE:
    case EV_DEVICE_SET:
    case EV_TAG_SET:
    case EV_FOREIGN_SET:
        fold_node(s, r);
        return;
    case EV_TASK_OFFERED:
    case EV_TASK_GONE:
    case EV_TASK_AT:
    case EV_TASK_REFUSED:
    case EV_TASK_ENDING:
    case EV_TASK_ENDED:
    case EV_STOP_REFUSED:
        fold_task(s, r);
        return;
    case EV_SYNC_BEGIN:
    case EV_SYNCED:
    case EV_LEAD:
        fold_sync(s, r);
        return;
    case EV_TIME:
        return;
    default:
        if (record_is_decision(r->kind))
            fold_decision(s, r);
        else
            noop(s);
    }
}

int64_t sched_due(const struct sched *s)
{
    if (s->left || (s->spares_check && s->synced && s->leading))
        return s->at;
    const struct heap_item *top = heap_top(&s->timers);
    int64_t at = top ? top->key : INT64_MAX;
    at = at < s->strays_at ? at : s->strays_at;
    at = at < s->improve_at ? at : s->improve_at;
    int64_t owed = owed_due(s);
    at = at < owed ? at : owed;
    int64_t epoch = quota_due(s);
    return at < epoch ? at : epoch;
}

static int check_words(const struct sched *s, const struct job_spec *spec, struct err *err)
{
    for (uint32_t i = 0; i < spec->ngroups; i++) {
        const struct group_spec *g = &spec->groups[i];
        if (g->required > s->words.n || g->preferred > s->words.n ||
            g->segment_level > s->words.n || g->spread_kind > s->words.n)
            return err_set(err, EINVAL, "job '" STR_FMT "', group %u: a word that no record "
                           "has named", STR_ARG(spec->name), i);
    }
    return 0;
}

static int check_job_set(const struct sched *s, const struct job_spec *spec, struct err *err)
{
    uint32_t job = job_find(s, spec->name);
    if (job == NONE)
        return check_words(s, spec, err);
    enum recount kind = job_recount_kind(s, &s->jobs.at[job], spec);
    if (kind == RECOUNT_OTHER_TREE)
        return err_set(err, EEXIST, "job '" STR_FMT "' exists with other groups or shapes; "
                       "cancel it or take another name", STR_ARG(spec->name));
    if (kind == RECOUNT_RENUMBERS)
        return err_set(err, EEXIST, "job '" STR_FMT "': a count may change only where all "
                       "groups above it stand once, or members would change their numbers",
                       STR_ARG(spec->name));
    return 0;
}

static int unknown(struct err *err, const char *what, struct str name)
{
    return err_set(err, ENOENT, "no %s '" STR_FMT "' is known", what, STR_ARG(name));
}

static int check_task(const struct sched *s, const struct record *r, struct err *err)
{
    uint32_t gang, slot, claim;
    const struct task_ref *ref = &r->task_at.ref;
    enum claim_phase phase = task_locate(s, ref, &gang, &slot, &claim);
    if (phase_act(r->kind, phase) != ACT_NOOP)
        return 0;
    return err_set(err, ENOENT, "%s: a task of job '" STR_FMT "' that is %s",
                   record_kind_name(r->kind), STR_ARG(ref->gang.job),
                   phase == CLAIM_NONE ? "not known" : claim_phase_name(phase));
}

static int check_policy(struct str text, struct err *err)
{
    struct arena a = {0};
    struct policy p;
    int rc = policy_parse("policy", text, &a, &p, err);
    if (rc == 0 && !scorer_find(str_of(p.scorer)))
        rc = err_set(err, EINVAL, "policy: node: '%s' is not a scorer", p.scorer);
    arena_done(&a);
    return rc;
}

int sched_check(const struct sched *s, const struct record *r, struct err *err)
{
    switch (r->kind) {
    case REC_WORD:
        return r->word.id == s->words.n + 1 ? 0 : err_set(err, EINVAL, "word %u comes out of "
                                                          "order", r->word.id);
    case EV_JOB_SET:
        return check_job_set(s, r->job_set, err);
    case EV_JOB_DO:
        return job_find(s, r->job_do.job) == NONE ? unknown(err, "job", r->job_do.job) : 0;
    case EV_BUDGET_SET:
        return job_find(s, r->budget_set.job) == NONE
                   ? unknown(err, "job", r->budget_set.job) : 0;
    case EV_CHECKPOINT_SAVED:
        return job_find(s, r->checkpoint_saved.job) == NONE
                   ? unknown(err, "job", r->checkpoint_saved.job) : 0;
    case EV_NODE_GONE:
        return cluster_find(s->cluster, r->node_gone.node) == NODE_NONE
                   ? unknown(err, "node", r->node_gone.node) : 0;
    case EV_DEVICE_SET:
        return cluster_find(s->cluster, r->device_set.node) == NODE_NONE
                   ? unknown(err, "node", r->device_set.node) : 0;
    case EV_POLICY_SET:
        return check_policy(r->policy_set.text, err);
    case EV_TASK_OFFERED:
    case EV_TASK_GONE:
    case EV_TASK_AT:
    case EV_TASK_REFUSED:
    case EV_TASK_ENDING:
    case EV_TASK_ENDED:
    case EV_STOP_REFUSED:
        return check_task(s, r, err);
    default:
        return 0;
    }
}

const struct cluster *sched_cluster(const struct sched *s)
{
    return s->cluster;
}

const struct words *sched_words(const struct sched *s)
{
    return &s->words;
}

void sched_counts(const struct sched *s, struct sched_counts *ret)
{
    *ret = s->counts;
    ret->jobs = s->n_jobs;
    ret->pending_gangs = s->n_pending;
    ret->claims = s->n_claims;
    ret->used_gpu_milli = s->used_milli;
    ret->pending_gpu_milli = s->pending_milli;
}

double sched_fragmented_milli(const struct sched *cs)
{
    struct sched *s = (struct sched *)cs; /* a memo is brought up to date, nothing else */
    if (!s->mix.items.n)
        return 0;
    struct scratch *sc = scratch_ready(s);
    if (!sc->scoring.frag)
        sc->scoring.frag = frag_create(s->cluster, &s->mix);
    return frag_total(sc->scoring.frag);
}
