// The reader of safetensors against files spelt out byte by byte, one fault each.
#include "io/safetensors.h"

#include "said.h"
#include "st_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define A4(more) "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}" more "}"

// ---- headers ----

static void test_plain(void **state)
{
    Env *env = *state;
    const float values[6] = {1, 2, 3, 4, 5, 6};
    Bytes bytes =
        make_file(STR("{\"b\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[8,24]},\n"
                      "\t\"a\" : {\"data_offsets\":[0, 8], \"shape\":[2], \"dtype\":\"F32\"}}  \n"),
                  values, sizeof values);
    StFile *file = open_bytes(env, bytes);
    assert_non_null(file);
    assert_int_equal(file->n, 2);
    const StTensor *a = st_find(file, STR("a"));
    const StTensor *b = st_find(file, STR("b"));
    assert_null(st_find(file, STR("c")));
    assert_ptr_equal(b, &file->tensors[0]);
    assert_int_equal(a->rank, 1);
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->shape[0], 2);
    assert_int_equal(b->shape[1], 2);
    assert_int_equal(b->count, 4);
    assert_int_equal(b->bytes, 16);
    float got[4];
    assert_true(st_read_f32(env->dx, file, b, got));
    assert_memory_equal(got, values + 2, sizeof got);
    assert_true(st_read_f32(env->dx, file, a, got));
    assert_memory_equal(got, values, 2 * sizeof *got);
    assert_int_equal(diag_nerrors(env->dx), 0);
    st_close(file);
    free(bytes.data);
}

