// Tokens to a syntax tree. The grammar is grammar.y, run by Lemon. For front/ alone.
#ifndef SLUICE_FRONT_PARSE_H
#define SLUICE_FRONT_PARSE_H

#include "front/ast.h"

// NULL after errors: all wrong tokens and layouts are reported, but only the first break of the
// grammar.
const File *parse_file(Arena *arena, Diag *dx, const Source *source);
// One expression that is all of the source.
const Expr *parse_expr(Arena *arena, Diag *dx, const Source *source);

#endif
