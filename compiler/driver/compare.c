// Outputs beside what was expected of them: |y - ref| <= A + R |ref| for f32, with NaN equal to NaN
// and an infinity to the same one; i32 and bool exactly.
#include "driver/tensors.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdlib.h>

typedef struct Worst {
    int64_t index;
    double got;
    double expected;
    double ratio; // of the difference to what is allowed; 0: equal
    int64_t nover;
} Worst;

// The difference as a multiple of what is allowed: at most 1 is good.
static double ratio_of(double got, double expected, const Tolerance *tolerance)
{
    double allowed = tolerance->absolute + tolerance->relative * fabs(expected);
    double difference = fabs(got - expected);
    if (got == expected || (isnan(got) && isnan(expected))) {
        return 0;
    }
    // Not finite is equal above or not at all: an infinite tolerance allows nothing.
    if (!isfinite(got) || !isfinite(expected)) {
        return INFINITY;
    }
    return difference <= allowed ? fmin(difference / allowed, 1)
                                 : fmax(difference / allowed, nextafter(1, 2));
}

// ---- what is expected ----

static bool read_expected(Call *call, const StFile *file, const StTensor *from, const Tensor *like,
                          Tensor *out)
{
    *out = (Tensor){.name = like->name,
                    .dtype = like->dtype == DT_f32 ? DT_f64 : like->dtype,
                    .rank = from->rank,
                    .shape = from->shape};
    if (!tensor_alloc(call->dx, out)) {
        return false;
    }
    return out->dtype == DT_f64   ? st_read_f64(call->dx, file, from, out->data)
           : out->dtype == DT_i32 ? st_read_i32(call->dx, file, from, out->data)
                                  : st_read_bool(call->dx, file, from, out->data);
}

static bool same_shape(const StTensor *x, const Tensor *y)
{
    bool same = x->rank == y->rank;
    for (size_t i = 0; same && i < x->rank; i++) {
        same = x->shape[i] == y->shape[i];
    }
    return same;
}

static const Tensor *find_output(const Tensors *outputs, Str name)
{
    for (size_t i = 0; i < outputs->n; i++) {
        if (str_equal(outputs->items[i].name, name)) {
            return &outputs->items[i];
        }
    }
    return NULL;
}

// Every tensor of the file must be an output; false after listing those that are not, and what
// there is.
static bool check_names(Call *call, const StFile *file, const Tensors *outputs)
{
    Buf unknown = {.arena = call->arena};
    Str *names = arena_new(call->arena, Str, outputs->n);
    for (size_t i = 0; i < outputs->n; i++) {
        names[i] = outputs->items[i].name;
    }
    for (size_t i = 0; i < file->n; i++) {
        Str name = file->tensors[i].name;
        if (!find_output(outputs, name)) {
            Str hint = str_hint(call->arena, name, names, outputs->n);
            buf_format(&unknown, "%s%.*s%.*s", unknown.len > 0 ? ", " : "", STR_ARG(name),
                       STR_ARG(hint));
        }
    }
    if (file->n == 0) {
        diag_error(call->dx, (Place){0}, "%.*s holds no tensors to compare with",
                   STR_ARG(file->path));
    }
    if (unknown.len == 0) {
        return file->n > 0;
    }
    diag_error(call->dx, (Place){0}, "%.*s holds what is no output of the model: %s",
               STR_ARG(file->path), unknown.ptr);
    for (size_t i = 0; i < outputs->n; i++) {
        Buf type = {.arena = call->arena};
        tensor_print_type(&type, &outputs->items[i]);
        diag_note(call->dx, (Place){0}, "output: %.*s : %s", STR_ARG(names[i]), type.ptr);
    }
    return false;
}

// ---- comparing ----

