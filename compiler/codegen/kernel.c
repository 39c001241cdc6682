// One kernel's function: the part's number taken apart, then statements and loops.
//
// A vector loop of n iterations becomes: passes over several registers side by side, in a loop if
// they are too many for straight code; the registers left, one pass for each power of 2 in their
// number; one masked register for the rest.
#include "codegen/kernel.h"

#include <assert.h>
#include <math.h>

#define MAX_REGISTERS 4 // of one pass

// Rough counts of instructions, by which vector loops are cut up.
#define COST_WIDE     60  // bodies up to this go MAX_REGISTERS registers side by side
#define COST_MIDDLE   120 // up to this two, above one
#define COST_STRAIGHT 160 // up to this a whole vector loop becomes straight code

static void gen_body(KernelGen *k, const Stmts *body);

static LLVMBasicBlockRef new_block(KernelGen *k, const char *name)
{
    return LLVMAppendBasicBlockInContext(k->g->context, k->fn, name);
}

static void add_incoming(LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from)
{
    LLVMAddIncoming(phi, &value, &from, 1);
}

// ---- reductions ---------------------------------------------------------------------------------

// What a reduction begins from if nothing else is said: it leaves every other operand as it is.
static double identity(Scalar fn, DType dtype)
{
    if (fn == S_min) {
        return dtype == DT_i32 ? INT32_MAX : (double)INFINITY;
    }
    if (fn == S_max) {
        return dtype == DT_i32 ? INT32_MIN : -(double)INFINITY;
    }
    return fn == S_mul || fn == S_and;
}

static LLVMValueRef reduction_const(DType dtype, LLVMTypeRef type, double value)
{
    return dtype == DT_f32 ? gen_const(type, value) : gen_iconst(type, (int64_t)value);
}

static bool is_product_sum(const Reduction *r)
{
    return r->fn == S_add && r->update->dtype == DT_f32 && r->update->kind == EXPR_map &&
           r->update->fn == S_mul;
}

// One step of reduction r, for lanes or for one element.
static void reduce_step(KernelGen *k, const Reduction *r, LLVMValueRef *acc)
{
    Gen *g = k->g;
    bool is_fused = is_product_sum(r);
    Val x = kernel_expr(k, is_fused ? r->update->args[0] : r->update);
    Val y = is_fused ? kernel_expr(k, r->update->args[1]) : x;
    if (k->lanes.loop) {
        x = x.is_lanes ? x : scope_spread(k, &x, UINT32_MAX);
        y = y.is_lanes ? y : scope_spread(k, &y, UINT32_MAX);
    }
    scope_here(k);
    LLVMValueRef next = is_fused ? gen_fma(g, x.v, y.v, *acc)
                                 : reduction_step(g, r->fn, r->update->dtype, *acc, x.v);
    if (k->lanes.live < k->lanes.width) {
        next = gen_select(g, gen_lane_mask(g, k->lanes.width, k->lanes.live), next, *acc);
    }
    *acc = next;
}

// Halves meet until `n` lanes are left.
static LLVMValueRef fold(Gen *g, const Reduction *r, LLVMValueRef x, unsigned n)
{
    for (unsigned half = LLVMGetVectorSize(LLVMTypeOf(x)) / 2; half >= n; half /= 2) {
        LLVMValueRef low = gen_slice(g, x, 0, half);
        LLVMValueRef high = gen_slice(g, x, half, half);
        x = reduction_step(g, r->fn, r->update->dtype, low, high);
    }
    return x;
}

static LLVMValueRef fold_all(Gen *g, const Reduction *r, LLVMValueRef x)
{
    if (r->update->dtype == DT_bool) {
        LLVMTypeRef type = LLVMTypeOf(x);
        const char *name = r->fn == S_and ? "llvm.vector.reduce.and" : "llvm.vector.reduce.or";
        return gen_call(g, name, &type, 1, &x, 1);
    }
    x = fold(g, r, x, 1);
    return LLVMBuildExtractElement(g->builder, x, LLVMConstInt(g->i64, 0, false), "");
}

static void set_result(KernelGen *k, const Reduction *r, LLVMValueRef x)
{
    k->values[r->id] = (Val){.level = (uint32_t)k->scopes.n, .v = x};
}

// ---- vector loops -------------------------------------------------------------------------------

