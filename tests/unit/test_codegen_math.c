// The elementwise functions in native code against double: on a grid over all floats, at values
// that are special, and the golden cases of single operations. The bounds are what
// compiler/codegen/math.c promises.
#include "codegen/codegen.h"
#include "loop/loop.h"
#include "native.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define N      4093   // elements of a call: whole registers side by side, single ones, a masked one
#define STRIDE 40009u // of the grid over all bit patterns

typedef struct Promise {
    Scalar fn;
    double units; // in the last place of the exact result, for x >= from
    double from;
    double absolute; // everywhere, relative to max(1, |x|); INFINITY: says nothing
} Promise;

static const Promise promises[] = {
    {S_exp, 1, -INFINITY, INFINITY},
    {S_log, 1, -INFINITY, INFINITY},
    {S_sqrt, 0.5, -INFINITY, INFINITY},
    {S_rsqrt, 1.5, -INFINITY, INFINITY},
    {S_sin, 1, -INFINITY, 1e-7},
    {S_cos, 1, -INFINITY, 1e-7},
    {S_tanh, 2, -INFINITY, 1.2e-7},
    {S_erf, 2, -INFINITY, 1.2e-7},
    {S_sigmoid, 2.5, -80, 1.2e-7},
    {S_relu, 0, -INFINITY, 0},
    {S_gelu, 3, -1, 1.2e-7},
    {S_gelu_tanh, 3, -1, 1.2e-7},
    {S_gelu_sigmoid, 2.5, -1, 1.2e-7},
    {S_silu, 2.5, -80, 1.2e-7},
};

#define NPROMISES (sizeof promises / sizeof *promises)

// y = fn(x) in a vector loop, or fn(x, y) of two.
static Kernel *map_kernel(Arena *a, const char *name, Scalar fn, int64_t n)
{
    Kernel *k = kernel_create(a, str_from(name));
    const Expr *args[2];
    Var var = kernel_add_var(k, "j");
    Affine at = affine_var(a, var, size_int(a, 1));
    size_t nargs = scalar_arity(fn);
    for (size_t i = 0; i < nargs; i++) {
        uint32_t x = kernel_add_operand(k, STR("x"), DT_f32, false);
        args[i] = expr_load(a, k, (Access){.buffer = x, .at = at});
    }
    uint32_t y = kernel_add_operand(k, STR("y"), DT_f32, true);
    Stmt *loop = stmt_loop(a, &k->body, LOOP_vector, var, size_int(a, n));
    stmt_store(a, &loop->body, (Access){.buffer = y, .at = at}, expr_map(a, fn, args, nargs));
    return k;
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double unit(double y)
{
    int e;
    frexp(y, &e);
    return ldexp(1, e - 24 < -149 ? -149 : e - 24);
}

// Whether `got` is as good a result as promised where the exact one is `y`.
static bool is_kept(const Promise *p, double x, double y, float got)
{
    if (isnan(y)) {
        return isnan(got);
    }
    double error = fabs(got - y);
    if (isinf((float)y)) {
        return got == (float)y || error <= p->units * unit((double)0x1.fffffep127f);
    }
    if (fabs(y) < 0x1p-126) { // such results may be taken for 0
        return error <= 0x1p-126;
    }
    double size = fabs(x) > 1 ? fabs(x) : 1;
    bool is_near = isinf(p->absolute) || error <= p->absolute * size;
    return is_near && (x < p->from || error <= p->units * unit(y));
}

static void check_value(const Promise *p, float x, float got)
{
    double in = x;
    double y = scalar_eval(p->fn, DT_f32, &in);
    // sin and cos know nothing of numbers from 2^51 on, and say so.
    bool is_unknown = (p->fn == S_sin || p->fn == S_cos) && fabs(in) >= 0x1p51;
    if (is_unknown ? !isnan(got) : !is_kept(p, in, y, got)) {
        fail_msg("%s(%a) = %a, exactly %a: %.3f units off", scalar_name(p->fn), in, (double)got, y,
                 fabs(got - y) / unit(y));
    }
}

static Native load_functions(Arena *a, Kernel **kernels, const char *name, const char *as)
{
    for (size_t i = 0; i < NPROMISES; i++) {
        const char *text = scalar_name(promises[i].fn);
        kernels[i] = map_kernel(a, str_cstr(a, str_format(a, "f_%s", text)), promises[i].fn, N);
    }
    CodegenTarget target = native_target(a, name, as);
    return native_load(a, native_program(a, kernels, NPROMISES, NULL, 0), &target);
}

static void check_grid(const char *name, const char *as)
{
    static float x[N];
    static float y[N];
    Arena *a = arena_create();
    Kernel *kernels[NPROMISES];
    Native native = load_functions(a, kernels, name, as);
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += (uint64_t)N * STRIDE) {
        for (size_t i = 0; i < N; i++) {
            x[i] = from_bits((uint32_t)(bits + i * STRIDE));
        }
        for (size_t f = 0; f < NPROMISES; f++) {
            native_run(&native, kernels[f], f, NULL, (void *[]){x, y});
            for (size_t i = 0; i < N; i++) {
                check_value(&promises[f], x[i], y[i]);
            }
        }
    }
    // Closer where functions change: -20 … 20.
    for (int block = 0; block < 20; block++) {
        for (size_t i = 0; i < N; i++) {
            x[i] = (float)(-20 + 40 * (block + (double)i / N) / 20);
        }
        for (size_t f = 0; f < NPROMISES; f++) {
            native_run(&native, kernels[f], f, NULL, (void *[]){x, y});
            for (size_t i = 0; i < N; i++) {
                check_value(&promises[f], x[i], y[i]);
            }
        }
    }
    native_close(&native);
    arena_destroy(a);
}

