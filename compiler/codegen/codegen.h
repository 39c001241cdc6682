// Code generation: a program becomes an object file, its assembly text or its LLVM text. The object
// holds the kernels, the table of runtime/abi.h and one exported function that answers with it; it
// refers to nothing outside itself and can be linked by ld alone. Below this header instruction
// sets have names; above it there are only the numbers of `Target`. Main type: CodegenTarget. The
// driver includes this; nothing here shows LLVM.
#ifndef SLUICE_CODEGEN_CODEGEN_H
#define SLUICE_CODEGEN_CODEGEN_H

#include "base/diag.h"
#include "loop/program.h"

// An instruction set to generate code for. `loop` is what lowering decides by, and what kernels
// must have been made for; the rest is codegen's own. `cpu` and `features` pick the instructions
// for code of that shape: a test may put a smaller set there and run the same LLVM text on a
// smaller machine.
typedef struct CodegenTarget {
    Str name; // as on the command line
    Target loop;
    uint64_t needs;       // bits of isa.def that a CPU must have
    uint32_t isa;         // row of isa.def
    const char *triple;   // LLVM's words
    const char *cpu;      // LLVM's words
    const char *features; // LLVM's words
} CodegenTarget;

// Looks up a row of isa.def by its name, or `native`: the most demanding row that this machine's
// CPU and system can run. False: there is none of that name, or none for this machine; `why` says
// so and what there is.
bool codegen_target(Arena *arena, Str name, CodegenTarget *out, Str *why);

typedef enum CodegenKind {
    CODEGEN_object,
    CODEGEN_asm,
    CODEGEN_llvm, // checked, but not optimised: what the other two are made from
} CodegenKind;

// Appends the program's code to `out`: the same bytes for the same arguments. The program is
// verified, its pass `memory` is done, and it was lowered for `target->loop`. False if LLVM cannot
// make code for the target; the reason is in `dx`. Not to be called by two threads at a time.
bool codegen_emit(Arena *arena, Diag *dx, const Program *program, const ArtefactInfo *info,
                  const CodegenTarget *target, CodegenKind kind, Buf *out);

#endif
