/* test-map.c - both hash tables against a plain array, under several hash seeds
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/map.h"
#include "base/rng.h"
#include "tap.h"

enum { KEYS = 700, STEPS = 60000 };

static char names[KEYS][24];

static void make_names(void)
{
    for (int i = 0; i < KEYS; i++)
        snprintf(names[i], sizeof names[i], i % 3 ? "n%d" : "a-longer-name-%08d", i);
    names[0][0] = '\0'; /* the empty name is a name */
}

/* All keys of the model: same answers, same count. */
static int str_differs(const struct strmap *m, const uint32_t *model)
{
    uint32_t n = 0, bad = 0;
    for (int i = 0; i < KEYS; i++) {
        bad += strmap_get(m, str_of(names[i])) != model[i];
        n += model[i] != MAP_NONE;
    }
    return (int)bad + (m->n != n);
}

static void test_str(uint64_t seed)
{
    struct strmap m = {0};
    struct rng r;
    uint32_t model[KEYS];
    int bad = 0;
    hash_seed = seed;
    memset(model, 0xff, sizeof model);
    rng_init(&r, seed, 1);
    ok(strmap_get(&m, STR("x")) == MAP_NONE, "an empty table has nothing");
    strmap_del(&m, STR("x"));
    strmap_clear(&m);
    for (int step = 0; step < STEPS; step++) {
        /* growing, shrinking and level phases, so that runs form and dissolve */
        uint64_t i = rng_below(&r, KEYS), put = step / 5000 % 3 == 0 ? 80 : 45;
        if (rng_below(&r, 100) < put) {
            model[i] = (uint32_t)rng_below(&r, MAP_NONE);
            strmap_put(&m, str_of(names[i]), model[i]);
        } else {
            model[i] = MAP_NONE;
            strmap_del(&m, str_of(names[i]));
        }
        uint64_t k = rng_below(&r, KEYS);
        bad += strmap_get(&m, str_of(names[k])) != model[k];
        if (step % 1000 == 0)
            bad += str_differs(&m, model);
    }
    is_int(bad, 0, "strings: %d steps under seed %016llx", STEPS,
           (unsigned long long)seed);
    strmap_clear(&m);
    memset(model, 0xff, sizeof model);
    is_int(str_differs(&m, model), 0, "a cleared table is empty");
    strmap_put(&m, STR("again"), 5);
    is_uint(strmap_get(&m, STR("again")), 5, "and can be filled again");
    strmap_done(&m);
}

static void test_u64(uint64_t seed)
{
    enum { SPAN = 900 };
    static uint32_t model[SPAN];
    struct u64map m = {0};
    struct rng r;
    int bad = 0;
    hash_seed = seed;
    memset(model, 0xff, sizeof model);
    rng_init(&r, seed, 2);
    for (int step = 0; step < STEPS; step++) {
        uint64_t i = rng_below(&r, SPAN), put = step / 5000 % 3 == 0 ? 80 : 45;
        uint64_t key = i * UINT64_C(0x100000001); /* the like of packed pairs */
        if (rng_below(&r, 100) < put)
            u64map_put(&m, key, model[i] = (uint32_t)rng_below(&r, MAP_NONE));
        else
            u64map_del(&m, key), model[i] = MAP_NONE;
        uint32_t n = 0;
        for (uint64_t k = 0; step % 1000 == 0 && k < SPAN; k++) {
            bad += u64map_get(&m, k * UINT64_C(0x100000001)) != model[k];
            n += model[k] != MAP_NONE;
        }
        bad += step % 1000 == 0 && m.n != n;
    }
    is_int(bad, 0, "numbers: %d steps under seed %016llx", STEPS,
           (unsigned long long)seed);
    u64map_clear(&m);
    is_uint(u64map_get(&m, 0), MAP_NONE, "a cleared table is empty");
    u64map_put(&m, UINT64_MAX - 1, 9);
    u64map_put(&m, 0, 8);
    ok(u64map_get(&m, UINT64_MAX - 1) == 9 && u64map_get(&m, 0) == 8,
       "the outermost keys");
    u64map_done(&m);
}

static void test_borrowed(void)
{
    char first[] = "key", second[] = "key";
    struct strmap m = {0};
    strmap_put(&m, str_of(first), 1);
    strmap_put(&m, str_of(second), 2);
    memset(first, 'x', 3);
    is_uint(strmap_get(&m, STR("key")), 2, "a put replaces the borrowed key too");
    is_uint(m.n, 1, "and stays one entry");
    strmap_done(&m);
}

int main(void)
{
    static const uint64_t seeds[] = {0, 1, UINT64_MAX, UINT64_C(0x123456789abcdef0)};
    make_names();
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        test_str(seeds[i]);
        test_u64(seeds[i]);
    }
    test_borrowed();
    return done_testing();
}
