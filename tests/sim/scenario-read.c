/* scenario-read.c - reads a scenario file: policy, cluster, world and steps
 *
 * The sections `cluster` and `policy` are handed as they stand to the readers that
 * users meet (cluster/file.h, sched/policy.h): the same lines of the file, with empty
 * lines before them, so that their errors name the right line and column too.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "base/infile.h"
#include "sched/sched.h"
#include "scenario.h"

#ifndef MUSTER_SOURCE_DIR
#define MUSTER_SOURCE_DIR "."
#endif

enum { FILE_BYTES_MAX = 1 << 20 };

static const char *const device_states[] = {"ok", "suspect", "bad", "gone", NULL};
static const char *const node_states[] = {"up", "drained", "down", "unknown", NULL};
static const char *const answers[] = {"auto", "manual", NULL};

/* The lines of one section, all others empty. */
static struct str section_text(struct scenario *sc, struct str file,
                               const struct ynode *n)
{
    uint32_t from = n->key_line, to = n->next ? n->next->key_line : UINT32_MAX,
             line = 1;
    char *out = arena_alloc(&sc->arena, file.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < file.len && line < to; i++) {
        if (file.ptr[i] == '\n' || line > from)
            out[len++] = file.ptr[i];
        line += file.ptr[i] == '\n';
    }
    out[len] = '\0';
    return (struct str){out, len};
}

static int cluster_section(struct scenario *sc, struct str file, const struct ynode *n,
                           struct err *err)
{
    if (!n || n->kind != YNODE_MAP || n->line == n->key_line)
        return ynode_err(n, EINVAL, err,
                         "cluster must be a map below the key, in the form "
                         "of docs/cluster-format.md");
    int rc = cluster_file_parse(&sc->cluster, n->file, section_text(sc, file, n),
                                &sc->words, err);
    for (uint32_t i = 0; rc == 0 && i < sc->cluster.nodes.n; i++)
        strmap_put(&sc->node_ids, sc->cluster.nodes.at[i].name, i);
    return rc;
}

/* A map, or the name of a shipped policy. */
static int policy_section(struct scenario *sc, struct str file, const struct ynode *n,
                          struct err *err)
{
    policy_init(&sc->policy);
    if (!n)
        return 0;
    if (n->kind == YNODE_MAP && n->line != n->key_line) {
        sc->policy_text = section_text(sc, file, n);
        return policy_parse(n->file, sc->policy_text, &sc->arena, &sc->policy, err);
    }
    struct str name;
    struct buf path = {0}, text = {0};
    const char *dir = getenv("MUSTER_DATADIR");
    int rc = ynode_str(n, &name, err);
    if (rc)
        return rc;
    buf_fmt(&path, "%s/policies/" STR_FMT ".yaml",
            dir && *dir ? dir : MUSTER_SOURCE_DIR, STR_ARG(name));
    rc = infile_slurp(path.data, POLICY_TEXT_MAX, &text, err);
    if (rc)
        ynode_err(n, -rc, err, "no policy \"" STR_FMT "\"", STR_ARG(name));
    if (!rc) {
        sc->policy_text = arena_str(&sc->arena, buf_as_str(&text));
        rc = policy_parse(path.data, sc->policy_text, &sc->arena, &sc->policy, err);
    }
    buf_done(&path);
    buf_done(&text);
    return rc;
}

static int world_section(struct scenario *sc, const struct ynode *n, struct err *err)
{
    static const char *const keys[] = {"answers", "start", "stop", "tasks", NULL};
    static const char *const makers[] = {"ours", "theirs", NULL};
    uint8_t how = 0, maker = 0;
    int rc = n ? ynode_only(n, keys, err) : 0;
    if (!n || rc || (rc = get_choice(n, "answers", answers, &how, err)) ||
        (rc = get_choice(n, "tasks", makers, &maker, err)) ||
        (rc = get_time(n, "start", &sc->start_us, err)))
        return rc;
    sc->manual = how;
    sc->guest = maker;
    return get_time(n, "stop", &sc->stop_us, err);
}

