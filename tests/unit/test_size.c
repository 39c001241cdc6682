// Sizes: the normal form, arithmetic, text, values; what is known of them and what follows.
//
// Expressions are written as text and read by a small parser here, which calls the arithmetic under
// test. Besides fixed cases, random expressions are compared with the same tree computed on plain
// numbers.
#include "base/size.h"

#include "base/ints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

// ---- reading ----

// sum := ["-"] product (("+" | "-") product)*;  product := atom (("*" | "/" | "%") atom)*, `/` and
// `%` by a number
static const char *cursor;

static const Size *read_sum(void);

static char peek(void)
{
    while (*cursor == ' ') {
        cursor++;
    }
    return *cursor;
}

static bool take(char c)
{
    if (peek() != c) {
        return false;
    }
    cursor++;
    return true;
}

static int64_t read_number(void)
{
    int64_t n = 0;
    size_t len = strspn(cursor, "0123456789");
    assert_true(str_to_int((Str){cursor, len}, &n));
    cursor += len;
    return n;
}

static const Size *read_atom(void)
{
    if (take('(')) {
        const Size *inner = read_sum();
        assert_true(take(')'));
        return inner;
    }
    if (peek() >= '0' && peek() <= '9') {
        return size_int(arena, read_number());
    }
    size_t len = strspn(cursor, "abcdefghijklmnopqrstuvwxyz_");
    assert_true(len > 0);
    Str name = {cursor, len};
    cursor += len;
    return size_symbol(arena, str_copy(arena, name));
}

static const Size *read_product(void)
{
    const Size *x = read_atom();
    for (;;) {
        if (take('*')) {
            x = size_mul(arena, x, read_atom());
        } else if (take('/')) {
            (void)peek();
            x = size_div(arena, x, read_number());
        } else if (take('%')) {
            (void)peek();
            x = size_mod(arena, x, read_number());
        } else {
            return x;
        }
    }
}

static const Size *read_sum(void)
{
    const Size *x = take('-') ? size_scale(arena, read_product(), -1) : read_product();
    for (;;) {
        if (take('+')) {
            x = size_add(arena, x, read_product());
        } else if (take('-')) {
            x = size_sub(arena, x, read_product());
        } else {
            return x;
        }
    }
}

static const Size *size_of(const char *text)
{
    cursor = text;
    const Size *x = read_sum();
    assert_int_equal(peek(), '\0');
    return x;
}

static const char *text_of(const Size *x) { return str_cstr(arena, size_text(arena, x)); }

static void declare(SizeFacts *facts, const char *x, SizeOp op, const char *y)
{
    const Size *left = size_of(x);
    size_declare(facts, op, left, size_of(y));
}

static Truth compare(SizeFacts *facts, const char *x, SizeOp op, const char *y)
{
    const Size *left = size_of(x);
    return size_compare(op, left, size_of(y), facts);
}

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

static uint64_t seed;

static int64_t random_below(int64_t n)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

typedef struct Both {
    const Size *size;
    int64_t value;
} Both;

enum { SYMBOLS = 3 };
static SizeBinding values[SYMBOLS] = {{{"x", 1}, 1}, {{"y", 1}, 1}, {{"z", 1}, 1}};

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

// ---- what is known ----

