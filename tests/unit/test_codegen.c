// Kernels in native code against the evaluator: vector loops of every length and pattern of access,
// reductions, rows found at run time, tile leaves and packs of every shape. Code for vectors of 16
// is also run in instructions that this machine surely has.
#include "codegen/codegen.h"
#include "loop/loop.h"
#include "native.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_KERNELS 512

static const char *const shapes[][2] = {{"x86-64-v3", NULL}, {"x86-64-v4", "x86-64-v3"}};

// Kernels that are emitted together and then checked one by one.
typedef struct Batch {
    Arena *a;
    const CodegenTarget *target;
    Kernel *kernels[MAX_KERNELS];
    Data *data[MAX_KERNELS]; // [noperands]
    size_t n;
    double tolerance;
} Batch;

static const SizeBinding symbols[] = {{{"n", 1}, 3}, {{"step", 4}, 2}};
static const Str symbol_names[] = {{"n", 1}, {"step", 4}};

static const Size *number(Batch *b, int64_t n) { return size_int(b->a, n); }

static Kernel *new_kernel(Batch *b)
{
    assert_true(b->n < MAX_KERNELS);
    Kernel *k = kernel_create(b->a, str_format(b->a, "k%zu", b->n));
    b->data[b->n] = arena_new(b->a, Data, 8);
    b->kernels[b->n++] = k;
    return k;
}

// An operand with numbers in it: -8.0 … 8.0 in f32, 0 … 9 in i32, any byte in bool.
static uint32_t add_operand(Batch *b, DType dtype, int64_t count, bool written)
{
    Kernel *k = b->kernels[b->n - 1];
    uint32_t index = kernel_add_operand(k, written ? STR("y") : STR("x"), dtype, written);
    Data d = native_data(b->a, dtype, count);
    uint64_t seed = b->n * 977 + index;
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t x = (uint32_t)(seed >> 33);
        if (dtype == DT_f32) {
            ((float *)d.bytes)[i] = (float)(x % 1024) / 64 - 8;
        } else if (dtype == DT_i32) {
            ((int32_t *)d.bytes)[i] = (int32_t)(x % 10);
        } else {
            ((uint8_t *)d.bytes)[i] = (uint8_t)(x % 3 == 0 ? 0 : x);
        }
    }
    b->data[b->n - 1][index] = d;
    return index;
}

static Access place(uint32_t buffer, Affine at) { return (Access){.buffer = buffer, .at = at}; }

// base + coef · var
static Affine along(Batch *b, int64_t base, Var var, int64_t coef)
{
    return affine_add(b->a, affine_int(b->a, base), affine_var(b->a, var, number(b, coef)));
}

static const Expr *load(Batch *b, uint32_t buffer, Affine at)
{
    return expr_load(b->a, b->kernels[b->n - 1], place(buffer, at));
}

static const Expr *map2(Batch *b, Scalar fn, const Expr *x, const Expr *y)
{
    return expr_map(b->a, fn, (const Expr *[]){x, y}, 2);
}

static void run_batch(Batch *b)
{
    Program *p = native_program(b->a, b->kernels, b->n, symbol_names, 2);
    Native native = native_load(b->a, p, b->target);
    for (size_t i = 0; i < b->n; i++) {
        native_check(&native, b->kernels[i], i, symbols, 2, b->data[i], b->tolerance);
    }
    native_close(&native);
}

// Fills a batch for each shape of code, and runs it.
static void for_shapes(void (*fill)(Batch *b), double tolerance)
{
    for (size_t i = 0; i < 2; i++) {
        Batch *b = calloc(1, sizeof *b);
        b->a = arena_create();
        CodegenTarget target = native_target(b->a, shapes[i][0], shapes[i][1]);
        b->target = &target;
        b->tolerance = tolerance;
        fill(b);
        run_batch(b);
        arena_destroy(b->a);
        free(b);
    }
}

