// The elementwise functions and the element types.
#include "base/scalar.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const double inf = (double)INFINITY;
static const double nan_value = (double)NAN;

static double eval1(Scalar fn, double x) { return scalar_eval(fn, DT_f32, &x); }

static double eval2(Scalar fn, DType dtype, double x, double y)
{
    const double args[] = {x, y};
    return scalar_eval(fn, dtype, args);
}

static void assert_same(double got, double expected)
{
    if (isnan(expected)) {
        assert_true(isnan(got));
        return;
    }
    assert_memory_equal(&got, &expected, sizeof got); // the sign of zero counts
}

// ---- names and types ----

static void test_element_types(void **state)
{
    (void)state;
    DType t = DT_count;
    assert_true(dtype_from_name(STR("f32"), &t) && t == DT_f32);
    assert_true(dtype_from_name(STR("i32"), &t) && t == DT_i32);
    assert_true(dtype_from_name(STR("bool"), &t) && t == DT_bool);
    assert_false(dtype_from_name(STR("f16"), &t)); // of files alone
    assert_false(dtype_from_name(STR("F32"), &t));
    assert_false(dtype_from_name(STR(""), &t));
    assert_int_equal(t, DT_bool);
    assert_true(dtype_from_file_name(STR("BF16"), &t) && t == DT_bf16);
    assert_false(dtype_from_file_name(STR("bf16"), &t));
    for (DType d = 0; d < DT_count; d++) {
        assert_true(dtype_from_file_name(str_from(dtype_file_name(d)), &t) && t == d);
    }
    assert_int_equal(dtype_bytes(DT_f32), 4);
    assert_int_equal(dtype_bytes(DT_bool), 1);
    assert_int_equal(dtype_bytes(DT_f64), 8);
    assert_string_equal(dtype_name(DT_bool), "bool");
    assert_string_equal(dtype_file_name(DT_bool), "BOOL");
}

static void test_elements_hold_values(void **state)
{
    (void)state;
    assert_true(dtype_is_element(DT_f32) && dtype_is_element(DT_bool));
    assert_false(dtype_is_element(DT_f16) || dtype_is_element(DT_count));
    assert_true(dtype_holds(DT_i32, INT32_MIN) && dtype_holds(DT_i32, INT32_MAX));
    assert_false(dtype_holds(DT_i32, 2147483648.0) || dtype_holds(DT_i32, 0.5));
    assert_false(dtype_holds(DT_i32, NAN) || dtype_holds(DT_i32, -INFINITY));
    assert_true(dtype_holds(DT_bool, 0) && dtype_holds(DT_bool, 1));
    assert_false(dtype_holds(DT_bool, 2) || dtype_holds(DT_bool, NAN));
    assert_true(dtype_holds(DT_f32, 0.5) && dtype_holds(DT_f32, NAN));
}

static void test_names_and_words(void **state)
{
    (void)state;
    Scalar fn = S_count;
    for (Scalar i = 0; i < S_count; i++) {
        assert_true(scalar_from_name(str_from(scalar_name(i)), &fn) && fn == i);
        assert_in_range(scalar_arity(i), 1, SCALAR_MAX_ARITY);
        if (scalar_word(i)) {
            assert_true(scalar_from_word(str_from(scalar_word(i)), scalar_arity(i), &fn));
            assert_int_equal(fn, i); // no two share a word and an arity
        }
    }
    assert_true(scalar_from_word(STR("-"), 2, &fn) && fn == S_sub);
    assert_true(scalar_from_word(STR("-"), 1, &fn) && fn == S_neg);
    assert_true(scalar_from_word(STR("**"), 2, &fn) && fn == S_pow);
    assert_true(scalar_from_word(STR("f32"), 1, &fn) && fn == S_to_f32);
    assert_false(scalar_from_word(STR("exp"), 2, &fn));
    assert_false(scalar_from_word(STR("to_bool"), 1, &fn));
    assert_false(scalar_from_name(STR("+"), &fn));
    assert_null(scalar_word(S_to_bool));
    assert_string_equal(scalar_name(S_and), "and");
}

typedef struct TypeCase {
    Scalar fn;
    DType args[3];
    bool fits;
    DType result;
} TypeCase;

