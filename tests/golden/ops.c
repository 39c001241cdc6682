// Single operations: the cases of tests/golden/data/ops, whose formulas ops.slu has, through the
// evaluator and natively, for every instruction set, stages alone and everything; and what no file
// holds: an element's bits do not depend on where in a row it lies and how long the row is, and
// layer norm keeps its digits around a large mean.
//
//   golden_ops DATA OPS.slu WORK     prints a line for each case and way, ends with "N passed, N
//                                    failed"
#include "golden_run.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct OpCase {
    const char *name;
    const char *model; // of ops.slu
    const char *fn;    // of the model `activation`
    int64_t n;
} OpCase;

static const OpCase ops[] = {
    {"erf", "activation", "erf", 358},
    {"exp", "activation", "exp", 358},
    {"gelu-erf", "activation", "gelu", 357},
    {"gelu-sigmoid", "activation", "gelu_sigmoid", 357},
    {"gelu-tanh", "activation", "gelu_tanh", 357},
    {"layer-norm-eps", "norm_eps", NULL, 0},
    {"layer-norm-offset", "norm_offset", NULL, 0},
    {"layer-norm-width", "norm_width", NULL, 0},
    {"relu", "activation", "relu", 358},
    {"sigmoid", "activation", "sigmoid", 358},
    {"silu", "activation", "silu", 357},
    {"softmax", "softmax_widths", NULL, 0},
    {"softmax-masked", "softmax_masked", NULL, 0},
    {"tanh", "activation", "tanh", 358},
};

enum { OPS = sizeof ops / sizeof *ops };

typedef struct Test {
    const char *text; // ops.slu
    const char *work;
    Totals totals;
} Test;

// The output of this name, with underscores for what no name of the language may hold.
static Str output_name(Arena *a, Str name)
{
    char *text = arena_new(a, char, name.len + 1);
    for (size_t i = 0; i < name.len; i++) {
        text[i] = name.ptr[i] == '-' ? '_' : name.ptr[i];
    }
    return (Str){text, name.len};
}

static const char *compare(const GoldenTensors *expected, const Run *r, const Outputs *got,
                           double *worst)
{
    for (size_t k = 0; k < expected->n; k++) {
        const GoldenTensor *t = &expected->items[k];
        int64_t at = run_find_output(r, t->name);
        if (at < 0 || got->counts[at] != t->count) {
            return "an output is missing or of another size";
        }
        double w = golden_worst(t, NULL, got->data[at]);
        *worst = w > *worst ? w : *worst;
    }
    return NULL;
}

static void check_evaluator(Arena *a, Diag *dx, const char *name, const CompileOptions *options,
                            const GoldenTensors *inputs, const GoldenTensors *outputs,
                            Totals *totals)
{
    Spec spec;
    double worst = 0;
    if (!spec_load(a, dx, options->spec, &options->front, &spec)) {
        report(totals, name, "evaluator", 0, "does not load");
        return;
    }
    EvalTensor *values = arena_new(a, EvalTensor, spec.graph->outputs.n + 1);
    const char *why = evaluate(a, dx, spec.graph, NULL, inputs, values);
    for (size_t k = 0; !why && k < outputs->n; k++) {
        const EvalTensor *value = find_value(spec.graph, values, outputs->items[k].name);
        if (!value || value->count != outputs->items[k].count) {
            why = "an output is missing or of another size";
            break;
        }
        double w = golden_worst(&outputs->items[k], value->data, NULL);
        worst = w > worst ? w : worst;
    }
    report(totals, name, "evaluator", worst, why);
}

static void check_native(Arena *a, Diag *dx, const Test *test, const char *name, const char *way,
                         const CompileOptions *options, const GoldenTensors *inputs,
                         const GoldenTensors *outputs, Totals *totals)
{
    Run r;
    Outputs got = {0};
    double worst = 0;
    const char *path = str_cstr(a, str_format(a, "%s/op.so", test->work));
    const char *why = run_compile(a, dx, options, path, 2, &r);
    why = why ? why : run_items(&r, inputs, 0, 0, &got);
    why = why ? why : compare(outputs, &r, &got, &worst);
    report(totals, name, way, worst, why);
    outputs_free(&got);
    run_close(&r);
}

