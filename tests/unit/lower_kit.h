// A graph through the passes and lowering, run without generated code, against the evaluator. For
// the tests of lowering.
#ifndef SLUICE_TESTS_LOWER_KIT_H
#define SLUICE_TESTS_LOWER_KIT_H

#include "ir/ir.h"
#include "loop/target.h"

typedef struct LowerKit {
    Arena *arena;
    Graph *graph;
    const Target *target;
    bool only_stages; // -O0
    int64_t batch;    // the value of the symbol `batch`
    double tolerance; // of the greatest value of an output
    size_t nkernels;  // found: steps of the program
} LowerKit;

typedef enum LowerResult {
    LOWER_same,
    LOWER_differs, // `why` says where
    LOWER_refused, // a size must be fixed and is not
} LowerResult;

// Inputs and parameters are made up from their names.
LowerResult lower_kit_run(LowerKit *kit, Buf *why);

#endif
