/* scenario-job.c - reads a job: its tree of groups and the shapes of its leaves
 * Two short forms save words: `gang` is a whole root with one leaf, `pods` a root whose
 * tasks stand each for itself; `groups` is any tree. SPDX-License-Identifier:
 * Apache-2.0 */
#include <errno.h>

#include "cluster/catalogue.h"
#include "base/units.h"
#include "scenario.h"

int get_text(const struct ynode *map, const char *key, struct str *ret, struct err *err)
{
    const struct ynode *n = ynode_get(map, key);
    return n ? ynode_str(n, ret, err) : 0;
}

static int word_of(struct scenario *sc, const struct ynode *n, word_t *ret,
                   struct err *err)
{
    struct str s;
    int rc = ynode_str(n, &s, err);
    if (rc)
        return rc;
    *ret = words_add(&sc->words, s);
    return *ret ? 0 : ynode_err(n, EINVAL, err, "no name: empty, or too long");
}

int get_word(struct scenario *sc, const struct ynode *map, const char *key, word_t *ret,
             struct err *err)
{
    const struct ynode *n = ynode_get(map, key);
    return n ? word_of(sc, n, ret, err) : 0;
}

int get_u32(const struct ynode *map, const char *key, uint32_t most, uint32_t *ret,
            struct err *err)
{
    const struct ynode *n = ynode_get(map, key);
    int64_t v = *ret;
    int rc = n ? ynode_i64(n, 0, most, &v, err) : 0;
    *ret = (uint32_t)v;
    return rc;
}

int get_time(const struct ynode *map, const char *key, int64_t *ret, struct err *err)
{
    const struct ynode *n = ynode_get(map, key);
    return n ? ynode_duration(n, ret, err) : 0;
}

int get_choice(const struct ynode *map, const char *key, const char *const *names,
               uint8_t *ret, struct err *err)
{
    const struct ynode *n = ynode_get(map, key);
    struct str s;
    int rc = n ? ynode_str(n, &s, err) : 0;
    if (rc || !n)
        return rc;
    for (uint8_t i = 0; names[i]; i++) {
        if (str_is(s, names[i])) {
            *ret = i;
            return 0;
        }
    }
    struct buf b = {0};
    for (int i = 0; names[i]; i++)
        buf_fmt(&b, "%s%s", i ? ", " : "", names[i]);
    rc = ynode_err(n, EINVAL, err, "%s: \"" STR_FMT "\" is none of %s", key, STR_ARG(s),
                   b.data);
    buf_done(&b);
    return rc;
}

static int words_list(struct scenario *sc, const struct ynode *map, const char *key,
                      uint32_t max, word_t *to, uint32_t *n, struct err *err)
{
    const struct ynode *list = ynode_get(map, key);
    if (!list)
        return 0;
    if (list->kind != YNODE_LIST || list->n > max)
        return ynode_err(list, EINVAL, err, "%s must be a list of at most %u", key,
                         max);
    for (const struct ynode *m = list->first; m; m = m->next) {
        int rc = word_of(sc, m, &to[(*n)++], err);
        if (rc)
            return rc;
    }
    return 0;
}

static int types_read(struct scenario *sc, const struct ynode *g, struct shape *sh,
                      struct err *err)
{
    const struct ynode *list = ynode_get(g, "types");
    word_t types[SHAPE_TYPES_MAX];
    int rc = words_list(sc, g, "types", SHAPE_TYPES_MAX, types, &sh->ntypes, err);
    for (uint32_t i = 0; list && !rc && i < sh->ntypes; i++) {
        /* as the cluster file's reader names it */
        struct str name = catalogue_canonical(words_text(&sc->words, types[i]));
        sh->types[i].type = words_add(&sc->words, name);
    }
    return rc;
}

/* What part of a device a profile is, by the cluster's own description of it. */
static int profile_milli(struct scenario *sc, const struct ynode *n, struct shape *sh,
                         struct err *err)
{
    for (uint32_t i = 0; i < sc->cluster.nodes.n; i++) {
        const struct node_desc *d = &sc->cluster.nodes.at[i];
        for (uint32_t k = 0; k < d->ndevices; k++) {
            const struct device_type *t = d->devices[k].type;
            for (uint32_t p = 0; p < t->nprofiles; p++)
                if (t->profiles[p].name == sh->profile) {
                    sh->gpu_milli = t->profiles[p].milli;
                    return 0;
                }
        }
    }
    return ynode_err(n, EINVAL, err, "no device of the cluster has this profile");
}