static unsigned function_cost(Scalar fn)
{
    switch ((int)fn) {
    case S_exp:
    case S_log:
    case S_sigmoid:
    case S_silu:
    case S_gelu:
    case S_gelu_tanh:
    case S_gelu_sigmoid: return 20;
    case S_tanh:
    case S_erf: return 40;
    case S_sin:
    case S_cos:
    case S_pow: return COST_MIDDLE; // doubles: two registers are four
    case S_min:
    case S_max: return 3;
    case S_to_i32: return 5;
    default: return 1;
    }
}

static unsigned expr_cost(const Expr *e)
{
    unsigned cost = e->kind == EXPR_map ? function_cost(e->fn) : e->kind == EXPR_load;
    for (size_t i = 0; i < e->nargs; i++) {
        cost += expr_cost(e->args[i]);
    }
    for (size_t i = 0; i < e->access.ndyn; i++) {
        cost += 5 + expr_cost(e->access.dyn[i].index);
    }
    return cost;
}

static unsigned body_cost(const Stmt *loop)
{
    unsigned cost = 1;
    for (size_t i = 0; i < loop->body.n; i++) {
        const Stmt *s = loop->body.items[i];
        cost += expr_cost(s->expr) + (s->kind == STMT_store);
    }
    for (size_t i = 0; i < loop->reductions.n; i++) {
        cost += expr_cost(loop->reductions.items[i].update) +
                function_cost(loop->reductions.items[i].fn);
    }
    return cost;
}

static void lanes_pass(KernelGen *k, const Stmt *s, Lanes lanes, LLVMValueRef *accs)
{
    k->lanes = lanes;
    gen_body(k, &s->body);
    for (size_t i = 0; i < s->reductions.n; i++) {
        reduce_step(k, &s->reductions.items[i], &accs[i]);
    }
}

// The body once, for lanes from `first` on.
static void straight_pass(KernelGen *k, const Stmt *s, int64_t first, Lanes lanes,
                          LLVMValueRef *accs)
{
    scope_enter(k, (Scope){.writes = stmts_writes(&s->body)});
    k->vars[s->var] = (VarPlace){.fixed = first};
    lanes_pass(k, s, lanes, accs);
    scope_leave(k);
    k->lanes = (Lanes){.loop = NULL};
}

// A loop of passes for the lanes up to `end`.
static void looped_passes(KernelGen *k, const Stmt *s, int64_t end, Lanes lanes, LLVMValueRef *accs)
{
    Gen *g = k->g;
    LLVMBasicBlockRef before = new_block(k, "lanes.before");
    LLVMBasicBlockRef body = new_block(k, "lanes");
    LLVMBasicBlockRef after = new_block(k, "lanes.after");
    uint64_t writes = stmts_writes(&s->body);
    scope_here(k);
    LLVMBuildBr(g->builder, before);
    LLVMPositionBuilderAtEnd(g->builder, before);
    LLVMBuildBr(g->builder, body);
    LLVMPositionBuilderAtEnd(g->builder, body);
    LLVMValueRef index = LLVMBuildPhi(g->builder, g->i64, "");
    add_incoming(index, gen_int(g, 0), before);
    LLVMValueRef *phis = arena_new(g->arena, LLVMValueRef, s->reductions.n);
    for (size_t i = 0; i < s->reductions.n; i++) {
        phis[i] = LLVMBuildPhi(g->builder, LLVMTypeOf(accs[i]), "");
        add_incoming(phis[i], accs[i], before);
        accs[i] = phis[i];
    }
    k->here = body;
    scope_forget(k, writes);
    scope_enter(k, (Scope){.before = before, .writes = writes});
    k->vars[s->var] = (VarPlace){.value = index, .level = (uint32_t)k->scopes.n};
    lanes_pass(k, s, lanes, accs);
    scope_leave(k);
    k->lanes = (Lanes){.loop = NULL};
    scope_here(k);
    LLVMValueRef next = LLVMBuildNUWAdd(g->builder, index, gen_int(g, lanes.width), "");
    LLVMSetNSW(next, true);
    LLVMValueRef more = gen_icmp(g, LLVMIntULT, next, gen_int(g, end));
    LLVMBuildCondBr(g->builder, more, body, after);
    add_incoming(index, next, k->here);
    for (size_t i = 0; i < s->reductions.n; i++) {
        add_incoming(phis[i], accs[i], k->here);
    }
    k->here = after;
}