static void test_lengths(void **state)
{
    Env *env = *state;
    static const struct {
        uint64_t length;
        size_t size;
        const char *says;
    } cases[] = {
        {0, 0, "no safetensors file: it has 0 bytes"},
        {0, 7, "no safetensors file: it has 7 bytes"},
        {0, 8, "its header of 0 bytes, in a file of 8"},
        {0, 9, "its header of 0 bytes, in a file of 9"},
        {2, 9, "the file ends 1 bytes early: its header has 2 bytes, in a file of 9"},
        {2, 64, "its header of 2 bytes, in a file of 64"},
        {64 - 8, 64, "its header of 56 bytes, in a file of 64"},
        {64 - 7, 64, "the file ends 1 bytes early: its header has 57 bytes, in a file of 64"},
        {1ULL << 31, 64, "its header would have 2147483648 bytes, in a file of 64"},
        {1ULL << 63, 64, "its header would have 9223372036854775808 bytes, in a file of 64"},
        {UINT64_MAX, 64, "its header would have 18446744073709551615 bytes, in a file of 64"},
        {100000001, 64, "its header would have 100000001 bytes, in a file of 64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *data = calloc(1, cases[i].size + 1);
        memcpy(data, &cases[i].length, cases[i].size < 8 ? cases[i].size : 8);
        data = realloc(data, cases[i].size > 0 ? cases[i].size : 1);
        assert_null(st_open_bytes(env->arena, env->dx, "x", data, cases[i].size));
        assert_says(env->dx, cases[i].says);
        free(data);
    }
    assert_accepted(env, "{}", 0, 0);
    assert_refused(env, "{}", 5, "5 bytes after the last tensor belong to none");
}

static void test_header_cap(void **state)
{
    Env *env = *state;
    // Untouched pages of zeros: only the length is read.
    size_t size = 100000001 + 8;
    uint8_t *data = calloc(1, size);
    uint64_t length = 100000001;
    memcpy(data, &length, 8);
    data[8] = '{';
    assert_null(st_open_bytes(env->arena, env->dx, "x", data, size));
    assert_says(env->dx, "its header has 100000001 bytes, but at most 100000000 are read");
    free(data);
}

static void test_syntax(void **state)
{
    Env *env = *state;
    static const char *const headers[] = {
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a",
        "{\"a\\",
        "{\"a\":}",
        "{\"a\":{",
        "{\"a\":[}",
        "{\"a\" \"b\"}",
        "{,}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[01],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}} {}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]} \"b\":1}",
        "{\"a\":{\"dtype\":\"F32\" /**/,\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"\\x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"\xff\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"\\ud800\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"a\":nul}",
        "{\"a\":[[[[[[[[[[[1]]]]]]]]]]]}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        assert_refused(env, headers[i], 4, "the header is no valid JSON: ");
    }
    static const char nul[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}\0";
    Bytes bytes = make_file((Str){nul, sizeof nul}, "\0\0\0\0", 4);
    assert_null(open_bytes(env, bytes));
    assert_says(env->dx, "more follows its end, at byte 54");
    free(bytes.data);
}

// jansson skips a NUL byte behind a number or a word: none may stand anywhere in a header.
static void test_nul_bytes(void **state)
{
    Env *env = *state;
    static const char good[] = "{\"__metadata__\":{\"k\":\"v\"},"
                               "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0, 4]}}";
    size_t length = sizeof good - 1;
    for (size_t i = 1; i <= length; i++) {
        char header[sizeof good];
        memcpy(header, good, i);
        header[i] = '\0';
        memcpy(header + i + 1, good + i, length - i);
        Bytes bytes = make_file((Str){header, length + 1}, "\0\0\0\0", 4);
        Diag *dx = diag_create(env->arena);
        if (st_open_bytes(env->arena, dx, "w.safetensors", bytes.data, bytes.size)) {
            fail_msg("accepted a NUL at byte %zu", i);
        }
        assert_says(dx, "the header is no valid JSON: ");
        free(bytes.data);
    }
}

static void test_depth(void **state)
{
    Env *env = *state;
    enum { DEEP = 200000 };
    char *header = malloc(DEEP + 8);
    strcpy(header, "{\"a\":");
    memset(header + 5, '[', DEEP);
    header[DEEP + 5] = '\0';
    assert_refused(env, header, 0, "values are nested too deep");
    free(header);
}

static void test_entries(void **state)
{
    Env *env = *state;
    static const struct {
        const char *entry;
        const char *says;
    } cases[] = {
        {"1", "its description is no object"},
        {"null", "its description is no object"},
        {"[]", "its description is no object"},
        {"{}", "it has no dtype"},
        {"{\"dtype\":\"F32\"}", "it has no shape"},
        {"{\"dtype\":\"F32\",\"shape\":[1]}", "it has no data_offsets"},
        {"{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,4]}", "its dtype is no string"},
        {"{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}", "its shape is no list"},
        {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":{}}", "its data_offsets is no list"},
        {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}", "not two whole numbers"},
        {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}", "not two whole numbers"},
        {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4.0]}", "not two whole numbers"},
        {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}", "-4, 0 are not in order"},
        {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}", "4, 0 are not in order"},
        {"{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}", "no whole number from 0"},
        {"{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}", "no whole number from 0"},
        {"{\"dtype\":\"F32\",\"shape\":[true],\"data_offsets\":[0,4]}", "no whole number from 0"},
        {"{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}",
         "2 elements of F32 take 8 bytes, but it has 4"},
        {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,0]}",
         "1 elements of F32 take 4 bytes, but it has 0"},
        {"{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,4]}",
         "0 elements of F32 take 0 bytes, but it has 4"},
        {"{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}", "do not fill whole bytes"},
        {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}", "it has keys besides"},
        {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"shape\":[1]}", "duplicate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Str header = str_format(env->arena, "{\"a\":%s}", cases[i].entry);
        assert_refused(env, header.ptr, 4, cases[i].says);
    }
}

static void test_overflow(void **state)
{
    Env *env = *state;
    static const struct {
        const char *shape;
        const char *says;
    } cases[] = {
        {"4294967296,4294967296", "the number of its elements overflows 64 bits"},
        {"9223372036854775808,2", "too big integer"},
        {"4611686018427387905,4", "the number of its elements overflows 64 bits"},
        {"0,9223372036854775808", "too big integer"},
        {"0,4611686018427387904,4", "the number of its elements overflows 64 bits"},
        {"4611686018427387904,4,0", "the number of its elements overflows 64 bits"},
        {"4611686018427387904", "the number of its bytes overflows 64 bits"},
        {"18446744073709551616", "too big integer"},
        {"1e3", "no whole number from 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Str header = str_format(env->arena,
                                "{\"a\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[0,0]}}",
                                cases[i].shape);
        assert_refused(env, header.ptr, 0, cases[i].says);
    }
    assert_refused(env,
                   "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],"
                   "\"data_offsets\":[9223372036854775803,9223372036854775807]}}",
                   4, "the file ends 9223372036854775803 bytes early");
}

