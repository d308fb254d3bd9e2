/* replay.c - `muster replay`: folds a journal again, and decides again to compare
 *
 * Events are folded as they were recorded. Without --verify decisions are too. With it,
 * at each border the core decides on its own state and its records are compared with
 * the recorded ones byte by byte; they are the same records, so nothing is folded
 * twice. Behind a frame that differs the state is made again from the record, so that
 * one difference is not told as a thousand. Cost: what the run itself took without its
 * world. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/point.h"
#include "event/codec.h"
#include "words/saying.h"

/* Each costs a fold from the newest snapshot before it. */
enum { DIFFERING_MAX = 16 };

static const struct cmd_option options[] = {
    {"verify", 'v', NULL, CMD_FLAG,
     .help = "decide again at every border and compare with what was decided"},
    {"until", 'u', "POINT", CMD_TEXT, .help = "stop there: " POINT_HELP},
    {"snapshot", 0, NULL, CMD_FLAG,
     .help = "begin with the newest snapshot before that point instead of the first "
             "record"},
    {"digests", 0, NULL, CMD_FLAG,
     .help = "print the last record's number and the digest of the state behind every "
             "frame"},
    {"accept-loss", 0, "N", CMD_INT, .min = 0, .max = INT64_MAX,
     .help = "where a frame behind record N is damaged, take what stands before it"},
    {"output", 'o', "table|json", CMD_CHOICE, .preset = "table",
     .help = "what is printed"},
    {0},
};

struct replay {
    const char *path;
    struct journal_point to;
    bool verify, digests, snapshot, own_build, gave_up;
    uint64_t loss, *accept_loss;
    struct sched *sched;
    uint64_t base_seq, frames, records, decisions, borders;
    uint64_t compared, differing, differences;
    struct records again;    /* what is decided now */
    struct buf bytes, first; /* the first difference, in words */
    int64_t start;
    struct journal_end end;
    char build[BUILD_ID_MAX], own[BUILD_ID_MAX];
};

static void tell_side(struct replay *x, const char *who, const struct record *r,
                      struct str bytes)
{
    buf_fmt(&x->first, "  %-8s ", who);
    if (r)
        saying_record(sched_words(x->sched), r, &x->first);
    else
        buf_z(&x->first, "nothing");
    if (bytes.len) {
        buf_fmt(&x->first, "\n  %-8s ", "");
        for (size_t i = 0; i < bytes.len; i++)
            buf_fmt(&x->first, "%02x", (unsigned char)bytes.ptr[i]);
    }
    buf_char(&x->first, '\n');
}

static void difference(struct replay *x, const struct journal_frame *f, uint32_t i,
                       const struct record *now)
{
    const struct record *then = i < f->n ? &f->records->list.at[i] : NULL;
    x->differences++;
    if (x->first.len)
        return;
    buf_fmt(&x->first, "record %" PRIu64 ", ", then ? then->seq : now->seq);
    point_text(then ? then->at : now->at, x->start, &x->first);
    buf_char(&x->first, '\n');
    tell_side(x, "recorded", then, then ? f->bytes[i] : (struct str){0});
    tell_side(x, "now", now, now ? buf_as_str(&x->bytes) : (struct str){0});
}

/* Behind the border at f[i]: true when all is as recorded. */
static bool same_decisions(struct replay *x, const struct journal_frame *f, uint32_t i)
{
    uint64_t before = x->differences;
    records_clear(&x->again);
    sched_decide(x->sched, &x->again);
    for (uint32_t k = 0; k < x->again.list.n || i + k < f->n; k++) {
        const struct record *now = k < x->again.list.n ? &x->again.list.at[k] : NULL;
        buf_clear(&x->bytes);
        if (now)
            record_encode(now, &x->bytes);
        x->compared++;
        if (i + k >= f->n || !now || !str_eq(buf_as_str(&x->bytes), f->bytes[i + k]))
            difference(x, f, i + k, now);
    }
    return x->differences == before;
}

/* The state behind a frame that differed, as it was recorded. */
static int mend(struct replay *x, uint64_t seq, struct err *err)
{
    struct journal_point to = {seq, INT64_MAX};
    struct journal_state state;
    int rc = journal_load(&state, x->path, &to, x->accept_loss, err);
    if (rc)
        return rc;
    sched_destroy(x->sched);
    x->sched = state.base.sched;
    return 0;
}

