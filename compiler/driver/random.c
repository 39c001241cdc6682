#include "driver/random.h"

#include <xxhash.h>

uint64_t random_stream(Str name, uint64_t seed)
{
    return XXH3_64bits_withSeed(name.ptr, name.len, seed);
}

// SplitMix64 (Steele, Lea and Flood 2014).
uint64_t random_bits(uint64_t stream, uint64_t n)
{
    uint64_t z = stream + (n + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

float random_uniform(uint64_t stream, uint64_t n)
{
    return (float)((int64_t)(random_bits(stream, n) >> 40) - (1 << 23)) / (float)(1 << 23);
}
