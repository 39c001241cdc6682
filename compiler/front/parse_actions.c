// Tree building for grammar.y, and those rules of the language that a tree's form alone decides.
// Breaking such a rule is reported, but the file is read on.
#include "front/parse_internal.h"

#include "front/grammar.h"
#include "front/limits.h"

Place parse_span(const Parse *p, uint32_t begin, uint32_t end)
{
    return (Place){p->source, begin, end};
}

static void stop(Parse *p)
{
    p->ok = false;
    p->stopped = true;
}

void parse_too_deep(Parse *p)
{
    if (!p->stopped)
        diag_error(p->dx, p->next->at, "nesting deeper than %d", LIMIT_NESTING);
    stop(p);
}

void parse_enter(Parse *p)
{
    if (++p->depth > LIMIT_NESTING)
        parse_too_deep(p);
}

void parse_leave(Parse *p) { p->depth--; }

// Whether one more fits into a list of n; `at` is the one.
static bool has_room(Parse *p, size_t n, Place at)
{
    if (n < LIMIT_ITEMS)
        return true;
    if (!p->stopped)
        diag_error(p->dx, at, "more than %d items in a list", LIMIT_ITEMS);
    stop(p);
    return false;
}

static NameRef name_ref(const Token *token) { return (NameRef){token->text, token->at}; }

// ---- items ----

void parse_add_item(Parse *p, const Item *item) { vec_push(p->arena, &p->file->items, item); }

static Item *new_item(Parse *p, ItemKind kind, const Token *keyword)
{
    Item *item = parse_new(p, Item);
    item->kind = kind;
    item->at = keyword->at;
    return item;
}

Item *parse_definition(Parse *p, ItemKind kind, const Token *keyword, const Token *name,
                       const Params *params, const StmtList *body)
{
    Item *item = new_item(p, kind, keyword);
    item->name = name_ref(name);
    if (params)
        item->params = *params;
    item->body = *body;
    return item;
}

Item *parse_valued(Parse *p, ItemKind kind, const Token *keyword, const Token *name,
                   const Expr *value)
{
    Item *item = new_item(p, kind, keyword);
    item->name = name_ref(name);
    item->value = value;
    return item;
}

Item *parse_family(Parse *p, const Token *keyword, const Token *letter, const Token *model)
{
    Item *item = new_item(p, ITEM_family, keyword);
    item->name = name_ref(letter);
    item->target = name_ref(model);
    if (letter->text.len != 1 || letter->text.ptr[0] < 'A' || letter->text.ptr[0] > 'Z') {
        diag_error(p->dx, letter->at, "a family is one capital letter, not `%.*s`",
                   STR_ARG(letter->text));
        p->ok = false;
    }
    return item;
}

Item *parse_use(Parse *p, const Token *keyword, const Token *path)
{
    Item *item = new_item(p, ITEM_use, keyword);
    item->target = name_ref(path);
    return item;
}

Params *parse_new_params(Parse *p) { return parse_new(p, Params); }

// A parameter without a name is `..`.
void parse_add_param(Parse *p, Params *params, Param param)
{
    if (!has_room(p, params->list.n, param.at))
        return;
    if (params->is_open) {
        diag_error(p->dx, params->open_at, "`..` must be the last parameter");
        p->ok = params->is_open = false;
    }
    if (param.name.len == 0) {
        params->is_open = true;
        params->open_at = param.at;
        return;
    }
    for (size_t i = 0; i < params->list.n; i++) {
        const Param *other = &params->list.items[i];
        if (str_equal(other->name, param.name)) {
            diag_error(p->dx, param.at, "parameter `%.*s` is named twice", STR_ARG(param.name));
            diag_note(p->dx, other->at, "first here");
            p->ok = false;
            break;
        }
    }
    vec_push(p->arena, &params->list, param);
}

// ---- types ----

