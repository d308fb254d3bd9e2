/* saying_job.c - sentences about a job
 * SPDX-License-Identifier: Apache-2.0 */
#include "words/saying_job.h"

#include <inttypes.h>

#include "base/units.h"
#include "sched/phase.h"

void saying_why_who(const struct words *w, const struct why *why, struct str who,
                    struct buf *out)
{
    saying_why(w, why, out);
    if (who.len)
        buf_fmt(out, "%s" STR_FMT, why->code == WHY_BEHIND ? ", " : "; that is ", STR_ARG(who));
}

static void tasks_up(const struct gang_look *g, struct buf *out)
{
    uint32_t all = g->running + g->issued + g->done;
    buf_fmt(out, ", %" PRIu32 " of %" PRIu32 " %s up", g->running,
            all > g->min ? all : g->min, all == 1 ? "task" : "tasks");
    if (g->done)
        buf_fmt(out, ", %" PRIu32 " done", g->done);
    if (g->ending)
        buf_fmt(out, ", %" PRIu32 " ending", g->ending);
}

static void kept(const struct gang_look *g, struct buf *out)
{
    if (g->planned)
        buf_fmt(out, "; room for %" PRIu32 " of its tasks is kept", g->planned);
}

void saying_gang(const struct words *w, const struct gang_look *g, bool held,
                 struct str who, struct buf *out)
{
    static const char *const verbs[] = {"waits",     "starts", "runs",
                                        "is broken", "stops",  "is over"};
    if (g->phase == LOOK_WAITING && (held || g->why.code != WHY_NONE)) {
        /* reasons read on after a name: "needs room ...", "waits behind ..." */
        if (held)
            buf_z(out, "is held by a person");
        else
            saying_why_who(w, &g->why, who, out);
        kept(g, out);
        return;
    }
    buf_z(out, verbs[g->phase]);
    if (g->phase == LOOK_STARTING || g->phase == LOOK_RUNNING ||
        g->phase == LOOK_BROKEN || g->phase == LOOK_STOPPING)
        tasks_up(g, out);
    if (g->phase == LOOK_BROKEN && g->why.code != WHY_NONE) {
        buf_z(out, ": ");
        saying_why_who(w, &g->why, who, out);
    } else if (g->phase == LOOK_WAITING) {
        buf_z(out, "; nothing was said yet");
    }
    kept(g, out);
}

void saying_claim(const struct claim_look *c, struct buf *out)
{
    buf_str(out, c->node.len ? c->node : STR("a node that is not known"));
    if (c->devs) {
        buf_z(out, " GPUs ");
        saying_devices(c->devs, out);
    }
    buf_fmt(out, " (%s)", claim_phase_name(c->phase));
}

static void count(uint32_t n, const char *one, const char *many, struct buf *out)
{
    char text[24];
    buf_fmt(out, "%s %s", count_text(n, text), n == 1 ? one : many);
}

static void when(const struct whatif *f, struct buf *out)
{
    char text[24];
    if (f->wait_us <= 0)
        buf_z(out, "would start at once");
    else
        buf_fmt(out, "would start in %s", duration_text(f->wait_us, text));
    if (f->ended) {
        buf_z(out, ", when ");
        count(f->ended, "job has", "jobs have", out);
        buf_z(out, " ended");
    }
    if (f->evicted) {
        buf_z(out, ", and would evict ");
        count(f->evicted, "task", "tasks", out);
        buf_z(out, " of ");
        count(f->evicted_jobs, "job", "jobs", out);
    }
    if (f->ended)
        buf_z(out, ", if jobs end as told and nothing else comes");
}

void saying_whatif(const struct words *w, const struct whatif *f, struct buf *out)
{
    if (f->starts) {
        when(f, out);
        return;
    }
    buf_z(out, "would not start: ");
    if (f->why.code == WHY_NONE)
        buf_z(out, "nothing was said");
    else
        saying_why_who(w, &f->why, f->who, out);
    if (f->endless && !f->invalid) {
        buf_z(out, "; nobody has told when ");
        count(f->endless, "job ends", "jobs end", out);
    }
}
