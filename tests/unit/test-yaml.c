/* test-yaml.c - the tree, the place of every error, and what is refused
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/yaml.h"
#include "tap.h"

/* The tree in one line: scalars bare or 'quoted', [lists], {maps}. */
static void draw(const struct ynode *n, struct buf *out)
{
    if (n->kind == YNODE_SCALAR) {
        buf_z(out, n->quoted ? "'" : "");
        buf_str(out, n->text);
        buf_z(out, n->quoted ? "'" : "");
        return;
    }
    buf_char(out, n->kind == YNODE_LIST ? '[' : '{');
    uint32_t count = 0;
    for (const struct ynode *k = n->first; k; k = k->next, count++) {
        buf_z(out, count ? ", " : "");
        if (n->kind == YNODE_MAP)
            buf_fmt(out, STR_FMT ": ", STR_ARG(k->key));
        draw(k, out);
    }
    if (count != n->n)
        buf_fmt(out, " (%u counted)", n->n);
    buf_char(out, n->kind == YNODE_LIST ? ']' : '}');
}

static void test_trees(void)
{
    static const char *const rows[][2] = {
        {"a: 1\nb: [x, 'y', \"z\"]\n", "{a: 1, b: [x, 'y', 'z']}"},
        {"- a\n- b: c\n  d: {e: f}\n-\n", "[a, {b: c, d: {e: f}}, ]"},
        {"just a text\n", "just a text"},
        {"---\na: b\n...\n", "{a: b}"},
        {"a:\nb: ''\nc: ~\n", "{a: , b: '', c: ~}"},
        {"a: |\n  two\n  lines\n", "{a: 'two\nlines\n'}"},
        {"# only\na: 1 # here\n", "{a: 1}"},
        {"\"<<\": 1\n", "{<<: 1}"},
        {"{}\n", "{}"},
        {"[]\n", "[]"},
        {"[a, a]\n", "[a, a]"},
        {"a: {k: 1}\nb: {k: 1}\n", "{a: {k: 1}, b: {k: 1}}"},
        {"Größe: 3 μm\n", "{Größe: 3 μm}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a = {0};
        struct err err = {0};
        struct ynode *n = NULL;
        struct buf out = {0};
        is_int(yaml_parse("t", str_of(rows[i][0]), &a, &n, &err), 0, "tree %zu %s", i,
               err.text);
        if (n)
            draw(n, &out);
        is_mem(out.data, out.len, rows[i][1], "  as written");
        buf_done(&out);
        arena_done(&a);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *what, *text, *error; /* how the message begins */
    } rows[] = {
        {"the same key twice", "a: 1\nb: 2\na: 3\n",
         "t.yaml:3:1: the key \"a\" stands twice"},
        {"twice below", "x:\n  - {k: 1,  k: 2}\n",
         "t.yaml:2:13: the key \"k\" stands twice"},
        {"twice, once quoted", "a: 1\n'a': 2\n",
         "t.yaml:2:1: the key \"a\" stands twice"},
        {"a map under a key that comes twice", "a: 1\na:\n  b: 1\n",
         "t.yaml:2:1: the key \"a\" stands twice"},
        {"an anchor", "a: &x 1\nb: 2\n", "t.yaml:1:4: anchors"},
        {"an anchored map", "a: &x {b: 1}\n", "t.yaml:1:4: anchors"},
        {"an anchored list", "a:\n  &x\n  - 1\n", "t.yaml:2:3: anchors"},
        {"an anchored key", "&x a: 1\n", "t.yaml:1:1: anchors"},
        {"an alias", "a: 1\nb: *x\n", "t.yaml:2:4: aliases"},
        {"a merge key", "a:\n  <<: {b: 1}\n", "t.yaml:2:3: merge keys"},
        {"a tag", "a: !!str 1\n", "t.yaml:1:4: tags"},
        {"a private tag", "a: !mine [1]\n", "t.yaml:1:4: tags"},
        {"a tagged map", "!mine {a: 1}\n", "t.yaml:1:1: tags"},
        {"a list as a key", "? [a]\n: 1\n", "t.yaml:1:3: a key must be"},
        {"a map as a key", "{{a: b}: c}\n", "t.yaml:1:2: a key must be"},
        {"two documents", "a: 1\n---\nb: 2\n", "t.yaml:2:1: a second document"},
        {"nothing", "", "t.yaml:1:1: there is nothing"},
        {"only remarks", "# a\n", "t.yaml:1:1: there is nothing"},
        {"a tab as indent", "a:\n\tb: 1\n", "t.yaml:2:1: "},
        {"an open bracket", "a: [1, 2\nb: 3\n", "t.yaml:2:"},
        {"an open quote", "a: \"x\n", "t.yaml:2:1: "},
        {"a wrong indent", "a: 1\n  b: 2\n", "t.yaml:2:4: "},
        {"a list item in a map", "a: 1\n- b\n", "t.yaml:2:1: "},
        {"a control byte", "a: 1\nb: \x01\n", "t.yaml:2:4: control"},
        {"bytes that are no UTF-8", "a: \xff\n", "t.yaml:1:4: "},
        {"an unknown escape", "a: \"\\q\"\n", "t.yaml:1:"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a = {0};
        struct err err = {0};
        struct ynode *n = (struct ynode *)&err;
        is_int(yaml_parse("t.yaml", str_of(rows[i].text), &a, &n, &err), -EINVAL, "%s",
               rows[i].what);
        ok(n == (struct ynode *)&err && err.code == EINVAL &&
               strncmp(err.text, rows[i].error, strlen(rows[i].error)) == 0,
           "  %s", err.text);
        arena_done(&a);
    }
}

static void test_many_keys(void)
{
    struct buf b = {0};
    struct arena a = {0};
    struct err err = {0};
    struct ynode *n;
    for (int i = 0; i < 5000; i++)
        buf_fmt(&b, "k%d: %d\n", i, i);
    is_int(yaml_parse("t", buf_as_str(&b), &a, &n, &err), 0, "5000 keys");
    is_uint(n->n, 5000, "  counted");
    ok(str_is(ynode_get(n, "k4321")->text, "4321"), "  found by name");
    ok(!ynode_get(n, "k5000"), "  and not found");
    buf_z(&b, "k17: 5\n");
    is_int(yaml_parse("t", buf_as_str(&b), &a, &n, &err), -EINVAL, "one of them twice");
    ok(strncmp(err.text, "t:5001:1: the key \"k17\"", 23) == 0, "  %s", err.text);
    arena_done(&a);
    buf_done(&b);
}

static void test_depth(void)
{
    for (uint32_t extra = 0; extra < 2; extra++) {
        struct buf b = {0};
        struct arena a = {0};
        struct err err = {0};
        struct ynode *n;
        buf_pad(&b, '[', YAML_DEPTH_MAX + extra);
        buf_pad(&b, ']', YAML_DEPTH_MAX + extra);
        is_int(yaml_parse("t", buf_as_str(&b), &a, &n, &err), extra ? -E2BIG : 0,
               "%u lists in each other", YAML_DEPTH_MAX + extra);
        if (extra)
            ok(strncmp(err.text, "t:1:33: ", 8) == 0, "  %s", err.text);
        arena_done(&a);
        buf_done(&b);
    }
}

/* One map with a value of every kind for the typed reads. */
static const char typed[] = "int: 42\n" /* line 1 */
                            "neg: -7\n"
                            "big: 99999999999999999999\n"
                            "quoted: '5'\n"
                            "yes: true\n" /* 5 */
                            "no: off\n"
                            "dur: 1-02:00:00\n"
                            "qdur: \"90s\"\n"
                            "size: 80GiB\n"
                            "milli: 1.5\n" /* 10 */
                            "dbl: -2.5e3\n"
                            "word: maybe\n"
                            "empty:\n"
                            "list: [1]\n"
                            "map: {a: 1}\n"; /* 15 */

static struct ynode *root;

static struct ynode *at(const char *key)
{
    struct ynode *n = ynode_get(root, key);
    if (!n)
        bail("no key %s", key);
    return n;
}

static void test_good_reads(void)
{
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;
    bool b = false;
    struct str s;
    ok(ynode_i64(at("int"), 0, 42, &i, NULL) == 0 && i == 42, "a number at its bound");
    ok(ynode_i64(at("neg"), -7, 0, &i, NULL) == 0 && i == -7, "a negative one");
    ok(ynode_bool(at("yes"), &b, NULL) == 0 && b, "true");
    ok(ynode_bool(at("no"), &b, NULL) == 0 && !b, "off");
    ok(ynode_duration(at("dur"), &i, NULL) == 0 && i == INT64_C(93600000000),
       "26 hours");
    ok(ynode_duration(at("qdur"), &i, NULL) == 0 && i == 90000000, "90 s, quoted");
    ok(ynode_duration(at("int"), &i, NULL) == 0 && i == 42000000, "bare seconds");
    ok(ynode_size(at("size"), &u, NULL) == 0 && u == UINT64_C(85899345920), "80 GiB");
    ok(ynode_milli(at("milli"), &i, NULL) == 0 && i == 1500, "1.5 in milli");
    ok(ynode_double(at("dbl"), -2500, 0, &d, NULL) == 0 && d == -2500, "a double");
    ok(ynode_str(at("word"), &s, NULL) == 0 && str_is(s, "maybe"), "a text");
    ok(ynode_str(at("empty"), &s, NULL) == 0 && s.len == 0, "an empty one");
}

#define REFUSES(call, number, start)                         \
    do {                                                     \
        struct err err = {0};                                \
        int rc = (call);                                     \
        ok(rc == -(number) && err.code == (number) &&        \
               strncmp(err.text, start, strlen(start)) == 0, \
           "%s -> %s", #call, err.text);                     \
    } while (0)

static void test_bad_reads(void)
{
    int64_t i = 77;
    uint64_t u = 77;
    double d = 77;
    bool b = true;
    struct str s = STR("77");
    REFUSES(ynode_i64(at("int"), 0, 41, &i, &err), ERANGE,
            "t:1:6: int must be between 0 and 41");
    REFUSES(ynode_i64(at("neg"), 0, 41, &i, &err), ERANGE,
            "t:2:6: neg must be between");
    REFUSES(ynode_i64(at("big"), 0, 41, &i, &err), ERANGE,
            "t:3:6: big must be between");
    REFUSES(ynode_i64(at("quoted"), 0, 41, &i, &err), EINVAL,
            "t:4:9: quoted must be a whole");
    REFUSES(ynode_i64(at("milli"), 0, 41, &i, &err), EINVAL,
            "t:10:8: milli must be a whole");
    REFUSES(ynode_i64(at("list"), 0, 41, &i, &err), EINVAL,
            "t:14:7: list must be a whole");
    REFUSES(ynode_i64(at("list")->first, 5, 41, &i, &err), ERANGE,
            "t:14:8: this must be");
    REFUSES(ynode_bool(at("word"), &b, &err), EINVAL,
            "t:12:7: word must be true or false");
    REFUSES(ynode_bool(at("int"), &b, &err), EINVAL,
            "t:1:6: int must be true or false");
    REFUSES(ynode_duration(at("word"), &i, &err), EINVAL,
            "t:12:7: word: \"maybe\" is no duration");
    REFUSES(ynode_duration(at("map"), &i, &err), EINVAL,
            "t:15:6: map must be a duration");
    REFUSES(ynode_size(at("big"), &u, &err), ERANGE,
            "t:3:6: big: \"99999999999999999999\"");
    REFUSES(ynode_size(at("map"), &u, &err), EINVAL, "t:15:6: map must be a size");
    REFUSES(ynode_milli(at("neg"), &i, &err), EINVAL,
            "t:2:6: neg: \"-7\" is no amount");
    REFUSES(ynode_milli(at("list"), &i, &err), EINVAL,
            "t:14:7: list must be an amount");
    REFUSES(ynode_double(at("dbl"), 0, 1, &d, &err), ERANGE,
            "t:11:6: dbl must be between 0 and 1");
    REFUSES(ynode_double(at("word"), 0, 1, &d, &err), EINVAL,
            "t:12:7: word must be a number");
    REFUSES(ynode_double(at("quoted"), 0, 9, &d, &err), EINVAL,
            "t:4:9: quoted must be a number");
    REFUSES(ynode_str(at("map"), &s, &err), EINVAL, "t:15:6: map must be one text");
    ok(i == 77 && u == 77 && d == 77 && b && str_is(s, "77"), "failures write nothing");
    is_int(ynode_i64(at("word"), 0, 1, &i, NULL), -EINVAL, "err may be NULL");
    is_int(ynode_size(at("word"), &u, NULL), -EINVAL, "here too");
}

static void test_only(void)
{
    static const char *const all[] = {"int",   "neg",  "big",  "quoted", "yes", "no",
                                      "dur",   "qdur", "size", "milli",  "dbl", "word",
                                      "empty", "list", "map",  NULL};
    static const char *const near[] = {"int",   "neg",  "big",  "quoted", "yes", "no",
                                       "dur",   "qdur", "size", "millis", "dbl", "word",
                                       "empty", "list", "map",  NULL};
    static const char *const far[] = {"int", "neg", "big", "something-else", NULL};
    struct err none = {0};
    is_int(ynode_only(root, all, &none), 0, "every key is known");
    REFUSES(ynode_only(root, near, &err), EINVAL,
            "t:10:1: unknown key \"milli\", did you mean \"millis\"?");
    REFUSES(ynode_only(root, far, &err), EINVAL, "t:4:1: unknown key \"quoted\"");
    REFUSES(ynode_only(at("int"), all, &err), EINVAL, "t:1:6: a map of keys is wanted");
    struct err err = {0};
    ynode_only(root, far, &err);
    ok(!strstr(err.text, "did you mean"), "what is far from all gets no advice");
    ok(!ynode_get(at("int"), "x") && !ynode_get(NULL, "x"), "only maps have keys");
    is_int(ynode_err(NULL, ENOENT, &err, "no %s", "place"), -ENOENT,
           "an error without a node");
    is_str(err.text, "no place", "  is only its text");
}

static void test_load(void)
{
    char path[] = "/tmp/muster-yaml-XXXXXX";
    int fd = mkstemp(path);
    struct arena a = {0};
    struct err err = {0};
    struct ynode *n;
    if (fd < 0 || write(fd, "a: [1]\n", 7) != 7)
        bail("cannot write %s", path);
    is_int(yaml_load(path, &a, &n, &err), 0, "a file");
    is_str(n->file, path, "  nodes name it");
    close(fd);
    unlink(path);
    is_int(yaml_load(path, &a, &n, &err), -ENOENT, "a missing one: %s", err.text);
    arena_done(&a);
}

int main(void)
{
    struct arena a = {0};
    test_trees();
    test_refused();
    test_many_keys();
    test_depth();
    if (yaml_parse("t", str_of(typed), &a, &root, NULL) < 0)
        bail("the map of all kinds is not read");
    test_good_reads();
    test_bad_reads();
    test_only();
    test_load();
    arena_done(&a);
    return done_testing();
}
