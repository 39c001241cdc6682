// The grammar of Sluice for Lemon; its actions build syntax trees (parse_internal.h) and nothing else. The lexer makes
// every word after `.` and after `as` a NAME. `enter` stands where a nesting level begins, so that the limit is met at
// the token that exceeds it; the rule that closes the level says parse_leave.

%name front_grammar
%token_prefix TK_
%token_type {const Token *}
%extra_context {Parse *p}
%stack_size 4000
%start_symbol start

%include {
#include "front/parse_internal.h"

// Which kinds of token the parser could take now.
static void collect_expected(const void *parser, bool *kinds);
}

%syntax_error {
    bool kinds[PARSE_NKINDS] = {false};
    collect_expected(yypParser, kinds);
    parse_syntax_error(p, TOKEN, kinds);
    (void)yymajor;
}
%stack_overflow { parse_too_deep(p); }
%token_destructor { (void)p; (void)$$; }
%default_destructor { (void)p; (void)$$; }

%nonassoc ELSE.
%left OR.
%left AND.
%right NOT.
%nonassoc EQ NE LT LE GT GE.
%left PLUS MINUS.
%left STAR SLASH PERCENT AT.
%right UMINUS.
%right POW.

%type item {Item *}
%type params {Params *}
%type paramlist {Params *}
%type param {Param}
%type type {TypeRef *}
%type dims {DimsValue}
%type dimlist {DimList *}
%type dim {Dim}
%type body {StmtList *}
%type stmts {StmtList *}
%type stmt {Stmt *}
%type elsepart {StmtList *}
%type within {Range}
%type range {Range}
%type default {const Expr *}
%type names {NameList *}
%type exprs {Values}
%type expr {Spanned}
%type postfix {Spanned}
%type primary {Spanned}
%type path {PathValue}
%type shared {uint32_t}
%type args {ArgList *}
%type arg {Arg}
%type subs {SubList *}
%type sub {Sub}
%type optexpr {Spanned}

// ---- a file, or one expression ----

start ::= items.
start ::= ONE_EXPRESSION expr(E).                    { p->expr = E.e; }

items ::= .
items ::= items item(I).                             { parse_add_item(p, I); }

item(A) ::= MODEL(K) NAME(N) params(P) body(B).      { A = parse_definition(p, ITEM_model, K, N, P, B); }
item(A) ::= MODEL(K) NAME(N) body(B).                { A = parse_definition(p, ITEM_model, K, N, NULL, B); }
item(A) ::= MODEL(K) NAME(N) ASSIGN expr(E).         { A = parse_valued(p, ITEM_model, K, N, E.e); }
item(A) ::= BLOCK(K) NAME(N) params(P) body(B).      { A = parse_definition(p, ITEM_block, K, N, P, B); }
item(A) ::= FAMILY(K) NAME(L) ASSIGN NAME(N).        { A = parse_family(p, K, L, N); }
item(A) ::= LET(K) NAME(N) ASSIGN expr(E).           { A = parse_valued(p, ITEM_let, K, N, E.e); }
item(A) ::= USE(K) STRING(S).                        { A = parse_use(p, K, S); }

params(A) ::= LP RP.                                 { A = parse_new_params(p); }
params(A) ::= LP paramlist(L) RP.                    { A = L; }
params(A) ::= LP paramlist(L) COMMA RP.              { A = L; }
paramlist(A) ::= param(P).                           { A = parse_new_params(p); parse_add_param(p, A, P); }
paramlist(A) ::= paramlist(L) COMMA param(P).        { A = L; parse_add_param(p, A, P); }
param(A) ::= NAME(N).                                { A = (Param){N->at, N->text, NULL, NULL}; }
param(A) ::= NAME(N) COLON type(T).                  { A = (Param){N->at, N->text, T, NULL}; }
param(A) ::= NAME(N) ASSIGN expr(E).                 { A = (Param){N->at, N->text, NULL, E.e}; }
param(A) ::= NAME(N) COLON type(T) ASSIGN expr(E).   { A = (Param){N->at, N->text, T, E.e}; }
param(A) ::= DOTDOT(D).                              { A = (Param){.at = D->at}; }

type(A) ::= NAME(N).                                 { A = parse_type(p, N, N, (DimsValue){NULL, 0}); }
type(A) ::= NAME(N) dims(D).                         { A = parse_type(p, N, N, D); }
type(A) ::= LB(B) enter RB(E).                       { A = parse_type(p, B, NULL, parse_end_dims(p, NULL, E)); }
type(A) ::= LB(B) enter dimlist(D) RB(E).            { A = parse_type(p, B, NULL, parse_end_dims(p, D, E)); }
type(A) ::= LB(B) enter dimlist(D) COMMA RB(E).      { A = parse_type(p, B, NULL, parse_end_dims(p, D, E)); }
dims(A) ::= LB enter RB(E).                          { A = parse_end_dims(p, NULL, E); }
dims(A) ::= LB enter dimlist(D) RB(E).               { A = parse_end_dims(p, D, E); }
dims(A) ::= LB enter dimlist(D) COMMA RB(E).         { A = parse_end_dims(p, D, E); }
dimlist(A) ::= dim(D).                               { A = parse_new(p, DimList); parse_add_dim(p, A, D); }
dimlist(A) ::= dimlist(L) COMMA dim(D).              { A = L; parse_add_dim(p, A, D); }
dim(A) ::= expr(E).                                  { A = (Dim){E.e, E.e->at}; }
dim(A) ::= DOTDOT(D).                                { A = (Dim){NULL, D->at}; }

