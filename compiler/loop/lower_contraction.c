// Contractions: one matrix product and its epilogue. A part is a piece of the rows' leading axes
// times a group of column tiles; in it, for each column tile, the row tiles pass by: the leaf fills
// a block of C in scratch, the epilogue reads it from there and stores the result.
//
//   parallel lead, group { [pack B] serial tile of columns { tiles of rows { leaf; epilogue } } }
//
// Where A is computed (a sum, a gather) its rows are made in scratch first; if B need not be
// packed, tiles of rows are then the outer loop, so that this happens once.
#include "loop/lower_region.h"

#define PART_FLOP 2000000 // multiply-adds × 2 that make a part worth handing out

// ---- rows ----

// Full tiles in a loop, then what is left.
static void free_row_tiles(Region *r, Stmts *to, const Size *rows, TileBody body, void *ctx)
{
    Arena *a = r->arena;
    int64_t most = r->lower->target->tile.rows;
    Stmt *full = loop_new(r, LOOP_serial, "t", size_div(a, rows, most));
    RowTile tile = {.row = affine_scale(a, loop_index(r, full), size_int(a, most)), .height = most};
    body(ctx, &full->body, &tile);
    vec_push(a, to, full);
    const Size *left = size_mod(a, rows, most);
    const Size *some = size_div(a, size_add(a, left, size_int(a, most - 1)), most); // 0 or 1
    Stmt *rest = loop_new(r, LOOP_serial, "t", some);
    tile = (RowTile){
        .row = affine_size(size_sub(a, rows, left)), .height = most - 1, .rows_left = left};
    body(ctx, &rest->body, &tile);
    vec_push(a, to, rest);
}

void product_row_tiles(Region *r, Stmts *to, const Size *rows, TileBody body, void *ctx)
{
    Arena *a = r->arena;
    int64_t most = r->lower->target->tile.rows;
    int64_t n;
    if (!size_is_int(rows, &n)) {
        free_row_tiles(r, to, rows, body, ctx);
        return;
    }
    int64_t ntiles = (n + most - 1) / most;
    int64_t high = (n + ntiles - 1) / ntiles;
    int64_t nlow = ntiles * high - n; // tiles of high - 1 rows
    int64_t first = 0;
    for (int step = 0; step < 2; step++) {
        int64_t height = step == 0 ? high : high - 1;
        int64_t count = step == 0 ? ntiles - nlow : nlow;
        if (count == 0) {
            continue;
        }
        Stmt *loop = loop_new(r, LOOP_serial, "t", size_int(a, count));
        Affine from = affine_scale(a, loop_index(r, loop), size_int(a, height));
        RowTile tile = {.row = affine_add(a, affine_int(a, first), from), .height = height};
        body(ctx, &loop->body, &tile);
        vec_push(a, to, loop);
        first += count * height;
    }
}

// ---- B ----

bool product_shape(Region *r, const Node *matmul, Product *p)
{
    const Type *b = &matmul->args[1]->type;
    p->node = matmul;
    p->passing_rows = INT64_MAX;
    size_is_int(matmul->type.shape[matmul->type.rank - 2], &p->passing_rows);
    return region_fixed(r, b->shape[b->rank - 2], "the summed axis of a product", &p->k) &&
           region_fixed(r, b->shape[b->rank - 1], "the number of columns of a product", &p->n);
}

// The index of B's element [k, n] = [0, 0] for an index of the product's result.
static Affine *b_index(Region *r, const Product *p, const Affine *lead)
{
    const Type *b = &p->node->args[1]->type;
    size_t rank = p->node->type.rank;
    Affine *index = arena_new(r->arena, Affine, b->rank);
    for (size_t i = 0; i < b->rank; i++) {
        bool broadcast = i + 2 >= b->rank || size_is(b->shape[i], 1);
        index[i] = broadcast ? affine_int(r->arena, 0) : lead[i + rank - b->rank];
    }
    return index;
}

static bool is_packed(const Region *r, const Product *p)
{
    return region_is_constant(r, p->node->args[1]);
}

