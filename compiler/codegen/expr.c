// Expressions. What is the same for all lanes stays one scalar until it meets something that is
// not; every operation is built as far out as its operands allow.
#include "codegen/kernel.h"
#include "codegen/math.h"

#include <assert.h>

LLVMTypeRef element_type(const Gen *g, DType dtype)
{
    switch (dtype) {
    case DT_f32: return g->f32;
    case DT_i32: return g->i32;
    case DT_bool: return g->i1;
    case DT_f16:
    case DT_bf16:
    case DT_f64:
    case DT_i64:
    case DT_u8:
    case DT_count: break;
    }
    die("a kernel has an element of type %s", dtype_name(dtype));
}

// ---- one operation ------------------------------------------------------------------------------

// NaN if either operand is.
static LLVMValueRef min_or_max(Gen *g, Scalar fn, LLVMValueRef x, LLVMValueRef y)
{
    // The instruction gives its second operand, x, if either is NaN: right unless only y is.
    LLVMValueRef best = fn == S_min ? gen_min_or_second(g, y, x) : gen_max_or_second(g, y, x);
    return gen_select(g, gen_fcmp(g, LLVMRealUNO, y, y), y, best);
}

static LLVMValueRef float_compare(Gen *g, Scalar fn, LLVMValueRef x, LLVMValueRef y)
{
    LLVMRealPredicate op = LLVMRealOEQ;
    if (fn == S_ne) {
        op = LLVMRealUNE;
    } else if (fn == S_lt) {
        op = LLVMRealOLT;
    } else if (fn == S_le) {
        op = LLVMRealOLE;
    } else if (fn == S_gt) {
        op = LLVMRealOGT;
    } else if (fn == S_ge) {
        op = LLVMRealOGE;
    }
    return gen_fcmp(g, op, x, y);
}

static LLVMValueRef int_compare(Gen *g, Scalar fn, LLVMValueRef x, LLVMValueRef y)
{
    LLVMIntPredicate op = LLVMIntEQ;
    if (fn == S_ne) {
        op = LLVMIntNE;
    } else if (fn == S_lt) {
        op = LLVMIntSLT;
    } else if (fn == S_le) {
        op = LLVMIntSLE;
    } else if (fn == S_gt) {
        op = LLVMIntSGT;
    } else if (fn == S_ge) {
        op = LLVMIntSGE;
    }
    return gen_icmp(g, op, x, y);
}

static LLVMValueRef intrinsic(Gen *g, const char *name, LLVMValueRef *args, unsigned n)
{
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    return gen_call(g, name, &type, 1, args, n);
}

static LLVMValueRef int_map(Gen *g, Scalar fn, LLVMValueRef *args)
{
    LLVMBuilderRef b = g->builder;
    LLVMValueRef no = LLVMConstInt(g->i1, 0, false);
    switch ((int)fn) {
    case S_add: return LLVMBuildAdd(b, args[0], args[1], "");
    case S_sub: return LLVMBuildSub(b, args[0], args[1], "");
    case S_mul: return LLVMBuildMul(b, args[0], args[1], "");
    case S_neg: return LLVMBuildNeg(b, args[0], "");
    case S_min: return intrinsic(g, "llvm.smin", args, 2);
    case S_max: return intrinsic(g, "llvm.smax", args, 2);
    case S_abs: return intrinsic(g, "llvm.abs", (LLVMValueRef[]){args[0], no}, 2);
    default: die("%s of i32 has no code", scalar_name(fn));
    }
}

static LLVMValueRef logic_map(Gen *g, Scalar fn, LLVMValueRef *args)
{
    if (fn == S_not) {
        return LLVMBuildNot(g->builder, args[0], "");
    }
    return fn == S_and ? LLVMBuildAnd(g->builder, args[0], args[1], "")
                       : LLVMBuildOr(g->builder, args[0], args[1], "");
}

