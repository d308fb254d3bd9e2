/* test-convert.c - trace rows as job specs, and the two files of the twin
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <errno.h>

#include "base/units.h"
#include "world/twin/convert.h"
#include "world/twin/speed.h"

static struct words words;
static struct arena arena;

static const struct job_spec *spec_of(struct trace_job j, const struct belief *belief,
                                      bool oracle)
{
    static struct convert c;
    struct err err = {0};
    convert_done(&c);
    convert_init(&c, &words, 8, oracle, belief, 1);
    const struct job_spec *s = convert_job(&c, &j, STR("00000000"), j.submit_us, &arena);
    if (job_spec_check(s, &err))
        fail("the spec does not pass its own check: %s", err.text);
    return s;
}

static void test_splits(void)
{
    static const struct {
        uint32_t nodes, gpus, milli;
        uint32_t tasks, nleaves, tasks0, gpus0, tasks1, gpus1;
        const char *what;
    } t[] = {
        {0, 0, 0, 1, 1, 1, 0, 0, 0, "no GPU: one task"},
        {0, 1, 1000, 1, 1, 1, 1, 0, 0, "one GPU"},
        {0, 8, 1000, 1, 1, 1, 8, 0, 0, "a whole node"},
        {0, 9, 1000, 2, 2, 1, 8, 1, 1, "9 = 8 + 1"},
        {0, 12, 1000, 2, 2, 1, 8, 1, 4, "12 = 8 + 4"},
        {0, 16, 1000, 2, 1, 2, 8, 0, 0, "16 = 8 + 8"},
        {0, 1, 300, 1, 1, 1, 1, 0, 0, "a share"},
        {0, 3, 300, 3, 1, 3, 1, 0, 0, "three shares are three tasks"},
        {4, 8, 1000, 4, 1, 4, 2, 0, 0, "nodes are fixed: 4 x 2"},
        {4, 10, 1000, 4, 2, 2, 3, 2, 2, "4 nodes, 10 GPUs: 3 3 2 2"},
        {3, 0, 0, 3, 1, 3, 0, 0, 0, "3 CPU nodes"},
        {4, 2, 1000, 4, 2, 2, 1, 2, 0, "fewer GPUs than nodes: 1 1 0 0"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct trace_job j = {.nodes = t[i].nodes, .gpus = t[i].gpus, .gpu_milli = t[i].milli};
        struct convert_split s = {0};
        convert_split(&j, 8, &s);
        bool same = s.tasks == t[i].tasks && s.nleaves == t[i].nleaves &&
                    s.leaf[0].tasks == t[i].tasks0 && s.leaf[0].gpus == t[i].gpus0;
        if (t[i].nleaves == 2)
            same &= s.leaf[1].tasks == t[i].tasks1 && s.leaf[1].gpus == t[i].gpus1;
        ok(same, "%s", t[i].what);
    }
}

static void test_limits(void)
{
    struct err err;
    struct trace_job huge = {.gpus = 4000000000u, .gpu_milli = 1000};
    struct trace_job many = {.nodes = 70000, .gpus = 70000, .gpu_milli = 1000};
    struct trace_job wide = {.nodes = 1, .gpus = 65, .gpu_milli = 1000};
    struct trace_job fine = {.row = 3, .gpus = 65536 * 8u, .gpu_milli = 1000};
    is_int(convert_check(&huge, 8, &err), -ERANGE, "four billion GPUs are refused");
    is_int(convert_check(&many, 8, &err), -ERANGE, "70,000 nodes too");
    is_int(convert_check(&wide, 8, &err), -ERANGE, "65 GPUs on one node too");
    is_int(convert_check(&fine, 8, &err), 0, "65,536 tasks of 8 are allowed");
}

static void test_single(void)
{
    struct belief b;
    belief_init(&b);
    struct trace_job j = {.submit_us = 7, .run_us = 90, .limit_us = 100, .priority = 5,
                          .queue = STR("q"), .user = STR("u"), .gpus = 1, .gpu_milli = 300,
                          .gpu_mem_bytes = 1000, .cpu_milli = 4000, .mem_bytes = 5000,
                          .need_tag = STR("vc=a"), .need_level = STR("rack")};
    static const struct str types[] = {STR("T4"), STR("P100")};
    j.types = types;
    j.ntypes = 2;
    const struct job_spec *s = spec_of(j, &b, false);
    const struct shape *sh = &s->shapes[0];
    is_int(s->ngroups, 1, "one task: the root is the leaf");
    ok(!s->groups[0].whole && s->groups[0].count.min == 1, "a gang of one");
    ok(s->submitted_at == 7 && s->priority == 5 && s->time_limit_us == 100, "times, priority");
    is_int(s->expected_us, 100, "by default the scheduler expects the limit");
    is_int(s->oracle, 0, "which is no oracle");
    ok(str_is(words_text(&words, s->queue), "q") && str_is(words_text(&words, s->user), "u"),
       "queue and user");
    ok(sh->gpu_mode == GPU_SHARE && sh->gpu_milli == 300 && sh->gpu_count == 1 &&
           sh->gpu_mem_bytes == 1000,
       "a share with its memory");
    ok(sh->cpu_milli == 4000 && sh->mem_bytes == 5000 && sh->pod_slots == 1, "CPU and memory");
    ok(sh->ntypes == 2 && str_is(words_text(&words, sh->types[1].type), "P100") &&
           sh->types[1].speed_milli == 1000,
       "acceptable types");
    ok(sh->nconstraints == 1 && sh->constraints[0].kind == CONSTRAINT_NEED &&
           sh->constraints[0].hard == 1 &&
           str_is(words_text(&words, sh->constraints[0].tag), "vc=a"),
       "the tag is a hard need");
    ok(str_is(words_text(&words, s->groups[0].required), "rack"), "the level is required");
}

static void test_gang(void)
{
    struct belief b;
    belief_init(&b);
    struct trace_job j = {.run_us = 90, .gpus = 20, .gpu_milli = 1000};
    const struct job_spec *s = spec_of(j, &b, true);
    is_int(s->ngroups, 3, "20 GPUs: a root and two leaves");
    ok(s->groups[0].whole && s->groups[0].shape == GROUP_NONE, "the root is whole");
    is_int(job_spec_slots(s, 0, 0), 3, "three slots");
    ok(s->groups[1].count.want == 2 && s->shapes[s->groups[1].shape].gpu_count == 8 &&
           s->groups[2].count.want == 1 && s->shapes[s->groups[2].shape].gpu_count == 4,
       "8 + 8 + 4");
    ok(s->expected_us == 90 && s->oracle == 1, "an oracle tells the run time, and says so");
    ok(s->shapes[0].gpu_mode == GPU_WHOLE && s->shapes[0].gpu_milli == 1000, "whole GPUs");

    static const struct str a100[] = {STR("A100")};
    struct trace_part parts[] = {
        {.nodes = 1, .cpu_milli = 32000},
        {.nodes = 2, .gpus = 8, .gpu_milli = 1000, .cpu_milli = 1000, .types = a100, .ntypes = 1},
    };
    struct trace_job het = {.run_us = 1, .gpus = 8, .gpu_milli = 1000, .nodes = 3,
                            .parts = parts, .nparts = 2};
    s = spec_of(het, &b, false);
    ok(s->ngroups == 3 && s->shapes[0].cpu_milli == 32000 && s->shapes[0].gpu_count == 0 &&
           s->shapes[1].gpu_count == 4 && s->shapes[1].ntypes == 1 &&
           s->groups[2].count.want == 2,
       "parts of a heterogeneous job keep their own needs");
}

static void test_belief(void)
{
    struct belief b;
    struct err err = {0};
    struct trace_job j = {.run_us = 3600 * US_PER_S, .gpus = 8, .gpu_milli = 1000};
    if (belief_parse("b", STR("expected: oracle\nexpected_error_sigma: 0.5\n"
                              "checkpoint_interval: 30m\ncheckpoint_from_gpus: 8\n"
                              "on_loss: member\nspeed_by_type: {T4: 0.25}\n"),
                     &b, &err))
        bail("%s", err.text);
    const struct job_spec *s = spec_of(j, &b, false);
    ok(s->checkpoint == CHECKPOINT_SELF && s->ckpt_interval_us == 30 * US_PER_MIN &&
           s->on_loss == LOSS_MEMBER,
       "checkpoints and losses as the belief says");
    ok(s->expected_us > 0 && s->expected_us != j.run_us, "the oracle errs");
    int64_t first = s->expected_us;
    s = spec_of(j, &b, true);
    is_int(s->expected_us, j.run_us, "unless the policy asks for the exact one");
    s = spec_of(j, &b, false);
    is_int(s->expected_us, first, "one seed, one error");
    j.gpus = 7;
    s = spec_of(j, &b, false);
    is_int(s->checkpoint, CHECKPOINT_NONE, "small jobs have no checkpoints");
    b.smaller_ppm = PPM / 4;
    uint32_t with = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        char name[16];
        snprintf(name, sizeof name, "%08u", i);
        with += belief_checkpoints(&b, 7, str_of(name));
    }
    ok(with > 900 && with < 1100, "or a share of them does, told by the name: %u of 4000", with);
    b.smaller_ppm = 0;
    static const struct str t4[] = {STR("T4")};
    j.types = t4;
    j.ntypes = 1;
    s = spec_of(j, &b, false);
    is_int(s->shapes[0].types[0].speed_milli, 250, "told speeds of types");
}

/* Median 1 and sigma 0.5: half above, 84 % below e^0.5 (one sd of a normal). */
static void test_error_distribution(void)
{
    enum { N = 20000 };
    struct belief b;
    struct convert c;
    uint32_t above = 0, below = 0;
    belief_init(&b);
    b.expected = EXPECTED_ORACLE;
    b.error_ppm = 500000;
    convert_init(&c, &words, 8, false, &b, 3);
    struct trace_job j = {.run_us = 1000000000, .gpus = 1, .gpu_milli = 1000};
    for (int i = 0; i < N; i++) {
        const struct job_spec *s = convert_job(&c, &j, STR("x"), 0, &arena);
        above += s->expected_us > 1000000000;
        below += s->expected_us < 1648721271;
        arena_reset(&arena);
    }
    convert_done(&c);
    is_near((double)above / N, 0.5, 0.015, "half of the errors are too long");
    is_near((double)below / N, 0.8413, 0.012, "84 %% lie below one sigma");
}

