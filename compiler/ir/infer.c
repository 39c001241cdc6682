// Type rules: what each operation demands of its operands and attributes, and the type it gives.
// Faults are reported by the position of the argument in the calls of ir.h.
#include "ir/internal.h"

// ---- helpers ----

static const Type *operand(const Call *c, size_t i) { return &c->args[i]->type; }

// Types and sizes in messages, NUL-terminated.
static const char *shown(const Call *c, const Type *type)
{
    return str_cstr(c->arena, type_text(c->arena, type));
}

static const char *shown_arg(const Call *c, size_t i) { return shown(c, operand(c, i)); }

static const char *shown_size(const Call *c, const Size *size)
{
    return size == NULL ? "a size over 64 bits" : str_cstr(c->arena, size_text(c->arena, size));
}

static const Size *number(const Call *c, int64_t n) { return size_int(c->arena, n); }

static bool holds(const Call *c, SizeOp op, const Size *left, const Size *right)
{
    return ir_holds(c->b->graph, op, left, right);
}

// Starts the result's type; the caller fills the sizes.
static const Size **start_type(Call *c, DType dtype, size_t rank)
{
    const Size **shape = arena_new(c->arena, const Size *, rank);
    c->out = (Type){.dtype = dtype, .rank = (uint32_t)rank, .shape = shape};
    return shape;
}

// The result is like the operand but for the sizes the caller changes.
static const Size **start_like(Call *c, const Type *type)
{
    const Size *const *from = type->shape; // `type` may be c->out itself
    const Size **shape = start_type(c, type->dtype, type->rank);
    for (size_t i = 0; i < c->out.rank; i++) {
        shape[i] = from[i];
    }
    return shape;
}

// An input keeps a size that is a symbol alone, whatever that is known to equal: there the model
// finds the symbol's value when it runs.
static bool keeps_symbol(const Call *c, const Size *size)
{
    return c->op == OP_input && size_is_symbol(size, NULL);
}

// The result's type is the one given; every size must be at least 1.
static bool take_given(Call *c, int arg)
{
    const Size *one = number(c, 1);
    if (c->given == NULL) {
        return ir_fail(c->b, arg, "the result's type must be given");
    }
    if (!dtype_is_element(c->given->dtype)) {
        return ir_fail(c->b, arg, "a tensor has f32, i32 or bool elements, not %s",
                       dtype_name(c->given->dtype));
    }
    const Size **shape = start_like(c, c->given);
    for (size_t i = 0; i < c->out.rank; i++) {
        const Size *simple = ir_simplify(c->b->graph, shape[i]);
        if (!holds(c, SIZE_ge, simple, one)) {
            return ir_refuse(c->b, arg, SIZE_ge, simple, one,
                             "a size must be at least 1, but axis %zu has %s", i,
                             shown_size(c, simple));
        }
        shape[i] = keeps_symbol(c, shape[i]) ? shape[i] : simple;
    }
    return true;
}

static bool take_given_like(Call *c, int arg)
{
    if (!take_given(c, arg)) {
        return false;
    }
    return c->out.dtype == operand(c, 0)->dtype ||
           ir_fail(c->b, arg, "the elements of %s cannot become %s", shown_arg(c, 0),
                   dtype_name(c->out.dtype));
}

static bool needs_rank(Call *c, size_t i, size_t least)
{
    static const char *const axes[] = {"no axis", "an axis", "two axes"};
    return operand(c, i)->rank >= least ||
           ir_fail(c->b, (int)i, "needs %s at least: %s", axes[least], shown_arg(c, i));
}

static bool needs_dtype(Call *c, size_t i, DType dtype)
{
    return operand(c, i)->dtype == dtype ||
           ir_fail(c->b, (int)i, "expected %s, not %s", dtype_name(dtype), shown_arg(c, i));
}

// The axis attribute, counted from the front, of the first operand.
static bool take_axis(Call *c, int arg)
{
    return ir_axis(c->b, arg, c->attr->axis, operand(c, 0)->rank, &c->attr->axis);
}

static bool at_least(Call *c, int arg, const char *name, int64_t value, int64_t least)
{
    return value >= least || ir_fail(c->b, arg, "`%s` must be at least %lld, not %lld", name,
                                     (long long)least, (long long)value);
}

