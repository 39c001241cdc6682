// Code generation from the outside: kernels, then the table, then bytes.
//
//   Program ── kernel_gen, once each ──▶ functions ── table_gen ──▶ module ── gen_output ──▶ bytes
//                 └─ leaves and packs, shared
#include "codegen/kernel.h"
#include "codegen/table.h"

bool codegen_emit(Arena *arena, Diag *dx, const Program *program, const ArtefactInfo *info,
                  const CodegenTarget *target, CodegenKind kind, Buf *out)
{
    Gen g;
    if (!gen_create(&g, arena, dx, target)) {
        return false;
    }
    LLVMValueRef *kernels = arena_new(arena, LLVMValueRef, program->kernels.n);
    for (size_t i = 0; i < program->kernels.n; i++) {
        kernels[i] = kernel_gen(&g, program, program->kernels.items[i]);
    }
    table_gen(&g, program, info, kernels);
    bool ok = gen_output(&g, dx, kind, out);
    gen_destroy(&g);
    return ok;
}
