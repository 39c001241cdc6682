// Diagnostics: positions, counting, the printed form.
#include "base/diag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static const Source *source_of(const char *text)
{
    return diag_source(arena, STR("tiny.slu"), str_from(text), false);
}

// The first place in the source where `what` stands.
static Place place_of(const Source *source, const char *what)
{
    const char *at = strstr(source->text.ptr, what);
    assert_non_null(at);
    uint32_t begin = (uint32_t)(at - source->text.ptr);
    return (Place){source, begin, begin + (uint32_t)strlen(what)};
}

static const char *flushed(Diag *dx, bool colour)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    diag_flush(dx, out, colour);
    assert_int_equal(fclose(out), 0);
    const char *copy = str_cstr(arena, (Str){text, len});
    free(text);
    return copy;
}

static const char *one_error(Place at)
{
    Diag *dx = diag_create(arena);
    diag_error(dx, at, "wrong");
    return flushed(dx, false);
}

static void check_position(const Source *source, uint32_t begin, uint32_t line, uint32_t col)
{
    uint32_t l = 99;
    uint32_t c = 99;
    diag_position((Place){source, begin, begin}, &l, &c);
    assert_int_equal(l, line);
    assert_int_equal(c, col);
}

static void test_positions_count_characters(void **state)
{
    (void)state;
    const Source *source = source_of("ab\n\xc3\xa9x\r\n\n\tz\xff\xe2\x82w");
    check_position(source, 0, 1, 1);
    check_position(source, 2, 1, 3); // the newline belongs to its line
    check_position(source, 3, 2, 1);
    check_position(source, 5, 2, 2); // behind é
    check_position(source, 8, 3, 1);
    check_position(source, 9, 4, 1);
    check_position(source, 10, 4, 2); // a tab is one character
    check_position(source, 12, 4, 4); // so is a byte that is no UTF-8
    check_position(source, 14, 4, 6);
    check_position(source, 15, 4, 7); // the end of the file
    check_position(source, 1000, 4, 7);
    check_position(source_of(""), 0, 1, 1);
    check_position(source_of("a\n"), 2, 2, 1);
    check_position(NULL, 5, 0, 0);
    check_position(source_of("\xe2\x82"), 2, 1, 3); // cut short
    check_position(source_of("\xf0\x9f\x99\x82x"), 4, 1, 2);
    check_position(source_of("\xed\xa0\x80x"), 3, 1, 4); // a surrogate is no character
}

static void test_an_error_with_a_note(void **state)
{
    (void)state;
    const Source *source = source_of("model m {\n"
                                     "    input x: f32[batch, seq, 8]\n"
                                     "    for i in 0 .. 2 {\n"
                                     "        x = gmlp_layer(x, 255) as blocks[i]\n"
                                     "    }\n}\n");
    Source *lib =
        diag_source(arena, STR("std/gmlp.slu"), STR("\n\n  check F % 2 == 0, \"odd\"\n"), true);
    Diag *dx = diag_create(arena);
    diag_error(dx, place_of(source, "gmlp_layer(x, 255)"),
               "gmlp_layer: inner width %d is odd, but the gate splits it in halves", 255);
    diag_note(dx, place_of(lib, "check"), "checked here");
    assert_int_equal(diag_nerrors(dx), 1);
    assert_string_equal(flushed(dx, false), "tiny.slu:4:13: error: gmlp_layer: inner width 255 is "
                                            "odd, but the gate splits it in halves\n"
                                            "    4 |         x = gmlp_layer(x, 255) as blocks[i]\n"
                                            "      |             ^~~~~~~~~~~~~~~~~~\n"
                                            "std/gmlp.slu:3:3: note: checked here\n");
}

static void test_order_counts_and_exit_codes(void **state)
{
    (void)state;
    const Source *source = source_of("a b c");
    Diag *dx = diag_create(arena);
    assert_int_equal(diag_exit_code(dx), 0);
    diag_warning(dx, place_of(source, "b"), "odd");
    assert_int_equal(diag_nerrors(dx), 0);
    assert_int_equal(diag_exit_code(dx), 0);
    diag_error(dx, place_of(source, "a"), "bad");
    assert_int_equal(diag_exit_code(dx), 1);
    diag_fail(dx, "%s: %s", "w.safetensors", "no such file");
    assert_int_equal(diag_nerrors(dx), 2);
    assert_int_equal(diag_exit_code(dx), 3);
    diag_error(dx, (Place){0}, "no input");
    assert_int_equal(diag_exit_code(dx), 3);
    assert_string_equal(flushed(dx, false), "tiny.slu:1:3: warning: odd\n"
                                            "    1 | a b c\n"
                                            "      |   ^\n"
                                            "tiny.slu:1:1: error: bad\n"
                                            "    1 | a b c\n"
                                            "      | ^\n"
                                            "sluice: error: w.safetensors: no such file\n"
                                            "sluice: error: no input\n");
    assert_string_equal(flushed(dx, false), ""); // forgotten
    assert_int_equal(diag_nerrors(dx), 3);       // counted
    assert_int_equal(diag_exit_code(dx), 3);
}

