/* test-policy.c - the policy file: what its keys mean, what is refused and where, and that
 * docs/policy-format.md names each of them with its default
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/infile.h"
#include "base/units.h"
#include "sched/policy.h"
#include "tap.h"

#ifndef MUSTER_SOURCE_DIR
#define MUSTER_SOURCE_DIR "."
#endif

static bool reads(const char *text, struct arena *a, struct policy *p)
{
    struct err err = {0};
    bool good = policy_parse("p.yaml", str_of(text), a, p, &err) == 0;
    if (!good)
        diag("%s", err.text);
    return good;
}

static void test_values(void)
{
    struct arena a = {0};
    struct policy p;
    ok(reads("about: nothing said\n", &a, &p) && p.order == ORDER_FIFO && p.block == BLOCK_NONE &&
           p.quotas == QUOTAS_NONE && p.reserve == RESERVE_NONE && p.preempt == PREEMPT_NONE &&
           p.gangs == GANGS_WHOLE && p.limits == LIMITS_TRUST,
       "an empty policy starts who comes first, and nothing more");
    ok(reads("order: attained\nattained_gpu_hours: 32\nblock: all\nborder: each\noracle: true\n"
             "node: pack\nremainder: widest\nmix: learn\nseed: 7\ngangs: pods\n",
             &a, &p) &&
           p.order == ORDER_ATTAINED && p.attained_gpu_hours == 32 && p.block == BLOCK_ALL &&
           p.each && p.oracle && strcmp(p.scorer, "pack") == 0 && p.remainder_widest &&
           p.mix == MIX_LEARN && p.seed == 7 && p.gangs == GANGS_PODS,
       "who goes first, and where");
    ok(reads("launch_timeout: 90s\nrepair_grace: 0s\nmost_questions: 10\nlimits: enforce\n", &a,
             &p) &&
           p.launch_timeout_us == 90 * US_PER_S && p.repair_grace_us == 0 &&
           p.most_questions == 10 && p.limits == LIMITS_ENFORCE,
       "times and bounds of a launch");
    ok(reads("reserve: all\nreservations: 500\nreserve_after: 2h\nimprove_every: 30s\n"
             "forecast: learned\nforecast_quantile: 90\n",
             &a, &p) &&
           p.reserve == RESERVE_ALL && p.reservations == 500 &&
           p.reserve_after_us == 2 * US_PER_H && p.improve_every_us == 30 * US_PER_S &&
           p.forecast == FORECAST_LEARNED && p.forecast_quantile == 90,
       "reservations");
    ok(reads("quotas: rights\npreempt: order\nreclaim_within: any\nreclaim_across: lower_priority\n"
             "patience: 1h\nturn_max: 3h\nprotect: 7m\nevictions_per_hour: 0\n"
             "usage_half_life: 7d\nmoves_per_hour: 3\nmoves_per_job: 0\n",
             &a, &p) &&
           p.quotas == QUOTAS_RIGHTS && p.preempt == PREEMPT_ORDER && p.within == WITHIN_ANY &&
           p.across == ACROSS_LOWER_PRIORITY && p.patience_us == US_PER_H &&
           p.turn_max_us == 3 * US_PER_H && p.protect_us == 7 * US_PER_MIN &&
           p.evictions_per_hour == 0 && p.usage_half_life_us == 7 * US_PER_DAY &&
           p.moves_per_hour == 3 && p.moves_per_job == 0,
       "rights, evictions and moves");
    ok(reads("mix: |\n  3 1000 500 1 T4\n", &a, &p) && p.mix == MIX_GIVEN &&
           str_is(p.mix_text, "3 1000 500 1 T4\n"),
       "a mix that is given");
    ok(reads("queues: trace\n", &a, &p) && p.queues_trace && p.queues.nqueues == 0,
       "queues that the trace names");
    arena_done(&a);
}

static const struct queue_spec *queue_of(const struct policy *p, const char *name)
{
    uint32_t i = queue_tree_find(&p->queues, str_of(name));
    return i == QUEUE_NONE ? NULL : &p->queues.queues[i];
}

/* The column of a resource; QUOTA_RESOURCES_MAX: it is none of the tree's. */
static uint32_t column(const struct policy *p, int kind, const char *type)
{
    uint32_t r = 0;
    while (r < p->queues.nresources && (p->queues.resources[r].kind != kind ||
                                        !str_is(p->queues.resources[r].type, type)))
        r++;
    return r < p->queues.nresources ? r : QUOTA_RESOURCES_MAX - 1;
}

