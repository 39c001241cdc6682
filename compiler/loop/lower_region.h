// What the files of lowering share: the region being lowered, and the value of its nodes at an
// index. Only compiler/loop/lower*.c include this.
#ifndef SLUICE_LOOP_LOWER_REGION_H
#define SLUICE_LOOP_LOWER_REGION_H

#include "loop/lower.h"

#define NO_VAR UINT32_MAX

// An operand of the kernel being made: what it reads or writes, and in which layout.
typedef struct Slot {
    const Node *source; // of the kernel node's operands; NULL: a result
    uint32_t result;    // of the region's outputs
    const Node *packed; // the region's node whose [K, N] matrix it is packed from; NULL: rows
} Slot;

typedef struct Lower {
    Arena *arena;
    Diag *dx;
    Graph *graph;
    Program *program;
    const Target *target;
    Operand *where; // [nodes] of result, input and constant nodes; kind OPERAND_constant is
                    // resolved by slot
    bool *stored;   // [nodes] whether where[id] is known
} Lower;

// A node's value that is at hand: in a value, or in a buffer at base + Σ index · stride.
typedef struct Held {
    enum { HELD_no, HELD_value, HELD_buffer } kind;
    Value value;
    uint32_t buffer;
    Affine base;
    const int64_t *stride; // [rank] of the node
} Held;

typedef struct Region {
    Lower *lower;
    Arena *arena;
    const Node *node;   // the kernel node
    const Graph *graph; // its region
    Kernel *kernel;
    VEC(Slot) slots;   // the kernel's operands
    uint32_t *results; // [outputs] buffer of each result
    Held *held;        // [nodes]
    uint32_t *uses;    // [nodes] by nodes of the region and by its outputs
} Region;

// Where statements go, from the innermost loop outwards. A value that does not use the loop's
// variable is let outside.
typedef struct Memo {
    const Node *node;
    const Affine *index; // [rank]
    const Expr *expr;
} Memo;

typedef struct Scope {
    struct Scope *outer; // NULL: the outermost
    Stmts *to;
    Var var; // of the loop; NO_VAR: not a loop's
    VEC(Memo) memo;
} Scope;

// The node's value at `index` [rank]; statements it needs go to the scopes.
const Expr *region_value(Region *r, Scope *scope, const Node *node, const Affine *index);

// Where an operand's element lies: `node` is an arg or a view of one.
bool region_is_memory(const Node *node);
Access region_access(Region *r, const Node *node, const Affine *index);
// Elements from one index to the next on each axis, [rank], and the element at index 0.
const Size *const *region_strides(Region *r, const Node *node, const Size **offset);
// The buffer that holds an arg as it is, or packed from the matrix of `packed`.
uint32_t region_operand(Region *r, const Node *arg, const Node *packed);
// Whether the region's arg stands for a constant of the model.
bool region_is_constant(const Region *r, const Node *node);

// Stores output number `k` at the index [rank] of the node that is computed: the output itself, or
// x where the output is copy(view(x)) and the view a permutation of x's axes.
const Node *region_output_node(const Region *r, size_t k);
void region_store_output(Region *r, size_t k, Scope *scope, const Affine *index, const Expr *value);

// Loops over axes [naxes] of a shape, the outer ones parallel, so that a part has about `goal`
// iterations; writes each axis's index. Returns the innermost body.
Stmts *region_outer_loops(Region *r, const Size *const *shape, size_t naxes, int64_t goal,
                          Affine *index);

// A loop that is not yet anywhere: its body is built first, then it is pushed.
Stmt *loop_new(Region *r, LoopTag tag, const char *name, const Size *extent);
// Its variable as an index.
Affine loop_index(Region *r, const Stmt *loop);

// How many panels hold so many columns.
int64_t region_panels(int64_t columns);
// What combines two members of a reduction.
Scalar region_reduce_function(const Node *node);

// The size as a number; false after an error that names `what`.
bool region_fixed(Region *r, const Size *size, const char *what, int64_t *out);

// Classes. False after errors.
bool lower_elementwise(Region *r);
bool lower_reduction(Region *r);
bool lower_contraction(Region *r);
bool lower_attention(Region *r);

// ---- rows: reductions over one axis and the elementwise work around them (lower_reduction.c) ----

typedef struct Rows {
    size_t nouter;       // leading axes that stay as they are
    const Affine *outer; // [nouter] their index
    Scope *scope;        // the row's
} Rows;

// Computes what `roots` need that takes passes over the rows: every reduction, and rows that are
// cheaper kept than computed again; what is held on entry is read.
bool rows_reduce(Region *r, const Rows *rows, const Node *const *roots, size_t nroots);

// ---- products (lower_contraction.c) ----

// A matrix product and where its operands are read at the moment.
typedef struct Product {
    const Node *node; // matmul
    int64_t k;
    int64_t n;
    Access a; // row 0 of the tile
    const Size *a_row;
    const Size *a_k;
    uint32_t a_buffer; // scratch for computed rows; 0: none yet
    uint32_t b_buffer; // where B is read
    Affine b;          // its first panel
    const Size *b_panel;
    const Size *b_k;
    uint32_t pack_buffer; // scratch for packed columns; 0: none yet
    int64_t passing_rows; // of A that read each panel of B; INT64_MAX: a free size
    int64_t pack_columns; // most columns that are packed at once
} Product;

// Fills node, k and n; false after an error if they are not fixed.
bool product_shape(Region *r, const Node *matmul, Product *p);
// Sets where B's columns from `column` on are read, packing them first if leaves cannot read them
// as they lie. `lead`: the result's index, its last two axes not used.
void product_read_b(Region *r, Stmts *to, Product *p, const Affine *lead, Affine column,
                    int64_t columns);
// Rows that leaves do at once.
typedef struct RowTile {
    Affine row;            // the first
    int64_t height;        // how many
    const Size *rows_left; // not NULL: so many, at most `height`, known when the model runs
} RowTile;

// A block of C in scratch.
typedef struct TileBlock {
    Access at;
    int64_t row; // elements from one row to the next
    int64_t panels;
} TileBlock;

// Sets where the tile's rows of A are read; rows that are computed are made in scratch first.
// `row_axis`: of the result.
void product_read_a(Region *r, Stmts *to, Product *p, const Affine *lead, size_t row_axis,
                    const RowTile *tile);
// block = the tile's rows of A · B's panels from `panel` on.
void product_leaf(Region *r, Stmts *to, const Product *p, const TileBlock *block, Affine panel,
                  const RowTile *tile);

// Splits `rows` into tiles of two heights, or with symbols into full tiles and a rest; calls body
// in each loop.
typedef void (*TileBody)(void *ctx, Stmts *to, const RowTile *tile);
void product_row_tiles(Region *r, Stmts *to, const Size *rows, TileBody body, void *ctx);

#endif
