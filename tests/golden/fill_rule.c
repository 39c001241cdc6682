// The cases of tests/golden/data/fill_rule.json in the evaluator: no file of weights, each tensor
// follows a formula, in double. What is expected (sums, sums of squares, single rows) must be met
// to 1e-10, relative to 1 + |value|. The forward part; gradients are not looked at.
//
//   golden_fill_rule FILL_RULE.json FILL_RULE.slu   prints a line for each case, ends with "N
//                                                   passed, N failed"
#include "golden_run.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct Recipe {
    const char *name; // of the case
    const char *spec; // a model of fill_rule.slu, or a layout literal
    FrontSetting settings[4];
    size_t nsettings;
} Recipe;

#define SET(name, value)                                                                           \
    {                                                                                              \
        {(name), sizeof(name) - 1}, { (value), sizeof(value) - 1 }                                 \
    }

static const char funnel[] = "B2-1x2-1H8A2F16D1";

static const Recipe recipes[] = {
    {"funnel_any_real",
     funnel,
     {SET("vocab", "11"), SET("all_states", "true"), SET("mask_pool", "any_real")},
     3},
    {"funnel_all_real",
     funnel,
     {SET("vocab", "11"), SET("all_states", "true"), SET("mask_pool", "all_real")},
     3},
    {"gmlp_erf", "gmlp", {SET("act", "gelu")}, 1},
    {"gmlp_tanh", "gmlp", {SET("act", "gelu_tanh")}, 1},
    {"amlp_erf", "gmlp", {SET("attend", "3")}, 1},
    {"amlp_erf_eps_1e-5", "gmlp", {SET("attend", "3"), SET("eps", "1e-5")}, 2},
    {"gmlp_toeplitz", "gmlp", {SET("mix", "toeplitz_mix")}, 1},
    {"gmlp_causal", "gmlp", {SET("causal", "true")}, 1},
    {"mixer_erf", "mixer_block", {SET("act", "gelu")}, 1},
    {"mixer_tanh", "mixer_block", {SET("act", "gelu_tanh")}, 1},
    {"bert_no_mask", "bert_block", {SET("eps", "1e-12")}, 1},
    {"bert_masked", "bert_block", {SET("eps", "1e-12")}, 1},
    {"prenorm", "prenorm", {SET("eps", "1e-6")}, 1},
    {"sentence_embedding", "embedded", {SET("eps", "1e-12")}, 1},
};

// Funnel's states by the names of the file.
static const struct {
    const char *name;
    const char *output;
} states[] = {
    {"embedding", "hidden_states.0"},      {"block0", "hidden_states.2"},
    {"block1", "hidden_states.4"},         {"block1_pooling_layer", "hidden_states.3"},
    {"final", "hidden_states.5"},          {"decoder_input", "hidden_states.6"},
    {"decoder_output", "hidden_states.7"}, {"output", "y"},
};

typedef struct Case {
    const json_t *json;
    const Graph *graph;
    EvalTensor *outputs;
    double worst; // over 1e-10 · (1 + |expected|)
    size_t nchecked;
} Case;

// ---- leaves ----

static void fill(double *data, int64_t count, int64_t t, double offset)
{
    for (int64_t k = 0; k < count; k++) {
        data[k] = offset + 0.3 * sin(0.7 * (double)k + 1.3 * (double)t + 0.1);
    }
}

// A gMLP's inner layers stand in a folder of their own in the library that gave the names, its
// Toeplitz weights in no list: they are tensor 13.
static bool fill_param(const Case *c, Str name, EvalTensor *out)
{
    size_t i;
    const json_t *tensor;
    const Str inner = STR("mlp_channels.");
    Str alias = name;
    if (str_starts(name, inner)) {
        alias = (Str){name.ptr + inner.len, name.len - inner.len};
    }
    if (out->rank == 1 && out->count == 9 && str_equal(alias, STR("gate.proj.weight"))) {
        fill(out->data, 9, 13, 0);
        return true;
    }
    json_array_foreach(json_object_get(c->json, "tensors"), i, tensor)
    {
        Str it = str_from(json_string_value(json_object_get(tensor, "name")));
        if (str_equal(it, name) || str_equal(it, alias)) {
            int64_t size = 1;
            size_t k;
            const json_t *axis;
            json_array_foreach(json_object_get(tensor, "shape"), k, axis)
            {
                size *= json_integer_value(axis);
            }
            fill(out->data, out->count, json_integer_value(json_object_get(tensor, "t")),
                 json_number_value(json_object_get(tensor, "offset")));
            return size == out->count;
        }
    }
    return false;
}

static bool read_rows(const json_t *rows, EvalTensor *out)
{
    int64_t n = 0;
    size_t i, k;
    const json_t *row, *item;
    json_array_foreach(rows, i, row)
    {
        json_array_foreach(row, k, item)
        {
            if (n < out->count) {
                out->data[n] = json_number_value(item);
            }
            n++;
        }
    }
    return n == out->count;
}

static bool read_leaf(void *ctx, const Node *node, EvalTensor *out)
{
    const Case *c = ctx;
    char name[128];
    if (node->op == OP_param) {
        return fill_param(c, node->attr.name, out);
    }
    snprintf(name, sizeof name, "%.*s", STR_ARG(node->attr.name));
    if (strcmp(name, "x") == 0) {
        for (int64_t k = 0; k < out->count; k++) {
            out->data[k] = cos(0.37 * (double)k + 0.2);
        }
        return true;
    }
    const json_t *rows = json_object_get(json_object_get(c->json, "inputs"), name);
    rows = rows ? rows : json_object_get(json_object_get(c->json, "config"), name);
    for (int64_t k = 0; k < out->count; k++) {
        out->data[k] = node->attr.value;
    }
    return rows ? read_rows(rows, out) : node->attr.has_default;
}

