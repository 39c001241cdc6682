// Compile-time values.
#include "front/value.h"

// The room of lists that grow: a list may add in place if it ends where the room in use does.
struct ListStore {
    VEC(Value) items;
};

Value value_error(void) { return (Value){.kind = VALUE_error}; }

Value value_int(int64_t n) { return (Value){.kind = VALUE_int, .integer = n}; }

Value value_float(double x) { return (Value){.kind = VALUE_float, .real = x}; }

Value value_bool(bool truth) { return (Value){.kind = VALUE_bool, .truth = truth}; }

Value value_text(Str text) { return (Value){.kind = VALUE_text, .text = text}; }

Value value_tensor(Node *node)
{
    return node ? (Value){.kind = VALUE_tensor, .node = node} : value_error();
}

Value value_size(const Size *size)
{
    int64_t n;
    return size_is_int(size, &n) ? value_int(n) : (Value){.kind = VALUE_size, .size = size};
}

bool value_is_integer(Value v) { return v.kind == VALUE_int || v.kind == VALUE_size; }

bool value_is_number(Value v) { return value_is_integer(v) || v.kind == VALUE_float; }

const Size *value_to_size(Arena *arena, Value v)
{
    return v.kind == VALUE_int ? size_int(arena, v.integer) : v.size;
}

double value_to_double(Value v) { return v.kind == VALUE_int ? (double)v.integer : v.real; }

// ---- lists ----

static unsigned depth_of(const Value *items, size_t n)
{
    unsigned depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (items[i].kind == VALUE_list && items[i].list->depth > depth)
            depth = items[i].list->depth;
    }
    return depth;
}

static Value from_store(Arena *arena, struct ListStore *store, unsigned depth)
{
    List *list = arena_new(arena, List, 1);
    *list = (List){store->items.items, store->items.n, depth, store};
    return (Value){.kind = VALUE_list, .list = list};
}

Value value_list(Arena *arena, const Value *items, size_t n)
{
    struct ListStore *store = arena_new(arena, struct ListStore, 1);
    for (size_t i = 0; i < n; i++)
        vec_push(arena, &store->items, items[i]);
    return from_store(arena, store, depth_of(items, n) + 1);
}

bool list_can_grow(const List *list) { return list->store && list->store->items.n == list->n; }

Value list_join(Arena *arena, const List *a, const List *b)
{
    struct ListStore *store = a->store;
    if (!list_can_grow(a)) {
        store = arena_new(arena, struct ListStore, 1);
        for (size_t i = 0; i < a->n; i++)
            vec_push(arena, &store->items, a->items[i]);
    }
    for (size_t i = 0; i < b->n; i++) {
        Value item = b->items[i]; // b may be a, whose room is about to move
        vec_push(arena, &store->items, item);
    }
    return from_store(arena, store, a->depth > b->depth ? a->depth : b->depth);
}

Value list_slice(Arena *arena, const List *list, int64_t start, int64_t stop)
{
    int64_t n = (int64_t)list->n;
    start = start < 0 ? 0 : start > n ? n : start;
    stop = stop < start ? start : stop > n ? n : stop;
    List *slice = arena_new(arena, List, 1);
    *slice = (List){list->items + start, (size_t)(stop - start), list->depth, NULL};
    return (Value){.kind = VALUE_list, .list = slice};
}

// ---- comparing ----

bool value_comparable(Value a, Value b)
{
    return a.kind == b.kind || (value_is_number(a) && value_is_number(b));
}

static bool numbers_equal(Value a, Value b)
{
    if (a.kind == VALUE_int && b.kind == VALUE_int)
        return a.integer == b.integer;
    return value_to_double(a) == value_to_double(b);
}

static bool lists_equal(const List *a, const List *b, size_t *fuel)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (!value_equal(a->items[i], b->items[i], fuel))
            return false;
    }
    return true;
}

bool value_equal(Value a, Value b, size_t *fuel)
{
    if (*fuel == 0 || !value_comparable(a, b))
        return false;
    (*fuel)--;
    switch (a.kind) {
    case VALUE_int:
    case VALUE_float: return b.kind != VALUE_size && numbers_equal(a, b);
    case VALUE_bool: return a.truth == b.truth;
    case VALUE_text: return str_equal(a.text, b.text);
    case VALUE_layout: return str_equal(a.layout->text, b.layout->text);
    case VALUE_group:
        return a.group->layers == b.group->layers && a.group->repeats == b.group->repeats;
    case VALUE_list: return lists_equal(a.list, b.list, fuel);
    case VALUE_function:
        return a.function->item == b.function->item &&
               a.function->operation == b.function->operation;
    case VALUE_size: return b.kind == VALUE_size && size_equal(a.size, b.size);
    case VALUE_tensor: return a.node == b.node;
    case VALUE_error:
    case VALUE_condition:
    case VALUE_word: break;
    }
    return false;
}

// ---- showing ----

Str value_describe(Arena *arena, Value v)
{
    Buf buf = {.arena = arena};
    switch (v.kind) {
    case VALUE_error: return STR("an error");
    case VALUE_int: buf_format(&buf, "%lld", (long long)v.integer); break;
    case VALUE_float: buf_double(&buf, v.real); break;
    case VALUE_bool: return v.truth ? STR("true") : STR("false");
    case VALUE_text: buf_quoted(&buf, v.text); break;
    case VALUE_layout: buf_format(&buf, "layout %.*s", STR_ARG(v.layout->text)); break;
    case VALUE_group: buf_format(&buf, "a group of %lld layers", (long long)v.group->layers); break;
    case VALUE_list: return STR("a list");
    case VALUE_function:
        buf_format(&buf, "%s %.*s",
                   !v.function->item                      ? "operation"
                   : v.function->item->kind == ITEM_model ? "model"
                                                          : "block",
                   STR_ARG(v.function->name));
        break;
    case VALUE_size: size_print(&buf, v.size); break;
    case VALUE_condition:
        size_print(&buf, v.condition->left);
        buf_format(&buf, " %s ", size_op_text(v.condition->op));
        size_print(&buf, v.condition->right);
        break;
    case VALUE_tensor: type_print(&buf, &v.node->type); break;
    case VALUE_word: ast_print_expr(&buf, v.word); break;
    }
    return buf_str(&buf);
}
