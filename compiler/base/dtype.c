// Element types: what dtypes.def says, as functions.
#include "base/dtype.h"

#include <assert.h>
#include <math.h>

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
    for (DType t = 0; t < DT_count; t++) {
        if (dtype_is_element(t) && str_equal(name, str_from(infos[t].name))) {
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

bool dtype_is_element(DType dtype)
{
    return dtype == DT_f32 || dtype == DT_i32 || dtype == DT_bool;
}

bool dtype_holds(DType dtype, double value)
{
    assert(dtype_is_element(dtype));
    if (dtype == DT_bool) {
        return value == 0 || value == 1;
    }
    return dtype == DT_f32 || (value >= INT32_MIN && value <= INT32_MAX && value == floor(value));
}
