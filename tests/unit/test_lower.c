// Lowering against the evaluator: the graphs in tests/unit/lower go through the passes, with and
// without fusion, for two shapes of machine; the program, run without generated code, must give
// what the evaluator gives for the graph as written.
#include "ir/eval.h"
#include "loop/lower.h"
#include "passes/pass.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Case {
    Str name;
    Str text;
    size_t nkernels; // with fusion, as the file's second line says
} Case;

static bool read_case(Arena *a, const char *file, Case *out)
{
    static char text[1 << 16];
    Str path = str_format(a, "%s/tests/unit/lower/%s", SOURCE_DIR, file);
    FILE *in = fopen(str_cstr(a, path), "r");
    assert_non_null(in);
    size_t n = fread(text, 1, sizeof text - 1, in);
    text[n] = 0;
    fclose(in);
    const char *said = strstr(text, "# kernels: ");
    assert_non_null(said);
    out->nkernels = strtoul(said + strlen("# kernels: "), NULL, 10);
    out->name = str_copy(a, str_from(file));
    out->text = str_copy(a, (Str){text, n});
    return true;
}

// ---- data: by name alone, the same for every way to run ----

static double made_up(Str name, int64_t i, const Node *node)
{
    uint32_t h = 2166136261u;
    for (size_t k = 0; k < name.len; k++) {
        h = (h ^ (uint8_t)name.ptr[k]) * 16777619u;
    }
    h = (h ^ (uint32_t)i) * 2654435761u;
    h = (h ^ (h >> 15)) * 2246822519u;
    h ^= h >> 13;
    if (node->type.dtype == DT_bool) {
        return h % 3 != 0;
    }
    if (node->type.dtype == DT_i32) {
        return (double)(node->attr.low +
                        (int64_t)(h % (uint64_t)(node->attr.high - node->attr.low)));
    }
    return (double)((float)(h % 20001) / 10000.0f - 1.0f);
}

static bool fill_leaf(void *ctx, const Node *node, EvalTensor *out)
{
    (void)ctx;
    for (int64_t i = 0; i < out->count; i++) {
        out->data[i] = made_up(node->attr.name, i, node);
    }
    return true;
}

static void *stored(DType dtype, const double *from, int64_t count)
{
    void *to = calloc((size_t)count + 1, 4);
    for (int64_t i = 0; i < count; i++) {
        if (dtype == DT_f32) {
            ((float *)to)[i] = (float)from[i];
        } else if (dtype == DT_i32) {
            ((int32_t *)to)[i] = (int32_t)from[i];
        } else {
            ((uint8_t *)to)[i] = from[i] != 0;
        }
    }
    return to;
}

static double element(DType dtype, const void *data, int64_t i)
{
    return dtype == DT_f32   ? (double)((const float *)data)[i]
           : dtype == DT_i32 ? (double)((const int32_t *)data)[i]
                             : (double)((const uint8_t *)data)[i];
}

static int64_t count_of(const Size *const *shape, size_t rank, const SizeBinding *batch)
{
    int64_t count = 1;
    for (size_t i = 0; i < rank; i++) {
        int64_t n = 0;
        assert_true(size_value(shape[i], batch, 1, &n));
        count *= n;
    }
    return count;
}

// ---- running ----

static const Node *find_leaf(const Graph *g, Op op, Str name)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (g->nodes.items[i]->op == op && str_equal(g->nodes.items[i]->attr.name, name)) {
            return g->nodes.items[i];
        }
    }
    return NULL;
}

static void **make_inputs(Arena *a, const Graph *g, const Program *p, const SizeBinding *batch)
{
    void **inputs = arena_new(a, void *, p->inputs.n + 1);
    for (size_t i = 0; i < p->inputs.n; i++) {
        const Node *node = find_leaf(g, OP_input, p->inputs.items[i].name);
        int64_t count = count_of(node->type.shape, node->type.rank, batch);
        double *values = arena_new(a, double, (size_t)count);
        for (int64_t k = 0; k < count; k++) {
            values[k] = made_up(node->attr.name, k, node);
        }
        inputs[i] = stored(node->type.dtype, values, count);
    }
    return inputs;
}

static void **make_constants(Arena *a, Diag *dx, const Graph *prepare, const Program *p)
{
    void **constants = arena_new(a, void *, p->constants.n + 1);
    EvalOptions options = {.leaf = fill_leaf, .threads = 1};
    for (size_t i = 0; i < p->constants.n; i++) {
        size_t at = 0;
        while (!str_equal(prepare->outputs.items[at].name, p->constants.items[i].name)) {
            at++;
        }
        EvalTensor value;
        assert_true(eval_output(a, dx, prepare, &options, at, &value));
        constants[i] = stored(value.dtype, value.data, value.count);
        eval_free(&value, 1);
    }
    return constants;
}

