/* board.c - remembered scores: the best node for a shape, asked again and again
 *
 * A row is an array of scores by rank. For each block of 64 ranks it keeps a bound that
 * no score of the block exceeds; a block whose bound may be too high is marked loose,
 * and is only tightened when a question gets to it with something worse in hand. So a
 * change costs one comparison, and a question reads N/64 bounds and the few blocks that
 * beat what it has.
 *
 * Nodes without any claim that are described alike (same type, CPU, memory, devices)
 * have the same score; a row is filled by asking one of each kind. That a cluster
 * mostly has few kinds makes new rows cheap; nodes in use differ too much for it.
 *
 * Looking from low ranks to high with "strictly better" gives ties to the lowest rank,
 * also with a caller who refuses nodes: he is asked once for each node that would win.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/board.h"

#include <assert.h>

#include "base/bitset.h"
#include "sched/score_rules.h"

#define NO_ROW UINT32_MAX

enum { BOARD_BYTES = 64 << 20, ROWS_LEAST = 16, KINDS_MAX = 64, NO_KIND = KINDS_MAX };

#define UNASKED (SCORE_NONE + 1)

struct row {
    struct shape shape;
    uint64_t types;
    uint64_t stamp;  /* of the cluster when it was right */
    uint64_t epoch;  /* of the board when it was filled; another: empty */
    int32_t *scores; /* by rank, a whole number of blocks */
    int32_t *bounds; /* by block */
    uint64_t *loose; /* bit a block: the bound may be too high */
    uint32_t shape_id;
    uint32_t older, newer; /* by last use */
};

struct board {
    struct scoring *sc;
    uint32_t rows_max, rows_wanted;
    uint32_t nranks, nblocks;
    uint64_t settles, era, epoch, asked;
    VEC(struct row) rows;
    VEC(uint32_t) by_shape; /* shape id -> row */
    VEC(uint8_t) kinds;     /* by rank: kind of an empty node; NO_KIND: ask it */
    uint64_t kinds_made,
        kinds_at;        /* stamps: made; right, but for nodes changed since */
    VEC(uint32_t) likes; /* by kind: a node of it */
    uint32_t newest, oldest;
};

struct board *board_create(struct scoring *sc, uint32_t rows_max)
{
    struct board *b = mem_zero(sizeof *b);
    b->sc = sc;
    b->rows_wanted = rows_max;
    b->settles = UINT64_MAX;
    b->newest = b->oldest = NO_ROW;
    return b;
}

static void rows_free(struct board *b)
{
    for (uint32_t i = 0; i < b->rows.n; i++) {
        free(b->rows.at[i].scores);
        free(b->rows.at[i].bounds);
        free(b->rows.at[i].loose);
    }
    vec_done(&b->rows);
    vec_done(&b->by_shape);
    vec_done(&b->kinds);
    vec_done(&b->likes);
    b->newest = b->oldest = NO_ROW;
}

void board_destroy(struct board *b)
{
    if (!b)
        return;
    rows_free(b);
    free(b);
}

void board_reset(struct board *b)
{
    b->epoch++;
}

uint64_t board_asked(const struct board *b)
{
    return b->asked;
}

/* Would two empty nodes have the same score for any shape? */
static bool is_like(const struct cluster *c, const struct node *a, const struct node *b)
{
    const struct device *x = &c->devices[a->device0], *y = &c->devices[b->device0];
    if (a->type != b->type || a->cpu_cap != b->cpu_cap || a->mem_cap != b->mem_cap ||
        a->slots_cap != b->slots_cap || a->nics_cap != b->nics_cap ||
        a->ndevices != b->ndevices || a->plain != b->plain)
        return false;
    for (uint32_t i = 0; i < a->ndevices; i++)
        if (x[i].type != y[i].type || x[i].mem_cap != y[i].mem_cap ||
            x[i].modes != y[i].modes)
            return false;
    return true;
}

static bool is_empty(const struct node *n)
{
    return !n->nuses && n->healthy == node_devs(n) && node_is_usable(n) &&
           (n->plain || !n->ndevices);
}

