// Running kernels and programs: results against plain loops in double, and every kind of misuse.
#include "loop/loop.h"
#include "loop/program.h"
#include "loop_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// ASan ends a process that asks for too much, where calloc itself says NULL.
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof *(array)))

static bool run(const Kernel *k, int64_t batch, void *const *operands, const int64_t *counts,
                uint32_t *fault, Buf *why)
{
    SizeBinding bindings[] = {{STR("batch"), batch}};
    return kernel_eval(k, bindings, 1, operands, counts, fault, why);
}

static void assert_runs(const Kernel *k, int64_t batch, void *const *operands,
                        const int64_t *counts)
{
    Buf why = {.arena = k->arena};
    uint32_t fault = 0;
    bool ok = run(k, batch, operands, counts, &fault, &why);
    if (!ok)
        print_error("%s\n", why.ptr);
    assert_true(ok);
    assert_int_equal(fault, 0);
}

static void assert_refused(const Kernel *k, int64_t batch, void *const *operands,
                           const int64_t *counts, const char *part)
{
    Buf why = {.arena = k->arena};
    uint32_t fault = 0;
    assert_false(run(k, batch, operands, counts, &fault, &why));
    if (!strstr(why.ptr, part))
        print_error("expected '%s' in: %s\n", part, why.ptr);
    assert_non_null(strstr(why.ptr, part));
}

// A number between -1 and 1 for each index, the same every time.
static float number(int64_t i) { return (float)((i * 7919 + 13) % 2003 - 1001) / 1001.0f; }

static float *numbers(Arena *a, int64_t n)
{
    float *out = arena_new(a, float, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++)
        out[i] = number(i);
    return out;
}

// One rounding to float at each of two stores.
static bool is_near(double x, double expected)
{
    return fabs(x - expected) <= 2.5e-7 * (1 + fabs(expected));
}

static void assert_near(double x, double expected)
{
    if (!is_near(x, expected))
        print_error("%.9g, expected %.9g\n", x, expected);
    assert_true(is_near(x, expected));
}

// ---- whole kernels ------------------------------------------------------------------------------

static double gelu(double x) { return 0.5 * x * (1 + erf(x / sqrt(2))); }

static void check_dense(int64_t batch)
{
    enum { ROWS = KIT_ROWS, K = KIT_K, N = KIT_COLS };
    Arena *a = arena_create();
    Kernel *k = kit_dense(a, "dense");
    float *x = numbers(a, batch * ROWS * K);
    float *w = numbers(a, K * N);
    float *bias = numbers(a, N);
    float *y = arena_new(a, float, (size_t)(batch * ROWS * N) + 1);
    // Columns behind the last are NaN: nothing of them may get into the result.
    float packed[3 * K * 16];
    for (int64_t i = 0; i < COUNT(packed); i++) {
        int64_t col = i / (K * 16) * 16 + i % 16;
        packed[i] = col < N ? w[i / 16 % K * N + col] : NAN;
    }
    void *operands[] = {x, packed, bias, y};
    const int64_t counts[] = {batch * ROWS * K, COUNT(packed), N, batch * ROWS * N};
    assert_runs(k, batch, operands, counts);
    for (int64_t row = 0; row < batch * ROWS; row++) {
        for (int64_t col = 0; col < N; col++) {
            double sum = 0;
            for (int64_t i = 0; i < K; i++)
                sum += (double)x[row * K + i] * w[i * N + col];
            assert_near(y[row * N + col], gelu((float)sum + (double)bias[col]));
        }
    }
    arena_destroy(a);
}

static void test_dense(void **state)
{
    (void)state;
    check_dense(1);
    check_dense(3);
}

static void test_softmax(void **state)
{
    (void)state;
    enum { BATCH = 4, N = 11 };
    Arena *a = arena_create();
    float *x = numbers(a, BATCH * N);
    for (int64_t i = 0; i < N; i++)
        x[N + i] = i == 3 ? 1e4f : -1e4f;
    float y[BATCH * N];
    void *operands[] = {x, y};
    assert_runs(kit_softmax(a, "softmax", N), BATCH, operands,
                (const int64_t[]){BATCH * N, BATCH * N});
    for (int64_t b = 0; b < BATCH; b++) {
        double high = -INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < N; j++)
            high = fmax(high, x[b * N + j]);
        for (int64_t j = 0; j < N; j++)
            sum += exp(x[b * N + j] - high);
        for (int64_t j = 0; j < N; j++)
            assert_near(y[b * N + j], exp(x[b * N + j] - high) / sum);
    }
    arena_destroy(a);
}

