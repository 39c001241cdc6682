// Running a SPEC through the evaluator, in double precision.
#include "driver/run.h"

#include "driver/progress.h"
#include "ir/eval.h"

#include <stdlib.h>
#include <string.h>

typedef struct Reference {
    Call *call;
    const RunOptions *options;
    const Graph *graph;
    const Weights *weights;
    const Node **nodes; // the graph's inputs, [ninputs]
    Port *ports;
    size_t ninputs;
    Tensors inputs;
    SizeBinding *symbols; // [graph->symbols.n]; value 0: not known yet
} Reference;

static void find_inputs(Reference *rf)
{
    Arena *arena = rf->call->arena;
    const Graph *graph = rf->graph;
    rf->nodes = arena_new(arena, const Node *, graph->nodes.n);
    rf->ports = arena_new(arena, Port, graph->nodes.n);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        if (node->op == OP_input) {
            rf->ports[rf->ninputs] = (Port){.name = node->attr.name,
                                            .dtype = node->type.dtype,
                                            .rank = node->type.rank,
                                            .type = type_text(arena, &node->type),
                                            .has_range = node->attr.has_range,
                                            .low = node->attr.low,
                                            .high = node->attr.high,
                                            .has_default = node->attr.has_default};
            rf->nodes[rf->ninputs++] = node;
        }
    }
}

// ---- sizes ----

static SizeBinding *find_symbol(const Reference *rf, Str name)
{
    for (size_t i = 0; i < rf->graph->symbols.n; i++) {
        if (str_equal(rf->symbols[i].name, name)) {
            return &rf->symbols[i];
        }
    }
    return NULL;
}

// A symbol takes its value from the first input that has it alone as a size.
static void bind(Reference *rf, const Node *node, const Tensor *input)
{
    for (size_t i = 0; i < node->type.rank; i++) {
        Str name;
        SizeBinding *symbol =
            size_is_symbol(node->type.shape[i], &name) ? find_symbol(rf, name) : NULL;
        if (symbol && symbol->value == 0) {
            symbol->value = input->shape[i];
        }
    }
}

static Str bindings_text(const Reference *rf)
{
    Buf text = {.arena = rf->call->arena};
    for (size_t i = 0; i < rf->graph->symbols.n; i++) {
        buf_format(&text, "%s%.*s = %lld", i > 0 ? ", " : " with ", STR_ARG(rf->symbols[i].name),
                   (long long)rf->symbols[i].value);
    }
    return buf_str(&text);
}

static bool check_shape(const Reference *rf, size_t index)
{
    const Tensor *input = &rf->inputs.items[index];
    const Node *node = rf->nodes[index];
    bool fits = true;
    for (size_t i = 0; i < node->type.rank; i++) {
        int64_t value = 0;
        fits = fits && size_value(node->type.shape[i], rf->symbols, rf->graph->symbols.n, &value) &&
               value == input->shape[i] && value >= 1;
    }
    if (!fits) {
        Buf type = {.arena = rf->call->arena};
        tensor_print_type(&type, input);
        diag_error(rf->call->dx, (Place){0}, "input `%.*s` is %s, but the model takes %.*s%.*s",
                   STR_ARG(input->name), type.ptr, STR_ARG(rf->ports[index].type),
                   STR_ARG(bindings_text(rf)));
    }
    return fits;
}

static bool bind_symbols(Reference *rf)
{
    for (size_t i = 0; i < rf->ninputs; i++) {
        if (rf->inputs.items[i].data) {
            bind(rf, rf->nodes[i], &rf->inputs.items[i]);
        }
    }
    for (size_t i = 0; i < rf->graph->symbols.n; i++) {
        if (rf->symbols[i].value == 0) {
            diag_error(rf->call->dx, (Place){0},
                       "the size `%.*s` follows from no input that was given",
                       STR_ARG(rf->symbols[i].name));
            return false;
        }
    }
    for (size_t i = 0; i < rf->ninputs; i++) {
        if (rf->inputs.items[i].data && !check_shape(rf, i)) {
            return false;
        }
    }
    return true;
}

// ---- inputs ----

static bool make_up_inputs(Reference *rf)
{
    Arena *arena = rf->call->arena;
    Diag *dx = rf->call->dx;
    size_t nsymbols = rf->graph->symbols.n;
    Str *names = arena_new(arena, Str, nsymbols);
    rf->inputs = (Tensors){.n = rf->ninputs, .items = arena_new(arena, Tensor, rf->ninputs)};
    for (size_t i = 0; i < nsymbols; i++) {
        const Symbol *symbol = &rf->graph->symbols.items[i];
        names[i] = symbol->name;
        rf->symbols[i].value = run_size(rf->options, symbol->name, symbol->low);
    }
    if (!run_check_sizes(rf->call, rf->options, names, nsymbols)) {
        return false;
    }
    for (size_t i = 0; i < rf->ninputs; i++) {
        const Type *type = &rf->nodes[i]->type;
        int64_t *shape = arena_new(arena, int64_t, type->rank);
        Tensor *input = &rf->inputs.items[i];
        for (size_t k = 0; k < type->rank; k++) {
            if (!size_value(type->shape[k], rf->symbols, nsymbols, &shape[k]) || shape[k] < 1) {
                diag_error(dx, (Place){0}, "with these sizes there is no input `%.*s`: %.*s%.*s",
                           STR_ARG(rf->ports[i].name), STR_ARG(rf->ports[i].type),
                           STR_ARG(bindings_text(rf)));
                return false;
            }
        }
        input->rank = type->rank;
        input->shape = shape;
        if (!tensor_make_up(dx, &rf->ports[i], rf->options->seed, true, input)) {
            return false;
        }
    }
    return true;
}