static void test_duplicates(void **state)
{
    Env *env = *state;
    assert_refused(env, A4(",\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}"), 8,
                   "duplicate tensor name \"a\"");
    assert_refused(env, A4(",\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}"), 4,
                   "duplicate tensor name \"a\"");
    assert_refused(env, A4(",\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}"),
                   8, "duplicate tensor name \"a\"");
    assert_refused(env, "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "duplicate");
    // Not the same: one more byte, another case.
    assert_accepted(env,
                    A4(",\"A\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8]},"
                       "\"a\\u0000\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]}"),
                    12, 3);
}

static void test_ranges(void **state)
{
    Env *env = *state;
    assert_refused(env, A4(""), 3, "the file ends 1 bytes early: its tensors need 4 bytes, 3 are");
    assert_refused(env, A4(""), 0, "the file ends 4 bytes early");
    assert_refused(env, A4(""), 5, "1 bytes after the last tensor belong to none");
    assert_refused(env, A4(",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[3,7]}"), 7,
                   "tensor \"b\": its data overlaps that of \"a\"");
    assert_refused(env, A4(",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}"), 4,
                   "its data overlaps that of");
    assert_refused(env, A4(",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[5,9]}"), 9,
                   "tensor \"b\": 1 bytes before its data belong to no tensor");
    assert_refused(env, "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2,
                   "tensor \"a\": 1 bytes before its data");
    assert_refused(env, A4(",\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[2,2]}"), 4,
                   "overlaps");
}

static void test_empty_and_scalar(void **state)
{
    Env *env = *state;
    assert_accepted(env, A4(",\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]}"), 4,
                    2);
    assert_accepted(env, A4(",\"e\":{\"dtype\":\"F32\",\"shape\":[2,0],\"data_offsets\":[0,0]}"), 4,
                    2);
    assert_accepted(env, A4(",\"e\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[4,12]}"), 12,
                    2);
    assert_accepted(env, "{\"\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1, 1);
}

static void test_metadata(void **state)
{
    Env *env = *state;
    assert_accepted(env, A4(",\"__metadata__\":{}"), 4, 1);
    assert_accepted(env, A4(",\"__metadata__\":{\"format\":\"pt\", \"x\":\"\\u0000\"}"), 4, 1);
    assert_refused(env, A4(",\"__metadata__\":null"), 4, "__metadata__ is no object");
    assert_refused(env, A4(",\"__metadata__\":[]"), 4, "__metadata__ is no object");
    assert_refused(env, A4(",\"__metadata__\":\"\""), 4, "__metadata__ is no object");
    assert_refused(env, A4(",\"__metadata__\":{\"a\":1}"), 4, "no string for \"a\"");
    assert_refused(env, A4(",\"__metadata__\":{\"a\":null}"), 4, "no string for \"a\"");
    assert_refused(env, A4(",\"__metadata__\":{\"a\":{\"b\":\"c\"}}"), 4, "no string for \"a\"");
    assert_refused(env, A4(",\"__metadata__\":{\"a\":\"x\",\"\\u0061\":\"y\"}"), 4,
                   "duplicate key \"a\" in __metadata__");
    assert_refused(env, A4(",\"__metadata__\":{\"a\":\"\\q\"}"), 4, "the header is no valid JSON");
    assert_refused(env, A4(",\"__metadata__\":{\"a\":\"x\",}"), 4, "the header is no valid JSON");
    assert_accepted(
        env, "{\"__metadata__x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, 1);
    enum { LONG = 1 << 20 };
    char *text = malloc(LONG + 100);
    memcpy(text, "{\"__metadata__\":{\"a\":\"", 22);
    memset(text + 22, 'x', LONG);
    strcpy(text + 22 + LONG, "\"}}");
    assert_accepted(env, text, 0, 0);
    free(text);
}

static void test_long_names(void **state)
{
    Env *env = *state;
    enum { LONG = 1 << 20 };
    char *text = malloc(LONG + 200);
    strcpy(text, "{\"");
    memset(text + 2, 'n', LONG);
    strcpy(text + 2 + LONG, "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}");
    assert_accepted(env, text, 1, 1);
    strcpy(text + 2 + LONG, "\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,1]}}");
    Bytes bytes = make_file(str_from(text), "", 1);
    assert_null(open_bytes(env, bytes));
    char *text_said = said(env->dx);
    assert_true(strlen(text_said) < 500); // and not the whole name
    free(text_said);
    free(bytes.data);
    free(text);
}

static void test_long_entry(void **state)
{
    Env *env = *state;
    Buf header = {.arena = env->arena};
    buf_add(&header, STR("{\"a\":{\"dtype\":\"U8\",\"shape\":[1"));
    for (size_t i = 0; i < 40000; i++) {
        buf_add(&header, STR(",1"));
    }
    buf_add(&header, STR("],\"data_offsets\":[0,1]}}"));
    assert_refused(env, header.ptr, 1, "its description has 800");
}

static void test_other_files(void **state)
{
    Env *env = *state;
    static const struct {
        Str text;
        const char *says;
    } cases[] = {
        {{"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", 64}, "Git-LFS"},
        {{"<!DOCTYPE html><html>", 21}, "looks like an HTML page"},
        {{"\n <!doctype HTML>....", 21}, "looks like an HTML page"},
        {{"\xef\xbb\xbf<html>......", 16}, "looks like an HTML page"},
        {{"<html>", 6}, "looks like an HTML page"},
        {{"PK\003\004................", 20}, "looks like a zip archive (PyTorch .bin"},
        {{"\x80\x02}q\x00X............", 18}, "looks like a Python pickle"},
        {{"\x80\x04\x95............", 15}, "looks like a Python pickle"},
        {{"GGUF\x03\0\0\0....", 12}, "looks like a GGUF file"},
        {{"\x89HDF\r\n\x1a\n....", 12}, "looks like an HDF5 file"},
        {{"\x93NUMPY\x01\0....", 12}, "looks like a NumPy array"},
        {{"{\"weight_map\": {}}", 18}, "looks like JSON text"},
        {{"some other text of a file", 25}, "no safetensors file: its header would have"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *data = malloc(cases[i].text.len);
        memcpy(data, cases[i].text.ptr, cases[i].text.len);
        assert_null(st_open_bytes(env->arena, env->dx, "x", data, cases[i].text.len));
        assert_says(env->dx, cases[i].says);
        free(data);
    }
}

// A header of 640 bytes begins as a pickle does; such a file is ours, and its fault the real one.
static void test_no_pickle(void **state)
{
    Env *env = *state;
    char header[641];
    memset(header, ' ', 640);
    header[640] = '\0';
    memcpy(header, A4(""), strlen(A4("")));
    assert_accepted(env, header, 4, 1);
    assert_refused(env, header, 3, "the file ends 1 bytes early");
    Bytes bytes = make_file(str_from(header), "", 0);
    assert_null(st_open_bytes(env->arena, env->dx, "x", bytes.data, 600));
    assert_says(env->dx, "the file ends 48 bytes early: its header has 640 bytes");
    free(bytes.data);
}

static void test_many(void **state)
{
    Env *env = *state;
    enum { N = 200000 };
    Buf header = {.arena = env->arena};
    buf_char(&header, '{');
    for (int i = 0; i < N; i++) {
        buf_format(&header,
                   "%s\"model.layers.%d.weight\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":"
                   "[%d,%d]}",
                   i > 0 ? "," : "", i, N - 1 - i, N - i);
    }
    buf_char(&header, '}');
    uint8_t *data = malloc(N);
    for (int i = 0; i < N; i++) {
        data[i] = (uint8_t)i;
    }
    Bytes bytes = make_file(buf_str(&header), data, N);
    clock_t begin = clock();
    StFile *file = open_bytes(env, bytes);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    assert_non_null(file);
    assert_true(seconds < 60); // under valgrind too; a quadratic search would take minutes
    assert_int_equal(file->n, N);
    const StTensor *t = st_find(file, STR("model.layers.199990.weight"));
    assert_int_equal(*t->data, 9);
    free(bytes.data);
    free(data);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, env_set_up, env_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_plain),
        TEST(test_lengths),
        TEST(test_header_cap),
        TEST(test_syntax),
        TEST(test_nul_bytes),
        TEST(test_depth),
        TEST(test_entries),
        TEST(test_overflow),
        TEST(test_duplicates),
        TEST(test_ranges),
        TEST(test_empty_and_scalar),
        TEST(test_metadata),
        TEST(test_long_names),
        TEST(test_long_entry),
        TEST(test_other_files),
        TEST(test_no_pickle),
        TEST(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