TypeRef *parse_type(Parse *p, const Token *first, const Token *name, DimsValue dims)
{
    TypeRef *type = parse_new(p, TypeRef);
    type->at = parse_span(p, first->at.begin, dims.list ? dims.end : first->at.end);
    if (name)
        type->name = name->text;
    if (dims.list) {
        type->has_dims = true;
        type->dims = *dims.list;
    }
    size_t nrests = 0;
    for (size_t i = 0; i < type->dims.n; i++)
        nrests += !type->dims.items[i].size;
    if (nrests > 1) {
        diag_error(p->dx, type->at, "`..` stands once in a type");
        p->ok = false;
    }
    return type;
}

void parse_add_dim(Parse *p, DimList *dims, Dim dim)
{
    if (has_room(p, dims->n, dim.at))
        vec_push(p->arena, dims, dim);
}

DimsValue parse_end_dims(Parse *p, DimList *dims, const Token *close)
{
    parse_leave(p);
    return (DimsValue){dims ? dims : parse_new(p, DimList), close->at.end};
}

// ---- statements ----

static Stmt *new_stmt(Parse *p, StmtKind kind, Place at)
{
    Stmt *stmt = parse_new(p, Stmt);
    stmt->kind = kind;
    stmt->at = at;
    return stmt;
}

Stmt *parse_input(Parse *p, const Token *keyword, const Token *name, const TypeRef *type,
                  Range range, const Expr *fallback)
{
    Stmt *stmt = new_stmt(p, STMT_input, keyword->at);
    stmt->name = name_ref(name);
    stmt->type = type;
    stmt->low = range.low;
    stmt->high = range.high;
    stmt->value = fallback;
    return stmt;
}

Stmt *parse_output(Parse *p, const Token *keyword, const Token *name, const Expr *value)
{
    Stmt *stmt = new_stmt(p, STMT_output, keyword->at);
    stmt->name = name_ref(name);
    stmt->value = value;
    return stmt;
}

Stmt *parse_stored(Parse *p, const Token *keyword, const Token *name, const Path *path,
                   bool is_shared, const TypeRef *type)
{
    Stmt *stmt = new_stmt(p, STMT_param, keyword->at);
    stmt->name = name_ref(name);
    if (path)
        stmt->path = *path;
    stmt->is_shared = is_shared;
    stmt->type = type;
    return stmt;
}

Stmt *parse_assign(Parse *p, const NameList *names, Values values)
{
    Stmt *stmt = new_stmt(p, STMT_assign, parse_span(p, names->items[0].at.begin, values.end));
    stmt->names = *names;
    stmt->values = *values.list;
    return stmt;
}

Stmt *parse_for(Parse *p, const Token *keyword, const Token *name, Range range,
                const StmtList *body)
{
    Stmt *stmt = new_stmt(p, STMT_for, keyword->at);
    stmt->name = name_ref(name);
    stmt->low = range.low;
    stmt->high = range.high;
    stmt->body = *body;
    return stmt;
}

Stmt *parse_if(Parse *p, const Token *keyword, const Expr *condition, const StmtList *body,
               const StmtList *otherwise)
{
    Stmt *stmt = new_stmt(p, STMT_if, keyword->at);
    stmt->condition = condition;
    stmt->body = *body;
    stmt->otherwise = *otherwise;
    return stmt;
}

StmtList *parse_else_if(Parse *p, const Token *keyword, const Expr *condition, const StmtList *body,
                        const StmtList *otherwise)
{
    StmtList *list = parse_new(p, StmtList);
    const Stmt *stmt = parse_if(p, keyword, condition, body, otherwise);
    vec_push(p->arena, list, stmt);
    parse_leave(p);
    return list;
}

Stmt *parse_check(Parse *p, const Token *keyword, const Expr *condition, const Expr *text)
{
    Stmt *stmt = new_stmt(p, STMT_check, keyword->at);
    stmt->condition = condition;
    stmt->value = text;
    return stmt;
}

Stmt *parse_return(Parse *p, const Token *keyword, Values values)
{
    Stmt *stmt = new_stmt(p, STMT_return, parse_span(p, keyword->at.begin, values.end));
    stmt->values = *values.list;
    return stmt;
}

void parse_add_name(Parse *p, NameList *names, const Token *name)
{
    if (has_room(p, names->n, name->at))
        vec_push(p->arena, names, name_ref(name));
}

