// views: movement becomes strided views of contiguous tensors, and views of views one view. What no
// view can say is a `copy` of a view, visible in the text; so are plain numbers that are read from
// memory: a gather's table, a product's B.
//
//   %1 = reshape %0 : f32[B, S, 12, 64]   %2 = permute %1 {axes = [0, 2, 1, 3]}
//   → %1 = view %0 {strides = [768 * S, 64, 768, 1], offset = 0} : f32[B, 12, S, 64]
//
// Requires core operations; establishes that movement is view, copy or concat. Linear.
#include "passes/pass.h"
#include "passes/rewrite.h"

// How a node of the old graph is seen: element [i…] of it is element offset + Σ i · stride of
// `base`, which is contiguous.
typedef struct View {
    Node *base; // in the new graph
    const Size *offset;
    const Size **strides; // [rank]
    Node *node;           // as a node of the new graph, once somebody reads it
} View;

typedef struct Views {
    Arena *a;
    Rewrite rw;
    View *views; // [nodes]
} Views;

static View view_of(Views *v, Node *base)
{
    return (View){.base = base,
                  .offset = size_int(v->a, 0),
                  .strides = type_strides(v->a, &base->type),
                  .node = base};
}

static Node *add_view(Views *v, const View *view, const Type *type, Place at)
{
    Attr attr = {.strides = view->strides, .offset = view->offset};
    Node *base = view->base;
    v->rw.b.at = at;
    return ir_add_node(&v->rw.b, OP_view, &base, 1, &attr, type);
}

// The view as a node that others can read.
static Node *as_node(Views *v, const Node *old)
{
    View *view = &v->views[old->id];
    if (!view->node) {
        view->node = add_view(v, view, &old->type, old->at);
    }
    return view->node;
}

// Makes what is seen contiguous.
static View copied(Views *v, const Node *old)
{
    Node *x = as_node(v, old);
    v->rw.b.at = old->at;
    return view_of(v, ir_add_node(&v->rw.b, OP_copy, &x, 1, NULL, NULL));
}

static const Size *simple(Views *v, const Size *size)
{
    return size_simplify(v->a, size, v->rw.to->facts);
}

// ---- one operation each: how its result is seen, given how its operand is ----

static View permute(Views *v, const Node *node, const View *x)
{
    View y = {.base = x->base,
              .offset = x->offset,
              .strides = arena_new(v->a, const Size *, node->type.rank + 1)};
    for (size_t i = 0; i < node->type.rank; i++) {
        y.strides[i] = x->strides[node->attr.axes[i]];
    }
    return y;
}

static View broadcast(Views *v, const Node *node, const View *x)
{
    const Type *from = &node->args[0]->type;
    View y = {.base = x->base,
              .offset = x->offset,
              .strides = arena_new(v->a, const Size *, node->type.rank + 1)};
    size_t shift = node->type.rank - from->rank;
    for (size_t i = 0; i < node->type.rank; i++) {
        bool stands =
            i < shift || (size_is(from->shape[i - shift], 1) && !size_is(node->type.shape[i], 1));
        y.strides[i] = stands ? size_int(v->a, 0) : x->strides[i - shift];
    }
    return y;
}

static View slice(Views *v, const Node *node, const View *x)
{
    View y = {.base = x->base,
              .offset = x->offset,
              .strides = arena_new(v->a, const Size *, node->type.rank + 1)};
    for (size_t i = 0; i < node->type.rank; i++) {
        y.offset = size_add(v->a, y.offset, size_mul(v->a, node->attr.start[i], x->strides[i]));
        y.strides[i] = size_scale(v->a, x->strides[i], node->attr.step[i]);
    }
    return y;
}

static View window(Views *v, const Node *node, const View *x)
{
    size_t axis = (size_t)node->attr.axis;
    View y = {.base = x->base,
              .offset = x->offset,
              .strides = arena_new(v->a, const Size *, node->type.rank + 1)};
    for (size_t i = 0; i < node->type.rank; i++) {
        y.strides[i] = i == axis ? size_scale(v->a, x->strides[axis], node->attr.stride)
                                 : x->strides[i < axis ? i : i - 1];
    }
    return y;
}

// M[i, j] = w[n - 1 + i - j]
static View toeplitz(Views *v, const Node *node, const View *x)
{
    size_t rank = node->type.rank;
    const Size *step = x->strides[rank - 2];
    const Size *last = size_sub(v->a, node->type.shape[rank - 1], size_int(v->a, 1));
    View y = {.base = x->base, .strides = arena_new(v->a, const Size *, rank)};
    y.offset = size_add(v->a, x->offset, size_mul(v->a, last, step));
    for (size_t i = 0; i < rank; i++) {
        y.strides[i] = i + 1 == rank ? size_scale(v->a, step, -1) : x->strides[i];
    }
    return y;
}

// y[i, j] = x[i, shift · (q - i) + j]
static View rel_shift(Views *v, const Node *node, const View *x)
{
    size_t rank = node->type.rank;
    const Size *step = x->strides[rank - 1];
    const Size *shift = size_scale(v->a, step, node->attr.shift);
    View y = {.base = x->base, .strides = arena_new(v->a, const Size *, rank)};
    y.offset = size_add(v->a, x->offset, size_mul(v->a, shift, node->type.shape[rank - 2]));
    for (size_t i = 0; i < rank; i++) {
        y.strides[i] = i + 2 == rank ? size_sub(v->a, x->strides[i], shift) : x->strides[i];
    }
    return y;
}

