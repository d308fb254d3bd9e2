/* notes.c - what a user should know of a trace before trusting its figures
 *
 * Readers count what they notice (struct trace_notes); here it becomes sentences, the
 * same ones for `trace info`, `trace convert` and whoever else loads a trace.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cluster/catalogue.h"
#include "trace/reader.h"

/* "3 jobs start before ...: the first is row 17 (5300_1)"; returns 1 if there are any.
 */
static uint32_t note_text(const struct trace_note *note, const char *one,
                          const char *many, const char *prefix, struct buf *out)
{
    if (!note->n)
        return 0;
    if (note->n == 1)
        buf_fmt(out, "%s1 job %s: row %llu (%s)\n", prefix, one,
                (unsigned long long)note->row, note->name);
    else
        buf_fmt(out, "%s%llu jobs %s: the first is row %llu (%s)\n", prefix,
                (unsigned long long)note->n, many, (unsigned long long)note->row,
                note->name);
    return 1;
}

static bool has_gpus(const struct trace_list *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->jobs[i].gpus)
            return true;
    return false;
}

uint32_t trace_warnings(const struct trace_list *l, const char *prefix, struct buf *out)
{
    const struct trace_notes *n = &l->notes;
    uint32_t said =
        note_text(&n->early_start, "starts before it was submitted",
                  "start before they were submitted", prefix, out) +
        note_text(&n->early_end, "ends before its start", "end before their start",
                  prefix, out) +
        note_text(&n->cut_array,
                  "is a waiting array whose list of tasks is cut short (\"...\"): it "
                  "counts as one task",
                  "are waiting arrays whose lists of tasks are cut short (\"...\"): "
                  "each counts as one task",
                  prefix, out) +
        note_text(&n->partitions, "may go to several partitions and gets no tag",
                  "may go to several partitions and get no tag", prefix, out);
    if (strcmp(l->format, "sacct") || !l->n || has_gpus(l))
        return said;
    buf_fmt(out,
            "%sno row has GPUs: Slurm accounts for them only if slurm.conf has "
            "AccountingStorageTRES=gres/gpu, from then on (docs/data.md: ReqGRES)\n",
            prefix);
    return said + 1;
}

static struct str spelling(struct str type, const struct str *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_eq(names[i], type))
            return type;
    for (uint32_t i = 0; i < n; i++)
        if (catalogue_same(names[i], type))
            return names[i];
    return type;
}

static void list_spell(struct arena *text, const struct str **types, uint32_t ntypes,
                       const struct str *names, uint32_t n)
{
    struct str *own = arena_alloc(text, (ntypes + 1) * sizeof *own);
    for (uint32_t i = 0; i < ntypes; i++)
        own[i] = spelling((*types)[i], names, n);
    *types = own;
}

/* Equal lists keep being one array: who compares jobs compares the pointers. */
void trace_spell_types(struct trace_list *l, const struct str *names, uint32_t n)
{
    struct u64map done = {0};
    VEC(const struct str *) lists = {0};
    for (uint32_t i = 0; i < l->n; i++) {
        struct trace_job *j = &l->jobs[i];
        if (j->nparts) {
            struct trace_part *parts = arena_alloc(&l->text, j->nparts * sizeof *parts);
            memcpy(parts, j->parts, j->nparts * sizeof *parts);
            for (uint32_t p = 0; p < j->nparts; p++)
                list_spell(&l->text, &parts[p].types, parts[p].ntypes, names, n);
            j->parts = parts;
        }
        if (!j->ntypes)
            continue;
        uint32_t k = u64map_get(&done, (uintptr_t)j->types);
        if (k == MAP_NONE) {
            k = lists.n;
            u64map_put(&done, (uintptr_t)j->types, k);
            const struct str *own = j->types;
            list_spell(&l->text, &own, j->ntypes, names, n);
            vec_push(&lists, own);
        }
        j->types = lists.at[k];
    }
    vec_done(&lists);
    u64map_done(&done);
}

/* The tag of a partition. Jobs are many and partitions few: the last one is kept. */
void trace_need_partition(struct trace_list *l)
{
    static const char key[] = "partition=";
    const size_t n = sizeof key - 1;
    struct str last = {0}, tag = {0};
    for (uint32_t i = 0; i < l->n; i++) {
        struct trace_job *j = &l->jobs[i];
        if (!j->partition.len || j->need_tag.len)
            continue;
        if (memchr(j->partition.ptr, ',', j->partition.len)) {
            trace_note_add(&l->notes.partitions, j);
            continue;
        }
        if (!tag.len || !str_eq(last, j->partition)) {
            char *text = arena_alloc(&l->text, n + j->partition.len);
            memcpy(text, key, n);
            memcpy(text + n, j->partition.ptr, j->partition.len);
            last = j->partition;
            tag = (struct str){text, n + last.len};
        }
        j->need_tag = tag;
    }
}
