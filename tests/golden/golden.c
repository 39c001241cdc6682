// The golden cases of a family, end to end: each case's configuration and weights become a model
// folder, which is compiled (stages alone and everything, for every instruction set) and run
// through the runtime, the batch as given and row by row; and evaluated. Outputs must lie within
// the case's own tolerance of the original library's float64 results, a row must have the same bits
// alone and in its batch, with one thread and with two.
//
//   golden DATA FAMILY WORK          prints a line for each case and way, ends with "N passed, N
//   failed"
#include "driver/compile.h"
#include "golden_case.h"
#include "ir/eval.h"
#include "runtime/sluice.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Totals {
    size_t passed;
    size_t failed;
} Totals;

// ---- comparing ----

// |got - want| over what is allowed; NaN matches NaN, an infinity the same one.
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

static double worst_of(const GoldenTensor *expected, const double *got64, const float *got32)
{
    double worst = 0;
    for (int64_t i = 0; i < expected->count; i++) {
        double e = excess(got64 ? got64[i] : (double)got32[i], (double)((float *)expected->data)[i],
                          expected);
        worst = e > worst ? e : worst;
    }
    return worst;
}

static void report(Totals *totals, const char *name, const char *way, double worst, const char *why)
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

// ---- the evaluator ----

typedef struct Leaves {
    Diag *dx;
    const GoldenCase *c;
    const Weights *weights;
} Leaves;

static bool read_leaf(void *ctx, const Node *node, EvalTensor *out)
{
    const Leaves *leaves = ctx;
    if (node->op == OP_param) {
        return weights_read_f64(leaves->dx, leaves->weights, node, out->data);
    }
    const GoldenTensor *t = golden_find(&leaves->c->inputs, node->attr.name);
    for (int64_t i = 0; i < out->count; i++) {
        out->data[i] = t ? golden_value(t, i) : node->attr.value;
    }
    return t || node->attr.has_default;
}

// The values of the free sizes, from the shapes of the case's inputs.
static size_t bind_symbols(const Graph *g, const GoldenCase *c, SizeBinding *out)
{
    size_t n = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *node = g->nodes.items[i];
        const GoldenTensor *t =
            node->op == OP_input ? golden_find(&c->inputs, node->attr.name) : NULL;
        for (size_t k = 0; t && k < node->type.rank; k++) {
            const Size *s = node->type.shape[k];
            bool alone = s->nterms == 1 && s->terms[0].natoms == 1 && s->terms[0].factor == 1;
            if (alone && n < 8) {
                out[n++] = (SizeBinding){s->terms[0].atoms[0]->symbol, t->shape[k]};
            }
        }
    }
    return n;
}

static void check_evaluator(Arena *a, Diag *dx, const GoldenCase *c, const CompileOptions *options,
                            Totals *totals)
{
    Spec spec;
    Weights *weights = NULL;
    if (!spec_load(a, dx, options->spec, &options->front, &spec) ||
        !(weights = weights_open(a, dx, spec.graph, spec.weights))) {
        report(totals, c->name, "evaluator", 0, "does not load");
        return;
    }
    SizeBinding symbols[8];
    Leaves leaves = {dx, c, weights};
    EvalOptions eval = {.symbols = symbols,
                        .nsymbols = bind_symbols(spec.graph, c, symbols),
                        .leaf = read_leaf,
                        .ctx = &leaves};
    EvalTensor *outputs = arena_new(a, EvalTensor, spec.graph->outputs.n + 1);
    double worst = 0;
    const char *why = NULL;
    if (!eval_graph(a, dx, spec.graph, &eval, outputs)) {
        why = "does not evaluate";
    }
    for (size_t k = 0; !why && k < c->outputs.n; k++) {
        const GoldenTensor *t = &c->outputs.items[k];
        size_t at = 0;
        while (at < spec.graph->outputs.n &&
               !str_equal(spec.graph->outputs.items[at].name, t->name)) {
            at++;
        }
        if (at == spec.graph->outputs.n || outputs[at].count != t->count) {
            why = "an output is missing or of another size";
            break;
        }
        double w = worst_of(t, outputs[at].data, NULL);
        worst = w > worst ? w : worst;
    }
    report(totals, c->name, "evaluator", worst, why);
    weights_close(weights);
}

// ---- native ----

typedef struct Run {
    const GoldenCase *c;
    SlModel *model;
    SlContext *context;
    SlEntryInfo entry;
    SlTensorInfo *inputs;  // [entry.ninputs]
    SlTensorInfo *outputs; // [entry.noutputs]
} Run;

