/* test-mix.c - the typical mix: order, coverage, weights, text and bytes
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "sched/mix.h"
#include "tap.h"

static struct words words;

static struct shape shape_of(int64_t cpu, uint32_t n, uint32_t milli, const char *type)
{
    struct shape s;
    memset(&s, 0, sizeof s);
    s.cpu_milli = cpu;
    s.gpu_count = n;
    s.gpu_milli = milli;
    s.gpu_mode = !n ? GPU_NONE : milli == 1000 ? GPU_WHOLE : GPU_SHARE;
    if (type)
        s.types[s.ntypes++].type = words_add(&words, str_of(type));
    return s;
}

static void add(struct mix *m, uint64_t count, int64_t cpu, uint32_t n, uint32_t milli,
                const char *type)
{
    struct shape s = shape_of(cpu, n, milli, type);
    mix_add(m, &s, count);
}

static void test_order(void)
{
    struct mix m = {0};
    add(&m, 5, 2000, 1, 500, NULL);
    add(&m, 5, 4000, 1, 300, NULL);
    add(&m, 5, 2000, 1, 1000, NULL);
    add(&m, 5, 2000, 2, 1000, NULL);
    add(&m, 5, 2000, 2, 1000, "A10");
    add(&m, 5, 2000, 2, 1000, "V100");
    add(&m, 9, 1, 0, 0, NULL);
    struct shape s = shape_of(1, 0, 0, NULL);
    s.mem_bytes = 12345; /* memory makes no class */
    mix_add(&m, &s, 1);
    mix_settle(&m, &words, 1000);
    static const struct {
        int64_t cpu;
        uint32_t n, milli;
        uint64_t count;
        const char *type;
    } want[] = {
        {1, 0, 0, 10, ""},         {4000, 1, 300, 5, ""},  {2000, 2, 1000, 5, "V100"},
        {2000, 2, 1000, 5, "A10"}, {2000, 2, 1000, 5, ""}, {2000, 1, 1000, 5, ""},
        {2000, 1, 500, 5, ""},
    };
    is_uint(m.items.n, 7, "seven classes");
    for (uint32_t i = 0; i < 7 && i < m.items.n; i++) {
        const struct mix_item *t = &m.items.at[i];
        const struct mix_class *k = &m.classes.at[t->class_];
        struct str name = words_text(&words, k->ntypes ? k->types[0] : WORD_NONE);
        ok(t->cpu_milli == want[i].cpu && t->gpu_count == want[i].n &&
               t->gpu_milli == want[i].milli && t->count == want[i].count &&
               str_is(name, want[i].type),
           "item %u: count, then CPU, milli, number and type text, largest first", i);
    }
    mix_done(&m);
}

static void test_cover(void)
{
    struct mix m = {0};
    add(&m, 60, 1, 0, 0, NULL);
    add(&m, 30, 2, 0, 0, NULL);
    add(&m, 5, 3, 0, 0, NULL);
    add(&m, 5, 4, 0, 0, NULL);
    mix_settle(&m, &words, 950);
    is_uint(m.items.n, 3, "95 of 100 tasks are covered by three classes");
    ok(m.items.at[2].cpu_milli == 4, "... of equal ones the larger");
    ok(m.items.at[0].weight == 60. / 100 / (95. / 100) &&
           m.items.at[2].weight == 5. / 100 / (95. / 100),
       "weights are quotients of quotients");
    is_near(m.items.at[0].weight + m.items.at[1].weight + m.items.at[2].weight, 1,
            1e-12, "... that sum to one");
    uint32_t version = m.version;
    mix_settle(&m, &words, 600);
    is_uint(m.items.n, 1, "60 of 100 by one");
    ok(m.version != version, "memos hear of it");
    mix_done(&m);
}

