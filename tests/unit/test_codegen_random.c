// Random kernels, native against evaluated: every value is a small integer, so that both compute
// the same whatever the order, and every difference is a fault. What kernels look like: loops of
// all kinds in each other, lets, stores to scratch and outputs that are loaded again, rows found at
// run time, reductions; sizes with symbols.
#include "codegen/codegen.h"
#include "loop/loop.h"
#include "native.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define NKERNELS  40  // of one module
#define REGION    400 // elements of an output that belong to one part; of the other buffers
#define MAX_VARS  8
#define MAX_LETS  64
#define MAX_DEPTH 4
#define N_VALUE   3 // of the symbol n: the parts
#define M_VALUE   5 // of the symbol m

typedef struct Loop {
    Var var;
    int64_t extent;
} Loop;

typedef struct Let {
    Value id;
    DType dtype;
} Let;

// A place that a vector loop stores to; it may be loaded there only just so.
typedef struct StoreTarget {
    Access access;
    DType dtype;
} StoreTarget;

typedef struct Maker {
    Arena *a;
    Kernel *k;
    uint64_t seed;
    Var part;
    Loop loops[MAX_VARS]; // around the current place, but for the part
    size_t nloops;
    Let lets[MAX_LETS];
    size_t nlets;
    bool in_lanes;
    StoreTarget targets[2]; // of the vector loop
    size_t ntargets;
} Maker;

static uint32_t roll(Maker *m, uint32_t n)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->seed >> 33) % n;
}

static const Size *number(Maker *m, int64_t n) { return size_int(m->a, n); }

static const Size *symbol(Maker *m, const char *name) { return size_symbol(m->a, str_from(name)); }

// A size of the value n, now and then with symbols in it.
static const Size *disguised(Maker *m, int64_t n)
{
    switch (roll(m, 6)) {
    case 0: return size_add(m->a, symbol(m, "m"), number(m, n - M_VALUE));
    case 1: {
        const Size *half = size_div(m->a, symbol(m, "m"), 2);
        return size_add(m->a, half, number(m, n - M_VALUE / 2));
    }
    default: return number(m, n);
    }
}

static bool is_own(const Maker *m, uint32_t buffer) { return m->k->buffers.items[buffer].written; }

static DType dtype_of(const Maker *m, uint32_t buffer) { return m->k->buffers.items[buffer].dtype; }

// ---- places -------------------------------------------------------------------------------------

// A place inside of a buffer for all values of the loops' variables. `lane_coef` 0: any.
static Affine random_place(Maker *m, uint32_t buffer, int64_t lane_coef)
{
    Arena *a = m->a;
    int64_t left = REGION - 1;
    int64_t base = 0;
    Affine at = affine_int(a, 0);
    for (size_t i = m->nloops; i-- > 0;) {
        bool is_lane = m->in_lanes && i == m->nloops - 1;
        if (!(is_lane && lane_coef != 0) && roll(m, 3) == 0) {
            continue;
        }
        static const int64_t coefs[] = {1, 1, 1, 2, -1, -2, 3, 7};
        int64_t coef = is_lane && lane_coef != 0 ? lane_coef : coefs[roll(m, 8)];
        int64_t way = (coef < 0 ? -coef : coef) * (m->loops[i].extent - 1);
        if (way > left) {
            continue;
        }
        left -= way;
        base += coef < 0 ? way : 0;
        const Size *size = is_lane ? number(m, coef) : disguised(m, coef);
        at = affine_add(a, at, affine_var(a, m->loops[i].var, size));
    }
    base += roll(m, (uint32_t)left + 1);
    at = affine_add(a, at, affine_size(disguised(m, base)));
    if (is_own(m, buffer)) {
        at = affine_add(a, at, affine_var(a, m->part, number(m, REGION)));
    }
    return at;
}

static const Expr *random_expr(Maker *m, DType dtype, int depth);

