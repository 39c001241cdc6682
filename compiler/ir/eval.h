// The reference interpreter: computes any graph in double, plainly. It is the oracle for every pass
// and kernel, and what `prepare` is computed by. Only its matrix product is blocked and threaded.
// Layers right of ir may include this.
#ifndef SLUICE_IR_EVAL_H
#define SLUICE_IR_EVAL_H

#include "ir/ir.h"

// A value: elements in double, row by row, also those of i32 and bool (0 and 1).
typedef struct EvalTensor {
    DType dtype;
    size_t rank;
    const int64_t *shape; // [rank]
    int64_t count;
    double *data; // [count], from malloc
} EvalTensor;

typedef struct EvalOptions {
    const SizeBinding *symbols; // every symbol of the graph, [nsymbols]
    size_t nsymbols;
    bool round; // each node's f32 result is rounded to float32: what float32 arithmetic alone costs
    unsigned threads; // 0: as many as the machine has
    // Fills `out->data`, allocated by the caller, for an input, parameter or constant; false after
    // reporting.
    bool (*leaf)(void *ctx, const Node *node, EvalTensor *out);
    void *ctx;
    // If not NULL, called with each node's value as soon as it is known, also of the nodes inside a
    // kernel; the kernel itself has none. Nodes that no output needs are not computed.
    void (*visit)(void *ctx, const Node *node, const EvalTensor *value);
} EvalOptions;

// Outputs in the graph's order, [graph->outputs.n], data to be freed by eval_free. False after an
// error in `dx`: a check that does not hold, an id out of a table's range, a value over 64 bits, no
// memory.
bool eval_graph(Arena *arena, Diag *dx, const Graph *graph, const EvalOptions *options,
                EvalTensor *outputs);
// One output alone, for those who cannot hold all at once.
bool eval_output(Arena *arena, Diag *dx, const Graph *graph, const EvalOptions *options,
                 size_t index, EvalTensor *out);
void eval_free(EvalTensor *tensors, size_t n);

#endif
