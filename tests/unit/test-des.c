/* test-des.c - events leave by time, class and order of posting
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/des.h"
#include "base/rng.h"
#include "tap.h"

static void test_order(void)
{
    static const struct {
        int64_t at;
        uint8_t class_;
        char name;
    } posts[] = {
        {20, 0, 'g'}, {10, 2, 'd'}, {10, 1, 'b'},   {-5, 255, 'a'},
        {10, 1, 'c'}, {10, 2, 'e'}, {10, 255, 'f'},
    };
    struct des d = {0};
    struct des_event e;
    char got[8] = "";
    ok(!des_peek(&d) && !des_pop(&d, &e), "an empty queue has nothing");
    for (size_t i = 0; i < sizeof posts / sizeof *posts; i++)
        des_post(&d, posts[i].at, posts[i].class_, (uint32_t)posts[i].name, 1, 2);
    for (size_t n = 0; des_peek(&d); n++) {
        const struct des_event *p = des_peek(&d);
        char seen = (char)p->kind;
        des_pop(&d, &e);
        got[n] = seen == (char)e.kind ? seen : '?';
    }
    is_str(got, "abcdefg", "time, then class, then order of posting");
    des_done(&d);
}

static void test_payload(void)
{
    struct des d = {0};
    struct des_event e;
    des_post(&d, INT64_MAX, 255, UINT32_MAX, 7, UINT64_MAX);
    des_post(&d, INT64_MIN, 0, 1, UINT32_MAX, 3);
    ok(des_pop(&d, &e) && e.at_us == INT64_MIN && e.kind == 1 && e.a == UINT32_MAX &&
           e.b == 3,
       "the first instant and its payload");
    ok(des_pop(&d, &e) && e.at_us == INT64_MAX && e.kind == UINT32_MAX && e.a == 7 &&
           e.b == UINT64_MAX,
       "the last instant and its payload");
    des_done(&d);
}

/* A simulation-like mix: each event taken is never before the last one taken, those of
 * one instant and class leave in order of posting, and none is lost. */
static void test_many(void)
{
    struct des d = {0};
    struct des_event e, last = {.at_us = INT64_MIN};
    struct rng r;
    uint64_t posted = 0, taken = 0, bad = 0, sum_in = 0, sum_out = 0;
    int64_t now = 0;
    rng_init(&r, 9, 0);
    for (int step = 0; step < 200000; step++) {
        if (step < 100000 && rng_below(&r, 5) < 3) {
            uint64_t serial = ++posted;
            uint8_t class_ = (uint8_t)rng_below(&r, 3);
            des_post(&d, now + rng_between(&r, 1, 50), class_, class_, 0, serial);
            sum_in += serial * serial;
        } else if (des_pop(&d, &e)) {
            bool later = e.at_us != last.at_us ? e.at_us > last.at_us
                         : e.kind != last.kind ? e.kind > last.kind
                                               : e.b > last.b;
            bad += !later;
            sum_out += e.b * e.b;
            taken++;
            last = e;
            now = e.at_us;
        }
    }
    while (des_pop(&d, &e)) {
        sum_out += e.b * e.b;
        taken++;
    }
    is_uint(bad, 0, "every event leaves behind the one before it");
    ok(posted == taken && sum_in == sum_out, "%llu events, none lost, none twice",
       (unsigned long long)posted);
    cmp_ok(posted, >, 50000, "the test posted enough");
    des_done(&d);
}

int main(void)
{
    test_order();
    test_payload();
    test_many();
    return done_testing();
}