static void test_twenty_errors_are_enough(void **state)
{
    (void)state;
    const Source *source = source_of("a");
    Diag *dx = diag_create(arena);
    for (int i = 0; i < 25; i++) {
        assert_true(diag_full(dx) == (i >= 20));
        diag_error(dx, (Place){source, 0, 1}, "number %d", i);
        diag_note(dx, (Place){source, 0, 1}, "note of %d", i);
    }
    assert_int_equal(diag_nerrors(dx), 20);
    const char *text = flushed(dx, false);
    assert_non_null(strstr(text, "note of 19\n"));
    assert_null(strstr(text, "number 20"));
    assert_null(strstr(text, "note of 20"));
    // A failure of the environment decides the exit code even then.
    diag_fail(dx, "disk full");
    assert_int_equal(diag_exit_code(dx), 3);
}

static void test_colour(void **state)
{
    (void)state;
    Diag *dx = diag_create(arena);
    diag_error(dx, place_of(source_of("ab"), "b"), "wrong");
    assert_string_equal(flushed(dx, true), "\033[1mtiny.slu:1:2: \033[1;31merror: \033[0mwrong\n"
                                           "    1 | ab\n"
                                           "      |  \033[1;31m^\033[0m\n");
}

static void test_underlines_reach_to_the_end_of_the_line(void **state)
{
    (void)state;
    const Source *source = source_of("x = f(a,\r\n      b)\n");
    assert_string_equal(one_error(place_of(source, "f(a,\r\n      b)")),
                        "tiny.slu:1:5: error: wrong\n"
                        "    1 | x = f(a,\n"
                        "      |     ^~~~\n");
    // At the end of a line, of the file, and beyond.
    assert_string_equal(one_error(place_of(source, "\r\n")), "tiny.slu:1:9: error: wrong\n"
                                                             "    1 | x = f(a,\n"
                                                             "      |         ^\n");
    assert_string_equal(one_error((Place){source, 19, 19}), "tiny.slu:3:1: error: wrong\n"
                                                            "    3 | \n"
                                                            "      | ^\n");
    const char *beyond = one_error((Place){source, 4000, 5000});
    assert_true(str_starts(str_from(beyond), STR("tiny.slu:3:1: error: wrong\n")));
    // A place that ends before it begins is its beginning.
    assert_string_equal(one_error((Place){source, 4, 2}), "tiny.slu:1:5: error: wrong\n"
                                                          "    1 | x = f(a,\n"
                                                          "      |     ^\n");
    assert_string_equal(one_error((Place){source_of(""), 0, 0}), "tiny.slu:1:1: error: wrong\n"
                                                                 "    1 | \n"
                                                                 "      | ^\n");
}

static void test_carets_stand_under_their_columns(void **state)
{
    (void)state;
    // A tab goes to the next multiple of four.
    assert_string_equal(one_error(place_of(source_of("\ta\tbc"), "bc")),
                        "tiny.slu:1:4: error: wrong\n"
                        "    1 |     a   bc\n"
                        "      |         ^~\n");
    // é is two bytes in one column, 算 three in two; a mark put over a letter takes none.
    assert_string_equal(one_error(place_of(source_of("\xc3\xa9 \xe7\xae\x97 e\xcc\x81 x"), "x")),
                        "tiny.slu:1:8: error: wrong\n"
                        "    1 | \xc3\xa9 \xe7\xae\x97 e\xcc\x81 x\n"
                        "      |        ^\n");
    assert_string_equal(
        one_error(place_of(source_of("a \xe7\xae\x97\xe7\xae\x97 b"), "\xe7\xae\x97\xe7\xae\x97")),
        "tiny.slu:1:3: error: wrong\n"
        "    1 | a \xe7\xae\x97\xe7\xae\x97 b\n"
        "      |   ^~~~\n");
}

static void test_nothing_reaches_the_terminal_unescaped(void **state)
{
    (void)state;
    assert_string_equal(one_error(place_of(source_of("a\x1b[31m\xff\xe2\x80\xae\xc2\x9b b"), "b")),
                        "tiny.slu:1:11: error: wrong\n"
                        "    1 | a\\x1b[31m\\xff\\u{202e}\\x9b b\n"
                        "      |                           ^\n");
    Diag *dx = diag_create(arena);
    diag_error(dx, (Place){0}, "no name `%s`", "a\nb\x1b[0m\x7f");
    assert_string_equal(flushed(dx, false), "sluice: error: no name `a\\nb\\x1b[0m\\x7f`\n");
    Source *odd = diag_source(arena, STR("a\nb.slu"), STR("x\0y"), false);
    assert_string_equal(one_error((Place){odd, 2, 3}), "a\\nb.slu:1:3: error: wrong\n"
                                                       "    1 | x\\x00y\n"
                                                       "      |      ^\n");
}

