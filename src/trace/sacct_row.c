/* sacct_row.c - what one row of sacct says about a job
 *
 * Seen on Slurm 22.05: AllocTRES lists GPUs with and without their type, of which the
 * sum without a type is the number; `billing` is no resource; TimelimitRaw holds
 * minutes or words; State may go on behind its first word ("CANCELLED by 1234"); times
 * are seconds since 1970 with SLURM_TIME_FORMAT=%s, else local times without a zone,
 * read as UTC. A job that was cancelled before it started has Start = End or none, and
 * Elapsed 0: it never ran, which is not the same as a run of no length.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/sacct.h"

#include <errno.h>
#include <stdio.h>

#include "base/units.h"
#include "trace/cell.h"

enum { COUNT_MAX = 10000000, MPS_PER_GPU = 100 };

static const char *const column_names[SACCT_COLUMNS] = {
    [SACCT_JOB_ID_RAW] = "JobIDRaw",
    [SACCT_JOB_ID] = "JobID",
    [SACCT_PARTITION] = "Partition",
    [SACCT_ACCOUNT] = "Account",
    [SACCT_USER] = "User",
    [SACCT_SUBMIT] = "Submit",
    [SACCT_ELIGIBLE] = "Eligible",
    [SACCT_START] = "Start",
    [SACCT_END] = "End",
    [SACCT_STATE] = "State",
    [SACCT_TIMELIMIT_RAW] = "TimelimitRaw",
    [SACCT_TIMELIMIT] = "Timelimit",
    [SACCT_ELAPSED_RAW] = "ElapsedRaw",
    [SACCT_ELAPSED] = "Elapsed",
    [SACCT_NNODES] = "NNodes",
    [SACCT_REQ_NODES] = "ReqNodes",
    [SACCT_NCPUS] = "NCPUS",
    [SACCT_REQ_CPUS] = "ReqCPUS",
    [SACCT_REQ_MEM] = "ReqMem",
    [SACCT_REQ_TRES] = "ReqTRES",
    [SACCT_ALLOC_TRES] = "AllocTRES",
    [SACCT_REQ_GRES] = "ReqGRES",
    [SACCT_PRIORITY] = "Priority",
    [SACCT_NODE_LIST] = "NodeList",
    [SACCT_JOB_NAME] = "JobName"};

static const struct {
    const char *name;
    uint8_t state, again;
} states[] = {
    {"COMPLETED", TRACE_DONE, AGAIN_NO},
    {"FAILED", TRACE_FAILED, AGAIN_NO},
    {"OUT_OF_MEMORY", TRACE_FAILED, AGAIN_NO},
    {"SPECIAL_EXIT", TRACE_FAILED, AGAIN_NO},
    {"LAUNCH_FAILED", TRACE_FAILED, AGAIN_PERHAPS},
    {"RECONFIG_FAIL", TRACE_FAILED, AGAIN_PERHAPS},
    {"CANCELLED", TRACE_CANCELLED, AGAIN_NO},
    {"REVOKED", TRACE_CANCELLED, AGAIN_NO},
    {"TIMEOUT", TRACE_TIMEOUT, AGAIN_NO},
    {"DEADLINE", TRACE_TIMEOUT, AGAIN_NO},
    {"NODE_FAIL", TRACE_LOST, AGAIN_PERHAPS},
    {"BOOT_FAIL", TRACE_LOST, AGAIN_PERHAPS},
    {"PREEMPTED", TRACE_PREEMPTED, AGAIN_PERHAPS},
    {"REQUEUED", TRACE_PREEMPTED, AGAIN_SURELY},
    {"REQUEUE_HOLD", TRACE_PENDING, AGAIN_NO},
    {"REQUEUE_FED", TRACE_PENDING, AGAIN_NO},
    {"RESV_DEL_HOLD", TRACE_PENDING, AGAIN_NO},
    {"PENDING", TRACE_PENDING, AGAIN_NO},
    {"RUNNING", TRACE_RUNNING, AGAIN_NO},
    {"SUSPENDED", TRACE_RUNNING, AGAIN_NO},
    {"STOPPED", TRACE_RUNNING, AGAIN_NO},
    {"COMPLETING", TRACE_RUNNING, AGAIN_NO},
    {"CONFIGURING", TRACE_RUNNING, AGAIN_NO},
    {"RESIZING", TRACE_RUNNING, AGAIN_NO},
    {"SIGNALING", TRACE_RUNNING, AGAIN_NO},
    {"STAGE_OUT", TRACE_RUNNING, AGAIN_NO},
};

uint32_t sacct_column_find(struct str name)
{
    uint32_t i = 0;
    while (i < SACCT_COLUMNS && !str_is(name, column_names[i]))
        i++;
    return i;
}

/* --- TRES
 * --------------------------------------------------------------------------- */

