/* prop.c - random clusters, jobs, failures and lies; every promise checked after each
 * record
 *
 * An episode is a fresh core, a fresh audit and a random scene (prop-scene.c); a world
 * (prop-world.c) then says things and carries decisions out, for some thousand records.
 * Each event goes through event_check, through the codec and back, into sched_fold and
 * into audit_record; each border is decided, each decision is audited. Now and then
 * everything in the core is recomputed (sched_invariants), its ledger is compared with
 * the audit's, and the core is saved, loaded, compared by digest, and replaced by what
 * was loaded.
 *
 * The matrix counts events by kind and by the phase of the claim that they met.
 * Everything follows from --seed: two builds, two hash seeds, two malloc fills, with
 * and without saves must print the same digests. A failure prints the command that
 * repeats it. SPDX-License-Identifier: Apache-2.0 */
#include "prop.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "audit/audit.h"
#include "base/hash.h"
#include "base/units.h"
#include "event/codec.h"
#include "sched/sched.h"

static const int kinds[PROP_KINDS] = {EV_TASK_OFFERED, EV_TASK_GONE,   EV_TASK_AT,
                                      EV_TASK_REFUSED, EV_TASK_ENDING, EV_TASK_ENDED,
                                      EV_STOP_REFUSED};

struct options {
    uint64_t records, seed, episode, save_every, check_every, show, least, full;
    bool digest, digest_only;
};

struct run {
    struct options opt;
    struct prop *p;
    struct sched *s;
    struct audit *a;
    struct records batch, decoded, out;
    struct buf bytes, again, saved;
    uint64_t done; /* records in all episodes */
    uint64_t seq;  /* in this episode */
    uint64_t episode;
    uint64_t digest, next_print, next_save, next_check;
    uint64_t saves, borders, decisions, launches, stops, says;
    uint64_t cells[PROP_KINDS][PROP_PHASES];
};

static int phase_of(void *arg, const struct task_ref *ref)
{
    struct run *u = arg;
    return audit_phase(u->a, ref);
}

static bool job_known(void *arg, struct str name)
{
    struct run *u = arg;
    struct record r = {.kind = EV_JOB_DO};
    r.job_do.job = name;
    r.job_do.verb = JOB_HOLD;
    return sched_check(u->s, &r, NULL) == 0;
}

static void show_seats(const struct seat *seats, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        fprintf(stderr, " %u/%u:" STR_FMT ":%" PRIx64 ":%x" STR_FMT, seats[i].slot.leaf,
                seats[i].slot.index, STR_ARG(seats[i].node), seats[i].devs,
                seats[i].slices, STR_ARG(seats[i].task));
}

static void show_ref(const struct task_ref *t)
{
    fprintf(stderr, " " STR_FMT " L%" PRIx64 " " STR_FMT " %u.%u %u/%u",
            STR_ARG(t->task), t->launch, STR_ARG(t->gang.job), t->gang.group,
            t->gang.copy, t->slot.leaf, t->slot.index);
}

static void show_job(const struct job_spec *s)
{
    fprintf(stderr, " " STR_FMT " kind %u success %u loss %u tries %u backoff %" PRId64,
            STR_ARG(s->name), s->kind, s->success, s->on_loss, s->tries, s->backoff_us);
    for (uint32_t i = 0; i < s->ngroups; i++) {
        const struct group_spec *g = &s->groups[i];
        fprintf(stderr,
                "\n      group %u in %d%s %u..%u..%u/%u start %u after %u req %u "
                "pref %u seg %u@%u spread %u@%u",
                i, (int16_t)g->parent, g->whole ? " whole" : "", g->count.min,
                g->count.want, g->count.max, g->count.step, g->start, g->start_group,
                g->required, g->preferred, g->segment_size, g->segment_level,
                g->spread_most, g->spread_kind);
        if (g->shape == GROUP_NONE)
            continue;
        const struct shape *sh = &s->shapes[g->shape];
        fprintf(stderr,
                " shape cpu %" PRId64 " mem %" PRId64 " gpu %u x%u %u types %u tags %u "
                "constraints %u",
                sh->cpu_milli, sh->mem_bytes, sh->gpu_mode, sh->gpu_count,
                sh->gpu_milli, sh->ntypes, sh->ntags, sh->nconstraints);
    }
}

