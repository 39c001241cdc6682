// Operators: on numbers they are computed, on sizes with symbols they make sizes or conditions, on
// tensors nodes.
#include "front/elab.h"

#include "front/limits.h"

#include "base/ints.h"

#include <float.h>
#include <math.h>

// What was to be computed, for messages.
typedef struct Operands {
    Elab *e;
    BinaryOp op;
    Place at;
    Value a;
    Value b;
} Operands;

static Value fail_kinds(const Operands *o)
{
    Arena *arena = o->e->perm;
    return elab_error(o->e, o->at, "no `%s` of %.*s and %.*s", binary_op_text(o->op),
                      STR_ARG(value_describe(arena, o->a)), STR_ARG(value_describe(arena, o->b)));
}

// ---- tensors ----

// Whether a number or bool can stand among elements of a type.
static bool fits(Value v, DType dtype)
{
    switch (dtype) {
    case DT_bool: return v.kind == VALUE_bool;
    case DT_i32:
        return v.kind == VALUE_size ||
               (v.kind == VALUE_int && v.integer >= INT32_MIN && v.integer <= INT32_MAX);
    case DT_f32: return value_is_integer(v) || (v.kind == VALUE_float && fabs(v.real) <= FLT_MAX);
    case DT_f16:
    case DT_bf16:
    case DT_f64:
    case DT_i64:
    case DT_u8:
    case DT_count: break;
    }
    return false;
}

Node *elab_constant(Elab *e, const Site *site, Value v, DType dtype)
{
    if (!fits(v, dtype)) {
        elab_error(e, site->at, "%.*s does not fit among %s values",
                   STR_ARG(value_describe(e->perm, v)), dtype_name(dtype));
        return NULL;
    }
    Builder *b = elab_builder(e, site);
    if (v.kind == VALUE_size)
        return ir_size(b, dtype, v.size);
    return ir_fill(b, dtype, v.kind == VALUE_bool ? (double)v.truth : value_to_double(v));
}

static bool is_operand(Value v)
{
    return v.kind == VALUE_tensor || v.kind == VALUE_bool || value_is_number(v);
}

DType elab_common_type(Value a, Value b)
{
    if (a.kind == VALUE_tensor || b.kind == VALUE_tensor)
        return a.kind == VALUE_tensor ? a.node->type.dtype : b.node->type.dtype;
    if (a.kind == VALUE_float || b.kind == VALUE_float)
        return DT_f32;
    return a.kind == VALUE_bool ? DT_bool : DT_i32;
}

Value elab_map2(Elab *e, const Site *site, Scalar fn, Value a, Value b)
{
    DType dtype = fn == S_and || fn == S_or ? DT_bool : elab_common_type(a, b);
    const Value values[] = {a, b};
    Node *nodes[2];
    for (size_t i = 0; i < 2; i++) {
        nodes[i] = values[i].kind == VALUE_tensor ? values[i].node
                                                  : elab_constant(e, site, values[i], dtype);
        if (!nodes[i])
            return value_error();
    }
    return elab_made(e, ir_map(elab_builder(e, site), fn, nodes, 2), site->at);
}

static Value tensor_binary(const Operands *o)
{
    Scalar fn;
    Site site = {NULL, o->at, NULL, 0};
    if (!scalar_from_word(str_from(binary_op_text(o->op)), 2, &fn) || !is_operand(o->a) ||
        !is_operand(o->b))
        return fail_kinds(o);
    return elab_map2(o->e, &site, fn, o->a, o->b);
}

static Value matmul(const Operands *o)
{
    if (o->a.kind != VALUE_tensor || o->b.kind != VALUE_tensor)
        return fail_kinds(o);
    Site site = {NULL, o->at, NULL, 0};
    Node *node = ir_matmul(elab_builder(o->e, &site), o->a.node, o->b.node);
    return elab_made(o->e, node, o->at);
}

// ---- sizes with symbols ----