static void type_add(struct sacct_tres *r, struct str type)
{
    size_t need = type.len + (r->types_len > 0);
    if (!type.len || r->types_len + need > sizeof r->types)
        return;
    if (r->types_len)
        r->types[r->types_len++] = ',';
    memcpy(r->types + r->types_len, type.ptr, type.len);
    r->types_len += (uint32_t)type.len;
}

struct gpu_sums {
    int64_t plain, typed, shards, mps; /* plain -1: not named */
};

static int tres_item(struct str key, struct str value, struct sacct_tres *r,
                     struct gpu_sums *g)
{
    int64_t v = 0;
    static const struct str typed = {"gres/gpu:", 9};
    if (str_is(key, "mem"))
        return cell_memory(value, INT64_C(1) << 20, &r->mem_bytes, NULL);
    bool known = str_is(key, "cpu") || str_is(key, "node") ||
                 str_starts(key, STR("gres/gpu")) ||
                 str_starts(key, STR("gres/shard")) || str_starts(key, STR("gres/mps"));
    if (!known)
        return 0;
    int rc = str_to_i64(value, &v);
    if (rc < 0)
        return rc;
    if (v < 0 || v > COUNT_MAX)
        return -ERANGE;
    if (str_is(key, "cpu")) {
        r->cpus = v;
    } else if (str_is(key, "node")) {
        r->nodes = v;
    } else if (str_is(key, "gres/gpu")) {
        g->plain = v;
    } else if (str_starts(key, typed)) {
        g->typed += v;
        type_add(r, (struct str){key.ptr + typed.len, key.len - typed.len});
    } else if (str_is(key, "gres/shard")) {
        g->shards = v;
    } else if (str_is(key, "gres/mps")) {
        g->mps = v;
    }
    return 0;
}

/* How the kinds of GPU amount to devices. Shards are a type of their own, since only
 * the site's gres.conf knows how many make a GPU; of MPS, a hundred make one. */
static void tres_gpus(struct sacct_tres *r, const struct gpu_sums *g)
{
    r->gpu_milli = 1000;
    if (g->plain > 0 || g->typed > 0) {
        r->gpus = g->plain > 0 ? g->plain : g->typed;
    } else if (g->mps > 0) {
        bool share = g->mps < MPS_PER_GPU;
        r->gpus = share ? 1 : (g->mps + MPS_PER_GPU - 1) / MPS_PER_GPU;
        r->gpu_milli = share ? g->mps * 1000 / MPS_PER_GPU : 1000;
    } else if (g->shards > 0) {
        r->gpus = g->shards;
        type_add(r, STR("shard"));
    } else if (g->plain == 0) {
        r->gpus = 0;
    }
}

int sacct_tres_parse(struct str s, struct sacct_tres *ret, const char **ret_bad)
{
    struct sacct_tres r = {.cpus = -1, .mem_bytes = -1, .nodes = -1, .gpus = -1};
    struct gpu_sums g = {.plain = -1};
    struct str rest = s;
    while (rest.ptr && s.len) {
        struct str item = str_cut(&rest, ',');
        struct str value = item;
        struct str key = str_cut(&value, '=');
        int rc = value.ptr ? tres_item(key, value, &r, &g) : -EINVAL;
        if (rc < 0) {
            *ret_bad = item.ptr;
            return rc;
        }
    }
    tres_gpus(&r, &g);
    *ret = r;
    return 0;
}

/* --- cells
 * -------------------------------------------------------------------------- */

static int bad(const struct sacct_row *row, uint32_t column, const char *at, int code,
               struct err *err, const char *why)
{
    struct str c = row->cells[column];
    return err_set(err, code, "%s:%llu:%zu: %s '%.*s' %s", row->file,
                   (unsigned long long)row->number,
                   (size_t)((at      ? at
                             : c.ptr ? c.ptr
                                     : row->line) -
                            row->line) +
                       1,
                   column_names[column], c.len < 60 ? (int)c.len : 60,
                   c.ptr ? c.ptr : "", why);
}