static void test_gather_clamps_and_says_so(void **state)
{
    (void)state;
    Arena *a = arena_create();
    float *table = numbers(a, 7 * 4);
    int32_t ids[] = {6, 0, 3};
    float y[3 * 4];
    void *operands[] = {table, ids, y};
    const int64_t counts[] = {28, 3, 12};
    Kernel *k = kit_gather(a, "embed", 7, 4);
    assert_runs(k, 3, operands, counts);
    for (int64_t i = 0; i < 12; i++)
        assert_true(y[i] == table[ids[i / 4] * 4 + i % 4]);

    const int32_t wrong[] = {7, -1, INT32_MIN, INT32_MAX};
    const int64_t read[] = {6, 0, 0, 6};
    for (size_t n = 0; n < 4; n++) {
        ids[1] = wrong[n];
        uint32_t fault = 0;
        Buf why = {.arena = a};
        assert_true(run(k, 3, operands, counts, &fault, &why));
        assert_int_equal(fault, 1);
        for (int64_t j = 0; j < 4; j++)
            assert_true(y[4 + j] == table[read[n] * 4 + j]);
    }
    arena_destroy(a);
}

// y[2 · 16] = the product of two rows, through a packed block of B[k, cols] with any strides.
static void check_pack(int64_t k_size, int64_t cols, int64_t src_k, int64_t src_col, int64_t base)
{
    Arena *a = arena_create();
    Kernel *k = kernel_create(a, STR("packed"));
    int64_t panels = (cols + 15) / 16;
    uint32_t x = kernel_add_operand(k, STR("x"), DT_f32, false);
    uint32_t b = kernel_add_operand(k, STR("b"), DT_f32, false);
    uint32_t y = kernel_add_operand(k, STR("y"), DT_f32, true);
    uint32_t block = kernel_add_scratch(k, STR("block"), DT_f32, panels * k_size * 16);
    uint32_t c = kernel_add_scratch(k, STR("c"), DT_f32, 2 * panels * 16);
    Pack pack = {.k = k_size, .cols = cols};
    pack.dst = kit_access(block, affine_int(a, 0));
    pack.src = kit_access(b, affine_int(a, base));
    pack.src_k = kit_int(a, src_k);
    pack.src_col = kit_int(a, src_col);
    stmt_pack(a, &k->body, &pack);
    Tile tile = {.c_row = panels * 16, .rows = 2, .panels = panels, .k = k_size};
    tile.c = kit_access(c, affine_int(a, 0));
    tile.a = kit_access(x, affine_int(a, 0));
    tile.a_row = kit_int(a, k_size);
    tile.a_k = kit_int(a, 1);
    tile.b = pack.dst;
    tile.b_panel = kit_int(a, k_size * 16);
    tile.b_k = kit_int(a, 16);
    stmt_tile(a, &k->body, &tile);
    tile.accumulate = true;
    stmt_tile(a, &k->body, &tile);
    Var j = kernel_add_var(k, "j");
    Stmt *loop = stmt_loop(a, &k->body, LOOP_vector, j, kit_int(a, 2 * panels * 16));
    Affine at = affine_var(a, j, kit_int(a, 1));
    stmt_store(a, &loop->body, kit_access(y, at), kit_load(a, k, c, at));

    float *xs = numbers(a, 2 * k_size);
    float *bs = numbers(a, 4000);
    float *ys = arena_new(a, float, (size_t)(2 * panels * 16));
    void *operands[] = {xs, bs, ys};
    assert_runs(k, 1, operands, (const int64_t[]){2 * k_size, 4000, 2 * panels * 16});
    for (int64_t row = 0; row < 2; row++) {
        for (int64_t col = 0; col < panels * 16; col++) {
            double sum = 0;
            for (int64_t i = 0; i < k_size && col < cols; i++)
                sum += (double)xs[row * k_size + i] * bs[base + i * src_k + col * src_col];
            assert_near(ys[row * panels * 16 + col], 2 * sum);
        }
    }
    arena_destroy(a);
}