static void test_queues(void)
{
    struct arena a = {0};
    struct policy p;
    ok(reads("queues:\n"
             "  research:\n"
             "    guaranteed: {gpu: 512, \"gpu:h100\": 256, cpu: 4000, mem: 64TiB}\n"
             "    max: {gpu: 600}\n"
             "    weight: 3\n"
             "    authority: repair\n"
             "    children:\n"
             "      vision: {guaranteed: {gpu: 128}, borrow: {gpu: 8.5}, lend: {gpu: 0},\n"
             "               user_max: {gpu: 16}, authority: evict,\n"
             "               value_max: 2.5}\n"
             "      text: {}\n"
             "  rest: {weight: 0}\n",
             &a, &p),
       "a tree of queues");
    const struct queue_spec *research = queue_of(&p, "research"), *vision = queue_of(&p, "vision");
    const struct queue_spec *text = queue_of(&p, "text"), *rest = queue_of(&p, "rest");
    if (!ok(research && vision && text && rest && p.queues.nqueues == 5,
            "four queues and the root"))
        return;
    uint32_t gpu = column(&p, QUOTA_GPU, ""), h100 = column(&p, QUOTA_GPU, "h100");
    uint32_t cpu = column(&p, QUOTA_CPU, ""), mem = column(&p, QUOTA_MEM, "");
    is_int(p.queues.nresources, 4, "... of four resources");
    ok(research->amounts.guaranteed[gpu] == 512000 && research->amounts.guaranteed[h100] == 256000 &&
           research->amounts.guaranteed[cpu] == 4000000 &&
           research->amounts.guaranteed[mem] == INT64_C(64) << 40 &&
           research->amounts.max[gpu] == 600000 && research->weight == 3,
       "in thousandths and bytes");
    ok(vision->amounts.borrow[gpu] == 8500 && vision->amounts.lend[gpu] == 0 &&
           vision->amounts.user_max[gpu] == 16000 &&
           vision->value_most_milli_h == 2500 && vision->weight == 1 && vision->depth == 2,
       "all that a queue may say");
    ok(vision->amounts.max[gpu] == QUOTA_ABSENT && vision->amounts.guaranteed[cpu] == QUOTA_ABSENT &&
           text->value_most_milli_h == INT64_MAX,
       "what it does not say is no limit");
    ok(vision->authority == AUTHORITY_EVICT && text->authority == AUTHORITY_REPAIR &&
           rest->authority == AUTHORITY_MOVE,
       "authority comes from the parent, the root's is to move");
    is_int(rest->weight, 0, "a weight of nothing");
    ok(reads("spares:\n  - {level: rack, nodes: 1}\n"
             "  - {level: block, nodes: 2, fault: node, lend: false}\n",
             &a, &p) &&
           p.nspares == 2 && str_is(p.spares[0].level, "rack") && p.spares[0].nodes == 1 &&
           p.spares[0].lend && p.spares[0].fault.len == 0 && str_is(p.spares[1].fault, "node") &&
           !p.spares[1].lend,
       "spares, which are lent unless told otherwise");
    arena_done(&a);
}