static int node_known(const struct scenario *sc, const struct ynode *where,
                      struct str name, struct err *err)
{
    if (strmap_get(&sc->node_ids, name) != MAP_NONE)
        return 0;
    return ynode_err(where, ENOENT, err, "no node \"" STR_FMT "\" in the cluster",
                     STR_ARG(name));
}

static int bits_read(const struct ynode *list, uint64_t *ret, struct err *err)
{
    if (list && list->kind != YNODE_LIST)
        return ynode_err(list, EINVAL, err, "devices must be a list of numbers");
    for (const struct ynode *m = list ? list->first : NULL; m; m = m->next) {
        int64_t i = 0;
        int rc = ynode_i64(m, 0, NODE_DEVICES_MAX - 1, &i, err);
        if (rc)
            return rc;
        *ret |= UINT64_C(1) << i;
    }
    return 0;
}

/* job, group, copy, tasks and node, as many as are there. */
static int who_read(const struct scenario *sc, const struct ynode *n, struct picked *w,
                    struct err *err)
{
    const struct ynode *list = ynode_get(n, "tasks");
    int rc;
    w->copy = NOBODY;
    if ((rc = get_text(n, "job", &w->job, err)) ||
        (rc = get_text(n, "group", &w->group, err)) ||
        (rc = get_text(n, "node", &w->node, err)) ||
        (rc = get_u32(n, "copy", JOB_SLOTS_MAX, &w->copy, err)))
        return rc;
    if (!w->job.len && !w->node.len)
        return ynode_err(n, EINVAL, err, "whose tasks? a job or a node must be named");
    if (w->node.len && (rc = node_known(sc, n, w->node, err)))
        return rc;
    if (list && (list->kind != YNODE_LIST || list->n > PICKED_MAX))
        return ynode_err(list, EINVAL, err, "tasks must be a list of at most %d",
                         PICKED_MAX);
    for (const struct ynode *m = list ? list->first : NULL; m; m = m->next) {
        int64_t i = 0;
        if ((rc = ynode_i64(m, 0, JOB_SLOTS_MAX, &i, err)))
            return rc;
        w->indexes[w->nindexes++] = (uint32_t)i;
    }
    return 0;
}

#define WHO_KEYS "job", "group", "copy", "tasks", "node"

static int end_step(struct scenario *sc, const struct ynode *n, struct step *st,
                    struct err *err)
{
    static const char *const keys[] = {WHO_KEYS, "how", NULL};
    static const char *const hows[] = {"done", "failed", "rejected", "killed",
                                       "lost", "oom",    NULL};
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = who_read(sc, n, &st->who, err)))
        return rc;
    return get_choice(n, "how", hows, &st->what, err);
}

static int who_step(struct scenario *sc, const struct ynode *n, struct step *st,
                    struct err *err)
{
    static const char *const keys[] = {WHO_KEYS, NULL};
    int rc = ynode_only(n, keys, err);
    return rc ? rc : who_read(sc, n, &st->who, err);
}

static int refuse_step(struct scenario *sc, const struct ynode *n, struct step *st,
                       struct err *err)
{
    static const char *const keys[] = {WHO_KEYS, "class", "retry", NULL};
    static const char *const classes[] = {"gone",      "conflict", "forbidden",
                                          "throttled", "not_sent", "node",
                                          "prepare",   NULL};
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = who_read(sc, n, &st->who, err)) ||
        (rc = get_choice(n, "class", classes, &st->what, err)))
        return rc;
    return get_time(n, "retry", &st->wait_us, err);
}

static int ghost_step(struct scenario *sc, const struct ynode *n, struct step *st,
                      struct err *err)
{
    static const char *const keys[] = {WHO_KEYS, "launch", NULL};
    int rc = ynode_only(n, keys, err);
    st->number = 1;
    if (rc || (rc = who_read(sc, n, &st->who, err)))
        return rc;
    return get_u32(n, "launch", 1 << 20, &st->number, err);
}

static int offer_step(struct scenario *sc, const struct ynode *n, struct step *st,
                      struct err *err)
{
    static const char *const keys[] = {WHO_KEYS, "shape", "gated", NULL};
    const struct ynode *shape = ynode_get(n, "shape"), *gated = ynode_get(n, "gated");
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = who_read(sc, n, &st->who, err)) ||
        (gated && (rc = ynode_bool(gated, &st->gated, err))))
        return rc;
    if (!sc->guest)
        return ynode_err(n, EINVAL, err,
                         "tasks are offered only where world says "
                         "`tasks: theirs`");
    st->has_shape = shape != NULL;
    return shape ? shape_read(sc, shape, &st->shape, err) : 0;
}

