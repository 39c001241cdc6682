// Rows: reductions and the elementwise work around them. The leading axes that nothing reduces are
// outer loops; what is left of a tensor is its row. A reduction is known one pass over the row
// after its operand, so the row is passed over as often as reductions follow each other: layer norm
// three times, softmax three times. What one pass computes and a later one needs is kept in
// scratch, unless it is a plain load.
//
//   pass 0   t[j] = x[j] + y[j]            kept       sum += t[j]
//            mean = sum / n                           (between passes: once a row)
//   pass 1   c[j] = t[j] - mean            kept       squares += c[j] * c[j]
//            scale = rsqrt(squares / n + eps)
//   pass 2   out[j] = c[j] * scale * weight[j] + bias[j]
#include "loop/lower_region.h"

#include <math.h>

#define PART_ELEMENTS 16384 // work of one part

typedef struct Passes {
    Region *r;
    const Rows *rows;
    uint32_t *level; // [nodes] the first pass in which the node's row can be computed
    bool *keep;      // [nodes] computed in its own pass, read from scratch later
    bool *seen;      // [nodes] of the pass being planned
    uint32_t last;   // the pass of the roots
} Passes;

// A reduction that takes a pass.
static bool takes_pass(const Passes *p, const Node *node)
{
    return lower_takes_pass(node) && p->r->held[node->id].kind == HELD_no;
}

// Elements of the node's row, 0 if it has none (it is the same for the whole row); -1 if a size is
// not fixed.
static int64_t row_elements(const Passes *p, const Node *node)
{
    int64_t count = 1;
    for (size_t i = p->rows->nouter; i < node->type.rank; i++) {
        int64_t n;
        if (!size_is_int(node->type.shape[i], &n)) {
            return -1;
        }
        count *= n;
    }
    return node->type.rank <= p->rows->nouter || count == 1 ? 0 : count;
}

static void find_levels(Passes *p, const Node *const *roots, size_t nroots)
{
    const Graph *g = p->r->graph;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *node = g->nodes.items[i];
        uint32_t level = 0;
        for (size_t k = 0; k < node->nargs && p->r->held[i].kind == HELD_no; k++) {
            uint32_t of_arg = p->level[node->args[k]->id];
            level = of_arg > level ? of_arg : level;
        }
        p->level[i] = takes_pass(p, node) ? level + 1 : level;
    }
    for (size_t i = 0; i < nroots; i++) {
        uint32_t level = p->level[roots[i]->id];
        p->last = level > p->last ? level : p->last;
    }
}

// What pass `pass` needs of earlier ones is kept there.
static void plan(Passes *p, const Node *node, uint32_t pass)
{
    bool at_hand = p->r->held[node->id].kind != HELD_no || takes_pass(p, node) ||
                   region_is_memory(node) || node->nargs == 0;
    if (at_hand || p->seen[node->id]) {
        return;
    }
    p->seen[node->id] = true;
    if (p->level[node->id] < pass && node->op != OP_gather && row_elements(p, node) > 0) {
        p->keep[node->id] = true;
        return;
    }
    for (size_t k = 0; k < node->nargs; k++) {
        plan(p, node->args[k], pass);
    }
}

static void plan_passes(Passes *p, const Node *const *roots, size_t nroots)
{
    const Graph *g = p->r->graph;
    for (uint32_t pass = p->last + 1; pass-- > 0;) {
        p->seen = arena_new(p->r->arena, bool, g->nodes.n + 1);
        for (size_t i = 0; i < nroots && pass == p->last; i++) {
            plan(p, roots[i], pass);
        }
        for (size_t i = 0; i < g->nodes.n; i++) {
            const Node *node = g->nodes.items[i];
            if (takes_pass(p, node) && p->level[i] == pass + 1) {
                plan(p, node->args[0], pass);
            }
        }
        for (size_t i = 0; i < g->nodes.n; i++) {
            if (p->keep[i] && p->level[i] == pass) {
                const Node *node = g->nodes.items[i];
                for (size_t k = 0; k < node->nargs; k++) {
                    plan(p, node->args[k], pass);
                }
            }
        }
    }
}

// ---- emission ----

