// Whole-number arithmetic that C leaves out. Any layer may include this.
#ifndef SLUICE_BASE_INTS_H
#define SLUICE_BASE_INTS_H

#include <stdint.h>

int64_t int_floor_div(int64_t n, int64_t d); // rounds down; d > 0
int64_t int_ceil_div(int64_t n, int64_t d);  // rounds up; d > 0
// Never negative, 0 only of zeros. Neither operand is INT64_MIN.
int64_t int_gcd(int64_t x, int64_t y);

#endif
