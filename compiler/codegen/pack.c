// Packs: a strided block B[k, cols] copied to panels [ceil(cols / 16)][k][16], one function for
// each size and set of strides, shared by all kernels of the module.
//
// Three ways, by where neighbours lie in memory: rows that lie side by side are copied vector by
// vector; columns that do (a transposed matrix) are loaded eight at a time and turned over in
// registers, 8 by 8; of a block with two strides the elements are gathered. Behind the last column
// zeros are stored, and loads are masked: nothing outside the block is read.
#include "codegen/kernel.h"

#include <assert.h>
#include <inttypes.h>

#define BLOCK  8 // columns and rows turned over together
#define UNROLL 4 // rows copied in a turn

typedef struct PackGen {
    Gen *g;
    LLVMValueRef fn;
    int64_t k;
    int64_t src_k; // strides in elements
    int64_t src_col;
} PackGen;

// ---- counted loops ------------------------------------------------------------------------------

typedef struct Count {
    LLVMBasicBlockRef body;
    LLVMValueRef index;
} Count;

// Begins a loop that runs at least once.
static Count begin_count(PackGen *p)
{
    LLVMBuilderRef b = p->g->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    Count c = {.body = LLVMAppendBasicBlockInContext(p->g->context, p->fn, "loop")};
    LLVMBuildBr(b, c.body);
    LLVMPositionBuilderAtEnd(b, c.body);
    c.index = LLVMBuildPhi(b, p->g->i64, "");
    LLVMValueRef zero = gen_int(p->g, 0);
    LLVMAddIncoming(c.index, &zero, &before, 1);
    return c;
}

static void end_count(PackGen *p, const Count *c, int64_t n)
{
    LLVMBuilderRef b = p->g->builder;
    LLVMBasicBlockRef last = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(p->g->context, p->fn, "after");
    LLVMValueRef next = LLVMBuildNUWAdd(b, c->index, gen_int(p->g, 1), "");
    LLVMBuildCondBr(b, gen_icmp(p->g, LLVMIntULT, next, gen_int(p->g, n)), c->body, after);
    LLVMAddIncoming(c->index, &next, &last, 1);
    LLVMPositionBuilderAtEnd(b, after);
}

// ptr advanced by index · elements
static LLVMValueRef at_index(PackGen *p, LLVMValueRef ptr, LLVMValueRef index, int64_t elements)
{
    LLVMValueRef bytes = LLVMBuildNSWMul(p->g->builder, index, gen_int(p->g, 4 * elements), "");
    return gen_offset(p->g, ptr, bytes);
}

// ---- some rows of one panel ---------------------------------------------------------------------

// `rows` rows of a panel with `cols` columns: dst and src stand at its first one.
typedef void RowsEmitter(PackGen *p, LLVMValueRef dst, LLVMValueRef src, int64_t rows,
                         int64_t cols);

// Lanes of the vector that begins at column `first`.
static int64_t live_lanes(int64_t first, int64_t cols, int64_t lanes)
{
    int64_t left = cols - first;
    return left < 0 ? 0 : left < lanes ? left : lanes;
}

static void copy_rows(PackGen *p, LLVMValueRef dst, LLVMValueRef src, int64_t rows, int64_t cols)
{
    Gen *g = p->g;
    LLVMTypeRef vector = LLVMVectorType(g->f32, g->lanes);
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t col = 0; col < TILE_COLS; col += g->lanes) {
            int64_t live = live_lanes(col, cols, g->lanes);
            LLVMValueRef mask =
                live == g->lanes ? NULL : gen_lane_mask(g, g->lanes, (unsigned)live);
            LLVMValueRef from = gen_offset_const(g, src, 4 * (row * p->src_k + col));
            LLVMValueRef x =
                live == 0 ? LLVMConstNull(vector) : gen_load_masked(g, vector, from, 4, mask);
            gen_store(g, x, gen_offset_const(g, dst, 4 * (row * TILE_COLS + col)), 4);
        }
    }
}

// Rows of lanes to columns of lanes: pairs, then pairs of pairs, then halves are exchanged.
static void transpose(Gen *g, LLVMValueRef *x)
{
    static const unsigned steps[3][2][BLOCK] = {
        {{0, 8, 1, 9, 4, 12, 5, 13}, {2, 10, 3, 11, 6, 14, 7, 15}},
        {{0, 1, 8, 9, 4, 5, 12, 13}, {2, 3, 10, 11, 6, 7, 14, 15}},
        {{0, 1, 2, 3, 8, 9, 10, 11}, {4, 5, 6, 7, 12, 13, 14, 15}},
    };
    // The members that meet in each step, and where the results then stand for the next one.
    static const unsigned pairs[3][4][2] = {
        {{0, 1}, {2, 3}, {4, 5}, {6, 7}},
        {{0, 2}, {1, 3}, {4, 6}, {5, 7}},
        {{0, 4}, {1, 5}, {2, 6}, {3, 7}},
    };
    for (unsigned step = 0; step < 3; step++) {
        for (unsigned i = 0; i < 4; i++) {
            unsigned low = pairs[step][i][0];
            unsigned high = pairs[step][i][1];
            LLVMValueRef a = gen_shuffle(g, x[low], x[high], steps[step][0], BLOCK);
            LLVMValueRef b = gen_shuffle(g, x[low], x[high], steps[step][1], BLOCK);
            x[low] = a;
            x[high] = b;
        }
    }
}

// After the three steps lane order within a row is right; this is the row that stands at place i.
static const unsigned transposed_row[BLOCK] = {0, 2, 1, 3, 4, 6, 5, 7};