static void test_errors_are_as_promised(void **state)
{
    (void)state;
    check_grid("x86-64-v3", NULL);
    check_grid("x86-64-v4", "x86-64-v3");
}

// ---- special values -----------------------------------------------------------------------------

typedef struct Special {
    Scalar fn;
    float x;
    float y;
    bool exact; // the sign of 0, too
} Special;

static void test_special_values(void **state)
{
    (void)state;
    const float inf = INFINITY;
    const Special specials[] = {
        {S_exp, 0, 1, true},
        {S_exp, -0.0F, 1, true},
        {S_exp, -inf, 0, true},
        {S_exp, inf, inf, true},
        {S_exp, -87.34F, 0, true},
        {S_exp, -104, 0, true},
        {S_exp, -3.4e38F, 0, true},
        {S_exp, 88.73F, inf, true},
        {S_exp, 3.4e38F, inf, true},
        {S_log, 0, -inf, true},
        {S_log, -0.0F, -inf, true},
        {S_log, 1, 0, true},
        {S_log, inf, inf, true},
        {S_log, -1, NAN, true},
        {S_log, -inf, NAN, true},
        {S_sqrt, -0.0F, -0.0F, true},
        {S_sqrt, -1, NAN, true},
        {S_rsqrt, 4, 0.5F, true},
        {S_rsqrt, 0, inf, true},
        {S_rsqrt, inf, 0, true},
        {S_sin, 0, 0, true},
        {S_sin, -0.0F, -0.0F, true},
        {S_sin, inf, NAN, true},
        {S_cos, 0, 1, true},
        {S_cos, -inf, NAN, true},
        {S_tanh, 0, 0, true},
        {S_tanh, -0.0F, -0.0F, true},
        {S_tanh, inf, 1, true},
        {S_tanh, -inf, -1, true},
        {S_tanh, 20, 1, true},
        {S_erf, -0.0F, -0.0F, true},
        {S_erf, inf, 1, true},
        {S_erf, -inf, -1, true},
        {S_erf, 5, 1, true},
        {S_sigmoid, 0, 0.5F, true},
        {S_sigmoid, inf, 1, true},
        {S_sigmoid, -inf, 0, false},
        {S_relu, -inf, 0, true},
        {S_relu, inf, inf, true},
        {S_gelu, 0, 0, true},
        {S_gelu, -0.0F, -0.0F, true},
        {S_gelu, inf, inf, true},
        {S_gelu, -inf, -0.0F, true},
        {S_gelu, 3.4e38F, 3.4e38F, true},
        {S_gelu, -3.4e38F, -0.0F, true},
        {S_gelu, -20, -0.0F, true},
        {S_gelu_tanh, inf, inf, true},
        {S_gelu_tanh, -inf, -0.0F, true},
        {S_gelu_tanh, 3.4e38F, 3.4e38F, true},
        {S_gelu_tanh, -3.4e38F, -0.0F, true},
        {S_gelu_sigmoid, inf, inf, true},
        {S_gelu_sigmoid, -inf, -0.0F, true},
        {S_gelu_sigmoid, -3.4e38F, -0.0F, true},
        {S_silu, inf, inf, true},
        {S_silu, -inf, -0.0F, true},
        {S_silu, -1e10F, -0.0F, true},
        {S_silu, -3.4e38F, -0.0F, true},
    };
    static float x[N];
    static float y[N];
    Arena *a = arena_create();
    Kernel *kernels[NPROMISES];
    Native native = load_functions(a, kernels, "x86-64-v3", NULL);
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        const Special *s = &specials[i];
        size_t f = 0;
        while (promises[f].fn != s->fn) {
            f++;
        }
        // In a whole register and in the masked one.
        x[3] = x[N - 1] = s->x;
        native_run(&native, kernels[f], f, NULL, (void *[]){x, y});
        for (size_t j = 3; j < N; j += N - 4) {
            bool same = isnan(s->y) ? isnan(y[j])
                        : s->exact  ? y[j] == s->y && signbit(y[j]) == signbit(s->y)
                                    : fabsf(y[j] - s->y) < 1e-37F;
            if (!same) {
                fail_msg("%s(%a) = %a, not %a", scalar_name(s->fn), (double)s->x, (double)y[j],
                         (double)s->y);
            }
        }
    }
    native_close(&native);
    arena_destroy(a);
}