// ---- vector loops -------------------------------------------------------------------------------

static void fill_lengths(Batch *b)
{
    for (int64_t n = 0; n <= 83; n++) {
        Kernel *k = new_kernel(b);
        uint32_t x = add_operand(b, DT_f32, n, false);
        uint32_t z = add_operand(b, DT_f32, n, false);
        uint32_t y = add_operand(b, DT_f32, n, true);
        Var j = kernel_add_var(k, "j");
        Affine at = along(b, 0, j, 1);
        Stmt *loop = stmt_loop(b->a, &k->body, LOOP_vector, j, number(b, n));
        const Expr *sum = map2(b, S_add, load(b, x, at), load(b, z, at));
        stmt_store(b->a, &loop->body, place(y, at), sum);
    }
}

static void test_vector_loops_of_every_length(void **state)
{
    (void)state;
    for_shapes(fill_lengths, 0);
}

// Every step of loads and of stores, for f32, i32 and bool.
static void fill_patterns(Batch *b)
{
    static const int64_t steps[] = {1, 2, 3, -1, -2, 5, 0};
    static const DType dtypes[] = {DT_f32, DT_i32, DT_bool};
    static const int64_t lengths[] = {7, 16, 53, 160};
    for (size_t d = 0; d < 3; d++) {
        for (size_t l = 0; l < 4; l++) {
            for (size_t s = 0; s < 7; s++) {
                int64_t n = lengths[l];
                int64_t from = steps[s];
                int64_t to = from == 0 ? 1 : steps[(s + 2) % 6];
                int64_t from_count = (from < 0 ? -from : from) * (n - 1) + 1;
                int64_t to_count = (to < 0 ? -to : to) * (n - 1) + 1;
                Kernel *k = new_kernel(b);
                uint32_t x = add_operand(b, dtypes[d], from_count, false);
                uint32_t y = add_operand(b, dtypes[d], to_count, true);
                Var j = kernel_add_var(k, "j");
                Stmt *loop = stmt_loop(b->a, &k->body, LOOP_vector, j, number(b, n));
                Affine at = along(b, from < 0 ? from_count - 1 : 0, j, from);
                stmt_store(b->a, &loop->body, place(y, along(b, to < 0 ? to_count - 1 : 0, j, to)),
                           load(b, x, at));
            }
        }
    }
}

static void test_patterns_of_access(void **state)
{
    (void)state;
    for_shapes(fill_patterns, 0);
}

// Strides that are symbols, parts and offsets by a symbol.
static void fill_symbols(Batch *b)
{
    const Size *n = size_symbol(b->a, STR("n"));       // 3
    const Size *step = size_symbol(b->a, STR("step")); // 2
    Kernel *k = new_kernel(b);
    uint32_t x = add_operand(b, DT_f32, 3 * 40 * 2, false);
    uint32_t y = add_operand(b, DT_f32, 3 * 4 * 20, true);
    Var i = kernel_add_var(k, "i");
    Var g = kernel_add_var(k, "g");
    Var j = kernel_add_var(k, "j");
    Stmt *items = stmt_loop(b->a, &k->body, LOOP_parallel, i, n);
    Stmt *groups = stmt_loop(b->a, &items->body, LOOP_parallel, g, size_add(b->a, step, step));
    Stmt *lanes = stmt_loop(b->a, &groups->body, LOOP_vector, j, number(b, 20));
    // x[(40 step) i + (20 g) + step j + n], y[80 i + 20 g + j]
    Affine from = affine_var(b->a, i, size_scale(b->a, step, 40));
    from = affine_add(b->a, from, affine_var(b->a, g, number(b, 10)));
    from = affine_add(b->a, from, affine_var(b->a, j, step));
    from = affine_add(b->a, from, affine_size(size_div(b->a, n, 2)));
    Affine to = along(b, 0, i, 80);
    to = affine_add(b->a, to, along(b, 0, g, 20));
    to = affine_add(b->a, to, along(b, 0, j, 1));
    const Expr *size = expr_size(b->a, DT_f32, size_mul(b->a, n, step));
    stmt_store(b->a, &lanes->body, place(y, to), map2(b, S_mul, load(b, x, from), size));
}

