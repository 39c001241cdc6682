// Tokens: kinds, values, places, and each fault at its place.
#include "front/grammar.h"
#include "front/lexer.h"
#include "front/limits.h"

#include "front_text.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static Tokens lex(FrontText *t, const char *text)
{
    Tokens tokens = {0};
    assert_true(lex_source(t->arena, t->dx, front_text_source(t, text), &tokens));
    assert_int_equal(tokens.items[tokens.n - 1].kind, 0);
    return tokens;
}

// The kinds of the tokens of `text`, without the end.
static void check_kinds(const char *text, const int *kinds, size_t n)
{
    FrontText t = front_text_open();
    Tokens tokens = lex(&t, text);
    assert_int_equal(tokens.n, n + 1);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(tokens.items[i].kind, kinds[i]);
    front_text_close(&t);
}

#define CHECK_KINDS(text, ...)                                                                     \
    check_kinds((text), (const int[]){__VA_ARGS__}, sizeof(const int[]){__VA_ARGS__} / sizeof(int))

static void test_kinds(void **state)
{
    (void)state;
    CHECK_KINDS("x = a ** 2 * -b", TK_NAME, TK_ASSIGN, TK_NAME, TK_POW, TK_INT, TK_STAR, TK_MINUS,
                TK_NAME);
    CHECK_KINDS("a == b != c <= d >= e < f > g", TK_NAME, TK_EQ, TK_NAME, TK_NE, TK_NAME, TK_LE,
                TK_NAME, TK_GE, TK_NAME, TK_LT, TK_NAME, TK_GT, TK_NAME);
    CHECK_KINDS("model block family let use", TK_MODEL, TK_BLOCK, TK_FAMILY, TK_LET, TK_USE);
    CHECK_KINDS("input output param for in if", TK_INPUT, TK_OUTPUT, TK_PARAM, TK_FOR, TK_IN,
                TK_IF);
    CHECK_KINDS("then else check return shared new", TK_THEN, TK_ELSE, TK_CHECK, TK_RETURN,
                TK_SHARED, TK_NEW);
    CHECK_KINDS("true false and or not", TK_TRUE, TK_FALSE, TK_AND, TK_OR, TK_NOT);
    CHECK_KINDS("Model models _in in_", TK_NAME, TK_NAME, TK_NAME, TK_NAME);
    CHECK_KINDS("(){}[],:.@%/+", TK_LP, TK_RP, TK_LC, TK_RC, TK_LB, TK_RB, TK_COMMA, TK_COLON,
                TK_DOT, TK_AT, TK_PERCENT, TK_SLASH, TK_PLUS);
}

static void test_paths(void **state)
{
    (void)state;
    // After `.` and `as` a word is a name, whatever it looks like.
    CHECK_KINDS("f(x) as output.dense", TK_NAME, TK_LP, TK_NAME, TK_RP, TK_AS, TK_NAME, TK_DOT,
                TK_NAME);
    CHECK_KINDS("as model as B2 x.in x.H8 x.as", TK_AS, TK_NAME, TK_AS, TK_NAME, TK_NAME, TK_DOT,
                TK_NAME, TK_NAME, TK_DOT, TK_NAME, TK_NAME, TK_DOT, TK_NAME);
    CHECK_KINDS("B2H8 B BH B_2", TK_LAYOUT, TK_NAME, TK_NAME, TK_NAME);
}