// NaN of any bits gives NaN, whatever arithmetic its bits might go through.
static void test_nan_stays(void **state)
{
    (void)state;
    static const uint32_t patterns[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff, 0xffffffff,
                                        0x7fc00080, 0x7fc00100, 0x7fc000ff, 0x7fd55555, 0x7f8001ff};
    static float x[N];
    static float y[N];
    Arena *a = arena_create();
    Kernel *kernels[NPROMISES];
    Native native = load_functions(a, kernels, "x86-64-v3", NULL);
    for (size_t f = 0; f < NPROMISES; f++) {
        for (size_t i = 0; i < N; i++) {
            x[i] = from_bits(patterns[i % (sizeof patterns / sizeof *patterns)]);
        }
        native_run(&native, kernels[f], f, NULL, (void *[]){x, y});
        for (size_t i = 0; i < N; i++) {
            if (!isnan(y[i])) {
                fail_msg("%s of NaN is %a", scalar_name(promises[f].fn), (double)y[i]);
            }
        }
    }
    native_close(&native);
    arena_destroy(a);
}

// The same bits in every place of a vector loop, and for one element alone.
static void test_bits_do_not_depend_on_the_place(void **state)
{
    (void)state;
    enum { MOST = 67 };
    Arena *a = arena_create();
    for (size_t f = 0; f < NPROMISES; f++) {
        Kernel *kernels[MOST];
        for (int64_t n = 1; n <= MOST; n++) {
            const char *name = str_cstr(a, str_format(a, "n%d", (int)n));
            kernels[n - 1] = map_kernel(a, name, promises[f].fn, n);
        }
        CodegenTarget target = native_target(a, "x86-64-v3", NULL);
        Native native = native_load(a, native_program(a, kernels, MOST, NULL, 0), &target);
        float x[MOST];
        float all[MOST];
        for (size_t i = 0; i < MOST; i++) {
            x[i] = (float)sin((double)i * 1.7) * 9;
        }
        native_run(&native, kernels[MOST - 1], MOST - 1, NULL, (void *[]){x, all});
        for (size_t n = 1; n <= MOST; n++) {
            float y[MOST];
            for (size_t first = 0; first + n <= MOST; first += n) {
                native_run(&native, kernels[n - 1], n - 1, NULL, (void *[]){x + first, y});
                assert_memory_equal(y, all + first, n * sizeof *y);
            }
        }
        native_close(&native);
    }
    arena_destroy(a);
}

// ---- pow, min, max ------------------------------------------------------------------------------