// Whether two nodes have rows of one shape.
static bool same_row(const Passes *p, const Node *x, const Node *y)
{
    if (x->type.rank != y->type.rank) {
        return false;
    }
    for (size_t i = p->rows->nouter; i < x->type.rank; i++) {
        if (!size_equal(x->type.shape[i], y->type.shape[i])) {
            return false;
        }
    }
    return true;
}

static Affine *row_index(const Passes *p, const Node *node)
{
    Affine *index = arena_new(p->r->arena, Affine, node->type.rank + 1);
    for (size_t i = 0; i < node->type.rank; i++) {
        index[i] = i < p->rows->nouter ? p->rows->outer[i] : affine_int(p->r->arena, 0);
    }
    return index;
}

// Scratch for a node's row, from axis nouter on.
static void hold_row(Passes *p, const Node *node, int64_t count)
{
    Region *r = p->r;
    Held *held = &r->held[node->id];
    int64_t *stride = arena_new(r->arena, int64_t, node->type.rank + 1);
    int64_t step = 1;
    for (size_t i = node->type.rank; i-- > p->rows->nouter;) {
        int64_t n = 1;
        size_is_int(node->type.shape[i], &n);
        stride[i] = step;
        step *= n;
    }
    held->kind = HELD_buffer;
    held->buffer = kernel_add_scratch(r->kernel, str_format(r->arena, "row%u", node->id),
                                      node->type.dtype, count);
    held->base = affine_int(r->arena, 0);
    held->stride = stride;
}

static void store_held(Passes *p, Scope *scope, const Node *node, const Affine *index,
                       const Expr *value)
{
    const Held *held = &p->r->held[node->id];
    Access access = {.buffer = held->buffer, .at = held->base};
    for (size_t i = 0; i < node->type.rank; i++) {
        const Size *stride = size_int(p->r->arena, held->stride[i]);
        access.at = affine_add(p->r->arena, access.at, affine_scale(p->r->arena, index[i], stride));
    }
    stmt_store(p->r->arena, scope->to, access, value);
}

// Loops over the row of `shape`, serial but for the vector, which runs along the last axis longer
// than 1 and is the innermost. Each has a scope; they are put into each other by row_loops_end,
// when their bodies are complete.
typedef struct RowLoops {
    Affine *index; // [rank]
    size_t n;
    Stmt **loops;  // [n] the vector last
    Scope *scopes; // [n]
} RowLoops;

static void add_row_loop(const Passes *p, RowLoops *loops, const Node *shape, size_t axis,
                         LoopTag tag)
{
    Stmt *loop = loop_new(p->r, tag, tag == LOOP_vector ? "v" : "i", shape->type.shape[axis]);
    loops->index[axis] = loop_index(p->r, loop);
    loops->loops[loops->n] = loop;
    loops->scopes[loops->n] =
        (Scope){.outer = loops->n ? &loops->scopes[loops->n - 1] : p->rows->scope,
                .to = &loop->body,
                .var = loop->var};
    loops->n++;
}

// `outermost`: the axis whose loop is the outermost, or SIZE_MAX.
static RowLoops row_loops(const Passes *p, const Node *shape, size_t outermost)
{
    size_t rank = shape->type.rank;
    RowLoops loops = {.index = row_index(p, shape),
                      .loops = arena_new(p->r->arena, Stmt *, rank + 1),
                      .scopes = arena_new(p->r->arena, Scope, rank + 1)};
    size_t vector = rank - 1;
    while (vector > p->rows->nouter &&
           (size_is(shape->type.shape[vector], 1) || vector == outermost)) {
        vector--;
    }
    if (outermost < rank) {
        add_row_loop(p, &loops, shape, outermost, LOOP_serial);
    }
    for (size_t i = p->rows->nouter; i < rank; i++) {
        if (i != vector && i != outermost && !size_is(shape->type.shape[i], 1)) {
            add_row_loop(p, &loops, shape, i, LOOP_serial);
        }
    }
    add_row_loop(p, &loops, shape, vector, LOOP_vector);
    return loops;
}

static Scope *row_scope(const RowLoops *loops) { return &loops->scopes[loops->n - 1]; }

static Stmt *row_vector(const RowLoops *loops) { return loops->loops[loops->n - 1]; }

static void row_loops_end(const Passes *p, const RowLoops *loops)
{
    for (size_t i = loops->n; i-- > 0;) {
        vec_push(p->r->arena, loops->scopes[i].outer->to, loops->loops[i]);
    }
}