static void test_operators(void **state)
{
    (void)state;
    assert_string_equal(size_op_text(SIZE_le), "<=");
    assert_string_equal(size_op_text(SIZE_ne), "!=");
    for (SizeOp op = SIZE_eq; op <= SIZE_ge; op++) {
        assert_int_equal(size_op_not(size_op_not(op)), op);
        // Exactly one of an operator and its opposite holds of any two numbers.
        for (int64_t n = -1; n <= 1; n++) {
            Truth truth = size_compare(op, size_int(arena, n), size_int(arena, 0), NULL);
            assert_int_equal(truth, size_op_holds(op, n, 0) ? TRUTH_yes : TRUTH_no);
            assert_int_equal(
                truth + size_compare(size_op_not(op), size_int(arena, n), size_int(arena, 0), NULL),
                TRUTH_yes + TRUTH_no);
        }
    }
    assert_int_equal(compare(NULL, "1", SIZE_lt, "2"), TRUTH_yes);
    assert_int_equal(compare(NULL, "2", SIZE_lt, "2"), TRUTH_no);
    assert_int_equal(compare(NULL, "2", SIZE_le, "2"), TRUTH_yes);
    assert_int_equal(compare(NULL, "3", SIZE_gt, "2"), TRUTH_yes);
    assert_int_equal(compare(NULL, "1", SIZE_ge, "2"), TRUTH_no);
    assert_int_equal(compare(NULL, "1", SIZE_ne, "2"), TRUTH_yes);
}

static void test_sizes_are_at_least_one(void **state)
{
    (void)state;
    assert_int_equal(compare(NULL, "seq", SIZE_ge, "1"), TRUTH_yes);
    assert_int_equal(compare(NULL, "seq", SIZE_gt, "1"), TRUTH_unknown);
    assert_int_equal(compare(NULL, "seq", SIZE_eq, "0"), TRUTH_no);
    assert_int_equal(compare(NULL, "seq + batch", SIZE_ge, "2"), TRUTH_yes);
    assert_int_equal(compare(NULL, "batch * seq", SIZE_lt, "1"), TRUTH_no);
    assert_int_equal(compare(NULL, "seq", SIZE_eq, "batch"), TRUTH_unknown);
    assert_int_equal(compare(NULL, "seq + 1", SIZE_gt, "seq"), TRUTH_yes);
    assert_int_equal(compare(NULL, "seq / 2", SIZE_ge, "0"), TRUTH_yes);
    assert_int_equal(compare(NULL, "seq / 2", SIZE_ge, "1"), TRUTH_unknown);
}

static void test_floors_lie_between_real_quotients(void **state)
{
    (void)state;
    assert_int_equal(compare(NULL, "seq / 2 * 2", SIZE_le, "seq"), TRUTH_yes);
    assert_int_equal(compare(NULL, "seq / 2 * 2", SIZE_ge, "seq - 1"), TRUTH_yes);
    assert_int_equal(compare(NULL, "(seq + 1) / 2", SIZE_le, "seq"), TRUTH_yes);
    assert_int_equal(compare(NULL, "(seq + 1) / 2 * 2", SIZE_ge, "seq"), TRUTH_yes);
    assert_int_equal(compare(NULL, "(seq + 1) / 2 * 2", SIZE_eq, "seq"), TRUTH_unknown);
    assert_int_equal(compare(NULL, "(seq + 1) / 2 * 2", SIZE_lt, "seq"), TRUTH_no);
    assert_int_equal(compare(NULL, "seq / 2 + seq / 3", SIZE_le, "seq"), TRUTH_yes);
    assert_int_equal(compare(NULL, "seq % 4", SIZE_lt, "4"), TRUTH_yes);
    assert_int_equal(compare(NULL, "seq % 4", SIZE_ge, "0"), TRUTH_yes);
    assert_int_equal(compare(NULL, "(seq / 2 + batch) / 3", SIZE_le, "seq + batch"), TRUTH_yes);
}

static void check_bounds(SizeFacts *facts, const char *text, int64_t low, int64_t high)
{
    int64_t l = 0;
    int64_t h = 0;
    size_bounds(size_of(text), facts, &l, &h);
    assert_true(l == low);
    assert_true(h == high);
}

