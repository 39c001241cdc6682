// SizeExpr: integer expressions of symbols, in a normal form in which equal sizes are structurally
// equal.
//
// A size is a polynomial over atoms; an atom is a symbol, or a floor division `(p / d)` of a
// polynomial whose coefficients lie in 0 … d-1. Constants are sizes too. Sizes are immutable and
// live in the arena that made them. Arithmetic is checked: a result outside 64 bits is NULL, so is
// one too large to be a size that anybody means (4096 atoms, floors nested 64 deep), and NULL
// operands give NULL, so a chain is checked once. Any layer may include this.
#ifndef SLUICE_BASE_SIZE_H
#define SLUICE_BASE_SIZE_H

#include "base/str.h"

typedef struct Size Size;

// Atoms are exposed for those who translate sizes (codegen, the artefact's postfix code).
typedef struct SizeAtom {
    Str symbol;      // a symbol if `top` is NULL
    const Size *top; // else floor(top / by)
    int64_t by;
} SizeAtom;

typedef struct SizeTerm {
    int64_t factor;
    size_t natoms;          // 0: the constant term
    const SizeAtom **atoms; // [natoms] sorted; a power repeats its atom
} SizeTerm;

struct Size {
    size_t nterms;   // 0: the number 0
    SizeTerm *terms; // sorted: higher degree first, the constant last
    size_t weight;   // terms and atoms, those inside floors included
    size_t depth;    // of nested floors
};

const Size *size_int(Arena *a, int64_t n);
const Size *size_symbol(Arena *a, Str name);
const Size *size_add(Arena *a, const Size *x, const Size *y);
const Size *size_sub(Arena *a, const Size *x, const Size *y);
const Size *size_mul(Arena *a, const Size *x, const Size *y);
const Size *size_scale(Arena *a, const Size *x, int64_t k);
const Size *size_div(Arena *a, const Size *x, int64_t d); // floor; d > 0
const Size *size_mod(Arena *a, const Size *x, int64_t d); // in 0 … d-1; d > 0
const Size *size_product(Arena *a, const Size *const *sizes, size_t n);
const Size *size_sum(Arena *a, const Size *const *sizes, size_t n);
// x / y if it comes out exactly as a polynomial (y may have symbols), else NULL.
const Size *size_exact_div(Arena *a, const Size *x, const Size *y);

bool size_is_int(const Size *x, int64_t *out); // `out` may be NULL
bool size_is(const Size *x, int64_t n);
// Whether x is a symbol alone; `name` may be NULL.
bool size_is_symbol(const Size *x, Str *name);
bool size_equal(const Size *x, const Size *y);
uint64_t size_hash(const Size *x);
// Calls visit(ctx, name) for each symbol, in order of first appearance, repeats included.
void size_symbols(const Size *x, void (*visit)(void *ctx, Str name), void *ctx);
bool size_has_symbols(const Size *x);

// As the user writes it: `(seq + 1) / 2`, `2 * batch * seq`, `768`.
void size_print(Buf *buf, const Size *x);
Str size_text(Arena *a, const Size *x);

// ---- values ----

typedef struct SizeBinding {
    Str name;
    int64_t value;
} SizeBinding;

// The value with every symbol bound; false if a symbol is missing or the value does not fit 64
// bits.
bool size_value(const Size *x, const SizeBinding *bindings, size_t n, int64_t *out);
// x with symbols replaced by sizes (those not in the table stay).
typedef struct SizeSubst {
    Str name;
    const Size *size;
} SizeSubst;
const Size *size_replace(Arena *a, const Size *x, const SizeSubst *table, size_t n);

// ---- what is known ----

#define SIZE_INF INT64_MAX

// What is known of symbols: bounds, and symbols declared equal to other sizes. Grows by
// size_declare. Questions use the facts' arena while they are answered, and leave it as it was.
// NULL facts: nothing is known.
typedef struct SizeFacts SizeFacts;
SizeFacts *size_facts(Arena *a);
// Sets the bounds of a symbol, whatever was known; SIZE_INF: no upper bound.
void size_facts_bound(SizeFacts *facts, Str name, int64_t low, int64_t high);
// 1 and SIZE_INF for a symbol of which nothing is known.
void size_facts_get(const SizeFacts *facts, Str name, int64_t *low, int64_t *high);

typedef enum SizeOp { SIZE_eq, SIZE_ne, SIZE_lt, SIZE_le, SIZE_gt, SIZE_ge } SizeOp;
const char *size_op_text(SizeOp op); // "<="
SizeOp size_op_not(SizeOp op);
bool size_op_holds(SizeOp op, int64_t x, int64_t y); // of numbers

typedef enum Truth { TRUTH_no, TRUTH_yes, TRUTH_unknown } Truth;

// Whether `x op y`: by interval arithmetic, and by replacing each floor p / d by the quotients it
// lies between.
Truth size_compare(SizeOp op, const Size *x, const Size *y, const SizeFacts *facts);
// Takes `x op y` as true from here on: a bound, an equality that gives a symbol, a divisor
// (`seq % 4 == 0`).
void size_declare(SizeFacts *facts, SizeOp op, const Size *x, const Size *y);
// x with the declared equalities put in.
const Size *size_simplify(Arena *a, const Size *x, const SizeFacts *facts);
// Bounds of x; SIZE_INF / -SIZE_INF where there is none.
void size_bounds(const Size *x, const SizeFacts *facts, int64_t *low, int64_t *high);

#endif