static void test_packed_blocks(void **state)
{
    (void)state;
    check_pack(5, 37, 37, 1, 0);    // rows of B
    check_pack(8, 20, 1, 8, 3);     // B transposed
    check_pack(4, 16, -16, -1, 63); // backwards
    check_pack(1, 1, 0, 0, 3999);
    check_pack(6, 18, 0, 1, 0); // one row, over and over
}

static void test_rows_left(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Kernel *k = kernel_create(a, STR("rest"));
    uint32_t x = kernel_add_operand(k, STR("x"), DT_f32, false);
    uint32_t y = kernel_add_operand(k, STR("y"), DT_f32, true);
    uint32_t c = kernel_add_scratch(k, STR("c"), DT_f32, 4 * 16);
    const Size *batch = size_symbol(a, STR("batch"));
    Tile tile = {.c_row = 16, .rows = 4, .panels = 1, .k = 2, .rows_left = batch};
    tile.c = kit_access(c, affine_int(a, 0));
    tile.a = kit_access(x, affine_int(a, 0));
    // A by columns: rows lie side by side.
    tile.a_row = kit_int(a, 1);
    tile.a_k = kit_int(a, 4);
    tile.b = kit_access(x, affine_int(a, 0));
    tile.b_panel = kit_int(a, 32);
    tile.b_k = kit_int(a, 16);
    stmt_tile(a, &k->body, &tile);
    Var i = kernel_add_var(k, "i");
    Stmt *loop = stmt_loop(a, &k->body, LOOP_serial, i, size_scale(a, batch, 16));
    Affine at = affine_var(a, i, kit_int(a, 1));
    stmt_store(a, &loop->body, kit_access(y, at), kit_load(a, k, c, at));
    float *xs = numbers(a, 32);
    float ys[64];
    void *operands[] = {xs, ys};
    for (int64_t rows = 1; rows <= 4; rows++) {
        assert_runs(k, rows, operands, (const int64_t[]){32, rows * 16});
        for (int64_t n = 0; n < rows * 16; n++)
            assert_near(ys[n],
                        (double)xs[n / 16] * xs[n % 16] + (double)xs[n / 16 + 4] * xs[16 + n % 16]);
    }
    assert_refused(k, 5, operands, (const int64_t[]){32, 64}, "5 rows are left for a tile of 4");
    arena_destroy(a);
}

// ---- elements -----------------------------------------------------------------------------------

static void test_i32_wraps_and_bools_are_0_or_1(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Kernel *k = kernel_create(a, STR("mixed"));
    uint32_t n = kernel_add_operand(k, STR("n"), DT_i32, false);
    uint32_t flags = kernel_add_operand(k, STR("flags"), DT_bool, false);
    uint32_t sums = kernel_add_operand(k, STR("sums"), DT_i32, true);
    uint32_t out = kernel_add_operand(k, STR("out"), DT_bool, true);
    Var i = kernel_add_var(k, "i");
    Stmt *loop = stmt_loop(a, &k->body, LOOP_parallel, i, size_symbol(a, STR("batch")));
    Affine at = affine_var(a, i, kit_int(a, 1));
    const Expr *x = kit_load(a, k, n, at);
    const Expr *sum = kit_map2(a, S_add, x, expr_index(a, affine_add(a, at, affine_int(a, 1))));
    sum = kit_map2(a, S_add, sum, kit_map1(a, S_to_i32, kit_load(a, k, flags, at)));
    stmt_store(a, &loop->body, kit_access(sums, at), sum);
    stmt_store(a, &loop->body, kit_access(out, at), kit_load(a, k, flags, at));
    int32_t ns[] = {INT32_MAX, INT32_MIN, -5};
    uint8_t fs[] = {0, 255, 2};
    int32_t got[3];
    uint8_t bits[3];
    void *operands[] = {ns, fs, got, bits};
    assert_runs(k, 3, operands, (const int64_t[]){3, 3, 3, 3});
    assert_int_equal(got[0], INT32_MIN);
    assert_int_equal(got[1], INT32_MIN + 3);
    assert_int_equal(got[2], -1);
    assert_true(bits[0] == 0 && bits[1] == 1 && bits[2] == 1);
    arena_destroy(a);
}

