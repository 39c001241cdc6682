#include "eval_kit.h"

#include "said.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

bool run_leaf(void *ctx, const Node *node, EvalTensor *out)
{
    const Run *run = ctx;
    for (size_t i = 0; i < run->nleaves; i++) {
        const Leaf *leaf = &run->leaves[i];
        if (str_equal(node->attr.name, str_from(leaf->name))) {
            assert_int_equal(out->count, leaf->n);
            memcpy(out->data, leaf->values, leaf->n * sizeof(double));
            return true;
        }
    }
    diag_error(run->dx, node->at, "no values for %.*s", STR_ARG(node->attr.name));
    return false;
}

int run_set_up(void **state)
{
    Run *run = calloc(1, sizeof *run);
    run->arena = arena_create();
    run->dx = diag_create(run->arena);
    run->options = (EvalOptions){.symbols = run->symbols, .leaf = run_leaf, .ctx = run};
    *state = run;
    return 0;
}

static void free_outputs(Run *run)
{
    if (run->outputs) {
        eval_free(run->outputs, run->noutputs);
        run->outputs = NULL;
    }
}

int run_tear_down(void **state)
{
    Run *run = *state;
    free_outputs(run);
    arena_destroy(run->arena);
    free(run);
    return 0;
}

void run_leaves(Run *run, const Leaf *leaves, size_t n)
{
    Leaf *copies = arena_new(run->arena, Leaf, n);
    for (size_t i = 0; i < n; i++) {
        double *values = arena_new(run->arena, double, leaves[i].n);
        memcpy(values, leaves[i].values, leaves[i].n * sizeof *values);
        copies[i] = (Leaf){.name = leaves[i].name, .values = values, .n = leaves[i].n};
    }
    run->leaves = copies;
    run->nleaves = n;
}

void run_bind(Run *run, const char *symbol, int64_t value)
{
    run->symbols[run->options.nsymbols++] = (SizeBinding){.name = str_from(symbol), .value = value};
}

void run_parse(Run *run, const char *text)
{
    free_outputs(run);
    if (strncmp(text, "graph", 5) != 0) {
        text = str_format(run->arena, "graph \"t\"() {\n%s\n}\n", text).ptr;
    }
    Source *source = diag_source(run->arena, STR("t.ir"), str_from(text), false);
    run->graph = graph_parse(run->arena, run->dx, source);
    if (!run->graph) {
        fail_msg("%s", said(run->dx));
    }
    Buf why = {.arena = run->arena};
    if (!graph_verify(run->graph, &why)) {
        fail_msg("%s", why.ptr);
    }
}

bool run_graph(Run *run)
{
    free_outputs(run);
    EvalTensor *outputs = arena_new(run->arena, EvalTensor, run->graph->outputs.n);
    if (!eval_graph(run->arena, run->dx, run->graph, &run->options, outputs)) {
        return false;
    }
    run->outputs = outputs;
    run->noutputs = run->graph->outputs.n;
    return true;
}

void run_text(Run *run, const char *text)
{
    run_parse(run, text);
    if (!run_graph(run)) {
        fail_msg("%s", said(run->dx));
    }
}

void expect_output(const Run *run, size_t i, const double *values, size_t n, double tolerance)
{
    const EvalTensor *t = &run->outputs[i];
    assert_int_equal(t->count, n);
    for (size_t k = 0; k < n; k++) {
        double error = fabs(t->data[k] - values[k]);
        bool is_same = isnan(values[k])
                           ? isnan(t->data[k])
                           : t->data[k] == values[k] || error <= tolerance * (1 + fabs(values[k]));
        if (!is_same) {
            fail_msg("output %zu, element %zu: %.17g instead of %.17g", i, k, t->data[k],
                     values[k]);
        }
    }
}

void expect_failure(Run *run, const char *text, const char *part)
{
    run_parse(run, text);
    assert_false(run_graph(run));
    assert_says(run->dx, part);
}
