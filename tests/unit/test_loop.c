// Building, printing, checking and comparing kernels and programs.
#include "base/diag.h"
#include "loop/loop.h"
#include "loop/program.h"
#include "loop_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const Str symbols[] = {{"batch", 5}};

static bool verify(const Kernel *k, Buf *why)
{
    return kernel_verify(k, symbols, sizeof symbols / sizeof *symbols, why);
}

static void assert_valid(Arena *a, const Kernel *k)
{
    Buf why = {.arena = a};
    bool ok = verify(k, &why);
    if (!ok)
        print_error("%s\n", why.ptr);
    assert_true(ok);
}

static void assert_broken(Arena *a, const Kernel *k, const char *part)
{
    Buf why = {.arena = a};
    assert_false(verify(k, &why));
    if (!strstr(why.ptr, part))
        print_error("expected '%s' in: %s\n", part, why.ptr);
    assert_non_null(strstr(why.ptr, part));
}

// ---- building -----------------------------------------------------------------------------------

static void test_affines_are_sorted_and_free_of_zeros(void **state)
{
    (void)state;
    Arena *a = arena_create();
    const Size *batch = size_symbol(a, STR("batch"));
    Affine x = affine_add(a, affine_var(a, 2, kit_int(a, 3)), affine_var(a, 0, batch));
    x = affine_add(a, x, affine_add(a, affine_var(a, 1, kit_int(a, 5)), affine_int(a, 7)));
    assert_int_equal(x.nterms, 3);
    for (Var v = 0; v < 3; v++)
        assert_int_equal(x.terms[v].var, v);
    assert_true(size_is(x.base, 7));
    assert_true(size_equal(affine_coef(&x, 0), batch));
    assert_null(affine_coef(&x, 3));

    Affine y = affine_add(a, x, affine_var(a, 1, kit_int(a, -5)));
    assert_int_equal(y.nterms, 2);
    assert_null(affine_coef(&y, 1));
    assert_true(size_is(affine_coef(&y, 2), 3));

    Affine z = affine_scale(a, x, kit_int(a, 2));
    assert_true(size_is(z.base, 14) && size_is(affine_coef(&z, 1), 10));
    assert_true(size_equal(affine_coef(&z, 0), size_scale(a, batch, 2)));
    assert_int_equal(affine_scale(a, x, kit_int(a, 0)).nterms, 0);
    assert_int_equal(affine_var(a, 0, kit_int(a, 0)).nterms, 0);

    Affine big = affine_scale(a, x, kit_int(a, INT64_MAX));
    assert_null(big.base);
    assert_null(affine_coef(&big, 2));
    assert_int_equal(big.nterms, 3);
    arena_destroy(a);
}

static void test_names_become_unique_words(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Kernel *k = kernel_create(a, STR("k"));
    const char *given[] = {"x", "x", "x", "x2", "a b", "", "9", "encoder.0"};
    const char *got[] = {"x", "x2", "x3", "x2_2", "a_b", "_", "_9", "encoder.0"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        kernel_add_operand(k, str_from(given[i]), DT_f32, false);
        kernel_add_var(k, given[i]);
        assert_true(str_equal(k->buffers.items[i].name, str_from(got[i])));
        assert_true(str_equal(k->var_names.items[i], str_from(got[i])));
    }
    assert_int_equal(k->nvars, sizeof given / sizeof *given);

    // A concat of many parts has a loop for each: the time per name must not grow with their
    // number.
    enum { MANY = 200000 };
    for (uint32_t i = k->nvars; i < MANY; i++)
        kernel_add_var(k, "i");
    assert_true(str_equal(k->var_names.items[MANY - 1], STR("i199992")));
    arena_destroy(a);
}

static void test_expressions_know_their_types_and_variables(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Kernel *k = kernel_create(a, STR("k"));
    uint32_t ids = kernel_add_operand(k, STR("ids"), DT_i32, false);
    Var i = kernel_add_var(k, "i");
    Var j = kernel_add_var(k, "j");
    const Expr *id = kit_load(a, k, ids, affine_var(a, i, kit_int(a, 1)));
    assert_int_equal(id->dtype, DT_i32);
    const Expr *less = kit_map2(a, S_lt, id, expr_index(a, affine_var(a, j, kit_int(a, 1))));
    assert_int_equal(less->dtype, DT_bool);
    assert_true(expr_uses_var(less, i) && expr_uses_var(less, j));
    assert_true(expr_uses_var(id, i) && !expr_uses_var(id, j));
    DynTerm dyn = {id, kit_int(a, 4), kit_int(a, 2)};
    Access row = {.buffer = ids, .at = affine_int(a, 0), .ndyn = 1, .dyn = &dyn};
    assert_true(expr_uses_var(expr_load(a, k, row), i));
    assert_false(expr_uses_var(expr_value(a, DT_f32, 0), i));
    arena_destroy(a);
}

