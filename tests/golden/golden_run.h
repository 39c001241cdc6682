// What the tests of this folder share: compiling a model in this process, running it through the
// runtime or the evaluator, and comparing what comes out.
#ifndef SLUICE_TESTS_GOLDEN_RUN_H
#define SLUICE_TESTS_GOLDEN_RUN_H

#include "driver/compile.h"
#include "golden_case.h"
#include "ir/eval.h"
#include "runtime/sluice.h"

enum { RUN_INPUTS = 20, RUN_OUTPUTS = 64 }; // the most that a model may have here

// ---- results ----

typedef struct Totals {
    size_t passed;
    size_t failed;
} Totals;

// Prints a line and counts it: a failure if `why` is not NULL, or worst > 1.
void report(Totals *totals, const char *name, const char *way, double worst, const char *why);
// Prints the last line; what main returns.
int report_totals(const Totals *totals);

// The largest |got - want| over what is allowed; NaN matches NaN, an infinity the same one. One of
// got64 and got32 is not NULL: [expected->count]. What was expected has been rounded to float32, so
// got64 is too.
double golden_worst(const GoldenTensor *expected, const double *got64, const float *got32);

// ---- ways ----

typedef struct Way {
    const char *name;
    const char *target;       // whose kernels are made
    const char *instructions; // in whose instructions; NULL: the target's
} Way;

enum { WAYS = 3 };
extern const Way ways[WAYS];

// False if this machine cannot run it.
bool find_target(Arena *a, const Way *way, CodegenTarget *out);

// ---- the evaluator ----

// Evaluates `graph` on the inputs, those that are absent by their defaults; outputs as eval_graph.
// NULL, or what went wrong.
const char *evaluate(Arena *a, Diag *dx, const Graph *graph, const Weights *weights,
                     const GoldenTensors *inputs, EvalTensor *outputs);
// The value of the output of that name; NULL if there is none.
const EvalTensor *find_value(const Graph *graph, const EvalTensor *outputs, Str name);

// ---- native ----

typedef struct Run {
    SlModel *model;
    SlContext *context;
    SlEntryInfo entry;
    SlTensorInfo *inputs;  // [entry.ninputs]
    SlTensorInfo *outputs; // [entry.noutputs]
} Run;

typedef struct Outputs {
    uint32_t n;
    float *data[RUN_OUTPUTS]; // from malloc; an i32 output's bits
    int64_t counts[RUN_OUTPUTS];
} Outputs;

// Compiles to `path`, which is removed again, and opens it with that many threads. NULL, or what
// went wrong; run_close in either case.
const char *run_compile(Arena *a, Diag *dx, const CompileOptions *options, const char *path,
                        int32_t threads, Run *out);
void run_close(Run *run);
// Another number of threads from here on.
const char *run_set_threads(Run *run, int32_t threads);
// Runs items [first, first + n) of every input's first axis; n = 0: all as they are. NULL, or what
// went wrong; outputs_free in either case.
const char *run_items(const Run *run, const GoldenTensors *inputs, int64_t first, int64_t n,
                      Outputs *out);
void outputs_free(Outputs *outputs);
// The number of the output of that name, or -1.
int64_t run_find_output(const Run *run, Str name);

#endif