static void test_learn(void)
{
    struct mix m = {0};
    struct shape s = shape_of(1000, 1, 500, NULL);
    uint32_t settles = 0, version = m.version;
    for (int i = 0; i < 10000; i++) {
        mix_learn(&m, &s, &words);
        settles += m.version != version;
        version = m.version;
        if (i == 62)
            is_uint(m.items.n, 0, "nothing is typical before 64 arrivals");
        if (i == 63)
            is_uint(m.items.n, 1, "then the mix settles");
    }
    /* every 64 up to 512, then by an eighth: log(10000/512) / log(9/8) = 25 more */
    ok(settles > 25 && settles < 40, "10,000 arrivals settle it %u times", settles);
    mix_done(&m);
}

static void test_text(void)
{
    struct mix m = {0}, n = {0};
    struct err err;
    struct buf text = {0}, bytes = {0}, again = {0};
    is_int(
        mix_parse(&m,
                  STR("# openb, cut short\n10 4000 1000 1\n3 8000 460 1 T4|V100 # x\n"
                      "\n7 2000 0 0\r\n"),
                  &words, &err),
        0, "a mix is read");
    is_uint(m.total, 20, "twenty tasks");
    mix_text(&m, &words, &text);
    is_mem(text.data, text.len, "10 4000 1000 1\n7 2000 0 0\n3 8000 460 1 T4|V100\n",
           "... and written most frequent first");
    mix_parse(&n, buf_as_str(&text), &words, &err);
    is_hex(mix_digest(&n, &words), mix_digest(&m, &words),
           "order is not in the digest");
    add(&n, 1, 2000, 0, 0, NULL);
    ok(mix_digest(&n, &words) != mix_digest(&m, &words), "a count is");

    mix_save(&n, &words, &bytes);
    struct str in = buf_as_str(&bytes);
    struct words other = {0};
    mix_done(&m);
    is_int(mix_load(&m, &in, &other, &err), 0, "saved and loaded, with other words");
    is_uint(in.len, 0, "... all of it");
    is_hex(mix_digest(&m, &other), mix_digest(&n, &words), "... is the same");
    mix_save(&m, &other, &again);
    ok(again.len == bytes.len && !memcmp(again.data, bytes.data, bytes.len),
       "... to the byte");
    ok(m.items.n == n.items.n && m.items.at[0].weight == n.items.at[0].weight,
       "... with the items as they were settled, not as they are counted now");
    uint32_t refused = 0;
    for (size_t cut = 0; cut < bytes.len; cut++) {
        in = (struct str){bytes.data, cut};
        refused += mix_load(&m, &in, &other, NULL) == -EBADMSG && m.classes.n == 0;
    }
    is_uint(refused, bytes.len, "cut anywhere it is refused, and the mix empty");
    mix_done(&m);
    mix_done(&n);
    words_done(&other);
    buf_done(&text);
    buf_done(&bytes);
    buf_done(&again);
}

static void test_errors(void)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"10 4000", "mix line 1"},
        {"1 1 0 0\nx 4000 0 0", "mix line 2"},
        {"1 4000 1001 1", "mix line 1"},
        {"1 4000 500 0", "mix line 1: 0 GPUs of 500 milli"},
        {"1 4000 0 1", "mix line 1: 1 GPUs of 0 milli"},
        {"1 4000 0 0 T4", "GPU types without GPUs"},
        {"1 4000 1000 1 A|B|C|D|E|F|G|H|I|J|K|L|M|N|O|P|Q", "GPU types with names"},
        {"-1 4000 1000 1", "mix line 1"},
    };
    struct mix m = {0};
    struct err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(&err, 0, sizeof err);
        int e = mix_parse(&m, str_of(bad[i].text), &words, &err);
        ok(e == -EINVAL && strstr(err.text, bad[i].says) && !m.classes.n, "refused: %s",
           err.text);
    }
    mix_done(&m);
}

int main(void)
{
    test_order();
    test_cover();
    test_learn();
    test_text();
    test_errors();
    words_done(&words);
    return done_testing();
}
