// Attention: scores, softmax and the product with the values in one kernel. A part is one item and
// head; in it tiles of query rows pass by, and only their scores exist, in scratch.
//
//   parallel item, head {
//     pack Kᵀ; [pack V]
//     tiles of rows {
//       scores[rows, Lk] = Q · Kᵀ
//       each row: whatever stands between the products, in passes over the row (lower_reduction.c);
//       in place out[rows, E] = scores · V each row: epilogue, store
//     }
//   }
#include "loop/lower_region.h"

typedef struct Attention {
    Region *r;
    Product scores;
    Product values;
    Affine *lead;    // [rank] of both products; the last two axes are not used
    int64_t key_row; // elements of a row of scores in scratch
    int64_t out_row; // and of the result
    uint32_t key_scratch;
    uint32_t out_scratch;
    bool failed;
} Attention;

static int64_t padded(int64_t columns) { return (columns + TILE_COLS - 1) / TILE_COLS * TILE_COLS; }

// All columns of a product for one tile of rows.
static void emit_row_of_leaves(Region *r, Stmts *to, const Product *p, uint32_t scratch,
                               int64_t c_row, int64_t height, const Size *rows_left)
{
    Arena *a = r->arena;
    int64_t panels = padded(p->n) / TILE_COLS;
    int64_t most = r->lower->target->tile.panels;
    int64_t full = panels / most;
    if (full > 0) {
        Stmt *loop = loop_new(r, LOOP_serial, "p", size_int(a, full));
        Affine panel = affine_var(a, loop->var, size_int(a, most));
        Access c = {.buffer = scratch, .at = affine_scale(a, panel, size_int(a, TILE_COLS))};
        product_leaf(r, &loop->body, p, c, c_row, panel, most, height, rows_left);
        vec_push(a, to, loop);
    }
    if (panels % most > 0) {
        Access c = {.buffer = scratch, .at = affine_int(a, full * most * TILE_COLS)};
        product_leaf(r, to, p, c, c_row, affine_int(a, full * most), panels % most, height,
                     rows_left);
    }
}

// A product's block in scratch: the row is given by a loop's variable, the column by the node's
// last index.
static void hold_block(Region *r, const Node *matmul, uint32_t scratch, Var row, int64_t c_row)
{
    int64_t *stride = arena_new(r->arena, int64_t, matmul->type.rank);
    stride[matmul->type.rank - 1] = 1;
    r->held[matmul->id] = (Held){.kind = HELD_buffer,
                                 .buffer = scratch,
                                 .base = affine_var(r->arena, row, size_int(r->arena, c_row)),
                                 .stride = stride};
}

static Affine *row_index(const Attention *at, const Node *matmul, Affine row)
{
    size_t rank = matmul->type.rank;
    Affine *index = arena_new(at->r->arena, Affine, rank);
    for (size_t i = 0; i + 2 < rank; i++) {
        index[i] = at->lead[i];
    }
    index[rank - 2] = row;
    index[rank - 1] = affine_int(at->r->arena, 0);
    return index;
}

// What stands between the products, row by row, in place of the scores.
static void emit_weights(Attention *at, Stmts *to, Affine first, const Size *height)
{
    Region *r = at->r;
    Arena *a = r->arena;
    const Node *node = at->values.node->args[0];
    Stmt *row = loop_new(r, LOOP_serial, "r", height);
    hold_block(r, at->scores.node, at->key_scratch, row->var, at->key_row);
    Affine *index = row_index(at, at->scores.node, affine_add(a, first, loop_index(r, row)));
    Scope scope = {.to = &row->body, .var = row->var};
    Rows rows = {.nouter = node->type.rank - 1, .outer = index, .scope = &scope};
    Held *before = arena_new(a, Held, r->graph->nodes.n + 1);
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        before[i] = r->held[i];
    }
    at->failed = !rows_reduce(r, &rows, &node, 1) || at->failed;
    Stmt *vector = loop_new(r, LOOP_vector, "v", size_int(a, at->scores.n));
    index[node->type.rank - 1] = loop_index(r, vector);
    Scope inner = {.outer = &scope, .to = &vector->body, .var = vector->var};
    const Expr *weight = region_value(r, &inner, node, index);
    Affine place =
        affine_add(a, affine_var(a, row->var, size_int(a, at->key_row)), loop_index(r, vector));
    stmt_store(a, &vector->body, (Access){.buffer = at->key_scratch, .at = place}, weight);
    vec_push(a, &row->body, vector);
    vec_push(a, to, row);
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        r->held[i] = before[i]; // what was held belongs to this loop
    }
}

