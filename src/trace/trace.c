/* trace.c - opens histories, whatever their format, and loads them in time order
 *
 * A format is a row of operations (reader.h). Without a name the format is told by the
 * file's first line: '{' is JSON Lines, ';' or a name in .swf is SWF, a unit separator
 * or the sacct columns is Slurm, and a CSV's first line must be listed by a mapping.
 * trace_load keeps rows as they come and sorts only if a submit time goes back: LSD
 * radix sort of (submit, place), then the rows are moved along the cycles of the
 * permutation, so that no second array is needed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/infile.h"
#include "base/mem.h"
#include "base/units.h"
#include "cluster/catalogue.h"
#include "trace/reader.h"
#include "trace/site.h"

enum { PEEK_MAX = 8192, RADIX_BITS = 12, FETCH_AHEAD = 6, ROW_DIGITS = 8 };

#define SIGN_BIT (UINT64_C(1) << 63) /* signed order as unsigned order */
#define HUGE ((size_t)2 << 20)       /* bytes of a huge page */
#define ROOM_MAX ((size_t)64 << 30)
#define ROOM_MIN ((size_t)16 << 20)

/* Where the bytes come from: a path, or memory. */
struct source {
    const char *name;
    const void *data; /* NULL: name is a path */
    size_t len;
};

static int source_open(const struct source *src, struct infile **ret, struct err *err)
{
    return src->data ? infile_open_mem(ret, src->data, src->len, src->name, err)
                     : infile_open(ret, src->name, err);
}

