// Inside codegen: the table of runtime/abi.h as read-only data, and the function that answers with
// it.
#ifndef SLUICE_CODEGEN_TABLE_H
#define SLUICE_CODEGEN_TABLE_H

#include "codegen/llvm.h"

// kernels: [program->kernels.n] their functions. The exported function is called SL_QUERY_NAME.
void table_gen(Gen *g, const Program *program, const ArtefactInfo *info, LLVMValueRef *kernels);

#endif
