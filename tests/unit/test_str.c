// Text: slices, numbers without the locale, names alike, growing buffers.
#include "base/str.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static Arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = arena_create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_destroy(arena);
    return 0;
}

static void assert_text(Str got, const char *expected)
{
    assert_string_equal(str_cstr(arena, got), expected);
}

static void test_slices_compare_by_bytes(void **state)
{
    (void)state;
    assert_true(str_equal(STR(""), (Str){NULL, 0}));
    assert_true(str_equal(str_from("seq"), STR("seq")));
    assert_false(str_equal(STR("seq"), STR("se")));
    assert_false(str_equal(STR("a\0b"), STR("a\0c")));
    assert_true(str_compare(STR("a"), STR("b")) < 0);
    assert_true(str_compare(STR("b"), STR("a")) > 0);
    assert_true(str_compare(STR("a"), STR("ab")) < 0);
    assert_true(str_compare(STR("ab"), STR("a")) > 0);
    assert_true(str_compare(STR("z"), STR("\xc3\xa9")) < 0);
    assert_int_equal(str_compare(STR(""), (Str){NULL, 0}), 0);
    assert_true(str_starts(STR("std/bert.slu"), STR("std/")));
    assert_true(str_starts(STR("x"), STR("")));
    assert_false(str_starts(STR("st"), STR("std")));
    assert_true(str_ends(STR("std/bert.slu"), STR(".slu")));
    assert_true(str_ends((Str){NULL, 0}, STR("")));
    assert_false(str_ends(STR("slu"), STR(".slu")));
}

static void test_hashes_are_xxh3(void **state)
{
    (void)state;
    // What XXH3_64bits gives for no bytes at all, from its specification.
    assert_true(str_hash((Str){NULL, 0}) == 0x2d06800538d394c2U);
    assert_true(str_hash(STR("a")) != str_hash(STR("b")));
}

static void test_copies_are_apart_and_terminated(void **state)
{
    (void)state;
    char text[] = "abc";
    Str copy = str_copy(arena, (Str){text, 2});
    text[0] = 'x';
    assert_text(copy, "ab");
    assert_int_equal(copy.ptr[2], 0);
    assert_string_equal(str_cstr(arena, (Str){NULL, 0}), "");
    assert_text(str_format(arena, "%s[%d]", "blocks", 3), "blocks[3]");
    assert_text(str_format(arena, "%s", ""), "");
}

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0", 0},
        {"-0", 0},
        {"007", 7},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"-1", -1},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t n = 99;
        assert_true(str_to_int(str_from(good[i].text), &n));
        assert_true(n == good[i].value);
    }
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1_0",
                                      "0x10",
                                      "1.0",
                                      "1e3",
                                      "9223372036854775808",
                                      "--1",
                                      "-9223372036854775809",
                                      "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t n = 99;
        assert_false(str_to_int(str_from(bad[i]), &n));
        assert_int_equal(n, 99);
    }
    int64_t n = 0;
    assert_false(str_to_int(STR("1\0"), &n));
    assert_true(str_to_int((Str){"1234", 2}, &n));
    assert_int_equal(n, 12);
}

static void check_numbers(void)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"1", 1.0},
        {".5", 0.5},
        {"1.", 1.0},
        {"1e-5", 1e-5},
        {"1.0E-05", 1e-5},
        {"-2.5e+3", -2500.0},
        {"0.1", 0.1},
        {"1e-400", 0.0},
        {"4.9e-324", 4.9406564584124654e-324},
        {"-0.0", -0.0},
        {"1.7976931348623157e308", DBL_MAX},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double x = 99;
        assert_true(str_to_double(str_from(good[i].text), &x));
        assert_memory_equal(&x, &good[i].value, sizeof x);
    }
    static const char *const bad[] = {
        "",    ".",  "-",  "e5", "1e",    "1e+",      "1_0",   "0x1p-17", "nan", "inf",  "-inf",
        "1,5", " 1", "1 ", "+1", "1.5.2", "infinity", "1e5.0", "1e309",   "1f",  "1.0f",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double x = 99;
        assert_false(str_to_double(str_from(bad[i]), &x));
        assert_true(x == 99);
    }
    double x = 0;
    assert_true(str_to_double((Str){"1.25e5", 4}, &x));
    assert_true(x == 1.25);
}