static void test_files(void)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"start_delay: soon\n", "t:1:14"},
        {"speed_by_level: {rack: -1}\n", "t:1:"},
        {"speed_by_level: [1]\n", "t:1:"},
        {"faults_per_1000_node_days: many\n", "t:1:"},
        {"repair: {p10: 1m}\n", "lacks shortest"},
        {"repair: {shortest: 2m, p10: 1m, p50: 1h, p90: 1d, p99: 2d, longest: 3d}\n",
         "longer than"},
        {"start_dely: 1s\n", "start_delay"},
        {"[]\n", "map"},
    };
    struct truth t;
    struct err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err.text[0] = 0;
        int rc = truth_parse("t", str_of(bad[i].text), &t, &err);
        ok(rc < 0 && strstr(err.text, bad[i].says), "refused: %s", err.text);
    }
    if (truth_parse("t", STR("start_delay: 30s\nstop_delay: 5s\n"
                             "speed_by_level: {rack: 0.9, cluster: 0.5}\n"
                             "speed_by_type: {T4: 0.25}\nfaults_per_1000_node_days: 6.5\n"),
                    &t, &err))
        bail("%s", err.text);
    ok(t.start_us == 30 * US_PER_S && t.stop_us == 5 * US_PER_S && t.fault_rate == 6.5,
       "delays and rate");
    is_int(factors_get(&t.type, STR("T4")), 250000, "a type's factor");
    is_int(factors_get(&t.type, STR("V100")), PPM, "an unknown type has speed 1");
    struct belief b;
    ok(belief_parse("b", STR("expected: guess\n"), &b, &err) < 0 &&
           strstr(err.text, "none, limit, oracle"),
       "refused: %s", err.text);
}

