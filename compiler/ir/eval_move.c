// The evaluator's movement: most of it is one strided read of an operand, copied out.
#include "ir/eval_impl.h"

#include <string.h>

// ---- strided copies ----

const int64_t *eval_strides(Arena *arena, const int64_t *shape, size_t rank)
{
    int64_t *strides = arena_new(arena, int64_t, rank);
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
        strides[i] = stride;
        stride *= shape[i];
    }
    return strides;
}

size_t eval_merge_dims(EvalDim *dims, size_t ndims, size_t ntensors)
{
    size_t n = 0;
    for (size_t i = 0; i < ndims; i++) {
        if (dims[i].n == 1) {
            continue;
        }
        bool is_one = n > 0;
        for (size_t t = 0; t < ntensors && is_one; t++) {
            is_one = dims[n - 1].stride[t] == dims[i].stride[t] * dims[i].n;
        }
        if (is_one) {
            int64_t steps = dims[n - 1].n * dims[i].n;
            dims[n - 1] = dims[i];
            dims[n - 1].n = steps;
        } else {
            dims[n++] = dims[i];
        }
    }
    return n;
}

// Tensors of a copy's loop.
enum { TO, FROM, NCOPY };

static void copy_line(const EvalDim *d, double *to, const double *from)
{
    if (d->stride[TO] == 1 && d->stride[FROM] == 1) {
        memcpy(to, from, (size_t)d->n * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < d->n; i++) {
        to[i * d->stride[TO]] = from[i * d->stride[FROM]];
    }
}

// A matrix that is read down its columns: by blocks, so that each cache line is used whole.
static void copy_turned(const EvalDim *outer, const EvalDim *inner, double *to, const double *from)
{
    enum { BLOCK = 16 };
    for (int64_t i0 = 0; i0 < outer->n; i0 += BLOCK) {
        int64_t i1 = i0 + BLOCK < outer->n ? i0 + BLOCK : outer->n;
        for (int64_t j0 = 0; j0 < inner->n; j0 += BLOCK) {
            int64_t j1 = j0 + BLOCK < inner->n ? j0 + BLOCK : inner->n;
            for (int64_t i = i0; i < i1; i++) {
                for (int64_t j = j0; j < j1; j++) {
                    to[i * outer->stride[TO] + j * inner->stride[TO]] =
                        from[i * outer->stride[FROM] + j * inner->stride[FROM]];
                }
            }
        }
    }
}

static void copy_dims(const EvalDim *dims, size_t ndims, double *to, const double *from)
{
    if (ndims == 0) {
        *to = *from;
    } else if (ndims == 1) {
        copy_line(dims, to, from);
    } else if (ndims == 2 && dims[0].stride[FROM] == 1) {
        copy_turned(&dims[0], &dims[1], to, from);
    } else {
        for (int64_t i = 0; i < dims[0].n; i++) {
            copy_dims(dims + 1, ndims - 1, to + i * dims[0].stride[TO],
                      from + i * dims[0].stride[FROM]);
        }
    }
}

// The order of a copy's loops is free: the axis whose neighbours are read from neighbours goes next
// to the innermost one.
static void bring_inside(EvalDim *dims, size_t ndims)
{
    if (ndims < 3 || dims[ndims - 1].stride[FROM] == 1) {
        return;
    }
    for (size_t i = 0; i + 2 < ndims; i++) {
        if (dims[i].stride[FROM] == 1) {
            EvalDim unit = dims[i];
            memmove(&dims[i], &dims[i + 1], (ndims - 2 - i) * sizeof *dims);
            dims[ndims - 2] = unit;
            return;
        }
    }
}

static void copy_strided(Eval *ev, size_t rank, const int64_t *shape, double *to,
                         const int64_t *to_strides, const double *from, const int64_t *from_strides)
{
    EvalDim *dims = arena_new(ev->arena, EvalDim, rank);
    for (size_t i = 0; i < rank; i++) {
        dims[i] = (EvalDim){.n = shape[i], .stride = {to_strides[i], from_strides[i]}};
    }
    size_t ndims = eval_merge_dims(dims, rank, NCOPY);
    bring_inside(dims, ndims);
    copy_dims(dims, ndims, to, from);
}

// Whether all that is read lies within `count` elements.
static bool is_inside(size_t rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                      int64_t count)
{
    int64_t low = offset;
    int64_t high = offset;
    for (size_t i = 0; i < rank; i++) {
        int64_t span = 0;
        int64_t *end = strides[i] < 0 ? &low : &high;
        if (__builtin_mul_overflow(shape[i] - 1, strides[i], &span) ||
            __builtin_add_overflow(*end, span, end)) {
            return false;
        }
    }
    return low >= 0 && high < count;
}

// The result, in its order, is the first operand read from element `offset` on with a stride for
// each axis of `shape`, which has as many elements as the result.
static bool read_strided(Eval *ev, const Node *node, Value *out, size_t rank, const int64_t *shape,
                         const int64_t *strides, int64_t offset)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (eval_product(shape, rank) != out->t.count ||
        !is_inside(rank, shape, strides, offset, x->count)) {
        return eval_misfit(ev, node);
    }
    copy_strided(ev, rank, shape, out->t.data, eval_strides(ev->arena, shape, rank),
                 x->data + offset, strides);
    return true;
}

