// opt: graph passes alone, on text.
#include "driver/command.h"
#include "io/file.h"

#include <string.h>

static const OptionId options[] = {OPT_pass, OPT_output};

typedef VEC(PassId) Passes;

static bool read_pass(Call *call, Str name, Passes *out)
{
    PassId id;
    Str names[PASS_count];
    size_t n = 0;
    for (size_t i = 0; i < PASS_count; i++) {
        if (pass_info((PassId)i)->is_graph) {
            names[n++] = str_from(pass_info((PassId)i)->name);
        }
    }
    if (!pass_from_name(name, &id)) {
        return command_wrong(call, "--pass: there is no pass `%.*s`%.*s", STR_ARG(name),
                             STR_ARG(str_hint(call->arena, name, names, n)));
    }
    if (!pass_info(id)->is_graph) {
        return command_wrong(call, "--pass: `%.*s` is no pass over graphs", STR_ARG(name));
    }
    vec_push(call->arena, out, id);
    return true;
}

static bool read_passes(Call *call, Passes *out)
{
    const char *list = option_text(call, OPT_pass);
    if (!list) {
        return command_wrong(call, "opt needs --pass PASS[,PASS]");
    }
    for (;;) {
        size_t len = strcspn(list, ",");
        if (!read_pass(call, (Str){list, len}, out)) {
            return false;
        }
        if (list[len] == '\0') {
            return true;
        }
        list += len + 1;
    }
}

static Graph *read_graph(Call *call)
{
    enum { MOST_BYTES = 64 << 20 };
    Str text;
    Buf why = {.arena = call->arena};
    if (!file_read(call->arena, call->dx, call->operand, MOST_BYTES, &text)) {
        return NULL;
    }
    Str name = str_from(call->operand);
    Graph *graph = graph_parse(call->arena, call->dx, diag_source(call->arena, name, text, false));
    if (graph && !graph_verify(graph, &why)) {
        diag_error(call->dx, (Place){0}, "%s: %s", call->operand, why.ptr);
        return NULL;
    }
    return graph;
}

static bool run(Call *call)
{
    Passes passes = {0};
    Buf text = {.arena = call->arena};
    if (!read_passes(call, &passes)) {
        return false;
    }
    PassContext cx = {.arena = call->arena, .dx = call->dx, .verify_each = true};
    Graph *graph = read_graph(call);
    for (size_t i = 0; i < passes.n && graph; i++) {
        graph = pass_run_graph(&cx, passes.items[i], graph);
    }
    if (!graph) {
        return false;
    }
    graph_print(&text, graph);
    return command_write(call, buf_str(&text));
}

static void print_level(FILE *out, bool is_graph)
{
    for (size_t i = 0; i < PASS_count; i++) {
        const PassInfo *info = pass_info((PassId)i);
        if (info->is_graph == is_graph) {
            fprintf(out, "  %-10s %-6s %s\n", info->name, info->is_stage ? "stage" : "pass",
                    info->summary);
        }
    }
    fputc('\n', out);
}

static void print_passes(FILE *out)
{
    fputs("Passes over graphs, in the order in which build runs them; stages always run\n", out);
    print_level(out, true);
    fputs("Passes over the program, which follow; opt does not run them\n", out);
    print_level(out, false);
}

const Command command_opt = {
    .name = "opt",
    .operand = "FILE.ir",
    .summary = "runs graph passes on a graph as text",
    .help = "Reads a graph as text, runs the passes named, checks what each made, and prints the\n"
            "result.\n",
    .examples = "  sluice opt model.ir --pass decompose,dce\n",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .print_more = print_passes,
    .run = run,
};
