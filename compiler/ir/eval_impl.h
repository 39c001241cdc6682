// What the files of the evaluator share and nobody else includes: values, and one function for each
// class of ops.def's column `eval`. Main types: Eval, Value.
#ifndef SLUICE_IR_EVAL_IMPL_H
#define SLUICE_IR_EVAL_IMPL_H

#include "ir/eval.h"

// What a node computed. Values may share their elements (a reshape and its operand); who drops the
// last frees them. A kernel has no elements, but its region's results.
typedef struct Value {
    EvalTensor t;
    size_t *refs; // values that share t.data; NULL: there are no elements
    struct Value *results;
    size_t nresults;
} Value;

// A graph under evaluation: the model's, or a kernel's region.
typedef struct Eval {
    Arena *arena; // scratch, until the evaluation ends
    Diag *dx;
    const EvalOptions *options;
    const Graph *graph;
    const Value *const *operands; // region: those of the kernel
    Value *values;                // [graph->nodes.n]
    size_t *uses;                 // [graph->nodes.n] readers to come, outputs included
} Eval;

// Computes a node into *out. False after a report.
typedef bool EvalFn(Eval *ev, const Node *node, Value *out);

EvalFn eval_leaf, eval_fill, eval_size, eval_iota, eval_map, eval_reduce, eval_softmax, eval_matmul,
    eval_gather, eval_permute, eval_reshape, eval_broadcast, eval_slice, eval_concat, eval_pad,
    eval_repeat, eval_window, eval_pool, eval_toeplitz, eval_rel_shift, eval_triangle, eval_view,
    eval_copy, eval_pack, eval_kernel, eval_result;

// Reports at the node, with its operation's name in front; always false.
__attribute__((format(printf, 3, 4))) bool eval_fail(const Eval *ev, const Node *node,
                                                     const char *format, ...);
// The value of a size of the node; false after a report.
bool eval_number(const Eval *ev, const Node *node, const Size *size, int64_t *out);
// Gives *out the node's type, its sizes and elements that nobody has written yet.
bool eval_alloc(Eval *ev, const Node *node, Value *out);
// *out gets the sizes of the node and shares the elements of `from`.
bool eval_share(Eval *ev, const Node *node, const Value *from, Value *out);
const Value *eval_operand(const Eval *ev, const Node *node, size_t i);
// Its tensor. Graphs are verified before, but sizes that were only declared equal meet here.
const EvalTensor *eval_arg(const Eval *ev, const Node *node, size_t i);
// Reports that operands do not fit together with the sizes they have; always false.
bool eval_misfit(const Eval *ev, const Node *node);

// The product of sizes that are part of a value's shape.
int64_t eval_product(const int64_t *shape, size_t n);

// ---- loops over several tensors at once ----

enum { EVAL_MAX_TENSORS = 4 };

// An axis of a loop: n steps, each tensor by its stride in elements.
typedef struct EvalDim {
    int64_t n;
    int64_t stride[EVAL_MAX_TENSORS];
} EvalDim;

// Strides of elements that stand row by row: [rank].
const int64_t *eval_strides(Arena *arena, const int64_t *shape, size_t rank);
// Drops axes of one step and joins those that all tensors walk as one; returns how many are left.
size_t eval_merge_dims(EvalDim *dims, size_t ndims, size_t ntensors);

// The matrix product of eval_matmul on plain arrays, row by row. Offsets in elements.
typedef struct EvalProduct {
    size_t nbatch;
    const int64_t *a_offset; // [nbatch]
    const int64_t *b_offset; // [nbatch]
    int64_t m;
    int64_t k;
    int64_t n;
    const double *a; // at each offset [m, k]
    const double *b; // at each offset [k, n]
    double *c;       // [nbatch, m, n]
} EvalProduct;

// Each element sums over k in order, whatever the number of threads. threads 0: those the machine
// has.
void eval_multiply(const EvalProduct *product, unsigned threads);

#endif