static void test_result_types(void **state)
{
    (void)state;
    static const TypeCase cases[] = {
        {S_add, {DT_f32, DT_f32}, true, DT_f32},
        {S_add, {DT_i32, DT_i32}, true, DT_i32},
        {S_add, {DT_f32, DT_i32}, false, DT_count},
        {S_add, {DT_bool, DT_bool}, false, DT_count},
        {S_div, {DT_f32, DT_f32}, true, DT_f32},
        {S_div, {DT_i32, DT_i32}, false, DT_count},
        {S_pow, {DT_i32, DT_i32}, false, DT_count},
        {S_exp, {DT_i32}, false, DT_count},
        {S_neg, {DT_i32}, true, DT_i32},
        {S_relu, {DT_f32}, true, DT_f32},
        {S_eq, {DT_bool, DT_bool}, true, DT_bool},
        {S_ne, {DT_i32, DT_i32}, true, DT_bool},
        {S_eq, {DT_bool, DT_i32}, false, DT_count},
        {S_lt, {DT_bool, DT_bool}, false, DT_count},
        {S_ge, {DT_i32, DT_i32}, true, DT_bool},
        {S_and, {DT_bool, DT_bool}, true, DT_bool},
        {S_and, {DT_i32, DT_i32}, false, DT_count},
        {S_not, {DT_bool}, true, DT_bool},
        {S_select, {DT_bool, DT_i32, DT_i32}, true, DT_i32},
        {S_select, {DT_bool, DT_bool, DT_bool}, true, DT_bool},
        {S_select, {DT_f32, DT_f32, DT_f32}, false, DT_count},
        {S_select, {DT_bool, DT_f32, DT_i32}, false, DT_count},
        {S_to_f32, {DT_bool}, true, DT_f32},
        {S_to_i32, {DT_f32}, true, DT_i32},
        {S_to_i32, {DT_i32}, true, DT_i32},
        {S_to_bool, {DT_f32}, true, DT_bool},
        {S_to_f32, {DT_f16}, false, DT_count},
        {S_eq, {DT_f64, DT_f64}, false, DT_count},
        {S_select, {DT_bool, DT_u8, DT_u8}, false, DT_count},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        DType out = DT_count;
        assert_true(scalar_result(cases[i].fn, cases[i].args, &out) == cases[i].fits);
        assert_int_equal(out, cases[i].result);
    }
}

// ---- values ----

