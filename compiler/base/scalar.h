// The elementwise functions of scalar.def and what they compute, in double: the oracle for every
// kernel. Any layer may include this.
#ifndef SLUICE_BASE_SCALAR_H
#define SLUICE_BASE_SCALAR_H

#include "base/dtype.h"

typedef enum Scalar {
#define SCALAR(id, arity, rule, word, summary) S_##id,
#include "base/scalar.def"
    S_count
} Scalar;

#define SCALAR_MAX_ARITY 3

// Which operands a function takes, and what it gives: scalar.def says what each rule is.
typedef enum ScalarRule {
    RULE_float,
    RULE_number,
    RULE_compare,
    RULE_order,
    RULE_logic,
    RULE_choose,
    RULE_to_f32,
    RULE_to_i32,
    RULE_to_bool
} ScalarRule;

const char *scalar_name(Scalar fn); // "gelu_tanh", as in the text forms
const char *scalar_word(Scalar fn); // "+", as in the language; NULL if it has none
unsigned scalar_arity(Scalar fn);   // at most SCALAR_MAX_ARITY
ScalarRule scalar_rule(Scalar fn);
bool scalar_from_name(Str name, Scalar *out);
// The function that the language calls `word` with `arity` operands.
bool scalar_from_word(Str word, unsigned arity, Scalar *out);
// The result's element type, or false if the function does not take these.
bool scalar_result(Scalar fn, const DType *args, DType *out);

// The value for operands of type `dtype` (of the last operand for select); bools are 0 and 1, i32
// wraps and saturates as scalar.def says. args: [arity].
double scalar_eval(Scalar fn, DType dtype, const double *args);

#endif
