/* facts.c - what happened in the twin, as records
 *
 * The facts of one instant are put in order (ends, nodes, arrivals, the rest; each by name)
 * and leave in batches. Strings point into the twin, specs into the batch.
 * SPDX-License-Identifier: Apache-2.0 */
#include "world/twin/inside.h"

/* Records that one fact may take, beside words. */
enum { SLACK = 2 };

static int name_order(const struct twin *t, uint32_t a, uint32_t b)
{
    if (!job_is_extra(t, a) && !job_is_extra(t, b)) /* serial names sort as numbers */
        return (a > b) - (a < b);
    return str_cmp(job_name_of(t, a), job_name_of(t, b));
}

static int task_order(const struct twin *t, uint32_t a, uint32_t b)
{
    const struct twin_task *x = &t->tasks.at[a], *y = &t->tasks.at[b];
    int c = name_order(t, x->job, y->job);
    if (c)
        return c;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->copy != y->copy)
        return x->copy < y->copy ? -1 : 1;
    if (x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return (x->launch > y->launch) - (x->launch < y->launch);
}

static bool is_task(const struct out *o)
{
    return o->kind == OUT_ENDED || o->kind == OUT_REFUSED || o->kind == OUT_AT;
}

/* Within a class: tasks by name, saved checkpoints, nodes by name, jobs by name; kinds that
 * belong together for one node (set, sync) keep the order in which they came. */
static int out_order(const void *one, const void *other, void *arg)
{
    const struct out *a = one, *b = other;
    const struct twin *t = arg;
    int c = (int)a->class_ - (int)b->class_;
    if (c)
        return c;
    if (is_task(a) && is_task(b)) {
        c = task_order(t, a->a, b->a);
    } else if (a->class_ == CLASS_NODE && a->kind != OUT_POST && b->kind != OUT_POST) {
        c = str_cmp(t->nodes.at[a->a].desc.name, t->nodes.at[b->a].desc.name);
    } else if (a->kind == OUT_JOB && b->kind == OUT_JOB) {
        c = name_order(t, a->a, b->a);
    } else if (a->kind != b->kind) {
        c = a->kind < b->kind ? -1 : 1;
    }
    return c ? c : (a->serial > b->serial) - (a->serial < b->serial);
}

void facts_sort_all(struct twin *t)
{
    for (uint32_t i = 1; i < t->out.n; i++) {
        if (out_order(&t->out.at[i - 1], &t->out.at[i], t) <= 0)
            continue;
        qsort_r(t->out.at, t->out.n, sizeof *t->out.at, out_order, t);
        return;
    }
}

static struct record *add(struct twin *t, struct records *batch, int kind)
{
    struct record *r = records_add(batch, kind);
    r->at = t->now;
    return r;
}

static void emit_words(struct twin *t, struct records *batch)
{
    while (t->words_sent < t->o.words->n) {
        struct record *r = add(t, batch, REC_WORD);
        r->word.id = ++t->words_sent;
        r->word.text = words_text(t->o.words, t->words_sent);
    }
}

/* Field by field into a record that is clear: a struct made on the side is copied in larger
 * pieces than it was written in, and the processor waits for that. */
static void ref_put(const struct twin *t, const struct twin_task *k, struct task_ref *ref)
{
    ref->launch = k->launch;
    ref->gang.job = job_name_of(t, k->job);
    ref->gang.group = k->group;
    ref->gang.copy = k->copy;
    ref->slot.leaf = k->leaf;
    ref->slot.index = k->index;
}

static void emit_job(struct twin *t, uint32_t job, struct records *batch)
{
    const struct job_spec *spec;
    if (job_is_extra(t, job))
        spec = t->extras.at[job - t->narrivals].spec;
    else
        spec = convert_job(&t->convert, job_row(t, job), job_name_of(t, job),
                           job_submit_at(t, job), &batch->arena);
    if (t->words_sent != t->o.words->n)
        emit_words(t, batch);
    add(t, batch, EV_JOB_SET)->job_set = spec;
    t->counts.arrived++;
}

static void emit_sync(struct twin *t, const struct out *o, struct records *batch)
{
    struct record *r = add(t, batch, o->kind == OUT_SYNCED ? EV_SYNCED : EV_SYNC_BEGIN);
    r->sync.epoch = 1;
    r->sync.caps = t->world.caps;
    if (o->a != NONE)
        r->sync.node = t->nodes.at[o->a].desc.name;
}

static void emit_task(struct twin *t, const struct out *o, struct records *batch)
{
    const struct twin_task *k = &t->tasks.at[o->a];
    struct record *r;
    switch (o->kind) {
    case OUT_AT:
        r = add(t, batch, EV_TASK_AT);
        ref_put(t, k, &r->task_at.ref);
        r->task_at.node = t->nodes.at[k->node].desc.name;
        r->task_at.devs = k->devs;
        r->task_at.slices = k->slices;
        r->task_at.since = k->since;
        r->task_at.phase = (uint8_t)o->b;
        return;
    case OUT_ENDED:
        r = add(t, batch, EV_TASK_ENDED);
        ref_put(t, k, &r->task_ended.ref);
        r->task_ended.how = k->how;
        r->task_ended.exit = k->exit_code;
        break;
    default:
        r = add(t, batch, EV_TASK_REFUSED);
        ref_put(t, k, &r->task_refused.ref);
        r->task_refused.class_ = REFUSED_NODE;
        r->task_refused.retry_at = t->now;
    }
    task_free(t, o->a);
}

static void emit_node(struct twin *t, const struct out *o, struct records *batch)
{
    struct twin_node *n = &t->nodes.at[o->a];
    n->desc.state = (uint8_t)o->b;
    add(t, batch, EV_NODE_SET)->node_set = &n->desc;
}

static void emit_one(struct twin *t, const struct out *o, struct records *batch)
{
    struct record *r;
    switch ((enum out_kind)o->kind) {
    case OUT_LEAD:
        emit_words(t, batch);
        r = add(t, batch, EV_LEAD);
        r->lead.held = true;
        r->lead.term = 1;
        break;
    case OUT_SYNC_BEGIN:
    case OUT_SYNCED:
        emit_sync(t, o, batch);
        break;
    case OUT_NODE:
        emit_node(t, o, batch);
        break;
    case OUT_ENDED:
    case OUT_REFUSED:
    case OUT_AT:
        emit_task(t, o, batch);
        break;
    case OUT_JOB:
        emit_job(t, o->a, batch);
        break;
    case OUT_SAVED:
        r = add(t, batch, EV_CHECKPOINT_SAVED);
        r->checkpoint_saved.job = job_name_of(t, o->a);
        r->checkpoint_saved.step = o->b;
        r->checkpoint_saved.saved_at = t->now;
        break;
    case OUT_POST:
        if (t->words_sent != t->o.words->n)
            emit_words(t, batch);
        r = add(t, batch, t->posts.at[o->a].kind);
        *r = t->posts.at[o->a];
        r->at = t->now;
        break;
    case OUT_TIME:
        add(t, batch, EV_TIME);
        break;
    }
}

void facts_emit(struct twin *t, uint32_t most, struct records *batch)
{
    while (t->out_at < t->out.n && batch->list.n + SLACK < most)
        emit_one(t, &t->out.at[t->out_at++], batch);
    if (t->out_at == t->out.n) {
        vec_clear(&t->out);
        t->out_at = 0;
    }
}