static int fold_frame(struct replay *x, const struct journal_frame *f, struct err *err)
{
    bool same = true, whole = f->last_seq <= x->to.seq;
    for (uint32_t i = 0; i < f->n && f->first_seq + i <= x->to.seq; i++) {
        const struct record *r = &f->records->list.at[i];
        bool compare = x->verify && whole && !x->gave_up && r->kind == REC_BORDER;
        x->records++;
        x->borders += r->kind == REC_BORDER;
        x->decisions += record_is_decision(r->kind);
        sched_fold(x->sched, r);
        if (!compare)
            continue;
        same = same_decisions(x, f, i + 1);
        for (uint32_t k = i + 1; k < f->n; k++)
            x->decisions += record_is_decision(f->records->list.at[k].kind);
        x->records += f->n - i - 1;
        break; /* a border ends the events, and its decisions are folded */
    }
    x->frames += whole;
    x->differing += !same;
    x->gave_up |= x->differing == DIFFERING_MAX;
    return same ? 0 : mend(x, f->last_seq, err);
}

static void print_digest(const struct replay *x, uint64_t seq)
{
    printf("%" PRIu64 " %016" PRIx64 "\n", seq, sched_digest(x->sched, DIGEST_ALL));
}

static int fold_all(struct replay *x, struct journal_reader *r, struct err *err)
{
    struct journal_frame f;
    int more;
    while ((more = journal_reader_next(r, &f, err)) > 0) {
        if (f.first_seq > x->to.seq || f.at > x->to.at)
            break;
        x->own_build &= !strcmp(journal_reader_head(r)->build, x->own);
        int rc = fold_frame(x, &f, err);
        if (rc)
            return rc;
        if (x->digests)
            print_digest(x, f.last_seq < x->to.seq ? f.last_seq : x->to.seq);
    }
    journal_reader_end(r, &x->end);
    if (!x->build[0])
        memcpy(x->build, journal_reader_head(r)->build, sizeof x->build);
    return more < 0 ? more : 0;
}

static int replay(struct replay *x, struct err *err)
{
    struct journal_base base;
    struct journal_reader *r;
    char own[BUILD_ID_MAX];
    int rc = point_start(&x->start, x->path, err);
    if (!rc)
        rc = journal_base(&base, x->path, &x->to, x->snapshot, err);
    if (rc)
        return rc;
    if (base.left_out)
        fprintf(stderr, "muster replay: %s; begins earlier\n", base.note);
    x->sched = base.sched;
    x->base_seq = base.seq;
    rc = journal_reader_open(&r, x->path, base.seq, x->accept_loss, err);
    if (rc)
        return rc;
    build_id(own);
    memcpy(x->build, journal_reader_head(r)->build, sizeof x->build);
    x->own_build = !strcmp(own, x->build);
    if (!x->own_build)
        fprintf(stderr,
                "muster replay: written by build %s, this is %s: the same decisions "
                "are not promised%s\n",
                x->build, own,
                x->base_seq ? "" : "; its records alone are used, from the first one");
    memcpy(x->own, own, sizeof x->own);
    rc = fold_all(x, r, err);
    journal_reader_close(r);
    return rc;
}

static void print_row(const char *name, uint64_t n)
{
    char text[24];
    printf("%-12s %s\n", name, count_text(n, text));
}