static void test_refusals(void)
{
    static const struct {
        const char *text, *error; /* the beginning of it, or a part */
        int rc;
    } bad[] = {
        {"- a\n", "p.yaml:1:1: a policy is a map", -EINVAL},
        {"ordre: fifo\n", "p.yaml:1:1: unknown key \"ordre\", did you mean \"order\"", -EINVAL},
        {"name: x\norder: lifo\n",
         "p.yaml:2:8: order: 'lifo' is none of: fifo, shortest, remaining, attained", -EINVAL},
        {"name: ''\n", "p.yaml:1:7: name: 0 characters", -ERANGE},
        {"oracle: maybe\n", "p.yaml:1:9: ", -EINVAL},
        {"launch_timeout: soon\n", "p.yaml:1:17: ", -EINVAL},
        {"launch_timeout: 2d\n", "p.yaml:1:17: launch_timeout must lie between 1 and 86400 seconds",
         -ERANGE},
        {"most_questions: 0\n", "p.yaml:1:17: ", -ERANGE},
        {"forecast_quantile: 100\n", "p.yaml:1:20: ", -ERANGE},
        {"reservations: many\n", "p.yaml:1:15: ", -EINVAL},
        {"preempt: always\n", "p.yaml:1:10: preempt: 'always' is none of: none, rights, order",
         -EINVAL},
        {"order: fifo\norder: fifo\n", "p.yaml:2:1: ", -EINVAL},
        {"queues: all\n", "p.yaml:1:9: expected a map of queues by name", -EINVAL},
        {"queues:\n  a: 8\n", "p.yaml:2:6: a queue is a map", -EINVAL},
        {"queues:\n  a: {guarantee: {gpu: 1}}\n",
         "p.yaml:2:7: unknown key \"guarantee\", did you mean \"guaranteed\"", -EINVAL},
        {"queues:\n  a: {guaranteed: 8}\n", "p.yaml:2:19: expected a map such as {gpu: 64}", -EINVAL},
        {"queues:\n  a: {max: {gpus: 8}}\n", "p.yaml:2:19: 'gpus' is no resource", -EINVAL},
        {"queues:\n  a: {max: {gpu: -8}}\n", "p.yaml:2:", 0},
        {"queues:\n  a: {max: {mem: lots}}\n", "p.yaml:2:18: ", -EINVAL},
        {"queues:\n  a: {authority: all}\n",
         "p.yaml:2:18: authority 'all' is none of: observe, place, repair, evict, move", -EINVAL},
        {"queues:\n  a: {weight: 1000001}\n", "p.yaml:2:15: ", -ERANGE},
        {"queues:\n  a: {guaranteed: {gpu: 8}, max: {gpu: 4}}\n", "p.yaml:2:3: ", 0},
        {"queues:\n  a:\n    children:\n      b: {}\n  b: {}\n", "p.yaml:2:3: ", 0},
        {"spares: 3\n", "p.yaml:1:9: spares are a list", -EINVAL},
        {"spares: [{nodes: 1}]\n", "p.yaml:1:10: expected {level: block, nodes: 1}", -EINVAL},
        {"spares: [{level: rack, nodes: 1, loan: true}]\n", "unknown key \"loan\"", -EINVAL},
        {"spares: [{level: rack, nodes: 1, fault: fan}]\n",
         "p.yaml:1:41: expected node or device", -EINVAL},
        {"spares: [{level: rack, nodes: -1}]\n", "p.yaml:1:31: ", -ERANGE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct arena a = {0};
        struct policy p;
        struct err err = {0};
        memset(&p, 0x5a, sizeof p);
        int rc = policy_parse("p.yaml", str_of(bad[i].text), &a, &p, &err);
        char first[24];
        snprintf(first, sizeof first, "%.20s", bad[i].text);
        for (char *c = first; *c; c++)
            *c = *c == '\n' ? ' ' : *c;
        if (!ok((bad[i].rc ? rc == bad[i].rc : rc < 0) && strstr(err.text, bad[i].error),
                "refuses %s..., at its place", first))
            diag("   %d: %s", rc, err.text);
        ok(p.order == 0x5a && p.seed == UINT64_C(0x5a5a5a5a5a5a5a5a), "... and writes nothing");
        arena_done(&a);
    }
}

static void test_bounds(void)
{
    struct arena a = {0};
    struct policy p;
    struct err err = {0};
    struct buf b = {0};
    buf_z(&b, "queues: ");
    for (int i = 0; i <= QUEUE_DEPTH_MAX; i++)
        buf_fmt(&b, "{q%d: {%s", i, i < QUEUE_DEPTH_MAX ? "children: " : "");
    for (int i = 0; i <= QUEUE_DEPTH_MAX; i++)
        buf_z(&b, "}}");
    is_int(policy_parse("p.yaml", buf_as_str(&b), &a, &p, &err), -ERANGE,
           "queues nest no deeper than %d", QUEUE_DEPTH_MAX);
    buf_clear(&b);
    buf_z(&b, "queues: {a: {max: {");
    for (int i = 0; i <= QUOTA_RESOURCES_MAX; i++)
        buf_fmt(&b, "%s\"gpu:t%d\": 1", i ? ", " : "", i);
    buf_z(&b, "}}}");
    is_int(policy_parse("p.yaml", buf_as_str(&b), &a, &p, &err), -ERANGE,
           "at most %d resources", QUOTA_RESOURCES_MAX);
    buf_clear(&b);
    buf_z(&b, "spares:\n");
    for (int i = 0; i <= POLICY_SPARES_MAX; i++)
        buf_z(&b, "  - {level: rack, nodes: 1}\n");
    is_int(policy_parse("p.yaml", buf_as_str(&b), &a, &p, &err), -ERANGE,
           "at most %d kinds of spares", POLICY_SPARES_MAX);
    buf_clear(&b);
    buf_z(&b, "about: ");
    for (int i = 0; i < POLICY_TEXT_MAX; i += 64)
        buf_z(&b, "sixty-four bytes of text, which a policy file never has so many of");
    is_int(policy_parse("p.yaml", buf_as_str(&b), &a, &p, &err), -EFBIG,
           "at most %d bytes", POLICY_TEXT_MAX);
    buf_done(&b);
    arena_done(&a);
}

/* --- the document --- */

/* The row "| `key` | ..." of the table below a heading; empty: there is none. */
static struct str doc_row(struct str doc, const char *heading, const char *key)
{
    char want[80];
    bool in = false;
    int n = snprintf(want, sizeof want, "| `%s` |", key);
    while (doc.len) {
        const char *end = memchr(doc.ptr, '\n', doc.len);
        size_t len = end ? (size_t)(end - doc.ptr) : doc.len;
        struct str line = {doc.ptr, len};
        if (line.len && line.ptr[0] == '#')
            in = str_is(line, heading);
        if (in && str_starts(line, (struct str){want, (size_t)n}))
            return line;
        doc = (struct str){doc.ptr + len + (end != NULL), doc.len - len - (end != NULL)};
    }
    return (struct str){0};
}

/* What stands between the third and the fourth bar, without blanks and backquotes. */
static struct str third_cell(struct str row)
{
    const char *at = row.ptr, *end = row.ptr + row.len;
    for (int bars = 0; at < end; at++)
        if (*at == '|' && ++bars == 3)
            break;
    struct str cell = {at + 1, 0};
    while (cell.ptr < end && (*cell.ptr == ' ' || *cell.ptr == '`'))
        cell.ptr++;
    while (cell.ptr + cell.len < end && cell.ptr[cell.len] != '|' && cell.ptr[cell.len] != '`')
        cell.len++;
    while (cell.len && cell.ptr[cell.len - 1] == ' ')
        cell.len--;
    return cell;
}

static void test_defaults(struct str doc)
{
    struct policy plain, p;
    policy_init(&plain);
    for (uint32_t i = 0; policy_key(POLICY_KEYS, i); i++) {
        const char *key = policy_key(POLICY_KEYS, i);
        struct arena a = {0};
        struct err err = {0};
        struct buf b = {0};
        struct str row = doc_row(doc, "# The policy file", key), cell;
        if (!ok(row.len, "the document has a row for %s", key))
            continue;
        cell = third_cell(row);
        if (cell.len) {
            buf_fmt(&b, "%s: " STR_FMT "\n", key, STR_ARG(cell));
            bool good = policy_parse("docs", buf_as_str(&b), &a, &p, &err) == 0;
            if (!ok(good && memcmp(&p, &plain, sizeof p) == 0, "... and its default is %.*s",
                    (int)cell.len, cell.ptr))
                diag("   %s", err.text);
        }
        buf_done(&b);
        arena_done(&a);
    }
}

static void test_document(void)
{
    static const struct {
        enum policy_table table;
        const char *heading;
    } parts[] = {{POLICY_QUEUE_KEYS, "## Queues"}, {POLICY_SPARES_KEYS, "## Spares"}};
    const char *src = getenv("MUSTER_SRC");
    char path[1024];
    struct buf b = {0};
    struct err err = {0};
    snprintf(path, sizeof path, "%s/docs/policy-format.md", src ? src : MUSTER_SOURCE_DIR);
    if (!ok(infile_slurp(path, 1 << 20, &b, &err) == 0, "docs/policy-format.md is there")) {
        diag("%s", err.text);
        return;
    }
    struct str doc = buf_as_str(&b);
    test_defaults(doc);
    for (size_t t = 0; t < sizeof parts / sizeof *parts; t++)
        for (uint32_t i = 0; policy_key(parts[t].table, i); i++)
            ok(doc_row(doc, parts[t].heading, policy_key(parts[t].table, i)).len,
               "below %s it has a row for %s", parts[t].heading, policy_key(parts[t].table, i));
    ok(!doc_row(doc, "# The policy file", "nosuch").len &&
           !doc_row(doc, "## Spares", "weight").len && doc_row(doc, "## Queues", "weight").len,
       "and what it does not have would be missed");
    buf_done(&b);
}

int main(void)
{
    test_values();
    test_queues();
    test_refusals();
    test_bounds();
    test_document();
    return done_testing();
}
