// Sizes: the normal form, arithmetic, text, values. Besides fixed cases, random expressions are
// compared with the same tree computed on plain numbers.
#include "base/size.h"

#include "base/ints.h"
#include "size_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// ---- the normal form ----

static void test_sizes_print_as_they_are_written(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"0", "0"},
        {"768", "768"},
        {"-3", "-3"},
        {"seq", "seq"},
        {"seq*batch*2", "2 * batch * seq"},
        {"(seq + 1) / 2", "(seq + 1) / 2"},
        {"seq / 4", "seq / 4"},
        {"seq - 1", "seq - 1"},
        {"32 - seq", "-seq + 32"},
        {"1 + seq + seq * seq", "seq * seq + seq + 1"},
        {"batch + 3 - 3 - batch", "0"},
        {"3 * (seq / 2)", "3 * (seq / 2)"},
        {"batch * (seq / 2)", "batch * (seq / 2)"},
        {"(3 * seq) / 2", "seq + seq / 2"},
        {"(3 * seq) / 4", "(3 * seq) / 4"},
        {"0 - seq / 4", "-(seq / 4)"},
        {"8 - seq / 4", "-(seq / 4) + 8"},
        {"batch - seq / 4", "batch - seq / 4"},
        {"batch + seq / 4", "batch + seq / 4"},
        {"-2 * batch * seq + 1", "-2 * batch * seq + 1"},
        {"(batch * seq) / 3", "(batch * seq) / 3"},
        {"(seq / 2 + batch) / 3", "(batch + seq / 2) / 3"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const Size *x = size_of(texts[i][0]);
        assert_string_equal(text_of(x), texts[i][1]);
        assert_true(size_equal(size_of(texts[i][1]), x));
    }
    assert_string_equal(text_of(NULL), "?");
}

static void test_equal_sizes_have_one_form(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"(seq + 4) / 4", "seq / 4 + 1"},
        {"(seq - 1) / 2", "(seq + 1) / 2 - 1"},
        {"(seq / 2 + 1) / 2", "(seq + 2) / 4"},
        {"((seq + 1) / 2 + 1) / 2", "(seq + 3) / 4"},
        {"(((seq + 1) / 2 + 1) / 2 + 1) / 2", "(seq + 7) / 8"},
        {"(2 * seq) / 4", "seq / 2"},
        {"(2 * seq + 1) / 2", "seq"},
        {"(2 * seq + 3) / 4", "(seq + 1) / 2"},
        {"(6 * seq + 4) / 4", "seq + 1 + seq / 2"},
        {"(seq * 5) / 4", "seq + seq / 4"},
        {"seq % 2 + seq / 2 * 2", "seq"},
        {"(seq + batch) * (seq - batch)", "seq * seq - batch * batch"},
        {"(2 * seq + 7) % 2", "1"},
        {"seq / 1", "seq"},
        {"seq % 1", "0"},
        {"5 / 7", "0"},
        {"(0 - 5) / 7", "0 - 1"},
        {"(0 - 5) % 7", "2"},
        {"(0 - seq) / 2", "seq / 2 - seq"},
        {"(4 * (seq / 6)) / 8", "seq / 12"},
        {"0 * seq", "0"},
        {"b * a * (c / 2)", "(c / 2) * a * b"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const Size *x = size_of(pairs[i][0]);
        const Size *y = size_of(pairs[i][1]);
        assert_string_equal(text_of(x), text_of(y));
        assert_true(size_equal(x, y));
        assert_true(size_hash(x) == size_hash(y));
    }
}

static void test_different_sizes_differ(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",       "1",           "seq",         "batch",         "seq + 1",     "seq * seq",
        "2 * seq", "seq / 2",     "seq / 3",     "(seq + 1) / 2", "batch / 2",   "-seq",
        "-1",      "batch * seq", "seq + batch", "(seq / 2) * 2", "seq * 2 + 1",
    };
    size_t n = sizeof texts / sizeof *texts;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            const Size *x = size_of(texts[i]);
            const Size *y = size_of(texts[j]);
            assert_true(size_equal(x, y) == (i == j));
            assert_true((size_hash(x) == size_hash(y)) == (i == j));
        }
    }
}

