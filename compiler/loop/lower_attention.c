// Attention: scores, softmax and the product with the values in one kernel. A part is one item and
// head; in it blocks of query rows pass by, and only their scores exist, in scratch. The scores may
// be a sum of several products: the content, and terms that are read through views of rows
// (relative positions, segments).
//
//   parallel item, head {
//     pack what leaves cannot read as it lies: Kᵀ, [V]
//     blocks of rows {
//       each product: block[rows, columns that these rows read] = A · B
//       each row: whatever stands between the products, in passes over the row
//                 (lower_reduction.c), over the scores
//       out[rows, E] = scores · V
//       each row: epilogue, store
//     }
//   }
//
// A relative term's row i reads columns from shift · (Lq - 1 - i) on. A block of 16 rows reads a
// window that begins at a whole panel if the rows before the first full block are those that are
// left over: 16 rows move it by whole panels.
#include "loop/lower_region.h"

#include <string.h>

#define BLOCK_ROWS TILE_COLS

// A product that the scores are made of.
typedef struct Term {
    Product product;
    int64_t back;    // columns that the window moves back from one row to the next: shift, or 0
    int64_t columns; // that one row reads
    int64_t row;     // elements of a row of the block in scratch
    uint32_t scratch;
} Term;

typedef struct Attention {
    Region *r;
    Term terms[LOWER_MOST_TERMS];
    size_t nterms;
    const Node *scores; // what the softmax is over: gives the shape [.., Lq, Lk]
    int64_t nrows;
    int64_t nkeys;
    Product values;
    Affine *lead;     // [rank] of the products; the last two axes are not used
    uint32_t weights; // scratch, [BLOCK_ROWS, weight_row]
    int64_t weight_row;
    uint32_t out; // scratch, [BLOCK_ROWS, out_row]
    int64_t out_row;
    bool failed;
} Attention;

// ---- products of one block ----

typedef struct Block {
    Attention *at;
    Product *product;
    Affine first; // row at which the block begins
    Affine panel; // first panel that it reads
    int64_t panels;
    uint32_t scratch;
    int64_t row;  // elements of a row of scratch
    bool reads_a; // A is read from the operands; else it is set
} Block;

static void emit_leaf(Block *b, Stmts *to, const RowTile *tile, Affine panel, int64_t panels)
{
    Arena *a = b->at->r->arena;
    Affine c = affine_add(a, affine_scale(a, tile->row, size_int(a, b->row)),
                          affine_scale(a, panel, size_int(a, TILE_COLS)));
    TileBlock block = {.at = {.buffer = b->scratch, .at = c}, .row = b->row, .panels = panels};
    product_leaf(b->at->r, to, b->product, &block, affine_add(a, b->panel, panel), tile);
}

// `tile` counts rows from the block's first.
static void emit_rows(void *ctx, Stmts *to, const RowTile *tile)
{
    Block *b = ctx;
    Region *r = b->at->r;
    Arena *a = r->arena;
    if (b->reads_a) {
        RowTile rows = {.row = affine_add(a, b->first, tile->row), .height = tile->height};
        product_read_a(r, to, b->product, b->at->lead, b->product->node->type.rank - 2, &rows);
    } else {
        b->product->a.at = affine_scale(a, tile->row, b->product->a_row);
    }
    int64_t most = r->lower->target->tile.panels;
    if (b->panels >= most) {
        Stmt *loop = loop_new(r, LOOP_serial, "p", size_int(a, b->panels / most));
        emit_leaf(b, &loop->body, tile, affine_var(a, loop->var, size_int(a, most)), most);
        vec_push(a, to, loop);
    }
    if (b->panels % most > 0) {
        emit_leaf(b, to, tile, affine_int(a, b->panels / most * most), b->panels % most);
    }
}

// ---- what stands between the products ----

static void hold(Region *r, const Node *node, uint32_t scratch, Affine base, int64_t per_col)
{
    int64_t *stride = arena_new(r->arena, int64_t, node->type.rank);
    stride[node->type.rank - 1] = per_col;
    r->held[node->id] =
        (Held){.kind = HELD_buffer, .buffer = scratch, .base = base, .stride = stride};
}

