/* reclaim-game.c - queues, units and room: outside events and the play at a border
 * Room is a number per resource, or nodes with whole pods on them. What is decided is
 * in R at once; evicted units may end later, and keep their room until then: who was
 * chosen for it has it planned, what is lent needs room that is free now as well.
 * SPDX-License-Identifier: Apache-2.0 */
#include "reclaim-game.h"

#include <assert.h>

static const int64_t *need_of(const struct game *g, uint32_t id)
{
    return g->needs + (size_t)g->units[id].need * g->nresources;
}

static bool is_core(const struct game *g, uint32_t id)
{
    return g->units[id].core == RIGHTS_NONE;
}

bool game_runs(const struct game *g, uint32_t id)
{
    return g->units[id].marks & RIGHTS_RUNNING;
}

int64_t game_use(const struct game *g, uint32_t queue)
{
    int64_t sum = 0;
    for (uint32_t id = 0; id < g->nunits; id++)
        if (g->at[id].live && game_runs(g, id) && g->units[id].leaf == queue)
            sum += need_of(g, id)[0];
    return sum;
}

struct rights_phi game_phi(const struct game *g)
{
    return rights_phi(&g->pool, g->list.ids, g->list.n);
}

/* --- the job set --- */

static void build_tree(struct game *g)
{
    uint32_t parent[GAME_QUEUES], weight[GAME_QUEUES];
    int64_t rows[4][GAME_QUEUES * GAME_RESOURCES];
    for (uint32_t q = 0; q < g->nqueues; q++) {
        const struct game_queue *from = &g->queues[q];
        parent[q] = from->parent;
        weight[q] = from->weight;
        for (uint32_t r = 0; r < g->nresources; r++) {
            uint32_t at = q * g->nresources + r;
            rows[0][at] = from->g;
            rows[1][at] = from->max;
            rows[2][at] = from->borrow;
            rows[3][at] = from->lend;
        }
    }
    entitle_setup(&g->e,
                  &(struct entitle_tree){g->nqueues, g->nresources, parent, weight,
                                         NULL, rows[0], rows[1], rows[2], rows[3]});
    entitle_capacity(&g->e, g->capacity);
}

void game_begin(struct game *g, uint64_t seed)
{
    rng_init(&g->rng, seed, 7);
    build_tree(g);
    rights_setup(&g->r, g->nqueues, g->nresources);
    g->pool = (struct rights_pool){g->nresources, 0, g->needs, g->units, g->places};
    for (uint32_t n = 0; n < g->nnodes; n++)
        g->node_free[n] = g->node_size;
    for (uint32_t q = 0; q < g->nqueues; q++) {
        g->last_turn[q] = INT64_MIN;
        g->budget_left[q] = g->budget;
        g->stale[q] = true;
    }
    game_gather(g);
}

void game_done(struct game *g)
{
    entitle_done(&g->e);
    rights_done(&g->r);
}

static bool could_fit(const struct game *g, uint32_t id)
{
    for (uint32_t r = 0; r < g->nresources; r++)
        if (need_of(g, id)[r] > g->capacity[r])
            return false;
    return is_core(g, id) || could_fit(g, g->units[id].core);
}

static bool is_forgotten(const struct game *g, uint32_t id)
{
    return g->at[id].forgotten ||
           (!is_core(g, id) && g->at[g->units[id].core].forgotten);
}

static bool in_line_before(const struct game *g, uint32_t a, uint32_t b)
{
    const struct rights_unit *x = &g->units[a], *y = &g->units[b];
    if (x->priority != y->priority)
        return x->priority > y->priority;
    if (is_core(g, a) != is_core(g, b))
        return is_core(g, a);
    if (g->places[a].submitted != g->places[b].submitted)
        return g->places[a].submitted < g->places[b].submitted;
    return g->places[a].rank < g->places[b].rank;
}

static void insert(const struct game *g, struct rights_list *list, uint32_t id)
{
    uint32_t k = list->n++;
    for (; k > 0 && in_line_before(g, id, list->ids[k - 1]); k--)
        list->ids[k] = list->ids[k - 1];
    list->ids[k] = id;
}

static void list_rows(struct game *g, uint32_t q)
{
    struct rights_list *list = &g->lists[q];
    list->rows = g->rows[q];
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t row = g->units[list->ids[i]].need, k = 0;
        while (k < list->nrows && g->rows[q][k] != row)
            k++;
        if (k == list->nrows)
            g->rows[q][list->nrows++] = row;
    }
}

static void unseat(struct game *g, uint32_t id)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        g->node_free[n] += g->at[id].seats[n] * g->at[id].width;
        g->at[id].seats[n] = 0;
    }
}

