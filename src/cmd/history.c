/* history.c - one pass over a journal: the state at a point, and what befell one job
 *
 * What a gang of many tasks hears of each of them in one instant is one line.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/history.h"

#include <errno.h>
#include <inttypes.h>

#include "base/hash.h"
#include "words/saying_job.h"

enum { GANGS_WATCHED = 4096 };

static bool is_task_event(int kind)
{
    switch (kind) {
    case EV_TASK_OFFERED:
    case EV_TASK_GONE:
    case EV_TASK_AT:
    case EV_TASK_REFUSED:
    case EV_TASK_ENDING:
    case EV_TASK_ENDED:
    case EV_STOP_REFUSED: return true;
    default: return false;
    }
}

static bool stops(const struct record *r, struct str job)
{
    for (uint32_t i = 0; i < r->stop.ntasks; i++)
        if (str_eq(r->stop.tasks[i].gang.job, job))
            return true;
    return false;
}

static bool concerns(const struct record *r, struct str job)
{
    if (is_task_event(r->kind))
        return str_eq(r->task_at.ref.gang.job,
                      job); /* the reference stands first in all */
    switch (r->kind) {
    case EV_JOB_SET: return str_eq(r->job_set->name, job);
    case EV_JOB_DO: return str_eq(r->job_do.job, job);
    case EV_CHECKPOINT_SAVED: return str_eq(r->checkpoint_saved.job, job);
    case EV_BUDGET_SET: return str_eq(r->budget_set.job, job);
    case EV_SIGNAL: return str_eq(r->signal.job, job);
    case DE_LAUNCH: return str_eq(r->launch.gang.job, job);
    case DE_STOP: return stops(r, job);
    case DE_ASK: return str_eq(r->ask.job, job);
    case DE_HOLD: return str_eq(r->hold.gang.job, job);
    case DE_SAY: return !r->say.node.len && str_eq(r->say.gang.job, job);
    default: return false;
    }
}

static void name_seen(struct history *h, struct str name)
{
    uint64_t key = digest_bytes(name.ptr, name.len, 0);
    if (key == UINT64_MAX || u64map_get(&h->by_digest, key) != MAP_NONE)
        return;
    u64map_put(&h->by_digest, key, h->names.n);
    vec_push(&h->names, arena_str(&h->text, name));
}

struct str history_who(const struct history *h, uint64_t who)
{
    uint32_t at = who == UINT64_MAX ? MAP_NONE : u64map_get(&h->by_digest, who);
    return at == MAP_NONE ? (struct str){0} : h->names.at[at];
}

static void line_add(struct history *h, const struct record *r, uint32_t more)
{
    struct buf b = {0};
    struct str who = r->why.who ? history_who(h, r->why.who) : (struct str){0};
    saying_record(sched_words(h->sched), r, &b);
    if (who.len)
        buf_fmt(&b, "; that is " STR_FMT, STR_ARG(who));
    if (more)
        buf_fmt(&b, ", and %" PRIu32 " more", more);
    vec_push(&h->lines,
             (struct history_line){r->seq, r->at, arena_str(&h->text, buf_as_str(&b))});
    buf_done(&b);
}

/* Records like this one behind it in the frame: same kind, same job. */
static uint32_t alike(const struct journal_frame *f, uint32_t i, uint32_t n,
                      struct str job)
{
    uint32_t more = 0;
    const struct record *at = f->records->list.at;
    for (uint32_t k = i + 1; k < n; k++)
        more += at[k].kind == at[i].kind && concerns(&at[k], job);
    return more;
}

static void phases_look(struct history *h, struct str job, int64_t at)
{
    struct job_look j;
    struct gang_look g;
    uint32_t id = sched_look_find(h->sched, job);
    uint32_t n = id != UINT32_MAX && sched_look_job(h->sched, id, &j) ? j.gangs : 0;
    n = n < GANGS_WATCHED ? n : GANGS_WATCHED;
    for (uint32_t i = 0; i < n; i++) {
        sched_look_gang(h->sched, id, i, &g);
        if (i == h->since.n) {
            vec_push(&h->since, at);
            vec_push(&h->phases, g.phase);
        } else if (h->phases.at[i] != g.phase) {
            h->phases.at[i] = g.phase;
            h->since.at[i] = at;
        }
    }
}

static void see_frame(struct history *h, const struct journal_frame *f, uint32_t n,
                      struct str job)
{
    bool told[REC_KINDS] = {false}, any = false;
    uint64_t border = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct record *r = &f->records->list.at[i];
        if (r->kind == REC_BORDER)
            border = r->seq;
        if (r->kind == EV_JOB_SET)
            name_seen(h, r->job_set->name);
        if (!job.len || !concerns(r, job))
            continue;
        any = true;
        if (r->kind == DE_LAUNCH && !r->would)
            h->launched = r->seq;
        if (r->kind == DE_HOLD && r->why.code == WHY_RECLAIMED) {
            h->reclaimed_gang = r->hold.gang;
            h->reclaimed_gang.job = arena_str(&h->text, r->hold.gang.job);
            h->reclaimed_border = border;
        }
        bool task = is_task_event(r->kind);
        if (!task || !told[r->kind])
            line_add(h, r, task ? alike(f, i, n, job) : 0);
        told[r->kind] = true;
    }
    if (any)
        phases_look(h, job, f->at);
}

static int read_frames(struct history *h, struct journal_reader *r,
                       const struct journal_point *to, struct str job, struct err *err)
{
    struct journal_frame f;
    int more;
    while ((more = journal_reader_next(r, &f, err)) > 0) {
        uint32_t n = 0;
        if (f.first_seq > to->seq || f.at > to->at)
            return 0;
        while (n < f.n && f.first_seq + n <= to->seq)
            sched_fold(h->sched, &f.records->list.at[n++]);
        h->seq = f.first_seq + n - 1;
        h->at = f.at;
        see_frame(h, &f, n, job);
    }
    return more;
}

int history_read(struct history *ret, const char *path, const struct journal_point *to,
                 const char *job, struct err *err)
{
    struct history h = {0};
    struct journal_base base;
    struct journal_reader *r;
    int rc = point_start(&h.start, path, err);
    if (!rc)
        rc = journal_base(&base, path, to, job == NULL, err);
    if (rc)
        return rc;
    h.sched = base.sched;
    h.seq = base.seq;
    h.at = h.start;
    struct job_look j;
    for (uint32_t i = 0; i < sched_look_jobs(h.sched); i++)
        if (sched_look_job(h.sched, i, &j))
            name_seen(&h, j.name); /* of a snapshot */
    rc = journal_reader_open(&r, path, base.seq, NULL, err);
    if (!rc) {
        rc = read_frames(&h, r, to, str_of(job), err);
        journal_reader_close(r);
    }
    if (to->at != INT64_MAX && to->at > h.at)
        h.at = to->at; /* nothing happened since */
    if (rc)
        history_done(&h);
    else
        *ret = h;
    return rc;
}

void history_done(struct history *h)
{
    sched_destroy(h->sched);
    vec_done(&h->lines);
    vec_done(&h->since);
    vec_done(&h->phases);
    vec_done(&h->names);
    u64map_done(&h->by_digest);
    arena_done(&h->text);
}
