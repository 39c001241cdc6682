// What the actions of grammar.y build trees with. For grammar.y, parse.c and parse_actions.c alone.
#ifndef SLUICE_FRONT_PARSE_INTERNAL_H
#define SLUICE_FRONT_PARSE_INTERNAL_H

#include "front/ast.h"
#include "front/lexer.h"

#define PARSE_NKINDS 64 // more than there are kinds of token

typedef struct Parse {
    Arena *arena;
    Diag *dx;
    const Source *source;
    const Token *tokens;
    const Token *next;   // fed to the parser now
    const Token *before; // the one before it, NULL at the start
    int depth;           // nesting levels open
    bool stopped;        // the file cannot be read on
    bool ok;
    File *file;
    const Expr *expr;
} Parse;

// An expression with the brackets around it.
typedef struct Spanned {
    const Expr *e;
    uint32_t begin;
    uint32_t end;
    uint32_t chain; // length of its left edge
} Spanned;

typedef struct Values {
    ExprList *list;
    uint32_t end;
} Values;

typedef struct Range {
    const Expr *low;
    const Expr *high;
} Range;

typedef struct PathValue {
    Path *path;
    uint32_t end;
} PathValue;

typedef struct DimsValue {
    DimList *list; // NULL: no dimensions are written
    uint32_t end;
} DimsValue;

#define parse_new(p, T) arena_new((p)->arena, T, 1)

// Lemon's parser, in p's arena, and its door: one call for each token, 0 at the end.
void *front_grammar_create(Parse *p);
void front_grammar(void *parser, int kind, const Token *token);

// Reports; the file is not read on after these.
void parse_syntax_error(Parse *p, const Token *found, const bool *kinds);
void parse_too_deep(Parse *p);

void parse_enter(Parse *p);
void parse_leave(Parse *p);
Place parse_span(const Parse *p, uint32_t begin, uint32_t end);

void parse_add_item(Parse *p, const Item *item);
Item *parse_definition(Parse *p, ItemKind kind, const Token *keyword, const Token *name,
                       const Params *params, const StmtList *body);
Item *parse_valued(Parse *p, ItemKind kind, const Token *keyword, const Token *name,
                   const Expr *value);
Item *parse_family(Parse *p, const Token *keyword, const Token *letter, const Token *model);
Item *parse_use(Parse *p, const Token *keyword, const Token *path);

Params *parse_new_params(Parse *p);
void parse_add_param(Parse *p, Params *params, Param param);
TypeRef *parse_type(Parse *p, const Token *first, const Token *name, DimsValue dims);
void parse_add_dim(Parse *p, DimList *dims, Dim dim);
DimsValue parse_end_dims(Parse *p, DimList *dims, const Token *close);

Stmt *parse_input(Parse *p, const Token *keyword, const Token *name, const TypeRef *type,
                  Range range, const Expr *fallback);
Stmt *parse_output(Parse *p, const Token *keyword, const Token *name, const Expr *value);
Stmt *parse_stored(Parse *p, const Token *keyword, const Token *name, const Path *path,
                   bool is_shared, const TypeRef *type);
Stmt *parse_assign(Parse *p, const NameList *names, Values values);
Stmt *parse_for(Parse *p, const Token *keyword, const Token *name, Range range,
                const StmtList *body);
Stmt *parse_if(Parse *p, const Token *keyword, const Expr *condition, const StmtList *body,
               const StmtList *otherwise);
StmtList *parse_else_if(Parse *p, const Token *keyword, const Expr *condition, const StmtList *body,
                        const StmtList *otherwise);
Stmt *parse_check(Parse *p, const Token *keyword, const Expr *condition, const Expr *text);
Stmt *parse_return(Parse *p, const Token *keyword, Values values);
void parse_add_name(Parse *p, NameList *names, const Token *name);
Values parse_first_value(Parse *p, Spanned value);
Values parse_next_value(Parse *p, Values values, Spanned value);

Spanned parse_primary(Parse *p, ExprKind kind, const Token *token);
Spanned parse_bracketed(Parse *p, const Token *open, Spanned inside, const Token *close);
Spanned parse_list(Parse *p, const Token *open, const ExprList *items, const Token *close);
Spanned parse_unary(Parse *p, ExprKind kind, const Token *op, Spanned operand);
Spanned parse_binary(Parse *p, Spanned left, const Token *op, Spanned right);
Spanned parse_choice(Parse *p, const Token *keyword, Spanned condition, Spanned yes, Spanned no);
Spanned parse_call(Parse *p, Spanned callee, const ArgList *args, const Token *close);
Spanned parse_index(Parse *p, Spanned base, const SubList *subs, const Token *close);
Spanned parse_field(Parse *p, Spanned base, const Token *name);
// `shared_end`: where the word `shared` ends, 0 if it is not there.
Spanned parse_as(Parse *p, Spanned call, PathValue path, uint32_t shared_end);
void parse_add_arg(Parse *p, ArgList *args, Arg arg);
void parse_add_sub(Parse *p, SubList *subs, Sub sub);
Sub parse_slice(Parse *p, Spanned start, const Token *colon, Spanned stop, Spanned step);
Sub parse_long_slice(Parse *p, Spanned start, const Token *colon, Spanned stop, const Token *second,
                     Spanned step);
PathValue parse_first_part(Parse *p, const Token *last, Str text, const Expr *value);
PathValue parse_next_part(Parse *p, PathValue path, const Token *last, Str text, const Expr *value);

#endif
