// Diagnostics: places, sources and messages. Three kinds of failure, never mixed: the user's input
// is wrong (diag_error with a place), the environment fails (diag_fail, path and strerror), we are
// wrong (die).
//
// A message is lower-case, has no full stop, shows shapes as the user writes them. After 20 errors
// a run stops (diag_full). Nothing is printed until diag_flush, so that a caller may drop a failed
// attempt. Any layer may include this.
#ifndef SLUICE_BASE_DIAG_H
#define SLUICE_BASE_DIAG_H

#include "base/str.h"

#include <stdio.h>

typedef struct Source {
    Str name; // as shown: "tiny.slu", "std/gmlp.slu", "<command line>"
    Str text;
    bool is_std;           // carried inside the compiler
    const uint32_t *lines; // byte offset of each line's start, [nlines]; made by diag_source
    size_t nlines;
} Source;

// A range of bytes in a source. `source` NULL: nowhere.
typedef struct Place {
    const Source *source;
    uint32_t begin;
    uint32_t end;
} Place;

typedef struct Diag Diag;

Diag *diag_create(Arena *arena);
// Line and column (in characters of UTF-8), from 1.
void diag_position(Place at, uint32_t *line, uint32_t *col);
Source *diag_source(Arena *arena, Str name, Str text, bool is_std);

__attribute__((format(printf, 3, 4))) void diag_error(Diag *dx, Place at, const char *format, ...);
// Adds to the last error; a note has its own place.
__attribute__((format(printf, 3, 4))) void diag_note(Diag *dx, Place at, const char *format, ...);
__attribute__((format(printf, 3, 4))) void diag_warning(Diag *dx, Place at, const char *format,
                                                        ...);
// The environment failed: no place. Counts as an error; diag_exit_code becomes 3.
__attribute__((format(printf, 2, 3))) void diag_fail(Diag *dx, const char *format, ...);

size_t diag_nerrors(const Diag *dx);
bool diag_full(const Diag *dx);     // 20 errors: stop
int diag_exit_code(const Diag *dx); // 0, 1 (input wrong) or 3 (environment)
// Writes all messages in order, with the line and a ^~~~ underline; colour if `colour`. Forgets
// them, keeps counts.
void diag_flush(Diag *dx, FILE *out, bool colour);

// We are wrong: prints "internal error: …" with file and line, exits with 70.
_Noreturn __attribute__((format(printf, 3, 4))) void diag_die(const char *file, int line,
                                                              const char *format, ...);
#define die(...) diag_die(__FILE__, __LINE__, __VA_ARGS__)
// Set by the driver: what to say after an internal error (how to reproduce it).
void diag_set_repro(const char *text);

#endif