// `n` passes of one width from lane `first` on. What is reduced goes to `totals`, one register for
// each reduction, NULL if there was nothing before.
static void gen_passes(KernelGen *k, const Stmt *s, int64_t first, int64_t n, Lanes lanes,
                       LLVMValueRef *totals)
{
    Gen *g = k->g;
    LLVMValueRef *accs = arena_new(g->arena, LLVMValueRef, s->reductions.n);
    bool goes_on = lanes.width == g->lanes; // with the registers there are
    for (size_t i = 0; i < s->reductions.n; i++) {
        const Reduction *r = &s->reductions.items[i];
        DType dtype = r->update->dtype;
        LLVMTypeRef type = LLVMVectorType(element_type(g, dtype), lanes.width);
        bool has_total = goes_on && totals[i];
        accs[i] = has_total ? totals[i] : reduction_const(dtype, type, identity(r->fn, dtype));
    }
    if (n == 1 || n * lanes.width / g->lanes * body_cost(s) <= COST_STRAIGHT) {
        for (int64_t i = 0; i < n; i++) {
            straight_pass(k, s, first + i * lanes.width, lanes, accs);
        }
    } else {
        assert(first == 0);
        looped_passes(k, s, n * lanes.width, lanes, accs);
    }
    scope_here(k);
    for (size_t i = 0; i < s->reductions.n; i++) {
        const Reduction *r = &s->reductions.items[i];
        LLVMValueRef folded = fold(g, r, accs[i], g->lanes);
        bool adds = !goes_on && totals[i];
        totals[i] = adds ? reduction_step(g, r->fn, r->update->dtype, totals[i], folded) : folded;
    }
}

static void gen_vector_loop(KernelGen *k, const Stmt *s, int64_t n)
{
    Gen *g = k->g;
    int64_t lanes = g->lanes;
    int64_t left = n / lanes; // whole registers
    unsigned cost = body_cost(s);
    int64_t wide = cost <= COST_WIDE ? MAX_REGISTERS : cost <= COST_MIDDLE ? 2 : 1;
    LLVMValueRef *totals = arena_new(g->arena, LLVMValueRef, s->reductions.n);
    int64_t first = 0;
    for (; wide >= 1; wide /= 2) { // after the first, at most one pass of each width
        unsigned width = (unsigned)(wide * lanes);
        Lanes all = {.loop = s, .width = width, .live = width};
        if (left >= wide) {
            gen_passes(k, s, first, left / wide, all, totals);
            first += left / wide * width;
            left %= wide;
        }
    }
    if (n > first) {
        Lanes some = {.loop = s, .width = g->lanes, .live = (unsigned)(n - first)};
        gen_passes(k, s, first, 1, some, totals);
    }
    for (size_t i = 0; i < s->reductions.n; i++) {
        const Reduction *r = &s->reductions.items[i];
        DType dtype = r->update->dtype;
        scope_here(k);
        LLVMValueRef x = fold_all(g, r, totals[i]);
        if (r->start != identity(r->fn, dtype)) {
            LLVMValueRef start = reduction_const(dtype, element_type(g, dtype), r->start);
            x = reduction_step(g, r->fn, dtype, start, x);
        }
        set_result(k, r, x);
    }
}

// ---- other loops --------------------------------------------------------------------------------

static LLVMValueRef start_value(const KernelGen *k, const Reduction *r)
{
    DType dtype = r->update->dtype;
    return reduction_const(dtype, element_type(k->g, dtype), r->start);
}

// The body n times in a row, the variable a constant each time.
static void gen_unrolled(KernelGen *k, const Stmt *s, int64_t n)
{
    LLVMValueRef *accs = arena_new(k->g->arena, LLVMValueRef, s->reductions.n);
    for (size_t i = 0; i < s->reductions.n; i++) {
        accs[i] = start_value(k, &s->reductions.items[i]);
    }
    Scope scope = {.writes = stmts_writes(&s->body), .has_calls = stmts_have_calls(&s->body)};
    for (int64_t turn = 0; turn < n; turn++) {
        scope_enter(k, scope);
        // What uses the variable is different in every turn, and must not be remembered after it.
        uint32_t level = n == 1 ? 0 : (uint32_t)k->scopes.n;
        k->vars[s->var] = (VarPlace){.fixed = turn, .level = level};
        gen_body(k, &s->body);
        for (size_t i = 0; i < s->reductions.n; i++) {
            reduce_step(k, &s->reductions.items[i], &accs[i]);
        }
        scope_leave(k);
    }
    for (size_t i = 0; i < s->reductions.n; i++) {
        set_result(k, &s->reductions.items[i], accs[i]);
    }
}

