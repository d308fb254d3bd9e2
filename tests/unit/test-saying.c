/* test-saying.c - codes as sentences
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "words/saying.h"

static struct words words;

static void says(const struct record *r, const char *want)
{
    struct buf b = {0};
    saying_record(&words, r, &b);
    is_mem(b.data, b.len, want, "%s", want);
    buf_done(&b);
}

static void test_why(void)
{
    word_t rack = words_add(&words, STR("rack"));
    const struct {
        struct why why;
        const char *want;
    } t[] = {
        {{.code = WHY_NEEDS_ROOM, .level = (uint16_t)rack, .need = 4, .have = 3},
         "needs room for 4 tasks; the best rack has room for 3"},
        {{.code = WHY_NEEDS_ROOM, .need = 1}, "needs room for 1 task; the best domain has room for 0"},
        /* each must also read on after "x waits behind y, which ..." */
        {{.code = WHY_CPU, .need = 2, .have = 1},
         "finds GPUs, but CPU or memory for only 1 of 2 tasks"},
        {{.code = WHY_CONSTRAINT, .need = 2, .have = 1},
         "is left room for 1 of 2 tasks by taints, tags or spread"},
        {{.code = WHY_BACKOFF, .other = 30}, "waits 30 s before it is tried again"},
        {{.code = WHY_FITS, .level = (uint16_t)rack}, "fits in one rack"},
        {{.code = 9999}, "reason 9999"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct buf b = {0};
        saying_why(&words, &t[i].why, &b);
        is_mem(b.data, b.len, t[i].want, "%s", t[i].want);
        buf_done(&b);
    }
    for (int c = 0; c < WHY_CODES; c++) {
        struct why why = {.code = (uint16_t)c};
        struct buf b = {0};
        saying_why(&words, &why, &b);
        if (!strcmp(saying_code(c), "?") || (c && !b.len) ||
            (b.len && str_starts(buf_as_str(&b), STR("reason "))))
            fail("code %d has no name or no sentence", c);
        buf_done(&b);
    }
    is_str(saying_code(-1), "?", "an unknown code");
}

static void test_devices(void)
{
    static const struct {
        uint64_t devs;
        const char *want;
    } t[] = {{0, "none"}, {1, "0"}, {0xff, "0-7"}, {0x8f, "0-3,7"}, {UINT64_MAX, "0-63"},
             {UINT64_C(1) << 63, "63"}, {5, "0,2"}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct buf b = {0};
        saying_devices(t[i].devs, &b);
        is_mem(b.data, b.len, t[i].want, "devices %s", t[i].want);
        buf_done(&b);
    }
}

static void test_records(void)
{
    struct seat seats[] = {{.node = STR("n1"), .devs = 0xf}, {.node = STR("n2"), .devs = 3}};
    struct record r = {.kind = DE_LAUNCH, .why = {.code = WHY_FITS}};
    r.launch.gang.job = STR("train");
    r.launch.seats = seats;
    r.launch.nseats = 2;
    says(&r, "launch train: n1 GPUs 0-3, n2 GPUs 0-1 (fits in one domain)");
    r.would = 1;
    r.launch.nseats = 0;
    says(&r, "launch train (fits in one domain) [would]");
    r = (struct record){.kind = EV_TASK_ENDED};
    r.task_ended.ref = (struct task_ref){
        .launch = UINT64_C(2) << 40 | 7, .gang = {STR("j"), 1, 3}, .slot = {2, 5}};
    r.task_ended.how = ENDED_LOST;
    says(&r, "task_ended j/1.3 slot 2.5 of launch 2.7: lost");
    r.task_ended.how = 99;
    says(&r, "task_ended j/1.3 slot 2.5 of launch 2.7: ?");
    struct node_desc n = {.name = STR("n9"), .state = NODE_DOWN};
    r = (struct record){.kind = EV_NODE_SET, .node_set = &n};
    says(&r, "node_set n9 down");
    r = (struct record){.kind = REC_BORDER};
    says(&r, "border");
    r = (struct record){.kind = EV_SYNCED};
    says(&r, "synced the world");
}

int main(void)
{
    test_why();
    test_devices();
    test_records();
    words_done(&words);
    return done_testing();
}
