#include "loop_kit.h"

#include <math.h>

const Size *kit_int(Arena *a, int64_t n) { return size_int(a, n); }

Affine kit_at(Arena *a, int64_t base, const int64_t *coefs, const Var *vars, size_t n)
{
    Affine out = affine_int(a, base);
    for (size_t i = 0; i < n; i++)
        out = affine_add(a, out, affine_var(a, vars[i], size_int(a, coefs[i])));
    return out;
}

Access kit_access(uint32_t buffer, Affine at) { return (Access){.buffer = buffer, .at = at}; }

const Expr *kit_load(Arena *a, const Kernel *k, uint32_t buffer, Affine at)
{
    return expr_load(a, k, kit_access(buffer, at));
}

const Expr *kit_map1(Arena *a, Scalar fn, const Expr *x) { return expr_map(a, fn, &x, 1); }

const Expr *kit_map2(Arena *a, Scalar fn, const Expr *x, const Expr *y)
{
    return expr_map(a, fn, (const Expr *const[]){x, y}, 2);
}

typedef struct Dense {
    Arena *a;
    Kernel *k;
    uint32_t x, w, bias, y, c;
    Var item;
} Dense;

// The product of `rows` rows from `row` on with `panels` panels from `panel` on, `cols` of them
// real.
static void dense_block(const Dense *d, Stmts *to, int64_t row, int64_t rows, int64_t panel,
                        int64_t panels, int64_t cols)
{
    Arena *a = d->a;
    Tile tile = {.c_row = 32, .rows = rows, .panels = panels, .k = KIT_K};
    tile.c = kit_access(d->c, affine_int(a, 0));
    tile.a = kit_access(d->x,
                        kit_at(a, row * KIT_K, (int64_t[]){KIT_ROWS * KIT_K}, (Var[]){d->item}, 1));
    tile.a_row = size_int(a, KIT_K);
    tile.a_k = size_int(a, 1);
    tile.b = kit_access(d->w, affine_int(a, panel * KIT_K * 16));
    tile.b_panel = size_int(a, KIT_K * 16);
    tile.b_k = size_int(a, 16);
    stmt_tile(a, to, &tile);
    Var r = kernel_add_var(d->k, "r");
    Stmt *row_loop = stmt_loop(a, to, LOOP_serial, r, size_int(a, rows));
    Var j = kernel_add_var(d->k, "j");
    Stmt *col_loop = stmt_loop(a, &row_loop->body, LOOP_vector, j, size_int(a, cols));
    const Expr *sum = kit_load(a, d->k, d->c, kit_at(a, 0, (int64_t[]){32, 1}, (Var[]){r, j}, 2));
    const Expr *bias =
        kit_load(a, d->k, d->bias, kit_at(a, panel * 16, (int64_t[]){1}, (Var[]){j}, 1));
    Affine at = kit_at(a, row * KIT_COLS + panel * 16,
                       (int64_t[]){KIT_ROWS * KIT_COLS, KIT_COLS, 1}, (Var[]){d->item, r, j}, 3);
    stmt_store(a, &col_loop->body, kit_access(d->y, at),
               kit_map1(a, S_gelu, kit_map2(a, S_add, sum, bias)));
}

Kernel *kit_dense(Arena *a, const char *name)
{
    Kernel *k = kernel_create(a, str_from(name));
    Dense d = {.a = a, .k = k};
    d.x = kernel_add_operand(k, STR("x"), DT_f32, false);
    d.w = kernel_add_operand(k, STR("w"), DT_f32, false);
    d.bias = kernel_add_operand(k, STR("bias"), DT_f32, false);
    d.y = kernel_add_operand(k, STR("y"), DT_f32, true);
    d.c = kernel_add_scratch(k, STR("c"), DT_f32, 3 * 32);
    d.item = kernel_add_var(k, "item");
    Stmt *items = stmt_loop(a, &k->body, LOOP_parallel, d.item, size_symbol(a, STR("batch")));
    Var group = kernel_add_var(k, "group");
    Stmt *groups = stmt_loop(a, &items->body, LOOP_parallel, group, size_int(a, 2));
    Stmt *full = stmt_only(a, &groups->body, group, 0);
    dense_block(&d, &full->body, 0, 3, 0, 2, 32);
    dense_block(&d, &full->body, 3, 2, 0, 2, 32);
    Stmt *rest = stmt_only(a, &groups->body, group, 1);
    dense_block(&d, &rest->body, 0, 3, 2, 1, 8);
    dense_block(&d, &rest->body, 3, 2, 2, 1, 8);
    return k;
}