// ---- statements ----

body(A) ::= LC enter stmts(L) RC.                    { A = L; parse_leave(p); }
stmts(A) ::= .                                       { A = parse_new(p, StmtList); }
stmts(A) ::= stmts(L) stmt(S).                       { A = L; vec_push(p->arena, A, S); }

stmt(A) ::= INPUT(K) NAME(N) COLON type(T) within(R) default(E).
                                                     { A = parse_input(p, K, N, T, R, E); }
within(A) ::= .                                      { A = (Range){NULL, NULL}; }
within(A) ::= IN range(R).                           { A = R; }
default(A) ::= .                                     { A = NULL; }
default(A) ::= ASSIGN expr(E).                       { A = E.e; }
stmt(A) ::= OUTPUT(K) NAME(N) ASSIGN expr(E).        { A = parse_output(p, K, N, E.e); }
stmt(A) ::= PARAM(K) NAME(N) COLON type(T).          { A = parse_stored(p, K, N, NULL, false, T); }
stmt(A) ::= PARAM(K) NAME(N) AS path(P) shared(S) COLON type(T).
                                                     { A = parse_stored(p, K, N, P.path, S != 0, T); }
stmt(A) ::= names(N) ASSIGN exprs(V).                { A = parse_assign(p, N, V); }
stmt(A) ::= FOR(K) NAME(N) IN range(R) body(B).      { A = parse_for(p, K, N, R, B); }
stmt(A) ::= IF(K) expr(C) body(B) elsepart(E).       { A = parse_if(p, K, C.e, B, E); }
stmt(A) ::= CHECK(K) expr(C) COMMA expr(T).          { A = parse_check(p, K, C.e, T.e); }
stmt(A) ::= RETURN(K) exprs(V).                      { A = parse_return(p, K, V); }
elsepart(A) ::= .                                    { A = parse_new(p, StmtList); }
elsepart(A) ::= ELSE body(B).                        { A = B; }
elsepart(A) ::= ELSE IF(K) enter expr(C) body(B) elsepart(E).
                                                     { A = parse_else_if(p, K, C.e, B, E); }
range(A) ::= expr(L) DOTDOT expr(H).                 { A = (Range){L.e, H.e}; }
names(A) ::= NAME(N).                                { A = parse_new(p, NameList); parse_add_name(p, A, N); }
names(A) ::= names(L) COMMA NAME(N).                 { A = L; parse_add_name(p, A, N); }
exprs(A) ::= expr(E).                                { A = parse_first_value(p, E); }
exprs(A) ::= exprs(L) COMMA expr(E).                 { A = parse_next_value(p, L, E); }

// ---- expressions ----

expr(A) ::= IF(K) enter expr(C) THEN expr(Y) ELSE expr(N).
                                                     { A = parse_choice(p, K, C, Y, N); }
expr(A) ::= expr(L) OR(O) enter expr(R).             { A = parse_binary(p, L, O, R); }
expr(A) ::= expr(L) AND(O) enter expr(R).            { A = parse_binary(p, L, O, R); }
expr(A) ::= NOT(O) enter expr(E).                    { A = parse_unary(p, EXPR_not, O, E); }
expr(A) ::= expr(L) EQ|NE|LT|LE|GT|GE(O) enter expr(R). [EQ]
                                                     { A = parse_binary(p, L, O, R); }
expr(A) ::= expr(L) PLUS|MINUS(O) enter expr(R). [PLUS]
                                                     { A = parse_binary(p, L, O, R); }
expr(A) ::= expr(L) STAR|SLASH|PERCENT|AT(O) enter expr(R). [STAR]
                                                     { A = parse_binary(p, L, O, R); }
expr(A) ::= MINUS(O) enter expr(E). [UMINUS]         { A = parse_unary(p, EXPR_minus, O, E); }
expr(A) ::= expr(L) POW(O) enter expr(R).            { A = parse_binary(p, L, O, R); }
expr(A) ::= postfix(E).                              { A = E; }
expr(A) ::= postfix(E) AS path(P) shared(S).         { A = parse_as(p, E, P, S); }
enter ::= .                                          { parse_enter(p); }

