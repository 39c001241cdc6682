// The calls that elaboration and passes make: each fills attributes and type for ir_add_node.
#include "ir/internal.h"

// The shape of `type` with room to change it.
static const Size **copy_shape(Arena *arena, const Type *type)
{
    const Size **shape = arena_new(arena, const Size *, type->rank);
    for (size_t i = 0; i < type->rank; i++) {
        shape[i] = type->shape[i];
    }
    return shape;
}

Node *ir_input(Builder *b, Str name, const Type *type, const int64_t range[2], const double *value)
{
    Attr attr = {.name = name, .has_range = range != NULL, .has_default = value != NULL};
    if (range != NULL) {
        attr.low = range[0];
        attr.high = range[1];
    }
    if (value != NULL) {
        attr.value = *value;
    }
    return ir_add_node(b, OP_input, NULL, 0, &attr, type);
}

Node *ir_param(Builder *b, Str name, const Type *type)
{
    return ir_add_node(b, OP_param, NULL, 0, &(Attr){.name = name}, type);
}

Node *ir_fill(Builder *b, DType dtype, double value)
{
    return ir_add_node(b, OP_fill, NULL, 0, &(Attr){.value = value}, &(Type){.dtype = dtype});
}

Node *ir_size(Builder *b, DType dtype, const Size *size)
{
    return ir_add_node(b, OP_size, NULL, 0, &(Attr){.size = size}, &(Type){.dtype = dtype});
}

Node *ir_iota(Builder *b, const Size *n)
{
    Type type = {.dtype = DT_i32, .rank = 1, .shape = &n};
    return ir_add_node(b, OP_iota, NULL, 0, NULL, &type);
}

Node *ir_map(Builder *b, Scalar fn, Node *const *args, size_t nargs)
{
    return ir_add_node(b, OP_map, args, nargs, &(Attr){.fn = fn}, NULL);
}

Node *ir_reduce(Builder *b, Op op, Node *x, const int64_t *axes, size_t naxes)
{
    return ir_add_node(b, op, &x, 1, &(Attr){.axes = axes, .naxes = naxes}, NULL);
}

Node *ir_softmax(Builder *b, Node *x, int64_t axis)
{
    return ir_add_node(b, OP_softmax, &x, 1, &(Attr){.axis = axis}, NULL);
}

Node *ir_matmul(Builder *b, Node *x, Node *y)
{
    return ir_add_node(b, OP_matmul, (Node *[]){x, y}, 2, NULL, NULL);
}

Node *ir_transpose(Builder *b, Node *x)
{
    if (x == NULL) {
        return NULL;
    }
    size_t rank = x->type.rank;
    if (rank < 2) {
        Str shown = type_text(b->graph->arena, &x->type);
        ir_fail(b, 0, "needs two axes at least: %.*s", STR_ARG(shown));
        return NULL;
    }
    int64_t order[IR_MAX_RANK];
    for (size_t i = 0; i < rank; i++) {
        order[i] = (int64_t)i;
    }
    order[rank - 2] = (int64_t)rank - 1;
    order[rank - 1] = (int64_t)rank - 2;
    return ir_permute(b, x, order, rank);
}

Node *ir_permute(Builder *b, Node *x, const int64_t *order, size_t n)
{
    return ir_add_node(b, OP_permute, &x, 1, &(Attr){.axes = order, .naxes = n}, NULL);
}

// An operation whose result's shape the caller says.
static Node *to_shape(Builder *b, Op op, Node *x, const Size *const *shape, size_t rank)
{
    if (x == NULL) {
        return NULL;
    }
    Type type = {.dtype = x->type.dtype, .rank = (uint32_t)rank, .shape = shape};
    return ir_add_node(b, op, &x, 1, NULL, &type);
}

Node *ir_reshape(Builder *b, Node *x, const Size *const *shape, size_t rank)
{
    return to_shape(b, OP_reshape, x, shape, rank);
}

Node *ir_broadcast(Builder *b, Node *x, const Size *const *shape, size_t rank)
{
    return to_shape(b, OP_broadcast, x, shape, rank);
}

Node *ir_concat(Builder *b, Node *const *parts, size_t n, int64_t axis)
{
    return ir_add_node(b, OP_concat, parts, n, &(Attr){.axis = axis}, NULL);
}

