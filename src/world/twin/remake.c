/* remake.c - a twin out of a journal
 *
 * The record is folded into a core as it is read, so that who works when is the core's
 * own bookkeeping: a gang works from the moment its minimum runs until it no longer
 * does. Its work is what was safe when it last began, plus what it did since, pauses
 * for checkpoints left out (docs/twin.md, "Work, speed, checkpoints", backwards, at
 * speed 1). Whatever is kept is copied by the codec, so copies own their memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "world/twin/remake.h"

#include <errno.h>

#include "base/hash.h"
#include "event/codec.h"
#include "journal/journal_reader.h"
#include "sched/look.h"

#define NEVER INT64_MIN

struct maker_gang {
    uint32_t next;       /* of the same job */
    uint32_t index;      /* in the job, as sched_look_gang counts */
    int64_t since;       /* works since; NEVER: it does not */
    int64_t launched_at; /* first launch; NEVER: none yet */
    int64_t saved_us;    /* work that was safe when it last stopped */
    int64_t most_us;     /* that it had ever done, safe or not */
    int64_t work_us;     /* when it was over */
    uint32_t attempts;
    bool over, cut; /* cut: it ended otherwise than by itself */
};

struct maker {
    struct remade *m;
    struct sched *sched;
    struct strmap job_ids, node_ids;
    VEC(struct maker_gang) gangs;
    VEC(int64_t) delays; /* from a first launch to work */
    struct buf bytes;
    int64_t now; /* since the start */
    int64_t used_at;
    int64_t used_milli;
};

/* A copy that lives as long as the result. */
static struct record *keep(struct maker *k, const struct record *r)
{
    buf_clear(&k->bytes);
    record_encode(r, &k->bytes);
    struct str in = buf_as_str(&k->bytes);
    if (record_decode(&in, &k->m->kept, NULL))
        return NULL; /* it came from a journal: it decodes */
    struct record *copy = arena_alloc(&k->m->kept.arena, sizeof *copy);
    *copy = k->m->kept.list.at[--k->m->kept.list.n];
    return copy;
}

static void post(struct maker *k, const struct record *r)
{
    struct record *copy = keep(k, r);
    if (copy)
        vec_push(&k->m->posts, (struct remade_post){k->now, copy});
}

/* ---- jobs ---- */

static void gangs_add(struct maker *k, struct remade_job *j)
{
    struct job_look look;
    uint32_t id = sched_look_find(k->sched, j->spec->name);
    j->gang = UINT32_MAX;
    if (id == UINT32_MAX || !sched_look_job(k->sched, id, &look))
        return;
    for (uint32_t i = look.gangs; i-- > 0;) {
        vec_push(&k->gangs, (struct maker_gang){.next = j->gang,
                                                .index = i,
                                                .since = NEVER,
                                                .launched_at = NEVER});
        j->gang = k->gangs.n - 1;
    }
}

static uint64_t demand_of(const struct job_spec *s)
{
    uint64_t milli = 0;
    for (uint32_t i = 0; i < s->ngroups; i++) {
        uint64_t slots = 1;
        if (s->groups[i].shape == GROUP_NONE)
            continue;
        for (uint16_t g = (uint16_t)i; g != GROUP_NONE; g = s->groups[g].parent)
            slots *= s->groups[g].count.want;
        milli += slots * shape_gpu_milli(&s->shapes[s->groups[i].shape]);
    }
    return milli;
}

static void job_came(struct maker *k, const struct record *r)
{
    if (strmap_get(&k->job_ids, r->job_set->name) != MAP_NONE) {
        post(k, r); /* a change: of priority, limits, counts */
        return;
    }
    struct record *copy = keep(k, r);
    if (!copy)
        return;
    struct job_spec *spec = (struct job_spec *)(uintptr_t)copy->job_set;
    struct remade_job j = {.spec = spec,
                           .at = k->now,
                           .first_start = NEVER,
                           .end = NEVER,
                           .told_oracle = spec->oracle,
                           .told_us = spec->expected_us,
                           .gpu_milli = demand_of(spec)};
    spec->submitted_at -= k->m->start;
    if (spec->deadline_at)
        spec->deadline_at -= k->m->start;
    gangs_add(k, &j);
    strmap_put(&k->job_ids, spec->name, k->m->jobs.n);
    vec_push(&k->m->jobs, j);
}

