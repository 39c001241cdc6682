// Element types: which the format knows, and their values, known from the formats' definitions.
#include "io/safetensors.h"

#include "said.h"
#include "st_bytes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// ---- element types ----

static void test_types(void **state)
{
    Env *env = *state;
    static const struct {
        const char *dtype;
        size_t bytes; // of 8 elements
    } known[] = {
        {"F64", 64},    {"F32", 32},    {"F16", 16},        {"BF16", 16},       {"I64", 64},
        {"I32", 32},    {"I16", 16},    {"I8", 8},          {"U64", 64},        {"U32", 32},
        {"U16", 16},    {"U8", 8},      {"BOOL", 8},        {"C64", 64},        {"F8_E4M3", 8},
        {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6},
        {"F6_E3M2", 6}, {"F4", 4},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        for (size_t extra = 0; extra < 2; extra++) {
            size_t bytes = known[i].bytes + extra;
            Str header = str_format(
                env->arena, "{\"a\":{\"dtype\":\"%s\",\"shape\":[2,4],\"data_offsets\":[0,%zu]}}",
                known[i].dtype, bytes);
            if (extra == 0) {
                assert_accepted(env, header.ptr, bytes, 1);
            } else {
                assert_refused(env, header.ptr, bytes, "8 elements of ");
            }
        }
    }
    // Nothing is guessed of a type that the format does not know.
    assert_accepted(env, "{\"a\":{\"dtype\":\"X9\",\"shape\":[2],\"data_offsets\":[0,7]}}", 7, 1);
    assert_accepted(env, "{\"a\":{\"dtype\":\"f32\",\"shape\":[2],\"data_offsets\":[0,7]}}", 7, 1);
}

static void test_unsupported_only_when_used(void **state)
{
    Env *env = *state;
    static const char *const dtypes[] = {"F8_E4M3", "X9", "F4", "C64", "F8_E8M0"};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        Str header = str_format(env->arena,
                                "{\"t\":{\"dtype\":\"%s\",\"shape\":[8],\"data_offsets\":[0,%d]}}",
                                dtypes[i],
                                i == 2   ? 4
                                : i == 3 ? 64
                                         : 8);
        Bytes bytes = make_file(header, (uint8_t[64]){0}, i == 2 ? 4 : i == 3 ? 64 : 8);
        StFile *file = open_bytes(env, bytes);
        assert_non_null(file);
        assert_int_equal(diag_nerrors(env->dx), i * 4);
        double out[8];
        Str says = str_format(
            env->arena, "w.safetensors: dtype %s of tensor \"t\" is not supported", dtypes[i]);
        assert_false(st_read_f32(env->dx, file, file->tensors, (float *)out));
        assert_says(env->dx, says.ptr);
        assert_false(st_read_f64(env->dx, file, file->tensors, out));
        assert_says(env->dx, says.ptr);
        assert_false(st_read_i32(env->dx, file, file->tensors, (int32_t *)out));
        assert_says(env->dx, says.ptr);
        assert_false(st_read_bool(env->dx, file, file->tensors, (uint8_t *)out));
        assert_says(env->dx, says.ptr);
        free(bytes.data);
    }
}