// y[0] = the reduction of x[0 … batch) by fn, in a loop around one more that counts.
static float reduce(Scalar fn, double start, const float *x, int64_t n)
{
    Arena *a = arena_create();
    Kernel *k = kernel_create(a, STR("reduce"));
    uint32_t in = kernel_add_operand(k, STR("x"), DT_f32, false);
    uint32_t out = kernel_add_operand(k, STR("y"), DT_f32, true);
    Var twice = kernel_add_var(k, "twice");
    Stmt *outer = stmt_loop(a, &k->body, LOOP_serial, twice, kit_int(a, 2));
    Var i = kernel_add_var(k, "i");
    Stmt *loop = stmt_loop(a, &outer->body, LOOP_serial, i, size_symbol(a, STR("batch")));
    Value all = kernel_add_value(k);
    stmt_reduce(a, loop, all, fn, start, kit_load(a, k, in, affine_var(a, i, kit_int(a, 1))));
    // Starts afresh each time: the second pass stores what the first did.
    stmt_store(a, &outer->body, kit_access(out, affine_int(a, 0)), expr_value(a, DT_f32, all));
    float y = 0;
    float *copy = arena_new(a, float, (size_t)n + 1);
    memcpy(copy, x, (size_t)n * sizeof *x);
    void *operands[] = {copy, &y};
    assert_runs(k, n, operands, (const int64_t[]){n, 1});
    arena_destroy(a);
    return y;
}

static void test_reductions(void **state)
{
    (void)state;
    const float x[] = {2, -3, 0.5f, 4};
    assert_true(reduce(S_add, 0, x, 4) == 3.5f);
    assert_true(reduce(S_mul, 1, x, 4) == -12);
    assert_true(reduce(S_min, INFINITY, x, 4) == -3);
    assert_true(reduce(S_max, -INFINITY, x, 4) == 4);
    assert_true(reduce(S_add, 0, x, 0) == 0);
    const float with_nan[] = {2, NAN, 5};
    assert_true(isnan(reduce(S_max, -INFINITY, with_nan, 3)));
}

static void test_sizes_and_only(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Kernel *k = kernel_create(a, STR("sizes"));
    uint32_t y = kernel_add_operand(k, STR("y"), DT_f32, true);
    Var i = kernel_add_var(k, "i");
    const Size *batch = size_symbol(a, STR("batch"));
    Stmt *loop = stmt_loop(a, &k->body, LOOP_unroll, i, kit_int(a, 3));
    Stmt *only = stmt_only(a, &loop->body, i, 1);
    // y[batch · i - 2] where i is 1
    Affine at = affine_add(a, affine_var(a, i, batch), affine_int(a, -2));
    stmt_store(a, &only->body, kit_access(y, at), expr_size(a, DT_f32, size_scale(a, batch, 3)));
    float out[4] = {-1, -1, -1, -1};
    void *operands[] = {out};
    assert_runs(k, 4, operands, (const int64_t[]){4});
    assert_true(out[0] == -1 && out[1] == -1 && out[2] == 12 && out[3] == -1);
    arena_destroy(a);
}

// ---- misuse -------------------------------------------------------------------------------------

static void test_accesses_stay_inside(void **state)
{
    (void)state;
    Arena *a = arena_create();
    float x[64] = {0};
    float y[64];
    void *operands[] = {x, y};
    Kernel *k = kit_map(a, "neg", S_neg, size_symbol(a, STR("batch")));
    assert_runs(k, 8, operands, (const int64_t[]){8, 8});
    assert_runs(k, 0, operands, (const int64_t[]){0, 0});
    assert_refused(k, 8, operands, (const int64_t[]){7, 8}, "element 7 of x, which has 7");
    assert_refused(k, 8, operands, (const int64_t[]){8, 7}, "element 7 of y, which has 7");

    Stmt *store = k->body.items[0]->body.items[0];
    store->target.at = affine_add(a, store->target.at, affine_int(a, -1));
    assert_refused(k, 8, operands, (const int64_t[]){8, 8}, "element -1 of y, which has 8");
    arena_destroy(a);
}