static void turn_rows(PackGen *p, LLVMValueRef dst, LLVMValueRef src, int64_t rows, int64_t cols)
{
    Gen *g = p->g;
    LLVMTypeRef vector = LLVMVectorType(g->f32, BLOCK);
    assert(rows <= BLOCK);
    LLVMValueRef mask = rows == BLOCK ? NULL : gen_lane_mask(g, BLOCK, (unsigned)rows);
    for (int64_t first = 0; first < TILE_COLS; first += BLOCK) {
        LLVMValueRef x[BLOCK];
        for (int64_t i = 0; i < BLOCK; i++) {
            LLVMValueRef from = gen_offset_const(g, src, 4 * (first + i) * p->src_col);
            x[i] = first + i < cols ? gen_load_masked(g, vector, from, 4, mask)
                                    : LLVMConstNull(vector);
        }
        transpose(g, x);
        for (unsigned i = 0; i < BLOCK; i++) {
            int64_t row = transposed_row[i];
            if (row < rows) {
                gen_store(g, x[i], gen_offset_const(g, dst, 4 * (row * TILE_COLS + first)), 4);
            }
        }
    }
}

static void gather_rows(PackGen *p, LLVMValueRef dst, LLVMValueRef src, int64_t rows, int64_t cols)
{
    Gen *g = p->g;
    LLVMTypeRef vector = LLVMVectorType(g->f32, g->lanes);
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t col = 0; col < TILE_COLS; col += g->lanes) {
            LLVMValueRef index = gen_steps(g->i64, g->lanes, p->src_col);
            LLVMValueRef from = gen_offset_const(g, src, 4 * (row * p->src_k + col * p->src_col));
            LLVMValueRef ptrs = LLVMBuildGEP2(g->builder, g->f32, from, &index, 1, "");
            unsigned live = (unsigned)live_lanes(col, cols, g->lanes);
            LLVMValueRef args[] = {ptrs, LLVMConstInt(g->i32, 4, false),
                                   gen_lane_mask(g, g->lanes, live), LLVMConstNull(vector)};
            LLVMTypeRef types[] = {vector, LLVMTypeOf(ptrs)};
            LLVMValueRef x = gen_call(g, "llvm.masked.gather", types, 2, args, 4);
            gen_store(g, x, gen_offset_const(g, dst, 4 * (row * TILE_COLS + col)), 4);
        }
    }
}

// ---- the function -------------------------------------------------------------------------------

// All k rows of one panel, `step` at a time.
static void gen_panel(PackGen *p, LLVMValueRef dst, LLVMValueRef src, int64_t cols,
                      RowsEmitter *rows, int64_t step)
{
    int64_t whole = p->k / step;
    if (whole > 0) {
        Count c = begin_count(p);
        LLVMValueRef to = at_index(p, dst, c.index, step * TILE_COLS);
        LLVMValueRef from = at_index(p, src, c.index, step * p->src_k);
        rows(p, to, from, step, cols);
        end_count(p, &c, whole);
    }
    if (p->k > whole * step) {
        LLVMValueRef to = gen_offset_const(p->g, dst, 4 * whole * step * TILE_COLS);
        LLVMValueRef from = gen_offset_const(p->g, src, 4 * whole * step * p->src_k);
        rows(p, to, from, p->k - whole * step, cols);
    }
}

static void gen_pack(PackGen *p, int64_t cols)
{
    Gen *g = p->g;
    RowsEmitter *rows = p->src_col == 1 ? copy_rows : p->src_k == 1 ? turn_rows : gather_rows;
    int64_t step = rows == turn_rows ? BLOCK : UNROLL;
    LLVMValueRef dst = LLVMGetParam(p->fn, 0);
    LLVMValueRef src = LLVMGetParam(p->fn, 1);
    int64_t whole = cols / TILE_COLS;
    LLVMPositionBuilderAtEnd(g->builder, LLVMAppendBasicBlockInContext(g->context, p->fn, "entry"));
    if (whole > 0) {
        Count c = begin_count(p);
        LLVMValueRef to = at_index(p, dst, c.index, p->k * TILE_COLS);
        LLVMValueRef from = at_index(p, src, c.index, TILE_COLS * p->src_col);
        gen_panel(p, to, from, TILE_COLS, rows, step);
        end_count(p, &c, whole);
    }
    if (cols > whole * TILE_COLS) {
        LLVMValueRef to = gen_offset_const(g, dst, 4 * whole * p->k * TILE_COLS);
        LLVMValueRef from = gen_offset_const(g, src, 4 * whole * TILE_COLS * p->src_col);
        gen_panel(p, to, from, cols - whole * TILE_COLS, rows, step);
    }
    LLVMBuildRetVoid(g->builder);
}

void kernel_pack(KernelGen *k, const Pack *pack)
{
    Gen *g = k->g;
    PackGen p = {.g = g,
                 .k = pack->k,
                 .src_k = kernel_stride(k, pack->src_k),
                 .src_col = kernel_stride(k, pack->src_col)};
    LLVMValueRef args[2];
    args[0] = kernel_pointer(k, &pack->dst);
    args[1] = kernel_pointer(k, &pack->src);
    Str name = str_format(g->arena, "pack_%" PRId64 "x%" PRId64 "_%" PRId64 "_%" PRId64, p.k,
                          pack->cols, p.src_k, p.src_col);
    p.fn = map_get(&g->functions, name);
    if (!p.fn) {
        p.fn = gen_function(g, str_cstr(g->arena, name), (LLVMTypeRef[]){g->ptr, g->ptr}, 2);
        gen_add_attribute(g, p.fn, 1, "noalias", 0);
        gen_add_attribute(g, p.fn, 2, "noalias", 0);
        map_put(&g->functions, name, p.fn);
        gen_pack(&p, pack->cols);
    }
    scope_here(k);
    LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(p.fn), p.fn, args, 2, "");
}
