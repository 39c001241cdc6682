// The value of a region's node at an index, as an expression of loads: movement folds into
// addresses, elementwise work into expressions, and what does not use a loop's variable is let
// outside that loop.
#include "loop/lower_region.h"

// A reduction over so few members is written out.
#define SHORT_REDUCE 8

static const Node *memory_arg(const Node *node)
{
    if (!region_is_memory(node)) {
        die("kernel region: node %u is read from memory, but computed", node->id);
    }
    return node->op == OP_view ? node->args[0] : node;
}

bool region_is_memory(const Node *node)
{
    return node->op == OP_arg || (node->op == OP_view && node->args[0]->op == OP_arg);
}

bool region_is_constant(const Region *r, const Node *node)
{
    return region_is_memory(node) && r->node->args[memory_arg(node)->attr.index]->op == OP_constant;
}

const Size *const *region_strides(Region *r, const Node *node, const Size **offset)
{
    if (node->op == OP_view) {
        *offset = node->attr.offset;
        return node->attr.strides;
    }
    *offset = size_int(r->arena, 0);
    return type_strides(r->arena, &node->type);
}

uint32_t region_operand(Region *r, const Node *arg, const Node *packed)
{
    for (size_t i = 0; i < r->slots.n; i++) {
        const Slot *slot = &r->slots.items[i];
        if (slot->source == r->node->args[arg->attr.index] && slot->packed == packed) {
            return (uint32_t)i;
        }
    }
    die("kernel region: operand %u was not foreseen", arg->attr.index);
}

static Affine add_strided(Region *r, Affine at, const Affine *index, const Size *stride)
{
    return affine_add(r->arena, at, affine_scale(r->arena, *index, stride));
}

Access region_access(Region *r, const Node *node, const Affine *index)
{
    const Size *offset;
    const Size *const *strides = region_strides(r, node, &offset);
    Access access = {.buffer = region_operand(r, memory_arg(node), NULL),
                     .at = affine_size(offset)};
    for (size_t i = 0; i < node->type.rank; i++) {
        access.at = add_strided(r, access.at, &index[i], strides[i]);
    }
    return access;
}

// ---- values ----

static bool uses_var(const Affine *index, size_t rank, Var var)
{
    for (size_t i = 0; i < rank; i++) {
        if (affine_coef(&index[i], var)) {
            return true;
        }
    }
    return false;
}

static bool same_index(const Affine *x, const Affine *y, size_t rank)
{
    for (size_t i = 0; i < rank; i++) {
        if (!affine_equal(&x[i], &y[i])) {
            return false;
        }
    }
    return true;
}

// The index of an operand that broadcasts to a node: aligned at the last axis, 0 on axes of
// length 1.
static Affine *broadcast_index(Region *r, const Node *from, size_t rank, const Affine *index)
{
    Affine *out = arena_new(r->arena, Affine, from->type.rank + 1);
    for (size_t i = 0; i < from->type.rank; i++) {
        out[i] = size_is(from->type.shape[i], 1) ? affine_int(r->arena, 0)
                                                 : index[i + rank - from->type.rank];
    }
    return out;
}

// The axis of a view that walks axis `axis` of its operand, or SIZE_MAX: it steps as the operand's
// axis does.
static size_t walking_axis(const Node *view, const Size *stride, const Size *length)
{
    for (size_t v = 0; v < view->type.rank; v++) {
        if (size_equal(view->attr.strides[v], stride) && size_equal(view->type.shape[v], length)) {
            return v;
        }
    }
    return SIZE_MAX;
}

// Fills for each axis of the operand the view's axis that walks it (SIZE_MAX: it has one member).
static bool fold_axes(Arena *a, const Node *view, size_t *walks)
{
    const Type *x = &view->args[0]->type;
    const Size **strides = type_strides(a, x);
    size_t nwalked = 0;
    for (size_t i = 0; i < x->rank; i++) {
        bool single = size_is(x->shape[i], 1);
        walks[i] = single ? SIZE_MAX : walking_axis(view, strides[i], x->shape[i]);
        if (!single && walks[i] == SIZE_MAX) {
            return false;
        }
        nwalked += !single;
    }
    for (size_t v = 0; v < view->type.rank; v++) {
        bool stands = size_is(view->type.shape[v], 1) || size_is(view->attr.strides[v], 0);
        nwalked -= !stands;
    }
    return nwalked == 0 && size_is(view->attr.offset, 0);
}