// "f32[2, 3] and f32[4]", without operands of one element.
static const char *shown_operands(const Call *c)
{
    Buf types = {.arena = c->arena};
    for (size_t i = 0; i < c->nargs; i++) {
        if (operand(c, i)->rank > 0) {
            buf_add(&types, types.len > 0 ? STR(" and ") : STR(""));
            type_print(&types, operand(c, i));
        }
    }
    return types.ptr;
}

// The size of one axis, counted from the back, that all operands broadcast to; NULL after a report.
static const Size *broadcast_axis(Call *c, size_t from_back)
{
    const Size *size = number(c, 1);
    for (size_t i = 0; i < c->nargs; i++) {
        const Type *type = operand(c, i);
        const Size *n = from_back <= type->rank ? type->shape[type->rank - from_back] : NULL;
        if (n == NULL || size_is(n, 1)) {
            continue;
        }
        if (size_is(size, 1)) {
            size = n;
        } else if (!holds(c, SIZE_eq, size, n)) {
            ir_refuse(c->b, -1, SIZE_eq, size, n, "shapes do not broadcast: %s", shown_operands(c));
            return NULL;
        }
    }
    return size;
}

// The sizes all operands broadcast to, but for their last `skip` axes; shape: [rank], the highest
// rank less `skip`.
static bool broadcast_shapes(Call *c, size_t skip, const Size **shape, size_t rank)
{
    for (size_t axis = 0; axis < rank; axis++) {
        shape[axis] = broadcast_axis(c, rank - axis + skip);
        if (shape[axis] == NULL) {
            return false;
        }
    }
    return true;
}

static size_t highest_rank(const Call *c)
{
    size_t rank = 0;
    for (size_t i = 0; i < c->nargs; i++) {
        rank = operand(c, i)->rank > rank ? operand(c, i)->rank : rank;
    }
    return rank;
}

// Whether two types are the same where it counts, sizes compared by what is known.
static bool types_agree(const Call *c, const Type *a, const Type *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank) {
        return false;
    }
    for (size_t i = 0; i < a->rank; i++) {
        if (!holds(c, SIZE_eq, a->shape[i], b->shape[i])) {
            return false;
        }
    }
    return true;
}

// ---- leaves ----

static bool infer_input(Call *c)
{
    const Attr *attr = c->attr;
    if (attr->has_range) {
        if (c->out.dtype != DT_i32) {
            return ir_fail(c->b, 2, "a range is for i32, not %s", shown(c, &c->out));
        }
        if (attr->low >= attr->high) {
            return ir_fail(c->b, 2, "the range %lld .. %lld is empty", (long long)attr->low,
                           (long long)attr->high);
        }
    }
    if (attr->has_default && !dtype_holds(c->out.dtype, attr->value)) {
        return ir_fail(c->b, 3, "%g does not fit %s", attr->value, shown(c, &c->out));
    }
    if (attr->has_default && attr->has_range &&
        (attr->value < (double)attr->low || attr->value >= (double)attr->high)) {
        return ir_fail(c->b, 3, "%g lies outside %lld .. %lld", attr->value, (long long)attr->low,
                       (long long)attr->high);
    }
    return true;
}

static bool infer_stored(Call *c)
{
    for (size_t i = 0; i < c->out.rank; i++) {
        if (!size_is_int(c->out.shape[i], NULL)) {
            return ir_fail(c->b, 1, "a stored tensor has no symbols in its sizes: %s",
                           shown(c, &c->out));
        }
    }
    return true;
}

static bool infer_number(Call *c)
{
    if (c->op == OP_fill) {
        return dtype_holds(c->out.dtype, c->attr->value) ||
               ir_fail(c->b, 1, "%g does not fit %s", c->attr->value, shown(c, &c->out));
    }
    if (c->attr->size == NULL) {
        return ir_fail(c->b, 1, IR_TOO_LARGE);
    }
    return (c->out.rank == 0 && c->out.dtype != DT_bool) ||
           ir_fail(c->b, 0, "a size becomes one f32 or one i32, not %s", shown(c, &c->out));
}

