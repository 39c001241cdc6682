// Maps: order, overwriting, growth.
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_map_has_nothing),
        cmocka_unit_test(test_entries_keep_the_order_of_insertion),
        cmocka_unit_test(test_a_second_put_replaces_the_value_in_place),
        cmocka_unit_test(test_null_values_and_empty_keys_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