// Whether enough tiles of rows pass to pay for a copy of B, whose rows lie as far apart as its
// tensor is wide: a panel of them meets in few sets of the cache and pushes itself out.
static bool is_worth_packing(const Region *r, const Product *p)
{
    enum { FEW_TILES = 2 };
    return p->passing_rows > FEW_TILES * r->lower->target->tile.rows;
}

// Whether leaves read B as it lies: columns side by side, whole panels.
static bool is_direct(Region *r, const Product *p)
{
    const Size *offset;
    const Type *b = &p->node->args[1]->type;
    const Size *const *strides = region_strides(r, p->node->args[1], &offset);
    return size_is(strides[b->rank - 1], 1) && p->n % TILE_COLS == 0 &&
           (size_is(strides[b->rank - 2], TILE_COLS) || !is_worth_packing(r, p));
}

static void use_packed(Region *r, Product *p, const Affine *lead)
{
    const Node *b = p->node->args[1];
    Affine *index = b_index(r, p, lead);
    int64_t matrix = region_panels(p->n) * p->k * TILE_COLS;
    const Node *arg = b->op == OP_view ? b->args[0] : b;
    p->b = affine_int(r->arena, 0);
    const Size *step = size_int(r->arena, matrix);
    for (size_t i = b->type.rank - 2; i-- > 0;) {
        p->b = affine_add(r->arena, p->b, affine_scale(r->arena, index[i], step));
        step = size_mul(r->arena, step, b->type.shape[i]);
    }
    p->b_buffer = region_operand(r, arg, b);
    p->b_panel = size_int(r->arena, p->k * TILE_COLS);
    p->b_k = size_int(r->arena, TILE_COLS);
}

void product_read_b(Region *r, Stmts *to, Product *p, const Affine *lead, Affine column,
                    int64_t columns)
{
    if (is_packed(r, p)) {
        use_packed(r, p, lead);
        p->b = affine_add(r->arena, p->b, affine_scale(r->arena, column, size_int(r->arena, p->k)));
        return;
    }
    const Node *b = p->node->args[1];
    const Size *offset;
    const Size *const *strides = region_strides(r, b, &offset);
    const Size *stride_k = strides[b->type.rank - 2];
    const Size *stride_n = strides[b->type.rank - 1];
    Access src = region_access(r, b, b_index(r, p, lead));
    src.at = affine_add(r->arena, src.at, affine_scale(r->arena, column, stride_n));
    if (is_direct(r, p)) {
        p->b_buffer = src.buffer;
        p->b = src.at;
        p->b_panel = size_int(r->arena, TILE_COLS);
        p->b_k = stride_k;
        return;
    }
    if (p->pack_buffer == 0) {
        p->pack_buffer = kernel_add_scratch(r->kernel, STR("b"), DT_f32,
                                            region_panels(p->pack_columns) * p->k * TILE_COLS);
    }
    Pack pack = {.dst = {.buffer = p->pack_buffer, .at = affine_int(r->arena, 0)},
                 .src = src,
                 .src_k = stride_k,
                 .src_col = stride_n,
                 .k = p->k,
                 .cols = columns};
    stmt_pack(r->arena, to, &pack);
    p->b_buffer = p->pack_buffer;
    p->b = affine_int(r->arena, 0);
    p->b_panel = size_int(r->arena, p->k * TILE_COLS);
    p->b_k = size_int(r->arena, TILE_COLS);
}

// ---- A ----

static const Size *tile_rows(Region *r, const RowTile *tile)
{
    return tile->rows_left ? tile->rows_left : size_int(r->arena, tile->height);
}

