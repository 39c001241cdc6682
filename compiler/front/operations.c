// The language's own functions: which parameters each has, and what it makes of compile-time values
// and tensors. What the operands must be, and the type of the result, is the graph's matter (ir/).
#include "front/elab.h"

#include "front/limits.h"

#include <math.h>

#define MOST_PARAMS 6
#define WHOLE_CALL  MOST_PARAMS // in place of an argument: the call as a whole is at fault

typedef struct OperationParam {
    const char *name; // NULL: no more of them
    const char
        *fallback; // as in the language; "": may be left out without one; NULL: must be given
} OperationParam;

typedef struct OperationCall OperationCall;

struct Operation {
    const char *name;
    OperationParam params[MOST_PARAMS];
    Value (*run)(OperationCall *c);
    Scalar fn;
};

struct OperationCall {
    Elab *e;
    const Operation *op;
    Place at;
    Site site;
    Value args[MOST_PARAMS];
    Place places[MOST_PARAMS]; // source NULL: not given
};

static bool is_given(const OperationCall *c, size_t i)
{
    return i < MOST_PARAMS && c->places[i].source;
}

static Builder *builder(OperationCall *c) { return elab_builder(c->e, &c->site); }

static Value made(OperationCall *c, Node *node) { return elab_made(c->e, node, c->at); }

// At the argument, if it was given.
static bool fail(OperationCall *c, size_t i, Str message)
{
    elab_error(c->e, is_given(c, i) ? c->places[i] : c->at, "%s: %.*s", c->op->name,
               STR_ARG(message));
    return false;
}

static bool must_be(OperationCall *c, size_t i, const char *what)
{
    Arena *arena = c->e->perm;
    return fail(c, i,
                str_format(arena, "`%s` must be %s, not %.*s", c->op->params[i].name, what,
                           STR_ARG(value_describe(arena, c->args[i]))));
}

// ---- arguments ----

static bool take_tensor(OperationCall *c, size_t i, Node **out)
{
    if (c->args[i].kind != VALUE_tensor)
        return must_be(c, i, "a tensor");
    *out = c->args[i].node;
    return true;
}

// An integer of `least` at least, of the argument or a member of it.
static bool check_size(OperationCall *c, size_t i, Value v, int64_t least, const Size **out)
{
    Elab *e = c->e;
    v = elab_simplify(e, v);
    if (!value_is_integer(v))
        return fail(c, i,
                    str_format(e->perm, "%s`%s` must be an integer, not %.*s",
                               c->args[i].kind == VALUE_list ? "a member of " : "",
                               c->op->params[i].name, STR_ARG(value_describe(e->perm, v))));
    *out = value_to_size(e->perm, v);
    Condition enough = {SIZE_ge, *out, size_int(e->perm, least)};
    Truth truth = size_compare(enough.op, enough.left, enough.right, e->graph->facts);
    if (truth == TRUTH_yes)
        return true;
    Str why = truth == TRUTH_unknown
                  ? str_format(e->perm, " (%.*s)", STR_ARG(elab_undecided(e, &enough)))
                  : (Str){0};
    return fail(c, i,
                str_format(e->perm, "`%s` is %.*s, but must be at least %lld%.*s",
                           c->op->params[i].name, STR_ARG(value_describe(e->perm, v)),
                           (long long)least, STR_ARG(why)));
}

static bool take_size(OperationCall *c, size_t i, int64_t least, const Size **out)
{
    return check_size(c, i, c->args[i], least, out);
}

static bool take_int(OperationCall *c, size_t i, int64_t *out)
{
    Value v = elab_simplify(c->e, c->args[i]);
    if (v.kind == VALUE_size)
        return fail(c, i,
                    str_format(c->e->perm, "`%s` must be a number, not the symbolic size %.*s",
                               c->op->params[i].name, STR_ARG(value_describe(c->e->perm, v))));
    if (v.kind != VALUE_int)
        return must_be(c, i, "an integer");
    *out = v.integer;
    return true;
}

static bool take_bool(OperationCall *c, size_t i, bool *out)
{
    if (c->args[i].kind != VALUE_bool)
        return must_be(c, i, "true or false");
    *out = c->args[i].truth;
    return true;
}

