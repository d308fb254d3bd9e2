/* prop-world.c - a world for the property test: mostly honest, sometimes late, wrong or
 * mad
 *
 * It carries launches and stops out on its own list of tasks and reports what they do;
 * that is the honest part. Beside it, by the scene's share of hostility, it says things
 * about tasks that are late, doubled, contradictory or about nobody, aimed at a random
 * kind of report and a random phase of the claim that it will meet; nodes and devices
 * flap, foreign pods come, the lead is lost and regained, and everything is asserted
 * anew, with some of it left out. One rule keeps the audit able to follow: a report of
 * a task with GPUs always names at least one device that its node has.
 * SPDX-License-Identifier: Apache-2.0 */
#include "prop.h"

#include <stdio.h>

#include "base/units.h"

static struct str text(struct records *out, const char *fmt, unsigned long long n)
{
    char buf[64];
    int len = snprintf(buf, sizeof buf, fmt, n);
    return arena_str(&out->arena, (struct str){buf, (size_t)len});
}

static struct prop_task *task_new(struct prop *p)
{
    struct prop_task *t = &p->tasks[p->task_n++ % PROP_TASKS];
    memset(t, 0, sizeof *t);
    t->next_at = INT64_MAX;
    return t;
}

static uint32_t task_count(const struct prop *p)
{
    return p->task_n < PROP_TASKS ? p->task_n : PROP_TASKS;
}

/* Guest worlds name tasks; launch and place they may know or not. */
static struct task_ref ref_of(struct prop *p, const struct prop_task *t,
                              struct records *out)
{
    struct task_ref ref = {.launch = t->launch};
    ref.gang =
        (struct gang_ref){arena_str(&out->arena, str_of(t->job)), t->group, t->copy};
    ref.slot = (struct slot_ref){t->leaf, t->index};
    if (!t->pod[0])
        return ref;
    ref.task = arena_str(&out->arena, str_of(t->pod));
    if (chance(p, 300))
        ref.launch = 0;
    return ref;
}

static const struct prop_job *job_of(const struct prop *p, struct str name)
{
    for (uint32_t i = 0; i < PROP_JOBS; i++)
        if (p->jobs[i].name[0] && str_is(name, p->jobs[i].name))
            return &p->jobs[i];
    return NULL;
}

