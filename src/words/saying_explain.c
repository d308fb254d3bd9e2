/* saying_explain.c - a wait with its numbers, and a launch with its second best, in
 * words
 *
 * One sentence, its parts joined by "; ", most telling first: a limit of a queue, else
 * what is needed and what the best domain has, who holds the rest there, at what size
 * it would start, what is kept for it, its place in line. Times count from the moment
 * asked about. SPDX-License-Identifier: Apache-2.0 */
#include "words/saying_explain.h"

#include <inttypes.h>

#include "base/units.h"
#include "job/queue.h"

enum { HOLDERS_SHOWN = 3 };

static void part(struct buf *out, size_t from)
{
    if (out->len > from)
        buf_z(out, "; ");
}

static void count(uint32_t n, const char *one, struct buf *out)
{
    char text[24];
    buf_fmt(out, "%s %s%s", count_text(n, text), one, n == 1 ? "" : "s");
}

static void amount(const struct explain *e, int64_t n, struct buf *out)
{
    char text[24];
    buf_z(out, e->resource == QUOTA_MEM ? size_text((uint64_t)n, text)
                                        : milli_text(n, text));
}

static void say_quota(const struct words *w, const struct explain *e, struct buf *out)
{
    static const char *const units[] = {" GPUs", " CPUs", " of memory"};
    if (e->queue.len)
        buf_fmt(out, "queue " STR_FMT " may use ", STR_ARG(e->queue));
    else
        buf_z(out, "all queues together may use ");
    amount(e, e->most, out);
    if (e->type)
        buf_fmt(out, " " STR_FMT, STR_ARG(words_text(w, e->type)));
    buf_fmt(out, "%s and %s ", units[e->resource], e->queue.len ? "uses" : "use");
    amount(e, e->used, out);
    buf_z(out, "; it asks for ");
    amount(e, e->asked, out);
}

static void say_need(const struct words *w, const struct explain *e, struct buf *out)
{
    buf_z(out, "needs ");
    if (e->whole_nodes)
        count(e->tasks, "whole node", out);
    else if (e->tasks == 1 && e->gpus)
        count(e->gpus, "GPU", out);
    else
        count(e->tasks, "task", out);
    if (!e->whole_nodes && e->tasks > 1 && e->gpus) {
        buf_z(out, " of ");
        count(e->gpus, "GPU", out);
    }
    if (e->level)
        buf_fmt(out, " in one " STR_FMT, STR_ARG(words_text(w, e->level)));
    else if (e->tasks == 1 && e->gpus && !e->whole_nodes)
        buf_z(out, " on one node");
    if (e->best.len)
        buf_fmt(out, "; the best, " STR_FMT ", has room for ", STR_ARG(e->best));
    else
        buf_z(out, "; there is room for ");
    buf_fmt(out, "%" PRIu32, e->best_tasks);
}

static void say_holder(const struct explain *e, const struct explain_holder *h,
                       struct buf *out)
{
    char text[24];
    buf_z(out, "; ");
    count(h->gpus, "GPU", out);
    buf_fmt(out, "%s %s %s ", e->best.len ? " there" : "", h->gpus == 1 ? "is" : "are",
            h->kind == UNTIL_KEPT ? "kept for" : "held by");
    if (h->job.len)
        buf_fmt(out, "job " STR_FMT, STR_ARG(h->job));
    else
        buf_z(out, "others");
    if (h->kind == UNTIL_UNKNOWN)
        buf_z(out, ", nobody has told until when");
    else if (h->until > e->at && h->until < INT64_MAX && h->kind != UNTIL_KEPT)
        buf_fmt(out, " for about %s more (%s)", duration_text(h->until - e->at, text),
                h->kind == UNTIL_LIMIT ? "its limit" : "expected");
}

static void say_holders(const struct explain *e, struct buf *out)
{
    for (uint32_t i = 0; i < e->holders.n && i < HOLDERS_SHOWN; i++)
        say_holder(e, &e->holders.at[i], out);
    if (e->holders.n > HOLDERS_SHOWN) {
        buf_z(out, "; the rest by ");
        count(e->holders.n - HOLDERS_SHOWN, "more job", out);
    }
    if (e->best_unusable) {
        buf_z(out, "; ");
        count(e->best_unusable, "node", out);
        buf_fmt(out, "%s %s drained, down or spare", e->best.len ? " there" : "",
                e->best_unusable == 1 ? "is" : "are");
    }
}

static void say_kept(const struct explain *e, struct buf *out)
{
    char text[24];
    buf_fmt(out, "free already: %" PRIu32 " of the %" PRIu32 " places kept for it; ",
            e->kept, e->tasks);
    if (e->by)
        buf_fmt(out, "it is promised a start within %s",
                duration_text(e->by > e->at ? e->by - e->at : 0, text));
    else
        buf_z(out, "no time is promised: one in the way has no limit");
    if (e->expected > e->at && (!e->by || e->expected < e->by))
        buf_fmt(out, "; expected in %s", duration_text(e->expected - e->at, text));
}

static bool is_about_room(int code)
{
    switch (code) {
    case WHY_NONE:
    case WHY_NEEDS_ROOM:
    case WHY_PROMISED:
    case WHY_QUOTA:
    case WHY_BEHIND:
    case WHY_CONSTRAINT:
    case WHY_CPU:
    case WHY_CHEAPER:
    case WHY_AUTHORITY: return true;
    default: return false;
    }
}