static bool take_list(OperationCall *c, size_t i, const char *what, const List **out)
{
    if (c->args[i].kind != VALUE_list)
        return must_be(c, i, what);
    *out = c->args[i].list;
    return elab_step(c->e, c->at, (*out)->n);
}

// One axis or a list of them. axes: [IR_MAX_RANK]
static bool take_axes(OperationCall *c, size_t i, bool may_be_one, int64_t *axes, size_t *n)
{
    const List *list = NULL;
    *n = 1;
    if (may_be_one && c->args[i].kind != VALUE_list)
        return take_int(c, i, &axes[0]);
    if (!take_list(c, i, "a list of axes", &list))
        return false;
    if (list->n > IR_MAX_RANK)
        return must_be(c, i, "a shorter list of axes");
    *n = list->n;
    for (size_t k = 0; k < list->n; k++) {
        if (list->items[k].kind != VALUE_int)
            return must_be(c, i, "a list of integers");
        axes[k] = list->items[k].integer;
    }
    return true;
}

// A list of sizes of 1 at least.
static bool take_shape(OperationCall *c, size_t i, const Size ***out, size_t *n)
{
    const List *list = NULL;
    if (!take_list(c, i, "a list of sizes", &list))
        return false;
    *n = list->n;
    *out = arena_new(c->e->tmp, const Size *, list->n);
    for (size_t k = 0; k < list->n; k++) {
        if (!check_size(c, i, list->items[k], 1, &(*out)[k]))
            return false;
    }
    return true;
}

// ---- elementwise ----

static bool is_number_now(Value v) { return v.kind == VALUE_int || v.kind == VALUE_float; }

static Value finite(OperationCall *c, double x)
{
    if (isfinite(x))
        return value_float(x);
    fail(c, 0, STR("the result is not a finite number"));
    return value_error();
}

static Value run_unary(OperationCall *c)
{
    Value v = c->args[0];
    Scalar fn = c->op->fn;
    if (is_number_now(v)) {
        double x = value_to_double(v);
        return finite(c, scalar_eval(fn, DT_f32, &x));
    }
    Node *x = v.kind == VALUE_size ? elab_constant(c->e, &c->site, v, DT_f32) : NULL;
    if (!x && !take_tensor(c, 0, &x))
        return value_error();
    return made(c, ir_map(builder(c), fn, &x, 1));
}

static Value run_abs(OperationCall *c)
{
    Value v = c->args[0];
    if (v.kind == VALUE_int)
        return v.integer < 0 ? elab_minus(c->e, c->at, v) : v;
    return run_unary(c);
}

static Value run_f32(OperationCall *c)
{
    Value v = c->args[0];
    if (is_number_now(v))
        return value_float(value_to_double(v));
    if (v.kind == VALUE_bool)
        return value_float((double)v.truth);
    return run_unary(c);
}

static Value run_i32(OperationCall *c)
{
    Value v = c->args[0];
    if (is_number_now(v) || v.kind == VALUE_bool) {
        double x = v.kind == VALUE_bool ? (double)v.truth : value_to_double(v);
        return value_int((int64_t)scalar_eval(S_to_i32, DT_f32, &x));
    }
    if (v.kind == VALUE_size)
        return made(c, elab_constant(c->e, &c->site, v, DT_i32));
    return run_unary(c);
}

static bool is_operand(OperationCall *c, size_t i)
{
    Value v = c->args[i];
    return v.kind == VALUE_tensor || v.kind == VALUE_bool || value_is_number(v) ||
           must_be(c, i, "a tensor or a number");
}

static Value run_select(OperationCall *c)
{
    Elab *e = c->e;
    Value condition = c->args[0];
    if (condition.kind == VALUE_bool)
        return c->args[condition.truth ? 1 : 2];
    if (condition.kind == VALUE_condition) {
        fail(c, 0, elab_undecided(e, condition.condition));
        return value_error();
    }
    Node *nodes[3];
    if (!take_tensor(c, 0, &nodes[0]) || !is_operand(c, 1) || !is_operand(c, 2))
        return value_error();
    DType dtype = elab_common_type(c->args[1], c->args[2]);
    for (size_t i = 1; i < 3; i++) {
        Value v = c->args[i];
        nodes[i] = v.kind == VALUE_tensor ? v.node : elab_constant(e, &c->site, v, dtype);
        if (!nodes[i])
            return value_error();
    }
    return made(c, ir_map(builder(c), S_select, nodes, 3));
}