static bool infer_given(Call *c)
{
    if (!take_given(c, c->op == OP_iota || c->op == OP_size ? 0 : 1)) {
        return false;
    }
    if (c->op == OP_input) {
        return infer_input(c);
    }
    if (c->op == OP_param || c->op == OP_constant) {
        return infer_stored(c);
    }
    if (c->op == OP_fill || c->op == OP_size) {
        return infer_number(c);
    }
    return c->op != OP_iota || (c->out.rank == 1 && c->out.dtype == DT_i32) ||
           ir_fail(c->b, 0, "counts along one axis of i32, not %s", shown(c, &c->out));
}

// ---- elementwise ----

// Says why the function does not take its operands; always false.
static bool refuse_elements(Call *c)
{
    ScalarRule rule = scalar_rule(c->attr->fn);
    size_t first = rule == RULE_choose ? 1 : 0;
    const char *word = scalar_word(c->attr->fn);
    word = word != NULL ? word : scalar_name(c->attr->fn);
    if (rule == RULE_choose && !needs_dtype(c, 0, DT_bool)) {
        return false;
    }
    for (size_t i = 0; i < c->nargs && rule == RULE_logic; i++) {
        if (!needs_dtype(c, i, DT_bool)) {
            return false;
        }
    }
    if (c->nargs - first == 1) {
        if (rule == RULE_float) {
            return needs_dtype(c, 0, DT_f32);
        }
        return ir_fail(c->b, 0, "no `%s` of %s; f32(x) makes numbers of it", word, shown_arg(c, 0));
    }
    const char *left = shown_arg(c, first);
    const char *right = shown_arg(c, first + 1);
    if (operand(c, first)->dtype != operand(c, first + 1)->dtype) {
        return ir_fail(c->b, -1, "element types differ: %s and %s", left, right);
    }
    return ir_fail(c->b, -1, "no `%s` of %s elements: %s and %s; f32(x) converts", word,
                   dtype_name(operand(c, first)->dtype), left, right);
}

static bool infer_map(Call *c)
{
    DType dtypes[SCALAR_MAX_ARITY] = {DT_f32};
    DType result;
    for (size_t i = 0; i < c->nargs; i++) {
        dtypes[i] = operand(c, i)->dtype;
    }
    if (!scalar_result(c->attr->fn, dtypes, &result)) {
        return refuse_elements(c);
    }
    size_t rank = highest_rank(c);
    return broadcast_shapes(c, 0, start_type(c, result, rank), rank);
}

static bool infer_same(Call *c)
{
    start_like(c, operand(c, 0));
    return c->op != OP_triangle || needs_rank(c, 0, 2);
}

// ---- reductions and products ----

// The axes attribute, each counted from the front and named once; sorted if `sort`.
static bool take_axes(Call *c, bool sort)
{
    Attr *attr = c->attr;
    const Type *x = operand(c, 0);
    if (attr->naxes > x->rank) {
        return ir_fail(c->b, 1, "%zu axes of %s", attr->naxes, shown(c, x));
    }
    int64_t *axes = arena_new(c->arena, int64_t, attr->naxes);
    for (size_t i = 0; i < attr->naxes; i++) {
        int64_t axis = 0;
        if (!ir_axis(c->b, 1, attr->axes[i], x->rank, &axis)) {
            return false;
        }
        size_t at = i;
        for (size_t k = 0; k < i; k++) {
            if (axes[k] == axis) {
                return ir_fail(c->b, 1, "axis %lld of %s is named twice", (long long)axis,
                               shown(c, x));
            }
        }
        for (; sort && at > 0 && axes[at - 1] > axis; at--) {
            axes[at] = axes[at - 1];
        }
        axes[at] = axis;
    }
    attr->axes = axes;
    return true;
}

static bool infer_reduce(Call *c)
{
    const Type *x = operand(c, 0);
    bool is_ordered = c->op == OP_reduce_max || c->op == OP_reduce_min;
    if (!is_ordered && (x->dtype == DT_bool || (c->op == OP_reduce_mean && x->dtype != DT_f32))) {
        return ir_fail(c->b, 0, "no %s of %s elements: %s; f32(x) converts",
                       c->op == OP_reduce_mean ? "mean" : "sum", dtype_name(x->dtype), shown(c, x));
    }
    if (c->attr->naxes == 0) {
        return ir_fail(c->b, 1, "no axis is named");
    }
    if (!take_axes(c, true)) {
        return false;
    }
    const Size **shape = start_type(c, x->dtype, x->rank - c->attr->naxes);
    for (size_t i = 0, next = 0, out = 0; i < x->rank; i++) {
        if (next < c->attr->naxes && c->attr->axes[next] == (int64_t)i) {
            next++;
        } else {
            shape[out++] = x->shape[i];
        }
    }
    return true;
}