// Numbers are computed where they are read, at any index.
static bool is_number(const Node *node)
{
    return node->op == OP_fill || node->op == OP_size || node->op == OP_iota;
}

bool lower_view_folds(const Node *view)
{
    if (is_number(view->args[0])) {
        return true;
    }
    Arena *a = arena_create();
    bool folds = fold_axes(a, view, arena_new(a, size_t, view->args[0]->type.rank + 1));
    arena_destroy(a);
    return folds;
}

bool lower_view_is_whole(const Node *view)
{
    Arena *a = arena_create();
    const Size **strides = type_strides(a, &view->type);
    const Size *count = type_count(a, &view->args[0]->type);
    bool whole = size_is(view->attr.offset, 0) && size_equal(type_count(a, &view->type), count);
    for (size_t i = 0; whole && i < view->type.rank; i++) {
        whole = size_is(view->type.shape[i], 1) || size_equal(view->attr.strides[i], strides[i]);
    }
    arena_destroy(a);
    return whole;
}

// Whether the view's leading axes, all but two, are the operand's.
static bool keeps_lead(Arena *a, const Node *view)
{
    const Type *x = &view->args[0]->type;
    const Size **strides = type_strides(a, x);
    for (size_t i = 0; i + 2 < x->rank; i++) {
        bool same = size_equal(view->type.shape[i], x->shape[i]) &&
                    (size_is(x->shape[i], 1) || size_equal(view->attr.strides[i], strides[i]));
        if (!same) {
            return false;
        }
    }
    return true;
}

bool lower_view_of_rows(const Node *view, RowView *out)
{
    const Type *x = &view->args[0]->type;
    size_t n = x->rank;
    int64_t rows, columns, row_stride, have_rows, have_columns;
    bool fixed = n >= 2 && view->type.rank == n && size_is_int(x->shape[n - 2], &rows) &&
                 size_is_int(x->shape[n - 1], &columns) &&
                 size_is_int(view->type.shape[n - 2], &have_rows) &&
                 size_is_int(view->type.shape[n - 1], &have_columns) &&
                 size_is_int(view->attr.strides[n - 2], &row_stride) &&
                 size_is_int(view->attr.strides[n - 1], &out->per_col) &&
                 size_is_int(view->attr.offset, &out->first);
    if (!fixed || have_rows != rows) {
        return false;
    }
    out->per_row = rows > 1 ? row_stride - columns : 0;
    int64_t row_end = out->first + out->per_row * (rows - 1);
    int64_t step = out->per_col * (have_columns - 1);
    int64_t corners[] = {out->first, row_end, out->first + step, row_end + step};
    for (size_t i = 0; i < 4; i++) {
        if (corners[i] < 0 || corners[i] >= columns) {
            return false;
        }
    }
    Arena *a = arena_create();
    bool keeps = keeps_lead(a, view);
    arena_destroy(a);
    return keeps;
}

static Affine *folded_index(Region *r, const Node *view, const Affine *index)
{
    const Type *x = &view->args[0]->type;
    size_t *walks = arena_new(r->arena, size_t, x->rank + 1);
    if (!fold_axes(r->arena, view, walks)) {
        die("kernel region: view %u of a computed value does not fold", view->id);
    }
    Affine *out = arena_new(r->arena, Affine, x->rank + 1);
    for (size_t i = 0; i < x->rank; i++) {
        out[i] = walks[i] == SIZE_MAX ? affine_int(r->arena, 0) : index[walks[i]];
    }
    return out;
}