static void test_activations_match_their_definition(void **state)
{
    (void)state;
    static const Scalar fns[] = {S_gelu, S_gelu_tanh, S_gelu_sigmoid, S_silu, S_sigmoid};
    enum { NFNS = sizeof fns / sizeof *fns };
    // The formulas in 60 digits, rounded to 17.
    static const struct {
        double x;
        double y[NFNS];
    } rows[] = {
        {-37.0,
         {-2.1184613523340934e-298, -0.0, -1.6555451171024469e-26, -3.1572276215253041e-15,
          8.5330476257440651e-17}},
        {-30.0,
         {-1.4720141781444561e-196, -0.0, -2.0046797745009427e-21, -2.8072868906517897e-12,
          9.357622968839299e-14}},
        {-10.0,
         {-7.6198530241605261e-23, -1.204092348209806e-37, -4.05796129485531e-7,
          -4.5397868702434395e-4, 4.5397868702434395e-5}},
        {-6.0,
         {-5.9195258702261888e-9, -8.4396467007622971e-11, -2.203535497873924e-4,
          -1.4835738939808646e-2, 2.4726231566347743e-3}},
        {-3.0,
         {-4.0496940948902836e-3, -3.6373920817730188e-3, -1.8071309707785967e-2,
          -1.4227761953270034e-1, 4.7425873177566781e-2}},
        {-2.25,
         {-2.7505063473850582e-2, -2.7201329897288611e-2, -4.78321281366046e-2,
          -2.1453629602299636e-1, 9.5349464899109494e-2}},
        {-1.0,
         {-1.5865525393145705e-1, -1.588080093917233e-1, -1.542042340671787e-1,
          -2.6894142136999512e-1, 2.6894142136999512e-1}},
        {-0.5,
         {-1.5426876936299345e-1, -1.5428599017485608e-1, -1.4961156339361988e-1,
          -1.8877033439907272e-1, 3.7754066879814544e-1}},
        {-0.0078125,
         {-3.8819007432746673e-3, -3.8819007445005978e-3, -3.8802799236551888e-3,
          -3.8909912885472409e-3, 4.9804688493404683e-1}},
        {0.0078125,
         {3.9305992567253327e-3, 3.9305992554994022e-3, 3.9322200763448112e-3,
          3.9215087114527591e-3, 5.0195311506595317e-1}},
        {0.5,
         {3.4573123063700655e-1, 3.4571400982514392e-1, 3.5038843660638012e-1,
          3.1122966560092728e-1, 6.2245933120185456e-1}},
        {1.0,
         {8.4134474606854295e-1, 8.411919906082767e-1, 8.457957659328213e-1, 7.3105857863000488e-1,
          7.3105857863000488e-1}},
        {2.25,
         {2.2224949365261494, 2.2227986701027114, 2.2021678718633954, 2.0354637039770036,
          9.0465053510089051e-1}},
        {3.0,
         {2.9959503059051097, 2.996362607918227, 2.981928690292214, 2.8577223804672997,
          9.5257412682243322e-1}},
        {6.0,
         {5.9999999940804741, 5.9999999999156035, 5.9997796464502126, 5.9851642610601914,
          9.9752737684336523e-1}},
        {10.0, {1.0e+1, 1.0e+1, 9.9999995942038705, 9.9995460213129757, 9.9995460213129757e-1}},
        {30.0, {3.0e+1, 3.0e+1, 3.0e+1, 2.9999999999997193e+1, 9.9999999999990642e-1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double x = rows[i].x;
        // An argument rounded by half an ulp moves exp(-z) by |z| and erfc(z) by 2 z^2 of them.
        double u = 1.6 * (fabs(x) + 0.045 * fabs(x * x * x));
        const double moved[NFNS] = {x * x, 3 * u, 2 * fabs(x), fabs(x), fabs(x)};
        for (size_t j = 0; j < NFNS; j++) {
            double y = eval1(fns[j], x);
            assert_true(fabs(y - rows[i].y[j]) <=
                        (4 + moved[j]) * DBL_EPSILON * fabs(rows[i].y[j]) + DBL_TRUE_MIN);
        }
    }
}

static void test_activations_at_the_ends(void **state)
{
    (void)state;
    static const Scalar gates[] = {S_gelu, S_gelu_tanh, S_gelu_sigmoid, S_silu};
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) {
        assert_same(eval1(gates[i], inf), inf);
        assert_same(eval1(gates[i], -inf), -0.0);
        assert_same(eval1(gates[i], nan_value), nan_value);
        assert_same(eval1(gates[i], 0.0), 0.0);
        assert_same(eval1(gates[i], -0.0), -0.0);
        assert_same(eval1(gates[i], 1e300), 1e300);
        assert_same(eval1(gates[i], -1e300), -0.0);
        assert_same(eval1(gates[i], 3.4e38), 3.4e38);
        assert_same(eval1(gates[i], DBL_MAX), DBL_MAX);
        assert_same(eval1(gates[i], 1e-310), 5e-311);
    }
    assert_same(eval1(S_sigmoid, inf), 1.0);
    assert_same(eval1(S_sigmoid, -inf), 0.0);
    assert_same(eval1(S_sigmoid, 1000.0), 1.0);
    assert_same(eval1(S_sigmoid, -1000.0), 0.0);
    assert_same(eval1(S_sigmoid, 0.0), 0.5);
    assert_same(eval1(S_sigmoid, nan_value), nan_value);
    assert_same(eval1(S_tanh, -inf), -1.0);
    assert_same(eval1(S_erf, inf), 1.0);
    assert_same(eval1(S_exp, -inf), 0.0);
    assert_true(eval1(S_exp, -100.0) > 0); // only float32 kernels stop at -87.34
    assert_same(eval1(S_rsqrt, 0.0), inf);
    assert_same(eval1(S_rsqrt, 4.0), 0.5);
    assert_same(eval1(S_log, 0.0), -inf);
    assert_same(eval1(S_sqrt, -1.0), nan_value);
    assert_same(eval2(S_div, DT_f32, 1.0, 0.0), inf);
    assert_same(eval2(S_pow, DT_f32, 2.0, -1.0), 0.5);
}

static void test_nan_is_kept(void **state)
{
    (void)state;
    assert_same(eval1(S_relu, nan_value), nan_value);
    assert_same(eval1(S_relu, -3.0), 0.0);
    assert_same(eval1(S_relu, -inf), 0.0);
    assert_same(eval1(S_relu, 3.0), 3.0);
    assert_same(eval2(S_min, DT_f32, nan_value, 1.0), nan_value);
    assert_same(eval2(S_min, DT_f32, 1.0, nan_value), nan_value);
    assert_same(eval2(S_max, DT_f32, nan_value, 1.0), nan_value);
    assert_same(eval2(S_max, DT_f32, -inf, nan_value), nan_value);
    assert_same(eval2(S_max, DT_f32, nan_value, -inf), nan_value);
    assert_same(eval2(S_min, DT_f32, 2.0, -1.0), -1.0);
    assert_same(eval2(S_max, DT_f32, 2.0, -1.0), 2.0);
    assert_same(eval2(S_max, DT_i32, -2.0, -1.0), -1.0);
}

static void test_i32_wraps(void **state)
{
    (void)state;
    assert_same(eval2(S_add, DT_i32, INT32_MAX, 1), INT32_MIN);
    assert_same(eval2(S_sub, DT_i32, INT32_MIN, 1), INT32_MAX);
    assert_same(eval2(S_mul, DT_i32, 65536, 65536), 0);
    assert_same(eval2(S_mul, DT_i32, INT32_MAX, INT32_MAX), 1);
    assert_same(eval2(S_mul, DT_i32, INT32_MIN, INT32_MIN), 0);
    assert_same(eval2(S_mul, DT_i32, 123456789, 987654321), -67153019); // mod 2^32, signed
    assert_same(eval2(S_add, DT_i32, -5, 3), -2);
    double least = INT32_MIN;
    assert_same(scalar_eval(S_neg, DT_i32, &least), INT32_MIN);
    assert_same(scalar_eval(S_abs, DT_i32, &least), INT32_MIN);
    double zero = 0;
    assert_same(scalar_eval(S_neg, DT_i32, &zero), 0.0); // integers have one zero
    assert_same(scalar_eval(S_neg, DT_f32, &zero), -0.0);
    assert_same(eval2(S_add, DT_f32, INT32_MAX, 1), 2147483648.0);
}

static void test_conversions(void **state)
{
    (void)state;
    static const double pairs[][2] = {
        {1.9, 1},
        {-1.9, -1},
        {0.5, 0},
        {3e9, INT32_MAX},
        {-3e9, INT32_MIN},
        {2147483647.5, INT32_MAX},
        {1e300, INT32_MAX},
        {-2147483648.5, INT32_MIN},
        {2147483646.9, 2147483646},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_true(eval1(S_to_i32, pairs[i][0]) == pairs[i][1]);
    }
    assert_same(eval1(S_to_i32, nan_value), 0.0);
    assert_same(eval1(S_to_i32, -0.5), 0.0);
    assert_same(eval1(S_to_i32, -0.0), 0.0);
    assert_same(eval1(S_to_i32, inf), INT32_MAX);
    assert_same(eval1(S_to_i32, -inf), INT32_MIN);
    assert_same(eval1(S_to_f32, 16777217.0), 16777217.0);
    assert_same(eval1(S_to_bool, 0.0), 0.0);
    assert_same(eval1(S_to_bool, -0.0), 0.0);
    assert_same(eval1(S_to_bool, 1e-300), 1.0);
    assert_same(eval1(S_to_bool, nan_value), 1.0);
}

static void test_comparisons_and_logic(void **state)
{
    (void)state;
    static const Scalar ops[] = {S_eq, S_ne, S_lt, S_le, S_gt, S_ge};
    static const double less[] = {0, 1, 1, 1, 0, 0};
    static const double equal[] = {1, 0, 0, 1, 0, 1};
    static const double unordered[] = {0, 1, 0, 0, 0, 0};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        assert_same(eval2(ops[i], DT_f32, 1, 2), less[i]);
        assert_same(eval2(ops[i], DT_i32, -7, -7), equal[i]);
        assert_same(eval2(ops[i], DT_f32, nan_value, 1), unordered[i]);
        assert_same(eval2(ops[i], DT_f32, 0.0, -0.0), equal[i]);
    }
    for (int x = 0; x < 2; x++) {
        for (int y = 0; y < 2; y++) {
            assert_same(eval2(S_and, DT_bool, x, y), x * y);
            assert_same(eval2(S_or, DT_bool, x, y), x + y > 0);
        }
        double arg = x;
        assert_same(scalar_eval(S_not, DT_bool, &arg), 1 - x);
    }
    const double yes[] = {1, 5, nan_value};
    const double no[] = {0, nan_value, 6};
    assert_same(scalar_eval(S_select, DT_f32, yes), 5);
    assert_same(scalar_eval(S_select, DT_f32, no), 6);
    assert_same(scalar_eval(S_select, DT_i32, no), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_element_types),
        cmocka_unit_test(test_elements_hold_values),
        cmocka_unit_test(test_names_and_words),
        cmocka_unit_test(test_result_types),
        cmocka_unit_test(test_activations_match_their_definition),
        cmocka_unit_test(test_activations_at_the_ends),
        cmocka_unit_test(test_nan_is_kept),
        cmocka_unit_test(test_i32_wraps),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_comparisons_and_logic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