/* Work of a stretch, pauses left out; *ret_safe: what of it a checkpoint holds. */
static int64_t work_in(const struct job_spec *s, int64_t us, int64_t *ret_safe)
{
    int64_t cycle = s->ckpt_interval_us + s->ckpt_save_us;
    *ret_safe = 0;
    if (s->checkpoint == CHECKPOINT_NONE || s->ckpt_interval_us <= 0)
        return us;
    int64_t rest = us % cycle;
    *ret_safe = us / cycle * s->ckpt_interval_us;
    return *ret_safe + (rest < s->ckpt_interval_us ? rest : s->ckpt_interval_us);
}

static void gang_begins(struct maker *k, struct remade_job *j, struct maker_gang *g)
{
    g->since = k->now;
    if (!g->attempts++ && g->launched_at != NEVER)
        vec_push(&k->delays, k->now - g->launched_at);
    if (j->first_start == NEVER)
        j->first_start = k->now;
}

static void gang_ends(struct maker *k, struct remade_job *j, struct maker_gang *g,
                      bool over, bool by_itself)
{
    int64_t safe = 0, done = 0;
    if (g->since != NEVER)
        done = work_in(j->spec, k->now - g->since, &safe);
    if (g->saved_us + done > g->most_us)
        g->most_us = g->saved_us + done;
    if (over) {
        g->work_us = by_itself ? g->saved_us + done : g->most_us;
        g->over = true;
        g->cut = !by_itself;
        j->end = k->now;
    } else {
        g->saved_us += safe;
    }
    g->since = NEVER;
}

/* What became of the job's gangs by this frame; `done`: the world said that tasks of it
 * ended by themselves. */
static void job_look_at(struct maker *k, struct remade_job *j, bool done)
{
    struct job_look look;
    struct gang_look g = {0};
    uint32_t id = sched_look_find(k->sched, j->spec->name);
    bool known = id != UINT32_MAX && sched_look_job(k->sched, id, &look);
    for (uint32_t at = j->gang; at != UINT32_MAX; at = k->gangs.at[at].next) {
        struct maker_gang *mg = &k->gangs.at[at];
        bool there = known && mg->index < look.gangs;
        if (there)
            sched_look_gang(k->sched, id, mg->index, &g);
        bool over = !there || g.phase == LOOK_OVER;
        bool works = !over && g.running + g.done > 0 && g.running + g.done >= g.min;
        if (works && mg->since == NEVER)
            gang_begins(k, j, mg);
        else if (!works && !mg->over && (mg->since != NEVER || over))
            gang_ends(k, j, mg, over, done);
    }
}

static struct remade_job *job_of(struct maker *k, struct str name)
{
    uint32_t id = strmap_get(&k->job_ids, name);
    return id == MAP_NONE ? NULL : &k->m->jobs.at[id];
}

static void launched(struct maker *k, const struct gang_ref *ref)
{
    struct remade_job *j = job_of(k, ref->job);
    struct job_look look;
    struct gang_look g;
    if (!j)
        return;
    uint32_t id = sched_look_find(k->sched, ref->job);
    if (id == UINT32_MAX || !sched_look_job(k->sched, id, &look))
        return;
    for (uint32_t at = j->gang; at != UINT32_MAX; at = k->gangs.at[at].next) {
        struct maker_gang *mg = &k->gangs.at[at];
        if (mg->launched_at != NEVER || mg->index >= look.gangs)
            continue;
        sched_look_gang(k->sched, id, mg->index, &g);
        if (g.ref.group == ref->group && g.ref.copy == ref->copy)
            mg->launched_at = k->now;
    }
}