static void stop(struct game *g, uint32_t id)
{
    if (game_runs(g, id))
        rights_stopped(&g->pool, id);
    unseat(g, id);
}

void game_gather(struct game *g)
{
    g->list = (struct rights_list){.ids = g->all};
    for (uint32_t q = 0; q < g->nqueues; q++)
        g->lists[q] = (struct rights_list){.ids = g->ids[q]};
    for (uint32_t id = 0; id < g->nunits; id++) {
        if (!g->at[id].live)
            continue;
        if (is_forgotten(g, id) || !could_fit(g, id)) {
            stop(g, id);
            rights_forget(&g->r, &g->pool, id);
            continue;
        }
        insert(g, &g->lists[g->units[id].leaf], id);
        insert(g, &g->list, id);
    }
    for (uint32_t q = 0; q < g->nqueues; q++) {
        int64_t sum[GAME_RESOURCES] = {0};
        list_rows(g, q);
        for (uint32_t i = 0; i < g->lists[q].n; i++) {
            uint32_t id = g->lists[q].ids[i];
            for (uint32_t r = 0; r < g->nresources; r++)
                if (g->broken != GAME_RUNNING_DEMAND || game_runs(g, id))
                    sum[r] += need_of(g, id)[r];
        }
        if (entitle_is_leaf(&g->e, q))
            entitle_demand(&g->e, q, sum);
    }
}

static uint32_t need_row(struct game *g, const int64_t *size)
{
    uint32_t nr = g->nresources, i = 0;
    for (; i < g->pool.nneeds; i++)
        if (!memcmp(g->needs + (size_t)i * nr, size, nr * sizeof *size))
            return i;
    assert(i < GAME_UNITS);
    memcpy(g->needs + (size_t)i * nr, size, nr * sizeof *size);
    return g->pool.nneeds++;
}

static uint32_t new_unit(struct game *g, const struct game_job *job, uint32_t core,
                         uint32_t index)
{
    uint32_t id = 0;
    while (id < g->nunits && (g->at[id].live || g->at[id].ends_at > g->now))
        id++;
    assert(id < GAME_UNITS);
    if (id == g->nunits)
        g->nunits++;
    g->at[id] = (struct game_unit){.live = true,
                                   .job = g->njobs,
                                   .pods = job->pods,
                                   .width = job->width,
                                   .for_unit = RIGHTS_NONE};
    g->units[id] =
        (struct rights_unit){.priority = job->priority,
                             .leaf = job->queue,
                             .core = core,
                             .need = need_row(g, core == RIGHTS_NONE ? job->size
                                                                     : job->step)};
    g->places[id] = (struct rights_place){.submitted = g->now,
                                          .cost = 1,
                                          .rank = g->njobs * 64 + index};
    return id;
}

uint32_t game_arrive(struct game *g, struct game_job job)
{
    uint32_t core = new_unit(g, &job, RIGHTS_NONE, 0);
    for (uint32_t i = 0; i < job.steps; i++)
        new_unit(g, &job, core, i + 1);
    g->places[core].steps = job.steps;
    g->njobs++;
    g->stale[job.queue] = true;
    game_gather(g);
    return core;
}

/* The unit and, of a core, its steps. */
static bool of_gang(const struct game *g, uint32_t id, uint32_t core)
{
    return g->at[id].live && (id == core || g->units[id].core == core);
}

void game_leave(struct game *g, uint32_t core)
{
    g->stale[g->units[core].leaf] = true;
    if (g->r.turn == core)
        game_turn_over(g);
    for (int cores = 0; cores < 2; cores++)
        for (uint32_t id = 0; id < g->nunits; id++) {
            if (!of_gang(g, id, core) || (id == core) != cores)
                continue;
            stop(g, id);
            rights_forget(&g->r, &g->pool, id);
            for (uint32_t v = 0; v < g->nunits; v++)
                if (g->at[v].live && g->at[v].for_unit == id)
                    g->at[v].bystander = true;
            g->at[id].live = false;
        }
    game_gather(g);
}

void game_refuse(struct game *g, uint32_t core)
{
    for (uint32_t id = 0; id < g->nunits; id++)
        if (of_gang(g, id, core))
            stop(g, id);
    g->stale[g->units[core].leaf] = true;
    game_gather(g);
}

