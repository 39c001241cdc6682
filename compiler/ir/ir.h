// The graph: tensors in SSA form. A node has one result (a `kernel` node a tuple, read by `result`
// nodes), a type of dtype and sizes, and the place in the source that made it. Nodes are immutable
// once added; passes build a new graph from the old one (passes/rewrite.h). Main type: Graph. Any
// layer right of base may include this, but not codegen.
//
//   front ──build──▶ Graph ──passes/graph──▶ Graph with kernel regions ──lower──▶ loops
//                      │ print ▲ parse     verify     eval: the reference, in double
//
// Text form, which parses back to the same graph:
//
//   graph "tiny"(batch, seq in 1 .. 513) {
//     check seq >= 9, "too short"
//     %0 = input "ids" in 0 .. 60 : i32[batch, seq]
//     %1 = param "table.weight" : f32[60, 48]
//     %2 = gather %1, %0 {axis = 0} : f32[batch, seq, 48]
//     %3 = gelu_tanh %2 : f32[batch, seq, 48]
//     output "hidden" = %3
//   }
//
// Ranges are half open. Checks stand first: they declare what the types below may rely on. Sizes
// are shown with what is known put in. A kernel's region is nested; `prepare` follows as a block of
// its own.
#ifndef SLUICE_IR_IR_H
#define SLUICE_IR_IR_H

#include "base/diag.h"
#include "base/map.h"
#include "base/scalar.h"
#include "base/size.h"
#include "base/vec.h"

typedef enum Op {
#define OP(id, arity, trait, attributes, infer, eval) OP_##id,
#include "ir/ops.def"
    OP_count
} Op;

#define IR_MAX_RANK 64

typedef struct Type {
    DType dtype;              // f32, i32 or bool
    uint32_t rank;            // at most IR_MAX_RANK
    const Size *const *shape; // [rank]
} Type;

// What a kernel region is lowered as; `-O0` makes one region of each node.
typedef enum KernelClass {
    KERNEL_elementwise, // a map over the result's elements, movement and gathers folded into its
                        // loads
    KERNEL_reduction,   // reductions and elementwise work over one axis
    KERNEL_contraction, // a matrix product and its epilogue
    KERNEL_attention,   // two products around a softmax
    KERNEL_count
} KernelClass;

#define IR_PANEL 16 // columns of a panel of the layout P16

typedef enum PoolMode { POOL_mean, POOL_max, POOL_min } PoolMode;
const char *pool_mode_name(PoolMode mode); // "mean"

typedef struct Graph Graph;
typedef struct Node Node;

// Every field any operation has; which of them an operation uses stands in ops.def's column
// `attributes`.
typedef struct Attr {
    Str name;                 // name: input, param, constant. layout: pack's layout ("P16")
    Scalar fn;                // function: map
    double value;             // value: fill, pad
    const Size *size;         // size: size
    int64_t axis;             // axis: softmax, gather, concat; and pad, repeat, window, pool
    size_t naxes;             // axes: reduce_*, sorted; permute: the order, [rank]
    const int64_t *axes;      // [naxes]
    const Size *const *start; // slice: first index on each axis, [rank]
    const int64_t *step; // slice: on each axis, [rank], not 0; the result's shape gives the counts
    const Size *before;  // pad: members added in front
    const Size *after;   // pad: and behind
    int64_t times;       // repeat
    int64_t window;      // window, pool: members of a window
    int64_t stride;      // window, pool: members from one window to the next
    PoolMode mode;       // pool
    bool ceil;           // pool: a last partial window counts, with its real members only
    int64_t shift;       // rel_shift
    const Size *const *strides; // view: elements from one index to the next on each axis, [rank]
    const Size *offset;         // view: the element at index 0
    uint32_t index;     // arg: which operand of the region; result: which result of the kernel
    KernelClass kernel; // kernel
    bool has_range;     // input: low <= x < high is checked when the model runs
    int64_t low;
    int64_t high;
    bool has_default; // input: may be left out, every element then is `value`
} Attr;

struct Node {
    Op op;
    uint32_t id; // dense in its graph, in the order of addition: an index for side tables
    Type type;   // of a kernel: rank 0, not used
    size_t nargs;
    Node *const *args; // [nargs] added earlier
    Attr attr;
    Graph *region; // kernel: its body; outputs are its results
    Place at;
};

// A symbol of the model: free until run time.
typedef struct Symbol {
    Str name;
    int64_t low;  // at least 1
    int64_t high; // SIZE_INF: no bound
} Symbol;

typedef struct Output {
    Str name; // in a region: empty
    Node *node;
    Place at;
} Output;

// Made when the model runs.
typedef struct Check {
    SizeOp op;
    const Size *left;
    const Size *right;
    Str text;
    Place at;
} Check;

struct Graph {
    Arena *arena;
    Str name;
    SizeFacts *facts; // what is known of the symbols: their bounds, and what the checks declare;
                      // shared with regions
    VEC(Symbol) symbols;
    VEC(Node *) nodes; // in order: operands stand before their users
    VEC(Output) outputs;
    VEC(Check) checks;
    Graph *prepare; // NULL, or the graph whose outputs the `constant` nodes name; its leaves are
                    // parameters
};

// ---- operations ----

typedef enum OpTrait { TRAIT_none, TRAIT_leaf, TRAIT_move, TRAIT_sugar, TRAIT_region } OpTrait;

const char *op_name(Op op);
OpTrait op_trait(Op op);
bool op_from_name(Str name, Op *out); // not those of scalar.def
const char *kernel_class_name(KernelClass kernel);

// ---- types ----

