// regions: every computation that stands alone becomes a kernel region of one node; every output of
// the model that no kernel stores under its own name (an input, a constant, a number, a view, a
// value that is an output already) is copied by a region of its own.
//
//   %2 = exp %0          →   %2 = kernel elementwise %0 { exp }
//   output "y" = %2          %3 = result %2
//   output "z" = %2          %4 = kernel elementwise %3 { copy }
//                            %5 = result %4
//                            output "y" = %3   output "z" = %5
//
// Requires constants; establishes that the top level holds inputs, constants, kernels and their
// results alone. Linear.
#include "loop/lower.h"
#include "passes/graph/group.h"
#include "passes/rewrite.h"

// Outputs that need a copy get one, outside any region yet.
static Graph *copy_outputs(PassContext *cx, Graph *graph)
{
    Rewrite rw = rewrite_begin(cx->arena, graph);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        rw.now[i] = rewrite_copy(&rw, graph->nodes.items[i]);
    }
    bool *taken = arena_new(cx->arena, bool, graph->nodes.n + 1);
    for (size_t i = 0; i < graph->outputs.n; i++) {
        const Output *output = &graph->outputs.items[i];
        Node *now = rw.now[output->node->id];
        bool reshaped = output->node->op == OP_view && lower_view_is_whole(output->node);
        const Node *node = reshaped ? output->node->args[0] : output->node;
        bool own = node->op == OP_result || group_is_work(node);
        if (!own || taken[node->id]) {
            rw.b.at = output->at;
            now = ir_add_node(&rw.b, OP_copy, &now, 1, NULL, NULL);
        }
        taken[node->id] = true;
        graph_add_output(rw.to, output->name, now, output->at);
    }
    return rw.to;
}

static KernelClass class_of(const Node *node)
{
    if (node->op == OP_matmul) {
        return KERNEL_contraction;
    }
    return lower_takes_pass(node) ? KERNEL_reduction : KERNEL_elementwise;
}

Graph *pass_regions(PassContext *cx, Graph *graph)
{
    Graph *with_copies = copy_outputs(cx, graph);
    Groups g = groups_begin(cx->arena, with_copies);
    for (size_t i = 0; i < with_copies->nodes.n; i++) {
        const Node *node = with_copies->nodes.items[i];
        if (group_is_work(node)) {
            group_join(&g, groups_add(&g, class_of(node)), node);
        }
    }
    return groups_build(&g);
}