static bool infer_softmax(Call *c)
{
    start_like(c, operand(c, 0));
    return needs_dtype(c, 0, DT_f32) && take_axis(c, 1);
}

static bool infer_matmul(Call *c)
{
    const Type *x = operand(c, 0);
    const Type *y = operand(c, 1);
    for (size_t i = 0; i < 2; i++) {
        if (operand(c, i)->dtype != DT_f32) {
            return ir_fail(c->b, (int)i, "both sides must be f32: %s @ %s", shown(c, x),
                           shown(c, y));
        }
        if (operand(c, i)->rank < 2) {
            return ir_fail(c->b, (int)i, "both sides need two axes: %s @ %s; [.., new] adds one",
                           shown(c, x), shown(c, y));
        }
    }
    const Size *inner = x->shape[x->rank - 1];
    if (!holds(c, SIZE_eq, inner, y->shape[y->rank - 2])) {
        return ir_refuse(c->b, -1, SIZE_eq, inner, y->shape[y->rank - 2],
                         "inner dimensions differ: %s @ %s", shown(c, x), shown(c, y));
    }
    size_t rank = highest_rank(c);
    const Size **shape = start_type(c, DT_f32, rank);
    shape[rank - 2] = x->shape[x->rank - 2];
    shape[rank - 1] = y->shape[y->rank - 1];
    return broadcast_shapes(c, 2, shape, rank - 2);
}

static bool infer_gather(Call *c)
{
    const Type *table = operand(c, 0);
    const Type *ids = operand(c, 1);
    if (!needs_rank(c, 0, 1) || !needs_dtype(c, 1, DT_i32) || !take_axis(c, 2)) {
        return false;
    }
    size_t axis = (size_t)c->attr->axis;
    const Size **shape = start_type(c, table->dtype, (size_t)table->rank + ids->rank - 1);
    size_t n = 0;
    for (size_t i = 0; i < axis; i++) {
        shape[n++] = table->shape[i];
    }
    for (size_t i = 0; i < ids->rank; i++) {
        shape[n++] = ids->shape[i];
    }
    for (size_t i = axis + 1; i < table->rank; i++) {
        shape[n++] = table->shape[i];
    }
    return true;
}

// ---- movement ----

static bool infer_permute(Call *c)
{
    const Type *x = operand(c, 0);
    if (c->attr->naxes != x->rank) {
        return ir_fail(c->b, 1, "the order names %zu axes, but %s has %u", c->attr->naxes,
                       shown(c, x), (unsigned)x->rank);
    }
    if (!take_axes(c, false)) {
        return false;
    }
    const Size **shape = start_type(c, x->dtype, x->rank);
    for (size_t i = 0; i < x->rank; i++) {
        shape[i] = x->shape[c->attr->axes[i]];
    }
    return true;
}

static bool infer_reshape(Call *c)
{
    if (!take_given_like(c, 1)) {
        return false;
    }
    const Type *x = operand(c, 0);
    const Size *have = ir_simplify(c->b->graph, type_count(c->arena, x));
    const Size *want = ir_simplify(c->b->graph, type_count(c->arena, &c->out));
    if (holds(c, SIZE_eq, have, want)) {
        return true;
    }
    Str shape = ir_shape_text(c->arena, c->out.shape, c->out.rank);
    return ir_refuse(c->b, 1, SIZE_eq, have, want, "%s has %s elements, but %.*s has %s",
                     shown(c, x), shown_size(c, have), STR_ARG(shape), shown_size(c, want));
}

