// Types: comparing, showing, counting; and what the type rules ask of sizes.
#include "ir/internal.h"

bool type_equal(const Type *a, const Type *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank) {
        return false;
    }
    for (size_t i = 0; i < a->rank; i++) {
        if (!size_equal(a->shape[i], b->shape[i])) {
            return false;
        }
    }
    return true;
}

static void print_shape(Buf *buf, const Size *const *shape, size_t rank)
{
    buf_char(buf, '[');
    for (size_t i = 0; i < rank; i++) {
        if (i > 0) {
            buf_add(buf, STR(", "));
        }
        size_print(buf, shape[i]);
    }
    buf_char(buf, ']');
}

void type_print(Buf *buf, const Type *type)
{
    buf_add(buf, str_from(dtype_name(type->dtype)));
    if (type->rank > 0) {
        print_shape(buf, type->shape, type->rank);
    }
}

Str type_text(Arena *arena, const Type *type)
{
    Buf buf = {.arena = arena};
    type_print(&buf, type);
    return buf_str(&buf);
}

Str ir_shape_text(Arena *arena, const Size *const *shape, size_t rank)
{
    Buf buf = {.arena = arena};
    print_shape(&buf, shape, rank);
    return buf_str(&buf);
}

const Size *type_count(Arena *arena, const Type *type)
{
    return size_product(arena, type->shape, type->rank);
}

const Size *ir_simplify(const Graph *graph, const Size *size)
{
    int64_t value;
    if (size == NULL || size_is_int(size, &value)) {
        return size;
    }
    return size_simplify(graph->arena, size, graph->facts);
}

bool ir_holds(const Graph *graph, SizeOp op, const Size *left, const Size *right)
{
    if (left == NULL || right == NULL) {
        return false;
    }
    if (op == SIZE_eq && size_equal(left, right)) {
        return true;
    }
    return size_compare(op, left, right, graph->facts) == TRUTH_yes;
}

// ---- what a user is told of sizes that are not known ----

typedef struct Names {
    Arena *arena;
    const Size *among; // takes only the symbols of this, or all if it is NULL
    VEC(Str) found;
} Names;

static bool has_name(const Names *names, Str name)
{
    for (size_t i = 0; i < names->found.n; i++) {
        if (str_equal(names->found.items[i], name)) {
            return true;
        }
    }
    return false;
}

static void add_name(void *ctx, Str name)
{
    Names *names = ctx;
    Names inner = {.arena = names->arena};
    if (names->among != NULL) {
        size_symbols(names->among, add_name, &inner);
    }
    if (!has_name(names, name) && (names->among == NULL || has_name(&inner, name))) {
        vec_push(names->arena, &names->found, name);
    }
}

static Str flags_of(const Names *names)
{
    Buf out = {.arena = names->arena};
    for (size_t i = 0; i < names->found.n; i++) {
        Str name = names->found.items[i];
        buf_add(&out, i > 0 ? STR(" or ") : STR(""));
        if (str_equal(name, STR("seq"))) {
            buf_add(&out, STR("--seq N"));
        } else {
            buf_format(&out, "--set %.*s=N", STR_ARG(name));
        }
    }
    return buf_str(&out);
}

Str ir_flags(Arena *arena, const Size *size)
{
    Names names = {.arena = arena};
    size_symbols(size, add_name, &names);
    return flags_of(&names);
}

Str ir_undecided(const Graph *graph, SizeOp op, const Size *left, const Size *right)
{
    Arena *arena = graph->arena;
    // What cancels out decides nothing.
    Names names = {.arena = arena, .among = size_sub(arena, left, right)};
    size_symbols(left, add_name, &names);
    size_symbols(right, add_name, &names);
    Buf condition = {.arena = arena};
    size_print(&condition, left);
    buf_format(&condition, " %s ", size_op_text(op));
    size_print(&condition, right);

    Buf out = {.arena = arena};
    buf_format(&out, "whether %.*s is not known; ", STR_ARG(buf_str(&condition)));
    if (names.found.n > 0) {
        buf_format(&out, "fix it with %.*s, ", STR_ARG(flags_of(&names)));
    }
    buf_format(&out, "or declare it: check %.*s, \"…\"", STR_ARG(buf_str(&condition)));
    return buf_str(&out);
}

const Size **type_strides(Arena *arena, const Type *type)
{
    const Size **strides = arena_new(arena, const Size *, type->rank + 1);
    const Size *step = size_int(arena, 1);
    for (size_t i = type->rank; i-- > 0;) {
        strides[i] = step;
        step = size_mul(arena, step, type->shape[i]);
    }
    return strides;
}
