/* test-event.c - which events are well formed; records keep what they hold
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <errno.h>

#include "event/ledger.h"
#include "event/records.h"

static const struct shape cpu_shape = {.cpu_milli = 1000, .pod_slots = 1};
static const struct shape bad_shape = {.cpu_milli = -1};
static const struct str two_names[] = {{"n1", 2}, {"n2", 2}};
static const struct str bad_names[] = {{"n1", 2}, {"", 0}};
static const struct task_ref by_name = {.task = {"pod-1", 5}};
static const struct task_ref by_launch = {.launch = 7, .gang = {.job = {"j", 1}}};
static const struct task_ref nobody = {.gang = {.job = {"j", 1}}};
static const struct task_ref far_slot = {.launch = 7, .slot = {.index = JOB_SLOTS_MAX}};
static const struct task_ref no_leaf = {
    .task = {"pod-1", 5}, .gang = {.group = GROUP_NONE}, .slot = {.leaf = GROUP_NONE}};
static char long_name[254];

static void test_forms(void)
{
    memset(long_name, 'x', sizeof long_name);
    struct str long_str = {long_name, sizeof long_name};
    const struct {
        const char *what;
        int rc;
        struct record r;
    } cases[] = {
        {"a word", 0, {.kind = REC_WORD, .word = {1, STR("rack")}}},
        {"word 0", -ERANGE, {.kind = REC_WORD, .word = {0, STR("rack")}}},
        {"word 65536", -ERANGE, {.kind = REC_WORD, .word = {65536, STR("rack")}}},
        {"a word without text", -ERANGE, {.kind = REC_WORD, .word = {1, {0, 0}}}},
        {"a border", -EINVAL, {.kind = REC_BORDER}},
        {"nothing", -EINVAL, {.kind = REC_NONE}},
        {"a decision", -EINVAL, {.kind = DE_PASS}},
        {"an unknown kind", -EINVAL, {.kind = REC_KINDS}},
        {"time", 0, {.kind = EV_TIME, .at = 5}},
        {"time before the beginning", -ERANGE, {.kind = EV_TIME, .at = -1}},
        {"time after the end", -ERANGE, {.kind = EV_TIME, .at = INT64_MAX}},
        {"a job without a spec", -EINVAL, {.kind = EV_JOB_SET}},
        {"cancel", 0, {.kind = EV_JOB_DO, .job_do = {.job = STR("j"), .verb = JOB_CANCEL}}},
        {"verb 0", -EINVAL, {.kind = EV_JOB_DO, .job_do = {.job = STR("j")}}},
        {"verb 6", -EINVAL, {.kind = EV_JOB_DO, .job_do = {.job = STR("j"), .verb = 6}}},
        {"cancel nothing", -ERANGE, {.kind = EV_JOB_DO, .job_do = {.verb = JOB_CANCEL}}},
        {"an offer without a job", -ERANGE,
         {.kind = EV_TASK_OFFERED, .task_offered = {by_name, NULL, false, false}}},
        {"an offer without a name", -ERANGE,
         {.kind = EV_TASK_OFFERED, .task_offered = {by_launch, NULL, false, false}}},
        {"a task by name", 0, {.kind = EV_TASK_GONE, .task_gone = {by_name}}},
        {"a task by launch", 0, {.kind = EV_TASK_GONE, .task_gone = {by_launch}}},
        {"a task of an unknown place", 0, {.kind = EV_TASK_GONE, .task_gone = {no_leaf}}},
        {"a task by neither", -EINVAL, {.kind = EV_TASK_GONE, .task_gone = {nobody}}},
        {"slot 65536", -ERANGE, {.kind = EV_TASK_GONE, .task_gone = {far_slot}}},
        {"a node without a description", -EINVAL, {.kind = EV_NODE_SET}},
        {"a node gone", 0, {.kind = EV_NODE_GONE, .node_gone = {STR("n1")}}},
        {"a node of 254 bytes", -ERANGE, {.kind = EV_NODE_GONE, .node_gone = {long_str}}},
        {"a node with a newline", -EINVAL,
         {.kind = EV_NODE_GONE, .node_gone = {STR("n\n1")}}},
        {"a node that is no UTF-8", -EINVAL,
         {.kind = EV_NODE_GONE, .node_gone = {STR("n\xff")}}},
        {"a device", 0,
         {.kind = EV_DEVICE_SET, .device_set = {STR("n1"), 63, DEVICE_GONE, 0}}},
        {"device 64", -ERANGE, {.kind = EV_DEVICE_SET, .device_set = {STR("n1"), 64, 0, 0}}},
        {"device state 4", -ERANGE,
         {.kind = EV_DEVICE_SET, .device_set = {STR("n1"), 0, 4, 0}}},
        {"a tag", 0, {.kind = EV_TAG_SET, .tag_set = {1, true, 2, 2, two_names, two_names}}},
        {"tag 0", -EINVAL, {.kind = EV_TAG_SET, .tag_set = {0, true, 0, 0, NULL, NULL}}},
        {"a tag of a nameless node", -ERANGE,
         {.kind = EV_TAG_SET, .tag_set = {1, true, 2, 0, bad_names, NULL}}},
        {"a tag of a nameless task", -ERANGE,
         {.kind = EV_TAG_SET, .tag_set = {1, true, 0, 2, NULL, bad_names}}},
        {"a foreign pod", 0,
         {.kind = EV_FOREIGN_SET,
          .foreign_set = {STR("p"), STR("n1"), &cpu_shape, 0, 0, FOREIGN_HELD}}},
        {"a foreign pod without a shape", -EINVAL,
         {.kind = EV_FOREIGN_SET,
          .foreign_set = {STR("p"), STR("n1"), NULL, 0, 0, FOREIGN_HELD}}},
        {"a foreign pod of a bad shape", -ERANGE,
         {.kind = EV_FOREIGN_SET,
          .foreign_set = {STR("p"), STR("n1"), &bad_shape, 0, 0, FOREIGN_HELD}}},
        {"a foreign pod that waits nowhere", 0,
         {.kind = EV_FOREIGN_SET,
          .foreign_set = {STR("p"), {0, 0}, &cpu_shape, 0, 0, FOREIGN_PENDING}}},
        {"a foreign pod that is held nowhere", -ERANGE,
         {.kind = EV_FOREIGN_SET,
          .foreign_set = {STR("p"), {0, 0}, &cpu_shape, 0, 0, FOREIGN_HELD}}},
        {"a foreign pod that is gone", 0,
         {.kind = EV_FOREIGN_SET,
          .foreign_set = {STR("p"), {0, 0}, NULL, 0, 0, FOREIGN_GONE}}},
        {"a task somewhere", 0,
         {.kind = EV_TASK_AT, .task_at = {by_name, STR("n1"), 3, 0, 0, TASK_READY}}},
        {"a task nowhere", -ERANGE,
         {.kind = EV_TASK_AT, .task_at = {by_name, {0, 0}, 3, 0, 0, TASK_READY}}},
        {"task phase 3", -ERANGE,
         {.kind = EV_TASK_AT, .task_at = {by_name, STR("n1"), 3, 0, 0, 3}}},
        {"slices of one device", 0,
         {.kind = EV_TASK_AT, .task_at = {by_name, STR("n1"), 4, 0, 3, TASK_READY}}},
        {"slices of two devices", -EINVAL,
         {.kind = EV_TASK_AT, .task_at = {by_name, STR("n1"), 6, 0, 3, TASK_READY}}},
        {"refused", 0,
         {.kind = EV_TASK_REFUSED, .task_refused = {by_launch, 9, REFUSED_PREPARE}}},
        {"refusal class 7", -ERANGE,
         {.kind = EV_TASK_REFUSED, .task_refused = {by_launch, 9, 7}}},
        {"ending by 4", -ERANGE, {.kind = EV_TASK_ENDING, .task_ending = {by_name, 0, 4}}},
        {"ended how 6", -ERANGE, {.kind = EV_TASK_ENDED, .task_ended = {by_name, 0, 6}}},
        {"ended", 0, {.kind = EV_TASK_ENDED, .task_ended = {by_name, -9, ENDED_OOM}}},
        {"stop refused", 0,
         {.kind = EV_STOP_REFUSED, .stop_refused = {by_name, 1, 2, STOP_FORBIDDEN}}},
        {"stop refused because 2", -ERANGE,
         {.kind = EV_STOP_REFUSED, .stop_refused = {by_name, 1, 2, 2}}},
        {"a checkpoint", 0,
         {.kind = EV_CHECKPOINT_SAVED, .checkpoint_saved = {STR("j"), 600, 1, 5}}},
        {"a checkpoint from the past", -ERANGE,
         {.kind = EV_CHECKPOINT_SAVED, .checkpoint_saved = {STR("j"), 600, 1, -5}}},
        {"a budget", 0, {.kind = EV_BUDGET_SET, .budget_set = {STR("j"), 1}}},
        {"a signal of a node", 0,
         {.kind = EV_SIGNAL, .signal = {{0, 0}, STR("n1"), SIGNAL_LOAD, 0, 0}}},
        {"a signal of nobody", -EINVAL, {.kind = EV_SIGNAL}},
        {"a policy", 0, {.kind = EV_POLICY_SET, .policy_set = {STR("order: fifo\n")}}},
        {"a policy of 2 MiB", -ERANGE,
         {.kind = EV_POLICY_SET, .policy_set = {{long_name, 2u << 20}}}},
        {"sync of the world", 0, {.kind = EV_SYNC_BEGIN}},
        {"sync of a node", 0, {.kind = EV_SYNCED, .sync = {STR("n1"), 1, 0}}},
        {"soft state", 0, {.kind = EV_SOFT_SET, .soft_set = {1, STR("xyz")}}},
        {"a lead", 0, {.kind = EV_LEAD, .lead = {true, TERM_MAX}}},
        {"a lead of a term beyond 24 bits", -ERANGE,
         {.kind = EV_LEAD, .lead = {true, TERM_MAX + 1}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        if (!is_int(event_check(&cases[i].r, &err), cases[i].rc, "%s is %s", cases[i].what,
                    cases[i].rc ? "refused" : "well formed"))
            diag("   %s", err.text);
        else if (cases[i].rc && cases[i].r.kind < REC_KINDS)
            ok(strstr(err.text, record_kind_name(cases[i].r.kind)),
               "   and the reason names the kind: %s", err.text);
    }
}

static void test_names(void)
{
    uint32_t missing = 0;
    for (int a = 0; a < REC_KINDS; a++) {
        missing += !record_kind_name(a) || record_kind_name(a)[0] == '?';
        for (int b = 0; b < a && !missing; b++)
            missing += strcmp(record_kind_name(a), record_kind_name(b)) == 0;
    }
    is_uint(missing, 0, "every kind has a name of its own");
    is_str(record_kind_name(EV_JOB_SET), "job_set", "job_set is called so");
    is_str(record_kind_name(DE_LAUNCH), "launch", "launch is called so");
    is_str(record_kind_name(-1), "?", "an unknown kind has none");
    is_str(record_kind_name(REC_KINDS), "?", "nor has the one behind the last");
    for (int a = 0; a < LEDGER_CAUSES; a++)
        missing += !ledger_cause_name(a) || ledger_cause_name(a)[0] == '?';
    is_uint(missing, 0, "every cause has a name");
    is_str(ledger_cause_name(LEDGER_QUOTA_IDLE), "quota-idle", "quota-idle is called so");
    is_str(ledger_cause_name(LEDGER_CAUSES), "?", "an unknown cause has none");
    ok(record_is_event(EV_JOB_SET) && record_is_event(EV_TIME), "events are events");
    ok(!record_is_event(REC_BORDER) && !record_is_event(DE_LAUNCH), "the rest is not");
    ok(record_is_decision(DE_LAUNCH) && record_is_decision(DE_PASS), "decisions are");
    ok(!record_is_decision(EV_TIME), "time is no decision");
}

static void test_records(void)
{
    struct records rs = {0};
    for (int i = 0; i < 1000; i++) {
        struct record *r = records_add(&rs, EV_NODE_GONE);
        char name[16];
        snprintf(name, sizeof name, "node-%d", i);
        r->node_gone.node = arena_str(&rs.arena, str_of(name));
        r->seq = (uint64_t)i;
    }
    uint32_t good = 0;
    for (uint32_t i = 0; i < rs.list.n; i++) {
        char name[16];
        snprintf(name, sizeof name, "node-%u", i);
        good += rs.list.at[i].seq == i && str_is(rs.list.at[i].node_gone.node, name);
    }
    is_uint(good, 1000, "a batch keeps its records and their names");
    records_clear(&rs);
    is_uint(rs.list.n, 0, "cleared, it is empty");
    struct record *r = records_add(&rs, EV_TIME);
    struct record zero = {.kind = EV_TIME};
    ok(r->seq == 0 && r->kind == EV_TIME && memcmp(&r->why, &zero.why, sizeof zero.why) == 0 &&
           !r->node_gone.node.ptr,
       "a reused record is clear");
    records_done(&rs);
}

int main(void)
{
    test_forms();
    test_names();
    test_records();
    return done_testing();
}
