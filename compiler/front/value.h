// Compile-time values: what expressions are worth while a model is elaborated. Main type: Value.
// For front/ alone.
#ifndef SLUICE_FRONT_VALUE_H
#define SLUICE_FRONT_VALUE_H

#include "front/ast.h"

#include "ir/ir.h"

typedef enum ValueKind {
    VALUE_error, // a message was written: whatever is made of it says nothing more
    VALUE_int,
    VALUE_float,
    VALUE_bool,
    VALUE_text,
    VALUE_layout,
    VALUE_group, // one of a layout's groups
    VALUE_list,
    VALUE_function,
    VALUE_size,      // a size with symbols; without any it is an int
    VALUE_condition, // a comparison of sizes that is not decided
    VALUE_tensor,
    VALUE_word // a bare word of the command line: a text where one is the default, else a name
} ValueKind;

typedef struct Value Value;
typedef struct Operation Operation;
typedef struct Unit Unit;

// Immutable: adding to a list uses the room behind it, if nobody else did.
typedef struct List {
    const Value *items; // [n]
    size_t n;
    unsigned depth;          // of lists in it
    struct ListStore *store; // NULL: a slice, nothing can be added in place
} List;

// A block, a model or an operation, by its name.
typedef struct Function {
    Str name;
    const Item *item; // NULL: an operation
    const Unit *unit; // where the item stands
    const Operation *operation;
} Function;

typedef struct Condition {
    SizeOp op;
    const Size *left;
    const Size *right;
} Condition;

struct Value {
    ValueKind kind;
    union {
        int64_t integer;
        double real;
        bool truth;
        Str text;
        const Layout *layout;
        const LayoutGroup *group;
        const List *list;
        const Function *function;
        const Size *size;
        const Condition *condition;
        Node *node;
        const Expr *word;
    };
};

Value value_error(void);
Value value_int(int64_t n);
Value value_float(double x);
Value value_bool(bool truth);
Value value_text(Str text);
Value value_tensor(Node *node); // NULL: a failure that was reported
// An int if no symbol is left; `size` is not NULL.
Value value_size(const Size *size);
Value value_list(Arena *arena, const Value *items, size_t n);

bool value_is_number(Value v);  // int, float or size
bool value_is_integer(Value v); // int or size
// The size that an int or a size is.
const Size *value_to_size(Arena *arena, Value v);
// What an int or a float is in double.
double value_to_double(Value v);
// Whether both are of one kind, numbers being one, so that == has a meaning.
bool value_comparable(Value a, Value b);
// Takes one off `fuel` for each member compared, and stops at 0. No sizes with symbols are
// compared.
bool value_equal(Value a, Value b, size_t *fuel);

// Whether members can be added behind `list` without copying it.
bool list_can_grow(const List *list);
// `a` with `b` behind it.
Value list_join(Arena *arena, const List *a, const List *b);
// The members from start to stop, as far as there are any.
Value list_slice(Arena *arena, const List *list, int64_t start, int64_t stop);

// As messages show it: `f32[batch, 8]`, `12`, `"mean"`, `a list`, `block dense`.
Str value_describe(Arena *arena, Value v);

#endif
