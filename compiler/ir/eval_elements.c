// The evaluator's arithmetic: constants, elementwise functions, reductions, softmax, pooling. What
// a function computes is scalar_eval's to say; only sums, differences, products and quotients of
// f32, which are double's own, have loops of their own here.
#include "ir/eval_impl.h"

#include <math.h>

// ---- constants ----

bool eval_fill(Eval *ev, const Node *node, Value *out)
{
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    for (int64_t i = 0; i < out->t.count; i++) {
        out->t.data[i] = node->attr.value;
    }
    return true;
}

bool eval_size(Eval *ev, const Node *node, Value *out)
{
    int64_t value = 0;
    if (!eval_number(ev, node, node->attr.size, &value) || !eval_alloc(ev, node, out)) {
        return false;
    }
    if (node->type.dtype == DT_i32 && (value < INT32_MIN || value > INT32_MAX)) {
        return eval_fail(ev, node, "%.*s is %lld here, which is no i32",
                         STR_ARG(size_text(ev->arena, node->attr.size)), (long long)value);
    }
    out->t.data[0] = (double)value;
    return true;
}

bool eval_iota(Eval *ev, const Node *node, Value *out)
{
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    if (out->t.count > (int64_t)INT32_MAX + 1) {
        return eval_fail(ev, node, "%lld is over the range of i32", (long long)out->t.count);
    }
    for (int64_t i = 0; i < out->t.count; i++) {
        out->t.data[i] = (double)i;
    }
    return true;
}

// ---- elementwise functions ----

enum { OUT, ARGS, MOST_ARGS = EVAL_MAX_TENSORS - ARGS };

typedef struct MapCall {
    Scalar fn;
    DType dtype; // of the operands
    size_t nargs;
} MapCall;

// out[i] = x[i] op y[i], with loops that a compiler vectorises.
#define LINE(op)                                                                                   \
    if (sx == 1 && sy == 1) {                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                          \
            out[i] = x[i] op y[i];                                                                 \
        }                                                                                          \
    } else if (sy == 0) {                                                                          \
        const double same = *y;                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                          \
            out[i] = x[i * sx] op same;                                                            \
        }                                                                                          \
    } else {                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                          \
            out[i] = x[i * sx] op y[i * sy];                                                       \
        }                                                                                          \
    }

// False: the function is none of the four.
static bool map_arithmetic(Scalar fn, int64_t n, double *restrict out, const double *x, int64_t sx,
                           const double *y, int64_t sy)
{
    if (fn == S_add) {
        LINE(+)
    } else if (fn == S_sub) {
        LINE(-)
    } else if (fn == S_mul) {
        LINE(*)
    } else if (fn == S_div) {
        LINE(/)
    } else {
        return false;
    }
    return true;
}

static void map_line(const MapCall *call, const EvalDim *d, double *out, const double *const *args)
{
    if (call->dtype == DT_f32 && call->nargs == 2 &&
        map_arithmetic(call->fn, d->n, out, args[0], d->stride[ARGS], args[1],
                       d->stride[ARGS + 1])) {
        return;
    }
    double x[MOST_ARGS] = {0};
    for (int64_t i = 0; i < d->n; i++) {
        for (size_t k = 0; k < call->nargs; k++) {
            x[k] = args[k][i * d->stride[ARGS + k]];
        }
        out[i] = scalar_eval(call->fn, call->dtype, x);
    }
}

static void map_dims(const MapCall *call, const EvalDim *dims, size_t ndims, double *out,
                     const double *const *args)
{
    if (ndims <= 1) {
        static const EvalDim one = {.n = 1};
        map_line(call, ndims == 1 ? dims : &one, out, args);
        return;
    }
    for (int64_t i = 0; i < dims->n; i++) {
        const double *inner[MOST_ARGS] = {0};
        for (size_t k = 0; k < call->nargs; k++) {
            inner[k] = args[k] + i * dims->stride[ARGS + k];
        }
        map_dims(call, dims + 1, ndims - 1, out + i * dims->stride[OUT], inner);
    }
}

// Adds the operand's strides over the result's axes, 0 where it is broadcast.
static bool add_operand(Eval *ev, EvalDim *dims, const EvalTensor *out, const EvalTensor *x,
                        size_t tensor)
{
    const int64_t *strides = eval_strides(ev->arena, x->shape, x->rank);
    size_t missing = out->rank - x->rank;
    for (size_t i = 0; i < x->rank; i++) {
        if (x->shape[i] != 1 && x->shape[i] != out->shape[missing + i]) {
            return false;
        }
        dims[missing + i].stride[tensor] = x->shape[i] == 1 ? 0 : strides[i];
    }
    return true;
}

bool eval_map(Eval *ev, const Node *node, Value *out)
{
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    MapCall call = {.fn = node->attr.fn,
                    .dtype = node->args[node->nargs - 1]->type.dtype,
                    .nargs = node->nargs};
    const int64_t *strides = eval_strides(ev->arena, out->t.shape, out->t.rank);
    EvalDim *dims = arena_new(ev->arena, EvalDim, out->t.rank);
    for (size_t i = 0; i < out->t.rank; i++) {
        dims[i].n = out->t.shape[i];
        dims[i].stride[OUT] = strides[i];
    }
    const double *args[MOST_ARGS] = {0};
    for (size_t k = 0; k < node->nargs; k++) {
        const EvalTensor *x = eval_arg(ev, node, k);
        if (!add_operand(ev, dims, &out->t, x, ARGS + k)) {
            return eval_misfit(ev, node);
        }
        args[k] = x->data;
    }
    size_t ndims = eval_merge_dims(dims, out->t.rank, ARGS + node->nargs);
    map_dims(&call, dims, ndims, out->t.data, args);
    return true;
}