// Where the nodes of the region find a term in its block, for the row that the loop's variable
// `row` counts.
static void hold_term(Attention *at, const Term *term, Var row, int64_t height)
{
    Region *r = at->r;
    Arena *a = r->arena;
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        const Node *node = r->graph->nodes.items[i];
        RowView view = {.per_col = 1};
        bool is_view = node->op == OP_view && node->args[0] == term->product.node;
        if (node != term->product.node && !(is_view && lower_view_of_rows(node, &view))) {
            continue;
        }
        int64_t first = term->back > 0 ? term->back * (height - 1) : view.first;
        Affine base = affine_add(a, affine_int(a, first),
                                 affine_var(a, row, size_int(a, term->row - term->back)));
        hold(r, node, term->scratch, base, view.per_col);
    }
}

static Affine *row_index(const Attention *at, const Node *node, Affine row)
{
    size_t rank = node->type.rank;
    Affine *index = arena_new(at->r->arena, Affine, rank);
    for (size_t i = 0; i + 2 < rank; i++) {
        index[i] = at->lead[i];
    }
    index[rank - 2] = row;
    index[rank - 1] = affine_int(at->r->arena, 0);
    return index;
}

static void emit_weights(Attention *at, Stmts *to, Affine first, int64_t height)
{
    Region *r = at->r;
    Arena *a = r->arena;
    const Node *node = at->values.node->args[0];
    Stmt *row = loop_new(r, LOOP_serial, "r", size_int(a, height));
    Held *before = arena_new(a, Held, r->graph->nodes.n + 1);
    memcpy(before, r->held, r->graph->nodes.n * sizeof *before);
    for (size_t i = 0; i < at->nterms; i++) {
        hold_term(at, &at->terms[i], row->var, height);
    }
    Affine *index = row_index(at, node, affine_add(a, first, loop_index(r, row)));
    Scope scope = {.to = &row->body, .var = row->var};
    Rows rows = {.nouter = node->type.rank - 1, .outer = index, .scope = &scope};
    at->failed = !rows_reduce(r, &rows, &node, 1) || at->failed;
    Stmt *vector = loop_new(r, LOOP_vector, "v", size_int(a, at->nkeys));
    index[node->type.rank - 1] = loop_index(r, vector);
    Scope inner = {.outer = &scope, .to = &vector->body, .var = vector->var};
    const Expr *weight = region_value(r, &inner, node, index);
    Affine place =
        affine_add(a, affine_var(a, row->var, size_int(a, at->weight_row)), loop_index(r, vector));
    stmt_store(a, &vector->body, (Access){.buffer = at->weights, .at = place}, weight);
    vec_push(a, &row->body, vector);
    vec_push(a, to, row);
    memcpy(r->held, before,
           r->graph->nodes.n * sizeof *before); // what was held belongs to this loop
}

static void emit_results(Attention *at, Stmts *to, Affine first, int64_t height)
{
    Region *r = at->r;
    Arena *a = r->arena;
    Stmt *row = loop_new(r, LOOP_serial, "r", size_int(a, height));
    Stmt *vector = loop_new(r, LOOP_vector, "v", size_int(a, at->values.n));
    hold(r, at->values.node, at->out, affine_var(a, row->var, size_int(a, at->out_row)), 1);
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

// ---- a block of rows ----

// `first`: its first row; `behind`: the rows behind it.
static void emit_block(Attention *at, Stmts *to, Affine first, int64_t height, Affine behind)
{
    Region *r = at->r;
    Arena *a = r->arena;
    for (size_t i = 0; i < at->nterms; i++) {
        Term *term = &at->terms[i];
        Block b = {.at = at,
                   .product = &term->product,
                   .first = first,
                   .scratch = term->scratch,
                   .row = term->row};
        // Rows behind come in whole blocks, so that they move the window by whole panels.
        b.panel = affine_scale(a, behind, size_int(a, term->back));
        b.panels = region_panels(term->columns + term->back * (height - 1));
        b.reads_a = true;
        product_row_tiles(r, to, size_int(a, height), emit_rows, &b);
    }
    emit_weights(at, to, first, height);
    at->values.a = (Access){.buffer = at->weights, .at = affine_int(a, 0)};
    at->values.a_row = size_int(a, at->weight_row);
    at->values.a_k = size_int(a, 1);
    Block b = {.at = at,
               .product = &at->values,
               .first = first,
               .panel = affine_int(a, 0),
               .panels = region_panels(at->values.n),
               .scratch = at->out,
               .row = at->out_row};
    product_row_tiles(r, to, size_int(a, height), emit_rows, &b);
    emit_results(at, to, first, height);
}

static void emit_blocks(Attention *at, Stmts *to)
{
    Region *r = at->r;
    Arena *a = r->arena;
    int64_t left = at->nrows % BLOCK_ROWS;
    int64_t full = at->nrows / BLOCK_ROWS;
    if (left > 0) {
        emit_block(at, to, affine_int(a, 0), left, affine_int(a, full)); // counted in blocks
    }
    if (full > 0) {
        Stmt *loop = loop_new(r, LOOP_serial, "q", size_int(a, full));
        Affine block = loop_index(r, loop);
        Affine first =
            affine_add(a, affine_int(a, left), affine_scale(a, block, size_int(a, BLOCK_ROWS)));
        Affine behind =
            affine_add(a, affine_int(a, full - 1), affine_scale(a, block, size_int(a, -1)));
        emit_block(at, &loop->body, first, BLOCK_ROWS, behind);
        vec_push(a, to, loop);
    }
}

// ---- the region ----

// How the region reads a product: how far its window moves, and how many columns a row reads.
static void find_window(const Region *r, Term *term)
{
    term->columns = term->product.n;
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        const Node *node = r->graph->nodes.items[i];
        RowView view;
        bool reads = node->op == OP_view && node->args[0] == term->product.node &&
                     lower_view_of_rows(node, &view);
        if (reads && view.per_row < 0) {
            term->back = -view.per_row;
            size_is_int(node->type.shape[node->type.rank - 1], &term->columns);
        }
    }
}