static int gpus_read(struct scenario *sc, const struct ynode *g, struct shape *sh,
                     struct err *err)
{
    static const char *const keys[] = {"count",  "types",   "share",
                                       "memory", "profile", NULL};
    const struct ynode *share = ynode_get(g, "share"), *mem = ynode_get(g, "memory");
    const struct ynode *profile = ynode_get(g, "profile");
    int64_t count = 1, milli = 1000;
    uint64_t bytes = 0;
    int rc = 0;
    sh->gpu_mode = GPU_WHOLE;
    if (g->kind == YNODE_SCALAR) {
        rc = ynode_i64(g, 0, NODE_DEVICES_MAX, &count, err);
    } else if (!(rc = ynode_only(g, keys, err))) {
        const struct ynode *n = ynode_get(g, "count");
        rc = n ? ynode_i64(n, 1, NODE_DEVICES_MAX, &count, err) : 0;
    }
    if (rc || (share && (rc = ynode_milli(share, &milli, err))) ||
        (mem && (rc = ynode_size(mem, &bytes, err))) ||
        (rc = types_read(sc, g, sh, err)))
        return rc;
    sh->gpu_count = (uint32_t)count;
    sh->gpu_milli = (uint32_t)milli;
    sh->gpu_mem_bytes = (int64_t)bytes;
    if (!count) {
        sh->gpu_mode = GPU_NONE;
        sh->gpu_milli = 0;
    } else if (share) {
        sh->gpu_mode = GPU_SHARE;
    } else if (profile) {
        sh->gpu_mode = GPU_MIG;
        if ((rc = word_of(sc, profile, &sh->profile, err)))
            return rc;
        return profile_milli(sc, profile, sh, err);
    }
    return 0;
}

/* One request, or a list of them of which any will do, the preferred first. They share
 * the types of the first. */
static int gpu_ways_read(struct scenario *sc, const struct ynode *g, struct shape *sh,
                         struct err *err)
{
    if (g->kind != YNODE_LIST)
        return gpus_read(sc, g, sh, err);
    if (g->n < 1 || g->n > SHAPE_ALTS_MAX)
        return ynode_err(g, EINVAL, err, "gpus must be a list of 1 to %d",
                         SHAPE_ALTS_MAX);
    int rc = gpus_read(sc, g->first, sh, err);
    for (const struct ynode *m = g->first->next; m && !rc; m = m->next) {
        struct shape one;
        memset(&one, 0, sizeof one);
        if ((rc = gpus_read(sc, m, &one, err)))
            break;
        if (one.ntypes)
            return ynode_err(m, EINVAL, err, "types belong to the first of the list");
        sh->alts[sh->nalts++] =
            (struct gpu_alt){one.gpu_mem_bytes, one.gpu_mode, one.gpu_count,
                             one.gpu_milli, one.profile};
    }
    return rc;
}

static int constraint_read(struct scenario *sc, const struct ynode *n,
                           struct constraint *c, struct err *err)
{
    static const char *const keys[] = {"kind",     "tag",    "key",
                                       "max_skew", "weight", NULL};
    static const char *const kinds[] = {"none", "need", "avoid", "spread", NULL};
    uint8_t kind = CONSTRAINT_NONE;
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = get_choice(n, "kind", kinds, &kind, err)) ||
        (rc = get_word(sc, n, "tag", &c->tag, err)) ||
        (rc = get_word(sc, n, "key", &c->key, err)) ||
        (rc = get_u32(n, "max_skew", 65536, &c->max_skew, err)) ||
        (rc = get_u32(n, "weight", 1000000, &c->weight, err)))
        return rc;
    c->kind = kind;
    c->hard = c->weight == 0; /* a weight makes it a wish */
    return 0;
}