static void test_bounds(void **state)
{
    (void)state;
    SizeFacts *facts = size_facts(arena);
    size_facts_bound(facts, STR("seq"), 3, 10);
    size_facts_bound(facts, STR("shift"), -2, 5);
    check_bounds(facts, "seq", 3, 10);
    check_bounds(facts, "batch", 1, SIZE_INF);
    check_bounds(facts, "7", 7, 7);
    check_bounds(facts, "2 * seq + 1", 7, 21);
    check_bounds(facts, "5 - seq", -5, 2);
    check_bounds(facts, "5 - batch", -SIZE_INF, 4);
    check_bounds(facts, "seq * batch", 3, SIZE_INF);
    check_bounds(facts, "(seq + 1) / 2", 2, 5);
    check_bounds(facts, "seq * shift", -20, 50);
    check_bounds(facts, "shift * shift", -10, 25);
    check_bounds(facts, "shift / 2", -1, 2);
    check_bounds(facts, "batch / 2", 0, SIZE_INF);
    check_bounds(facts, "shift * batch", -SIZE_INF, SIZE_INF);
    check_bounds(facts, "seq % 4", 0, 3);
    check_bounds(NULL, "seq", 1, SIZE_INF);
    // What does not fit is no bound.
    size_facts_bound(facts, STR("wide"), 1, INT64_MAX / 2);
    check_bounds(facts, "wide * wide", 1, SIZE_INF);
    check_bounds(facts, "wide * 2 + 1", 3, SIZE_INF);
    check_bounds(facts, "0 - wide * wide", -SIZE_INF, -1);
}

static void test_declared_bounds(void **state)
{
    (void)state;
    SizeFacts *facts = size_facts(arena);
    declare(facts, "seq", SIZE_ge, "9");
    assert_int_equal(compare(facts, "seq", SIZE_gt, "8"), TRUTH_yes);
    assert_int_equal(compare(facts, "seq / 2", SIZE_ge, "4"), TRUTH_yes);
    declare(facts, "2 * seq + 1", SIZE_lt, "42");
    check_bounds(facts, "seq", 9, 20);
    declare(facts, "seq", SIZE_ge, "3"); // says nothing new
    declare(facts, "30", SIZE_gt, "seq");
    check_bounds(facts, "seq", 9, 20);
    declare(facts, "(seq + 1) / 2", SIZE_le, "8");
    check_bounds(facts, "seq", 9, 16);
    declare(facts, "(seq + 1) / 2", SIZE_gt, "5");
    check_bounds(facts, "seq", 11, 16);
    declare(facts, "seq", SIZE_ne, "11"); // not used
    declare(facts, "3 * seq", SIZE_eq, "39");
    check_bounds(facts, "seq", 13, 13);
    declare(facts, "(n / 2 + 1) / 3", SIZE_ge, "2");
    check_bounds(facts, "n", 10, SIZE_INF);
    int64_t low = 0;
    int64_t high = 0;
    size_facts_get(facts, STR("n"), &low, &high);
    assert_true(low == 10 && high == SIZE_INF);
    size_facts_get(facts, STR("nobody"), &low, &high);
    assert_true(low == 1 && high == SIZE_INF);
}

static void test_declared_equalities(void **state)
{
    (void)state;
    SizeFacts *facts = size_facts(arena);
    size_facts_bound(facts, STR("seq"), 4, 100);
    declare(facts, "seq", SIZE_eq, "2 * n");
    assert_int_equal(compare(facts, "seq / 2", SIZE_eq, "n"), TRUTH_yes);
    assert_int_equal(compare(facts, "seq * batch", SIZE_eq, "batch * n * 2"), TRUTH_yes);
    check_bounds(facts, "n", 2, 50);
    declare(facts, "n", SIZE_eq, "m + 1");
    assert_string_equal(text_of(size_simplify(arena, size_of("seq + n"), facts)), "3 * m + 3");
    declare(facts, "m", SIZE_eq, "9");
    assert_true(size_is(size_simplify(arena, size_of("seq"), facts), 20));
    assert_int_equal(compare(facts, "seq", SIZE_eq, "20"), TRUTH_yes);
    assert_int_equal(compare(facts, "seq", SIZE_eq, "21"), TRUTH_no);
    SizeFacts *scaled = size_facts(arena);
    declare(scaled, "4 * a", SIZE_eq, "6 * b + 2 * c");
    assert_int_equal(compare(scaled, "2 * a - 3 * b", SIZE_eq, "c"), TRUTH_yes);
}