static bool find_terms(Attention *at)
{
    Region *r = at->r;
    const Node *values = NULL;
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        const Node *node = r->graph->nodes.items[i];
        values = node->op == OP_matmul ? node : values;
    }
    if (!values) {
        die("kernel region: attention without a product");
    }
    at->scores = values->args[0];
    size_t rank = at->scores->type.rank;
    if (!product_shape(r, values, &at->values) ||
        !region_fixed(r, at->scores->type.shape[rank - 2], "the number of query rows",
                      &at->nrows) ||
        !region_fixed(r, at->scores->type.shape[rank - 1], "the number of keys", &at->nkeys)) {
        return false;
    }
    for (size_t i = 0; i < values->id; i++) {
        const Node *node = r->graph->nodes.items[i];
        if (node->op != OP_matmul) {
            continue;
        }
        if (at->nterms == LOWER_MOST_TERMS) {
            die("kernel region: scores of more than %d products", LOWER_MOST_TERMS);
        }
        Term *term = &at->terms[at->nterms++];
        if (!product_shape(r, node, &term->product)) {
            return false;
        }
        find_window(r, term);
    }
    return true;
}

static Stmts *emit_parts(Attention *at)
{
    Region *r = at->r;
    const Type *type = &at->scores->type;
    at->lead = arena_new(r->arena, Affine, type->rank);
    Stmts *to = &r->kernel->body;
    for (size_t i = 0; i + 2 < type->rank; i++) {
        at->lead[i] = affine_int(r->arena, 0);
        if (!size_is(type->shape[i], 1)) {
            Stmt *loop = loop_new(r, LOOP_parallel, "b", type->shape[i]);
            at->lead[i] = loop_index(r, loop);
            vec_push(r->arena, to, loop);
            to = &loop->body;
        }
    }
    return to;
}

static void make_room(Attention *at)
{
    Kernel *k = at->r->kernel;
    int64_t height = at->nrows < BLOCK_ROWS ? at->nrows : BLOCK_ROWS;
    for (size_t i = 0; i < at->nterms; i++) {
        Term *term = &at->terms[i];
        term->row = region_panels(term->columns + term->back * (height - 1)) * TILE_COLS;
        term->scratch = kernel_add_scratch(k, STR("scores"), DT_f32, height * term->row);
        term->product.pack_columns = term->product.n;
    }
    at->weight_row = region_panels(at->nkeys) * TILE_COLS;
    at->weights = kernel_add_scratch(k, STR("weights"), DT_f32, height * at->weight_row);
    at->out_row = region_panels(at->values.n) * TILE_COLS;
    at->out = kernel_add_scratch(k, STR("out"), DT_f32, height * at->out_row);
    at->values.pack_columns = at->values.n;
}

bool lower_attention(Region *r)
{
    Attention at = {.r = r};
    if (!find_terms(&at)) {
        return false;
    }
    Stmts *to = emit_parts(&at);
    make_room(&at);
    Affine none = affine_int(r->arena, 0);
    for (size_t i = 0; i < at.nterms; i++) {
        product_read_b(r, to, &at.terms[i].product, at.lead, none, at.terms[i].product.n);
    }
    product_read_b(r, to, &at.values, at.lead, none, at.values.n);
    emit_blocks(&at, to);
    return !at.failed;
}