static void *input_data(const Run *r, size_t i, const GoldenTensor *t)
{
    size_t bytes = r->inputs[i].dtype == SL_BOOL ? 1 : 4;
    uint8_t *data = malloc((size_t)t->count * bytes);
    for (int64_t k = 0; k < t->count; k++) {
        double v = golden_value(t, k);
        if (r->inputs[i].dtype == SL_F32) {
            ((float *)(void *)data)[k] = (float)v;
        } else if (r->inputs[i].dtype == SL_I32) {
            ((int32_t *)(void *)data)[k] = (int32_t)v;
        } else {
            data[k] = v != 0;
        }
    }
    return data;
}

// Runs rows [first, first + n) of the batch; outputs are allocated. NULL, or what went wrong.
static const char *run_rows(const Run *r, int64_t first, int64_t n, float **out, int64_t *counts)
{
    static char text[256];
    SlTensor in[8] = {0};
    SlTensor to[64] = {0};
    void *data[8] = {0};
    int64_t in_shape[8][SL_MAX_RANK];
    int64_t out_shape[64][SL_MAX_RANK];
    int64_t symbols[SL_MAX_SYMBOLS];
    SlError error = {0};
    for (uint32_t i = 0; i < r->entry.ninputs; i++) {
        const GoldenTensor *t = golden_find(&r->c->inputs, str_from(r->inputs[i].name));
        in[i] = (SlTensor){
            .rank = r->inputs[i].rank, .dtype = r->inputs[i].dtype, .shape = in_shape[i]};
        if (!t) {
            continue; // its default
        }
        size_t bytes = (size_t)(t->count / t->shape[0]) * (r->inputs[i].dtype == SL_BOOL ? 1 : 4);
        memcpy(in_shape[i], t->shape, t->rank * sizeof *t->shape);
        in_shape[i][0] = n;
        data[i] = input_data(r, i, t);
        in[i].data = (uint8_t *)data[i] + (size_t)first * bytes;
        in[i].bytes = (size_t)n * bytes;
    }
    bool ok =
        sl_symbols(r->model, 0, in, r->entry.ninputs, symbols, r->entry.nsymbols, &error) == SL_OK;
    for (uint32_t k = 0; ok && k < r->entry.noutputs; k++) {
        ok = sl_output_shape(r->model, 0, k, symbols, r->entry.nsymbols, out_shape[k], &error) ==
             SL_OK;
        counts[k] = 1;
        for (uint32_t d = 0; ok && d < r->outputs[k].rank; d++) {
            counts[k] *= out_shape[k][d];
        }
        out[k] = malloc((size_t)counts[k] * 4);
        to[k] = (SlTensor){out[k], (size_t)counts[k] * 4, out_shape[k],
                           NULL,   r->outputs[k].rank,    r->outputs[k].dtype};
    }
    ok = ok && sl_run(r->context, 0, in, r->entry.ninputs, to, r->entry.noutputs, &error) == SL_OK;
    for (uint32_t i = 0; i < r->entry.ninputs; i++) {
        free(data[i]);
    }
    memcpy(text, error.text, sizeof text);
    return ok ? NULL : text;
}

static void free_outputs(const Run *r, float **out)
{
    for (uint32_t k = 0; k < r->entry.noutputs; k++) {
        free(out[k]);
        out[k] = NULL;
    }
}

static const char *compare_outputs(const Run *r, float **out, const int64_t *counts, double *worst)
{
    for (size_t k = 0; k < r->c->outputs.n; k++) {
        const GoldenTensor *t = &r->c->outputs.items[k];
        uint32_t at = 0;
        while (at < r->entry.noutputs && !str_equal(str_from(r->outputs[at].name), t->name)) {
            at++;
        }
        if (at == r->entry.noutputs || counts[at] != t->count) {
            return "an output is missing or of another size";
        }
        double w = worst_of(t, NULL, out[at]);
        *worst = w > *worst ? w : *worst;
    }
    return NULL;
}

// Every row alone has the bits that it has in the batch.
static const char *compare_rows(const Run *r, float **whole, const int64_t *counts)
{
    int64_t batch = r->c->inputs.items[0].shape[0];
    for (int64_t b = 0; b < batch; b++) {
        float *row[64] = {0};
        int64_t row_counts[64];
        const char *why = run_rows(r, b, 1, row, row_counts);
        for (uint32_t k = 0; !why && k < r->entry.noutputs; k++) {
            size_t bytes = (size_t)row_counts[k] * 4;
            if (row_counts[k] * batch != counts[k] ||
                memcmp((uint8_t *)whole[k] + (size_t)b * bytes, row[k], bytes) != 0) {
                why = "a row alone has other bits than in its batch";
            }
        }
        free_outputs(r, row);
        if (why) {
            return why;
        }
    }
    return NULL;
}

