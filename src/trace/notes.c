/* notes.c - what a user should know of a trace before trusting its figures
 *
 * Readers count what they notice (struct trace_notes); here it becomes sentences, the
 * same ones for `trace info`, `trace convert` and whoever else loads a trace.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "trace/reader.h"

/* "3 jobs start before ...: the first is row 17 (5300_1)"; returns 1 if there are any. */
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