// Makes the tile's rows of a computed A in scratch. `index`: of A, to be completed.
static void make_rows(Region *r, Stmts *to, Product *p, Affine *index, size_t axis,
                      const RowTile *tile)
{
    Arena *a = r->arena;
    const Node *node = p->node->args[0];
    if (p->a_buffer == 0) {
        p->a_buffer =
            kernel_add_scratch(r->kernel, STR("a"), DT_f32, r->lower->target->tile.rows * p->k);
    }
    Stmt *rows = loop_new(r, LOOP_serial, "r", tile_rows(r, tile));
    Stmt *vector = loop_new(r, LOOP_vector, "k", size_int(a, p->k));
    index[axis] = affine_add(a, tile->row, loop_index(r, rows));
    index[node->type.rank - 1] = loop_index(r, vector);
    Scope outer = {.to = &rows->body, .var = rows->var};
    Scope inner = {.outer = &outer, .to = &vector->body, .var = vector->var};
    const Expr *value = region_value(r, &inner, node, index);
    Affine place =
        affine_add(a, affine_var(a, rows->var, size_int(a, p->k)), loop_index(r, vector));
    stmt_store(a, &vector->body, (Access){.buffer = p->a_buffer, .at = place}, value);
    vec_push(a, &rows->body, vector);
    vec_push(a, to, rows);
    p->a = (Access){.buffer = p->a_buffer, .at = affine_int(a, 0)};
    p->a_row = size_int(a, p->k);
    p->a_k = size_int(a, 1);
}

void product_read_a(Region *r, Stmts *to, Product *p, const Affine *lead, size_t row_axis,
                    const RowTile *tile)
{
    const Node *a = p->node->args[0];
    size_t shift = p->node->type.rank - a->type.rank;
    Affine *index = arena_new(r->arena, Affine, a->type.rank);
    for (size_t i = 0; i + 1 < a->type.rank; i++) {
        Affine own = i + shift == row_axis ? tile->row : lead[i + shift];
        index[i] = size_is(a->type.shape[i], 1) ? affine_int(r->arena, 0) : own;
    }
    index[a->type.rank - 1] = affine_int(r->arena, 0);
    if (!region_is_memory(a)) {
        make_rows(r, to, p, index, row_axis - shift, tile);
        return;
    }
    const Size *offset;
    const Size *const *strides = region_strides(r, a, &offset);
    p->a = region_access(r, a, index);
    p->a_row = strides[row_axis - shift];
    p->a_k = strides[a->type.rank - 1];
}

void product_leaf(Region *r, Stmts *to, const Product *p, const TileBlock *block, Affine panel,
                  const RowTile *tile)
{
    Access b = {.buffer = p->b_buffer,
                .at = affine_add(r->arena, p->b, affine_scale(r->arena, panel, p->b_panel))};
    Tile leaf = {.c = block->at,
                 .c_row = block->row,
                 .a = p->a,
                 .a_row = p->a_row,
                 .a_k = p->a_k,
                 .b = b,
                 .b_panel = p->b_panel,
                 .b_k = p->b_k,
                 .rows = tile->height,
                 .rows_left = tile->rows_left,
                 .panels = block->panels,
                 .k = p->k};
    stmt_tile(r->arena, to, &leaf);
}

// ---- the region ----

typedef struct Columns {
    int64_t tile_panels; // of a full column tile
    int64_t full;        // full column tiles
    int64_t per_group;   // of them in a group, which is a part's share
    int64_t groups;
    int64_t left; // columns behind the full tiles
} Columns;

typedef struct Contraction {
    Region *r;
    Product product;
    Affine *lead; // [rank] of the result; the row and column axes are not used
    size_t row_axis;
    Columns columns;
    Var group;    // NO_VAR: there is one group
    Affine first; // column at which the group begins
    uint32_t c;   // scratch block
    Affine tile;  // column tile inside the group
    int64_t tile_columns;
    const Size *rows; // members of the row axis
    bool rows_first;  // tiles of rows are the outer loop: A is computed, and once a tile is enough
} Contraction;

static Columns split_columns(const Region *r, int64_t n, int64_t k, const Size *rows)
{
    int64_t width = r->lower->target->tile.panels * TILE_COLS;
    if (width == 0) {
        die("the target offers no tile");
    }
    Columns c = {
        .tile_panels = r->lower->target->tile.panels, .full = n / width, .left = n % width};
    int64_t nrows = 1;
    if (!size_is_int(rows, &nrows)) {
        nrows = r->lower->target->tile.rows;
    }
    double tile_flop = 2.0 * (double)nrows * (double)k * (double)width;
    c.per_group = c.full ? c.full : 1;
    for (int64_t d = c.full; d >= 1; d--) {
        if (c.full % d == 0 && (double)d * tile_flop >= PART_FLOP) {
            c.per_group = d;
        }
    }
    c.groups = c.per_group > 0 && c.full > 0 ? c.full / c.per_group : 1;
    return c;
}