static void test_blocks_stay_inside(void **state)
{
    (void)state;
    enum { K = KIT_K };
    Arena *a = arena_create();
    float *x = numbers(a, 5 * K);
    float *w = numbers(a, 3 * K * 16);
    float *bias = numbers(a, 40);
    float y[5 * 40];
    void *operands[] = {x, w, bias, y};
    Kernel *k = kit_dense(a, "dense");
    assert_runs(k, 1, operands, (const int64_t[]){5 * K, 3 * K * 16, 40, 200});
    assert_refused(k, 1, operands, (const int64_t[]){5 * K - 1, 3 * K * 16, 40, 200},
                   "element 99 of x, which has 99");
    assert_refused(k, 1, operands, (const int64_t[]){5 * K, 3 * K * 16 - 1, 40, 200},
                   "element 959 of w, which has 959");
    k->buffers.items[4].count = 95;
    assert_refused(k, 1, operands, (const int64_t[]){5 * K, 3 * K * 16, 40, 200},
                   "element 95 of c, which has 95");
    arena_destroy(a);
}

static void test_blocks_read_backwards_stay_inside(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Kernel *k = kernel_create(a, STR("backwards"));
    uint32_t x = kernel_add_operand(k, STR("x"), DT_f32, false);
    uint32_t block = kernel_add_scratch(k, STR("block"), DT_f32, 16);
    Pack pack = {.k = 1, .cols = 5, .src_k = kit_int(a, 1), .src_col = kit_int(a, -2)};
    pack.dst = kit_access(block, affine_int(a, 0));
    pack.src = kit_access(x, affine_int(a, 8));
    Stmt *s = stmt_pack(a, &k->body, &pack);
    float *xs = numbers(a, 9);
    void *operands[] = {xs};
    assert_runs(k, 1, operands, (const int64_t[]){9});
    s->pack.src.at = affine_int(a, 7);
    assert_refused(k, 1, operands, (const int64_t[]){9}, "element -1 of x, which has 9");
    arena_destroy(a);
}

static void test_parts_are_independent(void **state)
{
    (void)state;
    Arena *a = arena_create();
    float x[8] = {0};
    float y[8];
    void *operands[] = {x, y};
    const int64_t counts[] = {8, 8};

    // Two parts store one element.
    Kernel *k = kit_map(a, "k", S_neg, kit_int(a, 4));
    k->body.items[0]->body.items[0]->target.at = affine_int(a, 3);
    assert_refused(k, 1, operands, counts, "parts 0 and 1 store element 3 of y");
    k->body.items[0]->tag = LOOP_serial;
    assert_runs(k, 1, operands, counts);

    // A part reads what an earlier one stored.
    k = kernel_create(a, STR("k"));
    kernel_add_operand(k, STR("x"), DT_f32, false);
    uint32_t out = kernel_add_operand(k, STR("y"), DT_f32, true);
    uint32_t kept = kernel_add_scratch(k, STR("kept"), DT_f32, 8);
    Var i = kernel_add_var(k, "i");
    Stmt *loop = stmt_loop(a, &k->body, LOOP_parallel, i, kit_int(a, 2));
    Stmt *first = stmt_only(a, &loop->body, i, 0);
    stmt_store(a, &first->body, kit_access(kept, affine_int(a, 5)), expr_const(a, DT_f32, 1));
    stmt_store(a, &loop->body, kit_access(out, affine_var(a, i, kit_int(a, 1))),
               kit_load(a, k, kept, affine_int(a, 5)));
    assert_refused(k, 1, operands, counts,
                   "element 5 of kept is read, but part 1 did not store it");
    loop->tag = LOOP_serial;
    assert_runs(k, 1, operands, counts);

    // And output that was never stored.
    k = kit_map(a, "k", S_neg, kit_int(a, 4));
    k->buffers.items[0].written = true;
    Stmt *map = k->body.items[0];
    stmt_store(a, &map->body, kit_access(0, affine_var(a, 0, kit_int(a, 1))),
               expr_const(a, DT_f32, 0));
    assert_refused(k, 1, operands, counts, "element 0 of x is read, but part 0 did not store it");
    arena_destroy(a);
}

