// The pass manager: runs the pipeline of passes.def. A graph pass makes a new graph from the old
// one and leaves the old one alone; a program pass changes the program in place. The driver
// includes this.
#ifndef SLUICE_PASSES_PASS_H
#define SLUICE_PASSES_PASS_H

#include "ir/ir.h"
#include "loop/program.h"

typedef enum PassId {
#define PASS(level, id, kind, requires, establishes, summary) PASS_##id,
#include "passes/passes.def"
    PASS_count
} PassId;

typedef struct PassInfo {
    const char *name;
    bool is_graph; // else program
    bool is_stage;
    const char *summary;
} PassInfo;

const PassInfo *pass_info(PassId id);
bool pass_from_name(Str name, PassId *out);

typedef struct PassContext {
    Arena *arena;
    Diag *dx;
    bool disabled[PASS_count];
    bool verify_each; // a broken rule is an internal error that names the pass
    // If not NULL, called after each pass of that level that ran.
    void (*after)(void *ctx, PassId id, const Graph *graph);
    void (*after_program)(void *ctx, PassId id, const Program *program);
    void *ctx;
} PassContext;

// Runs the graph passes in order. NULL after errors.
Graph *passes_run_graph(PassContext *cx, Graph *graph);
// One graph pass alone, also one that is disabled. NULL after errors.
Graph *pass_run_graph(PassContext *cx, PassId id, Graph *graph);
// Runs the program passes in order. False after errors.
bool passes_run_program(PassContext *cx, Program *program);

// ---- one pass, one file ----

#define GRAPH_PASS_graph(id)                                  Graph *pass_##id(PassContext *cx, Graph *graph);
#define GRAPH_PASS_program(id)                                bool pass_##id(PassContext *cx, Program *program);
#define PASS(level, id, kind, requires, establishes, summary) GRAPH_PASS_##level(id)
#include "passes/passes.def"
#undef GRAPH_PASS_graph
#undef GRAPH_PASS_program

#endif
