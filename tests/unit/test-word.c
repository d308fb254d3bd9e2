/* test-word.c - words get ids from 1 in order of definition, and keep them
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/word.h"
#include "tap.h"

static void test_few(void)
{
    struct words w = {0};
    is_uint(words_find(&w, STR("rack")), WORD_NONE, "an empty table knows no word");
    is_uint(words_text(&w, 1).len, 0, "and has no text");
    is_uint(words_add(&w, STR("rack")), 1, "the first word is 1");
    is_uint(words_add(&w, STR("block")), 2, "the next is 2");
    is_uint(words_add(&w, STR("rack")), 1, "a known word keeps its id");
    is_uint(w.n, 2, "two words");
    is_uint(words_find(&w, STR("block")), 2, "find does not add");
    is_uint(words_find(&w, STR("Rack")), WORD_NONE, "case counts");
    struct str t = words_text(&w, 2);
    is_mem(t.ptr, t.len, "block", "the text of 2");
    is_uint(words_text(&w, 0).len, 0, "word 0 is empty");
    is_uint(words_text(&w, 3).len, 0, "an unknown id too");
    is_uint(words_add(&w, STR("")), WORD_NONE, "the empty word is none");
    words_done(&w);
    is_uint(words_find(&w, STR("rack")), WORD_NONE, "done leaves an empty table");
}

static void test_limits(void)
{
    struct words w = {0};
    char text[WORD_LEN_MAX + 1];
    memset(text, 'x', sizeof text);
    is_uint(words_add(&w, (struct str){text, WORD_LEN_MAX}), 1, "the longest word");
    is_uint(words_add(&w, (struct str){text, WORD_LEN_MAX + 1}), WORD_NONE,
            "a longer one is refused");
    struct str first = words_text(&w, 1);
    uint32_t bad = 0;
    for (uint32_t i = 2; i <= WORD_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%u", i);
        bad += words_add(&w, str_of(name)) != i;
        memset(name, '?', sizeof name); /* the table keeps its own copy */
    }
    is_uint(bad, 0, "ids count up to the limit");
    is_uint(words_add(&w, STR("one too many")), WORD_NONE, "then the table is full");
    is_uint(words_add(&w, STR("w77")), 77, "but known words are still found");
    ok(words_text(&w, 1).ptr == first.ptr, "texts never move");
    for (uint32_t i = 2; i <= WORD_MAX; i += 17) {
        char name[16];
        snprintf(name, sizeof name, "w%u", i);
        bad += !str_is(words_text(&w, i), name);
    }
    is_uint(bad, 0, "and are what was added");
    words_done(&w);
}

int main(void)
{
    test_few();
    test_limits();
    return done_testing();
}
