// Tensors from files, made up, and to files.
#include "driver/tensors.h"
#include "driver/random.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdlib.h>

// ---- one tensor ----

bool tensor_alloc(Diag *dx, Tensor *t)
{
    int64_t bytes = (int64_t)dtype_bytes(t->dtype);
    t->count = 1;
    for (size_t i = 0; i < t->rank; i++) {
        if (__builtin_mul_overflow(bytes, t->shape[i], &bytes)) {
            diag_error(dx, (Place){0}, "`%.*s` does not fit in 64 bits", STR_ARG(t->name));
            return false;
        }
        t->count *= t->shape[i];
    }
    t->data = malloc((size_t)bytes + 1); // a size may be 0; whoever runs the model refuses that
    if (!t->data) {
        diag_fail(dx, "no memory for `%.*s` of %lld bytes", STR_ARG(t->name), (long long)bytes);
    }
    return t->data != NULL;
}

void tensors_free(Tensors *tensors)
{
    for (size_t i = 0; i < tensors->n; i++) {
        free(tensors->items[i].data);
        tensors->items[i].data = NULL;
    }
}

double tensor_value(const Tensor *t, int64_t index)
{
    switch (t->dtype) {
    case DT_f32: return (double)((const float *)t->data)[index];
    case DT_f64: return ((const double *)t->data)[index];
    case DT_i32: return ((const int32_t *)t->data)[index];
    case DT_bool: return ((const uint8_t *)t->data)[index] != 0;
    case DT_f16:
    case DT_bf16:
    case DT_i64:
    case DT_u8:
    case DT_count: break;
    }
    die("a tensor of type %s in a run", dtype_name(t->dtype));
}

void tensor_set(Tensor *t, int64_t index, double value)
{
    if (t->dtype == DT_f32) {
        ((float *)t->data)[index] = (float)value;
    } else if (t->dtype == DT_f64) {
        ((double *)t->data)[index] = value;
    } else if (t->dtype == DT_i32) {
        ((int32_t *)t->data)[index] = (int32_t)value;
    } else {
        ((uint8_t *)t->data)[index] = value != 0;
    }
}

static void print_type(Buf *buf, const char *dtype, size_t rank, const int64_t *shape)
{
    buf_add(buf, str_from(dtype));
    if (rank == 0) {
        return;
    }
    buf_char(buf, '[');
    for (size_t i = 0; i < rank; i++) {
        buf_format(buf, i > 0 ? ", %lld" : "%lld", (long long)shape[i]);
    }
    buf_char(buf, ']');
}

void tensor_print_type(Buf *buf, const Tensor *t)
{
    DType dtype = t->dtype == DT_f64 ? DT_f32 : t->dtype;
    print_type(buf, dtype_name(dtype), t->rank, t->shape);
}

// ---- from a file ----

// False after listing the inputs that the file lacks.
static bool check_present(Call *call, const StFile *file, const Port *ports, size_t n)
{
    size_t nmissing = 0;
    Str *names = arena_new(call->arena, Str, file->n);
    for (size_t i = 0; i < file->n; i++) {
        names[i] = file->tensors[i].name;
    }
    for (size_t i = 0; i < n; i++) {
        if (st_find(file, ports[i].name) || ports[i].has_default) {
            continue;
        }
        if (nmissing++ == 0) {
            diag_error(call->dx, (Place){0}, "%.*s lacks inputs of the model", STR_ARG(file->path));
        }
        diag_note(call->dx, (Place){0}, "missing: %.*s : %.*s%.*s", STR_ARG(ports[i].name),
                  STR_ARG(ports[i].type),
                  STR_ARG(str_hint(call->arena, ports[i].name, names, file->n)));
    }
    return nmissing == 0;
}

static bool is_port(const Port *ports, size_t n, Str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_equal(ports[i].name, name)) {
            return true;
        }
    }
    return false;
}

static void note_unused(Call *call, const StFile *file, const Port *ports, size_t n)
{
    Buf names = {.arena = call->arena};
    for (size_t i = 0; i < file->n; i++) {
        if (!is_port(ports, n, file->tensors[i].name)) {
            buf_format(&names, "%s%.*s", names.len > 0 ? ", " : "", STR_ARG(file->tensors[i].name));
        }
    }
    if (names.len > 0) {
        diag_note(call->dx, (Place){0}, "%.*s: not inputs of the model, and not used: %s",
                  STR_ARG(file->path), names.ptr);
    }
}

static bool read_elements(Diag *dx, const StFile *file, const StTensor *from, Tensor *out)
{
    switch (out->dtype) {
    case DT_f32: return st_read_f32(dx, file, from, out->data);
    case DT_f64: return st_read_f64(dx, file, from, out->data);
    case DT_i32: return st_read_i32(dx, file, from, out->data);
    case DT_bool: return st_read_bool(dx, file, from, out->data);
    case DT_f16:
    case DT_bf16:
    case DT_i64:
    case DT_u8:
    case DT_count: break;
    }
    die("an input of type %s", dtype_name(out->dtype));
}