static void test_numbers(void **state)
{
    (void)state;
    // The same double, however it is written.
    static const struct {
        const char *text;
        double value;
    } floats[] = {
        {"1e-5", 1e-5},  {"1.e-5", 1e-5}, {"1.0E-05", 1e-5}, {".00001", 1e-5},
        {".5", 0.5},     {"1.", 1.0},     {"0.1", 0.1},      {"3.4e38", 3.4e38},
        {"1E+2", 100.0}, {"2.5e0", 2.5},  {"1e-400", 0.0},   {"1e308", 1e308},
    };
    FrontText t = front_text_open();
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        Tokens tokens = lex(&t, floats[i].text);
        assert_int_equal(tokens.n, 2);
        assert_int_equal(tokens.items[0].kind, TK_FLOAT);
        assert_memory_equal(&tokens.items[0].real, &floats[i].value, sizeof(double));
    }
    Tokens tokens = lex(&t, "9223372036854775807 007 0");
    assert_int_equal(tokens.items[0].integer, INT64_MAX);
    assert_int_equal(tokens.items[1].integer, 7);
    assert_int_equal(tokens.items[2].integer, 0);
    front_text_close(&t);
    CHECK_KINDS("0..3", TK_INT, TK_DOTDOT, TK_INT);
    CHECK_KINDS("0 .. .5", TK_INT, TK_DOTDOT, TK_FLOAT);
    CHECK_KINDS("x[1:-1]", TK_NAME, TK_LB, TK_INT, TK_COLON, TK_MINUS, TK_INT, TK_RB);
}

static void test_locale(void **state)
{
    (void)state;
    // Where a comma is the decimal sign; without that locale installed, the C locale stays.
    setlocale(LC_ALL, "de_DE.UTF-8");
    FrontText t = front_text_open();
    assert_true(lex(&t, "0.25").items[0].real == 0.25);
    front_text_close(&t);
    setlocale(LC_ALL, "C");
}

static void test_texts(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    Tokens tokens = lex(&t, "\"\" \"a # b\" \"q\\\"\\\\\" \"\xc3\xa4\"");
    static const char *const expected[] = {"", "a # b", "q\"\\", "\xc3\xa4"};
    assert_int_equal(tokens.n, 5);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tokens.items[i].kind, TK_STRING);
        assert_true(str_equal(tokens.items[i].text, str_from(expected[i])));
    }
    front_text_close(&t);
}

static void test_places(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    Tokens tokens = lex(&t, "# \xc3\xa4\r\n\tx # y\n  \"\xc3\xa4\" z");
    static const uint32_t expected[][2] = {{2, 2}, {3, 3}, {3, 7}, {3, 8}};
    assert_int_equal(tokens.n, 4);
    for (size_t i = 0; i < 4; i++) {
        uint32_t line;
        uint32_t col;
        diag_position(tokens.items[i].at, &line, &col);
        assert_int_equal(line, expected[i][0]);
        assert_int_equal(col, expected[i][1]);
    }
    front_text_close(&t);
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *messages;
    } cases[] = {
        {"a $ b", "t.slu:1:3: error: unexpected character `$`\n"},
        {"a\n \xc3\xa4", "t.slu:2:2: error: unexpected character `\xc3\xa4`\n"},
        {"a \x01", "t.slu:1:3: error: unexpected control character 0x01\n"},
        {"!", "t.slu:1:1: error: unexpected character `!`\n"},
        {"1_0", "t.slu:1:1: error: `1_0` is not a number\n"},
        {"0x1p-17", "t.slu:1:1: error: `0x1p` is not a number\n"},
        {"1e", "t.slu:1:1: error: `1e` is not a number\n"},
        {"1.5e+", "t.slu:1:1: error: `1.5e` is not a number\n"},
        {"2nd", "t.slu:1:1: error: `2nd` is not a number\n"},
        {"1e999", "t.slu:1:1: error: number 1e999 is too large\n"},
        {"9223372036854775808",
         "t.slu:1:1: error: integer 9223372036854775808 does not fit in 64 bits\n"},
        {"\"abc", "t.slu:1:1: error: this text has no closing quote on its line\n"},
        {"\"abc\n\"", "t.slu:1:1: error: this text has no closing quote on its line\n"
                      "t.slu:2:1: error: this text has no closing quote on its line\n"},
        {"\"a\\n\"", "t.slu:1:3: error: a backslash in a text stands before `\"` or `\\` only\n"},
        {"\"a\tb\"", "t.slu:1:3: error: unexpected control character 0x09\n"},
        {"let \xff", "t.slu:1:5: error: this byte, 0xff, is not UTF-8\n"},
        {"\xc0\x80", "t.slu:1:1: error: this byte, 0xc0, is not UTF-8\n"},         // too long
        {"\xed\xa0\x80", "t.slu:1:1: error: this byte, 0xed, is not UTF-8\n"},     // half a pair
        {"\xf4\x90\x80\x80", "t.slu:1:1: error: this byte, 0xf4, is not UTF-8\n"}, // too high
        {"\xe2\x82", "t.slu:1:1: error: this byte, 0xe2, is not UTF-8\n"},         // cut off
        {"B6--6H8 + B0H8", "t.slu:1:4: error: layout B6--6H8: the number of layers is missing\n"
                           "t.slu:1:12: error: layout B0H8: the number of layers is zero\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        Tokens tokens;
        assert_false(lex_source(t.arena, t.dx, front_text_source(&t, cases[i].text), &tokens));
        assert_string_equal(front_text_messages(&t), cases[i].messages);
        front_text_close(&t);
    }
}

