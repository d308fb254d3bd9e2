/* speed.c - how fast a gang works where it was put
 * SPDX-License-Identifier: Apache-2.0 */
#include "world/twin/speed.h"

static bool listed(const struct factors *f, struct str name)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (str_is(name, f->at[i].name))
            return true;
    return false;
}

void speed_model_init(struct speed_model *m, const struct truth *t,
                      const struct str *level_names, uint32_t nlevels)
{
    uint32_t ppm = PPM;
    m->nlevels = nlevels;
    for (uint32_t depth = nlevels + 2; depth-- > 0;) {
        struct str name = depth == nlevels + 1 ? STR("node")
                          : depth == 0         ? STR("cluster")
                                               : level_names[depth - 1];
        if (listed(&t->level, name))
            ppm = factors_get(&t->level, name);
        m->by_depth[depth] = ppm;
    }
}

uint32_t speed_of(const struct speed_model *m, const struct speed_query *q)
{
    uint64_t ppm = m->by_depth[q->depth];
    if (q->type_ppm != PPM)
        ppm = ppm * q->type_ppm / PPM;
    if (q->tasks != q->want && q->want)
        ppm = ppm * q->tasks / q->want;
    return ppm < 1 ? 1 : ppm > UINT32_MAX ? UINT32_MAX : (uint32_t)ppm;
}

int64_t speed_wall_us(int64_t work_us, uint32_t ppm)
{
    if (ppm == PPM)
        return work_us;
    return (int64_t)(((__int128)work_us * PPM + ppm - 1) / ppm);
}

int64_t speed_work_us(int64_t wall_us, uint32_t ppm)
{
    if (ppm == PPM)
        return wall_us;
    return (int64_t)((__int128)wall_us * ppm / PPM);
}