static SizeOp size_op(BinaryOp op)
{
    switch (op) {
    case BINARY_eq: return SIZE_eq;
    case BINARY_ne: return SIZE_ne;
    case BINARY_lt: return SIZE_lt;
    case BINARY_le: return SIZE_le;
    case BINARY_gt: return SIZE_gt;
    case BINARY_ge: return SIZE_ge;
    case BINARY_or:
    case BINARY_and:
    case BINARY_add:
    case BINARY_sub:
    case BINARY_mul:
    case BINARY_div:
    case BINARY_mod:
    case BINARY_matmul:
    case BINARY_pow: break;
    }
    die("operator %s compares nothing", binary_op_text(op));
}

static Value compare_sizes(const Operands *o, const Size *a, const Size *b)
{
    SizeOp op = size_op(o->op);
    Truth truth = size_compare(op, a, b, o->e->graph->facts);
    if (truth != TRUTH_unknown)
        return value_bool(truth == TRUTH_yes);
    Condition *condition = arena_new(o->e->perm, Condition, 1);
    *condition = (Condition){op, a, b};
    return (Value){.kind = VALUE_condition, .condition = condition};
}

static Value divide_size(const Operands *o, const Size *a)
{
    Arena *arena = o->e->perm;
    Value b = elab_simplify(o->e, o->b);
    if (b.kind != VALUE_int || b.integer <= 0)
        return elab_error(
            o->e, o->at,
            "a size is divided by a positive number only, not by %.*s; f32(n) makes a "
            "number of a size",
            STR_ARG(value_describe(arena, b)));
    const Size *size =
        o->op == BINARY_div ? size_div(arena, a, b.integer) : size_mod(arena, a, b.integer);
    return elab_size(o->e, size, o->at);
}

static Value size_binary(const Operands *o)
{
    Arena *arena = o->e->perm;
    if (o->a.kind == VALUE_float || o->b.kind == VALUE_float)
        return tensor_binary(o);
    const Size *a = value_to_size(arena, o->a);
    const Size *b = value_to_size(arena, o->b);
    // What the result may weigh, and what it takes to find it.
    size_t work =
        16 + 2 * (a->weight + b->weight + (o->op == BINARY_mul ? a->nterms * b->nterms : 0));
    if (!elab_step(o->e, o->at, work))
        return value_error();
    if (binary_op_compares(o->op))
        return compare_sizes(o, a, b);
    if (o->op == BINARY_add)
        return elab_size(o->e, size_add(arena, a, b), o->at);
    if (o->op == BINARY_sub)
        return elab_size(o->e, size_sub(arena, a, b), o->at);
    if (o->op == BINARY_mul)
        return elab_size(o->e, size_mul(arena, a, b), o->at);
    if (o->op == BINARY_div || o->op == BINARY_mod)
        return divide_size(o, a);
    return fail_kinds(o);
}

// ---- numbers ----

static Value no_room(const Operands *o)
{
    return elab_error(o->e, o->at, "the result does not fit in 64 bits");
}

static Value finite(const Operands *o, double x)
{
    if (!isfinite(x))
        return elab_error(o->e, o->at, "the result is not a finite number");
    return value_float(x);
}

// a ** b for b >= 0; false if it does not fit.
static bool int_power(int64_t a, int64_t b, int64_t *out)
{
    int64_t result = 1;
    for (; b > 0; b >>= 1) {
        if ((b & 1) && __builtin_mul_overflow(result, a, &result))
            return false;
        if (b > 1 && __builtin_mul_overflow(a, a, &a))
            return false;
    }
    *out = result;
    return true;
}

// Rounds down; d is not 0.
static bool int_divide(int64_t n, int64_t d, int64_t *out)
{
    if (n == INT64_MIN || d == INT64_MIN)
        return false;
    *out = d > 0 ? int_floor_div(n, d) : int_floor_div(-n, -d);
    return true;
}

