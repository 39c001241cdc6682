// Loops: one kernel each. A kernel is a nest of loops over buffers, with scalar expressions from
// scalar.def, scratch, reductions and tile leaves. Lengths, strides and offsets are sizes over the
// program's symbols; a symbol may stand only where rows are counted (batch, and through it M). Main
// type: Kernel. Loops never name an instruction set. loop, passes, codegen and driver may include
// this.
//
//   kernel dense(x f32, w f32, bias f32, y f32 out) scratch c f32[96] {
//     parallel b in batch {
//       parallel g in 8 {
//         serial p in 3 {
//           serial t in 18 {
//             tile c[0; 16] = x[49152 b + 2304 t; 384, 1] * w[18432 g + 6144 p; 6144, 16] rows 6
//             panels 1 k 384 serial r in 6 {
//               vector j in 16 {
//                 store y[…] = gelu(add(load c[16 r + j], load bias[48 g + 16 p + j]))
//
// print.c states the whole of the text form.
//
// The outermost loops tagged parallel, nested directly in each other, make the kernel's parts: part
// number = row-major index of their variables. All loops run from 0; no extent depends on a loop
// variable.
#ifndef SLUICE_LOOP_LOOP_H
#define SLUICE_LOOP_LOOP_H

#include "base/dtype.h"
#include "base/map.h"
#include "base/scalar.h"
#include "base/size.h"
#include "base/vec.h"
#include "loop/target.h"

// Bytes: where scratch, buffers of the arena and constants begin, and as many readable ones follow
// the last, for whole vectors (SL_ABI_ALIGN in a model).
#define LOOP_ALIGN 64

typedef struct Expr Expr;
typedef struct Stmt Stmt;
typedef VEC(Stmt *) Stmts;

// Loop variables and values are numbered through a kernel, from 0.
typedef uint32_t Var;
typedef uint32_t Value;

// base + Σ coef · var, an integer.
typedef struct AffineTerm {
    Var var;
    const Size *coef;
} AffineTerm;

typedef struct Affine {
    const Size *base;
    size_t nterms;
    const AffineTerm *terms; // [nterms] by ascending var, no zero coefficients
} Affine;

// A row found at run time: element index += clamp(index, 0, limit - 1) · stride. If it had to be
// clamped, the run's fault word says so.
typedef struct DynTerm {
    const Expr *index; // i32
    const Size *limit;
    const Size *stride;
} DynTerm;

typedef enum BufferKind {
    BUFFER_operand, // the step's operand of the same number
    BUFFER_scratch, // the share's own; contents are undefined when a part begins
} BufferKind;

typedef struct Buffer {
    BufferKind kind;
    Str name;
    DType dtype;
    bool written;  // operand: the kernel stores to it
    int64_t count; // scratch: elements
} Buffer;

// An element of a buffer.
typedef struct Access {
    uint32_t buffer; // index in kernel->buffers
    Affine at;       // elements from the buffer's beginning
    size_t ndyn;
    const DynTerm *dyn;
} Access;

typedef enum ExprKind {
    EXPR_const, // value
    EXPR_size,  // a size, converted to dtype
    EXPR_index, // an affine of loop variables, i32
    EXPR_load,
    EXPR_value, // of a let or a reduction
    EXPR_map,   // a function of scalar.def
} ExprKind;

struct Expr {
    ExprKind kind;
    DType dtype; // f32, i32 or bool
    double value;
    const Size *size;
    Affine index;
    Access access;
    Value id;
    Scalar fn;
    size_t nargs;
    const Expr *const *args; // [nargs]
};

typedef enum LoopTag {
    LOOP_serial,
    LOOP_parallel, // iterations are independent; the outermost ones make the parts
    LOOP_vector,   // iterations are lanes: independent but for the loop's reductions; extent fixed
    LOOP_unroll,   // extent fixed and small
} LoopTag;

// acc = start; each iteration: acc = fn(acc, update); afterwards `id` names the result. fn: add,
// mul, min, max, and, or. In a vector loop each lane has its own accumulator, combined at the end
// in one fixed order.
typedef struct Reduction {
    Value id;
    Scalar fn;
    double start;
    const Expr *update; // may use the loop's variable and the values let in its body
} Reduction;

// C[rows, cols] = A[rows, k] · B[k, cols] over whole panels of TILE_COLS columns, f32; each element
// sums over k from 0 up, one fused multiply-add after the other, whatever the number of rows.
typedef struct Tile {
    Access c;      // scratch
    int64_t c_row; // elements from one row of C to the next; at least TILE_COLS · panels
    Access a;
    const Size *a_row; // elements from one row of A to the next
    const Size *a_k;   // and from one k to the next
    Access b;
    const Size *b_panel; // elements from one panel of TILE_COLS columns to the next
    const Size *b_k;     // and from one k to the next; columns lie side by side
    int64_t rows;        // at most the target's
    const Size
        *rows_left; // NULL: exactly `rows`. Else the number of rows, 1 … rows, known at run time
    int64_t panels;
    int64_t k;
    bool accumulate; // += instead of =
} Tile;