// ---- reductions ----

static Value reduce(OperationCall *c, Op op, size_t axis_index)
{
    Node *x = NULL;
    int64_t axes[IR_MAX_RANK];
    size_t n = 0;
    if (!take_tensor(c, 0, &x) || !take_axes(c, axis_index, true, axes, &n))
        return value_error();
    // The graph counts the axes as the second argument.
    Place places[] = {c->places[0], c->places[axis_index]};
    Site site = {c->op->name, c->at, places, 2};
    return made(c, ir_reduce(elab_builder(c->e, &site), op, x, axes, n));
}

static Value run_sum(OperationCall *c) { return reduce(c, OP_reduce_sum, 1); }

static Value run_mean(OperationCall *c) { return reduce(c, OP_reduce_mean, 1); }

// The smaller or larger of two numbers or sizes.
static Value extreme_number(OperationCall *c, bool is_min)
{
    Elab *e = c->e;
    Value a = c->args[0];
    Value b = c->args[1];
    if (is_number_now(a) && is_number_now(b)) {
        bool a_is_less = a.kind == VALUE_int && b.kind == VALUE_int
                             ? a.integer <= b.integer
                             : value_to_double(a) <= value_to_double(b);
        return a_is_less == is_min ? a : b;
    }
    Condition less = {SIZE_le, value_to_size(e->perm, a), value_to_size(e->perm, b)};
    Truth truth = size_compare(less.op, less.left, less.right, e->graph->facts);
    if (truth == TRUTH_unknown) {
        fail(c, WHOLE_CALL, elab_undecided(e, &less));
        return value_error();
    }
    return (truth == TRUTH_yes) == is_min ? a : b;
}

// min(a, b), or min(x, axis: n).
static Value run_extreme(OperationCall *c)
{
    bool is_min = c->op->fn == S_min;
    if (!is_given(c, 1) && is_given(c, 2))
        return reduce(c, is_min ? OP_reduce_min : OP_reduce_max, 2);
    if (!is_given(c, 1) || is_given(c, 2)) {
        fail(c, WHOLE_CALL, STR("give two values, or one tensor and `axis:`"));
        return value_error();
    }
    Value a = c->args[0];
    Value b = c->args[1];
    bool are_numbers = is_number_now(a) && is_number_now(b);
    if (are_numbers || (value_is_integer(a) && value_is_integer(b)))
        return extreme_number(c, is_min);
    if (!is_operand(c, 0) || !is_operand(c, 1))
        return value_error();
    return elab_map2(c->e, &c->site, c->op->fn, a, b);
}

static Value run_softmax(OperationCall *c)
{
    Node *x = NULL;
    int64_t axis = 0;
    if (!take_tensor(c, 0, &x) || !take_int(c, 1, &axis))
        return value_error();
    return made(c, ir_softmax(builder(c), x, axis));
}

// ---- movement ----

static Value run_transpose(OperationCall *c)
{
    Node *x = NULL;
    return take_tensor(c, 0, &x) ? made(c, ir_transpose(builder(c), x)) : value_error();
}

static Value run_permute(OperationCall *c)
{
    Node *x = NULL;
    int64_t order[IR_MAX_RANK];
    size_t n = 0;
    if (!take_tensor(c, 0, &x) || !take_axes(c, 1, false, order, &n))
        return value_error();
    return made(c, ir_permute(builder(c), x, order, n));
}

static Value run_reshape(OperationCall *c)
{
    Node *x = NULL;
    const Size **shape = NULL;
    size_t rank = 0;
    if (!take_tensor(c, 0, &x) || !take_shape(c, 1, &shape, &rank))
        return value_error();
    Site site = {c->op->name, c->at, NULL, 0};
    return made(c, ir_reshape(elab_builder(c->e, &site), x, shape, rank));
}

static Value run_broadcast(OperationCall *c)
{
    Value v = c->args[0];
    const Size **shape = NULL;
    size_t rank = 0;
    if (!is_operand(c, 0) || !take_shape(c, 1, &shape, &rank))
        return value_error();
    Node *x =
        v.kind == VALUE_tensor ? v.node : elab_constant(c->e, &c->site, v, elab_common_type(v, v));
    Site site = {c->op->name, c->at, NULL, 0};
    return made(c, ir_broadcast(elab_builder(c->e, &site), x, shape, rank));
}

