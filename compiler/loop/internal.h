// What the files of loop/ that print, check and run share.
#ifndef SLUICE_LOOP_INTERNAL_H
#define SLUICE_LOOP_INTERNAL_H

#include "loop/program.h"

// Whether the size is there and uses none but these symbols; else says so, calling it `what`.
bool loop_check_size(const Size *size, const Str *symbols, size_t nsymbols, const char *what,
                     Buf *why);

#endif