static void print_table(const struct replay *x)
{
    struct buf at = {0};
    struct sched_counts c;
    sched_counts(x->sched, &c);
    if (x->first.len)
        printf("the first difference: " STR_FMT "\n", STR_ARG(buf_as_str(&x->first)));
    printf("%-12s %s%s\n", "build", x->build, x->own_build ? " (this one)" : "");
    if (x->base_seq)
        print_row("snapshot", x->base_seq);
    print_row("frames", x->frames);
    print_row("records", x->records);
    print_row("borders", x->borders);
    print_row("decisions", x->decisions);
    if (x->verify) {
        print_row("compared", x->compared);
        print_row("differences", x->differences);
        if (x->gave_up)
            printf("%-12s behind %d differing frames nothing was compared any more\n",
                   "", DIFFERING_MAX);
    }
    if (x->end.torn_bytes)
        printf("%-12s %" PRIu64 " bytes behind the last whole frame were left out\n",
               "torn", x->end.torn_bytes);
    if (x->end.lost)
        printf("%-12s what stood behind record %" PRIu64 " was given up\n", "lost",
               x->end.seq);
    print_row("jobs", c.jobs);
    print_row("waiting", c.pending_gangs);
    print_row("running", c.running_gangs);
    print_row("seq", x->base_seq + x->records);
    printf("%-12s %016" PRIx64 "\n", "digest", sched_digest(x->sched, DIGEST_ALL));
    buf_done(&at);
}

static void print_json(const struct replay *x)
{
    struct buf b = {0};
    buf_z(&b, "{\"build\":");
    buf_json(&b, str_of(x->build));
    buf_fmt(&b,
            ",\"own_build\":%s,\"snapshot\":%" PRIu64 ",\"frames\":%" PRIu64
            ",\"records\":%" PRIu64 ",\"borders\":%" PRIu64 ",\"decisions\":%" PRIu64,
            x->own_build ? "true" : "false", x->base_seq, x->frames, x->records,
            x->borders, x->decisions);
    if (x->verify)
        buf_fmt(&b,
                ",\"compared\":%" PRIu64 ",\"differing_frames\":%" PRIu64
                ",\"differences\":%" PRIu64,
                x->compared, x->differing, x->differences);
    if (x->first.len) {
        buf_z(&b, ",\"first_difference\":");
        buf_json(&b, buf_as_str(&x->first));
    }
    buf_fmt(&b,
            ",\"torn_bytes\":%" PRIu64 ",\"closed\":%s,\"lost\":%s,\"seq\":%" PRIu64
            ",\"digest\":\"%016" PRIx64 "\"}\n",
            x->end.torn_bytes, x->end.closed ? "true" : "false",
            x->end.lost ? "true" : "false", x->base_seq + x->records,
            sched_digest(x->sched, DIGEST_ALL));
    fwrite(b.data, 1, b.len, stdout);
    buf_done(&b);
}

static int run(const struct cmd_line *line)
{
    struct err err = {0};
    struct replay x = {
        .path = line->args[0],
        .verify = cmd_flag(line, "verify"),
        .digests = cmd_flag(line, "digests"),
        .snapshot = cmd_flag(line, "snapshot"),
        .loss = (uint64_t)cmd_int(line, "accept-loss"),
    };
    if (cmd_given(line, "accept-loss"))
        x.accept_loss = &x.loss;
    int rc = point_parse(&x.to, cmd_text(line, "until"), x.path, &err);
    if (!rc)
        rc = replay(&x, &err);
    if (!rc && cmd_int(line, "output") == 1)
        print_json(&x);
    else if (!rc)
        print_table(&x);
    sched_destroy(x.sched);
    records_done(&x.again);
    buf_done(&x.bytes);
    buf_done(&x.first);
    if (rc)
        return cmd_fail(line, &err);
    return x.differences ? CMD_FAILED : CMD_OK;
}

static const char *const examples[] = {
    "muster sim -c site.yaml -t jobs.csv -p muster --journal run.journal",
    "muster replay run.journal --verify",
    "# the state as it was after three hours:",
    "muster replay run.journal --until 3h",
    NULL,
};

const struct cmd cmd_replay = {
    .name = "replay",
    .summary = "fold a journal again, and check that the same is decided",
    .args = "DIR",
    .args_min = 1,
    .args_max = 1,
    .about = "Reads the journal in DIR and folds its records into a fresh core. With "
             "--verify the\n"
             "core decides again at every border, and each decision is compared with "
             "the recorded\n"
             "one byte by byte; a difference is printed in full and the exit code is "
             "1. Equal\n"
             "decisions are promised for the build that wrote the journal.\n"
             "\n"
             "Nothing in DIR is changed; a frame that was being written when the "
             "writer died is\n"
             "left out.",
    .options = options,
    .examples = examples,
    .run = run,
};
