// prepare: what parameters and fixed sizes alone determine moves to the graph's `prepare`, and
// stands in the graph as constants. A view of such a value stays where it is read, so that its
// reader may ask for a layout.
//
//   %1 = param "w"              prepare { %0 = param "w"   %1 = neg %0   output "prepared.0" = %1 }
//   %2 = neg %1             →   %1 = constant "prepared.0"
//   %3 = view %2                %2 = view %1
//   %4 = matmul %0, %3          %3 = matmul %0, %2
//
// Requires views; establishes that parameters stand in prepare only. Plain numbers (fill, iota,
// size) stay. Linear.
#include "passes/graph/group.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

typedef struct Prepare {
    const Graph *from;
    bool *is_static; // [nodes]
    Graph *prepare;
    Node **inside; // [nodes] what stands for a static node in prepare
    Builder b;
    size_t nnamed; // constants that are no parameter
} Prepare;

static bool is_fixed(const Type *type)
{
    for (size_t i = 0; i < type->rank; i++) {
        if (!size_is_int(type->shape[i], NULL)) {
            return false;
        }
    }
    return true;
}

static void find_static(Prepare *p)
{
    for (size_t i = 0; i < p->from->nodes.n; i++) {
        const Node *node = p->from->nodes.items[i];
        bool known = node->op == OP_param ||
                     (group_is_number(node) &&
                      !(node->op == OP_size && size_has_symbols(node->attr.size))) ||
                     (node->nargs > 0 && op_trait(node->op) != TRAIT_region);
        for (size_t k = 0; known && k < node->nargs; k++) {
            known = p->is_static[node->args[k]->id];
        }
        p->is_static[i] = known && is_fixed(&node->type);
    }
}

static bool stays(const Node *node) { return group_is_number(node) || node->op == OP_view; }

// Copies a static node into prepare; its operands are there.
static void move_inside(Prepare *p, const Node *node)
{
    Node **args = arena_new(p->prepare->arena, Node *, node->nargs + 1);
    for (size_t i = 0; i < node->nargs; i++) {
        args[i] = p->inside[node->args[i]->id];
    }
    p->b.at = node->at;
    p->inside[node->id] = ir_add_node(&p->b, node->op, args, node->nargs, &node->attr, &node->type);
}

static Node *make_constant(Prepare *p, Rewrite *rw, const Node *node)
{
    Str name = node->op == OP_param ? node->attr.name
                                    : str_format(rw->to->arena, "prepared.%zu", p->nnamed++);
    graph_add_output(p->prepare, name, p->inside[node->id], node->at);
    Attr attr = {.name = name};
    rw->b.at = node->at;
    return ir_add_node(&rw->b, OP_constant, NULL, 0, &attr, &node->type);
}

// Whether a node that is not static, or an output, reads it.
static bool *find_read(const Prepare *p, Arena *arena)
{
    bool *read = arena_new(arena, bool, p->from->nodes.n + 1);
    for (size_t i = 0; i < p->from->outputs.n; i++) {
        read[p->from->outputs.items[i].node->id] = true;
    }
    for (size_t i = p->from->nodes.n; i-- > 0;) {
        const Node *node = p->from->nodes.items[i];
        bool outside = !p->is_static[i] || (stays(node) && read[i]);
        for (size_t k = 0; outside && k < node->nargs; k++) {
            read[node->args[k]->id] = true;
        }
    }
    return read;
}

// Whether prepare must compute it: a constant, or what one needs.
static bool *find_needed(const Prepare *p, Arena *arena, const bool *read)
{
    bool *needed = arena_new(arena, bool, p->from->nodes.n + 1);
    for (size_t i = p->from->nodes.n; i-- > 0;) {
        const Node *node = p->from->nodes.items[i];
        needed[i] = p->is_static[i] && (needed[i] || (read[i] && !stays(node)));
        for (size_t k = 0; needed[i] && k < node->nargs; k++) {
            needed[node->args[k]->id] = true;
        }
    }
    return needed;
}

Graph *pass_prepare(PassContext *cx, Graph *graph)
{
    if (graph->prepare) {
        diag_error(cx->dx, (Place){0}, "prepare: the graph has constants already");
        return NULL;
    }
    Prepare p = {.from = graph,
                 .is_static = arena_new(cx->arena, bool, graph->nodes.n + 1),
                 .prepare = graph_create(cx->arena, STR("prepare")),
                 .inside = arena_new(cx->arena, Node *, graph->nodes.n + 1)};
    p.b = rewrite_builder(p.prepare, (Place){0});
    find_static(&p);
    bool *read = find_read(&p, cx->arena);
    bool *needed = find_needed(&p, cx->arena, read);
    Rewrite rw = rewrite_begin(cx->arena, graph);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        if (needed[i]) {
            move_inside(&p, node);
        }
        if (!p.is_static[i] || (stays(node) && read[i])) {
            rw.now[i] = rewrite_copy(&rw, node);
        } else if (read[i]) {
            rw.now[i] = make_constant(&p, &rw, node);
        }
    }
    rw.to->prepare = p.prepare->outputs.n > 0 ? p.prepare : NULL;
    return rewrite_end(&rw);
}