int shape_read(struct scenario *sc, const struct ynode *n, struct shape *ret,
               struct err *err)
{
    static const char *const keys[] = {"cpus",     "memory",      "slots",
                                       "nics",     "gpus",        "tags",
                                       "tolerate", "constraints", NULL};
    struct shape sh;
    struct err why = {0};
    memset(&sh, 0, sizeof sh);
    sh.pod_slots = 1;
    const struct ynode *cpus = ynode_get(n, "cpus"), *mem = ynode_get(n, "memory");
    const struct ynode *gpus = ynode_get(n, "gpus"),
                       *list = ynode_get(n, "constraints");
    uint64_t bytes = 0;
    int rc = ynode_only(n, keys, err);
    if (rc || (cpus && (rc = ynode_milli(cpus, &sh.cpu_milli, err))) ||
        (mem && (rc = ynode_size(mem, &bytes, err))) ||
        (rc = get_u32(n, "slots", 65536, &sh.pod_slots, err)) ||
        (rc = get_u32(n, "nics", 1024, &sh.nics, err)) ||
        (gpus && (rc = gpu_ways_read(sc, gpus, &sh, err))) ||
        (rc = words_list(sc, n, "tags", SHAPE_TAGS_MAX, sh.tags, &sh.ntags, err)) ||
        (rc = words_list(sc, n, "tolerate", SHAPE_TOLERATE_MAX, sh.tolerate,
                         &sh.ntolerate, err)))
        return rc;
    sh.mem_bytes = (int64_t)bytes;
    if (list && (list->kind != YNODE_LIST || list->n > SHAPE_CONSTRAINTS_MAX))
        return ynode_err(list, EINVAL, err, "constraints must be a list of at most %d",
                         SHAPE_CONSTRAINTS_MAX);
    for (const struct ynode *m = list ? list->first : NULL; m; m = m->next)
        if ((rc = constraint_read(sc, m, &sh.constraints[sh.nconstraints++], err)))
            return rc;
    if ((rc = shape_check(&sh, &why)))
        return ynode_err(n, -rc, err, "%s", why.text);
    *ret = sh;
    return 0;
}

/* A job while it is read. */
struct tree_read {
    struct scenario *sc;
    struct err *err;
    struct group_spec groups[JOB_GROUPS_MAX];
    struct shape shapes[JOB_GROUPS_MAX];
    const struct ynode *start[JOB_GROUPS_MAX];
    uint32_t ngroups, nshapes;
};

static int count_read(const struct ynode *n, struct count *c, struct err *err)
{
    static const char *const keys[] = {"min", "want", "max", "step", NULL};
    int64_t one = 1;
    *c = (struct count){1, 1, 1, 1};
    if (!n)
        return 0;
    if (n->kind == YNODE_SCALAR) {
        int rc = ynode_i64(n, 0, JOB_SLOTS_MAX, &one, err);
        c->min = c->want = c->max = (uint32_t)one;
        return rc;
    }
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = get_u32(n, "want", JOB_SLOTS_MAX, &c->want, err)))
        return rc;
    c->min = c->max = c->want;
    if ((rc = get_u32(n, "min", JOB_SLOTS_MAX, &c->min, err)) ||
        (rc = get_u32(n, "max", JOB_SLOTS_MAX, &c->max, err)))
        return rc;
    return get_u32(n, "step", JOB_SLOTS_MAX, &c->step, err);
}

static int levels_read(struct tree_read *t, const struct ynode *n, struct group_spec *g)
{
    int rc = get_word(t->sc, n, "required", &g->required, t->err);
    return rc ? rc : get_word(t->sc, n, "preferred", &g->preferred, t->err);
}

/* How the ranks of a leaf are dealt out. */
static int deal_read(struct tree_read *t, const struct ynode *n, struct group_spec *g)
{
    static const char *const segment_keys[] = {"size", "level", NULL};
    static const char *const spread_keys[] = {"over", "most", NULL};
    const struct ynode *segment = ynode_get(n, "segment"),
                       *spread = ynode_get(n, "spread");
    const struct ynode *even = ynode_get(n, "balanced");
    bool balanced = false;
    int rc;
    if ((segment && (rc = ynode_only(segment, segment_keys, t->err))) ||
        (spread && (rc = ynode_only(spread, spread_keys, t->err))) ||
        (rc = get_u32(segment, "size", JOB_SLOTS_MAX, &g->segment_size, t->err)) ||
        (rc = get_word(t->sc, segment, "level", &g->segment_level, t->err)) ||
        (rc = get_u32(spread, "most", JOB_SLOTS_MAX, &g->spread_most, t->err)) ||
        (rc = get_word(t->sc, spread, "over", &g->spread_kind, t->err)) ||
        (even && (rc = ynode_bool(even, &balanced, t->err))))
        return rc;
    g->balanced = balanced;
    return 0;
}

