/* test-buf.c - bytes that grow, escapes, arenas and vectors
 * jansson judges the JSON strings. SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/rng.h"
#include "base/vec.h"
#include "tap.h"

static void test_growth(void)
{
    struct buf b = {0};
    buf_add(&b, NULL, 0);
    ok(b.data && b.data[0] == '\0' && b.len == 0, "adding nothing gives an empty text");
    for (int i = 0; i < 1000; i++)
        buf_char(&b, 'x');
    ok(b.len == 1000 && b.data[1000] == '\0', "a thousand bytes, one by one");
    buf_clear(&b);
    ok(b.len == 0 && b.data[0] == '\0' && b.room > 0, "clear keeps the room");
    buf_z(&b, "a");
    buf_str(&b, STR("b\0c"));
    buf_pad(&b, '.', 3);
    buf_pad(&b, '!', 0);
    ok(b.len == 7 && memcmp(b.data, "ab\0c...", 8) == 0, "zero bytes are kept");
    buf_done(&b);
    ok(!b.data && b.len == 0 && b.room == 0, "done leaves an empty buffer");
    buf_done(&b);
}

/* Every length around the room that buf_fmt finds, against snprintf. */
static void test_fmt(void)
{
    int bad = 0;
    for (int before = 0; before < 80; before++) {
        for (int n = 0; n < 200; n++) {
            struct buf b = {0};
            char want[400];
            buf_pad(&b, '-', (size_t)before);
            buf_fmt(&b, "%0*d|%s", n ? n : 1, 7, "end");
            memset(want, '-', sizeof want);
            snprintf(want + before, sizeof want - (size_t)before, "%0*d|%s", n ? n : 1,
                     7, "end");
            bad += b.len != strlen(want) || strcmp(b.data, want) != 0;
            buf_done(&b);
        }
    }
    is_int(bad, 0, "formatted text of any length behind any other");
}

static void test_json(void)
{
    static const struct {
        struct str in;
        const char *want;
    } rows[] = {
        /* RFC 8259, section 7 */
        {{NULL, 0}, "\"\""},
        {STR("plain"), "\"plain\""},
        {STR("a\"b\\c/d"), "\"a\\\"b\\\\c/d\""},
        {STR("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
        {STR("\0\x1f\x7f"), "\"\\u0000\\u001f\x7f\""},
        {STR("Größe €"), "\"Größe €\""},
        {STR("a\xff"), "\"a\xef\xbf\xbd\""},
        {STR("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {STR("\xed\xa0\x80z"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf b = {0};
        buf_json(&b, rows[i].in);
        is_mem(b.data, b.len, rows[i].want, "JSON string %zu", i);
        buf_done(&b);
    }
    struct rng r;
    rng_init(&r, 3, 0);
    int bad = 0;
    for (int i = 0; i < 2000; i++) {
        char text[40];
        size_t n = rng_below(&r, sizeof text);
        for (size_t k = 0; k < n; k++)
            text[k] =
                (char)(rng_below(&r, 2) ? rng_below(&r, 128) : rng_below(&r, 256));
        struct str s = {text, n};
        struct buf b = {0};
        buf_json(&b, s);
        json_t *j = json_loadb(b.data, b.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        bool same =
            j && str_eq(s, (struct str){json_string_value(j), json_string_length(j)});
        bad += !j || (str_is_utf8(s) && !same);
        json_decref(j);
        buf_done(&b);
    }
    is_int(bad, 0, "2000 random texts are read back by jansson");
}

static void test_html(void)
{
    struct buf b = {0};
    buf_html(&b, STR("<a href=\"x\" t='1'>A & B</a> €"));
    is_str(b.data, "&lt;a href=&quot;x&quot; t=&#39;1&#39;&gt;A &amp; B&lt;/a&gt; €",
           "what HTML would read is escaped");
    buf_done(&b);
}

static void test_arena(void)
{
    struct arena a = {0};
    ok(arena_alloc(&a, 0) != NULL, "an arena gives a pointer for nothing");
    static struct {
        unsigned char *at;
        size_t n;
    } got[3000];
    struct rng r;
    int odd = 0, changed = 0;
    for (int round = 0; round < 3; round++) {
        rng_init(&r, 11, (uint64_t)round);
        for (int i = 0; i < 3000; i++) {
            got[i].n = rng_below(&r, 50) ? rng_below(&r, 200) : rng_below(&r, 300000);
            got[i].at = i % 2 ? arena_alloc(&a, got[i].n) : arena_zero(&a, got[i].n);
            odd += (uintptr_t)got[i].at % 16 != 0;
            for (size_t k = 0; i % 2 == 0 && k < got[i].n; k++)
                changed += got[i].at[k] != 0;
            memset(got[i].at, i & 0xff, got[i].n);
        }
        for (int i = 0; i < 3000; i++)
            for (size_t k = 0; k < got[i].n; k++)
                changed += got[i].at[k] != (i & 0xff);
        arena_reset(&a);
    }
    is_int(odd, 0, "every piece is aligned to 16");
    is_int(changed, 0,
           "no piece overlaps another, cleared ones are clear, over 3 resets");
    void *first = arena_alloc(&a, 100);
    arena_reset(&a);
    ok(arena_alloc(&a, 100) == first, "a reset arena reuses its chunk");
    struct str s = arena_str(&a, STR("name"));
    ok(s.len == 4 && strcmp(s.ptr, "name") == 0, "a copied text ends with a zero");
    s = arena_str(&a, (struct str){NULL, 0});
    ok(s.len == 0 && s.ptr && s.ptr[0] == '\0', "even an empty one");
    arena_done(&a);
    ok(!a.chunks && !a.next, "done leaves an empty arena");
    arena_reset(&a);
    arena_done(&a);
}

static void test_vec(void)
{
    VEC(uint64_t) v = {0};
    for (uint64_t i = 0; i < 10000; i++)
        vec_push(&v, i * i);
    int bad = 0;
    for (uint64_t i = 0; i < v.n; i++)
        bad += v.at[i] != i * i;
    ok(v.n == 10000 && bad == 0, "ten thousand items, in order");
    vec_resize(&v, 10);
    vec_resize(&v, 20);
    bad = 0;
    for (uint32_t i = 0; i < 20; i++)
        bad += v.at[i] != (i < 10 ? (uint64_t)i * i : 0);
    ok(v.n == 20 && bad == 0, "shortened and lengthened: new items are zero");
    vec_reserve(&v, 1u << 20);
    cmp_ok(v.room, >=, 1 << 20, "room is kept ready");
    vec_clear(&v);
    is_int(v.n, 0, "cleared");
    vec_done(&v);
    ok(!v.at && !v.room, "and done");
}

int main(void)
{
    test_growth();
    test_fmt();
    test_json();
    test_html();
    test_arena();
    test_vec();
    return done_testing();
}
