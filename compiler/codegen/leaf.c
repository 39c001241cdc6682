// Tile leaves: C[rows, 16·panels] = (or +=) A[rows, k] · B[k, 16·panels], one function for each
// shape and set of strides, shared by all kernels of the module.
//
//   leaf(a, b, c, k):   accumulators: rows × (vectors of a row) values, zero or C
//     eight k a turn ─▶ one k a turn for the rest ─▶ C
//   each k: a row of B in vectors; for each row of A: one element in all lanes, times B, added
//
// B is fetched ahead by instruction: with a panel larger than L1 the processor's own fetching keeps
// 6x16 at 0.80 of the FMA rate (Zen 3, 128x768x768), this makes it 0.87 to 0.91. Fetching beyond
// the end of B does no harm. What also matters: LLVM would move the loads of B of several k
// together, if nothing stood between them, and has no registers for them then.
//
// Every address is one of two pointers plus a constant, so that A needs no packing and no register
// for its rows. Each element of C is one chain of fused multiply-adds in the order of k, whatever
// the shape: a row's result has the same bits in every leaf.
#include "codegen/kernel.h"

#include <assert.h>
#include <inttypes.h>

#define UNROLL   8
#define AHEAD    64 // rows of B that are fetched ahead: 4 KB of a packed panel
#define MAX_ACCS 64 // rows × vectors

typedef struct Leaf {
    int64_t rows;
    int64_t panels;
    int64_t a_row; // strides in elements
    int64_t a_k;
    int64_t b_panel;
    int64_t b_k;
    int64_t c_row;
    bool accumulate;
} Leaf;

typedef struct LeafGen {
    Gen *g;
    const Leaf *leaf;
    LLVMValueRef fn;
    unsigned nvectors; // of one row of C
    unsigned naccs;    // rows · nvectors
} LeafGen;

// One turn of a loop over k: where A and B stand, what is summed so far.
typedef struct LeafState {
    LLVMValueRef a;
    LLVMValueRef b;
    LLVMValueRef accs[MAX_ACCS];
} LeafState;

// ---- one k --------------------------------------------------------------------------------------

static int64_t column_offset(const LeafGen *l, int64_t panel_stride, unsigned vector)
{
    int64_t column = (int64_t)vector * l->g->lanes;
    return 4 * (column / TILE_COLS * panel_stride + column % TILE_COLS);
}

static void emit_broadcast(LeafGen *l, LeafState *s, int64_t turn)
{
    Gen *g = l->g;
    const Leaf *leaf = l->leaf;
    LLVMTypeRef vector = LLVMVectorType(g->f32, g->lanes);
    LLVMValueRef b[MAX_ACCS];
    for (unsigned v = 0; v < l->nvectors; v++) {
        int64_t at = 4 * turn * leaf->b_k + column_offset(l, leaf->b_panel, v);
        b[v] = gen_load(g, vector, gen_offset_const(g, s->b, at), 4);
    }
    for (int64_t panel = 0; panel < leaf->panels; panel++) {
        int64_t at = 4 * ((turn + AHEAD) * leaf->b_k + panel * leaf->b_panel);
        gen_prefetch(g, gen_offset_const(g, s->b, at), false);
    }
    for (unsigned row = 0; row < leaf->rows; row++) {
        int64_t at = 4 * (row * leaf->a_row + turn * leaf->a_k);
        LLVMValueRef a = gen_load(g, g->f32, gen_offset_const(g, s->a, at), 4);
        a = gen_splat(g, a, g->lanes);
        for (unsigned v = 0; v < l->nvectors; v++) {
            LLVMValueRef *acc = &s->accs[row * l->nvectors + v];
            *acc = gen_fma(g, a, b[v], *acc);
        }
    }
}

typedef void LeafEmitter(LeafGen *l, LeafState *s, int64_t turn);

// In the order of ukernel.def, which is isa.def's.
static LeafEmitter *const emitters[] = {
#define UKERNEL(isa, rows, panels, emitter) emit_##emitter,
#include "codegen/ukernel.def"
};

// ---- the function -------------------------------------------------------------------------------