static bool is_nothing(struct str s)
{
    return !s.len || str_is(s, "Unknown") || str_is(s, "None") || str_is(s, "N/A");
}

static int time_read(const struct sacct_row *row, uint32_t column, int64_t *ret,
                     struct err *err)
{
    struct str c = row->cells[column];
    struct cell_day day = {0};
    int64_t s;
    *ret = TRACE_NEVER;
    if (is_nothing(c))
        return 0;
    if (str_to_i64(c, &s) == 0) {
        if (s < 0 || s > INT64_MAX / US_PER_S / 4)
            return bad(row, column, NULL, ERANGE, err, "is out of range");
        if (s > 0) /* 0: Slurm's "not yet" */
            *ret = s * US_PER_S;
        return 0;
    }
    if (cell_time(c, &day, ret) < 0)
        return bad(row, column, NULL, EINVAL, err, "is neither seconds nor a time");
    return 0;
}

/* A count that may be a range ("1-4", the least counts); -1 when there is none. */
static int count_read(const struct sacct_row *row, uint32_t column, int64_t *ret,
                      struct err *err)
{
    struct str c = row->cells[column];
    *ret = -1;
    if (is_nothing(c))
        return 0;
    const char *dash = memchr(c.ptr, '-', c.len);
    if (dash && dash > c.ptr)
        c.len = (size_t)(dash - c.ptr);
    int rc = str_to_i64(c, ret);
    if (rc == 0 && (*ret < 0 || *ret > COUNT_MAX))
        rc = -ERANGE;
    return rc < 0 ? bad(row, column, NULL, -rc, err,
                        rc == -ERANGE ? "is out of range" : "is not a number")
                  : 0;
}

/* Minutes, a clock, or a word for "no limit of its own". */
static int limit_read(const struct sacct_row *row, int64_t *ret, struct err *err)
{
    uint32_t column = row->cells[SACCT_TIMELIMIT_RAW].ptr ? SACCT_TIMELIMIT_RAW
                                                          : SACCT_TIMELIMIT;
    struct str c = row->cells[column];
    *ret = 0;
    if (is_nothing(c) || str_is(c, "UNLIMITED") || str_is(c, "Partition_Limit"))
        return 0;
    int rc = column == SACCT_TIMELIMIT_RAW ? cell_scaled(c, US_PER_MIN, ret)
                                           : cell_clock(c, ret);
    if (rc == -EINVAL && column == SACCT_TIMELIMIT_RAW)
        rc = cell_clock(c, ret);
    if (rc == 0 && *ret < 0)
        rc = -ERANGE;
    return rc < 0 ? bad(row, column, NULL, -rc, err, "is not a time limit") : 0;
}

static int elapsed_read(const struct sacct_row *row, int64_t *ret, struct err *err)
{
    uint32_t column =
        row->cells[SACCT_ELAPSED_RAW].ptr ? SACCT_ELAPSED_RAW : SACCT_ELAPSED;
    struct str c = row->cells[column];
    *ret = TRACE_NEVER;
    if (is_nothing(c))
        return 0;
    int rc = column == SACCT_ELAPSED_RAW ? cell_scaled(c, US_PER_S, ret)
                                         : cell_clock(c, ret);
    if (rc == 0 && *ret < 0)
        rc = -ERANGE;
    return rc < 0 ? bad(row, column, NULL, -rc, err, "is not a run time") : 0;
}

static int state_read(const struct sacct_row *row, struct sacct_entry *e,
                      struct err *err)
{
    struct str rest = row->cells[SACCT_STATE];
    struct str word = str_cut(&rest, ' ');
    if (word.len && word.ptr[word.len - 1] == '+') /* cut short by a narrow column */
        word.len--;
    for (size_t i = 0; word.len && i < sizeof states / sizeof *states; i++) {
        if (!str_is(word, states[i].name))
            continue;
        e->job.state = states[i].state;
        e->again = states[i].again;
        return 0;
    }
    return bad(row, SACCT_STATE, NULL, EINVAL, err, "is no state of Slurm");
}