// What a reduction over nothing would be.
static double identity(const Node *node)
{
    Scalar fn = region_reduce_function(node);
    bool whole = node->type.dtype == DT_i32;
    if (fn == S_max) {
        return whole ? INT32_MIN : -(double)INFINITY;
    }
    if (fn == S_min) {
        return whole ? INT32_MAX : (double)INFINITY;
    }
    return fn == S_and ? 1 : 0;
}

// One pass's loop over the rows shaped as `shape`: reductions to a value, and rows that are kept.
static void emit_row_loop(Passes *p, const Node *const *reduces, size_t nreduces,
                          const Node *const *kept, size_t nkept, const Node *shape)
{
    Region *r = p->r;
    RowLoops loops = row_loops(p, shape, SIZE_MAX);
    for (size_t i = 0; i < nkept; i++) {
        const Expr *value = region_value(r, row_scope(&loops), kept[i], loops.index);
        hold_row(p, kept[i], row_elements(p, kept[i]));
        store_held(p, row_scope(&loops), kept[i], loops.index, value);
    }
    for (size_t i = 0; i < nreduces; i++) {
        const Node *node = reduces[i];
        const Expr *value = region_value(r, row_scope(&loops), node->args[0], loops.index);
        Held *held = &r->held[node->id];
        held->kind = HELD_value;
        held->value = kernel_add_value(r->kernel);
        stmt_reduce(r->arena, row_vector(&loops), held->value, region_reduce_function(node),
                    identity(node), value);
    }
    row_loops_end(p, &loops);
}

// A reduction whose result is a row itself: accumulated in scratch, the reduced axis outermost.
static void emit_accumulation(Passes *p, const Node *node, int64_t count)
{
    Region *r = p->r;
    hold_row(p, node, count);
    RowLoops clear = row_loops(p, node, SIZE_MAX);
    store_held(p, row_scope(&clear), node, clear.index,
               expr_const(r->arena, node->type.dtype, identity(node)));
    row_loops_end(p, &clear);

    size_t axis = (size_t)node->attr.axes[0];
    RowLoops loops = row_loops(p, node->args[0], axis);
    Affine *to = arena_new(r->arena, Affine, node->type.rank + 1);
    for (size_t i = 0; i < node->type.rank; i++) {
        to[i] = loops.index[i < axis ? i : i + 1];
    }
    const Expr *args[2] = {region_value(r, row_scope(&loops), node, to),
                           region_value(r, row_scope(&loops), node->args[0], loops.index)};
    store_held(p, row_scope(&loops), node, to,
               expr_map(r->arena, region_reduce_function(node), args, 2));
    row_loops_end(p, &loops);
}

// The nodes of this pass that have a row of one shape with `first`.
static void emit_group(Passes *p, uint32_t pass, const Node *first, bool *done)
{
    const Graph *g = p->r->graph;
    const Node **reduces = arena_new(p->r->arena, const Node *, g->nodes.n + 1);
    const Node **kept = arena_new(p->r->arena, const Node *, g->nodes.n + 1);
    size_t nreduces = 0;
    size_t nkept = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *node = g->nodes.items[i];
        if (done[i]) {
            continue;
        }
        if (takes_pass(p, node) && p->level[i] == pass + 1 && row_elements(p, node) == 0 &&
            same_row(p, node->args[0], first)) {
            reduces[nreduces++] = node;
            done[i] = true;
        } else if (p->keep[i] && p->level[i] == pass && same_row(p, node, first)) {
            kept[nkept++] = node;
            done[i] = true;
        }
    }
    emit_row_loop(p, reduces, nreduces, kept, nkept, first);
}

static void emit_pass(Passes *p, uint32_t pass)
{
    const Graph *g = p->r->graph;
    bool *done = arena_new(p->r->arena, bool, g->nodes.n + 1);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *node = g->nodes.items[i];
        if (done[i]) {
            continue;
        }
        if (takes_pass(p, node) && p->level[i] == pass + 1) {
            if (row_elements(p, node) > 0) {
                emit_accumulation(p, node, row_elements(p, node));
                done[i] = true;
            } else {
                emit_group(p, pass, node->args[0], done);
            }
        } else if (p->keep[i] && p->level[i] == pass) {
            emit_group(p, pass, node, done);
        }
    }
}