static void show(const struct record *r)
{
    fprintf(stderr, "%6" PRIu64 " %10.3f %-14s", r->seq, (double)r->at / 1e6,
            record_kind_name(r->kind));
    switch (r->kind) {
    case EV_JOB_SET: show_job(r->job_set); break;
    case EV_JOB_DO:
        fprintf(stderr, " " STR_FMT " verb %u", STR_ARG(r->job_do.job), r->job_do.verb);
        break;
    case EV_NODE_SET:
        fprintf(stderr, " " STR_FMT " uid " STR_FMT " state %u devices %u taints %u",
                STR_ARG(r->node_set->name), STR_ARG(r->node_set->uid),
                r->node_set->state, r->node_set->ndevices, r->node_set->ntaints);
        for (uint32_t i = 0; i < r->node_set->nplace; i++)
            fprintf(stderr, " %u=%u", r->node_set->place[i].key,
                    r->node_set->place[i].value);
        break;
    case EV_NODE_GONE: fprintf(stderr, " " STR_FMT, STR_ARG(r->node_gone.node)); break;
    case EV_DEVICE_SET:
        fprintf(stderr, " " STR_FMT " %u state %u", STR_ARG(r->device_set.node),
                r->device_set.device, r->device_set.state);
        break;
    case EV_FOREIGN_SET:
        fprintf(stderr, " " STR_FMT " on " STR_FMT " phase %u",
                STR_ARG(r->foreign_set.name), STR_ARG(r->foreign_set.node),
                r->foreign_set.phase);
        break;
    case EV_TASK_AT:
        show_ref(&r->task_at.ref);
        fprintf(stderr, " on " STR_FMT ":%" PRIx64 ":%x phase %u",
                STR_ARG(r->task_at.node), r->task_at.devs, r->task_at.slices,
                r->task_at.phase);
        break;
    case EV_TASK_ENDED:
        show_ref(&r->task_ended.ref);
        fprintf(stderr, " how %u", r->task_ended.how);
        break;
    case EV_TASK_REFUSED:
        show_ref(&r->task_refused.ref);
        fprintf(stderr, " class %u retry %.3f", r->task_refused.class_,
                (double)r->task_refused.retry_at / 1e6);
        break;
    case EV_STOP_REFUSED:
        show_ref(&r->stop_refused.ref);
        fprintf(stderr, " stop %" PRIx64 " retry %.3f", r->stop_refused.stop,
                (double)r->stop_refused.retry_at / 1e6);
        break;
    case EV_TASK_OFFERED:
    case EV_TASK_GONE:
    case EV_TASK_ENDING: show_ref(&r->task_gone.ref); break;
    case EV_POLICY_SET:
        fprintf(stderr, " " STR_FMT, STR_ARG(r->policy_set.text));
        break;
    case EV_SYNC_BEGIN:
    case EV_SYNCED: fprintf(stderr, " " STR_FMT, STR_ARG(r->sync.node)); break;
    case EV_LEAD: fprintf(stderr, " %d term %u", r->lead.held, r->lead.term); break;
    case DE_LAUNCH:
        fprintf(stderr, " " STR_FMT " %u.%u L%" PRIx64 " stage %u by %.3f",
                STR_ARG(r->launch.gang.job), r->launch.gang.group, r->launch.gang.copy,
                r->launch.launch, r->launch.stage, (double)r->launch.launch_by / 1e6);
        show_seats(r->launch.seats, r->launch.nseats);
        break;
    case DE_HOLD:
        fprintf(stderr, " " STR_FMT " %u.%u", STR_ARG(r->hold.gang.job),
                r->hold.gang.group, r->hold.gang.copy);
        show_seats(r->hold.seats, r->hold.nseats);
        break;
    case DE_STOP:
        fprintf(stderr, " S%" PRIx64 " why %u:", r->stop.stop, r->why.code);
        for (uint32_t i = 0; i < r->stop.ntasks; i++)
            show_ref(&r->stop.tasks[i]);
        break;
    case DE_SAY:
        fprintf(stderr, " " STR_FMT " %u.%u why %u need %u have %u",
                STR_ARG(r->say.gang.job), r->say.gang.group, r->say.gang.copy,
                r->why.code, r->why.need, r->why.have);
        break;
    case DE_PASS:
        fprintf(stderr, " left %u same %u", r->pass.left, r->pass.nsame);
        break;
    default: break;
    }
    fputc('\n', stderr);
}

