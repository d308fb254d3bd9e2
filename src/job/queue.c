/* queue.c - the tenant tree: looking up and checking it
 * SPDX-License-Identifier: Apache-2.0 */
#include "job/queue.h"

#include <errno.h>

uint32_t queue_tree_find(const struct queue_tree *t, struct str name)
{
    for (uint32_t i = 1; i < t->nqueues; i++)
        if (str_eq(t->queues[i].name, name))
            return i;
    return QUEUE_NONE;
}

const char *queue_authority_name(int authority)
{
    static const char *const names[] = {"observe", "place", "repair", "evict", "move"};
    return authority >= 0 && authority <= AUTHORITY_MOVE ? names[authority] : "?";
}

static int amounts_check(const struct queue_spec *q, uint32_t nresources, struct err *err)
{
    const struct queue_amounts *a = &q->amounts;
    for (uint32_t r = 0; r < nresources; r++) {
        int64_t g = a->guaranteed[r] == QUOTA_ABSENT ? 0 : a->guaranteed[r];
        if (g < 0 || a->max[r] < 0 || a->borrow[r] < 0 || a->lend[r] < 0 || a->user_max[r] < 0)
            return err_set(err, ERANGE, "queue " STR_FMT ": an amount is negative",
                           STR_ARG(q->name));
        if (g > a->max[r])
            return err_set(err, EINVAL,
                           "queue " STR_FMT ": guaranteed is more than max; lower one of them",
                           STR_ARG(q->name));
    }
    return 0;
}

int queue_tree_check(const struct queue_tree *t, struct err *err)
{
    if (t->nqueues > QUEUES_MAX || t->nresources > QUOTA_RESOURCES_MAX)
        return err_set(err, ERANGE, "at most %d queues and %d resources are allowed",
                       QUEUES_MAX, QUOTA_RESOURCES_MAX);
    for (uint32_t i = 0; i < t->nqueues; i++) {
        const struct queue_spec *q = &t->queues[i];
        if (i > 0 && (q->parent >= i || q->depth != t->queues[q->parent].depth + 1))
            return err_set(err, EINVAL, "queue " STR_FMT ": its parent does not stand before it",
                           STR_ARG(q->name));
        if (q->depth > QUEUE_DEPTH_MAX)
            return err_set(err, ERANGE, "queue " STR_FMT ": deeper than %d levels",
                           STR_ARG(q->name), QUEUE_DEPTH_MAX);
        if (q->weight > QUEUE_WEIGHT_MAX)
            return err_set(err, ERANGE, "queue " STR_FMT ": weight is more than %d",
                           STR_ARG(q->name), QUEUE_WEIGHT_MAX);
        if (q->authority > AUTHORITY_MOVE)
            return err_set(err, EINVAL, "queue " STR_FMT ": authority %u is unknown",
                           STR_ARG(q->name), q->authority);
        int rc = amounts_check(q, t->nresources, err);
        if (rc)
            return rc;
    }
    for (uint32_t i = 1; i < t->nqueues; i++)
        if (queue_tree_find(t, t->queues[i].name) != i)
            return err_set(err, EINVAL,
                           "queue " STR_FMT ": two queues have this name; jobs name a queue by it",
                           STR_ARG(t->queues[i].name));
    return 0;
}
