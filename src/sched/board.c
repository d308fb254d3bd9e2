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

enum { BOARD_BYTES = 64 << 20, ROWS_LEAST = 16, KINDS_MAX = 64 };

#define NO_KIND UINT32_MAX
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
    VEC(uint32_t) kinds;    /* by node: its kind; NO_KIND: one of its own */
    uint64_t kinds_at;   /* stamp: of nodes changed since then the kind is not known */
    VEC(uint32_t) likes; /* by kind: a node of it */
    VEC(int32_t) kind_scores; /* of the row being filled */
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
    vec_done(&b->kind_scores);
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

/* Sort the nodes into kinds; those beyond KINDS_MAX kinds, and those with rules of
 * their own about sets of devices, have none. */
static void kinds_make(struct board *b)
{
    const struct cluster *c = b->sc->cluster;
    vec_clear(&b->likes);
    vec_resize(&b->kinds, c->nnodes);
    for (uint32_t i = 0; i < c->nnodes; i++) {
        const struct node *n = &c->nodes[i];
        uint32_t k = 0;
        b->kinds.at[i] = NO_KIND;
        if (n->gone || (n->ndevices && !n->plain))
            continue;
        while (k < b->likes.n && !is_like(c, n, &c->nodes[b->likes.at[k]]))
            k++;
        if (k == KINDS_MAX)
            continue;
        if (k == b->likes.n)
            vec_push(&b->likes, i);
        b->kinds.at[i] = k;
    }
    vec_resize(&b->kind_scores, b->likes.n);
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
    if (b->settles != c->settles || b->kinds.n != c->nnodes ||
        c->stamp - b->kinds_at > 16 * (uint64_t)c->nnodes)
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

/* A node's score while a row is filled: of its kind, when it is empty and sound. */
static inline int32_t fill_score(struct board *b, const struct row *r, uint32_t node)
{
    const struct node *n = &b->sc->cluster->nodes[node];
    uint32_t kind = b->kinds.at[node];
    if (kind == NO_KIND || n->nuses || n->changed_at > b->kinds_at ||
        n->healthy != node_devs(n) || !node_is_usable(n)) {
        b->asked++;
        return score_quick(b->sc, node, &r->shape, r->types);
    }
    if (b->kind_scores.at[kind] == UNASKED) {
        b->asked++;
        b->kind_scores.at[kind] = score_quick(b->sc, node, &r->shape, r->types);
    }
    return b->kind_scores.at[kind];
}

static void row_fill(struct board *b, struct row *r)
{
    const struct cluster *c = b->sc->cluster;
    size_t cells = (size_t)b->nblocks * BOARD_BLOCK;
    memset(r->loose, 0, BITSET_WORDS((size_t)b->nblocks) * sizeof *r->loose);
    for (uint32_t block = 0; block < b->nblocks; block++)
        r->bounds[block] = SCORE_NONE;
    for (uint32_t k = 0; k < b->kind_scores.n; k++)
        b->kind_scores.at[k] = UNASKED;
    for (uint32_t rank = 0; rank < cells; rank++) {
        int32_t score =
            rank < b->nranks ? fill_score(b, r, c->order[rank]) : SCORE_NONE;
        r->scores[rank] = score;
        if (score > r->bounds[rank / BOARD_BLOCK])
            r->bounds[rank / BOARD_BLOCK] = score;
    }
    r->epoch = b->epoch;
    r->stamp = c->stamp;
}

/* Ask anew the nodes that changed since the row was right. */
static void row_update(struct board *b, struct row *r)
{
    const struct cluster *c = b->sc->cluster;
    const struct node *nodes = c->nodes;
    for (uint32_t i = c->changed_head; i != NODE_NONE; i = nodes[i].changed_next) {
        if (nodes[i].changed_at <= r->stamp)
            break;
        int32_t score = score_quick(b->sc, i, &r->shape, r->types);
        uint32_t rank = nodes[i].rank, block = rank / BOARD_BLOCK;
        int32_t old = r->scores[rank];
        r->scores[rank] = score;
        if (score >= r->bounds[block]) {
            r->bounds[block] = score;
            bit_clear(r->loose, block);
        } else if (old == r->bounds[block]) {
            bit_set(r->loose, block);
        }
        b->asked++;
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
