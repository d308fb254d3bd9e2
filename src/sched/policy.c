/* policy.c - reads the policy file
 * Keys are one table: name, kind, bounds, default, help; docs/policy-format.md lists them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/policy_read.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/units.h"

enum key_kind {
    KEY_WORD,
    KEY_TEXT,
    KEY_BOOL,
    KEY_TIME,
    KEY_COUNT, /* uint32_t */
    KEY_SEED,
    KEY_MIX,
    KEY_SPARES,
    KEY_QUEUES
};

struct choice {
    const char *word;
    uint8_t value;
};

static const struct choice orders[] = {
    {"fifo", ORDER_FIFO},
    {"shortest", ORDER_SHORTEST},
    {"remaining", ORDER_REMAINING},
    {"attained", ORDER_ATTAINED},
    {NULL, 0}};
static const struct choice blocks[] = {
    {"none", BLOCK_NONE}, {"queue", BLOCK_QUEUE}, {"all", BLOCK_ALL}, {NULL, 0}};
static const struct choice borders[] = {{"batch", 0}, {"each", 1}, {NULL, 0}};
static const struct choice gangs[] = {
    {"whole", GANGS_WHOLE}, {"pods", GANGS_PODS}, {NULL, 0}};
static const struct choice quotas[] = {{"none", QUOTAS_NONE},
                                       {"static", QUOTAS_STATIC},
                                       {"borrow", QUOTAS_BORROW},
                                       {"rights", QUOTAS_RIGHTS},
                                       {NULL, 0}};
static const struct choice reserves[] = {
    {"none", RESERVE_NONE}, {"gangs", RESERVE_GANGS}, {"all", RESERVE_ALL}, {NULL, 0}};
static const struct choice betweens[] = {
    {"share", BETWEEN_SHARE}, {"order", BETWEEN_ORDER}, {NULL, 0}};
static const struct choice preempts[] = {
    {"none", PREEMPT_NONE}, {"rights", PREEMPT_RIGHTS}, {"order", PREEMPT_ORDER}, {NULL, 0}};
static const struct choice evicts[] = {{"owed", EVICT_OWED},
                                       {"always", EVICT_ALWAYS},
                                       {"cheaper", EVICT_CHEAPER},
                                       {NULL, 0}};
static const struct choice values[] = {{"off", VALUE_OFF}, {"on", VALUE_ON}, {NULL, 0}};
static const struct choice limits[] = {
    {"trust", LIMITS_TRUST}, {"enforce", LIMITS_ENFORCE}, {NULL, 0}};
static const struct choice forecasts[] = {
    {"limit", FORECAST_LIMIT}, {"learned", FORECAST_LEARNED}, {NULL, 0}};
static const struct choice withins[] = {
    {"lower", WITHIN_LOWER}, {"any", WITHIN_ANY}, {NULL, 0}};
static const struct choice acrosses[] = {
    {"none", ACROSS_NONE}, {"lower_priority", ACROSS_LOWER_PRIORITY}, {NULL, 0}};
static const struct choice remainders[] = {{"tightest", 0}, {"widest", 1}, {NULL, 0}};