static Access random_access(Maker *m, uint32_t buffer, int depth)
{
    Access access = {.buffer = buffer, .at = random_place(m, buffer, 0)};
    if (is_own(m, buffer) || roll(m, 4) != 0 || depth < 1) {
        return access;
    }
    // The place again, but its rows of 16 found at run time: mostly inside.
    DynTerm *dyn = arena_new(m->a, DynTerm, 1);
    const Expr *index = random_expr(m, DT_i32, depth - 1);
    if (roll(m, 3) != 0) {
        const Expr *zero = expr_const(m->a, DT_i32, 0);
        const Expr *high = expr_const(m->a, DT_i32, 6);
        index = expr_map(m->a, S_max, (const Expr *[]){index, zero}, 2);
        index = expr_map(m->a, S_min, (const Expr *[]){index, high}, 2);
    }
    *dyn = (DynTerm){index, disguised(m, 7), disguised(m, 16)};
    access.at = affine_int(m->a, roll(m, REGION - 7 * 16 - 70));
    if (m->nloops > 0 && roll(m, 2) == 0) {
        Var var = m->loops[m->nloops - 1].var;
        access.at = affine_add(m->a, access.at, affine_var(m->a, var, number(m, 1)));
    }
    access.dyn = dyn;
    access.ndyn = 1;
    return access;
}

// ---- expressions --------------------------------------------------------------------------------

static const Expr *map(Maker *m, Scalar fn, const Expr *x, const Expr *y, const Expr *z)
{
    const Expr *args[] = {x, y, z};
    return expr_map(m->a, fn, args, scalar_arity(fn));
}

static const Expr *random_load(Maker *m, DType dtype, int depth)
{
    for (int tries = 0; tries < 20; tries++) {
        uint32_t buffer = roll(m, (uint32_t)m->k->buffers.n);
        if (dtype_of(m, buffer) != dtype) {
            continue;
        }
        for (size_t i = 0; i < m->ntargets; i++) {
            if (m->targets[i].access.buffer == buffer) {
                return expr_load(m->a, m->k, m->targets[i].access);
            }
        }
        return expr_load(m->a, m->k, random_access(m, buffer, depth));
    }
    return expr_const(m->a, dtype, 1);
}

static const Expr *random_leaf(Maker *m, DType dtype, int depth)
{
    if (roll(m, 3) == 0) {
        for (size_t tries = 0; tries < 6 && m->nlets > 0; tries++) {
            const Let *let = &m->lets[roll(m, (uint32_t)m->nlets)];
            if (let->dtype == dtype) {
                return expr_value(m->a, dtype, let->id);
            }
        }
    }
    switch (roll(m, 6)) {
    case 0: return expr_const(m->a, dtype, dtype == DT_bool ? roll(m, 2) : roll(m, 9) - 4.0);
    case 1:
        if (dtype == DT_i32) {
            return expr_index(m->a, random_place(m, 0, 0));
        }
        return expr_size(m->a, dtype, disguised(m, roll(m, 4)));
    default: return random_load(m, dtype, depth);
    }
}

static const Expr *random_compare(Maker *m, int depth)
{
    static const Scalar compares[] = {S_eq, S_ne, S_lt, S_le, S_gt, S_ge};
    DType dtype = roll(m, 2) ? DT_f32 : DT_i32;
    const Expr *x = random_expr(m, dtype, depth);
    const Expr *y = random_expr(m, dtype, depth);
    return map(m, compares[roll(m, 6)], x, y, NULL);
}

// x within -500 … 500: sums of such stay exact.
static const Expr *bounded(Maker *m, const Expr *x)
{
    if (x->dtype == DT_bool) {
        return x;
    }
    x = map(m, S_min, x, expr_const(m->a, x->dtype, 500), NULL);
    return map(m, S_max, x, expr_const(m->a, x->dtype, -500), NULL);
}

