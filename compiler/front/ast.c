// Facts about the syntax tree, and its printer.
#include "front/ast.h"

const char *binary_op_text(BinaryOp op)
{
    static const char *const texts[] = {
#define BINARY(id, text, precedence) [BINARY_##id] = (text),
        BINARY_OPS(BINARY)
#undef BINARY
    };
    return texts[op];
}

static int precedence_of(BinaryOp op)
{
    static const int precedences[] = {
#define BINARY(id, text, precedence) [BINARY_##id] = (precedence),
        BINARY_OPS(BINARY)
#undef BINARY
    };
    return precedences[op];
}

bool binary_op_compares(BinaryOp op) { return precedence_of(op) == PRECEDENCE_compare; }

const Expr *expr_left(const Expr *e)
{
    switch (e->kind) {
    case EXPR_binary:
    case EXPR_call:
    case EXPR_index:
    case EXPR_field:
    case EXPR_as: return e->left;
    case EXPR_name:
    case EXPR_int:
    case EXPR_float:
    case EXPR_bool:
    case EXPR_text:
    case EXPR_layout:
    case EXPR_list:
    case EXPR_not:
    case EXPR_minus:
    case EXPR_choice: break;
    }
    return NULL;
}

// ---- expressions ----

static void print_expr(Buf *buf, const Expr *e, int least);

static int precedence(const Expr *e)
{
    switch (e->kind) {
    case EXPR_choice: return 0;
    case EXPR_not: return PRECEDENCE_not;
    case EXPR_binary: return precedence_of(e->op);
    case EXPR_minus: return PRECEDENCE_minus;
    case EXPR_as: return PRECEDENCE_as;
    case EXPR_name:
    case EXPR_int:
    case EXPR_float:
    case EXPR_bool:
    case EXPR_text:
    case EXPR_layout:
    case EXPR_list:
    case EXPR_call:
    case EXPR_index:
    case EXPR_field: break;
    }
    return PRECEDENCE_postfix;
}

// How tight the part at the left edge of `e` must bind to stand there without brackets.
static int least_at_left(const Expr *e)
{
    if (e->kind != EXPR_binary)
        // `1.x` would be read as a number
        return e->kind == EXPR_field && e->left->kind == EXPR_int ? PRECEDENCE_postfix + 1
                                                                  : PRECEDENCE_postfix;
    int own = precedence_of(e->op);
    return own == PRECEDENCE_compare || own == PRECEDENCE_pow ? own + 1 : own;
}

static void print_path(Buf *buf, const Path *path)
{
    for (size_t i = 0; i < path->n; i++) {
        const PathPart *part = &path->items[i];
        if (i > 0 && !part->value)
            buf_char(buf, '.');
        if (part->value) {
            buf_char(buf, '[');
            print_expr(buf, part->value, 0);
            buf_char(buf, ']');
        } else if (str_is_identifier(part->text)) {
            buf_add(buf, part->text);
        } else {
            buf_quoted(buf, part->text);
        }
    }
}

static void print_args(Buf *buf, const ArgList *args)
{
    buf_char(buf, '(');
    for (size_t i = 0; i < args->n; i++) {
        const Arg *arg = &args->items[i];
        if (i > 0)
            buf_add(buf, STR(", "));
        if (arg->name.len)
            buf_format(buf, "%.*s: ", STR_ARG(arg->name));
        if (arg->value)
            print_expr(buf, arg->value, 0);
        else
            buf_add(buf, STR(".."));
    }
    buf_char(buf, ')');
}

static void print_sub(Buf *buf, const Sub *sub)
{
    switch (sub->kind) {
    case SUBSCRIPT_index: print_expr(buf, sub->start, 0); return;
    case SUBSCRIPT_new: buf_add(buf, STR("new")); return;
    case SUBSCRIPT_rest: buf_add(buf, STR("..")); return;
    case SUBSCRIPT_slice: break;
    }
    const Expr *const parts[] = {sub->start, sub->stop, sub->step};
    for (size_t i = 0; i < 3; i++) {
        if (i == 1 || (i == 2 && parts[i]))
            buf_add(buf, parts[i - 1] ? STR(" :") : STR(":"));
        if (i > 0 && parts[i])
            buf_char(buf, ' ');
        if (parts[i])
            print_expr(buf, parts[i], 0);
    }
}

static void print_subs(Buf *buf, const SubList *subs)
{
    buf_char(buf, '[');
    for (size_t i = 0; i < subs->n; i++) {
        if (i > 0)
            buf_add(buf, STR(", "));
        print_sub(buf, &subs->items[i]);
    }
    buf_char(buf, ']');
}