static bool infer_broadcast(Call *c)
{
    if (!take_given_like(c, 1)) {
        return false;
    }
    const Type *x = operand(c, 0);
    Str shape = ir_shape_text(c->arena, c->out.shape, c->out.rank);
    if (x->rank > c->out.rank) {
        return ir_fail(c->b, 1, "%s does not broadcast to %.*s", shown(c, x), STR_ARG(shape));
    }
    size_t new_axes = c->out.rank - x->rank;
    for (size_t i = 0; i < x->rank; i++) {
        const Size *to = c->out.shape[new_axes + i];
        if (!size_is(x->shape[i], 1) && !holds(c, SIZE_eq, x->shape[i], to)) {
            return ir_refuse(c->b, 1, SIZE_eq, x->shape[i], to, "%s does not broadcast to %.*s",
                             shown(c, x), STR_ARG(shape));
        }
    }
    return true;
}

// Members start, start + step, … of an axis of `size` members: both ends must lie inside.
static bool check_slice_axis(Call *c, size_t axis)
{
    const Size *start = c->attr->start[axis];
    int64_t step = c->attr->step[axis];
    const Size *size = operand(c, 0)->shape[axis];
    const Size *zero = number(c, 0);
    if (step == 0) {
        return ir_fail(c->b, -1, "the step of axis %zu is 0", axis);
    }
    const Size *steps = size_sub(c->arena, c->out.shape[axis], number(c, 1));
    const Size *last = size_add(c->arena, start, size_scale(c->arena, steps, step));
    const Size *lowest = step > 0 ? start : last;
    const Size *highest = step > 0 ? last : start;
    if (!holds(c, SIZE_ge, lowest, zero)) {
        return ir_refuse(c->b, -1, SIZE_ge, lowest, zero,
                         "the slice of axis %zu of %s starts before 0", axis, shown_arg(c, 0));
    }
    if (!holds(c, SIZE_lt, highest, size)) {
        return ir_refuse(c->b, -1, SIZE_lt, highest, size,
                         "the slice of axis %zu of %s ends after it", axis, shown_arg(c, 0));
    }
    return true;
}

static bool infer_slice(Call *c)
{
    if (!take_given_like(c, -1)) {
        return false;
    }
    if (c->out.rank != operand(c, 0)->rank) {
        return ir_fail(c->b, -1, "a slice of %s keeps its axes: %s", shown_arg(c, 0),
                       shown(c, &c->out));
    }
    for (size_t i = 0; i < c->out.rank; i++) {
        if (!check_slice_axis(c, i)) {
            return false;
        }
    }
    return true;
}

static bool infer_concat(Call *c)
{
    const Type *first = operand(c, 0);
    if (!take_axis(c, 1)) {
        return false;
    }
    size_t axis = (size_t)c->attr->axis;
    const Size **shape = start_like(c, first);
    for (size_t i = 1; i < c->nargs; i++) {
        const Type *part = operand(c, i);
        if (part->dtype != first->dtype || part->rank != first->rank) {
            return ir_fail(c->b, 0, "parts differ: %s and %s", shown(c, first), shown(c, part));
        }
        for (size_t k = 0; k < first->rank; k++) {
            if (k != axis && !holds(c, SIZE_eq, first->shape[k], part->shape[k])) {
                return ir_refuse(c->b, 0, SIZE_eq, first->shape[k], part->shape[k],
                                 "parts differ on axis %zu: %s and %s", k, shown(c, first),
                                 shown(c, part));
            }
        }
        shape[axis] = size_add(c->arena, shape[axis], part->shape[axis]);
    }
    return true;
}

static bool infer_pad(Call *c)
{
    const Attr *attr = c->attr;
    const Type *x = operand(c, 0);
    const Size *zero = number(c, 0);
    if (!take_axis(c, 1)) {
        return false;
    }
    if (!holds(c, SIZE_ge, attr->before, zero)) {
        return ir_refuse(c->b, 2, SIZE_ge, attr->before, zero, "`before` must be at least 0");
    }
    if (!holds(c, SIZE_ge, attr->after, zero)) {
        return ir_refuse(c->b, 3, SIZE_ge, attr->after, zero, "`after` must be at least 0");
    }
    if (!dtype_holds(x->dtype, attr->value)) {
        return ir_fail(c->b, 4, "%g does not fit %s", attr->value, shown(c, x));
    }
    const Size **size = start_like(c, x) + attr->axis;
    *size = size_add(c->arena, size_add(c->arena, attr->before, *size), attr->after);
    return true;
}