static void check_printed_numbers(void)
{
    static const struct {
        double value;
        const char *text;
    } pairs[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-768.0, "-768.0"},
        {0.1, "0.1"},
        {1e-5, "1e-5"},
        {1e22, "1e22"},
        {123456.75, "123456.75"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e308"},
        {0.1 + 0.2, "0.30000000000000004"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {(double)NAN, "nan"},
        {(double)INFINITY, "inf"},
        {-(double)INFINITY, "-inf"},
        {1e100, "1e100"},
        {1.5e-10, "1.5e-10"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        Buf buf = {.arena = arena};
        buf_double(&buf, pairs[i].value);
        assert_text(buf_str(&buf), pairs[i].text);
    }
    assert_text(str_format(arena, "%.2f", 1.5), "1.50");
}

static void test_numbers_are_read(void **state)
{
    (void)state;
    check_numbers();
}

static void test_long_numbers_are_read(void **state)
{
    (void)state;
    char text[2000];
    memset(text, '0', sizeof text);
    text[0] = '1';
    memcpy(text + sizeof text - 6, "e-1993", 6);
    double x = 0;
    assert_true(str_to_double((Str){text, sizeof text}, &x)); // 1 and 1993 zeros, shifted back
    assert_true(x == 1.0);
}

static void test_numbers_are_printed_short(void **state)
{
    (void)state;
    check_printed_numbers();
}

static void test_any_double_reads_back(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (size_t i = 0; i < 20000; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        uint64_t bits = seed ^ seed >> 31;
        double x = 0;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) {
            continue;
        }
        Buf buf = {.arena = arena};
        buf_double(&buf, x);
        assert_non_null(strpbrk(buf.ptr, ".e"));
        double back = 0;
        assert_true(str_to_double(buf_str(&buf), &back));
        assert_memory_equal(&back, &x, sizeof x);
    }
}

// Makes a locale with a decimal comma in a folder of its own, as few machines have one installed.
static bool set_comma_locale(void)
{
    static char folder[] = "/tmp/sluice-locale-XXXXXX";
    if (!mkdtemp(folder)) {
        return false;
    }
    char command[200];
    (void)snprintf(command, sizeof command,
                   "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    int status = system(command); // NOLINT: a fixed command
    setenv("LOCPATH", folder, 1);
    bool is_set = status == 0 && setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && is_set; // NOLINT: a fixed command
}

static void test_the_locale_does_not_matter(void **state)
{
    (void)state;
    if (!set_comma_locale()) {
        print_message("no locale with a decimal comma can be made here\n");
        skip();
    }
    char text[16];
    (void)snprintf(text, sizeof text, "%.1f", 1.5);
    assert_string_equal(text, "1,5"); // else this test tests nothing
    check_numbers();
    check_printed_numbers();
    (void)snprintf(text, sizeof text, "%.1f", 1.5);
    assert_string_equal(text, "1,5"); // the host's locale is still there
    setlocale(LC_ALL, "C");
}

static void test_the_nearest_name(void **state)
{
    (void)state;
    const Str names[] = {STR("layer_norm"), STR("layers"), STR("dense"), STR("softmax")};
    size_t n = sizeof names / sizeof *names;
    assert_text(str_nearest(STR("layer_nrom"), names, n), "layer_norm");
    assert_text(str_nearest(STR("layernorm"), names, n), "layer_norm");
    assert_text(str_nearest(STR("dens"), names, n), "dense");
    assert_text(str_nearest(STR("sotfmax"), names, n), "softmax");
    assert_text(str_nearest(STR("dense"), names, n), "dense");
    assert_text(str_nearest(STR("conv"), names, n), "");
    assert_text(str_nearest(STR("ab"), names, n), "");
    assert_text(str_nearest(STR(""), names, n), "");
    assert_text(str_nearest(STR("x"), NULL, 0), "");
    const Str alike[] = {STR("ffn1"), STR("ffn2")};
    assert_text(str_nearest(STR("ffn3"), alike, 2), "ffn1"); // the first of equals
    char longest[70];
    memset(longest, 'a', sizeof longest);
    Str name = {longest, 64};
    assert_int_equal(str_nearest((Str){longest, 60}, &name, 1).len, 64);
    assert_int_equal(str_nearest((Str){longest, 65}, &name, 1).len, 0);
}

static void test_identifiers(void **state)
{
    (void)state;
    assert_true(str_is_identifier(STR("x")));
    assert_true(str_is_identifier(STR("_aZ09")));
    assert_false(str_is_identifier(STR("")));
    assert_false(str_is_identifier(STR("9x")));
    assert_false(str_is_identifier(STR("a.b")));
    assert_false(str_is_identifier(STR("\xc3\xa9")));
}

static void test_hints(void **state)
{
    (void)state;
    const Str names[] = {STR("dense"), STR("softmax")};
    assert_text(str_hint(arena, STR("dens"), names, 2), "; did you mean `dense`?");
    assert_text(str_hint(arena, STR("conv"), names, 2), "");
}

static void test_buffers_grow(void **state)
{
    (void)state;
    Buf buf = {.arena = arena};
    assert_int_equal(buf_str(&buf).len, 0);
    for (int i = 0; i < 3000; i++) {
        buf_char(&buf, (char)('a' + i % 26));
        buf_format(&buf, "%d,", i);
        buf_add(&buf, STR("--"));
    }
    assert_int_equal(strlen(buf.ptr), buf.len);
    assert_true(str_starts(buf_str(&buf), STR("a0,--b1,--c2,--")));
    assert_true(str_ends(buf_str(&buf), STR("j2999,--")));
    Buf wide = {.arena = arena};
    buf_format(&wide, "%100000d|%s", 7, "end");
    assert_int_equal(wide.len, 100004);
    assert_true(str_ends(buf_str(&wide), STR("7|end")));
    // A format whose text just fits, and one that just does not.
    for (int width = 60; width < 70; width++) {
        Buf edge = {.arena = arena};
        buf_format(&edge, "%*d", width, 1);
        assert_int_equal(edge.len, width);
        assert_int_equal(strlen(edge.ptr), width);
    }
}

static void test_quoting(void **state)
{
    (void)state;
    Buf buf = {.arena = arena};
    buf_quoted(&buf, STR("a\"b\\c\n\t\x1b\xc3\xa9"));
    assert_text(buf_str(&buf), "\"a\\\"b\\\\c\\n\\x09\\x1b\xc3\xa9\"");
    Buf empty = {.arena = arena};
    buf_quoted(&empty, (Str){NULL, 0});
    assert_text(buf_str(&empty), "\"\"");
}

static void test_words_of_a_shell(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"a-b_1.so", "a-b_1.so"},
        {"--set", "--set"},
        {"x=1,2", "x=1,2"},
        {"", "''"},
        {"a b", "'a b'"},
        {"$HOME", "'$HOME'"},
        {"it's", "'it'\\''s'"},
        {"\xc3\xa4", "'\xc3\xa4'"},
        {"*", "'*'"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        Buf buf = {.arena = arena};
        buf_word(&buf, str_from(words[i][0]));
        assert_text(buf_str(&buf), words[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_compare_by_bytes),
        cmocka_unit_test(test_hashes_are_xxh3),
        cmocka_unit_test(test_copies_are_apart_and_terminated),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_numbers_are_read),
        cmocka_unit_test(test_long_numbers_are_read),
        cmocka_unit_test(test_numbers_are_printed_short),
        cmocka_unit_test(test_any_double_reads_back),
        cmocka_unit_test(test_the_locale_does_not_matter),
        cmocka_unit_test(test_the_nearest_name),
        cmocka_unit_test(test_identifiers),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_buffers_grow),
        cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_words_of_a_shell),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
