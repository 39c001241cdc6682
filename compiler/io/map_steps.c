// The steps of a weight map: the shapes they make, and how elements move.
#include "io/map_steps.h"

#include <stdlib.h>
#include <string.h>

int64_t shape_count(const MapShape *shape)
{
    int64_t n = 1;
    for (size_t i = 0; i < shape->rank; i++) {
        n *= shape->sizes[i];
    }
    return n;
}

void shape_print(Buf *buf, const MapShape *shape)
{
    buf_char(buf, '[');
    for (size_t i = 0; i < shape->rank; i++) {
        buf_format(buf, i > 0 ? ", %lld" : "%lld", (long long)shape->sizes[i]);
    }
    buf_char(buf, ']');
}

// The product of the sizes of the axes begin … end - 1.
static size_t product(const MapShape *shape, size_t begin, size_t end)
{
    size_t n = 1;
    for (size_t i = begin; i < end; i++) {
        n *= (size_t)shape->sizes[i];
    }
    return n;
}

static bool refuse(Buf *why, const MapShape *shape, const char *what)
{
    buf_format(why, "%s of ", what);
    shape_print(why, shape);
    return false;
}

// Room for a tensor of this shape; NULL if there is none.
static uint8_t *room(const MapShape *shape, size_t bytes)
{
    return malloc((size_t)shape_count(shape) * bytes + 1);
}

static void replace(Moving *array, const MapShape *shape, uint8_t *data)
{
    free(array->data);
    array->shape = *shape;
    array->data = data;
}

// ---- transpose ----

// The axes in their new order; false if they are not those of the shape.
static bool new_order(const MapStep *step, const MapShape *from, size_t *axes, Buf *why)
{
    if (step->n == 0 && from->rank < 2) {
        return refuse(why, from, "transpose needs two axes, there is a shape");
    }
    if (step->n > 0 && step->n != from->rank) {
        buf_format(why, "transpose names %zu axes", step->n);
        return refuse(why, from, ", there is a shape");
    }
    for (size_t i = 0; i < from->rank; i++) {
        axes[i] = step->n > 0 ? (size_t)step->numbers[i] : i;
    }
    if (step->n == 0) {
        axes[from->rank - 1] = from->rank - 2;
        axes[from->rank - 2] = from->rank - 1;
    }
    return true;
}

static void permute(const uint8_t *from, const MapShape *to, const size_t *strides, size_t bytes,
                    uint8_t *out)
{
    size_t index[MOST_RANK] = {0};
    size_t at = 0;
    for (int64_t i = 0, count = shape_count(to); i < count; i++) {
        memcpy(out, from + at * bytes, bytes);
        out += bytes;
        for (size_t axis = to->rank; axis-- > 0;) {
            at += strides[axis];
            if (++index[axis] < (size_t)to->sizes[axis]) {
                break;
            }
            at -= index[axis] * strides[axis];
            index[axis] = 0;
        }
    }
}

static bool transpose(const MapStep *step, Moving *array, size_t bytes, Buf *why)
{
    size_t axes[MOST_RANK] = {0};
    size_t strides[MOST_RANK] = {0};
    const MapShape *from = &array->shape;
    if (!new_order(step, from, axes, why)) {
        return false;
    }
    MapShape to = {.rank = from->rank};
    for (size_t i = 0; i < to.rank; i++) {
        to.sizes[i] = from->sizes[axes[i]];
        strides[i] = product(from, axes[i] + 1, from->rank);
    }
    uint8_t *data = NULL;
    if (array->data) {
        data = room(&to, bytes);
        if (!data) {
            return false;
        }
        permute(array->data, &to, strides, bytes, data);
    }
    replace(array, &to, data);
    return true;
}

// ---- reshape, merge: elements stay where they are ----

static bool reshape(const MapStep *step, MapShape *shape, Buf *why)
{
    int64_t count = shape_count(shape);
    int64_t known = 1;
    MapShape to = {.rank = step->n};
    bool fits = true;
    bool has_rest = false;
    for (size_t i = 0; i < step->n; i++) {
        to.sizes[i] = step->numbers[i];
        has_rest = has_rest || to.sizes[i] == REST;
        fits = fits && (to.sizes[i] == REST || !__builtin_mul_overflow(known, to.sizes[i], &known));
    }
    for (size_t i = 0; fits && i < step->n; i++) {
        to.sizes[i] = to.sizes[i] == REST ? count / known : to.sizes[i]; // known is at least 1
    }
    if (!fits || (has_rest ? count % known : count - known) != 0) {
        return refuse(why, shape, "reshape: these sizes do not hold the elements");
    }
    *shape = to;
    return true;
}