static void test_parts_and_scratch(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Kernel *k = kit_dense(a, "dense");
    assert_true(size_equal(kernel_parts(k), size_scale(a, size_symbol(a, STR("batch")), 2)));
    assert_int_equal(kernel_scratch_bytes(k), 3 * 32 * 4 + 64);
    uint32_t flags = kernel_add_scratch(k, STR("flags"), DT_bool, 65);
    uint32_t last = kernel_add_scratch(k, STR("last"), DT_i32, 1);
    assert_int_equal(kernel_scratch_offset(k, flags), 3 * 32 * 4);
    assert_int_equal(kernel_scratch_offset(k, last), 3 * 32 * 4 + 128);
    assert_int_equal(kernel_scratch_bytes(k), 3 * 32 * 4 + 128 + 64 + 64);
    kernel_add_scratch(k, STR("huge"), DT_f32, INT64_MAX / 4);
    assert_int_equal(kernel_scratch_bytes(k), INT64_MAX);
    assert_broken(a, k, "scratch is over 64 bits");

    Kernel *plain = kernel_create(a, STR("plain"));
    assert_true(size_is(kernel_parts(plain), 1));
    assert_int_equal(kernel_scratch_bytes(plain), 0);
    arena_destroy(a);
}

// ---- text ---------------------------------------------------------------------------------------

static void assert_prints(Arena *a, const Kernel *k, const char *expected)
{
    Buf buf = {.arena = a};
    kernel_print(&buf, k);
    assert_string_equal(buf.ptr, expected);
}

static void test_softmax_and_gather_print(void **state)
{
    (void)state;
    Arena *a = arena_create();
    assert_prints(a, kit_softmax(a, "softmax", 10),
                  "kernel softmax(x f32, y f32 out) scratch row f32[10] {\n"
                  "  parallel b in batch {\n"
                  "    vector j in 10 {\n"
                  "      reduce %0 = max from -inf by load x[10 b + j]\n"
                  "    }\n"
                  "    vector j2 in 10 {\n"
                  "      let %1 = exp(sub(load x[10 b + j2], %0))\n"
                  "      store row[j2] = %1\n"
                  "      reduce %2 = add from 0.0 by %1\n"
                  "    }\n"
                  "    vector j3 in 10 {\n"
                  "      store y[10 b + j3] = div(load row[j3], %2)\n"
                  "    }\n"
                  "  }\n"
                  "}\n");
    assert_prints(a, kit_gather(a, "embed", 7, 4),
                  "kernel embed(table f32, ids i32, y f32 out) {\n"
                  "  parallel b in batch {\n"
                  "    let %0 = load ids[b]\n"
                  "    vector j in 4 {\n"
                  "      store y[4 b + j] = load table[j + row(%0; 7; 4)]\n"
                  "    }\n"
                  "  }\n"
                  "}\n");
    arena_destroy(a);
}

static void test_every_form_prints(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Kernel *k = kernel_create(a, STR("all"));
    uint32_t x = kernel_add_operand(k, STR("x"), DT_f32, false);
    uint32_t y = kernel_add_operand(k, STR("y"), DT_f32, true);
    uint32_t c = kernel_add_scratch(k, STR("c"), DT_f32, 640);
    uint32_t m = kernel_add_scratch(k, STR("m"), DT_bool, 1);
    const Size *batch = size_symbol(a, STR("batch"));
    Var i = kernel_add_var(k, "batch");
    Stmt *loop = stmt_loop(a, &k->body, LOOP_unroll, i, kit_int(a, 3));
    Pack pack = {.dst = kit_access(c, affine_int(a, 0)), .src = kit_access(x, affine_size(batch))};
    pack.src_k = kit_int(a, -1);
    pack.src_col = batch;
    pack.k = 4;
    pack.cols = 17;
    stmt_pack(a, &loop->body, &pack);
    Tile tile = {.c = kit_access(c, affine_int(a, 128)), .c_row = 32, .rows = 6, .panels = 2};
    tile.a = kit_access(x, affine_var(a, i, batch));
    tile.a_row = batch;
    tile.a_k = kit_int(a, 1);
    tile.b = kit_access(x, affine_int(a, 0));
    tile.b_panel = kit_int(a, 64);
    tile.b_k = kit_int(a, 16);
    tile.k = 4;
    tile.rows_left = size_mod(a, batch, 6);
    tile.accumulate = true;
    stmt_tile(a, &loop->body, &tile);
    Stmt *only = stmt_only(a, &loop->body, i, 2);
    const Expr *is_small =
        kit_map2(a, S_le, expr_size(a, DT_i32, batch), expr_const(a, DT_i32, -3));
    const Expr *flag = kit_map2(a, S_and, is_small, expr_const(a, DT_bool, 1));
    stmt_store(a, &only->body, kit_access(m, affine_int(a, 0)), flag);
    const Expr *number =
        kit_map1(a, S_to_f32,
                 expr_index(a, affine_add(a, affine_int(a, -2), affine_var(a, i, kit_int(a, -1)))));
    stmt_store(a, &only->body,
               kit_access(y, affine_add(a, affine_var(a, i, batch), affine_size(batch))),
               kit_map2(a, S_mul, number, expr_const(a, DT_f32, 1)));
    assert_prints(a, k,
                  "kernel all(x f32, y f32 out) scratch c f32[640], m bool[1] {\n"
                  "  unroll batch in 3 {\n"
                  "    pack c[0] = x[(batch); -1, batch] k 4 cols 17\n"
                  "    tile c[128; 32] += x[(batch) batch; batch, 1] * x[0; 64, 16] rows 6 left "
                  "batch - 6 * (batch / 6) panels 2 k 4\n"
                  "    only batch == 2 {\n"
                  "      store m[0] = and(le(size i32 (batch), -3), true)\n"
                  "      store y[(batch) batch + (batch)] = mul(to_f32(index[-1 batch + -2]), "
                  "1.0)\n"
                  "    }\n"
                  "  }\n"
                  "}\n");
    assert_valid(a, k);
    arena_destroy(a);
}