static int failed(const struct run *u, const char *what)
{
    fflush(stdout);
    fprintf(stderr,
            "prop: seed %" PRIu64 " episode %" PRIu64 " record %" PRIu64 ": %s\n"
            "prop: repeat with: prop --seed %" PRIu64 " --episode %" PRIu64
            " --records %" PRIu64 " --check-every %" PRIu64 " --save-every %" PRIu64
            " --full %" PRIu64 " --show 60\n",
            u->opt.seed, u->episode, u->seq, what, u->opt.seed, u->episode,
            u->seq + 200, u->opt.check_every, u->opt.save_every, u->opt.full);
    return 1;
}

/* An assertion of the core is a failure like any other: say how to repeat it. */
static const struct run *running;
static void on_abort(int sig)
{
    failed(running, "the core aborted");
    signal(sig, SIG_DFL);
}

/* The record as bytes, into the digest, and back; what comes back is in `decoded`. */
static int through_codec(struct run *u, const struct record *r)
{
    struct err err = {0};
    buf_clear(&u->bytes);
    record_encode(r, &u->bytes);
    u->digest = digest_mix(u->digest, digest_bytes(u->bytes.data, u->bytes.len, 0));
    records_clear(&u->decoded);
    struct str in = buf_as_str(&u->bytes);
    if (record_decode(&in, &u->decoded, &err) || in.len)
        return failed(u, err.text);
    buf_clear(&u->again);
    record_encode(&u->decoded.list.at[0], &u->again);
    if (!str_eq(buf_as_str(&u->bytes), buf_as_str(&u->again)))
        return failed(u, "the codec gives other bytes the second time");
    return 0;
}

static void count(struct run *u, const struct record *r)
{
    for (int k = 0; k < PROP_KINDS; k++)
        if (kinds[k] == r->kind)
            u->cells[k][audit_phase(u->a, &r->task_at.ref)]++;
    u->done++;
    u->seq = r->seq;
    u->borders += r->kind == REC_BORDER;
    u->decisions += record_is_decision(r->kind);
    u->launches += r->kind == DE_LAUNCH;
    u->stops += r->kind == DE_STOP;
    u->says += r->kind == DE_SAY;
    if (u->opt.show && r->seq + u->opt.show >= u->opt.records)
        show(r);
}

static int audited(struct run *u, const struct record *r)
{
    struct err err = {0};
    return audit_record(u->a, r, &err) ? failed(u, err.text) : 0;
}

static int compare_ledgers(struct run *u)
{
    struct ledger ours, theirs;
    char text[600];
    int len = 0;
    sched_ledger(u->s, &ours);
    audit_ledger(u->a, &theirs);
    unsigned __int128 sum = 0;
    for (int c = 0; c < LEDGER_CAUSES; c++) {
        sum += theirs.sum[c];
        if (ours.sum[c] == theirs.sum[c])
            continue;
        len +=
            snprintf(text + len, sizeof text - (size_t)len, "%s %s: core - audit %.0f",
                     len ? "," : "invariant 7: the ledgers differ in",
                     ledger_cause_name(c),
                     (double)(__int128)(ours.sum[c] - theirs.sum[c]));
    }
    if (len)
        return failed(u, text);
    if (sum != theirs.capacity || ours.capacity != theirs.capacity)
        return failed(u, "invariant 7: the causes do not sum to capacity x time");
    return 0;
}

static int save_and_load(struct run *u)
{
    struct sched *loaded = NULL;
    struct err err = {0};
    buf_clear(&u->saved);
    sched_save(u->s, &u->saved);
    if (sched_load(&loaded, buf_as_str(&u->saved), &err))
        return failed(u, err.text);
    bool same = sched_digest(u->s, DIGEST_ALL) == sched_digest(loaded, DIGEST_ALL) &&
                sched_digest(u->s, DIGEST_FACTS) == sched_digest(loaded, DIGEST_FACTS);
    sched_destroy(u->s);
    u->s = loaded;
    u->saves++;
    return same ? 0 : failed(u, "invariant 6: another digest after save and load");
}