static Value run_concat(OperationCall *c)
{
    const List *list = NULL;
    int64_t axis = 0;
    if (!take_list(c, 0, "a list of tensors", &list) || !take_int(c, 1, &axis))
        return value_error();
    if (list->n == 0) {
        fail(c, 0, STR("`parts` is an empty list"));
        return value_error();
    }
    Node **parts = arena_new(c->e->tmp, Node *, list->n);
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i].kind != VALUE_tensor) {
            fail(c, 0,
                 str_format(c->e->perm, "`parts` must be tensors, not %.*s",
                            STR_ARG(value_describe(c->e->perm, list->items[i]))));
            return value_error();
        }
        parts[i] = list->items[i].node;
    }
    return made(c, ir_concat(builder(c), parts, list->n, axis));
}

// Whether the sizes of the parts add up to the axis.
static bool parts_fill(OperationCall *c, const Node *x, int64_t axis, const Size *const *sizes,
                       size_t n)
{
    Elab *e = c->e;
    const Size *all = x->type.shape[axis];
    const Size *total = size_sum(e->perm, sizes, n);
    if (!total)
        return fail(c, 1, STR("the parts' sum does not fit in 64 bits"));
    if (size_compare(SIZE_eq, total, all, e->graph->facts) == TRUTH_yes)
        return true;
    return fail(c, 1,
                str_format(e->perm, "the parts add up to %.*s, but axis %lld of %.*s has %.*s",
                           STR_ARG(size_text(e->perm, total)), (long long)axis,
                           STR_ARG(type_text(e->perm, &x->type)),
                           STR_ARG(size_text(e->perm, all))));
}

