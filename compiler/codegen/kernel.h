// Inside codegen: one kernel on its way from loops to LLVM.
//
//   kernel.c   statements and loops      address.c  where elements are, loading and storing them
//   scope.c    where code may stand      expr.c     expressions
//   leaf.c     tile leaves               pack.c     packs
//   math.c     the elementwise functions     fetch.c    what a tile's rows touch next
//
// Nothing moves code afterwards, so everything is built where it is to stay. A value's *level* is
// the number of the outermost scope in front of which it can be computed: scope 0 is the function,
// each loop around the current place adds one. Values and addresses are built bottom up, each at
// its own level; what they depend on decides how far out that is.
#ifndef SLUICE_CODEGEN_KERNEL_H
#define SLUICE_CODEGEN_KERNEL_H

#include "codegen/llvm.h"
#include "runtime/abi.h"

// The value of an expression: one for all lanes, or a vector of the current width.
typedef struct Val {
    bool is_lanes;
    uint32_t level;
    uint64_t reads; // buffers that it was loaded from, see buffer_bit
    LLVMValueRef v;
} Val;

typedef struct VarPlace {
    LLVMValueRef value; // i64; NULL: `fixed`
    int64_t fixed;
    uint32_t level;
} VarPlace;

typedef struct Scope {
    LLVMBasicBlockRef before; // runs once before the scope; NULL: nothing can be put in front of it
    uint64_t writes;          // buffers that are stored to somewhere inside
    bool may_skip;            // its code may not run at all: loads from inside stay inside
    bool has_calls;           // vectors do not stay in registers across it
    size_t nmemo;             // memos there were when it began
} Scope;

// What was computed before and is still good: an expression's value, a scalar's copy in all lanes,
// or a pointer that others go on from.
typedef struct Memo {
    const Expr *expr;
    LLVMValueRef from; // a scalar or a pointer
    const DynTerm *row;
    const AffineTerm *terms;
    size_t nterms;
    int64_t first; // of lanes: the first one's number, if it is fixed
    unsigned width;
    unsigned live;
    Val val;
} Memo;

typedef struct SizeMemo {
    const Size *size;
    LLVMValueRef value;
} SizeMemo;

// The vector loop around the current place.
typedef struct Lanes {
    const Stmt *loop; // NULL: none
    unsigned width;   // of vectors: one register or several
    unsigned live;    // how many of the lanes are in use
} Lanes;

typedef struct KernelGen {
    Gen *g;
    const Program *program;
    const Kernel *kernel;
    LLVMValueRef fn;
    LLVMValueRef frame;
    LLVMBasicBlockRef here; // where the next statement's code goes
    LLVMValueRef *pointers; // [buffers] NULL: not used yet
    LLVMValueRef fault;
    LLVMValueRef no_fault; // a word to store to when nothing is wrong
    VarPlace *vars;        // [nvars]
    Val *values;           // [nvalues]
    Lanes lanes;
    VEC(Scope) scopes;
    VEC(Memo) memos;
    VEC(SizeMemo) sizes;
} KernelGen;

// Makes the kernel's function.
LLVMValueRef kernel_gen(Gen *g, const Program *program, const Kernel *kernel);

// ---- scope.c ----

// One bit for each buffer; the last bit for all those that have none of their own.
uint64_t buffer_bit(uint32_t buffer);
uint64_t stmts_writes(const Stmts *body);
bool stmts_have_calls(const Stmts *body);
void scope_enter(KernelGen *k, Scope scope);
void scope_leave(KernelGen *k);
// Moves the builder to the outermost place that is not further out than `level`; returns that
// place's level.
uint32_t scope_goto(KernelGen *k, uint32_t level);
void scope_here(KernelGen *k); // moves the builder to the end of the current code
// The least level of a load from the buffer, and of anything that has lanes.
uint32_t scope_load_level(const KernelGen *k, uint32_t buffer);
uint32_t scope_lanes_level(const KernelGen *k);
void scope_forget(KernelGen *k, uint64_t buffers); // they are about to be stored to

Memo *memo_find_expr(KernelGen *k, const Expr *e);
void memo_add_expr(KernelGen *k, const Expr *e, const Val *val);
// The pointer `from` advanced by terms.
Memo *memo_find_pointer(KernelGen *k, LLVMValueRef from, const AffineTerm *terms, size_t nterms);
void memo_add_pointer(KernelGen *k, LLVMValueRef from, const AffineTerm *terms, size_t nterms,
                      LLVMValueRef to, uint32_t level);
// The same by a row found at run time.
Memo *memo_find_row(KernelGen *k, LLVMValueRef from, const DynTerm *row);
void memo_add_row(KernelGen *k, LLVMValueRef from, const DynTerm *row, const Val *to);
// The value in all lanes, computed at a level that is good at `at`.
Val scope_spread(KernelGen *k, const Val *val, uint32_t at);

// A stride of a tile or a pack; lowering has fixed it.
int64_t kernel_stride(const KernelGen *k, const Size *size);
// A size's value, i64, at level 0.
LLVMValueRef kernel_size(KernelGen *k, const Size *size);

// ---- address.c ----

// The address of an access that is the same for all lanes, at the current place.
LLVMValueRef kernel_pointer(KernelGen *k, const Access *access);
Val kernel_load(KernelGen *k, const Access *access);
void kernel_store(KernelGen *k, const Access *access, const Val *val);

// ---- expr.c ----

Val kernel_expr(KernelGen *k, const Expr *e);
LLVMTypeRef element_type(const Gen *g, DType dtype); // in registers: bool is i1
LLVMValueRef reduction_step(Gen *g, Scalar fn, DType dtype, LLVMValueRef acc, LLVMValueRef x);

// ---- leaf.c, pack.c, fetch.c ----

void kernel_tile(KernelGen *k, const Tile *tile);
void kernel_pack(KernelGen *k, const Pack *pack);
// Asks for what the statement behind the tile body[tile] will touch, if that is a loop over rows.
void kernel_fetch(KernelGen *k, const Stmts *body, size_t tile);

#endif
