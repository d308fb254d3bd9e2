/* scenario-want.c - reads what a scenario expects
 * An item of `expect` is about one job, all jobs of a kind of name, a node, free room,
 * counts, or that nothing happened. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "scenario.h"

const char *const count_names[] = {"records", "questions",    "launches",
                                   "stops",   "says",         "passes",
                                   "noops",   "evictions",    "holds",
                                   "plans",   "decisions",    "borders",
                                   "would",   "jobs",         "pending",
                                   "claims",  "pending_gpus", NULL};

/* 3, or {least: 2, most: 4}. */
static int get_range(const struct ynode *map, const char *key, struct range *r,
                     struct err *err)
{
    static const char *const keys[] = {"least", "most", NULL};
    const struct ynode *n = ynode_get(map, key);
    if (!n)
        return 0;
    r->given = true;
    r->least = INT64_MIN;
    r->most = INT64_MAX;
    if (n->kind == YNODE_SCALAR) {
        int rc = ynode_i64(n, 0, INT64_MAX, &r->least, err);
        r->most = r->least;
        return rc;
    }
    const struct ynode *least = ynode_get(n, "least"), *most = ynode_get(n, "most");
    int rc = ynode_only(n, keys, err);
    if (!rc && !least && !most)
        return ynode_err(n, EINVAL, err, "%s: a number, or least and most", key);
    if (!rc && least)
        rc = ynode_i64(least, 0, INT64_MAX, &r->least, err);
    return rc || !most ? rc : ynode_i64(most, 0, INT64_MAX, &r->most, err);
}

/* The same in durations. */
static int get_times(const struct ynode *map, const char *key, struct range *r,
                     struct err *err)
{
    static const char *const keys[] = {"least", "most", NULL};
    const struct ynode *n = ynode_get(map, key);
    if (!n)
        return 0;
    r->given = true;
    r->least = 0;
    r->most = INT64_MAX;
    if (n->kind == YNODE_SCALAR) {
        int rc = ynode_duration(n, &r->least, err);
        r->most = r->least;
        return rc;
    }
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = get_time(n, "least", &r->least, err)))
        return rc;
    return get_time(n, "most", &r->most, err);
}

static int list_of(const struct ynode *map, const char *key, enum ynode_kind kind,
                   const struct ynode **ret, struct err *err)
{
    const struct ynode *n = ynode_get(map, key);
    if (n && n->kind != kind)
        return ynode_err(n, EINVAL, err, "%s must be a %s", key,
                         kind == YNODE_LIST ? "list" : "map");
    *ret = n;
    return 0;
}

static int names_known(struct scenario *sc, const struct ynode *list, struct err *err)
{
    for (const struct ynode *m = list ? list->first : NULL; m; m = m->next) {
        struct str s = list->kind == YNODE_MAP ? m->key : m->text;
        if (strmap_get(&sc->node_ids, s) == MAP_NONE)
            return ynode_err(m, ENOENT, err, "no node \"" STR_FMT "\" in the cluster",
                             STR_ARG(s));
    }
    return 0;
}

static int level_known(struct scenario *sc, const struct ynode *map, word_t level,
                       struct err *err)
{
    if (!level || str_is(words_text(&sc->words, level), "node"))
        return 0;
    for (uint32_t i = 0; i < sc->cluster.nlevels; i++)
        if (sc->cluster.levels[i] == level)
            return 0;
    return ynode_err(ynode_get(map, "level"), ENOENT, err,
                     "\"" STR_FMT "\" is no level of the cluster",
                     STR_ARG(words_text(&sc->words, level)));
}

/* Who went for it, what is kept for it and until when, and how it is itself a victim.
 */
static int plan_fields(struct scenario *sc, const struct ynode *n,
                       struct expectation *e, struct err *err)
{
    int rc;
    if ((rc = get_range(n, "evictions", &e->evictions, err)) ||
        (rc = get_range(n, "evicted", &e->evicted, err)) ||
        (rc = get_range(n, "ending", &e->ending, err)) ||
        (rc = get_range(n, "holds", &e->holds, err)) ||
        (rc = get_times(n, "promised", &e->promised, err)) ||
        (rc = get_times(n, "forecast", &e->forecast, err)) ||
        (rc = list_of(n, "held_on", YNODE_LIST, &e->held_on, err)))
        return rc;
    return names_known(sc, e->held_on, err);
}

