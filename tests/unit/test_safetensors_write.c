// The writer of safetensors against the reader and against bytes; the reader on real files.
#define _XOPEN_SOURCE 700 // NOLINT: mkdtemp
#include "io/safetensors.h"

#include "said.h"
#include "st_bytes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

// ---- writing ----

static char dir[64];

static void test_round_trip(void **state)
{
    Env *env = *state;
    const char *path = str_format(env->arena, "%s/out.safetensors", dir).ptr;
    static const int64_t shapes[] = {3, 2, 0, 5};
    static const uint8_t flags[3] = {0, 1, 1};
    static const float numbers[6] = {1, 2, 3, 4, 5, NAN};
    static const int64_t wide[1] = {-7};
    const StItem items[] = {
        {.name = STR("flags"), .dtype = DT_bool, .rank = 1, .shape = shapes, .data = flags},
        {.name = STR("a \"b\"\n\xc3\xa4"),
         .dtype = DT_f32,
         .rank = 2,
         .shape = shapes,
         .data = numbers},
        {.name = STR("none"), .dtype = DT_f32, .rank = 2, .shape = shapes + 2},
        {.name = STR("one"), .dtype = DT_i64, .rank = 0, .data = wide},
    };
    assert_true(st_write(env->arena, env->dx, path, items, 4));
    StFile *file = st_open(env->arena, env->dx, path);
    assert_non_null(file);
    assert_int_equal(file->n, 4);
    for (size_t i = 0; i < 4; i++) {
        const StTensor *t = st_find(file, items[i].name);
        assert_non_null(t);
        assert_string_equal(t->dtype.ptr, dtype_file_name(items[i].dtype));
        assert_int_equal(t->rank, items[i].rank);
        for (size_t k = 0; k < t->rank; k++) {
            assert_int_equal(t->shape[k], items[i].shape[k]);
        }
        if (t->bytes > 0) {
            assert_memory_equal(t->data, items[i].data, t->bytes);
        }
        assert_int_equal((uintptr_t)t->data % dtype_bytes(items[i].dtype), 0);
    }
    st_close(file);
    assert_int_equal(diag_nerrors(env->dx), 0);
    unlink(path);
}

static void test_written_bytes(void **state)
{
    Env *env = *state;
    const char *path = str_format(env->arena, "%s/out.safetensors", dir).ptr;
    static const int64_t shape[] = {2};
    static const int32_t data[] = {1, -1};
    const StItem item = {
        .name = STR("x"), .dtype = DT_i32, .rank = 1, .shape = shape, .data = data};
    assert_true(st_write(env->arena, env->dx, path, &item, 1));
    static const char expected[] =
        "\x38\0\0\0\0\0\0\0{\"x\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[0,8]}}  "
        "\1\0\0\0\xff\xff\xff\xff";
    Str got;
    assert_true(file_read(env->arena, env->dx, path, 1000, &got));
    assert_int_equal(got.len, sizeof expected - 1);
    assert_memory_equal(got.ptr, expected, got.len);
    assert_true(st_write(env->arena, env->dx, path, NULL, 0));
    assert_true(file_read(env->arena, env->dx, path, 1000, &got));
    assert_memory_equal(got.ptr, "\x08\0\0\0\0\0\0\0{}      ", 16);
    assert_int_equal(got.len, 16);
    unlink(path);
}

static void test_refused_writes(void **state)
{
    Env *env = *state;
    const char *path = str_format(env->arena, "%s/out.safetensors", dir).ptr;
    static const int64_t shape[] = {2, INT64_MAX};
    static const int32_t data[] = {1, -1};
    StItem items[] = {
        {.name = STR("x"), .dtype = DT_i32, .rank = 1, .shape = shape, .data = data},
        {.name = STR("x"), .dtype = DT_i32, .rank = 1, .shape = shape, .data = data},
    };
    assert_false(st_write(env->arena, env->dx, path, items, 2));
    assert_says(env->dx, "tensor \"x\" cannot be written: duplicate tensor name");
    items[1].name = STR("__metadata__");
    assert_false(st_write(env->arena, env->dx, path, items, 2));
    assert_says(env->dx, "the format keeps that name");
    items[1].name = STR("\xff");
    assert_false(st_write(env->arena, env->dx, path, items, 2));
    assert_says(env->dx, "its name is no UTF-8");
    items[1].name = STR("y");
    items[1].rank = 2;
    assert_false(st_write(env->arena, env->dx, path, items, 2));
    assert_says(env->dx, "its size overflows 64 bits");
    assert_int_equal(access(path, F_OK), -1);
    assert_false(st_write(env->arena, env->dx, "/dev/full", items, 1));
    assert_says(env->dx, "No space left on device");
}

static void test_open(void **state)
{
    Env *env = *state;
    assert_null(st_open(env->arena, env->dx, dir));
    assert_says(env->dx, "Is a directory");
    const char *path = str_format(env->arena, "%s/empty", dir).ptr;
    assert_true(file_write_text(env->dx, path, STR("")));
    assert_null(st_open(env->arena, env->dx, path));
    assert_says(env->dx, "/empty: no safetensors file: it has 0 bytes");
    unlink(path);
    assert_null(st_open(env->arena, env->dx, path));
    assert_says(env->dx, "/empty: No such file or directory");
}

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/sluice-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, env_set_up, env_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_written_bytes),
        TEST(test_refused_writes),
        TEST(test_open),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