static void test_null_is_taken_through(void **state)
{
    (void)state;
    const Size *x = size_symbol(arena, STR("x"));
    assert_null(size_add(arena, NULL, x));
    assert_null(size_sub(arena, x, NULL));
    assert_null(size_mul(arena, NULL, x));
    assert_null(size_scale(arena, NULL, 0));
    assert_null(size_div(arena, NULL, 2));
    assert_null(size_mod(arena, NULL, 2));
    assert_null(size_exact_div(arena, NULL, x));
    assert_null(size_exact_div(arena, x, NULL));
    assert_null(size_replace(arena, NULL, NULL, 0));
    assert_null(size_simplify(arena, NULL, size_facts(arena)));
    const Size *two[] = {x, NULL};
    assert_null(size_product(arena, two, 2));
    assert_null(size_sum(arena, two, 2));
    assert_true(size_is(size_product(arena, NULL, 0), 1));
    assert_true(size_is(size_sum(arena, NULL, 0), 0));
    assert_false(size_equal(NULL, NULL));
    assert_false(size_is_int(NULL, NULL));
    assert_false(size_has_symbols(NULL));
    int64_t value = 0;
    assert_false(size_value(NULL, NULL, 0, &value));
    assert_int_equal(size_compare(SIZE_eq, NULL, x, NULL), TRUTH_unknown);
    size_declare(size_facts(arena), SIZE_eq, NULL, x);
}

static void test_division_needs_a_positive_number(void **state)
{
    (void)state;
    assert_null(size_div(arena, size_of("x"), 0));
    assert_null(size_div(arena, size_of("x"), -2));
    assert_null(size_mod(arena, size_of("x"), 0));
    assert_null(size_exact_div(arena, size_of("x"), size_of("0")));
}

static void test_overflow_is_null(void **state)
{
    (void)state;
    const Size *most = size_int(arena, INT64_MAX);
    const Size *least = size_int(arena, INT64_MIN);
    const Size *one = size_int(arena, 1);
    assert_null(size_add(arena, most, one));
    assert_null(size_sub(arena, least, one));
    assert_null(size_sub(arena, size_int(arena, 0), least));
    assert_true(size_is(size_sub(arena, size_int(arena, -1), least), INT64_MAX));
    assert_null(size_mul(arena, most, size_int(arena, 2)));
    assert_null(size_scale(arena, least, -1));
    const Size *x = size_of("x");
    assert_null(size_add(arena, size_scale(arena, x, INT64_MAX), x));
    assert_null(size_div(arena, size_div(arena, x, INT64_MAX), 2)); // floor(x / 2^64)
    assert_string_equal(text_of(least), "-9223372036854775808");
    assert_string_equal(text_of(size_div(arena, least, 3)), "-3074457345618258603");
    assert_true(size_is(size_mod(arena, least, INT64_MAX), INT64_MAX - 1));
    assert_null(size_exact_div(arena, least, size_int(arena, -1)));
}

static void test_sizes_cannot_grow_without_end(void **state)
{
    (void)state;
    // Each step doubles what a walk over the floors would visit.
    const Size *x = size_of("x");
    size_t steps = 0;
    for (; x && steps < 1000; steps++) {
        const Size *square = size_mul(arena, x, size_of("y"));
        x = size_div(arena, size_add(arena, size_scale(arena, x, 2), square), 3);
    }
    assert_true(steps > 5 && steps < 20);
    // A chain of floors that do not merge.
    x = size_of("x");
    for (steps = 0; x && steps < 1000; steps++) {
        x = size_div(arena, size_scale(arena, size_add(arena, x, size_of("y")), 2), 3);
    }
    assert_true(steps > 30 && steps < 100);
    // A power of a sum.
    x = size_of("a + b + c + d + e");
    for (steps = 0; x && steps < 1000; steps++) {
        x = size_mul(arena, x, size_of("a + b + c + d + e"));
    }
    assert_true(steps > 3 && steps < 20);
    // A power of a symbol.
    x = size_of("a");
    for (steps = 0; x && steps < 100; steps++) {
        x = size_mul(arena, x, x);
    }
    assert_true(steps > 5 && steps < 20);
}