static bool infer_repeat(Call *c)
{
    if (!at_least(c, 1, "times", c->attr->times, 1) || !take_axis(c, 2)) {
        return false;
    }
    const Size **size = start_like(c, operand(c, 0)) + c->attr->axis;
    *size = size_scale(c->arena, *size, c->attr->times);
    return true;
}

// ceil((n - window + extra) / stride) + 1 windows, extra being 0 or stride - 1; NULL after a
// report.
static const Size *count_windows(Call *c, int64_t extra)
{
    const Attr *attr = c->attr;
    const Size *n = operand(c, 0)->shape[attr->axis];
    const Size *room =
        size_sub(c->arena, size_add(c->arena, n, number(c, extra)), number(c, attr->window));
    if (!holds(c, SIZE_ge, room, number(c, 0))) {
        const Size *least = size_sub(c->arena, number(c, attr->window), number(c, extra));
        ir_refuse(c->b, 1, SIZE_ge, n, least, "a window of %lld does not fit axis %lld of %s",
                  (long long)attr->window, (long long)attr->axis, shown_arg(c, 0));
        return NULL;
    }
    const Size *count = size_add(c->arena, size_div(c->arena, room, attr->stride), number(c, 1));
    if (count == NULL) {
        ir_fail(c->b, -1, IR_TOO_LARGE);
    }
    return count;
}

static bool infer_window(Call *c)
{
    const Attr *attr = c->attr;
    const Type *x = operand(c, 0);
    if (!at_least(c, 1, "size", attr->window, 1) || !at_least(c, 2, "stride", attr->stride, 1) ||
        !take_axis(c, 3)) {
        return false;
    }
    const Size *count = count_windows(c, 0);
    if (count == NULL) {
        return false;
    }
    const Size *left = size_mod(
        c->arena, size_sub(c->arena, x->shape[attr->axis], number(c, attr->window)), attr->stride);
    left = ir_simplify(c->b->graph, left);
    if (!holds(c, SIZE_eq, left, number(c, 0))) {
        return ir_refuse(c->b, -1, SIZE_eq, left, number(c, 0),
                         "windows of %lld at stride %lld do not fill axis %lld of %s exactly; "
                         "slice or pad it first",
                         (long long)attr->window, (long long)attr->stride, (long long)attr->axis,
                         shown(c, x));
    }
    const Size **shape = start_type(c, x->dtype, (size_t)x->rank + 1);
    for (size_t i = 0, n = 0; i < x->rank; i++) {
        if ((int64_t)i == attr->axis) {
            shape[n++] = count;
            shape[n++] = number(c, attr->window);
        } else {
            shape[n++] = x->shape[i];
        }
    }
    return true;
}

static bool infer_pool(Call *c)
{
    const Attr *attr = c->attr;
    const Type *x = operand(c, 0);
    if (!at_least(c, 1, "size", attr->window, 1) || !at_least(c, 2, "stride", attr->stride, 1) ||
        !take_axis(c, 4)) {
        return false;
    }
    if (attr->stride > attr->window) {
        return ir_fail(c->b, 2, "stride %lld is over the window's size %lld: members would be lost",
                       (long long)attr->stride, (long long)attr->window);
    }
    if (attr->mode == POOL_mean && x->dtype != DT_f32) {
        return ir_fail(c->b, 0, "mode \"mean\" is for f32, not %s", shown(c, x));
    }
    const Size *count = count_windows(c, attr->ceil ? attr->stride - 1 : 0);
    if (count == NULL) {
        return false;
    }
    start_like(c, x)[attr->axis] = count;
    return true;
}