static LLVMValueRef new_phi(LeafGen *l, LLVMValueRef from, LLVMBasicBlockRef block)
{
    LLVMValueRef phi = LLVMBuildPhi(l->g->builder, LLVMTypeOf(from), "");
    LLVMAddIncoming(phi, &from, &block, 1);
    return phi;
}

// A loop over k, `unroll` at a time, of `turns` turns, perhaps none. The builder stands in a block
// without an end before, and in another one after.
static void gen_k_loop(LeafGen *l, LeafState *s, LLVMValueRef turns, int64_t unroll)
{
    Gen *g = l->g;
    LLVMBuilderRef b = g->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(g->context, l->fn, "k");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(g->context, l->fn, "k.after");
    LLVMBuildCondBr(b, gen_icmp(g, LLVMIntNE, turns, gen_int(g, 0)), body, after);

    LeafState start = *s;
    LeafState phis;
    LLVMPositionBuilderAtEnd(b, body);
    LLVMValueRef left = new_phi(l, turns, before);
    phis.a = s->a = new_phi(l, start.a, before);
    phis.b = s->b = new_phi(l, start.b, before);
    for (unsigned i = 0; i < l->naccs; i++) {
        phis.accs[i] = s->accs[i] = new_phi(l, start.accs[i], before);
    }
    for (int64_t turn = 0; turn < unroll; turn++) {
        emitters[g->target->isa](l, s, turn);
    }
    s->a = gen_offset_const(g, s->a, 4 * unroll * l->leaf->a_k);
    s->b = gen_offset_const(g, s->b, 4 * unroll * l->leaf->b_k);
    LLVMValueRef next = LLVMBuildNUWSub(b, left, gen_int(g, 1), "");
    LLVMBuildCondBr(b, gen_icmp(g, LLVMIntNE, next, gen_int(g, 0)), body, after);
    LLVMAddIncoming(left, &next, &body, 1);
    LLVMAddIncoming(phis.a, &s->a, &body, 1);
    LLVMAddIncoming(phis.b, &s->b, &body, 1);
    for (unsigned i = 0; i < l->naccs; i++) {
        LLVMAddIncoming(phis.accs[i], &s->accs[i], &body, 1);
    }

    LLVMPositionBuilderAtEnd(b, after);
    LLVMValueRef ends[] = {s->a, s->b};
    s->a = new_phi(l, start.a, before);
    s->b = new_phi(l, start.b, before);
    LLVMAddIncoming(s->a, &ends[0], &body, 1);
    LLVMAddIncoming(s->b, &ends[1], &body, 1);
    for (unsigned i = 0; i < l->naccs; i++) {
        LLVMValueRef end = s->accs[i];
        s->accs[i] = new_phi(l, start.accs[i], before);
        LLVMAddIncoming(s->accs[i], &end, &body, 1);
    }
}

static LLVMValueRef c_pointer(LeafGen *l, LLVMValueRef c, unsigned i)
{
    int64_t row = i / l->nvectors;
    int64_t at = 4 * row * l->leaf->c_row + column_offset(l, TILE_COLS, i % l->nvectors);
    return gen_offset_const(l->g, c, at);
}

static void gen_leaf(LeafGen *l)
{
    Gen *g = l->g;
    LLVMTypeRef vector = LLVMVectorType(g->f32, g->lanes);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(g->context, l->fn, "entry");
    LLVMPositionBuilderAtEnd(g->builder, entry);
    LeafState s = {.a = LLVMGetParam(l->fn, 0), .b = LLVMGetParam(l->fn, 1)};
    LLVMValueRef c = LLVMGetParam(l->fn, 2);
    LLVMValueRef k = LLVMGetParam(l->fn, 3);
    for (unsigned i = 0; i < l->naccs; i++) {
        s.accs[i] = l->leaf->accumulate ? gen_load(g, vector, c_pointer(l, c, i), 4)
                                        : LLVMConstNull(vector);
    }
    LLVMValueRef turns = LLVMBuildUDiv(g->builder, k, gen_int(g, UNROLL), "");
    LLVMValueRef rest = LLVMBuildURem(g->builder, k, gen_int(g, UNROLL), "");
    gen_k_loop(l, &s, turns, UNROLL);
    gen_k_loop(l, &s, rest, 1);
    for (unsigned i = 0; i < l->naccs; i++) {
        gen_store(g, s.accs[i], c_pointer(l, c, i), 4);
    }
    LLVMBuildRetVoid(g->builder);
}