static Value int_binary(const Operands *o)
{
    int64_t a = o->a.integer;
    int64_t b = o->b.integer;
    int64_t result = 0;
    bool ok = true;
    switch (o->op) { // NOLINT: one line per operator
    case BINARY_add: ok = !__builtin_add_overflow(a, b, &result); break;
    case BINARY_sub: ok = !__builtin_sub_overflow(a, b, &result); break;
    case BINARY_mul: ok = !__builtin_mul_overflow(a, b, &result); break;
    case BINARY_div:
    case BINARY_mod:
        if (b == 0)
            return elab_error(o->e, o->at, "division by zero");
        ok = int_divide(a, b, &result);
        if (ok && o->op == BINARY_mod)
            result = a - result * b;
        break;
    case BINARY_pow:
        if (b < 0)
            return finite(o, pow((double)a, (double)b));
        ok = int_power(a, b, &result);
        break;
    case BINARY_lt: return value_bool(a < b);
    case BINARY_le: return value_bool(a <= b);
    case BINARY_gt: return value_bool(a > b);
    case BINARY_ge: return value_bool(a >= b);
    case BINARY_eq:
    case BINARY_ne:
    case BINARY_or:
    case BINARY_and:
    case BINARY_matmul: return fail_kinds(o);
    }
    return ok ? value_int(result) : no_room(o);
}

static Value float_binary(const Operands *o)
{
    double a = value_to_double(o->a);
    double b = value_to_double(o->b);
    switch (o->op) { // NOLINT: one line per operator
    case BINARY_add: return finite(o, a + b);
    case BINARY_sub: return finite(o, a - b);
    case BINARY_mul: return finite(o, a * b);
    case BINARY_div:
    case BINARY_mod:
        if (b == 0)
            return elab_error(o->e, o->at, "division by zero");
        return finite(o, o->op == BINARY_div ? a / b : a - floor(a / b) * b);
    case BINARY_pow: return finite(o, pow(a, b));
    case BINARY_lt: return value_bool(a < b);
    case BINARY_le: return value_bool(a <= b);
    case BINARY_gt: return value_bool(a > b);
    case BINARY_ge: return value_bool(a >= b);
    case BINARY_eq:
    case BINARY_ne:
    case BINARY_or:
    case BINARY_and:
    case BINARY_matmul: break;
    }
    return fail_kinds(o);
}

// ---- all kinds ----

static Value equality(const Operands *o)
{
    Elab *e = o->e;
    if (!value_comparable(o->a, o->b))
        return elab_error(e, o->at, "%.*s and %.*s are of different kinds",
                          STR_ARG(value_describe(e->perm, o->a)),
                          STR_ARG(value_describe(e->perm, o->b)));
    size_t fuel = LIMIT_STEPS;
    bool equal = value_equal(o->a, o->b, &fuel);
    if (!elab_step(e, o->at, LIMIT_STEPS - fuel))
        return value_error();
    return value_bool(equal == (o->op == BINARY_eq));
}

static Value join(const Operands *o)
{
    const List *a = o->a.list;
    const List *b = o->b.list;
    if (a->n + b->n > LIMIT_LIST)
        return elab_error(o->e, o->at, "a list of more than %d members", LIMIT_LIST);
    size_t work = (list_can_grow(a) ? 0 : a->n) + b->n + 8; // copies, and what a new list takes
    return elab_step(o->e, o->at, work) ? list_join(o->e->perm, a, b) : value_error();
}

