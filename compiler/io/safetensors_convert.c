// What stands in a tensor of a file, as the types that the compiler works with. The data may lie at
// any address, so elements are copied out byte by byte.
#include "io/safetensors.h"

#include <string.h>

static bool refuse_type(Diag *dx, const StFile *file, const StTensor *t, const char *fitting)
{
    Buf name = {.arena = file->by_name.arena};
    buf_quoted(&name, t->name);
    diag_error(dx, (Place){0},
               "%.*s: dtype %.*s of tensor %.*s is not supported here: it must be %s",
               STR_ARG(file->path), STR_ARG(t->dtype), STR_ARG(buf_str(&name)), fitting);
    return false;
}

// The element type; false if the compiler has none such.
static bool is_type(const StTensor *t, DType wanted)
{
    return str_equal(t->dtype, str_from(dtype_file_name(wanted)));
}

// ---- numbers with a point ----

static float float_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// Exact for every half: a subnormal one is a normal float.
static float float_from_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t fraction = half & 0x3ff;
    if (exponent == 0) {
        float magnitude = (float)fraction * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
    return float_from_bits(sign | wide << 23 | fraction << 13);
}

static float read_half(const uint8_t *at)
{
    uint16_t half;
    memcpy(&half, at, sizeof half);
    return float_from_half(half);
}

static float read_bfloat(const uint8_t *at)
{
    uint16_t high;
    memcpy(&high, at, sizeof high);
    return float_from_bits((uint32_t)high << 16);
}

bool st_read_f32(Diag *dx, const StFile *file, const StTensor *t, float *out)
{
    size_t n = (size_t)t->count;
    if (is_type(t, DT_f32)) {
        if (n > 0) {
            memcpy(out, t->data, n * sizeof *out);
        }
    } else if (is_type(t, DT_f16)) {
        for (size_t i = 0; i < n; i++) {
            out[i] = read_half(t->data + 2 * i);
        }
    } else if (is_type(t, DT_bf16)) {
        for (size_t i = 0; i < n; i++) {
            out[i] = read_bfloat(t->data + 2 * i);
        }
    } else {
        return refuse_type(dx, file, t, "F32, F16 or BF16");
    }
    return true;
}

bool st_read_f64(Diag *dx, const StFile *file, const StTensor *t, double *out)
{
    size_t n = (size_t)t->count;
    if (is_type(t, DT_f64)) {
        if (n > 0) {
            memcpy(out, t->data, n * sizeof *out);
        }
    } else if (is_type(t, DT_f32)) {
        for (size_t i = 0; i < n; i++) {
            float x;
            memcpy(&x, t->data + sizeof x * i, sizeof x);
            out[i] = (double)x;
        }
    } else if (is_type(t, DT_f16)) {
        for (size_t i = 0; i < n; i++) {
            out[i] = (double)read_half(t->data + 2 * i);
        }
    } else if (is_type(t, DT_bf16)) {
        for (size_t i = 0; i < n; i++) {
            out[i] = (double)read_bfloat(t->data + 2 * i);
        }
    } else {
        return refuse_type(dx, file, t, "F64, F32, F16 or BF16");
    }
    return true;
}

// ---- whole numbers ----

// I8 … I64, U8 … U64.
typedef struct IntType {
    size_t bytes;
    bool is_signed;
} IntType;

static bool int_type(const StTensor *t, IntType *out)
{
    int64_t bits = 0;
    if (!t->is_known || t->dtype.len < 2 || (t->dtype.ptr[0] != 'I' && t->dtype.ptr[0] != 'U') ||
        !str_to_int((Str){t->dtype.ptr + 1, t->dtype.len - 1}, &bits)) {
        return false;
    }
    *out = (IntType){.bytes = (size_t)bits / 8, .is_signed = t->dtype.ptr[0] == 'I'};
    return true;
}

// The element in 64 bits, its sign carried on.
static uint64_t read_int(const uint8_t *at, IntType type)
{
    uint64_t bits = 0;
    memcpy(&bits, at, type.bytes);
    size_t nbits = 8 * type.bytes;
    if (type.is_signed && nbits < 64 && bits >> (nbits - 1) != 0) {
        bits |= UINT64_MAX << nbits;
    }
    return bits;
}

// Reads whole numbers that must lie in low … high; low is at most 0.
typedef struct IntReader {
    Diag *dx;
    const StFile *file;
    const StTensor *t;
    IntType type;
    int64_t low;
    int64_t high;
} IntReader;

// False after a report, which names the element.
static bool read_in_range(const IntReader *r, size_t i, int64_t *out)
{
    uint64_t bits = read_int(r->t->data + r->type.bytes * i, r->type);
    bool is_over = !r->type.is_signed && bits > INT64_MAX;
    *out = (int64_t)bits;
    if (!is_over && *out >= r->low && *out <= r->high) {
        return true;
    }
    Buf text = {.arena = r->file->by_name.arena};
    buf_quoted(&text, r->t->name);
    buf_format(&text, is_over ? ": element %zu is %llu" : ": element %zu is %lld", i,
               (unsigned long long)bits);
    diag_error(r->dx, (Place){0}, "%.*s: tensor %.*s, but must lie in %lld .. %lld",
               STR_ARG(r->file->path), STR_ARG(buf_str(&text)), (long long)r->low,
               (long long)r->high);
    return false;
}

bool st_read_i32(Diag *dx, const StFile *file, const StTensor *t, int32_t *out)
{
    IntReader reader = {.dx = dx, .file = file, .t = t, .low = INT32_MIN, .high = INT32_MAX};
    if (!int_type(t, &reader.type)) {
        return refuse_type(dx, file, t, "of whole numbers (I32, I64, U8, …)");
    }
    for (size_t i = 0; i < (size_t)t->count; i++) {
        int64_t value = 0;
        if (!read_in_range(&reader, i, &value)) {
            return false;
        }
        out[i] = (int32_t)value;
    }
    return true;
}

bool st_read_bool(Diag *dx, const StFile *file, const StTensor *t, uint8_t *out)
{
    size_t n = (size_t)t->count;
    if (is_type(t, DT_bool)) {
        for (size_t i = 0; i < n; i++) {
            out[i] = t->data[i] != 0;
        }
        return true;
    }
    IntReader reader = {.dx = dx, .file = file, .t = t, .low = 0, .high = 1};
    if (!int_type(t, &reader.type)) {
        return refuse_type(dx, file, t, "BOOL or of whole numbers 0 and 1");
    }
    for (size_t i = 0; i < n; i++) {
        int64_t value = 0;
        if (!read_in_range(&reader, i, &value)) {
            return false;
        }
        out[i] = (uint8_t)value;
    }
    return true;
}