// ---- checking -----------------------------------------------------------------------------------

static void test_good_kernels_verify(void **state)
{
    (void)state;
    Arena *a = arena_create();
    assert_valid(a, kit_dense(a, "dense"));
    assert_valid(a, kit_softmax(a, "softmax", 10));
    assert_valid(a, kit_gather(a, "embed", 7, 4));
    assert_valid(a, kit_map(a, "gelu", S_gelu, size_symbol(a, STR("batch"))));

    // Behind a vector loop a store to one element is no lanes' any more.
    Kernel *k = kernel_create(a, STR("sum"));
    uint32_t y = kernel_add_operand(k, STR("y"), DT_f32, true);
    Stmt *lanes = stmt_loop(a, &k->body, LOOP_vector, kernel_add_var(k, "j"), kit_int(a, 8));
    Value sum = kernel_add_value(k);
    stmt_reduce(a, lanes, sum, S_add, 0, expr_const(a, DT_f32, 1));
    stmt_store(a, &k->body, kit_access(y, affine_int(a, 0)), expr_value(a, DT_f32, sum));
    assert_valid(a, k);
    arena_destroy(a);
}

// y[0] = value in a kernel with operands x, y f32, ids i32, out i32 n, scratch c f32[64], and a
// serial loop i.
typedef struct Bench {
    Arena *a;
    Kernel *k;
    uint32_t x, y, ids, c;
    Var i;
    Stmt *loop;
} Bench;

static Bench bench(void)
{
    Bench b = {.a = arena_create()};
    b.k = kernel_create(b.a, STR("bench"));
    b.x = kernel_add_operand(b.k, STR("x"), DT_f32, false);
    b.y = kernel_add_operand(b.k, STR("y"), DT_f32, true);
    b.ids = kernel_add_operand(b.k, STR("ids"), DT_i32, false);
    b.c = kernel_add_scratch(b.k, STR("c"), DT_f32, 64);
    b.i = kernel_add_var(b.k, "i");
    b.loop = stmt_loop(b.a, &b.k->body, LOOP_serial, b.i, size_int(b.a, 4));
    return b;
}

static void bench_store(const Bench *b, Stmts *to, const Expr *value)
{
    stmt_store(b->a, to, kit_access(b->y, affine_int(b->a, 0)), value);
}

static void bench_fails(Bench *b, const char *part)
{
    assert_broken(b->a, b->k, part);
    arena_destroy(b->a);
}

static void test_broken_names_and_buffers(void **state)
{
    (void)state;
    Bench b = bench();
    b.k->name = STR("2nd");
    bench_fails(&b, "no C identifier");

    b = bench();
    bench_fails(&b, "output y is never stored to");

    b = bench();
    stmt_store(b.a, &b.loop->body, kit_access(b.x, affine_int(b.a, 0)), expr_const(b.a, DT_f32, 0));
    bench_fails(&b, "x is stored to, but is not an output");

    b = bench();
    stmt_store(b.a, &b.loop->body, kit_access(9, affine_int(b.a, 0)), expr_const(b.a, DT_f32, 0));
    bench_fails(&b, "no buffer 9");

    b = bench();
    b.k->buffers.items[b.c].count = 0;
    bench_fails(&b, "scratch c has 0 elements");

    b = bench();
    b.k->buffers.items[b.x].dtype = DT_f16;
    bench_fails(&b, "x is f16");

    b = bench();
    b.k->noperands = 4;
    bench_fails(&b, "c stands among the wrong buffers");
}

