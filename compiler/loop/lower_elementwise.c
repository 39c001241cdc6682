// Elementwise regions: one nest of loops over the result, a vector along its last axis, everything
// else folded into loads and expressions. Several results share the nest; the parts of a concat
// have a nest each, into one buffer.
#include "loop/lower_region.h"

#define PART_ELEMENTS 16384 // work of one part

// Loops over the axes from `first` on, appended to `scope`; the last one is the vector. Stores the
// value of `node` in output `k` at its index plus `shift` on axis `axis`.
typedef struct Nest {
    size_t first;
    Affine *index; // [rank] of the node, [0, first) filled
    size_t axis;
    const Size *shift;
} Nest;

// A last axis of free length (the batch) is no vector: each of its members is one of its own.
static bool has_vector(const Type *type)
{
    return type->rank > 0 && size_is_int(type->shape[type->rank - 1], NULL);
}

static size_t outer_axes(const Type *type)
{
    return has_vector(type) ? type->rank - 1 : type->rank;
}

static void emit_nest(Region *r, Stmts *to, const Nest *nest, const Node *const *nodes,
                      const size_t *outputs, size_t nnodes)
{
    const Type *type = &nodes[0]->type;
    size_t outer_end = outer_axes(type);
    for (size_t i = nest->first; i < outer_end; i++) {
        Stmt *loop = loop_new(r, LOOP_serial, "i", type->shape[i]);
        nest->index[i] = loop_index(r, loop);
        vec_push(r->arena, to, loop);
        to = &loop->body;
    }
    bool vectorised = has_vector(type);
    const Size *lanes = vectorised ? type->shape[type->rank - 1] : size_int(r->arena, 1);
    Stmt *vector = loop_new(r, LOOP_vector, "v", lanes);
    if (vectorised) {
        nest->index[type->rank - 1] = loop_index(r, vector);
    }
    Scope outer = {.to = to, .var = NO_VAR};
    Scope inner = {.outer = &outer, .to = &vector->body, .var = vector->var};
    for (size_t k = 0; k < nnodes; k++) {
        const Expr *value = region_value(r, &inner, nodes[k], nest->index);
        Affine *at = arena_new(r->arena, Affine, type->rank + 1);
        for (size_t i = 0; i < type->rank; i++) {
            bool shifted = nest->shift && i == nest->axis;
            at[i] = shifted ? affine_add(r->arena, nest->index[i], affine_size(nest->shift))
                            : nest->index[i];
        }
        region_store_output(r, outputs[k], &inner, at, value);
    }
    vec_push(r->arena, to, vector);
}

static int64_t rows_of_a_part(const Type *type)
{
    int64_t lanes = 1;
    if (has_vector(type)) {
        size_is_int(type->shape[type->rank - 1], &lanes);
    }
    return lanes >= PART_ELEMENTS ? 1 : PART_ELEMENTS / lanes;
}

static void lower_concat(Region *r, const Node *concat)
{
    size_t axis = (size_t)concat->attr.axis;
    size_t rank = concat->type.rank;
    Affine *index = arena_new(r->arena, Affine, rank + 1);
    size_t shared = axis < rank - 1 ? axis : rank - 1; // the vector's axis is never an outer loop
    Stmts *to = region_outer_loops(r, concat->type.shape, shared, 1, index);
    const Size *shift = size_int(r->arena, 0);
    size_t output = 0;
    for (size_t i = 0; i < concat->nargs; i++) {
        const Node *part = concat->args[i];
        Affine *at = arena_new(r->arena, Affine, rank + 1);
        for (size_t k = 0; k < shared; k++) {
            at[k] = index[k];
        }
        Nest nest = {.first = shared, .index = at, .axis = axis, .shift = shift};
        emit_nest(r, to, &nest, &part, &output, 1);
        shift = size_add(r->arena, shift, part->type.shape[axis]);
    }
}

bool lower_elementwise(Region *r)
{
    size_t n = r->graph->outputs.n;
    const Node **nodes = arena_new(r->arena, const Node *, n);
    size_t *outputs = arena_new(r->arena, size_t, n);
    for (size_t k = 0; k < n; k++) {
        nodes[k] = region_output_node(r, k);
        outputs[k] = k;
    }
    if (nodes[0]->op == OP_concat) {
        lower_concat(r, nodes[0]);
        return true;
    }
    const Type *type = &nodes[0]->type;
    size_t outer = outer_axes(type);
    Affine *index = arena_new(r->arena, Affine, type->rank + 1);
    Stmts *to = region_outer_loops(r, type->shape, outer, rows_of_a_part(type), index);
    Nest nest = {.first = outer, .index = index};
    emit_nest(r, to, &nest, nodes, outputs, n);
    return true;
}
