#include "std_kit.h"

#include "said.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Leaves {
    StdRun *run;
    const StdInput *inputs; // [n]
    size_t n;
} Leaves;

StdRun std_open(void)
{
    Arena *arena = arena_create();
    return (StdRun){.arena = arena, .dx = diag_create(arena)};
}

static void free_outputs(StdRun *run)
{
    if (run->outputs) {
        eval_free(run->outputs, run->graph->outputs.n);
        run->outputs = NULL;
    }
}

void std_close(StdRun *run)
{
    free_outputs(run);
    arena_destroy(run->arena);
}

static double made_up(Str name, int64_t k)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < name.len; i++) {
        h = (h ^ (unsigned char)name.ptr[i]) * 1099511628211u;
    }
    h += (uint64_t)k * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return (double)((h ^ (h >> 31)) >> 11) * 0x1p-52 - 1;
}

double std_made_up(const char *name, int64_t k) { return made_up(str_from(name), k); }

static bool read_leaf(void *ctx, const Node *node, EvalTensor *out)
{
    const Leaves *leaves = ctx;
    Str name = node->attr.name;
    for (size_t i = 0; i < leaves->n && node->op == OP_input; i++) {
        const StdInput *input = &leaves->inputs[i];
        if (str_equal(name, str_from(input->name))) {
            assert_int_equal(out->count, input->n);
            memcpy(out->data, input->values, input->n * sizeof(double));
            return true;
        }
    }
    if (node->op == OP_input && !node->attr.has_default) {
        fail_msg("no values for %.*s", STR_ARG(name));
    }
    for (int64_t k = 0; k < out->count; k++) {
        out->data[k] = node->op == OP_input ? node->attr.value : made_up(name, k);
    }
    return true;
}

bool std_run(StdRun *run, const char *text, const StdSize *sizes, size_t nsizes,
             const StdInput *inputs, size_t ninputs)
{
    free_outputs(run);
    FrontSize fixed[8];
    SizeBinding bound[8];
    assert_true(nsizes <= 8);
    for (size_t i = 0; i < nsizes; i++) {
        fixed[i] = (FrontSize){str_from(sizes[i].name), sizes[i].value};
        bound[i] = (SizeBinding){str_from(sizes[i].name), sizes[i].value};
    }
    FrontFile file = {.name = STR("t.slu"), .key = STR("t.slu"), .text = str_from(text)};
    FrontSpec spec = {.file = &file};
    FrontOptions options = {.sizes = fixed, .nsizes = run->free ? 0 : nsizes};
    run->graph = front_elaborate(run->arena, run->dx, &spec, &options, NULL);
    if (!run->graph) {
        return false;
    }
    Leaves leaves = {run, inputs, ninputs};
    EvalOptions eval = {.symbols = bound,
                        .nsymbols = run->free ? nsizes : 0,
                        .threads = 1,
                        .leaf = read_leaf,
                        .ctx = &leaves};
    EvalTensor *outputs = arena_new(run->arena, EvalTensor, run->graph->outputs.n);
    if (!eval_graph(run->arena, run->dx, run->graph, &eval, outputs)) {
        return false;
    }
    run->outputs = outputs;
    return true;
}

const double *std_param(StdRun *run, const char *name, int64_t n)
{
    for (size_t i = 0; i < run->graph->nodes.n; i++) {
        const Node *node = run->graph->nodes.items[i];
        int64_t count = 0;
        if (node->op == OP_param && str_equal(node->attr.name, str_from(name))) {
            assert_true(size_is_int(type_count(run->arena, &node->type), &count));
            if (count != n) {
                fail_msg("%s has %lld elements, not %lld", name, (long long)count, (long long)n);
            }
            double *values = arena_new(run->arena, double, (size_t)n);
            for (int64_t k = 0; k < n; k++) {
                values[k] = made_up(node->attr.name, k);
            }
            return values;
        }
    }
    fail_msg("the model has no parameter %s", name);
    return NULL;
}

size_t std_nparams(const StdRun *run)
{
    size_t n = 0;
    for (size_t i = 0; i < run->graph->nodes.n; i++) {
        n += run->graph->nodes.items[i]->op == OP_param;
    }
    return n;
}

const double *std_output(const StdRun *run, const char *name, int64_t n)
{
    for (size_t i = 0; i < run->graph->outputs.n; i++) {
        if (str_equal(run->graph->outputs.items[i].name, str_from(name))) {
            assert_int_equal(run->outputs[i].count, n);
            return run->outputs[i].data;
        }
    }
    fail_msg("the model has no output %s", name);
    return NULL;
}

void std_expect(const StdRun *run, const char *name, const double *want, int64_t n)
{
    const double *got = std_output(run, name, n);
    for (int64_t k = 0; k < n; k++) {
        if (!(fabs(got[k] - want[k]) <= 1e-9 * (1 + fabs(want[k])))) {
            fail_msg("%s, element %lld: %.17g, expected %.17g", name, (long long)k, got[k],
                     want[k]);
        }
    }
}

double *std_dense(StdRun *run, const double *x, int rows, int in, int out, const double *w,
                  const double *b)
{
    double *y = arena_new(run->arena, double, (size_t)(rows * out));
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < out; i++) {
            y[r * out + i] = b ? b[i] : 0;
            for (int k = 0; k < in; k++) {
                y[r * out + i] += x[r * in + k] * w[i * in + k];
            }
        }
    }
    return y;
}

double *std_layer_norm(StdRun *run, const double *x, int rows, int n, double eps, const double *w,
                       const double *b)
{
    double *y = arena_new(run->arena, double, (size_t)(rows * n));
    for (int r = 0; r < rows; r++) {
        double mean = 0, variance = 0;
        for (int k = 0; k < n; k++) {
            mean += x[r * n + k] / n;
        }
        for (int k = 0; k < n; k++) {
            variance += (x[r * n + k] - mean) * (x[r * n + k] - mean) / n;
        }
        for (int k = 0; k < n; k++) {
            y[r * n + k] = (x[r * n + k] - mean) / sqrt(variance + eps) * w[k] + b[k];
        }
    }
    return y;
}