static void test_broken_scopes(void **state)
{
    (void)state;
    Bench b = bench();
    bench_store(&b, &b.k->body,
                kit_map1(b.a, S_to_f32, expr_index(b.a, affine_var(b.a, b.i, kit_int(b.a, 1)))));
    bench_fails(&b, "variable i is used outside its loop");

    b = bench();
    bench_store(&b, &b.loop->body,
                kit_map1(b.a, S_to_f32, expr_index(b.a, affine_var(b.a, 7, kit_int(b.a, 1)))));
    bench_fails(&b, "no variable 7");

    b = bench();
    stmt_loop(b.a, &b.k->body, LOOP_serial, b.i, kit_int(b.a, 2));
    bench_fails(&b, "two loops have the variable i");

    b = bench();
    Value v = kernel_add_value(b.k);
    bench_store(&b, &b.loop->body, expr_value(b.a, DT_f32, v));
    stmt_let(b.a, &b.loop->body, v, expr_const(b.a, DT_f32, 0));
    bench_fails(&b, "%0 is used before it is let");

    b = bench();
    v = kernel_add_value(b.k);
    stmt_let(b.a, &b.loop->body, v, expr_const(b.a, DT_f32, 0));
    bench_store(&b, &b.k->body, expr_value(b.a, DT_f32, v));
    bench_fails(&b, "%0 is used outside its scope");

    b = bench();
    v = kernel_add_value(b.k);
    Stmt *only = stmt_only(b.a, &b.loop->body, b.i, 0);
    stmt_let(b.a, &only->body, v, expr_const(b.a, DT_f32, 0));
    bench_store(&b, &b.loop->body, expr_value(b.a, DT_f32, v));
    bench_fails(&b, "%0 is used outside its scope");

    b = bench();
    v = kernel_add_value(b.k);
    stmt_let(b.a, &b.loop->body, v, expr_const(b.a, DT_f32, 0));
    stmt_let(b.a, &b.loop->body, v, expr_const(b.a, DT_f32, 0));
    bench_fails(&b, "%0 is let twice");

    b = bench();
    v = kernel_add_value(b.k);
    stmt_let(b.a, &b.loop->body, v, expr_const(b.a, DT_f32, 0));
    stmt_store(b.a, &b.loop->body, kit_access(b.y, affine_int(b.a, 0)), expr_value(b.a, DT_i32, v));
    bench_fails(&b, "%0 is f32, not i32");

    b = bench();
    stmt_let(b.a, &b.loop->body, 3, expr_const(b.a, DT_f32, 0));
    bench_fails(&b, "no value %3");

    // A reduction's value is not there inside its loop.
    b = bench();
    v = kernel_add_value(b.k);
    bench_store(&b, &b.loop->body, expr_value(b.a, DT_f32, v));
    stmt_reduce(b.a, b.loop, v, S_add, 0, expr_const(b.a, DT_f32, 1));
    bench_fails(&b, "%0 is used before it is let");
}

static void test_broken_sizes(void **state)
{
    (void)state;
    Bench b = bench();
    b.loop->extent = size_symbol(b.a, STR("seq"));
    bench_fails(&b, "a loop's extent uses seq, which is no symbol");

    b = bench();
    b.loop->extent = NULL;
    bench_fails(&b, "a loop's extent is missing or over 64 bits");

    b = bench();
    b.loop->extent = kit_int(b.a, -1);
    bench_fails(&b, "loop i runs -1 times");

    b = bench();
    Affine big = affine_scale(b.a, affine_int(b.a, INT64_MAX), kit_int(b.a, 2));
    bench_store(&b, &b.loop->body, kit_load(b.a, b.k, b.x, big));
    bench_fails(&b, "an index's base is missing or over 64 bits");

    b = bench();
    AffineTerm zero = {.var = b.i, .coef = kit_int(b.a, 0)};
    Affine at = {.base = kit_int(b.a, 0), .nterms = 1, .terms = &zero};
    bench_store(&b, &b.loop->body, kit_load(b.a, b.k, b.x, at));
    bench_fails(&b, "coefficient 0");

    b = bench();
    AffineTerm twice[2] = {{.var = b.i, .coef = kit_int(b.a, 1)},
                           {.var = b.i, .coef = kit_int(b.a, 1)}};
    at = (Affine){.base = kit_int(b.a, 0), .nterms = 2, .terms = twice};
    bench_store(&b, &b.loop->body, kit_load(b.a, b.k, b.x, at));
    bench_fails(&b, "not in order of their variables");
}

static void test_broken_types(void **state)
{
    (void)state;
    Bench b = bench();
    bench_store(&b, &b.loop->body, expr_const(b.a, DT_i32, 1));
    bench_fails(&b, "y is f32, not i32");

    b = bench();
    bench_store(&b, &b.loop->body, kit_map1(b.a, S_to_f32, expr_const(b.a, DT_i32, 1.5)));
    bench_fails(&b, "1.5 is no i32");

    b = bench();
    bench_store(&b, &b.loop->body, kit_map1(b.a, S_to_f32, expr_const(b.a, DT_bool, 2)));
    bench_fails(&b, "2 is no bool");

    b = bench();
    bench_store(&b, &b.loop->body, expr_const(b.a, DT_f64, 2));
    bench_fails(&b, "an expression is f64");

    b = bench();
    Expr sum = *kit_map2(b.a, S_add, expr_const(b.a, DT_f32, 1), expr_const(b.a, DT_f32, 1));
    const Expr *mixed[2] = {expr_const(b.a, DT_f32, 1), expr_const(b.a, DT_i32, 1)};
    sum.args = mixed;
    bench_store(&b, &b.loop->body, &sum);
    bench_fails(&b, "add does not take i32");

    b = bench();
    Expr wrong = *kit_map1(b.a, S_neg, expr_const(b.a, DT_f32, 1));
    wrong.dtype = DT_i32;
    bench_store(&b, &b.loop->body, kit_map1(b.a, S_to_f32, &wrong));
    bench_fails(&b, "neg gives f32, not i32");

    b = bench();
    Expr few = *kit_map1(b.a, S_neg, expr_const(b.a, DT_f32, 1));
    few.fn = S_add;
    bench_store(&b, &b.loop->body, &few);
    bench_fails(&b, "a function has 1 operands");

    b = bench();
    DynTerm dyn = {expr_const(b.a, DT_f32, 1), kit_int(b.a, 4), kit_int(b.a, 1)};
    Access from = {.buffer = b.x, .at = affine_int(b.a, 0), .ndyn = 1, .dyn = &dyn};
    bench_store(&b, &b.loop->body, expr_load(b.a, b.k, from));
    bench_fails(&b, "the number of a row of x is f32, not i32");
}

