/* show.c - a cluster as a tree for people, or as JSON
 *
 * Capacities are summed from the nodes up, and with them a signature: equal nodes have
 * equal ones, domains when their children's are equal one by one. Siblings of one
 * signature are one line, of which the first stands for all below it. Without a depth
 * the text goes as deep as the lines allow; siblings beyond them are counted in a last
 * line. O(nodes + domains) for the sums, then what is shown. SPDX-License-Identifier:
 * Apache-2.0 */
#include "cluster/show.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"

struct sums {
    uint32_t nodes, idle; /* idle: not up, or cordoned */
    int64_t cpu_milli, mem_bytes;
    uint32_t gpus[TYPES_MAX];
    uint64_t sig;
};

struct shower {
    const struct cluster *c;
    const struct show *o;
    struct sums *domains;
    struct buf *out; /* NULL: only count */
    uint32_t lines, depth, most;
};

/* Siblings of one signature: positions in their parent. */
struct group {
    uint32_t first, last, count;
};

static void node_sums(const struct cluster *c, uint32_t i, struct sums *s)
{
    const struct node *n = &c->nodes[i];
    const struct node_desc *d = cluster_node_desc(c, i);
    memset(s, 0, sizeof *s);
    s->nodes = 1;
    s->idle = n->state != NODE_UP || n->cordoned;
    s->cpu_milli = n->cpu_cap;
    s->mem_bytes = n->mem_cap;
    s->sig = digest_mix(digest_mix(digest_mix(7, (uint64_t)n->cpu_cap),
                                   (uint64_t)n->mem_cap),
                        s->idle);
    for (uint32_t j = 0; j < d->ndevices; j++) {
        const struct device *v = &c->devices[n->device0 + j];
        s->gpus[v->type]++;
        s->sig = digest_mix(digest_mix(s->sig, v->type), (uint64_t)v->mem_cap);
    }
}

static void sums_add(struct sums *to, const struct sums *s)
{
    to->nodes += s->nodes;
    to->idle += s->idle;
    to->cpu_milli += s->cpu_milli;
    to->mem_bytes += s->mem_bytes;
    for (uint32_t t = 0; t < TYPES_MAX; t++)
        to->gpus[t] += s->gpus[t];
    to->sig = digest_mix(to->sig, s->sig);
}

static struct sums *domains_sum(const struct cluster *c)
{
    struct sums *all = mem_zero(c->ndomains * sizeof *all);
    for (uint32_t d = c->ndomains; d-- > 0;) { /* children stand behind their parents */
        const struct domain *v = &c->domains[d];
        all[d].sig = v->level;
        for (uint32_t k = 0; k < v->n; k++)
            sums_add(&all[d], &all[v->first + k]);
        for (uint32_t r = v->rank_lo; !v->n && r < v->rank_hi; r++) {
            struct sums one;
            node_sums(c, c->order[r], &one);
            sums_add(&all[d], &one);
        }
    }
    return all;
}

static void item(struct buf *out, const char *text, const char *what)
{
    buf_fmt(out, ", %s%s", text, what);
}

/* "128 H100, 2,048 CPUs, 32 TiB"; after a first word, each behind a comma. */
static void sums_put(const struct cluster *c, const struct sums *s, struct buf *out)
{
    char a[24];
    uint64_t all = 0;
    for (uint32_t t = 0; t < c->ntypes; t++) {
        all += s->gpus[t];
        struct str name = words_text(c->words, c->types[t]);
        if (s->gpus[t])
            buf_fmt(out, ", %s " STR_FMT, count_text(s->gpus[t], a),
                    STR_ARG(name.len ? name : STR("other GPUs")));
    }
    if (!all)
        buf_z(out, ", no GPUs");
    if (s->cpu_milli % 1000)
        item(out, milli_text(s->cpu_milli, a), " CPUs");
    else if (s->cpu_milli)
        item(out, count_text((uint64_t)s->cpu_milli / 1000, a), " CPUs");
    if (s->mem_bytes)
        item(out, size_text((uint64_t)s->mem_bytes, a), " memory");
    if (s->idle && s->nodes == 1)
        buf_z(out, ", not in use");
    else if (s->idle)
        item(out, count_text(s->idle, a),
             s->idle == 1 ? " node not in use" : " nodes not in use");
}