/* Rows that ask for the same share one tree; others never get a wrong one. */
static void test_trees(void)
{
    static const struct str types[] = {STR("T4")};
    struct belief b;
    struct convert c;
    belief_init(&b);
    convert_init(&c, &words, 8, false, &b, 1);
    struct trace_job rows[] = {
        {.gpus = 1, .gpu_milli = 1000},
        {.gpus = 2, .gpu_milli = 1000},
        {.gpus = 1, .gpu_milli = 500},
        {.gpus = 1, .gpu_milli = 1000, .cpu_milli = 1},
        {.gpus = 1, .gpu_milli = 1000, .mem_bytes = 1},
        {.gpus = 1, .gpu_milli = 500, .gpu_mem_bytes = 1},
        {.gpus = 1, .gpu_milli = 1000, .types = types, .ntypes = 1},
        {.gpus = 1, .gpu_milli = 1000, .need_tag = STR("vc=b")},
        {.gpus = 1, .gpu_milli = 1000, .need_level = STR("rack")},
        {.gpus = 2, .gpu_milli = 1000, .nodes = 2},
    };
    enum { N = sizeof rows / sizeof *rows };
    const struct group_spec *made[N];
    bool same = true, distinct = true;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < N; i++) {
            const struct job_spec *s = convert_job(&c, &rows[i], STR("x"), 0, &arena);
            if (round)
                same &= s->groups == made[i];
            made[i] = s->groups;
        }
    }
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t k = 0; k < i; k++)
            distinct &= made[i] != made[k];
    ok(same, "the same row asks for the same tree");
    ok(distinct, "ten unlike rows have ten trees");
    for (uint32_t i = 0; i < 10000; i++) {
        struct trace_job j = {.gpus = 1, .gpu_milli = 1000, .cpu_milli = 100 + i};
        const struct job_spec *s = convert_job(&c, &j, STR("x"), 0, &arena);
        if (s->shapes[0].cpu_milli != 100 + i)
            fail("row %u got the tree of another", i);
        if (i % 100 == 0)
            arena_reset(&arena);
    }
    cmp_ok(c.trees.n, <=, 4096, "no more trees are kept than allowed");
    convert_done(&c);
}

