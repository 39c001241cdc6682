// Numbers that a seed and a name determine, the same on every machine. Only driver/ includes this.
#ifndef SLUICE_DRIVER_RANDOM_H
#define SLUICE_DRIVER_RANDOM_H

#include "base/str.h"

// The stream of a tensor.
uint64_t random_stream(Str name, uint64_t seed);
// Its n-th number: 64 random bits.
uint64_t random_bits(uint64_t stream, uint64_t n);
// The same as a number in [-1, 1), exact in float32.
float random_uniform(uint64_t stream, uint64_t n);

#endif
