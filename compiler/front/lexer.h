// Text to tokens. Main type: Token. The kinds are the grammar's: TK_… of the generated grammar.h.
// For front/ alone.
#ifndef SLUICE_FRONT_LEXER_H
#define SLUICE_FRONT_LEXER_H

#include "front/layout.h"

typedef struct Token {
    int kind; // TK_…; 0: the end of the file, an empty token after its last character
    Place at;
    union {
        int64_t integer;      // TK_INT
        double real;          // TK_FLOAT
        Str text;             // TK_NAME: itself; TK_STRING: without quotes and escapes
        const Layout *layout; // TK_LAYOUT
    };
} Token;

typedef struct Tokens {
    const Token *items; // [n] the last is the end
    size_t n;
} Tokens;

// False after errors: each wrong token is reported, up to the diagnostics' limit.
bool lex_source(Arena *arena, Diag *dx, const Source *source, Tokens *out);

// The spelling of a token, cut if it is long, for messages: "`foo`", "the end of the file".
Str token_text(Arena *arena, const Token *token);
bool token_is_keyword(int kind);

#endif
