// options: what a model takes and offers.
#include "driver/command.h"

static const OptionId options[] = {OPT_seq, OPT_set, OPT_without, OPT_output};

static void print_default(Buf *buf, DType dtype, double value)
{
    if (dtype == DT_bool) {
        buf_add(buf, value != 0 ? STR("true") : STR("false"));
    } else if (dtype == DT_i32) {
        buf_format(buf, "%lld", (long long)value);
    } else {
        buf_double(buf, value);
    }
}

static void print_inputs(Buf *buf, const Graph *graph)
{
    size_t width = 0;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        width = node->op == OP_input && node->attr.name.len > width ? node->attr.name.len : width;
    }
    buf_add(buf, STR("\nInputs\n"));
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        if (node->op != OP_input) {
            continue;
        }
        size_t begin = buf->len;
        buf_format(buf, "  %.*s", STR_ARG(node->attr.name));
        text_pad(buf, begin, width + 4);
        type_print(buf, &node->type);
        if (node->attr.has_range) {
            buf_format(buf, " in %lld .. %lld", (long long)node->attr.low,
                       (long long)node->attr.high);
        }
        if (node->attr.has_default) {
            buf_add(buf, STR(" = "));
            print_default(buf, node->type.dtype, node->attr.value);
            buf_add(buf, STR("  (may be left out)"));
        }
        buf_char(buf, '\n');
    }
}

static void print_outputs(Buf *buf, const Graph *graph)
{
    size_t width = 0;
    for (size_t i = 0; i < graph->outputs.n; i++) {
        width = graph->outputs.items[i].name.len > width ? graph->outputs.items[i].name.len : width;
    }
    buf_add(buf, STR("\nOutputs\n"));
    for (size_t i = 0; i < graph->outputs.n; i++) {
        size_t begin = buf->len;
        buf_format(buf, "  %.*s", STR_ARG(graph->outputs.items[i].name));
        text_pad(buf, begin, width + 4);
        type_print(buf, &graph->outputs.items[i].node->type);
        buf_char(buf, '\n');
    }
}

static void print_sizes(Buf *buf, const Graph *graph)
{
    if (graph->symbols.n > 0) {
        buf_add(buf, STR("\nFree sizes (--seq N, --set NAME=N fix them)\n"));
    }
    for (size_t i = 0; i < graph->symbols.n; i++) {
        const Symbol *symbol = &graph->symbols.items[i];
        buf_format(buf, "  %.*s  at least %lld", STR_ARG(symbol->name), (long long)symbol->low);
        if (symbol->high != SIZE_INF) {
            buf_format(buf, ", at most %lld", (long long)symbol->high);
        }
        buf_char(buf, '\n');
    }
}

static Str place_text(Arena *arena, Place at)
{
    uint32_t line;
    uint32_t col;
    if (!at.source) {
        return STR("");
    }
    diag_position(at, &line, &col);
    return str_format(arena, "%.*s:%u:%u", STR_ARG(at.source->name), line, col);
}

static void print_options(Buf *buf, Arena *arena, const FrontReport *report)
{
    enum { MOST_WIDTH = 40 };
    size_t width = 0;
    size_t owners = 0;
    for (size_t i = 0; i < report->noptions; i++) {
        const FrontOption *o = &report->options[i];
        size_t len = o->name.len + o->value.len + 3;
        width = len > width && len <= MOST_WIDTH ? len : width;
        owners = o->owner.len > owners ? o->owner.len : owners;
    }
    buf_add(buf, STR("\nOptions (--set NAME=VALUE), their defaults, and where they are\n"));
    for (size_t i = 0; i < report->noptions; i++) {
        const FrontOption *o = &report->options[i];
        size_t begin = buf->len;
        buf_format(buf, "  %.*s", STR_ARG(o->name));
        if (o->value.len > 0) {
            buf_format(buf, " = %.*s", STR_ARG(o->value));
        }
        text_pad(buf, begin, width + 4);
        begin = buf->len;
        buf_add(buf, o->owner);
        text_pad(buf, begin, owners + 2);
        buf_format(buf, "%.*s\n", STR_ARG(place_text(arena, o->at)));
    }
}

static bool run(Call *call)
{
    CompileOptions model;
    Spec spec;
    Buf text = {.arena = call->arena};
    if (!command_model(call, &model) ||
        !spec_load(call->arena, call->dx, model.spec, &model.front, &spec)) {
        return false;
    }
    buf_format(&text, "Model %.*s\n", STR_ARG(spec.graph->name));
    print_inputs(&text, spec.graph);
    print_outputs(&text, spec.graph);
    print_sizes(&text, spec.graph);
    if (spec.report.noptions > 0) {
        print_options(&text, call->arena, &spec.report);
    }
    return command_write(call, buf_str(&text));
}

const Command command_options = {
    .name = "options",
    .operand = "SPEC",
    .summary = "lists what a model takes: inputs, sizes, options",
    .help = "Lists a model's inputs, outputs and free sizes, and every option that --set can give\n"
            "it: its own parameters, and those of the blocks in it that are offered along `..`,\n"
            "with their defaults and places.\n",
    .examples = "  sluice options B6-6-6H768\n"
                "  sluice build B6-6-6H768 --seq 128 --random 1 --set pool=max -o funnel.so\n",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .run = run,
};