typedef struct LoopBlocks {
    LLVMBasicBlockRef guard; // where it is decided whether there is anything to do
    LLVMBasicBlockRef before;
    LLVMBasicBlockRef body;
    LLVMBasicBlockRef after;
} LoopBlocks;

// Goes to the loop's body if it runs at least once.
static LoopBlocks open_loop(KernelGen *k, const Stmt *s, LLVMValueRef n, bool may_skip)
{
    Gen *g = k->g;
    LoopBlocks blocks = {.guard = k->here};
    const char *name = str_cstr(g->arena, k->kernel->var_names.items[s->var]);
    blocks.before = new_block(k, "before");
    blocks.body = new_block(k, name);
    blocks.after = new_block(k, "after");
    scope_here(k);
    if (may_skip) {
        LLVMValueRef any = gen_icmp(g, LLVMIntSGT, n, gen_int(g, 0));
        LLVMBuildCondBr(g->builder, any, blocks.before, blocks.after);
    } else {
        LLVMBuildBr(g->builder, blocks.before);
    }
    LLVMPositionBuilderAtEnd(g->builder, blocks.before);
    LLVMBuildBr(g->builder, blocks.body);
    k->here = blocks.body;
    scope_here(k);
    return blocks;
}

static void gen_serial_loop(KernelGen *k, const Stmt *s)
{
    Gen *g = k->g;
    int64_t fixed = 0;
    bool may_skip = !size_is_int(s->extent, &fixed) || fixed < 1;
    LLVMValueRef n = kernel_size(k, s->extent);
    size_t nreductions = s->reductions.n;
    LLVMValueRef *phis = arena_new(g->arena, LLVMValueRef, nreductions);
    LLVMValueRef *accs = arena_new(g->arena, LLVMValueRef, nreductions);
    uint64_t writes = stmts_writes(&s->body);
    LoopBlocks blocks = open_loop(k, s, n, may_skip);
    LLVMValueRef index = LLVMBuildPhi(g->builder, g->i64, "");
    add_incoming(index, gen_int(g, 0), blocks.before);
    for (size_t i = 0; i < nreductions; i++) {
        LLVMValueRef start = start_value(k, &s->reductions.items[i]);
        accs[i] = phis[i] = LLVMBuildPhi(g->builder, LLVMTypeOf(start), "");
        add_incoming(phis[i], start, blocks.before);
    }
    scope_forget(k, writes);
    scope_enter(k, (Scope){.before = blocks.before,
                           .writes = writes,
                           .may_skip = may_skip,
                           .has_calls = stmts_have_calls(&s->body)});
    k->vars[s->var] = (VarPlace){.value = index, .level = (uint32_t)k->scopes.n};
    gen_body(k, &s->body);
    for (size_t i = 0; i < nreductions; i++) {
        reduce_step(k, &s->reductions.items[i], &accs[i]);
    }
    scope_leave(k);
    scope_here(k);
    LLVMValueRef next = LLVMBuildNUWAdd(g->builder, index, gen_int(g, 1), "");
    LLVMSetNSW(next, true);
    LLVMBuildCondBr(g->builder, gen_icmp(g, LLVMIntULT, next, n), blocks.body, blocks.after);
    add_incoming(index, next, k->here);
    LLVMBasicBlockRef last = k->here;
    k->here = blocks.after;
    scope_here(k);
    for (size_t i = 0; i < nreductions; i++) {
        const Reduction *r = &s->reductions.items[i];
        add_incoming(phis[i], accs[i], last);
        LLVMValueRef result = LLVMBuildPhi(g->builder, LLVMTypeOf(accs[i]), "");
        add_incoming(result, accs[i], last);
        if (may_skip) {
            add_incoming(result, start_value(k, r), blocks.guard);
        }
        set_result(k, r, result);
    }
}

static void gen_loop(KernelGen *k, const Stmt *s)
{
    int64_t n;
    bool is_fixed = size_is_int(s->extent, &n);
    if (is_fixed && (n <= 1 || s->tag == LOOP_unroll)) {
        gen_unrolled(k, s, n);
    } else if (s->tag == LOOP_vector) {
        assert(is_fixed);
        gen_vector_loop(k, s, n);
    } else {
        gen_serial_loop(k, s);
    }
}

