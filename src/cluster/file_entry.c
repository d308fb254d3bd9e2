/* file_entry.c - one entry of a cluster file becomes its nodes
 *
 * An entry is read once: what all its nodes share (devices, tags, sizes) and the
 * patterns of what differs (names, places, partitions, faults). Then `count` nodes are
 * stamped out, each with the next numbers. Under `csv` the same happens for each row,
 * with the row's columns put into the texts first. O(nodes x patterns).
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/units.h"
#include "cluster/file_read.h"

enum { PATH_MAX_ = 2048, MEMORY_LEAST = 1 << 20 };

const char *const entry_keys[] = {"name",  "count",      "cpus",   "memory", "gpus",
                                  "place", "per",        "labels", "tags",   "taints",
                                  "slots", "partitions", "faults", "nics",   "state",
                                  "file",  NULL};

int field_text(struct reader *r, const struct ynode *n, const struct vars *v,
               struct pattern *ret)
{
    int rc = pattern_expand(n, v, &r->tmp, ret, r->err);
    if (rc == 0 && ret->numbered)
        return ynode_err(n, EINVAL, r->err, "no number {0} can stand here");
    return rc;
}

static struct str key_of(const struct ynode *n)
{
    struct str s = n->key;
    if (s.len > 60)
        s.len = 60;
    return s;
}

int field_i64(struct reader *r, const struct ynode *map, const char *key,
              const struct vars *v, int64_t lo, int64_t hi, int64_t *ret)
{
    const struct ynode *n = ynode_get(map, key);
    struct pattern p;
    int64_t x = 0;
    int rc = n ? field_text(r, n, v, &p) : 0;
    if (rc || !n)
        return rc;
    rc = str_to_i64(p.text, &x);
    if (rc == -EINVAL)
        return pattern_err(n, v, &p, EINVAL, r->err, "%s must be a whole number", key);
    if (rc || x < lo || x > hi)
        return pattern_err(n, v, &p, ERANGE, r->err, "%s must be between %lld and %lld",
                           key, (long long)lo, (long long)hi);
    *ret = x;
    return 0;
}

int field_milli(struct reader *r, const struct ynode *map, const char *key,
                const struct vars *v, int64_t *ret)
{
    const struct ynode *n = ynode_get(map, key);
    struct pattern p;
    struct err why = {0};
    int rc = n ? field_text(r, n, v, &p) : 0;
    if (rc || !n)
        return rc;
    rc = milli_parse(p.text, ret, &why);
    return rc ? pattern_err(n, v, &p, -rc, r->err, "%s: %s", key, why.text) : 0;
}

int field_size(struct reader *r, const struct ynode *map, const char *key,
               const struct vars *v, int64_t *ret)
{
    const struct ynode *n = ynode_get(map, key);
    struct pattern p;
    struct err why = {0};
    uint64_t x = 0;
    int rc = n ? field_text(r, n, v, &p) : 0;
    if (rc || !n)
        return rc;
    rc = size_parse(p.text, &x, &why);
    if (rc)
        return pattern_err(n, v, &p, -rc, r->err, "%s: %s", key, why.text);
    if (x > UINT64_C(1) << 53)
        return pattern_err(n, v, &p, ERANGE, r->err, "%s is more than 8 PiB", key);
    if (x && x < MEMORY_LEAST && !strcmp(key, "memory")) /* the unit was forgotten */
        return pattern_err(n, v, &p, ERANGE, r->err,
                           "memory: only %llu bytes; did you mean %lluGiB?",
                           (unsigned long long)x, (unsigned long long)x);
    *ret = (int64_t)x;
    return 0;
}

int text_word(struct reader *r, const struct ynode *n, const struct vars *v,
              const struct pattern *p, struct str text, word_t *ret)
{
    word_t w = words_add(r->words, text);
    if (!w && !text.len)
        return pattern_err(n, v, p, EINVAL, r->err, "an empty name");
    if (!w && text.len > WORD_LEN_MAX)
        return pattern_err(n, v, p, ERANGE, r->err, "a name of more than %u bytes",
                           WORD_LEN_MAX);
    if (!w)
        return pattern_err(n, v, p, E2BIG, r->err,
                           "more than %u different names of tags, types and domains",
                           WORD_MAX);
    *ret = w;
    return 0;
}

/* A key whose value may differ from node to node. */
struct part {
    word_t key;
    const struct ynode *at;
    struct pattern p;
    uint32_t counter, per;
    word_t fixed; /* the value, when it does not */
};