static bool rows_are_fixed(Passes *p)
{
    const Graph *g = p->r->graph;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *node = g->nodes.items[i];
        const Node *row = takes_pass(p, node) ? node->args[0] : p->keep[i] ? node : NULL;
        for (size_t k = p->rows->nouter; row && k < row->type.rank; k++) {
            int64_t n;
            if (!region_fixed(p->r, row->type.shape[k], "a reduced axis", &n)) {
                return false;
            }
        }
    }
    return true;
}

bool rows_reduce(Region *r, const Rows *rows, const Node *const *roots, size_t nroots)
{
    size_t n = r->graph->nodes.n + 1;
    Passes p = {.r = r,
                .rows = rows,
                .level = arena_new(r->arena, uint32_t, n),
                .keep = arena_new(r->arena, bool, n)};
    find_levels(&p, roots, nroots);
    plan_passes(&p, roots, nroots);
    if (!rows_are_fixed(&p)) {
        return false;
    }
    // Levels and plans are of the state before any pass: what a pass holds must not change them.
    for (uint32_t pass = 0; pass < p.last; pass++) {
        emit_pass(&p, pass);
    }
    return true;
}

// ---- the region ----

// Axes in front of the first that any reduction takes.
static size_t outer_axes(const Region *r)
{
    size_t nouter = SIZE_MAX;
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        const Node *node = r->graph->nodes.items[i];
        if (lower_takes_pass(node) && (size_t)node->attr.axes[0] < nouter) {
            nouter = (size_t)node->attr.axes[0];
        }
    }
    return nouter;
}

static bool emit_output(Region *r, const Rows *rows, size_t k)
{
    const Node *node = region_output_node(r, k);
    Passes p = {.r = r, .rows = rows};
    if (node->type.rank == rows->nouter) { // one number a row
        region_store_output(r, k, rows->scope, rows->outer,
                            region_value(r, rows->scope, node, rows->outer));
        return true;
    }
    for (size_t i = rows->nouter; i < node->type.rank; i++) {
        int64_t n;
        if (!region_fixed(r, node->type.shape[i], "an axis of a row", &n)) {
            return false;
        }
    }
    RowLoops loops = row_loops(&p, node, SIZE_MAX);
    const Expr *value = region_value(r, row_scope(&loops), node, loops.index);
    region_store_output(r, k, row_scope(&loops), loops.index, value);
    row_loops_end(&p, &loops);
    return true;
}

// Rows that one part does: enough work, from the longest row there is.
static int64_t rows_of_a_part(const Region *r, size_t nouter)
{
    Rows rows = {.nouter = nouter};
    Passes p = {.r = (Region *)r, .rows = &rows};
    int64_t longest = 1;
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        const Node *node = r->graph->nodes.items[i];
        if (lower_is_reduce(node)) {
            int64_t n = row_elements(&p, node->args[0]);
            longest = n > longest ? n : longest;
        }
    }
    return longest >= PART_ELEMENTS ? 1 : PART_ELEMENTS / longest;
}

bool lower_reduction(Region *r)
{
    const Node *first = region_output_node(r, 0);
    size_t nouter = outer_axes(r);
    if (nouter > first->type.rank) {
        die("kernel region: reduction over axis %zu of a result of rank %zu", nouter,
            (size_t)first->type.rank);
    }
    Affine *index = arena_new(r->arena, Affine, first->type.rank + 1);
    Stmts *to = region_outer_loops(r, first->type.shape, nouter, rows_of_a_part(r, nouter), index);
    Scope scope = {.to = to, .var = NO_VAR};
    Rows rows = {.nouter = nouter, .outer = index, .scope = &scope};
    const Node **roots = arena_new(r->arena, const Node *, r->graph->outputs.n);
    for (size_t k = 0; k < r->graph->outputs.n; k++) {
        roots[k] = region_output_node(r, k);
    }
    if (!rows_reduce(r, &rows, roots, r->graph->outputs.n)) {
        return false;
    }
    for (size_t k = 0; k < r->graph->outputs.n; k++) {
        if (!emit_output(r, &rows, k)) {
            return false;
        }
    }
    return true;
}