/* A checkpoint that the job was asked for holds all it has done. */
static void saved(struct maker *k, struct str job)
{
    struct remade_job *j = job_of(k, job);
    int64_t safe;
    for (uint32_t at = j ? j->gang : UINT32_MAX; at != UINT32_MAX;
         at = k->gangs.at[at].next) {
        struct maker_gang *g = &k->gangs.at[at];
        if (g->since == NEVER || j->spec->ckpt_interval_us > 0)
            continue; /* regular ones are counted by their interval */
        g->saved_us += work_in(j->spec, k->now - g->since, &safe);
        g->since = k->now;
    }
}

/* ---- nodes ---- */

static uint64_t desc_hash(struct maker *k, const struct node_desc *d)
{
    struct node_desc copy = *d;
    struct record r = {.kind = EV_NODE_SET, .node_set = &copy};
    copy.state = NODE_UP;
    buf_clear(&k->bytes);
    record_encode(&r, &k->bytes);
    return digest_bytes(k->bytes.data, k->bytes.len, 0);
}

static void node_new(struct maker *k, const struct record *r, bool down)
{
    struct record *copy = keep(k, r);
    if (!copy)
        return;
    struct remade_node n = {.desc = *copy->node_set,
                            .hash = desc_hash(k, r->node_set),
                            .down_at = down ? k->now : NEVER};
    if (down)
        n.desc.state = NODE_UP;
    n.state = n.desc.state;
    strmap_put(&k->node_ids, n.desc.name, k->m->nodes.n);
    vec_push(&k->m->nodes, n);
    k->m->capacity_milli += n.desc.ndevices * 1000ull;
    if (n.desc.nplace > k->m->nlevels)
        for (k->m->nlevels = 0; k->m->nlevels < n.desc.nplace; k->m->nlevels++)
            k->m->levels[k->m->nlevels] = n.desc.place[k->m->nlevels].key;
}

static void node_back(struct maker *k, uint32_t id, int64_t at)
{
    struct remade_node *n = &k->m->nodes.at[id];
    if (n->down_at != NEVER && at > n->down_at)
        vec_push(&k->m->faults, (struct twin_fault){id, n->down_at, at});
    n->down_at = NEVER;
}

static void node_told(struct maker *k, const struct record *r)
{
    const struct node_desc *d = r->node_set;
    bool down = d->state == NODE_DOWN || d->state == NODE_UNKNOWN;
    uint32_t id = strmap_get(&k->node_ids, d->name);
    if (id == MAP_NONE) {
        node_new(k, r, down);
        return;
    }
    struct remade_node *n = &k->m->nodes.at[id];
    if (down && n->down_at == NEVER)
        n->down_at = k->now;
    else if (!down)
        node_back(k, id, k->now);
    uint64_t hash = desc_hash(k, d);
    if (hash == n->hash && (down || d->state == n->state))
        return;
    if (!down)
        n->state = d->state;
    n->hash = hash;
    post(k, r); /* changed: drained, other devices, other labels */
}

/* ---- the record ---- */

static void event(struct maker *k, const struct record *r)
{
    struct remade *m = k->m;
    switch (r->kind) {
    case REC_WORD: words_add(&m->words, r->word.text); return;
    case EV_POLICY_SET:
        if (!m->policy.ptr)
            m->policy = arena_str(&m->kept.arena, r->policy_set.text);
        else
            post(k, r);
        return;
    case EV_JOB_SET: job_came(k, r); return;
    case EV_NODE_SET: node_told(k, r); return;
    case EV_JOB_DO:
        m->orders++;
        post(k, r);
        return;
    case EV_FOREIGN_SET:
        m->foreigns++;
        post(k, r);
        return;
    case EV_NODE_GONE:
    case EV_DEVICE_SET:
    case EV_TAG_SET:
    case EV_BUDGET_SET: post(k, r); return;
    case EV_CHECKPOINT_SAVED: saved(k, r->checkpoint_saved.job); return;
    case DE_LAUNCH:
        if (!r->would)
            launched(k, &r->launch.gang);
        return;
    default: return; /* made anew by the twin */
    }
}