static void test_a_bound_outlives_an_equality(void **state)
{
    (void)state;
    SizeFacts *facts = size_facts(arena);
    declare(facts, "a", SIZE_ge, "9");
    declare(facts, "a", SIZE_eq, "b + c");
    assert_int_equal(compare(facts, "a", SIZE_ge, "9"), TRUTH_yes);
    assert_int_equal(compare(facts, "a", SIZE_gt, "b"), TRUTH_yes);
}

static void test_declared_divisors(void **state)
{
    (void)state;
    SizeFacts *facts = size_facts(arena);
    assert_int_equal(compare(facts, "seq / 4 * 4", SIZE_eq, "seq"), TRUTH_unknown);
    declare(facts, "seq % 4", SIZE_eq, "0");
    assert_int_equal(compare(facts, "seq / 4 * 4", SIZE_eq, "seq"), TRUTH_yes);
    assert_int_equal(compare(facts, "seq % 4", SIZE_eq, "0"), TRUTH_yes);
    assert_int_equal(compare(facts, "seq / 2 * 2", SIZE_eq, "seq"), TRUTH_yes);
    assert_int_equal(compare(facts, "seq", SIZE_ge, "4"), TRUTH_yes);
    assert_int_equal(compare(facts, "(seq + 3) / 4", SIZE_eq, "seq / 4"), TRUTH_yes);
    assert_int_equal(compare(facts, "seq % 8", SIZE_eq, "0"), TRUTH_unknown);
    static const char *const simplified[][2] = {
        {"seq / 4 * 4", "seq"},
        {"seq", "seq"},
        {"seq / 4", "seq / 4"},
        {"seq / 2", "2 * (seq / 4)"},
        {"(seq + 3) / 4 * batch", "batch * (seq / 4)"},
        {"seq / 2 * 2 + 1", "seq + 1"},
        {"(seq + n) / 8", "(n + seq) / 8"},
        {"batch", "batch"},
    };
    for (size_t i = 0; i < sizeof simplified / sizeof *simplified; i++) {
        const Size *x = size_simplify(arena, size_of(simplified[i][0]), facts);
        assert_string_equal(text_of(x), simplified[i][1]);
    }
    declare(facts, "seq", SIZE_ge, "10");
    assert_int_equal(compare(facts, "seq", SIZE_ge, "12"), TRUTH_yes);
    declare(facts, "seq / 4 % 3", SIZE_eq, "0");
    assert_int_equal(compare(facts, "seq / 12 * 12", SIZE_eq, "seq"), TRUTH_yes);
    assert_string_equal(text_of(size_simplify(arena, size_of("seq / 4"), facts)), "seq / 4");
    assert_string_equal(text_of(size_simplify(arena, size_of("seq"), facts)), "seq");
    declare(facts, "seq", SIZE_eq, "24");
    assert_true(size_is(size_simplify(arena, size_of("seq / 4 + 1"), facts), 7));
}

static void test_divisors_of_sums(void **state)
{
    (void)state;
    SizeFacts *facts = size_facts(arena);
    declare(facts, "(seq + 1) % 4", SIZE_eq, "0");
    assert_int_equal(compare(facts, "(seq + 1) / 4 * 4", SIZE_eq, "seq + 1"), TRUTH_yes);
    assert_int_equal(compare(facts, "seq / 4 * 4 + 3", SIZE_eq, "seq"), TRUTH_yes);
    assert_int_equal(compare(facts, "seq", SIZE_ge, "3"), TRUTH_yes);
    SizeFacts *two = size_facts(arena);
    declare(two, "0", SIZE_eq, "(a + b) % 2");
    assert_int_equal(compare(two, "(a + b) / 2 * 2 - a", SIZE_eq, "b"), TRUTH_yes);
    assert_string_equal(text_of(size_simplify(arena, size_of("a"), two)), "a");
}