static void test_sizes_with_symbols(void **state)
{
    (void)state;
    for_shapes(fill_symbols, 0);
}

// ---- reductions ---------------------------------------------------------------------------------

static void add_reduction(Batch *b, Scalar fn, DType dtype, int64_t n, double start)
{
    Kernel *k = new_kernel(b);
    uint32_t x = add_operand(b, dtype, n, false);
    uint32_t y = add_operand(b, dtype, 1, true);
    Var j = kernel_add_var(k, "j");
    Value sum = kernel_add_value(k);
    Stmt *loop = stmt_loop(b->a, &k->body, LOOP_vector, j, number(b, n));
    stmt_reduce(b->a, loop, sum, fn, start, load(b, x, along(b, 0, j, 1)));
    stmt_store(b->a, &k->body, place(y, affine_int(b->a, 0)), expr_value(b->a, dtype, sum));
}

static void fill_reductions(Batch *b)
{
    static const int64_t lengths[] = {0,  1,  2,  3,  5,  7,  8,  9,  12, 15,  16,  17,
                                      23, 24, 31, 32, 33, 40, 47, 63, 65, 100, 128, 700};
    for (size_t i = 0; i < 24; i++) {
        int64_t n = lengths[i];
        add_reduction(b, S_add, DT_f32, n, 0);
        add_reduction(b, S_add, DT_f32, n, 2.5);
        add_reduction(b, S_min, DT_f32, n, (double)INFINITY);
        add_reduction(b, S_max, DT_f32, n, -(double)INFINITY);
        add_reduction(b, S_max, DT_f32, n, 7.75);
        add_reduction(b, S_add, DT_i32, n, 1);
        add_reduction(b, S_mul, DT_i32, n, 1); // wraps
        add_reduction(b, S_min, DT_i32, n, 3);
        add_reduction(b, S_max, DT_i32, n, INT32_MIN);
        add_reduction(b, S_and, DT_bool, n, 1);
        add_reduction(b, S_or, DT_bool, n, 0);
    }
}

static void test_reductions(void **state)
{
    (void)state;
    for_shapes(fill_reductions, 1e-6);
}

// A NaN in any place is the smallest and the largest.
static void test_reductions_keep_nan(void **state)
{
    (void)state;
    Batch *b = calloc(1, sizeof *b);
    b->a = arena_create();
    CodegenTarget target = native_target(b->a, "x86-64-v3", NULL);
    b->target = &target;
    for (int64_t at = 0; at < 45; at++) {
        add_reduction(b, at % 2 ? S_min : S_max, DT_f32, 45, (at % 2 ? 1 : -1) * (double)INFINITY);
        ((float *)b->data[b->n - 1][0].bytes)[at] = NAN;
    }
    run_batch(b);
    arena_destroy(b->a);
    free(b);
}

