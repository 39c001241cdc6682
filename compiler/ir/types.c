// Types: comparing, showing, counting; and what the type rules ask of sizes.
#include "ir/internal.h"

// Symbols and numbers that a size is written with, those inside of floors included.
#define MAX_PARTS 4096

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

// Takes the parts of `size` off what is left; false when there is nothing left.
static bool spend(const Size *size, size_t *left)
{
    for (size_t i = 0; i < size->nterms; i++) {
        const SizeTerm *term = &size->terms[i];
        if (*left <= term->natoms) {
            return false;
        }
        *left -= term->natoms + 1;
        for (size_t k = 0; k < term->natoms; k++) {
            if (term->atoms[k]->top != NULL && !spend(term->atoms[k]->top, left)) {
                return false;
            }
        }
    }
    return true;
}

bool ir_is_handy(const Size *size)
{
    size_t left = MAX_PARTS;
    return size != NULL && spend(size, &left);
}

const Size *ir_times(Arena *arena, const Size *x, const Size *y)
{
    if (x == NULL || y == NULL || x->nterms * y->nterms > MAX_PARTS) {
        return NULL;
    }
    const Size *product = size_mul(arena, x, y);
    return ir_is_handy(product) ? product : NULL;
}

const Size *type_count(Arena *arena, const Type *type)
{
    const Size *count = size_int(arena, 1);
    for (size_t i = 0; i < type->rank; i++) {
        count = ir_times(arena, count, type->shape[i]);
    }
    return count;
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

// ---- what a user is told of an undecided comparison ----

typedef struct Names {
    Arena *arena;
    VEC(Str) found;
} Names;

static void add_name(void *ctx, Str name)
{
    Names *names = ctx;
    for (size_t i = 0; i < names->found.n; i++) {
        if (str_equal(names->found.items[i], name)) {
            return;
        }
    }
    vec_push(names->arena, &names->found, name);
}

Str ir_undecided(const Graph *graph, SizeOp op, const Size *left, const Size *right)
{
    Arena *arena = graph->arena;
    Names names = {.arena = arena};
    const Size *difference = size_sub(arena, left, right);
    if (difference != NULL) {
        size_symbols(difference, add_name, &names);
    } else {
        size_symbols(left, add_name, &names);
        size_symbols(right, add_name, &names);
    }
    Buf condition = {.arena = arena};
    size_print(&condition, left);
    buf_format(&condition, " %s ", size_op_text(op));
    size_print(&condition, right);

    Buf out = {.arena = arena};
    buf_format(&out, "whether %.*s is not known; ", STR_ARG(buf_str(&condition)));
    for (size_t i = 0; i < names.found.n; i++) {
        Str name = names.found.items[i];
        buf_add(&out, i == 0 ? STR("fix it with ") : STR(" or "));
        if (str_equal(name, STR("seq"))) {
            buf_add(&out, STR("--seq N"));
        } else {
            buf_format(&out, "--set %.*s=N", STR_ARG(name));
        }
    }
    buf_format(&out, "%sor declare it: check %.*s, \"…\"", names.found.n > 0 ? ", " : "",
               STR_ARG(buf_str(&condition)));
    return buf_str(&out);
}