/* Sort the empty, sound nodes into kinds; those beyond KINDS_MAX kinds, and those with
 * rules of their own about sets of devices, have none. */
static void kinds_make(struct board *b)
{
    const struct cluster *c = b->sc->cluster;
    vec_clear(&b->likes);
    vec_resize(&b->kinds, c->nranks);
    for (uint32_t rank = 0; rank < c->nranks; rank++) {
        uint32_t k = 0, i = c->order[rank];
        const struct node *n = &c->nodes[i];
        b->kinds.at[rank] = NO_KIND;
        if (!is_empty(n))
            continue;
        while (k < b->likes.n && !is_like(c, n, &c->nodes[b->likes.at[k]]))
            k++;
        if (k == b->likes.n && k < KINDS_MAX)
            vec_push(&b->likes, i);
        b->kinds.at[rank] = (uint8_t)k;
    }
    b->kinds_made = b->kinds_at = c->stamp;
}

/* Nodes that changed have no kind any more. */
static void kinds_update(struct board *b)
{
    const struct cluster *c = b->sc->cluster;
    for (uint32_t i = c->changed_head; i != NODE_NONE; i = c->nodes[i].changed_next) {
        if (c->nodes[i].changed_at <= b->kinds_at)
            break;
        b->kinds.at[c->nodes[i].rank] = NO_KIND;
    }
    b->kinds_at = c->stamp;
}

/* Notice whatever makes all rows void. */
static void board_refresh(struct board *b)
{
    const struct cluster *c = b->sc->cluster;
    uint64_t era = scoring_era(b->sc);
    assert(!c->stale);
    if (b->nranks != c->nranks) {
        rows_free(b);
        b->nranks = c->nranks;
        b->nblocks = (b->nranks + BOARD_BLOCK - 1) / BOARD_BLOCK;
        uint64_t room = BOARD_BYTES / ((uint64_t)(b->nblocks + 1) * BOARD_BLOCK * 4);
        b->rows_max = b->rows_wanted              ? b->rows_wanted
                      : room > BOARD_ROWS_DEFAULT ? BOARD_ROWS_DEFAULT
                      : room < ROWS_LEAST         ? ROWS_LEAST
                                                  : (uint32_t)room;
    }
    if (b->settles != c->settles || b->era != era)
        b->epoch++;
    if (b->settles != c->settles || b->kinds.n != c->nranks ||
        c->stamp - b->kinds_made > 16 * (uint64_t)c->nnodes)
        kinds_make(b);
    b->settles = c->settles;
    b->era = era;
}

static void row_unlink(struct board *b, uint32_t i)
{
    struct row *r = &b->rows.at[i];
    if (r->newer != NO_ROW)
        b->rows.at[r->newer].older = r->older;
    else
        b->newest = r->older;
    if (r->older != NO_ROW)
        b->rows.at[r->older].newer = r->newer;
    else
        b->oldest = r->newer;
}

static void row_front(struct board *b, uint32_t i)
{
    struct row *r = &b->rows.at[i];
    r->newer = NO_ROW;
    r->older = b->newest;
    if (b->newest != NO_ROW)
        b->rows.at[b->newest].newer = i;
    else
        b->oldest = i;
    b->newest = i;
}

static uint32_t row_make(struct board *b)
{
    struct row row = {0};
    size_t cells = (size_t)b->nblocks * BOARD_BLOCK;
    row.scores = mem_alloc((cells + 1) * sizeof *row.scores);
    row.bounds = mem_alloc(((size_t)b->nblocks + 1) * sizeof *row.bounds);
    row.loose = mem_alloc((BITSET_WORDS((size_t)b->nblocks) + 1) * sizeof *row.loose);
    vec_push(&b->rows, row);
    return b->rows.n - 1;
}