// The two lines after the message: the source line and its underline.
static void split_lines(const char *text, Str *line, Str *underline)
{
    const char *first = strchr(text, '\n') + 1;
    const char *second = strchr(first, '\n') + 1;
    *line = (Str){first, (size_t)(second - first - 1)};
    *underline = (Str){second, (size_t)(strchr(second, '\n') - second)};
}

static void test_long_lines_are_cut_around_the_place(void **state)
{
    (void)state;
    enum { LEN = 100000, MOST = 120 };
    char *text = arena_new(arena, char, LEN + 1);
    memset(text, 'x', LEN);
    static const uint32_t begins[] = {0, 5, 90, 95, 96, 97, 150, 5000, LEN - 10, LEN - 5};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        memset(text, 'x', LEN);
        memcpy(text + begins[i], "HERE", 4);
        const Source *source = source_of(text);
        Str line = {0};
        Str underline = {0};
        split_lines(one_error(place_of(source, "HERE")), &line, &underline);
        assert_true(line.len < MOST);
        const char *here = strstr(line.ptr, "HERE");
        assert_non_null(here);
        assert_true(here < line.ptr + line.len);
        // ^~~~ under HERE, and nothing behind it.
        assert_int_equal(underline.len, here - line.ptr + 4);
        assert_memory_equal(underline.ptr + underline.len - 4, "^~~~", 4);
        assert_int_equal(underline.ptr[underline.len - 5], ' ');
        assert_true(str_ends(line, STR("...")) == (begins[i] + 64 < LEN));
    }
    // A place longer than what is shown is underlined as far as that reaches.
    Str line = {0};
    Str underline = {0};
    split_lines(one_error((Place){source_of(text), 10, LEN - 10}), &line, &underline);
    assert_true(line.len < MOST && underline.len <= line.len);
    assert_true(str_ends(underline, STR("~~~")));
    // Wide characters and escapes at the cut.
    for (uint32_t shift = 0; shift < 4; shift++) {
        Buf buf = {.arena = arena};
        for (uint32_t j = 0; j < shift; j++) {
            buf_char(&buf, 'a');
        }
        for (size_t j = 0; j < 100; j++) {
            buf_add(&buf, STR("\xe7\xae\x97\x01"));
        }
        buf_add(&buf, STR("HERE"));
        split_lines(one_error(place_of(source_of(buf.ptr), "HERE")), &line, &underline);
        const char *here = strstr(line.ptr, "HERE");
        assert_non_null(here);
        size_t columns = 0;
        for (const char *p = line.ptr; p < here; p++) {
            bool is_wide = (unsigned char)*p == 0xe7;
            columns += is_wide ? 2 : 1;
            p += is_wide ? 2 : 0;
        }
        assert_int_equal(underline.len, columns + 4);
    }
}

static void test_lines_of_any_length_fit_the_margin(void **state)
{
    (void)state;
    char text[97];
    memset(text, 'x', 96);
    text[96] = '\0';
    Str line = {0};
    Str underline = {0};
    split_lines(one_error((Place){source_of(text), 95, 96}), &line, &underline);
    assert_int_equal(line.len, 8 + 96); // whole
    assert_int_equal(underline.len, 8 + 96);
}

// What a child writes to stderr, and its exit status.
static const char *dying_words(const char *repro, int *status)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(fds[1], STDERR_FILENO);
        diag_set_repro(repro);
        die("node %d has no type", 7);
    }
    close(fds[1]);
    static char text[4096];
    size_t len = 0;
    for (ssize_t n = 1; n > 0 && len<sizeof text - 1; len += n> 0 ? (size_t)n : 0) {
        n = read(fds[0], text + len, sizeof text - 1 - len);
    }
    text[len] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(child, status, 0), child);
    return text;
}

static void test_our_own_faults(void **state)
{
    (void)state;
    int status = 0;
    const char *text = dying_words("to see it again: sluice build x.slu", &status);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 70);
    assert_true(str_starts(str_from(text), STR("internal error: node 7 has no type (")));
    assert_non_null(strstr(text, "test_diag.c:"));
    assert_true(str_ends(str_from(text), STR(")\nto see it again: sluice build x.slu\n")));
    text = dying_words(NULL, &status);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 70);
    assert_true(str_ends(str_from(text), STR(")\n")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions_count_characters),
        cmocka_unit_test(test_an_error_with_a_note),
        cmocka_unit_test(test_order_counts_and_exit_codes),
        cmocka_unit_test(test_twenty_errors_are_enough),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_underlines_reach_to_the_end_of_the_line),
        cmocka_unit_test(test_carets_stand_under_their_columns),
        cmocka_unit_test(test_nothing_reaches_the_terminal_unescaped),
        cmocka_unit_test(test_long_lines_are_cut_around_the_place),
        cmocka_unit_test(test_lines_of_any_length_fit_the_margin),
        cmocka_unit_test(test_our_own_faults),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
