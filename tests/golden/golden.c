// The golden cases of a family, end to end: each case's configuration and weights become a model
// folder, which is compiled (stages alone and everything, for every instruction set) and run
// through the runtime, the batch as given and row by row; and evaluated. Outputs must lie within
// the case's own tolerance of the original library's float64 results, a row must have the same bits
// alone and in its batch, with one thread and with two.
//
//   golden DATA FAMILY WORK [CASE]   prints a line for each case and way, ends with "N passed, N
//                                    failed"
#include "golden_run.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void check_evaluator(Arena *a, Diag *dx, const GoldenCase *c, const CompileOptions *options,
                            Totals *totals)
{
    Spec spec;
    Weights *weights = NULL;
    if (!spec_load(a, dx, options->spec, &options->front, &spec) ||
        !(weights = weights_open(a, dx, spec.graph, spec.weights, &options->reading))) {
        report(totals, c->name, "evaluator", 0, "does not load");
        return;
    }
    EvalTensor *outputs = arena_new(a, EvalTensor, spec.graph->outputs.n + 1);
    double worst = 0;
    const char *why = evaluate(a, dx, spec.graph, weights, &c->inputs, outputs);
    for (size_t k = 0; !why && k < c->outputs.n; k++) {
        const GoldenTensor *t = &c->outputs.items[k];
        const EvalTensor *value = find_value(spec.graph, outputs, t->name);
        if (!value || value->count != t->count) {
            why = "an output is missing or of another size";
            break;
        }
        double w = golden_worst(t, value->data, NULL);
        worst = w > worst ? w : worst;
    }
    report(totals, c->name, "evaluator", worst, why);
    weights_close(weights);
}

static const char *compare_outputs(const Run *r, const GoldenTensors *expected,
                                   const Outputs *outputs, double *worst)
{
    for (size_t k = 0; k < expected->n; k++) {
        const GoldenTensor *t = &expected->items[k];
        int64_t at = run_find_output(r, t->name);
        if (at < 0 || outputs->counts[at] != t->count) {
            return "an output is missing or of another size";
        }
        double w = golden_worst(t, NULL, outputs->data[at]);
        *worst = w > *worst ? w : *worst;
    }
    return NULL;
}

// Every row alone has the bits that it has in the batch.
static const char *compare_rows(const Run *r, const GoldenCase *c, const Outputs *whole)
{
    int64_t batch = c->inputs.items[0].shape[0];
    for (int64_t b = 0; b < batch; b++) {
        Outputs row;
        const char *why = run_items(r, &c->inputs, b, 1, &row);
        for (uint32_t k = 0; !why && k < row.n; k++) {
            size_t bytes = (size_t)row.counts[k] * 4;
            if (row.counts[k] * batch != whole->counts[k] ||
                memcmp((uint8_t *)whole->data[k] + (size_t)b * bytes, row.data[k], bytes) != 0) {
                why = "a row alone has other bits than in its batch";
            }
        }
        outputs_free(&row);
        if (why) {
            return why;
        }
    }
    return NULL;
}

static const char *run_all(Run *r, const GoldenCase *c, double *worst)
{
    Outputs two;
    Outputs one = {0};
    const char *why = run_items(r, &c->inputs, 0, 0, &two);
    why = why ? why : compare_outputs(r, &c->outputs, &two, worst);
    why = why ? why : compare_rows(r, c, &two);
    why = why ? why : run_set_threads(r, 1);
    why = why ? why : run_items(r, &c->inputs, 0, 0, &one);
    for (uint32_t k = 0; !why && k < one.n; k++) {
        why = memcmp(one.data[k], two.data[k], (size_t)one.counts[k] * 4)
                  ? "one thread gives other bits than two"
                  : NULL;
    }
    outputs_free(&two);
    outputs_free(&one);
    return why;
}

static void check_native(Arena *a, Diag *dx, const GoldenCase *c, const CompileOptions *options,
                         const char *way, const char *work, Totals *totals)
{
    const char *path = str_cstr(a, str_format(a, "%s/%s.so", work, strrchr(c->name, '/') + 1));
    Run r;
    double worst = 0;
    const char *why = run_compile(a, dx, options, path, 2, &r);
    why = why ? why : run_all(&r, c, &worst);
    report(totals, c->name, way, worst, why);
    run_close(&r);
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
    for (size_t i = 0; i < WAYS; i++) {
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
    return report_totals(&totals);
}
