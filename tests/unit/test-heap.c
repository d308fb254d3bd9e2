/* test-heap.c - the heap gives back what qsort would give
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"
#include "base/rng.h"
#include "tap.h"

static int by_key(const void *x, const void *y)
{
    const struct heap_item *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->tie > b->tie) - (a->tie < b->tie);
}

static void test_sorted(uint32_t n, int64_t keys)
{
    struct heap_item *want = calloc(n + 1, sizeof *want);
    struct heap h = {0};
    struct rng r;
    rng_init(&r, n, (uint64_t)keys);
    for (uint32_t i = 0; i < n; i++) {
        want[i] = (struct heap_item){rng_between(&r, -keys, keys), n - i, i};
        heap_push(&h, want[i].key, want[i].tie, i);
    }
    qsort(want, n, sizeof *want, by_key);
    uint32_t bad = 0;
    for (uint32_t i = 0; i < n; i++) {
        bad += heap_top(&h)->item != want[i].item;
        struct heap_item x = heap_pop(&h);
        bad += x.key != want[i].key || x.tie != want[i].tie || x.item != want[i].item;
    }
    ok(bad == 0 && h.n == 0 && !heap_top(&h), "%u items, keys -%d..%d, come out sorted",
       n, (int)keys, (int)keys);
    heap_done(&h);
    free(want);
}

/* Pushes and pops mixed, against the smallest of a plain list. */
static void test_mixed(void)
{
    enum { MOST = 300 };
    struct heap_item list[MOST];
    struct heap h = {0};
    struct rng r;
    uint32_t n = 0, bad = 0;
    rng_init(&r, 5, 0);
    for (uint32_t step = 0; step < 50000; step++) {
        if (n == 0 || (n < MOST && rng_below(&r, 2))) {
            int64_t key = rng_between(&r, 0, 40);
            list[n++] = (struct heap_item){key, step, step};
            heap_push(&h, key, step, step);
            continue;
        }
        uint32_t least = 0;
        for (uint32_t i = 1; i < n; i++)
            if (by_key(&list[i], &list[least]) < 0)
                least = i;
        bad += heap_pop(&h).item != list[least].item;
        list[least] = list[--n];
        bad += h.n != n;
    }
    is_int(bad, 0, "50,000 mixed steps always give the smallest");
    heap_clear(&h);
    ok(!heap_top(&h), "a cleared heap is empty");
    heap_push(&h, INT64_MIN, UINT64_MAX, 1);
    heap_push(&h, INT64_MIN, 0, 2);
    heap_push(&h, INT64_MAX, 0, 3);
    is_uint(heap_pop(&h).item, 2, "the tie is unsigned");
    is_uint(heap_pop(&h).item, 1, "the key is signed");
    heap_done(&h);
}

int main(void)
{
    static const uint32_t sizes[] = {0, 1, 2, 4, 5, 6, 16, 17, 21, 22, 1000, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        test_sorted(sizes[i], 3);
        test_sorted(sizes[i], 1000000);
    }
    test_mixed();
    return done_testing();
}
