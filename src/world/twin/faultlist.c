/* faultlist.c - somebody's recorded faults, put onto the twin's nodes
 * SPDX-License-Identifier: Apache-2.0 */
#include "world/twin/faultlist.h"

#include "base/rng.h"
#include "base/vec.h"

static int by_time(const void *one, const void *other)
{
    const struct twin_fault *a = one, *b = other;
    if (a->from_us != b->from_us)
        return a->from_us < b->from_us ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static void deal(uint32_t *place, uint32_t n, struct rng *rng)
{
    for (uint32_t i = 0; i < n; i++)
        place[i] = i;
    for (uint32_t i = n; i > 1; i--) { /* Fisher-Yates */
        uint32_t k = (uint32_t)rng_below(rng, i), keep = place[i - 1];
        place[i - 1] = place[k];
        place[k] = keep;
    }
}

uint32_t faultlist_map(const struct faultlist_row *rows, uint32_t n, uint32_t servers,
                       int64_t span_us, uint32_t nnodes, uint64_t seed,
                       struct twin_fault **ret)
{
    VEC(struct twin_fault) out = {0};
    uint32_t *place = mem_alloc((servers + 1u) * sizeof *place);
    struct rng rng;
    rng_init(&rng, seed, 0x6465616c); /* "deal" */
    for (uint32_t base = 0; servers && base < nnodes; base += servers) {
        int64_t turn = base && span_us > 0 ? (int64_t)rng_below(&rng, (uint64_t)span_us) : 0;
        deal(place, servers, &rng);
        for (uint32_t i = 0; i < n; i++) {
            const struct faultlist_row *r = &rows[i];
            if (r->server >= servers || base + place[r->server] >= nnodes)
                continue;
            int64_t from = r->from_us + turn;
            if (span_us > 0 && from >= span_us)
                from -= span_us;
            vec_push(&out, (struct twin_fault){base + place[r->server], from,
                                               from + (r->until_us - r->from_us)});
        }
        if (nnodes - base <= servers)
            break;
    }
    if (out.n)
        qsort(out.at, out.n, sizeof *out.at, by_time);
    free(place);
    *ret = out.at;
    return out.n;
}
