// Lowering against the evaluator: graphs as text go through the passes, with and without fusion,
// for two shapes of machine; the program, run without generated code, must give what the evaluator
// gives for the graph as written.
#include "ir/eval.h"
#include "loop/lower.h"
#include "passes/pass.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Case {
    const char *name;
    const char *text;
} Case;

static const Case cases[] = {
    {"dense with gelu", "graph \"g\"(batch) {\n"
                        "  %0 = input \"x\" : f32[batch, 5, 20]\n"
                        "  %1 = param \"w.weight\" : f32[40, 20]\n"
                        "  %2 = param \"w.bias\" : f32[40]\n"
                        "  %3 = permute %1 {axes = [1, 0]} : f32[20, 40]\n"
                        "  %4 = matmul %0, %3 : f32[batch, 5, 40]\n"
                        "  %5 = add %4, %2 : f32[batch, 5, 40]\n"
                        "  %6 = gelu %5 : f32[batch, 5, 40]\n"
                        "  output \"y\" = %6\n"
                        "}\n"},
    {"dense over many rows and columns, with residual",
     "graph \"g\"(batch) {\n"
     "  %0 = input \"x\" : f32[batch, 17, 33]\n"
     "  %1 = param \"w.weight\" : f32[33, 130]\n"
     "  %2 = input \"r\" : f32[batch, 17, 130]\n"
     "  %3 = matmul %0, %1 : f32[batch, 17, 130]\n"
     "  %4 = add %2, %3 : f32[batch, 17, 130]\n"
     "  output \"y\" = %4\n"
     "}\n"},
    {"pooler: rows are the batch",
     "graph \"g\"(batch) {\n"
     "  %0 = input \"x\" : f32[batch, 4, 24]\n"
     "  %1 = param \"w.weight\" : f32[24, 24]\n"
     "  %2 = slice %0 {start = [0, 0, 0], step = [1, 1, 1]} : f32[batch, 1, 24]\n"
     "  %3 = reshape %2 : f32[batch, 24]\n"
     "  %4 = matmul %3, %1 : f32[batch, 24]\n"
     "  %5 = tanh %4 : f32[batch, 24]\n"
     "  output \"y\" = %5\n"
     "}\n"},
    {"layer norm of a sum", "graph \"g\"(batch) {\n"
                            "  %0 = input \"x\" : f32[batch, 7, 24]\n"
                            "  %1 = input \"r\" : f32[batch, 7, 24]\n"
                            "  %2 = param \"n.weight\" : f32[24]\n"
                            "  %3 = param \"n.bias\" : f32[24]\n"
                            "  %4 = add %0, %1 : f32[batch, 7, 24]\n"
                            "  %5 = reduce_mean %4 {axes = [2]} : f32[batch, 7]\n"
                            "  %6 = reshape %5 : f32[batch, 7, 1]\n"
                            "  %7 = sub %4, %6 : f32[batch, 7, 24]\n"
                            "  %8 = mul %7, %7 : f32[batch, 7, 24]\n"
                            "  %9 = reduce_mean %8 {axes = [2]} : f32[batch, 7]\n"
                            "  %10 = reshape %9 : f32[batch, 7, 1]\n"
                            "  %11 = fill {value = 1e-12} : f32[]\n"
                            "  %12 = add %10, %11 : f32[batch, 7, 1]\n"
                            "  %13 = rsqrt %12 : f32[batch, 7, 1]\n"
                            "  %14 = mul %7, %13 : f32[batch, 7, 24]\n"
                            "  %15 = mul %14, %2 : f32[batch, 7, 24]\n"
                            "  %16 = add %15, %3 : f32[batch, 7, 24]\n"
                            "  output \"y\" = %16\n"
                            "  output \"sum\" = %4\n"
                            "}\n"},
    {"masked mean and unit length", "graph \"g\"(batch) {\n"
                                    "  %0 = input \"x\" : f32[batch, 20, 12]\n"
                                    "  %1 = input \"m\" : bool[batch, 20]\n"
                                    "  %2 = to_f32 %1 : f32[batch, 20]\n"
                                    "  %3 = reshape %2 : f32[batch, 20, 1]\n"
                                    "  %4 = mul %0, %3 : f32[batch, 20, 12]\n"
                                    "  %5 = reduce_sum %4 {axes = [1]} : f32[batch, 12]\n"
                                    "  %6 = reduce_sum %3 {axes = [1]} : f32[batch, 1]\n"
                                    "  %7 = fill {value = 1e-9} : f32[]\n"
                                    "  %8 = max %6, %7 : f32[batch, 1]\n"
                                    "  %9 = div %5, %8 : f32[batch, 12]\n"
                                    "  %10 = mul %9, %9 : f32[batch, 12]\n"
                                    "  %11 = reduce_sum %10 {axes = [1]} : f32[batch]\n"
                                    "  %12 = sqrt %11 : f32[batch]\n"
                                    "  %13 = reshape %12 : f32[batch, 1]\n"
                                    "  %14 = div %9, %13 : f32[batch, 12]\n"
                                    "  output \"y\" = %14\n"
                                    "}\n"},
    {"attention", "graph \"g\"(batch) {\n"
                  "  %0 = input \"q\" : f32[batch, 11, 24]\n"
                  "  %1 = input \"k\" : f32[batch, 11, 24]\n"
                  "  %2 = input \"v\" : f32[batch, 11, 24]\n"
                  "  %3 = input \"mask\" = 1.0 : bool[batch, 11]\n"
                  "  %4 = reshape %0 : f32[batch, 11, 2, 12]\n"
                  "  %5 = permute %4 {axes = [0, 2, 1, 3]} : f32[batch, 2, 11, 12]\n"
                  "  %6 = reshape %1 : f32[batch, 11, 2, 12]\n"
                  "  %7 = permute %6 {axes = [0, 2, 3, 1]} : f32[batch, 2, 12, 11]\n"
                  "  %8 = reshape %2 : f32[batch, 11, 2, 12]\n"
                  "  %9 = permute %8 {axes = [0, 2, 1, 3]} : f32[batch, 2, 11, 12]\n"
                  "  %10 = matmul %5, %7 : f32[batch, 2, 11, 11]\n"
                  "  %11 = fill {value = 0.25} : f32[]\n"
                  "  %12 = mul %10, %11 : f32[batch, 2, 11, 11]\n"
                  "  %13 = reshape %3 : bool[batch, 1, 1, 11]\n"
                  "  %14 = fill {value = -3e38} : f32[]\n"
                  "  %15 = select %13, %12, %14 : f32[batch, 2, 11, 11]\n"
                  "  %16 = softmax %15 {axis = 3} : f32[batch, 2, 11, 11]\n"
                  "  %17 = matmul %16, %9 : f32[batch, 2, 11, 12]\n"
                  "  %18 = permute %17 {axes = [0, 2, 1, 3]} : f32[batch, 11, 2, 12]\n"
                  "  %19 = reshape %18 : f32[batch, 11, 24]\n"
                  "  output \"y\" = %19\n"
                  "}\n"},
    {"embeddings", "graph \"g\"(batch) {\n"
                   "  %0 = input \"ids\" in 0 .. 9 : i32[batch, 6]\n"
                   "  %1 = param \"t.weight\" : f32[9, 20]\n"
                   "  %2 = param \"p.weight\" : f32[10, 20]\n"
                   "  %3 = gather %1, %0 {axis = 0} : f32[batch, 6, 20]\n"
                   "  %4 = slice %2 {start = [0, 0], step = [1, 1]} : f32[6, 20]\n"
                   "  %5 = add %3, %4 : f32[batch, 6, 20]\n"
                   "  %6 = softmax %5 {axis = 2} : f32[batch, 6, 20]\n"
                   "  output \"y\" = %6\n"
                   "}\n"},
    {"pooling, partial windows, concat",
     "graph \"g\"(batch) {\n"
     "  %0 = input \"x\" : f32[batch, 9, 10]\n"
     "  %1 = slice %0 {start = [0, 0, 0], step = [1, 1, 1]} : f32[batch, 1, 10]\n"
     "  %2 = slice %0 {start = [0, 1, 0], step = [1, 1, 1]} : f32[batch, 7, 10]\n"
     "  %3 = pool %2 {axis = 1, window = 2, stride = 2, mode = mean, ceil = true} : f32[batch, 4, "
     "10]\n"
     "  %4 = concat %1, %3 {axis = 1} : f32[batch, 5, 10]\n"
     "  output \"y\" = %4\n"
     "  %5 = input \"m\" : bool[batch, 9]\n"
     "  %6 = pool %5 {axis = 1, window = 2, stride = 2, mode = min, ceil = true} : bool[batch, 5]\n"
     "  output \"kept\" = %6\n"
     "}\n"},
    {"relative shift, reversal, repeat, padding",
     "graph \"g\"(batch) {\n"
     "  %0 = input \"x\" : f32[batch, 3, 10]\n"
     "  %1 = rel_shift %0 {shift = 2} : f32[batch, 3, 4]\n"
     "  %2 = slice %1 {start = [0, 0, 3], step = [1, 1, -1]} : f32[batch, 3, 4]\n"
     "  %3 = repeat %2 {axis = 1, times = 3} : f32[batch, 9, 4]\n"
     "  %4 = pad %3 {axis = 2, before = 1, after = 2, value = 0.5} : f32[batch, 9, 7]\n"
     "  output \"y\" = %4\n"
     "}\n"},
    {"what no kernel computes", "graph \"g\"(batch) {\n"
                                "  %0 = input \"x\" : f32[batch, 3]\n"
                                "  %1 = param \"p\" : f32[2, 3]\n"
                                "  %2 = exp %0 : f32[batch, 3]\n"
                                "  %3 = permute %2 {axes = [1, 0]} : f32[3, batch]\n"
                                "  %4 = reshape %3 : f32[3, batch, 1]\n"
                                "  output \"x\" = %0\n"
                                "  output \"p\" = %1\n"
                                "  output \"a\" = %2\n"
                                "  output \"b\" = %2\n"
                                "}\n"},
};

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
                fail_msg("%s: output %zu, element %lld is %g, not %g", c->name, k, (long long)i,
                         got, want);
            }
        }
    }
}

static void run_case(const Case *c, const Target *target, bool only_stages, int64_t nbatch)
{
    Arena *a = arena_create();
    Diag *dx = diag_create(a);
    Graph *g = graph_parse(a, dx, diag_source(a, str_from(c->name), str_from(c->text), false));
    if (!g) {
        diag_flush(dx, stderr, false);
        fail_msg("%s does not parse", c->name);
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
        fail_msg("%s: %s", c->name, why.ptr);
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
        fail_msg("%s: %s", c->name, why.ptr);
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
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int64_t batch = 1; batch <= 14; batch += batch == 1 ? 2 : 11) {
            run_case(&cases[i], target, true, batch);
            run_case(&cases[i], target, false, batch);
        }
    }
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
