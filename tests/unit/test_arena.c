// Arenas and growing arrays.
#include "base/arena.h"
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

// ASan ends a process that asks for too much, where calloc itself says NULL.
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static bool is_zero(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static void test_memory_is_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    Arena *a = arena_create();
    unsigned char *ptrs[1000];
    size_t sizes[1000];
    for (size_t i = 0; i < 1000; i++) {
        size_t align = (size_t)1 << (i % 7);
        sizes[i] = i * 37 % 911;
        ptrs[i] = arena_alloc(a, sizes[i], align);
        assert_int_equal((uintptr_t)ptrs[i] % align, 0);
        assert_true(is_zero(ptrs[i], sizes[i]));
        memset(ptrs[i], (int)(i % 255 + 1), sizes[i]);
    }
    for (size_t i = 0; i < 1000; i++) {
        for (size_t j = 0; j < sizes[i]; j++) {
            assert_int_equal(ptrs[i][j], i % 255 + 1);
        }
    }
    arena_destroy(a);
}

static void test_nothing_has_an_address(void **state)
{
    (void)state;
    Arena *a = arena_create();
    assert_non_null(arena_alloc(a, 0, 1));
    assert_non_null(arena_new(a, int, 0));
    arena_destroy(a);
    arena_destroy(NULL);
}

static void test_memory_in_second_use_is_zeroed(void **state)
{
    (void)state;
    Arena *a = arena_create();
    int *kept = arena_new(a, int, 4);
    kept[3] = 7;
    for (size_t round = 0; round < 4; round++) {
        ArenaMark mark = arena_mark(a);
        for (size_t bytes = 1; bytes < (1 << 20); bytes = bytes * 3 + 1) {
            unsigned char *p = arena_alloc(a, bytes, 1);
            assert_true(is_zero(p, bytes));
            memset(p, 0xff, bytes);
        }
        arena_reset(a, mark);
    }
    assert_int_equal(kept[3], 7);
    arena_destroy(a);
}

static void test_a_mark_of_an_empty_arena_empties_it(void **state)
{
    (void)state;
    Arena *a = arena_create();
    ArenaMark mark = arena_mark(a);
    memset(arena_alloc(a, 100, 8), 1, 100);
    arena_reset(a, mark);
    ArenaMark again = arena_mark(a);
    assert_null(again.block);
    assert_true(is_zero(arena_alloc(a, 100, 8), 100));
    arena_destroy(a);
}

static void test_large_allocations_get_blocks_of_their_own(void **state)
{
    (void)state;
    Arena *a = arena_create();
    ArenaMark mark = arena_mark(a);
    unsigned char *large = arena_alloc(a, 64 << 20, 64);
    large[(64 << 20) - 1] = 1;
    unsigned char *small = arena_alloc(a, 16, 16);
    small[15] = 2;
    assert_int_equal(large[(64 << 20) - 1], 1);
    arena_reset(a, mark);
    arena_destroy(a);
}

// The exit status of a child that calls `fn`; what it prints is dropped.
static int status_of(void (*fn)(void))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) {
            _exit(99);
        }
        fn();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static Arena *volatile asked; // in reach until the process ends: a leak would change its status

static void ask_for_a_product_that_wraps(void)
{
    asked = arena_create();
    (void)arena_array(asked, SIZE_MAX / 2 + 2, 2, 1);
}

static void ask_for_everything(void)
{
    asked = arena_create();
    (void)arena_alloc(asked, SIZE_MAX, 1);
}

static void ask_for_more_than_there_is(void)
{
    asked = arena_create();
    (void)arena_alloc(asked, PTRDIFF_MAX - 4096, 1);
}

static void ask_for_little(void)
{
    asked = arena_create();
    (void)arena_alloc(asked, 1, 1);
}

static void test_what_cannot_be_had_ends_the_process(void **state)
{
    (void)state;
    assert_int_equal(status_of(ask_for_little), 0);
    assert_int_equal(status_of(ask_for_a_product_that_wraps), 3);
    assert_int_equal(status_of(ask_for_everything), 3);
    assert_int_equal(status_of(ask_for_more_than_there_is), 3);
}

static void test_vectors_grow_and_keep(void **state)
{
    (void)state;
    Arena *a = arena_create();
    VEC(int64_t) v = {0};
    for (int64_t i = 0; i < 100000; i++) {
        vec_push(a, &v, i * i);
        assert_true(v.n <= v.cap);
    }
    assert_int_equal(v.n, 100000);
    for (size_t i = 0; i < v.n; i++) {
        assert_int_equal(v.items[i], (int64_t)(i * i));
    }
    arena_destroy(a);
}

static void test_a_pushed_value_may_come_from_the_vector(void **state)
{
    (void)state;
    Arena *a = arena_create();
    VEC(int) v = {0};
    vec_push(a, &v, 5);
    for (int i = 0; i < 20; i++) {
        vec_push(a, &v, v.items[0] + i);
    }
    assert_int_equal(v.items[20], 24);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(test_nothing_has_an_address),
        cmocka_unit_test(test_memory_in_second_use_is_zeroed),
        cmocka_unit_test(test_a_mark_of_an_empty_arena_empties_it),
        cmocka_unit_test(test_large_allocations_get_blocks_of_their_own),
        cmocka_unit_test(test_what_cannot_be_had_ends_the_process),
        cmocka_unit_test(test_vectors_grow_and_keep),
        cmocka_unit_test(test_a_pushed_value_may_come_from_the_vector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