static int node_step(struct scenario *sc, const struct ynode *n, struct step *st,
                     struct err *err)
{
    static const char *const keys[] = {"name", "state",   "lose",
                                       "gone", "replace", NULL};
    const struct ynode *lose = ynode_get(n, "lose"), *gone = ynode_get(n, "gone");
    const struct ynode *replace = ynode_get(n, "replace");
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = get_text(n, "name", &st->node, err)) ||
        (rc = node_known(sc, n, st->node, err)) ||
        (rc = get_choice(n, "state", node_states, &st->what, err)) ||
        (lose && (rc = ynode_bool(lose, &st->lose, err))) ||
        (gone && (rc = ynode_bool(gone, &st->gone, err))) ||
        (replace && (rc = ynode_bool(replace, &st->replace, err))))
        return rc;
    return 0;
}

static int device_step(struct scenario *sc, const struct ynode *n, struct step *st,
                       struct err *err)
{
    static const char *const keys[] = {"node", "device", "state", NULL};
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = get_text(n, "node", &st->node, err)) ||
        (rc = node_known(sc, n, st->node, err)) ||
        (rc = get_u32(n, "device", NODE_DEVICES_MAX - 1, &st->number, err)))
        return rc;
    return get_choice(n, "state", device_states, &st->what, err);
}

static int do_step(struct scenario *sc, const struct ynode *n, struct step *st,
                   struct err *err)
{
    static const char *const keys[] = {"job", "verb", NULL};
    static const char *const verbs[] = {"",       "hold",       "release",
                                        "cancel", "checkpoint", NULL};
    int rc = ynode_only(n, keys, err);
    (void)sc;
    if (rc || (rc = get_text(n, "job", &st->name, err)) ||
        (rc = get_choice(n, "verb", verbs, &st->what, err)))
        return rc;
    return st->what && st->name.len
               ? 0
               : ynode_err(n, EINVAL, err, "do needs job and verb");
}

static int foreign_step(struct scenario *sc, const struct ynode *n, struct step *st,
                        struct err *err)
{
    static const char *const keys[] = {"name",    "node",  "shape",
                                       "devices", "phase", NULL};
    static const char *const phases[] = {"pending", "held", "ending", "gone", NULL};
    const struct ynode *shape = ynode_get(n, "shape");
    int rc = ynode_only(n, keys, err);
    st->what = FOREIGN_HELD;
    if (rc || (rc = get_text(n, "name", &st->name, err)) ||
        (rc = get_text(n, "node", &st->node, err)) ||
        (rc = node_known(sc, n, st->node, err)) ||
        (rc = get_choice(n, "phase", phases, &st->what, err)) ||
        (rc = bits_read(ynode_get(n, "devices"), &st->devs, err)))
        return rc;
    if (!shape || !st->name.len)
        return ynode_err(n, EINVAL, err, "a foreign pod needs a name and a shape");
    return shape_read(sc, shape, &st->shape, err);
}

static int saved_step(struct scenario *sc, const struct ynode *n, struct step *st,
                      struct err *err)
{
    static const char *const keys[] = {"job", NULL};
    int rc = ynode_only(n, keys, err);
    (void)sc;
    return rc ? rc : get_text(n, "job", &st->name, err);
}

static int budget_step(struct scenario *sc, const struct ynode *n, struct step *st,
                       struct err *err)
{
    static const char *const keys[] = {"job", "allowed", NULL};
    int rc = ynode_only(n, keys, err);
    (void)sc;
    if (rc || (rc = get_text(n, "job", &st->name, err)))
        return rc;
    return get_u32(n, "allowed", JOB_SLOTS_MAX, &st->allowed, err);
}

