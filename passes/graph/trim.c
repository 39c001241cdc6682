// trim: columns of a product that no view reads are not computed, and the first that is read
// becomes the first.
//
//   %2 = matmul %0, %1 : f32[4, 12]
//   %3 = view %2 {strides = [11, 1], offset = 5} : f32[4, 3]
//     →
//   %2 = view %1 {strides = [12, 1], offset = 2} : f32[8, 6]
//   %3 = matmul %0, %2 : f32[4, 6]
//   %4 = view %3 {strides = [5, 1], offset = 3} : f32[4, 3]
//
// Requires views; establishes that a product read through views of rows alone has no column too
// many. Touches no other product. Linear.
#include "loop/lower.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

// Of a product: the columns that views of rows read.
typedef struct Used {
    bool only_rows; // nothing else reads it
    int64_t first;
    int64_t last;
} Used;

static void add_view(Used *used, const Node *view)
{
    RowView rows;
    int64_t nrows, columns;
    if (!lower_view_of_rows(view, &rows)) {
        used->only_rows = false;
        return;
    }
    size_t rank = view->type.rank;
    size_is_int(view->type.shape[rank - 2], &nrows);
    size_is_int(view->type.shape[rank - 1], &columns);
    for (int64_t i = 0; i < 2; i++) {
        for (int64_t j = 0; j < 2; j++) {
            int64_t at =
                rows.first + rows.per_row * (nrows - 1) * i + rows.per_col * (columns - 1) * j;
            used->first = at < used->first ? at : used->first;
            used->last = at > used->last ? at : used->last;
        }
    }
}

static Used *find_used(Arena *arena, const Graph *graph)
{
    Used *used = arena_new(arena, Used, graph->nodes.n + 1);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        used[i] = (Used){.only_rows = node->op == OP_matmul, .first = INT64_MAX, .last = -1};
        for (size_t k = 0; k < node->nargs; k++) {
            Used *of_arg = &used[node->args[k]->id];
            if (node->op == OP_view && of_arg->only_rows) {
                add_view(of_arg, node);
            } else {
                of_arg->only_rows = false;
            }
        }
    }
    for (size_t i = 0; i < graph->outputs.n; i++) {
        used[graph->outputs.items[i].node->id].only_rows = false;
    }
    return used;
}

// x's members [first, first + n) of its last axis, as a view of what x views.
static Node *last_axis_part(Rewrite *rw, Node *x, int64_t first, int64_t n)
{
    Arena *a = rw->to->arena;
    size_t rank = x->type.rank;
    const Size **shape = arena_new(a, const Size *, rank);
    const Size **strides = arena_new(a, const Size *, rank);
    const Size *step = size_int(a, 1);
    for (size_t i = rank; i-- > 0;) {
        shape[i] = i + 1 == rank ? size_int(a, n) : x->type.shape[i];
        strides[i] = x->op == OP_view ? x->attr.strides[i] : step;
        step = size_mul(a, step, x->type.shape[i]);
    }
    const Size *offset = x->op == OP_view ? x->attr.offset : size_int(a, 0);
    Attr attr = {.strides = strides,
                 .offset = size_add(a, offset, size_scale(a, strides[rank - 1], first))};
    Type type = {.dtype = x->type.dtype, .rank = x->type.rank, .shape = shape};
    Node *base = x->op == OP_view ? x->args[0] : x;
    return ir_add_node(&rw->b, OP_view, &base, 1, &attr, &type);
}

static Node *trim_product(Rewrite *rw, const Node *node, const Used *used)
{
    Node *args[2] = {rw->now[node->args[0]->id], NULL};
    rw->b.at = node->at;
    args[1] =
        last_axis_part(rw, rw->now[node->args[1]->id], used->first, used->last - used->first + 1);
    return ir_add_node(&rw->b, OP_matmul, args, 2, NULL, NULL);
}

// The view of rows, over the product that has fewer columns now.
static Node *move_view(Rewrite *rw, const Node *view, const Used *used)
{
    Arena *a = rw->to->arena;
    Node *x = rw->now[view->args[0]->id];
    size_t rank = view->type.rank;
    RowView rows;
    lower_view_of_rows(view, &rows);
    const Size **strides = arena_new(a, const Size *, rank);
    const Size *step = size_int(a, 1);
    for (size_t i = rank; i-- > 0;) {
        int64_t add = i + 2 == rank ? rows.per_row : 0;
        strides[i] =
            i + 1 == rank ? size_int(a, rows.per_col) : size_add(a, step, size_int(a, add));
        step = size_mul(a, step, x->type.shape[i]);
    }
    Attr attr = {.strides = strides, .offset = size_int(a, rows.first - used->first)};
    rw->b.at = view->at;
    return ir_add_node(&rw->b, OP_view, &x, 1, &attr, &view->type);
}

static bool is_trimmed(const Used *used, const Node *node)
{
    int64_t columns;
    const Used *of = &used[node->id];
    return of->only_rows && of->last >= 0 &&
           size_is_int(node->type.shape[node->type.rank - 1], &columns) &&
           of->last - of->first + 1 < columns;
}

Graph *pass_trim(PassContext *cx, Graph *graph)
{
    Used *used = find_used(cx->arena, graph);
    Rewrite rw = rewrite_begin(cx->arena, graph);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        if (is_trimmed(used, node)) {
            rw.now[i] = trim_product(&rw, node, &used[i]);
        } else if (node->op == OP_view && is_trimmed(used, node->args[0])) {
            rw.now[i] = move_view(&rw, node, &used[node->args[0]->id]);
        } else {
            rw.now[i] = rewrite_copy(&rw, node);
        }
    }
    return rewrite_end(&rw);
}