// ---- what is expected ----

static void check_value(Case *c, double got, const json_t *want)
{
    double value = json_number_value(want);
    double excess = fabs(got - value) / (1e-10 * (1 + fabs(value)));
    c->worst = excess <= c->worst ? c->worst : excess;
    c->nchecked += json_is_number(want);
}

static const EvalTensor *find_state(const Case *c, const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        if (strlen(states[i].name) == len && strncmp(states[i].name, name, len) == 0) {
            return find_value(c->graph, c->outputs, str_from(states[i].output));
        }
    }
    return NULL;
}

static const char *check_sums(Case *c)
{
    const char *name;
    json_t *want;
    json_object_foreach(json_object_get(c->json, "expect"), name, want)
    {
        const EvalTensor *state = find_state(c, name, strlen(name));
        if (!state) {
            return "a state that this test does not know";
        }
        double sum = 0;
        double squares = 0;
        for (int64_t k = 0; k < state->count; k++) {
            sum += state->data[k];
            squares += state->data[k] * state->data[k];
        }
        size_t d;
        const json_t *axis;
        json_array_foreach(json_object_get(want, "shape"), d, axis)
        {
            if (d >= state->rank || json_integer_value(axis) != state->shape[d]) {
                return "a state of another shape";
            }
        }
        check_value(c, sum, json_object_get(want, "sum"));
        check_value(c, squares, json_object_get(want, "sumsq"));
    }
    return NULL;
}

// "final[1,0]": a row of a state; and the flat `output` of a block.
static const char *check_rows(Case *c)
{
    const char *name;
    json_t *row;
    size_t k;
    const json_t *item;
    json_object_foreach(json_object_get(c->json, "rows"), name, row)
    {
        const char *bracket = strchr(name, '[');
        int item_at = 0;
        int row_at = 0;
        const EvalTensor *state = bracket ? find_state(c, name, (size_t)(bracket - name)) : NULL;
        if (!state || state->rank != 3 || sscanf(bracket, "[%d,%d]", &item_at, &row_at) != 2) {
            return "a row that this test does not know";
        }
        int64_t first = (item_at * state->shape[1] + row_at) * state->shape[2];
        if (first < 0 || first + state->shape[2] > state->count ||
            json_array_size(row) != (size_t)state->shape[2]) {
            return "a row of another size";
        }
        json_array_foreach(row, k, item) { check_value(c, state->data[first + (int64_t)k], item); }
    }
    const json_t *flat = json_object_get(c->json, "output");
    const EvalTensor *y = flat ? find_state(c, "output", 6) : NULL;
    if (flat && (!y || json_array_size(flat) != (size_t)y->count)) {
        return "an output of another size";
    }
    json_array_foreach(flat, k, item) { check_value(c, y->data[k], item); }
    return NULL;
}

static const Recipe *find_recipe(const char *name)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        if (strcmp(recipes[i].name, name) == 0) {
            return &recipes[i];
        }
    }
    return NULL;
}

static void check_case(const json_t *json, const char *text, Totals *totals)
{
    Arena *a = arena_create();
    Diag *dx = diag_create(a);
    const char *name = json_string_value(json_object_get(json, "name"));
    const Recipe *recipe = find_recipe(name);
    Case c = {.json = json};
    const char *why = recipe ? NULL : "a case that this test does not know";
    if (recipe) {
        bool is_layout = recipe->spec == funnel;
        const char *spec =
            is_layout ? funnel : str_cstr(a, str_format(a, "%s:%s", text, recipe->spec));
        FrontSize sizes[] = {{STR("batch"), 2}, {STR("seq"), is_layout ? 9 : 5}};
        FrontOptions options = {.settings = recipe->settings,
                                .nsettings = recipe->nsettings,
                                .sizes = sizes,
                                .nsizes = 2};
        EvalOptions eval = {.leaf = read_leaf, .ctx = &c};
        Spec loaded;
        if (!spec_load(a, dx, spec, &options, &loaded)) {
            why = "does not load";
        } else {
            c.graph = loaded.graph;
            c.outputs = arena_new(a, EvalTensor, c.graph->outputs.n + 1);
            why = eval_graph(a, dx, c.graph, &eval, c.outputs) ? NULL : "does not evaluate";
        }
    }
    why = why ? why : check_sums(&c);
    why = why ? why : check_rows(&c);
    why = why || c.nchecked >= 14 ? why : "next to nothing is expected"; // 12 of an output, 2 sums
    report(totals, name, "evaluator", c.worst, why);
    diag_flush(dx, stderr, false);
    arena_destroy(a);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: golden_fill_rule FILL_RULE.json FILL_RULE.slu\n");
        return 2;
    }
    Totals totals = {0};
    size_t i;
    const json_t *json;
    json_t *file = json_load_file(argv[1], 0, NULL);
    const json_t *cases = json_object_get(file, "cases");
    json_array_foreach(cases, i, json) { check_case(json, argv[2], &totals); }
    if (json_array_size(cases) != sizeof recipes / sizeof *recipes) {
        report(&totals, "fill_rule.json", "data", 0, "there are other cases than this test knows");
    }
    json_decref(file);
    return report_totals(&totals);
}