static int answers_step(struct scenario *sc, const struct ynode *n, struct step *st,
                        struct err *err)
{
    static const char *const keys[] = {"answers", "start", "stop", NULL};
    int rc = ynode_only(n, keys, err);
    st->what = sc->manual;
    st->wait_us = sc->start_us;
    st->stop_us = sc->stop_us;
    if (rc || (rc = get_choice(n, "answers", answers, &st->what, err)) ||
        (rc = get_time(n, "start", &st->wait_us, err)))
        return rc;
    return get_time(n, "stop", &st->stop_us, err);
}

static int bare_step(struct scenario *sc, const struct ynode *n, struct step *st,
                     struct err *err)
{
    bool yes = false;
    int rc = ynode_bool(n, &yes, err);
    (void)sc, (void)st;
    return rc || yes ? rc : ynode_err(n, EINVAL, err, "leave it out instead");
}

static int expect_step(struct scenario *sc, const struct ynode *n, struct step *st,
                       struct err *err)
{
    return expect_read(sc, n, st, err);
}

static int push_step(struct scenario *sc, const struct step *st, struct err *err)
{
    if (sc->steps.n == STEPS_MAX)
        return ynode_err(st->where, E2BIG, err, "more than %d steps", STEPS_MAX);
    vec_push(&sc->steps, *st);
    return 0;
}

/* submit, with `repeat: {times, every, tasks: [...]}` for a stream of jobs: NAME-000,
 * NAME-001, ...; the i-th has tasks[i mod n] tasks in its first leaf. */
static int submit_step(struct scenario *sc, const struct ynode *n, struct step *st,
                       struct err *err)
{
    static const char *const keys[] = {"times", "every", "tasks", NULL};
    const struct ynode *repeat = ynode_get(n, "repeat"),
                       *sizes = ynode_get(repeat, "tasks");
    uint32_t times = 1;
    int64_t every = 0;
    int rc = job_read(sc, n, &st->job, err);
    if (rc || !repeat)
        return rc ? rc : push_step(sc, st, err);
    if ((rc = ynode_only(repeat, keys, err)) ||
        (rc = get_u32(repeat, "times", STEPS_MAX, &times, err)) ||
        (rc = get_time(repeat, "every", &every, err)))
        return rc;
    if (sizes && (sizes->kind != YNODE_LIST || !sizes->n))
        return ynode_err(sizes, EINVAL, err, "tasks must be a list of sizes");
    const struct ynode *size = sizes ? sizes->first : NULL;
    const struct job_spec first = st->job.spec;
    for (uint32_t i = 0; i < times && !rc; i++, st->at += every) {
        char name[JOB_NAME_MAX + 1];
        snprintf(name, sizeof name, STR_FMT "-%03u", STR_ARG(first.name), i);
        struct group_spec *g = arena_alloc(&sc->arena, first.ngroups * sizeof *g);
        memcpy(g, first.groups, first.ngroups * sizeof *g);
        int64_t k = 0;
        if (size && (rc = ynode_i64(size, 1, JOB_SLOTS_MAX, &k, err)))
            return rc;
        if (size)
            g[first.ngroups - 1].count =
                (struct count){(uint32_t)k, (uint32_t)k, (uint32_t)k, 1};
        st->job.spec.name = arena_str(&sc->arena, str_of(name));
        st->job.spec.groups = g;
        rc = push_step(sc, st, err);
        size = size && size->next ? size->next : sizes ? sizes->first : NULL;
    }
    return rc;
}

static const struct verb {
    const char *name;
    enum step_kind kind;
    int (*read)(struct scenario *, const struct ynode *, struct step *, struct err *);
} verbs[] = {
    {"submit", STEP_SUBMIT, submit_step},
    {"end", STEP_END, end_step},
    {"run", STEP_RUN, who_step},
    {"ending", STEP_ENDING, who_step},
    {"refuse", STEP_REFUSE, refuse_step},
    {"ghost", STEP_GHOST, ghost_step},
    {"offer", STEP_OFFER, offer_step},
    {"node", STEP_NODE, node_step},
    {"device", STEP_DEVICE, device_step},
    {"do", STEP_DO, do_step},
    {"foreign", STEP_FOREIGN, foreign_step},
    {"saved", STEP_SAVED, saved_step},
    {"budget", STEP_BUDGET, budget_step},
    {"world", STEP_WORLD, answers_step},
    {"restart", STEP_RESTART, bare_step},
    {"mark", STEP_MARK, bare_step},
    {"expect", STEP_EXPECT, expect_step},
};
enum { NVERBS = sizeof verbs / sizeof *verbs };