/* What the nodes of an entry have in common, and what differs. */
struct entry {
    struct node_desc d;
    const struct ynode *node, *per;
    const struct vars *v;
    struct part place[NODE_LEVELS_MAX], parts[NODE_PARTS_MAX], faults[NODE_FAULTS_MAX];
    uint32_t nper; /* keys of `per` that were used */
};

static int part_read(struct reader *r, struct entry *e, const struct ynode *n,
                     struct part *p)
{
    int rc;
    *p = (struct part){.key = p->key, .at = n};
    if ((rc = pattern_expand(n, e->v, &r->tmp, &p->p, r->err)))
        return rc;
    const struct ynode *per = NULL;
    for (const struct ynode *m = e->per ? e->per->first : NULL; m; m = m->next)
        if (str_eq(m->key, n->key))
            per = m;
    e->nper += per != NULL;
    if (!p->p.numbered)
        return text_word(r, n, e->v, &p->p, p->p.text, &p->fixed);
    int64_t count = 0;
    if (!per)
        return ynode_err(n, EINVAL, r->err,
                         "the number needs per: {" STR_FMT
                         ": N}, the nodes that share one",
                         STR_ARG(key_of(n)));
    if ((rc = ynode_i64(per, 1, CLUSTER_FILE_NODES_MAX, &count, r->err)))
        return rc;
    p->per = (uint32_t)count;
    p->counter = fills_find(&r->fills, n->key, &p->p);
    return 0;
}

/* {key: value, ...}, as `what` at most max. */
static int parts_read(struct reader *r, struct entry *e, const char *what,
                      struct part *to, uint32_t max, uint32_t *ret_n)
{
    const struct ynode *map = ynode_get(e->node, what);
    uint32_t n = 0;
    int rc;
    if (!map)
        return 0;
    if (map->kind != YNODE_MAP || map->n > max)
        return ynode_err(map, EINVAL, r->err, "%s must be a map of at most %u", what,
                         max);
    for (const struct ynode *m = map->first; m; m = m->next, n++)
        if ((rc = text_word(r, m, e->v, NULL, m->key, &to[n].key)) ||
            (rc = part_read(r, e, m, &to[n])))
            return rc;
    *ret_n = n;
    return 0;
}

/* Index of a level; added below the others when the file lists none. -1: not one. */
static int level_find(struct reader *r, word_t key)
{
    struct cluster_file *f = r->out;
    for (uint32_t l = 0; l < f->nlevels; l++)
        if (f->levels[l] == key)
            return (int)l;
    if (r->levels_given || f->nlevels == NODE_LEVELS_MAX)
        return -1;
    f->levels[f->nlevels] = key;
    return (int)f->nlevels++;
}

/* Put the place's parts in the order of the levels. */
static int place_sort(struct reader *r, struct entry *e)
{
    struct part at[NODE_LEVELS_MAX];
    bool has[NODE_LEVELS_MAX] = {false};
    for (uint32_t i = 0; i < e->d.nplace; i++) {
        int l = level_find(r, e->place[i].key);
        if (l < 0)
            return ynode_err(e->place[i].at, EINVAL, r->err,
                             "\"" STR_FMT "\" is not one of the levels",
                             STR_ARG(words_text(r->words, e->place[i].key)));
        if (has[l])
            return ynode_err(e->place[i].at, EINVAL, r->err, "a level stands twice");
        has[l] = true;
        at[l] = e->place[i];
    }
    for (uint32_t l = 0, n = 0; l < NODE_LEVELS_MAX; l++)
        if (has[l])
            e->place[n++] = at[l];
    return 0;
}

static int words_read(struct reader *r, struct entry *e, const char *what, uint32_t max,
                      word_t *to, uint32_t *n)
{
    const struct ynode *list = ynode_get(e->node, what);
    struct pattern p;
    int rc;
    if (!list)
        return 0;
    if (list->kind != YNODE_LIST || list->n > max)
        return ynode_err(list, EINVAL, r->err, "%s must be a list of at most %u", what,
                         max);
    for (const struct ynode *m = list->first; m; m = m->next)
        if ((rc = field_text(r, m, e->v, &p)) ||
            (rc = text_word(r, m, e->v, &p, p.text, &to[(*n)++])))
            return rc;
    return 0;
}

/* Which level does the label name? Its key as a word; 0: it is a tag. */
static word_t label_level(struct reader *r, struct str label)
{
    const struct ynode *m = r->label_levels ? r->label_levels->first : NULL;
    for (; m; m = m->next)
        if (str_eq(m->text, label))
            return words_add(r->words, m->key);
    return WORD_NONE;
}