// A softmax over rows: what attention and norms are made of.
static void fill_softmax(Batch *b)
{
    static const int64_t lengths[] = {1, 5, 17, 64, 128, 1000};
    for (size_t i = 0; i < 6; i++) {
        int64_t n = lengths[i];
        Kernel *k = new_kernel(b);
        uint32_t x = add_operand(b, DT_f32, 3 * n, false);
        uint32_t y = add_operand(b, DT_f32, 3 * n, true);
        uint32_t row = kernel_add_scratch(k, STR("row"), DT_f32, n);
        Var r = kernel_add_var(k, "r");
        Var j[3] = {kernel_add_var(k, "j"), kernel_add_var(k, "j"), kernel_add_var(k, "j")};
        Value high = kernel_add_value(k);
        Value sum = kernel_add_value(k);
        Stmt *rows = stmt_loop(b->a, &k->body, LOOP_parallel, r, size_symbol(b->a, STR("n")));
        Stmt *first = stmt_loop(b->a, &rows->body, LOOP_vector, j[0], number(b, n));
        Affine at = affine_add(b->a, along(b, 0, r, n), along(b, 0, j[0], 1));
        stmt_reduce(b->a, first, high, S_max, -(double)INFINITY, load(b, x, at));
        Stmt *second = stmt_loop(b->a, &rows->body, LOOP_vector, j[1], number(b, n));
        at = affine_add(b->a, along(b, 0, r, n), along(b, 0, j[1], 1));
        const Expr *e = map2(b, S_sub, load(b, x, at), expr_value(b->a, DT_f32, high));
        e = expr_map(b->a, S_exp, &e, 1);
        stmt_store(b->a, &second->body, place(row, along(b, 0, j[1], 1)), e);
        stmt_reduce(b->a, second, sum, S_add, 0, load(b, row, along(b, 0, j[1], 1)));
        Stmt *third = stmt_loop(b->a, &rows->body, LOOP_vector, j[2], number(b, n));
        at = affine_add(b->a, along(b, 0, r, n), along(b, 0, j[2], 1));
        e = map2(b, S_div, load(b, row, along(b, 0, j[2], 1)), expr_value(b->a, DT_f32, sum));
        stmt_store(b->a, &third->body, place(y, at), e);
    }
}

static void test_softmax(void **state)
{
    (void)state;
    for_shapes(fill_softmax, 1e-6);
}

// ---- rows found at run time ---------------------------------------------------------------------

// y[i, j] = table[ids[i], j], and with the lanes along i. `spoil`: one id is outside.
static void add_gather(Batch *b, int64_t n, bool lanes_are_rows, int64_t spoil, int32_t id)
{
    enum { ROWS = 10, WIDTH = 3 };
    int64_t width = lanes_are_rows ? WIDTH : n;
    int64_t count = lanes_are_rows ? n : WIDTH;
    Kernel *k = new_kernel(b);
    uint32_t table = add_operand(b, DT_f32, ROWS * width, false);
    uint32_t ids = add_operand(b, DT_i32, count, false);
    uint32_t y = add_operand(b, DT_f32, count * width, true);
    if (spoil >= 0) {
        ((int32_t *)b->data[b->n - 1][ids].bytes)[spoil % count] = id;
    }
    Var i = kernel_add_var(k, "i");
    Var j = kernel_add_var(k, "j");
    Var outer = lanes_are_rows ? j : i;
    Var inner = lanes_are_rows ? i : j;
    Stmt *out = stmt_loop(b->a, &k->body, LOOP_serial, outer, number(b, WIDTH));
    Stmt *in = stmt_loop(b->a, &out->body, LOOP_vector, inner, number(b, n));
    DynTerm *dyn = arena_new(b->a, DynTerm, 1);
    *dyn = (DynTerm){load(b, ids, along(b, 0, i, 1)), number(b, ROWS), number(b, width)};
    Access from = {.buffer = table, .at = along(b, 0, j, 1), .ndyn = 1, .dyn = dyn};
    Affine to = affine_add(b->a, along(b, 0, i, width), along(b, 0, j, 1));
    stmt_store(b->a, &in->body, place(y, to), expr_load(b->a, k, from));
}

static void fill_gathers(Batch *b)
{
    static const int64_t lengths[] = {1, 3, 8, 21, 50};
    static const int32_t wrong[] = {-1, 10, INT32_MIN, INT32_MAX};
    for (size_t l = 0; l < 5; l++) {
        for (int lanes_are_rows = 0; lanes_are_rows < 2; lanes_are_rows++) {
            add_gather(b, lengths[l], lanes_are_rows, -1, 0);
            for (int64_t w = 0; w < 4; w++) {
                add_gather(b, lengths[l], lanes_are_rows, w * 17, wrong[w]);
            }
        }
    }
}