// ---- reductions ----

// How members are joined: a sum, or the larger or smaller of two.
typedef struct Fold {
    Scalar fn;
    DType dtype;
    double start;
} Fold;

static Fold fold_of(Scalar fn, DType dtype)
{
    // Every element of a type lies between these.
    static const double least[] = {[DT_f32] = -INFINITY, [DT_i32] = INT32_MIN, [DT_bool] = 0};
    static const double most[] = {[DT_f32] = INFINITY, [DT_i32] = INT32_MAX, [DT_bool] = 1};
    double start = fn == S_add ? 0 : fn == S_max ? least[dtype] : most[dtype];
    return (Fold){.fn = fn, .dtype = dtype, .start = start};
}

// Joins n members to `x`, in order.
static double fold_line(const Fold *fold, double x, const double *members, int64_t n,
                        int64_t stride)
{
    if (fold->fn == S_add && fold->dtype == DT_f32) {
        for (int64_t i = 0; i < n; i++) {
            x += members[i * stride];
        }
        return x;
    }
    for (int64_t i = 0; i < n; i++) {
        x = scalar_eval(fold->fn, fold->dtype, (double[]){x, members[i * stride]});
    }
    return x;
}

// Tensors of a reduction's loop over the operand; the result's stride is 0 along reduced axes.
enum { SUM, MEMBER, NREDUCE };

static void reduce_dims(const Fold *fold, const EvalDim *dims, size_t ndims, double *sum,
                        const double *member)
{
    if (ndims == 0) {
        *sum = fold_line(fold, *sum, member, 1, 0);
    } else if (ndims == 1 && dims->stride[SUM] == 0) {
        *sum = fold_line(fold, *sum, member, dims->n, dims->stride[MEMBER]);
    } else {
        for (int64_t i = 0; i < dims->n; i++) {
            reduce_dims(fold, dims + 1, ndims - 1, sum + i * dims->stride[SUM],
                        member + i * dims->stride[MEMBER]);
        }
    }
}

static Scalar reduce_function(Op op)
{
    return op == OP_reduce_max ? S_max : op == OP_reduce_min ? S_min : S_add;
}

bool eval_reduce(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    Fold fold = fold_of(reduce_function(node->op), x->dtype);
    const int64_t *members = eval_strides(ev->arena, x->shape, x->rank);
    const int64_t *sums = eval_strides(ev->arena, out->t.shape, out->t.rank);
    EvalDim *dims = arena_new(ev->arena, EvalDim, x->rank);
    int64_t nmembers = 1;
    for (size_t i = 0, kept = 0, reduced = 0; i < x->rank; i++) {
        bool is_reduced = reduced < node->attr.naxes && node->attr.axes[reduced] == (int64_t)i;
        dims[i] = (EvalDim){.n = x->shape[i], .stride = {is_reduced ? 0 : sums[kept], members[i]}};
        nmembers *= is_reduced ? x->shape[i] : 1;
        reduced += is_reduced;
        kept += !is_reduced;
    }
    for (int64_t i = 0; i < out->t.count; i++) {
        out->t.data[i] = fold.start;
    }
    size_t ndims = eval_merge_dims(dims, x->rank, NREDUCE);
    reduce_dims(&fold, dims, ndims, out->t.data, x->data);
    for (int64_t i = 0; i < out->t.count && node->op == OP_reduce_mean; i++) {
        out->t.data[i] /= (double)nmembers;
    }
    return true;
}

// n elements, `stride` apart.
static void softmax_line(const double *x, double *out, int64_t n, int64_t stride)
{
    Fold larger = fold_of(S_max, DT_f32);
    double most = fold_line(&larger, larger.start, x, n, stride);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double e = exp(x[i * stride] - most);
        out[i * stride] = e;
        sum += e;
    }
    for (int64_t i = 0; i < n; i++) {
        out[i * stride] /= sum;
    }
}

bool eval_softmax(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    size_t axis = (size_t)node->attr.axis;
    int64_t n = x->shape[axis];
    int64_t inner = eval_product(x->shape + axis + 1, x->rank - axis - 1);
    for (int64_t o = 0; o < x->count / (n * inner); o++) {
        for (int64_t i = 0; i < inner; i++) {
            int64_t at = o * n * inner + i;
            softmax_line(x->data + at, out->t.data + at, n, inner);
        }
    }
    return true;
}

bool eval_pool(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *x = eval_arg(ev, node, 0);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    const Attr *attr = &node->attr;
    size_t axis = (size_t)attr->axis;
    int64_t n = x->shape[axis];
    int64_t inner = eval_product(x->shape + axis + 1, x->rank - axis - 1);
    int64_t nouter = eval_product(x->shape, axis);
    int64_t nwindows = out->t.shape[axis];
    if (nouter * nwindows * inner != out->t.count ||
        (nwindows > 1 && nwindows - 1 > (n - 1) / attr->stride)) {
        return eval_misfit(ev, node);
    }
    Scalar fn = attr->mode == POOL_mean ? S_add : attr->mode == POOL_max ? S_max : S_min;
    Fold fold = fold_of(fn, x->dtype);
    double *to = out->t.data;
    for (int64_t w = 0; w < nouter * nwindows; w++) {
        int64_t first = w % nwindows * attr->stride;
        int64_t width = n - first < attr->window ? n - first : attr->window; // real members
        const double *members = x->data + (w / nwindows * n + first) * inner;
        for (int64_t i = 0; i < inner; i++) {
            double y = fold_line(&fold, fold.start, members + i, width, inner);
            *to++ = attr->mode == POOL_mean ? y / (double)width : y;
        }
    }
    return true;
}