// A file of one tensor of n elements whose bytes are `data`.
static StFile *one_tensor(Env *env, Bytes *bytes, const char *dtype, size_t n, const void *data,
                          size_t data_bytes)
{
    Str header = str_format(env->arena,
                            "{\"t\":{\"dtype\":\"%s\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}",
                            dtype, n, data_bytes);
    *bytes = make_file(header, data, data_bytes);
    StFile *file = open_bytes(env, *bytes);
    assert_non_null(file);
    return file;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void test_halves(void **state)
{
    Env *env = *state;
    // From IEEE 754: 1, -2, largest, least normal, largest and least subnormal, zeros, inf, NaN.
    static const uint16_t halves[] = {0x3c00, 0xc000, 0x7bff, 0x0400, 0x03ff, 0x0001, 0x8001,
                                      0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x3555, 0x0200};
    static const float values[] = {1,         -2,        65504,       0x1p-14f, 0x1.ff8p-15f,
                                   0x1p-24f,  -0x1p-24f, 0,           -0.0f,    INFINITY,
                                   -INFINITY, NAN,       0x1.554p-2f, 0x1p-15f};
    enum { N = sizeof halves / sizeof halves[0] };
    Bytes bytes;
    StFile *file = one_tensor(env, &bytes, "F16", N, halves, sizeof halves);
    float out[N];
    double wide[N];
    assert_true(st_read_f32(env->dx, file, file->tensors, out));
    assert_true(st_read_f64(env->dx, file, file->tensors, wide));
    for (size_t i = 0; i < N; i++) {
        if (isnan(values[i])) {
            assert_true(isnan(out[i]) && isnan(wide[i]));
        } else {
            assert_int_equal(bits_of(out[i]), bits_of(values[i]));
            assert_true(wide[i] == (double)values[i]);
        }
    }
    free(bytes.data);
}

static void test_bfloats(void **state)
{
    Env *env = *state;
    static const uint16_t data[] = {0x3f80, 0xc000, 0x0001, 0x8000, 0x7f80, 0x7fc0, 0x4049};
    static const uint32_t bits[] = {0x3f800000, 0xc0000000, 0x00010000, 0x80000000,
                                    0x7f800000, 0x7fc00000, 0x40490000};
    enum { N = sizeof data / sizeof data[0] };
    Bytes bytes;
    StFile *file = one_tensor(env, &bytes, "BF16", N, data, sizeof data);
    float out[N];
    double wide[N];
    assert_true(st_read_f32(env->dx, file, file->tensors, out));
    assert_true(st_read_f64(env->dx, file, file->tensors, wide));
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(bits_of(out[i]), bits[i]);
    }
    assert_true(wide[2] == 0x1p-133 && wide[6] == 3.140625);
    free(bytes.data);
}

static void test_wide_floats(void **state)
{
    Env *env = *state;
    static const double data[] = {0.1, -1e300, INFINITY, 0x1p-1074};
    Bytes bytes;
    StFile *file = one_tensor(env, &bytes, "F64", 4, data, sizeof data);
    double out[4];
    assert_true(st_read_f64(env->dx, file, file->tensors, out));
    assert_memory_equal(out, data, sizeof data);
    assert_false(st_read_f32(env->dx, file, file->tensors, (float *)out));
    assert_says(env->dx,
                "dtype F64 of tensor \"t\" is not supported here: it must be F32, F16 or BF16");
    free(bytes.data);
    static const float narrow[] = {0.1f, 0x1p-149f, -INFINITY};
    file = one_tensor(env, &bytes, "F32", 3, narrow, sizeof narrow);
    assert_true(st_read_f64(env->dx, file, file->tensors, out));
    assert_true(out[0] == (double)0.1f && out[1] == 0x1p-149 && out[2] == -INFINITY);
    free(bytes.data);
}