static bool infer_toeplitz(Call *c)
{
    const Type *w = operand(c, 0);
    if (!needs_rank(c, 0, 1)) {
        return false;
    }
    const Size *last = w->shape[w->rank - 1];
    const Size *n = size_exact_div(c->arena, size_add(c->arena, last, number(c, 1)), number(c, 2));
    if (c->given != NULL) {
        if (!take_given_like(c, 1)) {
            return false;
        }
        n = c->out.rank > 0 ? c->out.shape[c->out.rank - 1] : NULL;
    }
    if (n == NULL) {
        return ir_fail(c->b, 0, "the last axis must have 2 n - 1 members: %s", shown(c, w));
    }
    const Size *want = size_sub(c->arena, size_scale(c->arena, n, 2), number(c, 1));
    if (!holds(c, SIZE_eq, last, want)) {
        return ir_refuse(c->b, 0, SIZE_eq, last, want,
                         "for n = %s the last axis must have 2 n - 1 = %s members: %s",
                         shown_size(c, n), shown_size(c, want), shown(c, w));
    }
    const Size **shape = start_type(c, w->dtype, (size_t)w->rank + 1);
    for (size_t i = 0; i + 1 < w->rank; i++) {
        shape[i] = w->shape[i];
    }
    shape[w->rank - 1] = shape[w->rank] = n;
    return true;
}

static bool infer_rel_shift(Call *c)
{
    const Type *x = operand(c, 0);
    if (!needs_rank(c, 0, 2) || !at_least(c, 2, "shift", c->attr->shift, 1) ||
        !take_given_like(c, 1)) {
        return false;
    }
    if (c->out.rank != x->rank) {
        return ir_fail(c->b, 1, "a shift of %s keeps its axes: %s", shown(c, x), shown(c, &c->out));
    }
    const Size *keys = c->out.shape[x->rank - 1];
    const Size *queries = x->shape[x->rank - 2];
    const Size *want = size_add(c->arena, size_scale(c->arena, queries, c->attr->shift), keys);
    if (!holds(c, SIZE_eq, x->shape[x->rank - 1], want)) {
        return ir_refuse(c->b, 0, SIZE_eq, x->shape[x->rank - 1], want,
                         "the last axis must have %lld * %s + %s = %s distances: %s",
                         (long long)c->attr->shift, shown_size(c, queries), shown_size(c, keys),
                         shown_size(c, want), shown(c, x));
    }
    start_like(c, x)[x->rank - 1] = keys;
    return true;
}

// Strides and offset are made by passes out of movements that fit, so only what certainly fails is
// refused here.
static bool infer_view(Call *c)
{
    if (!take_given_like(c, -1)) {
        return false;
    }
    const Size *zero = number(c, 0);
    const Size *low = c->attr->offset;
    const Size *high = c->attr->offset;
    for (size_t i = 0; i < c->out.rank; i++) {
        const Size *stride = c->attr->strides[i];
        const Size *span =
            size_mul(c->arena, size_sub(c->arena, c->out.shape[i], number(c, 1)), stride);
        if (holds(c, SIZE_lt, stride, zero)) {
            low = size_add(c->arena, low, span);
        } else {
            high = size_add(c->arena, high, span);
        }
    }
    const Size *count = type_count(c->arena, operand(c, 0));
    if (low == NULL || high == NULL || count == NULL) {
        return ir_fail(c->b, -1, IR_TOO_LARGE);
    }
    if (holds(c, SIZE_lt, low, zero) || holds(c, SIZE_ge, high, count)) {
        return ir_fail(c->b, -1, "elements %s to %s lie outside %s", shown_size(c, low),
                       shown_size(c, high), shown_arg(c, 0));
    }
    return true;
}

static bool infer_pack(Call *c)
{
    const Type *x = operand(c, 0);
    if (!str_equal(c->attr->name, STR("P16"))) {
        return ir_fail(c->b, 1, "there is no layout \"%.*s\"; there is \"P16\"",
                       STR_ARG(c->attr->name));
    }
    if (!needs_dtype(c, 0, DT_f32) || !needs_rank(c, 0, 2)) {
        return false;
    }
    const Size **shape = start_type(c, x->dtype, (size_t)x->rank + 1);
    for (size_t i = 0; i + 2 < x->rank; i++) {
        shape[i] = x->shape[i];
    }
    const Size *columns = x->shape[x->rank - 1];
    shape[x->rank - 2] =
        size_div(c->arena, size_add(c->arena, columns, number(c, IR_PANEL - 1)), IR_PANEL);
    shape[x->rank - 1] = x->shape[x->rank - 2];
    shape[x->rank] = number(c, IR_PANEL);
    return true;
}

// ---- kernels ----

