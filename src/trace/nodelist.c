/* nodelist.c - Slurm's compressed node lists
 *
 *     list  = item { "," item }        item  = { text | "[" range { "," range } "]" }
 *     range = digits [ "-" digits ]
 *
 * A range's numbers are written at least as wide as its first one ("001-003"), as
 * slurm_hostlist_create does. An item with brackets is a product: an odometer over the
 * brackets, the last one fastest. Everything is checked and counted in a first walk, so
 * a bad or too long list has no effect.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/nodelist.h"

#include <errno.h>
#include <stdio.h>

enum { BRACKETS_MAX = 8, DIGITS_MAX = 9 };

struct bracket {
    const char *from, *end; /* inside the brackets */
    uint32_t n;             /* names it stands for */
    const char *next;       /* the odometer: the range behind the current one, */
    uint32_t lo, hi, width; /* and the current number (lo), last one, width */
};

struct item {
    const char *from, *end;
    struct bracket brackets[BRACKETS_MAX];
    uint32_t n;
};

static int bad(struct str list, const char *at, struct err *err, const char *why)
{
    return err_set(err, EINVAL, "node list, byte %zu: %s", (size_t)(at - list.ptr) + 1,
                   why);
}

/* Digits at *p. Width, 0 for none or too many. */
static uint32_t digits_read(const char **p, const char *end, uint32_t *ret)
{
    uint32_t n = 0, v = 0;
    for (; *p < end && **p >= '0' && **p <= '9' && n <= DIGITS_MAX; ++*p, n++)
        v = v * 10 + (uint32_t)(**p - '0');
    *ret = v;
    return n <= DIGITS_MAX ? n : 0;
}

/* The next range of a bracket. Its width, or 0 with *p at the bad byte. */
static uint32_t range_read(const char **p, const char *end, uint32_t *lo, uint32_t *hi)
{
    uint32_t width = digits_read(p, end, lo);
    *hi = *lo;
    if (width && *p < end && **p == '-') {
        ++*p;
        if (!digits_read(p, end, hi) || *hi < *lo)
            return 0;
    }
    if (!width || (*p < end && **p != ','))
        return 0;
    if (*p < end && ++*p == end)
        return 0; /* a comma with nothing behind it */
    return width;
}

static int bracket_read(struct str list, struct bracket *b, struct err *err)
{
    const char *p = b->from;
    uint64_t n = 0;
    uint32_t lo, hi;
    do {
        if (!range_read(&p, b->end, &lo, &hi))
            return bad(list, p, err, "a range of numbers is expected");
        n += (uint64_t)hi - lo + 1;
    } while (p < b->end);
    if (n > NODELIST_NAMES_MAX)
        return err_set(err, ERANGE, "node list: more than %d names",
                       NODELIST_NAMES_MAX);
    b->n = (uint32_t)n;
    return 0;
}

/* The item at *p; *p goes behind it and its comma. Adds its names to *count. */
static int item_read(struct str list, const char **p, struct item *it, uint64_t *count,
                     struct err *err)
{
    const char *end = list.ptr + list.len, *s = *p;
    uint64_t names = 1;
    size_t len = 0; /* of its longest name, at most */
    *it = (struct item){.from = s};
    for (; s < end && *s != ','; s++) {
        if (*s == ']')
            return bad(list, s, err, "a ']' without '['");
        len += *s == '[' ? DIGITS_MAX : 1;
        if (len > NODELIST_NAME_LEN_MAX)
            return err_set(err, ERANGE,
                           "node list, byte %zu: a name of more than %d bytes",
                           (size_t)(it->from - list.ptr) + 1, NODELIST_NAME_LEN_MAX);
        if (*s != '[')
            continue;
        const char *close = memchr(s, ']', (size_t)(end - s));
        if (!close)
            return bad(list, s, err, "a '[' that is not closed");
        if (it->n == BRACKETS_MAX)
            return bad(list, s, err, "too many brackets");
        struct bracket *b = &it->brackets[it->n++];
        *b = (struct bracket){.from = s + 1, .end = close};
        int rc = bracket_read(list, b, err);
        if (rc < 0)
            return rc;
        names *= b->n;
        if (names > NODELIST_NAMES_MAX)
            return err_set(err, ERANGE, "node list: more than %d names",
                           NODELIST_NAMES_MAX);
        s = close;
    }
    it->end = s;
    if (s == it->from)
        return bad(list, s, err, "a name is expected");
    if (s < end && s + 1 == end)
        return bad(list, s, err, "a comma with nothing behind it");
    *p = s < end ? s + 1 : s;
    *count += names;
    return 0;
}

/* The bracket's next number; false: it starts again. */
static bool bracket_step(struct bracket *b)
{
    if (b->next && b->lo < b->hi) {
        b->lo++;
        return true;
    }
    bool again = b->next == b->end;
    if (!b->next || again)
        b->next = b->from;
    b->width = range_read(&b->next, b->end, &b->lo, &b->hi);
    return !again;
}

/* The item's name where the odometer stands. */
static size_t name_write(const struct item *it, char to[NODELIST_NAME_LEN_MAX + 1])
{
    size_t n = 0;
    const char *p = it->from;
    for (uint32_t i = 0; i <= it->n; i++) {
        const struct bracket *b = &it->brackets[i];
        size_t len = (size_t)((i < it->n ? b->from - 1 : it->end) - p);
        memcpy(to + n, p, len);
        n += len;
        if (i == it->n)
            break;
        n += (size_t)snprintf(to + n, NODELIST_NAME_LEN_MAX + 1 - n, "%0*u",
                              (int)b->width, b->lo);
        p = b->end + 1;
    }
    return n;
}

static int item_expand(struct item *it, nodelist_f each, void *arg)
{
    char name[NODELIST_NAME_LEN_MAX + 1];
    for (uint32_t b = 0; b < it->n; b++)
        bracket_step(&it->brackets[b]);
    for (;;) {
        int rc = each(arg, (struct str){name, name_write(it, name)});
        if (rc != 0)
            return rc;
        uint32_t b = it->n;
        while (b > 0 && !bracket_step(&it->brackets[b - 1]))
            b--;
        if (b == 0)
            return 0;
    }
}

int nodelist_expand(struct str list, nodelist_f each, void *arg, struct err *err)
{
    struct item it;
    uint64_t count = 0;
    list = str_trim(list);
    if (!list.len || str_is(list, "None assigned") || str_is(list, "(null)"))
        return 0;
    for (const char *p = list.ptr; p < list.ptr + list.len;) {
        int rc = item_read(list, &p, &it, &count, err);
        if (rc < 0)
            return rc;
        if (count > NODELIST_NAMES_MAX)
            return err_set(err, ERANGE, "node list: more than %d names",
                           NODELIST_NAMES_MAX);
    }
    for (const char *p = list.ptr; each && p < list.ptr + list.len;) {
        uint64_t again = 0;
        int rc = item_read(list, &p, &it, &again, err);
        if (rc == 0)
            rc = item_expand(&it, each, arg);
        if (rc != 0)
            return rc;
    }
    return (int)count;
}