// `n` times `c`, with `before` in front.
static const Source *repeated(FrontText *t, const char *before, char c, size_t n)
{
    Buf buf = {.arena = t->arena};
    buf_add(&buf, str_from(before));
    for (size_t i = 0; i < n; i++)
        buf_char(&buf, c);
    return diag_source(t->arena, STR("t.slu"), buf_str(&buf), false);
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        char c;
        size_t n;
        const char *messages; // NULL: none
    } cases[] = {
        {"", 'a', LIMIT_NAME, NULL},
        {"", 'a', LIMIT_NAME + 1, "t.slu:1:1: error: a name of 256 characters, more than 255\n"},
        {"0.", '1', LIMIT_NAME, "t.slu:1:1: error: a number of 257 characters, more than 255\n"},
        {"B1", '1', LIMIT_NAME, "t.slu:1:1: error: a layout of 257 characters, more than 255\n"},
        {"#", ' ', LIMIT_FILE_BYTES - 1, NULL},
        {"#", ' ', LIMIT_FILE_BYTES,
         "t.slu:1:1: error: this file has 1048577 bytes, more than 1048576\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        Tokens tokens;
        const Source *source = repeated(&t, cases[i].before, cases[i].c, cases[i].n);
        assert_int_equal(lex_source(t.arena, t.dx, source, &tokens), cases[i].messages == NULL);
        assert_string_equal(front_text_messages(&t), cases[i].messages ? cases[i].messages : "");
        front_text_close(&t);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    static const char *const texts[] = {"", "  \n", "# only this", "\xef\xbb\xbf"};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(lex(&t, texts[i]).n, 1);
    // A zero byte is a byte like another, and no end.
    const Source *source = diag_source(t.arena, STR("t.slu"), (Str){"a\0b", 3}, false);
    Tokens tokens;
    assert_false(lex_source(t.arena, t.dx, source, &tokens));
    assert_string_equal(front_text_messages(&t),
                        "t.slu:1:2: error: unexpected control character 0x00\n");
    front_text_close(&t);
}

static void test_shown(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    Tokens tokens = lex(&t, "abc \"0123456789012345678901234567890123456\xc3\xa4\xc3\xa4\"");
    assert_true(str_equal(token_text(t.arena, &tokens.items[0]), STR("`abc`")));
    assert_true(str_equal(token_text(t.arena, &tokens.items[1]),
                          STR("`\"0123456789012345678901234567890123456\xc3\xa4\xe2\x80\xa6`")));
    assert_true(str_equal(token_text(t.arena, &tokens.items[2]), STR("the end of the file")));
    front_text_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),   cmocka_unit_test(test_paths),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_locale),
        cmocka_unit_test(test_texts),   cmocka_unit_test(test_places),
        cmocka_unit_test(test_faults),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_nothing), cmocka_unit_test(test_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