static int job_item(struct scenario *sc, const struct ynode *n, struct expectation *e,
                    struct err *err)
{
    static const char *const keys[] = {"job",      "group",   "copy",       "state",
                                       "tasks",    "running", "gangs",      "nodes",
                                       "level",    "domains", "each",       "because",
                                       "at_level", "need",    "have",       "devices",
                                       "ranks",    "started", "launches",   "stops",
                                       "says",     "names",   "node_count", "about",
                                       "ending",   "holds",   "held_on",    "promised",
                                       "forecast", "evicted", "evictions",  NULL};
    static const char *const states[] = {"pending", "running", "over", NULL};
    static const char *const along[] = {"", "along", NULL};
    uint8_t state = 0, ranks = 0;
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = get_text(n, "job", &e->subject, err)) ||
        (rc = get_text(n, "group", &e->group, err)) ||
        (rc = get_u32(n, "copy", JOB_SLOTS_MAX, &e->copy, err)) ||
        (rc = get_choice(n, "state", states, &state, err)) ||
        (rc = get_choice(n, "ranks", along, &ranks, err)) ||
        (rc = get_text(n, "because", &e->because, err)) ||
        (rc = get_text(n, "at_level", &e->why_level, err)) ||
        (rc = get_range(n, "need", &e->need, err)) ||
        (rc = get_range(n, "have", &e->have, err)) ||
        (rc = get_range(n, "tasks", &e->tasks, err)) ||
        (rc = get_range(n, "running", &e->running, err)) ||
        (rc = get_range(n, "gangs", &e->gangs, err)) ||
        (rc = get_range(n, "node_count", &e->node_count, err)) ||
        (rc = get_range(n, "launches", &e->launches, err)) ||
        (rc = get_range(n, "stops", &e->stops, err)) ||
        (rc = get_range(n, "says", &e->says, err)) ||
        (rc = plan_fields(sc, n, e, err)) ||
        (rc = get_times(n, "started", &e->started, err)) ||
        (rc = get_word(sc, n, "level", &e->level, err)) ||
        (rc = level_known(sc, n, e->level, err)) ||
        (rc = get_range(n, "domains", &e->domains, err)) ||
        (rc = get_range(n, "each", &e->each, err)) ||
        (rc = list_of(n, "names", YNODE_LIST, &e->domain_names, err)) ||
        (rc = list_of(n, "nodes", YNODE_LIST, &e->nodes, err)) ||
        (rc = list_of(n, "devices", YNODE_MAP, &e->devices, err)) ||
        (rc = names_known(sc, e->nodes, err)) ||
        (rc = names_known(sc, e->devices, err)))
        return rc;
    if (ynode_get(n, "state"))
        e->state = str_of(states[state]);
    e->ranks = ranks;
    if ((e->domains.given || e->each.given || e->domain_names) && !e->level)
        return ynode_err(n, EINVAL, err, "domains, each and names need a level");
    if (n->n < 2)
        return ynode_err(n, EINVAL, err, "nothing is expected of the job");
    return 0;
}

static int jobs_item(const struct ynode *n, struct expectation *e, struct err *err)
{
    static const char *const keys[] = {"jobs", "pending", "running",
                                       "over", "about",   NULL};
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = get_text(n, "jobs", &e->subject, err)) ||
        (rc = get_range(n, "pending", &e->all_pending, err)) ||
        (rc = get_range(n, "running", &e->all_running, err)) ||
        (rc = get_range(n, "over", &e->all_over, err)))
        return rc;
    return n->n > 1 ? 0 : ynode_err(n, EINVAL, err, "nothing is expected of the jobs");
}