/* Labels that name a level go to the place, the others are tags "key=value". */
static int labels_read(struct reader *r, struct entry *e, word_t *tags)
{
    const struct ynode *map = ynode_get(e->node, "labels");
    int rc;
    if (!map)
        return 0;
    if (map->kind != YNODE_MAP || map->n > NODE_TAGS_MAX)
        return ynode_err(map, EINVAL, r->err, "labels must be a map of at most %d",
                         NODE_TAGS_MAX);
    for (const struct ynode *m = map->first; m; m = m->next) {
        word_t level = label_level(r, m->key);
        struct pattern p;
        if (level) {
            if (e->d.nplace == NODE_LEVELS_MAX)
                return ynode_err(m, ERANGE, r->err, "too many levels");
            e->place[e->d.nplace].key = level;
            if ((rc = part_read(r, e, m, &e->place[e->d.nplace++])))
                return rc;
            continue;
        }
        if ((rc = pattern_expand(m, e->v, &r->tmp, &p, r->err)))
            return rc;
        if (p.numbered)
            return ynode_err(m, EINVAL, r->err,
                             "only labels that levels_from_labels names can be "
                             "numbered: name \"" STR_FMT
                             "\" there, or use partitions",
                             STR_ARG(key_of(m)));
        if (e->d.ntags == NODE_TAGS_MAX)
            return ynode_err(m, ERANGE, r->err, "more than %d tags and labels",
                             NODE_TAGS_MAX);
        size_t len = m->key.len + 1 + p.text.len;
        char *text = arena_alloc(&r->tmp, len);
        memcpy(text, m->key.ptr, m->key.len);
        text[m->key.len] = '=';
        if (p.text.len)
            memcpy(text + m->key.len + 1, p.text.ptr, p.text.len);
        if ((rc = text_word(r, m, e->v, &p, (struct str){text, len},
                            &tags[e->d.ntags++])))
            return rc;
    }
    return 0;
}

static const word_t *words_keep(struct reader *r, const word_t *w, uint32_t n)
{
    word_t *to = n ? arena_alloc(&r->out->arena, n * sizeof *to) : NULL;
    if (n)
        memcpy(to, w, n * sizeof *to);
    return to;
}

static int state_read(struct reader *r, struct entry *e)
{
    static const char *const names[] = {"up", "drained", "down", "unknown"};
    const struct ynode *n = ynode_get(e->node, "state");
    struct pattern p;
    int rc = n ? field_text(r, n, e->v, &p) : 0;
    if (rc || !n)
        return rc;
    for (uint8_t s = 0; s < 4; s++)
        if (str_is(p.text, names[s])) {
            e->d.state = s;
            return 0;
        }
    return pattern_err(n, e->v, &p, EINVAL, r->err,
                       "state must be up, drained, down or unknown");
}

/* All that the nodes share. */
static int shared_read(struct reader *r, struct entry *e)
{
    word_t tags[NODE_TAGS_MAX], taints[NODE_TAINTS_MAX];
    int64_t slots = 0, nics = 0;
    const struct ynode *gpus = ynode_get(e->node, "gpus");
    struct node_desc *d = &e->d;
    int rc;
    if ((rc = field_milli(r, e->node, "cpus", e->v, &d->cpu_milli)) ||
        (rc = field_size(r, e->node, "memory", e->v, &d->mem_bytes)) ||
        (rc = field_i64(r, e->node, "slots", e->v, 1, 1 << 20, &slots)) ||
        (rc = field_i64(r, e->node, "nics", e->v, 0, 1 << 20, &nics)) ||
        (rc = state_read(r, e)) || (gpus && (rc = devices_read(r, gpus, e->v, d))) ||
        (rc = words_read(r, e, "tags", NODE_TAGS_MAX, tags, &d->ntags)) ||
        (rc = words_read(r, e, "taints", NODE_TAINTS_MAX, taints, &d->ntaints)) ||
        (rc = parts_read(r, e, "place", e->place, NODE_LEVELS_MAX, &d->nplace)) ||
        (rc = labels_read(r, e, tags)) || (rc = place_sort(r, e)) ||
        (rc = parts_read(r, e, "partitions", e->parts, NODE_PARTS_MAX, &d->nparts)) ||
        (rc = parts_read(r, e, "faults", e->faults, NODE_FAULTS_MAX, &d->nfaults)))
        return rc;
    d->pod_slots = (uint32_t)slots;
    d->nics = (uint32_t)nics;
    d->tags = words_keep(r, tags, d->ntags);
    d->taints = words_keep(r, taints, d->ntaints);
    if (e->per && e->nper < e->per->n)
        return ynode_err(
            e->per, EINVAL, r->err,
            "per names something that is not in place, labels, partitions or "
            "faults");
    return 0;
}

