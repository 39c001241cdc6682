// From a SPEC to a shared object: the steps of a compilation, which the commands put together.
// compile.c is the flow as straight-line code; read it first. Only driver/ includes this.
#ifndef SLUICE_DRIVER_COMPILE_H
#define SLUICE_DRIVER_COMPILE_H

#include "codegen/codegen.h"
#include "front/front.h"
#include "ir/ir.h"
#include "loop/program.h"
#include "passes/pass.h"

// ---- what is compiled (spec.c) ----

typedef struct Spec {
    Graph *graph;        // as elaborated
    Str text;            // canonical: what was compiled, as it can be given again
    Str notes;           // of the text: its comments that begin with `#:`, a line each
    const char *weights; // a model folder's file; NULL: none belongs to it
    FrontReport report;  // of a graph: empty
} Spec;

// Loads a layout literal, FILE.slu, FILE.slu:NAME, a model folder or FILE.ir. False after a report.
bool spec_load(Arena *arena, Diag *dx, const char *spec, const FrontOptions *options, Spec *out);
// The text alone of what is a .slu file, or a model folder. False after a report.
bool spec_read(Arena *arena, Diag *dx, const char *spec, FrontFile *out);
// The weights of a model folder: its index if it has them in several files, else that one file,
// which may not be there.
const char *spec_weights_in(Arena *arena, const char *folder);

// ---- parameters (weights.c) ----

typedef struct Weights Weights;

// A model's parameters in order, [*n]; where passes have made a `prepare`, they are in it.
Node *const *weights_params(Arena *arena, const Graph *graph, size_t *n);
// How a file is read.
typedef struct WeightsOptions {
    const char *map; // a weight map's name or file; NULL: names are the model's
    bool strict;     // a tensor that nobody knows is an error
} WeightsOptions;

// The parameters' values from a file, all of them checked: what is missing or of another shape is
// listed at once, what is not used is one note. NULL after a report.
Weights *weights_open(Arena *arena, Diag *dx, const Graph *graph, const char *path,
                      const WeightsOptions *options);
// Made-up values: rank ≥ 2 uniform ±√(3 / last size), rank-1 `weight` 1 ± 0.1, else ± 0.1; a
// tensor's values depend on the seed and its name alone.
Weights *weights_random(Arena *arena, uint64_t seed);
void weights_close(Weights *weights);
// The values of a parameter, row by row: [count]. False after a report.
bool weights_read_f32(Diag *dx, const Weights *weights, const Node *param, float *out);
bool weights_read_f64(Diag *dx, const Weights *weights, const Node *param, double *out);

// ---- constants (constants.c) ----

// The blob of the program's constants, in a file without a name.
typedef struct Blob {
    int fd;
    uint64_t bytes;
    uint64_t hash; // over the constants' hashes
} Blob;

// Evaluates prepare for every constant of the program, streams them to a file in `folder`, and sets
// their offsets and hashes. False after a report.
bool blob_create(Arena *arena, Diag *dx, const Graph *prepare, Program *program,
                 const Weights *weights, const char *folder, Blob *out);
void blob_close(Blob *blob);

// ---- the flow (compile.c) ----

typedef struct CompileOptions {
    const char *spec;
    FrontOptions front;
    const char *weights;    // NULL: the model folder's, or none
    WeightsOptions reading; // of that file
    bool random;            // values from `seed` instead
    uint64_t seed;
    CodegenTarget target;
    bool weights_beside; // in a file of their own
    bool only_stages;    // -O0
    bool disabled[PASS_count];
    bool verify_each;
    bool say_commands;
    Str flags; // what of the command line changed the result, as text
    void (*after)(void *ctx, PassId id, const Graph *graph); // as PassContext's
    void (*after_program)(void *ctx, PassId id, const Program *program);
    void *ctx;
} CompileOptions;

// A compilation, as far as a command needs it.
typedef struct Compiled {
    Spec spec;
    Graph *graph;     // after the graph passes; graph->prepare makes the constants
    Program *program; // after the program passes
} Compiled;

// Up to the program. False after a report.
bool compile_program(Arena *arena, Diag *dx, const CompileOptions *options, Compiled *out);
// The object file, assembly or LLVM text, without weights. False after a report.
bool compile_emit(Arena *arena, Diag *dx, const CompileOptions *options, const Compiled *c,
                  CodegenKind kind, Buf *out);
// What was built, for people.
typedef struct Built {
    size_t nkernels;
    size_t nsteps;
    uint64_t weights_bytes;
} Built;

// All of it: a shared object at `path` with its weights. False after a report.
bool compile_shared(Arena *arena, Diag *dx, const CompileOptions *options, const char *path,
                    Built *out);

// Where the weights of a shared object at `path` lie if they lie beside it.
const char *compile_weights_path(Arena *arena, const char *path);

// The values of a model's parameters: those that the options name, or the model folder's. NULL
// after a report, also when there are none and the model needs them.
Weights *compile_weights(Arena *arena, Diag *dx, const CompileOptions *options, const Spec *spec);

#endif