static uint32_t children_of(const struct domain *d)
{
    return d->n ? d->n : d->rank_hi - d->rank_lo;
}

static void child_sums(const struct shower *w, const struct domain *d, uint32_t pos,
                       struct sums *ret)
{
    if (d->n)
        *ret = w->domains[d->first + pos];
    else
        node_sums(w->c, w->c->order[d->rank_lo + pos], ret);
}

static struct str child_name(const struct shower *w, const struct domain *d,
                             uint32_t pos)
{
    if (!d->n)
        return cluster_node_name(w->c, w->c->order[d->rank_lo + pos]);
    struct str s = words_text(w->c->words, w->c->domains[d->first + pos].name);
    return s.len ? s : STR("(no name)");
}

/* Groups in the order of their first members. */
static struct group *groups_make(const struct shower *w, const struct domain *d,
                                 uint32_t *ret_n)
{
    VEC(struct group) g = {0};
    struct u64map at = {0};
    for (uint32_t k = 0; k < children_of(d); k++) {
        struct sums s;
        child_sums(w, d, k, &s);
        uint64_t key = s.sig >> 1; /* the map has no room for one key */
        uint32_t i = u64map_get(&at, key);
        if (i == MAP_NONE) {
            u64map_put(&at, key, g.n);
            vec_push(&g, (struct group){k, k, 1});
        } else {
            g.at[i].last = k;
            g.at[i].count++;
        }
    }
    u64map_done(&at);
    *ret_n = g.n;
    return g.at;
}

/* "r00 … r06 × 7" when they are neighbours, otherwise "r00 and 6 more like it". */
static void group_name(const struct shower *w, const struct domain *d,
                       const struct group *g)
{
    char a[24];
    buf_str(w->out, child_name(w, d, g->first));
    if (g->count == 1)
        return;
    if (g->last - g->first + 1 == g->count)
        buf_fmt(w->out, " %s " STR_FMT " %s %s", w->o->ascii ? ".." : "…",
                STR_ARG(child_name(w, d, g->last)), w->o->ascii ? "x" : "×",
                count_text(g->count, a));
    else
        buf_fmt(w->out, " and %s more like it", count_text(g->count - 1, a));
}

/* One line: "rack r00 … r06 × 7: each 16 nodes, 128 H100, ..." */
static void group_put(const struct shower *w, const struct domain *d,
                      const struct group *g)
{
    struct sums s;
    char a[24];
    struct buf *out = w->out;
    child_sums(w, d, g->first, &s);
    if (d->n)
        buf_fmt(out, STR_FMT " ",
                STR_ARG(words_text(w->c->words, w->c->domains[d->first].level)));
    group_name(w, d, g);
    buf_z(out, g->count > 1 ? ": each " : ": ");
    size_t start = out->len;
    if (d->n)
        buf_fmt(out, ", %s node%s", count_text(s.nodes, a), s.nodes == 1 ? "" : "s");
    sums_put(w->c, &s, out);
    memmove(out->data + start, out->data + start + 2, out->len - start - 2);
    out->len -= 2;
    out->data[out->len] = 0;
    buf_char(out, '\n');
}

static void branch(const struct shower *w, struct str prefix, bool last)
{
    buf_str(w->out, prefix);
    if (w->o->ascii)
        buf_z(w->out, last ? "`- " : "|- ");
    else
        buf_z(w->out, last ? "└─ " : "├─ ");
}

static void children_put(struct shower *w, uint32_t domain, uint32_t depth,
                         struct str prefix)
{
    const struct domain *d = &w->c->domains[domain];
    uint32_t n, shown, hidden = 0;
    if (depth == 0)
        return;
    struct group *g = groups_make(w, d, &n);
    shown = w->most && n > w->most ? w->most - 1 : n;
    for (uint32_t i = shown; i < n; i++)
        hidden += g[i].count;
    for (uint32_t i = 0; i < shown; i++) {
        bool last = i + 1 == n;
        struct buf deeper = {0};
        w->lines++;
        if (w->out) {
            branch(w, prefix, last);
            group_put(w, d, &g[i]);
            buf_str(&deeper, prefix);
            buf_z(&deeper, last ? "   " : w->o->ascii ? "|  " : "│  ");
        }
        if (d->n)
            children_put(w, d->first + g[i].first, depth - 1, buf_as_str(&deeper));
        buf_done(&deeper);
    }
    if (hidden) {
        char a[24], b[24];
        w->lines++;
        if (w->out) {
            branch(w, prefix, true);
            buf_fmt(w->out, "and %s more, of %s kinds\n", count_text(hidden, a),
                    count_text(n - shown, b));
        }
    }
    free(g);
}