static uint64_t low_bits(uint32_t n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* The report "it is there", or nothing where the rule at the top forbids it. */
static void tell_at(struct prop *p, struct records *out, const struct task_ref *ref,
                    uint32_t node, uint64_t devs, uint16_t slices, uint8_t alt,
                    uint8_t phase)
{
    const struct prop_job *j = job_of(p, ref->gang.job);
    bool gpu = false;
    if (j && ref->slot.leaf < j->spec.ngroups &&
        j->spec.groups[ref->slot.leaf].shape != GROUP_NONE)
        gpu = j->spec.shapes[j->spec.groups[ref->slot.leaf].shape].gpu_mode != GPU_NONE;
    if (!j && ref->gang.job.len)
        gpu = true; /* forgotten here; the core may still know it */
    const struct prop_node *n = &p->nodes[node];
    if (gpu && !(devs & low_bits(n->desc.ndevices))) {
        if (n->desc.ndevices == 0)
            return;
        devs = UINT64_C(1) << below(p, n->desc.ndevices);
    }
    struct record *r = scene_add(out, EV_TASK_AT, p->at);
    r->task_at.ref = *ref;
    r->task_at.node = text(out, "n%02llu", node);
    r->task_at.devs = devs;
    r->task_at.slices = devs && !(devs & (devs - 1)) ? slices : 0;
    r->task_at.alt = alt;
    r->task_at.since = p->at;
    r->task_at.phase = phase;
}

static void task_tell_at(struct prop *p, struct records *out, const struct prop_task *t)
{
    struct task_ref ref = ref_of(p, t, out);
    uint8_t phase = t->ready ? TASK_READY : chance(p, 300) ? TASK_BOUND : TASK_RUNNING;
    tell_at(p, out, &ref, t->node, t->devs, t->slices, t->alt, phase);
}

static void tell_ended(struct prop *p, struct records *out, const struct task_ref *ref,
                       uint8_t how)
{
    struct record *r = scene_add(out, EV_TASK_ENDED, p->at);
    r->task_ended.ref = *ref;
    r->task_ended.how = how;
    r->task_ended.exit = how == ENDED_DONE ? 0 : 1;
}

static void tell_refused(struct prop *p, struct records *out,
                         const struct task_ref *ref, uint8_t class_)
{
    struct record *r = scene_add(out, EV_TASK_REFUSED, p->at);
    r->task_refused.ref = *ref;
    r->task_refused.class_ = class_;
    r->task_refused.retry_at =
        chance(p, 300) ? 0 : p->at + (int64_t)below(p, 60) * US_PER_S;
}

static void tell_offered(struct prop *p, struct records *out, const struct prop_task *t,
                         struct str name)
{
    struct record *r = scene_add(out, EV_TASK_OFFERED, p->at);
    r->task_offered.ref = (struct task_ref){.task = name};
    r->task_offered.ref.gang =
        (struct gang_ref){arena_str(&out->arena, str_of(t->job)), t->group, t->copy};
    r->task_offered.ref.slot = (struct slot_ref){t->leaf, t->index};
    r->task_offered.gated = chance(p, 50);
    r->task_offered.bare = chance(p, 100);
    const struct prop_job *j = job_of(p, str_of(t->job));
    if (!j || t->leaf >= j->spec.ngroups ||
        j->spec.groups[t->leaf].shape == GROUP_NONE || !p->own_shapes || chance(p, 900))
        return;
    struct shape *own = arena_alloc(&out->arena, sizeof *own);
    *own = j->spec.shapes[j->spec.groups[t->leaf].shape];
    own->cpu_milli +=
        (int64_t)below(p, 3) * 500; /* a pod may differ from its template */
    r->task_offered.shape = own;
}

/* The owner makes a pod for the place of t. */
static void offer_again(struct prop *p, struct records *out, const struct prop_task *t)
{
    if (p->guest && t->job[0])
        tell_offered(p, out, t, text(out, "p%llu", p->pod_n++));
}

static void task_over(struct prop *p, struct records *out, struct prop_task *t,
                      uint8_t how)
{
    struct task_ref ref = ref_of(p, t, out);
    tell_ended(p, out, &ref, how);
    t->live = false;
    t->next_at = INT64_MAX;
    if (chance(p, 900))
        offer_again(p, out, t);
}

static uint8_t some_end(struct prop *p)
{
    uint64_t x = below(p, 100);
    return x < 80   ? ENDED_DONE
           : x < 88 ? ENDED_FAILED
           : x < 91 ? ENDED_OOM
           : x < 94 ? ENDED_KILLED
           : x < 96 ? ENDED_REJECTED
                    : ENDED_LOST;
}

/* It was launched and has not been heard of. */
static void task_first_word(struct prop *p, struct records *out, struct prop_task *t)
{
    struct task_ref ref = ref_of(p, t, out);
    uint64_t x = below(p, 100);
    t->next_at = p->at + (int64_t)below(p, 40) * US_PER_S;
    if (x < 86) {
        t->started = true;
        t->ready = chance(p, 300);
        task_tell_at(p, out, t);
    } else if (x < 92) {
        t->live = false; /* a throttled one is launched again under another number */
        tell_refused(p, out, &ref,
                     chance(p, 600) ? REFUSED_THROTTLED : (uint8_t)below(p, 7));
    } else if (x < 94) {
        task_over(p, out, t, some_end(p));
    } else if (x < 97) {
        t->dumb = true;
        t->next_at = INT64_MAX;
    }
}

static void task_tell_ending(struct prop *p, struct records *out, struct prop_task *t,
                             uint8_t by)
{
    struct record *r = scene_add(out, EV_TASK_ENDING, p->at);
    r->task_ending.ref = ref_of(p, t, out);
    r->task_ending.by = by;
    r->task_ending.deadline = p->at + (int64_t)below(p, 30) * US_PER_S;
    t->ending = true;
    t->next_at = p->at + (int64_t)below(p, 30) * US_PER_S;
}

static void task_answer_stop(struct prop *p, struct records *out, struct prop_task *t)
{
    struct task_ref ref = ref_of(p, t, out);
    uint64_t x = below(p, 100);
    if (!t->started && x < 50) {
        t->live = false;
        tell_refused(p, out, &ref, chance(p, 500) ? REFUSED_NOT_SENT : REFUSED_GONE);
    } else if (x < 15) {
        struct record *r = scene_add(out, EV_STOP_REFUSED, p->at);
        r->stop_refused.ref = ref;
        r->stop_refused.stop = t->stop;
        r->stop_refused.why = (uint8_t)below(p, 2);
        r->stop_refused.retry_at = p->at + (int64_t)below(p, 20) * US_PER_S;
        t->stop = 0;
        t->next_at = p->at + (int64_t)below(p, 200) * US_PER_S;
    } else if (!t->ending && x < 70) {
        task_tell_ending(p, out, t, ENDING_US);
    } else {
        task_over(p, out, t, chance(p, 900) ? ENDED_KILLED : some_end(p));
    }
}

static void task_step(struct prop *p, struct records *out, struct prop_task *t)
{
    if (t->stop) {
        task_answer_stop(p, out, t);
    } else if (!t->started) {
        task_first_word(p, out, t);
    } else if (t->ending) {
        task_over(p, out, t, some_end(p));
    } else if (!t->ready && chance(p, 800)) {
        t->ready = true;
        t->next_at = p->at + (int64_t)below(p, 200) * US_PER_S;
        task_tell_at(p, out, t);
    } else if (chance(p, 200)) {
        static const uint8_t by[] = {ENDING_USER, ENDING_OWNER, ENDING_NODE};
        task_tell_ending(p, out, t, by[below(p, 3)]);
    } else {
        task_over(p, out, t, some_end(p));
    }
}

static void tasks_due(struct prop *p, struct records *out)
{
    for (uint32_t i = 0, n = task_count(p), done = 0; i < n && done < 40; i++) {
        struct prop_task *t = &p->tasks[i];
        if (!t->live || t->next_at > p->at)
            continue;
        t->next_at = p->at + (int64_t)(1 + below(p, 100)) * US_PER_S;
        task_step(p, out, t);
        done++;
    }
}

/* jobs */

/* Pods for all places of a job, or for about `of_1000` of them. */
static void offer_job(struct prop *p, struct records *out, const struct prop_job *j,
                      uint64_t of_1000)
{
    const struct job_spec *s = &j->spec;
    for (uint16_t g = 0; g < s->ngroups; g++) {
        if (s->groups[g].shape == GROUP_NONE)
            continue;
        uint16_t whole = job_spec_whole_of(s, g),
                 root = whole == GROUP_NONE ? g : whole;
        uint32_t inner = 1, each = root == g ? 1 : s->groups[g].count.want;
        for (uint16_t up = s->groups[g].parent; root != g && up != root;
             up = s->groups[up].parent)
            inner *= s->groups[up].count.want;
        uint32_t stride = root == g ? 1 : s->groups[g].count.max;
        for (uint32_t n = 0; n < job_spec_gangs(s, root) * inner * each; n++) {
            struct prop_task t = {.group = root, .leaf = g};
            snprintf(t.job, sizeof t.job, "%s", j->name);
            t.copy = n / (inner * each);
            t.index = n % (inner * each) / each * stride + n % each;
            if (chance(p, of_1000))
                offer_again(p, out, &t);
        }
    }
}

/* Other counts for some of a job's groups: more, fewer, another minimum. Where others
 * make the tasks, some are seen before the core hears of it. */
static void job_recount(struct prop *p, struct records *out, struct prop_job *j)
{
    struct group_spec *groups = (struct group_spec *)j->spec.groups;
    struct group_spec old[JOB_GROUPS_PROP];
    memcpy(old, groups, sizeof old);
    for (uint32_t g = 0; g < j->spec.ngroups; g++) {
        struct count *c = &groups[g].count;
        if (chance(p, 400))
            continue;
        uint32_t step = c->step ? c->step : 1;
        c->min = chance(p, 500) ? c->min : (uint32_t)below(p, 9);
        c->want = c->min + step * (uint32_t)below(p, chance(p, 500) ? 1 : 4);
        c->max = c->want + step * (uint32_t)below(p, chance(p, 500) ? 1 : 3);
    }
    if (job_spec_check(&j->spec, NULL)) {
        memcpy(groups, old, sizeof old);
        return;
    }
    if (p->guest && chance(p, 600))
        offer_job(p, out, j, 700);
    if (chance(p, 900))
        scene_job_set(p, out, j);
    if (p->guest && chance(p, 600))
        offer_job(p, out, j, 900);
}

static void job_step(struct prop *p, struct records *out)
{
    struct prop_job *j = &p->jobs[below(p, PROP_JOBS)];
    if (!j->live)
        return;
    if (!p->ask.job_known(p->ask.arg, str_of(j->name))) {
        j->live = false;
        return;
    }
    uint64_t x = below(p, 100);
    if (x < 12) {
        static const uint8_t verbs[] = {JOB_HOLD,       JOB_RELEASE, JOB_RELEASE,
                                        JOB_RELEASE,    JOB_CANCEL,  JOB_CANCEL,
                                        JOB_CHECKPOINT, JOB_OVERRIDE};
        struct record *r = scene_add(out, EV_JOB_DO, p->at);
        r->job_do.job = arena_str(&out->arena, str_of(j->name));
        r->job_do.by = STR("somebody");
        r->job_do.verb = verbs[below(p, 8)];
    } else if (x < 18) {
        struct record *r = scene_add(out, EV_CHECKPOINT_SAVED, p->at);
        r->checkpoint_saved.job = arena_str(&out->arena, str_of(j->name));
        r->checkpoint_saved.saved_at = p->at - (int64_t)below(p, 20) * US_PER_S;
        if (r->checkpoint_saved.saved_at < 0)
            r->checkpoint_saved.saved_at = 0;
    } else if (x < 20) {
        if (chance(p, 500))
            j->spec.priority = (int32_t)below(p, 3);
        scene_job_set(p, out, j);
    } else if (x < 24) {
        job_recount(p, out, j);
    } else if (x < 44 && p->guest) {
        offer_job(p, out, j, 200);
    } else if (x < 47) {
        struct record *r =
            scene_add(out, chance(p, 500) ? EV_BUDGET_SET : EV_SIGNAL, p->at);
        r->budget_set.job = arena_str(&out->arena, str_of(j->name));
    }
}

static void arrivals(struct prop *p, struct records *out)
{
    if (!chance(p, 250))
        return;
    const struct prop_job *j = scene_job(p, out);
    if (j && p->guest)
        offer_job(p, out, j, chance(p, 800) ? 1000 : 600);
}

/* nodes */

static void node_sync(struct prop *p, struct records *out, uint32_t i)
{
    struct record *r = scene_add(out, EV_SYNC_BEGIN, p->at);
    r->sync.node = text(out, "n%02llu", i);
    r->sync.epoch = p->epoch;
    for (uint32_t k = 0; k < task_count(p); k++)
        if (p->tasks[k].live && p->tasks[k].started && p->tasks[k].node == i &&
            chance(p, 950))
            task_tell_at(p, out, &p->tasks[k]);
    r = scene_add(out, EV_SYNCED, p->at);
    r->sync.node = text(out, "n%02llu", i);
    r->sync.epoch = p->epoch;
}

static void device_step(struct prop *p, struct records *out, uint32_t i)
{
    struct record *r = scene_add(out, EV_DEVICE_SET, p->at);
    uint32_t d = (uint32_t)below(p, 9);
    uint8_t state = (uint8_t)(chance(p, 600) ? DEVICE_OK : below(p, 4));
    r->device_set.node = text(out, "n%02llu", i);
    r->device_set.device = d;
    r->device_set.state = state;
    if (d < p->nodes[i].desc.ndevices)
        p->nodes[i].dev[d].state = state;
}

static void tag_step(struct prop *p, struct records *out, uint32_t i)
{
    struct record *r = scene_add(out, EV_TAG_SET, p->at);
    struct str *names = arena_alloc(&out->arena, 2 * sizeof *names);
    names[0] = text(out, "n%02llu", i);
    names[1] = text(out, "p%llu", p->pod_n ? below(p, p->pod_n) : 0);
    r->tag_set.tag = chance(p, 500) ? W_FAST : W_WEB;
    r->tag_set.on = chance(p, 600);
    r->tag_set.nodes = names;
    r->tag_set.nnodes = 1;
    r->tag_set.tasks = names + 1;
    r->tag_set.ntasks = p->own_shapes ? (uint32_t)below(p, 2) : 0;
}

static void node_step(struct prop *p, struct records *out)
{
    uint32_t i = (uint32_t)below(p, p->nnodes);
    struct prop_node *n = &p->nodes[i];
    uint64_t x = below(p, 100);
    if (x < 25) {
        n->desc.state = chance(p, 700) ? NODE_UP : (uint8_t)below(p, 4);
        scene_node_set(p, out, i);
    } else if (x < 33) {
        scene_node(p, i);
        scene_node_set(p, out, i);
    } else if (x < 38) {
        struct record *r = scene_add(out, EV_NODE_GONE, p->at);
        r->node_gone.node = text(out, "n%02llu", i);
        n->there = false;
    } else if (x < 50 && !n->there) {
        scene_node_set(p, out, i);
    } else if (x < 65) {
        device_step(p, out, i);
    } else if (x < 72) {
        tag_step(p, out, i);
    } else if (n->there) {
        node_sync(p, out, i);
    }
}

static void foreign_step(struct prop *p, struct records *out)
{
    struct record *r = scene_add(out, EV_FOREIGN_SET, p->at);
    struct shape *s = arena_zero(&out->arena, sizeof *s);
    uint32_t i = (uint32_t)below(p, p->nnodes), ndev = p->nodes[i].desc.ndevices;
    scene_shape(p, s);
    r->foreign_set.name = text(out, "f%02llu", below(p, 12));
    r->foreign_set.node = text(out, "n%02llu", chance(p, 950) ? i : 90);
    r->foreign_set.shape = s;
    r->foreign_set.priority = (int32_t)below(p, 100);
    r->foreign_set.phase = (uint8_t)below(p, 4);
    if (s->gpu_mode && ndev)
        r->foreign_set.devs = UINT64_C(1) << below(p, ndev);
}

/* Everything anew between sync_begin and synced, but for what is forgotten on the way.
 */
static void world_sync(struct prop *p, struct records *out)
{
    struct record *r = scene_add(out, EV_SYNC_BEGIN, p->at);
    r->sync.epoch = ++p->epoch;
    for (uint32_t i = 0; i < p->nnodes; i++)
        if (p->nodes[i].there && chance(p, 980))
            scene_node_set(p, out, i);
        else
            p->nodes[i].there = false;
    for (uint32_t i = 0; i < PROP_JOBS; i++)
        if (p->jobs[i].live && chance(p, 970)) {
            scene_job_set(p, out, &p->jobs[i]);
            if (p->guest)
                offer_job(p, out, &p->jobs[i], chance(p, 800) ? 1000 : 500);
        }
    for (uint32_t i = 0; i < task_count(p); i++) {
        struct prop_task *t = &p->tasks[i];
        if (t->live && t->started && chance(p, 950))
            task_tell_at(p, out, t);
        else
            t->live = t->live && !t->started && chance(p, 100);
    }
    p->syncing = true;
}

static void lead_step(struct prop *p, struct records *out)
{
    if (p->syncing && chance(p, 600)) {
        struct record *r = scene_add(out, EV_SYNCED, p->at);
        r->sync.epoch = p->epoch;
        r->sync.caps = p->caps;
        p->syncing = false;
        return;
    }
    if (p->leading && !chance(p, 4))
        return;
    if (!p->leading && !chance(p, 300))
        return;
    struct record *r = scene_add(out, EV_LEAD, p->at);
    p->leading = !p->leading;
    r->lead.held = p->leading;
    r->lead.term = p->leading ? ++p->term : p->term;
    if (p->leading && !p->syncing)
        world_sync(p, out);
}

/* hostility */

/* A remembered task whose claim is in the wanted phase, with a name if need be, or
 * NULL. */
static struct prop_task *aim(struct prop *p, struct records *out, int phase, bool named)
{
    for (uint32_t tries = 0, n = task_count(p); n && tries < 150; tries++) {
        /* mostly the younger ones */
        uint32_t back = (uint32_t)below(p, chance(p, 700) && n > 120 ? 120 : n);
        struct prop_task *t = &p->tasks[(p->task_n - 1 - back) % PROP_TASKS];
        if (named && !t->pod[0])
            continue;
        struct task_ref ref = ref_of(p, t, out);
        if ((ref.task.len || ref.launch) && p->ask.phase(p->ask.arg, &ref) == phase)
            return t;
    }
    return NULL;
}

/* Somebody that nobody knows, under a name or a launch of its own. */
static struct prop_task *stranger(struct prop *p)
{
    struct prop_task *t = task_new(p);
    t->node = (uint32_t)below(p, p->nnodes);
    t->leaf = t->group = GROUP_NONE;
    if (chance(p, 700)) {
        snprintf(t->pod, sizeof t->pod, "s%llu", (unsigned long long)p->pod_n++);
    } else {
        snprintf(t->job, sizeof t->job, "j%llu",
                 (unsigned long long)below(p, p->job_n + 3));
        t->launch = (uint64_t)p->term << 40 | below(p, 100);
        t->group = (uint16_t)below(p, 3);
        t->leaf = (uint16_t)below(p, 3);
        t->index = (uint32_t)below(p, 4);
    }
    if (p->nodes[t->node].desc.ndevices && chance(p, 500))
        t->devs = UINT64_C(1) << below(p, p->nodes[t->node].desc.ndevices);
    return t;
}

static void lie_at(struct prop *p, struct records *out, struct prop_task *t,
                   const struct task_ref *ref)
{
    uint32_t node = chance(p, 700) ? t->node : (uint32_t)below(p, p->nnodes);
    uint64_t devs = t->devs;
    uint32_t ndev = p->nodes[node].desc.ndevices;
    if (devs && ndev && (node != t->node || chance(p, 200)))
        devs = (devs << below(p, 3)) & low_bits(ndev);
    uint8_t alt = chance(p, 900) ? t->alt : (uint8_t)below(p, SHAPE_ALTS_MAX);
    tell_at(p, out, ref, node, devs, t->slices, alt, (uint8_t)below(p, 3));
    if (!t->live && chance(p, 700)) { /* now it is really there */
        t->live = t->started = true;
        t->node = node;
        t->devs = devs;
        t->alt = alt;
        t->next_at = p->at + (int64_t)below(p, 100) * US_PER_S;
    }
}

static void lie(struct prop *p, struct records *out, struct prop_task *t, int kind)
{
    struct task_ref ref = ref_of(p, t, out);
    struct record *r;
    if (!ref.task.len && !ref.launch)
        ref.launch = t->launch = (uint64_t)p->term << 40 | (1 + below(p, 1000));
    switch (kind) {
    case EV_TASK_AT: lie_at(p, out, t, &ref); return;
    case EV_TASK_REFUSED: tell_refused(p, out, &ref, (uint8_t)below(p, 7)); return;
    case EV_TASK_ENDING:
        task_tell_ending(p, out, t, (uint8_t)below(p, 4));
        r = &out->list.at[out->list.n - 1];
        r->task_ending.ref = ref;
        return;
    case EV_TASK_ENDED:
        tell_ended(p, out, &ref,
                   (uint8_t)(chance(p, 500) ? below(p, 6) : ENDED_KILLED));
        return;
    case EV_STOP_REFUSED:
        r = scene_add(out, EV_STOP_REFUSED, p->at);
        r->stop_refused.ref = ref;
        r->stop_refused.stop = chance(p, 500) ? 0 : t->stop;
        r->stop_refused.retry_at =
            chance(p, 500) ? 0 : p->at + (int64_t)below(p, 20) * US_PER_S;
        return;
    case EV_TASK_OFFERED:
        if (t->job[0] || t->pod[0])
            tell_offered(p, out, t,
                         t->pod[0] && chance(p, 800) ? ref.task
                                                     : text(out, "p%llu", p->pod_n++));
        if (!t->job[0] && t->pod[0])
            out->list.at[out->list.n - 1].task_offered.ref.gang.job = STR("nobody");
        return;
    default: r = scene_add(out, EV_TASK_GONE, p->at); r->task_gone.ref = ref;
    }
}

static void hostile_step(struct prop *p, struct records *out)
{
    int kinds[PROP_KINDS] = {EV_TASK_OFFERED, EV_TASK_GONE,   EV_TASK_AT,
                             EV_TASK_REFUSED, EV_TASK_ENDING, EV_TASK_ENDED,
                             EV_STOP_REFUSED};
    /* claims in phase 1, planned, are few; so are strays with a name */
    static const int phases[] = {0, 0, 1, 1, 1, 2, 3, 4, 5, 5, 5, 5};
    int kind = kinds[below(p, PROP_KINDS)], phase = phases[below(p, 12)];
    if (phase == 5 && chance(p, 300))
        kind = EV_TASK_OFFERED; /* which finds a stray only by its name */
    if (phase == 1 && p->guest && chance(p, 400))
        kind = EV_TASK_OFFERED; /* another pod for a place that is only planned */
    bool named = phase == 5 && kind == EV_TASK_OFFERED;
    struct prop_task *t =
        phase || chance(p, 500) ? aim(p, out, phase, named) : stranger(p);
    if (!t)
        return;
    lie(p, out, t, kind);
    if (chance(p, 100))
        lie(p, out, t, kind); /* twice */
}

void world_step(struct prop *p, struct records *out)
{
    tasks_due(p, out);
    lead_step(p, out);
    arrivals(p, out);
    job_step(p, out);
    if (chance(p, 60))
        node_step(p, out);
    if (chance(p, 20))
        foreign_step(p, out);
    if (chance(p, 3))
        scene_policy(p, out);
    for (uint32_t i = 0; i < 3; i++)
        if (chance(p, p->hostile))
            hostile_step(p, out);
}

/* decisions */

static uint32_t node_of(const struct prop *p, struct str name)
{
    for (uint32_t i = 0; i < p->nnodes; i++)
        if (str_is(name, p->nodes[i].name))
            return i;
    return 0;
}

static void seat_take(struct prop *p, const struct gang_ref *g, const struct seat *s,
                      uint64_t launch)
{
    struct prop_task *t = task_new(p);
    snprintf(t->job, sizeof t->job, STR_FMT, STR_ARG(g->job));
    snprintf(t->pod, sizeof t->pod, STR_FMT, STR_ARG(s->task));
    t->group = g->group;
    t->copy = g->copy;
    t->leaf = s->slot.leaf;
    t->index = s->slot.index;
    t->launch = launch;
    t->node = node_of(p, s->node);
    t->devs = s->devs;
    t->slices = s->slices;
    t->alt = s->alt;
    t->live = launch != 0;
    if (launch)
        t->next_at = p->at + (int64_t)below(p, chance(p, 950) ? 15 : 900) * US_PER_S;
}

static bool is_task(const struct prop_task *t, const struct task_ref *ref)
{
    if (ref->task.len)
        return str_is(ref->task, t->pod);
    return t->launch == ref->launch && str_is(ref->gang.job, t->job) &&
           t->group == ref->gang.group && t->copy == ref->gang.copy &&
           t->leaf == ref->slot.leaf && t->index == ref->slot.index;
}

static void stop_take(struct prop *p, const struct task_ref *ref, uint64_t stop)
{
    for (uint32_t i = 0; i < task_count(p); i++) {
        struct prop_task *t = &p->tasks[i];
        if (!is_task(t, ref))
            continue;
        t->live = true; /* the core thinks so: it gets an answer */
        t->stop = stop;
        t->next_at = p->at + (int64_t)below(p, 10) * US_PER_S;
        return;
    }
    struct prop_task *t = task_new(p); /* long forgotten, or a stranger's other name */
    snprintf(t->job, sizeof t->job, STR_FMT, STR_ARG(ref->gang.job));
    snprintf(t->pod, sizeof t->pod, STR_FMT, STR_ARG(ref->task));
    t->group = ref->gang.group;
    t->copy = ref->gang.copy;
    t->leaf = ref->slot.leaf;
    t->index = ref->slot.index;
    t->launch = ref->launch;
    t->live = t->started = true;
    t->stop = stop;
    t->next_at = p->at;
}

void world_act(struct prop *p, const struct record *d)
{
    switch (d->kind) {
    case DE_LAUNCH:
        for (uint32_t i = 0; i < d->launch.nseats; i++)
            seat_take(p, &d->launch.gang, &d->launch.seats[i], d->launch.launch);
        return;
    case DE_HOLD:
        for (uint32_t i = 0; i < d->hold.nseats && d->hold.what != HOLD_SPARE; i++)
            seat_take(p, &d->hold.gang, &d->hold.seats[i], 0);
        return;
    case DE_STOP:
        for (uint32_t i = 0; i < d->stop.ntasks; i++)
            stop_take(p, &d->stop.tasks[i], d->stop.stop);
        return;
    default: /* shown to people, or nothing to do */ return;
    }
}

int64_t world_due(const struct prop *p)
{
    int64_t due = INT64_MAX;
    for (uint32_t i = 0; i < task_count(p); i++)
        if (p->tasks[i].live && p->tasks[i].next_at < due)
            due = p->tasks[i].next_at;
    return due;
}
