// The elementwise functions of f32 that are more than one instruction of LLVM's.
#include "codegen/kernel.h"

static LLVMValueRef square_root(Gen *g, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return gen_call(g, "llvm.sqrt", &type, 1, &x, 1);
}

LLVMValueRef math_call(Gen *g, Scalar fn, LLVMValueRef *args)
{
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    switch ((int)fn) {
    case S_relu: return gen_max_or_second(g, gen_const(type, 0), args[0]);
    case S_sqrt: return square_root(g, args[0]);
    case S_rsqrt: return LLVMBuildFDiv(g->builder, gen_const(type, 1), square_root(g, args[0]), "");
    default: die("%s of f32 has no code", scalar_name(fn));
    }
}
