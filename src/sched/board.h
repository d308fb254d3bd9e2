/* board.h - remembered scores: the best node for a shape, asked again and again
 *
 * For each shape a row of scores in rank order with the maximum of each block of 64. A
 * question first asks anew the nodes that changed since this row was last asked (the
 * cluster's change list is walked back to the row's stamp), then looks through the
 * maxima of its range: O(changed + N/64 + 64). A new row costs N scores.
 *
 * Rows are scratch: at most `rows_max` are kept, the one unused longest goes first, and
 * dropping any at any time never changes an answer.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_BOARD_H
#define MUSTER_BOARD_H

#include "sched/score.h"

enum { BOARD_ROWS_DEFAULT = 1024, BOARD_BLOCK = 64 };

struct board;

/* May the node (index) have this task: taints, tags, constraints? Asked only of nodes
 * that would win. Must not change the cluster. */
typedef bool (*board_eligible_f)(void *arg, uint32_t node);

struct choice {
    uint32_t node; /* index */
    int32_t score;
    struct use use;
};

/* Borrows sc. rows_max 0: BOARD_ROWS_DEFAULT, fewer on large clusters (64 MiB of
 * scores). */
struct board *board_create(struct scoring *sc, uint32_t rows_max);
void board_destroy(struct board *b); /* NULL is fine */
/* Forget everything: the scorer, the mix or the order of nodes is another one now. A
 * change of mix version, of the number of ranks or of the number of types is noticed
 * without this. */
void board_reset(struct board *b);

/* The best node for one task of the shape among ranks [lo, hi); ties to the lowest
 * rank. shape_id: the caller's small number of the shape (a number that comes back with
 * another shape is noticed). The cluster must be settled. eligible may be NULL. serial:
 * the task's number (for `random`). Returns false when nothing fits; *ret is then
 * untouched. */
bool board_best(struct board *b, uint32_t shape_id, const struct shape *shape,
                uint64_t serial, uint32_t lo, uint32_t hi, board_eligible_f eligible,
                void *arg, struct choice *ret);

/* Nodes scored since creation (memo misses): for benches only, never for a decision. */
uint64_t board_asked(const struct board *b);

#endif