static void test_tiles_read_what_was_stored(void **state)
{
    (void)state;
    Arena *a = arena_create();
    float *x = numbers(a, 100);
    float *w = numbers(a, 960);
    float *bias = numbers(a, 40);
    float y[200];
    void *operands[] = {x, w, bias, y};
    Kernel *k = kit_dense(a, "dense");
    k->body.items[0]->body.items[0]->body.items[0]->body.items[0]->tile.accumulate = true;
    assert_refused(k, 1, operands, (const int64_t[]){100, 960, 40, 200}, "element 0 of c is read");
    arena_destroy(a);
}

static void test_what_cannot_run(void **state)
{
    (void)state;
    Arena *a = arena_create();
    float x[8] = {0};
    float y[8];
    void *operands[] = {x, y};
    const int64_t counts[] = {8, 8};
    const Size *batch = size_symbol(a, STR("batch"));

    Kernel *k = kit_map(a, "k", S_neg, size_symbol(a, STR("seq")));
    assert_refused(k, 1, operands, counts, "uses seq, which is no symbol");

    k = kit_map(a, "k", S_neg, size_sub(a, batch, kit_int(a, 3)));
    assert_refused(k, 1, operands, counts, "loop i runs -2 times");
    assert_runs(k, 3, operands, counts);

    // Indices that would overflow are refused before they are computed.
    k = kit_map(a, "k", S_neg, batch);
    Affine far = affine_var(a, 0, kit_int(a, INT64_MAX / 2));
    k->body.items[0]->body.items[0]->target.at = far;
    assert_refused(k, 8, operands, counts, "an index is over 64 bits");
    k = kit_map(a, "k", S_neg, batch);
    k->body.items[0]->body.items[0]->target.at = affine_int(a, INT64_MAX - 3);
    assert_refused(k, 8, operands, counts, "an index is over 64 bits");
    k->body.items[0]->body.items[0]->target.at = affine_int(a, INT64_MIN);
    assert_refused(k, 8, operands, counts, "an index is over 64 bits");

    k = kit_gather(a, "embed", 7, 4);
    int32_t ids[1] = {0};
    void *three[] = {x, ids, y};
    k->body.items[0]->body.items[1]->body.items[0]->expr = kit_load(a, k, 0, affine_int(a, 0));
    assert_runs(k, 1, three, (const int64_t[]){8, 1, 8});
    k = kit_gather(a, "embed", 0, 4);
    assert_refused(k, 1, three, (const int64_t[]){8, 1, 8}, "read by number, but has 0 rows");

    k = kit_map(a, "k", S_neg, kit_int(a, 1));
    Stmt *store = k->body.items[0]->body.items[0];
    store->expr = kit_map1(a, S_to_f32, expr_index(a, affine_int(a, (int64_t)1 << 31)));
    assert_refused(k, 1, operands, counts, "the index 2147483648 is over 32 bits");
    store->expr = kit_map1(a, S_to_f32, expr_size(a, DT_i32, kit_int(a, (int64_t)1 << 31)));
    assert_refused(k, 1, operands, counts, "the size 2147483648 is over 32 bits");

    k = kit_map(a, "k", S_neg, kit_int(a, 1));
    kernel_add_scratch(k, STR("huge"), DT_f32, INT64_MAX / 8);
    assert_refused(k, 1, operands, counts, "no memory");
    arena_destroy(a);
}

// ---- programs -----------------------------------------------------------------------------------

typedef struct Model {
    Arena *a;
    Program *p;
    float table[7 * 4];
    float y[8 * 4];
    int32_t ids[8];
    uint32_t fault; // of the last run
} Model;