// dst = the block B[k, cols] read at src + k · src_k + col · src_col, as panels [ceil(cols /
// 16)][k][16], zeros behind the last column; reads nothing outside the block.
typedef struct Pack {
    Access dst; // scratch
    Access src;
    const Size *src_k;
    const Size *src_col;
    int64_t k;
    int64_t cols;
} Pack;

typedef enum StmtKind {
    STMT_loop,
    STMT_only, // the body runs only where var == value
    STMT_let,
    STMT_store,
    STMT_tile,
    STMT_pack,
} StmtKind;

struct Stmt {
    StmtKind kind;
    LoopTag tag;               // loop
    Var var;                   // loop, only
    const Size *extent;        // loop; may be 0
    int64_t value;             // only
    Stmts body;                // loop, only
    VEC(Reduction) reductions; // loop
    Value id;                  // let
    Access target;             // store
    const Expr *expr;          // let, store
    Tile tile;
    Pack pack;
};

typedef struct Kernel {
    Arena *arena;
    Str name;            // unique in its program; a C identifier
    VEC(Buffer) buffers; // operands first, in the step's order
    size_t noperands;
    uint32_t nvars;
    uint32_t nvalues;
    VEC(Str) var_names; // [nvars]
    Map buffers_named;  // names that are taken, to the number that the next of that name gets
    Map vars_named;
    Stmts body;
} Kernel;

// ---- building ----

Kernel *kernel_create(Arena *arena, Str name);
// Names become words of letters, digits, '_' and '.'; one that is taken gets a number behind it.
uint32_t kernel_add_operand(Kernel *k, Str name, DType dtype, bool written); // before any scratch
uint32_t kernel_add_scratch(Kernel *k, Str name, DType dtype, int64_t count);
Var kernel_add_var(Kernel *k, const char *name);
Value kernel_add_value(Kernel *k);

Affine affine_size(const Size *base);
Affine affine_int(Arena *a, int64_t base);
Affine affine_var(Arena *a, Var var, const Size *coef);
Affine affine_add(Arena *a, Affine x, Affine y);
Affine affine_scale(Arena *a, Affine x, const Size *k);
const Size *affine_coef(const Affine *x, Var var); // NULL: 0
bool affine_equal(const Affine *x, const Affine *y);

const Expr *expr_const(Arena *a, DType dtype, double value);
const Expr *expr_size(Arena *a, DType dtype, const Size *size);
const Expr *expr_index(Arena *a, Affine index);
const Expr *expr_load(Arena *a, const Kernel *k, Access access);
const Expr *expr_value(Arena *a, DType dtype, Value id);
const Expr *expr_map(Arena *a, Scalar fn, const Expr *const *args, size_t nargs);
bool expr_uses_var(const Expr *e, Var var); // values count as not using it
bool expr_equal(const Expr *x, const Expr *y);

// Each appends to `to` and returns what was appended.
Stmt *stmt_loop(Arena *a, Stmts *to, LoopTag tag, Var var, const Size *extent);
Stmt *stmt_only(Arena *a, Stmts *to, Var var, int64_t value);
void stmt_let(Arena *a, Stmts *to, Value id, const Expr *expr);
void stmt_store(Arena *a, Stmts *to, Access target, const Expr *expr);
Stmt *stmt_tile(Arena *a, Stmts *to, const Tile *tile);
Stmt *stmt_pack(Arena *a, Stmts *to, const Pack *pack);
void stmt_reduce(Arena *a, Stmt *loop, Value id, Scalar fn, double start, const Expr *update);

// The parallel loop that a body is, and nothing else; NULL: it is something else.
const Stmt *stmts_parallel(const Stmts *body);
// The number of parts: the product of the outermost parallel loops' extents.
const Size *kernel_parts(const Kernel *k);
// Where a scratch buffer lies, in bytes from the beginning of the scratch; a multiple of
// LOOP_ALIGN.
int64_t kernel_scratch_offset(const Kernel *k, uint32_t buffer);
// Of all buffers, with the LOOP_ALIGN bytes behind the last; 0 if there are none, INT64_MAX if
// that is too much.
int64_t kernel_scratch_bytes(const Kernel *k);

// ---- text, checking, running ----

void kernel_print(Buf *buf, const Kernel *k);
// Whether every rule above holds; the first broken one goes to `why`. `symbols`: names that sizes
// may use.
bool kernel_verify(const Kernel *k, const Str *symbols, size_t nsymbols, Buf *why);
// Whether two kernels are equal up to names: their own, their buffers', their variables'.
bool kernel_equal(const Kernel *x, const Kernel *y);
uint64_t kernel_hash(const Kernel *k); // the same for equal kernels

// Runs every part in order. operands: [noperands] in storage form (float, int32_t, uint8_t);
// expressions are computed in double and rounded when stored. False if the kernel breaks a rule, an
// access leaves its buffer (operand_counts: elements), a part reads scratch or output that it did
// not store, or stores what another did, or memory fails. `fault` becomes 1 if a row's number was
// clamped.
bool kernel_eval(const Kernel *k, const SizeBinding *symbols, size_t nsymbols,
                 void *const *operands, const int64_t *operand_counts, uint32_t *fault, Buf *why);

#endif