static void test_broken_tags(void **state)
{
    (void)state;
    Bench b = bench();
    Var j = kernel_add_var(b.k, "j");
    stmt_loop(b.a, &b.loop->body, LOOP_parallel, j, kit_int(b.a, 2));
    bench_fails(&b, "parallel loop j is not among the outermost");

    b = bench();
    b.loop->tag = LOOP_parallel;
    j = kernel_add_var(b.k, "j");
    stmt_loop(b.a, &b.loop->body, LOOP_parallel, j, kit_int(b.a, 2));
    bench_store(&b, &b.loop->body, expr_const(b.a, DT_f32, 1));
    bench_fails(&b, "parallel loop j is not among the outermost");

    b = bench();
    b.loop->tag = LOOP_parallel;
    bench_store(&b, &b.k->body, expr_const(b.a, DT_f32, 1));
    bench_fails(&b, "parallel loop i is not among the outermost");

    b = bench();
    b.loop->tag = LOOP_parallel;
    stmt_reduce(b.a, b.loop, kernel_add_value(b.k), S_add, 0, expr_const(b.a, DT_f32, 1));
    bench_fails(&b, "parallel loop i reduces");

    b = bench();
    b.loop->tag = LOOP_vector;
    stmt_only(b.a, &b.loop->body, b.i, 1);
    bench_fails(&b, "vector loop i holds more than lets and stores");

    b = bench();
    b.loop->tag = LOOP_vector;
    b.loop->extent = size_symbol(b.a, STR("batch"));
    bench_fails(&b, "vector loop i has no fixed extent");

    b = bench();
    b.loop->tag = LOOP_unroll;
    b.loop->extent = size_symbol(b.a, STR("batch"));
    bench_fails(&b, "unrolled loop i has no fixed extent");

    b = bench();
    b.loop->tag = LOOP_vector;
    bench_store(&b, &b.loop->body, expr_const(b.a, DT_f32, 1));
    bench_fails(&b, "all lanes of vector loop i store to one element");

    b = bench();
    stmt_only(b.a, &b.loop->body, b.i, -1);
    bench_fails(&b, "i is never -1");

    b = bench();
    stmt_reduce(b.a, b.loop, kernel_add_value(b.k), S_sub, 0, expr_const(b.a, DT_f32, 1));
    bench_fails(&b, "reduced by what reduces nothing");

    b = bench();
    stmt_reduce(b.a, b.loop, kernel_add_value(b.k), S_add, 0, expr_const(b.a, DT_bool, 1));
    bench_fails(&b, "add does not reduce bool");

    b = bench();
    stmt_reduce(b.a, b.loop, kernel_add_value(b.k), S_add, 0.5, expr_const(b.a, DT_i32, 1));
    bench_fails(&b, "starts from 0.5, which is no i32");
}

static Tile good_tile(const Bench *b)
{
    Tile t = {.c_row = 16, .rows = 2, .panels = 1, .k = 2};
    t.c = kit_access(b->c, affine_int(b->a, 0));
    t.a = kit_access(b->x, affine_int(b->a, 0));
    t.b = t.a;
    t.a_row = t.a_k = t.b_panel = t.b_k = size_int(b->a, 1);
    return t;
}

static void tile_fails(void (*spoil)(Bench *b, Tile *t), const char *part)
{
    Bench b = bench();
    Tile t = good_tile(&b);
    spoil(&b, &t);
    stmt_tile(b.a, &b.loop->body, &t);
    bench_fails(&b, part);
}

static void to_output(Bench *b, Tile *t) { t->c.buffer = b->y; }
static void to_factor(Bench *b, Tile *t) { t->a.buffer = b->c; }
static void from_ids(Bench *b, Tile *t) { t->b.buffer = b->ids; }
static void no_rows(Bench *b, Tile *t)
{
    (void)b;
    t->rows = 0;
}
static void no_panels(Bench *b, Tile *t)
{
    (void)b;
    t->panels = 0;
}
static void no_k(Bench *b, Tile *t)
{
    (void)b;
    t->k = 0;
}
static void narrow_rows(Bench *b, Tile *t)
{
    (void)b;
    t->panels = 2;
}
static void no_stride(Bench *b, Tile *t)
{
    (void)b;
    t->b_k = NULL;
}

