// A small model whose table is written by hand: what the compiler must emit, without a compiler.
// Linked into the tests as `tiny_query`, and built as model_tiny.so and, with its weights beside it
// and a `sum` that is twice as large, as model_twin.so.
//
//   entry "bag", symbol batch (1 to 64), check batch*4 <= 128:
//     ids i32 [batch, 4] of 0…5, weight f32 [batch, 4], mask bool [batch, 4] or all true
//     → sum f32 [batch, 8], the sum over the 4 positions of mask · weight · (table[ids] + bias);
//       total f32 [1], the sum of `sum`
//   entry "pair", symbols rows, cols (4 to 1024):
//     a f32 [rows, cols], b f32 [cols], c f32 [cols] or all 0.5, d i32 [rows] or all −3
//     → half f32 [rows, cols/2 + 1]: a + b + c + d of the first columns; sign bool [rows]: a[·, 0]
//     < 0
//   entry "pick", symbol batch (from 1): at f32 [batch] → picked f32 [batch], bias[i32(at)];
//   indices
//     are clamped, and then the run faults
#ifndef SLUICE_TESTS_ABI_TINY_H
#define SLUICE_TESTS_ABI_TINY_H

#include "runtime/abi.h"

enum { TINY_BAG, TINY_PAIR, TINY_PICK, TINY_ENTRIES };
enum { TINY_LENGTH = 4, TINY_WORDS = 6, TINY_WIDTH = 8 };
enum { TINY_BIAS = TINY_WORDS * TINY_WIDTH, TINY_WEIGHTS = TINY_BIAS + TINY_WIDTH }; // floats

const SlAbiModel *tiny_query(uint32_t max_abi);

#endif