static void test_speed(void)
{
    struct truth t;
    struct speed_model m;
    struct str levels[] = {STR("block"), STR("rack")};
    truth_init(&t);
    t.level.n = 2;
    t.level.at[0] = (struct factor){"rack", 900000};
    t.level.at[1] = (struct factor){"cluster", 500000};
    speed_model_init(&m, &t, levels, 2);
    static const uint32_t want[] = {500000, 900000, 900000, PPM};
    for (uint32_t depth = 0; depth < 4; depth++) {
        struct speed_query q = {depth, 4, 4, PPM};
        is_int(speed_of(&m, &q), want[depth],
               "depth %u: a level without a factor has the lower one's", depth);
    }
    struct speed_query half = {3, 2, 4, 500000};
    is_int(speed_of(&m, &half), 250000, "half the tasks on a type of half speed");
    is_int(speed_wall_us(10, 300000), 34, "wall time rounds up: 10 / 0.3");
    is_int(speed_work_us(34, 300000), 10, "work rounds down: 34 * 0.3");
    is_int(speed_wall_us(INT64_C(4000000000000000000), PPM), INT64_C(4000000000000000000),
           "speed 1 is exact");
    is_int(speed_work_us(INT64_C(9000000000000), 1500000), INT64_C(13500000000000),
           "large products do not overflow");
}

int main(void)
{
    test_splits();
    test_limits();
    test_single();
    test_gang();
    test_belief();
    test_error_distribution();
    test_files();
    test_trees();
    test_speed();
    arena_done(&arena);
    words_done(&words);
    return done_testing();
}