static bool get_inputs(Reference *rf)
{
    rf->symbols = arena_new(rf->call->arena, SizeBinding, rf->graph->symbols.n);
    for (size_t i = 0; i < rf->graph->symbols.n; i++) {
        rf->symbols[i].name = rf->graph->symbols.items[i].name;
    }
    if (!run_check_inputs(rf->call, rf->ninputs)) {
        return false;
    }
    if (!rf->options->input) {
        return make_up_inputs(rf);
    }
    return tensors_read(rf->call, rf->options->input, rf->ports, rf->ninputs, true, &rf->inputs) &&
           bind_symbols(rf);
}

// ---- running ----

static bool give_param(void *ctx, const Node *node, EvalTensor *out)
{
    const Reference *rf = ctx;
    return weights_read_f64(rf->call->dx, rf->weights, node, out->data);
}

// A graph as text may be one that passes have changed: its constants come from its `prepare`.
static bool give_constant(Reference *rf, const Node *node, EvalTensor *out)
{
    const Graph *prepare = rf->graph->prepare;
    EvalOptions options = {.threads = rf->options->threads, .leaf = give_param, .ctx = rf};
    EvalTensor value;
    size_t index = prepare ? graph_find_output(prepare, node->attr.name) : SIZE_MAX;
    if (index == SIZE_MAX) {
        diag_error(rf->call->dx, node->at, "`prepare` makes no constant `%.*s`",
                   STR_ARG(node->attr.name));
        return false;
    }
    if (!eval_output(rf->call->arena, rf->call->dx, prepare, &options, index, &value)) {
        return false;
    }
    memcpy(out->data, value.data, (size_t)out->count * sizeof *out->data);
    eval_free(&value, 1);
    return true;
}

static bool give_leaf(void *ctx, const Node *node, EvalTensor *out)
{
    Reference *rf = ctx;
    if (node->op == OP_param) {
        return give_param(ctx, node, out);
    }
    if (node->op == OP_constant) {
        return give_constant(rf, node, out);
    }
    for (size_t i = 0; i < rf->ninputs; i++) {
        if (rf->nodes[i] == node) {
            const Tensor *input = &rf->inputs.items[i];
            for (int64_t k = 0; k < out->count; k++) {
                out->data[k] = input->data ? tensor_value(input, k) : node->attr.value;
            }
            return true;
        }
    }
    die("no input %.*s", STR_ARG(node->attr.name));
}

// As the run of a compiled model gives it, but f32 in f64. Frees the value.
static bool take_output(Diag *dx, const Output *output, EvalTensor *value, Tensor *out)
{
    *out = (Tensor){.name = output->name,
                    .dtype = value->dtype == DT_f32 ? DT_f64 : value->dtype,
                    .rank = value->rank,
                    .shape = value->shape};
    if (!tensor_alloc(dx, out)) {
        return false;
    }
    for (int64_t i = 0; i < out->count; i++) {
        tensor_set(out, i, value->data[i]);
    }
    eval_free(value, 1);
    return true;
}

static bool evaluate(Reference *rf, Tensors *outputs)
{
    Call *call = rf->call;
    size_t n = rf->graph->outputs.n;
    EvalOptions options = {.symbols = rf->symbols,
                           .nsymbols = rf->graph->symbols.n,
                           .threads = rf->options->threads,
                           .leaf = give_leaf,
                           .ctx = rf};
    EvalTensor *values = arena_new(call->arena, EvalTensor, n);
    *outputs = (Tensors){.n = n, .items = arena_new(call->arena, Tensor, n)};
    progress("evaluating the model in double precision");
    bool ok = eval_graph(call->arena, call->dx, rf->graph, &options, values);
    progress(NULL);
    if (!ok) {
        return false;
    }
    for (size_t i = 0; ok && i < n; i++) {
        ok = take_output(call->dx, &rf->graph->outputs.items[i], &values[i], &outputs->items[i]);
    }
    eval_free(values, n);
    return ok;
}

bool run_reference(Call *call, const CompileOptions *model, const RunOptions *options,
                   Tensors *outputs)
{
    Spec spec;
    *outputs = (Tensors){0};
    if (!spec_load(call->arena, call->dx, model->spec, &model->front, &spec)) {
        return false;
    }
    Weights *weights = compile_weights(call->arena, call->dx, model, &spec);
    if (!weights) {
        return false;
    }
    Reference rf = {.call = call, .options = options, .graph = spec.graph, .weights = weights};
    find_inputs(&rf);
    bool ok = get_inputs(&rf) && evaluate(&rf, outputs);
    weights_close(weights);
    tensors_free(&rf.inputs);
    return ok;
}