// The axis whose members are the rows of A: the last but one, or where that has one member the one
// before, if B has no axis there.
static size_t find_row_axis(const Node *matmul)
{
    size_t axis = matmul->type.rank - 2;
    const Type *b = &matmul->args[1]->type;
    const Type *a = &matmul->args[0]->type;
    size_t a_shift = matmul->type.rank - a->rank;
    while (axis > 0 && size_is(matmul->type.shape[axis], 1) && axis > a_shift) {
        size_t shift = matmul->type.rank - b->rank;
        if (axis - 1 >= shift && !size_is(b->shape[axis - 1 - shift], 1)) {
            break;
        }
        axis--;
    }
    return size_is(matmul->type.shape[axis], 1) ? matmul->type.rank - 2 : axis;
}

// Stores one block: rows × columns of C through the epilogue.
static void emit_epilogue(Contraction *c, Stmts *to, const RowTile *tile)
{
    Region *r = c->r;
    Arena *a = r->arena;
    size_t rank = c->product.node->type.rank;
    Stmt *rows = loop_new(r, LOOP_serial, "r", tile_rows(r, tile));
    Stmt *vector = loop_new(r, LOOP_vector, "v", size_int(a, c->tile_columns));
    Affine column = affine_scale(a, c->tile, size_int(a, c->columns.tile_panels * TILE_COLS));
    Affine *index = arena_new(a, Affine, rank);
    for (size_t i = 0; i < rank; i++) {
        index[i] = i == c->row_axis ? affine_add(a, tile->row, loop_index(r, rows))
                   : i + 1 == rank
                       ? affine_add(a, affine_add(a, c->first, column), loop_index(r, vector))
                       : c->lead[i];
    }
    // The block's column is the index on the last axis less the tile's first: an axis of one member
    // has index 0.
    int64_t c_row = region_panels(c->tile_columns) * TILE_COLS;
    Affine first = affine_add(a, c->first, column);
    int64_t *stride = arena_new(a, int64_t, rank);
    stride[rank - 1] = 1;
    r->held[c->product.node->id] =
        (Held){.kind = HELD_buffer,
               .buffer = c->c,
               .base = affine_add(a, affine_var(a, rows->var, size_int(a, c_row)),
                                  affine_scale(a, first, size_int(a, -1))),
               .stride = stride};
    Scope outer = {.to = &rows->body, .var = rows->var};
    Scope inner = {.outer = &outer, .to = &vector->body, .var = vector->var};
    for (size_t k = 0; k < r->graph->outputs.n; k++) {
        const Node *node = region_output_node(r, k);
        region_store_output(r, k, &inner, index, region_value(r, &inner, node, index));
    }
    vec_push(a, &rows->body, vector);
    vec_push(a, to, rows);
}

static void emit_tile(void *ctx, Stmts *to, const RowTile *tile)
{
    Contraction *c = ctx;
    Arena *a = c->r->arena;
    int64_t panels = region_panels(c->tile_columns);
    if (!c->rows_first) {
        product_read_a(c->r, to, &c->product, c->lead, c->row_axis, tile);
    }
    TileBlock block = {.at = {.buffer = c->c, .at = affine_int(a, 0)},
                       .row = panels * TILE_COLS,
                       .panels = panels};
    Affine panel = affine_scale(a, c->tile, size_int(a, c->columns.tile_panels));
    product_leaf(c->r, to, &c->product, &block, panel, tile);
    emit_epilogue(c, to, tile);
}

// The columns behind the full tiles belong to the last group.
static Stmts *begin_left(Contraction *c, Stmts *to)
{
    if (c->group == NO_VAR) {
        return to;
    }
    return &stmt_only(c->r->arena, to, c->group, c->columns.groups - 1)->body;
}

// Calls `each` for every column tile of the group: the full ones in a loop, then what is left of
// the columns.
typedef void (*ColumnBody)(Contraction *c, Stmts *to, const RowTile *tile);