void game_capacity(struct game *g, int64_t capacity)
{
    if (g->r.turn != RIGHTS_NONE)
        game_turn_over(g);
    for (uint32_t r = 0; r < g->nresources; r++)
        g->capacity[r] = capacity;
    entitle_capacity(&g->e, g->capacity);
    for (uint32_t r = 0; r < g->nresources; r++) {
        int64_t sum = 0;
        for (uint32_t q = 0; q < g->nqueues; q++)
            for (uint32_t i = 0; i < g->lists[q].n; i++) {
                uint32_t id = g->lists[q].ids[i];
                int64_t need = game_runs(g, id) ? need_of(g, id)[r] : 0;
                if (need == 0)
                    continue;
                sum += need;
                if (sum > capacity && !is_core(g, id)) {
                    stop(g, id);
                    sum -= need;
                } else if (sum > capacity) {
                    game_refuse(g, id);
                    game_capacity(g, capacity); /* lists moved: look again */
                    return;
                }
            }
    }
    for (uint32_t q = 0; q < g->nqueues; q++)
        g->stale[q] = true;
    game_gather(g);
}

void game_reshape(struct game *g)
{
    if (g->r.turn != RIGHTS_NONE)
        game_turn_over(g);
    build_tree(g);
    for (uint32_t q = 0; q < g->nqueues; q++)
        g->stale[q] = true;
    game_gather(g);
}

void game_set_priority(struct game *g, uint32_t core, int32_t priority)
{
    for (uint32_t id = 0; id < g->nunits; id++)
        if (of_gang(g, id, core))
            g->units[id].priority = priority;
    g->stale[g->units[core].leaf] = true;
    game_gather(g);
}

void game_due(struct game *g, uint32_t core)
{
    if (game_runs(g, core))
        return;
    g->units[core].marks |= RIGHTS_DUE;
    g->stale[g->units[core].leaf] = true;
}

void game_turn(struct game *g)
{
    struct rights_turn who[GAME_UNITS];
    uint32_t n = 0, given;
    game_compute(g);
    if (g->r.turn != RIGHTS_NONE)
        return;
    for (uint32_t i = 0; i < g->list.n; i++)
        if (rights_wants_turn(&g->pool, &g->e, g->list.ids[i]))
            who[n++] =
                (struct rights_turn){g->list.ids[i],
                                     g->last_turn[g->units[g->list.ids[i]].leaf]};
    given = rights_give_turn(&g->pool, &g->e, who, n);
    if (given == RIGHTS_NONE)
        return;
    g->r.turn = who[given].id;
    g->last_turn[g->units[g->r.turn].leaf] = g->now;
    g->stale[g->units[g->r.turn].leaf] = true;
    for (uint32_t i = 0; i < g->e.changed.n; i++)
        g->stale[g->e.changed.at[i]] = true;
}

void game_turn_over(struct game *g)
{
    if (g->r.turn != RIGHTS_NONE)
        g->stale[g->units[g->r.turn].leaf] = true;
    entitle_unraise(&g->e);
    g->r.turn = RIGHTS_NONE;
}

void game_tick(struct game *g)
{
    g->now++;
    for (uint32_t q = 0; q < g->nqueues; q++) {
        if (g->now % 16 == 0)
            g->budget_left[q] = g->budget;
        for (uint32_t r = 0; r < g->nresources; r++)
            g->usage[q][r] = g->usage[q][r] * 15 / 16;
        g->usage[q][0] += (uint64_t)game_use(g, q) << 8;
    }
    for (uint32_t id = 0; id < g->nunits; id++) {
        if (g->at[id].ends_at <= g->now)
            g->at[id].ends_at = 0;
        if (!g->at[id].live || g->at[id].back_at > g->now)
            continue;
        if (g->units[id].marks & RIGHTS_GHOST || g->at[id].forgotten)
            g->stale[g->units[id].leaf] = true;
        g->at[id].forgotten = false;
        g->units[id].marks &= ~(uint32_t)RIGHTS_GHOST;
    }
    game_gather(g);
}

void game_compute(struct game *g)
{
    if (g->broken == GAME_RUNNING_DEMAND || g->broken == GAME_RUNNING_FIRST)
        memset(g->stale, 1, sizeof g->stale);
    if (g->broken == GAME_RUNNING_DEMAND)
        game_gather(g);
    entitle_run(&g->e);
    for (uint32_t i = 0; i < g->e.changed.n; i++) {
        uint32_t q = g->e.changed.at[i];
        if (!rights_leaf_stands(&g->r, q, entitle_row(&g->e, g->e.e, q)))
            g->stale[q] = true;
        else
            g->stood += !g->stale[q];
    }
    for (uint32_t q = 0; q < g->nqueues; q++) {
        if (!g->stale[q] || !entitle_is_leaf(&g->e, q))
            continue;
        if (g->broken == GAME_RUNNING_FIRST)
            rights_adopt(&g->r, &g->pool, q, g->lists[q]);
        rights_leaf(&g->r, &g->pool, q, g->lists[q], entitle_row(&g->e, g->e.e, q));
        g->stale[q] = false;
    }
    rights_across(&g->r, &g->pool, &g->e, g->list, g->across);
}