static const char *run_all(Run *r, double *worst)
{
    float *two[64] = {0};
    float *one[64] = {0};
    int64_t counts[64];
    const char *why = run_rows(r, 0, r->c->inputs.items[0].shape[0], two, counts);
    why = why ? why : compare_outputs(r, two, counts, worst);
    why = why ? why : compare_rows(r, two, counts);
    SlContextOptions single = {.threads = 1};
    SlContext *context = r->context;
    if (!why && sl_context_open(r->model, &single, &r->context, NULL) == SL_OK) {
        why = run_rows(r, 0, r->c->inputs.items[0].shape[0], one, counts);
        for (uint32_t k = 0; !why && k < r->entry.noutputs; k++) {
            why = memcmp(one[k], two[k], (size_t)counts[k] * 4)
                      ? "one thread gives other bits than two"
                      : NULL;
        }
        sl_context_close(r->context);
    }
    r->context = context;
    free_outputs(r, two);
    free_outputs(r, one);
    return why;
}

static const char *open_run(Arena *a, Run *r, const char *path)
{
    static SlError error;
    SlContextOptions options = {.threads = 2};
    if (sl_model_open(path, NULL, &r->model, &error) != SL_OK ||
        sl_context_open(r->model, &options, &r->context, &error) != SL_OK ||
        sl_entry_info(r->model, 0, &r->entry, &error) != SL_OK) {
        return error.text;
    }
    if (r->entry.ninputs > 8 || r->entry.noutputs > 64) {
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

static void check_native(Arena *a, Diag *dx, const GoldenCase *c, const CompileOptions *options,
                         const char *way, const char *work, Totals *totals)
{
    const char *path = str_cstr(a, str_format(a, "%s/%s.so", work, strrchr(c->name, '/') + 1));
    Run r = {.c = c};
    double worst = 0;
    Built built;
    const char *why = compile_shared(a, dx, options, path, &built) ? NULL : "does not compile";
    why = why ? why : open_run(a, &r, path);
    why = why ? why : run_all(&r, &worst);
    report(totals, c->name, way, worst, why);
    sl_context_close(r.context);
    sl_model_close(r.model);
    remove(path);
}

// ---- ways ----

typedef struct Way {
    const char *name;
    const char *target;       // whose kernels are made
    const char *instructions; // in whose instructions; NULL: the target's
} Way;

// Kernels of the wider set run here in the instructions of the narrower one too: the same LLVM
// text, selected otherwise.
static const Way ways[] = {
    {"x86-64-v3", "x86-64-v3", NULL},
    {"x86-64-v4", "x86-64-v4", NULL},
    {"x86-64-v4 as v3", "x86-64-v4", "x86-64-v3"},
};

static bool find_target(Arena *a, const Way *way, CodegenTarget *out)
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
    return (out->needs & ~native.needs) == 0; // whether this machine runs it
}

static void check_case(const GoldenCase *c, const char *work, Totals *totals)
{
    Arena *a = arena_create();
    Diag *dx = diag_create(a);
    FrontSize seq = {STR("seq"), c->seq};
    CompileOptions options = {.spec = c->folder, .verify_each = true};
    options.front.sizes = &seq;
    options.front.nsizes = c->seq > 0 ? 1 : 0;
    check_evaluator(a, dx, c, &options, totals);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!find_target(a, &ways[i], &options.target)) {
            printf("%-44s %-22s skipped: this CPU cannot run it\n", c->name, ways[i].name);
            continue;
        }
        for (int only_stages = 0; only_stages < 2; only_stages++) {
            Str way = str_format(a, "%s%s", ways[i].name, only_stages ? " -O0" : "");
            options.only_stages = only_stages;
            check_native(a, dx, c, &options, str_cstr(a, way), work, totals);
        }
    }
    diag_flush(dx, stderr, false);
    arena_destroy(a);
}

static int by_name(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: golden DATA FAMILY WORK [CASE]\n");
        return 2;
    }
    Arena *a = arena_create();
    DIR *dir = opendir(str_cstr(a, str_format(a, "%s/%s", argv[1], argv[2])));
    char *names[128];
    size_t n = 0;
    for (const struct dirent *entry = dir ? readdir(dir) : NULL; entry && n < 128;
         entry = readdir(dir)) {
        if (entry->d_name[0] != '.' && (argc == 4 || strcmp(argv[4], entry->d_name) == 0)) {
            names[n++] = strdup(entry->d_name);
        }
    }
    qsort(names, n, sizeof *names, by_name);
    mkdir(argv[3], 0777);
    Totals totals = {0};
    for (size_t i = 0; i < n; i++) {
        GoldenCase c;
        if (golden_load(a, argv[1], argv[2], names[i], argv[3], &c)) {
            check_case(&c, argv[3], &totals);
        } else {
            report(&totals, names[i], "data", 0, "cannot be read");
        }
        free(names[i]);
    }
    if (dir) {
        closedir(dir);
    }
    arena_destroy(a);
    printf("%zu passed, %zu failed\n", totals.passed, totals.failed);
    return totals.failed > 0 || totals.passed == 0;
}