/* The next values of n parts. path: the names above, so that racks end with their
 * block. */
static int parts_stamp(struct reader *r, struct entry *e, struct part *p, uint32_t n,
                       bool nested, const struct node_part **ret)
{
    char path[PATH_MAX_];
    size_t len = 0;
    struct node_part *to = n ? arena_alloc(&r->out->arena, n * sizeof *to) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        to[i] = (struct node_part){p[i].key, p[i].fixed};
        struct str text = p[i].p.text;
        if (!p[i].fixed) {
            uint32_t k = fills_next(&r->fills, p[i].counter, p[i].per,
                                    (struct str){path, nested ? len : 0});
            text = pattern_text(&p[i].p, k, &r->tmp);
            int rc = text_word(r, p[i].at, e->v, &p[i].p, text, &to[i].value);
            if (rc)
                return rc;
        }
        if (len + text.len + 1 < sizeof path) {
            memcpy(path + len, text.ptr, text.len);
            path[len + text.len] = '\n';
            len += text.len + 1;
        }
    }
    *ret = to;
    return 0;
}

static int node_stamp(struct reader *r, struct entry *e, const struct ynode *at,
                      const struct pattern *name, uint32_t counter)
{
    struct node_desc d = e->d;
    struct err why = {0};
    uint32_t k = name->numbered ? fills_next(&r->fills, counter, 1, STR("")) : 0;
    int rc;
    d.name = pattern_text(name, k, &r->out->arena);
    if (strmap_get(&r->names, d.name) != MAP_NONE)
        return pattern_err(at, e->v, name, EEXIST, r->err,
                           "a second node \"" STR_FMT "\"%s", STR_ARG(d.name),
                           name->numbered ? ""
                                          : "; a number in the name tells them apart");
    if (r->out->nodes.n == CLUSTER_FILE_NODES_MAX)
        return pattern_err(at, e->v, name, E2BIG, r->err, "more than %u nodes",
                           CLUSTER_FILE_NODES_MAX);
    if ((rc = parts_stamp(r, e, e->place, d.nplace, true, &d.place)) ||
        (rc = parts_stamp(r, e, e->parts, d.nparts, false, &d.parts)) ||
        (rc = parts_stamp(r, e, e->faults, d.nfaults, false, &d.faults)))
        return rc;
    if ((rc = node_desc_check(&d, &why)))
        return pattern_err(at, e->v, name, -rc, r->err, "%s", why.text);
    strmap_put(&r->names, d.name, r->out->nodes.n);
    vec_push(&r->out->nodes, d);
    return 0;
}

int entry_read(struct reader *r, const struct ynode *node, const struct vars *v)
{
    struct entry *e = arena_alloc(&r->tmp, sizeof *e);
    const struct ynode *at = ynode_get(node, "name");
    struct pattern name;
    int64_t count = 1;
    e->d = (struct node_desc){
        0}; /* the parts are large: each is cleared when it is read */
    e->node = node;
    e->v = v;
    e->per = ynode_get(node, "per");
    e->nper = 0;
    int rc = ynode_only(node, entry_keys, r->err);
    if (rc)
        return rc;
    if (!at)
        return ynode_err(node, EINVAL, r->err, "nodes need a name");
    if (e->per && e->per->kind != YNODE_MAP)
        return ynode_err(e->per, EINVAL, r->err, "per must be a map: {rack: 16}");
    if ((rc = pattern_expand(at, v, &r->tmp, &name, r->err)) ||
        (rc = field_i64(r, node, "count", v, 0, CLUSTER_FILE_NODES_MAX, &count)) ||
        (rc = shared_read(r, e)))
        return rc;
    if (count > 1 && !name.numbered)
        return ynode_err(at, EINVAL, r->err,
                         "%lld nodes need a number in their name: \"n{000}\"",
                         (long long)count);
    uint32_t counter = name.numbered ? fills_find(&r->fills, STR("name"), &name) : 0;
    for (int64_t i = 0; i < count; i++)
        if ((rc = node_stamp(r, e, at, &name, counter)))
            return rc;
    return 0;
}

int entry_again(struct reader *r, const struct ynode *node, const struct vars *v)
{
    struct entry *e = arena_alloc(&r->tmp, sizeof *e);
    const struct ynode *at = ynode_get(node, "name");
    struct pattern name;
    e->d = r->out->nodes.at[r->out->nodes.n - 1];
    e->node = node;
    e->v = v;
    e->per = NULL;
    int rc = pattern_expand(at, v, &r->tmp, &name, r->err);
    return rc ? rc : node_stamp(r, e, at, &name, 0);
}
