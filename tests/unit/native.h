// Native code of kernels, for tests: a program of these kernels is emitted, linked with ld alone,
// loaded, and each kernel can be called. What the object must not have (undefined symbols, a second
// export) fails the test that loads.
#ifndef SLUICE_TESTS_NATIVE_H
#define SLUICE_TESTS_NATIVE_H

#include "codegen/codegen.h"
#include "runtime/abi.h"

typedef struct Native {
    void *handle;
    const SlAbiModel *model;
    Str object; // the bytes
} Native;

// A target by name. `as`: where this machine does not run it, code of its shape in instructions of
// this other target; NULL: in its own, wherever.
CodegenTarget native_target(Arena *a, const char *name, const char *as);
// The program of one step for each kernel, its operands inputs and outputs; symbols: [nsymbols]
// names.
Program *native_program(Arena *a, Kernel *const *kernels, size_t n, const Str *symbols,
                        size_t nsymbols);
Native native_load(Arena *a, const Program *program, const CodegenTarget *target);
void native_close(Native *native);
int64_t native_size(const SlAbiExpr *e, const int64_t *symbols); // an expression of the table
// Calls kernel number `i`, every part; symbols: [nsymbols] values. Returns the fault word.
uint32_t native_run(const Native *native, const Kernel *kernel, size_t i, const int64_t *symbols,
                    void *const *operands);

// What a buffer of a test holds.
typedef struct Data {
    DType dtype;
    int64_t count;
    void *bytes; // float, int32_t or uint8_t; of an output: what is there before
} Data;

Data native_data(Arena *a, DType dtype, int64_t count); // zeros
// Runs the kernel natively, twice, and by the evaluator, and compares the outputs and the fault:
// f32 by |y - e| <= tolerance · (1 + |e|), 0 for equality. data: [noperands]. Inputs and outputs
// end at memory that cannot be touched, and in the second run begin at it.
void native_check(const Native *native, const Kernel *kernel, size_t i, const SizeBinding *symbols,
                  size_t nsymbols, const Data *data, double tolerance);

// Text of a kind of output.
Str native_text(Arena *a, const Program *program, const CodegenTarget *target, CodegenKind kind);

#endif
