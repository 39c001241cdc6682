// Any bytes as a graph's text: an error or a graph; a graph is right by the verifier and prints as
// text that reads back as the same text.
#include "ir/ir.h"

static Graph *parse(Arena *arena, Str text, Diag *dx)
{
    return graph_parse(arena, dx, diag_source(arena, STR("fuzz.ir"), text, false));
}

static Str print(const Graph *graph)
{
    Buf buf = {.arena = graph->arena};
    graph_print(&buf, graph);
    return buf_str(&buf);
}

// What the reader leaves open, and the verifier does not, are names and outputs; else it must
// agree.
static void check(Arena *arena, const Graph *graph)
{
    Str first = print(graph);
    Graph *again = parse(arena, first, diag_create(arena));
    if (again == NULL || !str_equal(print(again), first)) {
        die("does not read back:\n%.*s", STR_ARG(first));
    }
    Buf why = {.arena = arena};
    Buf why_again = {.arena = arena};
    if (graph_verify(graph, &why) != graph_verify(again, &why_again)) {
        die("right and wrong at once: %.*s%.*s", STR_ARG(buf_str(&why)),
            STR_ARG(buf_str(&why_again)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *arena = arena_create();
    Diag *dx = diag_create(arena);
    Str text = {(const char *)data, size};
    Graph *graph = parse(arena, text, dx);
    if ((graph == NULL) != (diag_nerrors(dx) == 1)) {
        die("a failure without an error, or an error without a failure");
    }
    if (graph != NULL) {
        check(arena, graph);
    }
    arena_destroy(arena);
    return 0;
}