static const Expr *random_number(Maker *m, DType dtype, int depth)
{
    static const Scalar twos[] = {S_add, S_sub, S_min, S_max, S_add, S_sub};
    const Expr *x = random_expr(m, dtype, depth);
    switch (roll(m, 8)) {
    case 0: return map(m, S_neg, x, NULL, NULL);
    case 1: return map(m, S_abs, x, NULL, NULL);
    case 2:
        if (dtype == DT_f32) {
            return map(m, S_relu, x, NULL, NULL);
        }
        return map(m, S_mul, x, random_expr(m, dtype, depth), NULL); // wraps
    case 3: return map(m, S_mul, x, expr_const(m->a, dtype, roll(m, 5) - 2.0), NULL);
    case 4: {
        DType from = roll(m, 2) ? DT_bool : dtype == DT_f32 ? DT_i32 : DT_f32;
        const Expr *y = bounded(m, random_expr(m, from, depth));
        return map(m, dtype == DT_f32 ? S_to_f32 : S_to_i32, y, NULL, NULL);
    }
    case 5: {
        const Expr *condition = random_expr(m, DT_bool, depth);
        return map(m, S_select, condition, x, random_expr(m, dtype, depth));
    }
    default: return map(m, twos[roll(m, 6)], x, random_expr(m, dtype, depth), NULL);
    }
}

static const Expr *random_expr(Maker *m, DType dtype, int depth)
{
    if (depth <= 0) {
        return random_leaf(m, dtype, depth);
    }
    if (dtype != DT_bool) {
        return random_number(m, dtype, depth - 1);
    }
    switch (roll(m, 5)) {
    case 0: {
        const Expr *x = random_expr(m, DT_bool, depth - 1);
        return map(m, roll(m, 2) ? S_and : S_or, x, random_expr(m, DT_bool, depth - 1), NULL);
    }
    case 1: return map(m, S_not, random_expr(m, DT_bool, depth - 1), NULL, NULL);
    case 2:
        return map(m, S_to_bool, random_expr(m, roll(m, 2) ? DT_f32 : DT_i32, depth - 1), NULL,
                   NULL);
    default: return random_compare(m, depth - 1);
    }
}

static DType random_dtype(Maker *m)
{
    static const DType dtypes[] = {DT_f32, DT_f32, DT_f32, DT_i32, DT_bool};
    return dtypes[roll(m, 5)];
}

// ---- statements ---------------------------------------------------------------------------------

static void add_let(Maker *m, Value id, DType dtype)
{
    if (m->nlets < MAX_LETS) {
        m->lets[m->nlets++] = (Let){id, dtype};
    }
}

static void random_let(Maker *m, Stmts *to)
{
    DType dtype = random_dtype(m);
    Value id = kernel_add_value(m->k);
    stmt_let(m->a, to, id, bounded(m, random_expr(m, dtype, 2)));
    add_let(m, id, dtype);
}

// Stores to scratch or an output; in lanes, to one of the loop's targets.
static void random_store(Maker *m, Stmts *to)
{
    if (m->in_lanes) {
        const StoreTarget *t = &m->targets[roll(m, (uint32_t)m->ntargets)];
        stmt_store(m->a, to, t->access, bounded(m, random_expr(m, t->dtype, 3)));
        return;
    }
    uint32_t first = (uint32_t)m->k->noperands - 3; // the outputs are the last operands
    uint32_t buffer = first + roll(m, (uint32_t)m->k->buffers.n - first);
    Access access = {.buffer = buffer, .at = random_place(m, buffer, 0)};
    stmt_store(m->a, to, access, bounded(m, random_expr(m, dtype_of(m, buffer), 3)));
}

static void random_reductions(Maker *m, Stmt *loop, Let *results, size_t *n)
{
    static const Scalar fns[] = {S_add, S_min, S_max, S_and, S_or};
    *n = 0;
    while (*n < 2 && roll(m, 2) == 0) {
        Scalar fn = fns[roll(m, 5)];
        DType dtype = fn == S_and || fn == S_or ? DT_bool : roll(m, 2) ? DT_f32 : DT_i32;
        const Expr *update = bounded(m, random_expr(m, dtype, 2));
        if (dtype == DT_f32 && fn == S_add && roll(m, 2)) {
            const Expr *factor = map(m, S_to_f32, random_expr(m, DT_bool, 1), NULL, NULL);
            update = map(m, S_mul, update, factor, NULL);
        }
        Value id = kernel_add_value(m->k);
        stmt_reduce(m->a, loop, id, fn, dtype == DT_bool ? roll(m, 2) : roll(m, 5) - 2.0, update);
        results[(*n)++] = (Let){id, dtype};
    }
}

static void random_body(Maker *m, Stmts *to, int depth);