static Worst find_worst(const Tensor *got, const Tensor *expected, const Tolerance *tolerance)
{
    static const Tolerance exact;
    const Tolerance *allowed = expected->dtype == DT_f64 ? tolerance : &exact;
    Worst worst = {.ratio = -1};
    for (int64_t i = 0; i < got->count; i++) {
        double y = tensor_value(got, i);
        double ref = tensor_value(expected, i);
        double ratio = ratio_of(y, ref, allowed);
        worst.nover += ratio > 1;
        if (ratio > worst.ratio) {
            worst = (Worst){i, y, ref, ratio, worst.nover};
        }
    }
    return worst;
}

static void print_index(Buf *buf, const Tensor *t, int64_t index)
{
    int64_t rest = t->count;
    buf_char(buf, '[');
    for (size_t i = 0; i < t->rank; i++) {
        rest /= t->shape[i];
        buf_format(buf, i > 0 ? ", %lld" : "%lld", (long long)(index / rest));
        index %= rest;
    }
    buf_char(buf, ']');
}

static void print_worst(Buf *buf, const Tensor *got, const Worst *worst)
{
    if (worst->ratio > 1) {
        buf_format(buf, "DIFFERS: %lld of %lld elements; ", (long long)worst->nover,
                   (long long)got->count);
    } else {
        buf_add(buf, worst->ratio > 0 ? STR("ok; ") : STR("ok, equal"));
    }
    if (worst->ratio > 0) {
        buf_add(buf, STR("the worst is "));
        print_index(buf, got, worst->index);
        buf_format(buf, ": %.9g, expected %.9g, off by %.3g (%.3g of what is allowed)", worst->got,
                   worst->expected, fabs(worst->got - worst->expected), worst->ratio);
    }
}

typedef struct Comparison {
    Call *call;
    const StFile *file;
    const Tolerance *tolerance;
    size_t ncompared;
    size_t ndifferent;
    Buf different; // names
} Comparison;

// One line about an output. False after a report.
static bool compare_one(Comparison *c, const Tensor *got)
{
    Buf text = {.arena = c->call->arena};
    Tensor expected = {0};
    const StTensor *from = st_find(c->file, got->name);
    bool differs = false;
    bool ok = true;
    buf_format(&text, "%.*s : ", STR_ARG(got->name));
    tensor_print_type(&text, got);
    buf_add(&text, STR("  "));
    if (!from) {
        buf_add(&text, STR("not compared"));
    } else if (!same_shape(from, got)) {
        Tensor shown = {.dtype = got->dtype, .rank = from->rank, .shape = from->shape};
        buf_add(&text, STR("DIFFERS: expected "));
        tensor_print_type(&text, &shown);
        differs = true;
    } else if (read_expected(c->call, c->file, from, got, &expected)) {
        Worst worst = find_worst(got, &expected, c->tolerance);
        print_worst(&text, got, &worst);
        differs = worst.ratio > 1;
    } else {
        ok = false;
    }
    free(expected.data);
    c->ncompared += from != NULL;
    if (differs) {
        buf_format(&c->different, "%s%.*s", c->ndifferent++ > 0 ? ", " : "", STR_ARG(got->name));
    }
    if (ok) {
        puts(text.ptr);
    }
    return ok;
}

bool tensors_compare(Call *call, const char *path, const Tolerance *tolerance,
                     const Tensors *outputs)
{
    Comparison c = {.call = call, .tolerance = tolerance, .different = {.arena = call->arena}};
    StFile *file = st_open(call->arena, call->dx, path);
    if (!file) {
        return false;
    }
    c.file = file;
    bool ok = check_names(call, file, outputs);
    for (size_t i = 0; ok && i < outputs->n; i++) {
        ok = compare_one(&c, &outputs->items[i]);
    }
    st_close(file);
    if (ok && c.ndifferent > 0) {
        diag_error(call->dx, (Place){0}, "%zu of %zu outputs differ from %s: %s", c.ndifferent,
                   c.ncompared, path, c.different.ptr);
        call->is_different = true;
    }
    return ok && c.ndifferent == 0;
}
