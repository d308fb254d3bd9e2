/* test-trace-fault.c - recorded faults and their statistics
 * The InfiniteHBD figures are those of its README and of the notes on traces: 584
 * faults of 400 servers in 348 days, 4.20 in 1000 node-days, repair mean 5.54 d, p10 14
 * min, p50 20.4 h, p90 12.9 d, p99 81 d, 231 servers, the 20 worst with 24 %, GPU 27.05
 * %.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"
#include "trace/fault.h"

#define DAY 86400e6
#define TYPE_A "\"fault_type\":{\"Level\":\"H\",\"Class\":\"GPU\",\"Desc\":\"a\"}"
#define TYPE_B "\"fault_type\":{\"Level\":\"S\",\"Class\":\"Net\",\"Desc\":\"b\"}"
#define START(node, at, type)                      \
    "{\"node_id\":\"" node "\",\"event_time\":" at \
    ",\"event_type\":\"fault_start\"," type "}"
#define END(node, at, type)                        \
    "{\"node_id\":\"" node "\",\"event_time\":" at \
    ",\"event_type\":\"fault_end\"," type "}"

static void pairs(void)
{
    static const char json[] =
        "[" START("n1", "1", TYPE_A) "," START("n2", "1.5", TYPE_A) "," START(
            "n1", "2", TYPE_B) "," END("n1", "3",
                                       TYPE_B) "," END("n1", "5",
                                                       TYPE_A) "," START("n1", "6",
                                                                         TYPE_A) "]";
    struct fault_list l;
    struct fault_stats s;
    struct err err = {0};
    if (!ok(fault_parse(&l, "x", (struct str){json, sizeof json - 1}, &err) == 0,
            "six events (%s)", err.text))
        return;
    is_int(l.faults.n, 4, "four faults");
    is_int(l.nodes.n, 2, "two nodes");
    is_int(l.faults.at[0].end_us, (int64_t)(5 * DAY),
           "an end finds the fault of its type");
    is_int(l.faults.at[2].end_us, (int64_t)(3 * DAY), "though it began later");
    is_int(l.faults.at[2].node, 0, "on the same node");
    is_int(l.faults.at[1].end_us, FAULT_OPEN, "one is never over");
    is_int(l.last_us, (int64_t)(6 * DAY), "the last event");
    fault_stats(&l, 10, (int64_t)(8 * DAY), &s);
    is_int(s.open, 2, "two open");
    is_near(s.per_1000_node_days, 50, 1e-9, "four faults in 80 node-days");
    is_int(s.repair_mean_us, (int64_t)(2.5 * DAY), "repairs of four days and of one");
    is_int(s.repair_p50_us, (int64_t)(1 * DAY), "the lower of two is their p50");
    is_int(s.classes.n, 2, "two classes");
    is_mem(s.classes.at[0].class_.ptr, s.classes.at[0].class_.len, "GPU",
           "GPU is first");
    is_int(s.classes.at[0].n, 3, "with three");
    fault_stats_done(&s);
    fault_list_done(&l);
}

static void mistakes(void)
{
    static const struct {
        const char *json, *want;
    } rows[] = {
        {"{}", "x:1:1: a list of events is expected"},
        {"[\n {]", "x:2:3: "},
        {"[1]", "x: event 1: no node_id"},
        {"[" END("n1", "3", TYPE_B) "]",
         "x: event 1: a fault ends on a node that has none"},
        {"[" START("n1", "3", TYPE_B) "," START("n1", "2", TYPE_B) "]",
         "x: event 2: event_time goes back"},
        {"[" START("n1", "\"3\"", TYPE_B) "]",
         "x: event 1: event_time is not a number of days"},
        {"[" START("n1", "-3", TYPE_B) "]",
         "x: event 1: event_time is not a number of days"},
        {"[" START("n1", "3", "\"fault_type\":{}") "]",
         "x: event 1: fault_type lacks Level, Class or Desc"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fault_list l;
        struct err err = {0};
        ok(fault_parse(&l, "x", str_of(rows[i].json), &err) < 0, "refused");
        ok(!strncmp(err.text, rows[i].want, strlen(rows[i].want)), "%s: %s",
           rows[i].want, err.text);
    }
}

static void infinitehbd(void)
{
    char path[4096];
    struct fault_list l;
    struct fault_stats s;
    struct err err = {0};
    if (!shared_path("data/traces/infinitehbd-faults/fault_trace.json", path)) {
        skip(1, "the InfiniteHBD trace is not here");
        return;
    }
    if (!ok(fault_load(&l, path, &err) == 0, "the InfiniteHBD trace loads (%s)",
            err.text))
        return;
    fault_stats(&l, 400, (int64_t)(348 * DAY), &s);
    is_int(s.faults, 584, "faults");
    is_int(s.open, 0, "all over");
    is_int(s.nodes_hit, 231, "servers");
    is_near(s.per_1000_node_days, 4.20, 0.005, "in 1000 node-days");
    is_near((double)s.repair_mean_us / DAY, 5.54, 0.005, "repair mean, days");
    is_near((double)s.repair_p10_us / 60e6, 14, 0.5, "p10, minutes");
    is_near((double)s.repair_p50_us / 3600e6, 20.4, 0.05, "p50, hours");
    is_near((double)s.repair_p90_us / DAY, 12.9, 0.05, "p90, days");
    is_near((double)s.repair_p99_us / DAY, 81, 0.5, "p99, days");
    is_near(100.0 * s.top20_faults / s.faults, 24, 0.55,
            "per cent on the 20 worst servers");
    is_mem(s.classes.at[0].class_.ptr, s.classes.at[0].class_.len, "GPU",
           "most are GPU faults");
    is_near(100.0 * s.classes.at[0].n / s.faults, 27.05, 0.01, "per cent of them");
    fault_stats_done(&s);
    fault_list_done(&l);
}

int main(void)
{
    pairs();
    mistakes();
    infinitehbd();
    return done_testing();
}