// The same where the axes are the result's.
static bool read_as_result(Eval *ev, const Node *node, Value *out, const int64_t *strides,
                           int64_t offset)
{
    return read_strided(ev, node, out, out->t.rank, out->t.shape, strides, offset);
}

// ---- operations that are one strided read ----

bool eval_permute(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    const int64_t *from = eval_strides(ev->arena, x->shape, x->rank);
    int64_t *strides = arena_new(ev->arena, int64_t, x->rank);
    for (size_t i = 0; i < x->rank; i++) {
        strides[i] = from[node->attr.axes[i]];
    }
    return read_as_result(ev, node, out, strides, 0);
}

bool eval_broadcast(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    const int64_t *from = eval_strides(ev->arena, x->shape, x->rank);
    int64_t *strides = arena_new(ev->arena, int64_t, out->t.rank);
    size_t missing = out->t.rank - x->rank;
    for (size_t i = 0; i < x->rank; i++) {
        if (x->shape[i] != 1 && x->shape[i] != out->t.shape[missing + i]) {
            return eval_misfit(ev, node);
        }
        strides[missing + i] = x->shape[i] == 1 ? 0 : from[i];
    }
    return read_as_result(ev, node, out, strides, 0);
}

bool eval_slice(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    const int64_t *from = eval_strides(ev->arena, x->shape, x->rank);
    int64_t *strides = arena_new(ev->arena, int64_t, x->rank);
    int64_t offset = 0;
    for (size_t i = 0; i < x->rank; i++) {
        int64_t start = 0;
        int64_t step = node->attr.step[i];
        if (!eval_number(ev, node, node->attr.start[i], &start)) {
            return false;
        }
        // Both ends within the axis: within the tensor alone would be another row's elements.
        if (!is_inside(1, &out->t.shape[i], &step, start, x->shape[i])) {
            return eval_misfit(ev, node);
        }
        strides[i] = out->t.shape[i] == 1 ? 0 : step * from[i];
        offset += start * from[i];
    }
    return read_as_result(ev, node, out, strides, offset);
}

bool eval_repeat(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    const int64_t *from = eval_strides(ev->arena, x->shape, x->rank);
    size_t axis = (size_t)node->attr.axis;
    int64_t *shape = arena_new(ev->arena, int64_t, x->rank + 1);
    int64_t *strides = arena_new(ev->arena, int64_t, x->rank + 1);
    for (size_t i = 0; i < x->rank; i++) {
        shape[i + (i > axis)] = x->shape[i];
        strides[i + (i > axis)] = from[i];
    }
    shape[axis + 1] = node->attr.times;
    strides[axis + 1] = 0;
    return read_strided(ev, node, out, x->rank + 1, shape, strides, 0);
}

