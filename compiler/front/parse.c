// Drives Lemon's parser over the tokens of a source, and says what it expected where the grammar
// breaks.
#include "front/parse.h"

#include "front/grammar.h"
#include "front/parse_internal.h"

#include <string.h>

// Kinds in the order in which a message lists them, with their spelling. Operators are left out:
// where one could stand it is never what is missing.
static const struct {
    int kind;
    const char *text;
} listed[] = {
    {TK_COMMA, "`,`"},   {TK_COLON, "`:`"}, {TK_ASSIGN, "`=`"},      {TK_DOTDOT, "`..`"},
    {TK_IN, "`in`"},     {TK_AS, "`as`"},   {TK_SHARED, "`shared`"}, {TK_THEN, "`then`"},
    {TK_ELSE, "`else`"}, {TK_LP, "`(`"},    {TK_RP, "`)`"},          {TK_LB, "`[`"},
    {TK_RB, "`]`"},      {TK_LC, "`{`"},    {TK_RC, "`}`"},          {0, "the end of the text"},
};
#define NLISTED (sizeof listed / sizeof listed[0])

// What a name would be that follows a token.
static const char *name_meaning(const Token *before, const bool *kinds)
{
    switch (before ? before->kind : 0) {
    case TK_FAMILY: return "a capital letter";
    case TK_INPUT: return "the input's name";
    case TK_OUTPUT: return "the output's name";
    case TK_PARAM: return "the parameter's name";
    case TK_DOT: return kinds[TK_STRING] ? "a piece of a path" : "a field's name";
    case TK_AS: return "a path";
    case TK_COLON: return "a type";
    case TK_LP: return "a parameter";
    case TK_COMMA: return kinds[TK_DOTDOT] ? "a parameter" : "a name";
    default: return "a name";
    }
}

static Str list_kinds(Parse *p, const bool *kinds)
{
    size_t n = 0;
    for (size_t i = 0; i < NLISTED; i++)
        n += kinds[listed[i].kind];
    Buf buf = {.arena = p->arena};
    for (size_t i = 0, k = 0; i < NLISTED; i++) {
        if (!kinds[listed[i].kind])
            continue;
        buf_format(&buf, "%s%s", k == 0 ? "" : k + 1 == n ? " or " : ", ", listed[i].text);
        k++;
    }
    return buf_str(&buf);
}

static Str describe_expected(Parse *p, const bool *kinds)
{
    if (kinds[TK_MODEL])
        return STR("`model`, `block`, `let`, `family` or `use`");
    if (kinds[TK_RETURN])
        return STR("a statement or `}`");
    // The empty start of a slice is taken as read where a subscript is missing.
    bool opens = p->before && (p->before->kind == TK_LB || p->before->kind == TK_COMMA);
    if (kinds[TK_NEW] || (kinds[TK_COLON] && opens))
        return STR("a subscript");
    if (kinds[TK_INT])
        return STR("an expression");
    if (kinds[TK_NAME])
        return str_from(name_meaning(p->before, kinds));
    if (kinds[TK_STRING])
        return STR("a file's name in quotes");
    return list_kinds(p, kinds);
}

static bool compares(int kind)
{
    return kind == TK_EQ || kind == TK_NE || kind == TK_LT || kind == TK_LE || kind == TK_GT ||
           kind == TK_GE;
}

// Whether the tokens before the next one are a path: names, texts and brackets after `as`.
static bool ends_path(const Parse *p)
{
    for (size_t i = (size_t)(p->next - p->tokens); i-- > 0;) {
        switch (p->tokens[i].kind) {
        case TK_AS: return true;
        case TK_NAME:
        case TK_STRING:
        case TK_DOT:
        case TK_INT:
        case TK_LB:
        case TK_RB: break;
        default: return false;
        }
    }
    return false;
}

void parse_syntax_error(Parse *p, const Token *found, const bool *kinds)
{
    if (p->stopped)
        return;
    p->ok = false;
    p->stopped = true;
    Str text = token_text(p->arena, found);
    // Only a second comparison can be refused where any other operator is welcome.
    if (compares(found->kind) && kinds[TK_PLUS]) {
        diag_error(p->dx, found->at, "comparisons do not chain: join two by `and`");
        return;
    }
    if (found->kind == TK_FLOAT && ends_path(p)) {
        const char *digits = found->at.source->text.ptr + found->at.begin + 1;
        diag_error(p->dx, found->at, "write a number in a path in brackets: `[%.*s]`",
                   (int)(found->at.end - found->at.begin - 1), digits);
        return;
    }
    Str expected = describe_expected(p, kinds);
    const char *keyword = kinds[TK_NAME] && token_is_keyword(found->kind) ? "the keyword " : "";
    diag_error(p->dx, found->at, "expected %.*s, found %s%.*s", STR_ARG(expected), keyword,
               STR_ARG(text));
}

static bool run(Parse *p, bool is_expr)
{
    Tokens tokens;
    if (!lex_source(p->arena, p->dx, p->source, &tokens))
        return false;
    p->ok = true;
    p->tokens = tokens.items;
    void *parser = front_grammar_create(p);
    if (is_expr) {
        p->next = &tokens.items[0];
        front_grammar(parser, TK_ONE_EXPRESSION, p->next);
    }
    for (size_t i = 0; i < tokens.n && !p->stopped; i++) {
        p->before = i ? &tokens.items[i - 1] : NULL;
        p->next = &tokens.items[i];
        front_grammar(parser, p->next->kind, p->next);
    }
    return p->ok;
}

const File *parse_file(Arena *arena, Diag *dx, const Source *source)
{
    Parse p = {.arena = arena, .dx = dx, .source = source, .file = arena_new(arena, File, 1)};
    p.file->source = source;
    return run(&p, false) ? p.file : NULL;
}

const Expr *parse_expr(Arena *arena, Diag *dx, const Source *source)
{
    Parse p = {.arena = arena, .dx = dx, .source = source};
    return run(&p, true) ? p.expr : NULL;
}