// Conditions drawn at random are declared; whatever is decided afterwards must hold of every
// assignment that meets them.
typedef struct Condition {
    const Size *left, *right;
    SizeOp op;
} Condition;

static bool holds(const Condition *c)
{
    int64_t x = 0;
    int64_t y = 0;
    assert_true(size_value(c->left, values, SYMBOLS, &x));
    assert_true(size_value(c->right, values, SYMBOLS, &y));
    switch (c->op) {
    case SIZE_eq: return x == y;
    case SIZE_ne: return x != y;
    case SIZE_lt: return x < y;
    case SIZE_le: return x <= y;
    case SIZE_gt: return x > y;
    case SIZE_ge: return x >= y;
    }
    return false;
}

static const Size *random_linear(void)
{
    const Size *sum = size_int(arena, random_below(9) - 3);
    for (int64_t n = random_below(3); n >= 0; n--) {
        const Size *x = size_symbol(arena, values[random_below(SYMBOLS)].name);
        x = random_below(3) == 0 ? size_add(arena, x, size_int(arena, random_below(5))) : x;
        x = random_below(2) == 0 ? size_div(arena, x, random_below(4) + 1) : x;
        x = random_below(6) == 0 ? size_mod(arena, x, random_below(4) + 1) : x;
        sum = size_add(arena, sum, size_scale(arena, x, random_below(7) - 3));
    }
    return sum;
}

static Condition random_condition(void)
{
    Condition c = {random_linear(), random_linear(), (SizeOp)random_below(6)};
    if (random_below(3) == 0) {
        const Size *x = size_symbol(arena, values[random_below(SYMBOLS)].name);
        x = size_add(arena, x, size_int(arena, random_below(2)));
        c = (Condition){size_mod(arena, x, random_below(4) + 2), size_int(arena, 0), SIZE_eq};
    }
    return c;
}

static void test_what_is_decided_holds(void **state)
{
    (void)state;
    enum { ROUNDS = 1200, NCONDITIONS = 3, NQUESTIONS = 8, MOST = 9 };
    size_t ndecided = 0;
    size_t nmet = 0;
    seed = 99;
    for (size_t round = 0; round < ROUNDS; round++) {
        ArenaMark mark = arena_mark(arena);
        SizeFacts *facts = size_facts(arena);
        Condition conditions[NCONDITIONS];
        size_t n = (size_t)random_below(NCONDITIONS + 1);
        for (size_t i = 0; i < n; i++) {
            conditions[i] = random_condition();
            size_declare(facts, conditions[i].op, conditions[i].left, conditions[i].right);
        }
        Condition questions[NQUESTIONS];
        Truth answers[NQUESTIONS];
        const Size *simple[NQUESTIONS];
        int64_t low[NQUESTIONS];
        int64_t high[NQUESTIONS];
        for (size_t i = 0; i < NQUESTIONS; i++) {
            questions[i] = random_condition();
            answers[i] =
                size_compare(questions[i].op, questions[i].left, questions[i].right, facts);
            simple[i] = size_simplify(arena, questions[i].left, facts);
            size_bounds(questions[i].left, facts, &low[i], &high[i]);
            ndecided += answers[i] != TRUTH_unknown;
        }
        for (int64_t point = 0; point < MOST * MOST * MOST; point++) {
            values[0].value = point % MOST + 1;
            values[1].value = point / MOST % MOST + 1;
            values[2].value = point / (MOST * MOST) + 1;
            bool is_met = true;
            for (size_t i = 0; i < n && is_met; i++) {
                is_met = holds(&conditions[i]);
            }
            nmet += is_met && n > 0;
            for (size_t i = 0; i < NQUESTIONS && is_met; i++) {
                bool truth = holds(&questions[i]);
                assert_true(answers[i] == TRUTH_unknown || (answers[i] == TRUTH_yes) == truth);
                int64_t value = 0;
                int64_t same = 0;
                assert_true(size_value(questions[i].left, values, SYMBOLS, &value));
                assert_true(value >= low[i] && value <= high[i]);
                assert_non_null(simple[i]);
                assert_true(size_value(simple[i], values, SYMBOLS, &same));
                assert_true(value == same);
            }
        }
        arena_reset(arena, mark);
    }
    // Else the test would say nothing.
    assert_true(ndecided > ROUNDS);
    assert_true(nmet > (size_t)ROUNDS * 10);
}