static const Operand *operands(Arena *a, Operand x, Operand y, Operand z)
{
    Operand *out = arena_new(a, Operand, 3);
    out[0] = x;
    out[1] = y;
    out[2] = z;
    return out;
}

// y[batch, 4] = neg(softmax(table[ids])), ids in 0 .. 7 or left out, then 2.
static Model *model(void)
{
    Arena *a = arena_create();
    Model *m = arena_new(a, Model, 1);
    *m = (Model){.a = a, .p = program_create(a, STR("model"))};
    Program *p = m->p;
    const Size *batch = size_symbol(a, STR("batch"));
    const Size *count = size_scale(a, batch, 4);
    const Size **shape = arena_new(a, const Size *, 2);
    shape[0] = batch;
    shape[1] = kit_int(a, 4);
    vec_push(a, &p->symbols, ((ProgramSymbol){STR("batch"), 1, 8}));
    vec_push(a, &p->checks, ((ProgramCheck){SIZE_lt, batch, kit_int(a, 7), STR("under 7 items")}));
    ProgramIo ids = {.name = STR("ids"), .dtype = DT_i32, .rank = 1, .shape = shape, .high = 7};
    ids.has_range = ids.has_default = ids.has_slot = true;
    ids.value = 2;
    vec_push(a, &p->inputs, ids);
    vec_push(a, &p->outputs, ((ProgramIo){.name = STR("y"), .rank = 2, .shape = shape}));
    int64_t *rows = arena_new(a, int64_t, 2);
    rows[0] = 7;
    rows[1] = 4;
    vec_push(a, &p->constants,
             ((Constant){.name = STR("table"), .rank = 2, .shape = rows, .layout = STR("rows")}));
    vec_push(a, &p->buffers, ((ArenaBuffer){STR("ids"), DT_i32, batch, true, NULL}));
    vec_push(a, &p->buffers, ((ArenaBuffer){STR("rows"), DT_f32, count, false, NULL}));
    vec_push(a, &p->buffers, ((ArenaBuffer){STR("soft"), DT_f32, count, false, NULL}));
    vec_push(a, &p->kernels, kit_gather(a, "embed", 7, 4));
    vec_push(a, &p->kernels, kit_softmax(a, "softmax", 4));
    vec_push(a, &p->kernels, kit_map(a, "negate", S_neg, count));
    Operand none = {OPERAND_input, 0};
    Operand table = {OPERAND_constant, 0};
    Operand buffers[] = {{OPERAND_buffer, 0}, {OPERAND_buffer, 1}, {OPERAND_buffer, 2}};
    vec_push(a, &p->steps, ((Step){STR("embed"), 0, 3, operands(a, table, none, buffers[1])}));
    vec_push(a, &p->steps, ((Step){STR("soft"), 1, 2, operands(a, buffers[1], buffers[2], none)}));
    vec_push(
        a, &p->steps,
        ((Step){STR("out"), 2, 2, operands(a, buffers[2], (Operand){OPERAND_output, 0}, none)}));
    for (int64_t i = 0; i < 28; i++)
        m->table[i] = number(i);
    for (int32_t i = 0; i < 8; i++)
        m->ids[i] = (5 * i + 6) % 7;
    return m;
}

static bool model_run(Model *m, int64_t batch, bool has_ids, Buf *why)
{
    const void *inputs[] = {has_ids ? m->ids : NULL};
    const void *constants[] = {m->table};
    void *outputs[] = {m->y};
    ProgramData data = {inputs, constants, outputs};
    SizeBinding bindings[] = {{STR("batch"), batch}};
    m->fault = 0;
    return program_eval(m->p, bindings, 1, &data, &m->fault, why);
}

static bool is_model_right(const Model *m, int64_t batch, bool has_ids)
{
    for (int64_t i = 0; i < batch; i++) {
        const float *row = &m->table[(has_ids ? m->ids[i] : 2) * 4];
        double sum = 0;
        for (size_t j = 0; j < 4; j++)
            sum += exp(row[j]);
        for (size_t j = 0; j < 4; j++) {
            if (!is_near(m->y[(size_t)i * 4 + j], -exp(row[j]) / sum))
                return false;
        }
    }
    return m->fault == 0;
}

