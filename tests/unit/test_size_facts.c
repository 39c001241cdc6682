// What is known of sizes, and what follows from it. Besides fixed cases, random conditions are held
// against every small assignment.
#include "base/size.h"

#include "size_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

// ---- random conditions ----

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

// ---- limits ----

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
    return cmocka_run_group_tests(tests, size_set_up, size_tear_down);
}