static bool names_task(int kind)
{
    return kind == EV_TASK_AT || kind == EV_TASK_ENDED || kind == EV_TASK_ENDING ||
           kind == EV_TASK_REFUSED || kind == EV_TASK_GONE;
}

static bool ended_by_itself(const struct record *r)
{
    return r->kind == EV_TASK_ENDED &&
           (r->task_ended.how == ENDED_DONE || r->task_ended.how == ENDED_FAILED ||
            r->task_ended.how == ENDED_OOM);
}

static bool ended_badly(const struct record *r)
{
    return r->task_ended.how == ENDED_FAILED || r->task_ended.how == ENDED_OOM ||
           (r->task_ended.how == ENDED_DONE && r->task_ended.exit != 0);
}

/* A job is looked at once a frame, behind the last report about it. */
static void reports(struct maker *k, const struct journal_frame *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const struct record *r = &f->records->list.at[i];
        struct str name = names_task(r->kind)    ? r->task_at.ref.gang.job
                          : r->kind == EV_JOB_DO ? r->job_do.job
                                                 : (struct str){0};
        struct remade_job *j = name.len ? job_of(k, name) : NULL;
        const struct record *behind = r + 1, *end = f->records->list.at + f->n;
        bool again = behind < end && names_task(behind->kind) &&
                     str_eq(behind->task_at.ref.gang.job, name);
        if (!j)
            continue;
        if (r->kind == EV_TASK_ENDED)
            j->failed = ended_badly(r); /* the last end counts */
        if (!again)
            job_look_at(k, j, ended_by_itself(r));
    }
}

static void account(struct maker *k)
{
    struct sched_counts c;
    k->m->used += (unsigned __int128)(k->now - k->used_at) *
                  (uint64_t)(k->used_milli > 0 ? k->used_milli : 0);
    sched_counts(k->sched, &c);
    k->used_milli = c.used_gpu_milli;
    k->used_at = k->now;
}

static void frame(struct maker *k, const struct journal_frame *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const struct record *r = &f->records->list.at[i];
        k->now = r->at - k->m->start;
        sched_fold(k->sched, r);
        event(k, r);
    }
    reports(k, f);
    account(k);
}

