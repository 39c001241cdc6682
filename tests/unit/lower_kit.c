#include "lower_kit.h"

#include "ir/eval.h"
#include "loop/lower.h"
#include "passes/pass.h"

#include <math.h>
#include <stdlib.h>

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
        if (!size_value(shape[i], batch, 1, &n)) {
            abort(); // tests have no other symbol
        }
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
        if (!eval_output(a, dx, prepare, &options, at, &value)) {
            abort(); // every constant evaluates
        }
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

static bool compare(const LowerKit *kit, const Program *p, void **outputs,
                    const EvalTensor *expected, Buf *why)
{
    for (size_t k = 0; k < p->outputs.n; k++) {
        double most = 1;
        for (int64_t i = 0; i < expected[k].count; i++) {
            most = fabs(expected[k].data[i]) > most ? fabs(expected[k].data[i]) : most;
        }
        for (int64_t i = 0; i < expected[k].count; i++) {
            double got = element(p->outputs.items[k].dtype, outputs[k], i);
            double want = expected[k].data[i];
            if (!(fabs(got - want) <= kit->tolerance * most)) {
                buf_format(why, "output %zu, element %lld is %g, not %g", k, (long long)i, got,
                           want);
                return false;
            }
        }
    }
    return true;
}

// Runs the program and the graph as written on the same data.
static bool run_both(LowerKit *kit, Diag *dx, const Graph *regions, const Program *p, Buf *why)
{
    Arena *a = kit->arena;
    SizeBinding batch = {STR("batch"), kit->batch};
    EvalTensor *expected = arena_new(a, EvalTensor, kit->graph->outputs.n);
    EvalOptions options = {.symbols = &batch, .nsymbols = 1, .leaf = fill_leaf, .threads = 1};
    if (!eval_graph(a, dx, kit->graph, &options, expected)) {
        buf_format(why, "does not evaluate");
        return false;
    }
    void **inputs = make_inputs(a, kit->graph, p, &batch);
    void **constants = make_constants(a, dx, regions->prepare, p);
    void **outputs = arena_new(a, void *, p->outputs.n);
    for (size_t k = 0; k < p->outputs.n; k++) {
        outputs[k] = calloc((size_t)expected[k].count + 1, 4);
    }
    ProgramData data = {(const void *const *)inputs, (const void *const *)constants, outputs};
    uint32_t fault = 0;
    bool same =
        program_eval(p, &batch, 1, &data, &fault, why) && compare(kit, p, outputs, expected, why);
    if (fault) {
        buf_format(why, "an index was clamped");
    }
    eval_free(expected, kit->graph->outputs.n);
    free_all(inputs, p->inputs.n);
    free_all(constants, p->constants.n);
    free_all(outputs, p->outputs.n);
    return same && fault == 0;
}

LowerResult lower_kit_run(LowerKit *kit, Buf *why)
{
    Diag *dx = diag_create(kit->arena);
    PassContext cx = {.arena = kit->arena, .dx = dx, .verify_each = true};
    for (size_t i = 0; i < PASS_count; i++) {
        cx.disabled[i] = kit->only_stages;
    }
    Graph *regions = passes_run_graph(&cx, kit->graph);
    Program *p = regions ? lower_graph(kit->arena, dx, regions, kit->target) : NULL;
    if (!p) {
        return LOWER_refused;
    }
    kit->nkernels = p->steps.n;
    if (!program_verify(p, why) || !passes_run_program(&cx, p)) {
        return LOWER_differs;
    }
    return run_both(kit, dx, regions, p, why) ? LOWER_same : LOWER_differs;
}
