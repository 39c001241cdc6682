// fuse: wraps nodes that one kernel computes together.
//
//   attention     scores = q @ k, softmax of what elementwise work makes of them, @ v, and what is
//                 done to the result
//   contraction   a product, and the elementwise work on its elements: bias, activation, residual
//   reduction     reductions over one axis and the elementwise work around them: layer norm,
//                 softmax, pooled means
//   elementwise   what is left
//
//   %2 = matmul %0, %1
//   %3 = add %2, %b             →   %2 = kernel contraction %0, %1, %b { … }
//   %4 = gelu %3                    %3 = result %2
//
// A value that somebody outside needs is one more result. A copy that only puts the axes of a
// result in another order is taken in: the result is stored in its reader's order. Requires
// constants; establishes regions. Chooses greedily, in the order above and then in the graph's. No
// region has more than GROUP_MOST_NODES; quadratic at worst in these.
#include "loop/lower.h"
#include "passes/graph/group.h"

typedef VEC(const Node *) Nodes;

static bool is_free(const Groups *g, const Node *node)
{
    return group_is_work(node) && g->of[node->id] == NO_GROUP;
}

static const Node *only_reader(const Groups *g, const Node *node)
{
    uint32_t first = g->first_reader[node->id];
    bool one = g->first_reader[node->id + 1] == first + 1 && !g->is_output[node->id];
    return one ? g->readers[first] : NULL;
}

static bool same_shape(const Node *x, const Node *y)
{
    if (x->type.rank != y->type.rank) {
        return false;
    }
    for (size_t i = 0; i < x->type.rank; i++) {
        if (!size_equal(x->type.shape[i], y->type.shape[i])) {
            return false;
        }
    }
    return true;
}

static bool reads_directly(const Node *reader, const Node *node)
{
    for (size_t i = 0; i < reader->nargs; i++) {
        if (reader->args[i]->op == OP_view && reader->args[i]->args[0] == node) {
            return false;
        }
    }
    return true;
}

// ---- contraction ----

// A copy of a view that puts the node's axes in another order, each element once.
static bool is_reordering(const Groups *g, const Node *copy, const Node *node)
{
    const Node *view = copy->op == OP_copy ? copy->args[0] : NULL;
    return view && view->op == OP_view && view->args[0] == node && lower_view_folds(view) &&
           size_equal(type_count(g->arena, &view->type), type_count(g->arena, &node->type));
}

// Takes in what is done to each element of `node` alone, and the order in which it is stored.
static void take_epilogue(Groups *g, uint32_t group, const Node *node)
{
    for (const Node *next = only_reader(g, node);
         next && is_free(g, next) && !group_is_full(g, group); next = only_reader(g, node)) {
        if (is_reordering(g, next, node)) {
            group_join(g, group, next);
            return;
        }
        if (next->op != OP_map || !same_shape(next, node) || !reads_directly(next, node)) {
            return;
        }
        group_join(g, group, next);
        node = next;
    }
}

static void fuse_contractions(Groups *g)
{
    for (size_t i = 0; i < g->graph->nodes.n; i++) {
        const Node *node = g->graph->nodes.items[i];
        if (node->op == OP_matmul && is_free(g, node)) {
            uint32_t group = groups_add(g, KERNEL_contraction);
            group_join(g, group, node);
            take_epilogue(g, group, node);
        }
    }
}

// ---- attention ----

static bool is_map(const Node *node, Scalar fn)
{
    return node->op == OP_map && node->attr.fn == fn;
}

// A reduction over the last axis of x, seen with that axis kept.
static const Node *row_reduction(const Node *view, Op op, const Node *x)
{
    const Node *node = group_base(view);
    bool fits = view->op == OP_view && node->op == op && node->args[0] == x &&
                (size_t)node->attr.axes[0] + 1 == x->type.rank;
    return fits ? node : NULL;
}

// e / sum(e) with e = exp(x - max(x)), over the last axis: x, or NULL.
static const Node *match_softmax(const Node *weights, Nodes *nodes, Arena *a)
{
    if (!is_map(weights, S_div) || !is_map(weights->args[0], S_exp)) {
        return NULL;
    }
    const Node *e = weights->args[0];
    const Node *sum = row_reduction(weights->args[1], OP_reduce_sum, e);
    const Node *shifted = e->args[0];
    if (!sum || !is_map(shifted, S_sub)) {
        return NULL;
    }
    const Node *x = shifted->args[0];
    const Node *most = row_reduction(shifted->args[1], OP_reduce_max, x);
    if (!most) {
        return NULL;
    }
    const Node *found[] = {weights, e, sum, shifted, most};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        vec_push(a, nodes, found[i]);
    }
    return x;
}