static void test_broken_tiles_and_packs(void **state)
{
    (void)state;
    tile_fails(to_output, "a tile's product goes to y, which is no scratch");
    tile_fails(to_factor, "goes to one of its factors");
    tile_fails(from_ids, "ids is i32, not f32");
    tile_fails(no_rows, "a tile has 0 rows");
    tile_fails(no_panels, "0 panels");
    tile_fails(no_k, "k 0");
    tile_fails(narrow_rows, "rows of C lie 16 apart, but have 2 panels");
    tile_fails(no_stride, "a tile's k stride of B is missing");

    Bench b = bench();
    Pack p = {.k = 2, .cols = 0, .src_k = size_int(b.a, 1), .src_col = size_int(b.a, 1)};
    p.dst = kit_access(b.c, affine_int(b.a, 0));
    p.src = kit_access(b.x, affine_int(b.a, 0));
    stmt_pack(b.a, &b.loop->body, &p);
    bench_fails(&b, "a pack has k 2 and 0 columns");
}

// ---- equality -----------------------------------------------------------------------------------

static void test_kernels_equal_up_to_names(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Arena *other = arena_create();
    Kernel *x = kit_dense(a, "first");
    Kernel *y = kit_dense(other, "second");
    y->buffers.items[0].name = STR("input");
    y->var_names.items[0] = STR("n");
    assert_true(kernel_equal(x, y));
    assert_true(kernel_hash(x) == kernel_hash(y));
    y->buffers.items[y->noperands].count++;
    assert_false(kernel_equal(x, y));

    assert_false(kernel_equal(kit_softmax(a, "s", 10), kit_softmax(a, "s", 11)));
    assert_false(
        kernel_equal(kit_map(a, "m", S_exp, kit_int(a, 4)), kit_map(a, "m", S_log, kit_int(a, 4))));
    assert_false(kernel_equal(kit_gather(a, "g", 7, 4), kit_gather(a, "g", 8, 4)));
    assert_true(kernel_equal(kit_gather(a, "g", 7, 4), kit_gather(other, "h", 7, 4)));
    arena_destroy(a);
    arena_destroy(other);
}

// Each spoils one thing in a copy of `dense`.
static void spoil_dense(Kernel *k, size_t n)
{
    Stmt *items = k->body.items[0];
    Stmt *groups = items->body.items[0];
    Stmt *full = groups->body.items[0];
    Tile *tile = &full->body.items[0]->tile;
    Stmt *rows = full->body.items[1];
    const Size *odd = size_int(k->arena, 12345);
    switch (n) {
    case 0: items->extent = odd; break;
    case 1: groups->tag = LOOP_serial; break;
    case 2: full->value = 1; break;
    case 3: tile->accumulate = true; break;
    case 4: tile->rows = 2; break;
    case 5: tile->k = 19; break;
    case 6: tile->c_row = 48; break;
    case 7: tile->a_row = odd; break;
    case 8: tile->a_k = odd; break;
    case 9: tile->b_panel = odd; break;
    case 10: tile->b_k = odd; break;
    case 11: tile->rows_left = odd; break;
    case 12: tile->panels = 1; break;
    case 13: tile->a.at.base = odd; break;
    case 14: rows->body.items[0]->tag = LOOP_unroll; break;
    case 15: full->body.n--; break;
    case 16: k->buffers.items[3].written = false; break;
    case 17:
        stmt_reduce(k->arena, rows, kernel_add_value(k), S_add, 0, expr_const(k->arena, DT_f32, 0));
        break;
    case 18: k->buffers.items[0].dtype = DT_i32; break;
    case 19: rows->body.items[0]->body.items[0]->target.at.base = odd; break;
    default: rows->body.items[0]->body.items[0]->expr = expr_const(k->arena, DT_f32, 0); break;
    }
}

static void test_every_difference_counts(void **state)
{
    (void)state;
    for (size_t n = 0; n < 21; n++) {
        Arena *a = arena_create();
        Kernel *x = kit_dense(a, "dense");
        Kernel *y = kit_dense(a, "dense");
        spoil_dense(y, n);
        if (kernel_equal(x, y))
            print_error("difference %zu does not count\n", n);
        assert_false(kernel_equal(x, y));
        arena_destroy(a);
    }
}