static bool read_input(Call *call, const StFile *file, const Port *port, bool exact, Tensor *out)
{
    const StTensor *from = st_find(file, port->name);
    out->name = port->name;
    if (!from) {
        return true;
    }
    if (from->rank != port->rank) {
        Buf type = {.arena = call->arena};
        print_type(&type, str_cstr(call->arena, from->dtype), from->rank, from->shape);
        diag_error(call->dx, (Place){0}, "%.*s: `%.*s` is %s, but the model takes %.*s",
                   STR_ARG(file->path), STR_ARG(port->name), type.ptr, STR_ARG(port->type));
        return false;
    }
    int64_t *shape = arena_new(call->arena, int64_t, from->rank);
    for (size_t i = 0; i < from->rank; i++) {
        shape[i] = from->shape[i];
    }
    out->dtype = exact && port->dtype == DT_f32 ? DT_f64 : port->dtype;
    out->rank = from->rank;
    out->shape = shape;
    return tensor_alloc(call->dx, out) && read_elements(call->dx, file, from, out);
}

bool tensors_read(Call *call, const char *path, const Port *ports, size_t n, bool exact,
                  Tensors *out)
{
    *out = (Tensors){.n = n, .items = arena_new(call->arena, Tensor, n)};
    StFile *file = st_open(call->arena, call->dx, path);
    if (!file) {
        return false;
    }
    bool ok = check_present(call, file, ports, n);
    for (size_t i = 0; ok && i < n; i++) {
        ok = read_input(call, file, &ports[i], exact, &out->items[i]);
    }
    if (ok) {
        note_unused(call, file, ports, n);
    }
    st_close(file);
    return ok;
}

// ---- made up ----

static double made_up_value(const Port *port, uint64_t stream, const Tensor *t, int64_t index)
{
    uint64_t bits = random_bits(stream, (uint64_t)index);
    int64_t low = port->has_range ? port->low : 0;
    int64_t high = port->has_range ? port->high : 2;
    bool is_first = t->rank == 0 || index % t->shape[t->rank - 1] == 0;
    switch (port->dtype) {
    case DT_f32: return (double)random_uniform(stream, (uint64_t)index);
    case DT_i32: return (double)(low + (int64_t)(bits % (uint64_t)(high - low)));
    case DT_bool: return is_first || bits % 4 > 0;
    case DT_f16:
    case DT_bf16:
    case DT_f64:
    case DT_i64:
    case DT_u8:
    case DT_count: break;
    }
    die("an input of type %s", dtype_name(port->dtype));
}

bool tensor_make_up(Diag *dx, const Port *port, uint64_t seed, bool exact, Tensor *out)
{
    uint64_t stream = random_stream(port->name, seed);
    out->name = port->name;
    out->dtype = exact && port->dtype == DT_f32 ? DT_f64 : port->dtype;
    if (!tensor_alloc(dx, out)) {
        return false;
    }
    for (int64_t i = 0; i < out->count; i++) {
        tensor_set(out, i, made_up_value(port, stream, out, i));
    }
    return true;
}

// ---- to a file, to people ----

bool tensors_write(Call *call, const char *path, const Tensors *tensors)
{
    StItem *items = arena_new(call->arena, StItem, tensors->n);
    for (size_t i = 0; i < tensors->n; i++) {
        const Tensor *t = &tensors->items[i];
        items[i] = (StItem){.name = t->name,
                            .dtype = t->dtype,
                            .rank = t->rank,
                            .shape = t->shape,
                            .data = t->data};
    }
    return st_write(call->arena, call->dx, path, items, tensors->n);
}

static void print_values(Buf *buf, const Tensor *t)
{
    enum { FEW = 8 };
    double least = INFINITY;
    double greatest = -INFINITY;
    double sum = 0;
    int64_t nnan = 0;
    for (int64_t i = 0; i < t->count; i++) {
        double x = tensor_value(t, i);
        nnan += isnan(x) != 0;
        least = x < least ? x : least;
        greatest = x > greatest ? x : greatest;
        sum += isnan(x) ? 0 : x;
        if (t->count <= FEW) {
            buf_format(buf, " %.7g", x);
        }
    }
    if (t->count > FEW && nnan < t->count) {
        buf_format(buf, " from %.7g to %.7g, mean %.7g", least, greatest,
                   sum / (double)(t->count - nnan));
    }
    if (nnan > 0) {
        buf_format(buf, "%s %lld of %lld are NaN", nnan < t->count ? "," : "", (long long)nnan,
                   (long long)t->count);
    }
}

void tensors_print(Call *call, const Tensors *outputs)
{
    for (size_t i = 0; i < outputs->n; i++) {
        Buf text = {.arena = call->arena};
        buf_format(&text, "%.*s : ", STR_ARG(outputs->items[i].name));
        tensor_print_type(&text, &outputs->items[i]);
        buf_char(&text, ' ');
        print_values(&text, &outputs->items[i]);
        puts(text.ptr);
    }
}