static LLVMValueRef float_map(Gen *g, Scalar fn, LLVMValueRef *args)
{
    LLVMBuilderRef b = g->builder;
    switch ((int)fn) {
    case S_add: return LLVMBuildFAdd(b, args[0], args[1], "");
    case S_sub: return LLVMBuildFSub(b, args[0], args[1], "");
    case S_mul: return LLVMBuildFMul(b, args[0], args[1], "");
    case S_div: return LLVMBuildFDiv(b, args[0], args[1], "");
    case S_neg: return LLVMBuildFNeg(b, args[0], "");
    case S_abs: return intrinsic(g, "llvm.fabs", args, 1);
    case S_min:
    case S_max: return min_or_max(g, fn, args[0], args[1]);
    default: return math_call(g, fn, args);
    }
}

static LLVMValueRef convert(Gen *g, DType from, DType to, LLVMValueRef x)
{
    LLVMBuilderRef b = g->builder;
    LLVMTypeRef type = gen_like(x, element_type(g, to));
    if (from == to) {
        return x;
    }
    if (to == DT_f32) {
        return from == DT_bool ? LLVMBuildUIToFP(b, x, type, "") : LLVMBuildSIToFP(b, x, type, "");
    }
    if (to == DT_i32) {
        if (from == DT_bool) {
            return LLVMBuildZExt(b, x, type, "");
        }
        LLVMTypeRef types[] = {type, LLVMTypeOf(x)};
        return gen_call(g, "llvm.fptosi.sat", types, 2, &x, 1);
    }
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x));
    return from == DT_f32 ? gen_fcmp(g, LLVMRealUNE, x, zero) : gen_icmp(g, LLVMIntNE, x, zero);
}

static bool is_compare(Scalar fn)
{
    return fn == S_eq || fn == S_ne || fn == S_lt || fn == S_le || fn == S_gt || fn == S_ge;
}

// fn of operands of type `dtype` (of the last one for select), all scalars or all vectors.
static LLVMValueRef operation(Gen *g, Scalar fn, DType dtype, LLVMValueRef *args)
{
    if (fn == S_select) {
        return gen_select(g, args[0], args[1], args[2]);
    }
    if (fn == S_to_f32 || fn == S_to_i32 || fn == S_to_bool) {
        DType to = fn == S_to_f32 ? DT_f32 : fn == S_to_i32 ? DT_i32 : DT_bool;
        return convert(g, dtype, to, args[0]);
    }
    if (is_compare(fn)) {
        return dtype == DT_f32 ? float_compare(g, fn, args[0], args[1])
                               : int_compare(g, fn, args[0], args[1]);
    }
    if (dtype == DT_bool) {
        return logic_map(g, fn, args);
    }
    return dtype == DT_i32 ? int_map(g, fn, args) : float_map(g, fn, args);
}

LLVMValueRef reduction_step(Gen *g, Scalar fn, DType dtype, LLVMValueRef acc, LLVMValueRef x)
{
    return operation(g, fn, dtype, (LLVMValueRef[]){acc, x});
}

// ---- expressions --------------------------------------------------------------------------------

static Val scalar_val(LLVMValueRef x, uint32_t level) { return (Val){.level = level, .v = x}; }

static Val size_expr(KernelGen *k, const Expr *e)
{
    Gen *g = k->g;
    LLVMValueRef n = kernel_size(k, e->size);
    scope_goto(k, 0);
    switch ((int)e->dtype) {
    case DT_f32: return scalar_val(LLVMBuildSIToFP(g->builder, n, g->f32, ""), 0);
    case DT_i32: return scalar_val(LLVMBuildTrunc(g->builder, n, g->i32, ""), 0);
    default: return scalar_val(gen_icmp(g, LLVMIntNE, n, gen_int(g, 0)), 0);
    }
}