static void check_op(Test *test, const char *data, const OpCase *op)
{
    Arena *a = arena_create();
    Diag *dx = diag_create(a);
    GoldenTensors inputs, outputs;
    FrontSetting settings[] = {{STR("fn"), op->fn ? str_from(op->fn) : STR("")},
                               {STR("n"), str_format(a, "%lld", (long long)op->n)}};
    CompileOptions options = {.verify_each = true};
    options.spec = str_cstr(a, str_format(a, "%s:%s", test->text, op->model));
    options.front.settings = settings;
    options.front.nsettings = op->fn ? 2 : 0;
    const char *folder = str_cstr(a, str_format(a, "%s/ops/%s", data, op->name));
    if (!golden_load_tensors(a, folder, &inputs, &outputs)) {
        report(&test->totals, op->name, "data", 0, "cannot be read");
        arena_destroy(a);
        return;
    }
    for (size_t i = 0; i < outputs.n; i++) {
        outputs.items[i].name = output_name(a, outputs.items[i].name);
    }
    check_evaluator(a, dx, op->name, &options, &inputs, &outputs, &test->totals);
    for (size_t i = 0; i < WAYS; i++) {
        if (!find_target(a, &ways[i], &options.target)) {
            printf("%-44s %-22s skipped: this CPU cannot run it\n", op->name, ways[i].name);
            continue;
        }
        for (int only_stages = 0; only_stages < 2; only_stages++) {
            options.only_stages = only_stages;
            Str way = str_format(a, "%s%s", ways[i].name, only_stages ? " -O0" : "");
            check_native(a, dx, test, op->name, str_cstr(a, way), &options, &inputs, &outputs,
                         &test->totals);
        }
    }
    diag_flush(dx, stderr, false);
    arena_destroy(a);
}

// Every folder of data/ops has its row in `ops`, and the other way round.
static bool are_all_known(const char *data)
{
    Arena *a = arena_create();
    DIR *dir = opendir(str_cstr(a, str_format(a, "%s/ops", data)));
    size_t n = 0;
    for (const struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        n += entry->d_name[0] != '.';
    }
    if (dir) {
        closedir(dir);
    }
    arena_destroy(a);
    return n == OPS;
}

// ---- the same bits wherever an element lies ----

enum { LONGEST = 40, GRID = 96 }; // GRID: elements of which each row is a piece

static float grid_value(int64_t i)
{
    static const float special[] = {0, -0.0f, 1e-39f, -1e-30f, 88.8f, -87.4f, 3e38f, INFINITY};
    return i % 7 == 3 ? special[i / 7 % 8] : (float)sin(0.61 * (double)i) * (float)(i % 13);
}

static const char *run_length(Arena *a, Diag *dx, const Test *test, CompileOptions *options,
                              int64_t n, int64_t first, Outputs *out)
{
    FrontSetting setting = {STR("n"), str_format(a, "%lld", (long long)n)};
    options->front.settings = &setting;
    options->front.nsettings = 1;
    float data[GRID];
    for (int64_t i = 0; i < n; i++) {
        data[i] = grid_value(first + i);
    }
    GoldenTensor x = {
        .name = STR("x"), .dtype = DT_f32, .rank = 1, .shape = &n, .count = n, .data = data};
    GoldenTensors inputs = {1, &x};
    Run r;
    const char *path = str_cstr(a, str_format(a, "%s/op.so", test->work));
    const char *why = run_compile(a, dx, options, path, 1, &r);
    why = why ? why : run_items(&r, &inputs, 0, 0, out);
    run_close(&r);
    return why;
}

