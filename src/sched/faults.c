/* faults.c - is the job bad, or the node? The fold side
 *
 * A task that fails by itself is evidence against its job, and against its node. A node on
 * which tasks of so many different jobs failed within an hour (policy: bad_node_failures) is
 * suspect, and decide cordons it; what failed there is not held against the jobs then. A job
 * that fails on a second node is at fault itself: it is no evidence against either, and its
 * back-off doubles with each further try. Of a gang only the first failure of a launch counts
 * against a node: the others may have followed from it.
 * Bounded: the last 1024 failures. O(those x those on the node) a failure, O(gangs) a cordon.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "sched/state.h"

#define WINDOW_US (3600 * INT64_C(1000000))
#define BACKOFF_MAX_US (24 * 3600 * INT64_C(1000000))
enum { FAILURES_MAX = 1024, DOUBLINGS_MAX = 16 };

int64_t gang_backoff(const struct sched *s, const struct gang *g)
{
    int64_t us = s->jobs.at[g->job].backoff_us;
    for (uint32_t i = 1; g->roams && i < g->tries && i < DOUBLINGS_MAX; i++)
        us = us < BACKOFF_MAX_US / 2 ? 2 * us : us < BACKOFF_MAX_US ? BACKOFF_MAX_US : us;
    return us;
}

uint64_t node_hash(const struct sched *s, uint32_t node)
{
    struct str name = cluster_node_name(s->cluster, node);
    return digest_bytes(name.ptr, name.len, 0);
}

static bool fails_elsewhere(const struct sched *s, const struct failure *f)
{
    for (uint32_t i = 0; i < s->failures.n; i++)
        if (s->failures.at[i].job == f->job && s->failures.at[i].node != f->node)
            return true;
    return false;
}

/* Different jobs that failed on the node, and nowhere else. */
uint32_t faults_on(const struct sched *s, uint64_t node)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->failures.n; i++) {
        const struct failure *f = &s->failures.at[i];
        uint32_t k = 0;
        if (f->node != node)
            continue;
        while (k < i && (s->failures.at[k].node != node || s->failures.at[k].job != f->job))
            k++;
        n += k == i && !fails_elsewhere(s, f);
    }
    return n;
}

static void forget_old(struct sched *s)
{
    uint32_t old = 0;
    while (old < s->failures.n && (s->failures.at[old].at < s->at - WINDOW_US ||
                                   s->failures.n - old >= FAILURES_MAX))
        old++;
    if (old == 0)
        return;
    memmove(s->failures.at, s->failures.at + old,
            (s->failures.n - old) * sizeof *s->failures.at);
    s->failures.n -= old;
}

/* The gang's try on the node came to nothing. */
static void charge(struct gang *g, uint64_t node)
{
    g->roams = g->roams || (g->fails_on && g->fails_on != node);
    g->fails_here = g->fails_on == node ? g->fails_here + 1 : 1;
    g->fails_on = node;
}

void faults_note(struct sched *s, uint32_t gang, uint32_t node, bool first)
{
    struct gang *g = &s->gangs.at[gang];
    if (node == NODE_NONE)
        return;
    struct str job = job_name(&s->jobs.at[g->job]);
    struct failure f = {node_hash(s, node), digest_bytes(job.ptr, job.len, 0), s->at};
    charge(g, f.node);
    if (!first || !s->policy.bad_node_failures)
        return;
    forget_old(s);
    vec_push(&s->failures, f);
    if (faults_on(s, f.node) < s->policy.bad_node_failures ||
        s->cluster->nodes[node].cordoned)
        return;
    for (uint32_t i = 0; i < s->suspects.n; i++)
        if (s->suspects.at[i] == f.node)
            return;
    vec_push(&s->suspects, f.node);
}

/* The node was bad: what failed there last is no try of its gang's. */
void faults_blame(struct sched *s, uint32_t node)
{
    uint64_t hash = node_hash(s, node);
    for (uint32_t i = 0; i < s->gangs.n; i++) {
        struct gang *g = &s->gangs.at[i];
        if (!g->live || g->phase == GANG_OVER || g->fails_on != hash)
            continue;
        g->tries -= g->fails_here < g->tries ? g->fails_here : g->tries;
        g->fails_here = 0;
        g->fails_on = g->roams ? g->fails_on : 0;
    }
}

/* Who is not suspect any longer: cordoned, or gone. */
void faults_border(struct sched *s)
{
    uint32_t keep = 0;
    for (uint32_t i = 0; i < s->suspects.n; i++) {
        uint32_t node = faults_node(s, s->suspects.at[i]);
        if (node != NODE_NONE && !s->cluster->nodes[node].cordoned)
            s->suspects.at[keep++] = s->suspects.at[i];
    }
    s->suspects.n = keep;
}

uint32_t faults_node(const struct sched *s, uint64_t hash)
{
    for (uint32_t i = 0; i < s->cluster->nnodes; i++)
        if (!s->cluster->nodes[i].gone && node_hash(s, i) == hash)
            return i;
    return NODE_NONE;
}