static int by_size(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* What ran until the record ended, and what never ran. */
static void settle_job(struct maker *k, struct remade_job *j)
{
    int64_t work = NEVER;
    bool cut = false, open = false; /* ended by somebody; had not ended */
    for (uint32_t at = j->gang; at != UINT32_MAX; at = k->gangs.at[at].next) {
        struct maker_gang *g = &k->gangs.at[at];
        int64_t safe, us = g->work_us;
        if (!g->attempts)
            continue;
        if (!g->over) {
            us = g->saved_us;
            if (g->since != NEVER)
                us += work_in(j->spec, k->now - g->since, &safe);
            us = us > g->most_us ? us : g->most_us;
        }
        open |= !g->over;
        cut |= g->cut;
        work = us > work ? us : work;
    }
    if (work == NEVER)
        return;
    j->work = cut || open ? WORK_CENSORED : WORK_KNOWN;
    j->work_us = work > 0 ? work : 1;
    if (open && j->told_us > j->work_us)
        j->work_us = j->told_us;
}

static void settle(struct maker *k)
{
    struct remade *m = k->m;
    VEC(int64_t) works = {0};
    for (uint32_t i = 0; i < m->jobs.n; i++) {
        struct remade_job *j = &m->jobs.at[i];
        j->work = WORK_GUESSED;
        settle_job(k, j);
        if (j->work == WORK_KNOWN)
            vec_push(&works, j->work_us);
    }
    if (works.n)
        qsort(works.at, works.n, sizeof *works.at, by_size);
    for (uint32_t i = 0; i < m->jobs.n; i++) {
        struct remade_job *j = &m->jobs.at[i];
        m->known += j->work == WORK_KNOWN;
        m->censored += j->work == WORK_CENSORED;
        m->guessed += j->work == WORK_GUESSED;
        if (j->work != WORK_GUESSED)
            continue;
        j->work_us = j->told_us > 0               ? j->told_us
                     : j->spec->time_limit_us > 0 ? j->spec->time_limit_us
                     : works.n                    ? works.at[works.n / 2]
                                                  : 1;
    }
    vec_done(&works);
    for (uint32_t i = 0; i < m->nodes.n; i++)
        node_back(k, i, k->now + 1);
    if (k->delays.n) {
        qsort(k->delays.at, k->delays.n, sizeof *k->delays.at, by_size);
        m->truth.start_us = k->delays.at[k->delays.n / 2];
    }
    m->span_us = k->now;
}

static int read_all(struct maker *k, struct journal_reader *r, struct err *err)
{
    struct journal_frame f;
    int more;
    bool first = true;
    while ((more = journal_reader_next(r, &f, err)) > 0) {
        if (first)
            k->m->start = f.records->list.at[0].at;
        first = false;
        frame(k, &f);
    }
    memcpy(k->m->cluster, journal_reader_head(r)->cluster, sizeof k->m->cluster);
    if (more == 0 && (first || !k->m->policy.ptr || !k->m->nodes.n))
        return err_set(err, EINVAL,
                       "the journal has no policy or no nodes: nothing to run");
    return more;
}

int remake(struct remade *ret, const char *path, struct err *err)
{
    struct remade m = {0};
    struct maker k = {.m = &m};
    struct journal_reader *r;
    truth_init(&m.truth);
    int rc = journal_reader_open(&r, path, 0, NULL, err);
    if (rc)
        return rc;
    k.sched = sched_create();
    rc = read_all(&k, r, err);
    journal_reader_close(r);
    if (!rc)
        settle(&k);
    sched_destroy(k.sched);
    strmap_done(&k.job_ids);
    strmap_done(&k.node_ids);
    vec_done(&k.gangs);
    vec_done(&k.delays);
    buf_done(&k.bytes);
    if (rc)
        remade_done(&m);
    else
        *ret = m;
    return rc;
}

void remade_done(struct remade *m)
{
    words_done(&m->words);
    vec_done(&m->nodes);
    vec_done(&m->jobs);
    vec_done(&m->posts);
    vec_done(&m->faults);
    records_done(&m->kept);
}

void remade_twin(struct remade *m, uint64_t seed, struct twin_options *ret)
{
    struct node_desc *nodes =
        arena_alloc(&m->kept.arena, (m->nodes.n + 1) * sizeof *nodes);
    for (uint32_t i = 0; i < m->nodes.n; i++)
        nodes[i] = m->nodes.at[i].desc;
    *ret = (struct twin_options){
        .words = &m->words,
        .nodes = nodes,
        .nnodes = m->nodes.n,
        .levels = m->levels,
        .nlevels = m->nlevels,
        .seed = seed,
        .truth = &m->truth,
    };
}

void remade_play(struct remade *m, struct twin *t, bool oracle)
{
    for (uint32_t i = 0; i < m->jobs.n; i++) {
        struct remade_job *j = &m->jobs.at[i];
        j->spec->oracle = oracle;
        j->spec->expected_us = oracle           ? j->work_us
                               : j->told_oracle ? j->spec->time_limit_us
                                                : j->told_us;
        twin_submit(t, j->at, j->spec, j->work_us);
        if (j->failed && j->work == WORK_KNOWN)
            twin_submit_fails(t);
    }
    for (uint32_t i = 0; i < m->faults.n; i++) {
        const struct twin_fault *f = &m->faults.at[i];
        twin_node_fault(t, f->node, f->from_us, f->until_us);
    }
    for (uint32_t i = 0; i < m->posts.n; i++)
        twin_post(t, m->posts.at[i].at, m->posts.at[i].record);
}
