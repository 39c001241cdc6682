// Reads the parameters that were found in a weights file.
#include "io/checkpoint_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_type(const StTensor *t, const char *name)
{
    return str_equal(t->dtype, str_from(name));
}

bool tensor_is_number(const StTensor *t)
{
    return is_type(t, "F32") || is_type(t, "F16") || is_type(t, "BF16") || is_type(t, "F64");
}

double *tensor_read_new(Diag *dx, const StFile *file, const StTensor *t)
{
    double *values = malloc((size_t)t->count * sizeof *values + 1);
    if (!values) {
        diag_fail(dx, "no memory for tensor %.*s", STR_ARG(t->name));
    } else if (!st_read_f64(dx, file, t, values)) {
        free(values);
        values = NULL;
    }
    return values;
}

static bool is_f64(const StTensor *t) { return is_type(t, "F64"); }

// Rounds what only double precision holds; a value beyond it is a report.
static bool narrow(Diag *dx, const StFile *file, const StTensor *t, float *out)
{
    double *values = tensor_read_new(dx, file, t);
    bool ok = values != NULL;
    for (int64_t i = 0; ok && i < t->count; i++) {
        out[i] = (float)values[i];
        if (isinf(out[i]) && !isinf(values[i])) {
            diag_error(dx, (Place){0},
                       "%.*s: element %lld of tensor %.*s is %.9g, which float32 "
                       "cannot hold",
                       STR_ARG(file->path), (long long)i, STR_ARG(t->name), values[i]);
            ok = false;
        }
    }
    free(values);
    return ok;
}

// Elements of 4 bytes are read as floats, of 8 as doubles.
static bool read_tensor(Diag *dx, const StFile *file, const StTensor *t, size_t bytes, void *out)
{
    if (bytes == sizeof(double)) {
        return st_read_f64(dx, file, t, out);
    }
    return is_f64(t) ? narrow(dx, file, t, out) : st_read_f32(dx, file, t, out);
}

static bool read_arrays(Diag *dx, const Checkpoint *c, const Found *found, size_t bytes,
                        Moving *arrays)
{
    for (size_t i = 0; i < found->n; i++) {
        const StTensor *t = found->tensors[i];
        arrays[i].shape.rank = t->rank;
        if (t->rank > 0) {
            memcpy(arrays[i].shape.sizes, t->shape, t->rank * sizeof *t->shape);
        }
        arrays[i].data = malloc((size_t)t->count * bytes + 1);
        if (!arrays[i].data) {
            diag_fail(dx, "no memory for tensor %.*s", STR_ARG(t->name));
            return false;
        }
        if (!read_tensor(dx, c->file, t, bytes, arrays[i].data)) {
            return false;
        }
    }
    return true;
}

// Reads the tensors and does the steps, which fit: that was tried.
static bool read_by_rule(Diag *dx, const Checkpoint *c, const Found *found, size_t bytes, void *out)
{
    Moving arrays[MOST_PARTS] = {0};
    Buf why = {.arena = c->found.arena};
    size_t n = found->n;
    bool ok = read_arrays(dx, c, found, bytes, arrays);
    for (size_t i = 0; ok && i < found->rule->nsteps; i++) {
        ok = step_apply(&found->rule->steps[i], arrays, &n, bytes, &why);
        if (!ok) {
            diag_fail(dx, "no memory for tensor %.*s", STR_ARG(found->tensors[0]->name));
        }
    }
    if (ok && arrays[0].data) { // there is one, after all steps
        memcpy(out, arrays[0].data, (size_t)shape_count(&arrays[0].shape) * bytes);
    }
    for (size_t i = 0; i < found->n; i++) {
        free(arrays[i].data);
    }
    return ok;
}

static bool read_param(Diag *dx, const Checkpoint *c, const Node *param, size_t bytes, void *out)
{
    const Found *found = map_get(&c->found, param->attr.name);
    if (!found) {
        die("parameter %.*s was never looked for", STR_ARG(param->attr.name));
    }
    return found->rule ? read_by_rule(dx, c, found, bytes, out)
                       : read_tensor(dx, c->file, found->tensors[0], bytes, out);
}

bool checkpoint_read_f32(Diag *dx, const Checkpoint *c, const Node *param, float *out)
{
    return read_param(dx, c, param, sizeof *out, out);
}

bool checkpoint_read_f64(Diag *dx, const Checkpoint *c, const Node *param, double *out)
{
    return read_param(dx, c, param, sizeof *out, out);
}
