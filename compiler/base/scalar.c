// The elementwise functions: names and types from scalar.def, values in double.
#include "base/scalar.h"

#include <assert.h>
#include <math.h>

static const struct {
    const char *name;
    const char *word;
    unsigned arity;
    ScalarRule rule;
} infos[S_count] = {
#define SCALAR(id, n, kind, lang, summary) [S_##id] = {#id, (lang), (n), RULE_##kind},
#include "base/scalar.def"
};

#define SCALAR(id, n, kind, lang, summary)                                                         \
    _Static_assert((n) <= SCALAR_MAX_ARITY, "the operands of " #id " in scalar.def");
#include "base/scalar.def"

const char *scalar_name(Scalar fn)
{
    assert(fn < S_count);
    return infos[fn].name;
}

const char *scalar_word(Scalar fn)
{
    assert(fn < S_count);
    return infos[fn].word;
}

unsigned scalar_arity(Scalar fn)
{
    assert(fn < S_count);
    return infos[fn].arity;
}

ScalarRule scalar_rule(Scalar fn)
{
    assert(fn < S_count);
    return infos[fn].rule;
}

bool scalar_from_name(Str name, Scalar *out)
{
    for (Scalar fn = 0; fn < S_count; fn++) {
        if (str_equal(name, str_from(infos[fn].name))) {
            *out = fn;
            return true;
        }
    }
    return false;
}

bool scalar_from_word(Str word, unsigned arity, Scalar *out)
{
    for (Scalar fn = 0; fn < S_count; fn++) {
        if (infos[fn].word && infos[fn].arity == arity &&
            str_equal(word, str_from(infos[fn].word))) {
            *out = fn;
            return true;
        }
    }
    return false;
}

static bool is_number(DType t) { return t == DT_f32 || t == DT_i32; }

bool scalar_result(Scalar fn, const DType *args, DType *out)
{
    assert(fn < S_count);
    // All operands have one type; only a select's condition stands apart.
    ScalarRule rule = infos[fn].rule;
    DType last = args[infos[fn].arity - 1];
    for (unsigned i = rule == RULE_choose ? 1 : 0; i < infos[fn].arity; i++) {
        if (args[i] != last) {
            return false;
        }
    }
    bool fits = false;
    switch (rule) {
    case RULE_float: fits = last == DT_f32; break;
    case RULE_number:
    case RULE_order: fits = is_number(last); break;
    case RULE_logic: fits = last == DT_bool; break;
    case RULE_choose: fits = args[0] == DT_bool && dtype_is_element(last); break;
    case RULE_compare:
    case RULE_to_f32:
    case RULE_to_i32:
    case RULE_to_bool: fits = dtype_is_element(last); break;
    }
    if (!fits) {
        return false;
    }
    switch (rule) {
    case RULE_float:
    case RULE_to_f32: *out = DT_f32; break;
    case RULE_to_i32: *out = DT_i32; break;
    case RULE_number:
    case RULE_choose: *out = last; break;
    case RULE_compare:
    case RULE_order:
    case RULE_logic:
    case RULE_to_bool: *out = DT_bool; break;
    }
    return true;
}

// 1 / (1 + exp(-x)), without an overflow on either side.
static double sigmoid(double x)
{
    if (x >= 0) {
        return 1 / (1 + exp(-x));
    }
    double e = exp(x);
    return e / (1 + e);
}

// x times a factor that goes to 0 faster than x to minus infinity: the limit there is -0, where the
// product is NaN.
static double gated(double x, double factor) { return isinf(x) && x < 0 ? -0.0 : x * factor; }

static double gelu_tanh(double x)
{
    // 0.5 (1 + tanh u) is sigmoid(2 u).
    const double root_2_over_pi = 0.79788456080286535588;
    return gated(x, sigmoid(2 * root_2_over_pi * (x + 0.044715 * x * x * x)));
}

static double gelu(double x)
{
    // erfc keeps its relative precision where 1 + erf cancels.
    const double root_half = 0.70710678118654752440;
    return gated(x, 0.5 * erfc(-x * root_half));
}

static double smaller(double x, double y)
{
    if (isnan(x) || isnan(y)) {
        return x + y;
    }
    return y < x ? y : x;
}

static double larger(double x, double y)
{
    if (isnan(x) || isnan(y)) {
        return x + y;
    }
    return y > x ? y : x;
}

// The value of the low 32 bits.
static double wrapped(int64_t n)
{
    uint32_t low = (uint32_t)n;
    return low <= INT32_MAX ? (double)low : (double)low - 4294967296.0;
}

static double to_i32(double x)
{
    if (isnan(x)) {
        return 0;
    }
    if (x <= INT32_MIN) {
        return INT32_MIN;
    }
    return x >= INT32_MAX ? (double)INT32_MAX : (double)(int32_t)x;
}

// What i32 computes otherwise than double does. False: `fn` is none of that.
static bool eval_i32(Scalar fn, const double *args, double *out)
{
    if (fn != S_add && fn != S_sub && fn != S_mul && fn != S_neg && fn != S_abs) {
        return false;
    }
    int64_t x = (int64_t)args[0];
    int64_t y = infos[fn].arity > 1 ? (int64_t)args[1] : 0;
    if (fn == S_add) {
        *out = wrapped(x + y);
    } else if (fn == S_sub) {
        *out = wrapped(x - y);
    } else if (fn == S_mul) {
        *out = wrapped(x * y);
    } else { // neg and abs
        *out = wrapped(fn == S_neg || x < 0 ? -x : x);
    }
    return true;
}

double scalar_eval(Scalar fn, DType dtype, const double *args)
{
    double x = args[0];
    double y = infos[fn].arity > 1 ? args[1] : 0;
    double whole = 0;
    if (dtype == DT_i32 && eval_i32(fn, args, &whole)) {
        return whole;
    }
    switch (fn) { // NOLINT: one line per function
    case S_add: return x + y;
    case S_sub: return x - y;
    case S_mul: return x * y;
    case S_div: return x / y;
    case S_pow: return pow(x, y);
    case S_min: return smaller(x, y);
    case S_max: return larger(x, y);
    case S_eq: return x == y;
    case S_ne: return x != y;
    case S_lt: return x < y;
    case S_le: return x <= y;
    case S_gt: return x > y;
    case S_ge: return x >= y;
    case S_and: return x != 0 && y != 0;
    case S_or: return x != 0 || y != 0;
    case S_not: return x == 0;
    case S_neg: return -x;
    case S_abs: return fabs(x);
    case S_exp: return exp(x);
    case S_log: return log(x);
    case S_sqrt: return sqrt(x);
    case S_rsqrt: return 1 / sqrt(x);
    case S_sin: return sin(x);
    case S_cos: return cos(x);
    case S_tanh: return tanh(x);
    case S_erf: return erf(x);
    case S_sigmoid: return sigmoid(x);
    case S_relu: return larger(x, 0);
    case S_gelu: return gelu(x);
    case S_gelu_tanh: return gelu_tanh(x);
    case S_gelu_sigmoid: return gated(x, sigmoid(1.702 * x));
    case S_silu: return gated(x, sigmoid(x));
    case S_select: return x != 0 ? y : args[2];
    case S_to_f32: return x;
    case S_to_i32: return to_i32(x);
    case S_to_bool: return x != 0;
    case S_count: break;
    }
    assert(fn < S_count);
    return NAN;
}