static void print_list(Buf *buf, const ExprList *items)
{
    for (size_t i = 0; i < items->n; i++) {
        if (i > 0)
            buf_add(buf, STR(", "));
        print_expr(buf, items->items[i], 0);
    }
}

// What follows the left edge.
static void print_suffix(Buf *buf, const Expr *e)
{
    if (e->kind == EXPR_binary) {
        int own = precedence_of(e->op);
        buf_format(buf, " %s ", binary_op_text(e->op));
        print_expr(buf, e->right, own == PRECEDENCE_pow ? own : own + 1);
    } else if (e->kind == EXPR_call) {
        print_args(buf, &e->args);
    } else if (e->kind == EXPR_index) {
        print_subs(buf, &e->subs);
    } else if (e->kind == EXPR_field) {
        buf_format(buf, ".%.*s", STR_ARG(e->name));
    } else {
        buf_add(buf, STR(" as "));
        print_path(buf, &e->path);
        if (e->is_shared)
            buf_add(buf, STR(" shared"));
    }
}

static void print_prefix(Buf *buf, const Expr *e)
{
    switch (e->kind) {
    case EXPR_name: buf_add(buf, e->name); break;
    case EXPR_int: buf_format(buf, "%lld", (long long)e->integer); break;
    case EXPR_float: buf_double(buf, e->real); break;
    case EXPR_bool: buf_add(buf, e->truth ? STR("true") : STR("false")); break;
    case EXPR_text: buf_quoted(buf, e->name); break;
    case EXPR_layout: buf_add(buf, e->layout->text); break;
    case EXPR_list:
        buf_char(buf, '[');
        print_list(buf, &e->items);
        buf_char(buf, ']');
        break;
    case EXPR_not:
        buf_add(buf, STR("not "));
        print_expr(buf, e->left, PRECEDENCE_not);
        break;
    case EXPR_minus:
        buf_char(buf, '-');
        print_expr(buf, e->left, PRECEDENCE_minus);
        break;
    case EXPR_choice:
        buf_add(buf, STR("if "));
        print_expr(buf, e->left, 1);
        buf_add(buf, STR(" then "));
        print_expr(buf, e->right, 1);
        buf_add(buf, STR(" else "));
        print_expr(buf, e->third, 0);
        break;
    case EXPR_binary:
    case EXPR_call:
    case EXPR_index:
    case EXPR_field:
    case EXPR_as: die("an expression with a left edge has no prefix");
    }
}

// `least`: how tight `e` must bind to stand here without brackets.
static void print_expr(Buf *buf, const Expr *e, int least)
{
    typedef struct Step {
        const Expr *e;
        bool is_bracketed;
    } Step;
    VEC(Step) edge = {0};
    for (;; least = least_at_left(e), e = expr_left(e)) {
        bool is_bracketed = precedence(e) < least;
        if (is_bracketed)
            buf_char(buf, '(');
        vec_push(buf->arena, &edge, ((Step){e, is_bracketed}));
        if (!expr_left(e))
            break;
    }
    print_prefix(buf, e);
    for (size_t i = edge.n; i-- > 0;) {
        if (i + 1 < edge.n)
            print_suffix(buf, edge.items[i].e);
        if (edge.items[i].is_bracketed)
            buf_char(buf, ')');
    }
}

void ast_print_expr(Buf *buf, const Expr *e) { print_expr(buf, e, 0); }

// ---- types and statements ----

void ast_print_type(Buf *buf, const TypeRef *type)
{
    buf_add(buf, type->name);
    if (!type->has_dims)
        return;
    buf_char(buf, '[');
    for (size_t i = 0; i < type->dims.n; i++) {
        if (i > 0)
            buf_add(buf, STR(", "));
        if (type->dims.items[i].size)
            print_expr(buf, type->dims.items[i].size, 0);
        else
            buf_add(buf, STR(".."));
    }
    buf_char(buf, ']');
}

static void print_body(Buf *buf, const StmtList *body, int depth);

static void print_range(Buf *buf, const Expr *low, const Expr *high)
{
    print_expr(buf, low, 0);
    buf_add(buf, STR(" .. "));
    print_expr(buf, high, 0);
}

static void print_input(Buf *buf, const Stmt *stmt)
{
    buf_format(buf, "input %.*s: ", STR_ARG(stmt->name.text));
    ast_print_type(buf, stmt->type);
    if (stmt->low) {
        buf_add(buf, STR(" in "));
        print_range(buf, stmt->low, stmt->high);
    }
    if (stmt->value) {
        buf_add(buf, STR(" = "));
        print_expr(buf, stmt->value, 0);
    }
}