static Value binary(const Operands *o)
{
    ValueKind a = o->a.kind;
    ValueKind b = o->b.kind;
    if (o->op == BINARY_matmul)
        return matmul(o);
    if (a == VALUE_condition || b == VALUE_condition) {
        const Condition *c = a == VALUE_condition ? o->a.condition : o->b.condition;
        return elab_error(o->e, o->at, "%.*s", STR_ARG(elab_undecided(o->e, c)));
    }
    if (a == VALUE_tensor || b == VALUE_tensor)
        return tensor_binary(o);
    bool has_size = a == VALUE_size || b == VALUE_size;
    if ((o->op == BINARY_eq || o->op == BINARY_ne) &&
        !(has_size && value_is_number(o->a) && value_is_number(o->b)))
        return equality(o);
    if (o->op == BINARY_add && a == VALUE_list && b == VALUE_list)
        return join(o);
    if (!value_is_number(o->a) || !value_is_number(o->b) || o->op == BINARY_and ||
        o->op == BINARY_or)
        return fail_kinds(o);
    if (has_size)
        return size_binary(o);
    return a == VALUE_int && b == VALUE_int ? int_binary(o) : float_binary(o);
}

// `and`, `or` where one side is true or false: the other decides, or is not looked at.
static bool logic(Operands *o, const Expr *x, const Scope *scope, Value *out)
{
    bool is_or = o->op == BINARY_or;
    if (o->a.kind == VALUE_bool) {
        *out = o->a;
        if (o->a.truth == is_or)
            return true;
        Value b = elab_eval(o->e, x->right, scope);
        *out = b;
        if (b.kind != VALUE_bool && b.kind != VALUE_condition && b.kind != VALUE_tensor &&
            b.kind != VALUE_error)
            *out = elab_error(o->e, x->right->at, "expected true or false, not %.*s",
                              STR_ARG(value_describe(o->e->perm, b)));
        return true;
    }
    o->b = elab_eval(o->e, x->right, scope);
    if (o->a.kind == VALUE_condition && o->b.kind == VALUE_bool) {
        *out = o->b.truth == is_or ? o->b : o->a;
        return true;
    }
    return false;
}

Value elab_binary(Elab *e, const Expr *x, Value a, const Scope *scope)
{
    Operands o = {e, x->op, x->at, a, value_error()};
    Value out;
    if (x->op == BINARY_and || x->op == BINARY_or) {
        if (logic(&o, x, scope, &out))
            return out;
    } else {
        o.b = elab_eval(e, x->right, scope);
    }
    return o.b.kind == VALUE_error ? value_error() : binary(&o);
}

Value elab_minus(Elab *e, Place at, Value v)
{
    Site site = {NULL, at, NULL, 0};
    switch (v.kind) {
    case VALUE_error: return v;
    case VALUE_int:
        if (v.integer == INT64_MIN)
            return elab_error(e, at, "the result does not fit in 64 bits");
        return value_int(-v.integer);
    case VALUE_float: return value_float(-v.real);
    case VALUE_size: return elab_size(e, size_scale(e->perm, v.size, -1), at);
    case VALUE_tensor: return elab_made(e, ir_map(elab_builder(e, &site), S_neg, &v.node, 1), at);
    case VALUE_bool:
    case VALUE_text:
    case VALUE_layout:
    case VALUE_group:
    case VALUE_list:
    case VALUE_function:
    case VALUE_condition:
    case VALUE_word: break;
    }
    return elab_error(e, at, "no `-` of %.*s", STR_ARG(value_describe(e->perm, v)));
}

Value elab_not(Elab *e, Place at, Value v)
{
    Site site = {NULL, at, NULL, 0};
    if (v.kind == VALUE_error)
        return v;
    if (v.kind == VALUE_bool)
        return value_bool(!v.truth);
    if (v.kind == VALUE_tensor)
        return elab_made(e, ir_map(elab_builder(e, &site), S_not, &v.node, 1), at);
    if (v.kind == VALUE_condition) {
        Condition *condition = arena_new(e->perm, Condition, 1);
        *condition = *v.condition;
        condition->op = size_op_not(condition->op);
        return (Value){.kind = VALUE_condition, .condition = condition};
    }
    return elab_error(e, at, "no `not` of %.*s", STR_ARG(value_describe(e->perm, v)));
}
