// Every function of scalar.def for every element type that it takes, over all combinations of
// values at which arithmetic changes, native against evaluated. Sums, products and the like must be
// equal; how near the others come is another test's matter (test_codegen_math.c).
#include "codegen/codegen.h"
#include "loop/loop.h"
#include "native.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MAX_KERNELS (3 * S_count)

static const float floats[] = {
    0,       -0.0F,    1,    -1,      0.5F,          -0.5F,          1.5F,      -2.75F, 1e-40F,
    -1e-40F, 1.2e-38F, 3e9F, -3e9F,   2147483647.0F, -2147483648.0F, 1e15F,     -1e15F, 8388609,
    1e-5F,   33.3F,    -7,   3.4e38F, -3.4e38F,      INFINITY,       -INFINITY, NAN};
static const int32_t ints[] = {0,         1,
                               -1,        2,
                               -2,        7,
                               -12345,    46341,
                               65536,     -65536,
                               33554433,  1000000007,
                               INT32_MAX, INT32_MAX - 1,
                               INT32_MIN, INT32_MIN + 1};
static const uint8_t bools[] = {0, 1, 2, 255}; // in memory any byte but 0 is true

static size_t count_of(DType dtype)
{
    return dtype == DT_f32   ? sizeof floats / sizeof *floats
           : dtype == DT_i32 ? sizeof ints / sizeof *ints
                             : sizeof bools;
}

static void set(Data *d, int64_t at, size_t special)
{
    if (d->dtype == DT_f32) {
        ((float *)d->bytes)[at] = floats[special];
    } else if (d->dtype == DT_i32) {
        ((int32_t *)d->bytes)[at] = ints[special];
    } else {
        ((uint8_t *)d->bytes)[at] = bools[special];
    }
}

// sin and cos know nothing of numbers from 2^51 on.
static bool is_left_out(Scalar fn, DType dtype, size_t special)
{
    return (fn == S_sin || fn == S_cos) && dtype == DT_f32 && isfinite(floats[special]) &&
           fabsf(floats[special]) > 1e15F;
}

static bool is_exact(Scalar fn, DType result)
{
    static const Scalar exact[] = {S_add, S_sub, S_mul,    S_div,  S_min,    S_max,
                                   S_neg, S_abs, S_select, S_relu, S_to_f32, S_sqrt};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        if (fn == exact[i]) {
            return true;
        }
    }
    return result != DT_f32;
}

// The combinations of special values as operands, and the function's kernel over them.
static Kernel *add_kernel(Arena *a, Scalar fn, DType dtype, Data *data)
{
    DType types[3] = {dtype, dtype, dtype};
    DType result;
    size_t nargs = scalar_arity(fn);
    if (fn == S_select) {
        types[0] = DT_bool;
    }
    if (!scalar_result(fn, types, &result)) {
        return NULL;
    }
    int64_t n = 1;
    for (size_t i = 0; i < nargs; i++) {
        n *= (int64_t)count_of(types[i]);
    }
    Str name = str_format(a, "%s_%s", scalar_name(fn), dtype_name(dtype));
    Kernel *k = kernel_create(a, name);
    Var var = kernel_add_var(k, "j");
    Affine at = affine_var(a, var, size_int(a, 1));
    const Expr *args[3];
    for (size_t i = 0; i < nargs; i++) {
        uint32_t x = kernel_add_operand(k, STR("x"), types[i], false);
        args[i] = expr_load(a, k, (Access){.buffer = x, .at = at});
        data[i] = native_data(a, types[i], n);
    }
    for (int64_t row = 0; row < n; row++) {
        size_t left = (size_t)row;
        for (size_t i = 0; i < nargs; i++) {
            size_t special = left % count_of(types[i]);
            set(&data[i], row, is_left_out(fn, types[i], special) ? 0 : special);
            left /= count_of(types[i]);
        }
    }
    uint32_t y = kernel_add_operand(k, STR("y"), result, true);
    data[nargs] = native_data(a, result, n);
    Stmt *loop = stmt_loop(a, &k->body, LOOP_vector, var, size_int(a, n));
    stmt_store(a, &loop->body, (Access){.buffer = y, .at = at}, expr_map(a, fn, args, nargs));
    return k;
}

static void check_all(const char *name, const char *as)
{
    static const DType dtypes[] = {DT_f32, DT_i32, DT_bool};
    Arena *a = arena_create();
    Kernel *kernels[MAX_KERNELS];
    Scalar fns[MAX_KERNELS];
    Data(*data)[4] = arena_alloc(a, sizeof(Data[MAX_KERNELS][4]), 16);
    size_t n = 0;
    for (Scalar fn = 0; fn < S_count; fn++) {
        for (size_t d = 0; d < 3; d++) {
            kernels[n] = add_kernel(a, fn, dtypes[d], data[n]);
            fns[n] = fn;
            n += kernels[n] != NULL;
        }
    }
    assert_true(n > S_count);
    CodegenTarget target = native_target(a, name, as);
    Native native = native_load(a, native_program(a, kernels, n, NULL, 0), &target);
    for (size_t i = 0; i < n; i++) {
        DType result = kernels[i]->buffers.items[kernels[i]->noperands - 1].dtype;
        double tolerance = is_exact(fns[i], result) ? 0 : 1e-6;
        native_check(&native, kernels[i], i, NULL, 0, data[i], tolerance);
    }
    native_close(&native);
    arena_destroy(a);
}

static void test_vectors_of_8(void **state)
{
    (void)state;
    check_all("x86-64-v3", NULL);
}

static void test_vectors_of_16(void **state)
{
    (void)state;
    check_all("x86-64-v4", "x86-64-v3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_of_8),
        cmocka_unit_test(test_vectors_of_16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