static void assert_model(Model *m, int64_t batch, bool has_ids)
{
    Buf why = {.arena = m->a};
    bool ok = model_run(m, batch, has_ids, &why);
    if (!ok)
        print_error("%s\n", why.ptr);
    assert_true(ok);
    assert_true(is_model_right(m, batch, has_ids));
}

static void model_fails(Model *m, int64_t batch, bool has_ids, const char *part)
{
    Buf why = {.arena = m->a};
    assert_false(model_run(m, batch, has_ids, &why));
    if (!strstr(why.ptr, part))
        print_error("expected '%s' in: %s\n", part, why.ptr);
    assert_non_null(strstr(why.ptr, part));
}

static void test_programs_run(void **state)
{
    (void)state;
    Model *m = model();
    assert_model(m, 1, true);
    assert_model(m, 6, true);
    assert_model(m, 3, false);

    // In an arena, at places that are right.
    const Size *batch = size_symbol(m->a, STR("batch"));
    m->p->buffers.items[0].offset = kit_int(m->a, 0);
    m->p->buffers.items[1].offset = size_scale(m->a, batch, 64);
    m->p->buffers.items[2].offset = size_scale(m->a, batch, 128);
    m->p->arena_bytes = size_add(m->a, size_scale(m->a, batch, 192), kit_int(m->a, 64));
    assert_model(m, 6, true);
    // The ids are dead when the second step stores there.
    m->p->buffers.items[2].offset = kit_int(m->a, 0);
    assert_model(m, 6, true);
    arena_destroy(m->a);
}

static void test_wrong_places_show(void **state)
{
    (void)state;
    Model *m = model();
    m->p->buffers.items[0].offset = kit_int(m->a, 0);
    m->p->buffers.items[1].offset = kit_int(m->a, 0);
    m->p->buffers.items[2].offset = kit_int(m->a, 128);
    m->p->arena_bytes = kit_int(m->a, 320);
    // The first step overwrites the ids that it reads.
    Buf why = {.arena = m->a};
    assert_true(model_run(m, 6, true, &why));
    assert_false(is_model_right(m, 6, true));

    m->p->buffers.items[1].offset = kit_int(m->a, 32);
    model_fails(m, 6, true, "buffer 1 lies at 32 in an arena of 320");
    m->p->buffers.items[1].offset = kit_int(m->a, 256);
    model_fails(m, 6, true, "buffer 1 lies at 256 in an arena of 320");
    arena_destroy(m->a);
}

static void test_programs_refuse(void **state)
{
    (void)state;
    Model *m = model();
    model_fails(m, 9, true, "batch is 9");
    model_fails(m, 7, true, "under 7 items");
    m->ids[2] = 7;
    model_fails(m, 4, true, "input ids has 7");
    m->ids[2] = -1;
    model_fails(m, 4, true, "input ids has -1");
    m->ids[2] = 0;
    m->p->inputs.items[0].has_default = false;
    model_fails(m, 4, false, "input ids is missing");
    m->p->kernels.items[1] = kit_softmax(m->a, "softmax", 5);
    model_fails(m, 4, true, "step soft: kernel softmax: element 16 of x, which has 16");
    m->p->steps.n = 2;
    model_fails(m, 4, true, "output y is never written");
    arena_destroy(m->a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_gather_clamps_and_says_so),
        cmocka_unit_test(test_packed_blocks),
        cmocka_unit_test(test_rows_left),
        cmocka_unit_test(test_i32_wraps_and_bools_are_0_or_1),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_sizes_and_only),
        cmocka_unit_test(test_accesses_stay_inside),
        cmocka_unit_test(test_blocks_stay_inside),
        cmocka_unit_test(test_blocks_read_backwards_stay_inside),
        cmocka_unit_test(test_parts_are_independent),
        cmocka_unit_test(test_tiles_read_what_was_stored),
        cmocka_unit_test(test_what_cannot_run),
        cmocka_unit_test(test_programs_run),
        cmocka_unit_test(test_wrong_places_show),
        cmocka_unit_test(test_programs_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
