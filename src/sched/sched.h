/* sched.h - the core: records in, decisions out (CORE.md)
 *   fold    a fact or a decision -> state; chooses nothing, cannot fail
 *   decide  at a border; each decision it emits is folded at once, by the same fold
 * Pure: no clock, file, socket, locale, address or hash order reaches a decision.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SCHED_H
#define MUSTER_SCHED_H

#include "base/buf.h"
#include "event/ledger.h"
#include "event/records.h"

struct cluster;
struct sched;

struct sched *sched_create(void);
/* So many jobs may be there at once: address space for them, lest tables grow by copies.
 * Only a hint. */
void sched_expect(struct sched *s, uint32_t jobs);
void sched_destroy(struct sched *s);

void sched_fold(struct sched *s, const struct record *r);
/* Appends decisions to out (stamped with at; the caller gave them no seq yet: decide numbers
 * them on from the last folded record) and folds each. */
void sched_decide(struct sched *s, struct records *out);
/* When it next wants EV_TIME; INT64_MAX: never. */
int64_t sched_due(const struct sched *s);
/* Does the event make sense now? 0, or -ENOENT/-EINVAL/... with err. Folding it anyway is a
 * counted no-op. */
int sched_check(const struct sched *s, const struct record *r, struct err *err);

/* Digest: a sum over entities of hash(world name, fields, references by name); free of order.
 * facts leaves out decisions, usage and term. */
enum digest_kind { DIGEST_FACTS = 0, DIGEST_ALL };
uint64_t sched_digest(const struct sched *s, enum digest_kind kind);

/* The whole state as bytes, and back. Load gives -EBADMSG with err on damage. */
void sched_save(const struct sched *s, struct buf *out);
int sched_load(struct sched **ret, struct str bytes, struct err *err);

/* What was learned, for a world that keeps nothing else of ours: as the soft_set event that
 * would give it back. The bytes live in out. */
void sched_soft(const struct sched *s, struct record *ret, struct buf *out);

/* For reports; none of it feeds back. */
const struct cluster *sched_cluster(const struct sched *s);
const struct words *sched_words(const struct sched *s);
void sched_ledger(const struct sched *s, struct ledger *ret); /* up to the last record's at */
struct sched_counts {
    uint64_t records, noops, launches, stops, says, passes, borders, questions;
    uint32_t jobs, pending_gangs, running_gangs, claims;
    int64_t used_gpu_milli;    /* claims that hold devices */
    int64_t pending_gpu_milli; /* asked for by pending gangs, minimum sizes */
};
void sched_counts(const struct sched *s, struct sched_counts *ret);
/* Fragmented GPUs by the FGD measure (milli-GPU) over the typical mix of the policy;
 * 0 when the policy has no mix. */
double sched_fragmented_milli(const struct sched *s);

/* Everything recomputed from scratch and compared; aborts with the place on a difference. */
void sched_invariants(const struct sched *s);

#endif