/* The row of a shape, moved to the front: found, new, or the one unused longest. */
static struct row *row_of(struct board *b, uint32_t id, const struct shape *shape)
{
    uint32_t old = b->by_shape.n;
    if (id >= old) {
        vec_resize(&b->by_shape, id + 1);
        for (uint32_t i = old; i <= id; i++)
            b->by_shape.at[i] = NO_ROW;
    }
    uint32_t i = b->by_shape.at[id];
    if (i != NO_ROW && b->rows.at[i].shape_id == id) {
        if (b->newest != i) {
            row_unlink(b, i);
            row_front(b, i);
        }
    } else {
        if (b->rows.n < b->rows_max) {
            i = row_make(b);
        } else {
            i = b->oldest;
            b->by_shape.at[b->rows.at[i].shape_id] = NO_ROW;
            row_unlink(b, i);
        }
        row_front(b, i);
        b->by_shape.at[id] = i;
        b->rows.at[i].shape_id = id;
        b->rows.at[i].epoch = b->epoch - 1;
    }
    struct row *r = &b->rows.at[i];
    if (r->epoch != b->epoch || memcmp(&r->shape, shape, sizeof *shape) != 0) {
        r->shape = *shape;
        r->types = score_types(b->sc->cluster, shape);
        r->epoch = b->epoch - 1;
    }
    return r;
}

static inline int32_t ask(struct board *b, const struct row *r, uint32_t node)
{
    b->asked++;
    return score_quick(b->sc, node, &r->shape, r->types);
}

/* One node of each kind is asked, and each node that has none. */
static void row_fill(struct board *b, struct row *r)
{
    const struct cluster *c = b->sc->cluster;
    int32_t kind_scores[KINDS_MAX + 1];
    memset(r->loose, 0, BITSET_WORDS((size_t)b->nblocks) * sizeof *r->loose);
    kinds_update(b);
    for (uint32_t k = 0; k <= NO_KIND; k++)
        kind_scores[k] = UNASKED;
    for (uint32_t block = 0; block < b->nblocks; block++) {
        uint32_t rank = block * BOARD_BLOCK, end = rank + BOARD_BLOCK;
        int32_t most = SCORE_NONE;
        for (; rank < end && rank < b->nranks; rank++) {
            uint32_t kind = b->kinds.at[rank];
            int32_t score = kind_scores[kind];
            if (score == UNASKED) {
                score = ask(b, r, c->order[rank]);
                kind_scores[kind] = kind == NO_KIND ? UNASKED : score;
            }
            r->scores[rank] = score;
            most = score > most ? score : most;
        }
        for (; rank < end; rank++)
            r->scores[rank] = SCORE_NONE;
        r->bounds[block] = most;
    }
    r->epoch = b->epoch;
    r->stamp = c->stamp;
}

/* Ask anew the nodes that changed since the row was right. Where the task did not fit
 * and only claims came since, it does not fit now. */
static void row_update(struct board *b, struct row *r)
{
    const struct cluster *c = b->sc->cluster;
    const struct node *nodes = c->nodes;
    for (uint32_t i = c->changed_head; i != NODE_NONE; i = nodes[i].changed_next) {
        if (nodes[i].changed_at <= r->stamp)
            break;
        uint32_t rank = nodes[i].rank, block = rank / BOARD_BLOCK;
        int32_t old = r->scores[rank];
        if (old == SCORE_NONE && nodes[i].other_at <= r->stamp)
            continue;
        int32_t score = ask(b, r, i);
        r->scores[rank] = score;
        if (score >= r->bounds[block]) {
            r->bounds[block] = score;
            bit_clear(r->loose, block);
        } else if (old == r->bounds[block]) {
            bit_set(r->loose, block);
        }
    }
    r->stamp = c->stamp;
}

/* Largest score of a block; four at a time, which gcc and clang both turn into SIMD. */
static int32_t block_max(const int32_t *scores)
{
    typedef int32_t four __attribute__((vector_size(16), aligned(4), may_alias));
    const four *v = (const four *)scores;
    four most = v[0];
    for (int i = 1; i < BOARD_BLOCK / 4; i++) {
        four larger = v[i] > most;
        most = (v[i] & larger) | (most & ~larger);
    }
    int32_t a = most[0] > most[1] ? most[0] : most[1];
    int32_t b = most[2] > most[3] ? most[2] : most[3];
    return a > b ? a : b;
}

