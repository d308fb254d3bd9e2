/* test-trace-nodelist.c - Slurm's compressed node lists
 * Expected names: Slurm's own rules (scontrol show hostnames).
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/buf.h"
#include "tap.h"
#include "trace/nodelist.h"

static int add(void *arg, struct str name)
{
    struct buf *b = arg;
    if (b->len)
        buf_char(b, ' ');
    buf_str(b, name);
    return 0;
}

static int stop_at_third(void *arg, struct str name)
{
    int *n = arg;
    (void)name;
    return ++*n == 3 ? -ECANCELED : 0;
}

int main(void)
{
    static const struct {
        const char *list;
        int n;
        const char *names;
    } rows[] = {
        {"g[0002-0003]", 2, "g0002 g0003"},
        {"node[001-003,007],gpu-a[1-2]", 6,
         "node001 node002 node003 node007 gpu-a1 gpu-a2"},
        {"r[1-2]n[01-03]", 6, "r1n01 r1n02 r1n03 r2n01 r2n02 r2n03"},
        {"n[9-11]", 3, "n9 n10 n11"},
        {"n[09-11]", 3, "n09 n10 n11"},
        {"n[099-101]", 3, "n099 n100 n101"},
        {"a[1,3]-x[2]z", 2, "a1-x2z a3-x2z"},
        {"single", 1, "single"},
        {"a,b,c", 3, "a b c"},
        {"None assigned", 0, ""},
        {"(null)", 0, ""},
        {"", 0, ""},
        {"a[", -EINVAL, ""},
        {"a]", -EINVAL, ""},
        {"a[]", -EINVAL, ""},
        {"a[1-]", -EINVAL, ""},
        {"a[3-1]", -EINVAL, ""},
        {"a[1,]", -EINVAL, ""},
        {"a[x]", -EINVAL, ""},
        {"a,,b", -EINVAL, ""},
        {"a,", -EINVAL, ""},
        {"good,a[1-", -EINVAL, ""}, /* and nothing is called for the good one */
        {"a[1-99999999]", -ERANGE, ""},
        {"a[1-2000]b[1-2000]", -ERANGE, ""},
        {"a[1234567890123]", -EINVAL, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf b = {0};
        struct err err = {0};
        int n = nodelist_expand(str_of(rows[i].list), add, &b, &err);
        is_int(n, rows[i].n, "%s", rows[i].list);
        is_mem(b.data, b.len, rows[i].names, "its names");
        ok((n < 0) == (err.text[0] != 0), "a text if and only if it fails: %s",
           err.text);
        buf_done(&b);
    }
    char longest[600];
    memset(longest, 'x', sizeof longest);
    is_int(nodelist_expand((struct str){longest, sizeof longest}, NULL, NULL, NULL),
           -ERANGE, "a name of 600 bytes is refused");
    int n = 0;
    is_int(nodelist_expand(STR("n[1-9]"), stop_at_third, &n, NULL), -ECANCELED,
           "the callback can stop it");
    is_int(n, 3, "at once");
    is_int(nodelist_expand(STR("n[1-9]"), NULL, NULL, NULL), 9,
           "counting needs no callback");
    return done_testing();
}