static void test_expressions_equal(void **state)
{
    (void)state;
    Arena *a = arena_create();
    assert_true(expr_equal(expr_const(a, DT_f32, NAN), expr_const(a, DT_f32, NAN)));
    assert_false(expr_equal(expr_const(a, DT_f32, 0.0), expr_const(a, DT_f32, -0.0)));
    assert_false(expr_equal(expr_const(a, DT_f32, 1), expr_const(a, DT_i32, 1)));
    assert_false(expr_equal(expr_value(a, DT_f32, 0), expr_value(a, DT_f32, 1)));
    const Size *batch = size_symbol(a, STR("batch"));
    assert_true(expr_equal(expr_size(a, DT_f32, batch), expr_size(a, DT_f32, batch)));
    assert_false(expr_equal(expr_size(a, DT_f32, batch), expr_size(a, DT_f32, kit_int(a, 1))));
    assert_false(expr_equal(expr_value(a, DT_f32, 0), NULL));
    const Expr *x = expr_value(a, DT_f32, 0);
    assert_false(expr_equal(kit_map2(a, S_sub, x, expr_const(a, DT_f32, 1)),
                            kit_map2(a, S_sub, expr_const(a, DT_f32, 1), x)));
    arena_destroy(a);
}

// ---- programs -----------------------------------------------------------------------------------

static const Operand *operands(Arena *a, const Operand *list, size_t n)
{
    Operand *out = arena_new(a, Operand, n);
    memcpy(out, list, n * sizeof *list);
    return out;
}

#define OPERANDS(a, ...)                                                                           \
    operands((a), (const Operand[]){__VA_ARGS__},                                                  \
             sizeof((const Operand[]){__VA_ARGS__}) / sizeof(Operand))

// hidden[batch, 4] = softmax(table[ids])
static Program *embedding_program(Arena *a)
{
    Program *p = program_create(a, STR("embedding"));
    const Size *batch = size_symbol(a, STR("batch"));
    const Size **shape = arena_new(a, const Size *, 2);
    shape[0] = batch;
    shape[1] = kit_int(a, 4);
    vec_push(a, &p->symbols, ((ProgramSymbol){STR("batch"), 1, 64}));
    vec_push(a, &p->checks,
             ((ProgramCheck){SIZE_le, batch, kit_int(a, 32), STR("at most 32 items")}));
    ProgramIo ids = {.name = STR("ids"), .dtype = DT_i32, .rank = 1, .shape = shape};
    ids.has_range = ids.has_default = ids.has_slot = true;
    ids.high = 7;
    ids.value = 2;
    vec_push(a, &p->inputs, ids);
    vec_push(a, &p->outputs,
             ((ProgramIo){.name = STR("hidden"), .dtype = DT_f32, .rank = 2, .shape = shape}));
    int64_t *rows = arena_new(a, int64_t, 2);
    rows[0] = 7;
    rows[1] = 4;
    vec_push(a, &p->constants,
             ((Constant){.name = STR("table"), .rank = 2, .shape = rows, .layout = STR("rows")}));
    vec_push(a, &p->buffers,
             ((ArenaBuffer){.name = STR("ids"), .dtype = DT_i32, .count = batch, .is_slot = true}));
    vec_push(a, &p->buffers,
             ((ArenaBuffer){.name = STR("rows"), .count = size_scale(a, batch, 4)}));
    vec_push(a, &p->kernels, kit_gather(a, "embed", 7, 4));
    vec_push(a, &p->kernels, kit_softmax(a, "softmax", 4));
    vec_push(a, &p->steps,
             ((Step){STR("table"), 0, 3,
                     OPERANDS(a, {OPERAND_constant, 0}, {OPERAND_input, 0}, {OPERAND_buffer, 1})}));
    vec_push(a, &p->steps,
             ((Step){STR("softmax"), 1, 2, OPERANDS(a, {OPERAND_buffer, 1}, {OPERAND_output, 0})}));
    return p;
}

static void test_programs_print(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Program *p = embedding_program(a);
    p->kernels.n = 1;
    p->kernels.items[0] = kit_map(a, "gelu", S_gelu, kit_int(a, 4));
    p->steps.items[0].kernel = 0;
    p->steps.items[1].kernel = 5;
    p->buffers.items[0].offset = kit_int(a, 0);
    p->buffers.items[1].offset = size_scale(a, size_symbol(a, STR("batch")), 64);
    p->arena_bytes = kit_int(a, 4096);
    p->constants.items[0].bytes = 112;
    p->constants.items[0].hash = 0xabc;
    Buf buf = {.arena = a};
    program_print(&buf, p);
    assert_string_equal(buf.ptr, "program \"embedding\"(batch in 1 .. 64) {\n"
                                 "  check batch <= 32, \"at most 32 items\"\n"
                                 "  input 0 \"ids\" i32[batch] in 0 .. 7 = 2 slot 0\n"
                                 "  output 0 \"hidden\" f32[batch, 4]\n"
                                 "  constant 0 \"table\" f32[7, 4] rows at 0 bytes 112 hash "
                                 "0x0000000000000abc\n"
                                 "  buffer 0 \"ids\" i32[batch] slot at 0\n"
                                 "  buffer 1 \"rows\" f32[4 * batch] at 64 * batch\n"
                                 "  arena 4096\n"
                                 "  kernel gelu(x f32, y f32 out) {\n"
                                 "    parallel i in 4 {\n"
                                 "      store y[i] = gelu(load x[i])\n"
                                 "    }\n"
                                 "  }\n"
                                 "  step \"table\" = gelu(constant 0, input 0, buffer 1)\n"
                                 "  step \"softmax\" = ?5(buffer 1, output 0)\n"
                                 "}\n");
    arena_destroy(a);
}

