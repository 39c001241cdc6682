// Tokens, numbers and sizes of the graph's text form, for parse.c alone. Main type: Scan.
#ifndef SLUICE_IR_SCAN_H
#define SLUICE_IR_SCAN_H

#include "ir/ir.h"

typedef enum TokenKind {
    TOKEN_end,
    TOKEN_word,   // batch, gather
    TOKEN_number, // 12, 0.5, 1e-5: without a sign
    TOKEN_text,   // "hidden"
    TOKEN_label,  // %12
    TOKEN_mark    // ( ) [ ] { } , : = + - * / .. == != < <= > >=
} TokenKind;

typedef struct Token {
    TokenKind kind;
    Str text; // as written; of a text: what it stands for
    Place at;
} Token;

// Reading stops at the first error: `failed` is set, and every further token is the end.
typedef struct Scan {
    Arena *arena;
    Diag *dx;
    const Source *source;
    size_t at; // byte after the current token
    Token token;
    bool failed;
    Map symbols; // declared; a size may name no others
} Scan;

void scan_start(Scan *scan, Arena *arena, Diag *dx, const Source *source);
void scan_next(Scan *scan);
// Reports the first error; always false.
__attribute__((format(printf, 3, 4))) bool scan_fail(Scan *scan, Place at, const char *format, ...);

bool scan_is(const Scan *scan, const char *mark_or_word);
bool scan_accept(Scan *scan, const char *mark_or_word);
bool scan_expect(Scan *scan, const char *mark_or_word);

// Each reads one thing; false after a report.
bool scan_text(Scan *scan, Str *out);
bool scan_int(Scan *scan, int64_t *out);
bool scan_double(Scan *scan, double *out); // also inf, -inf and nan
const Size *scan_size(Scan *scan);         // NULL after a report

#endif