static bool infer_kernel(Call *c)
{
    const Graph *region = c->region;
    start_type(c, DT_f32, 0);
    if (region == NULL || region->outputs.n == 0) {
        return ir_fail(c->b, -1, "a kernel needs a region with outputs");
    }
    for (size_t i = 0; i < region->nodes.n; i++) {
        const Node *node = region->nodes.items[i];
        if (node->op != OP_arg) {
            continue;
        }
        if (node->attr.index >= c->nargs) {
            return ir_fail(c->b, -1, "the region reads operand %u of %zu",
                           (unsigned)node->attr.index, c->nargs);
        }
        const Type *type = operand(c, node->attr.index);
        if (!types_agree(c, &node->type, type)) {
            return ir_fail(c->b, (int)node->attr.index, "operand %u is %s, but the region takes %s",
                           (unsigned)node->attr.index, shown(c, type), shown(c, &node->type));
        }
    }
    return true;
}

static bool infer_result(Call *c)
{
    const Graph *region = c->args[0]->region;
    if (c->attr->index >= region->outputs.n) {
        return ir_fail(c->b, 1, "the kernel has %zu results, there is no %u", region->outputs.n,
                       (unsigned)c->attr->index);
    }
    start_like(c, &region->outputs.items[c->attr->index].node->type);
    return true;
}

// ---- all ----

typedef bool InferFn(Call *call);

static InferFn *const rules[OP_count] = {
#define OP(id, arity, trait, attributes, infer, eval) [OP_##id] = infer_##infer,
#include "ir/ops.def"
};

bool ir_axis(Builder *b, int arg, int64_t axis, size_t rank, int64_t *out)
{
    int64_t n = (int64_t)rank;
    if (axis < -n || axis >= n) {
        return ir_fail(b, arg, "axis %lld is out of range for a tensor of rank %zu",
                       (long long)axis, rank);
    }
    *out = axis < 0 ? axis + n : axis;
    return true;
}

bool ir_check_operands(Call *c)
{
    if (c->op >= OP_count || (c->op == OP_map && c->attr->fn >= S_count)) {
        return ir_fail(c->b, -1, "there is no such operation");
    }
    int arity = c->op == OP_map ? (int)scalar_arity(c->attr->fn) : op_arity(c->op);
    if (arity == IR_ANY_ARITY && c->nargs == 0 && c->op != OP_kernel) {
        return ir_fail(c->b, -1, "needs an operand");
    }
    if (arity != IR_ANY_ARITY && c->nargs != (size_t)arity) {
        return ir_fail(c->b, -1, "takes %d operands, not %zu", arity, c->nargs);
    }
    for (size_t i = 0; i < c->nargs; i++) {
        if ((c->args[i]->op == OP_kernel) != (c->op == OP_result)) {
            return ir_fail(c->b, (int)i,
                           c->op == OP_result ? "operand %zu is a tensor, not a kernel"
                                              : "operand %zu is a kernel; `result` reads it",
                           i);
        }
    }
    return true;
}

bool ir_infer(Call *c)
{
    if (c->given != NULL && c->given->rank > IR_MAX_RANK) {
        return ir_fail(c->b, 1, "a tensor has at most %d axes, not %u", IR_MAX_RANK,
                       (unsigned)c->given->rank);
    }
    if (!rules[c->op](c)) {
        return false;
    }
    if (c->out.rank > IR_MAX_RANK) {
        return ir_fail(c->b, -1, "a tensor has at most %d axes, not %u", IR_MAX_RANK,
                       (unsigned)c->out.rank);
    }
    const Size **shape = start_like(c, &c->out);
    for (size_t i = 0; i < c->out.rank; i++) {
        shape[i] = keeps_symbol(c, shape[i]) ? shape[i] : ir_simplify(c->b->graph, shape[i]);
        if (shape[i] == NULL) {
            return ir_fail(c->b, -1, IR_TOO_LARGE);
        }
    }
    // Bytes, with room for the elements of the reference's doubles.
    if (size_mul(c->arena, type_count(c->arena, &c->out), number(c, 8)) == NULL) {
        return ir_fail(c->b, -1, "%s has too many elements", shown(c, &c->out));
    }
    if (c->given != NULL && c->op != OP_kernel && !types_agree(c, c->given, &c->out)) {
        return ir_fail(c->b, -1, "the result is %s, not %s", shown(c, &c->out), shown(c, c->given));
    }
    return true;
}
