// What the files of loop/ that print, check and run share.
#ifndef SLUICE_LOOP_INTERNAL_H
#define SLUICE_LOOP_INTERNAL_H

#include "loop/program.h"

#define LOOP_MAX_ARITY 3 // of the functions of scalar.def

// Whether it is one of the language's three element types.
bool loop_is_element(DType dtype);
bool loop_is_identifier(Str s); // of C
// Whether the size is there and uses none but these symbols; else says so, calling it `what`.
bool loop_check_size(const Size *size, const Str *symbols, size_t nsymbols, const char *what,
                     Buf *why);

#endif