static void print_stored(Buf *buf, const Stmt *stmt)
{
    buf_format(buf, "param %.*s", STR_ARG(stmt->name.text));
    if (stmt->path.n) {
        buf_add(buf, STR(" as "));
        print_path(buf, &stmt->path);
        if (stmt->is_shared)
            buf_add(buf, STR(" shared"));
    }
    buf_add(buf, STR(": "));
    ast_print_type(buf, stmt->type);
}

static void print_if(Buf *buf, const Stmt *stmt, int depth)
{
    buf_add(buf, STR("if "));
    print_expr(buf, stmt->condition, 0);
    print_body(buf, &stmt->body, depth);
    if (stmt->otherwise.n == 0)
        return;
    buf_add(buf, STR(" else"));
    print_body(buf, &stmt->otherwise, depth);
}

static void print_stmt(Buf *buf, const Stmt *stmt, int depth)
{
    switch (stmt->kind) {
    case STMT_input: print_input(buf, stmt); break;
    case STMT_output:
        buf_format(buf, "output %.*s = ", STR_ARG(stmt->name.text));
        print_expr(buf, stmt->value, 0);
        break;
    case STMT_param: print_stored(buf, stmt); break;
    case STMT_assign:
        for (size_t i = 0; i < stmt->names.n; i++)
            buf_format(buf, "%s%.*s", i ? ", " : "", STR_ARG(stmt->names.items[i].text));
        buf_add(buf, STR(" = "));
        print_list(buf, &stmt->values);
        break;
    case STMT_for:
        buf_format(buf, "for %.*s in ", STR_ARG(stmt->name.text));
        print_range(buf, stmt->low, stmt->high);
        print_body(buf, &stmt->body, depth);
        break;
    case STMT_if: print_if(buf, stmt, depth); break;
    case STMT_check:
        buf_add(buf, STR("check "));
        print_expr(buf, stmt->condition, 0);
        buf_add(buf, STR(", "));
        print_expr(buf, stmt->value, 0);
        break;
    case STMT_return:
        buf_add(buf, STR("return "));
        print_list(buf, &stmt->values);
        break;
    }
}

// ` { … }`; an empty one is `{}`.
static void print_body(Buf *buf, const StmtList *body, int depth)
{
    if (body->n == 0) {
        buf_add(buf, STR(" {}"));
        return;
    }
    buf_add(buf, STR(" {\n"));
    for (size_t i = 0; i < body->n; i++) {
        buf_format(buf, "%*s", 4 * (depth + 1), "");
        print_stmt(buf, body->items[i], depth + 1);
        buf_char(buf, '\n');
    }
    buf_format(buf, "%*s}", 4 * depth, "");
}

// ---- files ----

static void print_params(Buf *buf, const Params *params)
{
    buf_char(buf, '(');
    for (size_t i = 0; i < params->list.n; i++) {
        const Param *param = &params->list.items[i];
        buf_format(buf, "%s%.*s", i ? ", " : "", STR_ARG(param->name));
        if (param->type) {
            buf_add(buf, STR(": "));
            ast_print_type(buf, param->type);
        }
        if (param->fallback) {
            buf_add(buf, STR(" = "));
            print_expr(buf, param->fallback, 0);
        }
    }
    if (params->is_open)
        buf_add(buf, params->list.n ? STR(", ..") : STR(".."));
    buf_char(buf, ')');
}

static void print_item(Buf *buf, const Item *item)
{
    Str name = item->name.text;
    switch (item->kind) {
    case ITEM_model:
    case ITEM_block:
        buf_format(buf, "%s %.*s", item->kind == ITEM_model ? "model" : "block", STR_ARG(name));
        if (item->value) {
            buf_add(buf, STR(" = "));
            print_expr(buf, item->value, 0);
            break;
        }
        print_params(buf, &item->params);
        print_body(buf, &item->body, 0);
        break;
    case ITEM_let:
        buf_format(buf, "let %.*s = ", STR_ARG(name));
        print_expr(buf, item->value, 0);
        break;
    case ITEM_family:
        buf_format(buf, "family %.*s = %.*s", STR_ARG(name), STR_ARG(item->target.text));
        break;
    case ITEM_use:
        buf_add(buf, STR("use "));
        buf_quoted(buf, item->target.text);
        break;
    }
}

void ast_print(Buf *buf, const File *file)
{
    for (size_t i = 0; i < file->items.n; i++) {
        if (i > 0)
            buf_char(buf, '\n');
        print_item(buf, file->items.items[i]);
        buf_char(buf, '\n');
    }
}
