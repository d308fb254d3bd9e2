/* order.c - arrival orders and node ranks of the FGD experiment
 *
 * Lines "seed N pods i j ..." and "seed N noderank i j ...": ten seeds, a megabyte.
 * Lines of other seeds are skipped without a look at their numbers, and reading stops
 * when both lines of the seed were found.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/infile.h"
#include "base/mem.h"
#include "base/vec.h"
#include "trace/trace.h"

enum { CHUNK = 64 << 10, LINE_MAX_BYTES = 64 << 20, NUMBERS_MAX = 1 << 24 };

struct numbers {
    VEC(uint32_t) list;
    bool found;
};

struct orders {
    struct infile *in;
    char *data;
    size_t pos, end, room;
    uint64_t line, seed;
    struct numbers pods, ranks;
};

/* More bytes behind what is left. 1, 0 at the end, -errno. */
static int more(struct orders *o, struct err *err)
{
    memmove(o->data, o->data + o->pos, o->end - o->pos);
    o->end -= o->pos;
    o->pos = 0;
    if (o->room - o->end < CHUNK / 2) {
        if (o->room >= LINE_MAX_BYTES)
            return err_set(err, EFBIG, "%s:%llu:1: the line is too long",
                           infile_name(o->in), (unsigned long long)o->line + 1);
        o->room *= 2;
        o->data = mem_resize(o->data, o->room);
    }
    long n = infile_read(o->in, o->data + o->end, o->room - o->end, err);
    if (n > 0)
        o->end += (size_t)n;
    return n > 0 ? 1 : (int)n;
}

/* The next line without its end. 1, 0, -errno. */
static int line_next(struct orders *o, struct str *ret, struct err *err)
{
    size_t seen = 0;
    for (;;) {
        char *from = o->data + o->pos;
        char *nl = memchr(from + seen, '\n', o->end - o->pos - seen);
        if (nl) {
            *ret = (struct str){from, (size_t)(nl - from)};
            o->pos += ret->len + 1;
            break;
        }
        seen = o->end - o->pos;
        int rc = more(o, err);
        if (rc < 0)
            return rc;
        if (rc == 0) {
            if (o->pos == o->end)
                return 0;
            *ret = (struct str){o->data + o->pos, o->end - o->pos};
            o->pos = o->end;
            break;
        }
    }
    o->line++;
    return 1;
}

static int bad(const struct orders *o, struct str line, const char *at, struct err *err,
               const char *why)
{
    return err_set(err, EINVAL, "%s:%llu:%zu: %s", infile_name(o->in),
                   (unsigned long long)o->line, (size_t)(at - line.ptr) + 1, why);
}

static int numbers_read(struct orders *o, struct str line, struct str rest,
                        struct numbers *to, struct err *err)
{
    const char *p = rest.ptr, *end = rest.ptr + rest.len;
    if (to->found)
        return bad(o, line, p, err, "this seed has such a line already");
    to->found = true;
    for (;;) {
        uint64_t v = 0;
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
            p++;
        if (p == end)
            return 0;
        const char *first = p;
        for (; p < end && *p >= '0' && *p <= '9' && v <= UINT32_MAX; p++)
            v = v * 10 + (uint64_t)(*p - '0');
        if (p == first || v >= UINT32_MAX || (p < end && *p > ' '))
            return bad(o, line, first, err, "a row number is expected");
        if (to->list.n == NUMBERS_MAX)
            return bad(o, line, first, err, "too many numbers");
        vec_push(&to->list, (uint32_t)v);
    }
}

static int line_read(struct orders *o, struct str line, struct err *err)
{
    struct str rest = line;
    uint64_t seed;
    if (!str_trim(line).len)
        return 0;
    struct str word = str_cut(&rest, ' ');
    struct str number = rest.ptr ? str_cut(&rest, ' ') : (struct str){0};
    if (!str_is(word, "seed") || !number.len || str_to_u64(number, &seed) < 0 || !rest.ptr)
        return bad(o, line, line.ptr, err, "'seed N pods|noderank ...' is expected");
    struct str what = str_cut(&rest, ' ');
    bool pods = str_is(what, "pods");
    if (!pods && !str_is(what, "noderank"))
        return bad(o, line, what.ptr, err, "'pods' or 'noderank' is expected");
    if (seed != o->seed || !rest.ptr)
        return 0;
    return numbers_read(o, line, rest, pods ? &o->pods : &o->ranks, err);
}

int trace_order_load(const char *path, uint64_t seed, uint32_t **ret_pods,
                     uint32_t *ret_npods, uint32_t **ret_ranks, uint32_t *ret_nranks,
                     struct err *err)
{
    struct orders o = {.seed = seed, .room = CHUNK}; /* of a first seed that is most */
    struct str line;
    int rc = infile_open(&o.in, path, err);
    if (rc < 0)
        return rc;
    o.data = mem_alloc(o.room);
    while (!(o.pods.found && o.ranks.found) && (rc = line_next(&o, &line, err)) > 0) {
        rc = line_read(&o, line, err);
        if (rc < 0)
            break;
    }
    if (rc >= 0 && !(o.pods.found && o.ranks.found))
        rc = err_set(err, ENOENT, "%s: no %s of seed %llu", path,
                     o.pods.found ? "noderank" : "pods", (unsigned long long)seed);
    if (rc >= 0) {
        *ret_pods = o.pods.list.at;
        *ret_npods = o.pods.list.n;
        *ret_ranks = o.ranks.list.at;
        *ret_nranks = o.ranks.list.n;
        rc = 0;
    } else {
        vec_done(&o.pods.list);
        vec_done(&o.ranks.list);
    }
    infile_close(o.in);
    free(o.data);
    return rc;
}
