// Element types, from dtypes.def. Any layer may include this.
#ifndef SLUICE_BASE_DTYPE_H
#define SLUICE_BASE_DTYPE_H

#include "base/str.h"

typedef enum DType {
#define DTYPE(id, bytes, name, ctype) DT_##id,
#include "base/dtypes.def"
    DT_count
} DType;

size_t dtype_bytes(DType dtype);
const char *dtype_name(DType dtype);        // "f32"
const char *dtype_file_name(DType dtype);   // "F32", as safetensors spells it
bool dtype_from_name(Str name, DType *out); // of the language's types alone
bool dtype_from_file_name(Str name, DType *out);
// Whether tensors of the language have such elements; the other types stand in files alone.
bool dtype_is_element(DType dtype);
// Whether an element of the language's type can have the value: a bool 0 or 1, an i32 a whole
// number in its range.
bool dtype_holds(DType dtype, double value);

#endif