static LLVMValueRef find_leaf(Gen *g, const Leaf *leaf)
{
    // What a leaf is called says what it is: its strides only where they matter.
    Str name =
        str_format(g->arena, "leaf_%" PRId64 "x%" PRId64 "_a%" PRId64 "_%" PRId64, leaf->rows,
                   leaf->panels * TILE_COLS, leaf->rows > 1 ? leaf->a_row : 0, leaf->a_k);
    name = str_format(g->arena, "%.*s_b%" PRId64 "_%" PRId64 "_c%" PRId64 "%s", STR_ARG(name),
                      leaf->panels > 1 ? leaf->b_panel : 0, leaf->b_k,
                      leaf->rows > 1 ? leaf->c_row : 0, leaf->accumulate ? "_add" : "");
    LLVMValueRef fn = map_get(&g->functions, name);
    if (fn) {
        return fn;
    }
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr, g->i64};
    fn = gen_function(g, str_cstr(g->arena, name), params, 4);
    for (unsigned i = 1; i <= 3; i++) {
        gen_add_attribute(g, fn, i, "noalias", 0);
    }
    map_put(&g->functions, name, fn);
    LeafGen l = {.g = g, .leaf = leaf, .fn = fn};
    l.nvectors = (unsigned)(leaf->panels * TILE_COLS / g->lanes);
    l.naccs = (unsigned)leaf->rows * l.nvectors;
    assert(l.naccs <= MAX_ACCS);
    gen_leaf(&l);
    return fn;
}

// ---- the statement ------------------------------------------------------------------------------

static void call_leaf(KernelGen *k, const Leaf *leaf, LLVMValueRef *args)
{
    LLVMValueRef fn = find_leaf(k->g, leaf);
    scope_here(k);
    LLVMBuildCall2(k->g->builder, LLVMGlobalGetValueType(fn), fn, args, 4, "");
}

// One leaf of 1 … leaf->rows rows, chosen at run time.
static void choose_leaf(KernelGen *k, const Leaf *leaf, LLVMValueRef rows, LLVMValueRef *args)
{
    Gen *g = k->g;
    LLVMBasicBlockRef end = LLVMAppendBasicBlockInContext(g->context, k->fn, "rows.end");
    LLVMBasicBlockRef from = k->here;
    LLVMPositionBuilderAtEnd(g->builder, from);
    LLVMValueRef choice = LLVMBuildSwitch(g->builder, rows, end, (unsigned)leaf->rows);
    for (int64_t n = 1; n <= leaf->rows; n++) {
        Leaf one = *leaf;
        one.rows = n;
        k->here = LLVMAppendBasicBlockInContext(g->context, k->fn, "rows");
        LLVMAddCase(choice, gen_int(g, n), k->here);
        call_leaf(k, &one, args);
        LLVMBuildBr(g->builder, end);
    }
    k->here = end;
}

void kernel_tile(KernelGen *k, const Tile *tile)
{
    const TileShape *most = &k->g->target->loop.tile;
    if (tile->rows > most->rows || tile->panels > most->panels) {
        die("kernel %.*s: a tile of %" PRId64 " rows and %" PRId64 " panels",
            STR_ARG(k->kernel->name), tile->rows, tile->panels);
    }
    Leaf leaf = {.rows = tile->rows,
                 .panels = tile->panels,
                 .a_row = kernel_stride(k, tile->a_row),
                 .a_k = kernel_stride(k, tile->a_k),
                 .b_panel = kernel_stride(k, tile->b_panel),
                 .b_k = kernel_stride(k, tile->b_k),
                 .c_row = tile->c_row,
                 .accumulate = tile->accumulate};
    LLVMValueRef args[4];
    args[0] = kernel_pointer(k, &tile->a);
    args[1] = kernel_pointer(k, &tile->b);
    args[2] = kernel_pointer(k, &tile->c);
    args[3] = gen_int(k->g, tile->k);
    if (tile->rows_left) {
        choose_leaf(k, &leaf, kernel_size(k, tile->rows_left), args);
    } else {
        call_leaf(k, &leaf, args);
    }
}
