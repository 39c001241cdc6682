// One LLVM module under construction, and the few instructions that codegen builds, in short.
// Everything LLVM owns is created and disposed of in llvm.c. Main type: Gen. codegen alone includes
// this.
//
// A "float" or "int" here is one element or a vector of them: functions that do arithmetic take
// either, and give what they were given. A vector may be several registers long: LLVM cuts it up
// and does each operation on all pieces before the next one, so that independent chains of
// operations go side by side. Nothing is reordered beyond that.
#ifndef SLUICE_CODEGEN_LLVM_H
#define SLUICE_CODEGEN_LLVM_H

#include "base/map.h"
#include "codegen/codegen.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#define MAX_LANES 64 // elements of a vector

typedef struct Gen {
    Arena *arena;
    const CodegenTarget *target;
    unsigned lanes; // elements of a vector register
    Map functions;  // tile leaves and packs made so far, by what they do
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTargetMachineRef machine;
    LLVMTargetDataRef layout;
    LLVMTypeRef f32;
    LLVMTypeRef f64;
    LLVMTypeRef i1;
    LLVMTypeRef i8;
    LLVMTypeRef i32;
    LLVMTypeRef i64;
    LLVMTypeRef ptr;
} Gen;

// An empty module for the target, its layout set. False, with the reason in dx, if LLVM does not
// know the target; then there is nothing to destroy.
bool gen_create(Gen *g, Arena *arena, Diag *dx, const CodegenTarget *target);
void gen_destroy(Gen *g);
// Verifies the module and appends it in the form asked for.
bool gen_output(Gen *g, Diag *dx, CodegenKind kind, Buf *out);

// A function that only this module sees. It has no body yet; `types` are its parameters, it returns
// nothing.
LLVMValueRef gen_function(Gen *g, const char *name, LLVMTypeRef *types, unsigned n);
void gen_add_attribute(const Gen *g, LLVMValueRef fn, LLVMAttributeIndex at, const char *name,
                       uint64_t value);

// ---- types and constants ----

LLVMTypeRef gen_element(LLVMTypeRef type); // of a vector; itself otherwise
bool gen_is_vector(LLVMValueRef x);
LLVMTypeRef gen_like(LLVMValueRef x, LLVMTypeRef element); // x's shape with another element
LLVMValueRef gen_int(const Gen *g, int64_t n);             // i64
// One element, or a vector with it in every lane: f32 or f64, integers.
LLVMValueRef gen_const(LLVMTypeRef type, double value);
LLVMValueRef gen_iconst(LLVMTypeRef type, int64_t value);
// n integers: 0, step, 2 step, …
LLVMValueRef gen_steps(LLVMTypeRef element, unsigned n, int64_t step);
LLVMValueRef gen_lane_mask(const Gen *g, unsigned n, unsigned live); // n bits: the first are set

// ---- instructions, at the builder's place ----

LLVMValueRef gen_call(Gen *g, const char *intrinsic, LLVMTypeRef *types, unsigned ntypes,
                      LLVMValueRef *args, unsigned nargs);
// ptr + i64; may leave the buffer: of masked vectors and of what is fetched ahead, it does.
LLVMValueRef gen_offset(Gen *g, LLVMValueRef ptr, LLVMValueRef bytes);
// Asks for the line at `ptr`, which need not be there, into L1.
void gen_prefetch(Gen *g, LLVMValueRef ptr, bool is_stored);
LLVMValueRef gen_offset_const(Gen *g, LLVMValueRef ptr, int64_t bytes);
LLVMValueRef gen_load(Gen *g, LLVMTypeRef type, LLVMValueRef ptr, unsigned align);
// `mask` NULL: all lanes. Lanes that are left out are 0, their memory is not touched.
LLVMValueRef gen_load_masked(Gen *g, LLVMTypeRef type, LLVMValueRef ptr, unsigned align,
                             LLVMValueRef mask);
void gen_store(Gen *g, LLVMValueRef value, LLVMValueRef ptr, unsigned align);
LLVMValueRef gen_splat(Gen *g, LLVMValueRef scalar, unsigned n);
// n lanes of x and y, numbered one behind the other.
LLVMValueRef gen_shuffle(Gen *g, LLVMValueRef x, LLVMValueRef y, const unsigned *lanes, unsigned n);
LLVMValueRef gen_slice(Gen *g, LLVMValueRef x, unsigned first,
                       unsigned n); // n lanes from `first` on
LLVMValueRef gen_join(Gen *g, LLVMValueRef *pieces,
                      unsigned n); // n vectors of one type, n a power of 2
LLVMValueRef gen_reverse(Gen *g, LLVMValueRef x);
LLVMValueRef gen_bits(Gen *g, LLVMValueRef x);      // f32 → i32
LLVMValueRef gen_from_bits(Gen *g, LLVMValueRef x); // i32 → f32
LLVMValueRef gen_fma(Gen *g, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z);
LLVMValueRef gen_select(Gen *g, LLVMValueRef mask, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef gen_fcmp(Gen *g, LLVMRealPredicate op, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef gen_icmp(Gen *g, LLVMIntPredicate op, LLVMValueRef x, LLVMValueRef y);
// The smaller (larger) of c and x; x if either is NaN or they are equal. One instruction on x86,
// which is why the operands have an order.
LLVMValueRef gen_min_or_second(Gen *g, LLVMValueRef c, LLVMValueRef x);
LLVMValueRef gen_max_or_second(Gen *g, LLVMValueRef c, LLVMValueRef x);

#endif