static int step_read(struct scenario *sc, const struct ynode *n, int64_t *at,
                     struct err *err)
{
    const char *keys[NVERBS + 2];
    const struct verb *verb = NULL;
    struct step st = {.where = n};
    for (int i = 0; i < NVERBS; i++)
        keys[i] = verbs[i].name;
    keys[NVERBS] = "at";
    keys[NVERBS + 1] = NULL;
    int rc = ynode_only(n, keys, err);
    int64_t before = *at;
    if (rc || (rc = get_time(n, "at", at, err)))
        return rc;
    if (*at < before)
        return ynode_err(n, EINVAL, err, "time goes back here");
    for (int i = 0; i < NVERBS; i++) {
        if (!ynode_get(n, verbs[i].name))
            continue;
        if (verb)
            return ynode_err(n, EINVAL, err, "two things in one step: %s and %s",
                             verb->name, verbs[i].name);
        verb = &verbs[i];
    }
    if (!verb)
        return ynode_err(n, EINVAL, err, "nothing happens in this step");
    st.kind = verb->kind;
    st.at = *at;
    rc = verb->read(sc, ynode_get(n, verb->name), &st, err);
    return rc || st.kind == STEP_SUBMIT ? rc : push_step(sc, &st, err);
}

static int by_time(const void *pa, const void *pb)
{
    const struct step *a = pa, *b = pb;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static int steps_section(struct scenario *sc, const struct ynode *list, struct err *err)
{
    int64_t at = 0;
    bool expects = false;
    if (!list || list->kind != YNODE_LIST)
        return ynode_err(list, EINVAL, err, "steps must be a list");
    for (const struct ynode *n = list->first; n; n = n->next) {
        int rc = step_read(sc, n, &at, err);
        if (rc)
            return rc;
    }
    for (uint32_t i = 0; i < sc->steps.n; i++) {
        sc->steps.at[i].order = i;
        expects = expects || sc->steps.at[i].kind == STEP_EXPECT;
    }
    if (!expects)
        return ynode_err(list, EINVAL, err, "a scenario that expects nothing");
    qsort(sc->steps.at, sc->steps.n, sizeof *sc->steps.at, by_time);
    return 0;
}

static int root_read(struct scenario *sc, struct str file, const struct ynode *root,
                     struct err *err)
{
    static const char *const keys[] = {"about",   "source", "policy", "world",
                                       "cluster", "steps",  NULL};
    static const char *const needed[] = {"about", "source", "cluster", "steps", NULL};
    struct str text;
    int rc = ynode_only(root, keys, err);
    for (int i = 0; needed[i] && !rc; i++)
        if (!ynode_get(root, needed[i]))
            return ynode_err(root, EINVAL, err, "%s is missing", needed[i]);
    if (rc || (rc = get_text(root, "about", &text, err)) ||
        (rc = get_text(root, "source", &text, err)) ||
        (rc = cluster_section(sc, file, ynode_get(root, "cluster"), err)) ||
        (rc = policy_section(sc, file, ynode_get(root, "policy"), err)) ||
        (rc = world_section(sc, ynode_get(root, "world"), err)))
        return rc;
    return steps_section(sc, ynode_get(root, "steps"), err);
}

int scenario_read(struct scenario *sc, const char *path, struct err *err)
{
    struct buf b = {0};
    struct ynode *root = NULL;
    int rc = infile_slurp(path, FILE_BYTES_MAX, &b, err);
    if (!rc)
        rc = yaml_parse(path, buf_as_str(&b), &sc->arena, &root, err);
    if (!rc)
        rc = root_read(sc, buf_as_str(&b), root, err);
    buf_done(&b);
    return rc;
}

void scenario_done(struct scenario *sc)
{
    cluster_file_done(&sc->cluster);
    strmap_done(&sc->node_ids);
    words_done(&sc->words);
    vec_done(&sc->steps);
    arena_done(&sc->arena);
}