static bool contains(const Nodes *nodes, const Node *node)
{
    for (size_t i = 0; i < nodes->n; i++) {
        if (nodes->items[i] == node) {
            return true;
        }
    }
    return false;
}

// Whether a product's rows are those of the scores x: it can be computed for a block of them.
static bool has_rows_of(const Node *product, const Node *x)
{
    size_t rank = x->type.rank;
    bool same = product->op == OP_matmul && product->type.rank == rank;
    for (size_t i = 0; same && i + 1 < rank; i++) {
        same = size_equal(product->type.shape[i], x->type.shape[i]);
    }
    return same && size_is_int(product->type.shape[rank - 1], NULL);
}

// Whether a view shows rows of a product of which a block of rows reads a window that the kernel
// can place.
static bool is_term_view(const Node *view, const Node *x)
{
    RowView rows;
    if (view->op != OP_view || !has_rows_of(view->args[0], x) || !lower_view_of_rows(view, &rows)) {
        return false;
    }
    int64_t nrows;
    size_is_int(view->type.shape[view->type.rank - 2], &nrows);
    return rows.per_row == 0 ||
           (rows.per_row < 0 && rows.per_col == 1 && rows.first + rows.per_row * (nrows - 1) == 0);
}

// Whether elementwise work of fewer columns than x's is made of terms: a segment's score, the same
// for many keys.
static bool depends_on_term(const Groups *g, const Node *node, const Node *x)
{
    Nodes stack = {0};
    vec_push(g->arena, &stack, node);
    for (size_t i = 0; i < stack.n; i++) {
        for (size_t k = 0; k < stack.items[i]->nargs; k++) {
            const Node *arg = stack.items[i]->args[k];
            if (is_term_view(arg, x)) {
                return true;
            }
            if (arg->op == OP_map && stack.n < 64 && !contains(&stack, arg)) {
                vec_push(g->arena, &stack, arg);
            }
        }
    }
    return false;
}

// The elementwise work between products and the softmax's operand x, with the products, as far as
// one kernel takes so much; how many products there are.
static size_t take_scores(const Groups *g, const Node *x, Nodes *nodes)
{
    size_t nproducts = 0;
    size_t first = nodes->n;
    vec_push(g->arena, nodes, x);
    for (size_t i = first; i < nodes->n && nodes->n < GROUP_MOST_NODES; i++) {
        const Node *node = nodes->items[i];
        if (node->op == OP_matmul) {
            nproducts++;
            continue;
        }
        for (size_t k = 0; k < node->nargs; k++) {
            const Node *arg = node->args[k];
            const Node *base = group_base(arg);
            bool computed =
                base == arg && (arg->op == OP_matmul || arg->op == OP_map) && same_shape(arg, x);
            bool on_the_way = base == arg && arg->op == OP_map && depends_on_term(g, arg, x);
            if ((computed || on_the_way || is_term_view(arg, x)) && !contains(nodes, base)) {
                vec_push(g->arena, nodes, base);
            }
        }
    }
    return nproducts;
}

// The elementwise work that makes a product's A, if nothing else needs it.
static void take_left(Groups *g, uint32_t group, const Node *product)
{
    const Node *a = product->args[0];
    bool fits = a->op == OP_map && is_free(g, a) && only_reader(g, a) == product &&
                group_base(product->args[1]) != a; // B is read from memory
    for (size_t i = 0; fits && i < a->nargs; i++) {
        fits = !group_is_work(group_base(a->args[i])) || g->of[group_base(a->args[i])->id] != group;
    }
    if (fits && !group_is_full(g, group)) {
        group_join(g, group, a);
    }
}

static bool try_attention(Groups *g, const Node *values)
{
    Nodes nodes = {0};
    const Node *x = match_softmax(values->args[0], &nodes, g->arena);
    bool fits = x && x->type.rank == values->type.rank && x->type.rank >= 2 &&
                size_is_int(x->type.shape[x->type.rank - 1], NULL) &&
                size_is_int(x->type.shape[x->type.rank - 2], NULL);
    size_t nproducts = fits ? take_scores(g, x, &nodes) : 0;
    if (nproducts == 0 || nproducts > LOWER_MOST_TERMS || nodes.n >= GROUP_MOST_NODES) {
        return false;
    }
    uint32_t group = groups_add(g, KERNEL_attention);
    bool ok = true;
    for (size_t i = 0; i < nodes.n; i++) {
        ok = ok && is_free(g, nodes.items[i]);
        if (ok) {
            group_join(g, group, nodes.items[i]);
        }
    }
    group_join(g, group, values);
    for (size_t i = 0; i < nodes.n; i++) {
        ok = ok && group_holds_readers(g, group, nodes.items[i]);
    }
    ok = ok && g->of[group_base(values->args[1])->id] != group;
    if (!ok) { // somebody else needs the scores
        for (size_t i = 0; i < g->graph->nodes.n; i++) {
            g->of[i] = g->of[i] == group ? NO_GROUP : g->of[i];
        }
        g->classes.n--;
        g->sizes.n--;
        return false;
    }
    for (size_t i = 0; i < nodes.n; i++) {
        if (nodes.items[i]->op == OP_matmul) {
            take_left(g, group, nodes.items[i]);
        }
    }
    take_epilogue(g, group, values);
    return true;
}

