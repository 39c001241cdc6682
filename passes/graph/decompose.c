// decompose: sugar to core operations.
//
//   softmax x          →  m = max(x); e = exp(x - m[.., new]); e / sum(e)[.., new]
//   reduce_mean x      →  sum(x) / n
//   reduce over axes   →  one axis after the other, the last first
//   triangle x         →  select(iota(rows)[:, new] >= iota(columns), x, 0)
//   pad x              →  concat of fills and x
//   repeat x           →  reshape of a broadcast
//   pool x             →  reductions over windows, concatenated with the partial windows' at the
//                         end, one by one
//
// Requires any graph; establishes core operations. A length that decides how many windows are
// partial must be fixed.
#include "passes/pass.h"
#include "passes/rewrite.h"

typedef struct Decompose {
    PassContext *cx;
    Arena *arena;
    Builder *b;
    const uint32_t *uses; // [nodes] of the old graph
    bool failed;
} Decompose;

static Node *reduce(Decompose *d, Op op, Node *x, size_t axis)
{
    int64_t axes[1] = {(int64_t)axis};
    return ir_reduce(d->b, op, x, axes, 1);
}

static Node *divide_by_size(Decompose *d, Node *x, const Size *n)
{
    int64_t fixed;
    Node *by =
        size_is_int(n, &fixed) ? ir_fill(d->b, DT_f32, (double)fixed) : ir_size(d->b, DT_f32, n);
    return rewrite_map2(d->b, S_div, x, by);
}

static Node *decompose_reduce(Decompose *d, const Node *node, Node *x)
{
    bool is_mean = node->op == OP_reduce_mean;
    const Size *count = size_int(d->arena, 1);
    for (size_t i = node->attr.naxes; i-- > 0;) {
        size_t axis = (size_t)node->attr.axes[i];
        count = size_mul(d->arena, count, x->type.shape[axis]);
        x = reduce(d, is_mean ? OP_reduce_sum : node->op, x, axis);
    }
    return is_mean ? divide_by_size(d, x, count) : x;
}

static Node *decompose_softmax(Decompose *d, const Node *node, Node *x)
{
    size_t axis = (size_t)node->attr.axis;
    Node *most = rewrite_new_axis(d->b, reduce(d, OP_reduce_max, x, axis), axis);
    Node *e = rewrite_map1(d->b, S_exp, rewrite_map2(d->b, S_sub, x, most));
    Node *sum = rewrite_new_axis(d->b, reduce(d, OP_reduce_sum, e, axis), axis);
    return rewrite_map2(d->b, S_div, e, sum);
}

static Node *decompose_triangle(Decompose *d, Node *x)
{
    size_t rank = x->type.rank;
    Node *rows = rewrite_new_axis(d->b, ir_iota(d->b, x->type.shape[rank - 2]), 1);
    Node *keep = rewrite_map2(d->b, S_ge, rows, ir_iota(d->b, x->type.shape[rank - 1]));
    Node *args[3] = {keep, x, ir_fill(d->b, x->type.dtype, 0)};
    return ir_map(d->b, S_select, args, 3);
}

static Node *filled(Decompose *d, const Node *x, size_t axis, const Size *n, double value)
{
    const Size **shape = arena_new(d->arena, const Size *, x->type.rank);
    for (size_t i = 0; i < x->type.rank; i++) {
        shape[i] = i == axis ? n : x->type.shape[i];
    }
    Type type = {.dtype = x->type.dtype, .rank = x->type.rank, .shape = shape};
    Attr attr = {.value = value};
    return ir_add_node(d->b, OP_fill, NULL, 0, &attr, &type);
}

static Node *decompose_pad(Decompose *d, const Node *node, Node *x)
{
    size_t axis = (size_t)node->attr.axis;
    Node *parts[3];
    size_t n = 0;
    if (!size_is(node->attr.before, 0)) {
        parts[n++] = filled(d, x, axis, node->attr.before, node->attr.value);
    }
    parts[n++] = x;
    if (!size_is(node->attr.after, 0)) {
        parts[n++] = filled(d, x, axis, node->attr.after, node->attr.value);
    }
    return n == 1 ? x : ir_concat(d->b, parts, n, node->attr.axis);
}

static Node *decompose_repeat(Decompose *d, const Node *node, Node *x)
{
    size_t axis = (size_t)node->attr.axis;
    Node *wide = rewrite_new_axis(d->b, x, axis + 1);
    const Size **shape = arena_new(d->arena, const Size *, wide->type.rank);
    for (size_t i = 0; i < wide->type.rank; i++) {
        shape[i] = i == axis + 1 ? size_int(d->arena, node->attr.times) : wide->type.shape[i];
    }
    wide = ir_broadcast(d->b, wide, shape, wide->type.rank);
    return ir_reshape(d->b, wide, node->type.shape, node->type.rank);
}

// ---- pooling ----

