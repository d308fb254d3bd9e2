/* fold-policy.c - a new policy, and the typical mix that it names or learns
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/state.h"

/* The given mix names types by text; those that no record has named yet match nothing. The
 * words are the stream's, so a table of the mix's own is used to read it. */
void mix_refresh(struct sched *s)
{
    struct words own = {0};
    s->mix_stale = s->mix_unknown = false;
    uint32_t version = s->mix.version;
    mix_done(&s->mix);
    s->mix.version = version + 1;
    if (s->policy.mix != MIX_GIVEN ||
        mix_parse(&s->mix, s->policy.mix_text, &own, NULL) < 0) {
        words_done(&own);
        return;
    }
    for (uint32_t i = 0; i < s->mix.classes.n; i++) {
        struct mix_class *c = &s->mix.classes.at[i];
        for (uint32_t k = 0; k < c->ntypes; k++) {
            word_t w = words_find(&s->words, words_text(&own, c->types[k]));
            c->types[k] = w ? w : WORD_MAX;
            s->mix_unknown = s->mix_unknown || !w;
        }
    }
    mix_settle(&s->mix, &s->words, MIX_COVER_PERMILLE);
    words_done(&own);
    scratch_forget(s);
}

void mix_arrival(struct sched *s, uint32_t job)
{
    const struct tree *t = &s->trees.at[s->jobs.at[job].tree];
    for (uint32_t r = 0; r < t->nroots; r++) {
        for (uint32_t i = 0; i < t->roots[r].nleaves; i++) {
            const struct tree_leaf *l = &t->leaves[t->roots[r].leaf0 + i];
            const struct shape *sh = &s->shapes.at[l->shape].shape;
            for (uint32_t n = l->copies * l->want * t->roots[r].copies; n > 0; n--)
                mix_learn(&s->mix, sh, &s->words);
        }
    }
}

void fold_policy(struct sched *s, struct str text)
{
    struct arena a = {0};
    struct policy p;
    if (policy_parse("policy", text, &a, &p, NULL) < 0) {
        noop(s);
    } else {
        buf_clear(&s->policy_text);
        buf_str(&s->policy_text, text);
        arena_reset(&s->policy_arena); /* what the policy points to moves to an arena of ours */
        policy_parse("policy", buf_as_str(&s->policy_text), &s->policy_arena, &p, NULL);
        p.mix_text = arena_str(&s->policy_arena, p.mix_text);
        s->policy = p;
        s->mix_stale = true;
        reserve_forget(s);
        s->spares_check = s->spares_check || p.nspares || s->spares.n;
        quota_policy(s);
        owed_policy(s);
        scratch_forget(s);
        lanes_rebuild(s);
    }
    arena_done(&a);
}
