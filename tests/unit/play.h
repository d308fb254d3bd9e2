/* play.h - a core and a hand-made world for tests: short calls that make records
 * Home world: muster makes the tasks. Decisions of the last border stay in p->out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TEST_PLAY_H
#define MUSTER_TEST_PLAY_H

#include "cluster/catalogue.h"
#include "cluster/cluster.h"
#include "sched/sched.h"

struct play {
    struct sched *s;
    struct words words;
    struct records in, out;
    uint64_t seq;
    int64_t at;
    struct arena a;
    struct device_type type;
};

static inline void play_fold(struct play *p, struct record *r)
{
    r->seq = ++p->seq;
    r->at = p->at;
    sched_fold(p->s, r);
}

static inline word_t play_word(struct play *p, const char *text)
{
    word_t id = words_find(&p->words, str_of(text));
    if (id)
        return id;
    id = words_add(&p->words, str_of(text));
    struct record r = {.kind = REC_WORD};
    r.word.id = id;
    r.word.text = str_of(text);
    play_fold(p, &r);
    return id;
}

static inline void play_border(struct play *p)
{
    struct record r = {.kind = REC_BORDER};
    play_fold(p, &r);
    records_clear(&p->out);
    sched_decide(p->s, &p->out);
    p->seq += p->out.list.n;
    sched_invariants(p->s);
}

static inline void play_policy(struct play *p, const char *text)
{
    struct record r = {.kind = EV_POLICY_SET};
    r.policy_set.text = str_of(text);
    play_fold(p, &r);
}

/* place: "block=b0 rack=r1" or NULL. */
static inline void play_node(struct play *p, const char *name, uint32_t gpus, const char *place,
                             const char *tag, uint8_t state)
{
    struct device_desc dev[64];
    struct node_part parts[8];
    word_t tags[1];
    memset(dev, 0, sizeof dev);
    for (uint32_t i = 0; i < gpus; i++)
        dev[i] = (struct device_desc){.type = &p->type, .mem_bytes = p->type.mem_bytes,
                                      .modes = p->type.modes};
    struct node_desc d = {.name = str_of(name), .cpu_milli = 64000,
                          .mem_bytes = INT64_C(256) << 30, .pod_slots = 110,
                          .ndevices = gpus, .devices = dev, .place = parts, .tags = tags,
                          .state = state};
    struct str rest = str_of(place);
    while (rest.ptr && rest.len) {
        struct str item = str_cut(&rest, ' '), value = item;
        struct str key = str_cut(&value, '=');
        parts[d.nplace].key = play_word(p, arena_str(&p->a, key).ptr);
        parts[d.nplace++].value = play_word(p, arena_str(&p->a, value).ptr);
    }
    if (tag)
        tags[d.ntags++] = play_word(p, tag);
    struct record r = {.kind = EV_NODE_SET};
    r.node_set = &d;
    play_fold(p, &r);
}

static inline void play_sync(struct play *p)
{
    struct record r = {.kind = EV_LEAD};
    r.lead.held = true;
    r.lead.term = 1;
    play_fold(p, &r);
    r = (struct record){.kind = EV_SYNC_BEGIN};
    play_fold(p, &r);
}

static inline void play_synced(struct play *p)
{
    struct record r = {.kind = EV_SYNCED};
    r.sync.caps = CAP_MAKE | CAP_DEVICES | CAP_RANKS;
    play_fold(p, &r);
}

static inline struct shape play_shape(uint32_t gpus)
{
    struct shape sh;
    memset(&sh, 0, sizeof sh);
    sh.cpu_milli = 1000;
    sh.mem_bytes = 1 << 30;
    sh.pod_slots = 1;
    sh.gpu_mode = gpus ? GPU_WHOLE : GPU_NONE;
    sh.gpu_count = gpus;
    sh.gpu_milli = gpus ? 1000 : 0;
    return sh;
}

/* One whole root with one leaf of n tasks (min .. n), each of the shape. */
static inline void play_job(struct play *p, const char *name, uint32_t n, uint32_t min,
                            const struct shape *sh, const char *required)
{
    struct group_spec g[2];
    memset(g, 0, sizeof g);
    g[0] = (struct group_spec){.parent = GROUP_NONE, .shape = GROUP_NONE, .whole = 1,
                               .count = {1, 1, 1, 1}};
    g[1] = (struct group_spec){.parent = 0, .shape = 0, .depth = 1,
                               .count = {min, n, n, 1}};
    if (required)
        g[0].required = play_word(p, required);
    struct job_spec spec = {.name = str_of(name), .queue = play_word(p, "main"),
                            .submitted_at = p->at, .ngroups = 2, .nshapes = 1, .groups = g,
                            .shapes = sh};
    struct record r = {.kind = EV_JOB_SET};
    r.job_set = &spec;
    play_fold(p, &r);
}

/* Answer each launch of the last border: its tasks run. */
static inline void play_run(struct play *p)
{
    for (uint32_t i = 0; i < p->out.list.n; i++) {
        const struct record *l = &p->out.list.at[i];
        for (uint32_t k = 0; l->kind == DE_LAUNCH && k < l->launch.nseats; k++) {
            const struct seat *seat = &l->launch.seats[k];
            struct record r = {.kind = EV_TASK_AT};
            r.task_at.ref = (struct task_ref){.launch = l->launch.launch,
                                              .gang = l->launch.gang, .slot = seat->slot};
            r.task_at.node = seat->node;
            r.task_at.devs = seat->devs;
            r.task_at.slices = seat->slices;
            r.task_at.phase = TASK_RUNNING;
            play_fold(p, &r);
        }
    }
}

static inline void play_end(struct play *p, const char *job, uint64_t launch, uint32_t index,
                            uint8_t how)
{
    struct record r = {.kind = EV_TASK_ENDED};
    r.task_ended.ref = (struct task_ref){.launch = launch,
                                         .gang = {str_of(job), 0, 0},
                                         .slot = {1, index}};
    r.task_ended.how = how;
    play_fold(p, &r);
}

/* The i-th decision of a kind in the last border, or NULL. */
static inline const struct record *play_find(const struct play *p, int kind, uint32_t i)
{
    for (uint32_t k = 0; k < p->out.list.n; k++)
        if (p->out.list.at[k].kind == kind && i-- == 0)
            return &p->out.list.at[k];
    return NULL;
}

static inline void play_init(struct play *p)
{
    memset(p, 0, sizeof *p);
    p->s = sched_create();
    p->type = (struct device_type){.mem_bytes = INT64_C(80) << 30,
                                   .modes = DEVICE_WHOLE | DEVICE_SHARE};
    p->type.name = play_word(p, "H100");
    play_sync(p);
}

static inline void play_done(struct play *p)
{
    sched_destroy(p->s);
    words_done(&p->words);
    records_done(&p->in);
    records_done(&p->out);
    arena_done(&p->a);
}

#endif