bool eval_window(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    const int64_t *from = eval_strides(ev->arena, x->shape, x->rank);
    size_t axis = (size_t)node->attr.axis;
    int64_t *strides = arena_new(ev->arena, int64_t, x->rank + 1);
    for (size_t i = 0; i < x->rank; i++) {
        strides[i + (i > axis)] = from[i];
    }
    strides[axis + 1] = from[axis];
    if (__builtin_mul_overflow(from[axis], node->attr.stride, &strides[axis])) {
        strides[axis] = 0; // one window: the stride is not used
    }
    return read_as_result(ev, node, out, strides, 0);
}

bool eval_toeplitz(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *w = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    int64_t n = out->t.shape[w->rank];
    if (w->shape[w->rank - 1] != 2 * n - 1) {
        return eval_misfit(ev, node);
    }
    int64_t *strides = arena_new(ev->arena, int64_t, w->rank + 1);
    memcpy(strides, eval_strides(ev->arena, w->shape, w->rank), w->rank * sizeof *strides);
    strides[w->rank - 1] = 1;
    strides[w->rank] = -1;
    return read_as_result(ev, node, out, strides, n - 1);
}

bool eval_rel_shift(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    int64_t distances = x->shape[x->rank - 1];
    int64_t shift = node->attr.shift;
    int64_t queries = x->shape[x->rank - 2];
    int64_t keys = out->t.shape[x->rank - 1];
    if (distances < keys || (distances - keys) / queries != shift ||
        (distances - keys) % queries != 0) {
        return eval_misfit(ev, node);
    }
    // y[i, j] = x[i, shift (q - i) + j]
    int64_t *strides = arena_new(ev->arena, int64_t, x->rank);
    memcpy(strides, eval_strides(ev->arena, x->shape, x->rank), x->rank * sizeof *strides);
    strides[x->rank - 2] = distances - shift;
    return read_as_result(ev, node, out, strides, shift * queries);
}

bool eval_view(Eval *ev, const Node *node, Value *out)
{
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    int64_t *strides = arena_new(ev->arena, int64_t, out->t.rank);
    int64_t offset = 0;
    for (size_t i = 0; i < out->t.rank; i++) {
        if (!eval_number(ev, node, node->attr.strides[i], &strides[i])) {
            return false;
        }
    }
    return eval_number(ev, node, node->attr.offset, &offset) &&
           read_as_result(ev, node, out, strides, offset);
}

bool eval_reshape(Eval *ev, const Node *node, Value *out)
{
    return eval_share(ev, node, eval_operand(ev, node, 0), out);
}

bool eval_copy(Eval *ev, const Node *node, Value *out)
{
    return eval_share(ev, node, eval_operand(ev, node, 0), out);
}

// ---- other movement ----

bool eval_concat(Eval *ev, const Node *node, Value *out)
{
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    size_t axis = (size_t)node->attr.axis;
    int64_t nouter = eval_product(out->t.shape, axis);
    int64_t row = eval_product(out->t.shape + axis, out->t.rank - axis);
    int64_t at = 0;
    for (size_t i = 0; i < node->nargs; i++) {
        const EvalTensor *part = eval_arg(ev, node, i);
        int64_t own = eval_product(part->shape + axis, part->rank - axis);
        if (part->count / own != nouter || own > row - at) {
            return eval_misfit(ev, node);
        }
        for (int64_t o = 0; o < nouter; o++) {
            memcpy(out->t.data + o * row + at, part->data + o * own, (size_t)own * sizeof(double));
        }
        at += own;
    }
    return at == row || eval_misfit(ev, node);
}