Values parse_first_value(Parse *p, Spanned value)
{
    return parse_next_value(p, (Values){parse_new(p, ExprList), 0}, value);
}

Values parse_next_value(Parse *p, Values values, Spanned value)
{
    if (has_room(p, values.list->n, value.e->at))
        vec_push(p->arena, values.list, value.e);
    return (Values){values.list, value.end};
}

// ---- expressions ----

static Expr *new_expr(Parse *p, ExprKind kind, uint32_t begin, uint32_t end)
{
    Expr *e = parse_new(p, Expr);
    e->kind = kind;
    e->at = parse_span(p, begin, end);
    return e;
}

static Spanned spanned(const Expr *e, uint32_t chain)
{
    return (Spanned){e, e->at.begin, e->at.end, chain};
}

// The length of a left edge that grows by one at `at`.
static uint32_t longer(Parse *p, Spanned left, Place at, const char *what)
{
    if (left.chain >= LIMIT_CHAIN && !p->stopped) {
        diag_error(p->dx, at, "more than %d %s in a row", LIMIT_CHAIN, what);
        stop(p);
    }
    return left.chain + 1;
}

Spanned parse_primary(Parse *p, ExprKind kind, const Token *token)
{
    Expr *e = new_expr(p, kind, token->at.begin, token->at.end);
    if (kind == EXPR_name || kind == EXPR_text)
        e->name = token->text;
    else if (kind == EXPR_int)
        e->integer = token->integer;
    else if (kind == EXPR_float)
        e->real = token->real;
    else if (kind == EXPR_layout)
        e->layout = token->layout;
    else
        e->truth = token->kind == TK_TRUE;
    return spanned(e, 0);
}

Spanned parse_bracketed(Parse *p, const Token *open, Spanned inside, const Token *close)
{
    parse_leave(p);
    return (Spanned){inside.e, open->at.begin, close->at.end, 0};
}

Spanned parse_list(Parse *p, const Token *open, const ExprList *items, const Token *close)
{
    Expr *e = new_expr(p, EXPR_list, open->at.begin, close->at.end);
    if (items)
        e->items = *items;
    parse_leave(p);
    return spanned(e, 0);
}

Spanned parse_unary(Parse *p, ExprKind kind, const Token *op, Spanned operand)
{
    Expr *e = new_expr(p, kind, op->at.begin, operand.end);
    e->left = operand.e;
    parse_leave(p);
    return spanned(e, 0);
}

static BinaryOp binary_op(int kind)
{
    switch (kind) {
    case TK_OR: return BINARY_or;
    case TK_AND: return BINARY_and;
    case TK_EQ: return BINARY_eq;
    case TK_NE: return BINARY_ne;
    case TK_LT: return BINARY_lt;
    case TK_LE: return BINARY_le;
    case TK_GT: return BINARY_gt;
    case TK_GE: return BINARY_ge;
    case TK_PLUS: return BINARY_add;
    case TK_MINUS: return BINARY_sub;
    case TK_STAR: return BINARY_mul;
    case TK_SLASH: return BINARY_div;
    case TK_PERCENT: return BINARY_mod;
    case TK_AT: return BINARY_matmul;
    case TK_POW: return BINARY_pow;
    default: die("token %d is no operator", kind);
    }
}

Spanned parse_binary(Parse *p, Spanned left, const Token *op, Spanned right)
{
    Expr *e = new_expr(p, EXPR_binary, left.begin, right.end);
    e->op = binary_op(op->kind);
    e->left = left.e;
    e->right = right.e;
    parse_leave(p);
    return spanned(e, longer(p, left, op->at, "operators"));
}

Spanned parse_choice(Parse *p, const Token *keyword, Spanned condition, Spanned yes, Spanned no)
{
    Expr *e = new_expr(p, EXPR_choice, keyword->at.begin, no.end);
    e->left = condition.e;
    e->right = yes.e;
    e->third = no.e;
    parse_leave(p);
    return spanned(e, 0);
}