static const struct key {
    const char *name;
    enum key_kind kind;
    size_t offset;
    const struct choice *choices;
    int64_t lo, hi; /* text: hi is the room; counts and times: bounds */
} keys[] = {
    {"name", KEY_TEXT, offsetof(struct policy, name), NULL, 1, POLICY_NAME_MAX},
    {"order", KEY_WORD, offsetof(struct policy, order), orders, 0, 0},
    {"block", KEY_WORD, offsetof(struct policy, block), blocks, 0, 0},
    {"border", KEY_WORD, offsetof(struct policy, each), borders, 0, 0},
    {"oracle", KEY_BOOL, offsetof(struct policy, oracle), NULL, 0, 0},
    {"node", KEY_TEXT, offsetof(struct policy, scorer), NULL, 1, 31},
    {"remainder", KEY_WORD, offsetof(struct policy, remainder_widest), remainders, 0, 0},
    {"mix", KEY_MIX, offsetof(struct policy, mix), NULL, 0, 0},
    {"seed", KEY_SEED, offsetof(struct policy, seed), NULL, 0, INT64_MAX},
    {"launch_timeout", KEY_TIME, offsetof(struct policy, launch_timeout_us), NULL, US_PER_S,
     US_PER_DAY},
    {"repair_grace", KEY_TIME, offsetof(struct policy, repair_grace_us), NULL, 0,
     US_PER_DAY},
    {"most_questions", KEY_COUNT, offsetof(struct policy, most_questions), NULL, 1, 1000000},
    {"gangs", KEY_WORD, offsetof(struct policy, gangs), gangs, 0, 0},
    {"attained_gpu_hours", KEY_COUNT, offsetof(struct policy, attained_gpu_hours), NULL, 1,
     1000000},
    {"quotas", KEY_WORD, offsetof(struct policy, quotas), quotas, 0, 0},
    {"between", KEY_WORD, offsetof(struct policy, between), betweens, 0, 0},
    {"queues", KEY_QUEUES, offsetof(struct policy, queues), NULL, 0, 0},
    {"usage_half_life", KEY_TIME, offsetof(struct policy, usage_half_life_us), NULL, 0,
     3650 * US_PER_DAY},
    {"reserve", KEY_WORD, offsetof(struct policy, reserve), reserves, 0, 0},
    {"reservations", KEY_COUNT, offsetof(struct policy, reservations), NULL, 1, 100000},
    {"reserve_after", KEY_TIME, offsetof(struct policy, reserve_after_us), NULL, 0,
     365 * US_PER_DAY},
    {"improve_every", KEY_TIME, offsetof(struct policy, improve_every_us), NULL, US_PER_S,
     US_PER_DAY},
    {"limits", KEY_WORD, offsetof(struct policy, limits), limits, 0, 0},
    {"value", KEY_WORD, offsetof(struct policy, value), values, 0, 0},
    {"forecast", KEY_WORD, offsetof(struct policy, forecast), forecasts, 0, 0},
    {"forecast_quantile", KEY_COUNT, offsetof(struct policy, forecast_quantile), NULL, 50, 99},
    {"preempt", KEY_WORD, offsetof(struct policy, preempt), preempts, 0, 0},
    {"evict_when", KEY_WORD, offsetof(struct policy, evict_when), evicts, 0, 0},
    {"reclaim_within", KEY_WORD, offsetof(struct policy, within), withins, 0, 0},
    {"reclaim_across", KEY_WORD, offsetof(struct policy, across), acrosses, 0, 0},
    {"patience", KEY_TIME, offsetof(struct policy, patience_us), NULL, 0, 365 * US_PER_DAY},
    {"turn_max", KEY_TIME, offsetof(struct policy, turn_max_us), NULL, US_PER_S,
     365 * US_PER_DAY},
    {"protect", KEY_TIME, offsetof(struct policy, protect_us), NULL, 0, 365 * US_PER_DAY},
    {"evictions_per_hour", KEY_COUNT, offsetof(struct policy, evictions_per_hour), NULL, 0,
     UINT32_MAX},
    {"bad_node_failures", KEY_COUNT, offsetof(struct policy, bad_node_failures), NULL, 0, 1000},
    {"spares", KEY_SPARES, offsetof(struct policy, spares), NULL, 0, 0},
    {"moves_per_hour", KEY_COUNT, offsetof(struct policy, moves_per_hour), NULL, 0, 1000000},
    {"moves_per_job", KEY_COUNT, offsetof(struct policy, moves_per_job), NULL, 0, 1000000},
};
enum { NKEYS = sizeof keys / sizeof *keys };

const char *policy_key(enum policy_table table, uint32_t i)
{
    const char *const *names = table == POLICY_QUEUE_KEYS ? policy_queue_keys : policy_spares_keys;
    if (table == POLICY_KEYS)
        return i < NKEYS ? keys[i].name : NULL;
    for (uint32_t k = 0; names[k]; k++)
        if (k == i)
            return names[k];
    return NULL;
}

void policy_init(struct policy *p)
{
    memset(p, 0, sizeof *p);
    memcpy(p->name, "default", 8);
    memcpy(p->scorer, "fewest-free", 12);
    p->launch_timeout_us = 10 * US_PER_MIN;
    p->repair_grace_us = 5 * US_PER_MIN;
    p->bad_node_failures = 3;
    p->most_questions = 4096;
    p->reservations = 10;
    p->improve_every_us = 15 * US_PER_MIN;
    p->forecast_quantile = 75;
    p->attained_gpu_hours = 16;
    p->evictions_per_hour = UINT32_MAX;
    p->patience_us = US_PER_DAY;
    p->turn_max_us = US_PER_DAY;
    p->protect_us = 10 * US_PER_MIN;
    p->moves_per_job = 1;
}

