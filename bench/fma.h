// The multiply-add rate of this machine: what products are measured against. Standalone.
#ifndef SLUICE_BENCH_FMA_H
#define SLUICE_BENCH_FMA_H

#include <stdint.h>

// Does `rounds` rounds of multiply-adds in registers on each of `threads` threads and returns the
// nanoseconds that took, from when all threads stood ready; 0 if a thread cannot be started.
uint64_t fma_time(uint32_t threads, uint64_t rounds);

// Floating point operations of one round on one thread.
uint64_t fma_operations(void);

#endif
