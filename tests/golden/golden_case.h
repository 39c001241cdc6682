// A golden case on disk: see tests/golden/data/README.md.
#ifndef SLUICE_TESTS_GOLDEN_CASE_H
#define SLUICE_TESTS_GOLDEN_CASE_H

#include "base/dtype.h"

typedef struct GoldenTensor {
    Str name;
    DType dtype; // f32 or i32
    size_t rank;
    const int64_t *shape; // [rank]
    int64_t count;
    void *data;  // [count]
    double atol; // of an output
    double rtol;
} GoldenTensor;

typedef struct GoldenTensors {
    size_t n;
    GoldenTensor *items; // [n]
} GoldenTensors;

typedef struct GoldenCase {
    const char *name;   // "bert/base"
    const char *folder; // a model folder made of it
    int64_t seq;        // 0: the model has no such size
    GoldenTensors inputs;
    GoldenTensors outputs;
} GoldenCase;

// Reads the inputs, the outputs and their tolerances of the case in FOLDER. False after a message
// on standard error.
bool golden_load_tensors(Arena *a, const char *folder, GoldenTensors *inputs,
                         GoldenTensors *outputs);
// Reads DATA/FAMILY/NAME and makes the model folder WORK/NAME. False after a message on standard
// error.
bool golden_load(Arena *a, const char *data, const char *family, const char *name, const char *work,
                 GoldenCase *out);
const GoldenTensor *golden_find(const GoldenTensors *tensors, Str name); // NULL if absent
double golden_value(const GoldenTensor *tensor, int64_t index);

#endif
