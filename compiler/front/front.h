// From the text of a model to its graph: lexer, parser (grammar.y, Lemon), elaborator, and the
// standard library that the compiler carries. The language is described in docs/language.md. The
// front end reads no files: whoever calls it gives the texts. For driver/ and passes/; the other
// headers of this folder are its own.
//
//   text ──lex──▶ tokens ──Lemon──▶ File (ast.h) ──elaborate──▶ Graph (ir/ir.h)
//
// All results live in the arena given, all messages go to `dx`; after NULL or false there is at
// least one.
#ifndef SLUICE_FRONT_FRONT_H
#define SLUICE_FRONT_FRONT_H

#include "ir/ir.h"

// The text of a file. It must stay as long as the arena.
typedef struct FrontFile {
    Str name; // as messages show it
    Str key;  // equal for the same file, however it is named: its real path
    Str text;
} FrontFile;

// Finds the file that `use "path"` means in the file called `from` (a FrontFile's name). False:
// there is none, or it cannot be read; then the reason, if there is a better one than that, is in
// out->text.
typedef struct FrontReader {
    bool (*read)(void *ctx, Arena *arena, Str from, Str path, FrontFile *out);
    void *ctx;
} FrontReader;

// `--set name=value`: a parameter of the model, an option that it passes on by `..`, or (an
// integer) a free size.
typedef struct FrontSetting {
    Str name;
    Str value; // an expression of the language; where the default is a text, a bare word is that
               // text
} FrontSetting;

typedef struct FrontSize {
    Str name;
    int64_t value;
} FrontSize;

typedef struct FrontOptions {
    const FrontSetting *settings;
    size_t nsettings;
    const FrontSize *sizes; // free sizes fixed: `--seq N`
    size_t nsizes;
    const Str *without; // inputs that their defaults replace for good: `--without NAME`
    size_t nwithout;
} FrontOptions;

typedef struct FrontSpec {
    const FrontFile *file;     // a .slu file, or NULL: `layout` is given
    Str model;                 // of the file; empty: its only one
    Str layout;                // a layout literal, for the model of its family
    const FrontReader *reader; // for `use`; may be NULL
} FrontSpec;

// An option of a model: a parameter of its own, or one that is declared further inside and offered
// along `..`.
typedef struct FrontOption {
    Str name;
    Str value; // the default, as written; empty if there is none
    Str owner; // the model, block or operation that declares it
    Place at;  // where
} FrontOption;

typedef struct FrontReport {
    Str model;                  // the name of what was elaborated
    const FrontOption *options; // in the order in which they are met
    size_t noptions;
} FrontReport;

// The model's graph: inputs, parameters, outputs, checks, symbols with bounds. `report` may be
// NULL. Thread-safe for distinct arenas; runs on a stack of its own, so that the caller's may be
// small.
Graph *front_elaborate(Arena *arena, Diag *dx, const FrontSpec *spec, const FrontOptions *options,
                       FrontReport *report);

// The names of a file's models, in order, [*n].
const Str *front_models(Arena *arena, Diag *dx, const FrontFile *file, size_t *n);

// Appends source text that parses to the same tree.
bool front_print_ast(Arena *arena, Diag *dx, const FrontFile *file, Buf *out);

// Whether a command line's SPEC is a layout literal: it begins with a capital letter and a digit,
// and has nothing of a file's name: no `/`, `.` or `:`.
bool front_is_layout(Str spec);

#endif
