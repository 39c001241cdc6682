// Inside codegen: the elementwise functions of f32 as straight code, for one element or for
// vectors.
#ifndef SLUICE_CODEGEN_MATH_H
#define SLUICE_CODEGEN_MATH_H

#include "codegen/llvm.h"

#include <math.h>

LLVMValueRef math_call(Gen *g, Scalar fn, LLVMValueRef *args);

// coefs[0] + coefs[1] x + … + coefs[n - 1] x^(n - 1)
LLVMValueRef math_poly(Gen *g, LLVMValueRef x, const double *coefs, size_t n);
#define POLY(g, x, coefs) math_poly((g), (x), (coefs), sizeof(coefs) / sizeof *(coefs))

// For f32 and f64, in lanes or alone: a constant of x's type; |x|.
LLVMValueRef math_const(LLVMValueRef x, double value);
LLVMValueRef math_abs(Gen *g, LLVMValueRef x);

// ---- math_double.c: by way of double ----

LLVMValueRef math_sin(Gen *g, LLVMValueRef x);
LLVMValueRef math_cos(Gen *g, LLVMValueRef x);
LLVMValueRef math_pow(Gen *g, LLVMValueRef x, LLVMValueRef y);

#endif
