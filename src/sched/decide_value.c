/* decide_value.c - of two that cannot both start now, the one whose waiting loses more
 *
 * Before a gang starts by `value: on`, the heads of all lanes are looked through for
 * the rival of equal standing that would lose most by waiting until it has ended, where
 * a deadline of either is at stake (without one the order of lanes has chosen already).
 * If room for one is the other's room, the regret of either choice is computed and the
 * smaller taken; both figures are in the launch. A person's override ends the question.
 * O(lanes) a start. SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "sched/decide.h"

static bool may_rival(const struct sched *s, uint32_t a, uint32_t b)
{
    const struct gang *ga = &s->gangs.at[a], *gb = &s->gangs.at[b];
    const struct job *ja = &s->jobs.at[ga->job], *jb = &s->jobs.at[gb->job];
    return a != b && ja->priority == jb->priority && ga->right == gb->right &&
           ga->due == gb->due && worth_rate(s, b) > 0 &&
           (ja->deadline_at > 0 || jb->deadline_at > 0) &&
           quota_authority(s, b) >= AUTHORITY_PLACE;
}

/* Who loses most while `gang` runs; of equals the first in the order. */
static uint32_t rival_of(const struct sched *s, uint32_t gang)
{
    uint32_t best = NONE;
    int64_t most = 0;
    for (uint32_t q = 0; q < s->quota.nodes.n; q++) {
        const struct quota_node *n = &s->quota.nodes.at[q];
        for (uint32_t i = 0; i < n->active.n; i++) {
            uint32_t head = s->lanes.at[n->active.at[i]].heap[0];
            if (!may_rival(s, gang, head))
                continue;
            int64_t lost = worth_regret(s, head, gang);
            if (best != NONE &&
                (lost < most || (lost == most && gang_before(s, best, head))))
                continue;
            best = head;
            most = lost;
        }
    }
    return best;
}

/* Would both fit? The seats of the one are in scratch, and are lost. */
static bool both_fit(struct pass *p, uint32_t other)
{
    struct sched *s = p->s;
    struct why why;
    uint32_t n = s->scratch->plan.n;
    struct use *uses = arena_alloc(&p->out->arena, (n + 1) * sizeof *uses);
    for (uint32_t i = 0; i < n; i++) {
        uses[i] = s->scratch->plan.at[i].use;
        cluster_take(s->cluster, &uses[i]);
    }
    bool ok = place_gang(s, other, &why);
    while (n > 0)
        cluster_give(s->cluster, &uses[--n]);
    return ok;
}

static uint32_t in_units(int64_t milli)
{
    int64_t units = milli / 1000 + (milli % 1000 >= 500);
    return units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
}

uint32_t pass_choose(struct pass *p, uint32_t gang)
{
    struct sched *s = p->s;
    struct why why;
    p->why.code = WHY_NONE;
    if (s->policy.value == VALUE_OFF || s->jobs.at[s->gangs.at[gang].job].overridden)
        return gang;
    uint32_t rival = rival_of(s, gang);
    if (rival == NONE)
        return gang;
    p->questions++;
    int64_t wait = worth_regret(s, rival, gang), other = worth_regret(s, gang, rival);
    bool both = both_fit(p, rival);
    bool other_first = !both && other < wait && quota_allows(s, rival, &why) &&
                       place_gang(s, rival, &why);
    uint32_t first = other_first ? rival : gang, second = other_first ? gang : rival;
    if (!other_first && !pass_place(p, gang, &why) && !pass_lend(p, gang))
        return NONE;
    if (both)
        return gang;
    const struct job *j = &s->jobs.at[s->gangs.at[second].job];
    p->why = (struct why){.code = WHY_VALUE,
                          .need = in_units(other_first ? wait : other),
                          .have = in_units(other_first ? other : wait),
                          .who = digest_bytes(j->name, j->name_len, 0)};
    return first;
}