static int32_t bound_tight(struct row *r, uint32_t block)
{
    if (bit_get(r->loose, block)) {
        r->bounds[block] = block_max(r->scores + (size_t)block * BOARD_BLOCK);
        bit_clear(r->loose, block);
    }
    return r->bounds[block];
}

/* A question's range and who may refuse. */
struct looking {
    uint32_t lo, hi;
    board_eligible_f eligible;
    void *arg;
    int32_t score; /* best so far */
    uint32_t rank;
};

static inline void look_at(const struct board *b, struct looking *q, uint32_t rank,
                           int32_t score)
{
    if (score <= q->score)
        return;
    if (q->eligible && !q->eligible(q->arg, b->sc->cluster->order[rank]))
        return;
    q->score = score;
    q->rank = rank;
}

/* Whole blocks, nobody refuses: the maxima suffice, and one look for the place. */
static void look_blocks(struct row *r, struct looking *q, uint32_t first, uint32_t end)
{
    uint32_t best = NO_ROW;
    for (uint32_t block = first; block < end; block++) {
        if (r->bounds[block] > q->score && bound_tight(r, block) > q->score) {
            q->score = r->bounds[block];
            best = block;
        }
    }
    if (best == NO_ROW)
        return;
    q->rank = best * BOARD_BLOCK;
    while (r->scores[q->rank] != q->score)
        q->rank++;
}

static void look_best(const struct board *b, struct row *r, struct looking *q)
{
    uint32_t rank = q->lo;
    while (rank < q->hi) {
        uint32_t block = rank / BOARD_BLOCK, end = (block + 1) * BOARD_BLOCK;
        if (!q->eligible && rank % BOARD_BLOCK == 0 && end <= q->hi) {
            look_blocks(r, q, block, q->hi / BOARD_BLOCK);
            rank = q->hi / BOARD_BLOCK * BOARD_BLOCK;
            continue;
        }
        end = end < q->hi ? end : q->hi;
        if (r->bounds[block] > q->score && bound_tight(r, block) > q->score)
            for (; rank < end; rank++)
                look_at(b, q, rank, r->scores[rank]);
        rank = end;
    }
}

static void look_shuffled(const struct board *b, const struct row *r, struct looking *q,
                          uint64_t serial)
{
    for (uint32_t rank = q->lo; rank < q->hi; rank++)
        if (r->scores[rank] != SCORE_NONE)
            look_at(b, q, rank, score_shuffle(b->sc->seed, serial, rank));
}

static void look(const struct board *b, struct row *r, struct looking *q,
                 uint64_t serial)
{
    if (b->sc->scorer->shuffled)
        look_shuffled(b, r, q, serial);
    else
        look_best(b, r, q);
}

bool board_best(struct board *b, uint32_t shape_id, const struct shape *shape,
                uint64_t serial, uint32_t lo, uint32_t hi, board_eligible_f eligible,
                void *arg, struct choice *ret)
{
    board_refresh(b);
    hi = hi < b->nranks ? hi : b->nranks;
    if (lo >= hi)
        return false;
    struct row *r = row_of(b, shape_id, shape);
    if (r->epoch != b->epoch)
        row_fill(b, r);
    else
        row_update(b, r);
    /* Mostly nobody refuses: first the quick look, then who wins is asked. */
    struct looking q = {lo, hi, NULL, arg, SCORE_NONE, 0};
    look(b, r, &q, serial);
    if (q.score != SCORE_NONE && eligible &&
        !eligible(arg, b->sc->cluster->order[q.rank])) {
        q = (struct looking){lo, hi, eligible, arg, SCORE_NONE, 0};
        look(b, r, &q, serial);
    }
    if (q.score == SCORE_NONE)
        return false;
    ret->node = b->sc->cluster->order[q.rank];
    ret->score = score_node(b->sc, ret->node, &r->shape, r->types, serial, &ret->use);
    assert(ret->score == q.score);
    return true;
}