static void choose_targets(Maker *m)
{
    m->ntargets = 0;
    for (size_t i = 0; i < 2; i++) {
        uint32_t first = (uint32_t)m->k->noperands - 3;
        uint32_t buffer = first + roll(m, (uint32_t)m->k->buffers.n - first);
        static const int64_t coefs[] = {1, 1, 1, 1, -1, 2, 3};
        int64_t coef = coefs[roll(m, 7)];
        if ((coef < 0 ? -coef : coef) * (m->loops[m->nloops - 1].extent - 1) >= REGION) {
            coef = 1;
        }
        if (i == 1 && m->targets[0].access.buffer == buffer) {
            break;
        }
        m->targets[i].access = (Access){.buffer = buffer, .at = random_place(m, buffer, coef)};
        m->targets[i].dtype = dtype_of(m, buffer);
        m->ntargets++;
    }
}

static void random_loop(Maker *m, Stmts *to, int depth)
{
    static const LoopTag tags[] = {LOOP_serial, LOOP_serial, LOOP_vector,
                                   LOOP_vector, LOOP_vector, LOOP_unroll};
    LoopTag tag = depth <= 1 ? LOOP_vector : tags[roll(m, 6)];
    size_t nlets = m->nlets;
    Var var = kernel_add_var(m->k, "v");
    int64_t extent = tag == LOOP_vector ? 1 + roll(m, 100) : roll(m, 4);
    const Size *size = tag == LOOP_serial ? disguised(m, extent) : number(m, extent);
    Stmt *loop = stmt_loop(m->a, to, tag, var, size);
    m->loops[m->nloops++] = (Loop){var, extent < 1 ? 1 : extent};
    if (tag == LOOP_vector) {
        m->in_lanes = true;
        choose_targets(m);
        for (uint32_t i = 1 + roll(m, 3); i > 0; i--) {
            roll(m, 2) ? random_let(m, &loop->body) : random_store(m, &loop->body);
        }
    } else {
        random_body(m, &loop->body, depth - 1);
    }
    Let results[2];
    size_t nresults;
    random_reductions(m, loop, results, &nresults);
    m->in_lanes = false;
    m->ntargets = 0;
    m->nloops--;
    m->nlets = nlets;
    for (size_t i = 0; i < nresults; i++) {
        add_let(m, results[i].id, results[i].dtype);
    }
}

static void random_only(Maker *m, Stmts *to, int depth)
{
    bool of_part = m->nloops == 0 || roll(m, 3) == 0;
    Var var = of_part ? m->part : m->loops[roll(m, (uint32_t)m->nloops)].var;
    size_t nlets = m->nlets;
    Stmt *only = stmt_only(m->a, to, var, roll(m, 3));
    random_body(m, &only->body, depth - 1);
    m->nlets = nlets;
}

static void random_body(Maker *m, Stmts *to, int depth)
{
    for (uint32_t i = 1 + roll(m, 3); i > 0; i--) {
        uint32_t kind = roll(m, 8);
        if (kind < 2) {
            random_let(m, to);
        } else if (kind < 4) {
            random_store(m, to);
        } else if (kind == 4 && depth > 1) {
            random_only(m, to, depth);
        } else if (depth > 0) {
            random_loop(m, to, depth);
        }
    }
}

// Gives every element that may be read a value: of scratch and of the part's share of outputs.
static void fill_buffers(Maker *m, Stmts *to)
{
    for (uint32_t b = (uint32_t)m->k->noperands - 3; b < m->k->buffers.n; b++) {
        Var var = kernel_add_var(m->k, "f");
        Stmt *loop = stmt_loop(m->a, to, LOOP_vector, var, number(m, REGION));
        Affine at = affine_var(m->a, var, number(m, 1));
        const Expr *x = expr_index(m->a, at);
        x = map(m, S_sub, x, expr_const(m->a, DT_i32, roll(m, REGION)), NULL);
        if (is_own(m, b)) {
            at = affine_add(m->a, at, affine_var(m->a, m->part, number(m, REGION)));
        }
        DType dtype = dtype_of(m, b);
        if (dtype == DT_bool) {
            x = map(m, S_lt, x, expr_const(m->a, DT_i32, 0), NULL);
        } else if (dtype == DT_f32) {
            x = map(m, S_to_f32, x, NULL, NULL);
        }
        stmt_store(m->a, &loop->body, (Access){.buffer = b, .at = at}, x);
    }
}