static void test_integers(void **state)
{
    Env *env = *state;
    static const int8_t i8[] = {-128, -1, 0, 127};
    static const uint8_t u8[] = {0, 1, 128, 255};
    static const int16_t i16[] = {-32768, -1, 0, 32767};
    static const uint16_t u16[] = {0, 1, 32768, 65535};
    static const int32_t i32[] = {INT32_MIN, -1, 0, INT32_MAX};
    static const uint32_t u32[] = {0, 1, 2, INT32_MAX};
    static const int64_t i64[] = {INT32_MIN, -1, 0, INT32_MAX};
    static const uint64_t u64[] = {0, 1, 2, INT32_MAX};
    static const struct {
        const char *dtype;
        const void *data;
        size_t bytes;
        int32_t values[4];
    } cases[] = {
        {"I8", i8, sizeof i8, {-128, -1, 0, 127}},
        {"U8", u8, sizeof u8, {0, 1, 128, 255}},
        {"I16", i16, sizeof i16, {-32768, -1, 0, 32767}},
        {"U16", u16, sizeof u16, {0, 1, 32768, 65535}},
        {"I32", i32, sizeof i32, {INT32_MIN, -1, 0, INT32_MAX}},
        {"U32", u32, sizeof u32, {0, 1, 2, INT32_MAX}},
        {"I64", i64, sizeof i64, {INT32_MIN, -1, 0, INT32_MAX}},
        {"U64", u64, sizeof u64, {0, 1, 2, INT32_MAX}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Bytes bytes;
        StFile *file = one_tensor(env, &bytes, cases[i].dtype, 4, cases[i].data, cases[i].bytes);
        int32_t out[4];
        assert_true(st_read_i32(env->dx, file, file->tensors, out));
        assert_memory_equal(out, cases[i].values, sizeof out);
        free(bytes.data);
    }
}

static void test_integers_out_of_range(void **state)
{
    Env *env = *state;
    static const int64_t high[] = {5, 2147483648};
    static const int64_t low[] = {5, -2147483649};
    static const uint64_t huge[] = {5, UINT64_MAX};
    static const uint32_t u32[] = {5, 4294967295};
    static const struct {
        const char *dtype;
        const void *data;
        size_t bytes;
        const char *says;
    } cases[] = {
        {"I64", high, sizeof high, "tensor \"t\": element 1 is 2147483648, but must lie in"},
        {"I64", low, sizeof low, "element 1 is -2147483649, but must lie in -2147483648 .. 2147"},
        {"U64", huge, sizeof huge, "element 1 is 18446744073709551615, but"},
        {"U32", u32, sizeof u32, "element 1 is 4294967295, but"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Bytes bytes;
        StFile *file = one_tensor(env, &bytes, cases[i].dtype, 2, cases[i].data, cases[i].bytes);
        int32_t out[2];
        assert_false(st_read_i32(env->dx, file, file->tensors, out));
        assert_says(env->dx, cases[i].says);
        free(bytes.data);
    }
    Bytes bytes;
    StFile *file = one_tensor(env, &bytes, "BOOL", 2, "\0\1", 2);
    int32_t out[2];
    assert_false(st_read_i32(env->dx, file, file->tensors, out));
    assert_says(env->dx, "dtype BOOL of tensor \"t\" is not supported here");
    free(bytes.data);
}

static void test_bools(void **state)
{
    Env *env = *state;
    uint8_t out[3];
    Bytes bytes;
    StFile *file = one_tensor(env, &bytes, "BOOL", 3, "\0\1\xff", 3);
    assert_true(st_read_bool(env->dx, file, file->tensors, out));
    assert_memory_equal(out, "\0\1\1", 3);
    free(bytes.data);
    static const int64_t wide[] = {1, 0, 1};
    file = one_tensor(env, &bytes, "I64", 3, wide, sizeof wide);
    assert_true(st_read_bool(env->dx, file, file->tensors, out));
    assert_memory_equal(out, "\1\0\1", 3);
    free(bytes.data);
    file = one_tensor(env, &bytes, "I8", 3, "\0\1\xff", 3);
    assert_false(st_read_bool(env->dx, file, file->tensors, out));
    assert_says(env->dx, "element 2 is -1, but must lie in 0 .. 1");
    free(bytes.data);
    file = one_tensor(env, &bytes, "F16", 1, "\0\0", 2);
    assert_false(st_read_bool(env->dx, file, file->tensors, out));
    assert_says(env->dx, "it must be BOOL or of whole numbers 0 and 1");
    free(bytes.data);
}

// Data at every address mod 64, also of 8-byte elements.
static void test_alignment(void **state)
{
    Env *env = *state;
    static const char json[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                               "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[1,9]},"
                               "\"c\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[9,17]},"
                               "\"d\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[17,19]}}";
    uint8_t data[19] = {7};
    memcpy(data + 1, (float[]){1.5f, -2.5f}, 8);
    memcpy(data + 9, (int64_t[]){-3}, 8);
    memcpy(data + 17, (uint16_t[]){0x3c00}, 2);
    for (size_t padding = 0; padding < 64; padding++) {
        char header[sizeof json + 64];
        memcpy(header, json, sizeof json - 1);
        memset(header + sizeof json - 1, ' ', padding);
        Bytes bytes = make_file((Str){header, sizeof json - 1 + padding}, data, sizeof data);
        StFile *file = open_bytes(env, bytes);
        assert_non_null(file);
        float b[2];
        int32_t c = 0;
        float d = 0;
        assert_true(st_read_f32(env->dx, file, st_find(file, STR("b")), b));
        assert_true(st_read_i32(env->dx, file, st_find(file, STR("c")), &c));
        assert_true(st_read_f32(env->dx, file, st_find(file, STR("d")), &d));
        assert_true(b[0] == 1.5f && b[1] == -2.5f && c == -3 && d == 1);
        free(bytes.data);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, env_set_up, env_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_types),
        TEST(test_unsupported_only_when_used),
        TEST(test_halves),
        TEST(test_bfloats),
        TEST(test_wide_floats),
        TEST(test_integers),
        TEST(test_integers_out_of_range),
        TEST(test_bools),
        TEST(test_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