static void test_hard_questions_end(void **state)
{
    (void)state;
    // Products of floors of products …: each level asks for the bounds of the next one several
    // times.
    const Size *x = size_of("x");
    const Size *kept = x;
    for (size_t i = 0; x && i < 60; i++) {
        kept = x;
        const Size *floor = size_div(arena, size_add(arena, x, size_of("y")), 3);
        x = size_mul(arena, size_of("y"), floor);
    }
    SizeFacts *facts = size_facts(arena);
    int64_t low = 0;
    int64_t high = 0;
    size_bounds(kept, facts, &low, &high);
    assert_true(low <= 1 && high == SIZE_INF);
    // A question leaves the arena as it was.
    ArenaMark before = arena_mark(arena);
    (void)size_compare(SIZE_lt, kept, size_of("3"), facts);
    ArenaMark middle = arena_mark(arena);
    assert_true(middle.block == before.block); // only the text read above
    size_bounds(kept, facts, &low, &high);
    ArenaMark after = arena_mark(arena);
    assert_true(after.block == middle.block && after.used == middle.used);
}

static void test_contradictions_do_no_harm(void **state)
{
    (void)state;
    SizeFacts *facts = size_facts(arena);
    declare(facts, "seq", SIZE_ge, "9");
    declare(facts, "seq", SIZE_lt, "3");
    declare(facts, "1", SIZE_eq, "2");
    declare(facts, "seq", SIZE_eq, "seq + 1");
    declare(facts, "2 * seq", SIZE_eq, "5");
    declare(facts, "seq % 4", SIZE_eq, "0");
    declare(facts, "seq % 4", SIZE_eq, "1");
    (void)compare(facts, "seq", SIZE_eq, "4");
    assert_non_null(size_simplify(arena, size_of("seq / 4 + seq"), facts));
}

static void test_extreme_declarations(void **state)
{
    (void)state;
    SizeFacts *facts = size_facts(arena);
    const Size *x = size_of("x");
    const int64_t numbers[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    size_t n = sizeof numbers / sizeof *numbers;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            for (SizeOp op = SIZE_eq; op <= SIZE_ge; op++) {
                const Size *left = size_scale(arena, x, numbers[i]);
                const Size *right = size_int(arena, numbers[j]);
                size_declare(size_facts(arena), op, left, right);
                size_declare(size_facts(arena), op, size_div(arena, left, 3), right);
                size_declare(size_facts(arena), op, size_div(arena, x, INT64_MAX), right);
                (void)size_compare(op, left, right, facts);
                (void)size_compare(op, size_div(arena, left, INT64_MAX), right, facts);
            }
        }
    }
    size_facts_bound(facts, STR("x"), INT64_MIN, INT64_MAX);
    check_bounds(facts, "x", -SIZE_INF, SIZE_INF);
    check_bounds(facts, "x / 2 - x", -SIZE_INF, SIZE_INF);
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
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_sizes_are_at_least_one),
        cmocka_unit_test(test_floors_lie_between_real_quotients),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_declared_bounds),
        cmocka_unit_test(test_declared_equalities),
        cmocka_unit_test(test_a_bound_outlives_an_equality),
        cmocka_unit_test(test_declared_divisors),
        cmocka_unit_test(test_divisors_of_sums),
        cmocka_unit_test(test_what_is_decided_holds),
        cmocka_unit_test(test_hard_questions_end),
        cmocka_unit_test(test_contradictions_do_no_harm),
        cmocka_unit_test(test_extreme_declarations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