/* "5+1", "2_[4-9%2]", "17". */
static int id_read(const struct sacct_row *row, struct sacct_entry *e, struct err *err)
{
    struct str name = row->cells[SACCT_JOB_ID];
    if (str_to_u64(row->cells[SACCT_JOB_ID_RAW], &e->id) < 0)
        return bad(row, SACCT_JOB_ID_RAW, NULL, EINVAL, err, "is not a job number");
    if (!name.len)
        name = row->cells[SACCT_JOB_ID_RAW];
    e->job.name = name;
    e->het = SACCT_HET_NONE;
    e->array_rest = memchr(name.ptr, '[', name.len) != NULL;
    struct str rest = name;
    struct str base = str_cut(&rest, '+');
    uint64_t offset;
    if (rest.ptr && str_to_u64(base, &e->het) == 0 && str_to_u64(rest, &offset) == 0 &&
        offset < COUNT_MAX)
        e->het_offset = (uint32_t)offset;
    else
        e->het = SACCT_HET_NONE;
    return 0;
}

static int times_read(const struct sacct_row *row, struct sacct_entry *e,
                      struct err *err)
{
    struct trace_job *j = &e->job;
    int64_t elapsed = TRACE_NEVER;
    int rc = time_read(row, SACCT_SUBMIT, &j->submit_us, err);
    if (rc == 0 && j->submit_us == TRACE_NEVER)
        rc = bad(row, SACCT_SUBMIT, NULL, EINVAL, err, "is missing");
    if (rc == 0)
        rc = time_read(row, SACCT_ELIGIBLE, &j->eligible_us, err);
    if (rc == 0)
        rc = time_read(row, SACCT_START, &j->start_us, err);
    if (rc == 0)
        rc = time_read(row, SACCT_END, &j->end_us, err);
    if (rc == 0)
        rc = elapsed_read(row, &elapsed, err);
    if (rc == 0)
        rc = limit_read(row, &j->limit_us, err);
    if (rc < 0)
        return rc;
    bool ran = j->start_us != TRACE_NEVER && j->state != TRACE_PENDING;
    if (j->state == TRACE_CANCELLED && (elapsed == 0 || j->start_us == j->end_us))
        ran = false;
    if (!ran)
        j->start_us = TRACE_NEVER;
    else
        j->run_us = elapsed;
    return 0;
}

/* --- amounts
 * ------------------------------------------------------------------------ */

static int tres_read(const struct sacct_row *row, uint32_t column,
                     struct sacct_tres *ret, struct err *err)
{
    const char *at = NULL;
    int rc = sacct_tres_parse(row->cells[column], ret, &at);
    return rc < 0 ? bad(row, column, at, -rc, err, "is not a list of resources") : 0;
}

/* "gpu:2", "gres:gpu:a100:2", "gpu:a100": GPUs of each node, where there is no TRES. */
static void gres_read(struct str s, int64_t nodes, struct sacct_tres *r)
{
    struct str rest = s;
    while (rest.ptr && s.len) {
        struct str item = str_cut(&rest, ','), part = item;
        struct str head = str_cut(&part, ':');
        if (str_is(head, "gres") && part.ptr)
            head = str_cut(&part, ':');
        if (!str_is(head, "gpu"))
            continue;
        int64_t n = 1;
        struct str type = {0}, last = part;
        if (part.ptr && str_to_i64(last, &n) < 0) {
            type = str_cut(&part, ':');
            if (part.ptr && str_to_i64(part, &n) < 0)
                n = 1;
        }
        if (n < 0 || n > COUNT_MAX / nodes)
            continue;
        type_add(r, type);
        r->gpus = (r->gpus > 0 ? r->gpus : 0) + n * nodes;
        r->gpu_milli = 1000;
    }
}

static int memory_read(const struct sacct_row *row, const struct sacct_tres *r,
                       int64_t nodes, int64_t cpus, int64_t *ret, struct err *err)
{
    char per = 0;
    int64_t v = 0;
    struct str c = row->cells[SACCT_REQ_MEM];
    if (r->mem_bytes >= 0) {
        *ret = r->mem_bytes / nodes + (r->mem_bytes % nodes != 0);
        return 0;
    }
    *ret = 0;
    if (is_nothing(c))
        return 0;
    int rc = cell_memory(c, INT64_C(1) << 20, &v, &per);
    if (rc == 0 && per == 'c' &&
        __builtin_mul_overflow(v, (cpus + nodes - 1) / nodes, &v))
        rc = -ERANGE;
    if (rc < 0)
        return bad(row, SACCT_REQ_MEM, NULL, -rc, err, "is not an amount of memory");
    *ret = per ? v : v / nodes + (v % nodes != 0);
    return 0;
}