static void assert_program(Arena *a, const Program *p, const char *part)
{
    Buf why = {.arena = a};
    bool ok = program_verify(p, &why);
    if (ok != !part || (part && !strstr(why.ptr, part)))
        print_error("expected '%s' in: %s\n", part ? part : "nothing", why.ptr ? why.ptr : "");
    assert_true(part ? !ok && strstr(why.ptr, part) : ok);
}

// Spoils a program in one way and says what is to be found; NULL: there are no more ways.
static const char *spoil_program(Program *p, size_t n)
{
    Arena *a = p->arena;
    Step *last = &p->steps.items[1];
    switch (n) {
    case 0: p->symbols.items[0].low = 0; return "symbol batch lies between 0 and 64";
    case 1: vec_push(a, &p->symbols, p->symbols.items[0]); return "symbol batch is there twice";
    case 2: p->checks.items[0].op = SIZE_gt; return "a check compares by >";
    case 3: p->checks.items[0].left = NULL; return "the left side is missing";
    case 4: p->inputs.items[0].has_slot = false; return "input ids needs a slot and has none";
    case 5: p->inputs.items[0].slot = 9; return "there is no buffer 9";
    case 6: p->inputs.items[0].slot = 1; return "buffer 1 is no slot";
    case 7: p->buffers.items[0].count = kit_int(a, 3); return "its slot has another type or size";
    case 8: p->inputs.items[0].high = 0; return "has the range 0 .. 0";
    case 9: vec_push(a, &p->inputs, p->inputs.items[0]); return "input ids is there twice";
    case 10: p->outputs.items[0].has_default = true; return "output hidden has what only inputs";
    case 11: p->outputs.items[0].dtype = DT_f64; return "output hidden is f64";
    case 12: p->buffers.items[1].is_slot = true; return "buffer 1 is the slot of no input";
    case 13: p->constants.items[0].layout = STR(""); return "constant table has no layout";
    case 14: p->arena_bytes = kit_int(a, 64); return "the buffer's offset is missing";
    case 15: p->kernels.items[1]->name = STR("embed"); return "kernel embed is there twice";
    case 16: p->kernels.items[1]->name = STR("a-b"); return "no C identifier";
    case 17: last->kernel = 2; return "there is no kernel 2";
    case 18: last->noperands = 1; return "1 operands, kernel softmax has 2";
    case 19:
        last->operands = OPERANDS(a, {OPERAND_buffer, 9}, {OPERAND_output, 0});
        return "operand 0 does not exist";
    case 20:
        last->operands = OPERANDS(a, {OPERAND_input, 0}, {OPERAND_output, 0});
        return "input ids is i32, kernel softmax wants f32";
    case 21:
        last->operands = OPERANDS(a, {OPERAND_buffer, 1}, {OPERAND_constant, 0});
        return "constant table is stored to";
    case 22:
        last->operands = OPERANDS(a, {OPERAND_buffer, 1}, {OPERAND_buffer, 1});
        return "operand 1 is stored to and is operand 0 too";
    case 23:
        p->steps.items++;
        p->steps.n--;
        return "buffer rows is read before it is written";
    case 24: p->steps.n--; return "output hidden is never written";
    case 25:
        last->operands = OPERANDS(a, {OPERAND_output, 0}, {OPERAND_buffer, 1});
        return "output hidden is read before it is written";
    case 26: p->outputs.items[0].name = STR(""); return "output has no name";
    default: return NULL;
    }
}

static void test_programs_verify(void **state)
{
    (void)state;
    Arena *a = arena_create();
    assert_program(a, embedding_program(a), NULL);
    for (size_t n = 0;; n++) {
        Program *p = embedding_program(a);
        const char *part = spoil_program(p, n);
        if (!part)
            break;
        assert_program(a, p, part);
    }
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_affines_are_sorted_and_free_of_zeros),
        cmocka_unit_test(test_names_become_unique_words),
        cmocka_unit_test(test_expressions_know_their_types_and_variables),
        cmocka_unit_test(test_parts_and_scratch),
        cmocka_unit_test(test_softmax_and_gather_print),
        cmocka_unit_test(test_every_form_prints),
        cmocka_unit_test(test_good_kernels_verify),
        cmocka_unit_test(test_broken_names_and_buffers),
        cmocka_unit_test(test_broken_scopes),
        cmocka_unit_test(test_broken_sizes),
        cmocka_unit_test(test_broken_types),
        cmocka_unit_test(test_broken_tags),
        cmocka_unit_test(test_broken_tiles_and_packs),
        cmocka_unit_test(test_kernels_equal_up_to_names),
        cmocka_unit_test(test_every_difference_counts),
        cmocka_unit_test(test_expressions_equal),
        cmocka_unit_test(test_programs_print),
        cmocka_unit_test(test_programs_verify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