/* Between turns: whatever is checked only now and then. */
static int look(struct run *u)
{
    int rc = 0;
    if (u->done >= u->next_check) {
        u->next_check = u->done + u->opt.check_every;
        sched_invariants(u->s);
        rc = compare_ledgers(u);
        /* what a report would show must not change anything */
        uint64_t all = sched_digest(u->s, DIGEST_ALL);
        sched_fragmented_milli(u->s);
        if (!rc && all != sched_digest(u->s, DIGEST_ALL))
            rc = failed(u, "invariant 6: looking changed the digest");
    }
    if (!rc && u->opt.save_every && u->done >= u->next_save) {
        u->next_save = u->done + u->opt.save_every;
        rc = save_and_load(u);
    }
    while (!rc && u->done >= u->next_print) {
        uint64_t h = digest_mix(u->digest, sched_digest(u->s, DIGEST_ALL));
        if (u->opt.digest)
            printf("digest %" PRIu64 " %016" PRIx64 "\n", u->next_print, h);
        u->next_print += 10000;
    }
    return rc;
}

static int feed(struct run *u, struct record *r)
{
    struct err err = {0};
    r->seq = u->seq + 1;
    r->at = u->p->at;
    if (r->kind != REC_BORDER && event_check(r, &err)) {
        show(r);
        return failed(u, err.text);
    }
    count(u, r);
    if (through_codec(u, r))
        return 1;
    sched_check(u->s, r, NULL); /* must not change anything */
    sched_fold(u->s, r->seq % 2 ? r : &u->decoded.list.at[0]);
    return audited(u, r);
}

static int turn(struct run *u)
{
    for (uint32_t i = 0; i < u->batch.list.n; i++)
        if (feed(u, &u->batch.list.at[i]))
            return 1;
    struct record border = {.kind = REC_BORDER};
    if (feed(u, &border))
        return 1;
    records_clear(&u->out);
    sched_decide(u->s, &u->out);
    for (uint32_t i = 0; i < u->out.list.n; i++) {
        const struct record *r = &u->out.list.at[i];
        count(u, r);
        if (through_codec(u, r) || audited(u, r))
            return 1;
    }
    for (uint32_t i = 0; i < u->out.list.n; i++)
        if (!u->out.list.at[i].would)
            world_act(u->p, &u->out.list.at[i]);
    return look(u);
}

/* When the next turn is: what the core or the world waits for, or a while from now. */
static void advance(struct run *u)
{
    struct prop *p = u->p;
    int64_t due = sched_due(u->s), world = world_due(p), next = INT64_MAX;
    if (chance(p, 900) && due < next)
        next = due;
    if (world < next)
        next = world;
    int64_t most =
        p->at + (int64_t)(1 + below(p, chance(p, 950) ? 10 : 200)) * US_PER_S;
    if (next > most)
        next = most;
    if (next > p->at)
        p->at = next;
    records_clear(&u->batch);
    if (due <= p->at)
        scene_add(&u->batch, EV_TIME, p->at);
}

static int episode(struct run *u)
{
    struct prop *p = u->p;
    for (uint32_t i = 0; i < PROP_JOBS; i++)
        arena_done(&p->jobs[i].mem);
    memset(p, 0, sizeof *p);
    rng_init(&p->rng, u->opt.seed, u->episode);
    p->full = u->opt.full;
    p->ask = (struct prop_ask){u, phase_of, job_known};
    p->at = (int64_t)below(p, 1000000) * US_PER_S;
    sched_destroy(u->s);
    audit_destroy(u->a);
    u->s = sched_create();
    u->a = audit_create();
    u->seq = 0;
    uint64_t length = 1000 + below(p, 6000);
    records_clear(&u->batch);
    scene_start(p, &u->batch);
    int rc = turn(u);
    while (!rc && u->seq < length && u->done < u->opt.records) {
        advance(u);
        world_step(p, &u->batch);
        rc = turn(u);
    }
    if (!rc && u->seq >= length) /* a short last look at everything */
        rc = compare_ledgers(u);
    return rc;
}

