/* word.c - short names that many records share, as small numbers
 *
 * The texts live in an arena for as long as the table, so the map may borrow them and a
 * text that words_text returned stays valid while words are added.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/word.h"

#include "base/mem.h"
#include "base/vec.h"

word_t words_find(const struct words *w, struct str text)
{
    uint32_t id = strmap_get(&w->ids, text);
    return id == MAP_NONE ? WORD_NONE : id;
}

word_t words_add(struct words *w, struct str text)
{
    word_t id = words_find(w, text);
    if (id || text.len == 0 || text.len > WORD_LEN_MAX || w->n >= WORD_MAX)
        return id;
    if (w->room < w->n + 2)
        vec_grow_raw(&w->at, &w->room, w->n + 2, sizeof *w->at);
    w->at[0] = STR("");
    id = ++w->n;
    w->at[id] = arena_str(&w->text, text);
    strmap_put(&w->ids, w->at[id], id);
    return id;
}

struct str words_text(const struct words *w, word_t id)
{
    return id == WORD_NONE || id > w->n ? STR("") : w->at[id];
}

void words_done(struct words *w)
{
    strmap_done(&w->ids);
    arena_done(&w->text);
    free(w->at);
    *w = (struct words){0};
}