static void check_lengths(Test *test, const Way *way)
{
    Arena *a = arena_create();
    Diag *dx = diag_create(a);
    CompileOptions options = {0};
    options.spec = str_cstr(a, str_format(a, "%s:activations", test->text));
    if (!find_target(a, way, &options.target)) {
        arena_destroy(a);
        return;
    }
    Outputs whole = {0};
    const char *why = run_length(a, dx, test, &options, GRID, 0, &whole);
    for (int64_t n = 1; !why && n <= LONGEST; n++) {
        Outputs part = {0};
        int64_t first = n * 5 % (GRID - LONGEST);
        why = run_length(a, dx, test, &options, n, first, &part);
        for (uint32_t k = 0; !why && k < part.n; k++) {
            if (memcmp(part.data[k], whole.data[k] + first, (size_t)n * sizeof(float)) != 0) {
                why = str_cstr(
                    a, str_format(a, "output %u of length %lld has other bits", k, (long long)n));
            }
        }
        outputs_free(&part);
    }
    outputs_free(&whole);
    report(&test->totals, "the same bits at lengths 1 to 40", way->name, 0, why);
    diag_flush(dx, stderr, false);
    arena_destroy(a);
}

// ---- layer norm of rows whose squares cancel ----

// Against the formula in double on the same float32 values; what is allowed is what rounding the
// mean of such values to float32 costs at the least.
static const char *check_rows(const Outputs *got, const float *x, int64_t rows, int64_t n,
                              double eps, double allowed)
{
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0;
        double variance = 0;
        for (int64_t i = 0; i < n; i++) {
            mean += (double)x[r * n + i] / (double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            double c = (double)x[r * n + i] - mean;
            variance += c * c / (double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            double want = ((double)x[r * n + i] - mean) / sqrt(variance + eps);
            if (!(fabs((double)got->data[0][r * n + i] - want) <= allowed)) {
                return "a row is too far from the formula";
            }
        }
    }
    return NULL;
}

static void check_large_mean(Test *test, const Way *way)
{
    static float four[] = {40000, 40001, 40002, 40003};
    static float sixteen[3 * 16];
    for (int i = 0; i < 3 * 16; i++) {
        sixteen[i] = (i < 16 ? 0 : i < 32 ? 100.0f : 1000.0f) + (float)(i % 16) * 1e-3f;
    }
    const struct {
        int64_t rows, n;
        float *x;
        const char *eps;
        double eps_value, allowed;
    } rows[] = {{1, 4, four, "1e-5", 1e-5, 1e-3}, {3, 16, sixteen, "1e-12", 1e-12, 2e-2}};
    for (size_t c = 0; c < 2; c++) {
        Arena *a = arena_create();
        Diag *dx = diag_create(a);
        FrontSetting settings[] = {{STR("n"), str_format(a, "%lld", (long long)rows[c].n)},
                                   {STR("eps"), str_from(rows[c].eps)}};
        CompileOptions options = {.front = {.settings = settings, .nsettings = 2}};
        options.spec = str_cstr(a, str_format(a, "%s:norm_one", test->text));
        if (find_target(a, way, &options.target)) {
            int64_t shape[] = {rows[c].rows, rows[c].n};
            GoldenTensor x = {STR("x"),  DT_f32, 2, shape, rows[c].rows * rows[c].n,
                              rows[c].x, 0,      0};
            GoldenTensors inputs = {1, &x};
            Run r;
            Outputs got = {0};
            const char *path = str_cstr(a, str_format(a, "%s/op.so", test->work));
            const char *why = run_compile(a, dx, &options, path, 1, &r);
            why = why ? why : run_items(&r, &inputs, 0, 0, &got);
            why = why ? why
                      : check_rows(&got, rows[c].x, rows[c].rows, rows[c].n, rows[c].eps_value,
                                   rows[c].allowed);
            report(&test->totals, c ? "layer norm, large mean" : "layer norm of 40000 to 40003",
                   way->name, 0, why);
            outputs_free(&got);
            run_close(&r);
        }
        diag_flush(dx, stderr, false);
        arena_destroy(a);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: golden_ops DATA OPS.slu WORK\n");
        return 2;
    }
    Test test = {.text = argv[2], .work = argv[3]};
    mkdir(test.work, 0777);
    if (!are_all_known(argv[1])) {
        report(&test.totals, "ops", "data", 0, "there are other cases than this test knows");
    }
    for (size_t i = 0; i < OPS; i++) {
        check_op(&test, argv[1], &ops[i]);
    }
    for (size_t i = 0; i < WAYS; i++) {
        check_lengths(&test, &ways[i]);
        check_large_mean(&test, &ways[i]);
    }
    return report_totals(&test.totals);
}