static const float corners[] = {0,        -0.0F,  1,    -1,       0.5F,      2,      -2,
                                3,        -3,     2.5F, -2.5F,    1e-3F,     1e30F,  1e-30F,
                                -1e30F,   0.1F,   100,  -100,     1e10F,     0.999F, 1.001F,
                                7,        -0.5F,  126,  -126,     127,       1e-38F, 3.4e38F,
                                16777216, 1e-45F, -7,   INFINITY, -INFINITY, NAN};

static void test_two_operands(void **state)
{
    (void)state;
    enum { CORNERS = sizeof corners / sizeof *corners, PAIRS = CORNERS * CORNERS };
    static const Scalar fns[] = {S_pow, S_min, S_max, S_add, S_sub, S_mul, S_div};
    static float x[PAIRS];
    static float y[PAIRS];
    static float z[PAIRS];
    Arena *a = arena_create();
    Kernel *kernels[7];
    for (size_t f = 0; f < 7; f++) {
        const char *name = str_cstr(a, str_format(a, "f%zu", f));
        kernels[f] = map_kernel(a, name, fns[f], PAIRS);
    }
    CodegenTarget target = native_target(a, "x86-64-v3", NULL);
    Native native = native_load(a, native_program(a, kernels, 7, NULL, 0), &target);
    for (size_t i = 0; i < PAIRS; i++) {
        x[i] = corners[i / CORNERS];
        y[i] = corners[i % CORNERS];
    }
    for (size_t f = 0; f < 7; f++) {
        Promise p = {fns[f], fns[f] == S_pow ? 1 : 0.5, -INFINITY, INFINITY};
        native_run(&native, kernels[f], f, NULL, (void *[]){x, y, z});
        for (size_t i = 0; i < PAIRS; i++) {
            double want = scalar_eval(fns[f], DT_f32, (double[]){x[i], y[i]});
            if (!is_kept(&p, x[i], want, z[i])) {
                fail_msg("%s(%a, %a) = %a, exactly %a", scalar_name(fns[f]), (double)x[i],
                         (double)y[i], (double)z[i], want);
            }
        }
    }
    native_close(&native);
    arena_destroy(a);
}

// Exponents that are constants, as graphs mostly have them.
static void test_constant_exponents(void **state)
{
    (void)state;
    enum { CORNERS = sizeof corners / sizeof *corners };
    static const double exponents[] = {0, 1, 2, 3, -1, 0.5, 4, -2};
    Arena *a = arena_create();
    Kernel *kernels[8];
    for (size_t i = 0; i < 8; i++) {
        Kernel *k = kernels[i] = kernel_create(a, str_format(a, "p%zu", i));
        uint32_t x = kernel_add_operand(k, STR("x"), DT_f32, false);
        uint32_t y = kernel_add_operand(k, STR("y"), DT_f32, true);
        Var var = kernel_add_var(k, "j");
        Affine at = affine_var(a, var, size_int(a, 1));
        Stmt *loop = stmt_loop(a, &k->body, LOOP_vector, var, size_int(a, CORNERS));
        const Expr *args[] = {expr_load(a, k, (Access){.buffer = x, .at = at}),
                              expr_const(a, DT_f32, exponents[i])};
        stmt_store(a, &loop->body, (Access){.buffer = y, .at = at}, expr_map(a, S_pow, args, 2));
    }
    CodegenTarget target = native_target(a, "x86-64-v3", NULL);
    Native native = native_load(a, native_program(a, kernels, 8, NULL, 0), &target);
    for (size_t i = 0; i < 8; i++) {
        Promise p = {S_pow, 1, -INFINITY, INFINITY};
        float y[CORNERS];
        native_run(&native, kernels[i], i, NULL, (void *[]){(void *)(uintptr_t)corners, y});
        for (size_t j = 0; j < CORNERS; j++) {
            double want = scalar_eval(S_pow, DT_f32, (double[]){corners[j], exponents[i]});
            if (!is_kept(&p, corners[j], want, y[j])) {
                fail_msg("%a ** %g = %a, exactly %a", (double)corners[j], exponents[i],
                         (double)y[j], want);
            }
        }
    }
    native_close(&native);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_are_as_promised),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_nan_stays),
        cmocka_unit_test(test_bits_do_not_depend_on_the_place),
        cmocka_unit_test(test_two_operands),
        cmocka_unit_test(test_constant_exponents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
