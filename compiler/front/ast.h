// The syntax tree, as the grammar of docs/language.md has it. Main types: File, Item, Stmt, Expr.
// Every node has a place: where its errors are reported. Trees are immutable once parsed. For
// front/ alone.
//
// A tree is at most LIMIT_NESTING deep, but for its left edges (`a + b + c`, `f(x)[0].y`), which
// are at most LIMIT_CHAIN long between two brackets: whoever walks a tree follows those by a loop,
// with expr_left.
#ifndef SLUICE_FRONT_AST_H
#define SLUICE_FRONT_AST_H

#include "front/layout.h"

#include "base/vec.h"

// Binary operators. BINARY(id, text, precedence): a higher one binds tighter.
#define BINARY_OPS(BINARY)                                                                         \
    BINARY(or, "or", 1)                                                                            \
    BINARY(and, "and", 2)                                                                          \
    BINARY(eq, "==", 4)                                                                            \
    BINARY(ne, "!=", 4)                                                                            \
    BINARY(lt, "<", 4)                                                                             \
    BINARY(le, "<=", 4)                                                                            \
    BINARY(gt, ">", 4)                                                                             \
    BINARY(ge, ">=", 4)                                                                            \
    BINARY(add, "+", 5)                                                                            \
    BINARY(sub, "-", 5)                                                                            \
    BINARY(mul, "*", 6)                                                                            \
    BINARY(div, "/", 6)                                                                            \
    BINARY(mod, "%", 6)                                                                            \
    BINARY(matmul, "@", 6)                                                                         \
    BINARY(pow, "**", 8)

enum {
    PRECEDENCE_not = 3,
    PRECEDENCE_compare = 4,
    PRECEDENCE_minus = 7,
    PRECEDENCE_pow = 8,
    PRECEDENCE_as = 9,
    PRECEDENCE_postfix = 10
};

typedef enum BinaryOp {
#define BINARY(id, text, precedence) BINARY_##id,
    BINARY_OPS(BINARY)
#undef BINARY
} BinaryOp;

typedef struct Expr Expr;
typedef struct Stmt Stmt;

typedef VEC(const Expr *) ExprList;
typedef VEC(const Stmt *) StmtList;

// A name and where it stands.
typedef struct NameRef {
    Str text;
    Place at;
} NameRef;
typedef VEC(NameRef) NameList;

typedef struct Arg {
    Place at;          // the name, else the value
    Str name;          // empty: positional
    const Expr *value; // NULL: `..`
} Arg;
typedef VEC(Arg) ArgList;

typedef struct Sub {
    enum { SUBSCRIPT_index, SUBSCRIPT_slice, SUBSCRIPT_new, SUBSCRIPT_rest } kind;
    Place at;
    const Expr *start; // index, slice; NULL in a slice: from its beginning
    const Expr *stop;  // slice; NULL: to its end
    const Expr *step;  // slice; NULL: 1
} Sub;
typedef VEC(Sub) SubList;

typedef struct PathPart {
    Str text;
    const Expr *value; // [e] if not NULL
} PathPart;
typedef VEC(PathPart) Path;

typedef enum ExprKind {
    EXPR_name,   // name
    EXPR_int,    // integer
    EXPR_float,  // real
    EXPR_bool,   // truth
    EXPR_text,   // name: its characters
    EXPR_layout, // layout
    EXPR_list,   // items
    EXPR_not,    // left
    EXPR_minus,  // left
    EXPR_binary, // op, left, right
    EXPR_choice, // if `left` then `right` else `third`
    EXPR_call,   // left: what is called; args
    EXPR_index,  // left, subs
    EXPR_field,  // left, name
    EXPR_as      // left: an EXPR_call; path, is_shared
} ExprKind;

struct Expr {
    ExprKind kind;
    BinaryOp op;
    bool is_shared;
    Place at; // the whole, without the brackets around it; as: the call alone
    Str name;
    union {
        int64_t integer;
        double real;
        bool truth;
        const Layout *layout;
        const Expr *left;
    };
    const Expr *right;
    const Expr *third;
    union {
        ExprList items;
        ArgList args;
        SubList subs;
        Path path;
    };
};

typedef struct Dim {
    const Expr *size; // NULL: `..`
    Place at;
} Dim;
typedef VEC(Dim) DimList;

typedef struct TypeRef {
    Place at;
    Str name;      // empty: any elements
    bool has_dims; // `f32` or `f32[…]`
    DimList dims;
} TypeRef;

typedef struct Param {
    Place at;
    Str name;
    const TypeRef *type;  // NULL: any value
    const Expr *fallback; // NULL: the argument must be given
} Param;
typedef VEC(Param) ParamList;

// A block's or model's parameters.
typedef struct Params {
    ParamList list;
    bool is_open;  // ends with `..`
    Place open_at; // that
} Params;

typedef enum StmtKind {
    STMT_input,  // name, type, low, high, value: the default
    STMT_output, // name, value
    STMT_param,  // name, path, is_shared, type
    STMT_assign, // names, values
    STMT_for,    // name, low, high, body
    STMT_if,     // condition, body, otherwise
    STMT_check,  // condition, value: the text
    STMT_return  // values
} StmtKind;

struct Stmt {
    StmtKind kind;
    bool is_shared;
    Place at; // the keyword; assign: all of it
    NameRef name;
    const TypeRef *type;
    const Expr *low; // range low .. high, or NULL
    const Expr *high;
    const Expr *condition;
    const Expr *value;
    Path path; // empty: the name
    NameList names;
    ExprList values;
    StmtList body;
    StmtList otherwise; // `else if` is one STMT_if
};

typedef enum ItemKind {
    ITEM_model,  // name, params, body; or value: `model x = f(…)`
    ITEM_block,  // name, params, body
    ITEM_let,    // name, value
    ITEM_family, // name: the letter; target: the model's name
    ITEM_use     // target: the file's name
} ItemKind;

typedef struct Item {
    ItemKind kind;
    Place at; // the keyword
    NameRef name;
    NameRef target;
    Params params;
    StmtList body;
    const Expr *value; // let; model: NULL if it has a body
} Item;
typedef VEC(const Item *) ItemList;

typedef struct File {
    const Source *source;
    ItemList items;
} File;

const char *binary_op_text(BinaryOp op);
bool binary_op_compares(BinaryOp op);
// The part of an expression that stands at its left edge and is computed first, NULL if there is
// none.
const Expr *expr_left(const Expr *e);

// Prints source text that parses back to the same tree.
void ast_print(Buf *buf, const File *file);
void ast_print_expr(Buf *buf, const Expr *e);
// `f32[.., D]`, as in a declaration.
void ast_print_type(Buf *buf, const TypeRef *type);

#endif
