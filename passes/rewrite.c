#include "passes/rewrite.h"

static void fail(void *ctx, int arg, Str message)
{
    (void)ctx;
    die("a pass built a node that does not fit: operand %d: %.*s", arg, STR_ARG(message));
}

Builder rewrite_builder(Graph *graph, Place at)
{
    return (Builder){.graph = graph, .at = at, .fail = fail};
}

Rewrite rewrite_begin(Arena *arena, const Graph *from)
{
    Graph *to = graph_create(arena, from->name);
    to->facts = from->facts;
    to->symbols = from->symbols;
    to->checks = from->checks;
    to->prepare = from->prepare;
    return (Rewrite){.from = from,
                     .to = to,
                     .now = arena_new(arena, Node *, from->nodes.n + 1),
                     .b = rewrite_builder(to, (Place){0})};
}

Node *rewrite_copy(Rewrite *rw, const Node *node)
{
    Node **args = arena_new(rw->to->arena, Node *, node->nargs + 1);
    for (size_t i = 0; i < node->nargs; i++) {
        args[i] = rw->now[node->args[i]->id];
        if (!args[i]) {
            die("rewrite: node %u is used before it is rewritten", node->args[i]->id);
        }
    }
    rw->b.at = node->at;
    if (node->op == OP_kernel) {
        return ir_add_kernel(&rw->b, node->attr.kernel, args, node->nargs, node->region);
    }
    return ir_add_node(&rw->b, node->op, args, node->nargs, &node->attr, &node->type);
}

Graph *rewrite_end(Rewrite *rw)
{
    for (size_t i = 0; i < rw->from->outputs.n; i++) {
        const Output *output = &rw->from->outputs.items[i];
        graph_add_output(rw->to, output->name, rw->now[output->node->id], output->at);
    }
    return rw->to;
}

Node *rewrite_map1(Builder *b, Scalar fn, Node *x) { return ir_map(b, fn, &x, 1); }

Node *rewrite_map2(Builder *b, Scalar fn, Node *x, Node *y)
{
    Node *args[2] = {x, y};
    return ir_map(b, fn, args, 2);
}

Node *rewrite_new_axis(Builder *b, Node *x, size_t axis)
{
    const Size **shape = arena_new(b->graph->arena, const Size *, x->type.rank + 1);
    for (size_t i = 0; i <= x->type.rank; i++) {
        shape[i] = i == axis ? size_int(b->graph->arena, 1) : x->type.shape[i < axis ? i : i - 1];
    }
    return ir_reshape(b, x, shape, x->type.rank + 1);
}