static Node *reduce_window(Decompose *d, const Node *node, Node *x, size_t axis)
{
    static const Op ops[] = {
        [POOL_mean] = OP_reduce_sum, [POOL_max] = OP_reduce_max, [POOL_min] = OP_reduce_min};
    const Size *n = x->type.shape[axis];
    Node *y = reduce(d, ops[node->attr.mode], x, axis);
    return node->attr.mode == POOL_mean ? divide_by_size(d, y, n) : y;
}

static Node *full_windows(Decompose *d, const Node *node, Node *x, const Size *count)
{
    size_t axis = (size_t)node->attr.axis;
    int64_t stride = node->attr.stride;
    const Size *used = size_add(d->arena, size_scale(d->arena, count, stride),
                                size_int(d->arena, node->attr.window - stride));
    Node *part = size_equal(used, x->type.shape[axis])
                     ? x
                     : ir_part(d->b, x, node->attr.axis, size_int(d->arena, 0), used);
    Node *windows = ir_window(d->b, part, node->attr.window, stride, node->attr.axis);
    return reduce_window(d, node, windows, axis + 1);
}

static Node *decompose_pool(Decompose *d, const Node *node, Node *x)
{
    size_t axis = (size_t)node->attr.axis;
    const Size *n = x->type.shape[axis];
    const Size *count = node->type.shape[axis];
    const Size *behind = size_sub(d->arena, n, size_int(d->arena, node->attr.window));
    const Size *full =
        size_add(d->arena, size_div(d->arena, behind, node->attr.stride), size_int(d->arena, 1));
    full = size_simplify(d->arena, full, d->b->graph->facts);
    int64_t npartial;
    if (!size_is_int(size_simplify(d->arena, size_sub(d->arena, count, full), d->b->graph->facts),
                     &npartial)) {
        diag_error(d->cx->dx, node->at,
                   "give %.*s: while that is free, it is not known whether the last window over "
                   "%.*s members is whole",
                   STR_ARG(ir_flags(d->arena, n)), STR_ARG(size_text(d->arena, n)));
        d->failed = true;
        return x;
    }
    VEC(Node *) parts = {0};
    if (!size_is(full, 0)) {
        vec_push(d->arena, &parts, full_windows(d, node, x, full));
    }
    for (int64_t i = 0; i < npartial; i++) {
        const Size *start = size_scale(d->arena, size_add(d->arena, full, size_int(d->arena, i)),
                                       node->attr.stride);
        const Size *left =
            size_simplify(d->arena, size_sub(d->arena, n, start), d->b->graph->facts);
        Node *rest = ir_part(d->b, x, node->attr.axis, start, left);
        if (!size_is(left, 1)) { // one member is its own mean, most and least
            rest = rewrite_new_axis(d->b, reduce_window(d, node, rest, axis), axis);
        }
        vec_push(d->arena, &parts, rest);
    }
    return parts.n == 1 ? parts.items[0] : ir_concat(d->b, parts.items, parts.n, node->attr.axis);
}

// A concat of concats along one axis is one, if nothing else needs the inner ones.
static Node *flatten_concat(Decompose *d, Rewrite *rw, const Node *node)
{
    VEC(Node *) parts = {0};
    for (size_t i = 0; i < node->nargs; i++) {
        Node *part = rw->now[node->args[i]->id];
        bool inner = part->op == OP_concat && part->attr.axis == node->attr.axis &&
                     d->uses[node->args[i]->id] == 1;
        for (size_t k = 0; inner && k < part->nargs; k++) {
            vec_push(d->arena, &parts, part->args[k]);
        }
        if (!inner) {
            vec_push(d->arena, &parts, part);
        }
    }
    return ir_concat(d->b, parts.items, parts.n, node->attr.axis);
}

static Node *decompose_node(Decompose *d, Rewrite *rw, const Node *node)
{
    if (node->nargs == 0) {
        return rewrite_copy(rw, node);
    }
    Node *x = rw->now[node->args[0]->id];
    d->b->at = node->at;
    switch ((int)node->op) {
    case OP_reduce_mean: return decompose_reduce(d, node, x);
    case OP_reduce_sum:
    case OP_reduce_max:
    case OP_reduce_min:
        return node->attr.naxes > 1 ? decompose_reduce(d, node, x) : rewrite_copy(rw, node);
    case OP_softmax: return decompose_softmax(d, node, x);
    case OP_triangle: return decompose_triangle(d, x);
    case OP_pad: return decompose_pad(d, node, x);
    case OP_repeat: return decompose_repeat(d, node, x);
    case OP_pool: return decompose_pool(d, node, x);
    case OP_concat: return flatten_concat(d, rw, node);
    default: return rewrite_copy(rw, node);
    }
}

Graph *pass_decompose(PassContext *cx, Graph *graph)
{
    Rewrite rw = rewrite_begin(cx->arena, graph);
    Decompose d = {.cx = cx, .arena = cx->arena, .b = &rw.b, .uses = graph_uses(cx->arena, graph)};
    for (size_t i = 0; i < graph->nodes.n && !d.failed; i++) {
        rw.now[i] = decompose_node(&d, &rw, graph->nodes.items[i]);
    }
    return d.failed ? NULL : rewrite_end(&rw);
}