static int leaf_shape(struct tree_read *t, const struct ynode *n, struct group_spec *g)
{
    const struct ynode *shape = ynode_get(n, "shape");
    if (!shape)
        return ynode_err(n, EINVAL, t->err, "a leaf needs a shape");
    g->shape = (uint16_t)t->nshapes;
    return shape_read(t->sc, shape, &t->shapes[t->nshapes++], t->err);
}

static int group_read(struct tree_read *t, const struct ynode *n, uint16_t parent)
{
    static const char *const keys[] = {"role",        "count",   "whole",  "required",
                                       "preferred",   "segment", "spread", "balanced",
                                       "start_after", "shape",   "groups", NULL};
    const struct ynode *kids = ynode_get(n, "groups"), *whole = ynode_get(n, "whole");
    bool is_whole = false;
    int rc = ynode_only(n, keys, t->err);
    if (rc)
        return rc;
    if (t->ngroups == JOB_GROUPS_MAX)
        return ynode_err(n, ERANGE, t->err, "more than %d groups", JOB_GROUPS_MAX);
    uint16_t me = (uint16_t)t->ngroups++;
    struct group_spec *g = &t->groups[me];
    g->parent = parent;
    g->depth = parent == GROUP_NONE ? 0 : (uint8_t)(t->groups[parent].depth + 1);
    g->shape = GROUP_NONE;
    t->start[me] = ynode_get(n, "start_after");
    if ((rc = get_word(t->sc, n, "role", &g->role, t->err)) ||
        (rc = count_read(ynode_get(n, "count"), &g->count, t->err)) ||
        (whole && (rc = ynode_bool(whole, &is_whole, t->err))) ||
        (rc = levels_read(t, n, g)) || (rc = deal_read(t, n, g)))
        return rc;
    g->whole = is_whole;
    if (!kids)
        return leaf_shape(t, n, g);
    if (kids->kind != YNODE_LIST || ynode_get(n, "shape"))
        return ynode_err(kids, EINVAL, t->err,
                         "groups must be a list, in a group without "
                         "a shape");
    for (const struct ynode *m = kids->first; m; m = m->next)
        if ((rc = group_read(t, m, me)))
            return rc;
    return 0;
}

/* start_after {group: ROLE, when: started}, once all siblings are there. */
static int starts_read(struct tree_read *t)
{
    static const char *const keys[] = {"group", "when", NULL};
    static const char *const whens[] = {"at_once", "started", "ready", NULL};
    for (uint32_t i = 0; i < t->ngroups; i++) {
        const struct ynode *n = t->start[i];
        word_t role = WORD_NONE;
        uint8_t when = START_AFTER_STARTED;
        int rc = n ? ynode_only(n, keys, t->err) : 0;
        if (!n)
            continue;
        if (rc || (rc = get_word(t->sc, n, "group", &role, t->err)) ||
            (rc = get_choice(n, "when", whens, &when, t->err)))
            return rc;
        uint32_t k = 0;
        while (k < t->ngroups && (t->groups[k].role != role ||
                                  t->groups[k].parent != t->groups[i].parent))
            k++;
        if (k == t->ngroups || !role)
            return ynode_err(n, EINVAL, t->err, "start_after names no sibling's role");
        t->groups[i].start = when;
        t->groups[i].start_group = (uint16_t)k;
    }
    return 0;
}

/* A root and one leaf. */
static int short_read(struct tree_read *t, const struct ynode *n, bool whole)
{
    static const char *const keys[] = {"tasks",  "required", "preferred", "segment",
                                       "spread", "balanced", "shape",     NULL};
    struct group_spec *root = &t->groups[0], *leaf = &t->groups[1];
    int rc = ynode_only(n, keys, t->err);
    if (rc)
        return rc;
    t->ngroups = 2;
    *root = (struct group_spec){.parent = GROUP_NONE,
                                .shape = GROUP_NONE,
                                .whole = whole,
                                .count = {1, 1, 1, 1}};
    leaf->depth = 1;
    if ((rc = count_read(ynode_get(n, "tasks"), &leaf->count, t->err)) ||
        (rc = levels_read(t, n, root)) || (rc = deal_read(t, n, leaf)))
        return rc;
    return leaf_shape(t, n, leaf);
}