static void gen_only(KernelGen *k, const Stmt *s)
{
    Gen *g = k->g;
    const VarPlace *var = &k->vars[s->var];
    Scope scope = {.writes = stmts_writes(&s->body), .has_calls = stmts_have_calls(&s->body)};
    if (!var->value) {
        if (var->fixed == s->value) {
            scope_enter(k, scope);
            gen_body(k, &s->body);
            scope_leave(k);
        }
        return;
    }
    scope.before = new_block(k, "only");
    scope.may_skip = true;
    LLVMBasicBlockRef body = new_block(k, "only.body");
    LLVMBasicBlockRef after = new_block(k, "only.after");
    scope_here(k);
    LLVMValueRef is_it = gen_icmp(g, LLVMIntEQ, var->value, gen_int(g, s->value));
    LLVMBuildCondBr(g->builder, is_it, scope.before, after);
    LLVMPositionBuilderAtEnd(g->builder, scope.before);
    LLVMBuildBr(g->builder, body);
    k->here = body;
    scope_enter(k, scope);
    gen_body(k, &s->body);
    scope_leave(k);
    scope_here(k);
    LLVMBuildBr(g->builder, after);
    k->here = after;
}

static void gen_body(KernelGen *k, const Stmts *body)
{
    for (size_t i = 0; i < body->n; i++) {
        const Stmt *s = body->items[i];
        switch (s->kind) {
        case STMT_loop: gen_loop(k, s); break;
        case STMT_only: gen_only(k, s); break;
        case STMT_let: k->values[s->id] = kernel_expr(k, s->expr); break;
        case STMT_store: {
            Val val = kernel_expr(k, s->expr);
            kernel_store(k, &s->target, &val);
            break;
        }
        case STMT_tile:
            kernel_fetch(k, body, i);
            kernel_tile(k, &s->tile);
            scope_forget(k, buffer_bit(s->tile.c.buffer));
            break;
        case STMT_pack:
            kernel_pack(k, &s->pack);
            scope_forget(k, buffer_bit(s->pack.dst.buffer));
            break;
        }
    }
}

// ---- the function -------------------------------------------------------------------------------

// Takes the part's number apart into the outermost parallel loops' variables, as kernel_parts puts
// it together; returns what is inside of them.
static const Stmts *gen_parts(KernelGen *k)
{
    Gen *g = k->g;
    VEC(const Stmt *) loops = {0};
    const Stmts *body = &k->kernel->body;
    for (const Stmt *s = stmts_parallel(body); s; s = stmts_parallel(body)) {
        vec_push(g->arena, &loops, s);
        body = &s->body;
    }
    scope_goto(k, 0);
    LLVMValueRef left = LLVMBuildZExt(g->builder, LLVMGetParam(k->fn, 1), g->i64, "part");
    for (size_t i = loops.n; i-- > 0;) {
        const Stmt *s = loops.items[i];
        k->vars[s->var] = (VarPlace){.value = left};
        if (size_is(s->extent, 1)) {
            k->vars[s->var].value = NULL;
        } else if (i > 0) {
            LLVMValueRef n = kernel_size(k, s->extent);
            scope_goto(k, 0);
            k->vars[s->var].value = LLVMBuildURem(g->builder, left, n, "");
            left = LLVMBuildUDiv(g->builder, left, n, "");
        }
    }
    return body;
}

LLVMValueRef kernel_gen(Gen *g, const Program *program, const Kernel *kernel)
{
    LLVMTypeRef params[] = {g->ptr, g->i32, g->i32};
    KernelGen k = {.g = g, .program = program, .kernel = kernel};
    k.fn = gen_function(g, str_cstr(g->arena, kernel->name), params, 3);
    k.frame = LLVMGetParam(k.fn, 0);
    gen_add_attribute(g, k.fn, 1, "noalias", 0);
    k.pointers = arena_new(g->arena, LLVMValueRef, kernel->buffers.n);
    k.vars = arena_new(g->arena, VarPlace, kernel->nvars);
    k.values = arena_new(g->arena, Val, kernel->nvalues);
    LLVMBasicBlockRef entry = new_block(&k, "entry");
    k.here = new_block(&k, "body");
    LLVMPositionBuilderAtEnd(g->builder, entry);
    LLVMBuildBr(g->builder, k.here);
    scope_enter(&k, (Scope){.before = entry,
                            .writes = stmts_writes(&kernel->body),
                            .has_calls = stmts_have_calls(&kernel->body)});
    gen_body(&k, gen_parts(&k));
    scope_here(&k);
    LLVMBuildRetVoid(g->builder);
    scope_leave(&k);
    return k.fn;
}