// The affine's value in 32 bits, which wrap.
static Val index_expr(KernelGen *k, const Expr *e)
{
    Gen *g = k->g;
    LLVMValueRef base = kernel_size(k, e->index.base);
    scope_goto(k, 0);
    Val out = scalar_val(LLVMBuildTrunc(g->builder, base, g->i32, ""), 0);
    const Size *step = NULL;
    for (size_t i = 0; i < e->index.nterms; i++) {
        const AffineTerm *term = &e->index.terms[i];
        const VarPlace *place = &k->vars[term->var];
        if (k->lanes.loop && k->lanes.loop->var == term->var) {
            step = term->coef;
        }
        LLVMValueRef coef = kernel_size(k, term->coef);
        LLVMValueRef var = place->value ? place->value : gen_int(g, place->fixed);
        out.level = scope_goto(k, out.level < place->level ? place->level : out.level);
        LLVMValueRef product = LLVMBuildMul(g->builder, var, coef, "");
        product = LLVMBuildTrunc(g->builder, product, g->i32, "");
        out.v = LLVMBuildAdd(g->builder, out.v, product, "");
    }
    if (!step) {
        return out;
    }
    LLVMValueRef coef = kernel_size(k, step);
    Val first = scope_spread(k, &out, out.level);
    out.is_lanes = true;
    out.level = scope_goto(k, first.level < out.level ? out.level : first.level);
    coef = gen_splat(g, LLVMBuildTrunc(g->builder, coef, g->i32, ""), k->lanes.width);
    LLVMValueRef steps = gen_steps(g->i32, k->lanes.width, 1);
    steps = LLVMBuildMul(g->builder, steps, coef, "");
    out.v = LLVMBuildAdd(g->builder, first.v, steps, "");
    return out;
}

static Val map_expr(KernelGen *k, const Expr *e)
{
    Gen *g = k->g;
    Val args[SCALAR_MAX_ARITY];
    assert(e->nargs <= SCALAR_MAX_ARITY);
    Val out = {.is_lanes = false};
    for (size_t i = 0; i < e->nargs; i++) {
        args[i] = kernel_expr(k, e->args[i]);
        out.is_lanes |= args[i].is_lanes;
        out.level = out.level < args[i].level ? args[i].level : out.level;
        out.reads |= args[i].reads;
    }
    uint32_t least = out.is_lanes ? scope_lanes_level(k) : 0;
    out.level = out.level < least ? least : out.level;
    for (size_t i = 0; i < e->nargs && out.is_lanes; i++) {
        // A condition that is the same for all lanes may stay one bit.
        if (!args[i].is_lanes && !(e->fn == S_select && i == 0)) {
            args[i] = scope_spread(k, &args[i], out.level);
        }
    }
    out.level = scope_goto(k, out.level);
    LLVMValueRef operands[SCALAR_MAX_ARITY] = {NULL};
    for (size_t i = 0; i < e->nargs; i++) {
        operands[i] = args[i].v;
    }
    out.v = operation(g, e->fn, e->args[e->nargs - 1]->dtype, operands);
    return out;
}

Val kernel_expr(KernelGen *k, const Expr *e)
{
    if (e->kind == EXPR_value) {
        return k->values[e->id];
    }
    if (e->kind == EXPR_const) {
        LLVMTypeRef type = element_type(k->g, e->dtype);
        return scalar_val(e->dtype == DT_f32 ? gen_const(type, e->value)
                                             : gen_iconst(type, (int64_t)e->value),
                          0);
    }
    Memo *m = memo_find_expr(k, e);
    if (m) {
        return m->val;
    }
    Val out = {.is_lanes = false};
    switch (e->kind) {
    case EXPR_size: out = size_expr(k, e); break;
    case EXPR_index: out = index_expr(k, e); break;
    case EXPR_load: out = kernel_load(k, &e->access); break;
    case EXPR_map: out = map_expr(k, e); break;
    case EXPR_const:
    case EXPR_value: break;
    }
    memo_add_expr(k, e, &out);
    return out;
}