Kernel *kit_softmax(Arena *a, const char *name, int64_t n)
{
    Kernel *k = kernel_create(a, str_from(name));
    uint32_t x = kernel_add_operand(k, STR("x"), DT_f32, false);
    uint32_t y = kernel_add_operand(k, STR("y"), DT_f32, true);
    uint32_t row = kernel_add_scratch(k, STR("row"), DT_f32, n);
    Var b = kernel_add_var(k, "b");
    Stmt *rows = stmt_loop(a, &k->body, LOOP_parallel, b, size_symbol(a, STR("batch")));
    Var j[3];
    Stmt *loops[3];
    for (size_t i = 0; i < 3; i++) {
        j[i] = kernel_add_var(k, "j");
        loops[i] = stmt_loop(a, &rows->body, LOOP_vector, j[i], size_int(a, n));
    }
    Value high = kernel_add_value(k);
    Value power = kernel_add_value(k);
    Value sum = kernel_add_value(k);
    const Expr *load_x = kit_load(a, k, x, kit_at(a, 0, (int64_t[]){n, 1}, (Var[]){b, j[0]}, 2));
    stmt_reduce(a, loops[0], high, S_max, -INFINITY, load_x);
    load_x = kit_load(a, k, x, kit_at(a, 0, (int64_t[]){n, 1}, (Var[]){b, j[1]}, 2));
    const Expr *less = kit_map2(a, S_sub, load_x, expr_value(a, DT_f32, high));
    stmt_let(a, &loops[1]->body, power, kit_map1(a, S_exp, less));
    stmt_store(a, &loops[1]->body, kit_access(row, kit_at(a, 0, (int64_t[]){1}, (Var[]){j[1]}, 1)),
               expr_value(a, DT_f32, power));
    stmt_reduce(a, loops[1], sum, S_add, 0, expr_value(a, DT_f32, power));
    const Expr *kept = kit_load(a, k, row, kit_at(a, 0, (int64_t[]){1}, (Var[]){j[2]}, 1));
    stmt_store(a, &loops[2]->body,
               kit_access(y, kit_at(a, 0, (int64_t[]){n, 1}, (Var[]){b, j[2]}, 2)),
               kit_map2(a, S_div, kept, expr_value(a, DT_f32, sum)));
    return k;
}

Kernel *kit_gather(Arena *a, const char *name, int64_t rows, int64_t n)
{
    Kernel *k = kernel_create(a, str_from(name));
    uint32_t table = kernel_add_operand(k, STR("table"), DT_f32, false);
    uint32_t ids = kernel_add_operand(k, STR("ids"), DT_i32, false);
    uint32_t y = kernel_add_operand(k, STR("y"), DT_f32, true);
    Var b = kernel_add_var(k, "b");
    Var j = kernel_add_var(k, "j");
    Stmt *items = stmt_loop(a, &k->body, LOOP_parallel, b, size_symbol(a, STR("batch")));
    Value id = kernel_add_value(k);
    stmt_let(a, &items->body, id, kit_load(a, k, ids, kit_at(a, 0, (int64_t[]){1}, (Var[]){b}, 1)));
    Stmt *cols = stmt_loop(a, &items->body, LOOP_vector, j, size_int(a, n));
    DynTerm *dyn = arena_new(a, DynTerm, 1);
    *dyn = (DynTerm){expr_value(a, DT_i32, id), size_int(a, rows), size_int(a, n)};
    Access from = kit_access(table, kit_at(a, 0, (int64_t[]){1}, (Var[]){j}, 1));
    from.ndyn = 1;
    from.dyn = dyn;
    stmt_store(a, &cols->body, kit_access(y, kit_at(a, 0, (int64_t[]){n, 1}, (Var[]){b, j}, 2)),
               expr_load(a, k, from));
    return k;
}

Kernel *kit_map(Arena *a, const char *name, Scalar fn, const Size *count)
{
    Kernel *k = kernel_create(a, str_from(name));
    uint32_t x = kernel_add_operand(k, STR("x"), DT_f32, false);
    uint32_t y = kernel_add_operand(k, STR("y"), DT_f32, true);
    Var i = kernel_add_var(k, "i");
    Stmt *loop = stmt_loop(a, &k->body, LOOP_parallel, i, count);
    Affine at = affine_var(a, i, size_int(a, 1));
    stmt_store(a, &loop->body, kit_access(y, at), kit_map1(a, fn, kit_load(a, k, x, at)));
    return k;
}