static int read_choice(const struct ynode *n, const struct key *k, uint8_t *ret,
                       struct err *err)
{
    struct str s;
    int rc = ynode_str(n, &s, err);
    if (rc < 0)
        return rc;
    for (const struct choice *c = k->choices; c->word; c++) {
        if (str_is(s, c->word)) {
            *ret = c->value;
            return 0;
        }
    }
    char known[128] = "";
    for (const struct choice *c = k->choices; c->word; c++) {
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", c->word);
    }
    return ynode_err(n, EINVAL, err, "%s: '" STR_FMT "' is none of: %s", k->name,
                     STR_ARG(s), known);
}

static int read_text(const struct ynode *n, const struct key *k, char *out, struct err *err)
{
    struct str s;
    int rc = ynode_str(n, &s, err);
    if (rc < 0)
        return rc;
    if (s.len < (size_t)k->lo || s.len > (size_t)k->hi)
        return ynode_err(n, ERANGE, err, "%s: %zu characters, %d to %d are allowed", k->name,
                         s.len, (int)k->lo, (int)k->hi);
    memset(out, 0, (size_t)k->hi + 1);
    memcpy(out, s.ptr, s.len);
    return 0;
}

static int read_mix(const struct ynode *n, struct policy *p, struct err *err)
{
    struct str s;
    int rc = ynode_str(n, &s, err);
    if (rc < 0)
        return rc;
    if (str_is(s, "none")) {
        p->mix = MIX_NONE;
    } else if (str_is(s, "trace")) {
        p->mix = MIX_TRACE;
    } else if (str_is(s, "learn")) {
        p->mix = MIX_LEARN;
    } else {
        p->mix = MIX_GIVEN;
        p->mix_text = s;
    }
    return 0;
}

static int read_key(const struct ynode *n, const struct key *k, struct arena *a,
                    struct policy *p, struct err *err)
{
    char *field = (char *)p + k->offset;
    int64_t number = 0;
    int rc = 0;
    switch (k->kind) {
    case KEY_WORD:
        return read_choice(n, k, (uint8_t *)field, err);
    case KEY_TEXT:
        return read_text(n, k, field, err);
    case KEY_MIX:
        return read_mix(n, p, err);
    case KEY_BOOL:
        return ynode_bool(n, (bool *)field, err);
    case KEY_TIME:
        rc = ynode_duration(n, &number, err);
        if (rc == 0 && (number < k->lo || number > k->hi))
            return ynode_err(n, ERANGE, err, "%s must lie between %lld and %lld seconds",
                             k->name, (long long)(k->lo / US_PER_S),
                             (long long)(k->hi / US_PER_S));
        if (rc == 0)
            memcpy(field, &number, sizeof number);
        return rc;
    case KEY_COUNT:
        rc = ynode_i64(n, k->lo, k->hi, &number, err);
        if (rc < 0)
            return rc;
        *(uint32_t *)field = (uint32_t)number;
        return 0;
    case KEY_SEED:
        rc = ynode_i64(n, k->lo, k->hi, &number, err);
        if (rc == 0)
            p->seed = (uint64_t)number;
        return rc;
    case KEY_SPARES:
        return policy_read_spares(n, a, p, err);
    case KEY_QUEUES:
        return policy_read_queues(n, a, p, err);
    }
    return 0;
}

int policy_parse(const char *name, struct str text, struct arena *a, struct policy *ret,
                 struct err *err)
{
    if (text.len > POLICY_TEXT_MAX)
        return err_set(err, EFBIG, "%s: a policy has at most %d bytes, this has %zu", name,
                       POLICY_TEXT_MAX, text.len);
    struct ynode *root = NULL;
    int rc = yaml_parse(name, text, a, &root, err);
    if (rc < 0)
        return rc;
    if (root->kind != YNODE_MAP)
        return ynode_err(root, EINVAL, err, "a policy is a map of keys, such as `order: fifo`");
    const char *known[NKEYS + 2];
    for (int i = 0; i < NKEYS; i++)
        known[i] = keys[i].name;
    known[NKEYS] = "about"; /* free text for people */
    known[NKEYS + 1] = NULL;
    rc = ynode_only(root, known, err);
    if (rc < 0)
        return rc;
    struct policy p;
    policy_init(&p);
    for (int i = 0; i < NKEYS; i++) {
        const struct ynode *n = ynode_get(root, keys[i].name);
        if (n)
            rc = read_key(n, &keys[i], a, &p, err);
        if (rc < 0)
            return rc;
    }
    *ret = p;
    return 0;
}