static void test_rows_found_at_run_time(void **state)
{
    (void)state;
    for_shapes(fill_gathers, 0);
}

// ---- tile leaves --------------------------------------------------------------------------------

typedef struct TileCase {
    int64_t rows;
    int64_t panels;
    int64_t k;
    bool accumulate;
    bool b_in_rows; // B's rows lie whole, one after the other, as an activation's
    bool a_turned;  // A's columns lie side by side
    int64_t left;   // rows known at run time only; 0: no
} TileCase;

static void add_tile(Batch *b, const TileCase *c)
{
    Kernel *k = new_kernel(b);
    int64_t cols = c->panels * TILE_COLS;
    int64_t rows = c->left > 0 ? c->left : c->rows;
    uint32_t x = add_operand(b, DT_f32, rows * c->k, false);
    uint32_t w = add_operand(b, DT_f32, c->k * cols, false);
    uint32_t y = add_operand(b, DT_f32, rows * cols, true);
    uint32_t block = kernel_add_scratch(k, STR("c"), DT_f32, c->rows * cols);
    Var clear = kernel_add_var(k, "z");
    if (c->accumulate) {
        Stmt *loop = stmt_loop(b->a, &k->body, LOOP_vector, clear, number(b, c->rows * cols));
        stmt_store(b->a, &loop->body, place(block, along(b, 0, clear, 1)),
                   expr_const(b->a, DT_f32, 0.5));
    }
    const Size *left = NULL;
    if (c->left > 0) { // n is 3
        left = size_add(b->a, size_symbol(b->a, STR("n")), number(b, c->left - 3));
    }
    Tile tile = {.c = place(block, affine_int(b->a, 0)),
                 .c_row = cols,
                 .a = place(x, affine_int(b->a, 0)),
                 .a_row = number(b, c->a_turned ? 1 : c->k),
                 .a_k = number(b, c->a_turned ? rows : 1),
                 .b = place(w, affine_int(b->a, 0)),
                 .b_panel = number(b, c->b_in_rows ? TILE_COLS : c->k * TILE_COLS),
                 .b_k = number(b, c->b_in_rows ? cols : TILE_COLS),
                 .rows = c->rows,
                 .rows_left = left,
                 .panels = c->panels,
                 .k = c->k,
                 .accumulate = c->accumulate};
    stmt_tile(b->a, &k->body, &tile);
    Var r = kernel_add_var(k, "r");
    Var j = kernel_add_var(k, "j");
    Stmt *outer = stmt_loop(b->a, &k->body, LOOP_serial, r, left ? left : number(b, c->rows));
    Stmt *inner = stmt_loop(b->a, &outer->body, LOOP_vector, j, number(b, cols));
    Affine at = affine_add(b->a, along(b, 0, r, cols), along(b, 0, j, 1));
    stmt_store(b->a, &inner->body, place(y, at), load(b, block, at));
}

static void fill_tiles(Batch *b)
{
    const TileShape *most = &b->target->loop.tile;
    static const int64_t lengths[] = {1, 2, 7, 8, 9, 16, 27, 37};
    size_t i = 0;
    for (int64_t rows = 1; rows <= most->rows; rows++) {
        for (int64_t panels = 1; panels <= most->panels; panels++) {
            for (int variant = 0; variant < 4; variant++) {
                TileCase c = {rows,         panels, lengths[i++ % 8], variant == 1, variant == 2,
                              variant == 3, 0};
                add_tile(b, &c);
            }
            TileCase left = {most->rows, panels, 9, false, false, false, rows};
            add_tile(b, &left);
        }
    }
}

static void test_tile_leaves(void **state)
{
    (void)state;
    for_shapes(fill_tiles, 1e-5);
}

