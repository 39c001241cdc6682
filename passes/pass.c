#include "passes/pass.h"

static const PassInfo infos[PASS_count] = {
#define LEVEL_graph   true
#define LEVEL_program false
#define KIND_stage    true
#define KIND_pass     false
#define PASS(level, id, kind, requires, establishes, summary)                                      \
    [PASS_##id] = {#id, LEVEL_##level, KIND_##kind, summary},
#include "passes/passes.def"
};

typedef Graph *(*GraphPass)(PassContext *, Graph *);
typedef bool (*ProgramPass)(PassContext *, Program *);

static const GraphPass graph_passes[PASS_count] = {
#define ROW_graph(id) [PASS_##id] = pass_##id,
#define ROW_program(id)
#define PASS(level, id, kind, requires, establishes, summary) ROW_##level(id)
#include "passes/passes.def"
#undef ROW_graph
#undef ROW_program
};

static const ProgramPass program_passes[PASS_count] = {
#define ROW_graph(id)
#define ROW_program(id)                                       [PASS_##id] = pass_##id,
#define PASS(level, id, kind, requires, establishes, summary) ROW_##level(id)
#include "passes/passes.def"
};

const PassInfo *pass_info(PassId id) { return &infos[id]; }

bool pass_from_name(Str name, PassId *out)
{
    for (size_t i = 0; i < PASS_count; i++) {
        if (str_equal(name, str_from(infos[i].name))) {
            *out = (PassId)i;
            return true;
        }
    }
    return false;
}

static bool runs(const PassContext *cx, size_t id)
{
    return infos[id].is_stage || !cx->disabled[id];
}

static void verify_graph(PassContext *cx, size_t id, const Graph *graph)
{
    Buf why = {.arena = cx->arena};
    if (cx->verify_each && !graph_verify(graph, &why)) {
        die("after pass %s: %s", infos[id].name, why.ptr);
    }
}

Graph *pass_run_graph(PassContext *cx, PassId id, Graph *graph)
{
    graph = graph_passes[id](cx, graph);
    if (!graph) {
        return NULL;
    }
    verify_graph(cx, id, graph);
    if (cx->after) {
        cx->after(cx->ctx, id, graph);
    }
    return graph;
}

Graph *passes_run_graph(PassContext *cx, Graph *graph)
{
    for (size_t id = 0; id < PASS_count && graph; id++) {
        if (graph_passes[id] && runs(cx, id)) {
            graph = pass_run_graph(cx, (PassId)id, graph);
        }
    }
    return graph;
}

bool passes_run_program(PassContext *cx, Program *program)
{
    for (size_t id = 0; id < PASS_count; id++) {
        if (!program_passes[id] || !runs(cx, id)) {
            continue;
        }
        if (!program_passes[id](cx, program)) {
            return false;
        }
        Buf why = {.arena = cx->arena};
        if (cx->verify_each && !program_verify(program, &why)) {
            die("after pass %s: %s", infos[id].name, why.ptr);
        }
        if (cx->after_program) {
            cx->after_program(cx->ctx, (PassId)id, program);
        }
    }
    return true;
}
