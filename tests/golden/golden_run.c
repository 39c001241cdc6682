#include "golden_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- results ----

void report(Totals *totals, const char *name, const char *way, double worst, const char *why)
{
    bool ok = worst <= 1 && !why;
    totals->passed += ok;
    totals->failed += !ok;
    printf("%-44s %-22s %s", name, way, ok ? "ok" : "FAILED");
    if (why) {
        printf("  %s\n", why);
    } else {
        printf("  worst %.3f of the tolerance\n", worst);
    }
    fflush(stdout);
}

int report_totals(const Totals *totals)
{
    printf("%zu passed, %zu failed\n", totals->passed, totals->failed);
    return totals->failed > 0 || totals->passed == 0;
}

static double excess(double got, double want, const GoldenTensor *t)
{
    if (isnan(want) || isnan(got)) {
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    }
    if (isinf(want) || isinf(got)) {
        return want == got ? 0 : INFINITY;
    }
    return fabs(got - want) / (t->atol + t->rtol * fabs(want));
}

double golden_worst(const GoldenTensor *expected, const double *got64, const float *got32)
{
    double worst = 0;
    for (int64_t i = 0; i < expected->count; i++) {
        float got = got64 ? (float)got64[i] : got32[i];
        double e = excess((double)got, (double)((float *)expected->data)[i], expected);
        worst = e > worst ? e : worst;
    }
    return worst;
}

// ---- ways ----

// Kernels of the wider set run here in the instructions of the narrower one too: the same LLVM
// text, selected otherwise.
const Way ways[WAYS] = {
    {"x86-64-v3", "x86-64-v3", NULL},
    {"x86-64-v4", "x86-64-v4", NULL},
    {"x86-64-v4 as v3", "x86-64-v4", "x86-64-v3"},
};

bool find_target(Arena *a, const Way *way, CodegenTarget *out)
{
    Str why;
    CodegenTarget native, other;
    if (!codegen_target(a, str_from(way->target), out, &why) ||
        !codegen_target(a, STR("native"), &native, &why)) {
        return false;
    }
    if (way->instructions && codegen_target(a, str_from(way->instructions), &other, &why)) {
        out->needs = other.needs;
        out->cpu = other.cpu;
        out->features = other.features;
    }
    return (out->needs & ~native.needs) == 0;
}

// ---- the evaluator ----

typedef struct Leaves {
    Diag *dx;
    const GoldenTensors *inputs;
    const Weights *weights;
} Leaves;

static bool read_leaf(void *ctx, const Node *node, EvalTensor *out)
{
    const Leaves *leaves = ctx;
    if (node->op == OP_param) {
        return weights_read_f64(leaves->dx, leaves->weights, node, out->data);
    }
    const GoldenTensor *t = golden_find(leaves->inputs, node->attr.name);
    for (int64_t i = 0; i < out->count; i++) {
        out->data[i] = t ? golden_value(t, i) : node->attr.value;
    }
    return t || node->attr.has_default;
}

// The values of the free sizes, from the shapes of the inputs.
static size_t bind_symbols(const Graph *g, const GoldenTensors *inputs, SizeBinding *out)
{
    size_t n = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *node = g->nodes.items[i];
        const GoldenTensor *t = node->op == OP_input ? golden_find(inputs, node->attr.name) : NULL;
        for (size_t k = 0; t && k < node->type.rank; k++) {
            Str name;
            if (n < 8 && size_is_symbol(node->type.shape[k], &name)) {
                out[n++] = (SizeBinding){name, t->shape[k]};
            }
        }
    }
    return n;
}

const char *evaluate(Arena *a, Diag *dx, const Graph *graph, const Weights *weights,
                     const GoldenTensors *inputs, EvalTensor *outputs)
{
    SizeBinding symbols[8];
    Leaves leaves = {dx, inputs, weights};
    EvalOptions eval = {.symbols = symbols,
                        .nsymbols = bind_symbols(graph, inputs, symbols),
                        .leaf = read_leaf,
                        .ctx = &leaves};
    return eval_graph(a, dx, graph, &eval, outputs) ? NULL : "does not evaluate";
}

const EvalTensor *find_value(const Graph *graph, const EvalTensor *outputs, Str name)
{
    for (size_t i = 0; i < graph->outputs.n; i++) {
        if (str_equal(graph->outputs.items[i].name, name)) {
            return &outputs[i];
        }
    }
    return NULL;
}

// ---- native ----

static const char *open_run(Arena *a, const char *path, int32_t threads, Run *r)
{
    static SlError error;
    SlContextOptions options = {.threads = threads};
    if (sl_model_open(path, NULL, &r->model, &error) != SL_OK ||
        sl_context_open(r->model, &options, &r->context, &error) != SL_OK ||
        sl_entry_info(r->model, 0, &r->entry, &error) != SL_OK) {
        return error.text;
    }
    if (r->entry.ninputs > RUN_INPUTS || r->entry.noutputs > RUN_OUTPUTS) {
        return "more inputs or outputs than this test foresees";
    }
    r->inputs = arena_new(a, SlTensorInfo, r->entry.ninputs);
    r->outputs = arena_new(a, SlTensorInfo, r->entry.noutputs);
    for (uint32_t i = 0; i < r->entry.ninputs; i++) {
        sl_input_info(r->model, 0, i, &r->inputs[i], NULL);
    }
    for (uint32_t i = 0; i < r->entry.noutputs; i++) {
        sl_output_info(r->model, 0, i, &r->outputs[i], NULL);
    }
    return NULL;
}