Spanned parse_call(Parse *p, Spanned callee, const ArgList *args, const Token *close)
{
    Expr *e = new_expr(p, EXPR_call, callee.begin, close->at.end);
    e->left = callee.e;
    e->args = *args;
    parse_leave(p);
    return spanned(e, longer(p, callee, close->at, "calls and subscripts"));
}

Spanned parse_index(Parse *p, Spanned base, const SubList *subs, const Token *close)
{
    Expr *e = new_expr(p, EXPR_index, base.begin, close->at.end);
    e->left = base.e;
    e->subs = *subs;
    parse_leave(p);
    size_t nrests = 0;
    for (size_t i = 0; i < subs->n; i++)
        nrests += subs->items[i].kind == SUBSCRIPT_rest;
    if (nrests > 1) {
        diag_error(p->dx, e->at, "`..` stands once in a subscript");
        p->ok = false;
    }
    return spanned(e, longer(p, base, close->at, "calls and subscripts"));
}

Spanned parse_field(Parse *p, Spanned base, const Token *name)
{
    Expr *e = new_expr(p, EXPR_field, base.begin, name->at.end);
    e->left = base.e;
    e->name = name->text;
    return spanned(e, longer(p, base, name->at, "calls and subscripts"));
}

Spanned parse_as(Parse *p, Spanned call, PathValue path, uint32_t shared_end)
{
    if (call.e->kind != EXPR_call) {
        diag_error(p->dx, call.e->at,
                   "`as` names the parameters of the call just before it, and this is no call");
        p->ok = false;
    }
    Expr *e = new_expr(p, EXPR_as, call.begin, call.end);
    e->left = call.e;
    e->path = *path.path;
    e->is_shared = shared_end != 0;
    uint32_t end = shared_end ? shared_end : path.end;
    return (Spanned){e, call.begin, end, longer(p, call, call.e->at, "calls and subscripts")};
}

void parse_add_arg(Parse *p, ArgList *args, Arg arg)
{
    if (!has_room(p, args->n, arg.at))
        return;
    Arg last = args->n ? args->items[args->n - 1] : arg;
    if (!last.value && args->n) {
        diag_error(p->dx, last.at, "`..` must be the last argument");
        p->ok = false;
    } else if (last.name.len && !arg.name.len && arg.value) {
        diag_error(p->dx, arg.at, "a positional argument after a named one");
        p->ok = false;
    }
    for (size_t i = 0; arg.name.len && i < args->n; i++) {
        if (str_equal(args->items[i].name, arg.name)) {
            diag_error(p->dx, arg.at, "argument `%.*s` is given twice", STR_ARG(arg.name));
            diag_note(p->dx, args->items[i].at, "first here");
            p->ok = false;
            break;
        }
    }
    vec_push(p->arena, args, arg);
}

void parse_add_sub(Parse *p, SubList *subs, Sub sub)
{
    if (has_room(p, subs->n, sub.at))
        vec_push(p->arena, subs, sub);
}

Sub parse_slice(Parse *p, Spanned start, const Token *colon, Spanned stop, Spanned step)
{
    uint32_t begin = start.e ? start.begin : colon->at.begin;
    uint32_t end = step.e ? step.end : stop.e ? stop.end : colon->at.end;
    return (Sub){SUBSCRIPT_slice, parse_span(p, begin, end), start.e, stop.e, step.e};
}

Sub parse_long_slice(Parse *p, Spanned start, const Token *colon, Spanned stop, const Token *second,
                     Spanned step)
{
    Sub sub = parse_slice(p, start, colon, stop, step);
    if (!step.e)
        sub.at.end = second->at.end;
    return sub;
}

PathValue parse_first_part(Parse *p, const Token *last, Str text, const Expr *value)
{
    return parse_next_part(p, (PathValue){parse_new(p, Path), 0}, last, text, value);
}

PathValue parse_next_part(Parse *p, PathValue path, const Token *last, Str text, const Expr *value)
{
    PathPart part = {text, value};
    if (has_room(p, path.path->n, last->at))
        vec_push(p->arena, path.path, part);
    return (PathValue){path.path, last->at.end};
}