static int node_item(struct scenario *sc, const struct ynode *n, struct expectation *e,
                     struct err *err)
{
    static const char *const keys[] = {"node", "tasks", "gpus_free", "about", NULL};
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = get_text(n, "node", &e->subject, err)) ||
        (rc = get_range(n, "tasks", &e->tasks, err)) ||
        (rc = get_range(n, "gpus_free", &e->gpus_free, err)))
        return rc;
    if (strmap_get(&sc->node_ids, e->subject) == MAP_NONE)
        return ynode_err(n, ENOENT, err, "no node \"" STR_FMT "\" in the cluster",
                         STR_ARG(e->subject));
    return e->tasks.given || e->gpus_free.given
               ? 0
               : ynode_err(n, EINVAL, err, "nothing is expected of the node");
}

static int free_item(struct scenario *sc, const struct ynode *n, struct expectation *e,
                     struct err *err)
{
    static const char *const outer[] = {"free", "about", NULL};
    static const char *const keys[] = {"gpus", "level", "domains", NULL};
    const struct ynode *m = ynode_get(n, "free");
    int rc = ynode_only(n, outer, err);
    if (rc || (rc = ynode_only(m, keys, err)) ||
        (rc = get_range(m, "gpus", &e->gpus_free, err)) ||
        (rc = get_word(sc, m, "level", &e->level, err)) ||
        (rc = level_known(sc, m, e->level, err)) ||
        (rc = get_range(m, "domains", &e->domains, err)))
        return rc;
    if (e->domains.given != (e->level != WORD_NONE))
        return ynode_err(m, EINVAL, err, "level and domains go together");
    return e->domains.given || e->gpus_free.given
               ? 0
               : ynode_err(m, EINVAL, err, "nothing is expected to be free");
}

static int counts_item(const struct ynode *n, struct expectation *e, struct err *err)
{
    static const char *const outer[] = {"counts", "about", NULL};
    const struct ynode *m = ynode_get(n, "counts");
    int rc = ynode_only(n, outer, err);
    if (rc || (rc = ynode_only(m, count_names, err)))
        return rc;
    for (uint32_t i = 0; count_names[i] && !rc; i++)
        rc = get_range(m, count_names[i], &e->counts[i], err);
    return rc;
}

static int quiet_item(const struct ynode *n, struct err *err)
{
    static const char *const keys[] = {"quiet", "about", NULL};
    bool yes = false;
    int rc = ynode_only(n, keys, err);
    if (rc || (rc = ynode_bool(ynode_get(n, "quiet"), &yes, err)))
        return rc;
    return yes ? 0 : ynode_err(n, EINVAL, err, "quiet can only be expected");
}

static int item_read(struct scenario *sc, const struct ynode *n, struct expectation *e,
                     struct err *err)
{
    static const char *const kinds[] = {"job",  "jobs",   "node",
                                        "free", "counts", "quiet"};
    *e = (struct expectation){.where = n, .copy = NOBODY};
    uint32_t k = 0;
    while (k < 6 && !ynode_get(n, kinds[k]))
        k++;
    e->kind = (enum expect_kind)k;
    switch (k) {
    case EXPECT_JOB: return job_item(sc, n, e, err);
    case EXPECT_JOBS: return jobs_item(n, e, err);
    case EXPECT_NODE: return node_item(sc, n, e, err);
    case EXPECT_FREE: return free_item(sc, n, e, err);
    case EXPECT_COUNTS: return counts_item(n, e, err);
    case EXPECT_QUIET: return quiet_item(n, err);
    default:
        return ynode_err(
            n, EINVAL, err,
            "expected is something about job, jobs, node, free, counts or quiet");
    }
}

int expect_read(struct scenario *sc, const struct ynode *list, struct step *st,
                struct err *err)
{
    if (list->kind != YNODE_LIST || !list->n)
        return ynode_err(list, EINVAL, err, "expect must be a list");
    struct expectation *e = arena_alloc(&sc->arena, list->n * sizeof *e);
    uint32_t i = 0;
    for (const struct ynode *n = list->first; n; n = n->next) {
        int rc = item_read(sc, n, &e[i++], err);
        if (rc)
            return rc;
    }
    st->expect = e;
    st->nexpect = list->n;
    return 0;
}