const char *run_compile(Arena *a, Diag *dx, const CompileOptions *options, const char *path,
                        int32_t threads, Run *out)
{
    Built built;
    *out = (Run){0};
    const char *why = compile_shared(a, dx, options, path, &built) ? NULL : "does not compile";
    why = why ? why : open_run(a, path, threads, out);
    remove(path);
    return why;
}

void run_close(Run *r)
{
    sl_context_close(r->context);
    sl_model_close(r->model);
    *r = (Run){0};
}

const char *run_set_threads(Run *r, int32_t threads)
{
    SlContextOptions options = {.threads = threads};
    sl_context_close(r->context);
    return sl_context_open(r->model, &options, &r->context, NULL) == SL_OK
               ? NULL
               : "no context with that many threads";
}

int64_t run_find_output(const Run *r, Str name)
{
    for (uint32_t k = 0; k < r->entry.noutputs; k++) {
        if (str_equal(str_from(r->outputs[k].name), name)) {
            return k;
        }
    }
    return -1;
}

static void *input_data(SlDType dtype, const GoldenTensor *t)
{
    size_t bytes = dtype == SL_BOOL ? 1 : 4;
    uint8_t *data = malloc((size_t)t->count * bytes);
    for (int64_t k = 0; k < t->count; k++) {
        double v = golden_value(t, k);
        if (dtype == SL_F32) {
            ((float *)(void *)data)[k] = (float)v;
        } else if (dtype == SL_I32) {
            ((int32_t *)(void *)data)[k] = (int32_t)v;
        } else {
            data[k] = v != 0;
        }
    }
    return data;
}

const char *run_items(const Run *r, const GoldenTensors *inputs, int64_t first, int64_t n,
                      Outputs *out)
{
    static char text[256];
    SlTensor in[RUN_INPUTS] = {0};
    SlTensor to[RUN_OUTPUTS] = {0};
    void *data[RUN_INPUTS] = {0};
    int64_t in_shape[RUN_INPUTS][SL_MAX_RANK];
    int64_t out_shape[RUN_OUTPUTS][SL_MAX_RANK];
    int64_t symbols[SL_MAX_SYMBOLS];
    SlError error = {0};
    *out = (Outputs){.n = r->entry.noutputs};
    for (uint32_t i = 0; i < r->entry.ninputs; i++) {
        const GoldenTensor *t = golden_find(inputs, str_from(r->inputs[i].name));
        in[i] = (SlTensor){
            .rank = r->inputs[i].rank, .dtype = r->inputs[i].dtype, .shape = in_shape[i]};
        if (!t) {
            continue; // its default
        }
        size_t bytes = (size_t)(t->count / t->shape[0]) * (r->inputs[i].dtype == SL_BOOL ? 1 : 4);
        memcpy(in_shape[i], t->shape, t->rank * sizeof *t->shape);
        in_shape[i][0] = n > 0 ? n : t->shape[0];
        data[i] = input_data(r->inputs[i].dtype, t);
        in[i].data = (uint8_t *)data[i] + (size_t)first * bytes;
        in[i].bytes = (size_t)in_shape[i][0] * bytes;
    }
    bool ok =
        sl_symbols(r->model, 0, in, r->entry.ninputs, symbols, r->entry.nsymbols, &error) == SL_OK;
    for (uint32_t k = 0; ok && k < r->entry.noutputs; k++) {
        ok = sl_output_shape(r->model, 0, k, symbols, r->entry.nsymbols, out_shape[k], &error) ==
             SL_OK;
        out->counts[k] = 1;
        for (uint32_t d = 0; ok && d < r->outputs[k].rank; d++) {
            out->counts[k] *= out_shape[k][d];
        }
        size_t bytes = (size_t)out->counts[k] * (r->outputs[k].dtype == SL_BOOL ? 1 : 4);
        out->data[k] = malloc(bytes);
        to[k] = (SlTensor){out->data[k],       bytes, out_shape[k], NULL, r->outputs[k].rank,
                           r->outputs[k].dtype};
    }
    ok = ok && sl_run(r->context, 0, in, r->entry.ninputs, to, r->entry.noutputs, &error) == SL_OK;
    for (uint32_t i = 0; i < r->entry.ninputs; i++) {
        free(data[i]);
    }
    memcpy(text, error.text, sizeof text);
    return ok ? NULL : text;
}

void outputs_free(Outputs *outputs)
{
    for (uint32_t k = 0; k < outputs->n; k++) {
        free(outputs->data[k]);
    }
    outputs->n = 0;
}