bool eval_pad(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    int64_t before = 0;
    if (!eval_alloc(ev, node, out) || !eval_number(ev, node, node->attr.before, &before)) {
        return false;
    }
    size_t axis = (size_t)node->attr.axis;
    int64_t nouter = eval_product(x->shape, axis);
    int64_t own = eval_product(x->shape + axis, x->rank - axis);
    int64_t row = eval_product(out->t.shape + axis, x->rank - axis);
    int64_t start = before * (own / x->shape[axis]);
    if (before < 0 || before > out->t.shape[axis] - x->shape[axis] ||
        nouter * row != out->t.count) {
        return eval_misfit(ev, node);
    }
    for (int64_t i = 0; i < out->t.count; i++) {
        out->t.data[i] = node->attr.value;
    }
    for (int64_t o = 0; o < nouter; o++) {
        memcpy(out->t.data + o * row + start, x->data + o * own, (size_t)own * sizeof(double));
    }
    return true;
}

// Reports the id; always false.
static bool fail_id(Eval *ev, const Node *node, double id, int64_t n)
{
    const Node *ids = node->args[1];
    if (ids->op == OP_input) {
        return eval_fail(ev, node, "id %.0f of input \"%.*s\" lies outside 0 .. %lld", id,
                         STR_ARG(ids->attr.name), (long long)n);
    }
    return eval_fail(ev, node, "id %.0f lies outside 0 .. %lld", id, (long long)n);
}

bool eval_gather(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *table = eval_arg(ev, node, 0);
    const EvalTensor *ids = eval_arg(ev, node, 1);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    size_t axis = (size_t)node->attr.axis;
    int64_t nouter = eval_product(table->shape, axis);
    int64_t n = table->shape[axis];
    int64_t row = eval_product(table->shape + axis + 1, table->rank - axis - 1);
    if (nouter * ids->count * row != out->t.count) {
        return eval_misfit(ev, node);
    }
    for (int64_t i = 0; i < ids->count; i++) {
        if (!(ids->data[i] >= 0 && ids->data[i] < (double)n)) {
            return fail_id(ev, node, ids->data[i], n);
        }
    }
    double *to = out->t.data;
    for (int64_t o = 0; o < nouter; o++) {
        for (int64_t i = 0; i < ids->count; i++, to += row) {
            memcpy(to, table->data + (o * n + (int64_t)ids->data[i]) * row,
                   (size_t)row * sizeof(double));
        }
    }
    return true;
}

bool eval_triangle(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    int64_t nrows = x->shape[x->rank - 2];
    int64_t ncols = x->shape[x->rank - 1];
    for (int64_t i = 0; i < x->count / ncols; i++) {
        int64_t kept = i % nrows + 1 < ncols ? i % nrows + 1 : ncols;
        memcpy(out->t.data + i * ncols, x->data + i * ncols, (size_t)kept * sizeof(double));
        memset(out->t.data + i * ncols + kept, 0, (size_t)(ncols - kept) * sizeof(double));
    }
    return true;
}

// [.., K, N] to [.., ceil(N / 16), K, 16], zeros behind the last column.
bool eval_pack(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    int64_t nrows = x->shape[x->rank - 2];
    int64_t ncols = x->shape[x->rank - 1];
    int64_t nmatrices = x->count / (nrows * ncols);
    int64_t npanels = (ncols + IR_PANEL - 1) / IR_PANEL;
    if (out->t.count != nmatrices * npanels * nrows * IR_PANEL) {
        return eval_misfit(ev, node);
    }
    double *to = out->t.data;
    for (int64_t i = 0; i < nmatrices * npanels; i++) {
        int64_t first = i % npanels * IR_PANEL;
        int64_t width = ncols - first < IR_PANEL ? ncols - first : IR_PANEL;
        for (int64_t k = 0; k < nrows; k++, to += IR_PANEL) {
            memcpy(to, x->data + (i / npanels * nrows + k) * ncols + first,
                   (size_t)width * sizeof(double));
            memset(to + width, 0, (size_t)(IR_PANEL - width) * sizeof(double));
        }
    }
    return true;
}