static int tree_read(struct tree_read *t, const struct ynode *n)
{
    const struct ynode *gang = ynode_get(n, "gang"), *pods = ynode_get(n, "pods");
    const struct ynode *root = ynode_get(n, "groups");
    if ((gang != NULL) + (pods != NULL) + (root != NULL) != 1)
        return ynode_err(n, EINVAL, t->err, "a job has one of gang, pods or groups");
    int rc = root ? group_read(t, root, GROUP_NONE)
                  : short_read(t, gang ? gang : pods, gang != NULL);
    return rc ? rc : starts_read(t);
}

static int job_facts(struct scenario *sc, const struct ynode *n, struct job_plan *j,
                     struct err *err)
{
    static const char *const kinds[] = {"finite", "service", NULL};
    static const char *const losses[] = {"gang", "member", "ignore", NULL};
    static const char *const successes[] = {"all", "any", "leader", NULL};
    static const char *const hows[] = {"none", "self", "asked", NULL};
    static const char *const classes[] = {"guaranteed", "best_effort", "latency", NULL};
    struct job_spec *s = &j->spec;
    const struct ynode *priority = ynode_get(n, "priority");
    const struct ynode *may_go = ynode_get(n, "preemptible");
    bool preemptible = false;
    int64_t prio = 0;
    int rc;
    s->queue = words_add(&sc->words, STR("main"));
    if ((rc = get_text(n, "name", &s->name, err)) ||
        (rc = get_word(sc, n, "queue", &s->queue, err)) ||
        (rc = get_word(sc, n, "user", &s->user, err)) ||
        (priority && (rc = ynode_i64(priority, INT32_MIN, INT32_MAX, &prio, err))) ||
        (rc = get_choice(n, "kind", kinds, &s->kind, err)) ||
        (rc = get_choice(n, "on_loss", losses, &s->on_loss, err)) ||
        (rc = get_choice(n, "success", successes, &s->success, err)) ||
        (rc = get_choice(n, "qos", classes, &s->qos, err)) ||
        (rc = get_choice(n, "checkpoint", hows, &s->checkpoint, err)) ||
        (rc = get_u32(n, "tries", 1000000, &s->tries, err)) ||
        (rc = get_time(n, "backoff", &s->backoff_us, err)) ||
        (rc = get_time(n, "expected", &s->expected_us, err)) ||
        (rc = get_time(n, "limit", &s->time_limit_us, err)) ||
        (rc = get_time(n, "save", &s->ckpt_save_us, err)) ||
        (rc = get_time(n, "restore", &s->ckpt_restore_us, err)) ||
        (rc = get_time(n, "protect", &s->protect_us, err)) ||
        (may_go && (rc = ynode_bool(may_go, &preemptible, err))))
        return rc;
    s->preemptible = preemptible;
    s->priority = (int32_t)prio;
    j->run_us = j->stop_us = NEVER;
    rc = get_time(n, "runs", &j->run_us, err);
    return rc ? rc : get_time(n, "ends_in", &j->stop_us, err);
}

int job_read(struct scenario *sc, const struct ynode *n, struct job_plan *ret,
             struct err *err)
{
    static const char *const keys[] = {"name",        "queue",    "user",    "priority",
                                       "kind",        "on_loss",  "success", "tries",
                                       "backoff",     "expected", "limit",   "runs",
                                       "repeat",      "gang",     "pods",    "groups",
                                       "checkpoint",  "save",     "restore", "protect",
                                       "preemptible", "ends_in",  "qos",     NULL};
    struct tree_read *t = arena_zero(&sc->arena, sizeof *t);
    struct err why = {0};
    t->sc = sc;
    t->err = err;
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = job_facts(sc, n, ret, err)) || (rc = tree_read(t, n)))
        return rc;
    ret->spec.ngroups = t->ngroups;
    ret->spec.nshapes = t->nshapes;
    ret->spec.groups = t->groups;
    ret->spec.shapes = t->shapes;
    rc = job_spec_check(&ret->spec, &why);
    return rc ? ynode_err(n, -rc, err, "%s", why.text) : 0;
}