static const Expr *held_value(Region *r, const Node *node, const Held *held, const Affine *index)
{
    if (held->kind == HELD_value) {
        return expr_value(r->arena, node->type.dtype, held->value);
    }
    Access access = {.buffer = held->buffer, .at = held->base};
    for (size_t i = 0; i < node->type.rank; i++) {
        access.at = add_strided(r, access.at, &index[i], size_int(r->arena, held->stride[i]));
    }
    return expr_load(r->arena, r->kernel, access);
}

static const Expr *gather_value(Region *r, Scope *scope, const Node *node, const Affine *index)
{
    const Node *data = node->args[0];
    const Node *ids = node->args[1];
    size_t axis = (size_t)node->attr.axis;
    const Size *offset;
    const Size *const *strides = region_strides(r, data, &offset);
    Access access = {.buffer = region_operand(r, memory_arg(data), NULL),
                     .at = affine_size(offset)};
    for (size_t i = 0; i < data->type.rank; i++) {
        if (i != axis) {
            size_t from = i < axis ? i : i + ids->type.rank - 1;
            access.at = add_strided(r, access.at, &index[from], strides[i]);
        }
    }
    DynTerm *dyn = arena_new(r->arena, DynTerm, 1);
    dyn->index = region_value(r, scope, ids, index + axis);
    dyn->limit = data->type.shape[axis];
    dyn->stride = strides[axis];
    access.ndyn = 1;
    access.dyn = dyn;
    return expr_load(r->arena, r->kernel, access);
}

static bool is_written_out(const Node *reduce)
{
    int64_t n;
    return size_is_int(reduce->args[0]->type.shape[reduce->attr.axes[0]], &n) && n <= SHORT_REDUCE;
}

bool lower_takes_pass(const Node *node) { return lower_is_reduce(node) && !is_written_out(node); }

bool lower_is_reduce(const Node *node)
{
    return node->op == OP_reduce_sum || node->op == OP_reduce_max || node->op == OP_reduce_min;
}

Scalar region_reduce_function(const Node *node)
{
    if (node->type.dtype == DT_bool) {
        return node->op == OP_reduce_max ? S_or : S_and;
    }
    return node->op == OP_reduce_sum ? S_add : node->op == OP_reduce_max ? S_max : S_min;
}

// A reduction over a few members, written out in order.
static const Expr *short_reduction(Region *r, Scope *scope, const Node *node, const Affine *index)
{
    const Node *x = node->args[0];
    size_t axis = (size_t)node->attr.axes[0];
    int64_t n;
    if (!is_written_out(node) || !size_is_int(x->type.shape[axis], &n)) {
        die("kernel region: reduction of node %u is not at hand", node->id);
    }
    Affine *at = arena_new(r->arena, Affine, x->type.rank);
    for (size_t i = 0; i < x->type.rank; i++) {
        at[i] = i == axis ? affine_int(r->arena, 0) : index[i < axis ? i : i - 1];
    }
    const Expr *sum = region_value(r, scope, x, at);
    for (int64_t m = 1; m < n; m++) {
        Affine *next = arena_new(r->arena, Affine, x->type.rank);
        for (size_t i = 0; i < x->type.rank; i++) {
            next[i] = i == axis ? affine_int(r->arena, m) : at[i];
        }
        const Expr *args[2] = {sum, region_value(r, scope, x, next)};
        sum = expr_map(r->arena, region_reduce_function(node), args, 2);
    }
    return sum;
}

static const Expr *map_value(Region *r, Scope *scope, const Node *node, const Affine *index)
{
    const Expr **args = arena_new(r->arena, const Expr *, node->nargs);
    for (size_t i = 0; i < node->nargs; i++) {
        const Node *arg = node->args[i];
        args[i] = region_value(r, scope, arg, broadcast_index(r, arg, node->type.rank, index));
    }
    return expr_map(r->arena, node->attr.fn, args, node->nargs);
}

// The element of a number at a place in its order.
static const Expr *number_value(Region *r, const Node *node, Affine at)
{
    switch ((int)node->op) {
    case OP_fill: return expr_const(r->arena, node->type.dtype, node->attr.value);
    case OP_size: return expr_size(r->arena, node->type.dtype, node->attr.size);
    default: return expr_index(r->arena, at);
    }
}

