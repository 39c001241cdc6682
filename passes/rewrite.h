// Rewriting: a pass walks the old graph in order and says for each node what stands for it in the
// new one. Passes include this.
#ifndef SLUICE_PASSES_REWRITE_H
#define SLUICE_PASSES_REWRITE_H

#include "ir/ir.h"

typedef struct Rewrite {
    const Graph *from;
    Graph *to;
    Node **now; // [from's nodes] what stands for each; NULL: nothing yet
    Builder b;  // adds to `to`; a failure is an internal error
} Rewrite;

// `to` starts without nodes and outputs; symbols, checks, facts and prepare are `from`'s.
Rewrite rewrite_begin(Arena *arena, const Graph *from);
// Adds the node as it is, its operands replaced by what stands for them.
Node *rewrite_copy(Rewrite *rw, const Node *node);
// Gives `to` from's outputs, by what stands for them.
Graph *rewrite_end(Rewrite *rw);

// A builder whose failures are internal errors: for passes, which only make what fits.
Builder rewrite_builder(Graph *graph, Place at);

// Short forms: operations of one or two operands.
Node *rewrite_map1(Builder *b, Scalar fn, Node *x);
Node *rewrite_map2(Builder *b, Scalar fn, Node *x, Node *y);
// x with an axis of length 1 put in front of axis `axis`.
Node *rewrite_new_axis(Builder *b, Node *x, size_t axis);

#endif