static void free_all(void **items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(items[i]);
    }
}

static void compare(const Case *c, const Program *p, void **outputs, const EvalTensor *expected)
{
    for (size_t k = 0; k < p->outputs.n; k++) {
        for (int64_t i = 0; i < expected[k].count; i++) {
            double got = element(p->outputs.items[k].dtype, outputs[k], i);
            double want = expected[k].data[i];
            if (!(fabs(got - want) <= 1e-5 * (1 + fabs(want)))) {
                fail_msg("%.*s: output %zu, element %lld is %g, not %g", STR_ARG(c->name), k,
                         (long long)i, got, want);
            }
        }
    }
}

static void run_case(const Case *c, const Target *target, bool only_stages, int64_t nbatch)
{
    Arena *a = arena_create();
    Diag *dx = diag_create(a);
    Graph *g = graph_parse(a, dx, diag_source(a, c->name, c->text, false));
    if (!g) {
        diag_flush(dx, stderr, false);
        fail_msg("%.*s does not parse", STR_ARG(c->name));
    }
    PassContext cx = {.arena = a, .dx = dx, .target = target, .verify_each = true};
    for (size_t i = 0; i < PASS_count; i++) {
        cx.disabled[i] = only_stages;
    }
    Graph *regions = passes_run_graph(&cx, g);
    assert_non_null(regions);
    Program *p = lower_graph(a, dx, regions, target);
    assert_non_null(p);
    Buf why = {.arena = a};
    if (!program_verify(p, &why)) {
        fail_msg("%.*s: %s", STR_ARG(c->name), why.ptr);
    }
    if (!only_stages && p->steps.n != c->nkernels) {
        fail_msg("%.*s: %zu kernels, not %zu", STR_ARG(c->name), p->steps.n, c->nkernels);
    }
    assert_true(passes_run_program(&cx, p));

    SizeBinding batch = {STR("batch"), nbatch};
    EvalTensor *expected = arena_new(a, EvalTensor, g->outputs.n);
    EvalOptions options = {.symbols = &batch, .nsymbols = 1, .leaf = fill_leaf, .threads = 1};
    assert_true(eval_graph(a, dx, g, &options, expected));
    void **inputs = make_inputs(a, g, p, &batch);
    void **constants = make_constants(a, dx, regions->prepare, p);
    void **outputs = arena_new(a, void *, p->outputs.n);
    for (size_t k = 0; k < p->outputs.n; k++) {
        outputs[k] = calloc((size_t)expected[k].count + 1, 4);
    }
    ProgramData data = {(const void *const *)inputs, (const void *const *)constants, outputs};
    uint32_t fault = 0;
    if (!program_eval(p, &batch, 1, &data, &fault, &why)) {
        fail_msg("%.*s: %s", STR_ARG(c->name), why.ptr);
    }
    assert_int_equal(fault, 0);
    compare(c, p, outputs, expected);
    eval_free(expected, g->outputs.n);
    free_all(inputs, p->inputs.n);
    free_all(constants, p->constants.n);
    free_all(outputs, p->outputs.n);
    arena_destroy(a);
}

static void run_all(const Target *target)
{
    Arena *a = arena_create();
    size_t ncases = 0;
    DIR *folder = opendir(SOURCE_DIR "/tests/unit/lower");
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (!str_ends(str_from(entry->d_name), STR(".ir"))) {
            continue;
        }
        Case c;
        assert_true(read_case(a, entry->d_name, &c));
        for (int64_t batch = 1; batch <= 14; batch += batch == 1 ? 2 : 11) {
            run_case(&c, target, true, batch);
            run_case(&c, target, false, batch);
        }
        ncases++;
    }
    closedir(folder);
    arena_destroy(a);
    assert_true(ncases >= 13);
}

static void narrow_machine(void **state)
{
    (void)state;
    Target target = {
        .lanes = 8, .tile = {.rows = 6, .panels = 1}, .l1_bytes = 32768, .l2_bytes = 524288};
    run_all(&target);
}

static void wide_machine(void **state)
{
    (void)state;
    Target target = {
        .lanes = 16, .tile = {.rows = 9, .panels = 3}, .l1_bytes = 49152, .l2_bytes = 2097152};
    run_all(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(narrow_machine),
                                       cmocka_unit_test(wide_machine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