static const Expr *view_value(Region *r, Scope *scope, const Node *view, const Affine *index)
{
    const Node *x = view->args[0];
    if (!is_number(x)) {
        return region_value(r, scope, x, folded_index(r, view, index));
    }
    Affine at = affine_size(view->attr.offset);
    for (size_t i = 0; i < view->type.rank; i++) {
        at = add_strided(r, at, &index[i], view->attr.strides[i]);
    }
    return number_value(r, x, at);
}

static const Expr *compute(Region *r, Scope *scope, const Node *node, const Affine *index)
{
    if (region_is_memory(node)) {
        return expr_load(r->arena, r->kernel, region_access(r, node, index));
    }
    switch ((int)node->op) {
    case OP_fill:
    case OP_size: return number_value(r, node, affine_int(r->arena, 0));
    case OP_iota: return number_value(r, node, index[0]);
    case OP_map: return map_value(r, scope, node, index);
    case OP_gather: return gather_value(r, scope, node, index);
    case OP_copy: return region_value(r, scope, node->args[0], index);
    case OP_view: return view_value(r, scope, node, index);
    case OP_reduce_sum:
    case OP_reduce_max:
    case OP_reduce_min: return short_reduction(r, scope, node, index);
    default: die("kernel region: %s of node %u cannot be folded", op_name(node->op), node->id);
    }
}

static bool is_simple(const Expr *e)
{
    return e->kind == EXPR_const || e->kind == EXPR_size || e->kind == EXPR_value;
}

// `hoisted`: the value is asked for in a loop whose variable it does not use.
static const Expr *value_in(Region *r, Scope *scope, const Node *node, const Affine *index,
                            bool hoisted)
{
    if (scope->outer && !uses_var(index, node->type.rank, scope->var)) {
        return value_in(r, scope->outer, node, index, true);
    }
    for (size_t i = 0; i < scope->memo.n; i++) {
        const Memo *memo = &scope->memo.items[i];
        if (memo->node == node && same_index(memo->index, index, node->type.rank)) {
            return memo->expr;
        }
    }
    const Held *held = &r->held[node->id];
    const Expr *e =
        held->kind != HELD_no ? held_value(r, node, held, index) : compute(r, scope, node, index);
    if ((hoisted || r->uses[node->id] > 1) && !is_simple(e)) {
        Value id = kernel_add_value(r->kernel);
        stmt_let(r->arena, scope->to, id, e);
        e = expr_value(r->arena, e->dtype, id);
        Memo memo = {.node = node, .index = index, .expr = e};
        vec_push(r->arena, &scope->memo, memo);
    }
    return e;
}

const Expr *region_value(Region *r, Scope *scope, const Node *node, const Affine *index)
{
    return value_in(r, scope, node, index, false);
}

// ---- outputs ----

const Node *region_output_node(const Region *r, size_t k)
{
    const Node *node = r->graph->outputs.items[k].node;
    const Node *view = node->op == OP_copy ? node->args[0] : NULL;
    bool reorders = view && view->op == OP_view && !region_is_memory(view);
    return reorders && !is_number(view->args[0]) ? view->args[0] : node;
}

void region_store_output(Region *r, size_t k, Scope *scope, const Affine *index, const Expr *value)
{
    const Node *output = r->graph->outputs.items[k].node;
    const Node *node = region_output_node(r, k);
    const Size **strides = type_strides(r->arena, &output->type);
    const Size **own = node == output ? strides : type_strides(r->arena, &node->type);
    Access access = {.buffer = r->results[k], .at = affine_int(r->arena, 0)};
    for (size_t i = 0; i < node->type.rank; i++) {
        if (size_is(node->type.shape[i], 1)) {
            continue;
        }
        size_t to = node == output ? i : walking_axis(output->args[0], own[i], node->type.shape[i]);
        if (to == SIZE_MAX) {
            die("kernel region: node %u is stored through a view that is no permutation", node->id);
        }
        access.at = add_strided(r, access.at, &index[i], strides[to]);
    }
    stmt_store(r->arena, scope->to, access, value);
}