static void emit_results(Attention *at, Stmts *to, Affine first, const Size *height)
{
    Region *r = at->r;
    Arena *a = r->arena;
    Stmt *row = loop_new(r, LOOP_serial, "r", height);
    Stmt *vector = loop_new(r, LOOP_vector, "v", size_int(a, at->values.n));
    hold_block(r, at->values.node, at->out_scratch, row->var, at->out_row);
    Affine *index = row_index(at, at->values.node, affine_add(a, first, loop_index(r, row)));
    index[at->values.node->type.rank - 1] = loop_index(r, vector);
    Scope outer = {.to = &row->body, .var = row->var};
    Scope inner = {.outer = &outer, .to = &vector->body, .var = vector->var};
    for (size_t k = 0; k < r->graph->outputs.n; k++) {
        const Expr *value = region_value(r, &inner, region_output_node(r, k), index);
        region_store_output(r, k, &inner, index, value);
    }
    vec_push(a, &row->body, vector);
    vec_push(a, to, row);
}

static void emit_tile(void *ctx, Stmts *to, Affine row, int64_t height, const Size *rows_left)
{
    Attention *at = ctx;
    Region *r = at->r;
    const Size *nrows = rows_left ? rows_left : size_int(r->arena, height);
    size_t row_axis = at->scores.node->type.rank - 2;
    product_read_a(r, to, &at->scores, at->lead, row_axis, row, height, rows_left);
    emit_row_of_leaves(r, to, &at->scores, at->key_scratch, at->key_row, height, rows_left);
    emit_weights(at, to, row, nrows);
    at->values.a = (Access){.buffer = at->key_scratch, .at = affine_int(r->arena, 0)};
    at->values.a_row = size_int(r->arena, at->key_row);
    at->values.a_k = size_int(r->arena, 1);
    emit_row_of_leaves(r, to, &at->values, at->out_scratch, at->out_row, height, rows_left);
    emit_results(at, to, row, nrows);
}

// The two products: the second reads what the first has become.
static void find_products(const Region *r, const Node **scores, const Node **values)
{
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        const Node *node = r->graph->nodes.items[i];
        if (node->op == OP_matmul) {
            *scores = *scores ? *scores : node;
            *values = node;
        }
    }
}

bool lower_attention(Region *r)
{
    const Node *scores = NULL;
    const Node *values = NULL;
    find_products(r, &scores, &values);
    Attention at = {.r = r};
    if (!product_shape(r, scores, &at.scores) || !product_shape(r, values, &at.values)) {
        return false;
    }
    size_t rank = scores->type.rank;
    at.lead = arena_new(r->arena, Affine, rank);
    Stmts *to = &r->kernel->body;
    for (size_t i = 0; i + 2 < rank; i++) {
        at.lead[i] = affine_int(r->arena, 0);
        if (!size_is(scores->type.shape[i], 1)) {
            Stmt *loop = loop_new(r, LOOP_parallel, "b", scores->type.shape[i]);
            at.lead[i] = loop_index(r, loop);
            vec_push(r->arena, to, loop);
            to = &loop->body;
        }
    }
    int64_t rows = r->lower->target->tile.rows;
    at.key_row = padded(at.scores.n);
    at.out_row = padded(at.values.n);
    at.key_scratch = kernel_add_scratch(r->kernel, STR("scores"), DT_f32, rows * at.key_row);
    at.out_scratch = kernel_add_scratch(r->kernel, STR("out"), DT_f32, rows * at.out_row);
    at.scores.pack_columns = at.scores.n;
    at.values.pack_columns = at.values.n;
    product_read_b(r, to, &at.scores, at.lead, affine_int(r->arena, 0), at.scores.n);
    product_read_b(r, to, &at.values, at.lead, affine_int(r->arena, 0), at.values.n);
    product_row_tiles(r, to, scores->type.shape[rank - 2], emit_tile, &at);
    return !at.failed;
}