static int64_t first_of(int64_t a, int64_t b, int64_t c, int64_t otherwise)
{
    return a > 0 ? a : b > 0 ? b : c > 0 ? c : otherwise;
}

static int amounts_read(struct trace *t, const struct sacct_row *row,
                        struct trace_job *j, struct err *err)
{
    struct sacct_tres alloc, req;
    int64_t n = -1, req_n = -1, cpu = -1, req_cpu = -1, priority = 0;
    int rc = tres_read(row, SACCT_ALLOC_TRES, &alloc, err);
    if (rc == 0)
        rc = tres_read(row, SACCT_REQ_TRES, &req, err);
    if (rc == 0)
        rc = count_read(row, SACCT_NNODES, &n, err);
    if (rc == 0)
        rc = count_read(row, SACCT_REQ_NODES, &req_n, err);
    if (rc == 0)
        rc = count_read(row, SACCT_NCPUS, &cpu, err);
    if (rc == 0)
        rc = count_read(row, SACCT_REQ_CPUS, &req_cpu, err);
    if (rc < 0)
        return rc;
    struct sacct_tres *r = row->cells[SACCT_ALLOC_TRES].len ? &alloc : &req;
    if (r->gpus < 0 && req.gpus >= 0) { /* AllocTRES without GPUs: not yet allocated */
        r->gpus = req.gpus;
        r->gpu_milli = req.gpu_milli;
    }
    if (!r->types_len && r->gpus > 0 && req.types_len) {
        memcpy(r->types, req.types, req.types_len);
        r->types_len = req.types_len;
    }
    int64_t nodes = first_of(r->nodes, n, req_n, 1);
    int64_t cpus = first_of(r->cpus, cpu, req_cpu, nodes);
    if (r->gpus < 0)
        gres_read(row->cells[SACCT_REQ_GRES], nodes, r);
    j->nodes = (uint32_t)nodes;
    j->cpu_milli = (cpus * 1000 + nodes - 1) / nodes;
    j->gpus = r->gpus > 0 ? (uint32_t)r->gpus : 0;
    j->gpu_milli = j->gpus ? (uint32_t)r->gpu_milli : 0;
    struct trace_types types =
        trace_intern_list(t, (struct str){r->types, r->types_len}, ',');
    if (!types.at) /* more types than a job can name: any will do */
        types.n = 0;
    j->types = types.at;
    j->ntypes = types.n;
    rc = memory_read(row, r, nodes, cpus, &j->mem_bytes, err);
    struct str p = row->cells[SACCT_PRIORITY];
    if (rc == 0 && p.len && str_to_i64(p, &priority) == 0)
        j->priority = (int32_t)(priority > INT32_MAX ? INT32_MAX
                                : priority < 0       ? 0
                                                     : priority);
    return rc;
}

int sacct_row_read(struct trace *t, const struct sacct_row *row, struct sacct_entry *e,
                   struct err *err)
{
    *e = (struct sacct_entry){0};
    trace_job_init(t, &e->job);
    int rc = id_read(row, e, err);
    if (rc == 0)
        rc = state_read(row, e, err);
    if (rc == 0)
        rc = times_read(row, e, err);
    if (rc == 0)
        rc = amounts_read(t, row, &e->job, err);
    if (rc < 0)
        return rc;
    struct str queue = row->cells[SACCT_ACCOUNT].len ? row->cells[SACCT_ACCOUNT]
                                                     : row->cells[SACCT_PARTITION];
    e->job.user = trace_intern(t, row->cells[SACCT_USER]);
    e->job.queue = trace_intern(t, queue);
    e->job.partition = trace_intern(t, row->cells[SACCT_PARTITION]);
    e->job.name = trace_intern(t, e->job.name);
    e->job_name = trace_intern(t, row->cells[SACCT_JOB_NAME]);
    struct str nodes = row->cells[SACCT_NODE_LIST];
    if (!is_nothing(nodes) && !str_is(nodes, "None assigned"))
        e->job.node_list = trace_intern(t, nodes);
    trace_job_settle(&e->job);
    return 0;
}
