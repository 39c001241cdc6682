// Runs graphs written as text through the evaluator, for tests. Main types: Leaf, Run.
#ifndef SLUICE_TESTS_EVAL_KIT_H
#define SLUICE_TESTS_EVAL_KIT_H

#include "ir/eval.h"

// The elements of the inputs, parameters and constants of that name.
typedef struct Leaf {
    const char *name;
    const double *values; // [n]
    size_t n;
} Leaf;

#define VALUES(...)                                                                                \
    (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double)
#define LEAF(name, ...)                                                                            \
    {                                                                                              \
        name, VALUES(__VA_ARGS__)                                                                  \
    }

// Set up and torn down by each test.
typedef struct Run {
    Arena *arena;
    Diag *dx;
    Graph *graph;
    EvalOptions options;
    const Leaf *leaves; // [nleaves]
    size_t nleaves;
    SizeBinding symbols[3];
    EvalTensor *outputs; // [noutputs] of the last run
    size_t noutputs;
} Run;

int run_set_up(void **state);
int run_tear_down(void **state);

// options.leaf as it is set up: takes values from `leaves`.
bool run_leaf(void *ctx, const Node *node, EvalTensor *out);
void run_leaves(Run *run, const Leaf *leaves, size_t n);
#define RUN_LEAVES(run, ...)                                                                       \
    run_leaves(run, (const Leaf[]){__VA_ARGS__}, sizeof((const Leaf[]){__VA_ARGS__}) / sizeof(Leaf))
void run_bind(Run *run, const char *symbol, int64_t value);

// Parses and verifies `text`. If it is no whole graph, `graph "t"() { … }` is put around it.
void run_parse(Run *run, const char *text);
// Evaluates; false after errors.
bool run_graph(Run *run);
// Parses and evaluates; output i then must have n elements, each within tolerance · (1 + |value|)
// of `values`, NaN meaning NaN.
void run_text(Run *run, const char *text);
void expect_output(const Run *run, size_t i, const double *values, size_t n, double tolerance);
// The text's one output, exactly.
#define EXPECT(run, text, ...)                                                                     \
    do {                                                                                           \
        run_text(run, text);                                                                       \
        expect_output(run, 0, VALUES(__VA_ARGS__), 0);                                             \
    } while (0)
// Evaluation must fail with a message that holds `part`.
void expect_failure(Run *run, const char *text, const char *part);

#endif
