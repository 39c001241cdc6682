// params: the parameters of a model, by name.
#include "driver/command.h"

static const OptionId options[] = {OPT_json, OPT_seq, OPT_set, OPT_without, OPT_output};

typedef struct Param {
    const Node *node;
    uint64_t count;
} Param;

typedef struct Params {
    size_t n;
    Param *items; // [n] in the graph's order
    uint64_t total;
} Params;

static bool add_up(Call *call, const Graph *graph, Params *out)
{
    size_t n;
    Node *const *nodes = weights_params(call->arena, graph, &n);
    *out = (Params){.items = arena_new(call->arena, Param, n)};
    for (size_t i = 0; i < n; i++) {
        const Node *node = nodes[i];
        int64_t count = 0;
        const Size *size = type_count(call->arena, &node->type);
        if (!size || !size_is_int(size, &count) ||
            __builtin_add_overflow(out->total, (uint64_t)count, &out->total)) {
            diag_error(call->dx, node->at, "the elements of all parameters do not fit 64 bits");
            return false;
        }
        out->items[out->n++] = (Param){node, (uint64_t)count};
    }
    return true;
}

static void print_json(Buf *buf, const Graph *graph, const Params *params)
{
    buf_add(buf, STR("{\"model\": "));
    text_json(buf, graph->name);
    buf_add(buf, STR(", \"parameters\": ["));
    for (size_t i = 0; i < params->n; i++) {
        const Node *node = params->items[i].node;
        buf_add(buf, i > 0 ? STR(",\n  {\"name\": ") : STR("\n  {\"name\": "));
        text_json(buf, node->attr.name);
        buf_format(buf, ", \"dtype\": \"%s\", \"shape\": [", dtype_name(node->type.dtype));
        for (size_t k = 0; k < node->type.rank; k++) {
            buf_add(buf, k > 0 ? STR(", ") : STR(""));
            size_print(buf, node->type.shape[k]);
        }
        buf_format(buf, "], \"count\": %llu}", (unsigned long long)params->items[i].count);
    }
    buf_format(buf, "\n], \"total\": %llu}\n", (unsigned long long)params->total);
}

static void print_table(Buf *buf, Arena *arena, const Params *params)
{
    enum { MOST_WIDTH = 72 };
    size_t names = 0;
    size_t types = 0;
    for (size_t i = 0; i < params->n; i++) {
        const Node *node = params->items[i].node;
        size_t name = node->attr.name.len;
        size_t type = type_text(arena, &node->type).len;
        names = name > names && name <= MOST_WIDTH ? name : names;
        types = type > types ? type : types;
    }
    for (size_t i = 0; i < params->n; i++) {
        const Node *node = params->items[i].node;
        size_t begin = buf->len;
        buf_add(buf, node->attr.name);
        text_pad(buf, begin, names + 2);
        begin = buf->len;
        type_print(buf, &node->type);
        text_pad(buf, begin, types + 2);
        text_count(buf, params->items[i].count);
        buf_char(buf, '\n');
    }
    size_t begin = buf->len;
    buf_add(buf, STR("total"));
    text_pad(buf, begin, names + 2);
    begin = buf->len;
    text_plural(buf, params->n, "tensor");
    text_pad(buf, begin, types + 2);
    text_count(buf, params->total);
    buf_char(buf, '\n');
}

static bool run(Call *call)
{
    CompileOptions model;
    Spec spec;
    Params params;
    Buf text = {.arena = call->arena};
    if (!command_model(call, &model) ||
        !spec_load(call->arena, call->dx, model.spec, &model.front, &spec) ||
        !add_up(call, spec.graph, &params)) {
        return false;
    }
    if (option_given(call, OPT_json)) {
        print_json(&text, spec.graph, &params);
    } else {
        print_table(&text, call->arena, &params);
    }
    return command_write(call, buf_str(&text));
}

const Command command_params = {
    .name = "params",
    .operand = "SPEC",
    .summary = "lists a model's parameters: names, shapes, total",
    .help = "Lists the parameters of a model: the name under which a weights file holds each, its\n"
            "type and its number of elements; the last line is the total. Parameters that are\n"
            "shared count once.\n",
    .examples = "  sluice params B6-3x2-3x2H768 --seq 128\n"
                "  sluice params model.slu:encoder --json\n",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .run = run,
};