static void test_exact_division(void **state)
{
    (void)state;
    static const char *const good[][3] = {
        {"6 * seq", "3", "2 * seq"},
        {"batch * seq * 64", "seq", "64 * batch"},
        {"batch * seq + 2 * batch", "seq + 2", "batch"},
        {"a * a - b * b", "a - b", "a + b"},
        {"a * a * a - 1", "a - 1", "a * a + a + 1"},
        {"12 * (seq / 2) * batch", "seq / 2", "12 * batch"},
        {"0", "seq", "0"},
        {"-6", "3", "-2"},
        {"7", "7", "1"},
        {"seq - batch", "batch - seq", "-1"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const Size *x = size_of(good[i][0]);
        const Size *quotient = size_exact_div(arena, x, size_of(good[i][1]));
        assert_non_null(quotient);
        assert_true(size_equal(quotient, size_of(good[i][2])));
    }
    static const char *const bad[][2] = {
        {"6 * seq", "4"},           {"seq", "batch"},   {"seq + 1", "seq"}, {"1", "seq"},
        {"a * a + b * b", "a + b"}, {"seq / 2", "seq"}, {"5", "2"},         {"seq", "2 * seq"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const Size *x = size_of(bad[i][0]);
        assert_null(size_exact_div(arena, x, size_of(bad[i][1])));
    }
}

static void test_questions(void **state)
{
    (void)state;
    int64_t n = 0;
    assert_true(size_is_int(size_of("2 * 3"), &n) && n == 6);
    assert_true(size_is_int(size_of("x - x"), &n) && n == 0);
    assert_true(size_is_int(size_of("1"), NULL));
    assert_false(size_is_int(size_of("x"), &n));
    assert_true(size_is(size_of("0"), 0));
    assert_false(size_is(size_of("x"), 0));
    Str name = {0};
    assert_true(size_is_symbol(size_of("x"), &name) && str_equal(name, STR("x")));
    assert_true(size_is_symbol(size_of("x + y - y"), NULL));
    const char *others[] = {"0", "2 * x", "x + 1", "x * y", "x / 2"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(size_is_symbol(size_of(others[i]), NULL));
    }
    assert_true(size_has_symbols(size_of("x / 2")));
    assert_false(size_has_symbols(size_of("0")));
    assert_false(size_has_symbols(size_of("4")));
}

static void add_name(void *ctx, Str name)
{
    buf_add(ctx, name);
    buf_char(ctx, ' ');
}

static void test_symbols_are_visited(void **state)
{
    (void)state;
    Buf buf = {.arena = arena};
    size_symbols(size_of("batch * seq + (heads + seq / 2) / 3 + 4"), add_name, &buf);
    assert_string_equal(buf.ptr, "batch seq heads seq ");
}

static void test_values(void **state)
{
    (void)state;
    const SizeBinding bindings[] = {{STR("seq"), 7}, {STR("batch"), INT64_MAX / 2}};
    int64_t n = 0;
    assert_true(size_value(size_of("(seq + 1) / 2 * 3 - seq"), bindings, 2, &n) && n == 5);
    assert_true(size_value(size_of("(2 - seq) / 2"), bindings, 2, &n) && n == -3);
    assert_true(size_value(size_of("batch * 2"), bindings, 2, &n) && n == INT64_MAX - 1);
    assert_false(size_value(size_of("batch * seq"), bindings, 2, &n));
    assert_false(size_value(size_of("batch * 2 + seq"), bindings, 2, &n));
    assert_false(size_value(size_of("heads"), bindings, 2, &n));
    assert_true(size_value(size_of("4"), NULL, 0, &n) && n == 4);
}

static void test_replacing(void **state)
{
    (void)state;
    const SizeSubst table[] = {{STR("a"), size_of("2 * b + 1")}, {STR("b"), size_of("a")}};
    const Size *x = size_replace(arena, size_of("a * b + a / 2 + c"), table, 2);
    assert_true(size_equal(x, size_of("(2 * b + 1) * a + b + c"))); // both at once
    const SizeSubst fixed[] = {{STR("seq"), size_int(arena, 128)}};
    assert_true(size_is(size_replace(arena, size_of("(seq + 3) / 4"), fixed, 1), 32));
    const SizeSubst huge[] = {{STR("seq"), size_int(arena, INT64_MAX)}};
    assert_null(size_replace(arena, size_of("seq * seq"), huge, 1));
}

// ---- random expressions ----

typedef struct Both {
    const Size *size;
    int64_t value;
} Both;

static Both random_both(size_t depth)
{
    int64_t kind = random_below(depth == 0 ? 2 : 7);
    if (kind == 0) {
        int64_t n = random_below(13) - 4;
        return (Both){size_int(arena, n), n};
    }
    if (kind == 1) {
        const SizeBinding *binding = &values[random_below(SYMBOLS)];
        return (Both){size_symbol(arena, binding->name), binding->value};
    }
    Both x = random_both(depth - 1);
    if (kind == 2) {
        int64_t d = random_below(6) + 1;
        return (Both){size_div(arena, x.size, d), int_floor_div(x.value, d)};
    }
    if (kind == 3) {
        int64_t d = random_below(6) + 1;
        return (Both){size_mod(arena, x.size, d), x.value - d * int_floor_div(x.value, d)};
    }
    Both y = random_both(depth - 1);
    if (kind == 4) {
        return (Both){size_add(arena, x.size, y.size), x.value + y.value};
    }
    if (kind == 5) {
        return (Both){size_sub(arena, x.size, y.size), x.value - y.value};
    }
    return (Both){size_mul(arena, x.size, y.size), x.value * y.value};
}

static void check_normal(const Size *x)
{
    for (size_t i = 0; i < x->nterms; i++) {
        assert_true(x->terms[i].factor != 0);
        assert_true(i == 0 || x->terms[i - 1].natoms >= x->terms[i].natoms);
        assert_true(x->terms[i].natoms > 0 || i + 1 == x->nterms);
        for (size_t j = 0; j < x->terms[i].natoms; j++) {
            const SizeAtom *atom = x->terms[i].atoms[j];
            for (size_t k = 0; atom->top && k < atom->top->nterms; k++) {
                int64_t factor = atom->top->terms[k].factor;
                assert_true(factor >= 0 && factor < atom->by);
            }
            if (atom->top) {
                check_normal(atom->top);
            }
        }
    }
}

static void test_random_expressions_compute_what_numbers_do(void **state)
{
    (void)state;
    size_t ncompared = 0;
    for (seed = 1; ncompared < 10000;) {
        ArenaMark mark = arena_mark(arena);
        for (size_t i = 0; i < SYMBOLS; i++) {
            values[i].value = random_below(9) + 1;
        }
        Both x = random_both(4);
        if (x.size) {
            ncompared++;
            int64_t value = 0;
            assert_true(size_value(x.size, values, SYMBOLS, &value));
            assert_true(value == x.value);
            check_normal(x.size);
            assert_true(size_equal(size_of(text_of(x.size)), x.size));
            assert_int_equal(size_compare(SIZE_eq, x.size, size_of(text_of(x.size)), NULL),
                             TRUTH_yes);
        }
        arena_reset(arena, mark);
    }
}

static void test_random_products_divide_exactly(void **state)
{
    (void)state;
    seed = 7;
    for (size_t i = 0; i < 3000; i++) {
        ArenaMark mark = arena_mark(arena);
        const Size *x = random_both(3).size;
        const Size *y = random_both(3).size;
        const Size *product = size_mul(arena, x, y);
        if (product && y->nterms > 0) {
            assert_true(size_equal(size_exact_div(arena, product, y), x));
            // With one added, the quotient exists only for y = ±1, or where the sum happens to be a
            // multiple.
            const Size *more =
                size_exact_div(arena, size_add(arena, product, size_int(arena, 1)), y);
            assert_true(!more || size_equal(size_mul(arena, more, y),
                                            size_add(arena, product, size_int(arena, 1))));
        }
        arena_reset(arena, mark);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_print_as_they_are_written),
        cmocka_unit_test(test_equal_sizes_have_one_form),
        cmocka_unit_test(test_different_sizes_differ),
        cmocka_unit_test(test_null_is_taken_through),
        cmocka_unit_test(test_division_needs_a_positive_number),
        cmocka_unit_test(test_overflow_is_null),
        cmocka_unit_test(test_sizes_cannot_grow_without_end),
        cmocka_unit_test(test_exact_division),
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_symbols_are_visited),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_replacing),
        cmocka_unit_test(test_random_expressions_compute_what_numbers_do),
        cmocka_unit_test(test_random_products_divide_exactly),
    };
    return cmocka_run_group_tests(tests, size_set_up, size_tear_down);
}
