/* domains.c - which domain a node lies in, from its own description alone
 * The levels are those of the longest place that a node ever named, from the top down.
 * The domain of a level is the path of names from the top down to it: a level that a
 * node does not name counts as the unnamed one there, so rack r1 of block b1 and rack
 * r1 of block b2 are two. SPDX-License-Identifier: Apache-2.0 */
#include "audit/book.h"

#include "base/hash.h"

static word_t name_at(const struct bnode *n, word_t level)
{
    word_t name = WORD_NONE;
    for (uint32_t i = 0; i < n->desc.nplace; i++)
        if (n->desc.place[i].key == level)
            name = n->desc.place[i].value;
    return name;
}

bool domain_same(const struct audit *a, word_t level, const struct bnode *x,
                 const struct bnode *y)
{
    if (x == y || (level == a->node_level && level))
        return x == y; /* one node lies in one domain of any level */
    for (uint32_t i = 0; i < a->nlevels; i++) {
        if (name_at(x, a->levels[i]) != name_at(y, a->levels[i]))
            return false;
        if (a->levels[i] == level)
            return true;
    }
    return false; /* nobody knows the level: no two nodes share one */
}

uint64_t domain_of(const struct audit *a, word_t kind, const struct bnode *n)
{
    for (uint32_t i = 0; i < n->desc.nfaults; i++)
        if (n->desc.faults[i].key == kind)
            return digest_mix(1, n->desc.faults[i].value) | 1;
    if (kind == a->node_level && kind)
        return digest_mix(2, (uint64_t)(uintptr_t)n) | 1;
    uint64_t h = 3;
    for (uint32_t i = 0; i < a->nlevels; i++) {
        h = digest_mix(h, name_at(n, a->levels[i]));
        if (a->levels[i] == kind)
            return h | 1;
    }
    return 0;
}