static void fuse_attention(Groups *g)
{
    for (size_t i = 0; i < g->graph->nodes.n; i++) {
        const Node *node = g->graph->nodes.items[i];
        if (node->op == OP_matmul && is_free(g, node)) {
            try_attention(g, node);
        }
    }
}

// ---- rows ----

typedef struct RowGroup {
    Groups *g;
    uint32_t group;
    size_t nouter;            // leading axes that stay
    const Size *const *outer; // [nouter] their lengths
    Nodes members;
} RowGroup;

static bool has_outer(const RowGroup *rows, const Node *node)
{
    if (node->type.rank < rows->nouter) {
        return false;
    }
    for (size_t i = 0; i < rows->nouter; i++) {
        if (!size_equal(node->type.shape[i], rows->outer[i])) {
            return false;
        }
    }
    return true;
}

// A node that a kernel over these rows can compute.
static bool fits_rows(const RowGroup *rows, const Node *node)
{
    if (!is_free(rows->g, node)) {
        return false;
    }
    if (lower_takes_pass(node)) {
        return (size_t)node->attr.axes[0] == rows->nouter && has_outer(rows, node->args[0]);
    }
    return (node->op == OP_map || node->op == OP_gather) && has_outer(rows, node);
}

// Whether a view keeps the outer axes where they are and folds.
static bool keeps_rows(const RowGroup *rows, const Node *view)
{
    const Node *x = view->args[0];
    if (!lower_view_folds(view) || view->type.rank < rows->nouter || x->type.rank < rows->nouter) {
        return false;
    }
    const Size *step = size_int(rows->g->arena, 1);
    for (size_t i = x->type.rank; i-- > 0;) {
        bool outer = i < rows->nouter && !size_is(x->type.shape[i], 1);
        if (outer && !(size_equal(view->attr.strides[i], step) &&
                       size_equal(view->type.shape[i], x->type.shape[i]))) {
            return false;
        }
        step = size_mul(rows->g->arena, step, x->type.shape[i]);
    }
    return true;
}

// Whether operand k of a node may be computed in the node's own region: its rows are the node's
// rows.
static bool operand_folds(const RowGroup *rows, const Node *node, size_t k)
{
    const Node *arg = node->args[k];
    if (node->op == OP_gather && k == 0) {
        return false; // a table is read from memory
    }
    if (node->op == OP_map && arg->type.rank != node->type.rank) {
        return false; // it broadcasts along the outer axes: another row's value is meant
    }
    return arg->op != OP_view || keeps_rows(rows, arg);
}

static void join(RowGroup *rows, const Node *node)
{
    group_join(rows->g, rows->group, node);
    vec_push(rows->g->arena, &rows->members, node);
}

// Whether a node is computed from a member, looking no further back than the first of them.
static bool depends(const RowGroup *rows, const Node *node, uint32_t first)
{
    Arena *a = rows->g->arena;
    ArenaMark mark = arena_mark(a);
    Nodes stack = {0};
    bool *seen = arena_new(a, bool, node->id - first + 1);
    bool found = false;
    vec_push(a, &stack, node);
    while (stack.n > 0 && !found) {
        const Node *x = stack.items[--stack.n];
        found = rows->g->of[x->id] == rows->group;
        for (size_t i = 0; i < x->nargs; i++) {
            const Node *arg = x->args[i];
            if (arg->id >= first && !seen[arg->id - first]) {
                seen[arg->id - first] = true;
                vec_push(a, &stack, arg);
            }
        }
    }
    arena_reset(a, mark);
    return found;
}

static uint32_t first_member(const RowGroup *rows)
{
    uint32_t first = UINT32_MAX;
    for (size_t i = 0; i < rows->members.n; i++) {
        first = rows->members.items[i]->id < first ? rows->members.items[i]->id : first;
    }
    return first;
}

// A node joins if everything it reads is a member that folds, or known before the region runs.
static bool node_joins(const RowGroup *rows, const Node *node)
{
    if (group_is_full(rows->g, rows->group) || !fits_rows(rows, node)) {
        return false;
    }
    uint32_t first = first_member(rows);
    for (size_t k = 0; k < node->nargs; k++) {
        const Node *base = group_base(node->args[k]);
        bool member = rows->g->of[base->id] == rows->group;
        if (member ? !operand_folds(rows, node, k)
                   : base->id >= first && depends(rows, base, first)) {
            return false;
        }
    }
    return true;
}

