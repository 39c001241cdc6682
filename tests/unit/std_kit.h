// Runs models of the standard library through the evaluator, with parameters that follow a formula,
// for tests that compute the same by hand. Main type: StdRun.
#ifndef SLUICE_TESTS_STD_KIT_H
#define SLUICE_TESTS_STD_KIT_H

#include "front/front.h"
#include "ir/eval.h"

typedef struct StdSize {
    const char *name;
    int64_t value;
} StdSize;

// The elements of an input.
typedef struct StdInput {
    const char *name;
    const double *values; // [n]
    size_t n;
} StdInput;

// Opened and closed by the test; everything else is of the last std_run.
typedef struct StdRun {
    Arena *arena;
    Diag *dx;
    bool free; // sizes are fixed when it is evaluated, not before
    Graph *graph;
    EvalTensor *outputs; // [graph->outputs.n]
} StdRun;

StdRun std_open(void);
void std_close(StdRun *run);

// Elaborates the file `text`, which has one model, with sizes fixed (the rest is fatal), and
// evaluates it; an input that is not given has its default. False: messages are in run->dx.
bool std_run(StdRun *run, const char *text, const StdSize *sizes, size_t nsizes,
             const StdInput *inputs, size_t ninputs);

// A parameter's elements, in the run's arena; the model must have it, with n elements.
const double *std_param(StdRun *run, const char *name, int64_t n);
// The parameters of the model.
size_t std_nparams(const StdRun *run);

// An output's elements; the model must have it, with n elements.
const double *std_output(const StdRun *run, const char *name, int64_t n);
// Each within 1e-9 · (1 + |want|).
void std_expect(const StdRun *run, const char *name, const double *want, int64_t n);

// y [rows, out] = x [rows, in] times w [out, in], and b [out] if it is not NULL; in the run's
// arena.
double *std_dense(StdRun *run, const double *x, int rows, int in, int out, const double *w,
                  const double *b);
// The layer norm of each row of x [rows, n], in the run's arena.
double *std_layer_norm(StdRun *run, const double *x, int rows, int n, double eps, const double *w,
                       const double *b);

// Element k of what is made up for a name: in [-1, 1], as good as random.
double std_made_up(const char *name, int64_t k);

#endif