// The sizes of `n` equal parts of an axis.
static bool equal_parts(OperationCall *c, const Node *x, int64_t axis, int64_t n, const Size ***out)
{
    Elab *e = c->e;
    const Size *all = x->type.shape[axis];
    const Size *one = size_div(e->perm, all, n);
    const Size *total = size_scale(e->perm, one, n);
    if (!total || size_compare(SIZE_eq, total, all, e->graph->facts) != TRUTH_yes)
        return fail(c, 1,
                    str_format(e->perm,
                               "%.*s does not divide into %lld equal parts: axis %lld of %.*s",
                               STR_ARG(size_text(e->perm, all)), (long long)n, (long long)axis,
                               STR_ARG(type_text(e->perm, &x->type))));
    *out = arena_new(e->tmp, const Size *, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = one;
    return true;
}

static bool take_parts(OperationCall *c, const Node *x, int64_t axis, const Size ***sizes,
                       size_t *n)
{
    int64_t count = 0;
    if (c->args[1].kind == VALUE_list)
        return take_shape(c, 1, sizes, n) && parts_fill(c, x, axis, *sizes, *n);
    if (!take_int(c, 1, &count))
        return false;
    if (count < 1 || count > LIMIT_LIST)
        return must_be(c, 1, "a number of parts or a list of sizes");
    *n = (size_t)count;
    return elab_step(c->e, c->at, *n) && equal_parts(c, x, axis, count, sizes);
}

static Value run_split(OperationCall *c)
{
    Elab *e = c->e;
    Node *x = NULL;
    int64_t axis = 0;
    const Size **sizes = NULL;
    size_t n = 0;
    if (!take_tensor(c, 0, &x) || !take_int(c, 2, &axis))
        return value_error();
    int64_t rank = x->type.rank;
    if (axis < -rank || axis >= rank) {
        fail(c, 2,
             str_format(e->perm, "axis %lld is out of range for a tensor of rank %lld",
                        (long long)axis, (long long)rank));
        return value_error();
    }
    axis = axis < 0 ? axis + rank : axis;
    if (!take_parts(c, x, axis, &sizes, &n))
        return value_error();
    Value *parts = arena_new(e->tmp, Value, n);
    const Size *start = size_int(e->perm, 0);
    Site site = {c->op->name, c->at, NULL, 0};
    for (size_t i = 0; i < n; i++) {
        parts[i] = made(c, ir_part(elab_builder(e, &site), x, axis, start, sizes[i]));
        if (parts[i].kind == VALUE_error)
            return value_error();
        start = size_add(e->perm, start, sizes[i]);
    }
    return value_list(e->perm, parts, n);
}

static Value run_pad(OperationCall *c)
{
    Node *x = NULL;
    int64_t axis = 0;
    const Size *before = NULL;
    const Size *after = NULL;
    if (!take_tensor(c, 0, &x) || !take_int(c, 1, &axis) || !take_size(c, 2, 0, &before) ||
        !take_size(c, 3, 0, &after))
        return value_error();
    Value v = c->args[4];
    if (v.kind != VALUE_bool && !is_number_now(v)) {
        must_be(c, 4, "a number");
        return value_error();
    }
    double value = v.kind == VALUE_bool ? (double)v.truth : value_to_double(v);
    return made(c, ir_pad(builder(c), x, axis, before, after, value));
}

static Value run_repeat(OperationCall *c)
{
    Node *x = NULL;
    int64_t times = 0;
    int64_t axis = 0;
    if (!take_tensor(c, 0, &x) || !take_int(c, 1, &times) || !take_int(c, 2, &axis))
        return value_error();
    return made(c, ir_repeat(builder(c), x, times, axis));
}

static Value run_window(OperationCall *c)
{
    Node *x = NULL;
    int64_t size = 0;
    int64_t stride = 0;
    int64_t axis = 0;
    if (!take_tensor(c, 0, &x) || !take_int(c, 1, &size) || !take_int(c, 2, &stride) ||
        !take_int(c, 3, &axis))
        return value_error();
    return made(c, ir_window(builder(c), x, size, stride, axis));
}

static bool take_pool_mode(OperationCall *c, size_t i, PoolMode *out)
{
    for (PoolMode mode = POOL_mean; mode <= POOL_min; mode++) {
        Str name = str_from(pool_mode_name(mode));
        if (c->args[i].kind == VALUE_text && str_equal(c->args[i].text, name)) {
            *out = mode;
            return true;
        }
    }
    return must_be(c, i, "\"mean\", \"max\" or \"min\"");
}

static Value run_pool(OperationCall *c)
{
    Node *x = NULL;
    int64_t size = 0;
    int64_t stride = 0;
    PoolMode mode = POOL_mean;
    int64_t axis = 0;
    bool ceil = true;
    if (!take_tensor(c, 0, &x) || !take_int(c, 1, &size))
        return value_error();
    stride = size;
    if ((is_given(c, 2) && !take_int(c, 2, &stride)) || !take_pool_mode(c, 3, &mode) ||
        !take_int(c, 4, &axis) || !take_bool(c, 5, &ceil))
        return value_error();
    return made(c, ir_pool(builder(c), x, size, stride, mode, axis, ceil));
}

static Value run_toeplitz(OperationCall *c)
{
    Node *w = NULL;
    const Size *n = NULL;
    if (!take_tensor(c, 0, &w) || !take_size(c, 1, 1, &n))
        return value_error();
    return made(c, ir_toeplitz(builder(c), w, n));
}

static Value run_rel_shift(OperationCall *c)
{
    Node *x = NULL;
    const Size *keys = NULL;
    int64_t shift = 0;
    if (!take_tensor(c, 0, &x) || !take_size(c, 1, 1, &keys) || !take_int(c, 2, &shift))
        return value_error();
    return made(c, ir_rel_shift(builder(c), x, keys, shift));
}

static Value run_triangle(OperationCall *c)
{
    Node *x = NULL;
    return take_tensor(c, 0, &x) ? made(c, ir_triangle(builder(c), x)) : value_error();
}

// ---- tables ----

static Value run_gather(OperationCall *c)
{
    Node *table = NULL;
    Node *ids = NULL;
    if (!take_tensor(c, 0, &table) || !take_tensor(c, 1, &ids))
        return value_error();
    return made(c, ir_gather(builder(c), table, ids));
}

static Value run_iota(OperationCall *c)
{
    const Size *n = NULL;
    return take_size(c, 0, 1, &n) ? made(c, ir_iota(builder(c), n)) : value_error();
}

static Value run_len(OperationCall *c)
{
    if (c->args[0].kind == VALUE_list)
        return value_int((int64_t)c->args[0].list->n);
    fail(c, WHOLE_CALL,
         str_format(c->e->perm, "expected a list, not %.*s",
                    STR_ARG(value_describe(c->e->perm, c->args[0]))));
    return value_error();
}

// ---- all ----

#define X                                                                                          \
    {                                                                                              \
        "x", NULL                                                                                  \
    }

static const Operation operations[] = {
    {"abs", {X}, run_abs, S_abs},
    {"f32", {X}, run_f32, S_to_f32},
    {"i32", {X}, run_i32, S_to_i32},
    {"select", {{"condition", NULL}, {"a", NULL}, {"b", NULL}}, run_select, S_select},
    {"sum", {X, {"axis", NULL}}, run_sum, S_count},
    {"mean", {X, {"axis", NULL}}, run_mean, S_count},
    {"max", {{"a", NULL}, {"b", ""}, {"axis", ""}}, run_extreme, S_max},
    {"min", {{"a", NULL}, {"b", ""}, {"axis", ""}}, run_extreme, S_min},
    {"softmax", {X, {"axis", "-1"}}, run_softmax, S_count},
    {"transpose", {X}, run_transpose, S_count},
    {"permute", {X, {"order", NULL}}, run_permute, S_count},
    {"reshape", {X, {"shape", NULL}}, run_reshape, S_count},
    {"broadcast", {X, {"shape", NULL}}, run_broadcast, S_count},
    {"concat", {{"parts", NULL}, {"axis", NULL}}, run_concat, S_count},
    {"split", {X, {"parts", NULL}, {"axis", "-1"}}, run_split, S_count},
    {"pad", {X, {"axis", NULL}, {"before", "0"}, {"after", "0"}, {"value", "0"}}, run_pad, S_count},
    {"repeat", {X, {"times", NULL}, {"axis", NULL}}, run_repeat, S_count},
    {"window", {X, {"size", NULL}, {"stride", NULL}, {"axis", NULL}}, run_window, S_count},
    {"pool",
     {X, {"size", "2"}, {"stride", ""}, {"mode", "\"mean\""}, {"axis", "1"}, {"ceil", "true"}},
     run_pool,
     S_count},
    {"toeplitz", {{"w", NULL}, {"n", NULL}}, run_toeplitz, S_count},
    {"rel_shift", {X, {"keys", NULL}, {"shift", "1"}}, run_rel_shift, S_count},
    {"triangle", {X}, run_triangle, S_count},
    {"gather", {{"table", NULL}, {"ids", NULL}}, run_gather, S_count},
    {"iota", {{"n", NULL}}, run_iota, S_count},
    {"len", {{"list", NULL}}, run_len, S_count},
};
#define NOPERATIONS (sizeof operations / sizeof operations[0])

// Functions of one number; those that the table above has are found there first.
#define UNARY_1(id, word) {(word), {X}, run_unary, S_##id},
#define UNARY_2(id, word)
#define UNARY_3(id, word)
static const Operation unary_operations[] = {
#define SCALAR(id, arity, rule, word, summary) UNARY_##arity(id, word)
#include "base/scalar.def"
};
#define NUNARY (sizeof unary_operations / sizeof unary_operations[0])

const Operation *operation_find(Str name)
{
    for (size_t i = 0; i < NOPERATIONS; i++) {
        if (str_equal(name, str_from(operations[i].name)))
            return &operations[i];
    }
    for (size_t i = 0; i < NUNARY; i++) {
        const char *word = unary_operations[i].name;
        if (word && str_equal(name, str_from(word)))
            return &unary_operations[i];
    }
    return NULL;
}

void operation_names(Arena *arena, Names *out)
{
    for (size_t i = 0; i < NOPERATIONS; i++)
        vec_push(arena, out, str_from(operations[i].name));
    for (size_t i = 0; i < NUNARY; i++) {
        if (unary_operations[i].name)
            vec_push(arena, out, str_from(unary_operations[i].name));
    }
}

static size_t count_params(const Operation *op)
{
    size_t n = 0;
    while (n < MOST_PARAMS && op->params[n].name)
        n++;
    return n;
}

void operation_params(Arena *arena, const Operation *op, Names *out)
{
    for (size_t i = 0; i < count_params(op); i++)
        vec_push(arena, out, str_from(op->params[i].name));
}

// MOST_PARAMS if there is none.
static size_t find_param(const Operation *op, Str name)
{
    for (size_t i = 0; i < count_params(op); i++) {
        if (str_equal(name, str_from(op->params[i].name)))
            return i;
    }
    return MOST_PARAMS;
}

static Str list_params(Elab *e, const Operation *op)
{
    Buf buf = {.arena = e->perm};
    for (size_t i = 0; i < count_params(op); i++)
        buf_format(&buf, "%s%s", i ? ", " : "", op->params[i].name);
    return buf_str(&buf);
}

static bool fill_given(OperationCall *c, const Args *args)
{
    Elab *e = c->e;
    size_t n = count_params(c->op);
    for (size_t i = 0; i < args->list.n; i++) {
        const GivenArg *given = &args->list.items[i];
        size_t index = given->name.len ? find_param(c->op, given->name) : i;
        if (given->name.len && index == MOST_PARAMS) {
            Names names = {0};
            operation_params(e->perm, c->op, &names);
            elab_error(e, given->at, "%s: no argument `%.*s`%.*s", c->op->name,
                       STR_ARG(given->name), STR_ARG(name_list_hint(e->perm, given->name, &names)));
            return false;
        }
        if (index >= n) {
            elab_error(e, given->at, "%s: takes %zu argument%s: %.*s", c->op->name, n,
                       n == 1 ? "" : "s", STR_ARG(list_params(e, c->op)));
            return false;
        }
        if (is_given(c, index)) {
            elab_error(e, given->at, "%s: argument `%.*s` is given twice", c->op->name,
                       STR_ARG(given->name));
            return false;
        }
        c->args[index] = given->value;
        c->places[index] = given->at;
    }
    return true;
}

static void note_seen(Elab *e, RestArg *arg, const Operation *op)
{
    for (size_t i = 0; i < arg->seen_operations.n; i++) {
        if (arg->seen_operations.items[i] == op)
            return;
    }
    if (arg->seen_operations.n < ELAB_MOST_SEEN)
        vec_push(e->perm, &arg->seen_operations, op);
}

static void fill_rest(OperationCall *c, const Rest *rest)
{
    for (size_t i = 0; i < count_params(c->op); i++) {
        const OperationParam *param = &c->op->params[i];
        if (is_given(c, i) || !param->fallback)
            continue;
        FrontOption option = {.name = str_from(param->name),
                              .value = str_from(param->fallback),
                              .owner = str_from(c->op->name),
                              .at = c->at};
        elab_offer(c->e, rest, option, NULL);
    }
    for (size_t i = 0; i < rest->args.n; i++) {
        RestArg *arg = rest->args.items[i];
        note_seen(c->e, arg, c->op);
        size_t index = find_param(c->op, arg->name);
        if (index == MOST_PARAMS || is_given(c, index)) {
            arg->is_hidden = arg->is_hidden || index < MOST_PARAMS;
            continue;
        }
        const char *fallback = c->op->params[index].fallback;
        c->args[index] = elab_word(c->e, arg->value, fallback && fallback[0] == '"');
        c->places[index] = arg->at;
        arg->is_taken = true;
    }
}

// The value of a fallback, which is an integer, a text or `true`.
static Value fallback_value(const char *text)
{
    int64_t n;
    Str s = str_from(text);
    if (str_to_int(s, &n))
        return value_int(n);
    if (text[0] == '"')
        return value_text((Str){text + 1, s.len - 2});
    return value_bool(true);
}

static bool fill_fallbacks(OperationCall *c)
{
    for (size_t i = 0; i < count_params(c->op); i++) {
        const OperationParam *param = &c->op->params[i];
        if (is_given(c, i))
            continue;
        if (!param->fallback) {
            elab_error(c->e, c->at, "%s: argument `%s` is missing", c->op->name, param->name);
            return false;
        }
        c->args[i] = fallback_value(param->fallback);
    }
    return true;
}

Value elab_operation(Elab *e, const Function *f, const Args *args, Place at)
{
    OperationCall c = {.e = e, .op = f->operation, .at = at};
    c.site = (Site){c.op->name, at, c.places, MOST_PARAMS};
    if (!fill_given(&c, args))
        return value_error();
    if (args->rest)
        fill_rest(&c, args->rest);
    if (!fill_fallbacks(&c))
        return value_error();
    for (size_t i = 0; i < MOST_PARAMS; i++) {
        if (is_given(&c, i) && c.args[i].kind == VALUE_error)
            return value_error();
    }
    return c.op->run(&c);
}