static bool merge(const MapStep *step, MapShape *shape, Buf *why)
{
    if (step->last >= shape->rank) {
        buf_format(why, "merge: there is no axis %zu", step->last);
        return refuse(why, shape, " in a shape");
    }
    size_t size = product(shape, step->axis, step->last + 1);
    size_t gone = step->last - step->axis;
    shape->sizes[step->axis] = (int64_t)size;
    for (size_t i = step->last + 1; i < shape->rank; i++) {
        shape->sizes[i - gone] = shape->sizes[i];
    }
    shape->rank -= gone;
    return true;
}

// ---- split, join: blocks along an axis ----

// Copies `n` blocks between places that lie `from_step` and `to_step` bytes apart.
static void copy_blocks(const uint8_t *from, size_t from_step, uint8_t *to, size_t to_step,
                        size_t bytes, size_t n)
{
    for (size_t i = 0; i < n && bytes > 0; i++) {
        memcpy(to + i * to_step, from + i * from_step, bytes);
    }
}

static bool split(const MapStep *step, Moving *array, size_t bytes, Buf *why)
{
    MapShape to = array->shape;
    if (step->axis >= to.rank || to.sizes[step->axis] % step->parts != 0) {
        buf_format(why, "split: axis %zu does not divide into %lld parts", step->axis,
                   (long long)step->parts);
        return refuse(why, &to, " in a shape");
    }
    to.sizes[step->axis] /= step->parts;
    uint8_t *data = NULL;
    if (array->data) {
        data = room(&to, bytes);
        if (!data) {
            return false;
        }
        size_t part = product(&to, step->axis, to.rank) * bytes;
        copy_blocks(array->data + (size_t)step->take * part, part * (size_t)step->parts, data, part,
                    part, product(&to, 0, step->axis));
    }
    replace(array, &to, data);
    return true;
}

// The joined shape; false if the tensors differ in another axis.
static bool joined_shape(const MapStep *step, const Moving *arrays, size_t n, MapShape *out,
                         Buf *why)
{
    *out = arrays[0].shape;
    if (step->axis >= out->rank) {
        buf_format(why, "join: there is no axis %zu", step->axis);
        return refuse(why, out, " in a shape");
    }
    for (size_t i = 1; i < n; i++) {
        const MapShape *shape = &arrays[i].shape;
        bool fits = shape->rank == out->rank;
        for (size_t k = 0; fits && k < out->rank; k++) {
            fits = k == step->axis || shape->sizes[k] == out->sizes[k];
        }
        if (!fits || __builtin_add_overflow(out->sizes[step->axis], shape->sizes[step->axis],
                                            &out->sizes[step->axis])) {
            refuse(why, &arrays[0].shape, "join: tensors");
            buf_add(why, STR(" and "));
            shape_print(why, shape);
            buf_format(why, " differ in more than axis %zu", step->axis);
            return false;
        }
    }
    return true;
}

static bool join(const MapStep *step, Moving *arrays, size_t *n, size_t bytes, Buf *why)
{
    MapShape to;
    if (!joined_shape(step, arrays, *n, &to, why)) {
        return false;
    }
    uint8_t *data = NULL;
    if (arrays[0].data) {
        data = room(&to, bytes);
        if (!data) {
            return false;
        }
        size_t row = product(&to, step->axis, to.rank) * bytes;
        size_t at = 0;
        for (size_t i = 0; i < *n; i++) {
            size_t part = product(&arrays[i].shape, step->axis, to.rank) * bytes;
            copy_blocks(arrays[i].data, part, data + at, row, part, product(&to, 0, step->axis));
            at += part;
        }
    }
    for (size_t i = 1; i < *n; i++) {
        free(arrays[i].data);
        arrays[i].data = NULL;
    }
    replace(&arrays[0], &to, data);
    *n = 1;
    return true;
}

bool step_apply(const MapStep *step, Moving *arrays, size_t *n, size_t bytes, Buf *why)
{
    bool ok = true;
    for (size_t i = 0; ok && step->kind != STEP_join && i < *n; i++) {
        switch (step->kind) {
        case STEP_transpose: ok = transpose(step, &arrays[i], bytes, why); break;
        case STEP_reshape: ok = reshape(step, &arrays[i].shape, why); break;
        case STEP_merge: ok = merge(step, &arrays[i].shape, why); break;
        case STEP_split: ok = split(step, &arrays[i], bytes, why); break;
        case STEP_join: break;
        }
    }
    return step->kind == STEP_join ? join(step, arrays, n, bytes, why) : ok;
}