/* The first line that is no '#' remark, without its end; all within the first bytes. */
static struct str first_line(struct str text)
{
    struct str line;
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = (struct str){text.ptr + 3, text.len - 3};
    do
        line = str_cut(&text, '\n');
    while (line.len && line.ptr[0] == '#' && text.ptr);
    while (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

static int source_first_line(const struct source *src, char room[PEEK_MAX],
                             struct str *ret, struct err *err)
{
    struct infile *in;
    size_t n = 0;
    int rc = source_open(src, &in, err);
    if (rc < 0)
        return rc;
    while (n < PEEK_MAX) {
        long got = infile_read(in, room + n, PEEK_MAX - n, err);
        if (got < 0)
            rc = (int)got;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    infile_close(in);
    *ret = first_line((struct str){room, n});
    return rc;
}

static bool name_has(const char *name, const char *ending)
{
    size_t n = strlen(name), e = strlen(ending);
    for (; n >= e; n--)
        if (!memcmp(name + n - e, ending, e) && (!name[n] || name[n] == '.'))
            return true;
    return false;
}

static int format_recognise(const struct source *src, const struct trace_ops **ret,
                            struct mapping **ret_mapping, struct err *err)
{
    char room[PEEK_MAX];
    struct str line;
    if (!src->data && !strcmp(src->name, "-"))
        return err_set(err, EINVAL, "standard input has no name to tell its format by: "
                       "give --format");
    int rc = source_first_line(src, room, &line, err);
    if (rc < 0)
        return rc;
    if (!line.len)
        return err_set(err, EINVAL, "%s: the first line is empty", src->name);
    *ret = NULL;
    if (line.ptr[0] == '{')
        *ret = &trace_jsonl;
    else if (line.ptr[0] == ';' || name_has(src->name, ".swf"))
        *ret = &trace_swf;
    else if (memchr(line.ptr, '\x1f', line.len) || str_starts(line, STR("JobIDRaw|")) ||
             name_has(src->name, ".sacct"))
        *ret = &trace_sacct;
    if (*ret)
        return 0;
    *ret = &trace_mapped;
    rc = mapping_recognise(line, ret_mapping, err);
    return rc < 0 ? err_prefix(err, "%s", src->name) : 0;
}

static int format_find(const char *format, const struct trace_ops **ret,
                       struct mapping **ret_mapping, struct err *err)
{
    static const struct trace_ops *const built_in[] = {&trace_swf, &trace_sacct,
                                                       &trace_jsonl};
    char path[4096];
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        if (!strcmp(format, built_in[i]->name)) {
            *ret = built_in[i];
            return 0;
        }
    int rc = mapping_find(format, path, err);
    if (rc == 0)
        rc = mapping_load(ret_mapping, path, err);
    *ret = &trace_mapped;
    return rc;
}

static int source_trace(const struct source *src, const char *format,
                        struct trace **ret, struct err *err)
{
    const struct trace_ops *ops = NULL;
    struct mapping *mapping = NULL;
    struct infile *in;
    int rc = format && *format ? format_find(format, &ops, &mapping, err)
                               : format_recognise(src, &ops, &mapping, err);
    if (rc < 0)
        return rc;
    rc = source_open(src, &in, err);
    if (rc < 0) {
        mapping_free(mapping);
        return rc;
    }
    struct trace *t = mem_zero(sizeof *t);
    t->ops = ops;
    t->mapping = mapping;
    t->gpus_per_node = mapping ? mapping->gpus_per_node : 0;
    snprintf(t->format, sizeof t->format, "%s", mapping ? mapping->name : ops->name);
    rc = ops->open(t, in, err);
    if (rc < 0) {
        trace_close(t);
        return rc;
    }
    *ret = t;
    return 0;
}

int trace_open(struct trace **ret, const char *path, const char *format,
               struct err *err)
{
    return source_trace(&(struct source){.name = path}, format, ret, err);
}

int trace_open_mem(struct trace **ret, const void *data, size_t len, const char *name,
                   const char *format, struct err *err)
{
    struct source src = {.name = name, .data = data ? data : "", .len = len};
    return source_trace(&src, format, ret, err);
}

/* Clocks of several machines, or a mapping with the wrong column. */
static void times_note(struct trace *t, const struct trace_job *j)
{
    if (j->start_us < j->submit_us)
        trace_note_add(&t->notes.early_start, j);
    if (j->end_us != TRACE_NEVER && j->end_us < j->start_us)
        trace_note_add(&t->notes.early_end, j);
}

int trace_next(struct trace *t, struct trace_job *ret, struct err *err)
{
    int rc = t->ops->next(t, ret, err);
    if (rc > 0 && ret->start_us != TRACE_NEVER)
        times_note(t, ret);
    return rc;
}

uint32_t trace_gpus_per_node(const struct trace *t)
{
    return t->gpus_per_node;
}

const char *trace_format_name(const struct trace *t)
{
    return t->format;
}

struct str trace_remark(const struct trace *t)
{
    return t->remark;
}

uint64_t trace_rows(const struct trace *t)
{
    return t->rows;
}

uint64_t trace_skipped(const struct trace *t)
{
    return t->skipped;
}

void trace_close(struct trace *t)
{
    if (!t)
        return;
    t->ops->close(t);
    mapping_free(t->mapping);
    arena_done(&t->text);
    strmap_done(&t->ids);
    vec_done(&t->texts);
    vec_done(&t->lists);
    vec_done(&t->tags);
    free(t);
}

/* --- what the readers share
 * --------------------------------------------------------- */

uint32_t trace_intern_id(struct trace *t, struct str s)
{
    uint32_t id = strmap_get(&t->ids, s);
    if (id != MAP_NONE)
        return id;
    struct str own = arena_str(&t->text, s);
    id = t->texts.n;
    vec_push(&t->texts, own);
    vec_resize(&t->lists, t->texts.n);
    vec_resize(&t->tags, t->texts.n);
    strmap_put(&t->ids, own, id);
    return id;
}

struct str trace_intern(struct trace *t, struct str s)
{
    if (!s.len)
        return (struct str){"", 0};
    uint32_t id = trace_intern_id(t, s);
    return t->texts.at[id];
}

/* Types get the catalogue's names, as those of a cluster file do. A name that stands
 * twice is kept twice: the FGD experiment's typical mix takes the lists
 * "V100M16|V100M32" and "V100M16|V100M32|V100M32" for two kinds of task. */
struct trace_types trace_intern_list(struct trace *t, struct str s, char sep)
{
    static const struct str none;
    if (!s.len)
        return (struct trace_types){&none, 0};
    uint32_t id = trace_intern_id(t, s);
    if (t->lists.at[id].at)
        return t->lists.at[id];
    struct str items[TRACE_TYPES_MAX], rest = t->texts.at[id];
    uint32_t n = 0;
    while (rest.ptr) {
        struct str item = rest;
        if (sep)
            item = str_cut(&rest, sep);
        else
            rest.ptr = NULL;
        item = str_trim(item);
        if (!item.len)
            continue;
        if (n == TRACE_TYPES_MAX)
            return (struct trace_types){NULL, 0};
        items[n++] = catalogue_canonical(item);
    }
    struct str *own = arena_alloc(&t->text, (n + 1) * sizeof *own);
    memcpy(own, items, n * sizeof *own);
    t->lists.at[id] = (struct trace_types){own, n};
    return t->lists.at[id];
}

/* The row's number in decimal digits goes up with it: cheaper than to print each. */
void trace_row(struct trace *t)
{
    char *end = t->row_name + sizeof t->row_name, *p = end - 1;
    if (t->rows++ == 0) {
        memset(t->row_name, '0', sizeof t->row_name);
        t->row_digits = ROW_DIGITS;
        return;
    }
    for (; *p == '9' && p > t->row_name; p--)
        *p = '0';
    ++*p;
    if (end - p > t->row_digits)
        t->row_digits = (uint32_t)(end - p);
}

void trace_job_init(struct trace *t, struct trace_job *job)
{
    static const struct trace_job blank = {
        .user = {"", 0}, .queue = {"", 0}, .submit_us = TRACE_NEVER,
        .start_us = TRACE_NEVER, .end_us = TRACE_NEVER, .eligible_us = TRACE_NEVER,
        .run_us = TRACE_NEVER, .need_level = {"", 0}, .need_tag = {"", 0},
        .node_list = {"", 0}, .partition = {"", 0}};
    trace_job_from(t, job, &blank);
}

void trace_note_add(struct trace_note *note, const struct trace_job *j)
{
    if (note->n++)
        return;
    note->row = j->row + 1;
    snprintf(note->name, sizeof note->name, STR_FMT, STR_ARG(j->name));
}

static bool known(int64_t us)
{
    return us != TRACE_NEVER;
}

void trace_job_settle(struct trace_job *j)
{
    int64_t v;
    if (!known(j->run_us) && known(j->start_us) && known(j->end_us) &&
        !__builtin_sub_overflow(j->end_us, j->start_us, &v) && v >= 0)
        j->run_us = v;
    if (!known(j->end_us) && known(j->start_us) && known(j->run_us) &&
        j->state != TRACE_RUNNING &&
        !__builtin_add_overflow(j->start_us, j->run_us, &v))
        j->end_us = v;
    if (j->gpus == 0)
        j->gpu_milli = 0;
}

int trace_cell_err(const struct csv *csv, uint32_t cell, int code, struct err *err,
                   const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return err_set(err, code, "%s:%llu:%u: %s", csv_name(csv),
                   (unsigned long long)csv_line(csv, cell), csv_column(csv, cell),
                   text);
}

/* --- the whole in time order
 * -------------------------------------------------------- */

struct sort_key {
    uint64_t key;
    uint32_t place;
};

/* Stable LSD radix sort by key; returns the array that holds the result (a or b). */
static struct sort_key *keys_sort(struct sort_key *a, struct sort_key *b, uint32_t n,
                                  uint64_t most)
{
    uint32_t count[1u << RADIX_BITS];
    const uint64_t mask = (1u << RADIX_BITS) - 1;
    for (uint32_t shift = 0; shift < 64 && most >> shift; shift += RADIX_BITS) {
        uint32_t sum = 0;
        memset(count, 0, sizeof count);
        for (uint32_t i = 0; i < n; i++)
            count[a[i].key >> shift & mask]++;
        for (uint32_t d = 0; d <= mask; d++) {
            uint32_t c = count[d];
            count[d] = sum;
            sum += c;
        }
        for (uint32_t i = 0; i < n; i++)
            b[count[a[i].key >> shift & mask]++] = a[i];
        struct sort_key *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

static void job_prefetch(const struct trace_job *j)
{
    for (size_t line = 0; line < sizeof *j; line += 64)
        __builtin_prefetch((const char *)j + line);
}

/* jobs[i] = old jobs[from[i].place], along the cycles. Each step goes somewhere far
 * off, but the way is known: what is needed a few steps later is fetched now. */
static void jobs_permute(struct trace_job *jobs, struct sort_key *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (from[i].place == i)
            continue;
        struct trace_job first = jobs[i];
        uint32_t at = i, ahead = i;
        for (int k = 0; k < FETCH_AHEAD; k++)
            ahead = from[ahead].place;
        while (from[at].place != i) {
            uint32_t next = from[at].place;
            job_prefetch(&jobs[ahead]);
            ahead = from[ahead].place;
            jobs[at] = jobs[next];
            from[at].place = at;
            at = next;
        }
        jobs[at] = first;
        from[at].place = at;
    }
}

/* The keys are the submit times less the least, in seconds if they are whole ones. */
static void jobs_sort(struct trace_job *jobs, struct sort_key *keys, uint32_t n)
{
    uint64_t lo = UINT64_MAX, hi = 0;
    bool whole = true;
    for (uint32_t i = 0; i < n; i++) {
        lo = keys[i].key < lo ? keys[i].key : lo;
        hi = keys[i].key > hi ? keys[i].key : hi;
        whole = whole && keys[i].key % US_PER_S == keys[0].key % US_PER_S;
    }
    for (uint32_t i = 0; i < n; i++)
        keys[i].key = whole ? (keys[i].key - lo) / US_PER_S : keys[i].key - lo;
    struct sort_key *other = mem_alloc(n * sizeof *other);
    jobs_permute(jobs,
                 keys_sort(keys, other, n, whole ? (hi - lo) / US_PER_S : hi - lo), n);
    free(other);
}

/* What of a row does not live as long as the list. */
static void job_keep(struct arena *text, struct trace_job *j)
{
    j->name = arena_str(text, j->name);
    if (j->node_list.len)
        j->node_list = arena_str(text, j->node_list);
    else
        j->node_list = (struct str){"", 0};
    if (j->nparts) {
        struct trace_part *own = arena_alloc(text, j->nparts * sizeof *own);
        memcpy(own, j->parts, j->nparts * sizeof *own);
        j->parts = own;
    }
}

/* Address space for jobs, aligned and marked for huge pages: a large list costs half
 * its time in page faults otherwise, and growing by copies a third. Nothing is used
 * before it is written. Where so much address space is not to be had, less is taken. */
static int jobs_reserve(struct trace_list *l, struct err *err)
{
    for (size_t room = ROOM_MAX; room >= ROOM_MIN; room /= 4) {
        char *at = mmap(NULL, room, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            continue;
        size_t skip = (HUGE - (uintptr_t)at % HUGE) % HUGE;
        l->pages = at;
        l->pages_bytes = room;
        l->jobs = (struct trace_job *)(void *)(at + skip);
        madvise(at, room, MADV_HUGEPAGE); /* only a hint */
        return 0;
    }
    return err_set(err, ENOMEM, "no address space for a list of jobs");
}

static int list_fill(struct trace *t, struct trace_list *l, struct err *err)
{
    VEC(struct sort_key) keys = {0};
    bool sorted = true;
    int rc = jobs_reserve(l, err);
    while (rc >= 0) {
        struct trace_job *j = &l->jobs[l->n];
        if ((char *)(j + 1) > l->pages + l->pages_bytes || l->n == UINT32_MAX / 2) {
            rc = err_set(err, EFBIG, "more jobs than there is room for: %u", l->n);
            break;
        }
        rc = trace_next(t, j, err);
        if (rc <= 0)
            break;
        job_keep(&t->text, j);
        sorted = sorted && (!l->n || j[-1].submit_us <= j->submit_us);
        vec_push(&keys, (struct sort_key){(uint64_t)j->submit_us ^ SIGN_BIT, l->n});
        l->n++;
    }
    if (rc == 0 && !sorted)
        jobs_sort(l->jobs, keys.at, l->n);
    vec_done(&keys);
    return rc;
}

void trace_list_done(struct trace_list *l)
{
    if (l->pages)
        munmap(l->pages, l->pages_bytes);
    arena_done(&l->text);
    *l = (struct trace_list){0};
}

/* Formats without a mapping say nothing. */
static int list_site(struct trace *t, const char *name, struct trace_list *l, struct err *err)
{
    static const struct mapping_site none;
    return site_read(t->mapping ? &t->mapping->site : &none, t->remark, name, &t->text,
                     &l->site, err);
}

static int list_load(struct trace *t, const char *name, struct trace_list *ret,
                     struct err *err)
{
    struct trace_list l = {0};
    int rc = list_fill(t, &l, err);
    if (rc >= 0)
        rc = list_site(t, name, &l, err);
    if (rc < 0) {
        trace_list_done(&l);
    } else {
        l.gpus_per_node = t->gpus_per_node;
        l.skipped = t->skipped;
        l.notes = t->notes;
        memcpy(l.format, t->format, sizeof l.format);
        l.remark = t->remark;
        l.text = t->text; /* the strings go with the list */
        t->text = (struct arena){0};
        *ret = l;
    }
    trace_close(t);
    return rc;
}

int trace_load(struct trace_list *ret, const char *path, const char *format,
               struct err *err)
{
    struct trace *t;
    int rc = trace_open(&t, path, format, err);
    return rc < 0 ? rc : list_load(t, path, ret, err);
}

int trace_load_mem(struct trace_list *ret, const void *data, size_t len,
                   const char *name, const char *format, struct err *err)
{
    struct trace *t;
    int rc = trace_open_mem(&t, data, len, name, format, err);
    return rc < 0 ? rc : list_load(t, name, ret, err);
}
