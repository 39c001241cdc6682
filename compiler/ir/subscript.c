// x[…]: at most one slice and one reshape. An index is a slice of one member whose axis the reshape
// drops; `new` is an axis of one member that the reshape adds.
#include "ir/internal.h"

typedef struct Walk {
    Builder *b;
    Arena *arena;
    const Type *x;
    const char *shown;  // x's type
    size_t axis;        // the next of x's axes
    const Size **start; // [x's rank] the slice
    int64_t *step;
    const Size **counts;
    bool is_slice;      // some axis is not taken whole
    const Size **shape; // [nshape] of the result
    size_t nshape;
    bool is_reshape; // some axis is dropped or added
} Walk;

static const Size *constant(const Walk *w, int64_t n) { return size_int(w->arena, n); }

static bool holds(const Walk *w, SizeOp op, const Size *left, const Size *right)
{
    return ir_holds(w->b->graph, op, left, right);
}

// `position` of an axis of n members, counted from the end if it is known to be negative.
static const Size *from_front(const Walk *w, const Size *position, const Size *n)
{
    return holds(w, SIZE_lt, position, constant(w, 0)) ? size_add(w->arena, position, n) : position;
}

static void take_whole(Walk *w)
{
    w->start[w->axis] = constant(w, 0);
    w->step[w->axis] = 1;
    w->counts[w->axis] = w->x->shape[w->axis];
    w->shape[w->nshape++] = w->x->shape[w->axis];
    w->axis++;
}

static bool take_index(Walk *w, const Subscript *sub, int arg)
{
    const Size *n = w->x->shape[w->axis];
    const Size *zero = constant(w, 0);
    const Size *at = from_front(w, sub->start, n);
    const char *given = sub->start ? str_cstr(w->arena, size_text(w->arena, sub->start)) : "";
    bool is_low = !holds(w, SIZE_ge, at, zero);
    if (is_low || !holds(w, SIZE_lt, at, n)) {
        return ir_refuse(w->b, arg, is_low ? SIZE_ge : SIZE_lt, at, is_low ? zero : n,
                         "index %s is out of range for axis %zu of %s", given, w->axis, w->shown);
    }
    w->start[w->axis] = at;
    w->step[w->axis] = 1;
    w->counts[w->axis] = constant(w, 1);
    w->is_slice = w->is_slice || !size_is(n, 1);
    w->is_reshape = true;
    w->axis++;
    return true;
}

static bool check_bounds(Walk *w, const Size *start, const Size *stop, int arg)
{
    const Size *n = w->x->shape[w->axis];
    const Size *zero = constant(w, 0);
    if (start == NULL || stop == NULL) {
        return ir_fail(w->b, arg, IR_TOO_LARGE);
    }
    Buf text = {.arena = w->arena};
    buf_add(&text, STR("slice "));
    size_print(&text, start);
    buf_add(&text, STR(" : "));
    size_print(&text, stop);
    buf_format(&text, " of axis %zu of %s", w->axis, w->shown);
    Str slice = buf_str(&text);
    if (!holds(w, SIZE_ge, start, zero)) {
        return ir_refuse(w->b, arg, SIZE_ge, start, zero, "%.*s starts before 0", STR_ARG(slice));
    }
    if (!holds(w, SIZE_le, stop, n)) {
        return ir_refuse(w->b, arg, SIZE_le, stop, n, "%.*s ends after it", STR_ARG(slice));
    }
    if (!holds(w, SIZE_lt, start, stop)) {
        return ir_refuse(w->b, arg, SIZE_lt, start, stop, "%.*s is empty", STR_ARG(slice));
    }
    return true;
}

static bool take_slice(Walk *w, const Subscript *sub, int arg)
{
    const Size *n = w->x->shape[w->axis];
    int64_t step = sub->step;
    bool is_whole = sub->start == NULL && sub->stop == NULL;
    if (step == 0 || step == INT64_MIN || (step < 0 && !is_whole)) {
        return ir_fail(w->b, arg,
                       "a step is positive, or negative for the whole axis, as in [:: -1]");
    }
    const Size *start = sub->start ? from_front(w, sub->start, n) : constant(w, 0);
    const Size *stop = sub->stop ? from_front(w, sub->stop, n) : n;
    if (!check_bounds(w, start, stop, arg)) {
        return false;
    }
    int64_t stride = step < 0 ? -step : step;
    const Size *members =
        size_add(w->arena, size_sub(w->arena, stop, start), constant(w, stride - 1));
    const Size *count = ir_simplify(w->b->graph, size_div(w->arena, members, stride));
    if (count == NULL) {
        return ir_fail(w->b, arg, IR_TOO_LARGE);
    }
    w->start[w->axis] = step < 0 ? size_sub(w->arena, n, constant(w, 1)) : start;
    w->step[w->axis] = step;
    w->counts[w->axis] = count;
    w->shape[w->nshape++] = count;
    w->is_slice = w->is_slice || step < 0 || !size_equal(count, n);
    w->axis++;
    return true;
}

// How many of x's axes the subscripts name; false if they are more than it has, or if `..` stands
// twice.
static bool count_taken(Walk *w, const Subscript *subs, size_t n, size_t *taken)
{
    bool has_rest = false;
    *taken = 0;
    for (size_t i = 0; i < n; i++) {
        if (subs[i].kind == SUB_rest) {
            if (has_rest) {
                return ir_fail(w->b, (int)i, "`..` stands once in a subscript");
            }
            has_rest = true;
        } else if (subs[i].kind != SUB_new) {
            (*taken)++;
            if (*taken > w->x->rank) {
                return ir_fail(w->b, (int)i, "too many subscripts: %s has %u axes", w->shown,
                               (unsigned)w->x->rank);
            }
        }
    }
    return true;
}

static bool take_all(Walk *w, const Subscript *subs, size_t n)
{
    size_t taken;
    if (!count_taken(w, subs, n, &taken)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        bool ok = true;
        switch (subs[i].kind) {
        case SUB_rest:
            for (size_t k = taken; k < w->x->rank; k++) {
                take_whole(w);
            }
            break;
        case SUB_new:
            w->shape[w->nshape++] = constant(w, 1);
            w->is_reshape = true;
            break;
        case SUB_index: ok = take_index(w, &subs[i], (int)i); break;
        case SUB_slice: ok = take_slice(w, &subs[i], (int)i); break;
        }
        if (!ok) {
            return false;
        }
    }
    while (w->axis < w->x->rank) {
        take_whole(w);
    }
    return true;
}

Node *ir_subscript(Builder *b, Node *x, const Subscript *subs, size_t n)
{
    if (x == NULL) {
        return NULL;
    }
    Arena *arena = b->graph->arena;
    size_t rank = x->type.rank;
    Walk w = {.b = b,
              .arena = arena,
              .x = &x->type,
              .shown = str_cstr(arena, type_text(arena, &x->type)),
              .start = arena_new(arena, const Size *, rank),
              .step = arena_new(arena, int64_t, rank),
              .counts = arena_new(arena, const Size *, rank),
              .shape = arena_new(arena, const Size *, rank + n)};
    if (!take_all(&w, subs, n)) {
        return NULL;
    }
    if (w.is_slice) {
        Type type = {.dtype = x->type.dtype, .rank = (uint32_t)rank, .shape = w.counts};
        x = ir_add_node(b, OP_slice, &x, 1, &(Attr){.start = w.start, .step = w.step}, &type);
    }
    return w.is_reshape ? ir_reshape(b, x, w.shape, w.nshape) : x;
}