static void for_columns(Contraction *c, Stmts *to, ColumnBody each, const RowTile *tile)
{
    Region *r = c->r;
    Arena *a = r->arena;
    int64_t width = c->columns.tile_panels * TILE_COLS;
    if (c->columns.full > 0) {
        product_read_b(r, to, &c->product, c->lead, c->first, c->columns.per_group * width);
        Stmt *loop = loop_new(r, LOOP_serial, "p", size_int(a, c->columns.per_group));
        c->tile = loop_index(r, loop);
        c->tile_columns = width;
        each(c, &loop->body, tile);
        vec_push(a, to, loop);
    }
    if (c->columns.left > 0) {
        Stmts *rest = begin_left(c, to);
        Affine first = c->first;
        c->first = affine_int(a, c->columns.full * width);
        product_read_b(r, rest, &c->product, c->lead, c->first, c->columns.left);
        c->tile = affine_int(a, 0);
        c->tile_columns = c->columns.left;
        each(c, rest, tile);
        c->first = first;
    }
}

static void column_with_rows(Contraction *c, Stmts *to, const RowTile *tile)
{
    (void)tile; // all rows
    product_row_tiles(c->r, to, c->rows, emit_tile, c);
}

static void column_of_row(Contraction *c, Stmts *to, const RowTile *tile)
{
    emit_tile(c, to, tile);
}

// A computed A: its rows are made once, then every column tile uses them.
static void row_with_columns(void *ctx, Stmts *to, const RowTile *tile)
{
    Contraction *c = ctx;
    product_read_a(c->r, to, &c->product, c->lead, c->row_axis, tile);
    for_columns(c, to, column_of_row, tile);
}

static const Node *find_matmul(const Region *r)
{
    const Node *found = NULL;
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        const Node *node = r->graph->nodes.items[i];
        found = node->op == OP_matmul ? node : found;
    }
    return found;
}

// The parallel loops: every leading axis, then the groups of column tiles.
static Stmts *emit_parts(Contraction *c)
{
    Region *r = c->r;
    const Type *type = &c->product.node->type;
    Stmts *to = &r->kernel->body;
    for (size_t i = 0; i + 1 < type->rank; i++) {
        c->lead[i] = affine_int(r->arena, 0);
        if (i == c->row_axis || size_is(type->shape[i], 1)) {
            continue;
        }
        Stmt *loop = loop_new(r, LOOP_parallel, "b", type->shape[i]);
        c->lead[i] = loop_index(r, loop);
        vec_push(r->arena, to, loop);
        to = &loop->body;
    }
    c->first = affine_int(r->arena, 0);
    c->group = NO_VAR;
    if (c->columns.groups > 1) {
        Stmt *loop = loop_new(r, LOOP_parallel, "g", size_int(r->arena, c->columns.groups));
        int64_t width = c->columns.per_group * c->columns.tile_panels * TILE_COLS;
        c->group = loop->var;
        c->first = affine_var(r->arena, loop->var, size_int(r->arena, width));
        vec_push(r->arena, to, loop);
        to = &loop->body;
    }
    return to;
}

bool lower_contraction(Region *r)
{
    Contraction c = {.r = r};
    const Node *matmul = find_matmul(r);
    if (!product_shape(r, matmul, &c.product)) {
        return false;
    }
    c.row_axis = find_row_axis(matmul);
    c.lead = arena_new(r->arena, Affine, matmul->type.rank);
    c.rows = matmul->type.shape[c.row_axis];
    c.columns = split_columns(r, c.product.n, c.product.k, c.rows);
    int64_t width = c.columns.tile_panels * TILE_COLS;
    c.product.pack_columns = c.columns.full ? c.columns.per_group * width : 0;
    if (c.columns.left > c.product.pack_columns) {
        c.product.pack_columns = c.columns.left;
    }
    Stmts *to = emit_parts(&c);
    c.c = kernel_add_scratch(r->kernel, STR("c"), DT_f32, r->lower->target->tile.rows * width);
    if (!region_is_memory(matmul->args[0])) {
        c.product.passing_rows = 0; // B as it lies, so that rows can come first
        c.rows_first = is_packed(r, &c.product) || is_direct(r, &c.product);
    }
    if (c.rows_first) {
        product_row_tiles(r, to, c.rows, row_with_columns, &c);
    } else {
        for_columns(&c, to, column_with_rows, NULL);
    }
    return true;
}