bool type_equal(const Type *a, const Type *b);
// `f32[batch, (seq + 1) / 2, 768]`
void type_print(Buf *buf, const Type *type);
Str type_text(Arena *arena, const Type *type);
const Size *type_count(Arena *arena, const Type *type); // elements; NULL if over 64 bits
// Row-major strides in elements, [rank].
const Size **type_strides(Arena *arena, const Type *type);

// ---- building ----

// Where a fault of a call is reported. `arg` is the operand or attribute at fault by its position
// in the builder call as counted there (from 0), or -1 for the operation as a whole.
typedef struct Builder {
    Graph *graph;
    Place at; // given to the nodes added
    void (*fail)(void *ctx, int arg, Str message);
    void *ctx;
} Builder;

Graph *graph_create(Arena *arena, Str name);
// Declares a symbol with its bounds and tells the facts.
void graph_add_symbol(Graph *graph, Str name, int64_t low, int64_t high);
// Adds a check for run time and declares what it says.
void graph_add_check(Graph *graph, SizeOp op, const Size *left, const Size *right, Str text,
                     Place at);
void graph_add_output(Graph *graph, Str name, Node *node, Place at);
// The place of an output among graph->outputs, or SIZE_MAX.
size_t graph_find_output(const Graph *graph, Str name);
// [nodes] how often each node is read by others and by the outputs.
uint32_t *graph_uses(Arena *arena, const Graph *graph);
// A region of `graph`: shares arena, facts and symbols.
Graph *graph_create_region(Graph *graph);

// The one door through which nodes come: infers the type, checks operands and attributes, reports
// through b->fail and returns NULL if they do not fit. `type` is needed by operations whose result
// the operands do not give (leaves, reshape, broadcast, slice's counts, view, rel_shift's keys) and
// compared with what is inferred by the others if it is not NULL. Operands, attributes and shapes
// are copied. A NULL operand, an earlier failure, gives NULL without a further report. `attr` may
// be NULL for operations without attributes.
Node *ir_add_node(Builder *b, Op op, Node *const *args, size_t nargs, const Attr *attr,
                  const Type *type);
// The same for a kernel: its `region` is finished, its `arg` nodes have the types of the operands
// they name.
Node *ir_add_kernel(Builder *b, KernelClass kernel, Node *const *args, size_t nargs, Graph *region);

// Conveniences over ir_add_node for those who elaborate, same contract: NULL after a failure was
// reported. Axes may be negative: they count from the end.
Node *ir_input(Builder *b, Str name, const Type *type, const int64_t range[2], const double *value);
Node *ir_param(Builder *b, Str name, const Type *type);
Node *ir_fill(Builder *b, DType dtype, double value);     // rank 0
Node *ir_size(Builder *b, DType dtype, const Size *size); // rank 0
Node *ir_iota(Builder *b, const Size *n);
Node *ir_map(Builder *b, Scalar fn, Node *const *args, size_t nargs);
Node *ir_reduce(Builder *b, Op op, Node *x, const int64_t *axes, size_t naxes);
Node *ir_softmax(Builder *b, Node *x, int64_t axis);
Node *ir_matmul(Builder *b, Node *x, Node *y);
Node *ir_transpose(Builder *b, Node *x);
Node *ir_permute(Builder *b, Node *x, const int64_t *order, size_t n);
Node *ir_reshape(Builder *b, Node *x, const Size *const *shape, size_t rank);
Node *ir_broadcast(Builder *b, Node *x, const Size *const *shape, size_t rank);
Node *ir_concat(Builder *b, Node *const *parts, size_t n, int64_t axis);
// One part: `size` members of an axis from `start` on.
Node *ir_part(Builder *b, Node *x, int64_t axis, const Size *start, const Size *size);
Node *ir_pad(Builder *b, Node *x, int64_t axis, const Size *before, const Size *after,
             double value);
Node *ir_repeat(Builder *b, Node *x, int64_t times, int64_t axis);
Node *ir_window(Builder *b, Node *x, int64_t size, int64_t stride, int64_t axis);
Node *ir_pool(Builder *b, Node *x, int64_t size, int64_t stride, PoolMode mode, int64_t axis,
              bool ceil);
Node *ir_toeplitz(Builder *b, Node *w, const Size *n);
Node *ir_rel_shift(Builder *b, Node *x, const Size *keys, int64_t shift);
Node *ir_triangle(Builder *b, Node *x);
Node *ir_gather(Builder *b, Node *table, Node *ids);

// One subscript of x[…]; `start`, `stop` NULL: the whole axis; negative ones count from the end
// where that is known.
typedef struct Subscript {
    enum { SUB_index, SUB_slice, SUB_new, SUB_rest } kind;
    const Size *start; // index, slice
    const Size *stop;  // slice
    int64_t step;      // slice; negative only without start and stop
} Subscript;
// `arg` of a failure is the subscript's position.
Node *ir_subscript(Builder *b, Node *x, const Subscript *subs, size_t n);

// What fixes the symbols of a size on the command line: "--seq N or --set n=N".
Str ir_flags(Arena *arena, const Size *size);
// "whether seq <= 512 is not known; fix it with --seq N, or declare it: check seq <= 512, "…""
Str ir_undecided(const Graph *graph, SizeOp op, const Size *left, const Size *right);

// ---- text, checking ----

void graph_print(Buf *buf, const Graph *graph);
// What stands right of the `=`: operation, attributes, operands and type; of a kernel, not its
// region. Nodes of one graph with equal texts compute the same, kernels aside.
void node_print(Buf *buf, const Graph *graph, const Node *node);
// NULL after errors. Reads what graph_print writes, and comments from '#' to the end of a line.
Graph *graph_parse(Arena *arena, Diag *dx, Source *source);
// Whether every rule of the level holds; the first broken one goes to `why`.
bool graph_verify(const Graph *graph, Buf *why);

#endif