static int matrix(const struct run *u)
{
    static const char *const phases[PROP_PHASES] = {"none",    "planned", "issued",
                                                    "running", "ending",  "stray"};
    uint64_t least = UINT64_MAX;
    printf("%-14s", "event x phase");
    for (int f = 0; f < PROP_PHASES; f++)
        printf(" %9s", phases[f]);
    printf("\n");
    for (int k = 0; k < PROP_KINDS; k++) {
        printf("%-14s", record_kind_name(kinds[k]));
        for (int f = 0; f < PROP_PHASES; f++) {
            printf(" %9" PRIu64, u->cells[k][f]);
            least = u->cells[k][f] < least ? u->cells[k][f] : least;
        }
        printf("\n");
    }
    printf("%" PRIu64 " records, %" PRIu64 " episodes, %" PRIu64 " borders, %" PRIu64
           " decisions (%" PRIu64 " launches, %" PRIu64 " stops, %" PRIu64
           " says), %" PRIu64 " saves; rarest cell %" PRIu64 "\n",
           u->done, u->episode - u->opt.episode, u->borders, u->decisions, u->launches,
           u->stops, u->says, u->saves, least);
    if (least >= u->opt.least)
        return 0;
    fprintf(stderr,
            "prop: a cell was met only %" PRIu64 " times, %" PRIu64 " are wanted\n",
            least, u->opt.least);
    return 1;
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: prop [--records N] [--seed S] [--episode E] [--digest] "
        "[--digest-only]\n"
        "            [--hash-seed H] [--save-every K] [--check-every K] [--least N]\n"
        "            [--show N]\n"
        "  --records N      stop after N records (default 20000)\n"
        "  --seed S         everything follows from it (default 1)\n"
        "  --episode E      begin with episode E (to repeat a failure)\n"
        "  --digest         a line with the running digest every 10,000 records\n"
        "  --digest-only    nothing else on standard output\n"
        "  --hash-seed H    seed of the hash tables; must not change any digest\n"
        "  --save-every K   save, load and go on with the loaded core (0: never)\n"
        "  --check-every K  recompute everything so often (default 64)\n"
        "  --least N        fail when a cell of the matrix was met fewer times\n"
        "  --full 1         policies with quotas, reservations and evictions too\n"
        "  --show N         print the last N of --records to standard error\n");
    return 2;
}

static int read_options(int argc, char **argv, struct options *o)
{
    *o = (struct options){.records = 20000,
                          .seed = 1,
                          .check_every = 64,
                          .save_every = 500};
    const struct {
        const char *name;
        uint64_t *value;
    } numbers[] = {
        {"--records", &o->records},       {"--seed", &o->seed},
        {"--episode", &o->episode},       {"--hash-seed", &hash_seed},
        {"--save-every", &o->save_every}, {"--check-every", &o->check_every},
        {"--full", &o->full},             {"--least", &o->least},           {"--show", &o->show},
    };
    for (int i = 1; i < argc; i++) {
        bool known = false;
        if (strcmp(argv[i], "--digest") == 0 || strcmp(argv[i], "--digest-only") == 0) {
            o->digest = true;
            o->digest_only |= argv[i][8] != 0;
            continue;
        }
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers && !known; k++) {
            if (strcmp(argv[i], numbers[k].name) != 0 || i + 1 >= argc)
                continue;
            if (str_to_u64(str_of(argv[++i]), numbers[k].value))
                return -1;
            known = true;
        }
        if (!known)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct run *u = mem_zero(sizeof *u);
    if (read_options(argc, argv, &u->opt))
        return usage();
    u->p = mem_zero(sizeof *u->p);
    running = u;
    signal(SIGABRT, on_abort);
    u->episode = u->opt.episode;
    u->next_print = 10000;
    u->next_save = u->opt.save_every;
    int rc = 0;
    while (!rc && u->done < u->opt.records) {
        rc = episode(u);
        u->episode += !rc;
    }
    if (!rc && !u->opt.digest_only)
        rc = matrix(u);
    sched_destroy(u->s);
    audit_destroy(u->a);
    for (uint32_t i = 0; i < PROP_JOBS; i++)
        arena_done(&u->p->jobs[i].mem);
    records_done(&u->batch);
    records_done(&u->decoded);
    records_done(&u->out);
    buf_done(&u->bytes);
    buf_done(&u->again);
    buf_done(&u->saved);
    free(u->p);
    free(u);
    return rc;
}