shared(A) ::= .                                      { A = 0; }
shared(A) ::= SHARED(K).                             { A = K->at.end; }
path(A) ::= NAME(N).                                 { A = parse_first_part(p, N, N->text, NULL); }
path(A) ::= STRING(S).                               { A = parse_first_part(p, S, S->text, NULL); }
path(A) ::= LB enter expr(E) RB(B).                  { A = parse_first_part(p, B, (Str){0}, E.e); parse_leave(p); }
path(A) ::= path(P) DOT NAME(N).                     { A = parse_next_part(p, P, N, N->text, NULL); }
path(A) ::= path(P) DOT STRING(S).                   { A = parse_next_part(p, P, S, S->text, NULL); }
path(A) ::= path(P) LB enter expr(E) RB(B).          { A = parse_next_part(p, P, B, (Str){0}, E.e); parse_leave(p); }

postfix(A) ::= primary(E).                           { A = E; }
postfix(A) ::= postfix(E) LP enter RP(B).            { A = parse_call(p, E, parse_new(p, ArgList), B); }
postfix(A) ::= postfix(E) LP enter args(L) RP(B).    { A = parse_call(p, E, L, B); }
postfix(A) ::= postfix(E) LP enter args(L) COMMA RP(B).
                                                     { A = parse_call(p, E, L, B); }
postfix(A) ::= postfix(E) LB enter subs(L) RB(B).    { A = parse_index(p, E, L, B); }
postfix(A) ::= postfix(E) LB enter subs(L) COMMA RB(B).
                                                     { A = parse_index(p, E, L, B); }
postfix(A) ::= postfix(E) DOT NAME(N).               { A = parse_field(p, E, N); }

args(A) ::= arg(E).                                  { A = parse_new(p, ArgList); parse_add_arg(p, A, E); }
args(A) ::= args(L) COMMA arg(E).                    { A = L; parse_add_arg(p, A, E); }
arg(A) ::= expr(E).                                  { A = (Arg){E.e->at, {0}, E.e}; }
arg(A) ::= NAME(N) COLON expr(E).                    { A = (Arg){parse_span(p, N->at.begin, E.end), N->text, E.e}; }
arg(A) ::= DOTDOT(D).                                { A = (Arg){D->at, {0}, NULL}; }

subs(A) ::= sub(E).                                  { A = parse_new(p, SubList); parse_add_sub(p, A, E); }
subs(A) ::= subs(L) COMMA sub(E).                    { A = L; parse_add_sub(p, A, E); }
sub(A) ::= expr(E).                                  { A = (Sub){SUBSCRIPT_index, E.e->at, E.e, NULL, NULL}; }
sub(A) ::= DOTDOT(D).                                { A = (Sub){SUBSCRIPT_rest, D->at, NULL, NULL, NULL}; }
sub(A) ::= NEW(N).                                   { A = (Sub){SUBSCRIPT_new, N->at, NULL, NULL, NULL}; }
sub(A) ::= optexpr(B) COLON(C) optexpr(E).           { A = parse_slice(p, B, C, E, (Spanned){0}); }
sub(A) ::= optexpr(B) COLON(C) optexpr(E) COLON(D) optexpr(S).
                                                     { A = parse_long_slice(p, B, C, E, D, S); }
optexpr(A) ::= .                                     { A = (Spanned){0}; }
optexpr(A) ::= expr(E).                              { A = E; }

primary(A) ::= NAME(T).                              { A = parse_primary(p, EXPR_name, T); }
primary(A) ::= INT(T).                               { A = parse_primary(p, EXPR_int, T); }
primary(A) ::= FLOAT(T).                             { A = parse_primary(p, EXPR_float, T); }
primary(A) ::= STRING(T).                            { A = parse_primary(p, EXPR_text, T); }
primary(A) ::= LAYOUT(T).                            { A = parse_primary(p, EXPR_layout, T); }
primary(A) ::= TRUE|FALSE(T).                        { A = parse_primary(p, EXPR_bool, T); }
primary(A) ::= LB(B) enter RB(E).                    { A = parse_list(p, B, NULL, E); }
primary(A) ::= LB(B) enter exprs(L) RB(E).           { A = parse_list(p, B, L.list, E); }
primary(A) ::= LB(B) enter exprs(L) COMMA RB(E).     { A = parse_list(p, B, L.list, E); }
primary(A) ::= LP(B) enter expr(E) RP(C).            { A = parse_bracketed(p, B, E, C); }

%code {
// A state without a default reduction has nothing but shifts, and no other state meets an error, but for comparisons
// that chain: so the row of the state on top of the stack is what could follow.
static void collect_expected(const void *parser, bool *kinds)
{
    const yyParser *y = parser;
    _Static_assert(YYNTOKEN <= PARSE_NKINDS, "room for each kind");
    for (int kind = 0; kind < YYNTOKEN; kind++)
        kinds[kind] = yy_find_shift_action((YYCODETYPE)kind, y->yytos->stateno) != YY_ERROR_ACTION;
}

void *front_grammar_create(Parse *p)
{
    yyParser *y = arena_new(p->arena, yyParser, 1);
    front_grammarInit(y, p);
    return y;
}
}
