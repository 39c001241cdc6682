// Maps: order, overwriting, growth.
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include <cmocka.h>

static void test_an_empty_map_has_nothing(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Map map = {.arena = a};
    assert_null(map_get(&map, STR("x")));
    assert_false(map_has(&map, STR("")));
    arena_destroy(a);
}

static void test_entries_keep_the_order_of_insertion(void **state)
{
    (void)state;
    enum { N = 20000 };
    Arena *a = arena_create();
    Map map = {.arena = a};
    static int values[N];
    for (int i = 0; i < N; i++) {
        map_put(&map, str_format(a, "layers.%d.weight", i * 7919 % N), &values[i]);
    }
    assert_int_equal(map.n, N);
    for (int i = 0; i < N; i++) {
        Str key = str_format(a, "layers.%d.weight", i * 7919 % N);
        assert_true(str_equal(map.entries[i].key, key));
        assert_ptr_equal(map_get(&map, key), &values[i]);
    }
    assert_null(map_get(&map, STR("layers.20000.weight")));
    arena_destroy(a);
}

static void test_a_second_put_replaces_the_value_in_place(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Map map = {.arena = a};
    int one = 1;
    int two = 2;
    map_put(&map, STR("a"), &one);
    map_put(&map, STR("b"), &one);
    map_put(&map, STR("a"), &two);
    assert_int_equal(map.n, 2);
    assert_true(str_equal(map.entries[0].key, STR("a")));
    assert_ptr_equal(map_get(&map, STR("a")), &two);
    assert_ptr_equal(map_get(&map, STR("b")), &one);
    arena_destroy(a);
}

static void test_null_values_and_empty_keys_count(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Map map = {.arena = a};
    map_put(&map, STR(""), NULL);
    assert_true(map_has(&map, (Str){NULL, 0}));
    assert_null(map_get(&map, STR("")));
    assert_false(map_has(&map, STR("\0")));
    map_put(&map, STR("\0"), &map);
    assert_int_equal(map.n, 2);
    assert_ptr_equal(map_get(&map, STR("\0")), &map);
    arena_destroy(a);
}

// ---- keys made to collide ----

static uint64_t rotated(uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

// The odd number whose product with x is 1, modulo 2^64: each step doubles the bits that are right.
static uint64_t inverse(uint64_t x)
{
    uint64_t y = x;
    for (int i = 0; i < 6; i++) {
        y *= 2 - x * y;
    }
    return y;
}

// The 8 bytes that XXH3 without a seed gives this hash: its steps for keys of 8 bytes, backwards.
static void key_of_hash(uint64_t hash, char *key)
{
    const uint64_t factor = 0x9FB21C651E98DF25, masked = 0xC73AB174C5ECD5A2;
    hash ^= hash >> 28;
    hash ^= hash >> 56;
    hash *= inverse(factor);
    hash ^= (hash >> 35) + 8;
    hash *= inverse(factor);
    for (int i = 0; i < 63; i++) { // 64 times the step is nothing
        hash ^= rotated(hash, 49) ^ rotated(hash, 24);
    }
    hash = rotated(hash ^ masked, 32);
    memcpy(key, &hash, sizeof hash);
}

// Whoever writes a file of weights chooses its names; as many as there may be must not take long.
static void test_keys_made_to_collide(void **state)
{
    (void)state;
    enum { MOST = 80000, SIZE = 8 };
    int n = getenv("SLUICE_VALGRIND") ? MOST / 20 : MOST;
    Arena *a = arena_create();
    Map map = {.arena = a};
    char *keys = arena_new(a, char, (size_t)n *SIZE);
    for (int i = 0; i < n; i++) {
        key_of_hash((uint64_t)(i + 1) << 40, keys + (size_t)i * SIZE);
    }
    assert_true(XXH3_64bits(keys + SIZE, SIZE) == (uint64_t)2 << 40);
    clock_t begin = clock();
    for (int i = 0; i < n; i++) {
        map_put(&map, (Str){keys + (size_t)i * SIZE, SIZE}, &map);
    }
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    assert_int_equal(map.n, n);
    if (n == MOST && seconds > 1) {
        fail_msg("%d keys that collide took %.1f s", n, seconds);
    }
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_map_has_nothing),
        cmocka_unit_test(test_entries_keep_the_order_of_insertion),
        cmocka_unit_test(test_a_second_put_replaces_the_value_in_place),
        cmocka_unit_test(test_null_values_and_empty_keys_count),
        cmocka_unit_test(test_keys_made_to_collide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
