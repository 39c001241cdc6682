// The tensors of a run: from files or made up, to files, and compared. Only driver/ includes this.
#ifndef SLUICE_DRIVER_TENSORS_H
#define SLUICE_DRIVER_TENSORS_H

#include "driver/command.h"

// What a model says of an input.
typedef struct Port {
    Str name;
    DType dtype; // f32, i32 or bool
    size_t rank;
    Str type; // "i32[batch, 128]"
    bool has_range;
    int64_t low; // low <= x < high
    int64_t high;
    bool has_default; // may be left out
} Port;

typedef struct Tensor {
    Str name;
    DType dtype; // f32, i32, bool, or f64
    size_t rank;
    const int64_t *shape; // [rank]
    int64_t count;
    void *data; // [count] from malloc; NULL: an input that is left out
} Tensor;

typedef struct Tensors {
    size_t n;
    Tensor *items; // [n]
} Tensors;

// Sets count by the shape and allocates. False after a report.
bool tensor_alloc(Diag *dx, Tensor *tensor);
void tensors_free(Tensors *tensors);
double tensor_value(const Tensor *tensor, int64_t index);
void tensor_set(Tensor *tensor, int64_t index, double value);
// `f32[2, 128, 768]`; f64 is shown as f32, which it stands for
void tensor_print_type(Buf *buf, const Tensor *tensor);

// The inputs of a model from a file; with `exact` f32 ones as f64. All that are missing are listed
// at once, what is not used is a note. False after a report; free them either way.
bool tensors_read(Call *call, const char *path, const Port *ports, size_t n, bool exact,
                  Tensors *out);
// An input of a given shape, made up: f32 in [-1, 1), i32 in its range, of bool three in four true
// and the first of every row. Depends on name and seed alone.
bool tensor_make_up(Diag *dx, const Port *port, uint64_t seed, bool exact, Tensor *out);
bool tensors_write(Call *call, const char *path, const Tensors *tensors);

// Prints what each output is: type, least, greatest, mean.
void tensors_print(Call *call, const Tensors *outputs);

typedef struct Tolerance {
    double absolute;
    double relative;
} Tolerance;

// Compares outputs with the tensors of a file and prints the worst element of each. False after a
// report; sets call->is_different if they differ.
bool tensors_compare(Call *call, const char *path, const Tolerance *tolerance,
                     const Tensors *outputs);

#endif