void saying_explain(const struct words *w, const struct explain *e, struct buf *out)
{
    size_t from = out->len;
    if (!is_about_room(e->why.code) || e->tasks == 0)
        return;
    if (e->over) {
        say_quota(w, e, out);
    } else if (e->fits) {
        buf_z(out, "there is room for it now");
    } else {
        say_need(w, e, out);
        say_holders(e, out);
        if (e->now_tasks)
            buf_fmt(out, "; would start now with %" PRIu32, e->now_tasks);
    }
    if (e->reserved) {
        part(out, from);
        say_kept(e, out);
    }
    if (e->before) {
        part(out, from);
        count(e->before, "gang", out);
        buf_fmt(out, " %s before it", e->before == 1 ? "stands" : "stand");
    }
}

static void left_free(uint32_t left, uint32_t nodes, struct buf *out)
{
    count(left, "GPU", out);
    buf_fmt(out, " left free on its %s", nodes == 1 ? "node" : "nodes");
}

void saying_second(const struct explain_second *e, struct buf *out)
{
    if (!e->asked)
        return;
    buf_str(out, e->chosen);
    buf_z(out, ", with ");
    left_free(e->left, e->nodes, out);
    if (!e->found) {
        buf_z(out, "; there was no other place");
        return;
    }
    buf_fmt(out, "; the next best was " STR_FMT ", with ", STR_ARG(e->next));
    left_free(e->next_left, e->next_nodes, out);
}

void saying_evictions(const struct explain_evictions *e, struct buf *out)
{
    if (!e->asked)
        return;
    buf_str(out, e->names);
    buf_z(out, ", with ");
    count(e->gpu_hours, "GPU-hour", out);
    buf_z(out, " lost; ");
    if (e->next_victims) {
        buf_fmt(out, "the next best: " STR_FMT ", with %" PRIu32,
                STR_ARG(e->next_names), e->next_gpu_hours);
    } else {
        buf_z(out, "no others would do");
    }
}

static void json_holders(const struct explain *e, int64_t start, struct buf *out)
{
    static const char *const kinds[] = {"unknown", "expected", "limit", "kept"};
    buf_z(out, ",\"holders\":[");
    for (uint32_t i = 0; i < e->holders.n; i++) {
        const struct explain_holder *h = &e->holders.at[i];
        buf_z(out, i ? ",{\"job\":" : "{\"job\":");
        buf_json(out, h->job);
        buf_fmt(out, ",\"gpus\":%" PRIu32 ",\"nodes\":%" PRIu32 ",\"until\":\"%s\"",
                h->gpus, h->nodes, kinds[h->kind]);
        if (h->until != INT64_MAX && h->until != INT64_MIN)
            buf_fmt(out, ",\"until_us\":%" PRId64, h->until - start);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

void saying_explain_json(const struct words *w, const struct explain *e, int64_t start,
                         struct buf *out)
{
    buf_fmt(out, "{\"tasks\":%" PRIu32 ",\"gpus\":%" PRIu32 ",\"fits\":%s,\"level\":",
            e->tasks, e->gpus, e->fits ? "true" : "false");
    buf_json(out, words_text(w, e->level));
    buf_z(out, ",\"best\":");
    buf_json(out, e->best);
    buf_fmt(out,
            ",\"best_tasks\":%" PRIu32 ",\"starts_now_with\":%" PRIu32
            ",\"before\":%" PRIu32 ",\"unusable_nodes\":%" PRIu32,
            e->best_tasks, e->now_tasks, e->before, e->best_unusable);
    json_holders(e, start, out);
    if (e->reserved) {
        buf_fmt(out, ",\"reservation\":{\"start_us\":%" PRId64 ",\"kept\":%" PRIu32,
                e->start - start, e->kept);
        if (e->by)
            buf_fmt(out, ",\"by_us\":%" PRId64, e->by - start);
        buf_fmt(out, ",\"expected_us\":%" PRId64 "}", e->expected - start);
    }
    if (e->over) {
        static const char *const kinds[] = {"gpu_milli", "cpu_milli", "mem_bytes"};
        buf_z(out, ",\"quota\":{\"queue\":");
        buf_json(out, e->queue);
        buf_fmt(out,
                ",\"resource\":\"%s\",\"most\":%" PRId64 ",\"used\":%" PRId64
                ",\"asked\":%" PRId64 "}",
                kinds[e->resource], e->most, e->used, e->asked);
    }
    buf_char(out, '}');
}

void saying_second_json(const struct explain_second *e, struct buf *out)
{
    buf_z(out, "{\"chosen\":");
    buf_json(out, e->chosen);
    buf_fmt(out, ",\"left_gpus\":%" PRIu32 ",\"found\":%s", e->left,
            e->found ? "true" : "false");
    if (e->found) {
        buf_z(out, ",\"next\":");
        buf_json(out, e->next);
        buf_fmt(out, ",\"next_left_gpus\":%" PRIu32, e->next_left);
    }
    buf_char(out, '}');
}

void saying_evictions_json(const struct explain_evictions *e, struct buf *out)
{
    buf_z(out, "{\"chosen\":");
    buf_json(out, e->names);
    buf_fmt(out, ",\"gpu_hours\":%" PRIu32 ",\"found\":%s", e->gpu_hours,
            e->next_victims ? "true" : "false");
    if (e->next_victims) {
        buf_z(out, ",\"next\":");
        buf_json(out, e->next_names);
        buf_fmt(out, ",\"next_gpu_hours\":%" PRIu32, e->next_gpu_hours);
    }
    buf_char(out, '}');
}
