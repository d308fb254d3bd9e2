/* eligible.c - taints, tags and constraints, as counts
 * A tally keeps, for each (tag, place), how many tasks carry the tag there, how many avoid
 * it there, and how many nodes carry it; a place is a node, or a partition (key, value). So
 * need, avoid (both ways) and spread are a few look-ups, inside a placement too: takes on
 * the trail are tallied like any other. O(constraints x tags) a question.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/bitset.h"
#include "sched/state.h"

enum tally_kind { TALLY_CARRY = 0, TALLY_AVOID, TALLY_NODES };

#define ANYWHERE 0xffffu /* a key that no word has (WORD_MAX is one less in use) */

static uint64_t place_key(enum tally_kind kind, word_t tag, word_t key, uint32_t value)
{
    uint64_t place = key ? (uint64_t)key << 16 | value : UINT64_C(1) << 32 | value;
    return (uint64_t)kind << 60 | (uint64_t)(tag & 0xffff) << 33 | place;
}

static uint32_t tally_get(const struct sched *s, uint64_t key)
{
    uint32_t n = u64map_get(&s->tally, key);
    return n == MAP_NONE ? 0 : n;
}

static void tally_add(struct sched *s, uint64_t key, int sign)
{
    uint32_t n = tally_get(s, key) + (uint32_t)sign;
    if (n)
        u64map_put(&s->tally, key, n);
    else
        u64map_del(&s->tally, key);
}

/* The value of the place of `node` under key (the node itself for key 0); 0: has none. */
static bool place_of(const struct sched *s, uint32_t node, word_t key, uint32_t *ret)
{
    if (key == WORD_NONE) {
        *ret = node;
        return true;
    }
    *ret = cluster_part(s->cluster, node, key);
    return *ret != 0;
}

void tally_claim(struct sched *s, uint32_t shape, uint32_t node, int sign)
{
    const struct shape *sh = &s->shapes.at[shape].shape;
    const struct node_desc *d = cluster_node_desc(s->cluster, node);
    for (uint32_t i = 0; i < sh->ntags; i++) {
        tally_add(s, place_key(TALLY_CARRY, sh->tags[i], ANYWHERE, 0), sign);
        tally_add(s, place_key(TALLY_CARRY, sh->tags[i], 0, node), sign);
        for (uint32_t p = 0; p < d->nparts; p++)
            tally_add(s, place_key(TALLY_CARRY, sh->tags[i], d->parts[p].key,
                                   d->parts[p].value), sign);
    }
    for (uint32_t i = 0; i < sh->nconstraints; i++) {
        const struct constraint *c = &sh->constraints[i];
        uint32_t value;
        if (c->kind == CONSTRAINT_AVOID && c->hard && place_of(s, node, c->key, &value))
            tally_add(s, place_key(TALLY_AVOID, c->tag, c->key, value), sign);
    }
}

bool tag_is_carried(const struct sched *s, word_t tag)
{
    return tally_get(s, place_key(TALLY_CARRY, tag, ANYWHERE, 0)) > 0;
}

/* What the node itself brings: its tags per partition, and its partitions. */
void tally_node(struct sched *s, uint32_t node, int sign)
{
    const struct node_desc *d = cluster_node_desc(s->cluster, node);
    if (s->tainted.n < BITSET_WORDS(node + 1))
        vec_resize(&s->tainted, BITSET_WORDS(node + 1));
    if (sign > 0 && d->ntaints)
        bit_set(s->tainted.at, node);
    else
        bit_clear(s->tainted.at, node);
    for (uint32_t p = 0; p < d->nparts; p++) {
        uint64_t key = (uint64_t)d->parts[p].key << 32 | d->parts[p].value;
        uint32_t n = u64map_get(&s->part_nodes, key);
        if (n == MAP_NONE)
            vec_push(&s->parts, key); /* once: the count stays when it falls to zero */
        u64map_put(&s->part_nodes, key, (n == MAP_NONE ? 0 : n) + (uint32_t)sign);
        for (uint32_t t = 0; t < d->ntags; t++)
            tally_add(s, place_key(TALLY_NODES, d->tags[t], d->parts[p].key,
                                   d->parts[p].value), sign);
    }
}

static bool tolerates(const struct shape *sh, const struct node_desc *d)
{
    for (uint32_t t = 0; t < d->ntaints; t++) {
        bool ok = false;
        for (uint32_t i = 0; i < sh->ntolerate && !ok; i++)
            ok = sh->tolerate[i] == d->taints[t];
        if (!ok)
            return false;
    }
    return true;
}

static bool spread_ok(const struct sched *s, const struct constraint *c, uint32_t value)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < s->parts.n; i++) {
        if (s->parts.at[i] >> 32 != c->key ||
            u64map_get(&s->part_nodes, s->parts.at[i]) == 0)
            continue;
        uint32_t n = tally_get(s, place_key(TALLY_CARRY, c->tag, c->key,
                                            (uint32_t)s->parts.at[i]));
        least = n < least ? n : least;
    }
    uint32_t here = tally_get(s, place_key(TALLY_CARRY, c->tag, c->key, value));
    return here + 1 <= least + c->max_skew;
}

static bool constraint_ok(const struct sched *s, const struct constraint *c, uint32_t node)
{
    uint32_t value;
    if (!place_of(s, node, c->key, &value))
        return c->kind == CONSTRAINT_AVOID; /* no such place: nothing there to avoid */
    uint32_t carry = tally_get(s, place_key(TALLY_CARRY, c->tag, c->key, value));
    switch (c->kind) {
    case CONSTRAINT_NEED:
        return carry > 0 || cluster_has_tag(s->cluster, node, c->tag) ||
               (c->key && tally_get(s, place_key(TALLY_NODES, c->tag, c->key, value)) > 0);
    case CONSTRAINT_AVOID:
        return carry == 0;
    case CONSTRAINT_SPREAD:
        return spread_ok(s, c, value);
    default:
        return true;
    }
}

/* Nobody there who avoids one of the tags that the task would bring. */
static bool welcome(const struct sched *s, const struct shape *sh, uint32_t node,
                    const struct node_desc *d)
{
    for (uint32_t i = 0; i < sh->ntags; i++) {
        if (tally_get(s, place_key(TALLY_AVOID, sh->tags[i], 0, node)))
            return false;
        for (uint32_t p = 0; p < d->nparts; p++)
            if (tally_get(s, place_key(TALLY_AVOID, sh->tags[i], d->parts[p].key,
                                       d->parts[p].value)))
                return false;
    }
    return true;
}

bool node_tolerated(const struct sched *s, const struct shape *sh, uint32_t node)
{
    return tolerates(sh, cluster_node_desc(s->cluster, node));
}

bool node_eligible(const struct sched *s, const struct shape *sh, uint32_t node)
{
    bool tainted = bit_get(s->tainted.at, node);
    if (!tainted && sh->nconstraints == 0 && sh->ntags == 0)
        return true;
    const struct node_desc *d = cluster_node_desc(s->cluster, node);
    if (tainted && !tolerates(sh, d))
        return false;
    for (uint32_t i = 0; i < sh->nconstraints; i++)
        if (sh->constraints[i].hard && !constraint_ok(s, &sh->constraints[i], node))
            return false;
    return sh->ntags == 0 || welcome(s, sh, node, d);
}
