// dce: drops what no output needs. Inputs stay: they are the model's face.
//
//   %1 = param "a" …   %2 = exp %0   output "y" = %2     →     %1 = exp %0   output "y" = %1
//
// Requires any graph; establishes that every node but inputs is used. Does not look into regions.
// Linear.
#include "passes/pass.h"
#include "passes/rewrite.h"

Graph *pass_dce(PassContext *cx, Graph *graph)
{
    bool *live = arena_new(cx->arena, bool, graph->nodes.n + 1);
    for (size_t i = 0; i < graph->outputs.n; i++) {
        live[graph->outputs.items[i].node->id] = true;
    }
    for (size_t i = graph->nodes.n; i-- > 0;) {
        const Node *node = graph->nodes.items[i];
        live[i] = live[i] || node->op == OP_input;
        for (size_t k = 0; live[i] && k < node->nargs; k++) {
            live[node->args[k]->id] = true;
        }
    }
    Rewrite rw = rewrite_begin(cx->arena, graph);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        if (live[i]) {
            rw.now[i] = rewrite_copy(&rw, graph->nodes.items[i]);
        }
    }
    return rewrite_end(&rw);
}
