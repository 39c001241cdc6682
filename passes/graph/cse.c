// cse: one of several nodes that compute the same from the same operands stands for all.
//
//   %1 = exp %0   %2 = exp %0   %3 = add %1, %2   →   %1 = exp %0   %3 = add %1, %1
//
// Requires any graph; establishes that no two nodes but inputs and kernels, whose regions are not
// compared, have the same text. Linear.
#include "passes/pass.h"
#include "passes/rewrite.h"

Graph *pass_cse(PassContext *cx, Graph *graph)
{
    Rewrite rw = rewrite_begin(cx->arena, graph);
    Map seen = {.arena = cx->arena};
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        size_t before = rw.to->nodes.n;
        Node *now = rewrite_copy(&rw, node);
        Buf text = {.arena = cx->arena};
        node_print(&text, rw.to, now);
        Node *same = map_get(&seen, buf_str(&text));
        if (same && node->op != OP_input && op_trait(node->op) != TRAIT_region) {
            rw.to->nodes.n = before; // the copy was the last: take it back
            now = same;
        } else {
            map_put(&seen, buf_str(&text), now);
        }
        rw.now[i] = now;
    }
    return rewrite_end(&rw);
}