Node *ir_part(Builder *b, Node *x, int64_t axis, const Size *start, const Size *size)
{
    if (x == NULL || !ir_axis(b, 1, axis, x->type.rank, &axis)) {
        return NULL;
    }
    const Graph *graph = b->graph;
    Arena *arena = graph->arena;
    const Size *zero = size_int(arena, 0);
    const Size *all = x->type.shape[axis];
    const char *shown = str_cstr(arena, type_text(arena, &x->type));
    if (!ir_holds(graph, SIZE_ge, start, zero)) {
        ir_refuse(b, 2, SIZE_ge, start, zero, "a part of axis %lld of %s starts before 0",
                  (long long)axis, shown);
        return NULL;
    }
    if (!ir_holds(graph, SIZE_ge, size, size_int(arena, 1))) {
        ir_refuse(b, 3, SIZE_ge, size, size_int(arena, 1), "a part of axis %lld of %s is empty",
                  (long long)axis, shown);
        return NULL;
    }
    const Size *end = size_add(arena, start, size);
    if (!ir_holds(graph, SIZE_le, end, all)) {
        ir_refuse(b, 3, SIZE_le, end, all, "a part of axis %lld of %s ends after it",
                  (long long)axis, shown);
        return NULL;
    }
    const Size **shape = copy_shape(arena, &x->type);
    const Size **starts = arena_new(arena, const Size *, x->type.rank);
    int64_t *steps = arena_new(arena, int64_t, x->type.rank);
    for (size_t i = 0; i < x->type.rank; i++) {
        starts[i] = (int64_t)i == axis ? start : zero;
        steps[i] = 1;
    }
    shape[axis] = size;
    Type type = {.dtype = x->type.dtype, .rank = x->type.rank, .shape = shape};
    return ir_add_node(b, OP_slice, &x, 1, &(Attr){.start = starts, .step = steps}, &type);
}

Node *ir_pad(Builder *b, Node *x, int64_t axis, const Size *before, const Size *after, double value)
{
    Attr attr = {.axis = axis, .before = before, .after = after, .value = value};
    return ir_add_node(b, OP_pad, &x, 1, &attr, NULL);
}

Node *ir_repeat(Builder *b, Node *x, int64_t times, int64_t axis)
{
    return ir_add_node(b, OP_repeat, &x, 1, &(Attr){.times = times, .axis = axis}, NULL);
}

Node *ir_window(Builder *b, Node *x, int64_t size, int64_t stride, int64_t axis)
{
    Attr attr = {.window = size, .stride = stride, .axis = axis};
    return ir_add_node(b, OP_window, &x, 1, &attr, NULL);
}

Node *ir_pool(Builder *b, Node *x, int64_t size, int64_t stride, PoolMode mode, int64_t axis,
              bool ceil)
{
    Attr attr = {.window = size, .stride = stride, .mode = mode, .axis = axis, .ceil = ceil};
    return ir_add_node(b, OP_pool, &x, 1, &attr, NULL);
}

Node *ir_toeplitz(Builder *b, Node *w, const Size *n)
{
    if (w == NULL) {
        return NULL;
    }
    size_t rank = w->type.rank;
    if (rank == 0) {
        return ir_add_node(b, OP_toeplitz, &w, 1, NULL, NULL); // which says what is missing
    }
    const Size **shape = arena_new(b->graph->arena, const Size *, rank + 1);
    for (size_t i = 0; i + 1 < rank; i++) {
        shape[i] = w->type.shape[i];
    }
    shape[rank - 1] = shape[rank] = n;
    Type type = {.dtype = w->type.dtype, .rank = (uint32_t)rank + 1, .shape = shape};
    return ir_add_node(b, OP_toeplitz, &w, 1, NULL, &type);
}

Node *ir_rel_shift(Builder *b, Node *x, const Size *keys, int64_t shift)
{
    if (x == NULL) {
        return NULL;
    }
    Type type = x->type;
    if (type.rank > 0) {
        const Size **shape = copy_shape(b->graph->arena, &type);
        shape[type.rank - 1] = keys;
        type.shape = shape;
    }
    return ir_add_node(b, OP_rel_shift, &x, 1, &(Attr){.shift = shift}, &type);
}

Node *ir_triangle(Builder *b, Node *x) { return ir_add_node(b, OP_triangle, &x, 1, NULL, NULL); }

Node *ir_gather(Builder *b, Node *table, Node *ids)
{
    return ir_add_node(b, OP_gather, (Node *[]){table, ids}, 2, &(Attr){.axis = 0}, NULL);
}
