// Kernels written by hand, for the tests of loops, programs and their passes.
#ifndef SLUICE_TESTS_LOOP_KIT_H
#define SLUICE_TESTS_LOOP_KIT_H

#include "loop/program.h"

// Short names for what tests write often.
const Size *kit_int(Arena *a, int64_t n);
Affine kit_at(Arena *a, int64_t base, const int64_t *coefs, const Var *vars, size_t n);
Access kit_access(uint32_t buffer, Affine at);
const Expr *kit_load(Arena *a, const Kernel *k, uint32_t buffer, Affine at);
const Expr *kit_map1(Arena *a, Scalar fn, const Expr *x);
const Expr *kit_map2(Arena *a, Scalar fn, const Expr *x, const Expr *y);

#define KIT_ROWS 5  // of an item of `dense`, in tiles of 3 and 2
#define KIT_K    20 // of `dense`
#define KIT_COLS 40 // of `dense`: two panels and half of a third

// y[batch, 5, 40] = gelu(x[batch, 5, 20] · w[20, 40] + bias[40]), w as P16 [3, 20, 16].
Kernel *kit_dense(Arena *a, const char *name);
// y[batch, n] = softmax(x[batch, n]) over the last axis, the row of exponentials kept in scratch.
Kernel *kit_softmax(Arena *a, const char *name, int64_t n);
// y[batch, n] = table[ids[batch], n]; the table has `rows` rows.
Kernel *kit_gather(Arena *a, const char *name, int64_t rows, int64_t n);
// y[count] = fn(x[count]), one part for each of `count` elements.
Kernel *kit_map(Arena *a, const char *name, Scalar fn, const Size *count);

#endif