/* --- room --- */

static bool is_in(uint32_t id, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* On nodes: as many pods as go on each, first node first; write: take the seats. */
static bool seat(struct game *g, uint32_t id, const uint32_t *victims, uint32_t n,
                 bool write)
{
    uint32_t left = g->at[id].pods;
    for (uint32_t k = 0; k < g->nnodes; k++) {
        int64_t free = g->node_free[k], width = g->at[id].width;
        for (uint32_t i = 0; i < n; i++)
            free += g->at[victims[i]].seats[k] * g->at[victims[i]].width;
        uint32_t here =
            (uint32_t)(free / width) < left ? (uint32_t)(free / width) : left;
        left -= here;
        if (!write)
            continue;
        g->at[id].seats[k] = (uint8_t)here;
        g->node_free[k] -= here * width;
    }
    return left == 0;
}

bool game_fits(struct game *g, uint32_t id, const uint32_t *victims, uint32_t n)
{
    if (g->nnodes)
        return seat(g, id, victims, n, false);
    for (uint32_t r = 0; r < g->nresources; r++) {
        int64_t sum = need_of(g, id)[r];
        if (sum == 0)
            continue;
        for (uint32_t i = 0; i < g->nunits; i++)
            if (g->at[i].live && game_runs(g, i) && !is_in(i, victims, n))
                sum += need_of(g, i)[r];
        if (sum > g->capacity[r])
            return false;
    }
    return true;
}

/* For what is lent: what still ends is in the way, too. */
bool game_fits_now(struct game *g, uint32_t id)
{
    for (uint32_t r = 0; r < g->nresources && !g->nnodes; r++) {
        int64_t sum = need_of(g, id)[r];
        for (uint32_t i = 0; sum && i < g->nunits; i++)
            if ((g->at[i].live && game_runs(g, i)) || g->at[i].ends_at > g->now)
                sum += need_of(g, i)[r];
        if (need_of(g, id)[r] && sum > g->capacity[r])
            return false;
    }
    return game_fits(g, id, NULL, 0);
}

static void begin_running(struct game *g, uint32_t id)
{
    if (g->nnodes)
        seat(g, id, NULL, 0, true);
    rights_started(&g->pool, id);
    g->at[id].protect_until = g->now + g->protect;
    g->at[id].bystander = false;
    g->at[id].ends_at = 0;
    g->places[id].cost = 1 + (int64_t)rng_below(&g->rng, 5);
}

bool game_place(struct game *g, uint32_t id)
{
    if (game_runs(g, id) || !game_fits(g, id, NULL, 0) ||
        (!is_core(g, id) && !game_runs(g, g->units[id].core)))
        return false;
    begin_running(g, id);
    g->at[id].protect_until = 0;
    return true;
}

static void evict(struct game *g, uint32_t id, uint32_t for_unit)
{
    stop(g, id);
    g->at[id].evictions++;
    g->evicted++;
    g->at[id].for_unit = for_unit;
    if (g->budget_left[g->units[id].leaf] != UINT32_MAX)
        g->budget_left[g->units[id].leaf]--;
    if (g->slow)
        g->at[id].ends_at = g->now + (int)rng_below(&g->rng, (uint64_t)g->slow + 1);
    if (!g->ghost)
        return;
    g->at[id].back_at = g->now + 1 + (int)rng_below(&g->rng, (uint64_t)g->ghost);
    g->units[id].marks |= RIGHTS_GHOST;
    g->at[id].forgotten = g->broken == GAME_GHOST_FORGOTTEN;
}

void game_apply(struct game *g, const struct rights_plan *plan)
{
    for (uint32_t i = 0; i < plan->nrenamings; i++)
        rights_rename(&g->r, &g->pool, g->lists[g->units[plan->renamings[i].own].leaf],
                      g->list, plan->renamings[i]);
    for (uint32_t i = 0; i < plan->nvictims; i++)
        evict(g, plan->victims[i], plan->unit);
    g->reclaims += plan->nvictims > 0;
    if (g->broken == GAME_GHOST_FORGOTTEN && plan->nvictims)
        game_gather(g);
    if (g->broken == GAME_NOT_HELD && plan->nvictims)
        return;
    begin_running(g, plan->unit);
    g->starts++;
}