static uint32_t lines_at(struct shower *w, uint32_t depth)
{
    struct buf *out = w->out;
    w->out = NULL;
    w->lines = 0;
    children_put(w, 0, depth, (struct str){0});
    w->out = out;
    return w->lines;
}

void cluster_show_text(const struct cluster *c, const struct show *o, struct buf *out)
{
    struct shower w = {.c = c, .o = o, .domains = domains_sum(c), .out = out};
    uint32_t deepest = c->nlevels + 1, depth = o->depth < deepest ? o->depth : deepest;
    char a[24];
    if (o->lines)
        w.most = o->lines > 6 ? o->lines - 4 : 2;
    if (o->depth == SHOW_ALL && o->lines)
        while (depth > 1 && lines_at(&w, depth) + 2 > o->lines)
            depth--;
    buf_str(out, o->name.len ? o->name : STR("cluster"));
    buf_fmt(out, ": %s node%s", count_text(c->nlive, a), c->nlive == 1 ? "" : "s");
    sums_put(c, &w.domains[0], out);
    buf_char(out, '\n');
    children_put(&w, 0, depth, (struct str){0});
    if (o->depth == SHOW_ALL && depth < deepest)
        buf_fmt(out, "(--depth %u shows more)\n", depth + 1);
    free(w.domains);
}

static void json_sums(const struct cluster *c, const struct sums *s, struct buf *out)
{
    uint64_t all = 0;
    const char *sep = "";
    for (uint32_t t = 0; t < c->ntypes; t++)
        all += s->gpus[t];
    buf_fmt(out,
            ",\"nodes\":%u,\"nodes_not_in_use\":%u,\"gpus\":%llu,\"gpus_by_type\":{",
            s->nodes, s->idle, (unsigned long long)all);
    for (uint32_t t = 0; t < c->ntypes; t++) {
        if (!s->gpus[t])
            continue;
        buf_z(out, sep);
        buf_json(out, words_text(c->words, c->types[t]));
        buf_fmt(out, ":%u", s->gpus[t]);
        sep = ",";
    }
    buf_fmt(out, "},\"cpu_milli\":%lld,\"mem_bytes\":%lld", (long long)s->cpu_milli,
            (long long)s->mem_bytes);
}

static void json_children(struct shower *w, uint32_t domain, uint32_t depth)
{
    const struct domain *d = &w->c->domains[domain];
    if (depth == 0)
        return;
    buf_z(w->out, ",\"children\":[");
    for (uint32_t k = 0; k < children_of(d); k++) {
        struct sums s;
        child_sums(w, d, k, &s);
        buf_z(w->out, k ? ",\n{\"level\":" : "\n{\"level\":");
        buf_json(w->out, d->n ? words_text(w->c->words, w->c->domains[d->first].level)
                              : STR("node"));
        buf_z(w->out, ",\"name\":");
        struct str unnamed = {0};
        bool no_name = d->n && !w->c->domains[d->first + k].name;
        buf_json(w->out, no_name ? unnamed : child_name(w, d, k));
        json_sums(w->c, &s, w->out);
        if (d->n)
            json_children(w, d->first + k, depth - 1);
        buf_char(w->out, '}');
    }
    buf_char(w->out, ']');
}

void cluster_show_json(const struct cluster *c, const struct show *o, struct buf *out)
{
    struct shower w = {.c = c, .o = o, .domains = domains_sum(c), .out = out};
    buf_z(out, "{\"name\":");
    buf_json(out, o->name);
    buf_z(out, ",\"levels\":[");
    for (uint32_t l = 0; l < c->nlevels; l++) {
        buf_z(out, l ? "," : "");
        buf_json(out, words_text(c->words, c->levels[l]));
    }
    buf_char(out, ']');
    json_sums(c, &w.domains[0], out);
    json_children(&w, 0, o->depth);
    buf_z(out, "}\n");
    free(w.domains);
}