static Kernel *random_kernel(Arena *a, uint64_t seed)
{
    Maker m = {.a = a, .seed = seed * 7919 + 17};
    m.k = kernel_create(a, str_format(a, "random%llu", (unsigned long long)seed));
    kernel_add_operand(m.k, STR("x"), DT_f32, false);
    kernel_add_operand(m.k, STR("z"), DT_f32, false);
    kernel_add_operand(m.k, STR("ids"), DT_i32, false);
    kernel_add_operand(m.k, STR("mask"), DT_bool, false);
    kernel_add_operand(m.k, STR("y"), DT_f32, true);
    kernel_add_operand(m.k, STR("counts"), DT_i32, true);
    kernel_add_operand(m.k, STR("flags"), DT_bool, true);
    kernel_add_scratch(m.k, STR("s"), DT_f32, REGION);
    kernel_add_scratch(m.k, STR("t"), DT_f32, REGION);
    kernel_add_scratch(m.k, STR("i"), DT_i32, REGION);
    kernel_add_scratch(m.k, STR("b"), DT_bool, REGION);
    m.part = kernel_add_var(m.k, "part");
    const Size *n = roll(&m, 2) ? symbol(&m, "n") : number(&m, N_VALUE);
    Stmt *parts = stmt_loop(a, &m.k->body, LOOP_parallel, m.part, n);
    fill_buffers(&m, &parts->body);
    for (uint32_t i = 2 + roll(&m, 3); i > 0; i--) {
        random_loop(&m, &parts->body, MAX_DEPTH);
        random_store(&m, &parts->body);
    }
    return m.k;
}

static void fill_data(Data *d, uint64_t seed)
{
    for (int64_t i = 0; i < d->count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int32_t x = (int32_t)(seed >> 40) % 21 - 10;
        if (d->dtype == DT_f32) {
            ((float *)d->bytes)[i] = (float)x;
        } else if (d->dtype == DT_i32) {
            ((int32_t *)d->bytes)[i] = x;
        } else {
            ((uint8_t *)d->bytes)[i] = (uint8_t)(x < 0 ? 0 : x); // any byte but 0 is true
        }
    }
}

static void check_random(const char *name, const char *as, uint64_t first_seed)
{
    Arena *a = arena_create();
    const SizeBinding symbols[] = {{STR("n"), N_VALUE}, {STR("m"), M_VALUE}};
    const Str names[] = {symbols[0].name, symbols[1].name};
    Kernel *kernels[NKERNELS];
    for (size_t i = 0; i < NKERNELS; i++) {
        kernels[i] = random_kernel(a, first_seed + i);
    }
    CodegenTarget target = native_target(a, name, as);
    Native native = native_load(a, native_program(a, kernels, NKERNELS, names, 2), &target);
    for (size_t i = 0; i < NKERNELS; i++) {
        Data data[7];
        for (size_t o = 0; o < kernels[i]->noperands; o++) {
            bool written = kernels[i]->buffers.items[o].written;
            data[o] = native_data(a, kernels[i]->buffers.items[o].dtype,
                                  written ? N_VALUE * REGION : REGION);
            fill_data(&data[o], first_seed + i * 10 + o);
        }
        native_check(&native, kernels[i], i, symbols, 2, data, 0);
    }
    native_close(&native);
    arena_destroy(a);
}

// SLUICE_SEED=N tries other kernels.
static uint64_t first_seed(void)
{
    const char *text = getenv("SLUICE_SEED");
    return text ? strtoull(text, NULL, 10) : 0;
}

static void test_vectors_of_8(void **state)
{
    (void)state;
    check_random("x86-64-v3", NULL, first_seed());
}

static void test_vectors_of_16(void **state)
{
    (void)state;
    check_random("x86-64-v4", "x86-64-v3", first_seed() + NKERNELS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_of_8),
        cmocka_unit_test(test_vectors_of_16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