// ---- reshape ----

// Axes [from, to) of the operand hold as many elements as [into, end) of the result.
typedef struct Regroup {
    size_t from;
    size_t to;
    size_t into;
    size_t end;
} Regroup;

// Whether those axes of the operand lie evenly enough to be walked as the result's; if so fills
// their strides.
static bool regroup(Views *v, const Node *node, const View *x, View *y, const Regroup *g)
{
    const Type *old = &node->args[0]->type;
    const Size *step = NULL; // of the innermost axis that is longer than 1
    const Size *run = NULL;  // what the next outer axis must step by
    for (size_t i = g->to; i-- > g->from;) {
        if (size_is(old->shape[i], 1)) {
            continue;
        }
        if (step && !size_equal(simple(v, x->strides[i]), simple(v, run))) {
            return false;
        }
        step = step ? step : x->strides[i];
        run = size_mul(v->a, x->strides[i], old->shape[i]);
    }
    step = step ? step : size_int(v->a, 1);
    for (size_t i = g->end; i-- > g->into;) {
        y->strides[i] = step;
        step = size_mul(v->a, step, node->type.shape[i]);
    }
    return true;
}

// Takes in axes, from the side that has less, until both hold as many elements. False if they run
// out.
static bool next_group(Views *v, const Node *node, Regroup *g)
{
    const Type *old = &node->args[0]->type;
    const Type *type = &node->type;
    g->from = g->to;
    g->into = g->end;
    const Size *have = g->to < old->rank ? old->shape[g->to++] : size_int(v->a, 1);
    const Size *want = g->end < type->rank ? type->shape[g->end++] : size_int(v->a, 1);
    while (!size_equal(simple(v, have), simple(v, want))) {
        bool has_less = size_exact_div(v->a, simple(v, want), simple(v, have)) != NULL;
        if (g->to < old->rank && (has_less || g->end == type->rank)) {
            have = size_mul(v->a, have, old->shape[g->to++]);
        } else if (g->end < type->rank) {
            want = size_mul(v->a, want, type->shape[g->end++]);
        } else {
            return false;
        }
    }
    return true;
}

static bool reshape(Views *v, const Node *node, const View *x, View *y)
{
    *y = (View){.base = x->base,
                .offset = x->offset,
                .strides = arena_new(v->a, const Size *, node->type.rank + 1)};
    Regroup g = {0};
    while (g.to < node->args[0]->type.rank || g.end < node->type.rank) {
        if (!next_group(v, node, &g) || !regroup(v, node, x, y, &g)) {
            return false;
        }
    }
    return true;
}

// ---- the pass ----

static bool is_number(const Node *node)
{
    return node->op == OP_fill || node->op == OP_iota || node->op == OP_size;
}

static View see(Views *v, const Node *node)
{
    const View *x = &v->views[node->nargs ? node->args[0]->id : 0];
    View y;
    switch ((int)node->op) {
    case OP_permute: return permute(v, node, x);
    case OP_broadcast: return broadcast(v, node, x);
    case OP_slice: return slice(v, node, x);
    case OP_window: return window(v, node, x);
    case OP_toeplitz: return toeplitz(v, node, x);
    case OP_rel_shift: return rel_shift(v, node, x);
    case OP_reshape: {
        if (reshape(v, node, x, &y)) {
            return y;
        }
        View whole = copied(v, node->args[0]);
        if (!reshape(v, node, &whole, &y)) {
            die("views: node %u reshapes to axes that do not nest", node->id);
        }
        return y;
    }
    default: break;
    }
    Rewrite *rw = &v->rw;
    for (size_t i = 0; i < node->nargs; i++) {
        rw->now[node->args[i]->id] = as_node(v, node->args[i]);
    }
    const Node *stored = node->op == OP_gather   ? node->args[0]
                         : node->op == OP_matmul ? node->args[1]
                                                 : NULL;
    if (stored && is_number(v->views[stored->id].base)) {
        rw->now[stored->id] = copied(v, stored).node;
    }
    return view_of(v, rewrite_copy(rw, node));
}

static bool is_whole(Views *v, const View *view, const Type *type)
{
    const Size **strides = type_strides(v->a, type);
    bool same = type_equal(type, &view->base->type) && size_is(simple(v, view->offset), 0);
    for (size_t i = 0; same && i < type->rank; i++) {
        same = size_is(type->shape[i], 1) ||
               size_equal(simple(v, view->strides[i]), simple(v, strides[i]));
    }
    return same;
}

Graph *pass_views(PassContext *cx, Graph *graph)
{
    Views v = {.a = cx->arena, .rw = rewrite_begin(cx->arena, graph)};
    v.views = arena_new(cx->arena, View, graph->nodes.n + 1);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        v.views[i] = see(&v, node);
        if (is_whole(&v, &v.views[i], &node->type)) {
            v.views[i].node = v.views[i].base;
        }
    }
    for (size_t i = 0; i < graph->outputs.n; i++) {
        const Node *node = graph->outputs.items[i].node;
        v.rw.now[node->id] = as_node(&v, node);
    }
    return rewrite_end(&v.rw);
}
