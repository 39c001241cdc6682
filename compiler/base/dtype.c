// Element types: what dtypes.def says, as functions.
#include "base/dtype.h"

#include <assert.h>

static const DType last_of_language = DT_bool; // those before it are the language's too

static const struct {
    size_t bytes;
    const char *name;
    const char *file_name;
} infos[DT_count] = {
#define DTYPE(id, nbytes, file, ctype) [DT_##id] = {(nbytes), #id, (file)},
#include "base/dtypes.def"
};

#define DTYPE(id, nbytes, file, ctype)                                                             \
    _Static_assert(sizeof(ctype) == (nbytes), "the size of " #id " in dtypes.def");
#include "base/dtypes.def"

size_t dtype_bytes(DType dtype)
{
    assert(dtype < DT_count);
    return infos[dtype].bytes;
}

const char *dtype_name(DType dtype)
{
    assert(dtype < DT_count);
    return infos[dtype].name;
}

const char *dtype_file_name(DType dtype)
{
    assert(dtype < DT_count);
    return infos[dtype].file_name;
}

bool dtype_from_name(Str name, DType *out)
{
    for (DType t = 0; t <= last_of_language; t++) {
        if (str_equal(name, str_from(infos[t].name))) {
            *out = t;
            return true;
        }
    }
    return false;
}

bool dtype_from_file_name(Str name, DType *out)
{
    for (DType t = 0; t < DT_count; t++) {
        if (str_equal(name, str_from(infos[t].file_name))) {
            *out = t;
            return true;
        }
    }
    return false;
}
