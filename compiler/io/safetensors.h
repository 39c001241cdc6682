// Weights and tensors in files: a strict reader of safetensors, and a writer. Main types: StFile,
// StTensor, StItem. io/ and driver/ include this.
//
//   u64 length | JSON of `length` bytes: {"name": {"dtype", "shape", "data_offsets": [begin, end]},
//   …} | data
//
// The data is little-endian, each tensor row by row, without gaps; nothing is aligned. Whatever the
// format forbids is an error here, and sizes are checked before anything is allocated by them. A
// tensor of a type that the format knows and the compiler does not is an error only for those who
// read it.
#ifndef SLUICE_IO_SAFETENSORS_H
#define SLUICE_IO_SAFETENSORS_H

#include "base/dtype.h"
#include "base/map.h"
#include "io/file.h"

typedef struct StTensor {
    Str name;
    Str dtype;     // as in the file: "F32", "F8_E4M3"
    bool is_known; // a type of the format; else `count` and `bytes` say nothing of each other
    size_t rank;
    const int64_t *shape; // [rank], none negative
    int64_t count;        // elements: the product of the shape
    const uint8_t *data;  // [bytes] in the mapped file, at any address
    uint64_t bytes;
} StTensor;

typedef struct StFile {
    Str path;
    size_t n;
    StTensor *tensors; // [n] in the order of the header
    Map by_name;       // to StTensor
    FileMap map;       // nothing, if there are shards
    size_t nshards;
    struct StFile **shards; // [nshards] the files that hold the tensors of an index
} StFile;

// Maps and checks the file. NULL after a report. The tensors' data is borrowed until st_close.
StFile *st_open(Arena *arena, Diag *dx, const char *path);
// The same of a file's bytes, which stay the caller's; `path` is for messages.
StFile *st_open_bytes(Arena *arena, Diag *dx, const char *path, const uint8_t *data, size_t size);
// A model in several files, by their index, model.safetensors.index.json: as one file with all
// tensors that it names. NULL after a report of each file that is missing or wrong, each tensor
// that is not where it should be, each name that leads out of the folder.
StFile *st_open_index(Arena *arena, Diag *dx, const char *path);
void st_close(StFile *file);

const StTensor *st_find(const StFile *file, Str name); // NULL if absent

// All elements of a tensor, converted: out [count]. False after a report: a type that does not
// convert, or a value (its index is named) that does not fit.
bool st_read_f32(Diag *dx, const StFile *file, const StTensor *tensor,
                 float *out); // F32, F16, BF16
bool st_read_f64(Diag *dx, const StFile *file, const StTensor *tensor,
                 double *out); // those and F64
bool st_read_i32(Diag *dx, const StFile *file, const StTensor *tensor,
                 int32_t *out); // any integers that fit
bool st_read_bool(Diag *dx, const StFile *file, const StTensor *tensor,
                  uint8_t *out); // BOOL, or integers 0 and 1

// A tensor to be written: data row by row, as the machine holds that type.
typedef struct StItem {
    Str name;
    DType dtype;
    size_t rank;
    const int64_t *shape; // [rank]
    const void *data;
} StItem;

// Writes a file that appears whole or not at all. The tensors stand in it by falling size of their
// elements, else in the order given, so that all are aligned. False after a report; a name given
// twice, or one that is no UTF-8, is one.
bool st_write(Arena *arena, Diag *dx, const char *path, const StItem *items, size_t n);

#endif