// A row of a product has the same bits whatever other rows are computed with it.
static void test_rows_do_not_depend_on_others(void **state)
{
    (void)state;
    enum { K = 61, MOST = 9, COLS = 48 };
    for (size_t shape = 0; shape < 2; shape++) {
        Batch *b = calloc(1, sizeof *b);
        b->a = arena_create();
        CodegenTarget target = native_target(b->a, shapes[shape][0], shapes[shape][1]);
        b->target = &target;
        int64_t most = target.loop.tile.rows;
        int64_t cols = target.loop.tile.panels * TILE_COLS;
        for (int64_t rows = 1; rows <= most; rows++) {
            add_tile(b, &(TileCase){rows, target.loop.tile.panels, K, false, false, false, 0});
        }
        Program *p = native_program(b->a, b->kernels, b->n, symbol_names, 2);
        Native native = native_load(b->a, p, b->target);
        const Data *all = b->data[most - 1];
        float expected[MOST * COLS];
        size_t last = (size_t)most - 1;
        native_run(&native, b->kernels[last], last, NULL,
                   (void *[]){all[0].bytes, all[1].bytes, expected});
        for (int64_t rows = 1; rows <= most; rows++) {
            for (int64_t first = 0; first + rows <= most; first++) {
                float got[MOST * COLS];
                void *x = (float *)all[0].bytes + first * K;
                size_t i = (size_t)rows - 1;
                native_run(&native, b->kernels[i], i, NULL, (void *[]){x, all[1].bytes, got});
                assert_memory_equal(got, expected + first * cols,
                                    (size_t)(rows * cols) * sizeof *got);
            }
        }
        native_close(&native);
        arena_destroy(b->a);
        free(b);
    }
}

// ---- packs --------------------------------------------------------------------------------------

static void add_pack(Batch *b, int64_t rows, int64_t cols, int64_t src_k, int64_t src_col)
{
    Kernel *k = new_kernel(b);
    int64_t packed = (cols + TILE_COLS - 1) / TILE_COLS * TILE_COLS * rows;
    uint32_t x = add_operand(b, DT_f32, (rows - 1) * src_k + (cols - 1) * src_col + 1, false);
    uint32_t y = add_operand(b, DT_f32, packed, true);
    uint32_t block = kernel_add_scratch(k, STR("b"), DT_f32, packed);
    Pack pack = {.dst = place(block, affine_int(b->a, 0)),
                 .src = place(x, affine_int(b->a, 0)),
                 .src_k = number(b, src_k),
                 .src_col = number(b, src_col),
                 .k = rows,
                 .cols = cols};
    stmt_pack(b->a, &k->body, &pack);
    Var j = kernel_add_var(k, "j");
    Stmt *loop = stmt_loop(b->a, &k->body, LOOP_vector, j, number(b, packed));
    stmt_store(b->a, &loop->body, place(y, along(b, 0, j, 1)), load(b, block, along(b, 0, j, 1)));
}

static void fill_packs(Batch *b)
{
    static const int64_t rows[] = {1, 3, 4, 7, 8, 9, 17, 24};
    for (int64_t cols = 1; cols <= 37; cols++) {
        int64_t k = rows[cols % 8];
        add_pack(b, k, cols, cols + 2, 1); // a matrix as it lies
        add_pack(b, k, cols, 1, k + 3);    // turned over
        add_pack(b, k, cols, 3, 3 * k);    // every third element of that
    }
    add_pack(b, 64, 128, 1, 768);
    add_pack(b, 64, 100, 1, 64);
    add_pack(b, 197, 64, 192, 1);
}

static void test_packs(void **state)
{
    (void)state;
    for_shapes(fill_packs, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vector_loops_of_every_length),
        cmocka_unit_test(test_patterns_of_access),
        cmocka_unit_test(test_sizes_with_symbols),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_reductions_keep_nan),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_rows_found_at_run_time),
        cmocka_unit_test(test_tile_leaves),
        cmocka_unit_test(test_rows_do_not_depend_on_others),
        cmocka_unit_test(test_packs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