static bool grow_down(RowGroup *rows)
{
    bool grew = false;
    for (size_t i = 0; i < rows->members.n; i++) {
        const Node *node = rows->members.items[i];
        for (uint32_t k = rows->g->first_reader[node->id]; k < rows->g->first_reader[node->id + 1];
             k++) {
            const Node *reader = rows->g->readers[k];
            if (node_joins(rows, reader)) {
                join(rows, reader);
                grew = true;
            }
        }
    }
    return grew;
}

// Whether all readers of a node are members that compute it on the way.
static bool is_read_inside(const RowGroup *rows, const Node *node)
{
    const Groups *g = rows->g;
    if (!group_holds_readers(g, rows->group, node)) {
        return false;
    }
    for (uint32_t i = g->first_reader[node->id]; i < g->first_reader[node->id + 1]; i++) {
        const Node *reader = g->readers[i];
        for (size_t k = 0; k < reader->nargs; k++) {
            if (group_base(reader->args[k]) == node && !operand_folds(rows, reader, k)) {
                return false;
            }
        }
    }
    return true;
}

static bool grow_up(RowGroup *rows)
{
    bool grew = false;
    for (size_t i = 0; i < rows->members.n; i++) {
        const Node *node = rows->members.items[i];
        for (size_t k = 0; k < node->nargs; k++) {
            const Node *base = group_base(node->args[k]);
            if (is_read_inside(rows, base) && node_joins(rows, base)) {
                join(rows, base);
                grew = true;
            }
        }
    }
    return grew;
}

static void fuse_rows(Groups *g)
{
    for (size_t i = 0; i < g->graph->nodes.n; i++) {
        const Node *node = g->graph->nodes.items[i];
        if (!lower_takes_pass(node) || !is_free(g, node)) {
            continue;
        }
        RowGroup rows = {.g = g,
                         .group = groups_add(g, KERNEL_reduction),
                         .nouter = (size_t)node->attr.axes[0],
                         .outer = node->args[0]->type.shape};
        join(&rows, node);
        while (grow_up(&rows) || grow_down(&rows)) {
        }
    }
}

// ---- elementwise ----

// Whether every reader of a node reads it as it is, or through a view that folds.
static bool reads_fold(const Groups *g, const Node *node)
{
    for (uint32_t i = g->first_reader[node->id]; i < g->first_reader[node->id + 1]; i++) {
        const Node *reader = g->readers[i];
        for (size_t k = 0; k < reader->nargs; k++) {
            const Node *arg = reader->args[k];
            bool table = reader->op == OP_gather && k == 0;
            if (group_base(arg) == node && (table || (arg != node && !lower_view_folds(arg)))) {
                return false;
            }
        }
    }
    return true;
}

// What an operand of a member is computed by, if it can be computed on the way: itself, or what a
// view that folds views.
static const Node *joining(const Groups *g, uint32_t group, const Node *reader, const Node *arg)
{
    const Node *base = group_base(arg);
    if (group_is_full(g, group) || !is_free(g, base) || !group_holds_readers(g, group, base)) {
        return NULL;
    }
    bool computed = base->op == OP_map || (lower_is_reduce(base) && !lower_takes_pass(base));
    bool aligned = reader->op == OP_concat || (reader->op == OP_map && same_shape(arg, reader));
    return computed && aligned && reads_fold(g, base) ? base : NULL;
}

static void fuse_elementwise(Groups *g)
{
    for (size_t i = g->graph->nodes.n; i-- > 0;) {
        const Node *root = g->graph->nodes.items[i];
        if (!is_free(g, root) || lower_takes_pass(root)) {
            continue;
        }
        uint32_t group = groups_add(g, KERNEL_elementwise);
        Nodes members = {0};
        group_join(g, group, root);
        vec_push(g->arena, &members, root);
        for (size_t m = 0; m < members.n; m++) {
            const Node *node = members.items[m];
            for (size_t k = 0; k < node->nargs; k++) {
                const Node *base = joining(g, group, node, node->args[k]);
                if (base) {
                    group_join(g, group, base);
                    vec_push(g->arena, &members, base);
                }
            }
        }
    }
}

Graph *pass_fuse(PassContext *cx, Graph *graph)
{
    Groups g = groups_begin(cx->arena, graph);
    fuse_attention(&g);
    fuse_contractions(&g);
    fuse_rows(&g);
    fuse_elementwise(&g);
    return groups_build(&g);
}
